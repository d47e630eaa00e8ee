/* Making, copying, freeing and comparing volumes. */
#include "volumes/volume.h"
#include "volumes/voxel_memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

lob_volume lob_volume_empty(void)
{
    return (lob_volume){.slope = 1.0, .channels = 1, .frames = 1};
}

/* How far apart corners may lie, as a share of the smallest spacing. */
static const double corner_tolerance = 0.05;

int64_t lob_product(int64_t a, int64_t b, int64_t c, int64_t d)
{
    const int64_t factors[] = {a, b, c, d};
    bool zero = false;
    for (int i = 0; i < 4; i++) {
        if (factors[i] < 0) return -1;
        zero = zero || factors[i] == 0;
    }
    if (zero) return 0; /* before a product of the other three can overflow */
    int64_t product = 1;
    for (int i = 0; i < 4; i++) {
        if (product > INT64_MAX / factors[i]) return -1;
        product *= factors[i];
    }
    return product;
}

int64_t lob_dims_voxels(lob_dims dims)
{
    if (dims.nx < 1 || dims.ny < 1 || dims.nz < 1) return -1;
    return lob_product(dims.nx, dims.ny, dims.nz, 1);
}

double lob_least_spacing(lob_dims dims, const double spacing_mm[3])
{
    double least = INFINITY, any = INFINITY;
    for (int a = 0; a < 3; a++) {
        if (lob_side(dims, a) > 1 && spacing_mm[a] < least) least = spacing_mm[a];
        if (spacing_mm[a] < any) any = spacing_mm[a];
    }
    return isfinite(least) ? least : any;
}

static bool is_plain_float(const lob_volume *volume)
{
    return volume->type == LOB_F32 && !lob_is_scaled(volume);
}

double lob_as_compared(double number, const lob_volume *volume)
{
    return is_plain_float(volume) ? (double)(float)number : number;
}

double lob_next_above(double number, const lob_volume *volume)
{
    return is_plain_float(volume) ? (double)nextafterf((float)number, INFINITY)
                                  : nextafter(number, INFINITY);
}

/* A copy of size bytes; NULL when there are none or no memory, *ok false in the second case. */
static unsigned char *copy_bytes(const unsigned char *bytes, size_t size, bool *ok)
{
    if (!bytes || size == 0) return NULL;
    unsigned char *copy = malloc(size);
    if (!copy) {
        *ok = false;
        return NULL;
    }
    return memcpy(copy, bytes, size);
}

lob_status lob_volume_adopt(lob_volume *out, const lob_volume *like, void **data, lob_type type,
                            int channels)
{
    bool ok = true;
    const lob_header *from = &like->header;
    *out = lob_volume_empty();
    out->header.bytes = copy_bytes(from->bytes, from->size, &ok);
    out->header.extensions = copy_bytes(from->extensions, from->extensions_size, &ok);
    if (!ok || lob_label_names_copy(&out->names, &like->names) != LOB_OK) {
        lob_volume_free(out);
        return LOB_ENOMEM;
    }
    out->header.format = from->format;
    out->header.size = out->header.bytes ? from->size : 0;
    out->header.extensions_size = out->header.extensions ? from->extensions_size : 0;
    out->data = *data;
    out->type = type;
    out->dims = like->dims;
    out->channels = channels;
    out->geometry = like->geometry;
    out->frame_step_s = like->frame_step_s;
    *data = NULL;
    return LOB_OK;
}

lob_status lob_volume_like(lob_volume *out, const lob_volume *like, lob_type type, int channels)
{
    *out = lob_volume_empty();
    const int64_t bytes =
        lob_product(lob_dims_voxels(like->dims), channels, (int64_t)lob_type_of(type)->bytes, 1);
    if (bytes < 1 || (uint64_t)bytes > SIZE_MAX) return LOB_ENOMEM;
    void *data = lob_voxel_memory_zero(bytes);
    const lob_status st = data ? lob_volume_adopt(out, like, &data, type, channels) : LOB_ENOMEM;
    free(data);
    return st;
}

lob_volume lob_volume_wrap(void *data, lob_type type, lob_dims dims, int channels,
                           const double spacing_mm[3], lob_place place)
{
    lob_volume volume = lob_volume_empty();
    volume.data = data;
    volume.place = place;
    volume.type = type;
    volume.dims = dims;
    volume.channels = channels;
    volume.geometry = lob_geometry_of_spacing(spacing_mm);
    volume.borrowed = true;
    return volume;
}

void lob_volume_free(lob_volume *volume)
{
    if (!volume) return;
    if (volume->release)
        volume->release(volume->owner, volume->data);
    else if (!volume->borrowed)
        free(volume->data);
    free(volume->header.bytes);
    free(volume->header.extensions);
    lob_label_names_free(&volume->names);
    *volume = lob_volume_empty();
}

/* The end of a name that is too long for a message that has more to say. */
static const char *name_end(const char *name)
{
    enum { LONGEST = 300 };
    const size_t length = strlen(name);
    if (length <= LONGEST) return name;
    const char *end = name + length - LONGEST;
    while ((*end & 0xC0) == 0x80) end++; /* not in the middle of a UTF-8 sequence */
    return end;
}

static double distance_mm(const double a[3], const double b[3])
{
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    if (isnan(x) || isnan(y) || isnan(z)) return NAN;
    const double most = fmax(fabs(x), fmax(fabs(y), fabs(z)));
    if (!(most > 0.0) || isinf(most)) return most;
    /* Divided by the largest, no square overflows. hypot would, in several versions of the C
     * library, round differently. */
    return most * sqrt((x / most) * (x / most) + (y / most) * (y / most) + (z / most) * (z / most));
}

double lob_corners_apart_mm(const lob_geometry *a, const lob_geometry *b, lob_dims dims)
{
    double most = 0.0;
    for (int corner = 0; corner < 8; corner++) {
        double voxel[3], at_a[3], at_b[3];
        for (int axis = 0; axis < 3; axis++)
            voxel[axis] = (corner >> axis & 1 ? (double)lob_side(dims, axis) : 0.0) - 0.5;
        lob_voxel_to_world(at_a, a, voxel);
        lob_voxel_to_world(at_b, b, voxel);
        const double apart = distance_mm(at_a, at_b);
        if (!(apart <= most)) most = apart;
    }
    return most;
}

double lob_grid_tolerance_mm(const lob_geometry *a, const lob_geometry *b)
{
    double least = a->spacing_mm[0];
    for (int axis = 0; axis < 3; axis++)
        least = fmin(least, fmin(a->spacing_mm[axis], b->spacing_mm[axis]));
    return corner_tolerance * least;
}

/* The largest angle in degrees between equal axes of two geometries. */
static double axes_apart_degrees(const lob_geometry *a, const lob_geometry *b)
{
    double most = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        double difference = 0.0, sum = 0.0;
        for (int row = 0; row < 3; row++) {
            const double u = a->affine[row][axis] / a->spacing_mm[axis];
            const double v = b->affine[row][axis] / b->spacing_mm[axis];
            difference += (u - v) * (u - v);
            sum += (u + v) * (u + v);
        }
        /* of two unit vectors: exact for small angles, where an arc cosine loses all its digits */
        most = fmax(most, 2.0 * atan2(sqrt(difference), sqrt(sum)));
    }
    return most * 180.0 / acos(-1.0);
}

/* The parts of a sentence, joined by commas. */
typedef struct {
    char text[480];
    size_t used;
} sentence;

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add_part(sentence *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char part[160];
    vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    const size_t room = sizeof to->text - to->used;
    const int wrote = snprintf(to->text + to->used, room, "%s%s", to->used ? ", " : "", part);
    if (wrote > 0) to->used += (size_t)wrote < room ? (size_t)wrote : room - 1;
}

/*
 * Say how the places of two grids differ. Stretch, turn and shift below a quarter of the tolerance
 * are left out: three such together stay within it, so at least one is always named.
 */
static void describe_places(sentence *to, const lob_volume *a, const lob_volume *b,
                            double tolerance_mm)
{
    const double least_mm = tolerance_mm / 4.0;
    const lob_geometry *g = &a->geometry, *h = &b->geometry;
    const double *s = g->spacing_mm, *t = h->spacing_mm;
    const double n[3] = {(double)a->dims.nx, (double)a->dims.ny, (double)a->dims.nz};
    double stretch_mm = 0.0, diagonal_mm = 0.0;
    for (int axis = 0; axis < 3; axis++) {
        stretch_mm = fmax(stretch_mm, fabs(s[axis] - t[axis]) * n[axis]);
        diagonal_mm += s[axis] * n[axis];
    }
    if (stretch_mm > least_mm)
        add_part(to, "spacing %.6g x %.6g x %.6g and %.6g x %.6g x %.6g mm", s[0], s[1], s[2], t[0],
                 t[1], t[2]);

    char code_a[4], code_b[4];
    lob_orientation(code_a, g);
    lob_orientation(code_b, h);
    const double degrees = axes_apart_degrees(g, h);
    if (strcmp(code_a, code_b) != 0)
        add_part(to, "orientation %s and %s", code_a, code_b);
    else if (degrees * acos(-1.0) / 180.0 * diagonal_mm > least_mm)
        add_part(to, "axes turned by %.3g degrees", degrees);

    const double origin_a[3] = {g->affine[0][3], g->affine[1][3], g->affine[2][3]};
    const double origin_b[3] = {h->affine[0][3], h->affine[1][3], h->affine[2][3]};
    const double shift_mm = distance_mm(origin_a, origin_b);
    if (shift_mm > least_mm) add_part(to, "first voxels %.4g mm apart", shift_mm);
}

lob_status lob_same_grid(const lob_volume *a, const char *a_name, const lob_volume *b,
                         const char *b_name, lob_error *error)
{
    const lob_dims m = a->dims, n = b->dims;
    const bool same_dims = lob_same_dims(m, n);
    const double tolerance_mm = lob_grid_tolerance_mm(&a->geometry, &b->geometry);
    const double apart_mm = same_dims ? lob_corners_apart_mm(&a->geometry, &b->geometry, m) : 0.0;
    if (same_dims && apart_mm <= tolerance_mm) return LOB_OK;

    sentence parts = {.used = 0};
    if (!same_dims)
        add_part(&parts, "%lld x %lld x %lld and %lld x %lld x %lld voxels", (long long)m.nx,
                 (long long)m.ny, (long long)m.nz, (long long)n.nx, (long long)n.ny,
                 (long long)n.nz);
    describe_places(&parts, a, b, tolerance_mm);
    if (same_dims)
        add_part(&parts, "corners up to %.4g mm apart (at most %.3g mm are allowed)", apart_mm,
                 tolerance_mm);
    char both[sizeof error->file];
    snprintf(both, sizeof both, "%s and %s", name_end(a_name), name_end(b_name));
    return lob_fail_file_hint(error, LOB_EDATA, LOB_HINT_RESAMPLE, both,
                              "not on the same grid: %s; resample one onto the grid of the other",
                              parts.text);
}
