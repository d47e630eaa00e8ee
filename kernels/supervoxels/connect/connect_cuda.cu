/*
 * Small pieces of supervoxels join the neighbours most like them, on the device.
 *
 * The volume is read three times: for the sums of pieces, for the contacts of small ones, and to
 * write labels. The rounds in between work on lists. Where there is no room for these, each round
 * reads the volume.
 * Least keys, joining to the lowest number and sums of integers do not depend on any order.
 */
#include "kernels/supervoxels/connect/boruvka_cuda.cuh"
#include "kernels/supervoxels/connect/fragment_sums_cuda.cuh"

namespace lob::supervoxels
{

/* Which pieces are of small sets. Where these are listed every piece is a set, and gets its mean.
 */
template <bool LISTED>
static __global__ void __launch_bounds__(THREADS)
    small_kernel(const __grid_constant__ connect_params p)
{
    const int64_t pieces = *p.pieces, lane = threadIdx.x % WARP;
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i - lane <= pieces; i += step) {
        const int32_t set = i > pieces ? 0 : LISTED ? (int32_t)i : set_of(p, i);
        const bool small = set != 0 && is_small(p, set);
        const unsigned bits = __ballot_sync(ALL_LANES, small);
        if (lane == 0) p.small_bits[i / WARP] = bits;
        if (!LISTED) continue;
        if (i <= pieces) p.key[i] = NO_NEIGHBOUR;
        if (set != 0)
#pragma unroll 1
            for (int c = 0; c < p.s.rule.channels; c++) {
                const int64_t at = i * p.s.rule.channels + c;
                p.mean[at] = lob_fragment_mean((int64_t)p.sums[at], p.n[i]);
            }
        uint32_t at = 0;
        if (lane == 0 && bits) at = atomicAdd(&p.counters->small, (uint32_t)__popc(bits));
        at = __shfl_sync(ALL_LANES, at, 0) + (uint32_t)__popc(bits & ((1u << lane) - 1));
        if (small) p.small[at] = set;
    }
}

static __global__ void __launch_bounds__(THREADS)
    relabel_kernel(const __grid_constant__ connect_params p)
{
    if (!p.counters->finished) return;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < p.strips; i += gridDim.x * THREADS) {
        label_strip r;
        const uint32_t row = i / p.along;
        r.x = (int32_t)(i - row * p.along) * STRIP;
        r.voxel = (int64_t)row * p.nx + r.x;
        read_labels(p, &r);
        /* most runs have two pieces, which are asked for at once */
        const int32_t first = r.label[0], last = r.label[STRIP - 1];
        const int32_t first_label = -p.link[first], last_label = -p.link[last];
        int32_t *to = p.s.labels + r.voxel;
#pragma unroll
        for (int j = 0; j < STRIP; j++)
            r.label[j] = r.label[j] == first  ? first_label
                         : r.label[j] == last ? last_label
                                              : -p.link[r.label[j]];
        if (p.nx % 4 == 0 && p.s.aligned) {
#pragma unroll
            for (int j = 0; j < STRIP; j += 4)
                if (r.x + j < p.nx)
                    *(int4 *)(to + j) =
                        make_int4(r.label[j], r.label[j + 1], r.label[j + 2], r.label[j + 3]);
        } else {
#pragma unroll
            for (int j = 0; j < STRIP; j++)
                if (r.x + j < p.nx) to[j] = r.label[j];
        }
    }
}

/* ---- the host's part ---- */

typedef struct {
    lob_device *device;
    lob_device_budget *budget;
    connect_params p;
    int32_t *table;    /* max_fragments + 1, on the device: free for links */
    uint32_t *counted; /* in the place of p.pieces, where links lie over that */
    int64_t zeros;     /* bytes that begin with zeros */
    lob_error *error;
} joining_pieces;

static int64_t place_parts(joining_pieces *j, void *memory)
{
    connect_params *p = &j->p;
    arena at(memory);
    const int64_t n = p->max_fragments + 1, channels = p->s.rule.channels;
    const int64_t listed = p->listed ? n : 0, unlisted = p->listed ? 0 : n;
    p->counters = at.take<connect_counters>(1);
    p->n = at.take<uint32_t>(n);
    p->sums = at.take<u64>(listed * channels);
    p->link = at.take<int32_t>(listed);
    p->low = at.take<uint32_t>(unlisted * channels);
    p->high = at.take<uint32_t>((unlisted * channels + 1) / 2);
    j->zeros = at.used;
    if (!p->listed) p->sums = NULL, p->link = j->table;
    j->counted = at.take<uint32_t>(1);
    p->small_bits = at.take<uint32_t>(n / WARP + 1);
    p->roots = at.take<uint32_t>(lob_device_multiprocessors(j->device));
    p->key = at.take<u64>(listed);
    p->mean = at.take<uint32_t>(listed * channels);
    p->small = at.take<int32_t>(listed);
    p->list = at.take<u64>(p->list_capacity);
    return at.used;
}

/* The host waits to hear how many there are. */
static lob_status count_pieces(joining_pieces *j)
{
    uint32_t n = 0;
    LOB_TRY(lob_device_download(j->device, &n, j->p.pieces, sizeof n, j->error));
    j->p.max_fragments = n;
    return LOB_OK;
}

/*
 * Bytes for tables and a list. That may have any room: 2 bytes a voxel are plenty, and it keeps to
 * what is left of 4 for all; half a byte at least, or it is better to have none. Small volumes may
 * have more, for the sake of parts that are rounded up.
 */
static lob_status plan_parts(joining_pieces *j, const fragment_join *join)
{
    enum { FOR_SMALL = 1 << 16, ROUNDED = 256 };
    connect_params *p = &j->p;
    const lob_device_budget *budget = j->budget;
    const int64_t beside = lob_device_budget_held(budget) - budget->held[LOB_DEVICE_WORK];
    const int64_t voxels = (int64_t)p->nx * p->ny * p->nz;
    const int64_t plenty = (2 * voxels / ROUNDED + 1) * ROUNDED;
    const int64_t promised = max(4 * voxels, (int64_t)FOR_SMALL) - beside;
    if (p->listed && place_parts(j, NULL) > plenty) LOB_TRY(count_pieces(j));
    const int64_t tables = place_parts(j, NULL), wanted = min(tables + plenty, promised);
    const int64_t left = lob_device_budget_left(budget, LOB_DEVICE_WORK, wanted);
    const int64_t list = (min(wanted, left) - tables) / ROUNDED * ROUNDED;
    p->listed = p->listed && list >= voxels / 2;
    p->list_capacity = p->listed ? list / (int64_t)sizeof *p->list : 0;
    if (join->list_capacity > 0 && join->list_capacity < p->list_capacity)
        p->list_capacity = join->list_capacity;
    return p->listed ? LOB_OK : count_pieces(j);
}

/* Memory, and zeros where these are to be. */
static lob_status prepare(joining_pieces *j)
{
    connect_params *p = &j->p;
    lob_error *error = j->error;
    cudaStream_t stream = lob_device_cuda_stream(j->device);
    void *memory = NULL;
    LOB_TRY(
        lob_device_budget_take(j->budget, LOB_DEVICE_WORK, place_parts(j, NULL), &memory, error));
    place_parts(j, memory);
    LOB_TRY(lob_device_fill(j->device, memory, 0, j->zeros, error));
    if (p->listed) return LOB_OK;
    LOB_CUDA(cudaMemcpyAsync(j->counted, p->pieces, sizeof *p->pieces, cudaMemcpyDeviceToDevice,
                             stream));
    p->pieces = j->counted;
    return lob_device_fill(j->device, p->link, 0, (p->max_fragments + 1) * (int64_t)sizeof *p->link,
                           error);
}

static int log_of(int n)
{
    int bits = 0;
    while (1 << bits < n) bits++;
    return bits;
}

/* Tiles as near to cubes as rows of 64 go, or flat ones; smaller where they would be few. */
static void lay_tiles(connect_params *p, const lob_device *device)
{
    const int across = p->s.rule.slice_axis;
    const bool no_y = p->ny == 1 || across == 1, no_z = !no_y && (p->nz == 1 || across == 2);
    const int64_t rows = (int64_t)p->ny * p->nz, along = (p->along + TILE_STRIPS - 1) / TILE_STRIPS;
    const int64_t enough = 12 * (int64_t)lob_device_multiprocessors(device);
    p->steps = MAX_STEPS;
    while (p->steps > 1 && rows * along / (p->steps * STEP_ROWS) < enough) p->steps /= 2;
    const int bits = log_of(p->steps * STEP_ROWS);
    p->z_bits = no_y ? bits : no_z ? 0 : bits / 2;
    p->y_bits = bits - p->z_bits;
    p->far_z = no_y ? LANE_ROW_BITS : no_z ? 0 : LANE_ROW_BITS / 2;
    p->far_y = LANE_ROW_BITS - p->far_z;
    p->tiles[0] = (uint32_t)along;
    p->tiles[1] = ((uint32_t)p->ny + (1u << p->y_bits) - 1) >> p->y_bits;
    p->tiles[2] = ((uint32_t)p->nz + (1u << p->z_bits) - 1) >> p->z_bits;
}

static void lay_pool(connect_params *p, const supervoxels_params *s, const fragment_join *join,
                     const lob_device *device)
{
    p->s = *s;
    p->nx = s->rule.side[0];
    p->ny = s->rule.side[1];
    p->nz = s->rule.side[2];
    p->along = (uint32_t)((p->nx + STRIP - 1) / STRIP);
    p->strips = p->along * (uint32_t)p->ny * (uint32_t)p->nz;
    p->whole = p->nx % STRIP == 0 && (uintptr_t)s->image.stored % 16 == 0;
    p->max_fragments = join->max_fragments;
    p->pieces = join->count;
    p->apart = true;
    p->listed = join->list_capacity >= 0;
    lay_tiles(p, device);
}

/* The kernel for an image; stored levels of 16 bits need not be made. */
template <bool WIDE> static void (*sums_kernel_for(const connect_params *p))(connect_params)
{
    const lob_supervoxels_rule *rule = &p->s.rule;
    const bool as_stored = p->whole && p->s.levels.exact && rule->channels == 1;
    return rule->lab                                 ? sums_kernel<3, FROM_LAB, WIDE>
           : rule->channels == 3                     ? sums_kernel<3, FROM_ANY, WIDE>
           : as_stored && p->s.image.type == LOB_I16 ? sums_kernel<1, FROM_SIGNED, WIDE>
           : as_stored && p->s.image.type == LOB_U16 ? sums_kernel<1, FROM_UNSIGNED, WIDE>
                                                     : sums_kernel<1, FROM_ANY, WIDE>;
}

static lob_status add_up(joining_pieces *j)
{
    const connect_params *p = &j->p;
    return lob_launch(j->device, p->listed ? sums_kernel_for<true>(p) : sums_kernel_for<false>(p),
                      "adding up pieces", (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2], THREADS,
                      (size_t)sum_bytes(p->s.rule.channels), *p, j->error);
}

static lob_status find_small(joining_pieces *j)
{
    const connect_params *p = &j->p;
    return lob_launch(
        j->device, p->listed ? small_kernel<true> : small_kernel<false>, "finding small pieces",
        lob_grid_blocks(j->device, p->max_fragments + 1, THREADS), THREADS, 0, *p, j->error);
}

static lob_status find_contacts(joining_pieces *j)
{
    const connect_params *p = &j->p;
    return lob_launch(j->device, p->listed ? contacts_kernel<true> : contacts_kernel<false>,
                      "faces of small pieces", (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2],
                      THREADS, 0, *p, j->error);
}

/* Rounds as far as contacts are listed, numbers, and labels. Returns what the device tells. */
static lob_status finish(joining_pieces *j, connect_counters *line)
{
    const connect_params *p = &j->p;
    lob_device *device = j->device;
    const int64_t blocks =
        (p->max_fragments + THREADS) / THREADS; /* few pieces keep few blocks waiting */
    const int64_t most = lob_device_multiprocessors(device);
    LOB_TRY(lob_launch_cooperative(device, rounds_kernel, "joining small pieces",
                                   (int)(blocks < most ? blocks : most), ROUND_THREADS,
                                   ROUND_WARPS * sizeof(uint32_t), *p, j->error));
    LOB_TRY(lob_launch(device, relabel_kernel, "labels of supervoxels",
                       lob_grid_blocks(device, p->strips, THREADS), THREADS, 0, *p, j->error));
    return lob_device_download(device, line, p->counters, sizeof *line, j->error);
}

/* Rounds that look at the volume, until nothing picks. */
static lob_status join_unlisted(joining_pieces *j)
{
    connect_params *p = &j->p;
    lob_error *error = j->error;
    lob_device *device = j->device;
    connect_counters line = {};
    p->listed = false;
    const int64_t blocks = lob_grid_blocks(device, p->max_fragments + 1, THREADS);
    do {
        LOB_CUDA(cudaMemsetAsync(p->counters, 0, sizeof line, lob_device_cuda_stream(device)));
        LOB_TRY(find_small(j));
        LOB_TRY(find_contacts(j));
        LOB_TRY(lob_launch(device, join_kernel, "joining", blocks, THREADS, 0, *p, error));
        LOB_TRY(lob_launch(device, gather_kernel, "sums of sets", blocks, THREADS, 0, *p, error));
        LOB_TRY(lob_device_download(device, &line, p->counters, sizeof line, error));
        p->apart = false;
    } while (line.going[0]);
    return LOB_OK;
}

lob_status join_fragments(lob_device_budget *budget, fragment_join *join,
                          const supervoxels_params *s, lob_error *error)
{
    joining_pieces j = {};
    connect_counters line = {};
    j.device = budget->device;
    j.budget = budget;
    j.error = error;
    j.table = (int32_t *)join->table;
    lay_pool(&j.p, s, join, j.device);
    LOB_TRY(plan_parts(&j, join));
    LOB_TRY(prepare(&j));
    LOB_TRY(add_up(&j));
    if (j.p.listed) {
        LOB_TRY(find_small(&j));
        LOB_TRY(find_contacts(&j));
        LOB_TRY(finish(&j, &line));
    }
    if (!line.finished) {
        LOB_TRY(join_unlisted(&j));
        LOB_TRY(finish(&j, &line));
    }
    join->fragments = line.pieces;
    join->supervoxels = line.count;
    return LOB_OK;
}

} /* namespace lob::supervoxels */
