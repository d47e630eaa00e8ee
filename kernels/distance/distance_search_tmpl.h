/*
 * Least costs along a line, for one type of costs: the searches that both backends run.
 *
 * Included with COST (a signed type in which all costs and products of a plan are exact), MOST
 * (above all of them) and NAMED(name). A line has n voxels i with costs; the least over v of
 * cost[v] + weight * (i - v)^2 is wanted for every i. Both sides of a comparison hold weight * i^2,
 * so what is compared is
 *
 *     cost[v] + weight * v^2 - (2 * weight * i) * v
 *
 * whose first two terms are the line's `values`. Where it is least never moves back as i grows: so
 * the search for an i between two others is limited to what lies from the first v that is best for
 * the one before to the last v that is best for the one after.
 * When distances to other labels are wanted, a voxel of another label than i's has cost 0. What is
 * best for i lies in its run of equal labels or is a voxel next to it. These two may lie on the
 * other side of what is best for a neighbouring run, by one voxel: there the limits are widened.
 */

/* A line of columns that lie side by side: voxel v of this one is at v * apart. */
typedef struct {
    const COST *values;     /* cost + weight * v^2; with LOB_FIND_OTHER cost alone */
    const COST *voxels;     /* which v they are of, where voxels without a cost are left out */
    const uint32_t *labels; /* of the nearest voxel; with LOB_FIND_OTHER of the voxel itself */
    int32_t apart;
    COST weight;
} NAMED(line);

/* What is best for a voxel: COUNT voxels are searched for at a time. */
typedef struct {
    COST value[LOB_SEARCH_MOST];
    uint32_t label[LOB_SEARCH_MOST];
    int32_t first[LOB_SEARCH_MOST], last[LOB_SEARCH_MOST]; /* voxels with that value */
} NAMED(found);

LOB_BOTH void NAMED(look)(NAMED(found) * best, int k, COST value, uint32_t label, int32_t v,
                          lob_distance_find find)
{
    if (value < best->value[k]) {
        best->value[k] = value;
        best->first[k] = v;
        best->last[k] = v;
        if (find == LOB_FIND_LABEL) best->label[k] = label;
    } else if (find != LOB_FIND_COST && value == best->value[k]) {
        best->last[k] = v;
        if (find == LOB_FIND_LABEL && label < best->label[k]) best->label[k] = label;
    }
}

/*
 * The best of voxels lo..hi for voxels i, i + step, ...: count of them, which are in the line. With
 * `listed` lo, hi and what is found count the line's list of voxels.
 */
LOB_BOTH void NAMED(search)(NAMED(found) * best, const NAMED(line) * line, int32_t i, int32_t step,
                            const int count, int32_t lo, int32_t hi, const lob_distance_find find,
                            const bool listed)
{
    COST slope[LOB_SEARCH_MOST];
    uint32_t own[LOB_SEARCH_MOST];
    LOB_UNROLL
    for (int k = 0; k < count; k++) {
        const int32_t at = i + k * step;
        slope[k] = -2 * line->weight * (COST)at;
        own[k] = find == LOB_FIND_OTHER ? line->labels[(int64_t)at * line->apart] : 0;
        best->value[k] = MOST;
        best->label[k] = 0;
        best->first[k] = best->last[k] = lo;
    }
    for (int32_t v = lo; v <= hi; v++) {
        const int64_t here = (int64_t)v * line->apart;
        const COST value = line->values[here];
        const uint32_t label = find != LOB_FIND_COST ? line->labels[here] : 0;
        const COST place = listed ? line->voxels[here] : (COST)v;
        const COST across = find == LOB_FIND_OTHER ? line->weight * place * place : 0;
        LOB_UNROLL
        for (int k = 0; k < count; k++) {
            COST sum = value + slope[k] * place;
            if (find == LOB_FIND_OTHER)
                sum = (label == own[k] ? value : 0) + across + slope[k] * place;
            NAMED(look)(best, k, sum, label, v, find);
        }
    }
}

/* Widen the limits of a search where runs of labels matter; n: voxels of the line. */
LOB_BOTH void NAMED(widen)(int32_t *lo, int32_t *hi, int32_t n, const lob_distance_find find)
{
    if (find != LOB_FIND_OTHER) return;
    *lo -= *lo > 0;
    *hi += *hi < n - 1;
}
