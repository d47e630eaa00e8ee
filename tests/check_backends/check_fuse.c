/* Checks of warping and fusing: random atlases through random fields, then their votes, on the GPU
 * against the CPU, byte by byte, from arrays of ordinary memory and of the GPU. */
#include "kernels/arrays.h"
#include "kernels/fuse/fuse.h"
#include "kernels/register/register.h"
#include "tests/check_backends/check.h"
#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every LARGE-th case has longer sides than the others. */
enum { SIDE = 20, LARGE = 16, LARGE_SIDE = 70, MOST = 4 };

typedef struct {
    lob_volume scan, image[MOST], labels[MOST]; /* of the atlases, each on a grid of its own */
    lob_field field[MOST];
    int count;
    lob_fuse_options options;
    bool there; /* arrays are on the GPU */
    char shape[160];
} fuse_case;

static lob_volume random_volume(uint64_t *state, int64_t side, lob_type type, int labels)
{
    lob_volume v, like = lob_volume_empty();
    const double mm[3] = {.7 + random_double(state), .7 + random_double(state),
                          .5 + 3 * random_double(state)};
    like.dims = (lob_dims){1 + random_below(state, side), 1 + random_below(state, side),
                           1 + random_below(state, side)};
    like.geometry = lob_geometry_of_spacing(mm);
    if (lob_volume_like(&v, &like, type, 1) != LOB_OK) exit(75);
    for (int64_t i = 0; i < lob_voxels(&v); i++) {
        const int64_t x = i % like.dims.nx, y = i / like.dims.nx % like.dims.ny;
        const double value = 30.0 * (double)(x / 3 + y / 2) + 50 * random_double(state);
        const int32_t label = (int32_t)((x / 4 + y / 5) % (labels + 1)) * 37;
        if (labels)
            lob_label_put(v.data, type, i, type == LOB_U8 ? label % 256 : label);
        else if (type == LOB_F32)
            ((float *)v.data)[i] = random_chance(state, 3) ? NAN : (float)value;
        else
            ((int16_t *)v.data)[i] = (int16_t)value;
    }
    return v;
}

static lob_field random_field(uint64_t *state, const lob_volume *scan)
{
    lob_field f = {.dims = scan->dims, .geometry = scan->geometry};
    const int64_t n = 3 * lob_voxels(scan);
    f.mm = malloc((size_t)n * sizeof *f.mm);
    if (!f.mm) exit(75);
    for (int64_t i = 0; i < n; i++) f.mm[i] = (float)(4 * random_double(state) - 2);
    return f;
}

static const char *make(void *of, uint64_t number)
{
    fuse_case *const c = of;
    const int64_t side = number % LARGE ? SIDE : LARGE_SIDE;
    static const lob_type label_types[] = {LOB_U8, LOB_I16, LOB_I32};
    uint64_t state = number * 2654435761u + 41;
    *c = (fuse_case){.options = lob_fuse_defaults(), .count = 1 + (int)random_below(&state, MOST)};
    const int labels = random_chance(&state, 5) ? 70 : 1 + (int)random_below(&state, 6);
    c->scan = random_volume(&state, side, random_chance(&state, 50) ? LOB_F32 : LOB_I16, 0);
    c->there = random_chance(&state, 60);
    for (int a = 0; a < c->count; a++) {
        c->image[a] = random_volume(&state, side, random_chance(&state, 50) ? LOB_F32 : LOB_I16, 0);
        c->image[a].slope = random_chance(&state, 50) ? 1 : .25;
        c->labels[a] = random_volume(&state, side, label_types[random_below(&state, 3)], labels);
        c->field[a] = random_field(&state, &c->scan);
    }
    c->options.majority = random_chance(&state, 20);
    if (random_chance(&state, 50)) c->options.patch = (int)random_below(&state, 3);
    if (random_chance(&state, 50)) c->options.search = (int)random_below(&state, 3);
    if (random_chance(&state, 30)) c->options.floor = random_double(&state);
    snprintf(c->shape, sizeof c->shape, "case %llu: %lld x %lld x %lld, %d atlases, %s",
             (unsigned long long)number, (long long)c->scan.dims.nx, (long long)c->scan.dims.ny,
             (long long)c->scan.dims.nz, c->count, c->there ? "on the GPU" : "in memory");
    return c->shape;
}

static void free_case(void *of)
{
    fuse_case *const c = of;
    lob_volume_free(&c->scan);
    for (int a = 0; a < c->count; a++) {
        lob_volume_free(&c->image[a]);
        lob_volume_free(&c->labels[a]);
        lob_field_free(&c->field[a]);
    }
}

/* A copy where the case has its arrays, or in ordinary memory. */
static lob_volume at(const lob_volume *v, lob_place place, const lob_context *context)
{
    lob_volume out;
    if (lob_volume_move(&out, v, place, context, NULL) != LOB_OK) exit(75);
    return out;
}

static bool same_voxels(const lob_volume *want, const lob_volume *got, const lob_context *context)
{
    lob_volume here = at(got, (lob_place){0}, context);
    const bool same =
        want->type == here.type && want->slope == here.slope && want->inter == here.inter &&
        memcmp(want->data, here.data, (size_t)lob_voxels(want) * lob_type_of(want->type)->bytes) ==
            0;
    lob_volume_free(&here);
    return same;
}

/* A volume through a field by the CPU; false: the GPU has another. */
static bool warp(lob_volume *out, const fuse_case *c, const lob_volume *moving,
                 const lob_field *field, lob_warp_method method, const lob_context *context)
{
    const lob_place place = c->there ? lob_context_place(context) : (lob_place){0};
    lob_volume there = at(moving, place, context), got;
    if (lob_warp(out, moving, field, &c->scan, method, ON_CPU(context), NULL) != LOB_OK) exit(75);
    bool same = lob_warp(&got, &there, field, &c->scan, method, context, NULL) == LOB_OK;
    same = same && lob_place_same(got.place, place) && same_voxels(out, &got, context);
    lob_volume_free(&got);
    lob_volume_free(&there);
    return same;
}

static bool same_votes(const lob_fuse_output *want, const lob_fuse_output *got,
                       const lob_context *context)
{
    lob_volume shares = lob_volume_empty();
    shares.dims = want->labels.dims;
    shares.channels = want->set.count;
    shares.type = LOB_U16;
    shares.data = got->shares;
    shares.place = got->labels.place;
    lob_volume here = at(&shares, (lob_place){0}, context);
    const size_t n = (size_t)want->set.count;
    const bool same =
        got->set.count == want->set.count && got->unseen == want->unseen &&
        memcmp(got->set.values, want->set.values, n * sizeof *want->set.values) == 0 &&
        memcmp(got->set.voxels, want->set.voxels, n * sizeof *want->set.voxels) == 0 &&
        memcmp(here.data, want->shares,
               n * (size_t)lob_voxels(&want->labels) * sizeof *want->shares) == 0;
    lob_volume_free(&here);
    return same && same_voxels(&want->labels, &got->labels, context);
}

/* Votes of moved atlases; both: did the CPU fuse them? */
static const char *fuse(const fuse_case *c, const lob_volume image[], const lob_volume labels[],
                        bool *fused, const lob_context *context)
{
    const lob_place place = c->there ? lob_context_place(context) : (lob_place){0};
    lob_volume scan = at(&c->scan, place, context), images[MOST], of[MOST];
    lob_fuse_atlas here[MOST], there[MOST];
    lob_fuse_output want, got;
    lob_error error[2] = {{.text = ""}, {.text = ""}};
    for (int a = 0; a < c->count; a++) {
        images[a] = at(&image[a], place, context);
        of[a] = at(&labels[a], place, context);
        here[a] = (lob_fuse_atlas){&image[a], &labels[a]};
        there[a] = (lob_fuse_atlas){&images[a], &of[a]};
    }
    const lob_fuse_input in = {&c->scan, here, c->count}, to = {&scan, there, c->count};
    const lob_status st = lob_fuse(&want, &in, &c->options, ON_CPU(context), &error[0]);
    const lob_status found = lob_fuse(&got, &to, &c->options, context, &error[1]);
    const char *what = st != found || strcmp(error[0].text, error[1].text) != 0 ? "status" : NULL;
    *fused = st == LOB_OK;
    if (what)
        printf("fuse: CPU: %d %s; GPU: %d %s\n", (int)st, error[0].text, (int)found, error[1].text);
    if (!what && *fused && !same_votes(&want, &got, context)) what = "votes";
    lob_fuse_output_free(&want);
    lob_fuse_output_free(&got);
    lob_volume_free(&scan);
    for (int a = 0; a < c->count; a++) {
        lob_volume_free(&images[a]);
        lob_volume_free(&of[a]);
    }
    return what;
}

static const char *differs(void *of, const lob_backend *backend, const lob_context *context,
                           bool *fused)
{
    const fuse_case *const c = of;
    lob_volume image[MOST], labels[MOST], near;
    const char *what = NULL;
    (void)backend;
    for (int a = 0; a < c->count; a++) {
        if (!warp(&image[a], c, &c->image[a], &c->field[a], LOB_WARP_VALUES, context) ||
            !warp(&labels[a], c, &c->labels[a], &c->field[a], LOB_WARP_LABELS, context))
            what = "moved atlases";
        for (int m = LOB_WARP_LINEAR; m <= LOB_WARP_NEAREST; m++) {
            if (!warp(&near, c, &c->image[a], &c->field[a], (lob_warp_method)m, context))
                what = "moved images";
            lob_volume_free(&near);
        }
    }
    if (!what) what = fuse(c, image, labels, fused, context);
    for (int a = 0; a < c->count; a++) {
        lob_volume_free(&image[a]);
        lob_volume_free(&labels[a]);
    }
    return what;
}

const check_random check_fuse = {sizeof(fuse_case), make, differs, free_case, .repeated = 48};
