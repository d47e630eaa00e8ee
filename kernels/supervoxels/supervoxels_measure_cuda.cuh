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
    ROUNDS = 40,   /* at most: each halves the sets that pick, of which there are under 2^31 */
    PROBES = 8,    /* places where a table looks before it gives up */
    SUM_BITS = 9,  /* logarithm of places for pieces */
    PAIR_BITS = 11 /* of places for contacts */
};
static_assert(WARP / TILE_RUNS == 1 << LANE_ROW_BITS, "a warp takes whole rows");
static_assert(MOST_STEPS * THREADS * RUN <= UINT32_MAX / UINT16_MAX, "sums of tiles fit 32 bits");
static constexpr wide NO_NEIGHBOUR = ~0ull;

/* What the kernels tell each other and the host; all zero before contacts are looked for. */
typedef struct {
    wide listed;            /* contacts that there are, whether the list has room for them or not */
    uint32_t small;         /* sets that are */
    uint32_t arrived;       /* at meetings of blocks, in total */
    uint32_t going[ROUNDS]; /* did a round leave contacts of small sets? */
    uint32_t finished;      /* labels are numbered */
    int32_t count;          /* of them */
    int32_t pieces;         /* that there were */
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
    uint32_t *mean;       /* most + 1, times channels: lob_piece_mean, or STALE_MEAN */
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
#pragma unroll 1
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
#pragma unroll 1
        for (int c = 0; c < channels; c++)
            atomicAdd(&p.sums[piece * channels + c], (wide)t.sums[i * channels + c]);
    }
}

/* ---- means of sets ---- */

/* A mean that has to be worked out again; real ones take 20 bits. */
static constexpr uint32_t STALE_MEAN = ~0u;

static __device__ inline bool is_small(const pool &p, int32_t set)
{
    return (int64_t)p.n[set] < p.s.rule.small;
}

/* ---- contacts of small sets ---- */

/* b, which small a touches, is the best for a so far if no other key is lower. `least` is one that
 * a had before: a stale one only costs an atomic too many. */
static __device__ inline void keep_least(const pool &p, int32_t a, int32_t b, uint64_t apart,
                                         wide least)
{
    const wide key = lob_piece_key(apart, (uint32_t)b);
    if (key < least) atomicMin(&p.key[a], key);
}

/*
 * What a block knows of the contacts in its tile. A small voxel meets at most six sets. Contacts
 * that share a place push each other out, and may be listed twice.
 */
enum { FRESH_PAIRS = WARP - 1 + 6 * WARP };
typedef struct {
    wide seen[1 << PAIR_BITS];                /* the last contact of each place; 0: none */
    wide fresh[WARPS][FRESH_PAIRS];           /* contacts that a warp has yet to list */
    uint16_t small[WARPS][WARP * RUN + WARP]; /* voxels of small sets that it has yet to look at */
    int pairs[WARPS], voxels[WARPS];          /* how many of both */
} contact_table;

static __device__ inline uint32_t place_of_pair(wide pair)
{
    const uint32_t a = (uint32_t)(pair >> 32), b = (uint32_t)pair;
    return (a * 2654435761u ^ b * 2246822519u) >> (32 - PAIR_BITS);
}

/* Offer and list the last `take` contacts of a warp, which has `pairs`. */
static __device__ inline void list_pairs(const pool &p, contact_table *t, int pairs, int take)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int channels = p.s.rule.channels;
    wide at = 0;
    if (lane == 0) at = atomicAdd(&p.line->listed, (wide)take);
    at = __shfl_sync(ALL_LANES, at, 0) + (wide)lane;
    if (lane >= take) return;
    const wide pair = t->fresh[warp][pairs - take + lane];
    const int64_t a = (int64_t)(pair >> 32), b = (uint32_t)pair;
    const wide least = *(volatile wide *)&p.key[a];
    uint64_t apart = 0;
#pragma unroll 1
    for (int c = 0; c < channels; c++)
        apart += lob_piece_apart(p.mean[a * channels + c], p.mean[b * channels + c]);
    keep_least(p, (int32_t)a, (int32_t)b, apart, least);
    if (at < (wide)p.room) p.list[at] = pair;
}

/* What lies beyond the faces of a voxel: sets, 0 where there is none. Returns the voxel's own. */
static __device__ inline int32_t sets_around(int32_t *beyond, const pool &p, corner c)
{
    const int32_t *at = p.s.labels + voxel_at(p, c);
    const int64_t row = p.nx, plane = (int64_t)p.nx * p.ny;
    const int across = p.s.rule.slice_axis;
    int32_t a = *at;
    beyond[0] = across != 0 && c.x > 0 ? at[-1] : 0;
    beyond[1] = across != 0 && c.x + 1 < p.nx ? at[1] : 0;
    beyond[2] = across != 1 && c.y > 0 ? at[-row] : 0;
    beyond[3] = across != 1 && c.y + 1 < p.ny ? at[row] : 0;
    beyond[4] = across != 2 && c.z > 0 ? at[-plane] : 0;
    beyond[5] = across != 2 && c.z + 1 < p.nz ? at[plane] : 0;
    if (!p.apart) {
        a = p.set[a];
#pragma unroll
        for (int i = 0; i < 6; i++) beyond[i] = p.set[beyond[i]];
    }
    return a;
}

/* A voxel of a small set meets the sets beyond its faces; its warp keeps what was not seen. */
static __device__ inline void meet_faces(const pool &p, contact_table *t, corner c)
{
    const int warp = (int)threadIdx.x / WARP;
    int32_t beyond[6];
    const int32_t a = sets_around(beyond, p, c);
    wide there[6];
    unsigned fresh = 0;
#pragma unroll
    for (int i = 0; i < 6; i++) {
        bool met = beyond[i] == 0 || beyond[i] == a;
        for (int k = 0; k < i; k++) met = met || beyond[k] == beyond[i];
        const wide pair = (wide)(uint32_t)a << 32 | (uint32_t)beyond[i];
        there[i] = met ? pair : *(volatile wide *)&t->seen[place_of_pair(pair)];
    }
#pragma unroll
    for (int i = 0; i < 6; i++) {
        const wide pair = (wide)(uint32_t)a << 32 | (uint32_t)beyond[i];
        if (there[i] == pair) continue;
        if (atomicCAS(&t->seen[place_of_pair(pair)], there[i], pair) != pair) fresh |= 1u << i;
    }
    if (!fresh) return;
    int at = atomicAdd(&t->pairs[warp], __popc(fresh));
#pragma unroll
    for (int i = 0; i < 6; i++)
        if (fresh >> i & 1) t->fresh[warp][at++] = (wide)(uint32_t)a << 32 | (uint32_t)beyond[i];
}

/*
 * Which voxels of a run lie in small sets. Only where another piece begins is it asked; a small one
 * goes on until the next begins: one is added behind its first voxel, and the carry runs through
 * its others.
 */
static __device__ inline unsigned small_of(const pool &p, const piece_run &r)
{
    uint32_t word[RUN];
    unsigned others = 0, small = 0;
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        const bool begins = j == 0 || r.label[j] != r.label[j - 1];
        word[j] = begins ? p.small_bits[(uint32_t)r.label[j] / 32] : 0;
        others |= begins ? 0 : 1u << j;
    }
#pragma unroll
    for (int j = 0; j < RUN; j++) small |= (word[j] >> (uint32_t)r.label[j] % 32 & 1) << j;
    return small | (others & ~(others + (small << 1)));
}

/* Where a voxel of a warp's list lies. */
static __device__ inline corner small_voxel(const pool &p, const contact_table *t, corner tile,
                                            int listed)
{
    const int warp = (int)threadIdx.x / WARP, voxel = t->small[warp][listed], run = voxel / RUN;
    corner c = run_place(p, tile, warp, run % WARP, run / WARP);
    c.x += voxel % RUN;
    return c;
}

/* Look at a warp's voxels, a lane one of them, and list contacts, as long as there are enough of
 * both for all lanes; last: as long as there are any. */
static __device__ inline void look_around(const pool &p, contact_table *t, corner tile, bool last)
{
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    int voxels = *(volatile int *)&t->voxels[warp];
    for (bool more = true; more;) {
        more = voxels >= (last ? 1 : WARP);
        const int take = more ? min(voxels, (int)WARP) : 0;
        voxels -= take;
        if (lane < take) meet_faces(p, t, small_voxel(p, t, tile, voxels + lane));
        __syncwarp();
        int pairs = *(volatile int *)&t->pairs[warp];
        const int enough = last && !more ? 1 : WARP;
        while (pairs >= enough) {
            const int of_them = min(pairs, (int)WARP);
            list_pairs(p, t, pairs, of_them);
            pairs -= of_them;
        }
        __syncwarp();
        if (lane == 0) t->pairs[warp] = pairs, t->voxels[warp] = voxels;
        __syncwarp();
    }
}

/* Every small set is offered all that touch it; the pairs are listed. */
static __global__ void __launch_bounds__(THREADS, 5) contacts_kernel(const __grid_constant__ pool p)
{
    __shared__ contact_table table;
    contact_table *const t = &table;
    const corner tile = corner_of(p, blockIdx.x);
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    for (int i = (int)threadIdx.x; i < 1 << PAIR_BITS; i += THREADS) t->seen[i] = 0;
    if (lane == 0) t->pairs[warp] = t->voxels[warp] = 0;
    piece_run next = run_of_tile(p, tile, 0);
    __syncthreads();
    for (int step = 0; step <= p.steps; step++) {
        const bool last = step == p.steps;
        const piece_run r = next;
        if (step + 1 < p.steps) next = run_of_tile(p, tile, step + 1);
        const unsigned small = last ? 0 : small_of(p, r);
        if (!last && !__any_sync(ALL_LANES, small != 0)) continue;
        if (small) {
            int at = atomicAdd(&t->voxels[warp], __popc(small));
            for (unsigned left = small; left; left &= left - 1)
                t->small[warp][at++] =
                    (uint16_t)((step * WARP + lane) * RUN + __ffs((int)left) - 1);
        }
        __syncwarp();
        look_around(p, t, tile, last);
    }
}

#endif
