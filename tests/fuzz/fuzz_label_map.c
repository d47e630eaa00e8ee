/* Fuzz target: tables of labels and what they become. */
#include "tests/fuzz/fuzz.h"

#include "tools/table/label_map.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_labels_rule *rules = NULL;
    int64_t count = 0;
    lob_error error = {.text = ""};
    lob_lines text;
    lob_status st = lob_lines_begin(&text, (const char *)bytes, size, "fuzz.csv", &error);
    if (st == LOB_OK) {
        st = lob_label_map_parse(&rules, &count, &text);
        lob_lines_end(&text);
    }
    if ((st == LOB_OK) != !error.text[0]) __builtin_trap(); /* every refusal says why */
    if ((st == LOB_OK) != (count > 0)) __builtin_trap();
    for (int64_t i = 0; i < count; i++)
        if (rules[i].first < 1 || rules[i].last != rules[i].first || rules[i].to < 0)
            __builtin_trap();
    free(rules);
    return 0;
}

FUZZ_TEXTS("from,to\n1,2\n3,0\n2147483647,1\n",
           "\xef\xbb\xbf\"1\",\"4\",\"a, \"\"b\"\"\"\r\n# a comment\r\n\r\n2,5\r\n",
           "index\tname\n17\t3\thippocampus\n18 \t 4\n")
