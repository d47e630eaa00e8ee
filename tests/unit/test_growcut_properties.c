/* What must hold for GrowCut whatever the data: symmetries, and changes that may not change
 * anything. */
#include "tests/reference/growcut_case.h"
#include "tests/reference/put_number.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/labels.h"

enum { CASES = 60 };

static lob_status grow(const growcut_case *c, const lob_growcut_output *out)
{
    return lob_growcut_cpu(out, NULL, &c->in, &c->options, THREADS(2), NULL);
}

/* Reverse an array of `bytes`-wide elements along an axis, channel by channel. */
static void flip(void *data, size_t bytes, lob_dims dims, int64_t channels, int axis)
{
    const int64_t side[3] = {dims.nx, dims.ny, dims.nz},
                  stride[3] = {1, dims.nx, dims.nx * dims.ny};
    const int64_t n = dims.nx * dims.ny * dims.nz;
    char *a = data, swap[16];
    for (int64_t i = 0; i < channels * n; i++) {
        const int64_t at = i % n / stride[axis] % side[axis];
        const int64_t j = i + (side[axis] - 1 - 2 * at) * stride[axis];
        if (j <= i) continue;
        memcpy(swap, a + (size_t)i * bytes, bytes);
        memcpy(a + (size_t)i * bytes, a + (size_t)j * bytes, bytes);
        memcpy(a + (size_t)j * bytes, swap, bytes);
    }
}

static void flip_case(growcut_case *c, int axis)
{
    flip(c->image.data, lob_type_of(c->image.type)->bytes, c->image.dims, c->image.channels, axis);
    flip(c->seeds.data, lob_type_of(c->seeds.type)->bytes, c->image.dims, 1, axis);
    if (c->mask) flip(c->mask, 1, c->image.dims, 1, axis);
    if (c->seed_strength) flip(c->seed_strength, sizeof(float), c->image.dims, 1, axis);
}

static void flip_output(const growcut_case *c, lob_growcut_output *out, int axis)
{
    flip(out->labels, lob_type_of(c->seeds.type)->bytes, c->image.dims, 1, axis);
    flip(out->strength, sizeof(float), c->image.dims, 1, axis);
    flip(out->tie, 1, c->image.dims, 1, axis);
}

/* ON_CASES(name, first) { ... } defines a test of random cases c that grow, and their output out.
 */
#define ON_CASES(name, first)                                                 \
    static void check_##name(growcut_case *c, const lob_growcut_output *out); \
    TEST(name)                                                                \
    {                                                                         \
        on_cases(first, check_##name);                                        \
    }                                                                         \
    static void check_##name(growcut_case *c, const lob_growcut_output *out)

static void on_cases(uint64_t first, void (*check)(growcut_case *, const lob_growcut_output *))
{
    int done = 0;
    for (uint64_t number = first; done < CASES; number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY, 19);
        lob_growcut_output out = growcut_output_make(&c);
        if (grow(&c, &out) == LOB_OK) {
            check(&c, &out);
            done++;
        }
        growcut_output_free(&out);
        growcut_case_free(&c);
    }
}

static void must_equal(const growcut_case *c, const lob_growcut_output *a,
                       const lob_growcut_output *b, const char *what)
{
    const char *differs = growcut_output_differs(c, a, b);
    if (differs) fail_msg("%s: %s: %s", c->shape, what, differs);
}

ON_CASES(run_twice, 7000)
{
    lob_growcut_output again = growcut_output_make(c);
    assert_ok(grow(c, &again));
    must_equal(c, out, &again, "run twice");
    growcut_output_free(&again);
}

ON_CASES(flipped, 7200)
{
    for (int axis = 0; axis < 3; axis++) {
        lob_growcut_output mirrored = growcut_output_make(c);
        flip_case(c, axis);
        assert_ok(grow(c, &mirrored));
        flip_output(c, &mirrored, axis);
        flip_case(c, axis);
        must_equal(c, out, &mirrored, "flipped");
        growcut_output_free(&mirrored);
    }
}

/* Labels renamed l -> labels + 1 - l: outside the tie zone the result is renamed with them. */
ON_CASES(labels_renamed, 7400)
{
    lob_growcut_output renamed = growcut_output_make(c);
    for (int64_t v = 0; v < c->n; v++) {
        const int32_t seed = lob_label_at(c->seeds.data, c->seeds.type, v);
        if (seed) lob_label_put(c->seeds.data, c->seeds.type, v, c->in.labels + 1 - seed);
    }
    assert_ok(grow(c, &renamed));
    for (int64_t v = 0; v < c->n; v++) {
        const int32_t was = lob_label_at(out->labels, c->seeds.type, v),
                      is = lob_label_at(renamed.labels, c->seeds.type, v);
        const int32_t want = was ? c->in.labels + 1 - was : 0;
        if (out->tie[v] != renamed.tie[v]) fail_msg("%s: tie zone of renamed labels", c->shape);
        if (!out->tie[v] && is != want) fail_msg("%s: renamed labels", c->shape);
    }
    assert_memory_equal(out->strength, renamed.strength, (size_t)c->n * sizeof(float));
    growcut_output_free(&renamed);
}

/*
 * A voxel that its label reached without cost may as well have been a seed, where nothing ties and
 * no path ends early (from a seed it would come farther) and steps do not count.
 */
ON_CASES(redundant_seed, 7600)
{
    if (c->seed_strength || c->options.rounds || c->options.rule == LOB_RULE_FLOOD) return;
    lob_growcut_output again = growcut_output_make(c);
    for (int64_t v = 0; v < c->n; v++)
        if (out->tie[v]) {
            growcut_output_free(&again);
            return;
        }
    for (int64_t v = 0; v < c->n; v += 3)
        if (out->strength[v] == 1.0f)
            lob_label_put(c->seeds.data, c->seeds.type, v,
                          lob_label_at(out->labels, c->seeds.type, v));
    assert_ok(grow(c, &again));
    must_equal(c, out, &again, "a redundant seed");
    growcut_output_free(&again);
}

/* Voxels of one more plane at the end of z that the mask leaves out change nothing. */
ON_CASES(padded_by_mask, 7800)
{
    if (c->options.slice_axis >= 0 || c->image.channels > 1) return;
    growcut_case wide = *c;
    const int64_t plane = c->image.dims.nx * c->image.dims.ny, n = c->n + plane;
    const size_t image = lob_type_of(c->image.type)->bytes,
                 seed = lob_type_of(c->seeds.type)->bytes;
    wide.n = n;
    wide.image.dims.nz = wide.seeds.dims.nz = c->image.dims.nz + 1;
    wide.image.data = malloc((size_t)n * image);
    wide.seeds.data = malloc((size_t)n * seed);
    wide.mask = malloc((size_t)n);
    wide.seed_strength = c->seed_strength ? malloc((size_t)n * sizeof(float)) : NULL;
    memset(wide.image.data, 0x3F, (size_t)n * image);
    memcpy(wide.image.data, c->image.data, (size_t)c->n * image);
    memset(wide.seeds.data, 0, (size_t)n * seed);
    memcpy(wide.seeds.data, c->seeds.data, (size_t)c->n * seed);
    for (int64_t v = 0; v < n; v++) wide.mask[v] = v < c->n && (!c->mask || c->mask[v]);
    if (wide.seed_strength) {
        memset(wide.seed_strength, 0, (size_t)n * sizeof(float));
        memcpy(wide.seed_strength, c->seed_strength, (size_t)c->n * sizeof(float));
    }
    wide.in =
        (lob_growcut_input){&wide.image, &wide.seeds, c->in.labels, wide.mask, wide.seed_strength};
    lob_growcut_output padded = growcut_output_make(&wide);
    assert_ok(grow(&wide, &padded));
    must_equal(c, out, &padded, "padded");
    growcut_output_free(&padded);
    free(wide.image.data);
    free(wide.seeds.data);
    free(wide.mask);
    free(wide.seed_strength);
}

/* A volume one voxel thick in 3D is its only slice. */
TEST(one_slice_is_2d)
{
    int done = 0;
    for (uint64_t number = 8000; done < CASES; number++) {
        growcut_case c;
        growcut_case_make(&c, number, GROWCUT_ANY_3D, 19);
        lob_growcut_output solid = growcut_output_make(&c), flat = growcut_output_make(&c);
        if (c.image.dims.nz == 1 && grow(&c, &solid) == LOB_OK) {
            c.options.slice_axis = 2;
            c.options.neighbours = c.options.neighbours == 6 ? 4 : 8;
            assert_ok(grow(&c, &flat));
            must_equal(&c, &solid, &flat, "one slice");
            done++;
        }
        growcut_output_free(&solid);
        growcut_output_free(&flat);
        growcut_case_free(&c);
    }
}

/* The same whole numbers in another type, as programs write that compute in it. */
static void store_as(lob_volume *image, lob_type type)
{
    const int64_t n = lob_voxels(image) * image->channels;
    double *values = malloc((size_t)n * sizeof *values);
    assert_non_null(values);
    lob_values(values, image->data, image->type, 0, n);
    free(image->data);
    image->data = malloc((size_t)n * lob_type_of(type)->bytes);
    assert_non_null(image->data);
    image->type = type;
    for (int64_t i = 0; i < n; i++) put_number(image, i, values[i]);
    free(values);
}

ON_CASES(whole_numbers_of_any_type, 8400)
{
    const bool narrow = lob_type_of(c->image.type)->bytes <= 2;
    if (!narrow || c->options.range[0] > -INFINITY || c->options.range[1] < INFINITY) return;
    for (int i = 0; i < 2; i++) {
        lob_growcut_output real = growcut_output_make(c);
        store_as(&c->image, i ? LOB_F64 : LOB_F32);
        assert_ok(grow(c, &real));
        must_equal(c, out, &real, i ? "stored as float64" : "stored as float32");
        growcut_output_free(&real);
    }
}
