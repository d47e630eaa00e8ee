/* The codecs: blosc, libdeflate and zstd do the work. */
#include "io/zarr/zarr_codecs.h"

#include "io/libraries.h"

#include <blosc.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* In the order of lob_zarr_codec. */
static const char *const names[LOB_ZARR_CODECS] = {"blosc", "gzip", "zlib", "zstd", "crc32c"};

lob_zarr_codec lob_zarr_codec_named(const char *name)
{
    int codec = 0;
    while (codec < LOB_ZARR_CODECS && strcmp(names[codec], name) != 0) codec++;
    return (lob_zarr_codec)codec;
}

static bool unpack_blosc(unsigned char *out, size_t room, const unsigned char *in, size_t n)
{
    size_t bytes;
    return blosc_cbuffer_validate(in, n, &bytes) == 0 && bytes == room &&
           blosc_decompress_ctx(in, out, room, 1) == (int)room;
}

typedef enum libdeflate_result inflate_fn(struct libdeflate_decompressor *by, const void *in,
                                          size_t n, void *out, size_t room, size_t *got);

static bool unpack_deflate(inflate_fn *inflate, unsigned char *out, size_t room,
                           const unsigned char *in, size_t n)
{
    struct libdeflate_decompressor *const by = libdeflate_alloc_decompressor();
    const bool whole = by && inflate(by, in, n, out, room, NULL) == LIBDEFLATE_SUCCESS;
    if (by) libdeflate_free_decompressor(by);
    return whole;
}

bool lob_zarr_unpack(lob_zarr_codec codec, unsigned char *out, size_t room, const unsigned char *in,
                     size_t n)
{
    switch (codec) {
    case LOB_ZARR_BLOSC:
        return unpack_blosc(out, room, in, n);
    case LOB_ZARR_GZIP:
        return unpack_deflate(libdeflate_gzip_decompress, out, room, in, n);
    case LOB_ZARR_ZLIB:
        return unpack_deflate(libdeflate_zlib_decompress, out, room, in, n);
    case LOB_ZARR_ZSTD:
        return ZSTD_decompress(out, room, in, n) == room;
    case LOB_ZARR_CRC32C:
    case LOB_ZARR_CODECS:
        break;
    }
    return false;
}

uint32_t lob_crc32c(const unsigned char *bytes, size_t n)
{
    uint32_t table[256], crc = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82F63B78u : 0);
    }
    for (size_t i = 0; i < n; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

unsigned char *lob_zarr_pack(size_t *packed, const unsigned char *bytes, size_t n, int level)
{
    const size_t room = ZSTD_compressBound(n);
    unsigned char *const out = malloc(room);
    const size_t size = out ? ZSTD_compress(out, room, bytes, n, level) : 0;
    if (!out || ZSTD_isError(size)) {
        free(out);
        return NULL;
    }
    unsigned char *const fitting = realloc(out, size);
    *packed = size;
    return fitting ? fitting : out;
}

const char *lob_blosc_version(void)
{
    return BLOSC_VERSION_STRING;
}

const char *lob_zstd_version(void)
{
    return ZSTD_versionString();
}
