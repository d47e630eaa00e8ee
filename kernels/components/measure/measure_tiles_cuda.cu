/*
 * From the runs of a tile to rows of the table and to listed pieces.
 *
 * The runs of a tile are laid out one after the other, so that threads have the same number of
 * them and lanes take adjacent ones. A piece's first run only says where the piece is: its sums are
 * joined with those of the other runs when the piece is written. In a tile whose runs all are
 * pieces, as in a checkerboard, nothing is added up.
 */
#include "kernels/components/measure/position_sums_cuda.cuh"

namespace lob::components
{

/* ---- a block's shared memory ---- */

template <typename K> struct tile_bits {
    uint32_t row[K::rows][TILE_THREADS]; /* of voxels */
    uint32_t starts[TILE_THREADS];
    uint32_t before[TILE_MROWS + 2]; /* pieces in earlier merged rows */
    uint32_t base[TILE_MROWS];       /* a piece's number - its number in the tile */
    uint32_t of_warp[TILE_WARPS];
    uint32_t from; /* the first run that may belong to one of the pieces in the table */
};

/* Without intensities three blocks share 227 KiB; with them a block has the 99 KiB that every GPU
 * of compute capability 8.0 or more gives. */
template <typename K, bool VALUES> struct tile_table : tile_bits<K> {
    static constexpr int budget = VALUES ? 99 * 1024 : 227 * 1024 / 3 - 1024;
    static constexpr int start_bytes =
        TILE_THREADS * (VALUES || K::by_value ? WORD : WORD / 2) * (int)sizeof(uint16_t);
    static constexpr int piece =
        (int)((VALUES ? sizeof(value_sums) : 0) + sizeof(position_sums<K>));
    /* Pieces at once. */
    static constexpr int max_pieces =
        (budget - start_bytes - (int)sizeof(tile_bits<K>)) / piece / WORD * WORD;

    value_sums values[VALUES ? max_pieces : 1];
    /* Of all runs but the pieces' first ones; bits of voxels from VOXELS_BITS on: where that
     * starts. */
    uint32_t voxels[max_pieces];
    uint32_t sum[3][max_pieces], columns[TILE_WORDS][max_pieces], mark[marks<K>::words][max_pieces];

    /* Where each run of the tile starts: thread * 32 + bit. Behind the table. */
    __device__ uint16_t *run_start()
    {
        return (uint16_t *)(this + 1);
    }
};

template <typename K, bool VALUES>
static __device__ inline void clear_table(tile_table<K, VALUES> &t, uint32_t count)
{
    for (uint32_t i = threadIdx.x; i < count; i += TILE_THREADS) {
        t.voxels[i] = 0;
#pragma unroll
        for (int a = 0; a < 3; a++) t.sum[a][i] = 0;
#pragma unroll
        for (int k = 0; k < TILE_WORDS; k++) t.columns[k][i] = 0;
#pragma unroll
        for (int k = 0; k < marks<K>::words; k++) t.mark[k][i] = 0;
        if (VALUES) regions::clear_values(&t.values[i]);
    }
}

/* All but the columns. */
template <typename K, bool VALUES>
static __device__ inline void add_positions_atomic(const join_params &p, tile_table<K, VALUES> &t,
                                                   uint32_t piece, const position_sums<K> &s)
{
    atomicAdd(&t.voxels[piece], s.voxels);
#pragma unroll
    for (int a = 0; a < 3; a++) atomicAdd(&t.sum[a][piece], s.sum[a]);
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++) marks<K>(p).add(&t.mark[i][piece], s.mark[i]);
}

template <typename K, bool VALUES>
static __device__ inline position_sums<K> positions_of_piece(const tile_table<K, VALUES> &t,
                                                             uint32_t piece)
{
    position_sums<K> s;
    s.voxels = t.voxels[piece] & ((1u << VOXELS_BITS) - 1);
#pragma unroll
    for (int a = 0; a < 3; a++) s.sum[a] = t.sum[a][piece];
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) s.columns[i] = t.columns[i][piece];
#pragma unroll
    for (int i = 0; i < marks<K>::words; i++) s.mark[i] = t.mark[i][piece];
    return s;
}

/* ---- runs ---- */

/* Load a thread's word and note where its runs start. */
template <typename K, bool VALUES>
static __device__ inline void load_word(const join_params &p, const tile_position &at,
                                        tile_table<K, VALUES> &t)
{
    const uint32_t thread = threadIdx.x;
    const int mrow = (int)thread / TILE_WORDS;
    const int column = at.tile_x * TILE_WORDS + (int)thread % TILE_WORDS;
    const int y = mrow_y(p, at, mrow), z = mrow_z(p, at, mrow);
    const uint32_t *const offset = p.first_run + at.tile * TILE_THREADS;
    uint16_t *to = t.run_start() + (offset[thread] - offset[0]);
#pragma unroll
    for (int i = 0; i < K::rows; i++) t.row[i][thread] = filled_row<K>(p, i, y, z, column);
    const uint32_t starts = mrow_word_at<K>(p, y, z, column).starts;
    t.starts[thread] = starts;
    for (uint32_t left = starts; left; left &= left - 1)
        *to++ = (uint16_t)(thread * WORD + (uint32_t)lowest_bit(left));
}

/* The columns of the run with this start. */
template <typename K>
static __device__ inline uint32_t columns_of(const tile_bits<K> &t, uint32_t start)
{
    const uint32_t thread = start / WORD;
    uint32_t filled = 0;
#pragma unroll
    for (int i = 0; i < K::rows; i++) filled |= t.row[i][thread];
    return run_of(filled, t.starts[thread] & ~0u << start % WORD);
}

template <typename K>
static __device__ inline position_sums<K> positions_of_run(const join_params &p,
                                                           const tile_bits<K> &t, uint32_t thread,
                                                           uint32_t columns)
{
    const uint32_t x = thread % TILE_WORDS * WORD, mrow = thread / TILE_WORDS;
    const uint32_t y = (mrow & ((1u << p.tile_y_bits) - 1)) * K::merge_y;
    const uint32_t z = (mrow >> p.tile_y_bits) * K::merge_z;
    uint32_t next_y = 0, next_z = 0; /* voxels of the rows at y + 1, and at z + 1 */
    position_sums<K> s = {};
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) s.columns[i] = thread % TILE_WORDS == i ? columns : 0;
    if constexpr (K::rows == 1) { /* without a gap */
        s.voxels = (uint32_t)__popc(columns);
        s.sum[0] = s.voxels * (2 * (x + (uint32_t)lowest_bit(columns)) + s.voxels - 1) / 2;
    } else {
        uint32_t bits[K::rows];
#pragma unroll
        for (int i = 0; i < K::rows; i++) {
            bits[i] = t.row[i][thread] & columns;
            const uint32_t n = (uint32_t)__popc(bits[i]);
            s.voxels += n;
            next_y += i % K::merge_y ? n : 0;
            next_z += i / K::merge_y ? n : 0;
        }
        s.sum[0] = s.voxels * x;
#pragma unroll
        for (int i = 0; i < K::rows; i += 2) s.sum[0] += sum_of_bits(bits[i], bits[i + 1]);
    }
    s.sum[1] = s.voxels * y + next_y;
    s.sum[2] = s.voxels * z + next_z;
    marks<K>(p).set(s.mark, y, (s.voxels > next_y) | (next_y > 0) << 1, z,
                    (s.voxels > next_z) | (next_z > 0) << 1);
    return s;
}

template <typename K>
static __device__ inline value_sums values_of_run(const measure_params &m, const tile_position &at,
                                                  const tile_bits<K> &t, uint32_t thread,
                                                  uint32_t columns)
{
    const join_params &p = m.join;
    const int mrow = (int)thread / TILE_WORDS;
    const int x = (at.tile_x * TILE_WORDS + (int)thread % TILE_WORDS) * WORD;
    const int y = mrow_y(p, at, mrow) * K::merge_y, z = mrow_z(p, at, mrow) * K::merge_z;
    value_sums v;
    regions::clear_values(&v);
    for (int i = 0; i < K::rows; i++) {
        const int64_t row = ((int64_t)(z + i / K::merge_y) * p.ny + y + i % K::merge_y) * p.nx + x;
        for (uint32_t left = t.row[i][thread] & columns; left; left &= left - 1)
            regions::add_value(&v, m.intensities, row + lowest_bit(left));
    }
    return v;
}

/* ---- a tile ---- */

/* How many pieces a tile has, and before and base of its merged rows. Ends with a barrier. */
template <typename K>
static __device__ inline uint32_t count_pieces(const join_params &p, const tile_position &at,
                                               tile_bits<K> &t)
{
    const int thread = (int)threadIdx.x, mrow = thread / TILE_WORDS;
    const bool first = thread % TILE_WORDS == 0;
    uint32_t base = 0, mine = 0, all = 0;
    if (first && mrow_y(p, at, mrow) < p.mrows_y && mrow_z(p, at, mrow) < p.mrows_z) {
        const uint32_t *from = p.mrow_base + mrow_index(p, at, mrow);
        base = from[0];
        mine = from[1] - base;
    }
    const uint32_t before = block_exclusive_sum(mine, t.of_warp, &all);
    if (first) {
        t.before[mrow] = before;
        t.base[mrow] = base - before;
    }
    if (thread == 0) {
        t.before[TILE_MROWS] = all;
        t.from = 0;
    }
    __syncthreads();
    return all;
}

/*
 * The next pieces, where the table has no room for all. They are counted from the first of these
 * on, so that those that were in the table before become max_pieces or more. A piece has no run
 * before its first one, so the merged row of the first piece is the first to look at. Ends with a
 * barrier.
 */
template <typename K, bool VALUES>
static __device__ inline void next_pieces(const join_params &p, const tile_position &at,
                                          tile_table<K, VALUES> &t)
{
    const uint32_t mrow = threadIdx.x;
    const uint32_t *const offset = p.first_run + at.tile * TILE_THREADS;
    __syncthreads();
    if (mrow <= TILE_MROWS) t.before[mrow] -= (uint32_t)t.max_pieces;
    if (mrow < TILE_MROWS) t.base[mrow] += (uint32_t)t.max_pieces;
    __syncthreads();
    if (mrow < TILE_MROWS && (int32_t)t.before[mrow] <= 0 && (int32_t)t.before[mrow + 1] > 0)
        t.from = offset[mrow * TILE_WORDS] - offset[0];
    __syncthreads();
}

/* All threads: note where pieces start, and add up all runs but the pieces' first ones. */
template <typename K, bool VALUES>
static __device__ inline void add_runs(const measure_params &m, const tile_position &at,
                                       tile_table<K, VALUES> &t, uint32_t runs_here,
                                       uint32_t pieces)
{
    const join_params &p = m.join;
    const uint32_t none = ~0u, lane = threadIdx.x % WARP;
    const uint32_t first = p.first_run[at.tile * TILE_THREADS];
    uint32_t frequent = none, run = t.from + threadIdx.x;
    const uint16_t *local_root = p.local_root + first + run;
    uint32_t next = run < runs_here ? *local_root : 0; /* is loaded while another run is added */
    position_sums<K> sums = {};
    value_sums values;
    regions::clear_values(&values);
    for (; run - lane < runs_here; run += TILE_THREADS) {
        const bool inside = run < runs_here;
        const uint32_t root = next, start = inside ? t.run_start()[run] : 0;
        local_root += TILE_THREADS;
        next = run + TILE_THREADS < runs_here ? *local_root : 0;
        const bool first_of_piece = root & LOCAL_ROOT_SELF;
        uint32_t piece = inside ? t.before[root_mrow(root)] + root_rank(root) : none;
        if (piece >= pieces) piece = none;
        if (first_of_piece && piece != none) atomicAdd(&t.voxels[piece], start << VOXELS_BITS);
        if (first_of_piece) piece = none;
        if (frequent == none) frequent = shared_key(piece, none);
        if (piece == none) continue;
        const uint32_t columns = columns_of(t, start), thread = start / WORD;
        const position_sums<K> s = positions_of_run(p, t, thread, columns);
        value_sums v;
        if (VALUES) v = values_of_run(m, at, t, thread, columns);
        if (piece == frequent) {
            add_positions<K>(p, &sums, s);
            if (VALUES) regions::add_values(&values, v);
        } else {
            add_positions_atomic(p, t, piece, s);
            atomicOr(&t.columns[thread % TILE_WORDS][piece], columns);
            if (VALUES) regions::add_values_atomic(&t.values[piece], v);
        }
    }
    __syncwarp();
    if (frequent == none) return;
    sums = warp_positions<K>(p, sums);
    if (VALUES) values = regions::warp_values(values);
    if (lane != 0) return;
    add_positions_atomic(p, t, frequent, sums);
#pragma unroll
    for (int i = 0; i < TILE_WORDS; i++) atomicOr(&t.columns[i][frequent], sums.columns[i]);
    if (VALUES) regions::add_values_atomic(&t.values[frequent], values);
}

/* ---- rows of the table ---- */

/* A tile's first voxel. */
typedef struct {
    int x, y, z;
} corner;

template <typename K>
static __device__ inline corner corner_of(const join_params &p, const tile_position &at)
{
    corner o;
    o.x = at.tile_x * TILE_WORDS * WORD;
    o.y = (at.tile_y << p.tile_y_bits) * K::merge_y;
    o.z = (at.tile_z << p.tile_z_bits) * K::merge_z;
    return o;
}

/* The first voxel of a component whose root's first run is at (mrow, x), and its z. */
template <typename K>
static __device__ inline int64_t first_voxel(const join_params &p, const corner &o, int mrow, int x,
                                             uint32_t id, int *z)
{
    if (K::rows == 1) {
        const int y = o.y + (mrow & ((1 << p.tile_y_bits) - 1));
        *z = o.z + (mrow >> p.tile_y_bits);
        return ((int64_t)*z * p.ny + y) * p.nx + o.x + x;
    }
    const u64 bit = p.first_voxel[id];
    const uint32_t word = (uint32_t)(bit / WORD); /* tiles hold fewer than 2^31 */
    const uint32_t row = word / (uint32_t)p.words;
    *z = (int)(row / (uint32_t)p.ny);
    return (int64_t)row * p.nx + (word - row * (uint32_t)p.words) * WORD + (int64_t)(bit % WORD);
}

/* A row of the table as words, a quarter after the other. */
enum { QUARTER = 4, ROW_QUARTERS = 4, ROW_WORDS = ROW_QUARTERS * QUARTER };

/*
 * All lanes together: write rows of the table; a lane of label 0 has none. Two adjacent lanes write
 * one row at a time, a quarter each, so that they fill the 32 bytes that memory takes at once: the
 * odd lane exchanges even quarters of its row for odd ones of the other's.
 */
static __device__ inline void write_rows(lob_region *regions, uint32_t label,
                                         uint32_t row[ROW_WORDS])
{
    const uint32_t odd = threadIdx.x % 2, others = __shfl_xor_sync(ALL_LANES, label, 1);
    const uint32_t labels[2] = {odd ? others : label, odd ? label : others};
#pragma unroll
    for (int half = 0; half < ROW_QUARTERS; half += 2) {
        uint32_t *even = row + half * QUARTER;
#pragma unroll
        for (int i = 0; i < QUARTER; i++) {
            const uint32_t low = even[i], high = even[QUARTER + i];
            const uint32_t got = __shfl_xor_sync(ALL_LANES, odd ? low : high, 1);
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

static __device__ inline void put_u64(uint32_t *words, u64 value)
{
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)(value >> WORD);
}

static_assert(sizeof(lob_region) == 64 && offsetof(lob_region, first) == 8 &&
                  offsetof(lob_region, low) == 16 && offsetof(lob_region, high) == 28 &&
                  offsetof(lob_region, sum) == 40,
              "rows are filled by hand");

/* One or several runs in the tile. */
typedef struct {
    uint32_t voxels, sum[3], span[3];
} extent;

static __device__ inline void fill_row(uint32_t row[ROW_WORDS], const extent &e, const corner &o,
                                       u64 first, int low_z)
{
    const u64 n = e.voxels;
    const uint32_t x = (uint32_t)o.x, y = (uint32_t)o.y, z = (uint32_t)o.z;
    put_u64(row, n);
    put_u64(row + 2, first);
    row[4] = x + span_low(e.span[0]);
    row[5] = y + span_low(e.span[1]);
    row[6] = (uint32_t)low_z;
    row[7] = x + span_high(e.span[0]);
    row[8] = y + span_high(e.span[1]);
    row[9] = z + span_high(e.span[2]);
    put_u64(row + 10, n * x + e.sum[0]);
    put_u64(row + 12, n * y + e.sum[1]);
    put_u64(row + 14, n * z + e.sum[2]);
}

/* Of at least one column. */
static __device__ inline uint32_t span_of_columns(const uint32_t columns[TILE_WORDS])
{
    const u64 all = (u64)columns[1] << WORD | columns[0];
    return span_of((uint32_t)__ffsll((long long)all) - 1, 63 - (uint32_t)__clzll((long long)all));
}

/* A piece whose first run has this start; ALONE: it has no other run. */
template <typename K, bool ALONE, bool VALUES>
static __device__ inline extent extent_of(const join_params &p, const tile_table<K, VALUES> &t,
                                          uint32_t piece, uint32_t start, uint32_t columns)
{
    extent e;
    position_sums<K> s = positions_of_run(p, t, start / WORD, columns);
    if (!ALONE) add_positions<K>(p, &s, positions_of_piece(t, piece));
    e.voxels = s.voxels;
#pragma unroll
    for (int a = 0; a < 3; a++) e.sum[a] = s.sum[a];
    if constexpr (ALONE && K::rows == 1) {
        const uint32_t x = start % (TILE_WORDS * WORD), mrow = start / (TILE_WORDS * WORD);
        const uint32_t y = mrow & ((1u << p.tile_y_bits) - 1), z = mrow >> p.tile_y_bits;
        e.span[0] = span_of(x, x + s.voxels - 1);
        e.span[1] = span_of(y, y);
        e.span[2] = span_of(z, z);
    } else {
        e.span[0] = span_of_columns(s.columns);
        e.span[1] = marks<K>(p).span(s.mark, 0);
        e.span[2] = marks<K>(p).span(s.mark, 1);
    }
    return e;
}

static __device__ inline void list_piece(const measure_params &m, uint32_t at, uint32_t label,
                                         int64_t tile, const extent &e)
{
    const uint32_t x = span_low(e.span[0]) << LISTED_X_BITS | span_high(e.span[0]);
    const uint32_t tile_and_x = (uint32_t)tile << 2 * LISTED_X_BITS | x;
    const uint32_t *sum = e.sum, *span = e.span;
    m.list[at] = {label, tile_and_x, e.voxels, sum[0], sum[1], sum[2], span[1], span[2]};
}

/* All lanes together: the pieces in the table, 32 at a time. ALONE: every run is a piece, and the
 * table has not been filled. */
template <typename K, bool ALONE, bool VALUES>
static __device__ inline void write_pieces(const measure_params &m, const tile_position &at,
                                           tile_table<K, VALUES> &t, uint32_t count)
{
    const join_params &p = m.join;
    const corner o = corner_of<K>(p, at);
    const uint32_t lane = threadIdx.x % WARP;
    for (uint32_t base = threadIdx.x - lane; base < count; base += TILE_THREADS) {
        const uint32_t piece = base + lane;
        uint32_t writes = 0; /* the label of its row; 0: it writes none */
        uint32_t row[ROW_WORDS] = {};
        if (piece < count) {
            const uint32_t start = ALONE ? t.run_start()[piece] : t.voxels[piece] >> VOXELS_BITS;
            const int mrow = (int)(start / (TILE_WORDS * WORD));
            const uint32_t id = t.base[mrow] + piece, before = p.roots_before[id];
            uint32_t label = p.parent[id];
            /* where a root's number is its component's, other pieces come later */
            const bool root = K::rows == 1 ? label > before : p.roots_before[id + 1] != before;
            if (m.label) label = m.label[label - 1];
            const uint32_t columns = columns_of(t, start);
            const extent e = extent_of<K, ALONE>(p, t, piece, start, columns);
            if (root) {
                int z = 0;
                const int x = (int)(start % (TILE_WORDS * WORD));
                const int64_t first = first_voxel<K>(p, o, mrow, x, id, &z);
                fill_row(row, e, o, (u64)first, z);
                writes = label;
            } else
                list_piece(m, id - before, label, at.tile, e);
            if (VALUES) {
                value_sums v = values_of_run(m, at, t, start / WORD, columns);
                if (!ALONE) regions::add_values(&v, t.values[piece]);
                if (!root)
                    m.list_values[id - before] = v;
                else if (label)
                    m.sums[label - 1] = v;
            }
        }
        if (__any_sync(ALL_LANES, writes)) write_rows(m.regions, writes, row);
    }
}

/* A block takes a tile. */
template <typename K, bool VALUES>
static __global__ void __launch_bounds__(TILE_THREADS, VALUES ? 2 : 3)
    measure_kernel(measure_params m)
{
    extern __shared__ uint4 shared[];
    tile_table<K, VALUES> &t = *(tile_table<K, VALUES> *)shared;
    const join_params &p = m.join;
    const tile_position at = position_of_tile(p, blockIdx.x);
    const uint32_t runs_here = p.run_count[at.tile];
    if (runs_here == 0) return;
    load_word(p, at, t);
    uint32_t left = count_pieces(p, at, t);
    if (left == runs_here) {
        write_pieces<K, true>(m, at, t, left);
        return;
    }
    while (left > 0) {
        const uint32_t count = min(left, (uint32_t)t.max_pieces);
        clear_table(t, count);
        __syncthreads();
        add_runs(m, at, t, runs_here, count);
        __syncthreads();
        write_pieces<K, false>(m, at, t, count);
        left -= count;
        if (left > 0) next_pieces(p, at, t);
    }
}

/* ---- the step ---- */

template <typename K, bool VALUES>
static lob_status launch_tiles(call *c, const measure_params &m, lob_error *error)
{
    const size_t starts = (size_t)TILE_THREADS * (size_t)m.join.slots * sizeof(uint16_t);
    const size_t shared = sizeof(tile_table<K, VALUES>) + starts;
    LOB_TRY(lob_allow_shared(measure_kernel<K, VALUES>, shared, error));
    return lob_launch(c->device, measure_kernel<K, VALUES>, "measuring components", m.join.tiles,
                      TILE_THREADS, shared, m, error);
}

lob_status measure_tiles(call *c, const measure_params &m, lob_error *error)
{
    return with_merge(c->join, [&](auto kind) {
        using K = decltype(kind);
        return m.sums ? launch_tiles<K, true>(c, m, error) : launch_tiles<K, false>(c, m, error);
    });
}

} /* namespace lob::components */
