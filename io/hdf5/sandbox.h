/* A child process for work that may crash, hang or want too much, seen from both of its ends. */
#ifndef LOB_SANDBOX_H
#define LOB_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The child is a copy of this process, so it sees the caller's memory and changes none of it. What
 * it finds out it sends through a pipe; what arrives is as little to be trusted as the file it
 * comes from. It inherits no open file but one, prints nowhere, leaves no core file, answers no
 * signal handler of the parent, and dies with the parent. Only threads that it starts itself exist
 * in it, so OpenMP is out of bounds there; lob_sandbox_parallel is not.
 *
 * Other threads of the parent may be anywhere at that moment, and a lock that one of them holds
 * stays locked in the child. The C library frees its own (malloc, stdio); the child may use no
 * other lock that the parent's threads use. So the parent must leave a library alone that the child
 * calls. The allocator of AddressSanitizer (GCC 12) does not free its locks: under it, no thread of
 * the parent may allocate during the fork.
 */
typedef struct {
    pid_t pid;
    int fd;
    bool silent; /* ran out of time while it was waited for */
} lob_sandbox;

typedef void lob_sandbox_fn(int out, void *user);

typedef enum {
    LOB_SANDBOX_DONE,        /* ran to its end */
    LOB_SANDBOX_CRASHED,     /* a signal such as SIGSEGV or SIGABRT, or a limit on memory */
    LOB_SANDBOX_TOO_LONG,    /* a limit on processor time, or silence for too long */
    LOB_SANDBOX_KILLED,      /* SIGKILL that was not ours: the system is out of memory */
    LOB_SANDBOX_INTERRUPTED, /* SIGINT, SIGTERM, SIGHUP or SIGQUIT */
} lob_sandbox_end;

/* The number that a descriptor kept for the child has there. */
enum { LOB_SANDBOX_KEPT = 4 };

/*
 * Run fn(out, user) in a child, where the descriptor `keep` (-1: none) is LOB_SANDBOX_KEPT. False
 * when the system gives no process or no pipe.
 */
bool lob_sandbox_start(lob_sandbox *box, lob_sandbox_fn *fn, void *user, int keep);

/*
 * Wait for exactly n bytes from the child. False when it ended first, or when it sent nothing for
 * silence_s seconds (0: wait for ever).
 */
bool lob_sandbox_receive(lob_sandbox *box, void *bytes, size_t n, int silence_s);

/*
 * End the child, kill it if it is still at work, and reap it. Tells why it ended; `signal`, unless
 * NULL, is the signal's number or 0.
 */
lob_sandbox_end lob_sandbox_finish(lob_sandbox *box, int *signal);

/* In the child: end it, as if it had crashed. */
_Noreturn void lob_sandbox_give_up(void);

/* In the child: send n bytes; ends the child when the parent is gone. */
void lob_sandbox_send(int out, const void *bytes, size_t n);

/* In the child: from here on it may use this much more processor time, and this much more memory.
 */
void lob_sandbox_limit(int cpu_s, int64_t memory);

/* In the child: from here on no file can be opened (false) or again (true), and none ever grows. */
void lob_sandbox_files(bool allowed);

/*
 * Run fn(user, i) for i in [0, n), spread over threads; fn may be called by several threads at
 * once. Works in the child, where OpenMP does not. Where no thread is to be had, fewer do the work.
 */
void lob_sandbox_parallel(int64_t n, int threads, void (*fn)(void *user, int64_t i), void *user);

#endif
