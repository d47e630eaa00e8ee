/*
 * A volume format is a row of functions (lob_format), and this header has what the rows share. To
 * follow a read: io/formats.c chooses the row and calls its read; nifti.c, hdf5.c, png.c and others
 * are the rows. io/plane_streams.c does the same for a few planes at a time.
 */
#ifndef LOB_FORMAT_H
#define LOB_FORMAT_H

#include "io/dicom/dicom.h"
#include "io/file.h"
#include "io/io.h"
#include "volumes/crop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a volume is: a file and, in formats with several data sets, one of them. */
typedef struct {
    const char *path;    /* as the caller gave it, for messages: "scan.h5:/raw" */
    char *file;          /* the file alone: "scan.h5" */
    const char *inside;  /* what follows the colon, or the store: "/raw"; NULL when nothing does */
    lob_dicom_made made; /* path is DICOM, and file what has been made of it */
} lob_location;

/* A volume on its way in. */
typedef struct {
    const lob_location *where;
    const char *path;                /* for messages: where->path, or a file of the volume */
    const lob_input *file;           /* open; all of it */
    const lob_read_options *options; /* never NULL */
    lob_file_info *info;             /* what is found; may be NULL */
    lob_error *error;
} lob_reading;

/* lob_fail_file of anything that has an error and a path, as a lob_reading. */
#define LOB_FAIL(r, status, ...) lob_fail_file((r)->error, status, (r)->path, __VA_ARGS__)

/* A format's way of reading a volume a few planes at a time. */
typedef struct {
    void *state;
    int64_t held; /* what lob_planes_held says */

    /* What lob_planes_get does. */
    lob_status (*get)(void *state, unsigned char *out, int64_t z, int64_t n, lob_error *error);

    /* What lob_planes_get_box and lob_planes_stored do; NULL: by planes, and all. */
    lob_status (*get_box)(void *state, unsigned char *out, const lob_box *box, lob_error *error);
    lob_status (*stored)(void *state, lob_box *box, lob_error *error);

    void (*close)(void *state);
} lob_plane_source;

/* A format's way of writing one. */
typedef struct {
    void *state;
    const lob_output *uncompressed; /* where bytes go as they are; NULL: they are packed first */

    /* The next bytes of the voxels, in their order. */
    lob_status (*put)(void *state, const void *bytes, size_t n, lob_error *error);
    bool takes_zeros; /* of put: bytes NULL are n zeros */

    /* Put the output in its place, all bytes having been put; the state is gone afterwards. */
    lob_status (*commit)(void *state, lob_error *error);

    void (*discard)(void *state);
} lob_plane_sink;

typedef struct {
    const char *name; /* of the family; lob_header.format points to this string */
    const char *const
        *suffixes;         /* lower case, with their dot, NULL at the end; the first is usual */
    const char *read_only; /* one of them whose files are read, not written; NULL: none */

    /* Is this file of the format? file holds the whole file; its first bytes should decide. NULL:
     * lob_opened_begin knows it otherwise. */
    bool (*sniff)(const lob_location *where, const lob_input *file);

    /*
     * Read. out is an empty volume; on failure lob_read frees whatever is in it. Sets
     * info->inflate_s, and calls lob_info_add_file for each file read. NULL: by open_planes;
     * without both it is left out of this build.
     */
    lob_status (*read)(lob_volume *out, const lob_reading *r);

    bool all_frames; /* it reads and writes volumes that hold all frames */
    int level;       /* of gzip where the caller names none; 0: the usual one */

    /* Files that end in this hold names of labels; "": all do; NULL: none does. */
    const char *keeps_names;

    /* What lob_list does; NULL: a file holds one volume. */
    lob_status (*list)(lob_data_set **sets, int *count, int *more, const lob_reading *r);

    /*
     * Write, through lob_output_*. options and its compress_s are never NULL; the volume's sizes
     * are sane. NULL: by begin_planes; without both it is left out of this build.
     */
    lob_status (*write)(const lob_volume *volume, const lob_location *where,
                        const lob_write_options *options, lob_error *error);

    /*
     * Read planes: as read, but data stays NULL and the voxels come through source. All that r
     * points to but error stays until source->close. What is wrong with a file beyond its header
     * may come to light, and into info, as late as with the last plane. Without read all frames,
     * too, are asked for, whose planes then come all at once, and header_only, where none are.
     * NULL: the volume is read as a whole.
     */
    lob_status (*open_planes)(lob_plane_source *source, lob_volume *out, const lob_reading *r);

    /*
     * Write planes; those of several channels come all at once. The same bytes however they come.
     * largest is that of the labels where options->labels. NULL: they are gathered in a file first.
     */
    lob_status (*begin_planes)(lob_plane_sink *sink, const lob_volume *volume, int64_t largest,
                               const lob_location *where, const lob_write_options *options,
                               lob_error *error);

    /*
     * What write would refuse whatever the voxels are: for dims, channels, type and scale. NULL:
     * nothing.
     */
    lob_status (*holds)(const lob_volume *volume, const lob_location *where, lob_error *error);

    /* What write would refuse for the name alone; NULL: what lob_output_check does of the file, and
     * of the second one. */
    lob_status (*check)(const lob_location *where, bool force, lob_error *error);

    /*
     * The second file of a volume that has two, malloc'ed: see lob_files_of. NULL where the volume
     * has one; a NULL slot: each has one. Returns LOB_OK or LOB_ENOMEM.
     */
    lob_status (*second_file)(char **second, const char *file, bool reading);

    /* Hand over the fields of a header that this format made; NULL: it has none. */
    void (*fields)(const lob_header *header, lob_field_fn *field, void *user);
} lob_format;

/* The rows. */
extern const lob_format lob_format_dicom, lob_format_hdf5, lob_format_meta, lob_format_nrrd,
    lob_format_png, lob_format_tiff, lob_format_nifti, lob_format_zarr;

/* Does path end in this suffix, whatever the case, with something before it? */
bool lob_has_suffix(const char *path, const char *suffix);

/*
 * May this many bytes of voxel data be allocated? Holds them against options->max_memory, or nine
 * tenths of the memory the system has available when that is 0. bytes < 0 stands for "does not fit
 * in 64 bits". Returns LOB_OK or LOB_ENOMEM with a message.
 */
lob_status lob_memory_allows(int64_t bytes, const lob_reading *r);

/*
 * The frame that options->frame asks for, of a file that holds so many. Returns LOB_OK or, when it
 * is not there or none was named and there are several, LOB_EDATA with a message.
 */
lob_status lob_choose_frame(int64_t *frame, int64_t frames, const char *path,
                            const lob_read_options *options, lob_error *error);

/* Of a format that holds no scale: LOB_OK, or LOB_EDATA where the volume has one. */
lob_status lob_holds_no_scale(const lob_volume *volume, const lob_location *where,
                              const char *format, lob_error *error);

/* Add a line to info->warning; lines beyond the last are dropped. info may be NULL. */
void lob_warn(lob_file_info *info, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* Is a file large beside the memory that there is? It should then not stay in it. */
bool lob_outgrows_memory(const lob_input *file, const lob_read_options *options);

/* memcpy by several threads, which share the work of filling fresh pages and mapping a file's: one
 * core does not use up the memory's bandwidth. */
void lob_copy_apart(void *out, const void *in, size_t n, int threads);

/*
 * Voxels as files have them that keep the channels of one side by side: numbers `first` on of all,
 * n voxels of them, the frames one after another.
 */
void lob_voxels_mixed(void *out, const lob_volume *volume, int64_t first, int64_t n, int threads);

/* Hand all voxels to a sink's put, those of several channels so. */
lob_status lob_put_mixed(const lob_volume *volume, int threads,
                         lob_status (*put)(void *state, const void *bytes, size_t n,
                                           lob_error *error),
                         void *state, const char *path, lob_error *error);

/* Add a file's size to info, which may be NULL. */
void lob_info_add_file(lob_file_info *info, const lob_input *file);

#endif
