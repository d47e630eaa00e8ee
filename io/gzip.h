/* gzip in memory: inflating to a known size, and deflating in threads into one member. */
#ifndef LOB_GZIP_H
#define LOB_GZIP_H

#include "io/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Do the bytes begin as a gz file does? */
bool lob_is_gzip(const unsigned char *bytes, size_t size);

/* No deflate stream grows by more than this factor. */
#define LOB_GZIP_MAX_RATIO 1032

/* Could a gz file of this many bytes hold so many? Asked before memory is. */
bool lob_gzip_justifies(uint64_t inflated, size_t compressed);

/* Does the file's tail give this length, modulo 2^32? So does that of a sound file of one member.
 */
bool lob_gzip_ends_at(uint64_t inflated, const unsigned char *in, size_t size);

/*
 * The first bytes of what a gz file holds.
 *
 *   out   out  up to n bytes
 *   in    in   size bytes; may be cut short or damaged
 *
 * Returns how many bytes there are before the stream ends or turns bad.
 */
size_t lob_gunzip_head(void *out, size_t n, const unsigned char *in, size_t size);

/* What was found beyond the bytes asked for. */
typedef struct {
    uint64_t surplus; /* inflated bytes after those */
    size_t trailing;  /* file bytes after the last member that are no gzip member */
} lob_gzip_rest;

/*
 * Inflate the first n bytes of a gz file, which may have several members; it must hold as many.
 * Every member's checksum and length are verified, also of those beyond n bytes.
 *
 *   out   out  n bytes
 *   rest  out  never NULL
 *   path  in   for messages
 *
 * Returns LOB_OK, LOB_EDATA (damaged, cut short, too few bytes) or LOB_ENOMEM.
 */
lob_status lob_gunzip(unsigned char *out, size_t n, lob_gzip_rest *rest, const unsigned char *in,
                      size_t size, const char *path, lob_error *error);

/* A gz file that is inflated piece by piece; slower by a factor of 2 to 7. */
typedef struct lob_gzip_reader lob_gzip_reader;

/* Returns NULL when there is no memory. in must stay; path is for messages and must too. */
lob_gzip_reader *lob_gzip_reader_new(const unsigned char *in, size_t size, const char *path);

/*
 * Inflate n bytes from offset on. Pieces in rising order are inflated once; one that lies further
 * back starts at the file's beginning again. False at the end or at damage, of which
 * lob_gzip_reader_end tells.
 */
bool lob_gzip_reader_get(lob_gzip_reader *reader, unsigned char *out, uint64_t offset, size_t n);

/*
 * Read on to the end of the file, which must hold `wanted` bytes, so that every checksum has been
 * verified. Returns what lob_gunzip does.
 */
lob_status lob_gzip_reader_end(lob_gzip_reader *reader, uint64_t wanted, lob_gzip_rest *rest,
                               lob_error *error);

void lob_gzip_reader_free(lob_gzip_reader *reader);

/*
 * The level of each block by its content: 6 where bytes repeat, as in air, which level 1 leaves up
 * to three times as large; else 1, since noise takes 6 four times as long for two hundredths less.
 * Labels with rough borders do not always repeat enough: they get 6, and where nearly all bytes are
 * like the one before, runs alone, which is three times as fast.
 */
enum { LOB_GZIP_BY_CONTENT = 10, LOB_GZIP_LABELS = 11 };

/*
 * Write size bytes as a gz file of one member, with no name and no time in its header. Blocks are
 * deflated apart, each with the 32 KiB before it as dictionary, and joined at byte boundaries, so
 * the bytes do not depend on the number of threads.
 *
 *   level       in   1..9, LOB_GZIP_BY_CONTENT or LOB_GZIP_LABELS
 *   threads     in   >= 1
 *   compress_s  out  the wall time that deflating took is added; never NULL
 *
 * Returns LOB_OK, LOB_EIO, LOB_ENOMEM or LOB_EINTERNAL (zlib failed where it must not).
 */
lob_status lob_gzip_write(lob_output *out, const void *bytes, size_t size, int level, int threads,
                          double *compress_s, lob_error *error);

/* A gz file that is written piece by piece, to the same bytes. */
typedef struct lob_gzip_writer lob_gzip_writer;

/*
 * Begin: the arguments are those of lob_gzip_write. On failure *writer is NULL. out and compress_s
 * must stay.
 */
lob_status lob_gzip_writer_begin(lob_gzip_writer **writer, lob_output *out, uint64_t size,
                                 int level, int threads, double *compress_s, lob_error *error);

/* The next n bytes. All of them together must not be more than size; the last one ends the file. */
lob_status lob_gzip_writer_put(lob_gzip_writer *writer, const void *bytes, size_t n,
                               lob_error *error);

void lob_gzip_writer_free(lob_gzip_writer *writer);

#endif
