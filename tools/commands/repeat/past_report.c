/* Reading reports: a function of a buffer, because a report may come from anywhere. */
#include "tools/commands/repeat/past_report.h"

#include "io/file.h"
#include "io/sha256.h"
#include "tools/text/json_text.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_past_report *out;
    const char *name; /* of the file */
    lob_error *error;
} reader;

static lob_status no_memory(const reader *r)
{
    return lob_fail_file(r->error, LOB_ENOMEM, r->name, "out of memory");
}

static lob_status refuse(const reader *r, const char *field, const char *what)
{
    return lob_fail_file(r->error, LOB_EDATA, r->name,
                         "'%s' %s; give a report that --report has written", field, what);
}

/* ---- text ---- */

/*
 * A copy in which bytes stand for themselves that a report writes as \udcHH, the low half of a pair
 * whose high half is missing. cJSON takes any bytes in a text, but refuses such a half.
 */
static char *with_bytes(const char *from, size_t size, size_t *length)
{
    char *const text = malloc(size + 1), *to = text;
    bool after_high = false; /* what comes next belongs to a pair */
    for (size_t i = 0; text && i < size;) {
        size_t n = from[i] == '\\' && i + 1 < size ? 2 : 1; /* a backslash and what belongs to it */
        unsigned long code = 0;
        if (n == 2 && from[i + 1] == 'u' && size - i >= 6) {
            code = strtoul((char[]){from[i + 2], from[i + 3], from[i + 4], from[i + 5], '\0'}, NULL,
                           16);
            n = 6;
        }
        const bool is_byte = code >= 0xdc80 && code <= 0xdcff && !after_high;
        after_high = code >= 0xd800 && code <= 0xdbff;
        if (is_byte)
            *to++ = (char)code;
        else
            to = (char *)memcpy(to, from + i, n) + n;
        i += n;
    }
    if (text) *length = (size_t)(to - text);
    return text;
}

/* ---- fields ---- */

static lob_status take_text(const reader *r, const char **out, const cJSON *object,
                            const char *field)
{
    *out = lob_json_text(object, field);
    return *out ? LOB_OK : refuse(r, field, "is missing, or is no text");
}

static const char *sum_of(const cJSON *file)
{
    const char *const sum = lob_json_text(file, "sha256");
    const bool is_sum = sum && strlen(sum) == LOB_SHA256_TEXT - 1 &&
                        strspn(sum, "0123456789abcdef") == LOB_SHA256_TEXT - 1;
    return is_sum ? sum : NULL;
}

static lob_status take_files(const reader *r, lob_past_file **files, int *count, const char *field)
{
    const cJSON *const array = cJSON_GetObjectItemCaseSensitive(r->out->json, field), *file;
    if (!cJSON_IsArray(array)) return refuse(r, field, "is missing, or is no list");
    *files = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof **files);
    if (!*files) return no_memory(r);
    cJSON_ArrayForEach(file, array) {
        const cJSON *const second = cJSON_GetObjectItemCaseSensitive(file, "second_file");
        lob_past_file *const f = &(*files)[*count];
        f->role = lob_json_text(file, "role");
        f->path = lob_json_text(file, "path");
        if (!f->role || !f->path || !f->path[0])
            return refuse(r, field, "holds a file without a path or a role");
        f->sum[0] = sum_of(file);
        f->sum[1] = sum_of(second);
        f->provenance = lob_json_text(file, "provenance");
        /* What --bids writes beside labels names files of its own folder, and is not made again. */
        if (!lob_is_stored_name(f->path) && strcmp(f->role, "bids") != 0) ++*count;
    }
    return LOB_OK;
}

static lob_status take_line(const reader *r, const cJSON *report)
{
    lob_past_line *const line = &r->out->lines[r->out->line_count];
    const cJSON *word;
    LOB_TRY(take_text(r, &line->command, report, "command"));
    line->options = cJSON_GetObjectItemCaseSensitive(report, "options");
    line->arguments = cJSON_GetObjectItemCaseSensitive(report, "arguments");
    if (!cJSON_IsObject(line->options)) return refuse(r, "options", "is missing, or is no object");
    if (!cJSON_IsArray(line->arguments)) return refuse(r, "arguments", "is missing, or is no list");
    cJSON_ArrayForEach(word, line->arguments)
        if (!cJSON_IsString(word)) return refuse(r, "arguments", "holds what is no text");
    r->out->line_count++;
    return LOB_OK;
}

/* The lines of a recipe, or the command itself. */
static lob_status take_lines(const reader *r)
{
    lob_past_report *const out = r->out;
    const cJSON *const results = cJSON_GetObjectItemCaseSensitive(out->json, "results"), *report;
    const cJSON *const lines = cJSON_GetObjectItemCaseSensitive(results, "lines");
    const bool is_recipe = strcmp(out->command, "run") == 0;
    if (is_recipe && !cJSON_IsArray(lines))
        return refuse(r, "results.lines", "is missing, or is no list");
    out->lines = calloc(is_recipe ? (size_t)cJSON_GetArraySize(lines) + 1 : 1, sizeof *out->lines);
    if (!out->lines) return no_memory(r);
    if (!is_recipe) return take_line(r, out->json);
    cJSON_ArrayForEach(report, lines) LOB_TRY(take_line(r, report));
    return out->line_count > 0 ? LOB_OK : refuse(r, "results.lines", "is empty");
}

static lob_status take_outcome(const reader *r)
{
    const cJSON *const outcome = cJSON_GetObjectItemCaseSensitive(r->out->json, "outcome");
    const cJSON *const code = cJSON_GetObjectItemCaseSensitive(outcome, "exit_code");
    if (!cJSON_IsNumber(code)) return refuse(r, "outcome.exit_code", "is missing, or is no number");
    r->out->exit_code = code->valueint;
    return take_text(r, &r->out->message, outcome, "message");
}

static lob_status take_report(const reader *r)
{
    lob_past_report *const out = r->out;
    const char *const tool = lob_json_text(out->json, "tool");
    if (!tool || strcmp(tool, "lobule") != 0)
        return lob_fail_file(r->error, LOB_EDATA, r->name,
                             "is no report of lobule; give a file that --report has written");
    LOB_TRY(take_text(r, &out->version, out->json, "version"));
    LOB_TRY(take_text(r, &out->command, out->json, "command"));
    out->folder = lob_json_text(out->json, "folder");
    LOB_TRY(take_outcome(r));
    LOB_TRY(take_files(r, &out->inputs, &out->input_count, "inputs"));
    LOB_TRY(take_files(r, &out->outputs, &out->output_count, "outputs"));
    if (out->exit_code != 0 && out->exit_code != 1) return LOB_OK; /* it may have no lines */
    return take_lines(r);
}

lob_status lob_past_report_parse(lob_past_report *out, const char *bytes, size_t size,
                                 const char *name, lob_error *error)
{
    const reader r = {out, name, error};
    size_t length = 0;
    *out = (lob_past_report){.json = NULL};
    char *const text = with_bytes(bytes, size, &length);
    if (!text) return no_memory(&r);
    const char *end = NULL;
    out->json = cJSON_ParseWithLengthOpts(text, length, &end, false);
    while (out->json && end < text + length && strchr(" \t\r\n", *end)) end++;
    const bool whole = out->json && end == text + length;
    lob_status st = whole ? take_report(&r)
                          : lob_fail_file(error, LOB_EDATA, name,
                                          "is no JSON as a whole, so no report; copy it again from "
                                          "its source");
    free(text);
    if (st != LOB_OK) lob_past_report_free(out);
    return st;
}

lob_status lob_past_report_read(lob_past_report *out, const char *path, lob_error *error)
{
    lob_input in;
    *out = (lob_past_report){.json = NULL};
    LOB_TRY(lob_input_open(&in, path, error));
    const lob_status st =
        in.size > LOB_PAST_MAX_BYTES
            ? lob_fail_file(error, LOB_EDATA, path,
                            "has %zu bytes, more than a report has; give a report", in.size)
            : lob_past_report_parse(out, (const char *)in.bytes, in.size, path, error);
    lob_input_close(&in);
    return st;
}

void lob_past_report_free(lob_past_report *report)
{
    LOB_FREE(report->lines, report->inputs, report->outputs);
    cJSON_Delete(report->json);
    *report = (lob_past_report){.json = NULL};
}

/* ---- as a recipe ---- */

static lob_status put_word(const reader *r, lob_recipe *to, const char *word)
{
    for (const unsigned char *c = (const unsigned char *)word; *c; c++)
        if ((*c < ' ' && *c != '\t') || *c == 127)
            return lob_fail_file(r->error, LOB_EDATA, r->name,
                                 "'%s' holds a control character, which no line of a recipe can; "
                                 "give the file another name and run the command anew",
                                 word);
    if (!lob_grow(&to->words, to->word_count, sizeof *to->words)) return no_memory(r);
    to->words[to->word_count++] = word;
    to->lines[to->line_count - 1].count++;
    return LOB_OK;
}

static lob_status put_line(const reader *r, lob_recipe *to, const lob_past_line *line)
{
    const cJSON *word;
    if (!lob_grow(&to->lines, to->line_count, sizeof *to->lines)) return no_memory(r);
    to->lines[to->line_count] =
        (lob_recipe_line){.number = to->line_count + 1, .first = to->word_count};
    to->line_count++;
    LOB_TRY(put_word(r, to, line->command));
    cJSON_ArrayForEach(word, line->arguments)
        if (strcmp(word->valuestring, "--bids") != 0) LOB_TRY(put_word(r, to, word->valuestring));
    return LOB_OK;
}

lob_status lob_past_report_recipe(lob_recipe *out, const lob_past_report *report, const char *name,
                                  lob_error *error)
{
    const reader r = {.name = name, .error = error};
    lob_status st = LOB_OK;
    *out = (lob_recipe){.summary = ""};
    for (int i = 0; i < report->line_count && st == LOB_OK; i++)
        st = put_line(&r, out, &report->lines[i]);
    if (st != LOB_OK) lob_recipe_free(out);
    return st;
}
