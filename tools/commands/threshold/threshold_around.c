/* Thresholds that depend on what is around a voxel: of joined pieces, and of the mean near by. */
#include "tools/commands/threshold/threshold_work.h"

#include "volumes/labels.h"

#include <stdlib.h>

typedef lob_threshold_work work;

/* Keep the pieces that hold a value above the higher threshold. */
static lob_status keep_pieces(lob_session *s, work *w)
{
    const lob_volume *image = &w->image;
    const lob_components_output *pieces = &w->joined;
    const double least = lob_next_above(w->hysteresis[1], image);
    const int64_t voxels = lob_voxels(image);
    uint8_t *const to = w->labels.data;
    w->keep = calloc((size_t)pieces->count + 1, 1);
    if (!w->keep) return lob_session_no_memory(s, w->labels_path);
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

lob_status lob_threshold_join(lob_session *s, work *w)
{
    const lob_components_input in = {.image = &w->image, .mask = w->mask, .intensities = &w->image};
    const int64_t bytes = lob_product(lob_voxels(&w->image), sizeof(int32_t), 1, 1);
    lob_components_options o = lob_components_defaults();
    o.ranged = true;
    o.range[0] = lob_next_above(w->hysteresis[0], &w->image);
    o.range[1] = INFINITY;
    o.neighbours = w->neighbours;
    o.slice_axis = lob_grid_slice_axis(w->slices, &w->image.geometry);
    o.regions = true;
    LOB_TRY(lob_session_take(s, bytes, w->labels_path));
    LOB_TRY(s->backend->components(&w->joined, &in, &o, &s->context, &s->error));
    w->stats = (lob_threshold_stats){
        .thresholds = 2,
        .threshold = {w->hysteresis[0], w->hysteresis[1]},
        .separability = NAN,
        .working_bytes = w->joined.working_bytes
    };
    LOB_TRY(keep_pieces(s, w));
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* ---- the mean around ---- */

/* Label what is above the mean, less the offset. */
static void compare(uint8_t *to, const lob_volume *image, const uint8_t *mask, const float *mean,
                    double offset, int threads)
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

lob_status lob_threshold_find_box(lob_session *s, work *w, const lob_volume *image)
{
    lob_filter_step *const box = &w->box;
    const int across = lob_grid_slice_axis(w->slices, &image->geometry);
    *box = (lob_filter_step){.kind = LOB_FILTER_BOX};
    for (int a = 0; a < 3; a++) {
        const double unit = w->local_size.voxels ? 1 : image->geometry.spacing_mm[a];
        const double radius = floor(w->local_size.value / unit + 1e-6);
        if (a == across || lob_side(image->dims, a) == 1) continue;
        if (radius > LOB_FILTER_MAX_ALONG)
            return lob_fail(&s->error, LOB_EARG,
                            "--local reaches %.6g voxels along an axis, at most %d", radius,
                            LOB_FILTER_MAX_ALONG);
        box->along[a] = radius;
    }
    if (box->along[0] + box->along[1] + box->along[2] == 0)
        return lob_fail_file(&s->error, LOB_EARG, w->slabs.path,
                             "--local %.6g%s is less than a voxel", w->local_size.value,
                             w->local_size.voxels ? "vox" : "mm");
    w->stats = (lob_threshold_stats){.separability = NAN};
    w->local = (lob_slab_filter){
        &w->slabs, {.steps = box, .step_count = 1},
         &w->means, .sent = 1
    };
    return LOB_OK;
}

lob_status lob_threshold_locally(lob_session *s, work *w, const lob_slab *slab, uint8_t *labels)
{
    lob_filter_output mean;
    LOB_TRY(lob_slab_filter_run(s, &w->local, slab, &mean));
    w->stats.working_bytes = w->local.working_bytes;
    lob_session_compute(s, "labelling");
    compare(labels, &slab->image, slab->mask, mean.data, w->offset, s->context.threads);
    lob_session_computed(s);
    lob_slab_filter_drop(s, slab, &mean);
    return LOB_OK;
}
