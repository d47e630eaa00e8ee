/* The clock that stages are timed with. */
#ifndef LOB_CLOCK_H
#define LOB_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds of a wall clock that only runs forward, for differences. */
double lob_clock_s(void);

#ifdef __cplusplus
}
#endif

#endif
