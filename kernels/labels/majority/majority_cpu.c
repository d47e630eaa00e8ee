/* The majority on the CPU: threads take tiles; then thin parts get their labels back. */
#include "kernels/labels/label_rows.h"
#include "kernels/labels/majority/majority_voxel.h"
#include "kernels/progress.h"
#include "kernels/simd_clones.h"

#include <omp.h>

enum { TILE_X = 64, MAX_ROW = TILE_X + 2 * LOB_LABELS_MAX_RADIUS };

/* Voxels low .. high - 1 along each axis. */
typedef struct {
    int64_t low[3], high[3];
} box;

/* What the tiles of a call share. */
typedef struct {
    void *out;
    const void *in;
    lob_type type;
    lob_dims dims;
    const lob_majority *m;
    int64_t tiles[3]; /* along each axis */
    int side;         /* of a tile along y and z */
    lob_progress progress;
} filter;

/* What a thread works with. Arrays of a tile are [z][y][TILE_X]. */
typedef struct {
    uint32_t *sum, *left, *best; /* the label's weight; of the labels to come; the largest key */
    int32_t *label;              /* of the largest key */
    uint32_t *plane;             /* [y][TILE_X]: the label's indicator summed along x and y */
    uint16_t *rows;              /* [side + 2 radius][TILE_X]: along x */
} scratch;

static int64_t scratch_words(const filter *f)
{
    const int64_t plane = (int64_t)f->side * TILE_X;
    const int64_t rows = (f->side + 2 * (int64_t)f->m->radius[1]) * TILE_X;
    return 4 * plane * f->side + plane + (rows + 1) / 2;
}

static scratch scratch_of(const filter *f, uint32_t *words)
{
    const int64_t plane = (int64_t)f->side * TILE_X, tile = plane * f->side;
    return (scratch){
        .sum = words,
        .left = words + tile,
        .best = words + 2 * tile,
        .label = (int32_t *)(words + 3 * tile),
        .plane = words + 4 * tile,
        .rows = (uint16_t *)(words + 4 * tile + plane),
    };
}

/* The box and what lies within the radius, inside the volume. */
static box around(const filter *f, const box *tile)
{
    box b = *tile;
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(f->dims, a);
        b.low[a] = b.low[a] > f->m->radius[a] ? b.low[a] - f->m->radius[a] : 0;
        b.high[a] = b.high[a] + f->m->radius[a] < side ? b.high[a] + f->m->radius[a] : side;
    }
    return b;
}

/* ---- rows, compiled for wide registers ---- */

/* The least and the largest label of a row. */
LOB_SIMD_CLONES(void, extend_range, (range, in, type, first, n), int32_t range[2], const void *in,
                lob_type type, int64_t first, int n)
{
    int32_t low = range[0], high = range[1];
#define EXTEND(ctype)                               \
    for (int i = 0; i < n; i++) {                   \
        const int32_t l = ((ctype *)in)[first + i]; \
        low = l < low ? l : low;                    \
        high = l > high ? l : high;                 \
    }
    if (type == LOB_U8) {
        EXTEND(const uint8_t)
    } else if (type == LOB_I16) {
        EXTEND(const int16_t)
    } else {
        EXTEND(const int32_t)
    }
#undef EXTEND
    range[0] = low;
    range[1] = high;
}

/* Where the row holds a label, as 0 and 1; next becomes the least label above it. Returns whether
 * it does anywhere. */
LOB_SIMD_CLONES(bool, indicate, (is, in, type, first, n, label, next), uint16_t *is, const void *in,
                lob_type type, int64_t first, int n, int32_t label, int32_t *next)
{
    int32_t above = *next, any = 0;
#define INDICATE(ctype)                                 \
    for (int i = 0; i < n; i++) {                       \
        const int32_t l = ((ctype *)in)[first + i];     \
        const int32_t more = l > label ? l : INT32_MAX; \
        is[i] = l == label;                             \
        any |= l == label;                              \
        above = more < above ? more : above;            \
    }
    if (type == LOB_U8) {
        INDICATE(const uint8_t)
    } else if (type == LOB_I16) {
        INDICATE(const int16_t)
    } else {
        INDICATE(const int32_t)
    }
#undef INDICATE
    *next = above;
    return any;
}

/* Weighted sums along x of TILE_X + taps - 1 indicators; at most LOB_MAJORITY_UNIT. */
LOB_SIMD_CLONES(void, sum_row, (to, is, weight, taps), uint16_t *restrict to,
                const uint16_t *restrict is, const uint32_t *weight, int taps)
{
    memset(to, 0, TILE_X * sizeof *to);
    for (int k = 0; k < taps; k++) {
        const uint16_t w = (uint16_t)weight[k];
        for (int x = 0; x < TILE_X; x++) to[x] = (uint16_t)(to[x] + w * is[x + k]);
    }
}

/* Weighted sums of rows `apart` from each other, for TILE_X voxels. */
LOB_SIMD_CLONES(void, sum_rows, (to, rows, weight, taps), uint32_t *restrict to,
                const uint16_t *restrict rows, const uint32_t *weight, int taps)
{
    uint32_t sum[TILE_X] = {0};
    for (int k = 0; k < taps; k++)
        for (int x = 0; x < TILE_X; x++) sum[x] += weight[k] * rows[k * TILE_X + x];
    memcpy(to, sum, sizeof sum);
}

LOB_SIMD_CLONES(void, add_plane, (to, plane, weight, n), uint32_t *restrict to,
                const uint32_t *restrict plane, uint32_t weight, int n)
{
    for (int i = 0; i < n; i++) to[i] += weight * plane[i];
}

/* Let a label compete with the best so far. Returns whether any voxel may still change. */
LOB_SIMD_CLONES(bool, compete, (s, first, n, own, label, prefers_own), const scratch *s,
                int64_t first, int n, const int32_t *own, int32_t label, bool prefers_own)
{
    uint32_t open = 0;
    uint32_t *best = s->best + first, *left = s->left + first;
    const uint32_t *sum = s->sum + first;
    int32_t *choice = s->label + first;
    for (int i = 0; i < n; i++) {
        const uint32_t key = lob_majority_key(sum[i], prefers_own & (own[i] == label));
        const bool wins = key > best[i];
        left[i] -= sum[i];
        best[i] = wins ? key : best[i];
        choice[i] = wins ? label : choice[i];
        open |= lob_majority_open(left[i], best[i], prefers_own);
    }
    return open;
}

/* ---- tiles ---- */

/* Is there one label in the box? range: the least and the largest. */
static bool one_label(int32_t range[2], const filter *f, const box *b)
{
    range[0] = INT32_MAX;
    range[1] = 0;
    for (int64_t z = b->low[2]; z < b->high[2]; z++)
        for (int64_t y = b->low[1]; y < b->high[1]; y++)
            extend_range(range, f->in, f->type, (z * f->dims.ny + y) * f->dims.nx + b->low[0],
                         (int)(b->high[0] - b->low[0]));
    return range[0] == range[1];
}

/* Sum a label along x and y for one plane of the neighbourhood. Returns false where it is not
 * there. */
static bool sum_plane(const scratch *s, const filter *f, const box *tile, const box *b, int64_t z,
                      int32_t label, int32_t *next)
{
    const int rx = f->m->radius[0], ry = f->m->radius[1];
    const int64_t before = b->low[0] - (tile->low[0] - rx);
    uint16_t is[MAX_ROW] = {0}; /* of what lies outside of the volume: 0 */
    bool any = false;
    for (int64_t y = tile->low[1] - ry; y < tile->high[1] + ry; y++) {
        uint16_t *row = s->rows + (y - tile->low[1] + ry) * TILE_X;
        bool here = false;
        if (y >= b->low[1] && y < b->high[1])
            here =
                indicate(is + before, f->in, f->type, (z * f->dims.ny + y) * f->dims.nx + b->low[0],
                         (int)(b->high[0] - b->low[0]), label, next);
        any |= here;
        if (here)
            sum_row(row, is, f->m->weight[0], 2 * rx + 1);
        else
            memset(row, 0, TILE_X * sizeof *row);
    }
    if (!any) return false;
    for (int64_t y = 0; y < tile->high[1] - tile->low[1]; y++)
        sum_rows(s->plane + y * TILE_X, s->rows + y * TILE_X, f->m->weight[1], 2 * ry + 1);
    return true;
}

/* The label's weight at each voxel of the tile; next: the label after it in the neighbourhood. */
static void sum_label(const scratch *s, const filter *f, const box *tile, const box *b,
                      int32_t label, int32_t *next)
{
    const int64_t ny = tile->high[1] - tile->low[1], plane = (int64_t)f->side * TILE_X;
    const int64_t rz = f->m->radius[2];
    memset(s->sum, 0, (size_t)(plane * (tile->high[2] - tile->low[2])) * sizeof *s->sum);
    *next = INT32_MAX;
    for (int64_t z = b->low[2]; z < b->high[2]; z++) {
        if (!sum_plane(s, f, tile, b, z, label, next)) continue;
        const int64_t from = z - rz > tile->low[2] ? z - rz : tile->low[2];
        const int64_t to = z + rz < tile->high[2] - 1 ? z + rz : tile->high[2] - 1;
        for (int64_t at = from; at <= to; at++)
            add_plane(s->sum + (at - tile->low[2]) * plane, s->plane, f->m->weight[2][z - at + rz],
                      (int)(ny * TILE_X));
    }
}

/* Before any label was looked at, every label's weight is to come. */
static void begin_tile(const scratch *s, const filter *f, const box *tile)
{
    const lob_majority *m = f->m;
    uint32_t inside[TILE_X];
    for (int x = 0; x < TILE_X; x++)
        inside[x] = lob_majority_inside(m->before[0], m->radius[0], tile->low[0] + x, f->dims.nx);
    for (int64_t z = tile->low[2]; z < tile->high[2]; z++)
        for (int64_t y = tile->low[1]; y < tile->high[1]; y++) {
            const int64_t at = ((z - tile->low[2]) * f->side + y - tile->low[1]) * TILE_X;
            const uint32_t across = lob_majority_inside(m->before[1], m->radius[1], y, f->dims.ny) *
                                    lob_majority_inside(m->before[2], m->radius[2], z, f->dims.nz);
            for (int x = 0; x < TILE_X; x++) s->left[at + x] = across * inside[x];
            memset(s->best + at, 0, TILE_X * sizeof *s->best);
            memset(s->label + at, 0, TILE_X * sizeof *s->label);
        }
}

/* Let a label compete at all voxels of the tile. Returns whether any voxel may still change. */
static bool compete_in_tile(const scratch *s, const filter *f, const box *tile, int32_t label)
{
    const int n = (int)(tile->high[0] - tile->low[0]);
    int32_t own[TILE_X] = {0};
    bool open = false;
    for (int64_t z = tile->low[2]; z < tile->high[2]; z++)
        for (int64_t y = tile->low[1]; y < tile->high[1]; y++) {
            const int64_t at = ((z - tile->low[2]) * f->side + y - tile->low[1]) * TILE_X;
            if (f->m->prefers_own)
                lob_labels_load(own, f->in, f->type,
                                (z * f->dims.ny + y) * f->dims.nx + tile->low[0], n);
            open |= compete(s, at, n, own, label, f->m->prefers_own);
        }
    return open;
}

static void filter_tile(const scratch *s, const filter *f, const box *tile)
{
    const box b = around(f, tile);
    const int64_t nx = tile->high[0] - tile->low[0];
    int32_t range[2], label, next = 0;
    const bool one = one_label(range, f, &b);
    if (one)
        for (int x = 0; x < TILE_X; x++) s->label[x] = range[0];
    else {
        begin_tile(s, f, tile);
        for (label = range[0];; label = next) {
            if (label == range[1]) /* what is left is all of the last label */
                memcpy(s->sum, s->left,
                       (size_t)(f->side * (tile->high[2] - tile->low[2]) * TILE_X) * 4);
            else
                sum_label(s, f, tile, &b, label, &next);
            if (!compete_in_tile(s, f, tile, label) || label == range[1]) break;
        }
    }
    for (int64_t z = tile->low[2]; z < tile->high[2]; z++)
        for (int64_t y = tile->low[1]; y < tile->high[1]; y++) {
            const int64_t at = ((z - tile->low[2]) * f->side + y - tile->low[1]) * TILE_X;
            lob_labels_store(f->out, f->type, (z * f->dims.ny + y) * f->dims.nx + tile->low[0],
                             s->label + (one ? 0 : at), nx);
        }
}

static box tile_of(const filter *f, int64_t number)
{
    const int64_t side[3] = {TILE_X, f->side, f->side};
    box b;
    for (int a = 0; a < 3; a++) {
        b.low[a] = number % f->tiles[a] * side[a];
        number /= f->tiles[a];
        b.high[a] =
            b.low[a] + side[a] < lob_side(f->dims, a) ? b.low[a] + side[a] : lob_side(f->dims, a);
    }
    return b;
}

/* Tiles grow with the radius, so that their neighbourhood stays a small multiple of them. */
static void lay_out(filter *f)
{
    const int r = f->m->radius[1] > f->m->radius[2] ? f->m->radius[1] : f->m->radius[2];
    f->side = r <= 16 ? 16 : r <= 48 ? 32 : 64;
    f->tiles[0] = (f->dims.nx + TILE_X - 1) / TILE_X;
    f->tiles[1] = (f->dims.ny + f->side - 1) / f->side;
    f->tiles[2] = (f->dims.nz + f->side - 1) / f->side;
}

lob_status lob_majority_cpu(void *out, const void *in, lob_type type, lob_dims dims,
                            const lob_majority *m, const lob_context *context, lob_budget *budget,
                            lob_error *error)
{
    filter f = {
        .out = out, .in = in, .type = type, .dims = dims, .m = m, .progress = {.context = context}};
    uint32_t *words = NULL;
    lay_out(&f);
    const int64_t each = scratch_words(&f), tiles = f.tiles[0] * f.tiles[1] * f.tiles[2];
    const int threads = context->threads < tiles ? context->threads : (int)tiles;
    LOB_TRY(lob_budget_alloc(budget, &words, threads * each, sizeof *words, error));
    lob_progress_stage(&f.progress, tiles, m->keeps_thin ? 0.9 : 1.0);
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (int64_t t = 0; t < tiles; t++) {
        if (lob_progress_stopped(&f.progress)) continue;
        const scratch s = scratch_of(&f, words + omp_get_thread_num() * each);
        const box tile = tile_of(&f, t);
        filter_tile(&s, &f, &tile);
        lob_progress_report(&f.progress, 1);
    }
    lob_budget_free(budget, words, threads * each, sizeof *words);
    if (lob_progress_stopped(&f.progress)) return LOB_ECANCEL;
    if (!m->keeps_thin) return LOB_OK;
    return lob_majority_keep_thin(out, in, type, dims, m->reach, context->threads, budget, error);
}
