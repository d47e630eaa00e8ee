/*
 * GrowCut on a GPU: a warp visits a tile.
 *
 * The warp takes the tile's pending bits, loads its cells and the halo around them into shared
 * memory, and expands those below the end of the cost window (makes their offers) through a queue,
 * 32 cells a turn. In a turn each lane first finds the neighbours that might take a path through
 * its cell, by a bound that needs no table; then the lanes share these offers. In the end, lowered
 * cells are written back, lowered halo cells to the tiles that own them.
 *
 * Neighbouring tiles, and one tile by two warps, may be visited at the same time, and no path is
 * lost: a warp that lowers a cell writes its key, then a fence, then its pending bit, then a fence,
 * then the tile's priority; the warp that visits that tile takes the bits, then a fence, then reads
 * the keys. It either takes the bit and reads the lowered key, or leaves the bit for the tile's
 * next visit. A key that is read too early is too large, which costs an offer without effect.
 */
#ifndef LOB_VISIT_TILE_CUDA_CUH
#define LOB_VISIT_TILE_CUDA_CUH

#include "kernels/growcut/gpu/grow_params_cuda.cuh"

namespace lob::growcut
{

/* Global accesses in flight; offers in a warp's list; turns of a visit. */
enum { LOADS = 8, MAX_OFFERS = 384, MAX_TURNS = 32 };

/* Warps of a block, as many as registers allow; a flat tile's visit needs fewer registers. */
template <typename S> static __host__ __device__ constexpr int max_warps()
{
    return S::flat ? 32 : 25;
}

/* Shared memory of a block. */
template <typename K, typename S> struct block_shared {
    K min_priority;    /* of the tiles that this block has seen or lowered since the last barrier */
    K lowest_priority; /* of all tiles, at the last barrier; where tiles are given, the window's end
                        */
    uint32_t reached, count, stop, idle;
    uint32_t halo[S::words];   /* bit of each padded cell: set outside the tile itself */
    int16_t step[DIRECTIONS];  /* padded cells from a cell to its neighbour */
    uint16_t owner[S::padded]; /* of each padded cell: direction of its tile * 1024 + cell there */
};

/* Shared memory of a warp; levels follow it, as they lie in device memory. */
template <typename K, typename S> struct alignas(uint2) warp_shared {
    K key[S::padded];
    K min_priority[DIRECTIONS]; /* of cells that become pending, by the direction of their tile */
    int32_t tile[DIRECTIONS];   /* CENTRE is the tile itself; NO_TILE outside the view */
    uint32_t queued[S::words];  /* bit of each padded cell; always set in the halo */
    uint32_t lowered[S::words];
    uint16_t queue[S::cells];   /* padded cells; each is in it at most once */
    uint16_t offer[MAX_OFFERS]; /* of this turn: lane * 32 + direction */
};

/* The padded cell of a cell. */
template <typename S> static __host__ __device__ constexpr int padded_of(int cell)
{
    return 1 + cell % S::x + S::px * (1 + cell / S::x % S::y) +
           (S::flat ? 0 : S::px * S::py * (1 + cell / (S::x * S::y)));
}

/* Where a coordinate lies along an axis of a tile with n cells: before it, in it, or behind. */
static __device__ inline int side_of(int at, int n)
{
    return at < 0 ? 0 : at < n ? 1 : 2;
}

/* All threads of the block together, before the first visit. */
template <typename K, typename S>
static __device__ void fill_block_shared(const grow_params<K> &g, block_shared<K, S> *b, K *table)
{
    if (threadIdx.x == 0) {
        b->min_priority = keys<K>::none;
        b->reached = b->count = 0;
    }
    for (int d = (int)threadIdx.x; d < DIRECTIONS; d += (int)blockDim.x)
        b->step[d] = (int16_t)(d % 3 - 1 + S::px * (d / 3 % 3 - 1) + S::px * S::py * (d / 9 - 1));
    for (int q = (int)threadIdx.x; q < S::padded; q += (int)blockDim.x) {
        const int x = q % S::px - 1, y = q / S::px % S::py - 1;
        const int z = S::flat ? 0 : q / (S::px * S::py) - 1;
        const int side = side_of(x, S::x) + 3 * side_of(y, S::y) + 9 * side_of(z, S::z);
        const int cell =
            (x + S::x) % S::x + S::x * ((y + S::y) % S::y + S::y * ((z + S::z) % S::z));
        b->owner[q] = (uint16_t)(side << 10 | cell);
    }
    for (int i = (int)threadIdx.x; i < S::words; i += (int)blockDim.x) {
        uint32_t inner = 0;
        for (int bit = 0; bit < WARP; bit++) {
            const int q = i * WARP + bit, x = q % S::px - 1, y = q / S::px % S::py - 1;
            const int z = S::flat ? 0 : q / (S::px * S::py) - 1;
            const bool in_tile = x >= 0 && x < S::x && y >= 0 && y < S::y && z >= 0 && z < S::z;
            if (in_tile && q < S::padded) inner |= 1u << bit;
        }
        b->halo[i] = ~inner;
    }
    for (uint32_t d = threadIdx.x; d < g.table_shared; d += blockDim.x)
        table[d] = __ldg(g.table + g.sections[0].table + d);
    __syncthreads();
}

/* Bytes of shared memory before that of the warps. */
template <typename K, typename S> static __host__ __device__ constexpr size_t block_bytes()
{
    return (sizeof(block_shared<K, S>) + 15) / 16 * 16;
}

/* ---- a visit ---- */

/* The section's rule as a visit needs it, in registers. */
template <typename K> struct step_rule {
    const K *table;        /* in device memory; NULL: a level costs 1 << level_shift */
    const K *shared_table; /* its first entries, in shared memory, where all tiles have one table */
    uint32_t shared_n;     /* how many these are */
    const u64 *extra;      /* NULL: steps cost their levels alone */
    K unreached;
    K bound; /* weight >= difference of levels, or level entered, * bound */
    bool reads_values;
    uint32_t level_shift;
    int fraction; /* bits after the point of distances over several channels */
};

/*
 * Directions whose neighbour might take a path through the cell that key and level point at, whose
 * key is own_key; self is its level, or 0 where steps cost by the level entered. Under every rule
 * and norm, a step costs at least the bound's multiple of the largest channel's difference. A sum
 * that wraps only adds a candidate, whose exact offer then fails.
 */
template <typename K, typename S, int N, level_layout L>
static __device__ inline uint32_t candidates(const K *key,
                                             const typename cell_level<L>::type *level, K own_key,
                                             uint32_t self, const step_rule<K> &rule, int channels)
{
    constexpr int max_apart = N == 6 || N == 4 ? 1 : N == 26 ? 3 : 2; /* axes that differ */
    uint32_t hit = 0;
#pragma unroll
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        const int dx = direction % 3 - 1, dy = direction / 3 % 3 - 1, dz = direction / 9 - 1;
        const int apart = (dx != 0) + (dy != 0) + (dz != 0);
        if (apart == 0 || apart > max_apart || (S::flat && dz != 0)) continue;
        const int step = dx + S::px * dy + S::px * S::py * dz;
        uint32_t differ;
        if constexpr (L == PACKED)
            differ = packed_distance(level[step], level[0]);
        else
            differ = __usad(level[step], self, 0u);
        if constexpr (L == BY_CHANNEL)
            for (int c = 1; c < channels; c++)
                differ = max(differ, __usad(level[c * S::padded + step], level[c * S::padded], 0u));
        /* One instruction; a shift would make two. */
        if (own_key + differ * rule.bound < key[step]) hit |= 1u << direction;
    }
    return hit;
}

/* The tile in a direction of the one with this first cell; NO_TILE outside the view. */
template <typename S, typename K>
static __device__ inline int32_t tile_beside(const grow_params<K> &g, const position &at,
                                             int direction)
{
    const uint32_t x = at.x / S::x + (uint32_t)(direction % 3 - 1);
    const uint32_t y = at.y / S::y + (uint32_t)(direction / 3 % 3 - 1);
    const uint32_t z = at.z / S::z + (uint32_t)(direction / 9 - 1);
    const bool there = x < g.grid[0] && y < g.grid[1] && z < g.grid[2];
    return there ? (int32_t)(x + g.grid[0] * (y + g.grid[1] * z)) : NO_TILE;
}

/* Lanes that have a cell append it to the queue. */
template <typename K, typename S>
static __device__ inline void enqueue(warp_shared<K, S> *w, uint32_t *tail, bool has, int cell,
                                      uint32_t lane)
{
    const uint32_t who = __ballot_sync(ALL_LANES, has);
    if (has) w->queue[(*tail + __popc(who & ((1u << lane) - 1))) & (S::cells - 1)] = (uint16_t)cell;
    *tail += __popc(who);
}

/* Load tile t and its halo. Takes the pending bits, and returns this lane's. */
template <typename K, typename S, level_layout L>
static __device__ uint32_t load_tile(const grow_params<K> &g, const block_shared<K, S> *b,
                                     warp_shared<K, S> *w, typename cell_level<L>::type *level,
                                     uint32_t t, const position &at, uint32_t lane)
{
    const typename cell_level<L>::type *const levels =
        (const typename cell_level<L>::type *)g.level;
    uint32_t word = 0;
    if (lane < S::own_words) word = atomicExch(&g.pending[(int64_t)t * S::own_words + lane], 0u);
    if (lane < DIRECTIONS) {
        w->tile[lane] = tile_beside<S>(g, at, (int)lane);
        w->min_priority[lane] = keys<K>::none;
    }
    memory_fence(); /* bits before keys */
    __syncwarp();
    for (int first = 0; first < S::words; first += LOADS) { /* a group of loads in flight */
        K key[LOADS];
        typename cell_level<L>::type its_level[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const int q = (first + j) * WARP + (int)lane;
            const int owner = b->owner[q < S::padded ? q : S::padded - 1];
            const int32_t tile = w->tile[owner >> 10];
            const int64_t from =
                (int64_t)(tile != NO_TILE ? tile : (int32_t)t) * S::cells + (owner & 1023);
            key[j] = __ldcg(g.key + from);
            its_level[j] = __ldg(levels + from);
            if (tile == NO_TILE) key[j] = 0;
        }
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const int q = (first + j) * WARP + (int)lane;
            if (q >= S::padded) continue;
            w->key[q] = key[j];
            level[q] = its_level[j];
        }
    }
    for (int i = (int)lane; i < S::words; i += WARP) {
        w->queued[i] = b->halo[i];
        w->lowered[i] = 0;
    }
    for (int q = (int)lane; L == BY_CHANNEL && q < S::padded; q += WARP) {
        const int owner = b->owner[q];
        const int32_t tile = w->tile[owner >> 10];
        const int64_t from =
            (int64_t)(tile != NO_TILE ? tile : (int32_t)t) * S::cells + (owner & 1023);
        for (int c = 1; c < g.image.channels; c++)
            level[c * S::padded + q] = __ldg(levels + c * g.cells + from);
    }
    __syncwarp();
    if (S::own_bits == WARP) return word;
    return __shfl_sync(ALL_LANES, word, (int)lane / 2) >> (lane % 2 * 16) & 0xffff;
}

/* Queue the pending cells below the window's end; the others become pending again. */
template <typename K, typename S>
static __device__ uint32_t queue_pending(const grow_params<K> &g, warp_shared<K, S> *w, uint32_t t,
                                         uint32_t bits, K end, uint32_t lane)
{
    uint32_t tail = 0, later = 0;
    K min_priority = keys<K>::none;
    while (__any_sync(ALL_LANES, bits != 0)) {
        bool now = false;
        int q = 0;
        if (bits) {
            const int bit = __ffs((int)bits) - 1;
            bits &= bits - 1;
            q = padded_of<S>((int)lane * S::own_bits + bit);
            const K key = w->key[q];
            now = key < end;
            if (now)
                atomicOr(&w->queued[q / WARP], 1u << q % WARP);
            else
                later |= 1u << bit;
            if (!now && key < min_priority) min_priority = key;
        }
        enqueue(w, &tail, now, q, lane);
    }
    if (later) {
        const uint32_t first = lane * S::own_bits;
        atomicOr(&g.pending[(int64_t)t * S::own_words + first / WARP], later << first % WARP);
        atomicMin(&w->min_priority[CENTRE], min_priority);
    }
    __syncwarp();
    return tail;
}

/* The key that a neighbour at distance d would have; at or above end: no passage. */
template <typename K>
static __device__ inline u64 offer_of(const step_rule<K> &rule, K own_key, uint32_t d,
                                      int direction)
{
    const u64 weight = !rule.table         ? (u64)d << rule.level_shift
                       : d < rule.shared_n ? (u64)rule.shared_table[d]
                                           : (u64)__ldg(rule.table + d);
    return own_key + weight + (rule.extra ? __ldg(rule.extra + direction) : 0);
}

/*
 * Number the offers of all lanes, lane after lane, so that lanes with few can help those with many.
 * Returns the number of this lane's first. This prefix sum goes bit by bit, with ballots, which do
 * not wait for one another as the shuffles of a usual warp scan do.
 */
static __device__ inline uint32_t number_offers(uint32_t hit, uint32_t lane, uint32_t *all)
{
    const uint32_t mine = (uint32_t)__popc(hit), before = (1u << lane) - 1;
    uint32_t first = 0, sum = 0;
#pragma unroll
    for (int bit = 0; bit < 5; bit++) {
        const uint32_t who = __ballot_sync(ALL_LANES, mine >> bit & 1);
        first += (uint32_t)__popc(who & before) << bit;
        sum += (uint32_t)__popc(who) << bit;
    }
    *all = sum;
    return first;
}

/* The cell whose offers a lane makes in a turn. */
template <typename K> struct lane_cell {
    K key;
    uint32_t level; /* 0 where steps cost by the level entered */
    int cell;
};

/* Make COUNT * 32 listed offers from number `first` on; a lane's COUNT overlap in time. */
template <int COUNT, typename K, typename S, level_layout L>
static __device__ inline void make_offers(const grow_params<K> &g, const block_shared<K, S> *b,
                                          warp_shared<K, S> *w,
                                          const typename cell_level<L>::type *level,
                                          const step_rule<K> &rule, const lane_cell<K> &from,
                                          uint32_t first, uint32_t n, uint32_t *tail, K end,
                                          uint32_t lane)
{
    u64 offer[COUNT];
    int to[COUNT];
    bool fresh[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        const uint32_t i = first + j * WARP + lane;
        const uint32_t listed = w->offer[i < n ? i : first];
        const int source = (int)(listed / WARP), direction = (int)(listed % WARP);
        const K key = __shfl_sync(ALL_LANES, from.key, source);
        const int cell = __shfl_sync(ALL_LANES, from.cell, source);
        to[j] = cell + b->step[direction];
        uint32_t d;
        if constexpr (L == ONE_LEVEL)
            d = __usad(level[to[j]], __shfl_sync(ALL_LANES, from.level, source), 0u);
        else if constexpr (L == PACKED)
            d = packed_distance(level[cell], level[to[j]]);
        else
            d = lob_growcut_distance(level + cell, level + to[j], g.image.channels, S::padded,
                                     g.norm, rule.fraction);
        offer[j] = offer_of(rule, key, d, direction);
        if (i >= n) offer[j] = keys<K>::end;
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        const uint32_t word = (uint32_t)to[j] / WARP, bit = 1u << to[j] % WARP;
        fresh[j] = false;
        if (offer[j] >= keys<K>::end || (K)offer[j] >= atomicMin(&w->key[to[j]], (K)offer[j]))
            continue;
        atomicOr(&w->lowered[word], bit);
        fresh[j] = offer[j] < end && !(atomicOr(&w->queued[word], bit) & bit);
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) enqueue(w, tail, fresh[j], to[j], lane);
}

/* One turn: up to 32 cells from the queue make their offers. */
template <typename K, typename S, int N, level_layout L>
static __device__ inline void expand_cells(const grow_params<K> &g, const block_shared<K, S> *b,
                                           warp_shared<K, S> *w,
                                           const typename cell_level<L>::type *level,
                                           const step_rule<K> &rule, uint32_t head, uint32_t n,
                                           uint32_t *tail, K end, uint32_t lane)
{
    const int q = w->queue[(head + (lane < n ? lane : 0)) & (S::cells - 1)];
    lane_cell<K> from = {w->key[q], 0u, q};
    if constexpr (L != PACKED)
        if (!rule.reads_values) from.level = level[q];
    uint32_t hit = 0, all;
    if (lane < n) {
        atomicAnd(&w->queued[q / WARP], ~(1u << q % WARP));
        hit = candidates<K, S, N, L>(w->key + q, level + q, from.key, from.level, rule,
                                     g.image.channels);
    }
    uint32_t at = number_offers(hit, lane, &all);
    __syncwarp(); /* keys were read, and change from here on */
    for (uint32_t listed = 0; listed < all; listed += MAX_OFFERS) {
        const uint32_t some = all - listed < MAX_OFFERS ? all - listed : MAX_OFFERS;
        for (; hit && at < listed + MAX_OFFERS; hit &= hit - 1)
            w->offer[at++ - listed] = (uint16_t)(lane * WARP + (uint32_t)__ffs((int)hit) - 1);
        __syncwarp(); /* the list is whole */
        uint32_t first = 0;
        for (; first + WARP < some; first += 2 * WARP)
            make_offers<2, K, S, L>(g, b, w, level, rule, from, first, some, tail, end, lane);
        if (first < some)
            make_offers<1, K, S, L>(g, b, w, level, rule, from, first, some, tail, end, lane);
        __syncwarp();
    }
}

/* Cells that MAX_TURNS left in the queue become pending again. */
template <typename K, typename S>
static __device__ void put_back(const grow_params<K> &g, const block_shared<K, S> *b,
                                warp_shared<K, S> *w, uint32_t t, uint32_t head, uint32_t tail,
                                uint32_t lane)
{
    for (uint32_t i = head + lane; i < tail; i += WARP) {
        const int q = w->queue[i & (S::cells - 1)], cell = b->owner[q] & 1023;
        atomicOr(&g.pending[(int64_t)t * S::own_words + cell / WARP], 1u << cell % WARP);
        atomicMin(&w->min_priority[CENTRE], w->key[q]);
    }
}

/* Write lowered cells back. Those beyond the window, those of the halo, and those that are left in
 * the queue become pending in their tile. */
template <typename K, typename S>
static __device__ void write_back(const grow_params<K> &g, block_shared<K, S> *b,
                                  warp_shared<K, S> *w, uint32_t t, K unreached, K end,
                                  uint32_t head, uint32_t tail, uint32_t lane)
{
    u64 pending = 0; /* bit i: this lane's cell in word i */
    uint32_t reached = 0;
    for (int first = 0; first < S::words; first += LOADS) { /* a group of atomics in flight */
        K key[LOADS], before[LOADS];
        bool in_tile[LOADS], has[LOADS];
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            const int i = first + j, q = i * WARP + (int)lane;
            has[j] = i < S::words && (w->lowered[i < S::words ? i : 0] >> lane & 1);
            const int owner = b->owner[q < S::padded ? q : 0];
            key[j] = w->key[q < S::padded ? q : 0];
            in_tile[j] = owner >> 10 == CENTRE;
            K *to = g.key + ((int64_t)w->tile[owner >> 10] * S::cells + (owner & 1023));
            before[j] = 0;
            if (has[j]) before[j] = atomicMin(to, key[j]);
        }
#pragma unroll
        for (int j = 0; j < LOADS; j++) {
            reached += has[j] && before[j] == unreached;
            if (has[j] && (in_tile[j] ? key[j] >= end : key[j] < before[j]))
                pending |= 1ull << (first + j);
        }
    }
    memory_fence(); /* keys before bits */
    for (; pending; pending &= pending - 1) {
        const int q = (__ffsll((long long)pending) - 1) * WARP + (int)lane, owner = b->owner[q];
        const int cell = owner & 1023;
        const int64_t word = (int64_t)w->tile[owner >> 10] * S::own_words + cell / WARP;
        atomicOr(&g.pending[word], 1u << cell % WARP);
        atomicMin(&w->min_priority[owner >> 10], w->key[q]);
    }
    __syncwarp(); /* all lanes' keys before bits */
    put_back(g, b, w, t, head, tail, lane);
    memory_fence(); /* bits before priorities */
    __syncwarp();
    K min_priority = keys<K>::none;
    if (lane < DIRECTIONS) min_priority = w->min_priority[lane];
    if (min_priority != keys<K>::none) atomicMin(&g.priority[w->tile[lane]], min_priority);
    min_priority = warp_min(min_priority);
    reached = __reduce_add_sync(ALL_LANES, reached);
    if (lane == 0 && min_priority != keys<K>::none) atomicMin(&b->min_priority, min_priority);
    if (lane == 0 && reached) atomicAdd(&b->reached, reached);
    __syncwarp(); /* the next visit overwrites this memory */
}

template <typename K, typename S, int N, level_layout L>
static __device__ void visit(const grow_params<K> &g, block_shared<K, S> *b, const K *table,
                             warp_shared<K, S> *w, uint32_t t, K end, uint32_t lane)
{
    typename cell_level<L>::type *level = (typename cell_level<L>::type *)(w + 1);
    const position at = corner_of<S>(g, t);
    const section_rule *section = section_of(g, at);
    step_rule<K> rule;
    rule.table = section->has_table ? g.table + section->table : NULL;
    rule.shared_table = table;
    rule.shared_n = g.table_shared;
    rule.extra = g.penalty ? section->extra : NULL;
    rule.unreached = (K)section->unreached;
    rule.level_shift = section->level_shift;
    rule.fraction = section->fraction;
    rule.bound = (K)section->bound;
    rule.reads_values = g.reads_values;
    const uint32_t bits = load_tile<K, S, L>(g, b, w, level, t, at, lane);
    uint32_t head = 0, tail = queue_pending(g, w, t, bits, end, lane);
    for (uint32_t turn = 0; head != tail && turn < MAX_TURNS; turn++) {
        const uint32_t n = tail - head < WARP ? tail - head : WARP;
        expand_cells<K, S, N, L>(g, b, w, level, rule, head, n, &tail, end, lane);
        head += n;
    }
    write_back(g, b, w, t, rule.unreached, end, head, tail, lane);
}

} /* namespace lob::growcut */

#endif
