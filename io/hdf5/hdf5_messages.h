/*
 * What goes between this process and the helper, a process of the program lobule-hdf5, which alone
 * knows the HDF5 library. Both ends are of one build, so numbers and structs go as they lie in
 * memory. What comes back is as little to be trusted as the file that it is made of.
 */
#ifndef LOB_HDF5_MESSAGES_H
#define LOB_HDF5_MESSAGES_H

#include "io/format.h"
#include "volumes/version.h"
#include "volumes/volume.h"

#include <stdio.h>
#include <string.h>

enum {
    LOB_HDF5_SIDES = 5,             /* of a file that is written: t, z, y, x, c */
    LOB_HDF5_PATH = 512,            /* bytes of a path inside a file, its NUL included */
    LOB_HDF5_MAX_SETS = 256,        /* that are listed */
    LOB_HDF5_MAX_HEADER = 16 << 20, /* bytes of the text that is carried as the header */
    LOB_HDF5_MAX_NIFTI = 65 << 20,  /* bytes of a NIfTI header with its extensions */
};

typedef enum { LOB_HDF5_READ, LOB_HDF5_LIST, LOB_HDF5_WRITE } lob_hdf5_task;

/* What follows a request: path and inside of lob_location, the text of FILE.xml, the header text
 * that came with an HDF5 input, a NIfTI header with its extensions. */
enum {
    LOB_HDF5_WHERE,
    LOB_HDF5_INSIDE,
    LOB_HDF5_XML,
    LOB_HDF5_CARRIED,
    LOB_HDF5_NIFTI,
    LOB_HDF5_TEXTS
};

/* A volume that is to be written: all but its voxels. */
typedef struct {
    lob_type type; /* as stored */
    uint64_t extent[LOB_HDF5_SIDES], chunk[LOB_HDF5_SIDES];
    int first, rank; /* of these, the sides that the data set has: t for frames, c for channels */
    int64_t chunks;
    lob_geometry geometry;
    double start_s, step_s; /* of the first frame, and from one to the next */
    int level;              /* of deflate */
    bool labels, strip_extensions;
} lob_hdf5_target;

/* The first message, after the helper has said LOB_HDF5_READY; the texts follow, in their order
 * here. */
typedef struct {
    lob_hdf5_task task;
    lob_read_options options; /* of which the helper follows no pointer */
    lob_hdf5_target target;
    int64_t bytes[LOB_HDF5_TEXTS]; /* of each; -1: there is none */
} lob_hdf5_request;

/* LOB_HDF5_READ: what the helper finds out. The texts follow, then the voxels, in the order of
 * lob_hdf5_send_voxels. */
typedef struct {
    lob_status status;
    lob_error error;
    lob_type type;
    lob_dims dims;
    int channels;
    double slope, inter;
    int64_t frames, frame;
    double frame_step_s;
    double affine[3][4];
    int unoriented, micrometres; /* 0 or not */
    int64_t slab, batch;         /* slices and frames that come at a time */
    int64_t header_bytes;        /* of text, which follows at once */
    int64_t nifti_bytes;         /* of a NIfTI header with its extensions, which follows that */
    lob_file_info info;          /* for its warnings */
} lob_hdf5_reply;

/*
 * The word that the helper is started with: version and sizes of messages. A helper of another
 * build ends at once, with LOB_SANDBOX_REFUSES.
 */
enum { LOB_HDF5_BUILD = 64 };
static inline void lob_hdf5_build(char build[LOB_HDF5_BUILD])
{
    snprintf(build, LOB_HDF5_BUILD, LOB_VERSION "-%zu-%zu", sizeof(lob_hdf5_request),
             sizeof(lob_hdf5_reply));
}

/* An int that the helper sends before anything else: it runs. */
enum { LOB_HDF5_READY = 0x35464448 };

/* LOB_HDF5_LIST: an int, how many there are, then at most LOB_HDF5_MAX_SETS times lob_data_set. */

/* LOB_HDF5_WRITE: a chunk that goes to the helper, its bytes behind it; target.chunks of them. */
typedef struct {
    uint64_t offset[LOB_HDF5_SIDES];
    uint64_t bytes;
} lob_hdf5_packed;

/* And what comes back, once. */
typedef struct {
    lob_status status;
    int cause; /* errno */
} lob_hdf5_outcome;

/* hdf5_carried.c: what came with a file. Neither text is to be trusted. */

/*
 * Take a header text or, where it is there and speaks of this volume's grid, the NIfTI header.
 *
 *   text, nifti  in  malloc'ed, nifti or NULL; belong to out or are freed
 */
void lob_hdf5_take_header(lob_volume *out, char *text, size_t text_bytes, unsigned char *nifti,
                          size_t nifti_bytes, const lob_location *where);

/* Hand over the fields of a header text. */
void lob_hdf5_fields(const lob_header *header, lob_field_fn *field, void *user);

/* hdf5_ask.c: the helper is started and told what to do. */

struct lob_sandbox;

/*
 * Start the helper on a request, whose texts follow it; their lengths are filled in here. The file,
 * of which the helper sees nothing else, is its descriptor LOB_SANDBOX_FILE. Returns LOB_OK, or
 * LOB_EINTERNAL or LOB_ENOMEM where there is no helper.
 */
lob_status lob_hdf5_ask(struct lob_sandbox *box, lob_hdf5_request *request,
                        const lob_output_part texts[LOB_HDF5_TEXTS], int file, const char *path,
                        lob_error *error);

/* A text as one of those; NULL: there is none. */
static inline lob_output_part lob_hdf5_part(const char *text)
{
    return (lob_output_part){text, text ? strlen(text) : 0};
}

/* hdf5_write.c, over hdf5_pack.c */

lob_status lob_hdf5_write(const lob_volume *volume, const lob_location *where,
                          const lob_write_options *options, lob_error *error);

/* What is to be written: type, sides and chunks. */
void lob_hdf5_plan(lob_hdf5_target *t, const lob_volume *volume, const lob_write_options *options);

/*
 * Send all chunks, shuffled if a number has several bytes, then deflated, in the order of the file,
 * as long as the helper takes them: its outcome tells why it does not. False: no memory.
 */
bool lob_hdf5_pack(struct lob_sandbox *box, const lob_hdf5_target *t, const lob_volume *volume,
                   const lob_write_options *options);

#endif
