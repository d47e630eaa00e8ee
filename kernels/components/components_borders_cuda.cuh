/*
 * Joining pieces across the faces of tiles: a forest over the pieces of the whole volume.
 *
 * Pairs that follow from others are left out before any piece is looked up. In a tile, pairs
 * follow from pairs in it; across x, from these and earlier ones across x; across y and z, from
 * all of those and earlier ones across the same face; so no two are left out for each other's
 * sake.
 *
 * Where there are many directions they are looped over and not unrolled: these kernels wait for
 * memory, instructions too.
 */
#ifndef LOB_COMPONENTS_BORDERS_CUDA_CUH
#define LOB_COMPONENTS_BORDERS_CUDA_CUH

#include "kernels/components/components_runs_cuda.cuh"

#ifndef PART_BITS
#define PART_BITS 0
#endif
enum {
    BORDER_THREADS = 256,
    WORD_BITS = 5,      /* logarithm of WORD */
    FEW_LANES = 1 << 16 /* a device has more at once */
};

/* ---- the forest ---- */

/*
 * Parents only ever become smaller. What the multiprocessor's cache holds may be an older one: that
 * is an ancestor still, from which what all share leads on. Asking before writing matters: atomics
 * on what was a root take turns.
 */
template <bool CACHED>
static __device__ inline uint32_t parent_of(const uint32_t *parent, uint32_t id)
{
    return CACHED ? __ldca(parent + id) : __ldcg(parent + id);
}

/* Both ways to their ends at once. Returns whether they meet before. */
template <bool CACHED>
static __device__ inline bool meet(const uint32_t *parent, uint32_t &a, uint32_t &b)
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
    if (meet<true>(parent, a, b)) return;
    while (!meet<false>(parent, a, b)) {
        const uint32_t low = a < b ? a : b, high = a < b ? b : a;
        const uint32_t before = atomicMin(&parent[high], low);
        if (before == high) return;
        a = before;
        b = low;
    }
}

/*
 * All lanes of a warp together: unite two pieces where wanted. Lanes are neighbours on a face,
 * where many want the same: one of them does it.
 */
static __device__ inline void unite_wanted(uint32_t *parent, bool wanted, uint32_t a, uint32_t b)
{
    if (wanted) {
        a = parent_of<true>(parent, a);
        b = parent_of<true>(parent, b);
    }
    wanted = wanted && a != b;
    const wide pair = wanted ? (wide)a << 32 | b : ~(wide)0;
    const uint32_t lanes = __match_any_sync(~0u, pair);
    if (wanted && (int)(threadIdx.x % WORD) == __ffs((int)lanes) - 1) unite_pieces(parent, a, b);
}

/* The lines before a line, by number: (-1, 0), (0, -1), (-1, -1), (1, -1). */
static __device__ inline int before_y(int line)
{
    return line == 1 ? 0 : line == 3 ? 1 : -1;
}

static __device__ inline int before_z(int line)
{
    return line > 0 ? -1 : 0;
}

/* ---- across x ---- */

/* Which of a line's voxels left and right of a face, and of another line's, are joined. */
typedef struct {
    bool other;       /* the other line's own two */
    bool back, ahead; /* the line's right one with the other's left one; and crosswise */
    bool left, right; /* the two of a column */
} face_pairs;

/* Bit i, and bit 16 + i: row i of a line has a voxel left, and right, of the face before a word. */
template <typename K>
static __device__ inline uint32_t rows_at_face(const runs &r, int y, int z, int w)
{
    uint32_t rows = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++) {
        const int row_y = y * K::by + i % K::by, row_z = z * K::bz + i / K::by;
        rows |= row_word(r, r.filled, row_y, row_z, w - 1) >> 31 << i;
        rows |= (row_word(r, r.filled, row_y, row_z, w) & 1) << (16 + i);
    }
    return rows;
}

/* Those rows of a line that face another. */
template <typename K> static __device__ inline uint32_t rows_on_side(int dy, int dz)
{
    uint32_t rows = 0;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++)
        if (on_side<K>(i, dy, dz)) rows |= 0x10001u << i;
    return rows;
}

static __device__ inline bool left_of_face(uint32_t rows)
{
    return rows & 0xffff;
}

static __device__ inline bool right_of_face(uint32_t rows)
{
    return rows >> 16;
}

/* Rows: of the line, and of the other one; with directions, their planes are looked at instead. */
template <typename K>
static __device__ inline face_pairs pairs_at_face(const runs &r, uint32_t rows, uint32_t others,
                                                  int dy, int dz, int y, int z, int w)
{
    face_pairs c;
    const bool across = goes_across<K>(dy, dz);
    if (K::directed) {
        c.other = row_word(r, r.plane[0], y + dy, z + dz, w) & 1;
        c.left = plane_word(r, 0, dy, dz, y, z, w - 1) >> 31;
        c.right = plane_word(r, 0, dy, dz, y, z, w) & 1;
        c.back = across && (plane_word(r, -1, dy, dz, y, z, w) & 1);
        c.ahead = across && plane_word(r, 1, dy, dz, y, z, w - 1) >> 31;
        return c;
    }
    const uint32_t from = rows & rows_on_side<K>(dy, dz), to = others & rows_on_side<K>(-dy, -dz);
    c.other = left_of_face(others) && right_of_face(others);
    c.left = left_of_face(from) && left_of_face(to);
    c.right = right_of_face(from) && right_of_face(to);
    c.back = across && right_of_face(from) && left_of_face(to);
    c.ahead = across && left_of_face(from) && right_of_face(to);
    return c;
}

/*
 * Lines along y that lanes go over: such a multiple that lanes next to each other have lines next
 * to each other of a tile, wherever a tile has them.
 */
static __host__ __device__ inline int64_t lines_of_lanes(const runs &r)
{
    const int bits = r.tile_y_bits < WORD_BITS ? r.tile_y_bits : WORD_BITS;
    return (((int64_t)r.ly - 1) >> bits) + 1 << bits;
}

/* Rows at a face of the lines that a lane and those beside it have. */
typedef struct {
    uint32_t here, below;               /* lines (y, z) and (y, z - 1) */
    uint32_t beside_here, beside_below; /* of the lane before the first, or after the last */
} lane_rows;

template <typename K>
static __device__ inline lane_rows rows_of_lanes(const runs &r, int y, int z, int w, bool inside,
                                                 bool low)
{
    lane_rows rows = {0, 0, 0, 0};
    const int lane = (int)threadIdx.x % WORD, beside = lane == 0 ? -1 : 1;
    if (inside) rows.here = rows_at_face<K>(r, y, z, w);
    if (!__any_sync(~0u, rows.here != 0)) return rows;
    if (inside && low) rows.below = rows_at_face<K>(r, y, z - 1, w);
    if (r.tile_y_bits <= WORD_BITS || !inside || (lane != 0 && lane != WORD - 1)) return rows;
    rows.beside_here = rows_at_face<K>(r, y + beside, z, w);
    if (low) rows.beside_below = rows_at_face<K>(r, y + beside, z - 1, w);
    return rows;
}

/* All lanes together: the rows of the line dy away. */
static __device__ inline uint32_t rows_beside(const lane_rows &rows, int dy, int dz)
{
    const int lane = (int)threadIdx.x % WORD, other = lane + dy;
    const uint32_t own = dz ? rows.below : rows.here;
    const uint32_t its = dy ? __shfl_sync(~0u, own, other & (WORD - 1)) : own;
    return 0 <= other && other < WORD ? its : dz ? rows.beside_below : rows.beside_here;
}

/*
 * All lanes together: unions across x of a line with itself, bit 0, and of its right and left voxel
 * with those of line i before it, bits 1 + 2 i and 2 + 2 i. Those of lines of the same two tiles
 * follow.
 */
template <typename K>
static __device__ inline uint32_t wanted_across_x(const runs &r, int y, int z, int w, bool inside)
{
    const int last_y = (1 << r.tile_y_bits) - 1, local_y = y & last_y;
    const int local_z = z & ((1 << r.tile_z_bits) - 1);
    lane_rows rows = {0, 0, 0, 0};
    if (!K::directed) {
        rows = rows_of_lanes<K>(r, y, z, w, inside, local_z > 0 && r.along[2]);
        if (!__any_sync(~0u, rows.here != 0)) return 0;
    } else if (!inside)
        return 0;
    const bool own = K::directed ? row_word(r, r.plane[0], y, z, w) & 1
                                 : left_of_face(rows.here) && right_of_face(rows.here);
    uint32_t wanted = own;
    constexpr int unrolled = K::directed && has_diagonal<K>() ? 1 : 4;
#pragma unroll unrolled
    for (int i = 0; i < (K::near == 3 ? 4 : 2); i++) {
        const int dy = before_y(i), dz = before_z(i);
        const bool apart = local_y + dy < 0 || local_y + dy > last_y || local_z + dz < 0 ||
                           (dy && !r.along[1]) || (dz && !r.along[2]);
        const uint32_t others = K::directed ? 0 : rows_beside(rows, dy, dz);
        if (apart && has_diagonal<K>()) continue; /* else all loads are on their way at once */
        const face_pairs c = pairs_at_face<K>(r, rows.here, others, dy, dz, y, z, w);
        if (!apart && i < 2 && c.other && c.left && c.right) wanted &= ~1u;
        if (c.back && !(own && c.left) && !(c.other && c.right)) wanted |= 2u << 2 * i;
        if (c.ahead && !(own && c.right) && !(c.other && c.left)) wanted |= 4u << 2 * i;
    }
    return wanted;
}

template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS) border_x_kernel(runs r)
{
    const int64_t lines = lines_of_lanes(r), n = (int64_t)(r.tiles_x - 1) * lines * r.lz;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    const int lane = (int)threadIdx.x % WORD;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i - lane < n; i += step) {
        const int64_t rest = i / lines;
        const int y = (int)(i - rest * lines), z = (int)(rest / (r.tiles_x - 1));
        const int w = (int)(rest % (r.tiles_x - 1) + 1) * TILE_WORDS;
        const bool inside = i < n && y < r.ly && r.along[0];
        uint32_t left = wanted_across_x<K>(r, y, z, w, inside);
        while (__any_sync(~0u, left != 0)) {
            uint32_t a = 0, b = 0;
            const bool wanted = left != 0;
            if (wanted) {
                const int bit = __ffs((int)left) - 1, line = (bit - 1) / 2;
                const int dy = bit ? before_y(line) : 0, dz = bit ? before_z(line) : 0;
                const bool back = bit & 1;
                a = back ? first_id(r, y, z, w) : first_id(r, y + dy, z + dz, w);
                b = back ? last_id(r, y + dy, z + dz, w - 1) : last_id(r, y, z, w - 1);
            }
            unite_wanted(r.parent, wanted, a, b);
            left &= left - 1;
        }
    }
}

/* ---- across y and z ---- */

/*
 * Pairs of line (y, z) across a face, (dy, dz) away. They follow where the lines next to both along
 * the face, in the same two tiles, are joined with them and with each other.
 */
template <typename K>
static __device__ inline lob_row_pairs pairs_across(const runs &r, int dy, int dz, int y, int z,
                                                    int w, bool first)
{
    const int ay = dz, az = dy; /* along the face */
    lob_row_pairs e = pairs_word<K>(r, dy, dz, y, z, w);
    if (first || !any_pair(e)) return e;
    const lob_row_pairs before = pairs_word<K>(r, dy, dz, y + ay, z + az, w);
    if (!any_pair(before)) return e;
    const uint32_t from = same_word<K>(r, ay, az, y, z, w);
    const uint32_t to = same_word<K>(r, ay, az, y + dy, z + dz, w);
    e.same &= ~(from & to & before.same);
    if (!goes_across<K>(dy, dz)) return e;
    const uint32_t left = same_word<K>(r, ay, az, y + dy, z + dz, w - 1);
    const uint32_t right = same_word<K>(r, ay, az, y + dy, z + dz, w + 1);
    e.back &= ~(from & lob_bits_back(to, left) & before.back);
    e.ahead &= ~(from & lob_bits_ahead(to, right) & before.ahead);
    return e;
}

/*
 * Edges: pairs with the lines (-1, -1) and (1, -1) away. They follow where the line (0, -1) away
 * is joined with both, which edges themselves never have a say in.
 */
template <typename K>
static __device__ inline lob_row_pairs pairs_at_edge(const runs &r, int dy, int y, int z, int w)
{
    lob_row_pairs e = pairs_word<K>(r, dy, -1, y, z, w);
    if (!any_pair(e)) return e;
    const uint32_t below = same_word<K>(r, 0, -1, y, z, w);
    const lob_row_pairs beside = pairs_word<K>(r, -1, 0, dy < 0 ? y : y + 1, z - 1, w);
    e.same &= ~(below & beside.same);
    e.back &= ~(below & (dy < 0 ? beside.back : beside.ahead << 1));
    e.ahead &= ~(below & (dy < 0 ? beside.ahead : beside.back >> 1));
    return e;
}

/* Take one of the pairs: its bit, and 1 + dx above WORD_BITS. */
template <typename K> static __device__ inline uint32_t take_pair(lob_row_pairs *e)
{
    const bool same = !has_diagonal<K>() || e->same, back = !same && e->back;
    const uint32_t bits = same ? e->same : back ? e->back : e->ahead, one = bits & -bits;
    e->same ^= same ? one : 0;
    e->back ^= back ? one : 0;
    e->ahead ^= same || back ? 0 : one;
    return (uint32_t)(__ffs((int)one) - 1) | (same ? 1u : back ? 0u : 2u) << WORD_BITS;
}

/*
 * All lanes together: unite a word's pairs with line (y + dy, z + dz), those in columns. Lanes find
 * them unevenly and each waits for long, so that a warp's pairs are listed and taken by all lanes;
 * list: WORD of the warp's.
 */
template <typename K>
static __device__ inline void unite_lines(const runs &r, lob_row_pairs e, int y, int z, int w,
                                          int dy, int dz, uint32_t columns, uint32_t *list)
{
    const int lane = (int)threadIdx.x % WORD;
    uint32_t starts = 0, to_starts = 0;
    if (any_pair(e)) {
        const line_word from = line_word_at<K>(r, y, z, w);
        const line_word to = line_word_at<K>(r, y + dy, z + dz, w);
        const uint32_t right = has_diagonal<K>() ? joined_word<K>(r, y + dy, z + dz, w + 1) : 0;
        e = lob_row_pairs_needed(e, from.joined, to.joined, right, 0);
        e.same &= columns;
        e.back &= columns;
        e.ahead &= columns;
        starts = from.starts;
        to_starts = to.starts;
    }
    const int mine = __popc(e.same) + __popc(e.back) + __popc(e.ahead);
    int end = mine;
    for (int apart = 1; apart < WORD; apart *= 2) {
        const int other = __shfl_up_sync(~0u, end, apart);
        if (lane >= apart) end += other;
    }
    const int total = __shfl_sync(~0u, end, WORD - 1);
    int at = end - mine;
    for (int first = 0; first < total; first += WORD) {
        __syncwarp();
        for (; at < end && at < first + WORD; at++)
            list[at - first] = (uint32_t)lane << (WORD_BITS + 2) | take_pair<K>(&e);
        __syncwarp();
        const bool wanted = first + lane < total;
        const uint32_t pair = wanted ? list[lane] : 0;
        const int of = (int)(pair >> (WORD_BITS + 2)), bit = (int)(pair & (WORD - 1));
        const int dx = has_diagonal<K>() ? (int)(pair >> WORD_BITS & 3) - 1 : 0, to = bit + dx;
        const int of_y = __shfl_sync(~0u, y, of), of_z = __shfl_sync(~0u, z, of);
        const int of_w = __shfl_sync(~0u, w, of);
        const uint32_t of_starts = __shfl_sync(~0u, starts, of);
        const uint32_t of_to = __shfl_sync(~0u, to_starts, of);
        uint32_t a = 0, b = 0;
        if (wanted) {
            a = id_at(r, of_y, of_z, of_w, of_starts, bit);
            b = to < 0       ? last_id(r, of_y + dy, of_z + dz, of_w - 1)
                : to >= WORD ? first_id(r, of_y + dy, of_z + dz, of_w + 1)
                             : id_at(r, of_y + dy, of_z + dz, of_w, of_to, to);
        }
        unite_wanted(r.parent, wanted, a, b);
    }
}

/*
 * Logarithm of how many lanes share a word of a face, as many columns each, where there are few
 * words: a lane has none to wait for then.
 */
template <typename K> static __host__ __device__ inline int part_bits(int64_t words)
{
    int bits = has_diagonal<K>() ? PART_BITS : 0;
    while (1 << bits < WORD && words << bits < FEW_LANES) bits++;
    return bits;
}

/*
 * Faces between tiles that follow each other along y, or along z: the words of all lines that begin
 * a tile. Edges cross both; where y does, z's kernel takes them.
 */
template <typename K, bool ALONG_Z>
static __global__ void __launch_bounds__(BORDER_THREADS, 4) border_kernel(runs r)
{
    __shared__ uint32_t list[BORDER_THREADS];
    const int lane = (int)threadIdx.x % WORD;
    const int length = ALONG_Z ? r.ly : r.lz; /* lines of a face */
    const int along_bits = ALONG_Z ? r.tile_y_bits : r.tile_z_bits;
    const int bits = ALONG_Z ? r.tile_z_bits : r.tile_y_bits;
    const int64_t faces = (ALONG_Z ? r.tiles_z : r.tiles_y) - 1;
    const int64_t words = faces * length * r.words, step = (int64_t)gridDim.x * blockDim.x;
    const int shared = part_bits<K>(words), width = WORD >> shared;
    const int64_t n = words << shared;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i - lane < n; i += step) {
        const int64_t word = i >> shared, rest = word / r.words;
        const int w = (int)(word - rest * r.words), along = (int)(rest % length);
        const int face = (int)(rest / length + 1) << bits;
        const int y = ALONG_Z ? along : face, z = ALONG_Z ? face : along;
        const bool inside = i < n, first = (along & ((1 << along_bits) - 1)) == 0;
        const uint32_t columns = lob_bits_to(width - 1) << (int)(i & ((1 << shared) - 1)) * width;
#pragma unroll 1
        for (int k = 0; k < (has_diagonal<K>() ? 3 : 1); k++) {
            lob_row_pairs e = {0, 0, 0};
            const int dy = k == 0 ? ALONG_Z ? 0 : -1 : k == 1 ? -1 : 1;
            const int dz = k == 0 && !ALONG_Z ? 0 : -1;
            const int from_y = dy > 0 && !ALONG_Z ? y - 1 : y; /* on the face's other side */
            if (inside && k == 0) e = pairs_across<K>(r, dy, dz, y, z, w, first);
            if (inside && k > 0 && (ALONG_Z || !first)) e = pairs_at_edge<K>(r, dy, from_y, z, w);
            unite_lines<K>(r, e, from_y, z, w, dy, dz, columns, list + threadIdx.x - lane);
        }
    }
}

#endif
