/* In place of outside_program.c and scratch.c, where no programs are run yet: DICOM is refused. */
#include "io/dicom/outside_program.h"
#include "io/dicom/scratch.h"

#include <stddef.h>

char *lob_program_find(const char *name)
{
    (void)name;
    return NULL;
}

void lob_program_run(lob_program_end *end, const lob_program *program)
{
    (void)program;
    *end = (lob_program_end){.fate = LOB_PROGRAM_NONE};
}

lob_status lob_scratch_begin(lob_scratch *scratch, lob_error *error)
{
    *scratch = (lob_scratch){.lock = -1};
    return lob_fail(error, LOB_EDATA, "DICOM is not converted on this system; use dcm2niix first");
}

char *lob_scratch_folder(const lob_scratch *scratch, const char *name)
{
    (void)scratch;
    (void)name;
    return NULL;
}

bool lob_scratch_link(const char *folder, const char *name, const char *file)
{
    (void)folder;
    (void)name;
    (void)file;
    return false;
}

void lob_scratch_end(lob_scratch *scratch)
{
    *scratch = (lob_scratch){.lock = -1};
}
