/* Label steps on the CPU against their definitions, and what callers rely on. */
#include "kernels/labels/label_steps.h"
#include "kernels/labels/majority/majority.h"
#include "tests/reference/labels_case.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/labels.h"

static void compare_case(uint64_t number, int64_t max_voxels, int max_threads)
{
    labels_case c;
    lob_labels_output first = {.count = 0}, got;
    labels_case_make(&c, number, max_voxels);
    int32_t *want = calloc((size_t)c.n, sizeof *want);
    assert_non_null(want);
    labels_reference(want, &c.in, &c.options);
    for (int threads = 1; threads <= max_threads; threads++) {
        lob_error error = {.text = ""};
        const lob_status st = lob_labels_cpu(&got, &c.in, &c.options, THREADS(threads), &error);
        if (st != LOB_OK) fail_msg("%s: %s", c.shape, error.text);
        for (int64_t i = 0; i < c.n; i++)
            if (lob_label_at(got.labels, got.type, i) != want[i])
                fail_msg("%s: %d threads: voxel %lld is %d, wanted %d", c.shape, threads,
                         (long long)i, lob_label_at(got.labels, got.type, i), want[i]);
        if (threads == 1) {
            first = got;
            continue;
        }
        const char *differs = labels_result_differs(&first, &got, &c.in);
        if (differs) fail_msg("%s: %d threads: %s differ", c.shape, threads, differs);
        lob_labels_output_free(&got);
    }
    lob_labels_output_free(&first);
    labels_case_free(&c);
    free(want);
}

TEST(small_random_cases)
{
    for (uint64_t number = 0; number < CASES(250); number++) compare_case(number, 1200, 2);
}

TEST(random_cases_of_many_tiles)
{
    for (uint64_t number = 5000; number < 5000 + CASES(30); number++) compare_case(number, 9000, 3);
}

/* Run steps on labels that are numbers of themselves, in 3D with 26 neighbours. */
static lob_labels_output run_steps(const uint8_t *labels, lob_dims dims,
                                   const lob_labels_step *steps, int count)
{
    int32_t values[255];
    for (int i = 0; i < 255; i++) values[i] = i + 1;
    const lob_labels_input in = {
        .labels = labels,
        .type = LOB_U8,
        .count = 255,
        .values = values,
        .dims = dims,
        .spacing_mm = {1, 1, 1},
        .steps = steps,
        .step_count = count,
    };
    const lob_labels_options options = lob_labels_defaults();
    lob_labels_output out;
    lob_error error = {.text = ""};
    if (lob_labels_cpu(&out, &in, &options, THREADS(2), &error) != LOB_OK)
        fail_msg("%s", error.text);
    return out;
}

static uint8_t label_of(const lob_labels_output *out, int64_t i)
{
    return (uint8_t)lob_label_at(out->labels, out->type, i);
}

#define SMOOTH(sigma) (&(const lob_labels_step){.kind = LOB_LABELS_SMOOTH, .length = (sigma)})

enum { SIDE = 31, VOXELS = SIDE * SIDE * SIDE };

static int64_t voxel(int x, int y, int z)
{
    return ((int64_t)z * SIDE + y) * SIDE + x;
}

static const lob_dims cube = {SIDE, SIDE, SIDE};

TEST(smoothing_keeps_a_vessel_of_one_voxel)
{
    static uint8_t in[VOXELS];
    memset(in, 0, sizeof in);
    for (int z = 0; z < SIDE; z++) in[voxel(9, 11, z)] = 3;           /* straight */
    for (int i = 0; i < SIDE; i++) in[voxel(i, SIDE - 1 - i, i)] = 7; /* diagonal */
    for (int quarters = 2; quarters < 20; quarters += 3) {
        lob_labels_output out = run_steps(in, cube, SMOOTH(quarters / 4.0), 1);
        assert_memory_equal(out.labels, in, VOXELS);
        lob_labels_output_free(&out);
    }
}

TEST(smoothing_keeps_a_vessel_on_its_organ_without_a_gap)
{
    static uint8_t in[VOXELS];
    memset(in, 0, sizeof in);
    for (int z = 0; z < SIDE; z++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < 12; x++) in[voxel(x, y, z)] = 1;
    for (int x = 12; x < SIDE; x++) in[voxel(x, 15, 15)] = 1;
    lob_labels_output out = run_steps(in, cube, SMOOTH(2), 1);
    assert_memory_equal(out.labels, in, VOXELS);
    lob_labels_output_free(&out);
}

TEST(smoothing_rounds_corners_and_takes_bumps_away)
{
    static uint8_t in[VOXELS];
    memset(in, 0, sizeof in);
    for (int z = 6; z < 25; z++)
        for (int y = 6; y < 25; y++)
            for (int x = 6; x < 25; x++) in[voxel(x, y, z)] = 2;
    in[voxel(15, 15, 25)] = 2; /* a bump */
    in[voxel(15, 15, 6)] = 0;  /* a dent */
    lob_labels_output out = run_steps(in, cube, SMOOTH(1.5), 1);
    assert_int_equal(label_of(&out, voxel(6, 6, 6)), 0);
    assert_int_equal(label_of(&out, voxel(24, 6, 24)), 0);
    assert_int_equal(label_of(&out, voxel(15, 15, 25)), 0);
    assert_int_equal(label_of(&out, voxel(15, 15, 6)), 2);
    assert_int_equal(label_of(&out, voxel(6, 15, 15)), 2);
    lob_labels_output_free(&out);
}

TEST(smoothing_leaves_no_gap_between_neighbours)
{
    static uint8_t in[VOXELS];
    for (int z = 0; z < SIDE; z++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                in[voxel(x, y, z)] =
                    (uint8_t)(1 + (x + (y * 7 + z * 3) % 3 > 15) + (y + (x * 5) % 2 > 20));
    lob_labels_output out = run_steps(in, cube, SMOOTH(1), 1);
    for (int64_t i = 0; i < VOXELS; i++) assert_int_not_equal(label_of(&out, i), 0);
    lob_labels_output_free(&out);
}

TEST(labels_may_be_exchanged_before_smoothing_or_after)
{
    static uint8_t in[VOXELS], other[VOXELS];
    static const uint8_t to[4] = {0, 40, 90, 200}; /* in the same order, so ties fall alike */
    for (int64_t i = 0; i < VOXELS; i++) {
        in[i] = (uint8_t)((i / 3 + i / 97 + i / 1201) % 4);
        other[i] = to[in[i]];
    }
    const lob_labels_step steps[] = {
        {.kind = LOB_LABELS_SMOOTH, .length = 1.2},
        {.kind = LOB_LABELS_MEDIAN, .length = 2  },
    };
    lob_labels_output a = run_steps(in, cube, steps, 2), b = run_steps(other, cube, steps, 2);
    for (int64_t i = 0; i < VOXELS; i++) assert_int_equal(to[label_of(&a, i)], label_of(&b, i));
    lob_labels_output_free(&a);
    lob_labels_output_free(&b);
}

/* One row of voxels and what a step makes of it. */
enum { WIDTH = 12 };
static const struct {
    const char *what;
    uint8_t in[WIDTH];
    lob_labels_step step;
    uint8_t want[WIDTH];
} rows[] = {
    ROW("a tie of a median goes to the voxel's own label", {5, 3, 0, 0, 0, 0, 9, 2, 2, 9, 0, 0},
        {.kind = LOB_LABELS_MEDIAN, .length = 1}, {5, 3, 0, 0, 0, 0, 9, 2, 2, 9, 0, 0}),
    ROW("another label's majority wins", {5, 5, 1, 5, 5, 0, 0, 0, 4, 0, 0, 0},
        {.kind = LOB_LABELS_MEDIAN, .length = 1}, {5, 5, 5, 5, 5, 0, 0, 0, 0, 0, 0, 0}),
    ROW("a median of less than a voxel changes nothing", {5, 5, 1, 5, 5, 0, 0, 0, 4, 0, 0, 0},
        {.kind = LOB_LABELS_MEDIAN, .length = 0.9}, {5, 5, 1, 5, 5, 0, 0, 0, 4, 0, 0, 0}),
    ROW("a voxel amid another label is a slip", {1, 1, 2, 1, 1, 0, 0, 2, 2, 1, 0, 3},
        {.kind = LOB_LABELS_SLIPS}, {1, 1, 0, 1, 1, 0, 0, 2, 2, 0, 0, 3}),
    ROW("the boundary of touching labels", {1, 1, 1, 2, 2, 2, 2, 0, 0, 3, 3, 3},
        {.kind = LOB_LABELS_BOUNDARY}, {0, 0, 1, 2, 0, 0, 2, 0, 0, 3, 0, 0}),
    ROW("the largest piece of each label, of equal ones the first",
        {1, 0, 1, 1, 0, 2, 2, 0, 2, 2, 0, 2}, {.kind = LOB_LABELS_LARGEST, .count = 1},
        {0, 0, 1, 1, 0, 2, 2, 0, 0, 0, 0, 0}),
    ROW("pieces of one label that another one parts", {1, 2, 1, 1, 0, 2, 2, 0, 2, 2, 0, 2},
        {.kind = LOB_LABELS_LARGEST, .count = 2}, {1, 0, 1, 1, 0, 2, 2, 0, 2, 2, 0, 0}),
    ROW("small pieces", {1, 0, 1, 1, 0, 2, 2, 2, 0, 2, 2, 0},
        {.kind = LOB_LABELS_MIN_SIZE, .count = 3}, {0, 0, 0, 0, 0, 2, 2, 2, 0, 0, 0, 0}),
    ROW("a label of its own for each piece", {9, 9, 0, 4, 9, 9, 0, 9, 4, 4, 0, 4},
        {.kind = LOB_LABELS_SPLIT}, {1, 1, 0, 2, 3, 3, 0, 4, 5, 5, 0, 6}),
    ROW("numbers without gaps", {9, 9, 0, 4, 9, 200, 0, 9, 4, 4, 0, 4},
        {.kind = LOB_LABELS_SEQUENTIAL}, {2, 2, 0, 1, 2, 3, 0, 2, 1, 1, 0, 1}),
    ROW("holes of a row", {0, 9, 0, 9, 9, 0, 0, 4, 4, 0, 4, 0}, {.kind = LOB_LABELS_FILL_HOLES},
        {0, 9, 9, 9, 9, 9, 9, 4, 4, 4, 4, 0}),
};

TEST(rows_of_voxels)
{
    const lob_dims dims = {WIDTH, 1, 1};
    for (size_t i = 0; i < COUNT(rows); i++) {
        lob_labels_output out = run_steps(rows[i].in, dims, &rows[i].step, 1);
        for (int x = 0; x < WIDTH; x++)
            if (label_of(&out, x) != rows[i].want[x])
                fail_msg("%s: voxel %d is %d, wanted %d", rows[i].what, x, label_of(&out, x),
                         rows[i].want[x]);
        lob_labels_output_free(&out);
    }
}

TEST(a_table_says_what_labels_became)
{
    const uint8_t in[WIDTH] = {7, 7, 0, 3, 3, 20, 20, 9, 0, 0, 0, 21};
    const lob_labels_rule rules[] = {
        {3,  3,  20             },
        {7,  9,  0              },
        {21, 30, LOB_LABELS_SAME}
    };
    const lob_labels_step steps[] = {
        {.kind = LOB_LABELS_RECODE, .rules = rules, .rule_count = 3, .rest = LOB_LABELS_SAME},
        {.kind = LOB_LABELS_SEQUENTIAL         }
    };
    static const lob_labels_pair first[] = {
        {3,  20},
        {7,  0 },
        {9,  0 },
        {20, 20},
        {21, 21}
    };
    static const lob_labels_pair second[] = {
        {20, 1},
        {21, 2}
    };
    lob_labels_output out = run_steps(in, (lob_dims){WIDTH, 1, 1}, steps, 2);
    assert_int_equal(out.done[0].pair_count, 5);
    assert_memory_equal(out.done[0].pairs, first, sizeof first);
    assert_int_equal(out.done[0].labels, 2);
    assert_int_equal(out.done[1].pair_count, 2);
    assert_memory_equal(out.done[1].pairs, second, sizeof second);
    lob_labels_output_free(&out);
}

TEST(weights_are_those_of_a_gaussian)
{
    static lob_majority m;
    for (int step = 0; step < 29; step++) {
        const double sigma = 0.05 * pow(1.3, step); /* up to 77.6 */
        lob_majority_gaussian(&m, (double[3]){sigma, 0, 1});
        const int r = m.radius[0];
        double total = 1, sum = 0;
        int32_t whole = 0;
        for (int k = 1; k <= r; k++) total += 2 * exp(-0.5 * k * k / (sigma * sigma));
        assert_int_equal(r, (int)(3 * sigma + 0.5));
        assert_int_equal(m.before[0][2 * r + 1], LOB_MAJORITY_UNIT);
        for (int k = 1; k <= r; k++) {
            sum += exp(-0.5 * k * k / (sigma * sigma));
            whole += (int32_t)m.weight[0][r + k];
            assert_int_equal(m.weight[0][r - k], m.weight[0][r + k]);
            assert_true(fabs(whole - LOB_MAJORITY_UNIT * sum / total) <= 0.5 + 1e-9);
        }
        assert_int_equal(m.weight[1][0], LOB_MAJORITY_UNIT);
    }
}

TEST(a_radius_as_long_as_allowed)
{
    enum { LONG = 700 };
    static uint8_t in[LONG];
    static int32_t want[LONG];
    const int32_t values[] = {1, 2, 3};
    for (int i = 0; i < LONG; i++) in[i] = (uint8_t)(i / 40 * 7 % 4);
    const lob_labels_step steps[] = {
        {.kind = LOB_LABELS_SMOOTH, .length = 83 },
        {.kind = LOB_LABELS_MEDIAN, .length = 250}
    };
    for (int axis = 0; axis < 3; axis++)
        for (int s = 0; s < 2; s++) {
            const lob_labels_input data = {
                in,
                LOB_U8,
                3,
                values,
                {axis == 0 ? LONG : 1, axis == 1 ? LONG : 1, axis == 2 ? LONG : 1},
                {axis == 0 ? 1 : 1e4,  axis == 1 ? 1 : 1e4,  axis == 2 ? 1 : 1e4 },
                NULL,
                steps + s,
                1,
            };
            const lob_labels_options options = lob_labels_defaults();
            lob_labels_output out;
            labels_reference(want, &data, &options);
            assert_ok(lob_labels_cpu(&out, &data, &options, THREADS(2), NULL));
            for (int i = 0; i < LONG; i++) assert_int_equal(label_of(&out, i), want[i]);
            lob_labels_output_free(&out);
        }
}

static const struct {
    const char *what;
    lob_labels_step step;
    lob_labels_options options;
} refused[] = {
    {"a sigma that reaches too far",    {.kind = LOB_LABELS_SMOOTH, .length = 84},              {26, -1}},
    {"a sigma that is no number",       {.kind = LOB_LABELS_SMOOTH, .length = NAN},             {26, -1}},
    {"a negative radius",               {.kind = LOB_LABELS_MEDIAN, .length = -1},              {26, -1}},
    {"a radius past the longest",       {.kind = LOB_LABELS_MEDIAN, .length = 251},             {26, -1}},
    {"an infinite ball",                {.kind = LOB_LABELS_DILATE, .length = INFINITY},        {26, -1}},
    {"no pieces at all",                {.kind = LOB_LABELS_LARGEST, .count = 0},               {26, -1}},
    {"neighbours of slices in 3D",      {.kind = LOB_LABELS_SPLIT},                             {8, -1} },
    {"neighbours of 3D in slices",      {.kind = LOB_LABELS_SPLIT},                             {26, 2} },
    {"no such axis",                    {.kind = LOB_LABELS_SPLIT},                             {8, 3}  },
    {"no such step",                    {.kind = LOB_LABELS_STEPS},                             {26, -1}},
    {"a rule for 0",
     {.kind = LOB_LABELS_RECODE, .rules = &(const lob_labels_rule){0, 4, 2}, .rule_count = 1},
     {26, -1}                                                                                           },
    {"a rule whose range is backwards",
     {.kind = LOB_LABELS_RECODE, .rules = &(const lob_labels_rule){4, 3, 2}, .rule_count = 1},
     {26, -1}                                                                                           },
    {"a rule to a negative label",
     {.kind = LOB_LABELS_RECODE, .rules = &(const lob_labels_rule){3, 4, -2}, .rule_count = 1},
     {26, -1}                                                                                           },
    {"rules that overlap",
     {.kind = LOB_LABELS_RECODE,
      .rules = (const lob_labels_rule[]){{3, 4, 2}, {4, 5, 2}},
      .rule_count = 2},
     {26, -1}                                                                                           },
};

TEST(steps_outside_their_range)
{
    const uint8_t in[8] = {1, 1, 0, 2, 2, 1, 1, 0};
    const int32_t values[] = {1, 2};
    for (size_t i = 0; i < COUNT(refused); i++) {
        const lob_labels_input data = {
            in, LOB_U8, 2, values, {2, 2, 2},
                {1, 1, 1},
                NULL, &refused[i].step, 1
        };
        lob_labels_output out;
        lob_error error = {.text = ""};
        if (lob_labels_cpu(&out, &data, &refused[i].options, THREADS(1), &error) != LOB_EARG ||
            !error.text[0])
            fail_msg("%s: not refused", refused[i].what);
        assert_null(out.labels);
    }
}

static int stop_at_once(void *user, double done)
{
    assert_true(done >= 0 && done <= 1);
    return ++*(int *)user > 2;
}

TEST(less_memory_is_refused_and_a_call_can_be_stopped)
{
    static uint8_t in[VOXELS];
    const int32_t values[] = {1, 2};
    for (int64_t i = 0; i < VOXELS; i++) in[i] = (uint8_t)(i % 3);
    const lob_labels_step steps[] = {
        {.kind = LOB_LABELS_SMOOTH,     .length = 1},
        {.kind = LOB_LABELS_LARGEST,    .count = 1 },
        {.kind = LOB_LABELS_FILL_HOLES},
        {.kind = LOB_LABELS_MEDIAN,                  .length = 1           }
    };
    const lob_labels_input data = {
        in, LOB_U8, 2, values, {SIDE, SIDE, SIDE},
            {1,    1,    1   },
            NULL, steps, 4
    };
    const lob_labels_options options = lob_labels_defaults();
    lob_labels_output out, again;
    lob_error error = {.text = ""};
    assert_ok(lob_labels_cpu(&out, &data, &options, THREADS(2), &error));
    /* How much tables of pieces grow depends on how the threads share the rows. */
    const lob_context enough = {.threads = 2, .max_memory = 2 * out.working_bytes};
    assert_ok(lob_labels_cpu(&again, &data, &options, &enough, &error));
    assert_null(labels_result_differs(&out, &again, &data));
    const lob_context less = {.threads = 2, .max_memory = out.working_bytes / 3};
    lob_labels_output_free(&again);
    assert_int_equal(lob_labels_cpu(&again, &data, &options, &less, &error), LOB_ENOMEM);
    assert_true(error.text[0]);
    int calls = 0;
    const lob_context stopped = {.threads = 2, .progress = stop_at_once, .user = &calls};
    assert_int_equal(lob_labels_cpu(&again, &data, &options, &stopped, &error), LOB_ECANCEL);
    assert_null(again.labels);
    lob_labels_output_free(&out);
}
