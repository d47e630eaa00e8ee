/*
 * From a forest of pieces to numbers of components in the order of their first voxels.
 *
 * Pieces are numbered in the order of lines. Where lines are rows, a component's root is its first
 * piece and holds its first voxel, so that counting roots numbers components. Where a line is
 * several rows, the smallest first voxel of the runs decides: a bit is set for each component's,
 * and bits are counted.
 */
#ifndef LOB_COMPONENTS_NUMBER_CUDA_CUH
#define LOB_COMPONENTS_NUMBER_CUDA_CUH

#include "kernels/components/join/runs_cuda.cuh"

enum { NUMBER_THREADS = 256, GROUP_BITS = GROUP_WORDS * WORD };

static __device__ inline int64_t grid_first()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline int64_t grid_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

static __global__ void __launch_bounds__(NUMBER_THREADS) start_kernel(runs r)
{
    for (int64_t i = grid_first(); i < r.pieces; i += grid_step()) r.parent[i] = (uint32_t)i;
}

/* While the forest rests, every piece's way to its root becomes one step. */
static __global__ void __launch_bounds__(NUMBER_THREADS) flatten_kernel(runs r)
{
    for (int64_t i = grid_first(); i < r.pieces; i += grid_step()) {
        uint32_t root = r.parent[i];
        for (uint32_t up; (up = r.parent[root]) != root;) root = up;
        r.parent[i] = root;
    }
}

/* The forest is complete: every piece finds its root, writes nothing but its own parent, and says
 * whether it is one. */
static __global__ void __launch_bounds__(NUMBER_THREADS) root_kernel(runs r)
{
    for (int64_t i = grid_first(); i <= r.pieces; i += grid_step()) {
        if (i == r.pieces) { /* so that a scan ends with the sum */
            r.number[i] = 0;
            break;
        }
        uint32_t root = r.parent[i];
        for (uint32_t up; (up = r.parent[root]) != root;) root = up;
        r.parent[i] = root;
        r.number[i] = root == (uint32_t)i;
        if (r.first) r.first[i] = ~0ull;
    }
}

/* Where a run's first voxel is, as a bit of the volume's rows; bits are in raster order. */
template <typename K>
static __device__ inline wide first_of_run(const runs &r, int y, int z, int w, uint32_t run)
{
    for (int i = 0; i < K::by * K::bz; i++) {
        const int row_y = y * K::by + i % K::by, row_z = z * K::bz + i / K::by;
        const uint32_t bits = row_word(r, r.filled, row_y, row_z, w) & run;
        if (bits)
            return (wide)(((int64_t)row_z * r.ny + row_y) * r.words + w) * WORD +
                   (wide)(lowest_bit(bits));
    }
    return ~0ull;
}

/*
 * Runs tell their components where their first voxels are: those in the line, or in the lines of
 * one z where a line is several rows along z, in which their piece begins; others come later.
 */
template <typename K> static __global__ void __launch_bounds__(TILE_THREADS) first_kernel(runs r)
{
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    const int bits = K::bz > 1 ? r.tile_y_bits : 0;
    for (int64_t tile = blockIdx.x; tile < r.tiles; tile += gridDim.x) {
        const int64_t word = tile * TILE_THREADS + thread;
        const uint16_t *code = r.code + r.offset[word];
        const uint16_t *const end =
            r.code + (thread + 1 < TILE_THREADS ? r.offset[word + 1] : codes_end(r, tile));
        bool early = false;
        for (const uint16_t *c = code; c < end; c++) early |= code_line(*c) >> bits == line >> bits;
        if (!early) continue;
        const place p = place_of_tile(r, tile);
        const int y = line_y(r, p, line), z = line_z(r, p, line);
        const int w = p.tile_x * TILE_WORDS + thread % TILE_WORDS;
        const uint32_t filled = filled_word<K>(r, y, z, w);
        for (uint32_t left = starts_word<K>(r, y, z, w); left; left &= left - 1) {
            const uint32_t its = *code++;
            if (code_line(its) >> bits != line >> bits) continue;
            const wide first = first_of_run<K>(r, y, z, w, run_of(filled, left));
            wide *least = r.first + r.parent[id_of_code(r, p, its)];
            if (first < __ldca(least)) atomicMin(least, first);
        }
    }
}

static __global__ void __launch_bounds__(NUMBER_THREADS) mark_kernel(runs r)
{
    for (int64_t i = grid_first(); i < r.pieces; i += grid_step()) {
        if (r.parent[i] != (uint32_t)i) continue;
        const wide first = r.first[i];
        atomicOr(&r.first_bits[first / GROUP_BITS].word[first % GROUP_BITS / WORD],
                 1u << first % WORD);
    }
}

/* What a scan over groups of bits adds up. */
struct ones {
    __device__ uint32_t operator()(const bit_group &bits) const
    {
        int n = 0;
#pragma unroll
        for (int i = 0; i < GROUP_WORDS; i++) n += __popc(bits.word[i]);
        return (uint32_t)n;
    }
};

/* The component whose first voxel this is, from 0. */
static __device__ inline uint32_t rank_of_first(const runs &r, wide first)
{
    const wide group = first / GROUP_BITS;
    const int of = (int)(first % GROUP_BITS);
    uint32_t rank = r.first_base[group];
#pragma unroll
    for (int i = 0; i < GROUP_WORDS; i++) {
        const uint32_t before = i < of / WORD ? ~0u : i == of / WORD ? (1u << of % WORD) - 1 : 0;
        rank += (uint32_t)__popc(r.first_bits[group].word[i] & before);
    }
    return rank;
}

/* From here on a piece's parent is its component's number; behind the last, where lines are rows,
 * is how many there are. */
static __global__ void __launch_bounds__(NUMBER_THREADS) number_kernel(runs r)
{
    for (int64_t i = grid_first(); i <= r.pieces; i += grid_step()) {
        if (i == r.pieces) {
            if (!r.first) r.parent[i] = r.number[i];
            break;
        }
        const uint32_t root = r.parent[i];
        r.parent[i] = 1 + (r.first ? rank_of_first(r, r.first[root]) : r.number[root]);
    }
}

#endif
