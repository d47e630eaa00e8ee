/*
 * What `lobule cells` chooses for an image, and the recipe that says so: plain lines of commands,
 * which a person can print, keep and change.
 */
#ifndef LOB_CELLS_PLAN_H
#define LOB_CELLS_PLAN_H

#include "tools/session/session.h"

/* Choices that may be held fixed. Lengths are in sizes: diameters of a usual cell. */
typedef struct {
    lob_size size; /* mm; infinite: estimated */
    bool walls;    /* cells are dark between bright walls; else they are bright bodies */
    double smooth; /* standard deviation of the image's Gaussian */
    double around; /* bodies: radius of the surroundings that a voxel is compared with */
    double bright; /* bodies: how much brighter than these, as a share of Otsu's threshold */
    double apart;  /* bodies: distance of seeds */
    double seeds;  /* walls: least depth of a seed, as a share of the contrast */
    double wall;   /* share of a full wall, or of a body's depth, that parts two pieces */
    double least;  /* smallest cell that is kept, as a share of a ball of this size, or a disc */
} lob_cells_choices;

lob_cells_choices lob_cells_bodies(void);
lob_cells_choices lob_cells_walls(void);

typedef struct {
    lob_cells_choices choices;
    int frame, channel; /* of the image; < 0: not given */
    bool table;         /* there is a {table} to write */
    int dimensions;     /* of the image: axes with several voxels */
    double across_mm;   /* product of the spacings along the other axes; of none 1 */
    double size_mm;     /* given or estimated */
    bool estimated;
    double threshold; /* bodies: of the difference to the surroundings; walls: of the image */
    double brightest; /* bodies: what is brighter counts as this bright; infinite: all as it is */
    double contrast;  /* walls: between what is above the threshold and what is below */
    double level;     /* walls: mean of what is above the threshold */
} lob_cells_plan;

/*
 * Choose what depends on the image.
 *
 *   plan   in/out  choices, frame, channel and table are set; the rest is filled in
 *   image  in      one channel, with data
 *   path   in      its name, for messages
 *
 * Returns LOB_OK, LOB_EARG (a size that does not fit the voxels), LOB_EDATA (an image without
 * contrast), LOB_ENOMEM or LOB_ECANCEL.
 */
lob_status lob_cells_choose(lob_session *s, lob_cells_plan *plan, const lob_volume *image,
                            const char *path);

/* The plan among the results of the report. */
void lob_cells_report(lob_session *s, const lob_cells_plan *plan);

/* The recipe: lines with {image}, {out} and, where a table is wanted, {table}. Its cells are
 * @cells. Returns a text for free(), or NULL without memory. */
char *lob_cells_recipe(const lob_cells_plan *plan);

#endif
