/* A program of ours run for work that may crash, hang or want too much, seen from outside. */
#ifndef LOB_SANDBOX_H
#define LOB_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The program is started afresh, and nothing of this process is copied: other threads may do what
 * they like meanwhile, and a process that was forked may start one. Both talk through a stream. It
 * gets one open file, prints nowhere, leaves no core file and answers no signal handler of ours;
 * when this process dies it ends with its next word. See sandbox_inside.h for its end.
 */
typedef struct lob_sandbox {
    intptr_t process, stream;
    bool silent;   /* ran out of time while it was waited for */
    bool garbled;  /* what came was nothing that sandbox_inside.h sends */
    char why[128]; /* of one that was not started: what the system says */
    /* Memory for what comes, if there is any; the portion at hand, and which of its bytes are
     * left. */
    struct lob_window *window;
    uint32_t portion, from, end;
} lob_sandbox;

typedef enum {
    LOB_SANDBOX_DONE,        /* ran to its end */
    LOB_SANDBOX_CRASHED,     /* a signal such as SIGSEGV or SIGABRT, or a limit on memory */
    LOB_SANDBOX_TOO_LONG,    /* a limit on processor time, or silence for too long */
    LOB_SANDBOX_KILLED,      /* SIGKILL that was not ours: the system is out of memory */
    LOB_SANDBOX_INTERRUPTED, /* SIGINT, SIGTERM, SIGHUP or SIGQUIT */
    LOB_SANDBOX_OTHER,       /* is of another version */
} lob_sandbox_end;

/*
 * Run a program with one argument and one open file (-1: none). False when the system gives no
 * process or no stream; box->why says why.
 */
bool lob_sandbox_start(lob_sandbox *box, const char *program, const char *argument, int file);

/* Send n bytes. False when the program has ended. */
bool lob_sandbox_send(lob_sandbox *box, const void *bytes, size_t n);

/*
 * Wait for exactly n bytes. False when the program ended first, or when it sent nothing for
 * silence_s seconds (0: wait for ever).
 */
bool lob_sandbox_receive(lob_sandbox *box, void *bytes, size_t n, int silence_s);

/*
 * End the program, kill it if it is still at work, and reap it. Tells why it ended; `signal`,
 * unless NULL, is the signal's number or 0.
 */
lob_sandbox_end lob_sandbox_finish(lob_sandbox *box, int *signal);

#endif
