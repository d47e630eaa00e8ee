/* Affines: spacing, the way to the world and back, and the names of directions. */
#include "volumes/geometry.h"
#include "volumes/voxel_finder.h"

#include <math.h>
#include <string.h>

/* Columns that span less than this share of the box of their lengths are taken for flat. */
static const double least_volume = 1e-6;

/* Columns at right angles to within this cosine are sheared by nothing but rounding. */
static const double right_angle = 1e-5;

/* |a| and |b| closer than this are equal, so that rounding never picks between tied directions. */
static const double tie = 1e-9;

static double determinant(const double m[3][3])
{
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The inverse's transpose: each cofactor over the determinant, which is not 0. */
static void inverse_transposed(double out[3][3], const double m[3][3])
{
    const double det = determinant(m);
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            const int r1 = (row + 1) % 3, r2 = (row + 2) % 3;
            const int c1 = (column + 1) % 3, c2 = (column + 2) % 3;
            out[row][column] = (m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1]) / det;
        }
}

/* Length of an affine's column, scaled by a power of two on the way so that no square overflows. */
static double column_length(const double affine[3][4], int column)
{
    const double x = affine[0][column], y = affine[1][column], z = affine[2][column];
    int exponent;
    frexp(fmax(fabs(x), fmax(fabs(y), fabs(z))), &exponent);
    const double u = ldexp(x, -exponent), v = ldexp(y, -exponent), w = ldexp(z, -exponent);
    return ldexp(sqrt(u * u + v * v + w * w), exponent);
}

static void unit_columns(double out[3][3], const double affine[3][4], const double lengths[3])
{
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            out[row][column] = affine[row][column] / lengths[column];
}

lob_geometry lob_geometry_of_spacing(const double spacing_mm[3])
{
    lob_geometry geometry = {
        .spacing_mm = {spacing_mm[0], spacing_mm[1], spacing_mm[2]}
    };
    for (int axis = 0; axis < 3; axis++) geometry.affine[axis][axis] = spacing_mm[axis];
    return geometry;
}

bool lob_geometry_of_affine(lob_geometry *out, const double affine[3][4])
{
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 4; column++)
            if (!isfinite(affine[row][column])) return false;
    double lengths[3];
    for (int column = 0; column < 3; column++) {
        lengths[column] = column_length(affine, column);
        if (!(lengths[column] > 0.0) || !isfinite(lengths[column])) return false;
    }
    double unit[3][3];
    unit_columns(unit, affine, lengths);
    if (!(fabs(determinant(unit)) > least_volume)) return false;

    lob_geometry geometry = {.unoriented = false};
    memcpy(geometry.affine, affine, sizeof geometry.affine);
    memcpy(geometry.spacing_mm, lengths, sizeof geometry.spacing_mm);
    *out = geometry;
    return true;
}

/* Scalar product of two columns. */
static double product_of(const double m[3][3], int a, int b)
{
    return m[0][a] * m[0][b] + m[1][a] * m[1][b] + m[2][a] * m[2][b];
}

/* The share of the box of their lengths that columns span; 1 where they are taken for orthogonal,
 * which those of a missing affine, all zero, are too. */
static double share_of_box(double spanned, double largest_cosine)
{
    return largest_cosine > right_angle && spanned > least_volume ? spanned : 1.0;
}

double lob_voxel_mm3(const lob_geometry *geometry)
{
    const double *mm = geometry->spacing_mm;
    double unit[3][3], cosine = 0.0;
    unit_columns(unit, geometry->affine, mm);
    for (int a = 0; a < 3; a++) cosine = fmax(cosine, fabs(product_of(unit, a, (a + 1) % 3)));
    return mm[0] * mm[1] * mm[2] * share_of_box(fabs(determinant(unit)), cosine);
}

double lob_face_mm2(const lob_geometry *geometry, int axis)
{
    const double *mm = geometry->spacing_mm;
    const int u = axis == 0 ? 1 : 0, v = axis == 2 ? 1 : 2;
    double unit[3][3], square = 0.0;
    unit_columns(unit, geometry->affine, mm);
    for (int row = 0; row < 3; row++) {
        const int r = (row + 1) % 3, s = (row + 2) % 3;
        const double cross = unit[r][u] * unit[s][v] - unit[s][u] * unit[r][v];
        square += cross * cross;
    }
    return mm[u] * mm[v] * share_of_box(sqrt(square), fabs(product_of(unit, u, v)));
}

bool lob_shows_micrometres(const lob_geometry *geometry)
{
    const double *mm = geometry->spacing_mm;
    return geometry->micrometres || fmin(fmin(mm[0], mm[1]), mm[2]) < 0.02;
}

void lob_voxel_to_world(double world_mm[3], const lob_geometry *geometry, const double voxel[3])
{
    const double i = voxel[0], j = voxel[1], k = voxel[2]; /* world_mm may be voxel */
    for (int row = 0; row < 3; row++) {
        const double *a = geometry->affine[row];
        world_mm[row] = a[0] * i + a[1] * j + a[2] * k + a[3];
    }
}

lob_voxel_finder lob_voxel_finder_of(const double affine[3][4], const double spacing_mm[3])
{
    lob_voxel_finder f;
    double unit[3][3];
    unit_columns(unit, affine, spacing_mm);
    inverse_transposed(f.across, unit);
    for (int row = 0; row < 3; row++) f.origin[row] = affine[row][3];
    memcpy(f.spacing_mm, spacing_mm, sizeof f.spacing_mm);
    return f;
}

void lob_world_to_voxel(double voxel[3], const lob_geometry *geometry, const double world_mm[3])
{
    const lob_voxel_finder f = lob_voxel_finder_of(geometry->affine, geometry->spacing_mm);
    lob_voxel_find(voxel, &f, world_mm);
}

/*
 * The orthogonal matrix closest to m, by Newton's iteration for the polar decomposition: the mean
 * of a matrix and its inverse's transpose has the same singular vectors and singular values nearer
 * to 1. Each step halves a large singular value, and the last few square the error: from
 * least_volume that takes about 25.
 */
static void closest_rotation(double m[3][3])
{
    double moved = 1.0;
    for (int step = 0; step < 64 && moved > 1e-15; step++) {
        double other[3][3];
        inverse_transposed(other, m);
        moved = 0.0;
        for (int row = 0; row < 3; row++)
            for (int column = 0; column < 3; column++) {
                const double by = (other[row][column] - m[row][column]) / 2.0;
                m[row][column] += by;
                moved = fmax(moved, fabs(by));
            }
    }
}

/* The place of the largest of three; of equal ones the first. */
static int largest(const double values[3])
{
    int best = 0;
    for (int i = 1; i < 3; i++)
        if (values[i] > values[best] + tie) best = i;
    return best;
}

/*
 * For each voxel axis the world axis that it follows, and whether backwards. The voxel axis that
 * lies closest to a world axis chooses first; of equal ones the first.
 */
static void follow(int world[3], bool backwards[3], const lob_geometry *geometry)
{
    enum { TAKEN = -1 };
    double m[3][3], along[3][3], closest[3]; /* along[voxel axis][world axis] */
    unit_columns(m, geometry->affine, geometry->spacing_mm);
    closest_rotation(m);
    for (int axis = 0; axis < 3; axis++) {
        for (int row = 0; row < 3; row++) along[axis][row] = fabs(m[row][axis]);
        closest[axis] = along[axis][largest(along[axis])];
    }
    for (int turn = 0; turn < 3; turn++) {
        const int axis = largest(closest);
        const int row = largest(along[axis]);
        world[axis] = row;
        backwards[axis] = m[row][axis] < 0.0;
        closest[axis] = TAKEN;
        for (int other = 0; other < 3; other++) along[other][row] = TAKEN;
    }
}

void lob_orientation(char code[4], const lob_geometry *geometry)
{
    static const char names[2][4] = {"RAS", "LPI"};
    int world[3];
    bool backwards[3];
    follow(world, backwards, geometry);
    for (int axis = 0; axis < 3; axis++) code[axis] = names[backwards[axis]][world[axis]];
    code[3] = '\0';
}

int lob_anatomical_axis(const lob_geometry *geometry, lob_anatomical_plane plane)
{
    int world[3];
    bool backwards[3];
    follow(world, backwards, geometry);
    int axis = 0;
    while (axis < 2 && world[axis] != (int)plane) axis++;
    return axis;
}
