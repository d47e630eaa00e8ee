/* Scores of instances: what is refused, cancelling, and allocations that fail. Figures are compared
 * with scikit-image's by tests/command/test_compare_instances.py. */
#include "kernels/scores/instances.h"
#include "tests/reference/random.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/progress_listener.h"
#include "tests/unit/volume_of.h"

static const lob_context plain = {.threads = 1};

TEST(bad_calls)
{
    const double mm[] = {1, 1, 1};
    uint8_t voxels[] = {0, 1, 2, 2};
    int16_t below[] = {0, 1, -1, 2};
    const lob_volume good = volume_of(voxels, LOB_U8, (lob_dims){4, 1, 1}, mm);
    const lob_volume turned = volume_of(voxels, LOB_U8, (lob_dims){1, 4, 1}, mm);
    const lob_volume real = volume_of(voxels, LOB_F32, (lob_dims){1, 1, 1}, mm);
    const lob_volume one = volume_of(voxels, LOB_U8, (lob_dims){1, 1, 1}, mm);
    const lob_volume negative = volume_of(below, LOB_I16, (lob_dims){4, 1, 1}, mm);
    progress_log stop = {.stop_at = 0};
    const lob_context cancels = {.threads = 1, .progress = listen, .user = &stop};
    const lob_context narrow = {.threads = 1, .max_memory = 100};
    const lob_context roomy = {.threads = 1, .max_memory = 1 << 20};
    const struct {
        const char *what;
        const lob_volume *truth;
        int64_t truths;
        const lob_volume *labels;
        int64_t count;
        const lob_context *context;
        lob_status want;
    } bad[] = {
        {"other dims",               &good,     2, &turned,   2,       &plain,   LOB_EDATA  },
        {"a truth of reals",         &real,     2, &one,      2,       &plain,   LOB_EDATA  },
        {"labels that are reals",    &one,      2, &real,     2,       &plain,   LOB_EDATA  },
        {"a truth above its count",  &good,     1, &good,     2,       &plain,   LOB_EDATA  },
        {"a label above its count",  &good,     2, &good,     1,       &plain,   LOB_EDATA  },
        {"a truth below 0",          &negative, 2, &good,     2,       &plain,   LOB_EDATA  },
        {"a label below 0",          &good,     2, &negative, 2,       &plain,   LOB_EDATA  },
        {"too little memory",        &good,     2, &good,     2,       &narrow,  LOB_ENOMEM },
        {"labels beyond the memory", &good,     2, &good,     1 << 20, &roomy,   LOB_ENOMEM },
        {"cancelled",                &good,     2, &good,     2,       &cancels, LOB_ECANCEL},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        lob_instances out;
        lob_error error = {.text = ""};
        const lob_status got = lob_instances_count(&out, bad[i].truth, bad[i].truths, bad[i].labels,
                                                   bad[i].count, bad[i].context, &error);
        if (got != bad[i].want || !error.text[0] || out.pairs)
            fail_msg("%s: %s: %s", bad[i].what, lob_status_text(got), error.text);
    }
}

/* Both volumes random, scored; the scores go to `scores` unless NULL. */
static lob_status score_noise(lob_instances_scores *scores, const lob_context *context)
{
    enum { NX = 31, NY = 29, NZ = 7, N = NX * NY * NZ };
    static uint8_t truth[N], labels[N];
    uint64_t random = 5;
    for (int i = 0; i < N; i++) {
        truth[i] = (uint8_t)random_below(&random, 200);
        labels[i] = random_below(&random, 3) ? truth[i] : (uint8_t)random_below(&random, 256);
    }
    const double mm[] = {1, 1, 1};
    const lob_dims d = {NX, NY, NZ};
    const lob_volume vt = volume_of(truth, LOB_U8, d, mm), vl = volume_of(labels, LOB_U8, d, mm);
    lob_instances table;
    lob_instances_scores own;
    lob_error error = {.text = ""};
    lob_status st = lob_instances_count(&table, &vt, 200, &vl, 255, context, &error);
    assert_true((st == LOB_OK) == (error.text[0] == '\0'));
    if (st == LOB_OK) st = lob_instances_score(scores ? scores : &own, &table);
    lob_instances_free(&table);
    return st;
}

static lob_status noise_attempt(void *context)
{
    return score_noise(NULL, context);
}

TEST(allocations_may_fail)
{
    for (int threads = 1; threads < 4; threads++) {
        lob_context context = {.threads = threads};
        assert_true(alloc_fail_sweep("instances", noise_attempt, &context) >= 8);
    }
}

TEST(threads_do_not_matter)
{
    lob_instances_scores one = {0}, more = {0};
    assert_ok(score_noise(&one, &plain));
    assert_true(one.truths == 199 && one.labels == 255 && one.at[0].matched > 100);
    for (int threads = 2; threads < 6; threads++) {
        const lob_context context = {.threads = threads};
        assert_ok(score_noise(&more, &context));
        assert_memory_equal(&one, &more, sizeof one);
    }
}
