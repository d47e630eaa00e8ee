/* GrowCut on a GPU with keys of 32 bits. Files of their own, so that both compile at once. */
#include "kernels/growcut/gpu/grow_batch_cuda.cuh"

namespace lob::growcut
{

template int64_t batch_bytes<uint32_t>(const section_batch *batch);
template lob_status grow_batch<uint32_t>(const section_batch *batch, batch_result *result,
                                         lob_error *error);

} /* namespace lob::growcut */
