/*
 * How devices of one process, each with a thread of its own, copy from each other. Copies go beside
 * what the devices compute, and the host does not wait for them.
 */
#ifndef LOB_DEVICE_LETTERS_H
#define LOB_DEVICE_LETTERS_H

#include "kernels/device/device_memory.h"

LOB_BEGIN_DECLS

/* What others fetch is what the device has by now, and where it fetches to may be written. Copies
 * wait for the offers of both sides. */
lob_status lob_device_offer(lob_device *device, lob_error *error);

/*
 * Copy from another device: from GPU to GPU where these reach each other, else the driver goes by
 * ordinary memory.
 *
 *   from  in  what `there` has offered
 */
lob_status lob_device_fetch(lob_device *device, void *to, const lob_device *there, const void *from,
                            int64_t bytes, lob_error *error);

/* `by` has been told to fetch from the device. */
lob_status lob_device_fetched(lob_device *device, const lob_device *by, lob_error *error);

/* What the device is given from now on comes after what it and others fetch; lob_device_wait waits
 * for that too. */
lob_status lob_device_after_fetches(lob_device *device, lob_error *error);

LOB_END_DECLS

#endif
