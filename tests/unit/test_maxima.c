/* Maxima against their definitions, read voxel by voxel; threads; what is refused. */
#include "kernels/maxima/maxima.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

enum { CASES = 25 };

typedef struct {
    lob_volume image;
    lob_maxima_options options;
} maxima_case;

static void make_case(maxima_case *c, uint64_t number)
{
    static const int64_t sides[] = {1, 2, 3, 5, 7, 11};
    uint64_t state = number + 9;
    c->image = lob_volume_empty();
    c->image.type = LOB_U8;
    c->image.dims = (lob_dims){sides[random_below(&state, 6)], sides[random_below(&state, 6)],
                               sides[random_below(&state, 6)]};
    const int64_t n = lob_voxels(&c->image), levels = 2 + random_below(&state, 12);
    uint8_t *const voxels = c->image.data = malloc((size_t)n);
    assert_non_null(voxels);
    for (int64_t i = 0; i < n; i++) voxels[i] = (uint8_t)random_below(&state, levels);
    c->options = lob_maxima_defaults();
    c->options.neighbours = (int[]){6, 18, 26}[random_below(&state, 3)];
    c->options.height = (double)random_below(&state, 5);
    if (random_chance(&state, 30)) c->options.above = 1;
}

static bool touch(const maxima_case *c, int64_t a, int64_t b)
{
    const lob_dims d = c->image.dims;
    const int64_t x = llabs(a % d.nx - b % d.nx), y = llabs(a / d.nx % d.ny - b / d.nx % d.ny);
    const int64_t z = llabs(a / d.nx / d.ny - b / d.nx / d.ny);
    const int64_t most = c->options.neighbours == 6 ? 1 : c->options.neighbours == 18 ? 2 : 3;
    return x <= 1 && y <= 1 && z <= 1 && x + y + z > 0 && x + y + z <= most;
}

/* Everything that can be reached from voxel `at` through voxels above a value, by looking again and
 * again. */
static void reach(uint8_t *reached, const maxima_case *c, int64_t at, double above)
{
    const uint8_t *const voxels = c->image.data;
    const int64_t n = lob_voxels(&c->image);
    memset(reached, 0, (size_t)n);
    reached[at] = 1;
    for (bool more = true; more;) {
        more = false;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; reached[i] && j < n; j++) {
                if (reached[j] || !(voxels[j] > above) || !touch(c, i, j)) continue;
                reached[j] = 1;
                more = true;
            }
    }
}

/* Is the voxel part of a maximum that is asked for? Its plateau is reached with the smallest
 * height. */
static bool is_maximum(uint8_t *reached, const maxima_case *c, int64_t at)
{
    const uint8_t *const voxels = c->image.data;
    const double value = voxels[at], height = fmax(c->options.height, 0.5);
    if (!(value > c->options.above)) return false;
    reach(reached, c, at, value - height);
    for (int64_t i = 0; i < lob_voxels(&c->image); i++)
        if (reached[i] && voxels[i] > value) return false;
    return true;
}

TEST(agrees_with_the_definitions)
{
    for (uint64_t number = 0; number < CASES; number++) {
        maxima_case c;
        make_case(&c, number);
        const int64_t n = lob_voxels(&c.image);
        uint8_t *const reached = malloc((size_t)n);
        lob_maxima_output got[2];
        const lob_maxima_input in = {.image = &c.image};
        assert_non_null(reached);
        for (int t = 0; t < 2; t++) {
            const lob_context context = {.threads = 1 + 2 * t};
            assert_ok(lob_maxima_cpu(&got[t], &in, &c.options, &context, NULL));
        }
        assert_int_equal(got[0].count, got[1].count);
        assert_memory_equal(got[0].labels, got[1].labels, (size_t)n * sizeof(int32_t));
        int32_t last = 0;
        for (int64_t i = 0; i < n; i++) {
            const int32_t label = got[0].labels[i];
            if ((label != 0) != is_maximum(reached, &c, i))
                fail_msg("case %d: voxel %d has label %d", (int)number, (int)i, label);
            if (label == last + 1) {
                assert_int_equal(got[0].maxima[last].first, i);
                assert_true(got[0].maxima[last].value == ((uint8_t *)c.image.data)[i]);
                last++;
            }
            assert_true(label <= last);
        }
        assert_int_equal(last, got[0].count);
        for (int t = 0; t < 2; t++) lob_maxima_output_free(&got[t]);
        lob_volume_free(&c.image);
        free(reached);
    }
}

TEST(refuses_what_it_cannot_do)
{
    maxima_case c;
    make_case(&c, 3);
    lob_maxima_output out;
    lob_error error = {.text = ""};
    const lob_maxima_input in = {.image = &c.image};
    const lob_context context = {.threads = 1}, narrow = {.threads = 1, .max_memory = 1};
    lob_maxima_options low = lob_maxima_defaults(), odd = low, slices = low;
    low.height = -1;
    odd.neighbours = 8;
    slices.slice_axis = 1;
    assert_int_equal(lob_maxima_cpu(&out, &in, &low, &context, &error), LOB_EARG);
    assert_int_equal(lob_maxima_cpu(&out, &in, &odd, &context, &error), LOB_EARG);
    assert_int_equal(lob_maxima_cpu(&out, &in, &slices, &context, &error), LOB_EARG);
    c.options.height = 0;
    assert_int_equal(lob_maxima_cpu(&out, &in, &c.options, &narrow, &error), LOB_ENOMEM);
    assert_null(out.labels);
    assert_null(out.maxima);
    lob_volume_free(&c.image);
}
