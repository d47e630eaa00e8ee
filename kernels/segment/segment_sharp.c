/* Sharp cases: where growth over the image alone confirms the first growth, borders are the
 * image's. */
#include "kernels/refine/outvote.h"
#include "kernels/segment/segment_job.h"

#include <string.h>

/* Voxels on both sides of a border that grow anew. */
static const double band = 2;

/* Let voxels of labels have their say by a verdict on two other volumes. */
static lob_status change(lob_segment_job *j, lob_volume *labels, const lob_volume *first,
                         const lob_volume *plain, const lob_outvote_verdict *verdict,
                         lob_error *error)
{
    const int64_t n = lob_voxels(labels);
    lob_device *const device = j->context->device;
    lob_status st = LOB_OK;
    lob_device_begin(device);
#ifdef LOB_WITH_CUDA
    if (device)
        st = lob_outvote_cuda(device, labels->data, first->data, plain->data, n, verdict, error);
#else
    (void)error;
#endif
    if (!device)
        lob_outvote(labels->data, first->data, plain->data, n, verdict, j->context->threads);
    lob_device_end(device);
    return st;
}

/* Count by labels where the context computes. */
static lob_status look(lob_segment_job *j, lob_outvote_count total[LOB_OUTVOTE_LABELS],
                       const lob_outvote_input *in, lob_error *error)
{
    lob_device *const device = j->context->device;
    lob_status st = LOB_OK;
    lob_device_begin(device);
#ifdef LOB_WITH_CUDA
    if (device) st = lob_outvote_look_cuda(device, total, in, error);
#else
    (void)error;
#endif
    if (!device) lob_outvote_look(total, in, j->context->threads);
    lob_device_end(device);
    return st;
}

lob_status lob_segment_outvote(lob_segment_job *j, lob_volume *labels, lob_error *error)
{
    const lob_volume *const first = &j->first, *const plain = &j->plain;
    const int *const step = j->plan->factor;
    const lob_outvote_input in = {
        .labels = labels->data,
        .first = first->data,
        .plain = plain->data,
        .dims = labels->dims,
        .step = {step[0], step[1], step[2]}
    };
    lob_outvote_count total[LOB_OUTVOTE_LABELS];
    LOB_TRY(look(j, total, &in, error));
    const lob_outvote_verdict verdict = lob_outvote_judge(total, j->plan->count, j->background);
    j->sharp = verdict.sharp;
    memcpy(j->confirmed, verdict.confirmed, sizeof j->confirmed);
    LOB_TRY(change(j, labels, first, plain, &verdict, error));
    if (j->once) lob_segment_drop(j, &j->first);
    if (j->once) lob_segment_drop(j, &j->plain);
    return LOB_OK;
}

/* What the band grows from: labels without it, but with all strokes. */
static lob_status leave_band(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                             const lob_volume *drawn, int32_t count, lob_error *error)
{
    const lob_labels_step erode = {.kind = LOB_LABELS_ERODE, .length = band, .voxels = true};
    int32_t values[UINT8_MAX];
    lob_outvote_verdict strokes = lob_outvote_nothing();
    strokes.from[0] = true;
    for (int32_t l = 1; l <= count; l++) {
        values[l - 1] = l;
        strokes.first[l] = true;
    }
    LOB_TRY(lob_segment_relabel(j, out, labels, count, values, &erode, error));
    return change(j, out, drawn, drawn, &strokes, error);
}

/* Let confirmed labels have what grew, in the place of each other and of background. */
static lob_status take_grown(lob_segment_job *j, lob_volume *labels, const lob_volume *grown,
                             int32_t count, int32_t background, const bool *confirmed,
                             lob_error *error)
{
    lob_outvote_verdict verdict = lob_outvote_nothing();
    verdict.from[0] = verdict.from[background] = true;
    for (int32_t l = 1; l <= count; l++) {
        if (!confirmed[l]) continue;
        verdict.from[l] = verdict.first[l] = true;
        verdict.rest[l] = (uint8_t)background;
    }
    return change(j, labels, grown, grown, &verdict, error);
}

/* Drop pieces without a stroke and fill holes, as refine.h does; nothing else. */
static lob_status tidy(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                       const lob_volume *image, const lob_volume *drawn, int32_t count,
                       int32_t background, double share, lob_error *error)
{
    const lob_refine_input in = {
        .image = image,
        .labels = labels->data,
        .labels_type = labels->type,
        .seeds = drawn->data,
        .seeds_type = drawn->type,
        .label_count = count,
        .background = background,
        .place = labels->place,
    };
    lob_refine_options options = lob_refine_defaults(image->dims, image->geometry.spacing_mm);
    lob_refine_stats stats;
    lob_segment_turn turn;
    options.smooth_mm = 0;
    options.edge = 0;
    return j->backend->refine(out->data, &stats, &in, &options, lob_segment_begin(j, &turn, share),
                              error);
}

lob_status lob_segment_sharpen(lob_segment_job *j, lob_volume *labels, const lob_volume *image,
                               const lob_volume *drawn, int32_t count, int32_t background,
                               const bool *confirmed, double share, lob_error *error)
{
    lob_volume seeds = lob_volume_empty(), grown = lob_volume_empty();
    lob_segment_turn turn;
    const lob_growcut_options options = lob_segment_growcut(j->plan);
    lob_status st = leave_band(j, &seeds, labels, drawn, count, error);
    if (st == LOB_OK) st = lob_segment_make(j, &grown, labels, LOB_U8, 1, error);
    const lob_growcut_input in = {
        .image = image, .seeds = &seeds, .labels = count, .place = labels->place};
    const lob_growcut_output out = {.labels = grown.data};
    if (st == LOB_OK)
        st = j->backend->growcut(&out, NULL, &in, &options, lob_segment_begin(j, &turn, share),
                                 error);
    lob_segment_drop(j, &seeds);
    if (st == LOB_OK) st = take_grown(j, labels, &grown, count, background, confirmed, error);
    if (st == LOB_OK) st = tidy(j, &grown, labels, image, drawn, count, background, share, error);
    if (st == LOB_OK) {
        const lob_volume tidied = grown;
        grown = *labels;
        *labels = tidied;
    }
    lob_segment_drop(j, &grown);
    return st;
}
