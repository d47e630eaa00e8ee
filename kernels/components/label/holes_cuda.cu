/*
 * Holes: components of what has no label that reach no border of the volume, or of their slice.
 * Each takes the label that most of its faces touch, of equal ones the smallest.
 *
 * Most holes touch a single label. For the others, a key (hole, label) is listed per face, the keys
 * are sorted, and equal ones are counted.
 */
#include "kernels/components/components_stages_cuda.cuh"
#include "volumes/labels.h"

#include <cub/device/device_radix_sort.cuh>

namespace lob::components
{

enum { HOLES_THREADS = 256 };

typedef struct {
    join_params join;
    const void *labels;
    lob_type type;
    int64_t found;
    u64 *best;        /* found: faces << 32 | ~label, the most faces of any label so far */
    uint32_t *lowest; /* found: of the labels that it touches; later the label that it takes */
    uint32_t *highest;
    uint32_t *open; /* found: reaches a border */
    u64 *listed;    /* keys in the list */
    u64 *keys;      /* hole << 32 | label, a key per face; NULL: keys are counted only */
    int64_t keys_count;
} holes_params;

/* Passes over the volume. */
enum pass { FIND_OPEN, FIND_EXTREMES, LIST_FACES };

template <typename K>
static __device__ inline bool at_border(const join_params &p, int y, int z, int w, uint32_t columns)
{
    const uint32_t last_x = (p.nx - 1) / WORD == w ? 1u << (p.nx - 1) % WORD : 0;
    for (int i = 0; i < K::rows; i++) {
        const int row_y = y_of_row<K>(y, i), row_z = z_of_row<K>(z, i);
        const uint32_t bits = row_word(p, p.filled, row_y, row_z, w) & columns;
        if (!bits) continue;
        if (p.along[0] && ((w == 0 && bits & 1) || bits & last_x)) return true;
        if (p.along[1] && (row_y == 0 || row_y == p.ny - 1)) return true;
        if (p.along[2] && (row_z == 0 || row_z == p.nz - 1)) return true;
    }
    return false;
}

static __device__ inline void note_face(const holes_params &h, uint32_t hole, int64_t voxel,
                                        pass now)
{
    const uint32_t label = (uint32_t)lob_label_at(h.labels, h.type, voxel);
    if (now == FIND_EXTREMES) {
        if (label < __ldca(h.lowest + hole)) atomicMin(&h.lowest[hole], label);
        if (label > __ldca(h.highest + hole)) atomicMax(&h.highest[hole], label);
    } else {
        const u64 next = atomicAdd(h.listed, 1ull);
        if (h.keys) h.keys[next] = (u64)hole << 32 | label;
    }
}

/* The faces of a run of a closed hole. None of its voxels is at a border, so all neighbours are
 * inside. */
template <typename K>
static __device__ inline void note_faces(const holes_params &h, uint32_t hole, int y, int z, int w,
                                         uint32_t columns, pass now)
{
    const join_params &p = h.join;
    for (int i = 0; i < K::rows; i++) {
        const int row_y = y_of_row<K>(y, i), row_z = z_of_row<K>(z, i);
        const uint32_t row = row_word(p, p.filled, row_y, row_z, w), bits = row & columns;
        if (!bits) continue;
        for (int side = 0; side < 6; side++) {
            const int axis = side / 2, by = side % 2 ? 1 : -1;
            if (!p.along[axis]) continue;
            const int dx = axis == 0 ? by : 0, dy = axis == 1 ? by : 0, dz = axis == 2 ? by : 0;
            uint32_t next = row_word(p, p.filled, row_y + dy, row_z + dz, w);
            if (dx < 0) next = bits_back(next, row_word(p, p.filled, row_y, row_z, w - 1));
            if (dx > 0) next = bits_ahead(next, row_word(p, p.filled, row_y, row_z, w + 1));
            const int64_t to = ((int64_t)(row_z + dz) * p.ny + row_y + dy) * p.nx + dx;
            for (uint32_t left = bits & ~next; left; left &= left - 1)
                note_face(h, hole, to + (int64_t)w * WORD + lowest_bit(left), now);
        }
    }
}

template <typename K, pass NOW>
static __global__ void __launch_bounds__(TILE_THREADS) holes_kernel(holes_params h)
{
    const join_params &p = h.join;
    const int thread = (int)threadIdx.x, mrow = thread / TILE_WORDS;
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        const tile_position at = position_of_tile(p, tile);
        const int y = mrow_y(p, at, mrow), z = mrow_z(p, at, mrow);
        const int w = at.tile_x * TILE_WORDS + thread % TILE_WORDS;
        const uint16_t *local_root = p.local_root + p.first_run[tile * TILE_THREADS + thread];
        for (uint32_t left = mrow_word_at<K>(p, y, z, w).starts; left; left &= left - 1) {
            const uint32_t hole = p.parent[piece_of_root(p, at, *local_root++)] - 1;
            const uint32_t columns = run_of(~0u, left);
            if (__ldca(h.open + hole)) continue;
            if (NOW == FIND_OPEN) {
                if (at_border<K>(p, y, z, w, columns)) h.open[hole] = 1;
            } else if (NOW == FIND_EXTREMES || h.lowest[hole] != h.highest[hole])
                note_faces<K>(h, hole, y, z, w, columns, NOW);
        }
    }
}

/* The faces that a label has with a hole: keys from its first one to the next other key. */
static __global__ void __launch_bounds__(HOLES_THREADS) count_faces_kernel(holes_params h)
{
    const int64_t step = grid_step();
    for (int64_t i = grid_first(); i < h.keys_count; i += step) {
        const u64 key = h.keys[i];
        if (i > 0 && h.keys[i - 1] == key) continue;
        int64_t same = i, other = h.keys_count; /* keys[same] is key, keys[other] is not */
        while (other - same > 1) {
            const int64_t middle = same + (other - same) / 2;
            if (h.keys[middle] == key)
                same = middle;
            else
                other = middle;
        }
        const u64 label = ~(uint32_t)key;
        atomicMax(&h.best[key >> 32], (u64)(other - i) << 32 | label);
    }
}

/* Lowest becomes the label that a hole is given; 0 for what is no hole. */
static __global__ void __launch_bounds__(HOLES_THREADS) decide_kernel(holes_params h)
{
    const int64_t step = grid_step();
    for (int64_t i = grid_first(); i < h.found; i += step) {
        if (h.open[i])
            h.lowest[i] = 0;
        else if (h.lowest[i] != h.highest[i])
            h.lowest[i] = ~(uint32_t)h.best[i];
    }
}

template <pass NOW> static lob_status run_pass(call *c, const holes_params &h, lob_error *error)
{
    return with_merge(c->join, [&](auto kind) {
        return lob_launch(c->device, holes_kernel<decltype(kind), NOW>, "looking at holes",
                          c->join.tiles, TILE_THREADS, 0, h, error);
    });
}

/* List the faces of holes that touch several labels, sort them, and count them. */
static lob_status count_faces(call *c, holes_params *h, lob_error *error)
{
    u64 listed = 0, *sorted = NULL;
    size_t sort = 0;
    void *memory = NULL, *sort_memory = NULL;
    cudaStream_t stream = lob_device_cuda_stream(c->device);
    LOB_TRY(lob_device_fill(c->device, h->listed, 0, sizeof *h->listed, error));
    LOB_TRY(run_pass<LIST_FACES>(c, *h, error));
    LOB_TRY(lob_device_download(c->device, &listed, h->listed, sizeof listed, error));
    if (listed == 0) return LOB_OK;
    const int64_t n = (int64_t)listed;
    LOB_CUDA(cub::DeviceRadixSort::SortKeys(NULL, sort, h->keys, h->keys, n, 0, 64, stream));
    const auto lay_out = [&](lob::arena block) {
        h->keys = block.take<u64>(n);
        sorted = block.take<u64>(n);
        sort_memory = block.take<unsigned char>((int64_t)sort);
        return block.used;
    };
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_LISTS, lay_out(lob::arena()), &memory,
                                   error));
    lay_out(lob::arena(memory));
    LOB_TRY(lob_device_fill(c->device, h->listed, 0, sizeof *h->listed, error));
    LOB_TRY(run_pass<LIST_FACES>(c, *h, error));
    LOB_CUDA(cub::DeviceRadixSort::SortKeys(sort_memory, sort, h->keys, sorted, n, 0, 64, stream));
    h->keys = sorted;
    h->keys_count = n;
    return lob_launch_over(c->device, count_faces_kernel, "counting faces", n, HOLES_THREADS, *h,
                           error);
}

lob_status fill_holes(call *c, void *labels, lob_type type, lob_error *error)
{
    holes_params h = {};
    const lob_dims dims = c->in->image->dims;
    c->component_bytes = sizeof *h.best + 3 * sizeof *h.lowest;
    LOB_TRY(plan_join(c, dims, lob_components_around(c->options->neighbours),
                      c->options->slice_axis, false, error));
    LOB_TRY(allocate_join(c, error));
    LOB_TRY(find_background(c, labels, type, error));
    LOB_TRY(join_pieces(c, error));
    LOB_TRY(fetch_found(c, error));
    if (c->found == 0) return LOB_OK;
    h.join = c->join;
    /* An axis of one voxel has no border that counts, and no neighbours; without any, no holes. */
    for (int a = 0; a < 3; a++) h.join.along[a] = c->join.along[a] && lob_side(dims, a) > 1;
    if (!h.join.along[0] && !h.join.along[1] && !h.join.along[2]) return LOB_OK;
    h.labels = labels;
    h.type = type;
    h.found = c->found;
    h.best = (u64 *)c->per_component;
    h.lowest = (uint32_t *)(h.best + c->found);
    h.highest = h.lowest + c->found;
    h.open = h.highest + c->found;
    h.listed = c->counts;
    LOB_TRY(lob_device_fill(c->device, h.best, 0, c->found * c->component_bytes, error));
    LOB_TRY(
        lob_device_fill(c->device, h.lowest, 0xff, c->found * (int64_t)sizeof *h.lowest, error));
    LOB_TRY(run_pass<FIND_OPEN>(c, h, error));
    LOB_TRY(run_pass<FIND_EXTREMES>(c, h, error));
    LOB_TRY(count_faces(c, &h, error));
    LOB_TRY(lob_launch_over(c->device, decide_kernel, "labelling holes", h.found, HOLES_THREADS, h,
                            error));
    return write_labels(c, labels, type, h.lowest, true, error);
}

} /* namespace lob::components */
