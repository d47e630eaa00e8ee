/* Measures of a partition: a pass for pairs of labels, one for faces, and one for each other. */
#include "kernels/scores/partition.h"

#include "kernels/budget.h"
#include "kernels/distance/distance.h"
#include "kernels/labels/label_rows.h"
#include "kernels/levels/levels.h"
#include "kernels/scores/instances.h"

#include <math.h>
#include <omp.h>
#include <string.h>

_Static_assert((int)LOB_PARTITION_MAX_CHANNELS <= (int)LOB_LEVELS_MAX_CHANNELS,
               "levels take these");

/* Working memory of a thread: a row of voxels and the rows beside it. A cell is a label, or a label
 * of the truth + 1; 0: not measured. */
typedef struct {
    uint32_t *own;
    uint32_t *beside[4]; /* towards -y, +y, -z, +z */
    uint8_t *boundary;   /* 1: a boundary voxel */
} rows;

enum { ROW_CELLS = 5, VOXEL_BYTES = ROW_CELLS * sizeof(uint32_t) + 1 };

/* A call. */
typedef struct {
    const lob_partition_input *in;
    const lob_context *context;
    lob_error *error;
    lob_budget budget;
    lob_dims dims;
    int64_t voxels, row_count;
    int axis;       /* slices lie across it and have no faces there; -1: none */
    int64_t labels; /* in->label_count + 1 */
    uint8_t *set;   /* voxels: boundary voxels, or voxels that are measured */
    rows *thread;   /* threads; what they point to lies behind them */
} call;

/* ---- rows ---- */

static int64_t rows_bytes(const call *c)
{
    return c->context->threads * ((int64_t)sizeof *c->thread + c->dims.nx * VOXEL_BYTES);
}

static lob_status alloc_rows(call *c)
{
    const int64_t nx = c->dims.nx, threads = c->context->threads;
    LOB_TRY(lob_budget_alloc(&c->budget, &c->thread, rows_bytes(c), 1, c->error));
    uint32_t *const cells = (uint32_t *)(c->thread + threads);
    for (int64_t t = 0; t < threads; t++) {
        rows *const r = &c->thread[t];
        r->own = cells + t * ROW_CELLS * nx;
        for (int k = 0; k < 4; k++) r->beside[k] = r->own + (k + 1) * nx;
        r->boundary = (uint8_t *)(cells + threads * ROW_CELLS * nx) + t * nx;
    }
    return LOB_OK;
}

static void labels_of_row(uint32_t *out, const call *c, int64_t row)
{
    const lob_volume *const v = c->in->labels;
    lob_labels_load((int32_t *)out, v->data, v->type, row * c->dims.nx, c->dims.nx);
}

static void truth_of_row(uint32_t *out, const call *c, int64_t row)
{
    const lob_volume *const v = c->in->truth;
    const int64_t nx = c->dims.nx, first = row * nx;
    labels_of_row(out, c, row);
    for (int64_t x = 0; x < nx; x++)
        out[x] = out[x] ? (uint32_t)lob_label_at(v->data, v->type, first + x) + 1 : 0;
}

/* Load a row of labels or of the truth, and the rows beside it. */
static void load_rows(rows *r, const call *c, bool truth, int64_t row)
{
    void (*const load)(uint32_t *, const call *, int64_t) = truth ? truth_of_row : labels_of_row;
    const int64_t y = row % c->dims.ny, z = row / c->dims.ny;
    const struct {
        int64_t row;
        bool there;
    } near[4] = {
        {row - 1,          c->axis != 1 && y > 0             },
        {row + 1,          c->axis != 1 && y + 1 < c->dims.ny},
        {row - c->dims.ny, c->axis != 2 && z > 0             },
        {row + c->dims.ny, c->axis != 2 && z + 1 < c->dims.nz},
    };
    load(r->own, c, row);
    for (int k = 0; k < 4; k++)
        if (near[k].there)
            load(r->beside[k], c, near[k].row);
        else
            memset(r->beside[k], 0, (size_t)c->dims.nx * sizeof(uint32_t));
}

static uint8_t differs(uint32_t own, uint32_t other)
{
    return own && other && own != other;
}

static void mark_boundary(const rows *r, const call *c)
{
    const int64_t nx = c->dims.nx;
    for (int64_t x = 0; x < nx; x++) {
        r->boundary[x] = 0;
        for (int k = 0; k < 4; k++) r->boundary[x] |= differs(r->own[x], r->beside[k][x]);
    }
    if (c->axis == 0) return;
    for (int64_t x = 1; x < nx; x++) {
        const uint8_t edge = differs(r->own[x - 1], r->own[x]);
        r->boundary[x - 1] |= edge;
        r->boundary[x] |= edge;
    }
}

/* ---- counts ---- */

static void add(int64_t *sum, int64_t n)
{
#pragma omp atomic
    *sum += n;
}

/* Faces across y (k = 0) or z (k = 2) between voxels x0..x1-1 of a label and anything else. */
static int64_t faces_beside(const rows *r, int k, int64_t x0, int64_t x1)
{
    const uint32_t own = r->own[x0];
    int64_t faces = 0;
    for (int64_t x = x0; x < x1; x++)
        faces += (r->beside[k][x] != own) + (r->beside[k + 1][x] != own);
    return faces;
}

/* Add the faces of a row by stretches of the same label. faces: labels * 3, towards anything else
 * across x, y, z; those of 0 are not used. */
static void count_faces(int64_t *faces, const rows *r, const call *c)
{
    const int64_t nx = c->dims.nx;
    for (int64_t x = 0, end; x < nx; x = end) {
        const uint32_t own = r->own[x];
        for (end = x + 1; end < nx && r->own[end] == own;) end++;
        if (own == 0) continue;
        if (c->axis != 0) add(&faces[3 * own], 2);
        if (c->axis != 1) add(&faces[3 * own + 1], faces_beside(r, 0, x, end));
        if (c->axis != 2) add(&faces[3 * own + 2], faces_beside(r, 2, x, end));
    }
}

/* Count the faces of all rows; boundary voxels of the labels, whose number is returned, go into
 * c->set. */
static int64_t count_rows(int64_t *faces, const call *c)
{
    int64_t found = 0;
#pragma omp parallel for num_threads(c->context->threads) schedule(static) reduction(+ : found)
    for (int64_t row = 0; row < c->row_count; row++) {
        rows *const r = &c->thread[omp_get_thread_num()];
        load_rows(r, c, false, row);
        count_faces(faces, r, c);
        mark_boundary(r, c);
        memcpy(c->set + row * c->dims.nx, r->boundary, (size_t)c->dims.nx);
        for (int64_t x = 0; x < c->dims.nx; x++) found += r->boundary[x];
    }
    return found;
}

/* ---- measures from the counts ---- */

/* Under-segmentation, accuracy and the number of regions. common: labels, all 0. */
static void measure_pairs(lob_partition *out, const lob_instances *pairs, int64_t *common,
                          int64_t labels)
{
    int64_t covering = 0, smaller = 0, best = 0;
    for (int64_t t = 0; t <= pairs->truth_count; t++) out->regions += pairs->truth_voxels[t] > 0;
    for (int64_t i = 0; i < pairs->pair_count; i++) {
        const lob_instances_pair *const pair = &pairs->pairs[i];
        if (!pair->label) { /* a region may lie outside */
            out->regions -= pair->common == pairs->truth_voxels[pair->truth];
            continue;
        }
        const int64_t all = pairs->label_voxels[pair->label], rest = all - pair->common;
        if (20 * pair->common > all) covering += all;
        smaller += pair->common < rest ? pair->common : rest;
        if (pair->common > common[pair->label]) common[pair->label] = pair->common;
    }
    for (int64_t k = 1; k < labels; k++) best += common[k];
    const double n = (double)out->voxels;
    out->under_segmentation = (double)(covering - out->voxels) / n;
    out->under_segmentation_np = (double)smaller / n;
    out->achievable_accuracy = (double)best / n;
}

static double face_box(const double mm[3], int axis)
{
    return mm[axis == 0 ? 1 : 0] * mm[axis == 2 ? 1 : 2];
}

/* The mean of isoperimetric quotients over voxels, summed in the order of labels. */
static double mean_quotient(const int64_t *faces, const int64_t *voxels, const call *c, int64_t all)
{
    const double pi = 3.14159265358979323846;
    const lob_geometry *const g = &c->in->labels->geometry;
    const double *const mm = g->spacing_mm, box = mm[0] * mm[1] * mm[2];
    const double thick = c->axis < 0 ? 1.0 : mm[c->axis]; /* of a slice, which does not count */
    /* A voxel's share of the box that the spacings span; in slices that of its face. */
    const double share =
        c->axis < 0 ? lob_voxel_mm3(g) / box : lob_face_mm2(g, c->axis) / face_box(mm, c->axis);
    double sum = 0.0, face_mm[3];
    for (int a = 0; a < 3; a++)
        face_mm[a] =
            box / (mm[a] * thick) * (c->axis < 0 ? lob_face_mm2(g, a) / face_box(mm, a) : 1.0);
    for (int64_t k = 1; k < c->labels; k++) {
        if (!voxels[k]) continue;
        double inside = (double)voxels[k], around = 0.0;
        for (int a = 0; a < 3; a++) {
            if (a == c->axis) continue;
            inside *= mm[a];
            around += (double)faces[3 * k + a] * face_mm[a];
        }
        inside *= share;
        const double quotient = c->axis < 0 ? 36 * pi * inside * inside / (around * around * around)
                                            : 4 * pi * inside / (around * around);
        sum += (double)voxels[k] * quotient;
    }
    return sum / (double)all;
}

/* The pairs of labels and regions, whose voxels are counted. */
static lob_status count_pairs(lob_instances *pairs, call *c)
{
    const lob_partition_input *const in = c->in;
    lob_context quiet = lob_budget_inner(&c->budget, c->context);
    quiet.progress = NULL;
    const lob_status st = lob_instances_count(pairs, in->truth, in->truth_count, in->labels,
                                              in->label_count, &quiet, c->error);
    return st != LOB_ENOMEM
               ? st
               : lob_fail(c->error, st, "no memory to count pairs of supervoxels and regions");
}

/* Measures of the counts; one block has the faces of labels, and a number of each for the pairs. */
static lob_status measure_counts(lob_partition *out, const lob_instances *pairs, call *c)
{
    enum { LABEL_BYTES = 4 * sizeof(int64_t) };
    int64_t *faces;
    for (int64_t k = 1; k < c->labels; k++) {
        out->voxels += pairs->label_voxels[k];
        out->supervoxels += pairs->label_voxels[k] > 0;
    }
    if (out->voxels == 0)
        return lob_fail(c->error, LOB_EDATA, "there is no supervoxel: every label is 0");
    LOB_TRY(lob_budget_calloc(&c->budget, &faces, c->labels, LABEL_BYTES, c->error));
    out->contour_density = (double)count_rows(faces, c) / (double)out->voxels;
    out->compactness = mean_quotient(faces, pairs->label_voxels, c, out->voxels);
    measure_pairs(out, pairs, faces + 3 * c->labels, c->labels);
    lob_budget_free(&c->budget, faces, c->labels, LABEL_BYTES);
    return LOB_OK;
}

/* ---- boundary recall ---- */

static lob_status measure_recall(lob_partition *out, const lob_partition_options *options, call *c)
{
    const int threads = c->context->threads;
    double spacing[3] = {1.0, 1.0, 1.0};
    if (!options->in_voxels) memcpy(spacing, c->in->labels->geometry.spacing_mm, sizeof spacing);
    if (c->axis >= 0) spacing[c->axis] = INFINITY; /* out of reach */
    /* A distance that differs from the tolerance only by rounding is within it. */
    const float limit = (float)(options->tolerance * options->tolerance * (1.0 + 1e-6));

    float *squared;
    const int64_t working = lob_distance_bytes(c->dims, threads);
    LOB_TRY(lob_budget_hold(&c->budget, working, c->error));
    lob_status st = lob_budget_alloc(&c->budget, &squared, c->voxels, sizeof *squared, c->error);
    if (st == LOB_OK) {
        st = lob_distance_squared(squared, c->set, c->dims, spacing, threads);
        if (st != LOB_OK) lob_fail(c->error, st, "no memory for distances to boundaries");
    }
    if (st == LOB_OK) {
        int64_t boundary = 0, found = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : boundary, found)
        for (int64_t row = 0; row < c->row_count; row++) {
            rows *const r = &c->thread[omp_get_thread_num()];
            load_rows(r, c, true, row);
            mark_boundary(r, c);
            for (int64_t x = 0; x < c->dims.nx; x++) {
                boundary += r->boundary[x];
                found += r->boundary[x] && squared[row * c->dims.nx + x] <= limit;
            }
        }
        if (boundary) out->boundary_recall = (double)found / (double)boundary;
    }
    lob_budget_free(&c->budget, squared, c->voxels, sizeof *squared);
    lob_budget_release(&c->budget, working);
    return st;
}

/* ---- explained variation ---- */

/* Sums of levels over each supervoxel, and of their squares over all. */
typedef struct {
    int64_t *voxels;    /* labels */
    int64_t *level;     /* labels * channels */
    uint64_t square[2]; /* sums of the low and of the high 32 bits of each row's sum */
} level_sums;

/* Add the levels of a row by stretches of the same label. is_data: which voxels have levels. */
static void add_levels(const level_sums *sums, uint64_t square[2], const uint32_t *labels,
                       const uint8_t *is_data, const uint16_t *level, int channel, const call *c)
{
    const int64_t nx = c->dims.nx;
    uint64_t row_square = 0;
    for (int64_t x = 0, end; x < nx; x = end) {
        const int64_t label = is_data[x] ? labels[x] : 0;
        int64_t sum = 0;
        for (end = x; end < nx && (is_data[end] ? labels[end] : 0) == label; end++) {
            sum += level[end];
            row_square += (uint64_t)level[end] * level[end];
        }
        if (!label) continue;
        add(&sums->level[label * c->in->image->channels + channel], sum);
        if (channel == 0) add(&sums->voxels[label], end - x);
    }
    square[0] += row_square & UINT32_MAX;
    square[1] += row_square >> 32;
}

/* memory: nx levels per thread. */
static void sum_levels(level_sums *sums, const call *c, const lob_levels *levels,
                       const lob_data *data, uint16_t *memory)
{
    const lob_view view = lob_view_whole(c->dims);
    const int64_t nx = c->dims.nx;
    uint64_t low = 0, high = 0;
#pragma omp parallel for num_threads(c->context->threads) schedule(static) reduction(+ : low, high)
    for (int64_t row = 0; row < c->row_count; row++) {
        const int t = omp_get_thread_num();
        const int64_t y = row % c->dims.ny, z = row / c->dims.ny;
        uint32_t *const labels = c->thread[t].own;
        uint8_t *const is_data = c->thread[t].boundary;
        uint16_t *const level = memory + t * nx;
        uint64_t square[2] = {0, 0};
        labels_of_row(labels, c, row);
        lob_levels_data_row(is_data, data, &view, 0, y, z, nx);
        for (int channel = 0; channel < c->in->image->channels; channel++) {
            lob_levels_row(level, is_data, levels, data, channel, &view, 0, y, z, nx);
            add_levels(sums, square, labels, is_data, level, channel, c);
        }
        low += square[0];
        high += square[1];
    }
    sums->square[0] = low;
    sums->square[1] = high;
}

/* Variance between the supervoxels' means over that of all, each times the number of voxels. */
static double share_explained(const level_sums *sums, int64_t labels, int channels)
{
    double all = (double)sums->square[0] + (double)sums->square[1] * 4294967296.0, between = 0.0;
    for (int c = 0; c < channels; c++) {
        int64_t n = 0, sum = 0;
        for (int64_t k = 1; k < labels; k++) {
            n += sums->voxels[k];
            sum += sums->level[k * channels + c];
        }
        const double mean = (double)sum / (double)n;
        all -= mean * (double)sum;
        for (int64_t k = 1; k < labels; k++) {
            if (!sums->voxels[k]) continue;
            const double count = (double)sums->voxels[k];
            const double difference = (double)sums->level[k * channels + c] / count - mean;
            between += count * difference * difference;
        }
    }
    return between < all ? between / all : 1.0;
}

static lob_status measure_variation(lob_partition *out, call *c)
{
    const lob_volume *const image = c->in->image;
    const size_t label_bytes = (size_t)image->channels * sizeof(int64_t);
    const int64_t memory_size = c->context->threads * c->dims.nx;
    level_sums sums = {0};
    uint16_t *memory = NULL;
    lob_status st =
        lob_budget_calloc(&c->budget, &sums.voxels, c->labels, sizeof *sums.voxels, c->error);
    if (st == LOB_OK)
        st = lob_budget_calloc(&c->budget, &sums.level, c->labels, label_bytes, c->error);
    if (st == LOB_OK)
        st = lob_budget_alloc(&c->budget, &memory, memory_size, sizeof *memory, c->error);
    if (st == LOB_OK) {
        const lob_data data = {
            .image = image, .mask = c->set, .range = {-INFINITY, INFINITY}
        };
        const lob_view view = lob_view_whole(c->dims);
        lob_levels levels;
        uint16_t span[LOB_LEVELS_MAX_CHANNELS], widest = 0;
        for (int64_t i = 0; i < c->voxels; i++)
            c->set[i] = lob_label_at(c->in->labels->data, c->in->labels->type, i) != 0;
        lob_levels_scan(&levels, span, &data, &view, c->context->threads);
        for (int k = 0; k < image->channels; k++) widest = span[k] > widest ? span[k] : widest;
        if (levels.data_voxels > 0 && widest > 0) {
            sum_levels(&sums, c, &levels, &data, memory);
            out->explained_variation = share_explained(&sums, c->labels, image->channels);
        }
    }
    lob_budget_free(&c->budget, sums.voxels, c->labels, sizeof *sums.voxels);
    lob_budget_free(&c->budget, sums.level, c->labels, label_bytes);
    lob_budget_free(&c->budget, memory, memory_size, sizeof *memory);
    return st;
}

/* ---- all of them ---- */

static lob_status check(const lob_partition_input *in, const lob_partition_options *options,
                        lob_error *error)
{
    if (!(options->tolerance >= 0.0))
        return lob_fail(error, LOB_EARG, "the tolerance must be 0 or more, not %g",
                        options->tolerance);
    if (options->slice_axis < -1 || options->slice_axis > 2)
        return lob_fail(error, LOB_EARG, "slice axis %d: it must be 0, 1, 2 or -1",
                        options->slice_axis);
    if (in->image && !lob_same_dims(in->labels->dims, in->image->dims))
        return lob_fail(error, LOB_EDATA, "the volumes have different dimensions");
    if (in->image && in->image->channels > LOB_PARTITION_MAX_CHANNELS)
        return lob_fail(error, LOB_EDATA, "the image has %d channels; at most %d are measured",
                        in->image->channels, LOB_PARTITION_MAX_CHANNELS);
    return LOB_OK;
}

/* The slice axis; where none is given and a side is 1, the axis of that side. */
static int slice_axis_of(int given, lob_dims dims)
{
    for (int a = 2; a >= 0 && given < 0; a--)
        if (lob_side(dims, a) == 1) return a;
    return given;
}

/* LOB_ECANCEL when the caller wants to stop. */
static lob_status report(call *c, double done)
{
    const lob_context *context = c->context;
    if (!context->progress || !context->progress(context->user, done)) return LOB_OK;
    return lob_fail(c->error, LOB_ECANCEL, "measuring cancelled");
}

static lob_status measure(lob_partition *out, const lob_partition_options *options, call *c)
{
    lob_instances pairs;
    LOB_TRY(report(c, 0.0));
    LOB_TRY(count_pairs(&pairs, c));
    const int64_t bytes =
        pairs.pair_count * (int64_t)sizeof *pairs.pairs +
        (pairs.truth_count + pairs.label_count) * (int64_t)sizeof *pairs.label_voxels;
    lob_status st = lob_budget_hold(&c->budget, bytes, c->error);
    if (st == LOB_OK) st = alloc_rows(c);
    if (st == LOB_OK) st = lob_budget_alloc(&c->budget, &c->set, c->voxels, 1, c->error);
    if (st == LOB_OK) st = measure_counts(out, &pairs, c);
    lob_instances_free(&pairs);
    LOB_TRY(st);
    lob_budget_release(&c->budget, bytes);
    LOB_TRY(report(c, 0.4));
    LOB_TRY(measure_recall(out, options, c));
    LOB_TRY(report(c, 0.8));
    return c->in->image ? measure_variation(out, c) : LOB_OK;
}

lob_status lob_partition_measure(lob_partition *out, const lob_partition_input *in,
                                 const lob_partition_options *options, const lob_context *context,
                                 lob_error *error)
{
    *out = (lob_partition){.boundary_recall = NAN, .explained_variation = NAN};
    LOB_TRY(check(in, options, error));
    const lob_dims dims = in->labels->dims;
    call c = {
        .in = in,
        .context = context,
        .error = error,
        .budget = {.who = "measures of supervoxels", .limit = context->max_memory},
        .dims = dims,
        .voxels = lob_dims_voxels(dims),
        .row_count = dims.ny * dims.nz,
        .axis = slice_axis_of(options->slice_axis, dims),
        .labels = in->label_count + 1,
    };
    lob_status st = measure(out, options, &c);
    lob_budget_free(&c.budget, c.set, c.voxels, 1);
    lob_budget_free(&c.budget, c.thread, rows_bytes(&c), 1);
    return st;
}
