/* Running another program, on Windows: in a job, which ends it with all that it has started. */
#include "io/calls_windows.h"
#include "io/dicom/outside_program.h"
#include "io/platform.h"
#include "volumes/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Does it begin with a drive and its root, or with a machine? What does not is where one happens to
 * be, and what lies there may have come with the scans. */
static bool is_whole(const char *folder)
{
    return lob_is_from_root(folder) && folder[folder[0] == '/' ? 1 : 2] == '/';
}

char *lob_program_find(const char *name)
{
    /* The process' own, as Python may have changed it since the C library has looked. */
    char *const folders = lob_environment("PATH"), *file = NULL;
    if (folders) lob_path_take(folders);
    for (char *rest = folders, *folder; !file && (folder = strsep(&rest, ";"));) {
        folder += folder[0] == '"';
        folder[strcspn(folder, "\"")] = '\0';
        if (!is_whole(folder) || asprintf(&file, "%s/%s.exe", folder, name) < 0) file = NULL;
        if (file && !lob_is_file(file)) {
            free(file);
            file = NULL;
        }
    }
    free(folders);
    return file;
}

/* A program at work. */
typedef struct {
    HANDLE process, job, out; /* out: what it prints */
} running;

/* A job that ends with its last handle, which this process has; NULL: it cannot be bounded. */
static HANDLE make_job(const lob_program *program)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
        .BasicLimitInformation = {.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
                                                JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION},
        .ProcessMemoryLimit = (SIZE_T)program->memory,
    };
    if (program->memory > 0)
        limits.BasicLimitInformation.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_MEMORY;
    const HANDLE job = CreateJobObjectW(NULL, NULL);
    if (job &&
        SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits))
        return job;
    if (job) CloseHandle(job);
    return NULL;
}

/* End it and all that it has started, so that none of them has a file of its folder any more. */
static void end_job(running *r)
{
    enum { MOST_MS = 5000, STEP_MS = 5 };
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION about = {.ActiveProcesses = 1};
    if (r->job) TerminateJobObject(r->job, 1);
    if (r->process) WaitForSingleObject(r->process, INFINITE);
    for (int ms = 0; r->process && ms < MOST_MS && about.ActiveProcesses > 0; ms += STEP_MS) {
        if (!QueryInformationJobObject(r->job, JobObjectBasicAccountingInformation, &about,
                                       sizeof about, NULL))
            break;
        if (about.ActiveProcesses > 0) Sleep(STEP_MS);
    }
    HANDLE *const all[] = {&r->process, &r->job, &r->out};
    for (int i = 0; i < 3; i++)
        if (*all[i]) CloseHandle(*all[i]);
}

static bool start(running *r, const lob_program *program)
{
    SECURITY_ATTRIBUTES inherit = {sizeof inherit, NULL, TRUE};
    PROCESS_INFORMATION process;
    HANDLE ends[2];
    *r = (running){.job = make_job(program)};
    if (!r->job || !CreatePipe(&ends[0], &ends[1], &inherit, 0)) {
        end_job(r);
        return false;
    }
    r->out = ends[0];
    const HANDLE nothing = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                       &inherit, OPEN_EXISTING, 0, NULL);
    HANDLE given[] = {nothing, ends[1]};
    const lob_process_start with = {
        .words = program->words,
        .folder = program->folder,
        .flags = CREATE_SUSPENDED | CREATE_NO_WINDOW, /* it is in its job before it runs */
        .with = {.dwFlags = STARTF_USESTDHANDLES,
                 .hStdInput = nothing,
                 .hStdOutput = ends[1],
                 .hStdError = ends[1]},
        .handles = given,
        .handles_count = 2,
    };
    bool started = nothing != INVALID_HANDLE_VALUE && lob_start_process(&process, &with);
    if (nothing != INVALID_HANDLE_VALUE) CloseHandle(nothing);
    CloseHandle(ends[1]);
    if (started) {
        r->process = process.hProcess;
        started = AssignProcessToJobObject(r->job, r->process) &&
                  ResumeThread(process.hThread) != (DWORD)-1;
        if (!started) TerminateProcess(r->process, 1);
        CloseHandle(process.hThread);
    }
    if (!started) end_job(r);
    return started;
}

/* Take what has been printed; false: nothing is there. */
static bool listen_to(lob_program_end *end, const running *r)
{
    char bytes[LOB_PROGRAM_TEXT / 2];
    DWORD there = 0, n = 0;
    if (!PeekNamedPipe(r->out, NULL, 0, NULL, &there, NULL) || there == 0) return false;
    if (!ReadFile(r->out, bytes, sizeof bytes, &n, NULL) || n == 0) return false;
    lob_program_heard(end, bytes, n);
    return true;
}

void lob_program_run(lob_program_end *end, const lob_program *program)
{
    enum { STEP_MS = 20, MOST_READS = 256 };
    const double start_s = lob_clock_s();
    running r;
    *end = (lob_program_end){.fate = LOB_PROGRAM_DONE};
    if (!start(&r, program)) {
        end->fate = LOB_PROGRAM_NONE;
        return;
    }
    while (end->fate == LOB_PROGRAM_DONE) {
        const DWORD wait_ms = listen_to(end, &r) ? 0 : STEP_MS;
        if (WaitForSingleObject(r.process, wait_ms) != WAIT_TIMEOUT) break;
        if (program->stop && program->stop(program->user)) end->fate = LOB_PROGRAM_STOPPED;
        if (lob_clock_s() - start_s > program->seconds) end->fate = LOB_PROGRAM_LATE;
    }
    /* What is left in the pipe, of which one that it has left behind may go on to make more. */
    for (int i = 0; i < MOST_READS && listen_to(end, &r); i++) continue;
    DWORD code = 0;
    GetExitCodeProcess(r.process, &code);
    end_job(&r);
    end->exit_code = (int)code;
    /* Codes of exceptions of the system, as for memory that is not there, begin with 0xc. */
    if (end->fate == LOB_PROGRAM_DONE && code >> 28 == 0xc) end->fate = LOB_PROGRAM_CRASHED;
}
