/* Fuzz target: the parser of recipes; what it accepts, quoted for a shell, parses to the same. */
#include "tests/fuzz/fuzz.h"

#include "tools/recipe/recipe.h"

#include <stdlib.h>

/* Words of a line as one that can be typed, malloc'ed. */
static char *typed(char *const *words, int count)
{
    size_t bytes = sizeof "lobule";
    for (int i = 0; i < count; i++) bytes += 4 * strlen(words[i]) + 4;
    char *const line = malloc(bytes), *to = line;
    if (!line) abort();
    to = stpcpy(to, "lobule");
    for (int i = 0; i < count; i++) {
        char *const word = lob_shell_word(words[i]);
        if (!word) abort();
        *to++ = ' ';
        to = stpcpy(to, word);
        free(word);
    }
    return line;
}

static void check_line(char *const *words, int count)
{
    char *const line = typed(words, count);
    lob_recipe again;
    lob_error error = {.text = ""};
    int n = 0;
    if (lob_recipe_parse(&again, line, strlen(line), "typed", &error) != LOB_OK) __builtin_trap();
    if (again.line_count != 1 || again.value_count != 0) __builtin_trap();
    char **const same = lob_recipe_fill(&n, &again, 0, NULL);
    if (!same) abort();
    if (n != count) __builtin_trap();
    for (int i = 0; i < n; i++)
        if (strcmp(same[i], words[i]) != 0) __builtin_trap();
    free(same);
    lob_recipe_free(&again);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_recipe recipe;
    lob_error error = {.text = ""};
    if (lob_recipe_parse(&recipe, (const char *)bytes, size, "fuzz", &error) != LOB_OK) {
        if (!error.text[0]) __builtin_trap(); /* every refusal says why */
        return 0;
    }
    const char **const values = calloc((size_t)recipe.value_count + 1, sizeof *values);
    if (!values) abort();
    for (int i = 0; i < recipe.value_count; i++) {
        const char *const initial = recipe.values[i].initial;
        values[i] = initial ? initial : i % 2 ? "it's a # value" : "";
    }
    for (int i = 0; i < recipe.line_count; i++) {
        int count;
        char **const words = lob_recipe_fill(&count, &recipe, i, values);
        if (!words) abort();
        if (count < 1) __builtin_trap();
        check_line(words, count);
        free(words);
    }
    free(values);
    lob_recipe_free(&recipe);
    return 0;
}

FUZZ_TEXTS("# Grow, then keep\ngrowcut {image} {seeds} -o @grown --max-mm {reach=30}\n",
           "lobule components @grown -o \"{out}\" --equal \\\n  --largest 1\n",
           "convert 'a b' \"c \\\" \\\\ {d}\" e\\ f\\#g # h\r\nconvert '' \"\" {x=}{x}y{z=a b}\n",
           "info '{no}' \\{no} a#b ~a\\~ \\\n\\\n c\n\n\n#\n#x\nstats --range={low=-1},{high}",
           "run 'it'\\''s' \"\\$\\`\"")
