/* The passes of supervoxels on a GPU: which kernel does one, and how many blocks of it. */
#include "kernels/supervoxels/assign/warp_tile_cuda.cuh"

namespace lob::supervoxels
{

enum { PASS_THREADS = 256 };

/* With more boxes per tile on average, voxelwise passes are faster. slico drops no candidates. */
static const double MAX_BOXES = 72, MAX_BOXES_SLICO = 56;

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
    int32_t max_met = 1;
    for (int64_t first = s->begin[axis]; first < s->end[axis]; first += side) {
        const int32_t last =
            (int32_t)(first + side < s->end[axis] ? first + side : s->end[axis]) - 1;
        const int32_t low = lob_cell((int32_t)first, s->side[axis], s->cells[axis]),
                      high = lob_cell(last, s->side[axis], s->cells[axis]);
        const int32_t n = high - low + 1 + (low > 0) + (high + 1 < s->cells[axis]);
        if (n > max_met) max_met = n;
    }
    return max_met;
}

/* Entries that are enough for nearly all tables; 0: clusters are too small for tables. */
static int max_candidates(const supervoxels_params *s)
{
    const int side[3] = {s->flat ? brick_shape<true>::bx : brick_shape<false>::bx,
                         s->flat ? brick_shape<true>::by : brick_shape<false>::by,
                         brick_shape<false>::bz * brick_shape<false>::depth};
    double boxes = 1;
    int64_t max_met = 1;
    for (int a = 0; a < (s->flat ? 2 : 3); a++) {
        const double met = side[a] / ((double)s->side[a] / s->cells[a]) + 2;
        boxes *= met < s->cells[a] ? met : s->cells[a];
        max_met *= max_cells(s, a, side[a]);
    }
    if (boxes > (s->rule.method == LOB_SLICO ? MAX_BOXES_SLICO : MAX_BOXES)) return 0;
    return max_met < RANKS ? (int)max_met : RANKS;
}

template <lob_supervoxels_method M, int C, bool FLAT> static int64_t shared_bytes(int capacity)
{
    warp_shared shared;
    uint8_t *common;
    return lay_out_shared<M, C, FLAT>(&shared, &common, NULL, capacity, 0) - (unsigned char *)NULL;
}

struct tile_variant {
    lob_supervoxels_method method;
    int channels;
    bool flat;
    void (*kernel)(const supervoxels_params);
    int64_t (*bytes)(int capacity);
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

int shortlist_capacity(const lob_device *device, const supervoxels_params *s)
{
    const tile_variant *v = variant_of(s);
    const int capacity = max_candidates(s);
    return v && capacity > 0 && v->bytes(capacity) <= lob_device_shared_bytes(device) ? capacity
                                                                                      : 0;
}

lob_status launch_pass(lob_device *device, const supervoxels_params *s, lob_error *error)
{
    const tile_variant *v = s->max_shortlist == 0 ? NULL : variant_of(s);
    if (!v)
        return lob_launch(device, s->flat ? voxelwise_kernel<true> : voxelwise_kernel<false>,
                          "a voxelwise pass", lob_grid_blocks(device, s->strips, PASS_THREADS),
                          PASS_THREADS, 0, *s, error);
    const int64_t bytes = v->bytes(s->max_shortlist);
    const int64_t turns = ((int64_t)s->bricks[0] + s->tiles_per_turn - 1) / s->tiles_per_turn;
    const int64_t wanted = (turns * s->bricks[1] * s->tiles_w + TILE_WARPS - 1) / TILE_WARPS;
    int blocks_each = 0;
    if (s->culled && s->pass != PASS_START)
        LOB_TRY(lob_launch(device, v->cull, "culling warp tiles",
                           (count_of_tiles(s) + CULL_TILES - 1) / CULL_TILES, CULL_THREADS, 0, *s,
                           error));
    LOB_TRY(lob_allow_shared(v->kernel, (size_t)bytes, error));
    LOB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_each, v->kernel,
                                                           TILE_WARPS * WARP, (size_t)bytes));
    const int64_t resident =
        (int64_t)lob_device_multiprocessors(device) * (blocks_each > 0 ? blocks_each : 1);
    return lob_launch(device, v->kernel, "a pass over warp tiles",
                      wanted < resident ? wanted : resident, TILE_WARPS * WARP, (size_t)bytes, *s,
                      error);
}

} /* namespace lob::supervoxels */
