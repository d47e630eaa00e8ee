/*
 * How files with CUDA code call CUDA's runtime: the stream of a device and its limits, checked
 * calls, launches. Where reading the GPU toolkit starts; the rest of it is
 *
 *   device_memory.h   blocks of memory, the budget of a call, arrays that travel
 *   arena.cuh         a block handed out array by array
 *   device_image.cuh  an image and a view, as kernels read them
 *   grid.cuh          threads of a grid and lanes of a warp; a barrier for the whole grid
 *   hash_table.cuh    a block's hash table in shared memory
 */
#ifndef LOB_CUDA_CALLS_CUH
#define LOB_CUDA_CALLS_CUH

#include "kernels/device/device_memory.h"

#include <cuda_runtime.h>

/* What host and device write to each other while a kernel runs; pinned, mapped into the device. */
typedef struct {
    volatile uint32_t stop; /* host to device: end soon */
    volatile uint64_t done; /* device to host: progress, in units of the kernel */
} lob_device_mailbox;

lob_device_mailbox *lob_device_mailbox_of(const lob_device *device);

int lob_device_multiprocessors(const lob_device *device);

/* Bytes of shared memory that a thread block may have. */
int64_t lob_device_shared_bytes(const lob_device *device);

/* The status of a CUDA result, with a line that names the call; LOB_OK for cudaSuccess. */
lob_status lob_device_check(cudaError_t result, const char *call, lob_error *error);

/* Make the device current in this thread: every function that calls CUDA begins with it. */
lob_status lob_device_enter(const lob_device *device, lob_error *error);

static inline cudaStream_t lob_device_cuda_stream(const lob_device *device)
{
    return (cudaStream_t)lob_device_stream(device);
}

/* LOB_TRY for CUDA calls. */
#define LOB_CUDA(call) LOB_TRY(lob_device_check((call), #call, error))

/* Thread blocks for n items, where threads take one item after the other: at most twice what runs
 * at once. */
static inline int64_t lob_grid_blocks(const lob_device *device, int64_t n, int threads)
{
    const int64_t wanted = (n + threads - 1) / threads;
    const int64_t max = (int64_t)lob_device_multiprocessors(device) * (2 * 2048 / threads);
    return wanted < max ? wanted : max;
}

/* Launch a kernel that takes one argument; an empty grid is no launch. */
template <typename A>
static lob_status lob_launch(lob_device *device, void (*kernel)(A), const char *name,
                             int64_t blocks, int threads, size_t shared, const A &argument,
                             lob_error *error)
{
    if (blocks == 0) return LOB_OK;
    const unsigned max = 0x7fffffffu;
    const dim3 grid(blocks < max ? (unsigned)blocks : max);
    kernel<<<grid, threads, shared, lob_device_cuda_stream(device)>>>(argument);
    return lob_device_check(cudaGetLastError(), name, error);
}

/* The same for a kernel whose threads take n items in turn. */
template <typename A>
static lob_status lob_launch_over(lob_device *device, void (*kernel)(A), const char *name,
                                  int64_t n, int threads, const A &argument, lob_error *error)
{
    return lob_launch(device, kernel, name, lob_grid_blocks(device, n, threads), threads, 0,
                      argument, error);
}

/* A launch with all blocks on the device at once, so that they may wait for each other. */
template <typename A>
static lob_status lob_launch_cooperative(lob_device *device, void (*kernel)(A), const char *name,
                                         int blocks, int threads, size_t shared, A argument,
                                         lob_error *error)
{
    void *arguments[] = {&argument};
    return lob_device_check(cudaLaunchCooperativeKernel((const void *)kernel,
                                                        dim3((unsigned)blocks),
                                                        dim3((unsigned)threads), arguments, shared,
                                                        lob_device_cuda_stream(device)),
                            name, error);
}

/*
 * Let a kernel have more dynamic shared memory than the 48 KiB that need no permission. The
 * permission is the kernel's, for all devices of a GPU: it is given for all that there is, since a
 * smaller one could come between what another thread asked for and its launch.
 */
template <typename A>
static lob_status lob_allow_shared(void (*kernel)(A), size_t shared, lob_error *error)
{
    int number = 0, most = 0;
    cudaFuncAttributes is;
    LOB_CUDA(cudaFuncGetAttributes(&is, (const void *)kernel));
    if (shared <= (size_t)is.maxDynamicSharedSizeBytes) return LOB_OK;
    LOB_CUDA(cudaGetDevice(&number));
    LOB_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, number));
    LOB_CUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  most - (int)is.sharedSizeBytes));
    return LOB_OK;
}

#endif
