/*
 * GrowCut's growing on the device: one kernel that stays until the fixed point is reached.
 *
 * Rounds of two steps with all blocks meeting after each. Select: tiles whose priority lies below
 * the window's end go to a list. Visit: warps take tiles from the list, one at a time. A visiting
 * warp takes the tile's pending bits, loads its cells and the halo around them into shared memory,
 * and grows those below the window's end through a queue, 32 cells a turn: each lane first finds
 * which neighbours of its cell might take a path through it, by a bound that needs no table, then
 * the lanes share the offers out. At the end, lowered cells go back, and lowered halo cells to
 * their owners.
 *
 * Nothing is lost between visits of neighbours in one round: who lowers a foreign cell writes key,
 * fence, pending bit, and its owner takes bit, fence, key. Either the owner took the bit and sees
 * the key, or the bit waits for the tile's next visit. A halo key that is read too early is only
 * too large, which costs an offer and no result. Relaxing is monotone, so the schedule cannot show.
 */
#ifndef LOB_GROWCUT_GROW_CUDA_CUH
#define LOB_GROWCUT_GROW_CUDA_CUH

#include "kernels/growcut/gpu/grow_params_cuda.cuh"

enum { WINDOW_GROWS = 16, BATCH = 8, OFFERS = 384 };

/* Warps of a block: what registers allow; a flat tile's visit needs fewer of them. */
template <typename S> static __host__ __device__ constexpr int most_warps()
{
    return S::flat ? 32 : 25;
}

/* What a block's warps share. */
template <typename K, typename S> struct hall {
    K least; /* least priority that was seen or set since the last meeting */
    K next;  /* the meeting's result: of all blocks */
    uint32_t reached, count, stop;
    uint32_t halo[S::words]; /* bit of each padded cell that is not the tile\'s own */
    int16_t step[SIDES];     /* cells from a padded cell to its neighbour */
    uint16_t
        owner[S::padded]; /* of each padded cell: direction of its tile * 1024 + its cell there */
};

/* A warp's workspace; the levels follow, channel after channel. */
template <typename K, typename S> struct nest {
    K key[S::padded];
    K least[SIDES];            /* of what becomes pending, by direction of the tile */
    int32_t tile[SIDES];       /* the tile itself is CENTRE; NO_TILE outside */
    uint32_t queued[S::words]; /* bit of each padded cell; those of the halo are always set */
    uint32_t lowered[S::words];
    uint16_t queue[S::cells]; /* padded cells; each is in it at most once */
    uint16_t offer[OFFERS];   /* of a turn, or some of them: lane * 32 + direction */
};

template <typename S> static __host__ __device__ constexpr int padded_of(int cell)
{
    return 1 + cell % S::x + S::px * (1 + cell / S::x % S::y) +
           (S::flat ? 0 : S::px * S::py * (1 + cell / (S::x * S::y)));
}

/* How many axes apart neighbours may be. */
template <int N> static __host__ __device__ constexpr int reach_of()
{
    return N == 6 || N == 4 ? 1 : N == 26 ? 3 : 2;
}

/* The plane's rule as a visit needs it, in registers: device memory is read once. */
template <typename K> struct step_rule {
    const K *table;    /* in device memory; NULL: a level costs 1 << level_shift */
    const K *head;     /* its first entries in shared memory, where all tiles have one table */
    uint32_t near;     /* how many those are */
    const wide *extra; /* NULL: nothing */
    K unreached;
    K bound; /* weight >= difference of levels * bound */
    uint32_t level_shift;
    int fraction; /* of distances over several channels */
};

/* Orders this thread's accesses to device memory for all who meet it: release and acquire. */
static __device__ inline void order(void)
{
#ifdef __CUDA_ARCH__
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
#else
    __threadfence();
#endif
}

/* Warp-uniform counts of a kernel's life. */
typedef struct {
    uint32_t visits;
    wide pops;
} tally;

/*
 * Directions whose neighbour might take a path with this key through the cell that key and level
 * point at. A step costs at least the largest channel's difference of levels, under either rule and
 * every norm; a sum that wraps only lets one through that the exact offer turns away.
 */
template <typename K, typename S, int N, bool MANY>
static __device__ inline uint32_t candidates(const K *key, const uint16_t *level, K own, K bound,
                                             int channels)
{
    uint32_t hit = 0;
    const uint32_t self = level[0];
#pragma unroll
    for (int direction = 0; direction < SIDES; direction++) {
        const int dx = direction % 3 - 1, dy = direction / 3 % 3 - 1, dz = direction / 9 - 1;
        const int apart = (dx != 0) + (dy != 0) + (dz != 0);
        if (apart == 0 || apart > reach_of<N>() || (S::flat && dz != 0)) continue;
        const int step = dx + S::px * dy + S::px * S::py * dz;
        uint32_t differ = __usad(level[step], self, 0u);
        if (MANY)
            for (int c = 1; c < channels; c++)
                differ = max(differ, __usad(level[c * S::padded + step], level[c * S::padded], 0u));
        const K offer = own + differ * bound; /* a shift would not share the sum's instruction */
        if (offer < key[step]) hit |= 1u << direction;
    }
    return hit;
}

/* ---- a visit ---- */

/* Let lanes with a cell append it to the queue. */
template <typename K, typename S>
static __device__ inline void enqueue(nest<K, S> *w, uint32_t *tail, bool has, int cell,
                                      uint32_t lane)
{
    const uint32_t who = __ballot_sync(ALL_LANES, has);
    if (has) w->queue[(*tail + __popc(who & ((1u << lane) - 1))) & (S::cells - 1)] = (uint16_t)cell;
    *tail += __popc(who);
}

/* Load tile t and its halo; returns this lane's pending bits, which are ours now. */
template <typename K, typename S, bool MANY>
static __device__ uint32_t load_tile(const scene<K> &s, const hall<K, S> *h, nest<K, S> *w,
                                     uint16_t *level, uint32_t t, const place &at, uint32_t lane)
{
    uint32_t word = 0;
    if (lane < S::own_words) word = atomicExch(&s.pending[(int64_t)t * S::own_words + lane], 0u);
    if (lane < SIDES) {
        const uint32_t x = at.x / S::x + lane % 3 - 1, y = at.y / S::y + lane / 3 % 3 - 1;
        const uint32_t z = at.z / S::z + lane / 9 - 1;
        const bool there = x < s.grid[0] && y < s.grid[1] && z < s.grid[2];
        w->tile[lane] = there ? (int32_t)(x + s.grid[0] * (y + s.grid[1] * z)) : NO_TILE;
        w->least[lane] = keys<K>::never;
    }
    order(); /* bits before keys */
    __syncwarp();
    for (int first = 0; first < S::words; first += BATCH) { /* a batch of loads in flight */
        K key[BATCH];
        uint16_t own[BATCH];
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            const int q = (first + j) * WARP + (int)lane;
            const int owner = h->owner[q < S::padded ? q : S::padded - 1];
            const int32_t tile = w->tile[owner >> 10];
            const int64_t from =
                (int64_t)(tile != NO_TILE ? tile : (int32_t)t) * S::cells + (owner & 1023);
            key[j] = __ldcg(s.key + from);
            own[j] = __ldg(s.level + from);
            if (tile == NO_TILE) key[j] = 0;
        }
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            const int q = (first + j) * WARP + (int)lane;
            if (q >= S::padded) continue;
            w->key[q] = key[j];
            level[q] = own[j];
        }
    }
    for (int i = (int)lane; i < S::words; i += WARP) {
        w->queued[i] = h->halo[i];
        w->lowered[i] = 0;
    }
    for (int q = (int)lane; MANY && q < S::padded; q += WARP) {
        const int owner = h->owner[q];
        const int32_t tile = w->tile[owner >> 10];
        const int64_t from =
            (int64_t)(tile != NO_TILE ? tile : (int32_t)t) * S::cells + (owner & 1023);
        for (int c = 1; c < s.image.channels; c++)
            level[c * S::padded + q] = __ldg(s.level + c * s.cells + from);
    }
    __syncwarp();
    if (S::own_bits == WARP) return word;
    return __shfl_sync(ALL_LANES, word, (int)lane / 2) >> (lane % 2 * 16) & 0xffff;
}

/* Queue what lies below the window's end; the rest becomes pending again. */
template <typename K, typename S>
static __device__ uint32_t queue_pending(const scene<K> &s, nest<K, S> *w, uint32_t t,
                                         uint32_t bits, K end, uint32_t lane)
{
    uint32_t tail = 0, later = 0;
    K least = keys<K>::never;
    while (__any_sync(ALL_LANES, bits != 0)) {
        bool now = false;
        int q = 0;
        if (bits) {
            const int b = __ffs((int)bits) - 1;
            bits &= bits - 1;
            q = padded_of<S>((int)lane * S::own_bits + b);
            const K key = w->key[q];
            now = key < end;
            if (now)
                atomicOr(&w->queued[q / WARP], 1u << q % WARP);
            else
                later |= 1u << b;
            if (!now && key < least) least = key;
        }
        enqueue(w, &tail, now, q, lane);
    }
    if (later) {
        const uint32_t first = lane * S::own_bits;
        atomicOr(&s.pending[(int64_t)t * S::own_words + first / WARP], later << first % WARP);
        atomicMin(&w->least[CENTRE], least);
    }
    __syncwarp();
    return tail;
}

/* Key of a path from own over distance d in a direction; at or above top when there is none. */
template <typename K>
static __device__ inline wide offer_of(const step_rule<K> &rule, K own, uint32_t d, int direction)
{
    const wide weight = !rule.table     ? (wide)d << rule.level_shift
                        : d < rule.near ? (wide)rule.head[d]
                                        : (wide)__ldg(rule.table + d);
    return own + weight + (rule.extra ? __ldg(rule.extra + direction) : 0);
}

/*
 * Lanes with few offers help those with many, so offers get numbers, lane after lane: returns this
 * lane's first and, in all, how many there are. Bit by bit, for ballots do not wait for each other.
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

/* What the lanes of a turn hold: a cell each, its key and its level. */
template <typename K> struct popped {
    K key;
    uint32_t level;
    int cell;
};

/* Make COUNT * 32 listed offers from number `first` on, COUNT at a time, to hide their latency. */
template <int COUNT, typename K, typename S, bool MANY>
static __device__ inline void make_offers(const scene<K> &s, const hall<K, S> *h, nest<K, S> *w,
                                          const uint16_t *level, const step_rule<K> &rule,
                                          const popped<K> &from, uint32_t first, uint32_t n,
                                          uint32_t *tail, K end, uint32_t lane)
{
    wide offer[COUNT];
    int to[COUNT];
    bool fresh[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        const uint32_t i = first + j * WARP + lane;
        const uint32_t of_whom = w->offer[i < n ? i : first];
        const int whom = (int)(of_whom / WARP), direction = (int)(of_whom % WARP);
        const K key = __shfl_sync(ALL_LANES, from.key, whom);
        const int cell = __shfl_sync(ALL_LANES, from.cell, whom);
        const uint32_t there = MANY ? 0 : __shfl_sync(ALL_LANES, from.level, whom);
        to[j] = cell + h->step[direction];
        const uint32_t d = MANY
                               ? lob_growcut_distance(level + cell, level + to[j], s.image.channels,
                                                      S::padded, s.norm, rule.fraction)
                               : __usad(level[to[j]], there, 0u);
        offer[j] = offer_of(rule, key, d, direction);
        if (i >= n) offer[j] = keys<K>::top;
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        const uint32_t word = (uint32_t)to[j] / WARP, bit = 1u << to[j] % WARP;
        fresh[j] = false;
        if (offer[j] >= keys<K>::top || (K)offer[j] >= atomicMin(&w->key[to[j]], (K)offer[j]))
            continue;
        atomicOr(&w->lowered[word], bit);
        fresh[j] = offer[j] < end && !(atomicOr(&w->queued[word], bit) & bit);
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) enqueue(w, tail, fresh[j], to[j], lane);
}

/* One turn: 32 cells from the queue make their offers. */
template <typename K, typename S, int N, bool MANY>
static __device__ inline void grow_cells(const scene<K> &s, const hall<K, S> *h, nest<K, S> *w,
                                         const uint16_t *level, const step_rule<K> &rule,
                                         uint32_t head, uint32_t n, uint32_t *tail, K end,
                                         uint32_t lane)
{
    const int q = w->queue[(head + (lane < n ? lane : 0)) & (S::cells - 1)];
    const popped<K> from = {w->key[q], level[q], q};
    uint32_t hit = 0, all;
    if (lane < n) {
        atomicAnd(&w->queued[q / WARP], ~(1u << q % WARP));
        hit = candidates<K, S, N, MANY>(w->key + q, level + q, from.key, rule.bound,
                                        s.image.channels);
    }
    uint32_t at = number_offers(hit, lane, &all);
    __syncwarp(); /* keys were read, and change from here on */
    for (uint32_t listed = 0; listed < all; listed += OFFERS) {
        const uint32_t some = all - listed < OFFERS ? all - listed : OFFERS;
        for (; hit && at < listed + OFFERS; hit &= hit - 1)
            w->offer[at++ - listed] = (uint16_t)(lane * WARP + (uint32_t)__ffs((int)hit) - 1);
        __syncwarp(); /* the list is whole */
        uint32_t first = 0;
        for (; first + WARP < some; first += 2 * WARP)
            make_offers<2, K, S, MANY>(s, h, w, level, rule, from, first, some, tail, end, lane);
        if (first < some)
            make_offers<1, K, S, MANY>(s, h, w, level, rule, from, first, some, tail, end, lane);
        __syncwarp();
    }
}

/* What the cap left in the queue is pending again. */
template <typename K, typename S>
static __device__ void put_back(const scene<K> &s, const hall<K, S> *h, nest<K, S> *w, uint32_t t,
                                uint32_t head, uint32_t tail, uint32_t lane)
{
    for (uint32_t i = head + lane; i < tail; i += WARP) {
        const int q = w->queue[i & (S::cells - 1)], cell = h->owner[q] & 1023;
        atomicOr(&s.pending[(int64_t)t * S::own_words + cell / WARP], 1u << cell % WARP);
        atomicMin(&w->least[CENTRE], w->key[q]);
    }
}

/* Write lowered cells back; those beyond the window, and the halo's, become pending at their owner.
 */
template <typename K, typename S>
static __device__ void write_back(const scene<K> &s, hall<K, S> *h, nest<K, S> *w, K unreached,
                                  K end, uint32_t lane)
{
    wide waits = 0; /* bit i: of this lane's cell in word i */
    uint32_t reached = 0;
    for (int first = 0; first < S::words; first += BATCH) { /* a batch of answers awaited at once */
        K key[BATCH], before[BATCH];
        bool own[BATCH], has[BATCH];
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            const int i = first + j, q = i * WARP + (int)lane;
            has[j] = i < S::words && (w->lowered[i < S::words ? i : 0] >> lane & 1);
            const int owner = h->owner[q < S::padded ? q : 0];
            key[j] = w->key[q < S::padded ? q : 0];
            own[j] = owner >> 10 == CENTRE;
            K *to = s.key + ((int64_t)w->tile[owner >> 10] * S::cells + (owner & 1023));
            before[j] = 0;
            if (has[j]) before[j] = atomicMin(to, key[j]);
        }
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            reached += has[j] && before[j] == unreached;
            if (has[j] && (own[j] ? key[j] >= end : key[j] < before[j]))
                waits |= 1ull << (first + j);
        }
    }
    order(); /* keys before bits */
    for (; waits; waits &= waits - 1) {
        const int q = (__ffsll((long long)waits) - 1) * WARP + (int)lane, owner = h->owner[q];
        const int cell = owner & 1023;
        const int64_t word = (int64_t)w->tile[owner >> 10] * S::own_words + cell / WARP;
        atomicOr(&s.pending[word], 1u << cell % WARP);
        atomicMin(&w->least[owner >> 10], w->key[q]);
    }
    __syncwarp();
    K least = keys<K>::never;
    if (lane < SIDES) least = w->least[lane];
    if (least != keys<K>::never) atomicMin(&s.priority[w->tile[lane]], least);
    least = warp_least(least);
    reached = __reduce_add_sync(ALL_LANES, reached);
    if (lane == 0 && least != keys<K>::never) atomicMin(&h->least, least);
    if (lane == 0 && reached) atomicAdd(&h->reached, reached);
    __syncwarp(); /* the next visit overwrites the nest */
}

template <typename K, typename S, int N, bool MANY>
static __device__ void visit(const scene<K> &s, hall<K, S> *h, const K *table, nest<K, S> *w,
                             uint32_t t, K end, uint32_t lane, tally *mine)
{
    uint16_t *level = (uint16_t *)(w + 1);
    const place at = corner_of<S>(s, t);
    const plane *in = plane_of(s, at);
    step_rule<K> rule;
    rule.table = in->tabled ? s.table + in->table : NULL;
    rule.head = table;
    rule.near = s.table_shared;
    rule.extra = s.penalty ? in->extra : NULL;
    rule.unreached = (K)in->unreached;
    rule.level_shift = in->level_shift;
    rule.fraction = in->fraction;
    rule.bound = (K)in->bound;
    const uint32_t bits = load_tile<K, S, MANY>(s, h, w, level, t, at, lane);
    uint32_t head = 0, tail = queue_pending(s, w, t, bits, end, lane);
    for (uint32_t turn = 0; head != tail && turn < s.cap; turn++) {
        const uint32_t n = tail - head < WARP ? tail - head : WARP;
        grow_cells<K, S, N, MANY>(s, h, w, level, rule, head, n, &tail, end, lane);
        head += n;
        mine->pops += n;
    }
    put_back(s, h, w, t, head, tail, lane);
    write_back(s, h, w, rule.unreached, end, lane);
    mine->visits++;
}

/* ---- rounds ---- */

/* All blocks meet: what each wrote before, all see after. slot's least is known then. */
template <typename K, typename S>
static __device__ void meet(const scene<K> &s, hall<K, S> *h, uint32_t *met, int slot, int list)
{
    control *ctl = s.ctl;
    __syncthreads();
    ++*met;
    if (threadIdx.x == 0) {
        if (h->least != keys<K>::never) atomicMin(&ctl->least[slot], (wide)h->least);
        if (h->reached) atomicAdd(&ctl->reached, (wide)h->reached);
        h->least = keys<K>::never;
        h->reached = 0;
        order();
        atomicAdd(&ctl->arrived, 1u);
        const uint32_t all = *met * gridDim.x;
        while ((int32_t)(*(volatile uint32_t *)&ctl->arrived - all) < 0) __nanosleep(20);
        order();
        const wide least = __ldcg(&ctl->least[slot]);
        h->next = least < keys<K>::top ? (K)least : keys<K>::never;
        h->count = __ldcg(&ctl->count[list]);
        h->stop = __ldcg(&ctl->stop);
    }
    __syncthreads();
}

/* List the tiles below end; the least priority of the others goes to the block. */
template <typename K, typename S>
static __device__ void select_tiles(const scene<K> &s, hall<K, S> *h, K end, int list,
                                    uint32_t lane)
{
    K least = keys<K>::never;
    const uint32_t all = gridDim.x * blockDim.x;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x - lane; i < s.tiles; i += all) {
        const uint32_t t = i + lane;
        const K priority = t < s.tiles ? __ldcg(&s.priority[t]) : keys<K>::never;
        const bool chosen = priority < end;
        if (!chosen && priority < least) least = priority;
        const uint32_t who = __ballot_sync(ALL_LANES, chosen);
        if (!who) continue;
        uint32_t at = 0;
        if (lane == 0) at = atomicAdd(&s.ctl->count[list], (uint32_t)__popc(who));
        at = __shfl_sync(ALL_LANES, at, 0) + __popc(who & ((1u << lane) - 1));
        if (chosen) {
            s.list[at] = t;
            s.priority[t] = keys<K>::never;
        }
    }
    least = warp_least(least);
    if (lane == 0 && least != keys<K>::never) atomicMin(&h->least, least);
}

/* The window's width: steps of the usual cost, and some levels. */
template <typename K> static __device__ K window_of(const scene<K> &s)
{
    const double n = (double)__ldcg(&s.ctl->usual_n);
    const double usual = n > 0 ? (double)__ldcg(&s.ctl->usual_sum) / n : 0;
    const double units = s.window_steps * usual + s.window_levels * s.planes[0].unit;
    const double most = (double)(keys<K>::top >> 6 >> s.label_bits);
    const K whole = (K)(units < most ? units : most);
    return (whole > 0 ? whole : 1) << s.label_bits;
}

template <typename K, typename S>
static __device__ void furnish(const scene<K> &s, hall<K, S> *h, K *table)
{
    if (threadIdx.x == 0) {
        h->least = keys<K>::never;
        h->reached = 0;
    }
    for (int d = (int)threadIdx.x; d < SIDES; d += (int)blockDim.x)
        h->step[d] = (int16_t)(d % 3 - 1 + S::px * (d / 3 % 3 - 1) + S::px * S::py * (d / 9 - 1));
    for (int q = (int)threadIdx.x; q < S::padded; q += (int)blockDim.x) {
        const int x = q % S::px - 1, y = q / S::px % S::py - 1;
        const int z = S::flat ? 0 : q / (S::px * S::py) - 1;
        const int side = (x < 0      ? 0
                          : x < S::x ? 1
                                     : 2) +
                         3 * (y < 0      ? 0
                              : y < S::y ? 1
                                         : 2) +
                         9 * (z < 0      ? 0
                              : z < S::z ? 1
                                         : 2);
        const int cell =
            (x + S::x) % S::x + S::x * ((y + S::y) % S::y + S::y * ((z + S::z) % S::z));
        h->owner[q] = (uint16_t)(side << 10 | cell);
    }
    for (int i = (int)threadIdx.x; i < S::words; i += (int)blockDim.x) {
        uint32_t inner = 0;
        for (int bit = 0; bit < WARP; bit++) {
            const int q = i * WARP + bit, x = q % S::px - 1, y = q / S::px % S::py - 1;
            const int z = S::flat ? 0 : q / (S::px * S::py) - 1;
            const bool own = x >= 0 && x < S::x && y >= 0 && y < S::y && z >= 0 && z < S::z;
            if (own && q < S::padded) inner |= 1u << bit;
        }
        h->halo[i] = ~inner;
    }
    for (uint32_t d = threadIdx.x; d < s.table_shared; d += blockDim.x)
        table[d] = __ldg(s.table + s.planes[0].table + d);
    __syncthreads();
}

template <typename K, typename S> static __host__ __device__ constexpr size_t hall_bytes()
{
    return (sizeof(hall<K, S>) + 15) / 16 * 16;
}

template <typename K, typename S, int N, bool MANY>
static __global__ void __launch_bounds__(most_warps<S>() * WARP, 1)
    grow_kernel(const __grid_constant__ scene<K> s)
{
    extern __shared__ __align__(16) unsigned char shared[];
    hall<K, S> *h = (hall<K, S> *)shared;
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    nest<K, S> *w = (nest<K, S> *)(shared + hall_bytes<K, S>() + (size_t)warp * s.nest_bytes);
    K *table = (K *)(shared + hall_bytes<K, S>() + (size_t)(blockDim.x / WARP) * s.nest_bytes);
    const uint32_t warps = gridDim.x * (blockDim.x / WARP);
    const bool first = blockIdx.x == 0 && threadIdx.x == 0;
    control *ctl = s.ctl;
    tally mine = {0, 0};
    uint32_t met = 0, round = 0;

    furnish(s, h, table);
    const K narrow = window_of(s);
    K window = narrow;
    select_tiles(s, h, (K)0, 0, lane);
    meet(s, h, &met, 0, 0);
    while (h->next != keys<K>::never && !h->stop && round < s.rounds) {
        const int now = (int)(round % 3), next = (now + 1) % 3;
        const K end = (K)(h->next + window) < h->next ? keys<K>::never : (K)(h->next + window);
        if (first) { /* slots whose last readers have met since */
            ctl->least[(now + 2) % 3] = ~0ull;
            ctl->count[next] = ctl->taken[next] = 0;
        }
        select_tiles(s, h, end, now, lane);
        meet(s, h, &met, next, now);
        const uint32_t count = h->count;
        for (uint32_t i = warp * gridDim.x + blockIdx.x, then; i < count;
             i = __shfl_sync(ALL_LANES, then, 0)) {
            then = lane == 0 ? warps + atomicAdd(&ctl->taken[now], 1u) : 0; /* known in time */
            visit<K, S, N, MANY>(s, h, table, w, __ldcg(&s.list[i]), end, lane, &mine);
        }
        if (first && s.line) {
            s.line->done = *(volatile wide *)&ctl->reached;
            if (s.line->stop) ctl->stop = 1;
        }
        meet(s, h, &met, next, now);
        if (s.adapt && count < warps / 2 && window / WINDOW_GROWS < narrow) window *= 2;
        if (count > 2 * warps && window > narrow) window /= 2;
        round++;
    }
    if (lane == 0) {
        atomicAdd(&ctl->visits, (wide)mine.visits);
        atomicAdd(&ctl->pops, mine.pops);
    }
    if (first) ctl->rounds = round;
}

#endif
