/* Checksums of a report against those of files: what was read, and what comes out again. */
#include "io/io.h"
#include "tools/commands/repeat/repetition.h"
#include "tools/text/path.h"

#include <string.h>

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

static lob_status check_input(lob_session *s, const lob_repetition *r, const lob_past_file *file)
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
lob_status lob_repeat_check_inputs(lob_session *s, const lob_repetition *r)
{
    const double start_s = lob_clock_s();
    for (int i = 0; i < r->past.input_count; i++)
        if (strcmp(r->past.inputs[i].role, "RECIPE") != 0)
            LOB_TRY(check_input(s, r, &r->past.inputs[i]));
    lob_session_stage(s, "checksum", start_s);
    return LOB_OK;
}

const lob_moved *lob_repeat_moved(const lob_repetition *r, const char *path)
{
    for (int i = 0; i < r->moves.count; i++)
        if (strcmp(r->moves.files[i].from, path) == 0) return &r->moves.files[i];
    return NULL;
}

/* ---- what came out ---- */

/* Say of an output whether it is the same; *differ: it is not. */
static lob_status compare_output(lob_session *s, const lob_repetition *r, const lob_past_file *then,
                                 bool *differ)
{
    const lob_moved *const moved = lob_repeat_moved(r, then->path);
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

lob_status lob_repeat_compare(lob_session *s, const lob_repetition *r)
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
