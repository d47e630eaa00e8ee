/*
 * Small pieces of supervoxels join the neighbours most like them, on the device.
 *
 * The volume is read three times: for the sums of pieces, for the contacts of small ones, and to
 * write labels. The rounds in between work on lists of small sets and of contacts, all in one
 * kernel whose blocks wait for each other. What touches a small set is known from its own side, and
 * a set that is small yet is made of sets that were: so no list ever needs more than the first look
 * found. Where that of contacts has no room for all, both are made again after each round.
 * Least keys, joining to the lowest number and sums of integers do not depend on any order.
 */
#include "kernels/supervoxels/supervoxels_measure_cuda.cuh"

/* A block of the rounds has a multiprocessor to itself, so that all of them run at once. */
enum {
    ROUND_THREADS = 1024,
    ROUND_WARPS = ROUND_THREADS / WARP,
    BATCH = 4 /* entries of a list that a thread takes at once */
};

/* ---- rounds ---- */

/* All blocks meet: what each wrote before, all see after. flag: set if any thread says so. */
static __device__ inline void meet(const pool &p, uint32_t *met, bool any = false,
                                   uint32_t *flag = NULL)
{
    any = __syncthreads_or(any);
    ++*met;
    if (threadIdx.x == 0) {
        if (any && flag) *flag = 1;
        __threadfence();
        atomicAdd(&p.line->arrived, 1u);
        while (*(volatile uint32_t *)&p.line->arrived < *met * gridDim.x) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}

static __device__ inline int64_t first_of_thread()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline int64_t all_threads()
{
    return (int64_t)gridDim.x * blockDim.x;
}

static __device__ inline int32_t set_now(const int32_t *set, int32_t i)
{
    return ((volatile const int32_t *)set)[i];
}

/* Sets only ever get lower, so a stale one leads on all the same. */
static __device__ inline int32_t lowest_of(const int32_t *set, int32_t i)
{
    for (int32_t next; (next = set_now(set, i)) != i;) i = next;
    return i;
}

/* The same for a batch, side by side: a step takes as long as memory does. */
static __device__ inline void find_lowest(const int32_t *set, int32_t (&i)[BATCH])
{
    for (bool any = true; any;) {
        int32_t next[BATCH];
        any = false;
#pragma unroll
        for (int k = 0; k < BATCH; k++) next[k] = set_now(set, i[k]);
#pragma unroll
        for (int k = 0; k < BATCH; k++) any = any || next[k] != i[k], i[k] = next[k];
    }
}

/* Join each a with its b. */
static __device__ inline void unite(int32_t *set, int32_t (&a)[BATCH], int32_t (&b)[BATCH])
{
    for (bool any = true; any;) {
        int32_t of_a[BATCH], of_b[BATCH], was[BATCH];
        any = false;
#pragma unroll
        for (int k = 0; k < BATCH; k++) of_a[k] = set_now(set, a[k]), of_b[k] = set_now(set, b[k]);
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const bool found = of_a[k] == a[k] && of_b[k] == b[k];
            a[k] = max(of_a[k], of_b[k]), b[k] = min(of_a[k], of_b[k]);
            was[k] = found && a[k] != b[k] ? atomicCAS(&set[a[k]], a[k], b[k]) : -1;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            if (was[k] == a[k])
                a[k] = b[k];
            else if (was[k] >= 0)
                a[k] = was[k]; /* somebody else joined it: try again from there */
            any = any || a[k] != b[k];
        }
    }
}

/*
 * What a thread has of a list: every so-manieth entry, the first `own` of them. What is left of
 * them moves up among its own.
 */
typedef struct {
    int64_t small, pairs;
} share;

static __device__ inline int64_t share_of(int64_t n)
{
    const int64_t first = first_of_thread();
    return n > first ? (n - first + all_threads() - 1) / all_threads() : 0;
}

/* Small sets of a thread's from number k on; 0, which is none, behind the last. */
static __device__ inline void read_small(int32_t (&set)[BATCH], const pool &p, const share &own,
                                         int64_t k)
{
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        set[i] = k + i < own.small ? p.small[first_of_thread() + (k + i) * all_threads()] : 0;
}

/* What sets have picked; themselves where there was nothing. */
static __device__ inline void read_picks(int32_t (&pick)[BATCH], const pool &p,
                                         const int32_t (&set)[BATCH])
{
    wide key[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) key[i] = p.key[set[i]];
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        pick[i] = key[i] == NO_NEIGHBOUR ? set[i] : (int32_t)(uint32_t)key[i];
}

/* What picked joins what it picked. */
static __device__ inline void join_sets(const pool &p, const share &own)
{
    for (int64_t k = 0; k < own.small; k += BATCH) {
        int32_t set[BATCH], pick[BATCH];
        read_small(set, p, own, k);
        read_picks(pick, p, set);
        unite(p.set, set, pick);
    }
}

/* A set that is none any more points at the one it is part of, and gives it its sums. */
static __device__ inline void give_sums(const pool &p, int32_t piece, int32_t set, wide n)
{
    const int channels = p.s.rule.channels;
    const wide *const from = p.sums + (int64_t)piece * channels;
    wide *const to = p.sums + (int64_t)set * channels;
    uint32_t *const mean = p.mean + (int64_t)set * channels;
    p.set[piece] = set;
    atomicAdd(&p.n[set], n);
#pragma unroll 1
    for (int c = 0; c < channels; c += BATCH) {
        wide sum[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) sum[i] = c + i < channels ? from[c + i] : 0;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (c + i < channels) {
                atomicAdd(&to[c + i], sum[i]);
                mean[c + i] = STALE_MEAN;
            }
    }
}

/*
 * Only what picked or was picked can have become part of another set. What is small has picked
 * where it was picked: so each small set gives its own sums, and those of a large one are given by
 * the first of those that picked it.
 */
static __device__ inline void gather_sets(const pool &p, const share &own)
{
    const wide small = (wide)p.s.rule.small;
    for (int64_t k = 0; k < own.small; k += BATCH) {
        int32_t set[BATCH], pick[BATCH], lowest[BATCH];
        wide n[BATCH], of_pick[BATCH];
        read_small(set, p, own, k);
        read_picks(pick, p, set);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            n[i] = *(volatile wide *)&p.n[set[i]];
            of_pick[i] = *(volatile wide *)&p.n[pick[i]];
            lowest[i] = set[i];
        }
        find_lowest(p.set, lowest);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            if (pick[i] == set[i]) continue;
            p.key[set[i]] = NO_NEIGHBOUR;
            if (lowest[i] != set[i]) give_sums(p, set[i], lowest[i], n[i]);
            if (lowest[i] == pick[i] || of_pick[i] < small) continue;
            const wide given = atomicExch(&p.n[pick[i]], (wide)0);
            if (given) give_sums(p, pick[i], lowest[i], given);
        }
    }
}

static __device__ __noinline__ uint32_t mean_again(uint32_t *mean, wide sum, wide n)
{
    return *mean = lob_piece_mean((int64_t)sum, (int64_t)n);
}

/* A mean that many threads may find stale: they all work out the same. */
static __device__ inline uint32_t fresh_mean(const pool &p, uint32_t mean, int32_t set, int channel)
{
    const int64_t i = (int64_t)set * p.s.rule.channels + channel;
    return mean == STALE_MEAN ? mean_again(&p.mean[i], p.sums[i], p.n[set]) : mean;
}

/* Offer each a its b; both 0: nothing. */
static __device__ inline void offer(const pool &p, const int32_t (&a)[BATCH],
                                    const int32_t (&b)[BATCH])
{
    const int channels = p.s.rule.channels;
    uint64_t apart[BATCH] = {};
    wide least[BATCH];
#pragma unroll
    for (int i = 0; i < BATCH; i++) least[i] = a[i] ? *(volatile wide *)&p.key[a[i]] : 0;
#pragma unroll 1
    for (int c = 0; c < channels; c++) {
        uint32_t of_a[BATCH], of_b[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            of_a[i] = a[i] ? p.mean[(int64_t)a[i] * channels + c] : 0;
            of_b[i] = a[i] ? p.mean[(int64_t)b[i] * channels + c] : 0;
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            apart[i] +=
                lob_piece_apart(fresh_mean(p, of_a[i], a[i], c), fresh_mean(p, of_b[i], b[i], c));
    }
#pragma unroll
    for (int i = 0; i < BATCH; i++)
        if (a[i]) keep_least(p, a[i], b[i], apart[i], least[i]);
}

/* Sets that are small still stay listed. */
static __device__ inline void keep_small(const pool &p, share *own)
{
    int64_t left = 0;
    for (int64_t k = 0; k < own->small; k += BATCH) {
        int32_t set[BATCH], now[BATCH];
        bool small[BATCH];
        read_small(set, p, *own, k);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            now[i] = p.set[set[i]];
            small[i] = is_small(p, set[i]);
        }
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (set[i] && now[i] == set[i] && small[i])
                p.small[first_of_thread() + left++ * all_threads()] = set[i];
    }
    own->small = left;
}

/* Their contacts are offered again. Are there any? */
static __device__ inline bool offer_again(const pool &p, share *own)
{
    wide *const list = p.list + first_of_thread();
    int64_t left = 0;
    for (int64_t k = 0; k < own->pairs; k += BATCH) {
        wide pair[BATCH];
        int32_t a[BATCH], b[BATCH];
        bool small[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            pair[i] = k + i < own->pairs ? list[(k + i) * all_threads()] : 0;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            a[i] = p.set[pair[i] >> 32], b[i] = p.set[(uint32_t)pair[i]];
#pragma unroll
        for (int i = 0; i < BATCH; i++) small[i] = a[i] != b[i] && is_small(p, a[i]);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (small[i])
                list[left++ * all_threads()] = (wide)(uint32_t)a[i] << 32 | (uint32_t)b[i];
            else
                a[i] = b[i] = 0;
        offer(p, a, b);
    }
    own->pairs = left;
    return left > 0;
}

/* ---- numbers ---- */

/* How many threads of the block before this one say yes; all: how many do. */
static __device__ inline uint32_t rank_in_block(bool yes, uint32_t *of_warp, uint32_t *all)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const unsigned lanes = __ballot_sync(ALL_LANES, yes);
    uint32_t before = (uint32_t)__popc(lanes & ((1u << lane) - 1));
    if (lane == 0) of_warp[warp] = (uint32_t)__popc(lanes);
    __syncthreads();
    *all = 0;
    for (int i = 0; i < ROUND_WARPS; i++) {
        if (i < warp) before += of_warp[i];
        *all += of_warp[i];
    }
    __syncthreads();
    return before;
}

static __device__ inline uint32_t sum_of_block(uint32_t mine, uint32_t *of_warp)
{
    uint32_t sum = __reduce_add_sync(ALL_LANES, mine);
    if (threadIdx.x % WARP == 0) of_warp[threadIdx.x / WARP] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < ROUND_WARPS; i++) sum += of_warp[i];
    __syncthreads();
    return sum;
}

/* A set's lowest piece comes first: sets are counted in the order of these. */
static __device__ inline void number_sets(const pool &p, uint32_t *of_warp, uint32_t *met)
{
    const int64_t pieces = *p.pieces;
    const int64_t share = (pieces + gridDim.x - 1) / gridDim.x;
    const int64_t first = 1 + blockIdx.x * share;
    const int64_t end = min(first + share, pieces + 1);
    uint32_t roots = 0, before = 0;
    for (int64_t i = first + threadIdx.x; i < end; i += ROUND_THREADS) roots += p.set[i] == i;
    roots = sum_of_block(roots, of_warp);
    if (threadIdx.x == 0) p.roots[blockIdx.x] = roots;
    meet(p, met);
    for (uint32_t b = threadIdx.x; b < blockIdx.x; b += ROUND_THREADS) before += p.roots[b];
    before = sum_of_block(before, of_warp);
    for (int64_t from = first; from < end; from += ROUND_THREADS) {
        const int64_t i = from + threadIdx.x;
        const bool root = i < end && p.set[i] == i;
        uint32_t all = 0;
        const uint32_t rank = rank_in_block(root, of_warp, &all);
        if (root) p.number[i] = (int32_t)(before + rank + 1);
        before += all;
    }
    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) {
        p.line->count = (int32_t)before;
        p.line->pieces = (int32_t)pieces;
        p.line->finished = 1;
        p.number[0] = 0;
    }
    meet(p, met);
    for (int64_t from = first_of_thread(); from <= pieces; from += BATCH * all_threads()) {
        int32_t piece[BATCH], lowest[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const int64_t i = from + k * all_threads();
            lowest[k] = piece[k] = i <= pieces ? (int32_t)i : 0;
        }
        find_lowest(p.set, lowest);
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            if (lowest[k] != piece[k]) p.number[piece[k]] = p.number[lowest[k]];
    }
}

/* Rounds as long as there are contacts, then numbers; or one round, where the list is not complete.
 */
static __global__ void __launch_bounds__(ROUND_THREADS, 1)
    rounds_kernel(const __grid_constant__ pool p)
{
    extern __shared__ uint32_t of_warp[];
    const int64_t listed = (int64_t)p.line->listed;
    share own = {share_of(p.line->small), share_of(listed)};
    uint32_t met = 0;
    bool any = listed > 0;
    for (int round = 0; any; round++) {
        join_sets(p, own);
        meet(p, &met);
        gather_sets(p, own);
        if (listed > p.room) return;
        meet(p, &met);
        keep_small(p, &own);
        any = offer_again(p, &own);
        meet(p, &met, any, &p.line->going[round]);
        any = *(volatile uint32_t *)&p.line->going[round];
    }
    number_sets(p, of_warp, &met);
}

/* Every piece points at its set, at first itself; small sets are listed, and all get their means.
 */
static __global__ void __launch_bounds__(THREADS) small_kernel(const __grid_constant__ pool p)
{
    const int64_t pieces = *p.pieces, lane = threadIdx.x % WARP;
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i - lane <= pieces; i += step) {
        int32_t set = 0;
        if (i <= pieces) {
            set = p.apart ? (int32_t)i : lowest_of(p.set, (int32_t)i);
            p.set[i] = set;
            p.key[i] = NO_NEIGHBOUR;
        }
        if (set != 0 && set == i)
#pragma unroll 1
            for (int c = 0; c < p.s.rule.channels; c++) {
                const int64_t at = i * p.s.rule.channels + c;
                p.mean[at] = lob_piece_mean((int64_t)p.sums[at], (int64_t)p.n[i]);
            }
        const bool small = set != 0 && is_small(p, set);
        const unsigned bits = __ballot_sync(ALL_LANES, small);
        const unsigned sets = __ballot_sync(ALL_LANES, small && set == i);
        uint32_t at = 0;
        if (lane == 0) {
            p.small_bits[i / WARP] = bits;
            if (sets) at = atomicAdd(&p.line->small, (uint32_t)__popc(sets));
        }
        at = __shfl_sync(ALL_LANES, at, 0) + (uint32_t)__popc(sets & ((1u << lane) - 1));
        if (sets >> lane & 1) p.small[at] = set;
    }
}

static __global__ void __launch_bounds__(THREADS) relabel_kernel(const __grid_constant__ pool p)
{
    if (!p.line->finished) return;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < p.runs; i += gridDim.x * THREADS) {
        piece_run r;
        const uint32_t row = i / p.along;
        r.x = (int32_t)(i - row * p.along) * RUN;
        r.voxel = (int64_t)row * p.nx + r.x;
        read_labels(p, &r);
        /* most runs have two pieces, which are asked for at once */
        const int32_t first = r.label[0], last = r.label[RUN - 1];
        const int32_t first_number = p.number[first], last_number = p.number[last];
        int32_t *to = p.s.labels + r.voxel;
#pragma unroll
        for (int j = 0; j < RUN; j++)
            r.label[j] = r.label[j] == first  ? first_number
                         : r.label[j] == last ? last_number
                                              : p.number[r.label[j]];
        if (p.nx % 4 == 0 && p.s.aligned) {
#pragma unroll
            for (int j = 0; j < RUN; j += 4)
                if (r.x + j < p.nx)
                    *(int4 *)(to + j) =
                        make_int4(r.label[j], r.label[j + 1], r.label[j + 2], r.label[j + 3]);
        } else {
#pragma unroll
            for (int j = 0; j < RUN; j++)
                if (r.x + j < p.nx) to[j] = r.label[j];
        }
    }
}

/* ---- the host's part ---- */

typedef struct {
    lob_device *device;
    pool p;
    lob_error *error;
} joining_pieces;

static int64_t place_parts(joining_pieces *j, unsigned char *memory)
{
    pool *p = &j->p;
    unsigned char *at = memory;
    const int64_t n = p->most + 1, channels = p->s.rule.channels;
    p->line = take_part<pieces_line>(&at, 1);
    p->n = take_part<wide>(&at, n);
    p->sums = take_part<wide>(&at, n * channels);
    p->key = take_part<wide>(&at, n);
    p->number = (int32_t *)p->key;
    p->mean = take_part<uint32_t>(&at, n * channels);
    p->set = take_part<int32_t>(&at, n);
    p->small = take_part<int32_t>(&at, n);
    p->small_bits = take_part<uint32_t>(&at, n / WARP + 1);
    p->roots = take_part<uint32_t>(&at, j->device->multiprocessors);
    p->list = take_part<wide>(&at, p->room);
    return at - memory;
}

/* Memory, its first part cleared. The list may have any room: 2 bytes a voxel are plenty. */
static lob_status prepare(joining_pieces *j, int64_t *bytes, int64_t allowed)
{
    pool *p = &j->p;
    lob_error *error = j->error;
    void *memory = NULL;
    const int64_t voxels = (int64_t)p->nx * p->ny * p->nz, list = (int64_t)sizeof *p->list;
    const int64_t least = place_parts(j, NULL), plenty = 2 * voxels;
    const int64_t budget = lob_supervoxels_budget(j->device, least + plenty, allowed);
    if (least > budget) return lob_supervoxels_refuse(least, budget, voxels, error);
    p->room = plenty / list;
    if (p->room > (budget - least) / list) p->room = (budget - least) / list / WARP * WARP;
    *bytes = place_parts(j, NULL);
    LOB_TRY(lob_device_scratch(j->device, LOB_DEVICE_WORK, &memory, *bytes, error));
    place_parts(j, (unsigned char *)memory);
    unsigned char *const zeros = (unsigned char *)memory, *const end = (unsigned char *)p->key;
    LOB_CUDA(cudaMemsetAsync(zeros, 0, (size_t)(end - zeros), j->device->stream));
    return LOB_OK;
}

static int log_of(int n)
{
    int bits = 0;
    while (1 << bits < n) bits++;
    return bits;
}

/* Tiles as near to cubes as rows of 64 go, or flat ones; smaller where they would be few. */
static void lay_tiles(pool *p, const lob_device *device)
{
    const int across = p->s.rule.slice_axis;
    const bool no_y = p->ny == 1 || across == 1, no_z = !no_y && (p->nz == 1 || across == 2);
    const int64_t rows = (int64_t)p->ny * p->nz, along = (p->along + TILE_RUNS - 1) / TILE_RUNS;
    const int64_t enough = 4 * (int64_t)device->multiprocessors;
    p->steps = MOST_STEPS;
    while (p->steps > 1 && rows * along / (p->steps * STEP_ROWS) < enough) p->steps /= 2;
    const int bits = log_of(p->steps * STEP_ROWS);
    p->z_bits = no_y ? bits : no_z ? 0 : bits / 2;
    p->y_bits = bits - p->z_bits;
    p->far_z = no_y ? LANE_ROW_BITS : no_z ? 0 : LANE_ROW_BITS / 2;
    p->far_y = LANE_ROW_BITS - p->far_z;
    p->tiles[0] = (uint32_t)along;
    p->tiles[1] = ((uint32_t)p->ny + (1u << p->y_bits) - 1) >> p->y_bits;
    p->tiles[2] = ((uint32_t)p->nz + (1u << p->z_bits) - 1) >> p->z_bits;
}

static void lay_pool(pool *p, const scene *s, const lob_supervoxel_pieces *found,
                     const lob_device *device)
{
    p->s = *s;
    p->nx = s->rule.side[0];
    p->ny = s->rule.side[1];
    p->nz = s->rule.side[2];
    p->along = (uint32_t)((p->nx + RUN - 1) / RUN);
    p->runs = p->along * (uint32_t)p->ny * (uint32_t)p->nz;
    p->whole = p->nx % RUN == 0 && (uintptr_t)s->image.stored % 16 == 0;
    p->most = found->most;
    p->pieces = found->at;
    p->apart = true;
    lay_tiles(p, device);
}

static lob_status add_up(joining_pieces *j)
{
    const lob_supervoxel_rule *rule = &j->p.s.rule;
    const uint32_t *tiles = j->p.tiles;
    void (*const kernel)(pool) = rule->lab             ? sums_kernel<3, true>
                                 : rule->channels == 3 ? sums_kernel<3, false>
                                                       : sums_kernel<1, false>;
    return lob_launch(j->device, kernel, "adding up pieces",
                      (int64_t)tiles[0] * tiles[1] * tiles[2], THREADS,
                      (size_t)sum_bytes(rule->channels), j->p, j->error);
}

static int64_t blocks_for(const lob_device *device, int64_t n)
{
    const int64_t want = (n + THREADS - 1) / THREADS;
    const int64_t most = (int64_t)device->multiprocessors * 16;
    return want < most ? want : most;
}

/* From sums to labels, at one go where the list has room. Returns what the device tells. */
static lob_status join_small(joining_pieces *j, pieces_line *line)
{
    const pool *p = &j->p;
    lob_device *device = j->device;
    const int64_t tiles = (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2];
    const int64_t blocks = (p->most + ROUND_THREADS) / ROUND_THREADS;
    const int64_t most = device->multiprocessors;
    LOB_TRY(lob_launch(device, small_kernel, "finding small pieces",
                       blocks_for(device, p->most + 1), THREADS, 0, *p, j->error));
    LOB_TRY(lob_launch(device, contacts_kernel, "faces of small pieces", tiles, THREADS, 0, *p,
                       j->error));
    LOB_TRY(lob_launch_together(device, rounds_kernel, "joining small pieces",
                                (int)(blocks < most ? blocks : most), ROUND_THREADS,
                                ROUND_WARPS * sizeof(uint32_t), *p, j->error));
    LOB_TRY(lob_launch(device, relabel_kernel, "labels of supervoxels", blocks_for(device, p->runs),
                       THREADS, 0, *p, j->error));
    return lob_device_download(device, line, p->line, sizeof *line, j->error);
}

lob_status lob_supervoxels_pieces_cuda(lob_device *device, lob_supervoxel_pieces *found,
                                       const scene *s, int64_t most, lob_error *error)
{
    joining_pieces j = {};
    pieces_line line = {};
    j.device = device;
    j.error = error;
    lay_pool(&j.p, s, found, device);
    LOB_TRY(prepare(&j, &found->bytes, most));
    LOB_TRY(add_up(&j));
    for (;;) {
        LOB_TRY(join_small(&j, &line));
        if (line.finished) break;
        j.p.apart = false;
        LOB_CUDA(cudaMemsetAsync(j.p.line, 0, sizeof line, device->stream));
    }
    found->pieces = line.pieces;
    found->supervoxels = line.count;
    return LOB_OK;
}
