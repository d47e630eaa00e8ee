/*
 * The plan of a chain: which passes over the image its steps become, with what types, and how far
 * each looks around. Made once on the host; both backends run it. This header is not installed.
 */
#ifndef LOB_FILTER_PLAN_H
#define LOB_FILTER_PLAN_H

#include "kernels/filters/filter_step.h"
#include "kernels/filters/pointwise_voxel.h"

LOB_BEGIN_DECLS

/* The kinds of steps that look around, by lob_filter_kind. */
typedef struct {
    lob_filter_reach *reach;
    lob_filter_reach *align; /* a slab along an axis begins at a multiple of this; NULL: of 1 */
    lob_filter_run *run;
} lob_filter_kind_row;

enum { LOB_FILTER_KINDS = LOB_FILTER_DENOISE + 1 };

extern const lob_filter_kind_row lob_filter_kinds[LOB_FILTER_KINDS];

typedef enum {
    LOB_PASS_STEP,  /* a step that looks around */
    LOB_PASS_CLAMP, /* in the type that is read */
    LOB_PASS_FLOAT, /* values as float32, operations on them, then the type that is written */
    LOB_PASS_CAST   /* from type to type, through doubles, or exactly from 64-bit integers */
} lob_pass_kind;

typedef struct {
    lob_filter_kind kind; /* clamp and scale: map; gray; desaturate: amount */
    lob_filter_map map;
    float amount;
} lob_pass_op;

enum { LOB_PASS_OPS = 8 };

typedef struct {
    lob_pass_kind kind;
    int step;           /* index of the chain's step, of the first of several */
    bool statistic;     /* percentiles or the noise of what is read have to be found first */
    lob_filter_step of; /* of LOB_PASS_STEP */
    lob_filter_map before, after;
    bool finite; /* as in lob_filter_call */
    lob_pass_op op[LOB_PASS_OPS];
    int ops;
    double clamp[2];     /* of LOB_PASS_CLAMP */
    double slope, inter; /* of what is read */
    lob_type from, to;
    int from_channels, to_channels;
    int64_t reach[3]; /* voxels on each side; -1: the whole axis */
    int64_t align[3]; /* a slab begins at a multiple of this */
} lob_filter_pass;

typedef struct {
    lob_filter_options options;
    double spacing_mm[3];
    lob_dims dims;
    lob_filter_pass pass[LOB_FILTER_MAX_STEPS + 2];
    int passes;
} lob_filter_plan;

/* For tests, benchmarks and programs that know better; 0 or false: as it comes. */
typedef struct {
    int64_t slab; /* positions along the slabs' axis that a slab gives; -1: all in one */
    bool no_fuse; /* every step a pass of its own */
    void *into;   /* where the result comes to lie, also after a failure the caller's; NULL: it is
                     allocated */
} lob_filter_tuning;

/*
 * Check input and options, and make the plan.
 *
 *   unbounded  in  the image holds a value beyond LOB_FILTER_BOUND, or NaN: passes have to look
 *                  for values that are not finite
 *
 * Returns LOB_OK, LOB_EARG or LOB_EDATA.
 */
lob_status lob_filter_plan_make(lob_filter_plan *plan, const lob_filter_input *in,
                                const lob_filter_options *options, bool unbounded, bool no_fuse,
                                lob_error *error);

/* The largest absolute value of an image that counts as finite beforehand: means of such values
 * cannot overflow. */
#define LOB_FILTER_BOUND 0x1p100

/* Write into the output what the steps say of themselves: limits, percentages and noises that are
 * still to be found included. */
void lob_filter_note_steps(lob_filter_output *out, const lob_filter_input *in);

/* Passes from `first` on up to the next that needs a statistic: these need no more of the image
 * than what is near. Returns the index after the last. */
int lob_filter_plan_part(const lob_filter_plan *plan, int first);

/* What a pass is given; origin as in lob_filter_call. */
lob_filter_call lob_filter_plan_call(const lob_filter_plan *plan, const lob_filter_pass *pass,
                                     const uint8_t *mask, const int64_t origin[3]);

/* Let a pass clamp to the percentiles that were found. */
void lob_filter_plan_clamp(lob_filter_pass *pass, const double found[2]);

/* Bytes that a pass writes on so many voxels. */
int64_t lob_filter_pass_bytes(const lob_filter_pass *pass, int64_t voxels);

/*
 * Where passes first .. end - 1 write: the last into the output (0), the others into temporary
 * images (1, 2) or into the output too, as long as it is large enough and not read.
 *
 *   place  out  end - first numbers
 *   bytes  out  of the two temporary images
 */
void lob_filter_plan_places(const lob_filter_plan *plan, int first, int end, int64_t voxels,
                            int place[], int64_t bytes[2]);

LOB_END_DECLS

#endif
