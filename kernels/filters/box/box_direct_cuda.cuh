/*
 * Small windows along all three axes in one pass over the volume. A warp goes through the planes of
 * a tile STRIP voxels wide and ROWS high, a thread with FOUR columns of each row:
 *
 *   along x  a thread has its voxels in registers, their neighbours from the threads beside it
 *   along y  the means of the rows before are in its registers
 *   along z  the means of the planes before are in shared memory, where only it reads them
 *
 * So warps wait for nothing but memory. With GAPS, sums of the data take the place of means, and
 * beside them goes how many data there are: four columns' numbers in the bytes of one word.
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
    const uint8_t *mask; /* with GAPS; may be NULL */
    lob_box_pass pass[3];
    lob_filter_map after;
    double factor[2 * LOB_BOX_DIRECT + 2]; /* of the sum over a window of so many places */
    int32_t strips, bands, chunks, chunk;  /* tiles along x, y and z; planes of a tile */
    bool fours;                            /* rows consist of fours, at multiples of 16 bytes */
    /* With GAPS: what a datum adds to the sum of weights; data outside of each axis, four times. */
    float weight;
    uint32_t outside[3];
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
    const int64_t places = lob_box_places(&pass, i);
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
    uint32_t data, beside_data; /* with GAPS: 1 in a byte for each value that is */
};

/* Set what is no data to 0. Returns 1 for data. */
static __device__ inline uint32_t only_data(float *value, bool in_mask)
{
    const bool data = in_mask && LOB_IS_FINITE(*value);
    if (!data) *value = 0.0f;
    return data;
}

/* at: the row's first voxel. */
template <bool FOURS, bool GAPS>
static __device__ inline direct_row read_direct(const box_direct &p, const direct_tile &t,
                                                int64_t at)
{
    const float *const row = p.in + at;
    const uint8_t *const mask = p.mask ? p.mask + at : NULL;
    const uint32_t outside = p.outside[0] & 1;
    uchar4 in_mask = make_uchar4(1, 1, 1, 1);
    direct_row r = {};
    if (!FOURS) {
#pragma unroll
        for (int k = 0; k < FOUR; k++) {
            r.value[k] = t.at[k] < 0 ? p.pass[0].outside : row[t.at[k]];
            if (GAPS)
                r.data |= (t.at[k] < 0 ? outside : only_data(&r.value[k], !mask || mask[t.at[k]]))
                          << 8 * k;
        }
    } else if (t.x < p.pass[0].n) {
        const float4 four = *(const float4 *)(row + t.x);
        r.value[0] = four.x;
        r.value[1] = four.y;
        r.value[2] = four.z;
        r.value[3] = four.w;
        if (GAPS) {
            if (mask) in_mask = *(const uchar4 *)(mask + t.x);
            r.data = only_data(&r.value[0], in_mask.x) | only_data(&r.value[1], in_mask.y) << 8 |
                     only_data(&r.value[2], in_mask.z) << 16 |
                     only_data(&r.value[3], in_mask.w) << 24;
        }
    }
    r.beside = t.beside < 0 ? p.pass[0].outside : row[t.beside];
    if (GAPS)
        r.beside_data = t.beside < 0 ? outside : only_data(&r.beside, !mask || mask[t.beside]);
    return r;
}

/* How many data are in the windows along x of a thread's voxels, a byte for each. */
template <int R>
static __device__ inline uint32_t count_along_x(const direct_row &row, int lane, int end)
{
    uint32_t left = __shfl_up_sync(ALL_LANES, row.data, 1);
    uint32_t right = __shfl_down_sync(ALL_LANES, row.data, 1);
    uint32_t first = 0, last = 0, sum = row.data;
#pragma unroll
    for (int j = 0; j < R; j++) {
        first |= __shfl_sync(ALL_LANES, row.beside_data, j) << 8 * (FOUR - R + j);
        last |= __shfl_sync(ALL_LANES, row.beside_data, WARP - R + j) << 8 * j;
    }
    if (lane == 0) left = first;
    if (lane == end) right = last;
#pragma unroll
    for (int j = 1; j <= R; j++)
        sum += __funnelshift_l(left, row.data, 8 * j) + __funnelshift_r(row.data, right, 8 * j);
    return sum;
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

/* Means along x and y of the thread's part of a plane, whose first voxel is `plane`; with GAPS,
 * data too. */
template <int R, bool FOURS, bool GAPS>
static __device__ inline void mean_of_plane(float mean[ROWS][FOUR], uint32_t data[ROWS],
                                            const box_direct &p, const direct_tile &t,
                                            int64_t plane, int lane)
{
    float rows[ROWS + 2 * R][FOUR];
    uint32_t counts[ROWS + 2 * R];
    direct_row row[ROWS + 2 * R];
#pragma unroll
    for (int j = 0; j < ROWS + 2 * R; j++) {
        const int32_t from = __shfl_sync(ALL_LANES, t.row, j);
        row[j] = read_direct<FOURS, GAPS>(p, t, plane + (from < 0 ? 0 : from) * p.pass[0].n);
    }
#pragma unroll
    for (int j = 0; j < ROWS + 2 * R; j++) {
        mean_along_x<R>(rows[j], row[j], t.factor_x, lane, t.last);
        const bool outside = __shfl_sync(ALL_LANES, t.row, j) < 0;
#pragma unroll
        for (int k = 0; k < FOUR; k++)
            if (outside) rows[j][k] = p.pass[1].outside;
        if (GAPS) {
            const uint32_t count = count_along_x<R>(row[j], lane, t.last);
            counts[j] = outside ? p.outside[1] : count;
            if (j >= 2 * R) {
                data[j - 2 * R] = 0;
#pragma unroll
                for (int i = j - 2 * R; i <= j; i++) data[j - 2 * R] += counts[i];
            }
        }
        if (j >= 2 * R)
            mean_along_y<R>(mean[j - 2 * R], rows + j - 2 * R,
                            __shfl_sync(ALL_LANES, t.factor_y, j - 2 * R));
    }
}

/* The means of a thread's voxels from voxel `at` on, from their sums and numbers of data; what they
 * were where there are no data, or outside of the mask. */
template <bool FOURS>
static __device__ inline void divide_direct(float mean[FOUR], uint32_t data, const box_direct &p,
                                            int64_t at, int64_t left)
{
    uchar4 in_mask = make_uchar4(1, 1, 1, 1);
    if (p.mask && FOURS) in_mask = *(const uchar4 *)(p.mask + at);
    const bool in[FOUR] = {in_mask.x != 0, in_mask.y != 0, in_mask.z != 0, in_mask.w != 0};
#pragma unroll
    for (int k = 0; k < FOUR; k++) {
        const uint32_t n = data >> 8 * k & 0xff;
        if (k >= left) break;
        if (n == 0 || !(FOURS || !p.mask ? in[k] : p.mask[at + k] != 0))
            mean[k] = p.in[at + k];
        else
            mean[k] = mean[k] / ((float)n * p.weight);
    }
}

template <bool FOURS, bool GAPS>
static __device__ inline void write_direct(const box_direct &p, const direct_tile &t, int64_t y,
                                           int64_t z, float mean[FOUR], uint32_t data)
{
    const int64_t at = (z * p.pass[1].n + y) * p.pass[0].n + t.x;
    float *const to = p.out + at;
    if (y >= p.pass[1].n || t.x >= p.pass[0].n) return;
    if (GAPS) divide_direct<FOURS>(mean, data, p, at, p.pass[0].n - t.x);
    if (!p.after.identity)
#pragma unroll
        for (int k = 0; k < FOUR; k++) mean[k] = lob_filter_mapped(mean[k], &p.after);
    if (FOURS) {
        *(float4 *)to = make_float4(mean[0], mean[1], mean[2], mean[3]);
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

/* The same of numbers of data. */
template <int R>
static __device__ inline uint32_t count_along_z(uint32_t data, uint32_t *before, int step, int turn)
{
    uint32_t sum = data;
#pragma unroll
    for (int i = 0; i < 2 * R; i++) sum += before[i * step];
    before[turn % (2 * R) * step] = data;
    return sum;
}

template <int R, bool FOURS, bool GAPS>
static __global__ void __launch_bounds__(DIRECT_WARPS *WARP, R == 1 && !GAPS ? 4 : 3)
    direct_windows_kernel(const __grid_constant__ box_direct p)
{
    extern __shared__ float4 planes[];
    const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int64_t number = (int64_t)blockIdx.x * DIRECT_WARPS + warp;
    const lob_box_pass &z = p.pass[2];
    constexpr int STEP = ROWS * WARP;
    /* What the first planes read of these is written nowhere. */
    float4 *const before = planes + warp * 2 * R * STEP + lane;
    uint32_t *const counts =
        (uint32_t *)(planes + DIRECT_WARPS * 2 * R * STEP) + warp * 2 * R * STEP + lane;
    if (number >= (int64_t)p.strips * p.bands * p.chunks) return;
    const direct_tile t = direct_tile_of<R>(p, number, lane);
    const int around = z.radius ? R : 0;
    for (int32_t at = t.z0 - around; at < t.z1 + around; at++) {
        const int64_t from = lob_edge_position(at, z.n, z.edge);
        const int32_t to = at - around;
        const int turn = at - t.z0 + around;
        float mean[ROWS][FOUR];
        uint32_t data[ROWS] = {};
        mean_of_plane<R, FOURS, GAPS>(mean, data, p, t,
                                      (from < 0 ? 0 : from) * p.pass[0].n * p.pass[1].n, lane);
        const double factor_z = direct_factor(p, 2, to);
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
#pragma unroll
            for (int k = 0; k < FOUR; k++)
                if (from < 0) mean[j][k] = z.outside;
            if (GAPS && from < 0) data[j] = p.outside[2];
            if (around) mean_along_z<R>(mean[j], before + j * WARP, STEP, turn, factor_z);
            if (GAPS && around) data[j] = count_along_z<R>(data[j], counts + j * WARP, STEP, turn);
            if (to >= t.z0) write_direct<FOURS, GAPS>(p, t, t.y0 + j, to, mean[j], data[j]);
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

template <int R, bool FOURS, bool GAPS>
static lob_status launch_direct(lob_device *device, const box_direct &p, lob_error *error)
{
    const size_t kept = sizeof(float4) + (GAPS ? sizeof(uint32_t) : 0);
    const size_t shared = kept * DIRECT_WARPS * 2 * R * ROWS * WARP;
    const int64_t warps = lob_product(p.strips, p.bands, p.chunks, 1);
    const int64_t grid = (warps + DIRECT_WARPS - 1) / DIRECT_WARPS;
    const auto kernel = direct_windows_kernel<R, FOURS, GAPS>;
    if (grid > INT32_MAX) return lob_device_too_large(error);
    LOB_TRY(lob_allow_shared(kernel, shared, error));
    return lob_launch(device, kernel, "box, small windows", grid, DIRECT_WARPS * WARP, shared, p,
                      error);
}

template <bool GAPS>
static lob_status launch_direct_radius(lob_device *device, const box_direct &p, lob_error *error)
{
    const bool one = p.pass[0].radius == 1;
    return one && p.fours ? launch_direct<1, true, GAPS>(device, p, error)
           : one          ? launch_direct<1, false, GAPS>(device, p, error)
           : p.fours      ? launch_direct<2, true, GAPS>(device, p, error)
                          : launch_direct<2, false, GAPS>(device, p, error);
}

/* Numbers of data outside of each axis, and what one datum weighs. */
static void weigh_direct(box_direct *p, const lob_box_pass weights[3])
{
    float weight = 1.0f;
    for (int a = 0; a < 3; a++) {
        p->outside[a] = (uint32_t)(weights[a].outside / weight) * 0x01010101u;
        if (weights[a].radius > 0) weight = (float)(weight * weights[a].factor);
    }
    p->weight = weight;
}

/*
 * All passes at once.
 *
 *   weights  in  the passes of the weights where some voxels are no data: those that are not finite
 *                or outside of the mask, which may be NULL. pass is of the sums then
 */
static lob_status run_direct(lob_device *device, float *out, const float *in, const uint8_t *mask,
                             const lob_box_pass pass[3], const lob_box_pass *weights,
                             const lob_filter_map *after, lob_error *error)
{
    box_direct p = {};
    p.out = out;
    p.in = in;
    p.mask = mask;
    p.after = *after;
    for (int a = 0; a < 3; a++) p.pass[a] = pass[a];
    for (int n = 1; n <= 2 * LOB_BOX_DIRECT + 1; n++) p.factor[n] = 1.0 / n;
    p.strips = (int32_t)((pass[0].n + STRIP - 1) / STRIP);
    p.bands = (int32_t)((pass[1].n + ROWS - 1) / ROWS);
    const int64_t columns = (int64_t)p.strips * p.bands, n = pass[2].n;
    const int64_t wanted = (int64_t)lob_device_multiprocessors(device) * 4 * DIRECT_WARPS;
    const int64_t cuts = (wanted + columns - 1) / columns, chunk = (n + cuts - 1) / cuts;
    p.chunk = chunk < 16 ? 16 : (int32_t)chunk;
    p.chunks = (int32_t)((n + p.chunk - 1) / p.chunk);
    p.fours = pass[0].n % FOUR == 0 && (uintptr_t)in % 16 == 0 && (uintptr_t)out % 16 == 0 &&
              (uintptr_t)mask % FOUR == 0;
    if (!weights) return launch_direct_radius<false>(device, p, error);
    weigh_direct(&p, weights);
    return launch_direct_radius<true>(device, p, error);
}

} /* namespace lob::filters */

#endif
