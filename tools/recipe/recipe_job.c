/* Filling in, running and printing the lines of a recipe; recipe_check.c checks them. */
#include "tools/recipe/recipe_job.h"
#include "tools/text/text.h"
#include "volumes/free.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static lob_status no_memory(lob_recipe_job *job)
{
    return lob_fail(&job->run->error, LOB_ENOMEM, "%s: out of memory", job->name);
}

/* The command of a line, in a row of its own. */
static lob_status find_command(lob_recipe_job *job, lob_line *l)
{
    const char *const name = l->words[0];
    const lob_command *const command = job->run->caller->find(name);
    if (!command) {
        const char *const nearest = job->run->caller->nearest(name);
        return lob_fail(&job->run->error, LOB_EARG, "%s%sunknown command '%s'; %s%s%s", l->place,
                        l->place[0] ? ": " : "", name,
                        nearest ? "did you mean " : "lobule --help lists them",
                        nearest ? nearest : "", nearest ? "?" : "");
    }
    if (command->runs_others)
        return lob_fail(&job->run->error, LOB_EARG,
                        "%s%s%s: a recipe calls no other recipe; write its lines here", l->place,
                        l->place[0] ? ": " : "", name);
    l->command = *command;
    l->command.host = &l->host;
    return LOB_OK;
}

static lob_status make_line(lob_recipe_job *job, int i, const lob_recipe *recipe,
                            const char *const *values)
{
    lob_line *const l = &job->lines[i];
    l->words = lob_recipe_fill(&l->word_count, recipe, i, values);
    l->place = job->name ? lob_printed("%s:%d", job->name, recipe->lines[i].number) : strdup("");
    if (!l->words || !l->place) return no_memory(job);
    l->values = calloc((size_t)l->word_count + 1, sizeof *l->values);
    if (!l->values) return no_memory(job);
    for (int w = 0; w < l->word_count; w++)
        l->values[w] = lob_recipe_begins_with_value(recipe, i, w);
    lob_line_make(l, job->run, &job->store, i, recipe->line_count);
    return find_command(job, l);
}

lob_status lob_recipe_job_make(lob_recipe_job *out, lob_session *run, const lob_recipe *recipe,
                               const char *name, const char *const *values)
{
    *out = (lob_recipe_job){.name = name, .run = run};
    out->lines = calloc((size_t)recipe->line_count, sizeof *out->lines);
    if (!out->lines) return no_memory(out);
    out->line_count = recipe->line_count;
    for (int i = 0; i < recipe->line_count; i++) LOB_TRY(make_line(out, i, recipe, values));
    return LOB_OK;
}

/* Bytes of a word that stay before `word`; -1: it is another. */
static int bytes_before(const char *text, const char *word)
{
    const size_t n = strlen(text), end = strlen(word);
    if (n < end || strcmp(text + n - end, word) != 0) return -1;
    return n == end || text[n - end - 1] == '=' ? (int)(n - end) : -1;
}

bool lob_line_replace(lob_line *line, const char *word, const char *by)
{
    size_t bytes = ((size_t)line->word_count + 1) * sizeof(char *);
    for (int w = 0; w < line->word_count; w++) bytes += strlen(line->words[w]) + strlen(by) + 1;
    char **const words = malloc(bytes);
    if (!words) return false;
    char *to = (char *)(words + line->word_count + 1);
    for (int w = 0; w < line->word_count; w++) {
        const int before = bytes_before(line->words[w], word);
        words[w] = to;
        to = stpcpy(to, line->words[w]) + 1;
        if (before >= 0) to = stpcpy(words[w] + before, by) + 1;
    }
    words[line->word_count] = NULL;
    free(line->words);
    line->words = words;
    return true;
}

void lob_recipe_job_free(lob_recipe_job *job)
{
    for (int i = 0; i < job->line_count; i++) {
        lob_line_free(&job->lines[i]);
        LOB_FREE(job->lines[i].words, job->lines[i].values, job->lines[i].place);
    }
    free(job->lines);
    lob_store_free(&job->store);
    *job = (lob_recipe_job){.name = NULL};
}

/* ---- running ---- */

static void say_line(const lob_recipe_job *job, const lob_line *l)
{
    char text[700] = "";
    for (int w = 0; w < l->word_count; w++) {
        char *const word = lob_shell_word(l->words[w]);
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, " %s", word ? word : "");
        free(word);
    }
    lob_session_say(job->run, "%s:%s", l->place, text);
}

/* The reports of the lines so far, in that of the recipe. */
static void report_line(const lob_recipe_job *job, lob_line *l)
{
    cJSON *const lines = cJSON_GetObjectItemCaseSensitive(job->run->results, "lines");
    cJSON *const report = l->report;
    if (!lines || !report) return;
    cJSON_AddStringToObject(report, "place", l->place);
    cJSON_AddItemToArray(lines, report);
    l->report = NULL;
}

static lob_status run_line(lob_recipe_job *job, int i)
{
    lob_line *const l = &job->lines[i];
    lob_line_free(l); /* what the check has left */
    l->force = job->run->force;
    say_line(job, l);
    job->run->caller->call(&l->command, l->word_count - 1, l->words + 1);
    report_line(job, l);
    for (int k = 0; k < job->store.count; k++)
        if (job->store.rows[k].last <= i && job->store.rows[k].made <= i)
            lob_store_drop(&job->store, &job->store.rows[k]);
    return l->status;
}

static lob_status run_lines(lob_recipe_job *job)
{
    lob_status st = lob_session_cancelled(job->run);
    bool differ = false;
    cJSON_AddArrayToObject(job->run->results, "lines");
    for (int i = 0; i < job->line_count && st == LOB_OK; i++) {
        st = run_line(job, i);
        differ = differ || st == LOB_EDIFFER;
        if (st == LOB_EDIFFER) st = LOB_OK;
    }
    return st == LOB_OK && differ ? LOB_EDIFFER : st;
}

lob_status lob_recipe_job_run(lob_recipe_job *job)
{
    lob_session *const run = job->run;
    const int notes = cJSON_GetArraySize(run->notes);
    /* a device that is missing is found before any work; "auto" may do without, a batch has it */
    if (run->device_wanted && strcmp(run->device.backend, "auto") != 0 && !run->host)
        LOB_TRY(lob_session_device(run));
    const lob_status st = run_lines(job);
    if (st != LOB_ENOMEM || !job->store.has_kept) return st;

    lob_outputs_forget(run);
    for (int k = 0; k < job->store.count; k++) lob_store_drop(&job->store, &job->store.rows[k]);
    while (cJSON_GetArraySize(run->notes) > notes) cJSON_DeleteItemFromArray(run->notes, notes);
    cJSON_DeleteItemFromObjectCaseSensitive(run->results, "lines");
    run->error = (lob_error){.text = ""};
    job->store.keeps_no_files = true;
    return run_lines(job);
}

/* ---- printing ---- */

/* Typed in a shell, it would be one; a number may be below 0. */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] && !strchr("0123456789.", word[1]);
}

lob_status lob_recipe_job_print(const lob_recipe_job *job)
{
    for (int i = 0; i < job->line_count; i++) {
        const lob_line *const l = &job->lines[i];
        fputs("lobule", stdout);
        for (int w = 0; w < l->word_count; w++) {
            char *const word = lob_shell_word(l->words[w]);
            if (!word) return lob_fail(&job->run->error, LOB_ENOMEM, "out of memory");
            printf(" %s%s", l->values[w] && looks_like_option(l->words[w]) ? "./" : "", word);
            free(word);
        }
        putchar('\n');
    }
    return LOB_OK;
}
