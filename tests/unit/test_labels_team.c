/* Label steps by a team of threads, each with its planes: the bytes of the volume in one piece. */
#include "kernels/labels/label_slabs.h"
#include "tests/reference/labels_case.h"
#include "tests/unit/cmocka_test.h"

enum { MOST = 17 };

/* cmocka's asserts leave a thread to nobody, so what is wrong is kept for the test. */
typedef struct {
    const labels_case *c;
    int64_t limit; /* memory of the last rank; 0: none */
    lob_labels_output out[MOST];
    lob_status status[MOST];
    lob_error error[MOST];
} attempt;

static void work(lob_team *all, void *user)
{
    attempt *const a = user;
    const lob_dims d = a->c->in.dims;
    lob_team team;
    int64_t first, end;
    if (!lob_team_narrow(&team, all, d.nz)) return;
    const int me = team.rank;
    lob_team_planes(&first, &end, &team, me, d.nz);
    const size_t plane = (size_t)(d.nx * d.ny), each = lob_type_of(a->c->in.type)->bytes;
    const size_t from = (size_t)first * plane, n = (size_t)(end - first) * plane;

    lob_labels_input in = a->c->in;
    void *const labels = malloc(n * each);
    uint8_t *const mask = in.mask ? malloc(n) : NULL;
    memcpy(labels, (const char *)in.labels + from * each, n * each);
    if (mask) memcpy(mask, in.mask + from, n);
    in.dims.nz = end - first;
    in.labels = labels;
    in.mask = mask;
    const lob_context context = {.threads = 1 + me % 2,
                                 .max_memory = me == team.size - 1 ? a->limit : 0};
    a->status[me] =
        lob_labels_slabs(&a->out[me], &in, &a->c->options, d.nz, &team, &context, &a->error[me]);
    free(labels);
    free(mask);
}

static void compare_parts(const attempt *a, const lob_labels_output *want, int ranks)
{
    const labels_case *const c = a->c;
    const lob_team team = {.size = ranks};
    for (int r = 0; r < ranks; r++) {
        lob_labels_output part = *want;
        lob_labels_input in = c->in;
        int64_t first, end;
        lob_team_planes(&first, &end, &team, r, in.dims.nz);
        part.labels = (char *)want->labels +
                      first * in.dims.nx * in.dims.ny * (int64_t)lob_type_of(want->type)->bytes;
        in.dims.nz = end - first;
        const char *const differs = labels_result_differs(&part, &a->out[r], &in);
        if (differs) fail_msg("%s: rank %d of %d: %s differ", c->shape, r, ranks, differs);
    }
}

static void compare_case(uint64_t number, int64_t max_voxels, int64_t limit)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    labels_case c;
    lob_labels_output want;
    labels_case_make(&c, number, max_voxels);
    assert_ok(lob_labels_cpu(&want, &c.in, &c.options, THREADS(2), NULL));
    for (size_t k = 0; k < COUNT(sizes); k++) {
        static attempt a;
        const int ranks = sizes[k] < c.in.dims.nz ? sizes[k] : (int)c.in.dims.nz;
        a = (attempt){.c = &c, .limit = limit};
        assert_ok(lob_team_threads(sizes[k], work, &a));
        for (int r = 0; r < ranks; r++) {
            if (a.status[r] != (limit ? LOB_ENOMEM : LOB_OK))
                fail_msg("%s: rank %d of %d: %s", c.shape, r, ranks, a.error[r].text);
            assert_string_equal(a.error[r].text, a.error[0].text);
        }
        if (!limit) compare_parts(&a, &want, ranks);
        for (int r = 0; r < ranks; r++) lob_labels_output_free(&a.out[r]);
    }
    lob_labels_output_free(&want);
    labels_case_free(&c);
}

TEST(small_random_cases)
{
    for (uint64_t number = 0; number < CASES(400); number++) compare_case(number, 1200, 0);
}

TEST(random_cases_of_many_tiles)
{
    for (uint64_t number = 5000; number < 5000 + CASES(30); number++) compare_case(number, 9000, 0);
}
