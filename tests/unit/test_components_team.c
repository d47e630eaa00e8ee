/* Components by a team of threads, each with its planes: the bytes of the volume in one piece. */
#include "kernels/components/join/slab_share.h"
#include "kernels/team/team.h"
#include "tests/reference/components_case.h"
#include "tests/reference/components_slabs.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

/* A case that a team works on. cmocka's asserts leave a thread to nobody, so what is wrong is kept
 * for the test. */
typedef struct {
    const components_case *c;
    int64_t planes; /* of a slab */
    uint64_t seed;  /* of ranks that differ in planes and threads; 0: they do not */
    int poor;       /* of those the rank with this much memory; -1: none */
    int64_t memory;
    int64_t fail_at; /* this read of the last rank fails; -1: none */
    lob_components_function *label;
    lob_context context;       /* of each rank; without threads */
    lob_components_output out; /* of rank 0 */
    uint8_t *labels;
    lob_type type;
    lob_status status[32];
    char text[32][64];
    int64_t count[32], largest[32], working_bytes[32];
} attempt;

static void work(lob_team *all, void *user)
{
    attempt *const a = user;
    const components_case *const c = a->c;
    lob_team team;
    if (!lob_team_narrow(&team, all, c->image.dims.nz)) return;
    components_slabs t = components_slabs_of(c);
    lob_components_output got;
    lob_error error = {.text = ""};
    lob_context context = a->context;
    context.threads = 1 + team.rank % 2;
    t.team = &team;
    int64_t planes = a->planes;
    uint64_t state = a->seed * 977 + (uint64_t)team.rank * 13;
    if (a->seed) {
        planes = random_chance(&state, 40) ? c->image.dims.nz : 1 + random_below(&state, 5);
        context.threads = 1 + (int)random_below(&state, 3);
        if (team.rank == a->poor) context.max_memory = a->memory;
    }
    if (team.rank == team.size - 1) t.fail_at = a->fail_at;
    a->status[team.rank] = components_slabs_run(&got, &t, planes, a->label, &context, &error);
    a->status[team.rank] = lob_team_agree(&team, a->status[team.rank], &error);
    snprintf(a->text[team.rank], sizeof a->text[0], "%.60s", error.text);
    a->count[team.rank] = got.count;
    a->largest[team.rank] = t.largest;
    a->working_bytes[team.rank] = got.working_bytes;
    if (a->status[team.rank] == LOB_OK) {
        const size_t plane =
            (size_t)(c->image.dims.nx * c->image.dims.ny) * lob_type_of(t.type)->bytes;
        int64_t first, end;
        lob_team_planes(&first, &end, &team, team.rank, c->image.dims.nz);
        a->type = t.type; /* each writes the same; read after all have ended */
        memcpy(a->labels + (size_t)first * plane, t.labels + (size_t)first * plane,
               (size_t)(end - first) * plane);
        if (t.written != end) a->status[team.rank] = LOB_EINTERNAL;
    }
    if (team.rank == 0)
        a->out = got;
    else
        lob_components_output_free(&got);
    components_slabs_free(&t);
}

static int ranks_of(const components_case *c, int size)
{
    return size < c->image.dims.nz ? size : (int)c->image.dims.nz;
}

static void compare_case(const components_case *c, const lob_components_output *want,
                         lob_status expected, int size, int64_t planes)
{
    attempt a = {.c = c, .planes = planes, .fail_at = -1, .label = lob_components_cpu};
    const bool refused =
        c->options.fill_holes && (ranks_of(c, size) > 1 || planes < c->image.dims.nz);
    a.labels = malloc((size_t)c->n * 4);
    assert_ok(lob_team_threads(size, work, &a));
    for (int r = 0; r < ranks_of(c, size); r++) {
        if (a.status[r] != (refused ? LOB_EARG : expected))
            fail_msg("%s: rank %d of %d: %s (%s)", c->shape, r, size, lob_status_text(a.status[r]),
                     a.text[r]);
        assert_string_equal(a.text[r], a.text[0]);
        assert_int_equal(a.count[r], a.count[0]);
        assert_int_equal(a.largest[r], a.largest[0]);
    }
    if (a.status[0] == LOB_OK) {
        a.out.labels = a.labels;
        const char *differs = components_result_differs(&a.out, want, c->n);
        if (differs)
            fail_msg("%s: %d ranks, %lld planes: %s differ", c->shape, size, (long long)planes,
                     differs);
        a.out.labels = NULL;
    }
    lob_components_output_free(&a.out);
    free(a.labels);
}

TEST(random_cases)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    for (uint64_t number = 90000; number < 90000 + CASES(400); number++) {
        components_case c;
        components_case_make(&c, number, number % 40 ? 2500 : 20000);
        lob_components_output want;
        const lob_status expected = components_reference(&want, &c.in, &c.options);
        for (size_t k = 0; k < COUNT(sizes); k++)
            compare_case(&c, &want, expected, sizes[k], (number + k) % 3 ? c.image.dims.nz : 1);
        lob_components_output_free(&want);
        components_case_free(&c);
    }
}

/* Some planes of 0. */
static void blank(components_case *c, uint64_t *state)
{
    const int64_t plane = c->image.dims.nx * c->image.dims.ny, nz = c->image.dims.nz;
    const int64_t bytes = plane * (int64_t)lob_type_of(c->image.type)->bytes;
    const int64_t from = random_below(state, nz), n = 1 + random_below(state, nz - from);
    for (int64_t k = 0; k < c->image.channels; k++)
        memset((char *)c->image.data + (k * nz + from) * bytes, 0, (size_t)(n * bytes));
}

/* All ranks end alike, and one with little memory keeps to it. */
static void compare_mixed(const components_case *c, const lob_components_output *want,
                          lob_status expected, int size, attempt *a)
{
    a->labels = malloc((size_t)c->n * 4);
    assert_ok(lob_team_threads(size, work, a));
    const lob_status st = a->status[0];
    for (int r = 0; r < ranks_of(c, size); r++) {
        const bool right = a->poor >= 0 && st == LOB_ENOMEM ? true : st == expected;
        if (a->status[r] != st || !right)
            fail_msg("%s, %d ranks, seed %d: rank %d: %s (%s)", c->shape, size, (int)a->seed, r,
                     lob_status_text(a->status[r]), a->text[r]);
        if (st == LOB_OK && r == a->poor) assert_true(a->working_bytes[r] <= a->memory);
    }
    a->out.labels = st == LOB_OK ? a->labels : NULL;
    const char *differs = st == LOB_OK ? components_result_differs(&a->out, want, c->n) : NULL;
    if (differs)
        fail_msg("%s, %d ranks, seed %d: %s differ", c->shape, size, (int)a->seed, differs);
    a->out.labels = NULL;
    lob_components_output_free(&a->out);
    free(a->labels);
}

TEST(ranks_may_differ)
{
    for (uint64_t number = 97000; number < 97000 + CASES(60); number++) {
        components_case c;
        uint64_t state = number;
        components_case_make(&c, number, 4000);
        c.options.fill_holes = false;
        for (int i = 0; i < 3; i++)
            if (random_chance(&state, 40)) blank(&c, &state);
        lob_components_output want;
        const lob_status expected = components_reference(&want, &c.in, &c.options);
        for (int poor = 0; poor < 2; poor++) {
            const int size = 1 + (int)random_below(&state, 5);
            attempt a = {.c = &c,
                         .seed = number * 2 + (uint64_t)poor,
                         .fail_at = -1,
                         .poor = -1,
                         .label = lob_components_cpu};
            if (poor) a.poor = (int)random_below(&state, size);
            a.memory = 1 + random_below(&state, 60 * c.n + 1000);
            compare_mixed(&c, &want, expected, size, &a);
        }
        lob_components_output_free(&want);
        components_case_free(&c);
    }
}

/* One rank cannot read its planes: all end alike, with its error, whatever they were doing. */
TEST(a_rank_that_fails_ends_all)
{
    components_case c;
    uint64_t number = 95000;
    for (components_case_make(&c, number, 6000); c.image.dims.nz < 6 || c.options.fill_holes;) {
        components_case_free(&c);
        components_case_make(&c, ++number, 6000);
    }
    c.options.type = LOB_I32;
    for (int fail_at = 0; fail_at < 4; fail_at++) {
        attempt a = {.c = &c, .planes = 1, .fail_at = fail_at, .label = lob_components_cpu};
        a.labels = malloc((size_t)c.n * 4);
        assert_ok(lob_team_threads(3, work, &a));
        for (int r = 0; r < 3; r++) {
            assert_int_equal(a.status[r], LOB_EIO);
            assert_string_equal(a.text[r], "planes cannot be read");
        }
        lob_components_output_free(&a.out);
        free(a.labels);
    }
    components_case_free(&c);
}

/* A table of many pieces: each rank keeps to the memory, and none needs its arrays twice. */
TEST(tables_of_many_pieces_keep_to_the_memory)
{
    enum { RANKS = 2, SIDE = 40 };
    components_case c = {.image = lob_volume_empty(), .intensities = lob_volume_empty()};
    uint64_t state = 1;
    c.image.dims = (lob_dims){SIDE, SIDE, SIDE};
    c.n = lob_voxels(&c.image);
    c.image.data = calloc((size_t)c.n, 1);
    for (int64_t i = 0; i < c.n; i++) ((uint8_t *)c.image.data)[i] = random_chance(&state, 15);
    c.options = lob_components_defaults();
    c.options.neighbours = 6;
    c.options.regions = true;
    c.in.image = &c.image;
    attempt a = {.c = &c, .planes = SIDE, .fail_at = -1, .label = lob_components_cpu};
    a.labels = malloc((size_t)c.n * 4);
    assert_ok(lob_team_threads(RANKS, work, &a));
    assert_int_equal(a.status[0], LOB_OK);
    const int64_t all = a.working_bytes[0];
    const int64_t table = a.count[0] * (int64_t)(sizeof(lob_region) + sizeof(uint32_t));
    const int64_t labels = c.n / RANKS * (int64_t)sizeof(int16_t), runs = c.n;
    lob_components_output_free(&a.out);
    if (all > table * 5 / 4 + labels + runs)
        fail_msg("%lld bytes, tables of %lld", (long long)all, (long long)table);
    int passed = 0;
    for (int64_t max = all / 2; max <= all + all / 16; max += all / 16) {
        a.context.max_memory = max;
        assert_ok(lob_team_threads(RANKS, work, &a));
        for (int r = 0; r < RANKS && a.status[0] == LOB_OK; r++)
            assert_true(a.working_bytes[r] <= max);
        passed += a.status[0] == LOB_OK;
        if (a.status[0] == LOB_OK) lob_components_output_free(&a.out);
    }
    assert_true(passed > 0);
    a.planes = 1; /* where the table grows it takes room for later slabs, if there is some */
    for (int less = 0; less < 2; less++) {
        a.context.max_memory = less ? a.working_bytes[0] * 15 / 16 : 0;
        assert_ok(lob_team_threads(1, work, &a));
        assert_int_equal(a.status[0], LOB_OK);
        lob_components_output_free(&a.out);
    }
    free(a.labels);
    components_case_free(&c);
}

/* What a backend has found on a device of its own, where nothing is joined across the seam. */
enum { PIECES = 1000, HELD = 1 << 20 };

static lob_status label_pieces(lob_components_output *out, const lob_components_input *in,
                               const lob_components_options *options, const lob_context *context,
                               lob_error *error)
{
    lob_slab_found found = {.found = PIECES, .foreground = PIECES, .held = HELD};
    const uint32_t *label;
    (void)options;
    (void)context;
    *out = (lob_components_output){.working_bytes = HELD};
    LOB_TRY(in->share->settle(in->share->user, &label, &out->type, &found, error));
    out->labels = calloc((size_t)lob_voxels(in->image), sizeof(int32_t));
    return out->labels ? LOB_OK : LOB_ENOMEM;
}

TEST(tables_count_beside_what_a_backend_holds)
{
    enum { RANKS = 2, NZ = 4 };
    components_case c = {.image = lob_volume_empty(), .intensities = lob_volume_empty()};
    c.image.dims = (lob_dims){8, 8, NZ};
    c.n = lob_voxels(&c.image);
    c.image.data = calloc((size_t)c.n, 1);
    c.options = lob_components_defaults();
    c.in.image = &c.image;
    attempt a = {.c = &c, .planes = NZ, .fail_at = -1, .label = label_pieces};
    a.context.device = (lob_device *)&a; /* of which nobody asks anything */
    a.labels = malloc((size_t)c.n * 4);
    assert_ok(lob_team_threads(RANKS, work, &a));
    assert_int_equal(a.status[0], LOB_OK);
    assert_int_equal(a.count[1], RANKS * PIECES);
    const int64_t labels = c.n / RANKS * (int64_t)sizeof(int16_t), all = a.working_bytes[0];
    assert_true(all >= labels + HELD + RANKS * PIECES * (int64_t)sizeof(uint32_t));
    for (int less = 0; less < 2; less++) {
        a.context.max_memory = all - less;
        assert_ok(lob_team_threads(RANKS, work, &a));
        for (int r = 0; r < RANKS; r++) assert_int_equal(a.status[r], less ? LOB_ENOMEM : LOB_OK);
    }
    free(a.labels);
    components_case_free(&c);
}
