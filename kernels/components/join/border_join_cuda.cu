/*
 * Joining pieces across the borders of tiles: union-find over the pieces of the whole volume.
 *
 * Pairs implied by others are left out before any piece is looked up. In a tile, pairs are implied
 * by pairs in it; across x, by these and earlier ones across x; across y and z, by all of those and
 * earlier ones across the same border. So no two pairs are left out because of each other,
 * whichever are united first.
 *
 * Where there are many directions they are looped over and not unrolled: these kernels wait for
 * memory, instructions too.
 */
#include "kernels/components/components_stages_cuda.cuh"

namespace lob::components
{

enum {
    BORDER_THREADS = 256,
    PIECE_THREADS = 256,
    FEW_LANES = 1 << 15 /* a device runs more at once */
};

/* ---- union-find ---- */

/*
 * Parents only become smaller. The multiprocessor's cache may hold an older parent: that is an
 * ancestor too, and the path to the root goes on from it in memory that all share. Roots are read
 * before they are written because atomics on one address take turns.
 */
template <bool CACHED>
static __device__ inline uint32_t parent_of(const uint32_t *parent, uint32_t piece)
{
    return CACHED ? __ldca(parent + piece) : __ldcg(parent + piece);
}

/* Climb from a and b to their roots at once. Returns whether a common ancestor was met. */
template <bool CACHED>
static __device__ inline bool find_common(const uint32_t *parent, uint32_t &a, uint32_t &b)
{
    for (;;) {
        const uint32_t up_a = parent_of<CACHED>(parent, a), up_b = parent_of<CACHED>(parent, b);
        if (up_a == up_b) return true;
        if (up_a == a && up_b == b) return false;
        a = up_a;
        b = up_b;
    }
}

static __device__ inline void unite_pieces(uint32_t *parent, uint32_t a, uint32_t b)
{
    if (find_common<true>(parent, a, b)) return;
    while (!find_common<false>(parent, a, b)) {
        const uint32_t low = a < b ? a : b, high = a < b ? b : a;
        const uint32_t before = atomicMin(&parent[high], low);
        if (before == high) return;
        a = before;
        b = low;
    }
}

/*
 * All lanes of a warp together: unite two pieces where wanted. Lanes are neighbours on a border, so
 * many have the same two pieces: one of them unites these.
 */
static __device__ inline void unite_wanted(uint32_t *parent, bool wanted, uint32_t a, uint32_t b)
{
    if (wanted) {
        a = parent_of<true>(parent, a);
        b = parent_of<true>(parent, b);
    }
    wanted = wanted && a != b;
    const u64 pair = wanted ? (u64)a << 32 | b : ~(u64)0;
    const uint32_t lanes = __match_any_sync(ALL_LANES, pair);
    if (wanted && (int)(threadIdx.x % WARP) == lowest_bit(lanes)) unite_pieces(parent, a, b);
}

/* The merged rows before one, by number: (dy, dz) = (-1, 0), (0, -1), (-1, -1), (1, -1). */
static __device__ inline int before_y(int i)
{
    return i == 1 ? 0 : i == 3 ? 1 : -1;
}

static __device__ inline int before_z(int i)
{
    return i > 0 ? -1 : 0;
}

/* ---- across x ---- */

/* Which voxels left and right of a border across x are joined, of a merged row and of another. */
typedef struct {
    bool other;       /* the other's two */
    bool back, ahead; /* this one's right voxel with the other's left one; and crosswise */
    bool left, right; /* the two of a column */
} border_pairs;

/* Bit i, and bit 16 + i: row i of a merged row has a voxel left, and right, of a word's border. */
template <typename K>
static __device__ inline uint32_t rows_at_border(const join_params &p, int y, int z, int w)
{
    uint32_t rows = 0;
#pragma unroll
    for (int i = 0; i < K::rows; i++) {
        const int row_y = y_of_row<K>(y, i), row_z = z_of_row<K>(z, i);
        rows |= row_word(p, p.filled, row_y, row_z, w - 1) >> 31 << i;
        rows |= (row_word(p, p.filled, row_y, row_z, w) & 1) << (16 + i);
    }
    return rows;
}

/* Those of these bits whose rows face another merged row. */
template <typename K> static __device__ inline uint32_t rows_on_side(int dy, int dz)
{
    uint32_t rows = 0;
#pragma unroll
    for (int i = 0; i < K::rows; i++)
        if (on_side<K>(i, dy, dz)) rows |= 0x10001u << i;
    return rows;
}

static __device__ inline bool left_of_border(uint32_t rows)
{
    return rows & 0xffff;
}

static __device__ inline bool right_of_border(uint32_t rows)
{
    return rows >> 16;
}

template <typename K>
static __device__ inline border_pairs pairs_at_border(const join_params &p, uint32_t own, int dy,
                                                      int dz, int y, int z, int w)
{
    border_pairs c;
    const bool across = crosses_x<K>(dy, dz);
    if (K::by_value) {
        c.other = row_word(p, p.joined_bits[0], y + dy, z + dz, w) & 1;
        c.left = direction_word(p, 0, dy, dz, y, z, w - 1) >> 31;
        c.right = direction_word(p, 0, dy, dz, y, z, w) & 1;
        c.back = across && (direction_word(p, -1, dy, dz, y, z, w) & 1);
        c.ahead = across && direction_word(p, 1, dy, dz, y, z, w - 1) >> 31;
        return c;
    }
    const uint32_t all = rows_at_border<K>(p, y + dy, z + dz, w);
    const uint32_t to = all & rows_on_side<K>(-dy, -dz), from = own & rows_on_side<K>(dy, dz);
    c.other = left_of_border(all) && right_of_border(all);
    c.left = left_of_border(from) && left_of_border(to);
    c.right = right_of_border(from) && right_of_border(to);
    c.back = across && right_of_border(from) && left_of_border(to);
    c.ahead = across && left_of_border(from) && right_of_border(to);
    return c;
}

/*
 * The unions that a merged row needs at a border across x: with itself, bit 0; of its right and
 * of its left voxel with merged row i before it, bits 1 + 2 i and 2 + 2 i.
 */
template <typename K>
static __device__ inline uint32_t wanted_across_x(const join_params &p, int y, int z, int w)
{
    const int last_y = (1 << p.tile_y_bits) - 1, local_y = y & last_y;
    const int local_z = z & ((1 << p.tile_z_bits) - 1);
    const uint32_t rows = K::by_value ? 0 : rows_at_border<K>(p, y, z, w);
    const bool own = K::by_value ? row_word(p, p.joined_bits[0], y, z, w) & 1
                                 : left_of_border(rows) && right_of_border(rows);
    uint32_t wanted = own;
    constexpr int unrolled = K::diagonal ? 1 : 2;
    if (!K::by_value && !rows) return 0;
#pragma unroll unrolled
    for (int i = 0; i < (K::connectivity == 3 ? 4 : 2); i++) {
        const int dy = before_y(i), dz = before_z(i);
        const bool apart = local_y + dy < 0 || local_y + dy > last_y || local_z + dz < 0 ||
                           (dy && !p.along[1]) || (dz && !p.along[2]);
        if (apart && K::diagonal) continue; /* else all loads are on their way at once */
        const border_pairs c = pairs_at_border<K>(p, rows, dy, dz, y, z, w);
        if (!apart && i < 2 && c.other && c.left && c.right) wanted &= ~1u;
        if (c.back && !(own && c.left) && !(c.other && c.right)) wanted |= 2u << 2 * i;
        if (c.ahead && !(own && c.right) && !(c.other && c.left)) wanted |= 4u << 2 * i;
    }
    return wanted;
}

template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS) border_x_kernel(join_params p)
{
    const int64_t borders = p.tiles_x - 1, n = borders * p.mrows_y * p.mrows_z;
    const int lane = (int)threadIdx.x % WARP;
    const int64_t step = grid_step();
    for (int64_t i = grid_first(); i - lane < n; i += step) {
        const int64_t mrow = i / borders; /* lanes next to each other share rows */
        const int w = (int)(i - mrow * borders + 1) * TILE_WORDS;
        const int z = (int)(mrow / p.mrows_y), y = (int)(mrow - (int64_t)z * p.mrows_y);
        uint32_t left = i < n && p.along[0] ? wanted_across_x<K>(p, y, z, w) : 0;
        while (__any_sync(ALL_LANES, left != 0)) {
            uint32_t a = 0, b = 0;
            const bool wanted = left != 0;
            if (wanted) {
                const int bit = lowest_bit(left), other = (bit - 1) / 2;
                const int dy = bit ? before_y(other) : 0, dz = bit ? before_z(other) : 0;
                const bool back = bit & 1;
                a = back ? first_piece(p, y, z, w) : first_piece(p, y + dy, z + dz, w);
                b = back ? last_piece(p, y + dy, z + dz, w - 1) : last_piece(p, y, z, w - 1);
            }
            unite_wanted(p.parent, wanted, a, b);
            left &= left - 1;
        }
    }
}

/* ---- across y and z ---- */

/*
 * Pairs of merged row (y, z) across a border, with the one (dy, dz) away. They are implied where
 * the merged rows beside both along the border, in the same two tiles, are joined with them and
 * with each other.
 */
template <typename K>
static __device__ inline row_pairs pairs_across(const join_params &p, int dy, int dz, int y, int z,
                                                int w, bool first)
{
    const int ay = dz, az = dy; /* along the border */
    row_pairs e = pairs_word<K>(p, dy, dz, y, z, w);
    if (first || !any_pair(e)) return e;
    const row_pairs before = pairs_word<K>(p, dy, dz, y + ay, z + az, w);
    if (!any_pair(before)) return e;
    const uint32_t from = same_word<K>(p, ay, az, y, z, w);
    const uint32_t to = same_word<K>(p, ay, az, y + dy, z + dz, w);
    e.same &= ~(from & to & before.same);
    if (!crosses_x<K>(dy, dz)) return e;
    const uint32_t left = same_word<K>(p, ay, az, y + dy, z + dz, w - 1);
    const uint32_t right = same_word<K>(p, ay, az, y + dy, z + dz, w + 1);
    e.back &= ~(from & bits_back(to, left) & before.back);
    e.ahead &= ~(from & bits_ahead(to, right) & before.ahead);
    return e;
}

/*
 * Diagonal pairs: with the merged rows (dy, dz) = (-1, -1) and (1, -1) away. They are implied where
 * the merged row (0, -1) away is joined with both; no diagonal pair takes part in that.
 */
template <typename K>
static __device__ inline row_pairs diagonals_at_border(const join_params &p, int dy, int y, int z,
                                                       int w)
{
    row_pairs e = pairs_word<K>(p, dy, -1, y, z, w);
    if (!any_pair(e)) return e;
    const uint32_t to_z = same_word<K>(p, 0, -1, y, z, w);
    const row_pairs beside = pairs_word<K>(p, -1, 0, dy < 0 ? y : y + 1, z - 1, w);
    e.same &= ~(to_z & beside.same);
    e.back &= ~(to_z & (dy < 0 ? beside.back : beside.ahead << 1));
    e.ahead &= ~(to_z & (dy < 0 ? beside.ahead : beside.back >> 1));
    return e;
}

/* The bit of a word that has `before` lower set bits; the word has more. */
static __device__ inline int bit_with(uint32_t word, int before)
{
    int bit = 0;
#pragma unroll
    for (int half = WORD / 2; half > 0; half /= 2) {
        const int low = __popc(word & ((1u << half) - 1));
        const bool upper = before >= low;
        word = upper ? word >> half : word;
        before -= upper ? low : 0;
        bit += upper ? half : 0;
    }
    return bit;
}

/* All lanes together: the lane whose share holds item `rank`; a lane's share ends at `end`. */
static __device__ inline int lane_with(int rank, int end)
{
    int of = 0;
#pragma unroll
    for (int half = WARP / 2; half > 0; half /= 2)
        of += __shfl_sync(ALL_LANES, end, of + half - 1) <= rank ? half : 0;
    return of;
}

/*
 * All lanes together: unite the pairs of a word with the merged row (dy, dz) away, those in
 * columns. Lanes have them unevenly, and a union waits long for memory, so a warp's pairs are dealt
 * out to all lanes.
 */
template <typename K>
static __device__ inline void unite_mrows(const join_params &p, row_pairs e, int y, int z, int w,
                                          int dy, int dz, uint32_t columns)
{
    const int lane = (int)threadIdx.x % WARP;
    uint32_t starts = 0, to_starts = 0;
    if (any_pair(e)) {
        const mrow_word from = mrow_word_at<K>(p, y, z, w);
        const mrow_word to = mrow_word_at<K>(p, y + dy, z + dz, w);
        const uint32_t right = K::diagonal ? mrow_word_at<K>(p, y + dy, z + dz, w + 1).joined : 0;
        e = needed_pairs(e, from.joined, to.joined, right, 0);
        e.same &= columns;
        e.back &= columns;
        e.ahead &= columns;
        starts = from.starts;
        to_starts = to.starts;
    }
    const int mine = __popc(e.same) + __popc(e.back) + __popc(e.ahead);
    int end = mine;
    for (int apart = 1; apart < WARP; apart *= 2) {
        const int other = __shfl_up_sync(ALL_LANES, end, apart);
        if (lane >= apart) end += other;
    }
    const int total = __shfl_sync(ALL_LANES, end, WARP - 1);
    for (int rank = lane; rank - lane < total; rank += WARP) {
        const int of = lane_with(rank, end);
        int before = rank - __shfl_sync(ALL_LANES, end - mine, of), dx = 0;
        uint32_t bits = __shfl_sync(ALL_LANES, e.same, of);
        if (K::diagonal) {
            const uint32_t back = __shfl_sync(ALL_LANES, e.back, of), same = bits;
            const uint32_t ahead = __shfl_sync(ALL_LANES, e.ahead, of);
            const int after_same = before - __popc(same), after_back = after_same - __popc(back);
            dx = after_same < 0 ? 0 : after_back < 0 ? -1 : 1;
            bits = dx == 0 ? same : dx < 0 ? back : ahead;
            before = dx == 0 ? before : dx < 0 ? after_same : after_back;
        }
        const int of_y = __shfl_sync(ALL_LANES, y, of), of_z = __shfl_sync(ALL_LANES, z, of);
        const int of_w = __shfl_sync(ALL_LANES, w, of);
        const uint32_t of_starts = __shfl_sync(ALL_LANES, starts, of);
        const uint32_t of_to = __shfl_sync(ALL_LANES, to_starts, of);
        const bool wanted = rank < total;
        uint32_t a = 0, b = 0;
        if (wanted) {
            const int bit = bit_with(bits, before), to = bit + dx;
            a = piece_at(p, of_y, of_z, of_w, of_starts, bit);
            b = to < 0       ? last_piece(p, of_y + dy, of_z + dz, of_w - 1)
                : to >= WORD ? first_piece(p, of_y + dy, of_z + dz, of_w + 1)
                             : piece_at(p, of_y + dy, of_z + dz, of_w, of_to, to);
        }
        unite_wanted(p.parent, wanted, a, b);
    }
}

/* Words of all merged rows that begin a tile along y or z and have another tile before them. */
static __host__ __device__ inline int64_t words_at_borders(const join_params &p, bool across_z)
{
    const int64_t borders = (across_z ? p.tiles_z : p.tiles_y) - 1;
    return borders * (across_z ? p.mrows_y : p.mrows_z) * p.words;
}

/* Logarithm of how many lanes share a word, as many columns each. Where there are few words there
 * are lanes enough that none takes a second one. */
static __host__ __device__ inline int part_bits(int64_t words)
{
    int bits = 0;
    while (1 << bits < WORD && words << bits < FEW_LANES) bits++;
    return bits;
}

/* Lanes for the borders across an axis: whole warps, each of one axis. */
static __host__ __device__ inline int64_t lanes_at_borders(const join_params &p, bool across_z)
{
    const int64_t words = words_at_borders(p, across_z);
    return ((words << part_bits(words)) + WARP - 1) / WARP * WARP;
}

/* A warp's part of the borders across an axis. Diagonal pairs that cross two borders are taken with
 * those across z. */
template <typename K>
static __device__ inline void join_at_border(const join_params &p, bool across_z, int64_t i)
{
    const int length = across_z ? p.mrows_y : p.mrows_z; /* merged rows of a border */
    const int along_bits = across_z ? p.tile_y_bits : p.tile_z_bits;
    const int bits = across_z ? p.tile_z_bits : p.tile_y_bits;
    const int64_t words = words_at_borders(p, across_z);
    const int shared = part_bits(words), width = WORD >> shared;
    const int64_t word = i >> shared, rest = word / p.words;
    const int w = (int)(word - rest * p.words), along = (int)(rest % length);
    const int border = (int)(rest / length + 1) << bits;
    const int y = across_z ? along : border, z = across_z ? border : along;
    const bool inside = word < words, first = (along & ((1 << along_bits) - 1)) == 0;
    const uint32_t columns = bits_to(width - 1) << (int)(i & ((1 << shared) - 1)) * width;
#pragma unroll 1
    for (int k = 0; k < (K::diagonal ? 3 : 1); k++) {
        row_pairs e = {0, 0, 0};
        const int dy = k == 0 ? across_z ? 0 : -1 : k == 1 ? -1 : 1;
        const int dz = k == 0 && !across_z ? 0 : -1;
        const int from_y = dy > 0 && !across_z ? y - 1 : y; /* on the border's other side */
        if (inside && k == 0) e = pairs_across<K>(p, dy, dz, y, z, w, first);
        if (inside && k > 0 && (across_z || !first))
            e = diagonals_at_border<K>(p, dy, from_y, z, w);
        unite_mrows<K>(p, e, from_y, z, w, dy, dz, columns);
    }
}

/* Borders across y, and across z. */
template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS, 4) border_kernel(join_params p)
{
    const int64_t lanes_y = lanes_at_borders(p, false), n = lanes_y + lanes_at_borders(p, true);
    const int64_t step = grid_step();
    for (int64_t i = grid_first(); i < n; i += step) {
        const bool across_z = i >= lanes_y;
        join_at_border<K>(p, across_z, across_z ? i - lanes_y : i);
    }
}

/* ---- the stage ---- */

static __global__ void __launch_bounds__(PIECE_THREADS) start_kernel(join_params p)
{
    for (int64_t i = grid_first(); i < p.pieces; i += grid_step()) p.parent[i] = (uint32_t)i;
}

/* No unions run meanwhile: every piece's root becomes its parent. In roots_before 1 for each root,
 * for the scan that follows, and 0 behind the last piece. */
static __global__ void __launch_bounds__(PIECE_THREADS) root_kernel(join_params p)
{
    for (int64_t i = grid_first(); i <= p.pieces; i += grid_step()) {
        if (i == p.pieces) { /* so that a scan ends with the sum */
            p.roots_before[i] = 0;
            break;
        }
        uint32_t root = p.parent[i];
        for (uint32_t up; (up = p.parent[root]) != root;) root = up;
        p.parent[i] = root;
        p.roots_before[i] = root == (uint32_t)i;
        if (p.first_voxel) p.first_voxel[i] = ~0ull;
    }
}

template <typename K> static lob_status join_borders_of(call *c, lob_error *error)
{
    const join_params &p = c->join;
    const int64_t x = (int64_t)(p.tiles_x - 1) * p.mrows_y * p.mrows_z;
    const int64_t words = words_at_borders(p, false) + words_at_borders(p, true);
    const int64_t others = lanes_at_borders(p, false) + lanes_at_borders(p, true);
    LOB_TRY(lob_launch_over(c->device, start_kernel, "joining tiles", p.pieces, PIECE_THREADS, p,
                            error));
    LOB_TRY(lob_launch_over(c->device, border_x_kernel<K>, "joining across x", x, BORDER_THREADS, p,
                            error));
    if (x && words > p.pieces / 64) /* shorter paths pay where many pairs come next */
        LOB_TRY(lob_launch_over(c->device, root_kernel, "shortening paths", p.pieces + 1,
                                PIECE_THREADS, p, error));
    LOB_TRY(lob_launch_over(c->device, border_kernel<K>, "joining across y and z", others,
                            BORDER_THREADS, p, error));
    return lob_launch_over(c->device, root_kernel, "finding roots", p.pieces + 1, PIECE_THREADS, p,
                           error);
}

lob_status join_borders(call *c, lob_error *error)
{
    return with_kind(c->join, [&](auto kind) { return join_borders_of<decltype(kind)>(c, error); });
}

} /* namespace lob::components */
