/* Starting the helper that reads and writes HDF5, and telling it what to do. */
#include "io/hdf5/hdf5_messages.h"
#include "io/hdf5/sandbox.h"
#include "io/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define PROGRAM "lobule-hdf5.exe"
#else
#define PROGRAM "lobule-hdf5"
#endif

enum { START_S = 300 }; /* a helper that has not begun by then hangs */

/* Its path, malloc'ed: beside the file that this code lies in, or from there where it is installed;
 * for a static library that may lie anywhere, where that was to be. NULL: it is not there. */
static char *find_helper(void)
{
    static const char *const from[] = {"", LOBULE_LIBEXEC "/", "../" LOBULE_LIBEXEC "/",
                                       "../../" LOBULE_LIBEXEC "/"};
    char *const folder = lob_code_folder();
    const size_t room = (folder ? strlen(folder) : 0) + sizeof LOBULE_LIBEXEC_WHOLE +
                        sizeof "/../../" LOBULE_LIBEXEC "/" PROGRAM;
    char *path = malloc(room);
    bool found = false;
    for (size_t i = 0; path && folder && !found && i < sizeof from / sizeof from[0]; i++) {
        snprintf(path, room, "%s/%s" PROGRAM, folder, from[i]);
        found = lob_is_program_of_ours(path);
    }
    if (path && !found && *LOBULE_LIBEXEC_WHOLE) {
        snprintf(path, room, LOBULE_LIBEXEC_WHOLE "/" PROGRAM);
        found = lob_is_file(path);
    }
    free(folder);
    if (found) return path;
    free(path);
    return NULL;
}

lob_status lob_hdf5_ask(lob_sandbox *box, lob_hdf5_request *request,
                        const lob_output_part texts[LOB_HDF5_TEXTS], int file, const char *path,
                        lob_error *error)
{
    for (int i = 0; i < LOB_HDF5_TEXTS; i++)
        request->bytes[i] = texts[i].bytes ? (int64_t)texts[i].size : -1;
    char *const program = find_helper();
    if (!program)
        return lob_fail_file(error, LOB_EINTERNAL, path,
                             "HDF5 is read and written by the program " PROGRAM
                             ", which is not where Lobule is installed; install Lobule again");
    char build[LOB_HDF5_BUILD];
    lob_hdf5_build(build);
    const bool started = lob_sandbox_start(box, program, build, file);
    free(program);
    if (!started)
        return lob_fail_file(error, LOB_ENOMEM, path,
                             "the system gives no process for " PROGRAM
                             ", which reads and writes HDF5: %s",
                             box->why);
    int ready = 0;
    bool ok = lob_sandbox_receive(box, &ready, sizeof ready, START_S);
    const bool alike = ok ? ready == LOB_HDF5_READY : !box->garbled;
    ok = ok && alike && lob_sandbox_send(box, request, sizeof *request);
    for (int i = 0; i < LOB_HDF5_TEXTS; i++)
        ok = ok && (!texts[i].bytes || lob_sandbox_send(box, texts[i].bytes, texts[i].size));
    if (ok) return LOB_OK;
    const lob_sandbox_end end = lob_sandbox_finish(box, NULL);
    if (end == LOB_SANDBOX_OTHER || !alike)
        return lob_fail_file(error, LOB_EINTERNAL, path,
                             "the program " PROGRAM " is of another version than Lobule; install "
                             "Lobule again");
    if (end == LOB_SANDBOX_INTERRUPTED)
        return lob_fail_file(error, LOB_ECANCEL, path, "interrupted");
    return lob_fail_file(error, LOB_EINTERNAL, path,
                         "the program " PROGRAM ", which reads and writes HDF5, does not run here");
}
