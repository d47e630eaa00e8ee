/*
 * The majority on the GPU; majority.h says how it works. majority_cuda.cu filters tiles, a thread
 * block each; thin_cuda.cu then gives thin parts their labels back.
 */
#ifndef LOB_MAJORITY_CUDA_CUH
#define LOB_MAJORITY_CUDA_CUH

#include "kernels/device/cuda_calls.cuh"
#include "kernels/labels/majority/majority.h"
#include "kernels/labels/majority/majority_tiles.cuh"

namespace lob::labels
{

/* Bytes of device memory that majority works with. */
int64_t majority_bytes(lob_dims dims, const lob_majority *m);

/*
 * Filter labels.
 *
 *   out   out  device address of nx*ny*nz of type; not in
 *   work  in   majority_bytes, aligned to 256
 *
 * Work is queued in the device's stream; m may be freed when this returns.
 */
lob_status majority(lob_device *device, void *out, const void *in, lob_type type, lob_dims dims,
                    const lob_majority *m, void *work, lob_error *error);

/* ---- between the two files ---- */

/* Bytes of keep_thin's working memory: bits of thin voxels, and where they are. */
int64_t thin_bytes(int64_t tiles);

/* Give thin parts their labels back; labels.out holds the majority, labels.lost says where. */
lob_status keep_thin(lob_device *device, const tiled_labels &labels, lob_type type,
                     const int32_t reach[3], void *work, lob_error *error);

} /* namespace lob::labels */

#endif
