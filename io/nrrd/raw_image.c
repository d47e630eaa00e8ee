/* Blocks of numbers: into planes in memory, and from them. */
#include "io/nrrd/raw_image.h"

#include "io/byte_order.h"
#include "io/gzip.h"
#include "io/platform.h"
#include "volumes/blocks.h"
#include "volumes/clock.h"
#include "volumes/voxel_memory.h"

#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a block; -1 where they do not fit in 64 bits. */
static int64_t block_bytes_of(const lob_raw_image *image)
{
    const int64_t *n = image->side, word = (int64_t)lob_type_of(image->type)->bytes;
    return lob_product(lob_product(n[0], n[1], n[2], n[3]), n[4], word, 1);
}

/* ---- reading ---- */

/* Inflate a zlib stream, as MetaImage has it. */
static lob_status inflate_zlib(unsigned char *out, size_t n, const unsigned char *bytes,
                               size_t size, const lob_reading *r)
{
    struct libdeflate_decompressor *inflater = libdeflate_alloc_decompressor();
    if (!inflater) return LOB_FAIL(r, LOB_ENOMEM, "no memory to inflate it");
    const enum libdeflate_result result =
        libdeflate_zlib_decompress_ex(inflater, bytes, size, out, n, NULL, NULL);
    libdeflate_free_decompressor(inflater);
    if (result == LIBDEFLATE_SUCCESS) return LOB_OK;
    return LOB_FAIL(r, LOB_EDATA,
                    "damaged: its compressed voxels do not inflate to what its header says");
}

/* All numbers of a compressed block, malloc'ed. */
static lob_status inflate_block(unsigned char **block, size_t n, const unsigned char *bytes,
                                size_t size, const lob_reading *r)
{
    *block = lob_voxel_memory((int64_t)n);
    if (!*block) return LOB_FAIL(r, LOB_ENOMEM, "no memory for its voxels");
    const double start_s = lob_clock_s();
    lob_gzip_rest rest = {0};
    const lob_status st = lob_is_gzip(bytes, size)
                              ? lob_gunzip(*block, n, &rest, bytes, size, r->path, r->error)
                              : inflate_zlib(*block, n, bytes, size, r);
    if (r->info) r->info->inflate_s += lob_clock_s() - start_s;
    if (st == LOB_OK && rest.surplus + rest.trailing > 0)
        lob_warn(r->info, "%s: %llu bytes after the voxels are not read", r->path,
                 (unsigned long long)(rest.surplus + rest.trailing));
    if (st != LOB_OK) {
        free(*block);
        *block = NULL;
    }
    return st;
}

/* Could so many bytes hold the block? */
static lob_status check_size(const lob_raw_image *image, int64_t total, size_t size,
                             const lob_reading *r)
{
    if (total < 0) return LOB_FAIL(r, LOB_EDATA, "claims too many voxels");
    if (image->compressed) {
        if (lob_gzip_justifies((uint64_t)total, size)) return LOB_OK;
        return LOB_FAIL(r, LOB_EDATA,
                        "damaged: its header asks for %lld bytes, more than its %zu compressed "
                        "ones can hold",
                        (long long)total, size);
    }
    if ((uint64_t)total > size)
        return LOB_FAIL(r, LOB_EDATA,
                        "cut short: its header asks for %lld bytes of voxels, but there are "
                        "%zu; copy it again from its source",
                        (long long)total, size);
    if ((uint64_t)total < size)
        lob_warn(r->info, "%s: %llu bytes after the voxels are not read", r->path,
                 (unsigned long long)(size - (uint64_t)total));
    return LOB_OK;
}

/* Do all numbers lie in the block as they shall lie in memory? */
static bool lies_so(const lob_raw_image *image)
{
    static const int order[LOB_RAW_AXES] = {LOB_RAW_X, LOB_RAW_Y, LOB_RAW_Z, LOB_RAW_FRAME,
                                            LOB_RAW_CHANNEL};
    int64_t stride = 1;
    for (int i = 0; i < LOB_RAW_AXES; i++) {
        const int64_t side = image->side[order[i]];
        if (side > 1 && image->stride[order[i]] != stride) return false;
        stride *= side;
    }
    return true;
}

/* Rows of one frame of one channel out of the block; returns where the next ones go. */
static unsigned char *gather(unsigned char *to, const unsigned char *block,
                             const lob_raw_image *image)
{
    const size_t bytes = lob_type_of(image->type)->bytes;
    const int64_t *side = image->side, *stride = image->stride;
    for (int64_t z = 0; z < side[LOB_RAW_Z]; z++)
        for (int64_t y = 0; y < side[LOB_RAW_Y]; y++) {
            const int64_t first = z * stride[LOB_RAW_Z] + y * stride[LOB_RAW_Y];
            lob_copy_strided(to, (int64_t)bytes, block + (size_t)first * bytes,
                             stride[LOB_RAW_X] * (int64_t)bytes, side[LOB_RAW_X], bytes);
            to += (size_t)side[LOB_RAW_X] * bytes;
        }
    return to;
}

/* So many frames from the first on, of each channel one after the other. */
static void gather_frames(unsigned char *to, const unsigned char *block, const lob_raw_image *image,
                          int64_t first, int64_t frames)
{
    const size_t bytes = lob_type_of(image->type)->bytes;
    for (int64_t c = 0; c < image->side[LOB_RAW_CHANNEL]; c++)
        for (int64_t f = first; f < first + frames; f++) {
            const int64_t at =
                c * image->stride[LOB_RAW_CHANNEL] + f * image->stride[LOB_RAW_FRAME];
            to = gather(to, block + (size_t)at * bytes, image);
        }
}

/* What the volume is, and which of its frames to read: the first, and how many. */
static lob_status describe(lob_volume *out, int64_t *frames, const lob_raw_image *image,
                           const lob_reading *r)
{
    const lob_read_options *const options = r->options;
    const int64_t *side = image->side;
    const bool all = options->frame == LOB_FRAME_ALL && side[LOB_RAW_FRAME] > 1;
    *frames = all ? side[LOB_RAW_FRAME] : 1;
    if (lob_product(side[LOB_RAW_CHANNEL], *frames, 1, 1) > INT32_MAX)
        return LOB_FAIL(r, LOB_EDATA, "claims too many channels");
    out->type = image->type;
    out->dims = (lob_dims){side[LOB_RAW_X], side[LOB_RAW_Y], side[LOB_RAW_Z]};
    out->channels = (int)side[LOB_RAW_CHANNEL];
    out->frames = side[LOB_RAW_FRAME];
    if (options->header_only) return LOB_OK;
    if (!all) return lob_choose_frame(&out->frame, out->frames, r->path, options, r->error);
    out->channels *= (int)*frames;
    out->frame = LOB_FRAME_ALL;
    return LOB_OK;
}

lob_status lob_raw_read(lob_volume *out, const lob_raw_image *image, const unsigned char *bytes,
                        size_t size, const lob_reading *r)
{
    const int64_t word = (int64_t)lob_type_of(image->type)->bytes;
    const int64_t total = block_bytes_of(image), all = (int64_t)size;
    int64_t frames, skip = image->skip;
    if (skip < 0) skip = total >= 0 && total <= all ? all - total : 0;
    if (skip > all) return LOB_FAIL(r, LOB_EDATA, "ends before the bytes to be skipped do");
    bytes += skip;
    size -= (size_t)skip;
    LOB_TRY(check_size(image, total, size, r));
    LOB_TRY(describe(out, &frames, image, r));
    if (r->options->header_only) return LOB_OK;

    const int64_t wanted = total / image->side[LOB_RAW_FRAME] * frames;
    const bool in_place = image->compressed && wanted == total && lies_so(image);
    const int64_t block_bytes = image->compressed && !in_place ? total : 0;
    LOB_TRY(lob_memory_allows(wanted > INT64_MAX - block_bytes ? -1 : wanted + block_bytes, r));
    unsigned char *block = NULL;
    if (image->compressed) LOB_TRY(inflate_block(&block, (size_t)total, bytes, size, r));
    out->data = in_place ? block : lob_voxel_memory(wanted);
    if (out->data && !in_place) {
        const int64_t first = frames == 1 ? out->frame : 0;
        gather_frames(out->data, block ? block : bytes, image, first, frames);
    }
    if (out->data && image->swapped) lob_swap_words(out->data, (size_t)wanted, (size_t)word);
    if (!in_place) free(block);
    return out->data ? LOB_OK : LOB_FAIL(r, LOB_ENOMEM, "no memory for its voxels");
}

/* ---- headers apart from their voxels ---- */

/* The path of a file in the header's folder, malloc'ed; NULL where there is no memory. */
static char *path_beside(const char *header_path, const char *name)
{
    const size_t folder = (size_t)(lob_name_in_path(header_path) - header_path);
    char *path = calloc(folder + strlen(name) + 1, 1);
    if (!path) return NULL;
    memcpy(path, header_path, folder);
    strcpy(path + folder, name);
    return path;
}

/* Is this the name of a file in the header's own folder? */
static bool is_plain(const char *name)
{
    return *name && lob_name_in_path(name) == name && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

lob_status lob_raw_second_file(char **second, const char *file, bool reading,
                               lob_raw_name_fn *name_of)
{
    lob_input in;
    lob_error ignored;
    *second = NULL;
    if (!reading || lob_input_open(&in, file, &ignored) != LOB_OK) return LOB_OK;
    char *const name = name_of(&in, file);
    lob_input_close(&in);
    const bool apart = name && is_plain(name);
    if (apart) *second = path_beside(file, name);
    free(name);
    return apart && !*second ? LOB_ENOMEM : LOB_OK;
}

lob_status lob_raw_open(lob_input *out, const char *header_path, const char *name, lob_error *error)
{
    *out = (lob_input){0};
    if (!is_plain(name))
        return lob_fail_file(error, LOB_EDATA, header_path,
                             "names '%.200s' as the file of its voxels; only a file in its own "
                             "folder is read",
                             name);
    char *path = path_beside(header_path, name);
    if (!path) return lob_fail_file(error, LOB_ENOMEM, header_path, "no memory");
    lob_error why = {.text = ""};
    lob_status st = lob_input_open(out, path, &why);
    if (st != LOB_OK && strchr(name, '%') && !lob_is_there(path))
        st = lob_fail_file(error, LOB_EDATA, header_path,
                           "names its voxels by '%.200s', a pattern of several files; save the "
                           "volume as one",
                           name);
    else if (st != LOB_OK) {
        char line[LOB_ERROR_LINE];
        lob_fail_file(error, st, header_path, "the file of its voxels: %s",
                      lob_error_line(line, sizeof line, &why));
    }
    free(path);
    return st;
}

bool lob_raw_geometry(lob_geometry *out, const double affine[3][4])
{
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 4; column++)
            if (!(fabs(affine[row][column]) <= LOB_RAW_MOST_MM)) return false;
    lob_geometry made;
    if (!lob_geometry_of_affine(&made, affine)) return false;
    for (int a = 0; a < 3; a++)
        if (!(made.spacing_mm[a] >= 1 / LOB_RAW_MOST_MM)) return false;
    *out = made;
    return true;
}
