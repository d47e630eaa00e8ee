/*
 * From the bits of a tile to its runs and pieces. Gives every run its local root, every word the
 * index of its first run, and every merged row its number of pieces.
 */
#include "kernels/components/components_stages_cuda.cuh"
#include "kernels/components/join/run_forest_cuda.cuh"

namespace lob::components
{

/* A forest with a node for every run that a word can have. */
template <typename K> struct tile_forest : run_forest {
    /* Words of a thread: odd, so that threads that read the same slot read different banks. */
    static constexpr uint32_t stride = K::slots + 1; /* times TILE_THREADS */

    const uint32_t *starts; /* TILE_THREADS */

    static __device__ uint32_t node_of(int thread, int start)
    {
        return ((uint32_t)thread * stride + ((uint32_t)start >> (5 - K::slot_bits))) * 4;
    }

    /* The node of the run that holds a bit of a word whose runs start so. */
    static __device__ uint32_t node_in(int thread, uint32_t starts, int bit)
    {
        return node_of(thread, 31 - __clz((int)(starts & bits_to(bit))));
    }

    __device__ uint32_t node_at(int thread, int bit) const
    {
        return node_in(thread, starts[thread], bit);
    }

    /* A node further from its root becomes its child, so that the next search is short. */
    __device__ uint32_t root_of(uint32_t node) const
    {
        const uint32_t first = parent(node);
        uint32_t root = first;
        for (uint32_t up; (up = parent(root)) != root;) root = up;
        if (root != first) atomicMin(at(node), root);
        return root;
    }
};

/* A thread's word, and where its block keeps the others. */
typedef struct {
    tile_position at;
    int y, z, w, thread;
    int local_y, local_z;
    int64_t index;          /* of the word in the volume, where merged rows are rows */
    const uint32_t *filled; /* TILE_THREADS for each row of a merged row */
    const uint32_t *joined; /* bit x is joined with x - 1 in the tile */
} tile_word;

/* A word of another merged row of the tile: its thread, and its index in the volume. */
typedef struct {
    int thread;
    int64_t index;
} tile_mrow;

static __device__ inline tile_mrow mrow_at(const join_params &p, const tile_word &t, int dy, int dz)
{
    tile_mrow l;
    l.thread = t.thread + TILE_WORDS * (dy + dz * (1 << p.tile_y_bits));
    l.index = t.index + ((int64_t)dz * p.ny + dy) * p.words;
    return l;
}

/* side_word from shared memory. */
template <typename K, int DY, int DZ>
static __device__ inline uint32_t tile_side(const tile_word &t, int thread)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::rows; i++) {
        if (!on_side<K>(i, DY, DZ)) continue;
        filled |= t.filled[i * TILE_THREADS + thread];
    }
    return filled;
}

/* The pairs in the tile of one of its merged rows with the one (DY, DZ) away. */
template <typename K, int DY, int DZ>
static __device__ inline row_pairs tile_pairs(const join_params &p, const tile_word &t,
                                              const tile_mrow &l)
{
    row_pairs e = {0, 0, 0};
    const bool first = l.thread % TILE_WORDS == 0, last = l.thread % TILE_WORDS == TILE_WORDS - 1;
    if (!K::by_value) {
        const int other = l.thread + TILE_WORDS * (DY + DZ * (1 << p.tile_y_bits));
        if ((DY && !p.along[1]) || (DZ && !p.along[2])) return e;
        const uint32_t a = tile_side<K, DY, DZ>(t, l.thread);
        const uint32_t b = tile_side<K, -DY, -DZ>(t, other);
        e.same = a & b;
        if (!crosses_x<K>(DY, DZ) || !p.along[0]) return e;
        e.back = a & bits_back(b, first ? 0 : tile_side<K, -DY, -DZ>(t, other - 1));
        e.ahead = a & bits_ahead(b, last ? 0 : tile_side<K, -DY, -DZ>(t, other + 1));
        return e;
    }
    const uint32_t *same = p.joined_bits[direction_of(0, DY, DZ)];
    const uint32_t *back = p.joined_bits[direction_of(-1, DY, DZ)];
    const uint32_t *ahead = p.joined_bits[direction_of(1, DY, DZ)];
    if (same) e.same = same[l.index];
    if (!crosses_x<K>(DY, DZ)) return e;
    if (back) e.back = back[l.index] & ~(uint32_t)first;
    if (ahead) e.ahead = ahead[l.index] & ~((uint32_t)last << 31);
    return e;
}

/* Of pairs with another merged row of the tile, those that need a union; left: `same` of the word
 * to the left. */
static __device__ inline row_pairs needed_in_tile(const tile_word &t, const row_pairs &e, int other,
                                                  uint32_t left)
{
    const bool last = t.thread % TILE_WORDS == TILE_WORDS - 1;
    return needed_pairs(e, t.joined[t.thread], t.joined[other], last ? 0 : t.joined[other + 1],
                        left);
}

/* Take out the pairs implied by others, which join both voxels with a third one. */
static __device__ inline void remove_pairs(row_pairs *e, const row_pairs &implied)
{
    e->same &= ~implied.same;
    e->back &= ~implied.back;
    e->ahead &= ~implied.ahead;
}

/* The merged rows before one whose runs its own may touch, and the pairs with them. */
template <typename K> struct tile_neighbours {
    static constexpr int count = K::diagonal ? 4 : 2;
    row_pairs pairs[count]; /* (dy, dz) = (0, -1), (-1, 0), (-1, -1), (1, -1) */
    int other[count];       /* threads */
};

/* Foreground of another merged row of the tile; none beyond the tile. */
static __device__ inline uint32_t tile_filled(const join_params &p, const tile_word &t, int dy,
                                              int dz)
{
    const int last_y = (1 << p.tile_y_bits) - 1, y = t.local_y + dy;
    if (y < 0 || y > last_y || t.local_z + dz < 0) return 0;
    return t.filled[mrow_at(p, t, dy, dz).thread];
}

/*
 * With 18 neighbours and any foreground joined, take out pairs of (x, y, z) implied by others:
 *   1. y.back where z.back, and y.ahead where z.ahead
 *   2. z.ahead where z.back and (x, y - 1, z - 1) or (x, y + 1, z - 1) is foreground in the tile
 *   3. y.ahead where y.back and (x, y - 2, z) is foreground in the tile
 * The pairs that imply them are of the same voxel or of merged rows before.
 */
static __device__ inline void remove_around_corner(row_pairs *z, row_pairs *y, const join_params &p,
                                                   const tile_word &t)
{
    const uint32_t around_z = tile_filled(p, t, -1, -1) | tile_filled(p, t, 1, -1);
    y->ahead &= ~(y->back & tile_filled(p, t, -2, 0));
    y->back &= ~z->back;
    y->ahead &= ~z->ahead;
    z->ahead &= ~(z->back & around_z);
}

/* Diagonal pairs, with merged rows (dy, dz) = (-1, -1) and (1, -1) away, without those implied by
 * way of the merged row of the previous slice, (0, -1) away; to_z: all pairs with that. */
template <typename K>
static __device__ inline void find_diagonals(tile_neighbours<K> *n, const row_pairs &to_z,
                                             const join_params &p, const tile_word &t)
{
    const int last_y = (1 << p.tile_y_bits) - 1;
    const tile_mrow own = mrow_at(p, t, 0, 0);
    const uint32_t by_beside = !K::by_value && K::connectivity == 2 ? to_z.back | to_z.ahead : 0;
    if (t.local_y > 0) {
        row_pairs e = tile_pairs<K, -1, -1>(p, t, own);
        e.same &= ~by_beside; /* the voxel beside (x, y, z - 1) touches both */
        row_pairs beside = tile_pairs<K, -1, 0>(p, t, mrow_at(p, t, 0, -1));
        beside.same &= to_z.same;
        beside.back &= to_z.same;
        beside.ahead &= to_z.same;
        remove_pairs(&e, beside);
        e.same &= ~(tile_pairs<K, -1, 0>(p, t, own).same &
                    tile_pairs<K, 0, -1>(p, t, mrow_at(p, t, -1, 0)).same);
        n->other[2] = mrow_at(p, t, -1, -1).thread;
        n->pairs[2] = needed_in_tile(t, e, n->other[2], 0);
    }
    if (t.local_y < last_y && t.y + 1 < p.mrows_y) {
        const tile_mrow next = mrow_at(p, t, 1, 0), to = mrow_at(p, t, 1, -1);
        row_pairs e = tile_pairs<K, 1, -1>(p, t, own);
        e.same &= ~by_beside;
        const row_pairs beside = tile_pairs<K, -1, 0>(p, t, to);
        const row_pairs turned = {to_z.same & beside.ahead << 1, to_z.same & beside.same,
                                  to_z.same & beside.back >> 1};
        remove_pairs(&e, turned);
        e.same &= ~(tile_pairs<K, -1, 0>(p, t, next).same & tile_pairs<K, 0, -1>(p, t, next).same);
        n->other[3] = to.thread;
        n->pairs[3] = needed_in_tile(t, e, n->other[3], 0);
    }
}

/* All lanes together: the pairs of a word with earlier merged rows that need a union. */
template <typename K>
static __device__ inline tile_neighbours<K> pairs_of_word(const join_params &p, const tile_word &t,
                                                          bool any)
{
    tile_neighbours<K> n = {};
    row_pairs z = {0, 0, 0}, y = {0, 0, 0};
    const tile_mrow own = mrow_at(p, t, 0, 0);
    if (any && t.local_z > 0) z = tile_pairs<K, 0, -1>(p, t, own);
    if (any && t.local_y > 0) y = tile_pairs<K, -1, 0>(p, t, own);
    const uint32_t left_z = __shfl_up_sync(ALL_LANES, z.same, 1);
    const uint32_t left_y = __shfl_up_sync(ALL_LANES, y.same, 1);
    if (!any) return n;
    const row_pairs to_z = z;
    if constexpr (!K::by_value && K::connectivity == 2) remove_around_corner(&z, &y, p, t);
    if (t.local_z > 0) {
        n.other[0] = mrow_at(p, t, 0, -1).thread;
        n.pairs[0] = needed_in_tile(t, z, n.other[0], left_z);
        if constexpr (K::diagonal) find_diagonals(&n, to_z, p, t);
    }
    if (t.local_y > 0) {
        if (t.local_z > 0) /* implied by way of both merged rows at z - 1 */
            y.same &= ~(z.same & tile_pairs<K, 0, -1>(p, t, mrow_at(p, t, -1, 0)).same &
                        tile_pairs<K, -1, 0>(p, t, mrow_at(p, t, 0, -1)).same);
        n.other[1] = t.thread - TILE_WORDS;
        n.pairs[1] = needed_in_tile(t, y, n.other[1], left_y);
    }
    return n;
}

/* Give every run of a word its first parent, and take out the pairs that this unites. */
template <typename K>
static __device__ inline void link_first(const tile_forest<K> &forest, const tile_word &t,
                                         uint32_t mine, tile_neighbours<K> *n)
{
    const uint32_t starts_z = mine ? forest.starts[n->other[0]] : 0;
    const uint32_t starts_y = mine ? forest.starts[n->other[1]] : 0;
    uint32_t left_z = n->pairs[0].same, left_y = n->pairs[1].same, left = mine;
    if (mine & t.joined[t.thread] & 1) { /* along x: bit 0 starts a run that goes on to the left */
        *forest.at(forest.node_of(t.thread, 0)) = forest.node_at(t.thread - 1, 31);
        left &= left - 1;
    }
    while (left) {
        const uint32_t start = left & -left, rest = left & (left - 1);
        const uint32_t run = (rest & -rest) - start; /* without a next one: all from start on */
        const bool along_z = left_z & run;
        const uint32_t pairs = (along_z ? left_z : left_y) & run, pair = pairs & -pairs;
        const int bit = lowest_bit(pair);
        const uint32_t node = forest.node_of(t.thread, lowest_bit(start));
        uint32_t parent = node;
        if (pair)
            parent = forest.node_in(along_z ? n->other[0] : n->other[1],
                                    along_z ? starts_z : starts_y, bit);
        *forest.at(node) = parent;
        left_z &= ~(along_z ? pair : 0);
        left_y &= ~(along_z ? 0 : pair);
        left = rest;
    }
    n->pairs[0].same = left_z;
    n->pairs[1].same = left_y;
}

/* All lanes together: unite what is left; pairs are with the voxel dx away. */
template <typename K>
static __device__ inline void queue_pairs(pair_queue &queue, const tile_forest<K> &forest,
                                          const tile_neighbours<K> &n, int thread, int dx)
{
    uint32_t left[tile_neighbours<K>::count], any = 0;
#pragma unroll
    for (int i = 0; i < tile_neighbours<K>::count; i++) {
        const row_pairs &e = n.pairs[i];
        left[i] = dx == 0 ? e.same : dx < 0 ? e.back : e.ahead;
        any |= left[i];
    }
    while (__any_sync(ALL_LANES, any != 0)) {
        uint32_t from = 0;
        int other = thread;
#pragma unroll
        for (int i = 0; i < tile_neighbours<K>::count; i++) {
            const bool here = !from && left[i];
            from = here ? left[i] : from;
            other = here ? n.other[i] : other;
            left[i] = here ? left[i] & (left[i] - 1) : left[i];
        }
        const int bit = from ? lowest_bit(from) : 0, column = WORD + bit + dx;
        const int to = from ? other + column / WORD - 1 : thread;
        queue.add(from != 0, forest.node_at(thread, bit), forest.node_at(to, column % WORD));
        any = 0;
#pragma unroll
        for (int i = 0; i < tile_neighbours<K>::count; i++) any |= left[i];
    }
}

/* Store the local roots of a word's own roots. */
template <typename K>
static __device__ inline void store_local_roots(const tile_forest<K> &forest, int thread,
                                                uint32_t own, uint32_t left_roots)
{
    uint32_t local_root =
        (uint32_t)(thread / TILE_WORDS << LOCAL_ROOT_RANK_BITS) + (uint32_t)__popc(left_roots);
    for (uint32_t left = own; left; left &= left - 1)
        *forest.at(forest.node_of(thread, lowest_bit(left))) = forest.is_local_root | local_root++;
}

/* Put a tile's bits, the starts of its runs and what is joined along x into shared memory. Returns
 * the starts of the thread's word. */
template <typename K>
static __device__ inline uint32_t load_word(const join_params &p, const tile_word &t,
                                            uint32_t *rows, uint32_t *starts, uint32_t *joined)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::rows; i++) {
        const uint32_t row = filled_row<K>(p, i, t.y, t.z, t.w);
        if (!K::by_value) rows[i * TILE_THREADS + t.thread] = row;
        filled |= row;
    }
    const bool first = t.thread % TILE_WORDS == 0;
    const uint32_t left = __shfl_up_sync(ALL_LANES, filled, 1);
    uint32_t with_left = filled & bits_back(filled, first ? 0 : left);
    if (K::by_value) with_left = mrow_word_at<K>(p, t.y, t.z, t.w).joined;
    if (!p.along[0]) with_left = 0;
    const uint32_t mine = run_starts(filled, with_left);
    starts[t.thread] = mine;
    joined[t.thread] = first ? with_left & ~UINT32_C(1) : with_left;
    return mine;
}

/* Join a tile: afterwards root_of a run's node is its piece's root. */
template <typename K>
static __device__ inline void join_tile(const join_params &p, const tile_forest<K> &forest,
                                        const tile_word &t, uint32_t mine, uint32_t *pairs)
{
    tile_neighbours<K> n = pairs_of_word<K>(p, t, mine != 0);
    pair_queue queue = {forest, pairs, 0};
    link_first(forest, t, mine, &n);
    __syncthreads();
    for (uint32_t left = mine; left; left &= left - 1)
        forest.root_of(forest.node_of(t.thread, lowest_bit(left)));
    __syncthreads();
    if constexpr (K::diagonal) {
#pragma unroll 1
        for (int dx = -1; dx <= 1; dx++) queue_pairs(queue, forest, n, t.thread, dx);
    } else
        queue_pairs(queue, forest, n, t.thread, 0);
    if (queue.count) queue.unite_last(queue.count);
    __syncthreads();
}

template <typename K>
static __global__ void __launch_bounds__(TILE_THREADS, 3) tile_kernel(join_params p)
{
    extern __shared__ uint32_t parents[];
    __shared__ uint32_t rows[K::by_value ? 1 : TILE_THREADS * K::rows];
    __shared__ uint32_t starts[TILE_THREADS], joined[TILE_THREADS], roots[TILE_THREADS];
    __shared__ uint32_t pairs[TILE_WARPS * QUEUE], of_warp[TILE_WARPS];
    const int thread = (int)threadIdx.x, mrow = thread / TILE_WORDS;
    const tile_forest<K> forest = {{(unsigned char *)parents}, starts};

    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        tile_word t;
        t.at = position_of_tile(p, tile);
        t.y = mrow_y(p, t.at, mrow);
        t.z = mrow_z(p, t.at, mrow);
        t.w = t.at.tile_x * TILE_WORDS + thread % TILE_WORDS;
        t.local_y = mrow & ((1 << p.tile_y_bits) - 1);
        t.local_z = mrow >> p.tile_y_bits;
        t.thread = thread;
        t.joined = joined;
        t.index = ((int64_t)t.z * p.ny + t.y) * p.words + t.w;
        t.filled = rows;
        const uint32_t mine = load_word<K>(p, t, rows, starts, joined);
        __syncthreads();
        join_tile(p, forest, t, mine, pairs + thread / WARP * QUEUE);

        uint32_t own = 0; /* runs that are roots */
        for (uint32_t left = mine; left; left &= left - 1) {
            const uint32_t node = forest.node_of(thread, lowest_bit(left));
            if (forest.root_of(node) == node) own |= left & -left;
        }
        roots[thread] = own;
        uint32_t total = 0;
        const uint32_t before = block_exclusive_sum((uint32_t)__popc(mine), of_warp, &total);
        const bool inside = t.y < p.mrows_y && t.z < p.mrows_z, first = thread % TILE_WORDS == 0;
        if (inside && first)
            p.mrow_base[mrow_index(p, t.at, mrow)] =
                (uint32_t)(__popc(own) + __popc(roots[thread + 1]));
        const uint32_t first_run = tile_first_run(p, t.at) + before;
        p.first_run[tile * TILE_THREADS + thread] = first_run;
        if (thread == 0) p.run_count[tile] = total;
        store_local_roots(forest, thread, own, first ? 0 : roots[thread - 1]);
        __syncthreads();
        uint16_t *local_root = p.local_root + first_run;
        for (uint32_t left = mine; left; left &= left - 1)
            *local_root++ = forest.local_root(forest.node_of(thread, lowest_bit(left)));
        __syncthreads();
    }
}

template <typename K> static lob_status join_tiles_of(call *c, lob_error *error)
{
    constexpr bool by_faces = K::by_value && K::connectivity == 1;
    if constexpr (by_faces)
        return join_tiles_by_faces(c, error);
    else {
        const size_t shared = TILE_THREADS * tile_forest<K>::stride * sizeof(uint32_t);
        LOB_TRY(lob_allow_shared(tile_kernel<K>, shared, error));
        return lob_launch(c->device, tile_kernel<K>, "joining in tiles", c->join.tiles,
                          TILE_THREADS, shared, c->join, error);
    }
}

lob_status join_tiles(call *c, lob_error *error)
{
    return with_kind(c->join, [&](auto kind) { return join_tiles_of<decltype(kind)>(c, error); });
}

} /* namespace lob::components */
