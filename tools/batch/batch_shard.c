/* The division of a batch into shards, and their joining. */
#include "io/file.h"
#include "tools/batch/batch.h"
#include "tools/text/path.h"

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

static lob_status parse(int *shard, int *shards, const char *text, lob_error *error)
{
    char end;
    *shard = *shards = 0;
    if (text) {
        if (sscanf(text, "%d/%d%c", shard, shards, &end) == 2 && *shard >= 1 && *shard <= *shards)
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
    *shard = (int)((id - first) / step) + 1;
    *shards = (int)count;
    return LOB_OK;
}

/* FOLDER/shard-3-of-8; malloc'ed. */
static char *folder_of(const lob_batch *b, int shard, int shards)
{
    char *folder;
    return asprintf(&folder, "%s/shard-%d-of-%d", b->folder, shard, shards) < 0 ? NULL : folder;
}

lob_status lob_shard_choose(lob_batch *b, int *shard, int *shards)
{
    LOB_TRY(parse(shard, shards, b->shard, &b->session->error));
    b->own_folder = *shards ? folder_of(b, *shard, *shards) : strdup(b->folder);
    return b->own_folder ? LOB_OK : lob_session_no_memory(b->session, b->folder);
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
static bool divide(int *shard_of, const lob_batch *b, int count)
{
    weight *const order = calloc((size_t)b->count, sizeof *order);
    int64_t *const load = calloc((size_t)count, sizeof *load);
    for (int64_t i = 0; order && i < b->count; i++)
        order[i] = (weight){i, b->scans[i].bytes + 4096}; /* none is for nothing */
    if (order) qsort(order, (size_t)b->count, sizeof *order, by_bytes);
    for (int64_t i = 0; order && load && i < b->count; i++) {
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

static lob_status write_division(const lob_batch *b, const int *shard_of, const char *path,
                                 lob_error *error)
{
    lob_text text = {NULL};
    lob_text_print(&text, "scan\tshard\tbytes\n");
    for (int64_t i = 0; i < b->count; i++) {
        lob_text_add_cell(&text, b->scans[i].name, false);
        lob_text_print(&text, "\t%d\t%lld\n", shard_of[i], (long long)b->scans[i].bytes);
    }
    return lob_text_save(&text, path, false, error);
}

/* The same scans in the same order? */
static bool take_division(int *shard_of, const lob_batch *b, const lob_columns *file, int count)
{
    if (file->rows != b->count || file->columns != 3) return false;
    for (int64_t i = 0; i < b->count; i++) {
        char **const cell = file->cells + 3 * i;
        shard_of[i] = (int)strtol(cell[1], NULL, 10);
        if (strcmp(cell[0], b->scans[i].name) != 0 || shard_of[i] < 1 || shard_of[i] > count)
            return false;
    }
    return true;
}

/* Another shard, or an earlier run, may have written the file first; it counts. */
static lob_status share_scans(lob_batch *b, int *shard_of, int shard, int shards, const char *path)
{
    lob_error *const error = &b->session->error;
    lob_columns file;
    if (!path || !shard_of || !divide(shard_of, b, shards))
        return lob_fail(error, LOB_ENOMEM, "out of memory");
    lob_status st = write_division(b, shard_of, path, error);
    if (st != LOB_OK && st != LOB_EEXIST) return st;
    st = lob_columns_read(&file, path, error);
    if ((st == LOB_OK && !take_division(shard_of, b, &file, shards)) || st == LOB_EDATA)
        st = lob_fail(error, LOB_EDATA,
                      "%s: divides other scans than these into shards; remove it if none of its "
                      "shards will be run again, or name another folder with --log",
                      path);
    lob_columns_free(&file);
    for (int64_t i = 0; st == LOB_OK && i < b->count; i++)
        b->scans[i].elsewhere = shard_of[i] != shard;
    return st;
}

lob_status lob_shard_divide(lob_batch *b, int shard, int shards)
{
    if (shards == 0) return LOB_OK;
    char *const path = division_path(b->folder, shards);
    int *const shard_of = calloc((size_t)b->count + 1, sizeof *shard_of);
    const lob_status st = share_scans(b, shard_of, shard, shards, path);
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

/* Add the rows of a shard's table, and what its summary says. */
static lob_status add_shard(lob_batch *b, const char *folder)
{
    lob_error *const error = &b->session->error;
    lob_batch_table from;
    lob_status st = lob_batch_table_read(&from, folder, "", error);
    if (st == LOB_ENOINPUT)
        return lob_fail(error, st, "%s/%s: is missing; run this shard, then merge again", folder,
                        LOB_BATCH_STATUS_FILE);
    for (int64_t i = 0; st == LOB_OK && i < from.count; i++) {
        lob_batch_count(&b->summary, &from.rows[i]);
        if (!lob_batch_table_put(&b->table, &from.rows[i]))
            st = lob_fail(error, LOB_ENOMEM, "%s: out of memory", folder);
    }
    lob_batch_table_free(&from);
    if (st == LOB_OK) add_summary(&b->summary, folder);
    return st;
}

lob_status lob_shard_join(lob_batch *b, lob_columns *scans)
{
    lob_batch_summary *const sum = &b->summary;
    int shards;
    LOB_TRY(find_division(&shards, b->folder, &b->session->error));
    char *const division = division_path(b->folder, shards);
    lob_status st = division ? lob_columns_read(scans, division, &b->session->error)
                             : lob_session_no_memory(b->session, b->folder);
    free(division);
    for (int i = 1; i <= shards && st == LOB_OK; i++) {
        char *const folder = folder_of(b, i, shards);
        st = folder ? add_shard(b, folder) : lob_session_no_memory(b->session, b->folder);
        free(folder);
    }
    sum->scans = scans->rows;
    sum->left = sum->scans > b->table.count ? sum->scans - b->table.count : 0;
    return st;
}
