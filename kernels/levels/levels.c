/* Levels on the CPU: the mapping, and the levels of a row. */
#include "kernels/levels/levels.h"

#include "kernels/levels/levels_voxel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

lob_view lob_view_whole(lob_dims dims)
{
    return (lob_view){
        .dims = dims, .stride = {1, dims.nx, dims.nx * dims.ny},
             .axis = {0, 1,       2                }
    };
}

lob_view lob_view_slice(lob_dims dims, int axis, int64_t index)
{
    const int64_t side[3] = {dims.nx, dims.ny, dims.nz};
    const int64_t stride[3] = {1, dims.nx, dims.nx * dims.ny};
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    return (lob_view){
        .offset = index * stride[axis],
        .dims = {side[u],   side[v],   1           },
        .stride = {stride[u], stride[v], stride[axis]},
        .axis = {u,         v,         axis        }
    };
}

static bool ranged(const lob_data *data)
{
    return data->range[0] > -INFINITY || data->range[1] < INFINITY;
}

/* Clear is_data where a channel is not finite; returns how many this channel cleared. */
#define DROP_NOT_FINITE(ctype)                                                    \
    do {                                                                          \
        const ctype *in = (const ctype *)image->data + at;                        \
        for (int64_t i = 0; i < n; i++)                                           \
            if (is_data[i] && !isfinite(in[i * step])) is_data[i] = 0, dropped++; \
    } while (0)

/* Clear is_data where a channel's value lies outside the range. */
#define DROP_OUTSIDE(type, ctype, name, integer, lowest, highest)                    \
    case type: {                                                                     \
        const ctype *in = (const ctype *)image->data + at;                           \
        for (int64_t i = 0; i < n; i++) {                                            \
            const double value = image->slope * (double)in[i * step] + image->inter; \
            if (!(value >= low && value <= high)) is_data[i] = 0;                    \
        }                                                                            \
        break;                                                                       \
    }

int64_t lob_levels_data_row(uint8_t *is_data, const lob_data *data, const lob_view *view, int64_t x,
                            int64_t y, int64_t z, int64_t n)
{
    const lob_volume *image = data->image;
    const int64_t first = lob_view_index(view, x, y, z), step = view->stride[0];
    const int64_t voxels = lob_voxels(image);
    int64_t dropped = 0;
    if (data->mask)
        for (int64_t i = 0; i < n; i++) is_data[i] = data->mask[first + i * step] != 0;
    else
        memset(is_data, 1, (size_t)n);
    if (image->type == LOB_F32 || image->type == LOB_F64)
        for (int c = 0; c < image->channels; c++) {
            const int64_t at = c * voxels + first;
            if (image->type == LOB_F32)
                DROP_NOT_FINITE(float);
            else
                DROP_NOT_FINITE(double);
        }
    const double low = lob_as_compared(data->range[0], image);
    const double high = lob_as_compared(data->range[1], image);
    if (ranged(data))
        for (int c = 0; c < image->channels; c++) {
            const int64_t at = c * voxels + first;
            LOB_TYPE_SWITCH(image->type, DROP_OUTSIDE);
        }
    return dropped;
}

#define WIDEN(ctype)                                      \
    for (int64_t i = 0; i < n; i++) {                     \
        const ctype value = in[i * step];                 \
        low = is_data[i] && value < low ? value : low;    \
        high = is_data[i] && value > high ? value : high; \
    }

/* Vector code where the voxels are adjacent. */
#define ROW_EXTREMES(type, ctype, name, integer, lowest, highest)                       \
    case type: {                                                                        \
        const ctype *in = (const ctype *)image->data + at;                              \
        ctype low = highest, high = lowest;                                             \
        if (step == 1) {                                                                \
            _Pragma("omp simd reduction(min : low) reduction(max : high)") WIDEN(ctype) \
        } else {                                                                        \
            WIDEN(ctype)                                                                \
        }                                                                               \
        for (int64_t i = 0; !integer && *whole && i < n; i++)                           \
            *whole = !is_data[i] || lob_is_whole((double)in[i * step]);                 \
        const bool any = memchr(is_data, 1, (size_t)n);                                 \
        row = (lob_extremes){any, (double)low, (double)high, 0, 0};                     \
        if (integer) row.low_bits = (uint64_t)low, row.high_bits = (uint64_t)high;      \
        break;                                                                          \
    }

void lob_extremes_widen(lob_extremes *all, const lob_extremes *part, lob_type type)
{
    if (!part->any) return;
    if (!all->any) {
        *all = *part;
        return;
    }
    if (part->low < all->low) all->low = part->low;
    if (part->high > all->high) all->high = part->high;
    /* Flipping the top bit makes the unsigned order of bits that of signed integers. */
    const uint64_t flip = type == LOB_U64 ? 0 : UINT64_C(1) << 63;
    if ((part->low_bits ^ flip) < (all->low_bits ^ flip)) all->low_bits = part->low_bits;
    if ((part->high_bits ^ flip) > (all->high_bits ^ flip)) all->high_bits = part->high_bits;
}

lob_status lob_extremes_of_team(lob_extremes *extremes, lob_team *team, lob_type type,
                                lob_error *error)
{
    const int size = lob_team_size(team);
    if (size == 1) return LOB_OK;
    lob_extremes *const all = calloc((size_t)size, sizeof *all);
    lob_status st = all ? LOB_OK : lob_fail(error, LOB_ENOMEM, "no memory left for a team");
    st = lob_team_agree(team, st, error);
    if (st == LOB_OK) st = lob_team_share(team, all, extremes, sizeof *all, error);
    for (int r = 0; st == LOB_OK && r < size; r++) lob_extremes_widen(extremes, &all[r], type);
    free(all);
    return st;
}

static void row_extremes(lob_extremes *e, bool *whole, const uint8_t *is_data,
                         const lob_volume *image, int channel, int64_t first, int64_t step,
                         int64_t n)
{
    const int64_t at = channel * lob_voxels(image) + first;
    lob_extremes row = {0};
    LOB_TYPE_SWITCH(image->type, ROW_EXTREMES);
    lob_extremes_widen(e, &row, image->type);
}

enum { ROW = 1024 };

static uint16_t mapped(const lob_levels *levels, double stored)
{
    return lob_level_mapped(stored, levels->low, levels->per_unit);
}

void lob_levels_settle(lob_levels *levels, uint16_t *span, const lob_extremes *all,
                       const lob_volume *image)
{
    const int channels = image->channels;
    lob_extremes joint = all[0];
    for (int c = 1; c < channels; c++) lob_extremes_widen(&joint, &all[c], image->type);
    *levels = (lob_levels){.data_voxels = levels->data_voxels,
                           .not_finite = levels->not_finite,
                           .whole = levels->whole,
                           .per_unit = 1.0,
                           .level_step = fabs(image->slope)};
    memset(span, 0, (size_t)channels * sizeof *span);
    if (!joint.any) return;

    levels->low = joint.low;
    levels->low_bits = joint.low_bits;
    levels->exact =
        lob_type_of(image->type)->is_integer && joint.high_bits - joint.low_bits <= 65535;
    const bool mapped_exactly = levels->whole && joint.high - joint.low <= 65535;
    if (!levels->exact && !mapped_exactly) {
        const double half = joint.high * 0.5 - joint.low * 0.5;
        levels->per_unit = half > 0 ? fmin(32767.5 / half, DBL_MAX / 2) : 1.0;
        levels->level_step = fabs(image->slope) / levels->per_unit;
    }
    levels->highest =
        levels->exact ? (uint16_t)(joint.high_bits - joint.low_bits) : mapped(levels, joint.high);
    for (int c = 0; c < channels; c++)
        span[c] = levels->exact
                      ? (uint16_t)(all[c].high_bits - all[c].low_bits)
                      : (uint16_t)(mapped(levels, all[c].high) - mapped(levels, all[c].low));
}

void lob_levels_extremes(lob_extremes *all, lob_levels *levels, const lob_data *data,
                         const lob_view *view, int threads)
{
    const lob_volume *image = data->image;
    const int channels = image->channels;
    const int64_t rows = view->dims.ny * view->dims.nz;
    int64_t data_voxels = 0, not_finite = 0;
    bool whole = true;
    memset(all, 0, (size_t)channels * sizeof *all);

#pragma omp parallel num_threads(threads) reduction(+ : data_voxels, not_finite) reduction(&& : whole)
    {
        uint8_t is_data[ROW];
        lob_extremes mine[LOB_LEVELS_MAX_CHANNELS] = {0};
#pragma omp for schedule(static)
        for (int64_t row = 0; row < rows; row++)
            for (int64_t x = 0; x < view->dims.nx; x += ROW) {
                const int64_t y = row % view->dims.ny, z = row / view->dims.ny;
                const int64_t n = view->dims.nx - x < ROW ? view->dims.nx - x : ROW;
                not_finite += lob_levels_data_row(is_data, data, view, x, y, z, n);
                for (int64_t i = 0; i < n; i++) data_voxels += is_data[i];
                for (int c = 0; c < channels; c++)
                    row_extremes(&mine[c], &whole, is_data, image, c, lob_view_index(view, x, y, z),
                                 view->stride[0], n);
            }
#pragma omp critical(lob_levels_extremes)
        for (int c = 0; c < channels; c++) lob_extremes_widen(&all[c], &mine[c], image->type);
    }

    levels->data_voxels = data_voxels;
    levels->not_finite = not_finite;
    levels->whole = whole;
}

lob_status lob_levels_of_team(lob_extremes *all, lob_levels *levels, int64_t sections,
                              const lob_volume *image, lob_team *team, lob_error *error)
{
    for (int64_t i = 0; i < sections * image->channels; i++)
        LOB_TRY(lob_extremes_of_team(&all[i], team, image->type, error));
    for (lob_levels *l = levels; l < levels + sections; l++) {
        int64_t sums[] = {l->data_voxels, l->not_finite, !l->whole};
        LOB_TRY(lob_team_reduce(team, sums, 3, LOB_TEAM_SUM, error));
        l->data_voxels = sums[0];
        l->not_finite = sums[1];
        l->whole = sums[2] == 0;
    }
    return LOB_OK;
}

lob_status lob_levels_extremes_of_team(lob_extremes *all, lob_levels *levels, const lob_data *data,
                                       const lob_view *view, int threads, lob_team *team,
                                       lob_error *error)
{
    lob_levels_extremes(all, levels, data, view, threads);
    return lob_levels_of_team(all, levels, 1, data->image, team, error);
}

void lob_levels_scan(lob_levels *levels, uint16_t *span, const lob_data *data, const lob_view *view,
                     int threads)
{
    lob_extremes all[LOB_LEVELS_MAX_CHANNELS];
    lob_levels_extremes(all, levels, data, view, threads);
    lob_levels_settle(levels, span, all, data->image);
}

/* The levels of one channel's voxels, step apart. Exact levels need only the low 16 bits. */
#define ROW_LEVELS(type, ctype, name, integer, lowest, highest)                           \
    case type: {                                                                          \
        const ctype *in = (const ctype *)image->data + at;                                \
        if (levels->exact)                                                                \
            EACH_VOXEL((uint16_t)((uint16_t)in[i * step] - low) & (uint16_t)-is_data[i]); \
        else                                                                              \
            EACH_VOXEL(mapped(levels, is_data[i] ? (double)in[i * step] : levels->low));  \
        break;                                                                            \
    }

/* Vector code where the voxels are adjacent. */
#define EACH_VOXEL(level)                                                       \
    do {                                                                        \
        if (step == 1)                                                          \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) out[i] = level; \
        else                                                                    \
            for (int64_t i = 0; i < n; i++) out[i] = level;                     \
    } while (0)

void lob_levels_row(uint16_t *out, const uint8_t *is_data, const lob_levels *levels,
                    const lob_data *data, int channel, const lob_view *view, int64_t x, int64_t y,
                    int64_t z, int64_t n)
{
    const lob_volume *image = data->image;
    const int64_t at = channel * lob_voxels(image) + lob_view_index(view, x, y, z);
    const int64_t step = view->stride[0];
    const uint16_t low = (uint16_t)levels->low_bits;
    LOB_TYPE_SWITCH(image->type, ROW_LEVELS);
}
