/* What tests and benchmarks choose of a call on a GPU. It changes the time, not labels. */
#ifndef LOB_SUPERVOXELS_TUNING_H
#define LOB_SUPERVOXELS_TUNING_H

#include "kernels/supervoxels/supervoxels_slabs.h"

LOB_BEGIN_DECLS

typedef struct {
    bool voxelwise;       /* every pass takes single voxels, not warp tiles */
    bool culled;          /* slic: candidates are culled ahead of passes, however few the tiles */
    int64_t max_contacts; /* contacts of small fragments that are listed, at most; -1: none, every
                              phase reads the volume again; 0: as many as memory allows. Of a team
                              above 0: at first */
    bool disconnected;    /* end after the iterations: labels are clusters, from 1, with gaps */
} lob_supervoxels_tuning;

/* lob_supervoxels_slabs_cuda with these choices, but ranks do not agree on what one ends with;
 * tuning may be NULL: all false and 0. */
lob_status lob_supervoxels_cuda_tuned(int32_t *labels, lob_supervoxels_stats *stats,
                                      const lob_supervoxels_input *in,
                                      const lob_supervoxels_options *options, int64_t planes,
                                      lob_team *team, const lob_supervoxels_tuning *tuning,
                                      const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
