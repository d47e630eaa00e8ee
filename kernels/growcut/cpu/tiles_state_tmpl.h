/*
 * The tile engine's state: keys, tiles, threads' workspaces, memory, progress. Part of
 * growcut_tiles_tmpl.h.
 */
#ifndef LOB_TILES_STATE_TMPL_H
#define LOB_TILES_STATE_TMPL_H

#include "kernels/budget.h"
#include "kernels/growcut/cpu/growcut_tiles.h"
#include "kernels/growcut/cpu/packed_levels.h"
#include "kernels/growcut/growcut_slabs.h"
#include "kernels/growcut/growcut_voxel.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#if KEY_BITS == 32
typedef uint32_t path_key;
#define KEY_NO_PASSAGE UINT32_MAX /* weight of a step that cannot be taken */
#define KEY_END        UINT32_MAX /* every key is smaller */
#define ENTRY(name)    name##_32
#else
typedef uint64_t path_key;
/* A quarter of the range, so that a key plus two weights does not wrap. */
#define KEY_NO_PASSAGE (UINT64_C(1) << 62)
#define KEY_END        (UINT64_C(1) << 62)
#define ENTRY(name)    name##_64
#endif

enum {
    BUCKETS = 64,  /* of equal width, within the cost window */
    SIDES = 27,    /* a tile, and the tiles that touch it */
    MAX_ROW = 258, /* cells of a padded row */
    SLACK = 8      /* cells that a vector access may reach beyond an array, or a tile's keys */
};

/* Four cells of a row; the fourth is not used. */
typedef path_key key_vector __attribute__((vector_size(4 * sizeof(path_key))));
typedef uint16_t level_vector __attribute__((vector_size(8)));

/* The neighbours in one row, at x - 1, x and x + 1. */
typedef struct {
    int64_t step;     /* cells from a cell to its neighbour at x - 1 */
    key_vector bit;   /* 1 << index in the engine's lists; 0 where there is no neighbour */
    key_vector extra; /* weight beyond that of the levels */
} neighbour_row;

/* A cell whose key has fallen, and whose neighbours have not been offered the path through it. */
typedef struct {
    uint32_t cell;
    path_key key;
} queued_cell;

typedef struct {
    queued_cell *items;
    size_t n, capacity;
} list;

typedef struct {
    path_key *keys;
    path_key *next;   /* keys of the round under way */
    uint16_t *levels; /* channel after channel; or, where the engine packs them, */
    lob_packed *packed;
    list later; /* queued cells beyond the last cost window */
    path_key later_min;
    list inbox; /* from neighbouring tiles; guarded by lock */
    path_key inbox_min;
    omp_lock_t lock;
    bool changed;     /* since its results were written */
    int64_t reached;  /* of its results: voxels that carry a label, */
    uint64_t largest; /* the largest cost of one */
} tile;

/* What a thread works with. */
typedef struct {
    list bucket[BUCKETS];
    list halo;        /* lowered halo cells of the tile that is visited */
    list mail[SIDES]; /* the same, by the tile that owns them */
    int64_t reached;  /* voxels that got their first path */
    bool failed;      /* an allocation failed */
} worker;

/* What two ranks both have: a plane of each. */
typedef struct {
    int64_t first;   /* of the two planes, in the view */
    path_key *known; /* their keys as both sides know them; NULL: there is no such seam */
    list tells;      /* keys that have fallen; a cell is a voxel of the two planes */
} seam;

typedef struct {
    const lob_growcut_section *section;
    seam seam[2];                                /* of a slab: before it, behind it */
    int64_t seam_plane;                          /* voxels */
    int64_t side[3], tiles[3], pad[3], pitch[3]; /* along the view's axes */
    int64_t cells;                               /* of a tile with its halo */
    int64_t count;                               /* tiles */
    int64_t made;                                /* of these, initialised */
    tile *tile;
    path_key *key_store, *next_store;
    void *level_store;
    bool packs;       /* levels are packed */
    uint8_t *is_halo; /* cells */
    int neighbours;
    int64_t step[26];   /* cells from a cell to its neighbour */
    path_key extra[26]; /* weight of each beyond weight[d] */
    int rows;
    neighbour_row row[9]; /* the same neighbours, row by row */
    path_key *weight;     /* dmax + 1, shifted like a key */
    bool reads_values;
    uint16_t level_mask; /* weight[d] >= (d & level_mask) << level_shift */
    int level_shift;
    int label_bits;
    path_key labels;    /* the bits of a key that hold the label */
    path_key unreached; /* key of data without a path: above all that are allowed */
    bool reversed;      /* of equal costs, the largest label wins */
    path_key window;    /* width of the cost window, shifted like a key */
    int bucket_shift;
    worker *worker;
    int workers;
    lob_norm norm;
    lob_budget budget;
} engine;

static bool list_push(list *to, uint32_t cell, path_key key)
{
    if (to->n == to->capacity) {
        const size_t capacity = to->capacity ? 2 * to->capacity : 64;
        queued_cell *items = realloc(to->items, capacity * sizeof *items);
        if (!items) return false;
        to->items = items;
        to->capacity = capacity;
    }
    to->items[to->n++] = (queued_cell){cell, key};
    return true;
}

/* Queue a cell of a tile for the next window that has it. */
static bool queue_later(tile *of, int64_t cell, path_key key)
{
    if (key < of->later_min) of->later_min = key;
    return list_push(&of->later, (uint32_t)cell, key);
}

static void list_free(list *old)
{
    free(old->items);
    *old = (list){0};
}

static int64_t list_bytes(const list *later)
{
    return (int64_t)(later->capacity * sizeof *later->items);
}

static path_key key_of(const engine *e, uint64_t units, int32_t label)
{
    const int32_t rank = e->reversed ? e->section->in->labels + 1 - label : label;
    return (path_key)(units << e->label_bits) | (path_key)rank;
}

static int32_t label_of(const engine *e, path_key key)
{
    const int32_t rank = (int32_t)(key & e->labels);
    return e->reversed ? e->section->in->labels + 1 - rank : rank;
}

/* ---- tiles and the view ---- */

/* Tiles of equal sides, at most section->tile; no halo along an axis of one voxel. */
static void cut_into_tiles(engine *e)
{
    const lob_dims dims = e->section->view.dims;
    const int64_t view[3] = {dims.nx, dims.ny, dims.nz};
    e->cells = 1;
    e->count = 1;
    for (int a = 0; a < 3; a++) {
        e->tiles[a] = (view[a] + e->section->tile - 1) / e->section->tile;
        e->side[a] = (view[a] + e->tiles[a] - 1) / e->tiles[a];
        e->tiles[a] = (view[a] + e->side[a] - 1) / e->side[a];
        e->pad[a] = view[a] > 1;
        e->pitch[a] = e->cells;
        e->cells *= e->side[a] + 2 * e->pad[a];
        e->count *= e->tiles[a];
    }
}

/* The part of a row of the view that lies in a row of a tile, with or without its halo. */
typedef struct {
    int64_t x, y, z, n; /* in the view */
    int64_t cell;       /* of the first voxel, in the tile */
} row_part;

/* The part in row (j, k) of tile t, counted from the tile's first cell; n is 0 outside the view. */
static row_part row_part_of(const engine *e, int64_t t, int64_t j, int64_t k, bool with_halo)
{
    const lob_dims dims = e->section->view.dims;
    const int64_t at[3] = {t % e->tiles[0] * e->side[0], t / e->tiles[0] % e->tiles[1] * e->side[1],
                           t / e->tiles[0] / e->tiles[1] * e->side[2]};
    const int64_t halo = with_halo ? e->pad[0] : 0;
    const int64_t first = at[0] > halo ? at[0] - halo : 0;
    const int64_t last = at[0] + e->side[0] + halo < dims.nx ? at[0] + e->side[0] + halo : dims.nx;
    row_part r = {.x = first, .y = at[1] + j, .z = at[2] + k};
    const bool inside = r.y >= 0 && r.y < dims.ny && r.z >= 0 && r.z < dims.nz;
    r.n = inside && last > first ? last - first : 0;
    r.cell =
        (first - at[0] + e->pad[0]) + (j + e->pad[1]) * e->pitch[1] + (k + e->pad[2]) * e->pitch[2];
    return r;
}

/* Is a row of the view this rank's own? */
static bool is_own(const engine *e, const row_part *r)
{
    const lob_growcut_slab *const slab = e->section->slab;
    const int64_t at = e->section->seam_axis == 2 ? r->z : r->y;
    return !slab || (at >= slab->first && at < slab->end);
}

/* The side on which the tile lies that owns a halo cell. theirs is in/out: the cell there. */
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

/* Where a tile lies among the tiles. */
static void tile_place(const engine *e, int64_t t, int64_t at[3])
{
    at[0] = t % e->tiles[0];
    at[1] = t / e->tiles[0] % e->tiles[1];
    at[2] = t / e->tiles[0] / e->tiles[1];
}

/* The tile and, in *cell, the cell of a voxel of the view. */
static int64_t tile_at(const engine *e, const int64_t at[3], int64_t *cell)
{
    int64_t t = 0;
    *cell = 0;
    for (int a = 2; a >= 0; a--) {
        t = t * e->tiles[a] + at[a] / e->side[a];
        *cell += (at[a] % e->side[a] + e->pad[a]) * e->pitch[a];
    }
    return t;
}

/* The tile on a side of tile t. */
static tile *tile_beside(const engine *e, int64_t t, int side)
{
    return &e->tile[t + (side % 3 - 1) + (side / 3 % 3 - 1) * e->tiles[0] +
                    (side / 9 - 1) * e->tiles[0] * e->tiles[1]];
}

/* Did a key change in a tile or one beside it? */
static bool changed_nearby(const engine *e, const uint8_t *changed, int64_t t)
{
    int64_t of[3];
    tile_place(e, t, of);
    for (int side = 0; side < SIDES; side++) {
        const int64_t p = of[0] + side % 3 - 1, q = of[1] + side / 3 % 3 - 1,
                      r = of[2] + side / 9 - 1;
        const bool inside =
            p >= 0 && p < e->tiles[0] && q >= 0 && q < e->tiles[1] && r >= 0 && r < e->tiles[2];
        if (inside && changed[p + e->tiles[0] * (q + e->tiles[1] * r)]) return true;
    }
    return false;
}

/*
 * Copy the halo's keys from the tiles that own them. Until then a copy holds only what this tile
 * has offered, which is enough to grow. Key 0 never changes.
 */
static void refresh_halo(const engine *e, int64_t t)
{
    path_key *keys = e->tile[t].keys;
    for (int64_t c = 0; c < e->cells; c++) {
        if (!e->is_halo[c] || keys[c] == 0) continue;
        int64_t theirs = c;
        const int side = owner_of(e, c, &theirs);
        keys[c] = tile_beside(e, t, side)->keys[theirs];
    }
}

/* What a step from one cell of a tile to another costs by: their distance, or the level entered. */
static inline uint32_t step_distance(const engine *e, const tile *of, int64_t p, int64_t q)
{
    if (e->reads_values) return of->levels[q];
    if (e->packs)
        return lob_packed_distance(of->packed[p], of->packed[q], e->section->data.image->channels,
                                   e->norm, e->section->rule.fraction);
    return lob_growcut_distance(of->levels + p, of->levels + q, e->section->data.image->channels,
                                e->cells, e->norm, e->section->rule.fraction);
}

/* The key that cell q would have by the path of a key to its neighbour p; k is the direction. */
static inline uint64_t offer_of(const engine *e, const tile *of, int64_t p, int64_t q, path_key key,
                                int k)
{
    return (uint64_t)key + e->weight[step_distance(e, of, p, q)] + e->extra[k];
}

/* ---- keys and steps ---- */

static void list_steps(engine *e)
{
    const lob_growcut_rule *rule = &e->section->rule;
    for (int k = 0; k < rule->neighbours; k++) {
        int64_t step = 0; /* offsets come row by row, x within a row */
        bool inside = true;
        for (int a = 0; a < 3; a++) {
            step += rule->offset[k][a] * e->pitch[a];
            inside = inside && (rule->offset[k][a] == 0 || e->pad[a]);
        }
        if (!inside) continue; /* along an axis of one voxel there are no neighbours */
        const uint64_t weight = (uint64_t)rule->extra[k] << e->label_bits;
        const path_key extra = weight < KEY_NO_PASSAGE ? (path_key)weight : KEY_NO_PASSAGE;
        const int lane = rule->offset[k][0] + 1;
        if (e->rows == 0 || e->row[e->rows - 1].step != step - lane)
            e->row[e->rows++] = (neighbour_row){.step = step - lane};
        e->row[e->rows - 1].bit[lane] = (path_key)1 << e->neighbours;
        e->row[e->rows - 1].extra[lane] = extra;
        e->extra[e->neighbours] = extra;
        e->step[e->neighbours++] = step;
    }
}

/* How many bits a label needs, and what costs the other bits hold. */
static void choose_keys(engine *e)
{
    const lob_growcut_rule *rule = &e->section->rule;
    e->reads_values = lob_growcut_reads_values(rule->kind);
    e->label_bits = lob_growcut_label_bits(e->section->in->labels);
    e->labels = ((path_key)1 << e->label_bits) - 1;
    const uint64_t capacity = (KEY_END >> e->label_bits) - 2;
    const uint64_t limit = rule->limit < capacity ? rule->limit : capacity;
    e->unreached = (path_key)(limit + 1) << e->label_bits;
    const int shift = e->label_bits + ilogb(rule->unit);
    if (rule->unit >= 1 && rule->kind != LOB_RULE_SQUARE) {
        e->level_mask = UINT16_MAX;
        e->level_shift = shift < KEY_BITS ? shift : KEY_BITS - 1;
    }
    for (uint32_t d = 0; d <= rule->dmax; d++) {
        const uint64_t weight = (uint64_t)e->section->cost[d] << e->label_bits;
        e->weight[d] = e->section->cost[d] != LOB_NO_PASSAGE && weight < KEY_NO_PASSAGE
                           ? (path_key)weight
                           : KEY_NO_PASSAGE;
    }
}

/* ---- memory ---- */

/* Rounds need a second key for each cell. */
static bool has_next(const engine *e)
{
    return e->section->rounds > 0;
}

/* Bytes per cell: its levels, */
static int64_t level_bytes(const engine *e)
{
    return e->packs ? (int64_t)sizeof(lob_packed) : 2 * e->section->data.image->channels;
}

/* its key, and a second one. */
static int64_t cell_bytes(const engine *e)
{
    const int64_t keys = has_next(e) ? 2 : 1;
    return keys * (int64_t)sizeof(path_key) + level_bytes(e);
}

static int64_t engine_bytes(const engine *e)
{
    const int64_t entry = (int64_t)sizeof(path_key) + (int64_t)sizeof *e->section->cost;
    const int64_t apart = SLACK * (int64_t)sizeof(path_key) + (int64_t)sizeof(tile);
    int64_t bytes = e->count * (e->cells * cell_bytes(e) + apart + (int64_t)sizeof(int64_t)) +
                    e->cells + ((int64_t)e->section->rule.dmax + 1) * entry +
                    e->workers * (int64_t)sizeof(worker);
    for (int k = 0; k < 2; k++)
        bytes += list_bytes(&e->seam[k].tells) +
                 (e->seam[k].known ? 2 * e->seam_plane * (int64_t)sizeof *e->seam[k].known : 0);
    for (int64_t t = 0; t < e->made; t++)
        bytes += list_bytes(&e->tile[t].later) + list_bytes(&e->tile[t].inbox);
    for (int w = 0; w < e->workers && e->worker; w++) {
        bytes += list_bytes(&e->worker[w].halo);
        for (int b = 0; b < BUCKETS; b++) bytes += list_bytes(&e->worker[w].bucket[b]);
        for (int s = 0; s < SIDES; s++) bytes += list_bytes(&e->worker[w].mail[s]);
    }
    return bytes;
}

/* Count the memory that is held now; LOB_ENOMEM when it exceeds the budget. */
static lob_status count_bytes(engine *e, lob_error *error)
{
    return lob_budget_hold(&e->budget, engine_bytes(e) - e->budget.held, error);
}

static void engine_free(engine *e)
{
    for (int64_t t = 0; t < e->made; t++) {
        list_free(&e->tile[t].later);
        list_free(&e->tile[t].inbox);
        omp_destroy_lock(&e->tile[t].lock);
    }
    for (int w = 0; w < e->workers && e->worker; w++) {
        for (int b = 0; b < BUCKETS; b++) list_free(&e->worker[w].bucket[b]);
        for (int s = 0; s < SIDES; s++) list_free(&e->worker[w].mail[s]);
        list_free(&e->worker[w].halo);
    }
    for (int k = 0; k < 2; k++) {
        free(e->seam[k].known);
        list_free(&e->seam[k].tells);
    }
    free(e->tile);
    free(e->worker);
    free(e->key_store);
    free(e->next_store);
    free(e->level_store);
    free(e->is_halo);
    free(e->weight);
}

static lob_status engine_alloc(engine *e, lob_error *error)
{
    const int64_t cells = lob_product(e->count, e->cells, cell_bytes(e), 1);
    if (cells < 0 || e->cells > UINT32_MAX) return LOB_ENOMEM;
    LOB_TRY(count_bytes(e, error));
    e->tile = calloc((size_t)e->count, sizeof *e->tile);
    e->worker = calloc((size_t)e->workers, sizeof *e->worker);
    const int64_t all = e->count * e->cells;
    /* Threads write neighbouring tiles' keys: no access of one may reach the other's. */
    const int64_t keys = SLACK + e->count * (e->cells + SLACK);
    e->key_store = lob_voxel_memory(keys * (int64_t)sizeof *e->key_store);
    if (has_next(e)) e->next_store = lob_voxel_memory(all * (int64_t)sizeof *e->next_store);
    e->level_store =
        lob_voxel_memory(all * level_bytes(e) + 2 * SLACK * (int64_t)sizeof(lob_packed));
    e->is_halo = malloc((size_t)e->cells);
    e->weight = malloc(((size_t)e->section->rule.dmax + 1) * sizeof *e->weight);
    if (!e->tile || !e->worker || !e->key_store || !e->level_store || !e->is_halo || !e->weight ||
        (has_next(e) && !e->next_store))
        return LOB_ENOMEM;
    for (; e->made < e->count; e->made++) {
        tile *t = &e->tile[e->made];
        omp_init_lock(&t->lock);
        t->keys = e->key_store + SLACK + e->made * (e->cells + SLACK);
        t->next = e->next_store ? e->next_store + e->made * e->cells : NULL;
        const int64_t at = e->made * e->cells;
        if (e->packs)
            t->packed = (lob_packed *)e->level_store + SLACK + at;
        else
            t->levels = (uint16_t *)e->level_store + SLACK + at * e->section->data.image->channels;
        t->later_min = t->inbox_min = KEY_END;
    }
    return LOB_OK;
}

/* ---- progress ---- */

static int64_t reached(const engine *e)
{
    int64_t sum = 0;
    for (int w = 0; w < e->workers; w++) sum += e->worker[w].reached;
    return sum;
}

/* Report progress; returns whether to stop. */
static bool report_progress(const engine *e)
{
    return lob_growcut_stops(e->section, reached(e));
}

#endif
