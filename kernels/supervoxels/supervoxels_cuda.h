/*
 * Supervoxels on a GPU: the same bytes as lob_supervoxels_cpu, for arrays in ordinary memory and
 * for arrays that are on the GPU already.
 */
#ifndef LOB_SUPERVOXELS_CUDA_H
#define LOB_SUPERVOXELS_CUDA_H

#include "kernels/supervoxels/supervoxels.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As lob_supervoxels_cpu, on context->device, which must be open.
 *
 * Working memory on the GPU is the tables (32 kB for lsc, 132 kB for CIELAB) and the largest of
 * three stages, since a later stage uses the memory of an earlier one again:
 *
 *   iterations  with one channel or three 2.1 bytes per voxel (rows and slices are rounded up to
 *               bricks of 8x8x4 voxels, in slices 16x16); and per cluster 45 bytes + 4 per channel
 *               (lsc: 50 + 8). The array of labels, which is not written before the end, holds the
 *               rest: with three channels the levels of two of them, else the clusters' sums. With
 *               three channels the sums take another 32 bytes per cluster + 8 per channel (lsc: 80
 *               + 16; twice as much with until_still)
 *   fragments   2 bytes per voxel, about 24 bytes per 32 voxels of a row (a row's last ones count
 *               as 32; in all 2.7 bytes per voxel in long rows, 3.3 in rows of 33), and 4 bytes per
 *               provisional number, of which there are somewhat more than fragments
 *   joining     24 bytes per fragment + 12 per channel, and a list of contacts that takes what
 *               these leave of 4 bytes per voxel, at most 2 bytes per voxel. Where they leave less
 *               than half a byte per voxel there is no list, and 8 bytes per fragment + 6 per
 *               channel are enough
 *
 * So with up to five channels it is at most 4 bytes per voxel if a supervoxel has 64 voxels or more
 * (with three channels 75; lsc 150; with until_still 95, lsc 200), unless a volume is thinner than
 * a brick, has rows shorter than 16 voxels or fewer than 250000 voxels, or is so noisy that it has
 * a fragment per 5 voxels (per 7 with three channels, per 10 with five).
 *
 * Returns besides what lob_supervoxels_cpu does LOB_EDEVICE when the GPU fails, and LOB_ENOMEM when
 * it has less free memory than this needs; the message states both sizes and how many voxels fit.
 */
lob_status lob_supervoxels_cuda(int32_t *labels, lob_supervoxels_stats *stats,
                                const lob_supervoxels_input *in,
                                const lob_supervoxels_options *options, const lob_context *context,
                                lob_error *error);

/* Device addresses of the arrays of a call. */
typedef struct {
    const void *image;
    const uint8_t *mask; /* NULL: none */
    int32_t *labels;
} lob_supervoxels_arrays;

/*
 * What a call prepares on the host, kept for the next one: of a film's frames, say. It is used
 * again while options, dimensions and range of levels stay the same, and its tables stay on the
 * GPU while no other algorithm needs their memory. Calls that share a cache follow each other, on
 * one device while that is open.
 */
typedef struct lob_supervoxels_cache lob_supervoxels_cache;

/* An empty cache; NULL where there is no memory. */
lob_supervoxels_cache *lob_supervoxels_cache_make(void);
void lob_supervoxels_cache_free(lob_supervoxels_cache *cache); /* NULL is fine */

/*
 * The same, device to device.
 *
 *   arrays   in/out  valid when this is called, in the order of lob_device_stream; in->image->data
 *                    and in->mask are not read
 *   cache    in/out  NULL: nothing is kept
 *
 * The GPU has finished when this returns.
 */
lob_status lob_supervoxels_cuda_arrays(const lob_supervoxels_arrays *arrays,
                                       lob_supervoxels_stats *stats,
                                       const lob_supervoxels_input *in,
                                       const lob_supervoxels_options *options,
                                       lob_supervoxels_cache *cache, const lob_context *context,
                                       lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
