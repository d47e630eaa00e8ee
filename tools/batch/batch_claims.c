/* Claims of a batch's scans to files. */
#include "tools/batch/batch_claims.h"

#include "io/io.h"
#include "tools/batch/batch_row.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <stdlib.h>
#include <string.h>

void lob_claims_free(lob_claims *claims)
{
    for (size_t i = 0; i < claims->room; i++) free(claims->at[i].path);
    free(claims->at);
    *claims = (lob_claims){NULL};
}

/* ---- paths ---- */

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

/* Where a path is, or goes. */
static struct lob_claim *place_of(const lob_claims *claims, const char *path)
{
    size_t h = 5381;
    for (const char *c = path; *c; c++) h = h * 33 + (unsigned char)*c;
    size_t slot = (h ^ h >> 19) & (claims->room - 1);
    while (claims->at[slot].path && strcmp(claims->at[slot].path, path) != 0)
        slot = (slot + 1) & (claims->room - 1);
    return &claims->at[slot];
}

static bool make_room(lob_claims *claims)
{
    if (2 * (claims->count + 1) <= claims->room) return true;
    lob_claims larger = *claims;
    larger.room = claims->room ? 2 * claims->room : 256;
    larger.at = calloc(larger.room, sizeof *larger.at);
    if (!larger.at) return false;
    for (size_t i = 0; i < claims->room; i++)
        if (claims->at[i].path) *place_of(&larger, claims->at[i].path) = claims->at[i];
    free(claims->at);
    *claims = larger;
    return true;
}

/* The claim to a file; NULL without memory. */
static struct lob_claim *claim_of(lob_claims *claims, const char *path)
{
    char *const real = real_path(path);
    if (!real || !make_room(claims)) {
        free(real);
        return NULL;
    }
    struct lob_claim *const at = place_of(claims, real);
    if (at->path) {
        free(real);
        return at;
    }
    *at = (struct lob_claim){.path = real};
    claims->count++;
    return at;
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

/* Of each word of a line: where the path of an input begins, or -1. Returns whether there is any.
 */
static bool find_inputs(int *begins, const lob_recipe_job *job, int line)
{
    const lob_job_line *const l = &job->lines[line];
    bool any = false;
    for (int w = 0; w < l->word_count; w++) begins[w] = -1;
    for (int f = 0; f < l->line.file_count; f++) {
        const lob_line_file *const file = &l->line.files[f];
        if (file->is_output || lob_is_stored_name(file->path) || strcmp(file->path, "-") == 0 ||
            lob_batch_is_made(job, line, file->path))
            continue;
        for (int w = 1; w < l->word_count; w++)
            if (begins[w] < 0) begins[w] = path_in(l->words[w], file->path);
    }
    for (int w = 0; w < l->word_count; w++) any = any || begins[w] >= 0;
    return any;
}

static bool add_line(lob_claims *claims, const lob_batch_plan *plan, const lob_recipe_job *job,
                     int line)
{
    const int most = job->lines[line].word_count;
    int *const begins = calloc((size_t)most + 1, sizeof *begins);
    bool noted = begins != NULL;
    if (noted && find_inputs(begins, job, line))
        for (int64_t i = 0; i < plan->count && noted; i++) {
            int count = 0;
            const lob_plan_scan *const scan = &plan->scans[i];
            char **const words =
                lob_recipe_fill(&count, &plan->recipe, line, (const char *const *)scan->values);
            noted = words != NULL;
            for (int w = 1; w < count && w < most && noted; w++)
                if (begins[w] >= 0 && (size_t)begins[w] < strlen(words[w]))
                    noted = add_reader(claims, words[w] + begins[w], scan->name);
            free(words);
        }
    free(begins);
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
