/* One gzip member, inflated by several threads. */
#ifndef LOB_GUNZIP_THREADS_H
#define LOB_GUNZIP_THREADS_H

#include <stdbool.h>
#include <stddef.h>

/* Is a file of this size worth more than one of so many threads? */
bool lob_gunzip_is_long(size_t size, int threads);

/*
 * Inflate a gzip file of one member: as lob_gunzip, but without the first bytes, and by threads
 * that begin in the middle of the stream (io/deflate_piece.h). What comes out is exact: a thread's
 * piece counts only where the piece before it ends at the very bit at which it began, else it is
 * inflated again; and the checksum of all bytes has to be the file's.
 *
 *   out       out  n bytes: those of the stream from number `skip` on
 *   head      out  the first `skip` bytes
 *   trailing  out  bytes of the file after the member
 *   threads   in   >= 1
 *
 * Returns false when it is not worth it (few threads, a small file) or does not come to an end: a
 * damaged file, several members, other lengths, blocks of megabytes, no memory. lob_gunzip then
 * does it, or tells what is wrong. out and head are then unspecified.
 */
bool lob_gunzip_threads(unsigned char *out, size_t n, unsigned char *head, size_t skip,
                        size_t *trailing, const unsigned char *in, size_t size, int threads);

#endif
