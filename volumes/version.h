/* The version of Lobule. The build reads it from here; a test compares what repeats it. */
#ifndef LOB_VERSION_H
#define LOB_VERSION_H

#define LOB_VERSION_MAJOR 0
#define LOB_VERSION_MINOR 2
#define LOB_VERSION_PATCH 0
#define LOB_VERSION       "0.2.0"

#include "volumes/both.h"

LOB_BEGIN_DECLS

/* LOB_VERSION of the library that is loaded, which may be another than that of these headers. */
const char *lob_version(void);

LOB_END_DECLS

#endif
