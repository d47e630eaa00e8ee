/* Threads that do the scans of a batch, and who may begin when. */
#include "tools/batch/batch_scan.h"

#include "tools/platform/process.h"
#include "tools/session/session.h"
#include "volumes/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- how far it is: a bar on a terminal, now and then a line elsewhere ---- */

typedef struct {
    bool quiet, bar, shown;
    int64_t scans, done, kept, failed;
    double bytes, done_bytes, kept_bytes; /* the size of scans tells how long the rest takes */
    double start_s, shown_s;
    int64_t shown_done;
    char kind[400];  /* what the last message that was shown says beside names and numbers */
    int64_t of_kind; /* failures of that kind, one after another */
    int64_t unsaid;  /* of them, not shown */
    int64_t lines;   /* that were shown */
} progress;

/* A scan counts for more than its bytes, so that empty ones count too. */
enum { SCAN_BYTES = 65536 };

static void begin_progress(progress *p, int64_t scans, int64_t bytes, bool quiet)
{
    const double now = lob_clock_s();
    *p = (progress){.quiet = quiet,
                    .bar = !quiet && lob_is_terminal(stderr),
                    .scans = scans,
                    .bytes = (double)bytes + (double)scans * SCAN_BYTES,
                    .start_s = now,
                    .shown_s = now};
}

/* A scan has ended, or was done before. */
static void count_progress(progress *p, int64_t bytes, bool kept)
{
    const double size = (double)bytes + SCAN_BYTES;
    p->done++;
    p->done_bytes += size;
    if (!kept) return;
    p->kept++;
    p->kept_bytes += size;
}

/* The bar leaves its line. */
static void clear_bar(progress *p)
{
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = false;
}

/* A message without words that name a file or hold a number: of what is wrong for many, the same.
 */
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
static void say_unsaid(progress *p)
{
    if (p->unsaid == 0) return;
    clear_bar(p);
    fprintf(stderr, "lobule batch: %lld more scans failed like this; the status table has all\n",
            (long long)p->unsaid);
    p->unsaid = 0;
}

/* Say what is wrong with a scan: of failures alike, of the first few. */
static void say_failure(progress *p, const char *scan, const char *message)
{
    enum { LINES = 20, ALIKE = 3 };
    char kind[sizeof p->kind];
    p->failed++;
    kind_of(kind, sizeof kind, message);
    p->of_kind = strcmp(kind, p->kind) == 0 ? p->of_kind + 1 : 1;
    if (p->of_kind > ALIKE) {
        p->unsaid++;
        return;
    }
    say_unsaid(p);
    memcpy(p->kind, kind, sizeof kind);
    if (++p->lines > LINES + 1) return;
    clear_bar(p);
    lob_error line; /* leaves no control characters */
    lob_fail(&line, LOB_OK, "%s: %.900s", scan, message);
    fprintf(stderr, "lobule batch: %s\n",
            p->lines <= LINES ? line.text : "more scans failed; the status table has all");
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

static void print_progress(progress *p, double now)
{
    const double elapsed = now - p->start_s, done = p->done_bytes - p->kept_bytes;
    const double left = done > 0 ? elapsed / done * (p->bytes - p->done_bytes) : 0;
    const int64_t worked = p->done - p->kept;
    char rest[40] = "", failed[40] = "";
    time_text(rest, sizeof rest, left);
    if (p->failed) snprintf(failed, sizeof failed, ", %lld failed", (long long)p->failed);
    enum { CELLS = 20 };
    char bar[CELLS + 4] = "";
    if (p->bar) {
        for (int i = 0; i < CELLS; i++)
            bar[i + 1] = i * p->bytes < p->done_bytes * CELLS ? '#' : '.';
        bar[0] = '[';
        bar[CELLS + 1] = ']';
        bar[CELLS + 2] = ' ';
        bar[CELLS + 3] = '\0';
    }
    fprintf(stderr, "%slobule batch: %s%lld of %lld scan%s%s, %.0f an hour, %s left%s",
            p->bar ? "\r" : "", bar, (long long)p->done, (long long)p->scans,
            p->scans == 1 ? "" : "s", failed, elapsed > 0 ? (double)worked / elapsed * 3600 : 0,
            worked ? rest : "?", p->bar ? "\033[K" : "\n");
    fflush(stderr);
    p->shown = p->bar;
}

/* Show it, if it is time; with `end` for the last time. */
static void show_progress(progress *p, bool end)
{
    static const double line_s = 10, bar_s = 0.1;
    const double now = lob_clock_s();
    if (end) {
        clear_bar(p);
        say_unsaid(p);
        return;
    }
    if (p->quiet || now - p->shown_s < (p->bar ? bar_s : line_s)) return;
    if (!p->bar && p->done == p->shown_done) return;
    p->shown_s = now;
    p->shown_done = p->done;
    print_progress(p, now);
}

/* ---- the work ---- */

/* The parts of memory and cores are counted in units, one for each of the jobs. */
typedef struct {
    lob_batch *batch;
    const lob_work_plan *plan;
    pthread_mutex_t lock; /* of all that follows, and of beginning a scan */
    pthread_cond_t changed;
    int64_t next;   /* scan that begins next */
    int64_t begun;  /* scans of this process that have units: their numbers count from 0 */
    int64_t turn;   /* the number of the scan that claims its outputs next */
    int free_units; /* that no scan has */
    int wanting;    /* threads that wait for more than one: nobody else begins */
    int64_t large;  /* scans with as many bytes begin with large_units */
    int large_units;
    int running; /* threads that have not ended */
    bool over;   /* no scan begins any more */
    progress progress;
    lob_batch_summary *summary;
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
    pthread_mutex_lock(&w->lock);
    w->free_units += units;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* The next scan of this process, or NULL. */
static const lob_plan_scan *next_scan(work *w)
{
    const lob_batch_plan *const plan = &w->batch->plan;
    while (w->wanting > 0 && !w->over) pthread_cond_wait(&w->changed, &w->lock);
    while (w->next < plan->count && plan->scans[w->next].elsewhere) w->next++;
    return w->over || w->next >= plan->count ? NULL : &plan->scans[w->next++];
}

/* Memory and threads of a scan that has so many units. */
static void set_part(const work *w, lob_scan *scan, int units)
{
    const lob_work_plan *const plan = w->plan;
    const int64_t left = w->summary->scans - w->begun + w->running;
    const int sharers = left < plan->jobs ? (int)left : plan->jobs;
    const int threads = plan->threads * units / (sharers < 1 ? 1 : sharers);
    scan->threads = threads < 1 ? 1 : threads > plan->threads ? plan->threads : threads;
    scan->max_memory = plan->memory / plan->jobs * units;
}

/* ---- a scan ---- */

/* Add a scan that has ended to the table and to what there is to say; the lock is held. */
static void count_scan(work *w, const lob_scan *scan, lob_scan_turn turn)
{
    lob_batch_summary *const sum = w->summary;
    const lob_batch_row *const row = &scan->row;
    count_progress(&w->progress, scan->plan->bytes, turn == LOB_TURN_KEEP);
    if (turn == LOB_TURN_KEEP) {
        sum->resumed++;
        return;
    }
    sum->state[row->state]++;
    for (int i = 0; i < LOB_BATCH_STAGES; i++) sum->stage_s[i] += row->stage_s[i];
    if (row->state != LOB_SCAN_FAILED) return;
    say_failure(&w->progress, row->scan, row->message);
    w->over = w->over || w->plan->fail_fast;
}

static void end_scan(work *w, lob_scan *scan, lob_scan_turn turn)
{
    lob_error error = {.text = ""};
    lob_status st = LOB_OK;
    if (turn != LOB_TURN_KEEP) st = lob_batch_log_add(&w->batch->log, &scan->row, &error);
    pthread_mutex_lock(&w->lock);
    count_scan(w, scan, turn);
    if (st != LOB_OK && w->status == LOB_OK) {
        w->status = st;
        w->error = error;
        w->over = true;
    }
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* Again with more memory, as long as there is any to be had; the row is that of the last attempt.
 */
static int try_larger(work *w, lob_scan *scan, int units)
{
    const lob_plan_scan *const plan = scan->plan;
    while (scan->status == LOB_ENOMEM && units < w->plan->jobs && w->plan->memory > 0) {
        const double start_s = lob_clock_s();
        const int wanted = 2 * units < w->plan->jobs ? 2 * units : w->plan->jobs;
        give_units(w, units);
        pthread_mutex_lock(&w->lock);
        if (w->large == 0 || plan->bytes < w->large) {
            w->large = plan->bytes;
            w->large_units = wanted;
        }
        if (!take_units(w, wanted)) {
            pthread_mutex_unlock(&w->lock);
            return 0;
        }
        units = wanted;
        lob_scan_free(scan);
        *scan = (lob_scan){.batch = w->batch, .plan = plan, .retried = true};
        set_part(w, scan, units);
        const lob_scan_turn turn = lob_scan_begin(scan);
        pthread_mutex_unlock(&w->lock);
        scan->row.stage_s[LOB_STAGE_WAIT] += lob_clock_s() - start_s;
        if (turn == LOB_TURN_RUN) lob_scan_run(scan);
    }
    return units;
}

/* Begin a scan that has its units, and give back the lock, which is held. Whether there is anything
 * to do may take long, so that others look meanwhile; they begin in their order all the same. */
static lob_scan_turn begin_in_turn(work *w, lob_scan *scan, const lob_plan_scan *plan, int units)
{
    const int64_t number = w->begun++;
    *scan = (lob_scan){.batch = w->batch, .plan = plan};
    set_part(w, scan, units);
    pthread_mutex_unlock(&w->lock);
    lob_scan_look(scan);
    pthread_mutex_lock(&w->lock);
    while (w->turn != number) pthread_cond_wait(&w->changed, &w->lock);
    const lob_scan_turn turn = lob_scan_begin(scan);
    w->turn++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return turn;
}

static void do_scan(work *w, lob_scan *scan, const lob_plan_scan *plan, int units, double waited_s)
{
    const lob_scan_turn turn = begin_in_turn(w, scan, plan, units);
    scan->row.stage_s[LOB_STAGE_WAIT] += waited_s;
    if (turn == LOB_TURN_RUN) {
        lob_scan_run(scan);
        units = try_larger(w, scan, units);
    }
    if (units > 0) give_units(w, units);
    end_scan(w, scan, turn);
    lob_scan_free(scan);
}

static void *do_scans(void *user)
{
    work *const w = user;
    lob_scan *const scan = malloc(sizeof *scan);
    while (scan) {
        pthread_mutex_lock(&w->lock);
        const double start_s = lob_clock_s();
        const lob_plan_scan *const plan = next_scan(w);
        const int units = plan && w->large > 0 && plan->bytes >= w->large ? w->large_units : 1;
        if (!plan || !take_units(w, units)) break;
        do_scan(w, scan, plan, units, lob_clock_s() - start_s);
    }
    if (!scan) pthread_mutex_lock(&w->lock);
    w->running--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    free(scan);
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
        show_progress(&w->progress, false);
    }
    pthread_mutex_unlock(&w->lock);
}

static int start_threads(work *w, pthread_t *threads)
{
    int started = 0;
    pthread_mutex_lock(&w->lock);
    while (started < w->plan->jobs && pthread_create(&threads[started], NULL, do_scans, w) == 0)
        started++;
    w->running = started;
    pthread_mutex_unlock(&w->lock);
    return started;
}

static void finish_summary(work *w, double wall_s)
{
    lob_batch_summary *const sum = w->summary;
    int64_t ended = sum->resumed;
    for (int i = 0; i < LOB_SCAN_STATES; i++) ended += sum->state[i];
    sum->left = sum->scans - ended;
    sum->jobs = w->plan->jobs;
    sum->threads = w->plan->threads;
    const lob_pool *const pool = &w->batch->pool;
    sum->devices = pool->gpus + (pool->devices[pool->count - 1].device == NULL);
    sum->peak_memory_bytes = (int64_t)lob_process_peak_bytes();
    sum->max_memory = w->batch->session->max_memory;
    lob_batch_summary_finish(sum, wall_s);
}

lob_status lob_work_run(lob_batch *batch, const lob_work_plan *plan, lob_batch_summary *summary,
                        lob_error *error)
{
    int64_t bytes, most;
    const double start_s = lob_clock_s();
    *summary = (lob_batch_summary){.scans = lob_batch_plan_here(&batch->plan, &bytes, &most)};
    work w = {
        .batch = batch,
        .plan = plan,
        .free_units = plan->jobs,
        .summary = summary,
    };
    pthread_t *const threads = calloc((size_t)plan->jobs, sizeof *threads);
    if (!threads) return lob_fail(error, LOB_ENOMEM, "out of memory");
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    begin_progress(&w.progress, summary->scans, bytes, batch->session->quiet);
    const int started = start_threads(&w, threads);
    if (started == 0) w.status = lob_fail(&w.error, LOB_ENOMEM, "no thread can be started");
    watch(&w);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    show_progress(&w.progress, true);
    finish_summary(&w, lob_clock_s() - start_s);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
    free(threads);
    if (w.status != LOB_OK) {
        *error = w.error;
        return w.status;
    }
    return lob_session_cancelled(batch->session);
}
