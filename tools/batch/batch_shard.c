/* The division of a batch into shards, and their joining. */
#include "io/file.h"
#include "io/platform.h"
#include "tools/batch/batch_log.h"
#include "tools/batch/batch_plan.h"
#include "tools/text/path.h"
#include "tools/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole number of an environment's variable; `missing` where there is none. */
static long variable(const char *name, long missing)
{
    const char *const text = getenv(name);
    char *end;
    const long number = text ? strtol(text, &end, 10) : 0;
    return text && end != text && *end == '\0' ? number : missing;
}

lob_status lob_shard_parse(lob_shard *out, const char *text, lob_error *error)
{
    char end;
    *out = (lob_shard){0, 0};
    if (text) {
        if (sscanf(text, "%d/%d%c", &out->index, &out->count, &end) == 2 && out->index >= 1 &&
            out->index <= out->count)
            return LOB_OK;
        return lob_fail(error, LOB_EARG,
                        "--shard %s: is no I/N with I from 1 to N; --shard 3/8 is the third of "
                        "eight",
                        text);
    }
    const long id = variable("SLURM_ARRAY_TASK_ID", -1);
    const long count = variable("SLURM_ARRAY_TASK_COUNT", -1);
    const long first = variable("SLURM_ARRAY_TASK_MIN", 0);
    const long step = variable("SLURM_ARRAY_TASK_STEP", 1);
    if (id < 0 || count < 1) return LOB_OK;
    if (step < 1 || id < first || (id - first) % step != 0 || (id - first) / step >= count)
        return lob_fail(error, LOB_EARG,
                        "SLURM_ARRAY_TASK_ID is %ld of %ld tasks from %ld: an array for shards has "
                        "no gaps; submit it as --array=1-%ld, or give --shard I/N",
                        id, count, first, count);
    *out = (lob_shard){(int)((id - first) / step) + 1, (int)count};
    return LOB_OK;
}

/* ---- dividing ---- */

typedef struct {
    int64_t scan, bytes;
} weight;

/* The largest first; of equal ones, that which comes first. */
static int by_bytes(const void *a, const void *b)
{
    const weight *const x = a, *const y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->scan > y->scan ? 1 : -1;
}

/* The shard with the fewest bytes and scans gets the next scan; shards count from 1. */
static bool divide(int *shard_of, const lob_batch_plan *plan, int count)
{
    weight *const order = calloc((size_t)plan->count, sizeof *order);
    int64_t *const load = calloc((size_t)count, sizeof *load);
    for (int64_t i = 0; order && i < plan->count; i++)
        order[i] = (weight){i, plan->scans[i].bytes + 4096}; /* none is for nothing */
    if (order) qsort(order, (size_t)plan->count, sizeof *order, by_bytes);
    for (int64_t i = 0; order && load && i < plan->count; i++) {
        int least = 0;
        for (int s = 1; s < count; s++)
            if (load[s] < load[least]) least = s;
        load[least] += order[i].bytes;
        shard_of[order[i].scan] = least + 1;
    }
    const bool done = order && load;
    free(order);
    free(load);
    return done;
}

/* ---- the file ---- */

/* shards-of-8.tsv in the folder of --log; malloc'ed. */
static char *division_path(const char *folder, int shards)
{
    char *path;
    return asprintf(&path, "%s/shards-of-%d.tsv", folder, shards) < 0 ? NULL : path;
}

static lob_status write_division(const lob_batch_plan *plan, const int *shard_of, const char *path,
                                 lob_error *error)
{
    lob_text text = {NULL};
    lob_text_print(&text, "scan\tshard\tbytes\n");
    for (int64_t i = 0; i < plan->count; i++) {
        lob_text_add_cell(&text, plan->scans[i].name, false);
        lob_text_print(&text, "\t%d\t%lld\n", shard_of[i], (long long)plan->scans[i].bytes);
    }
    return lob_text_save(&text, path, false, error);
}

/* The same scans in the same order? */
static bool take_division(int *shard_of, const lob_batch_plan *plan, const lob_columns *file,
                          int count)
{
    if (file->rows != plan->count || file->columns != 3) return false;
    for (int64_t i = 0; i < plan->count; i++) {
        char **const cell = file->cells + 3 * i;
        shard_of[i] = (int)strtol(cell[1], NULL, 10);
        if (strcmp(cell[0], plan->scans[i].name) != 0 || shard_of[i] < 1 || shard_of[i] > count)
            return false;
    }
    return true;
}

static lob_status read_division(int *shard_of, const lob_batch_plan *plan, int count,
                                const char *path, lob_error *error)
{
    lob_columns file;
    lob_status st = lob_columns_read(&file, path, error);
    if ((st == LOB_OK && !take_division(shard_of, plan, &file, count)) || st == LOB_EDATA)
        st = lob_fail(error, LOB_EDATA,
                      "%s: divides other scans than these into shards; remove it if none of its "
                      "shards will be run again, or name another folder with --log",
                      path);
    lob_columns_free(&file);
    return st;
}

static lob_status share_scans(lob_batch_plan *plan, int *shard_of, lob_shard shard,
                              const char *path, lob_error *error)
{
    if (!path || !shard_of || !divide(shard_of, plan, shard.count))
        return lob_fail(error, LOB_ENOMEM, "out of memory");
    const lob_status st = write_division(plan, shard_of, path, error);
    if (st != LOB_OK && st != LOB_EEXIST) return st; /* another was first, or an earlier run */
    LOB_TRY(read_division(shard_of, plan, shard.count, path, error));
    for (int64_t i = 0; i < plan->count; i++) plan->scans[i].elsewhere = shard_of[i] != shard.index;
    return LOB_OK;
}

lob_status lob_shard_divide(lob_batch_plan *plan, lob_shard shard, const char *folder,
                            lob_error *error)
{
    if (shard.count == 0) return LOB_OK;
    char *const path = division_path(folder, shard.count);
    int *const shard_of = calloc((size_t)plan->count + 1, sizeof *shard_of);
    const lob_status st = share_scans(plan, shard_of, shard, path, error);
    free(shard_of);
    free(path);
    return st;
}

/* ---- joining ---- */

/* The number of shards of the division that the folder holds. */
static lob_status find_division(int *shards, const char *folder, lob_error *error)
{
    lob_entries *const open = lob_entries_open(folder);
    int other = 0;
    *shards = 0;
    for (const char *name; open && !other && (name = lob_entries_next(open));) {
        int count;
        char end;
        if (sscanf(name, "shards-of-%d.tsv%c", &count, &end) != 1 || count < 1) continue;
        *(*shards ? &other : shards) = count;
    }
    lob_entries_close(open);
    if (other)
        return lob_fail(error, LOB_EDATA,
                        "%s: is divided into %d and into %d shards; remove the shards-of-N.tsv "
                        "that does not count",
                        folder, *shards, other);
    if (*shards) return LOB_OK;
    return lob_fail(error, LOB_ENOINPUT, "%s: holds no shards; name the folder of --log", folder);
}

static double number_in(const cJSON *json, const char *name)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Add what a shard's summary says about its run. */
static void add_summary(lob_batch_summary *sum, const char *folder)
{
    lob_input file = {NULL}; /* killed before its end, a shard has none */
    char *const path = lob_path_in(folder, LOB_BATCH_SUMMARY_FILE);
    if (path) lob_input_open(&file, path, NULL);
    cJSON *const json = cJSON_ParseWithLength((const char *)file.bytes, file.size);
    const double peak = number_in(json, "peak_memory_bytes"), wall = number_in(json, "wall_s");
    sum->jobs += (int)number_in(json, "jobs");
    sum->threads += (int)number_in(json, "threads");
    sum->devices += (int)number_in(json, "devices");
    if (peak > (double)sum->peak_memory_bytes) sum->peak_memory_bytes = (int64_t)peak;
    if (wall > sum->wall_s) sum->wall_s = wall;
    cJSON_Delete(json);
    lob_input_close(&file);
    free(path);
}

/* Add the rows of a shard's table. */
static lob_status add_rows(lob_batch_table *to, const char *folder, lob_error *error)
{
    lob_batch_table from;
    const lob_status st = lob_batch_table_read(&from, folder, "", error);
    if (st == LOB_ENOINPUT)
        return lob_fail(error, st, "%s/%s: is missing; run this shard, then merge again", folder,
                        LOB_BATCH_STATUS_FILE);
    if (st != LOB_OK) return st;
    const size_t count = (size_t)(to->count + from.count);
    lob_batch_row *const rows = realloc(to->rows, (count + 1) * sizeof *rows);
    if (!rows) {
        lob_batch_table_free(&from);
        return lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    }
    memcpy(rows + to->count, from.rows, (size_t)from.count * sizeof *rows);
    from.count = 0; /* what rows hold belongs to the other table now */
    lob_batch_table_free(&from);
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
    const lob_status st = add_rows(table, own, error);
    if (st == LOB_OK) add_summary(sum, own);
    free(own);
    return st;
}

static void count_rows(const lob_batch_table *table, lob_batch_summary *sum)
{
    for (int64_t i = 0; i < table->count; i++) {
        const lob_batch_row *const row = &table->rows[i];
        sum->state[row->state]++;
        for (int s = 0; s < LOB_BATCH_STAGES; s++) sum->stage_s[s] += row->stage_s[s];
    }
    sum->left = sum->scans > table->count ? sum->scans - table->count : 0;
}

/* In the order of the division, which has all scans. */
static lob_status join(lob_batch_table *table, lob_batch_summary *summary, const lob_columns *scans,
                       int shards, const char *folder, lob_error *error)
{
    for (int i = 1; i <= shards; i++) LOB_TRY(add_shard(table, summary, folder, i, shards, error));
    const char **const names = calloc((size_t)scans->rows, sizeof *names);
    if (!names) return lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    for (int64_t i = 0; i < scans->rows; i++) names[i] = scans->cells[i * scans->columns];
    summary->scans = scans->rows;
    count_rows(table, summary);
    lob_batch_summary_finish(summary, summary->wall_s);
    const lob_status st = lob_batch_end_write(table, summary, names, scans->rows, folder, error);
    free(names);
    return st;
}

lob_status lob_batch_merge(lob_batch_table *table, lob_batch_summary *summary, const char *folder,
                           lob_error *error)
{
    int shards;
    lob_columns scans;
    *table = (lob_batch_table){NULL};
    *summary = (lob_batch_summary){0};
    LOB_TRY(find_division(&shards, folder, error));
    char *const division = division_path(folder, shards);
    if (!division) return lob_fail(error, LOB_ENOMEM, "out of memory");
    lob_status st = lob_columns_read(&scans, division, error);
    if (st == LOB_OK) st = join(table, summary, &scans, shards, folder, error);
    lob_columns_free(&scans);
    free(division);
    if (st != LOB_OK) lob_batch_table_free(table);
    return st;
}
