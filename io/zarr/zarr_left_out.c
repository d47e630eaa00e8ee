/* The place of OME-Zarr in a build without it: its stores are known, and refused with a reason. */
#include "io/libraries.h"
#include "io/zarr/zarr.h"

char *lob_zarr_store_file(const lob_location *where)
{
    (void)where;
    return NULL; /* so that it is told of as other kinds that are not read */
}

static lob_status write_none(const lob_volume *volume, const lob_location *where,
                             const lob_write_options *options, lob_error *error)
{
    (void)volume;
    (void)options;
    return lob_fail_file(error, LOB_EARG, where->path,
                         "this build of Lobule has no OME-Zarr; name a .nii.gz");
}

static const char *const suffixes[] = {".ome.zarr", ".zarr", NULL};

const lob_format lob_format_zarr = {.name = "OME-Zarr", .suffixes = suffixes, .write = write_none};

const char *lob_blosc_version(void)
{
    return "left out";
}

const char *lob_zstd_version(void)
{
    return "left out";
}
