/* The place of HDF5 in a build without it: its files are known, and refused with a reason. */
#include "io/format.h"

#include <string.h>

static bool sniff(const lob_location *where, const lob_input *file)
{
    static const unsigned char signature[] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    (void)where;
    return file->size >= sizeof signature && memcmp(file->bytes, signature, sizeof signature) == 0;
}

static const char *const suffixes[] = {".h5", ".hdf5", NULL};

const lob_format lob_format_hdf5 = {.name = "HDF5", .suffixes = suffixes, .sniff = sniff};
