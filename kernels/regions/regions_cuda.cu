/*
 * Regions on the GPU, from the host: fine levels, the table's memory, the kernels in order, and the
 * arrays that travel. regions_tiles_cuda.cuh has the kernel that measures.
 */
#include "kernels/backend_cuda.h"
#include "kernels/device/arena.cuh"
#include "kernels/regions/regions_sum.h"
#include "kernels/regions/regions_tiles_cuda.cuh"
#include "kernels/share.h"

namespace lob::regions
{

enum { ROW_THREADS = 256 };

enum { BAD_LABEL, OVERFULL, COUNTERS }; /* the first voxel, the first region; ~0: none */

/* ---- rows ---- */

static __global__ void __launch_bounds__(ROW_THREADS) clear_kernel(regions_params s)
{
    for (int64_t i = grid_first(); i < s.count; i += grid_step()) {
        lob_region none = {};
        none.first = -1; /* the largest as an unsigned number */
        for (int a = 0; a < 3; a++) none.low[a] = -1;
        s.regions[i] = none;
        if (s.sums) clear_values(&s.sums[i]);
    }
}

/* Turn ordered keys back into values, and rows without voxels or data into zeros. */
static __global__ void __launch_bounds__(ROW_THREADS) finish_kernel(regions_params s)
{
    for (int64_t i = grid_first(); i < s.count; i += grid_step()) {
        if (s.regions[i].voxels == 0) s.regions[i] = lob_region{};
        if (!s.sums) continue;
        const value_sums v = s.sums[i];
        lob_region_values *values = (lob_region_values *)&s.sums[i];
        values->lowest = v.data ? lob_value_of_key_double(v.lowest) : 0;
        values->highest = v.data ? lob_value_of_key_double(v.highest) : 0;
        if (v.data > 1ull << LOB_REGION_DATA_BITS) atomicMin(s.overfull, (u64)i);
    }
}

static lob_status refuse_values(int64_t count, const u64 counter[COUNTERS], lob_error *error)
{
    if (counter[BAD_LABEL] != ~0ull)
        return lob_regions_refuse_label((int64_t)counter[BAD_LABEL], count, error);
    if (counter[OVERFULL] != ~0ull)
        return lob_fail(error, LOB_EDATA,
                        "label %lld has more than 2^32 voxels, too many to add up intensities of; "
                        "leave the image out",
                        (long long)counter[OVERFULL] + 1);
    return LOB_OK;
}

/* The fine levels of an image's finite values; work: of scan_bytes. */
static lob_status find_fine(lob_fine_levels *fine, const lob_device_image *image, lob_dims dims,
                            lob_device *device, void *work, lob_error *error)
{
    const lob_device_view view = lob_device_view_of(dims);
    lob_extremes all = {};
    lob_levels unused = {};
    LOB_TRY(levels::scan_extremes(device, &all, &unused, image, &view, work, error));
    *fine = lob_fine_levels_of(&all, image->type);
    return LOB_OK;
}

/* ---- one call ---- */

static lob_status check_input(const lob_regions_input *in, const lob_device *device,
                              lob_error *error)
{
    const int64_t max_side = INT32_MAX - 4096;
    if (!device) return lob_device_missing(error);
    LOB_TRY(lob_regions_check(in, error));
    if (in->dims.nx > max_side || in->dims.ny > max_side || in->dims.nz > max_side)
        return lob_device_too_large(error);
    return LOB_OK;
}

static regions_params params_of(const lob_regions_input *in)
{
    regions_params s = {};
    s.labels = in->labels;
    s.type = in->type;
    s.count = in->count;
    s.nx = (int32_t)in->dims.nx;
    s.ny = (int32_t)in->dims.ny;
    s.nz = (int32_t)in->dims.nz;
    s.tiles_x = (s.nx + TILE_X - 1) / TILE_X;
    s.tiles_y = (s.ny + TILE_Y - 1) / TILE_Y;
    s.tiles = (int64_t)s.tiles_x * s.tiles_y * ((s.nz + TILE_Z - 1) / TILE_Z);
    return s;
}

/* Lay out the table, and behind it counters and work; returns the bytes of all. */
static int64_t lay_out(regions_params *s, void **work, int64_t *working,
                       const lob_regions_input *in, arena block)
{
    s->regions = block.take<lob_region>(in->count);
    s->sums = in->image ? block.take<value_sums>(in->count) : NULL;
    const int64_t table = block.used;
    u64 *const counter = block.take<u64>(COUNTERS);
    *work = block.take<unsigned char>(in->image ? levels::scan_bytes(1, 1) : 0);
    s->bad_label = counter + BAD_LABEL;
    s->overfull = counter + OVERFULL;
    *working = block.used - table;
    return block.used;
}

/* Working memory counts, the table does not: it is output. */
static lob_status allocate(regions_params *s, void **work, const lob_regions_input *in,
                           lob_device_budget *budget, lob_error *error)
{
    lob_device_budget with_table = *budget;
    int64_t working = 0;
    void *memory = NULL;
    const int64_t bytes = lay_out(s, work, &working, in, arena());
    if (working > lob_device_budget_left(budget, LOB_DEVICE_LISTS, bytes))
        return lob_device_budget_refuse(budget, LOB_DEVICE_LISTS, working, error);
    with_table.max_bytes = 0;
    LOB_TRY(lob_device_budget_take(&with_table, LOB_DEVICE_LISTS, bytes, &memory, error));
    lob_device_budget_hold(budget, LOB_DEVICE_LISTS, working);
    lay_out(s, work, &working, in, arena(memory));
    return LOB_OK;
}

template <typename T, bool VALUES>
static lob_status add_up_as(lob_device *device, const regions_params &s, lob_error *error)
{
    const size_t shared = sizeof(tile_table) + (VALUES ? ROWS * sizeof(value_sums) : 0);
    LOB_TRY(lob_allow_shared(regions_kernel<T, VALUES>, shared, error));
    return lob_launch(device, regions_kernel<T, VALUES>, "measuring regions", s.tiles,
                      REGION_THREADS, shared, s, error);
}

template <bool VALUES>
static lob_status add_up(lob_device *device, const regions_params &s, lob_error *error)
{
    if (s.type == LOB_U8) return add_up_as<uint8_t, VALUES>(device, s, error);
    if (s.type == LOB_I16) return add_up_as<int16_t, VALUES>(device, s, error);
    return add_up_as<int32_t, VALUES>(device, s, error);
}

lob_status measure(device_table *table, lob_fine_levels *fine, bool known,
                   const lob_regions_input *in, lob_device_budget *budget, lob_error *error)
{
    lob_device *const device = budget->device;
    u64 counter[COUNTERS];
    void *work = NULL;
    *table = {};
    LOB_TRY(check_input(in, device, error));
    LOB_TRY(lob_device_enter(device, error));
    regions_params s = params_of(in);
    LOB_TRY(allocate(&s, &work, in, budget, error));
    if (in->image) {
        s.values.image = lob_device_image_of(in->image, in->image->data, NULL, NULL);
        s.values.image.channels = 1;
        if (!known) LOB_TRY(find_fine(fine, &s.values.image, in->dims, device, work, error));
        s.values.levels = lob_device_levels_of(*fine);
    }
    LOB_TRY(lob_device_fill(device, s.bad_label, 0xff, sizeof counter, error));
    LOB_TRY(
        lob_launch_over(device, clear_kernel, "clearing regions", s.count, ROW_THREADS, s, error));
    if (in->count > 0) /* labels are not looked at where none counts */
        LOB_TRY(in->image ? add_up<true>(device, s, error) : add_up<false>(device, s, error));
    LOB_TRY(lob_launch_over(device, finish_kernel, "finishing regions", s.count, ROW_THREADS, s,
                            error));
    LOB_TRY(lob_device_download(device, counter, s.bad_label, sizeof counter, error));
    LOB_TRY(refuse_values(s.count, counter, error));
    table->regions = s.regions;
    table->values = (const lob_region_values *)s.sums;
    return LOB_OK;
}

} /* namespace lob::regions */

using namespace lob::regions;

lob_status lob_regions_cuda(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                            const lob_regions_input *in, const lob_context *context,
                            lob_error *error)
{
    const lob_volume *const image = in->image;
    lob_volume image_there = image ? *image : lob_volume_empty();
    lob_regions_input there = *in;
    lob_fine_levels found = {};
    device_table table;
    LOB_TRY(check_input(in, context->device, error));
    if (image) there.image = &image_there;
    const int64_t voxels = lob_dims_voxels(in->dims);
    lob_device_budget budget = lob_device_budget_of(context, "regions", voxels);
    const int64_t label_bytes = (int64_t)lob_type_of(in->type)->bytes;
    const lob_device_array travels[] = {
        lob_device_input(&there.labels, in->labels, lob_product(voxels, label_bytes, 1, 1),
                         in->place),
        lob_device_volume(&image_there.data, image),
    };
    LOB_TRY(lob_device_send(context->device, travels, 2, voxels, error));
    LOB_TRY(lob_report(context, 0.5));
    LOB_TRY(measure(&table, &found, false, &there, &budget, error));
    if (fine && image) *fine = found;
    LOB_TRY(lob_device_download(context->device, regions, table.regions,
                                in->count * (int64_t)sizeof *regions, error));
    if (table.values)
        LOB_TRY(lob_device_download(context->device, values, table.values,
                                    in->count * (int64_t)sizeof *values, error));
    return lob_report(context, 1.0);
}
