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
    /* Open MPI's mpirun gives each task a terminal, and may itself write into a file. */
    if (getenv("OMPI_COMM_WORLD_SIZE") || !lob_is_terminal(stdout)) return 0;
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
    bool text;  /* a cell is no number */
    bool place; /* where a region lies, which people ask last */
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
            if (names)
                columns[c].place = strncmp(cells.field[c], "bbox_", 5) == 0 ||
                                   strncmp(cells.field[c], "centroid_", 9) == 0;
            strtod(cells.field[c], &end);
            const bool number = *end == '\0' || strcmp(cells.field[c], "n/a") == 0;
            columns[c].text = columns[c].text || !(names || number);
        }
    }
}

/* Columns as they are shown, places last. */
static void set_order(int *order, const column *columns, int count)
{
    for (int places = 0; places < 2; places++)
        for (int c = 0; c < count; c++)
            if (columns[c].place == places) *order++ = c;
}

static int columns_that_fit(const column *columns, const int *order, int count, int width)
{
    int used = 0;
    for (int k = 0; k < count; k++) {
        used += columns[order[k]].width + (k ? GAP : 0);
        if (used > width) return k ? k : 1;
    }
    return count;
}

static void print_rows(const column *columns, const int *order, int shown, lob_lines *lines)
{
    for (char *line; (line = lob_lines_raw(lines));) {
        lob_fields cells;
        lob_fields_cut(&cells, line, '\t');
        for (int k = 0; k < cells.count && k < shown; k++) {
            const int c = order[k];
            int characters;
            const int bytes = lob_first_characters(cells.field[c], LONGEST_CELL, &characters);
            const int blanks = columns[c].width - characters;
            const bool last = k + 1 == shown;
            printf("%*s", (k ? GAP : 0) + (columns[c].text ? 0 : blanks), "");
            printf("%.*s%*s", bytes, cells.field[c], columns[c].text && !last ? blanks : 0, "");
        }
        printf("\n");
    }
}

lob_status lob_terminal_table(const lob_text *tsv, int width, lob_error *error)
{
    column columns[LOB_FIELDS] = {{0}};
    int order[LOB_FIELDS], count = 0;
    lob_lines lines;
    LOB_TRY(lob_lines_begin(&lines, tsv->bytes, tsv->size, "the table", error));
    measure(columns, &lines);
    lob_lines_end(&lines);
    while (count < LOB_FIELDS && columns[count].width > 0) count++;
    set_order(order, columns, count);
    const int shown = columns_that_fit(columns, order, count, width);
    LOB_TRY(lob_lines_begin(&lines, tsv->bytes, tsv->size, "the table", error));
    print_rows(columns, order, shown, &lines);
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
