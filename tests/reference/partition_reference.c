/* The measures of an over-segmentation, straight from their definitions: every sum by itself. */
#include "tests/reference/partition_reference.h"

#include <math.h>

enum { LABELS = 256 };

typedef struct {
    const uint8_t *labels, *truth;
    lob_dims d;
    int axis; /* across the slices; -1: none */
} label_pair;

static int64_t voxels_of(const label_pair *s)
{
    return s->d.nx * s->d.ny * s->d.nz;
}

/* The voxel beside i along an axis, or -1 outside the grid and in another slice. */
static int64_t beside(const label_pair *s, int64_t i, int axis, int step)
{
    int64_t at[3] = {i % s->d.nx, i / s->d.nx % s->d.ny, i / s->d.nx / s->d.ny};
    const int64_t side[3] = {s->d.nx, s->d.ny, s->d.nz};
    at[axis] += step;
    if (axis == s->axis || at[axis] < 0 || at[axis] >= side[axis]) return -1;
    return at[0] + s->d.nx * (at[1] + s->d.ny * at[2]);
}

static int is_edge(const label_pair *s, const uint8_t *what, int64_t i)
{
    for (int axis = 0; axis < 3; axis++)
        for (int step = -1; step <= 1; step += 2) {
            const int64_t j = beside(s, i, axis, step);
            if (j >= 0 && s->labels[i] && s->labels[j] && what[i] != what[j]) return 1;
        }
    return 0;
}

static double recall(const label_pair *s, const double mm[3], const lob_partition_options *options)
{
    int64_t edges = 0, found = 0;
    for (int64_t i = 0; i < voxels_of(s); i++) {
        if (!is_edge(s, s->truth, i)) continue;
        edges++;
        int near = 0;
        for (int64_t j = 0; j < voxels_of(s) && !near; j++) {
            const int64_t apart[3] = {i % s->d.nx - j % s->d.nx,
                                      i / s->d.nx % s->d.ny - j / s->d.nx % s->d.ny,
                                      i / s->d.nx / s->d.ny - j / s->d.nx / s->d.ny};
            double squared = 0.0;
            for (int a = 0; a < 3; a++)
                squared += pow((double)apart[a] * (options->in_voxels ? 1.0 : mm[a]), 2);
            if (s->axis >= 0 && apart[s->axis]) continue;
            near = sqrt(squared) <= options->tolerance * (1 + 1e-7) && is_edge(s, s->labels, j);
        }
        found += near;
    }
    return edges ? (double)found / (double)edges : NAN;
}

static double quotient(const label_pair *s, const double mm[3], int label)
{
    double inside = 0.0, around = 0.0;
    for (int64_t i = 0; i < voxels_of(s); i++) {
        if (s->labels[i] != label) continue;
        double voxel = 1.0;
        for (int axis = 0; axis < 3; axis++) {
            if (axis == s->axis) continue;
            voxel *= mm[axis];
            double face = 1.0;
            for (int other = 0; other < 3; other++)
                if (other != axis && other != s->axis) face *= mm[other];
            for (int step = -1; step <= 1; step += 2) {
                const int64_t j = beside(s, i, axis, step);
                if (j < 0 || s->labels[j] != label) around += face;
            }
        }
        inside += voxel;
    }
    const double pi = acos(-1.0);
    return s->axis < 0 ? 36 * pi * inside * inside / pow(around, 3)
                       : 4 * pi * inside / pow(around, 2);
}

static double variation(const label_pair *s, const double *image, int channels)
{
    const int64_t n = voxels_of(s);
    double all = 0.0, between = 0.0;
    for (int c = 0; c < channels; c++) {
        double sum[LABELS] = {0}, count[LABELS] = {0}, total = 0.0, number = 0.0;
        for (int64_t i = 0; i < n; i++) {
            int finite = 1;
            for (int other = 0; other < channels; other++)
                finite &= isfinite(image[other * n + i]) != 0;
            if (!finite || !s->labels[i]) continue;
            sum[s->labels[i]] += image[c * n + i];
            count[s->labels[i]] += 1;
            total += image[c * n + i];
            number += 1;
        }
        const double mean = total / number;
        for (int64_t i = 0; i < n; i++) {
            int finite = 1;
            for (int other = 0; other < channels; other++)
                finite &= isfinite(image[other * n + i]) != 0;
            const int k = s->labels[i];
            if (!finite || !k) continue;
            all += pow(image[c * n + i] - mean, 2);
            between += pow(sum[k] / count[k] - mean, 2);
        }
    }
    return all > 0.0 ? between / all : NAN;
}

/* What follows from the table of pairs. */
static void overlap(lob_partition *out, const label_pair *s)
{
    static int64_t table[LABELS][LABELS];
    int64_t covering = 0, smaller = 0, best = 0, region[LABELS] = {0};
    for (int k = 0; k < LABELS; k++)
        for (int g = 0; g < LABELS; g++) table[k][g] = 0;
    for (int64_t i = 0; i < voxels_of(s); i++) table[s->labels[i]][s->truth[i]]++;
    for (int k = 1; k < LABELS; k++) {
        int64_t all = 0, max = 0;
        for (int g = 0; g < LABELS; g++) all += table[k][g];
        for (int g = 0; g < LABELS; g++) {
            const int64_t both = table[k][g];
            if (100 * both > 5 * all) covering += all;
            smaller += both < all - both ? both : all - both;
            max = both > max ? both : max;
            region[g] += both;
        }
        best += max;
        out->voxels += all;
        out->supervoxels += all > 0;
    }
    for (int g = 0; g < LABELS; g++) out->regions += region[g] > 0;
    const double n = (double)out->voxels;
    out->under_segmentation = ((double)covering - n) / n;
    out->under_segmentation_np = (double)smaller / n;
    out->achievable_accuracy = (double)best / n;
}

void reference_partition(lob_partition *out, const uint8_t *labels, const uint8_t *truth,
                         const double *image, int channels, lob_dims dims,
                         const double spacing_mm[3], const lob_partition_options *options)
{
    label_pair s = {labels, truth, dims, options->slice_axis};
    if (s.axis < 0) s.axis = dims.nz == 1 ? 2 : dims.ny == 1 ? 1 : dims.nx == 1 ? 0 : -1;
    *out = (lob_partition){.explained_variation = NAN};
    overlap(out, &s);
    out->boundary_recall = recall(&s, spacing_mm, options);
    if (image) out->explained_variation = variation(&s, image, channels);
    int64_t edges = 0;
    double quotients[LABELS];
    for (int k = 1; k < LABELS; k++) quotients[k] = quotient(&s, spacing_mm, k);
    for (int64_t i = 0; i < voxels_of(&s); i++) {
        if (!labels[i]) continue;
        edges += is_edge(&s, labels, i);
        out->compactness += quotients[labels[i]] / (double)out->voxels;
    }
    out->contour_density = (double)edges / (double)out->voxels;
}
