/*
 * GrowCut on a GPU: how a voxel gets its label. Reading starts here; then, in this order:
 *
 *   growcut_cuda.cu         a call: arrays are sent, sections' levels are scanned, results fetched
 *   growcut_rule.h          what a step costs, from a section's levels and the options
 *   section_batch_cuda.cuh  (this file) the sections that are grown together
 *   grow_batch_cuda.cuh     an attempt with one width of key: fill, grow, write; again for ties
 *   grow_params_cuda.cuh    keys, tiles, positions, and what the kernels are given
 *   grow_state_cuda.cuh     the host's side: working memory, the sections' rules, launches
 *   fill_tiles_cuda.cuh     voxels become cells with levels and a first key; hard seeds offer
 *   grow_tiles_cuda.cuh     which tiles are visited when, until no key falls
 *   visit_tile_cuda.cuh     a warp visits a tile: its cells make offers, in shared memory
 *   grow_rounds_cuda.cuh    in place of these two: rounds of the automaton, for options->rounds
 *   grow_seams_cuda.cuh     of a volume in slabs: keys go to the ranks beside this one
 *   write_results_cuda.cuh  keys become labels, ties and strengths; were 32 bits enough?
 *
 * A section is the volume, or one slice. A call has batches of sections; a batch, one or two
 * attempts (keys of 32 bits, then of 64); an attempt, one or two passes (labels, ties); a pass,
 * sweeps over the tiles; a sweep, visits; a visit, turns of 32 cells.
 *
 * A cell's key holds the cost of the cheapest path found so far and that path's label. It begins as
 * "unreached", above every cost allowed, or for a soft seed with the seed's cost and label.
 * Whenever a key falls, the cell offers its neighbours the path through it, and they keep the
 * smaller of key and offer. When no offer lowers a key, every reached cell's key holds its label.
 * Hard seeds (of strength 1) have key 0: they make their offers first, and their label comes from
 * the seed array. What is not data has key 0 too, and no label.
 *
 * That is a label-correcting shortest-path search, ordered as in Meyer and Sanders,
 * "Delta-stepping: a parallelizable shortest path algorithm" (J. Algorithms 49, 2003): of the cells
 * that wait to make offers, those within the cost window do, which is that paper's current bucket.
 * The window reaches from the lowest waiting key to that plus a width. Keys only fall, so the order
 * decides the time and not the result.
 */
#ifndef LOB_SECTION_BATCH_CUDA_CUH
#define LOB_SECTION_BATCH_CUDA_CUH

#include "kernels/device/grid.cuh"
#include "kernels/growcut/growcut_rule.h"
#include "kernels/growcut/growcut_slabs.h"
#include "kernels/levels/levels_cuda.cuh"

namespace lob::growcut
{

/* Device addresses of a call's arrays. */
typedef struct {
    const void *image;
    const void *seeds;
    const float *seed_strength; /* NULL: none */
    const uint8_t *mask;        /* NULL: none */
    void *labels;
    float *strength; /* NULL: not wanted */
    uint8_t *tie;    /* NULL: not wanted */
} device_arrays;

/* Sections that are grown together. */
typedef struct {
    lob_device *device;
    lob_device_budget *budget;
    const lob_growcut_input *in;
    const lob_growcut_options *options;
    const device_arrays *arrays;
    const lob_growcut_slab *slab; /* of all sections, across the view's z, or, if flat, its y; NULL:
                                     they have no seams */
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
    lob_growcut_stats stats; /* without those of levels and costs */
    uint64_t *largest;       /* of each section: the largest cost, in units */
    bool overflow;           /* a path's cost did not fit the key */
} batch_result;

/* Bytes of working memory with keys of type K, without the rules' tables. */
template <typename K> int64_t batch_bytes(const section_batch *batch);

/* Grow with keys of type K, uint32_t or u64, and write what the call asks for. */
template <typename K>
lob_status grow_batch(const section_batch *batch, batch_result *result, lob_error *error);

} /* namespace lob::growcut */

#endif
