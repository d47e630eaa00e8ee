/*
 * What the ranks of a team have of each other where each holds some planes of a volume
 * (lob_team_planes): the planes around its own. Arrays are in ordinary memory. All ranks call these
 * alike, as team.h has it.
 */
#ifndef LOB_TEAM_PLANES_H
#define LOB_TEAM_PLANES_H

#include "kernels/team/team.h"

/* Planes first .. end - 1 of a volume, which a rank has, and from .. to - 1, which it is to have.
 */
typedef struct {
    int64_t first, end, from, to;
} lob_team_reach;

/*
 * What each rank has, lob_team_planes, and how far it reaches.
 *
 *   planes  in  of the volume
 *   halo    in  planes on each side
 *   align   in  what is reached begins at a multiple of this
 */
lob_team_reach lob_team_reach_of(const lob_team *team, int rank, int64_t planes, int64_t halo,
                                 int64_t align);

/*
 * Put a rank's planes together with those around them.
 *
 *   to           out  planes from .. to - 1 of the reach
 *   own          in   planes first .. end - 1
 *   plane_bytes  in   of a plane
 *
 * Returns LOB_OK, LOB_ENOMEM or what lob_team_send does.
 */
lob_status lob_team_fetch(void *to, const void *own, int64_t planes, int64_t halo, int64_t align,
                          int64_t plane_bytes, lob_team *team, lob_error *error);

/*
 * The same for any planes, each of which one rank has.
 *
 *   to   out  planes from .. to - 1 of this rank's reach
 *   own  in   planes first .. end - 1 of it
 *   of   in   the reach of every rank
 */
lob_status lob_team_deal(void *to, const void *own, const lob_team_reach *of, int64_t plane_bytes,
                         lob_team *team, lob_error *error);

#endif
