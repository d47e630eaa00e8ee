/* What of components both backends decide on the host: checks, which are kept, their numbers. */
#ifndef LOB_COMPONENTS_SELECT_H
#define LOB_COMPONENTS_SELECT_H

#include "kernels/components/components.h"
#include "kernels/components/components_voxel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Check input and options. Returns LOB_OK, LOB_EARG or LOB_EDATA. */
lob_status lob_components_check(const lob_components_input *in,
                                const lob_components_options *options, lob_error *error);

/* The rule for an image's stored values. */
lob_component_rule lob_component_rule_of(const lob_volume *image,
                                         const lob_components_options *options);

/* Whether any is taken out or numbers depend on sizes; otherwise components keep their numbers. */
bool lob_components_selects(const lob_components_options *options);

/* Whether the result has a member of each component. */
bool lob_components_tells_members(const lob_components_options *options);

/* Bytes that lob_components_select allocates for so many components, beyond number. */
int64_t lob_components_select_bytes(int64_t found, const lob_components_options *options);

/*
 * Decide which components are kept and how they are numbered.
 *
 *   number  out  found: of the component that a raster scan meets i-th, its new number from 1;
 *                0: taken out
 *   kept    out  how many are kept
 *   voxels  in   found: the size of each
 *
 * Linear in found, and log(found) for each one kept where only the largest are or size is the
 * order. Returns LOB_OK, LOB_EDATA (more are kept than an int32 counts) or LOB_ENOMEM.
 */
lob_status lob_components_select(int32_t *number, int64_t *kept, const int64_t *voxels,
                                 int64_t found, const lob_components_options *options,
                                 lob_error *error);

/*
 * The type for labels of which this is the largest: options->type, or the first that holds it.
 * Returns LOB_OK or LOB_EDATA (none does, or options->type does not).
 */
lob_status lob_components_type(lob_type *type, int64_t largest,
                               const lob_components_options *options, lob_error *error);

/*
 * keep_values: the label of a component with this value. Returns LOB_OK or LOB_EDATA (the value is
 * not a whole number in 1..INT32_MAX).
 */
lob_status lob_component_label_of_value(int32_t *label, double value, lob_error *error);

/* The same, of the component that holds voxel `at` of an image of one channel. */
lob_status lob_component_kept_value(int32_t *label, const lob_volume *image, int64_t at,
                                    lob_error *error);

#ifdef __cplusplus
}
#endif

#endif
