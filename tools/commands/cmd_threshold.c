/* lobule threshold: label voxels by comparing their values with thresholds, given or chosen. */
#include "kernels/threshold/threshold_parts.h"
#include "kernels/threshold/threshold_rule.h"
#include "tools/commands/commands.h"
#include "tools/commands/slab_filter.h"
#include "tools/inout/slabs.h"
#include "volumes/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *image, *labels, *mask;
    int frame, channel, classes, neighbours, slices, plan;
    double above, range[2], hysteresis[2], percentile, offset;
    lob_size local;
} settings;

typedef struct {
    settings set; /* first */
    lob_volume image, labels;
    uint8_t *mask; /* NULL: everything may be labelled */
    lob_threshold_options options;
    lob_threshold_stats stats;
    lob_components_output joined; /* with --hysteresis: the pieces, */
    uint8_t *keep;                /* which of them stay, */
    int64_t kept;                 /* and how many */
    int64_t labelled;             /* voxels */
} work;

static bool is_hysteretic(const settings *set)
{
    return !isnan(set->hysteresis[0]);
}

static bool is_local(const settings *set)
{
    return isfinite(set->local.value);
}

/* What the option table cannot say: there is one way to choose, and its own options. */
static lob_status check(lob_session *s, void *user)
{
    settings *const set = user;
    const struct {
        bool given;
        const char *name;
    } ways[] = {
        {set->classes > 0,        "--otsu"      },
        {isfinite(set->above),    "--above"     },
        {!isnan(set->range[0]),   "--range"     },
        {is_hysteretic(set),      "--hysteresis"},
        {is_local(set),           "--local"     },
        {!isnan(set->percentile), "--percentile"},
    };
    const char *first = NULL;
    for (size_t i = 0; i < LOB_COUNT(ways); i++) {
        if (!ways[i].given) continue;
        if (first)
            return lob_fail(&s->error, LOB_EARG, "%s and %s exclude each other", first,
                            ways[i].name);
        first = ways[i].name;
    }
    if (is_hysteretic(set) && (lob_team_size(s->ranks) > 1 || set->plan > 0))
        return lob_fail(&s->error, LOB_EARG, "--hysteresis needs the whole volume: start one task");
    if (set->offset != 0 && !is_local(set))
        return lob_fail(&s->error, LOB_EARG, "--offset is for --local");
    if (set->slices >= 0 && is_local(set) && set->neighbours < 0) return LOB_OK;
    if (!is_hysteretic(set) && (set->neighbours >= 0 || set->slices >= 0))
        return lob_fail(&s->error, LOB_EARG,
                        "%s is for --hysteresis: voxels are compared one by one",
                        set->neighbours >= 0 ? "--neighbours" : "--slices");
    return is_hysteretic(set) ? lob_grid_neighbours(s, &set->neighbours, set->slices) : LOB_OK;
}

static lob_threshold_options options_of(const settings *set)
{
    lob_threshold_options o = lob_threshold_defaults();
    if (set->classes > 0) o.classes = set->classes;
    if (isfinite(set->above)) {
        o.kind = LOB_THRESHOLD_ABOVE;
        o.above = set->above;
    }
    if (!isnan(set->range[0])) {
        o.kind = LOB_THRESHOLD_RANGE;
        o.low = set->range[0];
        o.high = set->range[1];
    }
    if (!isnan(set->percentile)) {
        o.kind = LOB_THRESHOLD_PERCENTILE;
        o.percent = set->percentile;
    }
    return o;
}

/* ---- hysteresis ---- */

/* Keep the pieces that hold a value above the higher threshold. */
static lob_status keep_pieces(lob_session *s, work *w)
{
    const settings *const set = &w->set;
    const lob_volume *image = &w->image;
    const lob_components_output *pieces = &w->joined;
    const double least = lob_next_above(set->hysteresis[1], image);
    const int64_t voxels = lob_voxels(image);
    uint8_t *const to = w->labels.data;
    w->keep = calloc((size_t)pieces->count + 1, 1);
    if (!w->keep) return lob_session_no_memory(s, set->labels);
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

/* Label by --hysteresis. */
static lob_status join_pieces(lob_session *s, work *w)
{
    const settings *const set = &w->set;
    const lob_components_input in = {.image = &w->image, .mask = w->mask, .intensities = &w->image};
    const int64_t bytes = lob_product(lob_voxels(&w->image), sizeof(int32_t), 1, 1);
    lob_components_options o = lob_components_defaults();
    o.ranged = true;
    o.range[0] = lob_next_above(set->hysteresis[0], &w->image);
    o.range[1] = INFINITY;
    o.neighbours = set->neighbours;
    o.slice_axis = lob_grid_slice_axis(set->slices, &w->image.geometry);
    o.regions = true;
    LOB_TRY(lob_session_take(s, bytes, set->labels));
    const lob_status st = s->backend->components(&w->joined, &in, &o, &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, set->image, NULL));
    w->stats = (lob_threshold_stats){
        .thresholds = 2,
        .threshold = {set->hysteresis[0], set->hysteresis[1]},
        .separability = NAN,
        .working_bytes = w->joined.working_bytes
    };
    LOB_TRY(keep_pieces(s, w));
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* ---- the mean around ---- */

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

static lob_status box_of(lob_session *s, lob_filter_step *box, const settings *set,
                         const lob_volume *image)
{
    const int across = lob_grid_slice_axis(set->slices, &image->geometry);
    *box = (lob_filter_step){.kind = LOB_FILTER_BOX};
    for (int a = 0; a < 3; a++) {
        const double unit = set->local.voxels ? 1 : image->geometry.spacing_mm[a];
        const double radius = floor(set->local.value / unit + 1e-6);
        if (a == across || lob_side(image->dims, a) == 1) continue;
        if (radius > LOB_FILTER_MAX_ALONG)
            return lob_fail(&s->error, LOB_EARG,
                            "--local reaches %.6g voxels along an axis, at most %d", radius,
                            LOB_FILTER_MAX_ALONG);
        box->along[a] = radius;
    }
    if (box->along[0] + box->along[1] + box->along[2] == 0)
        return lob_fail_file(&s->error, LOB_EARG, set->image, "--local %.6g%s is less than a voxel",
                             set->local.value, set->local.voxels ? "vox" : "mm");
    return LOB_OK;
}

/* Label by --local. */
static lob_status label_locally(lob_session *s, work *w)
{
    const settings *const set = &w->set;
    const lob_volume *image = &w->image;
    lob_filter_step box;
    LOB_TRY(box_of(s, &box, set, image));
    const lob_filter_input in = {image, w->mask, &box, 1};
    const lob_filter_options options = lob_filter_defaults();
    const int64_t bytes = lob_product(lob_voxels(image), sizeof(float), 1, 1);
    lob_filter_output mean;
    LOB_TRY(lob_session_take(s, bytes, set->labels));
    LOB_TRY(lob_session_name(s, s->backend->filter(&mean, &in, &options, &s->context, &s->error),
                             set->image, NULL));
    w->stats = (lob_threshold_stats){.separability = NAN, .working_bytes = mean.working_bytes};
    compare(w->labels.data, image, w->mask, mean.data, set->offset, s->context.threads);
    lob_filter_output_free(&mean);
    lob_session_give(s, bytes);
    return LOB_OK;
}

static int64_t count_labelled(const uint8_t *of, int64_t voxels, int threads)
{
    int64_t n = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : n)
    for (int64_t i = 0; i < voxels; i++) n += of[i] != 0;
    return n;
}

static void report(lob_session *s, const work *w)
{
    const settings *const set = &w->set;
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
    cJSON_AddNumberToObject(s->results, "voxels", (double)voxels);
    cJSON_AddNumberToObject(s->results, "labelled_voxels", (double)labelled);
    cJSON_AddNumberToObject(s->results, "working_memory_bytes", (double)stats->working_bytes);
    if (!isnan(stats->separability))
        cJSON_AddNumberToObject(s->results, "separability", stats->separability);
    if (is_hysteretic(set)) {
        cJSON_AddNumberToObject(s->results, "pieces", (double)w->joined.count);
        cJSON_AddNumberToObject(s->results, "pieces_kept", (double)w->kept);
    }
    if (w->options.kind == LOB_THRESHOLD_OTSU || w->options.kind == LOB_THRESHOLD_PERCENTILE)
        lob_session_note(s, "%s: %s %s", set->image,
                         stats->thresholds > 1 ? "thresholds" : "threshold", text);
    if (labelled == 0) lob_session_note(s, "%s: no voxel is labelled", set->image);
    lob_session_say(s, "thresholds: %s; labelled voxels: %lld of %lld", text, (long long)labelled,
                    (long long)voxels);
}

/* ---- in slabs ---- */

typedef struct {
    work *common;
    lob_slabs *slabs;
    lob_slab_filter local; /* of --local */
    uint8_t *labels;       /* of a slab, with what is read around */
    int64_t largest, highest;
    bool writes; /* else only the largest label is asked for */
} slab_work;

static int64_t voxel_bytes(const settings *set)
{
    enum { LABELS = 1, MEAN = 12 };
    return LABELS + (is_local(set) ? MEAN : 0);
}

/* ---- thresholds ---- */

/* Who looks at the slabs, to find a threshold. */
typedef struct {
    slab_work *w;
    lob_threshold_visit *visit;
    void *visitor;
} looker;

static lob_status show_slab(lob_session *s, const lob_slab *slab, void *user)
{
    const looker *const to = user;
    const lob_threshold_input in = {.image = &slab->image, .mask = slab->mask};
    lob_session_compute(s, "labelling");
    const lob_status st = to->visit(to->visitor, &in);
    return lob_session_done(s, st, to->w->slabs->path, NULL);
}

typedef struct {
    lob_session *s;
    slab_work *w;
} caller;

static lob_status each_slab(void *user, lob_threshold_visit *visit, void *visitor)
{
    const caller *const c = user;
    looker to = {c->w, visit, visitor};
    return lob_slabs_each(c->s, c->w->slabs, show_slab, &to);
}

static lob_status find_thresholds(lob_session *s, slab_work *w)
{
    work *const common = w->common;
    caller c = {s, w};
    const lob_threshold_parts parts = {
        .each = each_slab, .user = &c, .team = s->team, .image = &w->slabs->volume};
    const int64_t bytes = voxel_bytes(&common->set);
    LOB_TRY(lob_slabs_cut(s, w->slabs, 0, 1, bytes, 1));
    if (w->slabs->plan > 0) return LOB_OK;
    const lob_status st =
        lob_threshold_of_parts(&common->stats, &parts, &common->options, &s->context, &s->error);
    return lob_session_name(s, st, w->slabs->path, NULL);
}

static lob_status prepare_local(lob_session *s, slab_work *w, lob_filter_step *box,
                                const lob_filter_options *options)
{
    work *const common = w->common;
    common->stats = (lob_threshold_stats){.separability = NAN};
    LOB_TRY(box_of(s, box, &common->set, &w->slabs->volume));
    w->local = (lob_slab_filter){
        .slabs = w->slabs, .steps = box, .step_count = 1, .options = options, .sent = 1};
    return lob_slab_filter_begin(s, &w->local, 1);
}

/* ---- labels ---- */

static lob_status label_slab_locally(lob_session *s, slab_work *w, const lob_slab *slab)
{
    lob_filter_output mean;
    LOB_TRY(lob_slab_filter_run(s, &w->local, slab, &mean));
    w->common->stats.working_bytes = w->local.working_bytes;
    compare(w->labels, &slab->image, slab->mask, mean.data, w->common->set.offset,
            s->context.threads);
    lob_slab_filter_drop(s, slab, &mean);
    return LOB_OK;
}

static lob_status label_slab(lob_session *s, const lob_slab *slab, void *user)
{
    slab_work *const w = user;
    const lob_threshold_input in = {.image = &slab->image, .mask = slab->mask};
    const uint8_t *own;
    if (is_local(&w->common->set)) {
        LOB_TRY(label_slab_locally(s, w, slab));
    } else {
        lob_session_compute(s, "labelling");
        lob_threshold_label(w->labels, &in, &w->common->stats, &w->common->options,
                            s->context.threads);
        lob_session_computed(s);
    }
    own = w->labels + lob_slab_before(slab);
    if (w->writes) {
        w->common->labelled += count_labelled(own, lob_slab_voxels(slab), s->context.threads);
        return lob_slabs_put(s, w->slabs, slab, own);
    }
    for (int64_t i = 0; i < lob_slab_voxels(slab) && w->largest < w->highest; i++)
        if (own[i] > w->largest) w->largest = own[i];
    w->slabs->enough = w->largest == w->highest;
    return lob_session_cancelled(s);
}

/* What a header tells of labels is written before them: the largest. */
static lob_status write_labels(lob_session *s, slab_work *w)
{
    work *const common = w->common;
    lob_write_options options = lob_write_defaults();
    lob_volume made = lob_grid_header(&w->slabs->volume, LOB_U8);
    const bool classes = common->options.kind == LOB_THRESHOLD_OTSU;
    options.labels = true;
    made.names = (lob_label_names){0}; /* those of the image's own labels */
    w->highest = classes ? common->stats.thresholds : 1;
    LOB_TRY(lob_slabs_each(s, w->slabs, label_slab, w));
    LOB_TRY(lob_team_reduce(s->team, &w->largest, 1, LOB_TEAM_MAX, &s->error));
    LOB_TRY(lob_slabs_begin(s, w->slabs, &made, w->largest, common->set.labels, options));
    w->writes = true;
    LOB_TRY(lob_slabs_each(s, w->slabs, label_slab, w));
    return lob_team_reduce(s->team, &common->labelled, 1, LOB_TEAM_SUM, &s->error);
}

static lob_status make(lob_session *s, slab_work *w)
{
    work *const common = w->common;
    const lob_filter_options options = lob_filter_defaults();
    lob_filter_step box;
    LOB_TRY(lob_slabs_open(s, w->slabs));
    LOB_TRY(lob_session_check(s, &w->slabs->volume, LOB_U8, 1, common->set.labels));
    LOB_TRY(is_local(&common->set) ? prepare_local(s, w, &box, &options) : find_thresholds(s, w));
    if (w->slabs->plan > 0) return LOB_OK;
    const int64_t voxels = lob_slabs_voxels(w->slabs);
    if (!(w->labels = lob_session_array(s, voxels, 1, common->set.labels))) return LOB_ENOMEM;
    LOB_TRY(write_labels(s, w));
    const lob_volume kept = common->image;
    common->image = w->slabs->volume; /* for the report */
    report(s, common);
    common->image = kept;
    return lob_slabs_commit(s, w->slabs);
}

/* The whole command in slabs; options are chosen. */
static lob_status label_by_slabs(lob_session *s, work *common, lob_slabs *slabs)
{
    slab_work w = {.common = common, .slabs = slabs};
    const lob_status st = make(s, &w);
    free(w.labels);
    return st;
}

/* ---- in memory ---- */

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    LOB_TRY(lob_session_read(s, &w->image, set->image, set->frame));
    LOB_TRY(lob_grid_choose_channel(s, &w->image, set->channel, set->image));
    LOB_TRY(lob_session_check(s, &w->image, LOB_U8, 1, set->labels));
    return lob_grid_mask(s, &w->mask, set->mask, &w->image, set->image);
}

static lob_status label(lob_session *s, const settings *set, work *w)
{
    const lob_threshold_input in = {.image = &w->image, .mask = w->mask};
    LOB_TRY(lob_grid_make(s, &w->labels, &w->image, LOB_U8, 1, set->labels));
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */
    lob_session_compute(s, "labelling");
    if (is_hysteretic(set)) {
        LOB_TRY(join_pieces(s, w));
    } else if (is_local(set)) {
        LOB_TRY(label_locally(s, w));
    } else {
        const lob_status st = s->backend->threshold(w->labels.data, &w->stats, &in, &w->options,
                                                    &s->context, &s->error);
        LOB_TRY(lob_session_name(s, st, set->image, NULL));
    }
    lob_session_computed(s);
    return LOB_OK;
}

static lob_status threshold(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    w->options = options_of(set);
    if (is_hysteretic(set) || is_local(set)) w->options.kind = LOB_THRESHOLDS; /* none of them */
    lob_slabs slabs = {.path = set->image,
                       .mask = set->mask,
                       .frame = set->frame,
                       .channel = set->channel,
                       .plan = set->plan};
    if (!is_hysteretic(set) && lob_slabs_serve(s, &slabs, voxel_bytes(set))) {
        LOB_TRY(lob_session_device(s));
        const lob_status st = label_by_slabs(s, w, &slabs);
        lob_slabs_close(s, &slabs);
        return st;
    }
    LOB_TRY(read_inputs(s, set, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(label(s, set, w));
    w->labelled = count_labelled(w->labels.data, lob_voxels(&w->labels), s->context.threads);
    report(s, w);
    return lob_session_write(s, &w->labels, set->labels, true);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->labels);
    lob_components_output_free(&w->joined);
    free(w->mask);
    free(w->keep);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    *set = (settings){
        .frame = -1,
        .channel = -1,
        .neighbours = -1,
        .slices = -1,
        .above = INFINITY,
        .range = {NAN,  NAN},
        .hysteresis = {NAN,    NAN},
        .percentile = NAN,
        .local = {.value = INFINITY},
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&set->image, "scan"),
        OPT_LABELS_OUTPUT(&set->labels),
        OPT_INT(
            "otsu", &set->classes, "N", 2, LOB_THRESHOLD_MAX_CLASSES,
            "cut into so many classes, 0 to N-1, by Otsu's method; without any of these options "
            "2"),
        OPT_REAL("above", &set->above, "T", -DBL_MAX, DBL_MAX, "1 is what is above this value"),
        OPT_PAIR("range", &set->range, -INFINITY, INFINITY,
                 "1 is what is in this range; inf and -inf leave an end open"),
        OPT_PAIR("hysteresis", &set->hysteresis, -DBL_MAX, DBL_MAX,
                 "1 are the pieces above LO that hold a voxel above HI"),
        OPT_REAL("percentile", &set->percentile, "P", 0, 100,
                 "1 is what is above this percentile of the values, as numpy.percentile gives it"),
        OPT_LENGTH("local", &set->local, 0, 1e6,
                   "1 is what is above the mean of the box around, of this radius; as 5mm or 3vox",
                   .above_low = true),
        OPT_REAL("offset", &set->offset, "D", -DBL_MAX, DBL_MAX,
                 "lower the threshold of --local by this, in image units"),
        OPT_INT_OF("neighbours", &set->neighbours, "4|6|8|18|26",
                   "neighbours that join pieces of --hysteresis; left out: 26, with --slices 8"),
        OPT_CHOICE(
            "slices", &set->slices, LOB_GRID_SLICES,
            "join pieces of --hysteresis, or look around with --local, in each slice by itself; x, "
            "y, z are voxel axes"),
        OPT_INPUT("mask", &set->mask, LOB_FILE_LABELS,
                  "look at and label only what is not 0 in this volume"),
        OPT_FRAME(&set->frame, "image"),
        OPT_CHANNEL(&set->channel),
        OPT_PLAN(&set->plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_threshold = {
    .name = "threshold",
    .summary = "label voxels by one or several thresholds",
    .description =
        "One of --otsu, --above, --range, --hysteresis, --percentile and --local says what is "
        "labelled. "
        "Otsu's method finds the thresholds that make the variance between the classes largest. "
        "Integers whose range is at most 65535 are looked at value by value, all other images "
        "through 256 bins of equal width; a class is what is above its threshold. Thresholds that "
        "were chosen are printed and stand in the report, with the share of the variance that "
        "they explain (separability).\n"
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
    .settings_bytes = sizeof(work),
    .options = options,
    .check = check,
    .work = threshold,
    .release = release,
    .voxel_ns = 10,
    .shares = true,
    .only_prints = "plan",
};
