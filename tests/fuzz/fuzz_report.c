/* Fuzz target: the reader of reports; what it accepts is a recipe of the same words. */
#include "tests/fuzz/fuzz.h"

#include "tools/commands/repeat/past_report.h"
#include "tools/recipe/recipe.h"
#include "tools/text/path.h"

#include <stdlib.h>

/* Is this the line's command with its arguments? */
static void check_words(char *const *words, int count, const lob_past_line *line)
{
    const cJSON *argument = line->arguments->child;
    if (count != 1 + cJSON_GetArraySize(line->arguments)) __builtin_trap();
    if (strcmp(words[0], line->command) != 0) __builtin_trap();
    for (int i = 1; i < count; i++, argument = argument->next)
        if (strcmp(words[i], argument->valuestring) != 0) __builtin_trap();
}

static void check_lines(const lob_past_report *report)
{
    lob_recipe recipe;
    lob_error error = {.text = ""};
    if (lob_past_report_recipe(&recipe, report, "fuzz", &error) != LOB_OK) {
        if (!error.text[0]) __builtin_trap();
        return;
    }
    if (recipe.line_count != report->line_count || recipe.value_count != 0) __builtin_trap();
    for (int i = 0; i < recipe.line_count; i++) {
        int count;
        char **const words = lob_recipe_fill(&count, &recipe, i, NULL);
        if (!words) abort();
        check_words(words, count, &report->lines[i]);
        free(words);
    }
    lob_recipe_free(&recipe);
}

static void check_files(const lob_past_file *files, int count)
{
    for (int i = 0; i < count; i++) {
        if (!files[i].role || !files[i].path || lob_is_stored_name(files[i].path)) __builtin_trap();
        for (int k = 0; k < 2; k++)
            if (files[i].sum[k] && strlen(files[i].sum[k]) != 64) __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_past_report report;
    lob_error error = {.text = ""};
    if (lob_past_report_parse(&report, (const char *)bytes, size, "fuzz", &error) != LOB_OK) {
        if (!error.text[0]) __builtin_trap(); /* every refusal says why */
        return 0;
    }
    check_files(report.inputs, report.input_count);
    check_files(report.outputs, report.output_count);
    if (report.line_count > 0) check_lines(&report);
    lob_past_report_free(&report);
    return 0;
}

#define SUM "\"9141955e284a4d88fc6c41f1a75997ab42b654eec778ecc824a2d34d8af69a10\""
#define OF  "\"tool\":\"lobule\",\"version\":\"0.1.0\",\"folder\":\"/a\","
#define END "\"outcome\":{\"exit_code\":0,\"message\":\"\"},"

FUZZ_TEXTS(
    "{" OF "\"command\":\"growcut\",\"arguments\":[\"a b.nii\",\"k's.nii\",\"-o\",\"l.img\"]," END
    "\"inputs\":[{\"role\":\"IMAGE\",\"path\":\"a b.nii\",\"sha256\":" SUM "}],"
    "\"outputs\":[{\"role\":\"output\",\"path\":\"l.img\",\"sha256\":" SUM
    ",\"second_file\":{\"path\":\"l.hdr\",\"sha256\":" SUM "}}],"
    "\"options\":{\"rule\":\"strength\",\"max_mm\":\"3mm\",\"range\":[0,1]}}\n",
    "{" OF "\"command\":\"run\",\"arguments\":[]," END
    "\"inputs\":[{\"role\":\"RECIPE\",\"path\":\"x.recipe\"},{\"role\":\"IMAGE\",\"path\":\"@"
    "m\"}],"
    "\"outputs\":[],\"results\":{\"lines\":["
    "{\"command\":\"labels\",\"arguments\":[\"l\\udcff\\ud83d\\ude00\\\\udc80.nii\",\"\"],"
    "\"options\":{}},{\"command\":\"lobule\",\"arguments\":[\"# {x}\"],\"options\":{}}]}}",
    "{" OF "\"command\":\"info\",\"outcome\":{\"exit_code\":66,\"message\":\"a.nii: gone\"},"
    "\"inputs\":[],\"outputs\":[]}")
