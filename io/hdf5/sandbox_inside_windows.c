/* The inside of a sandbox, on Windows. */
#include "io/hdf5/sandbox_inside.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <io.h>
#include <psapi.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Processor time that it may use in all, in units of 100 ns; 0: no limit yet. */
static atomic_ullong most_time;

static uint64_t time_used(void)
{
    FILETIME began, ended, kernel, user;
    if (!GetProcessTimes(GetCurrentProcess(), &began, &ended, &kernel, &user)) return 0;
    return ((uint64_t)kernel.dwHighDateTime << 32 | kernel.dwLowDateTime) +
           ((uint64_t)user.dwHighDateTime << 32 | user.dwLowDateTime);
}

/* A job's limit on time, which Wine has not, counts none of the kernel's. */
static DWORD WINAPI watch_time(void *nothing)
{
    (void)nothing;
    for (uint64_t most = 0; most == 0 || time_used() <= most; most = atomic_load(&most_time))
        Sleep(100);
    TerminateProcess(GetCurrentProcess(), LOB_SANDBOX_OVERTIME);
    return 0;
}

void lob_inside_begin(void)
{
    /* A crash ends it, and asks nobody. */
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
    const HANDLE thread = CreateThread(NULL, 0, watch_time, NULL, 0, NULL);
    if (!thread) lob_inside_give_up();
    CloseHandle(thread);
}

enum { PORTION = 1 << 20 }; /* _write takes an int */

void lob_inside_send(const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const size_t left = n - done;
        const int w =
            _write(1, (const char *)bytes + done, left < PORTION ? (unsigned)left : PORTION);
        if (w <= 0) lob_inside_give_up();
        done += (size_t)w;
    }
}

void lob_inside_limit(int cpu_s, int64_t memory)
{
    static HANDLE job;
    static SIZE_T at_first;
    atomic_store(&most_time, time_used() + (uint64_t)(cpu_s + 1) * 10000000);
    if (!job) {
        PROCESS_MEMORY_COUNTERS used = {.cb = sizeof used};
        GetProcessMemoryInfo(GetCurrentProcess(), &used, sizeof used);
        at_first = used.PagefileUsage;
        job = CreateJobObjectW(NULL, NULL);
        if (!job || !AssignProcessToJobObject(job, GetCurrentProcess())) lob_inside_give_up();
    }
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
        .BasicLimitInformation = {.LimitFlags = JOB_OBJECT_LIMIT_PROCESS_MEMORY |
                                                JOB_OBJECT_LIMIT_ACTIVE_PROCESS, .ActiveProcessLimit = 1},
        .ProcessMemoryLimit = at_first + (SIZE_T)memory,
    };
    if (!SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits))
        lob_inside_give_up();
}

/* Of the least trust, to which nothing is open for writing that has a name. What may be read is
 * not less: the driver of hdf5_driver.c opens nothing by name. */
void lob_inside_shut(void)
{
    HANDLE token;
    SID untrusted = {
        SID_REVISION, 1, {SECURITY_MANDATORY_LABEL_AUTHORITY}, {SECURITY_MANDATORY_UNTRUSTED_RID}};
    TOKEN_MANDATORY_LABEL label = {
        {&untrusted, SE_GROUP_INTEGRITY}
    };
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_ADJUST_DEFAULT, &token) ||
        !SetTokenInformation(token, TokenIntegrityLevel, &label, sizeof label))
        lob_inside_give_up();
    CloseHandle(token);
}
