/*
 * Appearance on the GPU: ranges, counts, distances and shares in device memory; tables on the host.
 */
#include "kernels/appearance/appearance_local.h"
#include "kernels/arrays.h"
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/device/device_image.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/distance/distance_stages_cuda.cuh"
#include "kernels/filters/pointwise_voxel.h"

#include <cub/block/block_scan.cuh>
#include <stdlib.h>
#include <string.h>

namespace lob::appearance
{

enum { THREADS = 256, WARPS = THREADS / WARP, RANK_THREADS = 1024, FEW_LABELS = 8 };
enum { FEW_BLOCKS = 1 << 19 }; /* of more, distances of several labels would take much memory */

/* A channel as kernels see it. */
struct channel {
    const void *data; /* of its view */
    lob_type type;
    int64_t first; /* of the channel's voxels */
    double slope, inter;
    lob_appearance_scale scale;
};

static __device__ inline float value_at(const channel &c, int64_t i)
{
    return (float)(c.slope * lob_filter_load(c.data, c.type, c.first + i) + c.inter);
}

/* What most kernels need. */
struct voxel_params {
    channel of;
    const void *seeds;
    lob_type seed_type;
    int64_t voxels;
    int slots;
    uint32_t *range; /* ordered keys of the lowest and highest value under strokes */
    u64 *counts;     /* of the channel: (labels + 1) * slots */
};

/* ---- ranges ---- */

static __host__ __device__ inline uint32_t key_of(uint32_t bits)
{
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static float value_of_key(uint32_t key)
{
    const uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static __global__ void __launch_bounds__(THREADS) range_kernel(voxel_params p)
{
    uint32_t low = ~0u, high = 0;
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        if (lob_label_at(p.seeds, p.seed_type, i) == 0) continue;
        const float value = value_at(p.of, i);
        if (!(value - value == 0)) continue;
        const uint32_t key = key_of(__float_as_uint(value));
        low = min(low, key);
        high = max(high, key);
    }
    low = __reduce_min_sync(ALL_LANES, low);
    high = __reduce_max_sync(ALL_LANES, high);
    if (threadIdx.x % WARP != 0 || low > high) return;
    atomicMin(&p.range[0], low);
    atomicMax(&p.range[1], high);
}

/* ---- counts ---- */

static __global__ void __launch_bounds__(THREADS) count_kernel(voxel_params p)
{
    extern __shared__ uint32_t held[]; /* slots for each warp */
    uint32_t *const own = held + (int)threadIdx.x / WARP * p.slots;
    for (int b = (int)threadIdx.x; b < p.slots * WARPS; b += THREADS) held[b] = 0;
    __syncthreads();
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int bin = lob_appearance_bin(value_at(p.of, i), &p.of.scale);
        const int32_t label = lob_label_at(p.seeds, p.seed_type, i);
        atomicAdd(&own[bin], 1u);
        if (label) atomicAdd(&p.counts[(int64_t)label * p.slots + bin], (u64)1);
    }
    __syncthreads();
    for (int b = (int)threadIdx.x; b < p.slots; b += THREADS) {
        u64 sum = 0;
        for (int w = 0; w < WARPS; w++) sum += held[w * p.slots + b];
        if (sum) atomicAdd(&p.counts[b], sum);
    }
}

/* ---- strokes that are learnt from nearby ---- */

struct sample_params {
    channel of;
    const int64_t *voxel; /* count */
    int16_t *bin;         /* likewise */
    int64_t count;
};

static __global__ void __launch_bounds__(THREADS) samples_kernel(sample_params p)
{
    for (int64_t i = grid_first(); i < p.count; i += grid_step())
        p.bin[i] = (int16_t)lob_appearance_bin(value_at(p.of, p.voxel[i]), &p.of.scale);
}

/* ---- the reach of strokes ---- */

/* The quantile of distances as it is found: its bits, and its rank among those that share them. */
struct quantile {
    int64_t rank;
    uint32_t high, low;
};

struct reach_params {
    const void *seeds;
    lob_type seed_type;
    lob_dims dims;
    lob_appearance_blocks blocks;
    int64_t voxels;
    int32_t background;
    int first, count; /* labels but the background; of each, `apart` blocks or one of the rest: */
    int64_t apart;
    uint8_t *marks; /* of blocks, 0 before */
    float *distance;
    u64 *counts; /* LOB_APPEARANCE_HALF, 0 before */
    quantile *found;
    bool low;     /* count low halves of the high one that was found; else high halves */
    double share; /* at which the quantile lies */
};

/* Which label of these a stroke has; -1: the background's, outside of 0..count - 1: another. */
static __device__ inline int reach_label(const reach_params &p, int32_t label)
{
    return label == p.background ? -1 : label - 1 - (label > p.background) - p.first;
}

static __device__ inline int64_t block_of(const reach_params &p, int64_t i)
{
    const lob_voxel_at at = lob_voxel_place(p.dims, i);
    return lob_appearance_block(&p.blocks, at.x, at.y, at.z);
}

static __global__ void __launch_bounds__(THREADS) mark_kernel(reach_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t label = lob_label_at(p.seeds, p.seed_type, i);
        const int k = label == 0 ? -1 : reach_label(p, label);
        if (k >= 0 && k < p.count) p.marks[k * p.apart + block_of(p, i)] = 1;
    }
}

static __global__ void __launch_bounds__(THREADS) halves_kernel(reach_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int32_t label = lob_label_at(p.seeds, p.seed_type, i);
        if (label == 0) continue;
        const int64_t block = block_of(p, i);
        const int own = reach_label(p, label);
        for (int k = 0; k < p.count; k++) {
            if (k == own) continue;
            const uint32_t bits = __float_as_uint(p.distance[k * p.apart + block]);
            u64 *const counts = p.counts + k * LOB_APPEARANCE_HALF;
            if (!p.low)
                atomicAdd(&counts[bits >> 16], (u64)1);
            else if (bits >> 16 == p.found[k].high)
                atomicAdd(&counts[bits & 0xffff], (u64)1);
        }
    }
}

/* A block for each label: the half in which the quantile lies, as lob_appearance_reach_rank and
 * lob_appearance_rank have it. */
static __global__ void __launch_bounds__(RANK_THREADS) rank_kernel(reach_params p)
{
    typedef cub::BlockScan<int64_t, RANK_THREADS> scan;
    enum { EACH = LOB_APPEARANCE_HALF / RANK_THREADS };
    __shared__ typename scan::TempStorage memory;
    const u64 *const own = p.counts + blockIdx.x * LOB_APPEARANCE_HALF + threadIdx.x * EACH;
    quantile *const found = p.found + blockIdx.x;
    int64_t mine = 0, before, all;
    for (int i = 0; i < EACH; i++) mine += (int64_t)own[i];
    scan(memory).ExclusiveSum(mine, before, all);
    const int64_t wanted = (int64_t)(p.share * (double)all);
    const int64_t rank = p.low ? found->rank : wanted < all ? wanted : all - 1;
    __syncthreads();
    if (threadIdx.x == 0 && all == 0) *found = {-1, 0, 0};
    if (rank < before || rank >= before + mine) return;
    int64_t left = rank - before;
    uint32_t half = threadIdx.x * EACH;
    for (int i = 0; left >= (int64_t)own[i]; i++, half++) left -= (int64_t)own[i];
    found->rank = left;
    *(p.low ? &found->low : &found->high) = half;
}

struct far_params {
    int16_t *lost;
    const float *distance;
    int64_t blocks, apart;
    int count; /* labels */
    const quantile *reach;
    float least, score; /* of the reach */
};

static __global__ void __launch_bounds__(THREADS) far_kernel(far_params p)
{
    for (int64_t i = grid_first(); i < p.blocks * p.count; i += grid_step()) {
        const int64_t k = i / p.blocks;
        const float found = __uint_as_float(p.reach[k].high << 16 | p.reach[k].low);
        p.lost[i] = (int16_t)lob_appearance_far(p.distance[k * p.apart + i % p.blocks],
                                                fmaxf(found, p.least), p.score);
    }
}

/* ---- the outline ---- */

struct stack_params {
    lob_dims dims, of_stack;
    int64_t voxels; /* that a kernel writes */
    lob_appearance_shape shape;
    const void *outline;
    lob_type outline_type;
    int32_t label;
    const int64_t *slices;
    uint8_t *inside;
    int32_t *gain;
    bool adds; /* to what is there */
};

static __global__ void __launch_bounds__(THREADS) gather_kernel(stack_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const lob_voxel_at at = lob_voxel_place(p.of_stack, i);
        const int64_t slice = p.shape.axis == 0 ? at.x : p.shape.axis == 1 ? at.y : at.z;
        const int64_t from =
            lob_appearance_from_slice(p.dims, p.shape.axis, p.slices[slice], at.x, at.y, at.z);
        p.inside[i] = lob_label_at(p.outline, p.outline_type, from) == p.label;
    }
}

static __global__ void __launch_bounds__(THREADS) shape_kernel(stack_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const lob_voxel_at at = lob_voxel_place(p.dims, i);
        const int32_t gain = lob_appearance_shape_at(&p.shape, at.x, at.y, at.z);
        p.gain[i] = p.adds ? p.gain[i] + gain : gain;
    }
}

/* ---- shares ---- */

struct share_params {
    float *shares; /* hold gains by outlines as int32 before, where there are any */
    bool has_gain;
    const int16_t *lost; /* by label and block; NULL: nothing */
    lob_appearance_blocks blocks;
    int64_t voxels;
    int wanted, values, channels, slots;
    const channel *of;    /* channels */
    const int32_t *table; /* channels * slots * wanted */
    const double *exps;
    lob_dims dims;
    lob_appearance_local local; /* without a table: there are none */
};

/* What labels gain or lose by the place of a voxel. */
static __device__ inline int32_t place_score(const share_params &p, int k, int64_t i, int64_t block)
{
    const int32_t gain = p.has_gain ? ((const int32_t *)p.shares)[k * p.voxels + i] : 0;
    return p.lost ? gain - p.lost[k * p.blocks.count + block] : gain;
}

/* FEW: all labels but the background are held in registers; else FEW_LABELS at a time, and scores
 * wait where shares come. */
template <bool FEW> static __global__ void __launch_bounds__(THREADS) shares_kernel(share_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        double total = 1, part[FEW_LABELS];
        lob_appearance_corners corners = {};
        int64_t block = 0;
        if (p.lost || p.local.table) {
            const lob_voxel_at at = lob_voxel_place(p.dims, i);
            block = lob_appearance_block(&p.blocks, at.x, at.y, at.z);
            if (p.local.table) corners = lob_appearance_corners_of(&p.local, at.x, at.y, at.z);
        }
        for (int first = 0; first < (FEW ? 1 : p.wanted); first += FEW_LABELS) {
            const int count = p.wanted - first;
            int32_t score[FEW_LABELS];
#pragma unroll
            for (int k = 0; k < FEW_LABELS; k++)
                if (k < count) score[k] = place_score(p, first + k, i, block);
            for (int c = 0; c < p.channels; c++) {
                const channel &of = p.of[c];
                const int bin = lob_appearance_bin(value_at(of, i), &of.scale);
                const int64_t entry = ((int64_t)c * p.slots + bin) * p.wanted + first;
#pragma unroll
                for (int k = 0; k < FEW_LABELS; k++)
                    if (k < count)
                        score[k] += p.local.table ? lob_appearance_local_score(p.local.table,
                                                                               &corners, entry + k)
                                                  : p.table[entry + k];
            }
#pragma unroll
            for (int k = 0; k < FEW_LABELS; k++)
                if (k < count) {
                    part[k] = lob_appearance_exp(p.exps, score[k]);
                    total += part[k];
                    if (!FEW) ((int32_t *)p.shares)[(first + k) * p.voxels + i] = score[k];
                }
        }
        if (FEW) {
#pragma unroll
            for (int k = 0; k < FEW_LABELS; k++)
                if (k < p.wanted) p.shares[k * p.voxels + i] = (float)(part[k] / total);
        } else {
            for (int k = 0; k < p.wanted; k++) {
                const int32_t score = ((const int32_t *)p.shares)[k * p.voxels + i];
                p.shares[k * p.voxels + i] = (float)(lob_appearance_exp(p.exps, score) / total);
            }
        }
        for (int c = 0; c < p.values; c++)
            p.shares[(p.wanted + c) * p.voxels + i] =
                lob_appearance_value(value_at(p.of[c], i), &p.of[c].scale, p.values);
    }
}

/* ---- the call ---- */

struct job {
    lob_appearance_plan plan;
    const lob_context *context;
    lob_device *device;
    lob_device_budget budget;
    lob_appearance_stats *stats;
    lob_appearance_stack stacks[LOB_APPEARANCE_MAX_LABELS][3]; /* of wanted labels by axis, with an
                                                                  outline */
    int64_t distances; /* blocks, or voxels of an outline, of the largest transform; 0: none */
    int64_t apart;     /* of reaches of labels, */
    int at_once;       /* of which so many are looked for at once; 0: none is */
    lob_appearance_nodes nodes; /* on the host, */
    lob_budget host;            /* whose memory this is */

    const void *seeds_here; /* where they are needed on the host, */
    void *seeds_copy;       /* and not there already */
    void *views[LOB_APPEARANCE_MAX_VIEWS], *seeds, *outline;
    float *shares;

    uint32_t *range;
    u64 *counts, *halves;
    quantile *reach;
    channel *channels;
    int32_t *table;
    double *exps;
    float *distance;
    int16_t *lost;
    uint8_t *inside; /* blocks with strokes of labels, or voxels of an outline */
    int64_t *slices;
    lob_appearance_place *places;
    int64_t *sample_voxels;
    int16_t *sample_bins, *local_table;
    lob_appearance_between *between;
    void *work;
};

static bool by_outline(const job *j)
{
    return j->plan.in->outline && j->plan.options->shape > 0;
}

static bool by_distance(const job *j)
{
    return !j->plan.in->outline && j->plan.options->far > 0;
}

static int64_t lay_out(job *j, void *block)
{
    const lob_appearance_plan *p = &j->plan;
    const int at_once = j->at_once;
    const int64_t rows = (int64_t)p->channels * p->slots;
    const int64_t side = p->dims.nx > p->dims.ny ? p->dims.nx : p->dims.ny;
    const int64_t longest = side > p->dims.nz ? side : p->dims.nz;
    const lob_distance_output found = {(float *)1, NULL};
    arena memory(block);
    j->range = memory.take<uint32_t>(2 * p->channels);
    j->counts = memory.take<u64>(rows * (p->in->labels + 1));
    j->channels = memory.take<channel>(p->channels);
    j->table = memory.take<int32_t>(rows * p->wanted);
    j->exps = memory.take<double>(LOB_APPEARANCE_EXPS);
    j->halves = memory.take<u64>(at_once * LOB_APPEARANCE_HALF);
    j->reach = memory.take<quantile>(at_once);
    j->distance = memory.take<float>(at_once ? at_once * j->apart : j->distances);
    j->lost = memory.take<int16_t>(at_once ? p->blocks.count * p->wanted : 0);
    j->inside = memory.take<uint8_t>(at_once ? at_once * j->apart : j->distances);
    j->slices = memory.take<int64_t>(by_outline(j) ? longest : 0);
    j->places = memory.take<lob_appearance_place>(by_outline(j) ? longest : 0);
    const lob_appearance_nodes *n = &j->nodes;
    j->sample_voxels = memory.take<int64_t>(n->samples.count);
    j->sample_bins = memory.take<int16_t>(n->samples.count);
    j->local_table = memory.take<int16_t>(n->items);
    j->between = memory.take<lob_appearance_between>(
        n->items > 0 ? p->dims.nx + p->dims.ny + p->dims.nz : 0);
    j->work =
        memory.take<unsigned char>(j->distances ? distance::work_bytes(&found, j->distances) : 0);
    return memory.used;
}

static bool reports(const job *j, double done)
{
    return j->context->progress && j->context->progress(j->context->user, done);
}

/* ---- ranges, counts and tables ---- */

static voxel_params params_of(const job *j, const channel *of, int c)
{
    const lob_appearance_plan *p = &j->plan;
    voxel_params v = {};
    v.of = of[c];
    v.seeds = j->seeds;
    v.seed_type = p->in->seed_type;
    v.voxels = p->voxels;
    v.slots = p->slots;
    v.range = j->range + 2 * c;
    v.counts = j->counts + (int64_t)c * (p->in->labels + 1) * p->slots;
    return v;
}

static lob_status find_scales(job *j, channel *of, lob_error *error)
{
    lob_appearance_plan *p = &j->plan;
    uint32_t range[2 * LOB_APPEARANCE_MAX_VIEWS];
    for (int c = 0; c < p->channels; c++) {
        range[2 * c] = ~0u;
        range[2 * c + 1] = 0;
    }
    LOB_TRY(lob_device_upload(j->device, j->range, range, 2 * p->channels * (int64_t)sizeof *range,
                              error));
    for (int c = 0; c < p->channels; c++)
        LOB_TRY(lob_launch_over(j->device, range_kernel, "ranges under strokes", p->voxels, THREADS,
                                params_of(j, of, c), error));
    LOB_TRY(lob_device_download(j->device, range, j->range,
                                2 * p->channels * (int64_t)sizeof *range, error));
    for (int c = 0; c < p->channels; c++) {
        const bool any = range[2 * c] <= range[2 * c + 1];
        p->view[c].scale = lob_appearance_scale_of(p, any ? value_of_key(range[2 * c]) : 1.0f,
                                                   any ? value_of_key(range[2 * c + 1]) : 0.0f);
        of[c].scale = p->view[c].scale;
    }
    return LOB_OK;
}

static lob_status make_tables(job *j, const channel *of, lob_error *error)
{
    lob_appearance_plan *p = &j->plan;
    const int64_t rows = (int64_t)p->channels * p->slots;
    const int64_t bytes = rows * (p->in->labels + 1) * (int64_t)sizeof *p->counts;
    const size_t shared = (size_t)p->slots * WARPS * sizeof(uint32_t);
    LOB_TRY(lob_device_fill(j->device, j->counts, 0, bytes, error));
    for (int c = 0; c < p->channels; c++)
        LOB_TRY(lob_launch(j->device, count_kernel, "counting values",
                           lob_grid_blocks(j->device, p->voxels, THREADS), THREADS, shared,
                           params_of(j, of, c), error));
    lob_appearance_find_exps(p); /* while it counts */
    LOB_TRY(lob_device_download(j->device, p->counts, j->counts, bytes, error));
    LOB_TRY(lob_appearance_tables(p, error));
    LOB_TRY(lob_device_upload(j->device, j->table, p->table,
                              rows * p->wanted * (int64_t)sizeof *p->table, error));
    return lob_device_upload(j->device, j->exps, p->exps,
                             LOB_APPEARANCE_EXPS * (int64_t)sizeof *p->exps, error);
}

/* Bins of the strokes that are learnt from nearby, tables of them, and the tables to the device. */
static lob_status make_local_tables(job *j, const channel *of, lob_appearance_local *local,
                                    lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    lob_appearance_nodes *n = &j->nodes;
    const int64_t count = n->samples.count, bytes = count * (int64_t)sizeof(int16_t);
    const int64_t coordinates[3] = {p->dims.nx, p->dims.ny, p->dims.nz};
    if (n->items == 0) return LOB_OK;
    LOB_TRY(lob_device_upload(j->device, j->sample_voxels, n->samples.voxel,
                              count * (int64_t)sizeof *n->samples.voxel, error));
    for (int c = 0; c < p->channels; c++) {
        const sample_params s = {of[c], j->sample_voxels, j->sample_bins, count};
        LOB_TRY(lob_launch_over(j->device, samples_kernel, "values under strokes", count, THREADS,
                                s, error));
        LOB_TRY(lob_device_download(j->device, n->samples.bin + c * count, j->sample_bins, bytes,
                                    error));
    }
    LOB_TRY(lob_appearance_nodes_learn(n, p, j->context->threads, error));
    LOB_TRY(lob_device_upload(j->device, j->local_table, n->table,
                              n->items * (int64_t)sizeof *n->table, error));
    LOB_TRY(lob_device_upload(
        j->device, j->between, n->between,
        (coordinates[0] + coordinates[1] + coordinates[2]) * (int64_t)sizeof *n->between, error));
    *local = n->look;
    local->table = j->local_table;
    local->between[0] = j->between;
    for (int a = 1; a < 3; a++) local->between[a] = local->between[a - 1] + coordinates[a - 1];
    return LOB_OK;
}

/* ---- distances ---- */

static lob_status check_distances(const lob_distance_input *in, lob_error *error)
{
    const lob_distance_options options = lob_distance_defaults();
    const lob_distance_output none = {NULL, NULL};
    return lob_distance_check(&none, in, &options, error);
}

static lob_status transform(const job *j, float *distance, const lob_distance_input *in,
                            lob_distance_kind kind, lob_error *error)
{
    const lob_distance_output out = {distance, NULL};
    lob_distance_options options = lob_distance_defaults();
    options.kind = kind;
    return distance::transform(j->device, &out, in->labels, in, &options, j->work, error);
}

/* Of labels from this one on. */
static reach_params reach_of(const job *j, int first)
{
    const lob_appearance_plan *const p = &j->plan;
    reach_params r = {};
    r.seeds = j->seeds;
    r.seed_type = p->in->seed_type;
    r.dims = p->dims;
    r.blocks = p->blocks;
    r.voxels = p->voxels;
    r.background = p->in->background;
    r.first = first;
    r.count = p->wanted - first < j->at_once ? p->wanted - first : j->at_once;
    r.apart = j->apart;
    r.marks = j->inside;
    r.distance = j->distance;
    r.counts = j->halves;
    r.found = j->reach;
    r.share = p->options->far_quantile;
    return r;
}

/* Find a half of the quantiles of distances. */
static lob_status find_half(const job *j, reach_params r, bool low, lob_error *error)
{
    const int64_t bytes = r.count * LOB_APPEARANCE_HALF * (int64_t)sizeof *j->halves;
    r.low = low;
    LOB_TRY(lob_device_fill(j->device, j->halves, 0, bytes, error));
    LOB_TRY(lob_launch_over(j->device, halves_kernel, "distances of strokes", r.voxels, THREADS, r,
                            error));
    return lob_launch(j->device, rank_kernel, "the quantile of distances", r.count, RANK_THREADS, 0,
                      r, error);
}

/* Of as many labels from this one on as are looked for at once. */
static lob_status far_scores(const job *j, int first, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    const reach_params r = reach_of(j, first);
    LOB_TRY(lob_device_fill(j->device, r.marks, 0, r.count * r.apart, error));
    LOB_TRY(
        lob_launch_over(j->device, mark_kernel, "blocks of strokes", p->voxels, THREADS, r, error));
    for (int k = 0; k < r.count; k++) {
        const lob_distance_input in = lob_appearance_far_input(p, r.marks + k * r.apart);
        LOB_TRY(transform(j, r.distance + k * r.apart, &in, LOB_DISTANCE_TO_SET, error));
    }
    LOB_TRY(find_half(j, r, false, error));
    LOB_TRY(find_half(j, r, true, error));
    far_params f = {};
    f.lost = j->lost + first * p->blocks.count;
    f.distance = j->distance;
    f.blocks = p->blocks.count;
    f.apart = r.apart;
    f.count = r.count;
    f.reach = j->reach;
    f.least = lob_appearance_reach(p, 0, 0);
    f.score = (float)(LOB_APPEARANCE_ONE * p->options->far);
    return lob_launch_over(j->device, far_kernel, "costs of distance", f.blocks * f.count, THREADS,
                           f, error);
}

/* Put what a label gains by the outlines of a stack, or add it. */
static lob_status put_shape(const job *j, int k, const lob_appearance_stack *stack, int32_t *gain,
                            bool adds, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    stack_params s = {};
    LOB_TRY(lob_device_upload(j->device, j->slices, stack->slices,
                              stack->count * (int64_t)sizeof *j->slices, error));
    LOB_TRY(lob_device_upload(j->device, j->places, stack->places,
                              lob_side(p->dims, stack->axis) * (int64_t)sizeof *j->places, error));
    s.gain = gain;
    s.adds = adds;
    s.dims = p->dims;
    s.of_stack = stack->dims;
    s.voxels = stack->voxels;
    s.shape = stack->shape;
    s.shape.places = j->places;
    s.shape.signed_mm = j->distance;
    s.outline = j->outline;
    s.outline_type = p->in->outline_type;
    s.label = p->label[k];
    s.slices = j->slices;
    s.inside = j->inside;
    LOB_TRY(lob_launch_over(j->device, gather_kernel, "slices of an outline", s.voxels, THREADS, s,
                            error));
    const lob_distance_input in = lob_appearance_stack_input(stack, p, j->inside);
    LOB_TRY(check_distances(&in, error));
    LOB_TRY(transform(j, j->distance, &in, LOB_DISTANCE_SIGNED, error));
    s.voxels = p->voxels;
    return lob_launch_over(j->device, shape_kernel, "gains of an outline", s.voxels, THREADS, s,
                           error);
}

static lob_status shape_scores(const job *j, int k, lob_error *error)
{
    const int64_t n = j->plan.voxels;
    int32_t *const gain = (int32_t *)j->shares + k * n;
    bool any = false;
    for (int axis = 0; axis < 3; axis++) {
        if (j->stacks[k][axis].count == 0) continue;
        LOB_TRY(put_shape(j, k, &j->stacks[k][axis], gain, any, error));
        any = true;
    }
    return any ? LOB_OK : lob_device_fill(j->device, gain, 0, n * (int64_t)sizeof *gain, error);
}

/* ---- all of it ---- */

/* Planes, and nodes with their strokes, are looked for on the host. */
static lob_status bring_seeds(job *j, lob_error *error)
{
    const lob_appearance_input *in = j->plan.in;
    const int64_t bytes = j->plan.voxels * (int64_t)lob_type_of(in->seed_type)->bytes;
    j->seeds_here = in->seeds;
    if (in->place.kind == LOB_PLACE_MEMORY) return LOB_OK;
    j->seeds_here = j->seeds_copy = malloc((size_t)bytes);
    if (!j->seeds_copy) return lob_fail(error, LOB_ENOMEM, "no memory left to count strokes");
    return lob_device_download(j->device, j->seeds_copy, j->seeds, bytes, error);
}

static lob_status make_stacks(job *j, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    lob_strokes counted = {};
    const lob_strokes *const strokes = p->in->counts ? p->in->counts : &counted;
    if (!p->in->counts)
        LOB_TRY(lob_strokes_count(&counted, j->seeds_here, p->in->seed_type, p->dims, p->in->labels,
                                  NULL, j->context->threads, error));
    lob_status st = LOB_OK;
    j->stats->axis = lob_strokes_axis(strokes);
    for (int i = 0; st == LOB_OK && i < 3 * p->wanted; i++) {
        lob_appearance_stack *const stack = &j->stacks[i / 3][i % 3];
        st = lob_appearance_stack_make(stack, p, strokes, p->label[i / 3], i % 3, error);
        if (stack->voxels > j->distances) j->distances = stack->voxels;
        j->stats->slices += stack->count;
    }
    lob_strokes_free(&counted);
    return st;
}

static lob_status compute(job *j, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    channel of[LOB_APPEARANCE_MAX_VIEWS];
    for (int c = 0, v = 0; c < p->channels; c++) {
        const lob_volume *volume = p->view[c].volume;
        if (c > 0 && p->view[c].channel == 0) v++;
        of[c] = {j->views[v],   volume->type,  p->view[c].channel * p->voxels,
                 volume->slope, volume->inter, {}};
    }
    LOB_TRY(find_scales(j, of, error));
    lob_appearance_local local = {};
    LOB_TRY(make_tables(j, of, error));
    LOB_TRY(make_local_tables(j, of, &local, error));
    LOB_TRY(
        lob_device_upload(j->device, j->channels, of, p->channels * (int64_t)sizeof *of, error));
    if (reports(j, 0.4)) return LOB_ECANCEL;
    for (int k = 0; k < p->wanted; k++) {
        if (by_distance(j) && k % j->at_once == 0) LOB_TRY(far_scores(j, k, error));
        if (by_outline(j)) LOB_TRY(shape_scores(j, k, error));
        if (reports(j, 0.4 + 0.4 * (k + 1) / p->wanted)) return LOB_ECANCEL;
    }
    share_params s = {};
    s.shares = j->shares;
    s.has_gain = by_outline(j);
    s.lost = by_distance(j) ? j->lost : nullptr;
    s.blocks = p->blocks;
    s.voxels = p->voxels;
    s.wanted = p->wanted;
    s.values = p->values;
    s.channels = p->channels;
    s.slots = p->slots;
    s.of = j->channels;
    s.table = j->table;
    s.exps = j->exps;
    s.dims = p->dims;
    s.local = local;
    LOB_TRY(lob_launch_over(j->device,
                            p->wanted <= FEW_LABELS ? shares_kernel<true> : shares_kernel<false>,
                            "shares", p->voxels, THREADS, s, error));
    return lob_device_wait(j->device, error);
}

/* What the distances need. */
static lob_status prepare(job *j, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    const lob_distance_input in = lob_appearance_far_input(p, NULL);
    if (by_outline(j)) return make_stacks(j, error);
    if (!by_distance(j)) return LOB_OK;
    LOB_TRY(check_distances(&in, error));
    j->distances = p->blocks.count;
    j->apart = (p->blocks.count + 255) / 256 * 256; /* arrays stay aligned */
    j->at_once = p->blocks.count > FEW_BLOCKS ? 1 : p->wanted < FEW_LABELS ? p->wanted : FEW_LABELS;
    return LOB_OK;
}

/* Voxels to the device and back. */
static lob_status travel(job *j, float *shares, lob_place place, lob_error *error)
{
    const lob_appearance_plan *p = &j->plan;
    const lob_appearance_input *in = p->in;
    lob_device_array travels[LOB_APPEARANCE_MAX_VIEWS + 3];
    int n = 0;
    for (int v = 0; v < in->view_count; v++)
        travels[n++] = lob_device_volume(&j->views[v], in->views[v]);
    const int64_t seed_bytes = (int64_t)lob_type_of(in->seed_type)->bytes;
    const int64_t outline_bytes = by_outline(j) ? (int64_t)lob_type_of(in->outline_type)->bytes : 0;
    travels[n++] =
        lob_device_input(&j->seeds, in->seeds, lob_product(p->voxels, seed_bytes, 1, 1), in->place);
    travels[n++] = lob_device_input(&j->outline, in->outline,
                                    lob_product(p->voxels, outline_bytes, 1, 1), in->place);
    travels[n++] =
        lob_device_output(&j->shares, shares,
                          lob_product(p->voxels, p->wanted + p->values, sizeof *shares, 1), place);
    void *block = NULL;
    LOB_TRY(lob_device_send(j->device, travels, n, p->voxels, error));
    if (reports(j, 0.1)) return LOB_ECANCEL;
    const bool local = p->options->local > 0;
    if (local || (by_outline(j) && !in->counts)) LOB_TRY(bring_seeds(j, error));
    if (local) LOB_TRY(lob_appearance_nodes_make(&j->nodes, p, j->seeds_here, &j->host, error));
    LOB_TRY(prepare(j, error));
    free(j->seeds_copy);
    j->seeds_copy = NULL;
    LOB_TRY(lob_device_budget_take(&j->budget, LOB_DEVICE_WORK, lay_out(j, NULL), &block, error));
    lay_out(j, block);
    LOB_TRY(compute(j, error));
    LOB_TRY(lob_device_receive(j->device, travels, n, error));
    return reports(j, 1.0) ? LOB_ECANCEL : LOB_OK;
}

} /* namespace lob::appearance */

using namespace lob::appearance;

static lob_status find_shares(float *shares, lob_place place, lob_appearance_stats *stats,
                              const lob_appearance_input *in, const lob_appearance_options *options,
                              const lob_context *context, lob_error *error)
{
    job *j = (job *)calloc(1, sizeof *j);
    if (!j) return lob_fail(error, LOB_ENOMEM, "no memory left for appearance");
    *stats = {};
    stats->axis = -1;
    j->context = context;
    j->device = context->device;
    j->stats = stats;
    j->host.who = "appearance";
    j->host.limit = context->max_memory;
    lob_status st = lob_appearance_plan_make(&j->plan, in, options, error);
    if (st == LOB_OK) {
        j->budget = lob_device_budget_of(context, "appearance", j->plan.voxels);
        st = travel(j, shares, place, error);
        stats->working_bytes = lob_device_budget_held(&j->budget);
    }
    for (int i = 0; i < 3 * LOB_APPEARANCE_MAX_LABELS; i++)
        lob_appearance_stack_free(&j->stacks[i / 3][i % 3]);
    lob_appearance_nodes_free(&j->nodes, &j->plan, &j->host);
    lob_appearance_plan_free(&j->plan);
    free(j->seeds_copy);
    free(j);
    return st;
}

/* All shares on the device, then what the other grid takes of them. */
static lob_status shares_onto(float *shares, lob_place place, lob_appearance_stats *stats,
                              const lob_appearance_input *in, const lob_appearance_options *options,
                              const lob_context *context, lob_error *error)
{
    const lob_volume *const view = in->views[0];
    lob_appearance_input whole = *in;
    lob_volume fine = lob_volume_empty();
    lob_resample_input from = {&fine, in->grid->dims, in->grid->geometry, place};
    const lob_resample_options linear = lob_resample_defaults();
    lob_context quiet = *context; /* progress has reached its end */
    quiet.progress = NULL;
    const int channels = lob_appearance_channels(in, options);
    LOB_TRY(lob_volume_at(&fine, view, LOB_F32, channels, context, error));
    whole.grid = NULL;
    lob_status st =
        find_shares((float *)fine.data, fine.place, stats, &whole, options, context, error);
    if (st == LOB_OK) st = lob_resample_cuda(shares, &from, &linear, &quiet, error);
    stats->working_bytes += lob_product(lob_voxels(view), channels, sizeof *shares, 1);
    lob_volume_free(&fine);
    return st;
}

/* Shares on the device, then levels of them. */
static lob_status levels_of(void *levels, lob_appearance_stats *stats,
                            const lob_appearance_input *in, const lob_appearance_options *options,
                            const lob_context *context, lob_error *error)
{
    lob_volume shares = lob_volume_empty();
    lob_filter_step steps[LOB_APPEARANCE_STEPS];
    lob_filter_input from = {};
    lob_filter_options filters = lob_filter_defaults();
    lob_filter_output found = {};
    lob_context quiet = *context;
    quiet.progress = NULL;
    const int channels = lob_appearance_channels(in, options);
    LOB_TRY(lob_volume_at(&shares, in->grid ? in->grid : in->views[0], LOB_F32, channels, context,
                          error));
    const int64_t n = lob_product(lob_voxels(&shares), channels, 1, 1);
    float *const data = (float *)shares.data;
    lob_status st = (in->grid ? shares_onto : find_shares)(data, shares.place, stats, in, options,
                                                           context, error);
    from.image = &shares;
    from.steps = steps;
    from.step_count = lob_appearance_steps(steps, &shares, options->blur_mm);
    from.place = in->place;
    from.bounded = true; /* shares are 0..1 */
    filters.edge = LOB_EDGE_NEAREST;
    if (st == LOB_OK) st = lob_filter_cuda(&found, &from, &filters, &quiet, error);
    if (st == LOB_OK && in->place.kind == LOB_PLACE_MEMORY)
        memcpy(levels, found.data, (size_t)n);
    else if (st == LOB_OK)
        st = lob_device_copy(context->device, levels, found.data, n, error);
    stats->working_bytes += n * (int64_t)sizeof(float);
    lob_filter_output_free(&found);
    lob_volume_free(&shares);
    return st;
}

lob_status lob_appearance_cuda(void *shares, lob_appearance_stats *stats,
                               const lob_appearance_input *in,
                               const lob_appearance_options *options, const lob_context *context,
                               lob_error *error)
{
    if (!context->device) return lob_device_missing(error);
    if (options->levels) return levels_of(shares, stats, in, options, context, error);
    return (in->grid ? shares_onto : find_shares)((float *)shares, in->place, stats, in, options,
                                                  context, error);
}
