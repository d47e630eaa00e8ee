/* Read and write volumes: NIfTI, NRRD, MetaImage, HDF5, OME-Zarr, TIFF, PNG; DICOM by programs
 * outside. */
#ifndef LOB_IO_H
#define LOB_IO_H

#include "volumes/volume.h"

LOB_BEGIN_DECLS

/* Bytes of memory that the system can give now without swapping. */
int64_t lob_memory_available(void);

/*
 * In place of a frame's number, for a file that must hold a single frame: none was chosen, or none
 * can be chosen here. They differ in the hint of the error (LOB_HINT_CHOOSE_FRAME or
 * LOB_HINT_SAVE_FRAME).
 */
enum { LOB_FRAME_UNSAID = -1, LOB_FRAME_NONE = -2 };

/*
 * What folders of DICOM have become, kept so that each is converted once however often it is read.
 * Threads may share one.
 */
typedef struct lob_converted lob_converted;

/* An empty one, or NULL without memory. */
lob_converted *lob_converted_begin(void);

/* Remove what is kept. All volumes that were read keep their voxels. NULL is fine. */
void lob_converted_end(lob_converted *converted);

typedef struct {
    int64_t frame;      /* time frame to read, from 0; or LOB_FRAME_UNSAID, LOB_FRAME_NONE; or
                           LOB_FRAME_ALL: the volume holds all if there are several, and the format
                           reads them together, as NIfTI, NRRD, MetaImage and HDF5 do */
    int64_t max_memory; /* bytes that voxel data may take; 0: nine tenths of what is free */
    int threads;        /* that decompress HDF5's chunks and large .nii.gz; >= 1 */
    bool header_only;   /* leave data NULL and do not read the voxels */
    bool spaced;        /* the caller knows how large voxels are: no line says that files do not */

    /* of DICOM */
    const char *series; /* of those in a folder: its number or UID; ":K" behind it takes the K-th of
                           several volumes that it makes; NULL: the only one */
    lob_converted *converted; /* NULL: each call converts anew */
    int (*stop)(void *user);  /* a conversion, and looking for what lob_planes_stored finds, end
                                 when it returns other than 0; NULL: they never do */
    void *user;
} lob_read_options;

/* The only frame, as much memory as is free, one thread. */
lob_read_options lob_read_defaults(void);

/* What was found while reading a file. */
typedef struct {
    const char *format;   /* as "NIfTI-1", "NRRD", "MetaImage", "HDF5", "OME-Zarr",
                             "OME-TIFF", "PNG", "DICOM" */
    int64_t file_bytes;   /* of all files read */
    double inflate_s;     /* wall time of decompression; of HDF5, which decompresses as it reads, of
                             both */
    double read_s;        /* wall time of the rest of the call */
    int warnings;         /* lines used in warning[] */
    char warning[4][512]; /* lines for a person, about what is not an error */
} lob_file_info;

/*
 * Read a volume.
 *
 *   out      out  overwritten, so it must hold nothing; an empty volume on failure
 *   path     in   a file, FILE.h5:/dataset, STORE.zarr or an
 *                 array in it as STORE.zarr/labels/liver, or DICOM: a folder, or a file of a series
 *   options  in   NULL for lob_read_defaults()
 *   info     out  may be NULL
 *
 * The content decides the format, not the name alone. DICOM is converted by dcm2niix, a DICOM SEG
 * by dcmqi's segimage2itkimage, programs that are looked for on the PATH. Damaged files cause no
 * read outside the file and no allocation that the size of the file does not justify.
 *
 * Returns LOB_OK, LOB_ENOINPUT (no such file, not readable), LOB_EDATA (not a volume, damaged, or
 * of a kind that is refused), LOB_EIO, LOB_ENOMEM or LOB_ECANCEL (a signal that asks to stop has
 * ended the process that HDF5 is read in).
 */
lob_status lob_read(lob_volume *out, const char *path, const lob_read_options *options,
                    lob_file_info *info, lob_error *error);

/* A data set of a file that holds several. */
typedef struct {
    char path[512];  /* "/raw": what follows the colon in FILE.h5:/raw */
    char shape[128]; /* sides in the file's order, slowest first: "32 x 128 x 128" */
    char type[16];   /* "uint8", as lob_type_of names it; empty: of no type that is read */
} lob_data_set;

/*
 * List the data sets that a file, or the group of FILE.h5:/group, holds: those of numbers with 2 to
 * 5 dimensions. For a file of which lob_read says LOB_HINT_CHOOSE_SET.
 *
 *   sets   out  *count of them, malloc'ed; NULL on failure
 *   count  out  at most 256
 *   more   out  how many there are beyond those
 *
 * Returns LOB_OK or what lob_read does; LOB_EDATA for formats without data sets.
 */
lob_status lob_list(lob_data_set **sets, int *count, int *more, const char *path, lob_error *error);

typedef struct {
    bool force;  /* replace an existing file */
    bool labels; /* a label volume: see the list of changed header fields in io/nifti/nifti.h */
    bool strip_extensions; /* leave the header's extensions out, ours too */
    const char *comment;   /* how the volume was made: NIfTI has it as an extension, the others not
                              at all; NULL: nothing is said */
    int threads;           /* that compress; >= 1 */
    int level;             /* gzip level 1..9; 0: the format's usual one: of NIfTI and NRRD 6 for
                              labels and where bytes repeat, else 1; of HDF5 1; of all others 6 */
    double *compress_s;    /* in/out: the wall time of compression is added; may be NULL */

    /* of a DICOM SEG */
    const char *like;   /* the scan that it refers to: as path of lob_read; NULL: none, so that it
                           cannot be written */
    const char *series; /* of like; these are as in lob_read_options */
    lob_converted *converted;
    int (*stop)(void *user);
    void *user;
} lob_write_options;

/* An existing file is kept, one thread, the usual gzip level. */
lob_write_options lob_write_defaults(void);

/*
 * Write a volume; one that holds all frames as NIfTI, NRRD, MetaImage or HDF5. The suffix chooses
 * the format: .nii .nii.gz .hdr .img (and both with .gz) .nrrd .seg.nrrd .mha .mhd .h5 .hdf5
 * .ome.zarr .zarr .tif .tiff .ome.tif .png, and .dcm, a DICOM SEG, by itkimage2segimage. The
 * carried header is used when it is of that format's family, else one is made from the geometry.
 * The same volume and options give the same bytes at any thread count; but a DICOM SEG has UIDs of
 * its own each time.
 *
 * Returns LOB_OK, LOB_EARG (no format has this suffix), LOB_EEXIST (and not force), LOB_ECREATE
 * (folder missing or not writable), LOB_EDATA (the format cannot hold this volume), LOB_EIO,
 * LOB_ENOMEM, LOB_ECANCEL (a signal that asks to stop has ended the process that HDF5 is written
 * in) or LOB_EINTERNAL (a library failed where it must not); on error the file that was there
 * before is still there, or none.
 */
lob_status lob_write(const lob_volume *volume, const char *path, const lob_write_options *options,
                     lob_error *error);

/*
 * Check, before the work is done, that lob_write will accept the name: known suffix, folder there
 * and writable, no existing file unless force.
 */
lob_status lob_check_output(const char *path, bool force, lob_error *error);

/*
 * Check, before the work is done, that the format of a name can hold a volume: a PNG holds one
 * slice. The values of the voxels are checked when they are written.
 *
 *   volume  in  its dims, channels, type, slope and inter; nothing else is read
 *
 * Returns LOB_OK, LOB_EARG (no format has this suffix), LOB_EDATA or LOB_ENOMEM.
 */
lob_status lob_check_volume(const lob_volume *volume, const char *path, lob_error *error);

/*
 * The files that reading or writing a volume touches: FILE.h5 of FILE.h5:/dataset, both files of a
 * .hdr/.img pair.
 *
 *   files    out  malloc'ed names: the file itself, and the second file of a pair or NULL
 *   path     in   as for lob_read and lob_write; nothing need exist there
 *   reading  in   true: the second file that lob_read finds, which may be compressed where path is
 *                 not, or the other way round; false: the one that lob_write makes
 *
 * Returns LOB_OK or LOB_ENOMEM; on failure both are NULL.
 */
lob_status lob_files_of(char *files[2], const char *path, bool reading);

/* Free the names and leave NULL. */
void lob_files_free(char *files[2]);

/* Does a file of this name hold the names and colours of labels? NIfTI, .seg.nrrd and DICOM SEG do.
 */
bool lob_keeps_names(const char *path);

/* Is the suffix of path that of a volume format? */
bool lob_is_volume_name(const char *path);

/*
 * Call field for each field of the header that a volume carries, in the header's order, with its
 * name and value as text ("sform_code", "1"). Numbers have all their digits.
 */
typedef void lob_field_fn(void *user, const char *name, const char *value);
void lob_header_fields(const lob_volume *volume, lob_field_fn *field, void *user);

LOB_END_DECLS

#endif
