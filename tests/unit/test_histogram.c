/* Histograms and percentiles against sorted values. */
#include "kernels/histogram/histogram.h"
#include "tests/reference/put_number.h"
#include "tests/reference/threshold_case.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

#include <float.h>

TEST(random_percentiles)
{
    for (uint64_t number = 0; number < 500; number++) {
        threshold_case c;
        threshold_case_make(&c, number, 3000);
        const lob_histogram_input in = {&c.image, 0, c.mask};
        int64_t n, data = -1;
        double got[3];
        double *sorted = threshold_reference_sorted(&n, &c.image, c.mask);
        const lob_status st = lob_percentiles_cpu(got, c.percent, 3, &data, &in,
                                                  THREADS(1 + (int)(number % 3)), NULL);
        assert_int_equal(st, n ? LOB_OK : LOB_EDATA);
        assert_int_equal(data, n);
        for (int k = 0; k < 3 && n > 0; k++) {
            const double want = threshold_reference_percentile(sorted, n, c.percent[k]);
            const double largest = fmax(fabs(sorted[0]), fabs(sorted[n - 1]));
            /* A negative slope takes the percentile from the other end: its position is rounded
             * otherwise. */
            const double near = c.image.slope < 0 ? 1e-9 * largest : 0;
            if (!(fabs(got[k] - want) <= near))
                fail_msg("%s: percentile %g is %.17g, not %.17g", c.shape, c.percent[k], got[k],
                         want);
        }
        free(sorted);
        threshold_case_free(&c);
    }
}

/* Every value lies in the edges of its bin, and every bin has what lies in its edges. */
TEST(random_histograms)
{
    for (uint64_t number = 0; number < 500; number++) {
        threshold_case c;
        threshold_case_make(&c, number, 3000);
        const lob_histogram_input in = {&c.image, 0, c.mask};
        lob_histogram_bins bins;
        int64_t *counts, n, at = 0;
        c.image.slope = 1;
        c.image.inter = 0;
        assert_ok(lob_histogram_cpu(&bins, &counts, &in, THREADS(1 + (int)(number % 3)), NULL));
        double *sorted = threshold_reference_sorted(&n, &c.image, c.mask);
        assert_int_equal(bins.values, n);
        assert_int_equal(bins.count > 0, n > 0);
        for (int b = 0; b < bins.count; b++) {
            const bool last = b == bins.count - 1;
            const double end = bins.exact ? bins.low + b : bins.edge[b + 1];
            int64_t want = 0;
            while (at < n && (bins.exact || last ? sorted[at] <= end : sorted[at] < end))
                at++, want++;
            if (counts[b] != want)
                fail_msg("%s: bin %d has %lld values, not %lld", c.shape, b, (long long)counts[b],
                         (long long)want);
        }
        assert_int_equal(at, n);
        free(sorted);
        free(counts);
        threshold_case_free(&c);
    }
}

/* Values whose range or bins are hard on floating point. */
TEST(far_and_near_values)
{
    static const struct {
        const char *what;
        lob_type type;
        double in[4];
    } rows[] = {
        ROW("the ends of float64", LOB_F64, {-DBL_MAX, DBL_MAX, 0, 1}),
        ROW("the ends of float32", LOB_F32, {-FLT_MAX, FLT_MAX, 0, 1}),
        ROW("denormal numbers", LOB_F32, {0, 1e-45f, 3e-45f, 1e-44f}),
        ROW("denormal doubles", LOB_F64, {0, 5e-324, 1e-323, 1.5e-323}),
        ROW("neighbours far from 0", LOB_F32, {16777216, 16777218, 16777220, 16777222}),
        ROW("wide integers", LOB_I64, {-9e18, 9e18, 0, 1}),
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        double store[4];
        lob_volume image = volume_of(store, rows[r].type, (lob_dims){4, 1, 1}, NULL);
        for (int i = 0; i < 4; i++) put_number(&image, i, rows[r].in[i]);
        const lob_histogram_input in = {&image, -1, NULL};
        lob_histogram_bins bins;
        int64_t *counts, sum = 0;
        double ends[2];
        assert_ok(lob_histogram_cpu(&bins, &counts, &in, THREADS(2), NULL));
        for (int b = 0; b < bins.count; b++) sum += counts[b];
        if (sum != 4 || counts[bins.count - 1] < 1)
            fail_msg("%s: %lld values", rows[r].what, (long long)sum);
        assert_ok(lob_percentiles_cpu(ends, (double[]){100, 0}, 2, NULL, &in, THREADS(1), NULL));
        assert_true(ends[0] == bins.high && ends[1] == bins.low);
        free(counts);
    }
}

TEST(channels_together_and_apart)
{
    const uint8_t voxels[6] = {1, 2, 3, 10, 20, 30}, mask[3] = {1, 0, 1};
    lob_volume image = volume_of((void *)voxels, LOB_U8, (lob_dims){3, 1, 1}, NULL);
    image.channels = 2;
    const double half = 50;
    double got;
    int64_t n;
    const struct {
        int channel;
        double want;
        int64_t n;
    } rows[] = {
        {-1, 6.5, 4},
        {0,  2,   2},
        {1,  20,  2},
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        const lob_histogram_input in = {&image, rows[r].channel, mask};
        assert_ok(lob_percentiles_cpu(&got, &half, 1, &n, &in, THREADS(2), NULL));
        assert_true(got == rows[r].want);
        assert_int_equal(n, rows[r].n);
    }
}

TEST(bad_arguments)
{
    uint8_t voxel = 1;
    const lob_volume image = volume_of(&voxel, LOB_U8, (lob_dims){1, 1, 1}, NULL);
    const lob_histogram_input good = {&image, 0, NULL}, bad = {&image, 1, NULL};
    const double high = 101, fine = 3;
    double out[40];
    lob_error error;
    assert_int_equal(lob_percentiles_cpu(out, &high, 1, NULL, &good, THREADS(1), &error), LOB_EARG);
    assert_int_equal(lob_percentiles_cpu(out, &fine, 0, NULL, &good, THREADS(1), &error), LOB_EARG);
    assert_int_equal(lob_percentiles_cpu(out, &fine, 1, NULL, &bad, THREADS(1), &error), LOB_EARG);
    const lob_context little = {.threads = 1, .max_memory = 100};
    assert_int_equal(lob_percentiles_cpu(out, &fine, 1, NULL, &good, &little, &error), LOB_ENOMEM);
}
