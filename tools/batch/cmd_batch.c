/* lobule batch: a recipe over many scans, in one process or in shards. The words, the devices, the
 * work, the end. */
#include "io/file.h"
#include "tools/batch/batch.h"
#include "tools/commands/commands.h"
#include "tools/platform/process.h"
#include "tools/recipe/recipe.h"
#include "tools/text/path.h"
#include "volumes/free.h"

#include <stdlib.h>
#include <string.h>

/* ---- the words ---- */

static lob_status sort_words(lob_batch *b)
{
    lob_error *const error = &b->session->error;
    const bool wants_recipe = !b->session->line, wants_manifest = !b->images;
    for (int i = 0; i < b->words.count; i++) {
        const char *const word = b->words.word[i];
        const size_t name = lob_recipe_name_length(word);
        if (name > 0 && word[name] == '=') /* a file of such a name is ./NAME=PATTERN */
            b->given[b->given_count++] = word;
        else if (wants_recipe && !b->recipe_word)
            b->recipe_word = word;
        else if (wants_manifest && !b->manifest)
            b->manifest = word;
        else
            return lob_fail(error, LOB_EARG, "'%s' is one word too many%s", word,
                            b->images ? "; --images stands in the place of a manifest" : "");
    }
    if (wants_recipe && !b->recipe_word)
        return lob_fail(error, LOB_EARG,
                        "RECIPE is missing; name one, or write a command behind --, as in: lobule "
                        "batch scans.tsv -- components {image} -o {out}");
    if (wants_manifest && !b->manifest)
        return lob_fail(error, LOB_EARG,
                        "MANIFEST is missing; name a TSV or CSV with a line a scan, or use "
                        "--images 'PATTERN'");
    return LOB_OK;
}

/* The folder of what the batch leaves, unless --log names one; malloc'ed. */
static char *usual_folder(const lob_batch *b)
{
    if (b->log_folder) return strdup(b->log_folder);
    if (b->out) return lob_path_in(b->out, "batch");
    const char *const from = b->manifest ? b->manifest : "lobule";
    const char *const slash = strrchr(from, '/'), *const dot = strrchr(from, '.');
    const int n =
        dot && dot > from && (!slash || dot > slash + 1) ? (int)(dot - from) : (int)strlen(from);
    return lob_printed("%.*s.batch", n, from);
}

/* What stands behind "--" is a recipe of one line, whose file is made with the log: words that need
 * quotes in double ones, where {name} is a placeholder. */
static lob_status read_recipe(lob_batch *b)
{
    lob_session *const s = b->session;
    lob_text *const text = &b->recipe_text;
    lob_input file = {NULL};
    if (s->line) {
        b->recipe_path = lob_path_in(b->folder, LOB_BATCH_RECIPE_FILE);
        for (int i = 0; i < s->line_count; i++) {
            const char *const word = s->line[i];
            const bool quoted = i && (!word[0] || word[strspn(word, LOB_SHELL_PLAIN "{}")]);
            bool literal = false; /* within {name=text} */
            if (strpbrk(word, "\r\n"))
                return lob_fail(&s->error, LOB_EARG,
                                "'%.*s...': a word behind -- goes over several lines",
                                (int)strcspn(word, "\r\n"), word);
            lob_text_print(text, "%s%s", i ? " " : "", quoted ? "\"" : "");
            for (const char *c = word; *c; c++) {
                if (*c == '{' || *c == '}') literal = *c == '{';
                if (quoted && !literal && strchr("$`\"\\", *c)) lob_text_add(text, "\\", 1);
                lob_text_add(text, c, 1);
            }
            lob_text_add(text, "\"", quoted);
        }
        lob_text_add(text, "\n", 1);
    } else {
        LOB_TRY(lob_recipe_find(&b->recipe_path, b->recipe_word, &s->error));
        LOB_TRY(lob_input_open(&file, b->recipe_path, &s->error));
        lob_text_add(text, (const char *)file.bytes, file.size);
        lob_input_close(&file);
    }
    if (!b->recipe_path || text->failed) return lob_session_no_memory(s, b->folder);
    return lob_recipe_parse(&b->recipe, text->bytes, text->size, s->line ? NULL : b->recipe_path,
                            &s->error);
}

/* From the words to scans, folders, shard. */
static lob_status prepare(lob_batch *b)
{
    lob_error *const error = &b->session->error;
    lob_columns columns;
    LOB_TRY(sort_words(b));
    b->folder = usual_folder(b);
    if (!b->folder) return lob_session_no_memory(b->session, "--log");
    LOB_TRY(read_recipe(b));
    LOB_TRY(lob_shard_choose(b));
    LOB_TRY(b->images ? lob_batch_images(&columns, b->images, error)
                      : lob_columns_read(&columns, b->manifest, LOB_COLUMNS_EXACT, error));
    const lob_status st = lob_batch_plan(b, &columns);
    lob_columns_free(&columns);
    LOB_TRY(st);
    LOB_TRY(lob_batch_check_usage(b));
    char *const inside = lob_path_in(b->own_folder, LOB_BATCH_RECIPE_FILE);
    const bool made = inside && lob_make_folders(inside);
    free(inside);
    if (made) return lob_shard_divide(b);
    return lob_fail(error, LOB_ECREATE, "%s: cannot be made; name another folder with --log",
                    b->folder);
}

/* ---- the work ---- */

/*
 * How many scans at a time: one a core, each with one thread, which takes least time for small and
 * middling scans; one more, while which others wait for the disk; and one more for each GPU, while
 * which the cores read and write others. The process holds more than volumes and work: itself, and
 * for each scan its stack, buffers, and the pages of its files, which are mapped.
 */
static void share_out(lob_batch *b, int64_t most)
{
    const lob_session *const s = b->session;
    int *const jobs = &b->summary.jobs;
    *jobs = b->jobs > 0 ? b->jobs : s->context.threads + 1 + b->pool.gpus;
    if (*jobs > b->summary.scans) *jobs = b->summary.scans > 0 ? (int)b->summary.scans : 1;
    const int64_t beside = ((int64_t)16 << 20) + *jobs * (((int64_t)6 << 20) + most);
    const int64_t given = s->max_memory, least = given / 4, left = given - beside;
    b->memory = given == 0 ? lob_memory_available() / 10 * 9 : left > least ? left : least;
    if (b->memory < *jobs) b->memory = *jobs;
}

/* Write what sums up a batch, and its page, unless this is a shard's; where scans have failed,
 * their rows have said what is wrong. */
static lob_status finish(lob_batch *b)
{
    lob_session *const s = b->session;
    lob_status worst;
    LOB_TRY(lob_batch_end(b, &worst));
    if (strcmp(b->own_folder, b->folder) == 0 && lob_session_cancelled(s) == LOB_OK)
        LOB_TRY(lob_batch_page_write(b));
    lob_batch_summary_print(b);
    if (worst == LOB_OK || worst == LOB_EDIFFER) return worst;
    return lob_fail(&s->error, worst,
                    "scans have failed; the status table in %s says which and why, and --resume "
                    "does those again that are not done",
                    b->folder);
}

/* The devices come before the table: without them a batch leaves nothing. */
static lob_status do_scans(lob_batch *b)
{
    lob_session *const s = b->session;
    int64_t bytes = 0, most = 0;
    /* before opening GPUs starts threads: what these have allocated from would serve scans too, and
     * gives large blocks back to the system whatever it is told */
    if (s->max_memory == 0) lob_process_keep_memory();
    LOB_TRY(lob_pool_open(&b->pool, s));
    LOB_TRY(lob_batch_log_open(b));
    /* now nobody else is at work in the folder, and what is there may be replaced */
    LOB_TRY(lob_batch_save(&b->recipe_text, b->folder, LOB_BATCH_RECIPE_FILE, &s->error));
    lob_status st = lob_batch_claim(b);
    if (st != LOB_OK && st != LOB_ECANCEL) return st;
    for (int64_t i = 0; i < b->count; i++) {
        const lob_plan_scan *const scan = &b->scans[i];
        if (scan->shard != b->shard) continue;
        if (!lob_names_add(&b->order, scan->name, b->summary.scans++))
            return lob_session_no_memory(s, b->own_folder);
        bytes += scan->bytes;
        if (scan->bytes > most) most = scan->bytes;
    }
    share_out(b, most);
    /* what commands print would come out of all scans at once; it is in the reports */
    lob_stdout_silence();
    st = lob_work_run(b, bytes);
    const lob_error reason = s->error;
    lob_batch_log_end(&b->log);
    if (st != LOB_OK && st != LOB_ECANCEL) return st;
    lob_status ended = lob_batch_table_read(&b->table, b->own_folder, "", &s->error);
    if (ended == LOB_OK) ended = finish(b);
    if (st == LOB_OK) return ended;
    s->error = reason;
    return st;
}

/* ---- the command ---- */

/* --merge and --page stand alone with a folder. */
static lob_status begin_alone(lob_batch *b, const char *option)
{
    if (b->words.count != 1 || b->session->line || b->images || b->shard_text ||
        (b->merge && b->page))
        return lob_fail(&b->session->error, LOB_EARG,
                        "--%s takes one word, the folder of --log: lobule batch --%s FOLDER",
                        option, option);
    b->folder = strdup(b->words.word[0]);
    b->own_folder = strdup(b->words.word[0]);
    return b->folder && b->own_folder ? LOB_OK : lob_session_no_memory(b->session, option);
}

static lob_status work(lob_session *s, void *user)
{
    lob_batch *const b = user;
    b->session = s;
    if (b->merge) {
        LOB_TRY(begin_alone(b, "merge"));
        LOB_TRY(lob_shard_join(b));
        return finish(b);
    }
    if (b->page) {
        LOB_TRY(begin_alone(b, "page"));
        LOB_TRY(lob_batch_table_read(&b->table, b->folder, "", &s->error));
        return lob_batch_page_write(b);
    }
    LOB_TRY(prepare(b));
    return do_scans(b);
}

static void release(void *user)
{
    lob_batch *const b = user;
    lob_batch_log_close(&b->log);
    lob_pool_close(&b->pool);
    lob_batch_plan_free(b);
    lob_batch_table_free(&b->table);
    lob_names_free(&b->order);
    lob_columns_free(&b->division);
    lob_recipe_free(&b->recipe);
    lob_text_free(&b->recipe_text);
    LOB_FREE(b->own_folder, b->recipe_path, b->folder);
}

static void options(lob_rows *to, void *user)
{
    lob_batch *const b = user;
    b->pictures = 500;
    const lob_option rows[] = {
        OPERAND_WORDS("WORD", &b->words,
                      "RECIPE (a file, or the name of one that is installed), MANIFEST.tsv, and "
                      "NAME=PATTERN for {NAME} in the recipe"),
        OPT_TEXT("images", &b->images, "PATTERN",
                 "find scans, files or folders of DICOM or Zarr, by a pattern with * ? [ and ** "
                 "instead of a manifest"),
        OPT_TEXT("out", &b->out, "FOLDER",
                 "where {out} goes, in folders as the images have them; they are made"),
        OPT_TEXT("log", &b->log_folder, "FOLDER",
                 "where the status table, reports and summary go; left out: batch in --out's "
                 "FOLDER, else MANIFEST.batch"),
        OPT_FLAG("resume", &b->resume,
                 "go on with a batch: skip what is done and has not changed since"),
        OPT_FLAG("fail-fast", &b->fail_fast, "begin no scan once one has failed"),
        OPT_TEXT("shard", &b->shard_text, "I/N",
                 "do the I-th of N parts; left out in a task of a Slurm array: its own"),
        OPT_FLAG("merge", &b->merge, "join the tables of shards in the folder that is named"),
        OPT_FLAG("page", &b->page, "write the page of the batch in the folder that is named anew"),
        OPT_INT("pictures", &b->pictures, "N", 0, 100000, "scans that get a picture on the page"),
        OPT_INT("jobs", &b->jobs, "N", 1, 4096,
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
        "stand for these characters), or a .csv, whose cells may stand in quotes, where on Windows "
        "a \\ is a / in both, and a column fills the placeholder of its name; a column scan, where "
        "there is one, names the scans. "
        "With --images the columns are image, folder, stem, bids and scan, made from the files' "
        "names, and {out} is a file under --out; bids keeps the suffix, as mod-T1w, where images "
        "would share it. NAME=PATTERN fills {NAME} in all scans, with the scan's cells in the "
        "places of {column}. What stands behind -- is a recipe of one line.\n"
        "A command or an option that is wrong for all scans is refused before the first of them. "
        "Folders of outputs are made where they are missing. One scan that fails does not stop the "
        "others (--fail-fast does). The status table has a row a scan: state, exit code, message, "
        "seconds by stage, voxels, labels, checksums. Beside it are the report of each scan, one "
        "table of all regions (from the tables that lines write; --table - makes one for this "
        "alone), a summary, and page.html: failures first, then scans whose volumes are far from "
        "the others', lack a label or are more in doubt, with pictures of the first 500 "
        "(--pictures), but none of a time series. What commands print is left out.\n"
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
    .settings_bytes = sizeof(lob_batch),
    .options = options,
    .work = work,
    .release = release,
    .takes_line = true,
    .runs_others = true,
    .many = true,
};
