/* Random supervoxel inputs: every method, option and odd shape turns up sooner or later. */
#ifndef LOB_SUPERVOXELS_CASE_H
#define LOB_SUPERVOXELS_CASE_H

#include "kernels/supervoxels/supervoxels.h"

typedef struct {
    uint64_t number; /* what the case was made from: the same number makes the same case */
    lob_volume image;
    uint8_t *mask;
    lob_supervoxels_input in;
    lob_supervoxels_options options;
    int64_t n;
    char shape[512]; /* and options in one line, for messages */
} supervoxels_case;

/* Every side is at most max_side, which counts up to 41. A case may have no data voxel. */
void supervoxels_case_make(supervoxels_case *c, uint64_t number, int64_t max_side);

/*
 * The odd shapes, from number 0 on: long and thin axes, spacings far apart, more clusters about a
 * voxel than usual, voxels that no cluster's box holds. false: there is none of that number, and
 * nothing to free.
 */
bool supervoxels_case_fixed(supervoxels_case *c, int number);

void supervoxels_case_free(supervoxels_case *c);

/* Numbers of two calls that have to agree: all but working_bytes. */
bool supervoxels_stats_equal(const lob_supervoxels_stats *a, const lob_supervoxels_stats *b);

/* ---- the reference: voxel by voxel and cluster by cluster, slow and plain ---- */

/*
 * As lob_supervoxels_cpu, of options that fit; working_bytes is 0. The constants and tables are
 * the plan's; everything else is worked out here. LOB_EDATA where there is no data.
 */
lob_status supervoxels_reference(int32_t *labels, lob_supervoxels_stats *stats,
                                 const lob_supervoxels_input *in,
                                 const lob_supervoxels_options *options);

#endif
