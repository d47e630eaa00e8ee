/* A carry of one atlas that is the scan moved by whole voxels: what it finds, progress, cancelling,
 * memory, what is left out and what is refused. tests/command/ has phantoms. */
#include "kernels/carry/carry.h"
#include "tests/reference/random.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/volume_of.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, N = SIDE * SIDE * SIDE, AWAY = 3, LABEL = 7 };

typedef struct {
    int16_t scan[N], image[N];
    uint8_t truth[N], label[N];
    int32_t wide[N]; /* labels that stay the caller's */
    bool wraps;
    lob_volume volume, images, labels;
    lob_carry_input in;
    lob_context context;
    double done;
    int calls, stop_at;
} carry_case;

static lob_status read_atlas(void *user, int atlas, lob_volume *image, lob_volume *labels,
                             lob_error *error)
{
    const carry_case *const c = user;
    (void)error;
    *image = atlas == 1 ? c->volume : c->images;
    image->borrowed = true;
    if (c->wraps) {
        const double mm[3] = {3, 3, 3};
        *labels =
            lob_volume_wrap((int32_t *)c->wide, LOB_I32, c->labels.dims, 1, mm, (lob_place){0});
        return LOB_OK;
    }
    assert_ok(lob_volume_like(labels, &c->labels, LOB_U8, 1));
    memcpy(labels->data, atlas == 1 ? c->truth : c->label, N);
    return LOB_OK;
}

static int listen(void *user, double done)
{
    carry_case *const c = user;
    assert_true(done >= c->done && done <= 1);
    c->done = done;
    return ++c->calls == c->stop_at;
}

/* Two bright balls of one label and some dark ones on noise. */
static void draw(int16_t *scan, uint8_t *truth, int away, uint64_t state)
{
    static const int balls[][5] = {
        {10, 12, 15, 7, 1},
        {20, 19, 14, 5, 0},
        {22, 9,  20, 4, 0}
    };
    for (int i = 0; i < N; i++) {
        const int x = i % SIDE - away, y = i / SIDE % SIDE, z = i / SIDE / SIDE;
        scan[i] = (int16_t)(100 + random_below(&state, 20));
        truth[i] = 0;
        for (size_t b = 0; b < COUNT(balls); b++) {
            const int dx = x - balls[b][0], dy = y - balls[b][1], dz = z - balls[b][2];
            if (dx * dx + dy * dy + dz * dz > balls[b][3] * balls[b][3]) continue;
            scan[i] = (int16_t)(scan[i] + (balls[b][4] ? 300 : 120));
            truth[i] = balls[b][4] ? LABEL : 0;
        }
    }
}

static carry_case *make_case(void)
{
    const lob_dims d = {SIDE, SIDE, SIDE};
    const double mm[3] = {3, 3, 3};
    carry_case *const c = calloc(1, sizeof *c);
    assert_non_null(c);
    draw(c->scan, c->truth, 0, 5);
    draw(c->image, c->label, AWAY, 6);
    c->volume = volume_of(c->scan, LOB_I16, d, mm);
    c->images = volume_of(c->image, LOB_I16, d, mm);
    c->labels = volume_of(c->label, LOB_U8, d, mm);
    c->in = (lob_carry_input){
        .scan = &c->volume, .count = 1, .read = read_atlas, .user = c, .doubt = true};
    c->context = (lob_context){.threads = 2, .progress = listen, .user = c};
    return c;
}

TEST(finds_what_was_moved)
{
    carry_case *const c = make_case();
    const lob_carry_options options = lob_carry_defaults();
    lob_carry_output out;
    int64_t both = 0, all = 0;
    c->in.count = 2; /* the second is the scan itself */
    assert_ok(lob_carry(&out, &c->in, &options, &c->context, NULL));
    for (int i = 0; i < N; i++) {
        const int32_t label = lob_label_at(out.labels.data, out.labels.type, i);
        both += label == LABEL && c->truth[i] == LABEL;
        all += (label == LABEL) + (c->truth[i] == LABEL);
        assert_true(label == 0 || label == LABEL);
    }
    assert_true(20 * both > 9 * all); /* a Dice above 0.9 */
    assert_int_equal(out.label_count, 1);
    assert_int_equal(out.label[0].atlases, 1);
    assert_true(out.label[0].share > 0.8 && out.label[0].share <= 1);
    assert_true(out.label[0].agreement > 0.8 && out.label[0].agreement <= 1);
    assert_int_equal(out.atlas[0].fate, LOB_CARRY_USED);
    assert_int_equal(out.atlas[1].fate, LOB_CARRY_SAME);
    assert_true(c->done == 1);
    lob_carry_output_free(&out);
    free(c);
}

/* Single voxels of an atlas are lost on the coarse grid, and one label is the scan's alone. */
TEST(strokes_of_labels_without_votes_are_no_background)
{
    enum { LOST = 20, DRAWN, ELSEWHERE, NOWHERE, ROW = 28 * SIDE * SIDE + 4 * SIDE };
    carry_case *const c = make_case();
    lob_carry_options options = lob_carry_defaults();
    lob_carry_output out;
    uint8_t strokes[N] = {0};
    const lob_volume drawn = volume_of(strokes, LOB_U8, c->volume.dims, (double[3]){3, 3, 3});
    options.grid_mm = 9;
    c->in.count = 2;
    c->in.strokes = &drawn;
    c->label[ROW + 26] = LOST;
    c->label[ROW + 2] = DRAWN;
    c->truth[ROW] = ELSEWHERE;
    for (int label = DRAWN; label <= NOWHERE; label++)
        strokes[ROW + 4 * (label - LOST)] = (uint8_t)label;
    assert_ok(lob_carry(&out, &c->in, &options, &c->context, NULL));
    for (int label = DRAWN; label <= NOWHERE; label++)
        assert_int_equal(lob_label_at(out.labels.data, out.labels.type, ROW + 4 * (label - LOST)),
                         label < NOWHERE ? label : 0);
    assert_int_equal(out.label_count, 4);
    assert_int_equal(out.label[0].label, LABEL);
    assert_int_equal(out.label[1].label, LOST);
    assert_int_equal(out.label[1].voxels, 0);
    assert_int_equal(out.label[1].atlases, 1);
    assert_true(isnan(out.label[1].share));
    assert_int_equal(out.label[2].label, DRAWN);
    assert_int_equal(out.label[2].atlases, 1);
    assert_true(out.label[2].agreement == 0); /* one has it, where it was not drawn */
    assert_int_equal(out.label[3].label, ELSEWHERE);
    assert_int_equal(out.label[3].atlases, 0);
    assert_true(isnan(out.label[3].agreement));
    lob_carry_output_free(&out);
    free(c);
}

TEST(labels_of_the_caller_stay)
{
    carry_case *const c = make_case();
    const lob_carry_options options = lob_carry_defaults();
    lob_carry_output out;
    c->wraps = true;
    for (int i = 0; i < N; i++) c->wide[i] = c->label[i];
    assert_ok(lob_carry(&out, &c->in, &options, &c->context, NULL));
    assert_int_equal(out.label[0].label, LABEL);
    for (int i = 0; i < N; i++) assert_int_equal(c->wide[i], c->label[i]);
    lob_carry_output_free(&out);
    free(c);
}

TEST(stops_and_keeps_to_its_memory)
{
    carry_case *const c = make_case();
    const lob_carry_options options = lob_carry_defaults();
    lob_carry_output out;
    lob_error error;
    for (c->stop_at = 1; c->stop_at < 40; c->stop_at += 13) {
        c->calls = 0;
        c->done = 0;
        assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, &error), LOB_ECANCEL);
        assert_null(out.labels.data);
        assert_null(out.label);
    }
    c->stop_at = 0;
    c->done = 0;
    c->context.max_memory = 1 << 20;
    assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, &error), LOB_ENOMEM);
    assert_true(error.text[0]);
    free(c);
}

/* Strokes of many labels make large shares. */
TEST(shares_keep_to_the_limit)
{
    carry_case *const c = make_case();
    const lob_carry_options options = lob_carry_defaults();
    uint8_t strokes[N] = {0};
    const lob_volume drawn = volume_of(strokes, LOB_U8, c->volume.dims, (double[3]){3, 3, 3});
    lob_carry_output out;
    for (int i = 0; i < 60; i++) strokes[i * 17] = (uint8_t)(i + 100);
    c->in.strokes = &drawn;
    c->context.max_memory = 8 << 20;
    assert_ok(lob_carry(&out, &c->in, &options, &c->context, NULL));
    lob_carry_output_free(&out);
    c->in.shares = true; /* 7.6 MiB */
    c->done = 0;
    assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, NULL), LOB_ENOMEM);
    free(c);
}

TEST(refuses)
{
    carry_case *const c = make_case();
    lob_carry_options options = lob_carry_defaults();
    lob_carry_output out;
    lob_error error;
    options.sure = 0.4;
    assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, &error), LOB_EARG);
    options = lob_carry_defaults();
    options.use = 0;
    assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, &error), LOB_EARG);
    options = lob_carry_defaults();
    c->in.count = 0;
    assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, &error), LOB_EARG);
    c->in.count = 1;
    memset(c->label, 0, N);
    assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, &error), LOB_EDATA);
    draw(c->image, c->label, AWAY, 6);
    for (int i = 0; i < N; i++) c->scan[i] = 9;
    c->done = 0;
    assert_int_equal(lob_carry(&out, &c->in, &options, &c->context, &error), LOB_EDATA);
    free(c);
}
