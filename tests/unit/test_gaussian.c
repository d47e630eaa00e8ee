/*
 * Gaussian steps against their definition in double precision, and against themselves: threads,
 * slabs, memory, cancelling.
 */
#include "tests/unit/cmocka_test.h"

#include "kernels/filters/gaussian/gaussian.h"
#include "tests/reference/gaussian_case.h"
#include "tests/reference/gaussian_reference.h"
#include "tests/reference/random.h"

static const lob_filter_map SAME = {1, 0, -INFINITY, INFINITY, true};

static lob_status run_step(float *out, const lob_filter_image *in, const lob_filter_call *call,
                           const lob_context *context, lob_budget *budget)
{
    const lob_filter_image to = {out, LOB_F32, in->dims, in->channels};
    lob_error error = {.text = ""};
    return lob_gaussian_cpu(&to, in, call, context, budget, &error);
}

static lob_filter_image image_of(const lob_volume *v)
{
    return (lob_filter_image){v->data, v->type, v->dims, v->channels};
}

static float *floats(int64_t n)
{
    float *const block = malloc((size_t)n * sizeof *block);
    assert_non_null(block);
    return block;
}

/* ---- the definition ---- */

/* The cost of a case's definition, in products. */
static double naive_cost(const gaussian_case *c)
{
    double cost = (double)(lob_voxels(&c->image) * c->image.channels);
    for (int a = 0; a < 3; a++) cost *= 2 * floor(4 * c->step.along[a] + .5) + 1;
    return cost * (c->step.kind == LOB_FILTER_GAUSSIAN ? 1 : 4);
}

/* The largest sum of the absolute weights of a step: 1 for means, about 1 / sigma and 1 / sigma^2
 * per axis for derivatives. */
static double gain(const gaussian_case *c)
{
    double sum = 0;
    for (int a = 0; a < 3; a++) {
        const double sigma = c->step.along[a], mm = c->image.geometry.spacing_mm[a];
        const double s = sigma > .5 ? sigma : .5; /* where samples are all that is left */
        if (sigma > 0)
            sum += c->step.kind == LOB_FILTER_GRADIENT ? 1 / (s * mm) : 2 / (s * s * mm * mm);
    }
    return c->step.kind == LOB_FILTER_GAUSSIAN ? 1 : sum > 0 ? sum : 1;
}

static void assert_near_definition(const gaussian_case *c, double tolerance)
{
    const int64_t n = lob_voxels(&c->image) * c->image.channels;
    double *const want = malloc((size_t)n * sizeof *want), largest = 0;
    float *const got = floats(n);
    const lob_filter_call call = gaussian_case_call(c);
    const lob_filter_image in = image_of(&c->image);
    lob_budget budget = {.who = "test"};
    assert_non_null(want);
    gaussian_reference(want, &largest, c);
    assert_ok(run_step(got, &in, &call, THREADS(2), &budget));
    assert_int_equal(budget.held, 0);
    const double unit = tolerance * gain(c) * (largest > 0 ? largest : 1);
    for (int64_t i = 0; i < n; i++) {
        const bool same = isfinite(want[i]) ? fabs(want[i] - (double)got[i]) <= unit
                          : isnan(want[i])  ? isnan(got[i])
                                            : want[i] == (double)got[i];
        if (!same)
            fail_msg("%s: voxel %lld is %g, not %g; allowed %g", c->shape, (long long)i,
                     (double)got[i], want[i], unit);
    }
    free(want);
    free(got);
}

TEST(steps_are_their_definition)
{
    int run = 0;
    for (uint64_t k = 0; k < 1500 && run < 300; k++) {
        gaussian_case c;
        gaussian_case_make(&c, k, 3000, false);
        if (naive_cost(&c) < 3e5) {
            assert_near_definition(&c, 3e-6);
            run++;
        }
        gaussian_case_free(&c);
    }
    assert_int_equal(run, 300);
}

/* A line along an axis, noise or a single voxel, smoothed by a large sigma. */
static void line_make(gaussian_case *c, int axis, int64_t n, double sigma, lob_filter_kind kind,
                      lob_edge edge, bool noise)
{
    uint64_t random = (uint64_t)(n + axis);
    *c = (gaussian_case){.image = lob_volume_empty(), .finite = true};
    c->image.dims = (lob_dims){axis == 0 ? n : 1, axis == 1 ? n : 1, axis == 2 ? n : 1};
    c->image.type = LOB_F32;
    c->image.geometry.spacing_mm[0] = c->image.geometry.spacing_mm[1] = 1;
    c->image.geometry.spacing_mm[2] = 1;
    float *const data = c->image.data = floats(n);
    for (int64_t i = 0; i < n; i++) data[i] = noise ? (float)(i * 3 > n) : i == n / 2 ? 1.0f : 0.0f;
    data[random_below(&random, n)] = 1;
    c->step = (lob_filter_step){.kind = kind};
    c->step.along[axis] = sigma;
    c->options.edge = edge;
    snprintf(c->shape, sizeof c->shape, "kind %d, %lld along %d, sigma %g, edge %d", (int)kind,
             (long long)n, axis, sigma, (int)edge);
}

/* The bound that gaussian.h states, for one axis. */
TEST(coarse_axes_are_within_their_bound)
{
    static const double sigmas[] = {6, 6.4, 7.3, 8, 9.1, 12, 20, 33.3, 60};
    static const double bound[] = {8e-5, 6.5e-4, 1.5e-3};
    for (size_t i = 0; i < COUNT(sigmas); i++)
        for (int k = 0; k < 18; k++) {
            gaussian_case c;
            line_make(&c, k % 3, 401 + k, sigmas[i], (lob_filter_kind)(LOB_FILTER_GAUSSIAN + k / 6),
                      (lob_edge)(((size_t)k + i) % 6), k % 2);
            assert_true(lob_gaussian_align(&c.step, &c.options, k % 3) > 1);
            assert_near_definition(&c, bound[k / 6]);
            c.options.exact = true;
            assert_near_definition(&c, 3e-6);
            gaussian_case_free(&c);
        }
}

TEST(a_constant_stays_what_it_is)
{
    enum { SIDE = 61, N = SIDE * SIDE };
    static const double sigmas[] = {0, .3, 1, 5.9, 6, 11};
    float *const in = floats(N), *const out = floats(N);
    for (int i = 0; i < N; i++) in[i] = 1000.5f;
    for (size_t s = 0; s < COUNT(sigmas); s++)
        for (int k = 0; k < 3 * 5; k++) { /* all edges but constant */
            /* scipy's weights of second derivatives, which are ours, do not add up to 0. */
            if (k / 5 == 2 && sigmas[s] < LOB_GAUSSIAN_COARSE) continue;
            lob_filter_step step = {
                .kind = (lob_filter_kind)(k / 5), .along = {sigmas[s], 0, sigmas[s]}
            };
            lob_filter_options options = {.edge = (lob_edge)(k % 5)};
            const lob_filter_call call = {
                .step = &step,
                .options = &options,
                .spacing_mm = {1, 1, 1},
                .finite = true,
                .before = SAME,
                .after = SAME
            };
            const lob_filter_image image = {
                in, LOB_F32, {SIDE, 1, SIDE},
                  1
            };
            lob_budget budget = {.who = "test"};
            assert_ok(run_step(out, &image, &call, THREADS(1), &budget));
            for (int i = 0; i < N; i++)
                if (fabs((double)out[i] - (k / 5 == 0 ? 1000.5 : 0)) > 2e-3)
                    fail_msg("kind %d, sigma %g, edge %d: voxel %d is %g", k / 5, sigmas[s], k % 5,
                             i, (double)out[i]);
        }
    free(in);
    free(out);
}

/* ---- the same bytes ---- */

TEST(threads_and_maps_change_no_byte)
{
    for (uint64_t k = 5000; k < 5080; k++) {
        gaussian_case c;
        gaussian_case_make(&c, k, 20000, true);
        const int64_t n = lob_voxels(&c.image) * c.image.channels;
        float *const one = floats(n), *const many = floats(n), *const mapped = floats(n);
        lob_filter_call call = gaussian_case_call(&c);
        const lob_filter_image in = image_of(&c.image);
        lob_budget budget = {.who = "test"};
        assert_ok(run_step(one, &in, &call, THREADS(1), &budget));
        assert_ok(run_step(many, &in, &call, THREADS(3), &budget));
        if (memcmp(one, many, (size_t)n * sizeof *one) != 0) fail_msg("threads: %s", c.shape);
        call.after = (lob_filter_map){2, 1, -50, 100, false};
        assert_ok(run_step(mapped, &in, &call, THREADS(2), &budget));
        for (int64_t i = 0; i < n; i++) {
            float want = one[i] * 2;
            want = want + 1;
            if (isfinite(one[i])) want = want < -50 ? -50 : want > 100 ? 100 : want;
            if (isfinite(one[i]) && want != mapped[i]) fail_msg("map: %s", c.shape);
        }
        assert_true(budget.peak <= 12 * n + 4000000);
        free(one);
        free(many);
        free(mapped);
        gaussian_case_free(&c);
    }
}

/* Slabs along z with the reach that the step names, begun at multiples that it asks for. */
TEST(slabs_give_the_same_bytes)
{
    enum { NX = 31, NY = 29, NZ = 300, HEIGHT = 70 };
    static const double sigmas[] = {1.3, 4, 6.7, 9};
    const int64_t plane = NX * NY, n = plane * NZ;
    uint64_t random = 99;
    float *const in = floats(n), *const whole = floats(n), *const part = floats(n);
    for (int64_t i = 0; i < n; i++)
        in[i] = random_chance(&random, 3) ? NAN : (float)random_double(&random);
    for (int k = 0; k < 12; k++) {
        lob_filter_step step = {
            .kind = (lob_filter_kind)(k % 3), .along = {1, 2, sigmas[k / 3]}
        };
        lob_filter_options options = {.edge = (lob_edge)(k % 4)};
        const lob_filter_call call = {
            .step = &step,
            .options = &options,
            .spacing_mm = {1, 2, 3},
            .before = SAME,
            .after = SAME
        };
        lob_filter_image image = {
            in, LOB_F32, {NX, NY, NZ},
              1
        };
        lob_budget budget = {.who = "test"};
        const int64_t align = lob_gaussian_align(&step, &options, 2);
        const int64_t reach = lob_gaussian_reach(&step, &options, 2);
        assert_ok(run_step(whole, &image, &call, THREADS(2), &budget));
        for (int64_t low = 0; low < NZ; low += HEIGHT) {
            const int64_t from = low > reach ? (low - reach) / align * align : 0;
            const int64_t high = low + HEIGHT < NZ ? low + HEIGHT : NZ;
            const int64_t to = high + reach < NZ ? high + reach : NZ;
            image = (lob_filter_image){
                in + from * plane, LOB_F32, {NX, NY, to - from},
                      1
            };
            assert_ok(run_step(part, &image, &call, THREADS(2), &budget));
            if (memcmp(part + (low - from) * plane, whole + low * plane,
                       (size_t)((high - low) * plane) * sizeof *part) != 0)
                fail_msg("kind %d, sigma %g: planes from %lld differ", (int)step.kind,
                         sigmas[k / 3], (long long)low);
        }
    }
    free(in);
    free(whole);
    free(part);
}

/* ---- refusals ---- */

TEST(too_little_memory_is_refused)
{
    for (int k = 0; k < 2; k++) {
        gaussian_case c;
        line_make(&c, 2, 500, k ? 9 : 3, LOB_FILTER_GRADIENT, LOB_EDGE_REFLECT, true);
        const lob_filter_call call = gaussian_case_call(&c);
        const lob_filter_image in = image_of(&c.image);
        float *const out = floats(500);
        lob_budget budget = {.who = "test"};
        assert_ok(run_step(out, &in, &call, THREADS(1), &budget));
        for (int64_t limit = 1; limit < budget.peak; limit += 997) {
            lob_budget less = {.who = "test", .limit = limit};
            assert_int_equal(run_step(out, &in, &call, THREADS(1), &less), LOB_ENOMEM);
            assert_int_equal(less.held, 0);
        }
        lob_budget enough = {.who = "test", .limit = budget.peak};
        assert_ok(run_step(out, &in, &call, THREADS(1), &enough));
        free(out);
        gaussian_case_free(&c);
    }
}

static int stop_at_half(void *user, double done)
{
    assert_true(done >= *(double *)user && done <= 1);
    *(double *)user = done;
    return done > .5;
}

TEST(a_caller_can_stop)
{
    for (uint64_t k = 0; k < 40; k++) {
        gaussian_case c;
        double done = 0;
        gaussian_case_make(&c, k, 20000, true);
        const lob_filter_call call = gaussian_case_call(&c);
        const lob_filter_image in = image_of(&c.image);
        float *const out = floats(lob_voxels(&c.image) * c.image.channels);
        const lob_context context = {.threads = 1, .progress = stop_at_half, .user = &done};
        lob_budget budget = {.who = "test"};
        const lob_status status = run_step(out, &in, &call, &context, &budget);
        assert_int_equal(budget.held, 0);
        if (status != (done > .5 ? LOB_ECANCEL : LOB_OK))
            fail_msg("status %d at %g: %s", (int)status, done, c.shape);
        free(out);
        gaussian_case_free(&c);
    }
}
