/* The reference of components: flood fills over predicates as the header words them. */
#include "tests/reference/components_case.h"

#include "volumes/labels.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *block)
{
    if (!block) abort();
    return block;
}

/* A stored voxel: an integer that 64-bit types fit in, or a real number. */
typedef struct {
    bool real;
    __int128 whole;
    double number; /* the nearest */
} stored;

static stored stored_at(const lob_volume *image, int channel, int64_t i)
{
    const int64_t at = channel * lob_voxels(image) + i;
    stored s = {.real = !lob_type_of(image->type)->is_integer};
    lob_values(&s.number, image->data, image->type, at, 1);
    if (image->type == LOB_U64)
        s.whole = ((const uint64_t *)image->data)[at];
    else if (image->type == LOB_I64)
        s.whole = ((const int64_t *)image->data)[at];
    else if (!s.real)
        s.whole = (__int128)s.number;
    return s;
}

static double apart(stored a, stored b)
{
    if (a.real) return fabs(a.number - b.number);
    return (double)(a.whole < b.whole ? b.whole - a.whole : a.whole - b.whole);
}

static bool same(stored a, stored b)
{
    return a.real ? a.number == b.number : a.whole == b.whole;
}

/* The whole of a call. */
typedef struct {
    const lob_components_input *in;
    const lob_components_options *o;
    lob_dims dims;
    int64_t n;
    int32_t *number; /* n: component, then label */
    int64_t *queue;  /* n */
    int64_t *voxel;  /* of each label, the first in its component */
} naive;

static bool in_mask(const naive *c, int64_t i)
{
    return !c->in->mask || c->in->mask[i];
}

static bool is_finite(const naive *c, int64_t i)
{
    for (int k = 0; k < c->in->image->channels; k++)
        if (!isfinite(stored_at(c->in->image, k, i).number)) return false;
    return true;
}

/* a <= b, in float32 where voxels are such and not scaled. */
static bool at_most(double a, double b, const lob_volume *image)
{
    if (image->type == LOB_F32 && image->slope == 1 && image->inter == 0)
        return (float)a <= (float)b;
    return a <= b;
}

static bool is_foreground(const naive *c, int64_t i)
{
    const lob_volume *image = c->in->image;
    if (!in_mask(c, i) || !is_finite(c, i)) return false;
    int inside = 0, not_zero = 0;
    for (int k = 0; k < image->channels; k++) {
        const double value = image->slope * stored_at(image, k, i).number + image->inter;
        inside += at_most(c->o->range[0], value, image) && at_most(value, c->o->range[1], image);
        not_zero += value != 0;
    }
    return c->o->ranged ? inside == image->channels : not_zero > 0;
}

/* Of two foreground voxels. */
static bool joined(const naive *c, int64_t i, int64_t j)
{
    const lob_volume *image = c->in->image;
    double sum = 0;
    bool equal = true;
    for (int k = 0; k < image->channels; k++) {
        const stored a = stored_at(image, k, i), b = stored_at(image, k, j);
        equal = equal && same(a, b);
        sum += apart(a, b);
    }
    if (c->o->join == LOB_JOIN_ANY) return true;
    if (c->o->join == LOB_JOIN_EQUAL) return equal;
    return at_most(fabs(image->slope) * sum, c->o->tolerance, image);
}

/* Whether an offset is to a neighbour. */
static bool neighbouring(int dx, int dy, int dz, int neighbours, int axis)
{
    const int d[3] = {dx, dy, dz};
    const int axes = (dx != 0) + (dy != 0) + (dz != 0);
    if (axes == 0 || (axis >= 0 && d[axis] != 0)) return false;
    switch (neighbours) {
    case 4:
    case 6:
        return axes == 1;
    case 8:
    case 18:
        return axes <= 2;
    default:
        return true;
    }
}

/* Flood fill: give a number to the voxels connected to `from` whose number is `wanted`. */
static int64_t flood(naive *c, int64_t from, int32_t wanted, int32_t number, int neighbours,
                     bool values)
{
    int64_t head = 0, tail = 0;
    c->queue[tail++] = from;
    c->number[from] = number;
    while (head < tail) {
        const int64_t i = c->queue[head++];
        const int64_t x = i % c->dims.nx, y = i / c->dims.nx % c->dims.ny;
        const int64_t z = i / c->dims.nx / c->dims.ny;
        for (int dz = -1; dz <= 1; dz++)
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    if (!neighbouring(dx, dy, dz, neighbours, c->o->slice_axis)) continue;
                    if (x + dx < 0 || x + dx >= c->dims.nx || y + dy < 0 || y + dy >= c->dims.ny ||
                        z + dz < 0 || z + dz >= c->dims.nz)
                        continue;
                    const int64_t j = i + dx + c->dims.nx * (dy + c->dims.ny * dz);
                    if (c->number[j] != wanted || (values && !joined(c, i, j))) continue;
                    c->number[j] = number;
                    c->queue[tail++] = j;
                }
    }
    return tail;
}

enum { NOT_YET = -1 };

typedef struct {
    int64_t component, voxels, first;
} sized;

static int by_size(const void *a, const void *b)
{
    const sized *s = a, *t = b;
    if (s->voxels != t->voxels) return s->voxels > t->voxels ? -1 : 1;
    return s->component < t->component ? -1 : 1;
}

/* New numbers of components, 0 for those taken out; returns how many are left. */
static int64_t select_components(const naive *c, int32_t *renumber, const sized *all, int64_t found)
{
    sized *left = must(malloc((size_t)(found + 1) * sizeof *left));
    int64_t count = 0;
    for (int64_t i = 0; i < found; i++) {
        renumber[i] = 0;
        if (all[i].voxels < c->o->min_voxels) continue;
        if (c->o->max_voxels && all[i].voxels > c->o->max_voxels) continue;
        left[count++] = all[i];
    }
    qsort(left, (size_t)count, sizeof *left, by_size);
    if (c->o->largest && c->o->largest < count) count = c->o->largest;
    for (int64_t i = 0; i < count; i++) renumber[left[i].component] = (int32_t)(i + 1);
    int32_t next = 0;
    for (int64_t i = 0; i < found && c->o->order == LOB_ORDER_RASTER; i++)
        if (renumber[i]) renumber[i] = ++next;
    free(left);
    return count;
}

/* Number, select and renumber; number[] becomes labels. */
static void label(naive *c, lob_components_output *result)
{
    sized *all = must(malloc((size_t)(c->n + 1) * sizeof *all));
    int32_t *renumber = must(malloc((size_t)(c->n + 1) * sizeof *renumber));
    for (int64_t i = 0; i < c->n; i++) {
        c->number[i] = is_foreground(c, i) ? NOT_YET : 0;
        result->foreground += c->number[i] != 0;
        result->not_finite += in_mask(c, i) && !is_finite(c, i);
    }
    for (int64_t i = 0; i < c->n; i++) {
        if (c->number[i] != NOT_YET) continue;
        const int64_t found = result->found++;
        all[found].component = found;
        all[found].first = i;
        all[found].voxels = flood(c, i, NOT_YET, (int32_t)result->found, c->o->neighbours, true);
    }
    result->count = select_components(c, renumber, all, result->found);
    for (int64_t i = 0; i < c->n; i++)
        if (c->number[i]) c->number[i] = renumber[c->number[i] - 1];
    for (int64_t i = 0; i < result->found; i++)
        if (renumber[i]) c->voxel[renumber[i] - 1] = all[i].first;
    free(renumber);
    free(all);
}

/* The label that most faces of the queue's first voxels touch; 0 where they reach a border of an
 * axis of several voxels. */
static int32_t surrounding(const naive *c, int64_t voxels, int64_t labels)
{
    static const int steps[6][3] = {
        {-1, 0,  0 },
        {1,  0,  0 },
        {0,  -1, 0 },
        {0,  1,  0 },
        {0,  0,  -1},
        {0,  0,  1 }
    };
    int64_t *faces = must(calloc((size_t)labels + 1, sizeof *faces));
    int32_t max = 0;
    bool border = false;
    for (int64_t q = 0; q < voxels; q++)
        for (int s = 0; s < 6; s++) {
            const int64_t i = c->queue[q];
            const int64_t at[3] = {i % c->dims.nx, i / c->dims.nx % c->dims.ny,
                                   i / c->dims.nx / c->dims.ny};
            const int64_t side[3] = {c->dims.nx, c->dims.ny, c->dims.nz};
            const int axis = steps[s][0] ? 0 : steps[s][1] ? 1 : 2;
            const int64_t to = at[axis] + steps[s][axis];
            if (axis == c->o->slice_axis || side[axis] == 1) continue;
            if (to < 0 || to >= side[axis]) {
                border = true;
                continue;
            }
            const int64_t j =
                i + steps[s][0] + c->dims.nx * (steps[s][1] + c->dims.ny * steps[s][2]);
            if (c->number[j] > 0) faces[c->number[j]]++;
        }
    for (int32_t k = 1; k <= labels && !border; k++)
        if (faces[k] > (max ? faces[max] : 0)) max = k;
    free(faces);
    return max;
}

enum { HOLE = -2, FILLED = -3 };

/* All holes are found before one is filled. */
static void fill_holes(naive *c, int64_t labels)
{
    const int n = c->o->neighbours;
    const int other = n == 6 ? 26 : n == 4 ? 8 : n == 8 ? 4 : 6;
    int32_t *filled = must(malloc((size_t)c->n * sizeof *filled));
    memcpy(filled, c->number, (size_t)c->n * sizeof *filled);
    for (int64_t i = 0; i < c->n; i++) {
        if (c->number[i] != 0) continue;
        const int64_t voxels = flood(c, i, 0, HOLE, other, false);
        const int32_t fill = surrounding(c, voxels, labels);
        for (int64_t q = 0; q < voxels; q++) filled[c->queue[q]] = fill;
    }
    memcpy(c->number, filled, (size_t)c->n * sizeof *filled);
    free(filled);
}

/* Labels as they are written, in options->type, or else the narrowest type. */
static lob_status write_labels(const naive *c, lob_components_output *result)
{
    int32_t *value = must(calloc((size_t)result->count + 1, sizeof *value));
    int32_t largest = 0;
    lob_status st = LOB_OK;
    for (int64_t k = 1; k <= result->count; k++) {
        double v = (double)k;
        if (c->o->keep_values) {
            const lob_volume *image = c->in->image;
            v = image->slope * stored_at(image, 0, c->voxel[k - 1]).number + image->inter;
        }
        if (v < 1 || v > INT32_MAX || v != floor(v))
            st = LOB_EDATA;
        else
            value[k] = (int32_t)v;
        if (value[k] > largest) largest = value[k];
    }
    result->type = largest <= 255 ? LOB_U8 : largest <= 32767 ? LOB_I16 : LOB_I32;
    if (c->o->type != LOB_TYPES) {
        if (largest > lob_type_of(c->o->type)->highest) st = LOB_EDATA;
        result->type = c->o->type;
    }
    if (st == LOB_OK) {
        result->labels = must(malloc((size_t)c->n * lob_type_of(result->type)->bytes));
        for (int64_t i = 0; i < c->n; i++)
            lob_label_put(result->labels, result->type, i, value[c->number[i]]);
    }
    free(value);
    return st;
}

lob_status components_reference(lob_components_output *result, const lob_components_input *in,
                                const lob_components_options *options)
{
    naive c = {.in = in, .o = options, .dims = in->image->dims, .n = lob_voxels(in->image)};
    *result = (lob_components_output){0};
    c.number = must(malloc((size_t)c.n * sizeof *c.number));
    c.queue = must(malloc((size_t)c.n * sizeof *c.queue));
    c.voxel = must(malloc((size_t)c.n * sizeof *c.voxel));
    label(&c, result);
    if (options->fill_holes) fill_holes(&c, result->count);
    if (options->regions) {
        const lob_regions_input measured = {c.number, LOB_I32, result->count, c.dims,
                                            in->intensities};
        result->regions = must(calloc((size_t)result->count + 1, sizeof *result->regions));
        if (in->intensities)
            result->values = must(calloc((size_t)result->count + 1, sizeof *result->values));
        regions_reference(result->regions, result->values, &result->fine, &measured);
    }
    const lob_status st = write_labels(&c, result);
    if (options->regions && options->fill_holes)
        result->member = c.voxel;
    else
        free(c.voxel);
    free(c.queue);
    free(c.number);
    if (st != LOB_OK) lob_components_output_free(result);
    return st;
}

/* The range of the image's finite voxels, and the fine levels that it makes. */
static lob_fine_levels fine_of(const lob_volume *image)
{
    lob_fine_levels fine = {.per_unit = 1};
    stored low = {0}, high = {0};
    bool any = false;
    for (int64_t i = 0; i < lob_voxels(image); i++) {
        const stored s = stored_at(image, 0, i);
        if (!isfinite(s.number)) continue;
        if (!any || (s.real ? s.number < low.number : s.whole < low.whole)) low = s;
        if (!any || (s.real ? s.number > high.number : s.whole > high.whole)) high = s;
        any = true;
    }
    if (!any) return fine;
    fine.low = low.number == 0 ? 0 : low.number;
    fine.low_bits = low.real ? 0 : (uint64_t)low.whole;
    fine.exact = !low.real && high.whole - low.whole <= UINT32_MAX;
    const double half = high.number * 0.5 - low.number * 0.5;
    if (!fine.exact && half > 0) fine.per_unit = fmin(2147483647.5 / half, DBL_MAX / 2);
    return fine;
}

static uint32_t fine_level(const lob_fine_levels *fine, stored s)
{
    if (fine->exact) return (uint32_t)((uint64_t)s.whole - fine->low_bits);
    const double level = (s.number * 0.5 - fine->low * 0.5) * (2 * fine->per_unit) + 0.5;
    return level >= UINT32_MAX ? UINT32_MAX : (uint32_t)level;
}

void regions_reference(lob_region *regions, lob_region_values *values, lob_fine_levels *fine,
                       const lob_regions_input *in)
{
    lob_fine_levels levels = {0};
    if (in->image) levels = fine_of(in->image);
    if (in->image && fine) *fine = levels;
    memset(regions, 0, (size_t)in->count * sizeof *regions);
    if (in->image) memset(values, 0, (size_t)in->count * sizeof *values);
    for (int64_t i = 0; i < in->dims.nx * in->dims.ny * in->dims.nz; i++) {
        const int32_t label = lob_label_at(in->labels, in->type, i);
        if (label == 0) continue;
        lob_region *r = &regions[label - 1];
        const int32_t at[3] = {(int32_t)(i % in->dims.nx), (int32_t)(i / in->dims.nx % in->dims.ny),
                               (int32_t)(i / in->dims.nx / in->dims.ny)};
        if (r->voxels == 0) r->first = i;
        for (int a = 0; a < 3; a++) {
            if (r->voxels == 0 || at[a] < r->low[a]) r->low[a] = at[a];
            if (r->voxels == 0 || at[a] > r->high[a]) r->high[a] = at[a];
            r->sum[a] += at[a];
        }
        r->voxels++;
        if (!in->image) continue;
        const stored s = stored_at(in->image, 0, i);
        if (!isfinite(s.number)) continue;
        const uint64_t level = fine_level(&levels, s);
        lob_region_values *v = &values[label - 1];
        if (v->data == 0 || s.number < v->lowest) v->lowest = s.number == 0 ? 0 : s.number;
        if (v->data == 0 || s.number > v->highest) v->highest = s.number == 0 ? 0 : s.number;
        v->data++;
        v->fine += level;
        v->square[0] += level * level % (UINT64_C(1) << 32);
        v->square[1] += level * level / (UINT64_C(1) << 32);
    }
}

const char *components_result_differs(const lob_components_output *a,
                                      const lob_components_output *b, int64_t voxels)
{
    if (a->found != b->found) return "the number of components found";
    if (a->count != b->count) return "the number of components left";
    if (a->foreground != b->foreground) return "the number of foreground voxels";
    if (a->not_finite != b->not_finite) return "the number of voxels that are not finite";
    if (a->type != b->type) return "the type of the labels";
    const size_t bytes = (size_t)voxels * lob_type_of(a->type)->bytes;
    if (bytes > 0 && memcmp(a->labels, b->labels, bytes) != 0) return "labels";
    if (!a->regions != !b->regions) return "whether there are regions";
    if (a->regions && memcmp(a->regions, b->regions, (size_t)a->count * sizeof *a->regions) != 0)
        return "regions";
    if (!a->member != !b->member) return "whether there are members";
    if (a->member && memcmp(a->member, b->member, (size_t)a->count * sizeof *a->member) != 0)
        return "members";
    if (!a->values != !b->values) return "whether there are values";
    if (a->values && memcmp(a->values, b->values, (size_t)a->count * sizeof *a->values) != 0)
        return "values of regions";
    if (a->fine.exact != b->fine.exact || a->fine.low_bits != b->fine.low_bits ||
        memcmp(&a->fine.low, &b->fine.low, sizeof a->fine.low) != 0 ||
        memcmp(&a->fine.per_unit, &b->fine.per_unit, sizeof a->fine.per_unit) != 0)
        return "fine levels";
    return NULL;
}
