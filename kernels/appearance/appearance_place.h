/*
 * What labels gain by where a voxel lies, on the CPU: by the distance of their strokes, or by their
 * outlines. Row by row, so that it need not be held for every voxel. This header is not installed.
 */
#ifndef LOB_APPEARANCE_PLACE_H
#define LOB_APPEARANCE_PLACE_H

#include "kernels/appearance/appearance_plan.h"

LOB_BEGIN_DECLS

enum { LOB_APPEARANCE_ROW = 1024 }; /* voxels at most that are worked on at once */

typedef struct {
    const lob_appearance_plan *plan;
    const lob_context *context;
    lob_budget *budget;
    int16_t *lost;                     /* wanted * blocks, or NULL: nothing */
    lob_appearance_stack (*stacks)[3]; /* of the wanted labels by axis, or NULL: no outline */
    float *signed_mm[LOB_APPEARANCE_MAX_LABELS][3]; /* of the stacks */
} lob_appearance_places;

/*
 * Find the distances. Free it, also after a failure.
 *
 *   stats    out  axis and slices
 *   context  in   threads, memory, progress, of which this takes 0.3..0.7
 *
 * Returns LOB_OK, LOB_EDATA, LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_appearance_places_make(lob_appearance_places *places, lob_appearance_stats *stats,
                                      const lob_appearance_plan *plan, const lob_context *context,
                                      lob_budget *budget, lob_error *error);
void lob_appearance_places_free(lob_appearance_places *places);

/* What a wanted label gains at voxels first..first + n - 1. */
void lob_appearance_gains(int32_t *gain, const lob_appearance_places *places, int k, int64_t first,
                          int64_t n);

/* Labels of a row; false: there are none. */
bool lob_appearance_load_seeds(int32_t *seed, const lob_appearance_input *in, int64_t first,
                               int64_t n);

LOB_END_DECLS

#endif
