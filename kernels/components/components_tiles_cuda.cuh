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

    /* A node far from its root is put next to it, so that the next search is short. */
    __device__ uint32_t root_of(uint32_t node)
    {
        uint32_t root = node;
        int steps = 0;
        for (uint32_t up; (up = parent[kept_at(root)]) != root; root = up) steps++;
        if (steps > 1) atomicMin((uint32_t *)&parent[kept_at(node)], root);
        return root;
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
};

/* Pairs of a thread's word with up to three lines, whose words other threads have. */
typedef struct {
    lob_row_pairs with[3];
    int other[3];
} tile_jobs;

/* The next bit of three masks, and which of them it was in: lanes go on to the next line alone. */
static __device__ inline int next_job(uint32_t &first, uint32_t &second, uint32_t &third, int *bit)
{
    const int which = first ? 0 : second ? 1 : 2;
    const uint32_t from = first ? first : second ? second : third, rest = from & (from - 1);
    *bit = __ffs((int)from) - 1;
    first = which == 0 ? rest : first;
    second = which == 1 ? rest : second;
    third = which == 2 ? rest : third;
    return which;
}

template <typename K>
static __device__ inline void unite_jobs(tile_forest<K> &forest, int thread, tile_jobs j)
{
    int bit;
    while (j.with[0].same | j.with[1].same | j.with[2].same) {
        const int k = next_job(j.with[0].same, j.with[1].same, j.with[2].same, &bit);
        const int other = k == 0 ? j.other[0] : k == 1 ? j.other[1] : j.other[2];
        forest.unite(forest.node_at(thread, bit), forest.node_at(other, bit));
    }
    if constexpr (has_diagonal<K>()) {
        while (j.with[0].back | j.with[1].back | j.with[2].back) {
            const int k = next_job(j.with[0].back, j.with[1].back, j.with[2].back, &bit);
            const int other = k == 0 ? j.other[0] : k == 1 ? j.other[1] : j.other[2];
            forest.unite(forest.node_at(thread, bit),
                         forest.node_at(other - (bit == 0), (bit + 31) % WORD));
        }
        while (j.with[0].ahead | j.with[1].ahead | j.with[2].ahead) {
            const int k = next_job(j.with[0].ahead, j.with[1].ahead, j.with[2].ahead, &bit);
            const int other = k == 0 ? j.other[0] : k == 1 ? j.other[1] : j.other[2];
            forest.unite(forest.node_at(thread, bit),
                         forest.node_at(other + (bit == 31), (bit + 1) % WORD));
        }
    }
}

/* What a thread knows of its word, and its block of the tile. */
typedef struct {
    place at;
    int y, z, w, thread;
    int local_y, local_z;
    int64_t index;          /* of the word in the volume's rows, where lines are rows */
    const uint32_t *filled; /* TILE_THREADS for each row of a line */
    const uint32_t *joined; /* bit x is joined with x - 1 in the tile */
} tile_word;

/* The word of a line of the tile some lines away: its thread, and its index in the volume. */
typedef struct {
    int thread;
    int64_t index;
} tile_line;

static __device__ inline tile_line line_at(const runs &r, const tile_word &t, int dy, int dz)
{
    tile_line l;
    l.thread = t.thread + TILE_WORDS * (dy + dz * (1 << r.tile_y_bits));
    l.index = t.index + ((int64_t)dz * r.ny + dy) * r.words;
    return l;
}

/* Pairs of the rows of two lines of a tile where all neighbours are joined. */
template <typename K, int DY, int DZ>
static __device__ inline void undirected_tile_pairs(lob_row_pairs *e, const runs &r,
                                                    const tile_word &t, int thread)
{
    const int other = thread + TILE_WORDS * (DY + DZ * (1 << r.tile_y_bits));
    const bool first = thread % TILE_WORDS == 0, last = thread % TILE_WORDS == TILE_WORDS - 1;
#pragma unroll
    for (int i = 0; i < K::by * K::bz * K::by * K::bz; i++) {
        const int ay = i % K::by, az = i / K::by % K::bz;
        const int by = i / (K::by * K::bz) % K::by, bz = i / (K::by * K::bz * K::by);
        const int dy = DY * K::by + by - ay, dz = DZ * K::bz + bz - az;
        const int apart = (dy != 0) + (dz != 0);
        if (dy < -1 || dy > 1 || dz < -1 || dz > 1 || apart > K::near) continue;
        if ((dy && !r.along[1]) || (dz && !r.along[2])) continue;
        const uint32_t a = t.filled[(az * K::by + ay) * TILE_THREADS + thread];
        const uint32_t *row = t.filled + (bz * K::by + by) * TILE_THREADS;
        const uint32_t b = row[other];
        e->same |= a & b;
        if (apart + 1 > K::near || !r.along[0]) continue;
        e->back |= a & lob_bits_back(b, first ? 0 : row[other - 1]);
        e->ahead |= a & lob_bits_ahead(b, last ? 0 : row[other + 1]);
    }
}

/* The pairs in the tile of one of its lines with another, (DY, DZ) away. */
template <typename K, int DY, int DZ>
static __device__ inline lob_row_pairs tile_pairs(const runs &r, const tile_word &t,
                                                  const tile_line &l)
{
    lob_row_pairs e = {0, 0, 0};
    const int apart = (DY != 0) + (DZ != 0);
    if (!K::directed)
        undirected_tile_pairs<K, DY, DZ>(&e, r, t, l.thread);
    else if (apart <= K::near) {
        const uint32_t *same = r.plane[direction_of(0, DY, DZ)];
        const uint32_t *back = r.plane[direction_of(-1, DY, DZ)];
        const uint32_t *ahead = r.plane[direction_of(1, DY, DZ)];
        if (same) e.same = same[l.index];
        if (back) e.back = back[l.index] & ~(uint32_t)(l.thread % TILE_WORDS == 0);
        if (ahead) e.ahead = ahead[l.index];
        if (l.thread % TILE_WORDS == TILE_WORDS - 1) e.ahead &= ~(UINT32_C(1) << 31);
    }
    return e;
}

/* Those of the pairs with another line of the tile that need a union. */
static __device__ inline lob_row_pairs needed_in_tile(const tile_word &t, const lob_row_pairs &e,
                                                      int other)
{
    const bool last = t.thread % TILE_WORDS == TILE_WORDS - 1;
    return lob_row_pairs_needed(e, t.joined[t.thread], t.joined[other],
                                last ? 0 : t.joined[other + 1]);
}

/* Take out pairs that follow from others: from and to are joined with the line between. */
static __device__ inline void drop(lob_row_pairs *e, const lob_row_pairs &by)
{
    e->same &= ~by.same;
    e->back &= ~by.back;
    e->ahead &= ~by.ahead;
}

/* Along x and y: a warp has a plane of the tile, or half of one. */
template <typename K>
static __device__ inline void unite_plane(const runs &r, tile_forest<K> &forest, const tile_word &t)
{
    tile_jobs j = {};
    if (t.thread % TILE_WORDS > 0 && (t.joined[t.thread] & 1))
        forest.unite(forest.node_at(t.thread, 0), forest.node_at(t.thread - 1, 31));
    if (t.local_y == 0) return;
    const tile_line own = line_at(r, t, 0, 0);
    lob_row_pairs e = tile_pairs<K, -1, 0>(r, t, own);
    if (t.local_z > 0) /* goes round by the lines below both */
        e.same &= ~(tile_pairs<K, 0, -1>(r, t, own).same &
                    tile_pairs<K, 0, -1>(r, t, line_at(r, t, -1, 0)).same &
                    tile_pairs<K, -1, 0>(r, t, line_at(r, t, 0, -1)).same);
    j.other[0] = t.thread - TILE_WORDS;
    j.with[0] = needed_in_tile(t, e, j.other[0]);
    unite_jobs(forest, t.thread, j);
}

/* Along z, and across edges, of which those are left out that the line below leads to. */
template <typename K>
static __device__ inline void unite_planes(const runs &r, tile_forest<K> &forest,
                                           const tile_word &t)
{
    const int last_y = (1 << r.tile_y_bits) - 1;
    tile_jobs j = {};
    if (t.local_z == 0) return;
    const tile_line own = line_at(r, t, 0, 0);
    const lob_row_pairs below = tile_pairs<K, 0, -1>(r, t, own);
    j.other[0] = line_at(r, t, 0, -1).thread;
    j.with[0] = needed_in_tile(t, below, j.other[0]);
    if (has_diagonal<K>() && t.local_y > 0) {
        lob_row_pairs e = tile_pairs<K, -1, -1>(r, t, own);
        lob_row_pairs beside = tile_pairs<K, -1, 0>(r, t, line_at(r, t, 0, -1));
        beside.same &= below.same;
        beside.back &= below.same;
        beside.ahead &= below.same;
        drop(&e, beside);
        e.same &= ~(tile_pairs<K, -1, 0>(r, t, own).same &
                    tile_pairs<K, 0, -1>(r, t, line_at(r, t, -1, 0)).same);
        j.other[1] = line_at(r, t, -1, -1).thread;
        j.with[1] = needed_in_tile(t, e, j.other[1]);
    }
    if (has_diagonal<K>() && t.local_y < last_y && t.y + 1 < r.ly) {
        const tile_line up = line_at(r, t, 1, 0), to = line_at(r, t, 1, -1);
        lob_row_pairs e = tile_pairs<K, 1, -1>(r, t, own);
        const lob_row_pairs beside = tile_pairs<K, -1, 0>(r, t, to);
        const lob_row_pairs turned = {below.same & beside.ahead << 1, below.same & beside.same,
                                      below.same & beside.back >> 1};
        drop(&e, turned);
        e.same &= ~(tile_pairs<K, -1, 0>(r, t, up).same & tile_pairs<K, 0, -1>(r, t, up).same);
        j.other[2] = to.thread;
        j.with[2] = needed_in_tile(t, e, j.other[2]);
    }
    unite_jobs(forest, t.thread, j);
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
    __shared__ uint32_t rows[TILE_THREADS * (K::directed ? 1 : K::by * K::bz)];
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
        t.index = ((int64_t)t.z * r.ny + t.y) * r.words + t.w;
        t.filled = rows;
        uint32_t filled = 0;
#pragma unroll
        for (int i = 0; i < K::by * K::bz; i++) {
            const int y = t.y * K::by + i % K::by, z = t.z * K::bz + i / K::by;
            const uint32_t row = row_word(r, r.filled, y, z, t.w);
            if (!K::directed) rows[i * TILE_THREADS + thread] = row;
            filled |= row;
        }
        const bool first = thread % TILE_WORDS == 0;
        const uint32_t left = __shfl_up_sync(~0u, filled, 1);
        uint32_t with_left = filled & lob_bits_back(filled, first ? 0 : left);
        if (K::directed) with_left = joined_word<K>(r, t.y, t.z, t.w);
        if (!r.along[0]) with_left = 0;
        const uint32_t mine = lob_run_starts(filled, with_left);
        starts[thread] = mine;
        joined[thread] = first ? with_left & ~UINT32_C(1) : with_left;
        for (int i = thread; i < TILE_THREADS * K::slots; i += TILE_THREADS)
            parent[tile_forest<K>::kept_at((uint32_t)i)] = (uint32_t)i;
        __syncthreads();
        if (mine) unite_plane(r, forest, t);
        __syncthreads();
        for (uint32_t left = mine; left; left &= left - 1)
            forest.root_of(tile_forest<K>::node_of(thread, __ffs((int)left) - 1));
        __syncthreads();
        if (mine) unite_planes(r, forest, t);
        __syncthreads();

        uint32_t own = 0; /* runs that are roots */
        for (uint32_t left = mine; left; left &= left - 1) {
            const int start = __ffs((int)left) - 1;
            const uint32_t node = tile_forest<K>::node_of(thread, start);
            if (forest.root_of(node) == node) own |= 1u << start;
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
