/*
 * The nearest clusters of a few rows on the CPU. Clusters are taken in rising order, and each is
 * compared with all voxels of the rows in its box before the next one: of equal distances the
 * first, which is the lowest cluster, stays.
 */
#include "kernels/supervoxels/assign/assign_rows.h"

#include "kernels/simd_clones.h"
#include "kernels/supervoxels/assign/assign_levels.h"

#include <stdlib.h>

/*
 * Rows are worked on in segments of at most SEGMENT voxels, and these in groups of LANES voxels. A
 * cluster's box may use a part of a group, but compilers make vector code of whole groups. The part
 * of the distance along x is computed once for all rows.
 */
enum { SEGMENT = 256, LANES = 8, ROWS = LOB_ASSIGN_ROWS, CHANNEL = ROWS * SEGMENT };

/* For what is compiled twice, with and without fused multiply-add: there, fmaf is a slow call. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

struct lob_assign_rows {
    const lob_assign_params *params;
    int32_t y, ny, z;    /* which rows */
    int32_t from, count; /* which segment of them */

    uint16_t *levels; /* channels times CHANNEL, as in feature */

    /* See load_axis, load_cells and sum_up. */
    float coordinate_x[2][SEGMENT], coordinate_y[2][ROWS], coordinate_z[2][1];
    int32_t cell[SEGMENT];
    int32_t prefix_x[2][SEGMENT + 1], prefix[2 * LOB_SUPERVOXELS_MAX_CHANNELS][SEGMENT + 1];

    float best[CHANNEL]; /* least distance or score, of voxel i of row r at [r * SEGMENT + i] */
    int32_t id[CHANNEL]; /* and its cluster: the cell's number in the block */
    float feature[];     /* of each voxel, as `best` per channel: slic: steps; slico: level *
                            rule->level; lsc: two per channel, cosine and sine */
};

static int64_t floats_of(const lob_supervoxels_rule *rule)
{
    return (rule->method == LOB_LSC ? 2 : 1) * rule->channels * (int64_t)CHANNEL;
}

int64_t lob_assign_rows_bytes(const lob_supervoxels_rule *rule)
{
    return (int64_t)(sizeof(lob_assign_rows) + floats_of(rule) * sizeof(float) +
                     rule->channels * CHANNEL * sizeof(uint16_t));
}

lob_assign_rows *lob_assign_rows_make(const lob_assign_params *params)
{
    const lob_supervoxels_rule *rule = &params->plan->rule;
    lob_assign_rows *rows = calloc(1, (size_t)lob_assign_rows_bytes(rule));
    if (!rows) return NULL;
    rows->params = params;
    rows->levels = (uint16_t *)(rows->feature + floats_of(rule));
    return rows;
}

int32_t lob_assign_max_rows(const lob_supervoxels_rule *rule)
{
    return rule->cell_side[1] >= ROWS ? ROWS : (int32_t)rule->cell_side[1];
}

/* ---- what a segment needs before any cluster ---- */

static const lob_cos_sin *cos_sin_of_axis(const lob_supervoxels_plan *plan, int axis)
{
    const lob_cos_sin *table = plan->axis_cos_sin;
    for (int a = 0; a < axis; a++) table += plan->rule.side[a];
    return table;
}

static lob_cos_sin cos_sin_of_level(const lob_supervoxels_plan *plan, int channel, uint16_t level)
{
    const int table = lob_lsc_table(&plan->rule, channel);
    return plan->level_cos_sin[table * LOB_COS_SIN_ENTRIES + (level >> plan->rule.shift)];
}

/* The index of row r of the segment in image and labels. */
static int64_t index_of(const lob_assign_rows *rows, int r)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    const int64_t z = rows->z - rows->params->z;
    return (z * rule->side[1] + rows->y + r) * rule->side[0] + rows->from;
}

static const uint16_t *levels_at(const lob_assign_rows *rows, int r, int channel)
{
    return rows->levels + channel * CHANNEL + r * SEGMENT;
}

/* Coordinates from `from` on. lsc: the cosines and sines of the first n. Others fill the capacity,
 * since whole groups of voxels are computed. */
INLINE void load_axis(float *coordinate, float *sine, int capacity, int32_t n, int32_t from,
                      int axis, const lob_supervoxels_plan *plan)
{
    if (plan->rule.method != LOB_LSC) {
        for (int32_t i = 0; i < capacity; i++) coordinate[i] = (float)(from + i);
        return;
    }
    const lob_cos_sin *table = cos_sin_of_axis(plan, axis) + from;
    for (int32_t i = 0; i < n; i++) {
        coordinate[i] = table[i].cosine;
        sine[i] = table[i].sine;
    }
}

/* The cell of each x. */
static void load_cells(lob_assign_rows *rows)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    int32_t cell = lob_cell(rows->from, rule->side[0], rule->cells[0]);
    for (int32_t i = 0; i < rows->count; cell++) {
        int32_t next = lob_cell_first(cell + 1, rule->side[0], rule->cells[0]) - rows->from;
        if (next > rows->count) next = rows->count;
        while (i < next) rows->cell[i++] = cell;
    }
}

INLINE void load_steps(float *level, const uint16_t *levels, int32_t n,
                       const lob_supervoxels_rule *rule)
{
#pragma omp simd
    for (int32_t i = 0; i < n; i++) level[i] = (float)lob_slic_step(levels[i], rule);
}

INLINE void load_scaled(float *level, const uint16_t *levels, int32_t n, float scale)
{
#pragma omp simd
    for (int32_t i = 0; i < n; i++) level[i] = (float)levels[i] * scale;
}

/* The levels of row r, channel after channel, and their features. */
INLINE void load_levels(lob_assign_rows *rows, int r, lob_supervoxels_method method)
{
    const lob_assign_params *params = rows->params;
    const lob_supervoxels_plan *plan = params->plan;
    const int32_t n = rows->count;
    const int64_t at = index_of(rows, r);
    float *level = rows->feature + r * SEGMENT;
    lob_assign_levels(rows->levels + r * SEGMENT, CHANNEL, plan, params->image, params->labels + at,
                      at, n);
    for (int c = 0; c < plan->rule.channels; c++, level += CHANNEL) {
        const uint16_t *levels = levels_at(rows, r, c);
        float *cosine = level + c * CHANNEL, *sine = cosine + CHANNEL;
        if (method == LOB_SLIC)
            load_steps(level, levels, n, &plan->rule);
        else if (method == LOB_SLICO)
            load_scaled(level, levels, n, plan->rule.level);
        else
            for (int32_t i = 0; i < n; i++) {
                const lob_cos_sin entry = cos_sin_of_level(plan, c, levels[i]);
                cosine[i] = entry.cosine;
                sine[i] = entry.sine;
            }
    }
}

/* Every voxel starts with the cluster of its own cell, at an infinite distance. */
INLINE void load_own(lob_assign_rows *rows, int r, const lob_cell_block *block)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    const int32_t cy = lob_cell(rows->y + r, rule->side[1], rule->cells[1]) - block->y;
    const int32_t cz = lob_cell(rows->z, rule->side[2], rule->cells[2]) - block->z;
    const int32_t first = (cz * block->ny + cy) * rule->cells[0], n = rows->count;
    int32_t *id = rows->id + r * SEGMENT;
    float *best = rows->best + r * SEGMENT;
#pragma omp simd
    for (int32_t i = 0; i < n; i++) {
        id[i] = first + rows->cell[i];
        best[i] = INFINITY;
    }
}

INLINE void load(lob_assign_rows *rows, const lob_cell_block *block, lob_supervoxels_method method)
{
    load_axis(rows->coordinate_x[0], rows->coordinate_x[1], SEGMENT, rows->count, rows->from, 0,
              rows->params->plan);
    load_cells(rows);
    for (int32_t r = 0; r < rows->ny; r++) {
        load_levels(rows, r, method);
        load_own(rows, r, block);
    }
}

/* ---- a cluster and the voxels of its box ---- */

typedef struct {
    const float *centre;
    int32_t id, low, high; /* voxels of the segment in its box along x */
    float across[ROWS];    /* parts along y and z; INFINITY where a row is not in the box */
    float factor[LOB_SUPERVOXELS_MAX_CHANNELS]; /* slic: its levels times -2, */
    float square;                               /* and the sum of their squares */
} candidate;

/* first ? a : b by their bits: of that, compilers make a branch or a masked store. */
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
INLINE void find_along(float *along, const float *coordinate, const float *sine, int n, int axis,
                       const candidate *k, const lob_supervoxels_rule *rule,
                       lob_supervoxels_method method)
{
    const float position = rule->position_weight[axis], *factors = &k->centre[2 * axis];
    for (int i = 0; i < n; i++)
        along[i] = method == LOB_SLIC
                       ? (float)lob_slic_along(coordinate[i], position, k->centre[axis])
                   : method == LOB_SLICO ? lob_slico_along(coordinate[i], position, k->centre[axis])
                                         : lob_lsc_add(0.0f, coordinate[i], sine[i], factors);
}

/* From the parts along the axes to the distance or score of LANES voxels. */
INLINE void add_channels(float *sum, const float *level, const candidate *k, int channels,
                         lob_supervoxels_method method)
{
    float contrast[LANES] = {0};
    for (int c = 0; c < channels; c++, level += CHANNEL) {
        if (method == LOB_SLIC) {
            for (int i = 0; i < LANES; i++) sum[i] = fmaf(level[i], k->factor[c], sum[i]);
        } else if (method == LOB_SLICO) {
            for (int i = 0; i < LANES; i++)
                contrast[i] = lob_slico_add(contrast[i], level[i], k->centre[3 + c]);
        } else {
            const float *cosine = level + c * CHANNEL, *sine = cosine + CHANNEL;
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

/* All of a cluster that does not depend on x. */
INLINE void make_candidate(candidate *k, const lob_assign_rows *rows, const int32_t *box,
                           int channels, lob_supervoxels_method method)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    float z;
    find_along(&z, rows->coordinate_z[0], rows->coordinate_z[1], 1, 2, k, rule, method);
    find_along(k->across, rows->coordinate_y[0], rows->coordinate_y[1], ROWS, 1, k, rule, method);
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
 * Compare a cluster with all voxels of the rows. `method`, and `channels` where it pays, are
 * constants.
 *
 * slic takes (s - m)^2 - s^2, since s^2 is the same for all clusters. These integers lie between
 * -LOB_SLIC_LIMIT and LOB_SLIC_LIMIT, and floats hold them exactly.
 */
INLINE void compare_cluster(lob_assign_rows *rows, const candidate *k, int channels,
                            lob_supervoxels_method method)
{
    const uint32_t width = (uint32_t)(k->high - k->low);
    for (int32_t at = k->low / LANES * LANES; at <= k->high; at += LANES) {
        float along[LANES];
        find_along(along, rows->coordinate_x[0] + at, rows->coordinate_x[1] + at, LANES, 0, k,
                   &rows->params->plan->rule, method);
        if (method == LOB_SLIC)
            for (int i = 0; i < LANES; i++) along[i] += k->square;
        for (int32_t i = 0; i < LANES; i++)
            along[i] = (uint32_t)(at + i - k->low) <= width ? along[i] : INFINITY;
        for (int32_t r = 0, i = at; r < rows->ny; r++, i += SEGMENT) {
            float distance[LANES];
            for (int l = 0; l < LANES; l++) distance[l] = k->across[r] + along[l];
            add_channels(distance, rows->feature + i, k, channels, method);
            keep_nearer(rows->best + i, rows->id + i, distance, k->id, method);
        }
    }
}

/* ---- all clusters of a segment ---- */

/* Clusters whose boxes hold a voxel lie in its own cell and the neighbouring ones. */
static void cells_beside(int32_t beside[2], int32_t low, int32_t high, int axis,
                         const lob_supervoxels_rule *rule)
{
    const int32_t side = rule->side[axis], cells = rule->cells[axis];
    const int32_t first = lob_cell(low, side, cells), last = lob_cell(high, side, cells);
    beside[0] = first > 0 ? first - 1 : 0;
    beside[1] = last + 1 < cells ? last + 1 : last;
}

INLINE void compare_clusters(lob_assign_rows *rows, const lob_cell_block *block, int channels,
                             lob_supervoxels_method method)
{
    const lob_assign_params *params = rows->params;
    const lob_supervoxels_rule *rule = &params->plan->rule;
    const int floats = lob_cluster_floats(rule);
    const int32_t from = rows->from, last = from + rows->count - 1;
    const int32_t low = rows->y, high = low + rows->ny - 1, z = rows->z;
    int32_t cx[2], cy[2], cz[2];
    cells_beside(cx, from, last, 0, rule);
    cells_beside(cy, low, high, 1, rule);
    cells_beside(cz, z, z, 2, rule);
    for (int32_t k = cz[0]; k <= cz[1]; k++)
        for (int32_t j = cy[0]; j <= cy[1]; j++) {
            const int64_t first =
                ((int64_t)(k - params->layer) * rule->cells[1] + j) * rule->cells[0];
            const int32_t id = ((k - block->z) * block->ny + (j - block->y)) * rule->cells[0];
            for (int32_t i = cx[0]; i <= cx[1]; i++) {
                const int32_t *box = params->boxes + (first + i) * 6;
                if (high < box[1] || low > box[4] || z < box[2] || z > box[5]) continue;
                candidate one;
                one.centre = params->centres + (first + i) * floats;
                one.id = id + i;
                one.low = (box[0] > from ? box[0] : from) - from;
                one.high = (box[3] < last ? box[3] : last) - from;
                if (one.low > one.high) continue;
                make_candidate(&one, rows, box, channels, method);
                compare_cluster(rows, &one, channels, method);
            }
        }
}

INLINE void find_nearest_by(lob_assign_rows *rows, const lob_cell_block *block,
                            lob_supervoxels_method method)
{
    const int channels = rows->params->plan->rule.channels;
    load(rows, block, method);
    if (channels == 1)
        compare_clusters(rows, block, 1, method);
    else if (channels == 3)
        compare_clusters(rows, block, 3, method);
    else
        compare_clusters(rows, block, channels, method);
}

INLINE void find_nearest(lob_assign_rows *rows, const lob_cell_block *block)
{
    switch (rows->params->plan->rule.method) {
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

/* The voxels at..end-1 of row r of the segment, all of one cluster. */
typedef struct {
    int32_t r, at, end;
} run;

INLINE void sum_up_levels(int32_t *prefix, const uint16_t *level, int32_t n)
{
    for (int32_t i = 0; i < n; i++) prefix[i + 1] = prefix[i] + level[i];
}

INLINE void sum_up_cos_sin(int32_t *prefix, const float *feature, int32_t n)
{
    for (int32_t i = 0; i < n; i++) prefix[i + 1] = prefix[i] + (int32_t)feature[i];
}

/* Prefix sums of a row: the sum over a run is the difference of two. */
INLINE void sum_up(lob_assign_rows *rows, int r)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    const int32_t n = rows->count;
    if (rule->method != LOB_LSC) {
        for (int c = 0; c < rule->channels; c++)
            sum_up_levels(rows->prefix[c], levels_at(rows, r, c), n);
        return;
    }
    for (int p = 0; p < 2 * rule->channels; p++)
        sum_up_cos_sin(rows->prefix[p], rows->feature + p * CHANNEL + r * SEGMENT, n);
    for (int i = 0; i < 2 && r == 0; i++)
        sum_up_cos_sin(rows->prefix_x[i], rows->coordinate_x[i], n);
}

INLINE void add_run(int64_t *sums, const lob_assign_rows *rows, run of)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    const bool lsc = rule->method == LOB_LSC;
    const int64_t n = of.end - of.at, ends = 2 * (int64_t)rows->from + of.at + of.end - 1;
    sums[0] += n;
    sums[1] += ends * n / 2;
    sums[2] += n * (rows->y + of.r);
    sums[3] += n * rows->z;
    sums += 4;
    for (int i = 0; i < 2 && lsc; i++) {
        sums[i] += rows->prefix_x[i][of.end] - rows->prefix_x[i][of.at];
        sums[2 + i] += n * (int64_t)rows->coordinate_y[i][of.r];
        sums[4 + i] += n * (int64_t)rows->coordinate_z[i][0];
    }
    if (lsc) sums += 6;
    for (int p = 0; p < (lsc ? 2 : 1) * rule->channels; p++)
        sums[p] += rows->prefix[p][of.end] - rows->prefix[p][of.at];
}

/* slico: the largest squared contrast of a run to its cluster. */
INLINE void raise_contrast(float *largest, const lob_assign_rows *rows, const float *centre, run of)
{
    const int channels = rows->params->plan->rule.channels;
    const float *level = rows->feature + of.r * SEGMENT;
    for (int32_t i = of.at; i < of.end; i++) {
        float contrast = 0;
        for (int c = 0; c < channels; c++)
            contrast = lob_slico_add(contrast, level[c * CHANNEL + i], centre[3 + c]);
        if (contrast > *largest) *largest = contrast;
    }
}

/* Where the centre of a cell of the block lies. */
static const float *centre_of(const lob_assign_params *params, int32_t id,
                              const lob_cell_block *block)
{
    const lob_supervoxels_rule *rule = &params->plan->rule;
    const int64_t cx = id % rule->cells[0], row = id / rule->cells[0];
    const int64_t cy = block->y + row % block->ny, cz = block->z + row / block->ny - params->layer;
    return params->centres +
           ((cz * rule->cells[1] + cy) * rule->cells[0] + cx) * lob_cluster_floats(rule);
}

INLINE void add_segment(lob_assign_rows *rows, int r, const lob_block_sums *to, bool contrasts)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    const int32_t *is_data = rows->params->labels + index_of(rows, r);
    const int32_t *ids = rows->id + r * SEGMENT;
    const int sums = lob_cluster_sums(rule);
    const int32_t n = rows->count;
    sum_up(rows, r);
    for (int32_t at = 0, end; at < n; at = end) {
        const int32_t id = ids[at];
        end = at + 1;
        if (!is_data[at]) continue;
        while (end < n && ids[end] == id && is_data[end]) end++;
        add_run(to->sums + (int64_t)id * sums, rows, (run){r, at, end});
        if (contrasts)
            raise_contrast(&to->largest[id], rows, centre_of(rows->params, id, &to->block),
                           (run){r, at, end});
    }
}

/* ---- rows ---- */

/* The next segment of the rows, from their first data voxel in it to their last. Returns whether
 * there is one. */
INLINE bool next_segment(lob_assign_rows *rows)
{
    const int32_t nx = rows->params->plan->rule.side[0];
    for (rows->from += rows->count, rows->count = 0; rows->from < nx; rows->from += SEGMENT) {
        const int32_t n = nx - rows->from < SEGMENT ? nx - rows->from : SEGMENT;
        int32_t low = n, high = 0;
        for (int32_t r = 0; r < rows->ny; r++) {
            const int32_t *is_data = rows->params->labels + index_of(rows, r);
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

LOB_SIMD_CLONES(void, pass_over, (rows, what, to), lob_assign_rows *rows, lob_assign_pass what,
                const lob_block_sums *to)
{
    const lob_supervoxels_rule *rule = &rows->params->plan->rule;
    const lob_cell_block all = {0, rule->cells[1], 0, rule->cells[2]};
    while (next_segment(rows)) {
        if (what == LOB_ASSIGN_START)
            load(rows, &to->block, rule->method);
        else
            find_nearest(rows, what == LOB_ASSIGN_ADD ? &to->block : &all);
        for (int32_t r = 0; r < rows->ny; r++) {
            const int32_t *id = rows->id + r * SEGMENT;
            int32_t *out = rows->params->labels + index_of(rows, r);
            if (what != LOB_ASSIGN_LABEL)
                add_segment(rows, r, to, what == LOB_ASSIGN_ADD && rule->method == LOB_SLICO);
            else
                for (int32_t i = 0; i < rows->count; i++) out[i] = out[i] ? id[i] + 1 : 0;
        }
    }
}

void lob_assign_rows_pass(lob_assign_rows *rows, lob_assign_pass what, const lob_block_sums *to,
                          int32_t y, int32_t ny, int32_t z)
{
    rows->y = y;
    rows->ny = ny;
    rows->z = z;
    rows->from = rows->count = 0;
    load_axis(rows->coordinate_y[0], rows->coordinate_y[1], ROWS, ny, y, 1, rows->params->plan);
    load_axis(rows->coordinate_z[0], rows->coordinate_z[1], 1, 1, z, 2, rows->params->plan);
    pass_over(rows, what, to);
}
