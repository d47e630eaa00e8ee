/* The inside of a device, for the files that hold CUDA code: its stream, checks, launches. */
#ifndef LOB_DEVICE_PRIVATE_H
#define LOB_DEVICE_PRIVATE_H

#include "kernels/device/device.h"

#include <cuda_runtime.h>

/* What device and host tell each other while a kernel runs; pinned, mapped into the device. */
typedef struct {
    volatile uint32_t stop; /* host to device: end soon */
    volatile uint64_t done; /* device to host: how far it is */
} lob_device_line;

struct lob_device {
    int number, capability, multiprocessors;
    int64_t shared_bytes; /* shared memory that a block may have */
    int64_t total_bytes;
    char name[256];
    cudaStream_t stream;
    void *block[LOB_DEVICE_BLOCKS];
    int64_t block_bytes[LOB_DEVICE_BLOCKS];
    uint64_t asked[LOB_DEVICE_BLOCKS]; /* how often: while that stays, so does what a block holds */
    unsigned char *staging[2];         /* pinned */
    cudaEvent_t staged[2];             /* the copy out of or into it has been done */
    lob_device_line *line;
    lob_device_traffic traffic;
};

/* The status of a CUDA result, with a line that names the call; LOB_OK for cudaSuccess. */
lob_status lob_device_check(cudaError_t result, const char *call, lob_error *error);

/* Make the device current in this thread: every function that calls CUDA begins with it. */
lob_status lob_device_enter(const lob_device *device, lob_error *error);

/* Returns from the enclosing function with the status when a CUDA call fails. */
#define LOB_CUDA(call)                                                     \
    do {                                                                   \
        const lob_status status_ = lob_device_check((call), #call, error); \
        if (status_ != LOB_OK) return status_;                             \
    } while (0)

/* The same for calls that give a status. */
#define LOB_TRY(call)                          \
    do {                                       \
        const lob_status status_ = (call);     \
        if (status_ != LOB_OK) return status_; \
    } while (0)

/*
 * The place of a key in a block's table of 2^BITS, where it has one or is given one; -1: the first
 * PROBES places that it might have are others'. Keys are not 0, which marks a free place.
 */
template <int BITS, int PROBES>
static __device__ inline int lob_place_of_key(uint32_t *keys, uint32_t key)
{
    uint32_t at = key * 2654435761u >> (32 - BITS);
#pragma unroll 1
    for (int i = 0; i < PROBES; i++, at = (at + 1) % (1u << BITS)) {
        uint32_t there = *(volatile uint32_t *)&keys[at];
        if (there == 0) there = atomicCAS(&keys[at], 0u, key);
        if (there == 0 || there == key) return (int)at;
    }
    return -1;
}

/* Blocks for n items of a kernel whose threads take one after the other: twice what runs at once.
 */
static inline int64_t lob_blocks(const lob_device *device, int64_t n, int threads)
{
    const int64_t want = (n + threads - 1) / threads;
    const int64_t most = (int64_t)device->multiprocessors * (2 * 2048 / threads);
    return want < most ? want : most;
}

/* Launch a kernel that takes one argument; an empty grid is no launch. */
template <typename A>
static lob_status lob_launch(lob_device *device, void (*kernel)(A), const char *name,
                             int64_t blocks, int threads, size_t shared, const A &argument,
                             lob_error *error)
{
    if (blocks == 0) return LOB_OK;
    const unsigned most = 0x7fffffffu;
    const dim3 grid(blocks < most ? (unsigned)blocks : most);
    kernel<<<grid, threads, shared, device->stream>>>(argument);
    return lob_device_check(cudaGetLastError(), name, error);
}

/* The same, with all blocks on the device at once, so that they may wait for each other. */
template <typename A>
static lob_status lob_launch_together(lob_device *device, void (*kernel)(A), const char *name,
                                      int blocks, int threads, size_t shared, A argument,
                                      lob_error *error)
{
    void *arguments[] = {&argument};
    return lob_device_check(
        cudaLaunchCooperativeKernel((const void *)kernel, dim3((unsigned)blocks),
                                    dim3((unsigned)threads), arguments, shared, device->stream),
        name, error);
}

#endif
