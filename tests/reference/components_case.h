/* Random inputs of components: every option, type and odd shape turns up sooner or later. */
#ifndef LOB_COMPONENTS_CASE_H
#define LOB_COMPONENTS_CASE_H

#include "kernels/components/components.h"

typedef struct {
    uint64_t number; /* what the case was made from: the same number makes the same case */
    lob_volume image, intensities;
    uint8_t *mask;
    lob_components_input in;
    lob_components_options options; /* always valid; the data need not fit them */
    int64_t n;
    char shape[512]; /* and pattern and options in one line, for messages */
} components_case;

/* At most max_voxels, which is at least 1; sides up to 129. */
void components_case_make(components_case *c, uint64_t number, int64_t max_voxels);
void components_case_free(components_case *c);

/* ---- the reference: from definitions, voxel by voxel ---- */

/* As lob_components_cpu, for small volumes. Ends the program where there is no memory. */
lob_status components_reference(lob_components_output *result, const lob_components_input *in,
                                const lob_components_options *options);

/* As lob_regions_cpu. */
void regions_reference(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                       const lob_regions_input *in);

/*
 * NULL when two results are the same byte by byte in all but working_bytes, else what differs. A
 * result without an image has fine levels of 0.
 *
 *   voxels  in  of the labels; 0: labels are not compared
 */
const char *components_result_differs(const lob_components_output *a,
                                      const lob_components_output *b, int64_t voxels);

#endif
