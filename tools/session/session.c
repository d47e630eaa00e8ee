/* The session that every command runs in. */
#include "tools/session/session.h"

#include "tools/commands/bids/bids_output.h"
#include "tools/inout/stdout.h"
#include "tools/options/manual.h"
#include "tools/report/report.h"
#include "tools/report/session_sums.h"
#include "tools/session/session_ahead.h"
#include "tools/session/session_device.h"
#include "tools/session/session_line.h"
#include "tools/session/session_outputs.h"
#include "tools/session/session_part.h"
#include "volumes/bytes.h"
#include "volumes/version.h"

#include <assert.h>
#include <omp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The signal that cancels the command, or 0; a signal handler can reach globals only. */
static volatile sig_atomic_t stopped_by;

static void on_stop(int number)
{
    stopped_by = number;
}

/*
 * SIGINT, SIGTERM and SIGHUP cancel, and a second one kills because the handler is reset,
 * unless the parent process ignores them. A file size limit becomes an error of write,
 * which cleans up.
 */
static void catch_signals(void)
{
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < LOB_COUNT(stops); i++) {
        struct sigaction old, action = {.sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND};
        if (sigaction(stops[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(stops[i], &action, NULL);
    }
    signal(SIGXFSZ, SIG_IGN);
}

static void clear_bar(lob_session *s)
{
    if (s->bar_shown) fputs("\r\033[K", stderr);
    s->bar_shown = false;
}

/* One line on stderr, whatever the text holds. */
static void print_line(lob_session *s, const char *text)
{
    lob_error clean; /* lob_fail leaves no control characters: text of a file may hold any */
    lob_fail(&clean, LOB_OK, "%s", text);
    clear_bar(s);
    const lob_part *const part = lob_session_part(s);
    if (part)
        fprintf(stderr, "lobule batch: %s: %s: %s\n", part->scan, s->command->name, clean.text);
    else if (s->command->line)
        fprintf(stderr, "lobule %s: %s: %s: %s\n", s->command->line->run->command->name,
                s->command->line->place, s->command->name, clean.text);
    else
        fprintf(stderr, "lobule %s: %s\n", s->command->name, clean.text);
}

static int on_progress(void *user, double done)
{
    enum { CELLS = 30 };
    lob_session *s = user;
    if (stopped_by) return 1;
    const double now = lob_clock_s();
    if ((!s->bar && !s->tags) || now - s->bar_time_s < 0.1) return 0;
    s->bar_time_s = now;
    if (s->tags) {
        const lob_line *const line = s->command->line; /* of a recipe, whose share of it is told */
        const double all = line ? (line->index + done) / line->count : done;
        printf("<filter-progress>%.3f</filter-progress>\n", all);
        fflush(stdout);
        return 0;
    }
    s->bar_shown = true;

    char cells[CELLS + 1];
    for (int i = 0; i < CELLS; i++) cells[i] = i < done * CELLS ? '#' : '.';
    cells[CELLS] = '\0';
    fputs("\rlobule ", stderr);
    if (s->command->line)
        fprintf(stderr, "%s %d/%d ", s->command->line->run->command->name,
                s->command->line->index + 1, s->command->line->count);
    fprintf(stderr, "%s: %s [%s] %3d %%", s->command->name, s->doing, cells, (int)(done * 100));
    fflush(stderr);
    return 0;
}

lob_status lob_session_cancelled(lob_session *s)
{
    if (lob_session_checking(s)) return lob_session_checked(s);
    return stopped_by ? lob_fail(&s->error, LOB_ECANCEL, "cancelled") : LOB_OK;
}

lob_status lob_session_name(lob_session *s, lob_status st, const char *path, const char *other)
{
    const lob_error reason = s->error;
    if (st == LOB_OK || st == LOB_ECANCEL) return st;
    return lob_fail_hint(&s->error, st, reason.hint, "%s%s%s: %.800s", path, other ? " with " : "",
                         other ? other : "", reason.text);
}

lob_status lob_session_no_memory(lob_session *s, const char *path)
{
    return lob_fail(&s->error, LOB_ENOMEM, "%s: out of memory", path);
}

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
        OPT_INT("threads", &s->threads, "N", 1, 1024,
                "CPU threads; left out: all cores that this process may use"),
        OPT_BYTES("max-memory", &s->max_memory,
                  "memory that volumes and work may take, as 4GiB; left out: what is free"),
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
    const size_t own = lob_bids_can(&s->table[0]);
    if (own)
        s->common[LOB_COUNT(rows)] = (lob_option)OPT_FLAG(
            "bids", &s->bids,
            "write a .json and a .tsv beside the labels, as BIDS has them for derivatives; where "
            "the output is a folder, the labels are named in it after the image");
    s->table[1] = (lob_option_table){"Common options", s->common, LOB_COUNT(rows) + own};
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
    [LOB_HINT_COARSER] = "resample the image, or give a --size",
    [LOB_HINT_RESAMPLE] = ("`lobule resample LABELS --like SCAN --labels -o OUT` does that, for "
                           "thin lines with --method strokes"),
};

/* Append the words of an error's hint to its text. */
static void put_advice(lob_error *error)
{
    const lob_error reason = *error;
    if (advice[reason.hint])
        lob_fail(error, LOB_OK, "%.900s; %s", reason.text, advice[reason.hint]);
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

/* The first of these that the arguments ask for, or NULL. They are looked at before any value is
 * parsed, so that the variables still hold the defaults. */
static lob_manual_fn *asked_for(const lob_session *s)
{
    for (size_t i = 0; i < LOB_COUNT(about); i++)
        if (lob_asks_for(s->table, 2, s->argv, s->argc, about[i].ask)) return about[i].print;
    return NULL;
}

static lob_status print_about(lob_session *s, lob_manual_fn *print)
{
    const lob_command *c = s->command;
    const lob_manual manual = {c->name,  c->summary, c->description, c->examples,
                               s->table, 2,          c->compares};
    print(stdout, &manual);
    return lob_stdout_end(&s->error);
}

/* Parse and check; *skip: --skip-existing finds nothing to do. */
static lob_status prepare(lob_session *s, bool *skip)
{
    lob_status st = lob_parse(s->table, 2, s->argv, s->argc, &s->error);
    if (st == LOB_OK && s->command->line) st = lob_line_begin(s);
    if (st == LOB_OK && s->report_path && strcmp(s->report_path, "-") == 0)
        st = lob_fail(&s->error, LOB_EARG,
                      "--report -: a report goes to a file, not to standard output; name one, as "
                      "report.json");
    if (st == LOB_OK && s->bids) st = lob_bids_begin(s);
    if (st == LOB_OK) st = lob_outputs_check(s, skip);
    if (st == LOB_OK && *skip) return st;
    if (st == LOB_OK) st = check_device(s);
    if (st != LOB_OK) return st;

    const int threads = s->threads > 0 ? s->threads : omp_get_max_threads();
    s->context = (lob_context){.threads = threads < 1 ? 1 : threads,
                               .max_memory = s->max_memory,
                               .progress = on_progress,
                               .user = s};
    s->start_traffic = lob_device_traffic_here();
    const char *const how = getenv("LOBULE_PROGRESS");
    s->tags = how && strcmp(how, "tags") == 0;
    s->bar = !s->quiet && !s->tags && !lob_session_part(s) && isatty(STDERR_FILENO);
    s->inputs = cJSON_CreateArray();
    s->outputs = cJSON_CreateArray();
    s->notes = cJSON_CreateArray();
    s->results = cJSON_CreateObject();
    if (!s->inputs || !s->outputs || !s->notes || !s->results)
        return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    lob_session_give(s, -lob_session_stored_bytes(s));
    return LOB_OK;
}

static void release(lob_session *s)
{
    if (!s->device_is_lent) lob_device_close(s->context.device);
    lob_ahead_drop(s);
    lob_sums_drop(s);
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
    free(s->bids_path);
}

bool lob_session_begin(lob_session *s, const lob_command *command, const lob_option *rows,
                       size_t count, int argc, char **argv)
{
    *s = (lob_session){.command = command,
                       .argc = argc,
                       .argv = argv,
                       .device = {.backend = "auto"},
                       .doing = "working",
                       .start_s = lob_clock_s()};
    s->table[0] = (lob_option_table){"Options", rows, count};
    fill_common(s);
    if (command->line)
        lob_line_inherit(s);
    else if (command->part)
        lob_part_begin(s);
    else
        catch_signals();

    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(s->started, sizeof s->started, "%Y-%m-%dT%H:%M:%SZ", &utc);

    lob_manual_fn *const print = asked_for(s);
    bool skip = false;
    const lob_status st =
        print && command->line
            ? lob_fail(&s->error, LOB_EARG, "it only prints about itself; leave the line out")
        : print ? print_about(s, print)
                : prepare(s, &skip);
    if (st == LOB_OK && !print && !skip) return true;

    put_advice(&s->error);
    const bool silent =
        command->line ? st != LOB_OK || command->line->checking : command->part != NULL;
    if (!silent && (st != LOB_OK || (skip && !s->quiet))) print_line(s, s->error.text);
    if (command->line) lob_line_end(s, st, NULL);
    release(s);
    s->exit_code = lob_status_exit_code(st);
    return false;
}

static void print_notes(lob_session *s, const cJSON *notes)
{
    const cJSON *note;
    cJSON_ArrayForEach(note, notes)
    {
        lob_error line;
        lob_fail(&line, LOB_OK, "note: %s", note->valuestring);
        print_line(s, line.text);
    }
}

/*
 * Notes are printed when the work is done, because a command that fails prints one line only: first
 * the warnings of the inputs, then the command's notes.
 */
static void print_all_notes(lob_session *s)
{
    const cJSON *input;
    if (s->quiet) return;
    cJSON_ArrayForEach(input, s->inputs)
    {
        print_notes(s, cJSON_GetObjectItemCaseSensitive(input, "warnings"));
    }
    print_notes(s, s->notes);
}

/* The message says what was left of --max-memory; add what the user gave. */
static void name_limit(lob_session *s)
{
    char given[LOB_BYTES_TEXT], held[LOB_BYTES_TEXT];
    const lob_error reason = s->error;
    if (s->max_memory == 0) return;
    lob_bytes_text(given, s->max_memory);
    if (s->held == 0) /* a second attempt has released it */
        lob_fail(&s->error, LOB_ENOMEM, "%.900s (--max-memory is %s)", reason.text, given);
    else
        lob_fail(&s->error, LOB_ENOMEM, "%.900s (--max-memory is %s, of which %s are in use)",
                 reason.text, given, lob_bytes_text(held, s->held));
}

/* "a", "a and b", "a, b and c": the name of the i-th of n. */
static void add_name(char *text, size_t size, const char *name, int i, int n)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", i == 0 ? "" : i == n - 1 ? " and " : ", ", name);
}

/* What a person at a terminal wants to know in the end: what there is now, and how long it took. */
static void print_finished(lob_session *s, double seconds)
{
    char names[700] = "", made[100] = "";
    const int outputs = cJSON_GetArraySize(s->outputs), n = outputs + (s->report_path != NULL);
    if (!s->bar || outputs == 0) return;
    for (int i = 0; i < outputs; i++)
        add_name(names, sizeof names,
                 cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(s->outputs, i), "path")
                     ->valuestring,
                 i, n);
    if (s->report_path) add_name(names, sizeof names, s->report_path, outputs, n);

    const cJSON *const result =
        s->command->result ? cJSON_GetObjectItemCaseSensitive(s->results, s->command->result)
                           : NULL;
    if (result)
        snprintf(made, sizeof made, " (%s: %.0f)", s->command->result_text, result->valuedouble);
    lob_error line;
    lob_fail(&line, LOB_OK, "wrote %s%s in %.*f s", names, made, seconds < 10 ? 2 : 0, seconds);
    print_line(s, line.text);
}

/* What a command that has succeeded says. */
static void print_success(lob_session *s)
{
    const lob_seconds seconds = lob_session_seconds(s);
    if (!s->command->line) print_all_notes(s);
    for (int i = 0; i < s->stages; i++)
        lob_session_say(s, "%-8s %8.3f s", s->stage[i].name, s->stage[i].seconds);
    lob_session_say(s, "%-8s %8.3f s", "other", seconds.other);
    lob_session_say(s, "%-8s %8.3f s", "total", seconds.total);
    if (!s->command->line) print_finished(s, seconds.total);
    clear_bar(s);
}

/* The end of a line of a recipe that was only checked. */
static int end_check(lob_session *s, lob_status status)
{
    if (s->checked) status = LOB_OK;
    put_advice(&s->error);
    lob_line_end(s, status, NULL);
    release(s);
    return lob_status_exit_code(status);
}

int lob_session_end(lob_session *s, lob_status status)
{
    if (lob_session_checking(s)) return end_check(s, status);
    status = lob_device_settle(s, status);
    bool failed = status != LOB_OK && status != LOB_EDIFFER;
    if (!failed && s->bids) {
        const lob_status st = lob_bids_end(s);
        if (st != LOB_OK) status = st, failed = true;
    }
    if (!failed && lob_stdout_end(&s->error) != LOB_OK) status = LOB_EIO, failed = true;
    if (failed && s->error.text[0] == '\0')
        lob_fail(&s->error, status, "%s", lob_status_text(status));
    put_advice(&s->error);
    if (status == LOB_ENOMEM && !s->command->runs_others) name_limit(s);
    if (failed) lob_outputs_remove(s);

    lob_error report_error = {.text = ""};
    cJSON *report =
        lob_report_wanted(s) ? lob_report_make(s, status, failed ? s->error.text : "") : NULL;
    const bool is_new = s->report_path && access(s->report_path, F_OK) != 0;
    const lob_status reported = lob_report_write(s, report, &report_error);
    if (!failed && reported != LOB_OK) {
        status = reported;
        s->error = report_error;
        failed = true;
        lob_outputs_remove(s);
        cJSON_Delete(report); /* it refers to the outputs that are forgotten now */
        report = NULL;
    }
    if (!failed) {
        lob_line_note_report(s, is_new);
        print_success(s);
    } else if (!s->command->line && !s->command->part) {
        print_line(s, s->error.text);
    }
    clear_bar(s);
    if (s->command->part) s->command->part->ended(s->command->part, s, status, report);
    if (s->command->line) lob_line_end(s, status, report ? cJSON_Duplicate(report, true) : NULL);
    cJSON_Delete(report);
    release(s);
    if (status == LOB_ECANCEL && stopped_by && !s->command->line && !s->command->part) {
        signal(stopped_by, SIG_DFL);
        raise(stopped_by);
    }
    return lob_status_exit_code(status);
}

void lob_session_add(lob_session *s, const char *name, double seconds)
{
    int i = 0;
    while (i < s->stages && strcmp(s->stage[i].name, name) != 0) i++;
    assert(i < LOB_SESSION_STAGES);
    if (i == s->stages) s->stage[s->stages++].name = name;
    s->stage[i].seconds += seconds;
}

void lob_session_stage(lob_session *s, const char *name, double start_s)
{
    lob_session_add(s, name, lob_clock_s() - start_s);
}

void lob_session_compute(lob_session *s, const char *doing)
{
    lob_session_doing(s, doing);
    s->traffic = lob_device_traffic_here();
    s->compute_s = lob_clock_s();
}

void lob_session_computed(lob_session *s)
{
    const lob_device_traffic now = lob_device_traffic_here(), before = s->traffic;
    const double upload = now.upload_s - before.upload_s;
    const double download = now.download_s - before.download_s;
    const double wait = now.wait_s - before.wait_s;
    const double elapsed = lob_clock_s() - s->compute_s;
    lob_part *const part = lob_session_part(s);
    if (part) part->worked(part, s->context.device ? now.turns_s - before.turns_s : elapsed);
    if (part && s->context.device) lob_session_add(s, "wait", wait);
    if (s->context.device) lob_session_add(s, "upload", upload);
    lob_session_add(s, "compute", elapsed - upload - download - wait);
    if (s->context.device) lob_session_add(s, "download", download);
}

void lob_session_doing(lob_session *s, const char *doing)
{
    clear_bar(s);
    s->doing = doing;
}

int64_t lob_voxel_bytes(const lob_volume *volume)
{
    return lob_product(lob_voxels(volume), volume->channels,
                       (int64_t)lob_type_of(volume->type)->bytes, 1);
}

/* What is left of --max-memory is what the next stage may take; 0 would stand for no limit. */
static void hold(lob_session *s, int64_t bytes)
{
    s->held += bytes;
    if (s->held > s->most_held) s->most_held = s->held;
    if (s->max_memory > 0)
        s->context.max_memory = s->held < s->max_memory ? s->max_memory - s->held : 1;
}

lob_status lob_session_take(lob_session *s, int64_t bytes, const char *name)
{
    const int64_t left = s->held < s->max_memory ? s->max_memory - s->held : 0;
    if (lob_session_checking(s)) return lob_session_checked(s);
    if (bytes < 0)
        return lob_fail(&s->error, LOB_ENOMEM, "%s: needs more memory than can be addressed", name);
    if (s->max_memory > 0 && bytes > left) {
        char need[LOB_BYTES_TEXT], have[LOB_BYTES_TEXT];
        lob_bytes_texts(need, bytes, have, left);
        return lob_fail(&s->error, LOB_ENOMEM,
                        "%s: needs %s of memory, and --max-memory leaves %s for it", name, need,
                        have);
    }
    hold(s, bytes);
    return LOB_OK;
}

void lob_session_give(lob_session *s, int64_t bytes)
{
    hold(s, -bytes);
}

void lob_session_note(lob_session *s, const char *format, ...)
{
    lob_error line;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line.text, sizeof line.text, format, arguments);
    va_end(arguments);
    cJSON_AddItemToArray(s->notes, cJSON_CreateString(line.text));
}

void lob_session_say(lob_session *s, const char *format, ...)
{
    if (!s->verbose || s->quiet) return;
    lob_error line;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line.text, sizeof line.text, format, arguments);
    va_end(arguments);
    print_line(s, line.text);
}
