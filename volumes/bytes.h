/* Numbers of bytes as text for messages. */
#ifndef LOB_BYTES_H
#define LOB_BYTES_H

#include "volumes/both.h"

#include <stdint.h>

LOB_BEGIN_DECLS

enum { LOB_BYTES_TEXT = 32 };

/* Write bytes >= 0 in the largest unit that gives a number from 1: "1.5 GiB", "12 bytes". Returns
 * text. */
const char *lob_bytes_text(char text[LOB_BYTES_TEXT], int64_t bytes);

LOB_END_DECLS

#endif
