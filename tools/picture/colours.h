/* Colours of labels that neighbours do not share. */
#ifndef LOB_COLOURS_H
#define LOB_COLOURS_H

#include "tools/picture/canvas.h"
#include "volumes/labels.h"

/* Of more labels than this, neighbours are not looked for. */
enum { LOB_COLOURS_APART = 2048 };

/* The colour that a label's row gives it, or lob_label_default_colour. */
lob_colour lob_label_colour(const lob_label_names *names, int32_t label);

/*
 * Choose the colour of each label: lob_label_colour, or, where the file gives none and a label that
 * it touches looks like it, the colour of the palette that is farthest from those of its
 * neighbours. Labels choose in the order of their numbers.
 *
 *   colour  out  by dense label, set->count + 1 of them
 *   labels  in   dense
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_colours_choose(lob_colour *colour, const lob_volume *labels,
                              const lob_label_set *set, const lob_label_names *names);

#endif
