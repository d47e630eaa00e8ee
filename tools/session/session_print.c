/* What a session prints: lines on stderr and the progress bar. */
#include "tools/session/session_print.h"

#include "tools/platform/process.h"
#include "tools/session/host.h"
#include "tools/session/ranks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void lob_session_clear_bar(lob_session *s)
{
    if (s->bar_shown) fputs("\r\033[K", stderr);
    s->bar_shown = false;
}

void lob_session_print_progress(lob_session *s, double done)
{
    enum { CELLS = 30 };
    const lob_host *const host = s->host; /* of a recipe, whose share of it is told */
    const double now = lob_clock_s();
    if ((!s->bar && !s->tags) || now - s->bar_time_s < 0.1) return;
    s->bar_time_s = now;
    if (s->tags) {
        const double all = host ? (host->index + done) / host->count : done;
        printf("<filter-progress>%.3f</filter-progress>\n", all);
        fflush(stdout);
        return;
    }
    s->bar_shown = true;

    char cells[CELLS + 1];
    for (int i = 0; i < CELLS; i++) cells[i] = i < done * CELLS ? '#' : '.';
    cells[CELLS] = '\0';
    fputs("\rlobule ", stderr);
    if (host) fprintf(stderr, "%s %d/%d ", host->caller, host->index + 1, host->count);
    fprintf(stderr, "%s: %s [%s] %3d %%", s->command->name, s->doing, cells, (int)(done * 100));
    fflush(stderr);
}

void lob_session_print_line(lob_session *s, const char *text)
{
    char clean[sizeof s->failure]; /* text of a file may hold control characters */
    if (!lob_ranks_speak()) return;
    const lob_host *host = lob_session_outermost(s);
    if (!host) host = s->host;
    snprintf(clean, sizeof clean, "%s", text);
    for (char *c = clean; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
    lob_session_clear_bar(s);
    if (host)
        fprintf(stderr, "lobule %s: %s: %s: %s\n", host->caller, host->place, s->command->name,
                clean);
    else
        fprintf(stderr, "lobule %s: %s\n", s->command->name, clean);
}

static void print_notes(lob_session *s, const cJSON *notes)
{
    const cJSON *note;
    cJSON_ArrayForEach(note, notes)
    {
        lob_error line;
        lob_fail(&line, LOB_OK, "note: %s", note->valuestring);
        lob_session_print_line(s, line.text);
    }
}

void lob_session_print_notes(lob_session *s)
{
    const cJSON *input;
    if (s->quiet) return;
    cJSON_ArrayForEach(input, s->inputs)
    {
        print_notes(s, cJSON_GetObjectItemCaseSensitive(input, "warnings"));
    }
    print_notes(s, s->notes);
}

/* "a", "a and b", "a, b and c": the name of the i-th of n. */
static void add_name(char *text, size_t size, const char *name, int i, int n)
{
    const size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", i == 0 ? "" : i == n - 1 ? " and " : ", ", name);
}

void lob_session_print_finished(lob_session *s, double seconds)
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
    lob_session_print_line(s, line.text);
}

lob_host *lob_session_outermost(const lob_session *s)
{
    while (s->host && s->host->outer) s = s->host->outer;
    return s->host;
}

lob_status lob_stdout_end(lob_error *error)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return LOB_OK;
    const int why = errno ? errno : EIO;
    if (lob_stdout_is_closed()) return LOB_OK;
    return lob_fail(error, LOB_EIO, "standard output: %s", strerror(why));
}
