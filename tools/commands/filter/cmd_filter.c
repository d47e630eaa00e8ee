/* lobule filter: a chain of filters on an image. */
#include "tools/commands/commands.h"
#include "tools/commands/filter/filter_steps.h"
#include "tools/commands/slab_filter.h"
#include "volumes/free.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *out_path, *edge;
    int slices;
    lob_filter_chain chain;
    lob_filter_options options;
    lob_slabs slabs; /* files, and frame and channel, of a volume in one piece too */

    lob_slab_filter filter; /* of slabs */
    lob_volume image, out;
    uint8_t *mask;
    int64_t frames; /* that are filtered */
    int channels;   /* of a frame, as read */
    void *together; /* these, where they lie apart in the file */

    lob_filter_output one; /* of a frame */
    void *data;            /* the result: channel after channel, frame after frame of each */
    lob_type type;
    int out_channels;
    int64_t out_bytes; /* of all of it */
} work;

/* ---- frames ---- */

/* Bytes of a channel of one frame. */
static int64_t plane_bytes(const lob_volume *image, lob_type type)
{
    return lob_voxels(image) * (int64_t)lob_type_of(type)->bytes;
}

/* One frame as a volume: its channels lie apart where there are several frames, and are brought
 * together in w->together. */
static lob_volume frame_of(const work *w, int64_t frame)
{
    const int64_t bytes = plane_bytes(&w->image, w->image.type);
    unsigned char *const all = w->image.data;
    lob_volume one = w->image;
    one.channels = w->channels;
    one.frames = 1;
    one.frame = 0;
    one.data = w->channels == 1 ? all + frame * bytes : w->image.data;
    if (w->channels == 1 || w->frames == 1) return one;
    one.data = w->together;
    for (int c = 0; c < w->channels; c++)
        memcpy((unsigned char *)w->together + c * bytes, all + (c * w->frames + frame) * bytes,
               (size_t)bytes);
    return one;
}

/* Put a frame's result in its place; the only frame's is taken as it is. */
static void keep_frame(work *w, int64_t frame)
{
    lob_filter_output *const out = &w->one;
    const int64_t bytes = plane_bytes(&w->image, w->type);
    if (w->frames == 1) {
        w->data = out->data;
        out->data = NULL;
        return;
    }
    for (int c = 0; c < w->out_channels; c++)
        memcpy((unsigned char *)w->data + (c * w->frames + frame) * bytes,
               (unsigned char *)out->data + c * bytes, (size_t)bytes);
}

/* ---- computing ---- */

/* Fit the steps to the image, and find what comes of the first of its frames. */
static lob_status fit(lob_session *s, work *w, const lob_volume *image)
{
    lob_filter_chain *const chain = &w->chain;
    lob_filter_chain_fit(chain, image, lob_grid_slice_axis(w->slices, &image->geometry));
    const lob_filter_input in = {
        .image = image, .steps = chain->step, .step_count = chain->given.count};
    const lob_status st =
        lob_filter_result(&w->type, &w->out_channels, &in, &w->options, &s->error);
    return lob_session_name(s, st, w->slabs.path, NULL);
}

static lob_status filter_frames(lob_session *s, work *w)
{
    cJSON *const frames = w->frames > 1 ? cJSON_AddArrayToObject(s->results, "frames") : NULL;
    for (int64_t f = 0; f < w->frames; f++) {
        const lob_volume image = frame_of(w, f);
        const lob_filter_input in = {&image, w->mask, w->chain.step, w->chain.given.count};
        const lob_status st = s->backend->filter(&w->one, &in, &w->options, &s->context, &s->error);
        LOB_TRY(lob_session_name(s, st, w->slabs.path, NULL));
        lob_filter_chain_report(frames ? lob_json_row(frames) : s->results, &w->chain, &w->one);
        keep_frame(w, f);
        lob_filter_output_free(&w->one);
        LOB_TRY(lob_session_cancelled(s));
    }
    return LOB_OK;
}

/* Memory for the result, and for the channels of a frame where they are brought together. */
static lob_status compute(lob_session *s, work *w)
{
    const bool apart = w->frames > 1 && w->channels > 1;
    const int64_t in_bytes = w->channels * plane_bytes(&w->image, w->image.type);
    const int64_t one = lob_product(plane_bytes(&w->image, w->type), w->out_channels, 1, 1);
    w->out_bytes = lob_product(one, w->frames, 1, 1);
    if (w->frames == 1)
        LOB_TRY(lob_session_take(s, w->out_bytes, w->out_path));
    else if (!(w->data = lob_session_array(s, w->out_bytes, 1, w->out_path)) ||
             lob_session_take(s, one, w->out_path) != LOB_OK)
        return LOB_ENOMEM;
    if (apart && !(w->together = lob_session_array(s, in_bytes, 1, w->slabs.path)))
        return LOB_ENOMEM;
    lob_session_compute(s, "filtering");
    LOB_TRY(filter_frames(s, w));
    lob_session_computed(s);
    free(w->together);
    w->together = NULL;
    return LOB_OK;
}

/* ---- some planes at a time: what does not fit in memory, or several tasks share ---- */

/* Is the image to be worked on in slabs? Several tasks have no choice; one takes the whole where a
 * part does not say enough. */
static bool goes_in_slabs(lob_session *s, work *w)
{
    enum { OUT_AND_WORK = 12 };
    lob_volume image;
    if (!lob_slabs_serve(s, &w->slabs, OUT_AND_WORK)) return false;
    if (s->ranks || w->slabs.plan > 0 || !lob_session_peek(s, &image, w->slabs.path)) return true;
    lob_filter_chain_fit(&w->chain, &image, lob_grid_slice_axis(w->slices, &image.geometry));
    return lob_slab_filter_parts(&image, w->chain.step, w->chain.given.count, &w->options);
}

static lob_status filter_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    lob_filter_output *const one = &w->one;
    const int64_t before = lob_slab_before(slab);
    LOB_TRY(lob_slab_filter_run(s, &w->filter, slab, one));
    const void *const own =
        (const char *)one->data + before * (int64_t)lob_type_of(one->type)->bytes;
    LOB_TRY(lob_slabs_put(s, &w->slabs, slab, own));
    lob_slab_filter_drop(s, slab, one);
    return LOB_OK;
}

/* The whole command, in slabs: the report is that of a volume in one piece. */
static lob_status in_slabs(lob_session *s, work *w)
{
    const lob_volume *const image = &w->slabs.volume;
    LOB_TRY(lob_session_device(s));
    LOB_TRY(lob_slabs_open(s, &w->slabs));
    LOB_TRY(fit(s, w, image));
    LOB_TRY(lob_session_check(s, image, w->type, 1, w->out_path));
    w->filter = (lob_slab_filter){
        &w->slabs,
        {.steps = w->chain.step, .step_count = w->chain.given.count},
        &w->options,
        (int64_t)lob_type_of(w->type)->bytes
    };
    LOB_TRY(lob_slab_filter_begin(s, &w->filter, 0));
    if (w->slabs.plan > 0) return LOB_OK;
    const lob_volume made = lob_grid_header(image, w->type);
    LOB_TRY(lob_slabs_begin(s, &w->slabs, &made, 0, w->out_path, lob_write_defaults()));
    LOB_TRY(lob_slabs_each(s, &w->slabs, filter_slab, w));
    lob_filter_note_steps(&w->one, &w->filter.in);
    w->one.not_data = w->filter.not_data;
    w->one.working_bytes = w->filter.working_bytes;
    lob_filter_chain_report(s->results, &w->chain, &w->one);
    cJSON_AddStringToObject(s->results, "type", lob_type_of(w->type)->name);
    cJSON_AddNumberToObject(s->results, "channels", w->out_channels);
    return lob_slabs_commit(s, &w->slabs);
}

/* ---- the command ---- */

static lob_status prepare(lob_session *s, work *w)
{
    const int64_t frame = w->slabs.frame < 0 ? LOB_FRAME_ALL : w->slabs.frame;
    LOB_TRY(lob_session_read(s, &w->image, w->slabs.path, frame));
    LOB_TRY(lob_session_device(s));
    w->frames = lob_frames_held(&w->image);
    LOB_TRY(lob_grid_channel(s, &w->image, w->slabs.channel, w->slabs.path));
    w->channels = w->image.channels / (int)w->frames;
    lob_volume first = w->image;
    first.channels = w->channels;
    first.frames = 1;
    LOB_TRY(fit(s, w, &first));
    lob_volume made = {.dims = w->image.dims,
                       .type = w->type,
                       .slope = 1.0,
                       .channels = w->out_channels * (int)w->frames,
                       .frames = w->frames,
                       .frame = w->frames > 1 ? LOB_FRAME_ALL : 0};
    LOB_TRY(lob_session_check_volume(s, &made, w->out_path));
    return lob_grid_mask(s, &w->mask, w->slabs.mask, &w->image, w->slabs.path);
}

static lob_status write_result(lob_session *s, work *w)
{
    lob_volume *const out = &w->out;
    const int channels = w->out_channels * (int)w->frames;
    if (lob_volume_adopt(out, &w->image, &w->data, w->type, channels) != LOB_OK)
        return lob_session_no_memory(s, w->out_path);
    out->frames = w->frames;
    out->frame = w->frames > 1 ? LOB_FRAME_ALL : 0;
    lob_grid_drop(s, &w->image);
    cJSON_AddStringToObject(s->results, "type", lob_type_of(w->type)->name);
    cJSON_AddNumberToObject(s->results, "channels", w->out_channels);
    return lob_session_write(s, out, w->out_path, false);
}

static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(lob_filter_chain_parse(s, &w->chain));
    return lob_filter_edge_parse(s, &w->options, w->edge);
}

static lob_status filter(lob_session *s, void *user)
{
    work *const w = user;
    if (goes_in_slabs(s, w)) return lob_slabs_close(s, &w->slabs, in_slabs(s, w));
    LOB_TRY(prepare(s, w));
    LOB_TRY(compute(s, w));
    return write_result(s, w);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->out);
    lob_filter_output_free(&w->one);
    LOB_FREE(w->data, w->together, w->mask);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .slabs = {.frame = -1, .channel = -1},
        .slices = -1,
        .edge = "renormalise",
        .options = lob_filter_defaults()
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->slabs.path, "image to filter"),
        OPT_IMAGE_OUTPUT(&w->out_path, "filtered image to write"),
        OPT_STEP("median", &w->chain.given, "R",
                 "median of the voxels up to R away along each axis, 2R + 1 in all; one radius, or "
                 "one for each axis, as 1,1,0; voxels, or with a unit mm, where an axis with a "
                 "larger spacing is left out"),
        OPT_STEP("gaussian", &w->chain.given, "SIGMA",
                 "mean weighted by a Gaussian of this standard deviation; one, or one for each "
                 "axis; mm, or as 2vox"),
        OPT_STEP("box", &w->chain.given, "R", "mean of the voxels up to R away; as for the median"),
        OPT_STEP("denoise", &w->chain.given, "NOISE",
                 "smooth noise and keep edges; the noise's standard deviation in image units, or "
                 "auto: found in the image"),
        OPT_STEP("gradient", &w->chain.given, "SIGMA",
                 "magnitude of the gradient, per mm, of the image smoothed by this Gaussian"),
        OPT_STEP("log", &w->chain.given, "SIGMA",
                 "Laplacian of Gaussian, per mm2: positive in dark blobs, negative in bright ones"),
        OPT_STEP("window", &w->chain.given, "LO,HI",
                 "set values below LO to LO and above HI to HI; as -160,240, or percentiles of the "
                 "data, as 1%,99%"),
        OPT_STEP("scale", &w->chain.given, "A,B", "A times the value plus B"),
        OPT_STEP("gray", &w->chain.given, NULL,
                 "luminance of three colour channels, .299 R + .587 G + .114 B"),
        OPT_STEP("desaturate", &w->chain.given, "AMOUNT",
                 "mix three colour channels with their luminance: 0 changes nothing, 1 is gray"),
        OPT_STEP("cast", &w->chain.given, "TYPE",
                 "round to a voxel type, as uint8 or int16, and clamp to its range; float32 and "
                 "float64 keep fractions"),
        OPT_TEXT("edge", &w->edge, "RULE",
                 "what lies beyond the borders: renormalise (nothing, the mean is of what is "
                 "there), nearest, reflect, mirror, wrap, as scipy.ndimage has them, or "
                 "constant=V; an axis of one voxel is left out"),
        OPT_MASK(&w->slabs.mask,
                 "voxels where this volume is 0 count in no neighbourhood and stay as they are"),
        OPT_CHOICE("slices", &w->slices, LOB_GRID_SLICES,
                   "filter every slice as an image of its own; x, y, z are voxel axes"),
        OPT_FLAG("exact", &w->options.exact,
                 "compute large Gaussians with their own weights, which takes longer"),
        OPT_INT("frame", &w->slabs.frame, "N", 0, INT32_MAX,
                "filter this time frame alone, from 0; left out: all, each by itself"),
        OPT_INT("channel", &w->slabs.channel, "N", 0, INT32_MAX,
                "filter this channel alone, from 0; left out: all"),
        OPT_PLAN(&w->slabs.plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_filter = {
    .name = "filter",
    .summary = "smooth, sharpen edges, window, convert: a chain of filters",
    .description =
        "Options marked [step] are steps; they are done in the order in which they are given, and "
        "may be given more than once. Every channel is filtered by itself, but for --gray and "
        "--desaturate, and so is every time frame.\n"
        "Values are slope * stored + inter. --median and --window keep the voxel type (a scaled "
        "image becomes float32), --cast sets it, all other steps give float32. The output keeps "
        "the image's header and grid.\n"
        "Voxels outside --mask, NaN and infinite ones are no data: they count in no mean and no "
        "median. Outside of the mask a voxel stays as it is (--gradient and --log give 0); one "
        "that is not finite takes the value of its neighbourhood, where that holds data.\n"
        "The result has the same bytes on every machine, device and number of threads. On a GPU "
        "an image goes through in slabs: while one is computed, the next is uploaded and the one "
        "before is downloaded; the report has the times.",
    .examples = "lobule filter scan.nii.gz -o smooth.nii.gz --median 1mm --gaussian 1.5mm\n"
                "lobule filter scan.nii.gz -o edges.nii.gz --window -160,240 --gradient 1mm\n"
                "lobule filter photo.png -o soft.png --box 10 --desaturate 0.5 --cast uint8",
    LOB_COMMAND_PARTS(work, options, check, filter, release),
    .voxel_ns = 100,
    .shares = true,
    .spreads = true,
    .only_prints = "plan",
};
