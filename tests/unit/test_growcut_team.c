/* GrowCut by a team of threads, each with its planes: the bytes of the volume in one piece. */
#include "kernels/growcut/growcut_slabs.h"
#include "tests/reference/growcut_case.h"
#include "tests/unit/cmocka_test.h"

enum { MOST = 17 };

/* A case that a team works on. cmocka's asserts leave a thread to nobody, so what is wrong is kept
 * for the test. */
typedef struct {
    const growcut_case *c;
    lob_growcut_output out; /* of the whole volume */
    lob_growcut_stats stats[MOST];
    lob_status status[MOST];
    lob_error error[MOST];
    int64_t limit; /* memory of the last rank; 0: none */
} attempt;

/* Planes from .. to - 1 of each of so many volumes; to be freed. */
static void *planes_of(const void *data, size_t plane, int64_t planes, int channels, int64_t from,
                       int64_t to)
{
    const size_t part = plane * (size_t)(to - from);
    char *const out = data ? malloc(part * (size_t)channels) : NULL;
    for (int c = 0; out && c < channels; c++)
        memcpy(out + (size_t)c * part, (const char *)data + plane * (size_t)(c * planes + from),
               part);
    return out;
}

/* Copy own planes of an array to the whole. */
static void put_planes(void *whole, const void *part, size_t plane, int64_t before, int64_t first,
                       int64_t end)
{
    if (whole)
        memcpy((char *)whole + (size_t)first * plane, (const char *)part + (size_t)before * plane,
               (size_t)(end - first) * plane);
}

static void work(lob_team *all, void *user)
{
    attempt *const a = user;
    const growcut_case *const c = a->c;
    const lob_dims dims = c->image.dims;
    const size_t plane = (size_t)(dims.nx * dims.ny);
    const size_t each = lob_type_of(c->image.type)->bytes,
                 label = lob_type_of(c->seeds.type)->bytes;
    lob_team team;
    int64_t first, end;
    if (!lob_team_narrow(&team, all, dims.nz)) return;
    lob_team_planes(&first, &end, &team, team.rank, dims.nz);
    const int64_t from = first > 0 ? first - 1 : 0, to = end < dims.nz ? end + 1 : dims.nz;
    const size_t n = plane * (size_t)(to - from);

    lob_volume image = c->image, seeds = c->seeds;
    image.dims.nz = seeds.dims.nz = to - from;
    image.data = planes_of(c->image.data, plane * each, dims.nz, image.channels, from, to);
    seeds.data = planes_of(c->seeds.data, plane * label, dims.nz, 1, from, to);
    uint8_t *const mask = planes_of(c->mask, plane, dims.nz, 1, from, to);
    float *const strength = planes_of(c->seed_strength, plane * 4, dims.nz, 1, from, to);
    lob_growcut_input in = c->in;
    in.image = &image;
    in.seeds = &seeds;
    in.mask = mask;
    in.seed_strength = strength;
    const lob_growcut_output out = {malloc(n * label), a->out.strength ? malloc(n * 4) : NULL,
                                    a->out.tie ? malloc(n) : NULL};
    lob_growcut_options options = c->options;
    if (team.rank % 3 == 1) options.tile = 5; /* it never changes the result */
    const lob_growcut_slab slab = {.team = &team, .first = first - from, .end = end - from};
    const lob_context context = {.threads = 1 + team.rank % 2,
                                 .max_memory = team.rank == team.size - 1 ? a->limit : 0};
    a->status[team.rank] = lob_growcut_slabs(&out, &a->stats[team.rank], &in, &options, &slab,
                                             &context, &a->error[team.rank]);
    if (a->status[team.rank] == LOB_OK) {
        put_planes(a->out.labels, out.labels, plane * label, first - from, first, end);
        put_planes(a->out.strength, out.strength, plane * 4, first - from, first, end);
        put_planes(a->out.tie, out.tie, plane, first - from, first, end);
    }
    free(image.data);
    free(seeds.data);
    free(mask);
    free(strength);
    free(out.labels);
    free(out.strength);
    free(out.tie);
}

static bool is_refused(const growcut_case *c, int ranks)
{
    return ranks > 1 && c->options.rule == LOB_RULE_FLOOD && c->options.slice_axis != 2;
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
    static attempt a;
    a = (attempt){.c = c, .out = growcut_output_make(c)};
    assert_ok(lob_team_threads(size, work, &a));
    if (is_refused(c, ranks)) expected = LOB_EARG;
    for (int r = 0; r < ranks; r++) {
        if (a.status[r] != expected)
            fail_msg("%s: rank %d of %d: %s (%s), not %s", c->shape, r, ranks,
                     lob_status_text(a.status[r]), a.error[r].text, lob_status_text(expected));
        if (!is_refused(c, ranks) && expected != LOB_OK && strcmp(a.error[r].text, text) != 0)
            fail_msg("%s: rank %d of %d: %s, not %s", c->shape, r, ranks, a.error[r].text, text);
        if (expected == LOB_OK && !same_stats(a.stats[r], *stats))
            fail_msg("%s: rank %d of %d: statistics differ", c->shape, r, ranks);
    }
    const char *differs = expected == LOB_OK ? growcut_output_differs(c, &a.out, want) : NULL;
    if (differs) fail_msg("%s: %d ranks: %s", c->shape, ranks, differs);
    growcut_output_free(&a.out);
}

static void compare_cases(uint64_t first, int count, growcut_variety variety, int64_t max_side)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    for (uint64_t number = first; number < first + (uint64_t)count; number++) {
        growcut_case c;
        growcut_case_make(&c, number, variety, max_side);
        const lob_growcut_output want = growcut_output_make(&c);
        lob_growcut_stats stats = {0};
        lob_error error = {.text = ""};
        const lob_status expected =
            lob_growcut_cpu(&want, &stats, &c.in, &c.options, THREADS(2), &error);
        for (size_t k = 0; k < COUNT(sizes); k++)
            compare_case(&c, &want, &stats, expected, error.text, sizes[k]);
        growcut_output_free((lob_growcut_output *)&want);
        growcut_case_free(&c);
    }
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

/* One rank's memory does not do: all end alike, with its error. */
TEST(a_rank_without_memory_ends_all)
{
    growcut_case c;
    uint64_t number = 94000;
    for (growcut_case_make(&c, number, GROWCUT_PLAIN, 19); c.image.dims.nz < 6;) {
        growcut_case_free(&c);
        growcut_case_make(&c, ++number, GROWCUT_PLAIN, 19);
    }
    static attempt a;
    a = (attempt){.c = &c, .out = growcut_output_make(&c), .limit = 100};
    assert_ok(lob_team_threads(3, work, &a));
    for (int r = 0; r < 3; r++) {
        assert_int_equal(a.status[r], LOB_ENOMEM);
        assert_string_equal(a.error[r].text, a.error[2].text);
    }
    growcut_output_free(&a.out);
    growcut_case_free(&c);
}
