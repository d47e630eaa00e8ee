/* lobule threshold: label voxels by comparing their values with thresholds, given or chosen. */
#include "kernels/threshold/threshold.h"
#include "kernels/threshold/threshold_parts.h"
#include "kernels/threshold/threshold_rule.h"
#include "tools/commands/commands.h"
#include "tools/commands/slab_filter.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *labels_path;
    int classes, neighbours, slices;
    double above, range[2], hysteresis[2], percentile, offset;
    lob_size local_size;

    lob_volume image, labels;
    uint8_t *mask;       /* NULL: everything may be labelled */
    lob_filter_step box; /* of --local, */
    lob_filter_options means;
    lob_slab_filter local; /* and the means in it */
    lob_threshold_options options;
    lob_threshold_stats stats;
    lob_components_output joined; /* with --hysteresis: the pieces, */
    uint8_t *keep;                /* which of them stay, */
    int64_t kept;                 /* and how many */
    int64_t labelled;             /* voxels */

    lob_slabs slabs;          /* image and mask as asked for; taken in slabs, with */
    uint8_t *slab_labels;     /* of a slab, with what is read around, */
    int64_t largest, highest; /* the largest label so far, and that there may be; */
    bool writes;              /* else only the largest is asked for */
} work;

static bool is_hysteretic(const work *w)
{
    return !isnan(w->hysteresis[0]);
}

static bool is_local(const work *w)
{
    return isfinite(w->local_size.value);
}

/* Bytes that work takes for a voxel, beside image and mask. */
static int64_t voxel_bytes(const work *w)
{
    enum { LABELS = 1, MEAN = 12 };
    return LABELS + (is_local(w) ? MEAN : 0);
}

/* What the option table cannot say: there is one way to choose, and its own options. */
static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    const struct {
        bool given;
        const char *name;
    } ways[] = {
        {w->classes > 0,        "--otsu"      },
        {isfinite(w->above),    "--above"     },
        {!isnan(w->range[0]),   "--range"     },
        {is_hysteretic(w),      "--hysteresis"},
        {is_local(w),           "--local"     },
        {!isnan(w->percentile), "--percentile"},
    };
    const char *first = NULL;
    for (size_t i = 0; i < LOB_COUNT(ways); i++) {
        if (!ways[i].given) continue;
        if (first)
            return lob_fail(&s->error, LOB_EARG, "%s and %s exclude each other", first,
                            ways[i].name);
        first = ways[i].name;
    }
    if (is_hysteretic(w) && (lob_team_size(s->ranks) > 1 || w->slabs.plan > 0))
        return lob_fail(&s->error, LOB_EARG, "--hysteresis needs the whole volume: start one task");
    if (w->offset != 0 && !is_local(w))
        return lob_fail(&s->error, LOB_EARG, "--offset is for --local");
    if (w->slices >= 0 && is_local(w) && w->neighbours < 0) return LOB_OK;
    if (!is_hysteretic(w) && (w->neighbours >= 0 || w->slices >= 0))
        return lob_fail(&s->error, LOB_EARG,
                        "%s is for --hysteresis: voxels are compared one by one",
                        w->neighbours >= 0 ? "--neighbours" : "--slices");
    return is_hysteretic(w) ? lob_grid_neighbours(s, &w->neighbours, w->slices) : LOB_OK;
}

static lob_threshold_options options_of(const work *w)
{
    lob_threshold_options o = lob_threshold_defaults();
    if (w->classes > 0) o.classes = w->classes;
    o.above = w->above;
    o.low = w->range[0];
    o.high = w->range[1];
    o.percent = w->percentile;
    if (isfinite(w->above)) o.kind = LOB_THRESHOLD_ABOVE;
    if (!isnan(w->range[0])) o.kind = LOB_THRESHOLD_RANGE;
    if (!isnan(w->percentile)) o.kind = LOB_THRESHOLD_PERCENTILE;
    if (is_hysteretic(w) || is_local(w)) o.kind = LOB_THRESHOLDS; /* none of them */
    return o;
}

/* ---- the report ---- */

/* How many of these labels are not 0. */
static int64_t count_labelled(const uint8_t *labels, int64_t voxels, int threads)
{
    int64_t n = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : n)
    for (int64_t i = 0; i < voxels; i++) n += labels[i] != 0;
    return n;
}

/* Fill in the report; note what the user should know. */
static void report(lob_session *s, const work *w)
{
    const lob_threshold_stats *stats = &w->stats;
    const int64_t labelled = w->labelled, voxels = lob_voxels(&w->image);
    char text[LOB_THRESHOLD_MAX_CLASSES * 32] = "";
    size_t used = 0;
    cJSON *const list = cJSON_AddArrayToObject(s->results, "thresholds");
    for (int k = 0; k < stats->thresholds; k++) {
        cJSON_AddItemToArray(list, cJSON_CreateNumber(stats->threshold[k]));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.9g", k ? ", " : "",
                                 stats->threshold[k]);
    }
    LOB_JSON_NUMBERS(s->results, {"voxels", voxels}, {"labelled_voxels", labelled},
                     {"working_bytes", stats->working_bytes});
    if (!isnan(stats->separability))
        cJSON_AddNumberToObject(s->results, "separability", stats->separability);
    if (is_hysteretic(w)) {
        LOB_JSON_NUMBERS(s->results, {"pieces", w->joined.count}, {"pieces_kept", w->kept});
    }
    if (w->options.kind == LOB_THRESHOLD_OTSU || w->options.kind == LOB_THRESHOLD_PERCENTILE)
        lob_session_note(s, "%s: %s %s", w->slabs.path,
                         stats->thresholds > 1 ? "thresholds" : "threshold", text);
    if (labelled == 0) lob_session_note(s, "%s: no voxel is labelled", w->slabs.path);
    lob_session_say(s, "thresholds: %s; labelled voxels: %lld of %lld", text, (long long)labelled,
                    (long long)voxels);
}

/* ---- joined pieces ---- */

/* Keep the pieces that hold a value above the higher threshold. */
static lob_status keep_pieces(lob_session *s, work *w)
{
    const lob_volume *image = &w->image;
    const lob_components_output *pieces = &w->joined;
    const double least = lob_next_above(w->hysteresis[1], image);
    const int64_t voxels = lob_voxels(image);
    uint8_t *const to = w->labels.data;
    w->keep = calloc((size_t)pieces->count + 1, 1);
    if (!w->keep) return lob_session_no_memory(s, w->labels_path);
    for (int64_t k = 0; k < pieces->count; k++) {
        const lob_region_values *v = &pieces->values[k];
        const double stored = image->slope < 0 ? v->lowest : v->highest;
        w->keep[k + 1] = image->slope * stored + image->inter >= least;
        w->kept += w->keep[k + 1];
    }
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t i = 0; i < voxels; i++)
        to[i] = w->keep[lob_label_at(pieces->labels, pieces->type, i)];
    return LOB_OK;
}

/* --hysteresis: label the pieces of the image that hold a value above the higher threshold. */
static lob_status join(lob_session *s, work *w)
{
    const lob_components_input in = {.image = &w->image, .mask = w->mask, .intensities = &w->image};
    const int64_t bytes = lob_product(lob_voxels(&w->image), sizeof(int32_t), 1, 1);
    lob_components_options o = lob_components_defaults();
    o.ranged = true;
    o.range[0] = lob_next_above(w->hysteresis[0], &w->image);
    o.range[1] = INFINITY;
    o.neighbours = w->neighbours;
    o.slice_axis = lob_grid_slice_axis(w->slices, &w->image.geometry);
    o.regions = true;
    LOB_TRY(lob_session_take(s, bytes, w->labels_path));
    LOB_TRY(s->backend->components(&w->joined, &in, &o, &s->context, &s->error));
    w->stats = (lob_threshold_stats){
        .thresholds = 2,
        .threshold = {w->hysteresis[0], w->hysteresis[1]},
        .separability = NAN,
        .working_bytes = w->joined.working_bytes
    };
    LOB_TRY(keep_pieces(s, w));
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* ---- the mean around ---- */

/* Label what is above the mean, less the offset. */
static void compare(uint8_t *to, const lob_volume *image, const uint8_t *mask, const float *mean,
                    double offset, int threads)
{
    enum { ROW = 1024 };
    const int64_t voxels = lob_voxels(image);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < voxels; first += ROW) {
        const int64_t n = voxels - first < ROW ? voxels - first : ROW;
        double stored[ROW];
        lob_values(stored, image->data, image->type, first, n);
        for (int64_t i = 0; i < n; i++) {
            const bool data = isfinite(stored[i]) && (!mask || mask[first + i]);
            const double value = image->slope * stored[i] + image->inter;
            to[first + i] = data && value > (double)mean[first + i] - offset;
        }
    }
}

static lob_status find_box(lob_session *s, work *w, const lob_volume *image)
{
    lob_filter_step *const box = &w->box;
    const int across = lob_grid_slice_axis(w->slices, &image->geometry);
    *box = (lob_filter_step){.kind = LOB_FILTER_BOX};
    for (int a = 0; a < 3; a++) {
        const double unit = w->local_size.voxels ? 1 : image->geometry.spacing_mm[a];
        const double radius = floor(w->local_size.value / unit + 1e-6);
        if (a == across || lob_side(image->dims, a) == 1) continue;
        if (radius > LOB_FILTER_MAX_ALONG)
            return lob_fail(&s->error, LOB_EARG,
                            "--local reaches %.6g voxels along an axis, at most %d", radius,
                            LOB_FILTER_MAX_ALONG);
        box->along[a] = radius;
    }
    if (box->along[0] + box->along[1] + box->along[2] == 0)
        return lob_fail_file(&s->error, LOB_EARG, w->slabs.path,
                             "--local %.6g%s is less than a voxel", w->local_size.value,
                             w->local_size.voxels ? "vox" : "mm");
    w->stats = (lob_threshold_stats){.separability = NAN};
    w->local = (lob_slab_filter){
        &w->slabs, {.steps = box, .step_count = 1},
         &w->means, .sent = 1
    };
    return LOB_OK;
}

static lob_status label_locally(lob_session *s, work *w, const lob_slab *slab, uint8_t *labels)
{
    lob_filter_output mean;
    LOB_TRY(lob_slab_filter_run(s, &w->local, slab, &mean));
    w->stats.working_bytes = w->local.working_bytes;
    lob_session_compute(s, "labelling");
    compare(labels, &slab->image, slab->mask, mean.data, w->offset, s->context.threads);
    lob_session_computed(s);
    lob_slab_filter_drop(s, slab, &mean);
    return LOB_OK;
}

/* ---- thresholds ---- */

/* Who looks at the slabs, to find a threshold. */
typedef struct {
    lob_session *s;
    work *w;
    lob_threshold_visit *visit;
    void *visitor;
} looker;

static lob_status show_slab(lob_session *s, const lob_slab *slab, void *user)
{
    const looker *const to = user;
    const lob_threshold_input in = {.image = &slab->image, .mask = slab->mask};
    lob_session_compute(s, "labelling");
    const lob_status st = to->visit(to->visitor, &in);
    return lob_session_done(s, st, to->w->slabs.path, NULL);
}

static lob_status each_slab(void *user, lob_threshold_visit *visit, void *visitor)
{
    looker *const to = user;
    to->visit = visit;
    to->visitor = visitor;
    return lob_slabs_each(to->s, &to->w->slabs, show_slab, to);
}

static lob_status find_thresholds(lob_session *s, work *w)
{
    looker to = {s, w, NULL, NULL};
    const lob_threshold_parts parts = {
        .each = each_slab, .user = &to, .team = s->team, .image = &w->slabs.volume};
    LOB_TRY(lob_slabs_cut(s, &w->slabs, 0, 1, voxel_bytes(w), 1));
    if (w->slabs.plan > 0) return LOB_OK;
    const lob_status st =
        lob_threshold_of_parts(&w->stats, &parts, &w->options, &s->context, &s->error);
    return lob_session_name(s, st, w->slabs.path, NULL);
}

/* ---- labels ---- */

static lob_status label_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const lob_threshold_input in = {.image = &slab->image, .mask = slab->mask};
    const uint8_t *own;
    if (is_local(w)) {
        LOB_TRY(label_locally(s, w, slab, w->slab_labels));
    } else {
        lob_session_compute(s, "labelling");
        lob_threshold_label(w->slab_labels, &in, &w->stats, &w->options, s->context.threads);
        lob_session_computed(s);
    }
    own = w->slab_labels + lob_slab_before(slab);
    if (w->writes) {
        w->labelled += count_labelled(own, lob_slab_voxels(slab), s->context.threads);
        return lob_slabs_put(s, &w->slabs, slab, own);
    }
    for (int64_t i = 0; i < lob_slab_voxels(slab) && w->largest < w->highest; i++)
        if (own[i] > w->largest) w->largest = own[i];
    w->slabs.enough = w->largest == w->highest;
    return lob_session_cancelled(s);
}

/* What a header tells of labels is written before them: the largest. */
static lob_status write_labels(lob_session *s, work *w)
{
    lob_write_options options = lob_write_defaults();
    lob_volume made = lob_grid_header(&w->slabs.volume, LOB_U8);
    const bool classes = w->options.kind == LOB_THRESHOLD_OTSU;
    options.labels = true;
    made.names = (lob_label_names){0}; /* those of the image's own labels */
    w->highest = classes ? w->stats.thresholds : 1;
    LOB_TRY(lob_slabs_each(s, &w->slabs, label_slab, w));
    LOB_TRY(lob_team_reduce(s->team, &w->largest, 1, LOB_TEAM_MAX, &s->error));
    LOB_TRY(lob_slabs_begin(s, &w->slabs, &made, w->largest, w->labels_path, options));
    w->writes = true;
    LOB_TRY(lob_slabs_each(s, &w->slabs, label_slab, w));
    return lob_team_reduce(s->team, &w->labelled, 1, LOB_TEAM_SUM, &s->error);
}

static lob_status prepare_local(lob_session *s, work *w)
{
    LOB_TRY(find_box(s, w, &w->slabs.volume));
    return lob_slab_filter_begin(s, &w->local, 1);
}

/* All of it in slabs: what does not fit in memory, or several tasks share. */
static lob_status by_slabs(lob_session *s, work *w)
{
    LOB_TRY(lob_slabs_open(s, &w->slabs));
    LOB_TRY(lob_session_check(s, &w->slabs.volume, LOB_U8, 1, w->labels_path));
    LOB_TRY(is_local(w) ? prepare_local(s, w) : find_thresholds(s, w));
    if (w->slabs.plan > 0) return LOB_OK;
    const int64_t voxels = lob_slabs_voxels(&w->slabs);
    if (!(w->slab_labels = lob_session_array(s, voxels, 1, w->labels_path))) return LOB_ENOMEM;
    LOB_TRY(write_labels(s, w));
    w->image = w->slabs.volume; /* for the report */
    report(s, w);
    w->image = lob_volume_empty();
    return lob_slabs_commit(s, &w->slabs);
}

/* ---- the command ---- */

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_session_read(s, &w->image, w->slabs.path, w->slabs.frame));
    LOB_TRY(lob_grid_choose_channel(s, &w->image, w->slabs.channel, w->slabs.path));
    LOB_TRY(lob_session_check(s, &w->image, LOB_U8, 1, w->labels_path));
    return lob_grid_mask(s, &w->mask, w->slabs.mask, &w->image, w->slabs.path);
}

static lob_status label(lob_session *s, work *w)
{
    const lob_threshold_input in = {.image = &w->image, .mask = w->mask};
    lob_slab all = lob_slab_whole(&w->image);
    all.mask = w->mask;
    LOB_TRY(lob_grid_make(s, &w->labels, &w->image, LOB_U8, 1, w->labels_path));
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */
    if (is_local(w)) {
        LOB_TRY(find_box(s, w, &w->image));
        return label_locally(s, w, &all, w->labels.data);
    }
    lob_session_compute(s, "labelling");
    const lob_status st = is_hysteretic(w)
                              ? join(s, w)
                              : s->backend->threshold(w->labels.data, &w->stats, &in, &w->options,
                                                      &s->context, &s->error);
    return lob_session_done(s, st, w->slabs.path, NULL);
}

static lob_status threshold(lob_session *s, void *user)
{
    work *const w = user;
    w->options = options_of(w);
    if (!is_hysteretic(w) && lob_slabs_serve(s, &w->slabs, voxel_bytes(w))) {
        LOB_TRY(lob_session_device(s));
        return lob_slabs_close(s, &w->slabs, by_slabs(s, w));
    }
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(label(s, w));
    w->labelled = count_labelled(w->labels.data, lob_voxels(&w->labels), s->context.threads);
    report(s, w);
    return lob_session_write(s, &w->labels, w->labels_path, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels);
    lob_components_output_free(&w->joined);
    LOB_FREE(w->mask, w->keep, w->slab_labels);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .slabs = {.frame = -1, .channel = -1},
        .neighbours = -1,
        .slices = -1,
        .above = INFINITY,
        .range = {NAN,           NAN},
        .hysteresis = {NAN,NAN},
        .percentile = NAN,
        .local_size = {.value = INFINITY        },
        .means = lob_filter_defaults(),
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->slabs.path, "scan"),
        OPT_LABELS_OUTPUT(&w->labels_path),
        OPT_INT(
            "otsu", &w->classes, "N", 2, LOB_THRESHOLD_MAX_CLASSES,
            "cut into so many classes, 0 to N-1, by Otsu's method; without any of these options 2"),
        OPT_REAL("above", &w->above, "T", -DBL_MAX, DBL_MAX, "1 is what is above this value"),
        OPT_PAIR("range", &w->range, -INFINITY, INFINITY,
                 "1 is what is in this range; inf and -inf leave an end open"),
        OPT_PAIR("hysteresis", &w->hysteresis, -DBL_MAX, DBL_MAX,
                 "1 are the pieces above LO that hold a voxel above HI"),
        OPT_REAL("percentile", &w->percentile, "P", 0, 100,
                 "1 is what is above this percentile of the values, as numpy.percentile gives it"),
        OPT_LENGTH("local", &w->local_size, 0, 1e6,
                   "1 is what is above the mean of the box around, of this radius; as 5mm or 3vox",
                   .above_low = true),
        OPT_REAL("offset", &w->offset, "D", -DBL_MAX, DBL_MAX,
                 "lower the threshold of --local by this, in image units"),
        OPT_INT_OF("neighbours", &w->neighbours, "4|6|8|18|26",
                   "neighbours that join pieces of --hysteresis; left out: 26, with --slices 8"),
        OPT_CHOICE(
            "slices", &w->slices, LOB_GRID_SLICES,
            "join pieces of --hysteresis, or look around with --local, in each slice by itself; x, "
            "y, z are voxel axes"),
        OPT_MASK(&w->slabs.mask, "look at and label only what is not 0 in this volume"),
        OPT_FRAME(&w->slabs.frame, "image"),
        OPT_CHANNEL(&w->slabs.channel),
        OPT_PLAN(&w->slabs.plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_threshold = {
    .name = "threshold",
    .summary = "label voxels by one or several thresholds",
    .description =
        "One of --otsu, --above, --range, --hysteresis, --percentile and --local says what is "
        "labelled. Otsu's method finds the thresholds that make the variance between the classes "
        "largest. Integers whose range is at most 65535 are looked at value by value, all other "
        "images through 256 bins of equal width; a class is what is above its threshold. "
        "Thresholds that were chosen are printed and stand in the report, with the share of the "
        "variance that they explain (separability).\n"
        "--hysteresis joins what is above LO into pieces and keeps those in which something is "
        "above HI (Canny). --local compares each voxel with the mean of the box around it, for "
        "images whose brightness drifts; beyond the volume and outside of --mask nothing counts.\n"
        "NaN and infinite voxels and those outside of --mask count in nothing and get 0. What is "
        "compared is slope * stored + inter in doubles, as nibabel gives it, but float32s that are "
        "not scaled as they are, with thresholds rounded to float32, as numpy does. Labels are the "
        "same bytes on every machine, device and number of threads.",
    .examples = "lobule threshold scan.nii.gz -o bright.nii.gz\n"
                "lobule threshold scan.nii.gz -o tissue.nii.gz --otsu 4 --mask body.nii.gz\n"
                "lobule threshold scan.nii.gz -o vessels.nii.gz --hysteresis 150,250",
    .result = "labelled_voxels",
    .result_text = "voxels labelled",
    LOB_COMMAND_PARTS(work, options, check, threshold, release),
    .voxel_ns = 10,
    .shares = true,
    .spreads = true,
    .only_prints = "plan",
};
