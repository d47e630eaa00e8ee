/* The exact Euclidean distance transform: three passes of lower envelopes of parabolas. */
#include "kernels/distance/distance.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Between passes a voxel holds the offsets, in whole voxels, to its nearest voxel of the set so
 * far, packed into the 4 bytes of its output. So the distance is rounded only once, in the last
 * pass. Passes run from the shortest axis to the longest: only the offsets along the two shorter
 * axes are packed, and these fit 31 bits for any volume that fits in memory.
 */
#define NO_VOXEL UINT32_MAX /* no voxel of the set so far */

/* A line is the voxels along the axis of a pass. */
enum { BLOCK = 16 }; /* neighbouring lines copied at a time, so that a cache line is read once */

typedef struct {
    int axis[3];      /* in the order of the passes */
    int64_t side[3];  /* by axis */
    int64_t step[3];  /* by axis: voxels from one to the next */
    double weight[3]; /* by axis: spacing squared */
    int shift;        /* bits of the offset along the first axis */
    double *inverse;  /* 1 / (weight * i) for the axis of this pass, since divisions are slow */
} plan;

/* Working memory of one thread, for lines of at most n voxels. */
typedef struct {
    uint32_t *offsets; /* BLOCK * n: packed offsets */
    uint32_t *result;  /* n */
    double *cost;      /* n: squared distance along the axes of earlier passes */
    double *from;      /* n: where a parabola becomes the lowest */
    int64_t *vertex;   /* n: the voxel of its vertex */
} scratch;

static int bits_for(int64_t side)
{
    int bits = 0;
    while (bits < 62 && (side - 1) >> bits) bits++;
    return bits;
}

/* Sort the axes by length and plan the packed offsets; false when these need more than 31 bits. */
static bool make_plan(plan *p, lob_dims dims, const double spacing_mm[3])
{
    *p = (plan){
        .axis = {0,       1,       2                },
        .side = {dims.nx, dims.ny, dims.nz          },
        .step = {1,       dims.nx, dims.nx * dims.ny}
    };
    for (int a = 0; a < 3; a++) p->weight[a] = spacing_mm[a] * spacing_mm[a];
    for (int i = 1; i < 3; i++)
        for (int j = i; j > 0 && p->side[p->axis[j]] < p->side[p->axis[j - 1]]; j--) {
            const int t = p->axis[j];
            p->axis[j] = p->axis[j - 1];
            p->axis[j - 1] = t;
        }
    p->shift = bits_for(p->side[p->axis[0]]);
    return p->shift + bits_for(p->side[p->axis[1]]) <= 31;
}

static double cost_of(uint32_t offset, const plan *p)
{
    const double first = offset & ((1u << p->shift) - 1), second = offset >> p->shift;
    return first * first * p->weight[p->axis[0]] + second * second * p->weight[p->axis[1]];
}

/*
 * Find the lower envelope of the parabolas cost[i] + weight * (x - i)^2 over the voxels i that have
 * an offset. Returns how many parabolas it is made of.
 */
static int64_t envelope(const scratch *s, const uint32_t *offsets, int64_t n, const plan *p)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (offsets[i] == NO_VOXEL) continue;
        s->cost[i] = cost_of(offsets[i], p);
        double from = -INFINITY;
        while (count > 0) {
            const int64_t v = s->vertex[count - 1];
            from = ((s->cost[i] - s->cost[v]) * p->inverse[i - v] + (double)(i + v)) * 0.5;
            if (from > s->from[count - 1]) break;
            count--;
        }
        s->vertex[count] = i;
        s->from[count] = count ? from : -INFINITY;
        count++;
    }
    return count;
}

/* The first pass needs no parabolas: the nearest voxel is the last one met in either direction. */
static void scan_line(uint32_t *offsets, int64_t n)
{
    uint32_t away = NO_VOXEL;
    for (int64_t i = 0; i < n; i++) {
        away = offsets[i] == 0 ? 0 : away == NO_VOXEL ? NO_VOXEL : away + 1;
        offsets[i] = away;
    }
    for (int64_t i = n - 1; i-- > 0;)
        if (offsets[i + 1] < offsets[i])
            offsets[i] = offsets[i + 1] + 1 < offsets[i] ? offsets[i + 1] + 1 : offsets[i];
}

/* A line in place: offsets to offsets, and in the last pass offsets to the bits of floats. */
static void transform_line(const scratch *s, uint32_t *offsets, int pass, const plan *p)
{
    const int axis = p->axis[pass];
    const int64_t n = p->side[axis];
    const double weight = p->weight[axis];
    const int64_t count = envelope(s, offsets, n, p);
    if (count == 0 && pass < 2) return;

    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        while (k + 1 < count && s->from[k + 1] < (double)i) k++;
        const int64_t v = count ? s->vertex[k] : i, away = v < i ? i - v : v - i;
        if (pass == 2) {
            const float squared =
                count ? (float)(s->cost[v] + weight * (double)away * (double)away) : INFINITY;
            memcpy(&s->result[i], &squared, sizeof squared);
        } else {
            s->result[i] = offsets[v] | (uint32_t)away << p->shift;
        }
    }
    memcpy(offsets, s->result, (size_t)n * sizeof *offsets);
}

/* A pass over neighbouring lines, `apart` voxels apart, the first of which begins at voxel first.
 */
static void transform_block(float *voxels, int64_t first, int64_t lines, int64_t apart,
                            const scratch *s, int pass, const plan *p)
{
    const int64_t n = p->side[p->axis[pass]], step = p->step[p->axis[pass]];
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < lines; l++)
            memcpy(&s->offsets[l * n + i], &voxels[first + i * step + l * apart], sizeof(uint32_t));
    for (int64_t l = 0; l < lines; l++)
        if (pass == 0)
            scan_line(s->offsets + l * n, n);
        else
            transform_line(s, s->offsets + l * n, pass, p);
    for (int64_t i = 0; i < n; i++)
        for (int64_t l = 0; l < lines; l++)
            memcpy(&voxels[first + i * step + l * apart], &s->offsets[l * n + i], sizeof(uint32_t));
}

static void transform_axis(float *voxels, const scratch *of_thread, int threads, int pass,
                           const plan *p)
{
    const int axis = p->axis[pass], inner = axis == 0 ? 1 : 0, outer = axis == 2 ? 1 : 2;
    const int64_t blocks = (p->side[inner] + BLOCK - 1) / BLOCK;
    const int64_t all = blocks * p->side[outer];
    for (int64_t i = 1; i < p->side[axis]; i++) p->inverse[i] = 1.0 / (p->weight[axis] * (double)i);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t b = 0; b < all; b++) {
        const int64_t at = b % blocks * BLOCK;
        const int64_t left = p->side[inner] - at;
        transform_block(voxels, b / blocks * p->step[outer] + at * p->step[inner],
                        left < BLOCK ? left : BLOCK, p->step[inner],
                        &of_thread[omp_get_thread_num()], pass, p);
    }
}

/* Bytes of a thread's scratch for lines of n voxels, rounded up to cache lines. */
static int64_t scratch_bytes(int64_t n)
{
    const int64_t bytes =
        n * (int64_t)((BLOCK + 1) * sizeof(uint32_t) + 2 * sizeof(double) + sizeof(int64_t));
    return (bytes + 63) & ~(int64_t)63;
}

static int64_t longest_side(lob_dims dims)
{
    const int64_t longest = dims.nx > dims.ny ? dims.nx : dims.ny;
    return dims.nz > longest ? dims.nz : longest;
}

int64_t lob_distance_bytes(lob_dims dims, int threads)
{
    const int64_t n = longest_side(dims);
    return threads * (scratch_bytes(n) + (int64_t)sizeof(scratch)) + n * (int64_t)sizeof(double);
}

lob_status lob_distance_squared(float *squared_mm, const uint8_t *set, lob_dims dims,
                                const double spacing_mm[3], int threads)
{
    _Static_assert(sizeof(float) == sizeof(uint32_t), "offsets are kept where floats will be");
    plan p;
    if (!make_plan(&p, dims, spacing_mm)) return LOB_ENOMEM;

    const int64_t n = longest_side(dims);
    const size_t per_thread = (size_t)scratch_bytes(n);
    lob_status st = LOB_ENOMEM;
    scratch *const of_thread = calloc((size_t)threads, sizeof *of_thread);
    unsigned char *const memory = calloc((size_t)threads, per_thread);
    p.inverse = malloc((size_t)n * sizeof *p.inverse);
    if (!of_thread || !memory || !p.inverse) goto out;
    for (int t = 0; t < threads; t++) {
        scratch *const s = &of_thread[t];
        s->cost = (double *)(memory + (size_t)t * per_thread);
        s->from = s->cost + n;
        s->vertex = (int64_t *)(s->from + n);
        s->offsets = (uint32_t *)(s->vertex + n);
        s->result = s->offsets + BLOCK * n;
    }

    const int64_t voxels = lob_dims_voxels(dims);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < voxels; i++) {
        const uint32_t offset = set[i] ? 0 : NO_VOXEL;
        memcpy(&squared_mm[i], &offset, sizeof offset);
    }
    for (int pass = 0; pass < 3; pass++)
        if (pass == 2 || p.side[p.axis[pass]] > 1)
            transform_axis(squared_mm, of_thread, threads, pass, &p);
    st = LOB_OK;
out:
    free(p.inverse);
    free(memory);
    free(of_thread);
    return st;
}
