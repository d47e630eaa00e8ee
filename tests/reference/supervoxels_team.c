/* A rank's planes of a random supervoxel input, and their way back. */
#include "tests/reference/supervoxels_team.h"

#include <stdlib.h>
#include <string.h>

void supervoxels_team_work(lob_team *all, void *user)
{
    supervoxels_team *const a = user;
    const supervoxels_case *const c = a->c;
    const lob_dims dims = c->image.dims;
    lob_team team;
    int64_t first, end;
    if (!lob_team_narrow(&team, all, dims.nz)) return;
    team.direct = team.size % 2 == 0; /* else as by MPI */
    lob_team_planes(&first, &end, &team, team.rank, dims.nz);

    const int64_t plane = dims.nx * dims.ny, n = plane * (end - first);
    const int64_t bytes = (int64_t)lob_type_of(c->image.type)->bytes;
    lob_volume image = c->image;
    image.dims.nz = end - first;
    char *const data = malloc((size_t)(n * bytes * image.channels));
    uint8_t *const mask = malloc((size_t)n);
    int32_t *const labels = malloc((size_t)n * sizeof *labels);
    for (int k = 0; k < image.channels; k++)
        memcpy(data + k * n * bytes,
               (const char *)c->image.data + (k * lob_voxels(&c->image) + first * plane) * bytes,
               (size_t)(n * bytes));
    if (c->mask) memcpy(mask, c->mask + first * plane, (size_t)n);
    image.data = data;
    lob_supervoxels_input in = c->in;
    in.image = &image;
    in.mask = c->mask ? mask : NULL;
    a->status[team.rank] = a->cut(labels, &a->stats[team.rank], &in, &c->options, dims.nz, &team,
                                  &a->context[team.rank], &a->error[team.rank]);
    if (a->status[team.rank] == LOB_OK)
        memcpy(a->labels + first * plane, labels, (size_t)n * sizeof *labels);
    free(data), free(mask), free(labels);
}
