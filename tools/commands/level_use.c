/* How an image's values spread over its range and its levels, from a sample of the voxels. */
#include "tools/commands/level_use.h"

#include "volumes/free.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One level of the sample. */
typedef struct {
    int64_t voxels, values; /* values: how many different ones */
} level;

static int fullest_first(const void *a, const void *b)
{
    const level *x = a, *y = b;
    return (x->voxels < y->voxels) - (x->voxels > y->voxels);
}

static double value_of(const lob_volume *v, double stored)
{
    return v->slope * stored + v->inter;
}

/* The value of element i, NaN where it is no data. */
static double value_at(const lob_data *data, int64_t i)
{
    const lob_volume *v = data->image;
    double value;
    if (data->mask && !data->mask[i % lob_voxels(v)]) return NAN;
    lob_values(&value, v->data, v->type, i, 1);
    value = value_of(v, value);
    return isfinite(value) && value >= lob_as_compared(data->range[0], v) &&
                   value <= lob_as_compared(data->range[1], v)
               ? value
               : NAN;
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

enum { MAX = 1 << 16 }; /* voxels of a sample, about */

lob_status lob_level_use_of(lob_level_use *use, const lob_data *data, double step)
{
    const int64_t n = lob_voxels(data->image) * data->image->channels;
    const int64_t stride = n / MAX | 1; /* odd: not always the same column of rows of 2^k */
    *use = (lob_level_use){0};
    double *values = malloc((size_t)(n / stride + 1) * sizeof *values);
    level *levels = malloc((size_t)(n / stride + 1) * sizeof *levels);
    const bool allocated = values && levels;
    for (int64_t i = 0; i < n && allocated; i += stride) {
        const double value = value_at(data, i);
        if (!isnan(value)) values[use->sampled++] = value;
    }
    if (allocated && use->sampled > 0) {
        qsort(values, (size_t)use->sampled, sizeof *values, lob_by_real);
        const int64_t count = count_levels(levels, values, use->sampled, step);
        qsort(levels, (size_t)count, sizeof *levels, fullest_first);
        for (int64_t held = 0; 100 * held < 99 * use->sampled; use->levels++) {
            held += levels[use->levels].voxels;
            use->merged |= levels[use->levels].values > 1;
        }
    }
    LOB_FREE(values, levels);
    return allocated ? LOB_OK : LOB_ENOMEM;
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

/* ---- the range of most values ---- */

/* Values of about MOST data voxels of a channel, less where data is scattered thinly. */
static int64_t sample_channel(double *values, int64_t capacity, const lob_data *data, int channel,
                              int64_t data_voxels)
{
    const int64_t voxels = lob_voxels(data->image), looks = 64 * (int64_t)MAX;
    const int64_t each = data_voxels / MAX, min = voxels / looks;
    const int64_t stride = (each > min ? each : min) | 1;
    const lob_view row = lob_view_whole((lob_dims){voxels, 1, 1});
    int64_t sampled = 0;
    for (int64_t i = 0; i < voxels && sampled < capacity; i += stride) {
        uint8_t is_data;
        lob_levels_data_row(&is_data, data, &row, i, 0, 0, 1);
        if (!is_data) continue;
        lob_values(&values[sampled], data->image->data, data->image->type, channel * voxels + i, 1);
        values[sampled] = value_of(data->image, values[sampled]);
        sampled++;
    }
    return sampled;
}

lob_status lob_value_spread_of(lob_value_spread *spread, const lob_data *data, int threads)
{
    const lob_volume *v = data->image;
    lob_extremes all[LOB_LEVELS_MAX_CHANNELS];
    lob_levels levels;
    uint16_t span[LOB_LEVELS_MAX_CHANNELS];
    *spread = (lob_value_spread){0};
    if (v->channels > LOB_LEVELS_MAX_CHANNELS) return LOB_OK;
    const lob_view view = lob_view_whole(v->dims);
    lob_levels_extremes(all, &levels, data, &view, threads);
    lob_levels_settle(&levels, span, all, v);
    if (levels.data_voxels == 0) return LOB_OK;

    int widest = 0;
    for (int c = 1; c < v->channels; c++)
        if (all[c].high - all[c].low > all[widest].high - all[widest].low) widest = c;
    const double ends[2] = {value_of(v, all[widest].low), value_of(v, all[widest].high)};
    spread->range[0] = fmin(ends[0], ends[1]);
    spread->range[1] = fmax(ends[0], ends[1]);
    spread->exact = levels.exact;
    spread->level_step = levels.level_step;

    const int64_t max = 4 * (int64_t)MAX;
    const int64_t capacity = levels.data_voxels < max ? levels.data_voxels : max;
    double *values = malloc((size_t)capacity * sizeof *values);
    if (!values) return LOB_ENOMEM;
    const int64_t n = sample_channel(values, capacity, data, widest, levels.data_voxels);
    qsort(values, (size_t)n, sizeof *values, lob_by_real);
    const int64_t held = (99 * n + 99) / 100;
    for (int64_t i = 0; i + held <= n && held > 0; i++) {
        const bool shorter =
            values[i + held - 1] - values[i] < spread->of_99_percent[1] - spread->of_99_percent[0];
        if (i > 0 && !shorter) continue;
        spread->of_99_percent[0] = values[i];
        spread->of_99_percent[1] = values[i + held - 1];
    }
    free(values);
    return LOB_OK;
}
