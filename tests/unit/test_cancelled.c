/* A cancelled call says so: LOB_ECANCEL, with a text in place of whatever the error held before. */
#include "cmocka_test.h"

#include "kernels/backends.h"
#include "volumes/volume.h"

enum { SIDE = 24, VOXELS = SIDE * SIDE * SIDE };

/* An image with two strokes, and room for results. */
typedef struct {
    lob_volume image, seeds;
    int32_t labels[VOXELS];
    lob_growcut_output grown;
    lob_components_output components;
    lob_filter_output filtered;
} work;

static lob_status grow(work *w, const lob_context *context, lob_error *error)
{
    const lob_growcut_options options = lob_growcut_defaults();
    const lob_growcut_input in = {.image = &w->image, .seeds = &w->seeds, .labels = 2};
    w->grown.labels = w->labels;
    return lob_backends[0]->growcut(&w->grown, NULL, &in, &options, context, error);
}

static lob_status join(work *w, const lob_context *context, lob_error *error)
{
    const lob_components_options options = lob_components_defaults();
    const lob_components_input in = {.image = &w->image};
    return lob_backends[0]->components(&w->components, &in, &options, context, error);
}

static lob_status smooth(work *w, const lob_context *context, lob_error *error)
{
    const lob_filter_step step = {
        .kind = LOB_FILTER_GAUSSIAN, .along = {2, 2, 2}
    };
    const lob_filter_options options = lob_filter_defaults();
    const lob_filter_input in = {.image = &w->image, .steps = &step, .step_count = 1};
    return lob_backends[0]->filter(&w->filtered, &in, &options, context, error);
}

static lob_status cut(work *w, const lob_context *context, lob_error *error)
{
    lob_supervoxels_options options = lob_supervoxels_defaults();
    const lob_supervoxels_input in = {.image = &w->image};
    options.size_mm = 4;
    return lob_backends[0]->supervoxels(w->labels, NULL, &in, &options, context, error);
}

static int stop(void *user, double done)
{
    return 1;
}

TEST(a_cancelled_call_has_a_text)
{
    static const struct {
        const char *name;
        lob_status (*call)(work *, const lob_context *, lob_error *);
    } calls[] = {
        {"growcut",     grow  },
        {"components",  join  },
        {"filter",      smooth},
        {"supervoxels", cut   },
    };
    const double mm[3] = {1, 1, 1};
    const lob_dims dims = {SIDE, SIDE, SIDE};
    static uint8_t image[VOXELS];
    static int32_t seeds[VOXELS];
    static work w;
    for (int i = 0; i < VOXELS; i++) image[i] = (uint8_t)(i * 7 % 251);
    seeds[0] = 1;
    seeds[VOXELS - 1] = 2;
    w.image = lob_volume_wrap(image, LOB_U8, dims, 1, mm, (lob_place){0});
    w.seeds = lob_volume_wrap(seeds, LOB_I32, dims, 1, mm, (lob_place){0});
    for (size_t i = 0; i < COUNT(calls); i++) {
        const lob_context context = {.threads = 2, .progress = stop};
        lob_error error = {.file = "old.nii", .text = "of a call before"};
        const lob_status st = calls[i].call(&w, &context, &error);
        if (st != LOB_ECANCEL || !error.text[0] || strstr(error.text, "before") || error.file[0])
            fail_msg("%s: %s, file '%s', text '%s'", calls[i].name, lob_status_text(st), error.file,
                     error.text);
    }
}
