/* lobule labels: a chain of steps on a label volume. */
#include "kernels/labels/label_chain.h"
#include "kernels/labels/label_slabs.h"
#include "tools/commands/commands.h"
#include "tools/commands/labels_heirs.h"
#include "tools/commands/labels_steps.h"
#include "tools/inout/slabs.h"
#include "tools/table/label_names_option.h"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *out_path, *label_table;
    int neighbours, slices;
    lob_steps steps;
    lob_slabs slabs; /* labels and mask, cut for several tasks */

    lob_volume labels, out;
    lob_label_set values;
    uint8_t *mask;
    lob_typed_labels typed;
    lob_labels_output result;
} work;

/* ---- the command ---- */

static lob_status read_inputs(lob_session *s, work *w)
{
    const char *const path = w->slabs.path;
    LOB_TRY(lob_labels_steps_read(s, &w->typed));
    LOB_TRY(lob_session_read(s, &w->labels, path, w->slabs.frame));
    LOB_TRY(lob_grid_dense(s, &w->labels, &w->values, path));
    lob_labels_steps_fit(&w->typed, &w->labels.geometry);
    return lob_grid_mask(s, &w->mask, w->slabs.mask, &w->labels, path);
}

static lob_labels_options options_of(const work *w, const lob_geometry *geometry)
{
    return (lob_labels_options){.neighbours = w->neighbours,
                                .slice_axis = lob_grid_slice_axis(w->slices, geometry)};
}

/* slab: a task's planes; NULL: it has all. */
static lob_status compute(lob_session *s, work *w, const lob_slab *slab)
{
    const lob_labels_options options = options_of(w, &w->labels.geometry);
    lob_labels_input in = {
        .labels = w->labels.data,
        .type = w->labels.type,
        .count = w->values.count,
        .values = w->values.values,
        .dims = w->labels.dims,
        .mask = slab ? slab->mask : w->mask,
        .steps = w->typed.step,
        .step_count = w->typed.count,
    };
    memcpy(in.spacing_mm, w->labels.geometry.spacing_mm, sizeof in.spacing_mm);
    const int64_t max = lob_product(lob_voxels(&w->labels), sizeof(int32_t), 1, 1);
    LOB_TRY(lob_session_take(s, max, w->out_path));
    lob_session_compute(s, "cleaning");
    const lob_status st =
        slab ? lob_labels_slabs(&w->result, &in, &options, w->slabs.volume.dims.nz, s->team,
                                &s->context, &s->error)
             : s->backend->labels(&w->result, &in, &options, &s->context, &s->error);
    return lob_session_done(s, st, w->slabs.path, NULL);
}

static lob_status write_result(lob_session *s, work *w, const lob_slab *slab)
{
    lob_volume *const out = &w->out;
    if (lob_volume_adopt(out, &w->labels, &w->result.labels, w->result.type, 1) != LOB_OK)
        return lob_session_no_memory(s, w->out_path);
    lob_label_names_free(&out->names);
    if (lob_labels_pass_names(&out->names, &w->labels.names, &w->result, w->typed.count,
                              w->slabs.mask != NULL) != LOB_OK)
        return lob_session_no_memory(s, w->out_path);
    LOB_JSON_NUMBERS(s->results, {"labels_in", w->values.count}, {"labels", w->result.count});
    cJSON_AddItemToObject(s->results, "steps", lob_labels_steps_report(&w->typed, &w->result));
    cJSON_AddNumberToObject(s->results, "working_bytes", (double)w->result.working_bytes);
    if (w->result.count == 0) lob_session_note(s, "%s: no label is left", w->out_path);
    LOB_TRY(lob_label_table_take(s, out, w->label_table));
    return slab ? lob_slabs_write(s, &w->slabs, slab, out, w->out_path, true)
                : lob_session_write(s, out, w->out_path, true);
}

/* ---- several tasks ---- */

static lob_status clean_slab(lob_session *s, const lob_slab *slab, void *user)
{
    work *const w = user;
    const lob_volume *const stored = &w->slabs.volume;
    const char *const path = w->slabs.path;
    const int64_t before = lob_slabs_sent(s);
    LOB_TRY(lob_slabs_check_mask(s, &w->slabs));
    LOB_TRY(lob_slab_copy(s, &w->labels, stored, slab->image.data, slab->image.dims, path));
    LOB_TRY(lob_label_names_copy(&w->labels.names, &stored->names));
    LOB_TRY(lob_slab_labels(s, &w->labels, &w->values, path));
    LOB_TRY(compute(s, w, slab));
    LOB_TRY(lob_slabs_report_sent(s, before));
    return write_result(s, w, slab);
}

/* Bytes that steps hold at once of a voxel, and of one around. */
enum { WORKING = 20, AROUND = 16 };

/* How far the step reaches that reaches farthest, and all of them together; planes. */
typedef struct {
    int64_t far, all;
} reaches;

static reaches reaches_of(const work *w, const lob_volume *v)
{
    const lob_labels_options options = options_of(w, &v->geometry);
    const int64_t nz = v->dims.nz;
    reaches of = {0};
    for (int i = 0; i < w->typed.count; i++) {
        const int64_t reach = lob_labels_reach(&w->typed.step[i], &options, v->geometry.spacing_mm);
        if (reach > of.far) of.far = reach < nz ? reach : nz;
        of.all += reach < nz ? reach : nz;
    }
    return of;
}

/* What a task holds of planes that are reached, of so many others. */
static int64_t beside(const lob_volume *v, int64_t reach, int64_t others)
{
    return (2 * reach < others ? 2 * reach : others) * v->dims.nx * v->dims.ny * AROUND;
}

static lob_status by_slabs(lob_session *s, work *w)
{
    lob_slabs *const slabs = &w->slabs;
    const lob_volume *const v = &slabs->volume;
    LOB_TRY(lob_labels_steps_read(s, &w->typed));
    LOB_TRY(lob_slabs_open(s, slabs));
    LOB_TRY(lob_grid_one_channel(s, v, slabs->path));
    const int64_t label = (int64_t)lob_type_of(v->type)->bytes, nz = v->dims.nz;
    const int64_t tasks = slabs->plan > 0 ? slabs->plan : lob_team_size(s->team);
    const int64_t others = nz - (nz + tasks - 1) / tasks;
    const reaches reach = reaches_of(w, v);
    lob_labels_steps_fit(&w->typed, &v->geometry);
    /* of pieces, labels and values; planes that are reached */
    slabs->seam_bytes = 2 * (int64_t)sizeof(int32_t) + 2 * reach.all * label;
    slabs->common_bytes = beside(v, reach.far, others);
    LOB_TRY(lob_slabs_cut(s, slabs, 0, 1, label + WORKING, label));
    return slabs->plan > 0 ? LOB_OK : lob_slabs_each(s, slabs, clean_slab, w);
}

/* ---- the command ---- */

static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(lob_grid_neighbours(s, &w->neighbours, w->slices));
    LOB_TRY(lob_label_table_check(s, w->label_table));
    if (lob_team_size(s->ranks) > 1 || w->slabs.plan > 0)
        LOB_TRY(lob_session_cpu_alone(s, "several tasks clean"));
    return lob_labels_steps_parse(s, &w->typed, &w->steps);
}

static lob_status in_memory(lob_session *s, work *w)
{
    LOB_TRY(read_inputs(s, w));
    LOB_TRY(lob_session_device(s));
    LOB_TRY(compute(s, w, NULL));
    return write_result(s, w, NULL);
}

static lob_status labels(lob_session *s, void *user)
{
    enum { MASK = 2 };
    work *const w = user;
    lob_volume stored;
    if (s->ranks || w->slabs.plan > 0) return lob_slabs_close(s, &w->slabs, by_slabs(s, w));
    const lob_status st = in_memory(s, w);
    if (st == LOB_ENOMEM && lob_session_peek(s, &stored, w->slabs.path))
        lob_slabs_suggest(s, w->slabs.path, 0,
                          WORKING + (int64_t)lob_type_of(stored.type)->bytes +
                              (w->slabs.mask ? MASK : 0),
                          beside(&stored, reaches_of(w, &stored).far, stored.dims.nz));
    return st;
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->labels, &w->out);
    lob_label_set_free(&w->values);
    lob_labels_output_free(&w->result);
    lob_typed_labels_free(&w->typed);
    free(w->mask);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .neighbours = -1, .slices = -1, .slabs = {.frame = -1, .channel = -1, .at_once = true}
    };
    const lob_option rows[] = {
        OPERAND_LABELS(&w->slabs.path,
                       "label volume, FILE.h5:/dataset or STORE.zarr/array; 0 is no label"),
        OPT_LABELS_OUTPUT(&w->out_path),
        OPT_LABEL_TABLE(&w->label_table),
        OPT_STEP("keep", &w->steps, "LIST", "keep these labels, as 2,4,7-9; others become 0"),
        OPT_STEP("drop", &w->steps, "LIST", "let these labels become 0"),
        OPT_STEP("map", &w->steps, "FILE",
                 "let labels become others: a table, .tsv or .csv, of lines FROM,TO; labels that "
                 "it does not name stay"),
        OPT_STEP("merge", &w->steps, "LIST=LABEL", "let these labels become one, as 2,4-6=9"),
        OPT_STEP("largest", &w->steps, "N", "keep the N largest pieces of each label"),
        OPT_STEP("min-size", &w->steps, "EXTENT",
                 "take out pieces smaller than this; as 100vox, 50mm3, 5ml or 5um3"),
        OPT_STEP("fill-holes", &w->steps, NULL,
                 "give background that labels enclose to the piece that has most faces with it: "
                 "background that reaches no border of the volume, or with --slices of its slice"),
        OPT_STEP("erode", &w->steps, "RADIUS",
                 "take voxels from each label that lie within this distance of another label or "
                 "of 0; mm, or as 2vox"),
        OPT_STEP("dilate", &w->steps, "RADIUS",
                 "let all labels grow by this distance at once, into 0 only: none overruns "
                 "another; the nearest label gets a voxel"),
        OPT_STEP("expand", &w->steps, "RADIUS", "the same as --dilate"),
        OPT_STEP("open", &w->steps, "RADIUS", "erode, then dilate: takes thin parts away"),
        OPT_STEP("close", &w->steps, "RADIUS",
                 "dilate, then erode, but labels keep their voxels: closes thin gaps"),
        OPT_STEP("smooth", &w->steps, "SIGMA",
                 "smooth the surfaces of all labels at once, without gaps between them, by the "
                 "majority in a Gaussian of this standard deviation; parts thinner than it stay; "
                 "mm, or as 2vox"),
        OPT_STEP("median", &w->steps, "R",
                 "majority of the voxels up to R away along each axis; voxels, or with a unit mm, "
                 "where an axis with a larger spacing is left out"),
        OPT_STEP("boundary", &w->steps, NULL,
                 "keep voxels that share a face with another label or 0"),
        OPT_STEP("slips", &w->steps, NULL,
                 "drop single voxels amid strokes of other labels: at most one of 26 neighbours "
                 "has the same label, and more have others"),
        OPT_STEP("sequential", &w->steps, NULL, "number labels 1 to K, in their order"),
        OPT_STEP("split", &w->steps, NULL,
                 "make each piece of each label a label of its own, from 1 in the order in which "
                 "a raster scan meets them"),
        OPT_INT_OF("neighbours", &w->neighbours, "4|6|8|18|26",
                   "neighbours of a voxel that belong to its piece; left out: 26, with --slices 8"),
        OPT_SLICES(&w->slices),
        OPT_MASK(&w->slabs.mask,
                 "where this volume is 0, voxels keep the label that they came with; steps see "
                 "them all the same"),
        OPT_FRAME(&w->slabs.frame, "labels"),
        OPT_PLAN(&w->slabs.plan),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_labels = {
    .name = "labels",
    .summary = "clean labels: keep, merge, smooth, grow, fill, split",
    .description =
        "Options marked [step] are steps; they are done in the order in which they are given, and "
        "may be given more than once. A piece is a connected part of one label.\n"
        "Holes are filled with background alone: labels that lie inside others stay. Balls are "
        "exact, in mm between voxel centres; beyond the border of the volume labels go on, so "
        "nothing is lost there.\n"
        "--smooth gives each voxel the label whose voxels have the largest weight around it, 0 "
        "being a label too and the smallest label winning ties; beyond round(3 SIGMA) voxels "
        "weights are 0. A voxel that would lose its label keeps it where no voxel that kept that "
        "label lies within round(2 SIGMA) voxels along each axis, and so do lost ones of that "
        "label this near to it: so corners are rounded, and a vessel of one voxel stays whole. "
        "--median is a plain majority, in which ties go to the voxel's own label.\n"
        "Names and colours that the file has follow their labels; of merged labels the one that "
        "had the number gives its name, else the smallest. The report lists, for each step, what "
        "the labels became.\n"
        "The result has the same bytes on every machine, device and number of threads.",
    .examples = "lobule labels seg.nii.gz -o clean.nii.gz --largest 1 --fill-holes --smooth 1mm\n"
                "lobule labels seg.nii.gz -o liver.nii.gz --merge 3,7-9=1 --keep 1 --close 3mm\n"
                "lobule labels cells.nii.gz -o cells2.nii.gz --split --min-size 50vox --sequential",
    .result = "labels",
    LOB_COMMAND_PARTS(work, options, check, labels, release),
    .voxel_ns = 100,
    .shares = true,
    .only_prints = "plan",
};
