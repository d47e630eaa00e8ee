/* Registration: the affine, then levels of displacements, then the field. */
#include "kernels/arrays.h"
#include "kernels/device/device.h"
#include "kernels/progress.h"
#include "kernels/register/register_voxel.h"

#include <stdlib.h>

/* Points, samples, reach, quant, patches: of the translation, of the affine, of the field. */
static const lob_register_level translation = {8, 2, 4, 8, 6, 3};
static const lob_register_level affine_levels[] = {
    {8, 3, 3, 5, 4, 3},
    {7, 3, 3, 4, 2, 2},
    {6, 3, 2, 3, 1, 1}
};
static const lob_register_level levels[] = {
    {8, 3, 3, 5, 6, 3},
    {6, 3, 2, 5, 4, 3},
    {5, 3, 2, 4, 3, 2},
    {4, 4, 3, 3, 2, 2},
    {3, 3, 3, 3, 1, 1},
    {2, 2, 2, 2, 1, 1}
};

/* The share of the whole work that is done after each of the levels; the affine takes the first. */
static const double affine_share = 0.25, share_after[] = {0.35, 0.45, 0.5, 0.65, 0.8, 1.0};

/* Smoothing keeps back a part of each turn: the last level of the affine is done a few times. */
enum { AFFINE_ROUNDS = 7, CONSISTENT_ROUNDS = 10 /* even */, MOST_PLACES = 64 };

static const lob_register_points none; /* no displacements */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

lob_register_options lob_register_defaults(void)
{
    return (lob_register_options){.smooth = 0.4};
}

/* ---- preparing ---- */

static lob_status check(const lob_register_input *in, const lob_register_options *o,
                        const lob_context *context, lob_error *error)
{
    const lob_volume *const scan[2] = {in->fixed, in->moving};
    if (!context->device) LOB_TRY(lob_check_memory((lob_place){0}, in->fixed, in->moving, error));
    for (int k = 0; k < 2; k++) {
        const char *const name = k == 0 ? "fixed" : "moving";
        int axes = 0;
        for (int a = 0; a < 3; a++) axes += lob_side(scan[k]->dims, a) > 1;
        if (scan[k]->channels != 1)
            return lob_fail(error, LOB_EARG, "the %s scan has %d channels; one is needed", name,
                            scan[k]->channels);
        if (axes < 2)
            return lob_fail(error, LOB_EDATA,
                            "the %s scan has two voxels or more along fewer than two axes", name);
    }
    if (!(o->smooth >= 0.01 && o->smooth <= 100.0))
        return lob_fail(error, LOB_EARG, "smoothness %g is not in 0.01 to 100", o->smooth);
    if (!(o->spacing_mm >= 0.0 && o->spacing_mm <= 1e6))
        return lob_fail(error, LOB_EARG, "a grid of %g mm is not possible", o->spacing_mm);
    return LOB_OK;
}

double lob_register_spacing(const lob_volume *scan)
{
    const double least = lob_least_spacing(scan->dims, scan->geometry.spacing_mm);
    double longest = 0.0;
    for (int a = 0; a < 3; a++)
        longest = fmax(longest, (double)lob_side(scan->dims, a) * scan->geometry.spacing_mm[a]);
    return fmax(longest / 1024.0, fmin(3.0, fmax(longest / 64.0, least)));
}

/* Do the scans share no part of the world? */
static bool lie_apart(const lob_register_call *c, const lob_register_affine *affine)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int corner = 0; corner < 8; corner++)
        for (int a = 0; a < 3; a++) {
            double at = affine->m[a][3];
            for (int b = 0; b < 3; b++)
                at += affine->m[a][b] *
                      (corner >> b & 1 ? (double)lob_side(c->fixed.dims, b) - 0.5 : -0.5);
            low[a] = fmin(low[a], at);
            high[a] = fmax(high[a], at);
        }
    for (int a = 0; a < 3; a++)
        if (lob_side(c->moving.dims, a) > 1 &&
            (high[a] <= -0.5 || low[a] >= (double)lob_side(c->moving.dims, a) - 0.5))
            return true;
    return false;
}

/* Where the headers place the scans; or a place of the moving scan, so many voxels from its centre,
 * on the centre of the fixed one. */
static lob_register_affine begin_affine(const lob_register_call *c, const int64_t *beside)
{
    const lob_register_affine to_world = lob_register_to_world(&c->fixed.geometry);
    const lob_register_affine to_voxel = lob_register_to_voxel(&c->moving.geometry);
    lob_register_affine begin = lob_register_after(&to_voxel, &to_world);
    for (int a = 0; a < 3 && beside; a++) {
        double at = begin.m[a][3];
        for (int b = 0; b < 3; b++)
            at += begin.m[a][b] * ((double)lob_side(c->fixed.dims, b) - 1.0) / 2.0;
        begin.m[a][3] += ((double)lob_side(c->moving.dims, a) - 1.0) / 2.0 + (double)beside[a] - at;
    }
    return begin;
}

/* A pass over the fixed one's grid. */
static lob_register_pass pass_of(const lob_register_call *c, lob_register_kind kind)
{
    return (lob_register_pass){
        .kind = kind,
        .n = c->fixed.voxels,
        .level = c->moved.level,
        .moving = c->moving,
        .dims = c->fixed.dims,
        .affine = c->affine,
        .words = {c->words[0], c->words[1]},
        .mask = c->mask,
        .no_data = c->no_data,
        .here = lob_register_to_world(&c->fixed.geometry)
    };
}

/* The mask on the grid, where the call is. */
static lob_status make_mask(lob_register_call *c)
{
    const lob_volume *const scan = c->in->fixed;
    const bool travels = c->device && scan->place.kind == LOB_PLACE_MEMORY;
    uint8_t *copy = NULL;
    if (!c->in->mask) return LOB_OK;
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &c->mask, c->fixed.voxels, c->error));
    if (travels)
        LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &copy, lob_voxels(scan), c->error));
    lob_register_pass pass = pass_of(c, LOB_REGISTER_MASK);
    pass.data = travels ? copy : c->in->mask;
    pass.moving.dims = scan->dims;
    pass.finder = lob_voxel_finder_of(scan->geometry.affine, scan->geometry.spacing_mm);
    pass.marks = c->mask;
    lob_status st = LOB_OK;
    if (travels) st = lob_device_upload(c->device, copy, c->in->mask, lob_voxels(scan), c->error);
    if (st == LOB_OK) st = c->loops->pass(NULL, c, &pass);
    lob_budget_free_at(&c->budget, c->device, copy, lob_voxels(scan));
    return st;
}

static lob_status prepare(lob_register_call *c)
{
    const double asked = c->options->spacing_mm;
    c->spacing_mm = asked > 0.0 ? asked : lob_register_spacing(c->in->fixed);
    LOB_TRY(lob_register_image_make(&c->fixed, c, c->in->fixed, 0));
    LOB_TRY(lob_register_image_make(&c->moving, c, c->in->moving, 1));
    c->moved = c->fixed;
    c->moved.level = NULL;
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &c->moved.level,
                                c->moved.voxels * (int64_t)sizeof(int16_t), c->error));
    return make_mask(c);
}

/* ---- a level ---- */

/* A level for a grid of few voxels: eight points or more along its longest side, of two voxels each
 * at least. */
static lob_register_level fitted(const lob_register_call *c, lob_register_level level)
{
    const lob_dims d = c->fixed.dims;
    int64_t longest = d.nx > d.ny ? d.nx : d.ny;
    if (d.nz > longest) longest = d.nz;
    const int64_t step = longest / 8 > 2 ? longest / 8 : 2;
    if (step >= level.step) return level;
    level.step = (int)step;
    level.each = step > 4 ? 2 : 1;
    level.side = (level.step + level.each - 1) / level.each;
    return level;
}

static int64_t points_bytes(const lob_register_points *p)
{
    return 3 * p->count * (int64_t)sizeof *p->u[0];
}

static void points_free(lob_register_points *p, lob_register_call *c)
{
    lob_budget_free_at(&c->budget, c->device, p->u[0], points_bytes(p));
    p->u[0] = NULL;
}

int64_t lob_register_costs_plan(lob_register_costs *k, const lob_register_call *c,
                                const lob_register_level *level)
{
    lob_register_points *const p = &k->points;
    *k = (lob_register_costs){.level = *level, .dims = c->fixed.dims, .labels = 1};
    *p = (lob_register_points){.step = level->step, .count = 1};
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(k->dims, a), n = side / level->step;
        const int64_t most = (side - 1 + level->quant - 1) / level->quant;
        k->side[a] = 2 * (level->reach < most ? level->reach : (int)most) + 1;
        k->labels *= k->side[a];
        p->n[a] = n > 0 ? n : 1;
        p->first[a] = n > 0 ? side % level->step / 2 : -((level->step - side) / 2);
        p->count *= p->n[a];
    }
    k->words = c->device ? 0 : lob_register_rows(k);
    return k->words * (int64_t)sizeof *k->rows +
           (k->labels + 1) * p->count * (int64_t)sizeof *k->cost;
}

/* Find a level's samples, and their weight. */
static void weigh(lob_register_costs *k, double smooth)
{
    const lob_register_level *const level = &k->level;
    const int each = level->each, side = level->side;
    const int begin = (level->step - 1) / 2 - (side - 1) * each / 2;
    for (int i = 0; i < side * side * side; i++) {
        const int x = i % side, y = i / side % side, z = i / side / side;
        if ((x + y + z) % 2 != 0 && side > 2) continue;
        int8_t *const offset = k->offset[k->offsets++];
        offset[0] = (int8_t)(begin + x * each);
        offset[1] = (int8_t)(begin + y * each);
        offset[2] = (int8_t)(begin + z * each);
    }
    const double weight = 0.5 * level->step / (smooth * level->quant);
    const double scale = LOB_REGISTER_UNIT * weight / k->offsets + 0.5;
    k->scale = scale < 1.0 ? 1 : scale > 1e4 ? 10000 : (int64_t)scale;
}

lob_status lob_register_costs_make(lob_register_costs *k, lob_register_call *c,
                                   const lob_register_level *level,
                                   const lob_register_points *before, int from, int margin)
{
    const int64_t bytes = lob_register_costs_plan(k, c, level);
    lob_register_points *const p = &k->points;
    k->before = *before;
    k->from = c->words[from];
    k->to = c->words[!from];
    k->mask = c->mask;
    k->no_data = c->no_data;
    k->margin = margin;
    weigh(k, c->options->smooth);
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &p->u[0], points_bytes(p), c->error));
    p->u[1] = p->u[0] + p->count;
    p->u[2] = p->u[1] + p->count;
    LOB_TRY(lob_register_room(c, &k->rows, bytes));
    k->cost = (int32_t *)(k->rows + k->words);
    k->contrast = k->cost + k->labels * p->count;
    LOB_TRY(c->loops->costs(k, c));
    return lob_progress_stopped(c->progress) ? LOB_ECANCEL : LOB_OK;
}

/* Room for the costs of all levels, whichever take most: so a refusal says what is needed in all.
 */
static lob_status make_room(lob_register_call *c)
{
    const size_t count = c->options->affine_only ? 0 : COUNT(levels);
    lob_register_costs k;
    int64_t most = 0;
    for (size_t i = 0; i <= count; i++) {
        const lob_register_level level = fitted(c, i < count ? levels[i] : translation);
        const int64_t bytes = lob_register_costs_plan(&k, c, &level);
        most = bytes > most ? bytes : most;
    }
    return lob_register_room(c, &k.rows, most);
}

/* ---- measures ---- */

/* Bits in which words of two scans on the fixed one's grid differ, over the voxels of data that
 * count. p: displacements between them. */
static lob_status count_bits(double *bits, double *voxels, lob_register_call *c,
                             uint64_t *const words[2], const lob_register_points *p)
{
    uint64_t numbers[LOB_REGISTER_NUMBERS];
    lob_register_pass pass = pass_of(c, LOB_REGISTER_BITS);
    pass.points[0] = *p;
    for (int k = 0; k < 2; k++) pass.words[k] = words[k];
    LOB_TRY(c->loops->pass(numbers, c, &pass));
    *bits = (double)numbers[2];
    *voxels = (double)numbers[3];
    return LOB_OK;
}

/* The share of bits in which words of the fixed scan and the moved one differ. */
static lob_status share_of_bits(double *share, lob_register_call *c, const lob_register_points *p)
{
    double bits, voxels;
    LOB_TRY(count_bits(&bits, &voxels, c, c->words, p));
    *share = voxels > 0 ? bits / (60.0 * voxels) : 0.0;
    return LOB_OK;
}

/* How far the affine can be trusted. */
static lob_status judge_affine(lob_register_call *c)
{
    uint64_t *const own[2] = {c->words[0], c->words[0]};
    double bits, voxels, both;
    LOB_TRY(count_bits(&bits, &voxels, c, own, &none));
    LOB_TRY(count_bits(&bits, &both, c, c->words, &none));
    c->stats.overlap = voxels > 0 ? both / voxels : 0.0;
    c->stats.cost_affine = both > 0 ? bits / (60.0 * both) : 0.0;
    c->stats.doubtful = c->stats.cost_affine > 0.33 || c->stats.overlap < 0.25;
    return LOB_OK;
}

/* Words of both scans, where they are not there. */
static lob_status make_words(lob_register_call *c, int radius)
{
    const int64_t bytes = c->fixed.voxels * (int64_t)sizeof(uint64_t);
    for (int k = 0; k < 2; k++) {
        uint64_t **const of = &c->of[k][radius - 1];
        bool *const fresh = &c->fresh[k][radius - 1];
        if (!*of) LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, of, bytes, c->error));
        if (!*fresh) LOB_TRY(c->loops->words(*of, c, k == 0 ? &c->fixed : &c->moved, radius));
        *fresh = true;
        c->words[k] = *of;
    }
    return LOB_OK;
}

/* ---- the affine ---- */

/* The moving image through the affine. */
static lob_status move(lob_register_call *c)
{
    const lob_register_pass pass = pass_of(c, LOB_REGISTER_MOVE);
    memset(c->fresh[1], false, sizeof c->fresh[1]);
    return c->loops->pass(NULL, c, &pass);
}

/* Move by the one displacement that costs least for all points together. least: what it costs. */
static lob_status translate(int64_t *least, lob_register_call *c, const lob_register_costs *k)
{
    uint64_t numbers[LOB_REGISTER_NUMBERS];
    lob_register_affine step = {
        {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}
    };
    lob_register_pass pass = pass_of(c, LOB_REGISTER_LEAST);
    pass.n = (k->labels - 1) / LOB_REGISTER_GROUP + 1;
    pass.labels = k->labels;
    pass.points[0] = k->points;
    pass.cost = k->cost;
    LOB_TRY(c->loops->pass(numbers, c, &pass));
    *least = (int64_t)(~numbers[0] / LOB_REGISTER_LABELS);
    int best = (int)(~numbers[0] % LOB_REGISTER_LABELS);
    for (int a = 0; a < 3; best /= k->side[a++]) {
        const int l = best % k->side[a] - k->side[a] / 2;
        step.m[a][3] = (double)(k->level.quant * l);
    }
    c->affine = lob_register_after(&c->affine, &step);
    return LOB_OK;
}

/* Fit the affine, on the CPU. */
static lob_status fit(lob_register_call *c, const lob_register_costs *k)
{
    const int64_t n = k->points.count;
    lob_register_points p = k->points;
    float *memory;
    if (!c->device) return lob_register_affine_fit(c, &p, k->contrast);
    LOB_TRY(lob_budget_alloc(&c->budget, &memory, 4 * n, sizeof *memory, c->error));
    int32_t *const contrast = (int32_t *)(memory + 3 * n);
    const int64_t bytes = n * (int64_t)sizeof *memory;
    lob_status st = lob_device_download(c->device, memory, p.u[0], 3 * bytes, c->error);
    if (st == LOB_OK) st = lob_device_download(c->device, contrast, k->contrast, bytes, c->error);
    for (int a = 0; a < 3; a++) p.u[a] = memory + a * n;
    if (st == LOB_OK) st = lob_register_affine_fit(c, &p, contrast);
    lob_budget_free(&c->budget, memory, 4 * n, sizeof *memory);
    return st;
}

/* One level of the affine. least: only its translation is sought; out: what it costs. */
static lob_status affine_level(lob_register_call *c, const lob_register_level *given,
                               int64_t *least)
{
    const lob_register_level level = fitted(c, *given);
    lob_register_costs k;
    LOB_TRY(move(c));
    LOB_TRY(make_words(c, level.radius));
    if (least) LOB_TRY(share_of_bits(&c->stats.cost_affine, c, &none));
    /* Where images end they look alike, and what lies there may be outside of the other one. */
    lob_status st = lob_register_costs_make(&k, c, &level, &none, 0, 4 * level.radius);
    if (st == LOB_OK && least) st = translate(least, c, &k);
    if (st == LOB_OK && !least) st = lob_register_tree_solve(&k, c, &c->fixed);
    if (st == LOB_OK && !least) st = fit(c, &k);
    points_free(&k.points, c);
    return st;
}

/* Places on which the fixed scan's centre begins: the moving scan's centre; and, where it shows at
 * least twice as much along an axis, more to both sides of it, half of what the fixed scan covers
 * apart. That is the axis along which it shows most beside. */
typedef struct {
    int axis;
    int64_t step, count;
} places;

static places find_places(const lob_register_call *c)
{
    const lob_register_affine begin = begin_affine(c, NULL);
    places p = {.axis = 0, .step = 1, .count = 1};
    int64_t most = 0;
    for (int a = 0; a < 3; a++) {
        double covered = 0.0;
        for (int b = 0; b < 3; b++)
            covered += fabs(begin.m[a][b]) * (double)lob_side(c->fixed.dims, b);
        const int64_t side = (int64_t)(covered + 0.5);
        const int64_t all = lob_side(c->moving.dims, a);
        const int64_t least = all / MOST_PLACES + 1, step = side / 2 > least ? side / 2 : least;
        if (all < 2 * side || all / step <= most) continue;
        most = all / step;
        p = (places){a, step, 2 * ((all - side) / 2 / step) + 1};
    }
    return p;
}

/* Find the translation from where the headers place the scans, and from places on each other: of
 * all, the one that costs least; of equal ones, the first. */
static lob_status find_translation(lob_register_call *c)
{
    const lob_register_start start = c->options->start;
    const places p = find_places(c);
    lob_register_affine best;
    int64_t least = INT64_MAX;
    c->no_data = LOB_REGISTER_DEAR;
    const int64_t end = start == LOB_START_HEADERS ? 0 : p.count;
    for (int64_t i = start == LOB_START_CENTRES ? 0 : -1; i < end; i++) {
        int64_t cost, beside[3] = {0, 0, 0};
        beside[p.axis] = (i - p.count / 2) * p.step;
        const lob_register_affine begin = begin_affine(c, i < 0 ? NULL : beside);
        if (lie_apart(c, &begin)) continue;
        if (lob_progress_stopped(c->progress)) return LOB_ECANCEL;
        c->affine = begin;
        LOB_TRY(affine_level(c, &translation, &cost));
        if (cost >= least) continue;
        least = cost;
        best = c->affine;
        c->stats.cost_before = c->stats.cost_affine;
        c->stats.centres = i >= 0;
    }
    if (least == INT64_MAX)
        return lob_fail(c->error, LOB_EDATA,
                        "the fields of view of fixed and moving scan do not overlap");
    c->affine = c->begin = best;
    c->no_data = LOB_REGISTER_NEUTRAL;
    memset(c->fresh[0], false, sizeof c->fresh[0]);
    return LOB_OK;
}

/* ---- the field ---- */

/* Both fields, there and back, half-way to where each undoes the other, a few times. */
static lob_status make_consistent(lob_register_points p[2], lob_register_call *c)
{
    const int64_t count = p[0].count, bytes = 6 * count * (int64_t)sizeof(float);
    lob_register_points other[2] = {p[0], p[1]};
    float *memory;
    lob_status st = LOB_OK;
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &memory, bytes, c->error));
    for (int k = 0; k < 6; k++) other[k / 3].u[k % 3] = memory + k * count;
    for (int round = 0; round < CONSISTENT_ROUNDS && st == LOB_OK; round++) {
        const lob_register_points *const from = round % 2 ? other : p, *to = round % 2 ? p : other;
        const lob_register_pass pass = {
            .kind = LOB_REGISTER_HALVE,
            .n = 2 * count,
            .points = {from[0], from[1]},
            .next = {to[0],   to[1]  }
        };
        st = c->loops->pass(NULL, c, &pass);
    }
    lob_budget_free_at(&c->budget, c->device, memory, bytes);
    return st;
}

/* p: displacements in voxels of the grid, there and back. */
static lob_status find_displacements(lob_register_points p[2], lob_register_call *c)
{
    const lob_register_image *const image[2] = {&c->fixed, &c->moved};
    lob_register_costs costs;
    for (size_t i = 0; i < COUNT(levels); i++) {
        const lob_register_level level = fitted(c, levels[i]);
        lob_register_points next[2] = {{.count = 0}, {.count = 0}};
        lob_status st = LOB_OK;
        LOB_TRY(make_words(c, level.radius));
        lob_register_costs_plan(&costs, c, &level);
        lob_progress_stage(c->progress, 6 * costs.points.count, share_after[i]);
        for (int k = 0; k < 2 && st == LOB_OK; k++) {
            st = lob_register_costs_make(&costs, c, &level, &p[k], k, 0);
            next[k] = costs.points;
            if (st == LOB_OK) st = lob_register_tree_solve(&costs, c, image[k]);
        }
        if (st == LOB_OK) st = make_consistent(next, c);
        for (int k = 0; k < 2; k++) {
            points_free(&p[k], c);
            p[k] = next[k];
        }
        LOB_TRY(st);
    }
    return LOB_OK;
}

/* Displacements in voxels become a field in mm of the world, with the affine, on a grid over all
 * of the fixed scan. */
static lob_register_pass field_pass(lob_field *out, const lob_register_call *c,
                                    const lob_register_points *p)
{
    const lob_register_affine moving = lob_register_to_world(&c->moving.geometry);
    const lob_register_affine back = lob_register_to_voxel(&c->fixed.geometry);
    const int64_t *const first = c->all.first;
    lob_register_pass pass = pass_of(c, LOB_REGISTER_FIELD);
    out->dims = lob_box_dims(&c->all);
    out->geometry = lob_box_geometry(&c->fixed.geometry, &c->all);
    pass.n = lob_dims_voxels(out->dims);
    pass.dims = out->dims;
    pass.points[0] = *p;
    pass.here = lob_register_to_world(&out->geometry);
    pass.there = lob_register_after(&moving, &c->affine);
    const lob_register_affine affine = lob_register_after(&pass.there, &back);
    memcpy(out->affine, affine.m, sizeof out->affine);
    for (int b = 0; b < 3; b++) {
        pass.points[0].first[b] -= first[b];
        for (int a = 0; a < 3; a++) pass.there.m[a][3] += pass.there.m[a][b] * (double)first[b];
    }
    return pass;
}

/* The field, where it folds and how far it reaches. */
static lob_status make_field(lob_field *out, lob_register_call *c, const lob_register_points *p)
{
    const bool there = c->in->fixed->place.kind != LOB_PLACE_MEMORY, travels = c->device && !there;
    uint64_t numbers[LOB_REGISTER_NUMBERS] = {0};
    lob_register_pass pass = field_pass(out, c, p);
    const int64_t bytes = 3 * pass.n * (int64_t)sizeof *out->mm;
    if (there) out->device = c->device;
    if (there)
        LOB_TRY(lob_device_alloc(c->device, (void **)&out->mm, bytes, c->error));
    else
        out->mm = malloc((size_t)bytes);
    if (!out->mm) return lob_fail(c->error, LOB_ENOMEM, "no memory left for the field");
    pass.mm = out->mm;
    if (travels) LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &pass.mm, bytes, c->error));
    lob_status st = c->loops->pass(NULL, c, &pass);
    pass.kind = LOB_REGISTER_EXTENT;
    if (st == LOB_OK) st = c->loops->pass(numbers, c, &pass);
    if (travels && st == LOB_OK)
        st = lob_device_download(c->device, out->mm, pass.mm, bytes, c->error);
    if (travels) lob_budget_free_at(&c->budget, c->device, pass.mm, bytes);
    c->stats.folded = (double)numbers[2] / (double)pass.n;
    c->stats.most_mm = sqrt(lob_value_of_key_double(numbers[0]));
    return st;
}

#ifndef LOB_WITH_CUDA
const lob_register_loops lob_register_on_cuda; /* there is no device */
#endif

static lob_status run(lob_field *out, lob_register_call *c)
{
    lob_register_points p[2] = {{.count = 0}, {.count = 0}};
    LOB_TRY(prepare(c));
    LOB_TRY(make_room(c));
    lob_progress_stage(c->progress, 1, affine_share);
    LOB_TRY(find_translation(c));
    for (size_t i = 0; i < AFFINE_ROUNDS; i++) {
        const size_t last = COUNT(affine_levels) - 1;
        LOB_TRY(affine_level(c, &affine_levels[i < last ? i : last], NULL));
    }
    LOB_TRY(move(c));
    LOB_TRY(make_words(c, levels[0].radius));
    LOB_TRY(judge_affine(c));
    c->stats.cost_after = c->stats.cost_affine;
    lob_status st = c->options->affine_only ? LOB_OK : find_displacements(p, c);
    if (st == LOB_OK) st = make_field(out, c, &p[0]);
    if (st == LOB_OK && !c->options->affine_only) {
        st = make_words(c, levels[0].radius);
        if (st == LOB_OK) st = share_of_bits(&c->stats.cost_after, c, &p[0]);
    }
    for (int k = 0; k < 2; k++) points_free(&p[k], c);
    return st;
}

lob_status lob_register(lob_field *out, lob_register_stats *stats, const lob_register_input *in,
                        const lob_register_options *options, const lob_context *context,
                        lob_error *error)
{
    lob_progress progress = {.context = context};
    lob_register_call c = {
        .in = in,
        .options = options,
        .context = context,
        .error = error,
        .budget = {.who = "registration", .limit = context->max_memory},
        .progress = &progress,
        .loops = context->device ? &lob_register_on_cuda : &lob_register_on_cpu,
        .device = context->device,
    };
    lob_error_begin(error);
    *out = (lob_field){.mm = NULL};
    lob_device_begin(c.device);
    lob_status st = check(in, options, context, error);
    if (st == LOB_OK) st = run(out, &c);
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < LOB_REGISTER_MOST_RADIUS; r++)
            lob_budget_free_at(&c.budget, c.device, c.of[k][r],
                               c.fixed.voxels * (int64_t)sizeof *c.of[k][r]);
    lob_budget_free_at(&c.budget, c.device, c.room, c.room_bytes);
    lob_budget_free_at(&c.budget, c.device, c.mask, c.fixed.voxels);
    const lob_register_image *const images[] = {&c.moved, &c.moving, &c.fixed};
    for (int k = 0; k < 3; k++)
        lob_budget_free_at(&c.budget, c.device, images[k]->level,
                           images[k]->voxels * (int64_t)sizeof *images[k]->level);
    lob_device_end(c.device);
    if (st != LOB_OK) lob_field_free(out);
    c.stats.working_bytes = c.budget.peak;
    if (stats) *stats = c.stats;
    return lob_error_end(error, st);
}
