/* The kernels of the steps: one thread a pixel, blocks of 1024, as the report has them. */
#include "tests/reference/blur_steps_cuda.h"

#include <cuda_runtime.h>

namespace
{

enum { THREADS = 1024 };

struct rgb {
    int r, g, b;
};

__device__ int pixel_index()
{
    return (int)(blockIdx.x * THREADS + threadIdx.x);
}

__device__ float luminance(float r, float g, float b)
{
    return .299f * r + .587f * g + .114f * b;
}

/* ---- V01 ---- */

__global__ void port_blur(blur_image p)
{
    const int i = pixel_index(), x = i % p.nx, y = i / p.nx;
    if (i >= p.nx * p.ny) return;
    const rgb *in = (const rgb *)p.in;
    int r = 0, g = 0, b = 0, n = 0;
    for (int dy = -p.radius; dy <= p.radius; dy++)
        for (int dx = -p.radius; dx <= p.radius; dx++) {
            const int u = x + dx, v = y + dy;
            if (u >= 0 && u < p.nx && v >= 0 && v < p.ny) {
                r += in[v * p.nx + u].r;
                g += in[v * p.nx + u].g;
                b += in[v * p.nx + u].b;
                n++;
            }
        }
    ((rgb *)p.between)[i] = rgb{r / n, g / n, b / n};
}

__global__ void port_desaturate(blur_image p)
{
    const int i = pixel_index();
    if (i >= p.nx * p.ny) return;
    const rgb c = ((const rgb *)p.between)[i];
    const float l = luminance((float)c.r, (float)c.g, (float)c.b);
    ((rgb *)p.out)[i] = rgb{(int)((1 - p.amount) * (float)c.r + p.amount * l),
                            (int)((1 - p.amount) * (float)c.g + p.amount * l),
                            (int)((1 - p.amount) * (float)c.b + p.amount * l)};
}

/* ---- V02: the same numbers, less to decide ---- */

__global__ void bounds_blur(blur_image p)
{
    const int i = pixel_index(), x = i % p.nx, y = i / p.nx;
    if (i >= p.nx * p.ny) return;
    const rgb *in = (const rgb *)p.in;
    const int left = max(x - p.radius, 0), right = min(x + p.radius, p.nx - 1);
    const int top = max(y - p.radius, 0), bottom = min(y + p.radius, p.ny - 1);
    float r = 0, g = 0, b = 0;
    for (int v = top; v <= bottom; v++)
        for (int u = left; u <= right; u++) {
            r += (float)in[v * p.nx + u].r;
            g += (float)in[v * p.nx + u].g;
            b += (float)in[v * p.nx + u].b;
        }
    const float share = 1.0f / (float)((right - left + 1) * (bottom - top + 1));
    ((rgb *)p.between)[i] = rgb{(int)(r * share), (int)(g * share), (int)(b * share)};
}

/* ---- V03 to V05: four bytes a pixel ---- */

__device__ void add(float3 *sum, uchar4 c)
{
    sum->x += (float)c.x;
    sum->y += (float)c.y;
    sum->z += (float)c.z;
}

__device__ uchar4 mixed(float3 c, float amount)
{
    const float l = amount * luminance(c.x, c.y, c.z), own = 1 - amount;
    return make_uchar4((unsigned char)(own * c.x + l), (unsigned char)(own * c.y + l),
                       (unsigned char)(own * c.z + l), 0);
}

/* The mean of a rectangle. */
__device__ float3 mean(const uchar4 *in, int nx, int left, int right, int top, int bottom)
{
    float3 sum = make_float3(0, 0, 0);
    for (int v = top; v <= bottom; v++)
        for (int u = left; u <= right; u++) add(&sum, in[v * nx + u]);
    const float share = 1.0f / (float)((right - left + 1) * (bottom - top + 1));
    return make_float3(sum.x * share, sum.y * share, sum.z * share);
}

/* Along the axes asked for; amount 0 blurs alone. */
__global__ void packed_blur(blur_image p, const uchar4 *in, uchar4 *out, int along_x, int along_y,
                            float amount)
{
    const int i = pixel_index(), x = i % p.nx, y = i / p.nx;
    if (i >= p.nx * p.ny) return;
    const int rx = along_x ? p.radius : 0, ry = along_y ? p.radius : 0;
    out[i] = mixed(mean(in, p.nx, max(x - rx, 0), min(x + rx, p.nx - 1), max(y - ry, 0),
                        min(y + ry, p.ny - 1)),
                   amount);
}

__global__ void packed_desaturate(blur_image p)
{
    const int i = pixel_index();
    if (i >= p.nx * p.ny) return;
    const uchar4 c = ((const uchar4 *)p.between)[i];
    ((uchar4 *)p.out)[i] = mixed(make_float3((float)c.x, (float)c.y, (float)c.z), p.amount);
}

} /* namespace */

int blur_pixel_bytes(int step)
{
    return step < BLUR_PACKED ? (int)sizeof(rgb) : (int)sizeof(uchar4);
}

void blur_step(const blur_image *image, int step, void *stream)
{
    const blur_image p = *image;
    const cudaStream_t queue = (cudaStream_t)stream;
    const int blocks = (p.nx * p.ny + THREADS - 1) / THREADS;
    const uchar4 *in = (const uchar4 *)p.in;
    uchar4 *between = (uchar4 *)p.between, *out = (uchar4 *)p.out;
    switch (step) {
    case BLUR_PORT:
        port_blur<<<blocks, THREADS, 0, queue>>>(p);
        port_desaturate<<<blocks, THREADS, 0, queue>>>(p);
        break;
    case BLUR_BOUNDS:
        bounds_blur<<<blocks, THREADS, 0, queue>>>(p);
        port_desaturate<<<blocks, THREADS, 0, queue>>>(p);
        break;
    case BLUR_PACKED:
        packed_blur<<<blocks, THREADS, 0, queue>>>(p, in, between, 1, 1, 0.0f);
        packed_desaturate<<<blocks, THREADS, 0, queue>>>(p);
        break;
    case BLUR_FUSED:
        packed_blur<<<blocks, THREADS, 0, queue>>>(p, in, out, 1, 1, p.amount);
        break;
    default:
        packed_blur<<<blocks, THREADS, 0, queue>>>(p, in, between, 1, 0, 0.0f);
        packed_blur<<<blocks, THREADS, 0, queue>>>(p, between, out, 0, 1, p.amount);
    }
}
