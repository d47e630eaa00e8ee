/* A folder for a test program's files, and volumes whose voxels tell where they are. */
#ifndef LOB_IO_SCRATCH_H
#define LOB_IO_SCRATCH_H

#include "io/io.h"

#include <stddef.h>

/* test_main.c makes the folder, removes all files in it after each test, and then the folder. */
int scratch_begin(void **state);
int scratch_clear(void **state);
int scratch_end(void **state);

/* The path of a file in the folder, in one of a few buffers that take turns. */
const char *scratch(const char *name);

/* Number of files in the folder. */
int scratch_files(void);

/* A whole file, malloc'ed; fails the test when it cannot be read. */
unsigned char *slurp(const char *path, size_t *size);
void spill(const char *path, const void *bytes, size_t size);

/* The same, compressed by zlib. */
void spill_gz(const char *path, const void *bytes, size_t size);

/* Read or write a volume; fails the test, with the message, when that fails. options may be NULL.
 */
lob_volume read_volume(const char *path, const lob_read_options *options, lob_file_info *info);
void write_volume(const lob_volume *v, const char *path, const lob_write_options *options);

/*
 * Fail the test unless reading a file ends with a status, its message holding `says`, and leaves
 * nothing. Returns the error's hint.
 */
lob_hint assert_refused(const char *path, const lob_read_options *options, lob_status status,
                        const char *says);

/*
 * A volume with an oblique place in the world and pseudo-random voxels over the whole range of its
 * type (real types: finite numbers, NaN and infinity too).
 */
lob_volume noise_volume(lob_type type, lob_dims dims, int channels);

/* Fail the test unless type, dims, channels, voxels and, within a few roundings, affines agree. */
void assert_same_volume(const char *what, const lob_volume *a, const lob_volume *b);

#endif
