/* GrowCut on the device with keys of 32 bits. */
#include "kernels/growcut/gpu/run_keys_cuda.cuh"

int64_t lob_growcut_bytes_32(const growcut_job *job)
{
    return bytes_of<uint32_t>(job);
}

lob_status lob_growcut_run_32(const growcut_job *job, growcut_result *result, lob_error *error)
{
    return run_keys<uint32_t>(job, result, error);
}
