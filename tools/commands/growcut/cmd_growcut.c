/* lobule growcut: grow seeds over an image. */
#include "io/file.h"
#include "kernels/growcut/growcut_slabs.h"
#include "tools/commands/commands.h"
#include "tools/commands/growcut/growcut_work.h"
#include "tools/table/label_names_option.h"
#include "volumes/free.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef lob_growcut_work work;

/* What the option table cannot say: options that exclude or need one another. */
static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(lob_grid_neighbours(s, &w->options.neighbours, w->slices));
    LOB_TRY(lob_label_table_check(s, w->label_table));
    const bool flood = w->rule == LOB_RULE_FLOOD;
    const bool many = lob_team_size(s->ranks) > 1 || w->slabs.plan > 0;
    /* "auto" may find a GPU for one task and none for another. */
    if (many && (flood || w->options.rounds > 0 || strcmp(s->device.backend, "cuda") != 0))
        LOB_TRY(lob_session_cpu_alone(s, flood                   ? "several tasks flood"
                                         : w->options.rounds > 0 ? "several tasks grow by rounds"
                                                                 : "several tasks grow"));
    if (w->options.penalty > 0.0 && (w->rule == LOB_RULE_STRENGTH || flood))
        return lob_fail(&s->error, LOB_EARG,
                        "--penalty belongs to --rule distance, value and square");
    if (flood && (w->options.rounds > 0 || w->seed_strength_path))
        return lob_fail(&s->error, LOB_EARG, "--%s does not go with --rule flood",
                        w->options.rounds > 0 ? "rounds" : "seed-strength");
    if (strcmp(w->slabs.path, w->seeds_path) == 0 || lob_same_file(w->slabs.path, w->seeds_path))
        return lob_fail_file(&s->error, LOB_EARG, w->seeds_path,
                             "named for IMAGE and for SEEDS; name the scan and then its seeds");
    return LOB_OK;
}

static lob_status read_inputs(lob_session *s, work *w)
{
    const char *const others[] = {w->seeds_path, w->slabs.mask, w->seed_strength_path};
    for (size_t i = 0; i < LOB_COUNT(others); i++) lob_session_ahead(s, others[i], LOB_FRAME_NONE);
    LOB_TRY(lob_session_read(s, &w->image, w->slabs.path, w->slabs.frame));
    LOB_TRY(lob_session_check(s, &w->image, LOB_I32, 1, w->labels_path));
    LOB_TRY(lob_session_check(s, &w->image, LOB_F32, 1, w->strength_path));
    LOB_TRY(lob_session_check(s, &w->image, LOB_U8, 1, w->tie_path));
    w->slab = lob_slab_whole(&w->image);
    LOB_TRY(lob_grid_read(s, &w->seeds, w->seeds_path, &w->image, w->slabs.path));
    const double start_s = lob_clock_s();
    LOB_TRY(lob_grid_dense(s, &w->seeds, &w->labelled, w->seeds_path));
    lob_session_stage(s, "prepare", start_s);
    LOB_TRY(lob_growcut_check_seeds(s, w));
    LOB_TRY(lob_grid_mask(s, &w->mask, w->slabs.mask, &w->image, w->slabs.path));
    if (!w->seed_strength_path) return LOB_OK;
    LOB_TRY(lob_grid_read(s, &w->strengths, w->seed_strength_path, &w->image, w->slabs.path));
    return lob_growcut_take_strength(s, w, 0);
}

/* Allocate results on the grid of the image, or of a slab of it. */
static lob_status make_outputs(lob_session *s, work *w, const lob_volume *image)
{
    LOB_TRY(lob_grid_make(s, &w->labels, image, w->seeds.type, 1, w->labels_path));
    lob_label_names_free(&w->labels.names); /* labels are called what their seeds are */
    if (lob_label_names_copy(&w->labels.names, &w->seeds.names) != LOB_OK)
        return lob_session_no_memory(s, w->labels_path);
    if (w->strength_path)
        LOB_TRY(lob_grid_make(s, &w->strength, image, LOB_F32, 1, w->strength_path));
    if (w->tie_path) LOB_TRY(lob_grid_make(s, &w->tie, image, LOB_U8, 1, w->tie_path));
    lob_label_names_free(&w->tie.names);
    return LOB_OK;
}

static lob_status call_kernel(lob_session *s, work *w, lob_growcut_stats *stats,
                              const lob_volume *image)
{
    const lob_slab *const slab = &w->slab;
    const lob_growcut_input in = {
        .image = image,
        .seeds = &w->seeds,
        .labels = w->labelled.count,
        .mask = w->mask ? w->mask : slab->mask,
        .seed_strength = w->seed_strength,
    };
    const lob_growcut_output out = {
        .labels = w->labels.data, .strength = w->strength.data, .tie = w->tie.data};
    if (!s->team) return s->backend->growcut(&out, stats, &in, &w->options, &s->context, &s->error);
    const int64_t first = slab->z - slab->from;
    const lob_growcut_slab part = {.team = s->team, .first = first, .end = first + slab->planes};
    return s->backend->growcut_slabs(&out, stats, &in, &w->options, &part, &s->context, &s->error);
}

lob_status lob_growcut_grow(lob_session *s, work *w)
{
    const lob_volume *const image = &w->slab.image;
    lob_growcut_stats stats = {0};
    double start_s = lob_clock_s();
    w->options.rule = (lob_growcut_kind)w->rule;
    w->options.norm = (lob_norm)w->norm;
    w->options.slice_axis = lob_grid_slice_axis(w->slices, &image->geometry);
    LOB_TRY(lob_growcut_limit_distance(s, w));
    LOB_TRY(make_outputs(s, w, image));
    lob_session_stage(s, "prepare", start_s);
    lob_session_compute(s, "growing");
    const lob_status st = call_kernel(s, w, &stats, image);
    LOB_TRY(lob_session_done(s, st, w->slabs.path, w->seeds_path));

    if (s->team) LOB_TRY(lob_slabs_report_sent(s, w->sent));
    start_s = lob_clock_s();
    LOB_TRY(lob_growcut_count(s, w, &w->labels, &w->voxels));
    LOB_TRY(lob_growcut_report(s, w, &stats));
    if (lob_labels_restore(&w->labels, &w->labelled) != LOB_OK)
        return lob_session_no_memory(s, w->labels_path);
    lob_session_stage(s, "finish", start_s);

    /* Labels are written last: if they exist, the other outputs are complete. */
    LOB_TRY(lob_slabs_write(s, &w->slabs, &w->slab, &w->strength, w->strength_path, false));
    if (w->tie_path) lob_grid_show_mask(&w->tie, w->tie_path);
    LOB_TRY(lob_slabs_write(s, &w->slabs, &w->slab, &w->tie, w->tie_path, true));
    return lob_slabs_write(s, &w->slabs, &w->slab, &w->labels, w->labels_path, true);
}

static lob_status growcut(lob_session *s, void *user)
{
    work *const w = user;
    if (s->ranks || w->slabs.plan > 0) return lob_growcut_by_slabs(s, w);
    lob_status st = read_inputs(s, w);
    if (st == LOB_OK) st = lob_session_device(s);
    if (st == LOB_OK) st = lob_growcut_grow(s, w);
    return lob_growcut_suggest(s, w, st);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->seeds, &w->strengths, &w->labels, &w->strength, &w->tie);
    lob_label_set_free(&w->labelled);
    LOB_FREE(w->mask, w->seed_strength, w->is_seed, w->squared_mm, w->voxels);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .slabs = {.frame = -1,      .channel = -1, .at_once = true},
        .rule = LOB_RULE_STRENGTH,
        .norm = LOB_NORM_L2,
        .slices = -1,
        .options = {.neighbours = -1, .range = {-INFINITY, INFINITY}, .max_cost = INFINITY},
        .max_mm = {.value = INFINITY},
    };
    const lob_option rows[] = {
        OPERAND_IMAGE(&w->slabs.path, "scan"),
        OPERAND_SEEDS(&w->seeds_path,
                      "labels on the image's grid, or of a part of it, filled up with 0; 0 is "
                      "unknown, labels start at 1"),
        OPT_LABELS_OUTPUT(&w->labels_path),
        OPT_CHOICE("rule", &w->rule, "strength|distance|flood|value|square",
                   "what a path costs: strength is the original automaton, distance adds "
                   "differences up as 3D Slicer does; flood takes the largest value on the path, "
                   "as a watershed does, value and square add up the values, or their squares, "
                   "that are entered"),
        OPT_CHOICE("norm", &w->norm, "l2|l1|linf|alphamax", "distance over several channels"),
        OPT_NEIGHBOURS(&w->options.neighbours),
        OPT_SLICES(&w->slices),
        OPT_REAL("penalty", &w->options.penalty, "P", 0, 1e9,
                 "image units that a mm costs, with --rule distance, value or square"),
        OPT_MASK(&w->slabs.mask,
                 "label only where this volume is not 0, and do not cross what is outside"),
        OPT_PAIR("range", &w->options.range, -INFINITY, INFINITY,
                 "label only voxels whose value is in this range; inf and -inf leave an end open"),
        OPT_INPUT("seed-strength", &w->seed_strength_path, LOB_FILE_IMAGE,
                  "strength of each seed, above 0 and at most 1; left out: 1"),
        OPT_REAL("min-strength", &w->options.min_strength, "S", 0, 1,
                 "do not grow below this strength"),
        OPT_REAL("max-cost", &w->options.max_cost, "C", 0, INFINITY,
                 "do not grow beyond this path cost, in image units"),
        OPT_LENGTH("max-mm", &w->max_mm, 0, 1e8,
                   "do not grow farther than this from the nearest seed, straight; as 20mm or 8vox",
                   .above_low = true),
        OPT_INT("rounds", &w->options.rounds, "N", 0, INT32_MAX,
                "stop the automaton after so many of its rounds: no path has more steps; 0: go on "
                "to the fixed point, the exact result"),
        OPT_FRAME(&w->slabs.frame, "image"),
        OPT_FLAG("trust-seeds", &w->trust_seeds,
                 "take seeds even if they look like a scan or leave nothing to grow"),
        OPT_OUTPUT("strength", &w->strength_path, LOB_FILE_IMAGE,
                   "also write the strength with which each voxel was taken (float32)"),
        OPT_OUTPUT("tie", &w->tie_path, LOB_FILE_LABELS,
                   "also write where two labels arrive at the same cost (1, in .png 255)"),
        OPT_LABEL_TABLE(&w->label_table),
        OPT_INT("tile", &w->options.tile, "N", 4, 256,
                "voxels along a tile's side; changes the time, never the result"),
        OPT_PLAN(&w->slabs.plan),
    };
    LOB_ROWS(to, rows);
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
    LOB_COMMAND_PARTS(work, options, check, growcut, release),
    .voxel_ns = 300,
    .shares = true,
    .spreads = true,
    .only_prints = "plan",
};
