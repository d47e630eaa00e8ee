/*
 * Rows of supervoxels. Each cluster whose box meets the rows is held against all their voxels in
 * its box before the next, in rising order, so that of equal distances the lowest cluster stays.
 */
#include "kernels/supervoxels/assign/assign_rows.h"

#include "kernels/supervoxels/assign/assign_levels.h"

#include <stdlib.h>

/*
 * Rows are worked on in stretches of at most STRETCH voxels, and those in blocks of LANES, of which
 * a cluster's box may use a part: whole blocks are what compilers turn into vector code. What a
 * cluster has to say of a block's place along x serves all rows.
 */
enum { STRETCH = 256, LANES = 8, ROWS = LOB_SUPERVOXEL_ROWS, PLANE = ROWS * STRETCH };

/* What is compiled twice, for machines with and without fused multiply-add, as told below. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

struct lob_supervoxel_rows {
    const lob_supervoxel_scene *scene;
    int32_t y, ny, z;    /* which rows */
    int32_t from, count; /* which stretch of them */

    uint16_t *plane; /* levels: channels planes like those of level */

    /* See load_axis, load_cells and sum_up. */
    float place_x[2][STRETCH], place_y[2][ROWS], place_z[2][1];
    int32_t cell[STRETCH];
    int32_t upto_x[2][STRETCH + 1], upto[2 * LOB_SUPERVOXELS_MAX_CHANNELS][STRETCH + 1];

    float best[PLANE]; /* distance or score so far, of voxel i of row r at [r * STRETCH + i] */
    int32_t id[PLANE]; /* and whose it is: a cell's number in a block */
    float level[];     /* planes like these: slic: channels, steps; slico: level * rule->level;
                          lsc: 2 * channels, of waves */
};

static int64_t floats_of(const lob_supervoxels_rule *rule)
{
    return (rule->method == LOB_LSC ? 2 : 1) * rule->channels * (int64_t)PLANE;
}

int64_t lob_supervoxel_rows_bytes(const lob_supervoxels_rule *rule)
{
    return (int64_t)(sizeof(lob_supervoxel_rows) + floats_of(rule) * sizeof(float) +
                     rule->channels * PLANE * sizeof(uint16_t));
}

lob_supervoxel_rows *lob_supervoxel_rows_make(const lob_supervoxel_scene *scene)
{
    const lob_supervoxels_rule *rule = &scene->plan->rule;
    lob_supervoxel_rows *rows = calloc(1, (size_t)lob_supervoxel_rows_bytes(rule));
    if (!rows) return NULL;
    rows->scene = scene;
    rows->plane = (uint16_t *)(rows->level + floats_of(rule));
    return rows;
}

int32_t lob_supervoxel_rows_most(const lob_supervoxels_rule *rule)
{
    return rule->step[1] >= ROWS ? ROWS : (int32_t)rule->step[1];
}

/* ---- what is known of a stretch before any cluster ---- */

static const lob_cos_sin *wave_of_axis(const lob_supervoxels_plan *plan, int axis)
{
    const lob_cos_sin *wave = plan->axis_cos_sin;
    for (int a = 0; a < axis; a++) wave += plan->rule.side[a];
    return wave;
}

static lob_cos_sin wave_of_level(const lob_supervoxels_plan *plan, int channel, uint16_t level)
{
    const int table = lob_lsc_table(&plan->rule, channel);
    return plan->level_cos_sin[table * LOB_COS_SIN_ENTRIES + (level >> plan->rule.shift)];
}

/* Where row r of the stretch lies in a volume. */
static int64_t place_of(const lob_supervoxel_rows *rows, int r)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    return ((int64_t)rows->z * rule->side[1] + rows->y + r) * rule->side[0] + rows->from;
}

static const uint16_t *plane_at(const lob_supervoxel_rows *rows, int r, int channel)
{
    return rows->plane + channel * PLANE + r * STRETCH;
}

/* Coordinates from `from` on: slic, slico: themselves; lsc: cosines and sines, of the first n. All
 * that there is room for are filled, since distances are taken of what lies beyond as well. */
INLINE void load_axis(float *place, float *sine, int room, int32_t n, int32_t from, int axis,
                      const lob_supervoxels_plan *plan)
{
    if (plan->rule.method != LOB_LSC) {
        for (int32_t i = 0; i < room; i++) place[i] = (float)(from + i);
        return;
    }
    const lob_cos_sin *wave = wave_of_axis(plan, axis) + from;
    for (int32_t i = 0; i < n; i++) {
        place[i] = wave[i].cosine;
        sine[i] = wave[i].sine;
    }
}

/* The cell of each x. */
static void load_cells(lob_supervoxel_rows *rows)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    int32_t cell = lob_cell(rows->from, rule->side[0], rule->cells[0]);
    for (int32_t i = 0; i < rows->count; cell++) {
        int32_t next = lob_cell_first(cell + 1, rule->side[0], rule->cells[0]) - rows->from;
        if (next > rows->count) next = rows->count;
        while (i < next) rows->cell[i++] = cell;
    }
}

INLINE void load_steps(float *level, const uint16_t *plane, int32_t n,
                       const lob_supervoxels_rule *rule)
{
#pragma omp simd
    for (int32_t i = 0; i < n; i++) level[i] = (float)lob_slic_step(plane[i], rule);
}

INLINE void load_scaled(float *level, const uint16_t *plane, int32_t n, float scale)
{
#pragma omp simd
    for (int32_t i = 0; i < n; i++) level[i] = (float)plane[i] * scale;
}

/* The levels of row r, channel after channel, and what distances take of them. */
INLINE void load_levels(lob_supervoxel_rows *rows, int r, lob_supervoxels_method method)
{
    const lob_supervoxel_scene *scene = rows->scene;
    const lob_supervoxels_plan *plan = scene->plan;
    const int32_t n = rows->count;
    const int64_t at = place_of(rows, r);
    float *level = rows->level + r * STRETCH;
    lob_supervoxel_levels(rows->plane + r * STRETCH, PLANE, plan, scene->image, scene->labels + at,
                          at, n);
    for (int c = 0; c < plan->rule.channels; c++, level += PLANE) {
        const uint16_t *plane = plane_at(rows, r, c);
        float *cosine = level + c * PLANE, *sine = cosine + PLANE;
        if (method == LOB_SLIC)
            load_steps(level, plane, n, &plan->rule);
        else if (method == LOB_SLICO)
            load_scaled(level, plane, n, plan->rule.level);
        else
            for (int32_t i = 0; i < n; i++) {
                const lob_cos_sin wave = wave_of_level(plan, c, plane[i]);
                cosine[i] = wave.cosine;
                sine[i] = wave.sine;
            }
    }
}

/* Every voxel starts with the cluster of its own cell, at a distance that any other beats. */
INLINE void load_own(lob_supervoxel_rows *rows, int r, const lob_cell_block *block)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    const int32_t cy = lob_cell(rows->y + r, rule->side[1], rule->cells[1]) - block->y;
    const int32_t cz = lob_cell(rows->z, rule->side[2], rule->cells[2]) - block->z;
    const int32_t first = (cz * block->ny + cy) * rule->cells[0], n = rows->count;
    int32_t *id = rows->id + r * STRETCH;
    float *best = rows->best + r * STRETCH;
#pragma omp simd
    for (int32_t i = 0; i < n; i++) {
        id[i] = first + rows->cell[i];
        best[i] = INFINITY;
    }
}

INLINE void load(lob_supervoxel_rows *rows, const lob_cell_block *block,
                 lob_supervoxels_method method)
{
    load_axis(rows->place_x[0], rows->place_x[1], STRETCH, rows->count, rows->from, 0,
              rows->scene->plan);
    load_cells(rows);
    for (int32_t r = 0; r < rows->ny; r++) {
        load_levels(rows, r, method);
        load_own(rows, r, block);
    }
}

/* ---- one cluster against its box ---- */

typedef struct {
    const float *centre;
    int32_t id, low, high; /* voxels of the stretch that its box holds along x */
    float across[ROWS];    /* along y and z; INFINITY where the box does not hold the row */
    float factor[LOB_SUPERVOXELS_MAX_CHANNELS]; /* slic: minus twice its levels, */
    float square;                               /* and the sum of their squares */
} candidate;

/* a or b, by their bits: of a plain choice that is stored, compilers make a branch or a masked
 * store. */
INLINE float choose(bool first, float a, float b)
{
    const int32_t mask = -(int32_t)first;
    int32_t bits, other;
    memcpy(&bits, &a, sizeof bits);
    memcpy(&other, &b, sizeof other);
    bits = (bits & mask) | (other & ~mask);
    memcpy(&a, &bits, sizeof a);
    return a;
}

/* The parts of the distance along an axis, of n coordinates. */
INLINE void find_along(float *along, const float *place, const float *sine, int n, int axis,
                       const candidate *k, const lob_supervoxels_rule *rule,
                       lob_supervoxels_method method)
{
    const float position = rule->position[axis], *factors = &k->centre[2 * axis];
    for (int i = 0; i < n; i++)
        along[i] = method == LOB_SLIC ? (float)lob_slic_along(place[i], position, k->centre[axis])
                   : method == LOB_SLICO ? lob_slico_along(place[i], position, k->centre[axis])
                                         : lob_lsc_add(0.0f, place[i], sine[i], factors);
}

/* From the parts along the axes to the distance or score of LANES voxels. */
INLINE void add_channels(float *sum, const float *level, const candidate *k, int channels,
                         lob_supervoxels_method method)
{
    float contrast[LANES] = {0};
    for (int c = 0; c < channels; c++, level += PLANE) {
        if (method == LOB_SLIC) {
            for (int i = 0; i < LANES; i++) sum[i] = fmaf(level[i], k->factor[c], sum[i]);
        } else if (method == LOB_SLICO) {
            for (int i = 0; i < LANES; i++)
                contrast[i] = lob_slico_add(contrast[i], level[i], k->centre[3 + c]);
        } else {
            const float *cosine = level + c * PLANE, *sine = cosine + PLANE;
            for (int i = 0; i < LANES; i++)
                sum[i] = lob_lsc_add(sum[i], cosine[i], sine[i], &k->centre[6 + 2 * c]);
        }
    }
    if (method == LOB_SLICO)
        for (int i = 0; i < LANES; i++) sum[i] = fmaf(contrast[i], k->centre[3 + channels], sum[i]);
    if (method != LOB_SLIC)
        for (int i = 0; i < LANES; i++) sum[i] = lob_distance_truncated(sum[i]);
}

INLINE void keep_nearer(float *best, int32_t *whose, const float *distance, int32_t id,
                        lob_supervoxels_method method)
{
    for (int i = 0; i < LANES; i++) {
        const float so_far = best[i], here = distance[i];
        const bool nearer = method == LOB_LSC ? lob_distance_wins(so_far, here) : here < so_far;
        const int32_t mask = -(int32_t)nearer;
        best[i] = choose(nearer, here, so_far);
        whose[i] = (id & mask) | (whose[i] & ~mask);
    }
}

/* What a cluster has to say before any x. */
INLINE void make_candidate(candidate *k, const lob_supervoxel_rows *rows, const int32_t *box,
                           int channels, lob_supervoxels_method method)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    float z;
    find_along(&z, rows->place_z[0], rows->place_z[1], 1, 2, k, rule, method);
    find_along(k->across, rows->place_y[0], rows->place_y[1], ROWS, 1, k, rule, method);
    for (int32_t r = 0; r < ROWS; r++) k->across[r] += z;
    for (int32_t r = 0; r < ROWS; r++)
        k->across[r] = (uint32_t)(rows->y + r - box[1]) <= (uint32_t)(box[4] - box[1])
                           ? k->across[r]
                           : INFINITY;
    if (method != LOB_SLIC) return;
    k->square = 0;
    for (int c = 0; c < channels; c++) {
        k->factor[c] = -2 * k->centre[3 + c];
        k->square += k->centre[3 + c] * k->centre[3 + c];
    }
}

/*
 * Hold a cluster against all rows. `method`, and `channels` where it pays, are constants.
 *
 * slic takes (s - m)^2 less s^2, which is the same for all clusters: floats hold all of these whole
 * numbers, which lie within LOB_SLIC_LIMIT on either side.
 */
INLINE void hold_against(lob_supervoxel_rows *rows, const candidate *k, int channels,
                         lob_supervoxels_method method)
{
    const uint32_t width = (uint32_t)(k->high - k->low);
    for (int32_t at = k->low / LANES * LANES; at <= k->high; at += LANES) {
        float along[LANES];
        find_along(along, rows->place_x[0] + at, rows->place_x[1] + at, LANES, 0, k,
                   &rows->scene->plan->rule, method);
        if (method == LOB_SLIC)
            for (int i = 0; i < LANES; i++) along[i] += k->square;
        for (int32_t i = 0; i < LANES; i++)
            along[i] = (uint32_t)(at + i - k->low) <= width ? along[i] : INFINITY;
        for (int32_t r = 0, i = at; r < rows->ny; r++, i += STRETCH) {
            float distance[LANES];
            for (int l = 0; l < LANES; l++) distance[l] = k->across[r] + along[l];
            add_channels(distance, rows->level + i, k, channels, method);
            keep_nearer(rows->best + i, rows->id + i, distance, k->id, method);
        }
    }
}

/* ---- all clusters of a stretch ---- */

/* The clusters that may hold a voxel lie in cells at most one beside its own. */
static void cells_beside(int32_t beside[2], int32_t low, int32_t high, int axis,
                         const lob_supervoxels_rule *rule)
{
    const int32_t side = rule->side[axis], cells = rule->cells[axis];
    const int32_t first = lob_cell(low, side, cells), last = lob_cell(high, side, cells);
    beside[0] = first > 0 ? first - 1 : 0;
    beside[1] = last + 1 < cells ? last + 1 : last;
}

INLINE void all_clusters(lob_supervoxel_rows *rows, const lob_cell_block *block, int channels,
                         lob_supervoxels_method method)
{
    const lob_supervoxel_scene *scene = rows->scene;
    const lob_supervoxels_rule *rule = &scene->plan->rule;
    const int floats = lob_cluster_floats(rule);
    const int32_t from = rows->from, last = from + rows->count - 1;
    const int32_t low = rows->y, high = low + rows->ny - 1, z = rows->z;
    int32_t cx[2], cy[2], cz[2];
    cells_beside(cx, from, last, 0, rule);
    cells_beside(cy, low, high, 1, rule);
    cells_beside(cz, z, z, 2, rule);
    for (int32_t k = cz[0]; k <= cz[1]; k++)
        for (int32_t j = cy[0]; j <= cy[1]; j++) {
            const int64_t first = ((int64_t)k * rule->cells[1] + j) * rule->cells[0];
            const int32_t id = ((k - block->z) * block->ny + (j - block->y)) * rule->cells[0];
            for (int32_t i = cx[0]; i <= cx[1]; i++) {
                const int32_t *box = scene->boxes + (first + i) * 6;
                if (high < box[1] || low > box[4] || z < box[2] || z > box[5]) continue;
                candidate one;
                one.centre = scene->centres + (first + i) * floats;
                one.id = id + i;
                one.low = (box[0] > from ? box[0] : from) - from;
                one.high = (box[3] < last ? box[3] : last) - from;
                if (one.low > one.high) continue;
                make_candidate(&one, rows, box, channels, method);
                hold_against(rows, &one, channels, method);
            }
        }
}

INLINE void find_nearest_by(lob_supervoxel_rows *rows, const lob_cell_block *block,
                            lob_supervoxels_method method)
{
    const int channels = rows->scene->plan->rule.channels;
    load(rows, block, method);
    if (channels == 1)
        all_clusters(rows, block, 1, method);
    else if (channels == 3)
        all_clusters(rows, block, 3, method);
    else
        all_clusters(rows, block, channels, method);
}

INLINE void find_nearest(lob_supervoxel_rows *rows, const lob_cell_block *block)
{
    switch (rows->scene->plan->rule.method) {
    case LOB_SLIC:
        find_nearest_by(rows, block, LOB_SLIC);
        break;
    case LOB_SLICO:
        find_nearest_by(rows, block, LOB_SLICO);
        break;
    case LOB_LSC:
        find_nearest_by(rows, block, LOB_LSC);
        break;
    }
}

/* ---- sums ---- */

/* The voxels i in at..end-1 of row r of the stretch, all of one cluster. */
typedef struct {
    int32_t r, at, end;
} run;

INLINE void sum_up_levels(int32_t *upto, const uint16_t *level, int32_t n)
{
    for (int32_t i = 0; i < n; i++) upto[i + 1] = upto[i] + level[i];
}

INLINE void sum_up_waves(int32_t *upto, const float *wave, int32_t n)
{
    for (int32_t i = 0; i < n; i++) upto[i + 1] = upto[i] + (int32_t)wave[i];
}

/* Sums of all that comes before a voxel of the row, from which those of runs are differences. */
INLINE void sum_up(lob_supervoxel_rows *rows, int r)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    const int32_t n = rows->count;
    if (rule->method != LOB_LSC) {
        for (int c = 0; c < rule->channels; c++)
            sum_up_levels(rows->upto[c], plane_at(rows, r, c), n);
        return;
    }
    for (int p = 0; p < 2 * rule->channels; p++)
        sum_up_waves(rows->upto[p], rows->level + p * PLANE + r * STRETCH, n);
    for (int i = 0; i < 2 && r == 0; i++) sum_up_waves(rows->upto_x[i], rows->place_x[i], n);
}

INLINE void add_run(int64_t *sums, const lob_supervoxel_rows *rows, run of)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    const bool lsc = rule->method == LOB_LSC;
    const int64_t n = of.end - of.at, ends = 2 * (int64_t)rows->from + of.at + of.end - 1;
    sums[0] += n;
    sums[1] += ends * n / 2;
    sums[2] += n * (rows->y + of.r);
    sums[3] += n * rows->z;
    sums += 4;
    for (int i = 0; i < 2 && lsc; i++) {
        sums[i] += rows->upto_x[i][of.end] - rows->upto_x[i][of.at];
        sums[2 + i] += n * (int64_t)rows->place_y[i][of.r];
        sums[4 + i] += n * (int64_t)rows->place_z[i][0];
    }
    if (lsc) sums += 6;
    for (int p = 0; p < (lsc ? 2 : 1) * rule->channels; p++)
        sums[p] += rows->upto[p][of.end] - rows->upto[p][of.at];
}

/* slico: the largest squared contrast of a run to its cluster. */
INLINE void widen_contrast(float *largest, const lob_supervoxel_rows *rows, const float *centre,
                           run of)
{
    const int channels = rows->scene->plan->rule.channels;
    const float *level = rows->level + of.r * STRETCH;
    for (int32_t i = of.at; i < of.end; i++) {
        float contrast = 0;
        for (int c = 0; c < channels; c++)
            contrast = lob_slico_add(contrast, level[c * PLANE + i], centre[3 + c]);
        if (contrast > *largest) *largest = contrast;
    }
}

static int64_t cluster_of(int32_t id, const lob_cell_block *block, const lob_supervoxels_rule *rule)
{
    const int64_t cx = id % rule->cells[0], row = id / rule->cells[0];
    const int64_t cy = block->y + row % block->ny, cz = block->z + row / block->ny;
    return (cz * rule->cells[1] + cy) * rule->cells[0] + cx;
}

INLINE void add_stretch(lob_supervoxel_rows *rows, int r, const lob_cluster_share *share,
                        bool contrasts)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    const int32_t *is_data = rows->scene->labels + place_of(rows, r);
    const int32_t *ids = rows->id + r * STRETCH;
    const int sums = lob_cluster_sums(rule), floats = lob_cluster_floats(rule);
    const int32_t n = rows->count;
    sum_up(rows, r);
    for (int32_t at = 0, end; at < n; at = end) {
        const int32_t id = ids[at];
        end = at + 1;
        if (!is_data[at]) continue;
        while (end < n && ids[end] == id && is_data[end]) end++;
        add_run(share->sums + (int64_t)id * sums, rows, (run){r, at, end});
        if (contrasts)
            widen_contrast(&share->largest[id], rows,
                           rows->scene->centres + cluster_of(id, &share->block, rule) * floats,
                           (run){r, at, end});
    }
}

/* ---- rows ---- */

/* The next stretch of the rows, from their first data voxel on to their last; false: there is none.
 */
INLINE bool next_stretch(lob_supervoxel_rows *rows)
{
    const int32_t nx = rows->scene->plan->rule.side[0];
    for (rows->from += rows->count, rows->count = 0; rows->from < nx; rows->from += STRETCH) {
        const int32_t n = nx - rows->from < STRETCH ? nx - rows->from : STRETCH;
        int32_t low = n, high = 0;
        for (int32_t r = 0; r < rows->ny; r++) {
            const int32_t *is_data = rows->scene->labels + place_of(rows, r);
            for (int32_t i = 0; i < low; i++)
                if (is_data[i]) low = i;
            for (int32_t i = n; i > high; i--)
                if (is_data[i - 1]) high = i;
        }
        if (low == n) continue;
        rows->from += low;
        rows->count = high - low;
        return true;
    }
    return false;
}

static void open_rows(lob_supervoxel_rows *rows, int32_t y, int32_t ny, int32_t z)
{
    rows->y = y;
    rows->ny = ny;
    rows->z = z;
    rows->from = rows->count = 0;
    load_axis(rows->place_y[0], rows->place_y[1], ROWS, ny, y, 1, rows->scene->plan);
    load_axis(rows->place_z[0], rows->place_z[1], 1, 1, z, 2, rows->scene->plan);
}

void lob_supervoxel_rows_start(lob_supervoxel_rows *rows, const lob_cluster_share *share, int32_t y,
                               int32_t ny, int32_t z)
{
    open_rows(rows, y, ny, z);
    while (next_stretch(rows)) {
        load(rows, &share->block, rows->scene->plan->rule.method);
        for (int32_t r = 0; r < ny; r++) add_stretch(rows, r, share, false);
    }
}

INLINE void add_rows(lob_supervoxel_rows *rows, const lob_cluster_share *share)
{
    while (next_stretch(rows)) {
        find_nearest(rows, &share->block);
        for (int32_t r = 0; r < rows->ny; r++)
            add_stretch(rows, r, share, rows->scene->plan->rule.method == LOB_SLICO);
    }
}

INLINE void label_rows(lob_supervoxel_rows *rows, int32_t *labels)
{
    const lob_supervoxels_rule *rule = &rows->scene->plan->rule;
    const lob_cell_block all = {0, rule->cells[1], 0, rule->cells[2]};
    while (next_stretch(rows)) {
        find_nearest(rows, &all);
        for (int32_t r = 0; r < rows->ny; r++) {
            const int32_t *id = rows->id + r * STRETCH;
            int32_t *out = labels + place_of(rows, r);
            for (int32_t i = 0; i < rows->count; i++) out[i] = out[i] ? id[i] + 1 : 0;
        }
    }
}

/* Where the compiler may not count on the instruction, fmaf is a slow call: a copy of all of the
 * above is made for machines that have it. Two results are never different. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__FMA__)
#define FOR_FMA __attribute__((target("avx2,fma")))

static bool has_fma(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define FOR_FMA

static bool has_fma(void)
{
    return true;
}
#endif

FOR_FMA static void add_rows_fma(lob_supervoxel_rows *rows, const lob_cluster_share *share)
{
    add_rows(rows, share);
}

FOR_FMA static void label_rows_fma(lob_supervoxel_rows *rows, int32_t *labels)
{
    label_rows(rows, labels);
}

void lob_supervoxel_rows_add(lob_supervoxel_rows *rows, const lob_cluster_share *share, int32_t y,
                             int32_t ny, int32_t z)
{
    open_rows(rows, y, ny, z);
    if (has_fma())
        add_rows_fma(rows, share);
    else
        add_rows(rows, share);
}

void lob_supervoxel_rows_label(lob_supervoxel_rows *rows, int32_t *labels, int32_t y, int32_t ny,
                               int32_t z)
{
    open_rows(rows, y, ny, z);
    if (has_fma())
        label_rows_fma(rows, labels);
    else
        label_rows(rows, labels);
}
