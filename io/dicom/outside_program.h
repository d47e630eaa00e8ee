/* Running another program: found on the PATH, without a shell, bounded, ended with its caller. */
#ifndef LOB_OUTSIDE_PROGRAM_H
#define LOB_OUTSIDE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOB_PROGRAM_TEXT = 8192 };

/* What to run, and within which bounds. */
typedef struct {
    const char *const *words; /* the program's path and its arguments, NULL at the end */
    const char *folder;       /* it runs in, a path from the root */
    int seconds;              /* of wall time, and where the system can of processor time */
    int64_t file_bytes;       /* that a file of its may have; Windows sets no bound */
    int64_t memory;           /* address space; 0: not bounded */
    int (*stop)(void *user);  /* not 0: end it; asked some times a second; NULL: never */
    void *user;
} lob_program;

typedef enum {
    LOB_PROGRAM_DONE,    /* ended by itself, with an exit code */
    LOB_PROGRAM_CRASHED, /* by a signal, or a limit on memory, files or processor time */
    LOB_PROGRAM_LATE,    /* was ended after its seconds */
    LOB_PROGRAM_STOPPED, /* was ended because its caller is to stop */
    LOB_PROGRAM_NONE,    /* could not be started */
} lob_program_fate;

typedef struct {
    lob_program_fate fate;
    int exit_code;
    char text[LOB_PROGRAM_TEXT]; /* the last of what it printed, on both streams */
} lob_program_end;

/* Find a program in the folders of PATH (Windows: name.exe). Returns its path, malloc'ed, or NULL.
 */
char *lob_program_find(const char *name);

/*
 * Run a program and wait for it. It reads nothing, inherits no open file, and is ended with all
 * that it has started when its time is over or the caller is to stop; when the caller dies, the
 * system ends it. Safe beside other threads.
 */
void lob_program_run(lob_program_end *end, const lob_program *program);

/* For the two that run programs: keep the end of what one prints, with this after what was there.
 * n is less than LOB_PROGRAM_TEXT. */
void lob_program_heard(lob_program_end *end, const char *bytes, size_t n);

#endif
