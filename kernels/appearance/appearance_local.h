/*
 * Scores that change from place to place: tables at nodes, learnt from strokes nearby. Made on the
 * host for both backends, which only look scores up. This header is not installed.
 */
#ifndef LOB_APPEARANCE_LOCAL_H
#define LOB_APPEARANCE_LOCAL_H

#include "kernels/appearance/appearance_plan.h"

LOB_BEGIN_DECLS

/* Strokes that are learnt from: of many of a label in a slice those at even steps. */
typedef struct {
    int64_t count;
    int64_t *voxel; /* of each stroke; by slice, then label, ascending */
    float *place;   /* 2 * count: mm along the axes of the slice */
    int16_t *bin;   /* channels * count, to be filled with lob_appearance_bin */
    int64_t *first; /* slices * labels + 1: where strokes of a label in a slice begin */
} lob_appearance_samples;

typedef struct {
    lob_appearance_local look; /* its arrays are those below */
    int64_t nodes[2], slices;  /* nodes along the axes of a slice */
    double apart[2];           /* mm from node to node */
    int64_t items;             /* of the table */
    int16_t *table;
    lob_appearance_between *between; /* nx + ny + nz */
    lob_appearance_samples samples;
} lob_appearance_nodes;

/*
 * Choose nodes and strokes.
 *
 *   seeds  in  the plan's, in ordinary memory
 *
 * Free it, also after a failure. Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_appearance_nodes_make(lob_appearance_nodes *nodes, const lob_appearance_plan *plan,
                                     const void *seeds, lob_budget *budget, lob_error *error);
void lob_appearance_nodes_free(lob_appearance_nodes *nodes, const lob_appearance_plan *plan,
                               lob_budget *budget);

/* Fill the table from the samples' bins and the plan's table. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_appearance_nodes_learn(lob_appearance_nodes *nodes, const lob_appearance_plan *plan,
                                      int threads, lob_error *error);

LOB_END_DECLS

#endif
