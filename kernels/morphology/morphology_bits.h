/*
 * Which voxels have a ball of one label around them: the erosion of labels, in bits.
 *
 * The voxels of a ball are joined by faces inside the ball. So its labels are equal if and only if
 * no two of its voxels that share a face differ. In bits, one for each voxel:
 *
 *     edges along an axis   does the voxel differ from the next one?
 *     runs of reach h       do voxels x-h .. x+h of the row differ?
 *
 * A ball is a set of runs, one for each row (y, z) that it meets. A voxel sees a change if one of
 * these does, or an edge along y between rows of a plane of the ball, or one along z between the
 * middles of its planes: bits of whole rows, united for 64 voxels at a time. The time is the same
 * for all labels. It grows with the square of the radius in voxels.
 */
#ifndef LOB_MORPHOLOGY_BITS_H
#define LOB_MORPHOLOGY_BITS_H

#include "kernels/budget.h"
#include "kernels/context.h"
#include "kernels/distance/distance_plan.h"

typedef struct {
    uint64_t *seen; /* a bit for each voxel, in rows of `words`: does its ball hold two labels? */
    int64_t words;  /* of a row of voxels */
    int64_t volume; /* words of all rows */
} lob_ball_bits;

/* Is the ball of the plan's max small enough, and are rows long enough, for bits to pay? */
bool lob_ball_bits_pay(const lob_distance_plan *plan);

/*
 * Find the voxels whose ball, of radius plan->max, holds another label than theirs. What lies
 * outside of the volume counts as the same label.
 *
 *   bits         out  to be freed by lob_ball_bits_free, after a failure too
 *   labels       in   plan->dims, of label_bytes each
 *   plan         in   of LOB_FIND_OTHER; lob_ball_bits_pay
 *   budget       in   of the caller; takes at most 8 bytes a voxel
 *
 * Returns LOB_OK, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_ball_bits_find(lob_ball_bits *bits, const void *labels, int label_bytes,
                              const lob_distance_plan *plan, lob_budget *budget,
                              const lob_context *context, lob_error *error);

void lob_ball_bits_free(lob_ball_bits *bits, lob_budget *budget);

#endif
