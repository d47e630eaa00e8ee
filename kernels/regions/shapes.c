/* Shapes of regions from what was counted: axes, surface by Crofton's formula, ratios. */
#include "kernels/regions/shapes.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* ---- shares of the sphere ---- */

typedef struct {
    double x, y, z;
} vector;

static double dot(vector a, vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vector cross(vector a, vector b)
{
    return (vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vector sum_of(double s, vector a, double t, vector b)
{
    return (vector){s * a.x + t * b.x, s * a.y + t * b.y, s * a.z + t * b.z};
}

static vector unit(vector a)
{
    return sum_of(1.0 / sqrt(dot(a, a)), a, 0.0, a);
}

/* Steps between neighbours, in the order of lob_region_border.crossings. */
static const int8_t steps[LOB_BORDER_DIRECTIONS][3] = {
    {1,  0,  0 },
    {0,  1,  0 },
    {0,  0,  1 },
    {1,  1,  0 },
    {1,  -1, 0 },
    {1,  0,  1 },
    {1,  0,  -1},
    {0,  1,  1 },
    {0,  1,  -1},
    {1,  1,  1 },
    {-1, 1,  1 },
    {1,  -1, 1 },
    {1,  1,  -1},
};

enum { CORNERS = 64 }; /* 4, and at most one more for each of 24 cuts */

/* Cut a cone, given by its edges in order, to where dot(edge, normal) >= 0. */
static int cut_cone(vector *edge, int n, vector normal)
{
    vector kept[CORNERS];
    int count = 0;
    for (int i = 0; i < n; i++) {
        const vector a = edge[i], b = edge[(i + 1) % n];
        const double da = dot(a, normal), db = dot(b, normal);
        if (da >= 0) kept[count++] = a;
        if ((da < 0) != (db < 0)) kept[count++] = unit(sum_of(fabs(db), a, fabs(da), b));
    }
    memcpy(edge, kept, (size_t)count * sizeof *kept);
    return count;
}

/* Solid angle of a triangle of unit vectors (van Oosterom and Strackee, 1983). */
static double solid_angle(vector a, vector b, vector c)
{
    return 2.0 * atan2(fabs(dot(a, cross(b, c))), 1.0 + dot(a, b) + dot(b, c) + dot(c, a));
}

/* The share of the sphere that is nearer to +-directions[own] than to any other of n. */
static double share_of_sphere(const vector *directions, int n, int own)
{
    const vector d = directions[own];
    const vector u = unit(cross(d, fabs(d.x) < 0.5 ? (vector){1, 0, 0} : (vector){0, 1, 0}));
    const vector w = cross(d, u);
    vector edge[CORNERS];
    int corners = 4;
    for (int i = 0; i < 4; i++) { /* nearly half a sphere */
        const double a = i == 0 || i == 3 ? 1e3 : -1e3, b = i < 2 ? 1e3 : -1e3;
        edge[i] = unit(sum_of(1.0, d, 1.0, sum_of(a, u, b, w)));
    }
    for (int i = 0; i < n; i++)
        for (int sign = -1; sign <= 1 && i != own; sign += 2)
            corners = cut_cone(edge, corners, sum_of(1.0, d, -(double)sign, directions[i]));
    double angle = 0.0;
    for (int i = 1; i + 1 < corners; i++) angle += solid_angle(edge[0], edge[i], edge[i + 1]);
    return 2.0 * angle / (4.0 * pi);
}

/* The share of the circle of directions in a plane: half the angle to the next on either side. */
static double share_of_circle(const vector *directions, int n, int own)
{
    double before = -pi, after = pi;
    const vector d = directions[own];
    vector normal = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        const vector c = cross(d, directions[i]);
        if (dot(c, c) > dot(normal, normal)) normal = c;
    }
    normal = unit(normal);
    for (int i = 0; i < n; i++)
        for (int sign = -1; sign <= 1 && i != own; sign += 2) {
            const vector o = sum_of((double)sign, directions[i], 0.0, d);
            const double angle = atan2(dot(cross(d, o), normal), dot(d, o));
            if (angle > 0 && angle < after) after = angle;
            if (angle < 0 && angle > before) before = angle;
        }
    return (after - before) / 2.0 / pi;
}

/* ---- the frame ---- */

static vector column(const lob_geometry *g, int a)
{
    return (vector){g->affine[0][a], g->affine[1][a], g->affine[2][a]};
}

/*
 * Lines in direction d through all voxels lie cell / |d| apart, as an area (a length in a picture).
 * The projection along d has that times the lines that enter, half the crossings; its mean over all
 * directions is a quarter of the surface (the perimeter over pi).
 */
lob_shape_frame lob_shape_frame_of(const lob_geometry *geometry, lob_dims dims)
{
    lob_shape_frame f = {.geometry = geometry, .flat = -1};
    vector direction[LOB_BORDER_DIRECTIONS];
    double length[LOB_BORDER_DIRECTIONS];
    int number[LOB_BORDER_DIRECTIONS], n = 0;
    for (int a = 0; a < 3; a++)
        if (lob_side(dims, a) == 1) f.flat = a;
    f.cell_mm = f.flat < 0 ? lob_voxel_mm3(geometry) : lob_face_mm2(geometry, f.flat);
    for (int d = 0; d < LOB_BORDER_DIRECTIONS; d++) {
        vector step = {0, 0, 0};
        if (f.flat >= 0 && steps[d][f.flat] != 0) continue;
        for (int a = 0; a < 3; a++) step = sum_of(1.0, step, steps[d][a], column(geometry, a));
        length[n] = sqrt(dot(step, step));
        direction[n] = unit(step);
        number[n++] = d;
    }
    for (int i = 0; i < n; i++) {
        const double share =
            f.flat < 0 ? share_of_sphere(direction, n, i) : share_of_circle(direction, n, i);
        f.weight_mm[number[i]] = (f.flat < 0 ? 4.0 : pi) * share * 0.5 * f.cell_mm / length[i];
    }
    return f;
}

/* ---- axes ---- */

/* Eigenvalues, from large to small, and unit vectors of a symmetric matrix, by Jacobi's turns. */
static void eigen(double value[3], double vectors[3][3], double m[3][3])
{
    double turn[3][3] = {
        {1, 0, 0},
        {0, 1, 0},
        {0, 0, 1}
    };
    for (int round = 0; round < 60; round++) {
        const int p = round % 3 == 2 ? 1 : 0, q = round % 3 == 0 ? 1 : 2;
        if (m[p][q] == 0.0) continue;
        const double theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
        const double t = (theta < 0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
        const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < 3; k++) {
            const double a = m[k][p], b = m[k][q];
            m[k][p] = c * a - s * b;
            m[k][q] = s * a + c * b;
        }
        for (int k = 0; k < 3; k++) {
            const double a = m[p][k], b = m[q][k], u = turn[k][p], v = turn[k][q];
            m[p][k] = c * a - s * b;
            m[q][k] = s * a + c * b;
            turn[k][p] = c * u - s * v;
            turn[k][q] = s * u + c * v;
        }
    }
    int order[3] = {0, 1, 2};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            if (m[order[k]][order[k]] < m[order[k + 1]][order[k + 1]]) {
                const int other = order[k];
                order[k] = order[k + 1];
                order[k + 1] = other;
            }
    for (int i = 0; i < 3; i++) {
        value[i] = fmax(m[order[i]][order[i]], 0.0);
        for (int k = 0; k < 3; k++) vectors[i][k] = turn[k][order[i]];
    }
}

/* Variances of the voxels' places in the world, mm2. */
static void covariance_mm2(double out[3][3], const lob_region *r, const lob_region_moments *moments,
                           const lob_geometry *g)
{
    __extension__ typedef __int128 int128;
    static const int at[3][3] = {
        {0, 3, 4},
        {3, 1, 5},
        {4, 5, 2}
    };
    const double n = (double)r->voxels;
    double voxel[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            const int128 sa = r->sum[a] - r->voxels * r->low[a],
                         sb = r->sum[b] - r->voxels * r->low[b];
            voxel[a][b] =
                (double)((int128)r->voxels * moments->second[at[a][b]] - sa * sb) / (n * n);
        }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            out[i][k] = 0.0;
            for (int a = 0; a < 3; a++)
                for (int b = 0; b < 3; b++)
                    out[i][k] += g->affine[i][a] * voxel[a][b] * g->affine[k][b];
        }
}

static void measure_axes(lob_region_shape *s, const lob_shape_frame *f, const lob_region *r,
                         const lob_region_moments *moments)
{
    double matrix[3][3], value[3];
    covariance_mm2(matrix, r, moments, f->geometry);
    eigen(value, s->direction, matrix);
    const int axes = f->flat < 0 ? 3 : 2;
    for (int i = 0; i < 3; i++) {
        double *const d = s->direction[i];
        int largest = 0;
        for (int k = 1; k < 3; k++)
            if (fabs(d[k]) > fabs(d[largest])) largest = k;
        const double sign = d[largest] < 0 ? -1.0 : 1.0;
        s->axis_mm[i] =
            i < axes ? (axes == 3 ? 2.0 * sqrt(5.0 * value[i]) : 4.0 * sqrt(value[i])) : NAN;
        for (int k = 0; k < 3; k++) d[k] = i < axes ? sign * d[k] + 0.0 : NAN;
    }
    /* What is left of a variance of 0 is rounding. */
    for (int i = 1; i < axes; i++)
        if (s->axis_mm[i] < 1e-6 * s->axis_mm[0]) s->axis_mm[i] = 0.0;
    if (s->axis_mm[1] > 0) s->elongation = s->axis_mm[0] / s->axis_mm[1];
    if (s->axis_mm[2] > 0) s->flatness = s->axis_mm[1] / s->axis_mm[2];
}

/* ---- all of it ---- */

lob_region_shape lob_region_shape_of(const lob_shape_frame *f, const lob_region *region,
                                     const lob_region_moments *moments,
                                     const lob_region_border *border)
{
    lob_region_shape s = {
        .elongation = NAN, .flatness = NAN, .surface_mm2 = NAN, .sphericity = NAN};
    const bool flat = f->flat >= 0;
    const double size = (double)region->voxels * f->cell_mm;
    double box = 1.0;
    for (int a = 0; a < 3; a++) box *= (double)region->high[a] - region->low[a] + 1.0;
    s.extent = (double)region->voxels / box;
    s.equivalent_diameter_mm = flat ? 2.0 * sqrt(size / pi) : cbrt(6.0 * size / pi);
    s.euler = border ? (double)border->euler : NAN;
    for (int i = 0; i < 3; i++) {
        s.axis_mm[i] = NAN;
        for (int k = 0; k < 3; k++) s.direction[i][k] = NAN;
    }
    if (moments) measure_axes(&s, f, region, moments);
    if (!border) return s;
    s.surface_mm2 = 0.0;
    for (int d = 0; d < LOB_BORDER_DIRECTIONS; d++)
        s.surface_mm2 += f->weight_mm[d] * (double)border->crossings[d];
    const double d = s.equivalent_diameter_mm;
    s.sphericity = (flat ? pi * d : pi * d * d) / s.surface_mm2;
    return s;
}
