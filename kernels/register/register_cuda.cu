/* The loops of a registration on a GPU, and a volume through a field, of which a thread writes one
 * new voxel. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/register/self_similarity_voxel.h"
#include "kernels/register/warp_voxel.h"

#include <cub/device/device_radix_sort.cuh>

namespace lob::registration
{

enum { THREADS = 256, SOLVERS = 128 };

/* ---- passes ---- */

struct pass_params {
    lob_register_pass pass;
    u64 *sums; /* the pass's numbers */
};

template <lob_register_kind KIND> static __global__ void pass_kernel(pass_params s)
{
    uint64_t own[LOB_REGISTER_NUMBERS] = {0, 0, 0, 0};
    for (int64_t i = grid_first(); i < s.pass.n; i += grid_step())
        lob_register_at(KIND, &s.pass, i, own);
    if (!s.sums) return;
    for (int k = 0; k < LOB_REGISTER_NUMBERS; k++) {
        const bool most = k < LOB_REGISTER_MAXIMA;
        const u64 all = most ? warp_max(own[k]) : warp_sum(own[k]);
        if (threadIdx.x % WARP != 0 || all == 0) continue;
        if (most)
            atomicMax(&s.sums[k], all);
        else
            atomicAdd(&s.sums[k], all);
    }
}

static lob_status pass(uint64_t numbers[LOB_REGISTER_NUMBERS], lob_register_call *c,
                       const lob_register_pass *p)
{
    static void (*const kernels[LOB_REGISTER_KINDS])(pass_params) = {
        pass_kernel<LOB_REGISTER_LEVELS>, pass_kernel<LOB_REGISTER_MOVE>,
        pass_kernel<LOB_REGISTER_MASK>,   pass_kernel<LOB_REGISTER_HALVE>,
        pass_kernel<LOB_REGISTER_LEAST>,  pass_kernel<LOB_REGISTER_BITS>,
        pass_kernel<LOB_REGISTER_FIELD>,  pass_kernel<LOB_REGISTER_EXTENT>};
    const int64_t bytes = numbers ? LOB_REGISTER_NUMBERS * (int64_t)sizeof *numbers : 0;
    pass_params s = {*p, nullptr};
    lob_status st = LOB_OK;
    if (numbers) {
        LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &s.sums, bytes, c->error));
        st = lob_device_fill(c->device, s.sums, 0, bytes, c->error);
    }
    if (st == LOB_OK)
        st =
            lob_launch_over(c->device, kernels[p->kind], "registering", p->n, THREADS, s, c->error);
    if (numbers && st == LOB_OK)
        st = lob_device_download(c->device, numbers, s.sums, bytes, c->error);
    lob_budget_free_at(&c->budget, c->device, s.sums, bytes);
    return st;
}

/* ---- words ---- */

/* All maps of a voxel, whose shifts and radius are constants. */
template <int AXIS, int RADIUS> static __global__ void sum_kernel(lob_words_job s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
#pragma unroll
        for (int m = 0; m < LOB_WORDS_MAPS; m++) lob_words_sum(&s, m, AXIS, i, 1, RADIUS);
    }
}

static __global__ void words_kernel(lob_words_job s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) lob_words_make(&s, i, 1);
}

template <int RADIUS> static lob_status make_words(lob_register_call *c, const lob_words_job &s)
{
    void (*const kernels[])(lob_words_job) = {sum_kernel<0, RADIUS>, sum_kernel<1, RADIUS>,
                                              sum_kernel<2, RADIUS>, words_kernel};
    for (void (*const kernel)(lob_words_job) : kernels)
        LOB_TRY(lob_launch_over(c->device, kernel, "words", s.voxels, THREADS, s, c->error));
    return LOB_OK;
}

static lob_status words(uint64_t *to, lob_register_call *c, const lob_register_image *image,
                        int radius)
{
    const int64_t n = image->voxels, all = LOB_WORDS_MAPS * n;
    lob_words_job s = {to, image->level, nullptr, nullptr, n, image->dims, n, c->no_data, radius};
    LOB_TRY(lob_register_room(c, &s.map, 2 * all * (int64_t)sizeof *s.map));
    s.half = s.map + all;
    return radius == 1   ? make_words<1>(c, s)
           : radius == 2 ? make_words<2>(c, s)
                         : make_words<3>(c, s);
}

/* ---- costs ---- */

/* A sample: its word, and where the first displacement leads it. */
struct sample {
    uint64_t word;
    int at[3];
    bool counts;
};

static __device__ void take_sample(sample *to, const lob_register_costs &k, int o, int64_t point)
{
    int64_t there[3];
    to->counts = lob_register_sample(&to->word, there, &k, o, point);
    for (int a = 0; a < 3 && to->counts; a++)
        to->at[a] = (int)there[a] - k.level.quant * (k.side[a] / 2);
}

static __device__ inline int bits_of(const lob_register_costs &k, const sample &from, int lx,
                                     int ly, int lz)
{
    const int x = from.at[0] + k.level.quant * lx, y = from.at[1] + k.level.quant * ly;
    const int z = from.at[2] + k.level.quant * lz;
    const bool inside =
        x >= 0 && x < k.dims.nx && y >= 0 && y < k.dims.ny && z >= 0 && z < k.dims.nz;
    const uint64_t there = inside ? k.to[(z * k.dims.ny + y) * k.dims.nx + x] : k.no_data;
    return lob_register_bits(from.word, there);
}

/* A block takes a point. */
static __global__ void costs_kernel(lob_register_costs k)
{
    __shared__ sample samples[LOB_REGISTER_MOST_SAMPLES];
    __shared__ int all, least;
    const int64_t point = blockIdx.x;
    int sum = 0, low = INT32_MAX;
    if (threadIdx.x < k.offsets) take_sample(&samples[threadIdx.x], k, (int)threadIdx.x, point);
    if (threadIdx.x == 0) {
        lob_register_begin(&k, point);
        all = 0;
        least = INT32_MAX;
    }
    __syncthreads();
    for (int l = (int)threadIdx.x; l < k.labels; l += (int)blockDim.x) {
        const int lx = l % k.side[0], ly = l / k.side[0] % k.side[1];
        const int lz = l / k.side[0] / k.side[1];
        int bits = 0;
        for (int o = 0; o < k.offsets; o++)
            if (samples[o].counts) bits += bits_of(k, samples[o], lx, ly, lz);
        k.cost[point * k.labels + l] = lob_register_cost(bits, k.scale, k.side, lx, ly, lz);
        sum += bits;
        low = bits < low ? bits : low;
    }
    atomicAdd(&all, sum); /* below 4913 * 64 * 60 */
    atomicMin(&least, low);
    __syncthreads();
    if (threadIdx.x == 0) k.contrast[point] = all / k.labels - least;
}

static lob_status costs(const lob_register_costs *k, lob_register_call *c)
{
    return lob_launch(c->device, costs_kernel, "costs", k->points.count, SOLVERS, 0, *k, c->error);
}

/* ---- the tree ---- */

struct keys_params {
    uint64_t *keys;
    lob_register_points points;
    lob_register_image image;
};

static __global__ void keys_kernel(keys_params s)
{
    for (int64_t e = grid_first(); e < 3 * s.points.count; e += grid_step())
        s.keys[e] = lob_register_key(&s.points, &s.image, e);
}

static lob_status keys(uint64_t *out, lob_register_call *c, const lob_register_points *p,
                       const lob_register_image *image)
{
    const int64_t n = 3 * p->count, bytes = 2 * n * (int64_t)sizeof *out;
    cudaStream_t const stream = lob_device_cuda_stream(c->device);
    const char *const name = "sorting edges";
    keys_params s = {nullptr, *p, *image};
    size_t room = 0;
    void *work = nullptr;
    LOB_TRY(lob_device_check(
        cub::DeviceRadixSort::SortKeys(nullptr, room, s.keys, s.keys, n, 0, 64, stream), name,
        c->error));
    LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &s.keys, bytes, c->error));
    lob_status st = lob_budget_alloc_at(&c->budget, c->device, &work, (int64_t)room, c->error);
    if (st == LOB_OK)
        st = lob_launch_over(c->device, keys_kernel, "edges", n, THREADS, s, c->error);
    if (st == LOB_OK)
        st = lob_device_check(
            cub::DeviceRadixSort::SortKeys(work, room, s.keys, s.keys + n, n, 0, 64, stream), name,
            c->error);
    if (st == LOB_OK) st = lob_device_download(c->device, out, s.keys + n, bytes / 2, c->error);
    lob_budget_free_at(&c->budget, c->device, work, (int64_t)room);
    lob_budget_free_at(&c->budget, c->device, s.keys, bytes);
    return st;
}

/*
 * Blocks take points in the order of tickets, so whom a point waits for is on its way. Upwards a
 * point sends its message when all its children's have come; messages are whole numbers, so their
 * order does not matter. Downwards it chooses when its parent has.
 */
struct solve_params {
    lob_register_costs k;
    lob_register_tree t; /* parent, order, child */
    float *moved;        /* where points go, along each axis */
    int *heard;          /* messages that a point has; 0 before */
    int *tickets;        /* up, down; 0 before */
    int *choice;         /* of a point; -1 before */
};

/* What an edge costs along each axis, by the parent's displacement less the child's, plus side - 1.
 */
struct edge {
    int32_t cost[3][2 * LOB_REGISTER_MOST_ALONG];
};

static __device__ void make_edge(edge *e, const lob_register_costs &k, int64_t parent,
                                 int64_t child)
{
    for (int n = (int)threadIdx.x; n < 3 * 2 * LOB_REGISTER_MOST_ALONG; n += (int)blockDim.x) {
        const int a = n / (2 * LOB_REGISTER_MOST_ALONG), i = n % (2 * LOB_REGISTER_MOST_ALONG);
        if (i < 2 * k.side[a] - 1)
            e->cost[a][i] = lob_register_edge_cost(&k, a, parent, child, i - k.side[a] + 1);
    }
}

/* The next ticket, in all threads of the block; a barrier before its use of `shared`. */
static __device__ inline int take_ticket(int *tickets, int *shared)
{
    __syncthreads();
    if (threadIdx.x == 0) *shared = atomicAdd(tickets, 1);
    __syncthreads();
    return *shared;
}

/* Along one axis: out = least of in + edge. Returns the least that this thread wrote. */
static __device__ int32_t least_along(int32_t *out, const int32_t *in, const int32_t *cost,
                                      int labels, int side, int stride)
{
    int32_t low = INT32_MAX;
    for (int l = (int)threadIdx.x; l < labels; l += (int)blockDim.x) {
        const int j = l / stride % side;
        const int32_t *const from = in + (l - j * stride);
        int32_t best = INT32_MAX;
        for (int i = 0; i < side; i++) {
            const int32_t sum = from[i * stride] + cost[j - i + side - 1];
            best = sum < best ? sum : best;
        }
        out[l] = best;
        low = best < low ? best : low;
    }
    return low;
}

static __global__ void up_kernel(solve_params s)
{
    extern __shared__ int32_t work[]; /* 2 * labels */
    __shared__ edge e;
    __shared__ int ticket, least;
    const int labels = s.k.labels, *const side = s.k.side;
    int32_t *const other = work + labels;
    while (true) {
        const int64_t i = s.k.points.count - 1 - take_ticket(&s.tickets[0], &ticket);
        if (i < 1) return; /* the root sends nothing */
        const int64_t point = s.t.order[i], parent = s.t.parent[point];
        make_edge(&e, s.k, parent, point);
        if (threadIdx.x == 0) {
            const int children = (int)(s.t.child[i + 1] - s.t.child[i]);
            while (*(volatile int *)&s.heard[point] < children) __nanosleep(20);
            memory_fence();
            least = INT32_MAX;
        }
        __syncthreads();
        for (int l = (int)threadIdx.x; l < labels; l += (int)blockDim.x)
            work[l] = __ldcg(&s.k.cost[point * labels + l]);
        __syncthreads();
        least_along(other, work, e.cost[2], labels, side[2], side[0] * side[1]);
        __syncthreads();
        least_along(work, other, e.cost[1], labels, side[1], side[0]);
        __syncthreads();
        const int32_t low = least_along(other, work, e.cost[0], labels, side[0], 1);
        atomicMin(&least, low);
        __syncthreads();
        for (int l = (int)threadIdx.x; l < labels; l += (int)blockDim.x)
            atomicAdd(&s.k.cost[parent * labels + l], other[l] - least);
        __syncthreads();
        if (threadIdx.x == 0) {
            memory_fence();
            atomicAdd(&s.heard[parent], 1);
        }
    }
}

/* What a displacement costs a point whose parent has chosen. */
static __device__ inline int32_t cost_at(const lob_register_costs &k, const edge &e, int64_t point,
                                         int chosen, int l)
{
    int32_t cost = k.cost[point * k.labels + l];
    int stride = 1;
    for (int a = 0; a < 3 && chosen >= 0; a++) {
        const int from = chosen / stride % k.side[a], to = l / stride % k.side[a];
        cost += e.cost[a][from - to + k.side[a] - 1];
        stride *= k.side[a];
    }
    return cost;
}

/* Move a point by its choice, and beside it. */
static __device__ void settle(float *moved, const lob_register_costs &k, const edge &e,
                              int64_t point, int chosen, int l)
{
    int stride = 1;
    for (int a = 0; a < 3; a++) {
        const int at = l / stride % k.side[a], half = k.side[a] / 2;
        float more = 0.0f;
        if (at > 0 && at < k.side[a] - 1)
            more = lob_register_beside(cost_at(k, e, point, chosen, l - stride),
                                       cost_at(k, e, point, chosen, l),
                                       cost_at(k, e, point, chosen, l + stride));
        moved[a * k.points.count + point] =
            k.points.u[a][point] + (float)k.level.quant * ((float)(at - half) + more);
        stride *= k.side[a];
    }
}

static __global__ void down_kernel(solve_params s)
{
    __shared__ edge e;
    __shared__ int ticket, chosen;
    __shared__ u64 best;
    while (true) {
        const int64_t i = take_ticket(&s.tickets[1], &ticket);
        if (i >= s.k.points.count) return;
        const int64_t point = s.t.order[i], parent = s.t.parent[point];
        if (parent >= 0) make_edge(&e, s.k, parent, point);
        if (threadIdx.x == 0) {
            best = ~(u64)0;
            chosen = -1;
            while (parent >= 0 && (chosen = *(volatile int *)&s.choice[parent]) < 0)
                __nanosleep(20);
        }
        __syncthreads();
        u64 own = ~(u64)0; /* the cost, then the displacement: of equal ones the first */
        for (int l = (int)threadIdx.x; l < s.k.labels; l += (int)blockDim.x) {
            const uint32_t cost = (uint32_t)cost_at(s.k, e, point, chosen, l) ^ 0x80000000u;
            const u64 key = (u64)cost << 32 | (uint32_t)l;
            own = key < own ? key : own;
        }
        own = warp_min(own);
        if (threadIdx.x % WARP == 0) atomicMin(&best, own);
        __syncthreads();
        if (threadIdx.x == 0) {
            const int l = (int)(best & UINT32_MAX);
            *(volatile int *)&s.choice[point] = l;
            settle(s.moved, s.k, e, point, chosen, l);
        }
    }
}

static lob_status solve(const lob_register_costs *k, lob_register_call *c,
                        const lob_register_tree *t)
{
    const int64_t n = k->points.count, word = sizeof(int),
                  tree = (3 * n + 1) * (int64_t)sizeof(int64_t);
    const int64_t bytes = tree + (5 * n + 2) * word;
    lob_device *const device = c->device;
    solve_params s = {*k};
    LOB_TRY(lob_budget_alloc_at(&c->budget, device, &s.t.parent, bytes, c->error));
    s.t.order = s.t.parent + n;
    s.t.child = s.t.order + n;
    s.moved = (float *)(s.t.child + n + 1);
    s.heard = (int *)(s.moved + 3 * n);
    s.tickets = s.heard + n;
    s.choice = s.tickets + 2;
    const int64_t most = 8 * (int64_t)lob_device_multiprocessors(device);
    const int64_t blocks = n < most ? n : most;
    const size_t shared = 2 * (size_t)k->labels * sizeof(int32_t);
    lob_status st = lob_device_upload(device, s.t.parent, t->parent, tree, c->error);
    if (st == LOB_OK) st = lob_device_fill(device, s.heard, 0, (n + 2) * word, c->error);
    if (st == LOB_OK) st = lob_device_fill(device, s.choice, 0xff, n * word, c->error);
    if (st == LOB_OK)
        st = lob_launch(device, up_kernel, "messages", blocks, SOLVERS, shared, s, c->error);
    if (st == LOB_OK)
        st = lob_launch(device, down_kernel, "choices", blocks, SOLVERS, 0, s, c->error);
    if (st == LOB_OK) st = lob_device_copy(device, k->points.u[0], s.moved, 3 * n * word, c->error);
    lob_budget_free_at(&c->budget, device, s.t.parent, bytes);
    return st;
}

/* ---- warps ---- */

static __global__ void warp_kernel(lob_warp_map m)
{
    for (int64_t i = grid_first(); i < m.voxels; i += grid_step()) lob_warp_voxel(&m, i);
}

} /* namespace lob::registration */

using namespace lob::registration;

extern "C" const lob_register_loops lob_register_on_cuda = {
    pass, words, costs, keys, solve,
};

lob_status lob_warp_on_cuda(lob_warp_map *map, const lob_volume *out, const lob_volume *moving,
                            const lob_field *field, const lob_context *context, lob_error *error)
{
    lob_device *const device = context->device;
    const lob_place field_place = {field->device ? LOB_PLACE_CUDA : LOB_PLACE_MEMORY,
                                   field->device ? lob_device_number(field->device) : 0};
    const lob_device_array travels[] = {
        lob_device_volume(&map->from, moving),
        lob_device_input(&map->field.mm, field->mm,
                         lob_product(lob_dims_voxels(field->dims), 3, sizeof(float), 1),
                         field_place),
        lob_device_output(&map->to, out->data, lob_device_bytes_of(out), out->place),
    };
    lob_device_begin(device);
    lob_status st = lob_device_send(device, travels, 3, map->voxels, error);
    if (st == LOB_OK)
        st = lob_launch_over(device, warp_kernel, "warping", map->voxels, 256, *map, error);
    if (st == LOB_OK) st = lob_device_receive(device, travels, 3, error);
    if (st == LOB_OK && context->progress && context->progress(context->user, 1.0))
        st = LOB_ECANCEL;
    lob_device_end(device);
    return st;
}
