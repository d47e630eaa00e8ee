/* Volumes where a context computes: the buffers of jobs that call one algorithm after another. */
#ifndef LOB_ARRAYS_H
#define LOB_ARRAYS_H

#include "kernels/context.h"
#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* The place of the context's device; ordinary memory where it has none. */
lob_place lob_context_place(const lob_context *context);

/*
 * A volume at the context's place.
 *
 *   out   out  on the grid of `like`, with a copy of its header and names; slope 1, inter 0, one
 *              frame. Its voxels are not set. On a GPU it has to be freed before the device is
 *              closed. It is overwritten, so it must hold nothing; empty again on failure
 *   like  in   its data may be NULL
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_EDEVICE.
 */
lob_status lob_volume_at(lob_volume *out, const lob_volume *like, lob_type type, int channels,
                         const lob_context *context, lob_error *error);

/*
 * lob_volume_adopt for voxels in memory of a device.
 *
 *   device  in  of which lob_device_alloc gave data, as results of a call are; NULL: malloc'ed
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_volume_adopt_at(lob_volume *out, const lob_volume *like, void **data, lob_type type,
                               int channels, lob_device *device);

/* An array on a device, or of malloc where that is NULL; NULL on failure. Returns LOB_OK,
 * LOB_ENOMEM or LOB_EDEVICE. */
lob_status lob_array_alloc(lob_device *device, void **array, int64_t bytes, lob_error *error);

/* Free an array of lob_device_alloc, or of malloc where the device is NULL. */
void lob_array_free(lob_device *device, void *data);

/*
 * A copy of a volume, with its voxels at another place.
 *
 *   out  out  as of lob_volume_at, with the slope and inter of `in`
 *   to   in   ordinary memory or the context's place, and so is in->place
 *
 * Copies from and to a device are in order with its other work, and take their turn on it as a
 * backend's calls do (lob_device_begin). Returns LOB_OK, LOB_ENOMEM or
 * LOB_EDEVICE (another GPU than the context's, or it failed).
 */
lob_status lob_volume_move(lob_volume *out, const lob_volume *in, lob_place to,
                           const lob_context *context, lob_error *error);

/*
 * Refuse arrays that the CPU cannot read: place and, unless NULL, the volumes' places have to be
 * ordinary memory. Returns LOB_OK or LOB_EARG.
 */
lob_status lob_check_memory(lob_place place, const lob_volume *a, const lob_volume *b,
                            lob_error *error);

LOB_END_DECLS

#endif
