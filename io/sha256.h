/* SHA-256 of files as they were when they were opened, even if an output takes their name since. */
#ifndef LOB_SHA256_H
#define LOB_SHA256_H

#include "volumes/both.h"

#include <stdbool.h>
#include <stddef.h>

enum { LOB_SHA256_TEXT = 65 };

/* A file whose checksum is wanted. */
typedef struct lob_sha256 lob_sha256;

/*
 * Open a regular file; or note the files of a folder of DICOM, whose checksum is that of the bytes
 * of all of them, one after another in the order of their names. Returns NULL when it cannot be
 * opened, or where there is no memory.
 */
lob_sha256 *lob_sha256_begin(const char *path);

/*
 * Compute the checksum and free.
 *
 *   text  out  64 hexadecimal digits, as sha256sum prints them; NULL: not computed
 *   stop  in   it gives up, as for a file that cannot be read, soon after another thread has made
 *              *stop other than 0, by __atomic_store_n; NULL: it never does
 *
 * Returns false when the file could not be read to its end, or sum is NULL; text is then empty.
 */
bool lob_sha256_end(lob_sha256 *sum, char text[LOB_SHA256_TEXT], const int *stop);

/* The checksum of n bytes. Returns false without memory; text is then empty. */
bool lob_sha256_of(char text[LOB_SHA256_TEXT], const void *bytes, size_t n);

#endif
