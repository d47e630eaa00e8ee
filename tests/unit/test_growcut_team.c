/* GrowCut by a team of threads, each with its planes: the bytes of the volume in one piece. */
#include "tests/reference/growcut_team.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"

static growcut_team team_of(const growcut_case *c)
{
    growcut_team a = {.c = c, .grow = lob_growcut_slabs, .out = growcut_output_make(c)};
    for (int r = 0; r < GROWCUT_TEAM_MOST; r++) a.context[r].threads = 1 + r % 2;
    return a;
}

static bool same_stats(lob_growcut_stats a, lob_growcut_stats b)
{
    a.working_bytes = b.working_bytes = 0;
    return a.data_voxels == b.data_voxels && a.not_finite == b.not_finite && a.seeds == b.seeds &&
           a.seeds_outside == b.seeds_outside && a.reached == b.reached && a.ties == b.ties &&
           a.rounds == b.rounds && a.fixed_point == b.fixed_point &&
           memcmp(&a.largest_cost, &b.largest_cost, sizeof a.largest_cost) == 0 &&
           a.level_step == b.level_step && a.key_bits == b.key_bits;
}

static void compare_case(const growcut_case *c, const lob_growcut_output *want,
                         const lob_growcut_stats *stats, lob_status expected, const char *text,
                         int size)
{
    const int ranks = size < c->image.dims.nz ? size : (int)c->image.dims.nz;
    static growcut_team a;
    a = team_of(c);
    a.cuts = c->number % 2 ? c->number : 0;
    assert_ok(lob_team_threads(size, growcut_team_work, &a));
    for (int r = 0; r < ranks; r++) {
        if (a.status[r] != expected)
            fail_msg("%s: rank %d of %d: %s (%s), not %s", c->shape, r, ranks,
                     lob_status_text(a.status[r]), a.error[r].text, lob_status_text(expected));
        if (expected != LOB_OK && strcmp(a.error[r].text, text) != 0)
            fail_msg("%s: rank %d of %d: %s, not %s", c->shape, r, ranks, a.error[r].text, text);
        if (expected == LOB_OK && !same_stats(a.stats[r], *stats))
            fail_msg("%s: rank %d of %d: statistics differ", c->shape, r, ranks);
    }
    const char *differs = expected == LOB_OK ? growcut_output_differs(c, &a.out, want) : NULL;
    if (differs) fail_msg("%s: %d ranks: %s", c->shape, ranks, differs);
    growcut_output_free(&a.out);
}

static void compare_sizes(const growcut_case *c)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    const lob_growcut_output want = growcut_output_make(c);
    lob_growcut_stats stats = {0};
    lob_error error = {.text = ""};
    const lob_status expected =
        lob_growcut_cpu(&want, &stats, &c->in, &c->options, THREADS(2), &error);
    for (size_t k = 0; k < COUNT(sizes); k++)
        compare_case(c, &want, &stats, expected, error.text, sizes[k]);
    growcut_output_free((lob_growcut_output *)&want);
}

/* rule: cases of others are passed over, and do not count; -1: none is. */
static void compare_cases_of(int rule, uint64_t first, int count, growcut_variety variety,
                             int64_t max_side)
{
    int compared = 0;
    for (uint64_t number = first; compared < count; number++) {
        growcut_case c;
        growcut_case_make(&c, number, variety, max_side);
        if (rule >= 0 && rule != (int)c.options.rule) {
            growcut_case_free(&c);
            continue;
        }
        compared++;
        compare_sizes(&c);
        growcut_case_free(&c);
    }
}

static void compare_cases(uint64_t first, int count, growcut_variety variety, int64_t max_side)
{
    compare_cases_of(-1, first, count, variety, max_side);
}

TEST(random_volumes)
{
    compare_cases(91000, CASES(120), GROWCUT_ANY_3D, 19);
}

TEST(random_slices_and_keys)
{
    compare_cases(92000, CASES(120), GROWCUT_ANY_CALL, 23);
}

/* A case whose seeds are in few planes: paths go through many slabs. */
TEST(larger_volumes)
{
    compare_cases(93000, CASES(10), GROWCUT_PLAIN, 41);
}

/* Waves that cross shares of threads and slabs of ranks. */
TEST(floods_of_several_threads)
{
    compare_cases_of(LOB_RULE_FLOOD, 95000, CASES(8), GROWCUT_ANY_3D, 53);
}

TEST(small_floods)
{
    compare_cases_of(LOB_RULE_FLOOD, 97000, CASES(600), GROWCUT_ANY_CALL, 11);
}

/* A case of 16 bits with seeds of three labels, all 0. */
static growcut_case blank_flood(lob_dims dims, const char *shape)
{
    growcut_case c = {.n = dims.nx * dims.ny * dims.nz, .shape = ""};
    snprintf(c.shape, sizeof c.shape, "%s", shape);
    c.image = c.seeds = lob_volume_empty();
    c.image.dims = c.seeds.dims = dims;
    c.image.type = LOB_U16;
    c.seeds.type = LOB_U8;
    c.image.data = calloc((size_t)c.n, sizeof(uint16_t));
    c.seeds.data = calloc((size_t)c.n, 1);
    c.options = lob_growcut_defaults();
    c.options.rule = LOB_RULE_FLOOD;
    c.in.labels = 3;
    return c;
}

/* Noise, of which ranks flood so much that they meet before water has risen to the next level. */
TEST(floods_that_rest_early)
{
    for (uint64_t number = 1; number <= CASES(8); number++) {
        growcut_case c = blank_flood((lob_dims){48, 40, 44 + (int64_t)number}, "noise");
        uint64_t random = c.number = number;
        for (int64_t i = 0; i < c.n; i++)
            ((uint16_t *)c.image.data)[i] = (uint16_t)random_below(&random, 1 << 16);
        for (int i = 0; i < 9; i++)
            ((uint8_t *)c.seeds.data)[random_below(&random, c.n)] = (uint8_t)(1 + i % 3);
        c.in.image = &c.image;
        c.in.seeds = &c.seeds;
        c.wants_tie = true;
        compare_sizes(&c);
        growcut_case_free(&c);
    }
}

/* As many levels as voxels: to meet at each would take 152 bytes for each, and more. */
TEST(floods_do_not_meet_at_every_level)
{
    enum { SIDE = 32, VOXELS = SIDE * SIDE * SIDE, RANKS = 3 };
    growcut_case c = blank_flood((lob_dims){SIDE, SIDE, SIDE}, "levels all differ");
    static growcut_team a;
    uint16_t *const image = c.image.data;
    uint8_t *const seeds = c.seeds.data;
    for (int i = 0; i < VOXELS; i++) image[i] = (uint16_t)(i * 12345 % VOXELS);
    for (int i = 1; i < 4; i++) seeds[i * VOXELS / 5] = (uint8_t)i;
    c.in.image = &c.image;
    c.in.seeds = &c.seeds;
    lob_growcut_output want = growcut_output_make(&c);
    assert_ok(lob_growcut_cpu(&want, NULL, &c.in, &c.options, THREADS(2), NULL));
    a = team_of(&c);
    assert_ok(lob_team_threads(RANKS, growcut_team_work, &a));
    assert_null(growcut_output_differs(&c, &a.out, &want));
    for (int r = 0; r < RANKS; r++)
        if (a.sent[r] > 16 * VOXELS) fail_msg("rank %d sent %d bytes", r, (int)a.sent[r]);
    growcut_output_free(&want);
    growcut_output_free(&a.out);
    growcut_case_free(&c);
}

enum { PATH_X = 160, PATH_Y = 8, PATH_Z = 360 };

/* A path that winds about the planes in the middle, from which ever shorter shafts lead down to a
 * wide ground: at every turn water comes to the ground earlier than before. */
static bool is_on_path(int64_t x, int64_t y, int64_t z)
{
    const int64_t turn = x / 4, turns = PATH_X / 8, below = z - PATH_Z / 2;
    const bool is_before = turn < turns && y == 0;
    if (below == -1) return is_before && x % 4 <= 2;
    if (below == 0) return is_before && x > 0 && x % 4 != 1;
    const int64_t shaft = turn < turns ? 8 * (turns - turn) + 2 : 2;
    return below > shaft || (below > 0 && is_before && x % 4 == 3);
}

/* What waits for its level takes no more memory where water comes to it again. */
TEST(what_waits_in_a_flood_waits_once)
{
    enum { RANKS = 2, MOST = 7000000 }; /* bytes; where they wait each time, it takes 9.3e6 */
    growcut_case c = blank_flood((lob_dims){PATH_X, PATH_Y, PATH_Z}, "a path that winds");
    static growcut_team a;
    uint16_t *const image = c.image.data;
    c.mask = calloc((size_t)c.n, 1);
    for (int64_t i = 0; i < c.n; i++) {
        const int64_t x = i % PATH_X, y = i / PATH_X % PATH_Y, z = i / (PATH_X * PATH_Y);
        c.mask[i] = is_on_path(x, y, z);
        if (z > PATH_Z / 2 + 2 && y > 0 && (x + y + z) % 3 == 0)
            image[i] = (uint16_t)(1 + (x * 7 + y * 3 + z) % 50);
    }
    ((uint8_t *)c.seeds.data)[(PATH_Z / 2 - 1) * PATH_X * PATH_Y] = 1;
    c.in = (lob_growcut_input){.image = &c.image, .seeds = &c.seeds, .labels = 3, .mask = c.mask};
    lob_growcut_output want = growcut_output_make(&c);
    c.options.neighbours = 6;
    assert_ok(lob_growcut_cpu(&want, NULL, &c.in, &c.options, THREADS(2), NULL));
    a = team_of(&c);
    for (int r = 0; r < RANKS; r++) a.context[r] = (lob_context){.threads = 1, .max_memory = MOST};
    assert_ok(lob_team_threads(RANKS, growcut_team_work, &a));
    for (int r = 0; r < RANKS; r++) assert_int_equal(a.status[r], LOB_OK);
    assert_null(growcut_output_differs(&c, &a.out, &want));
    growcut_output_free(&want);
    growcut_output_free(&a.out);
    growcut_case_free(&c);
}

static int stop(void *user, double done)
{
    ++*(int *)user;
    return done < 1; /* at the end it is too late */
}

/* A rank is asked whenever the ranks meet, however little it floods; all end then. */
TEST(a_cancelled_rank_ends_a_flood_in_all)
{
    enum { SIDE = 12 };
    for (int rank = 0; rank < 3; rank++) {
        growcut_case c = blank_flood((lob_dims){SIDE, SIDE, SIDE}, "cancelled");
        static growcut_team a;
        int asked = 0;
        ((uint8_t *)c.seeds.data)[0] = 1;
        c.in.image = &c.image;
        c.in.seeds = &c.seeds;
        a = team_of(&c);
        a.context[rank].progress = stop;
        a.context[rank].user = &asked;
        assert_ok(lob_team_threads(3, growcut_team_work, &a));
        for (int r = 0; r < 3; r++) assert_int_equal(a.status[r], LOB_ECANCEL);
        assert_int_equal(asked, 1);
        growcut_output_free(&a.out);
        growcut_case_free(&c);
    }
}

/* Wherever one rank of a flood has no memory any more, all end alike, with its error. */
TEST(a_flood_of_which_a_rank_has_no_memory_ends_in_all)
{
    growcut_case c;
    uint64_t number = 96000;
    for (growcut_case_make(&c, number, GROWCUT_ANY_3D, 19);
         c.options.rule != LOB_RULE_FLOOD || c.image.dims.nz < 9;) {
        growcut_case_free(&c);
        growcut_case_make(&c, ++number, GROWCUT_ANY_3D, 19);
    }
    int ended = 0;
    for (int64_t bytes = 100, grown = 0; !grown; bytes += 1 + bytes / 16) {
        static growcut_team a;
        a = team_of(&c);
        a.context[1].max_memory = bytes;
        assert_ok(lob_team_threads(3, growcut_team_work, &a));
        grown = a.status[1] == LOB_OK;
        ended += !grown;
        for (int r = 0; r < 3; r++) {
            assert_int_equal(a.status[r], grown ? LOB_OK : LOB_ENOMEM);
            assert_string_equal(a.error[r].text, a.error[1].text);
        }
        growcut_output_free(&a.out);
    }
    assert_true(ended > 20);
    growcut_case_free(&c);
}

/* One rank's memory does not do: all end alike, with its error. */
TEST(a_rank_without_memory_ends_all)
{
    growcut_case c;
    uint64_t number = 94000;
    for (growcut_case_make(&c, number, GROWCUT_PLAIN, 19); c.image.dims.nz < 6;) {
        growcut_case_free(&c);
        growcut_case_make(&c, ++number, GROWCUT_PLAIN, 19);
    }
    static growcut_team a;
    a = team_of(&c);
    a.context[2].max_memory = 100;
    assert_ok(lob_team_threads(3, growcut_team_work, &a));
    for (int r = 0; r < 3; r++) {
        assert_int_equal(a.status[r], LOB_ENOMEM);
        assert_string_equal(a.error[r].text, a.error[2].text);
    }
    growcut_output_free(&a.out);
    growcut_case_free(&c);
}
