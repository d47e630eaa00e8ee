/*
 * A pass over tiles: nearest clusters and their sums, or labels, in one kernel.
 *
 * A block lists the clusters whose boxes meet its tile, in rising order, and works out for each
 * what its distance takes along every axis: a table of 64 coordinates a cluster, with NaN outside
 * the box, so that a comparison leaves it out without being asked to. A warp then takes bricks: it
 * lists the tile's clusters whose boxes meet the brick, and holds each against all its voxels, 8 a
 * lane; halves of runs that a box does not reach are passed by.
 *
 * Of slic's distances the low byte is free: it holds the place in the brick's list, and one integer
 * minimum keeps distance and cluster, the first of equal ones. So a voxel and cluster cost two
 * fused steps, a difference, a mask and a minimum, of lsc five fused steps and three to compare.
 *
 * Sums are matrix products on the tensor cores, in whole numbers: the one-hot matrix of 256 voxels
 * by 8 clusters from the right, rows of bytes from the left (1, x, y, z within the brick, low and
 * high bytes of levels or waves). A one-hot column g holds 1 << g instead of 1: then byte q of a
 * lane's 1 << place is its row for all of the 8 columns of group q, and a mask picks the column.
 * Products are at most 256 * 255 * 128, and shifted back by g. Sums over the tile go to shared
 * memory, once a tile and cluster to global memory, where integers make the order of adding
 * irrelevant.
 *
 * What slic costs in 3D with cells of 8 voxels, in instructions of a lane a voxel: a brick meets 17
 * clusters, which take 2 to 3 each to fetch, and its halves 13 each, which take 5; the table of a
 * tile 10, sums 14 to 20, the rest 10. About 140, of which a GPU with 132 multiprocessors at 1.75
 * GHz starts 30 million million a second: .6 ms for 512^3 voxels, against .06 ms to read them.
 */
#ifndef LOB_SUPERVOXELS_TILE_CUDA_CUH
#define LOB_SUPERVOXELS_TILE_CUDA_CUH

#include "kernels/supervoxels/supervoxels_plain_cuda.cuh"

enum {
    TABLE = 2 * WARP, /* coordinates of a table entry: the tile's u, then v, or v and w */
    LISTED = 128,     /* clusters of a brick, at most: places are below 255 */
    NOWHERE = 255,    /* place of a voxel that no box holds */
    LIST_FIRST = 1,   /* flags of a listed cluster: it meets voxels 0..3 of runs, 4..7 */
    LIST_SECOND = 2,
    ROW_BYTES = BRICK_VOXELS + 32, /* of the left matrix; 32 more keep rows in banks of their own */
    HOT_GROUPS = WARP / 8,         /* of 8 clusters, told by the bytes of a word */
    WAVE_BIAS = 2048, /* makes waves of axes positive; taken off again by their number */
};
static constexpr uint32_t INFINITE_BITS = 0x7f800000u;

/* What a kernel's template parameters come to. */
template <lob_supervoxel_method M, int C, bool FLAT> struct layout {
    static constexpr bool lsc = M == LOB_LSC;
    static constexpr int inputs = lsc ? 4 * C : 2 * C;   /* rows of bytes of channels */
    static constexpr int near = 4 + inputs;              /* with 1, x, y, z */
    static constexpr int far = !lsc ? 0 : FLAT ? 8 : 12; /* rows of waves of u, v and w */
    static constexpr int rows = near + far;
    static constexpr int sets =
        lsc ? shape<FLAT>::tx + shape<FLAT>::ty + (FLAT ? 0 : shape<FLAT>::tz) : 0;
    /* behind a table entry's coordinates: slic: means of channels, slico: and its factor; lsc:
     * factors of u, of w, of channels, and half the square */
    static constexpr int extra = lsc ? 5 + 2 * C : M == LOB_SLICO ? C + 1 : C;
    static constexpr int entry = (TABLE + extra + 3) / 4 * 4,
                         entry_bytes = entry * (int)sizeof(float);
    /* Blocks on a multiprocessor: what the compiler may give registers for. */
    static constexpr int blocks = FLAT ? (lsc ? 4 : 6) : lsc && C > 1 ? 2 : 3;
    static_assert(near <= 16 && far <= 16, "rows of two products");
};

/* Shared memory of a block; of list, hot and mine each warp has its own. */
typedef struct {
    float *table, *sine; /* sine: lsc: of the tile's u */
    int32_t *ids;
    uint32_t *in_u, *in_vw; /* bits: which of the tile's coordinates a box holds */
    uint32_t *sums, *largest;
    uint8_t *common; /* rows of 1, x, y, z */
    uint8_t *waves;  /* lsc: rows of axes, 4 a set; sets are the tile's bricks along u, v, w */
    uint32_t *list;  /* where in the table a cluster's entry lies, in bytes, and flags */
    uint2 *hot;
    uint8_t *mine; /* rows of channels */
} hall;

template <typename T> static __host__ __device__ inline T *take(unsigned char **at, int64_t n)
{
    T *here = (T *)*at;
    *at += (n * (int64_t)sizeof(T) + 15) / 16 * 16;
    return here;
}

/* Lay out shared memory; returns its end. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __host__ __device__ inline unsigned char *lay_hall(hall *h, unsigned char *at, int room,
                                                          int warp)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    h->table = take<float>(&at, (int64_t)room * L::entry);
    h->sine = take<float>(&at, L::lsc ? WARP : 0);
    h->ids = take<int32_t>(&at, room);
    h->in_u = take<uint32_t>(&at, room);
    h->in_vw = take<uint32_t>(&at, room);
    h->sums = take<uint32_t>(&at, (int64_t)room * L::rows);
    h->largest = take<uint32_t>(&at, M == LOB_SLICO ? room : 0);
    h->common = take<uint8_t>(&at, 4 * ROW_BYTES);
    h->waves = take<uint8_t>(&at, 4 * L::sets * ROW_BYTES);
    h->list = take<uint32_t>(&at, S::warps * LISTED) + warp * LISTED;
    h->hot = take<uint2>(&at, S::warps * HOT_GROUPS * WARP) + warp * HOT_GROUPS * WARP;
    h->mine = take<uint8_t>(&at, S::warps * L::inputs * ROW_BYTES) + warp * L::inputs * ROW_BYTES;
    return at;
}

/* The part of the volume that a block works on. */
typedef struct {
    int32_t first[3], last[3]; /* voxels of the view */
    uint32_t brick[3];         /* the first */
    int count;                 /* clusters listed */
} tile;

template <bool FLAT> static __device__ inline tile tile_of(const scene &s, uint32_t number)
{
    typedef shape<FLAT> S;
    const int side[3] = {S::vx, S::vy, S::vz}, bricks[3] = {S::tx, S::ty, S::tz};
    const uint32_t across = number / s.tiles[0];
    const uint32_t at[3] = {number % s.tiles[0], across % s.tiles[1], across / s.tiles[1]};
    tile t;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        t.first[a] = (int32_t)at[a] * side[a];
        t.last[a] = min(t.first[a] + side[a], s.side[a]) - 1;
        t.brick[a] = at[a] * (uint32_t)bricks[a];
    }
    t.count = 0;
    return t;
}

/* ---- the tile's clusters ---- */

/* Does the box of a cell's cluster meet the tile? In the first pass a box is the cell. */
static __device__ inline bool meets_tile(const scene &s, const tile &t, const int32_t *cell,
                                         int32_t k)
{
    bool meets = true;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        const int32_t *box = s.boxes + (int64_t)k * 6 + s.axis[a];
        const bool start = s.pass == PASS_START;
        const int32_t low = start ? lob_cell_first(cell[a], s.side[a], s.cells[a]) : box[0];
        const int32_t high =
            start ? lob_cell_first(cell[a] + 1, s.side[a], s.cells[a]) - 1 : box[3];
        meets = meets && low <= t.last[a] && high >= t.first[a];
    }
    return meets;
}

/* List clusters that may have voxels of the tile, lowest first; t->count may exceed the room. */
template <bool FLAT> static __device__ void list_clusters(const hall &h, const scene &s, tile *t)
{
    typedef shape<FLAT> S;
    __shared__ int found[S::warps];
    const int thread = (int)threadIdx.x, warp = thread / WARP;
    const int32_t beside = s.pass == PASS_START ? 0 : 1;
    int32_t from[3], n[3];
#pragma unroll
    for (int a = 0; a < 3; a++) { /* across slices and thin volumes nothing lies beside */
        const int32_t reach = FLAT && a == 2 ? 0 : beside;
        const int32_t low = lob_cell(t->first[a], s.side[a], s.cells[a]) - reach;
        const int32_t high = lob_cell(t->last[a], s.side[a], s.cells[a]) + reach;
        from[a] = max(low, 0);
        n[a] = min(high, s.cells[a] - 1) - from[a] + 1;
    }
    const bool u_first = s.cell_stride[0] <= s.cell_stride[1]; /* which runs on within numbers */
    const uint32_t total = (uint32_t)(n[0] * n[1] * n[2]); /* a tile's voxels and those beside it */
    for (uint32_t base = 0; base < total; base += S::threads) {
        const uint32_t i = base + (uint32_t)thread;
        int32_t k = 0;
        bool meets = false;
        if (i < total) {
            const uint32_t fast = (uint32_t)(u_first ? n[0] : n[1]);
            const uint32_t slow = (uint32_t)(u_first ? n[1] : n[0]);
            const int32_t x = (int32_t)(i % fast), y = (int32_t)(i / fast % slow);
            const int32_t cell[3] = {from[0] + (u_first ? x : y), from[1] + (u_first ? y : x),
                                     from[2] + (int32_t)(i / fast / slow)};
            k = (int32_t)(cell[0] * s.cell_stride[0] + cell[1] * s.cell_stride[1] +
                          cell[2] * s.cell_stride[2]);
            meets = meets_tile(s, *t, cell, k);
        }
        const unsigned those = __ballot_sync(ALL_LANES, meets);
        if (thread % WARP == 0) found[warp] = __popc(those);
        __syncthreads();
        int at = t->count + __popc(those & ((1u << thread % WARP) - 1));
        for (int i = 0; i < S::warps; i++) {
            if (i < warp) at += found[i];
            t->count += found[i];
        }
        if (meets && at < s.room) h.ids[at] = k;
        __syncthreads();
    }
}

/* A lane's coordinate of the table, in the first half of an entry or in the second. */
typedef struct {
    int32_t x, cell; /* along the view's axis, and its cell */
    int view, axis;  /* of the view, and of the volume */
    float place;     /* slic: times rule->position */
    lob_wave wave;   /* lsc */
} ruler;

static __device__ inline ruler ruler_at(const scene &s, int view, int32_t x)
{
    ruler r;
    r.view = view;
    r.axis = s.axis[view];
    r.x = min(x, s.side[view] - 1);
    r.cell = lob_cell(r.x, s.side[view], s.cells[view]);
    r.place = (float)r.x * s.rule.position[r.axis];
    r.wave.cosine = r.wave.sine = 0;
    if (s.rule.method == LOB_LSC) r.wave = s.axis_wave[r.axis][r.x];
    return r;
}

static __device__ inline bool holds(const scene &s, const ruler &r, int32_t k)
{
    if (s.pass == PASS_START)
        return (int32_t)(k / s.cell_stride[r.view] % s.cells[r.view]) == r.cell;
    const int32_t *box = s.boxes + (int64_t)k * 6 + r.axis;
    return r.x >= box[0] && r.x <= box[3];
}

/* Entries of the table, one a warp; every lane writes two coordinates and one of the rest. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ void fill_table(const hall &h, const scene &s, const tile &t)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const bool on_w = !FLAT && lane >= S::vy, start = s.pass == PASS_START;
    const ruler u = ruler_at(s, 0, t.first[0] + lane);
    const ruler vw =
        on_w ? ruler_at(s, 2, t.first[2] + lane - S::vy) : ruler_at(s, 1, t.first[1] + lane);
    const int floats = lob_cluster_floats(&s.rule);
    const float outside = __uint_as_float(0x7fffffffu);
    int which = lane; /* of the centre's floats, for the rest of an entry */
    if (L::lsc)
        which = lane < 2 ? 2 * s.axis[0] + lane : lane < 4 ? 2 * s.axis[2] + lane - 2 : lane + 2;
    else
        which = 3 + lane;
    for (int i = (int)threadIdx.x / WARP; i < t.count; i += S::warps) {
        const int32_t k = h.ids[i];
        const float *centre = s.centres + (int64_t)k * floats;
        float *entry = h.table + i * L::entry;
        float along = 0, across = 0, rest = 0;
        if (!start) {
            if (L::lsc) {
                along = (float)u.wave.cosine;
                if (!on_w)
                    across = lob_lsc_add(0.0f, (float)vw.wave.cosine, (float)vw.wave.sine,
                                         &centre[2 * vw.axis]);
            } else {
                along = u.place - centre[u.axis];
                across = vw.place - centre[vw.axis];
                if (!on_w) across = across * across;
            }
            if (lane < L::extra) rest = centre[which];
        }
        const bool in_u = holds(s, u, k), in_vw = holds(s, vw, k);
        entry[lane] = in_u ? along : outside;
        entry[WARP + lane] = in_vw ? across : outside;
        if (lane < L::extra) entry[TABLE + lane] = rest;
        const unsigned bits_u = __ballot_sync(ALL_LANES, in_u);
        const unsigned bits_vw = __ballot_sync(ALL_LANES, in_vw);
        if (lane == 0) h.in_u[i] = bits_u, h.in_vw[i] = bits_vw;
    }
}

/* ---- rows of bytes that all bricks share ---- */

static __device__ inline uint2 same_bytes(uint32_t byte)
{
    return make_uint2(byte * 0x01010101u, byte * 0x01010101u);
}

/* Four rows of the waves along one axis within a brick: cosines' low and high bytes, sines'. */
template <bool FLAT>
static __device__ inline void wave_rows(uint8_t *rows, const scene &s, const tile &t, int view,
                                        int brick, int lane, int row)
{
    typedef shape<FLAT> S;
    const int32_t from = view == 0   ? t.first[0] + brick * S::bx + S::x(lane)
                         : view == 1 ? t.first[1] + brick * S::by + S::y(lane)
                                     : t.first[2] + brick * S::bz + S::z(lane);
    uint32_t word[2] = {0, 0};
    for (int j = 0; j < RUN; j++) {
        const int32_t x = min(from + (view == 0 ? j : 0), s.side[view] - 1);
        const lob_wave wave = s.axis_wave[s.axis[view]][x];
        const uint32_t value = (uint32_t)((row < 2 ? wave.cosine : wave.sine) + WAVE_BIAS);
        word[j / 4] |= (row & 1 ? value >> 8 : value & 255) << j % 4 * 8;
    }
    *(uint2 *)(rows + row * ROW_BYTES + lane * RUN) = make_uint2(word[0], word[1]);
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ void fill_rows(const hall &h, const scene &s, const tile &t)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int thread = (int)threadIdx.x;
    for (int i = thread; i < 4 * WARP; i += S::threads) {
        const int row = i / WARP, lane = i % WARP;
        uint2 bytes = same_bytes(row == 0   ? 1
                                 : row == 1 ? (uint32_t)S::x(lane)
                                 : row == 2 ? (uint32_t)S::y(lane)
                                            : (uint32_t)S::z(lane));
        if (row == 1) bytes.x += 0x03020100u, bytes.y += 0x07060504u;
        *(uint2 *)(h.common + row * ROW_BYTES + lane * RUN) = bytes;
    }
    if (!L::lsc) return;
    if (thread < WARP)
        h.sine[thread] =
            (float)s.axis_wave[s.axis[0]][min(t.first[0] + thread, s.side[0] - 1)].sine;
    for (int i = thread; i < L::sets * 4 * WARP; i += S::threads) {
        const int lane = i % WARP, row = i / WARP % 4, set = i / WARP / 4;
        const int view = set < S::tx ? 0 : set < S::tx + S::ty ? 1 : 2;
        const int brick = set - (view > 0 ? S::tx : 0) - (view > 1 ? S::ty : 0);
        wave_rows<FLAT>(h.waves + set * 4 * ROW_BYTES, s, t, view, brick, lane, row);
    }
}

/* ---- a brick's clusters ---- */

typedef struct {
    int x, y, z; /* which of the tile's bricks */
    place at;    /* of this lane's run */
    uint32_t run, data;
} brick_share;

/* The tile's clusters that meet the brick; more than LISTED are counted but not listed. */
template <bool FLAT>
static __device__ int list_of_brick(const hall &h, int count, int entry_bytes, const brick_share &b)
{
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const unsigned first = (FLAT ? 0x0f0fu : 0x0fu) << b.x * S::bx, second = first << 4;
    const unsigned v = (FLAT ? 0xffffu : 0xffu) << b.y * S::by;
    const unsigned w = FLAT ? 0 : 0xfu << (S::vy + b.z * S::bz);
    int n = 0;
    for (int base = 0; base < count; base += WARP) {
        const int k = base + lane;
        unsigned flags = 0;
        if (k < count) {
            const unsigned in_u = h.in_u[k], in_vw = h.in_vw[k];
            if ((in_vw & v) && (FLAT || (in_vw & w)))
                flags = (in_u & first ? LIST_FIRST : 0) | (in_u & second ? LIST_SECOND : 0);
        }
        const unsigned those = __ballot_sync(ALL_LANES, flags != 0);
        const int at = n + __popc(those & ((1u << lane) - 1));
        if (flags && at < LISTED) h.list[at] = (uint32_t)(k * entry_bytes) | flags;
        n += __popc(those);
    }
    __syncwarp();
    return n;
}

/* ---- nearest clusters ---- */

static __device__ inline uint32_t level_in(const uint4 &packed, int j)
{
    const uint32_t word = j < 2 ? packed.x : j < 4 ? packed.y : j < 6 ? packed.z : packed.w;
    return j & 1 ? word >> 16 : word & 0xffff;
}

/* What lies so many bytes behind a place of the table's first entry. */
static __device__ inline const float *floats_at(const float *first, uint32_t bytes)
{
    return (const float *)((const char *)first + bytes);
}

static __device__ inline float float_at(const float *first, uint32_t bytes)
{
    return *floats_at(first, bytes);
}

/* The number in the tile of a listed cluster. */
template <typename L> static __device__ inline uint32_t number_of(uint32_t listed)
{
    return listed / (uint32_t)L::entry_bytes; /* flags are less than an entry */
}

/* Half a run against a cluster: voxels FROM..FROM+3. */
template <lob_supervoxel_method M, int C, int FROM>
static __device__ inline void slic_half(uint32_t *best, const float (*level)[RUN],
                                        const float *along, const float *mean, float row,
                                        uint32_t rank)
{
    const float4 four = *(const float4 *)(along + FROM);
    const float u[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float distance = fmaf(u[i], u[i], row);
        if (M == LOB_SLICO) {
            float contrast = 0;
#pragma unroll
            for (int c = 0; c < C; c++)
                contrast = lob_slic_add(contrast, level[c][FROM + i], mean[c]);
            distance = fmaf(contrast, mean[C], distance);
        } else {
#pragma unroll
            for (int c = 0; c < C; c++)
                distance = lob_slic_add(distance, level[c][FROM + i], mean[c]);
        }
        best[FROM + i] = min(best[FROM + i], (__float_as_uint(distance) & ~255u) | rank);
    }
}

/* Places in the list of each voxel's nearest cluster, NOWHERE where no box holds it. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void slic_nearest(uint32_t *where, const hall &h, const brick_share &b,
                                           const float (*level)[RUN], int n)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const float *const u = h.table + b.x * S::bx + S::x(lane);
    const float *const v = h.table + WARP + b.y * S::by + S::y(lane);
    const float *const w = h.table + WARP + S::vy + b.z * S::bz + S::z(lane);
#pragma unroll
    for (int j = 0; j < RUN; j++) where[j] = ~0u;
    for (int i = 0; i < n; i++) {
        const uint32_t listed = h.list[i], at = listed & ~15u;
        float mean[L::extra], row = float_at(v, at);
#pragma unroll
        for (int c = 0; c < L::extra; c++) mean[c] = float_at(h.table + TABLE + c, at);
        if (!FLAT) {
            const float dw = float_at(w, at);
            row = fmaf(dw, dw, row);
        }
        if (listed & LIST_FIRST)
            slic_half<M, C, 0>(where, level, floats_at(u, at), mean, row, (uint32_t)i);
        if (listed & LIST_SECOND)
            slic_half<M, C, 4>(where, level, floats_at(u, at), mean, row, (uint32_t)i);
    }
#pragma unroll
    for (int j = 0; j < RUN; j++)
        where[j] = where[j] < INFINITE_BITS ? where[j] & 255u : (uint32_t)NOWHERE;
}

/* What lsc knows of a lane's voxels. */
template <int C> struct waves_of_run {
    float cosine[C][RUN], sine[C][RUN], weight[RUN];
    float w_cosine, w_sine; /* of the lane's w */
    const float *along;     /* RUN sines of u, in shared memory */
};

template <int C, int FROM>
static __device__ inline void lsc_half(float *best, uint32_t *where, const waves_of_run<C> &r,
                                       const float *along, const float *factor, float row,
                                       uint32_t rank)
{
    const float4 four = *(const float4 *)(along + FROM), sines = *(const float4 *)(r.along + FROM);
    const float u[4] = {four.x, four.y, four.z, four.w};
    const float sine[4] = {sines.x, sines.y, sines.z, sines.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int j = FROM + i;
        float score = lob_lsc_add(row, u[i], sine[i], factor);
#pragma unroll
        for (int c = 0; c < C; c++)
            score = lob_lsc_add(score, r.cosine[c][j], r.sine[c][j], &factor[4 + 2 * c]);
        score = fmaf(r.weight[j], factor[4 + 2 * C], score);
        if (score < best[j]) best[j] = score, where[j] = rank;
    }
}

template <int C, bool FLAT>
static __device__ inline void lsc_nearest(uint32_t *where, const hall &h, const brick_share &b,
                                          const waves_of_run<C> &r, int n)
{
    typedef layout<LOB_LSC, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const float *const u = h.table + b.x * S::bx + S::x(lane);
    const float *const v = h.table + WARP + b.y * S::by + S::y(lane);
    const float *const w = h.table + WARP + S::vy + b.z * S::bz + S::z(lane);
    float best[RUN];
#pragma unroll
    for (int j = 0; j < RUN; j++) best[j] = INFINITY, where[j] = NOWHERE;
    for (int i = 0; i < n; i++) {
        const uint32_t listed = h.list[i], at = listed & ~15u;
        float factor[L::extra], row = float_at(v, at);
#pragma unroll
        for (int c = 0; c < L::extra; c++) factor[c] = float_at(h.table + TABLE + c, at);
        if (!FLAT) row = lob_lsc_add(row, r.w_cosine, r.w_sine, &factor[2]) + float_at(w, at);
        if (listed & LIST_FIRST)
            lsc_half<C, 0>(best, where, r, floats_at(u, at), factor, row, (uint32_t)i);
        if (listed & LIST_SECOND)
            lsc_half<C, 4>(best, where, r, floats_at(u, at), factor, row, (uint32_t)i);
    }
}

/* ---- sums ---- */

/* d += a * b, of unsigned bytes: a has 16 rows by 32, b 32 by 8 columns. */
static __device__ inline void multiply_bytes(int *d, uint2 low, uint2 high, uint2 b)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(low.x), "r"(high.x), "r"(low.y), "r"(high.y), "r"(b.x), "r"(b.y));
}

/* Byte q of four words, as a word, for q = 0..3. */
static __device__ inline void turn_bytes(uint32_t *out, const uint32_t *word)
{
    const uint32_t a = __byte_perm(word[0], word[1], 0x5140);
    const uint32_t b = __byte_perm(word[2], word[3], 0x5140);
    const uint32_t c = __byte_perm(word[0], word[1], 0x7362);
    const uint32_t d = __byte_perm(word[2], word[3], 0x7362);
    out[0] = __byte_perm(a, b, 0x5410);
    out[1] = __byte_perm(a, b, 0x7632);
    out[2] = __byte_perm(c, d, 0x5410);
    out[3] = __byte_perm(c, d, 0x7632);
}

/* Write the one-hot bytes of places base..base+31; returns which of these places occur. */
static __device__ inline unsigned write_hot(uint2 *hot, const uint32_t *where, int base)
{
    const int lane = (int)threadIdx.x % WARP;
    uint32_t word[RUN], low[HOT_GROUPS], high[HOT_GROUPS], any = 0;
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        const uint32_t at = where[j] - (uint32_t)base; /* NOWHERE and others lie above 31 */
        word[j] = at < WARP ? 1u << at : 0;
        any |= word[j];
    }
    any = __reduce_or_sync(ALL_LANES, any);
    turn_bytes(low, word);
    turn_bytes(high, word + 4);
#pragma unroll
    for (int q = 0; q < HOT_GROUPS; q++)
        if (any >> 8 * q & 255) hot[q * WARP + lane] = make_uint2(low[q], high[q]);
    return any;
}

/* Where a lane's rows of the left matrices begin. */
typedef struct {
    const uint8_t *near_low, *near_high; /* rows lane / 4 and 8 more; high may be NULL */
    const uint8_t *far_low, *far_high;
} left_rows;

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline left_rows rows_of_lane(const hall &h, const brick_share &b)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, at = lane % 4 * RUN;
    left_rows r;
    r.near_low =
        (g < 4 ? h.common + g * ROW_BYTES : h.mine + min(g - 4, L::inputs - 1) * ROW_BYTES) + at;
    r.near_high = h.mine + min(g + 4, L::inputs - 1) * ROW_BYTES + at;
    r.far_low = h.waves + ((g < 4 ? b.x : S::tx + b.y) * 4 + g % 4) * ROW_BYTES + at;
    r.far_high = h.waves + ((S::tx + S::ty + b.z) * 4 + g % 4) * ROW_BYTES + at;
    return r;
}

/* Multiply a group's one-hot bytes, places base + 8 * q on, and add what comes of it. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void add_group(const hall &h, const brick_share &b, const left_rows &r,
                                        int base, int q, int n)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    const uint32_t column = 0x01010101u << g;
    const uint2 *hot = h.hot + q * WARP + t, none = make_uint2(0, 0);
    int near[4] = {0, 0, 0, 0}, far[4] = {0, 0, 0, 0};
#pragma unroll
    for (int chunk = 0; chunk < BRICK_VOXELS / 32; chunk++) {
        const uint2 all = hot[chunk * 4], right = make_uint2(all.x & column, all.y & column);
        const uint2 low = *(const uint2 *)(r.near_low + chunk * 32);
        const uint2 high = L::near > 8 ? *(const uint2 *)(r.near_high + chunk * 32) : none;
        multiply_bytes(near, low, high, right);
        if (!L::lsc) continue;
        const uint2 far_low = *(const uint2 *)(r.far_low + chunk * 32);
        const uint2 far_high = FLAT ? none : *(const uint2 *)(r.far_high + chunk * 32);
        multiply_bytes(far, far_low, far_high, right);
    }
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int shift = 2 * t + e, place = base + 8 * q + shift;
        uint32_t value = (uint32_t)near[e] >> shift;
        const uint32_t voxels = __shfl_sync(ALL_LANES, value, t); /* row 0 */
        if (place >= n || voxels == 0) continue;
        if (g == 1) value += voxels * (uint32_t)(b.x * S::bx);
        if (g == 2) value += voxels * (uint32_t)(b.y * S::by);
        if (g == 3) value += voxels * (uint32_t)(b.z * S::bz);
        uint32_t *sums = h.sums + number_of<L>(h.list[place]) * L::rows + g;
        if (g < L::near) atomicAdd(sums, value);
        if (g + 8 < L::near) atomicAdd(sums + 8, (uint32_t)near[e + 2] >> shift);
        if (!L::lsc) continue;
        atomicAdd(sums + L::near, (uint32_t)far[e] >> shift);
        if (!FLAT && g < 4) atomicAdd(sums + L::near + 8, (uint32_t)far[e + 2] >> shift);
    }
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void add_brick(const hall &h, const brick_share &b, const uint32_t *where,
                                        int n)
{
    const left_rows rows = rows_of_lane<M, C, FLAT>(h, b);
    for (int base = 0; base < n; base += WARP) {
        const unsigned any = write_hot(h.hot, where, base);
        __syncwarp();
        for (int q = 0; q < HOT_GROUPS; q++)
            if (any >> 8 * q & 255) add_group<M, C, FLAT>(h, b, rows, base, q, n);
        __syncwarp();
    }
}

/* Rows of a channel's levels: low bytes, high bytes. */
static __device__ inline void write_level_rows(uint8_t *rows, const uint4 &packed)
{
    const int lane = (int)threadIdx.x % WARP;
    *(uint2 *)(rows + lane * RUN) = make_uint2(__byte_perm(packed.x, packed.y, 0x6420),
                                               __byte_perm(packed.z, packed.w, 0x6420));
    *(uint2 *)(rows + ROW_BYTES + lane * RUN) = make_uint2(__byte_perm(packed.x, packed.y, 0x7531),
                                                           __byte_perm(packed.z, packed.w, 0x7531));
}

/* ---- a brick ---- */

/* Levels, times the weight of a level. */
template <int C>
static __device__ inline void read_levels(float (*level)[RUN], const scene &s, const uint4 *packed)
{
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
        for (int j = 0; j < RUN; j++) level[c][j] = (float)level_in(packed[c], j) * s.rule.level;
}

/* Waves and weights of a run, and the rows of the waves' bytes. */
template <int C, bool FLAT>
static __device__ inline void read_waves(waves_of_run<C> *r, const hall &h, const scene &s,
                                         const brick_share &b, const uint4 *packed)
{
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    const float *const f = s.weights;
    const lob_wave v = s.axis_wave[s.axis[1]][min(b.at.v, s.side[1] - 1)];
    const lob_wave w = s.axis_wave[s.axis[2]][min(b.at.w, s.side[2] - 1)];
    float row = lob_lsc_add(0.0f, (float)v.cosine, (float)v.sine, &f[2 * s.axis[1]]);
    r->w_cosine = (float)w.cosine;
    r->w_sine = (float)w.sine;
    row = lob_lsc_add(row, r->w_cosine, r->w_sine, &f[2 * s.axis[2]]);
    r->along = h.sine + b.x * S::bx + S::x(lane);
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        const int32_t u = min(b.at.u + j, s.side[0] - 1);
        r->weight[j] = lob_lsc_add(row, (float)s.axis_wave[s.axis[0]][u].cosine, r->along[j],
                                   &f[2 * s.axis[0]]);
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t bytes[4][2] = {};
#pragma unroll
        for (int j = 0; j < RUN; j++) {
            const lob_wave wave = level_wave_of(s, c, level_in(packed[c], j));
            const uint32_t cosine = (uint32_t)wave.cosine, sine = (uint32_t)wave.sine;
            r->cosine[c][j] = (float)wave.cosine;
            r->sine[c][j] = (float)wave.sine;
            r->weight[j] = lob_lsc_add(r->weight[j], r->cosine[c][j], r->sine[c][j], &f[6 + 2 * c]);
            bytes[0][j / 4] |= (cosine & 255) << j % 4 * 8;
            bytes[1][j / 4] |= (cosine >> 8) << j % 4 * 8;
            bytes[2][j / 4] |= (sine & 255) << j % 4 * 8;
            bytes[3][j / 4] |= (sine >> 8) << j % 4 * 8;
        }
#pragma unroll
        for (int row_of = 0; row_of < 4; row_of++)
            *(uint2 *)(h.mine + (4 * c + row_of) * ROW_BYTES + lane * RUN) =
                make_uint2(bytes[row_of][0], bytes[row_of][1]);
    }
#pragma unroll
    for (int j = 0; j < RUN; j++) r->weight[j] = fmaxf(r->weight[j], s.rule.least_weight);
}

/* slico: the largest contrasts that the brick's voxels have to their clusters. */
template <int C, bool FLAT>
static __device__ inline void widen_contrasts(const hall &h, const float (*level)[RUN],
                                              const uint32_t *where)
{
    typedef layout<LOB_SLICO, C, FLAT> L;
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        if (where[j] == NOWHERE) continue;
        const uint32_t k = number_of<L>(h.list[where[j]]);
        float contrast = 0;
#pragma unroll
        for (int c = 0; c < C; c++)
            contrast = lob_slic_add(contrast, level[c][j], h.table[k * L::entry + TABLE + c]);
        const uint32_t bits = __float_as_uint(contrast);
        /* most are not the largest: a stale value read here only costs an atomic too many */
        if (bits > *(volatile uint32_t *)&h.largest[k]) atomicMax(&h.largest[k], bits);
    }
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ void find_nearest(uint32_t *where, const hall &h, const scene &s,
                                    const brick_share &b, int n)
{
    uint4 packed[C];
#pragma unroll
    for (int c = 0; c < C; c++) packed[c] = ((const uint4 *)s.planes)[(int64_t)c * s.runs + b.run];
    if constexpr (M == LOB_LSC) {
        waves_of_run<C> r;
        read_waves<C, FLAT>(&r, h, s, b, packed);
        lsc_nearest<C, FLAT>(where, h, b, r, n);
    } else {
        float level[C][RUN];
        read_levels<C>(level, s, packed);
        slic_nearest<M, C, FLAT>(where, h, b, level, n);
        if (s.pass != PASS_LABEL)
#pragma unroll
            for (int c = 0; c < C; c++) write_level_rows(h.mine + 2 * c * ROW_BYTES, packed[c]);
    }
    /* what is no data must not count, here and below */
#pragma unroll
    for (int j = 0; j < RUN; j++)
        if (!(b.data >> j & 1)) where[j] = NOWHERE;
    if constexpr (M == LOB_SLICO) {
        if (s.pass != PASS_ADD) return;
        float level[C][RUN];
        read_levels<C>(level, s, packed);
        widen_contrasts<C, FLAT>(h, level, where);
    }
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline void label_brick(const hall &h, const scene &s, const brick_share &b,
                                          const uint32_t *where)
{
    typedef layout<M, C, FLAT> L;
    int32_t label[RUN];
#pragma unroll
    for (int j = 0; j < RUN; j++)
        label[j] = where[j] == NOWHERE ? 0 : h.ids[number_of<L>(h.list[where[j]])] + 1;
    write_run(s, b.at, label);
}

/* Where one of the tile's bricks lies; false: beyond the volume. */
template <bool FLAT>
static __device__ inline bool find_brick(brick_share *b, const scene &s, const tile &t, int number)
{
    typedef shape<FLAT> S;
    const int lane = (int)threadIdx.x % WARP;
    b->x = number % S::tx;
    b->y = number / S::tx % S::ty;
    b->z = number / S::tx / S::ty;
    const uint32_t x = t.brick[0] + (uint32_t)b->x, y = t.brick[1] + (uint32_t)b->y,
                   z = t.brick[2] + (uint32_t)b->z;
    if (x >= s.bricks[0] || y >= s.bricks[1] || z >= s.bricks[2]) return false;
    b->run = ((z * s.bricks[1] + y) * s.bricks[0] + x) * WARP + (uint32_t)lane;
    b->at.u = (int32_t)x * S::bx + S::x(lane);
    b->at.v = (int32_t)y * S::by + S::y(lane);
    b->at.w = (int32_t)z * S::bz + S::z(lane);
    return true;
}

typedef enum { BRICK_DONE, BRICK_STRAYS, BRICK_CROWDED } brick_state;

/*
 * A brick by the list. What is left for later, so that the code here has no calls: voxels that no
 * box holds, whose own cells' clusters the tile need not have listed; and a brick of more clusters
 * than its list takes, of which nothing is done here.
 */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline brick_state do_brick(const hall &h, const scene &s, brick_share &b,
                                              int count)
{
    b.data = s.data[b.run];
    const bool label = s.pass == PASS_LABEL;
    uint32_t where[RUN];
#pragma unroll
    for (int j = 0; j < RUN; j++) where[j] = NOWHERE;
    if (!__any_sync(ALL_LANES, b.data != 0)) {
        if (label) label_brick<M, C, FLAT>(h, s, b, where);
        return BRICK_DONE;
    }
    const int n = list_of_brick<FLAT>(h, count, layout<M, C, FLAT>::entry_bytes, b);
    if (n > LISTED) return BRICK_CROWDED;
    find_nearest<M, C, FLAT>(where, h, s, b, n);
    if (label)
        label_brick<M, C, FLAT>(h, s, b, where);
    else
        add_brick<M, C, FLAT>(h, b, where, n);
    unsigned held = 0;
#pragma unroll
    for (int j = 0; j < RUN; j++) held |= where[j] == NOWHERE ? 0 : 1u << j;
    const bool strays = __any_sync(ALL_LANES, (b.data & ~held) != 0);
    __syncwarp(); /* the next brick writes the list and the rows again */
    return strays ? BRICK_STRAYS : BRICK_DONE;
}

/* ---- the tile's sums ---- */

/* Sum number f of a cluster from the tile's rows. */
template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ inline int64_t sum_of_rows(const uint32_t *row, const scene &s, const tile &t,
                                             int f)
{
    typedef layout<M, C, FLAT> L;
    const int64_t n = row[0];
    const bool of_axis = f < 4 || (L::lsc && f < 10);
    if (f == 0) return n;
    if (!of_axis) {
        const int at = 4 + 2 * (L::lsc ? f - 10 : f - 4);
        return row[at] + 256 * (int64_t)row[at + 1];
    }
    const int axis = f < 4 ? f - 1 : (f - 4) / 2;
    const int view = s.axis[0] == axis ? 0 : s.axis[1] == axis ? 1 : 2;
    if (f < 4) return row[1 + view] + n * t.first[view];
    if (FLAT && view == 2) return 0;
    const int at = L::near + 4 * view + 2 * (f % 2);
    return row[at] + 256 * (int64_t)row[at + 1] - WAVE_BIAS * n;
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __device__ void send_sums(const hall &h, const scene &s, const tile &t)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    constexpr int sums = 4 + (L::lsc ? 6 + 2 * C : C);
    for (int i = (int)threadIdx.x; i < t.count * sums; i += S::threads) {
        const int k = i / sums, f = i % sums;
        const uint32_t *row = h.sums + k * L::rows;
        if (row[0] == 0) continue;
        const int64_t value = sum_of_rows<M, C, FLAT>(row, s, t, f);
        add_signed(&s.sums[(int64_t)h.ids[k] * sums + f], value);
    }
    if constexpr (M == LOB_SLICO)
        for (int k = (int)threadIdx.x; k < t.count; k += S::threads)
            if (h.largest[k]) atomicMax(&s.largest[h.ids[k]], h.largest[k]);
}

template <lob_supervoxel_method M, int C, bool FLAT>
static __global__ void __launch_bounds__(shape<FLAT>::threads, (layout<M, C, FLAT>::blocks))
    tile_kernel(const __grid_constant__ scene s)
{
    typedef layout<M, C, FLAT> L;
    typedef shape<FLAT> S;
    extern __shared__ float4 shared[];
    if (s.pass == PASS_ADD && is_still(s)) return;
    const int warp = (int)threadIdx.x / WARP;
    hall h;
    lay_hall<M, C, FLAT>(&h, (unsigned char *)shared, s.room, warp);
    tile t = tile_of<FLAT>(s, blockIdx.x);
    list_clusters<FLAT>(h, s, &t);
    if (t.count <= s.room) {
        fill_table<M, C, FLAT>(h, s, t);
        fill_rows<M, C, FLAT>(h, s, t);
        for (int i = (int)threadIdx.x; i < t.count * L::rows; i += S::threads) h.sums[i] = 0;
        if constexpr (M == LOB_SLICO)
            for (int i = (int)threadIdx.x; i < t.count; i += S::threads) h.largest[i] = 0;
    }
    __syncthreads();
    const bool crowded = t.count > s.room;
    uint32_t strays = 0, whole = 0; /* bricks that need another look */
    for (int number = warp; number < S::bricks; number += S::warps) {
        brick_share b;
        if (!find_brick<FLAT>(&b, s, t, number)) continue;
        brick_state state = BRICK_CROWDED;
        if (!crowded) state = do_brick<M, C, FLAT>(h, s, b, t.count);
        if (state == BRICK_STRAYS) strays |= 1u << number;
        if (state == BRICK_CROWDED) whole |= 1u << number;
    }
    for (uint32_t left = strays | whole; left; left &= left - 1) {
        const int number = __ffs((int)left) - 1;
        brick_share b;
        find_brick<FLAT>(&b, s, t, number);
        plain_run(s, b.run, b.at, whole >> number & 1 ? EVERY_VOXEL : STRAYS);
    }
    if (s.pass == PASS_LABEL || crowded) return;
    __syncthreads();
    send_sums<M, C, FLAT>(h, s, t);
}

#endif
