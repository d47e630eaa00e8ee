/* Cutting images into slabs: what a slab reads and gives, and copying it. */
#include "kernels/filters/filter_slabs.h"

#include <string.h>

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

lob_filter_cut lob_filter_cut_of(const lob_filter_plan *plan, int first, int end)
{
    lob_filter_cut cut = {.axis = 2, .align = 1};
    while (cut.axis > 0 && lob_side(plan->dims, cut.axis) == 1) cut.axis--;
    cut.side = lob_side(plan->dims, cut.axis);
    cut.unit = 1;
    for (int a = 0; a < cut.axis; a++) cut.unit *= lob_side(plan->dims, a);
    for (int i = first; i < end && cut.halo >= 0; i++) {
        const int64_t reach = plan->pass[i].reach[cut.axis];
        /* What lies round the corner is no neighbour in a slab. */
        const bool wraps = reach > 0 && plan->options.edge == LOB_EDGE_WRAP;
        cut.halo = reach < 0 || wraps ? -1 : cut.halo + reach;
        if (reach > 0) cut.align = common_multiple(cut.align, plan->pass[i].align[cut.axis]);
        if (cut.align > cut.side) cut.halo = -1;
    }
    return cut;
}

int64_t lob_filter_slab_reads(const lob_filter_cut *cut, int64_t height)
{
    const int64_t reads = height + 2 * cut->halo + cut->align - 1;
    return cut->halo < 0 || reads >= cut->side ? cut->side : reads;
}

lob_filter_slab lob_filter_slab_of(const lob_filter_cut *cut, lob_dims dims, int64_t low,
                                   int64_t height)
{
    lob_filter_slab s = {.low = low, .high = cut->side, .to = cut->side, .dims = dims};
    if (cut->side - low > height) s.high = low + height;
    if (lob_filter_slab_reads(cut, height) < cut->side) {
        s.from = low > cut->halo ? (low - cut->halo) / cut->align * cut->align : 0;
        s.to = cut->side - s.high > cut->halo ? s.high + cut->halo : cut->side;
    }
    *(cut->axis == 0 ? &s.dims.nx : cut->axis == 1 ? &s.dims.ny : &s.dims.nz) = s.to - s.from;
    return s;
}

/* One thread copies slower than memory and a GPU's bus can; more than these copy no faster. */
enum { PIECE = 256 << 10, COPIERS = 8 };

void lob_filter_copy(void *to, const void *from, int64_t bytes, int threads)
{
    const int64_t pieces = (bytes + PIECE - 1) / PIECE;
    const int copiers = threads < COPIERS ? threads : COPIERS;
#pragma omp parallel for num_threads(copiers) schedule(static) if (pieces > 1 && copiers > 1)
    for (int64_t i = 0; i < pieces; i++) {
        const int64_t at = i * PIECE, left = bytes - at;
        memcpy((unsigned char *)to + at, (const unsigned char *)from + at,
               (size_t)(left < PIECE ? left : PIECE));
    }
}
