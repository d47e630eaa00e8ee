/* Parsing NRRD headers: fields, axes, keys and segments. */
#include "io/nrrd/nrrd_header.h"

#include "io/byte_order.h"
#include "volumes/free.h"
#include "volumes/lists.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { AXES = 8, MAX_HEADER = 64 << 20, MAX_KEYS = 1 << 20 };

/* What the header says before it is understood: descriptions of fields, NULL where missing. */
typedef struct {
    lob_nrrd *out;
    const char *path;
    lob_error *error;
    char *type, *dimension, *sizes, *space, *space_dimension, *directions, *origin, *spacings,
        *mins, *centers, *kinds, *endian, *encoding, *data_file, *line_skip, *byte_skip;
} parser;

#define FIELD(text, member)            \
    {                                  \
        text, offsetof(parser, member) \
    }
static const struct {
    const char *name;
    size_t at;
} fields[] = {
    FIELD("type", type),
    FIELD("dimension", dimension),
    FIELD("sizes", sizes),
    FIELD("space", space),
    FIELD("space dimension", space_dimension),
    FIELD("space directions", directions),
    FIELD("space origin", origin),
    FIELD("spacings", spacings),
    FIELD("axis mins", mins),
    FIELD("axismins", mins),
    FIELD("centers", centers),
    FIELD("centerings", centers),
    FIELD("kinds", kinds),
    FIELD("endian", endian),
    FIELD("encoding", encoding),
    FIELD("data file", data_file),
    FIELD("datafile", data_file),
    FIELD("line skip", line_skip),
    FIELD("lineskip", line_skip),
    FIELD("byte skip", byte_skip),
    FIELD("byteskip", byte_skip),
};
#undef FIELD

bool lob_nrrd_looks(const unsigned char *bytes, size_t size)
{
    return size > 8 && memcmp(bytes, "NRRD000", 7) == 0 && bytes[7] >= '1' && bytes[7] <= '5';
}

static lob_status bad(const parser *p, const char *field, const char *value, const char *what)
{
    return LOB_FAIL(p, LOB_EDATA, "its field '%s' is '%.100s', %s", field,
                    value ? value : "missing", what);
}

/* What NRRD knows and we do not read. */
static lob_status not_read(const parser *p, const char *field, const char *value, const char *what)
{
    return lob_fail_file_hint(p->error, LOB_EDATA, LOB_HINT_CONVERT, p->path,
                              "its field '%s' is '%.100s', %s", field, value, what);
}

/* ---- lines ---- */

/* Undo NRRD's escapes in a value, in place: \n and \\. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\\' && (from[1] == 'n' || from[1] == '\\'))
            *to++ = *++from == 'n' ? '\n' : '\\';
        else
            *to++ = *from;
    }
    *to = '\0';
}

static lob_status take_key(parser *p, char *line, char *gap)
{
    lob_nrrd *n = p->out;
    if (n->key_count == MAX_KEYS) return LOB_FAIL(p, LOB_EDATA, "has more than a million keys");
    if (!lob_grow(&n->keys, n->key_count, sizeof *n->keys) ||
        !lob_grow(&n->values, n->key_count, sizeof *n->values))
        return LOB_FAIL(p, LOB_ENOMEM, "no memory for its keys");
    *gap = '\0';
    unescape(gap + 2);
    n->keys[n->key_count] = line;
    n->values[n->key_count++] = gap + 2;
    return LOB_OK;
}

static lob_status take_line(parser *p, char *line)
{
    if (*line == '#') return LOB_OK;
    char *key = strstr(line, ":="), *field = strstr(line, ": ");
    if (key && (!field || key < field)) return take_key(p, line, key);
    if (!field) return LOB_FAIL(p, LOB_EDATA, "a line of its header is no field: '%.100s'", line);
    *field = '\0';
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        char **const value = (char **)((char *)p + fields[i].at);
        if (strcasecmp(line, fields[i].name) != 0) continue;
        if (*value) return LOB_FAIL(p, LOB_EDATA, "its header has the field '%s' twice", line);
        *value = field + 2 + strspn(field + 2, " ");
    }
    return LOB_OK;
}

/* Do the voxels lie in several files, named by the lines that follow? */
static bool is_list(const char *data_file)
{
    return data_file && strncasecmp(data_file, "LIST", 4) == 0 &&
           (data_file[4] == '\0' || data_file[4] == ' ');
}

/* Copy the header up to its empty line, or the file's end, and take it line by line. */
static lob_status take_lines(parser *p, const unsigned char *bytes, size_t size)
{
    lob_nrrd *n = p->out;
    const unsigned char *at = bytes, *end = bytes + (size < MAX_HEADER ? size : MAX_HEADER);
    bool complete = false;
    while (!complete && at < end) {
        const unsigned char *stop = memchr(at, '\n', (size_t)(end - at));
        const unsigned char *next = stop ? stop + 1 : end;
        complete = stop && (stop == at || (stop == at + 1 && *at == '\r'));
        at = next;
    }
    n->header_bytes = (size_t)(at - bytes);
    if (!complete && end < bytes + size)
        return LOB_FAIL(p, LOB_EDATA, "no empty line ends its header");
    if (memchr(bytes, 0, n->header_bytes))
        return LOB_FAIL(p, LOB_EDATA, "damaged: a byte 0 in its header");
    n->text = calloc(n->header_bytes + 1, 1);
    if (!n->text) return LOB_FAIL(p, LOB_ENOMEM, "no memory for its header");
    memcpy(n->text, bytes, n->header_bytes);
    bool first = true;
    for (char *line = n->text; *line;) {
        char *stop = line + strcspn(line, "\n"), *next = *stop ? stop + 1 : stop;
        *stop = '\0';
        if (stop > line && stop[-1] == '\r') stop[-1] = '\0';
        if (!first && *line) LOB_TRY(take_line(p, line));
        if (is_list(p->data_file)) /* the lines that follow are no fields */
            return bad(p, "data file", p->data_file,
                       "several files; save the volume in 3D Slicer as one");
        first = false;
        line = next;
    }
    return LOB_OK;
}

/* ---- numbers and words ---- */

enum { WORD = 64 };

/* Copy the next word of a list, at most WORD - 1 characters of it; empty at the list's end. */
static const char *next_word(char word[WORD], const char **rest)
{
    const char *at = *rest ? *rest + strspn(*rest, " \t") : "";
    const size_t length = strcspn(at, " \t");
    snprintf(word, WORD, "%.*s", (int)(length < WORD ? length : WORD - 1), at);
    *rest = at + length;
    return word;
}

static bool scan_real(double *value, const char *text)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static bool scan_whole(int64_t *value, const char *text)
{
    char *end;
    const long long v = strtoll(text, &end, 10);
    *value = v;
    return end != text && *end == '\0' && v > INT64_MIN && v < INT64_MAX;
}

enum { SPACE = 4 }; /* three sides and time */

/* "(x,y,z)" or "(x,y,z,t)" at *rest, or "none": false in *given. */
static bool scan_vector(double vector[SPACE], bool *given, char **rest)
{
    char *at = *rest + strspn(*rest, " \t");
    *given = false;
    if (strncmp(at, "none", 4) == 0) {
        *rest = at + 4;
        return true;
    }
    if (*at++ != '(') return false;
    int n = 0;
    for (; n < SPACE; n++) {
        char *end;
        vector[n] = strtod(at, &end);
        if (end == at) return false;
        at = end + strspn(end, " \t");
        if (*at != ',') break;
        at++;
    }
    if (*at++ != ')' || n == SPACE) return false;
    for (int i = n + 1; i < SPACE; i++) vector[i] = 0.0; /* of spaces with fewer sides */
    *rest = at;
    *given = true;
    return true;
}

/* ---- types ---- */

/* The names of types; the first of each is the one that is written. */
static const struct {
    const char *names;
    lob_type type;
} types[] = {
    {"|signed char|int8|int8_t|",                                             LOB_I8 },
    {"|unsigned char|uchar|uint8|uint8_t|",                                   LOB_U8 },
    {"|short|short int|signed short|signed short int|int16|int16_t|",         LOB_I16},
    {"|unsigned short|ushort|unsigned short int|uint16|uint16_t|",            LOB_U16},
    {"|int|signed int|int32|int32_t|",                                        LOB_I32},
    {"|unsigned int|uint|uint32|uint32_t|",                                   LOB_U32},
    {"|long long|longlong|long long int|signed long long|int64|int64_t|",     LOB_I64},
    {"|unsigned long long|ulonglong|unsigned long long int|uint64|uint64_t|", LOB_U64},
    {"|float|",                                                               LOB_F32},
    {"|double|",                                                              LOB_F64},
};

const char *lob_nrrd_type(int *length, lob_type type)
{
    size_t i = 0;
    while (types[i].type != type) i++;
    *length = (int)strcspn(types[i].names + 1, "|");
    return types[i].names + 1;
}

static lob_status find_type(parser *p)
{
    char quoted[64];
    const char *type = p->type ? p->type : "";
    snprintf(quoted, sizeof quoted, "|%.60s|", type);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strstr(types[i].names, quoted)) {
            p->out->image.type = types[i].type;
            return LOB_OK;
        }
    if (strcmp(type, "block") == 0) return not_read(p, "type", type, "which is not read");
    return bad(p, "type", p->type, "no type of voxels that is read");
}

static lob_status find_storage(parser *p)
{
    lob_raw_image *image = &p->out->image;
    static const char *const others[] = {"bzip2", "bz2", "hex", "text", "txt", "ascii"};
    if (!p->encoding) return bad(p, "encoding", NULL, "and must be raw or gzip");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasecmp(p->encoding, others[i]) == 0)
            return not_read(p, "encoding", p->encoding,
                            "and raw and gzip are read; save it again in 3D Slicer");
    if (strcasecmp(p->encoding, "gzip") == 0 || strcasecmp(p->encoding, "gz") == 0)
        image->compressed = true;
    else if (strcasecmp(p->encoding, "raw") != 0)
        return bad(p, "encoding", p->encoding, "and raw and gzip are read");
    if (lob_type_of(image->type)->bytes > 1) {
        const bool little = p->endian && strcasecmp(p->endian, "little") == 0;
        if (!little && (!p->endian || strcasecmp(p->endian, "big") != 0))
            return bad(p, "endian", p->endian, "neither little nor big");
        image->swapped = little != lob_little_endian();
    }
    if (p->line_skip && (!scan_whole(&p->out->line_skip, p->line_skip) || p->out->line_skip < 0))
        return bad(p, "line skip", p->line_skip, "no number of lines");
    if (p->byte_skip && (!scan_whole(&image->skip, p->byte_skip) || image->skip < -1))
        return bad(p, "byte skip", p->byte_skip, "no number of bytes");
    p->out->data_file = p->data_file;
    return LOB_OK;
}

/* ---- axes ---- */

typedef struct {
    int64_t dimension, size[AXES];
    bool spatial[AXES];
    double direction[AXES][SPACE]; /* of spatial axes */
    bool directed;                 /* the file gives directions */
    bool timed[AXES];              /* its direction is that of time */
    char kind[AXES][WORD];         /* empty: not given */
    double spacing[AXES];          /* NAN: not given */
    double first[AXES];            /* place of the first sample; NAN: not given */
} axes;

static lob_status find_sizes(parser *p, axes *a)
{
    if (!p->dimension || !scan_whole(&a->dimension, p->dimension) || a->dimension < 1 ||
        a->dimension > 5)
        return bad(p, "dimension", p->dimension, "not from 1 to 5");
    const char *sizes = p->sizes, *kinds = p->kinds, *spacings = p->spacings, *mins = p->mins,
               *centers = p->centers;
    char word[WORD];
    for (int64_t i = 0; i < a->dimension; i++) {
        if (!scan_whole(&a->size[i], next_word(word, &sizes)) || a->size[i] < 1)
            return bad(p, "sizes", p->sizes, "no number from 1 for each axis");
        next_word(a->kind[i], &kinds);
        if (!scan_real(&a->spacing[i], next_word(word, &spacings)) || !(fabs(a->spacing[i]) > 0.0))
            a->spacing[i] = (double)NAN;
        if (!scan_real(&a->first[i], next_word(word, &mins))) a->first[i] = (double)NAN;
        /* An axis begins where its first sample does, if samples are nodes, else half a one before.
         */
        const double spacing = isnan(a->spacing[i]) ? 1.0 : fabs(a->spacing[i]);
        if (strcasecmp(next_word(word, &centers), "node") != 0) a->first[i] += spacing / 2;
    }
    return LOB_OK;
}

/* Is the axis one of space by its kind? Without kinds, the first three are. */
static bool is_domain(const axes *a, int64_t i, bool kinds)
{
    if (!kinds) return i < 3;
    return strcasecmp(a->kind[i], "domain") == 0 || strcasecmp(a->kind[i], "space") == 0;
}

static lob_status find_directions(parser *p, axes *a)
{
    char *rest = p->directions;
    a->directed = rest != NULL;
    for (int64_t i = 0; i < a->dimension; i++) {
        if (!a->directed)
            a->spatial[i] = is_domain(a, i, p->kinds != NULL);
        else if (!scan_vector(a->direction[i], &a->spatial[i], &rest))
            return LOB_FAIL(p, LOB_EDATA,
                            "its field 'space directions' does not give a vector or 'none' for "
                            "each of %lld axes",
                            (long long)a->dimension);
        const double *const d = a->direction[i];
        a->timed[i] = a->spatial[i] && d[3] != 0.0 && d[0] == 0.0 && d[1] == 0.0 && d[2] == 0.0;
        if (a->timed[i]) a->spatial[i] = false;
    }
    return LOB_OK;
}

/* The value of a key, or NULL. */
static const char *value_of_key(const lob_nrrd *nrrd, const char *key)
{
    for (int i = 0; i < nrrd->key_count; i++)
        if (strcmp(nrrd->keys[i], key) == 0) return nrrd->values[i];
    return NULL;
}

/* Is an axis without a place in space one of time? A list of which 3D Slicer has written a value
 * for each is: its sequences are such. */
static bool is_time(const parser *p, const axes *a, int i)
{
    char key[32];
    const char *kind = a->kind[i];
    snprintf(key, sizeof key, "axis %d index values", i);
    if (a->timed[i] || value_of_key(p->out, key)) return true;
    return strcasecmp(kind, "time") == 0 || strcasecmp(kind, "domain") == 0;
}

/* Give each axis its part: x, y, z in the file's order, a channel, a frame. */
static lob_status place_axes(parser *p, const axes *a, int axis_of[3])
{
    lob_raw_image *image = &p->out->image;
    int64_t stride = 1;
    int space = 0;
    for (int i = 0; i < LOB_RAW_AXES; i++) image->side[i] = image->stride[i] = 1;
    for (int i = 0; i < 3; i++) axis_of[i] = -1;
    for (int i = 0; i < (int)a->dimension; i++) {
        int part =
            is_time(p, a, i) || image->side[LOB_RAW_CHANNEL] > 1 ? LOB_RAW_FRAME : LOB_RAW_CHANNEL;
        if (a->spatial[i]) {
            if (space == 3) return bad(p, "sizes", p->sizes, "more than three axes of space");
            axis_of[space] = i;
            part = space++;
        } else if (a->size[i] > 1 && image->side[part] > 1) {
            return bad(p, "sizes", p->sizes, "more axes than space, channels and time");
        }
        if (a->spatial[i] || a->size[i] > 1) {
            image->side[part] = a->size[i];
            image->stride[part] = stride;
        }
        if (a->timed[i]) p->out->frame_step_s = fabs(a->direction[i][3]);
        if (part == LOB_RAW_FRAME && !isnan(a->spacing[i]))
            p->out->frame_step_s = fabs(a->spacing[i]);
        if (!(p->out->frame_step_s <= LOB_RAW_MOST_MM))
            return bad(p, "spacings", p->spacings, "with a time beyond all measure");
        stride = lob_product(stride, a->size[i], 1, 1);
        if (stride < 0 || stride > INT64_MAX / 16)
            return bad(p, "sizes", p->sizes, "too many numbers");
    }
    if (space == 0) return bad(p, "sizes", p->sizes, "no axis of space");
    return LOB_OK;
}

/* ---- place in the world ---- */

/* Signs that turn a space's axes to right, anterior, superior; false where the space is none of a
 * patient. */
static bool signs_of_space(double sign[3], const char *space)
{
    static const struct {
        const char *names;
        double sign[3];
    } spaces[] = {
        {"|right-anterior-superior|ras|rast|", {1, 1, 1}  },
        {"|left-anterior-superior|las|last|",  {-1, 1, 1} },
        {"|left-posterior-superior|lps|lpst|", {-1, -1, 1}},
    };
    char quoted[64];
    snprintf(quoted, sizeof quoted, "|%.40s", space ? space : "");
    char *time = strstr(quoted, "-time");
    if (time) *time = '\0';
    for (char *c = quoted; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c - 'A' + 'a');
    strcat(quoted, "|");
    for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
        if (strstr(spaces[i].names, quoted)) {
            memcpy(sign, spaces[i].sign, sizeof spaces[i].sign);
            return true;
        }
    return false;
}

/* The name of the space. ITK names none for a time series, and means LPS. */
static const char *space_of(const parser *p, const axes *a)
{
    bool timed = false;
    for (int i = 0; i < (int)a->dimension; i++) timed = timed || a->timed[i];
    return p->space || !timed ? p->space : "LPST";
}

static lob_status find_geometry(parser *p, const axes *a, const int axis_of[3])
{
    double affine[3][4] = {{0}}, sign[3] = {1, 1, 1}, origin[SPACE] = {0};
    bool given = false, used[3] = {false};
    const bool oriented = a->directed && signs_of_space(sign, space_of(p, a));
    char *rest = p->origin;
    if (rest && !scan_vector(origin, &given, &rest))
        return bad(p, "space origin", p->origin, "no vector");
    bool begins = !rest && !a->directed; /* if all axes of space say so */
    for (int c = 0; c < 3; c++)
        begins = begins && (axis_of[c] < 0 || isfinite(a->first[axis_of[c]]));
    for (int c = 0; c < 3 && begins; c++) origin[c] = axis_of[c] < 0 ? 0.0 : a->first[axis_of[c]];
    for (int c = 0; c < 3; c++) {
        const int axis = axis_of[c];
        const double mm = axis >= 0 && !isnan(a->spacing[axis]) ? fabs(a->spacing[axis]) : 1.0;
        if (axis < 0) continue;
        for (int r = 0; r < 3; r++)
            affine[r][c] = sign[r] * (a->directed ? a->direction[axis][r] : r == c ? mm : 0.0);
        for (int r = 0; r < 3; r++) used[r] = used[r] || affine[r][c] != 0.0;
    }
    /* A flat image has a third axis of its own: along the first side of space that is left. */
    for (int c = 0; c < 3; c++)
        if (axis_of[c] < 0) {
            int r = 0;
            while (r < 2 && used[r]) r++;
            affine[r][c] = 1.0;
            used[r] = true;
        }
    for (int r = 0; r < 3; r++) affine[r][3] = sign[r] * origin[r];
    if (!lob_raw_geometry(&p->out->geometry, affine))
        return LOB_FAIL(p, LOB_EDATA,
                        "its space directions span no space; save it again in the program that "
                        "made it");
    p->out->geometry.unoriented = !oriented;
    return LOB_OK;
}

/* ---- segments ---- */

/* The segment and the rest of a key such as Segment12_Name; -1 for other keys. */
static int64_t segment_of(const char *key, const char **what)
{
    char *end;
    if (strncmp(key, "Segment", 7) != 0 || key[7] < '0' || key[7] > '9') return -1;
    const long long number = strtoll(key + 7, &end, 10);
    *what = end + 1;
    return *end == '_' ? number : -1;
}

static lob_status find_segments(parser *p)
{
    lob_nrrd *n = p->out;
    const char *what;
    int count = 0;
    for (int i = 0; i < n->key_count; i++) count += segment_of(n->keys[i], &what) >= 0;
    if (count == 0) return LOB_OK;
    n->segments = calloc((size_t)count, sizeof *n->segments);
    bool *named = calloc((size_t)count, 1);
    if (!n->segments || !named) {
        free(named);
        return LOB_FAIL(p, LOB_ENOMEM, "no memory for its segments");
    }
    for (int i = 0; i < count; i++) n->segments[i] = (lob_nrrd_segment){.layer = i, .value = 1};
    for (int i = 0; i < n->key_count; i++) {
        const int64_t at = segment_of(n->keys[i], &what);
        if (at < 0 || at >= count) continue;
        lob_nrrd_segment *s = &n->segments[at];
        if (strcmp(what, "ID") == 0) named[at] = true;
        if (strcmp(what, "Name") == 0) s->name = n->values[i];
        if (strcmp(what, "Color") == 0) s->colour = n->values[i];
        if (strcmp(what, "Tags") == 0) s->tags = n->values[i];
        if (strcmp(what, "Layer") == 0) scan_whole(&s->layer, n->values[i]);
        if (strcmp(what, "LabelValue") == 0) scan_whole(&s->value, n->values[i]);
    }
    /* 3D Slicer reads segments 0, 1, 2 ... up to the first that has no ID. */
    while (n->segment_count < count && named[n->segment_count]) n->segment_count++;
    free(named);
    return LOB_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Do the values of segments tell them all apart? */
static lob_status find_whether_distinct(bool *is, const parser *p)
{
    const lob_nrrd *const n = p->out;
    int64_t *const values = malloc(((size_t)n->segment_count + 1) * sizeof *values);
    if (!values) return LOB_FAIL(p, LOB_ENOMEM, "no memory for its segments");
    for (int i = 0; i < n->segment_count; i++) values[i] = n->segments[i].value;
    qsort(values, (size_t)n->segment_count, sizeof *values, compare_numbers);
    *is = true;
    for (int i = 1; i < n->segment_count; i++) *is = *is && values[i] != values[i - 1];
    free(values);
    return LOB_OK;
}

/* Values stay labels in one layer, and in several where they tell all segments apart. */
static lob_status number_segments(parser *p)
{
    lob_nrrd *const n = p->out;
    bool keeps = n->image.side[LOB_RAW_CHANNEL] == 1;
    if (!keeps) LOB_TRY(find_whether_distinct(&keeps, p));
    for (int i = 0; i < n->segment_count; i++) {
        lob_nrrd_segment *const s = &n->segments[i];
        s->label = keeps ? s->value : i + 1;
        n->renumbered = n->renumbered || s->label != s->value;
    }
    return LOB_OK;
}

char *lob_nrrd_terminology(const lob_nrrd_segment *segment)
{
    static const char key[] = "TerminologyEntry:";
    const char *at = segment->tags ? strstr(segment->tags, key) : NULL;
    if (!at) return NULL;
    at += sizeof key - 1;
    return strndup(at, strcspn(at, "|"));
}

/* ---- all of it ---- */

lob_status lob_nrrd_parse(lob_nrrd *out, const unsigned char *bytes, size_t size,
                          const lob_reading *r)
{
    parser p = {.out = out, .path = r->path, .error = r->error};
    axes a = {0};
    int axis_of[3];
    *out = (lob_nrrd){0};
    if (!lob_nrrd_looks(bytes, size)) return LOB_FAIL(r, LOB_EDATA, "is no NRRD");
    LOB_TRY(take_lines(&p, bytes, size));
    LOB_TRY(find_type(&p));
    LOB_TRY(find_storage(&p));
    LOB_TRY(find_sizes(&p, &a));
    LOB_TRY(find_directions(&p, &a));
    LOB_TRY(place_axes(&p, &a, axis_of));
    LOB_TRY(find_geometry(&p, &a, axis_of));
    LOB_TRY(find_segments(&p));
    LOB_TRY(number_segments(&p));
    if (value_of_key(out, "Segmentation_Extent"))
        return LOB_FAIL(r, LOB_EDATA,
                        "is a segmentation in the form of before 2016; save it again in 3D "
                        "Slicer");
    if (out->geometry.unoriented && a.directed)
        lob_warn(r->info, "%s: its space '%.60s' does not say how it lies in the patient", r->path,
                 p.space ? p.space : "");
    return LOB_OK;
}

void lob_nrrd_free(lob_nrrd *nrrd)
{
    LOB_FREE(nrrd->text, nrrd->keys, nrrd->values, nrrd->segments);
    *nrrd = (lob_nrrd){0};
}
