/* Morphology on the CPU: one or two distance transforms that stop at the radius. */
#include "kernels/budget.h"
#include "kernels/distance/distance_lines.h"
#include "kernels/morphology/morphology_plan.h"

#include <string.h>

typedef struct {
    const lob_morphology_input *in;
    double radius;
    const lob_context *context;
    lob_budget budget;
    int64_t voxels;
    size_t bytes; /* of a label */
} job;

/* The context of one of the job's transforms, with what is left of its memory. */
static lob_status transform(const job *j, const lob_distance_output *out, const void *labels,
                            lob_distance_kind kind, lob_error *error)
{
    lob_context context = *j->context;
    const lob_distance_input in = lob_morphology_distance(j->in, labels);
    const lob_distance_options options = lob_morphology_options(kind, j->radius);
    if (context.max_memory > 0) {
        context.max_memory -= j->budget.held;
        if (context.max_memory < 1) context.max_memory = 1;
    }
    return lob_distance_cpu(out, &in, &options, &context, error);
}

/* out may be from. */
static lob_status dilate(job *j, void *out, const void *from, lob_error *error)
{
    void *nearest = NULL;
    lob_status st = LOB_OK;
    if (out == from) st = lob_budget_alloc(&j->budget, &nearest, j->voxels, j->bytes, error);
    const lob_distance_output found = {.feature = nearest ? nearest : out};
    if (st == LOB_OK) st = transform(j, &found, from, LOB_DISTANCE_TO_SET, error);
    if (st == LOB_OK && nearest) memcpy(out, nearest, (size_t)j->voxels * j->bytes);
    lob_budget_free(&j->budget, nearest, j->voxels, j->bytes);
    return st;
}

/* kept: NULL, or labels that stay as they are; out may be from or kept. */
static lob_status erode(job *j, void *out, const void *from, const void *kept, lob_error *error)
{
    float *to_other = NULL;
    lob_status st = lob_budget_alloc(&j->budget, &to_other, j->voxels, sizeof *to_other, error);
    const lob_distance_output found = {.distance = to_other};
    if (st == LOB_OK) st = transform(j, &found, from, LOB_DISTANCE_TO_OTHER, error);
    if (st == LOB_OK) {
        const int bytes = (int)j->bytes;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
        for (int64_t i = 0; i < j->voxels; i++) {
            const uint32_t label = lob_distance_label(from, bytes, i);
            const uint32_t stays = kept ? lob_distance_label(kept, bytes, i) : 0;
            lob_distance_put_label(out, bytes, i, lob_morphology_eroded(label, to_other[i], stays));
        }
    }
    lob_budget_free(&j->budget, to_other, j->voxels, sizeof *to_other);
    return st;
}

static lob_status close_gaps(job *j, void *out, lob_error *error)
{
    void *dilated = NULL;
    lob_status st = lob_budget_alloc(&j->budget, &dilated, j->voxels, j->bytes, error);
    if (st == LOB_OK) st = dilate(j, dilated, j->in->labels, error);
    if (st == LOB_OK) st = erode(j, out, dilated, j->in->labels, error);
    lob_budget_free(&j->budget, dilated, j->voxels, j->bytes);
    return st;
}

lob_status lob_morphology_cpu(void *out, const lob_morphology_input *in, lob_morphology how,
                              double radius, const lob_context *context, lob_error *error)
{
    const lob_distance_input distance = lob_morphology_distance(in, in->labels);
    const lob_distance_options options = lob_distance_defaults();
    const lob_distance_output none = {0};
    lob_status st = lob_morphology_check(how, radius, error);
    if (st == LOB_OK) st = lob_distance_check(&none, &distance, &options, error);
    if (st != LOB_OK) return st;
    job j = {
        in,
        radius,
        context,
        {.who = "morphology", .limit = context->max_memory},
        lob_dims_voxels(in->dims),
        lob_type_of(in->type)->bytes
    };
    if (how == LOB_MORPHOLOGY_DILATE) return dilate(&j, out, in->labels, error);
    if (how == LOB_MORPHOLOGY_CLOSE) return close_gaps(&j, out, error);
    st = erode(&j, out, in->labels, NULL, error);
    return st == LOB_OK && how == LOB_MORPHOLOGY_OPEN ? dilate(&j, out, out, error) : st;
}
