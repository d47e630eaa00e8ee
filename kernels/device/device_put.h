/* A few items of an array on a GPU, each at its place. This header is not installed. */
#ifndef LOB_DEVICE_PUT_H
#define LOB_DEVICE_PUT_H

#include "kernels/device/device.h"

LOB_BEGIN_DECLS

/*
 * Write bytes to places of device memory, in order with the device's other work.
 *
 *   to     out  n bytes of it, at the items' places
 *   items  in   n, in ordinary memory: place * 256 + byte; no place twice
 *
 * Returns LOB_OK, LOB_ENOMEM (they take 8 bytes each on the device meanwhile) or LOB_EDEVICE.
 */
lob_status lob_device_put(lob_device *device, void *to, const uint64_t *items, int64_t n,
                          lob_error *error);

/*
 * Read values at places of device memory, after the device's other work.
 *
 *   to        out  channels * n values, planar, in ordinary memory
 *   from      in   channels * voxels values, planar
 *   bytes     in   of a value: 1, 2, 4 or 8
 *   items     in   as above; places count values, and the bytes are not looked at
 *
 * Returns as lob_device_put; values take their bytes on the device too.
 */
lob_status lob_device_get(lob_device *device, void *to, const void *from, int bytes, int channels,
                          int64_t voxels, const uint64_t *items, int64_t n, lob_error *error);

/*
 * Which planes of device memory hold more than zeros?
 *
 *   held   out  n; 1 or 0, in ordinary memory
 *   from   in   n planes of so many bytes
 *
 * Returns as lob_device_put; a plane takes a byte.
 */
lob_status lob_device_planes(lob_device *device, uint8_t *held, const void *from, int64_t bytes,
                             int64_t n, lob_error *error);

LOB_END_DECLS

#endif
