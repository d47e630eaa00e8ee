/* Regions that are measured slab by slab, by one rank or several: sums of each label, added up. */
#ifndef LOB_REGION_LIST_H
#define LOB_REGION_LIST_H

#include "tools/table/region_table.h"
#include "volumes/labels.h"

/* What is known of a label. */
typedef struct {
    int32_t label;
    lob_region region;
    lob_region_values values;
} lob_region_sums;

/* In rising order of labels. All zero: none yet. */
typedef struct {
    lob_region_sums *row; /* malloc'ed */
    int64_t count;
} lob_region_list;

/*
 * Add the regions of a slab.
 *
 *   labels  in  of its planes, without gaps, and what they are called
 *   image   in  of the same planes, one channel
 *   fine    in  of the whole image
 *   z       in  where the slab begins
 *   path    in  of the image; labels_path: likewise
 *
 * Returns LOB_OK, LOB_EDATA, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_region_list_add(lob_session *s, lob_region_list *list, const lob_volume *labels,
                               const lob_label_set *set, const lob_volume *image,
                               const lob_fine_levels *fine, int64_t z, const char *path,
                               const char *labels_path);

/* Rank 0's list becomes that of all ranks, which all call it; the others' become empty. */
lob_status lob_region_list_gather(lob_session *s, lob_region_list *list, const char *path);

/* The list as the arrays of a table, for lob_region_table_free. Returns LOB_OK, LOB_EDATA or
 * LOB_ENOMEM. */
lob_status lob_region_list_fill(lob_session *s, lob_region_table *table,
                                const lob_region_list *list, const lob_fine_levels *fine,
                                const char *path);

#endif
