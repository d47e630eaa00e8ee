/* Text and processes as Windows wants them. */
#include "io/calls_windows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wchar_t *lob_wide(const char *text)
{
    const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *const out = n > 0 ? malloc((size_t)n * sizeof *out) : NULL;
    if (!out) return errno = n > 0 ? ENOMEM : ENOENT, NULL;
    MultiByteToWideChar(CP_UTF8, 0, text, -1, out, n);
    return out;
}

char *lob_narrow(const wchar_t *text)
{
    const int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *const out = n > 0 ? malloc((size_t)n) : NULL;
    if (!out) return errno = ENOMEM, NULL;
    WideCharToMultiByte(CP_UTF8, 0, text, -1, out, n, NULL, NULL);
    return out;
}

/* The words as one line, each between quotation marks; malloc'ed. */
static wchar_t *command_line(const char *const *words)
{
    size_t room = 1;
    for (int i = 0; words[i]; i++) room += strlen(words[i]) + sizeof "\"\" " - 1;
    char *const text = calloc(room, 1);
    for (int i = 0, at = 0; text && words[i]; i++)
        at += snprintf(text + at, room - (size_t)at, "\"%s\" ", words[i]);
    wchar_t *const line = text ? lob_wide(text) : NULL;
    free(text);
    return line;
}

/* Another program, as one that looks for viruses, may have the file for a moment. */
static bool may_pass(DWORD error)
{
    return error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION ||
           error == ERROR_ACCESS_DENIED;
}

/* CreateProcess, for a second again and again. */
static bool create(PROCESS_INFORMATION *process, const wchar_t *file, wchar_t *line,
                   const wchar_t *folder, DWORD flags, STARTUPINFOEXW *start)
{
    for (DWORD wait_ms = 10;; wait_ms *= 2) {
        if (CreateProcessW(file, line, NULL, NULL, TRUE, flags | EXTENDED_STARTUPINFO_PRESENT, NULL,
                           folder, &start->StartupInfo, process))
            return true;
        if (wait_ms > 640 || !may_pass(GetLastError())) return false;
        Sleep(wait_ms);
    }
}

bool lob_start_process(PROCESS_INFORMATION *process, const lob_process_start *start)
{
    STARTUPINFOEXW with = {.StartupInfo = start->with};
    with.StartupInfo.cb = sizeof with;
    SIZE_T room = 0;
    InitializeProcThreadAttributeList(NULL, 1, 0, &room);
    with.lpAttributeList = malloc(room);
    wchar_t *const line = command_line(start->words), *const file = lob_wide(start->words[0]),
                   *const folder = start->folder ? lob_wide(start->folder) : NULL;
    bool created = false;
    DWORD why = ERROR_NOT_ENOUGH_MEMORY;
    if (line && file && (folder || !start->folder) && with.lpAttributeList &&
        InitializeProcThreadAttributeList(with.lpAttributeList, 1, 0, &room)) {
        created = UpdateProcThreadAttribute(
                      with.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, start->handles,
                      (size_t)start->handles_count * sizeof(HANDLE), NULL, NULL) &&
                  create(process, file, line, folder, start->flags, &with);
        why = GetLastError();
        DeleteProcThreadAttributeList(with.lpAttributeList);
    }
    free(with.lpAttributeList);
    free(line);
    free(file);
    free(folder);
    SetLastError(why);
    return created;
}
