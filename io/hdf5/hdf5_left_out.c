/* The place of HDF5 in a build without it: its files are known, and refused with a reason. */
#include "io/format.h"

#include <string.h>

static bool sniff(const lob_location *where, const lob_input *file)
{
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    (void)where;
    return file->size >= sizeof signature && memcmp(file->bytes, signature, sizeof signature) == 0;
}

static lob_status read_none(lob_volume *out, const lob_reading *r)
{
    (void)out;
    if (r->info) r->info->format = lob_format_hdf5.name;
    return LOB_FAIL(r, LOB_EDATA,
                    "this build of Lobule has no HDF5; convert it to .nii.gz on another");
}

static lob_status write_none(const lob_volume *volume, const lob_location *where,
                             const lob_write_options *options, lob_error *error)
{
    (void)volume;
    (void)options;
    return lob_fail_file(error, LOB_EARG, where->path,
                         "this build of Lobule has no HDF5; name a .nii.gz");
}

static const char *const suffixes[] = {".h5", ".hdf5", NULL};

const lob_format lob_format_hdf5 = {
    .name = "HDF5",
    .suffixes = suffixes,
    .sniff = sniff,
    .read = read_none,
    .write = write_none,
};
