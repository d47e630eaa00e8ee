/*
 * MINC 2: /minc-2.0/image/0/image, whose attribute `dimorder` names the dimensions, slowest first.
 * Of each, /minc-2.0/dimensions has start, step (which may be negative), length and
 * direction_cosines, in RAS; the centre of the first voxel is at the sum of start times cosines.
 * Integers stand for real values: valid_range maps to what image-min and image-max say, for the
 * whole volume or for each slice; reals and labels are as they are. Values of slices that differ in
 * this become float32 from 8 and 16 bits, float64 from wider ones. From libminc's volume.c.
 */
#include "io/hdf5/hdf5_parts.h"
#include "volumes/free.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINC_IMAGE "/minc-2.0/image/0"

enum { MAX_SCALES = 1 << 22 };

static bool is_set(hid_t object)
{
    return H5Iget_type(object) == H5I_DATASET;
}

static lob_status minc_find(char path[LOB_HDF5_PATH], const char *asked, const lob_hdf5_reading *in)
{
    const bool is = lob_hdf5_is_above(asked, MINC_IMAGE "/image") &&
                    lob_hdf5_is(in, MINC_IMAGE "/image", is_set);
    strcpy(path, is ? MINC_IMAGE : "");
    return LOB_OK;
}

/* ---- dimensions ---- */

/* Names of dimensions with the parts they play, the world's axes in their order. */
static const struct {
    const char *name;
    char letter;
} dimensions[] = {
    {"xspace",           'x'},
    {"yspace",           'y'},
    {"zspace",           'z'},
    {"vector_dimension", 'c'},
    {"time",             't'},
};

enum { DIMENSIONS = sizeof dimensions / sizeof dimensions[0] };

/*
 * A letter for each dimension of a data set, as many as it has: a `dimorder` left behind may name
 * more. False when one is not known.
 */
static bool dimension_letters(char *letters, int rank, hid_t set)
{
    char *order = lob_hdf5_text(set, "dimorder", ",");
    const char *at = order;
    int n = 0;
    for (; at && n < rank; n++) {
        const size_t length = strcspn(at, ",");
        int k = 0;
        while (k < DIMENSIONS && !(strlen(dimensions[k].name) == length &&
                                   strncmp(at, dimensions[k].name, length) == 0))
            k++;
        if (k == DIMENSIONS) break;
        letters[n] = dimensions[k].letter;
        at = at[length] ? at + length + 1 : NULL;
    }
    letters[n] = '\0';
    free(order);
    return n == rank;
}

/* What a dimension says of the place of its voxels. */
typedef struct {
    double start, step, cosine[3];
} dimension;

static lob_status read_dimension(dimension *out, int axis, const lob_hdf5_view *view,
                                 const lob_hdf5_reading *in)
{
    char path[64];
    *out = (dimension){.step = 1.0};
    out->cosine[axis] = 1.0;
    snprintf(path, sizeof path, "/minc-2.0/dimensions/%s", dimensions[axis].name);
    const hid_t object = lob_hdf5_open(in, path);
    if (object < 0) return LOB_OK;
    lob_hdf5_numbers(&out->start, 1, object, "start");
    lob_hdf5_numbers(&out->step, 1, object, "step");
    double cosine[3];
    if (lob_hdf5_numbers(cosine, 3, object, "direction_cosines") == 3)
        memcpy(out->cosine, cosine, sizeof cosine);
    char *units = lob_hdf5_text(object, "units", ""),
         *spacing = lob_hdf5_text(object, "spacing", "");
    const double mm = lob_hdf5_unit_mm(units, 1.0, view, in);
    const bool irregular = spacing && strncmp(spacing, "irregular", 9) == 0;
    out->start *= mm;
    out->step *= mm;
    LOB_FREE(spacing, units);
    H5Oclose(object);
    if (!irregular) return LOB_OK;
    return LOB_HDF5_BAD(in,
                        "the slices along %s of the MINC volume are not evenly spaced; resample it "
                        "with mincresample",
                        dimensions[axis].name);
}

static lob_status take_place(lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    double affine[3][4] = {{0}};
    for (int a = 0; a < 3; a++) {
        dimension d;
        LOB_TRY(read_dimension(&d, a, view, in));
        for (int r = 0; r < 3; r++) {
            affine[r][a] = d.cosine[r] * d.step;
            affine[r][3] += d.cosine[r] * d.start;
        }
    }
    lob_hdf5_take_affine(view, (const double(*)[4])affine, in);
    return LOB_OK;
}

/* ---- values ---- */

/* image-min or image-max: numbers, and the letters of the dimensions that they run over. */
typedef struct {
    double *values;
    int n;
    char letters[LOB_HDF5_MAX_AXES + 1];
} limits;

static bool read_limits(limits *out, const char *name, const lob_hdf5_reading *in)
{
    char path[64];
    snprintf(path, sizeof path, MINC_IMAGE "/%s", name);
    *out = (limits){.n = -1};
    const hid_t set = lob_hdf5_demand_set(in, path);
    if (set < 0) return false;
    const lob_hdf5_values v = lob_hdf5_values_open(set, NULL);
    const int rank = H5Sget_simple_extent_ndims(v.space);
    if (rank >= 0 && rank <= LOB_HDF5_MAX_AXES && v.n >= 1 && v.n <= MAX_SCALES &&
        (rank == 0 || dimension_letters(out->letters, rank, set)))
        out->values = malloc((size_t)v.n * sizeof *out->values);
    if (out->values) out->n = lob_hdf5_numbers(out->values, (int)v.n, set, NULL);
    lob_hdf5_values_close(&v);
    H5Dclose(set);
    return out->n > 0;
}

/* The limits' steps along the volume's axes; false when they do not fit it. */
static bool limit_steps(int64_t step[LOB_AXIS_ROLES], const limits *l, const lob_hdf5_view *view)
{
    static const char letters[] = "xyzct";
    int64_t whole = 1;
    memset(step, 0, LOB_AXIS_ROLES * sizeof *step);
    for (int i = (int)strlen(l->letters) - 1; i >= 0; i--) {
        const lob_axis axis = (lob_axis)(strchr(letters, l->letters[i]) - letters);
        if (view->at[axis] < 0 || step[axis]) return false;
        step[axis] = whole;
        whole *= lob_hdf5_side(view, axis);
    }
    return whole == l->n;
}

/* The stored numbers that stand for image-min and image-max. */
static void valid_range(double range[2], const lob_hdf5_view *view)
{
    if (lob_hdf5_numbers(range, 2, view->set, "valid_range") != 2) {
        const lob_type_info *type = lob_type_of(view->stored);
        range[0] = type->lowest;
        range[1] = type->highest;
        lob_hdf5_numbers(&range[0], 1, view->set, "valid_min");
        lob_hdf5_numbers(&range[1], 1, view->set, "valid_max");
    }
    if (range[0] > range[1]) {
        const double low = range[1];
        range[1] = range[0];
        range[0] = low;
    }
}

/* From limits to slope and inter, in their arrays. */
static lob_status take_limits(lob_hdf5_view *view, limits *low, limits *high,
                              const lob_hdf5_reading *in)
{
    double range[2];
    valid_range(range, view);
    bool ok = low->n == high->n && strcmp(low->letters, high->letters) == 0 &&
              limit_steps(view->scale.step, low, view) && range[1] > range[0],
         same = true;
    for (int i = 0; ok && i < low->n; i++) {
        const double slope = (high->values[i] - low->values[i]) / (range[1] - range[0]);
        const double inter = low->values[i] - range[0] * slope;
        ok = isfinite(slope) && isfinite(inter);
        high->values[i] = slope;
        low->values[i] = inter;
        same = same && slope == high->values[0] && inter == low->values[0];
    }
    if (!ok)
        return LOB_HDF5_BAD(
            in, "image-min, image-max and valid_range of the MINC volume do not fit it");
    if (same && high->values[0] != 0.0) {
        view->slope = high->values[0];
        view->inter = low->values[0];
        return LOB_OK;
    }
    view->scale.slope = high->values;
    view->scale.inter = low->values;
    view->type = lob_type_of(view->stored)->bytes <= 2 ? LOB_F32 : LOB_F64;
    return LOB_OK;
}

static bool is_labels(const lob_hdf5_reading *in)
{
    const hid_t root = lob_hdf5_open(in, "/minc-2.0");
    char *class = lob_hdf5_text(root, "class", "");
    const bool is = class && strncmp(class, "label", 5) == 0;
    free(class);
    H5Oclose(root);
    return is;
}

static lob_status take_values(lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    limits low, high;
    if (!lob_type_of(view->stored)->is_integer || is_labels(in)) return LOB_OK;
    const hid_t group = lob_hdf5_open(in, MINC_IMAGE);
    const bool said =
        lob_hdf5_has(group, "image-min", NULL) && lob_hdf5_has(group, "image-max", NULL);
    H5Oclose(group);
    if (!said) {
        lob_warn(in->info, "%s: has no image-min and image-max; stored numbers taken as values",
                 view->path);
        return LOB_OK;
    }
    if (read_limits(&low, "image-min", in) && read_limits(&high, "image-max", in))
        return take_limits(view, &low, &high, in);
    return LOB_HDF5_BAD(in, "image-min or image-max of the MINC volume cannot be read");
}

static lob_status minc_view(lob_hdf5_view *view, const char *path, const lob_hdf5_reading *in)
{
    char letters[LOB_HDF5_MAX_AXES + 1];
    (void)path;
    LOB_TRY(lob_hdf5_view_set(view, MINC_IMAGE "/image", in));
    if (!dimension_letters(letters, view->rank, view->set) || !lob_hdf5_take_letters(view, letters))
        return LOB_HDF5_BAD(in, "the dimensions of the MINC volume are not xspace, yspace, zspace, "
                                "time and vector_dimension");
    LOB_TRY(take_place(view, in));
    return take_values(view, in);
}

const lob_hdf5_layout lob_hdf5_minc = {"MINC 2", minc_find, minc_view};
