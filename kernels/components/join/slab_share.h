/* How a backend tells of the pieces of a slab before it paints them, and hears their labels. */
#ifndef LOB_SLAB_SHARE_H
#define LOB_SLAB_SHARE_H

#include "kernels/components/components.h"
#include "kernels/team/team.h"

/* The pieces of a slab, which is joined but not yet painted. They count from 1 in raster order.
 * Arrays are malloc'ed, and the backend's: NULL where the options do not need them and, all but
 * faces and pairs, after settle where the table of all pieces has taken them over. */
typedef struct {
    int64_t found, foreground, not_finite; /* as in lob_components_output */
    int64_t held;              /* bytes that the backend holds meanwhile, with these arrays */
    int32_t *faces;            /* 2*nx*ny: its first and its last plane; 0: background. NULL too
                                  where planes are not joined, or there are pairs */
    int64_t *voxels;           /* found, as the rest; where sizes decide */
    double *value;             /* with keep_values */
    lob_region *regions;       /* in the slab */
    lob_region_values *values; /* of fine levels */
    /* joined across the seam behind the slab: a piece of it, and one of the next rank's slab; any
     * pair may be there several times */
    uint32_t (*pairs)[2];
    int64_t pair_count;
} lob_slab_found;

/* Of lob_components_input: the backend calls settle once, and paints what that says. */
typedef struct lob_components_share {
    lob_team *team;              /* of pairs; NULL: faces are asked for */
    const lob_fine_levels *fine; /* of the whole volume's intensities */
    bool known; /* labels are: of what is found, settle asks for the numbers of pieces and voxels */
    bool paints; /* else nothing is painted, and type is LOB_TYPES */

    /*
     *   label  out  found: of each piece, 0: it is background; as long as the call lasts
     *   type   out  of the labels
     */
    lob_status (*settle)(void *user, const uint32_t **label, lob_type *type, lob_slab_found *found,
                         lob_error *error);
    void *user;
} lob_components_share;

#endif
