/* Paths found by a pattern of the shell's. */
#include "tools/text/path.h"

#include "io/platform.h"
#include "tools/text/text.h"
#include "volumes/lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A failed path, here and below, ends the walk. */
static void add(lob_found *found, lob_text *path)
{
    const bool fits = lob_grow(&found->paths, (int64_t)found->count, sizeof *found->paths);
    char *const copy = fits ? strdup(path->bytes) : NULL;
    if (copy)
        found->paths[found->count++] = copy;
    else
        path->failed = true;
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

static void find(lob_found *found, lob_text *at, const char *pattern);

/* Add each entry of the folder that matches, and go on in it. */
static void find_entries(lob_found *found, lob_text *at, const char *part, const char *rest)
{
    const size_t before = at->size;
    lob_entries *const folder = lob_entries_open(before ? at->bytes : ".");
    if (!folder && errno != ENOENT && errno != ENOTDIR && errno != ELOOP) found->refused = true;
    for (const char *name; folder && !at->failed && (name = lob_entries_next(folder));) {
        if (!lob_name_matches(part, name)) continue;
        lob_text_add(at, name, strlen(name));
        find(found, at, rest);
        at->bytes[at->size = before] = '\0';
    }
    lob_entries_close(folder);
}

/* "**": add what matches the rest here and in all folders below. Those whose names begin with a dot
 * and links to folders are left out, so that no circle is walked. */
static void find_below(lob_found *found, lob_text *at, const char *pattern)
{
    const char *const rest = pattern + 2 + strspn(pattern + 2, "/");
    const size_t before = at->size;
    if (!*rest) return;
    find(found, at, rest);
    lob_entries *const folder = lob_entries_open(before ? at->bytes : ".");
    for (const char *name; folder && !at->failed && (name = lob_entries_next(folder));) {
        if (name[0] == '.' || !lob_entries_is_folder(folder)) continue;
        lob_text_print(at, "%s/", name);
        find_below(found, at, pattern);
        at->bytes[at->size = before] = '\0';
    }
    lob_entries_close(folder);
}

/* Add what matches a pattern behind a path that is there. */
static void find(lob_found *found, lob_text *at, const char *pattern)
{
    lob_about about;
    const size_t before = at->size, slashes = strspn(pattern, "/");
    bool wild;
    lob_text_add(at, pattern, slashes);
    pattern += slashes;
    const size_t n = part_length(pattern, &wild);
    if (at->failed) return;
    if (n == 0) {
        if (lob_about_link(&about, at->bytes)) add(found, at);
    } else if (n == 2 && memcmp(pattern, "**", 2) == 0) {
        find_below(found, at, pattern);
    } else if (wild) {
        char *const part = strndup(pattern, n);
        if (part)
            find_entries(found, at, part, pattern + n);
        else
            at->failed = true;
        free(part);
    } else {
        for (size_t i = 0; i < n; i++) {
            if (pattern[i] == '\\' && i + 1 < n) i++;
            lob_text_add(at, pattern + i, 1);
        }
        if (!pattern[n] || lob_is_folder(at->bytes)) find(found, at, pattern + n);
    }
    at->bytes[at->size = before] = '\0';
}

void lob_find_paths(lob_found *found, const char *pattern)
{
    lob_text at = {NULL};
    const size_t before = found->count;
    if (*pattern) find(found, &at, pattern);
    found->no_memory = found->no_memory || at.failed;
    lob_text_free(&at);
    if (found->count > before)
        qsort(found->paths + before, found->count - before, sizeof *found->paths, lob_by_text);
}

void lob_found_free(lob_found *found)
{
    for (size_t i = 0; i < found->count; i++) free(found->paths[i]);
    free(found->paths);
    *found = (lob_found){NULL};
}
