/* Labels of a volume that ranks share. */
#ifndef LOB_SLAB_LABELS_H
#define LOB_SLAB_LABELS_H

#include "tools/inout/slabs.h"

/*
 * A volume of one channel over a copy of voxels, without header and names.
 *
 *   like  in  as they are stored
 *   dims  in  of the copy
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_slab_copy(lob_session *s, lob_volume *out, const lob_volume *like,
                         const void *voxels, lob_dims dims, const char *path);

/*
 * Renumber a slab's labels to those of all ranks, 1..count in the order of the labels, in
 * lob_label_type(count). All ranks call it alike.
 *
 *   labels  in/out  as for lob_labels_dense
 *   all     out     the labels of all ranks; their voxels are not counted
 *
 * Returns what lob_labels_dense does, and what the team does.
 */
lob_status lob_slab_labels(lob_session *s, lob_volume *labels, lob_label_set *all,
                           const char *path);

#endif
