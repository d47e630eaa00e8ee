/* Label propagation with far links and root gathering, on a GPU. */
#include "tests/reference/far_links_cuda.h"

enum { SIDE = 32, STEP = SIDE - 1 }; /* tiles share one row and column with the next */

/* A pixel's links: joined with the neighbour to the right, below, below right, below left. */
enum { RIGHT = 1, DOWN = 2, DOWN_RIGHT = 4, DOWN_LEFT = 8 };

typedef struct {
    uint32_t *labels;
    uint8_t *links;
    uint32_t *changed;
    far_links_image image;
    int colour[2]; /* which of two tiles in x and y */
} pass;

static __device__ bool joined(const far_links_image *image, int x, int y, int dx, int dy)
{
    const int tx = x + dx, ty = y + dy;
    if (tx < 0 || tx >= image->nx || ty >= image->ny) return false;
    const int64_t plane = (int64_t)image->nx * image->ny;
    const uint8_t *a = image->pixels + (int64_t)y * image->nx + x;
    const uint8_t *b = image->pixels + (int64_t)ty * image->nx + tx;
    int sum = 0;
    for (int c = 0; c < image->channels; c++) sum += abs(a[c * plane] - b[c * plane]);
    return sum <= image->threshold;
}

static __global__ void start_kernel(pass p)
{
    const int x = (int)(blockIdx.x * SIDE + threadIdx.x), y = (int)(blockIdx.y * 8 + threadIdx.y);
    if (x >= p.image.nx || y >= p.image.ny) return;
    int links =
        (joined(&p.image, x, y, 1, 0) ? RIGHT : 0) | (joined(&p.image, x, y, 0, 1) ? DOWN : 0);
    if (p.image.neighbours == 8)
        links |= (joined(&p.image, x, y, 1, 1) ? DOWN_RIGHT : 0) |
                 (joined(&p.image, x, y, -1, 1) ? DOWN_LEFT : 0);
    const int64_t i = (int64_t)y * p.image.nx + x;
    p.links[i] = (uint8_t)links;
    p.labels[i] = (uint32_t)i + 1;
}

/* How far a chain of links reaches in a warp, towards higher and towards lower lanes. */
typedef struct {
    int up, down;
} reach;

static __device__ reach far_links(bool to_next)
{
    const unsigned all = 0xffffffffu;
    const int lane = (int)(threadIdx.x & 31);
    const int from_before = __shfl_up_sync(all, to_next ? 1 : 0, 1);
    reach r = {to_next && lane < 31 ? 1 : 0, lane > 0 ? from_before : 0};
    for (int step = 0; step < 5; step++) { /* doubles the length each time: 32 lanes */
        r.up += __shfl_sync(all, r.up, lane + r.up);
        r.down += __shfl_sync(all, r.down, lane - r.down);
    }
    return r;
}

static __device__ uint32_t gather(uint32_t label, reach r, bool to_next)
{
    const unsigned all = 0xffffffffu;
    const int lane = (int)(threadIdx.x & 31);
    const int next = to_next && lane < 31 ? 1 : 0, before = r.down > 0 ? 1 : 0;
    label = max(label, __shfl_sync(all, label, lane + r.up));
    label = max(label, __shfl_sync(all, label, lane - r.down));
    label = max(label, __shfl_sync(all, label, lane + next));
    return max(label, __shfl_sync(all, label, lane - before));
}

/* The largest label of the diagonal neighbours inside the tile. */
static __device__ uint32_t gather_diagonals(uint32_t label, const uint32_t (*labels)[SIDE + 1],
                                            const uint8_t (*links)[SIDE + 1])
{
    const int x = (int)threadIdx.x, y = (int)threadIdx.y;
    if (x < 31 && y < 31 && links[y][x] & DOWN_RIGHT) label = max(label, labels[y + 1][x + 1]);
    if (x > 0 && y < 31 && links[y][x] & DOWN_LEFT) label = max(label, labels[y + 1][x - 1]);
    if (x > 0 && y > 0 && links[y - 1][x - 1] & DOWN_RIGHT)
        label = max(label, labels[y - 1][x - 1]);
    if (x < 31 && y > 0 && links[y - 1][x + 1] & DOWN_LEFT)
        label = max(label, labels[y - 1][x + 1]);
    return label;
}

/* Propagate inside a tile until nothing changes there. */
static __global__ void __launch_bounds__(SIDE *SIDE) tile_kernel(pass p)
{
    __shared__ uint32_t turned[SIDE][SIDE + 1];
    __shared__ uint8_t links[SIDE][SIDE + 1];
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    const int x = (2 * (int)blockIdx.x + p.colour[0]) * STEP + tx;
    const int y = (2 * (int)blockIdx.y + p.colour[1]) * STEP + ty;
    const bool inside = x < p.image.nx && y < p.image.ny;
    const int64_t i = (int64_t)y * p.image.nx + x;
    const uint32_t own = inside ? (uint32_t)i + 1 : 0;
    const uint32_t before = inside ? p.labels[i] : 0;
    uint32_t label = before;
    links[ty][tx] = inside ? p.links[i] : 0;
    __syncthreads();
    const bool right = links[ty][tx] & RIGHT, down = links[tx][ty] & DOWN; /* down: transposed */
    const reach row = far_links(right), column = far_links(down);

    for (bool more = true; more;) {
        const uint32_t last = label;
        label = gather(label, row, right);
        turned[ty][tx] = label;
        __syncthreads();
        const uint32_t across = gather(turned[tx][ty], column, down);
        __syncthreads();
        turned[tx][ty] = across;
        __syncthreads();
        label = turned[ty][tx];
        if (p.image.neighbours == 8) label = gather_diagonals(label, turned, links);
        if (label != own && inside) /* the pixel that the label came from may know a larger one */
            label = max(label, *(volatile uint32_t *)&p.labels[label - 1]);
        more = __syncthreads_or(label != last) != 0;
    }
    if (label == before) return;
    p.labels[i] = label;
    *p.changed = 1;
}

static cudaError_t one_pass(pass *p, cudaStream_t queue)
{
    const int across = (p->image.nx + STEP - 1) / STEP, along = (p->image.ny + STEP - 1) / STEP;
    for (int colour = 0; colour < 4; colour++) {
        p->colour[0] = colour & 1;
        p->colour[1] = colour >> 1;
        const dim3 blocks((unsigned)(across + 1 - p->colour[0]) / 2,
                          (unsigned)(along + 1 - p->colour[1]) / 2);
        if (blocks.x > 0 && blocks.y > 0) tile_kernel<<<blocks, dim3(SIDE, SIDE), 0, queue>>>(*p);
    }
    return cudaGetLastError();
}

cudaError_t far_links_label(uint32_t *labels, uint8_t *links, uint32_t *changed, int *passes,
                            const far_links_image *image, cudaStream_t queue)
{
    pass p = {
        labels, links, changed, *image, {0, 0}
    };
    const dim3 blocks((unsigned)(image->nx + SIDE - 1) / SIDE, (unsigned)(image->ny + 7) / 8);
    start_kernel<<<blocks, dim3(SIDE, 8), 0, queue>>>(p);
    cudaError_t result = cudaGetLastError();
    *passes = 0;
    for (uint32_t more = 1; more && result == cudaSuccess; ++*passes) {
        result = cudaMemsetAsync(changed, 0, sizeof *changed, queue);
        if (result == cudaSuccess) result = one_pass(&p, queue);
        if (result == cudaSuccess)
            result = cudaMemcpyAsync(&more, changed, sizeof more, cudaMemcpyDeviceToHost, queue);
        if (result == cudaSuccess) result = cudaStreamSynchronize(queue);
    }
    return result;
}
