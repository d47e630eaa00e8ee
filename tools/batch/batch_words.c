/* From the words of `lobule batch` to its plan: recipe, scans, folders, shard. */
#include "tools/batch/batch_words.h"

#include "io/file.h"
#include "io/platform.h"
#include "tools/recipe/recipe_book.h"
#include "tools/session/session.h"
#include "tools/text/path.h"

#include <stdlib.h>
#include <string.h>

/* ---- the words ---- */

/* NAME=PATTERN: a file of such a name is ./NAME=PATTERN. */
static bool is_value(const char *word)
{
    const size_t n = lob_recipe_name_length(word);
    return n > 0 && word[n] == '=';
}

static lob_status sort_words(lob_session *s, lob_batch_settings *set)
{
    const char **const places[] = {s->line ? NULL : &set->recipe,
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
static char *usual_folder(const lob_batch_settings *set)
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

/* ---- the recipe ---- */

/* A command's words as a line of a recipe: in double quotes, where {name} is a placeholder. */
static void put_line(lob_text *text, const lob_session *s)
{
    for (int i = 0; i < s->line_count; i++) {
        lob_text_add(text, i ? " \"" : "", i ? 2 : 0);
        for (const char *c = s->line[i]; *c; c++) {
            if (i && strchr("$`\"\\", *c)) lob_text_add(text, "\\", 1);
            lob_text_add(text, c, 1);
        }
        lob_text_add(text, "\"", i ? 1 : 0);
    }
    lob_text_add(text, "\n", 1);
}

/* What stands behind "--" is a recipe, whose file is made with the log. */
static lob_status read_recipe(lob_session *s, lob_batch_settings *set)
{
    lob_batch *const batch = &set->batch;
    char **const path = &batch->recipe_path;
    lob_input file = {NULL};
    if (s->line) {
        *path = lob_path_in(batch->folder, LOB_BATCH_RECIPE_FILE);
        put_line(&batch->recipe_text, s);
    } else {
        LOB_TRY(lob_recipe_find(path, set->recipe, &s->error));
        LOB_TRY(lob_input_open(&file, *path, &s->error));
        lob_text_add(&batch->recipe_text, (const char *)file.bytes, file.size);
        lob_input_close(&file);
    }
    if (!*path || batch->recipe_text.failed) return lob_session_no_memory(s, batch->folder);
    batch->plan.recipe_path = *path;
    batch->plan.is_typed = s->line != NULL;
    batch->plan.out = set->out;
    batch->plan.label = s->line ? "lobule" : lob_name_in_path(*path);
    return lob_recipe_parse(&batch->plan.recipe, batch->recipe_text.bytes, batch->recipe_text.size,
                            s->line ? NULL : *path, &s->error);
}

/* ---- the plan ---- */

/* That of the shard is in that of --log. */
static lob_status make_folders(lob_session *s, const lob_batch *batch)
{
    char *const inside = lob_path_in(batch->own_folder, LOB_BATCH_RECIPE_FILE);
    if (!inside) return lob_session_no_memory(s, batch->folder);
    const bool made = lob_make_folders(inside);
    free(inside);
    return made ? LOB_OK
                : lob_fail(&s->error, LOB_ECREATE,
                           "%s: cannot be made; name another folder with --log", batch->folder);
}

lob_status lob_batch_prepare(lob_session *s, lob_batch_settings *set)
{
    lob_batch *const batch = &set->batch;
    lob_columns columns;
    lob_shard shard;
    LOB_TRY(sort_words(s, set));
    batch->session = s;
    batch->folder = usual_folder(set);
    if (!batch->folder) return lob_session_no_memory(s, "--log");
    LOB_TRY(read_recipe(s, set));
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
