/*
 * Labels of voxels from numbered pieces; and the size and the first voxel of each component.
 *
 * A block takes a tile: it finds the labels of the tile's runs, then writes them voxel by voxel.
 */
#include "kernels/components/components_stages_cuda.cuh"
#include "volumes/labels.h"

namespace lob::components
{

typedef struct {
    join_params join;
    void *labels;
    lob_type type;
    const uint32_t *label; /* of components; NULL: their numbers */
    bool existing;         /* label 0 leaves labels as they are */
    bool quads;            /* rows are whole numbers of quads: 4 voxels, their labels aligned */
} paint_params;

/* Which of the two pointers is not NULL says what is found; found of each. */
typedef struct {
    join_params join;
    u64 *voxels, *member;
} sizes_params;

/* A block's shared memory, by the thread that has a word. */
typedef struct {
    uint32_t *starts; /* TILE_THREADS */
    uint32_t *before; /* TILE_THREADS: runs of the tile before those of the word */
    uint32_t *filled; /* TILE_THREADS for each row of a merged row */
    uint32_t *base;   /* TILE_MROWS: pieces before those of the merged row */
    uint32_t *label;  /* TILE_THREADS * slots: of runs */
} tile_labels;

/* A warp takes a word of a merged row, a lane a voxel of each of its rows. */
template <typename K>
static __device__ inline void paint_word(const paint_params &k, const tile_labels &l,
                                         const tile_position &at, int thread)
{
    const join_params &p = k.join;
    const int lane = (int)threadIdx.x % WARP, mrow = thread / TILE_WORDS;
    const int w = at.tile_x * TILE_WORDS + thread % TILE_WORDS, x = w * WORD + lane;
    const int run = (int)l.before[thread] + __popc(l.starts[thread] & bits_to(lane)) - 1;
    const int y = mrow_y(p, at, mrow) * K::merge_y, z = mrow_z(p, at, mrow) * K::merge_z;
    if (x >= p.nx) return;
#pragma unroll
    for (int i = 0; i < K::rows; i++) {
        const int row_y = y + i % K::merge_y, row_z = z + i / K::merge_y;
        if (row_y >= p.ny || row_z >= p.nz) continue;
        const bool in = l.filled[i * TILE_THREADS + thread] >> lane & 1;
        const uint32_t label = in ? l.label[run] : 0;
        if (!k.existing || label)
            lob_label_put(k.labels, k.type, ((int64_t)row_z * p.ny + row_y) * p.nx + x,
                          (int32_t)label);
    }
}

enum { QUAD = 4, ROW_QUADS = TILE_WORDS * WORD / QUAD };

static __device__ inline void put_quad(uint32_t *to, const uint32_t (&label)[QUAD])
{
    *to = label[0] | label[1] << 8 | label[2] << 16 | label[3] << 24;
}

static __device__ inline void put_quad(uint2 *to, const uint32_t (&label)[QUAD])
{
    *to = make_uint2(label[0] | label[1] << 16, label[2] | label[3] << 16);
}

static __device__ inline void put_quad(uint4 *to, const uint32_t (&label)[QUAD])
{
    *to = make_uint4(label[0], label[1], label[2], label[3]);
}

/* A thread takes the same four columns of rows; V: four labels. */
template <typename K, typename V>
static __device__ inline void paint_quads(const paint_params &k, const tile_labels &l,
                                          const tile_position &at)
{
    constexpr int mrows = TILE_THREADS / ROW_QUADS / K::rows; /* at once */
    const join_params &p = k.join;
    const int quad = (int)threadIdx.x % ROW_QUADS, row = (int)threadIdx.x / ROW_QUADS;
    const int i = row % K::rows, low = quad * QUAD % WORD, row_quads = p.nx / QUAD;
    const int x = at.tile_x * TILE_WORDS * WORD + quad * QUAD;
    if (x >= p.nx) return;
    V *const to = (V *)k.labels + x / QUAD;
#pragma unroll 4
    for (int n = 0; n < TILE_MROWS / mrows; n++) {
        const int mrow = n * mrows + row / K::rows;
        const int thread = mrow * TILE_WORDS + quad / (WORD / QUAD);
        const int y = y_of_row<K>(mrow_y(p, at, mrow), i);
        const int z = z_of_row<K>(mrow_z(p, at, mrow), i);
        if (y >= p.ny || z >= p.nz) continue;
        const uint32_t starts = l.starts[thread], in = l.filled[i * TILE_THREADS + thread] >> low;
        int run = (int)l.before[thread] + __popc(starts & ((1u << low) - 1)) - 1;
        uint32_t label[QUAD];
#pragma unroll
        for (int v = 0; v < QUAD; v++) {
            run += (int)(starts >> (low + v) & 1);
            label[v] = in >> v & 1 ? l.label[run] : 0;
        }
        put_quad(to + (int64_t)(z * p.ny + y) * row_quads, label); /* rows are far below 2^31 */
    }
}

template <typename K>
static __global__ void __launch_bounds__(TILE_THREADS, 3) paint_kernel(paint_params k)
{
    extern __shared__ uint32_t shared[];
    uint32_t *const filled = shared + 2 * TILE_THREADS;
    uint32_t *const base = filled + K::rows * TILE_THREADS;
    const tile_labels l = {shared, shared + TILE_THREADS, filled, base, base + TILE_MROWS};
    const join_params &p = k.join;
    const int thread = (int)threadIdx.x, mrow = thread / TILE_WORDS;
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const tile_position at = position_of_tile(p, tile);
        const int runs_here = (int)p.run_count[tile];
        const int y = mrow_y(p, at, mrow), z = mrow_z(p, at, mrow);
        const int w = at.tile_x * TILE_WORDS + thread % TILE_WORDS;
        if (thread % TILE_WORDS == 0 && y < p.mrows_y && z < p.mrows_z)
            l.base[mrow] = p.mrow_base[mrow_index(p, at, mrow)];
        l.starts[thread] = mrow_word_at<K>(p, y, z, w).starts;
        l.before[thread] =
            p.first_run[tile * TILE_THREADS + thread] - p.first_run[tile * TILE_THREADS];
#pragma unroll
        for (int i = 0; i < K::rows; i++)
            l.filled[i * TILE_THREADS + thread] = filled_row<K>(p, i, y, z, w);
        __syncthreads();
        const uint16_t *const local_root = p.local_root + p.first_run[tile * TILE_THREADS];
#pragma unroll 4
        for (int i = thread; i < runs_here; i += TILE_THREADS) {
            const uint32_t found = local_root[i];
            const uint32_t number = p.parent[l.base[root_mrow(found)] + root_rank(found)];
            l.label[i] = k.label ? k.label[number - 1] : number;
        }
        __syncthreads();
        if (!k.quads)
            for (int i = thread / WARP; i < TILE_THREADS; i += TILE_THREADS / WARP)
                paint_word<K>(k, l, at, i);
        else if (k.type == LOB_U8)
            paint_quads<K, uint32_t>(k, l, at);
        else if (k.type == LOB_I16)
            paint_quads<K, uint2>(k, l, at);
        else
            paint_quads<K, uint4>(k, l, at);
        __syncthreads();
    }
}

/* Keep the first voxel of a component, in whatever order they are met. */
static __device__ inline void note_voxel(const sizes_params &k, uint32_t number, int y, int z,
                                         int w, uint32_t bits)
{
    const u64 row = (u64)(((int64_t)z * k.join.ny + y) * k.join.nx);
    const u64 voxel = row + (u64)(w * WORD + lowest_bit(bits));
    u64 *first = &k.member[number - 1];
    if (voxel < *(const volatile u64 *)first) atomicMin(first, voxel);
}

/* A thread takes the runs of a word, and adds neighbours of one component together first. */
template <typename K>
static __global__ void __launch_bounds__(TILE_THREADS) sizes_kernel(sizes_params k)
{
    const join_params &p = k.join;
    const int thread = (int)threadIdx.x, mrow = thread / TILE_WORDS;
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const tile_position at = position_of_tile(p, tile);
        const int y = mrow_y(p, at, mrow), z = mrow_z(p, at, mrow);
        const int w = at.tile_x * TILE_WORDS + thread % TILE_WORDS;
        const uint32_t starts = mrow_word_at<K>(p, y, z, w).starts;
        int64_t run = p.first_run[tile * TILE_THREADS + thread];
        uint32_t last = 0;
        u64 voxels = 0;
        for (uint32_t left = starts; left; left &= left - 1) {
            const uint32_t number = p.parent[piece_of_run(p, at, run++)];
            const uint32_t columns = run_of(~0u, left);
            if (number != last && voxels) {
                atomicAdd(&k.voxels[last - 1], voxels);
                voxels = 0;
            }
            last = number;
            for (int i = 0; i < K::rows; i++) {
                const int row_y = y_of_row<K>(y, i), row_z = z_of_row<K>(z, i);
                const uint32_t bits = row_word(p, p.filled, row_y, row_z, w) & columns;
                voxels += k.voxels ? (u64)__popc(bits) : 0;
                if (k.member && bits) note_voxel(k, number, row_y, row_z, w, bits);
            }
        }
        /* A large component holds most of a warp: its lanes add up before one of them writes. */
        uint32_t lanes = __ballot_sync(ALL_LANES, voxels > 0);
        while (lanes) {
            const int leader = lowest_bit(lanes);
            const uint32_t number = __shfl_sync(ALL_LANES, last, leader);
            const bool same = voxels > 0 && last == number;
            const uint32_t sum = __reduce_add_sync(ALL_LANES, same ? (uint32_t)voxels : 0);
            if ((int)(threadIdx.x % WARP) == leader) atomicAdd(&k.voxels[number - 1], (u64)sum);
            lanes &= ~__ballot_sync(ALL_LANES, same);
        }
    }
}

lob_status write_labels(call *c, void *labels, lob_type type, const uint32_t *label, bool existing,
                        lob_error *error)
{
    const bool quads =
        !existing && c->join.nx % QUAD == 0 && (uintptr_t)labels % sizeof(uint4) == 0;
    const paint_params k = {c->join, labels, type, label, existing, quads};
    return with_merge(c->join, [&](auto kind) {
        using K = decltype(kind);
        const int words = TILE_THREADS * (2 + K::rows + c->join.slots) + TILE_MROWS;
        const size_t shared = (size_t)words * sizeof(uint32_t);
        LOB_TRY(lob_allow_shared(paint_kernel<K>, shared, error));
        return lob_launch(c->device, paint_kernel<K>, "writing labels", c->join.tiles, TILE_THREADS,
                          shared, k, error);
    });
}

static lob_status launch_sizes(call *c, const sizes_params &k, lob_error *error)
{
    return with_merge(c->join, [&](auto kind) {
        return lob_launch(c->device, sizes_kernel<decltype(kind)>, "measuring components",
                          c->join.tiles, TILE_THREADS, 0, k, error);
    });
}

lob_status count_voxels(call *c, u64 *voxels, lob_error *error)
{
    LOB_TRY(lob_device_fill(c->device, voxels, 0, c->found * (int64_t)sizeof *voxels, error));
    return launch_sizes(c, {c->join, voxels, NULL}, error);
}

lob_status find_members(call *c, u64 *member, lob_error *error)
{
    LOB_TRY(lob_device_fill(c->device, member, 0xff, c->found * (int64_t)sizeof *member, error));
    return launch_sizes(c, {c->join, NULL, member}, error);
}

} /* namespace lob::components */
