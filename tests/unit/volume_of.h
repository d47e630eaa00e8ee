/* Volumes for tests: over the voxels of an array, or with voxels of 0. */
#ifndef LOB_VOLUME_OF_H
#define LOB_VOLUME_OF_H

#include "tests/unit/cmocka_test.h"
#include "volumes/volume.h"

/* A volume over voxels that stay the caller's. Without spacing_mm it has no place in the world. */
static inline lob_volume volume_of(void *data, lob_type type, lob_dims dims,
                                   const double spacing_mm[3])
{
    lob_volume v = lob_volume_empty();
    v.data = data;
    v.type = type;
    v.dims = dims;
    if (spacing_mm) v.geometry = lob_geometry_of_spacing(spacing_mm);
    return v;
}

/* A volume of zeros with voxels of 1 mm a side. */
static inline lob_volume zeros(lob_type type, lob_dims dims, int channels)
{
    const lob_volume like = volume_of(NULL, type, dims, (double[3]){1, 1, 1});
    lob_volume v;
    assert_ok(lob_volume_like(&v, &like, type, channels));
    return v;
}

#endif
