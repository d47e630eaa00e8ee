/* The steps of lobule labels: one row for each option. */
#include "tools/commands/labels_steps.h"

#include "tools/options/options.h"
#include "tools/table/label_map.h"
#include "volumes/lists.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void lob_typed_labels_free(lob_typed_labels *typed)
{
    for (int i = 0; i < LOB_STEPS; i++) free(typed->rules[i]);
    typed->count = 0;
}

/* A step that is being taken apart. */
typedef struct {
    lob_session *s;
    lob_typed_labels *typed;
    int number;
    const char *name, *text;
} typed_step;

static lob_status refuse(const typed_step *t, const char *what)
{
    return lob_fail(&t->s->error, LOB_EARG, "--%s: '%s' %s", t->name, t->text, what);
}

/* ---- tables of labels ---- */

/*
 * Put rules into ascending order and join those that overlap and say the same. Returns the first
 * label that is given twice with two outcomes, or 0.
 */
static int32_t settle_rules(lob_labels_step *step, lob_labels_rule *rules, int64_t count)
{
    int64_t n = 0;
    qsort(rules, (size_t)count, sizeof *rules, lob_by_int32);
    for (int64_t i = 0; i < count; i++) {
        lob_labels_rule *last = n > 0 ? &rules[n - 1] : NULL;
        if (!last || rules[i].first > last->last)
            rules[n++] = rules[i];
        else if (rules[i].to != last->to)
            return rules[i].first;
        else if (rules[i].last > last->last)
            last->last = rules[i].last;
    }
    step->rules = rules;
    step->rule_count = n;
    return 0;
}

/* Rules that turn the labels of a list into another. */
static lob_status list_rules(const typed_step *t, const char *list, int32_t to, int32_t rest)
{
    size_t n = 1;
    LOB_TRY(lob_label_list_check(list, t->name, &t->s->error));
    for (const char *c = list; *c; c++) n += *c == ',';
    lob_labels_rule *rules = t->typed->rules[t->number] = calloc(n, sizeof *rules);
    if (!rules) return lob_fail(&t->s->error, LOB_ENOMEM, "no memory for --%s", t->name);
    n = 0;
    for (const char *at = list; at;) {
        rules[n].to = to;
        at = lob_label_list_next(at, &rules[n].first, &rules[n].last);
        n++;
    }
    lob_labels_step *step = &t->typed->step[t->number];
    step->kind = LOB_LABELS_RECODE;
    step->rest = rest;
    settle_rules(step, rules, (int64_t)n);
    return LOB_OK;
}

static lob_status take_keep(const typed_step *t)
{
    return list_rules(t, t->text, LOB_LABELS_SAME, 0);
}

static lob_status take_drop(const typed_step *t)
{
    return list_rules(t, t->text, 0, LOB_LABELS_SAME);
}

/* "1,4-6=9": these labels become 9. */
static lob_status take_merge(const typed_step *t)
{
    const char *equals = strchr(t->text, '=');
    char *end = NULL;
    errno = 0;
    const long to = equals ? strtol(equals + 1, &end, 10) : 0;
    if (!equals || end == equals + 1 || *end || errno || to < 1 || to > INT32_MAX)
        return refuse(t, "is no list and label such as 2,4-6=9");
    char *list = strndup(t->text, (size_t)(equals - t->text));
    if (!list) return lob_fail(&t->s->error, LOB_ENOMEM, "no memory for --%s", t->name);
    const lob_status st = list_rules(t, list, (int32_t)to, LOB_LABELS_SAME);
    free(list);
    return st;
}

/* ---- other values ---- */

static lob_status take_map(const typed_step *t)
{
    t->typed->step[t->number].kind = LOB_LABELS_RECODE;
    t->typed->step[t->number].rest = LOB_LABELS_SAME;
    t->typed->table[t->number] = t->text;
    return LOB_OK;
}

static lob_status take_count(const typed_step *t)
{
    int count = 0;
    const lob_option row = OPT_INT(t->name, &count, "N", 1, INT32_MAX, "");
    const lob_status st = lob_option_take(&row, t->text, &t->s->error);
    t->typed->step[t->number].count = count;
    return st;
}

static lob_status take_extent(const typed_step *t)
{
    const lob_option row =
        OPT_EXTENT(t->name, &t->typed->extent[t->number], 0, 0x1p62, "", .above_low = true);
    return lob_option_take(&row, t->text, &t->s->error);
}

static lob_status take_length(const typed_step *t)
{
    lob_size length = {.value = 0};
    lob_labels_step *step = &t->typed->step[t->number];
    const lob_option row = OPT_LENGTH(t->name, &length, 0, 1e6, "");
    const lob_status st = lob_option_take(&row, t->text, &t->s->error);
    step->length = length.value;
    step->voxels = length.voxels;
    return st;
}

/* A radius is in voxels where it has no unit. */
static lob_status take_radius(const typed_step *t)
{
    const bool bare = t->text[strspn(t->text, "+-.0123456789eE")] == '\0';
    lob_labels_step *step = &t->typed->step[t->number];
    LOB_TRY(take_length(t));
    if (bare) step->voxels = true;
    if (step->voxels && step->length != floor(step->length))
        return refuse(t, "is no whole number of voxels");
    return LOB_OK;
}

/* ---- options ---- */

static const struct {
    const char *name;
    lob_labels_kind kind;
    lob_status (*take)(const typed_step *t); /* NULL: it has no value */
} rows[] = {
    {"keep",       LOB_LABELS_RECODE,     take_keep  },
    {"drop",       LOB_LABELS_RECODE,     take_drop  },
    {"map",        LOB_LABELS_RECODE,     take_map   },
    {"merge",      LOB_LABELS_RECODE,     take_merge },
    {"largest",    LOB_LABELS_LARGEST,    take_count },
    {"min-size",   LOB_LABELS_MIN_SIZE,   take_extent},
    {"fill-holes", LOB_LABELS_FILL_HOLES, NULL       },
    {"erode",      LOB_LABELS_ERODE,      take_length},
    {"dilate",     LOB_LABELS_DILATE,     take_length},
    {"expand",     LOB_LABELS_DILATE,     take_length},
    {"open",       LOB_LABELS_OPEN,       take_length},
    {"close",      LOB_LABELS_CLOSE,      take_length},
    {"smooth",     LOB_LABELS_SMOOTH,     take_length},
    {"median",     LOB_LABELS_MEDIAN,     take_radius},
    {"boundary",   LOB_LABELS_BOUNDARY,   NULL       },
    {"slips",      LOB_LABELS_SLIPS,      NULL       },
    {"sequential", LOB_LABELS_SEQUENTIAL, NULL       },
    {"split",      LOB_LABELS_SPLIT,      NULL       },
};

lob_status lob_labels_steps_parse(lob_session *s, lob_typed_labels *typed, const lob_steps *steps)
{
    if (steps->count == 0)
        return lob_fail(&s->error, LOB_EARG,
                        "no step is given; say what to do, as --largest 1 or --smooth 1mm");
    typed->count = steps->count;
    for (int i = 0; i < steps->count; i++) {
        const typed_step t = {s, typed, i, steps->step[i].name, steps->step[i].text};
        size_t k = 0;
        while (k < LOB_COUNT(rows) && strcmp(rows[k].name, t.name) != 0) k++;
        if (k == LOB_COUNT(rows))
            return lob_fail(&s->error, LOB_EINTERNAL, "--%s has no row", t.name);
        typed->name[i] = t.name;
        typed->step[i].kind = rows[k].kind;
        if (rows[k].take) LOB_TRY(rows[k].take(&t));
    }
    return LOB_OK;
}

/* ---- tables of --map ---- */

static lob_status read_rules(lob_session *s, lob_typed_labels *typed, int number)
{
    const char *const path = typed->table[number];
    int64_t count;
    LOB_TRY(lob_label_map_read(&typed->rules[number], &count, path, &s->error));
    const int32_t twice = settle_rules(&typed->step[number], typed->rules[number], count);
    if (twice == 0) return LOB_OK;
    return lob_fail_file(&s->error, LOB_EDATA, path, "label %d becomes two different labels",
                         twice);
}

lob_status lob_labels_steps_read(lob_session *s, lob_typed_labels *typed)
{
    for (int i = 0; i < typed->count; i++)
        if (typed->table[i]) LOB_TRY(read_rules(s, typed, i));
    return LOB_OK;
}

void lob_labels_steps_fit(lob_typed_labels *typed, const lob_geometry *geometry)
{
    for (int i = 0; i < typed->count; i++) {
        if (typed->step[i].kind != LOB_LABELS_MIN_SIZE) continue;
        const lob_size *size = &typed->extent[i];
        const double voxels = size->value / (size->voxels ? 1.0 : lob_voxel_mm3(geometry));
        const double rounding = 1e-6; /* headers hold spacings as float32 */
        const double whole = ceil(voxels * (1.0 - rounding));
        typed->step[i].count = whole < 1 ? 1 : whole > 0x1p62 ? INT64_C(1) << 62 : (int64_t)whole;
    }
}

/* ---- the report ---- */

enum { MAX_PAIRS = 1000 }; /* of a step that are listed */

cJSON *lob_labels_steps_report(const lob_typed_labels *typed, const lob_labels_output *out)
{
    cJSON *const list = cJSON_CreateArray();
    for (int i = 0; i < typed->count; i++) {
        const lob_labels_step *step = &typed->step[i];
        const lob_labels_done *done = &out->done[i];
        cJSON *const one = lob_json_row(list);
        cJSON_AddStringToObject(one, "step", typed->name[i]);
        cJSON_AddNumberToObject(one, "labels", done->labels);
        if (step->kind == LOB_LABELS_LARGEST || step->kind == LOB_LABELS_MIN_SIZE ||
            step->kind == LOB_LABELS_SPLIT) {
            LOB_JSON_NUMBERS(one, {"pieces", done->pieces}, {"pieces_kept", done->kept});
        }
        if (step->kind == LOB_LABELS_MIN_SIZE)
            cJSON_AddNumberToObject(one, "min_voxels", (double)step->count);
        cJSON *const pairs = done->pairs ? cJSON_AddArrayToObject(one, "became") : NULL;
        for (int64_t k = 0; k < done->pair_count && k < MAX_PAIRS; k++) {
            const int pair[2] = {done->pairs[k].from, done->pairs[k].to};
            cJSON_AddItemToArray(pairs, cJSON_CreateIntArray(pair, 2));
        }
        if (done->pair_count > MAX_PAIRS)
            cJSON_AddNumberToObject(one, "became_more", (double)(done->pair_count - MAX_PAIRS));
    }
    return list;
}
