/* What the files of `lobule carry` share. */
#ifndef LOB_CARRY_WORK_H
#define LOB_CARRY_WORK_H

#include "kernels/carry/carry.h"
#include "tools/commands/carry/atlas_files.h"
#include "tools/inout/grid.h"

typedef struct {
    const char *scan, *atlases, *out, *strokes, *votes, *doubt, *sheet, *table, *name;
    int frame, background;
    double grid;
    lob_size reach;
    lob_carry_options options;

    lob_session *session;
    lob_atlas_files files;
    lob_label_names names; /* of strokes, and of atlases so far */
    int64_t held;          /* by the atlas that was read last */
    lob_volume image, drawn;
    lob_carry_output found;
} lob_carry_work;

/* What became of labels and atlases: in the report, and as notes. */
void lob_carry_report(lob_session *s, const lob_carry_work *w);

/* Write the table of labels and the sheet, where they are asked for. Returns what writing does. */
lob_status lob_carry_table(lob_session *s, const lob_carry_work *w);
lob_status lob_carry_sheet(lob_session *s, lob_carry_work *w);

#endif
