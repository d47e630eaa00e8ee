/*
 * GrowCut's kernels around the growing: tables of weights, cells filled from voxels, seeds' first
 * offers, results written to voxels. A warp takes a tile, 32 cells at a time.
 */
#ifndef LOB_GROWCUT_CELLS_CUDA_CUH
#define LOB_GROWCUT_CELLS_CUDA_CUH

#include "kernels/growcut/gpu/grow_params_cuda.cuh"

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

/* What tables of weights are made from. */
template <typename K> struct table_list {
    K *weight;
    const double *ln; /* strength rule: logarithms up to the largest dmax */
    const plane *planes;
    int64_t n, chunks; /* planes, and chunks of the longest table */
    int label_bits;
};

enum { TABLE_CHUNK = 4 * CELL_THREADS };

/*
 * For each `tile`, which a warp takes whole: by rows of cells it would meet the same row of every
 * tile, and where only some rows have seeds few warps would do all the work.
 */
#define FOR_TILES(s)                                                                     \
    const uint32_t lane = threadIdx.x % WARP;                                            \
    for (uint32_t tile = blockIdx.x * CELL_WARPS + threadIdx.x / WARP; tile < (s).tiles; \
         tile += gridDim.x * CELL_WARPS)

/* Add up what the lanes of a warp counted. */
static __device__ inline void add_lanes(wide *total, uint32_t counted)
{
    counted = __reduce_add_sync(ALL_LANES, counted);
    if (threadIdx.x % WARP == 0 && counted) atomicAdd(total, (wide)counted);
}

/* Weights of steps by distance; a plane whose table is that of the plane before makes none. */
template <typename K>
static __global__ void __launch_bounds__(CELL_THREADS)
    table_kernel(const __grid_constant__ table_list<K> t)
{
    for (int64_t item = blockIdx.x; item < t.n * t.chunks; item += gridDim.x) {
        const plane *in = t.planes + item / t.chunks;
        if (!in->tabled || (in > t.planes && in[-1].tabled && in[-1].table == in->table)) continue;
        const lob_growcut_kind rule = in->barred ? LOB_RULE_STRENGTH : LOB_RULE_DISTANCE;
        const int64_t first = item % t.chunks * TABLE_CHUNK, all = (int64_t)in->dmax + 1;
        const int64_t end = first + TABLE_CHUNK < all ? first + TABLE_CHUNK : all;
        for (int64_t d = first + threadIdx.x; d < end; d += CELL_THREADS)
            t.weight[in->table + d] = (K)weight_from<K>(
                lob_growcut_cost(rule, (uint32_t)d, in->dmax, in->scale, t.ln), t.label_bits);
    }
}

/* Levels, keys and pending bits of all cells. A hard seed has key 0 and is pending. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    fill_kernel(const __grid_constant__ scene<K> s)
{
    uint32_t seeds = 0, outside = 0;
    FOR_TILES(s)
    {
        const place corner = corner_of<S>(s, tile);
        const plane *in = plane_of(s, corner);
        const lob_device_levels levels = in->levels;
        const K unreached = (K)in->unreached;
        if (lane == 0) s.priority[tile] = keys<K>::never;
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const int64_t index = (int64_t)tile * S::cells + cell;
            const place p = place_in<S>(s, corner, cell);
            const int64_t v = p.inside ? voxel_of(s, p) : 0;
            const bool data = p.inside && lob_voxel_state(&s.image, v) == LOB_VOXEL_DATA;
            const bool seed = p.inside && lob_label_at(s.seeds, s.label_type, v) != 0;
            for (int c = 0; !s.levels_known && c < s.image.channels; c++)
                s.level[c * s.cells + index] =
                    data ? lob_voxel_level(&s.image, &levels, v + c * s.image.voxels) : 0;
            const bool hard = data && seed && !s.soft;
            s.key[index] = data && !hard ? unreached : 0;
            const uint32_t pending = __ballot_sync(ALL_LANES, hard);
            if (lane == 0) s.pending[index / WARP] = pending;
            seeds += hard;
            outside += seed && !data;
        }
    }
    if (s.soft) return; /* which of them start is for another kernel to tell */
    add_lanes(&s.ctl->seeds, seeds);
    add_lanes(&s.ctl->outside, outside);
}

/* Seeds with strengths: each starts at its cost, and those of strength 1 are hard. */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    start_kernel(const __grid_constant__ seed_list<K> list)
{
    const scene<K> &s = list.s;
    const int64_t all = (int64_t)gridDim.x * CELL_THREADS;
    uint32_t seeds = 0, outside = 0;
    for (int64_t i = (int64_t)blockIdx.x * CELL_THREADS + threadIdx.x; i < list.n; i += all) {
        const seed_start start = list.start[i];
        const place p = place_in_view(s, start.voxel);
        const int64_t at = neighbour_of<S>(s, p, CENTRE);
        const plane *in = plane_of(s, p);
        const K unreached = (K)in->unreached;
        const bool data = s.key[at] != 0; /* a voxel is in the list once */
        const bool on = data && start.units < (wide)(unreached >> s.label_bits);
        seeds += on;
        outside += !on;
        if (data && !on && start.units <= in->limit && start.units != ~0ull)
            s.overflow[in - s.planes] = 1; /* allowed, but it does not fit the key */
        if (!on) continue;
        const int32_t label = lob_label_at(s.seeds, s.label_type, voxel_of(s, p));
        const K key = start.units ? key_of(s, start.units, label) : 0;
        s.key[at] = key;
        atomicOr(&s.pending[at / WARP], 1u << at % WARP);
        if (key) atomicMin(&s.priority[at / S::cells], key);
    }
    add_lanes(&s.ctl->seeds, seeds);
    add_lanes(&s.ctl->outside, outside);
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
 * The lanes share out the pairs of a seed and a direction of 32 cells at a time: seeds are sparse,
 * and an offer is a chain of accesses that a lane waits for. A tile's seeds lower its priority
 * together: one by one they would queue up at it.
 */
template <typename K, typename S>
static __global__ void __launch_bounds__(CELL_THREADS)
    seed_kernel(const __grid_constant__ scene<K> s)
{
    __shared__ uint8_t lists[CELL_WARPS][WARP];
    uint8_t *list = lists[threadIdx.x / WARP]; /* lanes whose cells are seeds */
    FOR_TILES(s)
    {
        const place corner = corner_of<S>(s, tile);
        const plane *in = plane_of(s, corner);
        uint32_t *words = s.pending + (int64_t)tile * S::own_words;
        /* Read once for all lanes: other warps' offers set bits meanwhile. */
        const uint32_t word = lane < S::own_words ? __ldcg(&words[lane]) : 0;
        K least = keys<K>::never;
        for (uint32_t rows = __ballot_sync(ALL_LANES, word != 0); rows; rows &= rows - 1) {
            const uint32_t row = (uint32_t)__ffs((int)rows) - 1;
            const bool pending = __shfl_sync(ALL_LANES, word, (int)row) >> lane & 1;
            const int64_t first = (int64_t)tile * S::cells + row * WARP;
            const int64_t v = voxel_of(s, place_in<S>(s, corner, row * WARP + lane));
            const int32_t label = pending ? lob_label_at(s.seeds, s.label_type, v) : 0;
            const bool hard = pending && __ldcg(&s.key[first + lane]) == 0;
            const uint32_t who = __ballot_sync(ALL_LANES, hard), seeds = (uint32_t)__popc(who);
            if (lane == 0 && who) atomicAnd(&words[row], ~who);
            if (hard) list[__popc(who & ((1u << lane) - 1))] = (uint8_t)lane;
            __syncwarp();
            for (uint32_t i = lane; i - lane < seeds * (uint32_t)s.neighbours; i += WARP) {
                const uint32_t k = i / seeds; /* direction after direction */
                const bool has = k < (uint32_t)s.neighbours;
                const uint32_t seed = has ? list[i - k * seeds] : 0;
                const int32_t own = __shfl_sync(ALL_LANES, label, (int)seed);
                if (!has) continue;
                const place p = place_in<S>(s, corner, row * WARP + seed);
                const int64_t to = neighbour_of<S>(s, p, s.direction[k]);
                if (to < 0) continue;
                const K offer = offer_from_seed<K, S>(s, first + seed, to, in, key_of(s, 0, own),
                                                      s.direction[k]);
                if (to / S::cells == tile)
                    least = offer < least ? offer : least;
                else if (offer != keys<K>::never)
                    atomicMin(&s.priority[to / S::cells], offer);
            }
            __syncwarp(); /* the next row overwrites the list */
        }
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
        const plane *in = plane_of(s, corner_of<S>(s, (uint32_t)(at / S::cells)));
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
    FOR_TILES(s)
    {
        const place corner = corner_of<S>(s, tile);
        const int64_t here = plane_of(s, corner) - s.planes;
        const K unreached = (K)s.planes[here].unreached;
        if (here != of) {
            largest = warp_least(~largest);
            if (lane == 0 && ~largest) atomicMax(&s.largest[of], ~largest);
            largest = 0;
            of = here;
        }
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const place p = place_in<S>(s, corner, cell);
            if (!p.inside) continue;
            const K key = s.key[(int64_t)tile * S::cells + cell];
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
    }
    largest = ~warp_least(~largest);
    if (threadIdx.x % WARP == 0 && largest) atomicMax(&s.largest[of], largest);
    add_lanes(&s.ctl->labelled, labelled);
    add_lanes(&s.ctl->ties, ties);
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
    FOR_TILES(s)
    {
        const place corner = corner_of<S>(s, tile);
        const plane *in = plane_of(s, corner);
        const K unreached = (K)in->unreached;
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const int64_t from = (int64_t)tile * S::cells + cell;
            const place p = place_in<S>(s, corner, cell);
            const K key = s.key[from];
            if (!p.inside || key == unreached) continue;
            const int64_t v = voxel_of(s, p);
            if (key == 0 && (lob_label_at(s.seeds, s.label_type, v) == 0 ||
                             lob_voxel_state(&s.image, v) != LOB_VOXEL_DATA))
                continue;
            for (int k = 0; k < s.neighbours; k++) {
                const int64_t to = neighbour_of<S>(s, p, s.direction[k]);
                if (to < 0 || s.key[to] != unreached) continue;
                const uint32_t d = lob_growcut_distance(
                    s.level + from, s.level + to, s.image.channels, s.cells, s.norm, in->fraction);
                if (!in->barred || d < in->dmax) s.overflow[in - s.planes] = 1;
            }
        }
    }
}

#endif
