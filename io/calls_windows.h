/* Text and processes as Windows wants them, for the files that are for Windows alone. */
#ifndef LOB_CALLS_WINDOWS_H
#define LOB_CALLS_WINDOWS_H

#include <stdbool.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* UTF-16 of UTF-8, and UTF-8 of UTF-16; malloc'ed. NULL: ENOMEM, or ENOENT for what is no UTF-8. */
wchar_t *lob_wide(const char *text);
char *lob_narrow(const wchar_t *text);

typedef struct {
    const char *const *words; /* the program's file and what it is told: no quotation mark in them,
                                 no backslash at their end */
    const char *folder;       /* it works in; NULL: ours */
    DWORD flags;              /* CreateProcess' */
    STARTUPINFOW with;
    HANDLE *handles; /* it inherits, and no other */
    int handles_count;
} lob_process_start;

/* CreateProcess; false: GetLastError says why. */
bool lob_start_process(PROCESS_INFORMATION *process, const lob_process_start *start);

#endif
