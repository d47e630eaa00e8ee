/* The tile engine's code for one width of key; KEY_BITS is 32 or 64. See growcut_tiles.h. */
#include "kernels/growcut/growcut_tiles.h"
#include "kernels/growcut/growcut_voxel.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#if KEY_BITS == 32
typedef uint32_t key_t_;
#define KEY_NEVER   UINT32_MAX /* as a weight: no passage */
#define KEY_TOP     UINT32_MAX /* keys stay below it */
#define ENTRY(name) name##_32
#else
typedef uint64_t key_t_;
/* A quarter of the range, so that a key and two weights never wrap. */
#define KEY_NEVER   (UINT64_C(1) << 62)
#define KEY_TOP     (UINT64_C(1) << 62)
#define ENTRY(name) name##_64
#endif
#define key_t key_t_

enum { BUCKETS = 64, SIDES = 27, ROW = 258, WINDOW_STEPS = 3, SLACK = 8 };

/* Four cells of a row at once; the fourth is along for the ride. */
typedef key_t four_keys __attribute__((vector_size(4 * sizeof(key_t))));
typedef uint16_t four_levels __attribute__((vector_size(8)));

/* Neighbours in one row: x - 1, x and x + 1, as far as they count. */
typedef struct {
    int64_t step;    /* cells from a cell to its neighbour at x - 1 */
    four_keys bit;   /* 1 << index in the engine's lists; 0 for what is no neighbour */
    four_keys extra; /* weight beyond that of the levels */
} neighbour_row;

/* A cell whose key was lowered and whose neighbours have not heard of it. */
typedef struct {
    uint32_t cell;
    key_t key;
} waiting;

typedef struct {
    waiting *items;
    size_t n, room;
} list;

typedef struct {
    key_t *keys;
    uint16_t *levels; /* channel after channel */
    list held;        /* waiting cells that cost more than the last window */
    key_t held_least;
    list inbox; /* posted by neighbours, guarded by lock */
    key_t inbox_least;
    omp_lock_t lock;
} tile;

/* A thread's own workspace. */
typedef struct {
    list bucket[BUCKETS];
    list halo;        /* lowered halo cells of the tile under way */
    list mail[SIDES]; /* the same, sorted by neighbour */
    int64_t reached;
    bool failed; /* an allocation failed */
} worker;

typedef struct {
    const lob_growcut_job *job;
    int64_t side[3], tiles[3], pad[3], pitch[3]; /* along the view's axes */
    int64_t cells;                               /* of a tile with its halo */
    int64_t count;                               /* tiles */
    tile *tile;
    key_t *key_store;
    uint16_t *level_store;
    uint8_t *is_halo; /* cells */
    int neighbours;
    int64_t step[26]; /* cells from a cell to its neighbour */
    key_t extra[26];  /* weight of each beyond weight[d] */
    int rows;
    neighbour_row row[9]; /* the same neighbours, row by row */
    key_t *weight;        /* dmax + 1, shifted like a key */
    int level_shift;      /* weight[d] >= d << level_shift */
    int label_bits;
    key_t unreached; /* key of data that no path has reached: one past the dearest allowed */
    bool reversed;   /* ties go to the largest label */
    key_t window;    /* width of the cost window, shifted like a key */
    int bucket_shift;
    worker *worker;
    int workers;
    lob_norm norm;
    int64_t peak_bytes;
} engine;

static bool push(list *to, uint32_t cell, key_t key)
{
    if (to->n == to->room) {
        const size_t room = to->room ? 2 * to->room : 64;
        waiting *items = realloc(to->items, room * sizeof *items);
        if (!items) return false;
        to->items = items;
        to->room = room;
    }
    to->items[to->n++] = (waiting){cell, key};
    return true;
}

static void drop(list *old)
{
    free(old->items);
    *old = (list){0};
}

static int64_t bytes_of(const list *held)
{
    return (int64_t)(held->room * sizeof *held->items);
}

/* ---- labels in and out ---- */

static int32_t label_at(const void *labels, lob_type type, int64_t i)
{
    return type == LOB_U8    ? ((const uint8_t *)labels)[i]
           : type == LOB_I16 ? ((const int16_t *)labels)[i]
                             : ((const int32_t *)labels)[i];
}

static void put_label(void *labels, lob_type type, int64_t i, int32_t label)
{
    if (type == LOB_U8)
        ((uint8_t *)labels)[i] = (uint8_t)label;
    else if (type == LOB_I16)
        ((int16_t *)labels)[i] = (int16_t)label;
    else
        ((int32_t *)labels)[i] = label;
}

static key_t key_of(const engine *e, uint64_t units, int32_t label)
{
    const int32_t rank = e->reversed ? e->job->in->labels + 1 - label : label;
    return (key_t)(units << e->label_bits) | (key_t)rank;
}

static int32_t label_of(const engine *e, key_t key)
{
    const int32_t rank = (int32_t)(key & (((key_t)1 << e->label_bits) - 1));
    return e->reversed ? e->job->in->labels + 1 - rank : rank;
}

/* ---- laying out the tiles ---- */

static void lay_out(engine *e)
{
    const lob_dims dims = e->job->view.dims;
    const int64_t view[3] = {dims.nx, dims.ny, dims.nz};
    e->cells = 1;
    e->count = 1;
    for (int a = 0; a < 3; a++) {
        e->tiles[a] = (view[a] + e->job->tile - 1) / e->job->tile;
        e->side[a] = (view[a] + e->tiles[a] - 1) / e->tiles[a];
        e->tiles[a] = (view[a] + e->side[a] - 1) / e->side[a];
        e->pad[a] = view[a] > 1;
        e->pitch[a] = e->cells;
        e->cells *= e->side[a] + 2 * e->pad[a];
        e->count *= e->tiles[a];
    }
}

static void list_steps(engine *e)
{
    const lob_growcut_rule *rule = &e->job->rule;
    for (int k = 0; k < rule->neighbours; k++) {
        int64_t step = 0; /* offsets come row by row, x within a row */
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            step += rule->offset[k][a] * e->pitch[a];
            inside = inside && (rule->offset[k][a] == 0 || e->pad[a]);
        }
        if (!inside) continue; /* along an axis of one voxel there are no neighbours */
        const uint64_t weight = (uint64_t)rule->extra[k] << e->label_bits;
        const key_t extra = weight < KEY_NEVER ? (key_t)weight : KEY_NEVER;
        const int lane = rule->offset[k][0] + 1;
        if (e->rows == 0 || e->row[e->rows - 1].step != step - lane)
            e->row[e->rows++] = (neighbour_row){.step = step - lane};
        e->row[e->rows - 1].bit[lane] = (key_t)1 << e->neighbours;
        e->row[e->rows - 1].extra[lane] = extra;
        e->extra[e->neighbours] = extra;
        e->step[e->neighbours++] = step;
    }
}

/* How many bits a label needs, and the costs that leaves room for. */
static void choose_keys(engine *e)
{
    const lob_growcut_rule *rule = &e->job->rule;
    while (e->job->in->labels >> e->label_bits) e->label_bits++;
    const uint64_t room = (KEY_TOP >> e->label_bits) - 2;
    const uint64_t limit = rule->limit < room ? rule->limit : room;
    e->unreached = (key_t)(limit + 1) << e->label_bits;
    e->level_shift = e->label_bits + ilogb(rule->unit);
    for (uint32_t d = 0; d <= rule->dmax; d++) {
        const uint64_t weight = (uint64_t)rule->cost[d] << e->label_bits;
        e->weight[d] =
            rule->cost[d] != LOB_NO_PASSAGE && weight < KEY_NEVER ? (key_t)weight : KEY_NEVER;
    }
}

static int64_t engine_bytes(const engine *e)
{
    const int64_t cell = (int64_t)sizeof(key_t) + 2 * e->job->data.image->channels;
    int64_t bytes = e->count * (e->cells * cell + (int64_t)sizeof(tile)) + e->cells +
                    ((int64_t)e->job->rule.dmax + 1) * (int64_t)sizeof(key_t);
    for (int64_t t = 0; t < e->count && e->tile; t++)
        bytes += bytes_of(&e->tile[t].held) + bytes_of(&e->tile[t].inbox);
    for (int w = 0; w < e->workers && e->worker; w++) {
        bytes += bytes_of(&e->worker[w].halo);
        for (int b = 0; b < BUCKETS; b++) bytes += bytes_of(&e->worker[w].bucket[b]);
        for (int s = 0; s < SIDES; s++) bytes += bytes_of(&e->worker[w].mail[s]);
    }
    return bytes;
}

static void engine_free(engine *e)
{
    for (int64_t t = 0; t < e->count && e->tile; t++) {
        drop(&e->tile[t].held);
        drop(&e->tile[t].inbox);
        omp_destroy_lock(&e->tile[t].lock);
    }
    for (int w = 0; w < e->workers && e->worker; w++) {
        for (int b = 0; b < BUCKETS; b++) drop(&e->worker[w].bucket[b]);
        for (int s = 0; s < SIDES; s++) drop(&e->worker[w].mail[s]);
        drop(&e->worker[w].halo);
    }
    free(e->tile);
    free(e->worker);
    free(e->key_store);
    free(e->level_store);
    free(e->is_halo);
    free(e->weight);
}

static lob_status engine_alloc(engine *e, lob_error *error)
{
    const int64_t channels = e->job->data.image->channels;
    const int64_t cells = lob_product(e->count, e->cells, (int64_t)sizeof(key_t) + 2 * channels, 1);
    if (cells < 0 || e->cells > UINT32_MAX) return LOB_ENOMEM;
    if (e->job->max_memory && engine_bytes(e) > e->job->max_memory)
        return lob_fail(error, LOB_ENOMEM,
                        "GrowCut needs %.1f MiB of working memory, more than the %.1f MiB allowed",
                        (double)engine_bytes(e) / 1048576, (double)e->job->max_memory / 1048576);
    e->tile = calloc((size_t)e->count, sizeof *e->tile);
    e->worker = calloc((size_t)e->workers, sizeof *e->worker);
    e->key_store = malloc((size_t)(e->count * e->cells + 2 * SLACK) * sizeof *e->key_store);
    e->level_store =
        malloc((size_t)(e->count * e->cells * channels + 2 * SLACK) * sizeof *e->level_store);
    e->is_halo = malloc((size_t)e->cells);
    e->weight = malloc(((size_t)e->job->rule.dmax + 1) * sizeof *e->weight);
    for (int64_t t = 0; t < e->count && e->tile; t++) {
        omp_init_lock(&e->tile[t].lock);
        e->tile[t].keys = e->key_store + SLACK + t * e->cells;
        e->tile[t].levels = e->level_store + SLACK + t * e->cells * channels;
        e->tile[t].held_least = e->tile[t].inbox_least = KEY_TOP;
    }
    return e->tile && e->worker && e->key_store && e->level_store && e->is_halo && e->weight
               ? LOB_OK
               : LOB_ENOMEM;
}

/* ---- filling the tiles ---- */

/* A run of a view's row that falls into a tile's padded row, and where it lies in the tile. */
typedef struct {
    int64_t x, y, z, n; /* in the view */
    int64_t cell;       /* of the first voxel */
} run;

/* The run of row (j, k) of tile t, in cells from -pad to side + pad; n is 0 outside the view. */
static run run_of(const engine *e, int64_t t, int64_t j, int64_t k, bool with_halo)
{
    const lob_dims dims = e->job->view.dims;
    const int64_t at[3] = {t % e->tiles[0] * e->side[0], t / e->tiles[0] % e->tiles[1] * e->side[1],
                           t / e->tiles[0] / e->tiles[1] * e->side[2]};
    const int64_t halo = with_halo ? e->pad[0] : 0;
    const int64_t first = at[0] > halo ? at[0] - halo : 0;
    const int64_t last = at[0] + e->side[0] + halo < dims.nx ? at[0] + e->side[0] + halo : dims.nx;
    run r = {.x = first, .y = at[1] + j, .z = at[2] + k};
    const bool inside = r.y >= 0 && r.y < dims.ny && r.z >= 0 && r.z < dims.nz;
    r.n = inside && last > first ? last - first : 0;
    r.cell =
        (first - at[0] + e->pad[0]) + (j + e->pad[1]) * e->pitch[1] + (k + e->pad[2]) * e->pitch[2];
    return r;
}

/* The key a voxel starts with; seed is its label, 0 for none. */
static key_t first_key(const engine *e, bool is_data, int32_t seed, int64_t voxel)
{
    const float *strength = e->job->in->seed_strength;
    if (!is_data) return 0;
    if (seed == 0) return e->unreached;
    const uint64_t units = strength ? lob_growcut_start(&e->job->rule, strength[voxel]) : 0;
    if (units == 0) return 0;
    return units < (uint64_t)(e->unreached >> e->label_bits) ? key_of(e, units, seed)
                                                             : e->unreached;
}

/* Does a soft seed start at a cost that is allowed but does not fit the key? */
static bool starts_late(const engine *e, int64_t voxel)
{
    const uint64_t units = lob_growcut_start(&e->job->rule, e->job->in->seed_strength[voxel]);
    return units <= e->job->rule.limit && units != UINT64_MAX;
}

static void fill_run(const engine *e, tile *to, const run *r)
{
    const lob_growcut_job *job = e->job;
    const lob_volume *seeds = job->in->seeds;
    uint8_t is_data[ROW];
    lob_levels_data_row(is_data, &job->data, &job->view, r->x, r->y, r->z, r->n);
    for (int c = 0; c < job->data.image->channels; c++)
        lob_levels_row(to->levels + c * e->cells + r->cell, is_data, &job->levels, &job->data, c,
                       &job->view, r->x, r->y, r->z, r->n);
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        to->keys[r->cell + i] = first_key(e, is_data[i], label_at(seeds->data, seeds->type, v), v);
    }
}

/* Has a cell a neighbour whose key can still fall? Seeds deep inside a scribble have none. */
static bool has_open_neighbour(const engine *e, const tile *of, int64_t cell)
{
    for (int k = 0; k < e->neighbours; k++)
        if (of->keys[cell + e->step[k]] != 0) return true;
    return false;
}

/* Let the seeds of a run wait for their turn, and count them. */
static bool hold_seeds(const engine *e, tile *to, const run *r, lob_growcut_result *result)
{
    const lob_growcut_job *job = e->job;
    const lob_volume *seeds = job->in->seeds;
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    uint8_t is_data[ROW];
    bool known = false;
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        const int32_t seed = label_at(seeds->data, seeds->type, v);
        if (seed == 0) continue;
        if (!known) lob_levels_data_row(is_data, &job->data, &job->view, r->x, r->y, r->z, r->n);
        known = true;
        const key_t key = to->keys[r->cell + i];
        if (!is_data[i] || key == e->unreached) {
            result->seeds_outside++;
            result->overflow |= is_data[i] && starts_late(e, v);
            continue;
        }
        result->seeds++;
        const key_t held = key ? key : key_of(e, 0, seed);
        if (!key && !has_open_neighbour(e, to, r->cell + i)) continue;
        if (held < to->held_least) to->held_least = held;
        if (!push(&to->held, (uint32_t)(r->cell + i), held)) return false;
    }
    return true;
}

static bool fill_tile(const engine *e, int64_t t, lob_growcut_result *result)
{
    tile *to = &e->tile[t];
    const int64_t channels = e->job->data.image->channels;
    memset(to->keys, 0, (size_t)e->cells * sizeof *to->keys);
    memset(to->levels, 0, (size_t)(e->cells * channels) * sizeof *to->levels);
    for (int64_t k = -e->pad[2]; k < e->side[2] + e->pad[2]; k++)
        for (int64_t j = -e->pad[1]; j < e->side[1] + e->pad[1]; j++) {
            const run r = run_of(e, t, j, k, true);
            if (r.n) fill_run(e, to, &r);
        }
    for (int64_t k = 0; k < e->side[2]; k++)
        for (int64_t j = 0; j < e->side[1]; j++) {
            const run r = run_of(e, t, j, k, false);
            if (r.n && !hold_seeds(e, to, &r, result)) return false;
        }
    return true;
}

static void mark_halo(engine *e)
{
    memset(e->is_halo, 1, (size_t)e->cells);
    for (int64_t k = 0; k < e->side[2]; k++)
        for (int64_t j = 0; j < e->side[1]; j++)
            memset(e->is_halo + e->pad[0] + (j + e->pad[1]) * e->pitch[1] +
                       (k + e->pad[2]) * e->pitch[2],
                   0, (size_t)e->side[0]);
}

static lob_status fill(engine *e, lob_growcut_result *result)
{
    int64_t seeds = 0, outside = 0;
    int failed = 0, overflow = 0;
    mark_halo(e);
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers)                              \
    reduction(+ : seeds, outside) reduction(| : failed, overflow)
    for (int64_t t = 0; t < e->count; t++) {
        lob_growcut_result part = {0};
        failed |= !fill_tile(e, t, &part);
        seeds += part.seeds;
        outside += part.seeds_outside;
        overflow |= part.overflow;
    }
    result->overflow = overflow;
    result->seeds = seeds;
    result->seeds_outside = outside;
    return failed ? LOB_ENOMEM : LOB_OK;
}

/*
 * The window's width decides between order (few voxels grown twice) and parallel work: a few steps
 * of the usual cost. The usual cost is the mean over the neighbours along x of every 61st cell.
 */
static void choose_window(engine *e)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t t = 0; t < e->count; t++) {
        const tile *of = &e->tile[t];
        for (int64_t c = 0; c + 1 < e->cells; c += 61) {
            if (of->keys[c] == 0 || of->keys[c + 1] == 0) continue;
            const uint32_t d =
                lob_growcut_distance(of->levels + c, of->levels + c + 1,
                                     e->job->data.image->channels, e->cells, LOB_NORM_LINF);
            if (e->weight[d] < KEY_NEVER) sum += (double)(e->weight[d] >> e->label_bits), n++;
        }
    }
    const double usual = n ? sum / (double)n : 0;
    const double width = WINDOW_STEPS * usual + BUCKETS;
    e->bucket_shift = e->label_bits;
    while ((double)(BUCKETS << (e->bucket_shift - e->label_bits)) < width &&
           e->bucket_shift < KEY_BITS - 10)
        e->bucket_shift++;
    e->window = (key_t)BUCKETS << e->bucket_shift;
}

/* ---- growing ---- */

/* Put a lowered cell where it waits: a bucket of this window, or the tile's list of later ones. */
static bool wait_for_turn(const engine *e, tile *of, worker *w, key_t base, uint32_t cell,
                          key_t key)
{
    const key_t bucket = (key - base) >> e->bucket_shift;
    if (bucket < BUCKETS) return push(&w->bucket[bucket], cell, key);
    if (key < of->held_least) of->held_least = key;
    return push(&of->held, cell, key);
}

/* Take in what neighbours posted, and line up what this window may grow. */
static bool begin_visit(const engine *e, tile *of, worker *w, key_t base)
{
    omp_set_lock(&of->lock);
    list posted = of->inbox;
    of->inbox = (list){0};
    of->inbox_least = KEY_TOP;
    omp_unset_lock(&of->lock);

    /* Held cells first: their list is rewritten in place, and may only grow afterwards. */
    bool ok = true;
    size_t kept = 0;
    of->held_least = KEY_TOP;
    for (size_t i = 0; i < of->held.n; i++) {
        const waiting held = of->held.items[i];
        const key_t now = of->keys[held.cell];
        if (now != held.key && now != 0) continue; /* lowered since, and lined up then */
        const key_t bucket = (held.key - base) >> e->bucket_shift;
        if (bucket < BUCKETS) {
            ok = ok && push(&w->bucket[bucket], held.cell, held.key);
        } else {
            if (held.key < of->held_least) of->held_least = held.key;
            of->held.items[kept++] = held;
        }
    }
    of->held.n = kept;
    for (size_t i = 0; i < posted.n; i++) {
        const waiting post = posted.items[i];
        key_t *key = &of->keys[post.cell];
        if (post.key >= *key) continue;
        w->reached += *key == e->unreached;
        *key = post.key;
        ok = ok && wait_for_turn(e, of, w, base, post.cell, post.key);
    }
    drop(&posted);
    return ok;
}

static bool lower(const engine *e, tile *of, worker *w, key_t base, int64_t cell, key_t key)
{
    key_t *old = &of->keys[cell];
    const bool is_new = *old == e->unreached;
    *old = key;
    if (e->is_halo[cell]) return push(&w->halo, (uint32_t)cell, key);
    w->reached += is_new;
    return wait_for_turn(e, of, w, base, (uint32_t)cell, key);
}

static inline four_levels apart(four_levels near, uint16_t own)
{
    const four_levels above = (four_levels)(near > own);
    return ((near - own) & above) | ((own - near) & ~above);
}

/*
 * Which neighbours might take a path through a cell: bit k for neighbour k. A step costs at least
 * the largest channel's difference times the unit, under either rule and every norm, which needs no
 * table; a sum that wraps only lets one through that the exact offer turns away.
 */
static inline uint32_t candidates(const engine *e, const key_t *keys, const uint16_t *levels,
                                  int channels, key_t key)
{
    four_keys hit = {0};
    for (int r = 0; r < e->rows; r++) {
        const neighbour_row *row = &e->row[r];
        four_keys theirs;
        four_levels near;
        memcpy(&theirs, keys + row->step, sizeof theirs);
        memcpy(&near, levels + row->step, sizeof near);
        four_levels differ = apart(near, levels[0]);
        for (int c = 1; c < channels; c++) {
            memcpy(&near, levels + c * e->cells + row->step, sizeof near);
            near = apart(near, levels[c * e->cells]);
            const four_levels more = (four_levels)(near > differ);
            differ = (near & more) | (differ & ~more);
        }
        const four_keys offer =
            (__builtin_convertvector(differ, four_keys) << e->level_shift) + row->extra + key;
        hit |= (four_keys)(offer < theirs) & row->bit;
    }
    return (uint32_t)(hit[0] | hit[1] | hit[2]);
}

/* Offer a path through one cell to all its neighbours. */
static bool grow_cell(const engine *e, tile *of, worker *w, key_t base, waiting from)
{
    const key_t *keys = of->keys + from.cell;
    const uint16_t *levels = of->levels + from.cell;
    const int channels = e->job->data.image->channels;
    bool ok = true;
    for (uint32_t left = candidates(e, keys, levels, channels, from.key); left; left &= left - 1) {
        const int k = __builtin_ctz(left);
        const int64_t step = e->step[k];
        const uint32_t d = lob_growcut_distance(levels, levels + step, channels, e->cells, e->norm);
        const uint64_t offer = (uint64_t)from.key + e->weight[d] + e->extra[k];
        if (offer < keys[step]) ok &= lower(e, of, w, base, from.cell + step, (key_t)offer);
    }
    return ok;
}

static bool grow_buckets(const engine *e, tile *of, worker *w, key_t base)
{
    bool ok = true;
    for (int b = 0; b < BUCKETS; b++) {
        list *bucket = &w->bucket[b];
        for (size_t i = 0; i < bucket->n; i++) { /* it grows while it is emptied */
            const waiting from = bucket->items[i];
            const key_t now = of->keys[from.cell];
            if (now == from.key || now == 0) ok &= grow_cell(e, of, w, base, from);
        }
        bucket->n = 0;
    }
    return ok;
}

/* Which neighbour owns a halo cell (-1, 0, 1 an axis), and which of its cells that is. */
static int owner_of(const engine *e, int64_t cell, int64_t *theirs)
{
    int side = 0;
    for (int a = 2; a >= 0; a--) {
        const int64_t at = cell / e->pitch[a] - e->pad[a];
        const int toward = at < 0 ? -1 : at >= e->side[a];
        cell %= e->pitch[a];
        *theirs -= toward * e->side[a] * e->pitch[a];
        side = side * 3 + toward + 1;
    }
    return side;
}

/* Post every lowered halo cell to its owner, each once at its lowest. */
static bool end_visit(engine *e, int64_t t, worker *w)
{
    const tile *of = &e->tile[t];
    bool ok = true;
    for (size_t i = 0; i < w->halo.n; i++) {
        const waiting out = w->halo.items[i];
        if (of->keys[out.cell] != out.key) continue;
        int64_t theirs = out.cell;
        const int side = owner_of(e, out.cell, &theirs);
        ok &= push(&w->mail[side], (uint32_t)theirs, out.key);
    }
    w->halo.n = 0;
    for (int s = 0; s < SIDES; s++) {
        list *mail = &w->mail[s];
        if (mail->n == 0) continue;
        tile *to = &e->tile[t + (s % 3 - 1) + ((s / 3) % 3 - 1) * e->tiles[0] +
                            (s / 9 - 1) * e->tiles[0] * e->tiles[1]];
        omp_set_lock(&to->lock);
        for (size_t i = 0; i < mail->n; i++) {
            ok &= push(&to->inbox, mail->items[i].cell, mail->items[i].key);
            if (mail->items[i].key < to->inbox_least) to->inbox_least = mail->items[i].key;
        }
        omp_unset_lock(&to->lock);
        mail->n = 0;
    }
    return ok;
}

static void visit(engine *e, int64_t t, worker *w, key_t base)
{
    tile *of = &e->tile[t];
    const bool ok = begin_visit(e, of, w, base) && grow_buckets(e, of, w, base);
    if (!end_visit(e, t, w) || !ok) w->failed = true;
    if (of->held.n == 0) drop(&of->held);
}

static key_t least_of(const tile *t)
{
    return t->held_least < t->inbox_least ? t->held_least : t->inbox_least;
}

/* Tell how far growing has come; true to go on. */
static bool go_on(const engine *e, int64_t reached)
{
    const lob_growcut_job *job = e->job;
    if (job->cancelled && atomic_load_explicit(job->cancelled, memory_order_relaxed)) return false;
    if (!job->context || !job->context->progress) return true;
    const double share =
        job->levels.data_voxels ? (double)reached / (double)job->levels.data_voxels : 1;
    const double done = job->done_before + job->done_now * (share < 1 ? share : 1);
    return job->context->progress(job->context->user, done) == 0;
}

static lob_status grow(engine *e)
{
    int64_t *active = malloc((size_t)e->count * sizeof *active);
    if (!active) return LOB_ENOMEM;
    lob_status st = LOB_OK;
    while (st == LOB_OK) {
        key_t least = KEY_TOP;
        for (int64_t t = 0; t < e->count; t++)
            if (least_of(&e->tile[t]) < least) least = least_of(&e->tile[t]);
        if (least == KEY_TOP) break;
        const key_t base = least >> e->bucket_shift << e->bucket_shift;
        int64_t n = 0;
        for (int64_t t = 0; t < e->count; t++)
            if (least_of(&e->tile[t]) - base < e->window) active[n++] = t;
        const int workers = n < e->workers ? (int)n : e->workers;
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) if (workers > 1)
        for (int64_t i = 0; i < n; i++) visit(e, active[i], &e->worker[omp_get_thread_num()], base);

        const int64_t bytes = engine_bytes(e);
        if (bytes > e->peak_bytes) e->peak_bytes = bytes;
        int64_t reached = 0;
        for (int w = 0; w < e->workers; w++) {
            reached += e->worker[w].reached;
            if (e->worker[w].failed) st = LOB_ENOMEM;
        }
        if (st == LOB_OK && !go_on(e, reached)) st = LOB_ECANCEL;
    }
    free(active);
    return st;
}

/* ---- results ---- */

/* Has a run a source whose step to data that no path has reached is possible? */
static bool stops_short(const engine *e, const tile *of, const run *r)
{
    const lob_volume *seeds = e->job->in->seeds;
    const int channels = e->job->data.image->channels;
    const int64_t voxel = lob_view_index(&e->job->view, r->x, r->y, r->z);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t c = r->cell + i, v = voxel + i * e->job->view.stride[0];
        if (of->keys[c] == e->unreached) continue;
        if (of->keys[c] == 0 && label_at(seeds->data, seeds->type, v) == 0) continue;
        for (int k = 0; k < e->neighbours; k++) {
            const int64_t n = c + e->step[k];
            if (of->keys[n] != e->unreached) continue;
            const uint32_t d =
                lob_growcut_distance(of->levels + c, of->levels + n, channels, e->cells, e->norm);
            if (e->job->rule.cost[d] != LOB_NO_PASSAGE) return true;
        }
    }
    return false;
}

/*
 * Could a path have been turned away only because its cost does not fit the key? Not when the
 * dearest path found leaves room for one more step; else look for a step that growing left out. It
 * may be one that another path made needless: then the wide key only costs time.
 */
static bool overflowed(const engine *e, uint64_t largest)
{
    const lob_growcut_rule *rule = &e->job->rule;
    const uint64_t room = (uint64_t)(e->unreached >> e->label_bits) - 1;
    if (room >= rule->limit || largest + rule->dearest <= room) return false;
    int found = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers) reduction(| : found)
    for (int64_t t = 0; t < e->count; t++)
        for (int64_t j = 0; j < e->side[1] * e->side[2] && !found; j++) {
            const run r = run_of(e, t, j % e->side[1], j / e->side[1], false);
            found |= stops_short(e, &e->tile[t], &r);
        }
    return found;
}

/* Write labels and strength of a run. */
static void write_run(const engine *e, const tile *of, const run *r, lob_growcut_result *result)
{
    const lob_growcut_job *job = e->job;
    const lob_volume *seeds = job->in->seeds;
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    uint8_t is_data[ROW];
    lob_levels_data_row(is_data, &job->data, &job->view, r->x, r->y, r->z, r->n);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        const key_t key = of->keys[r->cell + i];
        int32_t label = 0;
        uint64_t units = 0;
        if (key == 0 && is_data[i]) label = label_at(seeds->data, seeds->type, v);
        if (key != 0 && key != e->unreached) {
            label = label_of(e, key);
            units = key >> e->label_bits;
        }
        put_label(job->out->labels, seeds->type, v, label);
        if (job->out->strength)
            job->out->strength[v] = label ? lob_growcut_strength(&job->rule, units) : 0.0f;
        result->reached += label != 0;
        if (label && units > result->largest) result->largest = units;
    }
}

/* Write the tie zone of a run: where the labels written before differ from those found now. */
static void write_tie_run(const engine *e, const tile *of, const run *r, lob_growcut_result *result)
{
    const lob_growcut_job *job = e->job;
    const int64_t voxel = lob_view_index(&job->view, r->x, r->y, r->z);
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t v = voxel + i * job->view.stride[0];
        const key_t key = of->keys[r->cell + i];
        const bool tie = key != 0 && key != e->unreached &&
                         label_of(e, key) != label_at(job->out->labels, job->in->seeds->type, v);
        job->out->tie[v] = tie;
        result->ties += tie;
    }
}

static void write_results(const engine *e, lob_growcut_result *result)
{
    int64_t reached = 0, ties = 0;
    uint64_t largest = 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(e->workers)                              \
    reduction(+ : reached, ties) reduction(max : largest)
    for (int64_t t = 0; t < e->count; t++) {
        lob_growcut_result part = {0};
        for (int64_t k = 0; k < e->side[2]; k++)
            for (int64_t j = 0; j < e->side[1]; j++) {
                const run r = run_of(e, t, j, k, false);
                if (e->reversed)
                    write_tie_run(e, &e->tile[t], &r, &part);
                else
                    write_run(e, &e->tile[t], &r, &part);
            }
        reached += part.reached;
        ties += part.ties;
        if (part.largest > largest) largest = part.largest;
    }
    result->reached = reached;
    result->ties = ties;
    result->largest = largest;
}

static lob_status run_engine(const lob_growcut_job *job, bool reversed, lob_growcut_result *result,
                             lob_error *error)
{
    engine e = {.job = job, .reversed = reversed, .workers = job->threads, .norm = job->norm};
    *result = (lob_growcut_result){0};
    lay_out(&e);
    lob_status st = engine_alloc(&e, error);
    if (st != LOB_OK) goto out;
    choose_keys(&e);
    list_steps(&e);
    st = fill(&e, result);
    if (st != LOB_OK) goto out;
    choose_window(&e);
    st = grow(&e);
    if (st != LOB_OK) goto out;
    write_results(&e, result);
    result->overflow = result->overflow || overflowed(&e, result->largest);
    result->working_bytes = e.peak_bytes;
out:
    engine_free(&e);
    return st;
}

lob_status ENTRY(lob_growcut_tiles)(const lob_growcut_job *job, lob_growcut_result *result,
                                    lob_error *error)
{
    return run_engine(job, false, result, error);
}

lob_status ENTRY(lob_growcut_ties)(const lob_growcut_job *job, lob_growcut_result *result,
                                   lob_error *error)
{
    return run_engine(job, true, result, error);
}
