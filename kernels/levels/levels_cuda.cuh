/* Levels on the device: which voxels are data, and their level. The same results as levels.c. */
#ifndef LOB_LEVELS_CUDA_CUH
#define LOB_LEVELS_CUDA_CUH

#include "kernels/device/device_image.cuh"
#include "kernels/levels/levels.h"
#include "kernels/levels/levels_voxel.h"

/* The mapping of one plane, as kernels read it. */
typedef struct {
    uint64_t low_bits;
    double low, per_unit;
    int exact;
} lob_device_levels;

static inline lob_device_levels lob_device_levels_of(uint64_t low_bits, double low, double per_unit,
                                                     bool exact)
{
    lob_device_levels to = {};
    to.low_bits = low_bits;
    to.low = low;
    to.per_unit = per_unit;
    to.exact = exact;
    return to;
}

/* Find the levels' extremes of each plane.
 *
 *   extremes    out  planes * channels
 *   data        out  planes; voxels that are data
 *   not_finite  out  planes
 *   work        in   device memory of lob_levels_scan_bytes
 */
lob_status lob_levels_scan_cuda(lob_device *device, lob_extremes *extremes, int64_t *data,
                                int64_t *not_finite, const lob_device_image *image,
                                const lob_device_view *view, void *work, lob_error *error);

int64_t lob_levels_scan_bytes(int64_t planes, int channels);

static __device__ inline uint16_t lob_voxel_level(const lob_device_image *image,
                                                  const lob_device_levels *levels, int64_t i)
{
    if (levels->exact) return (uint16_t)(lob_stored_bits(image, i) - levels->low_bits);
    return lob_level_mapped(lob_stored_value(image, i), levels->low, levels->per_unit);
}

#endif
