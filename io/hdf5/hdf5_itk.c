/*
 * ITK's image layout: a group, by habit /ITKImage/0, with VoxelData, Dimension, Origin, Spacing and
 * Directions. VoxelData is in C order; the others name x first. Row i of Directions is the
 * direction of axis i, in LPS. A component axis, last in VoxelData, becomes channels; a fourth
 * dimension becomes frames, its spacing being seconds. From itkHDF5ImageIO.cxx.
 */
#include "io/hdf5/hdf5_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COUNT = 4 };

static bool is_image(hid_t group)
{
    return H5Iget_type(group) == H5I_GROUP && lob_hdf5_has(group, "VoxelData", NULL) &&
           lob_hdf5_has(group, "Dimension", NULL);
}

static lob_status itk_find(char path[LOB_HDF5_PATH], const char *asked, const lob_hdf5_reading *in)
{
    /* The group may be named itself, by its VoxelData, or by nothing at all. */
    if (strcmp(asked, "/") == 0)
        strcpy(path, "/ITKImage/0");
    else if (!lob_hdf5_parent(path, asked, "VoxelData"))
        strcpy(path, asked);
    if (!lob_hdf5_is(in, path, is_image)) path[0] = '\0';
    return LOB_OK;
}

/* The numbers of a data set of the group; -1, with a message, when it cannot be read. */
static int read_numbers(double *values, int max, const char *group, const char *name,
                        const lob_hdf5_reading *in)
{
    char path[LOB_HDF5_PATH + 16];
    snprintf(path, sizeof path, "%s/%s", group, name);
    const hid_t set = lob_hdf5_demand_set(in, path);
    if (set < 0) return -1;
    const int n = lob_hdf5_numbers(values, max, set, NULL);
    H5Dclose(set);
    return n < 0 ? 0 : n;
}

static lob_status read_exactly(double *values, int n, const char *group, const char *name,
                               const lob_hdf5_reading *in)
{
    const int got = read_numbers(values, n, group, name, in);
    if (got == n) return LOB_OK;
    if (got < 0) return LOB_EDATA;
    return LOB_HDF5_BAD(in, "%s of the ITK image is not %d numbers", name, n);
}

static lob_status take_axes(lob_hdf5_view *view, int n, const double *dimension,
                            const lob_hdf5_reading *in)
{
    static const char *const letters[] = {"yx", "zyx", "tzyx"};
    char tagged[LOB_HDF5_MAX_AXES + 1];
    snprintf(tagged, sizeof tagged, "%s%s", letters[n - 2], view->rank == n + 1 ? "c" : "");
    bool ok = (view->rank == n || view->rank == n + 1) && lob_hdf5_take_letters(view, tagged);
    for (int i = 0; ok && i < n; i++) ok = dimension[i] == (double)view->extent[n - 1 - i];
    if (ok) return LOB_OK;
    return LOB_HDF5_BAD(in, "Dimension and VoxelData of the ITK image do not agree");
}

static lob_status itk_view(lob_hdf5_view *view, const char *group, const lob_hdf5_reading *in)
{
    double dimension[16], origin[MAX_COUNT] = {0}, spacing[MAX_COUNT],
                          directions[MAX_COUNT * MAX_COUNT];
    char path[LOB_HDF5_PATH + 16];
    snprintf(path, sizeof path, "%s/VoxelData", group);
    LOB_TRY(lob_hdf5_view_set(view, path, in));
    const int n = read_numbers(dimension, 16, group, "Dimension", in);
    if (n < 0) return LOB_EDATA;
    if (n < 2 || n > MAX_COUNT)
        return LOB_HDF5_BAD(in, "the ITK image has %d dimensions; 2 to %d are read", n, MAX_COUNT);
    LOB_TRY(read_exactly(origin, n, group, "Origin", in));
    LOB_TRY(read_exactly(spacing, n, group, "Spacing", in));
    LOB_TRY(read_exactly(directions, n * n, group, "Directions", in));
    LOB_TRY(take_axes(view, n, dimension, in));

    /* A flat image stands on the third axis. */
    double column[3][3] = {
        {0, 0, 0},
        {0, 0, 0},
        {0, 0, 1}
    };
    const int space = n < 3 ? n : 3;
    for (int a = 0; a < space; a++)
        for (int r = 0; r < space; r++) column[a][r] = directions[a * n + r] * spacing[a];
    if (n == 2) origin[2] = 0.0;
    if (n == MAX_COUNT && isfinite(spacing[3])) view->frame_step_s = fabs(spacing[3]);
    lob_hdf5_take_lps(view, (const double(*)[3])column, origin, in);
    /* What we made of a plain data set says no more of its place than that did. */
    view->geometry.unoriented = H5Aexists(view->set, LOB_HDF5_BESIDE) > 0;
    return LOB_OK;
}

const lob_hdf5_layout lob_hdf5_itk = {"ITK", itk_find, itk_view};
