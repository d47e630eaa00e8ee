/* Joining on the GPU: tiles for a neighbourhood, memory for bits, runs and pieces, and the three
 * joining stages in order. */
#include "kernels/components/components_stages_cuda.cuh"

#include <cub/device/device_scan.cuh>

namespace lob::components
{

/* ---- layout ---- */

static int bits_for(int64_t n, int max)
{
    int bits = 0;
    while (bits < max && INT64_C(1) << bits < n) bits++;
    return bits;
}

/* Rows are merged whose voxels are all neighbours. A tile has as many merged rows along y as along
 * z, where the volume allows. */
static void plan_tiles(join_params *p, int neighbours, int slice_axis)
{
    const bool full = neighbours == 26 || neighbours == 8;
    p->connectivity = full ? 3 : neighbours == 18 ? 2 : 1;
    for (int a = 0; a < 3; a++) p->along[a] = a != slice_axis;
    p->merge_y = full && !p->by_value && p->along[1] ? 2 : 1;
    p->merge_z = full && !p->by_value && p->along[2] ? 2 : 1;
    /* two runs of a word that are not joined along x have a voxel between them */
    p->slots = p->by_value || !p->along[0] ? WORD : WORD / 2;
    p->mrow_slots = p->slots == WORD ? p->nx : p->words * p->slots;
    p->mrows_y = (p->ny + p->merge_y - 1) / p->merge_y;
    p->mrows_z = (p->nz + p->merge_z - 1) / p->merge_z;
    const int all = 2 * TILE_SIDE_BITS;
    p->tile_z_bits = bits_for(p->mrows_z, TILE_SIDE_BITS);
    p->tile_y_bits = bits_for(p->mrows_y, all - p->tile_z_bits);
    p->tile_z_bits = all - p->tile_y_bits;
    const int32_t tile_y = 1 << p->tile_y_bits, tile_z = 1 << p->tile_z_bits;
    p->tiles_x = (p->words + TILE_WORDS - 1) / TILE_WORDS;
    p->tiles_y = (p->mrows_y + tile_y - 1) / tile_y;
    p->tiles_z = (p->mrows_z + tile_z - 1) / tile_z;
    p->tiles = (int64_t)p->tiles_x * p->tiles_y * p->tiles_z;
    p->tile_mrows = (int64_t)p->mrows_y * p->mrows_z * p->tiles_x;
    p->volume_words = (int64_t)p->ny * p->nz * p->words;
    p->volume_groups = (p->volume_words + GROUP_WORDS - 1) / GROUP_WORDS;
}

static bool is_neighbour(const join_params *p, int dx, int dy, int dz)
{
    const int apart = (dx != 0) + (dy != 0) + (dz != 0);
    return apart <= p->connectivity && (!dx || p->along[0]) && (!dy || p->along[1]) &&
           (!dz || p->along[2]);
}

lob_status plan_join(call *c, lob_dims dims, int neighbours, int slice_axis, bool by_value,
                     lob_error *error)
{
    /* coordinates up to one tile past the end, and -1, fit int32 */
    const int64_t side = INT32_MAX - 4096, max = UINT32_MAX;
    join_params *p = &c->join;
    *p = join_params{};
    if (dims.nx > side || dims.ny > side || dims.nz > side)
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_USE_CPU,
                             "a side of the volume is too long for a GPU");
    p->nx = (int32_t)dims.nx;
    p->ny = (int32_t)dims.ny;
    p->nz = (int32_t)dims.nz;
    p->words = (p->nx + WORD - 1) / WORD;
    p->by_value = by_value;
    plan_tiles(p, neighbours, slice_axis);
    if (p->tiles > max / (TILE_THREADS * p->slots))
        return lob_fail_hint(error, LOB_ENOMEM, LOB_HINT_LESS_MEMORY,
                             "%.1f billion voxels are more than a GPU numbers at once",
                             (double)dims.nx * (double)dims.ny * (double)dims.nz / 1e9);
    size_t mrows = 0, marks = 0;
    LOB_CUDA(cub::DeviceScan::ExclusiveSum(NULL, mrows, p->mrow_base, p->mrow_base,
                                           p->tile_mrows + 1, lob_device_cuda_stream(c->device)));
    LOB_TRY(number_scan_bytes(c, &marks, error));
    c->scan_bytes = mrows > marks ? mrows : marks;
    return LOB_OK;
}

/* ---- memory ---- */

static int64_t lay_out_bits(call *c, lob::arena block)
{
    join_params *p = &c->join;
    const bool merged = p->merge_y * p->merge_z > 1;
    const int64_t slots = (int64_t)p->mrows_y * p->mrows_z * p->mrow_slots;
    c->counts = block.take<u64>(3);
    p->filled = block.take<uint32_t>(p->volume_words);
    for (int k = 0; k < DIRECTIONS; k++) p->joined_bits[k] = NULL;
    for (int dz = -1; dz <= 0; dz++)
        for (int dy = -1; dy <= (dz ? 1 : 0); dy++)
            for (int dx = -1; dx <= (dz || dy ? 1 : -1); dx++)
                if (p->by_value && is_neighbour(p, dx, dy, dz))
                    p->joined_bits[direction_of(dx, dy, dz)] =
                        block.take<uint32_t>(p->volume_words);
    p->first_run = block.take<uint32_t>(p->tiles * TILE_THREADS);
    p->local_root = block.take<uint16_t>(slots);
    p->run_count = block.take<uint32_t>(p->tiles);
    p->mrow_base = block.take<uint32_t>(p->tile_mrows + 1);
    p->first_marks = merged ? block.take<bit_group>(p->volume_groups + 1) : NULL;
    p->marks_before = merged ? block.take<uint32_t>(p->volume_groups + 1) : NULL;
    c->scan_memory = block.take<unsigned char>((int64_t)c->scan_bytes);
    return block.used;
}

lob_status allocate_join(call *c, lob_error *error)
{
    void *memory = NULL;
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_WORK, lay_out_bits(c, lob::arena()),
                                   &memory, error));
    lay_out_bits(c, lob::arena(memory));
    return LOB_OK;
}

/* scan: bytes of a scan over pieces; 0: scan_memory has as many */
static int64_t lay_out_pieces(call *c, int64_t scan, lob::arena block)
{
    join_params *p = &c->join;
    const int64_t n = p->pieces + 1;
    p->parent = block.take<uint32_t>(n);
    p->roots_before = n <= c->spare_words ? c->spare : block.take<uint32_t>(n);
    p->first_voxel = p->first_marks ? block.take<u64>(n) : NULL;
    c->per_component = block.take<unsigned char>(n * c->component_bytes);
    void *scan_memory = block.take<unsigned char>(scan);
    if (scan) c->scan_memory = scan_memory;
    return block.used;
}

static lob_status allocate_pieces(call *c, lob_error *error)
{
    const join_params *p = &c->join;
    size_t scan = 0;
    void *memory = NULL;
    LOB_CUDA(cub::DeviceScan::ExclusiveSum(NULL, scan, p->roots_before, p->roots_before,
                                           p->pieces + 1, lob_device_cuda_stream(c->device)));
    const bool longer = scan > c->scan_bytes;
    const int64_t more = longer ? (int64_t)scan : 0;
    LOB_TRY(lob_device_budget_take(&c->budget, LOB_DEVICE_TABLES,
                                   lay_out_pieces(c, more, lob::arena()), &memory, error));
    lay_out_pieces(c, more, lob::arena(memory));
    if (longer) c->scan_bytes = scan;
    return LOB_OK;
}

/* ---- stages ---- */

lob_status exclusive_sum(call *c, uint32_t *values, int64_t n, lob_error *error)
{
    LOB_CUDA(cub::DeviceScan::ExclusiveSum(c->scan_memory, c->scan_bytes, values, values, n,
                                           lob_device_cuda_stream(c->device)));
    return LOB_OK;
}

static lob_status fetch(call *c, int64_t *value, const uint32_t *from, lob_error *error)
{
    uint32_t got = 0;
    LOB_TRY(lob_device_download(c->device, &got, from, sizeof got, error));
    *value = got;
    return LOB_OK;
}

lob_status join_pieces(call *c, lob_error *error)
{
    join_params *p = &c->join;
    uint32_t *const all = p->mrow_base + p->tile_mrows;
    LOB_TRY(lob_device_fill(c->device, all, 0, sizeof *all, error));
    LOB_TRY(join_tiles(c, error));
    LOB_TRY(exclusive_sum(c, p->mrow_base, p->tile_mrows + 1, error));
    LOB_TRY(fetch(c, &p->pieces, all, error));
    LOB_TRY(report_progress(c, 0.4));
    LOB_TRY(allocate_pieces(c, error));
    LOB_TRY(join_borders(c, error));
    LOB_TRY(number_components(c, error));
    return report_progress(c, 0.6);
}

const uint32_t *found_on_device(const join_params &p)
{
    return p.first_voxel ? p.marks_before + p.volume_groups : p.parent + p.pieces;
}

lob_status fetch_found(call *c, lob_error *error)
{
    return fetch(c, &c->found, found_on_device(c->join), error);
}

} /* namespace lob::components */
