/* Balls of one label, by uniting bits of whole rows. */
#include "kernels/morphology/morphology_bits.h"

#include "kernels/progress.h"
#include "kernels/simd_clones.h"

#include <string.h>

enum {
    MOST_REACH = 31, /* of a ball, in voxels along an axis */
    BLOCK = 512,     /* words that are united together: they stay in the nearest cache */
    MOST_BYTES = 8   /* of working memory for a voxel */
};

/* A ball; reaches of rows are for y, z >= 0, and -1 where the ball does not meet a row. */
typedef struct {
    int along[3];                           /* reach from the middle, in voxels */
    int at[MOST_REACH + 1][MOST_REACH + 1]; /* reach along x of row [z][y] */
    int end[MOST_REACH + 1];                /* the largest y of a row of plane z */
} ball;

typedef struct {
    const lob_distance_plan *plan;
    ball ball;
    const unsigned char *labels;
    int label_bytes;
    int64_t words;                  /* of a row */
    uint64_t *seen;                 /* as lob_ball_bits has it */
    uint64_t *edges[2];             /* along y and z */
    uint64_t *runs[MOST_REACH + 1]; /* of each reach; [0]: NULL, as one voxel is equal to itself */
} job;

/* The largest whole h with weight * h^2 <= cost, not beyond `most`; -1: there is none. */
static int reach_of(double cost, double weight, int64_t most)
{
    int h = -1;
    while (h + 1 <= most && h < MOST_REACH + 1 && weight * (h + 1) * (h + 1) <= cost) h++;
    return h;
}

static int64_t side_seen(const lob_distance_plan *plan, int axis)
{
    return plan->weight[axis] > 0 ? lob_side(plan->dims, axis) - 1 : 0;
}

/* Reaches along the axes; false: one is too long. */
static bool reaches(int along[3], const lob_distance_plan *plan)
{
    for (int a = 0; a < 3; a++) {
        along[a] = reach_of(plan->max, plan->weight[a], side_seen(plan, a));
        if (along[a] > MOST_REACH) return false;
    }
    return true;
}

static int64_t row_words(lob_dims dims)
{
    return (dims.nx + 63) / 64;
}

/* Arrays of bits: runs of each reach, edges along y and z, what is seen. */
static int64_t all_bytes(const lob_distance_plan *plan, int reach)
{
    return lob_product(row_words(plan->dims) * (reach + 3), plan->dims.ny, plan->dims.nz,
                       sizeof(uint64_t));
}

bool lob_ball_bits_pay(const lob_distance_plan *plan)
{
    int along[3];
    if (!reaches(along, plan)) return false;
    const int64_t bytes = all_bytes(plan, along[0]);
    return bytes >= 0 && bytes / MOST_BYTES <= lob_dims_voxels(plan->dims);
}

static void make_ball(ball *b, const lob_distance_plan *plan)
{
    (void)reaches(b->along, plan);
    for (int z = 0; z <= b->along[2]; z++)
        for (int y = 0; y <= b->along[1]; y++) {
            const double left = plan->max - plan->weight[1] * y * y - plan->weight[2] * z * z;
            b->at[z][y] = reach_of(left, plan->weight[0], side_seen(plan, 0));
            if (b->at[z][y] >= 0) b->end[z] = y;
        }
}

/* ---- edges and runs of a row ---- */

/* Eight bytes of 0 or 1 as bits, the first the lowest. */
static uint64_t packed(const uint8_t *bytes)
{
    uint64_t ones;
    memcpy(&ones, bytes, sizeof ones);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    ones = __builtin_bswap64(ones);
#endif
    return ones * 0x0102040810204080 >> 56;
}

#define DIFFER(type)                                                            \
    LOB_SIMD_CLONES(void, differ_##type, (out, a, b, n), uint8_t *restrict out, \
                    const void *restrict a, const void *restrict b, int n)      \
    {                                                                           \
        const type *const restrict left = a, *const restrict right = b;         \
        for (int i = 0; i < n; i++) out[i] = left[i] != right[i];               \
    }

DIFFER(uint8_t)
DIFFER(uint16_t)
DIFFER(uint32_t)

/* In which of n <= 64 labels do two arrays differ? */
static uint64_t differ(const unsigned char *a, const unsigned char *b, int64_t n, int bytes)
{
    uint8_t differs[64] = {0};
    uint64_t bits = 0;
    if (n <= 0 || memcmp(a, b, (size_t)(n * bytes)) == 0) return 0;
    (bytes == 1   ? differ_uint8_t
     : bytes == 2 ? differ_uint16_t
                  : differ_uint32_t)(differs, a, b, (int)n);
    for (int i = 0; i < 8; i++) bits |= packed(differs + 8 * i) << (8 * i);
    return bits;
}

/* Runs of reach h + 1 are the runs of reach h of both neighbours; those of reach 1 are two edges.
 */
static void widen(uint64_t *restrict to, const uint64_t *restrict from, int64_t words, bool edges)
{
    for (int64_t w = 0; w < words; w++) {
        const uint64_t before = w > 0 ? from[w - 1] >> 63 : 0;
        const uint64_t after = w + 1 < words ? from[w + 1] << 63 : 0;
        to[w] = (from[w] << 1 | before) | (edges ? from[w] : from[w] >> 1 | after);
    }
}

static void cut_row(const job *j, int64_t row)
{
    const lob_dims d = j->plan->dims;
    const int64_t y = row % d.ny, z = row / d.ny, at = row * j->words;
    const unsigned char *const labels = j->labels + row * d.nx * j->label_bytes;
    uint64_t *const along_x = j->seen + at; /* is written over later */
    for (int64_t w = 0; w < j->words; w++) {
        const int64_t x = w * 64, left = d.nx - x, n = left < 64 ? left : 64;
        const unsigned char *const here = labels + x * j->label_bytes;
        along_x[w] = differ(here, here + j->label_bytes, n < left ? n : n - 1, j->label_bytes);
        j->edges[0][at + w] = y + 1 < d.ny && j->ball.along[1] > 0
                                  ? differ(here, here + d.nx * j->label_bytes, n, j->label_bytes)
                                  : 0;
        j->edges[1][at + w] =
            z + 1 < d.nz && j->ball.along[2] > 0
                ? differ(here, here + d.nx * d.ny * j->label_bytes, n, j->label_bytes)
                : 0;
    }
    for (int h = 1; h <= j->ball.along[0]; h++)
        widen(j->runs[h] + at, h > 1 ? j->runs[h - 1] + at : along_x, j->words, h == 1);
}

/* ---- balls ---- */

LOB_SIMD_CLONES(void, unite, (to, from, n), uint64_t *restrict to, const uint64_t *restrict from,
                int64_t n)
{
    for (int64_t w = 0; w < n; w++) to[w] |= from[w];
}

/* Unite rows first..end-1 of plane z with those that lie dy rows and dz planes further. */
static void unite_rows(const job *j, const uint64_t *from, int64_t first, int64_t end, int64_t z,
                       int dy, int dz)
{
    const lob_dims d = j->plan->dims;
    const int64_t low = first + dy < 0 ? -dy : first, high = end + dy > d.ny ? d.ny - dy : end;
    if (!from || low >= high) return;
    unite(j->seen + (z * d.ny + low) * j->words, from + ((z + dz) * d.ny + low + dy) * j->words,
          (high - low) * j->words);
}

static void see_block(const job *j, int64_t z, int64_t first, int64_t end)
{
    const lob_dims d = j->plan->dims;
    const ball *const b = &j->ball;
    memset(j->seen + (z * d.ny + first) * j->words, 0,
           (size_t)((end - first) * j->words) * sizeof *j->seen);
    for (int dz = -b->along[2]; dz <= b->along[2]; dz++) {
        const int plane = dz < 0 ? -dz : dz, last = b->end[plane];
        if (z + dz < 0 || z + dz >= d.nz) continue;
        for (int dy = -last; dy <= last; dy++) {
            unite_rows(j, j->runs[b->at[plane][dy < 0 ? -dy : dy]], first, end, z, dy, dz);
            if (dy < last) unite_rows(j, j->edges[0], first, end, z, dy, dz);
        }
        if (dz < b->along[2]) unite_rows(j, j->edges[1], first, end, z, 0, dz);
    }
}

/* ---- a call ---- */

static lob_status see(const job *j, const lob_context *context)
{
    const lob_dims d = j->plan->dims;
    const int64_t rows = d.ny * d.nz, height = j->words < BLOCK ? BLOCK / j->words : 1;
    const int64_t blocks = (d.ny + height - 1) / height;
    lob_progress stages = {.context = context};
    lob_progress_stage(&stages, rows, 0.5);
#pragma omp parallel for num_threads(context->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        if (lob_progress_stopped(&stages)) continue;
        cut_row(j, row);
        (void)lob_progress_report(&stages, 1);
    }
    lob_progress_stage(&stages, blocks * d.nz, 1);
#pragma omp parallel for num_threads(context->threads) schedule(dynamic, 4)
    for (int64_t b = 0; b < blocks * d.nz; b++) {
        const int64_t first = b % blocks * height;
        if (lob_progress_stopped(&stages)) continue;
        see_block(j, b / blocks, first, first + height < d.ny ? first + height : d.ny);
        (void)lob_progress_report(&stages, 1);
    }
    return lob_progress_stopped(&stages) ? LOB_ECANCEL : LOB_OK;
}

lob_status lob_ball_bits_find(lob_ball_bits *bits, const void *labels, int label_bytes,
                              const lob_distance_plan *plan, lob_budget *budget,
                              const lob_context *context, lob_error *error)
{
    job j = {
        .plan = plan, .labels = labels, .label_bytes = label_bytes, .words = row_words(plan->dims)};
    uint64_t *work = NULL;
    make_ball(&j.ball, plan);
    const int64_t volume = j.words * plan->dims.ny * plan->dims.nz;
    *bits = (lob_ball_bits){.words = j.words, .volume = volume};
    LOB_TRY(lob_budget_alloc(budget, &bits->seen, volume, sizeof *bits->seen, error));
    const int64_t rest = volume * (j.ball.along[0] + 2);
    lob_status st = lob_budget_alloc(budget, &work, rest, sizeof *work, error);
    if (st == LOB_OK) {
        j.seen = bits->seen;
        j.edges[0] = work;
        j.edges[1] = work + volume;
        for (int h = 1; h <= j.ball.along[0]; h++) j.runs[h] = work + (h + 1) * volume;
        st = see(&j, context);
    }
    lob_budget_free(budget, work, rest, sizeof *work);
    return st;
}

void lob_ball_bits_free(lob_ball_bits *bits, lob_budget *budget)
{
    lob_budget_free(budget, bits->seen, bits->volume, sizeof *bits->seen);
    *bits = (lob_ball_bits){0};
}
