/* Levels on the device: which voxels are data, and their level. The same results as levels.c. */
#ifndef LOB_LEVELS_CUDA_CUH
#define LOB_LEVELS_CUDA_CUH

#include "kernels/device/device_private.h"
#include "kernels/levels/levels.h"
#include "kernels/levels/levels_voxel.h"

/* An image in device memory, and what makes its voxels data. */
typedef struct {
    const void *stored;  /* channels * voxels */
    const uint8_t *mask; /* may be NULL */
    int64_t voxels;
    int channels;
    lob_type type;
    bool ranged;
    double slope, inter, range[2];
} lob_device_image;

/* The mapping of one plane, as kernels read it. */
typedef struct {
    uint64_t low_bits;
    double low, per_unit;
    int exact;
} lob_device_levels;

/* The voxels of a view that are scanned together: all of it, or slice after slice. */
typedef struct {
    int64_t offset, stride[3]; /* as in lob_view */
    uint32_t side[3];
    bool flat; /* every slice along the view's z is a plane of its own; otherwise there is one */
} lob_device_view;

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

/* Stored integers sign-extended; of other types nothing. */
static __device__ inline uint64_t lob_stored_bits(const lob_device_image *image, int64_t i)
{
#define BITS_OF(type_, ctype, name, integer, lowest, highest) \
    case type_:                                               \
        return integer ? (uint64_t)((const ctype *)image->stored)[i] : 0;
    switch (image->type) {
        LOB_TYPE_LIST(BITS_OF)
    case LOB_TYPES:
        break;
    }
#undef BITS_OF
    return 0;
}

static __device__ inline double lob_stored_value(const lob_device_image *image, int64_t i)
{
#define VALUE_OF(type_, ctype, name, integer, lowest, highest) \
    case type_:                                                \
        return (double)((const ctype *)image->stored)[i];
    switch (image->type) {
        LOB_TYPE_LIST(VALUE_OF)
    case LOB_TYPES:
        break;
    }
#undef VALUE_OF
    return 0.0;
}

enum { LOB_VOXEL_OUTSIDE, LOB_VOXEL_DATA, LOB_VOXEL_NOT_FINITE };

/* What voxel v of the volume is; lob_levels_data_row says the same of a row. */
static __device__ inline int lob_voxel_state(const lob_device_image *image, int64_t v)
{
    if (image->mask && !image->mask[v]) return LOB_VOXEL_OUTSIDE;
    const bool real = image->type == LOB_F32 || image->type == LOB_F64;
    for (int c = 0; real && c < image->channels; c++)
        if (!isfinite(lob_stored_value(image, v + c * image->voxels))) return LOB_VOXEL_NOT_FINITE;
    for (int c = 0; image->ranged && c < image->channels; c++) {
        const double stored = lob_stored_value(image, v + c * image->voxels);
        const double value = image->slope * stored + image->inter;
        if (!(value >= image->range[0] && value <= image->range[1])) return LOB_VOXEL_OUTSIDE;
    }
    return LOB_VOXEL_DATA;
}

static __device__ inline uint16_t lob_voxel_level(const lob_device_image *image,
                                                  const lob_device_levels *levels, int64_t i)
{
    if (levels->exact) return (uint16_t)(lob_stored_bits(image, i) - levels->low_bits);
    return lob_level_mapped(lob_stored_value(image, i), levels->low, levels->per_unit);
}

#endif
