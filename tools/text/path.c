/* Joining and relating paths, making folders. */
#include "tools/text/path.h"

#include "io/format.h"
#include "io/io.h"
#include "io/platform.h"
#include "tools/text/text.h"
#include "volumes/free.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

char *lob_path_in(const char *folder, const char *name)
{
    const size_t n = strlen(folder);
    return lob_printed("%s%s%s", folder, n > 0 && folder[n - 1] == '/' ? "" : "/", name);
}

char *lob_path_relative(const char *to, const char *from)
{
    char *const there = lob_real_path(to), *const here = lob_real_path(from);
    char *path = NULL;
    if (there && here && there[0] == here[0]) { /* Windows' drives have no common root */
        size_t same = 0; /* up to the slash after the last folder that both have */
        for (size_t i = 0;; i++) {
            const bool ends = (!there[i] || there[i] == '/') && (!here[i] || here[i] == '/');
            if (ends) same = i;
            if (there[i] != here[i] || !there[i]) break;
        }
        const char *down = there + same, *up = here + same;
        char ups[PATH_MAX] = "";
        for (; *up; up++)
            if (*up == '/' && up[1] && strlen(ups) + 4 < sizeof ups) strcat(ups, "../");
        while (*down == '/') down++;
        path = lob_printed("%s%s", ups, down);
        const size_t n = path ? strlen(path) : 0;
        if (n > 1 && path[n - 1] == '/') path[n - 1] = '\0';
        if (n == 0 && path) {
            free(path);
            path = strdup(".");
        }
    }
    LOB_FREE(there, here);
    return path;
}

char *lob_path_store(const char *path)
{
    char *const above = strdup(path);
    for (char *slash; above && (slash = strrchr(above, '/')) && slash > above;) {
        *slash = '\0';
        if (lob_has_suffix(above, ".zarr")) return above;
    }
    free(above);
    return NULL;
}

bool lob_path_in_store(const char *path)
{
    static const char labels[] = "/labels/";
    char *const store = lob_path_store(path);
    const char *const inner = store ? path + strlen(store) : "";
    const bool is =
        strncmp(inner, labels, sizeof labels - 1) == 0 && !strchr(inner + sizeof labels - 1, '/');
    free(store);
    return is;
}

lob_status lob_path_files(char *files[2], const char *path, bool is_volume, bool reading)
{
    if (is_volume) return lob_files_of(files, path, reading);
    files[0] = strdup(path);
    files[1] = NULL;
    return files[0] ? LOB_OK : LOB_ENOMEM;
}

bool lob_make_folders(const char *path)
{
    char *const way = strdup(path);
    char *const last = way ? strrchr(way, '/') : NULL;
    bool made = way != NULL;
    if (last && last > way) {
        *last = '\0';
        made = lob_is_there(way) ||
               (lob_make_folders(way) && (lob_make_folder(way) == 0 || errno == EEXIST));
    }
    free(way);
    return made;
}

bool lob_can_make_folders(const char *path)
{
    lob_about about;
    char *const way = strdup(path), *last;
    const char *there = ".";
    while (way && (last = strrchr(way, '/'))) {
        last[last == way] = '\0';
        there = way;
        if (last == way || lob_about_path(&about, way) || errno != ENOENT) break;
        there = ".";
    }
    const bool can = way && lob_is_folder(there) && lob_can_make_files_in(there);
    free(way);
    return can;
}

char *lob_path_as_pattern(const char *path)
{
    char *const pattern = malloc(2 * strlen(path) + 1), *to = pattern;
    for (; pattern && *path; *to++ = *path++)
        if (strchr("*?[\\", *path)) *to++ = '\\';
    if (pattern) *to = '\0';
    return pattern;
}
