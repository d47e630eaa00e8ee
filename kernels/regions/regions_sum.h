/* Fine levels of an image, and rows of its values added to regions: for what measures on the CPU.
 */
#ifndef LOB_REGIONS_SUM_H
#define LOB_REGIONS_SUM_H

#include "kernels/levels/levels.h"
#include "kernels/regions/regions.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { LOB_REGION_DATA_BITS = 32 }; /* of data voxels in a region at most: sums fit 64 bits */

/* The mapping for an image of this type whose finite voxels lie between these extremes. */
lob_fine_levels lob_fine_levels_of(const lob_extremes *all, lob_type type);

/* Widen the extremes of an image of this type by those of another part of it. */
void lob_extremes_widen(lob_extremes *all, const lob_extremes *part, lob_type type);

/*
 * Lowest and highest finite stored value of an image's first channel, by up to so many threads;
 * the result does not depend on them.
 */
lob_extremes lob_extremes_of(const lob_volume *image, int threads);

/* Add the intensities of n voxels from index first on to a region's. */
void lob_region_add_run_values(lob_region_values *values, const lob_volume *image,
                               const lob_fine_levels *fine, int64_t first, int64_t n);

/* As lob_regions_cpu, on checked input, with the fine levels of an image of which this is a part.
 */
lob_status lob_regions_sum(lob_region *regions, lob_region_values *values,
                           const lob_fine_levels *fine, const lob_regions_input *in,
                           const lob_context *context, lob_error *error);

/* Bytes that lob_regions_sum takes beside its output: within context->max_memory. */
int64_t lob_regions_sum_bytes(const lob_regions_input *in, const lob_context *context);

/* Places are 32-bit numbers. Returns LOB_OK or LOB_EDATA. */
lob_status lob_regions_check_sides(lob_dims dims, lob_error *error);

/* Check sides, types and count; not the labels. Returns LOB_OK, LOB_EARG or LOB_EDATA. */
lob_status lob_regions_check(const lob_regions_input *in, lob_error *error);

/* LOB_EDATA: the first voxel, by index, whose label is outside 0..count. */
lob_status lob_regions_refuse_label(int64_t voxel, int64_t count, lob_error *error);

/* Returns LOB_OK, or LOB_EDATA when a region has more data than its sums are made for. */
lob_status lob_regions_check_data(const lob_region_values *values, int64_t count, lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
