/*
 * Slab pieces: the components of slabs of planes that were labelled one by one, joined across the
 * seams between slabs. components_stream.c labels the slabs; memory need not hold the volume.
 *
 * A piece is the part of a component that lies in one slab and is connected there. Pieces are
 * numbered from 0 through all slabs, in raster order inside a slab. Call lob_slab_pieces_add for
 * each slab in rising order, then lob_slab_pieces_select, which turns pieces into labels.
 *
 * In a team each rank has a table of the pieces of its own slabs. lob_slab_pieces_select then joins
 * it to that of the next rank, through that one's first plane, and rank 0 gathers all tables: it
 * holds what one rank alone would.
 */
#ifndef LOB_SLAB_PIECES_H
#define LOB_SLAB_PIECES_H

#include "kernels/budget.h"
#include "kernels/components/components.h"
#include "kernels/components/components_voxel.h"
#include "kernels/components/join/slab_share.h"

typedef struct {
    /* Set by the caller; the rest is 0 before. */
    const lob_components_options *options;
    lob_components_output *out; /* fine is set where there are intensities */
    lob_dims dims;              /* of the whole volume */
    int64_t first_z;            /* where this rank's slabs begin */
    lob_team *team;             /* each rank of which has a plane; or NULL */
    bool intensities;           /* regions get values too */
    lob_budget *budget;
    lob_error *error;

    int64_t count, capacity;
    uint32_t *parent; /* at most the piece itself; after lob_slab_pieces_select its label or 0 */
    int64_t *voxels;  /* these four: NULL where the options do not need them */
    double *value;
    lob_region *regions;
    lob_region_values *values;
    int64_t needed; /* bytes of tables needed so far, however thin the slabs are */

    /* The seam: the last plane of the slab before, and the first plane of this slab. */
    lob_volume seam; /* two planes; no data where foreground alone decides */
    lob_component_rule rule;
    uint32_t *last_plane; /* nx*ny: piece + 1 in the slab before; 0: background */
    uint64_t *joined;     /* bits of a row: which voxels are joined across the seam */

    int32_t *first_face; /* of this rank's first plane, for the rank before: its labels, and behind
                            them its values if seam has data */

    const lob_slab_found *found; /* of a slab with pairs; NULL: none */
} lob_slab_pieces;

/*
 * Add a slab's pieces with their sizes, values and regions, and join them to the slab before. The
 * first arrays become the table's: NULL is left, and held is less by them.
 *
 *   found  in,out  its pairs last until lob_slab_pieces_select returns
 *   image  in      of the slab; values are looked at where found has faces
 *   z      in      the slab's first plane in the volume
 *
 * Returns LOB_OK, LOB_EDATA (more pieces than 32 bits number) or LOB_ENOMEM.
 */
lob_status lob_slab_pieces_add(lob_slab_pieces *pieces, lob_slab_found *found,
                               const lob_volume *image, int64_t z);

/*
 * Merge pieces into components, select these by size and number them. Sets found, count and type
 * of the output, adds up its foreground and not_finite over ranks, and sets at rank 0 its regions
 * and values, and parent to the label of each piece.
 *
 *   largest  out  the largest label
 *
 * Returns LOB_OK, LOB_EDATA or LOB_ENOMEM.
 */
lob_status lob_slab_pieces_select(lob_slab_pieces *pieces, int64_t *largest);

void lob_slab_pieces_free(lob_slab_pieces *pieces);

#endif
