/* Threads that do the scans of a batch, and who may begin when. */
#include "tools/batch/batch.h"
#include "tools/platform/process.h"
#include "volumes/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- how far it is: the session's bar on a terminal, now and then a line elsewhere ---- */

typedef struct {
    int64_t done, shown_done;
    double bytes, done_bytes, kept_bytes; /* the size of scans tells how long the rest takes */
    double start_s, shown_s;
    char text[160];
    char kind[400];  /* what the last message that was shown says beside names and numbers */
    int64_t of_kind; /* failures of that kind, one after another */
    int64_t unsaid;  /* of them, not shown */
    int64_t lines;   /* that were shown */
} progress;

/* A scan counts for more than its bytes, so that empty ones count too. */
enum { SCAN_BYTES = 65536 };

/* A message without files and numbers: of what is wrong for many, the same. */
static void kind_of(char *kind, size_t size, const char *message)
{
    size_t n = 0;
    for (const char *word = message; *word;) {
        const size_t length = strcspn(word, " ");
        const size_t plain = strcspn(word, "/.0123456789");
        if (plain >= length && n + length + 2 < size) {
            memcpy(kind + n, word, length);
            n += length;
            kind[n++] = ' ';
        }
        word += length + (word[length] == ' ');
    }
    kind[n] = '\0';
}

/* How many failures there were that the last one that was shown stands for. */
static void say_unsaid(progress *p, lob_session *s)
{
    char line[100];
    if (p->unsaid == 0) return;
    snprintf(line, sizeof line, "%lld more scans failed like this; the status table has all",
             (long long)p->unsaid);
    lob_session_print_line(s, line);
    p->unsaid = 0;
}

/* Say what is wrong with a scan: of failures alike, of the first few. */
static void say_failure(progress *p, lob_session *s, const lob_batch_row *row)
{
    enum { LINES = 20, ALIKE = 3 };
    char kind[sizeof p->kind], line[1200];
    kind_of(kind, sizeof kind, row->message);
    p->of_kind = strcmp(kind, p->kind) == 0 ? p->of_kind + 1 : 1;
    if (p->of_kind > ALIKE) {
        p->unsaid++;
        return;
    }
    say_unsaid(p, s);
    memcpy(p->kind, kind, sizeof kind);
    if (++p->lines > LINES + 1) return;
    snprintf(line, sizeof line, "%s: %.900s", row->scan, row->message);
    lob_session_print_line(s, p->lines <= LINES ? line
                                                : "more scans failed; the status table has all");
}

/* "40 s", "12 min", "3 h 5 min". */
static void time_text(char *text, size_t size, double seconds)
{
    const long minutes = (long)(seconds / 60);
    if (seconds < 100)
        snprintf(text, size, "%.0f s", seconds);
    else if (minutes < 100)
        snprintf(text, size, "%ld min", minutes);
    else
        snprintf(text, size, "%ld h %ld min", minutes / 60, minutes % 60);
}

/* Show it, if it is time. */
static void show_progress(progress *p, lob_session *s, const lob_batch_summary *sum)
{
    const double now = lob_clock_s(), elapsed = now - p->start_s, line_s = 10;
    const double done = p->done_bytes - p->kept_bytes;
    const int64_t worked = p->done - sum->resumed;
    char rest[40] = "?", failed[40] = "";
    if (!s->bar && (s->quiet || now - p->shown_s < line_s || p->done == p->shown_done)) return;
    if (worked) time_text(rest, sizeof rest, elapsed / done * (p->bytes - p->done_bytes));
    if (sum->state[LOB_SCAN_FAILED] > 0)
        snprintf(failed, sizeof failed, ", %lld failed", (long long)sum->state[LOB_SCAN_FAILED]);
    snprintf(p->text, sizeof p->text, "%lld of %lld scan%s%s, %.0f an hour, %s left",
             (long long)p->done, (long long)sum->scans, sum->scans == 1 ? "" : "s", failed,
             elapsed > 0 ? (double)worked / elapsed * 3600 : 0, rest);
    p->shown_s = now;
    p->shown_done = p->done;
    s->doing = p->text;
    if (s->bar)
        lob_session_print_progress(s, p->done_bytes / p->bytes);
    else
        fprintf(stderr, "lobule batch: %s\n", p->text);
}

/* ---- the work ---- */

/* The parts of memory and cores are counted in units, one for each of the jobs. */
typedef struct {
    lob_batch *batch;
    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t changed;
    int64_t next, begun; /* the scan that begins next, and how many have begun here */
    int free_units;      /* that no scan has */
    int wanting;         /* threads that wait for more than one: nobody else begins */
    int64_t large;       /* scans with as many bytes begin with large_units */
    int large_units;
    int running; /* threads that have not ended */
    bool over;   /* no scan begins any more */
    progress progress;
    lob_status status; /* of the status table */
    lob_error error;
} work;

/* ---- who may begin ---- */

/* Wait for so many units, which is at most all of them; false: nothing begins any more. */
static bool take_units(work *w, int units)
{
    w->wanting++;
    while (w->free_units < units && !w->over) pthread_cond_wait(&w->changed, &w->lock);
    w->wanting--;
    if (w->over) return false;
    w->free_units -= units;
    pthread_cond_broadcast(&w->changed); /* those that wait for nobody to be wanting */
    return true;
}

static void give_units(work *w, int units)
{
    w->free_units += units;
    pthread_cond_broadcast(&w->changed);
}

/* The next scan of this process, or NULL. */
static const lob_plan_scan *next_scan(work *w)
{
    const lob_batch *const b = w->batch;
    while (w->wanting > 0 && !w->over) pthread_cond_wait(&w->changed, &w->lock);
    while (w->next < b->count && b->scans[w->next].shard != b->shard) w->next++;
    return w->over || w->next >= b->count ? NULL : &b->scans[w->next++];
}

/* ---- a scan ---- */

/* Do it with its units' part of memory and threads, without the lock. */
static lob_status do_once(work *w, lob_batch_row *row, const lob_plan_scan *plan, int units,
                          bool again)
{
    lob_batch *const b = w->batch;
    const int all = b->session->context.threads;
    const int64_t left = b->summary.scans - w->begun + w->running;
    const int sharers = left < b->summary.jobs ? (int)left : b->summary.jobs;
    const int threads = all * units / (sharers < 1 ? 1 : sharers);
    pthread_mutex_unlock(&w->lock);
    const lob_status st = lob_scan_do(row, b, plan,
                                      threads < 1     ? 1
                                      : threads > all ? all
                                                      : threads,
                                      b->memory / b->summary.jobs * units, again);
    pthread_mutex_lock(&w->lock);
    return st;
}

/* Again with more memory, as long as there is any; the row is that of the last attempt. */
static lob_status do_larger(work *w, lob_batch_row *row, const lob_plan_scan *plan, int *units)
{
    const double start_s = lob_clock_s();
    const int wanted = 2 * *units < w->batch->summary.jobs ? 2 * *units : w->batch->summary.jobs;
    give_units(w, *units);
    if (w->large == 0 || plan->bytes < w->large) {
        w->large = plan->bytes;
        w->large_units = wanted;
    }
    *units = take_units(w, wanted) ? wanted : 0;
    if (*units == 0) return LOB_ECANCEL;
    const double waited_s = lob_clock_s() - start_s;
    lob_batch_row_free(row);
    const lob_status st = do_once(w, row, plan, *units, true);
    row->stage_s[LOB_STAGE_WAIT] += waited_s;
    return st;
}

/* Add a row to the table and to what there is to say; one without a scan: it was done before. */
static void end_scan(work *w, const lob_plan_scan *plan, const lob_batch_row *row)
{
    lob_batch *const b = w->batch;
    lob_error error = {.text = ""};
    lob_status st = LOB_OK;
    const double size = (double)plan->bytes + SCAN_BYTES;
    w->progress.done++;
    w->progress.done_bytes += size;
    if (!row->scan) {
        b->summary.resumed++;
        w->progress.kept_bytes += size;
        return;
    }
    pthread_mutex_unlock(&w->lock);
    st = lob_batch_log_add(&b->log, row, &error);
    pthread_mutex_lock(&w->lock);
    lob_batch_count(&b->summary, row);
    if (row->state == LOB_SCAN_FAILED) {
        say_failure(&w->progress, b->session, row);
        w->over = w->over || b->fail_fast;
    }
    if (st == LOB_OK || w->status != LOB_OK) return;
    w->status = st;
    w->error = error;
    w->over = true;
}

static void do_scan(work *w, const lob_plan_scan *plan, int units, double waited_s)
{
    lob_batch_row row;
    w->begun++;
    lob_status st = do_once(w, &row, plan, units, false);
    row.stage_s[LOB_STAGE_WAIT] += waited_s;
    while (st == LOB_ENOMEM && units < w->batch->summary.jobs)
        st = do_larger(w, &row, plan, &units);
    end_scan(w, plan, &row);
    give_units(w, units);
    lob_batch_row_free(&row);
}

static void *do_scans(void *user)
{
    work *const w = user;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        const double start_s = lob_clock_s();
        const lob_plan_scan *const plan = next_scan(w);
        const int units = plan && w->large > 0 && plan->bytes >= w->large ? w->large_units : 1;
        if (!plan || !take_units(w, units)) break;
        do_scan(w, plan, units, lob_clock_s() - start_s);
    }
    w->running--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- all of them ---- */

/* Show progress, and look for signals, until all threads have ended. */
static void watch(work *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&w->changed, &w->lock, &until);
        if (lob_session_cancelled(w->batch->session) != LOB_OK && !w->over) {
            w->over = true;
            pthread_cond_broadcast(&w->changed);
        }
        show_progress(&w->progress, w->batch->session, &w->batch->summary);
    }
    pthread_mutex_unlock(&w->lock);
}

lob_status lob_work_run(lob_batch *b, int64_t bytes)
{
    const double start_s = lob_clock_s();
    work w = {.batch = b,
              .free_units = b->summary.jobs,
              .over = lob_session_cancelled(b->session) != LOB_OK};
    pthread_t *const threads = calloc((size_t)b->summary.jobs, sizeof *threads);
    int started = 0;
    if (!threads) return lob_session_no_memory(b->session, b->folder);
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    w.progress.bytes = (double)bytes + (double)b->summary.scans * SCAN_BYTES;
    w.progress.start_s = w.progress.shown_s = start_s;
    pthread_mutex_lock(&w.lock);
    while (started < b->summary.jobs && pthread_create(&threads[started], NULL, do_scans, &w) == 0)
        started++;
    w.running = started;
    pthread_mutex_unlock(&w.lock);
    if (started == 0) w.status = lob_fail(&w.error, LOB_ENOMEM, "no thread can be started");
    watch(&w);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    say_unsaid(&w.progress, b->session);
    lob_session_clear_bar(b->session);
    b->session->doing = "writing"; /* the text ends with the work */
    lob_batch_summary *const sum = &b->summary;
    sum->left = sum->scans - w.progress.done;
    sum->threads = b->session->context.threads;
    sum->devices = b->pool.gpus + (b->pool.devices[b->pool.count - 1].device == NULL);
    sum->peak_memory_bytes = (int64_t)lob_process_peak_bytes();
    sum->max_memory = b->session->max_memory;
    sum->wall_s = lob_clock_s() - start_s;
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    free(threads);
    if (w.status == LOB_OK) return lob_session_cancelled(b->session);
    b->session->error = w.error;
    return w.status;
}
