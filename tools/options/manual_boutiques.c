/*
 * --boutiques: a command as a descriptor of Boutiques (Glatard et al., "Boutiques: a flexible
 * framework to integrate command-line applications in computing platforms", GigaScience 7, 2018),
 * schema 0.5, printed from the option table.
 */
#include "tools/options/manual.h"
#include "tools/text/json_text.h"
#include "volumes/version.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    cJSON *inputs, *outputs;
    char line[8192]; /* the command line: a key for each input */
    size_t length;
} descriptor;

static const char *type_of(const lob_option *row)
{
    switch (row->kind) {
    case LOB_OPT_FLAG:
        return "Flag";
    case LOB_OPT_STEP:
        return row->unit ? "String" : "Flag";
    case LOB_OPT_INT:
    case LOB_OPT_REAL:
        return "Number";
    case LOB_OPT_INPUT:
    case LOB_OPT_INPUTS:
        return "File";
    default:
        return "String";
    }
}

static void add_choices(cJSON *input, const char *choices, bool numbers)
{
    cJSON *const words = cJSON_AddArrayToObject(input, "value-choices");
    char word[64];
    while (lob_next_choice(word, sizeof word, &choices))
        cJSON_AddItemToArray(words, numbers ? cJSON_CreateNumber(strtod(word, NULL))
                                            : cJSON_CreateString(word));
}

static void add_range(cJSON *input, const lob_option *row)
{
    const bool whole = row->kind == LOB_OPT_INT;
    const double most = whole ? 2147483647.0 : 1e15;
    if (whole) cJSON_AddTrueToObject(input, "integer");
    if (row->low > -most) cJSON_AddNumberToObject(input, "minimum", row->low);
    if (row->above_low && row->low > -most) cJSON_AddTrueToObject(input, "exclusive-minimum");
    if (row->high < most) cJSON_AddNumberToObject(input, "maximum", row->high);
}

/* An output file, whose name is the value of an input. */
static void add_output(descriptor *d, const lob_option *row, const char *id, const char *key)
{
    cJSON *const output = lob_json_row(d->outputs);
    cJSON_AddStringToObject(output, "id", id);
    cJSON_AddStringToObject(output, "name", row->name);
    cJSON_AddStringToObject(output, "path-template", key);
    if (!row->required) cJSON_AddTrueToObject(output, "optional");
}

static void add_row(descriptor *d, const lob_option *row)
{
    char id[64], key[64], flag[64], text[1024], of_output[80];
    cJSON *const input = lob_json_row(d->inputs);
    lob_row_identifier(id, sizeof id, row);
    snprintf(flag, sizeof flag, "%s", id);
    for (char *c = flag; *c; c++) *c = (char)toupper((unsigned char)*c);
    snprintf(key, sizeof key, "[%.60s]", flag);
    snprintf(flag, sizeof flag, "--%s", row->name);
    lob_row_text(text, sizeof text, row);
    cJSON_AddStringToObject(input, "id", id);
    cJSON_AddStringToObject(input, "name", row->name);
    cJSON_AddStringToObject(input, "description", text);
    cJSON_AddStringToObject(input, "type", type_of(row));
    cJSON_AddStringToObject(input, "value-key", key);
    if (!row->operand) cJSON_AddStringToObject(input, "command-line-flag", flag);
    if (!row->required) cJSON_AddTrueToObject(input, "optional");
    if (row->kind == LOB_OPT_WORDS || (lob_option_repeats(row) && lob_option_has_value(row)))
        cJSON_AddTrueToObject(input, "list");
    if (row->choices) add_choices(input, row->choices, row->kind == LOB_OPT_INT);
    if (!row->choices && (row->kind == LOB_OPT_INT || row->kind == LOB_OPT_REAL))
        add_range(input, row);
    if (row->kind == LOB_OPT_OUTPUT) {
        snprintf(of_output, sizeof of_output, "%s_file", id);
        add_output(d, row, of_output, key);
    }
    const int n = snprintf(d->line + d->length, sizeof d->line - d->length, " %s", key);
    if (n > 0 && d->length + (size_t)n < sizeof d->line) d->length += (size_t)n;
}

static cJSON *exit_codes(bool differs)
{
    cJSON *const codes = cJSON_CreateArray();
    lob_status from = LOB_OK;
    char text[256];
    for (int code; (code = lob_next_exit_code(text, sizeof text, &from, differs)) >= 0;) {
        if (code == 0) continue;
        cJSON *const row = lob_json_row(codes);
        cJSON_AddNumberToObject(row, "code", code);
        cJSON_AddStringToObject(row, "description", text);
    }
    return codes;
}

void lob_print_boutiques(FILE *to, const lob_manual *manual)
{
    cJSON *const json = cJSON_CreateObject();
    descriptor d = {.inputs = cJSON_CreateArray(), .outputs = cJSON_CreateArray()};
    char name[64];
    snprintf(name, sizeof name, "lobule %s", manual->name);
    d.length = (size_t)snprintf(d.line, sizeof d.line, "%s", name);
    for (const lob_option *row = NULL;
         (row = lob_option_next(manual->tables, manual->count, row));) {
        if (strcmp(row->name, "help") != 0 && strcmp(row->name, "version") != 0) add_row(&d, row);
    }
    cJSON_AddStringToObject(json, "name", name);
    cJSON_AddStringToObject(json, "description",
                            manual->description ? manual->description : manual->summary);
    cJSON_AddStringToObject(json, "tool-version", LOB_VERSION);
    cJSON_AddStringToObject(json, "schema-version", "0.5");
    cJSON_AddStringToObject(json, "command-line", d.line);
    cJSON_AddItemToObject(json, "inputs", d.inputs);
    if (cJSON_GetArraySize(d.outputs) > 0)
        cJSON_AddItemToObject(json, "output-files", d.outputs);
    else
        cJSON_Delete(d.outputs);
    cJSON_AddItemToObject(json, "error-codes", exit_codes(manual->differs));
    char *const text = cJSON_Print(json);
    if (text) fprintf(to, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(json);
}
