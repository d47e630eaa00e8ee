/* lobule compare --values: how far the values of two volumes differ. */
#ifndef LOB_COMPARE_VALUES_H
#define LOB_COMPARE_VALUES_H

#include "tools/session/session.h"

typedef struct {
    const char *a_path, *b_path;
    bool strict; /* LOB_EDIFFER when a value differs */
    bool quiet;  /* no list on standard output */
} lob_compare_values_settings;

/*
 * Compare values voxel by voxel, print a list and put the same into the results.
 *
 *   a, b  in  on one grid
 *
 * Returns LOB_OK, LOB_EDIFFER or LOB_EDATA (different numbers of channels).
 */
lob_status lob_compare_values(lob_session *s, const lob_compare_values_settings *set,
                              const lob_volume *a, const lob_volume *b);

#endif
