/* How pieces of a Zarr array are packed: the codecs that turn bytes into bytes. */
#ifndef LOB_ZARR_CODECS_H
#define LOB_ZARR_CODECS_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LOB_BEGIN_DECLS

typedef enum {
    LOB_ZARR_BLOSC,
    LOB_ZARR_GZIP,
    LOB_ZARR_ZLIB,
    LOB_ZARR_ZSTD,
    LOB_ZARR_CRC32C, /* four bytes behind the others: a sum to check, nothing is smaller */
    LOB_ZARR_CODECS
} lob_zarr_codec;

/* The codec of this name in a store's metadata; LOB_ZARR_CODECS: it is not read. */
lob_zarr_codec lob_zarr_codec_named(const char *name);

/*
 * Unpack, by any codec but LOB_ZARR_CRC32C.
 *
 *   out  out  room bytes
 *   in   in   n bytes, which may be anything
 *
 * Returns whether they are sound and give exactly room bytes.
 */
bool lob_zarr_unpack(lob_zarr_codec codec, unsigned char *out, size_t room, const unsigned char *in,
                     size_t n);

/* The CRC-32C (Castagnoli) of bytes: RFC 3720, appendix B.4. */
uint32_t lob_crc32c(const unsigned char *bytes, size_t n);

/* The same bytes packed by zstd at a level from 1 to 9, malloc'ed; NULL without memory. The size is
 * in *packed. */
unsigned char *lob_zarr_pack(size_t *packed, const unsigned char *bytes, size_t n, int level);

LOB_END_DECLS

#endif
