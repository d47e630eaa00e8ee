/*
 * GrowCut on a GPU: how a voxel gets its label. Reading starts here; then, in this order:
 *
 *   growcut_cuda.cu         a call: which sections (the volume, or slices) are grown together, and
 *                           the levels and the rule of each
 *   section_batch_cuda.cuh  what is grown together (this file)
 *   grow_batch_cuda.cuh     fill, grow, write, and once more for the tie zone
 *   grow_params_cuda.cuh    keys, tiles, sections, and what the kernels are given
 *   grow_state_cuda.cuh     the host's side: working memory, the sections' rules, launches
 *   fill_tiles_cuda.cuh     voxels become cells with a level and a first key; seeds make offers
 *   visit_tile_cuda.cuh     a warp grows one tile in shared memory
 *   grow_tiles_cuda.cuh     which tiles are visited when, until nothing changes
 *   grow_rounds_cuda.cuh    in place of these two: rounds of the automaton, for options->rounds
 *   write_results_cuda.cuh  keys become labels, ties and strengths; was 32 bits enough?
 *
 * A cell's key holds the cost of the cheapest path found so far and that path's label. Whenever a
 * key falls, the cell offers its neighbours the path through it, and they keep the smaller of key
 * and offer. When no offer lowers a key, every cell holds its voxel's label. That is a
 * label-correcting shortest-path search, ordered as in Meyer and Sanders, "Delta-stepping: a
 * parallelizable shortest path algorithm" (J. Algorithms 49, 2003): of the cells that wait to make
 * offers, those within the cost window do, which is that paper's current bucket. Keys only fall, so
 * the order decides the time and not the result.
 */
#ifndef LOB_SECTION_BATCH_CUDA_CUH
#define LOB_SECTION_BATCH_CUDA_CUH

#include "kernels/device/grid.cuh"
#include "kernels/growcut/gpu/growcut_tuning.h"
#include "kernels/growcut/growcut_rule.h"
#include "kernels/levels/levels_cuda.cuh"

namespace lob::growcut
{

/* Sections that are grown together. The device is budget->device. */
typedef struct {
    lob_device *device;
    lob_device_budget *budget;
    const lob_growcut_input *in;
    const lob_growcut_options *options;
    const lob_growcut_arrays *arrays;
    const lob_growcut_tuning *tuning;
    const lob_context *context;
    lob_device_image image;
    lob_device_view view;
    int64_t sections;
    const lob_levels *levels;     /* of each section */
    const lob_growcut_rule *rule; /* of each section */
    int64_t data_voxels;
    double progress_from, progress_share; /* of the whole call */
} section_batch;

typedef struct {
    lob_growcut_stats stats;    /* without those of levels and costs */
    uint64_t *largest;          /* of each section: the largest cost, in units */
    bool overflow;              /* a path's cost did not fit the key */
    lob_growcut_counts *counts; /* in/out */
} batch_result;

/* Bytes of working memory with keys of type K, without the rules' tables. */
template <typename K> int64_t batch_bytes(const section_batch *batch);

/* Grow with keys of type K, uint32_t or u64, and write what the call asks for. */
template <typename K>
lob_status grow_batch(const section_batch *batch, batch_result *result, lob_error *error);

} /* namespace lob::growcut */

#endif
