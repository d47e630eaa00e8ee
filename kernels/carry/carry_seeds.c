/* Seeds: what the votes are sure of, what grey values contradict, and strokes; and their growth. */
#include "kernels/carry/carry_voxel.h"
#include "kernels/register/register.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The box goes so far beyond what has at least this share of votes. */
static const double box_margin_mm = 15, box_share = 0.05;

/* Refining: how much votes count beside smooth borders; sigmas, as shares of the grid for moving
 * that is chosen for a scan of this size: 2 and 2.5 mm. */
static const double settle = 0.1, settle_steps = 2.0 / 3, edge_steps = 2.5 / 3;

static uint16_t share_of(double share)
{
    return (uint16_t)(share * LOB_FUSE_ONE + 0.5);
}

/* ---- the box ---- */

/* Mark the scan's voxels around those of the votes' grid that have votes; in ordinary memory. */
static lob_status mark_votes(lob_carry_job *j, lob_volume *near, lob_error *error)
{
    lob_volume some;
    LOB_TRY(lob_segment_make(&j->steps, &some, &j->scan, LOB_U8, 1, error));
    const lob_carry_pass mark = {.kind = LOB_CARRY_MARK,
                                 .voxels = lob_voxels(&j->scan),
                                 .count = j->votes.set.count,
                                 .own = j->votes.shares,
                                 .out = some.data,
                                 .sure = share_of(box_share)};
    lob_status st = lob_carry_each(j, &mark, NULL, error);
    if (st == LOB_OK)
        st = lob_segment_onto(&j->steps, near, &some, j->in->scan, LOB_RESAMPLE_NEAREST, 0.01,
                              error);
    lob_segment_drop(&j->steps, &some);
    return st == LOB_OK ? lob_carry_fetch(j, near, error) : st;
}

lob_status lob_carry_box(lob_carry_job *j, bool *any, lob_error *error)
{
    const lob_volume *const scan = j->in->scan;
    const uint8_t *const drawn = j->drawn.data;
    lob_volume near = lob_volume_empty();
    int64_t margin[3];
    lob_status st = mark_votes(j, &near, error);
    for (int64_t i = 0; st == LOB_OK && drawn && i < lob_voxels(scan); i++)
        ((uint8_t *)near.data)[i] |= drawn[i];
    *any = st == LOB_OK && lob_box_of(&j->box, &near);
    lob_segment_drop(&j->steps, &near);
    if (*any) {
        for (int a = 0; a < 3; a++)
            margin[a] = (int64_t)ceil(box_margin_mm / scan->geometry.spacing_mm[a] - 1e-6);
        lob_box_widen(&j->box, margin, scan->dims);
        const lob_volume grid = lob_segment_box_grid(&scan->geometry, &j->box);
        st = lob_segment_onto(&j->steps, &j->part, scan, &grid, LOB_RESAMPLE_NEAREST, 0.01, error);
        if (st == LOB_OK && drawn)
            st = lob_segment_onto(&j->steps, &j->strokes, &j->drawn, &grid, LOB_RESAMPLE_NEAREST, 0,
                                  error);
    }
    lob_segment_drop(&j->steps, &j->drawn);
    return st;
}

/* ---- votes ---- */

lob_status lob_carry_share(lob_carry_job *j, lob_volume *out, int32_t label, const lob_volume *grid,
                           lob_error *error)
{
    const int32_t dense = lob_label_set_find(&j->votes.set, label);
    lob_volume votes = lob_segment_grid(j->scan.dims, &j->scan.geometry);
    *out = lob_volume_empty();
    if (dense == 0) return LOB_OK;
    votes.data = j->votes.shares + (dense - 1) * lob_voxels(&j->scan);
    votes.type = LOB_U16;
    votes.place = j->scan.place;
    votes.borrowed = true;
    return lob_segment_onto(&j->steps, out, &votes, grid, LOB_RESAMPLE_LINEAR, 0, error);
}

lob_status lob_carry_each_of_label(lob_carry_job *j, lob_carry_pass *pass, int32_t l, int64_t *sums,
                                   lob_error *error)
{
    lob_volume one;
    LOB_TRY(lob_carry_share(j, &one, j->out->label[l - 1].label, &j->part, error));
    pass->label = l;
    pass->own = one.data;
    const lob_status st = lob_carry_each(j, pass, sums, error);
    lob_segment_drop(&j->steps, &one);
    return st;
}

static lob_carry_pass pass_of(const lob_carry_job *j, lob_carry_kind kind)
{
    return (lob_carry_pass){.kind = kind,
                            .voxels = lob_voxels(&j->part),
                            .count = j->count,
                            .seeds = j->seeds.data,
                            .best = j->best.data,
                            .share = j->share.data,
                            .all = j->all.data,
                            .strokes = j->strokes.data,
                            .reached = j->reached.data};
}

static lob_status find_winners(lob_carry_job *j, lob_error *error)
{
    LOB_TRY(lob_segment_make(&j->steps, &j->best, &j->part, LOB_U8, 1, error));
    LOB_TRY(lob_segment_make(&j->steps, &j->share, &j->part, LOB_U16, 1, error));
    LOB_TRY(lob_segment_make(&j->steps, &j->all, &j->part, LOB_U16, 1, error));
    lob_carry_pass pass = pass_of(j, LOB_CARRY_CLEAR);
    LOB_TRY(lob_carry_each(j, &pass, NULL, error));
    pass.kind = LOB_CARRY_WIN;
    for (int32_t l = 1; l <= j->count; l++)
        LOB_TRY(lob_carry_each_of_label(j, &pass, l, NULL, error));
    return LOB_OK;
}

/* Seeds where votes win clearly, so far inside. */
static lob_status find_cores(lob_carry_job *j, lob_error *error)
{
    LOB_TRY(lob_segment_make(&j->steps, &j->seeds, &j->part, LOB_U8, 1, error));
    lob_carry_pass pass = pass_of(j, LOB_CARRY_SURE);
    pass.sure = share_of(j->options->sure);
    LOB_TRY(lob_carry_each(j, &pass, NULL, error));
    if (!(j->options->sure_mm > 0)) return LOB_OK;
    lob_morphology_input in = {
        .labels = pass.seeds, .type = LOB_U8, .dims = j->part.dims, .place = j->seeds.place};
    lob_segment_turn turn;
    memcpy(in.spacing, j->part.geometry.spacing_mm, sizeof in.spacing);
    return j->steps.backend->morphology(pass.seeds, &in, LOB_MORPHOLOGY_ERODE, j->options->sure_mm,
                                        lob_segment_begin(&j->steps, &turn, 0.01), error);
}

/* Seeds of what the votes are sure of. seeds: of each label, and of the background. */
static lob_status find_sure(lob_carry_job *j, int64_t seeds[LOB_CARRY_SUMS], lob_error *error)
{
    LOB_TRY(find_winners(j, error));
    LOB_TRY(find_cores(j, error));
    lob_carry_pass pass = pass_of(j, LOB_CARRY_COUNT);
    LOB_TRY(lob_carry_each(j, &pass, seeds, error));
    for (int l = 0; l < LOB_CARRY_SUMS; l++) pass.flag[l] = seeds[l] > 0;
    pass.kind = LOB_CARRY_REST;
    pass.beyond = share_of(1 - j->options->sure_background);
    return lob_carry_each(j, &pass, seeds, error);
}

/* ---- what contradicts ---- */

static lob_status reopen(lob_carry_job *j, lob_carry_pass *pass, const lob_volume *grey,
                         lob_error *error)
{
    int64_t sums[LOB_CARRY_SUMS];
    pass->kind = LOB_CARRY_REOPEN;
    pass->grey = grey->data;
    pass->against = (int)(j->options->against * 255 + 0.5);
    pass->claimed = (int)(j->options->claimed * 255 + 0.5);
    LOB_TRY(lob_carry_each(j, pass, sums, error));
    for (int32_t l = 1; l <= j->count; l++) j->out->label[l - 1].reopened = sums[l];
    j->out->reopened_background = sums[j->count + 1];
    return LOB_OK;
}

static lob_status contradict(lob_carry_job *j, const int64_t seeds[LOB_CARRY_SUMS],
                             lob_error *error)
{
    lob_carry_pass pass = pass_of(j, LOB_CARRY_DENSE);
    uint8_t count = 0;
    lob_volume dense, shares = lob_volume_empty();
    lob_segment_turn turn;
    for (int32_t l = 1; l <= j->count + 1; l++) pass.flag[l] = seeds[l] > 0 ? count++ : UINT8_MAX;
    if (count < 2 || seeds[j->count + 1] == 0) return LOB_OK;
    LOB_TRY(lob_segment_make(&j->steps, &dense, &j->part, LOB_U8, 1, error));
    pass.out = dense.data;
    lob_status st = lob_carry_each(j, &pass, NULL, error);
    const lob_volume *const views[] = {&j->part};
    const lob_appearance_input in = {
        .views = views,
        .view_count = 1,
        .seeds = dense.data,
        .seed_type = LOB_U8,
        .labels = count,
        .background = count,
        .place = dense.place,
    };
    lob_appearance_options options = lob_appearance_defaults();
    lob_appearance_stats stats;
    options.levels = true;
    options.blur_mm = lob_least_spacing(j->part.dims, j->part.geometry.spacing_mm);
    if (st == LOB_OK) st = lob_segment_make(&j->steps, &shares, &j->part, LOB_U8, count - 1, error);
    if (st == LOB_OK)
        st = j->steps.backend->appearance(shares.data, &stats, &in, &options,
                                          lob_segment_begin(&j->steps, &turn, 0.04), error);
    if (st == LOB_OK) st = reopen(j, &pass, &shares, error);
    lob_segment_drop(&j->steps, &shares);
    lob_segment_drop(&j->steps, &dense);
    return st;
}

/* ---- strokes ---- */

/* Strokes become seeds, and near to them no seed says otherwise. */
static lob_status draw(lob_carry_job *j, lob_error *error)
{
    lob_segment_turn turn;
    LOB_TRY(lob_segment_make(&j->steps, &j->reached, &j->part, LOB_U8, 1, error));
    lob_distance_input in = {
        .labels = j->strokes.data, .type = LOB_U8, .dims = j->part.dims, .place = j->strokes.place};
    lob_distance_options options = lob_distance_defaults();
    const lob_distance_output out = {.feature = j->reached.data};
    memcpy(in.spacing, j->part.geometry.spacing_mm, sizeof in.spacing);
    options.max = j->options->reach_mm;
    LOB_TRY(j->steps.backend->distance(&out, &in, &options,
                                       lob_segment_begin(&j->steps, &turn, 0.01), error));
    const lob_carry_pass pass = pass_of(j, LOB_CARRY_DRAW);
    return lob_carry_each(j, &pass, NULL, error);
}

lob_status lob_carry_seeds(lob_carry_job *j, lob_error *error)
{
    int64_t seeds[LOB_CARRY_SUMS];
    LOB_TRY(find_sure(j, seeds, error));
    for (int32_t l = 1; l <= j->count; l++) j->out->label[l - 1].seeds = seeds[l];
    if (j->options->against > 0 || j->options->claimed < 1) LOB_TRY(contradict(j, seeds, error));
    return j->strokes.data ? draw(j, error) : LOB_OK;
}

/* ---- growth ---- */

/* Seeds and weak ones, uint8, and their strength, float32. */
static lob_status weak_seeds(lob_carry_job *j, lob_volume *seeds, lob_volume *strength,
                             lob_error *error)
{
    lob_carry_pass pass = pass_of(j, LOB_CARRY_WEAK);
    LOB_TRY(lob_segment_make(&j->steps, seeds, &j->part, LOB_U8, 1, error));
    LOB_TRY(lob_segment_make(&j->steps, strength, &j->part, LOB_F32, 1, error));
    pass.out = seeds->data;
    pass.strength = strength->data;
    return lob_carry_each(j, &pass, NULL, error);
}

/* Votes in 255ths, a channel for each label; uint8. */
static lob_status bytes_of_votes(lob_carry_job *j, lob_volume *votes, lob_error *error)
{
    lob_carry_pass pass = pass_of(j, LOB_CARRY_BYTES);
    LOB_TRY(lob_segment_make(&j->steps, votes, &j->part, LOB_U8, j->count, error));
    for (int32_t l = 1; l <= j->count; l++) {
        pass.out = (uint8_t *)votes->data + (l - 1) * pass.voxels;
        LOB_TRY(lob_carry_each_of_label(j, &pass, l, NULL, error));
    }
    return LOB_OK;
}

/* Labels that grew, in place: one that atlases have becomes the one with the most votes there,
 * beyond the reach of strokes. */
static lob_status part(lob_carry_job *j, lob_volume *grown, lob_error *error)
{
    lob_carry_pass pass = pass_of(j, LOB_CARRY_TO_BEST);
    pass.out = grown->data;
    for (int32_t l = 1; l <= j->count; l++) pass.flag[l] = j->out->label[l - 1].atlases > 0;
    const lob_status st = lob_carry_each(j, &pass, NULL, error);
    lob_volume *const winners[] = {&j->best, &j->share, &j->all};
    for (int k = 0; k < 3; k++) lob_segment_drop(&j->steps, winners[k]);
    return st;
}

static lob_status grow(lob_carry_job *j, lob_volume *grown, lob_error *error)
{
    lob_growcut_options options = lob_growcut_defaults();
    lob_volume seeds = lob_volume_empty(), strength = lob_volume_empty();
    lob_segment_turn turn;
    lob_status st = weak_seeds(j, &seeds, &strength, error);
    if (st == LOB_OK) st = lob_segment_make(&j->steps, grown, &j->part, LOB_U8, 1, error);
    const lob_growcut_input in = {.image = &j->part,
                                  .seeds = &seeds,
                                  .labels = j->count + 1,
                                  .seed_strength = strength.data,
                                  .place = j->seeds.place};
    const lob_growcut_output out = {.labels = grown->data};
    if (st == LOB_OK)
        st = j->steps.backend->growcut(&out, NULL, &in, &options,
                                       lob_segment_begin(&j->steps, &turn, 0.05), error);
    lob_segment_drop(&j->steps, &strength);
    lob_segment_drop(&j->steps, &seeds);
    return st;
}

static lob_status refine(lob_carry_job *j, const lob_volume *grown, lob_error *error)
{
    const double grid_mm = lob_register_spacing(j->in->scan);
    lob_volume votes = lob_volume_empty();
    lob_status st = bytes_of_votes(j, &votes, error);
    const lob_refine_input in = {
        .image = &j->part,
        .labels = grown->data,
        .labels_type = LOB_U8,
        .seeds = j->seeds.data,
        .seeds_type = LOB_U8,
        .label_count = j->count + 1,
        .background = j->count + 1,
        .place = grown->place,
        .shares = votes.data,
    };
    lob_refine_options options = lob_refine_defaults(j->part.dims, j->part.geometry.spacing_mm);
    lob_refine_stats stats;
    lob_segment_turn turn;
    options.edge = j->options->edge;
    options.edge_mm = fmax(options.edge_mm, edge_steps * grid_mm);
    options.settle = settle;
    options.settle_mm = settle_steps * grid_mm;
    if (st == LOB_OK) st = lob_segment_make(&j->steps, &j->grown, &j->part, LOB_U8, 1, error);
    if (st == LOB_OK)
        st = j->steps.backend->refine(j->grown.data, &stats, &in, &options,
                                      lob_segment_begin(&j->steps, &turn, 0.05), error);
    lob_segment_drop(&j->steps, &votes);
    return st;
}

lob_status lob_carry_grow(lob_carry_job *j, lob_error *error)
{
    lob_volume grown = lob_volume_empty();
    lob_status st = grow(j, &grown, error);
    if (st == LOB_OK) st = part(j, &grown, error);
    if (st == LOB_OK) st = refine(j, &grown, error);
    lob_segment_drop(&j->steps, &grown);
    return st;
}
