/* Segment that follows a brush: after any history of strokes, the bytes of a fresh run. */
#include "kernels/live/segmenter.h"
#include "kernels/segment/segment_job.h"
#include "tests/reference/random.h"
#include "tests/reference/segment_case.h"
#include "tests/unit/cmocka_test.h"
#include "volumes/labels.h"

#include <stdlib.h>

enum { HISTORIES = 12, STEPS = 10 };

/* A history under way. */
typedef struct {
    segment_case c;
    uint64_t state;
    lob_segmenter *segmenter;
    void *drawn; /* at first: what is drawn again where it was erased */
    void *undo;  /* before the last change */
    void *told;  /* what the last call was told of */
    size_t bytes;
    lob_volume before; /* the labels of the last final answer */
    int previews, finals, cancelled, stopped, short_of_memory, limited, refused, kept_box;
    lob_box box;
} history;

static int stop(void *user, double done)
{
    int *const left = user;
    (void)done;
    return (*left)-- <= 0;
}

static int64_t box_row(const lob_box *box, lob_dims d, int64_t row)
{
    const int64_t y = box->first[1] + row % box->size[1], z = box->first[2] + row / box->size[1];
    return (z * d.ny + y) * d.nx + box->first[0];
}

/* Erase all or a box, draw again in it what was there at first, draw another label, or undo. */
static void change(history *h)
{
    lob_volume *const strokes = &h->c.strokes;
    const lob_dims d = strokes->dims;
    const size_t bytes = lob_type_of(strokes->type)->bytes;
    const int what = (int)random_below(&h->state, 10);
    lob_box box;
    if (what == 0) {
        void *const now = h->undo;
        h->undo = strokes->data;
        strokes->data = now;
        return;
    }
    memcpy(h->undo, strokes->data, h->bytes);
    for (int a = 0; a < 3; a++) {
        const int64_t side = lob_side(d, a);
        box.first[a] = random_below(&h->state, side);
        box.size[a] = 1 + random_below(&h->state, what < 5 ? side : 3);
        if (what == 9) box.first[a] = 0;
        if (what == 9) box.size[a] = side;
        if (box.first[a] + box.size[a] > side) box.size[a] = side - box.first[a];
    }
    const int32_t label =
        lob_label_at(h->drawn, strokes->type, random_below(&h->state, lob_voxels(strokes)));
    for (int64_t row = 0; row < box.size[1] * box.size[2]; row++) {
        const int64_t at = box_row(&box, d, row);
        for (int64_t x = 0; x < box.size[0]; x++)
            if (what < 4)
                memcpy((char *)strokes->data + (size_t)(at + x) * bytes,
                       (char *)h->drawn + (size_t)(at + x) * bytes, bytes);
            else
                lob_label_put(strokes->data, strokes->type, at + x, what < 7 ? label : 0);
    }
}

/* Where strokes differ from what has been told, which they are from then on. At times nothing of it
 * is said. */
static const lob_box *tell(history *h, lob_box *box)
{
    const lob_volume *const strokes = &h->c.strokes;
    const size_t bytes = lob_type_of(strokes->type)->bytes;
    const lob_dims d = strokes->dims;
    *box = (lob_box){{0}, {0}};
    for (int64_t i = 0; i < lob_voxels(strokes); i++) {
        const lob_box one = {
            {i % d.nx, i / d.nx % d.ny, i / d.nx / d.ny},
            {1,        1,               1              }
        };
        if (memcmp((char *)strokes->data + (size_t)i * bytes, (char *)h->told + (size_t)i * bytes,
                   bytes) != 0)
            lob_box_join(box, &one);
    }
    memcpy(h->told, strokes->data, h->bytes);
    return random_chance(&h->state, 20) ? NULL : box;
}

/* What lies outside of the box told is as it was. */
static void check_changed(history *h, const lob_volume *labels, const lob_box *box)
{
    const lob_volume *const had = &h->before;
    const lob_dims d = labels->dims;
    for (int64_t i = 0; had->data && i < lob_voxels(labels); i++) {
        const int64_t at[3] = {i % d.nx, i / d.nx % d.ny, i / d.nx / d.ny};
        bool inside = true;
        for (int a = 0; a < 3; a++)
            inside = inside && at[a] >= box->first[a] && at[a] < box->first[a] + box->size[a];
        if (!inside &&
            lob_label_at(labels->data, labels->type, i) != lob_label_at(had->data, had->type, i))
            fail_msg("%s: changed outside of its box", h->c.shape);
    }
}

/* The preview is what one growth gives, or nothing. Wanted are strokes with their own labels in it,
 * and the type of the final one. */
static void check_preview(history *h, const lob_volume *preview, const lob_segment_plan *plan,
                          const lob_segment_output *wanted)
{
    if (!preview->data) assert_true(plan->passes == 1);
    if (!preview->data) return;
    h->previews++;
    assert_int_equal(plan->passes, 2);
    assert_int_equal(preview->type, wanted->labels.type);
    assert_int_equal(lob_voxels(preview), lob_voxels(&wanted->labels));
    const lob_volume *const strokes = &h->c.strokes;
    for (int64_t i = 0; i < lob_voxels(strokes); i++) {
        const int32_t stroke = lob_label_at(strokes->data, strokes->type, i);
        const int32_t label = lob_label_at(preview->data, preview->type, i);
        if (stroke && !plan->slips && label != (stroke == plan->background ? 0 : stroke))
            fail_msg("%s: a stroke of %d is %d in the preview", h->c.shape, stroke, label);
    }
}

/* The final answer, maybe after some that are cancelled or have too little memory; its status is
 * that of a fresh run. */
static void finish(history *h, const lob_segment_output *fresh, const lob_segment_plan *wanted,
                   const lob_segment_input *in, lob_status st)
{
    lob_segment_output out;
    lob_segment_plan plan;
    lob_box changed, box;
    lob_status got = LOB_ECANCEL;
    const bool limited = random_chance(&h->state, 30);
    int64_t limit = 0;
    for (int visits = (int)random_below(&h->state, 60);
         got == LOB_ECANCEL || (got == LOB_ENOMEM && limit > 0); visits += 40) {
        int left = visits;
        limit = limited && visits < 500 ? 20000 + 500 * visits : 0;
        const lob_context context = {.threads = 1 + (int)random_below(&h->state, 2),
                                     .max_memory = limit,
                                     .progress = visits < 100 ? stop : NULL,
                                     .user = &left};
        got = lob_segmenter_finish(h->segmenter, &out, &plan, &changed, in, tell(h, &box), &context,
                                   NULL);
        h->cancelled += got == LOB_ECANCEL;
        h->short_of_memory += got == LOB_ENOMEM;
        h->limited += got == LOB_OK && limit > 0;
        if (got == LOB_OK && limit > 0) assert_true(out.working_bytes <= limit);
        if (got != LOB_OK) assert_null(out.labels.data);
    }
    if (got != st) fail_msg("%s: status %d, not %d", h->c.shape, (int)got, (int)st);
    if (st != LOB_OK) return;
    const char *const what = segment_case_differs(&out, fresh);
    if (what) fail_msg("%s: %s differ from a fresh run", h->c.shape, what);
    assert_memory_equal(&plan.box, &wanted->box, sizeof plan.box);
    check_changed(h, &out.labels, &changed);
    h->kept_box += memcmp(&h->box, &plan.box, sizeof plan.box) == 0;
    h->box = plan.box;
    h->finals++;
    lob_volume_free(&h->before);
    h->before = out.labels;
    out.labels = lob_volume_empty();
    lob_segment_output_free(&out);
}

/* The preview, maybe after some that are cancelled or have too little memory. */
static lob_status preview(history *h, lob_volume *labels)
{
    const bool limited = random_chance(&h->state, 30);
    lob_box box;
    lob_status got = LOB_ECANCEL;
    for (int visits = (int)random_below(&h->state, 40);
         got == LOB_ECANCEL || (got == LOB_ENOMEM && visits < 100); visits += 20) {
        int left = visits;
        const lob_context context = {.threads = 1,
                                     .max_memory =
                                         limited && visits < 100 ? 4000 << visits / 10 : 0,
                                     .progress = visits < 100 ? stop : NULL,
                                     .user = &left};
        got = lob_segmenter_preview(h->segmenter, labels, &h->c.strokes, tell(h, &box), &context,
                                    NULL);
        h->stopped += got == LOB_ECANCEL;
        h->short_of_memory += got == LOB_ENOMEM;
        if (got != LOB_OK) assert_null(labels->data);
    }
    return got;
}

static void step(history *h)
{
    const lob_context context = {.threads = 1};
    lob_segment_output fresh = lob_segment_output_empty();
    lob_segment_plan plan;
    lob_segment_input in = h->c.in;
    lob_volume rough = lob_volume_empty();
    change(h);
    lob_status st =
        lob_segment_choose(&plan, &h->c.image, &h->c.strokes, &h->c.options, &context, NULL);
    if (st == LOB_OK && (plan.flat || plan.axis < 0)) in.suggest = 0;
    if (st == LOB_OK) st = lob_segment(&fresh, &in, &plan, lob_backends[0], &context, NULL);
    h->refused += st != LOB_OK;
    if (random_chance(&h->state, 60)) {
        const lob_status got = preview(h, &rough);
        if (st == LOB_OK) assert_int_equal(got, LOB_OK);
        if (st == LOB_OK) check_preview(h, &rough, &plan, &fresh);
        lob_volume_free(&rough);
        if (random_chance(&h->state, 30))
            change(h); /* the next stroke comes first */
        else
            finish(h, &fresh, &plan, &in, st);
    } else {
        finish(h, &fresh, &plan, &in, st);
    }
    lob_segment_output_free(&fresh);
}

TEST(every_history_gives_the_labels_of_a_fresh_run)
{
    const uint64_t all = HISTORIES, some = CASES(all);
    int previews = 0, finals = 0, cancelled = 0, stopped = 0, short_of_memory = 0, refused = 0;
    int kept_box = 0, limited = 0;
    for (uint64_t number = 0; number < some; number++) {
        history h = {.state = 7 * number + 3, .before = lob_volume_empty()};
        segment_case_make(&h.c, number, 18);
        if (number % 2) h.c.options.coarse = 20 + random_below(&h.state, 200);
        h.bytes = (size_t)lob_voxels(&h.c.strokes) * lob_type_of(h.c.strokes.type)->bytes;
        h.drawn = malloc(h.bytes);
        h.undo = malloc(h.bytes);
        h.told = malloc(h.bytes);
        assert_true(h.drawn && h.undo && h.told);
        memcpy(h.drawn, h.c.strokes.data, h.bytes);
        memcpy(h.undo, h.c.strokes.data, h.bytes);
        memcpy(h.told, h.c.strokes.data, h.bytes);
        assert_int_equal(
            lob_segmenter_open(&h.segmenter, lob_backends[0], &h.c.image, &h.c.options, NULL),
            LOB_OK);
        for (int i = 0; i < STEPS; i++) step(&h);
        lob_segmenter_close(h.segmenter);
        previews += h.previews;
        finals += h.finals;
        cancelled += h.cancelled;
        stopped += h.stopped;
        short_of_memory += h.short_of_memory;
        limited += h.limited;
        refused += h.refused;
        kept_box += h.kept_box;
        lob_volume_free(&h.before);
        free(h.drawn);
        free(h.undo);
        free(h.told);
        segment_case_free(&h.c);
    }
    /* All that can come about has; a quarter of the histories is too few for that. */
    if (some == all)
        assert_true(previews > 0 && finals > 0 && cancelled > 0 && stopped > 0 &&
                    short_of_memory > 0 && limited > 0 && refused > 0 && kept_box > 0);
}

enum { SIDE = 40, TUBE = 2 };

/* A bright tube of TUBE x TUBE voxels along z, in a box that is large for its plan. */
typedef struct {
    lob_volume image, strokes;
    lob_segment_input in;
    lob_segment_plan plan;
    lob_segment_job job;
} large;

static void large_make(large *l, int64_t first)
{
    lob_volume like = lob_volume_empty();
    like.dims = (lob_dims){SIDE, SIDE, SIDE};
    like.geometry = lob_geometry_of_spacing((double[]){1, 1, 1});
    assert_ok(lob_volume_like(&l->image, &like, LOB_U8, 1));
    assert_ok(lob_volume_like(&l->strokes, &like, LOB_U8, 1));
    l->in = (lob_segment_input){.image = &l->image, .strokes = &l->strokes};
    uint8_t *const image = l->image.data, *const strokes = l->strokes.data;
    for (int64_t i = 0; i < lob_voxels(&l->image); i++) {
        const int64_t x = i % SIDE - first, y = i / SIDE % SIDE - first, z = i / SIDE / SIDE;
        const bool tube = x >= 0 && x < TUBE && y >= 0 && y < TUBE;
        image[i] = tube ? 200 : (uint8_t)(60 + i * 7 % 5);
        if (z % 4 == 0 && tube) strokes[i] = 2;
        if (z % 4 == 0 && (i % SIDE == 0 || i % SIDE == SIDE - 1)) strokes[i] = 1;
    }
}

/* Come to where growth begins. */
static void large_begin(large *l, const lob_context *context)
{
    lob_segment_options options = lob_segment_defaults();
    lob_segment_part part;
    options.background = 1;
    options.passes = 2;
    options.coarse = 1000;
    assert_ok(lob_segment_choose(&l->plan, &l->image, &l->strokes, &options, context, NULL));
    assert_int_equal(l->plan.passes, 2);
    assert_ok(lob_segment_cut(&part, &l->strokes, NULL, NULL, context, NULL));
    l->job = lob_segment_job_of(&l->in, &l->plan, lob_backends[0], context);
    assert_ok(lob_segment_take_strokes(&l->job, &part, NULL));
    lob_segment_part_free(&part);
    assert_ok(lob_segment_box_make(&l->job, NULL));
}

static void large_free(large *l)
{
    lob_segment_drop_strokes(&l->job);
    lob_segment_drop_images(&l->job);
    assert_int_equal(l->job.budget.held, 0);
    lob_volume_free(&l->image);
    lob_volume_free(&l->strokes);
}

static int64_t others_than(const lob_volume *labels, int32_t label)
{
    int64_t n = 0;
    for (int64_t i = 0; i < lob_voxels(labels); i++)
        n += lob_label_at(labels->data, labels->type, i) != label;
    return n;
}

/* It is learnt from what is under strokes, wherever voxels of the sparse grid begin. */
TEST(a_preview_of_a_large_box_does_not_take_the_first_growth)
{
    for (int64_t from = 16; from < 20; from++) {
        large l;
        lob_volume rough, later;
        lob_segment_output out;
        large_make(&l, from);
        large_begin(&l, THREADS(1));
        assert_ok(lob_segment_preview(&l.job, &rough, NULL));
        assert_null(l.job.first.data);
        assert_null(l.job.coarse.data);

        /* Once it is there, it is taken. */
        assert_ok(lob_segment_finish(&l.job, &out, NULL));
        assert_non_null(l.job.first.data);
        const int64_t first = others_than(&l.job.first, l.job.background);
        assert_in_range(others_than(&rough, 0), first / 2, 2 * first);
        memset(l.job.first.data, l.job.background, (size_t)lob_voxels(&l.job.first));
        assert_ok(lob_segment_preview(&l.job, &later, NULL));
        assert_int_equal(others_than(&later, 0), TUBE * TUBE * SIDE / 4);
        lob_volume_free(&rough);
        lob_volume_free(&later);
        lob_segment_output_free(&out);
        large_free(&l);
    }
}

TEST(a_label_that_a_sparse_grid_loses_is_in_the_preview)
{
    large l;
    lob_volume rough;
    large_make(&l, 17);
    uint8_t *const strokes = l.strokes.data;
    for (int64_t i = 0; i < lob_voxels(&l.strokes); i++)
        if (strokes[i] == 2) strokes[i] = 0;
    const int64_t at = (17 * SIDE + 17) * SIDE + 17;
    strokes[at] = 2;     /* of equals the smaller label is kept, */
    strokes[at - 1] = 1; /* but on the first growth's grid the one nearer to the middle */
    large_begin(&l, THREADS(1));
    assert_ok(lob_segment_preview(&l.job, &rough, NULL));
    assert_non_null(l.job.first.data);
    assert_int_equal(((uint8_t *)rough.data)[at], 2);
    lob_volume_free(&rough);
    large_free(&l);
}

TEST(another_image_and_little_memory_are_refused)
{
    segment_case c;
    lob_segmenter *s;
    lob_segment_output out;
    lob_error error;
    const lob_context context = {.threads = 1}, little = {.threads = 1, .max_memory = 2000};
    segment_case_make(&c, 1, 18);
    lob_volume other = c.image;
    lob_segment_input in = {.image = &other, .strokes = &c.strokes};
    assert_int_equal(lob_segmenter_open(&s, lob_backends[0], &c.image, &c.options, NULL), LOB_OK);
    lob_box beyond = {
        {0, 0, 0                  },
        {1, 1, c.image.dims.nz + 1}
    };
    assert_int_equal(lob_segmenter_finish(s, &out, NULL, NULL, &in, NULL, &context, &error),
                     LOB_EARG);
    assert_string_equal(error.text, "the image is another one");
    in.image = &c.image;
    assert_int_equal(lob_segmenter_finish(s, &out, NULL, NULL, &in, &beyond, &context, &error),
                     LOB_EARG);
    assert_string_equal(error.text, "the box of changes reaches beyond the grid");
    assert_int_equal(lob_segmenter_finish(s, &out, NULL, NULL, &in, NULL, &little, &error),
                     LOB_ENOMEM);
    assert_true(error.text[0] != '\0');
    assert_int_equal(lob_segmenter_finish(s, &out, NULL, NULL, &in, NULL, &context, &error),
                     LOB_OK);
    lob_segment_output_free(&out);

    /* A box that was told with what is refused is not lost. */
    const lob_box nothing = {0};
    const int64_t n = lob_voxels(&c.strokes);
    for (int64_t i = 1; i < n; i++)
        if (lob_label_at(c.strokes.data, c.strokes.type, i) == 0)
            lob_label_put(c.strokes.data, c.strokes.type, i,
                          lob_label_at(c.strokes.data, c.strokes.type, i - 1));
    in.image = &other;
    assert_int_equal(lob_segmenter_finish(s, &out, NULL, NULL, &in, NULL, &context, &error),
                     LOB_EARG);
    in.image = &c.image;
    assert_int_equal(lob_segmenter_finish(s, &out, NULL, NULL, &in, &nothing, &context, &error),
                     LOB_OK);
    lob_segmenter *anew;
    lob_segment_output wanted;
    assert_int_equal(lob_segmenter_open(&anew, lob_backends[0], &c.image, &c.options, NULL),
                     LOB_OK);
    assert_int_equal(lob_segmenter_finish(anew, &wanted, NULL, NULL, &in, NULL, &context, &error),
                     LOB_OK);
    assert_memory_equal(out.labels.data, wanted.labels.data,
                        (size_t)n * lob_type_of(out.labels.type)->bytes);
    lob_segment_output_free(&wanted);
    lob_segmenter_close(anew);
    lob_segment_output_free(&out);
    lob_segmenter_close(s);
    segment_case_free(&c);
}
