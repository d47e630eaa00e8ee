/*
 * GrowCut on a GPU: the same bytes as lob_growcut_cpu, for arrays in ordinary memory and for arrays
 * that are on the device already.
 */
#ifndef LOB_GROWCUT_CUDA_H
#define LOB_GROWCUT_CUDA_H

#include "kernels/growcut/growcut.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As lob_growcut_cpu, on context->device, which must be open. options->tile is not looked at.
 *
 * Returns besides what that does LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less
 * free memory than this needs; the message tells both figures and the size that would fit.
 */
lob_status lob_growcut_cuda(const lob_growcut_output *out, lob_growcut_stats *stats,
                            const lob_growcut_input *in, const lob_growcut_options *options,
                            const lob_context *context, lob_error *error);

/* Device addresses of what the input's and the output's arrays hold. */
typedef struct {
    const void *image;
    const void *seeds;
    const uint8_t *mask; /* NULL: none */
    void *labels;
    float *strength; /* NULL: not wanted */
    uint8_t *tie;    /* NULL: not wanted */
} lob_growcut_arrays;

/* How the growing is scheduled: decides the time, not the result (but for rounds). */
typedef struct {
    double window_steps;  /* the cost window: steps of the usual cost, >= 0 ... */
    double window_levels; /* ... and levels, >= 0 */
    int cap;        /* turns of 32 cells before a visit ends, >= 1; 0: until nothing is left */
    int warps;      /* of a block, 1..32; 0: as many as fit */
    int64_t rounds; /* of visits, not the automaton's: stop after these; 0: at the fixed point */
    bool adapt;     /* widen the window, up to 16 times, while warps are idle */
} lob_growcut_tuning;

#define LOB_GROWCUT_TUNING                                                            \
    {                                                                                 \
        .window_steps = 30, .window_levels = 1.0, .cap = 32, .warps = 0, .rounds = 0, \
        .adapt = true                                                                 \
    }

/* What the growing did, added up over batches of slices and runs. */
typedef struct {
    int64_t tiles, rounds, visits, pops;
} lob_growcut_counts;

/*
 * The same, device to device.
 *
 *   arrays   in/out  what of in and out holds voxels, there when this is called, as
 *                    lob_device_stream tells; in->image->data is not looked at, in->seeds->data
 * only together with in->seed_strength counts   out     may be NULL tuning   in      NULL:
 * LOB_GROWCUT_TUNING
 *
 * The device has finished when this returns.
 */
lob_status lob_growcut_cuda_arrays(const lob_growcut_arrays *arrays, lob_growcut_stats *stats,
                                   lob_growcut_counts *counts, const lob_growcut_input *in,
                                   const lob_growcut_options *options,
                                   const lob_growcut_tuning *tuning, const lob_context *context,
                                   lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
