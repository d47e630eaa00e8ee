/* Texts of errno values for messages. */
#ifndef LOB_ERRNO_TEXT_H
#define LOB_ERRNO_TEXT_H

#include <errno.h>
#include <string.h>

/* Text of an errno value, in a buffer of the caller's because strerror's is shared by threads. */
#define ERRNO_TEXT(number) strerror_r((number), (char[128]){0}, 128)

#endif
