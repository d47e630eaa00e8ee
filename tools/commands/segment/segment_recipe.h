/* A plan of kernels/segment/segment.h as plain lines of commands, which a person can print, keep
 * and change. */
#ifndef LOB_SEGMENT_RECIPE_H
#define LOB_SEGMENT_RECIPE_H

#include "kernels/segment/segment.h"
#include "tools/session/session.h"

/* Files that the lines name. */
typedef struct {
    const char *image, *seeds, *out;
    const char *strength; /* NULL: none */
    int frame;            /* of the image; < 0: not given */
} lob_segment_files;

/* Print the lines, which give the bytes of lob_segment. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_segment_print(const lob_segment_plan *plan, const lob_segment_files *files,
                             lob_error *error);

#endif
