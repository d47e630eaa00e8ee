/* Volumes of a batch's structures, and what is far from them. */
#include "tools/table/cohort.h"

#include "io/file.h"
#include "io/text_rows.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Robust standard deviations, of logarithms, are taken for at least these. */
static const double volume_floor = 0.02, doubt_floor = 0.1;

/* ---- spread ---- */

/* Of sorted values. */
static double middle(const double *values, int64_t n)
{
    return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

lob_spread lob_spread_of(double *values, int64_t count, double floor)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(values[i]) && values[i] > 0) values[n++] = log(values[i]);
    if (n == 0) return (lob_spread){.median = NAN, .spread = floor};
    qsort(values, (size_t)n, sizeof *values, lob_by_real);
    const double median = middle(values, n);
    for (int64_t i = 0; i < n; i++) values[i] = fabs(values[i] - median);
    qsort(values, (size_t)n, sizeof *values, lob_by_real);
    return (lob_spread){exp(median), fmax(1.4826 * middle(values, n), floor), n};
}

double lob_spread_distance(const lob_spread *spread, double value)
{
    if (spread->count < LOB_COHORT_LEAST || !isfinite(value) || !(value > 0)) return 0;
    return (log(value) - log(spread->median)) / spread->spread;
}

/* The spread of values, one a row, which stay. */
static lob_spread spread_of(lob_cohort *cohort, const double *values, double floor)
{
    memcpy(cohort->sorted, values, (size_t)cohort->rows * sizeof *values);
    return lob_spread_of(cohort->sorted, cohort->rows, floor);
}

/* ---- regions ---- */

/* Where the columns that are of use lie; -1: there is none. */
enum { SCAN, TABLE, LABEL, NAME, DOUBT, ML, UM3, VOXELS, USEFUL };
static const char *const useful[USEFUL] = {"scan",  "table",     "label",      "name",
                                           "doubt", "volume_ml", "volume_um3", "voxels"};

typedef struct {
    lob_cohort *out;
    lob_lines text;
    lob_names rows; /* of the status table, by scan */
    int column[USEFUL];
    int structure; /* of the last line */
} parser;

static lob_status no_memory(const parser *p)
{
    return lob_fail(p->text.error, LOB_ENOMEM, "%s: out of memory", p->text.name);
}

static double *new_values(int64_t rows)
{
    double *const values = malloc((size_t)(rows + 1) * sizeof *values);
    for (int64_t i = 0; values && i < rows; i++) values[i] = NAN;
    return values;
}

/* The structure of a line, which is mostly the one after that of the line before; NULL: there is no
 * room for it, or (*st) no memory. */
static lob_structure *find_structure(parser *p, const char *const cells[USEFUL], lob_status *st)
{
    lob_cohort *const out = p->out;
    for (int i = 1; i <= out->count; i++) {
        const int at = (p->structure + i) % out->count;
        lob_structure *const s = &out->structures[at];
        if (strcmp(s->label, cells[LABEL]) != 0 || strcmp(s->table, cells[TABLE]) != 0) continue;
        p->structure = at;
        return s;
    }
    if (out->count == LOB_COHORT_STRUCTURES) {
        out->has_more = true;
        return NULL;
    }
    lob_structure *const s = &out->structures[out->count];
    *s = (lob_structure){.table = strdup(cells[TABLE]),
                         .label = strdup(cells[LABEL]),
                         .called = calloc((size_t)out->rows + 1, sizeof(char *)),
                         .value = new_values(out->rows),
                         .doubt = new_values(out->rows)};
    p->structure = out->count++;
    if (!s->table || !s->label || !s->called || !s->value || !s->doubt) *st = no_memory(p);
    return *st == LOB_OK ? s : NULL;
}

/* Add a line's volume to that of its label: several lines may share one. */
static lob_status take_line(parser *p, const lob_fields *fields)
{
    static const char *const units[] = {[ML] = "ml", [UM3] = "um3", [VOXELS] = "voxels"};
    const char *cells[USEFUL] = {NULL};
    lob_status st = LOB_OK;
    double number;
    for (int i = 0; i < DOUBT; i++) {
        if (p->column[i] < 0 || p->column[i] >= fields->count) continue;
        lob_cell_decode(fields->field[p->column[i]]);
        cells[i] = fields->field[p->column[i]];
    }
    if (!cells[SCAN] || !cells[TABLE] || !cells[LABEL])
        return lob_fail(p->text.error, LOB_EDATA,
                        "%s: a line is damaged; run the batch again with "
                        "--resume, which makes it anew",
                        p->text.name);
    const int64_t row = lob_names_find(&p->rows, cells[SCAN]);
    lob_structure *const s = row >= 0 ? find_structure(p, cells, &st) : NULL;
    for (int i = ML; s && i < USEFUL; i++) {
        if (!lob_field_real(&number, fields, p->column[i])) continue;
        if (s->unit && strcmp(s->unit, units[i]) != 0) continue;
        s->unit = units[i];
        s->value[row] = (isnan(s->value[row]) ? 0 : s->value[row]) + number;
        break;
    }
    const bool is_named = cells[NAME] && strcmp(cells[NAME], "n/a") != 0;
    if (s && is_named && !s->called[row] && !(s->called[row] = strdup(cells[NAME])))
        st = no_memory(p);
    if (s && lob_field_real(&number, fields, p->column[DOUBT]))
        s->doubt[row] = fmax(s->doubt[row], number);
    return st;
}

static lob_status take_lines(parser *p, const lob_batch_table *table)
{
    lob_fields fields;
    for (int64_t i = 0; i < table->count; i++)
        if (!lob_names_add(&p->rows, table->rows[i].scan, i)) return no_memory(p);
    for (char *line; (line = lob_lines_raw(&p->text)) && p->text.whole;) {
        lob_fields_cut(&fields, line, '\t');
        if (p->text.line > 1) {
            LOB_TRY(take_line(p, &fields));
            continue;
        }
        for (int i = 0; i < USEFUL; i++) p->column[i] = lob_fields_column(&fields, useful[i]);
        if (p->column[SCAN] < 0 || p->column[TABLE] < 0 || p->column[LABEL] < 0)
            return lob_fail(p->text.error, LOB_EDATA,
                            "%s: has no columns scan, table and label, so it is no table of "
                            "regions of a batch",
                            p->text.name);
    }
    return LOB_OK;
}

/* By name, whatever its capitals, then by row. */
static int by_name(const void *a, const void *b)
{
    char *const *const x = *(char *const *const *)a, *const *const y = *(char *const *const *)b;
    const int order = strcasecmp(*x, *y);
    return order != 0 ? order : x < y ? -1 : x > y;
}

/* The name that most rows give, the first of several such, spelt as in its first row; malloc'ed, or
 * NULL. */
static char *usual_name(const lob_structure *s, int64_t rows)
{
    char *const **const named = malloc(((size_t)rows + 1) * sizeof *named);
    char *const *usual = NULL;
    int64_t count = 0, most = 0;
    if (!named) return NULL;
    for (int64_t i = 0; i < rows; i++)
        if (s->called[i]) named[count++] = &s->called[i];
    qsort(named, (size_t)count, sizeof *named, by_name);
    for (int64_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && strcasecmp(*named[end], *named[i]) == 0;) end++;
        if (end - i < most || (end - i == most && named[i] > usual)) continue;
        most = end - i;
        usual = named[i];
    }
    free(named);
    return strdup(usual ? *usual : "");
}

lob_status lob_cohort_parse(lob_cohort *out, const lob_batch_table *table, const char *bytes,
                            size_t size, const char *name, lob_error *error)
{
    parser p = {
        .out = out, .text = {.name = name, .error = error},
             .structure = -1
    };
    *out = (lob_cohort){.rows = table->count,
                        .structures = calloc(LOB_COHORT_STRUCTURES, sizeof(lob_structure)),
                        .doubt = new_values(table->count),
                        .sorted = new_values(table->count)};
    lob_status st = out->structures && out->doubt && out->sorted ? LOB_OK : no_memory(&p);
    for (int64_t i = 0; i < table->count; i++) out->done += table->rows[i].state == LOB_SCAN_DONE;
    if (st == LOB_OK && bytes) st = lob_lines_begin(&p.text, bytes, size, name, error);
    if (st == LOB_OK && bytes) st = take_lines(&p, table);
    lob_names_free(&p.rows);
    lob_lines_end(&p.text);
    for (int i = 0; i < out->count && st == LOB_OK; i++) {
        lob_structure *const s = &out->structures[i];
        if (!s->unit) s->unit = "voxels";
        s->name = usual_name(s, out->rows);
        if (!s->name) st = lob_fail(error, LOB_ENOMEM, "%s: out of memory", name);
        s->spread = spread_of(out, s->value, volume_floor);
        s->is_common = 2 * s->spread.count >= out->done;
    }
    for (int64_t i = 0; i < out->rows && st == LOB_OK; i++) {
        const int most = lob_cohort_most_doubtful(out, i);
        if (most >= 0) out->doubt[i] = out->structures[most].doubt[i];
    }
    if (st != LOB_OK) lob_cohort_free(out);
    return st;
}

void lob_cohort_free(lob_cohort *cohort)
{
    for (int i = 0; i < cohort->count; i++) {
        const lob_structure *const s = &cohort->structures[i];
        for (int64_t row = 0; s->called && row < cohort->rows; row++) free(s->called[row]);
        LOB_FREE(s->table, s->label, s->name, s->called, s->value, s->doubt);
    }
    LOB_FREE(cohort->structures, cohort->doubt, cohort->sorted);
    *cohort = (lob_cohort){.rows = 0};
}

lob_status lob_cohort_read(lob_cohort *out, const lob_batch_table *table, const char *path,
                           lob_error *error)
{
    lob_input file = {NULL};
    *out = (lob_cohort){.rows = 0};
    const lob_status st = lob_input_open(&file, path, error);
    if (st != LOB_OK && st != LOB_ENOINPUT) return st;
    const char *const bytes = st == LOB_OK ? (const char *)file.bytes : NULL;
    const lob_status parsed = lob_cohort_parse(out, table, bytes, file.size, path, error);
    lob_input_close(&file);
    return parsed;
}

void lob_cohort_spread_doubt(lob_cohort *cohort)
{
    cohort->doubt_spread = spread_of(cohort, cohort->doubt, doubt_floor);
}

/* ---- what is far ---- */

double lob_cohort_reach(const lob_spread *spread)
{
    return fmax(exp(LOB_COHORT_FAR * spread->spread), LOB_COHORT_FACTOR);
}

bool lob_cohort_is_far(const lob_structure *structure, int64_t row)
{
    const double away = lob_spread_distance(&structure->spread, structure->value[row]);
    return structure->is_common && fabs(away) > LOB_COHORT_FAR &&
           fabs(away) * structure->spread.spread > log(LOB_COHORT_FACTOR);
}

bool lob_cohort_is_missing(const lob_cohort *cohort, const lob_structure *structure,
                           const lob_batch_row *row, int64_t number)
{
    const bool has = isfinite(structure->value[number]) && structure->value[number] > 0;
    return row->state == LOB_SCAN_DONE && !has && cohort->done > LOB_COHORT_LEAST &&
           5 * structure->spread.count >= 4 * (cohort->done - 1);
}

int lob_cohort_most_doubtful(const lob_cohort *cohort, int64_t row)
{
    int most = -1;
    for (int k = 0; k < cohort->count; k++) {
        const double doubt = cohort->structures[k].doubt[row];
        if (doubt >= 0 && (most < 0 || doubt > cohort->structures[most].doubt[row])) most = k;
    }
    return most;
}

bool lob_cohort_is_doubtful(const lob_cohort *cohort, int64_t row)
{
    return lob_spread_distance(&cohort->doubt_spread, cohort->doubt[row]) > LOB_COHORT_FAR;
}

const char *lob_cohort_other_name(const lob_structure *structure, int64_t row)
{
    const char *const called = structure->called[row];
    return called && strcasecmp(called, structure->name) != 0 ? called : NULL;
}
