/* The text of --provenance. */
#include "tools/report/session_provenance.h"
#include "tools/text/text.h"

#include "io/platform.h"

#include "tools/report/session_sums.h"
#include "tools/session/host.h"
#include "tools/session/session.h"
#include "volumes/version.h"

#include <stdlib.h>
#include <string.h>

/* A command line as it could be typed. */
static bool print_command(FILE *f, const lob_session *s)
{
    fprintf(f, "lobule %s", s->command->name);
    for (int i = 0; i < s->argc; i++) {
        char *const word = lob_shell_word(s->argv[i]);
        if (!word) return false;
        fprintf(f, " %s", word);
        free(word);
    }
    fputc('\n', f);
    return true;
}

static void print_sum(void *user, const char *file, const char *sha256)
{
    fprintf(user, "input %s sha256 %s\n", file, sha256);
}

static void print_entry(FILE *f, const cJSON *file)
{
    const char *const sum = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(file, "sha256"));
    if (sum) print_sum(f, cJSON_GetObjectItemCaseSensitive(file, "path")->valuestring, sum);
}

/* What earlier lines of a recipe have read; of a pair both files. */
static void print_entries(FILE *f, const cJSON *inputs)
{
    const cJSON *file;
    cJSON_ArrayForEach(file, inputs)
    {
        print_entry(f, file);
        print_entry(f, cJSON_GetObjectItemCaseSensitive(file, "second_file"));
    }
}

static char *text_of(lob_session *s)
{
    const lob_session *const run = s->host ? s->host->outer : NULL; /* of a recipe */
    char *text = NULL;
    size_t size;
    FILE *const f = lob_memory_stream(&text, &size);
    if (!f) return NULL;
    fputs("lobule " LOB_VERSION "\n", f);
    bool complete = (!run || print_command(f, run)) && print_command(f, s);
    if (run) print_entries(f, run->inputs);
    lob_sums_of_inputs(s, print_sum, f);
    if (lob_memory_stream_end(f, &text, &size) && complete) return text;
    free(text);
    return NULL;
}

/* What an output of this name had before the repetition that this session belongs to. */
static const char *past_text(const lob_session *s, const char *path)
{
    while (!s->past_provenance && s->host && s->host->outer) s = s->host->outer;
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(s->past_provenance, path));
}

lob_status lob_provenance_of(lob_session *s, char **text, const char *path)
{
    const char *const past = past_text(s, path);
    *text = NULL;
    if (!past && !s->provenance) return LOB_OK;
    *text = past ? strdup(past) : text_of(s);
    return *text ? LOB_OK : lob_session_no_memory(s, path);
}

void lob_provenance_report(lob_session *s, const char *text)
{
    cJSON *const file = cJSON_GetArrayItem(s->outputs, cJSON_GetArraySize(s->outputs) - 1);
    if (text && file) cJSON_AddStringToObject(file, "provenance", text);
}
