/* What two volumes' headers say, before their voxels are compared. */
#ifndef LOB_COMPARE_HEADERS_H
#define LOB_COMPARE_HEADERS_H

#include "tools/inout/volumes.h"

/* Report header fields that differ, as the files have them. */
void lob_compare_fields(lob_session *s, const lob_volume *a, const lob_volume *b);

/* Report nearly equal geometry. */
void lob_compare_places(lob_session *s, const lob_volume *a, const char *a_path,
                        const lob_volume *b, const char *b_path);

#endif
