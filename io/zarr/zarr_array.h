/* What the metadata of a Zarr array says: version 2 (.zarray) and version 3 (zarr.json). */
#ifndef LOB_ZARR_ARRAY_H
#define LOB_ZARR_ARRAY_H

#include "io/zarr/zarr_codecs.h"
#include "volumes/status.h"
#include "volumes/voxel_type.h"

#include <cjson/cJSON.h>

enum {
    LOB_ZARR_DIMS = 5,          /* axes that are read at most */
    LOB_ZARR_CHAIN = 4,         /* codecs of one array */
    LOB_ZARR_ENTRY = 16,        /* bytes of a shard's index for each of its pieces */
    LOB_ZARR_MAX_TEXT = 1 << 22 /* bytes of metadata */
};

/*
 * An array of dims axes, the slowest first. In all that follows it has LOB_ZARR_DIMS: those that it
 * lacks have one place, and come first unless lob_zarr_place_axes moves them.
 *
 * A file holds `file` places along each axis, and those that are packed together are a piece: the
 * whole file, or one of many in a shard, whose index has 16 bytes for each: offset and size.
 */
typedef struct {
    int dims;
    bool present[LOB_ZARR_DIMS]; /* which axes it has */
    int64_t shape[LOB_ZARR_DIMS], file[LOB_ZARR_DIMS], piece[LOB_ZARR_DIMS];
    lob_type type;
    bool swapped;                         /* the other byte order than this machine's */
    unsigned char fill[8];                /* a place of what is not stored */
    lob_zarr_codec chain[LOB_ZARR_CHAIN]; /* in the order of packing; at most one compresses */
    int codecs;
    bool sharded, index_first, index_summed; /* the index is at the file's start; has a CRC-32C */
    bool with_c;                             /* names of files begin with "c" */
    char separator;                          /* between numbers in them */
    char names[LOB_ZARR_DIMS];               /* first letters of the axes' names; 0: without */
} lob_zarr_array;

/*
 * A node of a store: a group, or an array.
 *
 *   meta   its metadata; freed by lob_zarr_node_free
 *   ome    what OME-NGFF says of it: part of meta or own; NULL: nothing
 */
typedef struct {
    cJSON *meta, *own;
    const cJSON *ome;
    bool is_array, v2;
} lob_zarr_node;

/* Join a folder and a name below it: malloc'ed, NULL without memory. */
char *lob_zarr_below(const char *folder, const char *name);

/* Read a node; path is for messages. Returns LOB_OK, LOB_ENOINPUT (no such node), LOB_EDATA,
 * LOB_EIO or LOB_ENOMEM. A node that could not be read holds nothing. */
lob_status lob_zarr_node_read(lob_zarr_node *node, const char *folder, const char *path,
                              lob_error *error);
void lob_zarr_node_free(lob_zarr_node *node);

/* Take an array's metadata apart. Returns LOB_OK or LOB_EDATA (damaged, or of a kind that is
 * refused). */
lob_status lob_zarr_array_of(lob_zarr_array *out, const lob_zarr_node *node, const char *path,
                             lob_error *error);

/*
 * Put each axis that an array has at a place of its own.
 *
 *   to  in  for the last `dims` of LOB_ZARR_DIMS: the place, in ascending order
 */
void lob_zarr_place_axes(lob_zarr_array *array, const int to[LOB_ZARR_DIMS]);

/* Places of a box, of a piece as of a file; -1: more than 64 bits hold. */
int64_t lob_zarr_places(const int64_t size[LOB_ZARR_DIMS]);

/* A member that is a text, or NULL. */
const char *lob_json_text(const cJSON *object, const char *name);

#endif
