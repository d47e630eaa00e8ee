/*
 * Connected components on a GPU: the same bytes as lob_components_cpu, for arrays in ordinary
 * memory and for arrays that are on the device already.
 */
#ifndef LOB_COMPONENTS_CUDA_H
#define LOB_COMPONENTS_CUDA_H

#include "kernels/components/components.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As lob_components_cpu, on context->device, which must be open.
 *
 * Returns besides what that does LOB_EDEVICE when the device fails, and LOB_ENOMEM when it has less
 * free memory than this needs; the message tells both figures and the size that would fit.
 */
lob_status lob_components_cuda(lob_components_output *result, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error);

/* Device addresses of what the input's and the result's arrays hold. */
typedef struct {
    const void *image;
    const uint8_t *mask;     /* NULL: none */
    const void *intensities; /* NULL: none */
    void *labels; /* nx*ny*nz; of options->type, or room for int32: of LOB_TYPES, keep_values */
} lob_components_arrays;

/*
 * The same, device to device.
 *
 *   arrays   in/out  there when this is called, as lob_device_stream tells; labels may be image,
 *                    where the types are the same size and there are no intensities in that place
 *   result   out     labels is NULL, regions and values those of the device: they lie in a block
 *                    of the device's and last until the device is used again; the rest as always,
 *                    member in ordinary memory, to be freed
 *   in       in      the arrays' addresses are not looked at, but for being NULL or not
 *
 * The device has finished when this returns.
 */
lob_status lob_components_cuda_arrays(const lob_components_arrays *arrays,
                                      lob_components_output *result, const lob_components_input *in,
                                      const lob_components_options *options,
                                      const lob_context *context, lob_error *error);

/* What numbering the pieces of labels left behind. */
typedef struct {
    const uint32_t *found; /* device address of how many there are, in LOB_DEVICE_TABLES */
    uint32_t *table;       /* device: most + 1 words there; only found, the last, is still needed */
    int64_t most;          /* there are not more than this */
    int64_t work;          /* in/out: bytes taken of LOB_DEVICE_WORK, at most */
    int64_t tables;        /* and of LOB_DEVICE_TABLES */
} lob_components_label_pieces;

/*
 * Replace labels by the numbers of their connected pieces, for who goes on with them on the device:
 * the host does not wait for how many there are, nor for the end.
 *
 *   pieces      in/out  work is what the caller took, to count with the rest; the others are set
 *   labels      in/out  device address; nx*ny*nz. Equal ones are joined through faces (not across
 *                       slices); 0 stays 0, pieces count from 1 in raster order
 *   slice_axis  in      -1: in 3D; else as in lob_components_options
 *   context     in      max_memory and device, which must be open and entered
 *
 * Uses the blocks LOB_DEVICE_WORK and LOB_DEVICE_TABLES.
 * Returns LOB_OK, LOB_EDATA (more pieces than int32 numbers), LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status lob_components_label_pieces_cuda(lob_components_label_pieces *pieces, int32_t *labels,
                                            lob_dims dims, int slice_axis,
                                            const lob_context *context, lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
