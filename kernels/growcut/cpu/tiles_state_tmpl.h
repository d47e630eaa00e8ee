/* The tile engine's state: keys, tiles, workers, and their memory. Part of growcut_tiles_tmpl.h. */
#include "kernels/growcut/cpu/growcut_tiles.h"
#include "kernels/growcut/growcut_voxel.h"
#include "volumes/bytes.h"
#include "volumes/labels.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#if KEY_BITS == 32
typedef uint32_t path_key;
#define KEY_NEVER   UINT32_MAX /* as a weight: no passage */
#define KEY_TOP     UINT32_MAX /* keys stay below it */
#define ENTRY(name) name##_32
#else
typedef uint64_t path_key;
/* A quarter of the range, so that a key and two weights never wrap. */
#define KEY_NEVER   (UINT64_C(1) << 62)
#define KEY_TOP     (UINT64_C(1) << 62)
#define ENTRY(name) name##_64
#endif

enum { BUCKETS = 64, SIDES = 27, ROW = 258, WINDOW_STEPS = 3, SLACK = 8 };

/* Four cells of a row at once; the fourth is along for the ride. */
typedef path_key four_keys __attribute__((vector_size(4 * sizeof(path_key))));
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
    path_key key;
} waiting;

typedef struct {
    waiting *items;
    size_t n, room;
} list;

typedef struct {
    path_key *keys;
    path_key *next;   /* of the round under way; NULL where growing is not in rounds */
    uint16_t *levels; /* channel after channel */
    list held;        /* waiting cells that cost more than the last window */
    path_key held_least;
    list inbox; /* posted by neighbours, guarded by lock */
    path_key inbox_least;
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
    int64_t open;                                /* of them, those with their lock */
    tile *tile;
    path_key *key_store, *next_store;
    uint16_t *level_store;
    uint8_t *is_halo; /* cells */
    int neighbours;
    int64_t step[26];   /* cells from a cell to its neighbour */
    path_key extra[26]; /* weight of each beyond weight[d] */
    int rows;
    neighbour_row row[9]; /* the same neighbours, row by row */
    path_key *weight;     /* dmax + 1, shifted like a key */
    uint16_t level_mask;  /* weight[d] >= (d & level_mask) << level_shift */
    int level_shift;
    int label_bits;
    path_key unreached; /* key of data that no path has reached: one past the max_step allowed */
    bool reversed;      /* ties go to the largest label */
    path_key window;    /* width of the cost window, shifted like a key */
    int bucket_shift;
    worker *worker;
    int workers;
    lob_norm norm;
    int64_t peak_bytes;
} engine;

static bool push(list *to, uint32_t cell, path_key key)
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

static path_key key_of(const engine *e, uint64_t units, int32_t label)
{
    const int32_t rank = e->reversed ? e->job->in->labels + 1 - label : label;
    return (path_key)(units << e->label_bits) | (path_key)rank;
}

static int32_t label_of(const engine *e, path_key key)
{
    const int32_t rank = (int32_t)(key & (((path_key)1 << e->label_bits) - 1));
    return e->reversed ? e->job->in->labels + 1 - rank : rank;
}

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
        const path_key extra = weight < KEY_NEVER ? (path_key)weight : KEY_NEVER;
        const int lane = rule->offset[k][0] + 1;
        if (e->rows == 0 || e->row[e->rows - 1].step != step - lane)
            e->row[e->rows++] = (neighbour_row){.step = step - lane};
        e->row[e->rows - 1].bit[lane] = (path_key)1 << e->neighbours;
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
    e->unreached = (path_key)(limit + 1) << e->label_bits;
    const int shift = e->label_bits + ilogb(rule->unit);
    if (rule->unit >= 1) {
        e->level_mask = UINT16_MAX;
        e->level_shift = shift < KEY_BITS ? shift : KEY_BITS - 1;
    }
    for (uint32_t d = 0; d <= rule->dmax; d++) {
        const uint64_t weight = (uint64_t)e->job->cost[d] << e->label_bits;
        e->weight[d] =
            e->job->cost[d] != LOB_NO_PASSAGE && weight < KEY_NEVER ? (path_key)weight : KEY_NEVER;
    }
}

/* Bytes of a cell: its key, a second one for rounds, and its levels. */
static int64_t cell_bytes(const engine *e)
{
    const int64_t keys = e->job->rounds ? 2 : 1;
    return keys * (int64_t)sizeof(path_key) + 2 * e->job->data.image->channels;
}

static int64_t engine_bytes(const engine *e)
{
    const int64_t entry = (int64_t)sizeof(path_key) + (int64_t)sizeof *e->job->cost;
    int64_t bytes =
        e->count * (e->cells * cell_bytes(e) + (int64_t)(sizeof(tile) + sizeof(int64_t))) +
        e->cells + ((int64_t)e->job->rule.dmax + 1) * entry + e->workers * (int64_t)sizeof(worker);
    for (int64_t t = 0; t < e->open; t++)
        bytes += bytes_of(&e->tile[t].held) + bytes_of(&e->tile[t].inbox);
    for (int w = 0; w < e->workers && e->worker; w++) {
        bytes += bytes_of(&e->worker[w].halo);
        for (int b = 0; b < BUCKETS; b++) bytes += bytes_of(&e->worker[w].bucket[b]);
        for (int s = 0; s < SIDES; s++) bytes += bytes_of(&e->worker[w].mail[s]);
    }
    return bytes;
}

/* Bytes taken now, kept as the peak; an error when they pass the limit. */
static lob_status note_bytes(engine *e, lob_error *error)
{
    const int64_t bytes = engine_bytes(e), most = e->job->max_memory;
    if (bytes > e->peak_bytes) e->peak_bytes = bytes;
    if (most == 0 || bytes <= most) return LOB_OK;
    char needed[LOB_BYTES_TEXT], allowed[LOB_BYTES_TEXT];
    return lob_fail(error, LOB_ENOMEM,
                    "GrowCut needs %s of working memory, more than the %s allowed",
                    lob_bytes_text(needed, bytes), lob_bytes_text(allowed, most));
}

static void engine_free(engine *e)
{
    for (int64_t t = 0; t < e->open; t++) {
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
    free(e->next_store);
    free(e->level_store);
    free(e->is_halo);
    free(e->weight);
}

static lob_status engine_alloc(engine *e, lob_error *error)
{
    const int64_t channels = e->job->data.image->channels;
    const int64_t cells = lob_product(e->count, e->cells, cell_bytes(e), 1);
    if (cells < 0 || e->cells > UINT32_MAX) return LOB_ENOMEM;
    const lob_status st = note_bytes(e, error);
    if (st != LOB_OK) return st;
    e->tile = calloc((size_t)e->count, sizeof *e->tile);
    e->worker = calloc((size_t)e->workers, sizeof *e->worker);
    e->key_store = malloc((size_t)(e->count * e->cells + 2 * SLACK) * sizeof *e->key_store);
    if (e->job->rounds)
        e->next_store = malloc((size_t)(e->count * e->cells) * sizeof *e->next_store);
    e->level_store =
        malloc((size_t)(e->count * e->cells * channels + 2 * SLACK) * sizeof *e->level_store);
    e->is_halo = malloc((size_t)e->cells);
    e->weight = malloc(((size_t)e->job->rule.dmax + 1) * sizeof *e->weight);
    if (!e->tile || !e->worker || !e->key_store || !e->level_store || !e->is_halo || !e->weight ||
        (e->job->rounds && !e->next_store))
        return LOB_ENOMEM;
    for (; e->open < e->count; e->open++) {
        tile *t = &e->tile[e->open];
        omp_init_lock(&t->lock);
        t->keys = e->key_store + SLACK + e->open * e->cells;
        t->next = e->next_store ? e->next_store + e->open * e->cells : NULL;
        t->levels = e->level_store + SLACK + e->open * e->cells * channels;
        t->held_least = t->inbox_least = KEY_TOP;
    }
    return LOB_OK;
}
