/* A scan of a batch from its values to its row. */
#include "io/folder.h"
#include "io/io.h"
#include "tools/batch/batch.h"
#include "tools/commands/commands.h"
#include "tools/report/report.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A scan at work. */
typedef struct {
    lob_host host; /* first: it leads back here */
    lob_batch *batch;
    const lob_plan_scan *plan;
    int threads;
    int64_t max_memory;      /* 0: no limit */
    lob_pool_device *device; /* where it computes; NULL: nowhere yet */
    double worked_s;         /* time for which that was at work */
    lob_batch_row *row;      /* what there is to say so far */
    lob_status status;       /* of the run */
    bool again;              /* another attempt, with more memory */

    lob_arguments words; /* of lobule run */
    lob_command command;
    lob_session session;
    lob_recipe_job job;
} scan;

/* ---- files as they are now ---- */

/* Of a folder, of DICOM or Zarr: the bytes of all its files, and when the last was changed. */
static bool look_at(lob_about *about, const char *path)
{
    if (!lob_about_path(about, path)) return false;
    return about->is_folder ? lob_folder_measure(path, &about->bytes, &about->modified_ns)
                            : about->is_file;
}

bool lob_batch_stat(lob_about *about, const char *path)
{
    char *files[2];
    if (lob_is_there(path)) return look_at(about, path);
    if (lob_files_of(files, path, true) != LOB_OK) return false;
    const bool there = look_at(about, files[0]);
    lob_files_free(files);
    return there;
}

/* When a file is as a row has it: by its size; by size and time, or if it is gone; by size and
 * time, or, where the time has changed, by its bytes. */
typedef enum { BY_SIZE, UNTOUCHED, BY_BYTES } rule;

static bool holds(const lob_batch_file *file, const char *path, rule by)
{
    lob_about about;
    char sha256[LOB_SHA256_TEXT], *files[2];
    if (!lob_batch_stat(&about, path)) return by == UNTOUCHED;
    if (about.bytes != file->bytes) return false;
    if (by == BY_SIZE || about.modified_ns == file->mtime_ns) return true;
    if (by == UNTOUCHED || !file->sha256[0] || lob_files_of(files, path, true) != LOB_OK)
        return false;
    const bool same = lob_sha256_end(lob_sha256_begin(files[0]), sha256, NULL) &&
                      strcmp(sha256, file->sha256) == 0;
    lob_files_free(files);
    return same;
}

bool lob_batch_is_changed(const lob_batch_file *file, const char *path)
{
    lob_about about;
    return lob_batch_stat(&about, path) && !holds(file, path, BY_BYTES);
}

static bool all_hold(const lob_batch_files *files, rule by)
{
    int i = 0;
    while (i < files->count && holds(&files->file[i], files->file[i].path, by)) i++;
    return i == files->count;
}

/* A byte that stands for itself in the name of a scan's file: '/' between two folders does. */
static bool is_plain(const char *at, const char *name)
{
    if (*at == '/') return at > name && at[-1] != '/' && at[1];
    if (*at == '.') return at > name && at[-1] != '/';
    return isalnum((unsigned char)*at) || strchr("_-+", *at);
}

/* FOLDER/reports/SCAN.json for "reports" and ".json"; malloc'ed. */
static char *file_of(const char *folder, const char *part, const char *name, const char *end)
{
    lob_text text = {NULL};
    lob_text_print(&text, "%s/%s/", folder, part);
    for (const char *c = name; *c; c++)
        lob_text_print(&text, is_plain(c, name) ? "%c" : "%%%02X", (unsigned char)*c);
    lob_text_print(&text, "%s", end);
    return lob_text_take(&text);
}

/* ---- its session ---- */

/*
 * The session of `lobule run` is one of several at a time in the process: it prints nothing but
 * what --verbose asks for, takes threads and memory from its part of them, and computes on a device
 * that it shares. The host is the first member of its scan.
 */
static scan *scan_of(const lob_host *host)
{
    return (scan *)host;
}

static void begin(lob_session *s)
{
    const scan *const a = scan_of(s->host);
    s->threads = a->threads;
    s->max_memory = a->max_memory;
    s->verbose = a->batch->session->verbose;
    s->quiet = !s->verbose;
}

static bool lend(lob_session *s)
{
    scan *const a = scan_of(s->host);
    lob_pool_device *const device = a->device = lob_pool_choose(&a->batch->pool);
    s->backend = device->backend;
    s->context.device = device->device;
    snprintf(s->device_why, sizeof s->device_why, "%s", device->why);
    return true;
}

static void worked(lob_host *host, double seconds)
{
    scan_of(host)->worked_s += seconds;
}

/* The arguments of `lobule run` that do the same: the recipe, its values, the options that hold for
 * all scans. */
static void put_words(scan *a, const char *report, bool force)
{
    const lob_recipe *const recipe = &a->batch->recipe;
    const lob_session *const s = a->batch->session;
    const lob_device_choice *const device = &s->device;
    const bool named = device->index != LOB_ALL_DEVICES && strcmp(device->backend, "auto") != 0;
    lob_arguments *const to = &a->words;
    lob_arguments_add(to, "%s", a->batch->recipe_path);
    for (int v = 0; v < recipe->value_count; v++)
        lob_arguments_add(to, "%s=%s", recipe->values[v].name, a->plan->values[v]);
    lob_arguments_add(to, "--report=%s", report);
    if (named && device->index > 0)
        lob_arguments_add(to, "--device=%s:%d", device->backend, device->index);
    else if (named)
        lob_arguments_add(to, "--device=%s", device->backend);
    if (s->series) lob_arguments_add(to, "--series=%s", s->series);
    if (s->provenance) lob_arguments_add(to, "--provenance");
    if (force || s->skip_existing)
        lob_arguments_add(to, "%s", force ? "--force" : "--skip-existing");
}

/* ---- its row ---- */

static void give_up(scan *a, lob_status status, const char *message)
{
    lob_batch_row *const row = a->row;
    free(row->message);
    row->message = strdup(message);
    row->exit_code = lob_status_exit_code(status);
    row->state = status == LOB_ECANCEL ? LOB_SCAN_CANCELLED : LOB_SCAN_FAILED;
    a->status = status;
}

static bool lists(const lob_batch_files *files, const char *path)
{
    int i = 0;
    while (i < files->count && strcmp(files->file[i].path, path) != 0) i++;
    return i < files->count;
}

/* Add a path that a line has as an option, with size and time of its file. */
static lob_status add_file(lob_batch_files *out, char content, int line, const lob_line_file *named,
                           const char *path, const char *file)
{
    lob_about about;
    if (lists(out, path)) return LOB_OK;
    if (!lob_grow(&out->file, out->count, sizeof *out->file)) return LOB_ENOMEM;
    lob_batch_file *const to = &out->file[out->count];
    *to = (lob_batch_file){.content = content, .path = strdup(path)};
    to->role = lob_printed("%d:%s%s", line + 1, named->is_output ? "--" : "", named->option);
    if (!to->role || !to->path) {
        LOB_FREE(to->role, to->path);
        return LOB_ENOMEM;
    }
    out->count++;
    if (!look_at(&about, file)) return LOB_OK;
    to->bytes = about.bytes;
    to->mtime_ns = about.modified_ns;
    return LOB_OK;
}

/* The same; a volume may stand for two files, of which the second has an entry of its own. */
static lob_status add_files(lob_batch_files *out, int line, const lob_line_file *named)
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

/* Add what the lines' words name: inputs before the run, as they may be others after it. */
static lob_status add_named(scan *a, bool outputs)
{
    lob_status st = LOB_OK;
    for (int i = 0; i < a->job.line_count; i++)
        for (int f = 0; f < a->job.lines[i].file_count && st == LOB_OK; f++) {
            const lob_line_file *const file = &a->job.lines[i].files[f];
            if (file->is_output != outputs || !lob_line_file_is_on_disk(file) ||
                (!outputs && lob_recipe_job_maker(&a->job, 0, file->path) < i))
                continue;
            st = add_files(outputs ? &a->row->outputs : &a->row->inputs, i, file);
        }
    return st;
}

/*
 * What a line has read and no word of it names, such as the atlases of a table, joins the inputs.
 * It is looked at after it was read: where it may have been changed since the scan began, its time
 * is left out, and its bytes are compared the next time.
 */
static void add_unnamed(lob_batch_row *row, const cJSON *report, int line)
{
    const int64_t began_ns = ((int64_t)time(NULL) - 1 - (int64_t)row->total_s) * 1000000000;
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(report, "inputs")) {
        const cJSON *const path = cJSON_GetObjectItemCaseSensitive(one, "path");
        if (!cJSON_IsString(path)) continue;
        const lob_line_file read = {
            .path = path->valuestring,
            .option = lob_json_string(one, "role"),
            .content = cJSON_HasObjectItem(one, "dims") ? LOB_FILE_IMAGE : LOB_FILE_OTHER,
        };
        lob_about about;
        const int before = row->inputs.count;
        if (lists(&row->inputs, read.path) || lists(&row->outputs, read.path) ||
            !lob_batch_stat(&about, read.path) || add_files(&row->inputs, line, &read) != LOB_OK)
            continue;
        for (int i = before; i < row->inputs.count; i++)
            if (row->inputs.file[i].mtime_ns >= began_ns) row->inputs.file[i].mtime_ns = 0;
    }
}

/* The sums of bytes that a line has read or written. */
static void take_sums(lob_batch_files *files, const cJSON *list)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, list) {
        const cJSON *const of[] = {one, cJSON_GetObjectItemCaseSensitive(one, "second_file")};
        for (int i = 0; i < 2 * files->count; i++) {
            lob_batch_file *const file = &files->file[i / 2];
            const char *const sum = lob_json_string(of[i % 2], "sha256");
            if (strcmp(lob_json_string(of[i % 2], "path"), file->path) == 0 && sum[0])
                snprintf(file->sha256, sizeof file->sha256, "%s", sum);
        }
    }
}

/* The line that a report is of: one that had nothing to do has none. */
static int line_of(const lob_recipe_job *job, const cJSON *report)
{
    int i = 0;
    while (i < job->line_count - 1 &&
           strcmp(job->lines[i].place, lob_json_string(report, "place")) != 0)
        i++;
    return i;
}

/* Voxels of the first volume that a line has read; -1: it has none. */
static int64_t voxels_in(const cJSON *line)
{
    const cJSON *input, *side;
    cJSON_ArrayForEach(input, cJSON_GetObjectItemCaseSensitive(line, "inputs")) {
        const cJSON *const dims = cJSON_GetObjectItemCaseSensitive(input, "dims");
        double voxels = 1;
        cJSON_ArrayForEach(side, dims) voxels *= side->valuedouble;
        if (cJSON_GetArraySize(dims) == 3) return (int64_t)voxels;
    }
    return -1;
}

/* What the session and the reports of its lines say. */
static void fill_row(scan *a)
{
    static const char *const labels[] = {"labels", "components", "supervoxels",
                                         "maxima", "seeds",      NULL};
    static const char *const bytes[] = {"working_bytes", NULL};
    const lob_session *const s = &a->session;
    lob_batch_row *const row = a->row;
    const cJSON *line;
    double most = 0;
    const lob_seconds whole = lob_session_seconds(s);
    row->total_s += whole.total;
    row->stage_s[LOB_STAGE_OTHER] += whole.other;
    for (int i = 0; i < s->stages; i++) {
        int k = 0;
        while (k < LOB_STAGE_OTHER && strcmp(lob_batch_stage_text[k], s->stage[i].name) != 0) k++;
        if (k == LOB_STAGE_OTHER) k = LOB_STAGE_COMPUTE; /* smooth, level and the like */
        row->stage_s[k] += s->stage[i].seconds;
    }
    cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(s->results, "lines")) {
        if (row->voxels < 0) row->voxels = voxels_in(line);
        if (lob_json_result(line, labels) >= 0)
            row->labels = (int64_t)lob_json_result(line, labels);
        if (lob_json_result(line, bytes) > most) most = lob_json_result(line, bytes);
        add_unnamed(row, line, line_of(&a->job, line));
        take_sums(&row->inputs, cJSON_GetObjectItemCaseSensitive(line, "inputs"));
        take_sums(&row->outputs, cJSON_GetObjectItemCaseSensitive(line, "outputs"));
    }
    row->memory = s->most_held + (int64_t)most;
}

static void end(lob_session *s, lob_status status, const cJSON *report)
{
    scan *const a = scan_of(s->host);
    lob_batch_row *const row = a->row;
    (void)report; /* those of its lines say more */
    a->status = status;
    if (status != LOB_OK && status != LOB_EDIFFER) {
        give_up(a, status, s->failure);
    } else if (row->state == LOB_SCAN_STARTED) {
        row->state = LOB_SCAN_DONE;
        row->exit_code = lob_status_exit_code(status);
        add_named(a, true);
    }
    if (a->device) {
        free(row->device);
        row->device = strdup(a->device->name);
        lob_pool_leave(&a->batch->pool, a->device, a->worked_s);
        a->device = NULL;
    }
    fill_row(a);
}

/* ---- all of it ---- */

/* Tables for standard output get a file: all of them would come out at once. */
static lob_status give_tables_files(scan *a)
{
    bool changed = false, skip;
    for (int i = 0; i < a->job.line_count; i++) {
        lob_line *const l = &a->job.lines[i];
        char end[16];
        int f = 0;
        while (f < l->file_count && !(l->files[f].is_output && strcmp(l->files[f].path, "-") == 0))
            f++;
        if (f == l->file_count) continue;
        snprintf(end, sizeof end, ".%d.tsv", i + 1);
        char *const path = file_of(a->batch->folder, "tables", a->plan->name, end);
        changed = path && lob_make_folders(path) && lob_line_replace(l, "-", path);
        free(path);
        if (!changed) return lob_fail(&a->session.error, LOB_ENOMEM, "out of memory");
    }
    return changed ? lob_recipe_job_check_options(&a->job, &skip) : LOB_OK;
}

static lob_status prepare(scan *a, bool *skip)
{
    lob_session *const s = &a->session;
    const lob_batch *const b = a->batch;
    const char *const *const values = (const char *const *)a->plan->values;
    lob_session_describe(s, b->recipe_path, "RECIPE");
    cJSON *const object = cJSON_AddObjectToObject(s->results, "values");
    for (int v = 0; v < b->recipe.value_count; v++)
        cJSON_AddStringToObject(object, b->recipe.values[v].name, values[v]);
    LOB_TRY(lob_recipe_job_make(&a->job, s, &b->recipe, b->recipe_path, values));
    const lob_status st = lob_recipe_job_check_options(&a->job, skip);
    if (*skip) return LOB_OK;
    /* of an output that is there, or a store that is not, another scan of this batch tells more */
    if ((st == LOB_OK || st == LOB_EEXIST || st == LOB_ENOINPUT) && a->plan->conflict)
        return lob_fail(&s->error, LOB_EARG, "%s", a->plan->conflict);
    if (st != LOB_OK) return st;
    LOB_TRY(give_tables_files(a));
    if (add_named(a, false) != LOB_OK) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    return LOB_OK;
}

static void do_session(scan *a, const char *report, bool force)
{
    lob_batch_row *const row = a->row;
    bool skip = false;
    put_words(a, report, force);
    if (a->words.failed || !row->scan || !row->report || !lob_make_folders(report)) {
        give_up(a, LOB_ECREATE, "the folder of reports cannot be made");
        return;
    }
    a->host = (lob_host){.caller = "batch",
                         .place = a->plan->name,
                         .begin = begin,
                         .lend = lend,
                         .worked = worked,
                         .end = end};
    a->command = lob_command_run;
    a->command.host = &a->host;
    if (!lob_call_begin(&a->session, &a->command, a->words.count, a->words.word)) {
        give_up(a, LOB_EARG, a->session.failure);
        row->exit_code = a->session.exit_code;
        return;
    }
    lob_status st = prepare(a, &skip);
    if (skip) {
        char line[LOB_ERROR_LINE];
        free(row->message);
        row->message = strdup(lob_error_line(line, sizeof line, &a->session.error));
        row->state = LOB_SCAN_SKIPPED;
        row->exit_code = 0;
    }
    if (st == LOB_OK && !skip) st = lob_recipe_job_check_files(&a->job);
    if (st == LOB_OK && !skip && !a->again)
        st = lob_batch_log_add(&a->batch->log, row, &a->session.error);
    if (st == LOB_OK && !skip) st = lob_recipe_job_run(&a->job);
    lob_call_end(&a->session, st);
}

static bool make_key(char key[LOB_SHA256_TEXT], const lob_batch *b, const lob_plan_scan *plan)
{
    lob_text text = {NULL};
    for (int i = 0; i < b->recipe.line_count; i++) {
        int count = 0;
        char **const words =
            lob_recipe_fill(&count, &b->recipe, i, (const char *const *)plan->values);
        for (int w = 0; words && w < count; w++)
            lob_text_add(&text, words[w], strlen(words[w]) + 1); /* no word holds a NUL */
        lob_text_add(&text, "\n", 1);
        text.failed = text.failed || !words;
        free(words);
    }
    if (b->session->series) lob_text_print(&text, "--series=%s", b->session->series);
    const bool made = !text.failed && lob_sha256_of(key, text.bytes, text.size);
    lob_text_free(&text);
    return made;
}

lob_status lob_scan_do(lob_batch_row *row, lob_batch *b, const lob_plan_scan *plan, int threads,
                       int64_t max_memory, bool again)
{
    const lob_batch_row *const before = lob_batch_table_find(&b->log.before, plan->name);
    scan a = {.batch = b,
              .plan = plan,
              .threads = threads,
              .max_memory = max_memory,
              .row = row,
              .again = again};
    *row = (lob_batch_row){.state = LOB_SCAN_STARTED, .voxels = -1, .labels = -1, .memory = -1};
    row->exit_code = -1;
    const bool has_key = make_key(row->key, b, plan);
    if (has_key && before && before->state == LOB_SCAN_DONE && !plan->conflict && !again &&
        strcmp(before->key, row->key) == 0 && all_hold(&before->outputs, BY_SIZE) &&
        all_hold(&before->inputs, BY_BYTES))
        return LOB_OK;

    char *const report = file_of(b->folder, "reports", plan->name, ".json");
    row->scan = strdup(plan->name);
    row->message = strdup("");
    row->device = strdup("");
    row->report = strdup(report ? report + strlen(b->folder) + 1 : "");
    lob_time_text(row->started);
    /* Outputs that are there may be replaced with --force; where an earlier run of this batch had
     * begun with the scan, or has left them as they are; and where this is another attempt. */
    const bool ours =
        before && (before->state == LOB_SCAN_STARTED ||
                   (before->state == LOB_SCAN_DONE && all_hold(&before->outputs, UNTOUCHED)));
    if (has_key && report)
        do_session(&a, report, b->session->force || again || ours);
    else
        give_up(&a, LOB_ENOMEM, "out of memory");
    lob_recipe_job_free(&a.job);
    lob_arguments_free(&a.words);
    free(report);
    return a.status;
}
