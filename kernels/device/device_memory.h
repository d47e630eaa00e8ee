/*
 * A GPU's memory as the algorithms use it: blocks that are kept from call to call, the budget of a
 * call's working memory, and the arrays that travel there and back.
 */
#ifndef LOB_DEVICE_MEMORY_H
#define LOB_DEVICE_MEMORY_H

#include "kernels/device/device.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* ---- blocks ---- */

/* A device keeps one block of memory for each purpose. */
typedef enum {
    LOB_DEVICE_ARRAYS, /* inputs and outputs */
    LOB_DEVICE_WORK,   /* what an algorithm works with, known in size before it starts */
    LOB_DEVICE_TABLES, /* rows for what it found */
    LOB_DEVICE_LISTS,  /* lists */
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
lob_status lob_device_block_take(lob_device *device, lob_device_block block, void **memory,
                                 int64_t size, lob_error *error);

/*
 * How large the block could be. At least `wanted` where it is that large already; only otherwise is
 * the driver asked, which takes longer than a small volume.
 */
int64_t lob_device_block_capacity(const lob_device *device, lob_device_block block, int64_t wanted);

/* Pinned memory of the host, at least size bytes; kept for the next caller, and what it held is
 * forgotten. Returns LOB_OK, LOB_ENOMEM or LOB_EDEVICE. */
lob_status lob_device_pinned_take(lob_device *device, void **memory, int64_t size,
                                  lob_error *error);

/* Set bytes of device memory, in order with the device's other work. */
lob_status lob_device_fill(lob_device *device, void *memory, unsigned char value, int64_t bytes,
                           lob_error *error);

/* So many threads share the GPU, each with a lob_device of its own: this one has at most that part
 * of what is free now, so call it before any has taken memory. At first it has all. */
void lob_device_share(lob_device *device, int sharers);

/* The most that a block of `held` bytes may have, of a device whose blocks have `all`: as many
 * bytes are free, and a share has `limit`. */
static inline int64_t lob_device_block_room(int64_t limit, int64_t free_bytes, int64_t all,
                                            int64_t held)
{
    const int64_t bytes = (free_bytes > 0 ? free_bytes : 0) + all;
    return (bytes < limit ? bytes : limit) - (all - held);
}

/* ---- the budget of a call ---- */

/*
 * Working memory of one call: bytes that it holds of each block, outputs left out. A block never
 * becomes smaller, so the sum of what was held of each is the peak.
 */
typedef struct {
    lob_device *device;
    int64_t max_bytes; /* that the caller allows; 0: all */
    const char *who;   /* "components", for the message of a refusal */
    int64_t voxels;    /* of the volume, for the same */
    int64_t held[LOB_DEVICE_BLOCKS];
} lob_device_budget;

lob_device_budget lob_device_budget_of(const lob_context *context, const char *who, int64_t voxels);

/* Bytes held of all blocks. */
int64_t lob_device_budget_held(const lob_device_budget *budget);

/* The most that may be taken of a block, which the caller wants so many bytes of; see
 * lob_device_block_capacity. It may be negative. */
int64_t lob_device_budget_left(const lob_device_budget *budget, lob_device_block block,
                               int64_t wanted);

/* Count bytes of a block as held; fewer than before change nothing. */
void lob_device_budget_hold(lob_device_budget *budget, lob_device_block block, int64_t bytes);

/*
 * Take a block within the budget and count it.
 *
 * Returns LOB_OK, LOB_ENOMEM (with the sizes, and the number of voxels that would fit; nothing is
 * counted) or LOB_EDEVICE.
 */
lob_status lob_device_budget_take(lob_device_budget *budget, lob_device_block block, int64_t bytes,
                                  void **memory, lob_error *error);

/* The refusal of lob_device_budget_take by itself: `bytes` are needed beside what is held. */
lob_status lob_device_budget_refuse(const lob_device_budget *budget, lob_device_block block,
                                    int64_t bytes, lob_error *error);

/* ---- arrays that travel ---- */

/* An array of a call: where it is, and where its device address is kept. */
typedef struct {
    void **device;    /* out: its address on the device; NULL where it has no bytes */
    const void *from; /* copied to the device by lob_device_send; NULL: not */
    void *to;         /* copied from the device by lob_device_receive; NULL: not */
    int64_t bytes;    /* 0: there is no such array; negative: it is too large to count */
    lob_place place;  /* of from or to. On the device it does not travel: this is its address */
    bool aligned; /* an input on the device that does not begin at a multiple of 256 is copied */
} lob_device_array;

/* Such a row: a volume's voxels (NULL: none), an input (NULL: none), an output. `device` is the
 * address of a pointer. */
lob_device_array lob_device_volume(void *device, const lob_volume *volume);
lob_device_array lob_device_input(void *device, const void *from, int64_t bytes, lob_place place);
lob_device_array lob_device_output(void *device, void *to, int64_t bytes, lob_place place);

/*
 * Give n arrays their addresses on the device: those of ordinary memory in the block for arrays,
 * and inputs are uploaded there.
 *
 *   voxels  in  of the volume, for the message of a refusal
 *
 * Returns LOB_OK, LOB_ENOMEM (with the sizes, and the number of voxels that would fit) or
 * LOB_EDEVICE (also where an array is on another GPU).
 */
lob_status lob_device_send(lob_device *device, const lob_device_array *arrays, int n,
                           int64_t voxels, lob_error *error);

/* Download those that are outputs. Returns LOB_OK or LOB_EDEVICE. */
lob_status lob_device_receive(lob_device *device, const lob_device_array *arrays, int n,
                              lob_error *error);

/*
 * The memory of a result that the call gives away, and the result itself.
 *
 *   result  out  lob_device_result_room: on the device where place is there, else NULL, which in a
 *                lob_device_array asks for room among the others. lob_device_result: at place, of
 *                lob_device_alloc or malloc; NULL on failure
 *   from    in   the result's address on the device
 */
lob_status lob_device_result_room(lob_device *device, void **result, int64_t bytes, lob_place place,
                                  lob_error *error);
lob_status lob_device_result(lob_device *device, void **result, void *from, int64_t bytes,
                             lob_place place, lob_error *error);

/* Bytes of all voxels of a volume, all channels; -1 beyond INT64_MAX / 8. */
int64_t lob_device_bytes_of(const lob_volume *volume);

/* Count bytes that an algorithm copied by streams of its own, which overlap with its work. */
void lob_device_count_bytes(int64_t up, int64_t down);

/* ---- refusals that several algorithms share ---- */

lob_status lob_device_missing(lob_error *error);   /* no GPU was opened */
lob_status lob_device_too_large(lob_error *error); /* the volume exceeds what a GPU can index */

LOB_END_DECLS

#endif
