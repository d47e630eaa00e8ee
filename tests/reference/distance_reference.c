/* Distances by looking at every pair of voxels. */
#include "tests/reference/distance_case.h"

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

uint32_t reference_distance_label(const lob_distance_input *in, int64_t i)
{
    const size_t bytes = lob_type_of(in->type)->bytes;
    const uint32_t label = bytes == 1   ? ((const uint8_t *)in->labels)[i]
                           : bytes == 2 ? ((const uint16_t *)in->labels)[i]
                                        : ((const uint32_t *)in->labels)[i];
    return in->only && label != in->only ? 0 : label;
}

static bool counts(lob_distance_kind kind, uint32_t own, uint32_t other, uint32_t label)
{
    if (label) return other == label;
    if (kind == LOB_DISTANCE_TO_SET) return other != 0;
    if (kind == LOB_DISTANCE_SIGNED) return (other != 0) != (own != 0);
    return other != own;
}

double reference_distance_of(const lob_distance_input *in, lob_distance_kind kind, int64_t at,
                             uint32_t label)
{
    const lob_dims d = in->dims;
    const uint32_t own = reference_distance_label(in, at);
    double best = INFINITY;
    for (int64_t i = 0; i < d.nx * d.ny * d.nz; i++) {
        const int64_t away[3] = {i % d.nx - at % d.nx, i / d.nx % d.ny - at / d.nx % d.ny,
                                 i / d.nx / d.ny - at / d.nx / d.ny};
        double squared = 0;
        if (!counts(kind, own, reference_distance_label(in, i), label)) continue;
        for (int a = 0; a < 3; a++)
            if (away[a]) {
                const double mm = (double)away[a] * in->spacing[a];
                squared += mm * mm;
            }
        if (squared < best) best = squared;
    }
    return best;
}
