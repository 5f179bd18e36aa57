/* SPDX-License-Identifier: MIT */
/* Texts of any bytes, such as the names of files, in JSON, which holds UTF-8 only. */
#ifndef H2DPUB_TOOLS_JSON_TEXT_H
#define H2DPUB_TOOLS_JSON_TEXT_H

#include <json-c/json.h>

/* A string in which each byte that is not part of UTF-8 is \xNN. NULL: out of memory. */
struct json_object *json_text_new(const char *text);

#endif
