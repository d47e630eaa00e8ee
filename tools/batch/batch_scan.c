/* A scan of a batch from its values to its row. */
#include "tools/batch/batch_scan.h"

#include "tools/batch/batch_row.h"
#include "tools/commands/commands.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- who writes and who reads a file ---- */

static int64_t number_of(const lob_scan *scan)
{
    return scan->plan - scan->batch->plan.scans;
}

static lob_status claim_file(lob_scan *scan, lob_file_use *use, const char *path, lob_error *error)
{
    const lob_plan_scan *const scans = scan->batch->plan.scans;
    const int64_t number = number_of(scan), reader = lob_file_use_reader(use, number);
    if (use->writer >= 0 && use->writer != number)
        return lob_fail(error, LOB_EARG,
                        "%s: scan %s writes it; each scan needs outputs of its own", path,
                        scans[use->writer].name);
    if (reader >= 0)
        return lob_fail(error, LOB_EARG,
                        "%s: scan %s reads it; name another output, or make what other scans "
                        "read in a batch before this one",
                        path, scans[reader].name);
    use->writer = number;
    return LOB_OK;
}

/* Claim an output. Returns LOB_OK, LOB_EARG (another scan writes it, or reads it) or LOB_ENOMEM. */
static lob_status claim_output(lob_scan *scan, const char *path, lob_error *error)
{
    lob_file_use *use[2];
    if (lob_file_uses_of(use, &scan->batch->files, path, true, false) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    for (int k = 0; k < 2 && use[k]; k++) LOB_TRY(claim_file(scan, use[k], path, error));
    return LOB_OK;
}

static lob_status claim_outputs(lob_scan *scan)
{
    for (int i = 0; i < scan->job.line_count; i++)
        for (int f = 0; f < scan->job.lines[i].line.file_count; f++) {
            const lob_line_file *const file = &scan->job.lines[i].line.files[f];
            if (file->is_output && lob_line_file_is_on_disk(file))
                LOB_TRY(claim_output(scan, file->path, &scan->session.error));
        }
    return LOB_OK;
}

/* Note what a word of the recipe, which names an input from some byte on, is in all scans. */
static lob_status note_readers_of(lob_batch *batch, int line, int word, size_t begin)
{
    lob_status st = LOB_OK;
    for (int64_t i = 0; i < batch->plan.count && st == LOB_OK; i++) {
        int count = 0;
        lob_file_use *use[2] = {NULL, NULL};
        const char *const *const values = (const char *const *)batch->plan.scans[i].values;
        char **const words = lob_recipe_fill(&count, &batch->plan.recipe, line, values);
        if (!words)
            st = LOB_ENOMEM;
        else if (begin < strlen(words[word]))
            st = lob_file_uses_of(use, &batch->files, words[word] + begin, true, true);
        for (int k = 0; k < 2; k++)
            if (use[k]) lob_file_use_read(use[k], i);
        free(words);
    }
    return st;
}

/* Note what all scans read that their lines do not make: words that name inputs in this scan, whose
 * options have been checked, do so in all of them. */
static lob_status note_readers(const lob_scan *scan)
{
    lob_batch *const batch = scan->batch;
    if (batch->knows_readers) return LOB_OK;
    for (int i = 0; i < scan->job.line_count; i++) {
        const lob_job_line *const l = &scan->job.lines[i];
        for (int f = 0; f < l->line.file_count; f++) {
            const lob_line_file *const file = &l->line.files[f];
            int w = 0;
            if (file->is_output || !lob_line_file_is_on_disk(file) ||
                lob_batch_is_made(&scan->job, i, file->path))
                continue;
            while (w < l->word_count &&
                   (file->typed < l->words[w] || file->typed > l->words[w] + strlen(l->words[w])))
                w++;
            if (w < l->word_count)
                LOB_TRY(note_readers_of(batch, i, w, (size_t)(file->typed - l->words[w])));
        }
    }
    batch->knows_readers = true;
    return LOB_OK;
}

/* ---- its row ---- */

static lob_scan_turn give_up(lob_scan *scan, lob_status status, const char *message)
{
    free(scan->row.message);
    scan->row.message = strdup(message);
    scan->row.exit_code = lob_status_exit_code(status);
    scan->row.state = status == LOB_ECANCEL ? LOB_SCAN_CANCELLED : LOB_SCAN_FAILED;
    scan->status = status;
    return LOB_TURN_OVER;
}

static void begin_row(lob_scan *scan, const char *report)
{
    scan->row = (lob_batch_row){.state = LOB_SCAN_STARTED,
                                .exit_code = -1,
                                .voxels = -1,
                                .labels = -1,
                                .memory = -1,
                                .scan = strdup(scan->plan->name),
                                .message = strdup(""),
                                .device = strdup(""),
                                .report = strdup(report)};
    lob_time_text(scan->row.started);
}

/*
 * The arguments of `lobule run` that do the same: the recipe, its values, the options that hold for
 * all scans. An array that ends in NULL, in one block with its words.
 */
static char **make_words(const lob_scan *scan, const char *report, bool force, int *count)
{
    const lob_recipe *const recipe = &scan->batch->plan.recipe;
    const lob_session *const s = scan->batch->session;
    const lob_device_choice *const device = &s->device;
    const bool named = device->index != LOB_ALL_DEVICES && strcmp(device->backend, "auto") != 0;
    lob_text text = {NULL};
    lob_text_print(&text, "%s%c", scan->batch->plan.recipe_path, 0);
    for (int v = 0; v < recipe->value_count; v++)
        lob_text_print(&text, "%s=%s%c", recipe->values[v].name, scan->plan->values[v], 0);
    lob_text_print(&text, "--report=%s%c", report, 0);
    if (named && device->index > 0)
        lob_text_print(&text, "--device=%s:%d%c", device->backend, device->index, 0);
    else if (named)
        lob_text_print(&text, "--device=%s%c", device->backend, 0);
    if (s->series) lob_text_print(&text, "--series=%s%c", s->series, 0);
    if (s->provenance) lob_text_print(&text, "--provenance%c", 0);
    if (force || s->skip_existing)
        lob_text_print(&text, "%s%c", force ? "--force" : "--skip-existing", 0);
    const size_t most = (size_t)recipe->value_count + 7;
    char **const words = text.failed ? NULL : malloc(most * sizeof *words + text.size);
    *count = 0;
    if (words) {
        char *to = memcpy(words + most, text.bytes, text.size);
        for (const char *const end = to + text.size; to < end; to += strlen(to) + 1)
            words[(*count)++] = to;
        words[*count] = NULL;
    }
    lob_text_free(&text);
    return words;
}

/* ---- its session ---- */

/*
 * The session of `lobule run` is one of several at a time in the process: it prints nothing but
 * what --verbose asks for, takes threads and memory from its part of them, and computes on a device
 * that it shares. The host is the first member of its scan.
 */
static lob_scan *scan_of(const lob_host *host)
{
    return (lob_scan *)host;
}

static void begin(lob_session *s)
{
    const lob_scan *const scan = scan_of(s->host);
    s->threads = scan->threads;
    s->max_memory = scan->max_memory;
    s->verbose = scan->batch->session->verbose;
    s->quiet = !s->verbose;
}

static bool lend(lob_session *s)
{
    lob_scan *const scan = scan_of(s->host);
    lob_pool_device *const device = scan->device = lob_pool_choose(&scan->batch->pool);
    s->backend = device->backend;
    s->context.device = device->device;
    snprintf(s->device_why, sizeof s->device_why, "%s", device->why);
    return true;
}

static void worked(lob_host *host, double seconds)
{
    lob_scan *const scan = scan_of(host);
    if (scan->device) lob_pool_add(&scan->batch->pool, scan->device, seconds);
}

static void end(lob_session *s, lob_status status, const cJSON *report)
{
    lob_scan *const scan = scan_of(s->host);
    const bool failed = status != LOB_OK && status != LOB_EDIFFER;
    scan->status = status;
    lob_batch_row *const row = &scan->row;
    if (!failed && row->state == LOB_SCAN_STARTED) {
        row->state = LOB_SCAN_DONE;
        row->exit_code = lob_status_exit_code(status);
        lob_batch_files_of(&row->outputs, &scan->job, true);
    }
    if (failed) give_up(scan, status, s->failure);
    if (scan->device) {
        free(row->device);
        row->device = strdup(scan->device->name);
        lob_pool_leave(&scan->batch->pool, scan->device);
        scan->device = NULL;
    }
    lob_batch_row_fill(row, s, report);
}

/* ---- beginning ---- */

static bool prints_table(const lob_line *line)
{
    for (int f = 0; f < line->file_count; f++)
        if (line->files[f].is_output && strcmp(line->files[f].path, "-") == 0) return true;
    return false;
}

/* Tables for standard output get a file: all of them would come out at once. */
static lob_status give_tables_files(lob_scan *scan)
{
    bool changed = false, skip;
    for (int i = 0; i < scan->job.line_count; i++) {
        lob_job_line *const l = &scan->job.lines[i];
        char end[16];
        if (!prints_table(&l->line)) continue;
        snprintf(end, sizeof end, ".%d.tsv", i + 1);
        char *const path = lob_batch_file_of(scan->batch->folder, "tables", scan->plan->name, end);
        changed = path && lob_make_folders(path) && lob_job_line_replace(l, "-", path);
        free(path);
        if (!changed) return lob_fail(&scan->session.error, LOB_ENOMEM, "out of memory");
    }
    return changed ? lob_recipe_job_check_options(&scan->job, &skip) : LOB_OK;
}

/* The folders of its outputs, as far as they are missing; one that cannot be made is told where the
 * output is. */
static void make_output_folders(const lob_scan *scan)
{
    for (int i = 0; i < scan->job.line_count; i++)
        for (int f = 0; f < scan->job.lines[i].line.file_count; f++) {
            const lob_line_file *const file = &scan->job.lines[i].line.files[f];
            if (file->is_output && lob_line_file_is_on_disk(file)) lob_make_folders(file->path);
        }
}

static lob_status prepare(lob_scan *scan, bool *skip)
{
    lob_session *const s = &scan->session;
    const lob_batch_plan *const plan = &scan->batch->plan;
    const char *const *const values = (const char *const *)scan->plan->values;
    lob_session_describe(s, plan->recipe_path, "RECIPE");
    cJSON *const object = cJSON_AddObjectToObject(s->results, "values");
    for (int v = 0; v < plan->recipe.value_count; v++)
        cJSON_AddStringToObject(object, plan->recipe.values[v].name, values[v]);
    LOB_TRY(lob_recipe_job_make(&scan->job, s, &plan->recipe, plan->recipe_path, values));
    lob_status st = lob_recipe_job_check_options(&scan->job, skip);
    if (st == LOB_ECREATE) {
        make_output_folders(scan);
        st = lob_recipe_job_check_options(&scan->job, skip);
    }
    if (*skip) return LOB_OK;
    /* of an output that is there, it tells more that another scan of this batch has made it */
    if (st == LOB_EEXIST) LOB_TRY(claim_outputs(scan));
    if (st != LOB_OK) return st;
    if (note_readers(scan) != LOB_OK) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    LOB_TRY(give_tables_files(scan));
    LOB_TRY(claim_outputs(scan));
    if (lob_batch_files_of(&scan->row.inputs, &scan->job, false) != LOB_OK)
        return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    return LOB_OK;
}

/*
 * May outputs that are there be replaced? With --force; where an earlier run of this batch had
 * begun with the scan, or has left them as they are; and where this is another attempt.
 */
static bool may_replace(const lob_scan *scan, const lob_batch_row *before)
{
    if (scan->batch->session->force || scan->retried) return true;
    if (!before) return false;
    return before->state == LOB_SCAN_STARTED ||
           (before->state == LOB_SCAN_DONE && lob_batch_outputs_hold(before));
}

static lob_scan_turn begin_session(lob_scan *scan, const char *report, bool force)
{
    int count = 0;
    bool skip = false;
    scan->words = make_words(scan, report, force, &count);
    if (!scan->words || !scan->row.scan || !scan->row.report || !lob_make_folders(report))
        return give_up(scan, LOB_ECREATE, "the folder of reports cannot be made");
    scan->host = (lob_host){.caller = "batch",
                            .place = scan->plan->name,
                            .begin = begin,
                            .lend = lend,
                            .worked = worked,
                            .end = end};
    scan->command = lob_command_run;
    scan->command.host = &scan->host;
    if (!lob_call_begin(&scan->session, &scan->command, count, scan->words)) {
        give_up(scan, LOB_EARG, scan->session.failure);
        scan->row.exit_code = scan->session.exit_code;
        return LOB_TURN_OVER;
    }
    const lob_status st = prepare(scan, &skip);
    if (st == LOB_OK && !skip) return LOB_TURN_RUN;
    if (skip) {
        scan->row.state = LOB_SCAN_SKIPPED;
        scan->row.exit_code = 0;
        free(scan->row.message);
        char line[LOB_ERROR_LINE];
        scan->row.message = strdup(lob_error_line(line, sizeof line, &scan->session.error));
    }
    lob_session_end(&scan->session, st);
    return LOB_TURN_OVER;
}

static lob_status check_usage_of(const lob_batch *batch, const lob_plan_scan *scan)
{
    const char *const *const values = (const char *const *)scan->values;
    lob_recipe_job job;
    const char *const name = batch->plan.is_typed ? NULL : batch->plan.recipe_path;
    lob_status st = lob_recipe_job_make(&job, batch->session, &batch->plan.recipe, name, values);
    if (st == LOB_OK) st = lob_recipe_job_check_usage(&job);
    lob_recipe_job_free(&job);
    return st;
}

lob_status lob_batch_check_usage(const lob_batch *batch)
{
    lob_session *const s = batch->session;
    const lob_device_choice device = s->device;
    lob_error first = {.text = ""};
    lob_status st = LOB_EARG;
    s->device = (lob_device_choice){.backend = "cpu"}; /* a line cannot have all of them */
    for (int64_t i = 0; i < batch->plan.count && st == LOB_EARG; i++) {
        st = check_usage_of(batch, &batch->plan.scans[i]);
        if (i == 0) first = s->error;
    }
    s->device = device;
    s->device_wanted = false;
    s->error = st == LOB_EARG ? first : (lob_error){.text = ""};
    return st == LOB_EARG && batch->plan.count > 0 ? st : LOB_OK;
}

static const lob_batch_row *row_before(const lob_scan *scan)
{
    return lob_batch_table_find(&scan->batch->log.before, scan->plan->name);
}

static bool make_key(char key[LOB_SHA256_TEXT], const lob_scan *scan)
{
    return lob_batch_key(key, &scan->batch->plan.recipe, (const char *const *)scan->plan->values,
                         scan->batch->session->series);
}

void lob_scan_look(lob_scan *scan)
{
    char key[LOB_SHA256_TEXT];
    const lob_batch_row *const before = row_before(scan);
    scan->holds = before && make_key(key, scan) && lob_batch_row_holds(before, key);
}

/* May a scan that holds stay as it is: does no other write its outputs now? */
static bool claim_kept(lob_scan *scan, const lob_batch_row *before)
{
    for (int i = 0; i < before->outputs.count; i++)
        if (claim_output(scan, before->outputs.file[i].path, NULL) != LOB_OK) return false;
    return true;
}

lob_scan_turn lob_scan_begin(lob_scan *scan)
{
    lob_batch *const batch = scan->batch;
    char *const report = lob_batch_file_of(batch->folder, "reports", scan->plan->name, ".json");
    begin_row(scan, report ? report + strlen(batch->folder) + 1 : "");
    if (!report || !make_key(scan->row.key, scan)) {
        free(report);
        return give_up(scan, LOB_ENOMEM, "out of memory");
    }
    const lob_batch_row *const before = row_before(scan);
    lob_scan_turn turn = LOB_TURN_KEEP;
    if (!scan->holds || !claim_kept(scan, before))
        turn = begin_session(scan, report, may_replace(scan, before));
    free(report);
    return turn;
}

/* ---- running ---- */

void lob_scan_run(lob_scan *scan)
{
    lob_session *const s = &scan->session;
    lob_status st = lob_recipe_job_check_files(&scan->job);
    if (st == LOB_OK && !scan->retried)
        st = lob_batch_log_add(&scan->batch->log, &scan->row, &s->error);
    if (st == LOB_OK) st = lob_recipe_job_run(&scan->job);
    lob_session_end(s, st);
}

void lob_scan_free(lob_scan *scan)
{
    lob_recipe_job_free(&scan->job);
    free(scan->words);
    lob_batch_row_free(&scan->row);
}
