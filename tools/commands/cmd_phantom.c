/* lobule phantom: synthetic scans with their truth and seeds. */
#include "kernels/phantom/phantom.h"
#include "tools/commands/commands.h"
#include "tools/options/image_rows.h"
#include "volumes/bytes.h"
#include "volumes/labels.h"

#include <inttypes.h>
#include <math.h>

/* Help of the options whose default depends on the kind. */
typedef struct {
    char size[160], spacing[160], type[160], noise[160], bias[160], cells[160];
} help_texts;

typedef struct {
    const char *image_path, *truth_path, *seeds_path, *strokes;
    int kind, type;
    double size[3], spacing_mm[3], noise, bias, stroke_gap;
    int random_seed, cells;
    bool nuclei;
    help_texts text;

    lob_phantom_options options;
    lob_volume image, truth, seeds;
    lob_label_set found; /* the labels of truth */
} work;

#define NAME(kind, name) "|" name
static const char kind_names[] = LOB_PHANTOM_LIST(NAME);
#undef NAME

/* The order of the words in the option's row. */
static const lob_type types[] = {LOB_U8, LOB_I16, LOB_U16};

/* The file of seeds of either kind; NULL: there is none. */
static const char *strokes_of(const work *w)
{
    return w->strokes ? w->strokes : w->seeds_path;
}

/* The defaults of the kind, then the options given. */
static lob_status choose(lob_session *s, work *w)
{
    lob_phantom_options *const o = &w->options;
    *o = lob_phantom_defaults((lob_phantom_kind)w->kind);
    if (isfinite(w->size[0])) {
        int64_t *const sides[3] = {&o->dims.nx, &o->dims.ny, &o->dims.nz};
        for (int a = 0; a < 3; a++) {
            if (w->size[a] != floor(w->size[a]))
                return lob_fail(&s->error, LOB_EARG, "--size: %g is not a whole number of voxels",
                                w->size[a]);
            *sides[a] = (int64_t)w->size[a];
        }
    }
    for (int a = 0; a < 3 && isfinite(w->spacing_mm[a]); a++) o->spacing_mm[a] = w->spacing_mm[a];
    if (w->type >= 0) o->type = types[w->type];
    if (w->noise >= 0) o->noise = w->noise;
    if (w->bias >= 0) o->bias = w->bias;
    if (w->stroke_gap > 0) o->stroke_gap = w->stroke_gap;
    if (w->cells > 0) o->cells = w->cells;
    o->random_seed = (uint64_t)w->random_seed;
    o->nuclei = w->nuclei;
    o->drawn = w->strokes != NULL;

    const bool cells = o->kind == LOB_PHANTOM_CELLS;
    const lob_rule rules[] = {
        {!cells && w->nuclei,         "--nuclei belongs to the kind 'cells'"      },
        {!cells && w->cells > 0,      "--cells belongs to the kind 'cells'"       },
        {cells && w->stroke_gap > 0,  "--stroke-gap belongs to the kind 'abdomen'"},
        {cells && w->strokes,         "--strokes belongs to the kind 'abdomen'"   },
        {w->seeds_path && w->strokes, "--seeds and --strokes exclude one another" },
    };
    return LOB_RULES(s, rules);
}

/* Bytes of the volumes that are drawn. */
static int64_t volume_bytes(const lob_phantom_options *o, int label_volumes)
{
    const int32_t labels = o->kind == LOB_PHANTOM_CELLS ? o->cells + 1 : 8;
    const size_t each = lob_type_of(o->type)->bytes +
                        (size_t)label_volumes * lob_type_of(lob_label_type(labels))->bytes;
    return lob_product(lob_dims_voxels(o->dims), (int64_t)each, 1, 1);
}

/* The labels that occur, with their voxels, for the report. */
static lob_status report(lob_session *s, work *w)
{
    lob_label_set *const found = &w->found;
    LOB_TRY(lob_labels_dense(&w->truth, found, "truth", &s->error));
    cJSON *const labels = cJSON_AddArrayToObject(s->results, "labels");
    for (int32_t i = 0; i < found->count && labels; i++) {
        cJSON *const row = lob_json_row(labels);
        const int32_t value = found->values[i];
        const lob_label_name *const named = lob_label_names_find(&w->truth.names, value);
        cJSON_AddNumberToObject(row, "label", value);
        cJSON_AddStringToObject(row, "name",
                                named        ? named->name
                                : value == 1 ? "background"
                                             : "cell");
        cJSON_AddNumberToObject(row, "voxels", (double)found->voxels[i]);
    }
    return lob_labels_restore(&w->truth, found);
}

static lob_status check(lob_session *s, void *user)
{
    work *const w = user;
    LOB_TRY(choose(s, w));
    const lob_volume grid = {.dims = w->options.dims};
    LOB_TRY(lob_session_check(s, &grid, w->options.type, 1, w->image_path));
    LOB_TRY(lob_session_check(s, &grid, LOB_I32, 1, w->truth_path));
    return lob_session_check(s, &grid, LOB_I32, 1, strokes_of(w));
}

static lob_status phantom(lob_session *s, void *user)
{
    work *const w = user;
    const bool names = w->truth_path || s->report_path;
    const char *const seeds = strokes_of(w);
    const int64_t bytes = volume_bytes(&w->options, names + (seeds != NULL));
    if (bytes > 0) LOB_TRY(lob_session_take(s, bytes, w->image_path));
    lob_session_compute(s, "drawing");
    const lob_status st = lob_phantom(&w->image, names ? &w->truth : NULL, seeds ? &w->seeds : NULL,
                                      &w->options, &s->context, &s->error);
    if (st == LOB_ENOMEM) {
        char text[LOB_BYTES_TEXT];
        const lob_dims d = w->options.dims;
        return lob_fail(
            &s->error, st, "--size: no memory for %lld x %lld x %lld voxels, whose volumes take %s",
            (long long)d.nx, (long long)d.ny, (long long)d.nz, lob_bytes_text(text, bytes));
    }
    LOB_TRY(st);
    if (names) LOB_TRY(report(s, w));
    lob_session_computed(s);
    if (w->truth_path) LOB_TRY(lob_session_write(s, &w->truth, w->truth_path, true));
    if (seeds) LOB_TRY(lob_session_write(s, &w->seeds, seeds, true));
    return lob_session_write(s, &w->image, w->image_path, false);
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->image, &w->truth, &w->seeds);
    lob_label_set_free(&w->found);
}

static void describe_defaults(help_texts *h)
{
    const lob_phantom_options a = lob_phantom_defaults(LOB_PHANTOM_ABDOMEN);
    const lob_phantom_options c = lob_phantom_defaults(LOB_PHANTOM_CELLS);
    const double *const p = a.spacing_mm, *const q = c.spacing_mm;
    snprintf(h->size, sizeof h->size,
             "voxels along x, y, z; left out: %" PRId64 ",%" PRId64 ",%" PRId64
             ", for cells %" PRId64 ",%" PRId64 ",%" PRId64,
             a.dims.nx, a.dims.ny, a.dims.nz, c.dims.nx, c.dims.ny, c.dims.nz);
    snprintf(h->spacing, sizeof h->spacing,
             "mm from voxel to voxel; left out: %g,%g,%g, for cells %g,%g,%g", p[0], p[1], p[2],
             q[0], q[1], q[2]);
    snprintf(h->type, sizeof h->type,
             "voxel type; 16 bits hold 0..4095; left out: %s, for cells %s",
             lob_type_of(a.type)->name, lob_type_of(c.type)->name);
    snprintf(h->noise, sizeof h->noise,
             "standard deviation of the noise, of the full range; left out: %g, for cells %g",
             a.noise, c.noise);
    snprintf(h->bias, sizeof h->bias,
             "how far brightness drifts over the field; left out: %g, for cells %g", a.bias,
             c.bias);
    snprintf(h->cells, sizeof h->cells, "how many cells; left out: %d", c.cells);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){
        .kind = -1,
        .type = -1,
        .size = {INFINITY, INFINITY, INFINITY},
        .spacing_mm = {INFINITY, INFINITY, INFINITY},
        .noise = -1,
        .bias = -1,
        .stroke_gap = -1,
        .random_seed = 1,
    };
    describe_defaults(&w->text);
    const lob_option rows[] = {
        OPERAND_CHOICE("KIND", &w->kind, &kind_names[1], "what to draw", .required = true),
        OPT_IMAGE_OUTPUT(&w->image_path, "scan to write"),
        OPT_OUTPUT("truth", &w->truth_path, LOB_FILE_LABELS,
                   "also write the true label of every voxel"),
        OPT_OUTPUT("seeds", &w->seeds_path, LOB_FILE_LABELS,
                   "also write rows of seeds well inside of every region"),
        OPT_OUTPUT("strokes", &w->strokes, LOB_FILE_LABELS,
                   "also write strokes as a person draws them on a few slices, for segment"),
        OPT_TRIPLE("size", &w->size, 1, 1e6, w->text.size),
        OPT_TRIPLE("spacing", &w->spacing_mm, 1e-6, 1e6, w->text.spacing),
        OPT_CHOICE("type", &w->type, "uint8|int16|uint16", w->text.type),
        OPT_REAL("noise", &w->noise, "PERCENT", 0, 100, w->text.noise),
        OPT_REAL("bias", &w->bias, "SHARE", 0, 1, w->text.bias),
        OPT_INT("random-seed", &w->random_seed, "N", 0, INT32_MAX,
                "another number gives another patient, or other cells"),
        OPT_REAL("stroke-gap", &w->stroke_gap, "MM", 1, 1000,
                 "about so many mm of a body 210 mm high from one slice with strokes to the next; "
                 "left out: 16, for --strokes 40"),
        OPT_INT("cells", &w->cells, "N", 1, 100000, w->text.cells),
        OPT_FLAG("nuclei", &w->nuclei, "let the cells' nuclei be bright instead of membranes"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_phantom = {
    .name = "phantom",
    .summary = "make a synthetic scan, with its truth and seeds",
    .description =
        "abdomen: the trunk as T1-weighted MRI with contrast and fat suppression shows it, in 12 "
        "bits with Rician noise. Labels: 1 background, 2 liver with its vessels, 3 liver tumour, 4 "
        "spleen, 5 right kidney, 6 left kidney, 7 spine, 8 stomach.\n"
        "cells: touching cells with bright membranes or nuclei. Labels: 1 background, then one for "
        "each cell.\n"
        "The picture fills the field whatever the number of voxels. The same options give the same "
        "bytes on every machine. One voxel along z gives one slice.",
    .examples =
        "lobule phantom abdomen -o scan.nii.gz --truth truth.nii.gz --strokes strokes.nii.gz\n"
        "lobule phantom abdomen -o big.nii.gz --size 512,512,300 --spacing 0.75,0.75,1\n"
        "lobule phantom cells -o cells.png --size 512,512,1 --cells 200",
    LOB_COMMAND_PARTS(work, options, check, phantom, release),
};
