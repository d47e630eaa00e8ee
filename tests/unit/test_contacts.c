/* Contacts of labels, their means, and painting, each against a count over all faces. */
#include "kernels/regions/contacts_slabs.h"
#include "tests/reference/put_number.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/labels.h"

enum { MAX = 12 };

static const double mm[3] = {0.5, 2, 3};

/* z leans over along x, by 4 for each 3: faces are 0.5 x 2, 0.5 x 3 and 2 x 5 mm. */
static const double leaning[3][4] = {
    {0.5, 0, 4, 0},
    {0,   2, 0, 0},
    {0,   0, 3, 0}
};

typedef struct {
    lob_label_grid grid;
    lob_volume image;
    int64_t n, faces[MAX + 1][MAX + 1][3];
    int slice_axis;
} contacts_case;

static int32_t label_at(const contacts_case *s, int64_t v)
{
    return lob_label_at(s->grid.labels, s->grid.type, v);
}

/* The voxel that shares the face of v towards `step` along an axis, or -1. */
static int64_t beyond(const contacts_case *s, int64_t v, int axis, int step)
{
    const int64_t side[3] = {s->grid.dims.nx, s->grid.dims.ny, s->grid.dims.nz};
    int64_t stride = 1;
    for (int a = 0; a < axis; a++) stride *= side[a];
    const int64_t x = v / stride % side[axis] + step;
    return axis == s->slice_axis || x < 0 || x >= side[axis] ? -1 : v + step * stride;
}

static contacts_case make_case(uint64_t number)
{
    static const lob_type types[] = {LOB_U8, LOB_I16, LOB_I32};
    uint64_t state = number * 977 + 5;
    contacts_case s = {.image = lob_volume_empty()};
    s.grid.dims = (lob_dims){1 + random_below(&state, 9), 1 + random_below(&state, 9),
                             1 + random_below(&state, 7)};
    s.grid.type = types[random_below(&state, 3)];
    s.grid.count = 1 + random_below(&state, MAX);
    s.slice_axis = (int)random_below(&state, 4) - 1;
    s.image.dims = s.grid.dims;
    s.n = lob_voxels(&s.image);
    s.image.type = LOB_F32;
    s.image.channels = 1 + (int)random_below(&state, 3);
    s.image.geometry = lob_geometry_of_spacing(mm);
    if (number % 3 == 0) lob_geometry_of_affine(&s.image.geometry, leaning);
    s.image.slope = 2;
    s.image.inter = -1;
    s.image.data = malloc((size_t)(s.n * s.image.channels) * sizeof(float));
    void *labels = malloc((size_t)s.n * sizeof(int32_t));
    for (int64_t v = 0; v < s.n; v++)
        lob_label_put(labels, s.grid.type, v, (int32_t)random_below(&state, s.grid.count + 1));
    for (int64_t i = 0; i < s.n * s.image.channels; i++)
        ((float *)s.image.data)[i] =
            random_chance(&state, 5) ? NAN : (float)(random_double(&state) * 100 - 30);
    s.grid.labels = labels;
    for (int64_t v = 0; v < s.n; v++)
        for (int a = 0; a < 3; a++) {
            const int64_t u = beyond(&s, v, a, 1);
            const int32_t p = label_at(&s, v), q = u < 0 ? 0 : label_at(&s, u);
            if (p && q && p != q) s.faces[p < q ? p : q][p < q ? q : p][a]++;
        }
    return s;
}

static void free_case(contacts_case *s)
{
    free((void *)s->grid.labels);
    lob_volume_free(&s->image);
}

/* Mean of a label in a channel, in plain doubles; NaN without a finite value. */
static double mean_of(const contacts_case *s, int32_t label, int channel)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t v = 0; v < s->n; v++) {
        const double value = ((const float *)s->image.data)[channel * s->n + v];
        if (label_at(s, v) == label && isfinite(value)) sum += 2 * value - 1, n++;
    }
    return n ? sum / (double)n : NAN;
}

static bool near(double a, double b)
{
    return isnan(b) ? isnan(a) : fabs(a - b) < 1e-5;
}

static void check_contact(const contacts_case *s, const lob_contact *c)
{
    const int64_t *faces = s->faces[c->a][c->b];
    double square = 0;
    assert_memory_equal(c->faces, faces, sizeof c->faces);
    const double across_x = s->image.geometry.spacing_mm[2] == 3 ? 6 : 10;
    assert_true(
        near(c->mm2, (double)faces[0] * across_x + (double)faces[1] * 1.5 + (double)faces[2]));
    for (int k = 0; k < s->image.channels; k++) {
        const double d = mean_of(s, c->a, k) - mean_of(s, c->b, k);
        square += d * d;
    }
    assert_true(near(c->difference, sqrt(square)));
}

TEST(contacts_are_all_faces)
{
    for (uint64_t number = 1; number <= 200; number++) {
        contacts_case s = make_case(number);
        const int channels = s.image.channels;
        double means[MAX * 3];
        lob_contact *list;
        int64_t found, at = 0;
        assert_ok(lob_label_means(means, &s.grid, &s.image, THREADS(1 + (int)(number % 4)), NULL));
        for (int32_t k = 1; k <= s.grid.count; k++)
            for (int c = 0; c < channels; c++)
                assert_true(near(means[(k - 1) * channels + c], mean_of(&s, k, c)));
        assert_ok(lob_contacts(&list, &found, &s.grid, &s.image.geometry, means, channels,
                               s.slice_axis, THREADS(1 + (int)(number % 4)), NULL));
        for (int a = 1; a <= MAX; a++)
            for (int b = a + 1; b <= MAX; b++) {
                const int64_t *faces = s.faces[a][b];
                if (faces[0] + faces[1] + faces[2] == 0) continue;
                assert_true(at < found && list[at].a == a && list[at].b == b);
                check_contact(&s, &list[at++]);
            }
        assert_int_equal(at, found);
        free(list);
        free_case(&s);
    }
}

TEST(boundaries_are_outlines)
{
    for (uint64_t number = 1; number <= 60; number++) {
        contacts_case s = make_case(number);
        uint8_t *marks = malloc((size_t)s.n);
        lob_paint_boundaries(marks, &s.grid, s.slice_axis, 2);
        for (int64_t v = 0; v < s.n; v++) {
            bool edge = false;
            for (int a = 0; a < 3; a++)
                for (int step = -1; step <= 1; step += 2) {
                    const int64_t u = beyond(&s, v, a, step);
                    edge |= u >= 0 && label_at(&s, u) != label_at(&s, v);
                }
            assert_int_equal(marks[v], label_at(&s, v) != 0 && edge);
        }
        free(marks);
        free_case(&s);
    }
}

/* What the ranks of a team make of a case. */
typedef struct {
    const contacts_case *s;
    const double *means;
    uint8_t *marks;
    lob_contact *list; /* of rank 0 */
    int64_t count;
    bool wrong; /* a call failed, or another rank has a list */
} shared_case;

static void work(lob_team *all, void *user)
{
    shared_case *const c = user;
    const contacts_case *const s = c->s;
    lob_label_grid grid = s->grid;
    lob_team team;
    lob_contact *list;
    int64_t first, end, count;
    if (!lob_team_narrow(&team, all, grid.dims.nz)) return;
    lob_team_planes(&first, &end, &team, team.rank, grid.dims.nz);
    const int64_t at = first * grid.dims.nx * grid.dims.ny;
    const bool is_first = team.rank == 0;
    grid.labels = (const char *)grid.labels + at * (int64_t)lob_type_of(grid.type)->bytes;
    grid.dims.nz = end - first;
    if (lob_paint_boundaries_slabs(c->marks + at, &grid, s->slice_axis, &team, 1, NULL) != LOB_OK ||
        lob_contacts_slabs(&list, &count, &grid, &s->image.geometry, is_first ? c->means : NULL,
                           s->image.channels, s->slice_axis, &team, THREADS(1 + team.rank % 2),
                           NULL) != LOB_OK ||
        (!is_first && (list || count)))
        c->wrong = true;
    else if (is_first)
        c->list = list, c->count = count;
}

TEST(a_team_has_what_one_has)
{
    static const int sizes[] = {1, 2, 3, 7};
    for (uint64_t number = 1; number <= 200; number++) {
        contacts_case s = make_case(number);
        double means[MAX * 3];
        lob_contact *want;
        int64_t count;
        uint8_t *const marks = malloc((size_t)s.n);
        assert_ok(lob_label_means(means, &s.grid, &s.image, THREADS(1), NULL));
        assert_ok(lob_contacts(&want, &count, &s.grid, &s.image.geometry, means, s.image.channels,
                               s.slice_axis, THREADS(1), NULL));
        lob_paint_boundaries(marks, &s.grid, s.slice_axis, 1);
        for (size_t k = 0; k < COUNT(sizes); k++) {
            shared_case c = {.s = &s, .means = means, .marks = malloc((size_t)s.n)};
            assert_ok(lob_team_threads(sizes[k], work, &c));
            assert_false(c.wrong);
            assert_memory_equal(c.marks, marks, (size_t)s.n);
            assert_int_equal(c.count, count);
            for (int64_t i = 0; i < count; i++) {
                lob_contact *const got = &c.list[i];
                assert_true(got->difference == want[i].difference ||
                            (isnan(got->difference) && isnan(want[i].difference)));
                got->difference = want[i].difference; /* bits of NaN may differ */
                assert_memory_equal(got, &want[i], sizeof *got);
            }
            free(c.list);
            free(c.marks);
        }
        free(want);
        free(marks);
        free_case(&s);
    }
}

TEST(means_are_stored_as_the_type_holds)
{
    static const struct {
        const char *what;
        lob_type type;
        double slope, inter, mean, want;
    } cases[] = {
        {"as it is",            LOB_F32, 1,   0,  1.25,  1.25                 },
        {"to the nearest",      LOB_U8,  1,   0,  1.5,   2                    },
        {"below the type",      LOB_U8,  1,   0,  -7,    0                    },
        {"above the type",      LOB_I16, 1,   0,  1e9,   32767                },
        {"through the slope",   LOB_I16, 0.5, -8, 3.25,  23                   },
        {"nothing there",       LOB_I16, 0.5, -8, NAN,   16                   },
        {"the largest integer", LOB_I64, 1,   0,  1e300, 9223372036854775807.0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const uint8_t label = 1;
        const lob_label_grid grid = ROW(&label, LOB_U8, 1, {1, 1, 1});
        uint64_t voxel = 0;
        lob_volume out = volume_of(&voxel, cases[i].type, grid.dims, NULL);
        out.slope = cases[i].slope;
        out.inter = cases[i].inter;
        lob_paint_means(&out, &grid, &cases[i].mean, 1);
        const double got = number_at(&out, 0);
        if (got != cases[i].want) fail_msg("%s: %g", cases[i].what, got);
    }
}

TEST(too_little_memory_is_told)
{
    contacts_case s = make_case(3);
    const lob_context context = {.threads = 2, .max_memory = 100};
    lob_contact *list;
    int64_t found;
    lob_error error = {.text = ""};
    assert_int_equal(
        lob_contacts(&list, &found, &s.grid, &s.image.geometry, NULL, 0, -1, &context, &error),
        LOB_ENOMEM);
    assert_true(list == NULL && found == 0 && strstr(error.text, "100 bytes of memory left"));
    double means[1];
    assert_int_equal(lob_label_means(means, &s.grid, &s.image, &context, &error), LOB_ENOMEM);
    assert_non_null(strstr(error.text, "100 bytes allowed"));
    assert_int_equal(
        lob_contacts(&list, &found, &s.grid, &s.image.geometry, NULL, 0, 3, &context, &error),
        LOB_EARG);
    free_case(&s);
}
