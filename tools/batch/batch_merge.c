/* Joining the shards of a batch. */
#include "io/file.h"
#include "tools/batch/batch_log.h"
#include "tools/batch/batch_plan.h"
#include "tools/text/path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of shards of the division that the folder holds. */
static lob_status find_division(int *shards, const char *folder, lob_error *error)
{
    DIR *const open = opendir(folder);
    int other = 0;
    *shards = 0;
    for (const struct dirent *one; open && !other && (one = readdir(open));) {
        int count;
        char end;
        if (sscanf(one->d_name, "shards-of-%d.tsv%c", &count, &end) != 1 || count < 1) continue;
        *(*shards ? &other : shards) = count;
    }
    if (open) closedir(open);
    if (other)
        return lob_fail(error, LOB_EDATA,
                        "%s: is divided into %d and into %d shards; remove the shards-of-N.tsv "
                        "that does not count",
                        folder, *shards, other);
    if (*shards) return LOB_OK;
    return lob_fail(error, LOB_ENOINPUT, "%s: holds no shards; name the folder of --log", folder);
}

/* ---- the shards ---- */

static double number_in(const cJSON *json, const char *name)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Add what a shard's summary says about its run. */
static void add_summary(lob_batch_summary *sum, const char *path)
{
    lob_input file;
    if (lob_input_open(&file, path, NULL) != LOB_OK) return; /* it was killed before its end */
    cJSON *const json = cJSON_ParseWithLength((const char *)file.bytes, file.size);
    const double peak = number_in(json, "peak_memory_bytes"), wall = number_in(json, "wall_s");
    sum->jobs += (int)number_in(json, "jobs");
    sum->threads += (int)number_in(json, "threads");
    sum->devices += (int)number_in(json, "devices");
    if (peak > (double)sum->peak_memory_bytes) sum->peak_memory_bytes = (int64_t)peak;
    if (wall > sum->wall_s) sum->wall_s = wall;
    cJSON_Delete(json);
    lob_input_close(&file);
}

/* Add the rows of a shard's table. */
static lob_status add_rows(lob_batch_table *to, const char *path, lob_error *error)
{
    lob_batch_table from;
    const lob_status st = lob_batch_table_read(&from, path, "", error);
    if (st == LOB_ENOINPUT)
        return lob_fail(error, st, "%s: is missing; run this shard, then merge again", path);
    if (st != LOB_OK) return st;
    const size_t count = (size_t)(to->count + from.count);
    lob_batch_row *const rows = realloc(to->rows, (count + 1) * sizeof *rows);
    if (!rows) {
        lob_batch_table_free(&from);
        return lob_fail(error, LOB_ENOMEM, "%s: out of memory", path);
    }
    memcpy(rows + to->count, from.rows, (size_t)from.count * sizeof *rows);
    free(from.rows);
    to->rows = rows;
    to->count = (int64_t)count;
    return LOB_OK;
}

static lob_status add_shard(lob_batch_table *table, lob_batch_summary *sum, const char *folder,
                            int shard, int shards, lob_error *error)
{
    char *own;
    if (asprintf(&own, "%s/shard-%d-of-%d", folder, shard, shards) < 0)
        return lob_fail(error, LOB_ENOMEM, "out of memory");
    char *const status = lob_path_in(own, LOB_BATCH_STATUS_FILE);
    char *const summary = lob_path_in(own, LOB_BATCH_SUMMARY_FILE);
    const lob_status st = status && summary ? add_rows(table, status, error)
                                            : lob_fail(error, LOB_ENOMEM, "%s: out of memory", own);
    if (st == LOB_OK) add_summary(sum, summary);
    free(summary);
    free(status);
    free(own);
    return st;
}

/* ---- all of them ---- */

static int count_rows(const lob_batch_table *table, lob_batch_summary *sum)
{
    int again = 0, differ = 0, worst = 0;
    for (int64_t i = 0; i < table->count; i++) {
        const lob_batch_row *const row = &table->rows[i];
        sum->state[row->state]++;
        for (int s = 0; s < LOB_BATCH_STAGES; s++) sum->stage_s[s] += row->stage_s[s];
        if (row->state == LOB_SCAN_DONE && row->exit_code > 0) differ = row->exit_code;
        if (row->state != LOB_SCAN_FAILED) continue;
        if (row->exit_code == 75)
            again = 75;
        else if (worst == 0)
            worst = row->exit_code;
    }
    sum->left = sum->scans > table->count ? sum->scans - table->count : 0;
    if (sum->left > 0 || sum->state[LOB_SCAN_STARTED] > 0 || sum->state[LOB_SCAN_CANCELLED] > 0)
        again = 75;
    return worst ? worst : again ? again : differ;
}

/* In the order of the division, which has all scans. */
static lob_status join(lob_batch_table *table, lob_batch_summary *summary, int *worst,
                       const lob_columns *scans, int shards, const char *folder, lob_error *error)
{
    for (int i = 1; i <= shards; i++) LOB_TRY(add_shard(table, summary, folder, i, shards, error));
    const char **const names = calloc((size_t)scans->rows, sizeof *names);
    if (!names) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    for (int64_t i = 0; i < scans->rows; i++) names[i] = scans->cells[i * scans->columns];
    summary->scans = scans->rows;
    *worst = count_rows(table, summary);
    lob_batch_summary_finish(summary, summary->wall_s);
    const lob_status st = lob_batch_end_write(table, summary, names, scans->rows, folder, error);
    free(names);
    return st;
}

lob_status lob_batch_merge(lob_batch_table *table, lob_batch_summary *summary, int *worst,
                           const char *folder, lob_error *error)
{
    int shards;
    char *division;
    lob_columns scans;
    *table = (lob_batch_table){NULL};
    *summary = (lob_batch_summary){0};
    LOB_TRY(find_division(&shards, folder, error));
    if (asprintf(&division, "%s/shards-of-%d.tsv", folder, shards) < 0)
        return lob_fail(error, LOB_ENOMEM, "out of memory");
    lob_status st = lob_columns_read(&scans, division, error);
    if (st == LOB_OK) st = join(table, summary, worst, &scans, shards, folder, error);
    lob_columns_free(&scans);
    free(division);
    if (st != LOB_OK) lob_batch_table_free(table);
    return st;
}
