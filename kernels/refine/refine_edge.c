/* Moving borders of labels to where the image changes: votes of values, smoothed. */
#include "kernels/refine/refine_job.h"
#include "kernels/refine/refine_voxel.h"

#include <string.h>

enum { ROW = 1024 };

typedef struct {
    lob_refine_job *j;
    int channels;
    float *value;    /* channels * voxels: the image, 0 where a channel is not finite */
    uint8_t *mask;   /* where all channels are finite */
    bool not_finite; /* some are not, so the mask counts */
    float *mean;     /* channels * voxels */
    float *parts;    /* (channels + 1) * voxels: a label's indicator, and the image where it is */
    float *best;     /* several labels: most votes so far */
    void *labels;    /* several labels: whose they are */
} edge_work;

/* ---- the image as float32 ---- */

static void load_row(edge_work *w, int64_t first, int64_t n)
{
    const lob_volume *image = w->j->in->image;
    bool finite = true;
    memset(w->mask + first, 1, (size_t)n);
    for (int c = 0; c < w->channels; c++) {
        double stored[ROW];
        float *const to = w->value + c * w->j->voxels + first;
        lob_values(stored, image->data, image->type, c * w->j->voxels + first, n);
        for (int64_t i = 0; i < n; i++) {
            const float value = (float)(image->slope * stored[i] + image->inter);
            const bool good = value - value == 0;
            to[i] = good ? value : 0;
            if (good) continue;
            w->mask[first + i] = 0;
            finite = false;
        }
    }
    if (finite) return;
#pragma omp atomic write
    w->not_finite = true;
}

static lob_status load(edge_work *w, lob_error *error)
{
    lob_refine_job *j = w->j;
    const int64_t n = j->voxels * w->channels;
    LOB_TRY(lob_budget_alloc(&j->budget, &w->value, n, sizeof *w->value, error));
    LOB_TRY(lob_budget_alloc(&j->budget, &w->mask, j->voxels, sizeof *w->mask, error));
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t first = 0; first < j->voxels; first += ROW)
        load_row(w, first, j->voxels - first < ROW ? j->voxels - first : ROW);
    const lob_volume image = lob_refine_volume(j, w->value, LOB_F32, w->channels);
    return lob_refine_gaussian(j, &w->mean, &image, w->not_finite ? w->mask : NULL,
                               j->options->edge_mm, error);
}

/* ---- votes ---- */

/* Write the votes for a label over its indicator. */
static void vote(edge_work *w, const float *around)
{
    const lob_refine_job *j = w->j;
    const lob_refine_votes votes = {
        w->value, w->mean, around, w->mask, w->channels, j->voxels, (float)j->options->edge};
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) w->parts[i] = lob_refine_vote(&votes, w->parts[i], i);
}

/* A label's indicator, and the image inside of it. */
static void set_parts(edge_work *w, int32_t label)
{
    const lob_refine_job *j = w->j;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) {
        const bool is = lob_refine_label(j, i) == label;
        w->parts[i] = is;
        for (int c = 0; c < w->channels; c++)
            w->parts[(c + 1) * j->voxels + i] = is ? w->value[c * j->voxels + i] : 0;
    }
}

/* The smoothed votes for a label; votes is parts, or smooth, which has to be dropped. */
static lob_status count_votes(edge_work *w, const float **votes, float **smooth, int32_t label,
                              lob_error *error)
{
    lob_refine_job *j = w->j;
    const lob_volume parts = lob_refine_volume(j, w->parts, LOB_F32, w->channels + 1);
    const lob_volume voted = lob_refine_volume(j, w->parts, LOB_F32, 1);
    float *around;
    set_parts(w, label);
    LOB_TRY(lob_refine_gaussian(j, &around, &parts, w->not_finite ? w->mask : NULL,
                                j->options->edge_mm, error));
    vote(w, around);
    lob_refine_drop(j, around, w->channels + 1);
    *smooth = NULL;
    *votes = w->parts;
    if (j->options->edge_smooth_mm == 0) return LOB_OK;
    LOB_TRY(lob_refine_gaussian(j, smooth, &voted, NULL, j->options->edge_smooth_mm, error));
    *votes = *smooth;
    return LOB_OK;
}

/* ---- the label with most votes ---- */

/* Take a label where it has most votes so far, and more than half. */
static void take_most(edge_work *w, const float *votes, int32_t label, bool first)
{
    const lob_refine_job *j = w->j;
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++) {
        if (first) {
            w->best[i] = 0.5F;
            lob_label_put(w->labels, j->type, i, j->in->background);
        }
        if (!(votes[i] > w->best[i])) continue;
        w->best[i] = votes[i];
        lob_label_put(w->labels, j->type, i, label);
    }
}

static lob_status decide_one(edge_work *w, lob_error *error)
{
    const lob_refine_job *j = w->j;
    const int32_t background = j->in->background, label = 3 - background;
    const float *votes;
    float *smooth;
    LOB_TRY(count_votes(w, &votes, &smooth, label, error));
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++)
        lob_refine_put(j, i, votes[i] > 0.5F ? label : background);
    lob_refine_drop(w->j, smooth, 1);
    return LOB_OK;
}

static lob_status decide_all(edge_work *w, lob_error *error)
{
    lob_refine_job *j = w->j;
    bool first = true;
    LOB_TRY(lob_budget_alloc(&j->budget, &w->best, j->voxels, sizeof *w->best, error));
    LOB_TRY(
        lob_budget_alloc(&j->budget, &w->labels, j->voxels, lob_type_of(j->type)->bytes, error));
    for (int32_t l = 1; l <= j->in->label_count; l++) {
        const float *votes;
        float *smooth;
        if (l == j->in->background) continue;
        LOB_TRY(count_votes(w, &votes, &smooth, l, error));
        take_most(w, votes, l, first);
        lob_refine_drop(j, smooth, 1);
        first = false;
    }
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->voxels; i++)
        lob_refine_put(j, i, lob_label_at(w->labels, j->type, i));
    return LOB_OK;
}

lob_status lob_refine_edge(void *job, lob_error *error)
{
    lob_refine_job *const j = job;
    edge_work w = {.j = j, .channels = j->in->image->channels};
    const int64_t parts = j->voxels * (w.channels + 1);
    lob_status st = load(&w, error);
    if (st == LOB_OK) st = lob_budget_alloc(&j->budget, &w.parts, parts, sizeof *w.parts, error);
    if (st == LOB_OK) st = j->in->label_count == 2 ? decide_one(&w, error) : decide_all(&w, error);
    lob_budget_free(&j->budget, w.labels, j->voxels, lob_type_of(j->type)->bytes);
    lob_budget_free(&j->budget, w.best, j->voxels, sizeof *w.best);
    lob_budget_free(&j->budget, w.parts, parts, sizeof *w.parts);
    lob_refine_drop(j, w.mean, w.channels);
    lob_budget_free(&j->budget, w.mask, j->voxels, sizeof *w.mask);
    lob_budget_free(&j->budget, w.value, j->voxels * w.channels, sizeof *w.value);
    return st;
}
