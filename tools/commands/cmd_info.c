/* lobule info: what a file's header says, as text or JSON, without decoding the voxels. */
#include "io/dicom/dicom_series.h"
#include "tools/commands/commands.h"
#include "tools/inout/grid.h"

#include <stdlib.h>
#include <string.h>

static void add_three(cJSON *object, const char *key, const double numbers[3])
{
    cJSON_AddItemToObject(object, key, cJSON_CreateDoubleArray(numbers, 3));
}

static void add_field(void *user, const char *name, const char *value)
{
    cJSON_AddStringToObject(user, name, value); /* of HDF5's MetaData, so it may be anything */
}

static cJSON *describe(const lob_volume *v, const char *path, const lob_file_info *info)
{
    cJSON *about = cJSON_CreateObject();
    const double dims[3] = {(double)v->dims.nx, (double)v->dims.ny, (double)v->dims.nz};
    double box_mm[2][3];
    char code[4];

    cJSON_AddStringToObject(about, "file", path);
    cJSON_AddStringToObject(about, "format", info->format ? info->format : "");
    cJSON_AddNumberToObject(about, "file_bytes", (double)info->file_bytes);
    add_three(about, "dims", dims);
    LOB_JSON_NUMBERS(about, {"channels", v->channels}, {"frames", v->frames});
    cJSON_AddStringToObject(about, "type", lob_type_of(v->type)->name);
    LOB_JSON_NUMBERS(about, {"slope", v->slope}, {"inter", v->inter});
    add_three(about, "spacing_mm", v->geometry.spacing_mm);
    const bool fine = lob_shows_micrometres(&v->geometry);
    double um[3];
    for (int a = 0; a < 3; a++) um[a] = v->geometry.spacing_mm[a] * 1000;
    if (fine) add_three(about, "spacing_um", um);
    lob_orientation(code, &v->geometry);
    cJSON_AddStringToObject(about, "orientation", v->geometry.unoriented ? "unknown" : code);
    cJSON *affine = cJSON_AddArrayToObject(about, "affine");
    for (int r = 0; r < 3; r++)
        cJSON_AddItemToArray(affine, cJSON_CreateDoubleArray(v->geometry.affine[r], 4));
    lob_grid_box(box_mm[0], box_mm[1], &v->geometry, v->dims, NULL);
    cJSON *box = cJSON_AddArrayToObject(about, "bounding_box_mm");
    for (int i = 0; i < 2; i++) cJSON_AddItemToArray(box, cJSON_CreateDoubleArray(box_mm[i], 3));
    cJSON *box_um = fine ? cJSON_AddArrayToObject(about, "bounding_box_um") : NULL;
    for (int i = 0; fine && i < 2; i++) {
        for (int a = 0; a < 3; a++) um[a] = box_mm[i][a] * 1000;
        cJSON_AddItemToArray(box_um, cJSON_CreateDoubleArray(um, 3));
    }
    /* the four bytes between header and extensions, which say whether there are any, are none */
    const size_t extensions = v->header.extensions_size > 4 ? v->header.extensions_size - 4 : 0;
    cJSON_AddNumberToObject(about, "extension_bytes", (double)extensions);
    cJSON *const names = v->names.count > 0 ? cJSON_AddObjectToObject(about, "label_names") : NULL;
    for (int32_t i = 0; i < v->names.count; i++) {
        char label[16];
        snprintf(label, sizeof label, "%d", v->names.rows[i].label);
        cJSON_AddStringToObject(names, label, v->names.rows[i].name);
    }

    cJSON *header = cJSON_AddObjectToObject(about, "header");
    lob_header_fields(v, add_field, header);
    cJSON *warnings = cJSON_AddArrayToObject(about, "warnings");
    for (int i = 0; i < info->warnings; i++)
        cJSON_AddItemToArray(warnings, cJSON_CreateString(info->warning[i]));
    return about;
}

/* The data sets of a file that holds several. */
static cJSON *describe_sets(const lob_data_set *sets, int count, int more, const char *format,
                            const char *path)
{
    cJSON *about = cJSON_CreateObject();
    cJSON_AddStringToObject(about, "file", path);
    cJSON_AddStringToObject(about, "format", format);
    cJSON *list = cJSON_AddArrayToObject(about, "data_sets");
    for (int i = 0; i < count; i++) {
        cJSON *const one = lob_json_row(list);
        cJSON_AddStringToObject(one, "path", sets[i].path);
        cJSON_AddStringToObject(one, "type", sets[i].type[0] ? sets[i].type : "not read");
        cJSON_AddStringToObject(one, "shape", sets[i].shape);
    }
    if (more > 0) cJSON_AddNumberToObject(about, "more_data_sets", more);
    return about;
}

/* The series of a folder of DICOM. */
static cJSON *describe_series(const lob_dicom_list *series, const char *path)
{
    cJSON *about = cJSON_CreateObject();
    cJSON_AddStringToObject(about, "file", path);
    cJSON_AddStringToObject(about, "format", "DICOM");
    cJSON *list = cJSON_AddArrayToObject(about, "series");
    for (int i = 0; i < series->count; i++) {
        const lob_dicom_series *const s = &series->series[i];
        cJSON *const one = lob_json_row(list);
        if (s->number >= 0) cJSON_AddNumberToObject(one, "number", (double)s->number);
        cJSON_AddStringToObject(one, "description", s->description);
        cJSON_AddStringToObject(one, "modality", s->modality);
        if (s->date[0]) cJSON_AddStringToObject(one, "date", s->date);
        LOB_JSON_NUMBERS(one, {"images", s->images}, {"columns", s->columns}, {"rows", s->rows});
        cJSON_AddStringToObject(one, "uid", s->uid);
    }
    cJSON *const damaged = cJSON_AddArrayToObject(about, "damaged");
    const char *last = "";
    for (int i = 0; i < series->count; i++) { /* series of one folder have one in common */
        const char *const file = series->series[i].damaged;
        if (!file || strcmp(file, last) == 0) continue;
        cJSON_AddItemToArray(damaged, cJSON_CreateString(file));
        last = file;
    }
    return about;
}

/* What there is to say: of a volume or, where there are several, of each the least. */
typedef struct {
    const char *path;
    bool json;
    lob_volume volume;
    lob_data_set *sets;
    lob_dicom_list series;
    cJSON *about;
} settings;

static lob_status print_info(lob_session *s, void *user)
{
    settings *const set = user;
    lob_file_info info = {.format = NULL};
    int count, more;
    const lob_status st = lob_session_read_header(s, &set->volume, set->path, &info);
    if (st != LOB_OK && s->error.hint == LOB_HINT_CHOOSE_SET) {
        s->error = (lob_error){.text = ""};
        LOB_TRY(lob_list(&set->sets, &count, &more, set->path, &s->error));
        set->about = describe_sets(set->sets, count, more, info.format, set->path);
    } else if (st != LOB_OK && s->error.hint == LOB_HINT_CHOOSE_SERIES && !s->series) {
        s->error = (lob_error){.text = ""};
        LOB_TRY(lob_dicom_list_of(&set->series, set->path, lob_session_stops, NULL, &s->error));
        set->about = describe_series(&set->series, set->path);
    } else {
        LOB_TRY(st);
        set->about = describe(&set->volume, set->path, &info);
    }
    return lob_json_put(set->about, set->json, &s->error);
}

static void release(void *user)
{
    settings *const set = user;
    lob_volume_free(&set->volume);
    free(set->sets);
    lob_dicom_list_free(&set->series);
    cJSON_Delete(set->about);
}

static void options(lob_rows *to, void *user)
{
    settings *const set = user;
    const lob_option rows[] = {
        OPERAND_INPUT("FILE", &set->path, LOB_FILE_IMAGE,
                      "volume, FILE.h5:/dataset, STORE.zarr/array, or a folder of DICOM",
                      .required = true),
        OPT_FLAG("json", &set->json, "print JSON instead of text"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_info = {
    .name = "info",
    .summary = "print what a volume's header says",
    .description =
        "Prints size, voxel type, place in the world and every header field to standard output. "
        "The voxels are not decoded, so it takes no time. The bounding box is that of the outer "
        "faces of the voxels, in mm, world axes to right, anterior and superior; a file that does "
        "not say how it lies has the orientation `unknown`. Micrometres are given too where the "
        "file does or voxels have a side below 0.02 mm. Of an HDF5 file with several data sets, "
        "path, type and shape of each; name one, as cells.h5:/raw, for the rest. Of a folder of "
        "DICOM with several series, number, description, date and size of each, and files beside "
        "them that are damaged; --series takes one. A series is converted by dcm2niix, which takes "
        "its time. A line under warnings says so when the file is shorter than its header asks "
        "for.",
    .examples = "lobule info scan.nii.gz\nlobule info --json cells.h5:/raw",
    LOB_COMMAND_PARTS(settings, options, NULL, print_info, release),
};
