/* Seeds of several labels as commands read them. */
#include "tools/commands/seeds_input.h"

/* Number the background's label. */
static lob_status find_background(lob_session *s, lob_seeds_input *seeds, const char *path,
                                  int wanted)
{
    const lob_volume *const v = &seeds->volume;
    lob_strokes strokes;
    seeds->background = wanted > 0 ? lob_label_set_find(&seeds->set, wanted) : 0;
    if (wanted > 0 && seeds->background == 0)
        return lob_fail_file(&s->error, LOB_EDATA, path, "no seed has the background's label %d",
                             wanted);
    if (wanted > 0) return LOB_OK;
    LOB_TRY(lob_strokes_count(&strokes, v->data, v->type, v->dims, seeds->set.count, NULL,
                              s->context.threads, &s->error));
    const lob_status st =
        lob_strokes_background(&seeds->background, &strokes, v->data, v->type, &s->error);
    lob_strokes_free(&strokes);
    if (st == LOB_OK)
        lob_session_say(s, "%s: label %d is taken for the background", path,
                        seeds->set.values[seeds->background - 1]);
    return st;
}

lob_status lob_seeds_read(lob_session *s, lob_seeds_input *seeds, const char *path,
                          const lob_volume *image, const char *image_path, int background)
{
    *seeds = (lob_seeds_input){.volume = lob_volume_empty()};
    LOB_TRY(lob_grid_read(s, &seeds->volume, path, image, image_path));
    LOB_TRY(lob_grid_dense(s, &seeds->volume, &seeds->set, path));
    if (seeds->set.count == 0)
        return lob_fail_file(&s->error, LOB_EDATA, path,
                             "no seeds: 0 means unknown, and labels start at 1");
    if (seeds->set.count == 1)
        return lob_fail_file(&s->error, LOB_EDATA, path,
                             "the only label is %d; add seeds of another label, such as the "
                             "background",
                             seeds->set.values[0]);
    LOB_TRY(find_background(s, seeds, path, background));
    cJSON_AddNumberToObject(s->results, "background", seeds->set.values[seeds->background - 1]);
    cJSON_AddBoolToObject(s->results, "background_found", background < 0);
    return LOB_OK;
}

void lob_seeds_free(lob_seeds_input *seeds)
{
    lob_volume_free(&seeds->volume);
    lob_label_set_free(&seeds->set);
}

lob_status lob_seeds_labels(lob_session *s, lob_volume *labels, const char *path,
                            const lob_seeds_input *seeds, const char *seeds_path,
                            const lob_volume *image, const char *image_path)
{
    lob_label_set set = {0};
    LOB_TRY(lob_grid_read(s, labels, path, image, image_path));
    LOB_TRY(lob_grid_dense(s, labels, &set, path));
    lob_status st = LOB_OK;
    for (int32_t i = 0; st == LOB_OK && i < set.count; i++) {
        const int32_t label = set.values[i];
        if (!(set.values[i] = lob_label_set_find(&seeds->set, label)))
            st = lob_fail_file(&s->error, LOB_EDATA, path, "label %d has no seed in %s", label,
                               seeds_path);
    }
    if (st == LOB_OK && lob_labels_restore(labels, &set) != LOB_OK)
        st = lob_session_no_memory(s, path);
    lob_label_set_free(&set);
    return st;
}

lob_status lob_shares_read(lob_session *s, lob_volume *shares, const char *path,
                           const lob_volume *image, const char *image_path)
{
    LOB_TRY(lob_session_read(s, shares, path, -1));
    return lob_grid_match(s, shares, path, image, image_path, LOB_PART_NONE);
}

lob_status lob_shares_check(lob_session *s, const lob_volume *shares, const char *path,
                            int32_t labels)
{
    if (shares->type == LOB_U8 && shares->channels >= labels - 1) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, path,
                         "shares are uint8 with a channel for each of %d labels but the background",
                         labels);
}
