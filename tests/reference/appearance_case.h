/* Random inputs of appearance and refining: every type, several views, labels and odd shapes. */
#ifndef LOB_APPEARANCE_CASE_H
#define LOB_APPEARANCE_CASE_H

#include "kernels/appearance/appearance.h"
#include "kernels/refine/refine.h"

typedef struct {
    uint64_t number;     /* the same number makes the same case */
    lob_volume image[2]; /* views */
    const lob_volume *views[2];
    void *seeds, *outline; /* every label occurs in the seeds */
    lob_volume grid;       /* coarser, without voxels: for in.grid, which is NULL here */
    lob_appearance_input in;
    lob_appearance_options options;
    lob_refine_input refine_in;
    lob_refine_options refine;
    int32_t walls[2]; /* of refine_in: every eighth case with three labels or more has one */
    int64_t n;
    char shape[256];
} appearance_case;

/* At most max_voxels, which is at least 8. */
void appearance_case_make(appearance_case *c, uint64_t number, int64_t max_voxels);
void appearance_case_free(appearance_case *c);

/* ---- the reference: in doubles, voxel by voxel, with distances to every voxel ---- */

/* Scores in nats, not limited: (labels - 1) * nx*ny*nz. */
void appearance_reference(double *scores, const lob_appearance_input *in,
                          const lob_appearance_options *options);

#endif
