/*
 * A GPU to compute on: opening one, what it is, its memory, and copies to and from it.
 *
 * A lob_device is a GPU with a stream of its own, working memory that grows and is used again, and
 * pinned buffers through which arrays of ordinary memory travel. Nothing is global: two of them, of
 * one GPU or of two, work in two threads at once; a single one does one call at a time, and calls
 * of a backend (kernels/backends.h) from several threads take turns.
 * A build without CUDA has these functions too, and lob_device_open says so.
 */
#ifndef LOB_DEVICE_H
#define LOB_DEVICE_H

#include "kernels/context.h"

#include <stdint.h>

LOB_BEGIN_DECLS

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

/* How many GPUs there are, working or not; 0 without CUDA or a driver. */
int lob_device_count(void);

/*
 * A name of GPU number n that no other GPU has, whatever its number in other processes.
 *
 *   text  out  letters, digits and '-'; empty where there is no such GPU
 */
enum { LOB_DEVICE_IDENTITY = 40 };
void lob_device_identity(char text[LOB_DEVICE_IDENTITY], int n);

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
 * Copy between ordinary memory and the device, in order with the device's other work. The host's
 * side may be used again when the call returns. The end of an upload, up to 32 MiB, may still be on
 * its way then, from buffers of the device's own.
 */
lob_status lob_device_upload(lob_device *device, void *to, const void *from, int64_t bytes,
                             lob_error *error);
lob_status lob_device_download(lob_device *device, void *to, const void *from, int64_t bytes,
                               lob_error *error);

/*
 * A download part by part, in their order: while the caller has one, the next is on its way. Until
 * the last has come, nothing else may be copied between ordinary memory and the device.
 */
typedef struct {
    const void *from;
    int64_t bytes;
    int64_t at; /* how far parts have been given: 0 at first */
} lob_device_reading;

/*
 * Give the next part.
 *
 *   part  out  it, in memory of the device's own, until the next call
 *   n     out  bytes of it, a multiple of 256 but for the last; 0: there are no more
 */
lob_status lob_device_read(lob_device *device, lob_device_reading *reading, const void **part,
                           int64_t *n, lob_error *error);

/*
 * Memory of the device, aligned to 256 bytes, not cleared. Memory that was freed is kept for the
 * next that asks, until the device is closed. NULL may be freed; what was given last to the device
 * may still use it then.
 *
 *   memory  out  device address; NULL on failure
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status lob_device_alloc(lob_device *device, void **memory, int64_t bytes, lob_error *error);
void lob_device_free(lob_device *device, void *memory);

/* Copy on the device, in order with its other work. */
lob_status lob_device_copy(lob_device *device, void *to, const void *from, int64_t bytes,
                           lob_error *error);

/*
 * Have the device for oneself until lob_device_end; others wait. A backend does this around each of
 * its calls, and a thread does it once: nothing that it calls then may begin again. NULL is fine.
 */
void lob_device_begin(lob_device *device);
void lob_device_end(lob_device *device);

/*
 * What the calling thread has copied to and from devices so far, and for how long that held it up:
 * without the time that a download waits for work that was queued before it; for how long the
 * thread has waited in lob_device_begin, and for how long it had devices to itself after that.
 */
typedef struct {
    double upload_s, download_s, wait_s, turns_s;
    int64_t upload_bytes, download_bytes;
} lob_device_traffic;

lob_device_traffic lob_device_traffic_here(void);

/*
 * The device's stream, a cudaStream_t, for programs with CUDA code of their own. It does not wait
 * for the default stream: before a call is given arrays on the device, their contents must have
 * been written in this stream, or waited for (cudaMemcpy from pageable memory may return before the
 * bytes have arrived).
 */
void *lob_device_stream(const lob_device *device);

/*
 * Let the device's stream wait for what another stream of the same GPU has been given so far:
 * arrays that another program part still writes can then be passed to a call.
 *
 *   stream  in  a cudaStream_t, or CUDA's numbers for the default streams: 1 the legacy one, 2 that
 *               of the calling thread
 *
 * Does not wait itself. Returns LOB_OK or LOB_EDEVICE.
 */
lob_status lob_device_wait_stream(lob_device *device, void *stream, lob_error *error);

/* Wait until the device has done everything that it was given; reports what failed meanwhile. */
lob_status lob_device_wait(lob_device *device, lob_error *error);

LOB_END_DECLS

#endif
