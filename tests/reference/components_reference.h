/* Components and regions from their definitions, voxel by voxel. */
#ifndef LOB_COMPONENTS_REFERENCE_H
#define LOB_COMPONENTS_REFERENCE_H

#include "kernels/components/components.h"

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
