/* The inside of a sandbox (sandbox.h): what the program that is started there calls. */
#ifndef LOB_SANDBOX_INSIDE_H
#define LOB_SANDBOX_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOB_SANDBOX_FILE = 3, /* the number of the open file */
    LOB_SANDBOX_WINDOW,   /* of the memory for what is sent; no file: there is none */
    /* exit codes */
    LOB_SANDBOX_REFUSES = 64, /* started by another version, or by hand */
    LOB_SANDBOX_OVERTIME = 65 /* where no signal tells of a limit on processor time */
};

/* To be called first: close all but the stream and the file, leave no core file. */
void lob_inside_begin(void);

/* Send n bytes; ends the process when nobody listens. */
void lob_inside_send(const void *bytes, size_t n);

/* Receive exactly n bytes; ends the process when nobody sends them. */
void lob_inside_receive(void *bytes, size_t n);

/* End the process: well, or as if it had crashed. */
_Noreturn void lob_inside_end(void);
_Noreturn void lob_inside_give_up(void);

/* From here on it may use this much more processor time, and this much more memory. */
void lob_inside_limit(int cpu_s, int64_t memory);

/* From here on no file can be opened, and none ever grows. */
void lob_inside_shut(void);

/*
 * Run fn(user, i) for i in [0, n), spread over threads; fn may be called by several threads at
 * once. Where no thread is to be had, as OpenMP would not bear, fewer do the work.
 */
void lob_inside_parallel(int64_t n, int threads, void (*fn)(void *user, int64_t i), void *user);

#endif
