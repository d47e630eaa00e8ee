/* Choosing a transform as ITK, nibabel and MRtrix do. */
#include "tools/inout/nifti_readers.h"

#include "io/formats.h"
#include "io/nifti/nifti_header.h"

#include <math.h>
#include <string.h>

/* The header's transforms, in its own units. */
typedef struct {
    bool has_q, has_s;
    double q[3][4], s[3][4], pixdim[3], sides[3];
    int sform_code, version;
    double unit_mm;
} forms;

/* Does the volume carry a NIfTI header? */
static bool is_nifti(const lob_volume *volume)
{
    return volume->header.format && strcmp(volume->header.format, lob_nifti_name) == 0;
}

bool lob_nifti_says_labels(const lob_volume *volume)
{
    enum { INTENT_LABEL = 1002 };
    return is_nifti(volume) &&
           lob_nifti_int(volume->header.bytes, LOB_NIFTI_intent_code, 0) == INTENT_LABEL;
}

/* The qform alone, in the header's units; false where it spans no space. */
static bool take_qform(double affine[3][4], const lob_nifti *header)
{
    lob_nifti alone = *header;
    lob_file_info info = {.format = NULL};
    const lob_read_options options = lob_read_defaults();
    const lob_reading reading = {.path = "", .options = &options, .info = &info};
    lob_geometry geometry;
    lob_nifti_put_int(alone.bytes, LOB_NIFTI_sform_code, 0, 0);
    lob_nifti_put_int(alone.bytes, LOB_NIFTI_xyzt_units, 0, 0);
    lob_nifti_geometry(&geometry, &alone, &reading);
    memcpy(affine, geometry.affine, sizeof geometry.affine);
    return info.warnings == 0;
}

static void take_forms(forms *f, const lob_nifti *header)
{
    static const lob_nifti_field rows[3] = {LOB_NIFTI_srow_x, LOB_NIFTI_srow_y, LOB_NIFTI_srow_z};
    static const double unit[8] = {1, 1000, 1, 0.001, 1, 1, 1, 1};
    const unsigned char *const h = header->bytes;
    *f = (forms){.version = header->version,
                 .sform_code = (int)lob_nifti_int(h, LOB_NIFTI_sform_code, 0),
                 .unit_mm = unit[lob_nifti_int(h, LOB_NIFTI_xyzt_units, 0) & 7]};
    f->has_s = f->sform_code > 0;
    f->has_q = lob_nifti_int(h, LOB_NIFTI_qform_code, 0) > 0 && take_qform(f->q, header);
    for (int a = 0; a < 3; a++) {
        for (int c = 0; c < 4; c++) f->s[a][c] = lob_nifti_real(h, rows[a], c);
        f->pixdim[a] = fabs(lob_nifti_real(h, LOB_NIFTI_pixdim, a + 1));
        if (!(f->pixdim[a] > 0) || !isfinite(f->pixdim[a])) f->pixdim[a] = 1;
        f->sides[a] = (double)lob_side(header->dims, a);
    }
}

static double length_of(double affine[3][4], int column)
{
    return sqrt(affine[0][column] * affine[0][column] + affine[1][column] * affine[1][column] +
                affine[2][column] * affine[2][column]);
}

/* Are the columns at right angles, as ITK asks? */
static bool is_square(double affine[3][4])
{
    static const double tolerance = 1e-4;
    for (int a = 0; a < 3; a++) {
        const int b = (a + 1) % 3;
        double dot = 0;
        const double product = length_of(affine, a) * length_of(affine, b);
        for (int r = 0; r < 3; r++) dot += affine[r][a] * affine[r][b];
        if (!(fabs(dot) <= tolerance * product) || !(product > 0)) return false;
    }
    return true;
}

static bool is_near(double a[3][4], double b[3][4])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            if (!(fabs(a[r][c] - b[r][c]) <= 1e-4)) return false;
    return true;
}

/* A reading that takes an affine; spacing NULL: the lengths of its columns. */
static lob_nifti_reading take(const char *program, const char *transform, double affine[3][4],
                              const double *spacing)
{
    lob_nifti_reading r = {.program = program, .transform = transform};
    double sized[3][4];
    memcpy(sized, affine, sizeof sized);
    for (int c = 0; c < 3; c++) {
        const double length = length_of(affine, c);
        r.spacing[c] = spacing ? spacing[c] : length;
        for (int row = 0; row < 3; row++) sized[row][c] *= r.spacing[c] / length;
    }
    r.refused = !lob_geometry_of_affine(&r.geometry, sized);
    if (r.refused) r.transform = "its transform spans no space";
    return r;
}

static lob_nifti_reading as_itk(forms *f)
{
    if (f->version == 2)
        return (lob_nifti_reading){
            .program = "ITK", .transform = "NIfTI-2 is not read (ITK 5.4)", .refused = true};
    double plain[3][4] =
        {
            {-1, 0,  0, 0},
            {0,  -1, 0, 0},
            {0,  0,  1, 0}
    },
           mm[3];
    for (int a = 0; a < 3; a++) mm[a] = f->pixdim[a] * f->unit_mm;
    const bool same = f->has_q && f->has_s && is_near(f->q, f->s);
    if (!f->has_q && !f->has_s) return take("ITK", "none", plain, mm);
    if (f->has_s && is_square(f->s) && (!f->has_q || f->sform_code == 1 || same))
        return take("ITK", "sform", f->s, mm);
    if (f->has_q) return take("ITK", "qform", f->q, mm);
    return (lob_nifti_reading){.program = "ITK",
                               .transform = "the axes of its sform are not at right angles, and "
                                            "there is no qform",
                               .refused = true};
}

/* As programs that take the sform first; without transforms, with the middle at 0 and an x axis to
 * the right or, with -1, the left. */
static lob_nifti_reading by_sform(forms *f, const char *program, double right)
{
    double plain[3][4] = {{0}};
    if (f->has_s) return take(program, "sform", f->s, NULL);
    if (f->has_q) return take(program, "qform", f->q, NULL);
    for (int a = 0; a < 3; a++) {
        plain[a][a] = (a == 0 ? right : 1) * f->pixdim[a];
        plain[a][3] = -plain[a][a] * (f->sides[a] - 1) / 2;
    }
    return take(program, "none", plain, NULL);
}

static lob_nifti_reading as_nibabel(forms *f)
{
    lob_nifti_reading r = by_sform(f, "nibabel", -1);
    memcpy(r.spacing, f->pixdim, sizeof r.spacing); /* get_zooms, whatever the affine */
    return r;
}

bool lob_nifti_read_as(lob_nifti_readings *out, const lob_volume *volume)
{
    lob_nifti header;
    forms f;
    if (!is_nifti(volume) || lob_nifti_parse(&header, volume->header.bytes, volume->header.size,
                                             &(lob_reading){.path = ""}) != LOB_OK)
        return false;
    take_forms(&f, &header);
    *out = (lob_nifti_readings){
        .qform_code = (int)lob_nifti_int(header.bytes, LOB_NIFTI_qform_code, 0),
        .sform_code = f.sform_code,
        .unit_mm = f.unit_mm,
        .reading = {as_itk(&f), as_nibabel(&f), by_sform(&f, "MRtrix", 1)}
    };
    return true;
}

/* ---- outputs ---- */

static bool is_nifti_name(const char *path)
{
    lob_location where;
    if (lob_location_of(&where, path) != LOB_OK) return false;
    const lob_format *const format = lob_format_of_name(&where, NULL);
    lob_location_free(&where);
    return format && strcmp(format->name, lob_nifti_name) == 0;
}

bool lob_nifti_is_sheared(double *mm, const lob_volume *volume, const char *path)
{
    unsigned char header[LOB_NIFTI_MAX_BYTES];
    double affine[3][4];
    const lob_nifti_type *type;
    lob_nifti_readings all;
    memcpy(affine, volume->geometry.affine, sizeof affine);
    if (is_square(affine) || !is_nifti_name(path)) return false;
    lob_volume made = *volume; /* what a reader will find */
    made.header = (lob_header){.format = lob_nifti_name, .bytes = header};
    made.header.size = lob_nifti_make(header, &type, &(lob_nifti_plan){.volume = volume});
    if (!lob_nifti_read_as(&all, &made)) return false;
    const lob_nifti_reading *const itk = &all.reading[0], *const nibabel = &all.reading[1];
    if (nibabel->refused || lob_nifti_version(header) == 2)
        return false; /* ITK reads none of these */
    *mm = itk->refused ? INFINITY
                       : all.unit_mm *
                             lob_corners_apart_mm(&itk->geometry, &nibabel->geometry, volume->dims);
    return *mm > 0.01 * lob_least_spacing(volume->dims, volume->geometry.spacing_mm);
}
