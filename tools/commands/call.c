/* Calling a command: what comes before and after its check and work. */
#include "tools/commands/commands.h"

#include "io/platform.h"
#include "tools/commands/bids/bids_path.h"
#include "tools/platform/process.h"
#include "tools/report/report.h"
#include "tools/session/host.h"
#include "tools/session/ranks.h"
#include "volumes/free.h"

#include <stdlib.h>

static lob_status call_check(const lob_command *command, int argc, char **argv);
static const lob_caller caller = {lob_find_command, lob_nearest_command, lob_call, call_check};

/* ---- begin ---- */

static lob_status parse(lob_session *s)
{
    LOB_TRY(lob_parse(s->table, 2, s->argv, lob_session_values(s), s->argc, &s->error));
    s->argc += s->line_count + (s->line != NULL); /* reports have all */
    if (s->host && s->host->parsed) LOB_TRY(s->host->parsed(s));
    if (s->report_path && strcmp(s->report_path, "-") == 0)
        return lob_fail(&s->error, LOB_EARG,
                        "--report -: a report goes to a file, not to standard output; name one, as "
                        "report.json");
    return s->namer->begin(s);
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

/* What work needs of the session: the context, how progress is shown, lists for the report. */
static lob_status make_ready(lob_session *s)
{
    s->context = (lob_context){.threads = lob_session_threads(s),
                               .max_memory = lob_session_memory(s),
                               .progress = lob_session_progress,
                               .user = s};
    s->start_traffic = lob_device_traffic_here();
    const char *const how = getenv("LOBULE_PROGRESS");
    const lob_host *const outermost = lob_session_outermost(s);
    s->tags = lob_team_rank(s->ranks) == 0 && how && strcmp(how, "tags") == 0;
    s->bar = !s->quiet && !s->tags && !outermost && lob_is_terminal(stderr);
    if (!s->host || !s->host->outer) s->converted = lob_converted_begin();
    s->inputs = cJSON_CreateArray();
    s->outputs = cJSON_CreateArray();
    s->notes = cJSON_CreateArray();
    s->results = cJSON_CreateObject();
    if (!s->inputs || !s->outputs || !s->notes || !s->results)
        return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    const int due = lob_session_threads_due(s);
    if (s->threads > 0 && due > s->context.threads && !outermost)
        lob_session_note(s, "%d of %d threads can be made here", s->context.threads, due);
    if (s->host && s->host->held) lob_session_hold(s, s->host->held(s));
    return LOB_OK;
}

/* Join the ranks, parse and check, make ready; *skip: --skip-existing finds nothing to do. */
static lob_status prepare(lob_session *s, bool *skip)
{
    if (!s->host) {
        const lob_status st = lob_ranks_begin(s->command->shares, &s->error);
        if (st != LOB_OK && s->command->alone) lob_error_add(&s->error, "; %s", s->command->alone);
        LOB_TRY(st);
    }
    if (!s->host) s->ranks = lob_ranks();
    /* Not before: a task that waits for one that has gone can be ended. */
    if (!s->host) lob_session_catch_signals();
    LOB_TRY(parse(s));
    if (lob_team_rank(s->ranks) > 0) { /* rank 0 alone speaks and writes */
        s->quiet = true;
        s->verbose = false;
        s->report_path = NULL;
    }
    LOB_TRY(lob_outputs_check(s, skip));
    if (*skip) return LOB_OK;
    LOB_TRY(lob_device_check(s));
    return make_ready(s);
}

static void release(lob_session *s)
{
    if (!s->device_is_lent) lob_device_close(s->context.device);
    lob_ahead_drop(s);
    s->watcher->forget(s);
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
    LOB_FREE(s->written, s->renamed, s->settings);
}

static void start(lob_session *s, const lob_command *command, int argc, char **argv)
{
    *s = (lob_session){.command = command,
                       .host = command->host,
                       .caller = &caller,
                       .watcher = &lob_report_watcher,
                       .namer = &lob_bids_namer,
                       .argc = argc,
                       .argv = argv,
                       .device = {.backend = "auto"},
                       .extra_role = "",
                       .doing = "working",
                       .start_s = lob_clock_s()};
    lob_time_text(s->started);
}

/* Print what is asked for, or parse; silent: a line that is only checked. st: of what went before.
 * Returns false when the command is over. */
static bool begin(lob_session *s, lob_status st, bool silent)
{
    bool skip = false;
    lob_manual_fn *print = NULL;
    if (st == LOB_OK) {
        lob_options_common(s);
        if (s->host && s->host->begin) s->host->begin(s);
        print = lob_options_asked_for(s);
        st = print && s->host
                 ? lob_fail(&s->error, LOB_EARG, "it only prints about itself; leave the line out")
             : print ? lob_options_print_about(s, print)
                     : prepare(s, &skip);
    }
    if (!print) st = agree_to_begin(s, st, &skip);
    if (st == LOB_OK && !print && !skip) return true;

    lob_session_put_failure(s, st);
    if (s->host && (st != LOB_OK || !s->host->outer)) silent = true;
    if (!silent && (st != LOB_OK || (skip && !s->quiet))) lob_session_print_line(s, s->failure);
    if (s->host && s->host->outer) s->host->end(s, st, NULL);
    release(s);
    s->status = st;
    s->exit_code = lob_status_exit_code(st);
    if (!s->host && !s->command->shares) s->exit_code = lob_ranks_refuse(s->exit_code);
    return false;
}

bool lob_call_begin(lob_session *s, const lob_command *command, int argc, char **argv)
{
    start(s, command, argc, argv);
    return begin(s, lob_options_own(s), false);
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

static bool has_failed(lob_status status)
{
    return status != LOB_OK && status != LOB_EDIFFER;
}

/* What comes after work that has succeeded, and may fail too. */
static lob_status finish(lob_session *s, lob_status status)
{
    LOB_TRY(s->namer->end(s));
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
    lob_session_put_failure(s, st);
    lob_outputs_remove(s);
    cJSON_Delete(*report); /* it refers to the outputs that are forgotten now */
    *report = NULL;
    return st;
}

int lob_call_end(lob_session *s, lob_status status)
{
    cJSON *report;
    status = lob_device_settle(s, status);
    if (s->idle) status = LOB_OK; /* as any rank ends, so do all */
    if (s->team && !s->idle) status = lob_team_agree(s->team, status, &s->error);
    status = lob_team_agree(s->ranks, status, &s->error);
    if (!has_failed(status)) status = finish(s, status);
    if (has_failed(status)) {
        if (s->error.text[0] == '\0') lob_fail(&s->error, status, "%s", lob_status_text(status));
        lob_session_put_failure(s, status);
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

static lob_status call_check(const lob_command *command, int argc, char **argv)
{
    lob_session s;
    start(&s, command, argc, argv);
    if (!begin(&s, lob_options_own(&s), true)) return s.status;
    const lob_status st = free_what_is_left(&s, check(&s));
    lob_session_put_failure(&s, st);
    if (st != LOB_OK) s.host->end(&s, st, NULL);
    release(&s);
    return st;
}

static lob_status work(lob_session *s)
{
    LOB_TRY(check(s));
    if (s->command->voxel_ns > 0) LOB_TRY(lob_session_device_begin(s, lob_session_voxels(s)));
    return s->command->work(s, s->settings);
}

static int call_in_this_thread(const lob_command *command, int argc, char **argv)
{
    lob_session s;
    if (!lob_call_begin(&s, command, argc, argv)) return s.exit_code;
    const lob_status st = free_what_is_left(&s, work(&s));
    void *const settings = s.settings;
    s.settings = NULL;
    int code = lob_call_end(&s, st);
    if (command->then) code = command->then(settings, code);
    free(settings);
    return code;
}

/* ---- in threads that are ranks ---- */

/* As many as LOBULE_RANKS says, or --device names GPUs; one for a plan of these. What is misspelt
 * is said by the call. */
static int ranks_asked(const lob_command *command, int argc, char **argv)
{
    lob_session s;
    int ranks = lob_ranks_asked();
    if (!command->shares || command->host || lob_ranks_launcher()) return 1;
    start(&s, command, argc, argv);
    if (ranks < 1 && command->spreads && lob_options_own(&s) == LOB_OK) {
        lob_options_common(&s);
        if (lob_parse(s.table, 2, s.argv, lob_session_values(&s), s.argc, &s.error) == LOB_OK)
            ranks = s.only_prints ? 1 : lob_session_devices(&s);
    }
    free(s.settings);
    return ranks;
}

typedef struct {
    const lob_command *command;
    int argc;
    char **argv;
    int code; /* of rank 0, which that of all is */
} rank_call;

static void call_as_rank(int rank, void *user)
{
    rank_call *const c = user;
    const int code = call_in_this_thread(c->command, c->argc, c->argv);
    if (rank == 0) c->code = code;
}

int lob_call(const lob_command *command, int argc, char **argv)
{
    rank_call c = {command, argc, argv, lob_status_exit_code(LOB_ENOMEM)};
    const int ranks = ranks_asked(command, argc, argv);
    if (ranks < 2) return call_in_this_thread(command, argc, argv);
    if (lob_ranks_threads(ranks, call_as_rank, &c) != LOB_OK)
        fprintf(stderr, "lobule %s: out of memory\n", command->name);
    /* not before all ranks have ended: it ends the process */
    if (c.code == lob_status_exit_code(LOB_ECANCEL)) lob_session_raise();
    return c.code;
}
