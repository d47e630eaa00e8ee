/* Where voxels lie in the world: affine, spacing, orientation. World is RAS+ in millimetres. */
#ifndef LOB_GEOMETRY_H
#define LOB_GEOMETRY_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double affine[3][4];  /* world = affine * (i, j, k, 1) */
    double spacing_mm[3]; /* lengths of the affine's first three columns, each > 0 */
} lob_geometry;

typedef enum { LOB_SAGITTAL, LOB_CORONAL, LOB_AXIAL } lob_plane;

/* Axis-aligned voxels of this size, the centre of voxel (0,0,0) at the world's origin. */
lob_geometry lob_geometry_of_spacing(const double spacing_mm[3]);

/*
 * Geometry of an affine; false (and out untouched) when an entry is not finite, a column is zero or
 * the columns do not span space (|det| <= 1e-6 of the product of the column lengths).
 */
bool lob_geometry_of_affine(lob_geometry *out, const double affine[3][4]);

/*
 * The volume of a voxel: |det| of the affine's columns. Where these stand at right angles to within
 * 1e-5, which leaves room for headers' float32s, it is the product of spacing_mm in the order x, y,
 * z, which |det| is then within 2e-10 of. So it is where the affine is missing or singular.
 */
double lob_voxel_mm3(const lob_geometry *geometry);

/* The area of a voxel's face across an axis (0 x, 1 y, 2 z), in the same way: the length of the
 * other two columns' cross product, or the product of the other two spacings. */
double lob_face_mm2(const lob_geometry *geometry, int axis);

/* World position in mm of a voxel position (which need not be whole). */
void lob_voxel_to_world(double world_mm[3], const lob_geometry *geometry, const double voxel[3]);

/* The voxel position of a world position: the inverse of lob_voxel_to_world. */
void lob_world_to_voxel(double voxel[3], const lob_geometry *geometry, const double world_mm[3]);

/*
 * Three letters and a NUL that name the world direction each voxel axis points to: "RAS", "LPS",
 * "PSR". Each axis takes the world axis that it follows most closely, no world axis twice: shear is
 * removed first and the axis closest to a world axis chooses first, as nibabel's aff2axcodes does.
 * Directions within 1e-9 of each other tie, and the first voxel axis and the first of R, A, S win;
 * there alone, as at exactly 45 degrees, nibabel may answer otherwise, since its rounding decides.
 */
void lob_orientation(char code[4], const lob_geometry *geometry);

/* The voxel axis (0 x, 1 y, 2 z) that is most nearly across this plane: slices lie along it. */
int lob_plane_axis(const lob_geometry *geometry, lob_plane plane);

#ifdef __cplusplus
}
#endif

#endif
