/* Sidecars of label volumes in BIDS. */
#include "io/file.h"
#include "io/platform.h"
#include "tools/commands/bids/bids_path.h"
#include "tools/inout/volumes.h"
#include "tools/picture/colours.h"
#include "tools/report/report.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/labels.h"
#include "volumes/version.h"

#include <stdlib.h>
#include <string.h>

#define BIDS_VERSION "1.10.0"

/* ---- where ---- */

/* The first row of a session's own table of this kind and content that was given; NULL: none. */
static const lob_option *row_of(const lob_session *s, lob_option_kind kind,
                                lob_file_content content)
{
    for (size_t i = 0; i < s->table[0].count; i++) {
        const lob_option *const row = &s->table[0].rows[i];
        if (row->kind == kind && row->content == content && *(const char **)row->target) return row;
    }
    return NULL;
}

/* Of commands that write labels, also where one only prints this time, for begin to refuse. */
static bool option(lob_option *row, lob_session *s)
{
    bool can = false;
    for (size_t i = 0; i < s->table[0].count; i++)
        if (s->table[0].rows[i].content == LOB_FILE_LABELS && s->table[0].rows[i].letter == 'o')
            can = true;
    *row = (lob_option)OPT_FLAG(
        "bids", &s->extra,
        "write a .json and a .tsv beside the labels, as BIDS has them for derivatives; where "
        "the output is a folder, the labels are named in it after the image");
    return can;
}

static const char *path_of(const lob_option *row)
{
    return row ? *(const char **)row->target : NULL;
}

/* The image that labels belong to: the first image among the inputs, else the first labels. */
static const char *image_of(const lob_session *s)
{
    const char *const image = path_of(row_of(s, LOB_OPT_INPUT, LOB_FILE_IMAGE));
    return image ? image : path_of(row_of(s, LOB_OPT_INPUT, LOB_FILE_LABELS));
}

static bool is_folder(const char *path)
{
    const size_t n = strlen(path);
    return (n > 0 && path[n - 1] == '/') || lob_is_folder(path);
}

/* Name the labels in a folder. */
static lob_status name_labels(lob_session *s, const lob_option *out)
{
    const char *const image = image_of(s);
    char root[4096];
    if (!image)
        return lob_fail(&s->error, LOB_EARG,
                        "--bids: there is no image whose name the labels could have; name the "
                        "output *_dseg.nii.gz");
    snprintf(root, sizeof root, "%s", path_of(out));
    for (size_t n = strlen(root); n > 1 && root[n - 1] == '/'; n--) root[n - 1] = '\0';
    LOB_TRY(lob_bids_labels_path(&s->renamed, root, image, s->command->name, &s->error));
    s->renamed_from = path_of(out);
    *(const char **)out->target = s->renamed;
    return lob_can_make_folders(s->renamed)
               ? LOB_OK
               : lob_fail_file(&s->error, LOB_ECREATE, s->renamed, "its folder cannot be made");
}

static bool makes_folder(const lob_session *s, const char *path)
{
    if (!s->renamed || strcmp(path, s->renamed) != 0) return false;
    const char *const name = lob_name_in_path(path);
    char *const folder = strndup(path, (size_t)(name - path));
    const bool is_new = folder && !lob_is_there(folder);
    free(folder);
    return is_new;
}

static lob_status writing(lob_session *s, const char *path)
{
    if (!makes_folder(s, path) || lob_make_folders(path)) return LOB_OK;
    return lob_fail_file(&s->error, LOB_ECREATE, path, "its folder cannot be made");
}

static const char *const beside[] = {".json", ".tsv"};

static lob_status begin(lob_session *s)
{
    if (!s->extra) return LOB_OK;
    const lob_option *const out = row_of(s, LOB_OPT_OUTPUT, LOB_FILE_LABELS);
    if (!out)
        return lob_fail(&s->error, LOB_EARG,
                        "--bids: no labels are written, beside which files could be; leave it out");
    if (lob_session_is_stored(s, path_of(out)))
        return lob_fail(&s->error, LOB_EARG, "--bids: %s is no file; name one", path_of(out));
    if (is_folder(path_of(out))) LOB_TRY(name_labels(s, out));
    if (!lob_bids_is_dseg(path_of(out)))
        return lob_fail(&s->error, LOB_EARG,
                        "--bids: %s: labels are named *_dseg.nii.gz in BIDS; or name a folder, "
                        "with a / at its end",
                        path_of(out));
    if (s->skip_existing || makes_folder(s, path_of(out))) return LOB_OK;
    for (size_t i = 0; i < LOB_COUNT(beside); i++) {
        char *const path = lob_bids_beside(path_of(out), beside[i]);
        const lob_status st = path ? lob_output_check(path, s->force, &s->error)
                                   : lob_session_no_memory(s, path_of(out));
        free(path);
        LOB_TRY(st);
    }
    return LOB_OK;
}

/* ---- what ---- */

static lob_status write_text(lob_session *s, const char *path, void *user)
{
    const char *const text = user;
    const lob_output_part parts[] = {
        {text, strlen(text)  },
        {"\n", text[0] == '{'}  /* JSON ends without a line's end */
    };
    return lob_output_whole(path, s->force, parts, 2, &s->error);
}

/* Write a file beside the labels; text is freed. */
static lob_status write_beside(lob_session *s, const char *labels, const char *ending, char *text)
{
    char *const path = lob_bids_beside(labels, ending);
    const lob_status st = path && text ? lob_session_make(s, NULL, path, write_text, text)
                                       : lob_session_no_memory(s, labels);
    LOB_FREE(path, text);
    return st;
}

/* A file as a URI of BIDS: of the raw dataset, of the derivative itself, or its name alone. */
static cJSON *uri_of(const char *path, const char *raw, const char *own)
{
    char text[4096];
    char *const root = lob_bids_root(path);
    const char *below = path;
    if (root && strcmp(root, ".") != 0) below = path + strlen(root) + (root[1] || *root != '/');
    if (root && raw && strcmp(root, raw) == 0)
        snprintf(text, sizeof text, "bids:raw:%s", below);
    else if (root && own && strcmp(root, own) == 0)
        snprintf(text, sizeof text, "bids::%s", below);
    else
        snprintf(text, sizeof text, "%s", lob_name_in_path(path));
    free(root);
    return cJSON_CreateString(text);
}

/* What the columns of the table are that BIDS itself does not know. */
static void describe_columns(cJSON *json)
{
    static const char *const columns[][3] = {
        {"voxels", "Voxels that have the label", "1" },
        {"ml",     "Volume of the label",        "mL"},
    };
    for (size_t i = 0; i < LOB_COUNT(columns); i++) {
        cJSON *const column = cJSON_AddObjectToObject(json, columns[i][0]);
        cJSON_AddStringToObject(column, "Description", columns[i][1]);
        cJSON_AddStringToObject(column, "Units", columns[i][2]);
    }
}

/* The sidecar of the labels. */
static char *sidecar(lob_session *s, const char *raw, const char *own)
{
    cJSON *const json = cJSON_CreateObject(), *const made = cJSON_CreateObject();
    const char *const image = image_of(s);
    char about[128];
    snprintf(about, sizeof about, "Labels made by lobule %s", s->command->name);
    cJSON_AddStringToObject(json, "Description", about);
    cJSON *const sources = cJSON_AddArrayToObject(json, "Sources");
    for (size_t i = 0; i < s->table[0].count; i++) {
        const lob_option *const row = &s->table[0].rows[i];
        const char *path;
        if (!lob_option_reads(row)) continue;
        for (int k = 0; (path = lob_option_path(row, k)); k++)
            cJSON_AddItemToArray(sources, uri_of(path, raw, own));
    }
    if (image) cJSON_AddItemToObject(json, "SpatialReference", uri_of(image, raw, own));
    describe_columns(json);
    cJSON_AddStringToObject(made, "Version", LOB_VERSION);
    cJSON_AddStringToObject(made, "Command", s->command->name);
    cJSON_AddItemToObject(made, "Options", lob_report_options(s));
    cJSON_AddItemReferenceToObject(made, "Results", s->results);
    cJSON_AddItemToObject(json, "Lobule", made);
    char *const text = lob_json_print(json);
    cJSON_Delete(json);
    return text;
}

static void print_label(lob_text *text, const lob_volume *labels, const lob_label_set *set,
                        int32_t i, double ml)
{
    const int32_t label = set->values[i];
    const lob_label_name *const known = lob_label_names_find(&labels->names, label);
    const lob_colour colour = lob_label_colour(&labels->names, label);
    char name[32];
    snprintf(name, sizeof name, "label %d", label);
    lob_text_print(text, "%d\t%s\t#%02x%02x%02x\t%lld\t%.7g\n", label, known ? known->name : name,
                   colour.red, colour.green, colour.blue, (long long)set->voxels[i],
                   (double)set->voxels[i] * ml);
}

/* The labels of a file: index, name, color, voxels, ml. */
static lob_status list_labels(lob_session *s, char **text, const char *path)
{
    lob_volume labels = lob_volume_empty();
    lob_label_set set = {0};
    lob_text table = {NULL};
    LOB_TRY(lob_read(&labels, path, NULL, NULL, &s->error));
    lob_status st = lob_labels_dense(&labels, &set, path, &s->error);
    if (st == LOB_OK) {
        const double *const mm = labels.geometry.spacing_mm;
        lob_text_print(&table, "index\tname\tcolor\tvoxels\tml\n");
        for (int32_t i = 0; i < set.count; i++)
            print_label(&table, &labels, &set, i, mm[0] * mm[1] * mm[2] / 1000);
        if (!(*text = lob_text_take(&table))) st = lob_session_no_memory(s, path);
    }
    lob_label_set_free(&set);
    lob_volume_free(&labels);
    return st;
}

/* Describe the dataset, unless it is described already, perhaps by another of a batch. */
static lob_status describe_dataset(lob_session *s, const char *own, const char *raw)
{
    char *const path = lob_path_in(own, "dataset_description.json");
    char *const link = raw ? lob_path_relative(raw, own) : NULL;
    cJSON *const json = cJSON_CreateObject(), *const by = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "Name", "Labels made by Lobule");
    cJSON_AddStringToObject(json, "BIDSVersion", BIDS_VERSION);
    cJSON_AddStringToObject(json, "DatasetType", "derivative");
    cJSON_AddStringToObject(by, "Name", "Lobule");
    cJSON_AddStringToObject(by, "Version", LOB_VERSION);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(json, "GeneratedBy"), by);
    if (link) cJSON_AddStringToObject(cJSON_AddObjectToObject(json, "DatasetLinks"), "raw", link);
    lob_text text = {NULL};
    lob_text_add_json(&text, json);
    lob_text_add(&text, "\n", 1);
    lob_error reason = {.text = ""};
    lob_status st = path ? LOB_OK : lob_session_no_memory(s, own);
    if (path && !lob_is_there(path)) st = lob_text_save(&text, path, false, &reason);
    if (st == LOB_EEXIST) st = LOB_OK;
    if (path && st != LOB_OK) s->error = reason;
    lob_text_free(&text);
    cJSON_Delete(json);
    LOB_FREE(link, path);
    return st;
}

static lob_status end(lob_session *s)
{
    if (!s->extra) return LOB_OK;
    s->extra_role = "bids";
    const char *const labels = path_of(row_of(s, LOB_OPT_OUTPUT, LOB_FILE_LABELS));
    const char *const image = image_of(s);
    char *const raw = image ? lob_bids_root(image) : NULL, *const own = lob_bids_root(labels);
    char *table = NULL;
    lob_status st = list_labels(s, &table, labels);
    if (st == LOB_OK)
        st = write_beside(s, labels, ".tsv", table);
    else
        free(table);
    if (st == LOB_OK) st = write_beside(s, labels, ".json", sidecar(s, raw, own));
    if (st == LOB_OK && own) st = describe_dataset(s, own, raw);
    LOB_FREE(raw, own);
    return st;
}

const lob_namer lob_bids_namer = {
    .option = option, .begin = begin, .makes_folder = makes_folder, .writing = writing, .end = end};
