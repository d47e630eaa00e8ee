/* JSON as lines for people. */
#ifndef LOB_JSON_TEXT_H
#define LOB_JSON_TEXT_H

#include <cjson/cJSON.h>

/*
 * Print an object to standard output: a line for each value, an array's numbers in one line, its
 * objects a line each, an object indented below its key. Characters that could steer a terminal
 * come out as '?'.
 */
void lob_json_show(const cJSON *object);

#endif
