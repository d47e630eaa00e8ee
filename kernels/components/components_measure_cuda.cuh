/*
 * Regions from runs: what the runs of a tile add up to, piece by piece, in shared memory.
 *
 * A component's root writes its row, all of it, so that nothing has to be cleared before; where
 * components are many, most have no other piece. What the other pieces measure is listed, and
 * added to the rows when all of them are there.
 *
 * A piece's own run, its first one, stores what it measures; the others add to that. Runs of the
 * piece that a warp meets most are added up in registers first. Sums in a tile are of places in the
 * tile and fit 32 bits.
 */
#ifndef LOB_COMPONENTS_MEASURE_CUDA_CUH
#define LOB_COMPONENTS_MEASURE_CUDA_CUH

#include "kernels/components/components_runs_cuda.cuh"
#include "kernels/regions/regions_values_cuda.cuh"

enum {
    TILE_WARPS = TILE_THREADS / WORD,
    STAGED_ROWS = 16, /* of the table, that a warp writes together */
    VOXELS_BITS = 17, /* a piece has up to 64 * 256 * 4 voxels in a tile */
    LISTED_X_BITS = 6 /* a tile is 64 voxels wide; there are fewer than 2^20 tiles */
};

/* What a piece that is no root adds to a row. */
typedef struct {
    uint32_t label; /* 0: nothing */
    uint32_t tile;  /* tile << 12 | lowest x << 6 | highest x */
    uint32_t voxels;
    uint32_t sum[3];
    uint32_t span[2]; /* of y and z */
} listed_piece;

typedef struct {
    runs r;
    const uint32_t *label; /* of components; NULL: their numbers */
    lob_region *regions;   /* extremes of values are keys */
    listed_piece *list;    /* pieces that are no roots, in their order */
    value_sums *list_values;
    int64_t listed;
    region_image values;
} measuring;

/* ---- sums ---- */

/* Both ends of a stretch below 2^16, so that wider means larger in both halves; 0 is none. */
static __device__ inline uint32_t span_of(int low, int high)
{
    return (uint32_t)(0xffff - low) << 16 | (uint32_t)high;
}

static __device__ inline uint32_t span_low(uint32_t span)
{
    return 0xffff - (span >> 16);
}

static __device__ inline uint32_t span_high(uint32_t span)
{
    return span & 0xffff;
}

/* Of places in the tile. */
typedef struct {
    uint32_t voxels, sum[3], span[3];
} place_sums;

static __device__ inline void join_places(place_sums *to, const place_sums &s)
{
    to->voxels += s.voxels;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        to->sum[a] += s.sum[a];
        to->span[a] = __vmaxu2(to->span[a], s.span[a]);
    }
}

/* Of all lanes of a warp, which call this together. */
static __device__ inline place_sums warp_places(const place_sums &s)
{
    place_sums all;
    all.voxels = __reduce_add_sync(~0u, s.voxels);
#pragma unroll
    for (int a = 0; a < 3; a++) {
        all.sum[a] = __reduce_add_sync(~0u, s.sum[a]);
        all.span[a] = __reduce_max_sync(~0u, s.span[a] >> 16) << 16 |
                      __reduce_max_sync(~0u, s.span[a] & 0xffff);
    }
    return all;
}

/* What a block knows of its tile's pieces, an array for each field. */
template <bool VALUES> struct tile_table {
    /* Pieces at once: three blocks share 227 KiB, and with values no GPU gives less than 99. */
    static constexpr int most = VALUES ? 784 : 1760;
    /* Of a row, the first ones; the others are 0. */
    static constexpr int fields =
        (int)((VALUES ? sizeof(lob_region) : offsetof(lob_region, data)) / sizeof(wide));

    value_sums values[VALUES ? most : 1];
    wide staged[TILE_WARPS][STAGED_ROWS][fields];
    int64_t staged_at[TILE_WARPS][STAGED_ROWS]; /* bytes of the table before the row */
    uint32_t voxels[most];                      /* from VOXELS_BITS on: its own run's line and x */
    uint32_t sum[3][most], span[3][most];
    uint32_t before[TILE_LINES + 1]; /* pieces in the lines before */
    uint32_t id[TILE_LINES];         /* of the tile's first piece, if all were numbered as here */
    uint32_t of_warp[TILE_WARPS];
};

static_assert(3 * (sizeof(tile_table<false>) + 1024) <= 228 * 1024, "three blocks");
static_assert(sizeof(tile_table<true>) <= 99 * 1024, "one block anywhere");

/* Asking before writing: most runs of a large piece widen nothing. */
static __device__ inline void widen(uint32_t *span, uint32_t by)
{
    uint32_t there = *(volatile uint32_t *)span;
    for (;;) {
        const uint32_t both = __vmaxu2(there, by);
        if (both == there) return;
        const uint32_t seen = atomicCAS(span, there, both);
        if (seen == there) return;
        there = seen;
    }
}

template <bool VALUES>
static __device__ inline void add_places(tile_table<VALUES> &t, uint32_t piece, const place_sums &s)
{
    atomicAdd(&t.voxels[piece], s.voxels);
#pragma unroll
    for (int a = 0; a < 3; a++) {
        atomicAdd(&t.sum[a][piece], s.sum[a]);
        widen(&t.span[a][piece], s.span[a]);
    }
}

/* ---- a word's runs ---- */

template <typename K> struct measured_word {
    uint32_t row[K::by * K::bz];  /* of voxels */
    uint32_t filled, starts, own; /* own: starts of runs that stand for themselves */
    uint32_t yz;                  /* of its first voxel in the tile, in halves */
    uint32_t run;                 /* index into code, of its first run; there are below 2^32 */
    int64_t voxel;                /* index in the volume of its first voxel */

    static __device__ int line()
    {
        return (int)(threadIdx.x / TILE_WORDS);
    }

    static __device__ int x()
    {
        return (int)(threadIdx.x % TILE_WORDS * WORD);
    }

    __device__ uint32_t code_of(const runs &r, uint32_t start) const
    {
        return r.code[run + (uint32_t)__popc(starts & (start - 1))];
    }
};

template <typename K>
static __device__ inline measured_word<K> measured_word_at(const runs &r, const place &p)
{
    measured_word<K> w;
    const int column = p.tile_x * TILE_WORDS + (int)(threadIdx.x % TILE_WORDS);
    const int y = line_y(r, p, w.line()), z = line_z(r, p, w.line());
    const int local_y = w.line() & ((1 << r.tile_y_bits) - 1), local_z = w.line() >> r.tile_y_bits;
    w.yz = (uint32_t)(local_y * K::by | local_z * K::bz << 16);
    w.voxel = ((int64_t)z * K::bz * r.ny + y * K::by) * r.nx + column * WORD;
    w.filled = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++) {
        w.row[i] = row_word(r, r.filled, y * K::by + i % K::by, z * K::bz + i / K::by, column);
        w.filled |= w.row[i];
    }
    w.starts = starts_word<K>(r, y, z, column);
    const uint32_t first = (uint32_t)p.tile * TILE_THREADS;
    w.run = first * (uint32_t)r.slots + r.offset[first + threadIdx.x];
    w.own = 0;
    const uint16_t *code = r.code + w.run;
    for (uint32_t left = w.starts; left; left &= left - 1)
        if (*code++ & CODE_OWN) w.own |= left & -left;
    return w;
}

/* The sum of the places of a word's bits. */
static __device__ inline uint32_t sum_of_bits(uint32_t bits)
{
    return (uint32_t)(__popc(bits & 0xaaaaaaaau) + 2 * __popc(bits & 0xccccccccu) +
                      4 * __popc(bits & 0xf0f0f0f0u) + 8 * __popc(bits & 0xff00ff00u) +
                      16 * __popc(bits & 0xffff0000u));
}

template <typename K>
static __device__ inline place_sums places_of_run(const measured_word<K> &w, uint32_t columns)
{
    place_sums s = {};
    const int first = w.x() + __ffs((int)columns) - 1, last = w.x() + 31 - __clz((int)columns);
    const int own_y = (int)(w.yz & 0xffff), own_z = (int)(w.yz >> 16);
    s.span[0] = span_of(first, last);
    if constexpr (K::by * K::bz == 1) { /* without a gap */
        s.voxels = (uint32_t)__popc(columns);
        s.sum[0] = s.voxels * (uint32_t)(first + last) / 2;
        s.sum[1] = s.voxels * (uint32_t)own_y;
        s.sum[2] = s.voxels * (uint32_t)own_z;
        s.span[1] = span_of(own_y, own_y);
        s.span[2] = span_of(own_z, own_z);
    } else {
#pragma unroll
        for (int i = 0; i < K::by * K::bz; i++) {
            const int y = own_y + i % K::by, z = own_z + i / K::by;
            const uint32_t bits = w.row[i] & columns, n = (uint32_t)__popc(bits);
            s.voxels += n;
            s.sum[0] += n * (uint32_t)w.x() + sum_of_bits(bits);
            s.sum[1] += n * (uint32_t)y;
            s.sum[2] += n * (uint32_t)z;
            s.span[1] = __vmaxu2(s.span[1], bits ? span_of(y, y) : 0);
            s.span[2] = __vmaxu2(s.span[2], bits ? span_of(z, z) : 0);
        }
    }
    return s;
}

template <typename K>
static __device__ inline value_sums values_of_run(const measuring &m, const measured_word<K> &w,
                                                  uint32_t columns)
{
    value_sums v;
    clear_values(&v);
    for (int i = 0; i < K::by * K::bz; i++) {
        const int64_t row = w.voxel + ((int64_t)(i / K::by) * m.r.ny + i % K::by) * m.r.nx;
        uint32_t left = 0;
#pragma unroll
        for (int n = 0; n < K::by * K::bz; n++) left = n == i ? w.row[n] & columns : left;
        for (; left; left &= left - 1) add_value(&v, m.values, row + __ffs((int)left) - 1);
    }
    return v;
}

/* ---- a tile ---- */

/* How many pieces a tile has, and where those of its lines begin. Ends with a barrier. */
template <bool VALUES>
static __device__ inline uint32_t count_pieces(const runs &r, const place &p, tile_table<VALUES> &t)
{
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    const bool first = thread % TILE_WORDS == 0;
    uint32_t base = 0, mine = 0, all = 0;
    if (first && line_y(r, p, line) < r.ly && line_z(r, p, line) < r.lz) {
        const uint32_t *at = r.line_base + line_index(r, p, line);
        base = at[0];
        mine = at[1] - base;
    }
    const uint32_t before = sum_before(mine, t.of_warp, &all);
    if (first) {
        t.before[line] = before;
        t.id[line] = base - before;
    }
    if (thread == 0) t.before[TILE_LINES] = all;
    __syncthreads();
    return all;
}

/*
 * The next round, for pieces that the table had no room for: they are counted from the round's
 * first one, so that those of other rounds are most or more. Ends with a barrier.
 */
template <bool VALUES> static __device__ inline void go_on(tile_table<VALUES> &t)
{
    __syncthreads();
    if (threadIdx.x <= TILE_LINES) t.before[threadIdx.x] -= (uint32_t)t.most;
    if (threadIdx.x < TILE_LINES) t.id[threadIdx.x] += (uint32_t)t.most;
    __syncthreads();
}

template <bool VALUES>
static __device__ inline uint32_t piece_of(const tile_table<VALUES> &t, uint32_t code)
{
    return t.before[code_line(code)] + code_rank(code);
}

/* Each piece's own run. */
template <typename K, bool VALUES>
static __device__ inline void store_own(const measuring &m, const measured_word<K> &w,
                                        tile_table<VALUES> &t)
{
    const int first = (int)t.before[w.line()], end = (int)t.before[w.line() + 1];
    if (first >= t.most || end <= 0) return;
    for (uint32_t left = w.own; left; left &= left - 1) {
        const uint32_t start = left & -left, columns = run_of(w.filled, w.starts & -start);
        const uint32_t piece = piece_of(t, w.code_of(m.r, start));
        if (piece >= t.most) continue;
        const place_sums s = places_of_run(w, columns);
        const uint32_t place = threadIdx.x * WORD + (uint32_t)__ffs((int)start) - 1;
        t.voxels[piece] = s.voxels | place << VOXELS_BITS;
#pragma unroll
        for (int a = 0; a < 3; a++) {
            t.sum[a][piece] = s.sum[a];
            t.span[a][piece] = s.span[a];
        }
        if (VALUES) t.values[piece] = values_of_run(m, w, columns);
    }
}

/* All lanes together: the other runs. */
template <typename K, bool VALUES>
static __device__ inline void add_others(const measuring &m, const measured_word<K> &w,
                                         tile_table<VALUES> &t)
{
    const uint32_t none = ~0u, others = w.starts & ~w.own;
    const uint32_t lane = threadIdx.x % WORD;
    const uint32_t sample = others ? piece_of(t, w.code_of(m.r, others & -others)) : none;
    const uint32_t alike = __match_any_sync(~0u, sample);
    const uint32_t best =
        __reduce_max_sync(~0u, others ? (uint32_t)__popc(alike) * WORD + lane : 0);
    const uint32_t frequent = __shfl_sync(~0u, sample, (int)(best % WORD));
    if (best == 0) return;
    place_sums places = {};
    value_sums values;
    clear_values(&values);
    for (uint32_t left = others; left; left &= left - 1) {
        const uint32_t start = left & -left, columns = run_of(w.filled, w.starts & -start);
        const uint32_t piece = piece_of(t, w.code_of(m.r, start));
        if (piece >= t.most) continue;
        const place_sums s = places_of_run(w, columns);
        value_sums v;
        if (VALUES) v = values_of_run(m, w, columns);
        if (piece == frequent) {
            join_places(&places, s);
            if (VALUES) join_values(&values, v);
        } else {
            add_places(t, piece, s);
            if (VALUES) merge_values(&t.values[piece], v);
        }
    }
    __syncwarp();
    if (frequent >= t.most) return;
    places = warp_places(places);
    if (VALUES) values = warp_values(values);
    if (lane != 0) return;
    add_places(t, frequent, places);
    if (VALUES) merge_values(&t.values[frequent], values);
}

/* A thread's word is read again in every round: registers are dear in between, rounds few. */
template <typename K, bool VALUES>
static __device__ inline void add_word(const measuring &m, const place &p, tile_table<VALUES> &t)
{
    const measured_word<K> w = measured_word_at<K>(m.r, p);
    store_own(m, w, t);
    __syncthreads();
    add_others(m, w, t);
}

/* ---- from a tile to the table and the list ---- */

/* A tile's first voxel. */
typedef struct {
    int x, y, z;
} corner;

template <typename K> static __device__ inline corner corner_of(const runs &r, const place &p)
{
    corner o;
    o.x = p.tile_x * TILE_WORDS * WORD;
    o.y = (p.tile_y << r.tile_y_bits) * K::by;
    o.z = (p.tile_z << r.tile_z_bits) * K::bz;
    return o;
}

/* The first voxel of a component, whose root has its own run there, and its z. */
template <typename K>
static __device__ inline int64_t first_voxel(const runs &r, const corner &o, int line, int x,
                                             uint32_t id, int *z)
{
    if (K::by * K::bz == 1) {
        const int y = o.y + (line & ((1 << r.tile_y_bits) - 1));
        *z = o.z + (line >> r.tile_y_bits);
        return ((int64_t)*z * r.ny + y) * r.nx + o.x + x;
    }
    const wide bit = r.first[id], word = bit / WORD;
    const wide row = word / (wide)r.words;
    *z = (int)(row / (wide)r.ny);
    return (int64_t)(row * (wide)r.nx + (word - row * (wide)r.words) * WORD + bit % WORD);
}

/* Fields are as in lob_region. */
template <bool VALUES>
static __device__ inline void stage_row(wide *field, const place_sums &s, const value_sums &v,
                                        const corner &o, int64_t first, int z)
{
    const wide n = s.voxels;
    field[0] = n;
    field[1] = (wide)first;
    field[2] = (wide)o.x + span_low(s.span[0]);
    field[3] = (wide)o.y + span_low(s.span[1]);
    field[4] = (wide)z;
    field[5] = (wide)o.x + span_high(s.span[0]);
    field[6] = (wide)o.y + span_high(s.span[1]);
    field[7] = (wide)o.z + span_high(s.span[2]);
    field[8] = n * (wide)o.x + s.sum[0];
    field[9] = n * (wide)o.y + s.sum[1];
    field[10] = n * (wide)o.z + s.sum[2];
    if (!VALUES) return;
    field[11] = v.data;
    field[12] = v.lowest;
    field[13] = v.highest;
    field[14] = v.fine;
    field[15] = v.square[0];
    field[16] = v.square[1];
}

/* All lanes together: rows that a warp has staged, row by row, a field a lane. */
template <bool VALUES>
static __device__ inline void write_rows(lob_region *regions, const tile_table<VALUES> &t, int rows)
{
    const int warp = (int)(threadIdx.x / WORD), lane = (int)(threadIdx.x % WORD);
    unsigned char *const field = (unsigned char *)((wide *)regions + lane);
    if (lane >= REGION_FIELDS) return;
#pragma unroll 4
    for (int row = 0; row < rows; row++)
        *(wide *)(field + t.staged_at[warp][row]) = lane < t.fields ? t.staged[warp][row][lane] : 0;
}

static __device__ inline void list_piece(const measuring &m, int64_t at, uint32_t label,
                                         int64_t tile, const place_sums &s, const value_sums *v)
{
    const uint32_t x = span_low(s.span[0]) << LISTED_X_BITS | span_high(s.span[0]);
    uint4 *to = (uint4 *)&m.list[at];
    to[0] = make_uint4(label, (uint32_t)tile << 2 * LISTED_X_BITS | x, s.voxels, s.sum[0]);
    to[1] = make_uint4(s.sum[1], s.sum[2], s.span[1], s.span[2]);
    if (v) m.list_values[at] = *v;
}

/* All lanes together: the round's pieces, 32 at a time. */
template <typename K, bool VALUES>
static __device__ inline void write_pieces(const measuring &m, const place &p,
                                           tile_table<VALUES> &t, uint32_t count)
{
    const runs &r = m.r;
    const corner o = corner_of<K>(r, p);
    const uint32_t warp = threadIdx.x / WORD, lane = threadIdx.x % WORD;
    for (uint32_t base = warp * WORD; base < count; base += TILE_THREADS) {
        const uint32_t piece = base + lane;
        const bool inside = piece < count;
        place_sums s = {};
        const value_sums *v = VALUES ? &t.values[inside ? piece : 0] : t.values;
        uint32_t label = 0, id = 0;
        int line = 0, x = 0, root = 0;
        if (inside) {
            const uint32_t word = t.voxels[piece], place = word >> VOXELS_BITS;
            s.voxels = word & ((1u << VOXELS_BITS) - 1);
#pragma unroll
            for (int a = 0; a < 3; a++) {
                s.sum[a] = t.sum[a][piece];
                s.span[a] = t.span[a][piece];
            }
            line = (int)(place / (TILE_WORDS * WORD));
            x = (int)(place % (TILE_WORDS * WORD));
            id = t.id[line] + piece;
            const uint32_t before = r.number[id];
            root = r.number[id + 1] != before;
            label = r.parent[id];
            if (m.label) label = m.label[label - 1];
            if (!root) list_piece(m, id - before, label, p.tile, s, VALUES ? v : NULL);
        }
        const uint32_t writers = __ballot_sync(~0u, root && label);
        const int mine = __popc(writers & ((1u << lane) - 1)), rows = __popc(writers);
        for (int from = 0; from < rows; from += STAGED_ROWS) {
            if (root && label && mine >= from && mine < from + STAGED_ROWS) {
                int z = 0;
                const int64_t voxel = first_voxel<K>(r, o, line, x, id, &z);
                const int row = mine - from;
                stage_row<VALUES>(t.staged[warp][row], s, *v, o, voxel, z);
                t.staged_at[warp][row] = (int64_t)(label - 1) * (int64_t)sizeof(lob_region);
            }
            __syncwarp();
            write_rows(m.regions, t, min(rows - from, (int)STAGED_ROWS));
            __syncwarp();
        }
    }
}

/* A block takes a tile. */
template <typename K, bool VALUES>
static __global__ void __launch_bounds__(TILE_THREADS, VALUES ? 2 : 3) measure_kernel(measuring m)
{
    extern __shared__ wide shared[];
    tile_table<VALUES> &t = *(tile_table<VALUES> *)shared;
    const runs &r = m.r;
    const place p = place_of_tile(r, blockIdx.x);
    uint32_t left = count_pieces(r, p, t);
    while (left > 0) {
        const uint32_t count = min(left, (uint32_t)t.most);
        add_word<K>(m, p, t);
        __syncthreads();
        write_pieces<K>(m, p, t, count);
        left -= count;
        if (left > 0) go_on(t);
    }
}

#endif
