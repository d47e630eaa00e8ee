/* Amounts of memory as people read them. */
#ifndef LOB_BYTES_H
#define LOB_BYTES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LOB_BYTES_TEXT = 32 };

/* Write an amount >= 0 in the largest unit of which it is one or more: "1.5 GiB", "12 bytes".
 * Returns text. */
const char *lob_bytes_text(char text[LOB_BYTES_TEXT], int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
