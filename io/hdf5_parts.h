/* What the files of the HDF5 reader and writer share. Everything here that takes an hid_t runs in
 * the child. */
#ifndef LOB_HDF5_PARTS_H
#define LOB_HDF5_PARTS_H

#define H5_USE_110_API /* newer libraries keep these names for us */
#include <hdf5.h>

#include "io/format.h"
#include "volumes/volume.h"

enum {
    LOB_HDF5_MAX_AXES = 5,
    LOB_HDF5_MAX_SETS = 256,        /* that are listed */
    LOB_HDF5_MAX_HEADER = 16 << 20, /* bytes of the text that is carried as the header */
    LOB_HDF5_MAX_METADATA = LOB_HDF5_MAX_HEADER - (64 << 10) /* of them for MetaData */
};

/* The part that a dimension of a data set plays. */
typedef enum {
    LOB_AXIS_X,
    LOB_AXIS_Y,
    LOB_AXIS_Z,
    LOB_AXIS_C,
    LOB_AXIS_T,
    LOB_AXIS_ROLES
} lob_axis;

/* A data set seen as a volume. */
typedef struct {
    hid_t set;
    int rank;
    hsize_t extent[LOB_HDF5_MAX_AXES]; /* in the file's order, slowest first */
    int at[LOB_AXIS_ROLES];            /* the dimension that plays each part; -1: none does */
    lob_type type;
    hid_t native;         /* the type in memory that goes with it */
    int64_t stored_bytes; /* that the file holds for it */
    lob_geometry geometry;
    char path[512];
} lob_hdf5_view;

/* What the child finds out, sent before any voxel. */
typedef struct {
    lob_status status;
    lob_error error;
    lob_type type;
    lob_dims dims;
    int channels;
    int64_t frames, frame;
    double affine[3][4];
    int unoriented, micrometres; /* 0 or not */
    int64_t slab;                /* slices that come at a time */
    int64_t header_bytes;        /* of text, which follows at once */
    lob_file_info info;          /* for its warnings */
} lob_hdf5_reply;

/* The side of a dimension by the part it plays, 1 when none does. */
static inline int64_t lob_hdf5_side(const lob_hdf5_view *view, lob_axis axis)
{
    return view->at[axis] < 0 ? 1 : (int64_t)view->extent[view->at[axis]];
}

/* hdf5_driver.c: where the bytes of a file are. */
typedef struct {
    const unsigned char *bytes; /* to read from, size of them; NULL: read and write fd */
    size_t size;
    int fd;
    int *cause; /* out: errno of the first write that failed */
} lob_hdf5_storage;

/* A file access property list for H5Fopen and H5Fcreate; negative on failure. Silences HDF5. */
hid_t lob_hdf5_access(const lob_hdf5_storage *storage);

/* hdf5_find.c: from a path to an object, by hard links of this file only. */

/* Does the group hold an object of this name through a hard link? */
bool lob_hdf5_has(hid_t group, const char *name);

/* Is this a data set of numbers, with 2 to 5 dimensions? */
bool lob_hdf5_is_volume(hid_t object);

/*
 * Open the group or data set that holds the volume, as the head of io/hdf5.c says.
 *
 *   object  out  to be read as ITK's layout if it is a group, else as a plain data set
 *   path    out  512 bytes: where it lies in the file
 *
 * Returns LOB_OK or LOB_EDATA.
 */
lob_status lob_hdf5_find(hid_t *object, char *path, hid_t file, const lob_location *where,
                         lob_error *error);

/* How many volumes there are below what is asked for; sets: the first LOB_HDF5_MAX_SETS of them. */
int lob_hdf5_list(const lob_data_set **sets, hid_t file, const lob_location *where,
                  lob_error *error);

/* Open a data set of a group and see that its bytes lie in this file. Negative on failure. */
hid_t lob_hdf5_open_set(hid_t group, const char *name, const lob_location *where, lob_error *error);

/* Is the data set stored in this file, by filters that are built in? */
lob_status lob_hdf5_guard(hid_t set, const char *name, const lob_location *where, lob_error *error);

/* hdf5_layout.c: from an object to a view of it. */

/* What voxels of a stored type become; LOB_TYPES: they are not read. */
lob_type lob_hdf5_voxel_type(hid_t stored);

lob_status lob_hdf5_view_of(lob_hdf5_view *view, hid_t object, const char *path, int64_t file_bytes,
                            const lob_location *where, lob_file_info *info, lob_error *error);

/*
 * The text that is carried as the volume's header: JSON with `layout`, `dataset` and, for ITK's
 * layout, `metadata`; entries that are left out are warned of. malloc'ed, at most
 * LOB_HDF5_MAX_HEADER bytes; NULL when memory runs out.
 */
char *lob_hdf5_header_text(hid_t object, const lob_hdf5_view *view, lob_file_info *info);

/* hdf5_metadata.c */

struct cJSON;

/*
 * Entries of ITK's MetaData group as a JSON array of {name, type, flag, value}. Returns how many
 * are left out, because they are odd or beyond a limit.
 */
int lob_hdf5_metadata_read(struct cJSON *array, hid_t group);

/* Write them back into a group. False when HDF5 reports a failure. */
bool lob_hdf5_metadata_write(hid_t group, const struct cJSON *array);

/* One string, ITK's way: variable length, one element. */
bool lob_hdf5_write_string(hid_t group, const char *name, const char *text);

/* A string attribute of at most 64 KiB, malloc'ed; NULL when there is none. */
char *lob_hdf5_read_attribute_text(hid_t object, const char *name);

/* hdf5_voxels.c */

/* Slices that are read and sent at a time. */
int64_t lob_hdf5_slab(const lob_hdf5_view *view);

/*
 * Send the voxels of a frame: slab after slab, in each channel after channel, in each z, y, x. Ends
 * the process with a failure that the parent sees when the data cannot be read.
 */
void lob_hdf5_send_voxels(const lob_hdf5_view *view, int64_t frame, int threads, int out);

/* hdf5_write.c */

lob_status lob_hdf5_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error);

#endif
