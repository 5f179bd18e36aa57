/* SPDX-License-Identifier: MIT */
/* Recognizes UTF-8 by the Unicode standard's table of well-formed sequences. */
#include "config.h"

#include "json_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First bytes with the range of their second byte; all further bytes are 0x80 to 0xbf. */
static const struct sequence {
	unsigned char first, last;
	unsigned char second_lowest, second_highest;
	size_t length;
} sequences[] = {
	{0x00, 0x7f, 0x00, 0xff, 1}, /* there is no second */
	{0xc2, 0xdf, 0x80, 0xbf, 2},
	{0xe0, 0xe0, 0xa0, 0xbf, 3}, /* below would be two bytes */
	{0xe1, 0xec, 0x80, 0xbf, 3},
	{0xed, 0xed, 0x80, 0x9f, 3}, /* above are surrogates */
	{0xee, 0xef, 0x80, 0xbf, 3},
	{0xf0, 0xf0, 0x90, 0xbf, 4}, /* below would be three bytes */
	{0xf1, 0xf3, 0x80, 0xbf, 4},
	{0xf4, 0xf4, 0x80, 0x8f, 4}, /* above is no code point */
};

/* Of the character that begins here, 0 if none does. */
static size_t character_length(const unsigned char *text)
{
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		const struct sequence *sequence = &sequences[i];

		if (text[0] < sequence->first || text[0] > sequence->last)
			continue;
		if (text[1] < sequence->second_lowest || text[1] > sequence->second_highest)
			return 0;
		for (size_t byte = 2; byte < sequence->length; byte++) {
			if (text[byte] < 0x80 || text[byte] > 0xbf)
				return 0; /* the end of the text too: nothing behind it is read */
		}
		return sequence->length;
	}
	return 0;
}

struct json_object *json_text_new(const char *text)
{
	char *escaped = malloc(strlen(text) * strlen("\\x00") + 1), *end = escaped;
	struct json_object *object;

	if (escaped == NULL)
		return NULL;
	while (*text != '\0') {
		size_t length = character_length((const unsigned char *)text);

		if (length > 0) {
			memcpy(end, text, length);
			end += length;
			text += length;
		} else {
			end += sprintf(end, "\\x%02x", (unsigned char)*text++);
		}
	}
	object = json_object_new_string_len(escaped, (int)(end - escaped));
	free(escaped);
	return object;
}
