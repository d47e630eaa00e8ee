/* HDF5's version. */
#include "io/libraries.h"

#include <hdf5.h>

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* That of the headers: a library of another one ends the process. */
const char *lob_hdf5_version(void)
{
    return TEXT(H5_VERS_MAJOR) "." TEXT(H5_VERS_MINOR) "." TEXT(H5_VERS_RELEASE);
}
