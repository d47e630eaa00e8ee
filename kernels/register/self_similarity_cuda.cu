/* Words of an image on a GPU: as self_similarity.c makes them, a voxel to a thread. */
#include "kernels/device/cuda_calls.cuh"
#include "kernels/device/grid.cuh"
#include "kernels/register/register_voxel.h"

namespace lob::registration
{

enum { THREADS = 256, MAPS = 6, PAIRS = 12, CUTS = 5 };

struct words_params {
    uint64_t *words;
    const int16_t *level;
    int32_t *map, *half; /* six of each */
    int64_t voxels;
    uint64_t no_data;
    int side[3], radius;
};

static __device__ inline void place_of(int at[3], const int side[3], int64_t i)
{
    const uint32_t n = (uint32_t)i, row = n / (uint32_t)side[0];
    at[0] = (int)(n - row * (uint32_t)side[0]);
    at[2] = (int)(row / (uint32_t)side[1]);
    at[1] = (int)(row - (uint32_t)at[2] * (uint32_t)side[1]);
}

/* The voxel so far from one, or the last before the border. */
static __device__ inline int64_t beside(const words_params &s, const int at[3], int x, int y, int z)
{
    const int to[3] = {at[0] + x, at[1] + y, at[2] + z};
    int c[3];
    for (int a = 0; a < 3; a++) c[a] = to[a] < 0 ? 0 : to[a] >= s.side[a] ? s.side[a] - 1 : to[a];
    return ((int64_t)c[2] * s.side[1] + c[1]) * s.side[0] + c[0];
}

static __device__ inline int32_t square(const words_params &s, int64_t i, int64_t j)
{
    const int32_t d = (s.level[i] & LOB_REGISTER_TOP) - (s.level[j] & LOB_REGISTER_TOP);
    return d * d;
}

/* Squared differences of shifted images, summed over patches along x. */
static __global__ void along_x_kernel(words_params s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        int at[3], r = s.radius;
        int32_t sum[MAPS] = {0, 0, 0, 0, 0, 0};
        place_of(at, s.side, i);
        for (int k = -r; k <= r; k++) {
            const int x = at[0] + k;
            const int here[3] = {x < 0 ? 0 : x >= s.side[0] ? s.side[0] - 1 : x, at[1], at[2]};
            const int64_t from = i - at[0] + here[0];
#pragma unroll
            for (int m = 0; m < MAPS; m++) {
                const lob_register_map map = lob_register_map_of(m);
                const int x = r * map.shift[0], y = r * map.shift[1], z = r * map.shift[2];
                sum[m] += square(s, from, beside(s, here, x, y, z));
            }
        }
        for (int m = 0; m < MAPS; m++) s.map[m * s.voxels + i] = sum[m];
    }
}

/* The same along y or z of what is summed already. */
template <bool Z> static __global__ void along_kernel(words_params s)
{
    const int32_t *const in = Z ? s.half : s.map;
    int32_t *const out = Z ? s.map : s.half;
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        int at[3];
        int32_t sum[MAPS] = {0, 0, 0, 0, 0, 0};
        place_of(at, s.side, i);
        for (int k = -s.radius; k <= s.radius; k++) {
            const int64_t from = beside(s, at, 0, Z ? 0 : k, Z ? k : 0);
            for (int m = 0; m < MAPS; m++) sum[m] += in[m * s.voxels + from];
        }
        for (int m = 0; m < MAPS; m++) out[m * s.voxels + i] = sum[m];
    }
}

static __global__ void words_kernel(words_params s)
{
    for (int64_t i = grid_first(); i < s.voxels; i += grid_step()) {
        int at[3];
        double distance[PAIRS], least = 0.0, sum = 0.0;
        uint64_t word = 0;
        place_of(at, s.side, i);
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            const lob_register_map map = lob_register_map_of(p / 2);
            const int8_t *const place = map.place[p % 2];
            const int64_t from =
                beside(s, at, s.radius * place[0], s.radius * place[1], s.radius * place[2]);
            distance[p] = s.map[p / 2 * s.voxels + from];
            least = p == 0 || distance[p] < least ? distance[p] : least;
            sum += distance[p];
        }
        sum -= PAIRS * least;
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            const double d = (distance[p] - least) * (PAIRS * 1024.0);
            for (int k = 0; k < CUTS; k++)
                word |= (uint64_t)(d > lob_register_cut(k) * sum) << (p * CUTS + k);
        }
        s.words[i] = s.level[i] & LOB_REGISTER_NONE ? s.no_data : word;
    }
}

} /* namespace lob::registration */

using namespace lob::registration;

lob_status lob_register_words_cuda(uint64_t *words, lob_register_call *c,
                                   const lob_register_image *image, int radius)
{
    const int64_t bytes = 2 * MAPS * image->voxels * (int64_t)sizeof(int32_t);
    const lob_dims d = image->dims;
    words_params s = {
        words,
        image->level,
        nullptr,
        nullptr,
        image->voxels,
        c->no_data,
        {(int)d.nx, (int)d.ny, (int)d.nz},
        radius
    };
    LOB_TRY(lob_register_room(c, &s.map, bytes));
    s.half = s.map + MAPS * image->voxels;
    void (*const kernels[])(words_params) = {along_x_kernel, along_kernel<false>,
                                             along_kernel<true>, words_kernel};
    for (void (*const kernel)(words_params) : kernels)
        LOB_TRY(lob_launch_over(c->device, kernel, "words", s.voxels, THREADS, s, c->error));
    return LOB_OK;
}
