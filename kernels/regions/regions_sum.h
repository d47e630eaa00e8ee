/* What regions share with components: fine levels of an image, and sums over parts of a volume. */
#ifndef LOB_REGIONS_SUM_H
#define LOB_REGIONS_SUM_H

#include "kernels/levels/levels.h"
#include "kernels/regions/regions.h"

LOB_BEGIN_DECLS

enum { LOB_REGION_DATA_BITS = 32 }; /* at most 2^32 values in a region, so sums fit 64 bits */

/* The mapping for an image of this type with these extremes of its finite voxels. */
lob_fine_levels lob_fine_levels_of(const lob_extremes *all, lob_type type);

/* The extremes of the finite voxels of an image's first channel; they do not depend on threads. */
lob_extremes lob_extremes_of(const lob_volume *image, int threads);

/* Add the values of n voxels from index first on to those of a region. */
void lob_region_add_run_values(lob_region_values *values, const lob_volume *image,
                               const lob_fine_levels *fine, int64_t first, int64_t n);

/* As lob_regions_cpu, for checked input that may be a part of the image that fine was made for. */
lob_status lob_regions_sum(lob_region *regions, lob_region_values *values,
                           const lob_fine_levels *fine, const lob_regions_input *in,
                           const lob_context *context, lob_error *error);

/* Bytes that lob_regions_sum takes beside its output, at most context->max_memory. */
int64_t lob_regions_sum_bytes(const lob_regions_input *in, const lob_context *context);

/* As many threads as have tables of so many bytes, the first in the output, within the memory; the
 * others' have at most a byte per voxel in sum. */
int lob_regions_threads(const lob_regions_input *in, int64_t table_bytes,
                        const lob_context *context);

/* LOB_EDATA when a side exceeds INT32_MAX, since bounding boxes are int32. */
lob_status lob_regions_check_sides(lob_dims dims, lob_error *error);

/* Check dims, types and count, but not the labels. Returns LOB_OK, LOB_EARG or LOB_EDATA. */
lob_status lob_regions_check(const lob_regions_input *in, lob_error *error);

/* LOB_EDATA: voxel is the first by index whose label is outside 0..count. */
lob_status lob_regions_refuse_label(int64_t voxel, int64_t count, lob_error *error);

/* LOB_EDATA when a region has more values than LOB_REGION_DATA_BITS allow. */
lob_status lob_regions_check_data(const lob_region_values *values, int64_t count, lob_error *error);

LOB_END_DECLS

#endif
