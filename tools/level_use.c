/* How an image's values spread over levels, from a sample of the voxels. */
#include "tools/level_use.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One level of the sample. */
typedef struct {
    int64_t voxels, values; /* values: how many different ones */
} level;

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int fullest_first(const void *a, const void *b)
{
    const level *x = a, *y = b;
    return (x->voxels < y->voxels) - (x->voxels > y->voxels);
}

/* The value of element i, NaN where it is no data. */
static double value_at(const lob_data *data, int64_t i)
{
    const lob_volume *v = data->image;
    double value;
    if (data->mask && !data->mask[i % lob_voxels(v)]) return NAN;
    lob_values(&value, v->data, v->type, i, 1);
    value = v->slope * value + v->inter;
    return isfinite(value) && value >= data->range[0] && value <= data->range[1] ? value : NAN;
}

/* Fill the levels of n ascending values; returns how many there are. */
static int64_t count_levels(level *levels, const double *values, int64_t n, double step)
{
    int64_t count = 0;
    double last = -1.0;
    for (int64_t i = 0; i < n; i++) {
        const double at = nearbyint((values[i] - values[0]) / step);
        if (at != last) levels[count++] = (level){0};
        levels[count - 1].values += at != last || values[i] != values[i - 1];
        levels[count - 1].voxels++;
        last = at;
    }
    return count;
}

lob_status lob_level_use_of(lob_level_use *use, const lob_data *data, double step)
{
    enum { MOST = 1 << 16 };
    const int64_t n = lob_voxels(data->image) * data->image->channels;
    const int64_t stride = n / MOST | 1; /* odd: not always the same column of rows of 2^k */
    *use = (lob_level_use){0};
    double *values = malloc((size_t)(n / stride + 1) * sizeof *values);
    level *levels = malloc((size_t)(n / stride + 1) * sizeof *levels);
    const bool room = values && levels;
    for (int64_t i = 0; i < n && room; i += stride) {
        const double value = value_at(data, i);
        if (!isnan(value)) values[use->sampled++] = value;
    }
    if (room && use->sampled > 0) {
        qsort(values, (size_t)use->sampled, sizeof *values, by_value);
        const int64_t count = count_levels(levels, values, use->sampled, step);
        qsort(levels, (size_t)count, sizeof *levels, fullest_first);
        for (int64_t held = 0; 100 * held < 99 * use->sampled; use->levels++) {
            held += levels[use->levels].voxels;
            use->merged |= levels[use->levels].values > 1;
        }
    }
    free(values);
    free(levels);
    return room ? LOB_OK : LOB_ENOMEM;
}

double lob_farthest_value(const lob_data *data)
{
    const int64_t n = lob_voxels(data->image) * data->image->channels;
    double farthest = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double value = value_at(data, i);
        if (fabs(value) > fabs(farthest)) farthest = value; /* not where it is NaN */
    }
    return farthest;
}
