/* Paths found by a pattern of the shell's. */
#include "tools/text/find_paths.h"

#include "io/platform.h"
#include "volumes/lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A path that grows and shrinks while folders are walked. */
typedef struct {
    char *text;
    size_t size, room;
} growing_path;

static bool append(growing_path *p, const char *bytes, size_t n)
{
    if (p->size + n + 1 > p->room) {
        const size_t room = 2 * (p->size + n + 1);
        char *const text = realloc(p->text, room);
        if (!text) return false;
        p->text = text;
        p->room = room;
    }
    memcpy(p->text + p->size, bytes, n);
    p->size += n;
    p->text[p->size] = '\0';
    return true;
}

static void add(lob_found *found, const char *path)
{
    const bool fits = lob_grow(&found->paths, (int64_t)found->count, sizeof *found->paths);
    char *const copy = fits ? strdup(path) : NULL;
    if (copy)
        found->paths[found->count++] = copy;
    else
        found->no_memory = true;
}

/* Bytes of a pattern up to its next slash, or its end; has it wildcards? */
static size_t part_length(const char *pattern, bool *wild)
{
    size_t n = 0;
    *wild = false;
    for (; pattern[n] && pattern[n] != '/'; n++) {
        if (strchr("*?[", pattern[n])) *wild = true;
        if (pattern[n] == '\\' && pattern[n + 1]) n++;
    }
    return n;
}

static void find(lob_found *found, growing_path *at, const char *pattern);

/* Add each entry of the folder that matches, and go on in it. */
static void find_entries(lob_found *found, growing_path *at, const char *part, const char *rest)
{
    const size_t before = at->size;
    lob_entries *const folder = lob_entries_open(before ? at->text : ".");
    if (!folder && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) found->refused = true;
    for (const char *name; folder && !found->no_memory && (name = lob_entries_next(folder));) {
        if (!lob_name_matches(part, name)) continue;
        if (append(at, name, strlen(name)))
            find(found, at, rest);
        else
            found->no_memory = true;
        at->text[at->size = before] = '\0';
    }
    lob_entries_close(folder);
}

/* "**": add what matches the rest here and in all folders below. Those whose names begin with a dot
 * and links to folders are left out, so that no circle is walked. */
static void find_below(lob_found *found, growing_path *at, const char *pattern)
{
    const char *const rest = pattern + 2 + strspn(pattern + 2, "/");
    const size_t before = at->size;
    if (!*rest) return;
    find(found, at, rest);
    lob_entries *const folder = lob_entries_open(before ? at->text : ".");
    for (const char *name; folder && !found->no_memory && (name = lob_entries_next(folder));) {
        if (name[0] == '.' || !lob_entries_is_folder(folder)) continue;
        if (append(at, name, strlen(name)) && append(at, "/", 1))
            find_below(found, at, pattern);
        else
            found->no_memory = true;
        at->text[at->size = before] = '\0';
    }
    lob_entries_close(folder);
}

/* Add what matches a pattern behind a path that is there. */
static void find(lob_found *found, growing_path *at, const char *pattern)
{
    lob_about about;
    const size_t before = at->size, slashes = strspn(pattern, "/");
    bool wild, fits = append(at, pattern, slashes);
    pattern += slashes;
    const size_t n = part_length(pattern, &wild);
    if (fits && n == 0) {
        if (lob_about_link(&about, at->text)) add(found, at->text);
    } else if (fits && n == 2 && memcmp(pattern, "**", 2) == 0) {
        find_below(found, at, pattern);
    } else if (fits && wild) {
        char *const part = strndup(pattern, n);
        fits = part != NULL;
        if (fits) find_entries(found, at, part, pattern + n);
        free(part);
    } else if (fits) {
        for (size_t i = 0; i < n && fits; i++) {
            if (pattern[i] == '\\' && i + 1 < n) i++;
            fits = append(at, pattern + i, 1);
        }
        if (fits && (!pattern[n] || lob_is_folder(at->text))) find(found, at, pattern + n);
    }
    if (!fits) found->no_memory = true;
    if (at->text) at->text[at->size = before] = '\0';
}

void lob_find_paths(lob_found *found, const char *pattern)
{
    growing_path at = {NULL};
    const size_t before = found->count;
    if (*pattern) find(found, &at, pattern);
    free(at.text);
    if (found->count > before)
        qsort(found->paths + before, found->count - before, sizeof *found->paths, lob_by_text);
}

void lob_found_free(lob_found *found)
{
    for (size_t i = 0; i < found->count; i++) free(found->paths[i]);
    free(found->paths);
    *found = (lob_found){NULL};
}
