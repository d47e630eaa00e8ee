/*
 * Small pieces of supervoxels join the neighbours most like them, on the device.
 *
 * Rows of the volume are cut into runs of 8 voxels, one a lane. Voxels of small sets are few: the
 * first round looks at all runs and lists those that hold any, the later ones look at these alone.
 * A small set looks at all of its faces, so each pair of sets meets on the side of its small ones.
 * Least keys, joining to the lowest number and sums of integers do not depend on any order.
 */
#include "kernels/supervoxels/supervoxels_scene_cuda.cuh"

#include <cub/device/device_scan.cuh>

enum {
    THREADS = 256,
    TURNS = 8,   /* pieces of a warp's voxels that are added up together; others one by one */
    ROUNDS = 40, /* at most: each halves the sets that pick, of which there are under 2^31 */
    BATCH = 4    /* rounds between two questions whether there is anything left to do */
};
static constexpr wide NO_NEIGHBOUR = ~0ull;

typedef struct {
    scene s;
    int32_t nx, ny, nz;
    uint32_t along, runs; /* runs of a row, and in all */
    int64_t pieces;
    int32_t *set;    /* pieces + 1: of each piece; a set has its lowest piece's number */
    wide *n, *sums;  /* pieces + 1, times channels: of sets */
    uint32_t *mean;  /* pieces + 1, times channels: lob_piece_mean */
    wide *key;       /* pieces + 1: the best of a small set's neighbours so far */
    int32_t *number; /* pieces + 1: of sets, then of pieces */
    uint32_t *list, *listed;
    uint32_t *joined; /* ROUNDS: did a round join any? */
    int at_round;
} pool;

/* A run, as far as its row goes. */
typedef struct {
    int32_t x, y, z;
    int64_t voxel;
    int32_t label[RUN]; /* 0 beyond the row */
} piece_run;

static __device__ inline piece_run run_at(const pool &p, uint32_t number)
{
    piece_run r;
    const uint32_t row = number / p.along;
    r.x = (int32_t)(number % p.along) * RUN;
    r.y = (int32_t)(row % (uint32_t)p.ny);
    r.z = (int32_t)(row / (uint32_t)p.ny);
    r.voxel = (int64_t)row * p.nx + r.x;
    const int32_t *from = p.s.labels + r.voxel;
    if (p.nx % 4 == 0 && p.s.aligned) {
#pragma unroll
        for (int j = 0; j < RUN; j += 4) {
            const int4 four = r.x + j < p.nx ? *(const int4 *)(from + j) : make_int4(0, 0, 0, 0);
            r.label[j] = four.x, r.label[j + 1] = four.y;
            r.label[j + 2] = four.z, r.label[j + 3] = four.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < RUN; j++) r.label[j] = r.x + j < p.nx ? from[j] : 0;
    }
    return r;
}

/* ---- sums of pieces ---- */

/* Add what the lanes have of one piece after the other, and what is left of others one by one. */
static __device__ inline void add_channel(const pool &p, const piece_run &r, const uint32_t *level,
                                          unsigned left, int channel)
{
    const int lane = (int)threadIdx.x % WARP, channels = p.s.rule.channels;
    for (int turn = 0; turn < TURNS; turn++) {
        const unsigned lanes = __ballot_sync(ALL_LANES, left != 0);
        if (!lanes) return;
        const int leader = __ffs((int)lanes) - 1;
        int32_t piece = 0;
#pragma unroll
        for (int j = RUN - 1; j >= 0; j--)
            if (left >> j & 1) piece = r.label[j];
        piece = __shfl_sync(ALL_LANES, piece, leader);
        unsigned those = 0, sum = 0;
#pragma unroll
        for (int j = 0; j < RUN; j++)
            if (r.label[j] == piece) those |= 1u << j, sum += level[j];
        left &= ~those;
        sum = __reduce_add_sync(ALL_LANES, sum);
        const unsigned n = __reduce_add_sync(ALL_LANES, (unsigned)__popc(those));
        if (lane != leader) continue;
        atomicAdd(&p.sums[(int64_t)piece * channels + channel], (wide)sum);
        if (channel == 0) atomicAdd(&p.n[piece], (wide)n);
    }
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        if (!(left >> j & 1)) continue;
        atomicAdd(&p.sums[(int64_t)r.label[j] * channels + channel], (wide)level[j]);
        if (channel == 0) atomicAdd(&p.n[r.label[j]], (wide)1);
    }
}

static __global__ void __launch_bounds__(THREADS) sums_kernel(const __grid_constant__ pool p)
{
    const uint32_t all = (p.runs + WARP - 1) / WARP * WARP; /* whole warps go together */
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < all; i += gridDim.x * THREADS) {
        piece_run r = {};
        if (i < p.runs) r = run_at(p, i);
        unsigned left = 0;
#pragma unroll
        for (int j = 0; j < RUN; j++) left |= r.label[j] ? 1u << j : 0;
        for (int c = 0; c < p.s.rule.channels; c++) {
            uint32_t level[RUN];
#pragma unroll
            for (int j = 0; j < RUN; j++)
                level[j] = left >> j & 1 ? plane_level(p.s, c, r.voxel + j) : 0;
            add_channel(p, r, level, left, c);
        }
    }
}

/* ---- rounds ---- */

static __device__ inline bool nothing_left(const pool &p)
{
    return p.at_round > 0 && p.joined[p.at_round - 1] == 0;
}

static __global__ void __launch_bounds__(THREADS) begin_kernel(const __grid_constant__ pool p)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i <= p.pieces;
         i += (int64_t)gridDim.x * THREADS)
        p.set[i] = (int32_t)i;
}

/* Means of the sets that there are now. */
static __global__ void __launch_bounds__(THREADS) means_kernel(const __grid_constant__ pool p)
{
    if (nothing_left(p)) return;
    const int channels = p.s.rule.channels;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i <= p.pieces;
         i += (int64_t)gridDim.x * THREADS) {
        p.key[i] = NO_NEIGHBOUR;
        if (p.n[i] == 0) continue;
        for (int c = 0; c < channels; c++)
            p.mean[i * channels + c] =
                lob_piece_mean((int64_t)p.sums[i * channels + c], (int64_t)p.n[i]);
    }
}

static __device__ inline bool is_small(const pool &p, int32_t set)
{
    return (int64_t)p.n[set] < p.s.rule.small;
}

/* Of two sets, small a and another, that share a face: is b the best for a so far? */
static __device__ inline void offer(const pool &p, int32_t a, int32_t b)
{
    const int channels = p.s.rule.channels;
    uint64_t apart = 0;
    for (int c = 0; c < channels; c++)
        apart +=
            lob_piece_apart(p.mean[(int64_t)a * channels + c], p.mean[(int64_t)b * channels + c]);
    const wide key = lob_piece_key(apart, (uint32_t)b);
    /* most are not the best: a stale value read here only costs an atomic too many */
    if (key < *(volatile wide *)&p.key[a]) atomicMin(&p.key[a], key);
}

/* What lies beyond a face of set a's, by its piece; the pair before it is not offered again. */
static __device__ inline void meet(const pool &p, int32_t a, int32_t piece, int32_t *before)
{
    if (piece == 0) return;
    const int32_t b = p.set[piece];
    if (b == a || b == *before) return;
    *before = b;
    offer(p, a, b);
}

static __device__ inline void meet_neighbours(const pool &p, const piece_run &r, unsigned small)
{
    const int32_t *labels = p.s.labels + r.voxel;
    const int64_t row = p.nx, plane = (int64_t)p.nx * p.ny;
    const int slice_axis = p.s.rule.slice_axis;
    int32_t a = 0, before = 0;
    for (int j = 0; j < RUN; j++) {
        if (!(small >> j & 1)) continue;
        const int32_t set = p.set[labels[j]];
        if (set != a) before = 0;
        a = set;
        if (slice_axis != 0) {
            if (r.x + j > 0) meet(p, a, labels[j - 1], &before);
            if (r.x + j + 1 < p.nx) meet(p, a, labels[j + 1], &before);
        }
        if (slice_axis != 1) {
            if (r.y > 0) meet(p, a, labels[j - row], &before);
            if (r.y + 1 < p.ny) meet(p, a, labels[j + row], &before);
        }
        if (slice_axis != 2) {
            if (r.z > 0) meet(p, a, labels[j - plane], &before);
            if (r.z + 1 < p.nz) meet(p, a, labels[j + plane], &before);
        }
    }
}

/* Which voxels of a run lie in small sets. */
static __device__ inline unsigned small_of(const pool &p, const piece_run &r)
{
    unsigned small = 0;
    int32_t last = 0;
    bool last_small = false;
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        if (r.label[j] == 0) continue;
        if (r.label[j] != last) last = r.label[j], last_small = is_small(p, p.set[last]);
        if (last_small) small |= 1u << j;
    }
    return small;
}

/* The first round: all runs, and a list of those with small sets. */
static __global__ void __launch_bounds__(THREADS) first_kernel(const __grid_constant__ pool p)
{
    const int lane = (int)threadIdx.x % WARP;
    const uint32_t all = (p.runs + WARP - 1) / WARP * WARP;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < all; i += gridDim.x * THREADS) {
        piece_run r = {};
        if (i < p.runs) r = run_at(p, i);
        const unsigned small = small_of(p, r);
        const unsigned those = __ballot_sync(ALL_LANES, small != 0);
        if (!those) continue;
        uint32_t at = 0;
        if (lane == 0) at = atomicAdd(p.listed, (uint32_t)__popc(those));
        at = __shfl_sync(ALL_LANES, at, 0) + (uint32_t)__popc(those & ((1u << lane) - 1));
        if (!small) continue;
        p.list[at] = i;
        meet_neighbours(p, r, small);
    }
}

static __global__ void __launch_bounds__(THREADS) again_kernel(const __grid_constant__ pool p)
{
    if (nothing_left(p)) return;
    const uint32_t n = *p.listed;
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const piece_run r = run_at(p, p.list[i]);
        meet_neighbours(p, r, small_of(p, r));
    }
}

/* Sets only ever get lower, so a stale one leads on all the same. */
static __device__ inline int32_t lowest_of(const int32_t *set, int32_t i)
{
    for (int32_t next; (next = ((volatile const int32_t *)set)[i]) != i;) i = next;
    return i;
}

static __device__ inline void unite(int32_t *set, int32_t a, int32_t b)
{
    for (;;) {
        a = lowest_of(set, a);
        b = lowest_of(set, b);
        if (a == b) return;
        const int32_t high = a > b ? a : b, low = a > b ? b : a;
        if (atomicCAS(&set[high], high, low) == high) return;
        a = high, b = low; /* somebody else joined it: try again from there */
    }
}

/* What picked joins what it picked. */
static __global__ void __launch_bounds__(THREADS) join_kernel(const __grid_constant__ pool p)
{
    if (nothing_left(p)) return;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i <= p.pieces;
         i += (int64_t)gridDim.x * THREADS) {
        const wide key = p.key[i];
        if (key == NO_NEIGHBOUR) continue;
        p.joined[p.at_round] = 1;
        unite(p.set, (int32_t)i, (int32_t)(uint32_t)key);
    }
}

/* Every piece points at its set; sets that are none any more give it their sums. */
static __global__ void __launch_bounds__(THREADS) gather_kernel(const __grid_constant__ pool p)
{
    if (p.joined[p.at_round] == 0) return;
    const int channels = p.s.rule.channels;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i <= p.pieces;
         i += (int64_t)gridDim.x * THREADS) {
        const int32_t set = lowest_of(p.set, (int32_t)i);
        if (set == i) continue;
        p.set[i] = set;
        if (p.n[i] == 0) continue;
        atomicAdd(&p.n[set], p.n[i]);
        p.n[i] = 0;
        for (int c = 0; c < channels; c++)
            atomicAdd(&p.sums[(int64_t)set * channels + c], p.sums[i * channels + c]);
    }
}

/* ---- numbers ---- */

static __global__ void __launch_bounds__(THREADS) mark_kernel(const __grid_constant__ pool p)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i <= p.pieces;
         i += (int64_t)gridDim.x * THREADS)
        p.number[i] = i > 0 && p.set[i] == i;
}

static __global__ void __launch_bounds__(THREADS) relabel_kernel(const __grid_constant__ pool p)
{
    for (uint32_t i = blockIdx.x * THREADS + threadIdx.x; i < p.runs; i += gridDim.x * THREADS) {
        piece_run r = run_at(p, i);
        int32_t last = 0, number = 0;
        int32_t *to = p.s.labels + r.voxel;
#pragma unroll
        for (int j = 0; j < RUN; j++) {
            if (r.label[j] != last) last = r.label[j], number = p.number[p.set[last]];
            r.label[j] = number;
        }
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
    uint16_t *lab;
    void *scan;
    size_t scan_bytes;
    lob_error *error;
} joining_pieces;

static int64_t place_parts(joining_pieces *j, unsigned char *memory)
{
    pool *p = &j->p;
    unsigned char *at = memory;
    const int64_t n = p->pieces + 1, channels = p->s.rule.channels;
    p->joined = take_part<uint32_t>(&at, ROUNDS);
    p->listed = take_part<uint32_t>(&at, 1);
    p->n = take_part<wide>(&at, n);
    p->sums = take_part<wide>(&at, n * channels);
    p->key = take_part<wide>(&at, n);
    p->mean = take_part<uint32_t>(&at, n * channels);
    p->set = take_part<int32_t>(&at, n);
    p->number = take_part<int32_t>(&at, n);
    p->list = take_part<uint32_t>(&at, p->runs);
    j->lab = take_part<uint16_t>(&at, p->s.rule.lab ? LAB_ENTRIES : 0);
    j->scan = take_part<unsigned char>(&at, (int64_t)j->scan_bytes);
    return at - memory;
}

template <typename K>
static lob_status over(joining_pieces *j, K kernel, const char *name, int64_t n)
{
    const int64_t want = (n + THREADS - 1) / THREADS;
    const int64_t most = (int64_t)j->device->multiprocessors * 16;
    return lob_launch(j->device, kernel, name, want < most ? want : most, THREADS, 0, j->p,
                      j->error);
}

static lob_status prepare(joining_pieces *j, int64_t *bytes, const lob_supervoxel_plan *plan,
                          int64_t budget)
{
    pool *p = &j->p;
    lob_error *error = j->error;
    void *memory = NULL;
    LOB_CUDA(cub::DeviceScan::InclusiveSum(NULL, j->scan_bytes, p->number, p->number, p->pieces + 1,
                                           j->device->stream));
    *bytes = place_parts(j, NULL);
    if (*bytes > budget)
        return lob_supervoxels_refuse(*bytes, budget, (int64_t)p->nx * p->ny * p->nz, error);
    LOB_TRY(lob_device_scratch(j->device, LOB_DEVICE_WORK, &memory, *bytes, error));
    place_parts(j, (unsigned char *)memory);
    unsigned char *const zeros = (unsigned char *)memory, *const end = (unsigned char *)p->key;
    LOB_CUDA(cudaMemsetAsync(zeros, 0, (size_t)(end - zeros), j->device->stream));
    return lob_supervoxels_upload_lab(j->device, &p->s, j->lab, plan, error);
}

/* Rounds until one joins nothing; the kernels of later ones in a batch see that and end. */
static lob_status join_rounds(joining_pieces *j)
{
    pool *p = &j->p;
    uint32_t joined[ROUNDS];
    for (p->at_round = 0; p->at_round < ROUNDS;) {
        for (int i = 0; i < BATCH && p->at_round < ROUNDS; i++, p->at_round++) {
            LOB_TRY(over(j, means_kernel, "means of pieces", p->pieces + 1));
            LOB_TRY(over(j, p->at_round == 0 ? first_kernel : again_kernel, "faces of small pieces",
                         p->runs));
            LOB_TRY(over(j, join_kernel, "joining small pieces", p->pieces + 1));
            LOB_TRY(over(j, gather_kernel, "adding up small pieces", p->pieces + 1));
        }
        LOB_TRY(lob_device_download(j->device, joined, p->joined, sizeof joined, j->error));
        if (!joined[p->at_round - 1]) break;
    }
    return LOB_OK;
}

lob_status lob_supervoxels_pieces_cuda(lob_device *device, int64_t *count, int64_t *bytes,
                                       const scene *s, const lob_supervoxel_plan *plan,
                                       int64_t pieces, int64_t budget, lob_error *error)
{
    joining_pieces j = {};
    pool *p = &j.p;
    int32_t last = 0;
    j.device = device;
    j.error = error;
    p->s = *s;
    p->nx = s->rule.side[0];
    p->ny = s->rule.side[1];
    p->nz = s->rule.side[2];
    p->along = (uint32_t)((p->nx + RUN - 1) / RUN);
    p->runs = p->along * (uint32_t)p->ny * (uint32_t)p->nz;
    p->pieces = pieces;
    LOB_TRY(prepare(&j, bytes, plan, budget));
    LOB_TRY(over(&j, begin_kernel, "numbering pieces", pieces + 1));
    LOB_TRY(over(&j, sums_kernel, "adding up pieces", p->runs));
    LOB_TRY(join_rounds(&j));
    LOB_TRY(over(&j, mark_kernel, "numbering supervoxels", pieces + 1));
    LOB_CUDA(cub::DeviceScan::InclusiveSum(j.scan, j.scan_bytes, p->number, p->number, pieces + 1,
                                           device->stream));
    LOB_TRY(over(&j, relabel_kernel, "labels of supervoxels", p->runs));
    LOB_TRY(lob_device_download(device, &last, p->number + pieces, sizeof last, error));
    *count = last;
    return LOB_OK;
}
