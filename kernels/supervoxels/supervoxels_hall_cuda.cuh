/* What a tile knows before it looks at voxels: shared memory, its clusters, their table, rows. */
#ifndef LOB_SUPERVOXELS_HALL_CUDA_CUH
#define LOB_SUPERVOXELS_HALL_CUDA_CUH

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

#endif
