/* How the session of a recipe's line belongs to that of the recipe. */
#include "tools/session/session_line.h"

#include "io/format.h"
#include "io/passing.h"
#include "tools/report/report.h"
#include "tools/report/session_sums.h"
#include "tools/session/session_outputs.h"

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

bool lob_session_checking(const lob_session *s)
{
    return s->command->line && s->command->line->checking;
}

lob_status lob_session_checked(lob_session *s)
{
    s->checked = true;
    return lob_fail(&s->error, LOB_ECANCEL, "checked");
}

int64_t lob_session_stored_bytes(const lob_session *s)
{
    int64_t bytes = 0;
    for (const lob_line *line = s->command->line; line; line = line->run->command->line)
        bytes += line->store->bytes;
    return bytes;
}

bool lob_session_is_stored(const lob_session *s, const char *path)
{
    return s->command->line && lob_is_stored_name(path);
}

/* ---- begin ---- */

void lob_line_inherit(lob_session *s)
{
    const lob_session *const run = s->command->line->run;
    s->device = run->device;
    s->threads = run->threads;
    s->max_memory = run->max_memory;
    /* with --skip-existing the recipe as a whole looks for outputs */
    s->force = run->force || (run->skip_existing && s->command->line->checking);
    s->quiet = run->quiet;
    s->verbose = run->verbose;
    s->provenance = run->provenance;
}

static lob_status check_stored(lob_session *s, const lob_option *row, const char *path)
{
    const bool volume = row->content == LOB_FILE_IMAGE || row->content == LOB_FILE_LABELS;
    if (!lob_is_stored_name(path)) return LOB_OK;
    if (!lob_is_sound_name(path))
        return lob_fail(&s->error, LOB_EARG,
                        "%s: a volume in memory is named '@', a letter, then letters, digits, '_' "
                        "and '-'; a file of this name is ./%s",
                        path, path);
    if (!volume)
        return lob_fail(&s->error, LOB_EARG,
                        "%s%s %s: only volumes can be in memory; name a file, as ./%s",
                        row->operand ? "" : "--", row->name, path, path);
    if (row->kind == LOB_OPT_OUTPUT && s->skip_existing)
        return lob_fail(&s->error, LOB_EARG, "%s: --skip-existing is for files", path);
    return LOB_OK;
}

static lob_status note_file(lob_session *s, const lob_option *row, const char *path)
{
    lob_line *const line = s->command->line;
    LOB_TRY(check_stored(s, row, path));
    char *const copy = strdup(path);
    lob_line_file *const files =
        copy ? realloc(line->files, ((size_t)line->file_count + 1) * sizeof *files) : NULL;
    if (!files) {
        free(copy);
        return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    }
    line->files = files;
    files[line->file_count++] = (lob_line_file){.path = copy,
                                                .option = row->name,
                                                .content = row->content,
                                                .is_output = row->kind == LOB_OPT_OUTPUT,
                                                .typed = path};
    return LOB_OK;
}

lob_status lob_line_begin(lob_session *s)
{
    const int64_t most = s->command->line->run->max_memory;
    if (most > 0 && (s->max_memory == 0 || s->max_memory > most)) s->max_memory = most;
    lob_status st = LOB_OK;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < s->table[t].count && st == LOB_OK; i++) {
            const lob_option *const row = &s->table[t].rows[i];
            const char *path;
            for (int k = 0; st == LOB_OK && (path = lob_option_path(row, k)); k++)
                st = note_file(s, row, path);
        }
    return st;
}

/* ---- the device ---- */

static bool computes_where_recipe_does(const lob_session *s)
{
    const lob_device_choice *const a = &s->device, *const b = &s->command->line->run->device;
    return strcmp(a->backend, b->backend) == 0 && a->index == b->index;
}

bool lob_line_borrow_device(lob_session *s)
{
    lob_session *const run = s->command->line ? s->command->line->run : NULL;
    if (!run || !computes_where_recipe_does(s)) return false;
    if (lob_session_checking(s)) run->device_wanted = true;
    if (!run->device_chosen) return false;
    s->backend = run->backend;
    s->context.device = run->context.device;
    s->device_is_lent = true;
    memcpy(s->device_why, run->device_why, sizeof s->device_why);
    return true;
}

/* ---- volumes in memory ---- */

/* The row of a volume that a line before has written. */
static lob_status find_stored(lob_session *s, lob_stored **row, const char *path)
{
    *row = lob_store_find(s->command->line->store, path);
    if (*row && (*row)->there) return LOB_OK;
    return lob_fail(&s->error, LOB_EINTERNAL, "%s: is not in memory", path);
}

/* The frame that is read, from 0, or LOB_FRAME_ALL. */
static lob_status choose_frame(lob_session *s, int64_t *frame, const lob_stored *row,
                               const char *path)
{
    const lob_read_options options = {.frame = *frame};
    if (*frame == LOB_FRAME_ALL) return LOB_OK;
    return lob_choose_frame(frame, lob_store_frames(row), path, &options, &s->error);
}

/* Is this the last time that the volume is read? Marks one of the line's inputs as read. */
static bool is_last_read(lob_session *s, const lob_stored *row)
{
    lob_line *const line = s->command->line;
    bool marked = false, again = line->keeps_inputs || row->last != line->index;
    for (int i = 0; i < line->file_count; i++) {
        lob_line_file *const file = &line->files[i];
        if (file->is_output || strcmp(file->path, row->name) != 0) continue;
        if (!marked && !file->was_read)
            file->was_read = marked = true;
        else if (!file->was_read)
            again = true;
    }
    return marked && !again;
}

/* Take the volume of a row of the line's own recipe, or copy it, or a frame of it; described as
 * info says. */
static lob_status read_row(lob_session *s, lob_volume *out, lob_store *store, lob_stored *row,
                           const char *path, int64_t frame, bool voxels, const lob_file_info *info)
{
    const double start_s = lob_clock_s();
    *out = lob_volume_empty();
    lob_status st = choose_frame(s, &frame, row, path);
    if (st != LOB_OK) return st;
    const bool whole = frame == LOB_FRAME_ALL || lob_store_frames(row) == 1;
    const bool last = voxels && store == s->command->line->store && is_last_read(s, row);
    if (last && whole) {
        lob_store_take(store, row, out); /* its bytes count as the line's from now on */
    } else {
        const int64_t share = whole ? 1 : lob_store_frames(row);
        const int64_t bytes = voxels ? lob_voxel_bytes(&row->volume) / share : 0;
        st = lob_session_take(s, bytes, path);
        if (st != LOB_OK) return st;
        st = lob_store_copy(out, row, frame, voxels, s->context.threads);
        if (st != LOB_OK) {
            lob_session_give(s, bytes);
            return lob_session_no_memory(s, path);
        }
    }
    lob_session_stage(s, "read", start_s);
    if (lob_is_kept_file(row)) lob_sums_begin(s, path, true, true);
    lob_report_input(s, out, path, info);
    st = lob_session_cancelled(s);
    if (st != LOB_OK) lob_volume_free(out);
    return st;
}

lob_status lob_line_read(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                         bool voxels)
{
    const lob_file_info info = {.format = "memory"};
    lob_stored *row;
    *out = lob_volume_empty();
    const lob_status st = find_stored(s, &row, path);
    return st == LOB_OK ? read_row(s, out, s->command->line->store, row, path, frame, voxels, &info)
                        : st;
}

bool lob_line_peek(const lob_session *s, lob_volume *out, const char *path)
{
    const lob_stored *const row = lob_store_find(s->command->line->store, path);
    return row && row->there && lob_store_copy(out, row, 0, false, 1) == LOB_OK;
}

/* ---- files that several lines read ---- */

/* What is kept of a file, by this recipe or by that whose line runs this one; NULL: nothing. */
static lob_stored *find_kept(const lob_session *s, lob_store **store, const char *path)
{
    for (const lob_line *line = s->command->line; line; line = line->run->command->line) {
        lob_stored *const row = lob_store_find(line->store, path);
        *store = line->store;
        if (row && row->there) return row;
    }
    return NULL;
}

bool lob_line_read_kept(lob_session *s, lob_status *status, lob_volume *out, const char *path,
                        int64_t frame)
{
    lob_store *store;
    lob_stored *const row = find_kept(s, &store, path);
    if (!row) return false;
    *status = read_row(s, out, store, row, path, frame, true, &row->info);
    if (*status != LOB_ENOMEM) return true;
    s->error = (lob_error){.text = ""};
    lob_session_give(s, row->there ? lob_voxel_bytes(&row->volume) : 0);
    lob_store_drop(store, row);
    return false;
}

/* A quarter of what the line may still take, or of what is free, for all files. */
static bool is_room_to_keep(const lob_session *s, int64_t bytes)
{
    const int64_t left = s->max_memory > 0 ? s->context.max_memory : lob_memory_available();
    return s->command->line->store->kept + bytes <= left / 4;
}

void lob_line_keep(lob_session *s, const lob_volume *volume, const char *path,
                   const lob_file_info *info)
{
    const lob_line *const line = s->command->line;
    lob_stored *const row = line ? lob_store_find(line->store, path) : NULL;
    const int64_t bytes = lob_voxel_bytes(volume);
    if (!row || line->store->keeps_no_files || volume->frames > 1) return;
    if (is_last_read(s, row) || (row->last <= line->index && line->keeps_inputs)) return;
    lob_volume copy;
    const lob_stored read = {.volume = *volume};
    if (!is_room_to_keep(s, bytes) ||
        lob_store_copy(&copy, &read, 0, true, s->context.threads) != LOB_OK)
        return;
    row->info = *info;
    lob_store_put(line->store, row, &copy);
    line->store->has_kept = true;
    lob_session_give(s, -bytes);
}

lob_status lob_line_open(lob_session *s, lob_plane_input *input, const char *path, int64_t frame)
{
    lob_stored *row;
    *input = (lob_plane_input){.path = path, .info = {.format = "memory"}};
    lob_status st = find_stored(s, &row, path);
    if (st == LOB_OK) st = choose_frame(s, &frame, row, path);
    if (st != LOB_OK) return st;
    st = lob_store_copy(&input->volume, row, frame, false, 1);
    if (st != LOB_OK) return lob_session_no_memory(s, path);
    st = lob_planes_of(&input->planes, &row->volume, frame, path, &s->error);
    if (st != LOB_OK) lob_volume_free(&input->volume);
    return st;
}

lob_status lob_line_write(lob_session *s, lob_volume *volume, const char *path,
                          const lob_write_options *options)
{
    lob_store *const store = s->command->line->store;
    lob_stored *const row = lob_store_find(store, path);
    lob_volume passed;
    lob_status st = lob_session_cancelled(s);
    if (st != LOB_OK) return st;
    if (!row) return lob_fail(&s->error, LOB_EINTERNAL, "%s: was not announced", path);
    const double start_s = lob_clock_s();
    st = lob_pass(&passed, volume, path, options, &s->error);
    if (st != LOB_OK) return st;
    lob_store_put(store, row, &passed);
    lob_session_stage(s, "write", start_s);
    lob_report_output(s, volume, path);
    return lob_session_cancelled(s);
}

/* ---- end ---- */

/* Is there an entry for this path? */
static bool has_path(const cJSON *files, const char *path)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, files)
    {
        if (strcmp(cJSON_GetObjectItemCaseSensitive(file, "path")->valuestring, path) == 0)
            return true;
    }
    return false;
}

/* The recipe's list of files gets those of the line: no volumes in memory, and none twice. */
static void add_files(cJSON *to, const cJSON *from, const cJSON *not_in)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, from)
    {
        const char *const path = cJSON_GetObjectItemCaseSensitive(file, "path")->valuestring;
        if (lob_is_stored_name(path) || has_path(to, path) || has_path(not_in, path)) continue;
        cJSON_AddItemToArray(to, cJSON_Duplicate(file, true));
    }
}

void lob_line_note_report(lob_session *s, bool is_new)
{
    lob_session_output output = {.is_new = is_new};
    if (!s->command->line || !s->report_path || lob_session_reserve_output(s) != LOB_OK) return;
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
    {
        lob_session_note(run, "%s: %s: %s", place, s->command->name, note->valuestring);
    }
}

void lob_line_end(lob_session *s, lob_status status, cJSON *report)
{
    lob_line *const line = s->command->line;
    lob_session *const run = line->run;
    const bool failed = status != LOB_OK && status != LOB_EDIFFER;
    line->status = status;
    line->report = report;
    if (s->most_held > run->most_held) run->most_held = s->most_held;
    for (int i = 0; i < s->stages; i++) lob_session_add(run, s->stage[i].name, s->stage[i].seconds);
    if (failed) {
        lob_fail(&run->error, status, "%s: %s: %.800s", line->place, s->command->name,
                 s->error.text);
    } else if (!line->checking) {
        if (s->provenance) lob_sums_end(s); /* of inputs, for the outputs of later lines */
        hand_over(run, s, line->place);
    }
}
