/* Claims of a batch's scans to files. */
#include "tools/batch/batch_claims.h"

#include "io/io.h"
#include "tools/batch/batch_row.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The file that a path leads to, or, where there is none, its name in the folder that the path
 * leads to; malloc'ed. A path into a folder that is not there stays as it is. */
static char *real_path(const char *path)
{
    char *const there = realpath(path, NULL);
    if (there) return there;
    const char *const slash = strrchr(path, '/');
    char *const folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *const real = folder ? realpath(folder, NULL) : NULL;
    char *const made = real ? lob_path_in(real, slash ? slash + 1 : path) : strdup(path);
    free(real);
    free(folder);
    return made;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct lob_claim *)a)->path, ((const struct lob_claim *)b)->path);
}

static void free_claim(void *claim)
{
    if (claim) free(((struct lob_claim *)claim)->path);
    free(claim);
}

void lob_claims_free(lob_claims *claims)
{
    tdestroy(claims->tree, free_claim);
    *claims = (lob_claims){NULL};
}

/* The claim to a file; NULL without memory. */
static struct lob_claim *claim_of(lob_claims *claims, const char *path)
{
    struct lob_claim *const fresh = calloc(1, sizeof *fresh);
    if (fresh) fresh->path = real_path(path);
    struct lob_claim *const *const at =
        fresh && fresh->path ? tsearch(fresh, &claims->tree, by_path) : NULL;
    struct lob_claim *const claim = at ? *at : NULL;
    if (claim != fresh) free_claim(fresh);
    return claim;
}

/* ---- writing ---- */

static lob_status claim_file(lob_claims *claims, const char *path, const char *scan,
                             lob_error *error)
{
    struct lob_claim *const at = claim_of(claims, path);
    if (!at) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    if (at->writer && strcmp(at->writer, scan) != 0)
        return lob_fail(error, LOB_EARG,
                        "%s: scan %s writes it; each scan needs outputs of its own", path,
                        at->writer);
    for (int r = 0; r < 2; r++)
        if (at->readers[r] && strcmp(at->readers[r], scan) != 0)
            return lob_fail(error, LOB_EARG,
                            "%s: scan %s reads it; name another output, or make what other scans "
                            "read in a batch before this one",
                            path, at->readers[r]);
    at->writer = scan;
    return LOB_OK;
}

lob_status lob_claims_output(lob_claims *claims, const char *path, const char *scan,
                             lob_error *error)
{
    char *files[2] = {NULL, NULL};
    if (lob_files_of(files, path, false) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    lob_status st = claim_file(claims, files[0], scan, error);
    if (st == LOB_OK && files[1]) st = claim_file(claims, files[1], scan, error);
    lob_files_free(files);
    return st;
}

/* ---- reading ---- */

static bool add_reader(lob_claims *claims, const char *path, const char *scan)
{
    char *files[2] = {NULL, NULL};
    bool noted = lob_files_of(files, path, true) == LOB_OK;
    for (int k = 0; k < 2 && noted && files[k]; k++) {
        struct lob_claim *const at = claim_of(claims, files[k]);
        noted = at != NULL;
        for (int r = 0; noted && r < 2; r++) {
            if (!at->readers[r]) at->readers[r] = scan;
            if (strcmp(at->readers[r], scan) == 0) break;
        }
    }
    lob_files_free(files);
    return noted;
}

/* Where the path begins in a word that names it, as itself, --option=PATH or -oPATH; -1: nowhere.
 */
static int path_in(const char *word, const char *path)
{
    const size_t n = strlen(word), p = strlen(path), at = n - p;
    if (p > n || p == 0 || strcmp(word + at, path) != 0) return -1;
    return at == 0 || word[at - 1] == '=' || (at == 2 && word[0] == '-') ? (int)at : -1;
}

/* Note what a word of the recipe, which names an input from some byte on, is in all scans. */
static bool add_word(lob_claims *claims, const lob_batch_plan *plan, int line, int word, int begin)
{
    bool noted = true;
    for (int64_t i = 0; i < plan->count && noted; i++) {
        int count = 0;
        const lob_plan_scan *const scan = &plan->scans[i];
        char **const words =
            lob_recipe_fill(&count, &plan->recipe, line, (const char *const *)scan->values);
        noted = words != NULL;
        if (noted && word < count && (size_t)begin < strlen(words[word]))
            noted = add_reader(claims, words[word] + begin, scan->name);
        free(words);
    }
    return noted;
}

/* Each word that names an input of a line, which no line before it makes. */
static bool add_line(lob_claims *claims, const lob_batch_plan *plan, const lob_recipe_job *job,
                     int line)
{
    const lob_job_line *const l = &job->lines[line];
    bool noted = true;
    for (int w = 1; w < l->word_count && noted; w++) {
        int begin = -1;
        for (int f = 0; f < l->line.file_count && begin < 0; f++) {
            const lob_line_file *const file = &l->line.files[f];
            if (!file->is_output && lob_batch_is_file(file) &&
                !lob_batch_is_made(job, line, file->path))
                begin = path_in(l->words[w], file->path);
        }
        if (begin >= 0) noted = add_word(claims, plan, line, w, begin);
    }
    return noted;
}

lob_status lob_claims_readers(lob_claims *claims, const lob_batch_plan *plan,
                              const lob_recipe_job *job, lob_error *error)
{
    if (claims->knows_readers) return LOB_OK;
    for (int i = 0; i < job->line_count; i++)
        if (!add_line(claims, plan, job, i)) return lob_fail(error, LOB_ENOMEM, "out of memory");
    claims->knows_readers = true;
    return LOB_OK;
}
