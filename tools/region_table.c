/* The table of regions: its columns, and how a row comes from what was added up. */
#include "tools/region_table.h"

#include "tools/table_file.h"

#include <math.h>
#include <stdlib.h>

/* The columns behind label and value. */
static const char *const measured[] = {
    "voxels",
    "volume_mm3",
    "volume_ml",
    "bbox_x_min",
    "bbox_y_min",
    "bbox_z_min",
    "bbox_x_max",
    "bbox_y_max",
    "bbox_z_max",
    "centroid_x",
    "centroid_y",
    "centroid_z",
    "centroid_x_mm",
    "centroid_y_mm",
    "centroid_z_mm",
    "min",
    "mean",
    "max",
    "sd",
};

enum { MEASURED = LOB_COUNT(measured) };

/* Where there is one channel its column is "value", else they are "value_0", "value_1", ... */
typedef char value_name[24];

static bool fill_row(double *row, int64_t i, const void *user)
{
    const lob_region_table *t = user;
    const lob_region *r = &t->regions[i];
    if (r->voxels == 0) return false;
    *row++ = t->labels ? t->labels[i] : (double)(i + 1);
    for (int c = 0; t->values && c < t->channels; c++) *row++ = t->values[i * t->channels + c];

    const lob_region_measures m = lob_region_measure(r, t->intensities ? &t->intensities[i] : NULL,
                                                     t->geometry, t->fine, t->slope, t->inter);
    *row++ = (double)r->voxels;
    *row++ = m.mm3;
    *row++ = m.mm3 / 1000;
    for (int a = 0; a < 3; a++) *row++ = (double)r->low[a];
    for (int a = 0; a < 3; a++) *row++ = (double)r->high[a];
    for (int a = 0; a < 3; a++) *row++ = m.centroid[a];
    for (int a = 0; a < 3; a++) *row++ = m.centroid_mm[a];
    *row++ = m.lowest;
    *row++ = m.mean;
    *row++ = m.highest;
    *row++ = m.deviation;
    return true;
}

/* Say so where the image's range is so wide that regions lie within a few of its fine levels. */
static void note_coarse(lob_session *s, const lob_region_table *t)
{
    enum { LEVELS = 16 };
    int64_t rows = 0;
    if (!t->intensities || t->fine->exact) return;
    for (int64_t i = 0; i < t->count; i++) {
        const lob_region_values *v = &t->intensities[i];
        const double width = v->highest - v->lowest;
        rows += v->data > 0 && width > 0 && width * t->fine->per_unit < LEVELS;
    }
    if (rows > 0)
        lob_session_note(s,
                         "the image's range is so wide that the table's mean and sd are good to "
                         "%.3g, too coarse for %lld rows; set extreme voxels to NaN or clip them",
                         fabs(t->slope) / t->fine->per_unit, (long long)rows);
}

lob_status lob_region_table_write(lob_session *s, const lob_region_table *table, const char *path)
{
    const int values = table->values ? table->channels : 0;
    const int columns = 1 + values + MEASURED;
    lob_status st = LOB_ENOMEM;
    const char **names = malloc((size_t)columns * sizeof *names);
    value_name *value_names = malloc(((size_t)values + 1) * sizeof *value_names);
    if (!names || !value_names) {
        lob_fail(&s->error, st, "%s: out of memory", path);
        goto out;
    }
    names[0] = "label";
    for (int c = 0; c < values; c++) {
        snprintf(value_names[c], sizeof value_names[c], values > 1 ? "value_%d" : "value", c);
        names[1 + c] = value_names[c];
    }
    for (int c = 0; c < MEASURED; c++) names[1 + values + c] = measured[c];
    const lob_table file = {.names = names,
                            .columns = columns,
                            .keys = 1 + values,
                            .scan = table->scan,
                            .rows = table->count,
                            .row = fill_row,
                            .user = table};
    note_coarse(s, table);
    st = lob_table_write(s, &file, path);
out:
    free(value_names);
    free(names);
    return st;
}
