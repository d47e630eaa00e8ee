/*
 * Runs a fuzz target without libFuzzer: replay MUTATIONS [FILE or FOLDER]... feeds it its own sound
 * inputs and the files, each also that many times damaged in ways that follow from a fixed seed.
 * replay --seeds FOLDER writes the sound inputs there, for libFuzzer to start from.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROOM = 1 << 16, MAX = 64 << 20 };

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Change a few bytes, most of them near the start where headers are, and sometimes the length. */
static size_t damage(uint8_t *bytes, size_t size)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, 0x10, 0x20};
    const int changes = 1 + (int)(next_random() % 4);
    for (int i = 0; i < changes && size > 0; i++) {
        const size_t reach = next_random() % 4 ? (size < 600 ? size : 600) : size;
        const size_t at = next_random() % reach;
        if (next_random() % 2)
            bytes[at] = telling[next_random() % sizeof telling];
        else
            bytes[at] ^= (uint8_t)(1u << next_random() % 8);
    }
    return next_random() % 8 || size == 0 ? size : next_random() % size;
}

static void run(const char *name, const uint8_t *bytes, size_t size, int mutations)
{
    /* An exact copy, so that a sanitizer sees a read one byte beyond. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) abort();
    fprintf(stderr, "%s\n", name); /* the last line before a crash tells the culprit */
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    for (int i = 0; i < mutations && size <= ROOM; i++) {
        uint8_t damaged[ROOM];
        memcpy(damaged, bytes, size);
        const size_t n = damage(damaged, size);
        copy = malloc(n ? n : 1);
        if (!copy) abort();
        memcpy(copy, damaged, n);
        LLVMFuzzerTestOneInput(copy, n);
        free(copy);
    }
}

/* A file, or every file in a folder. Returns how many were run. */
static int run_path(const char *path, int mutations)
{
    struct stat about;
    if (stat(path, &about) != 0) return 0;
    if (S_ISDIR(about.st_mode)) {
        int count = 0;
        DIR *folder = opendir(path);
        for (const struct dirent *entry; folder && (entry = readdir(folder));) {
            char inner[4096];
            if (entry->d_name[0] == '.') continue;
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
            count += run_path(inner, mutations);
        }
        if (folder) closedir(folder);
        return count;
    }
    FILE *f = fopen(path, "rb");
    uint8_t *bytes = about.st_size <= MAX ? malloc((size_t)about.st_size + 1) : NULL;
    const int ok = f && bytes;
    if (ok) run(path, bytes, fread(bytes, 1, (size_t)about.st_size, f), mutations);
    free(bytes);
    if (f) fclose(f);
    return ok;
}

/* Write the sound inputs as FOLDER/seed0, ... Returns the program's exit code. */
static int write_seeds(const char *folder)
{
    static uint8_t seed[ROOM];
    size_t size;
    for (int number = 0; (size = fuzz_seed(number, seed, sizeof seed)) > 0; number++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed%d", folder, number);
        FILE *const f = fopen(path, "wb");
        const int written = f && fwrite(seed, 1, size, f) == size;
        if (!f || fclose(f) != 0 || !written) {
            fprintf(stderr, "%s: cannot be written\n", path);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t seed[ROOM];
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
    const int mutations = argc > 1 ? atoi(argv[1]) : 0;
    int files = 0;
    size_t size;
    for (int number = 0; (size = fuzz_seed(number, seed, sizeof seed)) > 0; number++) {
        char name[32];
        snprintf(name, sizeof name, "seed %d", number);
        run(name, seed, size, mutations);
    }
    for (int i = 2; i < argc; i++) {
        const int found = run_path(argv[i], mutations);
        if (found == 0) printf("%s is missing: its files are skipped\n", argv[i]);
        files += found;
    }
    printf("%d files\n", files);
    return 0;
}
