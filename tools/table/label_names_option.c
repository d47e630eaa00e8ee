/* Taking names of labels from a file, and writing them to one. */
#include "tools/table/label_names_option.h"

#include "io/label_table.h"

lob_status lob_label_table_check(lob_session *s, const char *path)
{
    if (!path || lob_is_label_table_name(path)) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EARG, path,
                         "names of labels are in .csv, .ctbl, .label, .lut, .tsv and .txt files");
}

lob_status lob_label_table_take(lob_session *s, lob_volume *labels, const char *path)
{
    lob_label_names read;
    if (!path) return LOB_OK;
    lob_status st = lob_label_table_read(&read, path, &s->error);
    for (int32_t i = 0; st == LOB_OK && i < read.count; i++) {
        const lob_label_name *row = &read.rows[i];
        st = lob_label_names_put(&labels->names, row->label, row->name, &row->colour,
                                 row->terminology);
        if (st != LOB_OK) lob_session_no_memory(s, path);
    }
    if (st == LOB_OK) cJSON_AddNumberToObject(s->results, "named_labels", labels->names.count);
    lob_label_names_free(&read);
    return st;
}

static lob_status make_table(lob_session *s, const char *path, void *user)
{
    return lob_label_table_write(user, path, s->force, &s->error);
}

lob_status lob_label_table_make(lob_session *s, const lob_volume *labels, const char *path)
{
    lob_label_names names = labels->names;
    if (!path) return LOB_OK;
    if (names.count == 0)
        return lob_fail_file(&s->error, LOB_EDATA, path, "not written: no label has a name");
    return lob_session_make(s, NULL, path, make_table, &names);
}
