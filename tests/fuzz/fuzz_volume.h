/* What targets that read volumes share. */
#ifndef LOB_FUZZ_VOLUME_H
#define LOB_FUZZ_VOLUME_H

#include "io/format.h"

/*
 * Read bytes as a file of this name, of which nothing exists, and go through all that was read; a
 * refusal without a reason, or a volume that is none, ends the program.
 */
void fuzz_read(const lob_format *format, const char *name, const uint8_t *bytes, size_t size,
               bool header_only, int64_t frame);

/* Compress n bytes, as gzip or as a zlib stream. Returns how many came out, 0 where there is no
 * room. */
size_t fuzz_deflate(uint8_t *out, size_t capacity, const uint8_t *bytes, size_t n, bool gzip);

/* A header, and how many voxels follow it, bytes of 0 to 6. */
typedef struct {
    const char *header;
    size_t voxels;
    bool compressed;
} fuzz_head;

/* Put both there, compressed voxels as gzip or as a zlib stream. Returns how many bytes, 0 where
 * there is no room. */
size_t fuzz_put_head(uint8_t *out, size_t capacity, const fuzz_head *head, bool gzip);

#endif
