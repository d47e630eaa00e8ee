/*
 * Slabs: parts of an image, with a halo, on which passes give what they give on the whole. This
 * header is not installed.
 */
#ifndef LOB_FILTER_SLABS_H
#define LOB_FILTER_SLABS_H

#include "kernels/filters/filter_plan.h"

LOB_BEGIN_DECLS

/* How an image is cut along its last axis of more than one voxel. */
typedef struct {
    int axis;
    int64_t side;  /* along it */
    int64_t unit;  /* voxels of one position */
    int64_t halo;  /* positions on each side; -1: it cannot be cut */
    int64_t align; /* a slab begins at a multiple of this */
} lob_filter_cut;

lob_filter_cut lob_filter_cut_of(const lob_filter_plan *plan, int first, int end);

/* A slab: it gives positions low .. high - 1 and reads from .. to - 1. */
typedef struct {
    int64_t low, high, from, to;
    lob_dims dims; /* of what it reads */
} lob_filter_slab;

/* The most positions that slabs of this height read. */
int64_t lob_filter_slab_reads(const lob_filter_cut *cut, int64_t height);

lob_filter_slab lob_filter_slab_of(const lob_filter_cut *cut, lob_dims dims, int64_t low,
                                   int64_t height);

/* Copy bytes in several threads where there are many. */
void lob_filter_copy(void *to, const void *from, int64_t bytes, int threads);

LOB_END_DECLS

#endif
