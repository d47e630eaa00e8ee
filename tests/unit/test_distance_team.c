/* Distances by a team of threads, each with its planes: the bytes of the volume in one piece. */
#include "kernels/distance/distance_slabs.h"
#include "tests/reference/distance_case.h"
#include "tests/unit/cmocka_test.h"

enum { MOST = 17 };

/* cmocka's asserts leave a thread to nobody, so what is wrong is kept for the test. */
typedef struct {
    const distance_case *c;
    float *distance; /* of the whole volume; NULL: not asked for */
    char *feature;
    int64_t limit; /* memory of the last rank; 0: none */
    lob_status status[MOST];
    lob_error error[MOST];
} attempt;

static void work(lob_team *all, void *user)
{
    attempt *const a = user;
    const lob_dims dims = a->c->in.dims;
    const size_t plane = (size_t)(dims.nx * dims.ny), label = lob_type_of(a->c->in.type)->bytes;
    lob_team team;
    int64_t first, end;
    if (!lob_team_narrow(&team, all, dims.nz)) return;
    lob_team_planes(&first, &end, &team, team.rank, dims.nz);
    const size_t from = (size_t)first * plane, n = (size_t)(end - first) * plane;

    lob_distance_input in = a->c->in;
    in.dims.nz = end - first;
    void *const labels = malloc(n * label);
    memcpy(labels, (const char *)a->c->labels + from * label, n * label);
    in.labels = labels;
    const lob_distance_output out = {a->distance ? malloc(n * sizeof(float)) : NULL,
                                     a->feature ? malloc(n * label) : NULL};
    const lob_context context = {.threads = 1 + team.rank % 2,
                                 .max_memory = team.rank == team.size - 1 ? a->limit : 0};
    a->status[team.rank] = lob_distance_slabs(&out, &in, &a->c->options, dims.nz, &team, &context,
                                              &a->error[team.rank]);
    if (a->status[team.rank] == LOB_OK) {
        if (out.distance) memcpy(a->distance + from, out.distance, n * sizeof(float));
        if (out.feature) memcpy(a->feature + from * label, out.feature, n * label);
    }
    free(labels);
    free(out.distance);
    free(out.feature);
}

static void compare_case(const distance_case *c, int64_t max_memory)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    const size_t n = (size_t)c->n, label = lob_type_of(c->in.type)->bytes;
    float *const distance = malloc(n * sizeof *distance);
    char *const feature = malloc(n * label);
    const lob_distance_output want = {c->distance ? distance : NULL, c->feature ? feature : NULL};
    const lob_status expected = lob_distance_cpu(&want, &c->in, &c->options, THREADS(2), NULL);
    for (size_t k = 0; k < COUNT(sizes); k++) {
        static attempt a;
        const int ranks = sizes[k] < c->in.dims.nz ? sizes[k] : (int)c->in.dims.nz;
        a = (attempt){.c = c, .limit = max_memory};
        if (c->distance) a.distance = calloc(n, sizeof *a.distance);
        if (c->feature) a.feature = calloc(n, label);
        assert_ok(lob_team_threads(sizes[k], work, &a));
        for (int r = 0; r < ranks; r++) {
            if (a.status[r] != (max_memory ? LOB_ENOMEM : expected))
                fail_msg("%s: rank %d of %d: %s", c->shape, r, ranks, a.error[r].text);
            assert_string_equal(a.error[r].text, a.error[0].text);
        }
        const bool grown = expected == LOB_OK && max_memory == 0;
        if (grown && c->distance && memcmp(a.distance, distance, n * sizeof *distance) != 0)
            fail_msg("%s: %d ranks: distances differ", c->shape, ranks);
        if (grown && c->feature && memcmp(a.feature, feature, n * label) != 0)
            fail_msg("%s: %d ranks: nearest labels differ", c->shape, ranks);
        free(a.distance);
        free(a.feature);
    }
    free(distance);
    free(feature);
}

TEST(random_volumes)
{
    for (uint64_t number = 61000; number < 61000 + CASES(400); number++) {
        distance_case c;
        distance_case_make(&c, number, number % 20 ? 3000 : 30000);
        compare_case(&c, 0);
        distance_case_free(&c);
    }
}

TEST(a_rank_without_memory_ends_all)
{
    distance_case c;
    distance_case_make(&c, 62000, 3000);
    compare_case(&c, 10);
    distance_case_free(&c);
}
