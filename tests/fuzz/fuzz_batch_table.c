/* Fuzz target: the status table of batch; what was read and written again reads the same. */
#include "tests/fuzz/fuzz.h"

#include "tools/table/status_table.h"

/* The lines of all rows, and of no others, under the header. */
static lob_text print(const lob_batch_table *table)
{
    lob_text text = {NULL};
    lob_batch_header_add(&text);
    for (int64_t i = 0; i < table->count; i++) lob_batch_row_add(&text, &table->rows[i]);
    check(!text.failed);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_batch_table table, again;
    lob_error error = {.text = ""};
    /* the header comes of itself: no mutation finds it */
    lob_text text = {NULL};
    lob_batch_header_add(&text);
    lob_text_add(&text, (const char *)bytes, size);
    check(!text.failed);
    const lob_status st = lob_batch_table_parse(&table, text.bytes, text.size, "fuzz", "", &error);
    check((st == LOB_OK) != (error.text[0] != '\0')); /* every refusal says why */
    if (st == LOB_OK) {
        lob_text first = print(&table);
        check(lob_batch_table_parse(&again, first.bytes, first.size, "fuzz", "", NULL) == LOB_OK);
        lob_text second = print(&again);
        check(again.count == table.count && first.size == second.size);
        check(memcmp(first.bytes, second.bytes, first.size) == 0);
        lob_text_free(&first);
        lob_text_free(&second);
        lob_batch_table_free(&again);
    }
    lob_batch_table_free(&table);
    lob_text_free(&text);
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
    lob_text line = {NULL};
    lob_batch_row_add(&line, &row);
    const size_t n = line.failed || line.size > capacity ? 0 : line.size;
    memcpy(bytes, line.bytes, n);
    lob_text_free(&line);
    return n;
}
