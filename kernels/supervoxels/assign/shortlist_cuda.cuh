/*
 * The clusters that may have voxels of a pile of bricks, and the table of what their costs take
 * along its axes. warp_tile_cuda.cuh tells what for.
 *
 * Candidates are the clusters of the pile's cells and those beside them, a lane each. Those whose
 * boxes miss the pile go, and those that can have none of its voxels: costs of slic and lsc are
 * sums of parts for each coordinate and of products of what levels give and the cluster's factors,
 * so the difference of two clusters' costs is least where each of these differences is. Where that
 * is above 0, the first of the two is nowhere nearer. Held against the others is the cluster that
 * is nearest in the pile's middle, of those whose boxes hold the whole pile.
 */
#ifndef LOB_SUPERVOXELS_SHORTLIST_CUDA_CUH
#define LOB_SUPERVOXELS_SHORTLIST_CUDA_CUH

#include "kernels/supervoxels/assign/voxelwise_cuda.cuh"

namespace lob::supervoxels
{

enum {
    RANKS = 64,      /* clusters of a pile, at most: ranks take the 6 bits that costs leave */
    NOWHERE = 255,   /* rank of a voxel that no box holds */
    QUAD = 4,        /* coordinates that a lane fills in at a time */
    WAVE_BIAS = 2048 /* makes waves of axes positive; taken off again by their number */
};
static constexpr uint32_t RANK_MASK = RANKS - 1,
                          OUTSIDE = 1u << 30;           /* more than any cost of slic */
static constexpr uint32_t ALL_DATA = (1u << STRIP) - 1; /* of a run */
static constexpr uint32_t INFINITE_BITS = 0x7f800000u, NOT_A_NUMBER = 0x7fffffffu;
static_assert((int64_t)LOB_SLIC_LIMIT * RANKS <= OUTSIDE, "a cost and its rank stay below OUTSIDE");

/* What a kernel's template parameters come to. */
template <lob_supervoxels_method M, int C, bool FLAT> struct layout {
    typedef brick_shape<FLAT> S;
    static constexpr bool lsc = M == LOB_LSC;
    static constexpr int axes = FLAT ? 2 : 3;
    static constexpr int bw = S::bz * S::depth;                    /* a pile's side along w */
    static constexpr int places = S::bx + S::by + (FLAT ? 0 : bw); /* coordinates of a pile */
    static constexpr int quads = places / QUAD;
    /* A table entry, in words. Costs' parts at u, v and w: whole numbers of slic times RANKS,
     * floats of the others. Then slic: slopes of channels; slico: means of channels and its factor;
     * lsc: factors of channels. Then what the parts are made of. */
    static constexpr int extras = lsc ? 2 * C : M == LOB_SLICO ? C + 1 : C;
    static constexpr int extra = places, centre = extra + extras,
                         base = centre + (lsc ? 2 * axes : axes), held = base + 1, id = held + 1,
                         largest = id + 1, words = largest + (M == LOB_SLICO),
                         /* an odd number of 16 bytes, so that entries lie in different banks */
        entry = ((words + 3) / 4 | 1) * 4;
};

/* A pile, and what one lane has of it. */
template <lob_supervoxels_method M, int C, bool FLAT> struct pile {
    static constexpr int depth = brick_shape<FLAT>::depth;
    int32_t first[3];       /* voxel of the view */
    uint32_t run[depth];    /* of each brick */
    uint32_t data[depth];   /* of its voxels; 0 of a brick beyond the volume */
    uint4 packed[depth][C]; /* and their levels */
    uint32_t by_voxel;      /* bricks that do not share labels */
};

/* A warp's shared memory, and what a lane asks for in every pile. */
typedef struct {
    uint32_t *table;  /* room entries */
    float2 *waves;    /* lsc: cosines and sines of the pile's places */
    uint32_t *packed; /* and as bytes: cosine, sine << 16, biased */
    uint4 *hot;
    uint8_t *rows; /* of bytes of channels */
    uint32_t kept; /* kept_in_brick, of the lane's run */
} desk;

/* Keep a value in its register, where the compiler would work it out again for every cluster. */
static __device__ inline void keep(int32_t *value)
{
    asm volatile("" : "+r"(*value));
}

static __device__ inline void keep(float *value)
{
    asm volatile("" : "+f"(*value));
}

/* ---- places ---- */

/* View and coordinate of a place of a table entry. */
template <bool FLAT> static __device__ inline int view_of(int at)
{
    typedef brick_shape<FLAT> S;
    return at < S::bx ? 0 : FLAT || at < S::bx + S::by ? 1 : 2;
}

template <bool FLAT>
static __device__ inline int32_t coordinate_of(const int32_t *first, int at, int view)
{
    typedef brick_shape<FLAT> S;
    return view == 0   ? first[0] + at
           : view == 1 ? first[1] + at - S::bx
                       : first[2] + at - S::bx - S::by;
}

/* What of three belongs to a view's axis; by choices, which registers can make. */
template <bool FLAT, typename T>
static __device__ inline T of_view(const T *three, const supervoxels_params &s, int view)
{
    const int *axis = s.axis;
    const T u = !FLAT || axis[0] == 0 ? three[0] : three[1];
    const T v = !FLAT || axis[1] == 1 ? three[1] : three[2];
    const T w = !FLAT || axis[2] == 2 ? three[2] : axis[2] == 1 ? three[1] : three[0];
    return view == 0 ? u : view == 1 ? v : w;
}

/* As lob_lsc_along. */
static __device__ inline float lsc_along(float2 wave, float first, float second)
{
    return fmaf(wave.y, second, wave.x * first);
}

/* lsc: the waves of the pile's places; beyond the volume the last one's. */
template <int C, bool FLAT>
static __device__ inline void read_axis_waves(const desk &d, const supervoxels_params &s,
                                              const int32_t *first)
{
    const int at = (int)threadIdx.x % WARP, view = view_of<FLAT>(at);
    if (at < layout<LOB_LSC, C, FLAT>::places) {
        const int32_t side = view == 0 ? s.side[0] : view == 1 ? s.side[1] : s.side[2];
        const lob_cos_sin *waves = of_view<FLAT>(s.axis_cos_sin, s, view);
        const lob_cos_sin wave = waves[min(coordinate_of<FLAT>(first, at, view), side - 1)];
        d.waves[at] = make_float2((float)wave.cosine, (float)wave.sine);
        d.packed[at] = (uint32_t)(wave.cosine + WAVE_BIAS) | (uint32_t)(wave.sine + WAVE_BIAS)
                                                                 << 16;
    }
    __syncwarp();
}

/* ---- levels ---- */

static __device__ inline uint32_t level_in(const uint4 &packed, int j)
{
    const uint32_t word = j < 2 ? packed.x : j < 4 ? packed.y : j < 6 ? packed.z : packed.w;
    return j & 1 ? word >> 16 : word & 0xffff;
}

/* Lowest and highest level of a channel, counting what is not data as 0. */
template <typename P>
static __device__ inline void range_of_levels(uint32_t *low, uint32_t *high, const P &p,
                                              int channel)
{
    uint32_t least = ~0u, most = 0;
#pragma unroll
    for (int z = 0; z < P::depth; z++) {
        const uint4 &packed = p.packed[z][channel];
        least =
            __vminu2(least, __vminu2(__vminu2(packed.x, packed.y), __vminu2(packed.z, packed.w)));
        most = __vmaxu2(most, __vmaxu2(__vmaxu2(packed.x, packed.y), __vmaxu2(packed.z, packed.w)));
    }
    *low = __reduce_min_sync(ALL_LANES, min(least & 0xffff, least >> 16));
    *high = __reduce_max_sync(ALL_LANES, max(most & 0xffff, most >> 16));
}

/*
 * The ranges of what the pile's levels give: slic: steps; lsc: cosines and sines in turn, of which
 * cosines fall and sines rise with the level.
 */
template <lob_supervoxels_method M, int C> struct level_range {
    static constexpr int count = M == LOB_LSC ? 2 * C : C;
    float from[count], to[count];
};

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline level_range<M, C> range_of_pile(const supervoxels_params &s,
                                                         const pile<M, C, FLAT> &p)
{
    level_range<M, C> r;
#pragma unroll
    for (int c = 0; c < C; c++) {
        uint32_t low, high;
        range_of_levels(&low, &high, p, c);
        if (M == LOB_LSC) {
            const lob_cos_sin first = level_cos_sin_of(s, c, low),
                              last = level_cos_sin_of(s, c, high);
            r.from[2 * c] = (float)last.cosine, r.to[2 * c] = (float)first.cosine;
            r.from[2 * c + 1] = (float)first.sine, r.to[2 * c + 1] = (float)last.sine;
        } else {
            r.from[c] = (float)lob_slic_step(low, &s.rule);
            r.to[c] = (float)lob_slic_step(high, &s.rule);
        }
    }
    return r;
}

/* ---- candidates ---- */

/* The cells along u, v and w whose clusters may have voxels of a pile. */
typedef struct {
    cell_span of[3];
} pile_spans;

static __device__ inline pile_spans spans_of_pile(const supervoxels_params &s,
                                                  const listed_tile &at)
{
    const uint32_t v = s.bricks[0] + at.y, w = s.bricks[0] + s.bricks[1] + (at.z & ~SINGLE);
    return pile_spans{
        {s.spans[at.x], s.spans[v], s.spans[w]}
    };
}

template <bool FLAT> static __device__ inline int candidates_of(const pile_spans &spans)
{
    return spans.of[0].n * spans.of[1].n * (FLAT ? 1 : spans.of[2].n);
}

/* Number i of these clusters, lowest first. */
template <bool FLAT>
static __device__ inline int32_t cluster_of_spans(const supervoxels_params &s,
                                                  const pile_spans &spans, int i)
{
    const cell_span &u = spans.of[0], &v = spans.of[1], &w = spans.of[2];
    const int row = (int)(((float)i + 0.5f) * u.over),
              sheet = FLAT ? 0 : (int)(((float)row + 0.5f) * v.over);
    const int32_t at_u = u.first + i - row * u.n, at_v = v.first + row - sheet * v.n,
                  at_w = w.first + sheet;
    return (int32_t)(at_u * s.cell_stride[0] + at_v * s.cell_stride[1] + at_w * s.cell_stride[2]);
}

typedef struct {
    int32_t id;
    int32_t low[3], high[3]; /* what its box holds of the pile, from the pile's first voxel on */
} candidate;

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline candidate candidate_at(const supervoxels_params &s, const int32_t *first,
                                                int32_t id)
{
    typedef brick_shape<FLAT> S;
    const int2 *box = (const int2 *)(s.boxes + (int64_t)id * 6);
    const int2 one = box[0], two = box[1], three = box[2];
    const int32_t low[3] = {one.x, one.y, two.x}, high[3] = {two.y, three.x, three.y};
    const int side[3] = {S::bx, S::by, layout<M, C, FLAT>::bw};
    candidate c;
    c.id = id;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        c.low[a] = max(of_view<FLAT>(low, s, a) - first[a], 0);
        c.high[a] = min(of_view<FLAT>(high, s, a) - first[a], side[a] - 1);
    }
    return c;
}

static __device__ inline bool meets_pile(const candidate &c)
{
    return c.low[0] <= c.high[0] && c.low[1] <= c.high[1] && c.low[2] <= c.high[2];
}

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline bool holds_pile(const candidate &c)
{
    typedef brick_shape<FLAT> S;
    return (c.low[0] | c.low[1] | c.low[2]) == 0 && c.high[0] == S::bx - 1 &&
           c.high[1] == S::by - 1 && c.high[2] == layout<M, C, FLAT>::bw - 1;
}

/* Bits of the places that the box holds. */
template <bool FLAT> static __device__ inline uint32_t places_held(const candidate &c)
{
    typedef brick_shape<FLAT> S;
    const uint32_t all = ~0u;
    return (2u << c.high[0]) - (1u << c.low[0]) |
           (FLAT ? 0 : ((2u << c.high[2]) - (1u << c.low[2])) << (S::bx + S::by) % WARP) |
           (all >> (31 - c.high[1]) & all << c.low[1]) << S::bx;
}

/* N floats at a multiple of N floats, as many at a time as may be. */
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

/* The floats of a centre, the axes' in the view's order. */
template <lob_supervoxels_method M, int C, bool FLAT> struct centre_of {
    typedef layout<M, C, FLAT> L;
    float along[L::base - L::centre], extra[L::extras];
};

template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline centre_of<M, C, FLAT> read_centre(const supervoxels_params &s, int32_t id)
{
    typedef layout<M, C, FLAT> L;
    constexpr int first = L::lsc ? 6 : 3, floats = first + L::extras;
    const float *at = s.centres + (int64_t)id * floats;
    centre_of<M, C, FLAT> centre;
    alignas(16) float all[floats];
    read_floats<floats>(all, at);
#pragma unroll
    for (int a = 0; a < L::axes; a++) {
        if (!L::lsc) {
            centre.along[a] = of_view<FLAT>(all, s, a);
        } else {
            const float cosines[3] = {all[0], all[2], all[4]}, sines[3] = {all[1], all[3], all[5]};
            centre.along[2 * a] = of_view<FLAT>(cosines, s, a);
            centre.along[2 * a + 1] = of_view<FLAT>(sines, s, a);
        }
    }
#pragma unroll
    for (int e = 0; e < L::extras; e++) centre.extra[e] = all[first + e];
    return centre;
}

/* ---- what sets two clusters apart ---- */

/*
 * slic: (x - one)^2 - (x - two)^2 = (two - one) (2x - one - two), which is least at an end. Costs
 * are rounded for each axis, and floats by less than s.margin.
 */
static __device__ inline float least_apart(float low, float high, float one, float two)
{
    const float turn = two - one;
    const float x = turn > 0 ? low : high;
    return turn * (2 * x - (one + two));
}

template <int C, bool FLAT>
static __device__ inline bool is_beaten(const supervoxels_params &s, const desk &,
                                        const int32_t *first, const candidate &one,
                                        const centre_of<LOB_SLIC, C, FLAT> &own,
                                        const centre_of<LOB_SLIC, C, FLAT> &other,
                                        const level_range<LOB_SLIC, C> &r)
{
    float apart = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++) {
        const float position = of_view<FLAT>(s.rule.position, s, a);
        apart +=
            least_apart((float)(first[a] + one.low[a]) * position,
                        (float)(first[a] + one.high[a]) * position, own.along[a], other.along[a]);
    }
#pragma unroll
    for (int c = 0; c < C; c++)
        apart += least_apart(r.from[c], r.to[c], own.extra[c], other.extra[c]);
    return apart > s.margin;
}

/*
 * lsc: floats set apart only what is so by more than their last bits may hide: of the terms of both
 * costs 2^-17, which lob_distance_truncated takes away, and the roundings of some 40 operations.
 */
#define LSC_MARGIN (1.0f / 50000)

template <int C, bool FLAT>
static __device__ inline bool is_beaten(const supervoxels_params &, const desk &d, const int32_t *,
                                        const candidate &, const centre_of<LOB_LSC, C, FLAT> &own,
                                        const centre_of<LOB_LSC, C, FLAT> &other,
                                        const level_range<LOB_LSC, C> &r)
{
    typedef brick_shape<FLAT> S;
    const int end[4] = {0, S::bx, S::bx + S::by, layout<LOB_LSC, C, FLAT>::places};
    float apart = 0, size = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++) {
        const float turn[2] = {own.along[2 * a] - other.along[2 * a],
                               own.along[2 * a + 1] - other.along[2 * a + 1]};
        float least = INFINITY;
#pragma unroll
        for (int i = end[a]; i < end[a + 1]; i++)
            least = fminf(least, lsc_along(d.waves[i], turn[0], turn[1]));
        apart += least;
        size += fabsf(own.along[2 * a]) + fabsf(own.along[2 * a + 1]) + fabsf(other.along[2 * a]) +
                fabsf(other.along[2 * a + 1]);
    }
    size *= LOB_COS_SIN_SCALE;
#pragma unroll
    for (int f = 0; f < 2 * C; f++) {
        const float turn = own.extra[f] - other.extra[f];
        apart += fminf(turn * r.from[f], turn * r.to[f]);
        size = fmaf(fabsf(own.extra[f]) + fabsf(other.extra[f]), r.to[f], size);
    }
    return apart > size * LSC_MARGIN;
}

/* ---- the nearest in the middle ---- */

/* Roughly the cost of a voxel in the middle of the pile and of its levels. */
template <int C, bool FLAT>
static __device__ inline float cost_in_middle(const supervoxels_params &s, const desk &,
                                              const int32_t *first,
                                              const centre_of<LOB_SLIC, C, FLAT> &of,
                                              const level_range<LOB_SLIC, C> &r)
{
    typedef brick_shape<FLAT> S;
    const int side[3] = {S::bx, S::by, S::bz * S::depth};
    float cost = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++) {
        const float x =
            ((float)first[a] + (float)(side[a] - 1) / 2) * of_view<FLAT>(s.rule.position, s, a);
        cost = fmaf(x - of.along[a], x - of.along[a], cost);
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
        const float d = (r.from[c] + r.to[c]) / 2 - of.extra[c];
        cost = fmaf(d, d, cost);
    }
    return cost;
}

template <int C, bool FLAT>
static __device__ inline float cost_in_middle(const supervoxels_params &, const desk &d,
                                              const int32_t *,
                                              const centre_of<LOB_LSC, C, FLAT> &of,
                                              const level_range<LOB_LSC, C> &r)
{
    typedef brick_shape<FLAT> S;
    const int middle[3] = {S::bx / 2, S::bx + S::by / 2, S::bx + S::by + S::bz * S::depth / 2};
    float cost = 0;
#pragma unroll
    for (int a = 0; a < (FLAT ? 2 : 3); a++)
        cost += lsc_along(d.waves[middle[a]], of.along[2 * a], of.along[2 * a + 1]);
#pragma unroll
    for (int f = 0; f < 2 * C; f++) cost = fmaf((r.from[f] + r.to[f]) / 2, of.extra[f], cost);
    return cost;
}

/* Bits in the order of the floats. */
static __device__ inline uint32_t ordered_bits(float value)
{
    const int32_t bits = __float_as_int(value);
    return (uint32_t)(bits ^ (bits >> 31 | INT32_MIN));
}

/* ---- the shortlist ---- */

/* What the warp has found for its pile. */
typedef struct {
    int n;     /* entries; more than there is room for: none of them counts */
    bool sole; /* there is one, and its cluster has all of the pile's voxels */
} shortlist;

/* Note a candidate as an entry: all but the parts of its costs. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void note_candidate(uint32_t *entry, const supervoxels_params &s,
                                             const candidate &one,
                                             const centre_of<M, C, FLAT> &centre)
{
    typedef layout<M, C, FLAT> L;
    uint32_t base = 0;
#pragma unroll
    for (int e = 0; e < L::extras; e++) entry[L::extra + e] = __float_as_uint(centre.extra[e]);
    if (M == LOB_SLIC) {
        /* (step - m)^2 = base - 2 m step, steps and means taken from the middle of their range and
         * but for the square of the step; the top keeps costs from falling below 0 */
        const int32_t middle = s.rule.max_step / 2, top = s.rule.max_step - middle;
#pragma unroll
        for (int c = 0; c < C; c++) {
            const int32_t m = (int32_t)centre.extra[c] - middle;
            entry[L::extra + c] = (uint32_t)(m * -2 * RANKS);
            base += (uint32_t)(m * m + top * top) * RANKS;
        }
    }
#pragma unroll
    for (int f = 0; f < L::base - L::centre; f++)
        entry[L::centre + f] = __float_as_uint(centre.along[f]);
    entry[L::base] = base;
    entry[L::held] = places_held<FLAT>(one);
    entry[L::id] = (uint32_t)one.id;
    if (M == LOB_SLICO) entry[L::largest] = 0;
}

/* Whom others are held against: the nearest in the middle so far, of clusters that hold the pile.
 */
template <lob_supervoxels_method M, int C, bool FLAT> struct rival {
    uint32_t key; /* its cost there, and its lane; ~0: there is none */
    centre_of<M, C, FLAT> centre;
};

/* All lanes together, a candidate each: is it beaten? */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline bool cull(rival<M, C, FLAT> *to, const supervoxels_params &s,
                                   const desk &d, const int32_t *first, const candidate &one,
                                   bool stays, const centre_of<M, C, FLAT> &centre,
                                   const level_range<M, C> &r)
{
    typedef layout<M, C, FLAT> L;
    const uint32_t lane = threadIdx.x % WARP, none = ~0u;
    const float cost = cost_in_middle<C, FLAT>(s, d, first, centre, r);
    const bool holds = stays && holds_pile<M, C, FLAT>(one);
    const uint32_t key =
        __reduce_min_sync(ALL_LANES, holds ? ordered_bits(cost) / WARP * WARP + lane : none);
    if (key < to->key) {
        const int from = (int)(key % WARP);
        to->key = key;
#pragma unroll
        for (int f = 0; f < L::base - L::centre; f++)
            to->centre.along[f] = __shfl_sync(ALL_LANES, centre.along[f], from);
#pragma unroll
        for (int e = 0; e < L::extras; e++)
            to->centre.extra[e] = __shfl_sync(ALL_LANES, centre.extra[e], from);
    }
    return stays && to->key != none && is_beaten<C, FLAT>(s, d, first, one, centre, to->centre, r);
}

/* Clusters into entries, lowest first, as far as there is room. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline shortlist list_clusters(const desk &d, const supervoxels_params &s,
                                                 const pile<M, C, FLAT> &p, const listed_tile &at)
{
    typedef layout<M, C, FLAT> L;
    const uint32_t lane = threadIdx.x % WARP;
    const pile_spans spans = spans_of_pile(s, at);
    const int total = candidates_of<FLAT>(spans);
    level_range<M, C> r;
    rival<M, C, FLAT> nearest = {~0u, {}};
    shortlist list = {0, false};
    for (int from = 0; from < total; from += WARP) {
        const int i = from + (int)lane;
        const int32_t id = cluster_of_spans<FLAT>(s, spans, min(i, total - 1));
        const candidate one = candidate_at<M, C, FLAT>(s, p.first, id);
        const centre_of<M, C, FLAT> centre = read_centre<M, C, FLAT>(s, id);
        bool stays = i < total && meets_pile(one);
        if (M == LOB_SLIC && at.clusters) {
            stays = at.clusters >> lane & 1; /* screened are no more than there are lanes */
        } else if constexpr (M != LOB_SLICO) {
            if (s.pass != PASS_START) { /* where boxes tell it all */
                if (from == 0) r = range_of_pile<M, C, FLAT>(s, p);
                const bool beaten =
                    cull<M, C, FLAT>(&nearest, s, d, p.first, one, stays, centre, r);
                stays = stays && !beaten;
            }
        }
        const unsigned those = __ballot_sync(ALL_LANES, stays);
        const int slot = list.n + __popc(those & ((1u << lane) - 1));
        if (stays && slot < s.list_capacity)
            note_candidate<M, C, FLAT>(d.table + slot * L::entry, s, one, centre);
        list.n += __popc(those);
        list.sole = list.n == 1 &&
                    (list.sole || __any_sync(ALL_LANES, stays && holds_pile<M, C, FLAT>(one)));
    }
    __syncwarp();
    return list;
}

/* ---- the table ---- */

/* Each lane keeps to a quad of places and fills it in for one entry after another. */
template <lob_supervoxels_method M, int C, bool FLAT>
static __device__ inline void fill_table(const desk &d, const supervoxels_params &s,
                                         const int32_t *corner, int n)
{
    typedef layout<M, C, FLAT> L;
    constexpr int each = WARP / L::quads; /* entries at a time */
    const int lane = (int)threadIdx.x % WARP, at = lane % L::quads * QUAD;
    const int view = view_of<FLAT>(at);
    const float position = of_view<FLAT>(s.rule.position, s, view);
    const int32_t first = coordinate_of<FLAT>(corner, at, view);
    if (lane < each * L::quads)
        for (int k = lane / L::quads; k < n; k += each) {
            uint32_t *entry = d.table + k * L::entry;
            const float *centre = (const float *)entry + L::centre + (L::lsc ? 2 * view : view);
            const uint32_t held = entry[L::held] >> at;
            const uint32_t base = M == LOB_SLIC && view == 1 ? entry[L::base] : 0;
            const uint32_t outside = M == LOB_SLIC ? base + OUTSIDE : NOT_A_NUMBER;
            uint32_t part[QUAD];
#pragma unroll
            for (int j = 0; j < QUAD; j++) {
                const float x = (float)(first + j);
                const uint32_t cost =
                    M == LOB_LSC ? __float_as_uint(lsc_along(d.waves[at + j], centre[0], centre[1]))
                    : M == LOB_SLICO
                        ? __float_as_uint(lob_slico_along(x, position, *centre))
                        : base + (uint32_t)lob_slic_along(x, position, *centre) * RANKS;
                part[j] = held >> j & 1 ? cost : outside;
            }
            *(uint4 *)(entry + at) = make_uint4(part[0], part[1], part[2], part[3]);
        }
    __syncwarp();
}

} /* namespace lob::supervoxels */

#endif
