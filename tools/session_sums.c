/* Checksums of inputs and outputs: files are opened when they are used, and read at the end. */
#include "tools/session_sums.h"

#include "tools/report.h"
#include "tools/session.h"

#include <stdlib.h>
#include <string.h>

void lob_sums_begin(lob_session *s, const char *path, bool is_volume, bool is_input)
{
    if (!lob_report_wanted(s) || s->sums >= LOB_SESSION_SUMS) return;
    lob_session_sum *const sum = &s->sum[s->sums];
    *sum = (lob_session_sum){.path = path};
    if (is_volume && lob_files_of(sum->files, path, is_input) != LOB_OK) return;
    if (!is_volume && !(sum->files[0] = strdup(path))) return;
    for (int k = 0; k < 2; k++)
        if (sum->files[k]) sum->of[k] = lob_sha256_begin(sum->files[k]);
    s->sums++;
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
    {
        if (one == item) return true;
    }
    return false;
}

static void add_sum(cJSON *file, lob_session_sum *sum, int k)
{
    char text[LOB_SHA256_TEXT];
    if (lob_sha256_end(sum->of[k], text)) cJSON_AddStringToObject(file, "sha256", text);
    sum->of[k] = NULL;
}

void lob_sums_end(lob_session *s)
{
    const double start_s = lob_clock_s();
    for (int i = 0; i < s->sums; i++) {
        lob_session_sum *const sum = &s->sum[i];
        if (!is_in(s->inputs, sum->file) && !is_in(s->outputs, sum->file)) continue;
        add_sum(sum->file, sum, 0);
        if (!sum->files[1]) continue;
        cJSON *const second = cJSON_AddObjectToObject(sum->file, "second_file");
        cJSON_AddStringToObject(second, "path", sum->files[1]);
        add_sum(second, sum, 1);
    }
    if (s->sums > 0) lob_session_stage(s, "checksum", start_s);
    lob_sums_drop(s);
}

void lob_sums_drop(lob_session *s)
{
    for (int i = 0; i < s->sums; i++) {
        for (int k = 0; k < 2; k++) lob_sha256_end(s->sum[i].of[k], NULL);
        lob_files_free(s->sum[i].files);
    }
    s->sums = 0;
}
