/* Reading tables of labels and what they become. */
#include "tools/table/label_map.h"

#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

static lob_status take_line(lob_labels_rule **rules, int64_t *count, const lob_lines *text,
                            char *line)
{
    lob_fields fields;
    int32_t from, to;
    if (*line == '\0' || *line == '#') return LOB_OK;
    const char *const gap = strpbrk(line, "\t,;");
    lob_fields_cut(&fields, line, gap ? *gap : ',');
    const char *const first = fields.field[0] + strspn(fields.field[0], " ");
    if (text->line == 1 && (*first < '0' || *first > '9')) return LOB_OK; /* a header */
    if (!lob_field_whole(&from, &fields, 0, 1, INT32_MAX))
        return lob_lines_bad(text,
                             "holds no label, from 1, in its first column; a line is FROM,TO");
    if (!lob_field_whole(&to, &fields, 1, 0, INT32_MAX))
        return lob_lines_bad(text,
                             "holds no label, from 0, in its second column; a line is FROM,TO");
    if (!lob_grow(rules, *count, sizeof **rules))
        return lob_fail_file(text->error, LOB_ENOMEM, text->name, "out of memory");
    (*rules)[(*count)++] = (lob_labels_rule){.first = from, .last = from, .to = to};
    return LOB_OK;
}

lob_status lob_label_map_parse(lob_labels_rule **rules, int64_t *count, lob_lines *text)
{
    lob_status st = LOB_OK;
    *rules = NULL;
    *count = 0;
    for (char *line; st == LOB_OK && (line = lob_lines_next(text));)
        st = take_line(rules, count, text, line);
    if (st == LOB_OK && *count == 0)
        st = lob_fail_file(text->error, LOB_EDATA, text->name, "holds no line FROM,TO");
    if (st != LOB_OK) {
        free(*rules);
        *rules = NULL;
        *count = 0;
    }
    return st;
}

lob_status lob_label_map_read(lob_labels_rule **rules, int64_t *count, const char *path,
                              lob_error *error)
{
    lob_lines text;
    *rules = NULL;
    *count = 0;
    LOB_TRY(lob_lines_read(&text, path, error));
    const lob_status st = lob_label_map_parse(rules, count, &text);
    lob_lines_end(&text);
    return st;
}
