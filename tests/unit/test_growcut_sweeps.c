/* GrowCut by sweeps gives the bytes of the tile engine, on rows of several stretches. */
#include "kernels/growcut/cpu/growcut_sweeps.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LABELS = 9 };

typedef struct {
    lob_volume image, seeds;
    uint8_t *mask;
    lob_growcut_input in;
    lob_growcut_options options;
    int64_t n;
    char shape[256];
} wide_case;

/* Noise of some width, plateaus with walls and gaps, and a slope. */
static uint8_t level_at(int pattern, int64_t width, int64_t x, int64_t y, int64_t z,
                        uint64_t *state)
{
    const int64_t noise = random_below(state, width);
    if (pattern == 0) return (uint8_t)noise;
    if (pattern == 1) return (uint8_t)(noise / 4 + (x + 3 * y + 5 * z) / 6 % 190);
    const bool wall = (x + y) % 7 == 0 || (y + z) % 5 == 0;
    return wall && !random_chance(state, 6) ? (uint8_t)(width - 1) : 0;
}

static void make(wide_case *c, uint64_t number)
{
    static const int solid[] = {6, 18, 26}, flat[] = {4, 8};
    uint64_t state = number + 77;
    const lob_dims d = {16 + random_below(&state, 200), 1 + random_below(&state, 22),
                        1 + (random_chance(&state, 80) ? random_below(&state, 20) : 0)};
    const int64_t width = 1 + random_below(&state, random_chance(&state, 50) ? 255 : 8);
    const int pattern = (int)random_below(&state, 3);
    lob_growcut_options *const o = &c->options;
    *c = (wide_case){.n = lob_dims_voxels(d), .options = lob_growcut_defaults()};
    c->image = zeros(LOB_U8, d, 1 + (int)random_below(&state, 5));
    c->seeds = zeros(random_chance(&state, 50) ? LOB_U8 : LOB_I16, d, 1);
    for (int64_t i = 0; i < c->n * c->image.channels; i++)
        ((uint8_t *)c->image.data)[i] =
            level_at(pattern, width, i % d.nx, i / d.nx % d.ny, i / d.nx / d.ny % d.nz, &state);
    c->in = (lob_growcut_input){.image = &c->image, .seeds = &c->seeds};
    c->in.labels = 1 + (int32_t)random_below(&state, MOST_LABELS);
    for (int64_t i = random_below(&state, 40); i >= 0; i--)
        lob_label_put(c->seeds.data, c->seeds.type, random_below(&state, c->n),
                      1 + (int32_t)random_below(&state, c->in.labels));
    if (random_chance(&state, 30)) {
        c->in.mask = c->mask = malloc((size_t)c->n);
        for (int64_t i = 0; i < c->n; i++) c->mask[i] = !random_chance(&state, 20);
    }
    o->rule = LOB_RULE_DISTANCE;
    o->norm = LOB_NORM_LINF;
    o->neighbours = solid[random_below(&state, 3)];
    if (random_chance(&state, 20)) {
        o->slice_axis = (int)random_below(&state, 3);
        o->neighbours = flat[random_below(&state, 2)];
    }
    if (random_chance(&state, 25)) o->penalty = random_double(&state);
    if (random_chance(&state, 25)) o->max_cost = (double)random_below(&state, 300);
    if (random_chance(&state, 20)) o->range[1] = (double)width * 0.9;
    snprintf(c->shape, sizeof c->shape,
             "case %d: %dx%dx%d x%d, pattern %d of %d, %d labels, %d neighbours, axis %d, penalty "
             "%g, cost to %g%s",
             (int)number, (int)d.nx, (int)d.ny, (int)d.nz, c->image.channels, pattern, (int)width,
             c->in.labels, o->neighbours, o->slice_axis, o->penalty, o->max_cost,
             c->mask ? ", mask" : "");
}

/* Lift each channel by its own constant, within 8 bits or beyond. Few levels leave room for the
 * costs of a penalty. */
static void lift_channels(wide_case *c, uint64_t number)
{
    uint64_t state = number + 7777;
    const bool small = random_chance(&state, 60), few = small || random_chance(&state, 50);
    const int64_t width = few ? 1 + random_below(&state, 8) : 256;
    const int64_t most = small ? 256 - width : random_chance(&state, 50) ? 256 : 2000;
    const lob_type type = small ? LOB_U8 : LOB_I16;
    const int64_t least = small ? 0 : -1000;
    const lob_volume image = zeros(type, c->image.dims, c->image.channels);
    for (int k = 0; k < image.channels; k++) {
        const int64_t lift = least + random_below(&state, most);
        for (int64_t i = k * c->n; i < (k + 1) * c->n; i++)
            lob_label_put(image.data, type, i,
                          (int32_t)(((uint8_t *)c->image.data)[i] % width + lift));
    }
    lob_volume_free(&c->image);
    c->image = image;
    c->options.range[1] = INFINITY;
    if (few && random_chance(&state, 60)) c->options.penalty = random_double(&state);
    const size_t used = strlen(c->shape);
    snprintf(c->shape + used, sizeof c->shape - used, ", %d levels lifted by up to %d, penalty %g",
             (int)width, (int)most, c->options.penalty);
}

/* Do sweeps grow the case, and do its costs fit them? */
static bool is_swept(const wide_case *c)
{
    const lob_growcut_output out = {.labels = malloc((size_t)c->n * 2)};
    const lob_context context = {.threads = 1};
    lob_growcut_section section = lob_growcut_section_of(&out, &c->in, &c->options, &context);
    lob_growcut_result result = {.overflow = true};
    if (c->options.slice_axis >= 0)
        section.view = lob_view_slice(c->image.dims, c->options.slice_axis, 0);
    assert_ok(lob_growcut_section_begin(&section, &c->options, NULL));
    if (lob_growcut_sweeps_fit(&section)) assert_ok(lob_growcut_sweeps(&section, &result, NULL));
    free(section.cost);
    free(out.labels);
    return !result.overflow;
}

static lob_status grow(const wide_case *c, lob_growcut_output *out, lob_growcut_stats *stats,
                       int key_bits, int threads)
{
    lob_growcut_options options = c->options;
    options.key_bits = key_bits;
    *out = (lob_growcut_output){.labels = calloc((size_t)c->n, 2),
                                .strength = malloc((size_t)c->n * sizeof(float))};
    return lob_growcut_cpu(out, stats, &c->in, &options, THREADS(threads), NULL);
}

/* Compare the tiles' bytes with those of what is chosen for the case. */
static void compare(const wide_case *c, int threads)
{
    lob_growcut_output want, got;
    lob_growcut_stats tiles, sweeps;
    const lob_status st = grow(c, &want, &tiles, 64, 1);
    assert_int_equal(grow(c, &got, &sweeps, 0, threads), st);
    const size_t n = (size_t)c->n;
    if (memcmp(got.labels, want.labels, 2 * n) != 0) fail_msg("%s: labels", c->shape);
    if (st == LOB_OK && memcmp(got.strength, want.strength, n * sizeof(float)) != 0)
        fail_msg("%s: strengths", c->shape);
    if (sweeps.reached != tiles.reached || sweeps.largest_cost != tiles.largest_cost ||
        sweeps.seeds != tiles.seeds || sweeps.seeds_outside != tiles.seeds_outside ||
        sweeps.data_voxels != tiles.data_voxels)
        fail_msg("%s: statistics", c->shape);
    free(want.labels);
    free(want.strength);
    free(got.labels);
    free(got.strength);
}

static void release(wide_case *c)
{
    free(c->mask);
    lob_volume_free(&c->image);
    lob_volume_free(&c->seeds);
}

TEST(sweeps_give_the_tiles_bytes)
{
    int swept = 0, all = (int)CASES(120);
    for (int number = 0; number < all; number++) {
        wide_case c;
        make(&c, (uint64_t)number);
        compare(&c, 1 + number % 4);
        swept += is_swept(&c);
        release(&c);
    }
    print_message("%d of %d cases are swept\n", swept, all);
    assert_true(2 * swept > all && swept < all);
}

TEST(channels_lie_apart)
{
    int swept = 0, all = (int)CASES(120);
    for (int number = 0; number < all; number++) {
        wide_case c;
        make(&c, (uint64_t)number);
        lift_channels(&c, (uint64_t)number);
        compare(&c, 1 + number % 4);
        swept += is_swept(&c);
        release(&c);
    }
    print_message("%d of %d cases are swept\n", swept, all);
    assert_true(4 * swept > all && swept < all);
}
