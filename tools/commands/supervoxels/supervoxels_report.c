/* From the settings of `lobule supervoxels` to the kernel's options, and its report. */
#include "kernels/levels/levels.h"
#include "tools/commands/supervoxels/supervoxels_work.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Are the channels compared in CIELAB? */
static lob_status choose_lab(lob_session *s, const lob_supervoxels_work *w, bool *lab,
                             const lob_volume *image)
{
    const bool colour = image->channels == 3 && image->type == LOB_U8;
    *lab = w->lab == LOB_LAB_ON || (w->lab == LOB_LAB_AUTO && colour);
    if (*lab && !colour)
        return lob_fail_file(&s->error, LOB_EDATA, w->slabs.path,
                             "--lab on needs three channels of uint8; it has %d of %s",
                             image->channels, lob_type_of(image->type)->name);
    return LOB_OK;
}

/* A side in voxels as mm: the side of a cube (in slices, a square) of as many voxels. */
static double side_mm(lob_size size, int slice_axis, const lob_volume *image)
{
    double mm = 1.0;
    int axes = 0;
    if (!size.voxels) return size.value;
    for (int a = 0; a < 3; a++) {
        if (a == slice_axis || lob_side(image->dims, a) == 1) continue;
        mm *= image->geometry.spacing_mm[a];
        axes++;
    }
    return size.value * (axes ? pow(mm, 1.0 / axes) : 1.0);
}

lob_status lob_supervoxels_choose(lob_session *s, lob_supervoxels_work *w)
{
    lob_supervoxels_options *o = &w->options;
    LOB_TRY(choose_lab(s, w, &o->lab, &w->image));
    o->method = (lob_supervoxels_method)w->method;
    o->slice_axis = lob_grid_slice_axis(w->slices, &w->image.geometry);
    if (w->count > 0)
        o->count = w->count;
    else
        o->size_mm = side_mm(w->size, o->slice_axis, &w->image);
    if (o->lab) o->compactness = LOB_LAB_COMPACTNESS;
    if (isfinite(w->compactness)) o->compactness = w->compactness;
    if (isfinite(w->ratio)) o->ratio = w->ratio;
    return LOB_OK;
}

/* Sizes that are most likely typing errors. */
static void report_odd_size(lob_session *s, const lob_supervoxels_work *w)
{
    const lob_dims dims = w->image.dims;
    const int across = w->options.slice_axis;
    const char *const where = across < 0 ? "the volume" : "a slice";
    bool one = true, under = true, flat = true;
    for (int a = 0; a < 3; a++) {
        if (a == across || lob_side(dims, a) == 1) continue;
        flat = false;
        one &= w->stats.cells[a] == 1;
        under &= w->stats.size_mm < w->image.geometry.spacing_mm[a];
    }
    const int64_t slices = across < 0 ? 1 : lob_side(dims, across);
    const double voxels = (double)w->stats.data_voxels / (double)slices;
    if (w->count > 0 && w->count > voxels)
        lob_session_note(s, "%s: --count %d is more than the voxels of %s (%.6g)", w->slabs.path,
                         w->count, where, voxels);
    else if (w->count == 0 && !flat && (one || under))
        lob_session_note(s, "%s: with --size %.6g%s %s", w->slabs.path, w->size.value,
                         w->size.voxels ? "vox" : "mm",
                         under        ? "a supervoxel is smaller than a voxel"
                         : across < 0 ? "all of the volume starts as one supervoxel"
                                      : "all of a slice starts as one supervoxel");
}

void lob_supervoxels_report(lob_session *s, const lob_supervoxels_work *w)
{
    const lob_supervoxels_stats *stats = &w->stats;
    const lob_supervoxels_options *o = &w->options;
    LOB_JSON_NUMBERS(s->results, {"voxels", lob_voxels(&w->image)},
                     {"data_voxels", stats->data_voxels}, {"not_finite_voxels", stats->not_finite},
                     {"supervoxels", stats->supervoxels}, {"size_mm", stats->size_mm},
                     {"cells_x", stats->cells[0]}, {"cells_y", stats->cells[1]},
                     {"cells_z", stats->cells[2]}, {"slice_axis", o->slice_axis},
                     {"iterations", stats->iterations}, {"pieces", stats->fragments},
                     {"working_bytes", stats->working_bytes});
    cJSON_AddBoolToObject(s->results, "lab", o->lab);
    if (o->method == LOB_SLIC) cJSON_AddNumberToObject(s->results, "compactness", o->compactness);
    if (o->method == LOB_LSC) cJSON_AddNumberToObject(s->results, "ratio", o->ratio);
    lob_session_note_not_finite(s, w->slabs.path, stats->not_finite, "these stay without a label");
    report_odd_size(s, w);
    lob_session_say(
        s, "supervoxels: %lld; data voxels: %lld; cells of the grid: %lld x %lld x %lld",
        (long long)stats->supervoxels, (long long)stats->data_voxels, (long long)stats->cells[0],
        (long long)stats->cells[1], (long long)stats->cells[2]);
}

/* ---- the range of most values ---- */

enum { MAX = 1 << 16 }; /* voxels of a sample, about */

/* How the values of the channel with the widest range spread; all 0 without data. */
typedef struct {
    double range[2];         /* lowest and highest value of the data */
    double of_99_percent[2]; /* ends of the shortest range that holds 99 % of a sample */
    bool exact;              /* every integer of the range is a level of its own */
    double level_step;       /* image units per level, > 0 */
} value_spread;

static double value_of(const lob_volume *v, double stored)
{
    return v->slope * stored + v->inter;
}

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

/* Scan the data for its range, and look at a sample of it that is the same each time. An image with
 * more than LOB_LEVELS_MAX_CHANNELS channels counts as one without data. */
static lob_status find_spread(value_spread *spread, const lob_data *data, int threads)
{
    const lob_volume *v = data->image;
    lob_extremes all[LOB_LEVELS_MAX_CHANNELS];
    lob_levels levels;
    uint16_t span[LOB_LEVELS_MAX_CHANNELS];
    *spread = (value_spread){0};
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

/*
 * Intensities weigh by their share of the range, so a few extreme values let position alone decide:
 * warn. With slic and lsc this is so where 99 % of the voxels differ by less than the weight of one
 * side of distance (the usual weight, if a larger one is given on purpose); with slico, which finds
 * that weight itself, where they share few levels.
 */
lob_status lob_supervoxels_report_crowding(lob_session *s, const lob_supervoxels_work *w)
{
    enum { FEW_LEVELS = 64 };
    const lob_supervoxels_options *o = &w->options;
    const lob_data data = {
        .image = &w->image, .mask = w->mask, .range = {o->range[0], o->range[1]}
    };
    static const char *const weights[] = {" or a smaller --compactness", "",
                                          " or a smaller --ratio"};
    const lob_supervoxels_options usual = lob_supervoxels_defaults();
    value_spread spread;
    if (o->lab) return LOB_OK; /* its units are fixed */
    const double start_s = lob_clock_s();
    if (find_spread(&spread, &data, s->context.threads) != LOB_OK)
        return lob_session_no_memory(s, w->slabs.path);
    lob_session_stage(s, "prepare", start_s);

    const double range_of_99 = spread.of_99_percent[1] - spread.of_99_percent[0];
    const double whole = spread.range[1] - spread.range[0];
    const double share =
        o->method == LOB_LSC ? usual.compactness * o->ratio / usual.ratio : o->compactness;
    const bool few = !spread.exact && range_of_99 < FEW_LEVELS * spread.level_step;
    const bool light =
        o->method != LOB_SLICO && range_of_99 < fmin(share, usual.compactness) * whole;
    if (range_of_99 > 0.0 && (few || light))
        lob_session_note(s,
                         "%s: 99 %% of the voxels lie in %.6g to %.6g, %.2g %% of the range from "
                         "%.6g to %.6g by which intensities weigh; give --range LO,HI%s",
                         w->slabs.path, spread.of_99_percent[0], spread.of_99_percent[1],
                         100.0 * range_of_99 / whole, spread.range[0], spread.range[1],
                         few ? "" : weights[o->method]);
    return LOB_OK;
}
