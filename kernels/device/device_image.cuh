/* An image in device memory as every algorithm's kernels read it: voxels, data, and a view. */
#ifndef LOB_DEVICE_IMAGE_CUH
#define LOB_DEVICE_IMAGE_CUH

#include "kernels/device/cuda_calls.cuh"
#include "volumes/volume.h"

#include <math.h>

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

/* The voxels of a view that are scanned together: all of it, or slice after slice. */
typedef struct {
    int64_t offset, stride[3]; /* as in lob_view */
    uint32_t side[3];
    bool flat; /* every slice along the view's z is a plane of its own; otherwise there is one */
} lob_device_view;

/*
 * Describe an image.
 *
 *   stored, mask  in  device addresses; mask may be NULL
 *   range         in  lowest and highest value that is data; NULL: all
 */
static inline lob_device_image lob_device_image_of(const lob_volume *image, const void *stored,
                                                   const uint8_t *mask, const double range[2])
{
    lob_device_image to = {};
    to.stored = stored;
    to.mask = mask;
    to.voxels = lob_voxels(image);
    to.channels = image->channels;
    to.type = image->type;
    to.slope = image->slope;
    to.inter = image->inter;
    if (!range) return to;
    to.ranged = range[0] > -INFINITY || range[1] < INFINITY;
    to.range[0] = lob_as_compared(range[0], image);
    to.range[1] = lob_as_compared(range[1], image);
    return to;
}

/* All of a volume as one view. */
static inline lob_device_view lob_device_view_of(lob_dims dims)
{
    return {
        0,
        {1,                 dims.nx,           dims.nx * dims.ny},
        {(uint32_t)dims.nx, (uint32_t)dims.ny, (uint32_t)dims.nz},
        false
    };
}

/* Where voxel i of a volume lies. */
typedef struct {
    int64_t x, y, z;
} lob_voxel_at;

static __device__ inline lob_voxel_at lob_voxel_place(lob_dims d, int64_t i)
{
    const int64_t row = i / d.nx;
    return {i - row * d.nx, row % d.ny, row / d.ny};
}

#define LOB_STORED(type_, ctype, name, integer, lowest, highest) \
    case type_:                                                  \
        return reals || integer ? (T)((const ctype *)image->stored)[i] : 0;

template <typename T, bool reals>
static __device__ inline T lob_stored(const lob_device_image *image, int64_t i)
{
    LOB_TYPE_SWITCH(image->type, LOB_STORED);
    return 0;
}

/* Stored integers sign-extended; of other types nothing. */
static __device__ inline uint64_t lob_stored_bits(const lob_device_image *image, int64_t i)
{
    return lob_stored<uint64_t, false>(image, i);
}

static __device__ inline double lob_stored_value(const lob_device_image *image, int64_t i)
{
    return lob_stored<double, true>(image, i);
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

#endif
