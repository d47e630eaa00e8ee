/* Fuzz target: tables whose first line names their columns: manifests of batch, lists of atlases.
 */
#include "tests/fuzz/fuzz.h"

#include "tools/table/columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    lob_columns columns;
    lob_error error = {.text = ""};
    const lob_columns_rule rule = size % 2 ? LOB_COLUMNS_EXACT : LOB_COLUMNS_LOOSE;
    const lob_status st =
        lob_columns_parse(&columns, (const char *)bytes, size, "fuzz.csv", rule, &error);
    check((st == LOB_OK) != (error.text[0] != '\0')); /* every refusal says why */
    check(st == LOB_OK || columns.rows == 0);
    for (int c = 0; c < columns.columns && columns.rows > 0 && rule == LOB_COLUMNS_EXACT; c++)
        check(columns.names[c][0] &&
              lob_columns_cell(&columns, 0, columns.names[c]) == columns.cells[c]);
    for (int64_t i = 0; i < columns.rows * columns.columns; i++)
        check(strlen(columns.cells[i]) < size);
    for (int64_t i = 1; i < columns.rows; i++) check(columns.line[i] > columns.line[i - 1]);
    lob_columns_free(&columns);
    return 0;
}

FUZZ_TEXTS("image\tseeds\tscan\na.nii.gz\tb.nii.gz\t1\nc d.nii\t\t2\n",
           "\xef\xbb\xbfimage\tname\r\n\r\nx.nii\t\"quoted\\t\"\r\n")
