/* Reading inputs ahead, in threads of their own. */
#include "tools/inout/volumes.h"

#include "tools/session/watcher.h"

#include <stdlib.h>

struct lob_ahead {
    pthread_t thread;
    const char *path;
    lob_read_options options;
    lob_volume volume;
    lob_file_info info;
    lob_status status;
};

static void *read_ahead(void *user)
{
    lob_ahead *const a = user;
    a->status = lob_read(&a->volume, a->path, &a->options, &a->info, NULL);
    return NULL;
}

void lob_session_ahead(lob_session *s, const char *path, int64_t frame)
{
    int free_at = 0;
    while (free_at < LOB_SESSION_AHEAD && s->ahead[free_at]) free_at++;
    if (!path || free_at == LOB_SESSION_AHEAD || s->max_memory > 0 || s->context.threads < 2 ||
        !lob_session_is_threaded(s))
        return;
    lob_ahead *const a = malloc(sizeof *a);
    if (!a) return;
    *a = (lob_ahead){.path = path, .options = lob_session_read_options(s, frame)};
    a->options.max_memory = 0;
    if (pthread_create(&a->thread, NULL, read_ahead, a) != 0) {
        free(a);
        return;
    }
    s->ahead[free_at] = a;
    s->watcher->using(s, path, true, true);
}

static int place_of(const lob_session *s, const char *path)
{
    for (int i = 0; i < LOB_SESSION_AHEAD; i++)
        if (s->ahead[i] && s->ahead[i]->path == path) return i;
    return -1;
}

bool lob_ahead_has(const lob_session *s, const char *path)
{
    return place_of(s, path) >= 0;
}

/* Wait for a place's thread, and make the place free. */
static lob_ahead *finish(lob_session *s, int place)
{
    lob_ahead *const a = s->ahead[place];
    pthread_join(a->thread, NULL);
    s->ahead[place] = NULL;
    return a;
}

bool lob_ahead_take(lob_session *s, lob_volume *out, const char *path, int64_t frame,
                    lob_file_info *info)
{
    const int place = place_of(s, path);
    if (place < 0) return false;
    const double start_s = lob_clock_s();
    lob_ahead *const a = finish(s, place);
    const bool read = a->status == LOB_OK && a->options.frame == frame;
    if (read) {
        *out = a->volume;
        *info = a->info;
        info->read_s = 0;
        info->inflate_s = lob_clock_s() - start_s;
    } else {
        lob_volume_free(&a->volume);
    }
    free(a);
    return read;
}

bool lob_ahead_drop(lob_session *s)
{
    bool any = false;
    for (int i = 0; i < LOB_SESSION_AHEAD; i++) {
        if (!s->ahead[i]) continue;
        lob_ahead *const a = finish(s, i);
        lob_volume_free(&a->volume);
        free(a);
        any = true;
    }
    return any;
}
