/* Commands in words, and the papers behind them. */
#include "tools/commands/repeat/past_report.h"

#include "tools/commands/repeat/methods_words.h"
#include "tools/text/json_text.h"
#include "tools/text/path.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const lob_past_report *report;
    const char *papers[64]; /* the list of references; methods_words.c has fewer */
    int cited;
} teller;

/* The name of an argument as options have it, "max_mm"; returns the joined value or NULL. *is_long
 * says whether it is one. */
static const char *option_of(char *key, size_t size, const char *argument, bool *is_long)
{
    const size_t length = strcspn(argument, "=");
    *is_long = strncmp(argument, "--", 2) == 0 && argument[2];
    if (!*is_long) return NULL;
    snprintf(key, size, "%.*s", (int)(length < size ? length - 2 : size - 1), argument + 2);
    for (char *c = key; *c; c++)
        if (*c == '-') *c = '_';
    return argument[length] ? argument + length + 1 : NULL;
}

static bool takes_value(const cJSON *option)
{
    return !cJSON_IsBool(option) && !cJSON_IsTrue(cJSON_GetArrayItem(option, 0));
}

/* Is it among the arguments? */
static bool is_given(const lob_past_line *line, const char *key)
{
    const cJSON *argument;
    cJSON_ArrayForEach(argument, line->arguments) {
        char name[64];
        bool is_long;
        option_of(name, sizeof name, argument->valuestring, &is_long);
        if (is_long && strcmp(name, key) == 0) return true;
    }
    return false;
}

static bool is_file(const lob_past_report *report, const char *key, const char *value)
{
    char role[64];
    snprintf(role, sizeof role, "%s", key);
    for (char *c = role; *c; c++)
        if (*c == '_') *c = '-';
    for (int k = 0; k < 2; k++) {
        const lob_past_file *const files = k ? report->outputs : report->inputs;
        const int count = k ? report->output_count : report->input_count;
        for (int i = 0; i < count; i++)
            if (strcmp(files[i].role, role) == 0 && strcmp(files[i].path, value) == 0) return true;
    }
    return lob_is_stored_name(value);
}

/* An option in words, after "(" or ", ". *told counts them. */
static void tell_option(const teller *t, int *told, const char *key, const char *value)
{
    for (const char *const *untold = lob_untold_options; *untold; untold++)
        if (strcmp(*untold, key) == 0) return;
    const lob_told_option *row = lob_told_options;
    while (row->option && strcmp(row->option, key) != 0) row++;
    const char *const words = row->words;
    if (!words && value && is_file(t->report, key, value)) return;
    fputs((*told)++ ? ", " : " (", stdout);
    const char *const hole = words ? strstr(words, "%s") : NULL;
    if (words) {
        printf("%.*s", (int)(hole ? hole - words : (ptrdiff_t)strlen(words)), words);
        if (hole && value) lob_print_safely(value);
        if (hole) fputs(hole + 2, stdout);
        return;
    }
    for (const char *c = key; *c; c++) putchar(*c == '_' ? ' ' : *c);
    if (value) putchar(' '), lob_print_safely(value);
}

/* A value as the report has it; of a flag whether it was given. */
static void value_text(char *text, size_t size, const cJSON *value)
{
    text[0] = '\0';
    if (cJSON_IsString(value)) snprintf(text, size, "%s", value->valuestring);
    if (cJSON_IsNumber(value)) snprintf(text, size, "%.10g", value->valuedouble);
    if (cJSON_IsBool(value)) snprintf(text, size, "%s", cJSON_IsTrue(value) ? "yes" : "no");
}

static const cJSON *value_of(const lob_past_line *line, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(line->options, key);
}

static void tell_options(const teller *t, const lob_past_line *line,
                         const char *const deciding[LOB_TOLD_DECIDING])
{
    const cJSON *argument;
    int told = 0;
    cJSON_ArrayForEach(argument, line->arguments) {
        char key[64];
        bool is_long;
        const char *value = option_of(key, sizeof key, argument->valuestring, &is_long);
        const cJSON *const option = is_long ? value_of(line, key) : NULL;
        if (!option) continue;
        if (!takes_value(option))
            value = NULL;
        else if (!value && argument->next)
            value = (argument = argument->next)->valuestring;
        char text[200]; /* with its unit */
        value_text(text, sizeof text, option);
        tell_option(t, &told, key, value && text[0] ? text : value);
        if (!argument->next) break;
    }
    for (int i = 0; i < LOB_TOLD_DECIDING && deciding[i]; i++) {
        char text[200];
        value_text(text, sizeof text, value_of(line, deciding[i]));
        if (text[0] && strcmp(text, "0") != 0 && !is_given(line, deciding[i]))
            tell_option(t, &told, deciding[i], text);
    }
    if (told) putchar(')');
}

static bool applies(const char *const when[LOB_TOLD_CONDITIONS], const lob_past_line *line)
{
    char text[200];
    if (strcmp(when[LOB_TOLD_COMMAND], line->command) != 0) return false;
    if (!when[LOB_TOLD_OPTION]) return true;
    if (!when[LOB_TOLD_VALUE]) return is_given(line, when[LOB_TOLD_OPTION]);
    value_text(text, sizeof text, value_of(line, when[LOB_TOLD_OPTION]));
    return strcmp(text, when[LOB_TOLD_VALUE]) == 0;
}

/* The number of a paper in the list of references, from 1. */
static int number_of(teller *t, const char *paper)
{
    int n = 0;
    while (n < t->cited && t->papers[n] != paper) n++;
    assert(n < (int)(sizeof t->papers / sizeof *t->papers));
    t->papers[n] = paper;
    if (n == t->cited) t->cited++;
    return n + 1;
}

static void cite(teller *t, const lob_past_line *line)
{
    const char *before = " [";
    for (const lob_told_papers *row = lob_told_papers_of; row->papers[0]; row++)
        for (int i = 0; i < LOB_TOLD_PAPERS && row->papers[i] && applies(row->when, line); i++) {
            printf("%s%d", before, number_of(t, row->papers[i]));
            before = ", ";
        }
    if (before[0] == ',') putchar(']');
}

static void tell_line(teller *t, const lob_past_line *line)
{
    const lob_told_command *row = lob_told_commands;
    while (row->when[LOB_TOLD_COMMAND] && !applies(row->when, line)) row++;
    const bool known = row->when[LOB_TOLD_COMMAND] != NULL;
    if (known && !row->sentence) return;
    putchar(' ');
    if (known)
        fputs(row->sentence, stdout);
    else
        fputs("The command ", stdout), lob_print_safely(line->command), fputs(" was run", stdout);
    cite(t, line);
    tell_options(t, line, row->deciding);
    putchar('.');
}

void lob_methods_print(const lob_past_report *report)
{
    teller t = {.report = report};
    fputs("Image processing was done with Lobule ", stdout);
    lob_print_safely(report->version);
    putchar('.');
    for (int i = 0; i < report->line_count; i++) tell_line(&t, &report->lines[i]);
    fputs(" Options that are not named had the defaults of this version. Results are the same "
          "bytes on every device and at any number of threads.\n",
          stdout);
    if (t.cited) fputs("\nReferences\n\n", stdout);
    for (int n = 0; n < t.cited; n++) printf("[%d] %s\n", n + 1, t.papers[n]);
}
