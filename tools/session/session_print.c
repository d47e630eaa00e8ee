/* What a session prints: lines on stderr and the progress bar. */
#include "tools/session/session.h"

#include "tools/platform/process.h"
#include "tools/session/host.h"
#include "tools/session/ranks.h"
#include "volumes/bytes.h"

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
    fprintf(stderr, "%s: %s [%s] %3d %%\033[K", s->command->name, s->doing, cells,
            (int)(done * 100));
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
    [LOB_HINT_RELABEL] = "give structures the same labels in all with `lobule labels --map`",
    [LOB_HINT_COARSER] = "resample the image, or give a --size",
    [LOB_HINT_RESAMPLE] = ("`lobule resample LABELS --like SCAN --labels -o OUT` does that, for "
                           "thin lines with --method strokes"),
};

void lob_session_put_failure(lob_session *s, lob_status st)
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

static const cJSON *warnings_of(const cJSON *input)
{
    return cJSON_GetObjectItemCaseSensitive(input, "warnings");
}

/* Was it said of an input before this one, as of a file that is read twice? */
static bool is_said(const lob_session *s, const char *note, const cJSON *input)
{
    const cJSON *before, *said;
    cJSON_ArrayForEach(before, s->inputs) {
        if (before == input) break;
        cJSON_ArrayForEach(said, warnings_of(before))
            if (strcmp(said->valuestring, note) == 0) return true;
    }
    return false;
}

/* input: whose notes they are; NULL: the command's own. */
static void print_notes(lob_session *s, const cJSON *notes, const cJSON *input)
{
    const cJSON *note;
    cJSON_ArrayForEach(note, notes) {
        lob_error line;
        if (is_said(s, note->valuestring, input)) continue;
        lob_fail(&line, LOB_OK, "note: %s", note->valuestring);
        lob_session_print_line(s, line.text);
    }
}

void lob_session_print_notes(lob_session *s)
{
    const cJSON *input;
    if (s->quiet) return;
    cJSON_ArrayForEach(input, s->inputs) print_notes(s, warnings_of(input), input);
    print_notes(s, s->notes, NULL);
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

    const lob_command *const command = s->command;
    const cJSON *const result = cJSON_GetObjectItemCaseSensitive(s->results, command->result);
    if (result)
        snprintf(made, sizeof made, " (%s: %.0f)",
                 command->result_text ? command->result_text : command->result,
                 result->valuedouble);
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
