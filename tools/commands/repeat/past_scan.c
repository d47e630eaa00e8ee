/* Finding the report of a scan in the status table of a batch. */
#include "io/platform.h"
#include "io/text_rows.h"
#include "tools/commands/repeat/repetition.h"
#include "tools/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last row of a scan in the status table of a batch: its state and its report. */
typedef struct {
    char state[16], *report; /* malloc'ed; NULL: there is no such row */
} past_row;

static lob_status find_row(past_row *row, lob_lines *text, const char *scan)
{
    lob_fields fields;
    char *line = lob_lines_raw(text);
    if (line) lob_fields_cut(&fields, line, '\t');
    const int name = line ? lob_fields_column(&fields, "scan") : -1;
    const int state = line ? lob_fields_column(&fields, "state") : -1;
    const int report = line ? lob_fields_column(&fields, "report") : -1;
    if (name < 0 || state < 0 || report < 0)
        return lob_fail_file(text->error, LOB_EDATA, text->name,
                             "is no status table of this version of lobule batch");
    while ((line = lob_lines_raw(text)) && text->whole) {
        lob_fields_cut(&fields, line, '\t');
        if (fields.count <= report) continue;
        lob_cell_decode(fields.field[name]);
        if (strcmp(fields.field[name], scan) != 0) continue;
        free(row->report);
        lob_cell_decode(fields.field[report]);
        row->report = strdup(fields.field[report]);
        snprintf(row->state, sizeof row->state, "%s", fields.field[state]);
        if (!row->report) return lob_fail_file(text->error, LOB_ENOMEM, text->name, "no memory");
    }
    return LOB_OK;
}

static lob_status check_row(lob_session *s, const past_row *row, const char *path, const char *scan)
{
    if (!row->report)
        return lob_fail(&s->error, LOB_EARG, "--scan %s: %s has no row of this name", scan, path);
    if (strcmp(row->state, "done") != 0)
        return lob_fail_file(&s->error, LOB_EDATA, path,
                             "%s is not done but %s; repeat one that was done", scan, row->state);
    if (row->report[0]) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, path, "names no report of %s", scan);
}

lob_status lob_repeat_find_scan(lob_session *s, char **name, const char *path, const char *scan)
{
    lob_lines text;
    past_row row = {.report = NULL};
    const int folder = (int)(strrchr(path, '/') + 1 - path);
    *name = NULL;
    LOB_TRY(lob_lines_read(&text, path, &s->error));
    lob_status st = find_row(&row, &text, scan);
    lob_lines_end(&text);
    if (st == LOB_OK) st = check_row(s, &row, path, scan);
    if (st == LOB_OK &&
        asprintf(name, "%.*s%s", lob_is_from_root(row.report) ? 0 : folder, path, row.report) < 0)
        st = lob_session_no_memory(s, path);
    free(row.report);
    return st;
}
