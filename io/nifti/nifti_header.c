/* The fields of NIfTI headers as one table: where they lie, reading, putting, listing; voxel types.
 */
#include "io/nifti/nifti_header.h"

#include "io/byte_order.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <nifti1.h>
#include <nifti2.h>
#include <stdio.h>
#include <string.h>

const char lob_nifti_name[] = "NIfTI";

typedef enum { NONE, U8, I16, I32, I64, F32, F64, TEXT } kind;

static const size_t kind_bytes[] = {
    [NONE] = 0, [U8] = 1, [I16] = 2, [I32] = 4, [I64] = 8, [F32] = 4, [F64] = 8, [TEXT] = 1};

typedef struct {
    const char *name;
    kind kind1; /* in NIfTI-1 */
    size_t offset1;
    kind kind2; /* in NIfTI-2 */
    size_t offset2;
    size_t count;
} field_row;

static const field_row rows[LOB_NIFTI_FIELDS] = {
#define FIELD_ROW(name, kind1, at1, kind2, at2, count) \
    [LOB_NIFTI_##name] = {#name, kind1, at1, kind2, at2, count},
    LOB_NIFTI_FIELD_LIST(FIELD_ROW)
#undef FIELD_ROW
};

/* The format's own headers agree with the table. */
#define CHECK_NONE(header, name, at)
#define CHECK_SOME(header, name, at) \
    _Static_assert(offsetof(struct header, name) == (at), #header "." #name);
#define CHECK_U8   CHECK_SOME
#define CHECK_I16  CHECK_SOME
#define CHECK_I32  CHECK_SOME
#define CHECK_I64  CHECK_SOME
#define CHECK_F32  CHECK_SOME
#define CHECK_F64  CHECK_SOME
#define CHECK_TEXT CHECK_SOME
#define CHECK_FIELD(name, kind1, at1, kind2, at2, count) \
    CHECK_##kind1(nifti_1_header, name, at1) CHECK_##kind2(nifti_2_header, name, at2)
LOB_NIFTI_FIELD_LIST(CHECK_FIELD)
_Static_assert(sizeof(struct nifti_1_header) == LOB_NIFTI1_BYTES, "NIfTI-1 header");
_Static_assert(sizeof(struct nifti_2_header) == LOB_NIFTI2_BYTES, "NIfTI-2 header");

static kind kind_in(int field, int version)
{
    return version == 2 ? rows[field].kind2 : rows[field].kind1;
}

static size_t offset_in(int field, int version)
{
    return version == 2 ? rows[field].offset2 : rows[field].offset1;
}

int lob_nifti_version(const unsigned char *header)
{
    int32_t size;
    memcpy(&size, header, sizeof size);
    return size == LOB_NIFTI2_BYTES ? 2 : 1;
}

lob_nifti_place lob_nifti_place_of(lob_nifti_field field, int version)
{
    const field_row *row = &rows[field];
    const size_t end = version == 2 ? LOB_NIFTI2_BYTES : LOB_NIFTI1_BYTES;
    const size_t offset = offset_in(field, version);
    size_t bytes = row->count * kind_bytes[kind_in(field, version)];
    if (offset + bytes > end) bytes = end - offset; /* magic, shorter in NIfTI-1 */
    return (lob_nifti_place){row->name, offset, bytes};
}

/* One number of a header: its kind and where it is; kind NONE when the version lacks the field. */
typedef struct {
    kind kind;
    size_t offset;
} number;

static number number_of(const unsigned char *header, lob_nifti_field field, int index)
{
    assert(index >= 0 && (size_t)index < rows[field].count);
    const int version = lob_nifti_version(header);
    const kind k = kind_in(field, version);
    return (number){k, offset_in(field, version) + (size_t)index * kind_bytes[k]};
}

int64_t lob_nifti_int(const unsigned char *header, lob_nifti_field field, int index)
{
    const number at = number_of(header, field, index);
    const unsigned char *from = header + at.offset;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    switch (at.kind) {
    case U8:
        return *from;
    case I16:
        return memcpy(&i16, from, sizeof i16), i16;
    case I32:
        return memcpy(&i32, from, sizeof i32), i32;
    case I64:
        return memcpy(&i64, from, sizeof i64), i64;
    case F32:
    case F64: {
        const double value = lob_nifti_real(header, field, index);
        return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : 0;
    }
    case NONE:
    case TEXT:
        break;
    }
    return 0;
}

double lob_nifti_real(const unsigned char *header, lob_nifti_field field, int index)
{
    const number at = number_of(header, field, index);
    float f32;
    double f64;
    switch (at.kind) {
    case F32:
        return memcpy(&f32, header + at.offset, sizeof f32), (double)f32;
    case F64:
        return memcpy(&f64, header + at.offset, sizeof f64), f64;
    default:
        return (double)lob_nifti_int(header, field, index);
    }
}

static int64_t within(int64_t value, int64_t lowest, int64_t highest)
{
    return value < lowest ? lowest : value > highest ? highest : value;
}

void lob_nifti_put_int(unsigned char *header, lob_nifti_field field, int index, int64_t value)
{
    const number at = number_of(header, field, index);
    unsigned char *to = header + at.offset;
    const uint8_t u8 = (uint8_t)within(value, 0, UINT8_MAX);
    const int16_t i16 = (int16_t)within(value, INT16_MIN, INT16_MAX);
    const int32_t i32 = (int32_t)within(value, INT32_MIN, INT32_MAX);
    switch (at.kind) {
    case U8:
        *to = u8;
        break;
    case I16:
        memcpy(to, &i16, sizeof i16);
        break;
    case I32:
        memcpy(to, &i32, sizeof i32);
        break;
    case I64:
        memcpy(to, &value, sizeof value);
        break;
    case F32:
    case F64:
        lob_nifti_put_real(header, field, index, (double)value);
        break;
    case NONE:
    case TEXT:
        break;
    }
}

void lob_nifti_put_real(unsigned char *header, lob_nifti_field field, int index, double value)
{
    const number at = number_of(header, field, index);
    const float f32 = (float)value;
    switch (at.kind) {
    case F32:
        memcpy(header + at.offset, &f32, sizeof f32);
        break;
    case F64:
        memcpy(header + at.offset, &value, sizeof value);
        break;
    default:
        if (value >= -0x1p63 && value < 0x1p63)
            lob_nifti_put_int(header, field, index, (int64_t)nearbyint(value));
    }
}

void lob_nifti_put_text(unsigned char *header, lob_nifti_field field, const char *text)
{
    const lob_nifti_place place = lob_nifti_place_of(field, lob_nifti_version(header));
    const size_t length = strlen(text);
    memset(header + place.offset, 0, place.bytes);
    memcpy(header + place.offset, text, length < place.bytes ? length : place.bytes);
}

void lob_nifti_swap(unsigned char *header, int version)
{
    for (int f = 0; f < LOB_NIFTI_FIELDS; f++) {
        const size_t word = kind_bytes[kind_in(f, version)];
        lob_swap_words(header + offset_in(f, version), rows[f].count * word, word);
    }
}

void lob_nifti_widen(unsigned char *to, const unsigned char *from)
{
    const int32_t size = LOB_NIFTI2_BYTES;
    memset(to, 0, LOB_NIFTI2_BYTES);
    memcpy(to, &size, sizeof size);
    for (lob_nifti_field f = LOB_NIFTI_sizeof_hdr + 1; f < LOB_NIFTI_FIELDS; f++) {
        if (rows[f].kind1 == NONE || rows[f].kind2 == NONE) continue;
        const lob_nifti_place narrow = lob_nifti_place_of(f, 1), wide = lob_nifti_place_of(f, 2);
        if (rows[f].kind1 == TEXT) {
            memcpy(to + wide.offset, from + narrow.offset, narrow.bytes);
            continue;
        }
        const bool real = rows[f].kind1 == F32;
        for (int i = 0; i < (int)rows[f].count; i++)
            if (real)
                lob_nifti_put_real(to, f, i, lob_nifti_real(from, f, i));
            else
                lob_nifti_put_int(to, f, i, lob_nifti_int(from, f, i));
    }
}

/* ---- listing ---- */

/* The value of a field as text. The longest, 8 numbers of 24 characters, fits in 256. */
static void text_of(char out[256], const unsigned char *header, lob_nifti_field field)
{
    const int version = lob_nifti_version(header);
    const kind k = kind_in(field, version);
    const lob_nifti_place place = lob_nifti_place_of(field, version);
    size_t used = 0;
    out[0] = '\0';
    if (k == TEXT) {
        for (; used < place.bytes && header[place.offset + used]; used++)
            out[used] =
                isprint(header[place.offset + used]) ? (char)header[place.offset + used] : '?';
        out[used] = '\0';
        return;
    }
    for (int i = 0; i < (int)rows[field].count; i++) {
        const char *gap = i ? " " : "";
        const size_t capacity = 256 - used;
        int wrote;
        if (k == F32 || k == F64)
            wrote = snprintf(out + used, capacity, "%s%.*g", gap, k == F32 ? 9 : 17,
                             lob_nifti_real(header, field, i));
        else
            wrote = snprintf(out + used, capacity, "%s%lld", gap,
                             (long long)lob_nifti_int(header, field, i));
        used += wrote > 0 && (size_t)wrote < capacity ? (size_t)wrote : 0;
    }
}

bool lob_nifti_list(const lob_header *header, lob_field_fn *field, void *user)
{
    if (header->size != LOB_NIFTI1_BYTES && header->size != LOB_NIFTI2_BYTES) return false;
    const int version = lob_nifti_version(header->bytes);
    size_t from = 0;
    for (;;) { /* the fields lie in another order in each version: always take the next one */
        int next = -1;
        for (int f = 0; f < LOB_NIFTI_FIELDS; f++) {
            const lob_nifti_place place = lob_nifti_place_of((lob_nifti_field)f, version);
            if (place.bytes == 0 || place.offset < from) continue;
            if (next < 0 || place.offset < offset_in(next, version)) next = f;
        }
        if (next < 0) break;
        char value[256];
        text_of(value, header->bytes, (lob_nifti_field)next);
        field(user, rows[next].name, value);
        from = offset_in(next, version) + 1;
    }
    return true;
}

/* ---- voxel types ---- */

static const lob_nifti_type types[] = {
    {DT_UINT8,      LOB_U8,    1, 1,  1,  "uint8"     },
    {DT_INT16,      LOB_I16,   1, 2,  2,  "int16"     },
    {DT_INT32,      LOB_I32,   1, 4,  4,  "int32"     },
    {DT_FLOAT32,    LOB_F32,   1, 4,  4,  "float32"   },
    {DT_FLOAT64,    LOB_F64,   1, 8,  8,  "float64"   },
    {DT_RGB24,      LOB_U8,    3, 3,  1,  "RGB24"     },
    {DT_INT8,       LOB_I8,    1, 1,  1,  "int8"      },
    {DT_UINT16,     LOB_U16,   1, 2,  2,  "uint16"    },
    {DT_UINT32,     LOB_U32,   1, 4,  4,  "uint32"    },
    {DT_INT64,      LOB_I64,   1, 8,  8,  "int64"     },
    {DT_UINT64,     LOB_U64,   1, 8,  8,  "uint64"    },
    {DT_FLOAT128,   LOB_F64,   1, 16, 16, "float128"  },
    {DT_RGBA32,     LOB_U8,    4, 4,  1,  "RGBA32"    },
    {DT_COMPLEX64,  LOB_TYPES, 1, 8,  4,  "complex64" },
    {DT_COMPLEX128, LOB_TYPES, 1, 16, 8,  "complex128"},
    {DT_COMPLEX256, LOB_TYPES, 1, 32, 16, "complex256"},
};

const lob_nifti_type *lob_nifti_type_of(int64_t code)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].code == code) return &types[i];
    return NULL;
}

const lob_nifti_type *lob_nifti_type_for(lob_type type, int interleaved_channels)
{
    const size_t bytes = lob_type_of(type)->bytes * (size_t)interleaved_channels;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type && types[i].channels == interleaved_channels &&
            types[i].bytes == bytes)
            return &types[i];
    return NULL;
}
