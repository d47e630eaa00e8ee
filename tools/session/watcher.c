/* Telling all watchers of a session. */
#include "tools/session/watcher.h"

/* Let all watchers do what they do, if they do it. */
#define TELL(s, function, ...)                                 \
    for (const lob_watcher *const *w = (s)->watchers; *w; w++) \
        if ((*w)->function) (*w)->function((s), __VA_ARGS__)

void lob_watch_using(lob_session *s, const char *path, bool is_volume, bool is_input)
{
    TELL(s, using, path, is_volume, is_input);
}

void lob_watch_has_read(lob_session *s, const lob_volume *volume, const char *path,
                        const lob_file_info *info, const char *name)
{
    TELL(s, has_read, volume, path, info, name);
}

void lob_watch_written(lob_session *s, const lob_volume *volume, const char *path)
{
    TELL(s, written, volume, path);
}

lob_status lob_watch_writing(lob_session *s, const char *path)
{
    for (const lob_watcher *const *w = s->watchers; *w; w++)
        if ((*w)->writing) LOB_TRY((*w)->writing(s, path));
    return LOB_OK;
}

bool lob_watch_makes_folder(const lob_session *s, const char *path)
{
    for (const lob_watcher *const *w = s->watchers; *w; w++)
        if ((*w)->makes_folder && (*w)->makes_folder(s, path)) return true;
    return false;
}

lob_status lob_watch_comment(lob_session *s, char **text, const char *path)
{
    *text = NULL;
    for (const lob_watcher *const *w = s->watchers; *w && !*text; w++)
        if ((*w)->comment) LOB_TRY((*w)->comment(s, text, path));
    return LOB_OK;
}

void lob_watch_commented(lob_session *s, const char *text)
{
    if (text) TELL(s, commented, text);
}

void lob_watch_forget(lob_session *s)
{
    for (const lob_watcher *const *w = s->watchers; w && *w; w++)
        if ((*w)->forget) (*w)->forget(s);
}
