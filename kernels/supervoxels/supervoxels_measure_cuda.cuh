/*
 * What is found out about pieces by looking at the volume: their sums, and which of them touch.
 *
 * A block takes a tile of rows 64 voxels long, a thread 8 voxels of a row at a time. Few pieces
 * meet in a tile, so that a table in shared memory adds up what a block found before it goes to
 * memory; what the table has no place for goes there at once. The rows of a warp lie far apart in
 * the tile, so that its lanes rarely add to the same piece.
 */
#ifndef LOB_SUPERVOXELS_MEASURE_CUDA_CUH
#define LOB_SUPERVOXELS_MEASURE_CUDA_CUH

#include "kernels/supervoxels/supervoxels_stored_cuda.cuh"

enum {
    THREADS = 256,
    WARPS = THREADS / WARP,
    TILE_RUNS = 8,                   /* of a row of a tile */
    STEP_ROWS = THREADS / TILE_RUNS, /* rows of a tile that are looked at together */
    LANE_ROW_BITS = 2,               /* logarithm of a warp's rows */
    MOST_STEPS = 8,                  /* of a tile; its sums fit 32 bits */
    ROUNDS = 40,    /* at most: each halves the sets that pick, of which there are under 2^31 */
    PROBES = 8,     /* places where a table looks before it gives up */
    SUM_BITS = 9,   /* logarithm of places for pieces */
    PAIR_BITS = 11, /* of places for contacts */
    TILE_PAIRS = 1 << (PAIR_BITS - 1)
};
static_assert(WARP / TILE_RUNS == 1 << LANE_ROW_BITS, "a warp takes whole rows");
static_assert(MOST_STEPS * THREADS * RUN <= UINT32_MAX / UINT16_MAX, "sums of tiles fit 32 bits");
static constexpr wide NO_NEIGHBOUR = ~0ull;

/* What the kernels tell each other and the host; all zero before contacts are looked for. */
typedef struct {
    wide listed;      /* contacts that there are, whether the list has room for them or not */
    uint32_t small;   /* sets that are */
    uint32_t arrived; /* at meetings of blocks, in total */
    uint32_t joined[ROUNDS]; /* did a round join any? */
    uint32_t finished;       /* labels are numbered */
    int32_t count;           /* of them */
    int32_t pieces;          /* that there were */
} pieces_line;

typedef struct {
    scene s;
    int32_t nx, ny, nz;
    uint32_t along, runs; /* runs of a row, and in all */
    bool whole;           /* 8 voxels of a row are there and aligned wherever one is */
    int y_bits, z_bits;   /* logarithms of a tile's rows along y and z, */
    int far_y, far_z;     /* and of those that a warp has */
    uint32_t tiles[3];
    int steps;              /* of a tile */
    int64_t most;           /* pieces: there is memory for so many */
    const uint32_t *pieces; /* how many there are */
    pieces_line *line;
    int32_t *set;         /* most + 1: of each piece; a set has its lowest piece's number */
    wide *n, *sums;       /* most + 1, times channels: of sets */
    wide *key;            /* most + 1: the best of a small set's neighbours so far */
    int32_t *number;      /* most + 1: labels of pieces, in the keys' place after these */
    int32_t *small;       /* most + 1: sets that are small */
    uint32_t *small_bits; /* most / 32 + 1: bits of pieces whose sets are small */
    uint32_t *roots;      /* what blocks count */
    wide *list;           /* room: small set << 32 | its neighbour */
    int64_t room;
    bool apart; /* every piece is a set of its own still */
} pool;

/* A run, as far as its row goes. */
typedef struct {
    int32_t x, y, z;
    int64_t voxel;
    int32_t label[RUN]; /* 0 beyond the row */
} piece_run;

static __device__ inline void read_labels(const pool &p, piece_run *r)
{
    const int32_t *from = p.s.labels + r->voxel;
    if (p.nx % 4 == 0 && p.s.aligned) {
#pragma unroll
        for (int j = 0; j < RUN; j += 4) {
            const int4 four = r->x + j < p.nx ? *(const int4 *)(from + j) : make_int4(0, 0, 0, 0);
            r->label[j] = four.x, r->label[j + 1] = four.y;
            r->label[j + 2] = four.z, r->label[j + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < RUN; j++) r->label[j] = r->x + j < p.nx ? from[j] : 0;
    }
}

/* Those of a run that a piece has. */
static __device__ inline unsigned voxels_of(const piece_run &r, int32_t piece)
{
    unsigned voxels = 0;
#pragma unroll
    for (int j = 0; j < RUN; j++) voxels |= r.label[j] == piece ? 1u << j : 0;
    return voxels;
}

/* The label of the first of some of a run's voxels. */
static __device__ inline int32_t first_label(const piece_run &r, unsigned of)
{
    int32_t label = 0;
#pragma unroll
    for (int j = RUN - 1; j >= 0; j--)
        if (of >> j & 1) label = r.label[j];
    return label;
}

/* ---- tiles ---- */

typedef struct {
    int32_t x, y, z;
} corner;

static __device__ inline corner corner_of(const pool &p, uint32_t tile)
{
    corner c;
    const uint32_t row = tile / p.tiles[0], plane = row / p.tiles[1];
    c.x = (int32_t)(tile - row * p.tiles[0]) * (TILE_RUNS * RUN);
    c.y = (int32_t)(row - plane * p.tiles[1]) << p.y_bits;
    c.z = (int32_t)plane << p.z_bits;
    return c;
}

/* Where a lane's run begins at a step of its warp: mostly a row behind that of the step before. It
 * may lie beyond the volume. */
static __device__ inline corner run_place(const pool &p, corner tile, int warp, int lane, int step)
{
    const int near = warp * p.steps + step, far = lane / TILE_RUNS;
    const int y_near = p.y_bits - p.far_y, z_near = p.z_bits - p.far_z;
    corner c;
    c.x = tile.x + lane % TILE_RUNS * RUN;
    c.y = tile.y + ((far & ((1 << p.far_y) - 1)) << y_near | (near & ((1 << y_near) - 1)));
    c.z = tile.z + (far >> p.far_y << z_near | near >> y_near);
    return c;
}

static __device__ inline bool is_inside(const pool &p, corner c)
{
    return c.x < p.nx && c.y < p.ny && c.z < p.nz;
}

static __device__ inline int64_t voxel_at(const pool &p, corner c)
{
    return ((int64_t)c.z * p.ny + c.y) * p.nx + c.x;
}

static __device__ inline piece_run run_of_tile(const pool &p, corner tile, int step)
{
    piece_run r = {};
    const int thread = (int)threadIdx.x;
    const corner c = run_place(p, tile, thread / WARP, thread % WARP, step);
    r.x = c.x, r.y = c.y, r.z = c.z;
    if (!is_inside(p, c)) return r;
    r.voxel = voxel_at(p, c);
    read_labels(p, &r);
    return r;
}

/* ---- levels ---- */

static __device__ inline void read_levels(const pool &p, const piece_run &r, int channel,
                                          unsigned left, uint32_t *level)
{
    const int64_t i = channel * p.s.image.voxels + r.voxel;
#define READ_LEVELS(type_, ctype, name, integer, lowest, highest) \
    case type_:                                                   \
        return levels_of<false>(                                  \
            level, p.s, channel,                                  \
            load_eight((const ctype *)p.s.image.stored + i, 1, p.whole, left));
    switch (p.s.image.type) {
        LOB_TYPE_LIST(READ_LEVELS)
    case LOB_TYPES:
        break;
    }
#undef READ_LEVELS
}

/* Levels of C channels from `channel` on. */
template <int C, bool LAB>
static __device__ inline void read_channels(const pool &p, const piece_run &r, int channel,
                                            unsigned left, uint32_t level[C][RUN])
{
    if (LAB) {
        const uint8_t *rgb = (const uint8_t *)p.s.image.stored + r.voxel;
        const int64_t voxels = p.s.image.voxels;
#pragma unroll
        for (int j = 0; j < RUN; j++) {
            uint16_t lab[3] = {};
            if (left >> j & 1)
                lob_lab(lab, rgb[j], rgb[j + voxels], rgb[j + 2 * voxels], p.s.linear, p.s.root);
#pragma unroll
            for (int c = 0; c < C; c++) level[c][j] = lab[c];
        }
    } else {
#pragma unroll
        for (int c = 0; c < C; c++) read_levels(p, r, channel + c, left, level[c]);
    }
}

/* ---- sums of pieces ---- */

typedef struct {
    uint32_t *piece; /* 1 << SUM_BITS; 0: free */
    uint32_t *n;     /* the same */
    uint32_t *sums;  /* times channels */
} sum_table;

/* The place of a piece in the table, new or not; -1: it has none. */
static __device__ inline int place_of_piece(const sum_table &t, uint32_t piece)
{
    uint32_t at = piece * 2654435761u >> (32 - SUM_BITS);
    for (int i = 0; i < PROBES; i++, at = (at + 1) % (1u << SUM_BITS)) {
        uint32_t there = *(volatile uint32_t *)&t.piece[at];
        if (there == 0) there = atomicCAS(&t.piece[at], 0u, piece);
        if (there == 0 || there == piece) return (int)at;
    }
    return -1;
}

/* What a thread has of a piece, C channels from one on. */
template <int C> struct tally {
    int32_t piece; /* 0: none */
    uint32_t n, sum[C];
};

template <int C>
static __device__ inline void add_tally(const pool &p, const sum_table &t, int channel,
                                        const tally<C> &of)
{
    const int channels = p.s.rule.channels, piece = of.piece;
    if (piece == 0) return;
    const int place = place_of_piece(t, (uint32_t)piece);
    if (channel == 0 && place >= 0) atomicAdd(&t.n[place], of.n);
    if (channel == 0 && place < 0) atomicAdd(&p.n[piece], (wide)of.n);
#pragma unroll
    for (int c = 0; c < C; c++)
        if (place >= 0)
            atomicAdd(&t.sums[place * channels + channel + c], of.sum[c]);
        else
            atomicAdd(&p.sums[(int64_t)piece * channels + channel + c], (wide)of.sum[c]);
}

template <int C>
static __device__ inline tally<C> tally_of(int32_t piece, unsigned voxels,
                                           const uint32_t level[C][RUN])
{
    tally<C> of;
    of.piece = piece;
    of.n = (uint32_t)__popc(voxels);
#pragma unroll
    for (int c = 0; c < C; c++) {
        of.sum[c] = 0;
#pragma unroll
        for (int j = 0; j < RUN; j++) of.sum[c] += voxels >> j & 1 ? level[c][j] : 0;
    }
    return of;
}

/* Keep what is of the same piece; what was kept of another is added where it belongs. */
template <int C>
static __device__ inline void keep_tally(const pool &p, const sum_table &t, int channel,
                                         tally<C> *kept, const tally<C> &of)
{
    if (kept->piece != of.piece) {
        add_tally<C>(p, t, channel, *kept);
        *kept = of;
        return;
    }
    kept->n += of.n;
#pragma unroll
    for (int c = 0; c < C; c++) kept->sum[c] += of.sum[c];
}

static int64_t sum_bytes(int channels)
{
    return (2 + channels) * (int64_t)sizeof(uint32_t) << SUM_BITS;
}

/*
 * The steps of a thread, for C channels from one on. Its runs lie one behind the other, and mostly
 * begin and end in the pieces of the one before: these it keeps until others come.
 */
template <int C, bool LAB>
static __device__ inline void add_steps(const pool &p, const sum_table &t, corner tile, int channel)
{
    tally<C> first = {}, last = {};
    piece_run next = run_of_tile(p, tile, 0);
    for (int step = 0; step < p.steps; step++) {
        const piece_run r = next;
        if (step + 1 < p.steps) next = run_of_tile(p, tile, step + 1);
        unsigned left = EVERY & ~voxels_of(r, 0);
        if (!left) continue;
        uint32_t level[C][RUN];
        read_channels<C, LAB>(p, r, channel, left, level);
        const unsigned of_first = voxels_of(r, r.label[0]);
        const unsigned of_last = voxels_of(r, r.label[RUN - 1]) & ~of_first;
        keep_tally<C>(p, t, channel, &first, tally_of<C>(r.label[0], of_first, level));
        if (of_last)
            keep_tally<C>(p, t, channel, &last, tally_of<C>(r.label[RUN - 1], of_last, level));
        left &= ~(of_first | of_last);
        while (left) {
            const int32_t piece = first_label(r, left);
            const unsigned voxels = voxels_of(r, piece);
            add_tally<C>(p, t, channel, tally_of<C>(piece, voxels, level));
            left &= ~voxels;
        }
    }
    add_tally<C>(p, t, channel, first);
    add_tally<C>(p, t, channel, last);
}

/* Sums of all pieces, C channels at a time, into zeros. */
template <int C, bool LAB>
static __global__ void __launch_bounds__(THREADS, C == 1 ? 4 : 2)
    sums_kernel(const __grid_constant__ pool p)
{
    extern __shared__ uint32_t shared[];
    const int channels = p.s.rule.channels, thread = (int)threadIdx.x;
    const sum_table t = {shared, shared + (1 << SUM_BITS), shared + (2 << SUM_BITS)};
    const corner tile = corner_of(p, blockIdx.x);
    for (int i = thread; i < (2 + channels) << SUM_BITS; i += THREADS) shared[i] = 0;
    __syncthreads();
    for (int c = 0; c < channels; c += C) add_steps<C, LAB>(p, t, tile, c);
    __syncthreads();
    for (int i = thread; i < 1 << SUM_BITS; i += THREADS) {
        const int64_t piece = t.piece[i];
        if (piece == 0) continue;
        atomicAdd(&p.n[piece], (wide)t.n[i]);
        for (int c = 0; c < channels; c++)
            atomicAdd(&p.sums[piece * channels + c], (wide)t.sums[i * channels + c]);
    }
}

/* ---- contacts of small sets ---- */

static __device__ inline bool is_small(const pool &p, int32_t set)
{
    return (int64_t)p.n[set] < p.s.rule.small;
}

/* Of two sets, small a and another, that share a face: is b the best for a so far? */
static __device__ inline void offer(const pool &p, int32_t a, int32_t b)
{
    const int channels = p.s.rule.channels;
    const int64_t n_a = (int64_t)p.n[a], n_b = (int64_t)p.n[b];
    uint64_t apart = 0;
    for (int c = 0; c < channels; c++)
        apart += lob_piece_apart(lob_piece_mean((int64_t)p.sums[(int64_t)a * channels + c], n_a),
                                 lob_piece_mean((int64_t)p.sums[(int64_t)b * channels + c], n_b));
    const wide key = lob_piece_key(apart, (uint32_t)b);
    /* most are not the best: a stale value read here only costs an atomic too many */
    if (key < *(volatile wide *)&p.key[a]) atomicMin(&p.key[a], key);
}

static __device__ inline void offer_pair(const pool &p, wide pair, wide at)
{
    offer(p, (int32_t)(pair >> 32), (int32_t)(uint32_t)pair);
    if (at < (wide)p.room) p.list[at] = pair;
}

/* What a block knows of the contacts in its tile. */
typedef struct {
    wide place[1 << PAIR_BITS]; /* 0: free */
    wide pair[TILE_PAIRS];
    uint16_t small[WARPS][WARP * RUN + WARP]; /* voxels of small sets that a warp has found */
    uint32_t pairs;
    wide listed; /* where in the list the block's pairs go */
} pair_table;

/* Keep a contact, once; where there is no room for it, offer it at once. */
static __device__ inline void keep_pair(const pool &p, pair_table *t, int32_t a, int32_t b)
{
    const wide pair = (wide)(uint32_t)a << 32 | (uint32_t)b;
    uint32_t at = ((uint32_t)a * 2654435761u ^ (uint32_t)b * 2246822519u) >> (32 - PAIR_BITS);
    for (int i = 0; i < PROBES; i++, at = (at + 1) % (1u << PAIR_BITS)) {
        wide there = *(volatile wide *)&t->place[at];
        if (there == 0) there = atomicCAS(&t->place[at], (wide)0, pair);
        if (there == pair) return;
        if (there != 0) continue;
        const uint32_t slot = atomicAdd(&t->pairs, 1u);
        if (slot >= TILE_PAIRS) break;
        t->pair[slot] = pair;
        return;
    }
    offer_pair(p, pair, atomicAdd(&p.line->listed, (wide)1));
}

/* A voxel of a small set meets the sets beyond its faces. */
static __device__ inline void meet_faces(const pool &p, pair_table *t, corner c)
{
    const int32_t *at = p.s.labels + voxel_at(p, c);
    const int64_t row = p.nx, plane = (int64_t)p.nx * p.ny;
    const int across = p.s.rule.slice_axis;
    int32_t beyond[6] = {};
    int32_t a = *at;
    if (across != 0 && c.x > 0) beyond[0] = at[-1];
    if (across != 0 && c.x + 1 < p.nx) beyond[1] = at[1];
    if (across != 1 && c.y > 0) beyond[2] = at[-row];
    if (across != 1 && c.y + 1 < p.ny) beyond[3] = at[row];
    if (across != 2 && c.z > 0) beyond[4] = at[-plane];
    if (across != 2 && c.z + 1 < p.nz) beyond[5] = at[plane];
    if (!p.apart) {
        a = p.set[a];
#pragma unroll
        for (int i = 0; i < 6; i++) beyond[i] = beyond[i] ? p.set[beyond[i]] : 0;
    }
#pragma unroll
    for (int i = 0; i < 6; i++) {
        bool met = beyond[i] == 0 || beyond[i] == a;
        for (int k = 0; k < i; k++) met = met || beyond[k] == beyond[i];
        if (!met) keep_pair(p, t, a, beyond[i]);
    }
}

static __device__ inline bool in_small_set(const pool &p, int32_t piece)
{
    return p.small_bits[piece / 32] >> piece % 32 & 1;
}

/* Which voxels of a run lie in small sets. Most runs have two pieces, which are asked for at once.
 */
static __device__ inline unsigned small_of(const pool &p, const piece_run &r)
{
    const bool first_small = in_small_set(p, r.label[0]);
    const bool last_small = in_small_set(p, r.label[RUN - 1]);
    const unsigned first = voxels_of(r, r.label[0]), last = voxels_of(r, r.label[RUN - 1]);
    unsigned small = (first_small ? first : 0) | (last_small ? last : 0);
    unsigned left = EVERY & ~(first | last);
    while (left) {
        const int32_t piece = first_label(r, left);
        const unsigned voxels = voxels_of(r, piece);
        if (in_small_set(p, piece)) small |= voxels;
        left &= ~voxels;
    }
    return small;
}

/* Add a step's small voxels to those of a warp's list, which has room for them. Returns how many it
 * has then. */
static __device__ inline int list_small(uint16_t *list, int listed, unsigned small, int step)
{
    const int lane = (int)threadIdx.x % WARP;
    int end = __popc(small);
    for (int apart = 1; apart < WARP; apart *= 2) {
        const int other = __shfl_up_sync(ALL_LANES, end, apart);
        if (lane >= apart) end += other;
    }
    int at = listed + end - __popc(small);
    for (unsigned left = small; left; left &= left - 1)
        list[at++] = (uint16_t)((step * WARP + lane) * RUN + __ffs((int)left) - 1);
    __syncwarp();
    return listed + __shfl_sync(ALL_LANES, end, WARP - 1);
}

/* Each lane takes one of a warp's list. */
static __device__ inline void meet_small(const pool &p, pair_table *t, corner tile, int listed)
{
    const int warp = (int)threadIdx.x / WARP, voxel = t->small[warp][listed];
    const int run = voxel / RUN;
    corner c = run_place(p, tile, warp, run % WARP, run / WARP);
    c.x += voxel % RUN;
    meet_faces(p, t, c);
}

/* Every small set is offered all that touch it; the pairs are listed. */
static __global__ void __launch_bounds__(THREADS) contacts_kernel(const __grid_constant__ pool p)
{
    __shared__ pair_table table;
    pair_table *const t = &table;
    const corner tile = corner_of(p, blockIdx.x);
    const int lane = (int)threadIdx.x % WARP;
    uint16_t *const list = t->small[threadIdx.x / WARP];
    int listed = 0;
    for (int i = (int)threadIdx.x; i < 1 << PAIR_BITS; i += THREADS) t->place[i] = 0;
    if (threadIdx.x == 0) t->pairs = 0;
    piece_run next = run_of_tile(p, tile, 0);
    __syncthreads();
    for (int step = 0; step < p.steps; step++) {
        const piece_run r = next;
        if (step + 1 < p.steps) next = run_of_tile(p, tile, step + 1);
        const unsigned small = small_of(p, r);
        if (!__any_sync(ALL_LANES, small != 0)) continue;
        listed = list_small(list, listed, small, step);
        for (; listed >= WARP; listed -= WARP) meet_small(p, t, tile, listed - WARP + lane);
        __syncwarp();
    }
    if (lane < listed) meet_small(p, t, tile, lane);
    __syncthreads();
    const uint32_t n = t->pairs < TILE_PAIRS ? t->pairs : TILE_PAIRS;
    if (n == 0) return;
    if (threadIdx.x == 0) t->listed = atomicAdd(&p.line->listed, (wide)n);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += THREADS) offer_pair(p, t->pair[i], t->listed + i);
}

#endif
