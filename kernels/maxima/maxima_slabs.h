/*
 * Maxima of a volume that the ranks of a team share, each with a slab of its planes: those of
 * lob_maxima_cpu on the whole volume, on the CPU.
 *
 * A voxel is looked at with its neighbours, and a plateau's also with theirs: so a rank has two
 * planes more on each side, where the volume goes on. Plateaus are joined over seams as components
 * are. Rank 0 has the list of all maxima, takes out what is too near, and tells the numbers. Where
 * heights are asked for it tells the list too, and ranks look for what is higher, each in its own
 * planes, and go on where those beside them have come to a seam.
 */
#ifndef LOB_MAXIMA_SLABS_H
#define LOB_MAXIMA_SLABS_H

#include "kernels/maxima/maxima.h"
#include "kernels/team/team.h"

enum { LOB_MAXIMA_HALO = 2 }; /* planes */

/* A rank's part. */
typedef struct {
    lob_team *team; /* NULL: one rank has all */
    int64_t planes; /* of the whole volume; the rank has its own (lob_team_planes), at least one */
    int64_t before; /* planes of image and mask before these */
} lob_maxima_slab;

/*
 * Find the maxima. All ranks call it alike.
 *
 *   out      out  labels of the rank's own planes; the list of maxima in rank 0 alone
 *   in       in   image and mask with LOB_MAXIMA_HALO planes around the rank's own
 *   options  in   as lob_maxima_cpu
 *
 * Rank 0 holds some 80 bytes for each plateau of the volume, the others 5; with heights each rank
 * holds up to 85 more, rank 0 16 for each that shares a summit, and 16 to 32 for each voxel of
 * summits that cross a seam: once for all maxima of one value, again for each other that sees it
 * before it meets something higher. Returns as lob_maxima_cpu, with the lowest failing rank's
 * error.
 */
lob_status lob_maxima_slabs(lob_maxima_output *out, const lob_maxima_input *in,
                            const lob_maxima_options *options, const lob_maxima_slab *slab,
                            const lob_context *context, lob_error *error);

#endif
