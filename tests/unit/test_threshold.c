/* Thresholds against their definitions. */
#include "kernels/threshold/threshold_parts.h"
#include "tests/reference/put_number.h"
#include "tests/reference/threshold_case.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

/* The label by definition. Float32s that are not scaled are compared as such. */
static int label_of(const threshold_case *c, const lob_threshold_stats *stats, int64_t i)
{
    const lob_volume *image = &c->image;
    const bool plain = image->type == LOB_F32 && image->slope == 1 && image->inter == 0;
    const double stored = number_at(image, i), v = image->slope * stored + image->inter;
    double t[LOB_THRESHOLD_MAX_CLASSES];
    int label = 0;
    for (int k = 0; k < stats->thresholds; k++)
        t[k] = plain ? (double)(float)stats->threshold[k] : stats->threshold[k];
    if (!isfinite(stored) || (c->mask && !c->mask[i])) return 0;
    if (c->options.kind == LOB_THRESHOLD_RANGE) return v >= t[0] && v <= t[1];
    while (label < stats->thresholds && v > t[label]) label++;
    return label;
}

static void check_labels(const threshold_case *c, const lob_threshold_stats *stats,
                         const uint8_t *labels)
{
    for (int64_t i = 0; i < c->n; i++)
        if (labels[i] != label_of(c, stats, i))
            fail_msg("%s: voxel %lld has label %d, not %d", c->shape, (long long)i, labels[i],
                     label_of(c, stats, i));
}

/* Otsu's thresholds are as good as any; values of bins of their own only. */
static bool check_otsu(const threshold_case *c, const lob_threshold_stats *stats)
{
    int64_t n, distinct = 0;
    double *sorted = threshold_reference_sorted(&n, &c->image, c->mask);
    for (int64_t i = 0; i < n; i++) distinct += i == 0 || sorted[i] != sorted[i - 1];
    const bool own_bins = n == 0 || (sorted[n - 1] - sorted[0]) / fabs(c->image.slope) < 65536;
    const bool small = own_bins && distinct <= (c->options.classes < 4 ? 60 : 16);
    if (small) {
        const double best = threshold_reference_separability(sorted, n, c->options.classes);
        const double share =
            threshold_reference_share(sorted, n, stats->threshold, stats->thresholds);
        if (!(share >= best - 1e-9) || !(fabs(stats->separability - share) < 1e-9))
            fail_msg("%s: thresholds explain %.12g (%.12g), not %.12g", c->shape, share,
                     stats->separability, best);
    }
    free(sorted);
    return small;
}

TEST(random_images)
{
    int otsu = 0, refused = 0;
    for (uint64_t number = 0; number < CASES(1500); number++) {
        threshold_case c;
        threshold_case_make(&c, number, 1000);
        const lob_threshold_input in = {&c.image, c.mask};
        lob_threshold_stats stats, again;
        lob_error error = {.text = ""};
        uint8_t *labels = malloc((size_t)c.n), *other = malloc((size_t)c.n);
        const lob_status st =
            lob_threshold_cpu(labels, &stats, &in, &c.options, THREADS(1), &error);
        if (st == LOB_OK) {
            check_labels(&c, &stats, labels);
            if (c.options.kind == LOB_THRESHOLD_OTSU && lob_type_of(c.image.type)->is_integer)
                otsu += check_otsu(&c, &stats);
            assert_ok(lob_threshold_cpu(other, &again, &in, &c.options, THREADS(3), &error));
            if (memcmp(labels, other, (size_t)c.n) != 0) fail_msg("%s: 3 threads", c.shape);
        } else {
            assert_int_equal(st, LOB_EDATA);
            assert_true(strlen(error.text) > 10);
            refused++;
        }
        free(labels);
        free(other);
        threshold_case_free(&c);
    }
    assert_true(otsu > CASES(30) && refused > CASES(10));
}

/* A case whose voxels ranks share, in parts. cmocka's asserts leave a thread to nobody, so what is
 * found is kept for the test. */
enum { RANKS = 5 };

typedef struct {
    const threshold_case *c;
    int64_t part; /* voxels */
    lob_threshold_stats stats[RANKS];
    lob_status status[RANKS];
} shared_case;

typedef struct {
    const shared_case *shared;
    const lob_team *team;
} rank_case;

/* Every voxel is in one part: parts go to the ranks in turn, and some may have none. */
static lob_status each_part(void *user, lob_threshold_visit *visit, void *visitor)
{
    const rank_case *const r = user;
    const threshold_case *const c = r->shared->c;
    const int64_t step = r->shared->part, bytes = (int64_t)lob_type_of(c->image.type)->bytes;
    for (int64_t at = r->team->rank * step; at < c->n; at += r->team->size * step) {
        lob_volume part = c->image;
        part.dims = (lob_dims){c->n - at < step ? c->n - at : step, 1, 1};
        part.data = (char *)c->image.data + at * bytes;
        const lob_threshold_input in = {&part, c->mask ? c->mask + at : NULL};
        LOB_TRY(visit(visitor, &in));
    }
    return LOB_OK;
}

static void find_shared(lob_team *team, void *user)
{
    shared_case *const shared = user;
    rank_case r = {shared, team};
    lob_error error = {.text = ""};
    const lob_threshold_parts parts = {each_part, &r, team, &shared->c->image};
    const lob_context context = {.threads = 1 + team->rank % 2};
    shared->status[team->rank] = lob_threshold_of_parts(&shared->stats[team->rank], &parts,
                                                        &shared->c->options, &context, &error);
}

TEST(ranks_find_what_one_finds)
{
    for (uint64_t number = 0; number < CASES(300); number++) {
        threshold_case c;
        threshold_case_make(&c, number, 1000);
        const lob_threshold_input in = {&c.image, c.mask};
        const int ranks = 1 + (int)(number % RANKS);
        shared_case shared = {.c = &c, .part = 1 + (int64_t)(number * 37 % 300)};
        lob_threshold_stats alone;
        uint8_t *const labels = malloc((size_t)c.n);
        const lob_status want =
            lob_threshold_cpu(labels, &alone, &in, &c.options, THREADS(1), NULL);
        assert_ok(lob_team_threads(ranks, find_shared, &shared));
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(shared.status[r], want);
            if (want != LOB_OK) continue;
            assert_int_equal(shared.stats[r].thresholds, alone.thresholds);
            if (memcmp(shared.stats[r].threshold, alone.threshold,
                       (size_t)alone.thresholds * sizeof *alone.threshold) != 0)
                fail_msg("%s: rank %d of %d", c.shape, r, ranks);
        }
        free(labels);
        threshold_case_free(&c);
    }
}

TEST(otsu_of_few_values)
{
    static const struct {
        const char *what;
        uint8_t in[8];
        int classes;
        double want[3];
    } rows[] = {
        {"two values",                {1, 1, 1, 9, 9, 9, 9, 9},         2, {1}      },
        {"the smaller of equal ones", {0, 1, 2, 0, 1, 2, 1, 1},         2, {0}      },
        {"three classes",             {1, 2, 50, 51, 100, 101, 1, 100}, 3, {2, 51}  },
        {"as many values as classes", {5, 7, 9, 200, 5, 7, 9, 200},     4, {5, 7, 9}},
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        uint8_t labels[8];
        const lob_volume image = volume_of((void *)rows[r].in, LOB_U8, (lob_dims){2, 2, 2}, NULL);
        const lob_threshold_input in = {&image, NULL};
        lob_threshold_options o = lob_threshold_defaults();
        lob_threshold_stats stats;
        o.classes = rows[r].classes;
        assert_ok(lob_threshold_cpu(labels, &stats, &in, &o, THREADS(1), NULL));
        assert_int_equal(stats.thresholds, rows[r].classes - 1);
        for (int k = 0; k < stats.thresholds; k++)
            if (stats.threshold[k] != rows[r].want[k])
                fail_msg("%s: threshold %g, not %g", rows[r].what, stats.threshold[k],
                         rows[r].want[k]);
    }
}

TEST(bad_arguments)
{
    uint8_t voxels[2] = {1, 1}, labels[2];
    lob_volume image = volume_of(voxels, LOB_U8, (lob_dims){2, 1, 1}, NULL);
    lob_volume colour = image;
    colour.channels = 2;
    colour.dims.nx = 1;
    const lob_threshold_options defaults = lob_threshold_defaults();
    const struct {
        const lob_volume *image;
        lob_threshold_options options;
        lob_status want;
    } rows[] = {
        {&image,  defaults,                                           LOB_EDATA},
        {&colour, {.kind = LOB_THRESHOLD_ABOVE},                      LOB_EARG },
        {&image,  {.kind = LOB_THRESHOLD_ABOVE, .above = NAN},        LOB_EARG },
        {&image,  {.kind = LOB_THRESHOLD_RANGE, .low = 2, .high = 1}, LOB_EARG },
        {&image,  {.kind = LOB_THRESHOLD_PERCENTILE, .percent = -1},  LOB_EARG },
        {&image,  {.kind = LOB_THRESHOLD_OTSU, .classes = 1},         LOB_EARG },
        {&image,  {.kind = LOB_THRESHOLD_OTSU, .classes = 17},        LOB_EARG },
        {&image,  {.kind = LOB_THRESHOLDS},                           LOB_EARG },
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        const lob_threshold_input in = {rows[r].image, NULL};
        lob_threshold_stats stats;
        lob_error error = {.text = ""};
        const lob_status st =
            lob_threshold_cpu(labels, &stats, &in, &rows[r].options, THREADS(1), &error);
        if (st != rows[r].want || strlen(error.text) < 10)
            fail_msg("row %zu: %s: %s", r, lob_status_text(st), error.text);
    }
}
