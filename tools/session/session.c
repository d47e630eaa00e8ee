/* What every command may ask of its session. */
#include "tools/session/session.h"

#include "tools/platform/process.h"
#include "tools/session/host.h"
#include "tools/session/ranks.h"
#include "tools/session/watcher.h"
#include "tools/text/path.h"
#include "volumes/voxel_memory.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

/* The signal that cancels the command, or 0; a signal handler can reach globals only. */
static volatile sig_atomic_t stopped_by;

/* Seconds for ranks to agree on their end; who waits for one that has gone ends alone. */
enum { PATIENCE_S = 5 };

static void on_stop(int number)
{
    stopped_by = number;
    if (lob_ranks() && lob_ranks_inside() == 1) lob_process_end_in(PATIENCE_S, number);
}

void lob_session_catch_signals(void)
{
    lob_process_catch(on_stop);
}

void lob_session_raise(void)
{
    if (stopped_by) lob_process_end(stopped_by);
}

int lob_session_stops(void *unused)
{
    (void)unused;
    return stopped_by != 0;
}

int lob_session_progress(void *session, double done)
{
    if (stopped_by) return 1;
    lob_session_print_progress(session, done);
    return 0;
}

void lob_time_text(char text[32])
{
    const time_t now = time(NULL);
    struct tm utc;
    text[0] = '\0';
    if (gmtime_r(&now, &utc)) strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

int lob_session_threads_due(const lob_session *s)
{
    const int share = s->threads / lob_ranks_inside();
    return s->threads < 1 || share > 0 ? share : 1;
}

int lob_session_threads(const lob_session *s)
{
    static _Thread_local int asked = -1, had;
    if (asked == s->threads) return had;
    asked = s->threads;
    had = lob_threads(lob_session_threads_due(s));
    /* Ranks that the launcher has not bound to cores share those of the machine. */
    if (s->threads < 1)
        had /= s->ranks && had == lob_process_cores() ? lob_ranks_here() : lob_ranks_inside();
    if (had < 1) had = 1;
    return had;
}

lob_read_options lob_session_read_options(const lob_session *s, int64_t frame)
{
    const lob_session *top = s;
    while (top->host && top->host->outer) top = top->host->outer;
    return (lob_read_options){.frame = frame,
                              .max_memory = s->context.max_memory,
                              .threads = s->context.threads,
                              .series = s->series,
                              .spaced = s->spaced,
                              .converted = top->converted,
                              .stop = lob_session_stops};
}

lob_status lob_session_cancelled(lob_session *s)
{
    return stopped_by ? lob_fail(&s->error, LOB_ECANCEL, "cancelled") : LOB_OK;
}

lob_status lob_session_rules(lob_session *s, const lob_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rules[i].wrong) return lob_fail(&s->error, LOB_EARG, "%s", rules[i].text);
    return LOB_OK;
}

lob_status lob_session_name(lob_session *s, lob_status st, const char *path, const char *other)
{
    char both[2 * sizeof s->error.file];
    if (st == LOB_OK || st == LOB_ECANCEL) return st;
    snprintf(both, sizeof both, "%s%s%s", path, other ? " with " : "", other ? other : "");
    lob_error_in(&s->error, both);
    return st;
}

lob_status lob_session_no_memory(lob_session *s, const char *path)
{
    return lob_fail_file(&s->error, LOB_ENOMEM, path, "out of memory");
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
    lob_host *const host = lob_session_outermost(s);
    if (host) host->worked(host, s->context.device ? now.turns_s - before.turns_s : elapsed);
    if (host && s->context.device) lob_session_add(s, "wait", wait);
    if (s->context.device) lob_session_add(s, "upload", upload);
    lob_session_add(s, "compute", elapsed - upload - download - wait);
    if (s->context.device) lob_session_add(s, "download", download);
}

lob_status lob_session_done(lob_session *s, lob_status st, const char *path, const char *other)
{
    if (st == LOB_OK) lob_session_computed(s);
    return lob_session_name(s, st, path, other);
}

void lob_session_doing(lob_session *s, const char *doing)
{
    lob_session_clear_bar(s);
    s->doing = doing;
}

int64_t lob_session_memory(const lob_session *s)
{
    const int64_t each = s->max_memory / lob_ranks_inside();
    return each > 0 || s->max_memory == 0 ? each : 1;
}

int64_t lob_session_left(const lob_session *s)
{
    return s->max_memory > 0 ? s->context.max_memory
                             : lob_memory_available() / 10 * 9 / lob_ranks_here();
}

/* What is left of --max-memory is what the next stage may take; 0 would stand for no limit. */
void lob_session_hold(lob_session *s, int64_t bytes)
{
    const int64_t all = lob_session_memory(s);
    s->held += bytes;
    if (s->held > s->most_held) s->most_held = s->held;
    if (all != 0) s->context.max_memory = s->held < all ? all - s->held : 1;
}

lob_status lob_session_take(lob_session *s, int64_t bytes, const char *name)
{
    const int64_t all = lob_session_memory(s), left = s->held < all ? all - s->held : 0;
    if (bytes < 0)
        return lob_fail_file(&s->error, LOB_ENOMEM, name,
                             "needs more memory than can be addressed");
    if (s->max_memory != 0 && bytes > left) {
        char need[LOB_BYTES_TEXT], have[LOB_BYTES_TEXT];
        lob_bytes_texts(need, bytes, have, left);
        return lob_fail_file(&s->error, LOB_ENOMEM, name,
                             "needs %s of memory, and --max-memory leaves %s for it", need, have);
    }
    lob_session_hold(s, bytes);
    return LOB_OK;
}

void lob_session_give(lob_session *s, int64_t bytes)
{
    lob_session_hold(s, -bytes);
}

void *lob_session_array(lob_session *s, int64_t count, size_t each, const char *name)
{
    const int64_t bytes = lob_product(count, (int64_t)each, 1, 1);
    if (lob_session_take(s, bytes, name) != LOB_OK) return NULL;
    void *const array = lob_voxel_memory_zero(bytes);
    if (array) return array;
    lob_session_give(s, bytes);
    lob_session_no_memory(s, name);
    return NULL;
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

void lob_session_note_not_finite(lob_session *s, const char *path, int64_t count,
                                 const char *becomes)
{
    if (count > 0)
        lob_session_note(s, "%s: NaN or infinite voxels: %lld; %s", path, (long long)count,
                         becomes);
}

void lob_session_say(lob_session *s, const char *format, ...)
{
    if (!s->verbose || s->quiet) return;
    lob_error line;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line.text, sizeof line.text, format, arguments);
    va_end(arguments);
    lob_session_print_line(s, line.text);
}

/* ---- what the table says of files ---- */

bool lob_session_is_labels(const lob_session *s, const char *path)
{
    const lob_option *const row = lob_option_of_path(s->table, 1, path);
    return row && lob_option_reads(row) && row->content == LOB_FILE_LABELS;
}

bool lob_session_is_stored(const lob_session *s, const char *path)
{
    return s->host && s->host->memory && lob_is_stored_name(path);
}

bool lob_session_is_threaded(const lob_session *s)
{
    return !s->host && !s->command->runs_others;
}

void lob_session_describe(lob_session *s, const char *path, const char *name)
{
    s->watcher->using(s, path, false, true);
    s->watcher->has_read(s, NULL, path, NULL, name);
}
