/* Registration: words, costs and the tree against naive versions; threads, cancelling, memory. */
#include "kernels/progress.h"
#include "kernels/register/register.h"
#include "kernels/register/register_voxel.h"
#include "kernels/simd_clones.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/bytes.h"

static uint32_t random_state;
static lob_progress progress;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

/* A call on an image of random levels, smooth along x. */
static void begin(lob_register_call *c, lob_dims dims, uint32_t seed)
{
    static const lob_register_options options = {.smooth = 0.5};
    static const lob_context context = {.threads = 2};
    random_state = seed;
    *c = (lob_register_call){
        .options = &options, .context = &context, .no_data = LOB_REGISTER_NEUTRAL};
    progress = (lob_progress){.context = &context};
    c->progress = &progress;
    c->loops = &lob_register_on_cpu;
    c->fixed.dims = dims;
    c->fixed.voxels = lob_dims_voxels(dims);
    c->fixed.level = malloc((size_t)c->fixed.voxels * sizeof *c->fixed.level);
    assert_non_null(c->fixed.level);
    for (int64_t i = 0; i < c->fixed.voxels; i++)
        c->fixed.level[i] = (int16_t)draw(LOB_REGISTER_TOP + 1);
}

/* ---- words ---- */

static int64_t level(const lob_register_image *image, const int64_t at[3])
{
    int64_t i = 0;
    for (int a = 2; a >= 0; a--) {
        const int64_t side = lob_side(image->dims, a);
        i = i * side + (at[a] < 0 ? 0 : at[a] >= side ? side - 1 : at[a]);
    }
    return image->level[i] & LOB_REGISTER_TOP;
}

static int64_t clamped(int64_t i, int64_t side)
{
    return i < 0 ? 0 : i >= side ? side - 1 : i;
}

/* The distance between the patch around a voxel and that `shift` from it. */
static int64_t patch_distance(const lob_register_image *image, const int64_t at[3],
                              const int shift[3], int radius)
{
    int64_t sum = 0;
    for (int k = 0; k < (2 * radius + 1) * (2 * radius + 1) * (2 * radius + 1); k++) {
        const int side = 2 * radius + 1;
        const int off[3] = {k % side - radius, k / side % side - radius, k / side / side - radius};
        int64_t a[3], b[3];
        for (int d = 0; d < 3; d++) {
            a[d] = clamped(at[d] + off[d], lob_side(image->dims, d));
            b[d] = a[d] + shift[d];
        }
        const int64_t difference = level(image, a) - level(image, b);
        sum += difference * difference;
    }
    return sum;
}

/* The word of a voxel, by the paper: all pairs of the six half-axes that are no opposites. */
static uint64_t naive_word(const lob_register_image *image, const int64_t at[3], int radius)
{
    static const int place[12][3] = {
        {-1, 0,  0 },
        {0,  -1, 0 },
        {1,  0,  0 },
        {0,  -1, 0 },
        {-1, 0,  0 },
        {0,  0,  -1},
        {1,  0,  0 },
        {0,  0,  -1},
        {0,  -1, 0 },
        {0,  0,  -1},
        {0,  1,  0 },
        {0,  0,  -1},
    };
    static const int shift[6][3] = {
        {1,  1,  0},
        {-1, 1,  0},
        {1,  0,  1},
        {-1, 0,  1},
        {0,  1,  1},
        {0,  -1, 1},
    };
    static const double cut[5] = {89, 295, 552, 896, 1420};
    int64_t distance[12], least = INT64_MAX, sum = 0;
    uint64_t word = 0;
    for (int p = 0; p < 12; p++) {
        int64_t from[3];
        int by[3];
        for (int d = 0; d < 3; d++) {
            from[d] = clamped(at[d] + place[p][d] * radius, lob_side(image->dims, d));
            by[d] = shift[p / 2][d] * radius;
        }
        distance[p] = patch_distance(image, from, by, radius);
        least = distance[p] < least ? distance[p] : least;
        sum += distance[p];
    }
    for (int p = 0; p < 12; p++)
        for (int k = 0; k < 5; k++) {
            const double left = (double)(distance[p] - least) * 12.0 * 1024.0;
            if (left > cut[k] * (double)(sum - 12 * least)) word |= UINT64_C(1) << (5 * p + k);
        }
    return word;
}

TEST(words_are_the_naive_ones)
{
    static const lob_dims sides[] = {
        {11, 7, 5},
        {13, 9, 1},
        {1,  5, 7},
        {67, 3, 2}
    };
    for (size_t s = 0; s < COUNT(sides); s++)
        for (int radius = 1; radius <= 3; radius++) {
            lob_register_call c;
            begin(&c, sides[s], (uint32_t)(s * 7 + (size_t)radius));
            uint64_t *const words = malloc((size_t)c.fixed.voxels * sizeof *words);
            assert_non_null(words);
            c.fixed.level[2] |= LOB_REGISTER_NONE;
            assert_ok(lob_register_words(words, &c, &c.fixed, radius));
            for (int64_t i = 0; i < c.fixed.voxels; i++) {
                const lob_dims d = sides[s];
                const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / d.nx / d.ny};
                const uint64_t want =
                    i == 2 ? LOB_REGISTER_NEUTRAL : naive_word(&c.fixed, at, radius);
                assert_int_equal(words[i], want);
            }
            lob_budget_free(&c.budget, c.room, c.room_bytes, 1);
            assert_int_equal(c.budget.held, 0);
            free(words);
            free(c.fixed.level);
        }
}

/* ---- costs ---- */

TEST(costs_are_bits_between_words)
{
    static const lob_register_level levels[] = {
        {4, 4, 1, 2, 1, 1},
        {5, 3, 2, 2, 3, 1},
        {6, 2, 3, 3, 2, 1},
        {3, 3, 3, 2, 1, 1}, /* beyond the blocks */
        {2, 2, 2, 2, 1, 1}
    };
    for (size_t n = 0; n < 2 * COUNT(levels); n++) {
        const lob_register_level *const l = &levels[n / 2];
        lob_register_call c;
        lob_register_costs k;
        begin(&c, (lob_dims){17, 13, 11}, (uint32_t)n + 3);
        uint64_t *const words = malloc((size_t)c.fixed.voxels * sizeof *words);
        assert_non_null(words);
        const int margin = n / 2 % 2; /* above 0, words 0 do not count */
        for (int64_t i = 0; i < c.fixed.voxels; i++)
            words[i] = draw(4) == 0 ? 0
                                    : ((uint64_t)draw(1 << 20) << 40 |
                                       (uint64_t)draw(1 << 20) << 20 | draw(1 << 20));
        c.words[0] = c.words[1] = words;
        lob_register_costs_plan(&k, &c, l);
        lob_register_points before = k.points;
        for (int a = 0; a < 3; a++) {
            before.u[a] = malloc((size_t)before.count * sizeof *before.u[a]);
            assert_non_null(before.u[a]);
            for (int64_t i = 0; i < before.count; i++) before.u[a][i] = 2.0f * (float)a - 3.0f;
        }
        const int side = 2 * l->reach + 1;
#ifdef LOB_BITS
        const bool has_bits = lob_with_bits;
        lob_with_bits = has_bits && n % 2 == 0; /* both ways to count bits */
#endif
        assert_ok(lob_register_costs_make(&k, &c, l, &before, 0, margin));
#ifdef LOB_BITS
        lob_with_bits = has_bits;
#endif
        const lob_register_points points = k.points;
        assert_int_equal(k.labels, side * side * side);
        for (int64_t i = 0; i < points.count; i++)
            for (int64_t label = 0; label < k.labels; label++) {
                const int64_t q[3] = {label % side - l->reach, label / side % side - l->reach,
                                      label / side / side - l->reach};
                const int64_t block[3] = {i % points.n[0], i / points.n[0] % points.n[1],
                                          i / points.n[0] / points.n[1]};
                int64_t bits = 0;
                const int along = l->side, begin = (l->step - 1) / 2 - (along - 1) * l->each / 2;
                for (int o = 0; o < along * along * along; o++) {
                    const int64_t off[3] = {o % along, o / along % along, o / along / along};
                    if ((off[0] + off[1] + off[2]) % 2 != 0 && along > 2) continue;
                    int64_t from = 0, to = 0;
                    bool inside = true, near = false;
                    for (int a = 2; a >= 0; a--) {
                        const int64_t nside = lob_side(c.fixed.dims, a);
                        const int64_t v = clamped(
                            block[a] * l->step + points.first[a] + begin + off[a] * l->each, nside);
                        const int64_t w = clamped(v + 2 * a - 3, nside) + q[a] * l->quant;
                        from = from * nside + v;
                        near = near || v < margin || v >= nside - margin;
                        inside = inside && w >= 0 && w < nside;
                        to = to * nside + w;
                    }
                    if (near || (margin > 0 && words[from] == 0)) continue;
                    bits += __builtin_popcountll(words[from] ^
                                                 (inside ? words[to] : LOB_REGISTER_NEUTRAL));
                }
                assert_int_equal(k.cost[i * k.labels + label],
                                 bits * k.scale + q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
            }
        lob_budget_free(&c.budget, points.u[0], 3 * points.count, sizeof *points.u[0]);
        lob_budget_free(&c.budget, c.room, c.room_bytes, 1);
        assert_int_equal(c.budget.held, 0);
        for (int a = 0; a < 3; a++) free(before.u[a]);
        free(words);
        free(c.fixed.level);
    }
}

/* ---- the tree ---- */

/* On a line of points the tree is the line: the least sum by trying all choices. */
TEST(choices_on_a_line_cost_least)
{
    enum { POINTS = 4, SIDE = 3, LABELS = SIDE * SIDE };
    static const lob_register_level level_of = {3, 3, 1, 1, 2, 1};
    for (uint32_t seed = 1; seed <= 20; seed++) {
        lob_register_call c;
        lob_register_costs k;
        int32_t cost[POINTS * LABELS], first[POINTS * LABELS];
        float before[2][POINTS], moved[3][POINTS] = {{0}};
        begin(&c, (lob_dims){3 * POINTS, 3, 1}, seed);
        lob_register_costs_plan(&k, &c, &level_of);
        assert_int_equal(k.points.count, POINTS);
        assert_int_equal(k.labels, LABELS);
        for (int i = 0; i < POINTS * LABELS; i++) first[i] = cost[i] = (int32_t)draw(20000);
        for (int a = 0; a < 2; a++)
            for (int i = 0; i < POINTS; i++) before[a][i] = moved[a][i] = (float)draw(64) / 16.0f;
        for (int a = 0; a < 3; a++) k.points.u[a] = moved[a];
        k.cost = cost;
        assert_ok(lob_register_tree_solve(&k, &c, &c.fixed));
        int64_t least = INT64_MAX, found = 0;
        for (int choice = 0; choice < LABELS * LABELS * LABELS * LABELS; choice++) {
            int64_t sum = 0;
            bool same = true;
            float u[2][POINTS];
            for (int i = 0, left = choice; i < POINTS; i++, left /= LABELS) {
                const int label = left % LABELS, q[2] = {label % SIDE - 1, label / SIDE - 1};
                sum += first[i * LABELS + label];
                for (int a = 0; a < 2; a++) {
                    u[a][i] = before[a][i] + 2.0f * (float)q[a];
                    const float off = moved[a][i] - u[a][i]; /* beside the choice, at most */
                    if (!(off >= -1.0f && off <= 1.0f)) same = false;
                    if (i == 0) continue;
                    const int64_t d = (int64_t)((u[a][i] - u[a][i - 1]) * 16.0f);
                    sum += d * d * LOB_REGISTER_UNIT / (32 * 32);
                }
            }
            if (sum < least) least = sum;
            if (same && (found == 0 || sum < found)) found = sum;
        }
        assert_int_equal(found, least);
        assert_int_equal(c.budget.held, 0);
        free(c.fixed.level);
    }
}

/* ---- whole calls ---- */

/* A few soft balls, moved by so many voxels. */
static lob_volume balls(lob_dims dims, double x, double y, double z)
{
    static const double ball[5][4] = {
        {10, 9,  8,  5},
        {22, 12, 12, 7},
        {14, 22, 16, 6},
        {26, 26, 10, 5},
        {18, 16, 22, 6}
    };
    const double spacing[3] = {3, 3, 3};
    float *const data = malloc((size_t)lob_dims_voxels(dims) * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < lob_dims_voxels(dims); i++) {
        const double at[3] = {(double)(i % dims.nx) - x, (double)(i / dims.nx % dims.ny) - y,
                              (double)(i / dims.nx / dims.ny) - z};
        double value = at[0] + 0.5 * at[1];
        for (int b = 0; b < 5; b++) {
            double square = 0.0;
            for (int a = 0; a < 3; a++) square += (at[a] - ball[b][a]) * (at[a] - ball[b][a]);
            value += square < ball[b][3] * ball[b][3] ? 60.0 + 20.0 * b : 0.0;
        }
        data[i] = (float)value;
    }
    return lob_volume_wrap(data, LOB_F32, dims, 1, spacing, (lob_place){0});
}

TEST(a_translation_is_found_at_any_number_of_threads)
{
    const lob_dims dims = {36, 34, 30};
    lob_volume fixed = balls(dims, 0, 0, 0), moving = balls(dims, 3, -2, 1);
    const lob_register_input in = {.fixed = &fixed, .moving = &moving};
    lob_register_options options = lob_register_defaults();
    lob_field one, three;
    lob_register_stats stats;
    options.spacing_mm = 3;
    assert_ok(lob_register(&one, &stats, &in, &options, THREADS(1), NULL));
    assert_ok(lob_register(&three, NULL, &in, &options, THREADS(3), NULL));
    const size_t bytes = 3 * (size_t)lob_dims_voxels(one.dims) * sizeof *one.mm;
    assert_memory_equal(one.mm, three.mm, bytes);
    const double middle[3] = {54, 50, 45};
    double mm[3];
    lob_field_at(mm, &one, middle);
    assert_float_equal(mm[0], 9.0, 1.5);
    assert_float_equal(mm[1], -6.0, 1.5);
    assert_float_equal(mm[2], 3.0, 1.5);
    assert_true(stats.folded < 0.001 && stats.working_bytes > 0);
    lob_field_free(&one);
    lob_field_free(&three);
    free(fixed.data);
    free(moving.data);
}

static lob_field field_of(const lob_register_input *in, lob_register_stats *stats)
{
    lob_register_options options = lob_register_defaults();
    lob_field field;
    options.spacing_mm = 3;
    options.affine_only = true;
    assert_ok(lob_register(&field, stats, in, &options, THREADS(2), NULL));
    return field;
}

/* Of 100 rows of the fixed scan the first 24 and the last 40 are filled: looked at again, what is
 * left would lose the first 24 too. */
TEST(what_counts_of_a_scan_is_looked_for_once_or_is_all)
{
    enum { LOW = 24, SIDE = 100 };
    const lob_dims dims = {36, SIDE, 30};
    lob_volume moving = balls(dims, 3, -LOW + 2, 1), fixed = balls(dims, 0, -LOW, 0);
    for (int64_t i = 0; i < lob_voxels(&fixed); i++) {
        const int64_t y = i / dims.nx % SIDE;
        if (y < LOW || y >= SIDE - 40) ((float *)fixed.data)[i] = -1000;
    }
    const lob_box view = {
        {0,       0,         0      },
        {dims.nx, SIDE - 40, dims.nz}
    };
    lob_volume cut = fixed;
    cut.data = malloc((size_t)lob_volume_bytes(&fixed));
    assert_non_null(cut.data);
    memcpy(cut.data, fixed.data, (size_t)lob_volume_bytes(&fixed));
    assert_ok(lob_volume_crop(&cut, &view));
    const lob_box seen = lob_field_of_view(&fixed, 1), again = lob_field_of_view(&cut, 1);
    assert_memory_equal(&seen, &view, sizeof view);
    assert_int_equal(again.first[1], LOW);

    lob_register_input in = {.fixed = &fixed, .moving = &moving};
    lob_register_stats stats;
    lob_field found = field_of(&in, &stats);
    assert_float_equal(stats.view[0], (double)view.size[1] / SIDE, 1e-9);
    assert_float_equal(stats.view[1], 1, 0);
    in.fixed = &cut;
    in.whole = true;
    lob_field of_cut = field_of(&in, &stats);
    assert_float_equal(stats.view[0], 1, 0);
    assert_memory_equal(found.affine, of_cut.affine, sizeof found.affine);
    lob_field_free(&found);
    lob_field_free(&of_cut);
    free(cut.data);
    free(fixed.data);
    free(moving.data);
}

static int stop_soon(void *user, double done)
{
    (void)done;
    return --*(int *)user < 0;
}

TEST(a_call_can_be_cancelled_and_bounded)
{
    const lob_dims dims = {30, 28, 26};
    lob_volume fixed = balls(dims, 0, 0, 0), moving = balls(dims, 2, 1, 0);
    const lob_register_input in = {.fixed = &fixed, .moving = &moving};
    lob_register_options options = lob_register_defaults();
    lob_register_stats stats;
    lob_field field;
    lob_error error;
    options.spacing_mm = 3;
    assert_ok(lob_register(&field, &stats, &in, &options, THREADS(2), &error));
    lob_field_free(&field);
    for (int calls = 0; calls < 40; calls += 13) {
        int left = calls;
        const lob_context context = {.threads = 2, .progress = stop_soon, .user = &left};
        assert_int_equal(lob_register(&field, NULL, &in, &options, &context, &error), LOB_ECANCEL);
        assert_null(field.mm);
    }
    for (int part = 1; part <= 8; part += 3) {
        const lob_context context = {.threads = 2, .max_memory = stats.working_bytes * part / 9};
        assert_int_equal(lob_register(&field, NULL, &in, &options, &context, &error), LOB_ENOMEM);
        assert_null(field.mm);
    }
    free(fixed.data);
    free(moving.data);
}
