/* The division of a batch into shards. */
#include "tools/batch/batch_plan.h"
#include "tools/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole number of an environment's variable; `missing` where there is none. */
static long number_in(const char *name, long missing)
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
    const long id = number_in("SLURM_ARRAY_TASK_ID", -1);
    const long count = number_in("SLURM_ARRAY_TASK_COUNT", -1);
    const long first = number_in("SLURM_ARRAY_TASK_MIN", 0);
    const long step = number_in("SLURM_ARRAY_TASK_STEP", 1);
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
    char *path;
    if (shard.count == 0) return LOB_OK;
    if (asprintf(&path, "%s/shards-of-%d.tsv", folder, shard.count) < 0) path = NULL;
    int *const shard_of = calloc((size_t)plan->count + 1, sizeof *shard_of);
    const lob_status st = share_scans(plan, shard_of, shard, path, error);
    free(shard_of);
    free(path);
    return st;
}
