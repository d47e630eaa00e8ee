/* The division of a batch into shards, and their joining. */
#include "io/file.h"
#include "tools/batch/batch.h"
#include "tools/text/path.h"
#include "volumes/free.h"

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

/* FOLDER/shard-3-of-8; malloc'ed. */
static char *folder_of(const lob_batch *b, int shard)
{
    return lob_printed("%s/shard-%d-of-%d", b->folder, shard, b->shards);
}

/* FOLDER/shards-of-8.tsv; malloc'ed. */
static char *division_of(const lob_batch *b)
{
    return lob_printed("%s/shards-of-%d.tsv", b->folder, b->shards);
}

/* --shard, or what Slurm tells the task of an array. */
static lob_status find_shard(lob_batch *b)
{
    lob_error *const error = &b->session->error;
    const char *const text = b->shard_text;
    char end;
    if (text && sscanf(text, "%d/%d%c", &b->shard, &b->shards, &end) == 2 && b->shard >= 1 &&
        b->shard <= b->shards)
        return LOB_OK;
    if (text)
        return lob_fail(error, LOB_EARG,
                        "--shard %s: is no I/N with I from 1 to N; --shard 3/8 is the third of "
                        "eight",
                        text);
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
    b->shard = (int)((id - first) / step) + 1;
    b->shards = (int)count;
    return LOB_OK;
}

lob_status lob_shard_choose(lob_batch *b)
{
    LOB_TRY(find_shard(b));
    b->own_folder = b->shards ? folder_of(b, b->shard) : strdup(b->folder);
    return b->own_folder ? LOB_OK : lob_session_no_memory(b->session, b->folder);
}

/* ---- dividing ---- */

typedef struct {
    int64_t bytes; /* none is for nothing */
    lob_plan_scan *scan;
} weight;

/* The largest first; of equal ones, that which comes first. */
static int by_bytes(const void *a, const void *b)
{
    const weight *const x = a, *const y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->scan > y->scan ? 1 : -1;
}

/* The shard with the fewest bytes and scans gets the next scan. */
static lob_status divide(const lob_batch *b)
{
    weight *const order = calloc((size_t)b->count, sizeof *order);
    int64_t *const load = calloc((size_t)b->shards, sizeof *load);
    for (int64_t i = 0; order && i < b->count; i++)
        order[i] = (weight){b->scans[i].bytes + 4096, &b->scans[i]};
    if (order) qsort(order, (size_t)b->count, sizeof *order, by_bytes);
    for (int64_t i = 0; order && load && i < b->count; i++) {
        int least = 0;
        for (int s = 1; s < b->shards; s++)
            if (load[s] < load[least]) least = s;
        load[least] += order[i].bytes;
        order[i].scan->shard = least + 1;
    }
    const bool done = order && load;
    LOB_FREE(order, load);
    return done ? LOB_OK : lob_session_no_memory(b->session, b->folder);
}

static lob_status write_division(const lob_batch *b, const char *path)
{
    lob_text text = {NULL};
    lob_text_print(&text, "scan\tshard\tbytes\n");
    for (int64_t i = 0; i < b->count; i++) {
        lob_text_add_cell(&text, b->scans[i].name, false);
        lob_text_print(&text, "\t%d\t%lld\n", b->scans[i].shard, (long long)b->scans[i].bytes);
    }
    return lob_text_save(&text, path, false, &b->session->error);
}

static lob_status read_division(lob_batch *b, const char *path)
{
    lob_columns file;
    lob_status st = lob_columns_read(&file, path, LOB_COLUMNS_EXACT, &b->session->error);
    /* the same scans in the same order? */
    bool same = st == LOB_OK && file.rows == b->count && file.columns == 3;
    for (int64_t i = 0; same && i < b->count; i++) {
        const char *const *const cell = file.cells + 3 * i;
        const int shard = b->scans[i].shard = (int)strtol(cell[1], NULL, 10);
        same = strcmp(cell[0], b->scans[i].name) == 0 && shard >= 1 && shard <= b->shards;
    }
    if ((st == LOB_OK && !same) || st == LOB_EDATA)
        st = lob_fail(&b->session->error, LOB_EDATA,
                      "%s: divides other scans than these into shards; remove it if none of its "
                      "shards will be run again, or name another folder with --log",
                      path);
    lob_columns_free(&file);
    return st;
}

lob_status lob_shard_divide(lob_batch *b)
{
    if (b->shards == 0) return LOB_OK;
    LOB_TRY(divide(b));
    char *const path = division_of(b);
    if (!path) return lob_session_no_memory(b->session, b->folder);
    lob_status st = write_division(b, path);
    if (st == LOB_OK || st == LOB_EEXIST) st = read_division(b, path); /* another was first */
    free(path);
    return st;
}

/* ---- joining ---- */

/* The number of shards of the division that the folder holds. */
static lob_status find_division(lob_batch *b)
{
    lob_entries *const open = lob_entries_open(b->folder);
    int other = 0;
    for (const char *name; open && !other && (name = lob_entries_next(open));) {
        int count;
        char end;
        if (sscanf(name, "shards-of-%d.tsv%c", &count, &end) != 1 || count < 1) continue;
        *(b->shards ? &other : &b->shards) = count;
    }
    lob_entries_close(open);
    if (other)
        return lob_fail(&b->session->error, LOB_EDATA,
                        "%s: is divided into %d and into %d shards; remove the shards-of-N.tsv "
                        "that does not count",
                        b->folder, b->shards, other);
    if (b->shards) return LOB_OK;
    return lob_fail(&b->session->error, LOB_ENOINPUT,
                    "%s: holds no shards; name the folder of --log", b->folder);
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

lob_status lob_shard_join(lob_batch *b)
{
    lob_batch_summary *const sum = &b->summary;
    LOB_TRY(find_division(b));
    char *const division = division_of(b);
    lob_status st =
        division ? lob_columns_read(&b->division, division, LOB_COLUMNS_EXACT, &b->session->error)
                 : lob_session_no_memory(b->session, b->folder);
    free(division);
    for (int i = 1; i <= b->shards && st == LOB_OK; i++) {
        char *const folder = folder_of(b, i);
        st = folder ? add_shard(b, folder) : lob_session_no_memory(b->session, b->folder);
        free(folder);
    }
    sum->scans = b->division.rows;
    sum->left = sum->scans > b->table.count ? sum->scans - b->table.count : 0;
    for (int64_t i = 0; i < b->division.rows && st == LOB_OK; i++)
        if (!lob_names_add(&b->order, b->division.cells[i * b->division.columns], i))
            st = lob_session_no_memory(b->session, b->folder);
    return st;
}
