/* Joining the shards of a batch. */
#include "tools/batch/batch_merge.h"

#include "io/file.h"
#include "tools/batch/batch_plan.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* The number of shards of the division that the folder holds. */
static lob_status find_division(int *shards, const char *folder, lob_error *error)
{
    DIR *const open = opendir(folder);
    *shards = 0;
    for (const struct dirent *one; open && (one = readdir(open));) {
        int count;
        char end;
        if (sscanf(one->d_name, "shards-of-%d.tsv%c", &count, &end) != 1 || count < 1) continue;
        if (*shards) {
            closedir(open);
            return lob_fail(error, LOB_EDATA,
                            "%s: is divided into %d and into %d shards; remove the shards-of-N.tsv "
                            "that does not count",
                            folder, *shards, count);
        }
        *shards = count;
    }
    if (open) closedir(open);
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
static void add_summary(lob_batch_summary *sum, const char *path, double *wall_s)
{
    lob_input file;
    if (lob_input_open(&file, path, NULL) != LOB_OK) return; /* it was killed before its end */
    cJSON *const json = cJSON_ParseWithLength((const char *)file.bytes, file.size);
    const double peak = number_in(json, "peak_memory_bytes"), wall = number_in(json, "wall_s");
    sum->jobs += (int)number_in(json, "jobs");
    sum->threads += (int)number_in(json, "threads");
    sum->devices += (int)number_in(json, "devices");
    if (peak > (double)sum->peak_memory_bytes) sum->peak_memory_bytes = (int64_t)peak;
    if (wall > *wall_s) *wall_s = wall;
    cJSON_Delete(json);
    lob_input_close(&file);
}

/* Move all rows of a table to the end of another. */
static bool append(lob_batch_table *to, lob_batch_table *from)
{
    lob_batch_row *const rows =
        realloc(to->rows, (size_t)(to->count + from->count + 1) * sizeof *rows);
    if (!rows) return false;
    to->rows = rows;
    memcpy(rows + to->count, from->rows, (size_t)from->count * sizeof *rows);
    to->count += from->count;
    free(from->rows);
    *from = (lob_batch_table){NULL};
    return true;
}

static lob_status add_shard(lob_batch_table *table, lob_batch_summary *sum, double *wall_s,
                            const char *shard, lob_error *error)
{
    char *const status = lob_path_in(shard, LOB_BATCH_STATUS_FILE);
    char *const summary = lob_path_in(shard, LOB_BATCH_SUMMARY_FILE);
    lob_batch_table rows = {NULL};
    lob_status st = LOB_ENOMEM;
    if (status && summary) {
        st = lob_batch_table_read(&rows, status, error);
        if (st == LOB_ENOINPUT)
            lob_fail(error, st, "%s: is missing; run this shard, then merge again", status);
    }
    if (st == LOB_OK && !append(table, &rows)) st = LOB_ENOMEM;
    if (st == LOB_OK) add_summary(sum, summary, wall_s);
    if (st == LOB_ENOMEM) lob_fail(error, st, "%s: out of memory", shard);
    lob_batch_table_free(&rows);
    free(status);
    free(summary);
    return st;
}

static lob_status add_shards(lob_batch_table *table, lob_batch_summary *sum, double *wall_s,
                             int shards, const char *folder, lob_error *error)
{
    lob_status st = LOB_OK;
    for (int i = 1; i <= shards && st == LOB_OK; i++) {
        char *shard;
        if (asprintf(&shard, "%s/shard-%d-of-%d", folder, i, shards) < 0)
            return lob_fail(error, LOB_ENOMEM, "out of memory");
        st = add_shard(table, sum, wall_s, shard, error);
        free(shard);
    }
    return st;
}

/* ---- all of them ---- */

static void count_rows(const lob_batch_table *table, lob_batch_summary *sum, int *worst)
{
    int again = 0, differ = 0;
    *worst = 0;
    for (int64_t i = 0; i < table->count; i++) {
        const lob_batch_row *const row = &table->rows[i];
        sum->state[row->state]++;
        for (int s = 0; s < LOB_BATCH_STAGES; s++) sum->stage_s[s] += row->stage_s[s];
        if (row->state == LOB_SCAN_DONE && row->exit_code > 0) differ = row->exit_code;
        if (row->state != LOB_SCAN_FAILED) continue;
        if (row->exit_code == 75)
            again = 75;
        else if (*worst == 0)
            *worst = row->exit_code;
    }
    sum->left = sum->scans > table->count ? sum->scans - table->count : 0;
    if (sum->left > 0 || sum->state[LOB_SCAN_STARTED] > 0 || sum->state[LOB_SCAN_CANCELLED] > 0)
        again = 75;
    if (*worst == 0) *worst = again ? again : differ;
}

/* Put the table in the order of the division, which has all scans. */
static lob_status order_rows(lob_batch_table *table, const lob_columns *scans, lob_error *error)
{
    const char **const names = calloc((size_t)scans->rows, sizeof *names);
    lob_status st = names ? LOB_OK : LOB_ENOMEM;
    for (int64_t i = 0; i < scans->rows && names; i++) {
        char *const cell = scans->cells[i * scans->columns];
        lob_cell_decode(cell);
        names[i] = cell;
    }
    if (st == LOB_OK) st = lob_batch_table_order(table, names, scans->rows);
    free(names);
    return st == LOB_OK ? st : lob_fail(error, st, "%s: out of memory", scans->source);
}

static lob_status write_all(const lob_batch_table *table, const lob_batch_summary *summary,
                            const char *folder, lob_error *error)
{
    char *const status = lob_path_in(folder, LOB_BATCH_STATUS_FILE);
    lob_status st = status ? lob_batch_table_write(table, status, error)
                           : lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    if (st == LOB_OK) st = lob_batch_end_write(table, summary, folder, error);
    free(status);
    return st;
}

lob_status lob_batch_merge(lob_batch_table *table, lob_batch_summary *summary, int *worst,
                           const char *folder, lob_error *error)
{
    int shards;
    double wall_s = 0;
    char *division;
    lob_columns scans = {NULL};
    *table = (lob_batch_table){NULL};
    *summary = (lob_batch_summary){0};
    LOB_TRY(find_division(&shards, folder, error));
    if (asprintf(&division, "%s/shards-of-%d.tsv", folder, shards) < 0)
        return lob_fail(error, LOB_ENOMEM, "out of memory");
    lob_status st = lob_columns_read(&scans, division, error);
    if (st == LOB_OK) st = add_shards(table, summary, &wall_s, shards, folder, error);
    if (st == LOB_OK) st = order_rows(table, &scans, error);
    if (st == LOB_OK) {
        summary->scans = scans.rows;
        count_rows(table, summary, worst);
        const int64_t peak = summary->peak_memory_bytes;
        lob_batch_summary_finish(summary, wall_s);
        summary->peak_memory_bytes = peak;
        st = write_all(table, summary, folder, error);
    }
    lob_columns_free(&scans);
    free(division);
    if (st != LOB_OK) lob_batch_table_free(table);
    return st;
}
