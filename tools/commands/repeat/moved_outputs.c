/* Giving the outputs of a job's lines other names. */
#include "tools/commands/repeat/moved_outputs.h"

#include "io/io.h"
#include "io/platform.h"
#include "tools/inout/volumes.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    lob_recipe_job *job;
    const char *folder;
    lob_moves *moves;
} mover;

static lob_status no_memory(const mover *m)
{
    return lob_fail_file(&m->job->run->error, LOB_ENOMEM, m->job->name, "out of memory");
}

/* ---- names ---- */

/* The length of the name of the file in a path, of which a volume's may go on into the file:
 * "cells.h5:/labels". */
static lob_status file_length(size_t *length, const char *path, bool of_volume)
{
    char *files[2];
    LOB_TRY(lob_path_files(files, path, of_volume, false));
    *length = strlen(files[0]);
    lob_files_free(files);
    return LOB_OK;
}

static lob_status meets(bool *touch, const lob_moves *moves, const char *path, bool of_volume)
{
    *touch = false;
    for (int i = 0; i < moves->count && !*touch; i++)
        LOB_TRY(lob_paths_touch(touch, path, of_volume, moves->files[i].to,
                                moves->files[i].is_volume, false));
    return LOB_OK;
}

/* FOLDER/NAME, or FOLDER/2/NAME, and so on; malloc'ed. */
static lob_status new_name(char **out, const mover *m, const lob_line_file *file)
{
    size_t length;
    LOB_TRY(file_length(&length, file->path, lob_content_is_volume(file->content)));
    size_t last = length;
    while (last > 0 && file->path[last - 1] != '/') last--;
    const char *const name = file->path + last;
    bool touch = true;
    *out = NULL;
    for (int n = 1; touch; n++) {
        free(*out);
        *out = n == 1 ? lob_printed("%s/%s", m->folder, name)
                      : lob_printed("%s/%d/%s", m->folder, n, name);
        if (!*out ||
            meets(&touch, m->moves, *out, lob_content_is_volume(file->content)) != LOB_OK) {
            free(*out);
            return LOB_ENOMEM;
        }
    }
    return LOB_OK;
}

/* Let a word of a line end in another name. */
static lob_status rename_word(mover *m, char **word, const lob_line_file *file, const char *to)
{
    lob_moves *const moves = m->moves;
    char *const made = lob_grow(&moves->words, moves->word_count, sizeof *moves->words)
                           ? lob_printed("%.*s%s", (int)(file->typed - *word), *word, to)
                           : NULL;
    if (!made) return no_memory(m);
    *word = moves->words[moves->word_count++] = made;
    return LOB_OK;
}

static lob_status move_output(mover *m, char **word, const lob_line_file *file)
{
    lob_moves *const moves = m->moves;
    if (!lob_grow(&moves->files, moves->count, sizeof *moves->files)) return no_memory(m);
    /* a report's words have ./ before a name that would be an option */
    const int bare = strncmp(file->path, "./-", 3) == 0 ? 2 : 0;
    lob_moved moved = {.from = strdup(file->path + bare),
                       .is_volume = lob_content_is_volume(file->content)};
    if (!moved.from || new_name(&moved.to, m, file) != LOB_OK) {
        free(moved.from);
        return no_memory(m);
    }
    moves->files[moves->count++] = moved;
    return rename_word(m, word, file, moved.to);
}

/* An input that a line before makes is called as that is now. */
static lob_status follow_input(mover *m, char **word, const lob_line_file *file)
{
    for (int i = 0; i < m->moves->count; i++) {
        const lob_moved *const made = &m->moves->files[i];
        bool touch;
        size_t old_length, new_length;
        if (lob_paths_touch(&touch, made->from, made->is_volume, file->path,
                            lob_content_is_volume(file->content), false) != LOB_OK ||
            file_length(&old_length, file->path, lob_content_is_volume(file->content)) != LOB_OK ||
            file_length(&new_length, made->to, made->is_volume) != LOB_OK)
            return no_memory(m);
        if (!touch) continue;
        char *const to = lob_printed("%.*s%s", (int)new_length, made->to, file->path + old_length);
        const lob_status st = to ? rename_word(m, word, file, to) : no_memory(m);
        free(to);
        return st;
    }
    return LOB_OK;
}

/* ---- lines ---- */

/* Parse the line's command, which notes its files. */
static lob_status note_files(mover *m, lob_line *l)
{
    lob_line_check(m->job, l);
    lob_error *const error = &m->job->run->error;
    if (l->file_count == 0 && l->status == LOB_EARG) {
        lob_error_add(error, "; this is no command line of this version");
        return LOB_EDATA;
    }
    *error = (lob_error){.text = ""};
    return LOB_OK;
}

/* The file that a word names, or NULL. */
static const lob_line_file *file_in(const lob_line *l, const char *word)
{
    for (int f = 0; f < l->file_count; f++) {
        const lob_line_file *const file = &l->files[f];
        if (file->typed >= word && file->typed <= word + strlen(word) &&
            lob_line_file_is_on_disk(file))
            return file;
    }
    return NULL;
}

static lob_status move_line(mover *m, lob_line *l)
{
    LOB_TRY(note_files(m, l));
    int moved = m->moves->count;
    for (int f = 0; f < l->file_count; f++)
        moved += l->files[f].is_output && lob_line_file_is_on_disk(&l->files[f]);
    for (int w = 1; w < l->word_count; w++) {
        const lob_line_file *const file = file_in(l, l->words[w]);
        if (file) LOB_TRY((file->is_output ? move_output : follow_input)(m, &l->words[w], file));
    }
    if (m->moves->count == moved) return LOB_OK;
    return lob_fail_file(&m->job->run->error, LOB_EINTERNAL, l->place,
                         "an output is named nowhere");
}

lob_status lob_outputs_move(lob_moves *moves, lob_recipe_job *job, const char *folder)
{
    mover m = {.job = job, .folder = folder, .moves = moves};
    *moves = (lob_moves){.count = 0};
    for (int i = 0; i < job->line_count; i++) LOB_TRY(move_line(&m, &job->lines[i]));
    return LOB_OK;
}

void lob_moves_free(lob_moves *moves)
{
    for (int i = 0; i < moves->count; i++) {
        LOB_FREE(moves->files[i].from, moves->files[i].to);
    }
    for (int i = 0; i < moves->word_count; i++) free(moves->words[i]);
    LOB_FREE(moves->files, moves->words);
    *moves = (lob_moves){.count = 0};
}

/* ---- folders ---- */

/* The folder of a new name, malloc'ed. The name may go on into a file, which may hold '/'. */
static char *folder_of(const lob_moved *moved)
{
    size_t length;
    if (file_length(&length, moved->to, moved->is_volume) != LOB_OK) return NULL;
    while (moved->to[length] != '/') length--; /* it is absolute */
    return strndup(moved->to, length);
}

lob_status lob_moves_make_folders(const lob_moves *moves, lob_error *error)
{
    for (int i = 0; i < moves->count; i++) {
        char *const folder = folder_of(&moves->files[i]);
        if (!folder) return lob_fail(error, LOB_ENOMEM, "out of memory");
        const int failure = lob_make_folder(folder) == 0 ? 0 : errno;
        const lob_status st =
            failure == 0 || failure == EEXIST
                ? LOB_OK
                : lob_fail_file(error, LOB_ECREATE, folder, "this folder cannot be made (%s)",
                                ERRNO_TEXT(failure));
        free(folder);
        LOB_TRY(st);
    }
    return LOB_OK;
}

void lob_moves_remove_folders(const lob_moves *moves)
{
    for (int i = moves->count - 1; i >= 0; i--) {
        char *const folder = folder_of(&moves->files[i]);
        if (folder) lob_remove_folder(folder);
        free(folder);
    }
}
