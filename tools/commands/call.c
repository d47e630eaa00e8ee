/* What all commands have in common: everything but their options, check and work. */
#include "tools/commands/commands.h"

#include "io/platform.h"
#include "tools/commands/bids/bids_output.h"
#include "tools/inout/ahead.h"
#include "tools/inout/outputs.h"
#include "tools/options/manual.h"
#include "tools/platform/process.h"
#include "tools/report/report.h"
#include "tools/report/session_sums.h"
#include "tools/session/host.h"
#include "tools/session/ranks.h"
#include "tools/session/session_device.h"
#include "tools/session/session_print.h"
#include "tools/session/watcher.h"
#include "volumes/bytes.h"
#include "volumes/version.h"

#include <stdlib.h>
#include <time.h>

static const lob_caller caller = {lob_find_command, lob_nearest_command, lob_call, lob_call_check};

static const lob_watcher *const watchers[] = {&lob_report_watcher, &lob_bids_watcher, NULL};

/* ---- options ---- */

/* Is the backend of --device part of this program? lob_session_device opens the device. */
static lob_status check_device(lob_session *s)
{
    char known[64] = "";
    s->backend = lob_backends[0];
    snprintf(s->device_why, sizeof s->device_why, "no other is needed");
    if (s->device.index == LOB_ALL_DEVICES && !s->command->many)
        return lob_fail(&s->error, LOB_EARG,
                        "--device %s: several devices at once are for lobule batch; name one, as "
                        "cuda:0, or auto",
                        strcmp(s->device.backend, "all") == 0 ? "all" : "cuda:all");
    if (strcmp(s->device.backend, "auto") == 0 || strcmp(s->device.backend, "all") == 0 ||
        lob_backend_named(s->device.backend))
        return LOB_OK;
    for (const lob_backend *const *b = lob_backends; *b; b++) {
        const size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "", (*b)->name);
    }
    return lob_fail(&s->error, LOB_EDEVICE,
                    "--device %s: not available, this program was built for %s; try --device cpu",
                    s->device.backend, known);
}

static void fill_common(lob_session *s)
{
    const lob_option rows[] = {
        OPT_DEVICE("device", &s->device, "where to compute"),
        OPT_INT("threads", &s->threads, "N", 1, LOB_THREADS_MOST,
                "CPU threads; left out: all cores that this process may use"),
        OPT_BYTES("max-memory", &s->max_memory,
                  "memory that volumes and work may take, as 4GiB; left out: what is free"),
        OPT_TEXT(
            "series", &s->series, "N|UID",
            "which series to take of a folder of DICOM that holds several: its number or UID; N:K "
            "takes the K-th of several volumes that it makes"),
        OPT_FLAG("force", &s->force, "replace outputs that exist"),
        OPT_FLAG("skip-existing", &s->skip_existing,
                 "do nothing and end with 0 if the outputs exist"),
        OPT_FLAG("quiet", &s->quiet, "say nothing but errors", .letter = 'q'),
        OPT_FLAG("verbose", &s->verbose, "say what is done and how long it takes", .letter = 'v'),
        OPT_OUTPUT(
            "report", &s->report_path, LOB_FILE_OTHER,
            "write what was done as JSON: inputs, options, results, times; an older report is "
            "replaced"),
        OPT_FLAG("provenance", &s->provenance,
                 "write into NIfTI outputs how they were made: version, command line, inputs with "
                 "SHA-256"),
        OPT_FLAG("help", &s->help, "print this help", .letter = 'h'),
        OPT_FLAG("version", &s->version, "print the version", .letter = 'V'),
    };
    _Static_assert(LOB_COUNT(rows) < LOB_COUNT(s->common), "room for the common options");
    memcpy(s->common, rows, sizeof rows);
    size_t count = LOB_COUNT(rows);
    for (const lob_watcher *const *w = s->watchers; *w; w++)
        if ((*w)->option && (*w)->option(&s->common[count], s)) count++;
    s->table[1] = (lob_option_table){"Common options", s->common, count};
}

/* The library's hints in words of the command line; NULL: its text has said it all. */
static const char *const advice[LOB_HINTS] = {
    [LOB_HINT_USE_CPU] = "use --device cpu",
    [LOB_HINT_BUILD_GPU] =
        ("use --device cpu, or, if its compute capability is 8.0 or later, build "
         "with its CMAKE_CUDA_ARCHITECTURES"),
    [LOB_HINT_LESS_MEMORY] = "use --max-memory, or --device cpu",
    [LOB_HINT_MORE_MEMORY] = "--max-memory overrides this",
    [LOB_HINT_RAISE_MEMORY] = "raise --max-memory",
    [LOB_HINT_REPLACE] = "use --force to replace it, or --skip-existing to leave it",
    [LOB_HINT_CHOOSE_FRAME] = "choose one with --frame N",
    [LOB_HINT_CHOOSE_SET] = "`lobule info FILE` lists them with their types",
    [LOB_HINT_SAVE_FRAME] = "take one out with `lobule convert --frame N`",
    [LOB_HINT_GIVE_SIZE] = "give --size",
    [LOB_HINT_NO_SURFACES] = "compare values with --values, or labels with --no-surfaces",
    [LOB_HINT_TRUST_SEEDS] = "--trust-seeds takes them as they are",
    [LOB_HINT_CHOOSE_SERIES] = "choose one with --series NUMBER or UID",
    [LOB_HINT_CHOOSE_VOLUME] = "choose one with --series NUMBER:K",
    [LOB_HINT_LIKE] = ("write .nii.gz or .seg.nrrd here, and then `lobule convert LABELS OUT.dcm "
                       "--like FOLDER`"),
    [LOB_HINT_COARSER] = "resample the image, or give a --size",
    [LOB_HINT_RESAMPLE] = ("`lobule resample LABELS --like SCAN --labels -o OUT` does that, for "
                           "thin lines with --method strokes"),
};

/*
 * Put the error's parts together, with what to try. The message of a lack of memory says what was
 * left of --max-memory; what the user gave is added.
 */
static void put_failure(lob_session *s, lob_status st)
{
    char line[LOB_ERROR_LINE], given[LOB_BYTES_TEXT], held[LOB_BYTES_TEXT], limit[100] = "";
    const char *const try = advice[s->error.hint];
    if (st == LOB_ENOMEM && s->max_memory > 0 && !s->command->runs_others) {
        lob_bytes_text(given, s->max_memory);
        if (s->held == 0) /* a second attempt has released it */
            snprintf(limit, sizeof limit, " (--max-memory is %s)", given);
        else
            snprintf(limit, sizeof limit, " (--max-memory is %s, of which %s are in use)", given,
                     lob_bytes_text(held, s->held));
    }
    lob_error_line(line, sizeof line, &s->error);
    snprintf(s->failure, sizeof s->failure, "%s%s%s%s", line, try ? "; " : "", try ? try : "",
             limit);
}

static void print_version(FILE *to, const lob_manual *manual)
{
    (void)manual;
    fputs("lobule " LOB_VERSION "\n", to);
}

/* What a command can print about itself, by the option that asks for it: that of the common ones,
 * those by which the build makes man pages and completion, and those of 3D Slicer and Boutiques. */
static const struct {
    const char *ask;
    lob_manual_fn *print;
} about[] = {
    {"help",          lob_print_help     },
    {"version",       print_version      },
    {"man",           lob_print_man      },
    {"xml",           lob_print_xml      },
    {"boutiques",     lob_print_boutiques},
    {"complete-bash", lob_print_bash     },
    {"complete-zsh",  lob_print_zsh      },
    {"complete-fish", lob_print_fish     },
};

/* Which arguments are no options; NULL: each may be one. */
static const bool *values_of(const lob_session *s)
{
    return s->host ? s->host->values : NULL;
}

/* The first of these that the arguments ask for, or NULL. They are looked at before any value is
 * parsed, so that the variables still hold the defaults. */
static lob_manual_fn *asked_for(const lob_session *s)
{
    for (size_t i = 0; i < LOB_COUNT(about); i++)
        if (lob_asks_for(s->table, 2, s->argv, values_of(s), s->argc, about[i].ask))
            return about[i].print;
    return NULL;
}

static lob_status print_about(lob_session *s, lob_manual_fn *print)
{
    const lob_command *c = s->command;
    const lob_manual manual = {c->name,  c->summary, c->description, c->examples,
                               s->table, 2,          c->compares,    c->registers};
    if (lob_ranks_speak()) print(stdout, &manual);
    return lob_stdout_end(&s->error);
}

static lob_status parse(lob_session *s)
{
    LOB_TRY(lob_parse(s->table, 2, s->argv, values_of(s), s->argc, &s->error));
    s->argc += s->line_count + (s->line != NULL); /* reports have all */
    if (s->host && s->host->parsed) LOB_TRY(s->host->parsed(s));
    if (s->report_path && strcmp(s->report_path, "-") == 0)
        return lob_fail(&s->error, LOB_EARG,
                        "--report -: a report goes to a file, not to standard output; name one, as "
                        "report.json");
    for (const lob_watcher *const *w = s->watchers; *w; w++)
        if ((*w)->begin) LOB_TRY((*w)->begin(s));
    return LOB_OK;
}

/*
 * Threads of the session. A recipe's lines run in one thread, whose threads need not be counted
 * again for each.
 */
static int threads_of(const lob_session *s)
{
    static _Thread_local int asked = -1, had;
    if (asked == s->threads) return had;
    asked = s->threads;
    had = lob_threads(s->threads);
    /* Ranks that the launcher has not bound to cores share those of the machine. */
    if (s->ranks && s->threads < 1 && had == lob_process_cores()) had /= lob_ranks_here();
    if (had < 1) had = 1;
    return had;
}

/* Rank 0 alone speaks and writes. */
static void hush(lob_session *s)
{
    if (lob_team_rank(s->ranks) == 0) return;
    s->quiet = true;
    s->verbose = false;
    s->report_path = NULL;
}

/* Before anything is read: are all ranks ready, and have all the same to do? */
static lob_status agree_to_begin(lob_session *s, lob_status status, bool *skip)
{
    int64_t skips = *skip;
    status = lob_team_agree(s->ranks, status, &s->error);
    if (status == LOB_OK) status = lob_team_reduce(s->ranks, &skips, 1, LOB_TEAM_MIN, &s->error);
    *skip = skips != 0;
    return status;
}

/* Of all ranks: as any of them ends, so do all. */
static lob_status agree_to_end(lob_session *s, lob_status status)
{
    if (s->idle) status = LOB_OK;
    if (s->team && !s->idle) status = lob_team_agree(s->team, status, &s->error);
    return lob_team_agree(s->ranks, status, &s->error);
}

/* Parse and check; *skip: --skip-existing finds nothing to do. */
static lob_status prepare(lob_session *s, bool *skip)
{
    if (!s->host) LOB_TRY(lob_ranks_begin(s->command->shares, &s->error));
    if (!s->host) s->ranks = lob_ranks();
    /* Not before: a task that waits for one that has gone can be ended. */
    if (!s->host) lob_session_catch_signals();
    LOB_TRY(parse(s));
    hush(s);
    LOB_TRY(lob_outputs_check(s, skip));
    if (*skip) return LOB_OK;
    LOB_TRY(check_device(s));

    s->context = (lob_context){.threads = threads_of(s),
                               .max_memory = s->max_memory,
                               .progress = lob_session_progress,
                               .user = s};
    s->start_traffic = lob_device_traffic_here();
    const char *const how = getenv("LOBULE_PROGRESS");
    const lob_host *const outermost = lob_session_outermost(s);
    s->tags = how && strcmp(how, "tags") == 0;
    s->bar = !s->quiet && !s->tags && !outermost && lob_is_terminal(stderr);
    if (!s->host || !s->host->outer) s->converted = lob_converted_begin();
    s->inputs = cJSON_CreateArray();
    s->outputs = cJSON_CreateArray();
    s->notes = cJSON_CreateArray();
    s->results = cJSON_CreateObject();
    if (!s->inputs || !s->outputs || !s->notes || !s->results)
        return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    if (s->threads > s->context.threads && !outermost)
        lob_session_note(s, "%d of %d threads can be made here", s->context.threads, s->threads);
    if (s->host && s->host->held) lob_session_hold(s, s->host->held(s));
    return LOB_OK;
}

/* ---- begin ---- */

static void release(lob_session *s)
{
    if (!s->device_is_lent) lob_device_close(s->context.device);
    lob_ahead_drop(s);
    lob_watch_forget(s);
    lob_converted_end(s->converted);
    cJSON_Delete(s->inputs);
    cJSON_Delete(s->outputs);
    cJSON_Delete(s->past_provenance);
    cJSON_Delete(s->notes);
    cJSON_Delete(s->results);
    for (int i = 0; i < s->outputs_written; i++) {
        lob_files_free(s->written[i].files);
        free(s->written[i].path);
    }
    free(s->written);
    free(s->renamed);
    free(s->settings);
}

/* The command's own rows. */
static lob_status fill_own(lob_session *s)
{
    const lob_command *const c = s->command;
    int end = 0;
    while (c->takes_line && end < s->argc && strcmp(s->argv[end], "--") != 0) end++;
    if (c->takes_line && end < s->argc) {
        s->line = s->argv + end + 1;
        s->line_count = s->argc - end - 1;
        s->argc = end;
    }
    s->settings = calloc(1, c->settings_bytes + 1);
    if (!s->settings) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    c->options(&s->own, s->settings);
    s->table[0] = (lob_option_table){"Options", s->own.row, (size_t)s->own.count};
    if (c->only_prints && lob_asks_for(s->table, 1, s->argv, values_of(s), s->argc, c->only_prints))
        for (int i = 0; i < s->own.count; i++)
            if (s->own.row[i].kind == LOB_OPT_OUTPUT) s->own.row[i].kind = LOB_OPT_TEXT;
    return LOB_OK;
}

static void start(lob_session *s, const lob_command *command, int argc, char **argv)
{
    const time_t now = time(NULL);
    struct tm utc;
    *s = (lob_session){.command = command,
                       .host = command->host,
                       .caller = &caller,
                       .watchers = watchers,
                       .argc = argc,
                       .argv = argv,
                       .device = {.backend = "auto"},
                       .extra_role = "",
                       .doing = "working",
                       .start_s = lob_clock_s()};
    if (gmtime_r(&now, &utc)) strftime(s->started, sizeof s->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Print what is asked for, or parse; silent: a line that is only checked. st: of what went before.
 * Returns false when the command is over. */
static bool begin(lob_session *s, lob_status st, bool silent)
{
    bool skip = false;
    lob_manual_fn *print = NULL;
    if (st == LOB_OK) {
        fill_common(s);
        if (s->host && s->host->begin) s->host->begin(s);
        print = asked_for(s);
        st = print && s->host
                 ? lob_fail(&s->error, LOB_EARG, "it only prints about itself; leave the line out")
             : print ? print_about(s, print)
                     : prepare(s, &skip);
    }
    if (!print) st = agree_to_begin(s, st, &skip);
    if (st == LOB_OK && !print && !skip) return true;

    put_failure(s, st);
    if (s->host && (st != LOB_OK || !s->host->outer)) silent = true;
    if (!silent && (st != LOB_OK || (skip && !s->quiet))) lob_session_print_line(s, s->failure);
    if (s->host && s->host->outer) s->host->end(s, st, NULL);
    release(s);
    s->status = st;
    s->exit_code = lob_status_exit_code(st);
    return false;
}

bool lob_call_begin(lob_session *s, const lob_command *command, int argc, char **argv)
{
    start(s, command, argc, argv);
    return begin(s, fill_own(s), false);
}

/* ---- end ---- */

/* What a command that has succeeded says. */
static void print_success(lob_session *s)
{
    const bool is_line = s->host && s->host->outer;
    const lob_seconds seconds = lob_session_seconds(s);
    if (!is_line) lob_session_print_notes(s);
    for (int i = 0; i < s->stages; i++)
        lob_session_say(s, "%-8s %8.3f s", s->stage[i].name, s->stage[i].seconds);
    lob_session_say(s, "%-8s %8.3f s", "other", seconds.other);
    lob_session_say(s, "%-8s %8.3f s", "total", seconds.total);
    if (!is_line) lob_session_print_finished(s, seconds.total);
}

/* The end of a line of a recipe that was only checked. */
static lob_status end_check(lob_session *s, lob_status status)
{
    put_failure(s, status);
    if (status != LOB_OK) s->host->end(s, status, NULL);
    release(s);
    return status;
}

static bool has_failed(lob_status status)
{
    return status != LOB_OK && status != LOB_EDIFFER;
}

/* What comes after work that has succeeded, and may fail too. */
static lob_status finish(lob_session *s, lob_status status)
{
    for (const lob_watcher *const *w = s->watchers; *w; w++)
        if ((*w)->end) LOB_TRY((*w)->end(s));
    LOB_TRY(lob_stdout_end(&s->error));
    return status;
}

/* Make and write the report; of a command that has succeeded, its failure is the command's. */
static lob_status end_report(lob_session *s, lob_status status, cJSON **report)
{
    lob_error error = {.text = ""};
    const bool failed = has_failed(status);
    *report = lob_report_wanted(s) ? lob_report_make(s, status, failed ? s->failure : "") : NULL;
    const bool is_new = s->report_path && !lob_is_there(s->report_path);
    const lob_status st = lob_report_write(s, *report, &error);
    if (failed) return status;
    if (st == LOB_OK) {
        if (s->report_path && s->host && s->host->reported) s->host->reported(s, is_new);
        return status;
    }
    s->error = error;
    put_failure(s, st);
    lob_outputs_remove(s);
    cJSON_Delete(*report); /* it refers to the outputs that are forgotten now */
    *report = NULL;
    return st;
}

int lob_session_end(lob_session *s, lob_status status)
{
    cJSON *report;
    status = agree_to_end(s, lob_device_settle(s, status));
    if (!has_failed(status)) status = finish(s, status);
    if (has_failed(status)) {
        if (s->error.text[0] == '\0') lob_fail(&s->error, status, "%s", lob_status_text(status));
        put_failure(s, status);
        lob_outputs_remove(s);
    }
    status = lob_team_agree(s->ranks, end_report(s, status, &report), &s->error);
    if (!has_failed(status))
        print_success(s);
    else if (!s->host)
        lob_session_print_line(s, s->failure);
    lob_session_clear_bar(s);
    const bool hosted = s->host != NULL;
    if (hosted && s->provenance && !has_failed(status))
        lob_sums_end(s); /* of inputs, for the outputs of later lines */
    if (hosted) s->host->end(s, status, report);
    cJSON_Delete(report);
    release(s);
    if (status == LOB_ECANCEL && !hosted && !lob_ranks()) lob_session_raise();
    return lob_status_exit_code(status);
}

/* ---- all of it ---- */

static lob_status check(lob_session *s)
{
    return s->command->check ? s->command->check(s, s->settings) : LOB_OK;
}

static lob_status free_what_is_left(lob_session *s, lob_status status)
{
    if (s->command->release) s->command->release(s->settings);
    return status;
}

lob_status lob_call_check(const lob_command *command, int argc, char **argv)
{
    lob_session s;
    start(&s, command, argc, argv);
    if (!begin(&s, fill_own(&s), true)) return s.status;
    return end_check(&s, free_what_is_left(&s, check(&s)));
}

static lob_status work(lob_session *s)
{
    LOB_TRY(check(s));
    if (s->command->voxel_ns > 0) LOB_TRY(lob_session_device_begin(s, lob_session_voxels(s)));
    return s->command->work(s, s->settings);
}

int lob_call(const lob_command *command, int argc, char **argv)
{
    lob_session s;
    if (!lob_call_begin(&s, command, argc, argv)) return s.exit_code;
    const lob_status st = free_what_is_left(&s, work(&s));
    void *const settings = s.settings;
    s.settings = NULL;
    int code = lob_session_end(&s, st);
    if (command->then) code = command->then(settings, code);
    free(settings);
    return code;
}
