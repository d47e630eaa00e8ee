/* Numbers for the connected components of equal labels, for stages of other algorithms on the same
 * device. */
#ifndef LOB_LABEL_PIECES_CUDA_CUH
#define LOB_LABEL_PIECES_CUDA_CUH

#include "kernels/context.h"
#include "volumes/volume.h"

namespace lob::components
{

/* What label_pieces leaves in device memory. */
typedef struct {
    const uint32_t *components; /* how many there are, in LOB_DEVICE_TABLES */
    uint32_t *table; /* max_components + 1 words there; only *components, the last, is needed */
    int64_t max_components; /* as many as pieces in tiles */
    int64_t work_bytes;     /* in/out: of LOB_DEVICE_WORK, at most */
    int64_t table_bytes;    /* of LOB_DEVICE_TABLES */
} labelled_pieces;

/*
 * Replace labels by the numbers of their connected components. The host waits for the number of
 * pieces in tiles, yet neither for that of components nor for the end.
 *
 *   pieces      in/out  work_bytes: what the caller took, to be counted with the rest; the others
 *                       are set
 *   labels      in/out  device address; nx*ny*nz. Equal labels are joined through faces (not across
 *                       slices); 0 stays 0, components count from 1 in raster order
 *   slice_axis  in      -1: in 3D; else as in lob_components_options
 *   context     in      max_memory and device, which must be open and entered
 *
 * Uses the blocks LOB_DEVICE_WORK and LOB_DEVICE_TABLES.
 * Returns LOB_OK, LOB_EDATA (more components than int32 numbers), LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status label_pieces(labelled_pieces *pieces, int32_t *labels, lob_dims dims, int slice_axis,
                        const lob_context *context, lob_error *error);

} /* namespace lob::components */

#endif
