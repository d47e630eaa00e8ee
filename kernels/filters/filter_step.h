/*
 * A step of a chain, as the steps themselves see it. filters_cpu.c and filters_cuda.cu run the
 * chain: they own all images and pass them from step to step; a step reads one and writes another.
 *
 * Every kind has functions lob_NAME_reach and lob_NAME_cpu, of the types below; filter_plan.c has
 * the table of kinds. The GPU's are in filter_step_cuda.cuh.
 */
#ifndef LOB_FILTER_STEP_H
#define LOB_FILTER_STEP_H

#include "kernels/budget.h"
#include "kernels/filters/filters.h"

LOB_BEGIN_DECLS

/* Voxels as a step sees them: stored numbers are values. In ordinary memory, or on the device. */
typedef struct {
    void *data; /* channels * nx*ny*nz, planar */
    lob_type type;
    lob_dims dims;
    int channels;
} lob_filter_image;

/*
 * A pointwise map, fused into a step that reads or writes: clamp(value * factor + offset, low,
 * high) in float32, each operation rounded. Identity: 1, 0, -INFINITY, INFINITY, and then it is not
 * computed at all, so whole numbers stay exact.
 */
typedef struct {
    float factor, offset, low, high;
    bool identity;
} lob_filter_map;

typedef struct {
    const lob_filter_step *step;
    const lob_filter_options *options;
    double spacing_mm[3];
    int64_t origin[3];     /* the voxel of the whole volume where the image begins: a slab's */
    const uint8_t *mask;   /* NULL: everything is data */
    bool finite;           /* known: no value is NaN or infinite, so nothing needs to look */
    lob_filter_map before; /* applied to each value that is read */
    lob_filter_map
        after; /* applied to each value that is written; identity unless out is float32 */
} lob_filter_call;

/* Voxels along an axis on each side on which a voxel's value may depend; -1: the whole axis. */
typedef int64_t lob_filter_reach(const lob_filter_step *step, const lob_filter_options *options,
                                 int axis);

typedef lob_status lob_filter_run(const lob_filter_image *out, const lob_filter_image *in,
                                  const lob_filter_call *call, const lob_context *context,
                                  lob_budget *budget, lob_error *error);

LOB_END_DECLS

#endif
