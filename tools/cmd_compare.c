/* lobule compare: how alike two volumes are, label by label or value by value. */
#include "kernels/levels/levels.h"
#include "kernels/measures/measures.h"
#include "tools/commands.h"
#include "tools/compare_supervoxels.h"
#include "tools/grid.h"
#include "tools/label_list.h"
#include "tools/report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *a, *b;
    const char *labels; /* "2,4,7-9"; NULL: all */
    bool values, json, no_surfaces, strict;

    /* with --supervoxels */
    bool supervoxels;
    const char *image;
    lob_size tolerance;
    int slices, frame;
} settings;

/* ---- headers and places ---- */

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
static void compare_fields(lob_session *s, const lob_volume *a, const lob_volume *b)
{
    if (!a->header.format || a->header.format != b->header.format) return;
    header_walk w = {s, cJSON_CreateObject(), cJSON_AddArrayToObject(s->results, "header_fields")};
    if (w.first && w.differ) {
        lob_header_fields(a, note_first, &w);
        lob_header_fields(b, match_second, &w);
    }
    cJSON_Delete(w.first);
}

/* Report nearly equal geometry. */
static void compare_places(lob_session *s, const settings *set, const lob_volume *a,
                           const lob_volume *b)
{
    const double apart_mm = lob_corners_apart_mm(&a->geometry, &b->geometry, a->dims);
    cJSON_AddNumberToObject(s->results, "corners_apart_mm", apart_mm);
    const double *const mm = a->geometry.spacing_mm;
    if (apart_mm > 1e-3 * fmin(mm[0], fmin(mm[1], mm[2]))) /* less is rounding of headers */
        lob_session_note(s, "%s and %s: corners of the grids lie up to %.3g mm apart", set->a,
                         set->b, apart_mm);
}

/* ---- labels ---- */

/* Set every voxel to 0 whose label is not in the list. */
static lob_status keep_listed(lob_session *s, lob_volume *v, const char *name, const char *list)
{
    lob_label_set set = {0};
    lob_status st = lob_labels_dense(v, &set, name, &s->error);
    if (st != LOB_OK) return st;
    bool *const keep = calloc((size_t)set.count + 1, sizeof *keep);
    if (keep) {
        for (int32_t i = 0; i < set.count; i++)
            keep[i + 1] = lob_label_list_has(list, set.values[i]);
        const int64_t n = lob_voxels(v);
#define KEEP(ctype)                                \
    for (int64_t i = 0; i < n; i++) {              \
        ctype *const voxel = (ctype *)v->data + i; \
        *voxel = keep[*voxel] ? *voxel : (ctype)0; \
    }
        if (v->type == LOB_U8) {
            KEEP(uint8_t)
        } else if (v->type == LOB_I16) {
            KEEP(int16_t)
        } else {
            KEEP(int32_t)
        }
#undef KEEP
        st = lob_labels_restore(v, &set);
    }
    if (!keep || st != LOB_OK) st = lob_session_no_memory(s, name);
    free(keep);
    lob_label_set_free(&set);
    return st;
}

/* What a column of the table shows: a field of lob_overlap, or the change of volume. */
typedef enum { VOXELS, REAL, CHANGE } column_kind;

typedef struct {
    const char *title, *name, *format; /* name: in JSON */
    int width;
    column_kind kind;
    size_t offset; /* of the field, int64_t or double */
} column;

#define FIELD(kind, name) kind, offsetof(lob_overlap, name)

static const column columns[] = {
    {"voxels A", "voxels_a",              "%.0f",  11, FIELD(VOXELS, voxels_a)       },
    {"voxels B", "voxels_b",              "%.0f",  11, FIELD(VOXELS, voxels_b)       },
    {"mm3 A",    "volume_a_mm3",          "%.6g",  11, FIELD(REAL,   volume_a_mm3)   },
    {"mm3 B",    "volume_b_mm3",          "%.6g",  11, FIELD(REAL,   volume_b_mm3)   },
    {"B-A %",    "volume_change_percent", "%+.2f", 9,  CHANGE,       0               },
    {"Dice",     "dice",                  "%.4f",  8,  FIELD(REAL,   dice)           },
    {"Jaccard",  "jaccard",               "%.4f",  9,  FIELD(REAL,   jaccard)        },
    {"HD95 mm",  "hd95_mm",               "%.4g",  9,  FIELD(REAL,   hd95_mm)        },
    {"mean mm",  "mean_surface_mm",       "%.4g",  9,  FIELD(REAL,   mean_surface_mm)},
};

static double value_of(const column *c, const lob_overlap *row)
{
    const void *const field = (const char *)row + c->offset;
    if (c->kind == CHANGE)
        return row->voxels_a ? 100.0 * (row->volume_b_mm3 / row->volume_a_mm3 - 1.0) : NAN;
    return c->kind == VOXELS ? (double)*(const int64_t *)field : *(const double *)field;
}

/* Mean of a column over the labels that have it; NaN when none has. */
static double column_mean(const column *c, const lob_overlap *rows, int32_t count)
{
    double sum = 0.0;
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        const double v = value_of(c, &rows[i]);
        if (isnan(v)) continue;
        sum += v;
        n++;
    }
    return n ? sum / n : NAN;
}

static void print_number(const column *c, double value)
{
    char text[64];
    snprintf(text, sizeof text, c->format, value);
    printf(" %*s", c->width, isnan(value) ? "-" : text);
}

/* verdict: the last line; NULL for none */
static void print_table(const lob_overlap *rows, int32_t count, const char *verdict)
{
    printf("%10s", "label");
    for (size_t c = 0; c < LOB_COUNT(columns); c++)
        printf(" %*s", columns[c].width, columns[c].title);
    printf("\n");
    for (int32_t i = 0; i < count; i++) {
        printf("%10" PRId32, rows[i].label);
        for (size_t c = 0; c < LOB_COUNT(columns); c++)
            print_number(&columns[c], value_of(&columns[c], &rows[i]));
        printf("\n");
    }
    if (count > 1) {
        printf("%10s", "mean");
        for (size_t c = 0; c < LOB_COUNT(columns); c++)
            print_number(&columns[c], column_mean(&columns[c], rows, count));
        printf("\n");
    }
    if (verdict) printf("%s\n", verdict);
}

static void report_labels(cJSON *results, const lob_overlap *rows, int32_t count)
{
    cJSON *const list = cJSON_AddArrayToObject(results, "labels");
    cJSON *const means = cJSON_AddObjectToObject(results, "mean");
    for (int32_t i = 0; i < count && list; i++) {
        cJSON *const row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "label", rows[i].label);
        cJSON_AddNumberToObject(row, "common_voxels", (double)rows[i].common);
        for (size_t c = 0; c < LOB_COUNT(columns); c++)
            cJSON_AddNumberToObject(row, columns[c].name, value_of(&columns[c], &rows[i]));
        cJSON_AddItemToArray(list, row);
    }
    for (size_t c = 0; c < LOB_COUNT(columns) && means; c++)
        cJSON_AddNumberToObject(means, columns[c].name, column_mean(&columns[c], rows, count));
}

static int by_label(const void *a, const void *b)
{
    const lob_overlap *const x = a, *const y = b;
    return (x->label > y->label) - (x->label < y->label);
}

/*
 * Labels of --labels that are in neither volume: most likely a typing error. A single label gets a
 * row without voxels; text lists all that are missing.
 */
static lob_status add_missing(lob_overlap **rows, int32_t *count, const char *list, char *text,
                              size_t size)
{
    const int32_t there = *count;
    text[0] = '\0';
    for (const char *at = list; at;) {
        int32_t first, last;
        const char *const item = at;
        at = lob_label_list_next(at, &first, &last);
        bool found = false;
        for (int32_t i = 0; i < there; i++)
            found |= (*rows)[i].label >= first && (*rows)[i].label <= last;
        if (found) continue;
        const size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%.*s", used ? ", " : "", (int)strcspn(item, ","),
                 item);
        if (first != last) continue;
        lob_overlap *const more = realloc(*rows, ((size_t)*count + 1) * sizeof **rows);
        if (!more) return LOB_ENOMEM;
        more[*count] = (lob_overlap){
            .label = first, .dice = NAN, .jaccard = NAN, .hd95_mm = NAN, .mean_surface_mm = NAN};
        *rows = more;
        ++*count;
    }
    if (*count > there) qsort(*rows, (size_t)*count, sizeof **rows, by_label);
    return LOB_OK;
}

static lob_status compare_labels(lob_session *s, const settings *set, lob_volume *a, lob_volume *b)
{
    lob_status st = LOB_OK;
    if (set->labels) st = keep_listed(s, a, set->a, set->labels);
    if (set->labels && st == LOB_OK) st = keep_listed(s, b, set->b, set->labels);
    if (st != LOB_OK) return st;

    lob_overlap *rows = NULL;
    int32_t count = 0;
    int equal = 0;
    const int64_t copies = lob_voxel_bytes(a) + lob_voxel_bytes(b);
    st = lob_session_take(s, copies, set->b);
    if (st != LOB_OK) return st;
    st = lob_compare_labels(&rows, &count, &equal, a, set->a, b, set->b, !set->no_surfaces,
                            &s->context, &s->error);
    lob_session_give(s, copies);
    if (st != LOB_OK) return st;

    char missing[256] = "";
    if (set->labels) st = add_missing(&rows, &count, set->labels, missing, sizeof missing);
    if (st != LOB_OK) {
        free(rows);
        return lob_fail(&s->error, st, "%s: out of memory", set->a);
    }
    if (!missing[0]) cJSON_AddBoolToObject(s->results, "equal", equal);
    report_labels(s->results, rows, count);
    lob_session_doing(s, "printing"); /* the bar leaves the terminal to the table */
    if (!set->json) print_table(rows, count, missing[0] ? NULL : equal ? "equal" : "different");
    free(rows);
    if (missing[0])
        return lob_fail(&s->error, LOB_EDATA, "--labels: neither %s nor %s has label %s", set->a,
                        set->b, missing);
    return equal || !set->strict ? LOB_OK : LOB_EDIFFER;
}

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

static lob_status compare_values(lob_session *s, const settings *set, const lob_volume *a,
                                 const lob_volume *b)
{
    enum { BLOCK = 4096 };
    if (a->channels != b->channels)
        return lob_fail(&s->error, LOB_EDATA, "%s has %d channels but %s has %d", set->a,
                        a->channels, set->b, b->channels);
    const int64_t n = lob_voxels(a) * a->channels;
    difference d = {0};
    for (int64_t first = 0; first < n; first += BLOCK) {
        double values[2][BLOCK];
        const lob_volume *const both[2] = {a, b};
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        for (int k = 0; k < 2; k++) {
            lob_values(values[k], both[k]->data, both[k]->type, first, count);
            for (int64_t i = 0; i < count; i++)
                values[k][i] = both[k]->slope * values[k][i] + both[k]->inter;
        }
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
    cJSON_AddNumberToObject(s->results, "voxels", (double)d.voxels);
    cJSON_AddNumberToObject(s->results, "different", (double)d.different);
    cJSON_AddNumberToObject(s->results, "finite_in_one_only", (double)d.odd);
    cJSON_AddNumberToObject(s->results, "largest_difference", d.largest);
    cJSON_AddNumberToObject(s->results, "mean_difference", mean);
    cJSON_AddNumberToObject(s->results, "root_mean_square", rms);
    lob_session_doing(s, "printing");
    if (!set->json) print_values(&d, mean, rms, a);
    return d.different && set->strict ? LOB_EDIFFER : LOB_OK;
}

/* ---- the command ---- */

static lob_status print_json(lob_session *s)
{
    char *const text = lob_json_print(s->results);
    if (!text) return lob_fail(&s->error, LOB_ENOMEM, "no memory for the JSON text");
    puts(text);
    free(text);
    return LOB_OK;
}

/* Options that exclude each other, or do not apply to this comparison. */
static lob_status check_settings(lob_session *s, const settings *set)
{
    const struct {
        bool given;
        const char *name;
        bool with_labels, with_supervoxels;
    } rows[] = {
        {set->labels != NULL,            "labels",      true,  false},
        {set->no_surfaces,               "no-surfaces", true,  false},
        {set->image != NULL,             "image",       false, true },
        {isfinite(set->tolerance.value), "tolerance",   false, true },
        {set->slices >= 0,               "slices",      false, true },
        {set->supervoxels,               "supervoxels", true,  true },
    };
    if (set->strict && set->supervoxels)
        return lob_fail(&s->error, LOB_EARG, "--strict does not go with --supervoxels");
    for (size_t i = 0; i < LOB_COUNT(rows); i++) {
        if (!rows[i].given) continue;
        if (set->values)
            return lob_fail(&s->error, LOB_EARG,
                            "--%s is about labels and does not go with --values", rows[i].name);
        if (set->supervoxels && !rows[i].with_supervoxels)
            return lob_fail(&s->error, LOB_EARG, "--%s does not go with --supervoxels",
                            rows[i].name);
        if (!set->supervoxels && !rows[i].with_labels)
            return lob_fail(&s->error, LOB_EARG, "--%s belongs to --supervoxels", rows[i].name);
    }
    return set->labels ? lob_label_list_check(set->labels, "labels", &s->error) : LOB_OK;
}

/* The two volumes and, with --supervoxels, the image. */
typedef struct {
    lob_volume a, b, image;
} inputs;

static lob_status read_inputs(lob_session *s, const settings *set, inputs *in)
{
    lob_status st = lob_grid_read_frame(s, &in->a, set->a, set->frame);
    if (st == LOB_OK) st = lob_grid_read_frame(s, &in->b, set->b, set->frame);
    if (st == LOB_OK && set->frame > 0 && in->a.frames == 1 && in->b.frames == 1)
        st = lob_fail(&s->error, LOB_EDATA, "%s and %s: have one frame, so there is no frame %d",
                      set->a, set->b, set->frame);
    if (st == LOB_OK) compare_fields(s, &in->a, &in->b);
    if (st == LOB_OK) st = lob_grid_match(s, &in->b, set->b, &in->a, set->a);
    if (st != LOB_OK || !set->image) return st;
    st = lob_grid_read_frame(s, &in->image, set->image, set->frame);
    if (st == LOB_OK) st = lob_grid_match(s, &in->image, set->image, &in->b, set->b);
    if (st == LOB_OK && in->image.channels > LOB_LEVELS_MAX_CHANNELS)
        st = lob_fail(&s->error, LOB_EDATA, "%s: has %d channels; at most %d are measured",
                      set->image, in->image.channels, LOB_LEVELS_MAX_CHANNELS);
    return st;
}

static lob_status measure_supervoxels(lob_session *s, const settings *set, inputs *in)
{
    const lob_compare_supervoxels_settings of_them = {
        .truth_path = set->a,
        .labels_path = set->b,
        .tolerance = set->tolerance,
        .slices = set->slices,
        .quiet = set->json,
    };
    return lob_compare_supervoxels(s, &of_them, &in->a, &in->b, set->image ? &in->image : NULL);
}

static lob_status compare(lob_session *s, const settings *set)
{
    inputs in = {lob_volume_empty(), lob_volume_empty(), lob_volume_empty()};
    lob_status st = check_settings(s, set);
    if (st == LOB_OK) st = read_inputs(s, set, &in);
    if (st == LOB_OK) {
        lob_session_compute(s, "comparing");
        compare_places(s, set, &in.a, &in.b);
        if (set->supervoxels)
            st = measure_supervoxels(s, set, &in);
        else if (set->values)
            st = compare_values(s, set, &in.a, &in.b);
        else
            st = compare_labels(s, set, &in.a, &in.b);
        lob_session_computed(s);
    }
    /* Measures are printed even if a label of --labels is missing. */
    const char *const last = set->supervoxels ? "contour_density"
                             : set->values    ? "different"
                                              : "labels";
    if (set->json && cJSON_HasObjectItem(s->results, last)) {
        const lob_status printed = print_json(s);
        if (printed != LOB_OK) st = printed;
    }
    lob_volume_free(&in.a);
    lob_volume_free(&in.b);
    lob_volume_free(&in.image);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {.frame = -1, .tolerance = {.value = INFINITY}, .slices = -1};
    const lob_option rows[] = {
        OPERAND_INPUT("A", &set.a, LOB_FILE_LABELS, "one volume, usually the truth",
                      .required = true),
        OPERAND_INPUT("B", &set.b, LOB_FILE_LABELS, "the other, on the same grid",
                      .required = true),
        OPT_TEXT("labels", &set.labels, "LIST",
                 "compare only these labels, as 2,4,7-9; it is an error (65) if neither volume has "
                 "one of them, or any of a range"),
        OPT_FLAG("no-surfaces", &set.no_surfaces,
                 "leave out the distances between surfaces, which take most of the time"),
        OPT_FLAG("values", &set.values, "compare values instead of labels"),
        OPT_FLAG("supervoxels", &set.supervoxels,
                 "B is cut into supervoxels: measure how well they can make up the regions of A"),
        OPT_INPUT("image", &set.image, LOB_FILE_IMAGE,
                  "with --supervoxels: image on the same grid, for the explained variation"),
        OPT_LENGTH("tolerance", &set.tolerance, 0, 1e8,
                   "with --supervoxels: how far a boundary may lie from the truth's, as 2vox or "
                   "1.5mm; left out: 1vox"),
        OPT_CHOICE("slices", &set.slices, LOB_GRID_SLICES,
                   "with --supervoxels: they were made slice by slice, so slices have no faces in "
                   "common"),
        OPT_INT("frame", &set.frame, "N", 0, INT32_MAX,
                "time frame, from 0, of each volume that has several"),
        OPT_FLAG("strict", &set.strict, "end with 1 if a voxel that is compared differs"),
        OPT_FLAG("json", &set.json, "print JSON instead of a table"),
    };
    lob_session s;
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), argc, argv)) return s.exit_code;
    return lob_session_end(&s, compare(&s, &set));
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
                "lobule compare --supervoxels truth.nii.gz supervoxels.nii.gz --image scan.nii.gz",
    .compares = true,
    .run = run,
};
