/*
 * Components of volumes that memory does not hold: a few planes at a time, over any backend.
 *
 * The first pass numbers each slab of planes with the backend's own function, joins the numbers
 * across the seams and adds up sizes and regions. Then it is known which components are kept and
 * what their labels are, and a second pass numbers each slab again and writes it. Labels, table and
 * counts are those of the volume in one piece.
 */
#ifndef LOB_COMPONENTS_STREAM_H
#define LOB_COMPONENTS_STREAM_H

#include "kernels/components/components.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where planes come from and go to. What a function returns other than LOB_OK ends the call. */
typedef struct {
    /*
     * Give planes z .. z + planes - 1 of image, mask and intensities as volumes of that many
     * planes. They stay the caller's and need only last until the next call. Planes come in rising
     * order, from 0 on once for each pass; intensities once more before, to find their range.
     */
    lob_status (*read)(void *user, lob_components_input *slab, int64_t z, int64_t planes,
                       lob_error *error);

    /* What is going to be written: the result without labels, and the largest of these. Called
     * once, before the first write. It may lower the context's max_memory by what it takes, which
     * the slabs that follow have to do with. May be NULL. */
    lob_status (*begin)(void *user, const lob_components_output *result, int64_t largest,
                        lob_error *error);

    /* Take planes of labels, which last until this returns. In rising order, each once. */
    lob_status (*write)(void *user, const void *labels, lob_type type, int64_t z, int64_t planes,
                        lob_error *error);
    void *user;
} lob_components_stream;

/* A backend's slot. */
typedef lob_status lob_components_function(lob_components_output *result,
                                           const lob_components_input *in,
                                           const lob_components_options *options,
                                           const lob_context *context, lob_error *error);

/*
 * Number the components of a volume slab by slab.
 *
 *   result   out  as lob_components_cpu leaves it, but labels stays NULL; working_bytes counts
 *                 tables and a slab's labels, not the slab that the caller reads. With LOB_ENOMEM
 *                 it is what tables need, as far as was found out: no slab is thin enough for less
 *   dims     in   of the whole volume
 *   planes   in   a slab's, from 1; see lob_components_stream_planes
 *   options  in   all but fill_holes, which is LOB_EARG: holes need the whole volume
 *   number   in   numbers a slab
 *   context  in   max_memory bounds tables, the result's too, a slab's labels and the work on it
 *
 * What is held beside a slab is two planes of the image, and 4 bytes a component of a slab, 8 more
 * for its size and 8 for its value, a region each and the sums of its intensities, as far as these
 * are asked for; regions that are kept once more, where size is the order; and in between 4 bytes
 * for each component of the whole, with what choosing among them takes. Returns as
 * lob_components_cpu, LOB_EDATA (too many components in slabs; planes that change between passes)
 * or what a function of the stream returned.
 */
lob_status lob_components_streamed(lob_components_output *result,
                                   const lob_components_stream *stream, lob_dims dims,
                                   int64_t planes, const lob_components_options *options,
                                   lob_components_function *number, const lob_context *context,
                                   lob_error *error);

/*
 * How many planes a slab may have for so much memory, in which the slab itself is counted: at
 * least 1, at most all.
 *
 *   voxel_bytes  in  that are read for a voxel: all channels, mask, intensities
 *   memory       in  bytes; 0: no limit
 */
int64_t lob_components_stream_planes(lob_dims dims, int64_t voxel_bytes, int64_t memory);

#ifdef __cplusplus
}
#endif

#endif
