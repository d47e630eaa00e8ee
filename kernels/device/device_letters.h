/*
 * When devices of one process, each with a thread of its own, copy from each other. Copies
 * (lob_device_fetch) go beside what the devices compute, and the host does not wait for them.
 */
#ifndef LOB_DEVICE_LETTERS_H
#define LOB_DEVICE_LETTERS_H

#include "kernels/device/device_memory.h"

LOB_BEGIN_DECLS

/* What others fetch is what the device has by now, and where it fetches to may be written. Copies
 * wait for the offers of both sides. */
lob_status lob_device_offer(lob_device *device, lob_error *error);

/* `by` has been told to fetch from the device. */
lob_status lob_device_fetched(lob_device *device, const lob_device *by, lob_error *error);

/* What the device is given from now on comes after what it and others fetch. */
lob_status lob_device_after_fetches(lob_device *device, lob_error *error);

LOB_END_DECLS

#endif
