/*
 * Rows of supervoxels. Each cluster whose box meets the row is held against all voxels of its
 * interval before the next, in rising order, so that of equal distances the lowest cluster stays.
 */
#include "kernels/supervoxels/supervoxels_rows.h"

#include <stdlib.h>

/*
 * A row is worked on in stretches of at most STRETCH voxels, and those in blocks of LANES, of which
 * a cluster's interval may use a part: whole blocks are what compilers turn into vector code.
 */
enum { STRETCH = 1024, LANES = 8 };

/* What is compiled twice, for machines with and without fused multiply-add, as told below. */
#ifdef __GNUC__
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

struct lob_supervoxel_row {
    const lob_supervoxel_scene *scene;
    int32_t y, z;        /* which row */
    int32_t from, count; /* which stretch of it */
    float across[2];     /* slic: y and z times rule->position */
    lob_wave wave[2];    /* lsc: of y and z */
    float best[STRETCH]; /* distance or score so far */
    int32_t id[STRETCH]; /* and whose it is: a cell's number in a block */
    float x[2][STRETCH]; /* slic: [0] x times rule->position; lsc: cosine and sine */
    float weight[STRETCH];
    float level[]; /* slic: channels rows of level * rule->level; lsc: 2 * channels, of waves */
};

static size_t row_bytes(const lob_supervoxel_rule *rule)
{
    const int rows = rule->method == LOB_LSC ? 2 * rule->channels : rule->channels;
    return sizeof(lob_supervoxel_row) + (size_t)rows * STRETCH * sizeof(float);
}

int64_t lob_supervoxel_row_bytes(const lob_supervoxel_rule *rule)
{
    return (int64_t)row_bytes(rule);
}

lob_supervoxel_row *lob_supervoxel_row_make(const lob_supervoxel_scene *scene)
{
    lob_supervoxel_row *row = calloc(1, row_bytes(&scene->plan->rule));
    if (row) row->scene = scene;
    return row;
}

/* ---- what is known of a stretch before any cluster ---- */

static const lob_wave *wave_of_axis(const lob_supervoxel_plan *plan, int axis)
{
    const lob_wave *wave = plan->axis_wave;
    for (int a = 0; a < axis; a++) wave += plan->rule.side[a];
    return wave;
}

static lob_wave wave_of_level(const lob_supervoxel_plan *plan, int channel, uint16_t level)
{
    const int table = lob_supervoxel_wave(&plan->rule, channel);
    return plan->level_wave[table * LOB_WAVE_ENTRIES + (level >> plan->rule.shift)];
}

static const uint16_t *plane_at(const lob_supervoxel_row *row, int channel)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    const int64_t nx = rule->side[0], ny = rule->side[1], nz = rule->side[2];
    return row->scene->planes + ((channel * nz + row->z) * ny + row->y) * nx + row->from;
}

INLINE void load_slic(lob_supervoxel_row *row)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    row->across[0] = (float)row->y * rule->position[1];
    row->across[1] = (float)row->z * rule->position[2];
    for (int32_t i = 0; i < row->count; i++)
        row->x[0][i] = (float)(row->from + i) * rule->position[0];
    for (int c = 0; c < rule->channels; c++) {
        const uint16_t *plane = plane_at(row, c);
        float *level = row->level + c * STRETCH;
        for (int32_t i = 0; i < row->count; i++) level[i] = (float)plane[i] * rule->level;
    }
}

INLINE void load_lsc(lob_supervoxel_row *row)
{
    const lob_supervoxel_plan *plan = row->scene->plan;
    const float *weights = row->scene->weights;
    const lob_wave *x = wave_of_axis(plan, 0) + row->from;
    row->wave[0] = wave_of_axis(plan, 1)[row->y];
    row->wave[1] = wave_of_axis(plan, 2)[row->z];
    const float across = lob_lsc_row(row->wave[0], row->wave[1], weights);
    for (int32_t i = 0; i < row->count; i++) {
        row->x[0][i] = x[i].cosine;
        row->x[1][i] = x[i].sine;
        row->weight[i] = lob_lsc_add(across, row->x[0][i], row->x[1][i], weights);
    }
    for (int c = 0; c < plan->rule.channels; c++) {
        const uint16_t *plane = plane_at(row, c);
        float *cosine = row->level + 2 * c * STRETCH, *sine = cosine + STRETCH;
        for (int32_t i = 0; i < row->count; i++) {
            const lob_wave wave = wave_of_level(plan, c, plane[i]);
            cosine[i] = wave.cosine;
            sine[i] = wave.sine;
            row->weight[i] = lob_lsc_add(row->weight[i], cosine[i], sine[i], &weights[6 + 2 * c]);
        }
    }
    const float least = plan->rule.least_weight;
    for (int32_t i = 0; i < row->count; i++)
        row->weight[i] = row->weight[i] > least ? row->weight[i] : least;
}

/* Every voxel starts with the cluster of its own cell, at a distance that any other beats. */
INLINE void load_own(lob_supervoxel_row *row, const lob_cell_block *block)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    const int32_t cy = lob_cell(row->y, rule->side[1], rule->cells[1]) - block->y;
    const int32_t cz = lob_cell(row->z, rule->side[2], rule->cells[2]) - block->z;
    const int32_t first = (cz * block->ny + cy) * rule->cells[0];
    int32_t cell = lob_cell(row->from, rule->side[0], rule->cells[0]);
    int32_t next = lob_cell_first(cell + 1, rule->side[0], rule->cells[0]) - row->from;
    for (int32_t i = 0; i < row->count; i++) {
        if (i == next) {
            cell++;
            next = lob_cell_first(cell + 1, rule->side[0], rule->cells[0]) - row->from;
        }
        row->id[i] = first + cell;
        row->best[i] = INFINITY;
    }
}

/* ---- one cluster against its interval ---- */

/* Keep what is nearer among LANES voxels from `at` on, of which low..high count. */
INLINE void keep_nearer(lob_supervoxel_row *row, const float *distance, int32_t id, int32_t at,
                        int32_t low, int32_t high)
{
    float *best = row->best + at;
    int32_t *whose = row->id + at;
    for (int32_t i = 0; i < LANES; i++) {
        const bool nearer = (at + i >= low) & (at + i <= high) & (distance[i] < best[i]);
        best[i] = nearer ? distance[i] : best[i];
        whose[i] = nearer ? id : whose[i];
    }
}

INLINE float ordered(float distance)
{
    const uint32_t bits = lob_slic_order(distance);
    memcpy(&distance, &bits, sizeof distance);
    return distance;
}

/* Hold a cluster against voxels low..high of the stretch; `channels` is a constant where it pays.
 */
INLINE void slic_interval(lob_supervoxel_row *row, const float *centre, int channels, bool adaptive,
                          int32_t id, int32_t low, int32_t high)
{
    const float across = lob_slic_row(row->across[0], row->across[1], centre);
    for (int32_t at = low / LANES * LANES; at <= high; at += LANES) {
        float distance[LANES], contrast[LANES] = {0};
        const float *x = row->x[0] + at;
        for (int i = 0; i < LANES; i++) distance[i] = lob_slic_along(x[i], across, centre);
        for (int c = 0; c < channels; c++) {
            const float *level = row->level + c * STRETCH + at, mean = centre[3 + c];
            float *sum = adaptive ? contrast : distance;
            for (int i = 0; i < LANES; i++) sum[i] = lob_slic_add(sum[i], level[i], mean);
        }
        if (adaptive)
            for (int i = 0; i < LANES; i++)
                distance[i] = fmaf(contrast[i], centre[3 + channels], distance[i]);
        for (int i = 0; i < LANES; i++) distance[i] = ordered(distance[i]);
        keep_nearer(row, distance, id, at, low, high);
    }
}

INLINE void lsc_interval(lob_supervoxel_row *row, const float *centre, int channels, int32_t id,
                         int32_t low, int32_t high)
{
    const float across = lob_lsc_row(row->wave[0], row->wave[1], centre);
    for (int32_t at = low / LANES * LANES; at <= high; at += LANES) {
        float score[LANES];
        const float *cosine = row->x[0] + at, *sine = row->x[1] + at, *weight = row->weight + at;
        for (int i = 0; i < LANES; i++) score[i] = lob_lsc_add(across, cosine[i], sine[i], centre);
        for (int c = 0; c < channels; c++) {
            cosine = row->level + 2 * c * STRETCH + at;
            sine = cosine + STRETCH;
            for (int i = 0; i < LANES; i++)
                score[i] = lob_lsc_add(score[i], cosine[i], sine[i], &centre[6 + 2 * c]);
        }
        for (int i = 0; i < LANES; i++)
            score[i] = fmaf(weight[i], centre[6 + 2 * channels], score[i]);
        keep_nearer(row, score, id, at, low, high);
    }
}

/* ---- all clusters of a stretch ---- */

INLINE void interval(lob_supervoxel_row *row, const float *centre, int32_t id, int32_t low,
                     int32_t high)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    const int channels = rule->channels;
    switch (rule->method) {
    case LOB_SLIC:
        if (channels == 1)
            slic_interval(row, centre, 1, false, id, low, high);
        else if (channels == 3)
            slic_interval(row, centre, 3, false, id, low, high);
        else
            slic_interval(row, centre, channels, false, id, low, high);
        break;
    case LOB_SLICO:
        if (channels == 1)
            slic_interval(row, centre, 1, true, id, low, high);
        else if (channels == 3)
            slic_interval(row, centre, 3, true, id, low, high);
        else
            slic_interval(row, centre, channels, true, id, low, high);
        break;
    case LOB_LSC:
        if (channels == 1)
            lsc_interval(row, centre, 1, id, low, high);
        else if (channels == 3)
            lsc_interval(row, centre, 3, id, low, high);
        else
            lsc_interval(row, centre, channels, id, low, high);
        break;
    }
}

/* The clusters that may hold a voxel lie in cells at most one beside its own. */
static void cells_beside(int32_t beside[2], int32_t low, int32_t high, int axis,
                         const lob_supervoxel_rule *rule)
{
    const int32_t side = rule->side[axis], cells = rule->cells[axis];
    const int32_t first = lob_cell(low, side, cells), last = lob_cell(high, side, cells);
    beside[0] = first > 0 ? first - 1 : 0;
    beside[1] = last + 1 < cells ? last + 1 : last;
}

INLINE void all_clusters(lob_supervoxel_row *row, const lob_cell_block *block)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    const int floats = lob_cluster_floats(rule);
    const int32_t from = row->from, last = from + row->count - 1, y = row->y, z = row->z;
    int32_t cx[2], cy[2], cz[2];
    cells_beside(cx, from, last, 0, rule);
    cells_beside(cy, y, y, 1, rule);
    cells_beside(cz, z, z, 2, rule);
    for (int32_t k = cz[0]; k <= cz[1]; k++)
        for (int32_t j = cy[0]; j <= cy[1]; j++) {
            const int64_t first = ((int64_t)k * rule->cells[1] + j) * rule->cells[0];
            const int32_t id = ((k - block->z) * block->ny + (j - block->y)) * rule->cells[0];
            for (int32_t i = cx[0]; i <= cx[1]; i++) {
                const int32_t *box = row->scene->boxes + (first + i) * 6;
                if (y < box[1] || y > box[4] || z < box[2] || z > box[5]) continue;
                const int32_t low = box[0] > from ? box[0] : from;
                const int32_t high = box[3] < last ? box[3] : last;
                if (low > high) continue;
                interval(row, row->scene->centres + (first + i) * floats, id + i, low - from,
                         high - from);
            }
        }
}

INLINE void find_nearest(lob_supervoxel_row *row, const lob_cell_block *block)
{
    if (row->scene->plan->rule.method == LOB_LSC)
        load_lsc(row);
    else
        load_slic(row);
    load_own(row, block);
    all_clusters(row, block);
}

/* ---- sums ---- */

INLINE void add_levels(int64_t *sums, const lob_supervoxel_row *row, int32_t at, int32_t end)
{
    const lob_supervoxel_plan *plan = row->scene->plan;
    for (int c = 0; c < plan->rule.channels; c++) {
        const uint16_t *plane = plane_at(row, c);
        int64_t sum = 0;
        for (int32_t i = at; i < end; i++) sum += plane[i];
        sums[c] += sum;
    }
}

INLINE void add_waves(int64_t *sums, const lob_supervoxel_row *row, int32_t at, int32_t end)
{
    const lob_supervoxel_plan *plan = row->scene->plan;
    const lob_wave *x = wave_of_axis(plan, 0) + row->from;
    const int64_t n = end - at;
    for (int32_t i = at; i < end; i++) {
        sums[0] += x[i].cosine;
        sums[1] += x[i].sine;
    }
    for (int a = 0; a < 2; a++) {
        sums[2 + 2 * a] += n * row->wave[a].cosine;
        sums[3 + 2 * a] += n * row->wave[a].sine;
    }
    for (int c = 0; c < plan->rule.channels; c++) {
        const uint16_t *plane = plane_at(row, c);
        for (int32_t i = at; i < end; i++) {
            const lob_wave wave = wave_of_level(plan, c, plane[i]);
            sums[6 + 2 * c] += wave.cosine;
            sums[7 + 2 * c] += wave.sine;
        }
    }
}

/* Add the voxels at..end-1 of the stretch, all of one cluster. */
INLINE void add_run(int64_t *sums, const lob_supervoxel_row *row, int32_t at, int32_t end)
{
    const int64_t n = end - at, first = row->from + at, last = row->from + end - 1;
    sums[0] += n;
    sums[1] += (first + last) * n / 2;
    sums[2] += n * row->y;
    sums[3] += n * row->z;
    if (row->scene->plan->rule.method == LOB_LSC)
        add_waves(sums + 4, row, at, end);
    else
        add_levels(sums + 4, row, at, end);
}

/* slico: the largest squared contrast of voxels at..end-1 to their cluster. */
INLINE void widen_contrast(float *largest, const lob_supervoxel_row *row, const float *centre,
                           int32_t at, int32_t end)
{
    const int channels = row->scene->plan->rule.channels;
    for (int32_t i = at; i < end; i++) {
        float contrast = 0;
        for (int c = 0; c < channels; c++)
            contrast = lob_slic_add(contrast, row->level[c * STRETCH + i], centre[3 + c]);
        if (contrast > *largest) *largest = contrast;
    }
}

static int64_t cluster_of(int32_t id, const lob_cell_block *block, const lob_supervoxel_rule *rule)
{
    const int64_t cx = id % rule->cells[0], row = id / rule->cells[0];
    const int64_t cy = block->y + row % block->ny, cz = block->z + row / block->ny;
    return (cz * rule->cells[1] + cy) * rule->cells[0] + cx;
}

static const int32_t *labels_at(const lob_supervoxel_row *row)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    return row->scene->labels + ((int64_t)row->z * rule->side[1] + row->y) * rule->side[0] +
           row->from;
}

INLINE void add_stretch(lob_supervoxel_row *row, const lob_cluster_share *share, bool contrasts)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    const int32_t *is_data = labels_at(row);
    const int sums = lob_cluster_sums(rule), floats = lob_cluster_floats(rule);
    for (int32_t at = 0, end; at < row->count; at = end) {
        const int32_t id = row->id[at];
        end = at + 1;
        if (!is_data[at]) continue;
        while (end < row->count && row->id[end] == id && is_data[end]) end++;
        add_run(share->sums + (int64_t)id * sums, row, at, end);
        if (contrasts)
            widen_contrast(&share->largest[id], row,
                           row->scene->centres + cluster_of(id, &share->block, rule) * floats, at,
                           end);
    }
}

/* The next stretch of the row, from its first data voxel on to its last; false: there is none. */
INLINE bool next_stretch(lob_supervoxel_row *row)
{
    const int32_t nx = row->scene->plan->rule.side[0];
    for (row->from += row->count, row->count = 0; row->from < nx; row->from += STRETCH) {
        const int32_t *is_data = labels_at(row);
        const int32_t n = nx - row->from < STRETCH ? nx - row->from : STRETCH;
        int32_t low = 0, high = n;
        while (low < n && !is_data[low]) low++;
        if (low == n) continue;
        while (!is_data[high - 1]) high--;
        row->from += low;
        row->count = high - low;
        return true;
    }
    return false;
}

static inline void open_row(lob_supervoxel_row *row, int32_t y, int32_t z)
{
    row->y = y;
    row->z = z;
    row->from = row->count = 0;
}

void lob_supervoxel_row_start(lob_supervoxel_row *row, const lob_cluster_share *share, int32_t y,
                              int32_t z)
{
    const lob_supervoxel_plan *plan = row->scene->plan;
    open_row(row, y, z);
    if (plan->rule.method == LOB_LSC) {
        row->wave[0] = wave_of_axis(plan, 1)[y];
        row->wave[1] = wave_of_axis(plan, 2)[z];
    }
    while (next_stretch(row)) {
        load_own(row, &share->block);
        add_stretch(row, share, false);
    }
}

INLINE void add_row(lob_supervoxel_row *row, const lob_cluster_share *share)
{
    while (next_stretch(row)) {
        find_nearest(row, &share->block);
        add_stretch(row, share, row->scene->plan->rule.method == LOB_SLICO);
    }
}

INLINE void label_row(lob_supervoxel_row *row, int32_t *labels)
{
    const lob_supervoxel_rule *rule = &row->scene->plan->rule;
    const lob_cell_block all = {0, rule->cells[1], 0, rule->cells[2]};
    while (next_stretch(row)) {
        int32_t *out = labels + row->from;
        find_nearest(row, &all);
        for (int32_t i = 0; i < row->count; i++) out[i] = out[i] ? row->id[i] + 1 : 0;
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

FOR_FMA static void add_row_fma(lob_supervoxel_row *row, const lob_cluster_share *share)
{
    add_row(row, share);
}

FOR_FMA static void label_row_fma(lob_supervoxel_row *row, int32_t *labels)
{
    label_row(row, labels);
}

void lob_supervoxel_row_add(lob_supervoxel_row *row, const lob_cluster_share *share, int32_t y,
                            int32_t z)
{
    open_row(row, y, z);
    if (has_fma())
        add_row_fma(row, share);
    else
        add_row(row, share);
}

void lob_supervoxel_row_label(lob_supervoxel_row *row, int32_t *labels, int32_t y, int32_t z)
{
    open_row(row, y, z);
    if (has_fma())
        label_row_fma(row, labels);
    else
        label_row(row, labels);
}
