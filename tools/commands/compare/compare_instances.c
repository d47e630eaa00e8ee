/* Scores of instances as tables and in the report. */
#include "tools/commands/compare/compare_work.h"

#include "kernels/scores/instances.h"
#include "tools/table/table_file.h"
#include "tools/table/terminal_table.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Everything of a call. */
typedef struct {
    lob_label_set truths, labels; /* the numbers that the files have */
    lob_instances table;
    lob_instances_scores scores;
    uint8_t *met; /* labels.count + 1: 1 where a label shares a voxel with a truth */
} work;

/* ---- scores ---- */

/* The columns of the table by threshold. */
static const struct {
    const char *name;
    bool whole;
    size_t offset; /* in lob_instances_at */
} columns[] = {
    {"matched",           true,  offsetof(lob_instances_at, matched)          },
    {"extra",             true,  offsetof(lob_instances_at, extra)            },
    {"missed",            true,  offsetof(lob_instances_at, missed)           },
    {"precision",         false, offsetof(lob_instances_at, precision)        },
    {"recall",            false, offsetof(lob_instances_at, recall)           },
    {"f1",                false, offsetof(lob_instances_at, f1)               },
    {"average_precision", false, offsetof(lob_instances_at, average_precision)},
    {"matched_iou",       false, offsetof(lob_instances_at, matched_iou)      },
    {"panoptic_quality",  false, offsetof(lob_instances_at, panoptic_quality) },
};

static double value_of(const lob_instances_at *at, size_t column)
{
    const void *const field = (const char *)at + columns[column].offset;
    return columns[column].whole ? (double)*(const int64_t *)field : *(const double *)field;
}

/* Mean of a column over the thresholds; NaN where one is. */
static double mean_of(const lob_instances_scores *scores, size_t column)
{
    double sum = 0.0;
    for (int k = 0; k < LOB_INSTANCES_THRESHOLDS; k++) sum += value_of(&scores->at[k], column);
    return sum / LOB_INSTANCES_THRESHOLDS;
}

static lob_status print_thresholds(lob_session *s, const lob_instances_scores *scores, bool quiet)
{
    lob_text table = {NULL};
    cJSON *const list = cJSON_AddArrayToObject(s->results, "thresholds");
    cJSON *const mean = cJSON_AddObjectToObject(s->results, "mean");
    lob_text_print(&table, "iou");
    for (size_t c = 0; c < LOB_COUNT(columns); c++) lob_text_print(&table, "\t%s", columns[c].name);
    for (int k = 0; k < LOB_INSTANCES_THRESHOLDS; k++) {
        const lob_instances_at *const at = &scores->at[k];
        cJSON *const row = lob_json_row(list);
        cJSON_AddNumberToObject(row, "iou", at->percent / 100.0);
        lob_text_print(&table, "\n%.2f", at->percent / 100.0);
        for (size_t c = 0; c < LOB_COUNT(columns); c++) {
            const double value = value_of(at, c);
            cJSON_AddNumberToObject(row, columns[c].name, value);
            lob_compare_add_value(&table, value, columns[c].whole ? "%.0f" : "%.6f");
        }
    }
    lob_text_print(&table, "\nmean");
    for (size_t c = 0; c < LOB_COUNT(columns); c++) {
        cJSON_AddNumberToObject(mean, columns[c].name, mean_of(scores, c));
        lob_compare_add_value(&table, mean_of(scores, c), columns[c].whole ? "%.1f" : "%.6f");
    }
    lob_text_print(&table, "\n");
    if (quiet) {
        lob_text_free(&table);
        return LOB_OK;
    }
    printf("\n");
    return lob_print_table(&table, &s->error);
}

static lob_status print_measures(lob_session *s, const lob_instances_scores *scores, bool quiet)
{
    const lob_measure rows[] = {
        {"truths",                          "%.0f", (double)scores->truths               },
        {"instances",                       "%.0f", (double)scores->labels               },
        {"split_truths",                    "%.0f", (double)scores->splits               },
        {"merging_instances",               "%.0f", (double)scores->merges               },
        {"adapted_rand_error",              "%.6f", scores->rand_error                   },
        {"rand_precision",                  "%.6f", scores->rand_precision               },
        {"rand_recall",                     "%.6f", scores->rand_recall                  },
        {"variation_of_information",        "%.6f", scores->voi_split + scores->voi_merge},
        {"voi_split",                       "%.6f", scores->voi_split                    },
        {"voi_merge",                       "%.6f", scores->voi_merge                    },
        {"variation_of_information_inside", "%.6f",
         scores->voi_split_inside + scores->voi_merge_inside                             },
        {"voi_split_inside",                "%.6f", scores->voi_split_inside             },
        {"voi_merge_inside",                "%.6f", scores->voi_merge_inside             },
    };
    return lob_compare_print(s, rows, LOB_COUNT(rows), quiet);
}

/* ---- splits and merges ---- */

/* 0: none */
static int32_t number_of(const lob_label_set *set, int32_t dense)
{
    return dense ? set->values[dense - 1] : 0;
}

/* The same in a table, where none is missing. */
static double number_or_nan(const lob_label_set *set, int32_t dense)
{
    return dense ? (double)set->values[dense - 1] : (double)NAN;
}

/* A list of whole instances and, for each, of its parts. */
typedef struct {
    const char *name, *whole, *parts;
    int32_t mark;
    bool by_label; /* the whole is a label, and the parts are truths */
} part_list;

static const part_list lists[] = {
    {"splits", "truth", "labels", LOB_INSTANCES_SPLIT, false},
    {"merges", "label", "truths", LOB_INSTANCES_MERGE, true },
};

/* Pairs by whole, then by part: qsort has no room for which is which. */
static int by_label(const void *a, const void *b)
{
    const lob_instances_pair *const x = a, *const y = b;
    return x->label != y->label ? (x->label > y->label) - (x->label < y->label)
                                : (x->truth > y->truth) - (x->truth < y->truth);
}

/* marked: count pairs with the list's mark, by whole. */
static void print_parts(lob_session *s, const work *w, const part_list *list,
                        const lob_instances_pair *marked, int64_t count, bool quiet)
{
    cJSON *const all = cJSON_AddArrayToObject(s->results, list->name);
    cJSON *parts = NULL;
    int32_t last = 0;
    if (!quiet && count > 0) printf("\n%s\t%s", list->whole, list->parts);
    for (int64_t i = 0; i < count; i++) {
        const int32_t truth = number_of(&w->truths, marked[i].truth);
        const int32_t label = number_of(&w->labels, marked[i].label);
        const int32_t whole = list->by_label ? label : truth, part = list->by_label ? truth : label;
        if (whole != last) {
            cJSON *const row = lob_json_row(all);
            cJSON_AddNumberToObject(row, list->whole, whole);
            parts = cJSON_AddArrayToObject(row, list->parts);
            if (!quiet) printf("\n%" PRId32 "\t", whole);
        } else if (!quiet) {
            printf(",");
        }
        cJSON_AddItemToArray(parts, cJSON_CreateNumber(part));
        if (!quiet) printf("%" PRId32, part);
        last = whole;
    }
    if (!quiet && count > 0) printf("\n");
}

static lob_status print_lists(lob_session *s, const work *w, bool quiet)
{
    lob_instances_pair *const marked = malloc(((size_t)w->table.pair_count + 1) * sizeof *marked);
    if (!marked) return LOB_ENOMEM;
    for (size_t k = 0; k < LOB_COUNT(lists); k++) {
        int64_t count = 0;
        for (int64_t i = 0; i < w->table.pair_count; i++)
            if (w->table.pairs[i].marks & lists[k].mark) marked[count++] = w->table.pairs[i];
        if (lists[k].by_label) qsort(marked, (size_t)count, sizeof *marked, by_label);
        print_parts(s, w, &lists[k], marked, count, quiet);
    }
    free(marked);
    return LOB_OK;
}

/* ---- the table of pairs ---- */

static const char *const pair_columns[] = {
    "truth", "label", "common_voxels", "truth_voxels", "label_voxels",
    "iou",   "match", "split",         "merge",
};

/* Is this pair of a truth and of no label the truth's only one? */
static bool is_lone_truth(const lob_instances *table, int64_t i)
{
    return i + 1 == table->pair_count || table->pairs[i + 1].truth != table->pairs[i].truth;
}

/* Pairs with 0 are rows only where an instance meets nothing. */
static bool fill_pair(double *row, int64_t i, const void *user)
{
    const work *const w = user;
    const lob_instances_pair *const pair = &w->table.pairs[i];
    const bool both = pair->truth && pair->label;
    if (!pair->truth && (!pair->label || w->met[pair->label])) return false;
    if (!pair->label && !is_lone_truth(&w->table, i)) return false;
    *row++ = number_or_nan(&w->truths, pair->truth);
    *row++ = number_or_nan(&w->labels, pair->label);
    *row++ = both ? (double)pair->common : 0.0;
    *row++ = pair->truth ? (double)w->table.truth_voxels[pair->truth] : (double)NAN;
    *row++ = pair->label ? (double)w->table.label_voxels[pair->label] : (double)NAN;
    *row++ = both ? lob_instances_iou(&w->table, pair) : 0.0;
    for (int32_t mark = LOB_INSTANCES_MATCH; mark <= LOB_INSTANCES_MERGE; mark *= 2)
        *row++ = (pair->marks & mark) != 0;
    return true;
}

static lob_status write_pairs(lob_session *s, work *w, const char *path)
{
    w->met = calloc((size_t)w->labels.count + 1, 1);
    if (!w->met) return lob_session_no_memory(s, path);
    for (int64_t i = 0; i < w->table.pair_count; i++)
        if (w->table.pairs[i].truth) w->met[w->table.pairs[i].label] = 1;
    const lob_table file = {.names = pair_columns,
                            .columns = LOB_COUNT(pair_columns),
                            .keys = 2,
                            .rows = w->table.pair_count,
                            .row = fill_pair,
                            .user = w};
    return lob_table_write(s, &file, path);
}

/* ---- the work ---- */

static lob_status score(lob_session *s, lob_compare_work *compared, work *w)
{
    LOB_TRY(lob_grid_dense(s, &compared->a, &w->truths, compared->a_path));
    LOB_TRY(lob_grid_dense(s, &compared->b, &w->labels, compared->b_path));
    const lob_status st =
        lob_instances_count(&w->table, &compared->a, w->truths.count, &compared->b, w->labels.count,
                            &s->context, &s->error);
    LOB_TRY(lob_session_name(s, st, compared->b_path, NULL));
    if (lob_instances_score(&w->scores, &w->table) != LOB_OK)
        return lob_session_no_memory(s, compared->b_path);
    lob_session_doing(s, "printing");
    LOB_TRY(print_measures(s, &w->scores, compared->json));
    LOB_TRY(print_thresholds(s, &w->scores, compared->json));
    if (print_lists(s, w, compared->json) != LOB_OK)
        return lob_session_no_memory(s, compared->b_path);
    return compared->table ? write_pairs(s, w, compared->table) : LOB_OK;
}

lob_status lob_compare_instances(lob_session *s, lob_compare_work *compared)
{
    work w = {0};
    const lob_status st = score(s, compared, &w);
    free(w.met);
    lob_instances_free(&w.table);
    lob_label_set_free(&w.truths);
    lob_label_set_free(&w.labels);
    return st;
}
