/* Overlap and surface distances of labels as a table and in the report. */
#include "tools/commands/compare/compare_work.h"

#include "kernels/scores/overlaps.h"
#include "tools/options/options.h"
#include "tools/table/table_file.h"
#include "tools/table/terminal_table.h"
#include "volumes/labels.h"
#include "volumes/lists.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Set every voxel to 0 whose label is not in the list. */
static lob_status keep_listed(lob_session *s, lob_volume *v, const char *name, const char *list)
{
    lob_label_set set = {0};
    LOB_TRY(lob_labels_dense(v, &set, name, &s->error));
    bool *const keep = calloc((size_t)set.count + 1, sizeof *keep);
    for (int32_t i = 0; keep && i < set.count; i++)
        keep[i + 1] = lob_label_list_has(list, set.values[i]);
    for (int64_t i = 0; keep && i < lob_voxels(v); i++)
        if (!keep[lob_label_at(v->data, v->type, i)]) lob_label_put(v->data, v->type, i, 0);
    const bool kept = keep && lob_labels_restore(v, &set) == LOB_OK;
    free(keep);
    lob_label_set_free(&set);
    return kept ? LOB_OK : lob_session_no_memory(s, name);
}

/* What a column of the table shows: a field of lob_overlap, or the change of volume. */
typedef enum { VOXELS, REAL, CHANGE } column_kind;

typedef struct {
    const char *title, *name, *format; /* name: in JSON and in files */
    int width;
    double shown; /* the title's units to one of the name's */
    column_kind kind;
    size_t offset; /* of the field, int64_t or double */
} column;

#define FIELD(kind, name) kind, offsetof(lob_overlap, name)

static const column columns[] = {
    {"voxels A", "voxels_a",              "%.0f",  10, 1,    FIELD(VOXELS, voxels_a)       },
    {"voxels B", "voxels_b",              "%.0f",  10, 1,    FIELD(VOXELS, voxels_b)       },
    {"ml A",     "volume_a_mm3",          "%.4g",  9,  1e-3, FIELD(REAL,   volume_a_mm3)   },
    {"ml B",     "volume_b_mm3",          "%.4g",  9,  1e-3, FIELD(REAL,   volume_b_mm3)   },
    {"B-A %",    "volume_change_percent", "%+.2f", 9,  1,    CHANGE,       0               },
    {"Dice",     "dice",                  "%.4f",  8,  1,    FIELD(REAL,   dice)           },
    {"Jaccard",  "jaccard",               "%.4f",  9,  1,    FIELD(REAL,   jaccard)        },
    {"HD95 mm",  "hd95_mm",               "%.4g",  9,  1,    FIELD(REAL,   hd95_mm)        },
    {"mean mm",  "mean_surface_mm",       "%.4g",  9,  1,    FIELD(REAL,   mean_surface_mm)},
};

static double value_of(const column *c, const lob_overlap *row)
{
    const void *const field = (const char *)row + c->offset;
    if (c->kind == CHANGE)
        return row->voxels_a ? 100.0 * (row->volume_b_mm3 / row->volume_a_mm3 - 1.0) : NAN;
    return c->kind == VOXELS ? (double)*(const int64_t *)field : *(const double *)field;
}

/* ---- the table ---- */

/* What is compared, and the rows of the table; missing: of --labels. */
typedef struct {
    lob_overlap *rows;
    int32_t count;
    int equal;
    char missing[256];
    lob_label_names names; /* of A's labels, and of those that B alone has */
} comparison;

/* What a column shows of a row; NULL: the mean over the labels that have it. NaN: none has. */
static double number_of(const comparison *c, const column *at, const lob_overlap *row)
{
    double sum = 0.0;
    int32_t n = 0;
    if (row) return value_of(at, row);
    for (int32_t i = 0; i < c->count; i++) {
        const double v = value_of(at, &c->rows[i]);
        if (isnan(v)) continue;
        sum += v;
        n++;
    }
    return n ? sum / n : NAN;
}

static const char *name_of(const comparison *c, int32_t label)
{
    const lob_label_name *const row = lob_label_names_find(&c->names, label);
    return row ? row->name : "";
}

enum { LONGEST_NAME = 24 }; /* characters of a name that the table has room for */

/* Characters that the column of names has; 0: there is none. */
static int name_width(const comparison *c)
{
    int longest = 0;
    for (int32_t i = 0; i < c->count; i++) {
        int characters;
        lob_first_characters(name_of(c, c->rows[i].label), LONGEST_NAME, &characters);
        longest = characters > longest ? characters : longest;
    }
    return longest;
}

/* Where a terminal is too narrow for all columns, it shows the first of these. */
static const int for_people[] = {5, 7, 8, 2, 3, 4, 6, 0, 1};

/* A table being printed: on a terminal as TSV, else in columns. */
typedef struct {
    const comparison *of;
    bool people;
    int name_width;
    lob_text text;
} printer;

static const lob_overlap titles; /* stands for the row of these */

/* A line of a row; NULL: of the means. */
static void put_line(printer *p, const char *first, const char *name, const lob_overlap *row)
{
    int characters;
    const int bytes = lob_first_characters(name, p->name_width, &characters);
    lob_text_print(&p->text, p->people ? "%s" : "%10s", first);
    if (p->name_width > 0 && p->people) {
        lob_text_add(&p->text, "\t", 1);
        lob_text_add_cell(&p->text, name, false);
    } else if (p->name_width > 0) {
        lob_text_print(&p->text, "  %.*s%*s", bytes, name, p->name_width - characters, "");
    }
    for (size_t k = 0; k < LOB_COUNT(columns); k++) {
        const column *const at = &columns[p->people ? for_people[k] : (int)k];
        const double number = row == &titles ? 0 : number_of(p->of, at, row) * at->shown;
        char text[64];
        snprintf(text, sizeof text, at->format, number);
        lob_text_print(&p->text, p->people ? "\t%*s" : " %*s", p->people ? 0 : at->width,
                       row == &titles   ? at->title
                       : !isnan(number) ? text
                       : p->people      ? "n/a"
                                        : "-");
    }
    lob_text_add(&p->text, "\n", 1);
}

static lob_status print_table(const comparison *c, lob_error *error)
{
    printer p = {.of = c, .people = lob_terminal_width() > 0, .name_width = name_width(c)};
    char label[16];
    put_line(&p, "label", "name", &titles);
    for (int32_t i = 0; i < c->count; i++) {
        snprintf(label, sizeof label, "%" PRId32, c->rows[i].label);
        put_line(&p, label, name_of(c, c->rows[i].label), &c->rows[i]);
    }
    if (c->count > 1) put_line(&p, "mean", "", NULL);
    return lob_print_table(&p.text, error);
}

static void report_numbers(cJSON *to, const comparison *c, const lob_overlap *row)
{
    for (size_t k = 0; k < LOB_COUNT(columns); k++)
        cJSON_AddNumberToObject(to, columns[k].name, number_of(c, &columns[k], row));
}

static void report_labels(cJSON *results, const comparison *c)
{
    cJSON *const list = cJSON_AddArrayToObject(results, "labels");
    report_numbers(cJSON_AddObjectToObject(results, "mean"), c, NULL);
    for (int32_t i = 0; i < c->count && list; i++) {
        cJSON *const row = lob_json_row(list);
        const char *const name = name_of(c, c->rows[i].label);
        cJSON_AddNumberToObject(row, "label", c->rows[i].label);
        if (name[0]) cJSON_AddStringToObject(row, "name", name);
        cJSON_AddNumberToObject(row, "common_voxels", (double)c->rows[i].common);
        report_numbers(row, c, &c->rows[i]);
    }
}

static bool fill_row(double *values, int64_t i, const void *user)
{
    const comparison *const c = user;
    *values++ = c->rows[i].label;
    for (size_t k = 0; k < LOB_COUNT(columns); k++) *values++ = value_of(&columns[k], &c->rows[i]);
    return true;
}

static lob_status write_table(lob_session *s, const comparison *c, const char *path)
{
    const char *names[1 + LOB_COUNT(columns)] = {"label"};
    for (size_t k = 0; k < LOB_COUNT(columns); k++) names[k + 1] = columns[k].name;
    const lob_table file = {.names = names,
                            .columns = LOB_COUNT(names),
                            .keys = 1,
                            .label_names = &c->names,
                            .rows = c->count,
                            .row = fill_row,
                            .user = c};
    return lob_table_write(s, &file, path);
}

/* ---- the work ---- */

/*
 * Labels of --labels that are in neither volume: most likely a typing error. A single label gets a
 * row without voxels; c->missing lists all.
 */
static lob_status add_missing(comparison *c, const char *list)
{
    const int32_t there = c->count;
    for (const char *at = list; at;) {
        int32_t first, last;
        const char *const item = at;
        at = lob_label_list_next(at, &first, &last);
        bool found = false;
        for (int32_t i = 0; i < there; i++)
            found |= c->rows[i].label >= first && c->rows[i].label <= last;
        if (found) continue;
        const size_t used = strlen(c->missing);
        snprintf(c->missing + used, sizeof c->missing - used, "%s%.*s", used ? ", " : "",
                 (int)strcspn(item, ","), item);
        if (first != last) continue;
        lob_overlap *const more = realloc(c->rows, ((size_t)c->count + 1) * sizeof *more);
        if (!more) return LOB_ENOMEM;
        c->rows = more;
        c->rows[c->count++] = (lob_overlap){
            .label = first, .dice = NAN, .jaccard = NAN, .hd95_mm = NAN, .mean_surface_mm = NAN};
    }
    if (c->count > there) qsort(c->rows, (size_t)c->count, sizeof *c->rows, lob_by_int32);
    return LOB_OK;
}

static lob_status compare(lob_session *s, comparison *c, lob_compare_work *w)
{
    if (lob_label_names_copy(&c->names, &w->a.names) != LOB_OK ||
        lob_label_names_complete(&c->names, &w->b.names) != LOB_OK)
        return lob_session_no_memory(s, w->a_path);
    if (w->labels) {
        LOB_TRY(keep_listed(s, &w->a, w->a_path, w->labels));
        LOB_TRY(keep_listed(s, &w->b, w->b_path, w->labels));
    }
    const int64_t copies = lob_volume_bytes(&w->a) + lob_volume_bytes(&w->b);
    LOB_TRY(lob_session_take(s, copies, w->b_path));
    const lob_status st =
        lob_compare_labels(&c->rows, &c->count, &c->equal, &w->a, w->a_path, &w->b, w->b_path,
                           !w->no_surfaces, &s->context, &s->error);
    lob_session_give(s, copies);
    LOB_TRY(st);
    return add_missing(c, w->labels) == LOB_OK ? LOB_OK : lob_session_no_memory(s, w->a_path);
}

/* Numbers decide which labels are compared, whatever they are called. */
static void note_names(lob_session *s, const comparison *c, const lob_compare_work *w)
{
    const lob_label_name *a = NULL, *b = NULL;
    int32_t differ = 0;
    for (int32_t i = c->count - 1; i >= 0; i--) {
        const lob_label_name *const of_a = lob_label_names_find(&w->a.names, c->rows[i].label);
        const lob_label_name *const of_b = lob_label_names_find(&w->b.names, c->rows[i].label);
        if (!of_a || !of_b || strcasecmp(of_a->name, of_b->name) == 0) continue;
        differ++;
        a = of_a;
        b = of_b;
    }
    if (differ > 0)
        lob_session_note(s,
                         "labels are compared by number, and %d %s another name in %s: %d is '%s', "
                         "and '%s' there",
                         differ, differ == 1 ? "has" : "have", w->b_path, a->label, a->name,
                         b->name);
}

lob_status lob_compare_label_volumes(lob_session *s, lob_compare_work *w)
{
    comparison c = {.rows = NULL};
    lob_status st = compare(s, &c, w);
    const bool whole = !c.missing[0];
    if (st == LOB_OK) {
        note_names(s, &c, w);
        if (whole) cJSON_AddBoolToObject(s->results, "equal", c.equal);
        report_labels(s->results, &c);
        lob_session_doing(s, "printing"); /* the bar leaves the terminal to the table */
        if (!w->json) st = print_table(&c, &s->error);
        if (!w->json && whole) printf("%s\n", c.equal ? "equal" : "different");
        if (st == LOB_OK && w->table) st = write_table(s, &c, w->table);
    }
    lob_label_names_free(&c.names);
    free(c.rows);
    LOB_TRY(st);
    if (!whole)
        return lob_fail(&s->error, LOB_EDATA, "--labels: neither %s nor %s has label %s", w->a_path,
                        w->b_path, c.missing);
    return c.equal || !w->strict ? LOB_OK : LOB_EDIFFER;
}
