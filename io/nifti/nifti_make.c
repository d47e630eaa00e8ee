/* Making NIfTI headers for outputs: the input's own with the changes of io/nifti/nifti.h, or a new
 * one.
 */
#include "io/format.h"
#include "io/nifti/nifti.h"
#include "io/nifti/nifti_header.h"
#include "volumes/version.h"

#include <nifti2_io.h>
#include <stdint.h>
#include <string.h>

#define FIELD(name, why) LOB_NIFTI_##name,
static const lob_nifti_field label_fields[] = {LOB_NIFTI_LABEL_FIELDS(FIELD)};
static const lob_nifti_field data_fields[] = {LOB_NIFTI_DATA_FIELDS(FIELD)};
static const lob_nifti_field grid_fields[] = {LOB_NIFTI_GRID_FIELDS(FIELD)};
#undef FIELD

enum { NIFTI1_SIDE = INT16_MAX };

static bool carries_header(const lob_volume *v)
{
    return v->header.format && strcmp(v->header.format, lob_nifti_name) == 0 && v->header.bytes &&
           (v->header.size == LOB_NIFTI1_BYTES || v->header.size == LOB_NIFTI2_BYTES);
}

/* Numbers of a voxel, in each frame, that are stored apart. */
static int64_t vectors_of(const lob_volume *v, const lob_nifti_type *type)
{
    return v->channels / lob_frames_held(v) / type->channels;
}

static const lob_nifti_type *stored_type(const lob_nifti_plan *plan, const lob_nifti *before)
{
    const lob_volume *v = plan->volume;
    const int channels = v->channels / (int)lob_frames_held(v);
    const bool colour = v->type == LOB_U8 && (channels == 3 || channels == 4);
    const bool interleave = colour && (!before || before->type->channels == channels);
    return lob_nifti_type_for(v->type, interleave ? channels : 1);
}

/* The volume on its grid; before's own numbers where they say the same. */
static void put_dims(unsigned char *header, const lob_volume *v, int64_t vectors,
                     const lob_nifti *before)
{
    const int64_t frames = lob_frames_held(v), rank = vectors > 1 ? 5 : frames > 1 ? 4 : 3;
    const int64_t side[8] = {rank, v->dims.nx, v->dims.ny, v->dims.nz, frames, vectors, 1, 1};
    const bool same = before && lob_same_dims(before->dims, v->dims) && before->frames == frames &&
                      before->vectors == vectors;
    for (int i = 0; i < 8; i++)
        lob_nifti_put_int(header, LOB_NIFTI_dim, i,
                          same ? lob_nifti_int(before->bytes, LOB_NIFTI_dim, i) : side[i]);
}

void lob_nifti_put_geometry(unsigned char *header, const lob_volume *v)
{
    const lob_geometry *const g = &v->geometry;
    const bool timed = lob_frames_held(v) > 1 && v->frame_step_s > 0;
    nifti_dmat44 m = {{{0}}};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++) m.m[r][c] = g->affine[r][c];
    m.m[3][3] = 1;
    double quatern[3], offset[3], size[3], qfac;
    nifti_dmat44_to_quatern(m, &quatern[0], &quatern[1], &quatern[2], &offset[0], &offset[1],
                            &offset[2], &size[0], &size[1], &size[2], &qfac);
    lob_nifti_put_real(header, LOB_NIFTI_pixdim, 0, qfac);
    for (int i = 1; i < 8; i++)
        lob_nifti_put_real(header, LOB_NIFTI_pixdim, i,
                           i < 4             ? g->spacing_mm[i - 1]
                           : i == 4 && timed ? v->frame_step_s
                                             : 1);
    for (int i = 0; i < 3; i++) {
        lob_nifti_put_real(header, (lob_nifti_field)(LOB_NIFTI_quatern_b + i), 0, quatern[i]);
        lob_nifti_put_real(header, (lob_nifti_field)(LOB_NIFTI_qoffset_x + i), 0, offset[i]);
        for (int c = 0; c < 4; c++)
            lob_nifti_put_real(header, (lob_nifti_field)(LOB_NIFTI_srow_x + i), c, g->affine[i][c]);
    }
    lob_nifti_put_int(header, LOB_NIFTI_qform_code, 0, NIFTI_XFORM_SCANNER_ANAT);
    lob_nifti_put_int(header, LOB_NIFTI_sform_code, 0, NIFTI_XFORM_SCANNER_ANAT);
    lob_nifti_put_int(header, LOB_NIFTI_xyzt_units, 0,
                      NIFTI_UNITS_MM | (timed ? NIFTI_UNITS_SEC : 0));
}

static void put_label_fields(unsigned char *header, int64_t largest)
{
    lob_nifti_put_real(header, LOB_NIFTI_scl_slope, 0, 1);
    lob_nifti_put_real(header, LOB_NIFTI_scl_inter, 0, 0);
    lob_nifti_put_real(header, LOB_NIFTI_cal_max, 0, (double)largest);
    lob_nifti_put_int(header, LOB_NIFTI_intent_code, 0, NIFTI_INTENT_LABEL);
    lob_nifti_put_text(header, LOB_NIFTI_intent_name, "labels");
}

static void copy_field(unsigned char *to, const unsigned char *from, lob_nifti_field field)
{
    const lob_nifti_place place = lob_nifti_place_of(field, lob_nifti_version(to));
    memcpy(to + place.offset, from + place.offset, place.bytes);
}

/* What holds for voxels that are data: before's own fields as long as they are still true. */
static void put_data_fields(unsigned char *header, const lob_volume *v, int64_t vectors,
                            const lob_nifti *before)
{
    static const lob_nifti_field scaling[] = {LOB_NIFTI_scl_slope, LOB_NIFTI_scl_inter};
    static const lob_nifti_field window[] = {LOB_NIFTI_cal_max, LOB_NIFTI_cal_min};
    static const lob_nifti_field intent[] = {LOB_NIFTI_intent_p1, LOB_NIFTI_intent_p2,
                                             LOB_NIFTI_intent_p3, LOB_NIFTI_intent_code,
                                             LOB_NIFTI_intent_name};
    const bool same_scaling = before && before->slope == v->slope && before->inter == v->inter;
    const bool same_values = same_scaling && before->type->type == v->type;
    const bool same_channels =
        before && before->vectors * before->type->channels == v->channels / lob_frames_held(v);

    lob_nifti_put_real(header, LOB_NIFTI_scl_slope, 0, v->slope);
    lob_nifti_put_real(header, LOB_NIFTI_scl_inter, 0, v->inter);
    if (vectors > 1) lob_nifti_put_int(header, LOB_NIFTI_intent_code, 0, NIFTI_INTENT_VECTOR);
    for (size_t i = 0; same_scaling && i < sizeof scaling / sizeof scaling[0]; i++)
        copy_field(header, before->bytes, scaling[i]);
    for (size_t i = 0; same_values && i < sizeof window / sizeof window[0]; i++)
        copy_field(header, before->bytes, window[i]);
    for (size_t i = 0; same_channels && i < sizeof intent / sizeof intent[0]; i++)
        copy_field(header, before->bytes, intent[i]);
}

/* In NIfTI-2 the magic goes on with bytes that a transfer in text mode would damage. */
static void put_magic(unsigned char *header, int version, bool pair)
{
    const char magic[] = {'n', pair ? 'i' : '+', version == 2 ? '2' : '1', 0, '\r', '\n', 032,
                          '\n'};
    const lob_nifti_place place = lob_nifti_place_of(LOB_NIFTI_magic, version);
    memcpy(header + place.offset, magic, place.bytes);
}

/* A complete header for the output, as if it came from no file but for what before says. */
static void make_new(unsigned char *header, int version, const lob_nifti_type *type,
                     const lob_nifti_plan *plan, const lob_nifti *before)
{
    const lob_volume *v = plan->volume;
    const int64_t vectors = vectors_of(v, type);
    const int32_t size = version == 2 ? LOB_NIFTI2_BYTES : LOB_NIFTI1_BYTES;
    memset(header, 0, LOB_NIFTI_MAX_BYTES);
    memcpy(header, &size, sizeof size);
    lob_nifti_put_text(header, LOB_NIFTI_regular, "r");
    put_dims(header, v, vectors, before);
    lob_nifti_put_geometry(header, v);
    lob_nifti_put_int(header, LOB_NIFTI_datatype, 0, type->code);
    lob_nifti_put_int(header, LOB_NIFTI_bitpix, 0, (int64_t)(8 * type->bytes));
    lob_nifti_put_int(
        header, LOB_NIFTI_vox_offset, 0,
        plan->pair ? 0 : (int64_t)((size_t)size + LOB_NIFTI_EXTENDER + plan->extension_bytes));
    lob_nifti_put_text(header, LOB_NIFTI_descrip, "lobule " LOB_VERSION);
    if (plan->labels)
        put_label_fields(header, plan->largest_label);
    else
        put_data_fields(header, v, vectors, before);
    put_magic(header, version, plan->pair);
}

/* Does the header describe exactly the grid of the volume, so that reading it gives the same
 * numbers?
 */
static bool is_on_grid(const lob_volume *v, const lob_nifti *header)
{
    lob_geometry described;
    const lob_read_options options = lob_read_defaults();
    lob_nifti_geometry(&described, header, &(lob_reading){.path = "", .options = &options});
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            if (described.affine[r][c] != v->geometry.affine[r][c]) return false;
    return lob_same_dims(header->dims, v->dims);
}

size_t lob_nifti_make(unsigned char header[LOB_NIFTI_MAX_BYTES], const lob_nifti_type **type,
                      const lob_nifti_plan *plan)
{
    const lob_volume *v = plan->volume;
    unsigned char carried[LOB_NIFTI_MAX_BYTES];
    lob_nifti parsed;
    const bool has = carries_header(v) && lob_nifti_parse(&parsed, v->header.bytes, v->header.size,
                                                          &(lob_reading){.path = ""}) == LOB_OK;
    const bool on_grid = has && is_on_grid(v, &parsed);
    *type = stored_type(plan, has ? &parsed : NULL);
    const int64_t vectors = vectors_of(v, *type);
    int version = has ? parsed.version : 1;
    if (has) memcpy(carried, parsed.bytes, sizeof carried);
    if (version == 1 &&
        (v->dims.nx > NIFTI1_SIDE || v->dims.ny > NIFTI1_SIDE || v->dims.nz > NIFTI1_SIDE ||
         vectors > NIFTI1_SIDE || lob_frames_held(v) > NIFTI1_SIDE)) {
        version = 2;
        if (has) {
            lob_nifti_widen(carried, parsed.bytes);
            memcpy(parsed.bytes, carried, sizeof carried);
        }
    }
    make_new(header, version, *type, plan, has ? &parsed : NULL);
    const size_t size = version == 2 ? LOB_NIFTI2_BYTES : LOB_NIFTI1_BYTES;
    if (!has) return size;

    const lob_nifti_field *fields = plan->labels ? label_fields : data_fields;
    const size_t count = plan->labels ? sizeof label_fields / sizeof label_fields[0]
                                      : sizeof data_fields / sizeof data_fields[0];
    for (size_t i = 0; i < count; i++) copy_field(carried, header, fields[i]);
    if (!on_grid)
        for (size_t i = 0; i < sizeof grid_fields / sizeof grid_fields[0]; i++)
            copy_field(carried, header, grid_fields[i]);
    memcpy(header, carried, size);
    return size;
}
