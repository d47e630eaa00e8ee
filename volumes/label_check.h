/* Is this a volume of labels? Files are swapped easily, and a scan has whole numbers too. */
#ifndef LOB_LABEL_CHECK_H
#define LOB_LABEL_CHECK_H

#include "volumes/labels.h"
#include "volumes/status.h"

LOB_BEGIN_DECLS

/* What is counted of labels: voxels with one, neighbours that both have one, and of these those
 * that have the same. */
typedef struct {
    int64_t labelled, pairs, alike;
} lob_label_neighbours;

/* Count them; with so few labels as no scan has, no neighbours. Voxels are those of the set, which
 * may be that of a larger volume; set NULL: neighbours and voxels of any volume. Returns LOB_OK or
 * LOB_ENOMEM. */
lob_status lob_labels_look(lob_label_neighbours *n, const lob_volume *labels,
                           const lob_label_set *set);

/* lob_seeds_check from what was counted of a volume of so many voxels, of all its parts. */
lob_status lob_seeds_judge(const lob_label_neighbours *n, int64_t voxels, int32_t count,
                           lob_error *error);

/*
 * Refuse what cannot be meant as seeds: a scan, or a volume that leaves nothing to grow. Both come
 * of an image and its seeds given in the wrong order.
 *
 *   seeds  in  LOB_U8, LOB_I16 or LOB_I32, one channel: dense, as lob_labels_dense leaves them
 *   set    in  what it found
 *
 * Returns LOB_OK, LOB_EDATA (with LOB_HINT_TRUST_SEEDS) or LOB_ENOMEM.
 */
lob_status lob_seeds_check(const lob_volume *seeds, const lob_label_set *set, lob_error *error);

/*
 * Refuse labels that look like a scan where the image looks like labels: they were given in the
 * wrong order. Small regions, of which every second neighbour is another, pass with any scan.
 *
 *   labels, set  in  as above
 *   image        in  of any type; its first channel is looked at
 *
 * Returns LOB_OK, LOB_EDATA or LOB_ENOMEM.
 */
lob_status lob_labels_check(const lob_volume *labels, const lob_label_set *set,
                            const lob_volume *image, lob_error *error);

/* The same from what was counted of both, of all their parts. */
lob_status lob_labels_judge(const lob_label_neighbours *labels, const lob_label_neighbours *image,
                            int32_t count, lob_error *error);

/*
 * Does a volume with so many labels look like a scan: hundreds of values, which change from voxel
 * to voxel? Sparse ones, such as points, have too few neighbours to say so.
 *
 *   labels  in  of any type; values are whole, and 0 is no label
 *   count   in  labels that occur
 *   vary    out
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_labels_vary(bool *vary, const lob_volume *labels, int32_t count);

LOB_END_DECLS

#endif
