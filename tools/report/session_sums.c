/* Checksums of inputs and outputs: files are opened when they are used, and read at the end. */
#include "tools/report/report.h"
#include "tools/session/session.h"
#include "tools/text/path.h"

static void *compute_both(void *user)
{
    lob_session_sum *const sum = user;
    for (int k = 0; k < 2; k++) {
        lob_sha256_end(sum->of[k], sum->text[k], &sum->stop);
        sum->of[k] = NULL;
    }
    return NULL;
}

void lob_sums_begin(lob_session *s, const char *path, bool is_volume, bool is_input)
{
    const bool wanted = lob_report_wanted(s) || (s->provenance && is_input);
    if (!wanted || s->sums >= LOB_SESSION_SUMS) return;
    lob_session_sum *const sum = &s->sum[s->sums];
    *sum = (lob_session_sum){.path = path};
    if (lob_path_files(sum->files, path, is_volume, is_input) != LOB_OK) return;
    for (int k = 0; k < 2; k++)
        if (sum->files[k]) sum->of[k] = lob_sha256_begin(sum->files[k]);
    s->sums++;
    /* in a thread beside the command's work, where that has threads to share */
    if (s->context.threads > 1 && lob_session_is_threaded(s))
        sum->running = pthread_create(&sum->thread, NULL, compute_both, sum) == 0;
}

void lob_sums_belong(lob_session *s, const char *path, cJSON *file)
{
    for (int i = s->sums - 1; i >= 0; i--) {
        if (s->sum[i].path != path) continue;
        s->sum[i].file = file;
        return;
    }
}

static bool is_in(const cJSON *array, const cJSON *item)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, array)
        if (one == item) return true;
    return false;
}

static void compute(lob_session *s, lob_session_sum *sum)
{
    const double start_s = lob_clock_s();
    if (sum->ended) return;
    if (sum->running)
        pthread_join(sum->thread, NULL);
    else
        compute_both(sum);
    sum->running = false;
    sum->ended = true;
    lob_session_stage(s, "checksum", start_s);
}

static void add_sum(cJSON *file, const char *text)
{
    if (*text) cJSON_AddStringToObject(file, "sha256", text);
}

void lob_sums_end(lob_session *s)
{
    for (int i = 0; i < s->sums; i++) {
        lob_session_sum *const sum = &s->sum[i];
        if (!is_in(s->inputs, sum->file) && !is_in(s->outputs, sum->file)) continue;
        compute(s, sum);
        add_sum(sum->file, sum->text[0]);
        if (!sum->files[1]) continue;
        cJSON *const second = cJSON_AddObjectToObject(sum->file, "second_file");
        cJSON_AddStringToObject(second, "path", sum->files[1]);
        add_sum(second, sum->text[1]);
    }
    lob_sums_drop(s);
}

/* Hand over the sums that belong to an input; NULL: to one that is still being read, by planes. */
static void take_sums(lob_session *s, const cJSON *input, lob_sum_fn *take, void *user)
{
    for (int i = 0; i < s->sums; i++) {
        lob_session_sum *const sum = &s->sum[i];
        if (sum->file != input) continue;
        compute(s, sum);
        for (int k = 0; k < 2; k++)
            if (*sum->text[k]) take(user, sum->files[k], sum->text[k]);
    }
}

void lob_sums_of_inputs(lob_session *s, lob_sum_fn *take, void *user)
{
    const cJSON *input;
    cJSON_ArrayForEach(input, s->inputs) take_sums(s, input, take, user);
    take_sums(s, NULL, take, user);
}

void lob_sums_drop(lob_session *s)
{
    for (int i = 0; i < s->sums; i++) {
        __atomic_store_n(&s->sum[i].stop, 1, __ATOMIC_RELAXED);
        if (s->sum[i].running) pthread_join(s->sum[i].thread, NULL);
        for (int k = 0; k < 2; k++) lob_sha256_end(s->sum[i].of[k], NULL, NULL);
        lob_files_free(s->sum[i].files);
    }
    s->sums = 0;
}
