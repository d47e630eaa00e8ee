/* Steps of cells.h where each rank of a team has some planes, on the CPU: what a step looks at
 * around these is fetched from the others. */
#include "kernels/cells/cells_job.h"

#include "kernels/cells/cells_slabs.h"
#include "kernels/filters/box/box.h"
#include "kernels/filters/filter_slabs.h"
#include "kernels/filters/filter_stages.h"
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/growcut/growcut_slabs.h"
#include "kernels/maxima/maxima_slabs.h"
#include "kernels/merge/basins_slabs.h"
#include "kernels/team/team_planes.h"
#include "kernels/threshold/threshold_parts.h"
#include "kernels/threshold/threshold_rule.h"
#include "volumes/bytes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- planes around ---- */

int64_t lob_cells_reach(const lob_volume *image, const lob_cells_options *options, double size_mm)
{
    const lob_filter_options edges = lob_filter_defaults();
    const lob_cells_job alone = {.planes = image->dims.nz};
    const int64_t nz = image->dims.nz;
    lob_filter_step box = lob_cells_along(&alone, LOB_FILTER_BOX, image, options->around * size_mm);
    const double of_gaussian_mm = fmax(options->smooth, LOB_CELLS_BEND) * size_mm;
    const lob_filter_step gaussian =
        lob_cells_along(&alone, LOB_FILTER_LAPLACIAN, image, of_gaussian_mm);
    box.along[2] = fmin(box.along[2], (double)nz);
    const int64_t of_box = lob_box_reach(&box, &edges, 2);
    const int64_t of_gaussian =
        lob_gaussian_reach(&gaussian, &edges, 2) + lob_gaussian_align(&gaussian, &edges, 2) - 1;
    const int64_t reach = of_box > of_gaussian ? of_box : of_gaussian;
    return reach < nz ? reach : nz;
}

static lob_team_reach reach_of(const lob_cells_job *j, int64_t halo, int64_t align)
{
    return lob_team_reach_of(j->team, lob_team_rank(j->team), j->planes, halo, align);
}

static int64_t plane_bytes(const lob_volume *v)
{
    return v->dims.nx * v->dims.ny * (int64_t)lob_type_of(v->type)->bytes;
}

/* A volume's planes with those around, counted by the budget. */
static lob_status fetch(lob_cells_job *j, lob_volume *out, const lob_volume *own, int64_t halo,
                        int64_t align)
{
    const lob_team_reach r = reach_of(j, halo, align);
    lob_volume grid = *own;
    grid.dims.nz = r.to - r.from;
    LOB_TRY(lob_cells_make(j, out, &grid, own->type));
    out->slope = own->slope;
    out->inter = own->inter;
    const lob_status st = lob_team_fetch(out->data, own->data, j->planes, halo, align,
                                         plane_bytes(own), j->team, j->error);
    if (st != LOB_OK) lob_segment_drop(&j->steps, out);
    return st;
}

/* Keep a rank's own planes of what has those around. */
static void keep_own(void *data, const lob_team_reach *r, int64_t plane)
{
    memmove(data, (const char *)data + (r->first - r->from) * plane,
            (size_t)((r->end - r->first) * plane));
}

/* ---- filters ---- */

/* How far a chain looks; where it cannot be cut, all of the volume. */
static lob_status cut_of(lob_cells_job *j, lob_filter_cut *cut, lob_filter_input *in,
                         const lob_filter_options *options, const lob_volume *own)
{
    lob_volume whole = *own;
    lob_filter_input of_whole = *in;
    lob_filter_plan plan;
    int64_t not_data, beyond_any;
    bool beyond;
    whole.dims.nz = j->planes;
    of_whole.image = &whole;
    LOB_TRY(lob_filter_plan_make(&plan, &of_whole, options, false, false, j->error));
    lob_filter_scan(&not_data, &beyond, own, NULL, j->steps.context->threads);
    beyond_any = beyond;
    LOB_TRY(lob_team_reduce(j->team, &beyond_any, 1, LOB_TEAM_MAX, j->error));
    in->unbounded = beyond_any;
    in->bounded = !beyond_any; /* it need not look again */
    *cut = lob_filter_cut_of(&plan, 0, plan.passes);
    if (cut->axis == 2 && cut->halo >= 0) return LOB_OK;
    cut->halo = j->planes;
    cut->align = 1;
    return LOB_OK;
}

lob_status lob_cells_filter_slab(lob_cells_job *j, lob_filter_output *out, const lob_volume *image,
                                 const lob_filter_step *steps, int count,
                                 const lob_filter_options *options)
{
    lob_filter_input in = {.steps = steps, .step_count = count};
    lob_filter_cut cut;
    lob_volume around = lob_volume_empty();
    LOB_TRY(cut_of(j, &cut, &in, options, image));
    const lob_team_reach r = reach_of(j, cut.halo, cut.align);
    LOB_TRY(fetch(j, &around, image, cut.halo, cut.align));
    const int64_t bytes = lob_voxels(&around) * (int64_t)sizeof(float);
    in.image = &around;
    in.plane = r.from;
    lob_status st = lob_budget_hold(&j->steps.budget, bytes, j->error);
    if (st == LOB_OK) {
        const lob_context context = lob_cells_context(j);
        st = lob_filter_cpu(out, &in, options, &context, j->error);
        lob_budget_release(&j->steps.budget, bytes);
    }
    lob_segment_drop(&j->steps, &around);
    if (st != LOB_OK) return st;
    const int64_t plane = image->dims.nx * image->dims.ny * (int64_t)sizeof(float);
    keep_own(out->data, &r, plane);
    void *const fitted = realloc(out->data, (size_t)(image->dims.nz * plane));
    if (fitted) out->data = fitted;
    return LOB_OK;
}

/* ---- thresholds ---- */

static lob_status visit_own(void *user, lob_threshold_visit *visit, void *visitor)
{
    return visit(visitor, user);
}

lob_status lob_cells_split_slab(lob_cells_job *j, lob_volume *above, lob_threshold_stats *stats,
                                const lob_volume *image)
{
    lob_threshold_input in = {.image = image};
    const lob_threshold_options options = lob_threshold_defaults();
    const lob_threshold_parts parts = {
        .each = visit_own, .user = &in, .team = j->team, .image = image};
    const lob_context context = lob_cells_context(j);
    LOB_TRY(lob_threshold_of_parts(stats, &parts, &options, &context, j->error));
    lob_threshold_label(above->data, &in, stats, &options, context.threads);
    return LOB_OK;
}

/* ---- sums ---- */

lob_status lob_cells_sums_of_team(lob_cells_job *j, lob_cells_sums *sums, const lob_cells_pass *p)
{
    const int size = lob_team_size(j->team);
    lob_cells_sums *of_rank = NULL;
    LOB_TRY(lob_budget_alloc(&j->steps.budget, &of_rank, size, sizeof *of_rank, j->error));
    const lob_status st = lob_team_share(j->team, of_rank, sums, sizeof *sums, j->error);
    *sums = lob_cells_none(p->kind);
    for (int r = 0; st == LOB_OK && r < size; r++) lob_cells_join(p->kind, sums, &of_rank[r]);
    lob_budget_free(&j->steps.budget, of_rank, size, sizeof *of_rank);
    return st;
}

/* Where the first piece at or behind a voxel begins, or all voxels end. */
static int64_t next_piece(int64_t voxel, int64_t all)
{
    const int64_t at = (voxel + LOB_CELLS_PIECE - 1) / LOB_CELLS_PIECE * LOB_CELLS_PIECE;
    return at < all ? at : all;
}

/* The sums of those pieces of the whole volume that begin in this rank's planes; the last of them
 * may end behind these. */
static lob_status add_pieces(lob_cells_job *j, lob_cells_sums **of_piece, int64_t *pieces,
                             const lob_cells_pass *p)
{
    const int size = lob_team_size(j->team), rank = lob_team_rank(j->team);
    lob_team_reach *of = NULL; /* in voxels */
    float *here = NULL;
    uint8_t *marks = NULL;
    lob_cells_pass q = *p;
    lob_budget *const b = &j->steps.budget;
    LOB_TRY(lob_budget_alloc(b, &of, size, sizeof *of, j->error));
    for (int r = 0; r < size; r++) lob_team_planes(&of[r].first, &of[r].end, j->team, r, j->planes);
    const int64_t plane = p->n / (of[rank].end - of[rank].first);
    for (int r = 0; r < size; r++) {
        of[r].first *= plane;
        of[r].end *= plane;
        of[r].from = next_piece(of[r].first, j->planes * plane);
        of[r].to = next_piece(of[r].end, j->planes * plane);
    }
    q.n = of[rank].to - of[rank].from;
    *pieces = (q.n + LOB_CELLS_PIECE - 1) / LOB_CELLS_PIECE;
    lob_status st = lob_budget_alloc(b, of_piece, *pieces + 1, sizeof **of_piece, j->error);
    if (st == LOB_OK) st = lob_budget_alloc(b, &here, q.n + 1, sizeof *here, j->error);
    if (st == LOB_OK) st = lob_team_deal(here, p->here, of, sizeof *here, j->team, j->error);
    if (st == LOB_OK && p->marks)
        st = lob_budget_alloc(b, &marks, q.n + 1, sizeof *marks, j->error);
    if (st == LOB_OK && p->marks)
        st = lob_team_deal(marks, p->marks, of, sizeof *marks, j->team, j->error);
    q.here = here;
    q.marks = marks;
    if (st == LOB_OK) lob_cells_add_pieces(*of_piece, &q, *pieces, j->steps.context->threads);
    lob_budget_free(b, marks, q.n + 1, sizeof *marks);
    lob_budget_free(b, here, q.n + 1, sizeof *here);
    lob_budget_free(b, of, size, sizeof *of);
    return st;
}

lob_status lob_cells_reals_of_team(lob_cells_job *j, lob_cells_sums *sums, const lob_cells_pass *p)
{
    int64_t pieces = 0, bytes = 0;
    lob_cells_sums *of_piece = NULL;
    void *all = NULL;
    lob_status st = add_pieces(j, &of_piece, &pieces, p);
    if (st == LOB_OK)
        st = lob_team_collect(j->team, &all, &bytes, of_piece, pieces * (int64_t)sizeof *of_piece,
                              j->error);
    *sums = lob_cells_none(p->kind);
    for (int64_t k = 0; all && k < bytes / (int64_t)sizeof *of_piece; k++)
        lob_cells_join(p->kind, sums, (const lob_cells_sums *)all + k);
    free(all);
    lob_budget_free(&j->steps.budget, of_piece, pieces + 1, sizeof *of_piece);
    return st == LOB_OK ? lob_team_tell(sums, sizeof *sums, j->team, j->error) : st;
}

/* ---- thinning ---- */

lob_status lob_cells_deal_thinned(lob_cells_job *j, lob_volume *thin, int64_t step, int64_t before)
{
    const int size = lob_team_size(j->team);
    const int64_t planes = (j->planes + step - 1) / step;
    const bool whole = planes < size || thin->dims.nx * thin->dims.ny * planes <= before;
    lob_team_reach *of = NULL;
    lob_volume grid = *thin, dealt = lob_volume_empty();
    if (step == 1 && !whole) return LOB_OK;
    LOB_TRY(lob_budget_alloc(&j->steps.budget, &of, size, sizeof *of, j->error));
    for (int r = 0; r < size; r++) {
        lob_team_planes(&of[r].first, &of[r].end, j->team, r, j->planes);
        of[r].first = (of[r].first + step - 1) / step;
        of[r].end = (of[r].end + step - 1) / step;
        lob_team_planes(&of[r].from, &of[r].to, j->team, r, planes);
        if (whole) of[r].from = 0, of[r].to = planes;
    }
    const lob_team_reach *const me = &of[lob_team_rank(j->team)];
    grid.dims.nz = me->to - me->from;
    lob_status st = lob_cells_make(j, &dealt, &grid, thin->type);
    if (st == LOB_OK)
        st = lob_team_deal(dealt.data, thin->data, of, plane_bytes(thin), j->team, j->error);
    lob_budget_free(&j->steps.budget, of, size, sizeof *of);
    lob_segment_drop(&j->steps, thin);
    *thin = dealt;
    j->planes = planes;
    if (whole) j->team = NULL;
    return st;
}

/* ---- values at maxima ---- */

lob_status lob_cells_values_of_team(lob_cells_job *j, float *values, const lob_volume *from,
                                    const lob_maxima_output *places)
{
    const int64_t n = places->count, plane = from->dims.nx * from->dims.ny;
    int64_t *place = NULL, first, end, own = 0, bytes;
    void *all = NULL;
    LOB_TRY(lob_budget_alloc(&j->steps.budget, &place, n, sizeof *place, j->error));
    for (int64_t i = 0; places->maxima && i < n; i++) place[i] = places->maxima[i].first;
    lob_status st = lob_team_tell(place, n * (int64_t)sizeof *place, j->team, j->error);
    lob_team_planes(&first, &end, j->team, lob_team_rank(j->team), j->planes);
    for (int64_t i = 0; st == LOB_OK && i < n; i++)
        if (place[i] >= first * plane && place[i] < end * plane)
            values[own++] = ((const float *)from->data)[place[i] - first * plane];
    if (st == LOB_OK)
        st = lob_team_collect(j->team, &all, &bytes, values, own * (int64_t)sizeof *values,
                              j->error);
    if (all) memcpy(values, all, (size_t)n * sizeof *values);
    free(all);
    lob_budget_free(&j->steps.budget, place, n, sizeof *place);
    if (st != LOB_OK) return st;
    return lob_team_tell(values, n * (int64_t)sizeof *values, j->team, j->error);
}

/* ---- seeds and basins ---- */

lob_status lob_cells_maxima_slab(lob_cells_job *j, lob_maxima_output *found,
                                 const lob_volume *image, const uint8_t *mask,
                                 const lob_maxima_options *options)
{
    const lob_team_reach r = reach_of(j, LOB_MAXIMA_HALO, 1);
    const lob_maxima_slab slab = {j->team, j->planes, r.first - r.from};
    lob_volume own_mask = *image, around = lob_volume_empty(), marks = lob_volume_empty();
    own_mask.type = LOB_U8;
    own_mask.data = (void *)mask;
    lob_status st = fetch(j, &around, image, LOB_MAXIMA_HALO, 1);
    if (st == LOB_OK && mask) st = fetch(j, &marks, &own_mask, LOB_MAXIMA_HALO, 1);
    if (st == LOB_OK) {
        const lob_maxima_input in = {&around, marks.data};
        const lob_context context = lob_cells_context(j);
        st = lob_maxima_slabs(found, &in, options, &slab, &context, j->error);
    }
    lob_segment_drop(&j->steps, &marks);
    lob_segment_drop(&j->steps, &around);
    return st;
}

lob_status lob_cells_flood_slab(lob_cells_job *j, lob_volume *basins, lob_growcut_stats *stats,
                                const lob_growcut_input *flooded,
                                const lob_growcut_options *options)
{
    enum { IMAGE, SEEDS, MASK, VOLUMES };
    lob_volume mask = *basins;
    const lob_volume *const own[VOLUMES] = {flooded->image, flooded->seeds, &mask};
    const lob_team_reach r = reach_of(j, 1, 1);
    const lob_growcut_slab slab = {j->team, r.first - r.from, r.end - r.from};
    lob_volume around[VOLUMES], labels = lob_volume_empty();
    lob_status st = LOB_OK;
    mask.type = LOB_U8;
    mask.data = (void *)flooded->mask;
    for (int k = 0; k < VOLUMES; k++) around[k] = lob_volume_empty();
    for (int k = 0; k < VOLUMES && st == LOB_OK; k++)
        if (own[k]->data) st = fetch(j, &around[k], own[k], 1, 1);
    if (st == LOB_OK) st = lob_cells_make(j, &labels, &around[SEEDS], around[SEEDS].type);
    if (st == LOB_OK) {
        const lob_growcut_input in = {.image = &around[IMAGE],
                                      .seeds = &around[SEEDS],
                                      .labels = flooded->labels,
                                      .mask = around[MASK].data};
        const lob_growcut_output out = {.labels = labels.data};
        const lob_context context = lob_cells_context(j);
        st = lob_growcut_slabs(&out, stats, &in, options, &slab, &context, j->error);
    }
    if (st == LOB_OK)
        memcpy(basins->data, (const char *)labels.data + slab.first * plane_bytes(&labels),
               (size_t)lob_volume_bytes(basins));
    lob_segment_drop(&j->steps, &labels);
    for (int k = 0; k < VOLUMES; k++) lob_segment_drop(&j->steps, &around[k]);
    return st;
}

/* A volume's planes from the rank's own first one on. */
static void leave_before(lob_volume *v, int64_t before)
{
    v->data = (char *)v->data + before * plane_bytes(v);
    v->dims.nz -= before;
}

lob_status lob_cells_basins_slab(lob_cells_job *j, int32_t *to, const lob_volume *basins,
                                 int64_t count, const lob_volume *image,
                                 const lob_basins_options *options)
{
    const lob_team_reach r = reach_of(j, 1, 1);
    lob_volume labels = lob_volume_empty(), values = lob_volume_empty();
    lob_status st = fetch(j, &labels, basins, 1, 1);
    if (st == LOB_OK) st = fetch(j, &values, image, 1, 1);
    if (st == LOB_OK) {
        lob_volume l = labels, v = values;
        leave_before(&l, r.first - r.from);
        leave_before(&v, r.first - r.from);
        const lob_label_grid grid = {l.data, l.type, count, l.dims};
        const lob_context context = lob_cells_context(j);
        st = lob_basins_slabs(to, NULL, &grid, &v, options, j->team, &context, j->error);
    }
    lob_segment_drop(&j->steps, &values);
    lob_segment_drop(&j->steps, &labels);
    return st;
}

/* ---- calls ---- */

lob_status lob_cells_choose_slabs(lob_cells_plan *plan, const lob_volume *image,
                                  const lob_cells_options *options, int64_t planes, lob_team *team,
                                  const lob_context *context, lob_error *error)
{
    lob_error_begin(error);
    const lob_status st = lob_cells_choose_by(
        plan, image, options, lob_cells_begin(lob_backends[0], context, team, planes, error));
    return lob_team_agree(team, lob_error_end(error, st), error);
}

lob_status lob_cells_slabs(lob_volume *labels, lob_cells_stats *stats, const lob_volume *image,
                           const lob_cells_plan *plan, int64_t planes, lob_team *team,
                           const lob_context *context, lob_error *error)
{
    lob_error_begin(error);
    *labels = lob_volume_empty();
    lob_status st = lob_cells_label_by(
        labels, stats, image, plan, lob_cells_begin(lob_backends[0], context, team, planes, error));
    st = lob_team_agree(team, st, error);
    if (st != LOB_OK) lob_volume_free(labels);
    return st;
}
