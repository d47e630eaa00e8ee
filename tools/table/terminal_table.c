/* Tables for people. */
#include "tools/table/terminal_table.h"

#include "io/text_rows.h"
#include "tools/platform/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_CELL = 32, GAP = 2 }; /* characters */

int lob_terminal_width(void)
{
    if (!lob_is_terminal(stdout)) return 0;
    const int columns = lob_terminal_columns();
    return columns > 0 ? columns : 80;
}

int lob_first_characters(const char *text, int most, int *characters)
{
    int bytes = 0;
    *characters = 0;
    for (; text[bytes]; bytes++) {
        if (((unsigned char)text[bytes] & 0xC0) == 0x80) continue; /* in a character */
        if (*characters == most) break;
        ++*characters;
    }
    return bytes;
}

typedef struct {
    int width;
    bool text; /* a cell is no number */
} column;

static void measure(column *columns, lob_lines *lines)
{
    bool names = true;
    for (char *line; (line = lob_lines_raw(lines)); names = false) {
        lob_fields cells;
        lob_fields_cut(&cells, line, '\t');
        for (int c = 0; c < cells.count; c++) {
            char *end;
            int characters;
            lob_first_characters(cells.field[c], LONGEST_CELL, &characters);
            if (characters > columns[c].width) columns[c].width = characters;
            strtod(cells.field[c], &end);
            const bool number = *end == '\0' || strcmp(cells.field[c], "n/a") == 0;
            columns[c].text = columns[c].text || !(names || number);
        }
    }
}

static int columns_that_fit(const column *columns, int count, int width)
{
    int used = 0;
    for (int c = 0; c < count; c++) {
        used += columns[c].width + (c ? GAP : 0);
        if (used > width) return c ? c : 1;
    }
    return count;
}

static void print_rows(const column *columns, int shown, lob_lines *lines)
{
    for (char *line; (line = lob_lines_raw(lines));) {
        lob_fields cells;
        lob_fields_cut(&cells, line, '\t');
        for (int c = 0; c < cells.count && c < shown; c++) {
            int characters;
            const int bytes = lob_first_characters(cells.field[c], LONGEST_CELL, &characters);
            const int blanks = columns[c].width - characters;
            const bool last = c + 1 == shown;
            printf("%*s", (c ? GAP : 0) + (columns[c].text ? 0 : blanks), "");
            printf("%.*s%*s", bytes, cells.field[c], columns[c].text && !last ? blanks : 0, "");
        }
        printf("\n");
    }
}

lob_status lob_terminal_table(const lob_text *tsv, int width, lob_error *error)
{
    column columns[LOB_FIELDS] = {{0}};
    lob_lines lines;
    int count = 0;
    LOB_TRY(lob_lines_begin(&lines, tsv->bytes, tsv->size, "the table", error));
    measure(columns, &lines);
    lob_lines_end(&lines);
    while (count < LOB_FIELDS && columns[count].width > 0) count++;
    const int shown = columns_that_fit(columns, count, width);
    LOB_TRY(lob_lines_begin(&lines, tsv->bytes, tsv->size, "the table", error));
    print_rows(columns, shown, &lines);
    lob_lines_end(&lines);
    if (shown < count)
        printf("(columns left out: %d; a file has them all, and a pipe)\n", count - shown);
    return LOB_OK;
}

lob_status lob_print_table(lob_text *tsv, lob_error *error)
{
    const int width = lob_terminal_width();
    lob_status st = LOB_OK;
    if (tsv->failed)
        st = lob_fail(error, LOB_ENOMEM, "the table: out of memory");
    else if (width > 0)
        st = lob_terminal_table(tsv, width, error);
    else
        printf("%s", tsv->bytes ? tsv->bytes : "");
    lob_text_free(tsv);
    return st;
}
