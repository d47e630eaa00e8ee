/*
 * GrowCut's kernels around the growing: cells filled from voxels, seeds' first offers, results
 * written to voxels. A warp takes 32 cells of a tile at a time.
 */
#ifndef LOB_GROWCUT_CELLS_CUDA_CUH
#define LOB_GROWCUT_CELLS_CUDA_CUH

#include "kernels/growcut/growcut_scene_cuda.cuh"

enum { CELL_THREADS = 256, CELL_WARPS = CELL_THREADS / WARP, SAMPLED = 61 };

/* A soft seed's start, made by the host because logarithms differ between machines. */
typedef struct {
    int64_t voxel; /* in the view */
    wide units;
} seed_start;

template <typename K> struct seed_list {
    scene<K> s;
    const seed_start *start;
    int64_t n;
};

/* A range of the view's voxels whose costs the host wants, or which it has turned into strengths.
 */
template <typename K> struct cost_range {
    scene<K> s;
    wide *units;           /* of each voxel of the range; ~0 where there is no label */
    const float *strength; /* by units, plane after plane; or of each voxel of the range */
    const int64_t *first;  /* of each plane, in strength */
    int64_t from, n;
};

/*
 * For each `group` of 32 cells. A warp takes whole tiles: by groups it would meet the same row of
 * every tile, and where only some rows have seeds few warps would do all the work.
 */
#define FOR_CELLS(s, S)                                                                   \
    const uint32_t lane = threadIdx.x % WARP, step_ = gridDim.x * CELL_WARPS;             \
    for (int64_t tile_ = blockIdx.x * CELL_WARPS + threadIdx.x / WARP; tile_ < (s).tiles; \
         tile_ += step_)                                                                  \
        for (int64_t group = tile_ * S::own_words; group < (tile_ + 1) * S::own_words; group++)

template <typename S> static __device__ inline uint32_t tile_of(int64_t group)
{
    return (uint32_t)(group / S::own_words);
}

template <typename S> static __device__ inline uint32_t cell_of(int64_t group, uint32_t lane)
{
    return (uint32_t)(group % S::own_words) * WARP + lane;
}

static __device__ inline void count_lanes(wide *total, bool counted, uint32_t lane)
{
    const uint32_t who = __ballot_sync(ALL_LANES, counted);
    if (lane == 0 && who) atomicAdd(total, (wide)__popc(who));
}

/* Levels, keys and pending bits of all cells. A hard seed has key 0 and is pending. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    fill_kernel(const __grid_constant__ scene<K> s)
{
    FOR_CELLS(s, S)
    {
        const uint32_t tile = tile_of<S>(group), cell = cell_of<S>(group, lane);
        const int64_t index = group * WARP + lane;
        const place p = place_of<S>(s, tile, cell);
        const int64_t v = p.inside ? voxel_of(s, p) : 0;
        const bool data = p.inside && lob_voxel_state(&s.image, v) == LOB_VOXEL_DATA;
        const bool seed = p.inside && lob_label_at(s.seeds, s.label_type, v) != 0;
        const plane *in = plane_of(s, p.inside ? p : place{0, 0, 0, true});
        for (int c = 0; !s.levels_known && c < s.image.channels; c++)
            s.level[c * s.cells + index] =
                data ? lob_voxel_level(&s.image, &in->levels, v + c * s.image.voxels) : 0;
        const bool hard = data && seed && !s.soft;
        s.key[index] = data && !hard ? (K)in->unreached : 0;
        const uint32_t pending = __ballot_sync(ALL_LANES, hard);
        if (lane == 0) s.pending[group] = pending;
        if (cell == 0) s.priority[tile] = keys<K>::never;
        if (s.soft) continue;
        count_lanes(&s.ctl->seeds, hard, lane);
        count_lanes(&s.ctl->outside, seed && !data, lane);
    }
}

/* Seeds with strengths: each starts at its cost, and those of strength 1 are hard. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    start_kernel(const __grid_constant__ seed_list<K> list)
{
    const scene<K> &s = list.s;
    const uint32_t lane = threadIdx.x % WARP;
    const int64_t all = (int64_t)gridDim.x * CELL_THREADS;
    for (int64_t first = (int64_t)blockIdx.x * CELL_THREADS + threadIdx.x - lane; first < list.n;
         first += all) {
        bool on = false;
        if (first + lane < list.n) {
            const seed_start start = list.start[first + lane];
            const place p = place_in_view(s, start.voxel);
            const int64_t at = neighbour_of<S>(s, p, CENTRE);
            const K unreached = (K)plane_of(s, p)->unreached;
            const plane *in = plane_of(s, p);
            const bool data = s.key[at] != 0; /* a voxel is in the list once */
            on = data && start.units < (wide)(unreached >> s.label_bits);
            if (data && !on && start.units <= in->limit && start.units != ~0ull)
                s.overflow[in - s.planes] = 1; /* allowed, but it does not fit the key */
            if (on) {
                const int32_t label = lob_label_at(s.seeds, s.label_type, voxel_of(s, p));
                const K key = start.units ? key_of(s, start.units, label) : 0;
                s.key[at] = key;
                atomicOr(&s.pending[at / WARP], 1u << at % WARP);
                if (key) atomicMin(&s.priority[at / S::cells], key);
            }
        }
        count_lanes(&s.ctl->seeds, on, lane);
        count_lanes(&s.ctl->outside, first + lane < list.n && !on, lane);
    }
}

/* Offer a path from a hard seed to one neighbour; returns the offer if it lowered the key. */
template <typename K, typename S>
static __device__ K offer_from_seed(const scene<K> &s, int64_t from, int64_t to, const plane *in,
                                    K own, int direction)
{
    const K key = __ldcg(&s.key[to]);
    if (key == 0) return keys<K>::never; /* the table ends at the largest distance between data */
    const uint32_t d = lob_growcut_distance(s.level + from, s.level + to, s.image.channels, s.cells,
                                            s.norm, in->fraction);
    const wide offer = own + weight_of(s, in, d) + in->extra[direction];
    if (offer >= keys<K>::top || (K)offer >= key) return keys<K>::never;
    if ((K)offer >= atomicMin(&s.key[to], (K)offer)) return keys<K>::never;
    atomicOr(&s.pending[to / WARP], 1u << to % WARP);
    return (K)offer;
}

/*
 * Hard seeds make their offers once, here, because their own key, 0, does not tell their label.
 * A tile's seeds lower its priority together: one by one they would queue up at it.
 */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    seed_kernel(const __grid_constant__ scene<K> s)
{
    FOR_CELLS(s, S)
    {
        /* One lane reads for all: other warps' offers set bits meanwhile. */
        uint32_t pending = lane == 0 ? __ldcg(&s.pending[group]) : 0;
        pending = __shfl_sync(ALL_LANES, pending, 0);
        if (!pending) continue;
        const int64_t from = group * WARP + lane;
        const bool hard = (pending >> lane & 1) && __ldcg(&s.key[from]) == 0;
        const uint32_t who = __ballot_sync(ALL_LANES, hard);
        if (lane == 0 && who) atomicAnd(&s.pending[group], ~who);
        const uint32_t tile = tile_of<S>(group);
        const place p = place_of<S>(s, tile, cell_of<S>(group, lane));
        K least = keys<K>::never;
        if (hard) {
            const K own = key_of(s, 0, lob_label_at(s.seeds, s.label_type, voxel_of(s, p)));
            const plane *in = plane_of(s, p);
            for (int k = 0; k < s.neighbours; k++) {
                const int64_t to = neighbour_of<S>(s, p, s.direction[k]);
                if (to < 0) continue;
                const K offer = offer_from_seed<K, S>(s, from, to, in, own, s.direction[k]);
                if (to / S::cells == tile)
                    least = offer < least ? offer : least;
                else if (offer != keys<K>::never)
                    atomicMin(&s.priority[to / S::cells], offer);
            }
        }
        __syncwarp();
        least = warp_least(least);
        if (lane == 0 && least < __ldcg(&s.priority[tile])) atomicMin(&s.priority[tile], least);
    }
}

/* The usual cost of a step: the mean to the neighbour along x of every 61st cell, in units. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    usual_kernel(const __grid_constant__ scene<K> s)
{
    const uint32_t lane = threadIdx.x % WARP;
    const int64_t all = (int64_t)gridDim.x * CELL_THREADS, samples = s.cells / SAMPLED;
    wide sum = 0;
    uint32_t n = 0;
    for (int64_t i = (int64_t)blockIdx.x * CELL_THREADS + threadIdx.x; i < samples; i += all) {
        const int64_t at = i * SAMPLED;
        if (at % S::x == S::x - 1 || s.key[at] == 0 || s.key[at + 1] == 0) continue;
        const place p = place_of<S>(s, (uint32_t)(at / S::cells), (uint32_t)(at % S::cells));
        const plane *in = plane_of(s, p);
        const uint32_t d = lob_growcut_distance(s.level + at, s.level + at + 1, s.image.channels,
                                                s.cells, LOB_NORM_LINF, in->fraction);
        const wide weight = weight_of(s, in, d);
        if (weight >= keys<K>::no_way) continue;
        sum += weight >> s.label_bits;
        n++;
    }
    for (int apart = WARP / 2; apart > 0; apart /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, apart);
    n = __reduce_add_sync(ALL_LANES, n);
    if (lane != 0 || n == 0) return;
    atomicAdd(&s.ctl->usual_sum, sum);
    atomicAdd(&s.ctl->usual_n, (wide)n);
}

/* Labels, or in the run with reversed ties, where labels now differ. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    write_kernel(const __grid_constant__ scene<K> s)
{
    wide largest = 0;
    int64_t of = 0; /* the plane it is the largest of */
    uint32_t labelled = 0, ties = 0;
    FOR_CELLS(s, S)
    {
        const place p = place_of<S>(s, tile_of<S>(group), cell_of<S>(group, lane));
        const int64_t here = plane_of(s, p) - s.planes; /* of the whole warp */
        if (here != of) {
            largest = warp_least(~largest);
            if (lane == 0 && ~largest) atomicMax(&s.largest[of], ~largest);
            largest = 0;
            of = here;
        }
        if (!p.inside) continue;
        const K key = s.key[group * WARP + lane], unreached = (K)s.planes[here].unreached;
        const int64_t v = voxel_of(s, p);
        const bool grown = key != 0 && key != unreached;
        int32_t label = grown ? label_of(s, key) : 0;
        if (s.reversed) {
            const bool tie = grown && label != lob_label_at(s.labels, s.label_type, v);
            s.tie[v] = tie;
            ties += tie;
            continue;
        }
        if (key == 0) label = lob_label_at(s.seeds, s.label_type, v);
        if (key == 0 && label && lob_voxel_state(&s.image, v) != LOB_VOXEL_DATA) label = 0;
        lob_label_put(s.labels, s.label_type, v, label);
        labelled += label != 0;
        if (grown && (wide)(key >> s.label_bits) > largest) largest = key >> s.label_bits;
    }
    largest = ~warp_least(~largest);
    labelled = __reduce_add_sync(ALL_LANES, labelled);
    ties = __reduce_add_sync(ALL_LANES, ties);
    if (lane != 0) return;
    if (largest) atomicMax(&s.largest[of], largest);
    if (labelled) atomicAdd(&s.ctl->labelled, (wide)labelled);
    if (ties) atomicAdd(&s.ctl->ties, (wide)ties);
}

/* Cost of voxel i of the view in units; ~0 where there is no label. Labels have been written. */
template <typename K, typename S>
static __device__ wide cost_at(const scene<K> &s, int64_t i, int64_t *voxel, int64_t *in)
{
    const place p = place_in_view(s, i);
    *voxel = voxel_of(s, p);
    *in = plane_of(s, p) - s.planes;
    if (lob_label_at(s.labels, s.label_type, *voxel) == 0) return ~0ull;
    return s.key[neighbour_of<S>(s, p, CENTRE)] >> s.label_bits;
}

/* Strengths from the host's table. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    strength_kernel(const __grid_constant__ cost_range<K> r)
{
    const int64_t all = (int64_t)gridDim.x * CELL_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * CELL_THREADS + threadIdx.x; i < r.n; i += all) {
        int64_t voxel, in;
        const wide units = cost_at<K, S>(r.s, r.from + i, &voxel, &in);
        r.s.strength[voxel] = units == ~0ull ? 0.0f : r.strength[r.first[in] + (int64_t)units];
    }
}

/* Costs for the host, where a table of their strengths would be too long. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    cost_kernel(const __grid_constant__ cost_range<K> r)
{
    const int64_t all = (int64_t)gridDim.x * CELL_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * CELL_THREADS + threadIdx.x; i < r.n; i += all) {
        int64_t voxel, in;
        r.units[i] = cost_at<K, S>(r.s, r.from + i, &voxel, &in);
    }
}

/* Strengths that the host made of the costs of a range, in its order. */
template <typename K>
static __global__ void __launch_bounds__(CELL_THREADS)
    put_kernel(const __grid_constant__ cost_range<K> r)
{
    const int64_t all = (int64_t)gridDim.x * CELL_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * CELL_THREADS + threadIdx.x; i < r.n; i += all)
        r.s.strength[voxel_of(r.s, place_in_view(r.s, r.from + i))] = r.strength[i];
}

/* Which planes hold data without a path beside a source, a step away that can be taken. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    overflow_kernel(const __grid_constant__ scene<K> s)
{
    FOR_CELLS(s, S)
    {
        const int64_t from = group * WARP + lane;
        const place p = place_of<S>(s, tile_of<S>(group), cell_of<S>(group, lane));
        if (!p.inside) continue;
        const plane *in = plane_of(s, p);
        const K unreached = (K)in->unreached, key = s.key[from];
        if (key == unreached) continue;
        const int64_t v = voxel_of(s, p);
        if (key == 0 && (lob_label_at(s.seeds, s.label_type, v) == 0 ||
                         lob_voxel_state(&s.image, v) != LOB_VOXEL_DATA))
            continue;
        for (int k = 0; k < s.neighbours; k++) {
            const int64_t to = neighbour_of<S>(s, p, s.direction[k]);
            if (to < 0 || s.key[to] != unreached) continue;
            const uint32_t d = lob_growcut_distance(s.level + from, s.level + to, s.image.channels,
                                                    s.cells, s.norm, in->fraction);
            if (!in->barred || d < in->dmax) s.overflow[in - s.planes] = 1;
        }
    }
}

#endif
