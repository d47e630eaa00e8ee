/*
 * Joining pieces across the faces of tiles: a forest over the pieces of the whole volume.
 *
 * Pairs that follow from others are left out before any piece is looked up. In a tile, pairs
 * follow from pairs in it; across x, from these and earlier ones across x; across y and z, from
 * all of those and earlier ones across the same face; so no two are left out for each other's
 * sake.
 */
#ifndef LOB_COMPONENTS_BORDERS_CUDA_CUH
#define LOB_COMPONENTS_BORDERS_CUDA_CUH

#include "kernels/components/components_runs_cuda.cuh"

enum { BORDER_THREADS = 256 };

/*
 * Parents only ever become smaller. What the multiprocessor's cache holds may be an older one: that
 * is an ancestor still, from which what all share leads on. Asking before writing matters: atomics
 * on what was a root take turns.
 */
static __device__ inline uint32_t ancestor_of(const uint32_t *parent, uint32_t id)
{
    for (uint32_t up; (up = __ldca(parent + id)) != id;) id = up;
    for (uint32_t up; (up = __ldcg(parent + id)) != id;) id = up;
    return id;
}

static __device__ inline void unite_pieces(uint32_t *parent, uint32_t a, uint32_t b)
{
    for (;;) {
        a = ancestor_of(parent, a);
        b = ancestor_of(parent, b);
        if (a == b) return;
        const uint32_t low = a < b ? a : b, high = a < b ? b : a;
        const uint32_t before = atomicMin(&parent[high], low);
        if (before == high) return;
        a = before;
        b = low;
    }
}

/* A word of a line, for looking up the pieces of its voxels. */
template <typename K> struct border_word {
    int y, z, w;
    uint32_t starts;

    __device__ border_word(const runs &r, int y_, int z_, int w_)
        : y(y_), z(z_), w(w_), starts(starts_word<K>(r, y_, z_, w_))
    {
    }

    __device__ uint32_t id(const runs &r, int bit) const
    {
        return id_at<K>(r, y, z, w, starts, bit);
    }
};

/* ---- across x ---- */

/* Bit 0 of e.back, and of the left word's ahead as bit 31, between this line and another. */
typedef struct {
    bool back, ahead; /* the right word's first voxel with the other's left; and crosswise */
    bool left, right; /* the lines are joined in the column left and right of the face */
} column_pairs;

template <typename K, int DY, int DZ>
static __device__ inline column_pairs pairs_at_face(const runs &r, int y, int z, int w)
{
    const lob_row_pairs right = pairs_word<K>(r, DY, DZ, y, z, w);
    const lob_row_pairs left = pairs_word<K>(r, DY, DZ, y, z, w - 1);
    column_pairs c;
    c.back = right.back & 1;
    c.ahead = left.ahead >> 31;
    c.left = left.same >> 31;
    c.right = right.same & 1;
    return c;
}

/*
 * All lanes of a warp together: unite the piece of a word's first voxel with that of the last voxel
 * of a word to the left, where wanted. Lanes are neighbours along the face, where most of them want
 * the same two pieces united: one of them does it.
 */
template <typename K>
static __device__ inline void unite_columns(const runs &r, bool wanted, int y, int z, int w,
                                            int left_y, int left_z)
{
    uint32_t a = ~0u, b = ~0u;
    if (wanted) {
        a = border_word<K>(r, y, z, w).id(r, 0);
        b = border_word<K>(r, left_y, left_z, w - 1).id(r, 31);
    }
    const uint32_t a_before = __shfl_up_sync(~0u, a, 1), b_before = __shfl_up_sync(~0u, b, 1);
    const bool again = threadIdx.x % WORD > 0 && a == a_before && b == b_before;
    if (wanted && !again) unite_pieces(r.parent, a, b);
}

/*
 * All lanes together: the pairs across x of a line with another of its tile, where that is there,
 * its own pair given.
 */
template <typename K, int DY, int DZ>
static __device__ inline void unite_across_x(const runs &r, bool there, int y, int z, int w,
                                             bool own)
{
    column_pairs c = {};
    if (there) c = pairs_at_face<K, DY, DZ>(r, y, z, w);
    const bool other = (c.back || c.ahead) && (joined_word<K>(r, y + DY, z + DZ, w) & 1);
    unite_columns<K>(r, c.back && !(own && c.left) && !(other && c.right), y, z, w, y + DY, z + DZ);
    unite_columns<K>(r, c.ahead && !(own && c.right) && !(other && c.left), y + DY, z + DZ, w, y,
                     z);
}

/* Whether a line's own pair across x follows from that of the line (DY, DZ) away. */
template <typename K, int DY, int DZ>
static __device__ inline bool follows_across_x(const runs &r, int y, int z, int w)
{
    return (joined_word<K>(r, y + DY, z + DZ, w) & 1) &&
           (pairs_word<K>(r, DY, DZ, y, z, w).same & 1) &&
           pairs_word<K>(r, DY, DZ, y, z, w - 1).same >> 31;
}

template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS) border_x_kernel(runs r)
{
    const int64_t n = (int64_t)(r.tiles_x - 1) * r.ly * r.lz;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    const int lane = (int)threadIdx.x % WORD;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i - lane < n; i += step) {
        const bool inside = i < n;
        const int64_t rest = i / r.ly;
        const int y = (int)(i - rest * r.ly), z = (int)(rest / (r.tiles_x - 1));
        const int w = (int)(rest % (r.tiles_x - 1) + 1) * TILE_WORDS;
        const int local_y = y & ((1 << r.tile_y_bits) - 1);
        const int local_z = z & ((1 << r.tile_z_bits) - 1);
        const bool up = inside && local_y > 0, down = inside && local_z > 0;
        const bool own = inside && (joined_word<K>(r, y, z, w) & 1);
        const bool follows = own && ((up && follows_across_x<K, -1, 0>(r, y, z, w)) ||
                                     (down && follows_across_x<K, 0, -1>(r, y, z, w)));
        unite_columns<K>(r, own && !follows, y, z, w, y, z);
        if (!has_diagonal<K>()) continue;
        unite_across_x<K, -1, 0>(r, up, y, z, w, own);
        unite_across_x<K, 0, -1>(r, down, y, z, w, own);
        unite_across_x<K, -1, -1>(r, up && down, y, z, w, own);
        unite_across_x<K, 1, -1>(r, down && local_y < (1 << r.tile_y_bits) - 1, y, z, w, own);
    }
}

/* ---- across y and z ---- */

/* Unite a word's pairs with a line, one after the other, a pair of pieces once in a row. */
template <typename K>
static __device__ inline void unite_lines(const runs &r, int y, int z, int w, int to_y, int to_z,
                                          const lob_row_pairs &e)
{
    if (!(e.same | e.back | e.ahead)) return;
    const border_word<K> from(r, y, z, w), to(r, to_y, to_z, w);
    uint32_t last_a = ~0u, last_b = ~0u;
    for (uint32_t left = e.same; left; left &= left - 1) {
        const int bit = __ffs(left) - 1;
        const uint32_t a = from.id(r, bit), b = to.id(r, bit);
        if (a != last_a || b != last_b) unite_pieces(r.parent, a, b);
        last_a = a;
        last_b = b;
    }
    for (uint32_t left = e.back; left; left &= left - 1) {
        const int bit = __ffs(left) - 1;
        const uint32_t a = from.id(r, bit);
        const uint32_t b = bit ? to.id(r, bit - 1) : border_word<K>(r, to_y, to_z, w - 1).id(r, 31);
        if (a != last_a || b != last_b) unite_pieces(r.parent, a, b);
        last_a = a;
        last_b = b;
    }
    for (uint32_t left = e.ahead; left; left &= left - 1) {
        const int bit = __ffs(left) - 1;
        const uint32_t a = from.id(r, bit);
        const uint32_t b =
            bit < 31 ? to.id(r, bit + 1) : border_word<K>(r, to_y, to_z, w + 1).id(r, 0);
        if (a != last_a || b != last_b) unite_pieces(r.parent, a, b);
        last_a = a;
        last_b = b;
    }
}

static __device__ inline bool any_pair(const lob_row_pairs &e)
{
    return e.same | e.back | e.ahead;
}

/* Unite what is left of a word's pairs with the line (DY, DZ) away. */
template <typename K, int DY, int DZ>
static __device__ inline void unite_left(const runs &r, int y, int z, int w, const lob_row_pairs &e)
{
    if (!any_pair(e)) return;
    unite_lines<K>(r, y, z, w, y + DY, z + DZ,
                   lob_row_pairs_needed(e, joined_word<K>(r, y, z, w),
                                        joined_word<K>(r, y + DY, z + DZ, w),
                                        joined_word<K>(r, y + DY, z + DZ, w + 1), 0));
}

/*
 * Pairs across y of line (y, z), or across z. They follow where the lines next to both along the
 * face, in the same two tiles, are joined with them and with each other.
 */
template <typename K>
static __device__ inline void unite_across_y(const runs &r, int y, int z, int w, bool first)
{
    lob_row_pairs e = pairs_word<K>(r, -1, 0, y, z, w);
    if (!first && any_pair(e)) {
        const uint32_t from = pairs_word<K>(r, 0, -1, y, z, w).same;
        const uint32_t left = pairs_word<K>(r, 0, -1, y - 1, z, w - 1).same;
        const uint32_t to = pairs_word<K>(r, 0, -1, y - 1, z, w).same;
        const uint32_t right = pairs_word<K>(r, 0, -1, y - 1, z, w + 1).same;
        const lob_row_pairs below = pairs_word<K>(r, -1, 0, y, z - 1, w);
        e.same &= ~(from & to & below.same);
        e.back &= ~(from & lob_bits_back(to, left) & below.back);
        e.ahead &= ~(from & lob_bits_ahead(to, right) & below.ahead);
    }
    unite_left<K, -1, 0>(r, y, z, w, e);
}

template <typename K>
static __device__ inline void unite_across_z(const runs &r, int y, int z, int w, bool first)
{
    lob_row_pairs e = pairs_word<K>(r, 0, -1, y, z, w);
    if (!first && any_pair(e)) {
        const uint32_t from = pairs_word<K>(r, -1, 0, y, z, w).same;
        const uint32_t left = pairs_word<K>(r, -1, 0, y, z - 1, w - 1).same;
        const uint32_t to = pairs_word<K>(r, -1, 0, y, z - 1, w).same;
        const uint32_t right = pairs_word<K>(r, -1, 0, y, z - 1, w + 1).same;
        const lob_row_pairs before = pairs_word<K>(r, 0, -1, y - 1, z, w);
        e.same &= ~(from & to & before.same);
        e.back &= ~(from & lob_bits_back(to, left) & before.back);
        e.ahead &= ~(from & lob_bits_ahead(to, right) & before.ahead);
    }
    unite_left<K, 0, -1>(r, y, z, w, e);
}

/*
 * Edges: pairs with the lines (-1, -1) and (1, -1) away. They follow where the line (0, -1) away
 * is joined with both, which edges themselves never have a say in.
 */
template <typename K, int DY>
static __device__ inline void unite_edge(const runs &r, int y, int z, int w)
{
    lob_row_pairs e = pairs_word<K>(r, DY, -1, y, z, w);
    if (!any_pair(e)) return;
    const uint32_t below = pairs_word<K>(r, 0, -1, y, z, w).same;
    if (DY < 0) {
        const lob_row_pairs beside = pairs_word<K>(r, -1, 0, y, z - 1, w);
        e.same &= ~(below & beside.same);
        e.back &= ~(below & beside.back);
        e.ahead &= ~(below & beside.ahead);
    } else {
        const lob_row_pairs beside = pairs_word<K>(r, -1, 0, y + 1, z - 1, w);
        e.same &= ~(below & beside.same);
        e.back &= ~(below & beside.ahead << 1);
        e.ahead &= ~(below & beside.back >> 1);
    }
    unite_left<K, DY, -1>(r, y, z, w, e);
}

/* Faces between tiles that follow each other along y: the words of all lines that begin a tile. */
template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS) border_y_kernel(runs r)
{
    const int64_t n = (int64_t)(r.tiles_y - 1) * r.lz * r.words;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const int64_t rest = i / r.words;
        const int w = (int)(i - rest * r.words), face = (int)(rest / r.lz) + 1;
        const int z = (int)(rest % r.lz), y = face << r.tile_y_bits;
        const bool first = (z & ((1 << r.tile_z_bits) - 1)) == 0;
        unite_across_y<K>(r, y, z, w, first);
        if (!has_diagonal<K>() || first) continue; /* the others cross z too */
        unite_edge<K, -1>(r, y, z, w);
        unite_edge<K, 1>(r, y - 1, z, w);
    }
}

/* Faces between tiles that follow each other along z. */
template <typename K>
static __global__ void __launch_bounds__(BORDER_THREADS) border_z_kernel(runs r)
{
    const int64_t n = (int64_t)(r.tiles_z - 1) * r.ly * r.words;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        const int64_t rest = i / r.words;
        const int w = (int)(i - rest * r.words), face = (int)(rest / r.ly) + 1;
        const int y = (int)(rest % r.ly), z = face << r.tile_z_bits;
        const bool first = (y & ((1 << r.tile_y_bits) - 1)) == 0;
        unite_across_z<K>(r, y, z, w, first);
        if (!has_diagonal<K>()) continue;
        unite_edge<K, -1>(r, y, z, w);
        unite_edge<K, 1>(r, y, z, w);
    }
}

#endif
