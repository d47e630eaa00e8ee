/* Random supervoxel inputs for a team of threads, on any backend. */
#ifndef LOB_SUPERVOXELS_TEAM_H
#define LOB_SUPERVOXELS_TEAM_H

#include "kernels/supervoxels/supervoxels_slabs.h"
#include "tests/reference/supervoxels_case.h"

enum { SUPERVOXELS_TEAM_MOST = 17 };

/* A case that a team works on. What is wrong in a thread is kept for the test. */
typedef struct {
    const supervoxels_case *c;
    __typeof__(lob_supervoxels_slabs) *cut;
    lob_context context[SUPERVOXELS_TEAM_MOST]; /* of each rank */
    int32_t *labels;                            /* of the whole volume */
    lob_supervoxels_stats stats[SUPERVOXELS_TEAM_MOST];
    lob_status status[SUPERVOXELS_TEAM_MOST];
    lob_error error[SUPERVOXELS_TEAM_MOST];
} supervoxels_team;

/* For lob_team_threads; user is a supervoxels_team. */
lob_team_work supervoxels_team_work;

#endif
