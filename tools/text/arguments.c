/* Lists of arguments. */
#include "tools/text/arguments.h"

#include "volumes/lists.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void lob_arguments_add(lob_arguments *to, const char *format, ...)
{
    va_list values;
    char *word = NULL;
    if (to->failed) return;
    va_start(values, format);
    if (!lob_grow(&to->word, to->count, sizeof *to->word) ||
        !lob_grow(&to->word, to->count + 1, sizeof *to->word) ||
        vasprintf(&word, format, values) < 0)
        to->failed = true;
    va_end(values);
    if (to->failed) return;
    to->word[to->count++] = word;
    to->word[to->count] = NULL;
}

void lob_arguments_free(lob_arguments *arguments)
{
    for (int i = 0; i < arguments->count; i++) free(arguments->word[i]);
    free(arguments->word);
    *arguments = (lob_arguments){.word = NULL};
}
