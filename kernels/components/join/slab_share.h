/* How a backend tells of the pieces of a slab before it paints them, and hears their labels. */
#ifndef LOB_SLAB_SHARE_H
#define LOB_SLAB_SHARE_H

#include "kernels/components/components.h"
#include "kernels/team/team.h"

/* The pieces of a slab, which is joined but not yet painted. They count from 1 in raster order.
 * Arrays are malloc'ed, and the backend's; voxels, value, regions and values are NULL after settle
 * where the table of all pieces has taken them over. */
typedef struct {
    int64_t found, foreground, not_finite; /* as in lob_components_output */
    int64_t *voxels;                       /* found; NULL where sizes do not decide */
    /* joined across the seam behind the slab: a piece of it, and one of the next rank's slab; any
     * pair may be there several times */
    uint32_t (*pairs)[2];
    int64_t pair_count;
    int64_t held; /* bytes that the backend holds meanwhile, with these arrays */

    /* Of the CPU: nx*ny, the pieces of its first and last plane, in place of pairs; NULL where
     * planes are not joined. The rest has an element for each piece, or is NULL where the options
     * do not need it. */
    const int32_t *first_plane, *last_plane;
    double *value;
    lob_region *regions; /* in the slab */
    lob_region_values *values;
} lob_slab_found;

/* Of lob_components_input: the backend calls settle once, and paints what that says. */
typedef struct lob_components_share {
    lob_team *team;              /* for the letters of pairs */
    const lob_fine_levels *fine; /* of the whole volume's intensities */
    bool known; /* labels are: of what is found, settle asks for the numbers of pieces and voxels */

    /*
     *   label  out  found: of each piece, 0: it is background; as long as the call lasts
     *   type   out  of the labels; LOB_TYPES, to the CPU: nothing is painted
     */
    lob_status (*settle)(void *user, const uint32_t **label, lob_type *type, lob_slab_found *found,
                         lob_error *error);
    void *user;
} lob_components_share;

#endif
