/*
 * The self-test of lobule doctor: each slot of a backend on a small phantom, against known results.
 * Registration and fusion, which are no slots, whole jobs and the slabs of ranks have no case.
 */
#ifndef LOB_DOCTOR_CASES_H
#define LOB_DOCTOR_CASES_H

#include "kernels/backends.h"
#include "kernels/phantom/phantom.h"

enum { LOB_DOCTOR_NX = 37, LOB_DOCTOR_NY = 29, LOB_DOCTOR_NZ = 17 };

/* The small abdomen that all cases work on. */
typedef struct {
    lob_volume image, truth, seeds;
    const lob_backend *backend;
    const lob_context *context;
    int way; /* of the case at hand: a rule or a method */
} lob_doctor_patient;

/* Run one algorithm, in the patient's way, and mix its results into the hash. */
typedef lob_status lob_doctor_run(uint64_t *hash, const lob_doctor_patient *p, lob_error *error);

typedef struct {
    const char *name;
    lob_doctor_run *run;
    int way;       /* a rule or a method; 0 where there is one */
    uint64_t hash; /* of the results, on every machine and backend */
} lob_doctor_case;

/* All cases; the last one's name is NULL. */
extern const lob_doctor_case lob_doctor_cases[];

/* Run a case, whose way the patient gets; *found is its hash, 0 where it failed. */
lob_status lob_doctor_try(uint64_t *found, const lob_doctor_case *one, lob_doctor_patient *p,
                          lob_error *error);

#endif
