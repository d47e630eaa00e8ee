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

/* Which pieces are of small sets. Where these are listed every piece is a set, and gets its mean.
 */
template <bool LISTED>
static __global__ void __launch_bounds__(THREADS) small_kernel(const __grid_constant__ pool p)
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
                p.mean[at] = lob_piece_mean((int64_t)p.sums[at], p.n[i]);
            }
        uint32_t at = 0;
        if (lane == 0 && bits) at = atomicAdd(&p.line->small, (uint32_t)__popc(bits));
        at = __shfl_sync(ALL_LANES, at, 0) + (uint32_t)__popc(bits & ((1u << lane) - 1));
        if (small) p.small[at] = set;
    }
}

static __global__ void __launch_bounds__(THREADS) relabel_kernel(const __grid_constant__ pool p)
{
    if (!p.line->finished) return;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < p.runs; i += gridDim.x * THREADS) {
        piece_run r;
        const uint32_t row = i / p.along;
        r.x = (int32_t)(i - row * p.along) * RUN;
        r.voxel = (int64_t)row * p.nx + r.x;
        read_labels(p, &r);
        /* most runs have two pieces, which are asked for at once */
        const int32_t first = r.label[0], last = r.label[RUN - 1];
        const int32_t first_label = -p.link[first], last_label = -p.link[last];
        int32_t *to = p.s.labels + r.voxel;
#pragma unroll
        for (int j = 0; j < RUN; j++)
            r.label[j] = r.label[j] == first  ? first_label
                         : r.label[j] == last ? last_label
                                              : -p.link[r.label[j]];
        if (p.nx % 4 == 0 && p.s.aligned) {
#pragma unroll
            for (int j = 0; j < RUN; j += 4)
                if (r.x + j < p.nx)
                    *(int4 *)(to + j) =
                        make_int4(r.label[j], r.label[j + 1], r.label[j + 2], r.label[j + 3]);
        } else {
#pragma unroll
            for (int j = 0; j < RUN; j++)
                if (r.x + j < p.nx) to[j] = r.label[j];
        }
    }
}

/* ---- the host's part ---- */

typedef struct {
    lob_device *device;
    pool p;
    int32_t *table;    /* most + 1, on the device: free for links */
    uint32_t *counted; /* in the place of p.pieces, where links lie over that */
    int64_t zeros;     /* bytes that begin with zeros */
    lob_error *error;
} joining_pieces;

static int64_t place_parts(joining_pieces *j, unsigned char *memory)
{
    pool *p = &j->p;
    unsigned char *at = memory;
    const int64_t n = p->most + 1, channels = p->s.rule.channels;
    const int64_t listed = p->listed ? n : 0, unlisted = p->listed ? 0 : n;
    p->line = take_part<pieces_line>(&at, 1);
    p->n = take_part<uint32_t>(&at, n);
    p->sums = take_part<wide>(&at, listed * channels);
    p->link = take_part<int32_t>(&at, listed);
    p->low = take_part<uint32_t>(&at, unlisted * channels);
    p->high = take_part<uint32_t>(&at, (unlisted * channels + 1) / 2);
    j->zeros = at - memory;
    if (!p->listed) p->sums = NULL, p->link = j->table;
    j->counted = take_part<uint32_t>(&at, 1);
    p->small_bits = take_part<uint32_t>(&at, n / WARP + 1);
    p->roots = take_part<uint32_t>(&at, lob_device_multiprocessors(j->device));
    p->key = take_part<wide>(&at, listed);
    p->mean = take_part<uint32_t>(&at, listed * channels);
    p->small = take_part<int32_t>(&at, listed);
    p->list = take_part<wide>(&at, p->room);
    return at - memory;
}

/* The host waits to hear how many there are. */
static lob_status count_pieces(joining_pieces *j)
{
    uint32_t n = 0;
    LOB_TRY(lob_device_download(j->device, &n, j->p.pieces, sizeof n, j->error));
    j->p.most = n;
    return LOB_OK;
}

/*
 * Bytes for tables and a list. That may have any room: 2 bytes a voxel are plenty, and it keeps to
 * what is left of 4 for all; half a byte at least, or it is better to have none. Small volumes may
 * have more, for the sake of parts that are rounded up.
 */
static lob_status plan_parts(joining_pieces *j, const lob_supervoxel_pieces *found, int64_t *bytes,
                             int64_t allowed)
{
    enum { FOR_SMALL = 1 << 16, ROUNDED = 256 };
    pool *p = &j->p;
    const int64_t voxels = (int64_t)p->nx * p->ny * p->nz;
    const int64_t plenty = (2 * voxels / ROUNDED + 1) * ROUNDED;
    const int64_t promised = max(4 * voxels, (int64_t)FOR_SMALL) - found->beside;
    if (p->listed && place_parts(j, NULL) > plenty) LOB_TRY(count_pieces(j));
    const int64_t tables = place_parts(j, NULL), wanted = min(tables + plenty, promised);
    int64_t budget = lob_supervoxels_budget(j->device, wanted, allowed);
    const int64_t list = (min(wanted, budget) - tables) / ROUNDED * ROUNDED;
    p->listed = p->listed && list >= voxels / 2;
    p->room = p->listed ? list / (int64_t)sizeof *p->list : 0;
    if (found->list > 0 && found->list < p->room) p->room = found->list;
    if (!p->listed) LOB_TRY(count_pieces(j));
    *bytes = place_parts(j, NULL);
    budget = lob_supervoxels_budget(j->device, *bytes, allowed);
    return *bytes <= budget ? LOB_OK : lob_supervoxels_refuse(*bytes, budget, voxels, j->error);
}

/* Memory, and zeros where these are to be. */
static lob_status prepare(joining_pieces *j, int64_t bytes)
{
    pool *p = &j->p;
    lob_error *error = j->error;
    cudaStream_t stream = lob_device_cuda_stream(j->device);
    void *memory = NULL;
    LOB_TRY(lob_device_block_take(j->device, LOB_DEVICE_WORK, &memory, bytes, error));
    place_parts(j, (unsigned char *)memory);
    LOB_CUDA(cudaMemsetAsync(memory, 0, (size_t)j->zeros, stream));
    if (p->listed) return LOB_OK;
    LOB_CUDA(cudaMemcpyAsync(j->counted, p->pieces, sizeof *p->pieces, cudaMemcpyDeviceToDevice,
                             stream));
    p->pieces = j->counted;
    LOB_CUDA(cudaMemsetAsync(p->link, 0, (size_t)(p->most + 1) * sizeof *p->link, stream));
    return LOB_OK;
}

static int log_of(int n)
{
    int bits = 0;
    while (1 << bits < n) bits++;
    return bits;
}

/* Tiles as near to cubes as rows of 64 go, or flat ones; smaller where they would be few. */
static void lay_tiles(pool *p, const lob_device *device)
{
    const int across = p->s.rule.slice_axis;
    const bool no_y = p->ny == 1 || across == 1, no_z = !no_y && (p->nz == 1 || across == 2);
    const int64_t rows = (int64_t)p->ny * p->nz, along = (p->along + TILE_RUNS - 1) / TILE_RUNS;
    const int64_t enough = 12 * (int64_t)lob_device_multiprocessors(device);
    p->steps = MOST_STEPS;
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

static void lay_pool(pool *p, const scene *s, const lob_supervoxel_pieces *found,
                     const lob_device *device)
{
    p->s = *s;
    p->nx = s->rule.side[0];
    p->ny = s->rule.side[1];
    p->nz = s->rule.side[2];
    p->along = (uint32_t)((p->nx + RUN - 1) / RUN);
    p->runs = p->along * (uint32_t)p->ny * (uint32_t)p->nz;
    p->whole = p->nx % RUN == 0 && (uintptr_t)s->image.stored % 16 == 0;
    p->most = found->most;
    p->pieces = found->at;
    p->apart = true;
    p->listed = found->list >= 0;
    lay_tiles(p, device);
}

/* The kernel for an image; stored levels of 16 bits need not be made. */
template <bool WIDE> static void (*sums_kernel_for(const pool *p))(pool)
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
    const pool *p = &j->p;
    return lob_launch(j->device, p->listed ? sums_kernel_for<true>(p) : sums_kernel_for<false>(p),
                      "adding up pieces", (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2], THREADS,
                      (size_t)sum_bytes(p->s.rule.channels), *p, j->error);
}

static lob_status find_small(joining_pieces *j)
{
    const pool *p = &j->p;
    return lob_launch(j->device, p->listed ? small_kernel<true> : small_kernel<false>,
                      "finding small pieces", lob_grid_blocks(j->device, p->most + 1, THREADS),
                      THREADS, 0, *p, j->error);
}

static lob_status find_contacts(joining_pieces *j)
{
    const pool *p = &j->p;
    return lob_launch(j->device, p->listed ? contacts_kernel<true> : contacts_kernel<false>,
                      "faces of small pieces", (int64_t)p->tiles[0] * p->tiles[1] * p->tiles[2],
                      THREADS, 0, *p, j->error);
}

/* Rounds as far as contacts are listed, numbers, and labels. Returns what the device tells. */
static lob_status finish(joining_pieces *j, pieces_line *line)
{
    const pool *p = &j->p;
    lob_device *device = j->device;
    const int64_t blocks = (p->most + THREADS) / THREADS; /* few pieces keep few blocks waiting */
    const int64_t most = lob_device_multiprocessors(device);
    LOB_TRY(lob_launch_cooperative(device, rounds_kernel, "joining small pieces",
                                   (int)(blocks < most ? blocks : most), ROUND_THREADS,
                                   ROUND_WARPS * sizeof(uint32_t), *p, j->error));
    LOB_TRY(lob_launch(device, relabel_kernel, "labels of supervoxels",
                       lob_grid_blocks(device, p->runs, THREADS), THREADS, 0, *p, j->error));
    return lob_device_download(device, line, p->line, sizeof *line, j->error);
}

/* Rounds that look at the volume, until nothing picks. */
static lob_status join_unlisted(joining_pieces *j)
{
    pool *p = &j->p;
    lob_error *error = j->error;
    lob_device *device = j->device;
    pieces_line line = {};
    p->listed = false;
    const int64_t blocks = lob_grid_blocks(device, p->most + 1, THREADS);
    do {
        LOB_CUDA(cudaMemsetAsync(p->line, 0, sizeof line, lob_device_cuda_stream(device)));
        LOB_TRY(find_small(j));
        LOB_TRY(find_contacts(j));
        LOB_TRY(lob_launch(device, join_kernel, "joining", blocks, THREADS, 0, *p, error));
        LOB_TRY(lob_launch(device, gather_kernel, "sums of sets", blocks, THREADS, 0, *p, error));
        LOB_TRY(lob_device_download(device, &line, p->line, sizeof line, error));
        p->apart = false;
    } while (line.going[0]);
    return LOB_OK;
}

lob_status lob_supervoxels_pieces_cuda(lob_device *device, lob_supervoxel_pieces *found,
                                       const scene *s, int64_t most, lob_error *error)
{
    joining_pieces j = {};
    pieces_line line = {};
    j.device = device;
    j.error = error;
    j.table = (int32_t *)found->table;
    lay_pool(&j.p, s, found, device);
    LOB_TRY(plan_parts(&j, found, &found->bytes, most));
    LOB_TRY(prepare(&j, found->bytes));
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
    found->pieces = line.pieces;
    found->supervoxels = line.count;
    return LOB_OK;
}
