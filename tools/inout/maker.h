/*
 * What makes volumes and takes them: files, or the memory of a recipe. lob_session_read and its like
 * (volumes.h) go to the one that a path belongs to.
 */
#ifndef LOB_MAKER_H
#define LOB_MAKER_H

#include "tools/inout/volumes.h"

struct lob_maker {
    /* lob_session_read; voxels false: lob_session_read_header. */
    lob_status (*read)(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                       bool voxels, lob_file_info *info);
    /* lob_session_peek. */
    bool (*peek)(const lob_session *s, lob_volume *out, const char *path);
    /* lob_session_open; *input has its path. */
    lob_status (*open)(lob_session *s, lob_plane_input *input, int64_t frame);
    /* lob_session_write_with; force and threads are filled in. */
    lob_status (*write)(lob_session *s, lob_volume *volume, const char *path,
                        lob_write_options *options);
    /* lob_session_planes_begin and _commit; the rest of *out is filled in. */
    lob_status (*begin)(lob_session *s, lob_plane_output *out, int64_t largest);
    lob_status (*commit)(lob_session *s, lob_plane_output *out);

    /*
     * Of memory: files that several lines read. read_kept gives what a line before has read, and
     * describes it as that line did; false: nothing is kept of this file, or there is no memory for
     * a copy. keep is told what a line has read.
     */
    bool (*read_kept)(lob_session *s, lob_status *status, lob_volume *out, const char *path,
                      int64_t frame);
    void (*keep)(lob_session *s, const lob_volume *volume, const char *path,
                 const lob_file_info *info);
};

/* The end of both makers' commit: finish the writer, and time it; user is the lob_plane_output. */
lob_make_fn lob_planes_finish;

#endif
