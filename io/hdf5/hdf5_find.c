/* Finding the volume in an HDF5 file, without following anything that leads out of it. */
#include "io/hdf5/hdf5_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 12, MAX_OBJECTS = 4096, MAX_NAMED = 12 /* in a message */ };

bool lob_hdf5_has(hid_t group, const char *name, bool (*wanted)(hid_t object))
{
    H5L_info_t link;
    if (H5Lexists(group, name, H5P_DEFAULT) <= 0 ||
        H5Lget_info(group, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD)
        return false;
    if (!wanted) return true;
    const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    const bool is = object >= 0 && wanted(object);
    H5Oclose(object);
    return is;
}

static bool is_number(hid_t type)
{
    const H5T_class_t kind = H5Tget_class(type);
    return kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM;
}

bool lob_hdf5_is_volume(hid_t object)
{
    if (H5Iget_type(object) != H5I_DATASET) return false;
    const hid_t type = H5Dget_type(object), space = H5Dget_space(object);
    bool ok = type >= 0 && space >= 0 && is_number(type) && H5Sis_simple(space) > 0;
    const int rank = ok ? H5Sget_simple_extent_ndims(space) : 0;
    ok = rank >= 2 && rank <= LOB_HDF5_MAX_AXES;
    H5Sclose(space);
    H5Tclose(type);
    return ok;
}

/* Newer releases can write what older ones cannot read, where they are told to. */
lob_status lob_hdf5_fail_to_open(const lob_hdf5_reading *in, const char *path)
{
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return LOB_HDF5_BAD(in,
                        "damaged HDF5 file: cannot open %s; or it is of a newer format than HDF5 "
                        "%u.%u.%u reads, as h5py's libver='latest' writes it",
                        path, major, minor, release);
}

/* One step down from a group; -1 with a message when there is no such step, or it leaves the file.
 */
static hid_t step(hid_t group, const char *name, const lob_hdf5_reading *in)
{
    H5L_info_t link;
    if (H5Iget_type(group) == H5I_DATASET || H5Lexists(group, name, H5P_DEFAULT) <= 0 ||
        H5Lget_info(group, name, &link, H5P_DEFAULT) < 0) {
        LOB_HDF5_BAD(in, "the file holds nothing named %s; `lobule info FILE` lists what it holds",
                     name);
        return -1;
    }
    if (link.type != H5L_TYPE_HARD) {
        LOB_HDF5_BAD(in,
                     "%s is %s, which is not followed; name the data set itself, or copy it with "
                     "h5repack",
                     name, link.type == H5L_TYPE_SOFT ? "a soft link" : "a link to another file");
        return -1;
    }
    const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0) lob_hdf5_fail_to_open(in, name);
    return object;
}

hid_t lob_hdf5_demand(const lob_hdf5_reading *in, const char *path)
{
    hid_t at = H5Oopen(in->file, "/", H5P_DEFAULT);
    if (at < 0) LOB_HDF5_BAD(in, "damaged HDF5 file: it has no root group");
    while (at >= 0) {
        path += strspn(path, "/");
        const size_t n = strcspn(path, "/");
        if (n == 0) return at;
        char name[256];
        if (n >= sizeof name) {
            LOB_HDF5_BAD(in, "a name inside the file is longer than 255 bytes");
            H5Oclose(at);
            return -1;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        path += n;
        const hid_t next = step(at, name, in);
        H5Oclose(at);
        at = next;
    }
    return at;
}

/* A reading that tells of no error. */
static lob_hdf5_reading quiet(const lob_hdf5_reading *in)
{
    lob_hdf5_reading silent = *in;
    silent.error = NULL;
    return silent;
}

hid_t lob_hdf5_open(const lob_hdf5_reading *in, const char *path)
{
    const lob_hdf5_reading silent = quiet(in);
    return lob_hdf5_demand(&silent, path);
}

hid_t lob_hdf5_open_set(const lob_hdf5_reading *in, const char *path)
{
    const lob_hdf5_reading silent = quiet(in);
    return lob_hdf5_demand_set(&silent, path);
}

bool lob_hdf5_is(const lob_hdf5_reading *in, const char *path, bool (*wanted)(hid_t object))
{
    const hid_t object = lob_hdf5_open(in, path);
    const bool is = object >= 0 && (!wanted || wanted(object));
    H5Oclose(object);
    return is;
}

hid_t lob_hdf5_demand_set(const lob_hdf5_reading *in, const char *path)
{
    const hid_t set = lob_hdf5_demand(in, path);
    if (set < 0) return -1;
    if (H5Iget_type(set) == H5I_DATASET) {
        if (lob_hdf5_guard(set, path, in) == LOB_OK) return set;
    } else {
        LOB_HDF5_BAD(in, "%s is not a data set", path);
    }
    H5Oclose(set);
    return -1;
}

/* ---- paths ---- */

int lob_hdf5_number(const char **at, const char *before)
{
    const size_t n = strlen(before);
    char *end;
    if (strncmp(*at, before, n) != 0 || (*at)[n] < '0' || (*at)[n] > '9') return -1;
    const long value = strtol(*at + n, &end, 10);
    if ((*end != '/' && *end != '\0') || value > 1000000) return -1;
    *at = end;
    return (int)value;
}

lob_status lob_hdf5_asked(char path[LOB_HDF5_PATH], const lob_hdf5_reading *in)
{
    /* One slash before each part and none at the end, so that layouts can compare. */
    const char *at = in->where->inside ? in->where->inside : "/";
    size_t used = 0;
    for (;;) {
        at += strspn(at, "/");
        const size_t n = strcspn(at, "/");
        if (n == 0) break;
        if (n + 2 > LOB_HDF5_PATH - used)
            return LOB_HDF5_BAD(in, "the path inside the file is too long");
        path[used++] = '/';
        memcpy(path + used, at, n);
        used += n;
        at += n;
    }
    if (used == 0) path[used++] = '/';
    path[used] = '\0';
    return LOB_OK;
}

bool lob_hdf5_is_above(const char *path, const char *below)
{
    const size_t n = strcmp(path, "/") == 0 ? 0 : strlen(path);
    return strncmp(path, below, n) == 0 && (below[n] == '/' || below[n] == '\0');
}

bool lob_hdf5_parent(char parent[LOB_HDF5_PATH], const char *path, const char *last)
{
    const size_t n = strlen(path), m = strlen(last);
    if (n < m + 1 || n >= LOB_HDF5_PATH || strcmp(path + n - m, last) != 0 ||
        path[n - m - 1] != '/')
        return false;
    memmove(parent, path, n - m);
    parent[n - m > 1 ? n - m - 1 : 1] = '\0';
    return true;
}

/* ---- collecting ---- */

typedef struct {
    bool (*wanted)(hid_t object);
    int depth, objects;
    haddr_t seen[MAX_OBJECTS];
    char path[LOB_HDF5_PATH]; /* of the group being walked */
    lob_hdf5_found found;
} walk;

/* "32 x 128 x 128"; the rank. */
static int shape_text(char *text, size_t size, hid_t set)
{
    hsize_t extent[H5S_MAX_RANK] = {0};
    const hid_t space = H5Dget_space(set);
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    H5Sclose(space);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%llu", i ? " x " : "",
                                 (unsigned long long)extent[i]);
    return rank;
}

/* Fill in a row of the list; the rank, 0 of a group. */
static int describe(lob_data_set *row, const char *path, hid_t object)
{
    *row = (lob_data_set){.path = ""};
    strcpy(row->path, path);
    if (H5Iget_type(object) != H5I_DATASET) return 0;
    const hid_t stored = H5Dget_type(object);
    const lob_type type = lob_hdf5_voxel_type(stored);
    H5Tclose(stored);
    strcpy(row->type, type == LOB_TYPES ? "" : lob_type_of(type)->name);
    return shape_text(row->shape, sizeof row->shape, object);
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *link, void *user)
{
    walk *w = user;
    lob_hdf5_found *f = &w->found;
    if (link->type != H5L_TYPE_HARD) return 0;
    const size_t parent = strlen(w->path);
    if (parent + strlen(name) + 2 > sizeof w->path || w->depth >= MAX_DEPTH) return 0;
    const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0) {
        if (!f->closed[0]) snprintf(f->closed, sizeof f->closed, "%s/%.255s", w->path, name);
        return 0;
    }

    H5O_info_t info;
    bool fresh = H5Oget_info(object, &info) >= 0 && w->objects < MAX_OBJECTS;
    for (int i = 0; fresh && i < w->objects; i++) fresh = w->seen[i] != info.addr;
    if (fresh) {
        w->seen[w->objects++] = info.addr;
        snprintf(w->path + parent, sizeof w->path - parent, "/%s", name);
        if (w->wanted(object)) {
            if (f->found < LOB_HDF5_MAX_SETS && describe(&f->sets[f->found], w->path, object) > 2)
                if (f->solid++ == 0) f->first_solid = f->found;
            f->found++;
        } else if (H5Iget_type(object) == H5I_GROUP) {
            w->depth++;
            H5Literate(object, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, w);
            w->depth--;
        }
        w->path[parent] = '\0';
    }
    H5Oclose(object);
    return 0;
}

const lob_hdf5_found *lob_hdf5_collect(const lob_hdf5_reading *in, const char *under,
                                       bool (*wanted)(hid_t object))
{
    static const walk nothing;
    static walk w; /* large, and used by one thread */
    w = nothing;
    w.wanted = wanted;
    if (strcmp(under, "/") != 0) strcpy(w.path, under);
    const hid_t group = lob_hdf5_open(in, under);
    H5O_info_t start;
    if (group >= 0 && H5Iget_type(group) == H5I_GROUP) {
        if (H5Oget_info(group, &start) >= 0) w.seen[w.objects++] = start.addr;
        H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &w);
    }
    if (group >= 0) H5Oclose(group);
    return &w.found;
}

lob_status lob_hdf5_fail_to_choose(const lob_hdf5_reading *in, const lob_hdf5_found *found)
{
    char list[800] = "";
    size_t used = 0;
    const lob_data_set *set = found->sets;
    const int named = found->found < MAX_NAMED ? found->found : MAX_NAMED;
    for (int i = 0; i < named && used < sizeof list; i++, set++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.100s%s%s%s", i ? ", " : "",
                                 set->path, set->shape[0] ? " (" : "", set->shape,
                                 set->shape[0] ? ")" : "");
    return lob_fail_file_hint(in->error, LOB_EDATA, LOB_HINT_CHOOSE_SET, in->where->path,
                              "holds %d data sets: %s%s; choose one, as in %s:%s", found->found,
                              list, found->found > named ? ", ..." : "", in->where->file,
                              found->sets[0].path);
}

lob_status lob_hdf5_only(char path[LOB_HDF5_PATH], const char *under, const lob_hdf5_reading *in,
                         bool (*wanted)(hid_t object))
{
    const lob_hdf5_found *found = lob_hdf5_collect(in, under, wanted);
    if (found->found > 1) return lob_hdf5_fail_to_choose(in, found);
    strcpy(path, found->found == 1 ? found->sets[0].path : "");
    return LOB_OK;
}

/* ---- what may be read ---- */

static lob_status guard_filters(hid_t plist, const char *name, const lob_hdf5_reading *in)
{
    static const H5Z_filter_t own[] = {H5Z_FILTER_DEFLATE,    H5Z_FILTER_SHUFFLE,
                                       H5Z_FILTER_FLETCHER32, H5Z_FILTER_SZIP,
                                       H5Z_FILTER_NBIT,       H5Z_FILTER_SCALEOFFSET};
    const int n = H5Pget_nfilters(plist);
    for (int i = 0; i < n; i++) {
        char text[64] = "";
        size_t values = 0;
        unsigned flags, config;
        const H5Z_filter_t id =
            H5Pget_filter2(plist, (unsigned)i, &flags, &values, NULL, sizeof text, text, &config);
        bool known = false;
        for (size_t k = 0; k < sizeof own / sizeof own[0]; k++) known |= id == own[k];
        if (known && H5Zfilter_avail(id) > 0) continue;
        text[sizeof text - 1] = '\0';
        return LOB_HDF5_BAD(in,
                            "%s is compressed by the filter %d (%s), which HDF5 does not bring "
                            "itself; save it again with compression='gzip' in h5py",
                            name, (int)id, text[0] ? text : "no name");
    }
    return n < 0 ? LOB_HDF5_BAD(in, "damaged HDF5 file: filters of %s", name) : LOB_OK;
}

lob_status lob_hdf5_guard(hid_t set, const char *name, const lob_hdf5_reading *in)
{
    const hid_t plist = H5Dget_create_plist(set);
    const H5D_layout_t layout = plist < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(plist);
    lob_status st = LOB_OK;
    if (layout == H5D_VIRTUAL)
        st = LOB_HDF5_BAD(in,
                          "%s is a virtual data set, put together from other files, which are not "
                          "opened; copy it into a file of its own",
                          name);
    else if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)
        st = LOB_HDF5_BAD(in, "damaged HDF5 file: layout of %s", name);
    else if (H5Pget_external_count(plist) != 0)
        st = LOB_HDF5_BAD(in,
                          "%s keeps its data in another file, which is not opened; copy it into a "
                          "file of its own",
                          name);
    else
        st = guard_filters(plist, name, in);
    H5Pclose(plist);
    return st;
}
