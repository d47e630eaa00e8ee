/*
 * BigDataViewer: /tTTTTT/sSS/L/cells, z y x, with the resolution levels' factors (x y z) in
 * /sSS/resolutions. The attribute dataType of /sSS says what voxels are; without it, 16-bit numbers
 * are unsigned, though they are stored as signed ones. Size of voxels and place are in the XML file
 * beside it (bdv_xml.c). Time points are frames; level 0 is read unless another is named. Several
 * setups are angles, tiles or channels of their own: one has to be named, as in FILE.h5:/s01. From
 * bdv/img/hdf5/Util.java.
 */
#include "io/hdf5/bdv_xml.h"
#include "io/hdf5/hdf5_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a file. -1: not named. */
typedef struct {
    int time_point, setup, level;
} choice;

/* "/", "/s00", "/t00000", "/t00000/s00", "/t00000/s00/0", "/t00000/s00/0/cells" */
static bool parse(choice *out, const char *asked)
{
    *out = (choice){-1, -1, -1};
    const char *at = strcmp(asked, "/") == 0 ? "" : asked;
    out->time_point = lob_hdf5_number(&at, "/t");
    out->setup = lob_hdf5_number(&at, "/s");
    if (out->time_point >= 0 && out->setup >= 0) {
        out->level = lob_hdf5_number(&at, "/");
        if (out->level >= 0 && strcmp(at, "/cells") == 0) at = "";
    }
    return *at == '\0';
}

static void cells_path(char path[LOB_HDF5_PATH], const choice *c)
{
    snprintf(path, LOB_HDF5_PATH, "/t%05d/s%02d/%d/cells", c->time_point, c->setup, c->level);
}

/* Numbers of the root's groups with a letter before them. */
typedef struct {
    char letter;
    int n, numbers[LOB_HDF5_MAX_PARTS];
} numbered;

static herr_t take_number(hid_t group, const char *name, const H5L_info_t *link, void *user)
{
    numbered *list = user;
    char text[32], again[32];
    (void)group;
    if (link->type != H5L_TYPE_HARD || snprintf(text, sizeof text, "/%s", name) > 30) return 0;
    const char *at = text;
    const int number = lob_hdf5_number(&at, (char[]){'/', list->letter, '\0'});
    if (number < 0 || *at) return 0;
    snprintf(again, sizeof again, list->letter == 't' ? "t%05d" : "s%02d", number);
    if (strcmp(name, again) == 0 && list->n < LOB_HDF5_MAX_PARTS) list->numbers[list->n++] = number;
    return 0;
}

static const numbered *list_numbers(char letter, const lob_hdf5_reading *in)
{
    static numbered lists[2]; /* large, and used by one thread */
    numbered *list = &lists[letter == 't'];
    list->letter = letter;
    list->n = 0;
    const hid_t root = lob_hdf5_open(in, "/");
    H5Literate(root, H5_INDEX_NAME, H5_ITER_INC, NULL, take_number, list);
    H5Oclose(root);
    return list;
}

static bool has_cells(const lob_hdf5_reading *in, const choice *c)
{
    char path[LOB_HDF5_PATH];
    cells_path(path, c);
    return lob_hdf5_is(in, path, NULL);
}

/* The first data set of what is named. */
static choice first_of(choice c, const numbered *setups, const numbered *times)
{
    if (c.setup < 0) c.setup = setups->numbers[0];
    if (c.time_point < 0) c.time_point = times->numbers[0];
    if (c.level < 0) c.level = 0;
    return c;
}

static lob_status bdv_find(char path[LOB_HDF5_PATH], const char *asked, const lob_hdf5_reading *in)
{
    choice c;
    path[0] = '\0';
    if (!parse(&c, asked)) return LOB_OK;
    const numbered *setups = list_numbers('s', in), *times = list_numbers('t', in);
    const choice first = first_of(c, setups, times);
    if (setups->n == 0 || times->n == 0 || !has_cells(in, &first)) return LOB_OK;
    if (c.setup >= 0 || setups->n == 1) {
        strcpy(path, asked);
        return LOB_OK;
    }
    static lob_hdf5_found found; /* large, as above */
    found = (lob_hdf5_found){.found = setups->n};
    for (int i = 0; i < setups->n && i < LOB_HDF5_MAX_SETS; i++) {
        lob_data_set *row = &found.sets[i];
        if (c.time_point >= 0)
            snprintf(row->path, sizeof row->path, "/t%05d/s%02d", c.time_point, setups->numbers[i]);
        else
            snprintf(row->path, sizeof row->path, "/s%02d", setups->numbers[i]);
    }
    return lob_hdf5_fail_to_choose(in, &found);
}

/* The voxels' own type, and the factors of the level that is read. */
static void read_setup(lob_hdf5_view *view, double factor[3], const choice *c,
                       const lob_hdf5_reading *in)
{
    enum { MAX_LEVELS = 32 };
    char path[64];
    snprintf(path, sizeof path, "/s%02d", c->setup);
    const hid_t group = lob_hdf5_open(in, path);
    char *said = lob_hdf5_text(group, "dataType", "");
    lob_type type = said ? lob_type_named(said) : LOB_TYPES;
    if (!said && view->stored == LOB_I16) type = LOB_U16;
    if (type != LOB_TYPES && lob_type_of(type)->is_integer && view->stored != LOB_F32 &&
        lob_type_of(type)->bytes == lob_type_of(view->stored)->bytes)
        view->type = view->stored = type; /* the same bytes, seen otherwise */
    free(said);
    H5Oclose(group);

    double all[MAX_LEVELS * 3];
    snprintf(path, sizeof path, "/s%02d/resolutions", c->setup);
    const hid_t set = lob_hdf5_open_set(in, path);
    const int n = lob_hdf5_numbers(all, MAX_LEVELS * 3, set, NULL);
    H5Oclose(set);
    for (int a = 0; a < 3; a++) {
        const double f = 3 * c->level + 2 < n ? all[3 * c->level + a] : 1.0;
        factor[a] = isfinite(f) && f > 0.0 ? f : 1.0;
    }
}

/*
 * The world as the XML has it: its affine, else the size of voxels, else 1 mm. Voxel i of a level
 * stands for `factor` voxels of level 0, the middle of which is at factor * i + (factor - 1) / 2.
 */
static lob_status take_place(lob_hdf5_view *view, const choice *c, const double factor[3],
                             const lob_hdf5_reading *in)
{
    lob_bdv_place place = {.unit = ""};
    if (in->beside && lob_bdv_read(&place, in->beside, c->setup, c->time_point) != LOB_OK)
        return lob_fail_file(in->error, LOB_ENOMEM, in->where->path, "no memory");
    const bool sized = place.size[0] > 0.0 && place.size[1] > 0.0 && place.size[2] > 0.0;
    const double mm = place.placed || sized ? lob_hdf5_unit_mm(place.unit, 1e-3, view, in) : 1.0;
    if (!place.placed)
        for (int a = 0; a < 3; a++) place.affine[a][a] = sized ? place.size[a] : 1.0;
    if (!place.placed && !sized && !in->spaced)
        lob_warn(in->info,
                 "%s: there is no BigDataViewer XML beside it with a voxelSize; spacing taken as "
                 "1 mm",
                 view->path);
    double affine[3][4];
    for (int r = 0; r < 3; r++) {
        affine[r][3] = place.affine[r][3] * mm;
        for (int a = 0; a < 3; a++) {
            affine[r][a] = place.affine[r][a] * factor[a] * mm;
            affine[r][3] += place.affine[r][a] * (factor[a] - 1.0) / 2 * mm;
        }
    }
    lob_hdf5_take_affine(view, (const double(*)[4])affine, in);
    view->geometry.unoriented = true;
    view->geometry.micrometres = mm <= 1e-3;
    return LOB_OK;
}

static lob_status bdv_view(lob_hdf5_view *view, const char *asked, const lob_hdf5_reading *in)
{
    choice c;
    int frames = 0;
    parse(&c, asked);
    const numbered *times = list_numbers('t', in);
    const choice first = first_of(c, list_numbers('s', in), times);
    const int most = c.time_point < 0 ? times->n : 1;
    char(*parts)[LOB_HDF5_PATH] = calloc((size_t)most, sizeof *parts);
    if (!parts) return lob_fail_file(in->error, LOB_ENOMEM, in->where->path, "no memory");
    for (int i = 0; i < most; i++) {
        choice one = first;
        if (c.time_point < 0) one.time_point = times->numbers[i];
        if (has_cells(in, &one)) cells_path(parts[frames++], &one);
    }
    LOB_TRY(lob_hdf5_view_set(view, parts[0], in));
    if (view->rank != 3 || !lob_hdf5_take_letters(view, "zyx"))
        return LOB_HDF5_BAD(in, "%s has %d dimensions; BigDataViewer's have 3", view->path,
                            view->rank);
    LOB_TRY(lob_hdf5_take_parts(view, parts, 1, frames, in));
    double factor[3];
    read_setup(view, factor, &first, in);
    return take_place(view, &first, factor, in);
}

const lob_hdf5_layout lob_hdf5_bdv = {"BigDataViewer", bdv_find, bdv_view};
