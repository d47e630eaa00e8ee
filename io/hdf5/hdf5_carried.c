/* What came with an HDF5 file, taken into a volume and told: a text in JSON, and a NIfTI header. */
#include "io/hdf5/hdf5_messages.h"
#include "io/nifti/nifti_header.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

/*
 * Take the NIfTI header if it is one and speaks of this grid. Where it says exactly the same place,
 * but for the rounding of directions, its own numbers are taken, so that a NIfTI output keeps them.
 */
static bool take_nifti(lob_volume *out, const unsigned char *bytes, size_t n,
                       const lob_location *where)
{
    lob_volume v = lob_volume_empty();
    const lob_input file = {.bytes = (unsigned char *)bytes, .size = n};
    const lob_read_options options = {.threads = 1, .header_only = true};
    const lob_reading r = {where, where->path, &file, &options, NULL, NULL};
    if (!lob_nifti_looks(bytes, n) || lob_format_nifti.read(&v, &r) != LOB_OK ||
        !lob_same_dims(v.dims, out->dims)) {
        lob_volume_free(&v);
        return false;
    }
    const double *size = out->geometry.spacing_mm;
    const double smallest_mm = fmin(fmin(size[0], size[1]), size[2]);
    const double apart_mm = lob_corners_apart_mm(&v.geometry, &out->geometry, out->dims);
    const bool near = apart_mm <= 1e-3 * smallest_mm;
    if (apart_mm <= 1e-6 * smallest_mm) out->geometry = v.geometry;
    if (near) {
        out->header = v.header;
        v.header = (lob_header){0};
        out->names = v.names;
        v.names = (lob_label_names){0};
        out->frame_step_s = v.frame_step_s;
    }
    lob_volume_free(&v);
    return near;
}

void lob_hdf5_take_header(lob_volume *out, char *text, size_t text_bytes, unsigned char *nifti,
                          size_t nifti_bytes, const lob_location *where)
{
    if (nifti && take_nifti(out, nifti, nifti_bytes, where))
        free(text);
    else
        out->header = (lob_header){
            .format = lob_format_hdf5.name, .bytes = (unsigned char *)text, .size = text_bytes};
    free(nifti);
}

void lob_hdf5_fields(const lob_header *header, lob_field_fn *field, void *user)
{
    cJSON *root = cJSON_ParseWithLength((const char *)header->bytes, header->size);
    static const char *const names[] = {"layout", "dataset"}, *const lists[] = {"metadata",
                                                                                "attributes"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, names[i]));
        if (text) field(user, names[i], text);
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const cJSON *entry;
        cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(root, lists[i])) {
            const char *name =
                cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name"));
            const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, "value");
            const char *only = cJSON_GetStringValue(cJSON_GetArrayItem(value, 0));
            char *list = cJSON_GetArraySize(value) > 1 ? cJSON_PrintUnformatted(value) : NULL;
            if (name && (list || only)) field(user, name, list ? list : only);
            cJSON_free(list);
        }
    }
    cJSON_Delete(root);
}
