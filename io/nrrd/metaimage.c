/*
 * MetaImage: .mha, and .mhd with one file of voxels in its own folder, read and written.
 *
 * itk.org/Wiki/ITK/MetaIO/Documentation. The world is left-posterior-superior in mm; the rows of
 * TransformMatrix are the directions of the axes. Voxels are plain or a zlib stream; several
 * channels lie voxel by voxel. Written: .mha, and .mhd with its .zraw, compressed.
 */
#include "io/byte_order.h"
#include "io/nrrd/raw_image.h"
#include "io/platform.h"
#include "io/text_rows.h"
#include "volumes/bytes.h"
#include "volumes/clock.h"
#include "volumes/free.h"

#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char meta_name[] = "MetaImage";
static const char *const suffixes[] = {".mha", ".mhd", NULL};

enum { AXES = 4, MAX_HEADER = 1 << 20, LINES = 256 };

typedef struct {
    char *text; /* the header's lines, cut apart; malloc'ed */
    size_t header_bytes;
    const char *key[LINES], *value[LINES];
    int lines;
    const char *path;
    lob_error *error;
} header;

/* Types, as MetaIO names them; of two names of a type the first is written. */
static const struct {
    const char *name;
    lob_type type;
} types[] = {
    {"MET_UCHAR",      LOB_U8 },
    {"MET_CHAR",       LOB_I8 },
    {"MET_USHORT",     LOB_U16},
    {"MET_SHORT",      LOB_I16},
    {"MET_UINT",       LOB_U32},
    {"MET_INT",        LOB_I32},
    {"MET_ULONG",      LOB_U32},
    {"MET_LONG",       LOB_I32},
    {"MET_ULONG_LONG", LOB_U64},
    {"MET_LONG_LONG",  LOB_I64},
    {"MET_FLOAT",      LOB_F32},
    {"MET_DOUBLE",     LOB_F64},
};

/* ---- the header ---- */

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r")] == '\0';
}

/* Cut the lines "key = value" apart, up to and with that of ElementDataFile. A line that is none is
 * damage: ITK would take the fields behind it for missing. */
static lob_status take_lines(header *h, const unsigned char *bytes, size_t size)
{
    const size_t most = size < MAX_HEADER ? size : MAX_HEADER;
    h->text = calloc(most + 1, 1);
    if (!h->text) return LOB_FAIL(h, LOB_ENOMEM, "no memory for its header");
    memcpy(h->text, bytes, most);
    for (char *line = h->text; *line;) {
        char *stop = line + strcspn(line, "\n"), *gap = memchr(line, '=', (size_t)(stop - line));
        const bool ended = *stop == '\n';
        *stop = '\0';
        char *end = stop;
        while (end > line && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t')) *--end = '\0';
        if (h->lines == LINES)
            return LOB_FAIL(h, LOB_EDATA, "has more than %d lines in its header", LINES);
        if (gap) {
            char *last = gap;
            while (last > line && (last[-1] == ' ' || last[-1] == '\t')) last--;
            *last = '\0';
            line += strspn(line, " \t");
            h->key[h->lines] = line;
            h->value[h->lines++] = gap + 1 + strspn(gap + 1, " \t");
        }
        h->header_bytes = (size_t)(stop - h->text) + ended;
        if (!gap && !is_blank(line))
            return LOB_FAIL(h, LOB_EDATA, "a line of its header is no field: '%.100s'", line);
        if (gap && strcmp(line, "ElementDataFile") == 0) return LOB_OK;
        if (!ended) break;
        line = stop + 1;
    }
    return LOB_FAIL(h, LOB_EDATA, "its header has no line ElementDataFile");
}

/* The value of a key, or else that of another name for it; of several lines the last, as ITK takes
 * them. NULL where it is missing. */
static const char *value_of(const header *h, const char *key, const char *other)
{
    const char *value = NULL;
    for (int i = h->lines - 1; i >= 0; i--) {
        if (strcmp(h->key[i], key) == 0) return h->value[i];
        if (!value && other && strcmp(h->key[i], other) == 0) value = h->value[i];
    }
    return value;
}

static lob_status bad(const header *h, const char *key, const char *what)
{
    const char *value = value_of(h, key, NULL);
    return LOB_FAIL(h, LOB_EDATA, "its line %s is '%.100s', %s", key, value ? value : "missing",
                    what);
}

/* What MetaImage knows and we do not read. */
static lob_status not_read(const header *h, const char *key, const char *what)
{
    return lob_fail_file_hint(h->error, LOB_EDATA, LOB_HINT_CONVERT, h->path,
                              "its line %s is '%.100s', %s", key, value_of(h, key, NULL), what);
}

static bool is_true(const char *value)
{
    return value && (value[0] == 'T' || value[0] == 't' || value[0] == '1');
}

static lob_status find_axes(const header *h, lob_raw_image *image, int *dimension)
{
    double side[AXES], count;
    if (!lob_text_numbers(&count, 1, value_of(h, "NDims", NULL)) || count < 2 || count > AXES ||
        count != floor(count))
        return bad(h, "NDims", "not 2, 3 or 4");
    *dimension = (int)count;
    if (!lob_text_numbers(side, *dimension, value_of(h, "DimSize", NULL)))
        return bad(h, "DimSize", "not a number for each axis");
    double channels = 1;
    const char *text = value_of(h, "ElementNumberOfChannels", NULL);
    if (text && (!lob_text_numbers(&channels, 1, text) || channels < 1 || channels > 1e6 ||
                 channels != floor(channels)))
        return bad(h, "ElementNumberOfChannels", "no number of channels");
    static const int part[AXES] = {LOB_RAW_X, LOB_RAW_Y, LOB_RAW_Z, LOB_RAW_FRAME};
    for (int i = 0; i < LOB_RAW_AXES; i++) image->side[i] = image->stride[i] = 1;
    image->side[LOB_RAW_CHANNEL] = (int64_t)channels;
    int64_t stride = (int64_t)channels;
    for (int i = 0; i < *dimension; i++) {
        if (!(side[i] >= 1 && side[i] < 0x1p40 && side[i] == floor(side[i])))
            return bad(h, "DimSize", "with a side that is no whole number from 1");
        image->side[part[i]] = (int64_t)side[i];
        image->stride[part[i]] = stride;
        stride = lob_product(stride, image->side[part[i]], 1, 1);
        if (stride < 0) return bad(h, "DimSize", "too many voxels");
    }
    return LOB_OK;
}

static lob_status find_storage(const header *h, lob_raw_image *image)
{
    const char *type = value_of(h, "ElementType", NULL);
    size_t i = 0;
    while (i < sizeof types / sizeof types[0] && (!type || strcmp(type, types[i].name) != 0)) i++;
    if (i == sizeof types / sizeof types[0])
        return (type && strncmp(type, "MET_", 4) == 0 ? not_read : bad)(
            h, "ElementType", "no type of voxels that is read");
    const char *binary = value_of(h, "BinaryData", NULL);
    if (binary && !is_true(binary))
        return not_read(h, "BinaryData", "and numbers as text are not read");
    image->type = types[i].type;
    image->compressed = is_true(value_of(h, "CompressedData", NULL));
    image->swapped = is_true(value_of(h, "BinaryDataByteOrderMSB", "ElementByteOrderMSB")) ==
                     lob_little_endian();
    return LOB_OK;
}

static lob_status find_geometry(const header *h, lob_geometry *geometry, double *frame_step_s,
                                int dimension)
{
    const int n = dimension < 3 ? dimension : 3;
    double matrix[AXES * AXES] = {0}, offset[AXES] = {0}, spacing[AXES] = {1, 1, 1, 1};
    double affine[3][4] = {{0}};
    for (int i = 0; i < dimension; i++) matrix[i * dimension + i] = 1;
    /* Of several names for one thing those count that count for ITK. */
    const char *turn = value_of(h, "TransformMatrix", "Rotation");
    const char *place = value_of(h, "Origin", "Offset");
    const char *sides = value_of(h, "ElementSpacing", "ElementSize");
    if (!turn) turn = value_of(h, "Orientation", NULL);
    if (!place) place = value_of(h, "Position", NULL);
    if (turn && !lob_text_numbers(matrix, dimension * dimension, turn))
        return bad(h, "TransformMatrix", "not a direction for each axis");
    if (place && !lob_text_numbers(offset, dimension, place))
        return bad(h, "Offset", "no position");
    if (sides && !lob_text_numbers(spacing, dimension, sides))
        return bad(h, "ElementSpacing", "not a number for each axis");
    if (sides && dimension == AXES && fabs(spacing[AXES - 1]) > LOB_RAW_MOST_MM)
        return bad(h, "ElementSpacing", "beyond all measure");
    if (sides && dimension == AXES) *frame_step_s = fabs(spacing[AXES - 1]);
    affine[2][2] = 1;
    for (int r = 0; r < n; r++) {
        const double sign = r < 2 ? -1.0 : 1.0;
        for (int c = 0; c < n; c++)
            affine[r][c] = sign * matrix[c * dimension + r] * spacing[c] + 0.0;
        affine[r][3] = sign * offset[r] + 0.0;
    }
    if (lob_raw_geometry(geometry, affine)) return LOB_OK;
    return LOB_FAIL(h, LOB_EDATA, "its directions and spacings span no space");
}

static lob_status parse(header *h, lob_raw_image *image, lob_volume *out,
                        const unsigned char *bytes, size_t size)
{
    int dimension = 0;
    *image = (lob_raw_image){.type = LOB_U8};
    LOB_TRY(take_lines(h, bytes, size));
    LOB_TRY(find_axes(h, image, &dimension));
    LOB_TRY(find_storage(h, image));
    return find_geometry(h, &out->geometry, &out->frame_step_s, dimension);
}

/* ---- reading ---- */

static bool sniff(const lob_location *where, const lob_input *file)
{
    static const char *const first[] = {"ObjectType", "NDims", "Comment", "ObjectSubType"};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        const size_t n = strlen(first[i]);
        if (file->size > n && memcmp(file->bytes, first[i], n) == 0)
            return lob_has_suffix(where->file, ".mha") || lob_has_suffix(where->file, ".mhd");
    }
    return false;
}

/* Do the voxels follow the header? */
static bool is_local(const char *name)
{
    return strcmp(name, "LOCAL") == 0 || strcmp(name, "Local") == 0;
}

/* Do they lie in several files? */
static bool is_list(const char *name)
{
    return strncmp(name, "LIST", 4) == 0 && (name[4] == '\0' || name[4] == ' ');
}

static lob_status read_voxels(lob_volume *out, const header *h, lob_raw_image *image,
                              const lob_reading *r)
{
    const char *name = value_of(h, "ElementDataFile", NULL);
    double skip = 0;
    if (value_of(h, "HeaderSize", NULL) &&
        (!lob_text_numbers(&skip, 1, value_of(h, "HeaderSize", NULL)) || skip < -1 ||
         skip > 0x1p50))
        return bad(h, "HeaderSize", "no number of bytes");
    if (is_local(name) && skip > 0)
        return bad(h, "HeaderSize", "with voxels behind the header itself");
    if (is_local(name))
        return lob_raw_read(out, image, r->file->bytes + h->header_bytes,
                            r->file->size - h->header_bytes, r);
    lob_input voxels;
    if (is_list(name))
        return bad(h, "ElementDataFile", "several files; save the volume in 3D Slicer as one");
    LOB_TRY(lob_raw_open(&voxels, r->where->file, name, r->error));
    lob_info_add_file(r->info, &voxels);
    image->skip = (int64_t)skip;
    const lob_status st = lob_raw_read(out, image, voxels.bytes, voxels.size, r);
    lob_input_close(&voxels);
    return st;
}

static lob_status read_meta(lob_volume *out, const lob_reading *r)
{
    header h = {.path = r->path, .error = r->error};
    lob_raw_image image;
    lob_info_add_file(r->info, r->file);
    lob_status st = parse(&h, &image, out, r->file->bytes, r->file->size);
    if (st == LOB_OK) st = read_voxels(out, &h, &image, r);
    free(h.text);
    return st;
}

/* ---- writing ---- */

/* Where the voxels of a .mhd go, malloc'ed, as ITK names it; NULL without memory. */
static char *path_of_voxels(const char *file)
{
    char *path = NULL;
    return asprintf(&path, "%.*s.zraw", (int)(strlen(file) - strlen(".mhd")), file) < 0 ? NULL
                                                                                        : path;
}

/* A row of the matrix, of three numbers, and one for time where there is time. */
static void print_row(FILE *f, const char *key, const double row[3], const double *time)
{
    fprintf(f, "%s %.17g %.17g %.17g", key, row[0] + 0.0, row[1] + 0.0, row[2] + 0.0);
    if (time) fprintf(f, " %.17g", *time);
}

/* apart: the path of the voxels; NULL: they follow the header */
static void print_header(FILE *f, const lob_volume *v, size_t compressed, const char *apart)
{
    const lob_geometry *const g = &v->geometry;
    const int64_t frames = lob_frames_held(v), channels = v->channels / frames;
    const double none = 0, step = v->frame_step_s > 0 ? v->frame_step_s : 1;
    const double *const no_time = frames > 1 ? &none : NULL;
    const double *const time = frames > 1 ? &step : NULL;
    const double origin[3] = {-g->affine[0][3], -g->affine[1][3], g->affine[2][3]};
    static const double zero[3] = {0, 0, 0};
    size_t type = 0;
    while (types[type].type != v->type) type++;
    fprintf(f, "ObjectType = Image\nNDims = %d\nBinaryData = True\n", frames > 1 ? 4 : 3);
    fprintf(f, "BinaryDataByteOrderMSB = %s\nCompressedData = True\nCompressedDataSize = %zu\n",
            lob_little_endian() ? "False" : "True", compressed);
    for (int c = 0; c < 3; c++) {
        const double column[3] = {-g->affine[0][c] / g->spacing_mm[c],
                                  -g->affine[1][c] / g->spacing_mm[c],
                                  g->affine[2][c] / g->spacing_mm[c]};
        print_row(f, c == 0 ? "TransformMatrix =" : "", column, no_time);
    }
    if (frames > 1) fputs(" 0 0 0 1", f);
    print_row(f, "\nOffset =", origin, no_time);
    print_row(f, "\nCenterOfRotation =", zero, no_time);
    print_row(f, "\nElementSpacing =", g->spacing_mm, time);
    fprintf(f, "\nDimSize = %lld %lld %lld", (long long)v->dims.nx, (long long)v->dims.ny,
            (long long)v->dims.nz);
    if (frames > 1) fprintf(f, " %lld", (long long)frames);
    if (channels > 1) fprintf(f, "\nElementNumberOfChannels = %lld", (long long)channels);
    const char *const data_file = apart ? lob_name_in_path(apart) : "LOCAL";
    fprintf(f, "\nElementType = %s\nElementDataFile = %s\n", types[type].name, data_file);
}

/* The voxels as a zlib stream, malloc'ed. */
static unsigned char *compress_voxels(size_t *size, const lob_volume *v, int level)
{
    const size_t bytes = (size_t)lob_volume_bytes(v);
    const bool mixes = v->channels > lob_frames_held(v);
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(level);
    unsigned char *mixed = mixes ? malloc(bytes) : NULL, *out = NULL;
    if (deflater && (mixed || !mixes)) {
        if (mixed) lob_voxels_mixed(mixed, v, 0, lob_voxels(v) * lob_frames_held(v), 1);
        const size_t most = libdeflate_zlib_compress_bound(deflater, bytes);
        out = malloc(most);
        *size =
            out ? libdeflate_zlib_compress(deflater, mixed ? mixed : v->data, bytes, out, most) : 0;
    }
    free(mixed);
    if (deflater) libdeflate_free_compressor(deflater);
    return out;
}

static lob_status holds(const lob_volume *volume, const lob_location *where, lob_error *error)
{
    return lob_holds_no_scale(volume, where, meta_name, error);
}

/* Voxels and the header that names them; both appear, or none. */
static lob_status write_apart(const char *apart, const char *file, bool force,
                              const lob_output_part parts[2], lob_error *error)
{
    lob_output voxels, text;
    LOB_TRY(lob_output_begin(&voxels, apart, force, error));
    lob_status st = lob_output_begin(&text, file, force, error);
    if (st != LOB_OK) {
        lob_output_abort(&voxels);
        return st;
    }
    st = lob_output_write(&text, parts[0].bytes, parts[0].size, error);
    if (st == LOB_OK) st = lob_output_write(&voxels, parts[1].bytes, parts[1].size, error);
    if (st == LOB_OK) return lob_output_commit_pair(&voxels, &text, error);
    lob_output_abort(&text);
    lob_output_abort(&voxels);
    return st;
}

static lob_status write_meta(const lob_volume *volume, const lob_location *where,
                             const lob_write_options *options, lob_error *error)
{
    LOB_TRY(lob_check_output(where->file, options->force, error));
    LOB_TRY(holds(volume, where, error));
    const double start_s = lob_clock_s();
    size_t compressed = 0, bytes = 0;
    unsigned char *voxels = compress_voxels(&compressed, volume, options->level);
    *options->compress_s += lob_clock_s() - start_s;
    const bool two = lob_has_suffix(where->file, ".mhd");
    char *text = NULL, *const apart = two ? path_of_voxels(where->file) : NULL;
    FILE *f = voxels && (apart || !two) ? lob_memory_stream(&text, &bytes) : NULL;
    if (f) print_header(f, volume, compressed, apart);
    const bool complete = f && lob_memory_stream_end(f, &text, &bytes);
    const lob_output_part parts[] = {
        {text,   bytes     },
        {voxels, compressed}
    };
    lob_status st;
    if (!complete)
        st = lob_fail_file(error, LOB_ENOMEM, where->path, "no memory to write it");
    else if (apart)
        st = write_apart(apart, where->file, options->force, parts, error);
    else
        st = lob_output_whole(where->file, options->force, parts, 2, error);
    LOB_FREE(text, voxels, apart);
    return st;
}

static char *name_of_voxels(const lob_input *in, const char *path)
{
    lob_error ignored;
    header h = {.path = path, .error = &ignored};
    const bool complete = take_lines(&h, in->bytes, in->size) == LOB_OK;
    const char *const name = complete ? value_of(&h, "ElementDataFile", NULL) : NULL;
    const bool apart = name && !is_local(name) && !is_list(name);
    char *const copy = apart ? strdup(name) : NULL;
    free(h.text);
    return copy;
}

static lob_status second_file(char **second, const char *file, bool reading)
{
    if (reading) return lob_raw_second_file(second, file, reading, name_of_voxels);
    *second = lob_has_suffix(file, ".mhd") ? path_of_voxels(file) : NULL;
    return *second || !lob_has_suffix(file, ".mhd") ? LOB_OK : LOB_ENOMEM;
}

const lob_format lob_format_meta = {
    .name = meta_name,
    .suffixes = suffixes,
    .sniff = sniff,
    .read = read_meta,
    .all_frames = true,
    .write = write_meta,
    .holds = holds,
    .second_file = second_file,
};
