/* How the session of a recipe's line belongs to that of the recipe. */
#include "tools/recipe/recipe_job.h"

#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

void lob_line_free(lob_line *line)
{
    for (int i = 0; i < line->file_count; i++) free(line->files[i].path);
    free(line->files);
    cJSON_Delete(line->report);
    line->files = NULL;
    line->file_count = 0;
    line->report = NULL;
}

/* ---- begin ---- */

static void begin(lob_session *s)
{
    const lob_session *const run = s->host->outer;
    s->device = run->device;
    s->threads = run->threads;
    s->max_memory = run->max_memory;
    s->force = lob_line_of(s)->force;
    s->series = run->series;
    s->quiet = run->quiet;
    s->verbose = run->verbose;
    s->provenance = run->provenance;
}

static lob_status check_stored(lob_session *s, const lob_option *row, const char *path)
{
    if (!lob_is_stored_name(path)) return LOB_OK;
    if (!lob_is_sound_name(path))
        return lob_fail(&s->error, LOB_EARG,
                        "%s: a volume in memory is named '@', a letter or '_', then these, digits "
                        "and '-'; a file of this name is ./%s",
                        path, path);
    if (!lob_content_is_volume(row->content))
        return lob_fail(&s->error, LOB_EARG,
                        "%s%s %s: only volumes can be in memory; name a file, as ./%s",
                        row->operand ? "" : "--", row->name, path, path);
    if (row->kind == LOB_OPT_OUTPUT && s->skip_existing)
        return lob_fail(&s->error, LOB_EARG, "%s: --skip-existing is for files", path);
    return LOB_OK;
}

static lob_status note_file(lob_session *s, const lob_option *row, const char *path)
{
    lob_line *const line = lob_line_of(s);
    LOB_TRY(check_stored(s, row, path));
    char *const copy =
        lob_grow(&line->files, line->file_count, sizeof *line->files) ? strdup(path) : NULL;
    if (!copy) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    line->files[line->file_count++] = (lob_line_file){.path = copy,
                                                      .option = row->name,
                                                      .content = row->content,
                                                      .is_output = row->kind == LOB_OPT_OUTPUT,
                                                      .typed = path};
    return LOB_OK;
}

/* Note the line's files, keep its memory within the recipe's. */
static lob_status parsed(lob_session *s)
{
    lob_session *const run = s->host->outer;
    if (run->max_memory > 0 && (s->max_memory == 0 || s->max_memory > run->max_memory))
        s->max_memory = run->max_memory;
    if (s->command->voxel_ns > 0 && lob_device_is_recipes(s)) run->device_wanted = true;
    for (const lob_option *row = NULL; (row = lob_option_next(s->table, 2, row));) {
        const char *path;
        for (int k = 0; (path = lob_option_path(row, k)); k++) LOB_TRY(note_file(s, row, path));
    }
    return LOB_OK;
}

/* ---- between ---- */

static bool lend(lob_session *s)
{
    lob_session *const run = s->host->outer;
    if (!lob_device_is_recipes(s) || lob_session_device(run) != LOB_OK) return false;
    s->backend = run->backend;
    s->context.device = run->context.device;
    memcpy(s->device_why, run->device_why, sizeof s->device_why);
    return true;
}

/* Volumes in memory are there beside what the session holds; also those of the recipe around. */
static int64_t held(const lob_session *s)
{
    const lob_session *const run = s->host->outer;
    return lob_line_of(s)->store->bytes + (run->host && run->host->held ? run->host->held(run) : 0);
}

static void spare(lob_session *s)
{
    lob_store_drop_files(lob_line_of(s)->store);
}

/* ---- end ---- */

/* Is there an entry for this path? */
static bool has_path(const cJSON *files, const char *path)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
        if (strcmp(lob_json_text(file, "path"), path) == 0) return true;
    return false;
}

/* The recipe's list of files gets those of the line: no volumes in memory, and none twice. */
static void add_files(cJSON *to, const cJSON *from, const cJSON *not_in)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, from) {
        const char *const path = lob_json_text(file, "path");
        if (lob_is_stored_name(path) || has_path(to, path) || has_path(not_in, path)) continue;
        cJSON_AddItemToArray(to, cJSON_Duplicate(file, true));
    }
}

/* A report goes with the line's outputs if a later line fails. */
static void reported(lob_session *s, bool is_new)
{
    lob_session_output output = {.is_new = is_new};
    if (lob_session_reserve_output(s) != LOB_OK) return;
    output.path = strdup(s->report_path);
    output.files[0] = strdup(s->report_path);
    s->written[s->outputs_written++] = output;
}

/* The recipe removes the line's outputs if a later line fails. */
static void hand_over_outputs(lob_session *run, lob_session *s)
{
    for (int i = 0; i < s->outputs_written; i++)
        if (lob_session_reserve_output(run) == LOB_OK) {
            run->written[run->outputs_written++] = s->written[i];
            s->written[i] = (lob_session_output){.path = NULL};
        }
}

static void hand_over(lob_session *run, lob_session *s, const char *place)
{
    const cJSON *note;
    add_files(run->inputs, s->inputs, run->outputs);
    add_files(run->outputs, s->outputs, NULL);
    hand_over_outputs(run, s);
    cJSON_ArrayForEach(note, s->notes)
        lob_session_note(run, "%s: %s: %s", place, s->command->name, note->valuestring);
}

static void end(lob_session *s, lob_status status, const cJSON *report)
{
    lob_line *const line = lob_line_of(s);
    lob_session *const run = s->host->outer;
    const bool failed = status != LOB_OK && status != LOB_EDIFFER;
    line->status = status;
    line->report = report ? cJSON_Duplicate(report, true) : NULL;
    if (s->most_held > run->most_held) run->most_held = s->most_held;
    for (int i = 0; i < s->stages; i++) lob_session_add(run, s->stage[i].name, s->stage[i].seconds);
    if (failed)
        lob_fail_file(&run->error, status, s->host->place, "%s: %s", s->command->name, s->failure);
    else
        hand_over(run, s, s->host->place);
}

void lob_line_make(lob_line *line, lob_session *run, lob_store *store, int index, int count)
{
    line->store = store;
    line->host = (lob_host){.outer = run,
                            .caller = run->command->name,
                            .place = line->place,
                            .index = index,
                            .count = count,
                            .values = line->values + 1,
                            .memory = &lob_recipe_memory,
                            .begin = begin,
                            .parsed = parsed,
                            .lend = lend,
                            .held = held,
                            .spare = spare,
                            .reported = reported,
                            .end = end};
}
