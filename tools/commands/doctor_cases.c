/* The cases of the self-test: small calls of each slot of a backend, one or more. */
#include "tools/commands/doctor_cases.h"

#include "kernels/refine/refine.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { VOXELS = LOB_DOCTOR_NX * LOB_DOCTOR_NY * LOB_DOCTOR_NZ };

/* FNV-1a: what is looked for is a difference, not an adversary. */
static void mix(uint64_t *hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++) *hash = (*hash ^ at[i]) * UINT64_C(1099511628211);
}

static void mix_count(uint64_t *hash, int64_t count)
{
    mix(hash, &count, sizeof count);
}

/* ---- cutting into regions ---- */

static lob_status grow(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static float strength[VOXELS];
    static uint8_t labels[VOXELS], tie[VOXELS];
    const lob_growcut_input in = {
        .image = &p->image, .seeds = &p->seeds, .labels = LOB_ABDOMEN_LABELS};
    const lob_growcut_output out = {labels, strength, tie};
    lob_growcut_options o = lob_growcut_defaults();
    lob_growcut_stats stats;
    o.rule = (lob_growcut_kind)p->way;
    if (o.rule == LOB_RULE_DISTANCE) {
        o.penalty = 3;
        o.neighbours = 6;
        o.max_cost = 900;
    }
    LOB_TRY(p->backend->growcut(&out, &stats, &in, &o, p->context, error));
    mix(hash, labels, sizeof labels);
    mix(hash, strength, sizeof strength);
    mix(hash, tie, sizeof tie);
    mix_count(hash, stats.reached);
    return LOB_OK;
}

/* Bright voxels, or voxels of one label. */
static lob_status join(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    const bool equal = p->way == LOB_JOIN_EQUAL;
    const lob_components_input in = {.image = equal ? &p->truth : &p->image,
                                     .intensities = &p->image};
    lob_components_options o = lob_components_defaults();
    lob_components_output out;
    o.regions = true;
    o.join = (lob_join)p->way;
    if (equal) {
        o.neighbours = 6;
        o.fill_holes = true;
    } else {
        o.ranged = true;
        o.range[0] = 900;
        o.range[1] = INFINITY;
        o.min_voxels = 3;
        o.order = LOB_ORDER_SIZE;
    }
    LOB_TRY(p->backend->components(&out, &in, &o, p->context, error));
    mix(hash, out.labels, VOXELS * lob_type_of(out.type)->bytes);
    for (int64_t i = 0; i < out.count; i++) {
        mix_count(hash, out.regions[i].voxels);
        mix_count(hash, out.regions[i].sum[0] + out.regions[i].high[2]);
        mix_count(hash, (int64_t)out.values[i].fine);
    }
    lob_components_output_free(&out);
    return LOB_OK;
}

static lob_status cut(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static int32_t labels[VOXELS];
    const lob_supervoxels_input in = {.image = &p->image};
    lob_supervoxels_options o = lob_supervoxels_defaults();
    lob_supervoxels_stats stats;
    o.method = (lob_supervoxels_method)p->way;
    o.size_mm = 45;
    LOB_TRY(p->backend->supervoxels(labels, &stats, &in, &o, p->context, error));
    mix(hash, labels, sizeof labels);
    mix_count(hash, stats.fragments);
    return LOB_OK;
}

/* Of the organs, those join that no bright wall parts. */
static lob_status merge(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    int32_t to[LOB_ABDOMEN_LABELS + 1];
    const lob_label_grid grid = {p->truth.data, p->truth.type, LOB_ABDOMEN_LABELS, p->truth.dims};
    const lob_basins_options o = {.height = 60, .share = 0.5, .level = 1100};
    lob_basins_stats stats;
    LOB_TRY(p->backend->basins(to, &stats, &grid, &p->image, &o, p->context, error));
    mix(hash, to, sizeof to);
    mix_count(hash, stats.basins);
    mix_count(hash, stats.left);
    mix_count(hash, stats.contacts);
    return LOB_OK;
}

/* ---- images ---- */

static lob_status peaks(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    const lob_maxima_input in = {&p->image, NULL};
    lob_maxima_options o = lob_maxima_defaults();
    lob_maxima_output out;
    o.above = 900;
    o.height = 40;
    o.apart = 30;
    memcpy(o.spacing, p->image.geometry.spacing_mm, sizeof o.spacing);
    LOB_TRY(p->backend->maxima(&out, &in, &o, p->context, error));
    mix(hash, out.labels, VOXELS * sizeof *out.labels);
    for (int64_t i = 0; i < out.count; i++) {
        mix_count(hash, out.maxima[i].first);
        mix_count(hash, out.maxima[i].voxels);
        mix(hash, &out.maxima[i].value, sizeof out.maxima[i].value);
    }
    mix_count(hash, out.found);
    lob_maxima_output_free(&out);
    return LOB_OK;
}

static lob_status filter(uint64_t *hash, const lob_doctor_patient *p, const lob_filter_step *steps,
                         int count, lob_error *error)
{
    const lob_filter_input in = {&p->image, NULL, steps, count};
    const lob_filter_options o = lob_filter_defaults();
    lob_filter_output out;
    LOB_TRY(p->backend->filter(&out, &in, &o, p->context, error));
    mix(hash, out.data, VOXELS * lob_type_of(out.type)->bytes);
    lob_filter_output_free(&out);
    return LOB_OK;
}

static lob_filter_step step(lob_filter_kind kind, double x, double y, double z)
{
    return (lob_filter_step){
        .kind = kind, .along = {x, y, z}
    };
}

static lob_status smooth(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    const lob_filter_step window = {
        .kind = LOB_FILTER_CLAMP, .percent = true, .low = 1, .high = 99};
    const lob_filter_step steps[] = {step(LOB_FILTER_MEDIAN, 1, 1, 1),
                                     step(LOB_FILTER_GAUSSIAN, 1.5, 1.5, 1),
                                     step(LOB_FILTER_BOX, 2, 1, 0), window};
    return filter(hash, p, steps, 4, error);
}

static lob_status edges(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    const lob_filter_step cast = {.kind = LOB_FILTER_CAST, .type = LOB_U16};
    const lob_filter_step steps[] = {step(LOB_FILTER_DENOISE, 1, 1, 1),
                                     step(LOB_FILTER_GRADIENT, 1, 1, 1), cast};
    return filter(hash, p, steps, 3, error);
}

static lob_status threshold(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static uint8_t labels[VOXELS];
    const lob_threshold_input in = {&p->image, NULL};
    lob_threshold_options o = lob_threshold_defaults();
    lob_threshold_stats stats;
    o.classes = 4;
    LOB_TRY(p->backend->threshold(labels, &stats, &in, &o, p->context, error));
    mix(hash, labels, sizeof labels);
    mix(hash, stats.threshold, 3 * sizeof stats.threshold[0]);
    return LOB_OK;
}

static lob_status resample(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static int16_t values[VOXELS];
    static uint8_t labels[VOXELS];
    const lob_dims dims = {23, 19, 13};
    const double spacing_mm[3] = {14, 15, 17};
    const lob_geometry grid = lob_geometry_of_spacing(spacing_mm);
    const lob_resample_input image = {&p->image, dims, grid}, truth = {&p->truth, dims, grid};
    lob_resample_options o = lob_resample_defaults();
    const size_t n = (size_t)lob_dims_voxels(dims);
    LOB_TRY(p->backend->resample(values, &image, &o, p->context, error));
    o.method = LOB_RESAMPLE_MAJORITY;
    LOB_TRY(p->backend->resample(labels, &truth, &o, p->context, error));
    mix(hash, values, n * sizeof *values);
    mix(hash, labels, n);
    return LOB_OK;
}

/* ---- labels ---- */

static lob_status distance(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static float mm[VOXELS];
    lob_distance_input in = {
        .labels = p->truth.data,
        .type = p->truth.type,
        .dims = p->truth.dims,
        .only = LOB_ABDOMEN_LIVER,
    };
    memcpy(in.spacing, p->truth.geometry.spacing_mm, sizeof in.spacing);
    const lob_distance_options o = {LOB_DISTANCE_SIGNED, INFINITY, false};
    const lob_distance_output out = {mm, NULL};
    LOB_TRY(p->backend->distance(&out, &in, &o, p->context, error));
    mix(hash, mm, sizeof mm);
    return LOB_OK;
}

static lob_status clean(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static const int32_t values[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const lob_labels_rule keep = {2, 8, LOB_LABELS_SAME};
    const lob_labels_step steps[] = {
        {.kind = LOB_LABELS_RECODE,  .rules = &keep,           .rule_count = 1},
        {.kind = LOB_LABELS_LARGEST, .count = 1              },
        {.kind = LOB_LABELS_FILL_HOLES                         },
        {.kind = LOB_LABELS_SMOOTH,                          .length = 1, .voxels = true               },
    };
    const double *mm = p->truth.geometry.spacing_mm;
    const lob_labels_input in = {
        .labels = p->truth.data,
        .type = p->truth.type,
        .count = LOB_ABDOMEN_LABELS,
        .values = values,
        .dims = p->truth.dims,
        .spacing_mm = {mm[0], mm[1], mm[2]},
        .steps = steps,
        .step_count = 4,
    };
    const lob_labels_options o = lob_labels_defaults();
    lob_labels_output out;
    LOB_TRY(p->backend->labels(&out, &in, &o, p->context, error));
    mix(hash, out.labels, VOXELS * lob_type_of(out.type)->bytes);
    lob_labels_output_free(&out);
    return LOB_OK;
}

static lob_status open_by_balls(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static uint8_t labels[VOXELS];
    lob_morphology_input in = {p->truth.data, p->truth.type, p->truth.dims};
    memcpy(in.spacing, p->truth.geometry.spacing_mm, sizeof in.spacing);
    LOB_TRY(p->backend->morphology(labels, &in, LOB_MORPHOLOGY_OPEN, 13, p->context, error));
    mix(hash, labels, sizeof labels);
    return LOB_OK;
}

static lob_status measure(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    lob_region regions[LOB_ABDOMEN_LABELS];
    lob_region_values values[LOB_ABDOMEN_LABELS];
    lob_fine_levels fine;
    const lob_regions_input in = {p->truth.data, p->truth.type, LOB_ABDOMEN_LABELS, p->truth.dims,
                                  &p->image};
    LOB_TRY(p->backend->regions(regions, values, &fine, &in, p->context, error));
    for (int i = 0; i < LOB_ABDOMEN_LABELS; i++) {
        mix_count(hash, regions[i].voxels);
        mix(hash, regions[i].sum, sizeof regions[i].sum);
        mix(hash, values[i].square, sizeof values[i].square);
    }
    return LOB_OK;
}

/* What strokes look like, and labels grown from them made clean. */
static lob_status strokes(uint64_t *hash, const lob_doctor_patient *p, lob_error *error)
{
    static uint8_t labels[VOXELS];
    static float shares[(LOB_ABDOMEN_LABELS - 1) * VOXELS];
    const lob_volume *const views[] = {&p->image};
    const lob_appearance_input look = {
        .views = views,
        .view_count = 1,
        .seeds = p->seeds.data,
        .seed_type = p->seeds.type,
        .labels = LOB_ABDOMEN_LABELS,
        .background = LOB_ABDOMEN_OTHER,
    };
    const lob_refine_input in = {
        .image = &p->image,
        .labels = p->truth.data,
        .labels_type = p->truth.type,
        .seeds = p->seeds.data,
        .seeds_type = p->seeds.type,
        .label_count = LOB_ABDOMEN_LABELS,
        .background = LOB_ABDOMEN_OTHER,
    };
    const lob_appearance_options how = lob_appearance_defaults();
    const lob_refine_options o = lob_refine_defaults(p->image.dims, p->image.geometry.spacing_mm);
    lob_appearance_stats seen;
    lob_refine_stats stats;
    LOB_TRY(p->backend->appearance(shares, &seen, &look, &how, p->context, error));
    LOB_TRY(p->backend->refine(labels, &stats, &in, &o, p->context, error));
    mix(hash, shares, sizeof shares);
    mix(hash, labels, sizeof labels);
    return LOB_OK;
}

const lob_doctor_case lob_doctor_cases[] = {
    {"growcut",    grow,          LOB_RULE_STRENGTH, UINT64_C(0x69c07fb90b47f76b)},
    {"growcut_mm", grow,          LOB_RULE_DISTANCE, UINT64_C(0x9a070536e93712a6)},
    {"components", join,          LOB_JOIN_ANY,      UINT64_C(0x6b325534f77abc7a)},
    {"equal",      join,          LOB_JOIN_EQUAL,    UINT64_C(0xd08b0d8c679641e9)},
    {"slic",       cut,           LOB_SLIC,          UINT64_C(0xdcdf537c21d2767f)},
    {"slico",      cut,           LOB_SLICO,         UINT64_C(0x92fc9d170a4bf271)},
    {"lsc",        cut,           LOB_LSC,           UINT64_C(0x0de5bc74957636d4)},
    {"basins",     merge,         0,                 UINT64_C(0x683c70ca49eb3f36)},
    {"maxima",     peaks,         0,                 UINT64_C(0x1f268819176629ed)},
    {"filter",     smooth,        0,                 UINT64_C(0x1f613661c8d2af59)},
    {"denoise",    edges,         0,                 UINT64_C(0x1114a3f253a7a327)},
    {"threshold",  threshold,     0,                 UINT64_C(0x7a21f4840f97b1bf)},
    {"resample",   resample,      0,                 UINT64_C(0x6d2d2e28e6806606)},
    {"distance",   distance,      0,                 UINT64_C(0xb64ecf96f7e6fb96)},
    {"labels",     clean,         0,                 UINT64_C(0x826b875c6ed72c23)},
    {"morphology", open_by_balls, 0,                 UINT64_C(0x77138cefdcbd1b33)},
    {"regions",    measure,       0,                 UINT64_C(0xef614250223a30a4)},
    {"strokes",    strokes,       0,                 UINT64_C(0x98c25bac28df0d0e)},
    {NULL,         NULL,          0,                 0                           },
};

/* Cases have arrays that are there once, so ranks that are threads take turns. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

lob_status lob_doctor_try(uint64_t *found, const lob_doctor_case *one, lob_doctor_patient *p,
                          lob_error *error)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    pthread_mutex_lock(&turn);
    p->way = one->way;
    const lob_status st = one->run(&hash, p, error);
    pthread_mutex_unlock(&turn);
    *found = st == LOB_OK ? hash : 0;
    return st;
}
