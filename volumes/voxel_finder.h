/* World positions of one geometry as voxel positions, for many of them and on both compilers. */
#ifndef LOB_VOXEL_FINDER_H
#define LOB_VOXEL_FINDER_H

#include "volumes/both.h"

LOB_BEGIN_DECLS

/* What lob_world_to_voxel makes of a geometry; geometry.c does it. */
typedef struct {
    double across[3][3], origin[3], spacing_mm[3];
} lob_voxel_finder;

lob_voxel_finder lob_voxel_finder_of(const double affine[3][4], const double spacing_mm[3]);

/* lob_world_to_voxel; voxel may be world_mm. */
LOB_BOTH void lob_voxel_find(double voxel[3], const lob_voxel_finder *f, const double world_mm[3])
{
    double from_origin[3];
    for (int row = 0; row < 3; row++) from_origin[row] = world_mm[row] - f->origin[row];
    for (int axis = 0; axis < 3; axis++) {
        double along = 0.0;
        for (int row = 0; row < 3; row++) along += f->across[row][axis] * from_origin[row];
        voxel[axis] = along / f->spacing_mm[axis];
    }
}

LOB_END_DECLS

#endif
