/* Scans in the place of labels. */
#include "volumes/label_check.h"

#include <stdlib.h>

/*
 * A scan in the place of labels has hundreds of them, and of neighbours that both carry one, few
 * carry the same: at most a quarter in twenty scans (CT, MR, microscopy), nine tenths or more in as
 * many label volumes, eroded ones and hundreds of cells among them.
 */
enum { LABELS_OF_A_SCAN = 100 };
static const double alike_in_labels = 0.5;

/* Whole truths, eroded by a single voxel, leave three times this share of the voxels unknown. */
static const double least_unknown = 1e-4;

typedef lob_label_neighbours neighbours;

static void count_pairs(neighbours *n, const double *a, const double *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        n->pairs += a[i] != 0 && b[i] != 0;
        n->alike += a[i] != 0 && a[i] == b[i];
    }
}

/* The neighbours along x, y and z; rows is room for two of the volume's. */
static neighbours neighbours_of(const lob_volume *v, double *rows)
{
    const lob_dims d = v->dims;
    double *const row = rows, *const next = rows + d.nx;
    neighbours n = {0, 0, 0};
    for (int64_t at = 0; at < d.ny * d.nz; at++) {
        lob_values(row, v->data, v->type, at * d.nx, d.nx);
        for (int64_t i = 0; i < d.nx; i++) n.labelled += row[i] != 0;
        count_pairs(&n, row, row + 1, d.nx - 1);
        if ((at + 1) % d.ny != 0) {
            lob_values(next, v->data, v->type, (at + 1) * d.nx, d.nx);
            count_pairs(&n, row, next, d.nx);
        }
        if (at + d.ny < d.ny * d.nz) {
            lob_values(next, v->data, v->type, (at + d.ny) * d.nx, d.nx);
            count_pairs(&n, row, next, d.nx);
        }
    }
    return n;
}

static lob_status look(neighbours *n, const lob_volume *v)
{
    double *const rows = malloc(2 * (size_t)v->dims.nx * sizeof *rows);
    if (!rows) return LOB_ENOMEM;
    *n = neighbours_of(v, rows);
    free(rows);
    return LOB_OK;
}

static bool vary_so(const neighbours *n, int32_t count)
{
    return count >= LABELS_OF_A_SCAN && 2 * n->pairs >= n->labelled &&
           (double)n->alike < alike_in_labels * (double)n->pairs;
}

lob_status lob_labels_vary(bool *vary, const lob_volume *labels, int32_t count)
{
    neighbours n = {0, 0, 0};
    if (count >= LABELS_OF_A_SCAN && look(&n, labels) != LOB_OK) return LOB_ENOMEM;
    *vary = vary_so(&n, count);
    return LOB_OK;
}

lob_status lob_labels_look(neighbours *n, const lob_volume *labels, const lob_label_set *set)
{
    *n = (neighbours){0, 0, 0};
    if (!set) return look(n, labels);
    if (set->count >= LABELS_OF_A_SCAN && look(n, labels) != LOB_OK) return LOB_ENOMEM;
    n->labelled = 0;
    for (int32_t i = 0; i < set->count; i++) n->labelled += set->voxels[i];
    return LOB_OK;
}

static lob_status no_memory(lob_error *error)
{
    return lob_fail(error, LOB_ENOMEM, "out of memory");
}

lob_status lob_seeds_judge(const neighbours *n, int64_t voxels, int32_t count, lob_error *error)
{
    if (vary_so(n, count))
        return lob_fail_hint(error, LOB_EDATA, LOB_HINT_TRUST_SEEDS,
                             "has %d labels that change from voxel to voxel, as in a scan: are "
                             "image and seeds swapped? The image comes first",
                             count);
    if ((double)(voxels - n->labelled) < least_unknown * (double)voxels)
        return lob_fail_hint(error, LOB_EDATA, LOB_HINT_TRUST_SEEDS,
                             "covers %lld of %lld voxels, so nothing is left to grow: are "
                             "image and seeds swapped? 0 is unknown",
                             (long long)n->labelled, (long long)voxels);
    return LOB_OK;
}

lob_status lob_seeds_check(const lob_volume *seeds, const lob_label_set *set, lob_error *error)
{
    neighbours n;
    if (lob_labels_look(&n, seeds, set) != LOB_OK) return no_memory(error);
    return lob_seeds_judge(&n, lob_voxels(seeds), set->count, error);
}

lob_status lob_labels_judge(const neighbours *labels, const neighbours *image, int32_t count,
                            lob_error *error)
{
    if (!vary_so(labels, count) || image->pairs == 0 ||
        (double)image->alike < alike_in_labels * (double)image->pairs)
        return LOB_OK;
    return lob_fail(error, LOB_EDATA,
                    "has %d labels that change from voxel to voxel, as in a scan, and the image "
                    "looks like labels: are they swapped? The image comes first",
                    count);
}

lob_status lob_labels_check(const lob_volume *labels, const lob_label_set *set,
                            const lob_volume *image, lob_error *error)
{
    neighbours n, of_image = {0, 0, 0};
    if (lob_labels_look(&n, labels, set) != LOB_OK) return no_memory(error);
    if (vary_so(&n, set->count) && look(&of_image, image) != LOB_OK) return no_memory(error);
    return lob_labels_judge(&n, &of_image, set->count, error);
}
