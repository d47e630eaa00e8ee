/*
 * Morphology on the CPU. Erosion, and dilation of a single label, ask of each voxel whether its
 * ball holds two labels: bits of rows tell. Dilation of several labels, and balls that are too
 * large for bits, are distance transforms that stop at the radius.
 */
#include "kernels/arrays.h"
#include "kernels/budget.h"
#include "kernels/distance/distance_slabs.h"
#include "kernels/distance/distance_voxel.h"
#include "kernels/morphology/morphology_bits.h"
#include "kernels/morphology/morphology_part.h"
#include "kernels/morphology/morphology_plan.h"
#include "kernels/share.h"
#include "kernels/simd_clones.h"

#include <string.h>

typedef struct {
    const lob_morphology_input *in;
    int64_t planes; /* of the volume, of which in may have some */
    double radius;
    lob_context context; /* of the step under way: the caller's, with a share of its progress */
    lob_budget budget;
    int64_t voxels;
    size_t bytes;    /* of a label */
    lob_share share; /* of the step under way */
} job;

/* A transform, with what is left of the job's memory. */
static lob_status transform(const job *j, const lob_distance_output *out, const void *labels,
                            lob_distance_kind kind, lob_error *error)
{
    const lob_context context = lob_budget_inner(&j->budget, &j->context);
    const lob_distance_input in = lob_morphology_distance(j->in, labels);
    const lob_distance_options options = lob_morphology_options(kind, j->radius);
    return lob_distance_part(out, &in, &options, j->planes, &context, error);
}

/* ---- by bits ---- */

/* What a row becomes: its labels, but voxels that are seen get those of kept or, where that is
 * NULL, grown. out may be labels or kept. */
#define PUT_ROW(type)                                                                              \
    LOB_SIMD_CLONES(void, choose_##type, (to, seen, kept, grown, own, n), type *to, uint64_t seen, \
                    const type *kept, uint32_t grown, const type *own, int64_t n)                  \
    {                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const type a = kept ? kept[i] : (type)grown, b = own[i]; /* both are read */           \
            to[i] = seen >> i & 1 ? a : b;                                                         \
        }                                                                                          \
    }                                                                                              \
    static void put_row_##type(void *out, const void *labels, const void *kept, int64_t n,         \
                               uint32_t grown, const uint64_t *seen)                               \
    {                                                                                              \
        for (int64_t x = 0; x < n; x += 64) {                                                      \
            type *const to = (type *)out + x;                                                      \
            const type *const from = (const type *)labels + x;                                     \
            const int64_t left = n - x < 64 ? n - x : 64;                                          \
            if (seen[x / 64])                                                                      \
                choose_##type(to, seen[x / 64], kept ? (const type *)kept + x : NULL, grown, from, \
                              left);                                                               \
            else if (to != from)                                                                   \
                memmove(to, from, (size_t)left * sizeof *to);                                      \
        }                                                                                          \
    }

PUT_ROW(uint8_t)
PUT_ROW(uint16_t)
PUT_ROW(uint32_t)

/* The only label; -1: there are several, 0: there is none. */
#define ONE_LABEL(type)                                                                          \
    LOB_SIMD_CLONES(int64_t, one_label_##type, (labels, n), const void *labels, int64_t n)       \
    {                                                                                            \
        const type *const label = labels;                                                        \
        enum { AT_ONCE = 4096 };                                                                 \
        type one = 0;                                                                            \
        for (int64_t first = 0; first < n; first += AT_ONCE) {                                   \
            const int64_t end = n - first < AT_ONCE ? n : first + AT_ONCE;                       \
            int others = 0;                                                                      \
            for (int64_t i = first; !one && i < end; i++) one = label[i];                        \
            for (int64_t i = first; i < end; i++) others |= (label[i] != 0) & (label[i] != one); \
            if (others) return -1;                                                               \
        }                                                                                        \
        return one;                                                                              \
    }

ONE_LABEL(uint8_t)
ONE_LABEL(uint16_t)
ONE_LABEL(uint32_t)

static int64_t one_label(const job *j, const void *labels)
{
    return (j->bytes == 1   ? one_label_uint8_t
            : j->bytes == 2 ? one_label_uint16_t
                            : one_label_uint32_t)(labels, j->voxels);
}

static lob_distance_plan plan_of(const job *j, const void *labels)
{
    lob_distance_input in = lob_morphology_distance(j->in, labels);
    const lob_distance_options options = lob_morphology_options(LOB_DISTANCE_TO_OTHER, j->radius);
    in.dims.nz = j->planes;
    lob_distance_plan plan = lob_distance_plan_of(&in, &options, LOB_FIND_OTHER);
    plan.dims = j->in->dims;
    return plan;
}

/* As put_row, of a whole volume. */
static lob_status change_seen(job *j, void *out, const void *from, const void *kept, uint32_t grown,
                              const lob_distance_plan *plan, lob_error *error)
{
    lob_ball_bits bits = {0};
    const int64_t nx = plan->dims.nx, rows = plan->dims.ny * plan->dims.nz;
    lob_status st =
        lob_ball_bits_find(&bits, from, (int)j->bytes, plan, &j->budget, &j->context, error);
    if (st == LOB_OK) {
#pragma omp parallel for num_threads(j->context.threads) schedule(static)
        for (int64_t row = 0; row < rows; row++) {
            const size_t at = (size_t)(row * nx) * j->bytes;
            (j->bytes == 1   ? put_row_uint8_t
             : j->bytes == 2 ? put_row_uint16_t
                             : put_row_uint32_t)((unsigned char *)out + at,
                                                 (const unsigned char *)from + at,
                                                 kept ? (const unsigned char *)kept + at : NULL, nx,
                                                 grown, bits.seen + row * bits.words);
        }
    }
    lob_ball_bits_free(&bits, &j->budget);
    return st;
}

/* ---- steps ---- */

/* out may be from. */
static lob_status dilate(job *j, void *out, const void *from, lob_error *error)
{
    void *nearest = NULL;
    lob_status st = LOB_OK;
    const lob_distance_plan plan = plan_of(j, from);
    const int64_t one = lob_ball_bits_pay(&plan) ? one_label(j, from) : -1;
    if (one == 0) memmove(out, from, (size_t)j->voxels * j->bytes);
    if (one == 0) return LOB_OK;
    if (one > 0) return change_seen(j, out, from, NULL, (uint32_t)one, &plan, error);
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
    const lob_distance_plan plan = plan_of(j, from);
    if (lob_ball_bits_pay(&plan)) return change_seen(j, out, from, kept, 0, &plan, error);
    lob_status st = lob_budget_alloc(&j->budget, &to_other, j->voxels, sizeof *to_other, error);
    const lob_distance_output found = {.distance = to_other};
    if (st == LOB_OK) st = transform(j, &found, from, LOB_DISTANCE_TO_OTHER, error);
    if (st == LOB_OK) {
        const int bytes = (int)j->bytes;
#pragma omp parallel for num_threads(j->context.threads) schedule(static)
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
    if (st == LOB_OK) st = lob_share_next(&j->share, 1);
    if (st == LOB_OK) st = erode(j, out, dilated, j->in->labels, error);
    lob_budget_free(&j->budget, dilated, j->voxels, j->bytes);
    return st;
}

static lob_status open_gaps(job *j, void *out, lob_error *error)
{
    LOB_TRY(erode(j, out, j->in->labels, NULL, error));
    LOB_TRY(lob_share_next(&j->share, 1));
    return dilate(j, out, out, error);
}

lob_status lob_morphology_part(void *out, const lob_morphology_input *in, lob_morphology how,
                               double radius, int64_t planes, const lob_context *context,
                               lob_error *error)
{
    lob_error_begin(error);
    LOB_TRY(lob_check_memory(in->place, NULL, NULL, error));
    LOB_TRY(lob_morphology_check(in, how, radius, error));
    const bool one_step = how == LOB_MORPHOLOGY_DILATE || how == LOB_MORPHOLOGY_ERODE;
    job j = {
        .in = in,
        .planes = planes,
        .radius = radius,
        .share = {.caller = context,   .to = one_step ? 1 : 0.5    },
        .budget = {.who = "morphology", .limit = context->max_memory},
        .voxels = lob_dims_voxels(in->dims),
        .bytes = lob_type_of(in->type)->bytes,
    };
    j.context = lob_share_context(&j.share, *context);
    if (how == LOB_MORPHOLOGY_DILATE)
        return lob_error_end(error, dilate(&j, out, in->labels, error));
    if (how == LOB_MORPHOLOGY_ERODE)
        return lob_error_end(error, erode(&j, out, in->labels, NULL, error));
    return lob_error_end(error, how == LOB_MORPHOLOGY_OPEN ? open_gaps(&j, out, error)
                                                           : close_gaps(&j, out, error));
}

lob_status lob_morphology_cpu(void *out, const lob_morphology_input *in, lob_morphology how,
                              double radius, const lob_context *context, lob_error *error)
{
    return lob_morphology_part(out, in, how, radius, in->dims.nz, context, error);
}
