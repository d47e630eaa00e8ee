/* What a session's outputs may be, and what becomes of them when it fails. */
#include "tools/inout/volumes.h"

#include "io/file.h"
#include "io/formats.h"
#include "io/platform.h"
#include "tools/session/watcher.h"
#include "tools/text/path.h"
#include "volumes/lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The row after this one; NULL stands before the first and comes after the last. */
static const lob_option *next(const lob_session *s, const lob_option *row)
{
    return lob_option_next(s->table, 2, row);
}

static const char *path_of(const lob_option *row)
{
    return *(const char *const *)row->target;
}

static bool is_volume(const lob_option *row)
{
    return lob_content_is_volume(row->content);
}

/* Does an output have a name, that of a file or of a volume in memory? */
static bool is_named(const lob_option *row)
{
    if (row->kind != LOB_OPT_OUTPUT || !path_of(row)) return false;
    return row->content != LOB_FILE_TABLE || strcmp(path_of(row), "-") != 0;
}

static bool makes_file(const lob_session *s, const lob_option *row)
{
    return is_named(row) && !lob_session_is_stored(s, path_of(row));
}

/* Does a store, which an output replaces as a whole, hold what a path leads to? */
static bool holds(const char *store, const char *path)
{
    char *const above = strdup(path);
    bool inside = !above; /* without memory the answer is the one that keeps what is there */
    for (char *slash; !inside && (slash = strrchr(above, '/')) && slash > above;) {
        *slash = '\0';
        inside = lob_is_volume_name(above) && lob_same_file(store, above);
    }
    free(above);
    return inside;
}

lob_status lob_paths_touch(bool *touch, const char *path, bool is_of_volume, const char *used,
                           bool used_is_of_volume, bool reading)
{
    char *made[2] = {NULL, NULL}, *there[2] = {NULL, NULL};
    lob_status st = lob_path_files(made, path, is_of_volume, false);
    if (st == LOB_OK) st = lob_path_files(there, used, used_is_of_volume, reading);
    *touch = false;
    for (int i = 0; i < 4 && st == LOB_OK; i++) {
        const char *const a = made[i / 2], *const b = there[i % 2];
        if (a && b && (lob_same_file(a, b) || holds(a, b) || (!reading && holds(b, a))))
            *touch = true;
    }
    lob_files_free(made);
    lob_files_free(there);
    return st;
}

/* A name of its own: no input, and no output before this row, goes by it. */
static lob_status check_name(lob_session *s, const lob_option *row)
{
    bool before = true;
    for (const lob_option *other = NULL; (other = next(s, other));) {
        const bool is_input = lob_option_reads(other);
        before = before && other != row;
        if (!is_input && !before) continue;
        const char *path;
        for (int k = 0; (path = lob_option_path(other, k)); k++) {
            bool touches;
            if (lob_paths_touch(&touches, path_of(row), is_volume(row), path, is_volume(other),
                                is_input) != LOB_OK)
                return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
            if (!touches) continue;
            return lob_fail_file(&s->error, LOB_EARG, path_of(row),
                                 "named for %s and for %s; give the output a name of its own",
                                 other->name, row->name);
        }
    }
    return LOB_OK;
}

/* Is it a file that is empty, or a report of ours? */
static bool is_replaceable_report(const char *path)
{
    static const char start[] = "{\n\t\"tool\":\t\"lobule\"";
    char text[sizeof start] = "";
    if (!lob_is_file(path)) return false;
    FILE *const file = lob_stream_of(path);
    if (!file) return false;
    const size_t n = fread(text, 1, sizeof start - 1, file);
    fclose(file);
    return n == 0 || strcmp(text, start) == 0;
}

/* Check all of an output but its name that can be checked before the work. */
static lob_status check_file(lob_session *s, const lob_option *row)
{
    const char *const path = path_of(row);
    if (s->namer->makes_folder(s, path)) return LOB_OK;
    if (is_volume(row) && lob_refers_to_scan(path) && !s->command->refers)
        return lob_fail_file_hint(&s->error, LOB_EARG, LOB_HINT_LIKE, path,
                                  "a DICOM SEG refers to the images of a scan");
    if (is_volume(row)) return lob_check_output(path, s->force, &s->error);
    if (row->target != &s->report_path) return lob_output_check(path, s->force, &s->error);

    const lob_status st =
        lob_output_check(path, s->force || is_replaceable_report(path), &s->error);
    if (st != LOB_EEXIST) return st;
    return lob_fail_file(&s->error, st, path,
                         "exists and is no report of lobule; use --force to replace it");
}

lob_status lob_existing_look(lob_existing *e, const char *path, bool is_of_volume)
{
    char *files[2];
    bool there = true;
    LOB_TRY(lob_path_files(files, path, is_of_volume, false));
    for (int k = 0; k < 2; k++)
        if (files[k] && !lob_is_there(files[k])) there = false;
    lob_files_free(files);
    const char **const first = there ? &e->found : &e->missing;
    if (!*first) *first = path;
    return LOB_OK;
}

lob_status lob_existing_judge(const lob_existing *e, bool *skip, lob_error *error)
{
    *skip = e->found && !e->missing;
    if (*skip) lob_fail_file(error, LOB_OK, e->found, "exists; nothing was done");
    if (!e->found || !e->missing) return LOB_OK;
    return lob_fail_file(
        error, LOB_EEXIST, e->found,
        "exists, but %s does not, so that nothing was skipped; use --force to make both again",
        e->missing);
}

/* For --skip-existing: are all outputs but the report there? */
static lob_status find_existing(lob_session *s, bool *skip)
{
    lob_existing e = {NULL};
    if (s->force)
        return lob_fail(&s->error, LOB_EARG,
                        "--skip-existing keeps outputs that exist and --force replaces them; give "
                        "one of the two");
    for (const lob_option *row = NULL; (row = next(s, row));)
        if (makes_file(s, row) && row->target != &s->report_path &&
            lob_existing_look(&e, path_of(row), is_volume(row)) != LOB_OK)
            return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    return lob_existing_judge(&e, skip, &s->error);
}

lob_status lob_outputs_check(lob_session *s, bool *skip)
{
    *skip = false;
    for (const lob_option *row = NULL; (row = next(s, row));)
        if (is_named(row)) LOB_TRY(check_name(s, row));
    if (s->skip_existing) LOB_TRY(find_existing(s, skip));
    for (const lob_option *row = NULL; !*skip && (row = next(s, row));)
        if (makes_file(s, row)) LOB_TRY(check_file(s, row));
    return LOB_OK;
}

lob_status lob_session_reserve_output(lob_session *s)
{
    if (lob_grow(&s->written, s->outputs_written, sizeof *s->written)) return LOB_OK;
    return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
}

/* Take the entry of a file that is gone out of the report. */
static void forget_output(lob_session *s, const char *path)
{
    if (!path) return; /* there was no memory for it */
    for (int i = cJSON_GetArraySize(s->outputs) - 1; i >= 0; i--) {
        const cJSON *const file = cJSON_GetArrayItem(s->outputs, i);
        const char *const named = lob_json_text(file, "path");
        if (strcmp(named, path) == 0) cJSON_DeleteItemFromArray(s->outputs, i);
    }
}

void lob_outputs_remove(lob_session *s)
{
    for (int i = s->outputs_written - 1; i >= 0; i--) {
        if (!s->written[i].is_new) continue;
        for (int k = 0; k < 2; k++)
            if (s->written[i].files[k]) lob_remove_file(s->written[i].files[k]);
        forget_output(s, s->written[i].path);
    }
}

void lob_outputs_forget(lob_session *s)
{
    lob_outputs_remove(s);
    for (int i = 0; i < s->outputs_written; i++) {
        forget_output(s, s->written[i].path);
        lob_files_free(s->written[i].files);
        free(s->written[i].path);
    }
    s->outputs_written = 0;
}
