/* GrowCut on the device with keys of 64 bits. */
#include "kernels/growcut/gpu/run_keys_cuda.cuh"

int64_t lob_growcut_bytes_64(const growcut_job *job)
{
    return bytes_of<wide>(job);
}

lob_status lob_growcut_run_64(const growcut_job *job, growcut_result *result, lob_error *error)
{
    return run_keys<wide>(job, result, error);
}
