/* The arithmetic of box, for both compilers. */
#ifndef LOB_BOX_VOXEL_H
#define LOB_BOX_VOXEL_H

#include "kernels/filters/box/box.h"
#include "kernels/filters/filter_edge.h"
#include "kernels/filters/pointwise_voxel.h"
#include "kernels/histogram/histogram_voxel.h"

LOB_BEGIN_DECLS

/* What is summed: values, when all are data; else the data with 0 for the rest; or 1 for each. */
typedef enum { LOB_BOX_MEANS, LOB_BOX_SUMS, LOB_BOX_WEIGHTS } lob_box_what;

/* Voxels before the first pass. */
typedef struct {
    const void *data;
    lob_type type;
    const uint8_t *mask;
    lob_filter_map map;
    lob_box_what what;
} lob_box_source;

/* A pass: how lines of one axis are summed. */
typedef struct {
    int64_t n, radius; /* voxels of a line */
    int64_t origin;    /* where the line begins in the whole volume */
    int64_t block;     /* sums begin anew at multiples of it */
    int shift;         /* block is 1 << shift */
    bool anew;         /* all do */
    lob_edge edge;
    bool clips;    /* a window that reaches outside has fewer places */
    double factor; /* of a sum over a whole window */
    float outside; /* what stands outside where no voxel does */
    lob_filter_map after;
} lob_box_pass;

/* The largest radius whose windows are all summed anew, so that none waits for another. */
enum { LOB_BOX_DIRECT = 2 };

/* A power of two, at least 32 and more than the radius. */
LOB_BOTH int64_t lob_box_block(int64_t radius)
{
    int64_t block = 32;
    while (block <= radius) block *= 2;
    return block;
}

LOB_BOTH float lob_box_voxel(const lob_box_source *from, int64_t i)
{
    return lob_filter_value(from->data, from->type, &from->map, i);
}

/* What a voxel brings to sums: of means a number; else only a finite one in the mask is data. */
LOB_BOTH float lob_box_summand(float value, bool in_mask, lob_box_what what)
{
    if (what == LOB_BOX_MEANS) return value;
    return !(in_mask && LOB_IS_FINITE(value)) ? 0.0f : what == LOB_BOX_SUMS ? value : 1.0f;
}

LOB_BOTH float lob_box_read(const lob_box_source *from, int64_t i, int64_t mask_i)
{
    return lob_box_summand(lob_box_voxel(from, i), !from->mask || from->mask[mask_i], from->what);
}

/* First voxel of a line's block number b, counted from the block in which the line begins. */
LOB_BOTH int64_t lob_box_block_begin(const lob_box_pass *pass, int64_t b)
{
    const int64_t i = (((pass->origin >> pass->shift) + b) << pass->shift) - pass->origin;
    return i > 0 ? i : 0;
}

/* And behind its last one. */
LOB_BOTH int64_t lob_box_block_end(const lob_box_pass *pass, int64_t b)
{
    const int64_t next = lob_box_block_begin(pass, b + 1);
    return next < pass->n ? next : pass->n;
}

LOB_BOTH int64_t lob_box_blocks(const lob_box_pass *pass)
{
    return ((pass->origin + pass->n - 1) >> pass->shift) - (pass->origin >> pass->shift) + 1;
}

/* The next sum: one value comes in, one goes out. */
LOB_BOTH double lob_box_moved(double sum, float comes, float goes)
{
    const double change = (double)comes - (double)goes;
    return sum + change;
}

/* Places of the window of voxel i that lie on the line. */
LOB_BOTH int64_t lob_box_places(const lob_box_pass *pass, int64_t i)
{
    const int64_t before = i < pass->radius ? i : pass->radius, left = pass->n - 1 - i;
    return before + (left < pass->radius ? left : pass->radius) + 1;
}

/* What the pass writes for voxel i of a line. */
LOB_BOTH float lob_box_scaled(const lob_box_pass *pass, double sum, int64_t i)
{
    double factor = pass->factor;
    if (pass->clips && (i < pass->radius || i >= pass->n - pass->radius))
        factor = 1.0 / (double)lob_box_places(pass, i);
    return lob_filter_mapped((float)(sum * factor), &pass->after);
}

/* The mean of data; where there are none, or outside of the mask, what the voxel was. */
LOB_BOTH float lob_box_mean(const lob_box_source *from, const lob_filter_map *after, float sum,
                            float weight, int64_t i, int64_t mask_i)
{
    const bool kept = !(weight > 0) || (from->mask && !from->mask[mask_i]);
    return lob_filter_mapped(kept ? lob_box_voxel(from, i) : sum / weight, after);
}

/* Whether sums of data and of their number are needed. */
static inline bool lob_box_weighs(const lob_filter_call *call)
{
    return call->mask || !call->finite;
}

/* The passes along x, y and z; those with radius 0 are left out by the callers. */
void lob_box_passes(lob_box_pass passes[3], const lob_filter_image *in, const lob_filter_call *call,
                    lob_box_what what);

LOB_END_DECLS

#endif
