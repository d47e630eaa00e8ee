/*
 * Who looks on while a command reads and writes, and makes something of it: the report with its
 * checksums and --provenance; and --bids, which names outputs.
 */
#ifndef LOB_WATCHER_H
#define LOB_WATCHER_H

#include "tools/session/session_state.h"

struct lob_watcher {
    /* A file is about to be read, or was just written.
     *   path       in  the very string of the option's variable
     *   is_volume  in  it may stand for two files, or for a data set in one */
    void (*using)(lob_session *s, const char *path, bool is_volume, bool is_input);
    /* It was read: a volume, or, with volume and info NULL, something else, called name (NULL: as
     * the option that holds its path). */
    void (*has_read)(lob_session *s, const lob_volume *volume, const char *path,
                     const lob_file_info *info, const char *name);
    /* It was written. volume is NULL when it is none. */
    void (*written)(lob_session *s, const lob_volume *volume, const char *path);
    /* A text that an output shall carry, malloc'ed, NULL for none, always set; and that it does,
     * NULL too. */
    lob_status (*comment)(lob_session *s, char **text, const char *path);
    void (*commented)(lob_session *s, const char *text);
    /* What was read is read again, or the session is over: forget it. */
    void (*forget)(lob_session *s);
};

struct lob_namer {
    /* An option that turns it on and sets s->extra; false: not for this command. */
    bool (*option)(lob_option *row, lob_session *s);
    /* Options are parsed, outputs not yet checked. */
    lob_status (*begin)(lob_session *s);
    /* Is the folder of this output going to be made by the next? */
    bool (*makes_folder)(const lob_session *s, const char *path);
    /* An output is about to be written. */
    lob_status (*writing)(lob_session *s, const char *path);
    /* The work has succeeded; what is written now is an output too. */
    lob_status (*end)(lob_session *s);
};

#endif
