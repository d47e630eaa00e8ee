/* A clock for measuring time. */
#ifndef LOB_CLOCK_H
#define LOB_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds of a monotonic wall clock; only differences mean something. */
double lob_clock_s(void);

#ifdef __cplusplus
}
#endif

#endif
