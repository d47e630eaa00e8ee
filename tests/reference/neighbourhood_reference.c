/* Median and box by their definitions, place by place, as slowly as they read. */
#include "tests/reference/neighbourhood_reference.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The voxel that place i of an axis shows: steps inwards until it is inside. -1: none. */
static int64_t shown(int64_t i, int64_t n, lob_edge edge)
{
    while (i < 0 || i >= n) {
        if (edge == LOB_EDGE_RENORMALISE || edge == LOB_EDGE_CONSTANT) return -1;
        if (edge == LOB_EDGE_NEAREST)
            i += i < 0 ? 1 : -1;
        else if (edge == LOB_EDGE_WRAP)
            i += i < 0 ? n : -n;
        else if (edge == LOB_EDGE_REFLECT)
            i = i < 0 ? -1 - i : 2 * n - 1 - i;
        else
            i = n == 1 ? 0 : i < 0 ? -i : 2 * n - 2 - i;
    }
    return i;
}

/* A voxel as float32, mapped; or as it is, in double, which holds all types but 64-bit integers. */
static double value_of(const lob_filter_image *in, const lob_filter_map *map, bool as_float,
                       int64_t i)
{
    double value;
    lob_values(&value, in->data, in->type, i, 1);
    if (!as_float) return value;
    if (isnan(value) && in->type != LOB_F32) return NAN;
    float v = (float)value;
    if (map->identity || !isfinite(v)) return v;
    v = v * map->factor;
    v = v + map->offset;
    if (v < map->low) v = map->low;
    if (v > map->high) v = map->high;
    return v;
}

/* Where the places around a voxel lead: to a voxel of the channel, or to -1, the edge's value.
 * Places that hold no data are left out. Returns how many there are. */
static int64_t places(int64_t *to, const lob_filter_image *in, const lob_filter_call *call,
                      bool as_float, int64_t channel, int64_t x, int64_t y, int64_t z)
{
    const lob_dims d = in->dims;
    const lob_edge edge = call->options->edge;
    const int64_t rx = (int64_t)call->step->along[0], ry = (int64_t)call->step->along[1],
                  rz = (int64_t)call->step->along[2];
    int64_t n = 0;
    for (int64_t dz = -rz; dz <= rz; dz++)
        for (int64_t dy = -ry; dy <= ry; dy++)
            for (int64_t dx = -rx; dx <= rx; dx++) {
                const int64_t px = shown(x + dx, d.nx, edge), py = shown(y + dy, d.ny, edge),
                              pz = shown(z + dz, d.nz, edge);
                if (px < 0 || py < 0 || pz < 0) {
                    if (edge == LOB_EDGE_CONSTANT) to[n++] = -1;
                    continue;
                }
                const int64_t i = (pz * d.ny + py) * d.nx + px;
                const int64_t at = channel * d.nx * d.ny * d.nz + i;
                if (call->mask && !call->mask[i]) continue;
                if (isfinite(value_of(in, &call->before, as_float, at))) to[n++] = at;
            }
    return n;
}

static int64_t places_at_most(const lob_filter_call *call)
{
    double n = 1;
    for (int a = 0; a < 3; a++) n *= 2 * call->step->along[a] + 1;
    return (int64_t)n;
}

/* Of two values of a type: the order, in which -0 comes before +0. */
#define ORDER(type, ctype, name, integer, lowest, highest)                            \
    static int order_##type(const void *a, const void *b)                             \
    {                                                                                 \
        const ctype x = *(const ctype *)a, y = *(const ctype *)b;                     \
        if (x != y) return x < y ? -1 : 1;                                            \
        return (integer) ? 0 : (signbit((double)y) != 0) - (signbit((double)x) != 0); \
    }
LOB_TYPE_LIST(ORDER)

/* An edge's value as a voxel. */
#define ROUNDED(type, ctype, name, integer, lowest, highest)                 \
    static ctype rounded_##type(double value)                                \
    {                                                                        \
        if (!(integer)) return (ctype)value;                                 \
        const double whole = nearbyint(value);                               \
        if (whole <= (double)(lowest)) return (ctype)(lowest);               \
        return whole >= (double)(highest) ? (ctype)(highest) : (ctype)whole; \
    }
LOB_TYPE_LIST(ROUNDED)

/* The median of n places. */
#define MEDIAN(type, ctype, name, integer, lowest, highest)                                  \
    case type: {                                                                             \
        const ctype *const from = in->data;                                                  \
        ctype *const values = scratch;                                                       \
        for (int64_t i = 0; i < n; i++)                                                      \
            values[i] = to[i] < 0 ? rounded_##type(call->options->edge_value) : from[to[i]]; \
        qsort(values, (size_t)n, sizeof *values, order_##type);                              \
        ((ctype *)out)[at] = values[(n + 1) / 2 - 1];                                        \
        break;                                                                               \
    }

static void median_of(void *out, int64_t at, const lob_filter_image *in,
                      const lob_filter_call *call, const int64_t *to, int64_t n, void *scratch)
{
    const size_t bytes = lob_type_of(in->type)->bytes;
    memcpy((char *)out + (size_t)at * bytes, (const char *)in->data + (size_t)at * bytes, bytes);
    const int64_t voxels = lob_dims_voxels(in->dims);
    if (n == 0 || (call->mask && !call->mask[at % voxels])) return;
    LOB_TYPE_SWITCH(in->type, MEDIAN);
}

void median_reference(void *out, const lob_filter_image *in, const lob_filter_call *call)
{
    const lob_dims d = in->dims;
    const int64_t most = places_at_most(call);
    int64_t *to = malloc((size_t)most * sizeof *to);
    void *scratch = malloc((size_t)most * 8);
    if (!to || !scratch) exit(75);
    int64_t i = 0;
    for (int64_t c = 0; c < in->channels; c++)
        for (int64_t z = 0; z < d.nz; z++)
            for (int64_t y = 0; y < d.ny; y++)
                for (int64_t x = 0; x < d.nx; x++, i++) {
                    const int64_t found = places(to, in, call, false, c, x, y, z);
                    median_of(out, i, in, call, to, found, scratch);
                }
    free(to);
    free(scratch);
}

void box_reference(double *mean, double *scale, const lob_filter_image *in,
                   const lob_filter_call *call)
{
    const lob_dims d = in->dims;
    const int64_t voxels = lob_dims_voxels(d);
    const double edge_value = (float)call->options->edge_value;
    int64_t *to = malloc((size_t)places_at_most(call) * sizeof *to);
    if (!to) exit(75);
    int64_t i = 0;
    for (int64_t c = 0; c < in->channels; c++)
        for (int64_t z = 0; z < d.nz; z++)
            for (int64_t y = 0; y < d.ny; y++)
                for (int64_t x = 0; x < d.nx; x++, i++) {
                    const int64_t n = places(to, in, call, true, c, x, y, z);
                    double sum = 0, magnitudes = 0;
                    for (int64_t k = 0; k < n; k++) {
                        const double value =
                            to[k] < 0 ? edge_value : value_of(in, &call->before, true, to[k]);
                        sum += value / (double)n;
                        magnitudes += fabs(value) / (double)n;
                    }
                    const bool kept = n == 0 || (call->mask && !call->mask[i % voxels]);
                    mean[i] = kept ? value_of(in, &call->before, true, i) : sum;
                    scale[i] = kept ? 0 : magnitudes;
                }
    free(to);
}
