/* The outcome of a call: its status, exit code and text, and one line for a person about a failure.
 */
#ifndef LOB_STATUS_H
#define LOB_STATUS_H

#include "volumes/both.h"

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
    LOB_HINT_COARSER,      /* bring the image onto coarser voxels, or say that things are smaller */
    LOB_HINTS
} lob_hint;

/*
 * One line for a person: which file, what is wrong, what to try. Functions whose status does not
 * say enough take a pointer to one as their last argument; it may be NULL. The text has no newline
 * and no full stop at its end. It is written only when a call fails.
 */
typedef struct {
    char text[1024];
    lob_hint hint;
} lob_error;

/* The status's own text, never NULL; "unknown status" for a value outside the list. */
const char *lob_status_text(lob_status status);

/* The exit code of a command that ends with this status; 70 for a value outside the list. */
int lob_status_exit_code(lob_status status);

/*
 * Write a formatted line into error (unless NULL) and return status, so that a check reads
 * `return lob_fail(error, LOB_EDATA, "%s: ...", path);`. Control characters are replaced by '?',
 * because file names may hold anything.
 */
lob_status lob_fail(lob_error *error, lob_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* The same with a hint; lob_fail sets LOB_HINT_NONE. */
lob_status lob_fail_hint(lob_error *error, lob_status status, lob_hint hint, const char *format,
                         ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;

/* Return from the enclosing function with the status of a call that failed. */
#define LOB_TRY(call)                          \
    do {                                       \
        const lob_status status_ = (call);     \
        if (status_ != LOB_OK) return status_; \
    } while (0)

LOB_END_DECLS

#endif
