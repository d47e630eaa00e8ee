/* The scans of a batch: their names, and the values of the recipe's placeholders. */
#include "tools/batch/batch_plan.h"

#include "tools/batch/batch_row.h"
#include "tools/commands/bids/bids_path.h"
#include "tools/text/names.h"
#include "tools/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lob_batch_plan_free(lob_batch_plan *plan)
{
    for (int64_t i = 0; i < plan->count; i++) {
        lob_plan_scan *const scan = &plan->scans[i];
        for (int v = 0; scan->values && v < plan->recipe.value_count; v++) free(scan->values[v]);
        free(scan->values);
        free(scan->name);
    }
    free(plan->scans);
    lob_recipe_free(&plan->recipe);
    *plan = (lob_batch_plan){.scans = NULL};
}

int64_t lob_batch_plan_here(const lob_batch_plan *plan, int64_t *bytes, int64_t *most)
{
    int64_t scans = 0;
    *bytes = *most = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        const lob_plan_scan *const scan = &plan->scans[i];
        if (scan->elsewhere) continue;
        scans++;
        *bytes += scan->bytes;
        if (scan->bytes > *most) *most = scan->bytes;
    }
    return scans;
}

/* ---- patterns ---- */

/* What {name} stands for in a row; NULL: nothing. */
static const char *cell_of(const lob_batch_plan *plan, const lob_columns *columns, int64_t row,
                           const char *name)
{
    const char *const cell = lob_columns_cell(columns, row, name);
    if (cell) return cell;
    if (strcmp(name, "scan") == 0) return plan->scans[row].name;
    return strcmp(name, "dir") == 0 ? plan->out : NULL;
}

/* A pattern with what {name} stands for in a row in its place. */
static lob_status expand(char **out, const lob_batch_plan *plan, const lob_columns *columns,
                         int64_t row, const char *pattern, lob_error *error)
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
        const char *const cell = at[length] ? cell_of(plan, columns, row, name) : NULL;
        if (!cell) {
            lob_text_free(&text);
            return lob_fail(error, LOB_EARG, "%s: {%s} is no column of %s", pattern, name,
                            columns->source);
        }
        lob_text_add(&text, cell, strlen(cell));
        at += length + 1;
    }
    *out = lob_text_take(&text);
    return *out ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", pattern);
}

/* How {out} is named where nobody says it: as BIDS has it if the images are named so. */
static void usual_output(char pattern[192], const lob_batch_plan *plan, const lob_columns *columns)
{
    const char *const stem = lob_columns_cell(columns, 0, "stem");
    char label[LOB_BIDS_LABEL];
    lob_bids_label(label, plan->label);
    if (stem && strncmp(stem, "sub-", 4) == 0)
        snprintf(pattern, 192, "{dir}/{folder}/{bids}_desc-%s_dseg.nii.gz",
                 label[0] ? label : "lobule");
    else
        snprintf(pattern, 192,
                 stem ? "{dir}/{folder}/{stem}_labels.nii.gz" : "{dir}/{scan}_labels.nii.gz");
}

/* ---- values ---- */

/* Where those of a placeholder come from: the first of these that is there. */
typedef struct {
    const char *pattern; /* NAME=PATTERN */
    bool has_cell;       /* a column of its name, or what every scan has */
    const char *usual;   /* of {out}, with --out: where the column is missing or empty */
    const char *initial; /* the recipe's */
} value_source;

static lob_status find_given(const lob_batch_plan *plan, value_source *sources,
                             const char *const *given, int given_count, lob_error *error)
{
    const lob_recipe *const recipe = &plan->recipe;
    for (int i = 0; i < given_count; i++) {
        const size_t length = strcspn(given[i], "=");
        const int v = lob_recipe_find_value(recipe, given[i], length);
        if (v < 0)
            return lob_fail(error, LOB_EARG, "%s: %s has no {%.*s}", given[i], plan->recipe_path,
                            (int)length, given[i]);
        if (sources[v].pattern)
            return lob_fail(error, LOB_EARG, "%s= is given twice", recipe->values[v].name);
        sources[v].pattern = given[i] + length + 1;
    }
    return LOB_OK;
}

static lob_status find_sources(const lob_batch_plan *plan, value_source *sources,
                               const lob_columns *columns, const char *usual, lob_error *error)
{
    for (int v = 0; v < plan->recipe.value_count; v++) {
        const lob_recipe_value *const value = &plan->recipe.values[v];
        value_source *const source = &sources[v];
        const bool is_out = strcmp(value->name, "out") == 0;
        source->has_cell = cell_of(plan, columns, 0, value->name) != NULL;
        source->initial = value->initial;
        source->usual = plan->out && is_out ? usual : NULL;
        if (source->pattern || source->has_cell || source->initial || source->usual) continue;
        char place[1024];
        lob_recipe_place(place, sizeof place, plan->is_typed ? NULL : plan->recipe_path,
                         value->line);
        return lob_fail(error, LOB_EARG,
                        "%s{%s} has no value: %s has no such column; add it, or %s=PATTERN with "
                        "{column} for what differs%s",
                        place, value->name, columns->source, value->name,
                        is_out ? ", or --out FOLDER" : "");
    }
    return LOB_OK;
}

/* The value of one scan, malloc'ed. */
static lob_status value_of(char **out, const lob_batch_plan *plan, int v,
                           const value_source *source, const lob_columns *columns, int64_t row,
                           lob_error *error)
{
    const char *const name = plan->recipe.values[v].name;
    const char *const cell = source->has_cell ? cell_of(plan, columns, row, name) : "";
    if (source->pattern) return expand(out, plan, columns, row, source->pattern, error);
    if (!cell[0] && source->usual) return expand(out, plan, columns, row, source->usual, error);
    if (!cell[0] && !source->initial)
        return lob_fail(error, LOB_EDATA, "%s:%lld: the cell of column %s is empty",
                        columns->source, (long long)columns->line[row], name);
    *out = strdup(cell[0] ? cell : source->initial);
    return *out ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", columns->source);
}

static lob_status fill_scan(const lob_batch_plan *plan, lob_plan_scan *scan,
                            const value_source *sources, const lob_columns *columns, int64_t row,
                            lob_error *error)
{
    const int values = plan->recipe.value_count;
    lob_about about;
    scan->values = calloc((size_t)values + 1, sizeof *scan->values);
    if (!scan->values) return lob_fail(error, LOB_ENOMEM, "out of memory");
    for (int v = 0; v < values; v++) {
        LOB_TRY(value_of(&scan->values[v], plan, v, &sources[v], columns, row, error));
        if (scan->values[v][0] == '@')
            return lob_fail(error, LOB_EDATA,
                            "%s:%lld: %s: volumes in memory belong to the recipe; a file of this "
                            "name is ./%s",
                            columns->source, (long long)columns->line[row], scan->values[v],
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
            if (asprintf(name, "%s-%lld", plain, (long long)attempt) < 0) *name = NULL;
            free(plain);
        }
        const int64_t *const first = *name ? lob_names_add(names, *name, i) : NULL;
        if (!first) return LOB_ENOMEM;
        if (cell && (!cell[0] || *first != i)) return LOB_EDATA;
        if (*first == i) return LOB_OK;
    }
}

static lob_status name_scans(const lob_batch_plan *plan, const lob_columns *columns,
                             lob_error *error)
{
    lob_names names = {NULL};
    lob_status st = LOB_OK;
    for (int64_t i = 0; i < plan->count && st == LOB_OK; i++) {
        char **const name = &plan->scans[i].name;
        st = name_scan(name, &names, columns, i);
        if (st == LOB_ENOMEM) lob_fail(error, st, "%s: out of memory", columns->source);
        if (st == LOB_EDATA)
            lob_fail(error, st, "%s:%lld: column scan %s%s; each line needs a name of its own",
                     columns->source, (long long)columns->line[i],
                     **name ? "has the name of another line: " : "is empty", *name);
    }
    lob_names_free(&names);
    return st;
}

/* ---- all of it ---- */

static lob_status fill_scans(lob_batch_plan *plan, value_source *sources,
                             const lob_columns *columns, const char *const *given, int given_count,
                             lob_error *error)
{
    char usual[192];
    usual_output(usual, plan, columns);
    LOB_TRY(find_given(plan, sources, given, given_count, error));
    LOB_TRY(find_sources(plan, sources, columns, usual, error));
    for (int64_t i = 0; i < plan->count; i++)
        LOB_TRY(fill_scan(plan, &plan->scans[i], sources, columns, i, error));
    return LOB_OK;
}

lob_status lob_batch_plan_make(lob_batch_plan *plan, const lob_columns *columns,
                               const char *const *given, int given_count, lob_error *error)
{
    plan->scans = calloc((size_t)columns->rows, sizeof *plan->scans);
    if (!plan->scans) return lob_fail(error, LOB_ENOMEM, "out of memory");
    plan->count = columns->rows;
    LOB_TRY(name_scans(plan, columns, error));
    value_source *const sources = calloc((size_t)plan->recipe.value_count + 1, sizeof *sources);
    if (!sources) return lob_fail(error, LOB_ENOMEM, "out of memory");
    const lob_status st = fill_scans(plan, sources, columns, given, given_count, error);
    free(sources);
    return st;
}
