/*
 * The sums that a Gaussian step is made of, and their passes, for both backends: of values and of
 * weights, one after the other for each derivative. A pass is the backend's.
 */
#ifndef LOB_GAUSSIAN_SUMS_H
#define LOB_GAUSSIAN_SUMS_H

#include "kernels/filters/gaussian/gaussian_plan.h"
#include "kernels/filters/gaussian/gaussian_voxel.h"

LOB_BEGIN_DECLS

/* A sum of weighted voxels, or a pass of one: what is read, and what is done with it. */
typedef struct {
    lob_gaussian_source source;
    lob_gaussian_finish finish;
    float *out;
    bool pairs;   /* sums of values and of weights side by side, as they lie `between` passes */
    bool between; /* the source is what a pass wrote */
} lob_gaussian_io;

/* A call. */
typedef struct {
    const lob_gaussian_plan *plan;
    const lob_filter_call *call;
    lob_dims dims;
    float *filled;     /* voxels; where lob_gaussian_fills */
    float *between[2]; /* what passes write by turns, but the last; NULL: the output */
    bool planes;       /* exact passes along x and y run together; they and that along z alone */
    bool pairs;        /* sums of values are divided by sums of weights that are added up beside
                          them; else the ones are added up and then, given those, the others */

    /* Run a pass, or those along x and y. */
    lob_status (*run)(void *backend, const lob_gaussian_io *io, const lob_gaussian_pass *passes,
                      int count, lob_error *error);
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

/* Voxels of what each of run->between has to hold; run has plan, dims and planes. */
void lob_gaussian_between(int64_t voxels[2], const lob_gaussian_run *run);

/* Run the step on every channel. */
lob_status lob_gaussian_channels(const lob_gaussian_run *run, const lob_filter_image *out,
                                 const lob_filter_image *in, lob_error *error);

LOB_END_DECLS

#endif
