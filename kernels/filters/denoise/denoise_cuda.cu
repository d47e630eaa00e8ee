/*
 * Denoising on the GPU. A block holds a tile with its halo in shared memory, and there the sums of
 * weights and of weighted values too. A thread has STRIP voxels along x in COLUMN planes. For each
 * row of offsets (dy, dz) it goes up its planes and adds up squared differences for all five dx at
 * once, so that a row that is read serves them all; the sums of the last three planes, in
 * registers, make a patch.
 */
#include "kernels/device/grid.cuh"
#include "kernels/filters/denoise/denoise_voxel.h"
#include "kernels/filters/filter_step_cuda.cuh"
#include "kernels/histogram/histogram_cuda.cuh"

namespace lob::filters
{

enum {
    STRIP = 4,
    COLUMN = 4,
    STRIPS = 8, /* threads along x, y, z */
    ROWS = 8,
    COLUMNS = 4,
    THREADS = STRIPS * ROWS * COLUMNS,
    HALO = LOB_DENOISE_HALO,
    SEARCH = LOB_DENOISE_SEARCH,
    OFFSETS = 2 * SEARCH + 1,
    TX = STRIPS * STRIP,
    TY = ROWS,
    TZ = COLUMNS * COLUMN,
    WX = TX + 2 * HALO + 2, /* whole strips */
    WY = TY + 2 * HALO,
    WZ = TZ + 2 * HALO
};

static_assert(STRIP == 4 && HALO == 3 && SEARCH == 2,
              "a row of a strip is three words of 16 bytes");

typedef struct {
    float value[WZ][WY][WX]; /* NaN: no data */
    float sum[TZ][TY][TX], weight[TZ][TY][TX];
} tile;

typedef struct {
    lob_filter_image in;
    float *out;
    const uint8_t *mask;
    lob_filter_map after;
    lob_denoise_rule rule;
    float whole; /* scale of a patch that is all data */
    int64_t tiles_x, tiles_y, tiles_z;
    int64_t items;
} denoise_params;

/* ---- tiles ---- */

/* Returns whether all of the tile is data; a barrier. */
static __device__ bool read_tile(tile *t, const denoise_params &p, const int64_t first[3],
                                 int channel)
{
    const int64_t nx = p.in.dims.nx, ny = p.in.dims.ny, nz = p.in.dims.nz;
    bool missing = false;
    for (int i = (int)threadIdx.x; i < WX * WY * WZ; i += THREADS) {
        const int x = i % WX, y = i / WX % WY, z = i / (WX * WY);
        const int64_t at_x = lob_edge_position(first[0] + x - HALO, nx, p.rule.edge);
        const int64_t at_y = lob_edge_position(first[1] + y - HALO, ny, p.rule.edge);
        const int64_t at_z = lob_edge_position(first[2] + z - HALO, nz, p.rule.edge);
        const int64_t v = (at_z * ny + at_y) * nx + at_x;
        float value = lob_filter_float(p.in.data, p.in.type, channel * nx * ny * nz + v);
        if (value - value != 0.0f || (p.mask && !p.mask[v])) {
            value = NAN;
            missing = true;
        }
        (&t->value[0][0][0])[i] = value;
    }
    return !__syncthreads_or(missing);
}

static __device__ inline float4 load4(const float *from)
{
    return *(const float4 *)from;
}

/* A strip with what lies HALO voxels before it and after it, and 2 more. */
static __device__ inline void load_row(float to[12], const float *from)
{
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float4 v = load4(from + 4 * k);
        to[4 * k] = v.x, to[4 * k + 1] = v.y, to[4 * k + 2] = v.z, to[4 * k + 3] = v.w;
    }
}

/* ---- one row of offsets ---- */

/* Sums over a patch's rows in one plane, for every dx and voxel of the strip, and their numbers. */
typedef struct {
    float of[OFFSETS][STRIP];
} plane_sums;

typedef struct {
    int of[OFFSETS][STRIP];
} plane_numbers;

template <bool COMPLETE, bool CUBE>
static __device__ inline void add_plane(plane_sums *sums, plane_numbers *numbers,
                                        const float *own_rows, const float *other_rows,
                                        const int patch[3])
{
#pragma unroll
    for (int r = 0; r < 3; r++) {
        if (!CUBE && r != 1 && !patch[1]) continue;
        const bool first = CUBE ? r == 0 : r == (patch[1] ? 0 : 1);
        float own[12], other[12];
        load_row(own, own_rows + r * WX);
        load_row(other, other_rows + r * WX);
#pragma unroll
        for (int d = 0; d < OFFSETS; d++) {
            float e[STRIP + 2];
            int n[STRIP + 2];
#pragma unroll
            for (int j = 0; j < STRIP + 2; j++) {
                const float apart = own[j + SEARCH] - other[j + d];
                const bool both = COMPLETE || apart == apart;
                e[j] = both ? apart * apart : 0.0f;
                n[j] = both;
                if (!CUBE && !patch[0] && (j == 0 || j == STRIP + 1)) e[j] = 0.0f, n[j] = 0;
            }
#pragma unroll
            for (int j = 0; j < STRIP; j++) {
                const float sum = CUBE || patch[0] ? (e[j] + e[j + 1]) + e[j + 2] : e[j + 1];
                sums->of[d][j] = first ? sum : sums->of[d][j] + sum;
                if (COMPLETE) continue;
                const int number = CUBE || patch[0] ? n[j] + n[j + 1] + n[j + 2] : n[j + 1];
                numbers->of[d][j] = first ? number : numbers->of[d][j] + number;
            }
        }
    }
}

/* Add the weighted voxels of one plane for every dx. */
template <bool COMPLETE>
static __device__ inline void add_weighted(float *sum_at, float *weight_at, const float *own_row,
                                           const float *other_row, const plane_sums &total,
                                           const plane_numbers &number, const denoise_params &p,
                                           bool middle)
{
    float own[12], other[12];
    float4 s = load4(sum_at), w = load4(weight_at);
    float sum[STRIP] = {s.x, s.y, s.z, s.w}, weight[STRIP] = {w.x, w.y, w.z, w.w};
    load_row(other, other_row);
    if (!COMPLETE) load_row(own, own_row);
#pragma unroll
    for (int d = 0; d < OFFSETS; d++) {
        const int dx = d - SEARCH;
        if ((middle && dx == 0) || dx > p.rule.search[0] || -dx > p.rule.search[0]) continue;
#pragma unroll
        for (int j = 0; j < STRIP; j++) {
            const float value = other[j + HALO + dx];
            if (!COMPLETE && !(value == value)) continue;
            const float scale = COMPLETE ? p.whole : p.rule.scale[number.of[d][j]];
            float its = lob_denoise_weight(total.of[d][j], scale);
            if (!COMPLETE && !(own[j + HALO] == own[j + HALO])) its = 1.0f;
            sum[j] += its * value;
            weight[j] += its;
        }
    }
    *(float4 *)sum_at = {sum[0], sum[1], sum[2], sum[3]};
    *(float4 *)weight_at = {weight[0], weight[1], weight[2], weight[3]};
}

template <bool COMPLETE, bool CUBE>
static __device__ inline void add_offsets(tile *t, const denoise_params &p, int x, int y, int z,
                                          int dy, int dz)
{
    plane_sums before = {}, own = {};
    plane_numbers before_n = {}, own_n = {};
#pragma unroll
    for (int k = 0; k < COLUMN + 2; k++) {
        plane_sums after = {};
        plane_numbers after_n = {};
        /* Plane z + k - 1, and the rows around y. */
        add_plane<COMPLETE, CUBE>(&after, &after_n, &t->value[z + k - 1 + HALO][y - 1 + HALO][x],
                                  &t->value[z + k - 1 + dz + HALO][y - 1 + dy + HALO][x],
                                  p.rule.patch);
        if (k >= 2) {
            const int at = z + k - 2;
            plane_sums total;
            plane_numbers number = {};
#pragma unroll
            for (int d = 0; d < OFFSETS; d++)
#pragma unroll
                for (int j = 0; j < STRIP; j++) {
                    const bool three = CUBE || p.rule.patch[2];
                    total.of[d][j] =
                        three ? (before.of[d][j] + own.of[d][j]) + after.of[d][j] : own.of[d][j];
                    if (COMPLETE) continue;
                    number.of[d][j] = three ? before_n.of[d][j] + own_n.of[d][j] + after_n.of[d][j]
                                            : own_n.of[d][j];
                }
            add_weighted<COMPLETE>(
                &t->sum[at][y][x], &t->weight[at][y][x], &t->value[at + HALO][y + HALO][x],
                &t->value[at + dz + HALO][y + dy + HALO][x], total, number, p, dy == 0 && dz == 0);
        }
        before = own;
        own = after;
        if (COMPLETE) continue;
        before_n = own_n;
        own_n = after_n;
    }
}

/* ---- the kernel ---- */

static __device__ void begin_strips(tile *t, int x, int y, int z)
{
    for (int k = 0; k < COLUMN; k++)
        for (int j = 0; j < STRIP; j++) {
            const float own = t->value[z + k + HALO][y + HALO][x + j + HALO];
            t->sum[z + k][y][x + j] = own == own ? own : 0.0f;
            t->weight[z + k][y][x + j] = own == own ? 1.0f : 0.0f;
        }
}

static __device__ void write_tile(const tile *t, const denoise_params &p, const int64_t first[3],
                                  int channel)
{
    const int64_t nx = p.in.dims.nx, ny = p.in.dims.ny, nz = p.in.dims.nz;
    for (int i = (int)threadIdx.x; i < TX * TY * TZ; i += THREADS) {
        const int x = i % TX, y = i / TX % TY, z = i / (TX * TY);
        const int64_t at_x = first[0] + x, at_y = first[1] + y, at_z = first[2] + z;
        if (at_x >= nx || at_y >= ny || at_z >= nz) continue;
        const int64_t v = (at_z * ny + at_y) * nx + at_x, all = channel * nx * ny * nz + v;
        const float weight = t->weight[z][y][x];
        const bool inside = !p.mask || p.mask[v];
        const float value = inside && weight > 0.0f ? t->sum[z][y][x] / weight
                                                    : lob_filter_float(p.in.data, p.in.type, all);
        p.out[all] = lob_filter_mapped(value, &p.after);
    }
}

/* All rows of offsets. */
template <bool COMPLETE, bool CUBE>
static __device__ inline void add_window(tile *t, const denoise_params &p, int x, int y, int z)
{
#pragma unroll 1
    for (int dz = -p.rule.search[2]; dz <= p.rule.search[2]; dz++)
#pragma unroll 1
        for (int dy = -p.rule.search[1]; dy <= p.rule.search[1]; dy++)
            add_offsets<COMPLETE, CUBE>(t, p, x, y, z, dy, dz);
}

/* One block to a multiprocessor: with two, registers are spilt, and it takes a third longer. CUBE:
 * the patch is 3 voxels a side along every axis. */
template <bool CUBE>
static __global__ void __launch_bounds__(THREADS, 1) denoise_kernel(denoise_params p)
{
    extern __shared__ float4 shared[];
    tile *const t = (tile *)shared;
    const int x = (int)threadIdx.x % STRIPS * STRIP, y = (int)threadIdx.x / STRIPS % ROWS;
    const int z = (int)threadIdx.x / (STRIPS * ROWS) * COLUMN;
    for (int64_t item = blockIdx.x; item < p.items; item += gridDim.x) {
        const int64_t first[3] = {item % p.tiles_x * TX, item / p.tiles_x % p.tiles_y * TY,
                                  item / (p.tiles_x * p.tiles_y) % p.tiles_z * TZ};
        const int channel = (int)(item / (p.tiles_x * p.tiles_y * p.tiles_z));
        const bool complete = read_tile(t, p, first, channel);
        begin_strips(t, x, y, z);
        if (first[2] + z < p.in.dims.nz && complete)
            add_window<true, CUBE>(t, p, x, y, z);
        else if (first[2] + z < p.in.dims.nz)
            add_window<false, CUBE>(t, p, x, y, z);
        __syncthreads();
        write_tile(t, p, first, channel);
        __syncthreads();
    }
}

/* ---- noise ---- */

enum { RESIDUAL_THREADS = 256 };

typedef struct {
    lob_filter_image in;
    const uint8_t *mask;
    int along[3], channel;
    float *residuals;
    int64_t voxels;
} residual_params;

static __global__ void __launch_bounds__(RESIDUAL_THREADS) residual_kernel(residual_params p)
{
    for (int64_t i = grid_first(); i < p.voxels; i += grid_step()) {
        const int64_t row = i / p.in.dims.nx;
        const int64_t at[3] = {i - row * p.in.dims.nx, row % p.in.dims.ny, row / p.in.dims.ny};
        p.residuals[i] = lob_denoise_residual(&p.in, p.mask, p.along, at, p.channel);
    }
}

static int64_t residual_bytes(lob_dims dims)
{
    return (lob_dims_voxels(dims) * (int64_t)sizeof(float) + 255) / 256 * 256;
}

int64_t denoise_noise_bytes(const lob_filter_image *in, const lob_filter_call *call)
{
    (void)call;
    return residual_bytes(in->dims) + histogram::work_bytes();
}

lob_status denoise_noise(lob_device *device, double *noise, const lob_filter_image *in,
                         const lob_filter_call *call, void *work, lob_error *error)
{
    const double half = 50;
    residual_params p = {};
    double squares = 0;
    *noise = 0;
    const int axes = lob_denoise_residual_axes(p.along, call, in->dims);
    if (axes == 0) return LOB_OK;
    p.in = *in;
    p.mask = call->mask;
    p.residuals = (float *)work;
    p.voxels = lob_dims_voxels(in->dims);
    void *const rest = (unsigned char *)work + residual_bytes(in->dims);
    const histogram::device_values from = {work, LOB_F32, p.voxels, 1, NULL, 1, 0};
    LOB_TRY(lob_device_enter(device, error));
    for (int c = 0; c < in->channels; c++) {
        double median = 0;
        p.channel = c;
        LOB_TRY(lob_launch_over(device, residual_kernel, "estimating noise", p.voxels,
                                RESIDUAL_THREADS, p, error));
        const lob_status st =
            histogram::percentiles(&median, &half, 1, NULL, &from, device, rest, error);
        if (st == LOB_EDATA) median = 0;
        if (st != LOB_OK && st != LOB_EDATA) return st;
        const double of_channel = lob_denoise_noise_of(median, axes);
        squares += of_channel * of_channel;
    }
    *noise = sqrt(squares / in->channels);
    return LOB_OK;
}

/* ---- the step ---- */

lob_status denoise(lob_device *device, const lob_filter_image *out, const lob_filter_image *in,
                   const lob_filter_call *call, void *, lob_error *error)
{
    const lob_dims dims = in->dims;
    denoise_params p = {};
    p.in = *in;
    p.out = (float *)out->data;
    p.mask = call->mask;
    p.after = call->after;
    p.rule = lob_denoise_rule_of(call, dims);
    const int *patch = p.rule.patch;
    p.whole = p.rule.scale[(1 + 2 * patch[0]) * (1 + 2 * patch[1]) * (1 + 2 * patch[2])];
    p.tiles_x = (dims.nx + TX - 1) / TX;
    p.tiles_y = (dims.ny + TY - 1) / TY;
    p.tiles_z = (dims.nz + TZ - 1) / TZ;
    p.items = p.tiles_x * p.tiles_y * p.tiles_z * in->channels;
    const auto kernel =
        patch[0] && patch[1] && patch[2] ? denoise_kernel<true> : denoise_kernel<false>;
    LOB_TRY(lob_device_enter(device, error));
    LOB_TRY(lob_allow_shared(kernel, sizeof(tile), error));
    return lob_launch(device, kernel, "denoising", p.items, THREADS, sizeof(tile), p, error);
}

} /* namespace lob::filters */
