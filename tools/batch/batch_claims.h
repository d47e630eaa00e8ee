/* Which scan of a batch writes a file, and which read it. */
#ifndef LOB_BATCH_CLAIMS_H
#define LOB_BATCH_CLAIMS_H

#include "tools/batch/batch_plan.h"
#include "tools/recipe/recipe_job.h"

/* A file by its real path: links and ".." are resolved, so that it has one name. */
struct lob_claim {
    char *path;
    const char *writer;     /* the scan that may write it; NULL: none has asked */
    const char *readers[2]; /* two scans that read it; NULL: there are fewer */
};

/* All zeros at first. */
typedef struct {
    void *tree; /* of tsearch, of struct lob_claim */
    bool knows_readers;
} lob_claims;

void lob_claims_free(lob_claims *claims);

/*
 * Claim an output for a scan.
 *
 *   path  in  of a file, or of a volume: then both files of a pair, the file of FILE.h5:/set
 *   scan  in  its name, which must outlive the claims
 *
 * Returns LOB_OK, LOB_EARG (another scan writes it, or reads it) or LOB_ENOMEM.
 */
lob_status lob_claims_output(lob_claims *claims, const char *path, const char *scan,
                             lob_error *error);

/*
 * Note what all scans of a plan read; the first call does, and others do nothing.
 *
 *   job  in  of any scan, whose options have been checked: words of the recipe that name inputs in
 *            it do so in all scans
 *
 * Returns LOB_OK or LOB_ENOMEM.
 */
lob_status lob_claims_readers(lob_claims *claims, const lob_batch_plan *plan,
                              const lob_recipe_job *job, lob_error *error);

#endif
