/*
 * Holes on the device: pieces of what has no label that reach no border of the volume, or of their
 * slice, and the label that most of a hole's faces touch.
 *
 * Most holes touch a single label. What the others touch is listed face by face and sorted.
 */
#include "kernels/components/components_job_cuda.cuh"

#include "volumes/labels.h"

#include <cub/device/device_radix_sort.cuh>

enum { HOLES_THREADS = 256 };

typedef struct {
    runs r;
    const void *labels;
    lob_type type;
    int64_t found;
    wide *best;       /* found: faces << 32 | ~label, the most faces of any label so far */
    uint32_t *lowest; /* found: of the labels that it touches */
    uint32_t *highest;
    uint32_t *open; /* found: reaches a border */
    wide *listed;   /* faces in the list */
    wide *faces;    /* hole << 32 | label; NULL: they are counted only */
    int64_t list;   /* sorted: so many */
} holes;

/* What is done with the runs of a word: one of the passes over the volume. */
enum pass { FIND_OPEN, FIND_EXTREMES, LIST_FACES };

template <typename K>
static __device__ inline bool at_border(const runs &r, int y, int z, int w, uint32_t columns)
{
    const uint32_t last_x = (r.nx - 1) / WORD == w ? 1u << (r.nx - 1) % WORD : 0;
    for (int i = 0; i < K::by * K::bz; i++) {
        const int row_y = y * K::by + i % K::by, row_z = z * K::bz + i / K::by;
        const uint32_t bits = row_word(r, r.filled, row_y, row_z, w) & columns;
        if (!bits) continue;
        if (r.along[0] && ((w == 0 && bits & 1) || bits & last_x)) return true;
        if (r.along[1] && (row_y == 0 || row_y == r.ny - 1)) return true;
        if (r.along[2] && (row_z == 0 || row_z == r.nz - 1)) return true;
    }
    return false;
}

static __device__ inline void touch(const holes &h, uint32_t hole, int64_t voxel, pass now)
{
    const uint32_t label = (uint32_t)lob_label_at(h.labels, h.type, voxel);
    if (now == FIND_EXTREMES) {
        if (label < __ldca(h.lowest + hole)) atomicMin(&h.lowest[hole], label);
        if (label > __ldca(h.highest + hole)) atomicMax(&h.highest[hole], label);
    } else {
        const wide place = atomicAdd(h.listed, 1ull);
        if (h.faces) h.faces[place] = (wide)hole << 32 | label;
    }
}

/* The faces of a run of a closed hole: none of its voxels is at the border, so all neighbours are
 * there. */
template <typename K>
static __device__ inline void touch_around(const holes &h, uint32_t hole, int y, int z, int w,
                                           uint32_t columns, pass now)
{
    const runs &r = h.r;
    for (int i = 0; i < K::by * K::bz; i++) {
        const int row_y = y * K::by + i % K::by, row_z = z * K::bz + i / K::by;
        const uint32_t row = row_word(r, r.filled, row_y, row_z, w), bits = row & columns;
        if (!bits) continue;
        for (int side = 0; side < 6; side++) {
            const int axis = side / 2, by = side % 2 ? 1 : -1;
            if (!r.along[axis]) continue;
            const int dx = axis == 0 ? by : 0, dy = axis == 1 ? by : 0, dz = axis == 2 ? by : 0;
            uint32_t next = row_word(r, r.filled, row_y + dy, row_z + dz, w);
            if (dx < 0) next = lob_bits_back(next, row_word(r, r.filled, row_y, row_z, w - 1));
            if (dx > 0) next = lob_bits_ahead(next, row_word(r, r.filled, row_y, row_z, w + 1));
            const int64_t to = ((int64_t)(row_z + dz) * r.ny + row_y + dy) * r.nx + dx;
            for (uint32_t left = bits & ~next; left; left &= left - 1)
                touch(h, hole, to + (int64_t)w * WORD + lowest_bit(left), now);
        }
    }
}

template <typename K, pass NOW>
static __global__ void __launch_bounds__(TILE_THREADS) holes_kernel(holes h)
{
    const runs &r = h.r;
    const int thread = (int)threadIdx.x, line = thread / TILE_WORDS;
    for (int64_t tile = blockIdx.x; tile < r.tiles; tile += gridDim.x) {
        const place p = place_of_tile(r, tile);
        const int y = line_y(r, p, line), z = line_z(r, p, line);
        const int w = p.tile_x * TILE_WORDS + thread % TILE_WORDS;
        const uint16_t *code = r.code + r.offset[tile * TILE_THREADS + thread];
        for (uint32_t left = starts_word<K>(r, y, z, w); left; left &= left - 1) {
            const uint32_t hole = r.parent[id_of_code(r, p, *code++)] - 1;
            const uint32_t next = left & (left - 1), start = left & -left;
            const uint32_t columns = (next ? (next & -next) - 1 : ~0u) & ~(start - 1);
            if (__ldca(h.open + hole)) continue;
            if (NOW == FIND_OPEN) {
                if (at_border<K>(r, y, z, w, columns)) h.open[hole] = 1;
            } else if (NOW == FIND_EXTREMES || h.lowest[hole] != h.highest[hole])
                touch_around<K>(h, hole, y, z, w, columns, NOW);
        }
    }
}

/* The number of faces that a label has with a hole: to where the next key starts. */
static __global__ void __launch_bounds__(HOLES_THREADS) count_faces_kernel(holes h)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < h.list; i += step) {
        const wide key = h.faces[i];
        if (i > 0 && h.faces[i - 1] == key) continue;
        int64_t same = i, other = h.list; /* faces[same] is key, faces[other] is not */
        while (other - same > 1) {
            const int64_t middle = same + (other - same) / 2;
            if (h.faces[middle] == key)
                same = middle;
            else
                other = middle;
        }
        const wide label = ~(uint32_t)key;
        atomicMax(&h.best[key >> 32], (wide)(other - i) << 32 | label);
    }
}

/* Lowest becomes the label that a hole is given; 0 for what is no hole. */
static __global__ void __launch_bounds__(HOLES_THREADS) decide_kernel(holes h)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < h.found; i += step) {
        if (h.open[i])
            h.lowest[i] = 0;
        else if (h.lowest[i] != h.highest[i])
            h.lowest[i] = ~(uint32_t)h.best[i];
    }
}

template <typename K, pass NOW>
static lob_status go_over(joining *j, const holes &h, lob_error *error)
{
    return lob_launch(j->device, holes_kernel<K, NOW>, "looking at holes", j->r.tiles, TILE_THREADS,
                      0, h, error);
}

/* Sort the faces of holes that touch several labels, and count them. */
template <typename K> static lob_status rank_labels(joining *j, holes *h, lob_error *error)
{
    wide listed = 0;
    size_t sort = 0;
    void *memory = NULL;
    cudaStream_t stream = lob_device_cuda_stream(j->device);
    LOB_CUDA(cudaMemsetAsync(h->listed, 0, sizeof *h->listed, stream));
    LOB_TRY((go_over<K, LIST_FACES>(j, *h, error)));
    LOB_TRY(lob_device_download(j->device, &listed, h->listed, sizeof listed, error));
    if (listed == 0) return LOB_OK;
    const int64_t bytes = (int64_t)listed * (int64_t)sizeof(wide);
    LOB_CUDA(cub::DeviceRadixSort::SortKeys(NULL, sort, h->faces, h->faces, (int64_t)listed, 0, 64,
                                            stream));
    LOB_TRY(lob_joining_block(j, LOB_DEVICE_LISTS, 2 * bytes + (int64_t)sort + 3 * 256, &memory,
                              error));
    unsigned char *at = (unsigned char *)memory;
    h->faces = (wide *)lob_take(&at, bytes);
    wide *sorted = (wide *)lob_take(&at, bytes);
    LOB_CUDA(cudaMemsetAsync(h->listed, 0, sizeof *h->listed, stream));
    LOB_TRY((go_over<K, LIST_FACES>(j, *h, error)));
    LOB_CUDA(
        cub::DeviceRadixSort::SortKeys(at, sort, h->faces, sorted, (int64_t)listed, 0, 64, stream));
    h->faces = sorted;
    h->list = (int64_t)listed;
    return lob_launch(j->device, count_faces_kernel, "counting faces",
                      lob_grid_blocks(j->device, h->list, HOLES_THREADS), HOLES_THREADS, 0, *h,
                      error);
}

template <typename K> static lob_status decide(joining *j, holes *h, lob_error *error)
{
    LOB_TRY((go_over<K, FIND_OPEN>(j, *h, error)));
    LOB_TRY((go_over<K, FIND_EXTREMES>(j, *h, error)));
    LOB_TRY((rank_labels<K>(j, h, error)));
    return lob_launch(j->device, decide_kernel, "labelling holes",
                      lob_grid_blocks(j->device, h->found, HOLES_THREADS), HOLES_THREADS, 0, *h,
                      error);
}

static lob_status decide_any(joining *j, holes *h, lob_error *error)
{
    return lob_with_lines(j->r, [&](auto lines) { return decide<decltype(lines)>(j, h, error); });
}

/* What surrounds a component is joined where components are not: by faces, or by all. */
static int neighbours_of_holes(const lob_components_options *o)
{
    if (o->slice_axis >= 0) return o->neighbours == 8 ? 4 : 8;
    return o->neighbours == 6 ? 26 : 6;
}

lob_status lob_holes_fill(joining *j, void *labels, lob_type type, lob_error *error)
{
    holes h = {};
    const int64_t bytes = sizeof *h.best + 3 * sizeof *h.lowest;
    j->piece_bytes = bytes;
    LOB_TRY(lob_joining_plan(j, j->in->image->dims, neighbours_of_holes(j->options),
                             j->options->slice_axis, false, error));
    LOB_TRY(lob_joining_allocate(j, error));
    LOB_TRY(lob_joining_unlabelled(j, labels, type, error));
    LOB_TRY(lob_joining_join(j, error));
    if (j->found == 0) return LOB_OK;
    h.r = j->r;
    /* An axis of one voxel has no border that counts, and no neighbours; without any, no holes. */
    const lob_dims dims = j->in->image->dims;
    for (int a = 0; a < 3; a++) h.r.along[a] = j->r.along[a] && lob_side(dims, a) > 1;
    if (!h.r.along[0] && !h.r.along[1] && !h.r.along[2]) return LOB_OK;
    h.labels = labels;
    h.type = type;
    h.found = j->found;
    h.best = (wide *)j->of_pieces;
    h.lowest = (uint32_t *)(h.best + j->found);
    h.highest = h.lowest + j->found;
    h.open = h.highest + j->found;
    h.listed = j->counts;
    const size_t n = (size_t)j->found;
    LOB_CUDA(cudaMemsetAsync(h.best, 0, n * (size_t)bytes, lob_device_cuda_stream(j->device)));
    LOB_CUDA(
        cudaMemsetAsync(h.lowest, 0xff, n * sizeof *h.lowest, lob_device_cuda_stream(j->device)));
    LOB_TRY(decide_any(j, &h, error));
    return lob_joining_paint(j, labels, type, h.lowest, true, error);
}
