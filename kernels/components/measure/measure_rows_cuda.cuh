/*
 * From what a tile's pieces measure to rows of the table, and to the list of what is added to these
 * afterwards; and the kernel that measures a tile.
 */
#ifndef LOB_COMPONENTS_TABLE_CUDA_CUH
#define LOB_COMPONENTS_TABLE_CUDA_CUH

#include "kernels/components/measure/measure_tiles_cuda.cuh"

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
    const wide bit = r.first[id];
    const uint32_t word = (uint32_t)(bit / WORD); /* tiles hold fewer than 2^31 */
    const uint32_t row = word / (uint32_t)r.words;
    *z = (int)(row / (uint32_t)r.ny);
    return (int64_t)row * r.nx + (word - row * (uint32_t)r.words) * WORD + (int64_t)(bit % WORD);
}

/* A row as words, a quarter after the other. */
enum { QUARTER = 4, ROW_WORDS = ROW_QUARTERS * QUARTER };

/*
 * All lanes together: rows of the table; label 0 has none. Two lanes next to each other write a row
 * at a time, a quarter each, so that they fill the 32 bytes that memory takes at once: the odd one
 * gives even quarters of its row for odd ones of the other's.
 */
static __device__ inline void write_rows(lob_region *regions, uint32_t label,
                                         uint32_t row[ROW_WORDS])
{
    const uint32_t odd = threadIdx.x % 2, others = __shfl_xor_sync(~0u, label, 1);
    const uint32_t labels[2] = {odd ? others : label, odd ? label : others};
#pragma unroll
    for (int half = 0; half < ROW_QUARTERS; half += 2) {
        uint32_t *even = row + half * QUARTER;
#pragma unroll
        for (int i = 0; i < QUARTER; i++) {
            const uint32_t low = even[i], high = even[QUARTER + i];
            const uint32_t got = __shfl_xor_sync(~0u, odd ? low : high, 1);
            even[i] = odd ? got : low; /* of the even lane's row */
            even[QUARTER + i] = odd ? high : got;
        }
    }
#pragma unroll
    for (int k = 0; k < ROW_QUARTERS; k++) {
        const uint32_t its = labels[k % 2], *words = row + k * QUARTER;
        if (its)
            ((uint4 *)&regions[its - 1])[k / 2 * 2 + odd] =
                make_uint4(words[0], words[1], words[2], words[3]);
    }
}

static __device__ inline void put_wide(uint32_t *words, wide value)
{
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)(value >> WORD);
}

static_assert(sizeof(lob_region) == 64 && offsetof(lob_region, first) == 8 &&
                  offsetof(lob_region, low) == 16 && offsetof(lob_region, high) == 28 &&
                  offsetof(lob_region, sum) == 40,
              "rows are filled by hand");

/* Of one or several runs in the tile. */
typedef struct {
    uint32_t voxels, sum[3], span[3];
} extent;

static __device__ inline void fill_row(uint32_t row[ROW_WORDS], const extent &e, const corner &o,
                                       wide first, int low_z)
{
    const wide n = e.voxels;
    const uint32_t x = (uint32_t)o.x, y = (uint32_t)o.y, z = (uint32_t)o.z;
    put_wide(row, n);
    put_wide(row + 2, first);
    row[4] = x + span_low(e.span[0]);
    row[5] = y + span_low(e.span[1]);
    row[6] = (uint32_t)low_z;
    row[7] = x + span_high(e.span[0]);
    row[8] = y + span_high(e.span[1]);
    row[9] = z + span_high(e.span[2]);
    put_wide(row + 10, n * x + e.sum[0]);
    put_wide(row + 12, n * y + e.sum[1]);
    put_wide(row + 14, n * z + e.sum[2]);
}

/* Of columns, of which there is one at least. */
static __device__ inline uint32_t span_of_columns(const uint32_t columns[TILE_WORDS])
{
    const wide all = (wide)columns[1] << WORD | columns[0];
    return span_of((uint32_t)__ffsll((long long)all) - 1, 63 - (uint32_t)__clzll((long long)all));
}

/* A piece whose own run starts at a place; alone: there is no other. */
template <typename K, bool ALONE, bool VALUES>
static __device__ inline extent extent_of(const runs &r, const tile_table<K, VALUES> &t,
                                          uint32_t piece, uint32_t start, uint32_t columns)
{
    extent e;
    place_sums<K> s = places_of_run(r, t, start / WORD, columns);
    if (!ALONE) join_places<K>(r, &s, places_of_piece(t, piece));
    e.voxels = s.voxels;
#pragma unroll
    for (int a = 0; a < 3; a++) e.sum[a] = s.sum[a];
    if constexpr (ALONE && K::by * K::bz == 1) {
        const uint32_t x = start % (TILE_WORDS * WORD), line = start / (TILE_WORDS * WORD);
        const uint32_t y = line & ((1u << r.tile_y_bits) - 1), z = line >> r.tile_y_bits;
        e.span[0] = span_of(x, x + s.voxels - 1);
        e.span[1] = span_of(y, y);
        e.span[2] = span_of(z, z);
    } else {
        e.span[0] = span_of_columns(s.columns);
        e.span[1] = marks<K>(r).span(s.mark, 0);
        e.span[2] = marks<K>(r).span(s.mark, 1);
    }
    return e;
}

static __device__ inline void list_piece(const measuring &m, uint32_t at, uint32_t label,
                                         int64_t tile, const extent &e)
{
    const uint32_t x = span_low(e.span[0]) << LISTED_X_BITS | span_high(e.span[0]);
    const uint32_t tile_and_x = (uint32_t)tile << 2 * LISTED_X_BITS | x;
    const uint32_t *sum = e.sum, *span = e.span;
    m.list[at] = {label, tile_and_x, e.voxels, sum[0], sum[1], sum[2], span[1], span[2]};
}

/*
 * All lanes together: the round's pieces, 32 at a time. Alone: every run is a piece, and the table
 * has not been filled.
 */
template <typename K, bool ALONE, bool VALUES>
static __device__ inline void write_pieces(const measuring &m, const place &p,
                                           tile_table<K, VALUES> &t, uint32_t count)
{
    const runs &r = m.r;
    const corner o = corner_of<K>(r, p);
    const uint32_t lane = threadIdx.x % WORD;
    for (uint32_t base = threadIdx.x - lane; base < count; base += TILE_THREADS) {
        const uint32_t piece = base + lane;
        uint32_t writes = 0; /* the label of its row; 0: it writes none */
        uint32_t row[ROW_WORDS] = {};
        if (piece < count) {
            const uint32_t start = ALONE ? t.place()[piece] : t.voxels[piece] >> VOXELS_BITS;
            const int line = (int)(start / (TILE_WORDS * WORD));
            const uint32_t id = t.id[line] + piece, before = r.number[id];
            uint32_t label = r.parent[id];
            /* where roots are numbered in their order, other pieces come after theirs */
            const bool root = K::by * K::bz == 1 ? label > before : r.number[id + 1] != before;
            if (m.label) label = m.label[label - 1];
            const uint32_t columns = columns_of(t, start);
            const extent e = extent_of<K, ALONE>(r, t, piece, start, columns);
            if (root) {
                int z = 0;
                const int x = (int)(start % (TILE_WORDS * WORD));
                const int64_t first = first_voxel<K>(r, o, line, x, id, &z);
                fill_row(row, e, o, (wide)first, z);
                writes = label;
            } else
                list_piece(m, id - before, label, p.tile, e);
            if (VALUES) {
                value_sums v = values_of_run(m, p, t, start / WORD, columns);
                if (!ALONE) add_values(&v, t.values[piece]);
                if (!root)
                    m.list_values[id - before] = v;
                else if (label)
                    m.sums[label - 1] = v;
            }
        }
        if (__any_sync(~0u, writes)) write_rows(m.regions, writes, row);
    }
}

/* A block takes a tile. */
template <typename K, bool VALUES>
static __global__ void __launch_bounds__(TILE_THREADS, VALUES ? 2 : 3) measure_kernel(measuring m)
{
    extern __shared__ uint4 shared[];
    tile_table<K, VALUES> &t = *(tile_table<K, VALUES> *)shared;
    const runs &r = m.r;
    const place p = place_of_tile(r, blockIdx.x);
    const uint32_t runs_here = r.runs[p.tile];
    if (runs_here == 0) return;
    load_word(r, p, t);
    uint32_t left = count_pieces(r, p, t);
    if (left == runs_here) {
        write_pieces<K, true>(m, p, t, left);
        return;
    }
    while (left > 0) {
        const uint32_t count = min(left, (uint32_t)t.most);
        clear_table(t, count);
        __syncthreads();
        add_runs(m, p, t, runs_here, count);
        __syncthreads();
        write_pieces<K, false>(m, p, t, count);
        left -= count;
        if (left > 0) go_on(r, p, t);
    }
}

#endif
