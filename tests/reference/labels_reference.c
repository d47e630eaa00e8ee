/* Label steps on an array of int32, each as label_steps.h words it. */
#include "tests/reference/labels_case.h"

#include "volumes/labels.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const lob_labels_input *in;
    const lob_labels_options *options;
    int64_t side[3], n;
    int32_t *label; /* n */
} naive;

static void *room(int64_t n, size_t size)
{
    void *memory = calloc((size_t)n + 1, size);
    if (!memory) {
        fputs("labels_reference: no memory\n", stderr);
        exit(75);
    }
    return memory;
}

static void place(int64_t at[3], const naive *v, int64_t i)
{
    at[0] = i % v->side[0];
    at[1] = i / v->side[0] % v->side[1];
    at[2] = i / v->side[0] / v->side[1];
}

/* The voxel at an offset, or -1 outside of the volume. */
static int64_t voxel_at(const naive *v, const int64_t at[3], int64_t dx, int64_t dy, int64_t dz)
{
    const int64_t x = at[0] + dx, y = at[1] + dy, z = at[2] + dz;
    if (x < 0 || y < 0 || z < 0 || x >= v->side[0] || y >= v->side[1] || z >= v->side[2]) return -1;
    return (z * v->side[1] + y) * v->side[0] + x;
}

/* A step's length in voxels. */
static double along(const naive *v, const lob_labels_step *step, int axis)
{
    if (axis == v->options->slice_axis) return 0;
    return step->voxels ? step->length : step->length / v->in->spacing_mm[axis];
}

/* The labels that occur, ascending, without 0. Returns how many. */
static int64_t list_labels(int32_t *list, const naive *v)
{
    int64_t n = 0;
    memcpy(list, v->label, (size_t)v->n * sizeof *list);
    qsort(list, (size_t)v->n, sizeof *list, lob_by_int32);
    for (int64_t i = 0; i < v->n; i++)
        if (list[i] > 0 && (n == 0 || list[n - 1] != list[i])) list[n++] = list[i];
    return n;
}

/* ---- tables ---- */

static void recode(naive *v, const lob_labels_step *step)
{
    for (int64_t i = 0; i < v->n; i++) {
        int32_t to = step->rest;
        if (v->label[i] == 0) continue;
        for (int64_t r = 0; r < step->rule_count; r++)
            if (v->label[i] >= step->rules[r].first && v->label[i] <= step->rules[r].last)
                to = step->rules[r].to;
        if (to != LOB_LABELS_SAME) v->label[i] = to;
    }
}

static void sequential(naive *v)
{
    int32_t *list = room(v->n, sizeof *list);
    const int64_t count = list_labels(list, v);
    for (int64_t i = 0; i < v->n; i++)
        for (int64_t k = 0; k < count; k++)
            if (v->label[i] == list[k]) {
                v->label[i] = (int32_t)(k + 1);
                break;
            }
    free(list);
}

/* ---- pieces ---- */

static bool joins(const naive *v, int neighbours, int64_t dx, int64_t dy, int64_t dz)
{
    const int64_t apart[3] = {dx * dx, dy * dy, dz * dz}, axis = v->options->slice_axis;
    const int64_t steps = apart[0] + apart[1] + apart[2];
    if (steps == 0 || (axis >= 0 && apart[axis])) return false;
    if (neighbours == 6 || neighbours == 4) return steps == 1;
    return neighbours != 18 || steps <= 2;
}

/* Number the pieces of equal voxels in raster order, of those that are 0 or of the others. Returns
 * how many there are. */
static int64_t number(int64_t *piece, const naive *v, int neighbours, bool zeros)
{
    int64_t *queue = room(v->n, sizeof *queue), count = 0, at[3];
    memset(piece, 0, (size_t)v->n * sizeof *piece);
    for (int64_t i = 0; i < v->n; i++) {
        int64_t head = 0, tail = 0;
        if (piece[i] || (v->label[i] == 0) != zeros) continue;
        piece[i] = ++count;
        queue[tail++] = i;
        while (head < tail) {
            place(at, v, queue[head++]);
            for (int64_t dz = -1; dz <= 1; dz++)
                for (int64_t dy = -1; dy <= 1; dy++)
                    for (int64_t dx = -1; dx <= 1; dx++) {
                        const int64_t j = voxel_at(v, at, dx, dy, dz);
                        if (j < 0 || !joins(v, neighbours, dx, dy, dz)) continue;
                        if (piece[j] || v->label[j] != v->label[i]) continue;
                        piece[j] = count;
                        queue[tail++] = j;
                    }
        }
    }
    free(queue);
    return count;
}

static void choose(naive *v, const lob_labels_step *step)
{
    int64_t *piece = room(v->n, sizeof *piece);
    const int64_t count = number(piece, v, v->options->neighbours, false);
    int64_t *size = room(count, sizeof *size);
    int32_t *owner = room(count, sizeof *owner);
    for (int64_t i = 0; i < v->n; i++)
        if (piece[i]) {
            size[piece[i] - 1]++;
            owner[piece[i] - 1] = v->label[i];
        }
    for (int64_t i = 0; i < v->n; i++) {
        if (!piece[i]) continue;
        const int64_t own = piece[i] - 1;
        int64_t before = 0; /* pieces of the label that come before this one */
        for (int64_t k = 0; k < count; k++)
            before += owner[k] == owner[own] &&
                      (size[k] > size[own] || (size[k] == size[own] && k < own));
        if (step->kind == LOB_LABELS_SPLIT)
            v->label[i] = (int32_t)piece[i];
        else if (step->kind == LOB_LABELS_LARGEST ? before >= step->count : size[own] < step->count)
            v->label[i] = 0;
    }
    free(owner);
    free(size);
    free(piece);
}

static bool on_border(const naive *v, const int64_t at[3])
{
    for (int a = 0; a < 3; a++)
        if (a != v->options->slice_axis && v->side[a] > 1 &&
            (at[a] == 0 || at[a] == v->side[a] - 1))
            return true;
    return false;
}

static const int face[6][3] = {
    {1,  0,  0 },
    {-1, 0,  0 },
    {0,  1,  0 },
    {0,  -1, 0 },
    {0,  0,  1 },
    {0,  0,  -1}
};

/* The piece of a label with which a piece of background shares most faces; 0: it is no hole. */
static int64_t piece_around(const naive *v, const int64_t *zeros, int64_t which,
                            const int64_t *piece, int64_t pieces)
{
    int64_t at[3], best = 0;
    int64_t *faces = room(pieces, sizeof *faces);
    bool border = false;
    for (int64_t i = 0; i < v->n && !border; i++) {
        if (zeros[i] != which) continue;
        place(at, v, i);
        border = on_border(v, at);
        for (int f = 0; f < 6; f++) {
            const int64_t j = voxel_at(v, at, face[f][0], face[f][1], face[f][2]);
            if (v->options->slice_axis != f / 2 && j >= 0 && piece[j]) faces[piece[j]]++;
        }
    }
    for (int64_t k = 1; k <= pieces && !border; k++)
        if (faces[k] > faces[best]) best = k;
    free(faces);
    return best;
}

static void fill_holes(naive *v)
{
    const int own = v->options->neighbours;
    const int other = own == 6 ? 26 : own == 4 ? 8 : own == 8 ? 4 : 6;
    int64_t *zeros = room(v->n, sizeof *zeros), *piece = room(v->n, sizeof *piece);
    const int64_t count = number(zeros, v, other, true), pieces = number(piece, v, own, false);
    int32_t *label = room(pieces, sizeof *label), *fill = room(count, sizeof *fill);
    for (int64_t i = 0; i < v->n; i++) label[piece[i]] = v->label[i];
    for (int64_t k = 1; k <= count; k++) fill[k] = label[piece_around(v, zeros, k, piece, pieces)];
    for (int64_t i = 0; i < v->n; i++)
        if (zeros[i]) v->label[i] = fill[zeros[i]];
    free(fill);
    free(label);
    free(piece);
    free(zeros);
}

/* ---- neighbourhoods ---- */

static void boundary(naive *v)
{
    int32_t *to = room(v->n, sizeof *to);
    int64_t at[3];
    for (int64_t i = 0; i < v->n; i++) {
        place(at, v, i);
        for (int f = 0; f < 6; f++) {
            const int64_t j = voxel_at(v, at, face[f][0], face[f][1], face[f][2]);
            if (v->options->slice_axis != f / 2 && j >= 0 && v->label[j] != v->label[i])
                to[i] = v->label[i];
        }
    }
    free(v->label);
    v->label = to;
}

static void slips(naive *v)
{
    int32_t *to = room(v->n, sizeof *to);
    int64_t at[3];
    for (int64_t i = 0; i < v->n; i++) {
        int same = 0, others = 0;
        place(at, v, i);
        for (int n = 0; n < 27; n++) {
            const int by[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
            const int axis = v->options->slice_axis;
            const int64_t j = voxel_at(v, at, by[0], by[1], by[2]);
            if (j < 0 || j == i || (axis >= 0 && by[axis] != 0)) continue;
            same += v->label[j] == v->label[i];
            others += v->label[j] != 0 && v->label[j] != v->label[i];
        }
        to[i] = same < 2 && others > same ? 0 : v->label[i];
    }
    free(v->label);
    v->label = to;
}

/* Weights of one axis as label_steps.h has them; returns the radius. */
static int weights(int64_t *w, const lob_labels_step *step, double length)
{
    if (step->kind == LOB_LABELS_MEDIAN) {
        const int r = (int)(length + 1e-6);
        for (int k = 0; k <= 2 * r; k++) w[k] = 1;
        return r;
    }
    const int r = (int)(3 * length + 0.5);
    double total = 1, sum = 0;
    for (int k = 1; k <= r; k++) total += 2 * exp(-0.5 * k * k / (length * length));
    int64_t before = 0;
    for (int k = 1; k <= r; k++) {
        sum += exp(-0.5 * k * k / (length * length));
        const int64_t after = (int64_t)floor(1024 * sum / total + 0.5);
        w[r + k] = w[r - k] = after - before;
        before = after;
    }
    w[r] = 1024 - 2 * before;
    return r;
}

/* Offsets within a radius that lead to voxels of the volume. */
static void offsets_inside(int low[3], int high[3], const naive *v, const int64_t at[3],
                           const int radius[3])
{
    for (int a = 0; a < 3; a++) {
        const int64_t left = v->side[a] - 1 - at[a];
        low[a] = at[a] < radius[a] ? -(int)at[a] : -radius[a];
        high[a] = left < radius[a] ? (int)left : radius[a];
    }
}

/* Is there a voxel within the reach with this label and fate? */
static bool near(const naive *v, const int64_t at[3], const int reach[3], const char *fate,
                 char what, int32_t label)
{
    int low[3], high[3];
    offsets_inside(low, high, v, at, reach);
    for (int dz = low[2]; dz <= high[2]; dz++)
        for (int dy = low[1]; dy <= high[1]; dy++)
            for (int dx = low[0]; dx <= high[0]; dx++) {
                const int64_t j = voxel_at(v, at, dx, dy, dz);
                if (fate[j] == what && v->label[j] == label) return true;
            }
    return false;
}

static void keep_thin(int32_t *to, const naive *v, const int reach[3])
{
    char *fate = room(v->n, 1), *thin = room(v->n, 1);
    int64_t at[3];
    for (int64_t i = 0; i < v->n; i++)
        fate[i] = v->label[i] == 0 ? ' ' : v->label[i] == to[i] ? 's' : 'l';
    for (int64_t i = 0; i < v->n; i++) {
        place(at, v, i);
        if (fate[i] == 'l' && !near(v, at, reach, fate, 's', v->label[i])) thin[i] = 't';
    }
    for (int64_t i = 0; i < v->n; i++) {
        place(at, v, i);
        if (fate[i] == 'l' && near(v, at, reach, thin, 't', v->label[i])) to[i] = v->label[i];
    }
    free(thin);
    free(fate);
}

static void majority(naive *v, const lob_labels_step *step)
{
    enum { TAPS = 2 * LOB_LABELS_MAX_RADIUS + 1 };
    int64_t w[3][TAPS], at[3];
    int r[3], reach[3];
    int32_t *to = room(v->n, sizeof *to), *list = room(v->n, sizeof *list);
    const int64_t labels = list_labels(list, v);
    int64_t *sum = room(labels + 1, sizeof *sum);
    for (int a = 0; a < 3; a++) {
        r[a] = weights(w[a], step, along(v, step, a));
        reach[a] = (int)(2 * along(v, step, a) + 0.5);
    }
    for (int64_t i = 0; i < v->n; i++) {
        memset(sum, 0, (size_t)(labels + 1) * sizeof *sum);
        place(at, v, i);
        int low[3], high[3];
        offsets_inside(low, high, v, at, r);
        for (int dz = low[2]; dz <= high[2]; dz++)
            for (int dy = low[1]; dy <= high[1]; dy++)
                for (int dx = low[0]; dx <= high[0]; dx++) {
                    const int64_t j = voxel_at(v, at, dx, dy, dz);
                    int64_t k = 0;
                    while (k < labels && list[k] < v->label[j]) k++;
                    sum[v->label[j] ? k + 1 : 0] +=
                        w[0][r[0] + dx] * w[1][r[1] + dy] * w[2][r[2] + dz];
                }
        int64_t best = 0, own = 0;
        for (int64_t k = 0; k <= labels; k++) {
            if (sum[k] > sum[best]) best = k;
            if (k > 0 && list[k - 1] == v->label[i]) own = k;
        }
        if (step->kind == LOB_LABELS_MEDIAN && sum[own] == sum[best]) best = own;
        to[i] = best ? list[best - 1] : 0;
    }
    if (step->kind == LOB_LABELS_SMOOTH) keep_thin(to, v, reach);
    free(sum);
    free(list);
    free(v->label);
    v->label = to;
}

/* One dilation or erosion with all voxels of a ball. */
static void ball(naive *v, const lob_labels_step *step, bool grow)
{
    const double most = step->length * step->length * (1 + 1e-6);
    int32_t *to = room(v->n, sizeof *to);
    int64_t at[3], other[3];
    for (int64_t i = 0; i < v->n; i++) {
        double nearest = INFINITY;
        to[i] = v->label[i];
        place(at, v, i);
        if ((v->label[i] == 0) != grow) continue;
        for (int64_t j = 0; j < v->n; j++) {
            double squared = 0;
            place(other, v, j);
            for (int a = 0; a < 3; a++) {
                const double apart = (double)(other[a] - at[a]);
                const double each = step->voxels ? 1 : v->in->spacing_mm[a];
                if (a == v->options->slice_axis && other[a] != at[a]) squared = INFINITY;
                squared += apart * apart * each * each;
            }
            if (squared > most) continue;
            if (!grow && v->label[j] != v->label[i]) to[i] = 0;
            if (!grow || v->label[j] == 0 || squared > nearest) continue;
            if (squared < nearest || v->label[j] < to[i]) to[i] = v->label[j];
            nearest = squared;
        }
    }
    free(v->label);
    v->label = to;
}

static void morphology(naive *v, const lob_labels_step *step)
{
    const lob_labels_kind kind = step->kind;
    int32_t *before = room(v->n, sizeof *before);
    memcpy(before, v->label, (size_t)v->n * sizeof *before);
    ball(v, step, kind == LOB_LABELS_DILATE || kind == LOB_LABELS_CLOSE);
    if (kind == LOB_LABELS_OPEN) ball(v, step, true);
    if (kind == LOB_LABELS_CLOSE) ball(v, step, false);
    for (int64_t i = 0; i < v->n && kind == LOB_LABELS_CLOSE; i++)
        if (before[i]) v->label[i] = before[i];
    free(before);
}

/* ---- the chain ---- */

static void do_step(naive *v, const lob_labels_step *step)
{
    switch (step->kind) {
    case LOB_LABELS_RECODE:
        recode(v, step);
        return;
    case LOB_LABELS_SEQUENTIAL:
        sequential(v);
        return;
    case LOB_LABELS_SPLIT:
    case LOB_LABELS_LARGEST:
    case LOB_LABELS_MIN_SIZE:
        choose(v, step);
        return;
    case LOB_LABELS_FILL_HOLES:
        fill_holes(v);
        return;
    case LOB_LABELS_BOUNDARY:
        boundary(v);
        return;
    case LOB_LABELS_SLIPS:
        slips(v);
        return;
    case LOB_LABELS_SMOOTH:
    case LOB_LABELS_MEDIAN:
        majority(v, step);
        return;
    default:
        morphology(v, step);
    }
}

void labels_reference(int32_t *labels, const lob_labels_input *in,
                      const lob_labels_options *options)
{
    naive v = {
        .in = in,
        .options = options,
        .side = {in->dims.nx, in->dims.ny, in->dims.nz},
        .n = lob_dims_voxels(in->dims),
    };
    int32_t *came = room(v.n, sizeof *came);
    v.label = room(v.n, sizeof *v.label);
    for (int64_t i = 0; i < v.n; i++) {
        const int32_t number_of = lob_label_at(in->labels, in->type, i);
        came[i] = v.label[i] = number_of ? in->values[number_of - 1] : 0;
    }
    for (int s = 0; s < in->step_count; s++) do_step(&v, &in->steps[s]);
    for (int64_t i = 0; i < v.n; i++) labels[i] = in->mask && !in->mask[i] ? came[i] : v.label[i];
    free(v.label);
    free(came);
}

const char *labels_result_differs(const lob_labels_output *a, const lob_labels_output *b,
                                  const lob_labels_input *in)
{
    if (a->type != b->type) return "types";
    if (a->count != b->count) return "counts";
    for (int s = 0; s < in->step_count; s++) {
        const lob_labels_done *x = &a->done[s], *y = &b->done[s];
        if (x->labels != y->labels || x->pieces != y->pieces || x->kept != y->kept ||
            x->pair_count != y->pair_count)
            return "what a step did";
        if (x->pair_count > 0 &&
            memcmp(x->pairs, y->pairs, (size_t)x->pair_count * sizeof *x->pairs) != 0)
            return "what labels became";
    }
    const size_t bytes = (size_t)lob_dims_voxels(in->dims) * lob_type_of(a->type)->bytes;
    return memcmp(a->labels, b->labels, bytes) == 0 ? NULL : "labels";
}
