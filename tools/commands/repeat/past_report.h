/* What a report says was done, read back so that it can be done again or told in words. */
#ifndef LOB_PAST_REPORT_H
#define LOB_PAST_REPORT_H

#include "tools/recipe/recipe.h"

#include <cjson/cJSON.h>

#include <stddef.h>

enum { LOB_PAST_MAX_BYTES = 64 << 20 };

/* A file that was read or written. */
typedef struct {
    const char *role;       /* the option or operand that named it */
    const char *path;       /* as it was typed */
    const char *sum[2];     /* SHA-256 of its file and of a second one; NULL: not in the report */
    const char *provenance; /* what --provenance put into it; NULL: nothing */
} lob_past_file;

/* A command that was run: the report's own, or a line of its recipe. */
typedef struct {
    const char *command;
    const cJSON *arguments; /* an array of texts */
    const cJSON *options;   /* an object: a value for each name of the command's table */
} lob_past_line;

typedef struct {
    cJSON *json; /* what all others point into */
    const char *version, *command;
    const char *folder;  /* in which relative names begin; NULL: the report does not say */
    const char *message; /* why it failed, or "" */
    int exit_code;
    lob_past_line *lines;
    lob_past_file *inputs, *outputs; /* neither holds volumes in memory */
    int line_count, input_count, output_count;
} lob_past_report;

/*
 * Parse a report. A name that is no UTF-8 stands there as lob_json_print writes it.
 *
 *   out    out  overwritten, so it must hold nothing; empty on failure; else free with
 *               lob_past_report_free
 *   bytes  in   size of them, no NUL needed at the end; any bytes at all
 *   name   in   of the file, for messages
 *
 * Returns LOB_OK, LOB_EDATA (no report, or what is needed of it is missing) or LOB_ENOMEM.
 */
lob_status lob_past_report_parse(lob_past_report *out, const char *bytes, size_t size,
                                 const char *name, lob_error *error);

/* Read a report and parse it. Returns what lob_past_report_parse does, LOB_ENOINPUT or LOB_EIO. */
lob_status lob_past_report_read(lob_past_report *out, const char *path, lob_error *error);

void lob_past_report_free(lob_past_report *report);

/*
 * The commands as a recipe, a line each, whose words are those of the report.
 *
 *   out  out  overwritten, so it must hold nothing; empty on failure; else free with
 *             lob_recipe_free
 *
 * Returns LOB_OK, LOB_EDATA (an argument that holds a control character) or LOB_ENOMEM.
 */
lob_status lob_past_report_recipe(lob_recipe *out, const lob_past_report *report, const char *name,
                                  lob_error *error);

/* Print to standard output: the program and its version; a sentence for each command with the
 * options that were given and those that decide; the references of the algorithms used. */
void lob_methods_print(const lob_past_report *report);

#endif
