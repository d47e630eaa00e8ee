/*
 * Component numbers in raster order: from the roots of pieces to a number for each piece.
 *
 * Pieces are numbered in the order of merged rows. Where merged rows are rows, a component's root
 * is its first piece and holds its first voxel, so its number is 1 + the roots before it. Where a
 * merged row is several rows, each component's first voxel is found among its runs and marked by a
 * bit; the component's number is 1 + the marks before it.
 */
#include "kernels/components/components_stages_cuda.cuh"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace lob::components
{

enum { NUMBER_THREADS = 256, GROUP_BITS = GROUP_WORDS * WORD };

/* The first voxel of a run as a bit index in filled; the order of bits is raster order. */
template <typename K>
static __device__ inline u64 first_of_run(const join_params &p, int y, int z, int w, uint32_t run)
{
    for (int i = 0; i < K::rows; i++) {
        const int row_y = y_of_row<K>(y, i), row_z = z_of_row<K>(z, i);
        const uint32_t bits = row_word(p, p.filled, row_y, row_z, w) & run;
        if (bits)
            return (u64)(((int64_t)row_z * p.ny + row_y) * p.words + w) * WORD +
                   (u64)(lowest_bit(bits));
    }
    return ~0ull;
}

/*
 * Find the first voxel of each component. A run is looked at only if it is in the merged row in
 * which its piece begins (or in one of the same z, where a merged row is several rows along z);
 * other runs come later in raster order.
 */
template <typename K>
static __global__ void __launch_bounds__(TILE_THREADS) first_voxel_kernel(join_params p)
{
    const int thread = (int)threadIdx.x, mrow = thread / TILE_WORDS;
    const int bits = K::merge_z > 1 ? p.tile_y_bits : 0;
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const int64_t word = tile * TILE_THREADS + thread;
        const uint16_t *root = p.local_root + p.first_run[word];
        const uint16_t *const end =
            p.local_root +
            (thread + 1 < TILE_THREADS ? p.first_run[word + 1] : tile_end_run(p, tile));
        bool early = false;
        for (const uint16_t *r = root; r < end; r++) early |= root_mrow(*r) >> bits == mrow >> bits;
        if (!early) continue;
        const tile_position at = position_of_tile(p, tile);
        const int y = mrow_y(p, at, mrow), z = mrow_z(p, at, mrow);
        const int w = at.tile_x * TILE_WORDS + thread % TILE_WORDS;
        const uint32_t filled = filled_word<K>(p, y, z, w);
        for (uint32_t left = mrow_word_at<K>(p, y, z, w).starts; left; left &= left - 1) {
            const uint32_t local_root = *root++;
            if (root_mrow(local_root) >> bits != mrow >> bits) continue;
            const u64 first = first_of_run<K>(p, y, z, w, run_of(filled, left));
            u64 *lowest = p.first_voxel + p.parent[piece_of_root(p, at, local_root)];
            if (first < __ldca(lowest)) atomicMin(lowest, first);
        }
    }
}

static __global__ void __launch_bounds__(NUMBER_THREADS) mark_kernel(join_params p)
{
    for (int64_t i = grid_first(); i < p.pieces; i += grid_step()) {
        if (p.parent[i] != (uint32_t)i) continue;
        const u64 first = p.first_voxel[i];
        atomicOr(&p.first_marks[first / GROUP_BITS].word[first % GROUP_BITS / WORD],
                 1u << first % WORD);
    }
}

struct marks_of_group {
    __device__ uint32_t operator()(const bit_group &bits) const
    {
        int n = 0;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) n += __popc(bits.word[i]);
        return (uint32_t)n;
    }
};

/* The number of marks before one. */
static __device__ inline uint32_t rank_of_mark(const join_params &p, u64 mark)
{
    const u64 group = mark / GROUP_BITS;
    const int of = (int)(mark % GROUP_BITS);
    uint32_t rank = p.marks_before[group];
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        const uint32_t before = i < of / WORD ? ~0u : i == of / WORD ? (1u << of % WORD) - 1 : 0;
        rank += (uint32_t)__popc(p.first_marks[group].word[i] & before);
    }
    return rank;
}

/* From here on a piece's parent is its component's number; where merged rows are rows, the number
 * of components follows the last piece. */
static __global__ void __launch_bounds__(NUMBER_THREADS) number_kernel(join_params p)
{
    for (int64_t i = grid_first(); i <= p.pieces; i += grid_step()) {
        if (i == p.pieces) {
            if (!p.first_voxel) p.parent[i] = p.roots_before[i];
            break;
        }
        const uint32_t root = p.parent[i];
        p.parent[i] =
            1 + (p.first_voxel ? rank_of_mark(p, p.first_voxel[root]) : p.roots_before[root]);
    }
}

/* Exclusive sums of marks by group, with the sum of all. */
static cudaError_t scan_marks(void *memory, size_t *bytes, const call *c)
{
    const join_params *p = &c->join;
    return cub::DeviceScan::ExclusiveSum(
        memory, *bytes, thrust::make_transform_iterator(p->first_marks, marks_of_group{}),
        p->marks_before, p->volume_groups + 1, lob_device_cuda_stream(c->device));
}

lob_status number_scan_bytes(const call *c, size_t *bytes, lob_error *error)
{
    *bytes = 0;
    if (c->join.merge_y * c->join.merge_z > 1) LOB_CUDA(scan_marks(NULL, bytes, c));
    return LOB_OK;
}

static lob_status mark_first_voxels(call *c, lob_error *error)
{
    const join_params *p = &c->join;
    LOB_TRY(lob_device_fill(c->device, p->first_marks, 0,
                            (p->volume_groups + 1) * (int64_t)sizeof(bit_group), error));
    LOB_TRY(with_merge(*p, [&](auto kind) {
        using K = decltype(kind);
        if constexpr (K::rows > 1)
            return lob_launch(c->device, first_voxel_kernel<K>, "finding first voxels", p->tiles,
                              TILE_THREADS, 0, *p, error);
        return LOB_EINTERNAL;
    }));
    LOB_TRY(lob_launch_over(c->device, mark_kernel, "marking first voxels", p->pieces,
                            NUMBER_THREADS, *p, error));
    LOB_CUDA(scan_marks(c->scan_memory, &c->scan_bytes, c));
    return LOB_OK;
}

lob_status number_components(call *c, lob_error *error)
{
    const join_params *p = &c->join;
    LOB_TRY(p->first_voxel ? mark_first_voxels(c, error)
                           : exclusive_sum(c, p->roots_before, p->pieces + 1, error));
    return lob_launch_over(c->device, number_kernel, "numbering", p->pieces + 1, NUMBER_THREADS, *p,
                           error);
}

} /* namespace lob::components */
