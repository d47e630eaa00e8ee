/* The report of `lobule growcut`. */
#include "kernels/levels/levels.h"
#include "tools/commands/growcut/growcut_work.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>

/*
 * Voxels of each dense label among those from first to end - 1, counted run by run: labels change
 * seldom, and a counter that grows by one per voxel is a chain of dependent additions.
 */
static void count_part(int64_t *count, const lob_volume *labels, int64_t first, int64_t end)
{
    const lob_type type = labels->type;
    for (int64_t i = first, stop; i < end; i = stop) {
        const int32_t label = lob_label_at(labels->data, type, i);
        for (stop = i + 1; stop < end && lob_label_at(labels->data, type, stop) == label;) stop++;
        count[label] += stop - i;
    }
}

static int64_t *count_labels(const lob_volume *labels, int32_t label_count, int threads)
{
    enum { MANY = 1 << 16 }; /* labels; a thread has counters of its own */
    const size_t row = (size_t)label_count + 1;
    const int64_t n = lob_voxels(labels);
    const int parts = label_count < MANY ? threads : 1;
    int64_t *const count = calloc((size_t)parts * row, sizeof *count);
    if (!count) return NULL;
#pragma omp parallel for num_threads(parts)
    for (int p = 0; p < parts; p++)
        count_part(count + (size_t)p * row, labels, n / parts * p,
                   p + 1 < parts ? n / parts * (p + 1) : n);
    for (size_t i = row; i < (size_t)parts * row; i++) count[i % row] += count[i];
    return count;
}

lob_status lob_growcut_count(lob_session *s, const lob_growcut_work *w, const lob_volume *labels,
                             int64_t **count)
{
    const int32_t n = w->labelled.count;
    const lob_volume own = lob_slab_own(&w->slab, labels);
    *count = count_labels(&own, n, s->context.threads);
    if (!*count) return lob_session_no_memory(s, w->labels_path);
    return lob_team_reduce(s->team, *count, n + 1, LOB_TEAM_SUM, &s->error);
}

static void report_labels(lob_session *s, const lob_growcut_work *w)
{
    const double voxel_mm3 = lob_voxel_mm3(&w->image.geometry);
    const int64_t *const count = w->voxels;
    cJSON *labels = cJSON_AddArrayToObject(s->results, "labels");
    for (int32_t i = 0; i < w->labelled.count; i++) {
        cJSON *const label = lob_json_row(labels);
        LOB_JSON_NUMBERS(label, {"label", w->labelled.values[i]}, {"seeds", w->labelled.voxels[i]},
                         {"voxels", (double)count[i + 1]},
                         {"mm3", (double)count[i + 1] * voxel_mm3});
        if (count[i + 1] == 0)
            lob_session_note(s, "%s: label %d is nowhere in the result: its seeds are not on data",
                             w->seeds_path, w->labelled.values[i]);
    }
}

static void report_stats(lob_session *s, const lob_growcut_work *w, const lob_growcut_stats *stats,
                         int64_t voxels)
{
    LOB_JSON_NUMBERS(s->results, {"voxels", voxels}, {"data_voxels", stats->data_voxels},
                     {"not_finite_voxels", stats->not_finite}, {"seeds", stats->seeds},
                     {"seeds_outside", stats->seeds_outside}, {"labelled_voxels", stats->reached},
                     {"neighbours", w->options.neighbours}, {"slice_axis", w->options.slice_axis},
                     {"largest_cost", stats->largest_cost},
                     {"image_units_per_level", stats->level_step}, {"key_bits", stats->key_bits},
                     {"working_bytes", stats->working_bytes});
    if (w->tie_path) cJSON_AddNumberToObject(s->results, "tie_voxels", (double)stats->ties);
    if (w->options.rounds > 0) {
        LOB_JSON_NUMBERS(s->results, {"rounds_asked", w->options.rounds},
                         {"rounds", stats->rounds});
    }
    cJSON_AddBoolToObject(s->results, "fixed_point", stats->fixed_point);
    if (!stats->fixed_point)
        lob_session_note(s,
                         "%s: stopped after round %d, before the fixed point; more would change "
                         "the result",
                         w->slabs.path, w->options.rounds);

    lob_session_note_not_finite(s, w->slabs.path, stats->not_finite, "these stay without a label");
    if (stats->seeds_outside > 0)
        lob_session_note(s,
                         "%s: seed voxels outside the data (mask, range, distance or NaN): %lld; "
                         "these have no effect",
                         w->seeds_path, (long long)stats->seeds_outside);
    lob_session_say(s, "voxels labelled: %lld of %lld; bits a key: %d", (long long)stats->reached,
                    (long long)voxels, stats->key_bits);
}

/* ---- levels ---- */

/* One level of the sample. */
typedef struct {
    int64_t voxels, values; /* values: how many different ones */
} level;

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

/* How a sample of the data uses the levels. */
typedef struct {
    int64_t sampled; /* voxels looked at; 0: no data */
    int64_t levels;  /* the fewest levels that hold 99 % of them */
    bool merged;     /* values that differ share one of these */
} level_use;

/* Look at a sample that is the same each time; step: image units per level, > 0. */
static lob_status find_level_use(level_use *use, const lob_data *data, double step)
{
    enum { MAX = 1 << 16 }; /* voxels of the sample, about */
    const int64_t n = lob_voxels(data->image) * data->image->channels;
    const int64_t stride = n / MAX | 1; /* odd: not always the same column of rows of 2^k */
    *use = (level_use){0};
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

/* The value of the data that is farthest from 0. */
static double farthest_value(const lob_data *data)
{
    const int64_t n = lob_voxels(data->image) * data->image->channels;
    double farthest = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double value = value_at(data, i);
        if (fabs(value) > fabs(farthest)) farthest = value; /* not where it is NaN */
    }
    return farthest;
}

/* Warn when a few extreme values, such as padding, leave few levels to all other voxels. */
static lob_status report_crowding(lob_session *s, const lob_growcut_work *w,
                                  const lob_growcut_stats *stats)
{
    enum { FEW = 64 };
    const lob_volume *image = &w->image;
    const bool integers = lob_type_of(image->type)->is_integer;
    if (integers && stats->level_step == fabs(image->slope)) return LOB_OK; /* used exactly */
    level_use use;
    const lob_data data = {
        .image = image, .mask = w->mask, .range = {w->options.range[0], w->options.range[1]}
    };
    if (find_level_use(&use, &data, stats->level_step) != LOB_OK)
        return lob_session_no_memory(s, w->slabs.path);
    cJSON_AddNumberToObject(s->results, "levels_of_99_percent", (double)use.levels);
    if (use.merged && use.levels < FEW)
        lob_session_note(s,
                         "%s: values reach %.3g, so 99 %% of the voxels share %lld of 65536 "
                         "levels%s; give --range LO,HI",
                         w->slabs.path, farthest_value(&data), (long long)use.levels,
                         w->options.slice_axis >= 0 ? " in the slices with such values" : "");
    return LOB_OK;
}

lob_status lob_growcut_report(lob_session *s, lob_growcut_work *w, const lob_growcut_stats *stats)
{
    report_stats(s, w, stats, lob_voxels(&w->image));
    report_labels(s, w);
    return w->image.data ? report_crowding(s, w, stats) : LOB_OK;
}
