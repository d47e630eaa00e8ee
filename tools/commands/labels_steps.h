/* The steps of lobule labels: from what was typed to what the kernels run, and what they did. */
#ifndef LOB_LABELS_STEPS_H
#define LOB_LABELS_STEPS_H

#include "kernels/labels/label_steps.h"
#include "tools/session/session.h"

/* Steps as they were typed. */
typedef struct {
    lob_labels_step step[LOB_STEPS];
    lob_labels_rule *rules[LOB_STEPS]; /* of step[i].rules; owned */
    const char *name[LOB_STEPS];       /* of the option */
    const char *table[LOB_STEPS];      /* of --map: the file; NULL: none */
    lob_size extent[LOB_STEPS];        /* of --min-size */
    int count;
} lob_typed_labels;

void lob_typed_labels_free(lob_typed_labels *typed);

/*
 * Take the typed values apart; files of --map are not read yet.
 *
 * Returns LOB_OK, LOB_EARG or LOB_ENOMEM; lob_typed_labels_free in any case.
 */
lob_status lob_labels_steps_parse(lob_session *s, lob_typed_labels *typed, const lob_steps *steps);

/* Read the tables of --map. Returns LOB_OK, LOB_EDATA, LOB_ENOINPUT, LOB_EIO or LOB_ENOMEM. */
lob_status lob_labels_steps_read(lob_session *s, lob_typed_labels *typed);

/* Turn sizes of pieces into voxels. */
void lob_labels_steps_fit(lob_typed_labels *typed, const lob_geometry *geometry);

/* Describe the steps and what they did, for the report. */
cJSON *lob_labels_steps_report(const lob_typed_labels *typed, const lob_labels_output *out);

#endif
