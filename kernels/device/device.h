/*
 * A GPU to compute on: opening one, what it is, its memory, and copies to and from it.
 *
 * A lob_device is a GPU with a stream of its own, working memory that grows and is used again, and
 * pinned buffers through which arrays of ordinary memory travel. Nothing is global: two of them, of
 * one GPU or of two, work in two threads at once; a single one belongs to one thread at a time.
 * A build without CUDA has these functions too, and lob_device_open says so.
 */
#ifndef LOB_DEVICE_H
#define LOB_DEVICE_H

#include "kernels/context.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Open a GPU.
 *
 *   out     out  free with lob_device_close; NULL on failure
 *   choice  in   "auto": the GPU with the most free memory; "cuda": the first; "cuda:N": number N
 *
 * Returns LOB_OK, LOB_EDEVICE (built without CUDA, no driver, no such GPU, one too old for this
 * build), LOB_EBUSY (another process holds it) or LOB_ENOMEM.
 */
lob_status lob_device_open(lob_device **out, const char *choice, lob_error *error);

/* Give everything back; NULL is fine. */
void lob_device_close(lob_device *device);

/* "NVIDIA H200", and its number among this machine's GPUs. */
const char *lob_device_name(const lob_device *device);
int lob_device_number(const lob_device *device);

/* Compute capability, 90 for 9.0. */
int lob_device_capability(const lob_device *device);

/* Bytes that could be had now, with the blocks already held counted as free; and all. */
int64_t lob_device_free_bytes(const lob_device *device);
int64_t lob_device_total_bytes(const lob_device *device);

/*
 * A device keeps blocks: for inputs and outputs, for what an algorithm works with, and for what is
 * only known to be needed while it works: tables of what it found, and lists.
 */
typedef enum {
    LOB_DEVICE_ARRAYS,
    LOB_DEVICE_WORK,
    LOB_DEVICE_TABLES,
    LOB_DEVICE_LISTS,
    LOB_DEVICE_BLOCKS
} lob_device_block;

/*
 * Memory of the device, at least size bytes, aligned to 256, not cleared. A block is kept for the
 * next caller: asking for it again may move it and forgets what it held.
 *
 *   memory  out  device address
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status lob_device_scratch(lob_device *device, lob_device_block block, void **memory,
                              int64_t size, lob_error *error);

/* The largest size that asking for a block could get now. */
int64_t lob_device_room(const lob_device *device, lob_device_block block);

/*
 * Copy between ordinary memory and the device, in order with the device's other work. The host's
 * side may be used again when the call returns. The end of an upload, up to 32 MiB, may still be on
 * its way then, from buffers of the device's own.
 */
lob_status lob_device_upload(lob_device *device, void *to, const void *from, int64_t bytes,
                             lob_error *error);
lob_status lob_device_download(lob_device *device, void *to, const void *from, int64_t bytes,
                               lob_error *error);

/*
 * What the two calls above have copied since the device was opened, and for how long they held up
 * their caller: without the time that a download waits for work that was queued before it.
 */
typedef struct {
    double upload_s, download_s;
    int64_t upload_bytes, download_bytes;
} lob_device_traffic;

lob_device_traffic lob_device_traffic_of(const lob_device *device);

/*
 * The device's queue of work, a cudaStream_t, for who brings CUDA code of his own. It does not wait
 * for the default stream: before a call is given arrays on the device, what they hold must have
 * been written in this queue, or waited for (cudaMemcpy from pageable memory may return before the
 * bytes have come).
 */
void *lob_device_queue(const lob_device *device);

/* Wait until the device has done everything that it was given; reports what failed meanwhile. */
lob_status lob_device_wait(lob_device *device, lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
