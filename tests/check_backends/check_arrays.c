/*
 * Every algorithm on arrays in GPU memory, used as a program with GPU arrays of its own would: it
 * gives what the CPU gives, whether volumes are on the GPU or in ordinary memory while the other
 * arrays are there, and nothing but small tables is downloaded. Ends with 77, which CTest counts as
 * skipped, where there is no GPU.
 */
#include "api/lobule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

/* The most bytes of tables that a call may download; a volume of labels has more. The places of
 * strokes and quantiles of distances take the second. */
enum { FEW_BYTES = 1 << 16, MORE_BYTES = 1 << 25 };

/* Where a run's arrays are: ordinary memory, then the device, with volumes there or not. */
typedef struct {
    const lob_backend *backend;
    const lob_context *context;
    lob_place place;
    const lob_volume *image, *seeds, *labels;
    int32_t label_count;
} run;

/* A result: where it is, and its bytes; the stats beside it. */
typedef struct {
    lob_volume volume;
    unsigned char stats[512];
} result;

static lob_error error;

static void must(lob_status status, const char *what)
{
    if (status == LOB_OK) return;
    printf("%s: %s: %s\n", what, lob_status_text(status), error.text);
    exit(1);
}

/* Room for a result. */
static void *room(result *to, const run *r, lob_type type, int channels)
{
    must(lob_volume_at(&to->volume, r->image, type, channels, r->context, &error), "memory");
    return to->volume.data;
}

/* Take over what a call has allocated. */
static void take(result *to, const run *r, void **data, lob_type type, int channels,
                 lob_device *device)
{
    must(lob_volume_adopt_at(&to->volume, r->image, data, type, channels, device), "memory");
}

/* ---- algorithms ---- */

static lob_status filter(const run *r, result *to)
{
    const lob_filter_step steps[] = {
        {.kind = LOB_FILTER_MEDIAN,   .along = {1, 1, 1}},
        {.kind = LOB_FILTER_GAUSSIAN, .along = {2, 2, 1}},
    };
    const lob_filter_options options = lob_filter_defaults();
    const lob_filter_input in = {.image = r->image,
                                 .mask = r->labels->data,
                                 .steps = steps,
                                 .step_count = 2,
                                 .place = r->place};
    lob_filter_output out;
    LOB_TRY(r->backend->filter(&out, &in, &options, r->context, &error));
    take(to, r, &out.data, out.type, out.channels, out.device);
    return LOB_OK;
}

static lob_status resample(const run *r, result *to)
{
    lob_resample_options options = lob_resample_defaults();
    lob_resample_input in = {.volume = r->image,
                             .dims = r->image->dims,
                             .geometry = r->image->geometry,
                             .place = r->place};
    in.geometry.affine[0][3] += 0.3;
    options.fill = 7;
    return r->backend->resample(room(to, r, r->image->type, 1), &in, &options, r->context, &error);
}

static lob_status appearance_of(const run *r, result *to, const void *outline)
{
    const lob_appearance_options options = lob_appearance_defaults();
    const lob_appearance_input in = {.views = &r->image,
                                     .view_count = 1,
                                     .seeds = r->seeds->data,
                                     .seed_type = r->seeds->type,
                                     .labels = r->label_count,
                                     .background = 1,
                                     .outline = outline,
                                     .outline_type = r->labels->type,
                                     .place = r->place};
    lob_appearance_stats stats;
    const lob_status st = r->backend->appearance(room(to, r, LOB_F32, r->label_count - 1), &stats,
                                                 &in, &options, r->context, &error);
    memcpy(to->stats, &stats.slices, sizeof stats.slices);
    return st;
}

static lob_status appearance(const run *r, result *to)
{
    return appearance_of(r, to, NULL);
}

static lob_status outlines(const run *r, result *to)
{
    return appearance_of(r, to, r->labels->data);
}

static lob_status growcut_of(const run *r, result *to, const float *strength)
{
    const lob_growcut_options options = lob_growcut_defaults();
    const lob_growcut_input in = {.image = r->image,
                                  .seeds = r->seeds,
                                  .labels = r->label_count,
                                  .seed_strength = strength,
                                  .place = r->place};
    const lob_growcut_output out = {.labels = room(to, r, r->seeds->type, 1)};
    lob_growcut_stats stats;
    const lob_status st = r->backend->growcut(&out, &stats, &in, &options, r->context, &error);
    memcpy(to->stats, &stats.reached, sizeof stats.reached);
    return st;
}

static lob_status growcut(const run *r, result *to)
{
    return growcut_of(r, to, NULL);
}

static lob_status soft_seeds(const run *r, result *to)
{
    const int64_t n = lob_voxels(r->image);
    lob_volume strength, there;
    must(lob_volume_like(&strength, r->image, LOB_F32, 1), "memory");
    for (int64_t i = 0; i < n; i++) ((float *)strength.data)[i] = (float)(1 + i % 97) / 97.0f;
    must(lob_volume_move(&there, &strength, r->place, r->context, &error), "strengths");
    const lob_status st = growcut_of(r, to, there.data);
    lob_volume_free(&there);
    lob_volume_free(&strength);
    return st;
}

static lob_status refine(const run *r, result *to)
{
    const lob_refine_options options =
        lob_refine_defaults(r->image->dims, r->image->geometry.spacing_mm);
    const lob_refine_input in = {.image = r->image,
                                 .labels = r->labels->data,
                                 .labels_type = r->labels->type,
                                 .seeds = r->seeds->data,
                                 .seeds_type = r->seeds->type,
                                 .label_count = r->label_count,
                                 .background = 1,
                                 .place = r->place};
    lob_refine_stats stats;
    const lob_status st = r->backend->refine(room(to, r, lob_label_type(r->label_count), 1), &stats,
                                             &in, &options, r->context, &error);
    stats.working_bytes = 0;
    memcpy(to->stats, &stats, sizeof stats);
    return st;
}

static lob_status labels(const run *r, result *to)
{
    static const lob_labels_step steps[] = {
        {.kind = LOB_LABELS_SPLIT   },
        {.kind = LOB_LABELS_MIN_SIZE, .count = 3},
        {.kind = LOB_LABELS_FILL_HOLES                          },
        {.kind = LOB_LABELS_SMOOTH, .length = 1, .voxels = true},
        {.kind = LOB_LABELS_OPEN,                .length = 1, .voxels = true},
        {.kind = LOB_LABELS_BOUNDARY                          },
        {.kind = LOB_LABELS_SLIPS},
        {.kind = LOB_LABELS_SEQUENTIAL                          },
    };
    const lob_labels_options options = lob_labels_defaults();
    int32_t values[64];
    for (int32_t i = 0; i < r->label_count; i++) values[i] = i + 1;
    const lob_labels_input in = {
        .labels = r->labels->data,
        .type = r->labels->type,
        .count = r->label_count,
        .values = values,
        .dims = r->image->dims,
        .spacing_mm = {1, 1, 1},
        .steps = steps,
        .step_count = sizeof steps / sizeof *steps,
        .place = r->place
    };
    lob_labels_output out;
    LOB_TRY(r->backend->labels(&out, &in, &options, r->context, &error));
    take(to, r, &out.labels, out.type, 1, out.device);
    lob_labels_output_free(&out);
    return LOB_OK;
}

static lob_status components(const run *r, result *to)
{
    lob_components_options options = lob_components_defaults();
    const lob_components_input in = {
        .image = r->labels, .intensities = r->image, .place = r->place};
    lob_components_output out;
    options.join = LOB_JOIN_EQUAL;
    options.regions = true;
    LOB_TRY(r->backend->components(&out, &in, &options, r->context, &error));
    take(to, r, &out.labels, out.type, 1, out.device);
    memcpy(to->stats, &out.regions[0], sizeof *out.regions);
    memcpy(to->stats + sizeof *out.regions, &out.values[out.count - 1], sizeof *out.values);
    lob_components_output_free(&out);
    return LOB_OK;
}

static lob_status distance(const run *r, result *to)
{
    const lob_distance_options options = {.kind = LOB_DISTANCE_SIGNED, .max = INFINITY};
    const lob_distance_input in = {
        .labels = r->labels->data,
        .type = r->labels->type,
        .dims = r->image->dims,
        .spacing = {1, 1, 2},
        .only = 2,
        .place = r->place
    };
    const lob_distance_output out = {.distance = room(to, r, LOB_F32, 1)};
    return r->backend->distance(&out, &in, &options, r->context, &error);
}

static lob_status morphology(const run *r, result *to)
{
    const lob_morphology_input in = {
        .labels = r->labels->data,
        .type = r->labels->type,
        .dims = r->image->dims,
        .spacing = {1, 1, 2},
        .place = r->place
    };
    return r->backend->morphology(room(to, r, r->labels->type, 1), &in, LOB_MORPHOLOGY_CLOSE, 2.5,
                                  r->context, &error);
}

static lob_status supervoxels(const run *r, result *to)
{
    lob_supervoxels_options options = lob_supervoxels_defaults();
    const lob_supervoxels_input in = {
        .image = r->image, .mask = r->labels->data, .place = r->place};
    lob_supervoxels_stats stats;
    options.method = LOB_LSC;
    options.count = 200;
    return r->backend->supervoxels(room(to, r, LOB_I32, 1), &stats, &in, &options, r->context,
                                   &error);
}

static lob_status threshold(const run *r, result *to)
{
    const lob_threshold_options options = lob_threshold_defaults();
    const lob_threshold_input in = {.image = r->image, .mask = r->labels->data, .place = r->place};
    lob_threshold_stats stats;
    const lob_status st =
        r->backend->threshold(room(to, r, LOB_U8, 1), &stats, &in, &options, r->context, &error);
    memcpy(to->stats, stats.threshold, sizeof *stats.threshold);
    return st;
}

static lob_status regions(const run *r, result *to)
{
    const lob_regions_input in = {.labels = r->labels->data,
                                  .type = r->labels->type,
                                  .count = r->label_count,
                                  .dims = r->image->dims,
                                  .image = r->image,
                                  .place = r->place};
    lob_region rows[64];
    lob_region_values values[64];
    lob_fine_levels fine;
    const lob_status st = r->backend->regions(rows, values, &fine, &in, r->context, &error);
    room(to, r, LOB_U8, 1);
    if (st != LOB_OK) return st;
    memcpy(to->stats, &rows[1], sizeof *rows);
    memcpy(to->stats + sizeof *rows, &values[1], sizeof *values);
    return LOB_OK;
}

static const struct {
    const char *name;
    lob_status (*run)(const run *r, result *to);
    int64_t most; /* bytes downloaded */
    bool table;   /* no voxels come out */
} algorithms[] = {
    {"filter",      filter,      FEW_BYTES,  false},
    {"resample",    resample,    FEW_BYTES,  false},
    {"appearance",  appearance,  MORE_BYTES, false},
    {"outlines",    outlines,    MORE_BYTES, false},
    {"growcut",     growcut,     FEW_BYTES,  false},
    {"soft seeds",  soft_seeds,  MORE_BYTES, false},
    {"refine",      refine,      FEW_BYTES,  false},
    {"labels",      labels,      MORE_BYTES, false},
    {"components",  components,  FEW_BYTES,  false},
    {"distance",    distance,    FEW_BYTES,  false},
    {"morphology",  morphology,  FEW_BYTES,  false},
    {"supervoxels", supervoxels, FEW_BYTES,  false},
    {"threshold",   threshold,   MORE_BYTES, false},
    {"regions",     regions,     FEW_BYTES,  true },
};

/* ---- comparing ---- */

static bool same(result *got, const result *want, const lob_context *context, bool table)
{
    lob_volume here;
    const lob_volume *a = &want->volume, *b = &got->volume;
    if (memcmp(got->stats, want->stats, sizeof got->stats) != 0) return false;
    if (table) return true;
    if (a->type != b->type || a->channels != b->channels) return false;
    must(lob_volume_move(&here, b, (lob_place){0}, context, &error), "results");
    const size_t bytes = (size_t)lob_voxels(a) * (size_t)a->channels * lob_type_of(a->type)->bytes;
    const bool equal = memcmp(here.data, a->data, bytes) == 0;
    lob_volume_free(&here);
    return equal;
}

/* An algorithm on the device; returns whether it fails. */
static int check(size_t i, const run *r, const result *want, const char *where)
{
    result got = {.volume = lob_volume_empty()};
    const int64_t before = lob_device_traffic_here().download_bytes;
    must(algorithms[i].run(r, &got), algorithms[i].name);
    const int64_t came = lob_device_traffic_here().download_bytes - before;
    const bool at_place = lob_place_same(got.volume.place, r->place);
    const bool equal = same(&got, want, r->context, algorithms[i].table);
    const bool good = equal && at_place && came <= algorithms[i].most;
    printf("%-12s %-22s %s, %lld bytes downloaded%s\n", algorithms[i].name, where,
           equal ? "same bytes" : "DIFFER", (long long)came, at_place ? "" : ", ELSEWHERE");
    lob_volume_free(&got.volume);
    return !good;
}

int main(void)
{
    lob_context context, cpu = {.threads = 2};
    const lob_backend *backend;
    if (lob_backend_open(&backend, &context, "cuda", &error) != LOB_OK) {
        printf("skipped: %s\n", error.text);
        return SKIPPED;
    }
    lob_volume image, truth, seeds, there[3];
    lob_phantom_options phantom = lob_phantom_defaults(LOB_PHANTOM_ABDOMEN);
    phantom.dims = (lob_dims){61, 53, 47};
    must(lob_phantom(&image, &truth, &seeds, &phantom, &cpu, &error), "phantom");
    int32_t count = 0;
    for (int64_t i = 0; i < lob_voxels(&truth); i++) {
        const int32_t label = lob_label_at(truth.data, truth.type, i);
        if (label > count) count = label;
    }
    const lob_place place = lob_context_place(&context);
    const lob_volume *from[] = {&image, &seeds, &truth};
    for (int k = 0; k < 3; k++)
        must(lob_volume_move(&there[k], from[k], place, &context, &error), "arrays");
    const run on_cpu = {lob_backends[0], &cpu, {0}, &image, &seeds, &truth, count};
    const run all = {backend, &context, place, &there[0], &there[1], &there[2], count};
    run mixed = all;
    mixed.image = &image;

    int failures = 0;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        result want = {.volume = lob_volume_empty()};
        must(algorithms[i].run(&on_cpu, &want), algorithms[i].name);
        failures += check(i, &all, &want, "all on the GPU:");
        failures += check(i, &mixed, &want, "the image elsewhere:");
        lob_volume_free(&want.volume);
    }
    if (lob_backends[0]->threshold(NULL, NULL, &(const lob_threshold_input){.image = &there[0]},
                                   NULL, &cpu, &error) != LOB_EARG) {
        printf("the CPU takes an array of the GPU\n");
        failures++;
    }
    for (int k = 0; k < 3; k++) lob_volume_free(&there[k]);
    lob_volume_free(&image);
    lob_volume_free(&truth);
    lob_volume_free(&seeds);
    lob_backend_close(&context);
    return failures != 0;
}
