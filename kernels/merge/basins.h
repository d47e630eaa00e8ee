/*
 * Joining the basins of a flood that no wall parts, such as the pieces of an over-split cell.
 *
 * A basin is a label of a label volume; its bottom is the lowest value of the image inside. The
 * saddle of two basins that share voxel faces is the lowest of the higher values of these faces'
 * voxel pairs: where water that rises in one would first run over into the other. How far the
 * saddle lies above the higher of the two bottoms is the depth of that basin against the other
 * (its dynamics; Grimaud, "A new measure of contrast: the dynamics", SPIE 1769, 1992).
 *
 * Saddles are looked at from the lowest to the highest, of equal ones by label. Two basins, each
 * with all that it was joined to before, are joined where
 *
 *     depth < max(height, share * (level - the higher bottom))
 *
 * so that a wall has to be as high as `height`, and as `share` of what lies between the bottom and
 * the level of full walls. With share 0 these are the basins whose bottoms maxima.h finds on the
 * image turned upside down.
 */
#ifndef LOB_BASINS_H
#define LOB_BASINS_H

#include "kernels/regions/contacts.h"

LOB_BEGIN_DECLS

typedef struct {
    double height; /* image units, >= 0 */
    double share;  /* 0..1 */
    double level;  /* image units, finite; not read with share 0 */
} lob_basins_options;

typedef struct {
    int64_t basins;        /* labels that occur */
    int64_t left;          /* of these, after joining */
    int64_t contacts;      /* pairs of basins that share faces */
    int64_t working_bytes; /* peak of working memory, once lob_contacts has returned */
} lob_basins_stats;

/*
 * Find what label every label becomes.
 *
 *   to       out  grid->count + 1: the smallest label of those that a label is joined with; itself
 *                 where it is not joined, and 0 for 0
 *   stats    out  may be NULL
 *   grid     in   labels, where the image is
 *   image    in   on the grid, of any type, one channel; voxels that are NaN or infinite are
 *                 neither bottoms nor parts of saddles
 *   options  in   see above
 *   context  in   threads, and max_memory as a limit of working memory
 *
 * Working memory is first that of lob_contacts; then sizeof(lob_contact) + 32 bytes per contact,
 * and for each of at most 64 threads 8 bytes per label and per contact and 16 * nx. Fewer threads
 * work where beyond the first they would take more than a byte per voxel, or the limit asks for it.
 *
 * Same bytes on every backend and thread count. Returns LOB_OK, LOB_EARG (an option outside its
 * range, several channels), LOB_EDATA (dims that differ), LOB_ENOMEM or LOB_ECANCEL; on error `to`
 * is unspecified.
 */
lob_status lob_basins_cpu(int32_t *to, lob_basins_stats *stats, const lob_label_grid *grid,
                          const lob_volume *image, const lob_basins_options *options,
                          const lob_context *context, lob_error *error);

LOB_END_DECLS

#endif
