/* Blocks of numbers: into planes in memory, and from them. */
#include "io/raw_image.h"

#include "io/gzip.h"
#include "io/nifti_voxels.h"
#include "volumes/clock.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

bool lob_little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

int64_t lob_raw_numbers(const lob_raw_image *image)
{
    const int64_t *n = image->side;
    return lob_product(lob_product(n[0], n[1], n[2], n[3]), n[4], 1, 1);
}

/* ---- reading ---- */

/* Inflate a zlib stream, as MetaImage has it. */
static lob_status inflate_zlib(unsigned char *out, size_t n, const unsigned char *bytes,
                               size_t size, const char *path, lob_error *error)
{
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    if (!inflater) return lob_fail(error, LOB_ENOMEM, "%s: no memory to inflate it", path);
    const enum libdeflate_result result =
        libdeflate_zlib_decompress_ex(inflater, bytes, size, out, n, NULL, NULL);
    libdeflate_free_decompressor(inflater);
    if (result == LIBDEFLATE_SUCCESS) return LOB_OK;
    return lob_fail(error, LOB_EDATA,
                    "%s: damaged: its compressed voxels do not inflate to what its header says",
                    path);
}

/* All numbers of a compressed block, malloc'ed. */
static lob_status inflate_block(unsigned char **block, size_t n, const unsigned char *bytes,
                                size_t size, const char *path, const lob_read_options *options,
                                lob_file_info *info, lob_error *error)
{
    *block = NULL;
    if (!lob_gzip_justifies(n, size))
        return lob_fail(error, LOB_EDATA,
                        "%s: damaged: its header asks for %zu bytes, more than its %zu compressed "
                        "ones can hold",
                        path, n, size);
    LOB_TRY(lob_memory_allows((int64_t)n, path, options, error));
    *block = lob_voxel_memory(n);
    if (!*block) return lob_fail(error, LOB_ENOMEM, "%s: no memory for its voxels", path);
    const double start_s = lob_clock_s();
    lob_gzip_rest rest = {0};
    const lob_status st = lob_is_gzip(bytes, size)
                              ? lob_gunzip(*block, n, &rest, bytes, size, path, error)
                              : inflate_zlib(*block, n, bytes, size, path, error);
    if (info) info->inflate_s += lob_clock_s() - start_s;
    if (st == LOB_OK && rest.surplus + rest.trailing > 0)
        lob_warn(info, "%s: %llu bytes after the voxels are not read", path,
                 (unsigned long long)(rest.surplus + rest.trailing));
    if (st != LOB_OK) {
        free(*block);
        *block = NULL;
    }
    return st;
}

/* Rows of one frame out of the block. */
static void gather(unsigned char *to, const unsigned char *block, const lob_raw_image *image,
                   int64_t frame)
{
    const size_t bytes = lob_type_of(image->type)->bytes;
    const int64_t *side = image->side, *stride = image->stride;
    for (int64_t c = 0; c < side[LOB_RAW_CHANNEL]; c++)
        for (int64_t z = 0; z < side[LOB_RAW_Z]; z++)
            for (int64_t y = 0; y < side[LOB_RAW_Y]; y++) {
                const int64_t first = frame * stride[LOB_RAW_FRAME] + c * stride[LOB_RAW_CHANNEL] +
                                      z * stride[LOB_RAW_Z] + y * stride[LOB_RAW_Y];
                const unsigned char *from = block + (size_t)first * bytes;
                const size_t step = (size_t)stride[LOB_RAW_X] * bytes;
                if (stride[LOB_RAW_X] == 1) {
                    memcpy(to, from, (size_t)side[LOB_RAW_X] * bytes);
                    to += (size_t)side[LOB_RAW_X] * bytes;
                    continue;
                }
                for (int64_t x = 0; x < side[LOB_RAW_X]; x++, to += bytes, from += step)
                    memcpy(to, from, bytes);
            }
}

lob_status lob_raw_read(lob_volume *out, const lob_raw_image *image, const unsigned char *bytes,
                        size_t size, const char *path, const lob_read_options *options,
                        lob_file_info *info, lob_error *error)
{
    const int64_t word = (int64_t)lob_type_of(image->type)->bytes;
    const int64_t total = lob_product(lob_raw_numbers(image), word, 1, 1);
    if (total < 0) return lob_fail(error, LOB_EDATA, "%s: claims too many voxels", path);
    out->type = image->type;
    out->dims = (lob_dims){image->side[0], image->side[1], image->side[2]};
    if (image->side[LOB_RAW_CHANNEL] > INT32_MAX)
        return lob_fail(error, LOB_EDATA, "%s: claims too many channels", path);
    out->channels = (int)image->side[LOB_RAW_CHANNEL];
    out->frames = image->side[LOB_RAW_FRAME];
    if (!image->compressed && (uint64_t)total > size)
        return lob_fail(error, LOB_EDATA,
                        "%s: cut short: its header asks for %lld bytes of voxels, but there are "
                        "%zu; copy it again from its source",
                        path, (long long)total, size);
    if (!image->compressed && (uint64_t)total < size)
        lob_warn(info, "%s: %llu bytes after the voxels are not read", path,
                 (unsigned long long)(size - (uint64_t)total));
    if (options->header_only) return LOB_OK;
    LOB_TRY(lob_choose_frame(&out->frame, out->frames, path, options, error));

    const int64_t one = total / out->frames;
    LOB_TRY(lob_memory_allows(one, path, options, error));
    unsigned char *block = NULL;
    if (image->compressed)
        LOB_TRY(inflate_block(&block, (size_t)total, bytes, size, path, options, info, error));
    out->data = lob_voxel_memory((size_t)one);
    if (out->data) {
        gather(out->data, block ? block : bytes, image, out->frame);
        if (image->swapped) lob_nifti_swap_words(out->data, (size_t)one, (size_t)word);
    }
    free(block);
    return out->data ? LOB_OK : lob_fail(error, LOB_ENOMEM, "%s: no memory for its voxels", path);
}

char *lob_raw_path(const char *header_path, const char *name)
{
    const char *slash = strrchr(header_path, '/');
    const size_t folder = slash ? (size_t)(slash - header_path) + 1 : 0;
    char *path = calloc(folder + strlen(name) + 1, 1);
    if (!path) return NULL;
    memcpy(path, header_path, folder);
    strcpy(path + folder, name);
    return path;
}

bool lob_raw_is_plain(const char *name)
{
    return *name && !strpbrk(name, "/% ") && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

lob_status lob_raw_open(lob_input *out, const char *header_path, const char *name, lob_error *error)
{
    *out = (lob_input){0};
    if (!lob_raw_is_plain(name))
        return lob_fail(error, LOB_EDATA,
                        "%s: names '%.200s' as the file of its voxels; only a single file in its "
                        "own folder is read",
                        header_path, name);
    char *path = lob_raw_path(header_path, name);
    if (!path) return lob_fail(error, LOB_ENOMEM, "%s: no memory", header_path);
    lob_error why = {.text = ""};
    lob_status st = lob_input_open(out, path, &why);
    if (st != LOB_OK)
        lob_fail(error, st, "%s: the file of its voxels: %.800s", header_path, why.text);
    free(path);
    return st;
}

/* ---- writing ---- */

void lob_raw_content_bytes(void *user, uint64_t offset, size_t n, unsigned char *out)
{
    const lob_raw_content *c = user;
    const lob_volume *v = c->volume;
    const uint64_t word = lob_type_of(v->type)->bytes;
    const uint64_t channels = (uint64_t)v->channels, plane = (uint64_t)lob_voxels(v) * word;
    if (offset < c->head_bytes) {
        const size_t some = c->head_bytes - offset < n ? (size_t)(c->head_bytes - offset) : n;
        memcpy(out, c->head + offset, some);
        out += some;
        n -= some;
        offset += some;
    }
    if (n == 0) return;
    offset -= c->head_bytes;
    const unsigned char *data = v->data;
    if (channels == 1) {
        memcpy(out, data + offset, n);
        return;
    }
    for (size_t i = 0; i < n; i++, offset++) {
        const uint64_t number = offset / word;
        out[i] = data[number % channels * plane + number / channels * word + offset % word];
    }
}
