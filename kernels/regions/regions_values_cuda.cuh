/* Sums of an image's values on the device, as they are added to regions. */
#ifndef LOB_REGIONS_VALUES_CUDA_CUH
#define LOB_REGIONS_VALUES_CUDA_CUH

#include "kernels/levels/levels_cuda.cuh"
#include "kernels/regions/regions.h"
#include "kernels/regions/regions_voxel.h"

#include <stddef.h>

typedef unsigned long long wide; /* the 64-bit type that CUDA's atomics take */

/* As lob_region_values; extremes are keys: see ordered. */
typedef struct {
    wide data, fine, square[2], lowest, highest;
} value_sums;

static_assert(sizeof(value_sums) == sizeof(lob_region_values) &&
                  offsetof(value_sums, square) == offsetof(lob_region_values, square) &&
                  offsetof(value_sums, highest) == offsetof(lob_region_values, highest),
              "they become these in place");

/* What regions are measured with besides their voxels' places. */
typedef struct {
    lob_device_image image; /* stored is NULL: no intensities */
    lob_device_levels levels;
} region_image;

/* Doubles as unsigned numbers in the same order, -0.0 as 0.0. */
static __device__ inline wide ordered(double value)
{
    const wide bits = (wide)__double_as_longlong(value + 0.0);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static __device__ inline double restored(wide key)
{
    return __longlong_as_double((long long)(key >> 63 ? key & ~(1ull << 63) : ~key));
}

static __device__ inline void clear_values(value_sums *v)
{
    v->data = v->fine = v->square[0] = v->square[1] = v->highest = 0;
    v->lowest = ~0ull;
}

static __device__ inline void add_value(value_sums *v, const region_image &m, int64_t voxel)
{
    const double stored = lob_stored_value(&m.image, voxel);
    if (!isfinite(stored)) return;
    const uint32_t fine = m.levels.exact
                              ? (uint32_t)(lob_stored_bits(&m.image, voxel) - m.levels.low_bits)
                              : lob_fine_mapped(stored, m.levels.low, m.levels.per_unit);
    const wide square = (wide)fine * fine, key = ordered(stored);
    v->data++;
    v->fine += fine;
    v->square[0] += (uint32_t)square;
    v->square[1] += square >> 32;
    v->lowest = min(v->lowest, key);
    v->highest = max(v->highest, key);
}

/* One thread alone. */
static __device__ inline void join_values(value_sums *to, const value_sums &v)
{
    to->data += v.data;
    to->fine += v.fine;
    to->square[0] += v.square[0];
    to->square[1] += v.square[1];
    to->lowest = min(to->lowest, v.lowest);
    to->highest = max(to->highest, v.highest);
}

static __device__ inline void merge_values(value_sums *to, const value_sums &v)
{
    if (v.data == 0) return;
    atomicAdd(&to->data, v.data);
    atomicAdd(&to->fine, v.fine);
    atomicAdd(&to->square[0], v.square[0]);
    atomicAdd(&to->square[1], v.square[1]);
    if (v.lowest < to->lowest) atomicMin(&to->lowest, v.lowest);
    if (v.highest > to->highest) atomicMax(&to->highest, v.highest);
}

/* Of all lanes of a warp, which call these together. */
static __device__ inline wide warp_sum(wide value)
{
    for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(~0u, value, apart);
    return value;
}

static __device__ inline wide warp_least(wide value)
{
    for (int apart = 16; apart > 0; apart /= 2)
        value = min(value, __shfl_xor_sync(~0u, value, apart));
    return value;
}

static __device__ inline value_sums warp_values(const value_sums &v)
{
    value_sums all;
    all.data = warp_sum(v.data);
    all.fine = warp_sum(v.fine);
    all.square[0] = warp_sum(v.square[0]);
    all.square[1] = warp_sum(v.square[1]);
    all.lowest = warp_least(v.lowest);
    all.highest = ~warp_least(~v.highest);
    return all;
}

/* ---- for who adds up regions in a way of his own ---- */

/* Bytes of device memory that the two calls below work in, aligned to 256. */
int64_t lob_region_values_bytes(void);

/*
 * The fine levels of an image's finite values.
 *
 *   m       out
 *   fine    out
 *   volume  in   one channel; its voxels are not looked at
 *   stored  in   device address of these
 */
lob_status lob_region_values_begin(region_image *m, lob_fine_levels *fine, const lob_volume *volume,
                                   const void *stored, lob_device *device, void *work,
                                   lob_error *error);

/*
 * Keys of extremes become values again, those of rows without data 0.
 *
 *   sums  in/out  count, in device memory; afterwards lob_region_values
 *
 * The device has finished when this returns LOB_OK, or LOB_EDATA as lob_regions_cpu.
 */
lob_status lob_region_values_end(value_sums *sums, int64_t count, lob_device *device, void *work,
                                 lob_error *error);

#endif
