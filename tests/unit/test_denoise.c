/* Denoising against a voxel-by-voxel reference, at any number of threads. */
#include "kernels/filters/denoise/denoise.h"
#include "tests/reference/denoise_reference.h"
#include "tests/reference/random.h"
#include "tests/reference/threshold_case.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

static const lob_filter_map same = {1, 0, -INFINITY, INFINITY, true};

static lob_filter_image image_of(const lob_volume *v)
{
    return (lob_filter_image){v->data, v->type, v->dims, v->channels};
}

static lob_filter_call call_of(const threshold_case *c)
{
    lob_filter_call call = {
        .step = &c->denoise, .options = &c->filter, .mask = c->mask, .before = same, .after = same};
    memcpy(call.spacing_mm, c->image.geometry.spacing_mm, sizeof call.spacing_mm);
    if (c->number % 9 == 0) call.after = (lob_filter_map){.25f, 8, 10, 25, false};
    return call;
}

static lob_status denoise(float *out, const threshold_case *c, int threads)
{
    const lob_filter_image in = image_of(&c->image), to = {out, LOB_F32, in.dims, in.channels};
    const lob_filter_call call = call_of(c);
    lob_budget budget = {.who = "filters"};
    const lob_status st = lob_denoise_cpu(&to, &in, &call, THREADS(threads), &budget, NULL);
    assert_int_equal(budget.held, 0);
    return st;
}

TEST(random_images)
{
    int estimated = 0;
    for (uint64_t number = 0; number < CASES(130); number++) {
        threshold_case c;
        threshold_case_make(&c, number, 900);
        const lob_filter_image in = image_of(&c.image);
        const lob_filter_call call = call_of(&c);
        lob_budget budget = {.who = "filters"};
        float *want = malloc((size_t)c.n * sizeof *want), *got = malloc((size_t)c.n * sizeof *got);
        double noise = c.denoise.noise, found = 0;
        assert_ok(lob_denoise_noise_cpu(&found, &in, &call, THREADS(2), &budget, NULL));
        const double naive = denoise_reference_noise(&in, &call);
        if (!(fabs(found - naive) <= 1e-12 * naive))
            fail_msg("%s: noise %.17g, not %.17g", c.shape, found, naive);
        if (noise == 0) noise = c.denoise.noise = found, estimated += found > 0;
        denoise_reference(want, &in, &call, noise);
        for (int threads = 1; threads <= 3; threads += 2) {
            assert_ok(denoise(got, &c, threads));
            if (memcmp(want, got, (size_t)c.n * sizeof *want) == 0) continue;
            int64_t i = 0;
            while (memcmp(&want[i], &got[i], sizeof *want) == 0) i++;
            fail_msg("%s: %d threads: voxel %lld is %a, not %a", c.shape, threads, (long long)i,
                     (double)got[i], (double)want[i]);
        }
        free(want);
        free(got);
        threshold_case_free(&c);
    }
    assert_true(estimated > CASES(20));
}

/* What the step is for: noise goes, a step of 10 of its standard deviations stays. */
TEST(noise_goes_and_edges_stay)
{
    enum { N = 24 };
    float in[N * N * N], out[N * N * N];
    threshold_case c = {
        .image = volume_of(in, LOB_F32, (lob_dims){N,  N, N},
            (double[3]){1,  1,   1}
            ),
        .denoise = {.kind = LOB_FILTER_DENOISE, .along = {1, 1, 1}},
        .number = 1
    };
    uint64_t random = 5;
    for (int i = 0; i < N * N * N; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) sum += random_double(&random);
        in[i] = (float)((i % N < N / 2 ? 0 : 10) + sum);
    }
    const lob_filter_image image = image_of(&c.image);
    const lob_filter_call call = call_of(&c);
    lob_budget budget = {.who = "filters"};
    assert_ok(lob_denoise_noise_cpu(&c.denoise.noise, &image, &call, THREADS(2), &budget, NULL));
    assert_ok(denoise(out, &c, 2));
    double before = 0, after = 0;
    for (int i = 0; i < N * N * N; i++) {
        const double truth = i % N < N / 2 ? 0 : 10;
        before += fabs((double)in[i] - truth);
        after += fabs((double)out[i] - truth);
    }
    if (!(after < before / 4))
        fail_msg("mean error %g, from %g", after / N / N / N, before / N / N / N);
}

TEST(too_little_memory)
{
    threshold_case c;
    threshold_case_make(&c, 3, 500);
    const lob_filter_image in = image_of(&c.image), out = {NULL, LOB_F32, in.dims, 1};
    const lob_filter_call call = call_of(&c);
    lob_budget budget = {.who = "filters", .limit = 100};
    assert_int_equal(lob_denoise_cpu(&out, &in, &call, THREADS(1), &budget, NULL), LOB_ENOMEM);
    assert_int_equal(budget.held, 0);
    threshold_case_free(&c);
}
