/*
 * Supervoxels on a GPU: the same bytes as lob_supervoxels_cpu, for arrays in ordinary memory and
 * for arrays that are on the device already.
 */
#ifndef LOB_SUPERVOXELS_CUDA_H
#define LOB_SUPERVOXELS_CUDA_H

#include "kernels/supervoxels/supervoxels_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As lob_supervoxels_cpu, on context->device, which must be open.
 *
 * Working memory on the device is tables (32 kB for lsc, 132 kB for CIELAB) and the largest of
 * three, after which a block keeps its size:
 *
 *   iterating  with one channel or three 2.1 bytes a voxel, of whole bricks of 8x8x4, in slices of
 *              16x16; 45 bytes a cluster and 4 a channel of it (lsc: 50 and 8). What else there is
 *              lies in the labels, until these are written: two of three channels, or the clusters'
 *              sums. With three channels these are 32 bytes a cluster and 8 a channel of it (lsc:
 *              80 and 16; all twice with until_still)
 *   numbering  2 bytes a voxel, some 24 for every 32 voxels of a row that are begun (in all 2.7 a
 *              voxel in long rows, 3.3 in those of 33), and 4 for each number given to what looks
 *              like a piece, somewhat more than there are pieces
 *   joining    24 bytes a piece and 12 a channel of it, with a list of contacts that takes what
 *              these leave of 4 bytes a voxel, 2 at most. Where they leave less than half a byte, 8
 *              bytes a piece and 6 a channel do
 *
 * So with up to five channels it is at most 4 bytes a voxel from 64 voxels a supervoxel on (with
 * three: 75, lsc 150, until still 95, lsc until still 200), unless a volume is thinner than bricks,
 * has rows shorter than 16 or fewer than 250000 voxels, or noise leaves a piece in every 5 voxels
 * (7 with three channels, 10 with five).
 *
 * Returns besides what that does LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less
 * free memory than this needs; the message tells both figures and the size that would fit.
 */
lob_status lob_supervoxels_cuda(int32_t *labels, lob_supervoxels_stats *stats,
                                const lob_supervoxels_input *in,
                                const lob_supervoxels_options *options, const lob_context *context,
                                lob_error *error);

/* Device addresses of what the input's and the output's arrays hold. */
typedef struct {
    const void *image;
    const uint8_t *mask; /* NULL: none */
    int32_t *labels;
} lob_supervoxels_arrays;

/*
 * A plan to be used again as long as images and options stay alike: of a film's frames, say. Its
 * tables stay on the device while nobody else asks for the block that holds them. For a device as
 * long as that is open.
 */
typedef struct {
    bool made;
    uint64_t sent; /* what the count of that block's uses was when the tables were sent; 0: never */
    const lob_device *device;        /* where to */
    lob_supervoxels_options options; /* what it was made for, as the next three */
    lob_volume image;                /* without data */
    lob_levels levels;
    lob_extremes extremes[LOB_SUPERVOXELS_MAX_CHANNELS];
    lob_supervoxels_plan plan;
} lob_supervoxels_cache;

/* Decides the time, not the result. */
typedef struct {
    bool plain;        /* every voxel by itself */
    bool screened;     /* slic: piles of bricks are screened however few they are */
    int64_t list;      /* contacts of small pieces that are listed, at most; -1: none, every round
                          looks at the volume; 0: as many as there is room for */
    bool disconnected; /* end after the iterations: labels are clusters, from 1 and with gaps */
} lob_supervoxels_tuning;

/*
 * The same, device to device.
 *
 *   arrays   in/out  there when this is called, as lob_device_stream tells; in->image->data and
 *                    in->mask are not looked at
 *   kept     in/out  all zero at first; free with lob_supervoxels_cache_free. NULL: nothing is kept
 *   tuning   in      NULL: all false and 0
 *
 * The device has finished when this returns.
 */
lob_status lob_supervoxels_cuda_arrays(const lob_supervoxels_arrays *arrays,
                                       lob_supervoxels_stats *stats,
                                       const lob_supervoxels_input *in,
                                       const lob_supervoxels_options *options,
                                       lob_supervoxels_cache *kept,
                                       const lob_supervoxels_tuning *tuning,
                                       const lob_context *context, lob_error *error);

void lob_supervoxels_cache_free(lob_supervoxels_cache *kept);

#ifdef __cplusplus
}
#endif

#endif
