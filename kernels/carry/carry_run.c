/* The whole job: atlases, seeds, growth, and what is told about the result. */
#include "kernels/carry/carry_voxel.h"
#include "kernels/register/register.h"
#include "kernels/scores/overlaps.h"
#include "kernels/share.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

lob_carry_options lob_carry_defaults(void)
{
    return (lob_carry_options){
        .smooth = lob_register_defaults().smooth,
        .fuse = lob_fuse_defaults(),
        .use = 5,
        .sure = 0.9,
        .sure_background = 0.9,
        .sure_mm = 2.6,
        .against = 0.2,
        .claimed = 0.6,
        .edge = 1,
        .reach_mm = 20,
    };
}

lob_carry_output lob_carry_output_empty(void)
{
    const lob_volume none = lob_volume_empty();
    return (lob_carry_output){.labels = none, .shares = none, .doubt = none};
}

void lob_carry_output_free(lob_carry_output *out)
{
    lob_volume_free(&out->labels);
    lob_volume_free(&out->shares);
    lob_volume_free(&out->doubt);
    free(out->label);
    free(out->atlas);
    *out = lob_carry_output_empty();
}

/* ---- passes, and volumes that come from them ---- */

lob_status lob_carry_each(lob_carry_job *j, const lob_carry_pass *p, int64_t sums[LOB_CARRY_SUMS],
                          lob_error *error)
{
    int64_t none[LOB_CARRY_SUMS], *const to = sums ? sums : none;
    memset(to, 0, sizeof none);
#ifdef LOB_WITH_CUDA
    lob_device *const device = j->steps.context->device;
    if (device) return lob_carry_each_cuda(p, sums, device, error);
#else
    (void)error;
#endif
#pragma omp parallel for num_threads(j->steps.context->threads) schedule(static) \
    reduction(+ : to[ : LOB_CARRY_SUMS])
    for (int64_t i = 0; i < p->voxels; i++) lob_carry_voxel(p, i, to);
    return LOB_OK;
}

lob_status lob_carry_fetch(lob_carry_job *j, lob_volume *volume, lob_error *error)
{
    lob_volume here;
    if (!volume->data || volume->place.kind == LOB_PLACE_MEMORY) return LOB_OK;
    LOB_TRY(lob_segment_copy(&j->steps, &here, volume, (lob_place){0}, error));
    lob_segment_drop(&j->steps, volume);
    *volume = here;
    return LOB_OK;
}

/* ---- labels ---- */

/* Are some strokes the background's, because no atlas has their label? */
static bool is_background(const lob_carry_job *j, const lob_label_set *drawn, int32_t label)
{
    int32_t unknown = 0;
    if (j->options->background > 0) return label == j->options->background;
    for (int32_t i = 0; i < drawn->count; i++)
        unknown += lob_label_set_find(&j->known, drawn->values[i]) == 0;
    return unknown == 1 && lob_label_set_find(&j->known, label) == 0;
}

/* A label of which nothing has been found yet. */
static lob_carry_label unfound(const lob_carry_job *j, int32_t label)
{
    lob_carry_label of = {.label = label, .share = NAN, .agreement = NAN};
    for (int k = 0; k < j->used; k++) of.atlases += lob_label_set_find(&j->has[k], label) > 0;
    return of;
}

/* The labels of votes and of strokes, ascending, which have dense numbers; then those of used
 * atlases that got no votes. */
static lob_status list_labels(lob_carry_job *j, const lob_label_set *drawn, lob_error *error)
{
    lob_label_set all = {0};
    lob_carry_output *const out = j->out;
    lob_status st = lob_label_set_join(&all, drawn, error);
    for (int k = 0; k < j->used && st == LOB_OK; k++)
        st = lob_label_set_join(&all, &j->has[k], error);
    if (st == LOB_OK) out->label = calloc((size_t)all.count + 1, sizeof *out->label);
    if (st == LOB_OK && !out->label) st = lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    for (int lost = 0; lost < 2 && st == LOB_OK; lost++) {
        for (int32_t i = 0; i < all.count; i++) {
            const int32_t label = all.values[i];
            const bool found = lob_label_set_find(&j->votes.set, label) > 0 ||
                               lob_label_set_find(drawn, label) > 0;
            if (found != lost && !is_background(j, drawn, label))
                out->label[out->label_count++] = unfound(j, label);
        }
        if (!lost) j->count = out->label_count;
    }
    lob_label_set_free(&all);
    LOB_TRY(st);
    if (j->count > LOB_CARRY_MAX_LABELS)
        return lob_fail(error, LOB_EDATA, "%d labels, and at most %d can be told apart", j->count,
                        LOB_CARRY_MAX_LABELS);
    return LOB_OK;
}

/* The label of this number, NULL where there is none. */
static lob_carry_label *label_of(const lob_carry_job *j, int32_t label)
{
    return bsearch(&label, j->out->label, (size_t)j->count, sizeof *j->out->label, lob_by_int32);
}

/* The strokes with dense labels of their own, `set`. */
static lob_status load_strokes(lob_carry_job *j, lob_label_set *set, lob_error *error)
{
    const lob_volume *const strokes = j->in->strokes;
    lob_volume *const drawn = &j->drawn;
    LOB_TRY(lob_budget_hold(&j->steps.budget, lob_volume_bytes(strokes), error));
    lob_status st = lob_volume_move(drawn, strokes, (lob_place){0}, j->steps.context, error);
    if (st == LOB_OK) st = lob_labels_dense(drawn, set, "strokes", error);
    lob_budget_release(&j->steps.budget, lob_volume_bytes(strokes)); /* of the type before */
    if (st == LOB_OK) st = lob_budget_hold(&j->steps.budget, lob_volume_bytes(drawn), error);
    drawn->geometry = j->in->scan->geometry;
    if (st == LOB_OK) return LOB_OK;
    lob_volume_free(drawn);
    lob_label_set_free(set);
    return st;
}

/* Number them as the job does, which has one label less at most: the background, count + 1. */
static void number_strokes(lob_carry_job *j, const lob_label_set *set)
{
    uint8_t number[LOB_CARRY_MAX_LABELS + 2] = {0}, *const drawn = j->drawn.data;
    for (int32_t i = 0; i < set->count; i++) {
        const lob_carry_label *const label = label_of(j, set->values[i]);
        number[i + 1] = (uint8_t)(label ? label - j->out->label + 1 : j->count + 1);
    }
    for (int64_t i = 0; i < lob_voxels(&j->drawn); i++) drawn[i] = number[drawn[i]];
}

static lob_status find_labels(lob_carry_job *j, lob_error *error)
{
    lob_label_set drawn = {0};
    if (j->in->strokes) LOB_TRY(load_strokes(j, &drawn, error));
    const lob_status st = list_labels(j, &drawn, error);
    if (st == LOB_OK && j->in->strokes) number_strokes(j, &drawn);
    lob_label_set_free(&drawn);
    return st;
}

/* ---- results ---- */

/* The box's labels on the whole grid, with their own numbers. */
static lob_status write_labels(lob_carry_job *j, lob_error *error)
{
    lob_volume *const out = &j->out->labels;
    lob_label_names names = out->names;
    lob_label_set set = {.count = j->count};
    int32_t values[LOB_CARRY_MAX_LABELS];
    LOB_TRY(lob_carry_fetch(j, &j->grown, error));
    out->names = (lob_label_names){NULL};
    lob_status st = lob_volume_like(out, j->in->scan, LOB_U8, 1);
    lob_label_names_free(&out->names);
    out->names = names;
    if (st != LOB_OK) return lob_fail(error, st, "no memory left for labels");
    if (j->grown.data) lob_volume_put(out, &j->grown, j->box.first);
    uint8_t *const to = out->data;
    for (int64_t i = 0; i < lob_voxels(out); i++) to[i] = to[i] <= j->count ? to[i] : 0;
    for (int32_t l = 0; l < j->count; l++) values[l] = j->out->label[l].label;
    set.values = values;
    st = lob_labels_restore(out, &set);
    return st == LOB_OK ? st : lob_fail(error, st, "no memory left for labels");
}

/* Float volumes of the whole grid; what is beyond the box has doubt 0. */
static lob_status make_float(lob_carry_job *j, lob_volume *out, int channels, lob_error *error)
{
    if (lob_volume_like(out, j->in->scan, LOB_F32, channels) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "no memory left for votes");
    lob_label_names_free(&out->names);
    return LOB_OK;
}

/* What the votes in the box say of the result: each label's mean share, and the doubt of voxels. */
static lob_status judge(lob_carry_job *j, lob_volume *doubt, lob_error *error)
{
    int64_t sums[LOB_CARRY_SUMS];
    lob_carry_pass pass = {.kind = LOB_CARRY_JUDGE,
                           .voxels = lob_voxels(&j->part),
                           .count = j->count,
                           .out = j->grown.data};
    if (j->in->doubt) LOB_TRY(lob_segment_make(&j->steps, doubt, &j->part, LOB_F32, 1, error));
    pass.doubt = doubt->data;
    for (int32_t l = 1; l <= j->count; l++) {
        lob_carry_label *const label = &j->out->label[l - 1];
        LOB_TRY(lob_carry_each_of_label(j, &pass, l, sums, error));
        label->voxels = sums[0];
        if (sums[0] > 0) label->share = (double)sums[1] / LOB_FUSE_ONE / (double)sums[0];
    }
    return LOB_OK;
}

/* The labels' shares, and the doubt of voxels on the whole grid. */
static lob_status write_doubt(lob_carry_job *j, lob_error *error)
{
    lob_volume doubt = lob_volume_empty();
    lob_status st = judge(j, &doubt, error);
    if (st == LOB_OK) st = lob_carry_fetch(j, &doubt, error);
    if (st == LOB_OK && doubt.data && j->count > 0)
        lob_volume_put(&j->out->doubt, &doubt, j->box.first);
    lob_segment_drop(&j->steps, &doubt);
    return st;
}

/* Add each label's Dice in the result and in an atlas, both on the grid for moving. */
static lob_status agree_with(lob_carry_job *j, const lob_volume *result, const lob_volume *atlas,
                             const lob_label_set *has, lob_error *error)
{
    lob_overlap *overlap;
    int32_t count;
    int equal;
    const int64_t copies = lob_volume_bytes(result) + lob_volume_bytes(atlas);
    LOB_TRY(lob_budget_hold(&j->steps.budget, copies, error));
    const lob_context inner = lob_budget_inner(&j->steps.budget, j->steps.context);
    const lob_status st = lob_compare_labels(&overlap, &count, &equal, result, "the result", atlas,
                                             "an atlas", 0, &inner, error);
    lob_budget_release(&j->steps.budget, copies);
    LOB_TRY(st);
    for (int32_t o = 0; o < count; o++) {
        lob_carry_label *const label = label_of(j, overlap[o].label);
        if (label && lob_label_set_find(has, label->label) > 0) label->agreement += overlap[o].dice;
    }
    free(overlap);
    return LOB_OK;
}

/* How far the result agrees with the moved atlases. */
static lob_status agree(lob_carry_job *j, lob_error *error)
{
    lob_volume result = lob_volume_empty();
    if (j->count == 0) return LOB_OK;
    LOB_TRY(lob_segment_onto(&j->steps, &result, &j->out->labels, &j->scan, LOB_RESAMPLE_MAJORITY,
                             0.01, error));
    lob_status st = lob_carry_fetch(j, &result, error);
    for (int32_t l = 0; l < j->count; l++) j->out->label[l].agreement = 0;
    for (int k = 0; k < j->used && st == LOB_OK; k++)
        st = agree_with(j, &result, &j->labels[k], &j->has[k], error);
    for (int32_t l = 0; l < j->count; l++) {
        lob_carry_label *const label = &j->out->label[l];
        label->agreement = label->voxels > 0 ? label->agreement / label->atlases : NAN;
    }
    lob_segment_drop(&j->steps, &result);
    return st;
}

static lob_status write_shares(lob_carry_job *j, lob_error *error)
{
    lob_budget *const budget = &j->steps.budget;
    const int64_t n = lob_voxels(j->in->scan), peak = budget->peak;
    const int64_t bytes = lob_product(n, j->out->label_count, (int64_t)sizeof(float), 1);
    LOB_TRY(lob_budget_hold(budget, bytes < 0 ? INT64_MAX : bytes, error));
    LOB_TRY(make_float(j, &j->out->shares, j->out->label_count, error));
    for (int32_t l = 0; l < j->out->label_count; l++) {
        lob_volume one;
        float *const to = (float *)j->out->shares.data + l * n;
        LOB_TRY(lob_carry_share(j, &one, j->out->label[l].label, j->in->scan, error));
        const lob_status st = lob_carry_fetch(j, &one, error);
        for (int64_t i = 0; st == LOB_OK && i < n && one.data; i++)
            to[i] = (float)((const uint16_t *)one.data)[i] / LOB_FUSE_ONE;
        lob_segment_drop(&j->steps, &one);
        if (st != LOB_OK) return st;
    }
    lob_budget_release(budget, bytes);
    budget->peak = peak > budget->peak - bytes ? peak : budget->peak - bytes; /* without output */
    return LOB_OK;
}

/* ---- the job ---- */

static lob_status run(lob_carry_job *j, lob_error *error)
{
    bool any;
    LOB_TRY(lob_carry_move(j, error));
    LOB_TRY(find_labels(j, error));
    for (int k = 0; k < j->used; k++) {
        lob_segment_drop(&j->steps, &j->image[k]);
        LOB_TRY(lob_carry_fetch(j, &j->labels[k], error));
    }
    LOB_TRY(lob_carry_box(j, &any, error));
    if (j->in->doubt) LOB_TRY(make_float(j, &j->out->doubt, 1, error));
    if (any) {
        LOB_TRY(lob_carry_seeds(j, error));
        LOB_TRY(lob_carry_grow(j, error));
        LOB_TRY(write_doubt(j, error));
    }
    LOB_TRY(write_labels(j, error));
    LOB_TRY(agree(j, error));
    qsort(j->out->label, (size_t)j->out->label_count, sizeof *j->out->label, lob_by_int32);
    return j->in->shares ? write_shares(j, error) : LOB_OK;
}

static lob_status check(const lob_carry_input *in, const lob_carry_options *o, lob_error *error)
{
    const double shares[] = {o->sure, o->sure_background, o->against, o->claimed, o->edge};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (!(shares[i] >= 0 && shares[i] <= 1))
            return lob_fail(error, LOB_EARG, "a share of %g is not from 0 to 1", shares[i]);
    if (o->sure < 0.5 || o->sure_background < 0.5 || o->use < 1 || o->use > LOB_FUSE_MAX_ATLASES ||
        !(o->grid_mm >= 0 && o->grid_mm <= 1e6) || !(o->sure_mm >= 0 && o->sure_mm <= 1e6) ||
        !(o->reach_mm >= 0 && o->reach_mm <= 1e6) || o->background < 0)
        return lob_fail(error, LOB_EARG, "an option of carry is outside its range");
    if (in->count < 1 || in->count > LOB_CARRY_MAX_ATLASES)
        return lob_fail(error, LOB_EARG, "%d atlases; there may be 1 to %d", in->count,
                        LOB_CARRY_MAX_ATLASES);
    if (in->scan->channels != 1)
        return lob_fail(error, LOB_EARG, "the scan has %d channels; one is needed",
                        in->scan->channels);
    LOB_TRY(lob_check_memory(in->scan->place, in->strokes, NULL, error));
    return in->strokes ? lob_same_grid(in->scan, "the scan", in->strokes, "the strokes", error)
                       : LOB_OK;
}

static void drop_all(lob_carry_job *j)
{
    for (int k = 0; k < j->used; k++) {
        lob_segment_drop(&j->steps, &j->image[k]);
        lob_segment_drop(&j->steps, &j->labels[k]);
        lob_label_set_free(&j->has[k]);
    }
    lob_label_set_free(&j->known);
    lob_volume *const volumes[] = {&j->scan,  &j->drawn, &j->part,  &j->strokes, &j->best,
                                   &j->share, &j->all,   &j->seeds, &j->reached, &j->grown};
    for (size_t i = 0; i < sizeof volumes / sizeof volumes[0]; i++)
        lob_segment_drop(&j->steps, volumes[i]);
    lob_fuse_output_free(&j->votes);
}

lob_status lob_carry(lob_carry_output *out, const lob_carry_input *in,
                     const lob_carry_options *options, const lob_context *context, lob_error *error)
{
    lob_carry_job j = {
        .in = in,
        .options = options,
        .out = out,
        .steps = {.backend = context->device ? lob_backend_named("cuda") : lob_backends[0],
                  .context = context,
                  .budget = {.who = "carrying", .limit = context->max_memory}},
        .votes = lob_fuse_output_empty(),
    };
    *out = lob_carry_output_empty();
    lob_error_begin(error);
    LOB_TRY(check(in, options, error));
    out->atlas = calloc((size_t)in->count, sizeof *out->atlas);
    if (!out->atlas) return lob_fail(error, LOB_ENOMEM, "no memory left for atlases");
    for (int i = 0; i < in->count; i++) out->atlas[i].cost = NAN;
    lob_status st = run(&j, error);
    if (st == LOB_OK) st = lob_report(context, 1);
    out->working_bytes = j.steps.budget.peak;
    drop_all(&j);
    if (st != LOB_OK) lob_carry_output_free(out);
    return lob_error_end(error, st);
}
