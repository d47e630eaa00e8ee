/* Regions on the device: fine levels, the table, and the way of the arrays there and back. */
#include "kernels/regions/regions_cuda.h"

#include "kernels/regions/regions_sum.h"
#include "kernels/regions/regions_tiles_cuda.cuh"
#include "volumes/bytes.h"

#include <string.h>

enum { ROW_THREADS = 256 };

enum { COUNTERS = 2 }; /* wrong, crowded */

/* ---- rows ---- */

static __device__ inline int64_t grid_first()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ inline int64_t grid_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

static __global__ void __launch_bounds__(ROW_THREADS) clear_kernel(scene s)
{
    for (int64_t i = grid_first(); i < s.count; i += grid_step()) {
        lob_region none = {};
        none.first = -1; /* the largest, as unsigned numbers are compared */
        for (int a = 0; a < 3; a++) none.low[a] = -1;
        s.regions[i] = none;
        if (s.sums) clear_values(&s.sums[i]);
    }
}

/* Rows of a table whose sums are complete. */
typedef struct {
    lob_region *regions; /* NULL: they are finished */
    value_sums *sums;    /* NULL: none */
    int64_t count;
    wide *crowded; /* the first region with too much data */
} finishing;

/* Keys become values again, and rows without voxels or data zero. */
static __global__ void __launch_bounds__(ROW_THREADS) finish_kernel(finishing f)
{
    for (int64_t i = grid_first(); i < f.count; i += grid_step()) {
        if (f.regions && f.regions[i].voxels == 0) f.regions[i] = lob_region{};
        if (!f.sums) continue;
        const value_sums v = f.sums[i];
        lob_region_values *values = (lob_region_values *)&f.sums[i];
        values->lowest = v.data ? restored(v.lowest) : 0;
        values->highest = v.data ? restored(v.highest) : 0;
        if (v.data > 1ull << LOB_REGION_DATA_BITS) atomicMin(f.crowded, (wide)i);
    }
}

static lob_status finish(const finishing &f, lob_device *device, lob_error *error)
{
    return lob_launch(device, finish_kernel, "finishing regions",
                      lob_grid_blocks(device, f.count, ROW_THREADS), ROW_THREADS, 0, f, error);
}

static lob_status explain(int64_t count, const wide counter[COUNTERS], lob_error *error)
{
    if (counter[0] != ~0ull) return lob_regions_refuse_label((int64_t)counter[0], count, error);
    if (counter[1] != ~0ull)
        return lob_fail(error, LOB_EDATA,
                        "label %lld has more than 2^32 voxels, too many to add up intensities of; "
                        "leave the image out",
                        (long long)counter[1] + 1);
    return LOB_OK;
}

/* ---- values ---- */

static const int64_t COUNTER_BYTES = 256; /* COUNTERS, and what follows is aligned */

int64_t lob_region_values_bytes(void)
{
    return COUNTER_BYTES + lob_levels_scan_bytes(1, 1);
}

lob_status lob_region_values_begin(region_image *m, lob_fine_levels *fine, const lob_volume *volume,
                                   const void *stored, lob_device *device, void *work,
                                   lob_error *error)
{
    const lob_dims dims = volume->dims;
    lob_device_view view = {};
    lob_extremes all = {};
    int64_t data = 0, not_finite = 0;
    *m = region_image{};
    m->image.stored = stored;
    m->image.voxels = lob_voxels(volume);
    m->image.channels = 1;
    m->image.type = volume->type;
    m->image.slope = volume->slope;
    m->image.inter = volume->inter;
    view.stride[0] = 1;
    view.stride[1] = dims.nx;
    view.stride[2] = dims.nx * dims.ny;
    view.side[0] = (uint32_t)dims.nx;
    view.side[1] = (uint32_t)dims.ny;
    view.side[2] = (uint32_t)dims.nz;
    LOB_TRY(lob_levels_scan_cuda(device, &all, &data, &not_finite, &m->image, &view,
                                 (unsigned char *)work + COUNTER_BYTES, error));
    *fine = lob_fine_levels_of(&all, volume->type);
    m->levels.low_bits = fine->low_bits;
    m->levels.low = fine->low;
    m->levels.per_unit = fine->per_unit;
    m->levels.exact = fine->exact;
    return LOB_OK;
}

lob_status lob_region_values_end(value_sums *sums, int64_t count, lob_device *device, void *work,
                                 lob_error *error)
{
    wide counter[COUNTERS];
    const finishing f = {NULL, sums, count, (wide *)work + 1};
    LOB_CUDA(cudaMemsetAsync(work, 0xff, sizeof counter, lob_device_cuda_stream(device)));
    LOB_TRY(finish(f, device, error));
    LOB_TRY(lob_device_download(device, counter, work, sizeof counter, error));
    return explain(count, counter, error);
}

/* ---- the calls ---- */

static lob_status check_input(const lob_regions_input *in, const lob_context *context,
                              lob_error *error)
{
    const int64_t side = INT32_MAX - 4096;
    if (!context->device) return lob_fail(error, LOB_EDEVICE, "no GPU was opened");
    LOB_TRY(lob_regions_check(in, error));
    if (in->dims.nx > side || in->dims.ny > side || in->dims.nz > side)
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "a side of the volume is too long for a GPU");
    return LOB_OK;
}

static void describe(scene *s, const void *labels, const lob_regions_input *in)
{
    s->labels = labels;
    s->type = in->type;
    s->count = in->count;
    s->nx = (int32_t)in->dims.nx;
    s->ny = (int32_t)in->dims.ny;
    s->nz = (int32_t)in->dims.nz;
    s->tiles_x = (s->nx + TILE_X - 1) / TILE_X;
    s->tiles_y = (s->ny + TILE_Y - 1) / TILE_Y;
    s->tiles = (int64_t)s->tiles_x * s->tiles_y * ((s->nz + TILE_Z - 1) / TILE_Z);
}

static lob_status refuse(const lob_regions_input *in, int64_t bytes, int64_t room, lob_error *error)
{
    char needed[LOB_BYTES_TEXT], left[LOB_BYTES_TEXT];
    return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                         "measuring %lld labels takes %s on the GPU, and %s are allowed and free",
                         (long long)in->count, lob_bytes_text(needed, bytes),
                         lob_bytes_text(left, room));
}

/* Both blocks; the table's own bytes are output. */
static lob_status allocate(scene *s, int64_t *taken, const lob_regions_input *in,
                           const lob_context *context, lob_error *error)
{
    lob_device *device = context->device;
    const int64_t rows = in->count * (int64_t)sizeof(lob_region);
    const int64_t sums = in->image ? in->count * (int64_t)sizeof(value_sums) : 0;
    const int64_t table_bytes = rows + sums;
    const int64_t bytes = in->image ? lob_region_values_bytes() : COUNTER_BYTES;
    const int64_t most = context->max_memory,
                  room = lob_device_block_capacity(device, LOB_DEVICE_TABLES, INT64_MAX);
    void *memory = NULL;
    if (most && bytes > most) return refuse(in, bytes, most, error);
    if (table_bytes + bytes > room) return refuse(in, table_bytes + bytes, room, error);
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_WORK, &memory, bytes, error));
    s->wrong = (wide *)memory;
    s->crowded = s->wrong + 1;
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_TABLES, &memory, table_bytes, error));
    s->regions = (lob_region *)memory;
    s->sums = in->image ? (value_sums *)(s->regions + in->count) : NULL;
    *taken = bytes;
    return LOB_OK;
}

template <typename T, bool VALUES>
static lob_status add_up_as(lob_device *device, const scene &s, lob_error *error)
{
    const int shared = (int)sizeof(table) + (VALUES ? ROWS * (int)sizeof(value_sums) : 0);
    LOB_CUDA(cudaFuncSetAttribute((const void *)regions_kernel<T, VALUES>,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    return lob_launch(device, regions_kernel<T, VALUES>, "measuring regions", s.tiles,
                      REGION_THREADS, (size_t)shared, s, error);
}

template <bool VALUES>
static lob_status add_up(lob_device *device, const scene &s, lob_error *error)
{
    if (s.type == LOB_U8) return add_up_as<uint8_t, VALUES>(device, s, error);
    if (s.type == LOB_I16) return add_up_as<int16_t, VALUES>(device, s, error);
    return add_up_as<int32_t, VALUES>(device, s, error);
}

lob_status lob_regions_cuda_arrays(const lob_region **regions, const lob_region_values **values,
                                   lob_fine_levels *fine, int64_t *taken, const void *labels,
                                   const void *image, const lob_regions_input *in,
                                   const lob_context *context, lob_error *error)
{
    lob_device *device = context->device;
    lob_fine_levels levels = {};
    scene s = {};
    wide counter[COUNTERS];
    int64_t bytes = 0;
    *regions = NULL;
    *values = NULL;
    if (taken) *taken = 0;
    LOB_TRY(check_input(in, context, error));
    LOB_TRY(lob_device_enter(device, error));
    describe(&s, labels, in);
    LOB_TRY(allocate(&s, &bytes, in, context, error));
    if (taken) *taken = bytes;
    if (in->image)
        LOB_TRY(
            lob_region_values_begin(&s.values, &levels, in->image, image, device, s.wrong, error));
    LOB_CUDA(cudaMemsetAsync(s.wrong, 0xff, sizeof counter, lob_device_cuda_stream(device)));
    LOB_TRY(lob_launch(device, clear_kernel, "clearing regions",
                       lob_grid_blocks(device, s.count, ROW_THREADS), ROW_THREADS, 0, s, error));
    if (in->count > 0) /* labels are not looked at where none counts */
        LOB_TRY(in->image ? add_up<true>(device, s, error) : add_up<false>(device, s, error));
    LOB_TRY(finish({s.regions, s.sums, s.count, s.crowded}, device, error));
    LOB_TRY(lob_device_download(device, counter, s.wrong, sizeof counter, error));
    LOB_TRY(explain(s.count, counter, error));
    if (fine && in->image) *fine = levels;
    *regions = in->count ? s.regions : NULL;
    *values = in->count ? (const lob_region_values *)s.sums : NULL;
    return LOB_OK;
}

/* Where the arrays of a call lie in the device's block for them. */
static lob_status send(const void **labels, const void **image, const lob_regions_input *in,
                       lob_device *device, lob_error *error)
{
    const int64_t voxels = lob_dims_voxels(in->dims);
    const int64_t of_labels = voxels * (int64_t)lob_type_of(in->type)->bytes;
    const int64_t of_image =
        in->image ? lob_product(voxels, (int64_t)lob_type_of(in->image->type)->bytes, 1, 1) : 0;
    const int64_t second = (of_labels + 255) / 256 * 256;
    const int64_t room = lob_device_block_capacity(device, LOB_DEVICE_ARRAYS, INT64_MAX);
    void *block = NULL;
    if (of_image < 0 || second + of_image > room) return refuse(in, second + of_image, room, error);
    LOB_TRY(lob_device_block_take(device, LOB_DEVICE_ARRAYS, &block, second + of_image, error));
    *labels = block;
    *image = (unsigned char *)block + second;
    LOB_TRY(lob_device_upload(device, block, in->labels, of_labels, error));
    if (!in->image) return LOB_OK;
    return lob_device_upload(device, (unsigned char *)block + second, in->image->data, of_image,
                             error);
}

lob_status lob_regions_cuda(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                            const lob_regions_input *in, const lob_context *context,
                            lob_error *error)
{
    const void *labels = NULL, *image = NULL;
    const lob_region *rows = NULL;
    const lob_region_values *sums = NULL;
    LOB_TRY(check_input(in, context, error));
    LOB_TRY(send(&labels, &image, in, context->device, error));
    if (context->progress && context->progress(context->user, 0.5)) return LOB_ECANCEL;
    LOB_TRY(lob_regions_cuda_arrays(&rows, &sums, fine, NULL, labels, image, in, context, error));
    LOB_TRY(lob_device_download(context->device, regions, rows,
                                in->count * (int64_t)sizeof *regions, error));
    if (sums)
        LOB_TRY(lob_device_download(context->device, values, sums,
                                    in->count * (int64_t)sizeof *values, error));
    return context->progress && context->progress(context->user, 1.0) ? LOB_ECANCEL : LOB_OK;
}
