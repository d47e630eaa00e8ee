/* Cells by a team of threads, each with its planes: the bytes of the volume in one
 * piece. */
#include "kernels/cells/cells_slabs.h"
#include "kernels/phantom/phantom.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/labels.h"

enum { MOST = 17 };

typedef struct {
    char shape[200]; /* for messages */
    lob_volume image;
    lob_cells_options options;
} cells_case;

/* Nuclei, or cells between walls; some images have gaps, some nothing at all, and some one slice.
 */
static void make_case(cells_case *c, uint64_t number)
{
    static const int64_t planes[] = {41, 18, 23, 30, 7, 3, 1};
    uint64_t state = number * 104729 + 11;
    lob_phantom_options options = lob_phantom_defaults(LOB_PHANTOM_CELLS);
    options.dims = (lob_dims){20 + random_below(&state, 40), 20 + random_below(&state, 30),
                              planes[random_below(&state, 7)]};
    options.cells = 3 + (int)random_below(&state, 20);
    const bool dark = number % 3 == 0; /* half of it, so that sums of real numbers round */
    const bool walls = random_chance(&state, 30) || dark;
    options.nuclei = !walls;
    options.random_seed = number;
    for (int a = 0; a < 3; a++) options.spacing_mm[a] = 0.001 * (1 + a * random_double(&state));
    while (lob_phantom(&c->image, NULL, NULL, &options, THREADS(2), NULL) != LOB_OK)
        assert_true((options.cells /= 2) > 0); /* there is no room for so many */
    c->options = lob_cells_defaults(walls);
    if (random_chance(&state, 50)) c->options.size_mm = 0.004 + 0.006 * random_double(&state);
    if (random_chance(&state, 30)) c->options.wall = random_double(&state) * 0.3;
    if (random_chance(&state, 30) && !walls) c->options.apart = random_double(&state);
    const int64_t n = lob_voxels(&c->image);
    const bool real = random_chance(&state, 50) || dark, flat = random_chance(&state, 5);
    if (real) {
        float *const values = malloc((size_t)n * sizeof *values);
        for (int64_t i = 0; i < n; i++) {
            double value;
            lob_values(&value, c->image.data, c->image.type, i, 1);
            if (dark && i % options.dims.nx < options.dims.nx / 2) value *= 1e-7;
            values[i] = flat ? 1 : random_below(&state, n) < 9 ? NAN : (float)(value * 0.37);
        }
        free(c->image.data);
        c->image.data = values;
        c->image.type = LOB_F32;
    }
    snprintf(c->shape, sizeof c->shape, "case %d: %d x %d x %d, %s, size %g", (int)number,
             (int)options.dims.nx, (int)options.dims.ny, (int)options.dims.nz,
             real ? "float32" : "integers", c->options.size_mm);
}

/* cmocka's asserts leave a thread to nobody, so what is wrong is kept for the test. */
typedef struct {
    const cells_case *c;
    int64_t limit;   /* memory of the last rank; 0: none */
    int32_t *labels; /* of all, in lob_label_type */
    lob_type type[MOST];
    lob_cells_plan plan[MOST];
    lob_cells_stats stats[MOST];
    lob_status status[MOST];
    lob_error error[MOST];
} attempt;

static lob_status label(attempt *a, const lob_volume *image, lob_team *team,
                        const lob_context *context)
{
    const int64_t planes = a->c->image.dims.nz;
    const int me = team->rank;
    lob_volume labels;
    LOB_TRY(lob_cells_choose_slabs(&a->plan[me], image, &a->c->options, planes, team, context,
                                   &a->error[me]));
    LOB_TRY(lob_cells_slabs(&labels, &a->stats[me], image, &a->plan[me], planes, team, context,
                            &a->error[me]));
    int64_t first, end;
    lob_team_planes(&first, &end, team, me, planes);
    a->type[me] = labels.type;
    for (int64_t i = 0; i < lob_voxels(&labels); i++)
        a->labels[first * image->dims.nx * image->dims.ny + i] =
            lob_label_at(labels.data, labels.type, i);
    lob_volume_free(&labels);
    return LOB_OK;
}

static void work(lob_team *all, void *user)
{
    attempt *const a = user;
    lob_volume image = a->c->image;
    lob_team team;
    int64_t first, end;
    if (!lob_team_narrow(&team, all, image.dims.nz)) return;
    const lob_context context = {.threads = 1 + team.rank % 2,
                                 .max_memory = team.rank == team.size - 1 ? a->limit : 0};
    lob_team_planes(&first, &end, &team, team.rank, image.dims.nz);
    const int64_t plane = image.dims.nx * image.dims.ny * (int64_t)lob_type_of(image.type)->bytes;
    image.header = (lob_header){.bytes = NULL};
    image.dims.nz = end - first;
    image.data = malloc((size_t)((end - first) * plane));
    memcpy(image.data, (const char *)a->c->image.data + first * plane,
           (size_t)((end - first) * plane));
    a->status[team.rank] = label(a, &image, &team, &context);
    free(image.data);
}

static void compare_rank(const attempt *a, int r, int ranks, const lob_cells_plan *plan,
                         const lob_cells_stats *stats, lob_type type)
{
    const size_t from = offsetof(lob_cells_plan, size_mm), n = sizeof *plan - from;
    if (memcmp((const char *)&a->plan[r] + from, (const char *)plan + from, n) != 0)
        fail_msg("%s: rank %d of %d: another plan", a->c->shape, r, ranks);
    assert_int_equal(a->plan[r].estimated, plan->estimated);
    assert_int_equal(a->stats[r].cells, stats->cells);
    assert_int_equal(a->stats[r].seeds, stats->seeds);
    assert_int_equal(a->type[r], type);
}

static lob_status compare_case(uint64_t number, int64_t limit)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 17};
    cells_case c;
    lob_cells_plan plan;
    lob_cells_stats stats = {0};
    lob_volume want = lob_volume_empty();
    lob_error error = {.text = ""};
    make_case(&c, number);
    lob_status expected =
        lob_cells_choose(&plan, &c.image, &c.options, lob_backends[0], THREADS(2), &error);
    if (expected == LOB_OK)
        expected = lob_cells(&want, &stats, &c.image, &plan, lob_backends[0], THREADS(2), &error);
    const int64_t n = lob_voxels(&c.image);
    for (size_t k = number % 2; k < COUNT(sizes); k += 2) {
        static attempt a;
        const int ranks = sizes[k] < c.image.dims.nz ? sizes[k] : (int)c.image.dims.nz;
        a = (attempt){.c = &c, .limit = limit, .labels = calloc((size_t)n, sizeof *a.labels)};
        assert_ok(lob_team_threads(sizes[k], work, &a));
        for (int r = 0; r < ranks; r++) {
            if (a.status[r] != (limit ? LOB_ENOMEM : expected))
                fail_msg("%s: rank %d of %d: %s", c.shape, r, ranks, a.error[r].text);
            if (!limit) assert_string_equal(a.error[r].text, error.text);
            if (!limit && expected == LOB_OK) compare_rank(&a, r, ranks, &plan, &stats, want.type);
        }
        for (int64_t i = 0; i < n && !limit && expected == LOB_OK; i++)
            if (lob_label_at(want.data, want.type, i) != a.labels[i])
                fail_msg("%s: %d ranks: voxel %lld is %d", c.shape, ranks, (long long)i,
                         a.labels[i]);
        free(a.labels);
    }
    lob_volume_free(&want);
    lob_volume_free(&c.image);
    return expected;
}

TEST(random_nuclei)
{
    int labelled = 0;
    for (uint64_t number = 1; number <= CASES(24); number++)
        labelled += compare_case(number, 0) == LOB_OK;
    assert_true(labelled > CASES(24) / 2);
}

TEST(a_rank_without_memory_ends_all)
{
    compare_case(3, 20000);
}
