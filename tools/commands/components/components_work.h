/* What `lobule components` shares between a whole volume and some planes at a time. */
#ifndef LOB_COMPONENTS_WORK_H
#define LOB_COMPONENTS_WORK_H

#include "tools/inout/slabs.h"

typedef struct {
    const char *labels_path, *intensities_path, *table, *name, *columns;
    int neighbours, slices, order, label_of, type, largest;
    double above, range[2], tolerance;
    bool equal, fill_holes;
    lob_size min_size, max_size;

    lob_volume image;           /* data is NULL where planes are read one after another */
    const lob_volume *measured; /* the table's intensities; NULL: none */
    lob_components_options options;
    lob_components_output result;
    int32_t *kept;  /* their labels, with --label-of input */
    double *values; /* of the components, channel by channel; NULL unless the table wants them */

    lob_volume labels;      /* in memory, as are */
    lob_volume intensities; /* these, empty where there are none, or they are the image's, */
    uint8_t *mask;          /* and this; NULL: everything may be labelled */

    lob_session *s;      /* by planes, */
    lob_slabs slabs;     /* image and mask as asked for; its labels are the intensities, */
    lob_slab slab;       /* at hand, */
    lob_volume beside;   /* with its intensities: */
    bool own;            /* the image's values; */
    bool stopped;        /* by an error of a file, not of the kernel */
    int64_t value_bytes; /* that values have taken */
} lob_components_work;

/* The kernel's options; sizes in mm3 follow the image's geometry. Returns LOB_OK, LOB_EARG or
 * LOB_EDATA. */
lob_status lob_components_work_options(lob_session *s, lob_components_work *w);

/* Allocate the components' values, if the table of --equal wants them. Returns LOB_OK or
 * LOB_ENOMEM.
 */
lob_status lob_components_work_make_values(lob_session *s, lob_components_work *w);

/* Read those of components whose first voxel that no filled hole contributed lies in the planes
 * from z on. */
void lob_components_work_take_values(lob_components_work *w, const lob_volume *planes, int64_t z);

/* Bytes per label at most: the number of labels is not known before. */
int64_t lob_components_label_bytes(const lob_components_work *w);

/* Bytes that inputs, labels and working memory take; -1: more than fits in 64 bits. A header that
 * cannot be read is reported by the reader. */
int64_t lob_components_bytes_needed(const lob_session *s, const lob_components_work *w);

/* Count the result's arrays, which the kernel allocated, as held by the session. */
void lob_components_work_hold(lob_session *s, const lob_components_work *w);

/* Fill in the report; note what the user should know. */
void lob_components_work_report(lob_session *s, const lob_components_work *w);

/* Write the table, if one was asked for. */
lob_status lob_components_work_table(lob_session *s, lob_components_work *w);

/*
 * The whole command, a few planes at a time.
 *
 *   memory  in  bytes that it may take
 *
 * Labels and table are those of the volume in one piece.
 */
lob_status lob_components_by_planes(lob_session *s, lob_components_work *w, int64_t memory);

#endif
