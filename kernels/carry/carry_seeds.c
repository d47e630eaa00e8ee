/* Seeds of the growth: what the votes are sure of, what grey values contradict, and strokes. */
#include "kernels/arrays.h"
#include "kernels/carry/carry_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The box goes so far beyond what has at least this share of votes. */
static const double box_margin_mm = 15, box_share = 0.05;

static uint16_t share_of(double share)
{
    return (uint16_t)(share * LOB_FUSE_ONE + 0.5);
}

/* ---- the box ---- */

/* Mark the scan's voxels around those of the votes' grid that have votes. */
static lob_status mark_votes(lob_carry_job *j, lob_volume *near, lob_error *error)
{
    const int64_t n = lob_voxels(&j->scan);
    const uint32_t least = share_of(box_share);
    lob_volume some;
    LOB_TRY(lob_segment_make(&j->steps, &some, &j->scan, LOB_U8, 1, error));
    uint8_t *const mark = some.data;
    memset(mark, 0, (size_t)n);
    for (int32_t l = 0; l < j->votes.set.count; l++)
        for (int64_t i = 0; i < n; i++)
            if (j->votes.shares[l * n + i] >= least) mark[i] = 1;
    const lob_status st =
        lob_segment_onto(&j->steps, near, &some, j->in->scan, LOB_RESAMPLE_NEAREST, 0.01, error);
    lob_segment_drop(&j->steps, &some);
    return st;
}

lob_status lob_carry_strokes(lob_carry_job *j, lob_volume *out, lob_label_set *set,
                             lob_error *error)
{
    const lob_volume *const strokes = j->in->strokes;
    LOB_TRY(lob_budget_hold(&j->steps.budget, lob_carry_bytes(strokes), error));
    lob_status st = lob_volume_move(out, strokes, (lob_place){0}, j->steps.context, error);
    if (st == LOB_OK) st = lob_labels_dense(out, set, "strokes", error);
    lob_budget_release(&j->steps.budget, lob_carry_bytes(strokes)); /* of the type before */
    if (st == LOB_OK) st = lob_budget_hold(&j->steps.budget, lob_carry_bytes(out), error);
    if (st != LOB_OK) {
        lob_volume_free(out);
        lob_label_set_free(set);
    }
    return st;
}

/* Strokes with dense labels, on the whole grid; a label that is no result's is the background. */
static lob_status load_strokes(lob_carry_job *j, uint8_t *to, lob_error *error)
{
    lob_volume own;
    lob_label_set set = {0};
    LOB_TRY(lob_carry_strokes(j, &own, &set, error));
    for (int64_t i = 0; i < lob_voxels(&own); i++) {
        const int32_t dense = lob_label_at(own.data, own.type, i);
        if (dense == 0) continue;
        int32_t l = 0;
        while (l < j->count && j->out->label[l].label != set.values[dense - 1]) l++;
        to[i] = (uint8_t)(l + 1); /* count + 1 where no label is it */
    }
    lob_label_set_free(&set);
    lob_segment_drop(&j->steps, &own);
    return LOB_OK;
}

lob_status lob_carry_box(lob_carry_job *j, bool *any, lob_error *error)
{
    const lob_volume *const scan = j->in->scan;
    const int64_t n = lob_voxels(scan);
    lob_volume near = lob_volume_empty(), drawn = lob_volume_empty();
    int64_t margin[3];
    lob_status st = mark_votes(j, &near, error);
    if (st == LOB_OK && j->in->strokes) {
        st = lob_segment_make(&j->steps, &drawn, scan, LOB_U8, 1, error);
        if (st == LOB_OK) memset(drawn.data, 0, (size_t)n);
        if (st == LOB_OK) st = load_strokes(j, drawn.data, error);
        for (int64_t i = 0; st == LOB_OK && i < n; i++)
            ((uint8_t *)near.data)[i] |= ((const uint8_t *)drawn.data)[i];
    }
    *any = st == LOB_OK && lob_box_of(&j->box, &near);
    lob_segment_drop(&j->steps, &near);
    if (*any) {
        for (int a = 0; a < 3; a++)
            margin[a] = (int64_t)ceil(box_margin_mm / scan->geometry.spacing_mm[a] - 1e-6);
        lob_box_widen(&j->box, margin, scan->dims);
        const lob_geometry geometry = lob_box_geometry(&scan->geometry, &j->box);
        const int64_t *const size = j->box.size;
        const lob_volume grid = lob_segment_grid((lob_dims){size[0], size[1], size[2]}, &geometry);
        st = lob_segment_onto(&j->steps, &j->part, scan, &grid, LOB_RESAMPLE_NEAREST, 0.01, error);
        if (st == LOB_OK && drawn.data)
            st = lob_segment_onto(&j->steps, &j->strokes, &drawn, &grid, LOB_RESAMPLE_NEAREST, 0,
                                  error);
    }
    lob_segment_drop(&j->steps, &drawn);
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
    votes.borrowed = true;
    return lob_segment_onto(&j->steps, out, &votes, grid, LOB_RESAMPLE_LINEAR, 0, error);
}

/* What wins at each voxel, and what all labels have together. */
typedef struct {
    lob_volume best, share, all; /* uint8, uint16, uint16 */
} winners;

static lob_status find_winners(lob_carry_job *j, winners *w, lob_error *error)
{
    const int64_t n = lob_voxels(&j->part);
    lob_status st = LOB_OK;
    lob_volume *const made[] = {&w->best, &w->share, &w->all};
    for (int k = 0; k < 3 && st == LOB_OK; k++) {
        const lob_type type = k == 0 ? LOB_U8 : LOB_U16;
        st = lob_segment_make(&j->steps, made[k], &j->part, type, 1, error);
        if (st == LOB_OK) memset(made[k]->data, 0, (size_t)n * lob_type_of(type)->bytes);
    }
    for (int32_t l = 1; l <= j->count && st == LOB_OK; l++) {
        lob_volume one;
        uint8_t *const best = w->best.data;
        uint16_t *const share = w->share.data, *const all = w->all.data;
        st = lob_carry_share(j, &one, j->out->label[l - 1].label, &j->part, error);
        const uint16_t *const own = one.data;
        for (int64_t i = 0; i < n && st == LOB_OK && own; i++) {
            const int sum = all[i] + own[i];
            all[i] = (uint16_t)(sum < LOB_FUSE_ONE ? sum : LOB_FUSE_ONE);
            if (own[i] > share[i]) {
                best[i] = (uint8_t)l;
                share[i] = own[i];
            }
        }
        lob_segment_drop(&j->steps, &one);
    }
    return st;
}

static void drop_winners(lob_carry_job *j, winners *w)
{
    lob_segment_drop(&j->steps, &w->best);
    lob_segment_drop(&j->steps, &w->share);
    lob_segment_drop(&j->steps, &w->all);
}

/* Labels without seeds have all voxels where they win. */
static void seed_the_rest(lob_carry_job *j, const winners *w)
{
    const int64_t n = lob_voxels(&j->part);
    uint8_t *const seeds = j->seeds.data;
    const uint8_t *const best = w->best.data;
    const uint16_t *const share = w->share.data, *const all = w->all.data;
    bool has[LOB_CARRY_MAX_LABELS + 2] = {false};
    for (int64_t i = 0; i < n; i++) has[seeds[i]] = true;
    for (int64_t i = 0; i < n; i++)
        if (best[i] > 0 && !has[best[i]] && share[i] > LOB_FUSE_ONE - all[i]) seeds[i] = best[i];
}

/* Seeds of what the votes are sure of. */
static lob_status find_sure(lob_carry_job *j, lob_error *error)
{
    const lob_carry_options *const o = j->options;
    const int64_t n = lob_voxels(&j->part);
    const uint16_t sure = share_of(o->sure), beyond = share_of(1 - o->sure_background);
    winners w = {lob_volume_empty(), lob_volume_empty(), lob_volume_empty()};
    lob_status st = find_winners(j, &w, error);
    if (st == LOB_OK) st = lob_segment_make(&j->steps, &j->seeds, &j->part, LOB_U8, 1, error);
    if (st == LOB_OK) {
        uint8_t *const seeds = j->seeds.data;
        const uint16_t *const share = w.share.data, *const all = w.all.data;
        lob_morphology_input in = {
            .labels = seeds, .type = LOB_U8, .dims = j->part.dims, .place = j->seeds.place};
        lob_segment_turn turn;
        memcpy(in.spacing, j->part.geometry.spacing_mm, sizeof in.spacing);
        for (int64_t i = 0; i < n; i++)
            seeds[i] = share[i] >= sure ? ((const uint8_t *)w.best.data)[i] : 0;
        if (o->sure_mm > 0)
            st = lob_morphology_cpu(seeds, &in, LOB_MORPHOLOGY_ERODE, o->sure_mm,
                                    lob_segment_begin(&j->steps, &turn, 0.01), error);
        if (st == LOB_OK) seed_the_rest(j, &w);
        for (int64_t i = 0; i < n; i++)
            if (seeds[i] == 0 && all[i] <= beyond) seeds[i] = (uint8_t)(j->count + 1);
    }
    drop_winners(j, &w);
    return st;
}

/* ---- what contradicts ---- */

/* Seeds that keep no label leave a gap for the growth. */
static void reopen(lob_carry_job *j, const uint8_t *shares, const uint8_t *place)
{
    const int64_t n = lob_voxels(&j->part);
    const int against = (int)(j->options->against * 255 + 0.5);
    const int claimed = (int)(j->options->claimed * 255 + 0.5);
    uint8_t *const seeds = j->seeds.data;
    for (int64_t i = 0; i < n; i++) {
        const int32_t l = seeds[i];
        if (l == 0) continue;
        bool opens = l <= j->count && shares[place[l] * n + i] < against;
        for (int32_t k = 1; k <= j->count && l > j->count && !opens; k++)
            opens = place[k] != UINT8_MAX && shares[place[k] * n + i] > claimed;
        if (!opens) continue;
        seeds[i] = 0;
        if (l <= j->count)
            j->out->label[l - 1].reopened++;
        else
            j->out->reopened_background++;
    }
}

static lob_status contradict(lob_carry_job *j, lob_error *error)
{
    const int64_t n = lob_voxels(&j->part);
    uint8_t *const seeds = j->seeds.data;
    uint8_t place[LOB_CARRY_MAX_LABELS + 2], count = 0;
    bool has[LOB_CARRY_MAX_LABELS + 2] = {false};
    lob_volume dense, shares = lob_volume_empty();
    lob_segment_turn turn;
    for (int64_t i = 0; i < n; i++) has[seeds[i]] = true;
    for (int32_t l = 1; l <= j->count + 1; l++) place[l] = has[l] ? count++ : UINT8_MAX;
    if (count < 2 || !has[j->count + 1]) return LOB_OK;
    LOB_TRY(lob_segment_make(&j->steps, &dense, &j->part, LOB_U8, 1, error));
    for (int64_t i = 0; i < n; i++)
        ((uint8_t *)dense.data)[i] = seeds[i] ? (uint8_t)(place[seeds[i]] + 1) : 0;
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
    lob_status st = lob_segment_make(&j->steps, &shares, &j->part, LOB_U8, count - 1, error);
    if (st == LOB_OK)
        st = lob_appearance_cpu(shares.data, &stats, &in, &options,
                                lob_segment_begin(&j->steps, &turn, 0.04), error);
    if (st == LOB_OK) reopen(j, shares.data, place);
    lob_segment_drop(&j->steps, &shares);
    lob_segment_drop(&j->steps, &dense);
    return st;
}

/* ---- strokes ---- */

/* Strokes become seeds, and near to them no seed says otherwise. */
static lob_status draw(lob_carry_job *j, lob_error *error)
{
    const int64_t n = lob_voxels(&j->part);
    const uint8_t *const strokes = j->strokes.data;
    uint8_t *const seeds = j->seeds.data;
    lob_segment_turn turn;
    LOB_TRY(lob_segment_make(&j->steps, &j->reached, &j->part, LOB_U8, 1, error));
    lob_distance_input in = {.labels = strokes, .type = LOB_U8, .dims = j->part.dims};
    lob_distance_options options = lob_distance_defaults();
    const lob_distance_output out = {.feature = j->reached.data};
    memcpy(in.spacing, j->part.geometry.spacing_mm, sizeof in.spacing);
    options.max = j->options->reach_mm;
    const lob_status st =
        lob_distance_cpu(&out, &in, &options, lob_segment_begin(&j->steps, &turn, 0.01), error);
    for (int64_t i = 0; st == LOB_OK && i < n; i++) {
        const uint8_t said = ((const uint8_t *)j->reached.data)[i];
        if (said > 0 && seeds[i] != said) seeds[i] = 0;
        if (strokes[i] > 0) seeds[i] = strokes[i];
    }
    return st;
}

lob_status lob_carry_seeds(lob_carry_job *j, lob_error *error)
{
    LOB_TRY(find_sure(j, error));
    for (int64_t i = 0; i < lob_voxels(&j->part); i++) {
        const int32_t l = ((const uint8_t *)j->seeds.data)[i];
        if (l > 0 && l <= j->count) j->out->label[l - 1].seeds++;
    }
    if (j->options->against > 0 || j->options->claimed < 1) LOB_TRY(contradict(j, error));
    return j->strokes.data ? draw(j, error) : LOB_OK;
}

/* ---- where labels meet ---- */

lob_status lob_carry_part(lob_carry_job *j, lob_volume *grown, lob_error *error)
{
    uint8_t *const label = grown->data;
    const uint8_t *const reached = j->reached.data;
    winners w = {lob_volume_empty(), lob_volume_empty(), lob_volume_empty()};
    const lob_status st = find_winners(j, &w, error);
    const uint8_t *const best = w.best.data;
    for (int64_t i = 0; st == LOB_OK && i < lob_voxels(grown); i++) {
        const int32_t l = label[i];
        if (l == 0 || l > j->count || j->out->label[l - 1].atlases == 0) continue;
        if (best[i] > 0 && !(reached && reached[i])) label[i] = best[i];
    }
    drop_winners(j, &w);
    return st;
}
