/* lobule threshold: label voxels by comparing their values with thresholds, given or chosen. */
#include "tools/commands/commands.h"
#include "tools/commands/threshold/threshold_work.h"
#include "volumes/free.h"

#include <float.h>
#include <stdlib.h>

typedef lob_threshold_work work;

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
        {lob_is_hysteretic(w),  "--hysteresis"},
        {lob_is_local(w),       "--local"     },
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
    if (lob_is_hysteretic(w) && (lob_team_size(s->ranks) > 1 || w->slabs.plan > 0))
        return lob_fail(&s->error, LOB_EARG, "--hysteresis needs the whole volume: start one task");
    if (w->offset != 0 && !lob_is_local(w))
        return lob_fail(&s->error, LOB_EARG, "--offset is for --local");
    if (w->slices >= 0 && lob_is_local(w) && w->neighbours < 0) return LOB_OK;
    if (!lob_is_hysteretic(w) && (w->neighbours >= 0 || w->slices >= 0))
        return lob_fail(&s->error, LOB_EARG,
                        "%s is for --hysteresis: voxels are compared one by one",
                        w->neighbours >= 0 ? "--neighbours" : "--slices");
    return lob_is_hysteretic(w) ? lob_grid_neighbours(s, &w->neighbours, w->slices) : LOB_OK;
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
    if (lob_is_hysteretic(w) || lob_is_local(w)) o.kind = LOB_THRESHOLDS; /* none of them */
    return o;
}

/* ---- the report ---- */

int64_t lob_threshold_count(const uint8_t *labels, int64_t voxels, int threads)
{
    int64_t n = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : n)
    for (int64_t i = 0; i < voxels; i++) n += labels[i] != 0;
    return n;
}

void lob_threshold_report(lob_session *s, const work *w)
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
    if (lob_is_hysteretic(w)) {
        LOB_JSON_NUMBERS(s->results, {"pieces", w->joined.count}, {"pieces_kept", w->kept});
    }
    if (w->options.kind == LOB_THRESHOLD_OTSU || w->options.kind == LOB_THRESHOLD_PERCENTILE)
        lob_session_note(s, "%s: %s %s", w->slabs.path,
                         stats->thresholds > 1 ? "thresholds" : "threshold", text);
    if (labelled == 0) lob_session_note(s, "%s: no voxel is labelled", w->slabs.path);
    lob_session_say(s, "thresholds: %s; labelled voxels: %lld of %lld", text, (long long)labelled,
                    (long long)voxels);
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
    if (lob_is_local(w)) {
        LOB_TRY(lob_threshold_find_box(s, w, &w->image));
        return lob_threshold_locally(s, w, &all, w->labels.data);
    }
    lob_session_compute(s, "labelling");
    const lob_status st = lob_is_hysteretic(w)
                              ? lob_threshold_join(s, w)
                              : s->backend->threshold(w->labels.data, &w->stats, &in, &w->options,
                                                      &s->context, &s->error);
    return lob_session_done(s, st, w->slabs.path, NULL);
}

static lob_status threshold(lob_session *s, void *user)
{
    work *const w = user;
    w->options = options_of(w);
    if (!lob_is_hysteretic(w) && lob_slabs_serve(s, &w->slabs, lob_threshold_voxel_bytes(w))) {
        LOB_TRY(lob_session_device(s));
        return lob_slabs_close(s, &w->slabs, lob_threshold_slabs(s, w));
    }
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(label(s, w));
    w->labelled = lob_threshold_count(w->labels.data, lob_voxels(&w->labels), s->context.threads);
    lob_threshold_report(s, w);
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
