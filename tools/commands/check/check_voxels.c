/* What the values of a file say. */
#include "tools/commands/check/check_report.h"

#include <math.h>

typedef struct {
    int64_t voxels, nan, infinite, negative;
    int64_t above_short; /* beyond int16, which viewers hold labels in */
    int64_t nameless;    /* a label without a name, where others have one */
    int64_t broken;      /* not whole, */
    double farthest;     /* and the farthest of them from a whole number */
    double lowest, highest;
} tally;

static void count_value(tally *t, double value)
{
    t->nan += isnan(value);
    t->infinite += isinf(value) != 0;
    if (!isfinite(value)) return;
    const double off = fabs(value - nearbyint(value));
    t->negative += value < 0;
    t->above_short += value > 32767;
    t->broken += off > 0;
    t->farthest = fmax(t->farthest, off);
    t->lowest = fmin(t->lowest, value);
    t->highest = fmax(t->highest, value);
}

/* Is it a label that the volume's names leave out? */
static bool is_nameless(const lob_volume *v, double value)
{
    return value >= 1 && value <= INT32_MAX && value == floor(value) &&
           !lob_label_names_find(&v->names, (int32_t)value);
}

static tally count_voxels(const lob_volume *v)
{
    enum { BLOCK = 4096 };
    tally t = {.lowest = INFINITY, .highest = -INFINITY};
    double last = 0; /* neighbours are alike: their label is looked up once */
    bool last_nameless = false;
    t.voxels = lob_product(lob_voxels(v), v->channels, 1, 1);
    for (int64_t first = 0; first < t.voxels; first += BLOCK) {
        double values[BLOCK];
        const int64_t n = t.voxels - first < BLOCK ? t.voxels - first : BLOCK;
        lob_values(values, v->data, v->type, first, n);
        for (int64_t i = 0; i < n; i++) {
            const double value = v->slope * values[i] + v->inter;
            count_value(&t, value);
            if (v->names.count == 0) continue;
            if (value != last) last_nameless = is_nameless(v, value);
            last = value;
            t.nameless += last_nameless;
        }
    }
    return t;
}

/* Labels that programs take otherwise than they are meant. */
static void judge_labels(const lob_check_report *r, const tally *t)
{
    if (t->broken > 0)
        lob_check_say(r, r->damage,
                      "labels: voxels that hold no whole number: %lld; the labels were "
                      "interpolated, or this is a scan",
                      (long long)t->broken);
    if (t->negative > 0)
        lob_check_say(r, r->warnings,
                      "labels: negative voxels: %lld; many programs take these for background",
                      (long long)t->negative);
    if (t->nameless > 0)
        lob_check_say(r, r->warnings,
                      "labels: voxels whose label has no name, where others have one: %lld",
                      (long long)t->nameless);
    if (t->highest >= 0x1p31 - 1)
        lob_check_say(r, r->warnings,
                      "labels: the largest is %.0f, which no int32 holds or which fills it: "
                      "3D Slicer and others ask for memory for every number up to it",
                      t->highest);
    else if (t->above_short > 0)
        lob_check_say(r, r->warnings,
                      "labels: voxels above 32767: %lld; ITK-SNAP and files of int16 do not hold "
                      "these",
                      (long long)t->above_short);
}

void lob_check_voxels(const lob_check_report *r, const lob_volume *v, bool labels)
{
    static const double near = 0.01;
    const tally t = count_voxels(v);
    cJSON *const voxels = cJSON_AddObjectToObject(r->about, "voxels");
    LOB_JSON_NUMBERS(voxels, {"count", t.voxels}, {"nan", t.nan}, {"infinite", t.infinite});
    if (t.lowest <= t.highest) {
        LOB_JSON_NUMBERS(voxels, {"min", t.lowest}, {"max", t.highest});
    } else {
        lob_check_say(r, r->damage, "voxels: none is a finite number");
    }
    if (t.nan + t.infinite > 0)
        lob_check_say(r, r->warnings, "voxels: %lld are NaN or infinite",
                      (long long)(t.nan + t.infinite));
    if (t.lowest == t.highest)
        lob_check_say(r, r->warnings, "voxels: every one that is finite is %.10g", t.lowest);
    if (labels)
        judge_labels(r, &t);
    else if (t.broken > 0 && t.farthest <= near)
        lob_check_say(r, r->warnings,
                      "voxels: %lld are next to whole numbers, off by at most %.3g: labels that "
                      "were interpolated or stored with a scale?",
                      (long long)t.broken, t.farthest);
}
