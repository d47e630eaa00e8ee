/* Voxels in another type, with their values. */
#ifndef LOB_TYPE_CHANGE_H
#define LOB_TYPE_CHANGE_H

#include "tools/session/session.h"

typedef struct {
    const char *path; /* of the image, for messages */
    lob_type type;
    bool lossy;            /* what the type cannot hold is rounded and clamped, not refused */
    int64_t lost, rounded; /* voxels that were changed so, and those that have fewer digits */
} lob_type_change;

/*
 * Change voxels; their values (slope and inter applied) are kept.
 *
 *   out  out  as many voxels of the type
 *   z    in   the plane of the file where the volume begins
 *
 * Returns LOB_OK, or LOB_EDATA with the first voxel that the type cannot hold.
 */
lob_status lob_type_change_voxels(lob_session *s, lob_type_change *c, const lob_volume *volume,
                                  int64_t z, void *out);

/* Report what became of values that the type cannot hold as they are. */
void lob_type_change_report(lob_session *s, const lob_type_change *c);

#endif
