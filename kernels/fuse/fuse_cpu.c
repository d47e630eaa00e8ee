/* Labels that patches of moved atlases vote for: the call, and its loops on the CPU. */
#include "kernels/arrays.h"
#include "kernels/device/device.h"
#include "kernels/fuse/fuse_voxel.h"
#include "kernels/histogram/histogram_bins.h"
#include "kernels/progress.h"
#include "kernels/share.h"
#include "kernels/simd_clones.h"
#include "volumes/bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The share of the whole work that is done once frames are filled. */
static const double filled = 0.2;

/* ---- loops ---- */

lob_status lob_fuse_scale(lob_fuse_filling *s, const lob_fuse_job *j, const lob_volume *image,
                          lob_error *error)
{
    const double percent[] = {1, 99};
    double value[2];
    if (!image) return LOB_OK;
    lob_volume there = *image;
    there.data = (void *)s->values;
    LOB_TRY(lob_percentiles_at(value, percent, 2, &there, &j->budget, j->context, error));
    s->low = value[0];
    s->per_unit = value[1] > value[0] ? 254 / (value[1] - value[0]) : 0;
    return LOB_OK;
}

static lob_status fill(lob_fuse_job *j, lob_fuse_filling *filling, const lob_volume *image,
                       const lob_volume *labels, lob_error *error)
{
    (void)labels;
    LOB_TRY(lob_fuse_scale(filling, j, image, error));
#pragma omp parallel for num_threads(j->context->threads) schedule(static)
    for (int64_t i = 0; i < j->votes.frame.count; i++) lob_fuse_fill(&j->votes, filling, i);
    return LOB_OK;
}

LOB_SIMD_CLONES(void, vote_row, (s, i, n, count), const lob_fuse_votes *s, int64_t i, int n,
                int64_t *count)
{
    if (s->patch == 0)
        lob_fuse_vote(s, s->weight, i, n, 0, count);
    else if (s->patch == 1)
        lob_fuse_vote(s, s->weight, i, n, 1, count);
    else
        lob_fuse_vote(s, s->weight, i, n, 2, count);
}

static lob_status vote(int64_t count[LOB_FUSE_COUNTS], lob_fuse_job *j, lob_error *error)
{
    const lob_fuse_votes *const s = &j->votes;
    const int64_t nx = s->dims.nx, rows = s->voxels / nx;
    lob_progress progress = {.context = j->context};
    (void)error;
    lob_progress_stage(&progress, 1, filled);
    lob_progress_stage(&progress, rows, 1);
#pragma omp parallel for num_threads(j->context->threads) schedule(dynamic, 4) \
    reduction(+ : count[ : LOB_FUSE_COUNTS])
    for (int64_t row = 0; row < rows; row++) {
        if (lob_progress_stopped(&progress)) continue;
        for (int64_t x = 0; x < nx; x += LOB_FUSE_WIDE)
            vote_row(s, row * nx + x, nx - x < LOB_FUSE_WIDE ? (int)(nx - x) : LOB_FUSE_WIDE,
                     count);
        lob_progress_report(&progress, 1);
    }
    return lob_progress_stopped(&progress) ? LOB_ECANCEL : LOB_OK;
}

static const lob_fuse_loops on_cpu = {fill, vote};

/* ---- a call ---- */

static lob_status check_volume(const lob_volume *volume, const char *name, const lob_fuse_job *j,
                               lob_error *error)
{
    if (!j->context->device) LOB_TRY(lob_check_memory(volume->place, NULL, NULL, error));
    if (volume->channels != 1)
        return lob_fail(error, LOB_EARG, "%s has %d channels, and one is compared", name,
                        volume->channels);
    return lob_same_grid(j->in->scan, "the scan", volume, name, error);
}

static lob_status check(const lob_fuse_job *j, lob_error *error)
{
    const lob_fuse_input *const in = j->in;
    const lob_fuse_options *const o = j->options;
    if (o->patch < 0 || o->patch > LOB_FUSE_MAX_PATCH || o->search < 0 ||
        o->search > LOB_FUSE_MAX_SEARCH || !(o->floor >= 0 && o->floor <= 65025))
        return lob_fail(error, LOB_EARG, "an option of fuse is outside its range");
    if (in->count < 1 || in->count > LOB_FUSE_MAX_ATLASES)
        return lob_fail(error, LOB_EARG, "%d atlases cannot be fused, from 1 to %d can", in->count,
                        LOB_FUSE_MAX_ATLASES);
    LOB_TRY(check_volume(in->scan, "the scan", j, error));
    for (int a = 0; a < in->count; a++) {
        char name[64];
        snprintf(name, sizeof name, "the labels of atlas %d", a + 1);
        const lob_type type = in->atlases[a].labels->type;
        LOB_TRY(check_volume(in->atlases[a].labels, name, j, error));
        if (type != LOB_U8 && type != LOB_I16 && type != LOB_I32)
            return lob_fail(error, LOB_EARG, "labels of type %s", lob_type_of(type)->name);
        snprintf(name, sizeof name, "atlas %d", a + 1);
        if (!o->majority) LOB_TRY(check_volume(in->atlases[a].image, name, j, error));
    }
    return LOB_OK;
}

static void make_weights(lob_fuse_job *j)
{
    /* e^(-1/16) by its table's own steps: products of two doubles are the same everywhere. */
    const double factor = 0.93941306281347578611971082462230505;
    double weight = 65535;
    for (int i = 0; i < LOB_FUSE_STEPS - 1; i++) {
        j->votes.weight[i] = (uint16_t)(weight + 0.5);
        weight *= factor;
    }
}

/* Find an atlas's labels, as they are stored, and add them to the output's. */
static lob_status find_labels(lob_fuse_job *j, int atlas, lob_error *error)
{
    lob_volume labels = *j->in->atlases[atlas].labels, here = lob_volume_empty();
    const int64_t moved = labels.place.kind == LOB_PLACE_MEMORY ? 0 : lob_volume_bytes(&labels);
    char name[64];
    lob_status st = LOB_OK;
    snprintf(name, sizeof name, "the labels of atlas %d", atlas + 1);
    LOB_TRY(lob_budget_hold(&j->budget, moved, error));
    if (moved) st = lob_volume_move(&here, &labels, (lob_place){0}, j->context, error);
    if (moved) labels = here;
    labels.slope = 1;
    labels.inter = 0;
    if (st == LOB_OK) st = lob_labels_count(&j->has[atlas], &labels, name, error);
    lob_volume_free(&here);
    lob_budget_release(&j->budget, moved);
    return st == LOB_OK ? lob_label_set_join(&j->out->set, &j->has[atlas], error) : st;
}

/* All labels: is their number possible? Hold memory for the output. */
static lob_status find_output(lob_fuse_job *j, lob_error *error)
{
    lob_label_set *const set = &j->out->set;
    for (int a = 0; a < j->in->count; a++) LOB_TRY(find_labels(j, a, error));
    if (set->count > LOB_FUSE_MAX_LABELS)
        return lob_fail(error, LOB_EDATA,
                        "the atlases have more than %d labels; are images and labels swapped?",
                        LOB_FUSE_MAX_LABELS);
    if (set->count == 0) return lob_fail(error, LOB_EDATA, "no atlas has a label");
    /* Labels in the type that they get in the end, and shares. */
    const lob_type type = lob_label_type(set->values[set->count - 1]);
    const int64_t each =
        (int64_t)lob_type_of(type)->bytes + set->count * (int64_t)sizeof *j->out->shares;
    const int64_t bytes = lob_product(lob_voxels(j->in->scan), each, 1, 1);
    LOB_TRY(lob_budget_hold(&j->budget, bytes < 0 ? INT64_MAX : bytes, error));
    j->output = bytes;
    return LOB_OK;
}

/* Where voxels lie in the job's frame. */
static lob_status frame_make(lob_fuse_job *j, lob_error *error)
{
    const lob_dims d = j->votes.dims;
    lob_fuse_frame *const f = &j->votes.frame;
    const int64_t m = j->options->majority ? 0 : j->options->patch + j->options->search;
    f->margin = m;
    f->row = d.nx + 2 * m;
    f->plane = f->row * (d.ny + 2 * m);
    f->count = lob_product(f->row, d.ny + 2 * m, d.nz + 2 * m, 1);
    f->first = m * (f->plane + f->row + 1);
    return f->count < 0 ? lob_fail(error, LOB_EDATA, "the grid has too many voxels") : LOB_OK;
}

/* Levels of an image and dense labels, either of which may be NULL. atlas: its number, from 1; 0:
 * the scan. */
static lob_status make_levels(lob_fuse_job *j, const lob_volume *image, const lob_volume *labels,
                              int atlas, lob_error *error)
{
    lob_fuse_votes *const s = &j->votes;
    lob_fuse_levels *const to = &s->of[atlas];
    lob_device *const device = j->context->device;
    if (j->options->majority) image = NULL;
    if (!image && !labels) return LOB_OK;
    if (image) LOB_TRY(lob_budget_alloc_at(&j->budget, device, &to->level, s->frame.count, error));
    if (labels) LOB_TRY(lob_budget_alloc_at(&j->budget, device, &to->label, s->frame.count, error));
    lob_fuse_filling filling = {.to = *to,
                                .values = image ? image->data : NULL,
                                .labels = labels ? labels->data : NULL,
                                .values_type = image ? image->type : LOB_U8,
                                .labels_type = labels ? labels->type : LOB_U8,
                                .slope = image ? image->slope : 1,
                                .inter = image ? image->inter : 0};
    const lob_status st = j->loops->fill(j, &filling, image, labels, error);
    if (st == LOB_EDATA && atlas == 0) return lob_fail(error, st, "the scan has no finite value");
    if (st == LOB_EDATA) return lob_fail(error, st, "atlas %d has no finite value", atlas);
    return st;
}

static lob_status make_all_levels(lob_fuse_job *j, lob_error *error)
{
    const lob_context *const context = j->context;
    LOB_TRY(frame_make(j, error));
    LOB_TRY(make_levels(j, j->in->scan, NULL, 0, error));
    for (int a = 0; a < j->in->count; a++) {
        const lob_fuse_atlas *const atlas = &j->in->atlases[a];
        LOB_TRY(make_levels(j, atlas->image, atlas->labels, a + 1, error));
        LOB_TRY(lob_report(context, filled * (a + 1) / j->in->count));
    }
    return LOB_OK;
}

static void release(lob_fuse_job *j)
{
    const int64_t n = j->votes.frame.count;
    for (int a = 0; a <= j->in->count; a++) {
        lob_budget_free_at(&j->budget, j->context->device, j->votes.of[a].level, n);
        lob_budget_free_at(&j->budget, j->context->device, j->votes.of[a].label, n);
    }
    for (int a = 0; a < j->in->count; a++) lob_label_set_free(&j->has[a]);
}

/* The votes' options and labels. */
static void set_votes(lob_fuse_job *j)
{
    const lob_fuse_options *const o = j->options;
    const double side = 2 * o->patch + 1, voxels = side * side * side;
    lob_fuse_votes *const s = &j->votes;
    make_weights(j);
    memcpy(s->value, j->out->set.values, (size_t)j->out->set.count * sizeof *s->value);
    for (int a = 0; a < j->in->count; a++)
        for (int32_t l = 0; l < j->has[a].count; l++)
            s->has[a] |= UINT64_C(1) << (lob_label_set_find(&j->out->set, j->has[a].values[l]) - 1);
    s->dims = j->in->scan->dims;
    s->voxels = lob_voxels(j->in->scan);
    s->type = lob_label_type(j->out->set.values[j->out->set.count - 1]);
    s->atlases = j->in->count;
    s->count = j->out->set.count;
    s->search = o->majority ? 0 : o->search;
    s->patch = o->patch;
    s->floor = (float)(o->floor * voxels * voxels);
    s->majority = o->majority;
}

static lob_status run(lob_fuse_job *j, lob_error *error)
{
    lob_label_set *const set = &j->out->set;
    lob_volume *const labels = &j->out->labels;
    lob_context there = *j->context;
    int64_t count[LOB_FUSE_COUNTS] = {0};
    set->voxels = calloc((size_t)set->count, sizeof *set->voxels);
    if (!set->voxels) return lob_fail(error, LOB_ENOMEM, "no memory for labels");
    set_votes(j);
    if (j->in->scan->place.kind == LOB_PLACE_MEMORY) there.device = NULL;
    LOB_TRY(lob_volume_at(labels, j->in->scan, j->votes.type, 1, &there, error));
    lob_label_names_free(&labels->names);
    j->votes.labels = labels->data;
    j->out->device = there.device;
    LOB_TRY(lob_array_alloc(there.device, (void **)&j->out->shares,
                            j->votes.voxels * set->count * (int64_t)sizeof *j->out->shares, error));
    j->votes.shares = j->out->shares;
    LOB_TRY(make_all_levels(j, error));
    LOB_TRY(j->loops->vote(count, j, error));
    for (int l = 1; l <= set->count; l++) set->voxels[l - 1] = count[l];
    j->out->unseen = count[LOB_FUSE_UNSEEN];
    return LOB_OK;
}

lob_fuse_options lob_fuse_defaults(void)
{
    return (lob_fuse_options){.patch = 1, .search = 1, .floor = 16};
}

lob_fuse_output lob_fuse_output_empty(void)
{
    return (lob_fuse_output){.labels = lob_volume_empty()};
}

void lob_fuse_output_free(lob_fuse_output *out)
{
    lob_volume_free(&out->labels);
    lob_array_free(out->device, out->shares);
    lob_label_set_free(&out->set);
    *out = lob_fuse_output_empty();
}

#ifndef LOB_WITH_CUDA
const lob_fuse_loops lob_fuse_on_cuda; /* there is no device */
#endif

lob_status lob_fuse(lob_fuse_output *out, const lob_fuse_input *in, const lob_fuse_options *options,
                    const lob_context *context, lob_error *error)
{
    lob_fuse_job j = {
        .in = in,
        .options = options,
        .context = context,
        .loops = context->device ? &lob_fuse_on_cuda : &on_cpu,
        .budget = {.who = "fusing", .limit = context->max_memory},
        .out = out,
    };
    *out = lob_fuse_output_empty();
    lob_error_begin(error);
    LOB_TRY(check(&j, error));
    lob_status st = find_output(&j, error);
    lob_device_begin(context->device);
    if (st == LOB_OK) st = run(&j, error);
    release(&j);
    lob_device_end(context->device);
    out->working_bytes = j.budget.peak - j.output;
    if (st != LOB_OK) lob_fuse_output_free(out);
    return lob_error_end(error, st);
}
