/*
 * Connected components of a flat image by label propagation with far links and root gathering: the
 * baseline that components are timed against.
 *
 * "Connected components revisited on Kepler", GPU Technology Conference 2013, session 3193: every
 * pixel starts with a label of its own and the larger label wins. Tiles of 32x32 threads gather
 * labels along rows and columns from the farthest pixel that a chain of joined neighbours reaches
 * (by shuffles), from direct neighbours, and from the pixel that a label came from. Tiles overlap
 * by one row and column and are run in four colours, again and again until no label changes. The
 * slides have 4 neighbours; with 8 the diagonal neighbours are gathered from directly.
 */
#ifndef LOB_FAR_LINKS_CUDA_H
#define LOB_FAR_LINKS_CUDA_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two neighbours are joined when the sum over channels of |difference| is at most the threshold. */
typedef struct {
    const uint8_t *pixels; /* device; channels planes of nx*ny */
    int nx, ny, channels;
    int threshold;
    int neighbours; /* 4 or 8 */
} far_links_image;

/*
 * Label an image.
 *
 *   labels   out   device, nx*ny: 1 + the largest index of a pixel of the component
 *   links    work  device, nx*ny
 *   changed  work  device, one
 *   passes   out   over the whole image, the last of which changed nothing
 *
 * What is queued has ended when this returns.
 */
cudaError_t far_links_label(uint32_t *labels, uint8_t *links, uint32_t *changed, int *passes,
                            const far_links_image *image, cudaStream_t queue);

#ifdef __cplusplus
}
#endif

#endif
