/*
 * Imaris 5.5 (.ims): /DataSet/ResolutionLevel R/TimePoint T/Channel C/Data. Data is z y x, padded
 * to whole chunks: the attributes ImageSizeX, Y and Z of the channel say how much of it counts.
 * /DataSetInfo/Image has the outer corners of the volume, ExtMin0 to ExtMax2, with 0 for x, and
 * their Unit. Attributes are arrays of strings of one character. Channels are the volume's, time
 * points its frames; level 0 is read unless another is named, and a named channel or time point is
 * read alone. From imaris_ims_file_reader.
 */
#include "io/hdf5/hdf5_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a file. -1: all of them. */
typedef struct {
    int level, time_point, channel;
} choice;

/* From a path, which need not name everything; false when it is no path of this layout. */
static bool parse(choice *out, const char *asked)
{
    *out = (choice){0, -1, -1};
    if (lob_hdf5_is_above(asked, "/DataSet")) return true;
    if (strncmp(asked, "/DataSet", 8) != 0) return false;
    const char *at = asked + 8;
    out->level = lob_hdf5_number(&at, "/ResolutionLevel ");
    if (out->level < 0) return false;
    if (*at) out->time_point = lob_hdf5_number(&at, "/TimePoint ");
    if (*at) out->channel = lob_hdf5_number(&at, "/Channel ");
    return *at == '\0' || strcmp(at, "/Data") == 0;
}

static void part_path(char path[LOB_HDF5_PATH], const choice *c, const char *name)
{
    snprintf(path, LOB_HDF5_PATH, "/DataSet/ResolutionLevel %d/TimePoint %d/Channel %d%s", c->level,
             c->time_point, c->channel, name);
}

static lob_status imaris_find(char path[LOB_HDF5_PATH], const char *asked,
                              const lob_hdf5_reading *in)
{
    choice c;
    path[0] = '\0';
    if (!parse(&c, asked) || !lob_hdf5_is(in, "/DataSetInfo/Image", NULL)) return LOB_OK;
    if (c.time_point < 0) c.time_point = 0;
    if (c.channel < 0) c.channel = 0;
    part_path(path, &c, "/Data");
    strcpy(path, lob_hdf5_is(in, path, NULL) ? asked : "");
    return LOB_OK;
}

/* Channels of the first time point, or time points, with numbers from 0 on. */
static int count(bool channels, int level, const lob_hdf5_reading *in)
{
    char path[LOB_HDF5_PATH];
    int n = 0;
    for (; n < LOB_HDF5_MAX_PARTS; n++) {
        const choice c = {level, channels ? 0 : n, channels ? n : 0};
        part_path(path, &c, "");
        if (!lob_hdf5_is(in, path, NULL)) break;
    }
    return n;
}

/* A number that an attribute holds as text. */
static bool read_number(double *value, hid_t object, const char *name)
{
    char *text = lob_hdf5_text(object, name, ""), *end = text;
    if (text) *value = strtod(text, &end);
    const bool ok = text && end > text && isfinite(*value);
    free(text);
    return ok;
}

/* The voxels that count. */
static lob_status crop(lob_hdf5_view *view, const char *channel, const lob_hdf5_reading *in)
{
    static const char *const names[] = {"ImageSizeZ", "ImageSizeY", "ImageSizeX"};
    const hid_t group = lob_hdf5_demand(in, channel);
    if (group < 0) return LOB_EDATA;
    bool ok = view->rank == 3 && lob_hdf5_take_letters(view, "zyx");
    for (int i = 0; ok && i < 3; i++) {
        double side = 0.0;
        ok = read_number(&side, group, names[i]) && side >= 1.0 &&
             side <= (double)view->extent[i] && side == floor(side);
        if (ok) view->extent[i] = (hsize_t)side;
    }
    H5Oclose(group);
    if (ok) return LOB_OK;
    return LOB_HDF5_BAD(
        in, "ImageSizeX, Y and Z of %s do not fit its Data; save it again in Imaris", channel);
}

static void take_place(lob_hdf5_view *view, const lob_hdf5_reading *in)
{
    double spacing_mm[3] = {1, 1, 1}, origin_mm[3] = {0, 0, 0};
    const hid_t image = lob_hdf5_open(in, "/DataSetInfo/Image");
    char *unit = lob_hdf5_text(image, "Unit", "");
    const double mm = lob_hdf5_unit_mm(unit, 1e-3, view, in);
    bool ok = true;
    for (int a = 0; a < 3; a++) {
        char low_name[16], high_name[16];
        double low = 0.0, high = 0.0;
        snprintf(low_name, sizeof low_name, "ExtMin%d", a);
        snprintf(high_name, sizeof high_name, "ExtMax%d", a);
        const bool said = read_number(&low, image, low_name) &&
                          read_number(&high, image, high_name) && high > low;
        ok = ok && said;
        if (!said) continue;
        spacing_mm[a] = (high - low) * mm / (double)lob_hdf5_side(view, (lob_axis)a);
        origin_mm[a] = low * mm + spacing_mm[a] / 2;
    }
    H5Oclose(image);
    free(unit);
    if (!ok && !in->spaced)
        lob_warn(in->info, "%s: ExtMin and ExtMax are not usable; spacing taken as 1 mm",
                 view->path);
    lob_hdf5_take_box(view, spacing_mm, origin_mm, ok && mm <= 1e-3, in);
}

static lob_status imaris_view(lob_hdf5_view *view, const char *asked, const lob_hdf5_reading *in)
{
    choice c;
    parse(&c, asked);
    const bool all_channels = c.channel < 0, all_times = c.time_point < 0;
    const int nc = all_channels ? count(true, c.level, in) : 1;
    const int nt = all_times ? count(false, c.level, in) : 1;
    if ((int64_t)nc * nt > LOB_HDF5_MAX_PARTS)
        return LOB_HDF5_BAD(in,
                            "has %d channels at %d time points; name one time point, as in "
                            "%s:/DataSet/ResolutionLevel 0/TimePoint 0",
                            nc, nt, in->where->file);
    char(*parts)[LOB_HDF5_PATH] = calloc((size_t)nc * (size_t)nt, sizeof *parts);
    if (!parts) return lob_fail_file(in->error, LOB_ENOMEM, in->where->path, "no memory");
    for (int k = 0; k < nc * nt; k++) {
        const choice one = {c.level, all_times ? k % nt : c.time_point,
                            all_channels ? k / nt : c.channel};
        part_path(parts[k], &one, "/Data");
    }
    char channel[LOB_HDF5_PATH];
    lob_hdf5_parent(channel, parts[0], "Data");
    LOB_TRY(lob_hdf5_view_set(view, parts[0], in));
    LOB_TRY(lob_hdf5_take_parts(view, parts, nc, nt, in));
    LOB_TRY(crop(view, channel, in));
    take_place(view, in);
    return LOB_OK;
}

const lob_hdf5_layout lob_hdf5_imaris = {"Imaris", imaris_find, imaris_view};
