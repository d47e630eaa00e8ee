/* A clock for measuring time. */
#ifndef LOB_CLOCK_H
#define LOB_CLOCK_H

#include "volumes/both.h"

LOB_BEGIN_DECLS

/* Seconds of a monotonic wall clock; only differences mean something. */
double lob_clock_s(void);

LOB_END_DECLS

#endif
