/* What a refining job has on a GPU, in ordinary memory. */
#include "kernels/refine/refine_measured.h"

#include "kernels/device/device_put.h"
#include "volumes/bytes.h"

static int64_t label_bytes(const lob_refine_job *j)
{
    return j->a.voxels * (int64_t)lob_type_of(j->a.type)->bytes;
}

/* Where the next array may begin. */
static int64_t padded(int64_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

lob_status lob_refine_measure(lob_refine_measured *m, lob_refine_job *j, bool with_image)
{
    const int64_t seed_bytes = j->a.voxels * (int64_t)lob_type_of(j->a.seeds_type)->bytes;
    const int64_t image_bytes = with_image ? lob_volume_bytes(&j->image) : 0;
    const int64_t seeds_at = padded(label_bytes(j)), image_at = seeds_at + padded(seed_bytes);
    *m = (lob_refine_measured){.dims = j->image.dims,
                               .spacing = j->image.geometry.spacing_mm,
                               .labels = j->a.labels,
                               .seeds = j->a.seeds,
                               .type = j->a.type,
                               .seed_type = j->a.seeds_type,
                               .image = j->image};
    if (!j->device) return LOB_OK;
    LOB_TRY(lob_budget_alloc(&j->budget, &m->copies, image_at + image_bytes, 1, j->error));
    m->bytes = image_at + image_bytes;
    m->labels = m->copies;
    m->seeds = m->copies + seeds_at;
    m->image.data = m->copies + image_at;
    LOB_TRY(lob_device_download(j->device, m->copies + seeds_at, j->a.seeds, seed_bytes, j->error));
    if (!with_image) return LOB_OK;
    return lob_device_download(j->device, m->image.data, j->image.data, image_bytes, j->error);
}

void lob_refine_measured_free(lob_refine_measured *m, lob_refine_job *j)
{
    lob_budget_free(&j->budget, m->copies, m->bytes, 1);
    m->copies = NULL;
}

lob_status lob_refine_take_labels(const lob_refine_measured *m, lob_refine_job *j)
{
    if (!j->device) return LOB_OK;
    return lob_device_download(j->device, m->labels, j->a.labels, label_bytes(j), j->error);
}

lob_status lob_refine_give_labels(const lob_refine_measured *m, lob_refine_job *j)
{
    if (!j->device) return LOB_OK;
    return lob_device_upload(j->device, j->a.labels, m->labels, label_bytes(j), j->error);
}
