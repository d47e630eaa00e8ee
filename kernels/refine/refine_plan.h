/*
 * What both backends share on the host: checked options, the order of the steps, the Gaussians they
 * ask for, and how far the image counts around labels. This header is not installed.
 */
#ifndef LOB_REFINE_PLAN_H
#define LOB_REFINE_PLAN_H

#include "kernels/components/components.h"
#include "kernels/refine/refine.h"
#include "volumes/crop.h"

LOB_BEGIN_DECLS

/* Returns LOB_OK or LOB_EARG. */
lob_status lob_refine_check(const lob_refine_input *in, const lob_refine_options *options,
                            lob_error *error);

/* A Gaussian of sigma mm along the axes with more than one voxel, edges repeated. */
lob_filter_step lob_refine_gaussian_step(const lob_volume *image, double sigma_mm);
lob_filter_options lob_refine_gaussian_options(void);

/* What joins pieces: equal labels, or where there is one beside the background any. */
lob_components_options lob_refine_pieces_options(const lob_refine_input *in);

/* What joins a label's holes with what is around: all that is not the label. */
lob_components_options lob_refine_holes_options(void);

/*
 * Widen the box of all labels but the background as far as refining may change the volume, or look
 * at it. No label grows out of its box: beyond a flat border its share is below 1/2. A share above
 * the least that lets the image vote is found within LOB_REFINE_REACH - 4 sigma of the box, and the
 * mean there takes 4 sigma more. Beyond, all is background, as a repeated edge has it.
 *
 * Returns false where the box is the whole volume.
 */
enum { LOB_REFINE_REACH = 7 };
bool lob_refine_widen(lob_box *box, const lob_volume *image, const lob_refine_options *options);

LOB_END_DECLS

#endif
