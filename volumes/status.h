/* What a call came to: one list of outcomes, their texts and their exit codes. */
#ifndef LOB_STATUS_H
#define LOB_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, exit code of a command that ends with it (BSD sysexits where one fits), text */
#define LOB_STATUS_LIST(X)                                   \
    X(LOB_OK, 0, "done")                                     \
    X(LOB_EDIFFER, 1, "the volumes differ")                  \
    X(LOB_EARG, 64, "bad usage")                             \
    X(LOB_EDATA, 65, "bad data")                             \
    X(LOB_ENOINPUT, 66, "no such input")                     \
    X(LOB_EDEVICE, 69, "device not available")               \
    X(LOB_EINTERNAL, 70, "a fault of ours")                  \
    X(LOB_ECREATE, 73, "output exists or cannot be created") \
    X(LOB_EIO, 74, "read or write failed")                   \
    X(LOB_ENOMEM, 75, "out of memory")                       \
    X(LOB_EBUSY, 75, "device busy")                          \
    X(LOB_ECANCEL, 130, "cancelled")

typedef enum {
#define LOB_STATUS_ENUM(name, code, text) name,
    LOB_STATUS_LIST(LOB_STATUS_ENUM)
#undef LOB_STATUS_ENUM
} lob_status;

/*
 * One line for a person: which file, what is wrong, what to try. Functions that can fail in more
 * ways than a status tells take a pointer to one as their last argument; it may be NULL. The text
 * has no newline and no trailing full stop, and is empty until something fails.
 */
typedef struct {
    char text[1024];
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

#ifdef __cplusplus
}
#endif

#endif
