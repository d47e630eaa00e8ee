/* Sharp cases: where growth over the image alone confirms the first growth, borders are the
 * image's. */
#include "kernels/refine/outvote.h"
#include "kernels/segment/segment_job.h"

/* Voxels on both sides of a border that grow anew. */
static const double band = 2;

lob_status lob_segment_outvote(lob_segment_job *j, lob_volume *labels, const lob_volume *first,
                               const lob_volume *plain, int32_t background, lob_error *error)
{
    const int64_t n = lob_voxels(labels);
    lob_device *const device = j->context->device;
    lob_status st = LOB_OK;
    lob_device_begin(device);
#ifdef LOB_WITH_CUDA
    if (device)
        st = lob_outvote_cuda(device, labels->data, first->data, plain->data, n, background, error);
#else
    (void)error;
#endif
    if (!device)
        lob_outvote(labels->data, first->data, plain->data, n, background, j->context->threads);
    lob_device_end(device);
    return st;
}

/* Labels of which some become another one. */
static lob_status replace(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                          int32_t count, const bool *of, bool which, int32_t by, lob_error *error)
{
    int32_t values[UINT8_MAX];
    lob_labels_rule rules[UINT8_MAX];
    lob_labels_step step = {.kind = LOB_LABELS_RECODE, .rules = rules, .rest = LOB_LABELS_SAME};
    for (int32_t l = 1; l <= count; l++) {
        values[l - 1] = l;
        if (of[l] == which)
            rules[step.rule_count++] = (lob_labels_rule){.first = l, .last = l, .to = by};
    }
    return lob_segment_relabel(j, out, labels, count, values, &step, error);
}

lob_status lob_segment_outvote_sharp(lob_segment_job *j, lob_volume *labels,
                                     const lob_volume *first, const lob_volume *plain,
                                     int32_t count, int32_t background, const bool *agree,
                                     lob_error *error)
{
    lob_volume said = lob_volume_empty();
    LOB_TRY(lob_segment_outvote(j, labels, first, first, background, error));
    lob_status st = replace(j, &said, plain, count, agree, false, background, error);
    if (st == LOB_OK) st = lob_segment_outvote(j, labels, &said, &said, background, error);
    lob_segment_drop(j, &said);
    return st;
}

/* What the band grows from: labels without it, but with all strokes. */
static lob_status leave_band(lob_segment_job *j, lob_volume *out, const lob_volume *labels,
                             const lob_volume *drawn, int32_t count, lob_error *error)
{
    const lob_labels_step erode = {.kind = LOB_LABELS_ERODE, .length = band, .voxels = true};
    int32_t values[UINT8_MAX];
    for (int32_t l = 1; l <= count; l++) values[l - 1] = l;
    LOB_TRY(lob_segment_relabel(j, out, labels, count, values, &erode, error));
    return lob_segment_outvote(j, out, drawn, drawn, 0, error);
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
    lob_volume taken = lob_volume_empty(), left = lob_volume_empty();
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
    if (st == LOB_OK) st = replace(j, &taken, &grown, count, confirmed, false, 0, error);
    lob_segment_drop(j, &grown);
    if (st == LOB_OK) st = replace(j, &left, labels, count, confirmed, true, background, error);
    if (st == LOB_OK) st = lob_segment_outvote(j, &left, &taken, &taken, background, error);
    lob_segment_drop(j, &taken);
    if (st == LOB_OK) st = tidy(j, labels, &left, image, drawn, count, background, share, error);
    lob_segment_drop(j, &left);
    return st;
}
