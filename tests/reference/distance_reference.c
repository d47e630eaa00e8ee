/* Distances by looking at every pair of voxels. */
#include "distance_reference.h"

#include <math.h>

double reference_distance_squared(const uint8_t *set, lob_dims dims, const double spacing_mm[3],
                                  int64_t at)
{
    const int64_t x = at % dims.nx, y = at / dims.nx % dims.ny, z = at / dims.nx / dims.ny;
    double best = INFINITY;
    for (int64_t i = 0; i < dims.nx * dims.ny * dims.nz; i++) {
        if (!set[i]) continue;
        const double dx = (double)(i % dims.nx - x) * spacing_mm[0];
        const double dy = (double)(i / dims.nx % dims.ny - y) * spacing_mm[1];
        const double dz = (double)(i / dims.nx / dims.ny - z) * spacing_mm[2];
        const double squared = dx * dx + dy * dy + dz * dz;
        if (squared < best) best = squared;
    }
    return best;
}
