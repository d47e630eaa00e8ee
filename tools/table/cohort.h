/* What is far from the others in a table of the regions of many scans. */
#ifndef LOB_COHORT_H
#define LOB_COHORT_H

#include "tools/table/status_table.h"

/*
 * What the scans of a batch have in common: the volume of each labelled structure, how doubtful
 * labels are, and which scans lie far from the others.
 *
 * Far is what lies more than LOB_COHORT_FAR robust standard deviations from the median (Iglewicz
 * and Hoaglin, "How to detect and handle outliers", 1993): 1.4826 times the median of the absolute
 * deviations from the median. Volumes and shares spread by factors, so that all this is said of
 * their logarithms. A volume that is far differs from the median by the factor LOB_COHORT_FACTOR at
 * least, too: where scans are much alike, little is many deviations. With fewer scans than
 * LOB_COHORT_LEAST nothing is far.
 */
#define LOB_COHORT_FAR    3.5
#define LOB_COHORT_FACTOR 1.25

enum { LOB_COHORT_LEAST = 5, LOB_COHORT_STRUCTURES = 256 };

/* Median and robust standard deviation of logarithms. */
typedef struct {
    double median; /* of the values themselves; NaN without any */
    double spread; /* at least a floor that its user gives */
    int64_t count; /* of values */
} lob_spread;

/*
 *   values  in/out  sorted; those that are not above 0, or not finite, count in nothing
 *   floor   in      > 0: scans that are as good as equal do not make others far
 */
lob_spread lob_spread_of(double *values, int64_t count, double floor);

/* How many robust standard deviations a value lies above the median, below 0 under it; 0 where
 * there are too few values to say, or it is not above 0. */
double lob_spread_distance(const lob_spread *spread, double value);

/* A label of the region tables. */
typedef struct {
    char *table, *label, *name; /* the role of the table; the name that most scans give it, the
                                 * first of several such; "": none does */
    char **called;              /* by row: its name there; NULL: it has none */
    const char *unit;           /* "ml", "um3" or "voxels" */
    double *value;              /* by row of the status table; NaN: the scan does not have it */
    double *doubt;              /* by row: what a table's column doubt says; NaN: it says nothing */
    lob_spread spread;
    bool is_common; /* at least half of the scans that are done have it */
} lob_structure;

typedef struct {
    int64_t rows; /* of the status table */
    int64_t done; /* of them */
    lob_structure *structures;
    int count;     /* at most LOB_COHORT_STRUCTURES; */
    bool has_more; /* there are others */
    double *doubt; /* by row: of its most doubtful label; NaN: not known */
    lob_spread doubt_spread;
    double *sorted; /* of a row each, for spreads */
} lob_cohort;

/*
 * Read the region table of a batch, where there is one; or the bytes of one (NULL: there is none),
 * whose name is for messages.
 *
 *   out  out  overwritten, so it must hold nothing; empty on failure
 *
 * Returns LOB_OK, LOB_EDATA (it is no table of regions), LOB_EIO or LOB_ENOMEM.
 */
lob_status lob_cohort_read(lob_cohort *out, const lob_batch_table *table, const char *path,
                           lob_error *error);
lob_status lob_cohort_parse(lob_cohort *out, const lob_batch_table *table, const char *bytes,
                            size_t size, const char *name, lob_error *error);

/* Once its user has added what else is known of doubt: how that spreads. */
void lob_cohort_spread_doubt(lob_cohort *cohort);
void lob_cohort_free(lob_cohort *cohort);

/* The factor by which a volume may differ from the median, either way, without being far. */
double lob_cohort_reach(const lob_spread *spread);

/* Is the structure's volume in this row far from the others? */
bool lob_cohort_is_far(const lob_structure *structure, int64_t row);

/* Has a scan that is done no such label, where at least four fifths of the others have it? */
bool lob_cohort_is_missing(const lob_cohort *cohort, const lob_structure *structure,
                           const lob_batch_row *row, int64_t number);

/* The label's name in this row, where that is another than its usual one, whatever the capitals;
 * else NULL. */
const char *lob_cohort_other_name(const lob_structure *structure, int64_t row);

/* The structure that a row's tables doubt most; -1: they have no doubts. */
int lob_cohort_most_doubtful(const lob_cohort *cohort, int64_t row);

/* Is more in doubt than in the other scans? */
bool lob_cohort_is_doubtful(const lob_cohort *cohort, int64_t row);

#endif
