/*
 * Small windows along all three axes in one pass over the volume. A warp goes through the planes of
 * a tile STRIP voxels wide and ROWS high, a thread with FOUR columns of each row:
 *
 *   along x  a thread has its voxels in registers, their neighbours from the threads beside it
 *   along y  the means of the rows before are in its registers
 *   along z  the means of the planes before are in shared memory, where only it reads them
 *
 * So warps wait for nothing but memory.
 */
#ifndef LOB_BOX_DIRECT_CUDA_CUH
#define LOB_BOX_DIRECT_CUDA_CUH

#include "kernels/filters/box/box_params_cuda.cuh"

namespace lob::filters
{

enum { FOUR = 4, STRIP = WARP * FOUR, ROWS = 8, DIRECT_WARPS = 4 };

struct box_direct {
    float *out;
    const float *in;
    lob_box_pass pass[3];
    lob_filter_map after;
    double factor[2 * LOB_BOX_DIRECT + 2]; /* of the sum over a window of so many places */
    int32_t strips, bands, chunks, chunk;  /* tiles along x, y and z; planes of a tile */
    bool fours;                            /* rows consist of fours, at multiples of 16 bytes */
};

/* A warp's tile, and where a thread reads; at -1 stands what is outside. */
struct direct_tile {
    int32_t y0, z0, z1, x; /* x: of the thread's first voxel */
    int32_t last;          /* the thread with a row's last voxels */
    int32_t at[FOUR];      /* of a row; without FOURS */
    int32_t beside; /* of a row: what is left and right of the tile's, for the outer threads */
    double factor_x[FOUR]; /* of the thread's voxels */
    double factor_y;       /* of the tile's row with the thread's number */
    int32_t row;           /* of a plane: this thread's of the tile's rows and those around */
};

/* The factor of a window's sum: at edges that are renormalised it has fewer places. */
static __device__ inline double direct_factor(const box_direct &p, int axis, int64_t i)
{
    const lob_box_pass &pass = p.pass[axis];
    if (!pass.clips || (i >= pass.radius && i < pass.n - pass.radius)) return pass.factor;
    const int64_t before = i < pass.radius ? i : pass.radius, left = pass.n - 1 - i;
    const int64_t places = before + (left < pass.radius ? left : pass.radius) + 1;
    return p.factor[places > 0 ? places : 0]; /* beyond the volume nothing is written */
}

template <int R>
static __device__ inline direct_tile direct_tile_of(const box_direct &p, int64_t number, int lane)
{
    const lob_box_pass &x = p.pass[0], &y = p.pass[1], &z = p.pass[2];
    const int32_t x0 = (int32_t)(number % p.strips) * STRIP;
    direct_tile t;
    t.x = x0 + lane * FOUR;
    t.y0 = (int32_t)(number / p.strips % p.bands) * ROWS;
    t.z0 = (int32_t)(number / p.strips / p.bands * p.chunk);
    t.z1 = (int32_t)(t.z0 + p.chunk < z.n ? t.z0 + p.chunk : z.n);
    t.last = x0 + STRIP <= x.n || !p.fours ? WARP - 1 : (int32_t)(x.n - x0) / FOUR - 1;
    const int32_t right = x0 + (t.last + 1) * FOUR + lane - WARP + R;
    const int32_t beside = lane < R ? x0 - R + lane : right;
    t.beside = lane < R || lane >= WARP - R ? (int32_t)lob_edge_position(beside, x.n, x.edge) : -1;
    t.row = (int32_t)lob_edge_position(t.y0 - R + lane, y.n, y.edge);
#pragma unroll
    for (int k = 0; k < FOUR; k++) {
        t.at[k] = (int32_t)lob_edge_position(t.x + k, x.n, x.edge);
        t.factor_x[k] = direct_factor(p, 0, t.x + k);
    }
    t.factor_y = direct_factor(p, 1, t.y0 + lane);
    return t;
}

/* What a thread reads of a row; `beside` is what the strips beside hold of it. */
struct direct_row {
    float value[FOUR], beside;
};

template <bool FOURS>
static __device__ inline direct_row read_direct(const box_direct &p, const direct_tile &t,
                                                const float *row)
{
    direct_row r = {};
    if (!FOURS) {
#pragma unroll
        for (int k = 0; k < FOUR; k++) r.value[k] = t.at[k] < 0 ? p.pass[0].outside : row[t.at[k]];
    } else if (t.x < p.pass[0].n) {
        const float4 four = *(const float4 *)(row + t.x);
        r.value[0] = four.x;
        r.value[1] = four.y;
        r.value[2] = four.z;
        r.value[3] = four.w;
    }
    r.beside = t.beside < 0 ? p.pass[0].outside : row[t.beside];
    return r;
}

/* Means along x of a thread's voxels; end: the thread with the row's last ones. */
template <int R>
static __device__ inline void mean_along_x(float mean[FOUR], const direct_row &row,
                                           const double factor[FOUR], int lane, int end)
{
    float place[FOUR + 2 * R];
#pragma unroll
    for (int j = 0; j < R; j++) {
        const float left = __shfl_up_sync(ALL_LANES, row.value[FOUR - R + j], 1);
        const float right = __shfl_down_sync(ALL_LANES, row.value[j], 1);
        const float first = __shfl_sync(ALL_LANES, row.beside, j);
        const float last = __shfl_sync(ALL_LANES, row.beside, WARP - R + j);
        place[j] = lane == 0 ? first : left;
        place[R + FOUR + j] = lane == end ? last : right;
    }
#pragma unroll
    for (int k = 0; k < FOUR; k++) place[R + k] = row.value[k];
#pragma unroll
    for (int k = 0; k < FOUR; k++) {
        double sum = 0;
#pragma unroll
        for (int i = 0; i <= 2 * R; i++) sum = sum + (double)place[k + i];
        mean[k] = (float)(sum * factor[k]);
    }
}

/* Means along y of a thread's part of a row, from the means along x of the 2 R + 1 rows around. */
template <int R>
static __device__ inline void mean_along_y(float mean[FOUR], const float (*rows)[FOUR],
                                           double factor)
{
#pragma unroll
    for (int k = 0; k < FOUR; k++) {
        double sum = 0;
#pragma unroll
        for (int i = 0; i <= 2 * R; i++) sum = sum + (double)rows[i][k];
        mean[k] = (float)(sum * factor);
    }
}

/* Means along x and y of the thread's part of a plane. */
template <int R, bool FOURS>
static __device__ inline void mean_of_plane(float mean[ROWS][FOUR], const box_direct &p,
                                            const direct_tile &t, const float *plane, int lane)
{
    float rows[ROWS + 2 * R][FOUR];
    direct_row row[ROWS + 2 * R];
#pragma unroll
    for (int j = 0; j < ROWS + 2 * R; j++) {
        const int32_t from = __shfl_sync(ALL_LANES, t.row, j);
        row[j] = read_direct<FOURS>(p, t, plane + (from < 0 ? 0 : from) * p.pass[0].n);
    }
#pragma unroll
    for (int j = 0; j < ROWS + 2 * R; j++) {
        mean_along_x<R>(rows[j], row[j], t.factor_x, lane, t.last);
        const bool outside = __shfl_sync(ALL_LANES, t.row, j) < 0;
#pragma unroll
        for (int k = 0; k < FOUR; k++)
            if (outside) rows[j][k] = p.pass[1].outside;
        if (j >= 2 * R)
            mean_along_y<R>(mean[j - 2 * R], rows + j - 2 * R,
                            __shfl_sync(ALL_LANES, t.factor_y, j - 2 * R));
    }
}

template <bool FOURS>
static __device__ inline void write_direct(const box_direct &p, const direct_tile &t, int64_t y,
                                           int64_t z, float mean[FOUR])
{
    if (y >= p.pass[1].n) return;
    float *const to = p.out + (z * p.pass[1].n + y) * p.pass[0].n + t.x;
    if (!p.after.identity)
#pragma unroll
        for (int k = 0; k < FOUR; k++) mean[k] = lob_filter_mapped(mean[k], &p.after);
    if (FOURS) {
        if (t.x < p.pass[0].n) *(float4 *)to = make_float4(mean[0], mean[1], mean[2], mean[3]);
    } else {
#pragma unroll
        for (int k = 0; k < FOUR; k++)
            if (t.x + k < p.pass[0].n) to[k] = mean[k];
    }
}

/* Means along z of a thread's part of a row; before: its means of the 2 R planes before, which lie
 * `step` apart, the oldest at turn % (2 R). They make room for the newest. */
template <int R>
static __device__ inline void mean_along_z(float mean[FOUR], float4 *before, int step, int turn,
                                           double factor)
{
    float places[2 * R + 1][FOUR];
#pragma unroll
    for (int i = 0; i < 2 * R; i++) {
        const float4 four = before[(turn + i) % (2 * R) * step];
        places[i][0] = four.x;
        places[i][1] = four.y;
        places[i][2] = four.z;
        places[i][3] = four.w;
    }
    before[turn % (2 * R) * step] = make_float4(mean[0], mean[1], mean[2], mean[3]);
#pragma unroll
    for (int k = 0; k < FOUR; k++) {
        double sum = 0;
        places[2 * R][k] = mean[k];
#pragma unroll
        for (int i = 0; i <= 2 * R; i++) sum = sum + (double)places[i][k];
        mean[k] = (float)(sum * factor);
    }
}

template <int R, bool FOURS>
static __global__ void __launch_bounds__(DIRECT_WARPS *WARP, R == 1 ? 4 : 3)
    direct_windows_kernel(const __grid_constant__ box_direct p)
{
    extern __shared__ float4 planes[];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int64_t number = (int64_t)blockIdx.x * DIRECT_WARPS + warp;
    const lob_box_pass &z = p.pass[2];
    constexpr int STEP = ROWS * WARP;
    float4 *const before = planes + warp * 2 * R * STEP + lane; /* its first planes write nothing */
    if (number >= (int64_t)p.strips * p.bands * p.chunks) return;
    const direct_tile t = direct_tile_of<R>(p, number, lane);
    const int around = z.radius ? R : 0;
    for (int32_t at = t.z0 - around; at < t.z1 + around; at++) {
        const int64_t from = lob_edge_position(at, z.n, z.edge);
        const int32_t to = at - around;
        const int turn = at - t.z0 + around;
        float mean[ROWS][FOUR];
        mean_of_plane<R, FOURS>(mean, p, t,
                                p.in + (from < 0 ? 0 : from) * p.pass[0].n * p.pass[1].n, lane);
        const double factor_z = direct_factor(p, 2, to);
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
#pragma unroll
            for (int k = 0; k < FOUR; k++)
                if (from < 0) mean[j][k] = z.outside;
            if (around) mean_along_z<R>(mean[j], before + j * WARP, STEP, turn, factor_z);
            if (to >= t.z0) write_direct<FOURS>(p, t, t.y0 + j, to, mean[j]);
        }
    }
}

/* Whether windows are small, and of one radius, but perhaps not along z. */
static bool direct_fits(const lob_box_pass pass[3])
{
    const int64_t radius = pass[0].radius;
    for (int a = 0; a < 3; a++)
        if (pass[a].n > INT32_MAX - STRIP) return false;
    return radius > 0 && radius <= LOB_BOX_DIRECT && pass[1].radius == radius &&
           (pass[2].radius == radius || pass[2].radius == 0);
}

template <int R, bool FOURS>
static lob_status launch_direct(lob_device *device, const box_direct &p, lob_error *error)
{
    const size_t shared = sizeof(float4) * DIRECT_WARPS * 2 * R * ROWS * WARP;
    const int64_t warps = lob_product(p.strips, p.bands, p.chunks, 1);
    const int64_t grid = (warps + DIRECT_WARPS - 1) / DIRECT_WARPS;
    if (grid > INT32_MAX) return lob_device_too_large(error);
    LOB_TRY(lob_allow_shared(direct_windows_kernel<R, FOURS>, shared, error));
    return lob_launch(device, direct_windows_kernel<R, FOURS>, "box, small windows", grid,
                      DIRECT_WARPS * WARP, shared, p, error);
}

/* All passes at once. */
static lob_status run_direct(lob_device *device, float *out, const float *in,
                             const lob_box_pass pass[3], lob_error *error)
{
    box_direct p = {};
    p.out = out;
    p.in = in;
    for (int a = 0; a < 3; a++) {
        p.pass[a] = pass[a];
        if (pass[a].radius > 0) p.after = pass[a].after;
    }
    for (int n = 1; n <= 2 * LOB_BOX_DIRECT + 1; n++) p.factor[n] = 1.0 / n;
    p.strips = (int32_t)((pass[0].n + STRIP - 1) / STRIP);
    p.bands = (int32_t)((pass[1].n + ROWS - 1) / ROWS);
    const int64_t columns = (int64_t)p.strips * p.bands, n = pass[2].n;
    const int64_t wanted = (int64_t)lob_device_multiprocessors(device) * 4 * DIRECT_WARPS;
    const int64_t cuts = (wanted + columns - 1) / columns, chunk = (n + cuts - 1) / cuts;
    p.chunk = chunk < 16 ? 16 : (int32_t)chunk;
    p.chunks = (int32_t)((n + p.chunk - 1) / p.chunk);
    p.fours = pass[0].n % FOUR == 0 && (uintptr_t)in % 16 == 0 && (uintptr_t)out % 16 == 0;
    const bool one = pass[0].radius == 1;
    return one && p.fours ? launch_direct<1, true>(device, p, error)
           : one          ? launch_direct<1, false>(device, p, error)
           : p.fours      ? launch_direct<2, true>(device, p, error)
                          : launch_direct<2, false>(device, p, error);
}

} /* namespace lob::filters */

#endif
