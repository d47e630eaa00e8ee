/* A folder of a test's own, and files in it. */
#ifndef LOB_TEST_SCRATCH_H
#define LOB_TEST_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Make an empty folder; NULL when the system has no room for one. */
static inline char *scratch_folder(void)
{
    const char *where = getenv("TMPDIR");
    static char path[512];
    snprintf(path, sizeof path, "%s/lobule-test-XXXXXX", where && *where ? where : "/tmp");
    return mkdtemp(path);
}

/* Files in a folder, hidden ones too. */
static inline int scratch_count(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d) closedir(d);
    return count;
}

/* Remove every file in a folder, not the folder. */
static inline void scratch_empty(const char *folder)
{
    char path[1024];
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d) closedir(d);
}

static inline int scratch_put(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    const int ok = f && (n == 0 || fwrite(bytes, 1, n, f) == n);
    return (f ? fclose(f) == 0 : 0) && ok;
}

/* The whole of a file, malloc'ed; NULL when it is not there. */
static inline unsigned char *scratch_get(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    unsigned char *bytes = malloc((size_t)size + 1);
    *n = bytes ? fread(bytes, 1, (size_t)size, f) : 0;
    fclose(f);
    return bytes;
}

#endif
