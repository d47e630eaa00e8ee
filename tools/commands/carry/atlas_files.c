/* Reading lists of atlases. */
#include "tools/commands/carry/atlas_files.h"
#include "io/file.h"
#include "io/platform.h"
#include "tools/table/columns.h"
#include "tools/text/text.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

/* The path that a table has as `name`, relative to it; table NULL: to nothing. NULL without memory.
 */
static char *path_of(const char *table, const char *name)
{
    const bool relative = table && !lob_is_from_root(name);
    char *const path = lob_printed("%.*s%s", relative ? (int)(lob_name_in_path(table) - table) : 0,
                                   relative ? table : "", name);
    if (path) lob_path_take(path);
    return path;
}

static lob_status add(lob_session *s, lob_atlas_files *files, const char *table, const char *image,
                      const char *labels)
{
    if (!lob_grow(&files->file, files->count, sizeof *files->file))
        return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    lob_atlas_file *const to = &files->file[files->count++];
    *to = (lob_atlas_file){path_of(table, image), path_of(table, labels)};
    return to->image && to->labels ? LOB_OK : lob_fail(&s->error, LOB_ENOMEM, "out of memory");
}

lob_status lob_atlas_add(lob_session *s, lob_atlas_files *files, const char *pair)
{
    const char *const comma = strchr(pair, ',');
    if (!comma || comma == pair || !comma[1] || strchr(comma + 1, ','))
        return lob_fail(&s->error, LOB_EARG,
                        "--atlas %s: give an image and its labels with one comma between, as "
                        "moved.nii.gz,moved_labels.nii.gz",
                        pair);
    char *const image = strndup(pair, (size_t)(comma - pair));
    if (!image) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    lob_status st = add(s, files, NULL, image, comma + 1);
    for (int k = 0; k < 2 && st == LOB_OK; k++)
        if (lob_session_is_stored(s, k == 0 ? image : comma + 1))
            st = lob_fail(&s->error, LOB_EARG,
                          "--atlas %s: atlases are files, not volumes in memory", pair);
    free(image);
    return st;
}

static lob_status take_rows(lob_session *s, lob_atlas_files *files, const lob_columns *table,
                            int most)
{
    const int image = lob_columns_find(table, "image"), labels = lob_columns_find(table, "labels");
    if (image < 0 || labels < 0)
        return lob_fail_file(&s->error, LOB_EDATA, table->source,
                             "lists atlases in columns named image and labels, and has no column "
                             "%s in its first line",
                             image < 0 ? "image" : "labels");
    if (table->rows == 0 || table->rows > most)
        return lob_fail_file(&s->error, LOB_EDATA, table->source,
                             table->rows ? "lists more than %d atlases" : "lists no atlas", most);
    for (int64_t i = 0; i < table->rows; i++) {
        const char *const *const cell = table->cells + i * table->columns;
        if (!cell[image][0] || !cell[labels][0])
            return lob_fail_line(&s->error, LOB_EDATA, table->source, table->line[i], "has no %s",
                                 cell[image][0] ? "labels" : "image");
        LOB_TRY(lob_columns_check_text(table, cell[image], table->line[i], &s->error));
        LOB_TRY(lob_columns_check_text(table, cell[labels], table->line[i], &s->error));
        LOB_TRY(add(s, files, table->source, cell[image], cell[labels]));
        const lob_atlas_file *const file = files->file, *const own = &file[files->count - 1];
        for (const lob_atlas_file *f = file; f < own; f++) /* it would vote twice */
            if (strcmp(f->image, own->image) == 0 && strcmp(f->labels, own->labels) == 0)
                return lob_fail_line(&s->error, LOB_EDATA, table->source, table->line[i],
                                     "lists %s a second time", own->image);
    }
    return LOB_OK;
}

lob_status lob_atlas_table(lob_session *s, lob_atlas_files *files, const char *path, int most)
{
    lob_columns table;
    lob_status st = lob_columns_read(&table, path, LOB_COLUMNS_LOOSE, &s->error);
    if (st == LOB_OK) st = take_rows(s, files, &table, most);
    if (st == LOB_OK) lob_session_describe(s, path, NULL);
    lob_columns_free(&table);
    return st;
}

lob_status lob_atlas_spare(lob_session *s, const lob_atlas_files *files, const char *output)
{
    for (int i = 0; i < files->count && output; i++)
        if (lob_same_file(output, files->file[i].image) ||
            lob_same_file(output, files->file[i].labels))
            return lob_fail_file(&s->error, LOB_EARG, output,
                                 "belongs to an atlas; give the output a name of its own");
    return LOB_OK;
}

void lob_atlas_files_free(lob_atlas_files *files)
{
    for (int i = 0; i < files->count; i++) {
        LOB_FREE(files->file[i].image, files->file[i].labels);
    }
    free(files->file);
    *files = (lob_atlas_files){NULL};
}
