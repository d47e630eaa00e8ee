/* A file as libtiff sees it: bytes in memory to read, or an output to write. */
#include "io/tiff/tiff_session.h"
#include "io/libraries.h"
#include "io/platform.h"

#include <stdio.h>
#include <string.h>

static int keep_message(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    lob_tiff_session *const s = user;
    (void)tif;
    (void)module;
    if (!s->message[0]) vsnprintf(s->message, sizeof s->message, format, args);
    return 1; /* nobody else need hear of it */
}

static int drop_message(TIFF *tif, void *user, const char *module, const char *format, va_list args)
{
    (void)tif;
    (void)user;
    (void)module;
    (void)format;
    (void)args;
    return 1;
}

static tmsize_t get_bytes(thandle_t handle, void *out, tmsize_t n)
{
    lob_tiff_session *const s = handle;
    if (!s->file) return lob_fd_read(s->output->fd, out, (size_t)n);
    if (n < 0 || s->at > s->file->size) return -1;
    const uint64_t left = s->file->size - s->at;
    const size_t some = (uint64_t)n < left ? (size_t)n : (size_t)left;
    memcpy(out, s->file->bytes + s->at, some);
    s->at += some;
    return (tmsize_t)some;
}

static tmsize_t put_bytes(thandle_t handle, void *bytes, tmsize_t n)
{
    lob_tiff_session *const s = handle;
    if (s->file) return -1;
    if (s->status == LOB_OK) s->status = lob_output_write(s->output, bytes, (size_t)n, s->error);
    return s->status == LOB_OK ? n : -1;
}

static toff_t seek_to(thandle_t handle, toff_t offset, int whence)
{
    lob_tiff_session *const s = handle;
    if (!s->file) return (toff_t)lob_fd_seek(s->output->fd, (int64_t)offset, whence);
    s->at = whence == SEEK_END   ? s->file->size + offset
            : whence == SEEK_CUR ? s->at + offset
                                 : offset;
    return s->at;
}

static int close_nothing(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_of(thandle_t handle)
{
    const lob_tiff_session *const s = handle;
    return s->file ? s->file->size : (toff_t)lob_fd_seek(s->output->fd, 0, SEEK_END);
}

TIFF *lob_tiff_open(lob_tiff_session *s, const char *mode, uint64_t most)
{
    TIFFOpenOptions *const options = TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)most);
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, s);
    TIFFOpenOptionsSetWarningHandlerExtR(options, drop_message, s);
    TIFF *const tif = TIFFClientOpenExt("", mode, s, get_bytes, put_bytes, seek_to, close_nothing,
                                        size_of, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tif;
}

#define TEXT_OF(number)              #number
#define VERSION(major, minor, micro) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(micro)

/* The one that was built with: the library's own is a text of lines. */
const char *lob_tiff_version(void)
{
    return VERSION(TIFFLIB_MAJOR_VERSION, TIFFLIB_MINOR_VERSION, TIFFLIB_MICRO_VERSION);
}
