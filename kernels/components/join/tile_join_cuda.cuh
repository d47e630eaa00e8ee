/*
 * Joining the runs of a tile in shared memory: a forest whose trees are pieces and whose roots are
 * their first runs. Gives every run its code and every line its number of pieces.
 *
 * A run's first link is to a run before it that it touches: its own thread stores it, as nobody
 * else writes there yet. After that ways to roots are made short, and the pairs that are left are
 * united by whole warps, whose lanes share them.
 */
#ifndef LOB_COMPONENTS_TILES_CUDA_CUH
#define LOB_COMPONENTS_TILES_CUDA_CUH

#include "kernels/components/join/runs_cuda.cuh"

/* A block's forest. A node is a run: where its parent is kept, in bytes. Nodes grow with runs. */
struct run_forest {
    /* In the end a root's parent is its code, marked so; CODE_OWN is not yet in it. */
    static constexpr uint32_t is_code = UINT32_C(1) << 31;

    unsigned char *parents;

    __device__ uint32_t *at(uint32_t node) const
    {
        return (uint32_t *)(parents + node);
    }

    __device__ uint32_t parent(uint32_t node) const
    {
        return *(const volatile uint32_t *)at(node);
    }

    /* Parents only ever become smaller, so that every tree's root is its smallest node. */
    __device__ void unite(uint32_t a, uint32_t b) const
    {
        for (;;) {
            for (uint32_t up_a, up_b;; a = up_a, b = up_b) { /* both ways at once */
                up_a = parent(a);
                up_b = parent(b);
                if (up_a == up_b) return;
                if (up_a == a && up_b == b) break;
            }
            const uint32_t low = a < b ? a : b, high = a < b ? b : a;
            const uint32_t before = atomicMin(at(high), low);
            if (before == high) return;
            a = before;
            b = low;
        }
    }
};

/* A forest with room for every run that a word can have. */
template <typename K> struct tile_forest : run_forest {
    /* Words of a thread: odd, so that threads that look at one slot each meet different banks. */
    static constexpr uint32_t stride = K::slots + 1; /* TILE_THREADS of them */

    const uint32_t *starts; /* TILE_THREADS */

    static __device__ uint32_t node_of(int thread, int start)
    {
        return ((uint32_t)thread * stride + ((uint32_t)start >> (5 - K::slot_bits))) * 4;
    }

    /* The node of the run that holds a bit of a word whose runs start so. */
    static __device__ uint32_t node_in(int thread, uint32_t starts, int bit)
    {
        return node_of(thread, 31 - __clz((int)(starts & lob_bits_to(bit))));
    }

    __device__ uint32_t node_at(int thread, int bit) const
    {
        return node_in(thread, starts[thread], bit);
    }

    /* A node far from its root is put next to it, so that the next search is short. */
    __device__ uint32_t root_of(uint32_t node) const
    {
        const uint32_t first = parent(node);
        uint32_t root = first;
        for (uint32_t up; (up = parent(root)) != root;) root = up;
        if (root != first) atomicMin(at(node), root);
        return root;
    }
};

/* Pairs of nodes that a warp has found and not yet united: its lanes find them unevenly. */
enum { QUEUE = 2 * WORD };

struct pair_queue {
    run_forest forest;
    volatile uint32_t *pairs; /* QUEUE of the warp: two nodes each, in words */
    int count;                /* below WORD between calls; the same in all lanes */

    /* All lanes together: the last n <= WORD pairs. */
    __device__ void unite_last(int n)
    {
        const int lane = (int)threadIdx.x % WORD;
        __syncwarp();
        count -= n;
        const uint32_t pair = lane < n ? pairs[count + lane] : 0;
        __syncwarp();
        if (lane < n) forest.unite((pair & 0xffff) * 4, (pair >> 16) * 4);
    }

    /* All lanes together, those that have a pair add it. */
    __device__ void add(bool wanted, uint32_t a, uint32_t b)
    {
        const uint32_t lanes = __ballot_sync(~0u, wanted);
        const uint32_t before = lanes & ((1u << threadIdx.x % WORD) - 1);
        if (wanted) pairs[count + __popc(before)] = a / 4 | b / 4 << 16;
        count += __popc(lanes);
        if (count >= WORD) unite_last(WORD);
    }
};

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

/* The columns of a line where one of its rows on a side, (DY, DZ) away, is filled. */
template <typename K, int DY, int DZ>
static __device__ inline uint32_t tile_side(const tile_word &t, int thread)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++) {
        if (!on_side<K>(i, DY, DZ)) continue;
        filled |= t.filled[i * TILE_THREADS + thread];
    }
    return filled;
}

/* The pairs in the tile of one of its lines with another, (DY, DZ) away. */
template <typename K, int DY, int DZ>
static __device__ inline lob_row_pairs tile_pairs(const runs &r, const tile_word &t,
                                                  const tile_line &l)
{
    lob_row_pairs e = {0, 0, 0};
    const bool first = l.thread % TILE_WORDS == 0, last = l.thread % TILE_WORDS == TILE_WORDS - 1;
    if (!K::directed) {
        const int other = l.thread + TILE_WORDS * (DY + DZ * (1 << r.tile_y_bits));
        if ((DY && !r.along[1]) || (DZ && !r.along[2])) return e;
        const uint32_t a = tile_side<K, DY, DZ>(t, l.thread);
        const uint32_t b = tile_side<K, -DY, -DZ>(t, other);
        e.same = a & b;
        if (!goes_across<K>(DY, DZ) || !r.along[0]) return e;
        e.back = a & lob_bits_back(b, first ? 0 : tile_side<K, -DY, -DZ>(t, other - 1));
        e.ahead = a & lob_bits_ahead(b, last ? 0 : tile_side<K, -DY, -DZ>(t, other + 1));
        return e;
    }
    const uint32_t *same = r.plane[direction_of(0, DY, DZ)];
    const uint32_t *back = r.plane[direction_of(-1, DY, DZ)];
    const uint32_t *ahead = r.plane[direction_of(1, DY, DZ)];
    if (same) e.same = same[l.index];
    if (!goes_across<K>(DY, DZ)) return e;
    if (back) e.back = back[l.index] & ~(uint32_t)first;
    if (ahead) e.ahead = ahead[l.index] & ~((uint32_t)last << 31);
    return e;
}

/* Of pairs with another line of the tile, those that need a union; left: of the word to the left.
 */
static __device__ inline lob_row_pairs needed_in_tile(const tile_word &t, const lob_row_pairs &e,
                                                      int other, uint32_t left)
{
    const bool last = t.thread % TILE_WORDS == TILE_WORDS - 1;
    return lob_row_pairs_needed(e, t.joined[t.thread], t.joined[other],
                                last ? 0 : t.joined[other + 1], left);
}

/* Take out pairs that follow from others: from and to are joined with the line between. */
static __device__ inline void drop(lob_row_pairs *e, const lob_row_pairs &by)
{
    e->same &= ~by.same;
    e->back &= ~by.back;
    e->ahead &= ~by.ahead;
}

/* The lines before a line whose runs its own may touch. */
template <typename K> struct tile_lines {
    static constexpr int count = has_diagonal<K>() ? 4 : 2;
    lob_row_pairs with[count]; /* (0, -1), (-1, 0), (-1, -1), (1, -1) */
    int other[count];          /* threads */
};

/* The columns of a line of the tile, some lines away, that are filled; none beyond the tile. */
static __device__ inline uint32_t tile_filled(const runs &r, const tile_word &t, int dy, int dz)
{
    const int last_y = (1 << r.tile_y_bits) - 1, y = t.local_y + dy;
    if (y < 0 || y > last_y || t.local_z + dz < 0) return 0;
    return t.filled[line_at(r, t, dy, dz).thread];
}

/*
 * Where voxels that differ in two coordinates are neighbours, pairs that differ in two follow from
 * one another: v's pairs along y and x from those along z and x, as (x - 1, y - 1, z) and
 * (x - 1, y, z - 1) are neighbours; of these the one ahead from the one back by way of
 * (x, y - 1, z - 1) or (x, y + 1, z - 1); and where nothing lies below, the one ahead from the one
 * back by way of (x, y - 2, z). All that is led by belongs to the same voxel or to lines before.
 */
static __device__ inline void drop_turns(lob_row_pairs *z, lob_row_pairs *y, const runs &r,
                                         const tile_word &t)
{
    const uint32_t round_z = tile_filled(r, t, -1, -1) | tile_filled(r, t, 1, -1);
    y->ahead &= ~(y->back & tile_filled(r, t, -2, 0));
    y->back &= ~z->back;
    y->ahead &= ~z->ahead;
    z->ahead &= ~(z->back & round_z);
}

/* Edges, of which those are left out that the line below leads to. */
template <typename K>
static __device__ inline void edge_pairs(tile_lines<K> *n, const lob_row_pairs &below,
                                         const runs &r, const tile_word &t)
{
    const int last_y = (1 << r.tile_y_bits) - 1;
    const tile_line own = line_at(r, t, 0, 0);
    const uint32_t led = !K::directed && K::near == 2 ? below.back | below.ahead : 0;
    if (t.local_y > 0) {
        lob_row_pairs e = tile_pairs<K, -1, -1>(r, t, own);
        e.same &= ~led; /* by the voxel beside the one below, which touches both */
        lob_row_pairs beside = tile_pairs<K, -1, 0>(r, t, line_at(r, t, 0, -1));
        beside.same &= below.same;
        beside.back &= below.same;
        beside.ahead &= below.same;
        drop(&e, beside);
        e.same &= ~(tile_pairs<K, -1, 0>(r, t, own).same &
                    tile_pairs<K, 0, -1>(r, t, line_at(r, t, -1, 0)).same);
        n->other[2] = line_at(r, t, -1, -1).thread;
        n->with[2] = needed_in_tile(t, e, n->other[2], 0);
    }
    if (t.local_y < last_y && t.y + 1 < r.ly) {
        const tile_line up = line_at(r, t, 1, 0), to = line_at(r, t, 1, -1);
        lob_row_pairs e = tile_pairs<K, 1, -1>(r, t, own);
        e.same &= ~led;
        const lob_row_pairs beside = tile_pairs<K, -1, 0>(r, t, to);
        const lob_row_pairs turned = {below.same & beside.ahead << 1, below.same & beside.same,
                                      below.same & beside.back >> 1};
        drop(&e, turned);
        e.same &= ~(tile_pairs<K, -1, 0>(r, t, up).same & tile_pairs<K, 0, -1>(r, t, up).same);
        n->other[3] = to.thread;
        n->with[3] = needed_in_tile(t, e, n->other[3], 0);
    }
}

/* All lanes together: the pairs of a word that need a union; along x there is one at bit 0. */
template <typename K>
static __device__ inline tile_lines<K> pairs_of_word(const runs &r, const tile_word &t, bool any)
{
    tile_lines<K> n = {};
    lob_row_pairs z = {0, 0, 0}, y = {0, 0, 0};
    const tile_line own = line_at(r, t, 0, 0);
    if (any && t.local_z > 0) z = tile_pairs<K, 0, -1>(r, t, own);
    if (any && t.local_y > 0) y = tile_pairs<K, -1, 0>(r, t, own);
    const uint32_t left_z = __shfl_up_sync(~0u, z.same, 1);
    const uint32_t left_y = __shfl_up_sync(~0u, y.same, 1);
    if (!any) return n;
    const lob_row_pairs below = z;
    if constexpr (!K::directed && K::near == 2) drop_turns(&z, &y, r, t);
    if (t.local_z > 0) {
        n.other[0] = line_at(r, t, 0, -1).thread;
        n.with[0] = needed_in_tile(t, z, n.other[0], left_z);
        if constexpr (has_diagonal<K>()) edge_pairs(&n, below, r, t);
    }
    if (t.local_y > 0) {
        if (t.local_z > 0) /* goes round by the lines below both */
            y.same &= ~(z.same & tile_pairs<K, 0, -1>(r, t, line_at(r, t, -1, 0)).same &
                        tile_pairs<K, -1, 0>(r, t, line_at(r, t, 0, -1)).same);
        n.other[1] = t.thread - TILE_WORDS;
        n.with[1] = needed_in_tile(t, y, n.other[1], left_y);
    }
    return n;
}

/* Give every run of a word its first parent, and take out the pairs that this does. */
template <typename K>
static __device__ inline void link_first(const tile_forest<K> &forest, const tile_word &t,
                                         uint32_t mine, tile_lines<K> *n)
{
    const uint32_t starts_z = mine ? forest.starts[n->other[0]] : 0;
    const uint32_t starts_y = mine ? forest.starts[n->other[1]] : 0;
    uint32_t left_z = n->with[0].same, left_y = n->with[1].same, left = mine;
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
    n->with[0].same = left_z;
    n->with[1].same = left_y;
}

/* All lanes together: unite what is left; pairs are with the voxel dx away. */
template <typename K>
static __device__ inline void queue_pairs(pair_queue &queue, const tile_forest<K> &forest,
                                          const tile_lines<K> &n, int thread, int dx)
{
    uint32_t left[tile_lines<K>::count], any = 0;
#pragma unroll
    for (int i = 0; i < tile_lines<K>::count; i++) {
        const lob_row_pairs &e = n.with[i];
        left[i] = dx == 0 ? e.same : dx < 0 ? e.back : e.ahead;
        any |= left[i];
    }
    while (__any_sync(~0u, any != 0)) {
        uint32_t from = 0;
        int other = thread;
#pragma unroll
        for (int i = 0; i < tile_lines<K>::count; i++) {
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
        for (int i = 0; i < tile_lines<K>::count; i++) any |= left[i];
    }
}

/* The codes of a word's roots: their line, and the roots before them there. */
template <typename K>
static __device__ inline void keep_codes(const tile_forest<K> &forest, int thread, uint32_t own,
                                         uint32_t left_roots)
{
    uint32_t code =
        (uint32_t)(thread / TILE_WORDS << CODE_RANK_BITS) + (uint32_t)__popc(left_roots);
    for (uint32_t left = own; left; left &= left - 1)
        *forest.at(forest.node_of(thread, lowest_bit(left))) = forest.is_code | code++;
}

/* Rows of bits, runs and joints of a tile's words, in shared memory. Returns where runs start. */
template <typename K>
static __device__ inline uint32_t load_word(const runs &r, const tile_word &t, uint32_t *rows,
                                            uint32_t *starts, uint32_t *joined)
{
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++) {
        const int y = t.y * K::by + i % K::by, z = t.z * K::bz + i / K::by;
        const uint32_t row = row_word(r, r.filled, y, z, t.w);
        if (!K::directed) rows[i * TILE_THREADS + t.thread] = row;
        filled |= row;
    }
    const bool first = t.thread % TILE_WORDS == 0;
    const uint32_t left = __shfl_up_sync(~0u, filled, 1);
    uint32_t with_left = filled & lob_bits_back(filled, first ? 0 : left);
    if (K::directed) with_left = joined_word<K>(r, t.y, t.z, t.w);
    if (!r.along[0]) with_left = 0;
    const uint32_t mine = lob_run_starts(filled, with_left);
    starts[t.thread] = mine;
    joined[t.thread] = first ? with_left & ~UINT32_C(1) : with_left;
    return mine;
}

/* The pieces of a tile: afterwards every run's parent is its root. */
template <typename K>
static __device__ inline void join_tile(const runs &r, const tile_forest<K> &forest,
                                        const tile_word &t, uint32_t mine, uint32_t *pairs)
{
    tile_lines<K> n = pairs_of_word<K>(r, t, mine != 0);
    pair_queue queue = {forest, pairs, 0};
    link_first(forest, t, mine, &n);
    __syncthreads();
    for (uint32_t left = mine; left; left &= left - 1)
        forest.root_of(forest.node_of(t.thread, lowest_bit(left)));
    __syncthreads();
    if constexpr (has_diagonal<K>()) {
#pragma unroll 1
        for (int dx = -1; dx <= 1; dx++) queue_pairs(queue, forest, n, t.thread, dx);
    } else
        queue_pairs(queue, forest, n, t.thread, 0);
    if (queue.count) queue.unite_last(queue.count);
    __syncthreads();
}

template <typename K> static __global__ void __launch_bounds__(TILE_THREADS, 3) tile_kernel(runs r)
{
    extern __shared__ uint32_t parents[];
    __shared__ uint32_t rows[K::directed ? 1 : TILE_THREADS * K::by * K::bz];
    __shared__ uint32_t starts[TILE_THREADS], joined[TILE_THREADS], roots[TILE_THREADS];
    __shared__ uint32_t pairs[TILE_THREADS / WORD * QUEUE], of_warp[TILE_THREADS / WORD];
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    const tile_forest<K> forest = {{(unsigned char *)parents}, starts};

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
        const uint32_t mine = load_word<K>(r, t, rows, starts, joined);
        __syncthreads();
        join_tile(r, forest, t, mine, pairs + thread / WORD * QUEUE);

        uint32_t own = 0; /* runs that are roots */
        for (uint32_t left = mine; left; left &= left - 1) {
            const uint32_t node = forest.node_of(thread, lowest_bit(left));
            if (forest.root_of(node) == node) own |= left & -left;
        }
        roots[thread] = own;
        uint32_t total = 0;
        const uint32_t before = sum_before((uint32_t)__popc(mine), of_warp, &total);
        const bool inside = t.y < r.ly && t.z < r.lz, first = thread % TILE_WORDS == 0;
        if (inside && first)
            r.line_base[line_index(r, t.at, line)] =
                (uint32_t)(__popc(own) + __popc(roots[thread + 1]));
        const uint32_t codes = codes_before(r, t.at) + before;
        r.offset[tile * TILE_THREADS + thread] = codes;
        if (thread == 0) r.runs[tile] = total;
        keep_codes(forest, thread, own, first ? 0 : roots[thread - 1]);
        __syncthreads();
        uint16_t *code = r.code + codes;
        for (uint32_t left = mine; left; left &= left - 1) {
            uint32_t found = forest.parent(forest.node_of(thread, lowest_bit(left)));
            found = found & forest.is_code ? found | CODE_OWN : forest.parent(found);
            *code++ = (uint16_t)found;
        }
        __syncthreads();
    }
}

#endif
