/* The outcome of a call: its status, exit code and text, and what to tell a person about a
 * failure.
 */
#ifndef LOB_STATUS_H
#define LOB_STATUS_H

#include "volumes/both.h"

#include <stddef.h>
#include <stdint.h>

LOB_BEGIN_DECLS

/* name, exit code of a command that ends with it (BSD sysexits where one fits), text */
#define LOB_STATUS_LIST(X)                         \
    X(LOB_OK, 0, "done")                           \
    X(LOB_EDIFFER, 1, "the volumes differ")        \
    X(LOB_EARG, 64, "bad usage")                   \
    X(LOB_EDATA, 65, "bad data")                   \
    X(LOB_ENOINPUT, 66, "no such input")           \
    X(LOB_EDEVICE, 69, "device not available")     \
    X(LOB_EINTERNAL, 70, "a fault of ours")        \
    X(LOB_EEXIST, 72, "output exists and is kept") \
    X(LOB_ECREATE, 73, "output cannot be created") \
    X(LOB_EIO, 74, "read or write failed")         \
    X(LOB_ENOMEM, 75, "out of memory")             \
    X(LOB_EBUSY, 75, "device busy")                \
    X(LOB_ECANCEL, 130, "cancelled")

typedef enum {
#define LOB_STATUS_ENUM(name, code, text) name,
    LOB_STATUS_LIST(LOB_STATUS_ENUM)
#undef LOB_STATUS_ENUM
} lob_status;

/* What the caller can change so that the call succeeds. A program puts it into its own words: the
 * lobule command names the option. */
typedef enum {
    LOB_HINT_NONE,
    LOB_HINT_USE_CPU,      /* compute on the CPU */
    LOB_HINT_BUILD_GPU,    /* compute on the CPU, or build for this GPU's compute capability */
    LOB_HINT_LESS_MEMORY,  /* set a memory limit, so that the work is done in parts; or use the CPU
                            */
    LOB_HINT_MORE_MEMORY,  /* set a memory limit above what is free */
    LOB_HINT_RAISE_MEMORY, /* raise the memory limit that the caller set */
    LOB_HINT_REPLACE,      /* allow an existing output to be replaced */
    LOB_HINT_CHOOSE_FRAME, /* choose one of the file's time frames */
    LOB_HINT_CHOOSE_SET,   /* name one of the file's data sets; lob_list lists them */
    LOB_HINT_SAVE_FRAME,   /* the caller cannot choose: save one frame as a file of its own */
    LOB_HINT_RESAMPLE,     /* bring volumes onto one grid, with a program that interpolates */
    LOB_HINT_CONVERT,      /* the file may be sound, but its kind is not read; the text says what to
                              convert it with */
    LOB_HINT_GIVE_SIZE,    /* say how large things are in place of letting it be estimated */
    LOB_HINT_TRUST_SEEDS,  /* say that seeds are meant as they are */
    LOB_HINT_NO_SURFACES,  /* compare values, or leave the distances between surfaces out */
    LOB_HINT_COARSER,      /* bring the image onto coarser voxels, or say that things are smaller */
    LOB_HINT_CHOOSE_SERIES, /* name one of the folder's series of DICOM */
    LOB_HINT_CHOOSE_VOLUME, /* name one of the volumes that the series makes */
    LOB_HINT_LIKE,          /* name the scan that it refers to */
    LOB_HINT_RELABEL,       /* give structures the same labels in all volumes */
    LOB_HINTS
} lob_hint;

/*
 * What a failure says to a person, in parts that lob_error_line puts together. Functions whose
 * status does not say enough take a pointer to one as their last argument; it may be NULL. It is
 * written as a whole, and only when a call fails. No part has a newline or a full stop at its end.
 *
 *   file  the file that is meant, as the caller named it, or two of them ("a.nii with b.nii"); a
 *         line of a text file is "a.tsv:12"; empty: none is. A longer name lost its middle
 *   text  what is wrong; never empty
 *   hint  what to try
 */
typedef struct {
    char file[1024];
    char text[1024];
    lob_hint hint;
} lob_error;

/* Bytes that any line of lob_error_line fits in. */
enum { LOB_ERROR_LINE = 2052 };

/* Write "file: text", or the text alone, into out, cut off at size bytes. Returns out. */
char *lob_error_line(char *out, size_t size, const lob_error *error);

/* The status's own text, never NULL; "unknown status" for a value outside the list. */
const char *lob_status_text(lob_status status);

/* The exit code of a command that ends with this status; 70 for a value outside the list. */
int lob_status_exit_code(lob_status status);

#if defined(__GNUC__)
#define LOB_PRINTF(at, first) __attribute__((format(printf, at, first)))
#else
#define LOB_PRINTF(at, first)
#endif

/*
 * Write a formatted text into error (unless NULL) and return status, so that a check reads
 * `return lob_fail(error, LOB_EARG, "%d channels; one is needed", n);`. No file is named, and the
 * hint is LOB_HINT_NONE. Control characters are replaced by '?', because texts may hold anything.
 */
lob_status lob_fail(lob_error *error, lob_status status, const char *format, ...) LOB_PRINTF(3, 4);

/* The same with a hint. */
lob_status lob_fail_hint(lob_error *error, lob_status status, lob_hint hint, const char *format,
                         ...) LOB_PRINTF(4, 5);

/* The same about a file, about one with a hint, and about a line of a text file, counted from 1. */
lob_status lob_fail_file(lob_error *error, lob_status status, const char *path, const char *format,
                         ...) LOB_PRINTF(4, 5);
lob_status lob_fail_file_hint(lob_error *error, lob_status status, lob_hint hint, const char *path,
                              const char *format, ...) LOB_PRINTF(5, 6);
lob_status lob_fail_line(lob_error *error, lob_status status, const char *path, int64_t line,
                         const char *format, ...) LOB_PRINTF(5, 6);

/* A function that knows the file calls others that do not: name it in their error (unless NULL), if
 * no file is named there yet. */
void lob_error_in(lob_error *error, const char *path);

/* Append to an error's text (unless NULL). */
void lob_error_add(lob_error *error, const char *format, ...) LOB_PRINTF(2, 3);

/*
 * What an algorithm's entry does first and last, so that each of its failures has a text whatever
 * failed inside of it: forget what was told before; give a failure that nobody told of, as a cancel
 * or a lack of memory, its status's own text. Returns status. error may be NULL.
 */
void lob_error_begin(lob_error *error);
lob_status lob_error_end(lob_error *error, lob_status status);

/* Return from the enclosing function with the status of a call that failed. */
#define LOB_TRY(call)                          \
    do {                                       \
        const lob_status status_ = (call);     \
        if (status_ != LOB_OK) return status_; \
    } while (0)

LOB_END_DECLS

#endif
