/* NIfTI headers as bytes in memory: their fields, their check, and the making of new ones. */
#ifndef LOB_NIFTI_HEADER_H
#define LOB_NIFTI_HEADER_H

#include "io/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOB_NIFTI_MAX_BYTES = 540, /* bytes of the longer header */
    LOB_NIFTI1_BYTES = 348,
    LOB_NIFTI2_BYTES = 540,
    LOB_NIFTI_EXTENDER = 4 /* bytes after the header that say whether extensions follow */
};

/* name; kind, offset in NIfTI-1; kind, offset in NIfTI-2; numbers or characters (magic: 4 in -1) */
#define LOB_NIFTI_FIELD_LIST(X)              \
    X(sizeof_hdr, I32, 0, I32, 0, 1)         \
    X(data_type, TEXT, 4, NONE, 0, 10)       \
    X(db_name, TEXT, 14, NONE, 0, 18)        \
    X(extents, I32, 32, NONE, 0, 1)          \
    X(session_error, I16, 36, NONE, 0, 1)    \
    X(regular, TEXT, 38, NONE, 0, 1)         \
    X(dim_info, U8, 39, U8, 524, 1)          \
    X(dim, I16, 40, I64, 16, 8)              \
    X(intent_p1, F32, 56, F64, 80, 1)        \
    X(intent_p2, F32, 60, F64, 88, 1)        \
    X(intent_p3, F32, 64, F64, 96, 1)        \
    X(intent_code, I16, 68, I32, 504, 1)     \
    X(datatype, I16, 70, I16, 12, 1)         \
    X(bitpix, I16, 72, I16, 14, 1)           \
    X(slice_start, I16, 74, I64, 224, 1)     \
    X(pixdim, F32, 76, F64, 104, 8)          \
    X(vox_offset, F32, 108, I64, 168, 1)     \
    X(scl_slope, F32, 112, F64, 176, 1)      \
    X(scl_inter, F32, 116, F64, 184, 1)      \
    X(slice_end, I16, 120, I64, 232, 1)      \
    X(slice_code, U8, 122, I32, 496, 1)      \
    X(xyzt_units, U8, 123, I32, 500, 1)      \
    X(cal_max, F32, 124, F64, 192, 1)        \
    X(cal_min, F32, 128, F64, 200, 1)        \
    X(slice_duration, F32, 132, F64, 208, 1) \
    X(toffset, F32, 136, F64, 216, 1)        \
    X(glmax, I32, 140, NONE, 0, 1)           \
    X(glmin, I32, 144, NONE, 0, 1)           \
    X(descrip, TEXT, 148, TEXT, 240, 80)     \
    X(aux_file, TEXT, 228, TEXT, 320, 24)    \
    X(qform_code, I16, 252, I32, 344, 1)     \
    X(sform_code, I16, 254, I32, 348, 1)     \
    X(quatern_b, F32, 256, F64, 352, 1)      \
    X(quatern_c, F32, 260, F64, 360, 1)      \
    X(quatern_d, F32, 264, F64, 368, 1)      \
    X(qoffset_x, F32, 268, F64, 376, 1)      \
    X(qoffset_y, F32, 272, F64, 384, 1)      \
    X(qoffset_z, F32, 276, F64, 392, 1)      \
    X(srow_x, F32, 280, F64, 400, 4)         \
    X(srow_y, F32, 296, F64, 432, 4)         \
    X(srow_z, F32, 312, F64, 464, 4)         \
    X(intent_name, TEXT, 328, TEXT, 508, 16) \
    X(magic, TEXT, 344, TEXT, 4, 8)          \
    X(unused_str, NONE, 0, TEXT, 525, 15)

typedef enum {
#define LOB_NIFTI_FIELD_ENUM(name, kind1, at1, kind2, at2, count) LOB_NIFTI_##name,
    LOB_NIFTI_FIELD_LIST(LOB_NIFTI_FIELD_ENUM)
#undef LOB_NIFTI_FIELD_ENUM
        LOB_NIFTI_FIELDS
} lob_nifti_field;

/* Where a field lies in a header of this version (1 or 2); bytes is 0 when the version lacks it. */
typedef struct {
    const char *name;
    size_t offset, bytes;
} lob_nifti_place;
lob_nifti_place lob_nifti_place_of(lob_nifti_field field, int version);

/* Version of a header in host byte order, 1 or 2, by its sizeof_hdr. */
int lob_nifti_version(const unsigned char *header);

/*
 * One number of a field, of a header in host byte order. Whole fields read as real, real fields
 * read as int must hold a whole number within 64 bits. Fields that the version lacks read as 0 and
 * ignore what is put; numbers outside a field's range are put as its nearest.
 */
int64_t lob_nifti_int(const unsigned char *header, lob_nifti_field field, int index);
double lob_nifti_real(const unsigned char *header, lob_nifti_field field, int index);
void lob_nifti_put_int(unsigned char *header, lob_nifti_field field, int index, int64_t value);
void lob_nifti_put_real(unsigned char *header, lob_nifti_field field, int index, double value);
void lob_nifti_put_text(unsigned char *header, lob_nifti_field field, const char *text);

/* Turn every number of a header round, between the host's byte order and the other. */
void lob_nifti_swap(unsigned char *header, int version);

/* A NIfTI-1 header as NIfTI-2, all but magic; to has LOB_NIFTI2_BYTES and does not overlap from. */
void lob_nifti_widen(unsigned char *to, const unsigned char *from);

/* Hand over every field as text, in the header's order. Returns false where it is no header. */
bool lob_nifti_list(const lob_header *header, lob_field_fn *field, void *user);

/* How a NIfTI datatype is stored and what it becomes in memory. */
typedef struct {
    int code;      /* NIfTI's datatype */
    lob_type type; /* LOB_TYPES: not read */
    int channels;  /* planes that one stored voxel gives */
    size_t bytes;  /* of a stored voxel */
    size_t word;   /* bytes that are swapped together */
    const char *name;
} lob_nifti_type;

/* The row of a datatype code; NULL: no such code. */
const lob_nifti_type *lob_nifti_type_of(int64_t code);

/* The row that voxels of this type are written as. */
const lob_nifti_type *lob_nifti_type_for(lob_type type, int interleaved_channels);

/* A header that has been checked: every number below is safe to use. */
typedef struct {
    unsigned char bytes[LOB_NIFTI_MAX_BYTES]; /* host byte order */
    size_t size;
    int version;
    bool swapped; /* the file's byte order is not the host's */
    bool pair;    /* the voxels are in a file of their own */
    const lob_nifti_type *type;
    lob_dims dims;
    int64_t frames, vectors; /* dim[4], dim[5] */
    int64_t frame_bytes;     /* stored, of one frame of one vector component */
    int64_t total_bytes;     /* stored, of all voxels */
    uint64_t vox_offset;     /* in the file with the voxels */
    double slope, inter;
} lob_nifti;

/* Do these first bytes of a file look like a NIfTI or ANALYZE header? */
bool lob_nifti_looks(const unsigned char *bytes, size_t n);

/*
 * Check a header and take it apart. Reads nothing but the n bytes, uses no library and asks for no
 * memory.
 *
 *   h      out  its type->type is LOB_TYPES where such voxels are not read; unspecified on failure
 *   bytes  in   the first n bytes of the file, inflated; any n
 *   r      in   its path and error, for messages, and info, for warnings
 *
 * Returns LOB_OK or LOB_EDATA (not NIfTI, damaged, or of a kind that is refused).
 */
lob_status lob_nifti_parse(lob_nifti *h, const unsigned char *bytes, size_t n,
                           const lob_reading *r);

/*
 * Check what follows the header, up to the voxels or the end of the header file, and put the size
 * and code words of its extensions into host byte order.
 *
 *   bytes  in/out  n bytes, from the extender on
 *
 * What does not parse is left alone, with a warning: the bytes are copied, never acted on.
 */
void lob_nifti_order_extensions(unsigned char *bytes, size_t n, bool swapped, const lob_reading *r);

/*
 * Geometry of a checked header in millimetres: the sform where its code is above 0, else the qform
 * likewise, else the voxel sizes; the next one, with a warning, when one is not usable.
 */
void lob_nifti_geometry(lob_geometry *out, const lob_nifti *header, const lob_reading *r);

/* Seconds from one frame to the next; 0 where the header does not say. */
double lob_nifti_frame_step_s(const lob_nifti *header);

/* What a new header is to say. */
typedef struct {
    const lob_volume *volume; /* data may be NULL unless labels */
    bool labels, pair;
    int64_t largest_label;
    size_t extension_bytes; /* after the extender: a multiple of 16 */
} lob_nifti_plan;

/*
 * Make the header of an output: the volume's carried one with the changes of io/nifti/nifti.h, or a
 * new one.
 *
 *   header  out  up to LOB_NIFTI_MAX_BYTES bytes, host byte order
 *   type    out  how the voxels are stored
 *
 * Returns the header's size, LOB_NIFTI1_BYTES or LOB_NIFTI2_BYTES.
 */
size_t lob_nifti_make(unsigned char header[LOB_NIFTI_MAX_BYTES], const lob_nifti_type **type,
                      const lob_nifti_plan *plan);

/* Where a volume lies, into the transforms and voxel sizes of a header in host byte order. */
void lob_nifti_put_geometry(unsigned char *header, const lob_volume *volume);

/*
 * Header, extender and extensions of an output, malloc'ed; NULL when there is no memory.
 *
 *   largest  in  of labels; see lob_nifti_largest
 *   pair     in  the voxels go to a file of their own
 */
unsigned char *lob_nifti_make_head(size_t *bytes, const lob_nifti_type **type,
                                   const lob_volume *volume, int64_t largest, bool pair,
                                   const lob_write_options *options);

/* The largest of labels, at most 2^53. Returns LOB_OK, or
 * LOB_EDATA where voxels are no labels. */
lob_status lob_nifti_largest(int64_t *largest, const lob_volume *v, int threads, const char *path,
                             lob_error *error);

/* The format's name, lob_header.format of the headers that these functions understand. */
extern const char lob_nifti_name[];

#endif
