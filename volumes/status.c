/* Texts and exit codes of the status list. */
#include "volumes/status.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static const struct {
    const char *text;
    int exit_code;
} rows[] = {
#define LOB_STATUS_ROW(name, code, text) {text, code},
    LOB_STATUS_LIST(LOB_STATUS_ROW)
#undef LOB_STATUS_ROW
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const char *lob_status_text(lob_status status)
{
    return (unsigned)status < ROWS ? rows[status].text : "unknown status";
}

int lob_status_exit_code(lob_status status)
{
    return (unsigned)status < ROWS ? rows[status].exit_code : 70;
}

static void write_error(lob_error *error, lob_hint hint, const char *format, va_list arguments)
{
    if (!error) return;
    error->hint = hint;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    for (char *c = error->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

lob_status lob_fail(lob_error *error, lob_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_error(error, LOB_HINT_NONE, format, arguments);
    va_end(arguments);
    return status;
}

lob_status lob_fail_hint(lob_error *error, lob_status status, lob_hint hint, const char *format,
                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_error(error, hint, format, arguments);
    va_end(arguments);
    return status;
}
