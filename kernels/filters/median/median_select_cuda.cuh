/*
 * Medians of any places by bisection: a thread takes a voxel and halves the interval of keys in
 * which the median lies, until one key is left. Each visit of the places counts the keys up to the
 * middle of the interval and finds the data that are next to it on both sides, so an interval ends
 * at data and there are about as many visits as the number of different keys has bits.
 */
#ifndef LOB_MEDIAN_SELECT_CUDA_CUH
#define LOB_MEDIAN_SELECT_CUDA_CUH

#include "kernels/filters/median/median_params_cuda.cuh"

namespace lob::filters
{

enum { SELECT_THREADS = 256 };

/* Call visit(key) for the data at all places around a voxel, of which some may lie outside. */
struct any_places {
    template <typename T, typename VISIT>
    static __device__ void visit(const median_params<T> &p, const int64_t at[3], VISIT visit)
    {
        const int64_t *n = p.axes.n, *stride = p.axes.stride, *r = p.axes.radius;
        for (int64_t z = at[2] - r[2]; z <= at[2] + r[2]; z++)
            for (int64_t y = at[1] - r[1]; y <= at[1] + r[1]; y++) {
                const int64_t py = lob_edge_position(y, n[1], p.edge);
                const int64_t pz = lob_edge_position(z, n[2], p.edge);
                const bool none = py < 0 || pz < 0;
                if (none && p.edge == LOB_EDGE_RENORMALISE) continue;
                const int64_t row = py * stride[1] + pz * stride[2];
                for (int64_t x = at[0] - r[0]; x <= at[0] + r[0]; x++) {
                    const int64_t px = lob_edge_position(x, n[0], p.edge);
                    if (none || px < 0) {
                        if (p.edge == LOB_EDGE_CONSTANT) visit(voxel_key<T>::of(p.edge_value));
                        continue;
                    }
                    const T voxel = p.in[row + px];
                    if (p.gaps && ((p.mask && !p.mask[row + px]) || !LOB_IS_FINITE(voxel)))
                        continue;
                    visit(voxel_key<T>::of(voxel));
                }
            }
    }
};

/* The same where all places lie inside. */
template <bool GAPS> struct inner_places {
    template <typename T, typename VISIT>
    static __device__ void visit(const median_params<T> &p, const int64_t at[3], VISIT visit)
    {
        const int64_t *stride = p.axes.stride, *r = p.axes.radius;
        const int wide = (int)(2 * r[0] + 1), rows = (int)(2 * r[1] + 1),
                  planes = (int)(2 * r[2] + 1);
        int64_t plane = at[0] - r[0] + (at[1] - r[1]) * stride[1] + (at[2] - r[2]) * stride[2];
        for (int z = 0; z < planes; z++, plane += stride[2]) {
            const T *voxel = p.in + plane;
            const uint8_t *mask = GAPS && p.mask ? p.mask + plane : NULL;
            for (int y = 0; y < rows; y++, voxel += stride[1]) {
#pragma unroll 5
                for (int x = 0; x < wide; x++)
                    if (!GAPS || ((!mask || mask[x]) && LOB_IS_FINITE(voxel[x])))
                        visit(voxel_key<T>::of(voxel[x]));
                if (GAPS && mask) mask += stride[1];
            }
        }
    }
};

/* The median around a voxel, or `otherwise` where there is no data. */
template <typename PLACES, typename T>
static __device__ inline T select_median(const median_params<T> &p, const int64_t at[3],
                                         T otherwise)
{
    using key = typename voxel_key<T>::key;
    key low = voxel_key<T>::MOST, high = 0;
    int64_t data = 0;
    PLACES::visit(p, at, [&](key k) {
        low = min(low, k), high = max(high, k);
        data++;
    });
    if (data == 0) return otherwise;
    const int64_t rank = lob_median_rank(data);
    while (low < high) {
        const key middle = low + (high - low) / 2;
        key under = low, over = high;
        int64_t count = 0;
        PLACES::visit(p, at, [&](key k) {
            if (k <= middle)
                count++, under = max(under, k);
            else
                over = min(over, k);
        });
        if (count >= rank)
            high = under;
        else
            low = over;
    }
    return voxel_key<T>::back(low);
}

template <typename T>
static __global__ void __launch_bounds__(SELECT_THREADS) select_kernel(const median_params<T> p)
{
    const int64_t *n = p.axes.n, *r = p.axes.radius, all = n[0] * n[1] * n[2];
    for (int64_t i = grid_first(); i < all; i += grid_step()) {
        const int64_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        bool inside = true;
        for (int a = 0; a < 3; a++) inside = inside && at[a] >= r[a] && at[a] < n[a] - r[a];
        T result = p.in[i];
        if (p.mask && !p.mask[i])
            ;
        else if (inside && p.gaps)
            result = select_median<inner_places<true>>(p, at, result);
        else if (inside)
            result = select_median<inner_places<false>>(p, at, result);
        else
            result = select_median<any_places>(p, at, result);
        p.out[i] = result;
    }
}

template <typename T>
static lob_status run_select(lob_device *device, const median_params<T> &p, lob_error *error)
{
    const int64_t all = p.axes.n[0] * p.axes.n[1] * p.axes.n[2];
    return lob_launch_over(device, select_kernel<T>, "median", all, SELECT_THREADS, p, error);
}

} /* namespace lob::filters */

#endif
