/*
 * What both backends share on the host: checked options, tables of scores from counts of bins, and
 * the outline's slices. This header is not installed.
 */
#ifndef LOB_APPEARANCE_PLAN_H
#define LOB_APPEARANCE_PLAN_H

#include "kernels/appearance/appearance.h"
#include "kernels/appearance/appearance_voxel.h"
#include "kernels/appearance/strokes.h"
#include "kernels/budget.h"
#include "kernels/distance/distance.h"
#include "kernels/filters/filters.h"

LOB_BEGIN_DECLS

/* A channel of a view. */
typedef struct {
    const lob_volume *volume;
    int channel;
    double share; /* of its scores: 1 / channels of the volume */
    lob_appearance_scale scale;
} lob_appearance_view;

typedef struct {
    const lob_appearance_input *in;
    const lob_appearance_options *options;
    lob_dims dims;
    int64_t voxels;
    double spacing[3];
    double border_mm; /* over which an outline is known */
    lob_appearance_blocks blocks;
    int channels; /* of all views */
    lob_appearance_view view[LOB_APPEARANCE_MAX_VIEWS];
    int wanted; /* labels but the background, ascending */
    int values; /* channels of the first view that follow them, 0: none */
    int32_t label[LOB_APPEARANCE_MAX_LABELS];
    int slots;       /* bins + 3 */
    int64_t *counts; /* channels * (labels + 1) * slots; label 0: the whole volume */
    int32_t *table;  /* channels * slots * wanted scores */
    double *exps;    /* LOB_APPEARANCE_EXPS */
} lob_appearance_plan;

/* Check input and options, and make a plan with counts 0, without the numbers of exps and of
 * the table; free it, also after a failure. Returns
 * LOB_OK, LOB_EARG or LOB_ENOMEM. */
lob_status lob_appearance_plan_make(lob_appearance_plan *plan, const lob_appearance_input *in,
                                    const lob_appearance_options *options, lob_error *error);
void lob_appearance_plan_free(lob_appearance_plan *plan);

/* The scale of a channel whose finite values under strokes lie in low..high; low > high: there are
 * none. */
lob_appearance_scale lob_appearance_scale_of(const lob_appearance_plan *plan, float low,
                                             float high);

static inline int64_t *lob_appearance_counts(const lob_appearance_plan *plan, int channel,
                                             int32_t label)
{
    return plan->counts + ((int64_t)channel * (plan->in->labels + 1) + label) * plan->slots;
}

/* Fill plan->exps, which takes as long as a GPU takes to count. */
void lob_appearance_find_exps(lob_appearance_plan *plan);

/* Fill plan->table from the counts. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_appearance_tables(lob_appearance_plan *plan, lob_error *error);

/* The Gaussian along the bins, cut at 4 sigma, of sum 1. Returns its radius. */
enum { LOB_APPEARANCE_KERNEL = 2 * 400 + 1 };
int lob_appearance_bin_kernel(double weight[LOB_APPEARANCE_KERNEL], double sigma);

/* Shares of n bins, smoothed by it, with half a voxel spread over all of them. */
void lob_appearance_bin_shares(double *share, const int64_t *counts, int n, const double *weight,
                               int radius);

/* Make a step a Gaussian of so many mm, along axes with more than one voxel. */
void lob_appearance_blur(lob_filter_step *step, lob_dims dims, const double spacing_mm[3],
                         double blur_mm);

/* What makes levels of shares; returns how many steps. */
enum { LOB_APPEARANCE_STEPS = 3 };
int lob_appearance_steps(lob_filter_step steps[LOB_APPEARANCE_STEPS], const lob_volume *grid,
                         double blur_mm);

/* ---- the reach of strokes ---- */

/* Distances as the numbers whose order is theirs; they are not negative. High halves are counted
 * first, then the low halves of those whose high half is the quantile's. */
enum { LOB_APPEARANCE_HALF = 65536 };

/* Of counts of halves: the half that holds the value of rank *rank, which becomes its rank among
 * those of this half. */
uint32_t lob_appearance_rank(const int64_t *counts, int64_t *rank);

/* The rank of the reach among n distances. */
int64_t lob_appearance_reach_rank(const lob_appearance_plan *plan, int64_t n);

/* The reach: the distance of a high and a low half, in mm, at least half a block and far_mm. */
float lob_appearance_reach(const lob_appearance_plan *plan, uint32_t high, uint32_t low);

/* What is asked of distance.h for a label's strokes; marks: uint8, of blocks, not 0 where they are.
 */
lob_distance_input lob_appearance_far_input(const lob_appearance_plan *plan, const void *marks);

/* ---- the outline ---- */

/* Slices of an outline. */
typedef struct {
    int axis;
    int64_t count;                /* slices of the stack; 0: the label has no outline */
    int64_t *slices;              /* of the volume */
    lob_dims dims;                /* of the stack */
    int64_t voxels;               /* of the stack */
    lob_appearance_place *places; /* one for each slice of the volume */
    lob_appearance_shape shape;   /* its arrays are not set */
} lob_appearance_stack;

/* Find the planes of a label across an axis. Free it, also after a failure. Returns LOB_OK or
 * LOB_ENOMEM. */
lob_status lob_appearance_stack_make(lob_appearance_stack *stack, const lob_appearance_plan *plan,
                                     const lob_strokes *strokes, int32_t label, int axis,
                                     lob_error *error);
void lob_appearance_stack_free(lob_appearance_stack *stack);

/* The same for a stack of an outline's slices, whose voxels are 1 inside. */
lob_distance_input lob_appearance_stack_input(const lob_appearance_stack *stack,
                                              const lob_appearance_plan *plan, const void *inside);

/* The voxel of the volume that voxel x, y, z of the stack is, when it lies in this slice of the
 * volume. */
LOB_BOTH int64_t lob_appearance_from_slice(lob_dims dims, int axis, int64_t slice, int64_t x,
                                           int64_t y, int64_t z)
{
    if (axis == 0) x = slice;
    if (axis == 1) y = slice;
    if (axis == 2) z = slice;
    return (z * dims.ny + y) * dims.nx + x;
}

LOB_END_DECLS

#endif
