/* Components of what each rank holds: as a stream of one slab. */
#include "kernels/components/components_team.h"

#include "kernels/components/components_stream.h"
#include "volumes/voxel_memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const lob_components_input *in;
    void *labels;
} held_slab;

static lob_status give(void *user, lob_components_input *slab, int64_t z, int64_t planes,
                       lob_error *error)
{
    (void)z;
    (void)planes;
    (void)error;
    *slab = *((const held_slab *)user)->in;
    return LOB_OK;
}

static lob_status take(void *user, const void *labels, lob_type type, int64_t z, int64_t planes,
                       lob_error *error)
{
    held_slab *const s = user;
    const int64_t bytes = lob_voxels(s->in->image) * (int64_t)lob_type_of(type)->bytes;
    (void)z;
    (void)planes;
    s->labels = lob_voxel_memory(bytes);
    if (!s->labels) return lob_fail(error, LOB_ENOMEM, "no memory for labels");
    memcpy(s->labels, labels, (size_t)bytes);
    return LOB_OK;
}

lob_status lob_components_team(lob_components_output *out, const lob_components_input *in,
                               const lob_components_options *options, int64_t planes,
                               lob_team *team, const lob_context *context, lob_error *error)
{
    held_slab slab = {in, NULL};
    const lob_components_stream stream = {.read = give, .write = take, .user = &slab, .team = team};
    lob_dims dims = in->image->dims;
    dims.nz = planes;
    const lob_status st = lob_components_streamed(out, &stream, dims, planes, options,
                                                  lob_components_cpu, context, error);
    if (st == LOB_OK)
        out->labels = slab.labels;
    else
        free(slab.labels);
    return st;
}
