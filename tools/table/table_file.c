/* Tables of numbers as TSV, CSV and JSON, a piece of text at a time. */
#include "tools/table/table_file.h"

#include "io/file.h"
#include "tools/platform/process.h"
#include "tools/report/report.h"
#include "tools/session/session.h"
#include "tools/table/terminal_table.h"
#include "tools/text/number_text.h"
#include "volumes/free.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A table being written, through a buffer. */
typedef struct {
    const lob_table *table;
    enum { TSV, CSV, JSON } form;
    char *scan;       /* as it is written before each row; NULL: nothing is */
    lob_output *file; /* NULL: standard output */
    bool unread;      /* its reader has gone */
    int width;        /* of the terminal that standard output is; 0: none */
    double *values;   /* a row */
    lob_text text;    /* that has not been written; for a terminal, all */
    lob_status status;
    lob_session *session;
} printer;

/* Write what there is, unless that is for a terminal. */
static void flush(printer *p)
{
    lob_error *error = &p->session->error;
    if (p->status == LOB_OK) p->status = lob_session_cancelled(p->session);
    if (p->width > 0) return;
    if (p->status == LOB_OK && p->file)
        p->status = lob_output_write(p->file, p->text.bytes, p->text.size, error);
    else if (p->status == LOB_OK &&
             fwrite(p->text.bytes, 1, p->text.size, stdout) != p->text.size) {
        const int reason = errno; /* a signal that stops us may be it */
        p->status = lob_session_cancelled(p->session);
        p->unread = lob_stdout_is_closed();
        if (p->status == LOB_OK && !p->unread)
            p->status = lob_fail(error, LOB_EIO, "standard output: %s", strerror(reason));
    }
    p->text.size = 0;
}

static void put(printer *p, const char *text)
{
    enum { ENOUGH = 1 << 16 };
    lob_text_add(&p->text, text, strlen(text));
    if (p->text.failed && p->status == LOB_OK)
        p->status = lob_session_no_memory(p->session, "the table");
    if (p->text.size >= ENOUGH) flush(p);
}

/* Between and instead of values. */
static const struct {
    const char *gap, *missing;
} signs[] = {
    [TSV] = {"\t", "n/a" },
    [CSV] = {",",  ""    },
    [JSON] = {", ", "null"},
};

/* A text with what stands around it, malloc'ed. A spreadsheet that opens a CSV would compute what
 * begins with one of = + - @; behind ' it is a text. */
static char *cell_text(const printer *p, const char *cell)
{
    if (p->form == JSON) {
        cJSON *json = cJSON_CreateString(cell);
        char *text = json ? lob_json_print(json) : NULL;
        cJSON_Delete(json);
        return text;
    }
    const bool quoted = p->form == CSV && strpbrk(cell, ",\"") != NULL;
    char *text = malloc(2 * strlen(cell) + 4), *to = text;
    if (!text) return NULL;
    if (quoted) *to++ = '"';
    if (p->form == CSV && cell[0] && strchr("=+-@", cell[0])) *to++ = '\'';
    for (; *cell; cell++) {
        if (*cell == '"' && quoted) *to++ = '"';
        *to++ = *cell;
    }
    if (quoted) *to++ = '"';
    *to = '\0';
    return text;
}

static bool has_label_names(const lob_table *table)
{
    return table->label_names && table->label_names->count > 0;
}

/* What the label of a row is called. */
static void put_label_name(printer *p)
{
    const int32_t label = (int32_t)p->values[0];
    const lob_label_name *const row = lob_label_names_find(p->table->label_names, label);
    char *const text = row ? cell_text(p, row->name) : NULL;
    if (row && !text) p->status = lob_session_no_memory(p->session, "a table");
    put(p, signs[p->form].gap);
    if (p->form == JSON) put(p, "\"name\": ");
    put(p, text ? text : signs[p->form].missing);
    free(text);
}

static void put_names(printer *p)
{
    if (p->scan) put(p, "scan");
    for (int c = 0; c < p->table->columns; c++) {
        put(p, c || p->scan ? signs[p->form].gap : "");
        put(p, p->table->names[c]);
        if (c > 0 || !has_label_names(p->table)) continue;
        put(p, signs[p->form].gap);
        put(p, "name");
    }
    put(p, "\n");
}

static void put_values(printer *p)
{
    const bool json = p->form == JSON;
    if (p->scan && json) put(p, "\"scan\": ");
    if (p->scan) put(p, p->scan);
    for (int c = 0; c < p->table->columns; c++) {
        char number[32];
        (json || c < p->table->keys ? lob_number_text : lob_number_brief)(number, p->values[c]);
        put(p, c || p->scan ? signs[p->form].gap : "");
        if (json) {
            put(p, "\"");
            put(p, p->table->names[c]);
            put(p, "\": ");
        }
        put(p, number[0] ? number : signs[p->form].missing);
        if (c == 0 && has_label_names(p->table)) put_label_name(p);
    }
}

static void put_table(printer *p)
{
    bool first = true;
    const bool json = p->form == JSON;
    if (json)
        put(p, "[");
    else
        put_names(p);
    for (int64_t i = 0; i < p->table->rows && p->status == LOB_OK && !p->unread; i++) {
        if (!p->table->row(p->values, i, p->table->user)) continue;
        if (json) put(p, first ? "\n{" : ",\n{");
        put_values(p);
        put(p, json ? "}" : "\n");
        first = false;
    }
    if (json) put(p, "\n]\n");
    flush(p);
}

static lob_status make_table(lob_session *s, const char *path, void *user)
{
    printer *p = user;
    lob_output out;
    const double start_s = lob_clock_s();
    LOB_TRY(lob_output_begin(&out, path, s->force, &s->error));
    p->file = &out;
    put_table(p);
    p->status = lob_output_end(&out, p->status, &s->error);
    lob_session_stage(s, "write", start_s);
    return p->status;
}

static bool ends_in(const char *path, const char *suffix)
{
    const size_t length = strlen(path), n = strlen(suffix);
    return length > n && strcmp(path + length - n, suffix) == 0;
}

lob_status lob_table_check(lob_session *s, const char *path, const char *scan)
{
    for (const char *c = scan; c && *c; c++)
        if (iscntrl((unsigned char)*c))
            return lob_fail(&s->error, LOB_EARG,
                            "--name: a tab or a line end does not fit in a table");
    if (!path || strcmp(path, "-") == 0 || ends_in(path, ".tsv") || ends_in(path, ".csv") ||
        ends_in(path, ".json"))
        return LOB_OK;
    return lob_fail_file(&s->error, LOB_EARG, path,
                         "a table is written as .tsv, .csv or .json, or as TSV to standard output "
                         "(-)");
}

lob_status lob_table_write(lob_session *s, const lob_table *table, const char *path)
{
    printer p = {.table = table,
                 .form = ends_in(path, ".json")  ? JSON
                         : ends_in(path, ".csv") ? CSV
                                                 : TSV,
                 .values = calloc((size_t)table->columns, sizeof *p.values),
                 .session = s};
    lob_status st = LOB_OK;
    p.scan = table->scan ? cell_text(&p, table->scan) : NULL;
    if (!p.values || (table->scan && !p.scan)) {
        st = lob_fail_file(&s->error, LOB_ENOMEM, path, "out of memory");
    } else if (strcmp(path, "-") == 0) {
        lob_session_doing(s, "printing"); /* the bar leaves the terminal to the table */
        p.width = lob_terminal_width();
        put_table(&p);
        st = p.status;
        if (st == LOB_OK && p.width > 0) st = lob_terminal_table(&p.text, p.width, &s->error);
    } else {
        st = lob_session_make(s, NULL, path, make_table, &p);
    }
    LOB_FREE(p.scan, p.values);
    lob_text_free(&p.text);
    return st;
}
