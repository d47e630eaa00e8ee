/* Components on the CPU against flood fills: the same bytes and tables, whatever the threads. */
#include "kernels/components/components.h"
#include "tests/reference/components_case.h"
#include "tests/reference/put_number.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"
#include "volumes/labels.h"

static void compare_case(uint64_t number, int64_t max_voxels, int max_threads)
{
    components_case c;
    components_case_make(&c, number, max_voxels);
    lob_components_output want;
    const lob_status expected = components_reference(&want, &c.in, &c.options);
    for (int threads = 1; threads <= max_threads; threads++) {
        lob_components_output got;
        lob_error error = {.text = ""};
        const lob_status st = lob_components_cpu(&got, &c.in, &c.options, THREADS(threads), &error);
        if (st != expected)
            fail_msg("%s: %d threads: %s (%s), wanted %s", c.shape, threads, lob_status_text(st),
                     error.text, lob_status_text(expected));
        if ((st == LOB_OK) != (error.text[0] == '\0'))
            fail_msg("%s: %s with the line \"%s\"", c.shape, lob_status_text(st), error.text);
        const char *differs = st == LOB_OK ? components_result_differs(&got, &want, c.n) : NULL;
        if (differs) fail_msg("%s: %d threads: %s differ", c.shape, threads, differs);
        lob_components_output_free(&got);
    }
    lob_components_output_free(&want);
    components_case_free(&c);
}

TEST(small_random_cases)
{
    for (uint64_t number = 0; number < CASES(2500); number++) compare_case(number, 1500, 2);
}

TEST(random_cases_in_many_slabs)
{
    for (uint64_t number = 10000; number < 10000 + CASES(250); number++)
        compare_case(number, 30000, 5);
}

#define JOINED(neighbours_, ...)                                  \
    {                                                             \
        .neighbours = neighbours_, .type = LOB_TYPES, __VA_ARGS__ \
    }

/* One row of voxels, or a plane of 4 columns, and what becomes of it. */
enum { MAX = 18 };
static const struct {
    const char *what;
    int width, height, depth;
    lob_type type;
    double in[MAX];
    lob_components_options options;
    int32_t want[MAX];
} small[] = {
    ROW("nothing but background", 4, 1, 1, LOB_U8, {0}, JOINED(26, .slice_axis = -1), {0}),
    ROW("one voxel", 1, 1, 1, LOB_U8, {7}, JOINED(26, .slice_axis = -1), {1}),
    ROW("a diagonal in the plane is one with 26 neighbours", 2, 2, 1, LOB_I16, {1, 0, 0, 1},
        JOINED(26, .slice_axis = -1), {1, 0, 0, 1}),
    ROW("and two with 6", 2, 2, 1, LOB_I16, {1, 0, 0, 1}, JOINED(6, .slice_axis = -1),
        {1, 0, 0, 2}),
    ROW("opposite corners of a cube are two with 18", 2, 2, 2, LOB_U8, {1, 0, 0, 0, 0, 0, 0, 1},
        JOINED(18, .slice_axis = -1), {1, 0, 0, 0, 0, 0, 0, 2}),
    ROW("across slices nothing joins", 2, 1, 2, LOB_U8, {1, 1, 1, 1}, JOINED(8, .slice_axis = 2),
        {1, 1, 2, 2}),
    ROW("nor along x, where slices lie across it", 2, 1, 2, LOB_U8, {1, 1, 1, 1},
        JOINED(4, .slice_axis = 0), {1, 2, 1, 2}),
    ROW("numbers follow the first voxels, which a late join does not change", 4, 2, 1, LOB_U8,
        {0, 1, 0, 1, 1, 0, 1, 1}, JOINED(4, .slice_axis = 2), {0, 1, 0, 2, 3, 0, 2, 2}),
    ROW("negative values are foreground", 3, 1, 1, LOB_I8, {-1, 0, -128},
        JOINED(26, .slice_axis = -1), {1, 0, 2}),
    ROW("NaN and infinity are not", 4, 1, 1, LOB_F32, {NAN, 2, INFINITY, -INFINITY},
        JOINED(26, .slice_axis = -1), {0, 1, 0, 0}),
    ROW("0.0 and -0.0 are equal, and in a range with 0", 3, 1, 1, LOB_F64, {0.0, -0.0, 1},
        JOINED(26, .slice_axis = -1, .join = LOB_JOIN_EQUAL, .ranged = true, .range = {-1, 1}),
        {1, 1, 2}),
    ROW("a range holds its ends", 5, 1, 1, LOB_I16, {-3, -2, 0, 4, 5},
        JOINED(26, .slice_axis = -1, .ranged = true, .range = {-2, 4}), {0, 1, 1, 1, 0}),
    ROW("also such as voxels hold to a float32 alone", 5, 1, 1, LOB_F32,
        {0.09, 0.1, 0.2, 0.3, 0.31},
        JOINED(26, .slice_axis = -1, .ranged = true, .range = {0.1, 0.3}), {0, 1, 1, 1, 0}),
    ROW("and so do tolerances of differences that are rounded to one", 4, 1, 1, LOB_F32,
        {0.1, 0.2, -0.5, -0.9},
        JOINED(26, .slice_axis = -1, .join = LOB_JOIN_TOLERANCE, .tolerance = 0.7), {1, 1, 1, 1}),
    ROW("a chain of small steps is one, whatever its ends", 5, 1, 1, LOB_U8, {10, 12, 14, 17, 19},
        JOINED(26, .slice_axis = -1, .join = LOB_JOIN_TOLERANCE, .tolerance = 2), {1, 1, 1, 2, 2}),
    ROW("the largest of equal sizes is the first", 5, 1, 1, LOB_U8, {1, 0, 1, 0, 1},
        JOINED(26, .slice_axis = -1, .largest = 1), {1, 0, 0, 0, 0}),
    ROW("by size the largest comes first", 6, 1, 1, LOB_U8, {1, 0, 1, 1, 0, 1},
        JOINED(26, .slice_axis = -1, .order = LOB_ORDER_SIZE), {2, 0, 1, 1, 0, 3}),
    ROW("sizes are limited before the largest are chosen", 9, 1, 1, LOB_U8,
        {1, 1, 1, 0, 1, 1, 0, 1, 0}, JOINED(26, .slice_axis = -1, .max_voxels = 2, .largest = 1),
        {0, 0, 0, 0, 1, 1, 0, 0, 0}),
    ROW("a ring's hole is filled in its slice", 3, 3, 1, LOB_U8, {1, 1, 1, 1, 0, 1, 1, 1, 1},
        JOINED(8, .slice_axis = 2, .fill_holes = true), {1, 1, 1, 1, 1, 1, 1, 1, 1}),
    ROW("and in the only slice, whose faces across z are no border", 3, 3, 1, LOB_U8,
        {1, 1, 1, 1, 0, 1, 1, 1, 1}, JOINED(26, .slice_axis = -1, .fill_holes = true),
        {1, 1, 1, 1, 1, 1, 1, 1, 1}),
    ROW("in two slices they are", 3, 3, 2, LOB_U8,
        {1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
        JOINED(26, .slice_axis = -1, .fill_holes = true),
        {1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}),
    ROW("a row has borders at its ends alone", 6, 1, 1, LOB_U8, {0, 1, 0, 1, 1, 0},
        JOINED(26, .slice_axis = -1, .fill_holes = true), {0, 1, 1, 2, 2, 0}),
    ROW("a slice of one voxel has none, and no holes", 3, 1, 1, LOB_U8, {1, 0, 1},
        JOINED(8, .slice_axis = 0, .fill_holes = true), {1, 0, 2}),
    ROW("a component taken out is a hole like others", 3, 3, 1, LOB_U8, {2, 2, 2, 2, 9, 2, 2, 2, 2},
        JOINED(8, .slice_axis = 2, .join = LOB_JOIN_EQUAL, .min_voxels = 2, .fill_holes = true),
        {1, 1, 1, 1, 1, 1, 1, 1, 1}),
    ROW("a hole between two goes to the one with more of its faces", 3, 3, 1, LOB_U8,
        {1, 1, 2, 1, 0, 2, 1, 1, 2},
        JOINED(8, .slice_axis = 2, .join = LOB_JOIN_EQUAL, .fill_holes = true),
        {1, 1, 2, 1, 1, 2, 1, 1, 2}),
    ROW("and with as many to the smaller number", 3, 3, 1, LOB_U8, {2, 2, 1, 2, 0, 1, 2, 1, 1},
        JOINED(8, .slice_axis = 2, .join = LOB_JOIN_EQUAL, .fill_holes = true),
        {1, 1, 2, 1, 1, 2, 1, 2, 2}),
    ROW("values are kept, of the components that are", 6, 1, 1, LOB_I32, {9, 9, 70000, 9, 0, 4},
        JOINED(26, .slice_axis = -1, .join = LOB_JOIN_EQUAL, .keep_values = true, .largest = 2),
        {9, 9, 70000, 0, 0, 0}),
};

TEST(small_rows)
{
    for (size_t r = 0; r < COUNT(small); r++) {
        double store[MAX];
        const lob_dims dims = {small[r].width, small[r].height, small[r].depth};
        lob_volume image = volume_of(store, small[r].type, dims, NULL);
        const int64_t n = lob_voxels(&image);
        for (int64_t i = 0; i < n; i++) put_number(&image, i, small[r].in[i]);
        const lob_components_input in = {.image = &image};
        lob_components_output got, naive;
        lob_error error = {.text = ""};
        const lob_status st = lob_components_cpu(&got, &in, &small[r].options, THREADS(2), &error);
        if (st != LOB_OK) fail_msg("%s: %s", small[r].what, error.text);
        assert_ok(components_reference(&naive, &in, &small[r].options));
        for (int64_t i = 0; i < n; i++) {
            if (lob_label_at(got.labels, got.type, i) != small[r].want[i])
                fail_msg("%s: voxel %lld is %d", small[r].what, (long long)i,
                         lob_label_at(got.labels, got.type, i));
            if (lob_label_at(naive.labels, naive.type, i) != small[r].want[i])
                fail_msg("%s: the reference differs at voxel %lld", small[r].what, (long long)i);
        }
        lob_components_output_free(&naive);
        lob_components_output_free(&got);
    }
}

/* Differences that doubles cannot tell apart, and a chain at the top of the range. */
TEST(large_integers_are_exact)
{
    uint64_t values[4] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 1, 1};
    const lob_volume image = volume_of(values, LOB_U64, (lob_dims){4, 1, 1}, NULL);
    const lob_components_input in = {.image = &image};
    lob_components_options options = lob_components_defaults();
    lob_components_output got;
    options.join = LOB_JOIN_EQUAL;
    assert_ok(lob_components_cpu(&got, &in, &options, THREADS(1), NULL));
    assert_int_equal(got.count, 3);
    lob_components_output_free(&got);
    options.join = LOB_JOIN_TOLERANCE;
    for (int tolerance = 0; tolerance < 2; tolerance++) {
        options.tolerance = tolerance;
        assert_ok(lob_components_cpu(&got, &in, &options, THREADS(1), NULL));
        assert_int_equal(got.count, 3 - tolerance);
        lob_components_output_free(&got);
    }
}

/* As many components as fit a type, and one more. */
TEST(the_type_follows_the_count)
{
    static const struct {
        int64_t components;
        lob_type asked, want;
        lob_status status;
    } rows[] = {
        {255,   LOB_TYPES, LOB_U8,  LOB_OK   },
        {256,   LOB_TYPES, LOB_I16, LOB_OK   },
        {32767, LOB_TYPES, LOB_I16, LOB_OK   },
        {32768, LOB_TYPES, LOB_I32, LOB_OK   },
        {255,   LOB_I32,   LOB_I32, LOB_OK   },
        {256,   LOB_U8,    LOB_U8,  LOB_EDATA},
        {32768, LOB_I16,   LOB_I16, LOB_EDATA},
    };
    for (size_t r = 0; r < COUNT(rows); r++) {
        lob_volume image = zeros(LOB_U8, (lob_dims){2, rows[r].components, 1}, 1);
        for (int64_t i = 0; i < rows[r].components; i++) ((uint8_t *)image.data)[2 * i + i % 2] = 1;
        const lob_components_input in = {.image = &image};
        lob_components_options options = lob_components_defaults();
        options.neighbours = 6;
        options.type = rows[r].asked;
        lob_components_output got;
        lob_error error = {.text = ""};
        assert_int_equal(lob_components_cpu(&got, &in, &options, THREADS(3), &error),
                         rows[r].status);
        if (rows[r].status == LOB_OK) {
            assert_int_equal(got.count, rows[r].components);
            assert_int_equal(got.type, rows[r].want);
        } else {
            assert_non_null(strstr(error.text, lob_type_of(rows[r].asked)->name));
            assert_null(got.labels);
        }
        lob_components_output_free(&got);
        lob_volume_free(&image);
    }
}

/* Index of the voxel where a voxel of the case goes: axes in another order, some of them flipped.
 */
typedef struct {
    int order[3]; /* the new volume's x, y, z are these axes of the old one */
    bool flip[3]; /* of the new one */
} axis_map;

static lob_dims mapped_dims(lob_dims d, const axis_map *t)
{
    return (lob_dims){lob_side(d, t->order[0]), lob_side(d, t->order[1]), lob_side(d, t->order[2])};
}

static int64_t mapped_index(lob_dims d, const axis_map *t, int64_t i)
{
    const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / d.nx / d.ny};
    int64_t to[3];
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(d, t->order[a]);
        to[a] = t->flip[a] ? side - 1 - at[t->order[a]] : at[t->order[a]];
    }
    return to[0] + lob_side(d, t->order[0]) * (to[1] + lob_side(d, t->order[1]) * to[2]);
}

static lob_components_output components_of(const lob_components_input *in,
                                           const lob_components_options *options)
{
    lob_components_output result;
    assert_ok(lob_components_cpu(&result, in, options, THREADS(3), NULL));
    return result;
}

/* Options of a case that say nothing about order or sizes. */
static lob_components_options plain(const components_case *c)
{
    lob_components_options o = lob_components_defaults();
    o.join = c->options.join;
    o.tolerance = c->options.tolerance;
    o.ranged = c->options.ranged;
    memcpy(o.range, c->options.range, sizeof o.range);
    o.neighbours = c->options.neighbours;
    o.slice_axis = c->options.slice_axis;
    o.type = LOB_I32;
    return o;
}

/* Fail unless voxels that have one label in `fine` have one in `coarse` at the places given. */
static void assert_refines(const char *what, const components_case *c, const int32_t *fine,
                           int64_t fine_count, const int32_t *coarse, const axis_map *t)
{
    int32_t *seen = calloc((size_t)fine_count + 1, sizeof *seen);
    for (int64_t i = 0; i < c->n; i++) {
        const int32_t to = coarse[t ? mapped_index(c->image.dims, t, i) : i];
        if (!seen[fine[i]]) seen[fine[i]] = to;
        if (seen[fine[i]] != to || (fine[i] == 0) != (to == 0))
            fail_msg("%s: %s: voxel %lld", c->shape, what, (long long)i);
    }
    free(seen);
}

TEST(turned_volumes_have_the_same_parts)
{
    static const axis_map axis_maps[] = {
        {{0, 1, 2}, {true, false, false} },
        {{0, 1, 2}, {false, true, true}  },
        {{2, 1, 0}, {false, false, false}},
        {{1, 2, 0}, {true, false, true}  },
        {{0, 2, 1}, {false, false, true} },
    };
    for (uint64_t number = 20000; number < 20000 + CASES(200); number++) {
        components_case c;
        components_case_make(&c, number, 6000);
        if (c.image.channels > 1) {
            components_case_free(&c);
            continue;
        }
        const axis_map *t = &axis_maps[number % COUNT(axis_maps)];
        lob_components_options options = plain(&c), turned_options = plain(&c);
        for (int a = 0; a < 3; a++)
            if (options.slice_axis == t->order[a]) turned_options.slice_axis = a;
        lob_volume turned;
        assert_ok(lob_volume_like(&turned, &c.image, c.image.type, 1));
        turned.dims = mapped_dims(c.image.dims, t);
        turned.slope = c.image.slope;
        turned.inter = c.image.inter;
        uint8_t *mask = c.mask ? malloc((size_t)c.n) : NULL;
        const size_t bytes = lob_type_of(c.image.type)->bytes;
        for (int64_t i = 0; i < c.n; i++) {
            const int64_t to = mapped_index(c.image.dims, t, i);
            memcpy((char *)turned.data + (size_t)to * bytes,
                   (const char *)c.image.data + (size_t)i * bytes, bytes);
            if (mask) mask[to] = c.mask[i];
        }
        const lob_components_input in = {.image = &c.image, .mask = c.mask};
        const lob_components_input turned_in = {.image = &turned, .mask = mask};
        lob_components_output a = components_of(&in, &options);
        lob_components_output b = components_of(&turned_in, &turned_options);
        assert_int_equal(a.count, b.count);
        assert_int_equal(a.foreground, b.foreground);
        assert_refines("turned", &c, a.labels, a.count, b.labels, t);
        lob_components_output_free(&a);
        lob_components_output_free(&b);
        lob_volume_free(&turned);
        free(mask);
        components_case_free(&c);
    }
}

TEST(more_neighbours_join_more)
{
    static const int solid[] = {6, 18, 26};
    for (uint64_t number = 30000; number < 30000 + CASES(150); number++) {
        components_case c;
        components_case_make(&c, number, 6000);
        lob_components_options options = plain(&c);
        options.slice_axis = -1;
        options.regions = true;
        const lob_components_input in = {.image = &c.image, .mask = c.mask};
        lob_components_output r[3];
        for (int k = 0; k < 3; k++) {
            options.neighbours = solid[k];
            r[k] = components_of(&in, &options);
            int64_t voxels = 0;
            for (int64_t i = 0; i < r[k].count; i++) voxels += r[k].regions[i].voxels;
            assert_int_equal(voxels, r[k].foreground);
            if (k > 0)
                assert_refines("fewer neighbours", &c, r[k - 1].labels, r[k - 1].count, r[k].labels,
                               NULL);
        }
        for (int k = 0; k < 3; k++) lob_components_output_free(&r[k]);
        components_case_free(&c);
    }
}
