/* Walls: labels around others, their cores. A core's outlines are made convex, and its wall about
 * as wide everywhere as its strokes say. */
#include "kernels/device/device_put.h"
#include "kernels/refine/hull.h"
#include "kernels/refine/refine_measured.h"
#include "volumes/lists.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

typedef lob_refine_measured measured;

/* Faces between a row of voxels and those so many on: of a core, and of these with its wall. */
static void count_faces(int64_t counts[2], const measured *m, const int32_t *pair, int64_t row,
                        int64_t n, int64_t on)
{
    for (int64_t i = row; i < row + n; i++) {
        const int32_t one = lob_label_at(m->labels, m->type, i);
        const int32_t next = lob_label_at(m->labels, m->type, i + on);
        const bool is = one != next && (one == pair[1] || next == pair[1]);
        counts[0] += is;
        counts[1] += is && (one == pair[0] || next == pair[0]);
    }
}

/* Has a row of voxels this label? */
static bool has(const measured *m, int64_t row, int32_t label)
{
    const int64_t end = row + m->dims.nx;
    return lob_refine_find(m->labels, m->type, row, end, label) < end;
}

/* The share of a core's surface that faces a wall. */
static double facing(const measured *m, const int32_t *pair, int threads)
{
    const lob_dims d = m->dims;
    const int64_t step[3] = {1, d.nx, d.nx * d.ny};
    double whole = 0, wall = 0;
    for (int a = 0; a < 3; a++) {
        int64_t all = 0, faces = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : all, faces)
        for (int64_t row = 0; row < d.ny * d.nz; row++) {
            const int64_t first = row * d.nx, at = a == 1 ? row % d.ny : row / d.ny;
            int64_t counts[2] = {0, 0};
            if (a > 0 && at + 1 == lob_side(d, a)) continue;
            if (!has(m, first, pair[1]) && (a == 0 || !has(m, first + step[a], pair[1]))) continue;
            count_faces(counts, m, pair, first, a == 0 ? d.nx - 1 : d.nx, step[a]);
            all += counts[0];
            faces += counts[1];
        }
        const double area = m->spacing[(a + 1) % 3] * m->spacing[(a + 2) % 3];
        whole += area * (double)all;
        wall += area * (double)faces;
    }
    return whole > 0 ? wall / whole : 0;
}

/* How far voxels are from a core: 8 bytes of each, its place as lob_device_get has it, become 4. */
static lob_status distances_at(lob_refine_job *j, float *to, const uint64_t *items, int64_t count)
{
    const float *const distance = j->a.best;
    if (j->device)
        return lob_device_get(j->device, to, distance, sizeof *to, 1, j->a.voxels, items, count,
                              j->error);
    for (int64_t i = 0; i < count; i++) to[i] = distance[items[i] >> 8];
    return LOB_OK;
}

/* How far a wall's strokes are from its core: the middle one, and that of 95 in a hundred. 0 where
 * there are none. */
static lob_status far_strokes(lob_refine_job *j, const measured *m, int32_t wall, float *middle,
                              float *most)
{
    const int64_t n = j->a.voxels;
    int64_t i = -1, count = 0;
    uint64_t *items;
    float *strokes;
    *middle = *most = 0;
    while ((i = lob_refine_find(m->seeds, m->seed_type, i + 1, n, wall)) < n) count++;
    if (count == 0) return LOB_OK;
    LOB_TRY(lob_budget_alloc(&j->budget, &items, count, sizeof *items + sizeof *strokes, j->error));
    uint64_t *to = items;
    for (i = -1; (i = lob_refine_find(m->seeds, m->seed_type, i + 1, n, wall)) < n;)
        *to++ = (uint64_t)i << 8;
    strokes = (float *)to;
    const lob_status st = distances_at(j, strokes, items, count);
    if (st == LOB_OK) {
        qsort(strokes, (size_t)count, sizeof *strokes, lob_by_float);
        *middle = strokes[count / 2];
        *most = strokes[count * 19 / 20];
    }
    lob_budget_free(&j->budget, items, count, sizeof *items + sizeof *strokes);
    return st;
}

/* Half of how wide a wall is; 0: it is none. */
static lob_status half_width(lob_refine_job *j, const measured *m, int32_t wall, float *half)
{
    const int64_t before = j->sums[LOB_REFINE_AT_deep];
    float middle, most;
    *half = 0;
    LOB_TRY(far_strokes(j, m, wall, &middle, &most));
    if (!(middle > 0) || most > 2.5F * middle) return LOB_OK;
    j->a.least = middle;
    LOB_TRY(j->operations->loop(j, LOB_REFINE_AT_deep, j->a.voxels));
    LOB_TRY(j->operations->sum_up(j));
    if (j->sums[LOB_REFINE_AT_deep] > before) *half = middle;
    return LOB_OK;
}

/* The distance of all voxels from a core, negative inside. */
static lob_status find_distance(lob_refine_job *j, const measured *m, int32_t core)
{
    lob_distance_output out = {.distance = j->a.best};
    lob_distance_input in = {.labels = j->a.labels,
                             .type = m->type,
                             .dims = m->dims,
                             .only = (uint32_t)core,
                             .place = j->in->place};
    lob_distance_options options = lob_distance_defaults();
    lob_context context = lob_budget_inner(&j->budget, j->context);
    for (int a = 0; a < 3; a++) in.spacing[a] = m->spacing[a];
    options.kind = LOB_DISTANCE_SIGNED;
    context.progress = NULL;
    lob_status st = j->operations->distance(&out, &in, &options, &context, j->error);
    if (st != LOB_ENOMEM || !j->device) return st;
    lob_error_begin(j->error); /* lines may be too long for a GPU */
    in.labels = m->labels;
    in.place = (lob_place){0};
    LOB_TRY(
        lob_budget_alloc(&j->budget, &out.distance, j->a.voxels, sizeof *out.distance, j->error));
    st = lob_distance_cpu(&out, &in, &options, &context, j->error);
    if (st == LOB_OK)
        st = lob_device_upload(j->device, j->a.best, out.distance,
                               j->a.voxels * (int64_t)sizeof *out.distance, j->error);
    lob_budget_free(&j->budget, out.distance, j->a.voxels, sizeof *out.distance);
    return st;
}

/* ---- cores are convex in slices ---- */

/* Slices across an axis, and where the hull of a core in each of their rows begins and ends. */
typedef struct {
    int64_t count, rows, columns, step, row_step, column_step;
    int64_t *first, *last;
    int64_t held, inside; /* voxels of the core, and of its hulls */
} slices;

/* Across the axis along which voxels are farthest apart, or only one; of equal ones the last. Of an
 * oblique scan spacings are lengths of rounded columns. */
static slices slices_of(const measured *m)
{
    const int64_t step[3] = {1, m->dims.nx, m->dims.nx * m->dims.ny};
    int axis = 2;
    double most = 0;
    for (int a = 2; a >= 0; a--) {
        const double apart = lob_side(m->dims, a) == 1 ? HUGE_VAL : m->spacing[a];
        if (apart <= 1.001 * most) continue;
        axis = a;
        most = apart;
    }
    const int across = axis == 0 ? 1 : 0, down = axis == 2 ? 1 : 2;
    return (slices){.count = lob_side(m->dims, axis),
                    .rows = lob_side(m->dims, down),
                    .columns = lob_side(m->dims, across),
                    .step = step[axis],
                    .row_step = step[down],
                    .column_step = step[across]};
}

static bool is_at(const measured *m, const slices *s, int64_t from, int64_t column, int32_t label)
{
    return lob_label_at(m->labels, m->type, from + column * s->column_step) == label;
}

/* work: as many numbers as a slice has rows, for each thread. */
static void find_hulls(slices *s, const measured *m, int32_t core, int64_t *work, int threads)
{
    int64_t held = 0, inside = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : held, inside)
    for (int64_t k = 0; k < s->count; k++) {
        int64_t *const first = s->first + k * s->rows, *const last = s->last + k * s->rows;
        for (int64_t r = 0; r < s->rows; r++) {
            const int64_t from = k * s->step + r * s->row_step;
            first[r] = s->columns;
            last[r] = -1;
            if (s->column_step == 1 && !has(m, from, core)) continue;
            for (int64_t c = 0; c < s->columns; c++) {
                if (!is_at(m, s, from, c, core)) continue;
                first[r] = c < first[r] ? c : first[r];
                last[r] = c;
                held++;
            }
        }
        lob_hull(first, last, work + s->rows * omp_get_thread_num(), s->rows);
        for (int64_t r = 0; r < s->rows; r++) inside += last[r] - first[r] + 1;
    }
    s->held = held;
    s->inside = inside;
}

/* Was a wall drawn in its core's hull in this slice? */
static bool is_drawn(const measured *m, const slices *s, int64_t k, int32_t wall)
{
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = s->first[k * s->rows + r]; c <= s->last[k * s->rows + r]; c++)
            if (lob_label_at(m->seeds, m->seed_type,
                             k * s->step + r * s->row_step + c * s->column_step) == wall)
                return true;
    return false;
}

/* Give a core what of its wall lies in its hulls, if by them it is nearly convex. */
static lob_status fill_core(lob_refine_job *j, const measured *m, const int32_t *pair)
{
    const int threads = j->context->threads;
    slices s = slices_of(m);
    const int64_t rows = s.count * s.rows, room = threads * s.rows;
    int64_t *work;
    LOB_TRY(lob_budget_alloc(&j->budget, &work, 2 * rows + room, sizeof *work, j->error));
    s.first = work;
    s.last = work + rows;
    find_hulls(&s, m, pair[1], work + 2 * rows, threads);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < s.count; k++) {
        if (5 * s.held < 4 * s.inside || is_drawn(m, &s, k, pair[0])) continue;
        for (int64_t r = 0; r < s.rows; r++) {
            const int64_t from = k * s.step + r * s.row_step;
            for (int64_t c = s.first[k * s.rows + r]; c <= s.last[k * s.rows + r]; c++)
                if (is_at(m, &s, from, c, pair[0]))
                    lob_label_put(m->labels, m->type, from + c * s.column_step, pair[1]);
        }
    }
    lob_budget_free(&j->budget, work, 2 * rows + room, sizeof *work);
    return LOB_OK;
}

/* ---- walls are about as wide everywhere ---- */

/* Fill the cores of a wall, and cut it where it is too far from all cores that it is a wall around.
 */
static lob_status cut(lob_refine_job *j, const measured *m, int32_t wall)
{
    int cores = 0;
    LOB_TRY(lob_refine_take_labels(m, j));
    LOB_TRY(j->operations->loop(j, LOB_REFINE_AT_unmark, j->a.voxels));
    for (int k = 0; k < j->in->wall_count; k++) {
        const int32_t *const pair = j->in->walls + (ptrdiff_t)2 * k;
        float half;
        if (pair[0] != wall || facing(m, pair, j->context->threads) < 0.6) continue;
        LOB_TRY(find_distance(j, m, pair[1]));
        LOB_TRY(half_width(j, m, wall, &half));
        if (half == 0) continue;
        LOB_TRY(fill_core(j, m, pair));
        LOB_TRY(lob_refine_give_labels(m, j));
        cores++;
        j->a.least = 2 * half;
        LOB_TRY(j->operations->loop(j, LOB_REFINE_AT_within, j->a.voxels));
    }
    j->a.label = wall;
    return cores > 0 ? j->operations->loop(j, LOB_REFINE_AT_beyond, j->a.voxels) : LOB_OK;
}

/* Is this pair the first of its wall? */
static bool is_first(const lob_refine_input *in, int pair)
{
    for (int k = 0; k < pair; k++)
        if (in->walls[2 * k] == in->walls[2 * pair]) return false;
    return true;
}

lob_status lob_refine_walls(lob_refine_job *j)
{
    const lob_refine_input *const in = j->in;
    measured m;
    lob_status st = lob_refine_measure(&m, j, false);
    if (st == LOB_OK) st = lob_refine_take(j, LOB_REFINE_BEST, j->a.voxels, sizeof(float));
    if (st == LOB_OK) st = lob_refine_take(j, LOB_REFINE_MASK, j->a.voxels, 1);
    j->a.best = j->owned[LOB_REFINE_BEST].data;
    j->a.mask = j->owned[LOB_REFINE_MASK].data;
    for (int i = 0; st == LOB_OK && i < in->wall_count; i++)
        if (is_first(in, i)) st = cut(j, &m, in->walls[2 * i]);
    lob_refine_drop(j, LOB_REFINE_MASK);
    lob_refine_drop(j, LOB_REFINE_BEST);
    lob_refine_measured_free(&m, j);
    return st;
}
