/* The scans of a batch: their names, and the values of the recipe's placeholders. */
#include "tools/batch/batch.h"
#include "tools/commands/bids/bids_path.h"
#include "tools/recipe/file_uses.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is at hand while the scans are made. */
typedef struct {
    lob_batch *b;
    const lob_columns *columns;
    lob_error *error;
    const char **given; /* by placeholder, of NAME=PATTERN; NULL: none */
    char usual[192];    /* how {out} is named where nobody says it */
} planner;

void lob_batch_plan_free(lob_batch *b)
{
    for (int64_t i = 0; i < b->count; i++) {
        lob_plan_scan *const scan = &b->scans[i];
        for (int v = 0; scan->values && v < b->recipe.value_count; v++) free(scan->values[v]);
        LOB_FREE(scan->values, scan->name, scan->conflict);
    }
    free(b->scans);
    b->count = 0;
}

/* ---- values ---- */

/* What {name} stands for in a row; NULL: nothing. */
static const char *cell_of(const planner *p, int64_t row, const char *name)
{
    const char *const cell = lob_columns_cell(p->columns, row, name);
    if (cell) return cell;
    if (strcmp(name, "scan") == 0) return p->b->scans[row].name;
    return strcmp(name, "dir") == 0 ? p->b->out : NULL;
}

/* A pattern with what {name} stands for in a row in its place. */
static lob_status expand(char **out, const planner *p, int64_t row, const char *pattern)
{
    lob_text text = {NULL};
    for (const char *at = pattern; *at;) {
        const size_t n = strcspn(at, "{");
        lob_text_add(&text, at, n);
        at += n;
        if (!*at) break;
        const size_t length = strcspn(at, "}");
        char name[128];
        snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length - 1 : 0, at + 1);
        const char *const cell = at[length] ? cell_of(p, row, name) : NULL;
        if (!cell) {
            lob_text_free(&text);
            return lob_fail(p->error, LOB_EARG, "%s: {%s} is no column of %s", pattern, name,
                            p->columns->source);
        }
        lob_text_add(&text, cell, strlen(cell));
        at += length + 1;
    }
    *out = lob_text_take(&text);
    return *out ? LOB_OK : lob_fail(p->error, LOB_ENOMEM, "%s: out of memory", pattern);
}

static lob_status find_given(planner *p)
{
    const lob_batch *const b = p->b;
    for (int i = 0; i < b->given_count; i++) {
        const char *const word = b->given[i];
        const size_t length = strcspn(word, "=");
        const int v = lob_recipe_find_value(&b->recipe, word, length);
        if (v < 0)
            return lob_fail(p->error, LOB_EARG, "%s: %s has no {%.*s}", word, b->recipe_path,
                            (int)length, word);
        if (p->given[v])
            return lob_fail(p->error, LOB_EARG, "%s= is given twice", b->recipe.values[v].name);
        p->given[v] = word + length + 1;
    }
    return LOB_OK;
}

/* There is neither a pattern nor a column, nor a value that the recipe has. */
static lob_status no_value(const planner *p, const lob_recipe_value *value, bool is_out)
{
    char place[1024];
    lob_recipe_place(place, sizeof place, p->b->session->line ? NULL : p->b->recipe_path,
                     value->line);
    return lob_fail(p->error, LOB_EARG,
                    "%s{%s} has no value: %s%s has no such column; add it, or %s=PATTERN with "
                    "{column} for what differs%s",
                    place, value->name, p->columns->source,
                    p->columns->gap == ',' ? ", with commas between columns," : "", value->name,
                    is_out ? ", or --out FOLDER" : "");
}

/* The value of one scan, malloc'ed. */
static lob_status value_of(char **out, const planner *p, int v, int64_t row)
{
    const lob_recipe_value *const value = &p->b->recipe.values[v];
    const bool is_out = strcmp(value->name, "out") == 0;
    const char *const cell = cell_of(p, row, value->name);
    const char *const plain = cell && cell[0] ? cell : value->initial;
    if (p->given[v]) return expand(out, p, row, p->given[v]);
    if ((!cell || !cell[0]) && is_out && p->b->out) return expand(out, p, row, p->usual);
    if (!plain && !cell) return no_value(p, value, is_out);
    if (!plain)
        return lob_fail(p->error, LOB_EDATA, "%s:%lld: the cell of column %s is empty",
                        p->columns->source, (long long)p->columns->line[row], value->name);
    *out = strdup(plain);
    return *out ? LOB_OK : lob_fail(p->error, LOB_ENOMEM, "%s: out of memory", p->columns->source);
}

static lob_status fill_scan(const planner *p, int64_t row)
{
    lob_plan_scan *const scan = &p->b->scans[row];
    const int values = p->b->recipe.value_count;
    lob_about about;
    scan->values = calloc((size_t)values + 1, sizeof *scan->values);
    if (!scan->values) return lob_fail(p->error, LOB_ENOMEM, "out of memory");
    for (int v = 0; v < values; v++) {
        LOB_TRY(value_of(&scan->values[v], p, v, row));
        if (lob_is_stored_name(scan->values[v]))
            return lob_fail(p->error, LOB_EDATA,
                            "%s:%lld: %s: volumes in memory belong to the recipe; a file of this "
                            "name is ./%s",
                            p->columns->source, (long long)p->columns->line[row], scan->values[v],
                            scan->values[v]);
        if (lob_batch_stat(&about, scan->values[v])) scan->bytes += (int64_t)about.bytes;
    }
    return LOB_OK;
}

/* ---- names ---- */

/* The name of a file without folders and suffix, or with them; malloc'ed. */
static char *short_name(const char *path, bool whole)
{
    const char *const name = whole ? path : lob_name_in_path(path);
    size_t n = strcspn(name, ":");
    if (n > 3 && strncmp(name + n - 3, ".gz", 3) == 0) n -= 3;
    size_t dot = n;
    while (dot > 1 && name[dot - 1] != '.' && name[dot - 1] != '/') dot--;
    return strndup(name, dot > 1 && name[dot - 1] == '.' ? dot - 1 : n);
}

/* A scan's name that no other has so far: of its cell, or else of the file of the first column, of
 * that path, with a number behind. Returns LOB_OK, LOB_EDATA or LOB_ENOMEM. */
static lob_status name_scan(char **name, lob_names *names, const lob_columns *columns, int64_t i)
{
    const char *const cell = lob_columns_cell(columns, i, "scan");
    for (int64_t attempt = 0;; attempt++) {
        char *plain =
            cell ? strdup(cell) : short_name(columns->cells[i * columns->columns], attempt > 0);
        free(*name);
        *name = plain;
        if (attempt > 1) {
            *name = lob_printed("%s-%lld", plain, (long long)attempt);
            free(plain);
        }
        const int64_t *const first = *name ? lob_names_add(names, *name, i) : NULL;
        if (!first) return LOB_ENOMEM;
        if (cell && (!cell[0] || *first != i)) return LOB_EDATA;
        if (*first == i) return LOB_OK;
    }
}

static lob_status make_scans(planner *p)
{
    lob_batch *const b = p->b;
    const lob_columns *const columns = p->columns;
    lob_names names = {NULL};
    lob_status st = LOB_OK;
    b->scans = calloc((size_t)columns->rows, sizeof *b->scans);
    if (!p->given || !b->scans) return lob_fail(p->error, LOB_ENOMEM, "out of memory");
    b->count = columns->rows;
    for (int64_t i = 0; i < b->count && st == LOB_OK; i++) {
        char **const name = &b->scans[i].name;
        st = name_scan(name, &names, columns, i);
        if (st == LOB_ENOMEM) lob_fail(p->error, st, "%s: out of memory", columns->source);
        if (st == LOB_EDATA)
            lob_fail(p->error, st, "%s:%lld: column scan %s%s; each line needs a name of its own",
                     columns->source, (long long)columns->line[i],
                     **name ? "has the name of another line: " : "is empty", *name);
    }
    lob_names_free(&names);
    if (st == LOB_OK) st = find_given(p);
    for (int64_t i = 0; i < b->count && st == LOB_OK; i++) st = fill_scan(p, i);
    return st;
}

lob_status lob_batch_plan(lob_batch *b, const lob_columns *columns)
{
    planner p = {b, columns, &b->session->error, NULL, ""};
    if (columns->rows == 0)
        return lob_fail_file(p.error, LOB_EDATA, columns->source,
                             "has no line behind the names of columns");
    const char *const stem = lob_columns_cell(columns, 0, "stem");
    char label[LOB_BIDS_LABEL];
    lob_bids_label(label, b->session->line ? "lobule" : lob_name_in_path(b->recipe_path));
    /* as BIDS has it if the images are named so */
    if (stem && strncmp(stem, "sub-", 4) == 0)
        snprintf(p.usual, sizeof p.usual, "{dir}/{folder}/{bids}_desc-%s_dseg.nii.gz",
                 label[0] ? label : "lobule");
    else
        snprintf(p.usual, sizeof p.usual, "{dir}/%s_labels.nii.gz",
                 stem ? "{folder}/{stem}" : "{scan}");
    p.given = calloc((size_t)b->recipe.value_count + 1, sizeof *p.given);
    const lob_status st = make_scans(&p);
    free(p.given);
    return st;
}

/* ---- who writes and who reads a file ---- */

/* A file that a scan writes. */
typedef struct {
    lob_file_use *use;
    char *path; /* as its line names it; malloc'ed */
    int64_t scan;
} claim;

typedef struct {
    lob_file_uses uses; /* by numbers of scans */
    claim *list;        /* scan after scan */
    int64_t count;
} claims;

/* Note who reads a file or would write it. */
static bool note_file(claims *to, int64_t number, const lob_line_file *file)
{
    lob_file_use *use[2];
    if (lob_file_uses_of(use, &to->uses, file->path, true, !file->is_output) != LOB_OK)
        return false;
    for (int k = 0; k < 2 && use[k]; k++) {
        if (!file->is_output) {
            lob_file_use_read(use[k], number);
            continue;
        }
        char *const path =
            lob_grow(&to->list, to->count, sizeof *to->list) ? strdup(file->path) : NULL;
        if (!path) return false;
        to->list[to->count++] = (claim){use[k], path, number};
    }
    return true;
}

static bool note_files(claims *to, int64_t number, const lob_recipe_job *job)
{
    for (int i = 0; i < job->line_count; i++)
        for (int f = 0; f < job->lines[i].file_count; f++) {
            const lob_line_file *const file = &job->lines[i].files[f];
            const bool made = !file->is_output && lob_recipe_job_maker(job, 0, file->path) < i;
            if (lob_line_file_is_on_disk(file) && !made && !note_file(to, number, file))
                return false;
        }
    return true;
}

/* Make the folders of a scan's outputs; those of labels in a store come with the store. */
static void make_folders(const lob_recipe_job *job)
{
    for (int i = 0; i < job->line_count; i++)
        for (int f = 0; f < job->lines[i].file_count; f++) {
            const lob_line_file *const file = &job->lines[i].files[f];
            if (file->is_output && lob_line_file_is_on_disk(file) && !lob_path_in_store(file->path))
                lob_make_folders(file->path);
        }
}

/* Check the options of a scan's lines, and, where they are sound, note its files in a list. They
 * are checked again once their folders are there, as only then all paths lead somewhere. */
static lob_status check_scan(lob_batch *b, int64_t number, claims *to)
{
    lob_session *const s = b->session;
    const lob_device_choice device = s->device;
    const char *const *const values = (const char *const *)b->scans[number].values;
    lob_recipe_job job;
    s->device = (lob_device_choice){.backend = "cpu"}; /* a line cannot have all of them */
    lob_status st =
        lob_recipe_job_make(&job, s, &b->recipe, s->line ? NULL : b->recipe_path, values);
    if (st == LOB_OK) st = lob_recipe_job_check_usage(&job);
    if (st == LOB_OK && to && b->scans[number].shard == b->shard) {
        make_folders(&job);
        st = lob_recipe_job_check_usage(&job);
    }
    if (st == LOB_OK && to && !note_files(to, number, &job))
        st = lob_session_no_memory(s, b->scans[number].name);
    lob_recipe_job_free(&job);
    s->device = device;
    s->device_wanted = false;
    return st;
}

lob_status lob_batch_check_usage(lob_batch *b)
{
    lob_error first = {.text = ""};
    lob_status st = LOB_EARG;
    for (int64_t i = 0; i < b->count && st == LOB_EARG; i++) {
        st = check_scan(b, i, NULL);
        if (i == 0) first = b->session->error;
    }
    b->session->error = st == LOB_EARG ? first : (lob_error){.text = ""};
    return st == LOB_EARG ? st : LOB_OK;
}

/* Another scan that has a file or the store that it lies in, or else uses either, is a conflict. */
static bool find_conflict(const lob_batch *b, const claim *c)
{
    lob_plan_scan *const scan = &b->scans[c->scan];
    const lob_file_use *made = c->use;
    while (made && (made->writer < 0 || made->writer == c->scan)) made = made->store;
    const int64_t reader = lob_file_use_other(c->use->readers, c->scan);
    const int64_t inside = lob_file_use_other(c->use->inside, c->scan);
    const int64_t other = made ? made->writer : reader >= 0 ? reader : inside;
    if (other < 0 || scan->conflict) return true;
    scan->conflict = lob_printed(
        "%s: scan %s %s", c->path, b->scans[other].name,
        made == c->use ? "writes it; each scan needs outputs of its own"
        : made ? "writes the store that it lies in; make the store in a batch before this one"
        : reader >= 0 ? "reads it; make what other scans read in a batch before this one"
                      : "uses what lies in it; make the store in a batch before this one");
    return scan->conflict != NULL;
}

lob_status lob_batch_claim(lob_batch *b)
{
    claims all = {.list = NULL};
    lob_status st = LOB_OK;
    for (int64_t i = 0; i < b->count && st == LOB_OK; i++) {
        st = lob_session_cancelled(b->session);
        if (st == LOB_OK) st = check_scan(b, i, &all);
        if (st != LOB_ENOMEM && st != LOB_ECANCEL) st = LOB_OK; /* its row will tell */
    }
    if (st == LOB_OK) b->session->error = (lob_error){.text = ""};
    /* a scan with a conflict has none of its outputs, so that others may write them */
    for (int64_t i = 0, end; i < all.count && st == LOB_OK; i = end) {
        const int64_t scan = all.list[i].scan;
        for (end = i; end < all.count && all.list[end].scan == scan; end++)
            if (!find_conflict(b, &all.list[end]))
                st = lob_session_no_memory(b->session, b->folder);
        for (int64_t k = i; k < end && !b->scans[scan].conflict; k++)
            lob_file_use_write(all.list[k].use, scan);
    }
    for (int64_t i = 0; i < all.count; i++) free(all.list[i].path);
    free(all.list);
    lob_file_uses_free(&all.uses);
    return st;
}
