/* Making random chains of filters and images for them. */
#include "tests/reference/filters_case.h"

#include "tests/reference/put_number.h"
#include "tests/reference/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lob_dims random_dims(uint64_t *r, int64_t max_voxels)
{
    static const int64_t sides[] = {1,  2,  3,  5,  7,  8,  11, 13, 17,
                                    19, 23, 29, 31, 37, 41, 64, 67, 130};
    enum { SIDES = sizeof sides / sizeof *sides };
    for (;;) {
        const lob_dims d = {sides[random_below(r, SIDES)], sides[random_below(r, SIDES)],
                            random_chance(r, 20) ? 1 : sides[random_below(r, SIDES)]};
        if (d.nx * d.ny * d.nz <= max_voxels) return d;
    }
}

/* ---- voxels ---- */

static double random_value(uint64_t *r, const lob_type_info *type, double span)
{
    if (!type->is_integer && random_chance(r, 50)) return (random_double(r) - .5) * span;
    const double low = fmax(type->lowest, -span / 2), high = fmin(type->highest, span / 2);
    return floor(low + (high - low) * random_double(r));
}

static double not_finite(uint64_t *r)
{
    return random_chance(r, 60) ? NAN : random_chance(r, 50) ? INFINITY : -INFINITY;
}

static void fill(filters_case *c, uint64_t *r)
{
    const lob_type_info *type = lob_type_of(c->image.type);
    const int64_t n = lob_voxels(&c->image) * c->image.channels;
    const double span = random_chance(r, 70) ? 1000 : random_chance(r, 70) ? 60000 : 1e9;
    const int holes = !type->is_integer && random_chance(r, 40) ? 1 + (int)random_below(r, 40) : 0;
    const bool flat = random_chance(r, 10), huge = !type->is_integer && random_chance(r, 5);
    const double same = random_value(r, type, span);
    for (int64_t i = 0; i < n; i++) {
        double value = flat ? same : random_value(r, type, span);
        if (holes && random_chance(r, holes)) value = not_finite(r);
        if (huge && random_chance(r, 3)) value = 3e38 * (random_double(r) - .5);
        put_number(&c->image, i, value);
    }
    if (!random_chance(r, 35)) return;
    const int64_t voxels = lob_voxels(&c->image);
    const int share = random_chance(r, 10) ? 0 : 20 + (int)random_below(r, 80);
    c->mask = malloc((size_t)voxels);
    for (int64_t i = 0; i < voxels; i++) c->mask[i] = random_chance(r, share);
}

/* ---- steps ---- */

static double random_sigma(uint64_t *r)
{
    return random_chance(r, 20)   ? 0
           : random_chance(r, 15) ? 6 + 6 * random_double(r)
                                  : .2 + 3 * random_double(r);
}

static double random_radius(uint64_t *r, bool box)
{
    return (double)(random_chance(r, 10) && box ? random_below(r, 40) : random_below(r, 3));
}

static void random_step(filters_case *c, lob_filter_step *s, uint64_t *r, int channels)
{
    *s = (lob_filter_step){.kind = (lob_filter_kind)random_below(r, LOB_FILTERS)};
    const bool colour = s->kind == LOB_FILTER_GRAY || s->kind == LOB_FILTER_DESATURATE;
    if (colour && channels != 3) s->kind = LOB_FILTER_GAUSSIAN;
    const bool same = random_chance(r, 60), box = s->kind == LOB_FILTER_BOX;
    for (int a = 0; a < 3; a++)
        s->along[a] = s->kind == LOB_FILTER_DENOISE         ? random_chance(r, 85)
                      : box || s->kind == LOB_FILTER_MEDIAN ? random_radius(r, box)
                                                            : random_sigma(r);
    for (int a = 1; a < 3 && same; a++) s->along[a] = s->along[0];
    s->percent = random_chance(r, 40);
    s->low = s->percent ? 50 * random_double(r) : -200 * random_double(r);
    s->high = s->percent ? 50 + 50 * random_double(r) : 300 * random_double(r);
    s->factor = random_chance(r, 5) ? 1e30 : 4 * random_double(r) - 2;
    s->offset = random_chance(r, 30) ? 0 : 200 * random_double(r) - 100;
    s->amount = random_chance(r, 30) ? 1 : random_double(r);
    s->noise = random_chance(r, 40) ? 0 : 100 * random_double(r) + 1;
    s->type = (lob_type)random_below(r, LOB_TYPES);
    (void)c;
}

static void make_steps(filters_case *c, uint64_t *r)
{
    static const char *const names[] = {"gaussian", "gradient",   "laplacian", "box",
                                        "median",   "denoise",    "clamp",     "scale",
                                        "gray",     "desaturate", "cast"};
    int channels = c->image.channels;
    c->in.step_count = 1 + (int)random_below(r, FILTERS_CASE_STEPS);
    for (int i = 0; i < c->in.step_count; i++) {
        lob_filter_step *s = &c->steps[i];
        const size_t n = strlen(c->shape);
        random_step(c, s, r, channels);
        if (s->kind == LOB_FILTER_GRAY) channels = 1;
        snprintf(c->shape + n, sizeof c->shape - n, "; %s", names[s->kind]);
        const size_t m = strlen(c->shape);
        if (s->kind <= LOB_FILTER_DENOISE)
            snprintf(c->shape + m, sizeof c->shape - m, " %g,%g,%g", s->along[0], s->along[1],
                     s->along[2]);
        else if (s->kind == LOB_FILTER_CLAMP)
            snprintf(c->shape + m, sizeof c->shape - m, " %g,%g%s", s->low, s->high,
                     s->percent ? "%" : "");
        else if (s->kind == LOB_FILTER_CAST)
            snprintf(c->shape + m, sizeof c->shape - m, " %s", lob_type_of(s->type)->name);
    }
}

/* ---- a case ---- */

void filters_case_make(filters_case *c, uint64_t number, int64_t max_voxels)
{
    static const int channels[] = {1, 1, 1, 2, 3, 3};
    uint64_t state = number * 7919 + 17, *r = &state;
    *c = (filters_case){.number = number, .image = lob_volume_empty()};
    const double spacing[3] = {1, 1 + (double)random_below(r, 3), .5 + 3 * random_double(r)};
    c->image.dims = random_dims(r, max_voxels);
    c->image.type = (lob_type)random_below(r, LOB_TYPES);
    if (random_chance(r, 40)) c->image.type = random_chance(r, 60) ? LOB_F32 : LOB_I16;
    c->image.channels = channels[random_below(r, 6)];
    c->image.geometry = lob_geometry_of_spacing(spacing);
    if (random_chance(r, 20)) {
        c->image.slope = .25 + random_double(r);
        c->image.inter = random_chance(r, 50) ? -1024 : 0;
    }
    const size_t bytes = lob_type_of(c->image.type)->bytes;
    c->image.data = malloc((size_t)lob_voxels(&c->image) * (size_t)c->image.channels * bytes);
    fill(c, r);
    c->options = lob_filter_defaults();
    c->options.edge = (lob_edge)(random_chance(r, 40) ? 0 : random_below(r, 6));
    c->options.edge_value = 200 * random_double(r) - 100;
    c->options.exact = random_chance(r, 30);
    snprintf(c->shape, sizeof c->shape, "case %llu: %lld x %lld x %lld %s x %d%s%s, edge %d%s",
             (unsigned long long)number, (long long)c->image.dims.nx, (long long)c->image.dims.ny,
             (long long)c->image.dims.nz, lob_type_of(c->image.type)->name, c->image.channels,
             c->mask ? ", mask" : "", c->image.slope != 1 ? ", scaled" : "", (int)c->options.edge,
             c->options.exact ? ", exact" : "");
    c->in = (lob_filter_input){.image = &c->image, .mask = c->mask, .steps = c->steps};
    make_steps(c, r);
    c->in.bounded = lob_type_of(c->image.type)->is_integer && random_chance(r, 50);
}

void filters_case_free(filters_case *c)
{
    lob_volume_free(&c->image);
    free(c->mask);
}

const char *filters_case_differs(const filters_case *c, lob_status a_status,
                                 const lob_filter_output *a, lob_status b_status,
                                 const lob_filter_output *b)
{
    if (a_status != b_status) return "status";
    if (a_status != LOB_OK) return NULL;
    if (a->type != b->type) return "type";
    if (a->channels != b->channels) return "channels";
    if (a->not_data != b->not_data) return "voxels that are not data";
    for (int i = 0; i < c->in.step_count; i++) {
        if (memcmp(a->clamps[i], b->clamps[i], sizeof a->clamps[i]) != 0) return "limits";
        if (memcmp(&a->noise[i], &b->noise[i], sizeof a->noise[i]) != 0) return "noise";
    }
    const size_t bytes =
        (size_t)lob_voxels(&c->image) * (size_t)a->channels * lob_type_of(a->type)->bytes;
    return memcmp(a->data, b->data, bytes) != 0 ? "voxels" : NULL;
}
