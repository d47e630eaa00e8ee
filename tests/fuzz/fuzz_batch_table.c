/* Fuzz target: the status table of batch; what was read and written again reads the same. */
#include "tests/fuzz/fuzz.h"

#include "tools/batch/batch_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds) __builtin_trap();
}

/* The lines of all rows, and of no others, under the header; malloc'ed. */
static char *print(const lob_batch_table *table, size_t *size)
{
    char *text = NULL, *line = lob_batch_header_line();
    FILE *const f = open_memstream(&text, size);
    check(f && line);
    fputs(line, f);
    free(line);
    for (int64_t i = 0; i < table->count; i++) {
        line = lob_batch_row_line(&table->rows[i]);
        check(line != NULL);
        fputs(line, f);
        free(line);
    }
    check(fclose(f) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_batch_table table, again;
    lob_error error = {.text = ""};
    /* the header comes of itself: no mutation finds it */
    char *const header = lob_batch_header_line();
    const size_t n = strlen(header);
    char *const text = malloc(n + size + 1);
    check(header && text);
    memcpy(text, header, n);
    memcpy(text + n, bytes, size);
    const lob_status st = lob_batch_table_parse(&table, text, n + size, "fuzz", &error);
    check((st == LOB_OK) != (error.text[0] != '\0')); /* every refusal says why */
    if (st == LOB_OK) {
        size_t first_size, second_size;
        char *const first = print(&table, &first_size);
        check(lob_batch_table_parse(&again, first, first_size, "fuzz", NULL) == LOB_OK);
        char *const second = print(&again, &second_size);
        check(again.count == table.count && first_size == second_size);
        check(memcmp(first, second, first_size) == 0);
        free(first);
        free(second);
        lob_batch_table_free(&again);
    }
    lob_batch_table_free(&table);
    free(text);
    free(header);
    return 0;
}

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    char none[] = "", role[] = "1:IMAGE", path[] = "a b.nii.gz", scan[] = "one", device[] = "cpu",
         message[] = "a\ttab and a \\";
    lob_batch_file file = {'i', role, "", 7, 1, path};
    memset(file.sha256, 'a', sizeof file.sha256 - 1);
    lob_batch_row row = {
        .scan = scan,
        .state = number == 0 ? LOB_SCAN_DONE : LOB_SCAN_FAILED,
        .exit_code = number,
        .message = number == 0 ? none : message,
        .started = "2026-01-01T00:00:00Z",
        .total_s = 1.5,
        .voxels = -1,
        .labels = 3,
        .memory = 1 << 20,
        .device = device,
        .outputs = {&file, number},
        .inputs = {&file, 1     },
        .report = none
    };
    if (number > 1) return 0;
    char *const line = lob_batch_row_line(&row);
    const size_t n = line ? strlen(line) : 0;
    if (n <= capacity) memcpy(bytes, line, n);
    free(line);
    return n <= capacity ? n : 0;
}
