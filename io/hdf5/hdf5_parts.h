/* What the files of the helper share, which alone call the HDF5 library. */
#ifndef LOB_HDF5_PARTS_H
#define LOB_HDF5_PARTS_H

#define H5_USE_110_API /* newer libraries keep these names for us */
#include <hdf5.h>

#include "io/hdf5/hdf5_messages.h"

enum {
    LOB_HDF5_MAX_AXES = 5,
    LOB_HDF5_MAX_PARTS = 1 << 16, /* data sets that one volume is put together from */
    LOB_HDF5_MAX_METADATA = LOB_HDF5_MAX_HEADER - (64 << 10), /* of them for MetaData */
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

/* What is being read, and where messages go. */
typedef struct {
    hid_t file;
    const lob_location *where;
    int64_t file_bytes;
    const char *beside; /* the text of FILE.xml beside FILE.h5; NULL: there is none */
    int64_t frame;      /* that is asked for; negative: none, or all */
    bool spaced;        /* as lob_read_options has it */
    lob_file_info *info;
    lob_error *error;
} lob_hdf5_reading;

/* The failure for what is wrong with the file, by its format and what goes into it. */
#define LOB_HDF5_BAD(in, ...) lob_fail_file((in)->error, LOB_EDATA, (in)->where->path, __VA_ARGS__)

/* Values that are not what is stored: value = slope[i] * stored + inter[i]. */
typedef struct {
    double *slope, *inter;        /* malloc'ed; NULL: stored numbers are the values */
    int64_t step[LOB_AXIS_ROLES]; /* in these tables, from a voxel to the next along an axis */
} lob_hdf5_scale;

/* Data sets of a file seen as a volume. */
typedef struct {
    hid_t set; /* the one at hand */
    int rank;
    hsize_t extent[LOB_HDF5_MAX_AXES]; /* in the file's order, slowest first; some layouts store
                                          more, which does not count */
    int at[LOB_AXIS_ROLES];            /* the dimension that plays each part; -1: none does */
    lob_type stored, type;             /* numbers as HDF5 hands them over, and as they are sent */
    hid_t native;                      /* HDF5's name for stored */
    int64_t stored_bytes;              /* that the file holds for the set at hand */
    double slope, inter;               /* of all voxels, for the volume to carry */
    lob_hdf5_scale scale;              /* or of each, to be done here */
    lob_geometry geometry;
    double frame_step_s;      /* 0: not known */
    char path[LOB_HDF5_PATH]; /* of the set at hand */

    /* Channels and frames in data sets of their own: paths, frame after frame of a channel. */
    char (*parts)[LOB_HDF5_PATH]; /* NULL: set is the only one */
    int part_channels, part_frames;
} lob_hdf5_view;

/* The side of a dimension by the part it plays, 1 when none does. */
static inline int64_t lob_hdf5_side(const lob_hdf5_view *view, lob_axis axis)
{
    if (view->at[axis] >= 0) return (int64_t)view->extent[view->at[axis]];
    return axis == LOB_AXIS_C ? view->part_channels : axis == LOB_AXIS_T ? view->part_frames : 1;
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

/* Does the group hold an object of this name through a hard link, one that is wanted? NULL: any is.
 */
bool lob_hdf5_has(hid_t group, const char *name, bool (*wanted)(hid_t object));

/* The error for an object that HDF5 cannot open. */
lob_status lob_hdf5_fail_to_open(const lob_hdf5_reading *in, const char *path);

/* Follow a path of hard links from the root; negative, without a message, when there is none. */
hid_t lob_hdf5_open(const lob_hdf5_reading *in, const char *path);

/* The same to a data set that may be read: see lob_hdf5_demand_set. */
hid_t lob_hdf5_open_set(const lob_hdf5_reading *in, const char *path);

/* Does it lead to an object, one that is wanted? NULL: any is. */
bool lob_hdf5_is(const lob_hdf5_reading *in, const char *path, bool (*wanted)(hid_t object));

/* The number behind these characters of a path, where it is the rest of the path or of a name in
 * it; else, and beyond a million, -1. *at goes behind it. */
int lob_hdf5_number(const char **at, const char *before);

/* The same, with a message. */
hid_t lob_hdf5_demand(const lob_hdf5_reading *in, const char *path);

/* Open a data set and see that its bytes lie in this file. Negative, with a message, on failure. */
hid_t lob_hdf5_demand_set(const lob_hdf5_reading *in, const char *path);

/* Is the data set stored in this file, by filters that are built in? */
lob_status lob_hdf5_guard(hid_t set, const char *name, const lob_hdf5_reading *in);

/* Objects below a group. */
typedef struct {
    int found;                            /* all of them */
    lob_data_set sets[LOB_HDF5_MAX_SETS]; /* the first of them */
    int solid, first_solid;               /* data sets of three dimensions or more */
    char closed[LOB_HDF5_PATH + 256];     /* the first that cannot be opened; "": all can */
} lob_hdf5_found;

/* Is this a data set of numbers, with 2 to 5 dimensions? */
bool lob_hdf5_is_volume(hid_t object);

/* Collect what is wanted, in the order of names. The result stays until the next call. */
const lob_hdf5_found *lob_hdf5_collect(const lob_hdf5_reading *in, const char *under,
                                       bool (*wanted)(hid_t object));

/* The error that lists what there is to choose from. */
lob_status lob_hdf5_fail_to_choose(const lob_hdf5_reading *in, const lob_hdf5_found *found);

/* The path of the only object that is wanted, "" where there is none; the error where there are
 * several. */
lob_status lob_hdf5_only(char path[LOB_HDF5_PATH], const char *under, const lob_hdf5_reading *in,
                         bool (*wanted)(hid_t object));

/* The path that is asked for, from the root. */
lob_status lob_hdf5_asked(char path[LOB_HDF5_PATH], const lob_hdf5_reading *in);

/* Does path stand above below, or is it the same? "/a" is above "/a/b", not above "/ab". */
bool lob_hdf5_is_above(const char *path, const char *below);

/* The path without its last part, when that is `last`; false when it is not. */
bool lob_hdf5_parent(char parent[LOB_HDF5_PATH], const char *path, const char *last);

/* hdf5_values.c: what is small. */

/* An attribute or a data set, which is open. */
typedef struct {
    hid_t id, type, space;
    bool is_attribute;
    hssize_t n; /* elements; -1: there is no such attribute */
} lob_hdf5_values;

/* An attribute of an object; NULL: the object itself, a data set. To be closed in any case. */
lob_hdf5_values lob_hdf5_values_open(hid_t object, const char *attribute);
void lob_hdf5_values_close(const lob_hdf5_values *values);

/* All elements as this type. */
bool lob_hdf5_values_read(const lob_hdf5_values *values, hid_t memory, void *out);

/* Numbers of an attribute or a data set, at most max of them; -1 when it holds none, or more. */
int lob_hdf5_numbers(double *out, int max, hid_t object, const char *attribute);

/*
 * Text of an attribute or a data set of at most 64 KiB, malloc'ed; NULL when there is none. Several
 * strings are put together with a separator between them.
 */
char *lob_hdf5_text(hid_t object, const char *attribute, const char *separator);

/*
 * Millimetres in a unit of length. When there is none (NULL or "") otherwise_mm: 1 or 1e-3; and
 * when it is not known, with a warning.
 */
double lob_hdf5_unit_mm(const char *unit, double otherwise_mm, const lob_hdf5_view *view,
                        const lob_hdf5_reading *in);

/* hdf5_view.c: a data set as a volume, whatever its layout. */

/* What voxels of a stored type become; LOB_TYPES: they are not read. */
lob_type lob_hdf5_voxel_type(hid_t stored);

/* HDF5's name for a type, as numbers of it are in memory. */
hid_t lob_hdf5_native(lob_type type);

/* Open a data set and check everything that does not depend on its layout; at is left empty. */
lob_status lob_hdf5_view_set(lob_hdf5_view *view, const char *path, const lob_hdf5_reading *in);

/*
 * Take data sets as channels and frames, the first of which is the view's. They must agree in type
 * and shape.
 *
 *   parts  in  malloc'ed, frame after frame of a channel; belongs to the view
 */
lob_status lob_hdf5_take_parts(lob_hdf5_view *view, char (*parts)[LOB_HDF5_PATH], int channels,
                               int frames, const lob_hdf5_reading *in);

/* Put the data set of a channel and a frame at hand. False when it cannot be opened. */
bool lob_hdf5_turn_to(lob_hdf5_view *view, int channel, int64_t frame, const lob_hdf5_reading *in);

/*
 * Give dimensions their parts from one letter each, of "xyzct"; false, and nothing done, when a
 * letter is unknown, comes twice or x or y is missing.
 */
bool lob_hdf5_take_letters(lob_hdf5_view *view, const char *letters);

/* Take an affine, or a spacing of 1 mm with a warning when it makes no sense. */
void lob_hdf5_take_affine(lob_hdf5_view *view, const double affine[3][4],
                          const lob_hdf5_reading *in);

/* Take columns and origin in LPS, the columns' lengths being the spacing. */
void lob_hdf5_take_lps(lob_hdf5_view *view, const double column[3][3], const double origin[3],
                       const lob_hdf5_reading *in);

/* Take an axis-aligned place of unknown orientation: spacing and the first voxel's centre, x y z.
 */
void lob_hdf5_take_box(lob_hdf5_view *view, const double spacing_mm[3], const double origin_mm[3],
                       bool micrometres, const lob_hdf5_reading *in);

/* A layout: where a program puts a volume into a file, and what it says about it. */
typedef struct {
    const char *name;

    /*
     * Is what is asked for, a path of hard links from the root, a volume of this layout? Then path
     * is where it lies, else "". Returns LOB_OK, or LOB_EDATA where there are several.
     */
    lob_status (*find)(char path[LOB_HDF5_PATH], const char *asked, const lob_hdf5_reading *in);

    /* See what lies there as a volume. */
    lob_status (*view)(lob_hdf5_view *view, const char *path, const lob_hdf5_reading *in);
} lob_hdf5_layout;

/* The rows of the table in hdf5_helper.c, each in the file of its name. */
extern const lob_hdf5_layout lob_hdf5_itk, lob_hdf5_minc, lob_hdf5_imaris, lob_hdf5_bdv,
    lob_hdf5_mrd, lob_hdf5_nexus, lob_hdf5_plain;

/* hdf5_metadata.c: entries that go from an HDF5 input to an HDF5 output. */

struct cJSON;

/*
 * Entries of ITK's MetaData group as a JSON array of {name, type, flag, value}. Returns how many
 * are left out, because they are odd or beyond a limit.
 */
int lob_hdf5_metadata_read(struct cJSON *array, hid_t group);

/* The same of the attributes of a data set, but those that speak of axes and spacing. */
int lob_hdf5_attributes_read(struct cJSON *array, hid_t set);

/*
 * Write them back, into a group or as attributes; of labels without those that speak of grey
 * values. False when HDF5 reports a failure.
 */
bool lob_hdf5_entries_write(hid_t to, const struct cJSON *array, bool attributes, bool labels);

/* Values of a type as an attribute: one (rank 0), or n (rank 1). */
bool lob_hdf5_write_attribute(hid_t object, const char *name, hid_t type, int rank, hsize_t n,
                              const void *values);

/* A string as an attribute. */
bool lob_hdf5_write_text(hid_t object, const char *name, const char *text);

/* Write values of a type as a data set. Returns it, open; below 0: it could not be written. */
hid_t lob_hdf5_write_set(hid_t group, const char *name, hid_t type, const void *values, int rank,
                         const hsize_t *extent);

/* One string as a data set, ITK's way: variable length, one element. */
bool lob_hdf5_write_string(hid_t group, const char *name, const char *text);

/* hdf5_header.c: what of a file is carried to outputs. */

/* Where a file that was made of a NIfTI volume keeps its header and extensions. */
#define LOB_HDF5_NIFTI_GROUP "lobule"
#define LOB_HDF5_NIFTI_SET   "nifti_header"

/* The attribute of ITK's VoxelData that says which second name it has. */
#define LOB_HDF5_BESIDE "lobule_path"

/*
 * The text that is carried as the volume's header: JSON with `layout` and `dataset`; for ITK's
 * layout `metadata`; for plain data sets and what was made of them `beside`, the path, and
 * `attributes`. What is left out is warned of. malloc'ed, at most LOB_HDF5_MAX_HEADER bytes; NULL
 * when memory runs out.
 */
char *lob_hdf5_header_text(const lob_hdf5_view *view, const lob_hdf5_layout *layout,
                           const lob_hdf5_reading *in);

/* The NIfTI header that the file keeps, malloc'ed; NULL: none. */
unsigned char *lob_hdf5_nifti(int64_t *bytes, const lob_hdf5_reading *in);

/* hdf5_chunks.c: chunks read raw and unpacked in threads. */

/* A block of a data set, as it lies in the file. */
typedef struct {
    hsize_t start[LOB_HDF5_MAX_AXES], count[LOB_HDF5_MAX_AXES];
    unsigned char *buffer; /* numbers of view->stored */
} lob_hdf5_block;

/* Side of the chunks by dimension; false when the data set is not chunked. */
bool lob_hdf5_chunk(hsize_t chunk[LOB_HDF5_MAX_AXES], const lob_hdf5_view *view);

/* Chunks that a block may touch: lists of crumbs outgrow the data. */
enum { LOB_HDF5_MAX_CHUNKS = 1 << 17 };

/* Read a block. False when its bytes are damaged or memory runs out. */
bool lob_hdf5_read_block(const lob_hdf5_view *view, const lob_hdf5_block *block, int threads);

/* hdf5_voxels.c */

/*
 * Slices and frames that are read and sent at a time.
 *
 *   all  in  all frames are sent, not one
 */
void lob_hdf5_portions(int64_t *slab, int64_t *batch, const lob_hdf5_view *view, bool all);

/*
 * Send the voxels of a frame, or of all (LOB_FRAME_ALL): batch after batch of frames, in each slab
 * after slab, in each channel after channel, in each t, z, y, x. Ends the process with a failure
 * that the parent sees when the data cannot be read.
 */
void lob_hdf5_send_voxels(lob_hdf5_view *view, int64_t frame, int threads,
                          const lob_hdf5_reading *in);

/* hdf5_save.c: write what the request tells of, and the chunks that come behind it. */
void lob_hdf5_save(const lob_hdf5_target *t, const char *carried, const unsigned char *nifti,
                   int64_t nifti_bytes);

#endif
