/* From numbered pieces to what is told of them: labels of voxels, sizes, a voxel of each. */
#include "kernels/components/components_job_cuda.cuh"

#include "volumes/labels.h"

/* A kernel's task: which of these are set says what it does. */
typedef struct {
    runs r;
    void *labels;
    lob_type type;
    const uint32_t *label; /* of components; NULL: their numbers */
    bool over, quads;      /* quads: rows are whole numbers of 4 voxels, of which each is aligned */
    wide *sizes, *member;
} task;

/* What a block knows of its tile, by the thread that has a word. */
typedef struct {
    uint32_t *starts; /* TILE_THREADS */
    uint32_t *offset; /* TILE_THREADS: runs of the tile before the word's */
    uint32_t *filled; /* TILE_THREADS for each row of a line */
    uint32_t *base;   /* TILE_LINES: pieces before the line's */
    uint32_t *label;  /* TILE_THREADS * slots: of runs */
} tile_labels;

static __device__ inline uint32_t number_of_run(const runs &r, const place &p, int64_t run)
{
    return r.parent[id_of_run(r, p, run)];
}

/* A warp takes the rows of a word, a lane a voxel of each. */
template <typename K>
static __device__ inline void paint_word(const task &k, const tile_labels &l, const place &p,
                                         int thread)
{
    const runs &r = k.r;
    const int lane = (int)threadIdx.x % WORD, line = thread / TILE_WORDS;
    const int w = p.tile_x * TILE_WORDS + thread % TILE_WORDS, x = w * WORD + lane;
    const int run = (int)l.offset[thread] + __popc(l.starts[thread] & lob_bits_to(lane)) - 1;
    const int y = line_y(r, p, line) * K::by, z = line_z(r, p, line) * K::bz;
    if (x >= r.nx) return;
#pragma unroll
    for (int i = 0; i < K::by * K::bz; i++) {
        const int row_y = y + i % K::by, row_z = z + i / K::by;
        if (row_y >= r.ny || row_z >= r.nz) continue;
        const bool in = l.filled[i * TILE_THREADS + thread] >> lane & 1;
        const uint32_t label = in ? l.label[run] : 0;
        if (!k.over || label)
            lob_label_put(k.labels, k.type, ((int64_t)row_z * r.ny + row_y) * r.nx + x,
                          (int32_t)label);
    }
}

enum { QUAD = 4, ROW_QUADS = TILE_WORDS * WORD / QUAD };

static __device__ inline void put_quad(uint32_t *to, const uint32_t (&label)[QUAD])
{
    *to = label[0] | label[1] << 8 | label[2] << 16 | label[3] << 24;
}

static __device__ inline void put_quad(uint2 *to, const uint32_t (&label)[QUAD])
{
    *to = make_uint2(label[0] | label[1] << 16, label[2] | label[3] << 16);
}

static __device__ inline void put_quad(uint4 *to, const uint32_t (&label)[QUAD])
{
    *to = make_uint4(label[0], label[1], label[2], label[3]);
}

/* A thread takes the same four columns of rows; V: four labels. */
template <typename K, typename V>
static __device__ inline void paint_quads(const task &k, const tile_labels &l, const place &p)
{
    constexpr int rows = K::by * K::bz, lines = TILE_THREADS / ROW_QUADS / rows; /* at once */
    const runs &r = k.r;
    const int quad = (int)threadIdx.x % ROW_QUADS, row = (int)threadIdx.x / ROW_QUADS;
    const int i = row % rows, low = quad * QUAD % WORD, row_quads = r.nx / QUAD;
    const int x = p.tile_x * TILE_WORDS * WORD + quad * QUAD;
    if (x >= r.nx) return;
    V *const to = (V *)k.labels + x / QUAD;
#pragma unroll 4
    for (int n = 0; n < TILE_LINES / lines; n++) {
        const int line = n * lines + row / rows;
        const int thread = line * TILE_WORDS + quad / (WORD / QUAD);
        const int y = line_y(r, p, line) * K::by + i % K::by;
        const int z = line_z(r, p, line) * K::bz + i / K::by;
        if (y >= r.ny || z >= r.nz) continue;
        const uint32_t starts = l.starts[thread], in = l.filled[i * TILE_THREADS + thread] >> low;
        int run = (int)l.offset[thread] + __popc(starts & ((1u << low) - 1)) - 1;
        uint32_t label[QUAD];
#pragma unroll
        for (int v = 0; v < QUAD; v++) {
            run += (int)(starts >> (low + v) & 1);
            label[v] = in >> v & 1 ? l.label[run] : 0;
        }
        put_quad(to + (int64_t)(z * r.ny + y) * row_quads, label); /* rows are far below 2^31 */
    }
}

template <typename K> static __global__ void __launch_bounds__(TILE_THREADS, 3) paint_kernel(task k)
{
    extern __shared__ uint32_t shared[];
    uint32_t *const filled = shared + 2 * TILE_THREADS;
    uint32_t *const base = filled + K::by * K::bz * TILE_THREADS;
    const tile_labels l = {shared, shared + TILE_THREADS, filled, base, base + TILE_LINES};
    const runs &r = k.r;
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    for (int64_t tile = blockIdx.x; tile < r.tiles; tile += gridDim.x) {
        const place p = place_of_tile(r, tile);
        const int runs_here = (int)r.runs[tile];
        const int y = line_y(r, p, line), z = line_z(r, p, line);
        const int w = p.tile_x * TILE_WORDS + thread % TILE_WORDS;
        if (thread % TILE_WORDS == 0 && y < r.ly && z < r.lz)
            l.base[line] = r.line_base[line_index(r, p, line)];
        l.starts[thread] = starts_word<K>(r, y, z, w);
        l.offset[thread] = r.offset[tile * TILE_THREADS + thread] - r.offset[tile * TILE_THREADS];
#pragma unroll
        for (int i = 0; i < K::by * K::bz; i++)
            l.filled[i * TILE_THREADS + thread] =
                row_word(r, r.filled, y * K::by + i % K::by, z * K::bz + i / K::by, w);
        __syncthreads();
        const uint16_t *const code = r.code + r.offset[tile * TILE_THREADS];
#pragma unroll 4
        for (int i = thread; i < runs_here; i += TILE_THREADS) {
            const uint32_t found = code[i];
            const uint32_t number = r.parent[l.base[code_line(found)] + code_rank(found)];
            l.label[i] = k.label ? k.label[number - 1] : number;
        }
        __syncthreads();
        if (!k.quads)
            for (int i = thread / WORD; i < TILE_THREADS; i += TILE_THREADS / WORD)
                paint_word<K>(k, l, p, i);
        else if (k.type == LOB_U8)
            paint_quads<K, uint32_t>(k, l, p);
        else if (k.type == LOB_I16)
            paint_quads<K, uint2>(k, l, p);
        else
            paint_quads<K, uint4>(k, l, p);
        __syncthreads();
    }
}

/* The first of a component's voxels stays, whichever is met first. */
static __device__ inline void tell_member(const task &k, uint32_t number, int y, int z, int w,
                                          uint32_t bits)
{
    const wide row = (wide)(((int64_t)z * k.r.ny + y) * k.r.nx);
    const wide voxel = row + (wide)(w * WORD + lowest_bit(bits));
    wide *first = &k.member[number - 1];
    if (voxel < *(const volatile wide *)first) atomicMin(first, voxel);
}

/* A thread takes the runs of a word, and adds neighbours of one component together first. */
template <typename K> static __global__ void __launch_bounds__(TILE_THREADS) tell_kernel(task k)
{
    const runs &r = k.r;
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    for (int64_t tile = blockIdx.x; tile < r.tiles; tile += gridDim.x) {
        const place p = place_of_tile(r, tile);
        const int y = line_y(r, p, line), z = line_z(r, p, line);
        const int w = p.tile_x * TILE_WORDS + thread % TILE_WORDS;
        const uint32_t starts = starts_word<K>(r, y, z, w);
        int64_t run = r.offset[tile * TILE_THREADS + thread];
        uint32_t last = 0;
        wide voxels = 0;
        for (uint32_t left = starts; left; left &= left - 1) {
            const uint32_t number = number_of_run(r, p, run++);
            const uint32_t next = left & (left - 1), start = left & -left;
            const uint32_t columns = (next ? (next & -next) - 1 : ~0u) & ~(start - 1);
            if (number != last && voxels) {
                atomicAdd(&k.sizes[last - 1], voxels);
                voxels = 0;
            }
            last = number;
            for (int i = 0; i < K::by * K::bz; i++) {
                const int row_y = y * K::by + i % K::by, row_z = z * K::bz + i / K::by;
                const uint32_t bits = row_word(r, r.filled, row_y, row_z, w) & columns;
                voxels += k.sizes ? (wide)__popc(bits) : 0;
                if (k.member && bits) tell_member(k, number, row_y, row_z, w, bits);
            }
        }
        /* A large component holds most of a warp: its lanes add up before one of them writes. */
        uint32_t lanes = __ballot_sync(~0u, voxels > 0);
        while (lanes) {
            const int leader = lowest_bit(lanes);
            const uint32_t number = __shfl_sync(~0u, last, leader);
            const bool same = voxels > 0 && last == number;
            const uint32_t sum = __reduce_add_sync(~0u, same ? (uint32_t)voxels : 0);
            if ((int)(threadIdx.x % WORD) == leader) atomicAdd(&k.sizes[number - 1], (wide)sum);
            lanes &= ~__ballot_sync(~0u, same);
        }
    }
}

template <typename K> static lob_status paint(joining *j, const task &k, lob_error *error)
{
    const int words = TILE_THREADS * (2 + K::by * K::bz + j->r.slots) + TILE_LINES;
    const int shared = words * (int)sizeof(uint32_t);
    if (!k.labels)
        return lob_launch(j->device, tell_kernel<K>, "measuring components", j->r.tiles,
                          TILE_THREADS, 0, k, error);
    LOB_CUDA(cudaFuncSetAttribute((const void *)paint_kernel<K>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    return lob_launch(j->device, paint_kernel<K>, "writing labels", j->r.tiles, TILE_THREADS,
                      (size_t)shared, k, error);
}

static lob_status run_task(joining *j, const task &k, lob_error *error)
{
    return lob_with_lines(j->r, [&](auto lines) { return paint<decltype(lines)>(j, k, error); });
}

lob_status lob_joining_paint(joining *j, void *labels, lob_type type, const uint32_t *label,
                             bool over, lob_error *error)
{
    task k = {};
    k.r = j->r;
    k.labels = labels;
    k.type = type;
    k.label = label;
    k.over = over;
    k.quads = !over && j->r.nx % QUAD == 0 && (uintptr_t)labels % sizeof(uint4) == 0;
    return run_task(j, k, error);
}

lob_status lob_joining_sizes(joining *j, wide *sizes, lob_error *error)
{
    task k = {};
    k.r = j->r;
    k.sizes = sizes;
    LOB_CUDA(cudaMemsetAsync(sizes, 0, (size_t)j->found * sizeof *sizes,
                             lob_device_cuda_stream(j->device)));
    return run_task(j, k, error);
}

lob_status lob_joining_members(joining *j, wide *member, lob_error *error)
{
    task k = {};
    k.r = j->r;
    k.member = member;
    LOB_CUDA(cudaMemsetAsync(member, 0xff, (size_t)j->found * sizeof *member,
                             lob_device_cuda_stream(j->device)));
    return run_task(j, k, error);
}
