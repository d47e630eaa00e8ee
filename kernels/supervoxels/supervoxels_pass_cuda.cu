/* Supervoxels on the device: planes, passes over the volume, and clusters moving to their means. */
#include "kernels/supervoxels/supervoxels_tile_cuda.cuh"

/* ---- knobs ---- */

enum {
    THREADS = 256,
    TOTAL_BLOCKS = 64 /* of the sums over all clusters: few, because all add to the same numbers */
};

/* Clusters that a tile lists, at most, and how many more than expected it has room for. */
static const double MOST_LISTED = 384, LIST_SLACK = 1.25;

/* ---- planes ---- */

/* A run a thread; neighbouring threads take runs that follow each other along u. */
template <bool FLAT>
static __global__ void __launch_bounds__(THREADS) planes_kernel(const __grid_constant__ scene s)
{
    typedef shape<FLAT> S;
    const uint32_t along = s.bricks[0] * (S::bx / RUN), rows = s.bricks[1] * S::by;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < s.runs; i += gridDim.x * THREADS) {
        const uint32_t ru = i % along, v = i / along % rows, w = i / along / rows;
        const uint32_t brick =
            (w / S::bz * s.bricks[1] + v / S::by) * s.bricks[0] + ru / (S::bx / RUN);
        const uint32_t lane = FLAT ? v % S::by * 2 + ru % 2 : v % S::by * 4 + w % S::bz;
        const uint32_t run = brick * WARP + lane;
        const int64_t u = (int64_t)ru * RUN;
        const int64_t voxel = u * s.stride[0] + v * s.stride[1] + w * s.stride[2];
        const bool inside = v < (uint32_t)s.side[1] && w < (uint32_t)s.side[2];
        uint32_t data = 0;
        for (int j = 0; j < RUN && inside && u + j < s.side[0]; j++)
            if (lob_voxel_state(&s.image, voxel + j * s.stride[0]) == LOB_VOXEL_DATA)
                data |= 1u << j;
        s.data[run] = (uint8_t)data;
        for (int c = 0; c < s.rule.channels; c++) {
            uint32_t word[RUN / 2];
#pragma unroll
            for (int j = 0; j < RUN; j++) {
                const uint32_t level =
                    data >> j & 1 ? plane_level(s, c, voxel + j * s.stride[0]) : 0;
                word[j / 2] = j & 1 ? word[j / 2] | level << 16 : level;
            }
            ((uint4 *)s.planes)[(int64_t)c * s.runs + run] =
                make_uint4(word[0], word[1], word[2], word[3]);
        }
    }
}

static int64_t blocks_for(const lob_device *device, int64_t n)
{
    const int64_t want = (n + THREADS - 1) / THREADS;
    const int64_t most = (int64_t)device->multiprocessors * 16;
    return want < most ? want : most;
}

lob_status lob_supervoxels_planes_cuda(lob_device *device, const scene *s, lob_error *error)
{
    return lob_launch(device, s->flat ? planes_kernel<true> : planes_kernel<false>, "making planes",
                      blocks_for(device, s->runs), THREADS, 0, *s, error);
}

/* ---- a pass ---- */

template <bool FLAT>
static __global__ void __launch_bounds__(THREADS) plain_kernel(const __grid_constant__ scene s)
{
    if (s.pass == PASS_ADD && is_still(s)) return;
    for (uint32_t run = blockIdx.x * THREADS + threadIdx.x; run < s.runs;
         run += gridDim.x * THREADS)
        plain_run(s, run, place_of<FLAT>(s, run), EVERY_VOXEL);
}

/* The least room that is sure to be enough nearly always, from how many boxes a tile meets. */
template <bool FLAT> static int room_for(const scene *s)
{
    typedef shape<FLAT> S;
    const int tile_side[3] = {S::vx, S::vy, S::vz}, brick_side[3] = {S::bx, S::by, S::bz};
    double listed = 1, of_brick = 1;
    for (int a = 0; a < (FLAT ? 2 : 3); a++) {
        const double step = (double)s->side[a] / s->cells[a];
        const double of_tile = tile_side[a] / step + 2, in_brick = brick_side[a] / step + 2;
        listed *= of_tile < s->cells[a] ? of_tile : s->cells[a];
        of_brick *= in_brick < s->cells[a] ? in_brick : s->cells[a];
    }
    if (listed > MOST_LISTED || of_brick > LISTED) return 0;
    const double room = listed * LIST_SLACK + 16;
    return (int)(room < MOST_LISTED ? room : MOST_LISTED) / 4 * 4;
}

template <lob_supervoxel_method M, int C, bool FLAT> static int64_t hall_bytes(int room)
{
    hall h;
    return lay_hall<M, C, FLAT>(&h, NULL, room, 0) - (unsigned char *)NULL;
}

typedef struct {
    lob_supervoxel_method method;
    int channels;
    bool flat;
    void (*kernel)(const scene);
    const char *name;
    int64_t (*bytes)(int room);
    int threads;
} tile_variant;

#define VARIANT(m, c, flat)                                                               \
    {                                                                                     \
        m, c, flat, tile_kernel<m, c, flat>, "a pass over tiles", hall_bytes<m, c, flat>, \
            shape<flat>::threads                                                          \
    }
#define VARIANTS(m) \
    VARIANT(m, 1, false), VARIANT(m, 1, true), VARIANT(m, 3, false), VARIANT(m, 3, true)

/* Other numbers of channels go without tiles. */
static const tile_variant variants[] = {VARIANTS(LOB_SLIC), VARIANTS(LOB_SLICO), VARIANTS(LOB_LSC)};

static const tile_variant *variant_of(const scene *s)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (variants[i].method == s->rule.method && variants[i].channels == s->rule.channels &&
            variants[i].flat == s->flat)
            return &variants[i];
    return NULL;
}

int lob_supervoxels_tile_room(const lob_device *device, const scene *s)
{
    const tile_variant *v = variant_of(s);
    const int room = s->flat ? room_for<true>(s) : room_for<false>(s);
    return v && room > 0 && v->bytes(room) <= device->shared_bytes ? room : 0;
}

lob_status lob_supervoxels_pass_cuda(lob_device *device, const scene *s, bool plain,
                                     lob_error *error)
{
    const tile_variant *v = plain || s->room == 0 ? NULL : variant_of(s);
    if (!v)
        return lob_launch(device, s->flat ? plain_kernel<true> : plain_kernel<false>,
                          "a pass over voxels", blocks_for(device, s->runs), THREADS, 0, *s, error);
    const int64_t bytes = v->bytes(s->room);
    LOB_CUDA(cudaFuncSetAttribute((const void *)v->kernel,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return lob_launch(device, v->kernel, v->name, s->tile_count, v->threads, (size_t)bytes, *s,
                      error);
}

/* ---- clusters move ---- */

/* Sums over all clusters; each thread keeps to one number of them. */
static __global__ void __launch_bounds__(THREADS) totals_kernel(const __grid_constant__ scene s)
{
    const int sums = lob_cluster_sums(&s.rule);
    const int64_t step = (int64_t)gridDim.x * THREADS / sums * sums;
    const int64_t first = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    wide total = 0;
    if (first >= step) return;
    for (int64_t i = first; i < (int64_t)s.rule.clusters * sums; i += step) total += s.sums[i];
    atomicAdd(&s.totals[first % sums], total);
}

static __global__ void weights_kernel(const __grid_constant__ scene s)
{
    lob_lsc_weights(s.weights, (const int64_t *)s.totals, &s.rule);
}

/* Did a cluster's sums or largest contrast change? Keeps them for the next time. */
static __device__ inline bool has_changed(const scene &s, int32_t k, int sums, float largest)
{
    const wide *now = s.sums + (int64_t)k * sums;
    wide *before = s.before + (int64_t)k * sums;
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

static __global__ void __launch_bounds__(THREADS) settle_kernel(const __grid_constant__ scene s)
{
    const bool still = is_still(s);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.line->changed[(s.iteration + 2) % RING] = 0;
        if (!still) s.line->iterations = (uint32_t)s.iteration;
    }
    if (still) return;
    const int sums = lob_cluster_sums(&s.rule), floats = lob_cluster_floats(&s.rule);
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < s.rule.clusters;
         i += (int64_t)gridDim.x * THREADS) {
        const int32_t k = (int32_t)i;
        float *centre = s.centres + i * floats;
        int32_t *box = s.boxes + i * 6;
        wide *sum = s.sums + i * sums;
        float largest = LOB_SLICO_START;
        if (s.iteration == 0) {
            for (int f = 0; f < floats; f++) centre[f] = 0;
            for (int a = 0; a < 6; a++) box[a] = a < 3 ? 0 : -1;
        } else if (s.largest)
            largest = __uint_as_float(s.largest[k]);
        if (s.before && has_changed(s, k, sums, largest)) s.line->changed[s.iteration % RING] = 1;
        lob_cluster_settle(centre, box, k, (const int64_t *)sum, largest, s.weights, &s.rule);
        for (int f = 0; f < sums; f++) sum[f] = 0;
        if (s.largest) s.largest[k] = 0;
    }
}

lob_status lob_supervoxels_settle_cuda(lob_device *device, const scene *s, lob_error *error)
{
    if (s->rule.method == LOB_LSC && s->iteration == 0) {
        const int64_t n = (int64_t)s->rule.clusters * lob_cluster_sums(&s->rule);
        const int64_t blocks = blocks_for(device, n), most = TOTAL_BLOCKS;
        LOB_TRY(lob_launch(device, totals_kernel, "adding up clusters",
                           blocks < most ? blocks : most, THREADS, 0, *s, error));
        LOB_TRY(lob_launch(device, weights_kernel, "weights", 1, 1, 0, *s, error));
    }
    return lob_launch(device, settle_kernel, "moving clusters",
                      blocks_for(device, s->rule.clusters), THREADS, 0, *s, error);
}
