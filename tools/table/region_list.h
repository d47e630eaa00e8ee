/* Regions that are measured slab by slab, by one rank or several: sums of each label, added up. */
#ifndef LOB_REGION_LIST_H
#define LOB_REGION_LIST_H

#include "kernels/regions/shape_slabs.h"
#include "tools/table/region_table.h"
#include "volumes/labels.h"

/* What is known of a label. A row of a list that counts nothing ends before the counts. */
typedef struct {
    int32_t label;
    lob_region region;
    lob_region_values values;
    lob_region_counts counts;
} lob_region_sums;

/* In rising order of labels. All zero but needs: none yet. */
typedef struct {
    int needs;  /* LOB_COLUMN_...: what else is counted, all but percentiles */
    char *rows; /* malloc'ed, as what follows; see lob_region_list_at */
    int64_t count;
    lob_hull_corner *corners;
    int64_t corner_count, corners_joined; /* the first of them are sorted, none twice */
    int64_t *pairs;                       /* of labels that share a face: the lower one times 2^32
                                             and the other */
    int64_t pair_count, pairs_joined;
} lob_region_list;

/* Bytes of a row of a list of such needs. */
int64_t lob_region_row_bytes(int needs);
lob_region_sums *lob_region_list_at(const lob_region_list *list, int64_t i);

/*
 * Add the regions of a slab.
 *
 *   labels  in  without gaps, and what they are called; of the slab's planes and, where anything is
 *               counted, of the plane before the first unless it is the volume's
 *   image   in  of the slab's planes, one channel
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

/* A rank's labels without gaps, under the plane before them where anything is counted, and what
 * they are called. */
typedef struct {
    lob_volume labels;
    lob_label_set set;
    int64_t bytes; /* that the session counts */
} lob_region_stack;

/*
 * Stack labels of the rank's planes, to measure any number of images by; all ranks do. Whatever it
 * returned, call lob_region_stack_free in the end.
 *
 *   counted  in  a list needs more than sums
 */
lob_status lob_region_stack_make(lob_session *s, lob_region_stack *out, const lob_volume *labels,
                                 bool counted, const char *path);
void lob_region_stack_free(lob_session *s, lob_region_stack *stack);

/*
 * Measure the regions of all ranks: each adds those of its planes, rank 0 gathers them.
 *
 *   list   in/out  empty, but for what it needs
 *   fine   out     of all ranks' planes
 *   image  in      of the rank's planes; z is the first
 */
lob_status lob_region_list_of_team(lob_session *s, lob_region_list *list, lob_fine_levels *fine,
                                   const lob_region_stack *stack, const lob_volume *image,
                                   int64_t z, const char *path, const char *labels_path);

/* The list as the arrays of a table of a grid and, unless they are 1.., labels, for
 * lob_region_table_free. Returns LOB_OK, LOB_EDATA or LOB_ENOMEM. */
lob_status lob_region_list_fill(lob_session *s, lob_region_table *table,
                                const lob_region_list *list, const lob_fine_levels *fine,
                                const char *path);

void lob_region_list_free(lob_session *s, lob_region_list *list);

#endif
