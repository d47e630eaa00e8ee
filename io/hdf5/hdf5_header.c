/* What of an HDF5 file is carried to outputs: a text in JSON, and a NIfTI header that it keeps. */
#include "io/hdf5/hdf5_parts.h"

#include "io/nifti/nifti_header.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static void warn_dropped(int dropped, const lob_hdf5_view *view, const char *what,
                         const char *kinds, const lob_hdf5_reading *in)
{
    if (dropped > 0)
        lob_warn(in->info,
                 "%s: %d of its %s are left out: too large, too many or of another kind than %s",
                 view->path, dropped, what, kinds);
}

static void add_metadata(cJSON *root, const lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    char path[LOB_HDF5_PATH];
    if (!lob_hdf5_parent(path, view->path, "VoxelData") || strlen(path) + 10 > sizeof path) return;
    strcat(path, "/MetaData");
    const hid_t group = lob_hdf5_open(in, path);
    if (group >= 0 && H5Iget_type(group) == H5I_GROUP) {
        cJSON *entries = cJSON_AddArrayToObject(root, "metadata");
        warn_dropped(lob_hdf5_metadata_read(entries, group), view, "metadata entries", "ITK's", in);
    }
    if (group >= 0) H5Oclose(group);
}

static bool is_same_object(hid_t a, hid_t b)
{
    H5O_info_t about_a, about_b;
    return H5Oget_info(a, &about_a) >= 0 && H5Oget_info(b, &about_b) >= 0 &&
           about_a.addr == about_b.addr;
}

/* The second name of a data set of ours, malloc'ed; NULL when it has none. */
static char *second_name(const lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    char *path = lob_hdf5_text(view->set, LOB_HDF5_BESIDE, "");
    const hid_t other = path ? lob_hdf5_open(in, path) : -1;
    const bool is = other >= 0 && is_same_object(other, view->set);
    if (other >= 0) H5Oclose(other);
    if (is) return path;
    free(path);
    return NULL;
}

static void add_attributes(cJSON *root, const lob_hdf5_view *view, const char *beside,
                           const lob_hdf5_reading *in)
{
    cJSON_AddStringToObject(root, "beside", beside);
    cJSON *entries = cJSON_AddArrayToObject(root, "attributes");
    warn_dropped(lob_hdf5_attributes_read(entries, view->set), view, "attributes",
                 "numbers and strings", in);
}

char *lob_hdf5_header_text(const lob_hdf5_view *view, const lob_hdf5_layout *layout,
                           const lob_hdf5_reading *in)
{
    const bool itk = layout == &lob_hdf5_itk;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "layout", layout->name);
    cJSON_AddStringToObject(root, "dataset", view->path);
    if (itk) add_metadata(root, view, in);
    char *other = itk ? second_name(view, in) : NULL;
    if (other || layout == &lob_hdf5_plain)
        add_attributes(root, view, other ? other : view->path, in);
    free(other);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

unsigned char *lob_hdf5_nifti(int64_t *bytes, const lob_hdf5_reading *in)
{
    static const char path[] = "/" LOB_HDF5_NIFTI_GROUP "/" LOB_HDF5_NIFTI_SET;
    *bytes = 0;
    const hid_t set = lob_hdf5_open_set(in, path);
    unsigned char *nifti = NULL;
    if (set < 0) return NULL;
    const lob_hdf5_values v = lob_hdf5_values_open(set, NULL);
    if (H5Tequal(v.type, H5T_NATIVE_UINT8) > 0 && v.n >= LOB_NIFTI1_BYTES &&
        v.n <= LOB_HDF5_MAX_NIFTI)
        nifti = malloc((size_t)v.n);
    if (nifti && lob_hdf5_values_read(&v, v.type, nifti)) *bytes = v.n;
    lob_hdf5_values_close(&v);
    H5Oclose(set);
    if (*bytes) return nifti;
    free(nifti);
    return NULL;
}
