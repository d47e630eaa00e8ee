/*
 * GrowCut on a GPU: the same bytes as lob_growcut_cpu, for arrays in ordinary memory and for arrays
 * that are in device memory already. How it works: kernels/growcut/gpu/section_batch_cuda.cuh.
 */
#ifndef LOB_GROWCUT_CUDA_H
#define LOB_GROWCUT_CUDA_H

#include "kernels/growcut/growcut.h"

LOB_BEGIN_DECLS

/*
 * As lob_growcut_cpu, on context->device, which must be open. options->tile has no effect.
 *
 * Working memory: about 6 bytes per voxel with one channel and 32-bit keys, beside the copies of
 * the arrays.
 *
 * Returns what lob_growcut_cpu does, and LOB_EDEVICE when the device fails. With LOB_ENOMEM the
 * message says how much memory is needed, how much there is, and how many voxels would fit.
 */
lob_status lob_growcut_cuda(const lob_growcut_output *out, lob_growcut_stats *stats,
                            const lob_growcut_input *in, const lob_growcut_options *options,
                            const lob_context *context, lob_error *error);

/*
 * Device addresses of the arrays of lob_growcut_input and lob_growcut_output. The input's must have
 * been written before the call as lob_device_stream says.
 */
typedef struct {
    const void *image;
    const void *seeds;
    const uint8_t *mask; /* NULL: none */
    void *labels;
    float *strength; /* NULL: not wanted */
    uint8_t *tie;    /* NULL: not wanted */
} lob_growcut_arrays;

/*
 * The same, device to device.
 *
 *   arrays  in/out  where the voxels are
 *   stats   out     may be NULL
 *   in      in      describes them: in->image->data and in->mask are not read. in->seeds->data is
 *                   read only together with in->seed_strength, both in ordinary memory
 *
 * The device has finished when this returns. Returns what lob_growcut_cuda does.
 */
lob_status lob_growcut_cuda_arrays(const lob_growcut_arrays *arrays, lob_growcut_stats *stats,
                                   const lob_growcut_input *in, const lob_growcut_options *options,
                                   const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
