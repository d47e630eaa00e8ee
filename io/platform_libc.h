/*
 * What Windows' C library lacks of the functions that this project uses. The build puts this header
 * before each file there (cmake/LobuleFlags.cmake), so that no file has to know.
 */
#ifndef LOB_PLATFORM_LIBC_H
#define LOB_PLATFORM_LIBC_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

char *strndup(const char *text, size_t n);
char *stpcpy(char *to, const char *from);
char *strsep(char **text, const char *marks);

/* Of the flags it knows FNM_PERIOD alone, and of classes in brackets none. */
enum { FNM_PERIOD = 4 };
int fnmatch(const char *pattern, const char *name, int flags);
int setenv(const char *name, const char *value, int replace);

/* stderr has no buffer, so that fprintf gives a terminal byte after byte, of which it makes no
 * letters beyond ASCII. Here it gets all at once, after what stdout has. */
int lob_fprintf(FILE *to, const char *format, ...);
#define fprintf lob_fprintf

#undef PATH_MAX
#define PATH_MAX 4096

#endif
