/* Where voxels lie in the world: affine, spacing, orientation. World is RAS+ in millimetres. */
#ifndef LOB_GEOMETRY_H
#define LOB_GEOMETRY_H

#include "volumes/both.h"

#include <stdbool.h>

LOB_BEGIN_DECLS

typedef struct {
    double affine[3][4];  /* world = affine * (i, j, k, 1) */
    double spacing_mm[3]; /* lengths of the affine's first three columns, each > 0 */
    bool unoriented;      /* the file does not say which way its axes lie in the patient */
    bool micrometres;     /* the file gives lengths in micrometres */
} lob_geometry;

typedef enum { LOB_SAGITTAL, LOB_CORONAL, LOB_AXIAL } lob_anatomical_plane;

/* Axis-aligned voxels of this size, the centre of voxel (0,0,0) at the world's origin; oriented, in
 * millimetres. */
lob_geometry lob_geometry_of_spacing(const double spacing_mm[3]);

/*
 * Geometry of an affine; false (and out untouched) when an entry is not finite, a column is zero or
 * the columns do not span space (|det| <= 1e-6 of the product of the column lengths).
 */
bool lob_geometry_of_affine(lob_geometry *out, const double affine[3][4]);

/*
 * The volume of a voxel in mm3: |det| of the affine's columns. If the columns are orthogonal within
 * 1e-5 (the rounding of float32 headers), or the affine is singular, it is the product of
 * spacing_mm in the order x, y, z. For such columns the two differ by less than 2e-10 of it.
 */
double lob_voxel_mm3(const lob_geometry *geometry);

/* The area, in mm2, of the voxel face perpendicular to an axis (0 x, 1 y, 2 z): the length of the
 * cross product of the other two columns or, by the same rule, the product of their spacings. */
double lob_face_mm2(const lob_geometry *geometry, int axis);

/*
 * Are lengths best shown in micrometres? They are where the file gives them so, or the smallest
 * side of a voxel is below 0.02 mm.
 */
bool lob_shows_micrometres(const lob_geometry *geometry);

/* World position in mm of a voxel position, which may have fractions. */
void lob_voxel_to_world(double world_mm[3], const lob_geometry *geometry, const double voxel[3]);

/* The voxel position of a world position: the inverse of lob_voxel_to_world. */
void lob_world_to_voxel(double voxel[3], const lob_geometry *geometry, const double world_mm[3]);

/*
 * Three letters and a NUL: the world direction of each voxel axis, such as "RAS", "LPS", "PSR".
 * As in nibabel's aff2axcodes, shear is removed first; then the voxel axis closest to a world axis
 * takes that world axis, then the next closest, none twice. Directions within 1e-9 of each other
 * are ties: the first voxel axis and the first of R, A, S win. Only in ties, such as at exactly 45
 * degrees, may nibabel answer differently, because there its rounding decides.
 */
void lob_orientation(char code[4], const lob_geometry *geometry);

/* The voxel axis (0 x, 1 y, 2 z) closest to the normal of this plane. */
int lob_anatomical_axis(const lob_geometry *geometry, lob_anatomical_plane plane);

LOB_END_DECLS

#endif
