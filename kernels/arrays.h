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
 * A copy of a volume, with its voxels at another place.
 *
 *   out  out  as of lob_volume_at, with the slope and inter of `in`
 *   to   in   ordinary memory or the context's place, and so is in->place
 *
 * Copies from and to a device are in order with its other work. Returns LOB_OK, LOB_ENOMEM or
 * LOB_EDEVICE (another GPU than the context's, or it failed).
 */
lob_status lob_volume_move(lob_volume *out, const lob_volume *in, lob_place to,
                           const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
