/* Choose a backend, by name or the best one of this machine, and make it ready. */
#ifndef LOB_BACKEND_OPEN_H
#define LOB_BACKEND_OPEN_H

#include "kernels/backends.h"

LOB_BEGIN_DECLS

/*
 * Open a backend.
 *
 *   backend  out  its functions; a constant of the library. NULL on failure
 *   context  out  what these functions are given: all CPU threads that the process may use, the
 *                 opened device, no memory limit, no progress. Change what you like, but not the
 *                 device; close with lob_backend_close, also after a failure
 *   choice   in   "best": the GPU with the most free memory, or the CPU where no GPU can be opened;
 *                 "cpu"; "cuda": the first GPU; "cuda:N": GPU number N
 *
 * Waking a GPU takes some tenths of a second. Returns LOB_OK, LOB_EDEVICE (no such backend in this
 * build, or its device is not available), LOB_EBUSY or LOB_ENOMEM; with "best" always LOB_OK.
 */
lob_status lob_backend_open(const lob_backend **backend, lob_context *context, const char *choice,
                            lob_error *error);

/* Close the context's device, if it has one. */
void lob_backend_close(lob_context *context);

LOB_END_DECLS

#endif
