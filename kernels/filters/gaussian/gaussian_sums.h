/*
 * The sums that a Gaussian step is made of, for both backends: of values and of weights, one after
 * the other for each derivative. How weighted voxels are added up is the backend's.
 */
#ifndef LOB_GAUSSIAN_SUMS_H
#define LOB_GAUSSIAN_SUMS_H

#include "kernels/filters/gaussian/gaussian_plan.h"
#include "kernels/filters/gaussian/gaussian_voxel.h"

LOB_BEGIN_DECLS

/* A sum of weighted voxels: what is read, and what is done with it. */
typedef struct {
    lob_gaussian_source source;
    lob_gaussian_finish finish;
    int order[3];
    lob_edge edge;
    float outside;
    float *out;
} lob_gaussian_sum;

/* A call. */
typedef struct {
    const lob_gaussian_plan *plan;
    const lob_filter_call *call;
    lob_dims dims;
    float *filled; /* voxels; where lob_gaussian_fills */
    bool pairs;    /* add_up divides sums of values by sums of weights that it adds up beside them;
                      else it adds up the ones and then, given those, the others */
    lob_status (*add_up)(void *backend, const lob_gaussian_sum *sum,
                         const lob_gaussian_pass *passes, int count, lob_error *error);
    void *backend;
} lob_gaussian_run;

/* Floats as what is read: all of them data. */
lob_gaussian_source lob_gaussian_of_floats(const float *data);

/* Whether sums are divided by sums of weights, and whether what is no data is filled first. */
static inline bool lob_gaussian_normalises(const lob_filter_call *call)
{
    return call->mask || !call->finite;
}

static inline bool lob_gaussian_fills(const lob_filter_call *call)
{
    return call->step->kind != LOB_FILTER_GAUSSIAN && lob_gaussian_normalises(call);
}

/* Run the step on every channel. */
lob_status lob_gaussian_channels(const lob_gaussian_run *run, const lob_filter_image *out,
                                 const lob_filter_image *in, lob_error *error);

LOB_END_DECLS

#endif
