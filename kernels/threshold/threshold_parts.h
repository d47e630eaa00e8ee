/*
 * Thresholds of an image in parts: one that memory does not hold, or that several ranks share. They
 * are those of lob_threshold_cpu on the whole image.
 */
#ifndef LOB_THRESHOLD_PARTS_H
#define LOB_THRESHOLD_PARTS_H

#include "kernels/team/team.h"
#include "kernels/threshold/threshold.h"

/* What is done with a part. */
typedef lob_status lob_threshold_visit(void *visitor, const lob_threshold_input *part);

typedef struct {
    /* Hand each part that this rank has to visit; every voxel is in one part of one rank. Returns
     * LOB_OK, what visit did, or another failure. */
    lob_status (*each)(void *user, lob_threshold_visit *visit, void *visitor);
    void *user;
    lob_team *team;          /* NULL: one rank has all parts */
    const lob_volume *image; /* of the whole image; its data is not read */
} lob_threshold_parts;

/*
 * Set the thresholds of stats: given ones at once, else from two passes over the parts (otsu) or
 * one for each 16 bits of a voxel (percentile). All ranks call it alike.
 *
 * Returns what lob_threshold_cpu does, and what each did.
 */
lob_status lob_threshold_of_parts(lob_threshold_stats *stats, const lob_threshold_parts *parts,
                                  const lob_threshold_options *options, const lob_context *context,
                                  lob_error *error);

#endif
