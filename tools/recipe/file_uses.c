/* Files by their real paths, and who uses them. */
#include "tools/recipe/file_uses.h"

#include "io/io.h"
#include "io/platform.h"
#include "tools/text/path.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* The file that a path leads to, or will once the folders on it are made; malloc'ed. */
static char *real_path(const char *path)
{
    char *const there = lob_real_path(path);
    const char *const name = lob_name_in_path(path);
    size_t n = (size_t)(name - path);
    while (!name[0] && n > 1 && path[n - 1] == '/') n--;
    if (there) return there;
    if (strcmp(path, ".") == 0 || (n > 0 && !path[n])) return strdup(path);
    char *const folder = n > 0 ? strndup(path, n) : strdup(".");
    char *const real = folder ? real_path(folder) : NULL, *made = NULL;
    if (real && strcmp(name, "..") == 0)
        made = strndup(real, lob_folder_length(real));
    else if (real)
        made = name[0] && strcmp(name, ".") != 0 ? lob_path_in(real, name) : strdup(real);
    LOB_FREE(real, folder);
    return made;
}

static void free_use(lob_file_use *use)
{
    if (use) free(use->path);
    free(use);
}

/* The entry of a file; NULL without memory. */
static lob_file_use *use_of(lob_file_uses *uses, const char *path)
{
    lob_file_use *const fresh = malloc(sizeof *fresh);
    if (fresh)
        *fresh = (lob_file_use){
            .path = real_path(path), .writer = -1, .readers = {-1, -1},
                    .inside = {-1, -1}
        };
    lob_file_use *const *const at =
        fresh && fresh->path ? tsearch(fresh, &uses->tree, lob_by_text) : NULL;
    lob_file_use *const use = at ? *at : NULL;
    if (use != fresh) free_use(fresh);
    if (!use || use->store) return use;
    char *store = lob_path_store(use->path);
    if (!store) store = lob_path_store(path); /* a link, to a folder of another name */
    lob_file_use *const above = store ? use_of(uses, store) : NULL;
    const size_t n = above ? strlen(above->path) : 0;
    if (n > 0 && strncmp(use->path, above->path, n) == 0 && use->path[n] == '/')
        use->store = above; /* not where ".." or a link leads out of it */
    free(store);
    return use;
}

lob_status lob_file_uses_of(lob_file_use *use[2], lob_file_uses *uses, const char *path,
                            bool is_volume, bool reading)
{
    char *files[2];
    use[0] = use[1] = NULL;
    LOB_TRY(lob_path_files(files, path, is_volume, reading));
    use[0] = use_of(uses, files[0]);
    if (files[1]) use[1] = use_of(uses, files[1]);
    const bool found = use[0] && (!files[1] || use[1]);
    lob_files_free(files);
    return found ? LOB_OK : LOB_ENOMEM;
}

static void note(int64_t users[2], int64_t user)
{
    for (int i = 0; i < 2; i++) {
        if (users[i] < 0) users[i] = user;
        if (users[i] == user) return;
    }
}

static void note_inside(lob_file_use *use, int64_t user)
{
    for (lob_file_use *store = use->store; store; store = store->store) note(store->inside, user);
}

void lob_file_use_read(lob_file_use *use, int64_t user)
{
    note(use->readers, user);
    note_inside(use, user);
}

void lob_file_use_write(lob_file_use *use, int64_t user)
{
    use->writer = user;
    note_inside(use, user);
}

int64_t lob_file_use_other(const int64_t users[2], int64_t user)
{
    return users[users[0] == user];
}

void lob_file_uses_free(lob_file_uses *uses)
{
    while (uses->tree) {
        lob_file_use *const use = *(lob_file_use **)uses->tree;
        tdelete(use, &uses->tree, lob_by_text);
        free_use(use);
    }
    *uses = (lob_file_uses){NULL};
}
