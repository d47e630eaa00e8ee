/* Label steps by a team of threads, each with its planes: the bytes of the volume in one piece. */
#include "kernels/labels/label_slabs.h"
#include "tests/reference/labels_case.h"
#include "tests/unit/cmocka_test.h"

enum { MOST = 17 };

/* cmocka's asserts leave a thread to nobody, so what is wrong is kept for the test. */
typedef struct {
    const labels_case *c;
    int64_t limit[MOST]; /* memory of each rank; 0: any */
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
    const lob_context context = {.threads = 1 + me % 2, .max_memory = a->limit[me]};
    lob_error *const error = &a->error[me];
    const lob_status st =
        lob_labels_slabs(&a->out[me], &in, &a->c->options, d.nz, &team, &context, error);
    a->status[me] = lob_team_agree(&team, st, error); /* one may fail when others have ended */
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

/* Free what the ranks of an attempt have, which all ended alike. */
static lob_status end_of(attempt *a, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        lob_labels_output_free(&a->out[r]);
        if (a->status[r] != a->status[0] || strcmp(a->error[r].text, a->error[0].text) != 0)
            fail_msg("%s: rank %d of %d: %s", a->c->shape, r, ranks, a->error[r].text);
    }
    return a->status[0];
}

static void compare_case(uint64_t number, int64_t max_voxels)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    labels_case c;
    lob_labels_output want;
    labels_case_make(&c, number, max_voxels);
    assert_ok(lob_labels_cpu(&want, &c.in, &c.options, THREADS(2), NULL));
    for (size_t k = 0; k < COUNT(sizes); k++) {
        static attempt a;
        const int ranks = sizes[k] < c.in.dims.nz ? sizes[k] : (int)c.in.dims.nz;
        a = (attempt){.c = &c};
        assert_ok(lob_team_threads(sizes[k], work, &a));
        if (a.status[0] == LOB_OK) compare_parts(&a, &want, ranks);
        assert_ok(end_of(&a, ranks));
    }
    lob_labels_output_free(&want);
    labels_case_free(&c);
}

TEST(small_random_cases)
{
    for (uint64_t number = 0; number < CASES(400); number++) compare_case(number, 1200);
}

TEST(random_cases_of_many_tiles)
{
    for (uint64_t number = 5000; number < 5000 + CASES(30); number++) compare_case(number, 9000);
}

/* Wherever a rank has no memory left, all end with its error; else the bytes are right. */
TEST(a_rank_without_memory_ends_all)
{
    enum { RANKS = 3 };
    int failed = 0;
    for (uint64_t number = 0; number < CASES(200); number++) {
        static attempt a;
        labels_case c;
        lob_labels_output want;
        labels_case_make(&c, number, 1200);
        const int ranks = RANKS < c.in.dims.nz ? RANKS : (int)c.in.dims.nz, poor = number % ranks;
        assert_ok(lob_labels_cpu(&want, &c.in, &c.options, THREADS(1), NULL));
        a = (attempt){.c = &c};
        assert_ok(lob_team_threads(RANKS, work, &a));
        const int64_t needed = a.out[poor].working_bytes;
        assert_ok(end_of(&a, ranks));
        a = (attempt){.c = &c};
        a.limit[poor] = 1 + needed * (int64_t)(number % 5) / 4;
        assert_ok(lob_team_threads(RANKS, work, &a));
        if (a.status[0] == LOB_OK) compare_parts(&a, &want, ranks);
        const lob_status st = end_of(&a, ranks);
        assert_true(st == LOB_OK || st == LOB_ENOMEM);
        failed += st == LOB_ENOMEM;
        lob_labels_output_free(&want);
        labels_case_free(&c);
    }
    assert_true(failed > CASES(200) / 2);
}

/* Blocks of 3^3 voxels, each with a label of its own. */
static void make_blocks(labels_case *c, lob_labels_kind kind, int steps)
{
    enum { SIDE = 24, BLOCK = 3, BLOCKS = SIDE / BLOCK };
    *c = (labels_case){.shape = "blocks", .n = SIDE * SIDE * SIDE};
    int16_t *const labels = malloc((size_t)c->n * sizeof *labels);
    c->labels = labels;
    c->values = malloc(BLOCKS * BLOCKS * BLOCKS * sizeof *c->values);
    for (int64_t i = 0; i < c->n; i++)
        labels[i] =
            (int16_t)(1 + (i / SIDE / SIDE / BLOCK * BLOCKS + i / SIDE % SIDE / BLOCK) * BLOCKS +
                      i % SIDE / BLOCK);
    for (int32_t i = 0; i < BLOCKS * BLOCKS * BLOCKS; i++) c->values[i] = i + 1;
    for (int s = 0; s < steps; s++) c->steps[s] = (lob_labels_step){.kind = kind, .count = 1};
    c->options = lob_labels_defaults();
    c->in = (lob_labels_input){
        .labels = labels,
        .type = LOB_I16,
        .count = BLOCKS * BLOCKS * BLOCKS,
        .values = c->values,
        .dims = {SIDE, SIDE, SIDE},
        .spacing_mm = {1,    1,    1   },
        .steps = c->steps,
        .step_count = steps,
    };
}

/* The most that a rank of three holds. */
static int64_t held_by_three(const labels_case *c, int64_t limit)
{
    static attempt a;
    int64_t most = 0;
    a = (attempt){
        .c = c, .limit = {limit, limit, limit}
    };
    assert_ok(lob_team_threads(3, work, &a));
    for (int r = 0; r < 3; r++)
        most = a.out[r].working_bytes > most ? a.out[r].working_bytes : most;
    assert_ok(end_of(&a, 3));
    return most;
}

TEST(steps_that_keep_all_hold_no_more_than_one_of_them)
{
    int64_t held[LABELS_CASE_STEPS + 1];
    for (int steps = 1; steps <= LABELS_CASE_STEPS; steps++) {
        labels_case c;
        make_blocks(&c, LOB_LABELS_MIN_SIZE, steps);
        held[steps] = held_by_three(&c, 0);
        labels_case_free(&c);
    }
    assert_int_equal(held[2], held[LABELS_CASE_STEPS]);
}

TEST(touching_labels_without_holes_need_no_contacts)
{
    labels_case c;
    make_blocks(&c, LOB_LABELS_FILL_HOLES, 1);
    const int64_t held = held_by_three(&c, 0);
    assert_int_equal(held_by_three(&c, held), held);
    labels_case_free(&c);
}
