/* The version of the library that is loaded. */
#include "volumes/version.h"

const char *lob_version(void)
{
    return LOB_VERSION;
}
