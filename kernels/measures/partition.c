/* Measures of an over-segmentation: one walk for counts and faces, one for each other measure. */
#include "kernels/measures/partition.h"

#include "kernels/distance/distance.h"
#include "kernels/levels/levels.h"
#include "kernels/measures/pair_table.h"
#include "volumes/labels.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A line of voxels and those beside it. Cells are a label, or a truth's label + 1; 0: not measured.
 */
typedef struct {
    uint32_t *own;
    uint32_t *beside[4]; /* towards -y, +y, -z, +z */
    uint32_t *truth;
    uint8_t *edge; /* 1: a boundary voxel */
    lob_status status;
} lines;

enum { LINE_CELLS = 6 };

/* What is known of each supervoxel; index 0 stands for what is not measured. */
typedef struct {
    int64_t *voxels;
    int64_t *faces; /* 3 a supervoxel: those across x, y, z towards anything else */
    int64_t *most;  /* the largest part in one region */
} census;

typedef struct {
    const lob_partition_input *in;
    const lob_context *context;
    lob_dims dims;
    int64_t voxels, line_count;
    int axis;       /* slices lie across it and have no faces there; -1: none do */
    int64_t labels; /* in->label_count + 1 */
    uint8_t *set;   /* a byte a voxel: boundary voxels, or those that are measured */
    lines *line;    /* one a thread */
} scene;

/* ---- lines ---- */

static void free_lines(scene *s)
{
    for (int t = 0; s->line && t < s->context->threads; t++) {
        free(s->line[t].own);
        free(s->line[t].edge);
    }
    free(s->line);
    s->line = NULL;
}

static lob_status make_lines(scene *s)
{
    const size_t nx = (size_t)s->dims.nx;
    s->line = calloc((size_t)s->context->threads, sizeof *s->line);
    if (!s->line) return LOB_ENOMEM;
    for (int t = 0; t < s->context->threads; t++) {
        lines *const l = &s->line[t];
        l->own = malloc(LINE_CELLS * nx * sizeof *l->own);
        l->edge = malloc(nx);
        if (!l->own || !l->edge) return LOB_ENOMEM;
        for (int k = 0; k < 4; k++) l->beside[k] = l->own + (size_t)(k + 1) * nx;
        l->truth = l->own + 5 * nx;
    }
    return LOB_OK;
}

static int64_t line_bytes(const scene *s)
{
    return s->context->threads * s->dims.nx * (LINE_CELLS * (int64_t)sizeof(uint32_t) + 1);
}

static void labels_of_line(uint32_t *out, const scene *s, int64_t line)
{
    const lob_volume *const v = s->in->labels;
    const int64_t nx = s->dims.nx, first = line * nx;
    for (int64_t x = 0; x < nx; x++) out[x] = (uint32_t)lob_label_at(v->data, v->type, first + x);
}

static void truth_of_line(uint32_t *out, const scene *s, int64_t line)
{
    const lob_volume *const v = s->in->truth;
    const int64_t nx = s->dims.nx, first = line * nx;
    labels_of_line(out, s, line);
    for (int64_t x = 0; x < nx; x++)
        out[x] = out[x] ? (uint32_t)lob_label_at(v->data, v->type, first + x) + 1 : 0;
}

/* Load a line of labels or of the truth with the lines beside it. */
static void load_lines(lines *l, const scene *s, bool truth, int64_t line)
{
    void (*const load)(uint32_t *, const scene *, int64_t) = truth ? truth_of_line : labels_of_line;
    const int64_t y = line % s->dims.ny, z = line / s->dims.ny;
    const struct {
        int64_t line;
        bool there;
    } near[4] = {
        {line - 1,          s->axis != 1 && y > 0             },
        {line + 1,          s->axis != 1 && y + 1 < s->dims.ny},
        {line - s->dims.ny, s->axis != 2 && z > 0             },
        {line + s->dims.ny, s->axis != 2 && z + 1 < s->dims.nz},
    };
    load(l->own, s, line);
    for (int k = 0; k < 4; k++)
        if (near[k].there)
            load(l->beside[k], s, near[k].line);
        else
            memset(l->beside[k], 0, (size_t)s->dims.nx * sizeof(uint32_t));
}

static uint8_t differs(uint32_t own, uint32_t other)
{
    return own && other && own != other;
}

static void mark_edges(const lines *l, const scene *s)
{
    const int64_t nx = s->dims.nx;
    for (int64_t x = 0; x < nx; x++) {
        l->edge[x] = 0;
        for (int k = 0; k < 4; k++) l->edge[x] |= differs(l->own[x], l->beside[k][x]);
    }
    if (s->axis == 0) return;
    for (int64_t x = 1; x < nx; x++) {
        const uint8_t edge = differs(l->own[x - 1], l->own[x]);
        l->edge[x - 1] |= edge;
        l->edge[x] |= edge;
    }
}

/* ---- what a walk over labels and truth counts ---- */

static void add(int64_t *sum, int64_t n)
{
#pragma omp atomic
    *sum += n;
}

/* Faces across y (k = 0) or z (k = 2) of voxels x0..x1-1 of one label towards anything else. */
static int64_t faces_beside(const lines *l, int k, int64_t x0, int64_t x1)
{
    const uint32_t own = l->own[x0];
    int64_t faces = 0;
    for (int64_t x = x0; x < x1; x++)
        faces += (l->beside[k][x] != own) + (l->beside[k + 1][x] != own);
    return faces;
}

/* Count a line, a run of the same label and region at a time. */
static lob_status count_line(const census *c, lob_pair_table *pairs, const lines *l, const scene *s)
{
    const int64_t nx = s->dims.nx;
    for (int64_t x = 0, end; x < nx; x = end) {
        const uint32_t own = l->own[x], region = l->truth[x];
        for (end = x + 1; end < nx && l->own[end] == own && l->truth[end] == region;) end++;
        if (own == 0) continue;
        if (own >= s->labels || region == 0 || region > s->in->truth_count + 1) return LOB_EDATA;
        add(&c->voxels[own], end - x);
        const int64_t ends = (x == 0 || l->own[x - 1] != own) + (end == nx || l->own[end] != own);
        if (s->axis != 0) add(&c->faces[3 * own], ends);
        if (s->axis != 1) add(&c->faces[3 * own + 1], faces_beside(l, 0, x, end));
        if (s->axis != 2) add(&c->faces[3 * own + 2], faces_beside(l, 2, x, end));
        const lob_status st = lob_pair_add(pairs, own, region, end - x);
        if (st != LOB_OK) return st;
    }
    return LOB_OK;
}

/* Walk over labels and truth; boundary voxels of the labels go into s->set. pairs: one a thread. */
static lob_status count_voxels(const census *c, lob_pair_table *pairs, int64_t *edges,
                               const scene *s)
{
    int64_t edge_voxels = 0;
#pragma omp parallel for num_threads(s->context->threads) schedule(static) reduction(+ : edge_voxels)
    for (int64_t line = 0; line < s->line_count; line++) {
        const int t = omp_get_thread_num();
        lines *const l = &s->line[t];
        if (l->status != LOB_OK) continue;
        load_lines(l, s, false, line);
        truth_of_line(l->truth, s, line);
        l->status = count_line(c, &pairs[t], l, s);
        mark_edges(l, s);
        memcpy(s->set + line * s->dims.nx, l->edge, (size_t)s->dims.nx);
        for (int64_t x = 0; x < s->dims.nx; x++) edge_voxels += l->edge[x];
    }
    *edges = edge_voxels;
    for (int t = 0; t < s->context->threads; t++)
        if (s->line[t].status != LOB_OK) return s->line[t].status;
    return LOB_OK;
}

/* ---- measures from the counts ---- */

/* Under-segmentation, accuracy and the number of regions. */
static lob_status measure_pairs(lob_partition *out, const census *c, const lob_pair_table *pairs,
                                const scene *s)
{
    uint8_t *const seen = calloc((size_t)s->in->truth_count + 2, 1);
    if (!seen) return LOB_ENOMEM;
    int64_t covering = 0, smaller = 0, best = 0;
    for (int64_t i = 0; i < pairs->slot_count; i++) {
        const lob_pair *const pair = &pairs->slots[i];
        if (!pair->count) continue;
        const int64_t all = c->voxels[pair->a], rest = all - pair->count;
        if (20 * pair->count > all) covering += all;
        smaller += pair->count < rest ? pair->count : rest;
        if (pair->count > c->most[pair->a]) c->most[pair->a] = pair->count;
        out->regions += !seen[pair->b];
        seen[pair->b] = 1;
    }
    for (int64_t k = 1; k < s->labels; k++) best += c->most[k];
    const double n = (double)out->voxels;
    out->under_segmentation = (double)(covering - out->voxels) / n;
    out->under_segmentation_np = (double)smaller / n;
    out->achievable_accuracy = (double)best / n;
    free(seen);
    return LOB_OK;
}

static double face_box(const double mm[3], int axis)
{
    return mm[axis == 0 ? 1 : 0] * mm[axis == 2 ? 1 : 2];
}

/* Isoperimetric quotients, weighted by voxels; summed in the order of labels. */
static double mean_quotient(const census *c, const scene *s, int64_t voxels)
{
    const double pi = 3.14159265358979323846;
    const lob_geometry *const g = &s->in->labels->geometry;
    const double *const mm = g->spacing_mm, box = mm[0] * mm[1] * mm[2];
    const double thick = s->axis < 0 ? 1.0 : mm[s->axis]; /* a slice's own, which does not count */
    /* Of what the spacings span, the share that a voxel, or its face in a slice, fills. */
    const double share =
        s->axis < 0 ? lob_voxel_mm3(g) / box : lob_face_mm2(g, s->axis) / face_box(mm, s->axis);
    double sum = 0.0, face_mm[3];
    for (int a = 0; a < 3; a++)
        face_mm[a] =
            box / (mm[a] * thick) * (s->axis < 0 ? lob_face_mm2(g, a) / face_box(mm, a) : 1.0);
    for (int64_t k = 1; k < s->labels; k++) {
        if (!c->voxels[k]) continue;
        double inside = (double)c->voxels[k], around = 0.0;
        for (int a = 0; a < 3; a++) {
            if (a == s->axis) continue;
            inside *= mm[a];
            around += (double)c->faces[3 * k + a] * face_mm[a];
        }
        inside *= share;
        const double quotient = s->axis < 0 ? 36 * pi * inside * inside / (around * around * around)
                                            : 4 * pi * inside / (around * around);
        sum += (double)c->voxels[k] * quotient;
    }
    return sum / (double)voxels;
}

static lob_status make_census(census *c, int64_t labels)
{
    c->voxels = calloc((size_t)labels, sizeof *c->voxels);
    c->faces = calloc((size_t)labels, 3 * sizeof *c->faces);
    c->most = calloc((size_t)labels, sizeof *c->most);
    return c->voxels && c->faces && c->most ? LOB_OK : LOB_ENOMEM;
}

static void free_census(census *c)
{
    free(c->voxels);
    free(c->faces);
    free(c->most);
}

static lob_status measure_counts(lob_partition *out, const scene *s, int64_t most)
{
    const int threads = s->context->threads;
    int64_t left = most - s->labels * 5 * (int64_t)sizeof(int64_t) - s->in->truth_count;
    if (left < 0) return LOB_ENOMEM;
    census c = {0};
    lob_pair_table *const pairs = calloc((size_t)threads, sizeof *pairs);
    lob_status st = make_census(&c, s->labels);
    if (!pairs) st = LOB_ENOMEM;
    for (int t = 0; pairs && t < threads; t++) pairs[t].left = &left;

    int64_t edges = 0;
    if (st == LOB_OK) st = count_voxels(&c, pairs, &edges, s);
    for (int t = 1; t < threads && st == LOB_OK; t++) {
        st = lob_pair_merge(&pairs[0], &pairs[t]);
        lob_pair_free(&pairs[t]);
    }
    if (st == LOB_OK) {
        for (int64_t k = 1; k < s->labels; k++) {
            out->voxels += c.voxels[k];
            out->supervoxels += c.voxels[k] > 0;
        }
        if (out->voxels > 0) {
            st = measure_pairs(out, &c, &pairs[0], s);
            out->compactness = mean_quotient(&c, s, out->voxels);
            out->contour_density = (double)edges / (double)out->voxels;
        }
    }
    for (int t = 0; pairs && t < threads; t++) lob_pair_free(&pairs[t]);
    free(pairs);
    free_census(&c);
    return st;
}

/* ---- boundary recall ---- */

static lob_status measure_recall(lob_partition *out, const scene *s,
                                 const lob_partition_options *options, int64_t most)
{
    const double out_of_reach = 1e9;
    double spacing[3] = {1.0, 1.0, 1.0};
    if (!options->in_voxels) memcpy(spacing, s->in->labels->geometry.spacing_mm, sizeof spacing);
    if (s->axis >= 0) spacing[s->axis] = out_of_reach;
    /* A distance that is the tolerance but for rounding counts as within it. */
    const float limit = (float)(options->tolerance * options->tolerance * (1.0 + 1e-6));

    const int64_t bytes = lob_product(s->voxels, sizeof(float), 1, 1);
    if (bytes < 0 || bytes > most - lob_distance_bytes(s->dims, s->context->threads))
        return LOB_ENOMEM;
    float *const squared = malloc((size_t)bytes);
    if (!squared) return LOB_ENOMEM;
    const lob_status st =
        lob_distance_squared(squared, s->set, s->dims, spacing, s->context->threads);
    if (st == LOB_OK) {
        int64_t edges = 0, found = 0;
#pragma omp parallel for num_threads(s->context->threads) schedule(static) \
    reduction(+ : edges, found)
        for (int64_t line = 0; line < s->line_count; line++) {
            lines *const l = &s->line[omp_get_thread_num()];
            load_lines(l, s, true, line);
            mark_edges(l, s);
            for (int64_t x = 0; x < s->dims.nx; x++) {
                edges += l->edge[x];
                found += l->edge[x] && squared[line * s->dims.nx + x] <= limit;
            }
        }
        if (edges) out->boundary_recall = (double)found / (double)edges;
    }
    free(squared);
    return st;
}

/* ---- explained variation ---- */

/* Sums of levels over each supervoxel, and of their squares over all. */
typedef struct {
    int64_t *voxels;    /* a supervoxel */
    int64_t *level;     /* channels a supervoxel */
    uint64_t square[2]; /* the low 32 bits of each line's sum, and the high ones */
} level_sums;

/* Add a line, a run of the same label at a time. */
static void add_levels(const level_sums *sums, uint64_t square[2], const lines *l,
                       const uint16_t *level, int channel, const scene *s)
{
    const int64_t nx = s->dims.nx;
    uint64_t line_square = 0;
    for (int64_t x = 0, end; x < nx; x = end) {
        const int64_t label = l->edge[x] ? l->own[x] : 0; /* the line's data is in edge here */
        int64_t sum = 0;
        for (end = x; end < nx && (l->edge[end] ? l->own[end] : 0) == label; end++) {
            sum += level[end];
            line_square += (uint64_t)level[end] * level[end];
        }
        if (!label) continue;
        add(&sums->level[label * s->in->image->channels + channel], sum);
        if (channel == 0) add(&sums->voxels[label], end - x);
    }
    square[0] += line_square & UINT32_MAX;
    square[1] += line_square >> 32;
}

static void sum_levels(level_sums *sums, const scene *s, const lob_levels *levels,
                       const lob_data *data, uint16_t *row)
{
    const lob_view view = lob_view_whole(s->dims);
    uint64_t low = 0, high = 0;
#pragma omp parallel for num_threads(s->context->threads) schedule(static) reduction(+ : low, high)
    for (int64_t line = 0; line < s->line_count; line++) {
        const int t = omp_get_thread_num();
        const lines *const l = &s->line[t];
        const int64_t nx = s->dims.nx, y = line % s->dims.ny, z = line / s->dims.ny;
        uint16_t *const level = row + t * nx;
        uint64_t square[2] = {0, 0};
        labels_of_line(l->own, s, line);
        lob_levels_data_row(l->edge, data, &view, 0, y, z, nx);
        for (int c = 0; c < s->in->image->channels; c++) {
            lob_levels_row(level, l->edge, levels, data, c, &view, 0, y, z, nx);
            add_levels(sums, square, l, level, c, s);
        }
        low += square[0];
        high += square[1];
    }
    sums->square[0] = low;
    sums->square[1] = high;
}

/* Variance between the supervoxels' means over that of all, each times the number of voxels. */
static double share_explained(const level_sums *sums, const scene *s)
{
    const int channels = s->in->image->channels;
    double all = (double)sums->square[0] + (double)sums->square[1] * 4294967296.0, between = 0.0;
    for (int c = 0; c < channels; c++) {
        int64_t n = 0, sum = 0;
        for (int64_t k = 1; k < s->labels; k++) {
            n += sums->voxels[k];
            sum += sums->level[k * channels + c];
        }
        const double mean = (double)sum / (double)n;
        all -= mean * (double)sum;
        for (int64_t k = 1; k < s->labels; k++) {
            if (!sums->voxels[k]) continue;
            const double count = (double)sums->voxels[k];
            const double apart = (double)sums->level[k * channels + c] / count - mean;
            between += count * apart * apart;
        }
    }
    return between < all ? between / all : 1.0;
}

static lob_status measure_variation(lob_partition *out, const scene *s, int64_t most)
{
    const lob_volume *const image = s->in->image;
    const int64_t words = lob_product(s->labels, image->channels + 1, sizeof(int64_t), 1);
    const int64_t row_bytes = s->context->threads * s->dims.nx * (int64_t)sizeof(uint16_t);
    if (words < 0 || words > most - row_bytes) return LOB_ENOMEM;
    level_sums sums = {.voxels = calloc((size_t)s->labels, sizeof(int64_t)),
                       .level =
                           calloc((size_t)s->labels, (size_t)image->channels * sizeof(int64_t))};
    uint16_t *const row = malloc((size_t)row_bytes);
    const lob_status st = sums.voxels && sums.level && row ? LOB_OK : LOB_ENOMEM;
    if (st == LOB_OK) {
        const lob_data data = {
            .image = image, .mask = s->set, .range = {-INFINITY, INFINITY}
        };
        const lob_view view = lob_view_whole(s->dims);
        lob_levels levels;
        uint16_t span[LOB_LEVELS_MAX_CHANNELS], widest = 0;
        for (int64_t i = 0; i < s->voxels; i++)
            s->set[i] = lob_label_at(s->in->labels->data, s->in->labels->type, i) != 0;
        lob_levels_scan(&levels, span, &data, &view, s->context->threads);
        for (int c = 0; c < image->channels; c++) widest = span[c] > widest ? span[c] : widest;
        if (levels.data_voxels > 0 && widest > 0) {
            sum_levels(&sums, s, &levels, &data, row);
            out->explained_variation = share_explained(&sums, s);
        }
    }
    free(sums.voxels);
    free(sums.level);
    free(row);
    return st;
}

/* ---- all of them ---- */

static bool is_label_type(lob_type type)
{
    return type == LOB_U8 || type == LOB_I16 || type == LOB_I32;
}

static bool same_dims(const lob_volume *a, const lob_volume *b)
{
    return a->dims.nx == b->dims.nx && a->dims.ny == b->dims.ny && a->dims.nz == b->dims.nz;
}

static lob_status check(const lob_partition_input *in, const lob_partition_options *options,
                        lob_error *error)
{
    if (!(options->tolerance >= 0.0))
        return lob_fail(error, LOB_EARG, "a tolerance is 0 or more, not %g", options->tolerance);
    if (options->slice_axis < -1 || options->slice_axis > 2)
        return lob_fail(error, LOB_EARG, "slices lie across axis 0, 1 or 2, not %d",
                        options->slice_axis);
    if (!same_dims(in->labels, in->truth) || (in->image && !same_dims(in->labels, in->image)))
        return lob_fail(error, LOB_EDATA, "the volumes have different dimensions");
    if (!is_label_type(in->labels->type) || !is_label_type(in->truth->type))
        return lob_fail(error, LOB_EDATA, "labels are uint8, int16 or int32");
    if (in->image && in->image->channels > LOB_LEVELS_MAX_CHANNELS)
        return lob_fail(error, LOB_EDATA, "the image has %d channels; at most %d are measured",
                        in->image->channels, LOB_LEVELS_MAX_CHANNELS);
    return LOB_OK;
}

/* One slice is an image: its axis, where the volume is one and nothing else was asked for. */
static int flat_axis(int asked, lob_dims dims)
{
    for (int a = 2; a >= 0 && asked < 0; a--)
        if (lob_side(dims, a) == 1) return a;
    return asked;
}

static bool cancelled(const lob_context *context, double done)
{
    return context->progress && context->progress(context->user, done);
}

static lob_status measure(lob_partition *out, scene *s, const lob_partition_options *options,
                          lob_error *error)
{
    const int64_t most = s->context->max_memory ? s->context->max_memory : INT64_MAX;
    const int64_t left = most - s->voxels - line_bytes(s);
    lob_status st = left < 0 ? LOB_ENOMEM : make_lines(s);
    if (st == LOB_OK && !(s->set = malloc((size_t)s->voxels))) st = LOB_ENOMEM;
    if (st != LOB_OK) return st;

    if (cancelled(s->context, 0.0)) return LOB_ECANCEL;
    st = measure_counts(out, s, left);
    if (st == LOB_EDATA) return lob_fail(error, st, "a label lies above the number of labels");
    if (st == LOB_OK && out->voxels == 0)
        return lob_fail(error, LOB_EDATA, "there is no supervoxel: every label is 0");
    if (st == LOB_OK && cancelled(s->context, 0.4)) st = LOB_ECANCEL;
    if (st == LOB_OK) st = measure_recall(out, s, options, left);
    if (st == LOB_OK && cancelled(s->context, 0.8)) st = LOB_ECANCEL;
    if (st == LOB_OK && s->in->image) st = measure_variation(out, s, left);
    return st;
}

lob_status lob_partition_measure(lob_partition *out, const lob_partition_input *in,
                                 const lob_partition_options *options, const lob_context *context,
                                 lob_error *error)
{
    *out = (lob_partition){.boundary_recall = NAN, .explained_variation = NAN};
    lob_status st = check(in, options, error);
    if (st != LOB_OK) return st;
    const lob_dims dims = in->labels->dims;
    scene s = {
        .in = in,
        .context = context,
        .dims = dims,
        .voxels = lob_dims_voxels(dims),
        .line_count = dims.ny * dims.nz,
        .axis = flat_axis(options->slice_axis, dims),
        .labels = in->label_count + 1,
    };
    st = measure(out, &s, options, error);
    if (st == LOB_ENOMEM) lob_fail(error, st, "no memory to measure the supervoxels");
    if (st == LOB_ECANCEL) lob_fail(error, st, "measuring cancelled");
    free_lines(&s);
    free(s.set);
    return st;
}
