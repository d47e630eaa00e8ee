/* lobule batch: a recipe over many scans, in one process or in shards. */
#include "tools/batch/batch_page.h"
#include "tools/batch/batch_run.h"
#include "tools/commands/commands.h"
#include "tools/text/path.h"

#include <stdlib.h>
#include <string.h>

typedef lob_batch_settings batch_settings;

/* NAME=PATTERN: a file of such a name is ./NAME=PATTERN. */
static bool is_value(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789-";
    return strchr(letters, word[0]) && word[0] && word[strspn(word, others)] == '=';
}

static lob_status sort_words(lob_session *s, batch_settings *set)
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

/* The folder of what the batch leaves, unless --log names one; malloc'ed. */
static char *usual_folder(const batch_settings *set)
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
    if (set->words.count == 1 && !set->line && !set->images && !set->shard &&
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
    int worst = 0;
    LOB_TRY(check_alone(s, set, "merge"));
    LOB_TRY(lob_batch_merge(&table, &summary, &worst, set->words.word[0], &s->error));
    const lob_status shown = lob_batch_show(s, set->pictures, &table, &summary, set->words.word[0]);
    lob_batch_table_free(&table);
    LOB_TRY(shown);
    if (!s->quiet) lob_batch_summary_print(&summary);
    lob_status status = LOB_OK;
    while (worst != 0 && status < LOB_ECANCEL && lob_status_exit_code(status) != worst) status++;
    return conclude(s, set->words.word[0], status);
}

/* The page of a batch that is there already. */
static lob_status page_again(lob_session *s, const batch_settings *set)
{
    lob_batch_table table;
    LOB_TRY(check_alone(s, set, "page"));
    char *const path = lob_path_in(set->words.word[0], LOB_BATCH_STATUS_FILE);
    if (!path) return lob_session_no_memory(s, set->words.word[0]);
    lob_status st = lob_batch_table_read(&table, path, "", &s->error);
    free(path);
    if (st == LOB_OK) st = lob_batch_show(s, set->pictures, &table, NULL, set->words.word[0]);
    lob_batch_table_free(&table);
    return st;
}

static lob_status work(lob_session *s, void *user)
{
    batch_settings *const set = user;
    set->line = s->line;
    set->line_count = s->line_count;
    lob_status worst = LOB_OK;
    if (set->page) return page_again(s, set);
    if (set->merge) return merge(s, set);
    LOB_TRY(sort_words(s, set));
    char *const folder = usual_folder(set);
    if (!folder) return lob_session_no_memory(s, "--log");
    lob_status st = lob_batch_run(s, set, folder, &worst);
    if (st == LOB_OK) st = conclude(s, folder, worst);
    free(folder);
    return st;
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
                 "find scans by a pattern with * ? [ and ** instead of a manifest"),
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
    .takes_line = true,
    .runs_others = true,
    .many = true,
};
