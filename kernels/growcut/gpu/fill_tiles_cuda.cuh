/*
 * GrowCut on a GPU: voxels become cells. Tables of weights are made, each cell gets its levels and
 * its first key, and hard seeds offer their label to their neighbours. Steps are sampled for the
 * width of the cost window.
 *
 * The host computes every logarithm (of the tables and of soft seeds' starts), because host and
 * device differ in a logarithm's last bit.
 */
#ifndef LOB_FILL_TILES_CUDA_CUH
#define LOB_FILL_TILES_CUDA_CUH

#include "kernels/growcut/gpu/grow_state_cuda.cuh"

namespace lob::growcut
{

/* ---- tables of weights ---- */

enum { TABLE_CHUNK = 4 * BLOCK_THREADS };

template <typename K> struct table_params {
    K *weight;
    const double *ln; /* strength rule: logarithms up to the largest dmax */
    const section_rule *sections;
    int64_t n, chunks; /* sections, and chunks of the longest table */
    int label_bits;
};

/* The weight of each distance. A section that shares the table of the one before makes none. */
template <typename K>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    table_kernel(const __grid_constant__ table_params<K> t)
{
    for (int64_t item = blockIdx.x; item < t.n * t.chunks; item += gridDim.x) {
        const section_rule *section = t.sections + item / t.chunks;
        if (!section->has_table ||
            (section > t.sections && section[-1].has_table && section[-1].table == section->table))
            continue;
        const int64_t first = item % t.chunks * TABLE_CHUNK, all = (int64_t)section->dmax + 1;
        const int64_t end = first + TABLE_CHUNK < all ? first + TABLE_CHUNK : all;
        for (int64_t d = first + threadIdx.x; d < end; d += BLOCK_THREADS)
            t.weight[section->table + d] = (K)weight_from<K>(
                lob_growcut_cost(section->kind, (uint32_t)d, section->dmax, section->scale, t.ln),
                t.label_bits);
    }
}

/* One table of logarithms serves the tables of all sections. */
template <typename K> static lob_status make_tables(grow_state<K> *state)
{
    const section_batch *batch = state->batch;
    const int64_t n = logarithms_of(state);
    if (state->table_n == 0) return LOB_OK;
    if (n > 0) {
        double *ln = (double *)malloc((size_t)n * sizeof *ln);
        if (!ln) return lob_fail(state->error, LOB_ENOMEM, "no memory left for GrowCut's tables");
        lob_growcut_logarithms(ln, state->dmax,
                               batch->context->threads > 0 ? batch->context->threads : 1);
        const lob_status st =
            lob_device_upload(batch->device, state->ln, ln, n * (int64_t)sizeof *ln, state->error);
        free(ln);
        if (st != LOB_OK) return st;
    }
    const table_params<K> list = {state->table,
                                  state->ln,
                                  state->g.sections,
                                  batch->sections,
                                  (int64_t)state->dmax / TABLE_CHUNK + 1,
                                  state->g.label_bits};
    return launch(state, table_kernel<K>, "making tables", list.n * list.chunks * BLOCK_THREADS,
                  list);
}

/* ---- cells ---- */

/* The levels of a cell, whose voxel is v; 0 where it is not data. */
template <typename K>
static __device__ inline void put_levels(const grow_params<K> &g, const lob_device_levels &levels,
                                         bool data, int64_t v, int64_t cell)
{
    uint32_t packed[2] = {0, 0};
    for (int c = 0; c < g.image.channels; c++) {
        const uint32_t level =
            data ? lob_voxel_level(&g.image, &levels, v + c * g.image.voxels) : 0;
        if (g.layout == PACKED)
            packed[c / 4] |= level << c % 4 * 8;
        else
            ((uint16_t *)g.level)[c * g.cells + cell] = (uint16_t)level;
    }
    if (g.layout == PACKED) ((uint2 *)g.level)[cell] = make_uint2(packed[0], packed[1]);
}

/* Levels, keys and pending bits of all cells. A hard seed has key 0 and is pending. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    fill_kernel(const __grid_constant__ grow_params<K> g)
{
    uint32_t seeds = 0, outside = 0;
    FOR_TILES(g)
    {
        const position corner = corner_of<S>(g, tile);
        const section_rule *section = section_of(g, corner);
        const lob_device_levels levels = section->levels;
        const K unreached = (K)section->unreached;
        if (lane == 0) g.priority[tile] = keys<K>::none;
        for (uint32_t cell = lane; cell < S::cells; cell += WARP) {
            const int64_t index = (int64_t)tile * S::cells + cell;
            const position p = position_in<S>(g, corner, cell);
            const int64_t v = p.inside ? voxel_of(g, p) : 0;
            const bool data = p.inside && lob_voxel_state(&g.image, v) == LOB_VOXEL_DATA;
            const bool seed = p.inside && lob_label_at(g.seeds, g.label_type, v) != 0;
            if (!g.levels_known) put_levels(g, levels, data, v, index);
            const bool hard = data && seed && !g.soft;
            g.key[index] = data && !hard ? unreached : 0;
            const uint32_t pending = __ballot_sync(ALL_LANES, hard);
            if (lane == 0) g.pending[index / WARP] = pending;
            if (!is_own(g, p)) continue;
            seeds += hard;
            outside += seed && !data;
        }
    }
    if (g.soft) return; /* soft_seed_kernel counts those that start */
    add_lanes(&g.counters->seeds, seeds);
    add_lanes(&g.counters->outside, outside);
}

/* ---- soft seeds: those with a strength ---- */

typedef struct {
    int64_t voxel; /* in the view */
    u64 units;     /* the cost that it starts at */
} soft_seed;

template <typename K> struct soft_seed_params {
    grow_params<K> g;
    const soft_seed *start;
    int64_t n;
};

/* Each seed starts at its cost; those of cost 0, of strength 1, are hard. */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    soft_seed_kernel(const __grid_constant__ soft_seed_params<K> list)
{
    const grow_params<K> &g = list.g;
    uint32_t seeds = 0, outside = 0;
    for (int64_t i = grid_first(); i < list.n; i += grid_step()) {
        const soft_seed start = list.start[i];
        const position p = position_of(g, start.voxel);
        const int64_t at = neighbour_of<S>(g, p, CENTRE);
        const section_rule *section = section_of(g, p);
        const K unreached = (K)section->unreached;
        const bool data = g.key[at] != 0; /* a voxel is in the list once */
        const bool on = data && start.units < (u64)(unreached >> g.label_bits);
        const bool own = is_own(g, p);
        seeds += on && own;
        outside += !on && own;
        if (data && !on && start.units <= section->limit && start.units != ~0ull)
            g.overflow[section - g.sections] = 1; /* allowed, but it does not fit the key */
        if (!on) continue;
        const int32_t label = lob_label_at(g.seeds, g.label_type, voxel_of(g, p));
        const K key = start.units ? key_of(g, start.units, label) : 0;
        g.key[at] = key;
        atomicOr(&g.pending[at / WARP], 1u << at % WARP);
        if (key) atomicMin(&g.priority[at / S::cells], key);
    }
    add_lanes(&g.counters->seeds, seeds);
    add_lanes(&g.counters->outside, outside);
}

/* Seeds among voxels first..end of a view, with their strengths in place of units. */
typedef struct {
    lob_device_view view;
    const void *seeds;
    lob_type label_type;
    const float *strength;
    int64_t first, end;
    soft_seed *list;
    u64 *n;
} soft_list_params;

static __global__ void __launch_bounds__(BLOCK_THREADS) list_soft_kernel(soft_list_params p)
{
    const uint32_t *const side = p.view.side;
    for (int64_t i = p.first + grid_first(); i < p.end; i += grid_step()) {
        const int64_t x = i % side[0], y = i / side[0] % side[1], z = i / side[0] / side[1];
        const int64_t v =
            p.view.offset + x * p.view.stride[0] + y * p.view.stride[1] + z * p.view.stride[2];
        if (lob_label_at(p.seeds, p.label_type, v) == 0) continue;
        p.list[atomicAdd(p.n, (u64)1)] = {i, __float_as_uint(p.strength[v])};
    }
}

/* List the seeds of a range in `list` and on the host, let the host find their costs, by logarithms
 * that a device may round otherwise, and put them in. */
template <typename K, typename S>
static lob_status start_range(grow_state<K> *state, const soft_list_params &p, soft_seed *starts)
{
    lob_device *device = state->batch->device;
    const lob_device_view *view = &state->batch->view;
    const int64_t slice = (int64_t)view->side[0] * view->side[1];
    u64 n = 0;
    LOB_TRY(lob_device_fill(device, p.n, 0, sizeof n, state->error));
    LOB_TRY(launch(state, list_soft_kernel, "listing soft seeds", p.end - p.first, p));
    LOB_TRY(lob_device_download(device, &n, p.n, sizeof n, state->error));
    if (n == 0) return LOB_OK;
    const int64_t bytes = (int64_t)n * (int64_t)sizeof *starts;
    LOB_TRY(lob_device_download(device, starts, p.list, bytes, state->error));
    for (u64 i = 0; i < n; i++) {
        const int64_t section = view->flat ? starts[i].voxel / slice : 0;
        const uint32_t bits = (uint32_t)starts[i].units;
        float strength;
        memcpy(&strength, &bits, sizeof strength);
        starts[i].units = lob_growcut_start(&state->batch->rule[section], strength);
    }
    LOB_TRY(lob_device_upload(device, p.list, starts, bytes, state->error));
    const soft_seed_params<K> list = {state->g, p.list, (int64_t)n};
    return launch(state, soft_seed_kernel<K, S>, "soft seeds", list.n, list);
}

template <typename K, typename S> static lob_status put_soft_seeds(grow_state<K> *state)
{
    if (!state->g.soft) return LOB_OK;
    const section_batch *batch = state->batch;
    const uint32_t *const side = batch->view.side;
    const int64_t voxels = (int64_t)side[0] * side[1] * side[2];
    const int64_t capacity = STAGING_BYTES / (int64_t)sizeof(soft_seed) - 1;
    soft_seed *starts = (soft_seed *)malloc((size_t)STAGING_BYTES);
    if (!starts) return lob_fail(state->error, LOB_ENOMEM, "no memory left for soft seeds");
    soft_list_params p = {};
    p.view = batch->view;
    p.seeds = batch->arrays->seeds;
    p.label_type = batch->in->seeds->type;
    p.strength = batch->arrays->seed_strength;
    p.n = (u64 *)state->staging;
    p.list = (soft_seed *)state->staging + 1;
    lob_status st = LOB_OK;
    for (p.first = 0; p.first < voxels && st == LOB_OK; p.first = p.end) {
        p.end = voxels - p.first < capacity ? voxels : p.first + capacity;
        st = start_range<K, S>(state, p, starts);
    }
    free(starts);
    return st;
}

/* ---- hard seeds ---- */

/* Offer a path from a hard seed to one neighbour; returns the new key if it fell, else none. */
template <typename K, typename S>
static __device__ K lower_from_seed(const grow_params<K> &g, int64_t from, int64_t to,
                                    const section_rule *section, K own_key, int direction)
{
    const K key = __ldcg(&g.key[to]);
    /* Key 0 never falls, and a cell that is not data may lie at a distance beyond the table. */
    if (key == 0) return keys<K>::none;
    const u64 offer = offer_from(g, section, own_key, from, to, direction);
    if (offer >= keys<K>::end || (K)offer >= key) return keys<K>::none;
    if ((K)offer >= atomicMin(&g.key[to], (K)offer)) return keys<K>::none;
    atomicOr(&g.pending[to / WARP], 1u << to % WARP);
    return (K)offer;
}

/*
 * Hard seeds make their offers once, here, because their key, 0, does not hold their label. For 32
 * cells at a time, the lanes share the pairs of a seed and a direction: seeds are sparse, and each
 * offer is a chain of memory accesses, whose latency is hidden this way. A tile's seeds lower its
 * priority together, because atomic operations on one address wait for each other.
 */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    hard_seed_kernel(const __grid_constant__ grow_params<K> g)
{
    __shared__ uint8_t lists[BLOCK_WARPS][WARP];
    uint8_t *list = lists[threadIdx.x / WARP]; /* lanes whose cells are seeds */
    FOR_TILES(g)
    {
        const position corner = corner_of<S>(g, tile);
        const section_rule *section = section_of(g, corner);
        uint32_t *words = g.pending + (int64_t)tile * S::own_words;
        /* Read once for all lanes, because other warps' offers set bits meanwhile. */
        const uint32_t word = lane < S::own_words ? __ldcg(&words[lane]) : 0;
        K min_priority = keys<K>::none;
        for (uint32_t rows = __ballot_sync(ALL_LANES, word != 0); rows; rows &= rows - 1) {
            const uint32_t row = (uint32_t)__ffs((int)rows) - 1;
            const bool pending = __shfl_sync(ALL_LANES, word, (int)row) >> lane & 1;
            const int64_t first = (int64_t)tile * S::cells + row * WARP;
            const int64_t v = voxel_of(g, position_in<S>(g, corner, row * WARP + lane));
            const int32_t label = pending ? lob_label_at(g.seeds, g.label_type, v) : 0;
            const bool hard = pending && __ldcg(&g.key[first + lane]) == 0;
            const uint32_t who = __ballot_sync(ALL_LANES, hard), seeds = (uint32_t)__popc(who);
            if (lane == 0 && who) atomicAnd(&words[row], ~who);
            if (hard) list[__popc(who & ((1u << lane) - 1))] = (uint8_t)lane;
            __syncwarp();
            for (uint32_t i = lane; i - lane < seeds * (uint32_t)g.neighbours; i += WARP) {
                const uint32_t k = i / seeds; /* all seeds in one direction, then in the next */
                const bool has = k < (uint32_t)g.neighbours;
                const uint32_t seed = has ? list[i - k * seeds] : 0;
                const int32_t its_label = __shfl_sync(ALL_LANES, label, (int)seed);
                if (!has) continue;
                const position p = position_in<S>(g, corner, row * WARP + seed);
                const int64_t to = neighbour_of<S>(g, p, g.direction[k]);
                if (to < 0) continue;
                const K own_key = key_of(g, 0, its_label);
                const K offer =
                    lower_from_seed<K, S>(g, first + seed, to, section, own_key, g.direction[k]);
                if (to / S::cells == tile)
                    min_priority = offer < min_priority ? offer : min_priority;
                else if (offer != keys<K>::none)
                    atomicMin(&g.priority[to / S::cells], offer);
            }
            __syncwarp(); /* the next row overwrites the list */
        }
        min_priority = warp_min(min_priority);
        if (lane == 0 && min_priority < __ldcg(&g.priority[tile]))
            atomicMin(&g.priority[tile], min_priority);
    }
}

/* ---- the width of the cost window ---- */

enum { SAMPLED = 61 };

/*
 * Sums, in units, a lower estimate of the steps from every 61st cell to its neighbour along x: the
 * norm is LINF, and the length has no weight. It only sets the window's width.
 */
template <typename K, typename S>
static __global__ void __launch_bounds__(BLOCK_THREADS)
    sample_kernel(const __grid_constant__ grow_params<K> g)
{
    const uint32_t lane = threadIdx.x % WARP;
    const int64_t samples = g.cells / SAMPLED;
    u64 sum = 0;
    uint32_t n = 0;
    for (int64_t i = grid_first(); i < samples; i += grid_step()) {
        const int64_t at = i * SAMPLED;
        if (at % S::x == S::x - 1 || g.key[at] == 0 || g.key[at + 1] == 0) continue;
        const section_rule *section = section_of(g, corner_of<S>(g, (uint32_t)(at / S::cells)));
        const uint32_t d = distance_of(g, at, at + 1, LOB_NORM_LINF, section->fraction);
        const u64 weight = weight_of(g, section, d);
        if (weight >= keys<K>::no_passage) continue;
        sum += weight >> section->cost_shift;
        n++;
    }
    sum = warp_sum(sum);
    n = __reduce_add_sync(ALL_LANES, n);
    if (lane != 0 || n == 0) return;
    atomicAdd(&g.counters->step_sum, sum);
    atomicAdd(&g.counters->step_samples, (u64)n);
}

} /* namespace lob::growcut */

#endif
