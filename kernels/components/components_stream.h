/*
 * Connected components of volumes that memory does not hold: a few z-planes at a time, with any
 * backend. Labels, regions and counts are those of lob_components_cpu on the whole volume.
 *
 * The volume is read twice. In the first pass the backend tells of the pieces of slabs of planes,
 * which are joined across the seams between slabs, as their sizes and regions are added up. That
 * decides which components remain and what their labels are. In the second pass it finds the pieces
 * of each slab again and paints them with these labels.
 *
 * With a team each rank calls this with the same dims and options, and reads and writes its own
 * planes (lob_team_planes), of which there is at least one. A rank that has them as one slab reads
 * them once, and paints them once when all have joined theirs; where that is so of all, and they
 * are on GPUs, these join slabs among themselves. A failure of one rank is that of all, as team.h
 * has it; in the second pass they do not wait for each other, so agree when it is over.
 */
#ifndef LOB_COMPONENTS_STREAM_H
#define LOB_COMPONENTS_STREAM_H

#include "kernels/components/components.h"

LOB_BEGIN_DECLS

typedef struct lob_team lob_team; /* see kernels/team/team.h, which is not installed */

/* The caller's functions that read and write planes. Any return value but LOB_OK ends the call. */
typedef struct {
    /*
     * Set slab to planes z .. z + planes - 1 of image, mask and intensities, as volumes of that
     * many planes. They stay the caller's and must last until the next call. Each pass reads from
     * the first plane on in rising order; with intensities there is one more pass before, for their
     * range. They are in ordinary memory, or all on the GPU of the context where each rank has its
     * planes as one slab, no regions of intensities and no keep_values.
     */
    lob_status (*read)(void *user, lob_components_input *slab, int64_t z, int64_t planes,
                       lob_error *error);

    /*
     * Receive the output without labels, and the largest label that will be written; of a team,
     * rank 0 alone has regions and values. Called once, before the first write. It may lower
     * max_memory of the context by the memory that it takes; the slabs that follow keep to the new
     * limit, and what is held by then that is beyond it ends with LOB_ENOMEM. May be NULL.
     */
    lob_status (*begin)(void *user, const lob_components_output *out, int64_t largest,
                        lob_error *error);

    /* Receive labels of some planes, at the slab's place, which last until this returns. In rising
     * order, each once. */
    lob_status (*write)(void *user, const void *labels, lob_type type, int64_t z, int64_t planes,
                        lob_error *error);
    void *user;
    lob_team *team; /* NULL: one rank has all planes */
} lob_components_stream;

/* The type of the field components of lob_backend (kernels/backends.h). */
typedef lob_status lob_components_function(lob_components_output *out,
                                           const lob_components_input *in,
                                           const lob_components_options *options,
                                           const lob_context *context, lob_error *error);

/*
 * Label the components of a volume slab by slab.
 *
 *   out      out  as lob_components_cpu leaves it, except that labels is NULL. working_bytes counts
 *                 tables and a slab's labels, not the slab that the caller reads. After LOB_ENOMEM
 *                 it is the size of the tables as far as known: thinner slabs do not need less
 *   stream   in   reads and writes planes
 *   dims     in   of the whole volume
 *   planes   in   of a slab, >= 1; see lob_components_stream_planes. Ranks may differ in it
 *   options  in   all but fill_holes, which is LOB_EARG when planes < nz or in a team: it needs the
 *                 whole volume
 *   label    in   the backend's function, which labels a slab
 *   context  in   max_memory bounds the tables, those of the output included, a slab's labels and
 *                 the work on a slab
 *
 * Ranks on GPUs have a lob_device each. Besides a slab, the call holds 16 bytes per voxel of a
 * plane, on a GPU up to 84 where neighbours are 26, and, unless options->join is LOB_JOIN_ANY, two
 * planes of the image. For each component of a slab it holds 4 bytes, 8 more where sizes decide, 8
 * more with keep_values, and with regions a lob_region and, with intensities, a lob_region_values;
 * for each component of the whole volume 4 bytes, 8 more where they are ordered by size, and with
 * LOB_ORDER_SIZE its region once more.
 *
 * Returns as lob_components_cpu does, LOB_EDATA (too many components in slabs; planes that change
 * between passes) or what a function of the stream returned.
 */
lob_status lob_components_streamed(lob_components_output *out, const lob_components_stream *stream,
                                   lob_dims dims, int64_t planes,
                                   const lob_components_options *options,
                                   lob_components_function *label, const lob_context *context,
                                   lob_error *error);

/*
 * How many planes a slab may have within this much memory, the slab that the caller reads included:
 * at least 1, at most nz.
 *
 *   voxel_bytes  in  bytes that are read per voxel: all channels, mask and intensities
 *   memory       in  bytes; 0: no limit
 */
int64_t lob_components_stream_planes(lob_dims dims, int64_t voxel_bytes, int64_t memory);

LOB_END_DECLS

#endif
