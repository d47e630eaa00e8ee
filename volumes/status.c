/* Texts and exit codes of the status list. */
#include "volumes/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

static void clean(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* A name that is too long loses its middle: its folder and its end tell most. line 0: none. */
static void name_file(lob_error *error, const char *path, int64_t line)
{
    char number[24] = "";
    if (line > 0) snprintf(number, sizeof number, ":%lld", (long long)line);
    const size_t n = strlen(path), room = sizeof error->file - 1 - strlen(number);
    if (n <= room) {
        snprintf(error->file, sizeof error->file, "%.*s%s", (int)n, path, number);
    } else { /* no character of UTF-8 is cut: its bytes but the first are 10xxxxxx */
        size_t head = room / 2 - 3, tail = n - (room - room / 2);
        while (head > 0 && ((unsigned char)path[head] & 0xc0) == 0x80) head--;
        while (((unsigned char)path[tail] & 0xc0) == 0x80) tail++;
        snprintf(error->file, sizeof error->file, "%.*s...%s%s", (int)head, path, path + tail,
                 number);
    }
    clean(error->file);
}

static void write_error(lob_error *error, lob_hint hint, const char *path, int64_t line,
                        const char *format, va_list arguments)
{
    if (!error) return;
    error->hint = hint;
    vsnprintf(error->text, sizeof error->text, format, arguments);
    clean(error->text);
    name_file(error, path, line);
}

#define FAIL(hint, path, line)                                   \
    do {                                                         \
        va_list arguments;                                       \
        va_start(arguments, format);                             \
        write_error(error, hint, path, line, format, arguments); \
        va_end(arguments);                                       \
        return status;                                           \
    } while (0)

lob_status lob_fail(lob_error *error, lob_status status, const char *format, ...)
{
    FAIL(LOB_HINT_NONE, "", 0);
}

lob_status lob_fail_hint(lob_error *error, lob_status status, lob_hint hint, const char *format,
                         ...)
{
    FAIL(hint, "", 0);
}

lob_status lob_fail_file(lob_error *error, lob_status status, const char *path, const char *format,
                         ...)
{
    FAIL(LOB_HINT_NONE, path, 0);
}

lob_status lob_fail_file_hint(lob_error *error, lob_status status, lob_hint hint, const char *path,
                              const char *format, ...)
{
    FAIL(hint, path, 0);
}

lob_status lob_fail_line(lob_error *error, lob_status status, const char *path, int64_t line,
                         const char *format, ...)
{
    FAIL(LOB_HINT_NONE, path, line);
}

void lob_error_in(lob_error *error, const char *path)
{
    if (error && !error->file[0]) name_file(error, path, 0);
}

void lob_error_add(lob_error *error, const char *format, ...)
{
    if (!error) return;
    const size_t used = strlen(error->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + used, sizeof error->text - used, format, arguments);
    va_end(arguments);
    clean(error->text);
}

void lob_error_begin(lob_error *error)
{
    if (error) error->text[0] = '\0';
}

lob_status lob_error_end(lob_error *error, lob_status status)
{
    if (status == LOB_OK || !error || error->text[0]) return status;
    return lob_fail(error, status, "%s", lob_status_text(status));
}

char *lob_error_line(char *out, size_t size, const lob_error *error)
{
    snprintf(out, size, "%s%s%s", error->file, error->file[0] ? ": " : "", error->text);
    return out;
}
