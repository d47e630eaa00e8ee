/* Windows, patches and weights of denoising, for the CPU and CUDA. */
#ifndef LOB_DENOISE_VOXEL_H
#define LOB_DENOISE_VOXEL_H

#include "kernels/filters/denoise/denoise.h"
#include "kernels/filters/filter_edge.h"
#include "kernels/filters/pointwise_voxel.h"

#include <math.h>

LOB_BEGIN_DECLS

enum {
    LOB_DENOISE_SEARCH = 2,                    /* radius of the window, in voxels */
    LOB_DENOISE_HALO = LOB_DENOISE_SEARCH + 1, /* and of a patch around its border */
    LOB_DENOISE_PATCH = 27                     /* voxels of a patch at most */
};

typedef struct {
    int search[3], patch[3];            /* radii along x, y, z: 0..2 and 0 or 1 */
    float scale[LOB_DENOISE_PATCH + 1]; /* 1 / (n * 8 s^2): of a sum over n differences */
    lob_edge edge;                      /* nearest, reflect, mirror or wrap */
} lob_denoise_rule;

lob_denoise_rule lob_denoise_rule_of(const lob_filter_call *call, lob_dims dims);

/* The root of a weight, by itself because loops with it alone become vector code; NaN gives 0. */
LOB_BOTH float lob_denoise_root(float sum, float scale)
{
    const float left = 1.0f - sum * scale;
    return left > 0.0f ? left : 0.0f;
}

/*
 * The weight of a voxel whose patch differs by a sum of squares.
 *
 * Sums over a patch run along x, then y, then z, each (before + itself) + after; a difference to
 * what is no data is 0 and does not count in n.
 */
LOB_BOTH float lob_denoise_weight(float sum, float scale)
{
    const float root = lob_denoise_root(sum, scale);
    return root * root;
}

/*
 * |value - mean of its neighbours| of voxel (x, y, z) of a channel; NaN where it does not count.
 *
 *   along   in  axes that have neighbours
 *   stride  in  in voxels
 */
LOB_BOTH float lob_denoise_residual(const lob_filter_image *in, const uint8_t *mask,
                                    const int along[3], const int64_t at[3], int channel)
{
    const int64_t side[3] = {in->dims.nx, in->dims.ny, in->dims.nz};
    const int64_t stride[3] = {1, side[0], side[0] * side[1]};
    const int64_t i = at[0] + at[1] * stride[1] + at[2] * stride[2];
    const int64_t first = channel * side[0] * side[1] * side[2];
    const float none = NAN;
    float sum = 0.0f;
    int n = 0;
    if (mask && !mask[i]) return none;
    for (int a = 0; a < 3; a++) {
        if (!along[a]) continue;
        if (at[a] == 0 || at[a] == side[a] - 1) return none;
        const int64_t l = i - stride[a], r = i + stride[a];
        if (mask && !(mask[l] && mask[r])) return none;
        sum = sum + (lob_filter_float(in->data, in->type, first + l) +
                     lob_filter_float(in->data, in->type, first + r));
        n += 2;
    }
    const float own = lob_filter_float(in->data, in->type, first + i);
    const float apart = own - sum / (float)n;
    return apart != 0.0f && apart - apart == 0.0f ? (apart < 0.0f ? -apart : apart) : none;
}

/* Axes along which residuals are taken; returns how many. */
int lob_denoise_residual_axes(int along[3], const lob_filter_call *call, lob_dims dims);

/* The noise of n axes from the median residual. */
double lob_denoise_noise_of(double median, int axes);

LOB_END_DECLS

#endif
