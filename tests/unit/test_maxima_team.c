/* Maxima and joined basins by a team of threads, each with its planes: the bytes of the volume in
 * one piece. */
#include "kernels/maxima/maxima_slabs.h"
#include "kernels/merge/basins_slabs.h"
#include "kernels/team/team_planes.h"
#include "tests/reference/put_number.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/labels.h"

enum { MOST = 17, BASINS = 40 };

typedef struct {
    lob_volume image;
    uint8_t *mask; /* NULL: none */
    lob_maxima_options options;
    lob_label_grid grid;
    lob_basins_options basins;
} maxima_case;

static void make_case(maxima_case *c, uint64_t number)
{
    static const int64_t sides[] = {1, 2, 3, 5, 7, 11, 19};
    static const lob_type types[] = {LOB_U8, LOB_I16, LOB_I32};
    uint64_t state = number * 7919 + 5;
    *c = (maxima_case){.image = lob_volume_empty(), .options = lob_maxima_defaults()};
    c->image.type = random_chance(&state, 50) ? LOB_F32 : LOB_U8;
    c->image.dims = (lob_dims){sides[random_below(&state, 6)], sides[random_below(&state, 6)],
                               sides[random_below(&state, 7)]};
    if (random_chance(&state, 40)) c->image.slope = -0.5;
    const int64_t n = lob_voxels(&c->image), levels = 1 + random_below(&state, 12);
    const bool gaps = random_chance(&state, 30);
    c->image.data = malloc((size_t)n * sizeof(float));
    if (random_chance(&state, 40)) c->mask = malloc((size_t)n);
    c->grid = (lob_label_grid){.type = types[random_below(&state, 3)],
                               .count = 1 + random_below(&state, BASINS),
                               .dims = c->image.dims};
    void *const labels = malloc((size_t)n * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++) {
        const bool gap = gaps && c->image.type == LOB_F32 && random_chance(&state, 10);
        const bool again = i > 0 && random_chance(&state, 60);
        put_number(&c->image, i, gap ? (double)NAN : (double)random_below(&state, levels));
        if (c->mask) c->mask[i] = random_chance(&state, 80);
        lob_label_put(labels, c->grid.type, i,
                      again ? lob_label_at(labels, c->grid.type, i - 1)
                            : (int32_t)random_below(&state, c->grid.count + 1));
    }
    c->grid.labels = labels;
    c->basins.height = (double)random_below(&state, 4);
    c->basins.share = random_chance(&state, 50) ? random_double(&state) : 0;
    c->basins.level = (double)random_below(&state, 20);
    if (random_chance(&state, 30)) {
        c->options.slice_axis = (int)random_below(&state, 3);
        c->options.neighbours = random_chance(&state, 50) ? 4 : 8;
    } else {
        c->options.neighbours = (int[]){6, 18, 26}[random_below(&state, 3)];
    }
    if (random_chance(&state, 30)) c->options.above = 1;
    if (random_chance(&state, 60)) c->options.apart = 4 * random_double(&state);
    if (random_chance(&state, 50)) c->options.height = 0.5 * (double)random_below(&state, 14);
    for (int a = 0; a < 3; a++) c->options.spacing[a] = 0.5 + random_double(&state);
}

static void free_case(maxima_case *c)
{
    lob_volume_free(&c->image);
    free(c->mask);
    free((void *)c->grid.labels);
}

/* cmocka's asserts leave a thread to nobody, so what is wrong is kept for the test. */
typedef struct {
    const maxima_case *c;
    int64_t limit; /* memory of the last rank; 0: none */
    int32_t *labels;
    lob_maxima_output out; /* of rank 0 */
    int32_t to[MOST][BASINS + 1];
    lob_basins_stats stats[MOST];
    lob_status status[MOST];
    lob_error error[MOST];
} attempt;

/* A rank's planes of an array, with those around, from the other ranks. */
static void *fetch(const void *all, int64_t plane, const lob_dims *dims, int64_t halo,
                   lob_team *team)
{
    const lob_team_reach r = lob_team_reach_of(team, team->rank, dims->nz, halo, 1);
    void *const to = malloc((size_t)((r.to - r.from) * plane));
    if (lob_team_fetch(to, (const char *)all + r.first * plane, dims->nz, halo, 1, plane, team,
                       NULL) != LOB_OK)
        memset(to, 0, (size_t)((r.to - r.from) * plane));
    return to;
}

static lob_status find(attempt *a, lob_team *team, const lob_context *context, lob_error *error)
{
    const maxima_case *const c = a->c;
    const lob_dims d = c->image.dims;
    const lob_team_reach r = lob_team_reach_of(team, team->rank, d.nz, LOB_MAXIMA_HALO, 1);
    const int64_t plane = d.nx * d.ny, each = (int64_t)lob_type_of(c->image.type)->bytes;
    lob_volume image = c->image;
    lob_maxima_output got;
    image.dims.nz = r.to - r.from;
    image.data = fetch(c->image.data, plane * each, &d, LOB_MAXIMA_HALO, team);
    uint8_t *const mask = c->mask ? fetch(c->mask, plane, &d, LOB_MAXIMA_HALO, team) : NULL;
    const lob_maxima_input in = {&image, mask};
    const lob_maxima_slab slab = {team, d.nz, r.first - r.from};
    const lob_status st = lob_maxima_slabs(&got, &in, &c->options, &slab, context, error);
    if (st == LOB_OK)
        memcpy(a->labels + r.first * plane, got.labels,
               (size_t)((r.end - r.first) * plane) * sizeof *got.labels);
    if (team->rank == 0)
        a->out = got;
    else
        lob_maxima_output_free(&got);
    free(image.data);
    free(mask);
    return st;
}

static lob_status join(attempt *a, lob_team *team, const lob_context *context, lob_error *error)
{
    const maxima_case *const c = a->c;
    const lob_dims d = c->image.dims;
    const lob_team_reach r = lob_team_reach_of(team, team->rank, d.nz, 1, 1);
    const int64_t plane = d.nx * d.ny, before = (r.first - r.from) * plane;
    const int64_t value = (int64_t)lob_type_of(c->image.type)->bytes;
    const int64_t label = (int64_t)lob_type_of(c->grid.type)->bytes;
    lob_volume image = c->image;
    lob_label_grid grid = c->grid;
    char *const values = fetch(c->image.data, plane * value, &d, 1, team);
    char *const labels = fetch(c->grid.labels, plane * label, &d, 1, team);
    image.dims.nz = grid.dims.nz = r.to - r.first;
    image.data = values + before * value;
    grid.labels = labels + before * label;
    const lob_status st = lob_basins_slabs(a->to[team->rank], &a->stats[team->rank], &grid, &image,
                                           &c->basins, team, context, error);
    free(values);
    free(labels);
    return st;
}

static void work(lob_team *all, void *user)
{
    attempt *const a = user;
    lob_team team;
    if (!lob_team_narrow(&team, all, a->c->image.dims.nz)) return;
    const int me = team.rank;
    const lob_context context = {.threads = 1 + me % 2,
                                 .max_memory = me == team.size - 1 ? a->limit : 0};
    a->status[me] = find(a, &team, &context, &a->error[me]);
    if (a->status[me] == LOB_OK) a->status[me] = join(a, &team, &context, &a->error[me]);
}

static void compare(const maxima_case *c, uint64_t number, int64_t limit)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    const size_t n = (size_t)lob_voxels(&c->image);
    const lob_maxima_input in = {&c->image, c->mask};
    int32_t to[BASINS + 1];
    lob_maxima_output want;
    lob_basins_stats stats;
    assert_ok(lob_maxima_cpu(&want, &in, &c->options, THREADS(2), NULL));
    assert_ok(lob_basins_cpu(to, &stats, &c->grid, &c->image, &c->basins, THREADS(2), NULL));
    for (size_t k = 0; k < COUNT(sizes); k++) {
        static attempt a;
        const int ranks = sizes[k] < c->image.dims.nz ? sizes[k] : (int)c->image.dims.nz;
        a = (attempt){.c = c, .limit = limit, .labels = malloc(n * sizeof *a.labels)};
        assert_ok(lob_team_threads(sizes[k], work, &a));
        for (int r = 0; r < ranks; r++) {
            if (a.status[r] != (limit ? LOB_ENOMEM : LOB_OK))
                fail_msg("case %d: rank %d of %d: %s", (int)number, r, ranks, a.error[r].text);
            assert_string_equal(a.error[r].text, a.error[0].text);
            if (limit) continue;
            assert_memory_equal(a.to[r], to, (size_t)(c->grid.count + 1) * sizeof *to);
            assert_int_equal(a.stats[r].basins, stats.basins);
            assert_int_equal(a.stats[r].left, stats.left);
            assert_int_equal(a.stats[r].contacts, stats.contacts);
        }
        if (!limit) {
            assert_int_equal(a.out.count, want.count);
            assert_int_equal(a.out.found, want.found);
            for (int64_t m = 0; m < want.count; m++)
                assert_memory_equal(&a.out.maxima[m], &want.maxima[m], sizeof *want.maxima);
            if (memcmp(a.labels, want.labels, n * sizeof *a.labels) != 0)
                fail_msg("case %d: %d ranks: labels differ", (int)number, ranks);
        }
        lob_maxima_output_free(&a.out);
        free(a.labels);
    }
    lob_maxima_output_free(&want);
}

TEST(random_volumes)
{
    for (uint64_t number = 0; number < CASES(600); number++) {
        maxima_case c;
        make_case(&c, number);
        compare(&c, number, 0);
        free_case(&c);
    }
}

TEST(a_rank_without_memory_ends_all)
{
    maxima_case c;
    make_case(&c, 601);
    compare(&c, 601, 10);
    free_case(&c);
}
