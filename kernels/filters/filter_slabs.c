/* Cutting images into slabs: what a slab reads and gives, and copying it. */
#include "kernels/filters/filter_slabs.h"

#include <string.h>

lob_filter_cut lob_filter_cut_of(const lob_filter_plan *plan, int first, int end)
{
    lob_filter_cut cut = {.axis = 2, .wraps = plan->options.edge == LOB_EDGE_WRAP};
    while (cut.axis > 0 && lob_side(plan->dims, cut.axis) == 1) cut.axis--;
    cut.side = lob_side(plan->dims, cut.axis);
    cut.unit = 1;
    for (int a = 0; a < cut.axis; a++) cut.unit *= lob_side(plan->dims, a);
    for (int i = first; i < end && cut.halo >= 0; i++) {
        const int64_t reach = plan->pass[i].reach[cut.axis];
        cut.halo = reach < 0 ? -1 : cut.halo + reach;
    }
    return cut;
}

lob_filter_slab lob_filter_slab_of(const lob_filter_cut *cut, lob_dims dims, int64_t low,
                                   int64_t height)
{
    lob_filter_slab s = {.low = low, .high = cut->side, .dims = dims};
    if (cut->side - low > height) s.high = low + height;
    s.from = 0;
    s.to = cut->side;
    /* One whose halo would reach round to itself reads the image as it is. */
    if (cut->halo >= 0 && s.high - low + 2 * cut->halo < cut->side) {
        s.from = low - cut->halo;
        s.to = s.high + cut->halo;
        if (!cut->wraps && s.from < 0) s.from = 0;
        if (!cut->wraps && s.to > cut->side) s.to = cut->side;
    }
    *(cut->axis == 0 ? &s.dims.nx : cut->axis == 1 ? &s.dims.ny : &s.dims.nz) = s.to - s.from;
    return s;
}

/* Copying wide rows is worth sharing among threads. */
enum { PIECE = 1 << 20 };

static void copy(void *to, const void *from, int64_t bytes, int threads)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE;
#pragma omp parallel for num_threads(threads) schedule(static) if (pieces > 1 && threads > 1)
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t at = i * PIECE, left = bytes - at;
        memcpy((unsigned char *)to + at, (const unsigned char *)from + at,
               (size_t)(left < PIECE ? left : PIECE));
    }
}

void lob_filter_slab_take(void *slab_data, const void *image, const lob_filter_cut *cut,
                          const lob_filter_slab *slab, int channels, int64_t voxel_bytes,
                          int threads)
{
    const int64_t unit = cut->unit * voxel_bytes, side = cut->side;
    for (int c = 0; c < channels; c++) {
        unsigned char *to = (unsigned char *)slab_data + c * (slab->to - slab->from) * unit;
        const unsigned char *from = (const unsigned char *)image + c * side * unit;
        for (int64_t at = slab->from; at < slab->to;) { /* stretches that lie together */
            const int64_t here = ((at % side) + side) % side;
            const int64_t n = slab->to - at < side - here ? slab->to - at : side - here;
            copy(to + (at - slab->from) * unit, from + here * unit, n * unit, threads);
            at += n;
        }
    }
}

void lob_filter_slab_put(void *image, const void *slab_data, const lob_filter_cut *cut,
                         const lob_filter_slab *slab, int channels, int64_t voxel_bytes,
                         bool with_halo, int threads)
{
    const int64_t unit = cut->unit * voxel_bytes;
    const int64_t from = with_halo ? slab->from : slab->low;
    const int64_t rows = with_halo ? slab->to - slab->from : slab->high - slab->low;
    for (int c = 0; c < channels; c++)
        copy((unsigned char *)image + (c * cut->side + slab->low) * unit,
             (const unsigned char *)slab_data + (c * rows + slab->low - from) * unit,
             (slab->high - slab->low) * unit, threads);
}
