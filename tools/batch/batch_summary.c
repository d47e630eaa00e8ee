/* What there is to say about a batch in the end. */
#include "tools/batch/batch_log.h"
#include "tools/report/report.h"
#include "tools/text/path.h"
#include "volumes/bytes.h"
#include "volumes/version.h"

#include <stdlib.h>

void lob_batch_summary_finish(lob_batch_summary *summary, double wall_s)
{
    const double all = wall_s * summary->jobs;
    summary->wall_s = wall_s;
    summary->scans_per_hour =
        wall_s > 0 ? (double)summary->state[LOB_SCAN_DONE] / wall_s * 3600 : 0;
    summary->bottleneck = LOB_STAGE_READ;
    for (int i = 0; i < LOB_BATCH_STAGES; i++) {
        const bool is_work = i != LOB_STAGE_WAIT && i != LOB_STAGE_OTHER;
        summary->busy[i] = all > 0 ? summary->stage_s[i] / all : 0;
        if (is_work && summary->stage_s[i] > summary->stage_s[summary->bottleneck])
            summary->bottleneck = (lob_batch_stage)i;
    }
}

lob_status lob_batch_worst(const lob_batch_table *table, int64_t count,
                           const lob_batch_summary *summary)
{
    const int again = lob_status_exit_code(LOB_ENOMEM);
    const bool is_over = summary->left == 0 && summary->state[LOB_SCAN_STARTED] == 0 &&
                         summary->state[LOB_SCAN_CANCELLED] == 0;
    lob_status worst = is_over ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; i < count && i < table->count; i++) {
        const lob_batch_row *const row = &table->rows[i];
        lob_status st = LOB_EDIFFER;
        while (st < LOB_ECANCEL && lob_status_exit_code(st) != row->exit_code) st++;
        if (row->state == LOB_SCAN_FAILED && row->exit_code != again) return st;
        if (row->state == LOB_SCAN_FAILED || (st == LOB_EDIFFER && worst == LOB_OK)) worst = st;
    }
    return worst;
}

cJSON *lob_batch_summary_json(const lob_batch_summary *summary)
{
    const lob_number rows[] = {
        {"scans",             (double)summary->scans            },
        {"resumed",           (double)summary->resumed          },
        {"left",              (double)summary->left             },
        {"jobs",              summary->jobs                     },
        {"threads",           summary->threads                  },
        {"devices",           summary->devices                  },
        {"wall_s",            summary->wall_s                   },
        {"scans_per_hour",    summary->scans_per_hour           },
        {"peak_memory_bytes", (double)summary->peak_memory_bytes},
        {"max_memory",        (double)summary->max_memory       },
    };
    cJSON *const json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "tool", "lobule");
    cJSON_AddStringToObject(json, "version", LOB_VERSION);
    lob_json_numbers(json, rows, LOB_COUNT(rows));
    cJSON *const states = cJSON_AddObjectToObject(json, "states");
    for (int i = 0; i < LOB_SCAN_STATES; i++)
        cJSON_AddNumberToObject(states, lob_scan_state_text((lob_scan_state)i),
                                (double)summary->state[i]);
    cJSON *const seconds = cJSON_AddObjectToObject(json, "stage_s");
    cJSON *const busy = cJSON_AddObjectToObject(json, "busy");
    for (int i = 0; i < LOB_BATCH_STAGES; i++) {
        const char *const name = lob_batch_stage_text((lob_batch_stage)i);
        cJSON_AddNumberToObject(seconds, name, summary->stage_s[i]);
        cJSON_AddNumberToObject(busy, name, summary->busy[i]);
    }
    cJSON_AddStringToObject(json, "bottleneck", lob_batch_stage_text(summary->bottleneck));
    return json;
}

/* Parts of a percent of one stage would be noise. */
static void print_stages(const lob_batch_summary *summary)
{
    const char *gap = "lobule batch: busy:";
    for (int i = 0; i < LOB_BATCH_STAGES; i++)
        if (summary->busy[i] >= 0.005) {
            fprintf(stderr, "%s %s %.0f %%", gap, lob_batch_stage_text((lob_batch_stage)i),
                    summary->busy[i] * 100);
            gap = ",";
        }
    if (gap[0] == ',')
        fprintf(stderr, "; the bottleneck is %s\n", lob_batch_stage_text(summary->bottleneck));
}

void lob_batch_summary_print(const lob_batch_summary *summary)
{
    char peak[LOB_BYTES_TEXT];
    const struct {
        int64_t count;
        const char *what;
    } rows[] = {
        {summary->state[LOB_SCAN_DONE],      "done"       },
        {summary->resumed,                   "done before"},
        {summary->state[LOB_SCAN_SKIPPED],   "skipped"    },
        {summary->state[LOB_SCAN_FAILED],    "failed"     },
        {summary->state[LOB_SCAN_CANCELLED], "cancelled"  },
        {summary->left,                      "not begun"  },
    };
    lob_bytes_text(peak, summary->peak_memory_bytes);
    fprintf(stderr, "lobule batch: %lld scan%s", (long long)summary->scans,
            summary->scans == 1 ? "" : "s");
    for (size_t i = 0; i < LOB_COUNT(rows); i++)
        if (rows[i].count > 0)
            fprintf(stderr, "%s %lld %s", i == 0 ? ":" : ",", (long long)rows[i].count,
                    rows[i].what);
    fprintf(stderr, "; %.1f s, %.0f an hour, at most %s of memory\n", summary->wall_s,
            summary->scans_per_hour, peak);
    if (summary->state[LOB_SCAN_DONE] > 0) print_stages(summary);
}

lob_status lob_batch_save(lob_text *text, const char *folder, const char *name, lob_error *error)
{
    char *const path = lob_path_in(folder, name);
    text->failed = text->failed || !path;
    const lob_status st = lob_text_save(text, path ? path : name, true, error);
    free(path);
    return st;
}

lob_status lob_batch_end_write(lob_batch_table *table, const lob_batch_summary *summary,
                               const char *const *scans, int64_t count, const char *folder,
                               lob_error *error)
{
    lob_text status = {NULL}, text = {NULL};
    if (lob_batch_table_order(table, scans, count) != LOB_OK)
        return lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    lob_batch_header_add(&status);
    for (int64_t i = 0; i < table->count; i++) lob_batch_row_add(&status, &table->rows[i]);
    LOB_TRY(lob_batch_save(&status, folder, LOB_BATCH_STATUS_FILE, error));
    LOB_TRY(lob_batch_regions_write(table, folder, error));
    cJSON *const json = lob_batch_summary_json(summary);
    lob_text_add_json(&text, json);
    cJSON_Delete(json);
    return lob_batch_save(&text, folder, LOB_BATCH_SUMMARY_FILE, error);
}
