/* NIfTI files made in memory, of any version, byte order and voxel type, for tests. */
#ifndef LOB_NIFTI_MADE_H
#define LOB_NIFTI_MADE_H

#include "io/nifti/nifti_header.h"
#include "tests/unit/io_scratch.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_MAX = 1 << 16 };

/* A file's parts before they are put together, all in host byte order. */
typedef struct {
    int version;
    bool swapped, pair;
    unsigned char header[LOB_NIFTI_MAX_BYTES];
    unsigned char extensions[512]; /* from the extender on */
    size_t extension_bytes;        /* the extender's 4 included */
    unsigned char voxels[16384];
    size_t voxel_bytes;
} made;

typedef struct {
    unsigned char bytes[MADE_MAX];
    size_t size;
} image_file;

static inline size_t made_header_bytes(const made *m)
{
    return m->version == 2 ? LOB_NIFTI2_BYTES : LOB_NIFTI1_BYTES;
}

/* The value that voxel i of a test volume has: small, and whole unless the type is real. */
static inline double made_value(const lob_nifti_type *type, int64_t i)
{
    const double whole = (double)(i * 5 % 101);
    if (type->channels > 1) return whole;
    const lob_type_info *info = lob_type_of(type->type);
    return info->lowest < 0 ? (info->is_integer ? whole - 50 : (whole - 50) / 8) : whole;
}

/* Store a value as an x87 extended number. */
static inline void made_extended(unsigned char *to, double value)
{
    int exponent = 0;
    const double fraction = frexp(fabs(value), &exponent); /* in [0.5, 1) */
    const uint64_t mantissa = (uint64_t)ldexp(fraction, 64);
    const int biased = value == 0 ? 0 : exponent - 1 + 16383;
    memset(to, 0, 16);
    for (int b = 0; b < 8; b++) to[b] = (unsigned char)(mantissa >> (8 * b));
    to[8] = (unsigned char)biased;
    to[9] = (unsigned char)(biased >> 8 | (value < 0 ? 0x80 : 0));
}

/* Store voxel i of a type in host byte order. */
static inline void made_store(unsigned char *to, const lob_nifti_type *type, double value)
{
    const lob_nifti_type *t = type;
    if (t->bytes == 16) made_extended(to, value);
#define STORE(name, ctype, text, integer, lowest, highest) \
    if (t->type == name && t->bytes == sizeof(ctype)) {    \
        const ctype v = (ctype)value;                      \
        memcpy(to, &v, sizeof v);                          \
    }
    LOB_TYPE_LIST(STORE)
#undef STORE
}

/* A sound header of sides nx, ny, nz, frames and vectors, with both forms set, and its voxels. */
static inline made make(int version, bool swapped, int code, int nx, int ny, int nz, int frames,
                        int vectors)
{
    made m = {.version = version, .swapped = swapped, .extension_bytes = 4};
    const lob_nifti_type *type = lob_nifti_type_of(code);
    const int32_t size = (int32_t)made_header_bytes(&m);
    const int side[8] = {vectors > 1 ? 5 : frames > 1 ? 4 : 3, nx, ny, nz, frames, vectors, 1, 1};
    unsigned char *h = m.header;
    memcpy(h, &size, sizeof size);
    for (int i = 0; i < 8; i++) lob_nifti_put_int(h, LOB_NIFTI_dim, i, side[i]);
    for (int i = 0; i < 8; i++) lob_nifti_put_real(h, LOB_NIFTI_pixdim, i, i ? 1 + 0.5 * i : 1);
    lob_nifti_put_int(h, LOB_NIFTI_datatype, 0, code);
    lob_nifti_put_int(h, LOB_NIFTI_bitpix, 0, (int64_t)(8 * type->bytes));
    lob_nifti_put_int(h, LOB_NIFTI_xyzt_units, 0, 2 | 8);
    lob_nifti_put_int(h, LOB_NIFTI_qform_code, 0, 1);
    lob_nifti_put_int(h, LOB_NIFTI_sform_code, 0, 4);
    for (int i = 0; i < 3; i++) {
        const lob_nifti_field row = (lob_nifti_field)(LOB_NIFTI_srow_x + i);
        lob_nifti_put_real(h, row, i, 1.5 + 0.5 * i);
        lob_nifti_put_real(h, row, 3, -10.25 * (i + 1));
        lob_nifti_put_real(h, (lob_nifti_field)(LOB_NIFTI_qoffset_x + i), 0, -10.25 * (i + 1));
    }
    lob_nifti_put_text(h, LOB_NIFTI_descrip, "made for a test");
    lob_nifti_put_text(h, LOB_NIFTI_aux_file, "none");
    lob_nifti_put_real(h, LOB_NIFTI_cal_max, 0, 77.5);
    lob_nifti_put_real(h, LOB_NIFTI_toffset, 0, 0.125);
    lob_nifti_put_int(h, LOB_NIFTI_slice_code, 0, 3);
    lob_nifti_put_int(h, LOB_NIFTI_dim_info, 0, 57);
    const int64_t n = (int64_t)nx * ny * nz * frames * vectors * type->channels;
    const size_t bytes = type->channels > 1 ? 1 : type->bytes;
    for (int64_t i = 0; i < n; i++)
        if (type->channels > 1)
            m.voxels[i] = (unsigned char)made_value(type, i);
        else
            made_store(m.voxels + (size_t)i * bytes, type, made_value(type, i));
    m.voxel_bytes = (size_t)n * bytes;
    return m;
}

/* Add an extension of this size (at least 8) and code, its content counting up. */
static inline void made_extend(made *m, int32_t size, int32_t code)
{
    unsigned char *at = m->extensions + m->extension_bytes;
    m->extensions[0] = 1;
    memcpy(at, &size, sizeof size);
    memcpy(at + 4, &code, sizeof code);
    for (int i = 8; i < size; i++) at[i] = (unsigned char)i;
    m->extension_bytes += (size_t)size;
}

static inline void turn(unsigned char *bytes, size_t n, size_t word)
{
    for (size_t i = 0; i + word <= n; i += word)
        for (size_t b = 0; b < word / 2; b++) {
            const unsigned char byte = bytes[i + b];
            bytes[i + b] = bytes[i + word - 1 - b];
            bytes[i + word - 1 - b] = byte;
        }
}

/* Set magic, and vox_offset where it is still 0. */
static inline void made_finish(made *m)
{
    const size_t end = m->pair ? 0 : made_header_bytes(m) + m->extension_bytes;
    char magic[] = "n+1\0\r\n\032\n";
    if (m->pair) magic[1] = 'i';
    if (m->version == 2) magic[2] = '2';
    const lob_nifti_place place = lob_nifti_place_of(LOB_NIFTI_magic, m->version);
    memcpy(m->header + place.offset, magic, place.bytes);
    if (lob_nifti_real(m->header, LOB_NIFTI_vox_offset, 0) == 0)
        lob_nifti_put_int(m->header, LOB_NIFTI_vox_offset, 0, (int64_t)end);
}

/* The header's file: everything in a single file, header and extensions in a pair. */
static inline void made_header_file(image_file *out, const made *m)
{
    const size_t size = made_header_bytes(m);
    memcpy(out->bytes, m->header, size);
    memcpy(out->bytes + size, m->extensions, m->extension_bytes);
    if (m->swapped) {
        size_t at = size + 4;
        lob_nifti_swap(out->bytes, m->version);
        while (m->extensions[0] && at + 8 <= size + m->extension_bytes) {
            int32_t step;
            memcpy(&step, out->bytes + at, sizeof step);
            turn(out->bytes + at, 8, 4);
            if (step < 8) break;
            at += (size_t)step;
        }
    }
    out->size = size + m->extension_bytes;
}

static inline void made_voxels(image_file *out, const made *m)
{
    const lob_nifti_type *type = lob_nifti_type_of(lob_nifti_int(m->header, LOB_NIFTI_datatype, 0));
    memcpy(out->bytes + out->size, m->voxels, m->voxel_bytes);
    if (m->swapped && type) turn(out->bytes + out->size, m->voxel_bytes, type->word);
    out->size += m->voxel_bytes;
}

/* The whole of a single file. */
static inline void made_file(image_file *out, made *m)
{
    made_finish(m);
    made_header_file(out, m);
    made_voxels(out, m);
}

static inline void put_file(const char *path, const image_file *f, bool gz)
{
    (gz ? spill_gz : spill)(path, f->bytes, f->size);
}

/* Write the whole of a single file. */
static inline void put_made(const char *path, made *m, bool gz)
{
    static image_file file;
    made_file(&file, m);
    put_file(path, &file, gz);
}

#endif
