/* A call of lob_refine, as its steps see it. This header is not installed. */
#ifndef LOB_REFINE_JOB_H
#define LOB_REFINE_JOB_H

#include "kernels/budget.h"
#include "kernels/refine/refine_plan.h"
#include "volumes/crop.h"
#include "volumes/labels.h"

LOB_BEGIN_DECLS

typedef struct {
    const lob_refine_input *in;
    const lob_refine_options *options;
    const lob_context *context;
    lob_budget budget;
    lob_refine_stats *stats;
    int64_t voxels;
    void *labels; /* the output, worked on in place */
    lob_type type;
} lob_refine_job;

static inline int32_t lob_refine_label(const lob_refine_job *j, int64_t i)
{
    return lob_label_at(j->labels, j->type, i);
}

static inline void lob_refine_put(const lob_refine_job *j, int64_t i, int32_t label)
{
    lob_label_put(j->labels, j->type, i, label);
}

static inline int32_t lob_refine_seed(const lob_refine_job *j, int64_t i)
{
    return lob_label_at(j->in->seeds, j->in->seeds_type, i);
}

/* The context of one of the job's calls, with what is left of its memory. */
lob_context lob_refine_context(const lob_refine_job *j);

/* Voxels of an array on the job's grid. */
lob_volume lob_refine_volume(const lob_refine_job *j, void *data, lob_type type, int channels);

/*
 * Smooth a volume with a Gaussian.
 *
 *   smooth  out  image->channels * voxels, counted in the budget; give back with lob_refine_drop
 *   mask    in   what is data; NULL: everything
 */
lob_status lob_refine_gaussian(lob_refine_job *j, float **smooth, const lob_volume *image,
                               const uint8_t *mask, double sigma_mm, lob_error *error);
void lob_refine_drop(lob_refine_job *j, float *smooth, int channels);

/* The part of the volume that holds labels, in the output as it is and among strokes, widened as
 * lob_refine_widen says. Returns false where that is the whole volume, or there are no labels. */
bool lob_refine_part_of(lob_box *box, const lob_refine_job *j);

/* Run steps on a part, whose arrays are copies counted in the budget. Returns what they do. */
lob_status lob_refine_in_part(lob_refine_job *j, const lob_box *box,
                              lob_status (*run)(lob_refine_job *j, lob_error *error),
                              lob_error *error);

/* The steps, on a lob_refine_job. */
lob_status lob_refine_smooth(void *job, lob_error *error);
lob_status lob_refine_tidy(void *job, lob_error *error);
lob_status lob_refine_edge(void *job, lob_error *error);

LOB_END_DECLS

#endif
