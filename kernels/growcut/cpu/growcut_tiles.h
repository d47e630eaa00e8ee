/*
 * GrowCut's CPU engine: label-correcting shortest paths in tiles.
 *
 * The view is cut into tiles. Each holds its voxels' keys and levels together with a border one
 * cell wide that belongs to its neighbours (the halo), so that growing inside a tile touches no
 * other memory and needs no bounds checks: what is not data, or outside the view, has key 0, which
 * no candidate undercuts. A tile grows through buckets of equal cost. A cheaper candidate for a
 * halo cell is remembered there, so that it is sent once, and posted to its owner when the visit
 * ends. A round visits, in parallel, every tile that has something to grow below the cost window's
 * end; the window follows the cheapest voxel that still waits. Relaxing is monotone, so the
 * schedule decides the time and not the result.
 *
 *      +---+------------+---+
 *      | h |   halo     | h |      key: (cost << label_bits) | label
 *      +---+------------+---+           0 for what never changes: not data, and hard seeds
 *      | h |   tile     | h |      a smaller key is a cheaper path, or as cheap with a
 *      +---+------------+---+      smaller label
 *      | h |   halo     | h |
 *      +---+------------+---+
 */
#ifndef LOB_GROWCUT_TILES_H
#define LOB_GROWCUT_TILES_H

#include "kernels/growcut/growcut_rule.h"

#include <stdatomic.h>

/* One image to grow over: a whole volume, or a slice. */
typedef struct {
    const lob_growcut_input *in;
    const lob_growcut_output *out;
    lob_data data;
    lob_view view;
    lob_levels levels;
    lob_growcut_rule rule;
    const uint32_t *cost; /* lob_growcut_costs of the rule */
    lob_norm norm;
    int rounds; /* of the automaton; 0: to the fixed point */
    int tile;   /* voxels a side */
    int threads;
    int64_t max_memory;             /* 0: no limit */
    const lob_context *context;     /* whose progress is told; NULL: nobody's */
    double done_before, done_after; /* of the whole, when this starts and when it ends */
    const atomic_int *cancelled;    /* may be NULL */
} lob_growcut_job;

/* What growing one image came to; sums and maxima over slices make the whole. */
typedef struct {
    int64_t reached, seeds, seeds_outside, ties;
    uint64_t largest; /* cost in units */
    int64_t working_bytes;
    bool overflow;  /* a path's cost did not fit the key: grow again with the wide one */
    int64_t rounds; /* that changed a key, at most the job's */
    bool fixed_point;
} lob_growcut_result;

/* Grow with the least label winning ties, and write labels and strength. */
lob_status lob_growcut_tiles_32(const lob_growcut_job *job, lob_growcut_result *result,
                                lob_error *error);
lob_status lob_growcut_tiles_64(const lob_growcut_job *job, lob_growcut_result *result,
                                lob_error *error);

/* Grow with the largest label winning ties, and write the tie zone: where labels now differ. */
lob_status lob_growcut_ties_32(const lob_growcut_job *job, lob_growcut_result *result,
                               lob_error *error);
lob_status lob_growcut_ties_64(const lob_growcut_job *job, lob_growcut_result *result,
                               lob_error *error);

#endif
