/* lobule batch: a recipe over many scans, in one process or in shards. The table, the devices, the
 * work, the end; its recipe and scans are in batch_words.c. */
#include "io/platform.h"
#include "tools/batch/batch_page.h"
#include "tools/batch/batch_words.h"
#include "tools/commands/commands.h"
#include "tools/platform/process.h"

#include <stdlib.h>
#include <string.h>

typedef lob_batch_settings batch_settings;

/* ---- the work ---- */

static bool keep_waiting(void *user)
{
    lob_session *const s = user;
    return lob_session_cancelled(s) == LOB_OK;
}

/*
 * How many scans at a time: one a core, each with one thread, which takes least time for small and
 * middling scans; one more, while which others wait for the disk; and one more for each GPU, while
 * which the cores read and write others. The process holds more than volumes and work: itself, and
 * for each scan its stack, buffers, and the pages of its files, which are mapped.
 */
static lob_work_plan plan_work(const lob_session *s, const batch_settings *set)
{
    const lob_batch *const batch = &set->batch;
    lob_work_plan plan = {.threads = s->context.threads, .fail_fast = set->fail_fast};
    int64_t bytes, most;
    plan.jobs = set->jobs > 0 ? set->jobs : plan.threads + 1 + batch->pool.gpus;
    const int64_t scans = lob_batch_plan_here(&batch->plan, &bytes, &most);
    if (plan.jobs > scans) plan.jobs = scans > 0 ? (int)scans : 1;
    const int64_t beside = ((int64_t)16 << 20) + plan.jobs * (((int64_t)6 << 20) + most);
    const int64_t given = s->max_memory, least = given / 4, left = given - beside;
    plan.memory = given == 0 ? lob_memory_available() / 10 * 9 : left > least ? left : least;
    if (plan.memory < plan.jobs) plan.memory = plan.jobs;
    return plan;
}

/* Put the table in order, and write what sums it up; the page where the batch has no shards. */
static lob_status finish(lob_session *s, const batch_settings *set,
                         const lob_batch_summary *summary, lob_status *worst)
{
    const lob_batch *const batch = &set->batch;
    const lob_batch_plan *const plan = &batch->plan;
    const char **const names = calloc((size_t)plan->count + 1, sizeof *names);
    lob_batch_table table;
    int64_t n = 0;
    if (!names) return lob_session_no_memory(s, batch->own_folder);
    for (int64_t i = 0; i < plan->count; i++)
        if (!plan->scans[i].elsewhere) names[n++] = plan->scans[i].name;
    lob_status st = lob_batch_table_read(&table, batch->own_folder, "", &s->error);
    if (st == LOB_OK)
        st = lob_batch_end_write(&table, summary, names, n, batch->own_folder, &s->error);
    if (st == LOB_OK) *worst = lob_batch_worst(&table, n - summary->left, summary);
    if (st == LOB_OK && strcmp(batch->own_folder, batch->folder) == 0 &&
        lob_session_cancelled(s) == LOB_OK)
        st = lob_batch_page_write(s, batch->folder, &table, summary, set->pictures);
    lob_batch_table_free(&table);
    free(names);
    return st;
}

/* worst: what it ends with if it comes to its end. The devices come before the
 * table: without them a batch leaves nothing. */
static lob_status do_scans(lob_session *s, batch_settings *set, lob_status *worst)
{
    lob_batch *const batch = &set->batch;
    lob_batch_summary summary;
    LOB_TRY(lob_pool_open(&batch->pool, s->device.backend, s->device.index, s->context.threads,
                          keep_waiting, s, &s->error));
    LOB_TRY(lob_batch_log_open(&batch->log, batch->own_folder, set->resume, s->force, &s->error));
    /* now nobody else is at work in the folder, and what is there may be replaced */
    LOB_TRY(lob_batch_save(&batch->recipe_text, batch->folder, LOB_BATCH_RECIPE_FILE, &s->error));
    const lob_work_plan plan = plan_work(s, set);
    /* what commands print would come out of all scans at once; it is in the reports */
    lob_stdout_silence();
    if (s->max_memory == 0) lob_process_keep_memory();
    const lob_status st = lob_work_run(batch, &plan, &summary, &s->error);
    const lob_error reason = s->error;
    if (st != LOB_OK && st != LOB_ECANCEL) return st;
    lob_batch_log_end(&batch->log);
    const lob_status written = finish(s, set, &summary, worst);
    if (!s->quiet) lob_batch_summary_print(&summary);
    if (st == LOB_OK) return written;
    s->error = reason;
    return st;
}

/* ---- the command ---- */

/* What the whole is to end with where scans have failed: their rows have said what is wrong. */
static lob_status conclude(lob_session *s, const char *folder, lob_status worst)
{
    if (worst == LOB_OK || worst == LOB_EDIFFER) return worst;
    return lob_fail(&s->error, worst,
                    "scans have failed; the status table in %s says which and why, and --resume "
                    "does those again that are not done",
                    folder);
}

/* --merge and --page stand alone with a folder. */
static lob_status check_alone(lob_session *s, const batch_settings *set, const char *option)
{
    if (set->words.count == 1 && !s->line && !set->images && !set->shard &&
        !(set->merge && set->page))
        return LOB_OK;
    return lob_fail(&s->error, LOB_EARG,
                    "--%s takes one word, the folder of --log: lobule batch --%s FOLDER", option,
                    option);
}

static lob_status merge(lob_session *s, const batch_settings *set)
{
    lob_batch_table table;
    lob_batch_summary summary;
    LOB_TRY(check_alone(s, set, "merge"));
    LOB_TRY(lob_batch_merge(&table, &summary, set->words.word[0], &s->error));
    const lob_status worst = lob_batch_worst(&table, table.count, &summary);
    const lob_status shown =
        lob_batch_page_write(s, set->words.word[0], &table, &summary, set->pictures);
    lob_batch_table_free(&table);
    LOB_TRY(shown);
    if (!s->quiet) lob_batch_summary_print(&summary);
    return conclude(s, set->words.word[0], worst);
}

/* The page of a batch that is there already. */
static lob_status page_again(lob_session *s, const batch_settings *set)
{
    lob_batch_table table;
    LOB_TRY(check_alone(s, set, "page"));
    LOB_TRY(lob_batch_table_read(&table, set->words.word[0], "", &s->error));
    const lob_status st = lob_batch_page_write(s, set->words.word[0], &table, NULL, set->pictures);
    lob_batch_table_free(&table);
    return st;
}

static lob_status work(lob_session *s, void *user)
{
    batch_settings *const set = user;
    lob_batch *const batch = &set->batch;
    lob_status worst = LOB_OK;
    if (set->page) return page_again(s, set);
    if (set->merge) return merge(s, set);
    LOB_TRY(lob_batch_prepare(s, set));
    LOB_TRY(do_scans(s, set, &worst));
    return conclude(s, batch->folder, worst);
}

static void release(void *user)
{
    lob_batch *const batch = &((batch_settings *)user)->batch;
    lob_batch_log_close(&batch->log);
    lob_pool_close(&batch->pool);
    lob_file_uses_free(&batch->files);
    lob_batch_plan_free(&batch->plan);
    lob_text_free(&batch->recipe_text);
    free(batch->own_folder);
    free(batch->recipe_path);
    free(batch->folder);
}

static void options(lob_rows *to, void *user)
{
    batch_settings *const set = user;
    set->pictures = LOB_PAGE_PICTURES;
    const lob_option rows[] = {
        OPERAND_WORDS("WORD", &set->words,
                      "RECIPE (a file, or the name of one that is installed), MANIFEST.tsv, and "
                      "NAME=PATTERN for {NAME} in the recipe"),
        OPT_TEXT("images", &set->images, "PATTERN",
                 "find scans, files or folders of DICOM or Zarr, by a pattern with * ? [ and ** "
                 "instead of a "
                 "manifest"),
        OPT_TEXT("out", &set->out, "FOLDER",
                 "where {out} goes, in folders as the images have them; they are made"),
        OPT_TEXT("log", &set->log, "FOLDER",
                 "where the status table, reports and summary go; left out: batch in --out's "
                 "FOLDER, else MANIFEST.batch"),
        OPT_FLAG("resume", &set->resume,
                 "go on with a batch: skip what is done and has not changed since"),
        OPT_FLAG("fail-fast", &set->fail_fast, "begin no scan once one has failed"),
        OPT_TEXT("shard", &set->shard, "I/N",
                 "do the I-th of N parts; left out in a task of a Slurm array: its own"),
        OPT_FLAG("merge", &set->merge, "join the tables of shards in the folder that is named"),
        OPT_FLAG("page", &set->page,
                 "write the page of the batch in the folder that is named anew"),
        OPT_INT("pictures", &set->pictures, "N", 0, 100000, "scans that get a picture on the page"),
        OPT_INT("jobs", &set->jobs, "N", 1, 4096,
                "scans at a time; left out: one more than threads, and one more for each GPU"),
    };
    LOB_ROWS(to, rows);
}

const lob_command lob_command_batch = {
    .name = "batch",
    .summary = "run a recipe over many scans, several at a time",
    .description =
        "Does for each line of a manifest what `lobule run` does with its values, to the same "
        "bytes, in one process: while one scan is computed, others are read and written. The "
        "manifest is a TSV whose first line names its columns (in a cell \\t, \\n, \\r and \\\\ "
        "stand "
        "for these characters), and a column fills the placeholder of its name; a column scan, "
        "where there is one, names the scans. With --images the "
        "columns are image, folder, stem, bids and scan, made from the files' names, and {out} is "
        "a file under --out; bids keeps the suffix, as mod-T1w, where images would share it. "
        "NAME=PATTERN fills {NAME} in all scans, with the scan's cells in the "
        "places of {column}. What stands behind -- is a recipe of one line.\n"
        "A command or an option that is wrong for all scans is refused before the first of them. "
        "Folders of outputs are made where they are missing. "
        "One scan that fails does not stop the others (--fail-fast does). The status table has a "
        "row a scan: state, exit code, message, seconds by stage, voxels, labels, checksums. "
        "Beside it are the report of each scan, one table of all regions (from the tables that "
        "lines write; --table - makes one for this alone), a summary, and page.html: failures "
        "first, then scans whose volumes are far from the others', lack a label or are more in "
        "doubt, with pictures of the first 500 (--pictures), but none of a time series. What "
        "commands print is left out.\n"
        "Rows are written as scans end. After a crash, a kill or Ctrl-C, --resume skips the scans "
        "that are done where the recipe's line, the inputs (by size and time, or else SHA-256) and "
        "the outputs' sizes are the same, and does the others again.\n"
        "--shard I/N, or a Slurm array, does one of N parts, balanced by the size of files; when "
        "all are done, --merge joins their tables. A batch leases each GPU that it uses, and waits "
        "where another has them all; --device cuda:all takes all that are free, --device all the "
        "CPU as well. --max-memory bounds all scans together.\n"
        "The exit code is 0 where all scans are done, else that of the first in the manifest that "
        "failed; 75 only if all that failed may be tried again; 1 where none failed and a line "
        "such as compare --strict found a difference, in scans that --resume skips and in shards "
        "that --merge joins, too.",
    .examples = "lobule batch liver.recipe scans.tsv\n"
                "lobule batch scans.tsv -- components {image} -o {out} --above 100 --table -\n"
                "lobule batch cells.recipe --images 'raw/**/*.nii.gz' --out made --resume\n"
                "lobule batch --page scans.batch",
    .compares = true,
    .settings_bytes = sizeof(batch_settings),
    .options = options,
    .work = work,
    .release = release,
    .takes_line = true,
    .runs_others = true,
    .many = true,
};
