/* A rank's planes of a random GrowCut input, and their way back. */
#include "tests/reference/growcut_team.h"

#include "tests/reference/random.h"

#include <stdlib.h>
#include <string.h>

/* Planes from .. to - 1 of each of so many volumes; to be freed. */
static void *planes_of(const void *data, size_t plane, int64_t planes, int channels, int64_t from,
                       int64_t to)
{
    const size_t part = plane * (size_t)(to - from);
    char *const out = data ? malloc(part * (size_t)channels) : NULL;
    for (int c = 0; out && c < channels; c++)
        memcpy(out + (size_t)c * part, (const char *)data + plane * (size_t)(c * planes + from),
               part);
    return out;
}

/* Copy own planes of an array to the whole. */
static void put_planes(void *whole, const void *part, size_t plane, int64_t before, int64_t first,
                       int64_t end)
{
    if (whole)
        memcpy((char *)whole + (size_t)first * plane, (const char *)part + (size_t)before * plane,
               (size_t)(end - first) * plane);
}

/* A rank's planes, one or more. */
static void cut_planes(int64_t *first, int64_t *end, const lob_team *team, int64_t planes,
                       uint64_t cuts)
{
    int64_t cut[GROWCUT_TEAM_MOST + 1] = {0};
    int n = 1;
    if (cuts == 0) {
        lob_team_planes(first, end, team, team->rank, planes);
        return;
    }
    for (int64_t z = 1; z < planes; z++)
        if (random_below(&cuts, planes - z) < team->size - n) cut[n++] = z;
    cut[n] = planes;
    *first = cut[team->rank];
    *end = cut[team->rank + 1];
}

void growcut_team_work(lob_team *all, void *user)
{
    growcut_team *const a = user;
    const growcut_case *const c = a->c;
    const lob_dims dims = c->image.dims;
    const size_t plane = (size_t)(dims.nx * dims.ny);
    const size_t each = lob_type_of(c->image.type)->bytes,
                 label = lob_type_of(c->seeds.type)->bytes;
    lob_team team;
    int64_t first, end;
    if (!lob_team_narrow(&team, all, dims.nz)) return;
    team.direct = team.size % 2 == 0; /* else as by MPI */
    cut_planes(&first, &end, &team, dims.nz, a->cuts);
    const int64_t from = first > 0 ? first - 1 : 0, to = end < dims.nz ? end + 1 : dims.nz;
    const size_t n = plane * (size_t)(to - from);

    lob_volume image = c->image, seeds = c->seeds;
    image.dims.nz = seeds.dims.nz = to - from;
    image.data = planes_of(c->image.data, plane * each, dims.nz, image.channels, from, to);
    seeds.data = planes_of(c->seeds.data, plane * label, dims.nz, 1, from, to);
    uint8_t *const mask = planes_of(c->mask, plane, dims.nz, 1, from, to);
    float *const strength = planes_of(c->seed_strength, plane * 4, dims.nz, 1, from, to);
    lob_growcut_input in = c->in;
    in.image = &image;
    in.seeds = &seeds;
    in.mask = mask;
    in.seed_strength = strength;
    const lob_growcut_output out = {malloc(n * label), a->out.strength ? malloc(n * 4) : NULL,
                                    a->out.tie ? malloc(n) : NULL};
    lob_growcut_options options = c->options;
    if (team.rank % 3 == 1) options.tile = 5; /* it never changes the result */
    const lob_growcut_slab slab = {.team = &team, .first = first - from, .end = end - from};
    a->status[team.rank] = a->grow(&out, &a->stats[team.rank], &in, &options, &slab,
                                   &a->context[team.rank], &a->error[team.rank]);
    a->sent[team.rank] = team.sent;
    if (a->status[team.rank] == LOB_OK) {
        put_planes(a->out.labels, out.labels, plane * label, first - from, first, end);
        put_planes(a->out.strength, out.strength, plane * 4, first - from, first, end);
        put_planes(a->out.tie, out.tie, plane, first - from, first, end);
    }
    free(image.data);
    free(seeds.data);
    free(mask);
    free(strength);
    free(out.labels);
    free(out.strength);
    free(out.tie);
}
