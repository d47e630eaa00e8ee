/* Random GrowCut inputs for a team of threads, on any backend. */
#ifndef LOB_GROWCUT_TEAM_H
#define LOB_GROWCUT_TEAM_H

#include "kernels/growcut/growcut_slabs.h"
#include "tests/reference/growcut_case.h"

enum { GROWCUT_TEAM_MOST = 17 };

/* A case that a team works on. What is wrong in a thread is kept for the test. */
typedef struct {
    const growcut_case *c;
    __typeof__(lob_growcut_slabs) *grow;
    uint64_t cuts; /* 0: planes are cut evenly; else a number that random cuts are drawn from */
    lob_context context[GROWCUT_TEAM_MOST]; /* of each rank */
    lob_growcut_output out;                 /* of the whole volume */
    lob_growcut_stats stats[GROWCUT_TEAM_MOST];
    lob_status status[GROWCUT_TEAM_MOST];
    int64_t sent[GROWCUT_TEAM_MOST]; /* bytes */
    lob_error error[GROWCUT_TEAM_MOST];
} growcut_team;

/* For lob_team_threads; user is a growcut_team. */
lob_team_work growcut_team_work;

#endif
