/*
 * Joining the runs of a tile in shared memory: a forest whose trees are pieces and whose roots are
 * their first runs. Gives every run its code and every line its number of pieces.
 */
#ifndef LOB_COMPONENTS_TILES_CUDA_CUH
#define LOB_COMPONENTS_TILES_CUDA_CUH

#include "kernels/components/components_runs_cuda.cuh"

/* A block's forest. Nodes are numbered in the order of lines: thread * slots + slot. */
template <typename K> struct tile_forest {
    volatile uint32_t *parent; /* TILE_THREADS * slots, by place */
    const uint32_t *starts;    /* TILE_THREADS */

    /* Where a node is kept: threads of a warp that look at one slot each meet different banks. */
    static __device__ int kept_at(uint32_t node)
    {
        return (int)(node ^ (node >> 5 & (K::slots - 1)));
    }

    static __device__ uint32_t node_of(int thread, int start)
    {
        return (uint32_t)thread << K::slot_bits | (uint32_t)start >> (5 - K::slot_bits);
    }

    __device__ uint32_t node_at(int thread, int bit) const
    {
        return node_of(thread, 31 - __clz(starts[thread] & lob_bits_to(bit)));
    }

    __device__ uint32_t root_of(uint32_t node) const
    {
        for (;;) {
            const uint32_t up = parent[kept_at(node)];
            if (up == node) return node;
            node = up;
        }
    }

    /* Parents only ever become smaller, so that every tree's root is its smallest node. */
    __device__ void unite(uint32_t a, uint32_t b)
    {
        for (;;) {
            a = root_of(a);
            b = root_of(b);
            if (a == b) return;
            const uint32_t low = a < b ? a : b, high = a < b ? b : a;
            const uint32_t before = atomicMin((uint32_t *)&parent[kept_at(high)], low);
            if (before == high) return;
            a = before;
            b = low;
        }
    }

    /* Unite the pairs of a thread's word with the line whose word another thread has. */
    __device__ void unite_pairs(int thread, int other, const lob_row_pairs &e)
    {
        for (uint32_t left = e.same; left; left &= left - 1) {
            const int bit = __ffs(left) - 1;
            unite(node_at(thread, bit), node_at(other, bit));
        }
        for (uint32_t left = e.back; left; left &= left - 1) {
            const int bit = __ffs(left) - 1;
            unite(node_at(thread, bit), node_at(other - (bit == 0), (bit + 31) % WORD));
        }
        for (uint32_t left = e.ahead; left; left &= left - 1) {
            const int bit = __ffs(left) - 1;
            unite(node_at(thread, bit), node_at(other + (bit == 31), (bit + 1) % WORD));
        }
    }
};

/* What a thread knows of its word. */
typedef struct {
    place at;
    int y, z, w, thread;
    int local_y, local_z;
    const uint32_t *joined; /* the block's: bit x is joined with x - 1 in the tile */
} tile_word;

/* The pairs with the line (DY, DZ) away that need a union; none where that is outside the tile. */
template <typename K, int DY, int DZ>
static __device__ inline lob_row_pairs tile_pairs(const runs &r, const tile_word &t, int other)
{
    lob_row_pairs e = pairs_word<K, DY, DZ>(r, t.y, t.z, t.w);
    const bool last = t.thread % TILE_WORDS == TILE_WORDS - 1, first = t.thread % TILE_WORDS == 0;
    if (first) e.back &= ~UINT32_C(1);
    if (last) e.ahead &= ~(UINT32_C(1) << 31);
    e = lob_row_pairs_needed(e, t.joined[t.thread], t.joined[other],
                             last ? 0 : t.joined[other + 1]);
    if (DY == -1 && DZ == 0 && t.local_z > 0) /* goes round by the lines below both */
        e.same &= ~(pairs_word<K, 0, -1>(r, t.y, t.z, t.w).same &
                    pairs_word<K, 0, -1>(r, t.y - 1, t.z, t.w).same &
                    pairs_word<K, -1, 0>(r, t.y, t.z - 1, t.w).same);
    return e;
}

template <typename K>
static __device__ inline void unite_tile(const runs &r, tile_forest<K> &forest, const tile_word &t)
{
    const int last_y = (1 << r.tile_y_bits) - 1, down = TILE_WORDS << r.tile_y_bits;
    if (t.thread % TILE_WORDS > 0 && (t.joined[t.thread] & 1))
        forest.unite(forest.node_at(t.thread, 0), forest.node_at(t.thread - 1, 31));
    if (t.local_z > 0) {
        const int other = t.thread - down;
        forest.unite_pairs(t.thread, other, tile_pairs<K, 0, -1>(r, t, other));
    }
    if (t.local_y > 0) {
        const int other = t.thread - TILE_WORDS;
        forest.unite_pairs(t.thread, other, tile_pairs<K, -1, 0>(r, t, other));
    }
    if (!has_diagonal<K>()) return;
    if (t.local_z > 0 && t.local_y > 0) {
        const int other = t.thread - down - TILE_WORDS;
        forest.unite_pairs(t.thread, other, tile_pairs<K, -1, -1>(r, t, other));
    }
    if (t.local_z > 0 && t.local_y < last_y) {
        const int other = t.thread - down + TILE_WORDS;
        forest.unite_pairs(t.thread, other, tile_pairs<K, 1, -1>(r, t, other));
    }
}

/* How much the threads before this one add up to; total: all of them. Ends with a barrier. */
static __device__ inline uint32_t sum_before(uint32_t mine, uint32_t *of_warp, uint32_t *total)
{
    const int lane = (int)threadIdx.x % WORD, warp = (int)threadIdx.x / WORD;
    uint32_t sum = mine;
    for (int apart = 1; apart < WORD; apart *= 2) {
        const uint32_t other = __shfl_up_sync(~0u, sum, apart);
        if (lane >= apart) sum += other;
    }
    if (lane == WORD - 1) of_warp[warp] = sum;
    __syncthreads();
    uint32_t before = 0, all = 0;
    for (int i = 0; i < (int)blockDim.x / WORD; i++) {
        if (i < warp) before += of_warp[i];
        all += of_warp[i];
    }
    *total = all;
    __syncthreads();
    return before + sum - mine;
}

/* A root's code: its line, and the roots before it there. */
template <typename K>
static __device__ inline uint16_t code_of_root(const uint32_t *roots, uint32_t root)
{
    const int thread = (int)(root >> K::slot_bits);
    const int bit = (int)(root & (K::slots - 1)) << (5 - K::slot_bits);
    uint32_t rank = __popc(roots[thread] & ~(~0u << bit));
    if (thread % TILE_WORDS) rank += __popc(roots[thread - 1]);
    return (uint16_t)(thread / TILE_WORDS << CODE_RANK_BITS | rank);
}

template <typename K> static __global__ void __launch_bounds__(TILE_THREADS) tile_kernel(runs r)
{
    extern __shared__ uint32_t parent[];
    __shared__ uint32_t starts[TILE_THREADS], joined[TILE_THREADS], roots[TILE_THREADS];
    __shared__ uint32_t of_warp[TILE_THREADS / WORD];
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    tile_forest<K> forest = {parent, starts};

    for (int64_t tile = blockIdx.x; tile < r.tiles; tile += gridDim.x) {
        tile_word t;
        t.at = place_of_tile(r, tile);
        t.y = line_y(r, t.at, line);
        t.z = line_z(r, t.at, line);
        t.w = t.at.tile_x * TILE_WORDS + thread % TILE_WORDS;
        t.local_y = line & ((1 << r.tile_y_bits) - 1);
        t.local_z = line >> r.tile_y_bits;
        t.thread = thread;
        t.joined = joined;
        const uint32_t filled = filled_word<K>(r, t.y, t.z, t.w);
        const uint32_t with_left = joined_word<K>(r, t.y, t.z, t.w);
        const uint32_t mine = lob_run_starts(filled, with_left);
        starts[thread] = mine;
        joined[thread] = thread % TILE_WORDS ? with_left : with_left & ~UINT32_C(1);
        for (int i = thread; i < TILE_THREADS * K::slots; i += TILE_THREADS)
            parent[tile_forest<K>::kept_at((uint32_t)i)] = (uint32_t)i;
        __syncthreads();
        if (mine) unite_tile(r, forest, t);
        __syncthreads();

        uint32_t own = 0; /* runs that are roots */
        for (uint32_t left = mine; left; left &= left - 1) {
            const int start = __ffs(left) - 1;
            const uint32_t node = tile_forest<K>::node_of(thread, start);
            const uint32_t root = forest.root_of(node);
            if (root == node)
                own |= 1u << start;
            else
                atomicMin(&parent[tile_forest<K>::kept_at(node)], root);
        }
        roots[thread] = own;
        uint32_t total = 0;
        const uint32_t before = sum_before((uint32_t)__popc(mine), of_warp, &total);

        const bool inside = t.y < r.ly && t.z < r.lz;
        if (inside && thread % TILE_WORDS == 0)
            r.line_base[line_index(r, t.at, line)] =
                (uint32_t)(__popc(own) + __popc(roots[thread + 1]));
        r.offset[tile * TILE_THREADS + thread] = (uint16_t)before;
        if (thread == 0) r.runs[tile] = total;
        uint16_t *code = r.code + tile * TILE_THREADS * K::slots + before;
        for (uint32_t left = mine; left; left &= left - 1) {
            const uint32_t node = tile_forest<K>::node_of(thread, __ffs(left) - 1);
            *code++ = code_of_root<K>(roots, parent[tile_forest<K>::kept_at(node)]);
        }
        __syncthreads();
    }
}

#endif
