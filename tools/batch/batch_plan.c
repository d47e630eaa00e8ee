/* The scans of a batch: their names, and the values of the recipe's placeholders. */
#include "tools/batch/batch_plan.h"

#include "tools/text/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

int64_t lob_batch_plan_here(const lob_batch_plan *plan, int64_t *bytes)
{
    int64_t scans = 0;
    *bytes = 0;
    for (int64_t i = 0; i < plan->count; i++) {
        scans += !plan->scans[i].elsewhere;
        *bytes += plan->scans[i].elsewhere ? 0 : plan->scans[i].bytes;
    }
    return scans;
}

/* ---- where values come from ---- */

/* Of one placeholder: the first of these that is there. */
typedef struct {
    const char *pattern; /* NAME=PATTERN */
    int column;          /* -1: there is none */
    const char *initial; /* the recipe's */
    const char *usual;   /* of {out}, with --out */
} value_source;

static lob_status find_given(const lob_batch_plan *plan, value_source *sources,
                             const char *const *given, int given_count, lob_error *error)
{
    const lob_recipe *const recipe = &plan->recipe;
    for (int i = 0; i < given_count; i++) {
        const size_t length = strcspn(given[i], "=");
        int v = recipe->value_count - 1;
        while (v >= 0 && (strlen(recipe->values[v].name) != length ||
                          strncmp(recipe->values[v].name, given[i], length) != 0))
            v--;
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
    const lob_recipe *const recipe = &plan->recipe;
    for (int v = 0; v < recipe->value_count; v++) {
        const lob_recipe_value *const value = &recipe->values[v];
        value_source *const source = &sources[v];
        source->column = lob_column_of(columns, value->name);
        source->initial = value->initial;
        source->usual = plan->out && strcmp(value->name, "out") == 0 ? usual : NULL;
        if (source->pattern || source->column >= 0 || source->initial || source->usual) continue;
        return lob_fail(error, LOB_EARG,
                        "%s:%d: {%s} has no value: %s has no such column; add it, or %s=PATTERN "
                        "with {column} for what differs%s",
                        plan->recipe_path, value->line, value->name, columns->source, value->name,
                        strcmp(value->name, "out") == 0 ? ", or --out FOLDER" : "");
    }
    return LOB_OK;
}

/* The value of one scan, malloc'ed. */
static lob_status value_of(char **out, const value_source *source, const lob_columns *columns,
                           int64_t row, const char *name, lob_error *error)
{
    const char *cell =
        source->column < 0 ? "" : columns->cells[row * columns->columns + source->column];
    const char *const pattern = source->pattern ? source->pattern : source->usual;
    if (source->pattern || (!cell[0] && pattern))
        return lob_columns_expand(out, columns, row, pattern, error);
    if (!cell[0]) cell = source->initial;
    if (!cell)
        return lob_fail(error, LOB_EDATA, "%s:%lld: the cell of column %s is empty",
                        columns->source, (long long)columns->line[row], name);
    *out = strdup(cell);
    return *out ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: out of memory", columns->source);
}

/* Bytes of a file, 0 where there is none; FILE.h5:/set counts as the file. */
static int64_t file_bytes(const char *path)
{
    struct stat about;
    if (stat(path, &about) == 0) return S_ISREG(about.st_mode) ? (int64_t)about.st_size : 0;
    const char *const colon = strrchr(path, ':');
    char *const file = colon && colon > path ? strndup(path, (size_t)(colon - path)) : NULL;
    const int64_t bytes = file ? file_bytes(file) : 0;
    free(file);
    return bytes;
}

static lob_status fill_scan(const lob_batch_plan *plan, lob_plan_scan *scan,
                            const value_source *sources, const lob_columns *columns, int64_t row,
                            lob_error *error)
{
    const int values = plan->recipe.value_count;
    scan->values = calloc((size_t)values + 1, sizeof *scan->values);
    if (!scan->values) return lob_fail(error, LOB_ENOMEM, "out of memory");
    for (int v = 0; v < values; v++) {
        const char *const name = plan->recipe.values[v].name;
        LOB_TRY(value_of(&scan->values[v], &sources[v], columns, row, name, error));
        if (scan->values[v][0] == '@')
            return lob_fail(error, LOB_EDATA,
                            "%s:%lld: %s: volumes in memory belong to the recipe; a file of this "
                            "name is ./%s",
                            columns->source, (long long)columns->line[row], scan->values[v],
                            scan->values[v]);
        scan->bytes += file_bytes(scan->values[v]);
    }
    return LOB_OK;
}

/* ---- names ---- */

/* The names so far, hashed. */
typedef struct {
    int64_t *at; /* index of a scan and 1; 0: none */
    size_t size; /* a power of 2 */
} name_set;

/* The scan that has this name; -1: none, and it has been added for scan i. */
static int64_t claim_name(const lob_batch_plan *plan, name_set *set, const char *name, int64_t i)
{
    size_t h = 5381;
    for (const char *c = name; *c; c++) h = h * 33 + (unsigned char)*c;
    size_t slot = (h ^ h >> 17) & (set->size - 1);
    for (; set->at[slot]; slot = (slot + 1) & (set->size - 1))
        if (strcmp(plan->scans[set->at[slot] - 1].name, name) == 0) return set->at[slot] - 1;
    set->at[slot] = i + 1;
    return -1;
}

/* The name of a file without folders and suffix, or with them; malloc'ed. */
static char *short_name(const char *path, bool whole)
{
    const char *const slash = strrchr(path, '/'), *const name = whole || !slash ? path : slash + 1;
    size_t n = strcspn(name, ":");
    if (n > 3 && strncmp(name + n - 3, ".gz", 3) == 0) n -= 3;
    size_t dot = n;
    while (dot > 1 && name[dot - 1] != '.' && name[dot - 1] != '/') dot--;
    return strndup(name, dot > 1 && name[dot - 1] == '.' ? dot - 1 : n);
}

/* Where there is no column `scan`: the file of the first column, or its path, or with a number. */
static lob_status name_scan(const lob_batch_plan *plan, name_set *set, int64_t i,
                            const lob_columns *columns)
{
    lob_plan_scan *const scan = &plan->scans[i];
    const char *const first = columns->cells[i * columns->columns];
    for (int64_t attempt = 0;; attempt++) {
        char *const plain = short_name(first, attempt > 0);
        free(scan->name);
        scan->name = plain;
        if (attempt > 1 && asprintf(&scan->name, "%s-%lld", plain, (long long)attempt) < 0)
            scan->name = NULL;
        if (scan->name != plain) free(plain);
        if (!scan->name) return LOB_ENOMEM;
        if (claim_name(plan, set, scan->name, i) < 0) return LOB_OK;
    }
}

static lob_status name_scans(const lob_batch_plan *plan, const lob_columns *columns,
                             lob_error *error)
{
    const int column = lob_column_of(columns, "scan");
    name_set set = {NULL, 64};
    while (set.size < 2 * (size_t)plan->count) set.size *= 2;
    set.at = calloc(set.size, sizeof *set.at);
    lob_status st = set.at ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; i < plan->count && st == LOB_OK; i++) {
        if (column < 0) {
            st = name_scan(plan, &set, i, columns);
            continue;
        }
        const char *const cell = columns->cells[i * columns->columns + column];
        plan->scans[i].name = strdup(cell);
        if (!plan->scans[i].name) {
            st = LOB_ENOMEM;
            break;
        }
        const int64_t other = claim_name(plan, &set, cell, i);
        if (!cell[0] || other >= 0)
            st = lob_fail(error, LOB_EDATA,
                          "%s:%lld: column scan %s%s%s; each line needs a name "
                          "of its own",
                          columns->source, (long long)columns->line[i],
                          cell[0] ? "has the name of another line: " : "is empty", cell, "");
    }
    free(set.at);
    return st == LOB_ENOMEM ? lob_fail(error, st, "%s: out of memory", columns->source) : st;
}

/* ---- all of it ---- */

/* How {out} is named where nobody says it: as BIDS has it if the images are named so. */
static void usual_output(char *pattern, size_t size, const lob_batch_plan *plan,
                         const lob_columns *columns)
{
    const int stem = lob_column_of(columns, "stem");
    const char *name = plan->label;
    char label[64] = "";
    for (size_t n = 0; *name && *name != '.' && n + 1 < sizeof label; name++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *name))
            label[n++] = *name, label[n] = '\0';
    if (stem < 0)
        snprintf(pattern, size, "{dir}/{scan}_labels.nii.gz");
    else if (strncmp(columns->cells[stem], "sub-", 4) == 0)
        snprintf(pattern, size, "{dir}/{folder}/{bids}_desc-%s_dseg.nii.gz",
                 label[0] ? label : "lobule");
    else
        snprintf(pattern, size, "{dir}/{folder}/{stem}_labels.nii.gz");
}

/* Columns that patterns may name. */
static lob_status add_columns(lob_batch_plan *plan, lob_columns *columns, lob_error *error)
{
    lob_status st = LOB_OK;
    if (plan->out && lob_column_of(columns, "dir") < 0)
        st = lob_columns_add(columns, "dir", plan->out);
    if (st == LOB_OK && lob_column_of(columns, "scan") < 0) {
        st = lob_columns_add(columns, "scan", "");
        for (int64_t i = 0; i < plan->count && st == LOB_OK; i++) {
            char **const cell = &columns->cells[i * columns->columns + columns->columns - 1];
            free(*cell);
            *cell = strdup(plan->scans[i].name);
            if (!*cell) st = LOB_ENOMEM;
        }
    }
    return st == LOB_OK ? st : lob_fail(error, st, "%s: out of memory", columns->source);
}

lob_status lob_batch_plan_make(lob_batch_plan *plan, lob_columns *columns, const char *const *given,
                               int given_count, lob_error *error)
{
    char usual[192];
    const size_t values = (size_t)plan->recipe.value_count;
    plan->scans = calloc((size_t)columns->rows, sizeof *plan->scans);
    value_source *const sources = calloc(values + 1, sizeof *sources);
    lob_status st = LOB_OK;
    if (!plan->scans || !sources) st = lob_fail(error, LOB_ENOMEM, "out of memory");
    if (st == LOB_OK) {
        plan->count = columns->rows;
        st = name_scans(plan, columns, error);
    }
    if (st == LOB_OK) st = add_columns(plan, columns, error);
    usual_output(usual, sizeof usual, plan, columns);
    if (st == LOB_OK) st = find_given(plan, sources, given, given_count, error);
    if (st == LOB_OK) st = find_sources(plan, sources, columns, usual, error);
    for (int64_t i = 0; i < plan->count && st == LOB_OK; i++)
        st = fill_scan(plan, &plan->scans[i], sources, columns, i, error);
    free(sources);
    return st;
}
