/* Slices on which labels are painted out. */
#include "kernels/appearance/strokes.h"

/* Strokes that cover this share of a result's labels on a slice were meant to be all of them. */
static const double least_cover = 0.75;

bool lob_strokes_fill_square(const void *seeds, lob_type type, lob_dims dims, int axis,
                             const int64_t at[3])
{
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    const int32_t own = lob_label_at(seeds, type, (at[2] * dims.ny + at[1]) * dims.nx + at[0]);
    for (int i = -2; i <= 2; i++)
        for (int k = -2; k <= 2; k++) {
            int64_t to[3] = {at[0], at[1], at[2]};
            to[a] += i;
            to[b] += k;
            if (to[a] < 0 || to[a] >= lob_side(dims, a) || to[b] < 0 || to[b] >= lob_side(dims, b))
                return false;
            if (lob_label_at(seeds, type, (to[2] * dims.ny + to[1]) * dims.nx + to[0]) != own)
                return false;
        }
    return true;
}

/* What slices are looked at by. */
typedef struct {
    uint8_t *seeds;
    const void *before;
    lob_type type;
    lob_dims dims;
    int32_t background, rest;
    int axis;
} look;

/* Are labels painted out on a slice? */
static bool is_painted_out(const look *k, int64_t slice)
{
    const lob_dims d = k->dims;
    const int a = k->axis == 0 ? 1 : 0, b = k->axis == 2 ? 1 : 2;
    int64_t at[3], strokes = 0, all = 0;
    bool square = false;
    at[k->axis] = slice;
    for (at[b] = 0; at[b] < lob_side(d, b); at[b]++)
        for (at[a] = 0; at[a] < lob_side(d, a); at[a]++) {
            const int64_t row = (at[2] * d.ny + at[1]) * d.nx;
            if (a == 0) at[0] = lob_next_label(k->seeds, LOB_U8, row + at[0], row + d.nx) - row;
            if (at[0] == d.nx) break;
            const uint8_t seed = k->seeds[row + at[0]];
            if (seed == 0 || seed == k->background) continue;
            strokes++;
            square = square || lob_strokes_fill_square(k->seeds, LOB_U8, d, k->axis, at);
        }
    for (at[b] = 0; square && at[b] < lob_side(d, b); at[b]++)
        for (at[a] = 0; at[a] < lob_side(d, a); at[a]++) {
            const int64_t i = (at[2] * d.ny + at[1]) * d.nx + at[0];
            const int32_t label = lob_label_at(k->before, k->type, i);
            all += label != 0 && label != k->rest;
        }
    return square && (double)strokes >= least_cover * (double)all;
}

int64_t lob_strokes_complete(uint8_t *seeds, int32_t background, const void *before, lob_type type,
                             int32_t rest, lob_dims dims, int axis)
{
    const look k = {.seeds = seeds,
                    .before = before,
                    .type = type,
                    .dims = dims,
                    .background = background,
                    .rest = rest,
                    .axis = axis};
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    int64_t at[3], filled = 0;
    for (at[axis] = 0; at[axis] < lob_side(dims, axis); at[axis]++) {
        if (!is_painted_out(&k, at[axis])) continue;
        for (at[b] = 0; at[b] < lob_side(dims, b); at[b]++)
            for (at[a] = 0; at[a] < lob_side(dims, a); at[a]++) {
                uint8_t *const seed = seeds + (at[2] * dims.ny + at[1]) * dims.nx + at[0];
                filled += *seed == 0;
                if (*seed == 0) *seed = (uint8_t)background;
            }
    }
    return filled;
}
