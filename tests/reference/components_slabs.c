/* Planes of a case from memory, and its labels into memory, in the order that streaming promises.
 */
#include "tests/reference/components_slabs.h"

#include "kernels/team/team.h"

#include <stdlib.h>
#include <string.h>

static lob_status copy_planes(lob_volume *to, const lob_volume *from, int64_t z, int64_t planes)
{
    const int64_t plane = from->dims.nx * from->dims.ny;
    const size_t bytes = lob_type_of(from->type)->bytes;
    lob_volume like = *from;
    like.dims.nz = planes;
    lob_volume_free(to);
    const lob_status st = lob_volume_like(to, &like, from->type, from->channels);
    if (st != LOB_OK) return st;
    to->slope = from->slope;
    to->inter = from->inter;
    for (int64_t c = 0; c < from->channels; c++)
        memcpy((char *)to->data + (size_t)(c * planes * plane) * bytes,
               (const char *)from->data + (size_t)((c * from->dims.nz + z) * plane) * bytes,
               (size_t)(planes * plane) * bytes);
    return LOB_OK;
}

static lob_status read_planes(void *user, lob_components_input *slab, int64_t z, int64_t planes,
                              lob_error *error)
{
    components_slabs *slabs = user;
    const components_case *c = slabs->c;
    const int64_t plane = c->image.dims.nx * c->image.dims.ny;
    if (z != slabs->first && z != slabs->read_next)
        return lob_fail(error, LOB_EINTERNAL, "planes are read out of order");
    slabs->read_next = z + planes;
    if (slabs->reads++ == slabs->fail_at) return lob_fail(error, LOB_EIO, "planes cannot be read");
    lob_status st = copy_planes(&slabs->image, &c->image, z, planes);
    if (st == LOB_OK && slabs->change_at && slabs->reads >= slabs->change_at)
        for (int64_t i = 0; i < planes * plane; i++)
            ((uint8_t *)slabs->image.data)[i] = slabs->change_to_some && i % 2;
    *slab = (lob_components_input){.image = &slabs->image};
    if (st == LOB_OK && c->in.intensities) {
        st = copy_planes(&slabs->intensities, &c->intensities, z, planes);
        slab->intensities = &slabs->intensities;
    }
    if (c->mask) slab->mask = c->mask + z * plane;
    return st;
}

static lob_status begin_labels(void *user, const lob_components_output *result, int64_t largest,
                               lob_error *error)
{
    components_slabs *slabs = user;
    if (slabs->labels) return lob_fail(error, LOB_EINTERNAL, "labels are begun twice");
    slabs->type = result->type;
    slabs->largest = largest;
    slabs->labels = malloc((size_t)slabs->c->n * lob_type_of(slabs->type)->bytes);
    return slabs->labels ? LOB_OK : LOB_ENOMEM;
}

static lob_status write_planes(void *user, const void *labels, lob_type type, int64_t z,
                               int64_t planes, lob_error *error)
{
    components_slabs *slabs = user;
    const int64_t plane = slabs->c->image.dims.nx * slabs->c->image.dims.ny;
    const size_t bytes = lob_type_of(type)->bytes * (size_t)plane;
    if (type != slabs->type || z != slabs->written)
        return lob_fail(error, LOB_EINTERNAL, "planes are written out of order");
    memcpy(slabs->labels + (size_t)z * bytes, labels, (size_t)planes * bytes);
    slabs->written += planes;
    return LOB_OK;
}

components_slabs components_slabs_of(const components_case *c)
{
    return (components_slabs){
        .c = c, .image = lob_volume_empty(), .intensities = lob_volume_empty(), .fail_at = -1};
}

lob_status components_slabs_run(lob_components_output *result, components_slabs *slabs,
                                int64_t planes, lob_components_function *number,
                                const lob_context *context, lob_error *error)
{
    int64_t end;
    lob_team_planes(&slabs->first, &end, slabs->team, lob_team_rank(slabs->team),
                    slabs->c->image.dims.nz);
    slabs->written = slabs->first;
    const lob_components_stream stream = {read_planes, begin_labels, write_planes, slabs,
                                          slabs->team};
    return lob_components_streamed(result, &stream, slabs->c->image.dims, planes,
                                   &slabs->c->options, number, context, error);
}

void components_slabs_free(components_slabs *slabs)
{
    lob_volume_free(&slabs->image);
    lob_volume_free(&slabs->intensities);
    free(slabs->labels);
}
