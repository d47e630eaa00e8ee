/* lobule compare: how alike two volumes are, label by label or value by value. */
#include "kernels/levels/levels.h"
#include "kernels/scores/partition.h"
#include "tools/commands/commands.h"
#include "tools/commands/compare/compare_work.h"
#include "tools/options/options.h"
#include "tools/table/table_file.h"
#include "tools/table/terminal_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef lob_compare_work work;

/* ---- values ---- */

typedef struct {
    int64_t voxels, different, odd; /* odd: finite or the same infinity in one volume only */
    double largest, sum, squares;   /* over voxels finite in both */
    int64_t where;                  /* first voxel of the largest difference */
    int64_t compared;
} difference;

static void add_block(difference *d, const double *a, const double *b, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) {
            d->compared += isfinite(a[i]) != 0;
            continue;
        }
        d->different++;
        if (!isfinite(a[i]) || !isfinite(b[i])) {
            d->odd++;
            continue;
        }
        const double apart = fabs(a[i] - b[i]);
        d->compared++;
        d->sum += apart;
        d->squares += apart * apart;
        if (apart > d->largest) {
            d->largest = apart;
            d->where = first + i;
        }
    }
    d->voxels += n;
}

static void print_values(const difference *d, double mean, double rms, const lob_volume *v)
{
    printf("voxels               %" PRId64 "\n", d->voxels);
    printf("different            %" PRId64 "\n", d->different);
    printf("finite in one only   %" PRId64 "\n", d->odd);
    printf("largest difference   %.9g", d->largest);
    if (d->largest > 0) {
        const int64_t at = d->where % lob_voxels(v);
        printf(" at voxel (%" PRId64 ", %" PRId64 ", %" PRId64 ")", at % v->dims.nx,
               at / v->dims.nx % v->dims.ny, at / v->dims.nx / v->dims.ny);
        if (v->channels > 1) printf(" of channel %" PRId64, d->where / lob_voxels(v));
    }
    printf("\nmean difference      %.9g\nroot mean square     %.9g\n%s\n", mean, rms,
           d->different ? "different" : "equal");
}

static lob_status compare_values(lob_session *s, lob_compare_work *w)
{
    const lob_volume *const a = &w->a, *const b = &w->b;
    enum { BLOCK = 4096 };
    if (a->channels != b->channels)
        return lob_fail(&s->error, LOB_EDATA, "%s has %d channels but %s has %d", w->a_path,
                        a->channels, w->b_path, b->channels);
    const int64_t n = lob_voxels(a) * a->channels;
    difference d = {0};
    for (int64_t first = 0; first < n; first += BLOCK) {
        double values[2][BLOCK];
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        lob_volume_values(values[0], a, first, count);
        lob_volume_values(values[1], b, first, count);
        add_block(&d, values[0], values[1], first, count);
    }
    /* Doubles do not tell 64-bit integers apart beyond 2^53. */
    const bool wide = a->type == b->type && (a->type == LOB_I64 || a->type == LOB_U64);
    if (wide && a->slope == b->slope && a->inter == b->inter) {
        d.different = 0;
        for (int64_t i = 0; i < n; i++)
            d.different += ((const uint64_t *)a->data)[i] != ((const uint64_t *)b->data)[i];
    }
    const double mean = d.compared ? d.sum / (double)d.compared : 0.0;
    const double rms = d.compared ? sqrt(d.squares / (double)d.compared) : 0.0;
    cJSON_AddBoolToObject(s->results, "equal", d.different == 0);
    LOB_JSON_NUMBERS(s->results, {"voxels", d.voxels}, {"different", d.different},
                     {"finite_in_one_only", d.odd}, {"largest_difference", d.largest},
                     {"mean_difference", mean}, {"root_mean_square", rms});
    lob_session_doing(s, "printing");
    if (!w->json) print_values(&d, mean, rms, a);
    return d.different && w->strict ? LOB_EDIFFER : LOB_OK;
}

/* ---- supervoxels ---- */

static lob_status make_dense(lob_session *s, lob_volume *v, int64_t *count, const char *path)
{
    lob_label_set set = {0};
    LOB_TRY(lob_grid_dense(s, v, &set, path));
    *count = set.count;
    lob_label_set_free(&set);
    return LOB_OK;
}

static lob_status print(lob_session *s, const lob_partition *p, bool quiet)
{
    const lob_measure rows[] = {
        {"voxels",                           "%.0f", (double)p->voxels       },
        {"supervoxels",                      "%.0f", (double)p->supervoxels  },
        {"regions",                          "%.0f", (double)p->regions      },
        {"boundary_recall",                  "%.6f", p->boundary_recall      },
        {"under_segmentation_error",         "%.6f", p->under_segmentation   },
        {"under_segmentation_error_neubert", "%.6f", p->under_segmentation_np},
        {"achievable_segmentation_accuracy", "%.6f", p->achievable_accuracy  },
        {"explained_variation",              "%.6f", p->explained_variation  },
        {"compactness",                      "%.6f", p->compactness          },
        {"contour_density",                  "%.6f", p->contour_density      },
    };
    return lob_compare_print(s, rows, LOB_COUNT(rows), quiet);
}

static lob_status compare_supervoxels(lob_session *s, lob_compare_work *w)
{
    const lob_volume *const image = w->image_path ? &w->image : NULL;
    lob_partition_input in = {.labels = &w->b, .truth = &w->a, .image = image};
    LOB_TRY(make_dense(s, &w->a, &in.truth_count, w->a_path));
    LOB_TRY(make_dense(s, &w->b, &in.label_count, w->b_path));

    const bool given = isfinite(w->tolerance.value);
    const lob_partition_options options = {
        .tolerance = given ? w->tolerance.value : 1.0,
        .in_voxels = given ? w->tolerance.voxels : true,
        .slice_axis = lob_grid_slice_axis(w->slices, &w->b.geometry),
    };
    lob_partition measures;
    LOB_TRY(
        lob_session_name(s, lob_partition_measure(&measures, &in, &options, &s->context, &s->error),
                         w->b_path, NULL));
    cJSON_AddNumberToObject(s->results, "tolerance", options.tolerance);
    cJSON_AddStringToObject(s->results, "tolerance_unit", options.in_voxels ? "vox" : "mm");
    cJSON_AddNumberToObject(s->results, "slice_axis", options.slice_axis);
    lob_session_doing(s, "printing");
    return print(s, &measures, w->json);
}

/* ---- the command ---- */

typedef enum { LABELS, VALUES, INSTANCES, SUPERVOXELS } kind;

static kind kind_of(const work *w)
{
    return w->supervoxels ? SUPERVOXELS : w->instances ? INSTANCES : w->values ? VALUES : LABELS;
}

void lob_compare_add_value(lob_text *table, double value, const char *format)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    lob_text_print(table, "\t%s", isnan(value) ? "n/a" : text);
}

lob_status lob_compare_print(lob_session *s, const lob_measure *rows, size_t count, bool quiet)
{
    lob_text table = {NULL};
    for (size_t i = 0; i < count; i++) {
        cJSON_AddNumberToObject(s->results, rows[i].name, rows[i].value);
        if (quiet) continue;
        lob_text_print(&table, "%s%s", i ? "" : "measure\tvalue\n", rows[i].name);
        lob_compare_add_value(&table, rows[i].value, rows[i].format);
        lob_text_print(&table, "\n");
    }
    return lob_print_table(&table, &s->error);
}

/* Options that exclude each other, or do not apply to this comparison. */
static lob_status check(lob_session *s, void *user)
{
    const work *const w = user;
    const struct {
        bool given;
        const char *name;
        unsigned with; /* bits of the kinds that it goes with */
        const char *belongs_to;
    } rows[] = {
        {w->labels != NULL,            "labels",      1u << LABELS,                   NULL         },
        {w->no_surfaces,               "no-surfaces", 1u << LABELS,                   NULL         },
        {w->image_path != NULL,        "image",       1u << SUPERVOXELS,              "supervoxels"},
        {isfinite(w->tolerance.value), "tolerance",   1u << SUPERVOXELS,              "supervoxels"},
        {w->slices >= 0,               "slices",      1u << SUPERVOXELS,              "supervoxels"},
        {w->table != NULL,             "table",       1u << LABELS | 1u << INSTANCES, NULL         },
        {w->supervoxels,               "supervoxels", 1u << SUPERVOXELS,              NULL         },
        {w->instances,                 "instances",   1u << INSTANCES,                NULL         },
    };
    const kind what = kind_of(w);
    const char *const kind_name = what == SUPERVOXELS ? "supervoxels" : "instances";
    if (w->strict && what >= INSTANCES)
        return lob_fail(&s->error, LOB_EARG, "--strict does not go with --%s", kind_name);
    for (size_t i = 0; i < LOB_COUNT(rows); i++) {
        if (!rows[i].given) continue;
        if (w->values)
            return lob_fail(&s->error, LOB_EARG,
                            "--%s is about labels and does not go with --values", rows[i].name);
        if (rows[i].with & 1u << what) continue;
        if (what == LABELS)
            return lob_fail(&s->error, LOB_EARG, "--%s belongs to --%s", rows[i].name,
                            rows[i].belongs_to);
        return lob_fail(&s->error, LOB_EARG, "--%s does not go with --%s", rows[i].name, kind_name);
    }
    LOB_TRY(lob_table_check(s, w->table, NULL));
    return w->labels ? lob_label_list_check(w->labels, "labels", &s->error) : LOB_OK;
}

/* ---- headers, before the voxels ---- */

/* The fields of two headers, side by side. */
typedef struct {
    lob_session *session;
    cJSON *first; /* name to value; NULL while the first header is read */
    cJSON *differ;
} header_walk;

static void note_first(void *user, const char *name, const char *value)
{
    header_walk *const w = user;
    cJSON_AddStringToObject(w->first, name, value);
}

static void match_second(void *user, const char *name, const char *value)
{
    header_walk *const w = user;
    const cJSON *const other = cJSON_GetObjectItemCaseSensitive(w->first, name);
    if (cJSON_IsString(other) && strcmp(other->valuestring, value) != 0) {
        cJSON_AddItemToArray(w->differ, cJSON_CreateString(name));
        lob_session_say(w->session, "header field %s: %s and %s", name, other->valuestring, value);
    }
}

/* Report header fields that differ, as the files have them. */
static void compare_fields(lob_session *s, const work *compared)
{
    const lob_volume *const a = &compared->a, *const b = &compared->b;
    if (!a->header.format || a->header.format != b->header.format) return;
    header_walk w = {s, cJSON_CreateObject(), cJSON_AddArrayToObject(s->results, "header_fields")};
    if (w.first && w.differ) {
        lob_header_fields(a, note_first, &w);
        lob_header_fields(b, match_second, &w);
    }
    cJSON_Delete(w.first);
}

/* Report nearly equal geometry. */
static void compare_places(lob_session *s, const work *w)
{
    const lob_volume *const a = &w->a, *const b = &w->b;
    const double apart_mm = lob_corners_apart_mm(&a->geometry, &b->geometry, a->dims);
    cJSON_AddNumberToObject(s->results, "corners_apart_mm", apart_mm);
    const double *const mm = a->geometry.spacing_mm;
    if (apart_mm > 1e-3 * fmin(mm[0], fmin(mm[1], mm[2]))) /* less is rounding of headers */
        lob_session_note(s, "%s and %s: corners of the grids lie up to %.3g mm apart", w->a_path,
                         w->b_path, apart_mm);
}

/* ---- the command ---- */

static lob_status read_inputs(lob_session *s, work *w)
{
    LOB_TRY(lob_grid_read_frame(s, &w->a, w->a_path, w->frame));
    LOB_TRY(lob_grid_read_frame(s, &w->b, w->b_path, w->frame));
    if (w->frame > 0 && w->a.frames == 1 && w->b.frames == 1)
        return lob_fail(&s->error, LOB_EDATA, "%s and %s: have one frame, so there is no frame %d",
                        w->a_path, w->b_path, w->frame);
    compare_fields(s, w);
    if (lob_grid_alike(&w->a, &w->b))
        LOB_TRY(lob_grid_adopt(s, &w->a, w->a_path, &w->b, w->b_path));
    LOB_TRY(lob_grid_match(s, &w->b, w->b_path, &w->a, w->a_path, LOB_PART_NONE));
    if (!w->image_path) return LOB_OK;
    LOB_TRY(lob_grid_read_frame(s, &w->image, w->image_path, w->frame));
    LOB_TRY(lob_grid_match(s, &w->image, w->image_path, &w->b, w->b_path, LOB_PART_NONE));
    if (w->image.channels <= LOB_LEVELS_MAX_CHANNELS) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, w->image_path,
                         "has %d channels; at most %d are measured", w->image.channels,
                         LOB_LEVELS_MAX_CHANNELS);
}

/* What is measured. */
static const struct {
    lob_status (*measure)(lob_session *s, work *w);
    const char *last; /* of the results: with it they are complete, and may be printed */
} kinds[] = {
    [LABELS] = {lob_compare_label_volumes, "labels"         },
    [VALUES] = {compare_values,            "different"      },
    [INSTANCES] = {lob_compare_instances,     "merges"         },
    [SUPERVOXELS] = {compare_supervoxels,       "contour_density"},
};

static lob_status compare(lob_session *s, void *user)
{
    work *const w = user;
    const kind what = kind_of(w);
    LOB_TRY(read_inputs(s, w));
    lob_session_compute(s, "comparing");
    compare_places(s, w);
    const lob_status st = kinds[what].measure(s, w);
    lob_session_computed(s);
    /* Measures are printed even if a label of --labels is missing. */
    if (w->json && cJSON_HasObjectItem(s->results, kinds[what].last))
        LOB_TRY(lob_json_put(s->results, true, &s->error));
    return st;
}

static void release(void *user)
{
    work *const w = user;
    LOB_VOLUMES_FREE(&w->a, &w->b, &w->image);
}

static void options(lob_rows *to, void *user)
{
    work *const w = user;
    *w = (work){.frame = -1, .tolerance = {.value = INFINITY}, .slices = -1};
    const lob_option rows[] = {
        OPERAND_INPUT("A", &w->a_path, LOB_FILE_LABELS, "one volume, usually the truth",
                      .required = true),
        OPERAND_INPUT("B", &w->b_path, LOB_FILE_LABELS, "the other, on the same grid",
                      .required = true),
        OPT_TEXT("labels", &w->labels, "LIST",
                 "compare only these labels, as 2,4,7-9; it is an error (65) if neither volume has "
                 "one of them, or any of a range"),
        OPT_FLAG("no-surfaces", &w->no_surfaces,
                 "leave out the distances between surfaces, which take most of the time"),
        OPT_FLAG("values", &w->values, "compare values instead of labels"),
        OPT_FLAG("instances", &w->instances,
                 "labels number objects such as cells, each volume its own: score how well those "
                 "of B find those of A, the truth"),
        OPT_OUTPUT("table", &w->table, LOB_FILE_TABLE,
                   "the table of labels, as FILE.tsv, .csv or .json; with --instances: every pair "
                   "of a truth and a label that share voxels, and those that meet nothing"),
        OPT_FLAG("supervoxels", &w->supervoxels,
                 "B is cut into supervoxels: measure how well they can make up the regions of A"),
        OPT_INPUT("image", &w->image_path, LOB_FILE_IMAGE,
                  "with --supervoxels: image on the same grid, for the explained variation"),
        OPT_LENGTH("tolerance", &w->tolerance, 0, 1e8,
                   "with --supervoxels: how far a boundary may lie from the truth's, as 2vox or "
                   "1.5mm; left out: 1vox"),
        OPT_CHOICE("slices", &w->slices, LOB_GRID_SLICES,
                   "with --supervoxels: they were made slice by slice, so slices have no faces in "
                   "common"),
        OPT_INT("frame", &w->frame, "N", 0, INT32_MAX,
                "time frame, from 0, of each volume that has several"),
        OPT_FLAG("strict", &w->strict, "end with 1 if a voxel that is compared differs"),
        OPT_FLAG("json", &w->json, "print JSON instead of a table"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_compare = {
    .name = "compare",
    .summary = "measure how alike two label volumes are, or two images",
    .description =
        "Prints for each label, and as a mean over the labels: Dice 2|A&B|/(|A|+|B|), Jaccard "
        "|A&B|/|A|B|, HD95, the 95th percentile of the distances from each surface to the other, "
        "both directions pooled, the mean of the same distances, and volumes. Label 0 is not "
        "compared. A surface voxel has a face neighbour without the label, or lies on the border "
        "of the grid. A distance is '-' where one volume has no voxel of the label.\n"
        "With --values, prints the largest, mean and root mean square difference of the values.\n"
        "With --instances, prints as TSV, for IoU thresholds of .50 to .95, matches (extra: labels "
        "of B without one; missed: labels of A without one), precision, recall, F1, average "
        "precision matched/(matched+extra+missed), mean IoU of the matches and panoptic quality; "
        "the adapted Rand error, which leaves out voxels that are 0 in A; the variation of "
        "information in bits, over all voxels, with 0 as a label, and inside, without those that "
        "are 0 in A; which labels of A are split, so that more than half of each of several labels "
        "of B lies in one, and which of B merge several of A in the same way. At an IoU of exactly "
        ".5 the smaller of two labels matches.\n"
        "With --supervoxels, prints as TSV how well the pieces of B can make up the regions of A, "
        "over the voxels that are not 0 in B (0 in A is a region too): boundary recall, the share "
        "of A's boundary voxels within the tolerance of B's; the under-segmentation error, what "
        "pieces that share more than 5 % of themselves with a region add to it, and that of "
        "Neubert and Protzel; achievable segmentation accuracy, what is right when each piece "
        "takes the region that it shares most with; explained variation, the share of the image's "
        "variance between the means of the pieces; compactness, 1 for discs and balls; contour "
        "density, the share of voxels beside another piece.\n"
        "The last line of the first two says whether every voxel that is compared is the same, "
        "equal or different. Volumes on different grids are an error (65).",
    .examples = "lobule compare truth.nii.gz labels.nii.gz\n"
                "lobule compare truth.nii.gz labels.nii.gz --labels 2,3 --json\n"
                "lobule compare --values scan.nii.gz scan.h5 --strict\n"
                "lobule compare --instances true_cells.nii.gz cells.nii.gz --table pairs.tsv\n"
                "lobule compare --supervoxels truth.nii.gz supervoxels.nii.gz --image scan.nii.gz",
    .compares = true,
    LOB_COMMAND_PARTS(work, options, check, compare, release),
};
