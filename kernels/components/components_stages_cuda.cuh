/*
 * Connected components on a GPU: what a call is, and its stages in the order in which they run.
 * Reading about the GPU starts here; join/run_table.h is about the CPU. A voxel gets its label so:
 *
 *   components_cuda.cu             the call: arrays to the device and back; runs the stages
 *   components_select.c            host: checks options; which components stay, and their labels
 *   components_voxel.h             when a voxel is foreground, and how far two values are apart
 *   join/join_params_cuda.cuh      how a volume lies in memory: rows of bits, tiles, runs, pieces
 *   join/join_cuda.cu              plans tiles and memory; runs stages 2 to 4, which join
 *   bits/foreground_bits_cuda.cu   stage 1: a bit per voxel: foreground; calls one of the next two
 *   bits/bits_params_cuda.cuh      what kernels of bits are given, and how they compare values
 *   bits/neighbour_bits_cuda.cu    where values decide: a bit per voxel and direction: joined
 *   bits/face_bits_cuda.cu         the same for one channel and neighbours that share faces; also
 *                                  finds the foreground where that is "not 0" without a mask
 *   join/row_pairs_cuda.cuh        joined pairs of two rows of bits, and which need a union
 *   join/run_forest_cuda.cuh       union-find over the runs of a tile, in shared memory
 *   join/tile_join_cuda.cu         stage 2: from the bits of a tile to its pieces: local roots
 *   join/tile_join_faces_cuda.cu   the same where values decide and neighbours share faces
 *   join/border_join_cuda.cu       stage 3: union-find over pieces, across the borders of tiles
 *   join/seam_cuda.cu              of a slab: pieces of its faces, or pairs with the next rank
 *   join/number_cuda.cu            stage 4: from roots to component numbers in raster order
 *   label/paint_cuda.cu            stage 5: voxel -> run -> local root -> piece -> component, label
 *   label/holes_cuda.cu            components of the background fill holes: all stages once more
 *   ../regions/regions_cuda.cu     regions, from the labels that are written
 *   label/label_pieces_cuda.cuh    the stages for supervoxels: number the components of labels
 *
 * Union-find is that of Playne and Hawick (2018): parents only become smaller, by atomicMin, so
 * that the result does not depend on the order in which threads run.
 */
#ifndef LOB_COMPONENTS_STAGES_CUDA_CUH
#define LOB_COMPONENTS_STAGES_CUDA_CUH

#include "kernels/backend_cuda.h"
#include "kernels/components/components_select.h"
#include "kernels/components/join/join_params_cuda.cuh"
#include "kernels/components/join/slab_share.h"
#include "kernels/device/arena.cuh"
#include "kernels/share.h"

namespace lob::components
{

/* Device addresses of a call's arrays. */
typedef struct {
    const void *image;
    const uint8_t *mask;     /* NULL: none */
    const void *intensities; /* NULL: none */
    void *labels; /* of options->type; of int32 with LOB_TYPES or keep_values. They may be
                     image, where their types have the same size and intensities are
                     elsewhere */
} device_arrays;

/* One labelling: what it was given, and what its stages have made so far. */
typedef struct {
    lob_device *device;
    const lob_components_input *in;
    const lob_components_options *options;
    const device_arrays *arrays;
    const lob_context *context;
    lob_component_rule rule;
    int64_t component_bytes; /* of per_component, for each */
    uint32_t *spare;         /* device: may be overwritten between making bits and writing labels */
    int64_t spare_words;
    double reported; /* progress */

    lob_device_budget budget;

    join_params join;
    u64 *counts;       /* device: voxels of foreground, and not finite; room for one more */
    void *scan_memory; /* device: for cub::DeviceScan */
    size_t scan_bytes;
    void *per_component; /* device: arrays by component, for the stages after joining. Of pieces + 1
                            times component_bytes: components are not yet counted */
    int64_t found;       /* components */
} call;

/* ---- joining ---- */

/* Lay out tiles for a neighbourhood; nothing is allocated. by_value: joining depends on values. */
lob_status plan_join(call *c, lob_dims dims, int neighbours, int slice_axis, bool by_value,
                     lob_error *error);

/* Take the memory for bits and runs. */
lob_status allocate_join(call *c, lob_error *error);

/* Fill the bits of the image, and count its foreground. */
lob_status find_foreground(call *c, lob_error *error);

/* In place of that: foreground is what has no label. */
lob_status find_background(call *c, const void *labels, lob_type type, lob_error *error);

/* Join: afterwards parent holds the component's number of every piece. */
lob_status join_pieces(call *c, lob_error *error);

/* The number of components: where it lies on the device after join_pieces; and wait for it. */
const uint32_t *found_on_device(const join_params &p);
lob_status fetch_found(call *c, lob_error *error);

/* Of a slab, when it is joined: found's faces, or where each rank of a team has one slab on a GPU,
 * its pairs with the next one's. The last rank has none. */
lob_status fetch_faces(call *c, lob_slab_found *found, lob_error *error);
lob_status join_seam(call *c, lob_slab_found *found, lob_error *error);

/* Stages 2 to 4, by join_pieces: pieces in tiles (two forms); which pieces are one component;
 * component numbers. */
lob_status join_tiles(call *c, lob_error *error);
lob_status join_tiles_by_faces(call *c, lob_error *error);
lob_status join_borders(call *c, lob_error *error);
lob_status number_components(call *c, lob_error *error);

/* Bytes of scan_memory that number_components needs beside those of exclusive_sum. */
lob_status number_scan_bytes(const call *c, size_t *bytes, lob_error *error);

/* In place, in scan_memory; n includes an element for the sum. */
lob_status exclusive_sum(call *c, uint32_t *values, int64_t n, lob_error *error);

/* ---- after joining; arrays are in device memory ---- */

/* Voxels of each component, and the index of its first voxel: `found` of each. */
lob_status count_voxels(call *c, u64 *voxels, lob_error *error);
lob_status find_members(call *c, u64 *member, lob_error *error);

/*
 * Write labels.
 *
 *   label     in  found: of each component; NULL: its number
 *   existing  in  true: labels are there, and label 0 leaves them as they are. false: background
 *                 and components of label 0 become 0
 */
lob_status write_labels(call *c, void *labels, lob_type type, const uint32_t *label, bool existing,
                        lob_error *error);

/* Give holes in labels the label around them. Joins anew: what join holds is replaced. */
lob_status fill_holes(call *c, void *labels, lob_type type, lob_error *error);

/* ---- for all stages ---- */

/* Report the progress made; LOB_ECANCEL if the caller asks to stop. */
static inline lob_status report_progress(call *c, double done)
{
    const lob_context *context = c->context;
    if (done > c->reported) c->reported = done;
    return lob_report(context, c->reported);
}

} /* namespace lob::components */

#endif
