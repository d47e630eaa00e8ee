/* The few elements of a DICOM file that tell which series it belongs to. (PS3.5, 7.1 and 7.5) */
#include "io/dicom/dicom_header.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PREAMBLE = 128,
    MAX_DEPTH = 16, /* of sequences in sequences */
    UNDEFINED = -1
};

#define TAG(group, element) ((uint32_t)(group) << 16 | (element))

/* What is left of the bytes, and how they are to be read. */
typedef struct {
    const unsigned char *at, *end;
    bool explicit_vr, big;
} reader;

typedef struct {
    uint32_t tag;
    int64_t length; /* of the value, which fits in what is left; or UNDEFINED */
} element;

static size_t left_of(const reader *r)
{
    return (size_t)(r->end - r->at);
}

static uint32_t number_at(const unsigned char *b, int bytes, bool big)
{
    uint32_t number = 0;
    for (int i = 0; i < bytes; i++) number |= (uint32_t)b[big ? bytes - 1 - i : i] << (8 * i);
    return number;
}

/* VRs whose length has four bytes, after two that are reserved. */
static bool is_long(const unsigned char *vr)
{
    static const char names[][3] = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                    "SV", "UC", "UN", "UR", "UT", "UV"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (memcmp(vr, names[i], 2) == 0) return true;
    return false;
}

static bool is_letter(unsigned char c)
{
    return c >= 'A' && c <= 'Z';
}

/* The head of the next element; the reader then stands at its value. */
static bool next(reader *r, element *e)
{
    if (left_of(r) < 8) return false;
    const unsigned char *const b = r->at;
    e->tag = TAG(number_at(b, 2, r->big), number_at(b + 2, 2, r->big));
    const bool has_vr = r->explicit_vr && e->tag >> 16 != 0xFFFE;
    if (has_vr && !(is_letter(b[4]) && is_letter(b[5]))) return false;
    uint32_t length;
    if (has_vr && is_long(b + 4)) {
        if (left_of(r) < 12) return false;
        length = number_at(b + 8, 4, r->big);
        r->at += 12;
    } else {
        length = has_vr ? number_at(b + 6, 2, r->big) : number_at(b + 4, 4, r->big);
        r->at += 8;
    }
    e->length = length == UINT32_MAX ? UNDEFINED : (int64_t)length;
    return e->length <= (int64_t)left_of(r);
}

/*
 * Skip a value of undefined length: a sequence up to its delimiter. Its items may have such a
 * length too, and in them elements. What is open is counted, so that nothing calls itself.
 */
static bool skip_undefined(reader *r)
{
    element e;
    bool is_item[MAX_DEPTH] = {false}; /* what is open, from the outside; else a sequence */
    for (int depth = 1; depth > 0;) {
        if (!next(r, &e)) return false;
        const bool ends = e.tag == TAG(0xFFFE, 0xE00D) || e.tag == TAG(0xFFFE, 0xE0DD);
        if (ends) {
            if (is_item[depth - 1] != (e.tag == TAG(0xFFFE, 0xE00D))) return false;
            depth--;
        } else if (e.length != UNDEFINED) {
            r->at += e.length;
        } else if (depth == MAX_DEPTH) {
            return false;
        } else {
            is_item[depth++] = e.tag == TAG(0xFFFE, 0xE000);
        }
    }
    return true;
}

static void take_text(char *out, size_t size, const reader *r, const element *e)
{
    size_t n = (size_t)e->length;
    const unsigned char *from = r->at;
    while (n > 0 && *from == ' ') from++, n--;
    while (n > 0 && (from[n - 1] == ' ' || from[n - 1] == '\0')) n--;
    if (n >= size) n = size - 1;
    memcpy(out, from, n);
    out[n] = '\0';
}

static int64_t whole_number(const reader *r, const element *e, int64_t otherwise)
{
    char text[16], *end;
    take_text(text, sizeof text, r, e);
    const long long number = strtoll(text, &end, 10);
    return end != text && !*end && number >= 0 && number <= INT32_MAX ? number : otherwise;
}

static int short_number(const reader *r, const element *e)
{
    return e->length >= 2 ? (int)number_at(r->at, 2, r->big) : 0;
}

static void take_class(lob_dicom_header *out, const reader *r, const element *e)
{
    char uid[65];
    take_text(uid, sizeof uid, r, e);
    out->is_segmentation = strcmp(uid, "1.2.840.10008.5.1.4.1.1.66.4") == 0 ||
                           strcmp(uid, "1.2.840.10008.5.1.4.1.1.66.7") == 0;
}

/* Points or directions in LPS, as RAS. */
static void take_places(double *ras, int count, const reader *r, const element *e)
{
    char text[128], *at = text;
    take_text(text, sizeof text, r, e);
    for (int i = 0; i < count; i++) {
        const double place = strtod(at, &at);
        if (*at == '\\') at++;
        if (fabs(place) < 1e9) ras[i] = i % 3 < 2 ? -place : place;
    }
}

static void take(lob_dicom_header *out, const reader *r, const element *e)
{
    switch (e->tag) {
    case TAG(0x0008, 0x0016):
        take_class(out, r, e);
        break;
    case TAG(0x0008, 0x0020):
        take_text(out->date, sizeof out->date, r, e);
        break;
    case TAG(0x0008, 0x0060):
        take_text(out->modality, sizeof out->modality, r, e);
        break;
    case TAG(0x0008, 0x103E):
        take_text(out->description, sizeof out->description, r, e);
        break;
    case TAG(0x0020, 0x000E):
        take_text(out->series, sizeof out->series, r, e);
        break;
    case TAG(0x0020, 0x0011):
        out->number = whole_number(r, e, -1);
        break;
    case TAG(0x0020, 0x0032):
        take_places(out->plane.corner, 3, r, e);
        break;
    case TAG(0x0020, 0x0037):
        take_places(out->plane.axes, 6, r, e);
        break;
    case TAG(0x0028, 0x0008):
        out->frames = whole_number(r, e, 1);
        break;
    case TAG(0x0028, 0x0010):
        out->plane.rows = short_number(r, e);
        break;
    case TAG(0x0028, 0x0011):
        out->plane.columns = short_number(r, e);
        break;
    default:
        break;
    }
}

/* Read the file's own elements, which say how the others are written. */
static bool read_own(lob_dicom_header *out, reader *r)
{
    element e;
    char class[65] = "", syntax[65] = "";
    reader after = *r;
    while (next(r, &e)) {
        if (e.tag >> 16 != 0x0002) break;
        if (e.length == UNDEFINED) return false;
        if (e.tag == TAG(0x0002, 0x0002)) take_text(class, sizeof class, r, &e);
        if (e.tag == TAG(0x0002, 0x0010)) take_text(syntax, sizeof syntax, r, &e);
        r->at += e.length;
        after = *r;
    }
    *r = after;
    if (strcmp(syntax, "1.2.840.10008.1.2") == 0) r->explicit_vr = false;
    if (strcmp(syntax, "1.2.840.10008.1.2.2") == 0) r->big = true;
    out->is_directory = strcmp(class, "1.2.840.10008.1.3.10") == 0;
    out->deflated = strcmp(syntax, "1.2.840.10008.1.2.1.99") == 0;
    return !out->deflated;
}

/* Elements come in the order of their tags. */
static void read_elements(lob_dicom_header *out, reader *r)
{
    element e;
    while (next(r, &e) && e.tag <= TAG(0x0028, 0x0011)) {
        if (e.length == UNDEFINED) {
            if (!skip_undefined(r)) return;
            continue;
        }
        take(out, r, &e);
        r->at += e.length;
    }
}

bool lob_dicom_header_is(const unsigned char *bytes, size_t size)
{
    return size >= PREAMBLE + 12 && memcmp(bytes + PREAMBLE, "DICM", 4) == 0;
}

bool lob_dicom_header_parse(lob_dicom_header *out, const unsigned char *bytes, size_t size)
{
    *out = (lob_dicom_header){.number = -1, .frames = 1};
    if (size < 8) return false;
    reader r = {.at = bytes, .end = bytes + size};
    if (lob_dicom_header_is(bytes, size)) {
        r.at += PREAMBLE + 4;
        r.explicit_vr = true;
        if (!read_own(out, &r)) return false;
    } else {
        r.explicit_vr = is_letter(bytes[4]) && is_letter(bytes[5]);
    }
    read_elements(out, &r);
    if (out->frames < 1) out->frames = 1;
    return out->series[0] != '\0';
}
