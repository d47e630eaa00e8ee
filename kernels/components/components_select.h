/* Host code of both backends: check the options, select components, give them labels. */
#ifndef LOB_COMPONENTS_SELECT_H
#define LOB_COMPONENTS_SELECT_H

#include "kernels/components/components.h"
#include "kernels/components/components_voxel.h"

LOB_BEGIN_DECLS

/* Check input and options. Returns LOB_OK, LOB_EARG or LOB_EDATA. */
lob_status lob_components_check(const lob_components_input *in,
                                const lob_components_options *options, lob_error *error);

/* The rule for an image's stored values. */
lob_component_rule lob_component_rule_of(const lob_volume *image,
                                         const lob_components_options *options);

/* Whether sizes decide which components remain or how they are numbered. */
bool lob_components_selects(const lob_components_options *options);

/* The neighbours by which holes are connected, beside those of components: by faces, or by all. */
static inline int lob_components_around(int neighbours)
{
    return neighbours == 4 ? 8 : neighbours == 8 ? 4 : neighbours == 6 ? 26 : 6;
}

/* Whether the output has the array member. */
bool lob_components_lists_members(const lob_components_options *options);

/* Bytes that lob_components_select allocates for found components, beyond its arguments. */
int64_t lob_components_select_bytes(int64_t found, const lob_components_options *options);

/*
 * Select components by size and number them.
 *
 *   number    out  found: the new number, from 1, of each component in raster order; 0: removed
 *   selected  out  how many remain
 *   voxels    in   found: the size of each; NULL where !lob_components_selects(options)
 *
 * Takes O(found) steps, and O(log found) more for each selected one where components are ordered by
 * size. Returns LOB_OK, LOB_EDATA (more are selected than an int32 counts) or LOB_ENOMEM.
 */
lob_status lob_components_select(int32_t *number, int64_t *selected, const int64_t *voxels,
                                 int64_t found, const lob_components_options *options,
                                 lob_error *error);

/*
 * The type of labels up to largest: options->type, or the smallest that holds it. Returns LOB_OK or
 * LOB_EDATA (none holds it, or options->type does not).
 */
lob_status lob_components_type(lob_type *type, int64_t largest,
                               const lob_components_options *options, lob_error *error);

/*
 * keep_values: the label of a component with this value. Returns LOB_OK or LOB_EDATA (the value is
 * not a whole number in 1..INT32_MAX).
 */
lob_status lob_component_label_of_value(int32_t *label, double value, lob_error *error);

/* The value of voxel `at` of an image of one channel. */
double lob_component_value_at(const lob_volume *image, int64_t at);

LOB_END_DECLS

#endif
