/* The passes of a registration, on the CPU or the GPU of the call. */
#include "kernels/register/register_pass.h"
#include "kernels/device/device.h"

lob_status lob_register_ends(lob_register_range *r, lob_register_call *c,
                             const lob_register_values *v)
{
    uint64_t numbers[LOB_REGISTER_NUMBERS];
    const lob_register_pass pass = {.kind = LOB_REGISTER_ENDS, .n = v->voxels, .values = *v};
    LOB_TRY(c->loops->pass(numbers, c, &pass));
    *r = (lob_register_range){lob_register_of_key(~numbers[0]), lob_register_of_key(numbers[1]),
                              (int64_t)numbers[2]};
    return LOB_OK;
}

lob_status lob_register_levels(int16_t *level, lob_register_call *c, const lob_register_values *v,
                               const lob_register_range *r)
{
    const lob_register_pass pass = {
        .kind = LOB_REGISTER_LEVELS, .n = v->voxels, .values = *v, .range = *r, .level = level};
    return c->loops->pass(NULL, c, &pass);
}

lob_status lob_register_move(lob_register_call *c)
{
    const lob_register_pass pass = {.kind = LOB_REGISTER_MOVE,
                                    .n = c->fixed.voxels,
                                    .level = c->moved.level,
                                    .moving = c->moving,
                                    .dims = c->fixed.dims,
                                    .affine = c->affine};
    return c->loops->pass(NULL, c, &pass);
}

lob_status lob_register_halve(lob_register_points p[2], lob_register_call *c, float *next)
{
    const int64_t bytes = 3 * p[0].count * (int64_t)sizeof *next;
    const lob_register_pass pass = {
        .kind = LOB_REGISTER_HALVE, .n = 2 * p[0].count, .points = {p[0], p[1]},
                  .next = next
    };
    LOB_TRY(c->loops->pass(NULL, c, &pass));
    for (int k = 0; k < 2; k++) {
        const float *const from = next + k * 3 * p[0].count;
        if (c->device)
            LOB_TRY(lob_device_copy(c->device, p[k].u[0], from, bytes, c->error));
        else
            memcpy(p[k].u[0], from, (size_t)bytes);
    }
    return LOB_OK;
}

lob_status lob_register_count_bits(int64_t *bits, int64_t *voxels, lob_register_call *c,
                                   const lob_register_points *p)
{
    uint64_t numbers[LOB_REGISTER_NUMBERS];
    const lob_register_pass pass = {
        .kind = LOB_REGISTER_BITS,
        .n = c->fixed.voxels,
        .dims = c->fixed.dims,
        .points = {*p          },
        .words = { c->words[0], c->words[1]},
        .mask = c->mask,
        .no_data = c->no_data
    };
    LOB_TRY(c->loops->pass(numbers, c, &pass));
    *bits = (int64_t)numbers[2];
    *voxels = (int64_t)numbers[3];
    return LOB_OK;
}

lob_status lob_register_field(float *mm, lob_register_extent *extent, lob_register_call *c,
                              const lob_register_points *p, const lob_register_worlds *worlds)
{
    const bool travels = c->device && c->in->fixed->place.kind == LOB_PLACE_MEMORY;
    const int64_t bytes = 3 * c->fixed.voxels * (int64_t)sizeof *mm;
    uint64_t numbers[LOB_REGISTER_NUMBERS] = {0};
    lob_register_pass pass = {.kind = LOB_REGISTER_FIELD,
                              .n = c->fixed.voxels,
                              .dims = c->fixed.dims,
                              .points = {*p},
                              .mm = mm,
                              .worlds = *worlds};
    if (travels) LOB_TRY(lob_budget_alloc_at(&c->budget, c->device, &pass.mm, bytes, c->error));
    lob_status st = c->loops->pass(NULL, c, &pass);
    pass.kind = LOB_REGISTER_EXTENT;
    if (st == LOB_OK) st = c->loops->pass(numbers, c, &pass);
    if (travels && st == LOB_OK) st = lob_device_download(c->device, mm, pass.mm, bytes, c->error);
    if (travels) lob_budget_free_at(&c->budget, c->device, pass.mm, bytes);
    *extent = (lob_register_extent){(int64_t)numbers[2], lob_register_of_key(numbers[0])};
    return st;
}
