/* The check of a recipe as a whole, before any of its lines does work. */
#include "tools/recipe/recipe_job.h"

#include "io/file.h"
#include "io/platform.h"
#include "tools/recipe/file_uses.h"
#include "tools/text/names.h"

#include <string.h>

static bool is_stdout(const lob_line_file *file)
{
    return file->is_output && file->content == LOB_FILE_TABLE && strcmp(file->path, "-") == 0;
}

/* Begin the error of a line with its place and command. Returns st, which may be LOB_OK. */
static lob_status at_line(lob_recipe_job *job, const lob_line *l, lob_status st)
{
    lob_error *const error = &job->run->error;
    char line[LOB_ERROR_LINE];
    if (st == LOB_OK) return st;
    lob_error_line(line, sizeof line, error);
    return lob_fail_file_hint(error, st, error->hint, l->place, "%s: %s", l->command.name, line);
}

int lob_recipe_job_maker(const lob_recipe_job *job, int from, const char *path)
{
    for (; from < job->line_count; from++)
        for (int f = 0; f < job->lines[from].file_count; f++) {
            const lob_line_file *const file = &job->lines[from].files[f];
            if (file->is_output && strcmp(file->path, path) == 0) return from;
        }
    return from;
}

/* ---- volumes in memory ---- */

static lob_status check_stored_input(lob_recipe_job *job, int i, const char *name)
{
    lob_error *const error = &job->run->error;
    lob_stored *const row = lob_store_find(&job->store, name);
    if (row) {
        row->last = i;
        return LOB_OK;
    }
    const int k = lob_recipe_job_maker(job, i, name);
    if (k < job->line_count)
        return lob_fail(error, LOB_EARG, "%s: is read before %s makes it", name,
                        k == i ? "this line" : job->lines[k].place);
    return lob_fail(error, LOB_EARG, "%s: no line makes it; one before this has to write it", name);
}

static lob_status check_stored_output(lob_recipe_job *job, int i, const char *name)
{
    lob_error *const error = &job->run->error;
    const lob_stored *const row = lob_store_find(&job->store, name);
    if (row)
        return lob_fail(error, LOB_EARG, "%s: %s makes it already; give it another name", name,
                        job->lines[row->made].place);
    return lob_store_add(&job->store, name, i) ? LOB_OK
                                               : lob_fail(error, LOB_ENOMEM, "out of memory");
}

/* ---- files ---- */

/* Can an input be read that no line makes? Of a volume, the header is. */
static lob_status check_is_there(lob_recipe_job *job, const lob_line_file *file)
{
    lob_error *const error = &job->run->error;
    if (!lob_content_is_volume(file->content)) {
        lob_input in;
        const lob_status st = lob_input_open(&in, file->path, error);
        if (st == LOB_OK) lob_input_close(&in);
        return st;
    }
    lob_read_options options = lob_session_read_options(job->run, 0);
    options.header_only = true;
    lob_volume header;
    const lob_status st = lob_read(&header, file->path, &options, NULL, error);
    if (st == LOB_OK) lob_volume_free(&header);
    /* some commands take a file with several data sets, and the others say so */
    return st != LOB_OK && error->hint == LOB_HINT_CHOOSE_SET ? LOB_OK : st;
}

/* The recipe and its report are files of this run too. Their user is the number behind those of the
 * lines. */
static lob_status note_own_files(lob_recipe_job *job, lob_file_uses *uses)
{
    const char *const report = job->run->report_path;
    lob_file_use *use[2];
    if (job->name) {
        LOB_TRY(lob_file_uses_of(use, uses, job->name, false, true));
        lob_file_use_read(use[0], job->line_count);
    }
    if (report) {
        LOB_TRY(lob_file_uses_of(use, uses, report, false, false));
        lob_file_use_write(use[0], job->line_count);
    }
    return LOB_OK;
}

/* No line before writes an output or reads it; and neither is it of this run, nor an input its
 * report. */
static lob_status check_use(lob_recipe_job *job, int i, const lob_line_file *file,
                            const lob_file_use *use)
{
    lob_error *const error = &job->run->error;
    const int64_t own = job->line_count, reader = lob_file_use_other(use->readers, i);
    const int64_t user = use->writer >= 0 && use->writer != i ? use->writer : reader;
    if (user == own && (file->is_output || user == use->writer))
        return lob_fail(error, LOB_EARG,
                        "%s: is the %s of this run; give the other file a name of its own",
                        file->path, user == use->writer ? "report" : "recipe");
    if (user < 0 || !file->is_output) return LOB_OK;
    return lob_fail(error, LOB_EARG, "%s: %s %s it already; give the output a name of its own",
                    file->path, job->lines[user].place, user == use->writer ? "writes" : "reads");
}

static lob_status check_file(lob_recipe_job *job, lob_file_uses *uses, int i,
                             const lob_line_file *file)
{
    lob_file_use *use[2];
    bool made = false;
    if (lob_file_uses_of(use, uses, file->path, lob_content_is_volume(file->content),
                         !file->is_output) != LOB_OK)
        return lob_fail(&job->run->error, LOB_ENOMEM, "out of memory");
    for (int k = 0; k < 2 && use[k]; k++) {
        LOB_TRY(check_use(job, i, file, use[k]));
        made = made || use[k]->writer >= 0;
        if (file->is_output)
            lob_file_use_write(use[k], i);
        else
            lob_file_use_read(use[k], i);
    }
    return file->is_output || made ? LOB_OK : check_is_there(job, file);
}

static lob_status check_name(lob_recipe_job *job, lob_file_uses *uses, int i,
                             const lob_line_file *file)
{
    if (is_stdout(file)) return LOB_OK;
    if (lob_is_stored_name(file->path))
        return (file->is_output ? check_stored_output : check_stored_input)(job, i, file->path);
    return check_file(job, uses, i, file);
}

/* ---- all of it ---- */

lob_status lob_line_check(lob_recipe_job *job, lob_line *l)
{
    lob_line_free(l);
    /* with --skip-existing the recipe as a whole looks for outputs */
    l->force = job->run->force || job->run->skip_existing;
    return l->status = job->run->caller->check(&l->command, l->word_count - 1, l->words + 1);
}

/* For --skip-existing: are all outputs that stay there? */
static lob_status find_existing(lob_recipe_job *job, bool *skip)
{
    lob_existing e = {NULL};
    for (int i = 0; i < job->line_count; i++)
        for (int f = 0; f < job->lines[i].file_count; f++) {
            const lob_line_file *const file = &job->lines[i].files[f];
            if (!file->is_output || lob_is_stored_name(file->path) || is_stdout(file)) continue;
            if (lob_existing_look(&e, file->path, lob_content_is_volume(file->content)) != LOB_OK)
                return lob_fail(&job->run->error, LOB_ENOMEM, "out of memory");
        }
    return lob_existing_judge(&e, skip, &job->run->error);
}

/* Give files that are read more than once rows in the store. */
static lob_status note_second_reads(lob_recipe_job *job)
{
    lob_names seen = {NULL};
    bool fits = true;
    int64_t number = 0;
    for (int i = 0; i < job->line_count; i++)
        for (int f = 0; f < job->lines[i].file_count && fits; f++, number++) {
            const lob_line_file *const file = &job->lines[i].files[f];
            if (file->is_output || !lob_content_is_volume(file->content) ||
                lob_is_stored_name(file->path))
                continue;
            const int64_t *const first = lob_names_add(&seen, file->path, number);
            lob_stored *row = first ? lob_store_find(&job->store, file->path) : NULL;
            if (!row && first && *first < number) row = lob_store_add(&job->store, file->path, -1);
            if (row) row->last = i;
            fits = first && (row || *first == number);
        }
    lob_names_free(&seen);
    return fits ? LOB_OK : lob_fail(&job->run->error, LOB_ENOMEM, "out of memory");
}

/* Inputs before outputs, so that a line does not read what it makes itself. */
static lob_status check_line(lob_recipe_job *job, lob_file_uses *uses, int i)
{
    const lob_line *const l = &job->lines[i];
    LOB_TRY(lob_session_cancelled(job->run));
    for (int output = 0; output < 2; output++)
        for (int f = 0; f < l->file_count; f++)
            if (l->files[f].is_output == (output == 1))
                LOB_TRY(at_line(job, l, check_name(job, uses, i, &l->files[f])));
    return LOB_OK;
}

static lob_status check_names(lob_recipe_job *job)
{
    lob_file_uses uses = {NULL};
    lob_status st = note_own_files(job, &uses);
    if (st != LOB_OK) lob_fail(&job->run->error, st, "out of memory");
    for (int i = 0; i < job->line_count && st == LOB_OK; i++) st = check_line(job, &uses, i);
    lob_file_uses_free(&uses);
    return st;
}

lob_status lob_recipe_job_check_options(lob_recipe_job *job, bool *skip)
{
    *skip = false;
    for (int i = 0; i < job->line_count; i++) {
        LOB_TRY(lob_session_cancelled(job->run));
        LOB_TRY(lob_line_check(job, &job->lines[i]));
    }
    return job->run->skip_existing ? find_existing(job, skip) : LOB_OK;
}

lob_status lob_recipe_job_check_usage(lob_recipe_job *job)
{
    for (int i = 0; i < job->line_count; i++) {
        if (lob_line_check(job, &job->lines[i]) == LOB_EARG) return LOB_EARG;
        job->run->error = (lob_error){.text = ""};
    }
    return LOB_OK;
}

lob_status lob_recipe_job_check_files(lob_recipe_job *job)
{
    LOB_TRY(check_names(job));
    LOB_TRY(note_second_reads(job));
    for (int i = 0; i < job->store.count; i++) {
        const lob_stored *const row = &job->store.rows[i];
        if (row->last < 0 && row->name[1] != '_')
            lob_session_note(job->run, "%s: makes %s, which no line reads",
                             job->lines[row->made].place, row->name);
    }
    return LOB_OK;
}
