/*
 * Contacts and boundaries of labels that the ranks of a team share, each with a slab of their
 * planes (lob_team_planes), at least one: those of the whole volume. All ranks call these alike;
 * where one fails, see kernels/team/team.h.
 */
#ifndef LOB_CONTACTS_SLABS_H
#define LOB_CONTACTS_SLABS_H

#include "kernels/regions/contacts.h"
#include "kernels/team/team.h"

LOB_BEGIN_DECLS

/*
 * lob_contacts of all slabs.
 *
 *   contacts, count  out  as there in rank 0; NULL and 0 in the others
 *   grid             in   of the slab; count and type are those of all
 *   means            in   of all labels, in rank 0; the others' are not read
 *
 * Returns what lob_contacts and lob_team_send do.
 */
lob_status lob_contacts_slabs(lob_contact **contacts, int64_t *count, const lob_label_grid *grid,
                              const lob_geometry *geometry, const double *means, int channels,
                              int slice_axis, lob_team *team, const lob_context *context,
                              lob_error *error);

enum { LOB_BOUNDARY_BLOCK = 1024 };

/* lob_paint_boundaries of n <= LOB_BOUNDARY_BLOCK voxels of a row, from its x-th on; marks: n. */
void lob_paint_boundary(uint8_t *marks, const lob_label_grid *grid, int slice_axis, int64_t row,
                        int64_t x, int64_t n);

/* lob_paint_boundaries of a slab of the whole. Returns LOB_OK, LOB_ENOMEM or what lob_team_send
 * does. */
lob_status lob_paint_boundaries_slabs(uint8_t *marks, const lob_label_grid *grid, int slice_axis,
                                      lob_team *team, int threads, lob_error *error);

/* Give the plane before this rank's first and the one behind its last, where there are such: two
 * planes, malloc'ed, also on failure. Returns LOB_OK, LOB_ENOMEM or what lob_team_send does. */
lob_status lob_planes_beside(char **beside, const lob_label_grid *grid, lob_team *team,
                             lob_error *error);

/* Sort contacts, and join those of the same two labels. Returns how many there are. */
int64_t lob_contacts_merge(lob_contact *list, int64_t n);

/* Work out areas and differences from faces and means, as lob_contacts has them. */
void lob_contacts_measure(lob_contact *list, int64_t n, const lob_geometry *geometry,
                          const double *means, int channels);

LOB_END_DECLS

#endif
