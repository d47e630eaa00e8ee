/*
 * The clusters that may be nearest to a voxel of a warp tile, and the table of their costs.
 *
 * Candidates are the clusters of the tile's cells and of the cells beside these; a lane takes one.
 * A candidate is dropped if its box misses the tile, or if another candidate is nearer, or as
 * near, at every voxel of the tile. The costs of slic and lsc allow a bound for that: they are sums
 * over the coordinates and channels, so the difference of two clusters' costs is at least the sum
 * of the least difference of each summand, given the tile's range of coordinates and levels. If
 * that is above 0, the first cluster loses everywhere. All candidates are compared with the best
 * one so far, the incumbent: the cluster whose box holds the whole tile and whose cost is least in
 * the tile's middle. slico drops none by costs.
 */
#ifndef LOB_SHORTLIST_CUDA_H
#define LOB_SHORTLIST_CUDA_H

#include "kernels/supervoxels/assign/tile_layout_cuda.cuh"

namespace lob::supervoxels
{

/* ---- levels of a tile ---- */

/* Lowest and highest level of a channel in a tile; what is not data counts as 0. */
template <typename P>
static __device__ inline void range_of_levels(uint32_t *low, uint32_t *high, const P &tile,
                                              int channel)
{
    uint32_t low2 = ~0u, high2 = 0; /* two levels a word */
#pragma unroll
    for (int z = 0; z < P::depth; z++) {
        const uint4 &packed = tile.packed[z][channel];
        low2 = __vminu2(low2, __vminu2(__vminu2(packed.x, packed.y), __vminu2(packed.z, packed.w)));
        high2 =
            __vmaxu2(high2, __vmaxu2(__vmaxu2(packed.x, packed.y), __vmaxu2(packed.z, packed.w)));
    }
    *low = __reduce_min_sync(ALL_LANES, min(low2 & 0xffff, low2 >> 16));
    *high = __reduce_max_sync(ALL_LANES, max(high2 & 0xffff, high2 >> 16));
}

/*
 * The ranges of what costs make of the tile's levels: slic: steps; lsc: cosines and sines by turns.
 * Cosines fall with the level and sines rise.
 */
template <lob_supervoxels_method M, int C> struct level_range {
    static constexpr int count = M == LOB_LSC ? 2 * C : C;
    float low[count], high[count];
};

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline level_range<M, C> range_of_tile(const supervoxels_params &s,
                                                         const warp_tile<M, C, FLAT> &tile)
{
    level_range<M, C> r;
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t low, high;
        range_of_levels(&low, &high, tile, c);
        if (M == LOB_LSC) {
            const lob_cos_sin first = level_cos_sin_of(s, c, low),
                              last = level_cos_sin_of(s, c, high);
            r.low[2 * c] = (float)last.cosine, r.high[2 * c] = (float)first.cosine;
            r.low[2 * c + 1] = (float)first.sine, r.high[2 * c + 1] = (float)last.sine;
        } else {
            r.low[c] = (float)lob_slic_step(low, &s.rule);
            r.high[c] = (float)lob_slic_step(high, &s.rule);
        }
    }
    return r;
}

/* ---- candidates ---- */

/* The cells along u, v and w whose clusters may get voxels of a tile. */
struct tile_spans {
    cell_span of[3];
};

static __device__ inline tile_spans spans_of_tile(const supervoxels_params &s,
                                                  const listed_tile &at)
{
    const uint32_t v = s.bricks[0] + at.y, w = s.bricks[0] + s.bricks[1] + (at.z & ~SINGLE);
    return tile_spans{
        {s.spans[at.x], s.spans[v], s.spans[w]}
    };
}

template <bool FLAT> static __device__ inline int candidates_of(const tile_spans &spans)
{
    return spans.of[0].n * spans.of[1].n * (FLAT ? 1 : spans.of[2].n);
}

/* Candidate number i of these cells, lowest cluster first. */
template <bool FLAT>
static __device__ inline int32_t candidate_cluster(const supervoxels_params &s,
                                                   const tile_spans &spans, int i)
{
    const cell_span &u = spans.of[0], &v = spans.of[1], &w = spans.of[2];
    const int row = (int)(((float)i + 0.5f) * u.reciprocal),
              layer = FLAT ? 0 : (int)(((float)row + 0.5f) * v.reciprocal);
    const int32_t at_u = u.first + i - row * u.n, at_v = v.first + row - layer * v.n,
                  at_w = w.first + layer;
    return (int32_t)(at_u * s.cell_stride[0] + at_v * s.cell_stride[1] + at_w * s.cell_stride[2]);
}

struct candidate {
    int32_t id;              /* the cluster */
    int32_t low[3], high[3]; /* its box within the tile, counted from the tile's first voxel */
};

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline candidate candidate_at(const supervoxels_params &s, const int32_t *first,
                                                int32_t id)
{
    typedef brick_shape<FLAT> S;
    const int2 *box = (const int2 *)(s.boxes + (int64_t)id * 6);
    const int2 one = box[0], two = box[1], three = box[2];
    const int32_t low[3] = {one.x, one.y, two.x}, high[3] = {two.y, three.x, three.y};
    const int side[3] = {S::bx, S::by, tile_layout<M, C, FLAT>::tile_bw};
    candidate c;
    c.id = id;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        c.low[a] = max(axis_value<FLAT>(low, s, a) - first[a], 0);
        c.high[a] = min(axis_value<FLAT>(high, s, a) - first[a], side[a] - 1);
    }
    return c;
}

static __device__ inline bool meets_tile(const candidate &c)
{
    return c.low[0] <= c.high[0] && c.low[1] <= c.high[1] && c.low[2] <= c.high[2];
}

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline bool holds_tile(const candidate &c)
{
    typedef brick_shape<FLAT> S;
    return (c.low[0] | c.low[1] | c.low[2]) == 0 && c.high[0] == S::bx - 1 &&
           c.high[1] == S::by - 1 && c.high[2] == tile_layout<M, C, FLAT>::tile_bw - 1;
}

/* A bit for each coordinate of the tile that the box holds. */
template <bool FLAT> static __device__ inline uint32_t coordinates_in_box(const candidate &c)
{
    typedef brick_shape<FLAT> S;
    const uint32_t all = ~0u;
    return (2u << c.high[0]) - (1u << c.low[0]) |
           (FLAT ? 0 : ((2u << c.high[2]) - (1u << c.low[2])) << (S::bx + S::by) % WARP) |
           (all >> (31 - c.high[1]) & all << c.low[1]) << S::bx;
}

/* Read N floats that are aligned to the largest power of 2 in N. */
template <int N> static __device__ inline void read_floats(float *to, const float *at)
{
    if (N % 4 == 0) {
#pragma unroll
        for (int i = 0; i < N; i += 4) *(float4 *)(to + i) = *(const float4 *)(at + i);
    } else if (N % 2 == 0) {
#pragma unroll
        for (int i = 0; i < N; i += 2) *(float2 *)(to + i) = *(const float2 *)(at + i);
    } else {
#pragma unroll
        for (int i = 0; i < N; i++) to[i] = at[i];
    }
}

/* A cluster's centre, its axes in the order of the view. */
template <lob_supervoxels_method M, int C, bool FLAT> struct centre_of {
    typedef tile_layout<M, C, FLAT> L;
    float along[L::base - L::centre], factor[L::factors];
};

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline centre_of<M, C, FLAT> read_centre(const supervoxels_params &s, int32_t id)
{
    typedef tile_layout<M, C, FLAT> L;
    constexpr int first = L::lsc ? 6 : 3, floats = first + L::factors;
    const float *at = s.centres + (int64_t)id * floats;
    centre_of<M, C, FLAT> centre;
    alignas(16) float all[floats];
    read_floats<floats>(all, at);
#pragma unroll
    for (int a = 0; a < L::axes; a++) {
        if (!L::lsc) {
            centre.along[a] = axis_value<FLAT>(all, s, a);
        } else {
            const float cosines[3] = {all[0], all[2], all[4]}, sines[3] = {all[1], all[3], all[5]};
            centre.along[2 * a] = axis_value<FLAT>(cosines, s, a);
            centre.along[2 * a + 1] = axis_value<FLAT>(sines, s, a);
        }
    }
#pragma unroll
    for (int e = 0; e < L::factors; e++) centre.factor[e] = all[first + e];
    return centre;
}

/* ---- bounds for the difference of two costs ---- */

/*
 * slic: the least of (x - one)^2 - (x - two)^2 = (two - one) (2x - one - two) for x in low..high,
 * which is at an end. s.margin is more than the roundings of costs and of these floats.
 */
static __device__ inline float min_difference(float low, float high, float one, float two)
{
    const float slope = two - one;
    const float x = slope > 0 ? low : high;
    return slope * (2 * x - (one + two));
}

template <int C, bool FLAT>
static __device__ inline bool is_beaten(const supervoxels_params &s, const warp_shared &,
                                        const int32_t *first, const candidate &one,
                                        const centre_of<LOB_SLIC, C, FLAT> &own,
                                        const centre_of<LOB_SLIC, C, FLAT> &other,
                                        const level_range<LOB_SLIC, C> &r)
{
    float difference = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++) {
        const float position = axis_value<FLAT>(s.rule.position_weight, s, a);
        difference += min_difference((float)(first[a] + one.low[a]) * position,
                                     (float)(first[a] + one.high[a]) * position, own.along[a],
                                     other.along[a]);
    }
#pragma unroll
    for (int c = 0; c < C; c++)
        difference += min_difference(r.low[c], r.high[c], own.factor[c], other.factor[c]);
    return difference > s.margin;
}

/*
 * lsc: the share of both costs' terms that errors are less than: 2^-17, which
 * lob_distance_truncated takes away, and the roundings of about 40 operations.
 */
#define LSC_MARGIN (1.0f / 50000)

template <int C, bool FLAT>
static __device__ inline bool is_beaten(const supervoxels_params &, const warp_shared &shared,
                                        const int32_t *, const candidate &,
                                        const centre_of<LOB_LSC, C, FLAT> &own,
                                        const centre_of<LOB_LSC, C, FLAT> &other,
                                        const level_range<LOB_LSC, C> &r)
{
    typedef brick_shape<FLAT> S;
    const int end[4] = {0, S::bx, S::bx + S::by, tile_layout<LOB_LSC, C, FLAT>::coordinates};
    float difference = 0, size = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++) {
        const float slope[2] = {own.along[2 * a] - other.along[2 * a],
                                own.along[2 * a + 1] - other.along[2 * a + 1]};
        float lowest = INFINITY;
#pragma unroll
        for (int i = end[a]; i < end[a + 1]; i++)
            lowest = fminf(lowest, lsc_along(shared.cos_sin[i], slope[0], slope[1]));
        difference += lowest;
        size += fabsf(own.along[2 * a]) + fabsf(own.along[2 * a + 1]) + fabsf(other.along[2 * a]) +
                fabsf(other.along[2 * a + 1]);
    }
    size *= LOB_COS_SIN_SCALE;
#pragma unroll
    for (int f = 0; f < 2 * C; f++) {
        const float slope = own.factor[f] - other.factor[f];
        difference += fminf(slope * r.low[f], slope * r.high[f]);
        size = fmaf(fabsf(own.factor[f]) + fabsf(other.factor[f]), r.high[f], size);
    }
    return difference > size * LSC_MARGIN;
}

/* ---- the incumbent ---- */

/* About the cost of a voxel in the middle of the tile and of its range of levels. */
template <int C, bool FLAT>
static __device__ inline float cost_in_middle(const supervoxels_params &s, const warp_shared &,
                                              const int32_t *first,
                                              const centre_of<LOB_SLIC, C, FLAT> &of,
                                              const level_range<LOB_SLIC, C> &r)
{
    typedef brick_shape<FLAT> S;
    const int side[3] = {S::bx, S::by, S::bz * S::depth};
    float cost = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++) {
        const float x = ((float)first[a] + (float)(side[a] - 1) / 2) *
                        axis_value<FLAT>(s.rule.position_weight, s, a);
        cost = fmaf(x - of.along[a], x - of.along[a], cost);
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        const float d = (r.low[c] + r.high[c]) / 2 - of.factor[c];
        cost = fmaf(d, d, cost);
    }
    return cost;
}

template <int C, bool FLAT>
static __device__ inline float cost_in_middle(const supervoxels_params &, const warp_shared &shared,
                                              const int32_t *,
                                              const centre_of<LOB_LSC, C, FLAT> &of,
                                              const level_range<LOB_LSC, C> &r)
{
    typedef brick_shape<FLAT> S;
    const int middle[3] = {S::bx / 2, S::bx + S::by / 2, S::bx + S::by + S::bz * S::depth / 2};
    float cost = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++)
        cost += lsc_along(shared.cos_sin[middle[a]], of.along[2 * a], of.along[2 * a + 1]);
#pragma unroll
    for (int f = 0; f < 2 * C; f++) cost = fmaf((r.low[f] + r.high[f]) / 2, of.factor[f], cost);
    return cost;
}

/* An integer that orders as the float does. */
static __device__ inline uint32_t ordered_bits(float value)
{
    const int32_t bits = __float_as_int(value);
    return (uint32_t)(bits ^ (bits >> 31 | INT32_MIN));
}

/* ---- the shortlist ---- */

struct shortlist {
    int n;       /* clusters; the table is not valid if they are more than s.max_shortlist */
    bool single; /* there is one, and its box holds the whole tile */
};

/* Write a candidate's entry, except for the parts of costs. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void write_entry(uint32_t *entry, const supervoxels_params &s,
                                          const candidate &one, const centre_of<M, C, FLAT> &centre)
{
    typedef tile_layout<M, C, FLAT> L;
    uint32_t base = 0;
#pragma unroll
    for (int e = 0; e < L::factors; e++) entry[L::factor + e] = __float_as_uint(centre.factor[e]);
    if (M == LOB_SLIC) {
        /* (step - m)^2 - step^2 = m^2 - 2 m step: the square of the step is the same for all
         * clusters. Both count from the middle of their range; max^2 keeps costs from 0 on. */
        const int32_t middle = s.rule.max_step / 2, max = s.rule.max_step - middle;
#pragma unroll
        for (int c = 0; c < C; c++) {
            const int32_t m = (int32_t)centre.factor[c] - middle;
            entry[L::factor + c] = (uint32_t)(m * -2 * RANKS);
            base += (uint32_t)(m * m + max * max) * RANKS;
        }
    }
#pragma unroll
    for (int f = 0; f < L::base - L::centre; f++)
        entry[L::centre + f] = __float_as_uint(centre.along[f]);
    entry[L::base] = base;
    entry[L::in_box] = coordinates_in_box<FLAT>(one);
    entry[L::id] = (uint32_t)one.id;
    if (M == LOB_SLICO) entry[L::largest] = 0;
}

/* The cluster that candidates are compared with: so far the nearest in the middle of the tile, of
 * those whose boxes hold the whole tile. */
template <lob_supervoxels_method M, int C, bool FLAT> struct incumbent {
    uint32_t key; /* its cost there, and its lane in the low bits; ~0: there is none */
    centre_of<M, C, FLAT> centre;
};

/* All lanes together, a candidate each: update the incumbent; does it beat the candidate? */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline bool beaten_by_incumbent(incumbent<M, C, FLAT> *best,
                                                  const supervoxels_params &s,
                                                  const warp_shared &shared, const int32_t *first,
                                                  const candidate &one, bool listed,
                                                  const centre_of<M, C, FLAT> &centre,
                                                  const level_range<M, C> &r)
{
    typedef tile_layout<M, C, FLAT> L;
    const uint32_t lane = threadIdx.x % WARP, none = ~0u;
    const float cost = cost_in_middle<C, FLAT>(s, shared, first, centre, r);
    const bool holds = listed && holds_tile<M, C, FLAT>(one);
    const uint32_t key =
        __reduce_min_sync(ALL_LANES, holds ? ordered_bits(cost) / WARP * WARP + lane : none);
    if (key < best->key) {
        const int from = (int)(key % WARP);
        best->key = key;
#pragma unroll
        for (int f = 0; f < L::base - L::centre; f++)
            best->centre.along[f] = __shfl_sync(ALL_LANES, centre.along[f], from);
#pragma unroll
        for (int e = 0; e < L::factors; e++)
            best->centre.factor[e] = __shfl_sync(ALL_LANES, centre.factor[e], from);
    }
    return listed && best->key != none &&
           is_beaten<C, FLAT>(s, shared, first, one, centre, best->centre, r);
}

/* Make the entries of the shortlist, lowest cluster first. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline shortlist make_shortlist(const warp_shared &shared,
                                                  const supervoxels_params &s,
                                                  const warp_tile<M, C, FLAT> &tile,
                                                  const listed_tile &at)
{
    typedef tile_layout<M, C, FLAT> L;
    const uint32_t lane = threadIdx.x % WARP;
    const tile_spans spans = spans_of_tile(s, at);
    const int total = candidates_of<FLAT>(spans);
    level_range<M, C> r;
    incumbent<M, C, FLAT> best = {~0u, {}};
    shortlist list = {0, false};
    for (int from = 0; from < total; from += WARP) {
        const int i = from + (int)lane;
        const int32_t id = candidate_cluster<FLAT>(s, spans, min(i, total - 1));
        const candidate one = candidate_at<M, C, FLAT>(s, tile.first, id);
        const centre_of<M, C, FLAT> centre = read_centre<M, C, FLAT>(s, id);
        bool listed = i < total && meets_tile(one);
        if (M == LOB_SLIC && at.clusters) {
            listed = at.clusters >> lane & 1; /* culled ahead: not more candidates than lanes */
        } else if constexpr (M != LOB_SLICO) {
            if (s.pass != PASS_START) { /* in the first, boxes are disjoint cells */
                if (from == 0) r = range_of_tile<M, C, FLAT>(s, tile);
                const bool beaten = beaten_by_incumbent<M, C, FLAT>(&best, s, shared, tile.first,
                                                                    one, listed, centre, r);
                listed = listed && !beaten;
            }
        }
        const unsigned those = __ballot_sync(ALL_LANES, listed);
        const int slot = list.n + __popc(those & ((1u << lane) - 1));
        if (listed && slot < s.max_shortlist)
            write_entry<M, C, FLAT>(shared.table + slot * L::entry, s, one, centre);
        list.n += __popc(those);
        list.single = list.n == 1 &&
                      (list.single || __any_sync(ALL_LANES, listed && holds_tile<M, C, FLAT>(one)));
    }
    __syncwarp();
    return list;
}

/* ---- the table ---- */

/* Fill in the parts of costs: a lane has QUAD coordinates, and does them for one entry after
 * another. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void fill_table(const warp_shared &shared, const supervoxels_params &s,
                                         const int32_t *corner, int n)
{
    typedef tile_layout<M, C, FLAT> L;
    constexpr int each = WARP / L::quads; /* entries at a time */
    const int lane = (int)threadIdx.x % WARP, at = lane % L::quads * QUAD;
    const int axis = axis_of<FLAT>(at);
    const float position = axis_value<FLAT>(s.rule.position_weight, s, axis);
    const int32_t first = coordinate_of<FLAT>(corner, at, axis);
    if (lane < each * L::quads)
        for (int k = lane / L::quads; k < n; k += each) {
            uint32_t *entry = shared.table + k * L::entry;
            const float *centre = (const float *)entry + L::centre + (L::lsc ? 2 * axis : axis);
            const uint32_t in_box = entry[L::in_box] >> at;
            const uint32_t base = M == LOB_SLIC && axis == 1 ? entry[L::base] : 0;
            const uint32_t outside = M == LOB_SLIC ? base + OUTSIDE_BOX : NOT_A_NUMBER;
            uint32_t part[QUAD];
#pragma unroll
            for (int j = 0; j < QUAD; j++) {
                const float x = (float)(first + j);
                const uint32_t cost =
                    M == LOB_LSC
                        ? __float_as_uint(lsc_along(shared.cos_sin[at + j], centre[0], centre[1]))
                    : M == LOB_SLICO
                        ? __float_as_uint(lob_slico_along(x, position, *centre))
                        : base + (uint32_t)lob_slic_along(x, position, *centre) * RANKS;
                part[j] = in_box >> j & 1 ? cost : outside;
            }
            *(uint4 *)(entry + at) = make_uint4(part[0], part[1], part[2], part[3]);
        }
    __syncwarp();
}

} /* namespace lob::supervoxels */

#endif
