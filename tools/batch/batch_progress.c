/* How far a batch is, for a person. */
#include "tools/batch/batch_progress.h"

#include "volumes/clock.h"
#include "volumes/status.h"

#include <stdio.h>
#include <unistd.h>

/* A scan counts for more than its bytes, so that empty ones count too. */
enum { SCAN_BYTES = 65536 };

void lob_progress_begin(lob_progress *progress, int64_t scans, int64_t bytes, bool quiet)
{
    const double now = lob_clock_s();
    *progress = (lob_progress){.quiet = quiet,
                               .bar = !quiet && isatty(STDERR_FILENO),
                               .scans = scans,
                               .bytes = (double)bytes + (double)scans * SCAN_BYTES,
                               .start_s = now,
                               .shown_s = now};
}

void lob_progress_count(lob_progress *progress, int64_t bytes, bool kept)
{
    const double size = (double)bytes + SCAN_BYTES;
    progress->done++;
    progress->done_bytes += size;
    if (!kept) return;
    progress->kept++;
    progress->kept_bytes += size;
}

static void clear(lob_progress *progress)
{
    if (progress->shown) fputs("\r\033[K", stderr);
    progress->shown = false;
}

void lob_progress_failed(lob_progress *progress, const char *scan, const char *message)
{
    enum { LINES = 20 };
    progress->failed++;
    if (progress->failed > LINES + 1) return;
    clear(progress);
    lob_error line; /* leaves no control characters */
    lob_fail(&line, LOB_OK, "%s: %.900s", scan, message);
    fprintf(stderr, "lobule batch: %s\n",
            progress->failed <= LINES ? line.text : "more scans failed; the status table has all");
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

static void print(lob_progress *p, double now)
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
    fprintf(stderr, "%slobule batch: %s%lld of %lld scans%s, %.0f an hour, %s left%s",
            p->bar ? "\r" : "", bar, (long long)p->done, (long long)p->scans, failed,
            elapsed > 0 ? (double)worked / elapsed * 3600 : 0, worked ? rest : "?",
            p->bar ? "\033[K" : "\n");
    fflush(stderr);
    p->shown = p->bar;
}

void lob_progress_show(lob_progress *progress, bool end)
{
    static const double line_s = 10, bar_s = 0.1;
    const double now = lob_clock_s();
    if (end) {
        clear(progress);
        return;
    }
    if (progress->quiet || now - progress->shown_s < (progress->bar ? bar_s : line_s)) return;
    if (!progress->bar && progress->done == progress->shown_done) return;
    progress->shown_s = now;
    progress->shown_done = progress->done;
    print(progress, now);
}
