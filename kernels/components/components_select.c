/* Checking components' options, choosing which components are kept, and numbering these. */
#include "kernels/components/components_select.h"

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
        return lob_fail(error, LOB_EARG, "values can be kept of one channel, not of %d",
                        image->channels);
    if (!other) return LOB_OK;
    if (memcmp(&other->dims, &image->dims, sizeof other->dims) != 0)
        return lob_fail(error, LOB_EDATA, "image and intensities have different sides");
    if (other->channels != 1)
        return lob_fail(error, LOB_EDATA, "intensities have one channel, not %d", other->channels);
    return LOB_OK;
}

lob_status lob_components_check(const lob_components_input *in,
                                const lob_components_options *options, lob_error *error)
{
    const lob_components_options *o = options;
    const int n = o->neighbours;
    const bool flat = o->slice_axis >= 0;
    if (o->slice_axis < -1 || o->slice_axis > 2)
        return lob_fail(error, LOB_EARG, "slice axis %d: it is 0, 1, 2 or -1", o->slice_axis);
    if (flat ? n != 4 && n != 8 : n != 6 && n != 18 && n != 26)
        return lob_fail(error, LOB_EARG, "%d neighbours: %s", n,
                        flat ? "slice by slice it is 4 or 8" : "in 3D it is 6, 18 or 26");
    if (o->join != LOB_JOIN_ANY && o->join != LOB_JOIN_EQUAL && o->join != LOB_JOIN_TOLERANCE)
        return lob_fail(error, LOB_EARG, "no such criterion of joining");
    if (o->join == LOB_JOIN_TOLERANCE && !(o->tolerance >= 0))
        return lob_fail(error, LOB_EARG, "the tolerance must be a number from 0");
    if (o->ranged && !(o->range[0] <= o->range[1]))
        return lob_fail(error, LOB_EARG, "the range's lower end must not exceed its upper end");
    if (o->min_voxels < 0 || o->max_voxels < 0 || o->largest < 0)
        return lob_fail(error, LOB_EARG, "sizes and numbers of components count from 0");
    if (o->max_voxels > 0 && o->max_voxels < o->min_voxels)
        return lob_fail(error, LOB_EARG,
                        "the largest size allowed, %lld voxels, is below the smallest, %lld",
                        (long long)o->max_voxels, (long long)o->min_voxels);
    if (o->keep_values && o->join != LOB_JOIN_EQUAL)
        return lob_fail(error, LOB_EARG, "values can be kept only where equal ones are joined");
    if (o->type != LOB_U8 && o->type != LOB_I16 && o->type != LOB_I32 && o->type != LOB_TYPES)
        return lob_fail(error, LOB_EARG, "labels are uint8, int16 or int32");
    const lob_status st = check_image(in, options, error);
    return st == LOB_OK && o->regions ? lob_regions_check_sides(in->image->dims, error) : st;
}

/*
 * The largest d with |slope| * d <= tolerance, by bisection over the bits of doubles, which rise
 * with their value from 0 up. Rounding keeps a product's order, and that to float32 where both are
 * so compared, so that d <= limit says the same as |slope| * d <= tolerance.
 */
static double largest_apart(const lob_volume *image, double tolerance)
{
    if (tolerance > DBL_MAX) return INFINITY;
    const double most = DBL_MAX, bound = lob_as_compared(tolerance, image);
    uint64_t low = 0, high; /* the bits of 0 always do */
    memcpy(&high, &most, sizeof high);
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
        .limit = options->join == LOB_JOIN_TOLERANCE ? largest_apart(image, options->tolerance) : 0,
        .ranged = options->ranged,
        .scaled = image->slope != 1 || image->inter != 0,
    };
}

bool lob_components_selects(const lob_components_options *options)
{
    return options->min_voxels > 1 || options->max_voxels > 0 || options->largest > 0 ||
           options->order == LOB_ORDER_SIZE;
}

bool lob_components_tells_members(const lob_components_options *options)
{
    return options->regions && options->fill_holes;
}

/* Whether the components that pass must be put in order of their sizes. */
static bool ranks(const lob_components_options *options)
{
    return options->largest > 0 || options->order == LOB_ORDER_SIZE;
}

int64_t lob_components_select_bytes(int64_t found, const lob_components_options *options)
{
    return ranks(options) ? found * (int64_t)sizeof(int64_t) : 0;
}

/* A heap of components with the largest, of equal ones the first, on top. */
typedef struct {
    int64_t *item;
    int64_t count;
    const int64_t *voxels;
} heap;

static bool before(const heap *h, int64_t a, int64_t b)
{
    return h->voxels[a] != h->voxels[b] ? h->voxels[a] > h->voxels[b] : a < b;
}

static void sink(heap *h, int64_t place)
{
    const int64_t moved = h->item[place];
    for (;;) {
        int64_t child = 2 * place + 1;
        if (child >= h->count) break;
        if (child + 1 < h->count && before(h, h->item[child + 1], h->item[child])) child++;
        if (before(h, moved, h->item[child])) break;
        h->item[place] = h->item[child];
        place = child;
    }
    h->item[place] = moved;
}

/* Number what passed by size and take out all but the largest; number[] is 0 before. */
static int64_t rank_largest(int32_t *number, heap *h, int64_t largest)
{
    int64_t ranked = 0;
    for (int64_t i = h->count / 2 - 1; i >= 0; i--) sink(h, i);
    while (h->count > 0 && (largest == 0 || ranked < largest)) {
        number[h->item[0]] = (int32_t)++ranked;
        h->item[0] = h->item[--h->count];
        if (h->count > 0) sink(h, 0);
    }
    return ranked;
}

lob_status lob_components_select(int32_t *number, int64_t *kept, const int64_t *voxels,
                                 int64_t found, const lob_components_options *options,
                                 lob_error *error)
{
    heap passed = {.voxels = voxels};
    int64_t passing = 0;
    *kept = 0;
    for (int64_t i = 0; i < found; i++) {
        const bool passes = voxels[i] >= options->min_voxels &&
                            (options->max_voxels == 0 || voxels[i] <= options->max_voxels);
        number[i] = passes;
        passing += passes;
    }
    const int64_t left =
        options->largest > 0 && options->largest < passing ? options->largest : passing;
    if (left > INT32_MAX)
        return lob_fail(error, LOB_EDATA,
                        "%lld components are more than int32 labels count; ask for fewer, by size",
                        (long long)left);
    if (ranks(options) && passing > 0) {
        passed.item = malloc((size_t)passing * sizeof *passed.item);
        if (!passed.item)
            return lob_fail(error, LOB_ENOMEM, "no memory to put %lld components in order",
                            (long long)passing);
        for (int64_t i = 0; i < found; i++) {
            if (number[i]) passed.item[passed.count++] = i;
            number[i] = 0;
        }
        *kept = rank_largest(number, &passed, options->largest);
        free(passed.item);
    }
    if (options->order == LOB_ORDER_SIZE) return LOB_OK;
    *kept = 0;
    for (int64_t i = 0; i < found; i++)
        if (number[i]) number[i] = (int32_t)++ * kept;
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

lob_status lob_component_kept_value(int32_t *label, const lob_volume *image, int64_t at,
                                    lob_error *error)
{
    double stored;
    lob_values(&stored, image->data, image->type, at, 1);
    return lob_component_label_of_value(
        label, lob_component_value(stored, image->slope, image->inter), error);
}

void lob_components_output_free(lob_components_output *result)
{
    free(result->labels);
    free(result->regions);
    free(result->values);
    free(result->member);
    *result = (lob_components_output){0};
}
