/* Renumbering label volumes: from whatever a file holds to 1..count, and back. */
#include "volumes/labels.h"

#include "volumes/lists.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 2048,    /* voxels converted at a time; both buffers of a block stay in the L1 cache */
    SLOTS = 1 << 16, /* labels below this have a slot of their own */
    FIRST_ROOM = 1024, /* entries of a fresh list */
};

static const double whole_tolerance = 1e-3;

/*
 * A value and what is known of it: how many voxels carry it while counting, its dense label while
 * renumbering. In a slot, number 0 means that the slot is free.
 */
typedef struct {
    int64_t number;
    int32_t value;
} entry;

/*
 * Values are looked up in a table of slots with one place per value, then in a sorted list. So the
 * common case is one load, the worst case a binary search, and no input can make it slow.
 */
static entry *slot_of(entry *slots, int32_t value)
{
    const uint32_t v = (uint32_t)value;
    return &slots[(v ^ (v >> 16) * 40503u) % SLOTS];
}

lob_type lob_label_type(int32_t largest)
{
    return largest <= UINT8_MAX ? LOB_U8 : largest <= INT16_MAX ? LOB_I16 : LOB_I32;
}

int32_t lob_label_largest(const void *labels, lob_type type, int64_t n, int threads)
{
    int32_t largest = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : largest)
    for (int64_t i = 0; i < n; i++) {
        const int32_t label = lob_label_at(labels, type, i);
        if (label > largest) largest = label;
    }
    return largest;
}

int32_t lob_label_set_find(const lob_label_set *set, int32_t value)
{
    const int32_t at = (int32_t)lob_count_below(set->values, set->count, sizeof value, value);
    return at < set->count && set->values[at] == value ? at + 1 : 0;
}

void lob_label_set_free(lob_label_set *set)
{
    if (!set) return;
    free(set->values);
    free(set->voxels);
    *set = (lob_label_set){.count = 0};
}

lob_status lob_label_set_join(lob_label_set *set, const lob_label_set *more, lob_error *error)
{
    const size_t most = (size_t)set->count + (size_t)more->count;
    if (more->count == 0) return LOB_OK;
    int32_t *const values = malloc(most * sizeof *values), n = 0;
    if (!values) return lob_fail(error, LOB_ENOMEM, "no memory left for labels");
    for (int32_t a = 0, b = 0; a < set->count || b < more->count; n++) {
        const int32_t x = a < set->count ? set->values[a] : INT32_MAX;
        const int32_t y = b < more->count ? more->values[b] : INT32_MAX;
        values[n] = x < y ? x : y;
        a += a < set->count && x == values[n];
        b += b < more->count && y == values[n];
    }
    lob_label_set_free(set);
    *set = (lob_label_set){.count = n, .values = values};
    return LOB_OK;
}

/* The label that a value is but for rounding; false, and 0, where it is none, as NaN is not. */
static inline bool label_of(int32_t *label, double value)
{
    const bool inside = value > -whole_tolerance && value < INT32_MAX + whole_tolerance;
    *label = (int32_t)((inside ? value : 0.0) + 0.5);
    return inside & (fabs(value - *label) <= whole_tolerance);
}

/* Whole numbers as they are stored. Returns how many of the n are labels. */
static int read_whole(int32_t *labels, const lob_volume *volume, int64_t first, int n)
{
    int good = 0;
    switch (volume->type) {
#define LOB_TYPE_CASE(type, ctype, name, integer, lowest, highest)                                \
    case type: {                                                                                  \
        const ctype *in = (const ctype *)volume->data + first;                                    \
        if (integer)                                                                              \
            for (int i = 0; i < n; i++) {                                                         \
                good += (uint64_t)in[i] <= INT32_MAX; /* a negative number becomes a large one */ \
                labels[i] = (int32_t)in[i];                                                       \
            }                                                                                     \
        break;                                                                                    \
    }
        LOB_TYPE_LIST(LOB_TYPE_CASE)
#undef LOB_TYPE_CASE
    case LOB_TYPES:
        assert(!"not a voxel type");
    }
    return good;
}

/*
 * The labels of voxels first .. first + n - 1, n <= BLOCK. Returns n, or the place in the block of
 * the first voxel that holds no label.
 */
static int read_labels(int32_t *labels, const lob_volume *volume, int64_t first, int n)
{
    const double slope = volume->slope, inter = volume->inter;
    const bool as_stored = slope == 1.0 && inter == 0.0;
    if (as_stored && read_whole(labels, volume, first, n) == n) return n;

    double values[BLOCK];
    lob_values(values, volume->data, volume->type, first, n);
    int good = 0;
    while (good < n && label_of(&labels[good], slope * values[good] + inter)) good++;
    return good;
}

static void write_labels(void *data, lob_type type, int64_t first, const int32_t *labels, int n)
{
    switch (type) {
#define LOB_TYPE_CASE(type, ctype, name, integer, lowest, highest) \
    case type: {                                                   \
        ctype *out = (ctype *)data + first;                        \
        for (int i = 0; i < n; i++) out[i] = (ctype)labels[i];     \
        break;                                                     \
    }
        LOB_TYPE_LIST(LOB_TYPE_CASE)
#undef LOB_TYPE_CASE
    case LOB_TYPES:
        assert(!"not a voxel type");
    }
}

/* Equal labels from the start of a block on. */
static int run_length(const int32_t *labels, int n)
{
    int length = 1;
    while (length < n && labels[length] == labels[0]) length++;
    return length;
}

/* Do n voxels hold the same bytes? */
static bool is_one_value(const lob_volume *volume, int64_t first, int n)
{
    const size_t bytes = lob_type_of(volume->type)->bytes;
    const char *const at = (const char *)volume->data + (size_t)first * bytes;
    return memcmp(at, at + bytes, (size_t)(n - 1) * bytes) == 0;
}

/* Entries that found their slot taken, with duplicates until they are merged. */
typedef struct {
    entry *entries;
    size_t used, room;
} entry_list;

static int by_value(const void *a, const void *b)
{
    const int32_t x = ((const entry *)a)->value, y = ((const entry *)b)->value;
    return (x > y) - (x < y);
}

static void merge(entry_list *list)
{
    if (list->used == 0) return;
    entry *e = list->entries;
    qsort(e, list->used, sizeof *e, by_value);
    size_t last = 0;
    for (size_t i = 1; i < list->used; i++) {
        if (e[i].value == e[last].value)
            e[last].number += e[i].number;
        else
            e[++last] = e[i];
    }
    list->used = last + 1;
}

static lob_status append(entry_list *list, entry item)
{
    if (list->used == list->room) {
        merge(list);
        if (list->used > list->room / 2 || list->room == 0) { /* else merging made enough room */
            const size_t room = list->room ? 2 * list->room : FIRST_ROOM;
            if (room > SIZE_MAX / sizeof(entry)) return LOB_ENOMEM;
            entry *entries = realloc(list->entries, room * sizeof *entries);
            if (!entries) return LOB_ENOMEM;
            list->entries = entries;
            list->room = room;
        }
    }
    list->entries[list->used++] = item;
    return LOB_OK;
}

static lob_status bad_voxel(const lob_volume *volume, int64_t at, const int64_t first[3],
                            const char *name, lob_error *error)
{
    double value;
    lob_values(&value, volume->data, volume->type, at, 1);
    value = volume->slope * value + volume->inter;
    const char *why = !isfinite(value)    ? "not a number that a label can be"
                      : value < 0.0       ? "below 0"
                      : value > INT32_MAX ? "above the largest label, 2147483647"
                                          : "not a whole number";
    const int64_t nx = volume->dims.nx, ny = volume->dims.ny;
    return lob_fail_file(error, LOB_EDATA, name,
                         "no label volume: voxel %lld,%lld,%lld (counted from 0) holds %.10g, %s; "
                         "is this an image instead of labels?",
                         (long long)(first[0] + at % nx), (long long)(first[1] + at / nx % ny),
                         (long long)(first[2] + at / nx / ny), value, why);
}

/* Are a volume's bytes its labels? */
static bool has_bytes(const lob_volume *volume)
{
    return volume->type == LOB_U8 && !lob_is_scaled(volume);
}

lob_status lob_labels_allow(const lob_volume *part, const int64_t first[3], const char *name,
                            lob_error *error)
{
    const int64_t voxels = has_bytes(part) ? 0 : lob_voxels(part);
    int32_t labels[BLOCK];
    for (int64_t i = 0; i < voxels; i += BLOCK) {
        const int n = (int)(voxels - i < BLOCK ? voxels - i : BLOCK);
        const int read = is_one_value(part, i, n) ? 1 : n;
        const int good = read_labels(labels, part, i, read);
        if (good < read) return bad_voxel(part, i + good, first, name, error);
    }
    return LOB_OK;
}

/* Count bytes into the slots; zeros, or where eight are alike, which most are, at once. */
static void count_bytes(entry *slots, const uint8_t *labels, int n)
{
    for (int i = 0, run; i < n; i += run) {
        uint64_t word = 0;
        if (labels[i] == 0) {
            run = (int)lob_next_label(labels, LOB_U8, i, n) - i;
            slots[0].number += run;
            continue;
        }
        const uint64_t all = UINT64_MAX / UINT8_MAX * labels[i];
        run = 1;
        if (n - i >= (int)sizeof word) memcpy(&word, labels + i, sizeof word);
        if (n - i >= (int)sizeof word && word == all) run = sizeof word;
        slots[labels[i]].value = labels[i];
        slots[labels[i]].number += run;
    }
}

/* Count the voxels of every value: into the slots, and into list what found no slot. */
static lob_status count_values(entry *slots, entry_list *list, const lob_volume *volume,
                               const char *name, lob_error *error)
{
    const int64_t voxels = lob_voxels(volume);
    const bool bytes = has_bytes(volume);
    int32_t labels[BLOCK];
    for (int64_t first = 0; first < voxels; first += BLOCK) {
        const int n = (int)(voxels - first < BLOCK ? voxels - first : BLOCK);
        const bool alike = is_one_value(volume, first, n); /* most blocks of labels are */
        if (bytes && !alike) {
            count_bytes(slots, (const uint8_t *)volume->data + first, n);
            continue;
        }
        const int read = alike ? 1 : n, good = read_labels(labels, volume, first, read);
        if (good < read) return bad_voxel(volume, first + good, (int64_t[3]){0}, name, error);
        for (int i = 0, run; i < n; i += run) {
            run = alike ? n : run_length(labels + i, n - i);
            entry *slot = slot_of(slots, labels[i]);
            if (slot->number > 0 && slot->value != labels[i]) {
                if (append(list, *slot) != LOB_OK) return LOB_ENOMEM;
                slot->number = 0;
            }
            slot->value = labels[i];
            slot->number += run;
        }
    }
    return LOB_OK;
}

/* The set of what was counted, in order and without 0. used: slots that may hold something. */
static lob_status collect(lob_label_set *set, const entry *slots, int used, entry_list *list)
{
    for (int i = 0; i < used; i++)
        if (slots[i].number > 0 && append(list, slots[i]) != LOB_OK) return LOB_ENOMEM;
    merge(list);
    const size_t background = list->used > 0 && list->entries[0].value == 0;
    const size_t count = list->used - background;
    if (count == 0) return LOB_OK;
    set->values = malloc(count * sizeof *set->values);
    set->voxels = malloc(count * sizeof *set->voxels);
    if (!set->values || !set->voxels) return LOB_ENOMEM;
    set->count = (int32_t)count; /* no more than there are values, 2^31 - 1 */
    for (size_t i = 0; i < count; i++) {
        set->values[i] = list->entries[background + i].value;
        set->voxels[i] = list->entries[background + i].number;
    }
    return LOB_OK;
}

/* What a label becomes. */
typedef int32_t label_map(void *user, int32_t label);

/*
 * Put every label through a map and store it as another type, in place: narrowing runs forwards and
 * widening backwards, so that a voxel is read before its bytes are written.
 */
static lob_status rewrite(lob_volume *volume, lob_type type, label_map *map, void *user)
{
    const int64_t voxels = lob_voxels(volume), blocks = (voxels + BLOCK - 1) / BLOCK;
    const int64_t bytes = lob_product(voxels, (int64_t)lob_type_of(type)->bytes, 1, 1);
    const bool widen = lob_type_of(type)->bytes > lob_type_of(volume->type)->bytes;
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX) return LOB_ENOMEM;
    if (widen && bytes > 0) {
        void *data = realloc(volume->data, (size_t)bytes);
        if (!data) return LOB_ENOMEM;
        volume->data = data;
    }
    int32_t labels[BLOCK] = {0};
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t first = (widen ? blocks - 1 - b : b) * BLOCK;
        const int n = (int)(voxels - first < BLOCK ? voxels - first : BLOCK);
        read_labels(labels, volume, first, n);
        for (int i = 0, run; i < n; i += run) {
            run = run_length(labels + i, n - i);
            const int32_t label = map(user, labels[i]);
            for (int k = i; k < i + run; k++) labels[k] = label;
        }
        write_labels(volume->data, type, first, labels, n);
    }
    if (!widen && bytes > 0) {
        void *data = realloc(volume->data, (size_t)bytes);
        if (data) volume->data = data; /* else the buffer is merely larger than it need be */
    }
    volume->type = type;
    volume->slope = 1.0;
    volume->inter = 0.0;
    return LOB_OK;
}

/* Are labels and dense labels the same numbers, and stored as this type already? */
static bool stays(const lob_volume *volume, const lob_label_set *set, lob_type type)
{
    const bool same = set->count == 0 || set->values[set->count - 1] == set->count;
    return same && volume->type == type && !lob_is_scaled(volume);
}

typedef struct {
    entry *slots;
    const lob_label_set *set;
} dense_map;

static int32_t to_dense(void *user, int32_t label)
{
    const dense_map *map = user;
    if (label == 0) return 0;
    entry *slot = slot_of(map->slots, label);
    if (slot->number > 0 && slot->value == label) return (int32_t)slot->number;
    const int32_t number = lob_label_set_find(map->set, label);
    *slot = (entry){.number = number, .value = label};
    return number;
}

lob_status lob_labels_count(lob_label_set *set, const lob_volume *volume, const char *name,
                            lob_error *error)
{
    *set = (lob_label_set){.count = 0};
    if (volume->channels != 1)
        return lob_fail_file(error, LOB_EDATA, name,
                             "no label volume: it has %d channels, labels have one",
                             volume->channels);
    entry_list list = {.used = 0};
    const int used = has_bytes(volume) ? UINT8_MAX + 1 : SLOTS;
    entry *const slots = calloc((size_t)used, sizeof *slots);
    lob_status st = slots ? count_values(slots, &list, volume, name, error) : LOB_ENOMEM;
    if (st == LOB_OK) st = collect(set, slots, used, &list);
    if (st == LOB_ENOMEM) lob_fail_file(error, st, name, "not enough memory for its labels");
    if (st != LOB_OK) lob_label_set_free(set);
    free(slots);
    free(list.entries);
    return st;
}

lob_status lob_labels_dense(lob_volume *volume, lob_label_set *set, const char *name,
                            lob_error *error)
{
    LOB_TRY(lob_labels_count(set, volume, name, error));
    const lob_type type = lob_label_type(set->count);
    if (stays(volume, set, type)) return LOB_OK;
    dense_map map = {calloc(SLOTS, sizeof *map.slots), set};
    const lob_status st = map.slots ? rewrite(volume, type, to_dense, &map) : LOB_ENOMEM;
    free(map.slots);
    if (st == LOB_OK) return st;
    lob_label_set_free(set);
    return lob_fail_file(error, st, name, "not enough memory for its labels");
}

static int32_t from_dense(void *user, int32_t label)
{
    const lob_label_set *set = user;
    assert(label <= set->count);
    return label >= 1 && label <= set->count ? set->values[label - 1] : 0;
}

lob_status lob_labels_restore(lob_volume *volume, const lob_label_set *set)
{
    const int32_t largest = set->count > 0 ? set->values[set->count - 1] : 0;
    const lob_type type = lob_label_type(largest);
    lob_label_set map = *set;
    return stays(volume, set, type) ? LOB_OK : rewrite(volume, type, from_dense, &map);
}

static int32_t unchanged(void *user, int32_t label)
{
    (void)user;
    return label;
}

lob_status lob_labels_pack(lob_volume *volume, int32_t largest)
{
    return rewrite(volume, lob_label_type(largest), unchanged, NULL);
}
