/* A folder of our own for what other programs write, removed at the end. */
#ifndef LOB_SCRATCH_H
#define LOB_SCRATCH_H

#include "volumes/status.h"

#include <stdbool.h>

/* Only its owner may enter: scans hold names of patients. All zero: none. */
typedef struct {
    char *path; /* from the root, malloc'ed */
    int lock;   /* held as long as the folder is in use */
} lob_scratch;

/*
 * Make a folder among the temporary ones. Folders that a killed process left there are removed
 * first: of those nobody holds the lock. Returns LOB_OK, LOB_ECREATE or LOB_ENOMEM.
 */
lob_status lob_scratch_begin(lob_scratch *scratch, lob_error *error);

/* Make a folder in it; returns its name, malloc'ed, or NULL without memory or room. */
char *lob_scratch_folder(const lob_scratch *scratch, const char *name);

/* Put a link to a file into a folder of it. */
bool lob_scratch_link(const char *folder, const char *name, const char *file);

/* Remove the folder and all that is in it, and leave none; none is fine. */
void lob_scratch_end(lob_scratch *scratch);

#endif
