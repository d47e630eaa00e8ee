/* lobule repeat: what a report says, done again. */
#include "io/file.h"
#include "io/io.h"
#include "io/platform.h"
#include "tools/commands/commands.h"
#include "tools/commands/repeat/moved_outputs.h"
#include "tools/commands/repeat/past_report.h"
#include "tools/platform/process.h"
#include "tools/report/report.h"
#include "tools/table/status_table.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/version.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *report, *scan, *from, *out;
    bool methods, dry_run, any_version;

    lob_past_report past;
    char *name;        /* of the report's file */
    lob_recipe recipe; /* what was done then */
    lob_recipe_job job;
    char *folder;    /* for the outputs, from the root on */
    bool was_made;   /* the folder is ours */
    lob_moves moves; /* outputs and their new names */
} repetition;

static lob_status check_report(lob_session *s, const repetition *r)
{
    const lob_past_report *const past = &r->past;
    const lob_command *const command = lob_find_command(past->command);
    lob_error *const error = &s->error;
    if (command && command->runs_others && strcmp(past->command, "run") != 0)
        return lob_fail_file(
            error, LOB_EDATA, r->name,
            "tells of %s, which is not repeated itself; give the report of a scan, "
            "or the one that was repeated",
            past->command);
    if (past->exit_code != 0 && past->exit_code != 1)
        return lob_fail_file(
            error, LOB_EDATA, r->name,
            "tells of a command that failed; repeat one that was done. It said: %s", past->message);
    if (!r->methods && strcmp(past->version, LOB_VERSION) != 0 && !r->any_version)
        return lob_fail_file(error, LOB_EDATA, r->name,
                             "was written by lobule %s, and this is " LOB_VERSION
                             "; take that version, or see what this one makes with --any-version",
                             past->version);
    if (!r->methods && past->output_count == 0)
        return lob_fail_file(
            error, LOB_EDATA, r->name,
            "names no output, so that there is nothing to compare; run `lobule %s` anew instead",
            past->command);
    return LOB_OK;
}

typedef char sums[2][LOB_SHA256_TEXT];

/* The SHA-256 of a path's files; empty where one cannot be read. */
static lob_status sum_files(sums out, const char *path, bool of_volume, bool reading)
{
    char *files[2];
    LOB_TRY(lob_path_files(files, path, of_volume, reading));
    for (int k = 0; k < 2; k++) {
        out[k][0] = '\0';
        if (files[k]) lob_sha256_end(lob_sha256_begin(files[k]), out[k], NULL);
    }
    lob_files_free(files);
    return LOB_OK;
}

static bool is_equal(const sums now, const lob_past_file *then)
{
    for (int k = 0; k < 2; k++)
        if (strcmp(now[k], then->sum[k] ? then->sum[k] : "") != 0) return false;
    return true;
}

/* ---- what was read ---- */

static lob_status check_input(lob_session *s, const repetition *r, const lob_past_file *file)
{
    sums now;
    LOB_TRY(lob_session_cancelled(s));
    if (!file->sum[0]) {
        lob_session_note(s, "%s: %s has no SHA-256 of it, so that it was not checked", file->path,
                         r->name);
        return LOB_OK;
    }
    if (sum_files(now, file->path, lob_is_volume_name(file->path), true) != LOB_OK)
        return lob_session_no_memory(s, file->path);
    if (!now[0][0])
        return lob_fail_file(&s->error, LOB_ENOINPUT, file->path,
                             "cannot be read, and %s says that it was; bring it back, or name the "
                             "folder that its name begins in with --from",
                             r->name);
    if (is_equal(now, file)) return LOB_OK;
    const int k = strcmp(now[0], file->sum[0]) == 0 ? 1 : 0;
    return lob_fail_file(&s->error, LOB_EDATA, file->path,
                         "has changed: its SHA-256 is %.16s..., and %s says %.16s...; bring back "
                         "the file that was read then",
                         now[k][0] ? now[k] : "unknown", r->name,
                         file->sum[k] ? file->sum[k] : "unknown");
}

/* The lines of a recipe stand in the report, so that its file is not needed. */
static lob_status check_inputs(lob_session *s, const repetition *r)
{
    const double start_s = lob_clock_s();
    for (int i = 0; i < r->past.input_count; i++)
        if (strcmp(r->past.inputs[i].role, "RECIPE") != 0)
            LOB_TRY(check_input(s, r, &r->past.inputs[i]));
    lob_session_stage(s, "checksum", start_s);
    return LOB_OK;
}

/* The new name of an output; NULL: it has none. */
static const lob_moved *new_name(const repetition *r, const char *path)
{
    for (int i = 0; i < r->moves.count; i++)
        if (strcmp(r->moves.files[i].from, path) == 0) return &r->moves.files[i];
    return NULL;
}

/* ---- what came out ---- */

/* Say of an output whether it is the same; *differ: it is not. */
static lob_status compare_output(lob_session *s, const repetition *r, const lob_past_file *then,
                                 bool *differ)
{
    const lob_moved *const moved = new_name(r, then->path);
    sums now = {"", ""};
    if (moved && sum_files(now, moved->to, moved->is_volume, false) != LOB_OK)
        return lob_session_no_memory(s, then->path);
    const bool known = then->sum[0] != NULL, equal = known && is_equal(now, then);
    const int k = known && strcmp(now[0], then->sum[0]) == 0 ? 1 : 0;
    *differ = known && !equal;
    if (!known)
        printf("unknown  %s: %s has no SHA-256 of it\n", then->path, r->name);
    else if (equal)
        printf("equal    %s\n", then->path);
    else if (!now[0][0])
        printf("missing  %s: was not made again\n", then->path);
    else
        printf("differs  %s: its SHA-256 is %.16s..., and was %.16s...\n", then->path, now[k],
               then->sum[k] ? then->sum[k] : "unknown");

    cJSON *const entry = lob_json_row(cJSON_GetObjectItemCaseSensitive(s->results, "compared"));
    cJSON_AddStringToObject(entry, "path", then->path);
    if (moved && r->out) cJSON_AddStringToObject(entry, "now", moved->to);
    cJSON_AddStringToObject(entry, "sha256", now[0]);
    if (known) cJSON_AddStringToObject(entry, "expected", then->sum[0]);
    cJSON_AddBoolToObject(entry, "equal", equal);
    return LOB_OK;
}

/* Say of each output whether it is the same. Returns LOB_OK, LOB_EDIFFER or LOB_ENOMEM. */
static lob_status compare_outputs(lob_session *s, const repetition *r)
{
    const double start_s = lob_clock_s();
    int differ = 0;
    cJSON_AddArrayToObject(s->results, "compared");
    for (int i = 0; i < r->past.output_count; i++) {
        bool differs = false;
        LOB_TRY(compare_output(s, r, &r->past.outputs[i], &differs));
        differ += differs;
    }
    cJSON_AddNumberToObject(s->results, "different", differ);
    lob_session_stage(s, "checksum", start_s);
    return differ > 0 ? LOB_EDIFFER : LOB_OK;
}

/* ---- where ---- */

/* A path from the root on, because relative ones are going to begin elsewhere; malloc'ed. */
static char *from_root(const char *path)
{
    char here[PATH_MAX];
    if (lob_is_from_root(path)) return strdup(path);
    return lob_working_folder(here, sizeof here) ? lob_printed("%s/%s", here, path) : NULL;
}

/* Make the folder for outputs: that of --out, or one that goes away. */
static lob_status make_folder(lob_session *s, repetition *r)
{
    const char *const out = r->out;
    if (!out) {
        const char *const root = lob_temporary_root();
        r->folder = lob_printed("%s/lobule-repeat-XXXXXX", root);
        if (!r->folder) return lob_session_no_memory(s, r->name);
        r->was_made = lob_make_own_folder(r->folder) == 0;
        return r->was_made ? LOB_OK
                           : lob_fail_file(&s->error, LOB_ECREATE, root,
                                           "no folder can be made in it (%s); set TMPDIR (Windows: "
                                           "TEMP) to one with room, or name one with --out",
                                           ERRNO_TEXT(errno));
    }
    r->folder = from_root(out);
    if (!r->folder) return lob_session_no_memory(s, r->name);
    r->was_made = lob_make_folder(r->folder) == 0;
    if (r->was_made || errno == EEXIST) return LOB_OK;
    return lob_fail_file(&s->error, LOB_ECREATE, out, "this folder cannot be made (%s)",
                         ERRNO_TEXT(errno));
}

/* Go to the folder in which the command ran. */
static lob_status go_there(lob_session *s, repetition *r)
{
    const char *const folder = r->from ? r->from : r->past.folder;
    if (s->report_path) {
        s->renamed = from_root(s->report_path);
        if (!s->renamed) return lob_session_no_memory(s, s->report_path);
        s->report_path = s->renamed;
    }
    if (!folder || lob_work_in(folder) == 0) return LOB_OK;
    return lob_fail_file(&s->error, LOB_ENOINPUT, folder,
                         "the folder in which %s was made is not there (%s); name the one in which "
                         "its files are now with --from",
                         r->name, ERRNO_TEXT(errno));
}

/* ---- the work ---- */

/* No output may stand in the way: the commands' own --force is not meant for these names. */
static lob_status check_places(lob_session *s, const lob_moves *moves)
{
    for (int i = 0; i < moves->count; i++) {
        const lob_moved *const m = &moves->files[i];
        LOB_TRY((m->is_volume ? lob_check_output : lob_output_check)(m->to, s->force, &s->error));
    }
    return LOB_OK;
}

/* Outputs tell by --provenance how they were made then, in the words of then. */
static lob_status take_provenance(lob_session *s, const repetition *r)
{
    s->past_provenance = cJSON_CreateObject();
    for (int i = 0; i < r->past.output_count; i++) {
        const lob_past_file *const then = &r->past.outputs[i];
        const lob_moved *const moved = then->provenance ? new_name(r, then->path) : NULL;
        if (moved && !cJSON_AddStringToObject(s->past_provenance, moved->to, then->provenance))
            return lob_session_no_memory(s, then->path);
    }
    return s->past_provenance ? LOB_OK : lob_session_no_memory(s, r->name);
}

static lob_status run_moved(lob_session *s, repetition *r)
{
    bool skip;
    LOB_TRY(lob_outputs_move(&r->moves, &r->job, r->folder));
    LOB_TRY(lob_moves_make_folders(&r->moves, &s->error));
    LOB_TRY(check_places(s, &r->moves));
    LOB_TRY(take_provenance(s, r));
    LOB_TRY(lob_recipe_job_check_options(&r->job, &skip));
    if (!skip) LOB_TRY(lob_recipe_job_check_files(&r->job));
    const lob_status st = lob_recipe_job_run(&r->job);
    return st == LOB_EDIFFER ? LOB_OK : st; /* of two volumes that a line compares */
}

static lob_status run_again(lob_session *s, repetition *r)
{
    const bool dry_run = r->dry_run;
    if (!dry_run) LOB_TRY(make_folder(s, r));
    LOB_TRY(go_there(s, r));
    LOB_TRY(check_inputs(s, r));
    const lob_status st = lob_recipe_job_make(&r->job, s, &r->recipe, r->name, NULL);
    LOB_TRY(st == LOB_EARG ? LOB_EDATA : st); /* the report's fault, not that of our arguments */
    if (dry_run) return lob_recipe_job_print(&r->job);
    LOB_TRY(run_moved(s, r));
    return compare_outputs(s, r);
}

static lob_status repeat(lob_session *s, repetition *r)
{
    LOB_TRY(lob_past_report_recipe(&r->recipe, &r->past, r->name, &s->error));
    const lob_status st = run_again(s, r);
    if ((st != LOB_OK && st != LOB_EDIFFER) || !r->out) lob_outputs_remove(s);
    lob_moves_remove_folders(&r->moves);
    if (r->was_made) lob_remove_folder(r->folder); /* stays where outputs are kept */
    return st;
}

/* ---- which report ---- */

/* The report of a scan, where a batch is named by its folder or by its status table. */
static lob_status find_scan(lob_session *s, char **name, const repetition *r)
{
    lob_error *const error = &s->error;
    lob_batch_table table;
    lob_status st = LOB_OK;
    LOB_TRY(lob_batch_table_read(&table, r->report, "", error));
    const lob_batch_row *const row = lob_batch_table_find(&table, r->scan);
    if (!row)
        st = lob_fail(error, LOB_EARG, "--scan %s: %s has no row of this name", r->scan, r->report);
    else if (row->state != LOB_SCAN_DONE)
        st = lob_fail_file(error, LOB_EDATA, r->report,
                           "%s is not done but %s; repeat one that was done", r->scan,
                           lob_scan_state_text[row->state]);
    else if (!row->report[0])
        st = lob_fail_file(error, LOB_EDATA, r->report, "names no report of %s", r->scan);
    else if (!(*name = lob_batch_report_of(r->report, row)))
        st = lob_session_no_memory(s, r->report);
    lob_batch_table_free(&table);
    return st;
}

static lob_status check(lob_session *s, void *user)
{
    const repetition *const r = user;
    if (r->methods && (r->dry_run || r->out || r->from))
        return lob_fail(&s->error, LOB_EARG,
                        "--methods only tells; leave --out, --from and --dry-run out");
    return LOB_OK;
}

static lob_status read_report(lob_session *s, repetition *r)
{
    if (r->scan)
        LOB_TRY(find_scan(s, &r->name, r));
    else if (!(r->name = strdup(r->report)))
        return lob_session_no_memory(s, r->report);
    LOB_TRY(lob_past_report_read(&r->past, r->name, &s->error));
    lob_session_describe(s, r->scan ? r->name : r->report, "REPORT");
    LOB_TRY(check_report(s, r));
    if (!r->methods) return repeat(s, r);
    lob_methods_print(&r->past);
    return LOB_OK;
}

static lob_status work(lob_session *s, void *user)
{
    const lob_status st = read_report(s, user);
    lob_sums_end(s); /* they refer to the name */
    return st;
}

static void release(void *user)
{
    repetition *const r = user;
    lob_recipe_job_free(&r->job);
    lob_recipe_free(&r->recipe);
    lob_past_report_free(&r->past);
    lob_moves_free(&r->moves);
    LOB_FREE(r->name, r->folder);
}

static void options(lob_rows *to, void *user)
{
    repetition *const r = user;
    const lob_option rows[] = {
        OPERAND_INPUT("REPORT", &r->report, LOB_FILE_OTHER,
                      "report that --report has written; with --scan, the folder of a batch or its "
                      "status.tsv",
                      .required = true),
        OPT_TEXT("scan", &r->scan, "NAME", "repeat this scan of a batch"),
        OPT_TEXT("out", &r->out, "DIR",
                 "keep the new outputs in this folder; left out: they are compared and removed"),
        OPT_TEXT("from", &r->from, "DIR",
                 "folder in which relative names of the report begin; left out: the one in which "
                 "the command ran"),
        OPT_FLAG("any-version", &r->any_version,
                 "repeat what another version of lobule has done, too"),
        OPT_FLAG("methods", &r->methods,
                 "print a paragraph for a paper that says what was done, and do nothing else"),
        OPT_FLAG("dry-run", &r->dry_run,
                 "check the inputs, print the commands as they were, and do nothing else"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_repeat = {
    .name = "repeat",
    .summary = "do again what a report says, and compare",
    .description =
        "Runs the command of a report, or all lines of a recipe's, with the files that were read "
        "then: each must have the SHA-256 of the report. What was written then is left alone: the "
        "new outputs go to a folder that is removed in the end, or to --out. Every output gets a "
        "line: equal, or differs, by its SHA-256; if one differs, the exit code is 1.\n"
        "The recipe's own file is not needed, because the report holds its lines, values filled "
        "in. What --provenance wrote into outputs is taken from the report, and is compared with "
        "all else. Device and number of threads may be others: they change no byte. Another "
        "version of lobule may, because label volumes name the version in their header.\n"
        "With --scan the report is that of a scan in the status table of a batch.\n"
        "--methods prints what was done in words, with the version, the options that were given "
        "and those that decide, and references.",
    .examples = "lobule repeat report.json\n"
                "lobule repeat report.json --out again\n"
                "lobule repeat study --scan sub-03\n"
                "lobule repeat report.json --methods",
    .compares = true,
    LOB_COMMAND_PARTS(repetition, options, check, work, release),
    .runs_others = true,
};
