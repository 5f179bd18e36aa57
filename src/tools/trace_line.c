/* SPDX-License-Identifier: MIT */
/* Parsing of one trace line: Azure CSV and Mooncake JSON. */
#include "config.h"

#include "trace_line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Mooncake timestamps are milliseconds; this many still fit into int64 microseconds. */
#define MAX_TIMESTAMP_MS 1e15

trace_line_reader *trace_line_detect(const char *line, size_t length)
{
	if (length == strlen(TRACE_CSV_HEADER) && memcmp(line, TRACE_CSV_HEADER, length) == 0)
		return trace_line_csv;
	if (line[strspn(line, " \t")] == '{')
		return trace_line_json;
	return NULL;
}

/* Says in which range a token count lies; one rule for both formats. */
static int check_tokens(int64_t value, int64_t minimum, const char *name,
			const struct trace_place *place, struct tool_quote shown,
			struct tool_error *error)
{
	if (value >= minimum && value <= TRACE_MAX_TOKENS)
		return 0;
	tool_error_set(error, "%s:%zu: %s is %s, not a whole number from %" PRId64 " to %d",
		       place->file, place->line, name, shown.text, minimum, TRACE_MAX_TOKENS);
	return -1;
}

/* Whole decimal number, or -1 for anything else (huge ones saturate, which is out of range too). */
static int64_t parse_tokens(const char *text, size_t length)
{
	if (length == 0)
		return -1;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return -1;
	}
	return strtoll(text, NULL, 10);
}

/* Fraction of a second: up to nine digits after the point, in microseconds. */
static const char *parse_fraction(const char *text, int64_t *microseconds)
{
	int64_t unit = 100000;
	int digits = 0;

	*microseconds = 0;
	if (*text != '.')
		return text;
	for (text++; isdigit((unsigned char)*text); text++, digits++) {
		*microseconds += (*text - '0') * unit;
		unit /= 10;
	}
	return digits >= 1 && digits <= 9 ? text : NULL;
}

/* Date, time and fraction; a zone may follow. False: not a time. */
static bool parse_time(const char *text, int64_t *microseconds)
{
	struct tm broken_down = {0}, normal;
	int64_t fraction;
	const char *rest;

	if (!isdigit((unsigned char)*text))
		return false;
	rest = strptime(text, "%Y-%m-%d %H:%M:%S", &broken_down);
	if (rest == NULL)
		return false;
	rest = parse_fraction(rest, &fraction);
	if (rest == NULL)
		return false;
	normal = broken_down;
	int64_t seconds = timegm(&normal);

	if (normal.tm_mday != broken_down.tm_mday) /* for example February 30 */
		return false;
	if (*rest != '\0') {
		struct tm zone = {0};

		rest = strptime(rest, "%z", &zone);
		if (rest == NULL || *rest != '\0')
			return false;
		seconds -= zone.tm_gmtoff;
	}
	*microseconds = seconds * 1000000 + fraction;
	return true;
}

int trace_line_csv(struct trace *trace, const struct trace_place *place, const char *line,
		   size_t length, struct tool_error *error)
{
	const char *column[3] = {line};
	size_t columns = 1;
	int64_t arrival_us, prompt_tokens, output_tokens;

	for (const char *comma = line; (comma = strchr(comma, ',')) != NULL; columns++) {
		comma++;
		if (columns < 3)
			column[columns] = comma;
	}
	if (columns != 3) {
		tool_error_set(error, "%s:%zu: %zu columns instead of 3: %s", place->file,
			       place->line, length == 0 ? 0 : columns,
			       tool_quote(line, length).text);
		return -1;
	}
	size_t time_length = (size_t)(column[1] - column[0]) - 1;
	size_t prompt_length = (size_t)(column[2] - column[1]) - 1;
	size_t output_length = length - (size_t)(column[2] - line);
	char time_text[48];

	snprintf(time_text, sizeof(time_text), "%.*s", (int)time_length, line);
	if (time_length >= sizeof(time_text) || !parse_time(time_text, &arrival_us)) {
		tool_error_set(error, "%s:%zu: TIMESTAMP is %s, not a time such as %s", place->file,
			       place->line, tool_quote(line, time_length).text,
			       "2023-11-16 18:17:03.9799600");
		return -1;
	}
	prompt_tokens = parse_tokens(column[1], prompt_length);
	if (check_tokens(prompt_tokens, 1, "ContextTokens", place,
			 tool_quote(column[1], prompt_length), error) < 0)
		return -1;
	output_tokens = parse_tokens(column[2], output_length);
	if (check_tokens(output_tokens, 0, "GeneratedTokens", place,
			 tool_quote(column[2], output_length), error) < 0)
		return -1;
	return trace_append(trace, arrival_us, (uint32_t)prompt_tokens, (uint32_t)output_tokens,
			    error);
}

/* Behind the string that begins here. */
static const char *skip_string(const char *text)
{
	for (text++; *text != '\0' && *text != '"'; text++) {
		if (*text == '\\' && text[1] != '\0')
			text++;
	}
	return *text == '"' ? text + 1 : text;
}

static bool exceeds_64_bits(const char *number, size_t length)
{
	const size_t sign = *number == '-';

	if (length == sign || strspn(number + sign, "0123456789") != length - sign)
		return false; /* not an integer */
	errno = 0;
	if (sign)
		strtoll(number, NULL, 10);
	else
		strtoull(number, NULL, 10);
	return errno == ERANGE;
}

/* json-c would take the nearest integer of 64 bits, and nothing in the object would tell. */
static int check_integers(const struct trace_place *place, const char *line,
			  struct tool_error *error)
{
	for (const char *text = line; *text != '\0';) {
		const size_t length = strspn(text, "+-.0123456789Ee");

		if (exceeds_64_bits(text, length)) {
			tool_error_set(error, "%s:%zu: the number %s in column %zu exceeds 64 bits",
				       place->file, place->line, tool_quote(text, length).text,
				       (size_t)(text - line) + 1);
			return -1;
		}
		if (length > 0)
			text += length;
		else
			text = *text == '"' ? skip_string(text) : text + 1;
	}
	return 0;
}

static struct tool_quote quote_json(struct json_object *value)
{
	const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);

	return tool_quote(text, strlen(text));
}

static struct json_object *json_member(struct json_object *object, const char *key,
				       const struct trace_place *place, struct tool_error *error)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		tool_error_set(error, "%s:%zu: no \"%s\" in %s", place->file, place->line, key,
			       quote_json(object).text);
	else if (value == NULL)
		tool_error_set(error, "%s:%zu: \"%s\" is null", place->file, place->line, key);
	return value;
}

static int json_tokens(struct json_object *object, const char *key, int64_t minimum,
		       uint32_t *tokens, const struct trace_place *place, struct tool_error *error)
{
	struct json_object *value = json_member(object, key, place, error);

	if (value == NULL)
		return -1;
	int64_t number =
		json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;

	if (check_tokens(number, minimum, key, place, quote_json(value), error) < 0)
		return -1;
	*tokens = (uint32_t)number;
	return 0;
}

static int json_timestamp(struct json_object *object, int64_t *microseconds,
			  const struct trace_place *place, struct tool_error *error)
{
	struct json_object *value = json_member(object, "timestamp", place, error);

	if (value == NULL)
		return -1;
	double milliseconds = json_object_is_type(value, json_type_int) ||
					      json_object_is_type(value, json_type_double)
				      ? json_object_get_double(value)
				      : -1;

	/* written so that not-a-number fails too */
	if (!(milliseconds >= 0 && milliseconds <= MAX_TIMESTAMP_MS)) {
		tool_error_set(error,
			       "%s:%zu: timestamp is %s, not milliseconds from 0 to %.0f",
			       place->file, place->line, quote_json(value).text, MAX_TIMESTAMP_MS);
		return -1;
	}
	*microseconds = (int64_t)llround(milliseconds * 1000);
	return 0;
}

static int append_json_request(struct trace *trace, const struct trace_place *place,
			       struct json_object *object, struct tool_error *error)
{
	int64_t arrival_us;
	uint32_t prompt_tokens, output_tokens;

	if (json_timestamp(object, &arrival_us, place, error) < 0 ||
	    json_tokens(object, "input_length", 1, &prompt_tokens, place, error) < 0 ||
	    json_tokens(object, "output_length", 0, &output_tokens, place, error) < 0)
		return -1;
	struct json_object *hash_ids = json_member(object, "hash_ids", place, error);

	if (hash_ids == NULL)
		return -1;
	if (!json_object_is_type(hash_ids, json_type_array)) {
		tool_error_set(error, "%s:%zu: hash_ids is %s, not an array", place->file,
			       place->line, quote_json(hash_ids).text);
		return -1;
	}
	if (trace_append(trace, arrival_us, prompt_tokens, output_tokens, error) < 0)
		return -1;
	for (size_t i = 0; i < json_object_array_length(hash_ids); i++) {
		struct json_object *value = json_object_array_get_idx(hash_ids, i);

		if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0) {
			tool_error_set(error, "%s:%zu: hash_ids[%zu] is %s, not a whole number",
				       place->file, place->line, i, quote_json(value).text);
			return -1;
		}
		if (trace_append_hash(trace, json_object_get_uint64(value), error) < 0)
			return -1;
	}
	return 0;
}

int trace_line_json(struct trace *trace, const struct trace_place *place, const char *line,
		    size_t length, struct tool_error *error)
{
	struct json_tokener *tokener;
	int result = -1;

	if (check_integers(place, line, error) < 0)
		return -1;
	tokener = json_tokener_new();
	if (tokener == NULL) {
		tool_error_set(error, "%s:%zu: out of memory for the JSON object", place->file,
			       place->line);
		return -1;
	}
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	/* with the terminating NUL included, an object that is cut short is an error, not "more" */
	struct json_object *object = json_tokener_parse_ex(tokener, line, (int)length + 1);
	enum json_tokener_error parse_error = json_tokener_get_error(tokener);

	if (parse_error != json_tokener_success)
		tool_error_set(error, "%s:%zu: invalid JSON in column %zu (%s): %s", place->file,
			       place->line, json_tokener_get_parse_end(tokener) + 1,
			       json_tokener_error_desc(parse_error),
			       tool_quote(line, length).text);
	else if (!json_object_is_type(object, json_type_object))
		tool_error_set(error, "%s:%zu: not a JSON object: %s", place->file, place->line,
			       tool_quote(line, length).text);
	else
		result = append_json_request(trace, place, object, error);
	json_object_put(object);
	json_tokener_free(tokener);
	return result;
}
