/* lobule batch: a recipe over many scans, in one process or in shards. */
#include "io/file.h"
#include "tools/batch/batch_merge.h"
#include "tools/batch/batch_page.h"
#include "tools/batch/batch_work.h"
#include "tools/commands/commands.h"
#include "tools/recipe/recipe_book.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

typedef struct {
    lob_words words;
    const char *images, *out, *log, *shard;
    int jobs, pictures;
    bool resume, fail_fast, merge, page;

    char *const *line; /* what stands behind "--"; NULL: nothing does */
    int line_count;

    /* what the words are */
    const char *recipe, *manifest, *given[LOB_WORDS];
    int given_count;
} settings;

/* ---- arguments ---- */

/* NAME=PATTERN: a file of such a name is ./NAME=PATTERN. */
static bool is_value(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    return strchr(letters, word[0]) && word[0] && word[strspn(word, others)] == '=';
}

static lob_status sort_words(lob_session *s, settings *set)
{
    const char **const places[] = {set->line ? NULL : &set->recipe,
                                   set->images ? NULL : &set->manifest};
    for (int i = 0; i < set->words.count; i++) {
        const char *const word = set->words.word[i];
        size_t p = 0;
        if (is_value(word)) {
            set->given[set->given_count++] = word;
            continue;
        }
        while (p < LOB_COUNT(places) && (!places[p] || *places[p])) p++;
        if (p == LOB_COUNT(places))
            return lob_fail(&s->error, LOB_EARG, "'%s' is one word too many%s", word,
                            set->images ? "; --images stands in the place of a manifest" : "");
        *places[p] = word;
    }
    if (places[0] && !set->recipe)
        return lob_fail(&s->error, LOB_EARG,
                        "RECIPE is missing; name one, or write a command behind --, as in: lobule "
                        "batch scans.tsv -- components {image} -o {out}");
    if (places[1] && !set->manifest)
        return lob_fail(&s->error, LOB_EARG,
                        "MANIFEST is missing; name a TSV with a line a scan, or use --images "
                        "'PATTERN'");
    return LOB_OK;
}

/* A command's words as a line of a recipe: in double quotes, where {name} is a placeholder. */
static char *recipe_text(const settings *set)
{
    lob_text text = {NULL};
    for (int i = 0; i < set->line_count; i++) {
        lob_text_add(&text, i ? " \"" : "", i ? 2 : 0);
        for (const char *c = set->line[i]; *c; c++) {
            if (i && strchr("$`\"\\", *c)) lob_text_add(&text, "\\", 1);
            lob_text_add(&text, c, 1);
        }
        lob_text_add(&text, "\"", i ? 1 : 0);
    }
    lob_text_add(&text, "\n", 1);
    return lob_text_take(&text);
}

/* The folder of what the batch leaves, unless --log names one; malloc'ed. */
static char *usual_folder(const settings *set)
{
    char *folder;
    if (set->log) return strdup(set->log);
    if (set->out) return lob_path_in(set->out, "batch");
    const char *const from = set->manifest ? set->manifest : "lobule";
    const char *const slash = strrchr(from, '/'), *const dot = strrchr(from, '.');
    const int n =
        dot && dot > from && (!slash || dot > slash + 1) ? (int)(dot - from) : (int)strlen(from);
    return asprintf(&folder, "%.*s.batch", n, from) < 0 ? NULL : folder;
}

/* ---- the plan ---- */

/* What stands behind "--" is a recipe, whose file is made with the log. */
static lob_status read_line(lob_session *s, const settings *set, lob_batch *batch, char **path)
{
    *path = lob_path_in(batch->folder, LOB_BATCH_RECIPE_FILE);
    batch->recipe_text = recipe_text(set);
    if (!*path || !batch->recipe_text) return lob_session_no_memory(s, batch->folder);
    return lob_recipe_parse(&batch->plan.recipe, batch->recipe_text, strlen(batch->recipe_text),
                            *path, &s->error);
}

static lob_status read_file(lob_session *s, const settings *set, lob_batch *batch, char **path)
{
    lob_input file;
    LOB_TRY(lob_recipe_find(path, set->recipe, &s->error));
    LOB_TRY(lob_input_open(&file, *path, &s->error));
    const char *const bytes = (const char *)file.bytes;
    const lob_status st = lob_recipe_parse(&batch->plan.recipe, bytes, file.size, *path, &s->error);
    if (st == LOB_OK) batch->recipe_text = strndup(bytes, file.size);
    lob_input_close(&file);
    return st == LOB_OK && !batch->recipe_text ? lob_session_no_memory(s, *path) : st;
}

/* A command behind "--" has no file that could be named: take its name off what was wrong. */
static lob_status in_line(lob_session *s, const settings *set, const lob_batch *batch,
                          lob_status st)
{
    const char *const path = batch->plan.recipe_path;
    const lob_error reason = s->error;
    const char *text = reason.text;
    if (st == LOB_OK || !set->line || !path || strncmp(text, path, strlen(path)) != 0) return st;
    text += strlen(path);
    if (strncmp(text, ":1", 2) == 0) text += 2;
    if (strncmp(text, ": ", 2) == 0) text += 2;
    return lob_fail_hint(&s->error, st, reason.hint, "%s%s",
                         strncmp(text, "has no", 6) == 0 ? "what follows -- " : "", text);
}

static lob_status read_recipe(lob_session *s, const settings *set, lob_batch *batch, char **path)
{
    const lob_status st =
        set->line ? read_line(s, set, batch, path) : read_file(s, set, batch, path);
    batch->plan.recipe_path = *path;
    return in_line(s, set, batch, st);
}

static lob_status make_folders(lob_session *s, const lob_batch *batch, const char *own)
{
    char *const inside = lob_path_in(batch->folder, LOB_BATCH_RECIPE_FILE);
    if (!inside) return lob_session_no_memory(s, batch->folder);
    lob_status st = LOB_OK;
    if (!lob_make_folders(inside))
        st = lob_fail(&s->error, LOB_ECREATE, "%s: cannot be made; name another folder with --log",
                      batch->folder);
    else if (mkdir(own, 0777) != 0 && access(own, W_OK) != 0)
        st = lob_fail(&s->error, LOB_ECREATE, "%s: cannot be made", own);
    free(inside);
    return st;
}

/* Once nobody else is at work in the folder, and what is there may be replaced. */
static lob_status write_recipe(lob_session *s, const lob_batch *batch)
{
    char *const path = lob_path_in(batch->folder, LOB_BATCH_RECIPE_FILE);
    if (!path) return lob_session_no_memory(s, batch->folder);
    const lob_status st = lob_batch_write_file(path, batch->recipe_text, &s->error);
    free(path);
    return st;
}

static lob_status make_plan(lob_session *s, const settings *set, lob_batch *batch, const char *own)
{
    lob_columns columns;
    lob_shard shard;
    LOB_TRY(lob_shard_parse(&shard, set->shard, &s->error));
    LOB_TRY(set->images ? lob_columns_find(&columns, set->images, &s->error)
                        : lob_columns_read(&columns, set->manifest, &s->error));
    const char *const slash = strrchr(batch->plan.recipe_path, '/');
    batch->plan.out = set->out;
    batch->plan.label = set->line ? "lobule" : slash ? slash + 1 : batch->plan.recipe_path;
    lob_status st =
        lob_batch_plan_make(&batch->plan, &columns, set->given, set->given_count, &s->error);
    lob_columns_free(&columns);
    st = in_line(s, set, batch, st);
    if (st == LOB_OK) st = in_line(s, set, batch, lob_batch_check_usage(batch));
    if (st == LOB_OK) st = make_folders(s, batch, own);
    if (st == LOB_OK) st = lob_shard_divide(&batch->plan, shard, batch->folder, &s->error);
    return st;
}

/* ---- resuming ---- */

static int by_scan(const void *a, const void *b)
{
    return strcmp((*(const lob_batch_row *const *)a)->scan,
                  (*(const lob_batch_row *const *)b)->scan);
}

/* Find the row that each scan had before. */
static lob_status find_before(lob_session *s, lob_batch *batch)
{
    const lob_batch_table *const table = &batch->log.before;
    const lob_batch_row **const rows = calloc((size_t)table->count + 1, sizeof(void *));
    batch->before = calloc((size_t)batch->plan.count + 1, sizeof(void *));
    if (!rows || !batch->before) {
        free(rows);
        return lob_session_no_memory(s, batch->log.path);
    }
    for (int64_t i = 0; i < table->count; i++) rows[i] = &table->rows[i];
    qsort(rows, (size_t)table->count, sizeof(void *), by_scan);
    for (int64_t i = 0; i < batch->plan.count; i++) {
        const lob_batch_row key = {.scan = batch->plan.scans[i].name}, *const wanted = &key;
        const lob_batch_row *const *const at =
            bsearch(&wanted, rows, (size_t)table->count, sizeof(void *), by_scan);
        batch->before[i] = at ? *at : NULL;
    }
    free(rows);
    return LOB_OK;
}

/* ---- the work ---- */

static bool keep_waiting(void *user)
{
    lob_session *const s = user;
    return lob_session_cancelled(s) == LOB_OK;
}

/*
 * What the process holds beside volumes and work: itself, and for each scan its stack, buffers, and
 * the pages of its files, which are mapped.
 */
static int64_t memory_beside(const lob_batch_plan *plan, int jobs)
{
    int64_t most = 0;
    for (int64_t i = 0; i < plan->count; i++)
        if (!plan->scans[i].elsewhere && plan->scans[i].bytes > most) most = plan->scans[i].bytes;
    return ((int64_t)16 << 20) + jobs * (((int64_t)6 << 20) + most);
}

/*
 * How many scans at a time: one a core, each with one thread, which takes least time for small and
 * middling scans; one more, while which others wait for the disk; and one more for each GPU, while
 * which the cores read and write others.
 */
static void plan_work(lob_work_plan *plan, const lob_session *s, const settings *set,
                      const lob_batch *batch)
{
    plan->threads = s->context.threads;
    plan->jobs = set->jobs > 0 ? set->jobs : plan->threads + 1 + batch->pool.gpus;
    int64_t bytes;
    const int64_t scans = lob_batch_plan_here(&batch->plan, &bytes);
    if (plan->jobs > scans) plan->jobs = scans > 0 ? (int)scans : 1;
    plan->fail_fast = set->fail_fast;
    const int64_t given = s->max_memory, least = given / 4;
    const int64_t left = given - memory_beside(&batch->plan, plan->jobs);
    plan->memory = given == 0 ? lob_memory_available() / 10 * 9 : left > least ? left : least;
    if (plan->memory < plan->jobs) plan->memory = plan->jobs;
}

static lob_status write_page(lob_session *s, const settings *set, const lob_batch_table *table,
                             const lob_batch_summary *summary, const char *folder)
{
    const lob_page_options options = {
        .threads = s->context.threads, .max_memory = s->max_memory, .pictures = set->pictures};
    const double start_s = lob_clock_s();
    const lob_status st = lob_batch_page_write(folder, table, summary, &options, &s->error);
    lob_session_stage(s, "page", start_s);
    return st;
}

static lob_status finish(lob_session *s, const settings *set, lob_batch *batch,
                         const lob_batch_summary *summary, const char *folder)
{
    const lob_batch_plan *const plan = &batch->plan;
    const char **const names = calloc((size_t)plan->count + 1, sizeof *names);
    lob_batch_table table;
    int64_t n = 0;
    if (!names) return lob_session_no_memory(s, folder);
    for (int64_t i = 0; i < plan->count; i++)
        if (!plan->scans[i].elsewhere) names[n++] = plan->scans[i].name;
    lob_status st = lob_batch_log_finish(&batch->log, &table, names, n, &s->error);
    free(names);
    if (st != LOB_OK) return st;
    st = lob_batch_end_write(&table, summary, folder, &s->error);
    const bool is_whole = strcmp(folder, batch->folder) == 0; /* no shard */
    if (st == LOB_OK && is_whole && lob_session_cancelled(s) == LOB_OK)
        st = write_page(s, set, &table, summary, folder);
    lob_batch_table_free(&table);
    return st;
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

/* Do the scans; *worst: what the batch ends with if it comes to its end. */
static lob_status work_in(lob_session *s, const settings *set, lob_batch *batch, const char *folder,
                          lob_status *worst)
{
    lob_work_plan plan;
    lob_batch_summary summary;
    plan_work(&plan, s, set, batch);
    silence_stdout();
    if (s->max_memory == 0) keep_freed_memory();
    const lob_status st = lob_work_run(batch, &plan, &summary, worst, &s->error);
    const lob_error reason = s->error;
    if (st != LOB_OK && st != LOB_ECANCEL) return st;
    const lob_status written = finish(s, set, batch, &summary, folder);
    if (!s->quiet) lob_batch_summary_print(&summary, stderr);
    if (st == LOB_OK) return written;
    s->error = reason;
    return st;
}

/* The folder of this shard, or of the batch; malloc'ed. */
static char *own_folder(const settings *set, const char *folder)
{
    lob_shard shard;
    char *own;
    if (lob_shard_parse(&shard, set->shard, NULL) != LOB_OK || shard.count == 0)
        return strdup(folder);
    return asprintf(&own, "%s/shard-%d-of-%d", folder, shard.index, shard.count) < 0 ? NULL : own;
}

static lob_status run_batch(lob_session *s, const settings *set, lob_batch *batch, char **recipe,
                            lob_status *worst)
{
    char *const own = own_folder(set, batch->folder);
    if (!own) return lob_session_no_memory(s, batch->folder);
    lob_status st = read_recipe(s, set, batch, recipe);
    if (st == LOB_OK) st = make_plan(s, set, batch, own);
    if (st == LOB_OK) /* before the table: without its devices a batch leaves nothing */
        st = lob_pool_open(&batch->pool, s->device.backend, s->device.index, s->context.threads,
                           keep_waiting, s, &s->error);
    if (st == LOB_OK) {
        st = lob_batch_log_open(&batch->log, own, batch->resume, s->force, &s->error);
        if (st == LOB_OK) {
            st = write_recipe(s, batch);
            if (st == LOB_OK) st = find_before(s, batch);
            if (st == LOB_OK) st = work_in(s, set, batch, own, worst);
            lob_batch_log_close(&batch->log);
        }
        lob_pool_close(&batch->pool);
    }
    free(own);
    return st;
}

/* What the whole is to end with where scans have failed: their rows have said what is wrong. */
static lob_status conclude(lob_session *s, const char *folder, lob_status worst)
{
    if (worst == LOB_OK || worst == LOB_EDIFFER) return worst;
    return lob_fail(&s->error, worst,
                    "scans have failed; the status table in %s says which and why, and --resume "
                    "does those again that are not done",
                    folder);
}

static lob_status merge(lob_session *s, const settings *set)
{
    lob_batch_table table;
    lob_batch_summary summary;
    int worst = 0;
    if (set->words.count != 1 || set->line || set->images || set->shard)
        return lob_fail(&s->error, LOB_EARG,
                        "--merge takes one word, the folder of --log: lobule batch --merge FOLDER");
    LOB_TRY(lob_batch_merge(&table, &summary, &worst, set->words.word[0], &s->error));
    const lob_status paged = write_page(s, set, &table, &summary, set->words.word[0]);
    lob_batch_table_free(&table);
    LOB_TRY(paged);
    if (!s->quiet) lob_batch_summary_print(&summary, stderr);
    lob_status status = LOB_OK;
    while (worst != 0 && status < LOB_ECANCEL && lob_status_exit_code(status) != worst) status++;
    return conclude(s, set->words.word[0], status);
}

/* The page of a batch that is there already. */
static lob_status page_again(lob_session *s, const settings *set)
{
    lob_batch_table table;
    if (set->words.count != 1 || set->line || set->images || set->shard || set->merge)
        return lob_fail(&s->error, LOB_EARG,
                        "--page takes one word, the folder of --log: lobule batch --page FOLDER");
    const char *const folder = set->words.word[0];
    char *const path = lob_path_in(folder, LOB_BATCH_STATUS_FILE);
    if (!path) return lob_session_no_memory(s, folder);
    lob_status st = lob_batch_table_read(&table, path, &s->error);
    free(path);
    if (st != LOB_OK) return st;
    st = write_page(s, set, &table, NULL, folder);
    lob_batch_table_free(&table);
    return st;
}

static lob_status work(lob_session *s, settings *set)
{
    lob_status worst = LOB_OK;
    if (set->page) return page_again(s, set);
    if (set->merge) return merge(s, set);
    LOB_TRY(sort_words(s, set));
    char *const folder = usual_folder(set);
    char *recipe = NULL;
    if (!folder) return lob_session_no_memory(s, "--log");
    lob_batch batch = {.session = s, .folder = folder, .resume = set->resume};
    lob_status st = run_batch(s, set, &batch, &recipe, &worst);
    if (st == LOB_OK) st = conclude(s, folder, worst);
    lob_claims_free(&batch.claims);
    free(batch.before);
    lob_batch_plan_free(&batch.plan);
    free(batch.recipe_text);
    free(recipe);
    free(folder);
    return st;
}

static int run(const lob_command *self, int argc, char **argv)
{
    settings set = {.jobs = 0, .pictures = LOB_PAGE_PICTURES};
    const lob_option rows[] = {
        OPERAND_WORDS("WORD", &set.words,
                      "RECIPE (a file, or the name of one that is installed), MANIFEST.tsv, and "
                      "NAME=PATTERN for {NAME} in the recipe"),
        OPT_TEXT("images", &set.images, "PATTERN",
                 "find scans by a pattern with * ? [ and ** instead of a manifest"),
        OPT_TEXT("out", &set.out, "FOLDER",
                 "where {out} goes, in folders as the images have them; they are made"),
        OPT_TEXT("log", &set.log, "FOLDER",
                 "where the status table, reports and summary go; left out: batch in --out's "
                 "FOLDER, else MANIFEST.batch"),
        OPT_FLAG("resume", &set.resume,
                 "go on with a batch: skip what is done and has not changed since"),
        OPT_FLAG("fail-fast", &set.fail_fast, "begin no scan once one has failed"),
        OPT_TEXT("shard", &set.shard, "I/N",
                 "do the I-th of N parts; left out in a task of a Slurm array: its own"),
        OPT_FLAG("merge", &set.merge, "join the tables of shards in the folder that is named"),
        OPT_FLAG("page", &set.page, "write the page of the batch in the folder that is named anew"),
        OPT_INT("pictures", &set.pictures, "N", 0, 100000, "scans that get a picture on the page"),
        OPT_INT("jobs", &set.jobs, "N", 1, 4096,
                "scans at a time; left out: one more than threads, and one more for each GPU"),
    };
    lob_session s;
    int own = 0;
    while (own < argc && strcmp(argv[own], "--") != 0) own++;
    if (own < argc) {
        set.line = argv + own + 1;
        set.line_count = argc - own - 1;
    }
    if (!lob_session_begin(&s, self, rows, LOB_COUNT(rows), own, argv)) return s.exit_code;
    s.argc = argc;
    return lob_session_end(&s, work(&s, &set));
}

const lob_command lob_command_batch = {
    .name = "batch",
    .summary = "run a recipe over many scans, several at a time",
    .description =
        "Does for each line of a manifest what `lobule run` does with its values, to the same "
        "bytes, in one process: while one scan is computed, others are read and written. The "
        "manifest is a TSV whose first line names its columns, and a column fills the placeholder "
        "of its name; a column scan, where there is one, names the scans. With --images the "
        "columns are image, folder, stem, bids and scan, made from the files' names, and {out} is "
        "a file under --out; bids keeps the suffix, as mod-T1w, where images would share it. "
        "NAME=PATTERN fills {NAME} in all scans, with the scan's cells in the "
        "places of {column}. What stands behind -- is a recipe of one line.\n"
        "A command or an option that is wrong for all scans is refused before the first of them. "
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
    .run = run,
    .runs_others = true,
    .many = true,
};
