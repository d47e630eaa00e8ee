/* JSON as text, for programs and for people. */
#ifndef LOB_JSON_TEXT_H
#define LOB_JSON_TEXT_H

#include "tools/text/text.h"

#include <cjson/cJSON.h>

#include <stdbool.h>

/*
 * A JSON value as text, which the caller frees; NULL where there is no memory. Strings of files, as
 * their names, may hold bytes that are not UTF-8: byte 0xHH is written as \udcHH, which no text in
 * UTF-8 is, so that it can be told back (Python does so in os.fsencode).
 */
char *lob_json_print(const cJSON *value);

/* Add it so; a NULL is a value for which there was no memory. */
void lob_text_add_json(lob_text *text, const cJSON *value);

/*
 * Print an object to standard output, as JSON or as text: a line for each value, an array's numbers
 * in one line, its objects a line each, an object indented below its key. Characters that could
 * steer a terminal come out as '?' there. Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_json_put(const cJSON *object, bool json, lob_error *error);

/* Print text of a file to standard output; it must not steer the terminal: '?' for characters that
 * could. */
void lob_print_safely(const char *text);

/* Numbers of a report by their names: LOB_JSON_NUMBERS(object, {"voxels", n}, {"mm3", volume}) */
typedef struct {
    const char *name;
    double value;
} lob_number;
#define LOB_JSON_NUMBERS(object, ...)                           \
    lob_json_numbers(object, (const lob_number[]){__VA_ARGS__}, \
                     sizeof((const lob_number[]){__VA_ARGS__}) / sizeof(lob_number))
void lob_json_numbers(cJSON *object, const lob_number *rows, size_t count);

/* Add an empty object to an array. Returns it, NULL without memory. */
cJSON *lob_json_row(cJSON *array);

/* An array of three whole numbers. */
void lob_json_integers(cJSON *object, const char *name, const int64_t values[3]);

/* The text of an object's member; where it has none, NULL, or "". */
static inline const char *lob_json_text(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}
const char *lob_json_string(const cJSON *object, const char *name);

/* A number of the results of a report or of a line in it, or how many things are listed, under the
 * first of these names that is there; -1: under none. The last name is NULL. */
double lob_json_result(const cJSON *line, const char *const *names);

#endif
