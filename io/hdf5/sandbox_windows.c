/* Starting a program in a sandbox and talking to it, on Windows. */
#include "io/calls_windows.h"
#include "io/hdf5/sandbox.h"
#include "io/hdf5/sandbox_inside.h"
#include "io/platform.h"

#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FILES =
        LOB_SANDBOX_FILE + 1, /* that the program has: 0, 1, nothing in the place of 2, the file */
    BUFFER = 1 << 20,         /* of the stream */
    STOPPED = 1,              /* exit code of one that is killed; nobody asks for it */
};

/* What a C library finds in STARTUPINFO: its open files, as _spawn hands them over. */
typedef struct {
    int count;
    unsigned char flags[FILES];
    HANDLE handles[FILES];
} inherited_files;
_Static_assert(offsetof(inherited_files, handles) == sizeof(int) + FILES, "no gap");

enum { IS_OPEN = 0x01, IS_PIPE = 0x08 };

/* Both ends of a stream: ours waits only as long as we say, the other is for a program to inherit.
 */
static bool make_stream(HANDLE ends[2])
{
    uint64_t chance[2];
    wchar_t name[64];
    lob_random(chance, sizeof chance);
    swprintf(name, sizeof name / sizeof name[0], L"\\\\.\\pipe\\lobule-%016llx%016llx", chance[0],
             chance[1]);
    SECURITY_ATTRIBUTES inherit = {sizeof inherit, NULL, TRUE};
    ends[0] = CreateNamedPipeW(
        name, PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
        PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, BUFFER, BUFFER, 0, NULL);
    if (ends[0] == INVALID_HANDLE_VALUE) return false;
    ends[1] = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, 0, &inherit, OPEN_EXISTING, 0, NULL);
    if (ends[1] != INVALID_HANDLE_VALUE) return true;
    CloseHandle(ends[0]);
    return false;
}

/* Start it with these open files and no other handle. */
static bool spawn(PROCESS_INFORMATION *process, const char *program, const char *argument,
                  inherited_files *files)
{
    const char *const words[] = {program, argument, NULL};
    HANDLE given[] = {files->handles[0], files->handles[LOB_SANDBOX_FILE]};
    const lob_process_start start = {
        .words = words,
        .flags = DETACHED_PROCESS, /* without a console it answers no Ctrl-C, which is for us */
        .with = {.cbReserved2 = sizeof *files, .lpReserved2 = (BYTE *)files},
        .handles = given,
        .handles_count = files->flags[LOB_SANDBOX_FILE] ? 2 : 1,
    };
    return lob_start_process(process, &start);
}

/* Windows' words for what went wrong. */
static void give_reason(lob_sandbox *box, DWORD error)
{
    wchar_t text[sizeof box->why / 2] = L"";
    const int n = snprintf(box->why, sizeof box->why, "error %lu: ", error);
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, error, 0, text,
                   sizeof text / sizeof text[0], NULL);
    text[wcscspn(text, L"\r\n")] = L'\0';
    if (!WideCharToMultiByte(CP_UTF8, 0, text, -1, box->why + n, (int)sizeof box->why - n, NULL,
                             NULL))
        box->why[n - 2] = '\0'; /* longer than that: the number alone */
}

bool lob_sandbox_start(lob_sandbox *box, const char *program, const char *argument, int file)
{
    HANDLE ends[2], kept = NULL;
    if (!make_stream(ends)) {
        give_reason(box, GetLastError());
        return false;
    }
    const HANDLE self = GetCurrentProcess();
    PROCESS_INFORMATION process;
    bool started = file < 0 || DuplicateHandle(self, (HANDLE)_get_osfhandle(file), self, &kept, 0,
                                               TRUE, DUPLICATE_SAME_ACCESS);
    if (started) {
        inherited_files files = {
            FILES,
            {IS_OPEN | IS_PIPE, IS_OPEN | IS_PIPE, 0,                    kept ? IS_OPEN : 0},
            {ends[1],           ends[1],           INVALID_HANDLE_VALUE, kept              }
        };
        started = spawn(&process, program, argument, &files);
    }
    if (!started) give_reason(box, GetLastError());
    CloseHandle(ends[1]);
    if (kept) CloseHandle(kept);
    if (!started) {
        CloseHandle(ends[0]);
        return false;
    }
    CloseHandle(process.hThread);
    *box = (lob_sandbox){.process = (intptr_t)process.hProcess, .stream = (intptr_t)ends[0]};
    return true;
}

/* Wait for what was begun on the stream; false, with nothing going on any more, after so long. */
static bool await(DWORD *n, HANDLE stream, OVERLAPPED *work, DWORD wait_ms)
{
    if (GetOverlappedResultEx(stream, work, n, wait_ms, FALSE)) return *n > 0;
    const DWORD why = GetLastError();
    if (why == WAIT_TIMEOUT || why == ERROR_IO_INCOMPLETE) {
        CancelIo(stream);
        GetOverlappedResult(stream, work, n, TRUE);
    }
    SetLastError(why);
    return false;
}

/* One call takes no more than this. */
static DWORD portion(size_t n)
{
    enum { MOST = 1 << 28 };
    return n < MOST ? (DWORD)n : MOST;
}

bool lob_sandbox_send(lob_sandbox *box, const void *bytes, size_t n)
{
    const HANDLE stream = (HANDLE)box->stream;
    for (size_t done = 0; done < n;) {
        OVERLAPPED work = {0};
        DWORD written;
        if (!WriteFile(stream, (const char *)bytes + done, portion(n - done), NULL, &work) &&
            GetLastError() != ERROR_IO_PENDING)
            return false;
        if (!await(&written, stream, &work, INFINITE)) return false;
        done += written;
    }
    return true;
}

bool lob_sandbox_receive(lob_sandbox *box, void *bytes, size_t n, int silence_s)
{
    const HANDLE stream = (HANDLE)box->stream;
    const DWORD wait_ms = silence_s > 0 ? (DWORD)silence_s * 1000 : INFINITE;
    for (size_t got = 0; got < n;) {
        OVERLAPPED work = {0};
        DWORD read;
        if (!ReadFile(stream, (char *)bytes + got, portion(n - got), NULL, &work) &&
            GetLastError() != ERROR_IO_PENDING)
            return false;
        if (!await(&read, stream, &work, wait_ms)) {
            box->silent = GetLastError() == WAIT_TIMEOUT;
            return false;
        }
        got += read;
    }
    return true;
}

lob_sandbox_end lob_sandbox_finish(lob_sandbox *box, int *signal_number)
{
    const HANDLE process = (HANDLE)box->process, stream = (HANDLE)box->stream;
    const bool ended = !PeekNamedPipe(stream, NULL, 0, NULL, NULL, NULL);
    DWORD code = 0;
    if (!ended) TerminateProcess(process, STOPPED);
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &code);
    CloseHandle(process);
    CloseHandle(stream);
    if (signal_number) *signal_number = 0;
    if (box->silent) return LOB_SANDBOX_TOO_LONG;
    if (!ended || code == 0) return LOB_SANDBOX_DONE;
    if (code == LOB_SANDBOX_REFUSES) return LOB_SANDBOX_OTHER;
    return code == LOB_SANDBOX_OVERTIME ? LOB_SANDBOX_TOO_LONG : LOB_SANDBOX_CRASHED;
}
