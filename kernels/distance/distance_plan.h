/* The plan of a distance transform, made once on the host: passes, whole weights, the unit. */
#ifndef LOB_DISTANCE_PLAN_H
#define LOB_DISTANCE_PLAN_H

#include "kernels/distance/distance.h"

LOB_BEGIN_DECLS

/* What a run finds: the least cost; also its label; the least cost to another label. */
typedef enum { LOB_FIND_COST, LOB_FIND_LABEL, LOB_FIND_OTHER } lob_distance_find;

/* A cost is a squared distance in units of the plan: a whole number. */
typedef struct {
    lob_distance_find find;
    lob_dims dims;
    double weight[3]; /* cost of one voxel along x, y, z; 0: voxels do not see each other there */
    double unit;      /* squared distance of cost 1 */
    double max;       /* a larger cost is none */
    bool narrow;      /* costs are int32_t, else double */
    bool squared, negative_inside;
    bool binary;   /* all labels count as one */
    uint32_t only; /* as in lob_distance_input */
    int axis[2];   /* of the passes after that along x: y, z or both */
    int passes;    /* 1 or 2 of them */
} lob_distance_plan;

/* Costs of voxels that see none; sums with what a line adds stay exact. */
#define LOB_NO_COST_NARROW (1 << 30)
#define LOB_NO_COST_WIDE   0x1p50

/* Check the input and options of a call. Returns LOB_OK, LOB_EARG or LOB_EDATA. */
lob_status lob_distance_check(const lob_distance_output *out, const lob_distance_input *in,
                              const lob_distance_options *options, lob_error *error);

/* The plan of checked input, for a run that finds this. */
lob_distance_plan lob_distance_plan_of(const lob_distance_input *in,
                                       const lob_distance_options *options, lob_distance_find find);

/*
 * The runs of a call, in order: of one or two. With nearest labels and distances of another kind
 * there are two, and the second one's distances stay.
 */
int lob_distance_runs(lob_distance_find runs[2], const lob_distance_output *out,
                      const lob_distance_options *options);

/* The step of the first search along lines of n voxels: a power of 4, at least 4. */
int32_t lob_distance_first_step(int64_t n);

LOB_END_DECLS

#endif
