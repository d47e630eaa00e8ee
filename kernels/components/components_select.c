/* Checks of components' options, and the selection of components by size. */
#include "kernels/components/components_select.h"

#include "kernels/arrays.h"
#include "kernels/regions/regions_sum.h"
#include "volumes/labels.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

lob_components_options lob_components_defaults(void)
{
    return (lob_components_options){
        .join = LOB_JOIN_ANY,
        .range = {-INFINITY, INFINITY},
        .neighbours = 26,
        .slice_axis = -1,
        .type = LOB_TYPES
    };
}

static lob_status check_image(const lob_components_input *in, const lob_components_options *options,
                              lob_error *error)
{
    const lob_volume *image = in->image, *other = in->intensities;
    if (lob_dims_voxels(image->dims) < 1 || image->dims.nx > INT32_MAX)
        return lob_fail(error, LOB_EDATA, "%lld x %lld x %lld voxels cannot be numbered",
                        (long long)image->dims.nx, (long long)image->dims.ny,
                        (long long)image->dims.nz);
    if (image->channels < 1 || image->channels > LOB_COMPONENTS_MAX_CHANNELS)
        return lob_fail(error, LOB_EDATA, "the image has %d channels; components take up to %d",
                        image->channels, LOB_COMPONENTS_MAX_CHANNELS);
    if (options->keep_values && image->channels != 1)
        return lob_fail(error, LOB_EARG,
                        "values can be kept only of images with one channel, not %d",
                        image->channels);
    if (!other) return LOB_OK;
    if (memcmp(&other->dims, &image->dims, sizeof other->dims) != 0)
        return lob_fail(error, LOB_EDATA, "image and intensities have different dimensions");
    if (other->channels != 1)
        return lob_fail(error, LOB_EDATA, "intensities must have one channel, not %d",
                        other->channels);
    return LOB_OK;
}

lob_status lob_components_check(const lob_components_input *in,
                                const lob_components_options *options, lob_error *error)
{
    const lob_components_options *o = options;
    const int n = o->neighbours;
    const bool flat = o->slice_axis >= 0;
    if (o->slice_axis < -1 || o->slice_axis > 2)
        return lob_fail(error, LOB_EARG, "slice axis %d: it must be 0, 1, 2 or -1", o->slice_axis);
    if (flat ? n != 4 && n != 8 : n != 6 && n != 18 && n != 26)
        return lob_fail(error, LOB_EARG, "%d neighbours: %s", n,
                        flat ? "slice by slice it is 4 or 8" : "in 3D it is 6, 18 or 26");
    if (o->join != LOB_JOIN_ANY && o->join != LOB_JOIN_EQUAL && o->join != LOB_JOIN_TOLERANCE)
        return lob_fail(error, LOB_EARG, "unknown rule of joining");
    if (o->join == LOB_JOIN_TOLERANCE && !(o->tolerance >= 0))
        return lob_fail(error, LOB_EARG, "the tolerance must be 0 or more");
    if (o->ranged && !(o->range[0] <= o->range[1]))
        return lob_fail(error, LOB_EARG, "the range's lower end must not exceed its upper end");
    if (o->min_voxels < 0 || o->max_voxels < 0 || o->largest < 0)
        return lob_fail(error, LOB_EARG, "sizes and numbers of components must be 0 or more");
    if (o->max_voxels > 0 && o->max_voxels < o->min_voxels)
        return lob_fail(error, LOB_EARG,
                        "the largest size allowed, %lld voxels, is below the smallest, %lld",
                        (long long)o->max_voxels, (long long)o->min_voxels);
    if (o->keep_values && o->join != LOB_JOIN_EQUAL)
        return lob_fail(error, LOB_EARG, "values can be kept only where equal ones are joined");
    if (o->type != LOB_U8 && o->type != LOB_I16 && o->type != LOB_I32 && o->type != LOB_TYPES)
        return lob_fail(error, LOB_EARG, "labels must be uint8, int16 or int32");
    const lob_status st = check_image(in, options, error);
    return st == LOB_OK && o->regions ? lob_regions_check_sides(in->image->dims, error) : st;
}

/*
 * The largest stored difference d with |slope| * d <= tolerance, by bisection over the bits of
 * doubles, whose order is that of non-negative doubles. Rounding is monotonic, in float32 too where
 * the image is compared in float32, so d <= limit is equivalent to |slope| * d <= tolerance.
 */
static double max_difference(const lob_volume *image, double tolerance)
{
    if (tolerance > DBL_MAX) return INFINITY;
    const double max = DBL_MAX, bound = lob_as_compared(tolerance, image);
    uint64_t low = 0, high; /* the bits of 0, which always fits */
    memcpy(&high, &max, sizeof high);
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        double d;
        memcpy(&d, &middle, sizeof d);
        if (lob_as_compared(fabs(image->slope) * d, image) <= bound)
            low = middle;
        else
            high = middle - 1;
    }
    double limit;
    memcpy(&limit, &low, sizeof limit);
    return limit;
}

lob_component_rule lob_component_rule_of(const lob_volume *image,
                                         const lob_components_options *options)
{
    return (lob_component_rule){
        .slope = image->slope,
        .inter = image->inter,
        .low = lob_as_compared(options->range[0], image),
        .high = lob_as_compared(options->range[1], image),
        .limit =
            options->join == LOB_JOIN_TOLERANCE ? max_difference(image, options->tolerance) : 0,
        .ranged = options->ranged,
        .scaled = image->slope != 1 || image->inter != 0,
    };
}

bool lob_components_selects(const lob_components_options *options)
{
    return options->min_voxels > 1 || options->max_voxels > 0 || options->largest > 0 ||
           options->order == LOB_ORDER_SIZE;
}

bool lob_components_lists_members(const lob_components_options *options)
{
    return options->regions && options->fill_holes;
}

/* Whether the components that pass min_voxels and max_voxels are ordered by size. */
static bool orders_by_size(const lob_components_options *options)
{
    return options->largest > 0 || options->order == LOB_ORDER_SIZE;
}

int64_t lob_components_select_bytes(int64_t found, const lob_components_options *options)
{
    return orders_by_size(options) ? found * (int64_t)sizeof(int64_t) : 0;
}

/* A binary heap of components: on top the largest, of equal ones the first. */
typedef struct {
    int64_t *item;
    int64_t count;
    const int64_t *voxels;
} heap;

static bool before(const heap *h, int64_t a, int64_t b)
{
    return h->voxels[a] != h->voxels[b] ? h->voxels[a] > h->voxels[b] : a < b;
}

static void sift_down(heap *h, int64_t at)
{
    const int64_t moved = h->item[at];
    for (;;) {
        int64_t child = 2 * at + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && before(h, h->item[child + 1], h->item[child])) child++;
        if (before(h, moved, h->item[child])) break;
        h->item[at] = h->item[child];
        at = child;
    }
    h->item[at] = moved;
}

/* Number the heap's components by size, at most `largest` of them; number is all 0 before. */
static int64_t number_by_size(int32_t *number, heap *h, int64_t largest)
{
    int64_t numbered = 0;
    for (int64_t i = h->count / 2 - 1; i >= 0; i--) sift_down(h, i);
    while (h->count > 0 && (largest == 0 || numbered < largest)) {
        number[h->item[0]] = (int32_t)++numbered;
        h->item[0] = h->item[--h->count];
        if (h->count > 0) sift_down(h, 0);
    }
    return numbered;
}

lob_status lob_components_select(int32_t *number, int64_t *selected, const int64_t *voxels,
                                 int64_t found, const lob_components_options *options,
                                 lob_error *error)
{
    heap passed = {.voxels = voxels};
    int64_t passing = 0;
    *selected = 0;
    for (int64_t i = 0; i < found; i++) {
        const bool passes =
            !voxels || (voxels[i] >= options->min_voxels &&
                        (options->max_voxels == 0 || voxels[i] <= options->max_voxels));
        number[i] = passes;
        passing += passes;
    }
    const int64_t remaining =
        options->largest > 0 && options->largest < passing ? options->largest : passing;
    if (remaining > INT32_MAX)
        return lob_fail(
            error, LOB_EDATA,
            "%lld components are more than int32 labels can number; select fewer by size",
            (long long)remaining);
    if (orders_by_size(options) && passing > 0) {
        passed.item = malloc((size_t)passing * sizeof *passed.item);
        if (!passed.item)
            return lob_fail(error, LOB_ENOMEM, "no memory to order %lld components by size",
                            (long long)passing);
        for (int64_t i = 0; i < found; i++) {
            if (number[i]) passed.item[passed.count++] = i;
            number[i] = 0;
        }
        *selected = number_by_size(number, &passed, options->largest);
        free(passed.item);
    }
    if (options->order == LOB_ORDER_SIZE) return LOB_OK;
    int64_t numbered = 0;
    for (int64_t i = 0; i < found; i++)
        if (number[i]) number[i] = (int32_t)++numbered;
    *selected = numbered;
    return LOB_OK;
}

lob_status lob_components_type(lob_type *type, int64_t largest,
                               const lob_components_options *options, lob_error *error)
{
    if (largest > INT32_MAX)
        return lob_fail(error, LOB_EDATA, "labels up to %lld are more than int32 holds",
                        (long long)largest);
    const lob_type narrowest = lob_label_type((int32_t)largest);
    *type = options->type == LOB_TYPES ? narrowest : options->type;
    const lob_type_info *info = lob_type_of(*type);
    if ((double)largest > info->highest)
        return lob_fail(error, LOB_EDATA,
                        "labels up to %lld do not fit %s, which holds up to %.0f; it takes %s",
                        (long long)largest, info->name, info->highest,
                        lob_type_of(narrowest)->name);
    return LOB_OK;
}

lob_status lob_component_label_of_value(int32_t *label, double value, lob_error *error)
{
    if (!(value >= 1 && value <= INT32_MAX && value == floor(value)))
        return lob_fail(error, LOB_EDATA,
                        "value %.17g cannot be kept as a label: labels are whole numbers from 1 to "
                        "%d",
                        value, INT32_MAX);
    *label = (int32_t)value;
    return LOB_OK;
}

double lob_component_value_at(const lob_volume *image, int64_t at)
{
    double stored;
    lob_values(&stored, image->data, image->type, at, 1);
    return lob_component_value(stored, image->slope, image->inter);
}

void lob_components_output_free(lob_components_output *out)
{
    lob_array_free(out->device, out->labels);
    free(out->regions);
    free(out->values);
    free(out->member);
    *out = (lob_components_output){0};
}
