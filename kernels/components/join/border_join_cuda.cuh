/*
 * Joining pieces across the faces of tiles: a forest over the pieces of the whole volume.
 *
 * Pairs that follow from others are left out before any piece is looked up. In a tile, pairs
 * follow from pairs in it; across x, from these and earlier ones across x; across y and z, from
 * all of those and earlier ones across the same face; so no two are left out for each other's
 * sake, whichever are united first.
 *
 * Where there are many directions they are looped over and not unrolled: these kernels wait for
 * memory, instructions too.
 */
#ifndef LOB_COMPONENTS_BORDERS_CUDA_CUH
#define LOB_COMPONENTS_BORDERS_CUDA_CUH

#include "kernels/components/join/runs_cuda.cuh"

enum {
    BORDER_THREADS = 256,
    FEW_LANES = 1 << 15 /* a device has more at once */
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
    if (wanted && (int)(threadIdx.x % WORD) == lowest_bit(lanes)) unite_pieces(parent, a, b);
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

template <typename K>
static __device__ inline face_pairs pairs_at_face(const runs &r, uint32_t own, int dy, int dz,
                                                  int y, int z, int w)
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
    const uint32_t all = rows_at_face<K>(r, y + dy, z + dz, w);
    const uint32_t to = all & rows_on_side<K>(-dy, -dz), from = own & rows_on_side<K>(dy, dz);
    c.other = left_of_face(all) && right_of_face(all);
    c.left = left_of_face(from) && left_of_face(to);
    c.right = right_of_face(from) && right_of_face(to);
    c.back = across && right_of_face(from) && left_of_face(to);
    c.ahead = across && left_of_face(from) && right_of_face(to);
    return c;
}

/*
 * Unions across x of a line with itself, bit 0, and of its right and left voxel with those of line
 * i before it, bits 1 + 2 i and 2 + 2 i. Those of lines of the same two tiles follow.
 */
template <typename K>
static __device__ inline uint32_t wanted_across_x(const runs &r, int y, int z, int w)
{
    const int last_y = (1 << r.tile_y_bits) - 1, local_y = y & last_y;
    const int local_z = z & ((1 << r.tile_z_bits) - 1);
    const uint32_t rows = K::directed ? 0 : rows_at_face<K>(r, y, z, w);
    const bool own = K::directed ? row_word(r, r.plane[0], y, z, w) & 1
                                 : left_of_face(rows) && right_of_face(rows);
    uint32_t wanted = own;
    constexpr int unrolled = has_diagonal<K>() ? 1 : 2;
    if (!K::directed && !rows) return 0;
#pragma unroll unrolled
    for (int i = 0; i < (K::near == 3 ? 4 : 2); i++) {
        const int dy = before_y(i), dz = before_z(i);
        const bool apart = local_y + dy < 0 || local_y + dy > last_y || local_z + dz < 0 ||
                           (dy && !r.along[1]) || (dz && !r.along[2]);
        if (apart && has_diagonal<K>()) continue; /* else all loads are on their way at once */
        const face_pairs c = pairs_at_face<K>(r, rows, dy, dz, y, z, w);
        if (!apart && i < 2 && c.other && c.left && c.right) wanted &= ~1u;
        if (c.back && !(own && c.left) && !(c.other && c.right)) wanted |= 2u << 2 * i;
        if (c.ahead && !(own && c.right) && !(c.other && c.left)) wanted |= 4u << 2 * i;
    }
    return wanted;
}

template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS) border_x_kernel(runs r)
{
    const int64_t faces = r.tiles_x - 1, n = faces * r.ly * r.lz;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    const int lane = (int)threadIdx.x % WORD;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i - lane < n; i += step) {
        const int64_t line = i / faces; /* lanes next to each other share rows */
        const int w = (int)(i - line * faces + 1) * TILE_WORDS;
        const int z = (int)(line / r.ly), y = (int)(line - (int64_t)z * r.ly);
        uint32_t left = i < n && r.along[0] ? wanted_across_x<K>(r, y, z, w) : 0;
        while (__any_sync(~0u, left != 0)) {
            uint32_t a = 0, b = 0;
            const bool wanted = left != 0;
            if (wanted) {
                const int bit = lowest_bit(left), line = (bit - 1) / 2;
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

/* The bit of a word with so many below it; the word has more. */
static __device__ inline int bit_with(uint32_t word, int below)
{
    int bit = 0;
#pragma unroll
    for (int half = WORD / 2; half > 0; half /= 2) {
        const int low = __popc(word & ((1u << half) - 1));
        const bool up = below >= low;
        word = up ? word >> half : word;
        below -= up ? low : 0;
        bit += up ? half : 0;
    }
    return bit;
}

/* All lanes together: the lane that has number `rank`; lanes have those before their ends. */
static __device__ inline int lane_with(int rank, int end)
{
    int of = 0;
#pragma unroll
    for (int half = WORD / 2; half > 0; half /= 2)
        of += __shfl_sync(~0u, end, of + half - 1) <= rank ? half : 0;
    return of;
}

/*
 * All lanes together: unite a word's pairs with line (y + dy, z + dz), those in columns. Lanes have
 * them unevenly and each waits for long, so that a warp's pairs are shared out to all lanes.
 */
template <typename K>
static __device__ inline void unite_lines(const runs &r, lob_row_pairs e, int y, int z, int w,
                                          int dy, int dz, uint32_t columns)
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
    for (int rank = lane; rank - lane < total; rank += WORD) {
        const int of = lane_with(rank, end);
        int below = rank - __shfl_sync(~0u, end - mine, of), dx = 0;
        uint32_t bits = __shfl_sync(~0u, e.same, of);
        if (has_diagonal<K>()) {
            const uint32_t back = __shfl_sync(~0u, e.back, of), same = bits;
            const uint32_t ahead = __shfl_sync(~0u, e.ahead, of);
            const int after_same = below - __popc(same), after_back = after_same - __popc(back);
            dx = after_same < 0 ? 0 : after_back < 0 ? -1 : 1;
            bits = dx == 0 ? same : dx < 0 ? back : ahead;
            below = dx == 0 ? below : dx < 0 ? after_same : after_back;
        }
        const int of_y = __shfl_sync(~0u, y, of), of_z = __shfl_sync(~0u, z, of);
        const int of_w = __shfl_sync(~0u, w, of);
        const uint32_t of_starts = __shfl_sync(~0u, starts, of);
        const uint32_t of_to = __shfl_sync(~0u, to_starts, of);
        const bool wanted = rank < total;
        uint32_t a = 0, b = 0;
        if (wanted) {
            const int bit = bit_with(bits, below), to = bit + dx;
            a = id_at(r, of_y, of_z, of_w, of_starts, bit);
            b = to < 0       ? last_id(r, of_y + dy, of_z + dz, of_w - 1)
                : to >= WORD ? first_id(r, of_y + dy, of_z + dz, of_w + 1)
                             : id_at(r, of_y + dy, of_z + dz, of_w, of_to, to);
        }
        unite_wanted(r.parent, wanted, a, b);
    }
}

/* The words of all lines that begin a tile along an axis: the faces between tiles. */
static __host__ __device__ inline int64_t words_at_faces(const runs &r, bool along_z)
{
    const int64_t faces = (along_z ? r.tiles_z : r.tiles_y) - 1;
    return faces * (along_z ? r.ly : r.lz) * r.words;
}

/*
 * Logarithm of how many lanes share a word of a face, as many columns each, where there are few
 * words: a lane has none to wait for then.
 */
static __host__ __device__ inline int part_bits(int64_t words)
{
    int bits = 0;
    while (1 << bits < WORD && words << bits < FEW_LANES) bits++;
    return bits;
}

/* Lanes for the faces along an axis: whole warps, each of one axis. */
static __host__ __device__ inline int64_t lanes_at_faces(const runs &r, bool along_z)
{
    const int64_t words = words_at_faces(r, along_z);
    return ((words << part_bits(words)) + WORD - 1) / WORD * WORD;
}

/* A warp's part of the faces along an axis. Edges cross two faces; those that lie at one along y
 * are taken with those along z. */
template <typename K>
static __device__ inline void join_at_face(const runs &r, bool along_z, int64_t i)
{
    const int length = along_z ? r.ly : r.lz; /* lines of a face */
    const int along_bits = along_z ? r.tile_y_bits : r.tile_z_bits;
    const int bits = along_z ? r.tile_z_bits : r.tile_y_bits;
    const int64_t words = words_at_faces(r, along_z);
    const int shared = part_bits(words), width = WORD >> shared;
    const int64_t word = i >> shared, rest = word / r.words;
    const int w = (int)(word - rest * r.words), along = (int)(rest % length);
    const int face = (int)(rest / length + 1) << bits;
    const int y = along_z ? along : face, z = along_z ? face : along;
    const bool inside = word < words, first = (along & ((1 << along_bits) - 1)) == 0;
    const uint32_t columns = lob_bits_to(width - 1) << (int)(i & ((1 << shared) - 1)) * width;
#pragma unroll 1
    for (int k = 0; k < (has_diagonal<K>() ? 3 : 1); k++) {
        lob_row_pairs e = {0, 0, 0};
        const int dy = k == 0 ? along_z ? 0 : -1 : k == 1 ? -1 : 1;
        const int dz = k == 0 && !along_z ? 0 : -1;
        const int from_y = dy > 0 && !along_z ? y - 1 : y; /* on the face's other side */
        if (inside && k == 0) e = pairs_across<K>(r, dy, dz, y, z, w, first);
        if (inside && k > 0 && (along_z || !first)) e = pairs_at_edge<K>(r, dy, from_y, z, w);
        unite_lines<K>(r, e, from_y, z, w, dy, dz, columns);
    }
}

/* Faces between tiles that follow each other along y, and along z. */
template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS, 4) border_kernel(runs r)
{
    const int64_t along_y = lanes_at_faces(r, false), n = along_y + lanes_at_faces(r, true);
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const bool along_z = i >= along_y;
        join_at_face<K>(r, along_z, along_z ? i - along_y : i);
    }
}

#endif
