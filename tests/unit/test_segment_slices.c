/* Which slices are suggested for further strokes: what a person would expect of made structures. */
#include "kernels/segment/segment_slices.h"
#include "tests/unit/alloc_fail.h"
#include "tests/unit/cmocka_test.h"

enum { WIDE = 9, SIDE = 21 };

/* A structure of label 1 in label 2, with strokes on some slices across an axis. */
typedef struct {
    lob_dims dims;
    uint8_t labels[WIDE * WIDE * SIDE], seeds[WIDE * WIDE * SIDE], unsure[WIDE * WIDE * SIDE];
    lob_volume label_volume;
    lob_strokes strokes;
    int axis;
} scene;

/* Where pixel u, v of a slice lies. */
static int64_t place(const scene *s, int64_t slice, int64_t u, int64_t v)
{
    const int64_t x = s->axis == 0 ? slice : u;
    const int64_t y = s->axis == 0 ? u : s->axis == 1 ? slice : v;
    const int64_t z = s->axis == 2 ? slice : v;
    return (z * s->dims.ny + y) * s->dims.nx + x;
}

/* A column, 5 pixels wide, through slices first to last. */
static void make(scene *s, int axis, int64_t first, int64_t last)
{
    memset(s, 0, sizeof *s);
    s->axis = axis;
    s->dims = (lob_dims){axis == 0 ? SIDE : WIDE, axis == 1 ? SIDE : WIDE, axis == 2 ? SIDE : WIDE};
    memset(s->labels, 2, sizeof s->labels);
    for (int64_t slice = first; slice <= last; slice++)
        for (int64_t v = 2; v < 7; v++)
            for (int64_t u = 2; u < 7; u++) s->labels[place(s, slice, u, v)] = 1;
    s->label_volume = lob_volume_empty();
    s->label_volume.dims = s->dims;
    s->label_volume.type = LOB_U8;
    s->label_volume.data = s->labels;
}

static void draw(scene *s, int64_t slice)
{
    s->seeds[place(s, slice, 4, 4)] = 1;
    s->seeds[place(s, slice, 0, 0)] = 2;
}

/* Suggest n slices; returns how many there are. */
static int suggest(scene *s, int64_t *slices, int n)
{
    lob_segment_slice found[SIDE];
    int count = -1;
    assert_ok(lob_strokes_count(&s->strokes, s->seeds, LOB_U8, s->dims, 2, NULL, 1, NULL));
    assert_ok(lob_segment_suggest(found, &count, n, &s->label_volume, 2, &s->strokes, s->unsure,
                                  s->axis, 2));
    lob_strokes_free(&s->strokes);
    for (int i = 0; i < count; i++) slices[i] = found[i].slice;
    return count;
}

TEST(middle_of_the_wider_gap_first)
{
    for (int axis = 0; axis < 3; axis++) {
        static scene s;
        int64_t slices[4];
        make(&s, axis, 0, SIDE - 1);
        draw(&s, 0);
        draw(&s, 6);
        draw(&s, 20);
        assert_int_equal(suggest(&s, slices, 4), 4);
        assert_int_equal(slices[0], 13);
        /* Gaps of 6 and 7, 7 slices wide: of two middles, and of equal gaps, the first. */
        assert_int_equal(slices[1], 9);
        assert_int_equal(slices[2], 16);
        assert_int_equal(slices[3], 3);
    }
}

TEST(an_even_spread_where_all_is_alike)
{
    static scene s;
    int64_t slices[3];
    make(&s, 2, 0, SIDE - 1);
    draw(&s, 0);
    draw(&s, 20);
    assert_int_equal(suggest(&s, slices, 3), 3);
    assert_int_equal(slices[0], 10);
    assert_int_equal(slices[1], 5);
    assert_int_equal(slices[2], 15);
}

TEST(beyond_the_last_strokes_before_as_wide_a_gap)
{
    static scene s;
    int64_t slices[2];
    make(&s, 2, 0, SIDE - 1);
    draw(&s, 10);
    draw(&s, 20);
    assert_int_equal(suggest(&s, slices, 2), 2);
    assert_true(slices[0] < 5); /* nearer to the end than to the strokes */
    assert_int_equal(slices[1], 15);
}

TEST(doubt_counts)
{
    static scene s;
    int64_t slices[2];
    make(&s, 2, 0, SIDE - 1);
    draw(&s, 0);
    draw(&s, 10);
    draw(&s, 20);
    assert_int_equal(suggest(&s, slices, 2), 2);
    assert_int_equal(slices[0], 5);
    s.unsure[place(&s, 15, 3, 3)] = 1;
    assert_int_equal(suggest(&s, slices, 2), 2);
    assert_int_equal(slices[0], 15);
    assert_int_equal(slices[1], 5);
}

TEST(only_slices_with_labels_and_without_strokes)
{
    static scene s;
    int64_t slices[SIDE];
    bool seen[SIDE] = {false};
    make(&s, 1, 4, 12);
    draw(&s, 6);
    draw(&s, 10);
    assert_int_equal(suggest(&s, slices, SIDE), 7);
    for (int i = 0; i < 7; i++) {
        assert_true(slices[i] >= 4 && slices[i] <= 12 && slices[i] != 6 && slices[i] != 10);
        assert_false(seen[slices[i]]);
        seen[slices[i]] = true;
    }
    for (int64_t slice = 4; slice <= 12; slice++) draw(&s, slice);
    assert_int_equal(suggest(&s, slices, SIDE), 0);
}

static lob_status look_once(void *user)
{
    lob_segment_slice found[SIDE];
    scene *const s = user;
    int count = -1;
    const lob_status st = lob_segment_suggest(found, &count, 3, &s->label_volume, 2, &s->strokes,
                                              s->unsure, s->axis, 1);
    assert_int_equal(count, st == LOB_OK ? 3 : 0);
    return st;
}

TEST(out_of_memory)
{
    static scene s;
    make(&s, 2, 0, SIDE - 1);
    draw(&s, 5);
    draw(&s, 15);
    assert_ok(lob_strokes_count(&s.strokes, s.seeds, LOB_U8, s.dims, 2, NULL, 1, NULL));
    assert_int_equal(alloc_fail_sweep("suggesting", look_once, &s), 2);
    lob_strokes_free(&s.strokes);
}
