/* The operations of label_chain.h where each rank of a team has some planes, on the CPU. */
#include "kernels/labels/label_slabs.h"

#include "kernels/components/components_select.h"
#include "kernels/components/components_team.h"
#include "kernels/labels/label_chain.h"
#include "kernels/regions/contacts_slabs.h"
#include "kernels/team/team_planes.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables of all ranks ---- */

/* Marks, each 0 or 1, become those that any rank has set. They are counted in so many bits. */
static lob_status any_of_team(lob_label_chain *c, uint8_t *marks, int64_t n)
{
    enum { EACH = 3, BITS = 21 };
    const int64_t words = (n + EACH - 1) / EACH, most = (INT64_C(1) << BITS) - 1;
    int64_t *sums = NULL;
    LOB_TRY(lob_budget_calloc(&c->budget, &sums, words, sizeof *sums, c->error));
    for (int64_t i = 0; i < n; i++) sums[i / EACH] |= (int64_t)marks[i] << i % EACH * BITS;
    const lob_status st =
        lob_team_reduce(c->shared->team, sums, (int)words, LOB_TEAM_SUM, c->error);
    for (int64_t i = 0; i < n; i++) marks[i] = (sums[i / EACH] >> i % EACH * BITS & most) > 0;
    lob_budget_free(&c->budget, sums, words, sizeof *sums);
    return st;
}

static lob_status look(lob_label_chain *c, uint8_t *seen)
{
    LOB_TRY(lob_label_cpu.look(c, seen));
    return any_of_team(c, seen, (int64_t)c->count + 1);
}

/* What a rank counts of a piece. */
typedef struct {
    int64_t voxels;
    int32_t piece, owner;
} count_row;

/* Rows of all ranks, in rank 0, which holds `bytes` for them. */
static lob_status collect_rows(lob_label_chain *c, void **all, int64_t *bytes,
                               const int64_t *voxels, const int32_t *owner, int64_t found)
{
    lob_team *const team = c->shared->team;
    count_row *mine = NULL;
    int64_t n = 0, held;
    for (int64_t i = 0; i < found; i++) n += voxels[i] > 0;
    const int64_t own = n * (int64_t)sizeof *mine;
    held = own;
    LOB_TRY(lob_budget_alloc(&c->budget, &mine, n, sizeof *mine, c->error));
    n = 0;
    for (int64_t i = 0; i < found; i++)
        if (voxels[i] > 0) mine[n++] = (count_row){voxels[i], (int32_t)i, owner[i]};
    lob_status st = lob_team_reduce(team, &held, 1, LOB_TEAM_SUM, c->error);
    if (st == LOB_OK && lob_team_rank(team) == 0) st = lob_budget_hold(&c->budget, held, c->error);
    if (st == LOB_OK) st = lob_team_collect(team, all, bytes, mine, own, c->error);
    lob_budget_free(&c->budget, mine, n, sizeof *mine);
    return st;
}

static lob_status count_pieces(lob_label_chain *c, int64_t found, int64_t *voxels, int32_t *owner)
{
    lob_team *const team = c->shared->team;
    void *all = NULL;
    int64_t bytes = 0;
    LOB_TRY(lob_label_cpu.count_pieces(c, found, voxels, owner));
    LOB_TRY(collect_rows(c, &all, &bytes, voxels, owner, found));
    if (all) {
        const count_row *const rows = all;
        memset(voxels, 0, (size_t)found * sizeof *voxels);
        for (int64_t i = 0; i < bytes / (int64_t)sizeof *rows; i++) {
            voxels[rows[i].piece] += rows[i].voxels;
            owner[rows[i].piece] = rows[i].owner;
        }
        lob_budget_release(&c->budget, bytes);
        free(all);
    }
    LOB_TRY(lob_team_tell(voxels, found * (int64_t)sizeof *voxels, team, c->error));
    return lob_team_tell(owner, found * (int64_t)sizeof *owner, team, c->error);
}

/* ---- steps that look around ---- */

int64_t lob_labels_reach(const lob_labels_step *step, const lob_labels_options *options,
                         const double spacing_mm[3])
{
    const double length = step->voxels ? step->length : step->length / spacing_mm[2];
    const double whole = floor(fmin(length, 0x1p30) * (1 + 1e-6)) + 1;
    if (options->slice_axis == 2) return 0;
    switch (step->kind) {
    case LOB_LABELS_BOUNDARY:
    case LOB_LABELS_SLIPS:
        return 1;
    case LOB_LABELS_SMOOTH: /* weights; then what is given back asks twice as far as thin parts */
        return (int64_t)(3 * length + 0.5) + 2 * (int64_t)(2 * length + 0.5);
    case LOB_LABELS_MEDIAN:
    case LOB_LABELS_ERODE:
    case LOB_LABELS_DILATE:
        return (int64_t)whole;
    case LOB_LABELS_OPEN:
    case LOB_LABELS_CLOSE:
        return 2 * (int64_t)whole;
    default:
        return 0;
    }
}

/* Work on this rank's planes with those that the step reaches, of which its own are kept. */
static lob_status widen(lob_label_chain *c, lob_label_work *work, const void *user)
{
    lob_team *const team = c->shared->team;
    const int64_t planes = c->shared->planes;
    const lob_dims d = c->in->dims;
    const int64_t each = (int64_t)lob_type_of(c->now.type)->bytes, plane = d.nx * d.ny * each;
    const int64_t halo = lob_labels_reach(&c->in->steps[c->step], c->options, c->in->spacing_mm);
    const lob_team_reach r = lob_team_reach_of(team, lob_team_rank(team), planes, halo, 1);
    lob_labels_input in = *c->in;
    lob_label_chain wide = *c;
    if (halo == 0) return work(c, user);
    in.dims.nz = r.to - r.from;
    wide.in = &in;
    wide.voxels = lob_dims_voxels(in.dims);
    wide.now.data = wide.next.data = NULL;
    lob_status st =
        lob_budget_alloc(&wide.budget, &wide.now.data, wide.voxels, (size_t)each, c->error);
    if (st == LOB_OK)
        st = lob_budget_alloc(&wide.budget, &wide.next.data, wide.voxels, (size_t)each, c->error);
    if (st == LOB_OK)
        st = lob_team_fetch(wide.now.data, c->now.data, planes, halo, 1, plane, team, c->error);
    if (st == LOB_OK) st = work(&wide, user);
    if (st == LOB_OK)
        memcpy(c->next.data, (const char *)wide.next.data + (r.first - r.from) * plane,
               (size_t)((r.end - r.first) * plane));
    lob_budget_free(&wide.budget, wide.next.data, wide.voxels, (size_t)each);
    lob_budget_free(&wide.budget, wide.now.data, wide.voxels, (size_t)each);
    c->budget.peak = wide.budget.peak;
    return st;
}

/* ---- pieces and holes ---- */

static lob_status components(lob_components_output *out, lob_label_chain *c,
                             const lob_volume *image, const lob_components_options *options)
{
    const lob_components_input in = {.image = image};
    const lob_context context = lob_budget_inner(&c->budget, &c->context);
    const lob_status st = lob_components_team(out, &in, options, c->shared->planes, c->shared->team,
                                              &context, c->error);
    lob_label_chain_count(c, out->working_bytes);
    return st;
}

/* Pieces of now and its background, numbered. */
typedef struct {
    lob_components_output of;   /* the pieces; then, behind them, closed holes too */
    lob_components_output none; /* the background */
    uint8_t *open;              /* none.count: whether it reaches a border */
    int32_t *into; /* none.count: of a closed hole the piece that it goes to, then its label */
} hole_search;

static lob_status find_background(hole_search *h, lob_label_chain *c, const lob_volume *now)
{
    lob_components_options o = lob_components_defaults();
    lob_volume background = *now;
    const int64_t n = c->voxels;
    uint8_t *bare = NULL;
    o.neighbours = lob_components_around(c->options->neighbours);
    o.slice_axis = c->options->slice_axis;
    o.type = LOB_I32;
    LOB_TRY(lob_budget_alloc(&c->budget, &bare, n, 1, c->error));
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t i = 0; i < n; i++) bare[i] = !lob_label_at(now->data, now->type, i);
    background.data = bare;
    background.type = LOB_U8;
    const lob_status st = components(&h->none, c, &background, &o);
    lob_budget_free(&c->budget, bare, n, 1);
    if (st == LOB_OK && h->of.count + h->none.count > INT32_MAX)
        return lob_fail(c->error, LOB_EDATA, "more pieces and holes than 2147483647");
    return st;
}

/* Mark background that reaches a border of the volume or of its slice. */
static void mark_open(hole_search *h, const lob_label_chain *c)
{
    lob_team *const team = c->shared->team;
    const lob_dims d = c->in->dims;
    const lob_dims whole = {d.nx, d.ny, c->shared->planes};
    const int32_t *const none = h->none.labels;
    int64_t first, end;
    bool along[3];
    lob_team_planes(&first, &end, team, lob_team_rank(team), whole.nz);
    for (int a = 0; a < 3; a++) along[a] = a != c->options->slice_axis && lob_side(whole, a) > 1;
    const bool bordered = along[0] || along[1] || along[2];
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        const int64_t y = row % d.ny, z = first + row / d.ny;
        const bool border = !bordered || (along[1] && (y == 0 || y == d.ny - 1)) ||
                            (along[2] && (z == 0 || z == whole.nz - 1));
        for (int64_t x = 0; x < d.nx; x++) {
            const int32_t hole = none[row * d.nx + x];
            if (hole && (border || (along[0] && (x == 0 || x == d.nx - 1))))
                __atomic_store_n(&h->open[hole - 1], 1, __ATOMIC_RELAXED);
        }
    }
}

static bool in_hole(const hole_search *h, int64_t i)
{
    const int32_t hole = ((const int32_t *)h->none.labels)[i];
    return hole && !h->open[hole - 1];
}

/* Number closed holes behind pieces. Of these, voxels stay that share a face with a hole, and those
 * beside a seam, where that is not known: so that contacts are few. */
static void join_numbers(hole_search *h, const lob_label_chain *c)
{
    const lob_dims d = c->in->dims;
    const int64_t plane = d.nx * d.ny;
    const int32_t pieces = (int32_t)h->of.count, *const none = h->none.labels;
    int32_t *const both = h->of.labels;
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        const int64_t y = row % d.ny, z = row / d.ny;
        for (int64_t x = 0; x < d.nx; x++) {
            const int64_t i = row * d.nx + x;
            if (in_hole(h, i))
                both[i] = pieces + none[i];
            else if (z > 0 && z < d.nz - 1 && !(x > 0 && in_hole(h, i - 1)) &&
                     !(x < d.nx - 1 && in_hole(h, i + 1)) && !(y > 0 && in_hole(h, i - d.nx)) &&
                     !(y < d.ny - 1 && in_hole(h, i + d.nx)) && !in_hole(h, i - plane) &&
                     !in_hole(h, i + plane))
                both[i] = 0;
        }
    }
}

/* In rank 0: a hole goes to the piece that it has most faces with, of equal ones to the first. */
static lob_status choose_pieces(hole_search *h, lob_label_chain *c)
{
    const lob_label_grid grid = {h->of.labels, LOB_I32, h->of.count + h->none.count, c->in->dims};
    const lob_volume image = lob_volume_empty();
    const lob_context context = lob_budget_inner(&c->budget, &c->context);
    const int64_t holes = h->none.count;
    lob_contact *contacts = NULL;
    int64_t count = 0, *most = NULL;
    LOB_TRY(lob_contacts_slabs(&contacts, &count, &grid, &image.geometry, NULL, 0,
                               c->options->slice_axis, c->shared->team, &context, c->error));
    const lob_status st = lob_budget_calloc(&c->budget, &most, holes, sizeof *most, c->error);
    for (int64_t i = 0; st == LOB_OK && i < count; i++) { /* in the order of pieces */
        const int64_t hole = contacts[i].b - h->of.count - 1;
        const int64_t faces = contacts[i].faces[0] + contacts[i].faces[1] + contacts[i].faces[2];
        if (hole < 0 || contacts[i].a > h->of.count || faces <= most[hole]) continue;
        most[hole] = faces;
        h->into[hole] = contacts[i].a;
    }
    lob_budget_free(&c->budget, most, holes, sizeof *most);
    free(contacts);
    LOB_TRY(st);
    return lob_team_tell(h->into, holes * (int64_t)sizeof *h->into, c->shared->team, c->error);
}

/* The label of a hole is that of the piece that it goes to. */
static lob_status name_holes(hole_search *h, lob_label_chain *c)
{
    const int64_t all = h->of.count + h->none.count;
    int64_t *voxels = NULL;
    int32_t *owner = NULL;
    lob_status st = lob_budget_calloc(&c->budget, &voxels, all, sizeof *voxels, c->error);
    if (st == LOB_OK) st = lob_budget_calloc(&c->budget, &owner, all, sizeof *owner, c->error);
    c->next = (lob_labels_array){h->of.labels, LOB_I32}; /* for a while */
    if (st == LOB_OK) st = count_pieces(c, all, voxels, owner);
    c->next.data = NULL;
    for (int64_t i = 0; st == LOB_OK && i < h->none.count; i++)
        if (h->into[i] > 0) h->into[i] = owner[h->into[i] - 1];
    lob_budget_free(&c->budget, owner, all, sizeof *owner);
    lob_budget_free(&c->budget, voxels, all, sizeof *voxels);
    return st;
}

static lob_status fill_holes(hole_search *h, lob_label_chain *c, const lob_volume *now)
{
    LOB_TRY(find_background(h, c, now));
    const int64_t n = h->none.count;
    int64_t closed = n;
    LOB_TRY(lob_budget_calloc(&c->budget, &h->open, n, sizeof *h->open, c->error));
    LOB_TRY(lob_budget_calloc(&c->budget, &h->into, n, sizeof *h->into, c->error));
    mark_open(h, c);
    LOB_TRY(any_of_team(c, h->open, n));
    for (int64_t i = 0; i < n; i++) closed -= h->open[i];
    if (closed > 0) {
        join_numbers(h, c);
        LOB_TRY(choose_pieces(h, c));
        LOB_TRY(name_holes(h, c));
    }
    LOB_TRY(lob_label_chain_make(c, c->now.type));
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t i = 0; i < c->voxels; i++)
        lob_label_put(c->next.data, c->next.type, i,
                      in_hole(h, i) ? h->into[((const int32_t *)h->none.labels)[i] - 1]
                                    : lob_label_at(now->data, now->type, i));
    return LOB_OK;
}

static lob_status join(lob_label_chain *c, bool fill, int64_t *found)
{
    lob_components_options o = lob_components_defaults();
    lob_volume now = lob_volume_empty();
    hole_search h = {.open = NULL};
    o.join = LOB_JOIN_EQUAL;
    o.neighbours = c->options->neighbours;
    o.slice_axis = c->options->slice_axis;
    if (fill) o.type = LOB_I32;
    now.data = c->now.data;
    now.type = c->now.type;
    now.dims = c->in->dims;
    int64_t held = (1 + fill) * c->voxels * (int64_t)sizeof(int32_t);
    LOB_TRY(lob_budget_hold(&c->budget, held, c->error));
    lob_status st = components(&h.of, c, &now, &o);
    *found = h.of.count;
    if (st == LOB_OK && fill) st = fill_holes(&h, c, &now);
    if (st == LOB_OK && !fill) {
        c->next = (lob_labels_array){h.of.labels, h.of.type};
        h.of.labels = NULL;
        held -= c->voxels * (int64_t)lob_type_of(h.of.type)->bytes;
    }
    lob_budget_release(&c->budget, held);
    lob_budget_free(&c->budget, h.into, h.none.count, sizeof *h.into);
    lob_budget_free(&c->budget, h.open, h.none.count, sizeof *h.open);
    lob_components_output_free(&h.none);
    lob_components_output_free(&h.of);
    return st;
}

lob_status lob_labels_slabs(lob_labels_output *out, const lob_labels_input *in,
                            const lob_labels_options *options, int64_t planes, lob_team *team,
                            const lob_context *context, lob_error *error)
{
    lob_label_operations operations = lob_label_cpu;
    const lob_label_shared shared = {team, planes, join, widen};
    lob_label_chain c = {.operations = &operations,
                         .in = in,
                         .options = options,
                         .caller = context,
                         .error = error,
                         .out = out,
                         .shared = &shared};
    operations.look = look;
    operations.count_pieces = count_pieces;
    if (lob_team_size(team) == 1) return lob_labels_cpu(out, in, options, context, error);
    lob_error_begin(error);
    memset(out, 0, sizeof *out);
    lob_status st = lob_label_chain_check(in, options, error);
    if (st == LOB_OK) st = lob_label_chain_run(&c);
    st = lob_error_end(error, st);
    if (st != LOB_OK) {
        st = lob_team_agree(team, st, error);
        lob_labels_output_free(out);
    }
    return st;
}
