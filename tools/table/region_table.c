/* The table of regions: its columns, and how a row comes from what was added up. */
#include "tools/table/region_table.h"

#include "kernels/regions/contacts.h"
#include "kernels/regions/shape_slabs.h"
#include "tools/table/table_file.h"
#include "volumes/free.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int64_t rows_of(const lob_region_table *t)
{
    return t->frames > 0 ? t->count * t->frames : t->count;
}

/* A table being written: its columns, and what was measured for them. */
typedef struct {
    const lob_region_table *table;
    const lob_region_column *columns[LOB_REGION_MAX_COLUMNS];
    int count, needs;
    bool um;
    lob_shape_frame frame;
    const char *names[2 + LOB_COMPONENTS_MAX_CHANNELS + LOB_REGION_MAX_COLUMNS];
    char value_names[LOB_COMPONENTS_MAX_CHANNELS][16];
} writing;

static lob_regions_input input_of(const lob_region_table *t)
{
    return (lob_regions_input){.labels = t->grid->data,
                               .type = t->grid->type,
                               .count = t->count,
                               .dims = t->grid->dims,
                               .image = t->image};
}

/* A frame of the image as a volume. */
static lob_volume frame_of(const lob_volume *image, int64_t frame)
{
    lob_volume one = *image;
    const int64_t bytes = lob_voxels(image) * (int64_t)lob_type_of(image->type)->bytes;
    one.data = (unsigned char *)image->data + frame * bytes;
    one.channels = 1;
    one.frames = 1;
    one.frame = 0;
    return one;
}

/* ---- regions ---- */

static lob_status measure_frames(lob_session *s, lob_region_table *t)
{
    lob_regions_input in = input_of(t);
    for (int64_t at = 0; at < rows_of(t); at += t->count) {
        const lob_volume one = t->image ? frame_of(t->image, at / t->count) : lob_volume_empty();
        if (t->image) in.image = &one;
        LOB_TRY(s->backend->regions(t->regions, t->image ? t->intensities + at : NULL,
                                    &t->fine[at / t->count], &in, &s->context, &s->error));
    }
    return LOB_OK;
}

lob_status lob_region_table_measure(lob_session *s, lob_region_table *t, const char *path,
                                    const char *other)
{
    const int64_t frames = t->frames > 0 ? t->frames : 1;
    if (!(t->regions = lob_session_array(s, t->count, sizeof *t->regions, path)) ||
        !(t->fine = lob_session_array(s, frames, sizeof *t->fine, path)))
        return LOB_ENOMEM;
    for (int64_t f = 0; f < frames; f++) t->fine[f].exact = true;
    if (t->image &&
        !(t->intensities = lob_session_array(s, rows_of(t), sizeof *t->intensities, path)))
        return LOB_ENOMEM;
    lob_session_compute(s, "measuring");
    return lob_session_done(s, measure_frames(s, t), path, other);
}

/* ---- what columns need ---- */

static lob_status count_neighbours(lob_session *s, int64_t *neighbours, const lob_region_table *t)
{
    const lob_volume *const v = t->grid;
    const lob_label_grid grid = {v->data, v->type, t->count, v->dims};
    lob_contact *contacts;
    int64_t count;
    LOB_TRY(
        lob_contacts(&contacts, &count, &grid, &v->geometry, NULL, 0, -1, &s->context, &s->error));
    for (int64_t i = 0; i < count; i++) {
        neighbours[contacts[i].a - 1]++;
        neighbours[contacts[i].b - 1]++;
    }
    free(contacts);
    return LOB_OK;
}

static lob_status measure_percentiles(lob_session *s, double (*out)[LOB_PERCENTILES],
                                      const lob_region_table *t)
{
    lob_regions_input in = input_of(t);
    for (int64_t at = 0; at < rows_of(t); at += t->count) {
        const lob_volume one = frame_of(t->image, at / t->count);
        in.image = &one;
        LOB_TRY(lob_regions_percentiles(out[at], t->regions, &in, &s->context, &s->error));
    }
    return LOB_OK;
}

static lob_status measure_need(lob_session *s, const writing *w, int need,
                               const lob_region_shapes *to)
{
    const lob_region_table *const t = w->table;
    const lob_regions_input in = input_of(t);
    const lob_context *const context = &s->context;
    lob_error *const error = &s->error;
    switch (need) {
    case LOB_COLUMN_MOMENTS:
        LOB_TRY(lob_regions_moments_sum(to->moments, &in, 0, context, error));
        return lob_regions_moments_move(to->moments, t->regions, t->labels, t->count, error);
    case LOB_COLUMN_BORDER:
        return lob_regions_border(to->border, &in, context, error);
    case LOB_COLUMN_SLICES:
        return lob_regions_slices(to->slices, t->regions, &in, context, error);
    case LOB_COLUMN_HULL:
        return lob_regions_hulls(to->hulls, t->regions, &in, &w->frame, context, error);
    case LOB_COLUMN_PERCENTILES:
        return measure_percentiles(s, to->percentiles, t);
    default:
        return count_neighbours(s, to->neighbours, t);
    }
}

/* The arrays of the shapes: what each is needed for, its place in there, bytes of a region. */
static const struct {
    int need;
    size_t at, bytes;
} arrays[] = {
#define ARRAY(need, name)                                                               \
    {                                                                                   \
        need, offsetof(lob_region_shapes, name), sizeof *((lob_region_shapes *)0)->name \
    }
    ARRAY(LOB_COLUMN_MOMENTS, moments),         ARRAY(LOB_COLUMN_BORDER, border),
    ARRAY(LOB_COLUMN_SLICES, slices),           ARRAY(LOB_COLUMN_HULL, hulls),
    ARRAY(LOB_COLUMN_PERCENTILES, percentiles), ARRAY(LOB_COLUMN_NEIGHBOURS, neighbours),
#undef ARRAY
};

static void **array_in(lob_region_shapes *shapes, size_t i)
{
    return (void **)(void *)((char *)shapes + arrays[i].at);
}

lob_status lob_region_shapes_make(lob_session *s, lob_region_shapes *shapes, int64_t count,
                                  int needs, const char *path)
{
    for (size_t i = 0; i < LOB_COUNT(arrays); i++)
        if (needs & arrays[i].need)
            if (!(*array_in(shapes, i) = lob_session_array(s, count, arrays[i].bytes, path)))
                return LOB_ENOMEM;
    return LOB_OK;
}

void lob_region_shapes_free(lob_session *s, lob_region_shapes *shapes, int64_t count)
{
    for (size_t i = 0; i < LOB_COUNT(arrays); i++) {
        void *const array = *array_in(shapes, i);
        if (s && array) lob_session_give(s, count * (int64_t)arrays[i].bytes);
        free(array);
    }
    *shapes = (lob_region_shapes){NULL};
}

void lob_region_table_free(lob_region_table *t)
{
    LOB_FREE(t->regions, t->intensities, t->fine);
    lob_region_shapes_free(NULL, &t->shapes, t->count);
    *t = (lob_region_table){.grid = NULL};
}

/* Measure what is not known yet. */
static lob_status measure_needs(lob_session *s, const writing *w, lob_region_shapes *shapes,
                                const char *path)
{
    const int64_t count = w->table->count;
    const bool image = w->table->image != NULL;
    for (size_t i = 0; i < LOB_COUNT(arrays) && count > 0; i++) {
        void **const array = array_in(shapes, i);
        const int need = w->needs & arrays[i].need;
        if (!need || *array) continue;
        if (!w->table->grid->data)
            return lob_fail_file(&s->error, LOB_EDATA, path,
                                 "these columns need the labels in memory; write the labels, and "
                                 "the table by `lobule stats`");
        if (need == LOB_COLUMN_PERCENTILES && !image) continue;
        lob_session_compute(s, "measuring shapes");
        const int64_t n = need == LOB_COLUMN_PERCENTILES ? rows_of(w->table) : count;
        if (!(*array = lob_session_array(s, n, arrays[i].bytes, path))) return LOB_ENOMEM;
        LOB_TRY(lob_session_name(s, measure_need(s, w, need, shapes), path, NULL));
        lob_session_computed(s);
    }
    return LOB_OK;
}

/* ---- rows ---- */

/* Fields of what was not measured are not shown. at: the row, where frames have their own. */
static void fill_shape(lob_region_row *row, const writing *w, int64_t i, int64_t at)
{
    const lob_region_table *const t = w->table;
    const lob_region *const r = &t->regions[i];
    const lob_region_shapes *const f = &t->shapes;
    row->shape = lob_region_shape_of(&w->frame, r, f->moments ? &f->moments[i] : NULL,
                                     f->border ? &f->border[i] : NULL);
    if (f->slices) {
        const double mm2 = lob_face_mm2(&t->grid->geometry, 2);
        row->slices = (double)f->slices[i].slices;
        row->slice_largest_mm2 = (double)f->slices[i].largest * mm2;
        row->slice_mean_mm2 = (double)r->voxels / row->slices * mm2;
        row->slice_where = (double)f->slices[i].where;
    }
    if (f->hulls) {
        row->feret_mm = f->hulls[i].feret_mm;
        row->hull_mm3 = f->hulls[i].voxels * w->frame.cell_mm;
        row->solidity = row->voxels / f->hulls[i].voxels;
    }
    for (int p = 0; p < LOB_PERCENTILES; p++) {
        const int k = f->percentiles && t->image->slope < 0 ? LOB_PERCENTILES - 1 - p : p;
        row->percentile[p] = f->percentiles
                                 ? t->image->slope * f->percentiles[at][k] + t->image->inter
                                 : (double)NAN;
    }
    row->neighbours = f->neighbours ? (double)f->neighbours[i] : (double)NAN;
}

static bool fill_row(double *out, int64_t i, const void *user)
{
    static const double factors[] = {1, 1e3, 1e6, 1e9};
    const writing *const w = user;
    const lob_region_table *t = w->table;
    const double slope = t->image ? t->image->slope : 1, inter = t->image ? t->image->inter : 0;
    const int64_t frame = i / t->count, at = i;
    i %= t->count;
    const lob_region *r = &t->regions[i];
    if (r->voxels == 0) return false;
    *out++ = t->labels ? t->labels[i] : (double)(i + 1);
    if (t->frames > 0) *out++ = (double)frame;
    for (int c = 0; t->values && c < t->channels; c++) *out++ = t->values[i * t->channels + c];

    lob_region_row row = {.measures = lob_region_measure(
                              r, t->intensities ? &t->intensities[at] : NULL, &t->grid->geometry,
                              t->intensities ? &t->fine[frame] : NULL, slope, inter),
                          .voxels = (double)r->voxels};
    row.volume_ml = w->um ? row.measures.mm3 : row.measures.mm3 / 1000;
    for (int a = 0; a < 6; a++) row.box[a] = (double)(a < 3 ? r->low[a] : r->high[a - 3]);
    if (t->columns) fill_shape(&row, w, i, at);
    for (int c = 0; c < w->count; c++) {
        const lob_region_column *const column = w->columns[c];
        const double value = *(const double *)((const char *)&row + column->offset);
        *out++ = w->um ? value * factors[column->power] : value;
    }
    return true;
}

/* Say so where the image's range is so wide that regions lie within a few of its fine levels. */
static void note_coarse(lob_session *s, const lob_region_table *t)
{
    enum { LEVELS = 16 };
    int64_t rows = 0;
    double per_unit = INFINITY;
    for (int64_t i = 0; t->intensities && i < rows_of(t); i++) {
        const lob_region_values *v = &t->intensities[i];
        const lob_fine_levels *fine = &t->fine[i / t->count];
        const double width = v->highest - v->lowest;
        if (fine->exact || v->data == 0 || !(width > 0) || width * fine->per_unit >= LEVELS)
            continue;
        rows++;
        per_unit = fmin(per_unit, fine->per_unit);
    }
    if (rows > 0)
        lob_session_note(s,
                         "the image's range is so wide that the table's mean and sd are good to "
                         "%.3g, too coarse for %lld rows; set extreme voxels to NaN or clip them",
                         fabs(t->image->slope) / per_unit, (long long)rows);
}

int64_t lob_region_table_not_finite(lob_session *s, const lob_region_table *t, const char *path)
{
    int64_t voxels = 0;
    for (int64_t i = 0; i < rows_of(t); i++)
        voxels += t->regions[i % t->count].voxels - t->intensities[i].data;
    if (voxels > 0)
        lob_session_note(s,
                         "%s: NaN or infinite voxels with a label: %lld; min, mean, max and sd are "
                         "of the others",
                         path, (long long)voxels);
    return voxels;
}

/* Name all columns. Where there is one channel its column is "value", else they are "value_0",
 * "value_1", ... Returns how many are keys. */
static int name_columns(writing *w)
{
    const lob_region_table *const t = w->table;
    const int values = t->values ? t->channels : 0;
    int n = 0;
    w->names[n++] = "label";
    if (t->frames > 0) w->names[n++] = "frame";
    for (int c = 0; c < values; c++) {
        snprintf(w->value_names[c], sizeof *w->value_names, values > 1 ? "value_%d" : "value", c);
        w->names[n++] = w->value_names[c];
    }
    for (int c = 0; c < w->count; c++) {
        const lob_region_column *const column = w->columns[c];
        w->names[n + c] = w->um && column->name_um ? column->name_um : column->name;
    }
    return n;
}

lob_status lob_region_table_write(lob_session *s, lob_region_table *table, const char *path)
{
    writing w = {.table = table, .um = lob_shows_micrometres(&table->grid->geometry)};
    lob_status st = LOB_OK;
    if (table->columns) w.frame = lob_shape_frame_of(&table->grid->geometry, table->grid->dims);
    w.count = lob_region_columns_of(w.columns, table->columns, table->columns && w.frame.flat >= 0);
    for (int c = 0; c < w.count; c++) w.needs |= w.columns[c]->needs;
    if (w.needs) st = measure_needs(s, &w, &table->shapes, path);
    if (st == LOB_OK) {
        const int keys = name_columns(&w);
        const lob_table file = {.names = w.names,
                                .columns = keys + w.count,
                                .keys = keys,
                                .label_names = table->named ? &table->grid->names : NULL,
                                .scan = table->scan,
                                .rows = rows_of(table),
                                .row = fill_row,
                                .user = &w};
        note_coarse(s, table);
        st = lob_table_write(s, &file, path);
    }
    lob_region_shapes_free(NULL, &table->shapes, table->count);
    return st;
}
