/* What the formats share: names, frames, warnings. */
#include "io/format.h"

#include "io/platform.h"
#include "volumes/blocks.h"
#include "volumes/bytes.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool lob_has_suffix(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && path[length - end - 1] != '/' &&
           strcasecmp(path + length - end, suffix) == 0;
}

int64_t lob_memory_available(void)
{
    const int64_t bytes = lob_memory_free();
    return bytes > 0 ? bytes : INT64_MAX;
}

lob_status lob_memory_allows(int64_t bytes, const lob_reading *r)
{
    const bool asked = r->options->max_memory > 0;
    const int64_t limit = asked ? r->options->max_memory : lob_memory_available() / 10 * 9;
    if (bytes >= 0 && bytes <= limit) return LOB_OK;
    if (bytes < 0) return LOB_FAIL(r, LOB_ENOMEM, "needs more memory than can be addressed");
    char need[LOB_BYTES_TEXT], have[LOB_BYTES_TEXT];
    lob_bytes_texts(need, bytes, have, limit);
    return lob_fail_file_hint(
        r->error, LOB_ENOMEM, asked ? LOB_HINT_RAISE_MEMORY : LOB_HINT_MORE_MEMORY, r->path,
        "needs %s of memory, more than the %s %s", need, have, asked ? "allowed" : "free");
}

lob_status lob_choose_frame(int64_t *frame, int64_t frames, const char *path,
                            const lob_read_options *options, lob_error *error)
{
    *frame = options->frame < 0 ? 0 : options->frame;
    if (*frame >= frames)
        return lob_fail_file(error, LOB_EDATA, path,
                             "has no frame %lld; it has %lld, counted from 0", (long long)*frame,
                             (long long)frames);
    if (options->frame >= 0 || options->frame == LOB_FRAME_ALL || frames == 1 ||
        options->header_only)
        return LOB_OK;
    return lob_fail_file_hint(
        error, LOB_EDATA,
        options->frame == LOB_FRAME_NONE ? LOB_HINT_SAVE_FRAME : LOB_HINT_CHOOSE_FRAME, path,
        "has %lld frames, numbered from 0, and one is needed", (long long)frames);
}

lob_status lob_holds_no_scale(const lob_volume *volume, const lob_location *where,
                              const char *format, lob_error *error)
{
    if (!lob_is_scaled(volume)) return LOB_OK;
    return lob_fail_file(error, LOB_EDATA, where->path,
                         "%s has no scale, and this volume's values are %.7g * stored + %.7g; "
                         "convert it to float32 first",
                         format, volume->slope, volume->inter);
}

void lob_warn(lob_file_info *info, const char *format, ...)
{
    const int limit = info ? (int)(sizeof info->warning / sizeof info->warning[0]) : 0;
    if (!info || info->warnings >= limit) return;
    char *line = info->warning[info->warnings++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof info->warning[0], format, arguments);
    va_end(arguments);
    for (char *c = line; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = '?';
}

bool lob_outgrows_memory(const lob_input *file, const lob_read_options *options)
{
    const int64_t limit =
        options->max_memory > 0 ? options->max_memory : lob_memory_available() / 2;
    return (int64_t)file->size > limit / 4; /* there are others, and what is made of them */
}

void lob_copy_apart(void *out, const void *in, size_t n, int threads)
{
    const size_t part = (size_t)4 << 20;
#pragma omp parallel for num_threads(threads < 1 ? 1 : threads) if (n >= 4 * part)
    for (size_t at = 0; at < n; at += part)
        memcpy((char *)out + at, (const char *)in + at, n - at < part ? n - at : part);
}

void lob_voxels_mixed(void *out, const lob_volume *v, int64_t first, int64_t n, int threads)
{
    const int64_t word = (int64_t)lob_type_of(v->type)->bytes, frames = lob_frames_held(v);
    const int64_t channels = v->channels / frames, channel = lob_voxels(v) * frames;
    const int64_t part = 1 << 12; /* voxels, which stay in the cache from channel to channel */
#pragma omp parallel for num_threads(threads)
    for (int64_t at = 0; at < n; at += part)
        for (int64_t c = 0; c < channels; c++)
            lob_copy_strided((char *)out + (at * channels + c) * word, channels * word,
                             (const char *)v->data + (c * channel + first + at) * word, word,
                             n - at < part ? n - at : part, (size_t)word);
}

lob_status lob_put_mixed(const lob_volume *v, int threads,
                         lob_status (*put)(void *state, const void *bytes, size_t n,
                                           lob_error *error),
                         void *state, const char *path, lob_error *error)
{
    enum { PIECE = 1 << 25 };
    const int64_t all = lob_voxels(v) * lob_frames_held(v), bytes = lob_volume_bytes(v) / all;
    if (v->channels == lob_frames_held(v)) return put(state, v->data, (size_t)(all * bytes), error);
    const int64_t most = all * bytes < PIECE ? all : PIECE / bytes + 1;
    void *const piece = malloc((size_t)(most * bytes));
    if (!piece) return lob_fail_file(error, LOB_ENOMEM, path, "no memory to write it");
    lob_status st = LOB_OK;
    for (int64_t at = 0; st == LOB_OK && at < all; at += most) {
        const int64_t n = all - at < most ? all - at : most;
        lob_voxels_mixed(piece, v, at, n, threads);
        st = put(state, piece, (size_t)(n * bytes), error);
    }
    free(piece);
    return st;
}

void lob_info_add_file(lob_file_info *info, const lob_input *file)
{
    if (info) info->file_bytes += (int64_t)file->size;
}
