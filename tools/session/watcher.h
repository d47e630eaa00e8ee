/*
 * Who looks on while a command reads and writes, and makes something of it: the report, checksums,
 * --provenance, --bids. A session calls all of its watchers in their order. Functions may be NULL.
 */
#ifndef LOB_WATCHER_H
#define LOB_WATCHER_H

#include "tools/session/session_state.h"

struct lob_watcher {
    /* An option that turns it on and sets s->extra; false: not for this command. */
    bool (*option)(lob_option *row, lob_session *s);
    /* Options are parsed, outputs not yet checked. */
    lob_status (*begin)(lob_session *s);
    /* Is the folder of this output going to be made by the next? */
    bool (*makes_folder)(const lob_session *s, const char *path);
    /* An output is about to be written. */
    lob_status (*writing)(lob_session *s, const char *path);
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
    /* A text that an output shall carry, malloc'ed, NULL for none; and that it does. */
    lob_status (*comment)(lob_session *s, char **text, const char *path);
    void (*commented)(lob_session *s, const char *text);
    /* What was read is read again, or the session is over: forget it. */
    void (*forget)(lob_session *s);
    /* The work has succeeded; what is written now is an output too. */
    lob_status (*end)(lob_session *s);
};

/* Tell all watchers of a session. */
void lob_watch_using(lob_session *s, const char *path, bool is_volume, bool is_input);
void lob_watch_has_read(lob_session *s, const lob_volume *volume, const char *path,
                        const lob_file_info *info, const char *name);
lob_status lob_watch_writing(lob_session *s, const char *path);
void lob_watch_written(lob_session *s, const lob_volume *volume, const char *path);
bool lob_watch_makes_folder(const lob_session *s, const char *path);
lob_status lob_watch_comment(lob_session *s, char **text, const char *path);
void lob_watch_commented(lob_session *s, const char *text);
void lob_watch_forget(lob_session *s);

#endif
