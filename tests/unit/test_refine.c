/* Refining: small cases by hand, threads, and what it refuses. */
#include "kernels/filters/gaussian/gaussian.h"
#include "kernels/refine/refine_job.h"
#include "tests/reference/appearance_case.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/labels.h"

#include <math.h>

static const lob_context two_threads = {.threads = 2};

static lob_status run(void *out, lob_refine_stats *stats, const appearance_case *c, int threads,
                      int64_t memory, lob_error *error)
{
    const lob_context context = {.threads = threads, .max_memory = memory};
    return lob_refine_cpu(out, stats, &c->refine_in, &c->refine, &context, error);
}

TEST(threads_and_room_give_the_same)
{
    for (uint64_t number = 0; number < 30; number++) {
        appearance_case c;
        lob_refine_stats a, b;
        lob_error error = {.text = ""};
        appearance_case_make(&c, number, 8000);
        int32_t *one = calloc((size_t)c.n, sizeof *one), *many = calloc((size_t)c.n, sizeof *many);
        assert_non_null(one);
        assert_non_null(many);
        assert_int_equal(run(one, &a, &c, 1, 0, &error), LOB_OK);
        /* Room for none of the arrays, for some, or for all; it is not left. */
        enum { BEHIND = 64 };
        const int64_t room = c.n * (int64_t)(number % 25);
        uint8_t *const lent = malloc((size_t)room + BEHIND);
        assert_non_null(lent);
        memset(lent, 0xa5, (size_t)room + BEHIND);
        c.refine_in.room = lent;
        c.refine_in.room_bytes = room;
        assert_int_equal(run(many, &b, &c, 3, 0, &error), LOB_OK);
        for (int i = 0; i < BEHIND; i++) assert_int_equal(lent[room + i], 0xa5);
        free(lent);
        if (memcmp(one, many, (size_t)c.n * sizeof *one) != 0 || a.pieces != b.pieces ||
            a.filled != b.filled || a.changed != b.changed)
            fail_msg("%s: threads differ", c.shape);
        for (int64_t i = 0; i < c.n; i++) {
            const int32_t seed = lob_label_at(c.seeds, c.in.seed_type, i);
            const int32_t got = lob_label_at(one, lob_label_type(c.in.labels), i);
            if (got < 1 || got > c.in.labels || (seed && got != seed))
                fail_msg("%s: voxel %lld is %d, its seed %d", c.shape, (long long)i, got, seed);
        }
        free(one);
        free(many);
        appearance_case_free(&c);
    }
}

/* ---- a part of the volume, against the whole ---- */

enum { MOST_VOXELS = 40 * 40 * 40 };

typedef struct {
    float image[2 * MOST_VOXELS];
    uint8_t labels[MOST_VOXELS], seeds[MOST_VOXELS];
    lob_volume volume;
    lob_refine_input in;
    lob_refine_options options;
} small_part;

/* Labels and strokes in a box of at most 9 voxels a side, strokes of background everywhere. */
static void small_part_make(small_part *p, uint64_t number)
{
    uint64_t state = number * 6271 + 11;
    int64_t side[3], first[3], size[3];
    double spacing[3];
    for (int a = 0; a < 3; a++) {
        side[a] = a == 2 && random_chance(&state, 20) ? 1 : 14 + random_below(&state, 27);
        size[a] = 1 + random_below(&state, side[a] < 9 ? side[a] : 9);
        first[a] = random_below(&state, side[a] - size[a] + 1);
        spacing[a] = 0.5 + random_double(&state);
    }
    p->volume = lob_volume_empty();
    p->volume.data = p->image;
    p->volume.type = LOB_F32;
    p->volume.channels = 1 + (int)random_below(&state, 2);
    p->volume.dims = (lob_dims){side[0], side[1], side[2]};
    p->volume.geometry = lob_geometry_of_spacing(spacing);
    const int64_t n = lob_voxels(&p->volume);
    const int32_t count = 2 + (int32_t)random_below(&state, 3);
    const int32_t background = 1 + (int32_t)random_below(&state, count);
    const int gaps = random_chance(&state, 50) ? 0 : 1; /* percent */
    for (int64_t i = 0; i < n * p->volume.channels; i++)
        p->image[i] = random_chance(&state, gaps) ? NAN : (float)random_double(&state);
    if (gaps > 0) p->image[random_below(&state, n)] = NAN;
    for (int64_t i = 0; i < n; i++) {
        const int64_t at[3] = {i % side[0], i / side[0] % side[1], i / side[0] / side[1]};
        bool inside = true;
        for (int a = 0; a < 3; a++)
            inside = inside && at[a] >= first[a] && at[a] < first[a] + size[a];
        const bool again = inside && i > 0 && random_chance(&state, 70);
        const int32_t any = (int32_t)random_below(&state, count + 1);
        p->labels[i] = inside ? again ? p->labels[i - 1] : (uint8_t)any : 0;
        p->seeds[i] = 0;
        if (random_chance(&state, 2)) p->seeds[i] = (uint8_t)(inside ? any : background);
        if (p->seeds[i]) p->labels[i] = p->seeds[i];
    }
    p->in = (lob_refine_input){&p->volume, p->labels, LOB_U8, p->seeds, LOB_U8, count, background};
    p->options.smooth_mm = random_chance(&state, 30) ? 0 : 6 * random_double(&state);
    p->options.edge = random_chance(&state, 40) ? 0 : random_chance(&state, 60) ? 1 : 0.7;
    p->options.edge_mm = 0.3 + 1.7 * random_double(&state);
    p->options.edge_smooth_mm = (random_chance(&state, 40) ? 8 : 1) * random_double(&state);
    if (random_chance(&state, 30)) p->options.edge_smooth_mm = 0;
    p->options.keep = number % 2;
    p->options.fade = number % 3 == 0;
    p->options.fade_axis = (int)(number / 3 % 3);
}

/* Boxes of all labels, or of one, that are the whole volume. */
static lob_status find_no_boxes(lob_refine_job *j, int32_t labels)
{
    for (int32_t k = 0; k == 0 || k < labels; k++) j->boxes[k] = lob_box_whole(j->image.dims);
    return LOB_OK;
}

/* Does a part give the same bytes? Not where a Gaussian goes by a coarser grid, which lies
 * otherwise in a part, or by values of which one beside the part may be no number. */
static bool shows_nothing(const small_part *p)
{
    const lob_refine_options *const o = &p->options;
    const double most_mm = fmax(o->smooth_mm, fmax(o->edge_mm, o->edge_smooth_mm));
    bool same = true;
    for (int a = 0; a < 3; a++)
        same = same && most_mm / p->volume.geometry.spacing_mm[a] < LOB_GAUSSIAN_COARSE;
    for (int64_t i = 0; o->edge > 0 && i < lob_voxels(&p->volume) * p->volume.channels; i++)
        same = same && isfinite(p->image[i]);
    return same;
}

/* Refine the whole volume, or the part of it that lob_refine_cpu takes; false: it takes the whole.
 */
static bool refine(uint8_t *out, lob_refine_stats *stats, const lob_refine_input *in,
                   const lob_refine_options *options, bool whole)
{
    const lob_context context = {.threads = 2};
    lob_error error = {.text = ""};
    lob_refine_operations operations = lob_refine_on_cpu;
    lob_refine_job j = {.operations = &operations,
                        .in = in,
                        .options = options,
                        .context = &context,
                        .error = &error};
    if (whole) operations.find_boxes = find_no_boxes;
    assert_ok(lob_refine_run(&j, out, stats));
    return j.in_part;
}

TEST(a_part_gives_the_same_as_the_whole)
{
    static small_part p;
    static uint8_t want[MOST_VOXELS], got[MOST_VOXELS];
    uint64_t parts = 0, wholes = 0, changed = 0;
    for (uint64_t number = 0; number < CASES(40); number++) {
        lob_refine_stats whole, stats;
        small_part_make(&p, number);
        wholes += !refine(want, &whole, &p.in, &p.options, shows_nothing(&p));
        parts += refine(got, &stats, &p.in, &p.options, false);
        if (memcmp(want, got, (size_t)lob_voxels(&p.volume)) != 0 || whole.pieces != stats.pieces ||
            whole.filled != stats.filled)
            fail_msg("case %d: the part differs", (int)number);
        changed += stats.changed > 0;
    }
    assert_true(parts > CASES(24) && wholes > CASES(12) && changed > CASES(24));
}

/* ---- by hand: 2D pictures of one digit a voxel ---- */

enum { NX = 9, NY = 7, N = NX * NY };

static void read_picture(uint8_t *to, const char *rows)
{
    for (int i = 0; i < N; i++) to[i] = (uint8_t)(rows[i] == '.' ? 0 : rows[i] - '0');
}

/* Refine without an image; label 2 is the background. */
static void tidied(const char *what, const char *labels, const char *seeds, const char *want,
                   int32_t count)
{
    uint8_t a[N], s[N], w[N], got[N];
    lob_refine_stats stats;
    lob_error error = {.text = ""};
    lob_volume image = lob_volume_empty();
    const double spacing[3] = {1, 1, 1};
    read_picture(a, labels);
    read_picture(s, seeds);
    read_picture(w, want);
    image.data = a;
    image.type = LOB_U8;
    image.dims = (lob_dims){NX, NY, 1};
    image.geometry = lob_geometry_of_spacing(spacing);
    const lob_refine_input in = {&image, a, LOB_U8, s, LOB_U8, count, 2};
    const lob_refine_options options = {.edge_mm = 1};
    assert_int_equal(lob_refine_cpu(got, &stats, &in, &options, &two_threads, &error), LOB_OK);
    for (int i = 0; i < N; i++)
        if (got[i] != w[i])
            fail_msg("%s: voxel %d,%d is %d, not %d", what, i % NX, i / NX, got[i], w[i]);
}

TEST(keeps_pieces_with_strokes)
{
    tidied("the piece on the right holds no stroke of its label",
           "222222222"
           "211222122"
           "211222122"
           "222222222"
           "222222222"
           "222222222"
           "222222222",
           "........."
           ".1......."
           "........."
           "........."
           "........2"
           "........."
           ".........",
           "222222222"
           "211222222"
           "211222222"
           "222222222"
           "222222222"
           "222222222"
           "222222222",
           2);
}

TEST(fills_holes_without_background)
{
    tidied(
        "the left hole is filled, the right one was drawn; a voxel without a label is background",
        "022222222"
        "111111111"
        "121112221"
        "111112221"
        "111111111"
        "222222222"
        "222222222",
        "........."
        "1........"
        "........."
        "......2.."
        "........."
        "........."
        "2........",
        "222222222"
        "111111111"
        "111112221"
        "111112221"
        "111111111"
        "222222222"
        "222222222",
        2);
}

TEST(keeps_labels_in_holes)
{
    tidied("a label in the hole of another stays, the background around it goes",
           "222222222"
           "211111112"
           "212223212"
           "212222212"
           "211111112"
           "222222222"
           "222222222",
           "........."
           ".1......."
           ".....3..."
           "........."
           "........."
           "........."
           "2........",
           "222222222"
           "211111112"
           "211113112"
           "211111112"
           "211111112"
           "222222222"
           "222222222",
           3);
}

/* A step of the image, two voxels beside that of the labels. */
TEST(moves_borders_to_edges)
{
    enum { SIDE = 24, ALL = SIDE * SIDE * SIDE };
    static float value[ALL];
    static uint8_t labels[ALL], seeds[ALL], got[ALL];
    lob_volume image = lob_volume_empty();
    const double spacing[3] = {1, 1, 1};
    lob_refine_stats stats;
    lob_error error = {.text = ""};
    image.data = value;
    image.type = LOB_F32;
    image.dims = (lob_dims){SIDE, SIDE, SIDE};
    image.geometry = lob_geometry_of_spacing(spacing);
    for (int i = 0; i < ALL; i++) {
        value[i] = i % SIDE < 12 ? 100 : 20;
        labels[i] = i % SIDE < 11 ? 1 : 2;
        seeds[i] = 0;
    }
    seeds[0] = 1;
    seeds[ALL - 1] = 2;
    const lob_refine_input in = {&image, labels, LOB_U8, seeds, LOB_U8, 2, 2};
    lob_refine_options options = lob_refine_defaults(image.dims, spacing);
    options.edge_mm = 1.5;
    assert_int_equal(lob_refine_cpu(got, &stats, &in, &options, &two_threads, &error), LOB_OK);
    for (int i = 0; i < ALL; i++)
        if (got[i] != (i % SIDE < 12 ? 1 : 2)) fail_msg("voxel x = %d is %d", i % SIDE, got[i]);
    assert_int_equal(stats.changed, SIDE * SIDE);
    value[5] = NAN; /* says nothing */
    assert_int_equal(lob_refine_cpu(got, &stats, &in, &options, &two_threads, &error), LOB_OK);
    assert_int_equal(stats.changed, SIDE * SIDE);
}

/* How much of the voxel at x, y, z a ball holds, by 8^3 points in it. */
static float share_of_ball(int64_t x, int64_t y, int64_t z, double center, double radius)
{
    enum { POINTS = 8 };
    int inside = 0;
    for (int i = 0; i < POINTS * POINTS * POINTS; i++) {
        const double u = (double)x - center + (i % POINTS + 0.5) / POINTS;
        const double v = (double)y - center + (i / POINTS % POINTS + 0.5) / POINTS;
        const double w = (double)z - center + (i / POINTS / POINTS + 0.5) / POINTS;
        inside += u * u + v * v + w * w < radius * radius;
    }
    return (float)inside / (POINTS * POINTS * POINTS);
}

/* Balls of few voxels, whose borders bulge much: by votes above 1/2 the smallest would lose a
 * quarter. */
TEST(small_balls_keep_their_volume)
{
    enum { SIDE = 24, ALL = SIDE * SIDE * SIDE };
    static float value[ALL];
    static uint8_t labels[ALL], seeds[ALL], got[ALL];
    const double spacing[3] = {1, 1, 1}, center = 12.3;
    lob_volume image = lob_volume_empty();
    image.data = value;
    image.type = LOB_F32;
    image.dims = (lob_dims){SIDE, SIDE, SIDE};
    image.geometry = lob_geometry_of_spacing(spacing);
    for (int sides = 5; sides < 10; sides++) {
        const double radius = sides / 2.0;
        lob_refine_stats stats;
        lob_error error = {.text = ""};
        double volume = 0, taken = 0;
        for (int64_t i = 0; i < ALL; i++) {
            const float share =
                share_of_ball(i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE, center, radius);
            volume += share;
            value[i] = 100 * share;
            labels[i] = share > 0.5F ? 1 : 2;
            seeds[i] = share == 1 ? 1 : 0;
        }
        seeds[0] = 2;
        const lob_refine_input in = {&image, labels, LOB_U8, seeds, LOB_U8, 2, 2};
        lob_refine_options options = lob_refine_defaults(image.dims, spacing);
        options.smooth_mm = 0;
        options.keep = true;
        assert_int_equal(lob_refine_cpu(got, &stats, &in, &options, &two_threads, &error), LOB_OK);
        for (int i = 0; i < ALL; i++) taken += got[i] == 1;
        if (fabs(taken / volume - 1) > 0.03)
            fail_msg("radius %g: %g voxels, not %g", radius, taken, volume);
    }
}

/* A column that is drawn on slices 5 and 8 and bright on slices 3 to 10; beyond it goes on as if it
 * were. A label ends one slice after that, but for what was drawn, across each axis. */
TEST(labels_end_where_they_fade)
{
    enum { SIDE = 16, ALL = SIDE * SIDE * SIDE };
    static float value[ALL];
    static uint8_t labels[ALL], seeds[ALL], got[ALL];
    static const struct {
        const char *what;
        float outside; /* brightness of the column on slices 3 to 10 is 100 */
        int drawn;     /* another slice with a stroke; 0: none */
        int first, last;
    } cases[] = {
        {"a slice on each side is kept",        20,  0,  2, 11},
        {"a dark label fades alike",            180, 0,  2, 11},
        {"it ends beyond strokes alone",        20,  13, 2, 14},
        {"where nothing is seen nothing fades", 100, 0,  0, 15},
    };
    const double spacing[3] = {1, 1, 1};
    const int step[3] = {1, SIDE, SIDE * SIDE};
    lob_volume image = lob_volume_empty();
    image.data = value;
    image.type = LOB_F32;
    image.dims = (lob_dims){SIDE, SIDE, SIDE};
    image.geometry = lob_geometry_of_spacing(spacing);
    for (size_t n = 0; n < 3 * sizeof cases / sizeof *cases; n++) {
        const int axis = (int)(n % 3), u = (axis + 1) % 3, v = (axis + 2) % 3;
        lob_refine_stats stats;
        lob_error error = {.text = ""};
        for (int i = 0; i < ALL; i++) {
            const int k = i / step[axis] % SIDE, x = i / step[u] % SIDE, y = i / step[v] % SIDE;
            const bool column = x > 4 && x < 11 && y > 4 && y < 11;
            const bool drawn = k == 5 || k == 8 || (k > 0 && k == cases[n / 3].drawn);
            labels[i] = column ? 1 : 2;
            value[i] = column && k > 2 && k < 11 ? 100 : cases[n / 3].outside;
            seeds[i] = !drawn || y != 7 ? 0 : x == 7 ? 1 : x == 2 ? 2 : 0;
        }
        const lob_refine_input in = {&image, labels, LOB_U8, seeds, LOB_U8, 2, 2};
        lob_refine_options options = lob_refine_defaults(image.dims, spacing);
        options.smooth_mm = 0;
        options.edge = 1e-3; /* the image moves no border */
        options.edge_smooth_mm = 0;
        options.fade = true;
        options.fade_axis = axis;
        assert_int_equal(lob_refine_cpu(got, &stats, &in, &options, &two_threads, &error), LOB_OK);
        for (int i = 0; i < ALL; i++) {
            const int k = i / step[axis] % SIDE;
            const bool inside = k >= cases[n / 3].first && k <= cases[n / 3].last;
            if (got[i] != (inside ? labels[i] : 2))
                fail_msg("%s: axis %d, slice %d is %d", cases[n / 3].what, axis, k, got[i]);
        }
    }
}

/* Means of both sides that are farther apart than floats reach say nothing for the label. */
TEST(what_overflows_is_no_vote)
{
    const float value = -3e38F, mean = 0, around[2] = {0.5F, -1.5e38F};
    const uint8_t label = 1;
    float vote;
    const lob_refine_arrays a = {
        .labels = (void *)&label,
        .type = LOB_U8,
        .label = 1,
        .parts = &vote,
        .value = &value,
        .mean = &mean,
        .around = {&around[0], &around[1]},
        .channels = 1,
        .edge = 1,
        .voxels = 1,
    };
    assert_int_equal(lob_refine_at_vote(&a, 0), 0);
    assert_true(vote == 0);
}

/* ---- settling by shares ---- */

enum { CUBE = 24, CUBE_ALL = CUBE * CUBE * CUBE };

/* A cube whose labels 1, 2, which is the background, and 3 lie side by side along x. */
typedef struct {
    uint8_t labels[CUBE_ALL], others[CUBE_ALL], seeds[CUBE_ALL], shares[2 * CUBE_ALL];
    uint8_t absent[CUBE * 4], got[CUBE_ALL];
    lob_volume image;
    lob_refine_input in;
    lob_refine_options options;
} cube;

static int x_of(int i)
{
    return i % CUBE;
}

/* Label 1 where x < border, else the background; shares 0.5 for both; a stroke of each label. */
static void cube_make(cube *c, int border)
{
    const double spacing[3] = {1, 1, 1};
    memset(c, 0, sizeof *c);
    c->image = lob_volume_empty();
    c->image.data = c->labels;
    c->image.type = LOB_U8;
    c->image.dims = (lob_dims){CUBE, CUBE, CUBE};
    c->image.geometry = lob_geometry_of_spacing(spacing);
    for (int i = 0; i < CUBE_ALL; i++) {
        c->labels[i] = x_of(i) < border ? 1 : 2;
        c->shares[i] = 127;
    }
    c->seeds[0] = 1;
    c->seeds[CUBE_ALL - 1] = 2;
    c->in = (lob_refine_input){&c->image, c->labels, LOB_U8, c->seeds, LOB_U8, 3, 2};
    c->in.shares = c->shares;
    c->options = lob_refine_defaults(c->image.dims, spacing);
    c->options.edge = 0;
}

static void settle(cube *c)
{
    lob_refine_stats stats;
    assert_ok(lob_refine_cpu(c->got, &stats, &c->in, &c->options, &two_threads, NULL));
}

/* Label 1 where x < border, else 2 or, from `third` on, 3. */
static void check_cube(const cube *c, const char *what, int border, int third)
{
    for (int i = 0; i < CUBE_ALL; i++) {
        const int want = x_of(i) < border ? 1 : x_of(i) < third ? 2 : 3;
        if (c->got[i] != want) fail_msg("%s: x = %d is %d, not %d", what, x_of(i), c->got[i], want);
    }
}

TEST(settles_where_shares_say)
{
    static cube c;
    cube_make(&c, 11);
    settle(&c);
    check_cube(&c, "shares that say nothing leave the border", 11, CUBE);
    for (int i = 0; i < CUBE_ALL; i++) c.shares[i] = x_of(i) < 13 ? 255 : 0;
    settle(&c);
    check_cube(&c, "shares move the border", 13, CUBE);
    c.options.settle = 0.01;
    settle(&c);
    check_cube(&c, "unless they weigh next to nothing", 11, CUBE);
    c.options.settle = 0;
    c.options.settle_rounds = 1;
    settle(&c);
    check_cube(&c, "or nothing", 11, CUBE);
}

/* ---- walls ---- */

/* A column of a radius along z, label 1, with a wall of label 3 that is 4 voxels wide, 8 where
 * x > y; a stroke runs around in its middle, 2 voxels from the column. */
static void walled_make(cube *c, double radius)
{
    static const int32_t pair[2] = {3, 1};
    cube_make(c, 0);
    c->in.shares = NULL;
    c->options.smooth_mm = 0;
    memset(c->seeds, 0, sizeof c->seeds);
    for (int i = 0; i < CUBE_ALL; i++) {
        const int x = x_of(i), y = i / CUBE % CUBE;
        const double r = hypot(x - 11, y - 11) - radius;
        c->labels[i] = r < 0 ? 1 : r < (x > y ? 8 : 4) ? 3 : 2;
        if (r >= 1 && r < 2) c->seeds[i] = 3;
    }
    c->seeds[11 * CUBE + 11] = 1;
    c->seeds[0] = 2;
    c->in.walls = pair;
    c->in.wall_count = 1;
}

static int walled(cube *c)
{
    int of_wall = 0;
    settle(c);
    for (int i = 0; i < CUBE_ALL; i++) {
        if (c->got[i] != c->labels[i] && (c->labels[i] != 3 || c->got[i] != 2))
            fail_msg("voxel %d was %d and is %d", i, c->labels[i], c->got[i]);
        of_wall += c->got[i] == 3;
    }
    return of_wall;
}

static int of_wall(const cube *c)
{
    int n = 0;
    for (int i = 0; i < CUBE_ALL; i++) n += c->labels[i] == 3;
    return n;
}

TEST(a_wall_is_as_wide_as_its_strokes_say)
{
    static cube c;
    walled_make(&c, 5);
    c.in.wall_count = 0;
    assert_int_equal(walled(&c), of_wall(&c));
    c.in.wall_count = 1;
    walled(&c);
    for (int i = 0; i < CUBE_ALL; i++) {
        const double r = hypot(x_of(i) - 11, i / CUBE % CUBE - 11) - 5;
        if (c.labels[i] == 3 && r < 2 && c.got[i] != 3) fail_msg("a thin wall at %g", r);
        if (r > 5 && c.got[i] == 3) fail_msg("a thick wall at %g", r);
    }
}

/* Two columns side by side in one wall: it stays around both. */
TEST(a_wall_around_two)
{
    static const int32_t pairs[4] = {3, 1, 3, 4};
    static cube c;
    walled_make(&c, 4);
    c.in.label_count = 4;
    c.in.walls = pairs;
    c.in.wall_count = 2;
    for (int i = 0; i < CUBE_ALL; i++) {
        const int x = x_of(i), y = i / CUBE % CUBE;
        const double r = fmin(hypot(x - 6, y - 11), hypot(x - 17, y - 11)) - 4;
        c.labels[i] = r < 0 ? x < 12 ? 1 : 4 : r < 2 ? 3 : 2;
        c.seeds[i] = r >= 0.5 && r < 1.2 && x < 12 ? 3 : 0;
    }
    c.seeds[11 * CUBE + 6] = 1;
    c.seeds[11 * CUBE + 17] = 4;
    c.seeds[CUBE_ALL - 1] = 2;
    walled(&c);
    for (int i = 0; i < CUBE_ALL; i++)
        if (c.labels[i] == 3 && hypot(x_of(i) - 6, i / CUBE % CUBE - 11) < 5)
            assert_int_equal(c.got[i], 3);
}

/* A core that is nearly convex takes the notch that its wall has in it, but where it was drawn. */
TEST(a_core_is_convex)
{
    static cube c;
    walled_make(&c, 6);
    for (int i = 0; i < CUBE_ALL; i++)
        if (c.labels[i] == 1 && x_of(i) > 12 && i / CUBE % CUBE == 11) {
            c.labels[i] = 3;
            if (i / (CUBE * CUBE) == 4 && x_of(i) == 14) c.seeds[i] = 3;
        }
    settle(&c);
    for (int i = 0; i < CUBE_ALL; i++) {
        const bool in_notch = hypot(x_of(i) - 11, i / CUBE % CUBE - 11) < 6 && c.labels[i] == 3;
        if (in_notch && c.got[i] != (i / (CUBE * CUBE) == 4 ? 3 : 1))
            fail_msg("a notch at %d is %d", i, c.got[i]);
        if (c.labels[i] != 3 && c.got[i] != c.labels[i]) fail_msg("voxel %d has changed", i);
    }
}

/* How much of a ring of wall around the middle of a column along z is filled: slices across z see
 * no notch in it, others do. */
static int filled_ring(double x, double y, double z)
{
    static cube c;
    int filled = 0;
    walled_make(&c, 6);
    c.image.geometry.spacing_mm[0] = x;
    c.image.geometry.spacing_mm[1] = y;
    c.image.geometry.spacing_mm[2] = z;
    for (int i = 0; i < CUBE_ALL; i++)
        if (c.labels[i] == 1 && i / (CUBE * CUBE) == 12 &&
            hypot(x_of(i) - 11, i / CUBE % CUBE - 11) > 4)
            c.labels[i] = 3;
    settle(&c);
    for (int i = 0; i < CUBE_ALL; i++) filled += c.labels[i] == 3 && c.got[i] == 1;
    return filled;
}

TEST(slices_are_across_the_axis_of_thick_ones)
{
    assert_int_equal(filled_ring(1, 1, 1), 0);
    assert_int_equal(filled_ring(1 + 2e-8, 1, 1 + 1e-8), 0); /* as of an oblique scan */
    assert_int_equal(filled_ring(1, 1, 1.2), 0);
    assert_true(filled_ring(1.2, 1, 1) > 0);
    assert_true(filled_ring(1, 1.2, 1) > 0);
}

/* What lies between two columns of one label stays the wall's. */
TEST(a_core_that_is_far_from_convex_stays)
{
    static cube c;
    walled_make(&c, 4);
    for (int i = 0; i < CUBE_ALL; i++) {
        const int x = x_of(i), y = i / CUBE % CUBE;
        const double r = fmin(hypot(x - 5, y - 11), hypot(x - 18, y - 11)) - 4;
        c.labels[i] = r < 0 ? 1 : r < 2 || (abs(y - 11) < 3 && x > 5 && x < 18) ? 3 : 2;
        c.seeds[i] = r >= 0.5 && r < 1.2 && x < 5 ? 3 : 0;
    }
    c.seeds[11 * CUBE + 5] = c.seeds[11 * CUBE + 18] = 1;
    c.seeds[0] = 2;
    settle(&c);
    for (int i = 0; i < CUBE_ALL; i++)
        if (c.got[i] == 1) assert_int_equal(c.labels[i], 1);
}

TEST(walls_are_found_by_strokes)
{
    enum { WIDE = 15, HIGH = 5 };
    static const char *const rows[HIGH] = {
        "..4....4....4..", /**/
        "4...22222....4.", /**/
        "...2.111.2.....", /**/
        "4...22222....4.", /**/
        "..4....4....4..", /**/
    };
    uint8_t seeds[WIDE * HIGH * 2] = {0};
    lob_strokes strokes;
    int32_t walls[8];
    int count;
    for (int i = 0; i < WIDE * HIGH; i++)
        seeds[i] = rows[i / WIDE][i % WIDE] == '.' ? 0 : (uint8_t)(rows[i / WIDE][i % WIDE] - '0');
    assert_ok(
        lob_strokes_count(&strokes, seeds, LOB_U8, (lob_dims){WIDE, HIGH, 2}, 4, NULL, 1, NULL));
    assert_ok(lob_strokes_walls(walls, &count, &strokes, seeds, LOB_U8, 4, NULL));
    assert_int_equal(count, 2); /* the wall meets what is inside as often: its shape will tell */
    assert_int_equal(walls[0], 2);
    assert_int_equal(walls[1], 1);
    assert_int_equal(walls[2], 1);
    assert_int_equal(walls[3], 2);
    assert_ok(lob_strokes_walls(walls, &count, &strokes, seeds, LOB_U8, 2, NULL));
    assert_int_equal(count, 0);
    lob_strokes_free(&strokes);
}

TEST(what_is_no_wall_stays)
{
    static cube c;
    walled_make(&c, 2);
    assert_int_equal(walled(&c), of_wall(&c)); /* thicker than what is inside */
    walled_make(&c, 5);
    for (int i = 0; i < CUBE_ALL; i++)
        if (x_of(i) < 11 && c.labels[i] == 3) {
            c.labels[i] = 2;
            c.seeds[i] = 0;
        }
    assert_int_equal(walled(&c), of_wall(&c)); /* half of what is inside is bare */
    walled_make(&c, 5);
    for (int i = 0; i < CUBE_ALL; i++)
        if (x_of(i) >= 20 && i / CUBE % CUBE >= 8 && i / CUBE % CUBE < 11)
            c.seeds[i] = c.labels[i] = 3;
    assert_int_equal(walled(&c), of_wall(&c)); /* strokes say that it is uneven */
}

/* The second channel is label 3's; what both leave of 255 is the background's. */
TEST(the_background_has_the_rest_of_the_shares)
{
    static cube c;
    cube_make(&c, 8);
    c.options.settle = 5;
    c.seeds[CUBE - 1] = 3;
    for (int i = 0; i < CUBE_ALL; i++) {
        if (x_of(i) >= 16) c.labels[i] = 3;
        c.shares[i] = x_of(i) < 6 ? 250 : 2;
        c.shares[CUBE_ALL + i] = x_of(i) < 19 ? 3 : 240;
    }
    c.seeds[CUBE_ALL - 1] = 0;
    c.seeds[10] = 2;
    settle(&c);
    check_cube(&c, "three labels", 6, 19);
}

TEST(labels_that_grew_in_another_way_count_as_much)
{
    static cube c;
    cube_make(&c, 10);
    c.options.settle_rounds = 1;
    for (int i = 0; i < CUBE_ALL; i++) c.others[i] = x_of(i) < 14 ? 1 : 2;
    c.in.others = c.others;
    settle(&c);
    check_cube(&c, "half way between both", 12, CUBE);
    memset(c.others, 0, sizeof c.others);
    settle(&c);
    check_cube(&c, "where the other way gave nothing, the first counts", 10, CUBE);
}

/* But a stroke keeps its label even there. */
TEST(a_label_is_not_where_it_is_absent)
{
    static cube c;
    for (int axis = 0; axis < 3; axis++) {
        cube_make(&c, CUBE);
        for (int i = 0; i < CUBE_ALL; i++) c.shares[i] = 255;
        c.seeds[CUBE_ALL - 1] = 0;
        c.absent[0 * 4 + 1] = c.absent[7 * 4 + 1] = 1;
        c.in.absent = c.absent;
        c.in.absent_axis = axis;
        const int stride[3] = {1, CUBE, CUBE * CUBE};
        c.seeds[11 * (CUBE * CUBE + CUBE + 1)] = 1; /* for the piece beyond slice 7 */
        c.seeds[3 * (CUBE * CUBE + CUBE + 1)] = 1;  /* and the one before */
        settle(&c);
        for (int i = 0; i < CUBE_ALL; i++) {
            const int slice = i / stride[axis] % CUBE;
            const int want = (slice == 0 || slice == 7) && i != 0 ? 2 : 1;
            if (c.got[i] != want)
                fail_msg("axis %d, voxel %d: %d, not %d", axis, i, c.got[i], want);
        }
    }
}

TEST(refuses)
{
    appearance_case c;
    lob_refine_stats stats;
    appearance_case_make(&c, 3, 2000);
    const lob_refine_options good = c.refine;
    lob_refine_options bad[6] = {good, good, good, good, good, good};
    int32_t *out = calloc((size_t)c.n, sizeof *out);
    assert_non_null(out);
    bad[0].smooth_mm = -1;
    bad[1].smooth_mm = NAN;
    bad[2].edge = 2;
    bad[3].edge = 1;
    bad[3].edge_mm = 0;
    bad[4].edge_smooth_mm = 1e9;
    bad[5].fade_axis = 3;
    for (int i = 0; i < 6; i++) {
        lob_error error = {.text = ""};
        c.refine = bad[i];
        assert_int_equal(run(out, &stats, &c, 1, 0, &error), LOB_EARG);
        assert_true(error.text[0] != 0);
    }
    c.refine = good;
    for (int i = 0; i < 4; i++) {
        const int32_t wrong[4][2] = {
            {0, 1              },
            {1, c.in.labels + 1},
            {1, 1              },
            {1, c.in.background},
        };
        lob_error error = {.text = ""};
        c.refine_in.walls = wrong[i];
        c.refine_in.wall_count = 1;
        assert_int_equal(run(out, &stats, &c, 1, 0, &error), LOB_EARG);
        assert_true(error.text[0] != 0);
    }
    c.refine_in.wall_count = 0;
    lob_error error = {.text = ""};
    assert_int_equal(run(out, &stats, &c, 1, 100, &error), LOB_ENOMEM);
    free(out);
    appearance_case_free(&c);
}
