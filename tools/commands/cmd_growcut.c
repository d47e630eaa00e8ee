/* lobule growcut: grow seeds over an image. */
#include "io/file.h"
#include "kernels/distance/distance.h"
#include "tools/commands/commands.h"
#include "tools/commands/level_use.h"
#include "tools/inout/grid.h"
#include "tools/table/label_names_option.h"
#include "volumes/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *image, *seeds, *labels, *label_table;
    const char *mask, *seed_strength, *strength, *tie;
    int frame, rule, norm, neighbours, slices, rounds, tile;
    double penalty, range[2], min_strength, max_cost;
    lob_size max_mm;
    bool trust_seeds;
} settings;

/* Everything on the grid, freed together. */
typedef struct {
    lob_volume image, seeds;
    lob_volume labels, strength, tie; /* outputs; the last two only on request */
    lob_label_set set;
    uint8_t *mask;        /* NULL: everything may be labelled */
    float *seed_strength; /* NULL: every seed has strength 1 */
} work;

/* What the option table cannot say: options that exclude or need one another. */
static lob_status check_settings(lob_session *s, settings *set)
{
    lob_status st = lob_grid_neighbours(s, &set->neighbours, set->slices);
    if (st == LOB_OK) st = lob_label_table_check(s, set->label_table);
    if (st != LOB_OK) return st;
    const bool flood = set->rule == LOB_RULE_FLOOD;
    if (set->penalty > 0.0 && (set->rule == LOB_RULE_STRENGTH || flood))
        return lob_fail(&s->error, LOB_EARG,
                        "--penalty belongs to --rule distance, value and square");
    if (flood && (set->rounds > 0 || set->seed_strength))
        return lob_fail(&s->error, LOB_EARG, "--%s does not go with --rule flood",
                        set->rounds > 0 ? "rounds" : "seed-strength");
    if (strcmp(set->image, set->seeds) == 0 || lob_same_file(set->image, set->seeds))
        return lob_fail(&s->error, LOB_EARG,
                        "%s: named for IMAGE and for SEEDS; name the scan and then its seeds",
                        set->seeds);
    return LOB_OK;
}

/* ---- are these seeds? ---- */

/*
 * A scan in the place of the seeds has hundreds of labels, and of neighbours that both carry one,
 * few carry the same: at most a quarter in twenty scans (CT, MR, microscopy), nine tenths or more
 * in as many label volumes, eroded ones and hundreds of cells among them.
 */
enum { LABELS_OF_A_SCAN = 100 };
static const double alike_in_seeds = 0.5;

/* Whole truths, eroded by a single voxel, leave three times this share of the voxels unknown. */
static const double least_unknown = 1e-4;

/* Do labels change from voxel to voxel? Sparse ones, such as points, have too few neighbours. */
static bool changes_like_a_scan(const lob_volume *seeds, int64_t labelled)
{
    const lob_dims d = seeds->dims;
    const int64_t strides[3] = {1, d.nx, d.nx * d.ny};
    int64_t pairs = 0, alike = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t stride = strides[axis], run = stride * (lob_side(d, axis) - 1);
        for (int64_t first = 0; first < lob_voxels(seeds); first += stride * lob_side(d, axis))
            for (int64_t i = first; i < first + run; i++) {
                const int32_t a = lob_label_at(seeds->data, seeds->type, i);
                const int32_t b = lob_label_at(seeds->data, seeds->type, i + stride);
                pairs += a != 0 && b != 0;
                alike += a != 0 && a == b;
            }
    }
    return 2 * pairs >= labelled && (double)alike < alike_in_seeds * (double)pairs;
}

/* Tell how many seeds each label has. */
static void say_seeds(lob_session *s, const lob_label_set *set)
{
    enum { MOST = 30 };
    char text[MOST * 40] = "";
    size_t used = 0;
    for (int32_t i = 0; i < set->count && i < MOST; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d: %lld", i ? ", " : "",
                                 set->values[i], (long long)set->voxels[i]);
    if (set->count > MOST)
        lob_session_say(s, "seed voxels by label: %s, and %d labels more", text, set->count - MOST);
    else
        lob_session_say(s, "seed voxels by label: %s", text);
}

/* Refuse what is most likely the scan. */
static lob_status check_seeds(lob_session *s, const settings *set, const work *w)
{
    const int64_t n = lob_voxels(&w->seeds);
    int64_t labelled = 0;
    for (int32_t i = 0; i < w->set.count; i++) labelled += w->set.voxels[i];
    say_seeds(s, &w->set);
    if (set->trust_seeds) return LOB_OK;
    if (w->set.count >= LABELS_OF_A_SCAN && changes_like_a_scan(&w->seeds, labelled))
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: has %d labels that change from voxel to voxel, as in a scan: are "
                        "IMAGE and SEEDS swapped? The scan comes first; --trust-seeds takes them "
                        "as they are",
                        set->seeds, w->set.count);
    if ((double)(n - labelled) < least_unknown * (double)n)
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: seeds cover %lld of %lld voxels, so nothing is left to grow: are "
                        "IMAGE and SEEDS swapped? 0 is unknown; --trust-seeds takes them as they "
                        "are",
                        set->seeds, (long long)labelled, (long long)n);
    return LOB_OK;
}

/* Values of one row of a volume, scale applied. */
static void values_of_row(double *values, const lob_volume *v, int64_t row)
{
    lob_values(values, v->data, v->type, row * v->dims.nx, v->dims.nx);
    for (int64_t i = 0; i < v->dims.nx; i++) values[i] = v->slope * values[i] + v->inter;
}

static bool is_seed(const work *w, int64_t i)
{
    switch (w->seeds.type) {
    case LOB_U8:
        return ((const uint8_t *)w->seeds.data)[i] != 0;
    case LOB_I16:
        return ((const int16_t *)w->seeds.data)[i] != 0;
    default:
        return ((const int32_t *)w->seeds.data)[i] != 0;
    }
}

static lob_status read_seed_strength(lob_session *s, const settings *set, work *w)
{
    if (!set->seed_strength) return LOB_OK;
    lob_volume v = lob_volume_empty();
    lob_status st = lob_grid_read(s, &v, set->seed_strength, &w->image, set->image);
    if (st != LOB_OK) return st;

    const int64_t nx = v.dims.nx, ny = v.dims.ny, rows = ny * v.dims.nz;
    st = lob_session_take(s, lob_voxels(&v) * (int64_t)sizeof(float), set->seed_strength);
    if (st != LOB_OK) {
        lob_volume_free(&v);
        return st;
    }
    double *values = malloc((size_t)nx * sizeof *values);
    w->seed_strength = malloc((size_t)lob_voxels(&v) * sizeof *w->seed_strength);
    if (!values || !w->seed_strength) st = lob_session_no_memory(s, set->seed_strength);
    for (int64_t row = 0; row < rows && st == LOB_OK; row++) {
        values_of_row(values, &v, row);
        for (int64_t i = 0; i < nx && st == LOB_OK; i++) {
            const int64_t voxel = row * nx + i;
            const float strength = (float)values[i];
            if (is_seed(w, voxel) && !(strength > 0.0F && strength <= 1.0F))
                st = lob_fail(&s->error, LOB_EDATA,
                              "%s: the seed at voxel (%lld, %lld, %lld) has strength %.10g; a "
                              "seed's strength is above 0 and at most 1",
                              set->seed_strength, (long long)i, (long long)(row % ny),
                              (long long)(row / ny), values[i]);
            w->seed_strength[voxel] = strength;
        }
    }
    free(values);
    lob_grid_drop(s, &v);
    return st;
}

/*
 * Take voxels farther than --max-mm from every seed out of the mask. With --slices, distance is
 * measured inside the slice: other slices are put out of reach.
 */
static lob_status limit_distance(lob_session *s, const settings *set, work *w, int axis)
{
    if (!isfinite(set->max_mm.value)) return LOB_OK;
    const int64_t n = lob_voxels(&w->image);
    double spacing[3] = {1.0, 1.0, 1.0};
    if (!set->max_mm.voxels) memcpy(spacing, w->image.geometry.spacing_mm, sizeof spacing);
    if (axis >= 0) spacing[axis] = INFINITY;

    const int64_t scratch = n * (int64_t)(sizeof(uint8_t) + sizeof(float));
    lob_status st = lob_session_take(s, scratch + (w->mask ? 0 : n), set->image);
    if (st != LOB_OK) return st;
    st = LOB_ENOMEM;
    uint8_t *seeds = malloc((size_t)n);
    float *squared = malloc((size_t)n * sizeof *squared);
    if (!w->mask && (w->mask = malloc((size_t)n)) != NULL) memset(w->mask, 1, (size_t)n);
    if (!seeds || !squared || !w->mask) goto out;

    for (int64_t i = 0; i < n; i++) seeds[i] = is_seed(w, i);
    st = lob_distance_squared(squared, seeds, w->image.dims, spacing, s->context.threads);
    if (st != LOB_OK) goto out;
    /* A distance that exceeds the limit by rounding only is within it. */
    const double limit = set->max_mm.value * set->max_mm.value * (1.0 + 1e-6);
    for (int64_t i = 0; i < n; i++)
        if (squared[i] > limit) w->mask[i] = 0;
out:
    if (st != LOB_OK) lob_fail(&s->error, st, "%s: %s", set->seeds, lob_status_text(st));
    free(squared);
    free(seeds);
    lob_session_give(s, scratch);
    return st;
}

static lob_status read_inputs(lob_session *s, const settings *set, work *w)
{
    const char *const others[] = {set->seeds, set->mask, set->seed_strength};
    for (size_t i = 0; i < LOB_COUNT(others); i++) lob_session_ahead(s, others[i], LOB_FRAME_NONE);
    lob_status st = lob_session_read(s, &w->image, set->image, set->frame);
    if (st == LOB_OK) st = lob_session_check(s, &w->image, LOB_I32, 1, set->labels);
    if (st == LOB_OK) st = lob_session_check(s, &w->image, LOB_F32, 1, set->strength);
    if (st == LOB_OK) st = lob_session_check(s, &w->image, LOB_U8, 1, set->tie);
    if (st == LOB_OK) st = lob_grid_read(s, &w->seeds, set->seeds, &w->image, set->image);
    if (st != LOB_OK) return st;
    const double start_s = lob_clock_s();
    const int64_t stored = lob_voxel_bytes(&w->seeds);
    st = lob_labels_dense(&w->seeds, &w->set, set->seeds, &s->error);
    if (st != LOB_OK) return st;
    lob_session_stage(s, "prepare", start_s);
    lob_session_give(s, stored - lob_voxel_bytes(&w->seeds));

    const bool limited = set->mask || isfinite(set->range[0]) || isfinite(set->range[1]) ||
                         set->min_strength > 0.0 || isfinite(set->max_cost) ||
                         isfinite(set->max_mm.value) || set->rounds > 0;
    if (w->set.count == 0)
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: no seeds: 0 means unknown, and labels start at 1", set->seeds);
    /* A single slice may well hold a single label. */
    if (w->set.count == 1 && !limited && set->slices < 0)
        return lob_fail(&s->error, LOB_EDATA,
                        "%s: the only label is %d, so everything would become %d; add seeds of a "
                        "background label, or a limit such as --mask, --range or --max-mm",
                        set->seeds, w->set.values[0], w->set.values[0]);
    st = check_seeds(s, set, w);
    if (st == LOB_OK) st = lob_label_table_take(s, &w->seeds, set->label_table);
    if (st != LOB_OK) return st;

    st = lob_grid_mask(s, &w->mask, set->mask, &w->image, set->image);
    if (st == LOB_OK) st = read_seed_strength(s, set, w);
    return st;
}

static lob_status make_outputs(lob_session *s, const settings *set, work *w)
{
    const int64_t each = (int64_t)lob_type_of(w->seeds.type)->bytes +
                         (set->strength ? (int64_t)sizeof(float) : 0) + (set->tie ? 1 : 0);
    lob_status st = lob_session_take(s, lob_voxels(&w->image) * each, set->labels);
    if (st != LOB_OK) return st;
    st = lob_volume_like(&w->labels, &w->image, w->seeds.type, 1);
    if (st == LOB_OK) { /* labels are called what their seeds are */
        lob_label_names_free(&w->labels.names);
        st = lob_label_names_copy(&w->labels.names, &w->seeds.names);
    }
    if (st == LOB_OK && set->strength) st = lob_volume_like(&w->strength, &w->image, LOB_F32, 1);
    if (st == LOB_OK && set->tie) st = lob_volume_like(&w->tie, &w->image, LOB_U8, 1);
    lob_label_names_free(&w->tie.names);
    if (st != LOB_OK) lob_fail(&s->error, st, "%s: no memory for the result", set->image);
    return st;
}

/*
 * Voxels of each dense label among those from first to end - 1, counted run by run: labels change
 * seldom, and a counter that grows by one per voxel is a chain of dependent additions.
 */
static void count_part(int64_t *count, const lob_volume *labels, int64_t first, int64_t end)
{
    const lob_type type = labels->type;
    for (int64_t i = first, stop; i < end; i = stop) {
        const int32_t label = lob_label_at(labels->data, type, i);
        for (stop = i + 1; stop < end && lob_label_at(labels->data, type, stop) == label;) stop++;
        count[label] += stop - i;
    }
}

/* Voxels of each of so many dense labels, and of 0 before them; NULL without memory. */
static int64_t *count_labels(const lob_volume *labels, int32_t label_count, int threads)
{
    enum { MANY = 1 << 16 }; /* labels; a thread has counters of its own */
    const size_t row = (size_t)label_count + 1;
    const int64_t n = lob_voxels(labels);
    const int parts = label_count < MANY ? threads : 1;
    int64_t *const count = calloc((size_t)parts * row, sizeof *count);
    if (!count) return NULL;
#pragma omp parallel for num_threads(parts)
    for (int p = 0; p < parts; p++)
        count_part(count + (size_t)p * row, labels, n / parts * p,
                   p + 1 < parts ? n / parts * (p + 1) : n);
    for (size_t i = row; i < (size_t)parts * row; i++) count[i % row] += count[i];
    return count;
}

static lob_status report_labels(lob_session *s, const settings *set, const work *w)
{
    const double voxel_mm3 = lob_voxel_mm3(&w->image.geometry);
    int64_t *const count = count_labels(&w->labels, w->set.count, s->context.threads);
    if (!count) return lob_session_no_memory(s, set->labels);

    cJSON *labels = cJSON_AddArrayToObject(s->results, "labels");
    for (int32_t i = 0; i < w->set.count; i++) {
        cJSON *label = cJSON_CreateObject();
        cJSON_AddNumberToObject(label, "label", w->set.values[i]);
        cJSON_AddNumberToObject(label, "seeds", (double)w->set.voxels[i]);
        cJSON_AddNumberToObject(label, "voxels", (double)count[i + 1]);
        cJSON_AddNumberToObject(label, "mm3", (double)count[i + 1] * voxel_mm3);
        cJSON_AddItemToArray(labels, label);
        if (count[i + 1] == 0)
            lob_session_note(s, "%s: label %d is nowhere in the result: its seeds are not on data",
                             set->seeds, w->set.values[i]);
    }
    free(count);
    return LOB_OK;
}

static void report_stats(lob_session *s, const settings *set, const lob_growcut_stats *stats,
                         int64_t voxels, int axis)
{
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"voxels",                (double)voxels              },
        {"data_voxels",           (double)stats->data_voxels  },
        {"not_finite_voxels",     (double)stats->not_finite   },
        {"seeds",                 (double)stats->seeds        },
        {"seeds_outside",         (double)stats->seeds_outside},
        {"labelled_voxels",       (double)stats->reached      },
        {"neighbours",            set->neighbours             },
        {"slice_axis",            axis                        },
        {"largest_cost",          stats->largest_cost         },
        {"image_units_per_level", stats->level_step           },
        {"key_bits",              stats->key_bits             },
        {"working_memory_bytes",  (double)stats->working_bytes},
    };
    for (size_t i = 0; i < LOB_COUNT(rows); i++)
        cJSON_AddNumberToObject(s->results, rows[i].name, rows[i].value);
    if (set->tie) cJSON_AddNumberToObject(s->results, "tie_voxels", (double)stats->ties);
    if (set->rounds > 0) {
        cJSON_AddNumberToObject(s->results, "rounds_asked", set->rounds);
        cJSON_AddNumberToObject(s->results, "rounds", (double)stats->rounds);
    }
    cJSON_AddBoolToObject(s->results, "fixed_point", stats->fixed_point);
    if (!stats->fixed_point)
        lob_session_note(s,
                         "%s: stopped after round %d, before the fixed point; more would change "
                         "the result",
                         set->image, set->rounds);

    if (stats->not_finite > 0)
        lob_session_note(s, "%s: NaN or infinite voxels: %lld; these stay without a label",
                         set->image, (long long)stats->not_finite);
    if (stats->seeds_outside > 0)
        lob_session_note(s,
                         "%s: seed voxels outside the data (mask, range, distance or NaN): %lld; "
                         "these have no effect",
                         set->seeds, (long long)stats->seeds_outside);
    lob_session_say(s, "voxels labelled: %lld of %lld; bits a key: %d", (long long)stats->reached,
                    (long long)voxels, stats->key_bits);
}

/* Warn when a few extreme values, such as padding, leave few levels to all other voxels. */
static lob_status report_crowding(lob_session *s, const settings *set, const work *w,
                                  const lob_growcut_stats *stats, bool flat)
{
    enum { FEW = 64 };
    const lob_volume *image = &w->image;
    const bool integers = lob_type_of(image->type)->is_integer;
    if (integers && stats->level_step == fabs(image->slope)) return LOB_OK; /* used exactly */
    lob_level_use use;
    const lob_data data = {
        .image = image, .mask = w->mask, .range = {set->range[0], set->range[1]}
    };
    const lob_status st = lob_level_use_of(&use, &data, stats->level_step);
    if (st != LOB_OK) return lob_fail(&s->error, st, "%s: out of memory", set->image);
    cJSON_AddNumberToObject(s->results, "levels_of_99_percent", (double)use.levels);
    if (use.merged && use.levels < FEW)
        lob_session_note(s,
                         "%s: values reach %.3g, so 99 %% of the voxels share %lld of 65536 "
                         "levels%s; give --range LO,HI",
                         set->image, lob_farthest_value(&data), (long long)use.levels,
                         flat ? " in the slices with such values" : "");
    return LOB_OK;
}

static lob_status grow(lob_session *s, const settings *set, work *w)
{
    const int axis = lob_grid_slice_axis(set->slices, &w->image.geometry);
    double start_s = lob_clock_s();
    lob_status st = limit_distance(s, set, w, axis);
    if (st == LOB_OK) st = make_outputs(s, set, w);
    if (st != LOB_OK) return st;

    const lob_growcut_options options = {
        .rule = (lob_growcut_kind)set->rule,
        .norm = (lob_norm)set->norm,
        .neighbours = set->neighbours,
        .slice_axis = axis,
        .penalty = set->penalty,
        .range = {set->range[0], set->range[1]},
        .min_strength = set->min_strength,
        .max_cost = set->max_cost,
        .rounds = set->rounds,
        .tile = set->tile,
    };
    const lob_growcut_input in = {
        .image = &w->image,
        .seeds = &w->seeds,
        .labels = w->set.count,
        .mask = w->mask,
        .seed_strength = w->seed_strength,
    };
    const lob_growcut_output out = {
        .labels = w->labels.data, .strength = w->strength.data, .tie = w->tie.data};
    lob_growcut_stats stats = {0};
    lob_session_stage(s, "prepare", start_s);
    lob_session_compute(s, "growing");
    st = s->backend->growcut(&out, &stats, &in, &options, &s->context, &s->error);
    if (st != LOB_OK) return lob_session_name(s, st, set->image, set->seeds);
    lob_session_computed(s);

    start_s = lob_clock_s();
    report_stats(s, set, &stats, lob_voxels(&w->image), axis);
    st = report_labels(s, set, w);
    if (st == LOB_OK) st = report_crowding(s, set, w, &stats, axis >= 0);
    if (st == LOB_OK) st = lob_labels_restore(&w->labels, &w->set);
    lob_session_stage(s, "finish", start_s);
    return st;
}

static void free_work(work *w)
{
    lob_volume_free(&w->image);
    lob_volume_free(&w->seeds);
    lob_volume_free(&w->labels);
    lob_volume_free(&w->strength);
    lob_volume_free(&w->tie);
    lob_label_set_free(&w->set);
    free(w->mask);
    free(w->seed_strength);
}

static lob_status growcut(lob_session *s, settings *set)
{
    work w = {lob_volume_empty(),
              lob_volume_empty(),
              lob_volume_empty(),
              lob_volume_empty(),
              lob_volume_empty(),
              {0},
              NULL,
              NULL};
    lob_status st = check_settings(s, set);
    if (st == LOB_OK) st = lob_session_device_begin(s);
    if (st == LOB_OK) st = read_inputs(s, set, &w);
    if (st == LOB_OK) st = lob_session_device(s);
    if (st == LOB_OK) st = grow(s, set, &w);

    /* Labels are written last: if they exist, the other outputs are complete. */
    if (st == LOB_OK && set->strength) st = lob_session_write(s, &w.strength, set->strength, false);
    if (st == LOB_OK && set->tie) {
        lob_grid_show_mask(&w.tie, set->tie);
        st = lob_session_write(s, &w.tie, set->tie, true);
    }
    if (st == LOB_OK) st = lob_session_write(s, &w.labels, set->labels, true);
    free_work(&w);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {
        .frame = -1,
        .rule = LOB_RULE_STRENGTH,
        .norm = LOB_NORM_L2,
        .neighbours = -1,
        .slices = -1,
        .range = {-INFINITY, INFINITY},
        .max_cost = INFINITY,
        .max_mm = {.value = INFINITY        },
    };
    const lob_option rows[] = {
        OPERAND_INPUT("IMAGE", &set.image, LOB_FILE_IMAGE, "scan, or FILE.h5:/dataset",
                      .required = true),
        OPERAND_INPUT("SEEDS", &set.seeds, LOB_FILE_LABELS,
                      "labels on the image's grid; 0 is unknown, labels start at 1",
                      .required = true),
        OPT_OUTPUT("output", &set.labels, LOB_FILE_LABELS, "label volume to write", .letter = 'o',
                   .required = true),
        OPT_CHOICE("rule", &set.rule, "strength|distance|flood|value|square",
                   "what a path costs: strength is the original automaton, distance adds "
                   "differences up as 3D Slicer does; flood takes the largest value on the path, "
                   "as a watershed does, value and square add up the values, or their squares, "
                   "that are entered"),
        OPT_CHOICE("norm", &set.norm, "l2|l1|linf|alphamax", "distance over several channels"),
        OPT_INT_OF("neighbours", &set.neighbours, "4|6|8|18|26",
                   "neighbours of a voxel; left out: 26, with --slices 8"),
        OPT_CHOICE("slices", &set.slices, LOB_GRID_SLICES,
                   "treat every slice as an image of its own; x, y, z are voxel axes"),
        OPT_REAL("penalty", &set.penalty, "P", 0, 1e9,
                 "image units that a mm costs, with --rule distance, value or square"),
        OPT_INPUT("mask", &set.mask, LOB_FILE_LABELS,
                  "label only where this volume is not 0, and do not cross what is outside"),
        OPT_PAIR("range", &set.range, -INFINITY, INFINITY,
                 "label only voxels whose value is in this range; inf and -inf leave an end open"),
        OPT_INPUT("seed-strength", &set.seed_strength, LOB_FILE_IMAGE,
                  "strength of each seed, above 0 and at most 1; left out: 1"),
        OPT_REAL("min-strength", &set.min_strength, "S", 0, 1, "do not grow below this strength"),
        OPT_REAL("max-cost", &set.max_cost, "C", 0, INFINITY,
                 "do not grow beyond this path cost, in image units"),
        OPT_LENGTH("max-mm", &set.max_mm, 0, 1e8,
                   "do not grow farther than this from the nearest seed, straight; as 20mm or 8vox",
                   .above_low = true),
        OPT_INT("rounds", &set.rounds, "N", 0, INT32_MAX,
                "stop the automaton after so many of its rounds: no path has more steps; 0: go on "
                "to the fixed point, the exact result"),
        OPT_INT("frame", &set.frame, "N", 0, INT32_MAX,
                "time frame of the image, from 0; needed when there are several"),
        OPT_FLAG("trust-seeds", &set.trust_seeds,
                 "take seeds even if they look like a scan or leave nothing to grow"),
        OPT_OUTPUT("strength", &set.strength, LOB_FILE_IMAGE,
                   "also write the strength with which each voxel was taken (float32)"),
        OPT_OUTPUT("tie", &set.tie, LOB_FILE_LABELS,
                   "also write where two labels arrive at the same cost (1, in .png 255)"),
        OPT_LABEL_TABLE(&set.label_table),
        OPT_INT("tile", &set.tile, "N", 4, 256,
                "voxels along a tile's side; changes the time, never the result"),
    };
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, growcut(&s, &set));
}

const lob_command lob_command_growcut = {
    .name = "growcut",
    .summary = "grow labelled seeds over an image",
    .description =
        "A voxel takes the label of the seed that reaches it on the cheapest path; crossing "
        "differences of intensity is what costs. Of equal costs the smallest label wins, so the "
        "result is the same on every machine and device. What a limit keeps from being reached "
        "stays 0. NaN and infinite voxels are never labelled or crossed.\n"
        "Where bright walls part the regions (membranes, or a distance turned upside down), what "
        "is entered has to cost, not the change: --rule flood is the watershed by flooding from "
        "the seeds, on plateaus by the number of steps; value and square count every bright voxel "
        "that a path enters. Values count from the least of the data.\n"
        "With --rounds N it is the automaton as the papers run it: in a round every voxel looks "
        "at its neighbours, and after N the labels stay as they are. The report says whether the "
        "fixed point, the exact result, had been reached.\n"
        "Exact means that no cheaper path is left, where a step's cost is rounded to 1/64 of a "
        "level and values that are not whole, or span more than 65,536, are mapped to 65,536 "
        "levels first. Labels whose costs are nearer to each other than that may come out "
        "otherwise than in real arithmetic: 0.04 % of the voxels of a T1, 0.22 % with real "
        "values.\n"
        "Seeds hold two labels or more, one of them usually the background's; a single label needs "
        "a limit (--mask, --range, --max-mm, ...) or --slices, where it fills the slices that hold "
        "it.\n"
        "Seeds, masks and strengths lie on the image's grid. If their axes are only exchanged or "
        "flipped, they are turned as the image lies, and the report says so; what would have to be "
        "interpolated is refused.\n"
        "The label volume keeps the image's header. Its type is uint8, int16 or int32, whichever "
        "is the smallest that holds the largest label.",
    .examples =
        "lobule growcut scan.nii.gz seeds.nii.gz -o labels.nii.gz\n"
        "lobule growcut scan.nii.gz liver.nii.gz -o labels.nii.gz --max-mm 30 --range 40,180\n"
        "lobule growcut scan.nii.gz seeds.nii.gz -o labels.nii.gz --slices axial "
        "--report report.json",
    .result = "labelled_voxels",
    .result_text = "voxels labelled",
    .run = run,
};
