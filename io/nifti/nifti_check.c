/* Checking a NIfTI header: nothing in it is believed before it has been through here. */
#include "io/format.h"
#include "io/nifti/nifti_header.h"

#include <limits.h>
#include <math.h>
#include <nifti2_io.h>
#include <string.h>

static int32_t int32_at(const unsigned char *bytes, bool swapped)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return (int32_t)(swapped ? __builtin_bswap32(value) : value);
}

/* Version and byte order by the header's first number; 0 when it is not a header. */
static int version_of(const unsigned char *bytes, size_t n, bool *swapped)
{
    if (n < 4) return 0;
    for (int swap = 0; swap < 2; swap++) {
        const int32_t size = int32_at(bytes, swap);
        *swapped = swap;
        if (size == LOB_NIFTI1_BYTES) return 1;
        if (size == LOB_NIFTI2_BYTES) return 2;
    }
    return 0;
}

bool lob_nifti_looks(const unsigned char *bytes, size_t n)
{
    bool swapped;
    return version_of(bytes, n, &swapped) != 0;
}

static lob_status check_magic(lob_nifti *h, const lob_reading *r)
{
    const unsigned char *magic = h->bytes + lob_nifti_place_of(LOB_NIFTI_magic, h->version).offset;
    if (h->version == 1) {
        h->pair = memcmp(magic, "ni1", 4) == 0;
        if (h->pair || memcmp(magic, "n+1", 4) == 0) return LOB_OK;
        return LOB_FAIL(
            r, LOB_EDATA,
            "is ANALYZE 7.5 or damaged NIfTI (no magic \"n+1\" or \"ni1\"); ANALYZE does "
            "not say which side is left, so convert it with a tool that knows its origin");
    }
    h->pair = memcmp(magic, "ni2", 4) == 0;
    if (!h->pair && memcmp(magic, "n+2", 4) != 0)
        return LOB_FAIL(r, LOB_EDATA, "damaged: a NIfTI-2 header without its magic");
    if (memcmp(magic + 4, "\r\n\032\n", 4) != 0)
        return LOB_FAIL(
            r, LOB_EDATA,
            "damaged: its line ends were changed, as by a transfer in text mode; copy it "
            "again in binary mode");
    return LOB_OK;
}

static lob_status check_type(lob_nifti *h, const lob_reading *r)
{
    const int64_t code = lob_nifti_int(h->bytes, LOB_NIFTI_datatype, 0);
    const int64_t bits = lob_nifti_int(h->bytes, LOB_NIFTI_bitpix, 0);
    h->type = lob_nifti_type_of(code);
    if (code == DT_BINARY)
        return lob_fail_file_hint(r->error, LOB_EDATA, LOB_HINT_CONVERT, r->path,
                                  "one-bit voxels are not read; convert it to uint8");
    if (!h->type)
        return LOB_FAIL(r, LOB_EDATA, "damaged: there is no datatype %lld", (long long)code);
    if (bits == 0)
        lob_warn(r->info, "%s: bitpix is 0; %s has %zu", r->path, h->type->name,
                 8 * h->type->bytes);
    else if (bits != (int64_t)(8 * h->type->bytes))
        return LOB_FAIL(r, LOB_EDATA, "damaged: datatype %s has %zu bits, but bitpix says %lld",
                        h->type->name, 8 * h->type->bytes, (long long)bits);
    return LOB_OK;
}

static lob_status check_dims(lob_nifti *h, const lob_reading *r)
{
    const int64_t rank = lob_nifti_int(h->bytes, LOB_NIFTI_dim, 0);
    if (rank < 1 || rank > 7)
        return LOB_FAIL(r, LOB_EDATA, "damaged: dim[0] is %lld, but must be 1 to 7",
                        (long long)rank);
    int64_t side[8] = {0, 1, 1, 1, 1, 1, 1, 1};
    for (int i = 1; i <= rank; i++) {
        side[i] = lob_nifti_int(h->bytes, LOB_NIFTI_dim, i);
        if (side[i] < 1)
            return LOB_FAIL(r, LOB_EDATA, "damaged: dim[%d] is %lld, but must be 1 or more", i,
                            (long long)side[i]);
    }
    if (side[6] > 1 || side[7] > 1)
        return lob_fail_file_hint(
            r->error, LOB_EDATA, LOB_HINT_CONVERT, r->path,
            "has %lld dimensions; at most 5 are read (x, y, z, time, channel)", (long long)rank);
    if (side[5] > INT_MAX / 4 || (side[5] > 1 && h->type->channels > 1))
        return LOB_FAIL(r, LOB_EDATA, "dim[5] is %lld, which %s voxels cannot have",
                        (long long)side[5], h->type->name);
    h->dims = (lob_dims){side[1], side[2], side[3]};
    h->frames = side[4];
    h->vectors = side[5];
    const int64_t voxels = lob_product(side[1], side[2], side[3], 1);
    h->frame_bytes = lob_product(voxels, (int64_t)h->type->bytes, 1, 1);
    h->total_bytes = lob_product(h->frame_bytes, h->frames, h->vectors, 1);
    if (voxels < 0 || h->frame_bytes < 0 || h->total_bytes < 0)
        return LOB_FAIL(r, LOB_EDATA,
                        "damaged: its dimensions, %lld x %lld x %lld x %lld x %lld, are impossible",
                        (long long)side[1], (long long)side[2], (long long)side[3],
                        (long long)side[4], (long long)side[5]);
    return LOB_OK;
}

static lob_status check_offset(lob_nifti *h, const lob_reading *r)
{
    const double said = lob_nifti_real(h->bytes, LOB_NIFTI_vox_offset, 0);
    if (!(said >= 0 && said < 0x1p62) || said != floor(said))
        return LOB_FAIL(r, LOB_EDATA,
                        "damaged: vox_offset is %g, but must be a whole number of bytes", said);
    /* In a single file the voxels cannot lie in the header; old writers leave 0 there. */
    const int64_t first = h->pair ? 0 : (int64_t)h->size + LOB_NIFTI_EXTENDER;
    const int64_t offset = lob_nifti_int(h->bytes, LOB_NIFTI_vox_offset, 0);
    h->vox_offset = (uint64_t)(offset > first ? offset : first);
    return LOB_OK;
}

static lob_status check_scaling(lob_nifti *h, const lob_reading *r)
{
    const double slope = lob_nifti_real(h->bytes, LOB_NIFTI_scl_slope, 0);
    const double inter = lob_nifti_real(h->bytes, LOB_NIFTI_scl_inter, 0);
    h->slope = 1;
    h->inter = 0;
    if (h->type->channels > 1 || slope == 0 || !isfinite(slope)) return LOB_OK; /* not scaled */
    if (!isfinite(inter))
        return LOB_FAIL(r, LOB_EDATA, "damaged: scl_inter is not a finite number");
    h->slope = slope;
    h->inter = inter;
    return LOB_OK;
}

lob_status lob_nifti_parse(lob_nifti *h, const unsigned char *bytes, size_t n, const lob_reading *r)
{
    memset(h, 0, sizeof *h);
    h->version = version_of(bytes, n, &h->swapped);
    if (h->version == 0) {
        static const char text_form[] = "<nifti_image";
        if (n >= sizeof text_form - 1 && memcmp(bytes, text_form, sizeof text_form - 1) == 0)
            return lob_fail_file_hint(r->error, LOB_EDATA, LOB_HINT_CONVERT, r->path,
                                      "the text form of NIfTI is not read; convert it to .nii");
        return LOB_FAIL(r, LOB_EDATA, "is not NIfTI: %s",
                        n < 4 ? "it has no header" : "its header does not begin with 348 or 540");
    }
    h->size = h->version == 2 ? LOB_NIFTI2_BYTES : LOB_NIFTI1_BYTES;
    if (n < h->size)
        return LOB_FAIL(r, LOB_EDATA, "damaged: cut short in its header, after %zu of %zu bytes", n,
                        h->size);
    memcpy(h->bytes, bytes, h->size);
    if (h->swapped) lob_nifti_swap(h->bytes, h->version);

    lob_status st = check_magic(h, r);
    const int64_t intent = lob_nifti_int(h->bytes, LOB_NIFTI_intent_code, 0);
    if (st == LOB_OK && intent >= 3000 && intent <= 3099)
        st = lob_fail_file_hint(
            r->error, LOB_EDATA, LOB_HINT_CONVERT, r->path,
            "is CIFTI, brain surfaces rather than a grid of voxels; take its volume out "
            "with wb_command -cifti-separate");
    if (st == LOB_OK) st = check_type(h, r);
    if (st == LOB_OK) st = check_dims(h, r);
    if (st == LOB_OK) st = check_offset(h, r);
    if (st == LOB_OK) st = check_scaling(h, r);
    return st;
}

void lob_nifti_order_extensions(unsigned char *bytes, size_t n, bool swapped, const lob_reading *r)
{
    if (n < LOB_NIFTI_EXTENDER || bytes[0] == 0) return;
    bool uneven = false;
    size_t at = LOB_NIFTI_EXTENDER;
    while (n - at >= 8) {
        const int32_t size = int32_at(bytes + at, swapped),
                      code = int32_at(bytes + at + 4, swapped);
        if (size == 0 && code == 0) break; /* the zeros up to a round vox_offset */
        if (size < 8 || (size_t)size > n - at) {
            lob_warn(r->info,
                     "%s: an extension claims %d bytes where %zu are left; it is copied as it is",
                     r->path, size, n - at);
            return;
        }
        uneven = uneven || size % 16 != 0;
        memcpy(bytes + at, &size, sizeof size);
        memcpy(bytes + at + 4, &code, sizeof code);
        at += (size_t)size;
    }
    if (uneven) lob_warn(r->info, "%s: the size of an extension is no multiple of 16", r->path);
}

/* ---- geometry ---- */

/* Millimetres in the header's unit of length. */
static double unit_mm(const lob_nifti *h)
{
    switch (lob_nifti_int(h->bytes, LOB_NIFTI_xyzt_units, 0) & 7) {
    case NIFTI_UNITS_METER:
        return 1000;
    case NIFTI_UNITS_MICRON:
        return 0.001;
    default:
        return 1;
    }
}

double lob_nifti_frame_step_s(const lob_nifti *header)
{
    const double step = lob_nifti_real(header->bytes, LOB_NIFTI_pixdim, 4);
    if (lob_nifti_int(header->bytes, LOB_NIFTI_dim, 0) < 4 || !(step > 0) || !isfinite(step))
        return 0;
    switch (lob_nifti_int(header->bytes, LOB_NIFTI_xyzt_units, 0) & 0x38) {
    case NIFTI_UNITS_SEC:
        return step;
    case NIFTI_UNITS_MSEC:
        return step * 1e-3;
    case NIFTI_UNITS_USEC:
        return step * 1e-6;
    default:
        return 0;
    }
}

/* Voxel sizes in the header's unit, made usable; false when something had to be made up. */
static bool voxel_sizes(double out[3], const lob_nifti *h)
{
    const int64_t sides[3] = {h->dims.nx, h->dims.ny, h->dims.nz};
    bool all_said = true;
    for (int i = 0; i < 3; i++) {
        const double said = fabs(lob_nifti_real(h->bytes, LOB_NIFTI_pixdim, i + 1));
        const bool usable = said > 0 && said < 1e9; /* not NaN either */
        out[i] = usable ? said : 1;
        if (!usable && sides[i] > 1) all_said = false; /* a single plane needs no thickness */
    }
    return all_said;
}

static bool scaled_geometry(lob_geometry *out, double affine[3][4], double mm)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) affine[r][c] *= mm;
    return lob_geometry_of_affine(out, affine);
}

static bool sform_geometry(lob_geometry *out, const lob_nifti *h)
{
    const lob_nifti_field row[3] = {LOB_NIFTI_srow_x, LOB_NIFTI_srow_y, LOB_NIFTI_srow_z};
    double affine[3][4];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) affine[r][c] = lob_nifti_real(h->bytes, row[r], c);
    return scaled_geometry(out, affine, unit_mm(h));
}

static bool qform_geometry(lob_geometry *out, const lob_nifti *h)
{
    const unsigned char *b = h->bytes;
    double size[3], quatern[3], offset[3];
    voxel_sizes(size, h);
    for (int i = 0; i < 3; i++) {
        quatern[i] = lob_nifti_real(b, (lob_nifti_field)(LOB_NIFTI_quatern_b + i), 0);
        offset[i] = lob_nifti_real(b, (lob_nifti_field)(LOB_NIFTI_qoffset_x + i), 0);
        if (!(fabs(quatern[i]) < 1e9) || !isfinite(offset[i])) return false;
    }
    /* pixdim[0] tells whether the third axis is turned over; 0 counts as "no" */
    const double qfac = lob_nifti_real(b, LOB_NIFTI_pixdim, 0) < 0 ? -1 : 1;
    const nifti_dmat44 m =
        nifti_quatern_to_dmat44(quatern[0], quatern[1], quatern[2], offset[0], offset[1], offset[2],
                                size[0], size[1], size[2], qfac);
    double affine[3][4];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) affine[r][c] = m.m[r][c];
    return scaled_geometry(out, affine, unit_mm(h));
}

static void compare_forms(const lob_geometry *s, const lob_geometry *q, const lob_nifti *h,
                          const lob_reading *r)
{
    const double *mm = s->spacing_mm;
    const double apart = lob_corners_apart_mm(s, q, h->dims);
    if (apart > 0.1 * fmin(fmin(mm[0], mm[1]), mm[2]))
        lob_warn(r->info, "%s: sform and qform place it up to %.3g mm apart; the sform is used",
                 r->path, apart);
}

static void compare_sizes(const lob_geometry *g, const lob_nifti *h, const lob_reading *r)
{
    const int64_t sides[3] = {h->dims.nx, h->dims.ny, h->dims.nz};
    const double mm = unit_mm(h);
    double size[3];
    voxel_sizes(size, h);
    for (int i = 0; i < 3; i++)
        if (sides[i] > 1 && fabs(size[i] * mm - g->spacing_mm[i]) > 1e-3 * g->spacing_mm[i]) {
            lob_warn(r->info,
                     "%s: pixdim says %.4g x %.4g x %.4g mm, its sform %.4g x %.4g x %.4g, which "
                     "is used",
                     r->path, size[0] * mm, size[1] * mm, size[2] * mm, g->spacing_mm[0],
                     g->spacing_mm[1], g->spacing_mm[2]);
            return;
        }
}

/* All of the geometry but its unit. */
static void find_geometry(lob_geometry *out, const lob_nifti *header, const lob_reading *r)
{
    const bool has_s = lob_nifti_int(header->bytes, LOB_NIFTI_sform_code, 0) > 0;
    const bool has_q = lob_nifti_int(header->bytes, LOB_NIFTI_qform_code, 0) > 0;
    lob_geometry s, q;
    const bool good_s = has_s && sform_geometry(&s, header);
    const bool good_q = has_q && qform_geometry(&q, header);
    if (has_s && !good_s)
        lob_warn(r->info, "%s: its sform is no usable matrix; %s", r->path,
                 good_q ? "the qform is used" : "the voxel sizes alone are used");
    if (has_q && !good_q)
        lob_warn(r->info, "%s: its qform is no usable rotation; %s", r->path,
                 good_s ? "the sform is used" : "the voxel sizes alone are used");
    if (good_s) {
        *out = s;
        if (good_q) compare_forms(&s, &q, header, r);
        compare_sizes(&s, header, r);
        return;
    }
    double size[3];
    if (!voxel_sizes(size, header) && !r->options->spaced)
        lob_warn(r->info, "%s: pixdim gives no usable voxel size; 1 is used where it is missing",
                 r->path);
    if (good_q) {
        *out = q;
        return;
    }
    for (int i = 0; i < 3; i++) size[i] *= unit_mm(header);
    *out = lob_geometry_of_spacing(size);
    out->unoriented = true;
}

void lob_nifti_geometry(lob_geometry *out, const lob_nifti *header, const lob_reading *r)
{
    find_geometry(out, header, r);
    out->micrometres = unit_mm(header) == 0.001;
}
