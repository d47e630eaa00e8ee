/* A batch: its recipe and scans, the table, the devices, the work, the end. */
#include "tools/batch/batch_run.h"

#include "io/file.h"
#include "tools/batch/batch_page.h"
#include "tools/batch/batch_work.h"
#include "tools/recipe/recipe_book.h"
#include "tools/text/names.h"
#include "tools/text/path.h"
#include "volumes/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* ---- the recipe ---- */

/* A command's words as a line of a recipe: in double quotes, where {name} is a placeholder. */
static void put_line(lob_text *text, const lob_batch_settings *set)
{
    for (int i = 0; i < set->line_count; i++) {
        lob_text_add(text, i ? " \"" : "", i ? 2 : 0);
        for (const char *c = set->line[i]; *c; c++) {
            if (i && strchr("$`\"\\", *c)) lob_text_add(text, "\\", 1);
            lob_text_add(text, c, 1);
        }
        lob_text_add(text, "\"", i ? 1 : 0);
    }
    lob_text_add(text, "\n", 1);
}

/* What stands behind "--" is a recipe, whose file is made with the log. */
static lob_status read_recipe(lob_session *s, const lob_batch_settings *set, lob_batch *batch)
{
    char **const path = &batch->recipe_path;
    lob_input file = {NULL};
    if (set->line) {
        *path = lob_path_in(batch->folder, LOB_BATCH_RECIPE_FILE);
        put_line(&batch->recipe_text, set);
    } else {
        LOB_TRY(lob_recipe_find(path, set->recipe, &s->error));
        LOB_TRY(lob_input_open(&file, *path, &s->error));
        lob_text_add(&batch->recipe_text, (const char *)file.bytes, file.size);
        lob_input_close(&file);
    }
    if (!*path || batch->recipe_text.failed) return lob_session_no_memory(s, batch->folder);
    const char *const slash = strrchr(*path, '/');
    batch->plan.recipe_path = *path;
    batch->plan.is_typed = set->line != NULL;
    batch->plan.out = set->out;
    batch->plan.label = set->line ? "lobule" : slash ? slash + 1 : *path;
    return lob_recipe_parse(&batch->plan.recipe, batch->recipe_text.bytes, batch->recipe_text.size,
                            set->line ? NULL : *path, &s->error);
}

/* ---- the plan ---- */

static lob_status make_folders(lob_session *s, const lob_batch *batch)
{
    char *const inside = lob_path_in(batch->folder, LOB_BATCH_RECIPE_FILE);
    if (!inside) return lob_session_no_memory(s, batch->folder);
    const bool made = lob_make_folders(inside);
    free(inside);
    if (!made)
        return lob_fail(&s->error, LOB_ECREATE,
                        "%s: cannot be made; name another folder with --log", batch->folder);
    if (mkdir(batch->own_folder, 0777) != 0 && access(batch->own_folder, W_OK) != 0)
        return lob_fail(&s->error, LOB_ECREATE, "%s: cannot be made", batch->own_folder);
    return LOB_OK;
}

static lob_status make_plan(lob_session *s, const lob_batch_settings *set, lob_batch *batch)
{
    lob_columns columns;
    lob_shard shard;
    LOB_TRY(read_recipe(s, set, batch));
    LOB_TRY(lob_shard_parse(&shard, set->shard, &s->error));
    const int made = shard.count ? asprintf(&batch->own_folder, "%s/shard-%d-of-%d", batch->folder,
                                            shard.index, shard.count)
                                 : asprintf(&batch->own_folder, "%s", batch->folder);
    if (made < 0) return lob_session_no_memory(s, batch->folder);
    LOB_TRY(set->images ? lob_columns_find(&columns, set->images, &s->error)
                        : lob_columns_read(&columns, set->manifest, &s->error));
    const lob_status st =
        lob_batch_plan_make(&batch->plan, &columns, set->given, set->given_count, &s->error);
    lob_columns_free(&columns);
    LOB_TRY(st);
    LOB_TRY(lob_batch_check_usage(batch));
    LOB_TRY(make_folders(s, batch));
    return lob_shard_divide(&batch->plan, shard, batch->folder, &s->error);
}

/* Find the row that each scan had before. */
static lob_status find_before(lob_session *s, lob_batch *batch)
{
    const lob_batch_table *const table = &batch->log.before;
    lob_names names = {NULL};
    batch->before = calloc((size_t)batch->plan.count + 1, sizeof(void *));
    bool fits = batch->before != NULL;
    for (int64_t i = 0; i < table->count && fits; i++)
        fits = lob_names_add(&names, table->rows[i].scan, i) != NULL;
    for (int64_t i = 0; i < batch->plan.count && fits; i++) {
        const int64_t at = lob_names_find(&names, batch->plan.scans[i].name);
        batch->before[i] = at < 0 ? NULL : &table->rows[at];
    }
    lob_names_free(&names);
    return fits ? LOB_OK : lob_session_no_memory(s, batch->log.path);
}

/* Once nobody else is at work in the folder, and what is there may be replaced. */
static lob_status write_recipe(lob_session *s, lob_batch *batch)
{
    char *const path = lob_path_in(batch->folder, LOB_BATCH_RECIPE_FILE);
    if (!path) return lob_session_no_memory(s, batch->folder);
    const lob_status st = lob_text_save(&batch->recipe_text, path, true, &s->error);
    free(path);
    return st;
}

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
static lob_work_plan plan_work(const lob_session *s, const lob_batch_settings *set,
                               const lob_batch *batch)
{
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

/* What commands print would come out of all scans at once; their results are in the reports. */
static void silence_stdout(void)
{
    fflush(stdout);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) return;
    dup2(null, STDOUT_FILENO);
    close(null);
}

/*
 * A scan takes again what the scan before it has freed: the system does not have to take back, to
 * clear and to hand out the same pages. The heap may grow past what lies in it, so that this is
 * for batches without a limit of memory.
 */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1);
    mallopt(M_TOP_PAD, 64 << 20);
#endif
}

lob_status lob_batch_show(lob_session *s, int pictures, const lob_batch_table *table,
                          const lob_batch_summary *summary, const char *folder)
{
    const lob_page_options options = {
        .threads = s->context.threads, .max_memory = s->max_memory, .pictures = pictures};
    const double start_s = lob_clock_s();
    const lob_status st = lob_batch_page_write(folder, table, summary, &options, &s->error);
    lob_session_stage(s, "page", start_s);
    return st;
}

/* Put the table in order, and write what sums it up; the page where the batch has no shards. */
static lob_status finish(lob_session *s, const lob_batch_settings *set, const lob_batch *batch,
                         const lob_batch_summary *summary)
{
    const lob_batch_plan *const plan = &batch->plan;
    const char **const names = calloc((size_t)plan->count + 1, sizeof *names);
    lob_batch_table table;
    int64_t n = 0;
    if (!names) return lob_session_no_memory(s, batch->own_folder);
    for (int64_t i = 0; i < plan->count; i++)
        if (!plan->scans[i].elsewhere) names[n++] = plan->scans[i].name;
    lob_status st = lob_batch_table_read(&table, batch->log.path, "", &s->error);
    if (st == LOB_OK)
        st = lob_batch_end_write(&table, summary, names, n, batch->own_folder, &s->error);
    if (st == LOB_OK && strcmp(batch->own_folder, batch->folder) == 0 &&
        lob_session_cancelled(s) == LOB_OK)
        st = lob_batch_show(s, set->pictures, &table, summary, batch->folder);
    lob_batch_table_free(&table);
    free(names);
    return st;
}

static lob_status do_scans(lob_session *s, const lob_batch_settings *set, lob_batch *batch,
                           lob_status *worst)
{
    lob_batch_summary summary;
    LOB_TRY(write_recipe(s, batch));
    LOB_TRY(find_before(s, batch));
    const lob_work_plan plan = plan_work(s, set, batch);
    silence_stdout();
    if (s->max_memory == 0) keep_freed_memory();
    const lob_status st = lob_work_run(batch, &plan, &summary, worst, &s->error);
    const lob_error reason = s->error;
    if (st != LOB_OK && st != LOB_ECANCEL) return st;
    const lob_status written = finish(s, set, batch, &summary);
    if (!s->quiet) lob_batch_summary_print(&summary);
    if (st == LOB_OK) return written;
    s->error = reason;
    return st;
}

/* The devices come before the table: without them a batch leaves nothing. */
static lob_status begin_and_do(lob_session *s, const lob_batch_settings *set, lob_batch *batch,
                               lob_status *worst)
{
    LOB_TRY(make_plan(s, set, batch));
    LOB_TRY(lob_pool_open(&batch->pool, s->device.backend, s->device.index, s->context.threads,
                          keep_waiting, s, &s->error));
    lob_status st =
        lob_batch_log_open(&batch->log, batch->own_folder, set->resume, s->force, &s->error);
    if (st == LOB_OK) {
        st = do_scans(s, set, batch, worst);
        lob_batch_log_close(&batch->log);
    }
    lob_pool_close(&batch->pool);
    return st;
}

lob_status lob_batch_run(lob_session *s, const lob_batch_settings *set, const char *folder,
                         lob_status *worst)
{
    lob_batch batch = {.session = s, .folder = folder};
    const lob_status st = begin_and_do(s, set, &batch, worst);
    lob_file_uses_free(&batch.files);
    lob_batch_plan_free(&batch.plan);
    lob_text_free(&batch.recipe_text);
    free(batch.before);
    free(batch.own_folder);
    free(batch.recipe_path);
    return st;
}
