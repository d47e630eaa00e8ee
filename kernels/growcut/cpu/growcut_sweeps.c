/*
 * Sweeps over rows. A row is cut into stretches of 64 voxels. A stretch whose neighbours' keys have
 * fallen takes the paths that they offer, and then those along its own row; where keys of its own
 * fall by this, its neighbours are due. Sweeps go through the rows that are due, forwards and
 * backwards, until none is: keys only fall, so the order decides the time and not the result.
 *
 * Planes are dealt out to threads in slabs of several planes, every other slab at a time. A stretch
 * reads its neighbours and writes itself, so no thread reads what another one writes.
 *
 * A key is (cost << label_bits) | label. Seeds and voxels that are no data are fixed: no path leads
 * into them. Around all voxels lie cells without a path, with the lowest level.
 */
#include "kernels/growcut/cpu/growcut_sweeps.h"

#include "kernels/budget.h"
#include "kernels/growcut/growcut_voxel.h"
#include "kernels/simd_clones.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    WIDE = 64,        /* voxels of a stretch */
    EDGE = 16,        /* cells before each row, which are after the row before it too */
    NO_PATH = 0x7fff, /* the largest key; two of them still fit 16 bits */
    BESIDE = 9,       /* rows around a row, and itself: dy + 1 + 3 * (dz + 1) */
    OWN = 4,
    LEAST_PLANES = 4, /* of a slab; at least 2, so that no stretch is due by two threads at once */
    STEPS = 4         /* costs of the largest step that a key holds, at least */
};

/* Levels of a row: of its first voxel, and how far it is from channel to channel. Some bytes before
 * them and after them can be read, up to a whole number of stretches and one more. */
typedef struct {
    const uint8_t *at;
    int64_t apart;
} row_levels;

typedef struct {
    const lob_growcut_section *section;
    lob_dims dims;
    bool in_place;       /* levels are what the image has, */
    uint8_t low;         /* from this on; else from 0 */
    int64_t pad_z;       /* planes without voxels before and after all others: 1, or 0 in 2D */
    int64_t rows, pitch; /* with those around the voxels; cells from row to row */
    int64_t stretches, places; /* of a row; of these and what is around them */
    int channels, label_bits;
    uint16_t unit;             /* what a difference of one level costs, as a key */
    int64_t beside[BESIDE];    /* rows from a row to those beside it */
    bool leads[BESIDE][3];     /* does a step lead from there to here, from x - 1, x, x + 1? */
    uint16_t extra[BESIDE][3]; /* what it costs beyond the levels' difference, as a key */
    uint16_t unreached;        /* the key of data without a path, and the least of no path */
    uint16_t *keys;            /* pitch for each row */
    row_levels *levels;        /* of each row */
    uint8_t *copied;           /* pitch for each channel of rows that are not read in place, and of
                                  one that stands for all those around the voxels */
    int64_t copied_bytes;
    uint8_t *fixed; /* pitch for each row: 0xff where no path leads to */
    uint16_t *due;  /* for each stretch: a bit for each row beside it whose keys have fallen */
    bool *holds;    /* does a stretch hold fixed voxels? */
    lob_budget budget;
} sweeps;

/* ---- what fits ---- */

/* Costs that a key holds, but for that of no path. */
static int64_t capacity_of(int label_bits)
{
    return (NO_PATH >> label_bits) - 1;
}

/*
 * The largest cost between two cells, whether or not a path leads there. Levels count from the
 * lowest of all channels, and what is no data, or lies around all voxels, has level 0: from there a
 * channel may differ by more than its data do.
 */
static int64_t largest_cost(const lob_growcut_section *section)
{
    const lob_growcut_rule *const rule = &section->rule;
    const int64_t more = (int64_t)section->levels.highest - (int64_t)rule->dmax;
    return rule->max_step + more * (int64_t)rule->unit;
}

bool lob_growcut_sweeps_fit(const lob_growcut_section *section)
{
    const lob_growcut_rule *const rule = &section->rule;
    const bool one = section->data.image->channels == 1;
    const int64_t capacity = capacity_of(lob_growcut_label_bits(section->in->labels));
    return rule->kind == LOB_RULE_DISTANCE && (one || section->norm == LOB_NORM_LINF) &&
           !section->rounds && !section->in->seed_strength && !section->out->tie &&
           rule->fraction == 0 && rule->unit >= 1 && section->levels.exact &&
           section->levels.highest <= UINT8_MAX && section->view.dims.nx >= WIDE / 4 &&
           section->in->labels < 1 << 8 && (int64_t)rule->max_step * STEPS <= capacity &&
           largest_cost(section) <= capacity;
}

/* ---- memory ---- */

/* May levels be read where the image is? */
static bool is_in_place(const lob_growcut_section *section)
{
    const lob_volume *const image = section->data.image;
    const int64_t n = lob_voxels(image);
    return image->type == LOB_U8 && section->levels.data_voxels == n &&
           lob_dims_voxels(section->view.dims) == n && section->view.stride[0] == 1;
}

/* Those of the voxels' row, so far as they can be: not next to the image's ends. */
static bool reads_in_place(const sweeps *s, int64_t row)
{
    const int64_t voxel = row * s->dims.nx;
    return s->in_place && row > 0 &&
           voxel + s->stretches * WIDE + 1 <= lob_voxels(s->section->data.image);
}

static lob_status take_memory(sweeps *s, lob_error *error)
{
    const int64_t cells = lob_product(s->rows, s->pitch, 1, 1), all = s->rows * s->places;
    int64_t copied = 1;
    for (int64_t row = 0; row < s->dims.ny * s->dims.nz; row++) copied += !reads_in_place(s, row);
    const int64_t bytes = lob_product(copied, s->pitch, s->channels, 1);
    if (cells < 0 || bytes < 0) return LOB_ENOMEM;
    s->copied_bytes = bytes + EDGE;
    LOB_TRY(lob_budget_hold(
        &s->budget, 3 * (cells + all) + s->copied_bytes + s->rows * (int64_t)sizeof *s->levels,
        error));
    s->keys = lob_voxel_memory((cells + EDGE) * (int64_t)sizeof *s->keys);
    s->levels = malloc((size_t)s->rows * sizeof *s->levels);
    s->copied = lob_voxel_memory_zero(s->copied_bytes);
    s->fixed = lob_voxel_memory_zero(cells);
    s->due = calloc((size_t)all, sizeof *s->due);
    s->holds = calloc((size_t)all, sizeof *s->holds);
    return s->keys && s->levels && s->copied && s->fixed && s->due && s->holds ? LOB_OK
                                                                               : LOB_ENOMEM;
}

static void free_memory(sweeps *s)
{
    free(s->keys);
    free(s->levels);
    free(s->copied);
    free(s->fixed);
    free(s->due);
    free(s->holds);
}

static int64_t row_at(const sweeps *s, int64_t y, int64_t z)
{
    return (z + s->pad_z) * (s->dims.ny + 2) + y + 1;
}

static uint16_t *keys_of(const sweeps *s, int64_t row)
{
    return s->keys + row * s->pitch + EDGE;
}

static inline __attribute__((always_inline)) row_levels levels_at(const sweeps *s, int64_t row,
                                                                  int64_t x)
{
    return (row_levels){s->levels[row].at + x, s->levels[row].apart};
}

static int64_t stretch_at(const sweeps *s, int64_t row, int64_t x)
{
    return row * s->places + 1 + x / WIDE;
}

static void list_steps(sweeps *s)
{
    const lob_growcut_rule *const rule = &s->section->rule;
    for (int q = 0; q < BESIDE; q++) s->beside[q] = (q / 3 - 1) * (s->dims.ny + 2) + q % 3 - 1;
    for (int k = 0; k < rule->neighbours; k++) {
        const int8_t *const to = rule->offset[k];
        if (to[2] && !s->pad_z) continue;
        const int q = to[1] + 1 + 3 * (to[2] + 1);
        s->leads[q][to[0] + 1] = true;
        s->extra[q][to[0] + 1] = (uint16_t)(rule->extra[k] << s->label_bits);
    }
}

/* ---- filling ---- */

/* Where the levels of all rows are. What lies around voxels has the lowest: no step to there costs
 * more than fits. */
static void place_levels(sweeps *s)
{
    const lob_volume *const image = s->section->data.image;
    const int64_t ny = s->dims.ny;
    uint8_t *to = s->copied + EDGE;
    if (s->low) memset(s->copied, s->low, (size_t)s->copied_bytes);
    for (int64_t row = 0; row < s->rows; row++) s->levels[row] = (row_levels){to, s->pitch};
    for (int64_t i = 0; i < ny * s->dims.nz; i++) {
        row_levels *const row = &s->levels[row_at(s, i % ny, i / ny)];
        if (reads_in_place(s, i))
            *row = (row_levels){(const uint8_t *)image->data + i * s->dims.nx, lob_voxels(image)};
        else
            row->at = to += s->channels * s->pitch;
    }
}

/* Levels of a row that is not read in place; what of it is data. */
static void copy_levels(sweeps *s, int64_t y, int64_t z, uint8_t *is_data, uint16_t *level)
{
    const lob_growcut_section *const section = s->section;
    const int64_t nx = s->dims.nx;
    uint8_t *to = s->copied + (s->levels[row_at(s, y, z)].at - s->copied);
    lob_levels_data_row(is_data, &section->data, &section->view, 0, y, z, nx);
    for (int c = 0; c < s->channels; c++, to += s->pitch) {
        lob_levels_row(level, is_data, &section->levels, &section->data, c, &section->view, 0, y, z,
                       nx);
        for (int64_t x = 0; x < nx; x++) to[x] = (uint8_t)(level[x] + s->low);
    }
}

/* Keys of a row: seeds begin, what is no data has no path. Counts seeds. */
static void fill_row(sweeps *s, int64_t y, int64_t z, uint8_t *is_data, uint16_t *level,
                     int64_t counts[2])
{
    const lob_growcut_section *const section = s->section;
    const lob_volume *const seeds = section->in->seeds;
    const int64_t nx = s->dims.nx, row = row_at(s, y, z);
    const int64_t voxel = lob_view_index(&section->view, 0, y, z);
    const size_t seed = lob_type_of(seeds->type)->bytes;
    uint16_t *const key = keys_of(s, row);
    uint8_t *const fixed = s->fixed + row * s->pitch + EDGE;
    if (reads_in_place(s, y + z * s->dims.ny)) {
        if (lob_all_zero((const uint8_t *)seeds->data + (size_t)voxel * seed, (size_t)nx * seed))
            return;
        memset(is_data, 1, (size_t)nx);
    } else {
        copy_levels(s, y, z, is_data, level);
    }
    for (int64_t x = 0; x < nx; x++) {
        const int32_t label =
            lob_label_at(seeds->data, seeds->type, voxel + x * section->view.stride[0]);
        if (label) counts[!is_data[x]]++;
        if (is_data[x] && !label) continue;
        const int64_t at = stretch_at(s, row, x);
        fixed[x] = 0xff;
        s->holds[at] = true;
        if (!is_data[x]) continue;
        key[x] = (uint16_t)label;
        s->due[at] |= 1 << OWN;
    }
}

/* A stretch's neighbours are due, as its keys have fallen; at its first and its last voxel too? */
static void make_due(const sweeps *s, int64_t at, bool first, bool last)
{
    for (int q = 0; q < BESIDE; q++) {
        const int64_t beside = s->beside[q] * s->places + at;
        const uint16_t bit = (uint16_t)(1 << (BESIDE - 1 - q));
        if (!s->pad_z && q / 3 != 1) continue;
        if (q != OWN) s->due[beside] |= bit;
        if (first) s->due[beside - 1] |= bit;
        if (last) s->due[beside + 1] |= bit;
    }
}

static lob_status fill(sweeps *s, lob_growcut_result *result)
{
    const int64_t nx = s->dims.nx, ny = s->dims.ny, cells = s->rows * s->pitch + EDGE;
    int64_t seeds = 0, outside = 0;
    bool failed = false;
    place_levels(s);
#pragma omp parallel num_threads(s->section->threads) reduction(+ : seeds, outside)
    {
        uint8_t *const is_data = malloc((size_t)nx);
        uint16_t *const level = malloc((size_t)nx * sizeof *level);
        int64_t counts[2] = {0, 0};
#pragma omp critical(lob_growcut_sweeps)
        failed = failed || !is_data || !level;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < cells; i++) s->keys[i] = s->unreached;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < ny * s->dims.nz; row++)
            if (!failed) fill_row(s, row % ny, row / ny, is_data, level, counts);
        seeds += counts[0];
        outside += counts[1];
        free(is_data);
        free(level);
    }
    for (int64_t at = 0; at < s->rows * s->places && !failed; at++)
        if (s->holds[at]) make_due(s, at, true, true);
    result->stats.seeds = seeds;
    result->stats.seeds_outside = outside;
    return failed ? LOB_ENOMEM : LOB_OK;
}

/* ---- a stretch ---- */

static inline __attribute__((always_inline)) uint8_t apart(uint8_t p, uint8_t q)
{
    return (uint8_t)((p > q ? p : q) - (p > q ? q : p));
}

/* The largest differences of a channel between a stretch and `count` others, each a voxel farther
 * on: a level of the first is loaded once for all. */
static inline __attribute__((always_inline)) void most_apart(uint8_t (*restrict most)[WIDE],
                                                             row_levels here, row_levels there,
                                                             int count, int channels)
{
#pragma GCC unroll 3
    for (int k = 0; k < count; k++)
#pragma omp simd
        for (int x = 0; x < WIDE; x++) most[k][x] = apart(here.at[x], there.at[k + x]);
#pragma GCC unroll 8
    for (int c = 1; c < channels; c++) {
        const uint8_t *const one = here.at + c * here.apart;
        const uint8_t *const two = there.at + c * there.apart;
#pragma GCC unroll 3
        for (int k = 0; k < count; k++)
#pragma omp simd
            for (int x = 0; x < WIDE; x++) {
                const uint8_t d = apart(one[x], two[k + x]);
                most[k][x] = most[k][x] > d ? most[k][x] : d;
            }
    }
}

/* The same, with the loop over few channels unrolled. */
static inline __attribute__((always_inline)) void find_apart(const sweeps *s,
                                                             uint8_t (*restrict most)[WIDE],
                                                             row_levels here, row_levels there,
                                                             int count)
{
    switch (s->channels) {
    case 1:
        most_apart(most, here, there, count, 1);
        break;
    case 2:
        most_apart(most, here, there, count, 2);
        break;
    case 3:
        most_apart(most, here, there, count, 3);
        break;
    case 4:
        most_apart(most, here, there, count, 4);
        break;
    case 5:
        most_apart(most, here, there, count, 5);
        break;
    default:
        most_apart(most, here, there, count, s->channels);
    }
}

/* What steps cost, as keys. */
static inline __attribute__((always_inline)) void find_costs(const sweeps *s, uint16_t *cost,
                                                             const uint8_t *most, uint16_t extra)
{
    const uint16_t unit = s->unit;
#pragma omp simd
    for (int x = 0; x < WIDE; x++) cost[x] = (uint16_t)(most[x] * unit + extra);
}

/* Take the paths that a row beside a stretch offers. Of those that are due nearly all might be
 * cheaper somewhere: to find out first takes longer than it saves. */
static inline __attribute__((always_inline)) void take_offers(const sweeps *s, uint16_t *best,
                                                              row_levels here, int64_t there,
                                                              int64_t x, int q)
{
    row_levels levels = levels_at(s, there, x);
    const uint16_t *const keys = keys_of(s, there) + x;
    const bool *const leads = s->leads[q];
    const bool all = leads[0] && leads[1] && leads[2];
    uint8_t most[3][WIDE];
    levels.at--;
    if (all) find_apart(s, most, here, levels, 3);
#pragma GCC unroll 3
    for (int dx = -1; dx <= 1; dx++, levels.at++) {
        const uint16_t *const from = keys + dx, extra = s->extra[q][dx + 1];
        uint16_t cost[WIDE];
        if (!leads[dx + 1]) continue;
        if (!all) find_apart(s, most + dx + 1, here, levels, 1);
        find_costs(s, cost, most[dx + 1], extra);
#pragma omp simd
        for (int i = 0; i < WIDE; i++) {
            const uint16_t offer = (uint16_t)(from[i] + cost[i]);
            best[i] = best[i] < offer ? best[i] : offer;
        }
    }
}

/*
 * Take the paths along the row, which come from dx = -1 or 1. best and cost have a stretch more on
 * either side, with no path and no passage. After a round, best has paths of up to 2 * steps - 1
 * steps, and cost is that of a path of 2 * steps to a voxel.
 */
static inline __attribute__((always_inline)) void take_along(uint16_t *best, uint16_t *cost, int dx)
{
    uint16_t next[WIDE], any = 0;
    for (int i = 0; i < WIDE; i++) {
        const uint16_t offer = (uint16_t)(best[i + dx] + cost[i]);
        any |= (uint16_t)(best[i] ^ (best[i] < offer ? best[i] : offer));
    }
    for (int steps = 1; steps < WIDE && any; steps *= 2) {
        const uint16_t *const from = best + dx * steps, *const before = cost + dx * steps;
#pragma omp simd
        for (int i = 0; i < WIDE; i++) {
            const uint16_t offer = (uint16_t)(from[i] + cost[i]);
            next[i] = best[i] < offer ? best[i] : offer;
        }
        memcpy(best, next, sizeof next);
#pragma omp simd
        for (int i = 0; i < WIDE; i++) {
            const uint16_t both = (uint16_t)(before[i] + cost[i]);
            next[i] = both < NO_PATH ? both : NO_PATH;
        }
        memcpy(cost, next, sizeof next);
    }
}

static inline __attribute__((always_inline)) bool differ(const uint16_t *a, const uint16_t *b)
{
    return memcmp(a, b, WIDE * sizeof *a) != 0;
}

/* Paths along its own row, from the voxels before and after it too. */
static inline __attribute__((always_inline)) void take_row(const sweeps *s, uint16_t *best,
                                                           const uint16_t *key, row_levels here,
                                                           const uint8_t *fixed)
{
    uint16_t costs[3 * WIDE], *const cost = costs + WIDE;
    for (int i = 1; i <= WIDE; i++) best[-i] = best[WIDE - 1 + i] = NO_PATH;
    for (int dx = -1; dx <= 1; dx += 2) {
        const int end = dx < 0 ? 0 : WIDE - 1;
        for (int i = 0; i < WIDE; i++) costs[i] = cost[WIDE + i] = NO_PATH;
        const row_levels there = {here.at + dx, here.apart};
        uint8_t most[1][WIDE];
        find_apart(s, most, here, there, 1);
        find_costs(s, cost, most[0], s->extra[OWN][dx + 1]);
        for (int i = 0; fixed && i < WIDE; i++) cost[i] = fixed[i] ? NO_PATH : cost[i];
        const uint16_t enters = (uint16_t)(key[end + dx] + cost[end]);
        best[end] = best[end] < enters ? best[end] : enters;
        take_along(best, cost, dx);
    }
}

/* Bring a stretch up to date. Returns how many of its voxels got their first path. */
static inline __attribute__((always_inline)) int grow_any(const sweeps *s, int64_t row, int64_t at,
                                                          int64_t x)
{
    const unsigned due = s->due[at];
    uint16_t bests[3 * WIDE], *const best = bests + WIDE, *const key = keys_of(s, row) + x;
    const row_levels here = levels_at(s, row, x);
    const uint8_t *const fixed = s->holds[at] ? s->fixed + row * s->pitch + EDGE + x : NULL;
    int reached = 0;
    s->due[at] = 0;
    memcpy(best, key, WIDE * sizeof *best);
    for (int q = 0; q < BESIDE; q++)
        if (q != OWN && due >> q & 1) take_offers(s, best, here, row + s->beside[q], x, q);
    for (int i = 0; fixed && i < WIDE; i++) best[i] = fixed[i] ? key[i] : best[i];
    for (int64_t i = s->dims.nx - x; i < WIDE; i++) best[i] = s->unreached;
    if (!(due >> OWN & 1) && !differ(best, key)) return 0;
    take_row(s, best, key, here, fixed);
    for (int64_t i = s->dims.nx - x; i < WIDE; i++) best[i] = s->unreached;
    if (!differ(best, key)) return 0;
    const uint16_t none = s->unreached;
#pragma omp simd reduction(+ : reached)
    for (int i = 0; i < WIDE; i++) reached += key[i] == none && best[i] != none;
    const bool first = best[0] != key[0], last = best[WIDE - 1] != key[WIDE - 1];
    memcpy(key, best, WIDE * sizeof *best);
    make_due(s, at, first, last);
    return reached;
}

LOB_SIMD_CLONES(int, grow_narrow, (s, row, at, x), const sweeps *s, int64_t row, int64_t at,
                int64_t x)
{
    return grow_any(s, row, at, x);
}

#ifdef LOB_WIDE
LOB_WIDE static int grow_wide(const sweeps *s, int64_t row, int64_t at, int64_t x)
{
    return grow_any(s, row, at, x);
}
#endif

static int grow_stretch(const sweeps *s, int64_t row, int64_t at, int64_t x)
{
#ifdef LOB_WIDE
    if (lob_has_wide()) return grow_wide(s, row, at, x);
#endif
    return grow_narrow(s, row, at, x);
}

/* ---- sweeps ---- */

/* Rows from one to another, there and back, every other plane's in the other order: fewer are due
 * again. Returns whether one was due. */
static bool sweep_rows(const sweeps *s, int64_t from, int64_t to, int64_t *reached)
{
    bool any = false;
    for (int64_t turn = 0; turn < 2 * (to - from); turn++) {
        const int64_t i = turn < to - from ? from + turn : 2 * to - from - 1 - turn;
        const int64_t y = i % s->dims.ny, z = i / s->dims.ny;
        const int64_t row = row_at(s, z % 2 ? s->dims.ny - 1 - y : y, z);
        const int64_t at = stretch_at(s, row, 0);
        for (int64_t k = 0; k < s->stretches; k++) {
            if (!s->due[at + k]) continue;
            any = true;
            *reached += grow_stretch(s, row, at + k, k * WIDE);
        }
    }
    return any;
}

static lob_status grow(const sweeps *s)
{
    const bool flat = s->pad_z == 0;
    const int64_t planes = flat ? s->dims.ny : s->dims.nz, rows = flat ? 1 : s->dims.ny;
    const int threads = s->section->threads;
    int64_t slabs = threads > 1 ? 2 * threads : 1, reached = 0;
    if (slabs > planes / LEAST_PLANES) slabs = planes / LEAST_PLANES;
    if (slabs < 1) slabs = 1;
    for (bool any = true; any;) {
        any = false;
        for (int64_t odd = 0; odd < 2; odd++) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)                                  \
    reduction(| : any) reduction(+ : reached) if (slabs > 1)
            for (int64_t k = odd; k < slabs; k += 2)
                any |= sweep_rows(s, planes * k / slabs * rows, planes * (k + 1) / slabs * rows,
                                  &reached);
            if (lob_growcut_stops(s->section, reached)) return LOB_ECANCEL;
        }
    }
    return LOB_OK;
}

/* ---- results ---- */

/* Labels of a row of keys as bytes. Returns the largest key with a path; 0: there is none. */
LOB_SIMD_CLONES(uint16_t, write_labels, (label, reached, key, unreached, bits, n), uint8_t *label,
                int64_t *reached, const uint16_t *key, uint16_t unreached, int bits, int64_t n)
{
    const uint16_t mask = (uint16_t)((1 << bits) - 1);
    uint16_t largest = 0;
    int count = 0; /* rows are shorter than 2^31 */
#pragma omp simd reduction(+ : count) reduction(max : largest)
    for (int64_t x = 0; x < n; x++) {
        const uint16_t own = key[x] < unreached ? key[x] : 0;
        const uint8_t one = (uint8_t)(own & mask);
        label[x] = one;
        count += one != 0;
        largest = own > largest ? own : largest;
    }
    *reached += count;
    return largest;
}

static bool write_row(const void *engine, int64_t row, lob_growcut_result *result)
{
    const sweeps *const s = engine;
    const int64_t y = row % s->dims.ny, z = row / s->dims.ny;
    const lob_growcut_section *const section = s->section;
    const lob_growcut_output *const out = section->out;
    const uint16_t *const key = keys_of(s, row_at(s, y, z));
    const int64_t voxel = lob_view_index(&section->view, 0, y, z);
    if (!out->strength && section->in->seeds->type == LOB_U8 && section->view.stride[0] == 1) {
        const uint16_t largest =
            write_labels((uint8_t *)out->labels + voxel, &result->stats.reached, key, s->unreached,
                         s->label_bits, s->dims.nx);
        result->largest = largest >> s->label_bits;
        return true;
    }
    for (int64_t x = 0; x < s->dims.nx; x++) {
        const bool has = key[x] < s->unreached;
        lob_growcut_put(section, voxel + x * section->view.stride[0],
                        has ? key[x] & ((1 << s->label_bits) - 1) : 0, key[x] >> s->label_bits,
                        true, result);
    }
    return true;
}

lob_status lob_growcut_sweeps(const lob_growcut_section *section, lob_growcut_result *result,
                              lob_error *error)
{
    const lob_dims d = section->view.dims;
    const lob_growcut_rule *const rule = &section->rule;
    const int bits = lob_growcut_label_bits(section->in->labels);
    const uint64_t capacity = (uint64_t)capacity_of(bits);
    const uint64_t limit = rule->limit < capacity ? rule->limit : capacity;
    sweeps s = {.section = section, .dims = d, .label_bits = bits, .pad_z = d.nz > 1};
    s.stretches = (d.nx + WIDE - 1) / WIDE;
    s.places = s.stretches + 2;
    s.rows = (d.ny + 2) * (d.nz + 2 * s.pad_z);
    s.pitch = s.stretches * WIDE + EDGE;
    s.channels = section->data.image->channels;
    s.in_place = is_in_place(section);
    s.low = s.in_place ? (uint8_t)section->levels.low_bits : 0;
    s.unit = (uint16_t)((uint32_t)rule->unit << bits);
    s.unreached = (uint16_t)((limit + 1) << bits);
    s.budget = (lob_budget){.who = "GrowCut's sweeps", .limit = section->max_memory};
    *result = (lob_growcut_result){.stats.fixed_point = true};
    list_steps(&s);
    lob_status st = take_memory(&s, error);
    if (st == LOB_OK) st = fill(&s, result);
    if (st == LOB_OK) st = grow(&s);
    if (st == LOB_OK)
        (void)lob_growcut_in_parts(result, write_row, &s, d.ny * d.nz, section->threads);
    free_memory(&s);
    result->stats.working_bytes = s.budget.peak;
    result->overflow = capacity < rule->limit && result->largest + rule->max_step > capacity;
    return st;
}
