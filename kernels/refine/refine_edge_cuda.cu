/* Moving borders of labels on the GPU to where the image changes: votes of values, smoothed. */
#include "kernels/refine/refine_stages_cuda.cuh"

#include "kernels/device/device_image.cuh"
#include "kernels/refine/refine_voxel.h"

namespace lob::refine
{

struct edge_params {
    lob_device_image image;
    const void *labels;
    lob_type type;
    int32_t label;
    float *value;
    uint8_t *finite;
    float *parts;
    lob_refine_votes votes;
    counters *counts;
};

/* The image as float32. */
static __global__ void __launch_bounds__(THREADS) load_kernel(edge_params p)
{
    const int64_t n = p.image.voxels;
    for (int64_t i = grid_first(); i < n; i += grid_step()) {
        bool all = true;
        for (int c = 0; c < p.image.channels; c++) {
            const double stored = lob_stored_value(&p.image, c * n + i);
            const float value = (float)(p.image.slope * stored + p.image.inter);
            const bool good = value - value == 0;
            p.value[c * n + i] = good ? value : 0;
            all = all && good;
        }
        p.finite[i] = all;
        if (!all) p.counts->not_finite = 1;
    }
}

/* A label's indicator, and the image inside of it. */
static __global__ void __launch_bounds__(THREADS) parts_kernel(edge_params p)
{
    const int64_t n = p.image.voxels;
    for (int64_t i = grid_first(); i < n; i += grid_step()) {
        const bool is = lob_label_at(p.labels, p.type, i) == p.label;
        p.parts[i] = is;
        for (int c = 0; c < p.image.channels; c++)
            p.parts[(c + 1) * n + i] = is ? p.value[c * n + i] : 0;
    }
}

/* Write the votes for a label over its indicator. */
static __global__ void __launch_bounds__(THREADS) vote_kernel(edge_params p)
{
    for (int64_t i = grid_first(); i < p.image.voxels; i += grid_step())
        p.parts[i] = lob_refine_vote(&p.votes, p.parts[i], i);
}

/* Take a label where it has most votes so far, and more than half. */
static __global__ void __launch_bounds__(THREADS) most_kernel(voxel_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const float best = p.first ? 0.5F : p.best[i];
        const bool more = p.share[i] > best;
        if (more || p.first) {
            p.best[i] = more ? p.share[i] : best;
            lob_label_put(p.taken, p.type, i, more ? p.label : p.background);
        }
    }
}

static edge_params edge_of(const job *j)
{
    edge_params e = {};
    e.image = lob_device_image_of(j->in->image, j->part.image, NULL, NULL);
    e.image.voxels = j->part.voxels;
    e.labels = j->part.labels;
    e.type = j->type;
    e.value = j->value;
    e.finite = j->finite;
    e.parts = j->parts;
    e.votes = {
        j->value, j->mean, NULL, j->finite, j->channels, j->part.voxels, (float)j->options->edge};
    e.counts = j->counts;
    return e;
}

/* The smoothed votes for a label. */
static lob_status count_votes(job *j, const float **votes, edge_params e, const uint8_t *mask,
                              lob_error *error)
{
    const int64_t n = j->part.voxels;
    const lob_volume parts = on_part(j, j->parts, LOB_F32, j->channels + 1);
    const lob_volume voted = on_part(j, j->parts, LOB_F32, 1);
    LOB_TRY(lob_launch_over(j->device, parts_kernel, "a label's values", n, THREADS, e, error));
    LOB_TRY(smooth_next(j, &parts, mask, j->options->edge_mm, error));
    e.votes.around = j->smooth;
    LOB_TRY(lob_launch_over(j->device, vote_kernel, "votes", n, THREADS, e, error));
    *votes = j->parts;
    if (j->options->edge_smooth_mm == 0) return LOB_OK;
    LOB_TRY(smooth_next(j, &voted, NULL, j->options->edge_smooth_mm, error));
    *votes = j->smooth;
    return LOB_OK;
}

lob_status edge(void *a_job, lob_error *error)
{
    job *const j = (job *)a_job;
    const int64_t n = j->part.voxels;
    edge_params e = edge_of(j);
    voxel_params p = params_of(j, j->part);
    uint32_t not_finite = 0;
    LOB_TRY(lob_launch_over(j->device, load_kernel, "the image's values", n, THREADS, e, error));
    LOB_TRY(lob_device_download(j->device, &not_finite, &j->counts->not_finite, sizeof not_finite,
                                error));
    const uint8_t *const mask = not_finite ? j->finite : NULL;
    const lob_volume image = on_part(j, j->value, LOB_F32, j->channels);
    LOB_TRY(gaussian(j, &j->mean, &image, mask, j->options->edge_mm, error));
    e.votes.mean = j->mean;
    p.first = true;
    for (int32_t l = 1; l <= j->in->label_count; l++) {
        if (l == j->in->background) continue;
        e.label = p.label = l;
        LOB_TRY(count_votes(j, &p.share, e, mask, error));
        LOB_TRY(launch(j, j->several ? most_kernel : above_half(), "taking labels", p, p.voxels,
                       error));
        p.first = false;
    }
    drop(j, &j->mean, smooth_bytes(j, j->channels));
    return j->several ? put_taken(j, error) : LOB_OK;
}

} /* namespace lob::refine */
