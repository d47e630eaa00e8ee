/* Levels on the GPU: the extremes of the data, and the level of a voxel; results as levels.c. */
#ifndef LOB_LEVELS_CUDA_CUH
#define LOB_LEVELS_CUDA_CUH

#include "kernels/device/device_image.cuh"
#include "kernels/levels/levels.h"
#include "kernels/levels/levels_voxel.h"

/* The mapping from stored values to levels, as kernels read it. */
typedef struct {
    uint64_t low_bits;
    double low, per_unit;
    int exact;
} lob_device_levels;

/* L: lob_levels, or lob_fine_levels of kernels/regions/. */
template <typename L> static inline lob_device_levels lob_device_levels_of(const L &levels)
{
    return {levels.low_bits, levels.low, levels.per_unit, levels.exact};
}

namespace lob::levels
{

/*
 * Find the extremes of each section's data: of the whole view, or of every slice along its z where
 * the view is flat.
 *
 *   extremes  out  sections * channels
 *   levels    out  sections: data_voxels, not_finite and whole are set
 *   work      in   device memory of scan_bytes
 *
 * The host waits for the result.
 */
lob_status scan_extremes(lob_device *device, lob_extremes *extremes, lob_levels *levels,
                         const lob_device_image *image, const lob_device_view *view, void *work,
                         lob_error *error);

int64_t scan_bytes(int64_t sections, int channels);

/* Voxels of one 16-byte load. */
template <typename T> struct alignas(16) pack {
    static constexpr int n = 16 / sizeof(T);
    T value[n];
};

} /* namespace lob::levels */

/* The level of stored voxel i, which counts through all channels. */
static __device__ inline uint16_t lob_voxel_level(const lob_device_image *image,
                                                  const lob_device_levels *levels, int64_t i)
{
    if (levels->exact) return (uint16_t)(lob_stored_bits(image, i) - levels->low_bits);
    return lob_level_mapped(lob_stored_value(image, i), levels->low, levels->per_unit);
}

#endif
