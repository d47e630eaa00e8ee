/* Ways of `lobule threshold` that are more than a threshold, and its report. */
#include "tools/commands/threshold/threshold_work.h"

#include "volumes/labels.h"

#include <stdlib.h>

/* ---- hysteresis ---- */

/* Keep the pieces that hold a value above the higher threshold. */
static lob_status keep_pieces(lob_session *s, lob_threshold_work *w)
{
    const lob_threshold_settings *const set = &w->set;
    const lob_volume *image = &w->image;
    const lob_components_output *pieces = &w->joined;
    const double least = lob_next_above(set->hysteresis[1], image);
    const int64_t voxels = lob_voxels(image);
    uint8_t *const to = w->labels.data;
    w->keep = calloc((size_t)pieces->count + 1, 1);
    if (!w->keep) return lob_session_no_memory(s, set->labels);
    for (int64_t k = 0; k < pieces->count; k++) {
        const lob_region_values *v = &pieces->values[k];
        const double stored = image->slope < 0 ? v->lowest : v->highest;
        w->keep[k + 1] = image->slope * stored + image->inter >= least;
        w->kept += w->keep[k + 1];
    }
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < voxels; i++)
        to[i] = w->keep[lob_label_at(pieces->labels, pieces->type, i)];
    return LOB_OK;
}

lob_status lob_threshold_join(lob_session *s, lob_threshold_work *w)
{
    const lob_threshold_settings *const set = &w->set;
    const lob_components_input in = {.image = &w->image, .mask = w->mask, .intensities = &w->image};
    const int64_t bytes = lob_product(lob_voxels(&w->image), sizeof(int32_t), 1, 1);
    lob_components_options o = lob_components_defaults();
    o.ranged = true;
    o.range[0] = lob_next_above(set->hysteresis[0], &w->image);
    o.range[1] = INFINITY;
    o.neighbours = set->neighbours;
    o.slice_axis = lob_grid_slice_axis(set->slices, &w->image.geometry);
    o.regions = true;
    LOB_TRY(lob_session_take(s, bytes, set->labels));
    const lob_status st = s->backend->components(&w->joined, &in, &o, &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, set->image, NULL));
    w->stats = (lob_threshold_stats){
        .thresholds = 2,
        .threshold = {set->hysteresis[0], set->hysteresis[1]},
        .separability = NAN,
        .working_bytes = w->joined.working_bytes
    };
    LOB_TRY(keep_pieces(s, w));
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* ---- the mean around ---- */

void lob_threshold_compare(uint8_t *to, const lob_volume *image, const uint8_t *mask,
                           const float *mean, double offset, int threads)
{
    enum { ROW = 1024 };
    const int64_t voxels = lob_voxels(image);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < voxels; first += ROW) {
        const int64_t n = voxels - first < ROW ? voxels - first : ROW;
        double stored[ROW];
        lob_values(stored, image->data, image->type, first, n);
        for (int64_t i = 0; i < n; i++) {
            const bool data = isfinite(stored[i]) && (!mask || mask[first + i]);
            const double value = image->slope * stored[i] + image->inter;
            to[first + i] = data && value > (double)mean[first + i] - offset;
        }
    }
}

lob_status lob_threshold_box(lob_session *s, lob_filter_step *box,
                             const lob_threshold_settings *set, const lob_volume *image)
{
    const int across = lob_grid_slice_axis(set->slices, &image->geometry);
    *box = (lob_filter_step){.kind = LOB_FILTER_BOX};
    for (int a = 0; a < 3; a++) {
        const double unit = set->local.voxels ? 1 : image->geometry.spacing_mm[a];
        const double radius = floor(set->local.value / unit + 1e-6);
        if (a == across || lob_side(image->dims, a) == 1) continue;
        if (radius > LOB_FILTER_MAX_ALONG)
            return lob_fail(&s->error, LOB_EARG,
                            "--local reaches %.6g voxels along an axis, at most %d", radius,
                            LOB_FILTER_MAX_ALONG);
        box->along[a] = radius;
    }
    if (box->along[0] + box->along[1] + box->along[2] == 0)
        return lob_fail_file(&s->error, LOB_EARG, set->image, "--local %.6g%s is less than a voxel",
                             set->local.value, set->local.voxels ? "vox" : "mm");
    return LOB_OK;
}

lob_status lob_threshold_locally(lob_session *s, lob_threshold_work *w)
{
    const lob_threshold_settings *const set = &w->set;
    const lob_volume *image = &w->image;
    lob_filter_step box;
    LOB_TRY(lob_threshold_box(s, &box, set, image));
    const lob_filter_input in = {image, w->mask, &box, 1};
    const lob_filter_options options = lob_filter_defaults();
    const int64_t bytes = lob_product(lob_voxels(image), sizeof(float), 1, 1);
    lob_filter_output mean;
    LOB_TRY(lob_session_take(s, bytes, set->labels));
    LOB_TRY(lob_session_name(s, s->backend->filter(&mean, &in, &options, &s->context, &s->error),
                             set->image, NULL));
    w->stats = (lob_threshold_stats){.separability = NAN, .working_bytes = mean.working_bytes};
    lob_threshold_compare(w->labels.data, image, w->mask, mean.data, set->offset,
                          s->context.threads);
    lob_filter_output_free(&mean);
    lob_session_give(s, bytes);
    return LOB_OK;
}

int64_t lob_threshold_labelled(const uint8_t *of, int64_t voxels, int threads)
{
    int64_t n = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : n)
    for (int64_t i = 0; i < voxels; i++) n += of[i] != 0;
    return n;
}

void lob_threshold_report(lob_session *s, const lob_threshold_work *w)
{
    const lob_threshold_settings *const set = &w->set;
    const lob_threshold_stats *stats = &w->stats;
    const int64_t labelled = w->labelled, voxels = lob_voxels(&w->image);
    char text[LOB_THRESHOLD_MAX_CLASSES * 32] = "";
    size_t used = 0;
    cJSON *const list = cJSON_AddArrayToObject(s->results, "thresholds");
    for (int k = 0; k < stats->thresholds; k++) {
        cJSON_AddItemToArray(list, cJSON_CreateNumber(stats->threshold[k]));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.9g", k ? ", " : "",
                                 stats->threshold[k]);
    }
    cJSON_AddNumberToObject(s->results, "voxels", (double)voxels);
    cJSON_AddNumberToObject(s->results, "labelled_voxels", (double)labelled);
    cJSON_AddNumberToObject(s->results, "working_bytes", (double)stats->working_bytes);
    if (!isnan(stats->separability))
        cJSON_AddNumberToObject(s->results, "separability", stats->separability);
    if (lob_threshold_is_hysteretic(set)) {
        cJSON_AddNumberToObject(s->results, "pieces", (double)w->joined.count);
        cJSON_AddNumberToObject(s->results, "pieces_kept", (double)w->kept);
    }
    if (w->options.kind == LOB_THRESHOLD_OTSU || w->options.kind == LOB_THRESHOLD_PERCENTILE)
        lob_session_note(s, "%s: %s %s", set->image,
                         stats->thresholds > 1 ? "thresholds" : "threshold", text);
    if (labelled == 0) lob_session_note(s, "%s: no voxel is labelled", set->image);
    lob_session_say(s, "thresholds: %s; labelled voxels: %lld of %lld", text, (long long)labelled,
                    (long long)voxels);
}
