/* lobule threshold: label voxels by comparing their values with thresholds, given or chosen. */
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"
#include "volumes/labels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
    const char *image, *labels, *mask;
    int frame, channel, classes, neighbours, slices;
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
} work;

static bool hysteretic(const settings *set)
{
    return !isnan(set->hysteresis[0]);
}

static bool local(const settings *set)
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
        {hysteretic(set),         "--hysteresis"},
        {local(set),              "--local"     },
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
    if (set->offset != 0 && !local(set))
        return lob_fail(&s->error, LOB_EARG, "--offset is for --local");
    if (set->slices >= 0 && local(set) && set->neighbours < 0) return LOB_OK;
    if (!hysteretic(set) && (set->neighbours >= 0 || set->slices >= 0))
        return lob_fail(&s->error, LOB_EARG,
                        "%s is for --hysteresis: voxels are compared one by one",
                        set->neighbours >= 0 ? "--neighbours" : "--slices");
    return hysteretic(set) ? lob_grid_neighbours(s, &set->neighbours, set->slices) : LOB_OK;
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
static lob_status keep_pieces(lob_session *s, const settings *set, work *w)
{
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

static lob_status join(lob_session *s, const settings *set, work *w)
{
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
    LOB_TRY(keep_pieces(s, set, w));
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* ---- the mean around ---- */

/* Label what is above the mean, less the offset. */
static void compare(lob_session *s, const settings *set, work *w, const float *mean)
{
    enum { ROW = 1024 };
    const lob_volume *image = &w->image;
    const int64_t voxels = lob_voxels(image);
    uint8_t *const to = w->labels.data;
#pragma omp parallel for num_threads(s->context.threads) schedule(static)
    for (int64_t first = 0; first < voxels; first += ROW) {
        const int64_t n = voxels - first < ROW ? voxels - first : ROW;
        double stored[ROW];
        lob_values(stored, image->data, image->type, first, n);
        for (int64_t i = 0; i < n; i++) {
            const bool data = isfinite(stored[i]) && (!w->mask || w->mask[first + i]);
            const double value = image->slope * stored[i] + image->inter;
            to[first + i] = data && value > (double)mean[first + i] - set->offset;
        }
    }
}

static lob_status label_locally(lob_session *s, const settings *set, work *w)
{
    const lob_volume *image = &w->image;
    const int across = lob_grid_slice_axis(set->slices, &image->geometry);
    lob_filter_step box = {.kind = LOB_FILTER_BOX};
    for (int a = 0; a < 3; a++) {
        const double unit = set->local.voxels ? 1 : image->geometry.spacing_mm[a];
        const double radius = floor(set->local.value / unit + 1e-6);
        if (a == across || lob_side(image->dims, a) == 1) continue;
        if (radius > LOB_FILTER_MAX_ALONG)
            return lob_fail(&s->error, LOB_EARG,
                            "--local reaches %.6g voxels along an axis, at most %d", radius,
                            LOB_FILTER_MAX_ALONG);
        box.along[a] = radius;
    }
    if (box.along[0] + box.along[1] + box.along[2] == 0)
        return lob_fail(&s->error, LOB_EARG, "%s: --local %.6g%s is less than a voxel", set->image,
                        set->local.value, set->local.voxels ? "vox" : "mm");
    const lob_filter_input in = {image, w->mask, &box, 1};
    const lob_filter_options options = lob_filter_defaults();
    const int64_t bytes = lob_product(lob_voxels(image), sizeof(float), 1, 1);
    lob_filter_output mean;
    LOB_TRY(lob_session_take(s, bytes, set->labels));
    LOB_TRY(lob_session_name(s, s->backend->filter(&mean, &in, &options, &s->context, &s->error),
                             set->image, NULL));
    w->stats = (lob_threshold_stats){.separability = NAN, .working_bytes = mean.working_bytes};
    compare(s, set, w, mean.data);
    lob_filter_output_free(&mean);
    lob_session_give(s, bytes);
    return LOB_OK;
}

/* ---- labels and report ---- */

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
    LOB_TRY(lob_session_take(s, lob_voxels(&w->image), set->labels));
    if (lob_volume_like(&w->labels, &w->image, LOB_U8, 1) != LOB_OK)
        return lob_session_no_memory(s, set->labels);
    lob_label_names_free(&w->labels.names); /* those of the image's own labels */
    lob_session_compute(s, "labelling");
    if (hysteretic(set)) {
        LOB_TRY(join(s, set, w));
    } else if (local(set)) {
        LOB_TRY(label_locally(s, set, w));
    } else {
        const lob_status st = s->backend->threshold(w->labels.data, &w->stats, &in, &w->options,
                                                    &s->context, &s->error);
        LOB_TRY(lob_session_name(s, st, set->image, NULL));
    }
    lob_session_computed(s);
    return LOB_OK;
}

static int64_t count_labelled(const lob_volume *labels, int threads)
{
    const uint8_t *of = labels->data;
    const int64_t voxels = lob_voxels(labels);
    int64_t n = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : n)
    for (int64_t i = 0; i < voxels; i++) n += of[i] != 0;
    return n;
}

static void report(lob_session *s, const settings *set, const work *w)
{
    const lob_threshold_stats *stats = &w->stats;
    const int64_t labelled = count_labelled(&w->labels, s->context.threads);
    char text[LOB_THRESHOLD_MAX_CLASSES * 32] = "";
    size_t used = 0;
    cJSON *const list = cJSON_AddArrayToObject(s->results, "thresholds");
    for (int k = 0; k < stats->thresholds; k++) {
        cJSON_AddItemToArray(list, cJSON_CreateNumber(stats->threshold[k]));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.9g", k ? ", " : "",
                                 stats->threshold[k]);
    }
    cJSON_AddNumberToObject(s->results, "voxels", (double)lob_voxels(&w->image));
    cJSON_AddNumberToObject(s->results, "labelled_voxels", (double)labelled);
    cJSON_AddNumberToObject(s->results, "working_memory_bytes", (double)stats->working_bytes);
    if (!isnan(stats->separability))
        cJSON_AddNumberToObject(s->results, "separability", stats->separability);
    if (hysteretic(set)) {
        cJSON_AddNumberToObject(s->results, "pieces", (double)w->joined.count);
        cJSON_AddNumberToObject(s->results, "pieces_kept", (double)w->kept);
    }
    if (w->options.kind == LOB_THRESHOLD_OTSU || w->options.kind == LOB_THRESHOLD_PERCENTILE)
        lob_session_note(s, "%s: %s %s", set->image,
                         stats->thresholds > 1 ? "thresholds" : "threshold", text);
    if (labelled == 0) lob_session_note(s, "%s: no voxel is labelled", set->image);
    lob_session_say(s, "thresholds: %s; labelled voxels: %lld of %lld", text, (long long)labelled,
                    (long long)lob_voxels(&w->image));
}

static lob_status threshold(lob_session *s, void *user)
{
    work *const w = user;
    const settings *const set = &w->set;
    w->options = options_of(set);
    if (hysteretic(set) || local(set)) w->options.kind = LOB_THRESHOLDS; /* none of them */
    LOB_TRY(read_inputs(s, set, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(label(s, set, w));
    report(s, set, w);
    return lob_session_write(s, &w->labels, set->labels, true);
}

static void release(void *user)
{
    work *const w = user;
    lob_volume_free(&w->image);
    lob_volume_free(&w->labels);
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
        OPERAND_INPUT("IMAGE", &set->image, LOB_FILE_IMAGE, "scan, or FILE.h5:/dataset",
                      .required = true),
        OPT_OUTPUT("output", &set->labels, LOB_FILE_LABELS, "label volume to write", .letter = 'o',
                   .required = true),
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
        OPT_INT("frame", &set->frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
        OPT_INT("channel", &set->channel, "N", 0, INT32_MAX,
                "channel of the image, from 0; needed when there are several"),
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
    .computes = true,
};
