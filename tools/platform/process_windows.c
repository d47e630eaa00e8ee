/* What the program asks of the operating system, where that is Windows. */
#include "tools/platform/process.h"

#include "io/calls_windows.h"
#include "io/platform.h"

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <psapi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

const char lob_list_mark = ';';

/* The C library's, which no header declares. CommandLineToArgvW would load SHELL32 and all that
 * draws windows, a third of what it takes to start. */
int __wgetmainargs(int *argc, wchar_t ***argv, wchar_t ***variables, int with_wildcards,
                   int *new_mode);

/* Bytes pass as they are, and a terminal takes them in larger pieces and heeds "\033[K" in them. */
static void begin_stream(FILE *stream)
{
    const HANDLE h = (HANDLE)_get_osfhandle(_fileno(stream));
    DWORD mode;
    _setmode(_fileno(stream), _O_BINARY);
    if (!GetConsoleMode(h, &mode)) return;
    SetConsoleMode(h, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    if (stream == stdout) setvbuf(stream, NULL, _IOFBF, BUFSIZ);
}

/* What letters the terminal took before; other programs go on with it. */
static UINT code_page;

static void leave_terminal(void)
{
    fflush(stdout);
    SetConsoleOutputCP(code_page);
}

bool lob_process_begin(int *argc, char ***argv)
{
    wchar_t **words, **variables;
    int new_mode = 0;
    if (__wgetmainargs(argc, &words, &variables, 0, &new_mode) != 0) return false;
    char **const arguments = calloc((size_t)*argc + 1, sizeof *arguments);
    bool made = arguments != NULL;
    for (int i = 0; made && i < *argc; i++) made = (arguments[i] = lob_narrow(words[i])) != NULL;
    *argv = arguments; /* stays to the end */
    begin_stream(stdout);
    begin_stream(stderr);
    code_page = GetConsoleOutputCP();
    if (SetConsoleOutputCP(CP_UTF8)) atexit(leave_terminal);
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    return made;
}

/* libgomp waits as its environment says that it found when the program was loaded; to start again
 * here would be another process, which the one that waits for this one does not know. */
void lob_process_restart(char **argv)
{
    (void)argv;
}

void *lob_process_load(const char *library, const char *name, char *why, size_t size)
{
    (void)library, (void)name;
    snprintf(why, size, "not on Windows");
    return NULL;
}

char *lob_process_file(void)
{
    wchar_t name[4096];
    const DWORD n = GetModuleFileNameW(NULL, name, sizeof name / sizeof name[0]);
    char *const path = n > 0 && n < sizeof name / sizeof name[0] ? lob_narrow(name) : NULL;
    if (path) lob_path_take(path);
    return path;
}

/* ---- signals ---- */

static void (*on_stop)(int signal);
static volatile LONG stops;

/* Windows calls this in a thread of its own. */
static BOOL WINAPI control(DWORD event)
{
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT && event != CTRL_CLOSE_EVENT)
        return FALSE;
    if (InterlockedIncrement(&stops) > 1) return FALSE;
    on_stop(event == CTRL_C_EVENT ? SIGINT : SIGTERM);
    if (event == CTRL_CLOSE_EVENT) Sleep(INFINITE); /* it ends the process when this returns */
    return TRUE;
}

void lob_process_catch(void (*stop)(int signal))
{
    on_stop = stop;
    SetConsoleCtrlHandler(control, TRUE);
}

void lob_process_end(int number)
{
    if (code_page) leave_terminal();
    /* what Windows itself ends a process with that was stopped so */
    if (number == SIGINT) ExitProcess((UINT)STATUS_CONTROL_C_EXIT);
    ExitProcess(128 + (UINT)number);
}

/* For tasks of mpirun and srun, of which there are none here. */
void lob_process_end_in(int seconds, int number)
{
    (void)seconds;
    (void)number;
}

void lob_process_keep_memory(void) {}

double lob_process_peak_bytes(void)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) return 0;
    return (double)counters.PeakWorkingSetSize;
}

int lob_process_cores(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (int)info.dwNumberOfProcessors;
}

/* ---- folders ---- */

const char *lob_lock_root(void)
{
    return lob_temporary_root();
}

char *lob_user_data(void)
{
    char *const path = lob_environment("LOCALAPPDATA");
    if (path) lob_path_take(path);
    return path;
}

char *lob_working_folder(char *path, size_t size)
{
    wchar_t *const folder = _wgetcwd(NULL, 0);
    char *const bytes = folder ? lob_narrow(folder) : NULL;
    const bool fits = bytes && strlen(bytes) < size;
    if (fits) lob_path_take(strcpy(path, bytes));
    free(bytes);
    free(folder);
    return fits ? path : NULL;
}

int lob_work_in(const char *folder)
{
    wchar_t *const name = lob_wide(folder);
    const int failed = name ? _wchdir(name) : -1;
    free(name);
    return failed;
}

/* ---- the terminal ---- */

bool lob_is_terminal(FILE *stream)
{
    DWORD mode;
    return GetConsoleMode((HANDLE)_get_osfhandle(_fileno(stream)), &mode);
}

int lob_terminal_columns(void)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    return GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info)
               ? info.srWindow.Right - info.srWindow.Left + 1
               : 0;
}

/* Nothing is written, and the pipe says whether anybody reads. */
bool lob_stdout_is_closed(void)
{
    const HANDLE out = (HANDLE)_get_osfhandle(_fileno(stdout));
    DWORD done;
    return GetFileType(out) == FILE_TYPE_PIPE && !WriteFile(out, "", 0, &done, NULL) &&
           (GetLastError() == ERROR_NO_DATA || GetLastError() == ERROR_BROKEN_PIPE);
}

void lob_stdout_silence(void)
{
    fflush(stdout);
    const int null = _open("NUL", _O_WRONLY | _O_BINARY);
    if (null < 0) return;
    _dup2(null, _fileno(stdout));
    _close(null);
}

void lob_pause(int milliseconds)
{
    Sleep((DWORD)milliseconds);
}
