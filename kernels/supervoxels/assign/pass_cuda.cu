/* The passes of supervoxels on a GPU: which kernel does one, and clusters moving to their means. */
#include "kernels/supervoxels/assign/warp_tile_cuda.cuh"

namespace lob::supervoxels
{

enum {
    PASS_THREADS = 256,
    TOTAL_BLOCKS = 64 /* for the sums over all clusters: few, because they add to the same words */
};

/* Boxes that a tile meets on average, at most: culling leaves fewer, but slico culls none. */
static const double MAX_BOXES = 72, MAX_BOXES_SLICO = 56;

/* ---- a pass ---- */

template <bool FLAT>
static __global__ void __launch_bounds__(PASS_THREADS)
    voxelwise_kernel(const __grid_constant__ supervoxels_params s)
{
    if (s.pass == PASS_ADD && is_converged(s)) return;
    for (uint32_t strip = blockIdx.x * PASS_THREADS + threadIdx.x; strip < s.strips;
         strip += gridDim.x * PASS_THREADS)
        voxelwise_strip(s, strip, position_of_strip<FLAT>(s, strip), EVERY_VOXEL);
}

/* The most cells along an axis whose clusters may get voxels of one tile. */
static int32_t max_cells(const supervoxels_params *s, int axis, int32_t side)
{
    int32_t max_cells_met = 1;
    for (int64_t first = 0; first < s->side[axis]; first += side) {
        const int32_t last =
            (int32_t)(first + side < s->side[axis] ? first + side : s->side[axis]) - 1;
        const int32_t low = lob_cell((int32_t)first, s->side[axis], s->cells[axis]),
                      high = lob_cell(last, s->side[axis], s->cells[axis]);
        const int32_t n = high - low + 1 + (low > 0) + (high + 1 < s->cells[axis]);
        if (n > max_cells_met) max_cells_met = n;
    }
    return max_cells_met;
}

/* Entries that nearly all tables can do with; 0: clusters are too small for tables. */
static int list_capacity_for(const supervoxels_params *s)
{
    const int side[3] = {s->flat ? brick_shape<true>::bx : brick_shape<false>::bx,
                         s->flat ? brick_shape<true>::by : brick_shape<false>::by,
                         brick_shape<false>::bz * brick_shape<false>::depth};
    double boxes = 1;
    int64_t max_cells_met = 1;
    for (int a = 0; a < (s->flat ? 2 : 3); a++) {
        const double met = side[a] / ((double)s->side[a] / s->cells[a]) + 2;
        boxes *= met < s->cells[a] ? met : s->cells[a];
        max_cells_met *= max_cells(s, a, side[a]);
    }
    if (boxes > (s->rule.method == LOB_SLICO ? MAX_BOXES_SLICO : MAX_BOXES)) return 0;
    return max_cells_met < RANKS ? (int)max_cells_met : RANKS;
}

template <lob_supervoxels_method M, int C, bool FLAT> static int64_t shared_bytes(int room)
{
    warp_shared d;
    uint8_t *common;
    return lay_out_shared<M, C, FLAT>(&d, &common, NULL, room, 0) - (unsigned char *)NULL;
}

struct tile_variant {
    lob_supervoxels_method method;
    int channels;
    bool flat;
    void (*kernel)(const supervoxels_params);
    int64_t (*bytes)(int room);
    void (*cull)(const supervoxels_params); /* ahead of each pass but the first; NULL: none */
};

template <lob_supervoxels_method M, int C, bool FLAT> static constexpr tile_variant variant()
{
    tile_variant v = {M, C, FLAT, tile_kernel<M, C, FLAT>, shared_bytes<M, C, FLAT>, NULL};
    if constexpr (M == LOB_SLIC) v.cull = cull_kernel<C, FLAT>;
    return v;
}

#define VARIANTS(m) \
    variant<m, 1, false>(), variant<m, 1, true>(), variant<m, 3, false>(), variant<m, 3, true>()

/* Other numbers of channels are done voxelwise. */
static const tile_variant variants[] = {VARIANTS(LOB_SLIC), VARIANTS(LOB_SLICO), VARIANTS(LOB_LSC)};

static const tile_variant *variant_of(const supervoxels_params *s)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (variants[i].method == s->rule.method && variants[i].channels == s->rule.channels &&
            variants[i].flat == s->flat)
            return &variants[i];
    return NULL;
}

int list_capacity_of(const lob_device *device, const supervoxels_params *s)
{
    const tile_variant *v = variant_of(s);
    const int room = list_capacity_for(s);
    return v && room > 0 && v->bytes(room) <= lob_device_shared_bytes(device) ? room : 0;
}

lob_status launch_pass(lob_device *device, const supervoxels_params *s, lob_error *error)
{
    const tile_variant *v = s->list_capacity == 0 ? NULL : variant_of(s);
    if (!v)
        return lob_launch(device, s->flat ? voxelwise_kernel<true> : voxelwise_kernel<false>,
                          "a voxelwise pass", lob_grid_blocks(device, s->strips, PASS_THREADS),
                          PASS_THREADS, 0, *s, error);
    const int64_t bytes = v->bytes(s->list_capacity);
    const int64_t turns = ((int64_t)s->bricks[0] + s->tiles_per_turn - 1) / s->tiles_per_turn;
    const int64_t wanted = (turns * s->bricks[1] * s->tiles_w + TILE_WARPS - 1) / TILE_WARPS;
    int blocks_each = 0;
    if (s->culled && s->pass != PASS_START)
        LOB_TRY(lob_launch(device, v->cull, "culling warp tiles",
                           (count_of_tiles(s) + CULL_TILES - 1) / CULL_TILES, CULL_THREADS, 0, *s,
                           error));
    LOB_CUDA(cudaFuncSetAttribute((const void *)v->kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    LOB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, v->kernel,
                                                           TILE_WARPS * WARP, (size_t)bytes));
    const int64_t resident =
        (int64_t)lob_device_multiprocessors(device) * (blocks_each > 0 ? blocks_each : 1);
    return lob_launch(device, v->kernel, "a pass over warp tiles",
                      wanted < resident ? wanted : resident, TILE_WARPS * WARP, (size_t)bytes, *s,
                      error);
}

/* ---- clusters move ---- */

/* The cells whose clusters may get voxels of the tiles number i along the view's axis a. */
template <bool FLAT>
static __device__ inline cell_span span_of(const supervoxels_params &s, int a, int32_t i)
{
    typedef brick_shape<FLAT> S;
    const int side[3] = {S::bx, S::by, S::bz * S::depth};
    const int32_t last = min((i + 1) * side[a], s.side[a]) - 1;
    const int32_t beside = FLAT && a == 2 ? 0 : 1; /* not across slices */
    const int32_t low = lob_cell(i * side[a], s.side[a], s.cells[a]) - beside,
                  high = lob_cell(last, s.side[a], s.cells[a]) + beside;
    cell_span of;
    of.first = max(low, 0);
    of.n = min(high, s.cells[a] - 1) - of.first + 1;
    of.reciprocal = 1.0f / (float)of.n;
    return of;
}

static __device__ inline void fill_spans(const supervoxels_params &s, int64_t first, int64_t step)
{
    cell_span *to = s.spans;
    const uint32_t tiles[3] = {s.bricks[0], s.bricks[1], s.tiles_w};
    for (int a = 0; a < 3; to += tiles[a], a++)
        for (int64_t i = first; i < tiles[a]; i += step)
            to[i] = s.flat ? span_of<true>(s, a, (int32_t)i) : span_of<false>(s, a, (int32_t)i);
}

/* Before the first pass: boxes are the cells, and centres their middles. */
static __global__ void __launch_bounds__(PASS_THREADS)
    begin_kernel(const __grid_constant__ supervoxels_params s)
{
    const lob_supervoxels_rule &rule = s.rule;
    const int floats = lob_cluster_floats(&rule);
    const int64_t first = (int64_t)blockIdx.x * PASS_THREADS + threadIdx.x,
                  step = (int64_t)gridDim.x * PASS_THREADS;
    fill_spans(s, first, step);
    for (int64_t i = first; i < rule.clusters; i += step) {
        const int32_t k = (int32_t)i, across = k / rule.cells[0];
        const int32_t cell[3] = {k % rule.cells[0], across % rule.cells[1], across / rule.cells[1]};
        float *centre = s.centres + i * floats;
        int32_t *box = s.boxes + i * 6;
        for (int f = 0; f < floats; f++) centre[f] = 0;
        for (int a = 0; a < 3; a++) {
            box[a] = lob_cell_first(cell[a], rule.side[a], rule.cells[a]);
            box[3 + a] = lob_cell_first(cell[a] + 1, rule.side[a], rule.cells[a]) - 1;
            if (rule.method != LOB_LSC)
                centre[a] = (float)(box[a] + box[3 + a]) / 2 * rule.position[a];
        }
    }
}

lob_status begin_clusters(lob_device *device, const supervoxels_params *s, lob_error *error)
{
    return lob_launch(device, begin_kernel, "laying out cells",
                      lob_grid_blocks(device, s->rule.clusters, PASS_THREADS), PASS_THREADS, 0, *s,
                      error);
}

/* Sums over all clusters; each thread adds up one of them. */
static __global__ void __launch_bounds__(PASS_THREADS)
    totals_kernel(const __grid_constant__ supervoxels_params s)
{
    const int sums = lob_cluster_sums(&s.rule);
    const int64_t step = (int64_t)gridDim.x * PASS_THREADS / sums * sums;
    const int64_t first = (int64_t)blockIdx.x * PASS_THREADS + threadIdx.x;
    u64 total = 0;
    if (first >= step) return;
    for (int64_t i = first; i < (int64_t)s.rule.clusters * sums; i += step) total += s.sums[i];
    atomicAdd(&s.totals[first % sums], total);
}

static __global__ void weights_kernel(const __grid_constant__ supervoxels_params s)
{
    lob_lsc_weights(s.weights, (const int64_t *)s.totals, &s.rule);
}

/* Did a cluster's sums or largest contrast change? Keeps them for the next iteration. */
static __device__ inline bool has_changed(const supervoxels_params &s, int32_t k, int sums,
                                          float largest)
{
    const u64 *now = s.sums + (int64_t)k * sums;
    u64 *before = s.before + (int64_t)k * sums;
    bool changed = s.iteration == 0;
    for (int f = 0; f < sums; f++) {
        changed = changed || now[f] != before[f];
        before[f] = now[f];
    }
    if (s.largest) {
        changed = changed || __float_as_uint(largest) != s.largest_before[k];
        s.largest_before[k] = __float_as_uint(largest);
    }
    return changed;
}

static __global__ void __launch_bounds__(PASS_THREADS)
    update_kernel(const __grid_constant__ supervoxels_params s)
{
    const bool converged = is_converged(s);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.counters->changed[(s.iteration + 2) % RING] = 0;
        if (!converged) s.counters->iterations = (uint32_t)s.iteration;
        s.counters->listed = 0;
    }
    if (converged) return;
    const int sums = lob_cluster_sums(&s.rule), floats = lob_cluster_floats(&s.rule);
    for (int64_t i = (int64_t)blockIdx.x * PASS_THREADS + threadIdx.x; i < s.rule.clusters;
         i += (int64_t)gridDim.x * PASS_THREADS) {
        const int32_t k = (int32_t)i;
        float *centre = s.centres + i * floats;
        int32_t *box = s.boxes + i * 6;
        u64 *sum = s.sums + i * sums;
        float largest = LOB_SLICO_START;
        if (s.iteration == 0) {
            for (int f = 0; f < floats; f++) centre[f] = 0;
            for (int a = 0; a < 6; a++) box[a] = a < 3 ? 0 : -1;
        } else if (s.largest)
            largest = __uint_as_float(s.largest[k]);
        if (s.before && has_changed(s, k, sums, largest))
            s.counters->changed[s.iteration % RING] = 1;
        lob_cluster_update(centre, box, k, (const int64_t *)sum, largest, s.weights, &s.rule);
        for (int f = 0; f < sums; f++) sum[f] = 0;
        if (s.largest) s.largest[k] = 0;
    }
}

lob_status update_clusters(lob_device *device, const supervoxels_params *s, lob_error *error)
{
    if (s->rule.method == LOB_LSC && s->iteration == 0) {
        const int64_t n = (int64_t)s->rule.clusters * lob_cluster_sums(&s->rule);
        const int64_t blocks = lob_grid_blocks(device, n, PASS_THREADS),
                      max_cells_met = TOTAL_BLOCKS;
        LOB_TRY(lob_launch(device, totals_kernel, "adding up clusters",
                           blocks < max_cells_met ? blocks : max_cells_met, PASS_THREADS, 0, *s,
                           error));
        LOB_TRY(lob_launch(device, weights_kernel, "weights", 1, 1, 0, *s, error));
    }
    return lob_launch(device, update_kernel, "moving clusters",
                      lob_grid_blocks(device, s->rule.clusters, PASS_THREADS), PASS_THREADS, 0, *s,
                      error);
}

} /* namespace lob::supervoxels */
