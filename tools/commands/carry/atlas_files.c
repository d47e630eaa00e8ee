/* Reading lists of atlases. */
#include "tools/commands/carry/atlas_files.h"
#include "io/file.h"
#include "io/format.h"
#include "io/text_rows.h"
#include "tools/text/path.h"
#include "volumes/lists.h"

#include <stdlib.h>
#include <string.h>

/* A path of a table in `folder`; NULL without memory. */
static char *path_in(const char *folder, const char *name)
{
    return folder && name[0] != '/' ? lob_path_in(folder, name) : strdup(name);
}

static lob_status add(lob_session *s, lob_atlas_files *files, const char *folder, const char *image,
                      const char *labels)
{
    if (!lob_grow(&files->file, files->count, sizeof *files->file))
        return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    lob_atlas_file *const to = &files->file[files->count++];
    *to = (lob_atlas_file){path_in(folder, image), path_in(folder, labels)};
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

/* The rows under the line of names. */
static lob_status take_rows(lob_session *s, lob_atlas_files *files, lob_lines *text, char gap,
                            const char *folder, int most)
{
    lob_fields cells;
    char *line = lob_lines_next(text);
    if (line) lob_fields_cut(&cells, line, gap);
    const int image = line ? lob_fields_column(&cells, "image") : -1;
    const int labels = line ? lob_fields_column(&cells, "labels") : -1;
    if (image < 0 || labels < 0)
        return lob_fail_file(&s->error, LOB_EDATA, text->name,
                             "lists atlases in columns named image and labels, and has no column "
                             "%s in its first line",
                             image < 0 ? "image" : "labels");
    while ((line = lob_lines_next(text))) {
        if (!line[0]) continue;
        lob_fields_cut(&cells, line, gap);
        const char *const a = lob_fields_text(&cells, image);
        const char *const b = lob_fields_text(&cells, labels);
        if (!a[0] || !b[0])
            return lob_fail_line(&s->error, LOB_EDATA, text->name, text->line, "has no %s",
                                 a[0] ? "labels" : "image");
        if (files->count == most)
            return lob_fail_file(&s->error, LOB_EDATA, text->name, "lists more than %d atlases",
                                 most);
        LOB_TRY(add(s, files, folder, a, b));
    }
    if (files->count == 0) return lob_fail_file(&s->error, LOB_EDATA, text->name, "lists no atlas");
    return LOB_OK;
}

lob_status lob_atlas_table(lob_session *s, lob_atlas_files *files, const char *path, int most)
{
    const char *const slash = strrchr(path, '/');
    char *const folder = slash ? strndup(path, (size_t)(slash - path + (slash == path))) : NULL;
    lob_lines text;
    if (slash && !folder) return lob_fail(&s->error, LOB_ENOMEM, "out of memory");
    lob_status st = lob_lines_read(&text, path, &s->error);
    if (st == LOB_OK) {
        st = take_rows(s, files, &text, lob_has_suffix(path, ".csv") ? ',' : '\t', folder, most);
        lob_lines_end(&text);
    }
    if (st == LOB_OK) lob_session_describe(s, path, NULL);
    free(folder);
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
        free(files->file[i].image);
        free(files->file[i].labels);
    }
    free(files->file);
    *files = (lob_atlas_files){NULL};
}
