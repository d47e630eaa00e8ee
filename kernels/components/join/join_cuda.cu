/* Joining on the device: the layout of a grid's runs, and the stages in order. */
#include "kernels/components/components_job_cuda.cuh"
#include "kernels/components/join/border_join_cuda.cuh"
#include "kernels/components/join/number_cuda.cuh"
#include "kernels/components/join/tile_join_cuda.cuh"
#include "kernels/components/join/tile_join_faces_cuda.cuh"
#include "volumes/bytes.h"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

/* ---- layout ---- */

static int bits_for(int64_t n, int most)
{
    int bits = 0;
    while (bits < most && INT64_C(1) << bits < n) bits++;
    return bits;
}

/*
 * Lines take the rows together that are neighbours in every way. A tile is a cube of lines, or as
 * near to one as the volume allows.
 */
static void plan_lines(runs *r, int neighbours, int slice_axis)
{
    const bool full = neighbours == 26 || neighbours == 8;
    r->near = full ? 3 : neighbours == 18 ? 2 : 1;
    for (int a = 0; a < 3; a++) r->along[a] = a != slice_axis;
    r->by = full && !r->directed && r->along[1] ? 2 : 1;
    r->bz = full && !r->directed && r->along[2] ? 2 : 1;
    /* two runs of a word that are not joined along x have a voxel between them */
    r->slots = r->directed || !r->along[0] ? WORD : WORD / 2;
    r->line_slots = r->slots == WORD ? r->nx : r->words * r->slots;
    r->ly = (r->ny + r->by - 1) / r->by;
    r->lz = (r->nz + r->bz - 1) / r->bz;
    const int all = 2 * TILE_SIDE_BITS;
    r->tile_z_bits = bits_for(r->lz, TILE_SIDE_BITS);
    r->tile_y_bits = bits_for(r->ly, all - r->tile_z_bits);
    r->tile_z_bits = all - r->tile_y_bits;
    const int32_t tile_y = 1 << r->tile_y_bits, tile_z = 1 << r->tile_z_bits;
    r->tiles_x = (r->words + TILE_WORDS - 1) / TILE_WORDS;
    r->tiles_y = (r->ly + tile_y - 1) / tile_y;
    r->tiles_z = (r->lz + tile_z - 1) / tile_z;
    r->tiles = (int64_t)r->tiles_x * r->tiles_y * r->tiles_z;
    r->lines = (int64_t)r->ly * r->lz * r->tiles_x;
    r->row_words = (int64_t)r->ny * r->nz * r->words;
    r->row_groups = (r->row_words + GROUP_WORDS - 1) / GROUP_WORDS;
}

static bool wanted(const runs *r, int dx, int dy, int dz)
{
    const int apart = (dx != 0) + (dy != 0) + (dz != 0);
    return apart <= r->near && (!dx || r->along[0]) && (!dy || r->along[1]) && (!dz || r->along[2]);
}

/* Every array of the runs in turn; lays them out from at on, which may be NULL to add them up. */
static int64_t place_arrays(joining *j, unsigned char *memory)
{
    runs *r = &j->r;
    unsigned char *at = memory;
    const int64_t row_bytes = r->row_words * (int64_t)sizeof(uint32_t);
    const int64_t threads = r->tiles * TILE_THREADS, groups = r->row_groups;
    const int64_t codes = (int64_t)r->ly * r->lz * r->line_slots;
    j->counts = (wide *)lob_take(&at, 2 * (int64_t)sizeof(wide));
    r->filled = (uint32_t *)lob_take(&at, row_bytes);
    for (int k = 0; k < DIRECTIONS; k++) r->plane[k] = NULL;
    for (int dz = -1; dz <= 0; dz++)
        for (int dy = -1; dy <= (dz ? 1 : 0); dy++)
            for (int dx = -1; dx <= (dz || dy ? 1 : -1); dx++)
                if (r->directed && wanted(r, dx, dy, dz))
                    r->plane[direction_of(dx, dy, dz)] = (uint32_t *)lob_take(&at, row_bytes);
    r->offset = (uint32_t *)lob_take(&at, threads * (int64_t)sizeof(uint32_t));
    r->code = (uint16_t *)lob_take(&at, codes * (int64_t)sizeof(uint16_t));
    r->runs = (uint32_t *)lob_take(&at, r->tiles * (int64_t)sizeof(uint32_t));
    r->line_base = (uint32_t *)lob_take(&at, (r->lines + 1) * (int64_t)sizeof(uint32_t));
    r->first_bits = NULL;
    r->first_base = NULL;
    if (r->by * r->bz > 1) {
        r->first_bits = (bit_group *)lob_take(&at, (groups + 1) * (int64_t)sizeof(bit_group));
        r->first_base = (uint32_t *)lob_take(&at, (groups + 1) * (int64_t)sizeof(uint32_t));
    }
    j->scan = lob_take(&at, (int64_t)j->scan_bytes);
    return at - memory;
}

/* Exclusive sums of the components' first voxels by groups of bits, with the sum of all. */
static cudaError_t scan_firsts(void *memory, size_t *bytes, const runs *r, cudaStream_t queue)
{
    return cub::DeviceScan::ExclusiveSum(memory, *bytes,
                                         thrust::make_transform_iterator(r->first_bits, ones{}),
                                         r->first_base, r->row_groups + 1, queue);
}

lob_status lob_joining_plan(joining *j, lob_dims dims, int neighbours, int slice_axis,
                            bool directed, lob_error *error)
{
    const int64_t side = INT32_MAX - 4096, most = UINT32_MAX; /* room for a tile more, and for -1 */
    runs *r = &j->r;
    *r = runs{};
    if (dims.nx > side || dims.ny > side || dims.nz > side)
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "a side of the volume is too long for a GPU");
    r->nx = (int32_t)dims.nx;
    r->ny = (int32_t)dims.ny;
    r->nz = (int32_t)dims.nz;
    r->words = (r->nx + WORD - 1) / WORD;
    r->directed = directed;
    plan_lines(r, neighbours, slice_axis);
    if (r->tiles > most / (TILE_THREADS * r->slots))
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_LESS_MEMORY,
                             "%.1f thousand million voxels are more than a GPU numbers at once",
                             (double)dims.nx * (double)dims.ny * (double)dims.nz / 1e9);
    size_t lines = 0, firsts = 0;
    LOB_CUDA(cub::DeviceScan::ExclusiveSum(NULL, lines, r->line_base, r->line_base, r->lines + 1,
                                           lob_device_cuda_stream(j->device)));
    if (r->by * r->bz > 1)
        LOB_CUDA(scan_firsts(NULL, &firsts, r, lob_device_cuda_stream(j->device)));
    j->scan_bytes = lines > firsts ? lines : firsts;
    return LOB_OK;
}

/* ---- memory ---- */

static lob_status refuse(const joining *j, int64_t bytes, lob_error *error)
{
    const runs *r = &j->r;
    const double voxels = (double)r->nx * r->ny * r->nz / 1e6;
    char needed[LOB_BYTES_TEXT], room[LOB_BYTES_TEXT];
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "components need %s of working memory on the GPU for %.1f million voxels, "
                         "and %s are allowed and free, enough for %.1f million",
                         lob_bytes_text(needed, bytes), voxels, lob_bytes_text(room, j->budget),
                         voxels / (double)bytes * (double)j->budget);
}

int64_t lob_joining_bytes_with(const joining *j, lob_device_block block, int64_t bytes)
{
    for (int b = 0; b < LOB_DEVICE_BLOCKS; b++)
        if (b != block) bytes += j->held[b];
    return bytes;
}

void lob_joining_hold(joining *j, lob_device_block block, int64_t bytes)
{
    if (bytes > j->held[block]) j->held[block] = bytes;
    const int64_t all = lob_joining_bytes_with(j, block, j->held[block]);
    if (all > j->bytes) j->bytes = all;
}

lob_status lob_joining_block(joining *j, lob_device_block block, int64_t bytes, void **memory,
                             lob_error *error)
{
    const int64_t most = j->context->max_memory, before = lob_joining_bytes_with(j, block, 0);
    j->budget = before + lob_device_block_capacity(j->device, block, bytes);
    if (most && most < j->budget) j->budget = most;
    if (before + bytes > j->budget) return refuse(j, before + bytes, error);
    lob_joining_hold(j, block, bytes);
    return lob_device_block_take(j->device, block, memory, bytes, error);
}

lob_status lob_joining_allocate(joining *j, lob_error *error)
{
    void *memory = NULL;
    const int64_t bytes = place_arrays(j, NULL);
    LOB_TRY(lob_joining_block(j, LOB_DEVICE_WORK, bytes, &memory, error));
    place_arrays(j, (unsigned char *)memory);
    return LOB_OK;
}

/* What there is of each piece, and what a scan over them takes. */
static lob_status allocate_pieces(joining *j, lob_error *error)
{
    runs *r = &j->r;
    size_t scan = 0;
    void *memory = NULL;
    const int64_t n = r->pieces + 1, ids = n * (int64_t)sizeof(uint32_t);
    const int64_t firsts = r->by * r->bz > 1 ? n * (int64_t)sizeof(wide) : 0;
    LOB_CUDA(cub::DeviceScan::ExclusiveSum(NULL, scan, r->number, r->number, n,
                                           lob_device_cuda_stream(j->device)));
    const int64_t more = n * j->piece_bytes, slack = 5 * 256;
    const int64_t numbers = n <= j->spare_words ? 0 : ids;
    const int64_t bytes = ids + numbers + firsts + more + (int64_t)scan + slack;
    LOB_TRY(lob_joining_block(j, LOB_DEVICE_TABLES, bytes, &memory, error));
    unsigned char *at = (unsigned char *)memory;
    r->parent = (uint32_t *)lob_take(&at, ids);
    r->number = numbers ? (uint32_t *)lob_take(&at, numbers) : j->spare;
    r->first = firsts ? (wide *)lob_take(&at, firsts) : NULL;
    j->of_pieces = lob_take(&at, more);
    if (scan > j->scan_bytes) j->scan = at;
    if (scan > j->scan_bytes) j->scan_bytes = scan;
    return LOB_OK;
}

/* ---- stages ---- */

static lob_status launch(joining *j, void (*kernel)(runs), const char *name, int64_t n, int threads,
                         lob_error *error)
{
    return lob_launch(j->device, kernel, name, lob_grid_blocks(j->device, n, threads), threads, 0,
                      j->r, error);
}

/* In place; n includes an element for the sum. */
static lob_status scan(joining *j, uint32_t *values, int64_t n, lob_error *error)
{
    LOB_CUDA(cub::DeviceScan::ExclusiveSum(j->scan, j->scan_bytes, values, values, n,
                                           lob_device_cuda_stream(j->device)));
    return LOB_OK;
}

/* Where the number of components lies when they are numbered. */
static const uint32_t *found_at(const runs *r)
{
    return r->first ? r->first_base + r->row_groups : r->parent + r->pieces;
}

static lob_status fetch(joining *j, int64_t *value, const uint32_t *from, lob_error *error)
{
    uint32_t got = 0;
    LOB_TRY(lob_device_download(j->device, &got, from, sizeof got, error));
    *value = got;
    return LOB_OK;
}

/* The kernel that joins in tiles, and its shared memory. */
template <typename K> static auto tile_kernel_of(int *shared)
{
    constexpr bool faces = K::directed && K::near == 1 && K::slots == MOST_SLOTS;
    const int words = faces ? TILE_NODES : TILE_THREADS * (int)tile_forest<K>::stride;
    *shared = words * (int)sizeof(uint32_t);
    if constexpr (faces)
        return tile_faces_kernel;
    else
        return tile_kernel<K>;
}

template <typename K> static lob_status join_tiles(joining *j, lob_error *error)
{
    runs *r = &j->r;
    int shared = 0;
    const auto kernel = tile_kernel_of<K>(&shared);
    LOB_CUDA(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  shared));
    LOB_CUDA(cudaMemsetAsync(r->line_base + r->lines, 0, sizeof *r->line_base,
                             lob_device_cuda_stream(j->device)));
    LOB_TRY(lob_launch(j->device, kernel, "joining in tiles", r->tiles, TILE_THREADS,
                       (size_t)shared, *r, error));
    LOB_TRY(scan(j, r->line_base, r->lines + 1, error));
    return fetch(j, &r->pieces, r->line_base + r->lines, error);
}

template <typename K> static lob_status join_borders(joining *j, lob_error *error)
{
    const runs *r = &j->r;
    const int64_t x = (int64_t)(r->tiles_x - 1) * r->ly * r->lz;
    const int64_t words = words_at_faces(*r, false) + words_at_faces(*r, true);
    const int64_t others = lanes_at_faces(*r, false) + lanes_at_faces(*r, true);
    LOB_TRY(launch(j, start_kernel, "joining tiles", r->pieces, NUMBER_THREADS, error));
    LOB_TRY(launch(j, border_x_kernel<K>, "joining across x", x, BORDER_THREADS, error));
    if (x && words > r->pieces / 64) /* shortening pays where many pairs are looked at afterwards */
        LOB_TRY(launch(j, flatten_kernel, "shortening ways", r->pieces, NUMBER_THREADS, error));
    LOB_TRY(launch(j, border_kernel<K>, "joining across y and z", others, BORDER_THREADS, error));
    return launch(j, root_kernel, "finding roots", r->pieces + 1, NUMBER_THREADS, error);
}

template <typename K> static lob_status number_components(joining *j, lob_error *error)
{
    runs *r = &j->r;
    const bool from_runs = j->options->regions && !j->options->fill_holes; /* want roots counted */
    if (!r->first || from_runs) LOB_TRY(scan(j, r->number, r->pieces + 1, error));
    if (!r->first)
        return launch(j, number_kernel, "numbering", r->pieces + 1, NUMBER_THREADS, error);
    LOB_CUDA(cudaMemsetAsync(r->first_bits, 0, (size_t)(r->row_groups + 1) * sizeof(bit_group),
                             lob_device_cuda_stream(j->device)));
    LOB_TRY(lob_launch(j->device, first_kernel<K>, "finding first voxels", r->tiles, TILE_THREADS,
                       0, *r, error));
    LOB_TRY(launch(j, mark_kernel, "marking first voxels", r->pieces, NUMBER_THREADS, error));
    LOB_CUDA(scan_firsts(j->scan, &j->scan_bytes, r, lob_device_cuda_stream(j->device)));
    return launch(j, number_kernel, "numbering", r->pieces + 1, NUMBER_THREADS, error);
}

template <typename K> static lob_status join(joining *j, lob_error *error)
{
    LOB_TRY(join_tiles<K>(j, error));
    LOB_TRY(lob_joining_done(j, 0.4));
    LOB_TRY(allocate_pieces(j, error));
    LOB_TRY(join_borders<K>(j, error));
    return number_components<K>(j, error);
}

/* A row fits where it agrees with what was planned. */
static const struct {
    int near, by, bz, slots;
    bool directed;
    lob_status (*join)(joining *j, lob_error *error);
} kinds[] = {
    {1, 1, 1, 16, false, join<kind<1, 1, 1, false, 4>>},
    {1, 1, 1, 32, false, join<kind<1, 1, 1, false, 5>>},
    {2, 1, 1, 16, false, join<kind<2, 1, 1, false, 4>>},
    {3, 2, 2, 16, false, join<kind<3, 2, 2, false, 4>>},
    {3, 2, 2, 32, false, join<kind<3, 2, 2, false, 5>>},
    {3, 1, 2, 16, false, join<kind<3, 1, 2, false, 4>>},
    {3, 2, 1, 16, false, join<kind<3, 2, 1, false, 4>>},
    {1, 1, 1, 32, true,  join<kind<1, 1, 1, true,  5>>},
    {2, 1, 1, 32, true,  join<kind<2, 1, 1, true,  5>>},
    {3, 1, 1, 32, true,  join<kind<3, 1, 1, true,  5>>},
};

/* What the host does not wait for; found is not known yet. */
static lob_status join_all(joining *j, lob_error *error)
{
    const runs *r = &j->r;
    for (const auto &k : kinds)
        if (k.near == r->near && k.by == r->by && k.bz == r->bz && k.slots == r->slots &&
            k.directed == r->directed)
            return k.join(j, error);
    return lob_fail(error, LOB_EINTERNAL, "no way to join this neighbourhood");
}

lob_status lob_joining_join(joining *j, lob_error *error)
{
    LOB_TRY(join_all(j, error));
    LOB_TRY(lob_joining_done(j, 0.6));
    return fetch(j, &j->found, found_at(&j->r), error);
}

/* ---- pieces of labels ---- */

static lob_status check_count(joining *j, lob_error *error)
{
    const int64_t most = INT32_MAX - 1;
    if (j->r.pieces <= most) return LOB_OK;
    LOB_TRY(fetch(j, &j->found, found_at(&j->r), error));
    if (j->found <= most) return LOB_OK;
    return lob_fail(error, LOB_EDATA, "%lld pieces are more than labels can number",
                    (long long)j->found);
}

lob_status lob_components_label_pieces_cuda(lob_components_label_pieces *pieces, int32_t *labels,
                                            lob_dims dims, int slice_axis,
                                            const lob_context *context, lob_error *error)
{
    lob_volume image = {};
    lob_components_input in = {};
    lob_components_options options = {};
    lob_components_arrays arrays = {};
    lob_context quiet = *context;
    joining j = {};
    image.type = options.type = LOB_I32;
    image.dims = dims;
    image.channels = 1;
    image.slope = 1;
    in.image = &image;
    options.join = LOB_JOIN_EQUAL;
    options.range[0] = -INFINITY;
    options.range[1] = INFINITY;
    options.slice_axis = slice_axis;
    options.neighbours = slice_axis < 0 ? 6 : 4;
    arrays.image = arrays.labels = labels;
    quiet.progress = NULL;
    j.held[LOB_DEVICE_WORK] = pieces->work;
    j.spare = (uint32_t *)labels;
    j.spare_words = lob_voxels(&image);
    j.device = context->device;
    j.in = &in;
    j.options = &options;
    j.arrays = &arrays;
    j.context = &quiet;
    j.rule = lob_component_rule_of(&image, &options);
    LOB_TRY(lob_joining_plan(&j, dims, options.neighbours, slice_axis, true, error));
    LOB_TRY(lob_joining_allocate(&j, error));
    LOB_TRY(lob_joining_classify(&j, error));
    LOB_TRY(join_all(&j, error));
    LOB_TRY(check_count(&j, error));
    LOB_TRY(lob_joining_paint(&j, labels, LOB_I32, NULL, false, error));
    pieces->found = found_at(&j.r);
    pieces->table = j.r.parent;
    pieces->most = j.r.pieces;
    pieces->work = j.held[LOB_DEVICE_WORK];
    pieces->tables = j.held[LOB_DEVICE_TABLES];
    return LOB_OK;
}
