/* Contacts and boundaries over the seams between ranks. */
#include "kernels/regions/contacts_slabs.h"

#include "kernels/budget.h"
#include "volumes/free.h"
#include "volumes/labels.h"

#include <stdlib.h>
#include <string.h>

static int64_t plane_bytes(const lob_label_grid *grid)
{
    return grid->dims.nx * grid->dims.ny * (int64_t)lob_type_of(grid->type)->bytes;
}

lob_status lob_planes_beside(char **beside, const lob_label_grid *grid, lob_team *team,
                             lob_error *error)
{
    const int64_t bytes = plane_bytes(grid);
    const char *const last = (const char *)grid->labels + (grid->dims.nz - 1) * bytes;
    *beside = malloc((size_t)(2 * bytes));
    if (!*beside) return lob_fail(error, LOB_ENOMEM, "no memory for labels beside a slab");
    return lob_team_beside(team, (lob_letter){0, grid->labels, bytes, *beside, bytes, NULL},
                           (lob_letter){0, last, bytes, *beside + bytes, bytes, NULL}, error);
}

/* ---- boundaries ---- */

/* Mark voxels of the plane from voxel `first` on that differ from those of a plane beside it. */
static void mark_across(uint8_t *marks, const lob_label_grid *grid, int64_t first,
                        const void *beside)
{
    for (int64_t i = 0; i < grid->dims.nx * grid->dims.ny; i++) {
        const int32_t label = lob_label_at(grid->labels, grid->type, first + i);
        if (label && lob_label_at(beside, grid->type, i) != label) marks[first + i] = 1;
    }
}

lob_status lob_paint_boundaries_slabs(uint8_t *marks, const lob_label_grid *grid, int slice_axis,
                                      lob_team *team, int threads, lob_error *error)
{
    const int64_t plane = grid->dims.nx * grid->dims.ny;
    const int me = lob_team_rank(team);
    char *beside = NULL;
    lob_paint_boundaries(marks, grid, slice_axis, threads);
    if (slice_axis == 2) return LOB_OK;
    const lob_status st = lob_planes_beside(&beside, grid, team, error);
    if (st == LOB_OK && me > 0) mark_across(marks, grid, 0, beside);
    if (st == LOB_OK && me + 1 < lob_team_size(team))
        mark_across(marks, grid, (grid->dims.nz - 1) * plane, beside + plane_bytes(grid));
    free(beside);
    return st;
}

/* ---- contacts ---- */

/* Add those over the seam behind this rank to its list. */
static lob_status add_seam(lob_contact **list, int64_t *n, const lob_label_grid *grid,
                           const lob_geometry *geometry, lob_team *team, const lob_context *context,
                           lob_error *error)
{
    const int64_t bytes = plane_bytes(grid);
    lob_contact *found = NULL;
    int64_t count = 0;
    char *seam = NULL;
    lob_status st = lob_planes_beside(&seam, grid, team, error);
    if (st == LOB_OK && lob_team_rank(team) + 1 < lob_team_size(team)) {
        /* Two planes as two rows: of their faces, those between the rows are left. */
        lob_label_grid two = *grid;
        two.dims = (lob_dims){grid->dims.nx * grid->dims.ny, 1, 2};
        two.labels =
            memcpy(seam, (const char *)grid->labels + (grid->dims.nz - 1) * bytes, (size_t)bytes);
        st = lob_contacts(&found, &count, &two, geometry, NULL, 0, 0, context, error);
    }
    if (st == LOB_OK && count > 0) {
        lob_contact *const longer = realloc(*list, (size_t)(*n + count) * sizeof *longer);
        if (longer) {
            memcpy(longer + *n, found, (size_t)count * sizeof *longer);
            *list = longer;
            *n += count;
        } else {
            st = lob_fail(error, LOB_ENOMEM, "no memory for contacts over a seam");
        }
    }
    LOB_FREE(found, seam);
    return st;
}

lob_status lob_contacts_slabs(lob_contact **contacts, int64_t *count, const lob_label_grid *grid,
                              const lob_geometry *geometry, const double *means, int channels,
                              int slice_axis, lob_team *team, const lob_context *context,
                              lob_error *error)
{
    lob_budget budget = {.who = "contacts", .limit = context->max_memory};
    const int64_t each = sizeof **contacts;
    lob_contact *list = NULL;
    int64_t n = 0, bytes = 0;
    void *all = NULL;
    *contacts = NULL;
    *count = 0;
    lob_status st = lob_contacts(&list, &n, grid, geometry, NULL, 0, slice_axis, context, error);
    if (st == LOB_OK && slice_axis != 2)
        st = add_seam(&list, &n, grid, geometry, team, context, error);
    if (st == LOB_OK) st = lob_team_collect(team, &all, &bytes, list, n * each, error);
    free(list);
    if (!all) return st;
    st = lob_budget_hold(&budget, 2 * bytes, error); /* qsort may allocate a copy */
    if (st != LOB_OK || bytes == 0) {
        free(all);
        return st;
    }
    *contacts = all;
    *count = lob_contacts_merge(all, bytes / each);
    lob_contacts_measure(all, *count, geometry, means, channels);
    return LOB_OK;
}
