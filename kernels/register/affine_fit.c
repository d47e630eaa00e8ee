/* The affine of a field of displacements, by least trimmed squares. */
#include "kernels/register/register_voxel.h"
#include "volumes/lists.h"

#include <stdlib.h>

enum { ROUNDS = 20, MOST = 4, UNKNOWNS = 3 * MOST };

/* What scans of people differ in: size along an axis, turns, shears, as entries of a matrix. Points
 * are no independent witnesses: so many count as one. With no noise at all, in voxels^2, this would
 * not count, and along a thin axis nothing else says how it goes. */
#define SIZE        0.15
#define TURN        0.15
#define SHEAR       0.04
#define CORRELATED  30.0
#define LEAST_NOISE 1e-6

/* A point: where it is, where its displacement leads, how far the affine is off. */
typedef struct {
    double x[MOST], y[3]; /* x: the free axes and, last, 1 */
    double off;
    int64_t order; /* in the grid, for ties */
} match;

static int by_off(const void *a, const void *b)
{
    const match *x = a, *y = b;
    if (x->off != y->off) return x->off < y->off ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Solve m * w = r, r being the last column of m; false: m is singular. */
static bool solve(double w[UNKNOWNS], double m[UNKNOWNS][UNKNOWNS + 1], int n)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            if (fabs(m[j][i]) > fabs(m[best][i])) best = j;
        if (!(fabs(m[best][i]) > 1e-9)) return false;
        for (int k = 0; k <= n; k++) {
            const double t = m[i][k];
            m[i][k] = m[best][k];
            m[best][k] = t;
        }
        for (int j = 0; j < n; j++) {
            const double f = m[j][i] / m[i][i];
            for (int k = i; k <= n && j != i; k++) m[j][k] -= f * m[i][k];
        }
    }
    for (int i = 0; i < n; i++) w[i] = m[i][n] / m[i][i];
    return true;
}

/* Add weight * (x + sign * y)^2 / 2 to what is least, x and y being unknowns. */
static void expect(double m[UNKNOWNS][UNKNOWNS + 1], int x, int y, double sign, double weight)
{
    m[x][x] += weight;
    m[y][y] += weight;
    m[x][y] += sign * weight;
    m[y][x] += sign * weight;
}

/*
 * w[i][a]: how much of input i goes into the displacement along output axis a. noise: mean square
 * of what the affine leaves, by which the data is weighed against what scans of people differ in:
 * in size and turn, less in shear.
 */
static bool fit(double w[MOST][3], const match *at, int64_t count, const int *axis, int n,
                double noise)
{
    double m[UNKNOWNS][UNKNOWNS + 1] = {{0}}, found[UNKNOWNS];
    const int each = n + 1, all = 3 * each;
    for (int64_t k = 0; k < count; k++)
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < each; i++) {
                double *const row = m[a * each + i];
                for (int j = 0; j < each; j++) row[a * each + j] += at[k].x[i] * at[k].x[j];
                row[all] += at[k].x[i] * at[k].y[a];
            }
    const double weight = noise * CORRELATED;
    for (int i = 0; i < n; i++) {
        m[axis[i] * each + i][axis[i] * each + i] += weight / (SIZE * SIZE);
        for (int j = 0; j < i; j++) {
            expect(m, axis[i] * each + j, axis[j] * each + i, 1.0, weight / (SHEAR * SHEAR));
            expect(m, axis[i] * each + j, axis[j] * each + i, -1.0, weight / (TURN * TURN));
        }
    }
    if (!solve(found, m, all)) return false;
    for (int i = 0; i < each; i++)
        for (int a = 0; a < 3; a++) w[i][a] = found[a * each + i];
    return true;
}

static void measure(match *at, int64_t count, double w[MOST][3], int n)
{
    for (int64_t k = 0; k < count; k++) {
        at[k].off = 0.0;
        for (int a = 0; a < 3; a++) {
            double d = -at[k].y[a];
            for (int i = 0; i < n; i++) d += w[i][a] * at[k].x[i];
            at[k].off += d * d;
        }
    }
}

/* Take the points whose contrast is not below the median. x is relative to `middle`; y is how far
 * they move, by the affine so far and their displacements, beyond where the affine began. */
static int64_t take_matches(match *at, const lob_register_points *p, const int32_t *contrast,
                            int32_t median, const int *axis, int n, const float middle[3],
                            const lob_register_affine *so_far)
{
    int64_t count = 0;
    for (int64_t i = 0; i < p->count; i++) {
        float where[3];
        if (contrast[i] < median || contrast[i] == 0) continue;
        match *const m = &at[count++];
        lob_register_point_middle(where, p, i);
        for (int j = 0; j < n; j++) m->x[j] = (double)(where[axis[j]] - middle[axis[j]]);
        m->x[n] = 1.0;
        for (int a = 0; a < 3; a++) {
            m->y[a] = so_far->m[a][3] - (double)where[a];
            for (int b = 0; b < 3; b++)
                m->y[a] += so_far->m[a][b] * ((double)where[b] + (double)p->u[b][i]);
        }
        m->order = i;
    }
    return count;
}

static void apply(lob_register_call *c, double w[MOST][3], const int *axis, int n,
                  const float middle[3])
{
    lob_register_affine step = {
        {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}
    };
    for (int a = 0; a < 3; a++) {
        step.m[a][3] = w[n][a];
        for (int j = 0; j < n; j++) {
            step.m[a][axis[j]] += w[j][a];
            step.m[a][3] -= w[j][a] * (double)middle[axis[j]];
        }
    }
    /* What turns, stretches or mirrors beyond what one scan differs from another is no answer. */
    const double det = lob_register_det(&step);
    if (det > 0.25 && det < 4.0) c->affine = lob_register_after(&c->begin, &step);
}

lob_status lob_register_affine_fit(lob_register_call *c, const lob_register_points *p,
                                   const int32_t *contrast)
{
    int axis[3], n = 0; /* also those of few points: they turn with the others */
    for (int a = 0; a < 3; a++)
        if (lob_side(c->fixed.dims, a) > 1) axis[n++] = a;
    const lob_dims d = c->fixed.dims;
    const float middle[3] = {(float)(d.nx - 1) / 2.0f, (float)(d.ny - 1) / 2.0f,
                             (float)(d.nz - 1) / 2.0f};
    lob_geometry begin = {
        .spacing_mm = {1, 1, 1}
    };
    memcpy(begin.affine, c->begin.m, sizeof begin.affine);
    const lob_register_affine back = lob_register_to_voxel(&begin);
    const lob_register_affine so_far = lob_register_after(&back, &c->affine);
    const size_t bytes = sizeof(match) + sizeof(int32_t); /* of a point */
    double w[MOST][3], noise = 1.0;
    match *at;
    LOB_TRY(lob_budget_alloc(&c->budget, &at, p->count, bytes, c->error));
    int32_t *const sorted = (int32_t *)(at + p->count);
    memcpy(sorted, contrast, (size_t)p->count * sizeof *sorted);
    qsort(sorted, (size_t)p->count, sizeof *sorted, lob_by_int32);
    const int64_t count =
        take_matches(at, p, contrast, sorted[p->count / 2], axis, n, middle, &so_far);
    int64_t kept = count;
    bool found = count > 2 * (n + 1);
    for (int round = 0; found && round < ROUNDS; round++) {
        found = fit(w, at, kept, axis, n, noise);
        if (!found) break;
        measure(at, count, w, n + 1);
        qsort(at, (size_t)count, sizeof *at, by_off);
        kept = count * 6 / 10;
        double sum = 0.0;
        for (int64_t k = 0; k < kept; k++) sum += at[k].off;
        noise = fmax(sum / (double)kept, LEAST_NOISE);
    }
    c->stats.points = p->count;
    c->stats.matches = found ? kept : 0;
    if (found) apply(c, w, axis, n, middle);
    lob_budget_free(&c->budget, at, p->count, bytes);
    return LOB_OK;
}
