/* Volumes on an image's grid: masks, channels, and the axis of its slices. */
#ifndef LOB_GRID_H
#define LOB_GRID_H

#include "tools/inout/volumes.h"
#include "tools/options/image_rows.h"
#include "volumes/crop.h"
#include "volumes/labels.h"

/* The voxel axis across the slices of --slices; -1 in 3D (slices < 0). */
int lob_grid_slice_axis(int slices, const lob_geometry *geometry);

/*
 * Check --neighbours against --slices; if left out (< 0) it becomes 26, with slices 8.
 * Returns LOB_OK or LOB_EARG.
 */
lob_status lob_grid_neighbours(lob_session *s, int *neighbours, int slices);

/*
 * Does a volume lie as an image does? One whose file says nothing of where it lies, as many
 * pictures and stacks of labels do not, is taken to, if it has as many voxels along each axis and
 * the image lies in no patient.
 */
bool lob_grid_alike(const lob_volume *volume, const lob_volume *image);

/*
 * Give a volume that is alike the image's grid; a note tells where that is another. Returns LOB_OK,
 * or what lob_same_grid does.
 */
lob_status lob_grid_adopt(lob_session *s, lob_volume *volume, const char *path,
                          const lob_volume *image, const char *image_path);

/* May a volume cover a part of the image? Then it is filled up with 0. */
typedef enum {
    LOB_PART_NONE,
    LOB_PART_SEEN,  /* labels outside of the image are left out, and a note says so; */
    LOB_PART_INSIDE /* refused */
} lob_grid_part;

/*
 * Bring a volume, the input that was read last, onto the image's grid: one whose axes are exchanged
 * or flipped is reoriented, and the report says so. What would have to be interpolated is refused.
 *
 *   volume  in/out  reoriented or placed, it has no header
 *   part    in      whether it may be such as a cropped segmentation of 3D Slicer. The report has
 *                   the image's voxel where it begins as "placed_at"
 *
 * Returns LOB_OK, what lob_same_grid does, LOB_EDATA (labels outside) or LOB_ENOMEM.
 */
lob_status lob_grid_match(lob_session *s, lob_volume *volume, const char *path,
                          const lob_volume *image, const char *image_path, lob_grid_part part);

/*
 * The same with LOB_PART_SEEN, but that labels of a part of the image are not laid onto it.
 *
 *   volume  in/out  reoriented, it has no header
 *   first   out     the image's voxel where the volume begins
 */
lob_status lob_grid_find(lob_session *s, lob_volume *volume, int64_t first[3], const char *path,
                         const lob_volume *image, const char *image_path);

/* Does a volume cover a part of the image, on its grid or after a turn? */
bool lob_grid_is_part(const lob_volume *volume, const lob_volume *image);

/*
 * Read a volume that must lie on the image's grid and have one channel; where the row of the input
 * says LOB_FILE_LABELS, it may cover a part of it. Returns what lob_session_read and lob_grid_match
 * do; on failure out is empty.
 */
lob_status lob_grid_read(lob_session *s, lob_volume *out, const char *path, const lob_volume *image,
                         const char *image_path);

/* lob_grid_read of labels with LOB_PART_INSIDE, and lob_grid_narrow. */
lob_status lob_grid_read_labels(lob_session *s, lob_volume *out, const char *path,
                                const lob_volume *image, const char *image_path);

/* Lay a volume, whose first voxel is there on the grid of another, on all of that, filled up with
 * 0. Returns LOB_OK or LOB_ENOMEM. */
lob_status lob_grid_place(lob_session *s, lob_volume *volume, const int64_t first[3],
                          const char *path, const lob_volume *image);

/* What of a volume's box lies in a grid, in which the volume begins at `first`, as a box of that;
 * sizes of 0: nothing. */
lob_box lob_grid_seen(lob_dims dims, const lob_box *box, const int64_t first[3]);

/* The smallest box around the outer faces of a grid's voxels, along the world's axes in mm, or,
 * onto another geometry, in voxels of that; NULL: none. */
void lob_grid_box(double low[3], double high[3], const lob_geometry *geometry, lob_dims dims,
                  const lob_geometry *onto);

/* LOB_OK if a volume has one channel, else LOB_EDATA. */
lob_status lob_grid_one_channel(lob_session *s, const lob_volume *volume, const char *path);

/* lob_labels_dense of an input, whose memory is given back where labels take fewer bytes. */
lob_status lob_grid_dense(lob_session *s, lob_volume *labels, lob_label_set *set, const char *path);

/* Check that a volume holds labels, and store them in a type of lob_label_type. */
lob_status lob_grid_narrow(lob_session *s, lob_volume *labels, const char *path);

/* Take memory for a volume that will be written to path, and make it: lob_volume_like. Returns
 * LOB_OK or LOB_ENOMEM. */
lob_status lob_grid_make(lob_session *s, lob_volume *out, const lob_volume *like, lob_type type,
                         int channels, const char *path);

/* The volume without scaling, of one frame and this type; what it points to is the other's. */
lob_volume lob_grid_header(const lob_volume *like, lob_type type);

/* Free a volume that has been read, and give its memory back. */
void lob_grid_drop(lob_session *s, lob_volume *volume);

/* Mask bytes of n voxels: 1 where the volume's value is neither 0 nor NaN. Returns how many are 1.
 */
int64_t lob_grid_mask_bytes(uint8_t *mask, const lob_volume *volume, int64_t n);

/*
 * Read a mask on the image's grid.
 *
 *   mask  out  nx*ny*nz, malloc'ed; untouched when path is NULL
 *
 * Returns LOB_OK, what lob_grid_read does, LOB_EDATA (an empty mask) or LOB_ENOMEM.
 */
lob_status lob_grid_mask(lob_session *s, uint8_t **mask, const char *path, const lob_volume *image,
                         const char *image_path);

/*
 * Prepare a mask for its file: in a PNG 1 becomes 255, since viewers
 * show 1 as black.
 *
 *   mask  in/out  uint8, of 0 and 1
 */
void lob_grid_show_mask(lob_volume *mask, const char *path);

/* The message for a mask without a voxel inside. Returns LOB_EDATA. */
lob_status lob_grid_empty_mask(lob_session *s, const char *path);

/*
 * lob_session_read of a frame of one of several volumes: where a file holds a single frame, that is
 * read, whichever is asked for. frame < 0: none is.
 */
lob_status lob_grid_read_frame(lob_session *s, lob_volume *out, const char *path, int frame);

/* Is there such a channel, from 0? -1 stands for all. Returns LOB_OK or LOB_EDATA. */
lob_status lob_grid_has_channel(lob_session *s, const lob_volume *volume, int channel,
                                const char *path);

/*
 * Keep one channel, in all frames, of a volume that has several, from 0; one with one is left alone
 * for channel < 0 or 0. Returns LOB_OK, or LOB_EDATA when there is no such channel.
 */
lob_status lob_grid_channel(lob_session *s, lob_volume *volume, int channel, const char *path);

/* The same for commands that need one channel: LOB_EDATA, too, where there are several and channel
 * is < 0. */
lob_status lob_grid_choose_channel(lob_session *s, lob_volume *volume, int channel,
                                   const char *path);

/* Has a volume, of which --channel may have been taken, one channel? Else LOB_EDATA. */
lob_status lob_grid_is_chosen(lob_session *s, const lob_volume *volume, const char *path);

/* Voxel sizes and the place of an image that the caller states, in place of those of its file: many
 * pictures and arrays say nothing of them. */
typedef struct {
    double spacing[3], origin[3]; /* mm along x, y, z; NaN: not stated */
} lob_stated_grid;

#define LOB_NOT_STATED                                          \
    {                                                           \
        .spacing = {NAN, NAN, NAN}, .origin = { NAN, NAN, NAN } \
    }

#define OPT_SPACING(pointer)                                                                \
    OPT_TRIPLE("spacing", pointer, 0, 1e6,                                                  \
               "voxel sizes in mm, in place of those that the file gives; axes keep their " \
               "directions",                                                                \
               .above_low = true)
#define OPT_ORIGIN(pointer)                  \
    OPT_TRIPLE("origin", pointer, -1e9, 1e9, \
               "where the first voxel's middle lies in mm (RAS), in place of what the file gives")

bool lob_grid_is_stated(const lob_stated_grid *stated);

/* Give a volume what is stated. Its header, which says something else, goes. */
void lob_grid_state(lob_volume *volume, const lob_stated_grid *stated);

#endif
