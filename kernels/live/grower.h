/*
 * GrowCut that follows a brush: seeds are drawn and erased, and after each change labels are those
 * of lob_growcut from the seeds that are there, the same bytes, whatever was there before.
 *
 * On the CPU the growth goes on from where it was: what costs a change is what it moves. Keys and
 * levels stay in memory meanwhile, about 9 bytes a voxel with one channel and 32-bit keys. Floods,
 * a number of rounds, seeds with strengths, tie zones, and everything on a GPU are grown afresh
 * each time.
 */
#ifndef LOB_GROWER_H
#define LOB_GROWER_H

#include "kernels/backends.h"
#include "volumes/crop.h"

LOB_BEGIN_DECLS

/* Used by one thread at a time. */
typedef struct lob_grower lob_grower;

/*
 * Open a grower.
 *
 *   grower   out  to be closed; NULL on failure
 *   backend  in   computes
 *   out      in   arrays that every growth writes to; they stay the caller's, who only reads them,
 *                 until the grower is closed
 *   in       in   image, mask and strengths stay as they are until then. Of the seeds the grid and
 *                 the type are taken, their voxels are not read; in->labels is the largest label
 *                 that will come
 *   options  in   as for lob_growcut
 *
 * Returns LOB_OK, or as lob_growcut_cpu: LOB_EARG, LOB_EDATA, LOB_ENOMEM.
 */
lob_status lob_grower_open(lob_grower **grower, const lob_backend *backend,
                           const lob_growcut_output *out, const lob_growcut_input *in,
                           const lob_growcut_options *options, lob_error *error);

/*
 * Grow from the seeds that are there now.
 *
 *   changed  out  where labels and strengths may have changed since the last growth that ended with
 *                 LOB_OK: a box around the tiles that were visited. Sizes of 0: nowhere. May be
 *                 NULL
 *   stats    out  as of a fresh run, but for key_bits, which stay at 64 once that was needed, and
 *                 working_bytes. May be NULL
 *   seeds    in   all seeds, of the grid and type of lob_grower_open; not kept
 *   box      in   outside of it no seed has changed since the last growth. NULL: the whole grid
 *   context  in   threads, the limit of working memory, progress; the first growth's threads and
 *                 memory hold for all
 *
 * Returns as lob_growcut_cpu; LOB_EDATA too where a seed in ordinary memory, in
 * the box, is below 0 or above the largest label.
 * After an error the labels are unspecified, and the next call grows from the seeds that it is
 * given; the boxes of calls that failed count as changed.
 */
lob_status lob_grower_grow(lob_grower *grower, lob_box *changed, lob_growcut_stats *stats,
                           const lob_volume *seeds, const lob_box *box, const lob_context *context,
                           lob_error *error);

/* NULL is fine. */
void lob_grower_close(lob_grower *grower);

LOB_END_DECLS

#endif
