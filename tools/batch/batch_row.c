/* The row of a scan, from its lines and its report. */
#include "tools/batch/batch_row.h"

#include "io/folder.h"
#include "io/io.h"
#include "io/sha256.h"
#include "tools/report/report.h"
#include "tools/text/path.h"
#include "tools/text/text.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- files ---- */

/* Of a folder, of DICOM or Zarr: the bytes of all its files, and when the last of them was changed.
 */
static bool look_at(lob_about *about, const char *path)
{
    if (!lob_about_path(about, path)) return false;
    return about->is_folder ? lob_folder_measure(path, &about->bytes, &about->modified_ns)
                            : about->is_file;
}

/* Does a path stand in a list? */
static bool lists(const lob_batch_files *files, const char *path)
{
    int i = 0;
    while (i < files->count && strcmp(files->file[i].path, path) != 0) i++;
    return i < files->count;
}

static lob_status add_file(lob_batch_files *out, char content, int line, const lob_line_file *named,
                           const char *path, const char *file)
{
    if (lists(out, path)) return LOB_OK;
    if (!lob_grow(&out->file, out->count, sizeof *out->file)) return LOB_ENOMEM;
    lob_batch_file *const to = &out->file[out->count];
    *to = (lob_batch_file){.content = content, .path = strdup(path)};
    if (asprintf(&to->role, "%d:%s%s", line + 1, named->is_output ? "--" : "", named->option) < 0)
        to->role = NULL;
    if (!to->role || !to->path) {
        free(to->role);
        free(to->path);
        return LOB_ENOMEM;
    }
    out->count++;
    lob_about about;
    if (!look_at(&about, file)) return LOB_OK;
    to->bytes = about.bytes;
    to->mtime_ns = about.modified_ns;
    return LOB_OK;
}

/* A volume may stand for two files; the second has a row of its own. */
static lob_status add_named(lob_batch_files *out, int line, const lob_line_file *named)
{
    static const char contents[] = {[LOB_FILE_OTHER] = 'o',
                                    [LOB_FILE_IMAGE] = 'i',
                                    [LOB_FILE_LABELS] = 'l',
                                    [LOB_FILE_TABLE] = 't',
                                    [LOB_FILE_RECIPE] = 'o'};
    const char content = contents[named->content];
    char *files[2];
    LOB_TRY(lob_path_files(files, named->path, lob_content_is_volume(named->content),
                           !named->is_output));
    lob_status st = add_file(out, content, line, named, named->path, files[0]);
    if (st == LOB_OK && files[1]) st = add_file(out, 'o', line, named, files[1], files[1]);
    lob_files_free(files);
    return st;
}

bool lob_batch_is_made(const lob_recipe_job *job, int line, const char *path)
{
    for (int i = 0; i < line; i++)
        for (int f = 0; f < job->lines[i].line.file_count; f++) {
            const lob_line_file *const file = &job->lines[i].line.files[f];
            if (file->is_output && strcmp(file->path, path) == 0) return true;
        }
    return false;
}

lob_status lob_batch_files_of(lob_batch_files *out, const lob_recipe_job *job, bool outputs)
{
    lob_status st = LOB_OK;
    lob_batch_files_free(out);
    for (int i = 0; i < job->line_count; i++)
        for (int f = 0; f < job->lines[i].line.file_count && st == LOB_OK; f++) {
            const lob_line_file *const file = &job->lines[i].line.files[f];
            if (file->is_output != outputs || !lob_line_file_is_on_disk(file) ||
                (!outputs && lob_batch_is_made(job, i, file->path)))
                continue;
            st = add_named(out, i, file);
        }
    return st;
}

/* ---- the report ---- */

static const char *text_in(const cJSON *object, const char *name)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static void take_sums(lob_batch_files *files, const cJSON *list)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, list)
    {
        const cJSON *const second = cJSON_GetObjectItemCaseSensitive(one, "second_file");
        for (int i = 0; i < files->count; i++)
            for (int k = 0; k < 2; k++) {
                const cJSON *const from = k ? second : one;
                const char *const sum = text_in(from, "sha256");
                if (strcmp(text_in(from, "path"), files->file[i].path) == 0 &&
                    strlen(sum) == LOB_SHA256_TEXT - 1)
                    memcpy(files->file[i].sha256, sum, LOB_SHA256_TEXT);
            }
    }
}

/*
 * What a line has read and no word of it names, such as the atlases of a table, joins the inputs.
 * It is looked at after it was read: where it may have been changed since the scan began, its time
 * is left out, and its bytes are compared the next time.
 */
static void add_unnamed(lob_batch_row *row, const cJSON *list, int line)
{
    const int64_t began_ns = ((int64_t)time(NULL) - 1 - (int64_t)row->total_s) * 1000000000;
    const cJSON *one;
    cJSON_ArrayForEach(one, list)
    {
        const cJSON *const path = cJSON_GetObjectItemCaseSensitive(one, "path");
        if (!cJSON_IsString(path)) continue;
        const lob_line_file read = {
            .path = path->valuestring,
            .option = text_in(one, "role"),
            .content = cJSON_HasObjectItem(one, "dims") ? LOB_FILE_IMAGE : LOB_FILE_OTHER,
        };
        lob_about about;
        const int before = row->inputs.count;
        if (lists(&row->inputs, read.path) || lists(&row->outputs, read.path) ||
            !lob_batch_stat(&about, read.path) || add_named(&row->inputs, line, &read) != LOB_OK)
            continue;
        for (int i = before; i < row->inputs.count; i++)
            if (row->inputs.file[i].mtime_ns >= began_ns) row->inputs.file[i].mtime_ns = 0;
    }
}

/* Voxels of the first volume that a line has read; -1: none has. */
static int64_t voxels_in(const cJSON *lines)
{
    const cJSON *line, *input, *side;
    cJSON_ArrayForEach(line, lines)
    {
        cJSON_ArrayForEach(input, cJSON_GetObjectItemCaseSensitive(line, "inputs"))
        {
            const cJSON *const dims = cJSON_GetObjectItemCaseSensitive(input, "dims");
            double voxels = 1;
            cJSON_ArrayForEach(side, dims) voxels *= side->valuedouble;
            if (cJSON_GetArraySize(dims) == 3) return (int64_t)voxels;
        }
    }
    return -1;
}

static void take_stages(lob_batch_row *row, const lob_session *s)
{
    const lob_seconds whole = lob_session_seconds(s);
    row->total_s += whole.total;
    row->stage_s[LOB_STAGE_OTHER] += whole.other;
    for (int i = 0; i < s->stages; i++) {
        int stage = 0;
        while (stage < LOB_STAGE_OTHER &&
               strcmp(lob_batch_stage_text((lob_batch_stage)stage), s->stage[i].name) != 0)
            stage++;
        if (stage == LOB_STAGE_OTHER) stage = LOB_STAGE_COMPUTE; /* smooth, level and the like */
        row->stage_s[stage] += s->stage[i].seconds;
    }
}

void lob_batch_row_fill(lob_batch_row *row, const lob_session *s, const cJSON *report)
{
    static const char *const labels[] = {"labels", "components", "supervoxels",
                                         "maxima", "seeds",      NULL};
    static const char *const bytes[] = {"working_memory_bytes", "working_bytes", NULL};
    const cJSON *const lines = cJSON_GetObjectItemCaseSensitive(s->results, "lines"), *line;
    double most = 0;
    int number = 0;
    take_stages(row, s);
    row->voxels = voxels_in(lines);
    cJSON_ArrayForEach(line, lines)
    {
        if (lob_json_result(line, labels) >= 0)
            row->labels = (int64_t)lob_json_result(line, labels);
        if (lob_json_result(line, bytes) > most) most = lob_json_result(line, bytes);
        add_unnamed(row, cJSON_GetObjectItemCaseSensitive(line, "inputs"), number++);
    }
    row->memory = s->most_held + (int64_t)most;
    if (!report) return;
    take_sums(&row->inputs, cJSON_GetObjectItemCaseSensitive(report, "inputs"));
    take_sums(&row->outputs, cJSON_GetObjectItemCaseSensitive(report, "outputs"));
}

/* ---- the key ---- */

bool lob_batch_key(char key[LOB_SHA256_TEXT], const lob_recipe *recipe, const char *const *values,
                   const char *series)
{
    lob_text text = {NULL};
    for (int i = 0; i < recipe->line_count; i++) {
        int count = 0;
        char **const words = lob_recipe_fill(&count, recipe, i, values);
        for (int w = 0; words && w < count; w++)
            lob_text_add(&text, words[w], strlen(words[w]) + 1); /* no word holds a NUL */
        lob_text_add(&text, "\n", 1);
        text.failed = text.failed || !words;
        free(words);
    }
    if (series) lob_text_print(&text, "--series=%s", series);
    const bool made = !text.failed && lob_sha256_of(key, text.bytes, text.size);
    lob_text_free(&text);
    return made;
}

/* ---- what a row says of files: does it still hold? ---- */

bool lob_batch_stat(lob_about *about, const char *path)
{
    char *files[2];
    if (lob_is_there(path)) return look_at(about, path);
    if (lob_files_of(files, path, true) != LOB_OK) return false;
    const bool there = look_at(about, files[0]);
    lob_files_free(files);
    return there;
}

/* Size and time say that it is the same, or, where the time has changed, its bytes do. */
static bool holds(const lob_batch_file *file, bool compare_bytes)
{
    lob_about about;
    char sha256[LOB_SHA256_TEXT];
    if (!lob_batch_stat(&about, file->path) || about.bytes != file->bytes) return false;
    if (about.modified_ns == file->mtime_ns) return true;
    if (!compare_bytes || !file->sha256[0]) return false;
    char *files[2];
    if (lob_files_of(files, file->path, true) != LOB_OK) return false;
    const bool same =
        lob_sha256_end(lob_sha256_begin(files[0]), sha256) && strcmp(sha256, file->sha256) == 0;
    lob_files_free(files);
    return same;
}

bool lob_batch_outputs_hold(const lob_batch_row *row)
{
    lob_about about;
    for (int i = 0; i < row->outputs.count; i++)
        if (lob_batch_stat(&about, row->outputs.file[i].path) &&
            !holds(&row->outputs.file[i], false))
            return false;
    return true;
}

bool lob_batch_row_holds(const lob_batch_row *row, const char *key)
{
    lob_about about;
    if (row->state != LOB_SCAN_DONE || strcmp(row->key, key) != 0) return false;
    for (int i = 0; i < row->outputs.count; i++)
        if (!lob_batch_stat(&about, row->outputs.file[i].path) ||
            about.bytes != row->outputs.file[i].bytes)
            return false;
    for (int i = 0; i < row->inputs.count; i++)
        if (!holds(&row->inputs.file[i], true)) return false;
    return true;
}
