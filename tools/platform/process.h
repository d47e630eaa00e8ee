/*
 * What the program asks of the operating system beyond files (io/platform.h): its start and its
 * end, signals, the terminal, folders of the user. process_posix.c and process_windows.c answer.
 */
#ifndef LOB_PROCESS_H
#define LOB_PROCESS_H

#include <stdbool.h>
#include <stdio.h>

/*
 * To be called first in main: arguments and names are UTF-8 then, streams pass bytes as they are,
 * and writing to a closed pipe is an error and no end. False without memory.
 */
bool lob_process_begin(int *argc, char ***argv);

/* Start this program again, in its place, with the same arguments; returns where that cannot be. */
void lob_process_restart(char **argv);

/* This program's file, malloc'ed; NULL: unknown. */
char *lob_process_file(void);

/*
 * What a library has under this name, which stays loaded from then on.
 *
 *   why  out  where NULL is returned: what is wrong
 */
void *lob_process_load(const char *library, const char *name, char *why, size_t size);

/*
 * Call stop(signal) once when the user or the system wants the program to end, unless the parent
 * process ignores that; the next time it ends. A limit on file sizes becomes an error of write.
 */
void lob_process_catch(void (*stop)(int signal));

/* End in the way that stop was told of; returns where there is no such end. */
void lob_process_end(int number);

/* The same in so many seconds, whatever the program waits for then; stop may call it. */
void lob_process_end_in(int seconds, int number);

/* What is freed is kept for the next who asks: faster, where memory may grow beyond it. */
void lob_process_keep_memory(void);

double lob_process_peak_bytes(void); /* the largest resident size so far */
int lob_process_cores(void);         /* of this machine */

/* For locks that all users see; for the user's own data (malloc'ed). */
const char *lob_lock_root(void);
char *lob_user_data(void);

/* The working folder; NULL where it does not fit. 0, or -1. */
char *lob_working_folder(char *path, size_t size);
int lob_work_in(const char *folder);

/* What parts paths in a list of them. */
extern const char lob_list_mark;

/* ---- the terminal ---- */

bool lob_is_terminal(FILE *stream);
int lob_terminal_columns(void);  /* 0: unknown */
bool lob_stdout_is_closed(void); /* nobody reads the pipe any more */
void lob_stdout_silence(void);   /* what is printed from here on goes nowhere */

void lob_pause(int milliseconds);

#endif
