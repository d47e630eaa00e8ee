/* Segmenting from strokes: threads, types of strokes, memory, cancelling, plans and corrections. */
#include "kernels/arrays.h"
#include "kernels/labels/label_slips.h"
#include "kernels/plan_number.h"
#include "tests/reference/segment_case.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>

static const lob_context two_threads = {.threads = 2};

static lob_status run(lob_segment_output *out, const segment_case *c, const lob_context *context)
{
    lob_segment_plan plan;
    lob_error error = {.text = ""};
    const lob_status st = segment_case_run(out, &plan, c, lob_backends[0], context, &error);
    if (st == LOB_ENOMEM || st == LOB_EDATA) assert_true(error.text[0] != '\0');
    return st;
}

static bool is_slip(const lob_volume *strokes, int64_t i)
{
    const lob_dims d = strokes->dims;
    return lob_labels_is_slip(strokes->data, strokes->type, d, -1, i % d.nx, i / d.nx % d.ny,
                              i / d.nx / d.ny);
}

/* Labels are the strokes' own, strokes keep theirs but for slips, the background is 0. */
static void check_labels(const segment_case *c, const lob_segment_plan *plan,
                         const lob_segment_output *out)
{
    const lob_volume *const strokes = &c->strokes, *const labels = &out->labels;
    for (int64_t i = 0; i < lob_voxels(strokes); i++) {
        const bool slip = plan->slips && is_slip(strokes, i);
        const int32_t stroke = slip ? 0 : lob_label_at(strokes->data, strokes->type, i);
        const int32_t label = lob_label_at(labels->data, labels->type, i);
        bool known = label == 0;
        for (int32_t k = 0; k < plan->count; k++)
            known = known || (label == plan->labels[k] && label != plan->background);
        if (!known || (stroke && label != (stroke == plan->background ? 0 : stroke)))
            fail_msg("%s: voxel %lld is %d, its stroke %d", c->shape, (long long)i, label, stroke);
    }
}

TEST(threads_give_the_same)
{
    int done = 0;
    for (uint64_t number = 0; number < CASES(40); number++) {
        segment_case c;
        lob_segment_output one, many;
        lob_segment_plan plan;
        lob_error error = {.text = ""};
        segment_case_make(&c, number, 20);
        const lob_context alone = {.threads = 1};
        const lob_status st = segment_case_run(&one, &plan, &c, lob_backends[0], &alone, &error);
        assert_int_equal(run(&many, &c, &(lob_context){.threads = 3}), st);
        if (st == LOB_OK) {
            const char *const what = segment_case_differs(&one, &many);
            if (what) fail_msg("%s: threads give other %s", c.shape, what);
            check_labels(&c, &plan, &one);
            done++;
        } else if (st != LOB_EDATA) {
            fail_msg("%s: %s", c.shape, error.text);
        }
        lob_segment_output_free(&one);
        lob_segment_output_free(&many);
        segment_case_free(&c);
    }
    assert_true(done > 0);
}

/* A case of two growths, the first on a coarser grid, with everything asked for. */
static void make_usual(segment_case *c)
{
    for (uint64_t number = 0;; number++) {
        segment_case_make(c, number, 24);
        c->options.passes = 2;
        c->options.coarse = 500;
        c->in.strength = c->in.uncertain = true;
        if (lob_voxels(&c->image) > 2000 && c->image.dims.nz > 6) return;
        segment_case_free(c);
    }
}

TEST(arrays_and_types_of_strokes_do_not_matter)
{
    segment_case c;
    lob_segment_output want, got;
    make_usual(&c);
    assert_ok(run(&want, &c, &two_threads));
    const int64_t n = lob_voxels(&c.strokes);
    int64_t *const wide = calloc((size_t)n, sizeof *wide);
    assert_non_null(wide);
    for (int64_t i = 0; i < n; i++) wide[i] = lob_label_at(c.strokes.data, c.strokes.type, i);
    const lob_volume own = c.strokes;
    c.strokes =
        lob_volume_wrap(wide, LOB_I64, own.dims, 1, own.geometry.spacing_mm, (lob_place){0});
    assert_ok(run(&got, &c, &two_threads));
    assert_null(segment_case_differs(&want, &got));
    lob_segment_output_free(&got);
    lob_segment_output_free(&want);
    c.strokes = own;
    free(wide);
    segment_case_free(&c);
}

/* Whoever has nothing but strokes with a voxel around them, and then the box, gets what the whole
 * gives there. */
TEST(strokes_on_a_part_and_a_box_alone)
{
    int parts = 0;
    for (uint64_t number = 0; number < 12; number++) {
        segment_case c;
        lob_segment_plan want, got;
        lob_segment_output whole, box;
        lob_box at;
        const int64_t one[3] = {1, 1, 1};
        segment_case_make(&c, number, 24);
        c.in.strength = c.in.uncertain = true;
        if (segment_case_run(&whole, &want, &c, lob_backends[0], &two_threads, NULL) != LOB_OK) {
            segment_case_free(&c);
            continue;
        }
        assert_true(lob_box_of(&at, &c.strokes));
        lob_box_widen(&at, one, c.strokes.dims);
        parts += !lob_same_dims(lob_box_dims(&at), c.strokes.dims);
        lob_volume drawn, image;
        assert_ok(lob_volume_move(&drawn, &c.strokes, (lob_place){0}, &two_threads, NULL));
        assert_ok(lob_volume_move(&image, &c.image, (lob_place){0}, &two_threads, NULL));
        assert_ok(lob_volume_crop(&drawn, &at));
        assert_ok(lob_segment_choose(&got, &c.image, &drawn, &c.options, &two_threads, NULL));
        assert_memory_equal(&got.box, &want.box, sizeof want.box);
        assert_true(got.passes == want.passes && got.median[0] == want.median[0] &&
                    got.background == want.background && got.slips == want.slips);

        int64_t first[3];
        for (int a = 0; a < 3; a++) first[a] = at.first[a] - want.box.first[a];
        assert_ok(lob_volume_crop(&image, &want.box));
        assert_ok(lob_volume_place(&drawn, first, &image));
        memset(got.box.first, 0, sizeof got.box.first);
        lob_segment_input in = c.in;
        in.image = &image;
        in.strokes = &drawn;
        assert_ok(lob_segment(&box, &in, &got, lob_backends[0], &two_threads, NULL));
        assert_int_equal(box.slice_count, whole.slice_count);
        for (int i = 0; i < box.slice_count; i++) box.slices[i].slice += want.box.first[want.axis];
        assert_ok(lob_volume_place(&box.labels, want.box.first, &whole.labels));
        assert_ok(lob_volume_place(&box.strength, want.box.first, &whole.strength));
        assert_ok(lob_volume_place(&box.uncertain, want.box.first, &whole.uncertain));
        const char *const what = segment_case_differs(&whole, &box);
        if (what) fail_msg("%s: other %s", c.shape, what);
        lob_segment_output_free(&whole);
        lob_segment_output_free(&box);
        lob_volume_free(&drawn);
        lob_volume_free(&image);
        segment_case_free(&c);
    }
    assert_true(parts > 2);
}

/* Stop at each report, or, where there are more than `most`, at about so many of them. */
static void check_stops(const segment_case *c, int most)
{
    lob_segment_output out;
    progress_log log = {.stop_at = 2};
    lob_context context = {.threads = 1, .progress = listen, .user = &log};
    assert_ok(run(&out, c, &context));
    lob_segment_output_free(&out);
    const int all = log.calls;
    assert_true(all > 10);
    for (int stop = 1; stop < all; stop += 1 + all / most) {
        log = (progress_log){.stop_at = 2, .stop_after = stop};
        const lob_status st = run(&out, c, &context);
        if (st != LOB_ECANCEL) fail_msg("stopped at report %d of %d: %d", stop, all, (int)st);
        assert_null(out.labels.data);
    }
}

TEST(a_caller_may_stop_at_any_time)
{
    segment_case c;
    make_usual(&c);
    check_stops(&c, 40);
    segment_case_free(&c);
}

/* Three structures, the last a voxel that on a grid twice as coarse has one of its own, or lies in
 * one with a stroke of the first and is lost. */
TEST(growths_that_outvote_stop_at_any_time)
{
    enum { SIDE = 16, N = SIDE * SIDE * SIDE };
    static int16_t values[N];
    const double mm[3] = {1, 1, 1};
    const lob_dims dims = {SIDE, SIDE, SIDE};
    for (int lost = 0; lost < 2; lost++) {
        static uint8_t strokes[N];
        lob_segment_plan plan;
        segment_case c = {.options = lob_segment_defaults()};
        memset(strokes, 0, sizeof strokes);
        for (int i = 0; i < N; i++) {
            const int x = i % SIDE, y = i / SIDE % SIDE, z = i / SIDE / SIDE;
            const bool in = y > 3 && y < 12 && x > 1 && x < 14;
            values[i] = (int16_t)(in ? 100 + 10 * x : i % 7);
            if (z % 8 != 4) continue;
            if (y == 8 && x > 2 && x < 13 && x != 8) strokes[i] = x < 8 ? 1 : 2;
            if (y == 1 || y == 14) strokes[i] = 3;
        }
        strokes[(4 * SIDE + (lost ? 9 : 5)) * SIDE + 4] = 4;
        c.options.passes = 2;
        c.options.background = 3;
        c.options.coarse = 1000;
        c.options.slips = false;
        c.image = lob_volume_wrap(values, LOB_I16, dims, 1, mm, (lob_place){0});
        c.strokes = lob_volume_wrap(strokes, LOB_U8, dims, 1, mm, (lob_place){0});
        c.in = (lob_segment_input){.image = &c.image, .strokes = &c.strokes};
        assert_ok(lob_segment_choose(&plan, &c.image, &c.strokes, &c.options, &two_threads, NULL));
        assert_true(plan.outvote && plan.factor[0] == 2 && plan.box.size[0] == SIDE);
        check_stops(&c, 1000);
    }
}

TEST(memory_is_kept_to)
{
    segment_case c;
    lob_segment_output want, got;
    make_usual(&c);
    assert_ok(run(&want, &c, &two_threads));
    int refused = 0;
    for (int64_t memory = 1000; memory < 64 << 20; memory *= 2) {
        const lob_context context = {.threads = 2, .max_memory = memory};
        const lob_status st = run(&got, &c, &context);
        if (st == LOB_OK) {
            assert_null(segment_case_differs(&want, &got));
            assert_true(got.working_bytes <= memory);
            lob_segment_output_free(&got);
            break;
        }
        assert_int_equal(st, LOB_ENOMEM);
        refused++;
    }
    assert_true(refused > 3);
    lob_segment_output_free(&want);
    segment_case_free(&c);
}

TEST(numbers_of_a_plan_have_nine_digits)
{
    segment_case c;
    lob_segment_plan plan;
    make_usual(&c);
    c.options.margin = 10.0123456789012;
    c.options.blur = 1.0 / 3;
    assert_ok(lob_segment_choose(&plan, &c.image, &c.strokes, &c.options, &two_threads, NULL));
    assert_true(plan.options.margin == 10.0123457);
    const double numbers[] = {plan.options.blur,           plan.growth[0].blur_mm,
                              plan.growth[1].blur_mm,      plan.growth[0].smooth_mm,
                              plan.growth[1].smooth_mm,    plan.growth[1].shape_mm,
                              plan.growth[0].spacing_mm[0]};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(numbers[i] == lob_plan_number(numbers[i]));
    segment_case_free(&c);
}

static lob_status choose(const lob_volume *image, const uint8_t *strokes, int32_t background,
                         lob_error *error)
{
    lob_segment_plan plan;
    lob_segment_options options = lob_segment_defaults();
    const lob_volume v = lob_volume_wrap((void *)strokes, LOB_U8, image->dims, 1,
                                         image->geometry.spacing_mm, (lob_place){0});
    options.background = background;
    return lob_segment_choose(&plan, image, &v, &options, &two_threads, error);
}

TEST(strokes_that_make_no_mask)
{
    static int16_t values[1000];
    static uint8_t strokes[1000];
    const double mm[3] = {1, 1, 1};
    const lob_dims dims = {10, 10, 10};
    const lob_volume image = lob_volume_wrap(values, LOB_I16, dims, 1, mm, (lob_place){0});
    lob_error error;
    assert_int_equal(choose(&image, strokes, 0, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "no strokes"));
    strokes[555] = 3;
    assert_int_equal(choose(&image, strokes, 0, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "all strokes are of label 3"));
    strokes[115] = 2;
    assert_ok(choose(&image, strokes, 0, &error));
    assert_int_equal(choose(&image, strokes, 4, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "background's label 4"));
    for (int i = 0; i < 1000; i++) strokes[i] = (uint8_t)i;
    assert_int_equal(choose(&image, strokes, 0, &error), LOB_EDATA);
    assert_non_null(strstr(error.text, "strokes of 255 labels"));
}

TEST(a_plan_belongs_to_its_strokes)
{
    segment_case c;
    lob_segment_plan plan;
    lob_segment_output out;
    lob_error error;
    make_usual(&c);
    const lob_segment_input in = {.image = &c.image, .strokes = &c.strokes};
    assert_ok(lob_segment_choose(&plan, &c.image, &c.strokes, &c.options, &two_threads, &error));
    plan.box = (lob_box){
        .size = {1, 1, 1}
    };
    assert_int_equal(lob_segment(&out, &in, &plan, lob_backends[0], &two_threads, &error),
                     LOB_EARG);
    assert_non_null(strstr(error.text, "made for other strokes"));
    segment_case_free(&c);
}

/* A value that is no label is refused wherever it lies, and strokes at corners are not missed. */
TEST(strokes_of_real_numbers)
{
    static int16_t values[1000];
    static float strokes[1000];
    const double mm[3] = {1, 1, 1};
    const lob_dims dims = {10, 10, 10};
    const lob_volume image = lob_volume_wrap(values, LOB_I16, dims, 1, mm, (lob_place){0});
    const lob_volume v = lob_volume_wrap(strokes, LOB_F32, dims, 1, mm, (lob_place){0});
    const lob_segment_options options = lob_segment_defaults();
    lob_segment_plan plan;
    lob_error error;
    strokes[0] = 1;
    strokes[999] = 2;
    assert_ok(lob_segment_choose(&plan, &image, &v, &options, &two_threads, &error));
    for (int a = 0; a < 3; a++) assert_true(plan.box.first[a] == 0 && plan.box.size[a] == 10);
    strokes[0] = 0;
    strokes[555] = 1;
    strokes[3] = NAN;
    assert_int_equal(lob_segment_choose(&plan, &image, &v, &options, &two_threads, &error),
                     LOB_EDATA);
}

/* Strokes of the background this far on both sides of a line of label 1, in voxels of 2 mm. */
TEST(what_is_narrow_has_no_median)
{
    static const struct {
        int away;
        bool median;
    } cases[] = {
        {2, false},
        {4, false},
        {6, true },
    };
    enum { SIDE = 20, N = SIDE * SIDE * SIDE };
    static int16_t values[N];
    static uint8_t strokes[N];
    const double mm[3] = {2, 2, 2};
    const lob_dims dims = {SIDE, SIDE, SIDE};
    const lob_volume image = lob_volume_wrap(values, LOB_I16, dims, 1, mm, (lob_place){0});
    const lob_volume v = lob_volume_wrap(strokes, LOB_U8, dims, 1, mm, (lob_place){0});
    const lob_segment_options options = lob_segment_defaults();
    for (size_t k = 0; k < COUNT(cases); k++) {
        lob_segment_plan plan;
        memset(strokes, 0, sizeof strokes);
        for (int y = 4; y < 16; y++) {
            uint8_t *const row = strokes + (10 * SIDE + y) * SIDE + 10;
            row[0] = 1;
            row[-cases[k].away] = row[cases[k].away] = 2;
        }
        assert_ok(lob_segment_choose(&plan, &image, &v, &options, &two_threads, NULL));
        assert_int_equal(plan.background, 2);
        assert_int_equal(plan.median[0], cases[k].median);
        assert_true(plan.growth[0].smooth_mm == 2);
    }
}

/* Strokes on so many slices, next to each other, so many mm apart. */
TEST(one_slice_is_grown_once_and_reaches_far)
{
    static const struct {
        int drawn;
        double apart, far;
        int passes;
        double taken;
        bool thick;
        double beyond; /* mm */
    } cases[] = {
        {1, 2,   4, 1, 2, false, 60},
        {1, 2,   1, 1, 1, false, 60},
        {1, 10,  4, 1, 2, false, 60},
        {2, 2,   4, 1, 2, false, 60}, /* as near to each other as this they are as one */
        {2, 6,   4, 1, 2, true,  60}, /* a quarter of 26 mm is 6.5 mm */
        {2, 7.5, 4, 2, 4, true,  30},
        {2, 10,  4, 2, 4, true,  30},
        {4, 1,   4, 2, 4, false, 15},
    };
    enum { SIDE = 20, N = SIDE * SIDE * SIDE };
    static int16_t values[N];
    static uint8_t strokes[N];
    const lob_dims dims = {SIDE, SIDE, SIDE};
    for (size_t k = 0; k < COUNT(cases); k++) {
        const double mm[3] = {2, 2, cases[k].apart};
        const lob_volume image = lob_volume_wrap(values, LOB_I16, dims, 1, mm, (lob_place){0});
        const lob_volume v = lob_volume_wrap(strokes, LOB_U8, dims, 1, mm, (lob_place){0});
        lob_segment_options options = lob_segment_defaults();
        lob_segment_plan plan;
        options.far = cases[k].far;
        memset(strokes, 0, sizeof strokes);
        for (int z = 10; z < 10 + cases[k].drawn; z++)
            for (int y = 4; y < 16; y++) {
                uint8_t *const row = strokes + (z * SIDE + y) * SIDE + 10;
                row[0] = 1;
                row[-6] = row[-5] = row[5] = row[6] = 2;
            }
        assert_ok(lob_segment_choose(&plan, &image, &v, &options, &two_threads, NULL));
        assert_int_equal(plan.passes, cases[k].passes);
        assert_true(plan.options.far == cases[k].taken);
        assert_int_equal(plan.thick, cases[k].thick);
        assert_int_equal(plan.growth[1].keep, !cases[k].thick);
        assert_true(plan.ends * cases[k].drawn * cases[k].apart == cases[k].beyond);
    }
}

/* Strokes along both sides of borders, of two structures: boxes of so many voxels. */
TEST(lines_along_borders_reach_by_the_smaller_structure)
{
    enum { SIDE = 32, N = SIDE * SIDE * SIDE };
    static const int from[2][3] = {
        {3,  3,  8 },
        {19, 16, 10}
    };
    static const int to[2][3] = {
        {14, 13, 20},
        {27, 29, 19}
    };
    static int16_t values[N];
    static uint8_t strokes[N];
    const double mm[3] = {1, 2, 1.5};
    const lob_dims dims = {SIDE, SIDE, SIDE};
    const lob_volume image = lob_volume_wrap(values, LOB_I16, dims, 1, mm, (lob_place){0});
    const lob_volume v = lob_volume_wrap(strokes, LOB_U8, dims, 1, mm, (lob_place){0});
    const lob_segment_options options = lob_segment_defaults();
    lob_segment_plan plan;
    memset(strokes, 0, sizeof strokes);
    for (int k = 0; k < 2; k++)
        for (int z = from[k][2]; z < to[k][2]; z += 3)
            for (int y = from[k][1] - 2; y < to[k][1] + 2; y++)
                for (int x = from[k][0] - 2; x < to[k][0] + 2; x++) {
                    const int left = x - from[k][0], right = to[k][0] - 1 - x;
                    const int below = y - from[k][1], above = to[k][1] - 1 - y;
                    const int depth = (int)fmin(fmin(left, right), fmin(below, above));
                    uint8_t *const here = strokes + (z * SIDE + y) * SIDE + x;
                    *here = depth == 0 ? (uint8_t)(k + 1) : depth == -2 ? 3 : *here;
                }
    assert_ok(lob_segment_choose(&plan, &image, &v, &options, &two_threads, NULL));
    assert_int_equal(plan.background, 3);
    assert_true(plan.far_mm == 0.8); /* a tenth of 8 voxels of 1 mm along x of the second */
}

TEST(each_structure_is_drawn_on_its_slices_or_not)
{
    static const struct {
        int every; /* slices from one with strokes of a structure to the next */
        int apart; /* from the first of a structure to that of the next */
        bool thick, absent;
    } cases[] = {
        {1, 1, true,  true },
        {2, 1, false, false}, /* others are drawn where it is not */
        {4, 1, false, false},
        {2, 2, true,  false}, /* on common slices, which are not all */
        {3, 0, true,  false},
    };
    enum { SIDE = 20, STRUCTURES = 4, N = SIDE * SIDE * SIDE };
    static int16_t values[N];
    static uint8_t strokes[N];
    const lob_dims dims = {SIDE, SIDE, SIDE};
    const double mm[3] = {2, 2, 10};
    for (size_t c = 0; c < COUNT(cases); c++) {
        const lob_volume image = lob_volume_wrap(values, LOB_I16, dims, 1, mm, (lob_place){0});
        const lob_volume v = lob_volume_wrap(strokes, LOB_U8, dims, 1, mm, (lob_place){0});
        const lob_segment_options options = lob_segment_defaults();
        lob_segment_plan plan;
        memset(strokes, 0, sizeof strokes);
        for (int k = 0; k < STRUCTURES; k++)
            for (int z = 2 + k * cases[c].apart; z < 12; z += cases[c].every)
                for (int x = 3; x < 15; x++) {
                    uint8_t *const row = strokes + (z * SIDE + x + k) * SIDE;
                    row[x] = (uint8_t)(1 + k);
                    row[0] = row[SIDE - 1] = 1 + STRUCTURES;
                }
        assert_ok(lob_segment_choose(&plan, &image, &v, &options, &two_threads, NULL));
        assert_int_equal(plan.background, 1 + STRUCTURES);
        assert_int_equal(plan.thick, cases[c].thick);
        assert_int_equal(plan.absent, cases[c].absent);
        assert_true(plan.options.shape == options.shape / STRUCTURES);
    }
}

TEST(corrections_stay_near)
{
    enum { N = 9 * 5 * 3 };
    uint8_t before[N], strokes[N] = {0}, fresh[N];
    const double mm[3] = {2, 1, 1};
    const lob_dims dims = {9, 5, 3};
    lob_segment_corrected done;
    for (int i = 0; i < N; i++) {
        fresh[i] = 1;
        before[i] = i % 9 < 4 ? 0 : 6;
    }
    strokes[45 + 18 + 2] = 1; /* before says 0 there */
    strokes[45 + 18 + 8] = 6; /* as before */
    for (int reach = 0; reach < 20; reach += 3) {
        const lob_volume old = lob_volume_wrap(before, LOB_U8, dims, 1, mm, (lob_place){0});
        const lob_volume drawn = lob_volume_wrap(strokes, LOB_U8, dims, 1, mm, (lob_place){0});
        lob_volume v;
        assert_ok(lob_volume_like(&v, &old, LOB_U8, 1));
        memcpy(v.data, fresh, sizeof fresh);
        assert_ok(
            lob_segment_correct(&v, &done, &old, &drawn, 9, reach, false, &two_threads, NULL));
        const uint8_t *const labels = v.data; /* packing may have moved them */
        int64_t changed = 0;
        for (int i = 0; i < N; i++) {
            const int x = i % 9 - 2, y = i / 9 % 5 - 2, z = i / 45 - 1;
            const bool close = 4 * x * x + y * y + z * z <= reach * reach;
            assert_int_equal(labels[i], close ? fresh[i] : before[i]);
            changed += labels[i] != before[i];
        }
        assert_int_equal(done.said, 1);
        assert_int_equal(done.changed, changed);
        lob_volume_free(&v);
    }
}
