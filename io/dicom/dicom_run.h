/* What reading and writing by outside programs share. */
#ifndef LOB_DICOM_RUN_H
#define LOB_DICOM_RUN_H

#include "io/dicom/dicom_series.h"
#include "io/dicom/scratch.h"

/* A program that is looked for, and how one gets it. */
typedef struct {
    const char *name, *advice;
} lob_dicom_program;

extern const lob_dicom_program lob_dcm2niix, lob_segimage2itkimage, lob_itkimage2segimage;

enum { LOB_DICOM_WORDS = 24 };

/* A run of one of them. */
typedef struct {
    const lob_dicom_program *program;
    const char *words[LOB_DICOM_WORDS]; /* behind its name, NULL at the end */
    const char *folder;                 /* it runs in, with what it makes */
    const lob_dicom_series *series;     /* to whose files there are links in ../in */
    int64_t bytes;                      /* that it is given, by which what it may take is bounded */
    int (*stop)(void *user);
    void *user;
    const char *path; /* for messages */
} lob_dicom_run;

/* A folder of this name in the scratch folder, with a link to each file of the series. NULL, with a
 * message, where it cannot be made; malloc'ed. */
char *lob_dicom_links(const lob_scratch *scratch, const lob_dicom_series *series, const char *path,
                      lob_error *error);

/*
 * Run a program to its end.
 *
 *   text  out  of LOB_PROGRAM_TEXT bytes: the last of what it printed; may be NULL
 *
 * Returns LOB_OK, LOB_EDATA (there is no such program; or it failed, with its own words),
 * LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_dicom_run_it(char *text, const lob_dicom_run *run, lob_error *error);

/* The names of what lies in a folder and ends in a suffix, in their order, for
 * lob_folder_paths_free; false: no memory for all. */
bool lob_dicom_found(char ***names, int64_t *count, const char *folder, const char *suffix);

#endif
