/*
 * ISMRMRD (MRD) images: a group, such as /dataset/image_0, with `data` [N, channels, z, y, x] and
 * `header`, a compound for each of the N. Spacing is field_of_view over matrix_size; position is
 * the centre of the image, read_dir, phase_dir and slice_dir its directions, in LPS. Images of one
 * slice at even distances along slice_dir are the slices of one volume; others are frames. From
 * ismrmrd's dataset.c and mrd_image_data.md.
 */
#include "io/hdf5/hdf5_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a header. */
typedef struct {
    uint16_t matrix[3];
    float view[3], position[3], direction[3][3]; /* mm; read, phase, slice */
} image_header;

static const struct {
    const char *name;
    size_t offset;
    bool whole; /* uint16, else float */
} members[] = {
    {"matrix_size",   offsetof(image_header, matrix),       true },
    {"field_of_view", offsetof(image_header, view),         false},
    {"position",      offsetof(image_header, position),     false},
    {"read_dir",      offsetof(image_header, direction[0]), false},
    {"phase_dir",     offsetof(image_header, direction[1]), false},
    {"slice_dir",     offsetof(image_header, direction[2]), false},
};

enum { MEMBERS = sizeof members / sizeof members[0], MAX_IMAGES = 1 << 20 };

/* ---- finding ---- */

static bool is_header(hid_t set)
{
    const hid_t type = H5Iget_type(set) == H5I_DATASET ? H5Dget_type(set) : -1;
    bool is = type >= 0 && H5Tget_class(type) == H5T_COMPOUND;
    for (int i = 0; is && i < MEMBERS; i++) is = H5Tget_member_index(type, members[i].name) >= 0;
    H5Tclose(type);
    return is;
}

static bool is_image(hid_t group)
{
    return H5Iget_type(group) == H5I_GROUP && lob_hdf5_has(group, "data", NULL) &&
           lob_hdf5_has(group, "header", is_header);
}

static lob_status mrd_find(char path[LOB_HDF5_PATH], const char *asked, const lob_hdf5_reading *in)
{
    if (!lob_hdf5_parent(path, asked, "data")) strcpy(path, asked);
    return lob_hdf5_is(in, path, is_image) ? LOB_OK : lob_hdf5_only(path, asked, in, is_image);
}

/* ---- headers ---- */

static hid_t header_type(void)
{
    const hsize_t three = 3;
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(image_header));
    const hid_t whole = H5Tarray_create2(H5T_NATIVE_UINT16, 1, &three),
                real = H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three);
    for (int i = 0; i < MEMBERS; i++)
        H5Tinsert(type, members[i].name, members[i].offset, members[i].whole ? whole : real);
    H5Tclose(real);
    H5Tclose(whole);
    return type;
}

/* The headers of n images, malloc'ed; NULL when they cannot be read. */
static image_header *read_headers(const char *path, int64_t n, const lob_hdf5_reading *in)
{
    const hid_t set = lob_hdf5_demand_set(in, path);
    if (set < 0) return NULL;
    image_header *headers = n <= MAX_IMAGES ? calloc((size_t)n, sizeof *headers) : NULL;
    const lob_hdf5_values v = lob_hdf5_values_open(set, NULL);
    const hid_t type = header_type();
    const bool ok = headers && v.n == n && lob_hdf5_values_read(&v, type, headers);
    H5Tclose(type);
    lob_hdf5_values_close(&v);
    H5Dclose(set);
    if (ok) return headers;
    free(headers);
    LOB_HDF5_BAD(in, "%s does not hold a header for each of %lld images", path, (long long)n);
    return NULL;
}

static bool same_three(const float a[3], const float b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* Do all images lie in the same directions, the i-th at i times a step from the first? */
static bool lie_evenly(const image_header *h, int64_t n, const double step[3])
{
    const double length = sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
    const double tolerance = 1e-3 * length + 1e-4; /* positions are float32, in mm */
    for (int64_t i = 1; i < n; i++) {
        bool same = same_three(h[i].view, h[0].view);
        for (int a = 0; a < 3; a++) same = same && same_three(h[i].direction[a], h[0].direction[a]);
        if (!same) return false;
        for (int r = 0; r < 3; r++)
            if (!(fabs(h[i].position[r] - h[0].position[r] - (double)i * step[r]) <= tolerance))
                return false;
    }
    return true;
}

/* Are the images slices of one volume? step: from one to the next. */
static bool are_slices(double step[3], const image_header *h, int64_t n)
{
    if (n < 2) return false;
    double along = 0.0, length = 0.0;
    for (int r = 0; r < 3; r++) {
        step[r] = ((double)h[n - 1].position[r] - h[0].position[r]) / (double)(n - 1);
        along += step[r] * h[0].direction[2][r];
        length += step[r] * step[r];
    }
    return sqrt(length) > 1e-3 && fabs(along) > 0.999 * sqrt(length) && lie_evenly(h, n, step);
}

/* ---- the volume ---- */

/* The i-th axis' direction times its spacing; the centre of voxel 0 from that of the image. */
static void take_place(lob_hdf5_view *view, const image_header *h, const double *step,
                       const lob_hdf5_reading *in)
{
    double column[3][3], origin[3];
    for (int r = 0; r < 3; r++) {
        origin[r] = h->position[r];
        for (int a = 0; a < 3; a++) {
            column[a][r] = (double)h->direction[a][r] * h->view[a] / h->matrix[a];
            /* the first of many slices is where its own centre is */
            const int64_t side = a == 2 && step ? 1 : lob_hdf5_side(view, (lob_axis)a);
            origin[r] -= column[a][r] * (double)(side - 1) / 2;
        }
        if (step) column[2][r] = step[r];
    }
    lob_hdf5_take_lps(view, (const double(*)[3])column, origin, in);
}

static lob_status take_headers(lob_hdf5_view *view, const image_header *h,
                               const lob_hdf5_reading *in)
{
    const int64_t n = (int64_t)view->extent[0];
    double step[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        if (h->matrix[i] != view->extent[4 - i])
            return LOB_HDF5_BAD(in, "the header's matrix_size and the data of %s do not agree",
                                view->path);
    if (view->extent[2] == 1 && are_slices(step, h, n)) {
        view->at[LOB_AXIS_Z] = 0;
        view->at[LOB_AXIS_T] = -1;
        take_place(view, h, step, in);
        return LOB_OK;
    }
    const bool chosen = in->frame >= 0 && in->frame < n;
    if (!chosen && !lie_evenly(h, n, step))
        lob_warn(in->info, "%s: its images lie at different places; that of the first is taken",
                 view->path);
    take_place(view, &h[chosen ? in->frame : 0], NULL, in);
    return LOB_OK;
}

static lob_status mrd_view(lob_hdf5_view *view, const char *group, const lob_hdf5_reading *in)
{
    char path[LOB_HDF5_PATH + 16];
    snprintf(path, sizeof path, "%s/data", group);
    LOB_TRY(lob_hdf5_view_set(view, path, in));
    if (view->rank != 5 || !lob_hdf5_take_letters(view, "tczyx"))
        return LOB_HDF5_BAD(in, "%s has %d dimensions; ISMRMRD images have 5", view->path,
                            view->rank);
    snprintf(path, sizeof path, "%s/header", group);
    image_header *headers = read_headers(path, (int64_t)view->extent[0], in);
    if (!headers) return LOB_EDATA;
    const lob_status st = take_headers(view, headers, in);
    free(headers);
    return st;
}

const lob_hdf5_layout lob_hdf5_mrd = {"ISMRMRD", mrd_find, mrd_view};
