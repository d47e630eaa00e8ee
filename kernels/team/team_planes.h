/*
 * What the ranks of a team have of each other where each holds some planes of a volume
 * (lob_team_planes): the planes around its own, and what rank 0 has worked out for all. Arrays are
 * in ordinary memory. All ranks call these alike, as team.h has it.
 */
#ifndef LOB_TEAM_PLANES_H
#define LOB_TEAM_PLANES_H

#include "kernels/team/team.h"

/* A rank's planes first .. end - 1 of the volume, and those around it from .. to - 1. */
typedef struct {
    int64_t first, end, from, to;
} lob_team_reach;

/*
 * How far a rank reaches.
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

/* Rank 0's bytes to all, as many as each asks for. Returns as lob_team_fetch. */
lob_status lob_team_tell(void *data, int64_t bytes, lob_team *team, lob_error *error);

#endif
