/* SHA-256 of files, each on a thread of its own beside the work. */
#ifndef LOB_SHA256_H
#define LOB_SHA256_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOB_SHA256_TEXT = 65 };

/* The checksum of a file, being computed. */
typedef struct lob_sha256 lob_sha256;

/*
 * Open a regular file and begin to read it. Returns NULL when it cannot be opened, or where there
 * is no memory or no thread.
 */
lob_sha256 *lob_sha256_begin(const char *path);

/*
 * Wait for the end, and free.
 *
 *   text  out  64 hexadecimal digits, as sha256sum prints them; NULL: give up
 *
 * Returns false when the file could not be read to its end, or sum is NULL; text is then empty.
 */
bool lob_sha256_end(lob_sha256 *sum, char text[LOB_SHA256_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
