/* Seeds looked at by what is around them: slices painted out, the image, shares. */
#include "tools/commands/seeds/seeds_work.h"

#include <stdlib.h>
#include <string.h>

typedef lob_seeds_work work;

/* Which seeds, whose dense labels w->from has, are kept, and by which label: fills in w->kept. */
typedef lob_status look(lob_session *s, work *w);

/* Leave out the seeds that are not kept. */
static lob_status leave_out(lob_session *s, work *w, look *find_kept)
{
    const int64_t n = lob_voxels(&w->seeds);
    int32_t *const seeds = w->seeds.data;
    LOB_TRY(lob_grid_make(s, &w->from, &w->seeds, LOB_I32, 1, w->image_path));
    memcpy(w->from.data, seeds, (size_t)n * sizeof *seeds);
    LOB_TRY(lob_grid_dense(s, &w->from, &w->labels, w->image_path));
    if (w->labels.count > 255)
        return lob_fail_file(&s->error, LOB_EDATA, w->image_path,
                             "seeds of %d labels; at most 255 can be looked at", w->labels.count);
    if (!(w->kept = lob_session_array(s, n, 1, w->image_path))) return LOB_ENOMEM;
    LOB_TRY(find_kept(s, w));
    for (int64_t i = 0; i < n; i++) {
        w->left_out += seeds[i] != 0 && w->kept[i] == 0;
        if (w->kept[i] == 0) seeds[i] = 0;
    }
    lob_session_give(s, n);
    free(w->kept);
    w->kept = NULL;
    lob_label_set_free(&w->labels);
    lob_grid_drop(s, &w->from);
    return LOB_OK;
}

/* The dense number of --background among the seeds. */
static lob_status find_background(lob_session *s, const work *w, int32_t *background)
{
    *background = lob_label_set_find(&w->labels, w->background);
    if (*background > 0) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, w->image_path,
                         "no seed has the label %d of --background", w->background);
}

/* Make background of what is left of slices that are painted out, by what w->near has there. */
static lob_status complete(lob_session *s, work *w)
{
    const lob_volume *const before = &w->near;
    int32_t *const seeds = w->seeds.data;
    int32_t background;
    LOB_TRY(find_background(s, w, &background));
    memcpy(w->kept, w->from.data, (size_t)lob_voxels(&w->seeds));
    const int64_t count = lob_strokes_complete(w->kept, background, before->data, before->type,
                                               w->rest, before->dims, w->complete_axis);
    for (int64_t i = 0; i < lob_voxels(&w->seeds); i++)
        if (seeds[i] == 0 && w->kept[i] > 0) seeds[i] = w->background;
    cJSON_AddNumberToObject(s->results, "completed", (double)count);
    lob_grid_drop(s, &w->near);
    return LOB_OK;
}

static lob_status read_earlier(lob_session *s, work *w)
{
    lob_label_set set = {0};
    LOB_TRY(lob_grid_read(s, &w->near, w->complete, &w->seeds, w->image_path));
    LOB_TRY(lob_grid_dense(s, &w->near, &set, w->complete));
    w->rest = lob_label_set_find(&set, w->background);
    lob_label_set_free(&set);
    return LOB_OK;
}

/* Corrections that look like another label by the image. */
static lob_status look_at_image(lob_session *s, work *w)
{
    const int64_t first[3] = {0, 0, 0};
    const lob_volume *const from = &w->from, *const image = &w->values;
    lob_strokes strokes;
    LOB_TRY(lob_strokes_count(&strokes, from->data, LOB_U8, from->dims, w->labels.count, NULL,
                              s->context.threads, &s->error));
    const int64_t items = lob_strokes_voxels(&strokes) * image->channels;
    double *const values = lob_session_array(s, items, sizeof *values, w->image_path);
    lob_status st = LOB_ENOMEM;
    if (values) {
        lob_strokes_values(values, from->data, &strokes, image, first);
        st = lob_strokes_leave_corrections(w->kept, from->data, &strokes, values, image->channels,
                                           w->corrections, &s->context, &s->error);
        lob_session_give(s, items * (int64_t)sizeof *values);
    }
    free(values);
    lob_strokes_free(&strokes);
    return st;
}

/* Seeds that look like another label by --shares. */
static lob_status look_at_shares(lob_session *s, work *w)
{
    int32_t background;
    LOB_TRY(find_background(s, w, &background));
    LOB_TRY(lob_shares_check(s, &w->shares, w->shares_path, w->labels.count));
    const uint8_t *const from = w->from.data, *const shares = w->shares.data;
    const int64_t n = lob_voxels(&w->from);
    int64_t bytes = 0, to = 0, i = -1;
    while ((i = lob_next_label(from, LOB_U8, i + 1, n)) < n) bytes += w->labels.count - 1;
    uint8_t *const drawn = lob_session_array(s, bytes, 1, w->image_path);
    if (!drawn) return LOB_ENOMEM;
    for (int32_t c = 0; c < w->labels.count - 1; c++)
        for (i = -1; (i = lob_next_label(from, LOB_U8, i + 1, n)) < n;)
            drawn[to++] = shares[c * n + i];
    const lob_status st = lob_strokes_agree(w->kept, from, drawn, w->from.dims, w->labels.count,
                                            background, &s->context, &s->error);
    free(drawn);
    lob_session_give(s, bytes);
    return st;
}

lob_status lob_seeds_look(lob_session *s, work *w)
{
    if (w->complete) {
        LOB_TRY(read_earlier(s, w));
        LOB_TRY(leave_out(s, w, complete));
    }
    if (w->corrections >= 0) {
        LOB_TRY(lob_session_read(s, &w->values, w->image_path, -1));
        LOB_TRY(leave_out(s, w, look_at_image));
        lob_grid_drop(s, &w->values);
    }
    if (w->shares_path) {
        LOB_TRY(lob_shares_read(s, &w->shares, w->shares_path, &w->image, w->image_path));
        LOB_TRY(leave_out(s, w, look_at_shares));
    }
    if (w->shares_path || w->corrections >= 0)
        cJSON_AddNumberToObject(s->results, "left_out", (double)w->left_out);
    return LOB_OK;
}
