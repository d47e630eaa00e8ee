/* The operations of label_chain.h where each rank of a team has some planes, on the CPU. */
#include "kernels/labels/label_slabs.h"

#include "kernels/components/components_select.h"
#include "kernels/components/components_team.h"
#include "kernels/labels/label_chain.h"
#include "kernels/morphology/morphology_part.h"
#include "kernels/regions/contacts_slabs.h"
#include "kernels/team/team_planes.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A call: operations are given the chain, which is first. */
typedef struct {
    lob_label_chain chain;
    lob_team *team;
    int64_t planes; /* of the whole volume */
} slab_chain;

static lob_status no_memory(lob_error *error)
{
    return lob_fail(error, LOB_ENOMEM, "no memory for tables of labels");
}

/* ---- tables of all ranks ---- */

/* Marks, each 0 or 1, become those that any rank has set. */
static lob_status any_of_team(uint8_t *marks, int64_t n, lob_team *team, lob_error *error)
{
    void *all = NULL;
    int64_t bytes = 0;
    LOB_TRY(lob_team_collect(team, &all, &bytes, marks, n, error));
    for (int64_t i = 0; all && i < bytes; i++) marks[i % n] |= ((const uint8_t *)all)[i];
    free(all);
    return lob_team_tell(marks, n, team, error);
}

static lob_status look(lob_label_chain *c, uint8_t *seen)
{
    LOB_TRY(lob_label_cpu.look(c, seen));
    return any_of_team(seen, (int64_t)c->count + 1, ((slab_chain *)c)->team, c->error);
}

/* What a rank counts of a piece. */
typedef struct {
    int64_t voxels;
    int32_t piece, owner;
} count_row;

static lob_status count_pieces(lob_label_chain *c, int64_t found, int64_t *voxels, int32_t *owner)
{
    lob_team *const team = ((slab_chain *)c)->team;
    count_row *mine = NULL;
    void *all = NULL;
    int64_t n = 0, bytes = 0;
    LOB_TRY(lob_label_cpu.count_pieces(c, found, voxels, owner));
    for (int64_t i = 0; i < found; i++) n += voxels[i] > 0;
    mine = malloc((size_t)n * sizeof *mine + 1);
    if (!mine) return no_memory(c->error);
    n = 0;
    for (int64_t i = 0; i < found; i++)
        if (voxels[i] > 0) mine[n++] = (count_row){voxels[i], (int32_t)i, owner[i]};
    lob_status st = lob_team_collect(team, &all, &bytes, mine, n * (int64_t)sizeof *mine, c->error);
    free(mine);
    if (all) memset(voxels, 0, (size_t)found * sizeof *voxels);
    for (int64_t i = 0; all && i < bytes / (int64_t)sizeof *mine; i++) {
        const count_row *const row = (const count_row *)all + i;
        voxels[row->piece] += row->voxels;
        owner[row->piece] = row->owner;
    }
    free(all);
    if (st == LOB_OK) st = lob_team_tell(voxels, found * (int64_t)sizeof *voxels, team, c->error);
    return st == LOB_OK ? lob_team_tell(owner, found * (int64_t)sizeof *owner, team, c->error) : st;
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

typedef lob_status wide_work(lob_label_chain *wide, const void *user);

/* Do the work of a step on this rank's planes with those that it reaches, from now to next, of
 * which its own are kept. */
static lob_status in_reach(lob_label_chain *c, wide_work *work, const void *user)
{
    const slab_chain *const s = (const slab_chain *)c;
    const lob_dims d = c->in->dims;
    const int64_t each = (int64_t)lob_type_of(c->now.type)->bytes, plane = d.nx * d.ny * each;
    const int64_t halo = lob_labels_reach(&c->in->steps[c->step], c->options, c->in->spacing_mm);
    const lob_team_reach r = lob_team_reach_of(s->team, lob_team_rank(s->team), s->planes, halo, 1);
    lob_labels_input in = *c->in;
    lob_label_chain wide = *c;
    in.dims.nz = r.to - r.from;
    wide.in = &in;
    wide.voxels = lob_dims_voxels(in.dims);
    wide.now.data = wide.next.data = NULL;
    lob_status st =
        lob_budget_alloc(&wide.budget, &wide.now.data, wide.voxels, (size_t)each, c->error);
    if (st == LOB_OK)
        st = lob_budget_alloc(&wide.budget, &wide.next.data, wide.voxels, (size_t)each, c->error);
    if (st == LOB_OK)
        st = lob_team_fetch(wide.now.data, c->now.data, s->planes, halo, 1, plane, s->team,
                            c->error);
    if (st == LOB_OK) st = work(&wide, user);
    if (st == LOB_OK)
        memcpy(c->next.data, (const char *)wide.next.data + (r.first - r.from) * plane,
               (size_t)((r.end - r.first) * plane));
    lob_budget_free(&wide.budget, wide.next.data, wide.voxels, (size_t)each);
    lob_budget_free(&wide.budget, wide.now.data, wide.voxels, (size_t)each);
    c->budget.peak = wide.budget.peak;
    return st;
}

static lob_status wide_boundary(lob_label_chain *wide, const void *user)
{
    (void)user;
    return lob_label_cpu.boundary(wide);
}

static lob_status boundary(lob_label_chain *c)
{
    return in_reach(c, wide_boundary, NULL);
}

static lob_status wide_slips(lob_label_chain *wide, const void *user)
{
    (void)user;
    return lob_label_cpu.slips(wide);
}

static lob_status slips(lob_label_chain *c)
{
    return in_reach(c, wide_slips, NULL);
}

static lob_status wide_majority(lob_label_chain *wide, const void *user)
{
    return lob_label_cpu.majority(wide, user);
}

static lob_status majority(lob_label_chain *c, const lob_majority *m)
{
    return in_reach(c, wide_majority, m);
}

typedef struct {
    const lob_morphology_input *in;
    lob_morphology how;
    double radius;
    int64_t planes;
} ball;

static lob_status wide_morphology(lob_label_chain *wide, const void *user)
{
    const ball *const b = user;
    const lob_context context = lob_budget_inner(&wide->budget, &wide->context);
    lob_morphology_input in = *b->in;
    in.labels = wide->now.data;
    in.dims = wide->in->dims;
    return lob_morphology_part(wide->next.data, &in, b->how, b->radius, b->planes, &context,
                               wide->error);
}

static lob_status morphology(lob_label_chain *c, const lob_morphology_input *in, lob_morphology how,
                             double radius, const lob_context *context)
{
    const slab_chain *const s = (const slab_chain *)c;
    const ball b = {in, how, radius, s->planes};
    (void)context;
    return in_reach(c, wide_morphology, &b);
}

/* ---- pieces and holes ---- */

static lob_status components(lob_components_output *out, lob_label_chain *c,
                             const lob_volume *image, const lob_components_options *options)
{
    const slab_chain *const s = (const slab_chain *)c;
    const lob_components_input in = {.image = image};
    const lob_context context = lob_budget_inner(&c->budget, &c->context);
    const lob_status st =
        lob_components_team(out, &in, options, s->planes, s->team, &context, c->error);
    lob_label_chain_count(c, out->working_bytes);
    return st;
}

/* Pieces of now and, numbered after them, those of its background. */
typedef struct {
    lob_components_output of;   /* the pieces; then both, in its labels */
    lob_components_output none; /* of the background */
    uint8_t *open;              /* none.count: whether it reaches a border */
    int32_t *into;              /* none.count: the piece that it goes to, 0: none */
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

/* Number both, and mark background that reaches a border of the volume or of its slice. */
static void join_numbers(hole_search *h, const lob_label_chain *c)
{
    const slab_chain *const s = (const slab_chain *)c;
    const lob_dims d = c->in->dims;
    const lob_dims whole = {d.nx, d.ny, s->planes};
    const int32_t pieces = (int32_t)h->of.count, *const none = h->none.labels;
    int32_t *const both = h->of.labels;
    int64_t first, end;
    bool along[3];
    lob_team_planes(&first, &end, s->team, lob_team_rank(s->team), s->planes);
    for (int a = 0; a < 3; a++) along[a] = a != c->options->slice_axis && lob_side(whole, a) > 1;
    const bool bordered = along[0] || along[1] || along[2];
#pragma omp parallel for num_threads(c->context.threads)
    for (int64_t row = 0; row < d.ny * d.nz; row++) {
        const int64_t y = row % d.ny, z = first + row / d.ny;
        const bool border = !bordered || (along[1] && (y == 0 || y == d.ny - 1)) ||
                            (along[2] && (z == 0 || z == whole.nz - 1));
        for (int64_t x = 0; x < d.nx; x++) {
            const int32_t hole = none[row * d.nx + x];
            if (!hole) continue;
            both[row * d.nx + x] = pieces + hole;
            if (border || (along[0] && (x == 0 || x == d.nx - 1)))
                __atomic_store_n(&h->open[hole - 1], 1, __ATOMIC_RELAXED);
        }
    }
}

/* In rank 0: a hole goes to the piece that it has most faces with, of equal ones to the first. */
static lob_status choose_pieces(hole_search *h, lob_label_chain *c)
{
    const slab_chain *const s = (const slab_chain *)c;
    const lob_label_grid grid = {h->of.labels, LOB_I32, h->of.count + h->none.count, c->in->dims};
    const lob_volume image = lob_volume_empty();
    const lob_context context = lob_budget_inner(&c->budget, &c->context);
    lob_contact *contacts = NULL;
    int64_t count = 0;
    LOB_TRY(any_of_team(h->open, h->none.count, s->team, c->error));
    LOB_TRY(lob_contacts_slabs(&contacts, &count, &grid, &image.geometry, NULL, 0,
                               c->options->slice_axis, s->team, &context, c->error));
    int64_t *const most = calloc((size_t)h->none.count + 1, sizeof *most);
    for (int64_t i = 0; most && i < count; i++) { /* in the order of pieces */
        const int64_t hole = contacts[i].b - h->of.count - 1;
        const int64_t faces = contacts[i].faces[0] + contacts[i].faces[1] + contacts[i].faces[2];
        if (hole < 0 || contacts[i].a > h->of.count || h->open[hole] || faces <= most[hole])
            continue;
        most[hole] = faces;
        h->into[hole] = contacts[i].a;
    }
    free(contacts);
    free(most);
    if (!most) return no_memory(c->error);
    return lob_team_tell(h->into, h->none.count * (int64_t)sizeof *h->into, s->team, c->error);
}

/* next = now, where voxels of holes have the numbers of the pieces that these go to. */
static lob_status paint_holes(hole_search *h, lob_label_chain *c)
{
    const int64_t pieces = h->of.count, all = pieces + h->none.count;
    const lob_labels_array both = {h->of.labels, LOB_I32};
    int64_t *const voxels = calloc((size_t)all + 1, sizeof *voxels);
    int32_t *const owner = calloc((size_t)all + 1, sizeof *owner);
    int32_t *const table = calloc((size_t)all + 1, sizeof *table);
    lob_status st = voxels && owner && table ? LOB_OK : no_memory(c->error);
    c->next = both; /* for a while */
    if (st == LOB_OK) st = count_pieces(c, all, voxels, owner);
    c->next.data = NULL;
    for (int64_t i = 0; st == LOB_OK && i < all; i++) {
        const int64_t piece = i < pieces ? i + 1 : h->into[i - pieces];
        if (piece > 0) table[i + 1] = owner[piece - 1];
    }
    if (st == LOB_OK) st = lob_label_chain_make(c, c->now.type);
    if (st == LOB_OK) st = lob_label_cpu.put(c, c->next, both, table, all + 1);
    free(table);
    free(owner);
    free(voxels);
    return st;
}

static lob_status fill_holes(hole_search *h, lob_label_chain *c, const lob_volume *now)
{
    LOB_TRY(find_background(h, c, now));
    h->open = calloc((size_t)h->none.count + 1, sizeof *h->open);
    h->into = calloc((size_t)h->none.count + 1, sizeof *h->into);
    if (!h->open || !h->into) return no_memory(c->error);
    join_numbers(h, c);
    LOB_TRY(choose_pieces(h, c));
    return paint_holes(h, c);
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
    free(h.open);
    free(h.into);
    lob_components_output_free(&h.none);
    lob_components_output_free(&h.of);
    return st;
}

lob_status lob_labels_slabs(lob_labels_output *out, const lob_labels_input *in,
                            const lob_labels_options *options, int64_t planes, lob_team *team,
                            const lob_context *context, lob_error *error)
{
    const lob_label_operations operations = {
        .put = lob_label_cpu.put,
        .look = look,
        .count_pieces = count_pieces,
        .boundary = boundary,
        .slips = slips,
        .majority = majority,
        .finish = lob_label_cpu.finish,
    };
    static const lob_label_shared shared = {join, morphology};
    slab_chain s = {
        .chain = {.operations = &operations,
                  .in = in,
                  .options = options,
                  .caller = context,
                  .error = error,
                  .out = out,
                  .shared = &shared},
        .team = team,
        .planes = planes
    };
    if (lob_team_size(team) == 1) return lob_labels_cpu(out, in, options, context, error);
    lob_error_begin(error);
    memset(out, 0, sizeof *out);
    lob_status st = lob_label_chain_check(in, options, error);
    if (st == LOB_OK) st = lob_label_chain_run(&s.chain);
    st = lob_error_end(error, st);
    if (st != LOB_OK) {
        st = lob_team_agree(team, st, error);
        lob_labels_output_free(out);
    }
    return st;
}
