/* lobule check: what is wrong with files, or may be taken otherwise than it is meant. */
#include "tools/commands/commands.h"
#include "tools/inout/nifti_readers.h"
#include "tools/session/session.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What there is to say about one file. */
typedef struct {
    lob_session *s;
    const char *path;
    cJSON *about;    /* the whole of it */
    cJSON *damage;   /* lines of it: the file is not what it should be, */
    cJSON *not_read; /* it may be sound, but its kind is not read, */
    cJSON *warnings; /* or other programs may take it otherwise than it is meant */
} report;

/* Move an error's line to those of what was found. */
static void add_line(cJSON *lines, lob_error *error)
{
    char line[LOB_ERROR_LINE];
    cJSON_AddItemToArray(lines, cJSON_CreateString(lob_error_line(line, sizeof line, error)));
    *error = (lob_error){.text = ""};
}

/* Add a line, the file's name first. */
static void say(const report *r, cJSON *lines, const char *format, ...)
{
    lob_error found = {.text = ""};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found.text, sizeof found.text, format, arguments);
    va_end(arguments);
    lob_error_in(&found, r->path);
    add_line(lines, &found);
}

/* ---- voxels ---- */

typedef struct {
    int64_t voxels, nan, infinite, negative;
    int64_t above_short; /* beyond int16, which viewers hold labels in */
    int64_t nameless;    /* a label without a name, where others have one */
    int64_t broken;      /* not whole, */
    double farthest;     /* and the farthest of them from a whole number */
    double lowest, highest;
} tally;

static void count_value(tally *t, double value)
{
    t->nan += isnan(value);
    t->infinite += isinf(value) != 0;
    if (!isfinite(value)) return;
    const double off = fabs(value - nearbyint(value));
    t->negative += value < 0;
    t->above_short += value > 32767;
    t->broken += off > 0;
    t->farthest = fmax(t->farthest, off);
    t->lowest = fmin(t->lowest, value);
    t->highest = fmax(t->highest, value);
}

/* Is it a label that the volume's names leave out? */
static bool is_nameless(const lob_volume *v, double value)
{
    return value >= 1 && value <= INT32_MAX && value == floor(value) &&
           !lob_label_names_find(&v->names, (int32_t)value);
}

static tally count_voxels(const lob_volume *v)
{
    enum { BLOCK = 4096 };
    tally t = {.lowest = INFINITY, .highest = -INFINITY};
    double last = 0; /* neighbours are alike: their label is looked up once */
    bool last_nameless = false;
    t.voxels = lob_product(lob_voxels(v), v->channels, 1, 1);
    for (int64_t first = 0; first < t.voxels; first += BLOCK) {
        double values[BLOCK];
        const int64_t n = t.voxels - first < BLOCK ? t.voxels - first : BLOCK;
        lob_values(values, v->data, v->type, first, n);
        for (int64_t i = 0; i < n; i++) {
            const double value = v->slope * values[i] + v->inter;
            count_value(&t, value);
            if (v->names.count == 0) continue;
            if (value != last) last_nameless = is_nameless(v, value);
            last = value;
            t.nameless += last_nameless;
        }
    }
    return t;
}

/* Labels that programs take otherwise than they are meant. */
static void judge_labels(const report *r, const tally *t)
{
    if (t->broken > 0)
        say(r, r->damage,
            "labels: voxels that hold no whole number: %lld; the labels were "
            "interpolated, or this is a scan",
            (long long)t->broken);
    if (t->negative > 0)
        say(r, r->warnings,
            "labels: negative voxels: %lld; many programs take these for background",
            (long long)t->negative);
    if (t->nameless > 0)
        say(r, r->warnings, "labels: voxels whose label has no name, where others have one: %lld",
            (long long)t->nameless);
    if (t->highest >= 0x1p31 - 1)
        say(r, r->warnings,
            "labels: the largest is %.0f, which no int32 holds or which fills it: "
            "3D Slicer and others ask for memory for every number up to it",
            t->highest);
    else if (t->above_short > 0)
        say(r, r->warnings,
            "labels: voxels above 32767: %lld; ITK-SNAP and files of int16 do not hold "
            "these",
            (long long)t->above_short);
}

/* Look at all values; labels: it holds labels, or may. */
static void look_at_voxels(const report *r, const lob_volume *v, bool labels)
{
    static const double near = 0.01;
    const tally t = count_voxels(v);
    cJSON *const voxels = cJSON_AddObjectToObject(r->about, "voxels");
    LOB_JSON_NUMBERS(voxels, {"count", t.voxels}, {"nan", t.nan}, {"infinite", t.infinite});
    if (t.lowest <= t.highest) {
        LOB_JSON_NUMBERS(voxels, {"min", t.lowest}, {"max", t.highest});
    } else {
        say(r, r->damage, "voxels: none is a finite number");
    }
    if (t.nan + t.infinite > 0)
        say(r, r->warnings, "voxels: %lld are NaN or infinite", (long long)(t.nan + t.infinite));
    if (t.lowest == t.highest)
        say(r, r->warnings, "voxels: every one that is finite is %.10g", t.lowest);
    if (labels)
        judge_labels(r, &t);
    else if (t.broken > 0 && t.farthest <= near)
        say(r, r->warnings,
            "voxels: %lld are next to whole numbers, off by at most %.3g: labels that "
            "were interpolated or stored with a scale?",
            (long long)t.broken, t.farthest);
}

/* ---- the header ---- */

static void add_reader(cJSON *readers, const lob_nifti_reading *reading)
{
    cJSON *const one = cJSON_AddObjectToObject(readers, reading->program);
    cJSON_AddStringToObject(one, "transform", reading->transform);
    if (reading->refused) return;
    char code[4];
    lob_orientation(code, &reading->geometry);
    cJSON_AddStringToObject(one, "orientation", code);
    cJSON_AddItemToObject(one, "spacing", cJSON_CreateDoubleArray(reading->spacing, 3));
    const double(*const a)[4] = reading->geometry.affine;
    const double origin[3] = {a[0][3], a[1][3], a[2][3]};
    cJSON_AddItemToObject(one, "first_voxel", cJSON_CreateDoubleArray(origin, 3));
}

/* How far apart two readings place a corner of the volume. */
static double apart(const lob_nifti_reading *a, const lob_nifti_reading *b, lob_dims dims)
{
    double most = 0;
    for (int corner = 0; corner < 8; corner++) {
        const double voxel[3] = {corner & 1 ? (double)dims.nx - 1 : 0,
                                 corner & 2 ? (double)dims.ny - 1 : 0,
                                 corner & 4 ? (double)dims.nz - 1 : 0};
        double p[3], q[3];
        lob_voxel_to_world(p, &a->geometry, voxel);
        lob_voxel_to_world(q, &b->geometry, voxel);
        most = fmax(most, sqrt((p[0] - q[0]) * (p[0] - q[0]) + (p[1] - q[1]) * (p[1] - q[1]) +
                               (p[2] - q[2]) * (p[2] - q[2])));
    }
    return most;
}

static void judge_nifti(report *r, const lob_volume *v)
{
    lob_nifti_readings all;
    const char *const format = lob_json_text(r->about, "format");
    /* a file of another format that keeps a NIfTI header is not read by it */
    if (!format || strncmp(format, "NIfTI", 5) != 0 || !lob_nifti_read_as(&all, v)) return;
    LOB_JSON_NUMBERS(r->about, {"qform_code", all.qform_code}, {"sform_code", all.sform_code});
    cJSON *const readers = cJSON_AddObjectToObject(r->about, "read_as");
    for (int i = 0; i < LOB_NIFTI_READERS; i++) add_reader(readers, &all.reading[i]);

    if (all.qform_code <= 0 && all.sform_code <= 0)
        say(r, r->warnings,
            "header: neither qform nor sform is set, so that programs guess how the "
            "volume lies");
    if (all.unit_mm != 1.0)
        say(r, r->warnings,
            "header: lengths are not in mm (1 unit is %.10g mm); nibabel and MRtrix give "
            "the numbers as they stand",
            all.unit_mm);
    for (int i = 0; i < LOB_NIFTI_READERS; i++) {
        const lob_nifti_reading *const one = &all.reading[i], *const first = &all.reading[0];
        if (one->refused)
            say(r, r->warnings, "header: %s refuses the file: %s", one->program, one->transform);
        if (i == 0 || one->refused || first->refused) continue;
        const double mm = apart(first, one, v->dims);
        if (mm > 0.01 * fabs(one->spacing[0]))
            say(r, r->warnings, "header: %s (%s) and %s (%s) place a corner %.4g apart",
                first->program, first->transform, one->program, one->transform, mm);
    }
}

static void describe(report *r, const lob_volume *v)
{
    const double dims[3] = {(double)v->dims.nx, (double)v->dims.ny, (double)v->dims.nz};
    char code[4];
    cJSON_AddItemToObject(r->about, "dims", cJSON_CreateDoubleArray(dims, 3));
    cJSON_AddNumberToObject(r->about, "frames", (double)v->frames);
    cJSON_AddStringToObject(r->about, "type", lob_type_of(v->type)->name);
    LOB_JSON_NUMBERS(r->about, {"slope", v->slope}, {"inter", v->inter});
    lob_orientation(code, &v->geometry);
    cJSON_AddStringToObject(r->about, "orientation", v->geometry.unoriented ? "unknown" : code);
    cJSON_AddItemToObject(r->about, "spacing_mm",
                          cJSON_CreateDoubleArray(v->geometry.spacing_mm, 3));
    if (v->names.count > 0) cJSON_AddNumberToObject(r->about, "named_labels", v->names.count);
    judge_nifti(r, v);
}

/* ---- the file ---- */

/* What the reader itself says: the file's format, and remarks, which are not to be notes too. */
static void take_remarks(report *r)
{
    const cJSON *input, *remark;
    cJSON_ArrayForEach(input, r->s->inputs) {
        const cJSON *const format = cJSON_GetObjectItemCaseSensitive(input, "format");
        cJSON *const remarks = cJSON_GetObjectItemCaseSensitive(input, "warnings");
        if (cJSON_IsString(format))
            cJSON_AddStringToObject(r->about, "format", format->valuestring);
        cJSON_ArrayForEach(remark, remarks)
            cJSON_AddItemToArray(r->warnings, cJSON_CreateString(remark->valuestring));
        while (cJSON_GetArraySize(remarks) > 0) cJSON_DeleteItemFromArray(remarks, 0);
    }
}

/* Read all of the file. Damage and kinds that are not read are in r, and no failure. */
static lob_status look(report *r, const char *path, bool labels)
{
    lob_session *const s = r->s;
    lob_volume v = lob_volume_empty();
    lob_status st = lob_session_read(s, &v, path, LOB_FRAME_ALL);
    const bool one_frame = st == LOB_EDATA && s->error.hint == LOB_HINT_CHOOSE_FRAME;
    if (one_frame) {
        s->error = (lob_error){.text = ""};
        st = lob_session_read(s, &v, path, 0);
    }
    const bool damaged = st == LOB_EDATA && s->error.hint == LOB_HINT_NONE;
    if (damaged) {
        add_line(r->damage, &s->error);
        st = lob_session_read_header(s, &v, path, NULL);
        if (st != LOB_OK) s->error = (lob_error){.text = ""};
    }
    const bool strange = st == LOB_EDATA && s->error.hint == LOB_HINT_CONVERT;
    if (strange) add_line(r->not_read, &s->error);
    take_remarks(r);
    if (st == LOB_OK) describe(r, &v);
    if (st == LOB_OK && one_frame)
        say(r, r->warnings, "voxels: those of frame 0 alone were checked");
    if (st == LOB_OK && v.data)
        look_at_voxels(r, &v, labels || v.names.count > 0 || lob_nifti_says_labels(&v));
    lob_volume_free(&v);
    return damaged || strange ? LOB_OK : st;
}

/* What was found, in the report and in one word. */
static lob_status judge(report *r)
{
    const struct {
        const char *name, *verdict;
        cJSON *lines;
    } found[] = {
        {"damage",   "damaged",  r->damage  },
        {"not_read", "not read", r->not_read},
        {"warnings", "sound",    r->warnings},
    };
    size_t worst = 0;
    while (worst + 1 < LOB_COUNT(found) && cJSON_GetArraySize(found[worst].lines) == 0) worst++;
    cJSON_AddStringToObject(r->about, "verdict", found[worst].verdict);
    for (size_t i = 0; i < LOB_COUNT(found); i++) {
        cJSON_AddItemToObject(r->s->results, found[i].name, cJSON_Duplicate(found[i].lines, true));
        cJSON_AddItemToObject(r->about, found[i].name, found[i].lines);
    }
    if (found[worst].lines == r->warnings) return LOB_OK;
    return lob_fail(&r->s->error, LOB_EDATA, "%s",
                    cJSON_GetStringValue(cJSON_GetArrayItem(found[worst].lines, 0)));
}

typedef struct {
    const char *path;
    bool json, labels;
} settings;

static lob_status check(lob_session *s, void *user)
{
    const settings *const set = user;
    report r = {.s = s,
                .path = set->path,
                .about = cJSON_CreateObject(),
                .damage = cJSON_CreateArray(),
                .not_read = cJSON_CreateArray(),
                .warnings = cJSON_CreateArray()};
    cJSON_AddStringToObject(r.about, "file", set->path);
    lob_status st = look(&r, set->path, set->labels);
    const bool looked = st == LOB_OK;
    const lob_status judged = judge(&r);
    if (looked) st = judged; /* what was found is printed all the same */
    lob_error unprinted;
    if (looked && lob_json_put(r.about, set->json, &unprinted) != LOB_OK) {
        s->error = unprinted;
        st = LOB_ENOMEM;
    }
    cJSON_Delete(r.about);
    return st;
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    const lob_option rows[] = {
        OPERAND_INPUT("FILE", &set->path, LOB_FILE_IMAGE,
                      "volume, FILE.h5:/dataset, STORE.zarr/array, or a folder of DICOM",
                      .required = true),
        OPT_FLAG("labels", &set->labels, "the volume holds labels, whatever its header says"),
        OPT_FLAG("json", &set->json, "print JSON instead of text"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_check = {
    .name = "check",
    .summary = "say whether a file is sound and what other programs make of it",
    .description =
        "Reads all of a file and prints what it found. A file that is cut short, whose checksums "
        "are wrong, that holds no finite voxel, or no whole numbers where labels should be, is "
        "damaged; one of a kind that Lobule does not read, such as complex numbers, is not read. "
        "The exit code of both is 65. Of DICOM, what dcm2niix makes of it is looked at; slices at "
        "unequal distances, as where one is missing, are damage. Warnings are about what other "
        "programs may take otherwise: bytes that follow the voxels, NaN and infinity, labels that "
        "are negative, above 32767 or alone without a name, values so near to whole numbers that "
        "they were labels once.\n"
        "Of a NIfTI file it says which transform, spacing and orientation ITK (3D Slicer, "
        "SimpleITK, ANTs), nibabel and MRtrix take, where the first voxel then lies (world axes to "
        "right, anterior, superior), and how far apart they place it. ITK takes the sform where it "
        "has no shear and its code is 1, or it has no qform or the same; else the qform; sheared "
        "alone, the sform is refused. Its voxel sizes are always pixdim's. nibabel and MRtrix "
        "prefer the sform.",
    .examples = "lobule check scan.nii.gz\nlobule check --labels --json labels.nii.gz",
    LOB_COMMAND_PARTS(settings, options, NULL, check, NULL),
};
