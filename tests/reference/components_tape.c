/* Planes of a case from memory, and labels into it, in the order that streaming promises. */
#include "tests/reference/components_tape.h"

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
    components_tape *t = user;
    const components_case *c = t->c;
    const int64_t plane = c->image.dims.nx * c->image.dims.ny;
    if (z != 0 && z != t->read_next)
        return lob_fail(error, LOB_EINTERNAL, "planes are read out of order");
    t->read_next = z + planes;
    if (t->reads++ == t->fail_at) return lob_fail(error, LOB_EIO, "planes cannot be read");
    lob_status st = copy_planes(&t->image, &c->image, z, planes);
    if (st == LOB_OK && t->change_at && t->reads >= t->change_at)
        for (int64_t i = 0; i < planes * plane; i++)
            ((uint8_t *)t->image.data)[i] = t->change_to_some && i % 2;
    *slab = (lob_components_input){.image = &t->image};
    if (st == LOB_OK && c->in.intensities) {
        st = copy_planes(&t->intensities, &c->intensities, z, planes);
        slab->intensities = &t->intensities;
    }
    if (c->mask) slab->mask = c->mask + z * plane;
    return st;
}

static lob_status begin_labels(void *user, const lob_components_output *result, int64_t largest,
                               lob_error *error)
{
    components_tape *t = user;
    if (t->labels) return lob_fail(error, LOB_EINTERNAL, "labels are begun twice");
    t->type = result->type;
    t->largest = largest;
    t->labels = malloc((size_t)t->c->n * lob_type_of(t->type)->bytes);
    return t->labels ? LOB_OK : LOB_ENOMEM;
}

static lob_status write_planes(void *user, const void *labels, lob_type type, int64_t z,
                               int64_t planes, lob_error *error)
{
    components_tape *t = user;
    const int64_t plane = t->c->image.dims.nx * t->c->image.dims.ny;
    const size_t bytes = lob_type_of(type)->bytes * (size_t)plane;
    if (type != t->type || z != t->written)
        return lob_fail(error, LOB_EINTERNAL, "planes are written out of order");
    memcpy(t->labels + (size_t)z * bytes, labels, (size_t)planes * bytes);
    t->written += planes;
    return LOB_OK;
}

components_tape components_tape_of(const components_case *c)
{
    return (components_tape){
        .c = c, .image = lob_volume_empty(), .intensities = lob_volume_empty(), .fail_at = -1};
}

lob_status components_tape_run(lob_components_output *result, components_tape *t, int64_t planes,
                               lob_components_function *number, const lob_context *context,
                               lob_error *error)
{
    const lob_components_stream stream = {read_planes, begin_labels, write_planes, t};
    return lob_components_streamed(result, &stream, t->c->image.dims, planes, &t->c->options,
                                   number, context, error);
}

void components_tape_free(components_tape *t)
{
    lob_volume_free(&t->image);
    lob_volume_free(&t->intensities);
    free(t->labels);
}
