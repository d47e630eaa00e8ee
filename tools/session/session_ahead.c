/* Reading inputs ahead, in threads of their own. */
#include "tools/session/session_ahead.h"

#include "io/formats.h"
#include "tools/report/session_sums.h"
#include "tools/session/session.h"

#include <stdlib.h>

struct lob_ahead {
    pthread_t thread;
    const char *path;
    lob_read_options options;
    lob_volume volume;
    lob_file_info info;
    lob_status status;
};

/* Does an input or output of the command's table make a child process? */
static bool has_child(const lob_session *s, bool outputs)
{
    bool any = false;
    for (size_t i = 0; i < s->table[0].count && !any; i++) {
        const lob_option *const row = &s->table[0].rows[i];
        const bool reads = lob_option_reads(row);
        const char *path;
        if (!reads && !(outputs && row->kind == LOB_OPT_OUTPUT)) continue;
        for (int k = 0; !any && (path = lob_option_path(row, k)); k++)
            any = reads ? lob_reads_in_child(path) : lob_writes_in_child(path);
    }
    return any;
}

bool lob_session_reads_in_child(const lob_session *s)
{
    return has_child(s, false);
}

bool lob_session_is_threaded(const lob_session *s)
{
    return !s->command->line && !s->command->part && !s->command->runs_others &&
           !has_child(s, true);
}

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
    *a = (lob_ahead){
        .path = path, .options = {.frame = frame, .threads = s->context.threads}
    };
    if (pthread_create(&a->thread, NULL, read_ahead, a) != 0) {
        free(a);
        return;
    }
    s->ahead[free_at] = a;
    lob_sums_begin(s, path, true, true);
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
