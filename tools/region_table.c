/* The table of regions: its columns, and how a row comes from what was added up. */
#include "tools/region_table.h"

#include "tools/table_file.h"

#include <math.h>
#include <stdlib.h>

/* The columns behind label and value. In micrometres those of lengths have other names. */
static const struct {
    const char *name, *name_um;
} measured[] = {
    {"voxels",        NULL           },
    {"volume_mm3",    "volume_um3"   },
    {"volume_ml",     "volume_mm3"   },
    {"bbox_x_min",    NULL           },
    {"bbox_y_min",    NULL           },
    {"bbox_z_min",    NULL           },
    {"bbox_x_max",    NULL           },
    {"bbox_y_max",    NULL           },
    {"bbox_z_max",    NULL           },
    {"centroid_x",    NULL           },
    {"centroid_y",    NULL           },
    {"centroid_z",    NULL           },
    {"centroid_x_mm", "centroid_x_um"},
    {"centroid_y_mm", "centroid_y_um"},
    {"centroid_z_mm", "centroid_z_um"},
    {"min",           NULL           },
    {"mean",          NULL           },
    {"max",           NULL           },
    {"sd",            NULL           },
};

enum { MEASURED = LOB_COUNT(measured) };

/* Where there is one channel its column is "value", else they are "value_0", "value_1", ... */
typedef char value_name[24];

static bool fill_row(double *row, int64_t i, const void *user)
{
    const lob_region_table *t = user;
    const int64_t frame = i / t->count, at = i;
    i %= t->count;
    const lob_region *r = &t->regions[i];
    if (r->voxels == 0) return false;
    *row++ = t->labels ? t->labels[i] : (double)(i + 1);
    if (t->frames > 0) *row++ = (double)frame;
    for (int c = 0; t->values && c < t->channels; c++) *row++ = t->values[i * t->channels + c];

    const lob_region_measures m =
        lob_region_measure(r, t->intensities ? &t->intensities[at] : NULL, t->geometry,
                           t->intensities ? &t->fine[frame] : NULL, t->slope, t->inter);
    *row++ = (double)r->voxels;
    const bool um = lob_shows_micrometres(t->geometry);
    *row++ = um ? m.mm3 * 1e9 : m.mm3;
    *row++ = um ? m.mm3 : m.mm3 / 1000;
    for (int a = 0; a < 3; a++) *row++ = (double)r->low[a];
    for (int a = 0; a < 3; a++) *row++ = (double)r->high[a];
    for (int a = 0; a < 3; a++) *row++ = m.centroid[a];
    for (int a = 0; a < 3; a++) *row++ = m.centroid_mm[a] * (um ? 1000 : 1);
    *row++ = m.lowest;
    *row++ = m.mean;
    *row++ = m.highest;
    *row++ = m.deviation;
    return true;
}

static int64_t rows_of(const lob_region_table *t)
{
    return t->frames > 0 ? t->count * t->frames : t->count;
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
                         fabs(t->slope) / per_unit, (long long)rows);
}

lob_status lob_region_table_write(lob_session *s, const lob_region_table *table, const char *path)
{
    const int values = table->values ? table->channels : 0;
    const int keys = 1 + (table->frames > 0) + values, columns = keys + MEASURED;
    lob_status st = LOB_ENOMEM;
    const char **names = malloc((size_t)columns * sizeof *names);
    value_name *value_names = malloc(((size_t)values + 1) * sizeof *value_names);
    if (!names || !value_names) {
        lob_fail(&s->error, st, "%s: out of memory", path);
        goto out;
    }
    names[0] = "label";
    names[1] = "frame"; /* unless what follows takes its place */
    for (int c = 0; c < values; c++) {
        snprintf(value_names[c], sizeof value_names[c], values > 1 ? "value_%d" : "value", c);
        names[keys - values + c] = value_names[c];
    }
    const bool um = lob_shows_micrometres(table->geometry);
    for (int c = 0; c < MEASURED; c++)
        names[keys + c] = um && measured[c].name_um ? measured[c].name_um : measured[c].name;
    const lob_table file = {.names = names,
                            .columns = columns,
                            .keys = keys,
                            .scan = table->scan,
                            .rows = rows_of(table),
                            .row = fill_row,
                            .user = table};
    note_coarse(s, table);
    st = lob_table_write(s, &file, path);
out:
    free(value_names);
    free(names);
    return st;
}
