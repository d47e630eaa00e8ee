/* Fuzz target: a Zarr store of one array: its metadata, and behind a 0 the bytes of its first file.
 */
#include "io/folder.h"
#include "io/io.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static void put_file(const char *folder, const char *name, const uint8_t *bytes, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "wb");
    if (!file) abort();
    fwrite(bytes, 1, size, file);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char folder[] = "/tmp/fuzz_XXXXXX";
    const uint8_t *const end = size ? memchr(bytes, 0, size) : NULL;
    const size_t text = end ? (size_t)(end - bytes) : size;
    const size_t rest = end ? size - text - 1 : 0;
    const bool v2 = text > 0 && memmem(bytes, text, "\"chunks\"", 8);
    const lob_read_options options = {.frame = 0, .threads = 1, .max_memory = 1 << 24};
    lob_volume volume;
    if (!mkdtemp(folder)) abort();
    put_file(folder, v2 ? ".zarray" : "zarr.json", bytes, text);
    if (end) put_file(folder, v2 ? "0.0.0" : "c.0.0.0", end + 1, rest);
    if (lob_read(&volume, folder, &options, NULL, NULL) == LOB_OK) lob_volume_free(&volume);
    lob_remove_tree(folder);
    return 0;
}

#define V2                                                                                       \
    "{\"zarr_format\":2,\"shape\":[4,4,4],\"chunks\":[4,4,4],\"dtype\":\"|u1\",\"order\":\"C\"," \
    "\"filters\":null,\"fill_value\":3,\"compressor\":"
#define V3                                                                                         \
    "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4,4,4],\"data_type\":\"uint8\","        \
    "\"fill_value\":0,\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4," \
    "4,4]}},"                                                                                      \
    "\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":\".\"}},"       \
    "\"codecs\":["

static const char *const seeds[] = {
    V2 "null}",
    V2 "{\"id\":\"blosc\"}}",
    V2 "{\"id\":\"zlib\"}}",
    V3 "{\"name\":\"bytes\"},{\"name\":\"zstd\"}]}",
    V3 "{\"name\":\"bytes\"},{\"name\":\"crc32c\"}]}",
    V3 "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2,4,4],\"codecs\":"
       "[{\"name\":\"bytes\"},{\"name\":\"gzip\"}],\"index_codecs\":[{\"name\":\"bytes\"}]}}]}",
};

size_t fuzz_seed(int number, uint8_t *bytes, size_t capacity)
{
    enum { VOXELS = 64 };
    if (number >= (int)(sizeof seeds / sizeof seeds[0])) return 0;
    const size_t text = strlen(seeds[number]) + 1;
    if (text + VOXELS > capacity) return 0;
    memcpy(bytes, seeds[number], text);
    for (size_t i = 0; i < VOXELS; i++) bytes[text + i] = (uint8_t)(i % 5);
    return text + VOXELS;
}
