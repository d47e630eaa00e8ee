/*
 * GrowCut on a GPU: a warp visits a tile of a flood.
 *
 * What a cell's key is, its cheapest neighbour's key tells: the cost is the level of the cell, or
 * one step more than the neighbour's cost where that is larger, and the label is the neighbour's.
 * Of neighbours of one cost the smallest label counts, which is the smallest key. So costs and
 * labels grow together: a visit finds a cell's key anew from its neighbours' keys of now, and does
 * not only lower it. A cost follows from its neighbours' costs alone and grows with them; all begin
 * without a path, above every cost, and each visit reads costs no higher than the one before: so
 * costs only fall. Labels settle in the order of costs, as each comes from a smaller cost.
 *
 * The warp loads its cells and the halo around them into shared memory and goes along the lines of
 * one axis after the other, up and down, until all cells of the tile stay. Then it writes the cells
 * that changed, and calls the tiles whose cells touch them and have higher costs. It writes no cell
 * of another tile. A tile beside it may be visited at the same time and read keys of before or of
 * now: it is visited again when all warps have met. Who calls compares with the other tile's costs
 * as they were read, which are at or above those of now: a tile that is not called has no cell that
 * the changed one could enter.
 *
 * A hard seed has its key from the start; the pending bits tell which cells are seeds.
 */
#ifndef LOB_VISIT_FLOOD_CUDA_CUH
#define LOB_VISIT_FLOOD_CUDA_CUH

#include "kernels/growcut/gpu/visit_tile_cuda.cuh"

namespace lob::growcut
{

/* Shared memory of a warp. */
template <typename K, typename S> struct flood_shared {
    K key[S::padded];         /* a cell that no path enters: at or above unreached */
    K floor[S::cells];        /* the level as a cost; STAYS: the key does not change */
    int32_t tile[DIRECTIONS]; /* as in warp_shared */
    uint32_t changed[S::own_words];
};

template <typename K> static constexpr K STAYS = (K) ~(K)0;

/* The section's rule, and how keys are made. */
template <typename K> struct flood_rule {
    K unreached, one_step, labels;
};

/* ---- lines of cells along an axis ---- */

/* A lane's share of a tile along an axis: lines of so many cells. */
template <typename S> struct flood_lines {
    static constexpr int length = S::flat ? 16 : 8, count = S::own_bits / length;
    static constexpr int axes = S::flat ? 2 : 3;
};

/* Where a line starts, in cells and padded cells, and how far it is to the next cell along it and
 * to those beside it. */
typedef struct {
    int cell, padded, cell_step, step, beside[2];
} flood_line;

template <typename S> static __device__ inline int cells_along(int axis)
{
    return axis == 0 ? 1 : axis == 1 ? S::x : S::x * S::y;
}

template <typename S> static __device__ inline int padded_along(int axis)
{
    return axis == 0 ? 1 : axis == 1 ? S::px : S::px * S::py;
}

/* Line i of a lane. In volumes 8x8 lines; in slices 32 along y, or 16 along x in two halves. */
template <typename S> static __device__ inline flood_line line_of(int axis, int i, int lane)
{
    const int one = axis == 0 ? 1 : 0, two = axis == 2 ? 1 : 2;
    flood_line l;
    l.cell_step = cells_along<S>(axis);
    l.step = padded_along<S>(axis);
    l.beside[0] = padded_along<S>(one);
    l.beside[1] = padded_along<S>(two);
    if (S::flat) {
        const int across = axis == 0 ? lane % S::y : lane, along = axis == 0 ? lane / S::y : 0;
        l.cell = across * cells_along<S>(one) + along * flood_lines<S>::length;
        l.padded = across * l.beside[0] + along * flood_lines<S>::length;
    } else {
        const int line = lane + i * WARP, u = line % S::x, v = line / S::x;
        l.cell = u * cells_along<S>(one) + v * cells_along<S>(two);
        l.padded = u * l.beside[0] + v * l.beside[1];
    }
    l.padded += padded_of<S>(0);
    return l;
}

/* The least key beside a cell of a line: of the cells that share a face, or of those at corners. */
template <typename K, typename S, bool CORNERS>
static __device__ inline K least_beside(const K *key, const flood_line &l)
{
    const int one = l.beside[0], two = l.beside[1];
    if (S::flat) return CORNERS ? (K) ~(K)0 : min(key[-one], key[one]);
    return CORNERS ? min(min(key[-one - two], key[one - two]), min(key[two - one], key[one + two]))
                   : min(min(key[-one], key[one]), min(key[-two], key[two]));
}

/* The least key among the N neighbours of each cell of a line that are not in the line. */
template <typename K, typename S, int N>
static __device__ inline void least_around(K least[], const K *key, const flood_line &l)
{
    constexpr int length = flood_lines<S>::length;
    constexpr bool diagonal = N == 8 || N == 18 || N == 26; /* between this height and the next */
    K sides[length + 2], corners[length + 2];
#pragma unroll
    for (int i = 0; i < length + 2; i++) {
        const K *at = key + (i - 1) * l.step;
        const bool in_line = i > 0 && i <= length;
        sides[i] = in_line || diagonal ? least_beside<K, S, false>(at, l) : (K) ~(K)0;
        corners[i] = N == 26 || (N == 18 && in_line) ? least_beside<K, S, true>(at, l) : (K) ~(K)0;
    }
#pragma unroll
    for (int i = 0; i < length; i++) {
        least[i] = min(sides[i + 1], corners[i + 1]);
        if (diagonal) least[i] = min(least[i], min(sides[i], sides[i + 2]));
        if (N == 26) least[i] = min(least[i], min(corners[i], corners[i + 2]));
    }
}

/* The key of a cell whose cheapest neighbour has this one. */
template <typename K>
static __device__ inline K flooded(const flood_rule<K> &rule, K cheapest, K floor, K key)
{
    const K next = max(cheapest + rule.one_step, floor | (cheapest & rule.labels));
    return next < rule.unreached ? next : key;
}

/* Go up and down a line. Returns whether a key changed. */
template <typename K, typename S, int N>
static __device__ inline bool flood_one_line(flood_shared<K, S> *w, const flood_rule<K> &rule,
                                             const flood_line &l)
{
    constexpr int length = flood_lines<S>::length;
    K *at = w->key + l.padded, least[length], floor[length], key[length + 2];
    bool changed = false;
    least_around<K, S, N>(least, at, l);
#pragma unroll
    for (int i = 0; i < length; i++) floor[i] = w->floor[l.cell + i * l.cell_step];
#pragma unroll
    for (int i = 0; i < length + 2; i++) key[i] = at[(i - 1) * l.step];
#pragma unroll
    for (int j = 0; j < 2 * length - 1; j++) {
        const int i = j < length ? j : 2 * length - 2 - j;
        const K next = flooded(rule, min(least[i], min(key[i], key[i + 2])), floor[i], key[i + 1]);
        changed |= next != key[i + 1];
        key[i + 1] = next;
    }
    __syncwarp(); /* all lanes have read */
    if (changed)
#pragma unroll
        for (int i = 0; i < length; i++) at[i * l.step] = key[i + 1];
    __syncwarp();
    return changed;
}

/* Along all lines of one axis after the other, until no key changes: then each was found from its
 * neighbours' keys of now. */
template <typename K, typename S, int N>
static __device__ inline void flood_tile(flood_shared<K, S> *w, const flood_rule<K> &rule,
                                         uint32_t lane)
{
    int axis = flood_lines<S>::axes - 1;
    bool changed = true;
    while (changed) {
        changed = false;
#pragma unroll 1
        for (int i = 0; i < flood_lines<S>::count; i++)
            changed |= flood_one_line<K, S, N>(w, rule, line_of<S>(axis, i, (int)lane));
        changed = __any_sync(ALL_LANES, changed);
        axis = axis > 0 ? axis - 1 : flood_lines<S>::axes - 1;
    }
}

/* ---- a visit ---- */

/* Load tile t and its halo. */
template <typename K, typename S>
static __device__ void load_flood(const grow_params<K> &g, const block_shared<K, S> *b,
                                  flood_shared<K, S> *w, const flood_rule<K> &rule,
                                  uint32_t level_shift, uint32_t t, const position &at,
                                  uint32_t lane)
{
    const uint32_t *seeds = g.pending + (int64_t)t * S::own_words;
    if (lane < DIRECTIONS) w->tile[lane] = tile_beside<S>(g, at, (int)lane);
    __syncwarp();
    for (int first = 0; first < S::words; first += LOADS) { /* a group of loads in flight */
        K key[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const int q = (first + j) * WARP + (int)lane;
            const int owner = b->owner[q < S::padded ? q : S::padded - 1];
            const int32_t tile = w->tile[owner >> 10];
            key[j] = 0;
            if (tile != NO_TILE) key[j] = __ldcg(g.key + (int64_t)tile * S::cells + (owner & 1023));
        }
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const int q = (first + j) * WARP + (int)lane;
            if (q < S::padded) w->key[q] = key[j] ? key[j] : rule.unreached | 1; /* no cell's key */
        }
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < S::own_words; i++) {
        const int cell = i * WARP + (int)lane;
        const K floor = (K)__ldg((const uint16_t *)g.level + (int64_t)t * S::cells + cell)
                        << level_shift;
        const bool stays =
            __ldg(&seeds[i]) >> lane & 1 || w->key[padded_of<S>(cell)] == (rule.unreached | 1);
        w->floor[cell] = stays ? STAYS<K> : floor;
    }
    __syncwarp();
}

/* Write the cells that changed and note them. Returns how many got their first path. */
template <typename K, typename S>
static __device__ uint32_t write_flood(const grow_params<K> &g, flood_shared<K, S> *w,
                                       const flood_rule<K> &rule, uint32_t t, uint32_t lane)
{
    K *keys_of_tile = g.key + (int64_t)t * S::cells, before[S::own_words];
    uint32_t reached = 0;
#pragma unroll
    for (int i = 0; i < S::own_words; i++) before[i] = __ldcg(&keys_of_tile[i * WARP + (int)lane]);
#pragma unroll
    for (int i = 0; i < S::own_words; i++) {
        const int cell = i * WARP + (int)lane;
        const K key = w->key[padded_of<S>(cell)];
        const bool changed = w->floor[cell] != STAYS<K> && key != before[i];
        const uint32_t who = __ballot_sync(ALL_LANES, changed);
        if (lane == 0) w->changed[i] = who;
        if (!changed) continue;
        __stcg(&keys_of_tile[cell], key);
        reached += before[i] == rule.unreached;
    }
    __syncwarp();
    return __reduce_add_sync(ALL_LANES, reached);
}

/* The tiles behind one side of this one with cells that touch a changed cell and have higher costs:
 * a bit for each of their directions. least: in/out, the least cost of such changed cells. */
template <typename K, typename S, int N>
static __device__ uint32_t tiles_behind(K *least, const block_shared<K, S> *b,
                                        const flood_shared<K, S> *w, const flood_rule<K> &rule,
                                        int axis, bool upper, uint32_t lane)
{
    constexpr int reach = N == 4 || N == 6 ? 0 : N == 18 ? 1 : 2; /* axes beside this one */
    const int one = axis == 0 ? 1 : 0, two = axis == 2 ? 1 : 2;
    const int along = axis == 0 ? S::x : axis == 1 ? S::y : S::z;
    const int across = one == 0 ? S::x : S::y;
    uint32_t all = 0;
    for (int i = (int)lane; i < S::cells / along; i += WARP) {
        const int u = i % across, v = i / across, far = upper ? along - 1 : 0;
        const int cell =
            u * cells_along<S>(one) + v * cells_along<S>(two) + far * cells_along<S>(axis);
        if (!(w->changed[cell / WARP] >> cell % WARP & 1)) continue;
        const int q = padded_of<S>(cell);
        const K cost = w->key[q] & ~rule.labels;
        const int behind = q + (upper ? 1 : -1) * padded_along<S>(axis);
        uint32_t found = 0;
#pragma unroll
        for (int k = -1; k <= 1; k++)
#pragma unroll
            for (int j = -1; j <= 1; j++) {
                if ((j != 0) + (k != 0) > reach || (S::flat && k != 0)) continue;
                const int to = behind + j * padded_along<S>(one) + k * padded_along<S>(two);
                const K its = w->key[to];
                if (its != (rule.unreached | 1) && (its & ~rule.labels) > cost)
                    found |= 1u << (b->owner[to] >> 10);
            }
        if (found) *least = min(*least, cost);
        all |= found;
    }
    return all;
}

/* Tiles beside this one are visited again where a changed cell may tell theirs something. */
template <typename K, typename S, int N>
static __device__ void call_tiles(const grow_params<K> &g, block_shared<K, S> *b,
                                  const flood_shared<K, S> *w, const flood_rule<K> &rule,
                                  uint32_t lane)
{
    K priority = keys<K>::none;
    for (int side = 0; side < 2 * flood_lines<S>::axes; side++) {
        K least = keys<K>::none;
        uint32_t found = tiles_behind<K, S, N>(&least, b, w, rule, side / 2, side % 2, lane);
        found = __reduce_or_sync(ALL_LANES, found);
        if (!found) continue;
        least = warp_min(least);
        if (found >> lane & 1) priority = min(priority, least);
    }
    if (priority != keys<K>::none) atomicMin(&g.priority[w->tile[lane]], priority);
    priority = warp_min(priority);
    if (lane == 0 && priority != keys<K>::none) atomicMin(&b->min_priority, priority);
}

template <typename K, typename S, int N>
static __device__ void visit_flood(const grow_params<K> &g, block_shared<K, S> *b,
                                   flood_shared<K, S> *w, uint32_t t, uint32_t lane)
{
    const position at = corner_of<S>(g, t);
    const section_rule *section = section_of(g, at);
    const flood_rule<K> rule = {(K)section->unreached, (K)1 << g.label_bits, g.label_mask};
    load_flood(g, b, w, rule, section->level_shift, t, at, lane);
    flood_tile<K, S, N>(w, rule, lane);
    const uint32_t reached = write_flood(g, w, rule, t, lane);
    if (lane == 0 && reached) atomicAdd(&b->reached, reached);
    call_tiles<K, S, N>(g, b, w, rule, lane);
    __syncwarp(); /* the next visit overwrites this memory */
}

/* ---- seeds ---- */

/* Hard seeds get their keys, and their neighbours' tiles are visited first; or, at the end, seeds
 * have key 0 again. */
template <typename K> struct flood_seed_params {
    grow_params<K> g;
    bool end;
};

template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    flood_seed_kernel(const __grid_constant__ flood_seed_params<K> f)
{
    const grow_params<K> &g = f.g;
    FOR_TILES(g)
    {
        const uint32_t *words = g.pending + (int64_t)tile * S::own_words;
        const uint32_t word = lane < S::own_words ? words[lane] : 0;
        const position corner = corner_of<S>(g, tile);
        for (uint32_t rows = __ballot_sync(ALL_LANES, word != 0); rows; rows &= rows - 1) {
            const int row = __ffs((int)rows) - 1;
            if (!(__shfl_sync(ALL_LANES, word, row) >> lane & 1)) continue;
            const uint32_t cell = (uint32_t)row * WARP + lane;
            const int64_t index = (int64_t)tile * S::cells + cell;
            const position p = position_in<S>(g, corner, cell);
            const int32_t label = lob_label_at(g.seeds, g.label_type, voxel_of(g, p));
            const K level = (K)level_at(g, index) << section_of(g, corner)->level_shift;
            g.key[index] = f.end ? 0 : level | key_of(g, 0, label);
            for (int k = 0; k < g.neighbours && !f.end; k++) {
                const int64_t to = neighbour_of<S>(g, p, g.direction[k]);
                if (to >= 0) atomicMin(&g.priority[to / S::cells], level);
            }
        }
    }
}

} /* namespace lob::growcut */

#endif
