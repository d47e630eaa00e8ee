/*
 * Sums of an image's intensities on the GPU, as they are added to regions. While sums grow, the
 * lowest and highest value are ordered keys: unsigned 64-bit numbers in the order of the values,
 * which atomics can compare.
 */
#ifndef LOB_REGIONS_VALUES_CUDA_CUH
#define LOB_REGIONS_VALUES_CUDA_CUH

#include "kernels/device/grid.cuh"
#include "kernels/histogram/histogram_voxel.h"
#include "kernels/levels/levels_cuda.cuh"
#include "kernels/regions/regions.h"
#include "kernels/regions/regions_voxel.h"

#include <stddef.h>

namespace lob::regions
{

/* As lob_region_values, but lowest and highest are ordered keys. */
typedef struct {
    u64 data, fine, square[2], lowest, highest;
} value_sums;

static_assert(sizeof(value_sums) == sizeof(lob_region_values) &&
                  offsetof(value_sums, square) == offsetof(lob_region_values, square) &&
                  offsetof(value_sums, highest) == offsetof(lob_region_values, highest),
              "finish_kernel turns one into the other in place");

/* An image whose intensities are added up. */
typedef struct {
    lob_device_image image; /* stored is NULL: no intensities */
    lob_device_levels levels;
} region_intensities;

static __device__ inline void clear_values(value_sums *v)
{
    v->data = v->fine = v->square[0] = v->square[1] = v->highest = 0;
    v->lowest = ~0ull;
}

static __device__ inline void add_value(value_sums *v, const region_intensities &m, int64_t voxel)
{
    const double stored = lob_stored_value(&m.image, voxel);
    if (!isfinite(stored)) return;
    const uint32_t fine = m.levels.exact
                              ? (uint32_t)(lob_stored_bits(&m.image, voxel) - m.levels.low_bits)
                              : lob_fine_mapped(stored, m.levels.low, m.levels.per_unit);
    const u64 square = (u64)fine * fine, key = lob_ordered_key_double(stored);
    v->data++;
    v->fine += fine;
    v->square[0] += (uint32_t)square;
    v->square[1] += square >> 32;
    v->lowest = min(v->lowest, key);
    v->highest = max(v->highest, key);
}

static __device__ inline void add_values_atomic(value_sums *to, const value_sums &v)
{
    if (v.data == 0) return;
    atomicAdd(&to->data, v.data);
    atomicAdd(&to->fine, v.fine);
    atomicAdd(&to->square[0], v.square[0]);
    atomicAdd(&to->square[1], v.square[1]);
    if (v.lowest < to->lowest) atomicMin(&to->lowest, v.lowest);
    if (v.highest > to->highest) atomicMax(&to->highest, v.highest);
}

/* Over all lanes of a warp, which call this together. */
static __device__ inline value_sums warp_values(const value_sums &v)
{
    value_sums all;
    all.data = warp_sum(v.data);
    all.fine = warp_sum(v.fine);
    all.square[0] = warp_sum(v.square[0]);
    all.square[1] = warp_sum(v.square[1]);
    all.lowest = warp_min(v.lowest);
    all.highest = ~warp_min(~v.highest);
    return all;
}

/* ---- for other folders ---- */

/* A table on the device: rows of in->count regions and, with an image, of values. It is in the
 * block LOB_DEVICE_LISTS. */
typedef struct {
    const lob_region *regions;
    const lob_region_values *values;
} device_table;

/*
 * lob_regions_cuda, whose input is on the device, for a table that stays there. The device has
 * finished when this returns.
 *
 *   fine    in/out  of the image; where it is not known it is found
 *   known   in      fine is given
 *   budget  in/out  of the call. What lies behind the table counts, the table is output
 */
lob_status measure(device_table *table, lob_fine_levels *fine, bool known,
                   const lob_regions_input *in, lob_device_budget *budget, lob_error *error);

} /* namespace lob::regions */

#endif
