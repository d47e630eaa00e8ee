/* Maxima in slabs: what ranks find of plateaus goes to rank 0, which chooses. */
#include "kernels/maxima/maxima_slabs.h"

#include "kernels/components/components_team.h"
#include "kernels/maxima/maxima_steps.h"
#include "kernels/team/team_planes.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_maxima_call call; /* of the planes with those around */
    const lob_maxima_slab *slab;
    lob_volume own; /* the rank's planes */
    int64_t voxels; /* of these */
    lob_components_output plateaus;
    lob_maxima_output *out;
} slab_call;

/* ---- plateaus ---- */

static lob_status find_plateaus(slab_call *s)
{
    lob_maxima_call *const c = &s->call;
    const lob_components_options options = lob_maxima_plateaus(c->options);
    LOB_TRY(lob_maxima_mark(c));
    const lob_components_input in = {.image = &s->own, .mask = c->top + s->call.first};
    lob_context context = lob_budget_inner(&c->budget, c->context);
    context.progress = NULL;
    LOB_TRY(lob_report(c->context, 0.3));
    LOB_TRY(lob_components_team(&s->plateaus, &in, &options, s->slab->planes, s->slab->team,
                                &context, c->error));
    if (c->budget.held + s->plateaus.working_bytes > c->budget.peak)
        c->budget.peak = c->budget.held + s->plateaus.working_bytes;
    s->out->labels = s->plateaus.labels;
    s->out->count = s->plateaus.count;
    s->plateaus.labels = NULL;
    return lob_report(c->context, 0.6);
}

/* The numbers of plateaus that a rank does not keep, of all ranks, in rank 0; some may be there
 * several times. */
static lob_status collect_dropped(slab_call *s, int32_t **dropped, int64_t *count,
                                  const uint8_t *keep)
{
    lob_maxima_call *const c = &s->call;
    const int64_t n = s->out->count;
    int32_t *mine = NULL;
    int64_t own = 0, at = 0, bytes = 0;
    void *all = NULL;
    for (int64_t m = 0; m < n; m++) own += !keep[m];
    lob_status st = lob_budget_alloc(&c->budget, &mine, own, sizeof *mine, c->error);
    for (int64_t m = 0; st == LOB_OK && m < n; m++)
        if (!keep[m]) mine[at++] = (int32_t)m;
    if (st == LOB_OK)
        st = lob_team_collect(c->team, &all, &bytes, mine, own * (int64_t)sizeof *mine, c->error);
    lob_budget_free(&c->budget, mine, own, sizeof *mine);
    *dropped = all;
    *count = bytes / (int64_t)sizeof **dropped;
    return st;
}

/* In rank 0, keep becomes 0 where that of any rank is. */
static lob_status drop_of_all(slab_call *s, uint8_t *keep)
{
    int32_t *dropped = NULL;
    int64_t count = 0;
    const lob_status st = collect_dropped(s, &dropped, &count, keep);
    for (int64_t i = 0; dropped && i < count; i++) keep[dropped[i]] = 0;
    free(dropped);
    return st;
}

/* Values of all plateaus, in rank 0: each is told by the rank that meets it first, and these are a
 * stretch of the numbers, as ranks lie in raster order. */
static lob_status collect_values(slab_call *s, double **values)
{
    lob_maxima_call *const c = &s->call;
    lob_team *const team = c->team;
    const int32_t *const labels = s->out->labels;
    int64_t most = 0, bytes = 0, *ends = NULL, from = 0;
    double *mine = NULL;
    void *all = NULL;
#pragma omp parallel for num_threads(c->context->threads) reduction(max : most)
    for (int64_t i = 0; i < s->voxels; i++)
        if (labels[i] > most) most = labels[i];
    lob_status st =
        lob_budget_alloc(&c->budget, &ends, lob_team_size(team), sizeof *ends, c->error);
    if (st == LOB_OK) st = lob_team_share(team, ends, &most, sizeof most, c->error);
    for (int r = 0; st == LOB_OK && r < lob_team_rank(team); r++)
        if (ends[r] > from) from = ends[r];
    const int64_t own = most > from ? most - from : 0;
    if (st == LOB_OK) st = lob_budget_alloc(&c->budget, &mine, own, sizeof *mine, c->error);
    for (int64_t i = 0; st == LOB_OK && i < s->voxels; i++)
        if (labels[i] > from) mine[labels[i] - from - 1] = lob_maxima_value(c, s->call.first + i);
    if (st == LOB_OK)
        st = lob_team_collect(team, &all, &bytes, mine, own * (int64_t)sizeof *mine, c->error);
    lob_budget_free(&c->budget, mine, own, sizeof *mine);
    lob_budget_free(&c->budget, ends, lob_team_size(team), sizeof *ends);
    *values = all;
    return st;
}

/* ---- choosing, in rank 0 ---- */

static void list(slab_call *s, const uint8_t *keep, const double *values)
{
    lob_maxima_output *const out = s->out;
    for (int64_t m = 0; m < out->count; m++) {
        const lob_region *const region = &s->plateaus.regions[m];
        out->maxima[m] = (lob_maximum){region->first, region->voxels, values[m]};
        out->found += keep[m];
    }
}

/* In rank 0, what follows others stays or goes with these, as any rank has found. */
static lob_status follow(slab_call *s, uint8_t *keep, const int32_t *follows)
{
    typedef struct {
        int64_t maximum, other;
    } pair;
    lob_maxima_call *const c = &s->call;
    const int64_t count = s->out->count;
    int64_t own = 0, at = 0, bytes = 0;
    pair *mine = NULL;
    void *all = NULL;
    for (int64_t m = 0; m < count; m++) own += follows[m] > 0;
    lob_status st = lob_budget_alloc(&c->budget, &mine, own, sizeof *mine, c->error);
    for (int64_t m = 0; st == LOB_OK && m < count; m++)
        if (follows[m]) mine[at++] = (pair){m, follows[m] - 1};
    if (st == LOB_OK)
        st = lob_team_collect(c->team, &all, &bytes, mine, own * (int64_t)sizeof *mine, c->error);
    lob_budget_free(&c->budget, mine, own, sizeof *mine);
    const int64_t n = bytes / (int64_t)sizeof *mine;
    if (all) qsort(all, (size_t)n, sizeof *mine, lob_by_int64);
    for (int64_t i = 0; all && i < n; i++) {
        const pair p = ((const pair *)all)[i];
        keep[p.maximum] &= keep[p.other];
    }
    free(all);
    return st;
}

/* Those that are too low, as all ranks find them together. */
static lob_status drop_low(slab_call *s, uint8_t *keep)
{
    lob_maxima_call *const c = &s->call;
    const int64_t count = s->out->count;
    uint8_t *slope = NULL;
    int32_t *follows = NULL;
    LOB_TRY(
        lob_team_tell(s->out->maxima, count * (int64_t)sizeof *s->out->maxima, c->team, c->error));
    LOB_TRY(lob_team_tell(keep, count, c->team, c->error));
    LOB_TRY(lob_budget_alloc(&c->budget, &slope, count, sizeof *slope, c->error));
    for (int64_t m = 0; m < count; m++) slope[m] = !keep[m];
    lob_status st = lob_budget_calloc(&c->budget, &follows, count, sizeof *follows, c->error);
    if (st == LOB_OK) st = lob_maxima_visit(c, keep, follows, s->out);
    for (int64_t m = 0; m < count; m++) keep[m] |= slope[m]; /* which rank 0 knows */
    if (st == LOB_OK) st = drop_of_all(s, keep);
    for (int64_t m = 0; m < count; m++) keep[m] &= !slope[m];
    if (st == LOB_OK) st = follow(s, keep, follows);
    lob_budget_free(&c->budget, follows, count, sizeof *follows);
    lob_budget_free(&c->budget, slope, count, sizeof *slope);
    return st;
}

/* Which are far enough apart: each plateau becomes a number or 0. */
static lob_status choose(slab_call *s, int32_t *number, uint8_t *keep)
{
    lob_maxima_output *const out = s->out;
    const int64_t count = out->count;
    lob_volume image = *s->call.in->image;
    lob_maxima_input in = {.image = &image};
    lob_maxima_call whole = s->call;
    image.dims.nz = s->slab->planes;
    whole.in = &in;
    if (whole.options->apart > 0) LOB_TRY(lob_maxima_thin(keep, out->maxima, count, &whole));
    out->count = 0;
    for (int64_t m = 0; m < count; m++) {
        if (keep[m]) out->maxima[out->count++] = out->maxima[m];
        number[m] = keep[m] ? (int32_t)out->count : 0;
    }
    s->call.budget.peak = whole.budget.peak;
    return LOB_OK;
}

static lob_status take_numbers(slab_call *s, int32_t *number, uint8_t *keep)
{
    lob_maxima_output *const out = s->out;
    lob_maxima_call *const c = &s->call;
    const int64_t count = out->count;
    const bool is_first = lob_team_rank(c->team) == 0;
    double *values = NULL;
    memset(keep, 1, (size_t)count);
    lob_maxima_drop_slopes(keep, c, out->labels, c->first, s->voxels);
    LOB_TRY(drop_of_all(s, keep));
    lob_status st = collect_values(s, &values);
    if (st == LOB_OK && (is_first || c->options->height > 0)) {
        out->maxima = malloc((size_t)count * sizeof *out->maxima);
        if (!out->maxima) st = lob_fail(c->error, LOB_ENOMEM, "no memory for maxima");
    }
    if (st == LOB_OK && is_first) list(s, keep, values);
    free(values);
    if (st == LOB_OK && c->options->height > 0) st = drop_low(s, keep);
    if (st == LOB_OK && is_first) st = choose(s, number, keep);
    int64_t told[] = {out->found, out->count};
    if (st == LOB_OK) st = lob_team_tell(told, sizeof told, c->team, c->error);
    if (st == LOB_OK)
        st = lob_team_tell(number, count * (int64_t)sizeof *number, c->team, c->error);
    if (st != LOB_OK) return st;
    if (!is_first) {
        free(out->maxima);
        out->maxima = NULL;
    }
    out->found = told[0];
    out->count = told[1];
#pragma omp parallel for num_threads(c->context->threads)
    for (int64_t i = 0; i < s->voxels; i++)
        if (out->labels[i]) out->labels[i] = number[out->labels[i] - 1];
    return LOB_OK;
}

static lob_status find(slab_call *s)
{
    lob_maxima_call *const c = &s->call;
    int32_t *number = NULL;
    uint8_t *keep = NULL;
    LOB_TRY(find_plateaus(s));
    const int64_t count = s->out->count;
    if (count == 0) return LOB_OK;
    lob_status st = lob_budget_alloc(&c->budget, &number, count, sizeof *number, c->error);
    if (st == LOB_OK) st = lob_budget_alloc(&c->budget, &keep, count, sizeof *keep, c->error);
    if (st == LOB_OK) st = take_numbers(s, number, keep);
    lob_budget_free(&c->budget, keep, count, sizeof *keep);
    lob_budget_free(&c->budget, number, count, sizeof *number);
    return st == LOB_OK ? lob_report(c->context, 1.0) : st;
}

lob_status lob_maxima_slabs(lob_maxima_output *out, const lob_maxima_input *in,
                            const lob_maxima_options *options, const lob_maxima_slab *slab,
                            const lob_context *context, lob_error *error)
{
    if (lob_team_size(slab->team) == 1) return lob_maxima_cpu(out, in, options, context, error);
    slab_call s = {.slab = slab, .out = out, .own = *in->image};
    const int64_t plane = in->image->dims.nx * in->image->dims.ny;
    int64_t first, end;
    lob_error_begin(error);
    *out = (lob_maxima_output){0};
    lob_team_planes(&first, &end, slab->team, lob_team_rank(slab->team), slab->planes);
    const int64_t before = slab->before * plane;
    s.voxels = (end - first) * plane;
    s.own.dims.nz = end - first;
    s.own.data = (char *)in->image->data + before * (int64_t)lob_type_of(in->image->type)->bytes;
    lob_status st = lob_maxima_begin(&s.call, in, options, context, error);
    s.call.team = slab->team;
    s.call.first = before;
    s.call.end = before + s.voxels;
    s.call.origin = (first - slab->before) * plane;
    if (st == LOB_OK) st = find(&s);
    st = lob_error_end(error, st);
    if (st != LOB_OK) st = lob_team_agree(slab->team, st, error);
    lob_budget_free(&s.call.budget, s.call.top, s.call.voxels, sizeof *s.call.top);
    lob_components_output_free(&s.plateaus);
    out->working_bytes = s.call.budget.peak;
    if (st != LOB_OK) lob_maxima_output_free(out);
    return st;
}
