/* Reading a volume out of any bytes, for fuzz targets. */
#include "tests/fuzz/fuzz_volume.h"

#include "tests/fuzz/fuzz.h"

#include "volumes/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { MEMORY = 16 << 20 };

static void count_field(void *user, const char *name, const char *value)
{
    *(size_t *)user += strlen(name) + strlen(value);
}

/* Names in order, each of them text. */
static void check_names(const lob_label_names *names)
{
    for (int32_t i = 0; i < names->count; i++) {
        const lob_label_name *row = &names->rows[i];
        check(row->label >= 1 && (i == 0 || row->label > row[-1].label));
        check(lob_label_names_find(names, row->label) == row);
        check(row->name[0] != '\0');
        for (const unsigned char *c = (const unsigned char *)row->name; *c;) {
            const size_t n = lob_utf8_length(c);
            check(n > 0 && *c >= ' ');
            c += n;
        }
    }
}

/* Every voxel can be read; the sum goes nowhere, but no compiler knows. */
static void touch_voxels(const lob_volume *v)
{
    enum { BLOCK = 4096 };
    const int64_t n = lob_product(lob_voxels(v), v->channels, 1, 1);
    double sum = 0.0;
    check(n >= 1);
    for (int64_t first = 0; first < n; first += BLOCK) {
        double values[BLOCK];
        const int64_t count = n - first < BLOCK ? n - first : BLOCK;
        lob_values(values, v->data, v->type, first, count);
        for (int64_t i = 0; i < count; i++) sum += values[i];
    }
    static volatile double sink;
    sink = sum;
    (void)sink;
}

void fuzz_read(const lob_format *format, const char *name, const uint8_t *bytes, size_t size,
               bool header_only, int64_t frame)
{
    char copy[32];
    snprintf(copy, sizeof copy, "%s", name);
    const lob_location where = {copy, copy, NULL};
    const lob_input file = {bytes, size, false};
    const lob_read_options options = {frame, MEMORY, 1, header_only};
    lob_volume v = lob_volume_empty();
    lob_file_info info = {0};
    lob_error error = {.text = ""};
    if (!format->sniff(&where, &file)) return;
    const lob_reading r = {&where, where.path, &file, &options, &info, &error};
    const lob_status st = format->read(&v, &r);
    check((st == LOB_OK) == !error.text[0]); /* every refusal says why */
    if (st == LOB_OK) {
        size_t listed = 0;
        if (format->fields) format->fields(&v.header, count_field, &listed);
        check(v.dims.nx >= 1 && v.dims.ny >= 1 && v.dims.nz >= 1 && v.channels >= 1);
        check(header_only == !v.data);
        check_names(&v.names);
        if (v.data) touch_voxels(&v);
    }
    lob_volume_free(&v);
}

size_t fuzz_deflate(uint8_t *out, size_t capacity, const uint8_t *bytes, size_t n, bool gzip)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes,
                  .avail_in = (unsigned)n,
                  .next_out = out,
                  .avail_out = (unsigned)capacity};
    if (deflateInit2(&z, 6, Z_DEFLATED, gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    const int result = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return result == Z_STREAM_END ? z.total_out : 0;
}

size_t fuzz_put_head(uint8_t *out, size_t capacity, const fuzz_head *head, bool gzip)
{
    uint8_t voxels[1024];
    const size_t n = fuzz_put(out, capacity, head->header, strlen(head->header));
    for (size_t i = 0; i < head->voxels; i++) voxels[i] = (uint8_t)(i % 7);
    if (n + 2 * head->voxels + 64 > capacity) return 0;
    return n + (head->compressed ? fuzz_deflate(out + n, capacity - n, voxels, head->voxels, gzip)
                                 : fuzz_put(out + n, capacity - n, voxels, head->voxels));
}
