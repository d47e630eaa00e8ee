/* The clock that stages are timed with. */
#include "volumes/clock.h"

#include <time.h>

double lob_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
