/*
 * The header of a NRRD file, and the segments that 3D Slicer writes into it.
 *
 * teem.sourceforge.net/nrrd/format.html; slicer.readthedocs.io, "Segmentations: file format".
 */
#ifndef LOB_NRRD_HEADER_H
#define LOB_NRRD_HEADER_H

#include "io/nrrd/raw_image.h"
#include "volumes/label_names.h"

/* One segment of a segmentation. */
typedef struct {
    int64_t layer;      /* the volume along the axis of layers that it lies in */
    int64_t value;      /* its number there */
    int64_t label;      /* its number among all segments */
    const char *name;   /* in the text of lob_nrrd, or NULL; likewise the next two */
    const char *colour; /* "r g b", 0..1 */
    const char *tags;
} lob_nrrd_segment;

typedef struct {
    char *text; /* the header, its lines cut apart; what is below points into it. malloc'ed */
    size_t header_bytes;
    lob_raw_image image;
    lob_geometry geometry;
    double frame_step_s; /* 0: not given */
    int64_t line_skip;
    const char *data_file; /* NULL: the voxels follow the header */
    char **keys;           /* key_count of them, "key" of "key:=value", malloc'ed */
    char **values;
    int key_count;
    lob_nrrd_segment *segments; /* malloc'ed */
    int segment_count;          /* 0: no segmentation */
    bool renumbered;            /* some segment's label is not its value */
} lob_nrrd;

/* Do the bytes begin as a NRRD does? */
bool lob_nrrd_looks(const unsigned char *bytes, size_t size);

/*
 * Read a header: a pure function of the bytes.
 *
 *   out    out  free with lob_nrrd_free, also on failure
 *   bytes  in   size of them, from the file's first on; they may be anything
 *   r      in   its path and error, for messages, and info, for warnings
 *
 * Returns LOB_OK, LOB_EDATA (the field and what is wrong with it) or LOB_ENOMEM.
 */
lob_status lob_nrrd_parse(lob_nrrd *out, const unsigned char *bytes, size_t size,
                          const lob_reading *r);

void lob_nrrd_free(lob_nrrd *nrrd);

/* The name of a type of voxels: the first so many bytes. */
const char *lob_nrrd_type(int *length, lob_type type);

/* The terminology in a segment's tags, malloc'ed; NULL where there is none, or no memory. */
char *lob_nrrd_terminology(const lob_nrrd_segment *segment);

/* nrrd_write.c: does the name ask for a segmentation? */
bool lob_is_segmentation_name(const char *path);

/* The row's write. */
lob_status lob_nrrd_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error);

#endif
