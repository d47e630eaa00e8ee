/* What a lob_device holds. Only the files of kernels/device/ include this one. */
#ifndef LOB_DEVICE_STRUCT_H
#define LOB_DEVICE_STRUCT_H

#include "kernels/device/cuda_calls.cuh"

struct lob_device {
    int number, capability, multiprocessors;
    int64_t shared_bytes, total_bytes;
    char name[256];
    cudaStream_t stream;
    void *block[LOB_DEVICE_BLOCKS];
    int64_t block_bytes[LOB_DEVICE_BLOCKS];
    uint64_t block_uses[LOB_DEVICE_BLOCKS]; /* calls that asked for the block */
    unsigned char *staging[2];              /* pinned */
    cudaEvent_t staged[2];                  /* the copy out of or into it has been done */
    lob_device_mailbox *mailbox;            /* pinned and mapped into the device */
    lob_device_traffic traffic;
};

#endif
