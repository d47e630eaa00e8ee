/* Gaussian steps by their definition. */
#include "tests/reference/gaussian_reference.h"

#include <math.h>
#include <stdlib.h>

/* Weights along an axis, of order 0, 1 and 2. */
typedef struct {
    int64_t radius;
    double *weight[3]; /* 2 * radius + 1, the middle is weight[order][radius] */
} kernel;

/* One channel. */
typedef struct {
    const gaussian_case *c;
    lob_dims dims;
    kernel axis[3];
    double *value;
    bool *data;
    double largest;
} field;

static void *allocate(int64_t n, size_t size)
{
    void *const block = calloc((size_t)n, size);
    if (!block) exit(75);
    return block;
}

static kernel kernel_of(double sigma)
{
    kernel k = {.radius = sigma > 0 ? (int64_t)(4 * sigma + .5) : 0};
    double sum = 0, of_constant = 0;
    for (int order = 0; order < 3; order++)
        k.weight[order] = allocate(2 * k.radius + 1, sizeof(double));
    for (int64_t x = -k.radius; x <= k.radius; x++)
        sum += sigma > 0 ? exp(-.5 * (double)(x * x) / (sigma * sigma)) : 1;
    for (int64_t x = -k.radius; x <= k.radius; x++) {
        const double s2 = sigma > 0 ? sigma * sigma : 1, d = (double)x;
        const double g = exp(-.5 * d * d / s2) / sum;
        k.weight[0][k.radius + x] = g;
        k.weight[1][k.radius + x] = d / s2 * g;
        k.weight[2][k.radius + x] = (d * d / (s2 * s2) - 1 / s2) * g;
        of_constant += k.weight[2][k.radius + x];
    }
    for (int64_t i = 0; sigma < 1 && i <= 2 * k.radius; i++)
        k.weight[2][i] -= of_constant * k.weight[0][i];
    return k;
}

/* The position on an axis by numpy.pad's words; -1 outside. Walks, instead of computing. */
static int64_t folded(int64_t i, int64_t n, lob_edge edge)
{
    while (i < 0 || i >= n) {
        if (edge == LOB_EDGE_RENORMALISE || edge == LOB_EDGE_CONSTANT) return -1;
        if (edge == LOB_EDGE_NEAREST) return i < 0 ? 0 : n - 1;
        if (edge == LOB_EDGE_WRAP) i += i < 0 ? n : -n;
        if (edge == LOB_EDGE_REFLECT) i = i < 0 ? -1 - i : 2 * n - 1 - i;
        if (edge == LOB_EDGE_MIRROR) i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i;
    }
    return i;
}

/* Sums over the voxels around one: of weight * value of data, and of weight on data. */
typedef struct {
    double values, weights;
} sums;

static sums around(field *f, const int64_t at[3], const int order[3], lob_edge edge)
{
    sums s = {0, 0};
    const kernel *const k = f->axis;
    for (int64_t z = -k[2].radius; z <= k[2].radius; z++)
        for (int64_t y = -k[1].radius; y <= k[1].radius; y++)
            for (int64_t x = -k[0].radius; x <= k[0].radius; x++) {
                const double w = k[0].weight[order[0]][k[0].radius + x] *
                                 k[1].weight[order[1]][k[1].radius + y] *
                                 k[2].weight[order[2]][k[2].radius + z];
                const int64_t px = folded(at[0] + x, f->dims.nx, edge);
                const int64_t py = folded(at[1] + y, f->dims.ny, edge);
                const int64_t pz = folded(at[2] + z, f->dims.nz, edge);
                if (px < 0 || py < 0 || pz < 0) {
                    if (edge != LOB_EDGE_CONSTANT) continue;
                    s.values += w * f->c->options.edge_value;
                    s.weights += w;
                    continue;
                }
                const int64_t i = (pz * f->dims.ny + py) * f->dims.nx + px;
                if (!f->data[i]) continue;
                s.values += w * f->value[i];
                s.weights += w;
            }
    return s;
}

static double normalised(field *f, const int64_t at[3], double instead)
{
    static const int smooth[3] = {0, 0, 0};
    const sums s = around(f, at, smooth, f->c->options.edge);
    return s.weights > 0 ? s.values / s.weights : instead;
}

/* Give values to what is no data. */
static void fill(field *f)
{
    const int64_t n = lob_dims_voxels(f->dims), nx = f->dims.nx, ny = f->dims.ny;
    double *const filled = allocate(n, sizeof *filled);
    for (int64_t i = 0; i < n; i++)
        filled[i] = f->data[i] ? f->value[i]
                               : normalised(f, (int64_t[3]){i % nx, i / nx % ny, i / nx / ny}, 0);
    for (int64_t i = 0; i < n; i++) f->value[i] = filled[i], f->data[i] = true;
    free(filled);
}

static double derived(field *f, const int64_t at[3])
{
    const bool gradient = f->c->step.kind == LOB_FILTER_GRADIENT;
    const lob_edge edge = f->c->options.edge;
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        if (!(f->c->step.along[a] > 0)) continue;
        int order[3] = {0, 0, 0};
        order[a] = gradient ? 1 : 2;
        const double mm = f->c->image.geometry.spacing_mm[a];
        const double d =
            around(f, at, order, edge == LOB_EDGE_RENORMALISE ? LOB_EDGE_NEAREST : edge).values;
        sum += gradient ? d / mm * (d / mm) : d / (mm * mm);
    }
    return gradient ? sqrt(sum) : sum;
}

static void channel(field *f, double *out)
{
    const int64_t n = lob_dims_voxels(f->dims), nx = f->dims.nx, ny = f->dims.ny;
    const bool smooths = f->c->step.kind == LOB_FILTER_GAUSSIAN;
    double *const stored = allocate(n, sizeof *stored);
    for (int64_t i = 0; i < n; i++) {
        stored[i] = f->value[i];
        f->data[i] = (!f->c->mask || f->c->mask[i]) && isfinite(f->value[i]);
        if (f->data[i] && fabs(f->value[i]) > f->largest) f->largest = fabs(f->value[i]);
    }
    if (!smooths) fill(f);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[3] = {i % nx, i / nx % ny, i / nx / ny};
        const bool outside = f->c->mask && !f->c->mask[i];
        out[i] = smooths   ? outside ? stored[i] : normalised(f, at, stored[i])
                   : outside ? 0
                           : derived(f, at);
    }
    free(stored);
}

void gaussian_reference(double *out, double *largest, const gaussian_case *c)
{
    const lob_volume *v = &c->image;
    const int64_t n = lob_voxels(v);
    field f = {.c = c, .dims = v->dims, .largest = fabs(c->options.edge_value)};
    f.value = allocate(n, sizeof *f.value);
    f.data = allocate(n, sizeof *f.data);
    for (int a = 0; a < 3; a++) f.axis[a] = kernel_of(c->step.along[a]);
    for (int k = 0; k < v->channels; k++) {
        lob_values(f.value, v->data, v->type, k * n, n);
        for (int64_t i = 0; i < n; i++) f.value[i] = (float)f.value[i];
        channel(&f, out + k * n);
    }
    *largest = f.largest;
    for (int a = 0; a < 3; a++)
        for (int order = 0; order < 3; order++) free(f.axis[a].weight[order]);
    free(f.data);
    free(f.value);
}
