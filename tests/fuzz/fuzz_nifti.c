/* Fuzz target: the NIfTI reader on a file in memory, then the header that an output would get. */
#include "tests/fuzz/fuzz.h"

#include "io/nifti/nifti_extensions.h"
#include "tests/fuzz/fuzz_volume.h"
#include "tests/unit/nifti_made.h"

#include <stdio.h>

enum { MEMORY = 16 << 20 };

static void count_field(void *user, const char *name, const char *value)
{
    *(size_t *)user += strlen(name) + strlen(value);
}

/* Read it under this name; what was read must make a header that reads the same. */
static void read_as(const char *name, const lob_input *file, bool header_only, int64_t frame)
{
    char copy[16];
    snprintf(copy, sizeof copy, "%s", name);
    const lob_location where = {copy, copy, NULL};
    const lob_read_options options = {frame, MEMORY, 1, header_only};
    lob_volume v = lob_volume_empty();
    lob_file_info info = {0};
    lob_error error = {.text = ""};
    const lob_reading r = {&where, where.path, file, &options, &info, &error};
    const lob_status st = lob_format_nifti.read(&v, &r);
    if (st == LOB_OK) {
        size_t listed = 0;
        lob_nifti_list(&v.header, count_field, &listed);
        for (int labels = 0; labels < 2; labels++) {
            unsigned char header[LOB_NIFTI_MAX_BYTES], *extensions;
            size_t after;
            const lob_write_options making = {.labels = labels, .comment = "made"};
            if (lob_nifti_extensions(&extensions, &after, &v, &making) != LOB_OK || after % 16 != 4)
                __builtin_trap();
            free(extensions);
            const lob_nifti_plan plan = {&v, labels, false, 3, after - LOB_NIFTI_EXTENDER};
            const lob_nifti_type *type;
            lob_nifti again;
            const size_t n = lob_nifti_make(header, &type, &plan);
            if (labels && v.channels > 1) break;
            if (lob_nifti_parse(&again, header, n, &(lob_reading){.path = "made"}) != LOB_OK ||
                again.dims.nx != v.dims.nx || again.dims.ny != v.dims.ny ||
                again.dims.nz != v.dims.nz)
                __builtin_trap();
        }
    } else if (!error.text[0]) {
        __builtin_trap(); /* every refusal says why */
    }
    lob_volume_free(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const lob_input file = {bytes, size, false};
    read_as("fuzz.nii", &file, false, -1);
    read_as("fuzz.nii", &file, false, 1);
    read_as("fuzz.nii", &file, false, LOB_FRAME_ALL);
    read_as("fuzz.hdr", &file, true, -1);
    return 0;
}

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    static const struct {
        int version, swapped, code, frames, vectors, extended, gz;
    } seeds[] = {
        {1, 0, 4,    1, 1, 0, 0},
        {1, 1, 16,   1, 1, 1, 0},
        {2, 0, 64,   1, 1, 1, 0},
        {2, 1, 512,  3, 1, 0, 0},
        {1, 0, 128,  1, 1, 0, 0},
        {1, 1, 1536, 1, 1, 0, 0},
        {1, 0, 4,    3, 2, 1, 0},
        {1, 0, 4,    1, 1, 1, 1},
        {2, 1, 8,    3, 1, 1, 1},
        {1, 0, 2304, 2, 1, 0, 1},
    };
    if (number >= (int)(sizeof seeds / sizeof seeds[0])) return 0;
    static image_file file;
    made m = make(seeds[number].version, seeds[number].swapped, seeds[number].code, 5, 4, 3,
                  seeds[number].frames, seeds[number].vectors);
    if (seeds[number].extended) made_extend(&m, 32, 6);
    if (seeds[number].extended) made_extend(&m, 16, 4);
    made_file(&file, &m);
    return seeds[number].gz ? fuzz_deflate(bytes, capacity, file.bytes, file.size, true)
                            : fuzz_put(bytes, capacity, file.bytes, file.size);
}
