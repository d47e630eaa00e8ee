/* The names of files in the place of those of volumes in memory, where the recipe's lines are not
 * those of a person. */
#include "tools/recipe/recipe_job.h"
#include "tools/text/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first file that a line reads; NULL: none. */
static const char *first_input(const lob_line *line)
{
    for (int f = 0; f < line->file_count; f++)
        if (!line->files[f].is_output) return line->files[f].path;
    return NULL;
}

static bool writes(const lob_line *line, const char *name)
{
    for (int f = 0; f < line->file_count; f++)
        if (line->files[f].is_output && strcmp(line->files[f].path, name) == 0) return true;
    return false;
}

/* What a volume in memory was made of: the first input of the line that writes it, and so on back
 * to a file, or to a volume of the recipe around. */
static const char *origin(const lob_recipe_job *job, const char *name)
{
    for (int i = job->line_count - 1; i >= 0; i--) {
        const lob_line *const line = &job->lines[i].line;
        const char *const from = writes(line, name) ? first_input(line) : NULL;
        if (from) name = from;
    }
    for (int k = 0; k < job->loan_count; k++)
        if (strcmp(job->loans[k].name, name) == 0) name = job->loans[k].text;
    return name;
}

/* Bytes of a volume's name at the beginning of a text; 0: it begins with none. */
static size_t name_bytes(const char *text)
{
    size_t n = 1;
    if (text[0] != '@') return 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '-') n++;
    return n > 1 ? n : 0;
}

/* Take a second name of a file off again: "scan.nii with ", which scan.nii is to follow. */
static void take_off(lob_text *to, const char *file)
{
    static const char with[] = " with ";
    const size_t n = strlen(file), m = sizeof with - 1;
    if (to->size < n + m || memcmp(to->bytes + to->size - m - n, file, n) != 0 ||
        memcmp(to->bytes + to->size - m, with, m) != 0)
        return;
    to->size -= n + m;
    to->bytes[to->size] = '\0';
}

/* Where the text of a line goes on after the line's place and command. */
static const char *after_place(const lob_recipe_job *job, const char *text)
{
    for (int i = 0; i < job->line_count; i++) {
        char place[128];
        const int n = snprintf(place, sizeof place, "%s: %s: ", job->lines[i].place,
                               job->lines[i].command.name);
        if (strncmp(text, place, (size_t)n) == 0) return text + n;
    }
    return text;
}

/* A line of text as the person sees it who has named files alone; malloc'ed. */
static char *of_files(const lob_recipe_job *job, const char *text)
{
    lob_text to = {NULL};
    const char *const begin = text;
    while (*text) {
        const bool apart = text == begin || strchr(" ('`", text[-1]);
        const size_t n = apart ? name_bytes(text) : 0;
        char *const name = n ? strndup(text, n) : NULL;
        const char *const file = name ? origin(job, name) : NULL;
        if (file) take_off(&to, file); /* both were made of this one */
        lob_text_add(&to, file ? file : text, file ? strlen(file) : 1);
        text += file ? n : 1;
        free(name);
    }
    return lob_text_take(&to);
}

lob_status lob_recipe_job_name_files(lob_recipe_job *job, lob_status st, int first_note)
{
    lob_session *const run = job->run;
    const lob_error reason = run->error;
    if (!job->composed) return st;
    for (int i = first_note; i < cJSON_GetArraySize(run->notes); i++) {
        cJSON *const note = cJSON_GetArrayItem(run->notes, i);
        char *const text = of_files(job, after_place(job, note->valuestring));
        if (text) cJSON_ReplaceItemInArray(run->notes, i, cJSON_CreateString(text));
        free(text);
    }
    if (st == LOB_OK || st == LOB_EDIFFER) return st;
    /* of an option that is refused, the place tells more */
    const bool of_option = st == LOB_EARG || st == LOB_EINTERNAL;
    char *const text = of_files(job, of_option ? reason.text : after_place(job, reason.text));
    if (text) lob_fail_hint(&run->error, st, reason.hint, "%s", text);
    free(text);
    return st;
}
