/* Slabs of median and box: what a step writes of some planes must be what it writes of them in the
 * whole volume. */
#ifndef LOB_NEIGHBOURHOOD_SLABS_H
#define LOB_NEIGHBOURHOOD_SLABS_H

#include "tests/unit/cmocka_test.h"

#include "tests/reference/neighbourhood_case.h"
#include "tests/reference/random.h"

typedef lob_status step_function(const lob_filter_image *out, const lob_filter_image *in,
                                 const lob_filter_call *call, const lob_context *context,
                                 lob_budget *budget, lob_error *error);

/* A caller who cancels. */
static inline int stop_at_once(void *user, double done)
{
    return 1;
}

/* The case's out holds the whole volume's result. */
static inline void compare_slab(const neighbourhood_case *c, step_function *step, int64_t reach,
                                uint64_t *random)
{
    const lob_dims d = c->in.dims;
    const int64_t from = random_below(random, d.nz);
    const int64_t to = from + 1 + random_below(random, d.nz - from);
    const size_t voxel = lob_type_of(c->out.type)->bytes, plane = (size_t)(d.nx * d.ny) * voxel;
    neighbourhood_case slab;
    int64_t skip;
    lob_budget budget = {.who = "a step"};
    if (c->options.edge == LOB_EDGE_WRAP) return; /* the chain gives these the other end too */
    neighbourhood_case_slab(&slab, c, from, to, reach, &skip);
    assert_ok(step(&slab.out, &slab.in, &slab.call, THREADS(2), &budget, NULL));
    for (int k = 0; k < c->in.channels; k++) {
        const char *const got =
            (const char *)slab.out.data + (size_t)(k * slab.in.dims.nz + skip) * plane;
        const char *const want = (const char *)c->out.data + (size_t)(k * d.nz + from) * plane;
        if (memcmp(got, want, (size_t)(to - from) * plane) != 0)
            fail_msg("%s: planes %lld to %lld as a slab differ", c->shape, (long long)from,
                     (long long)to - 1);
    }
    neighbourhood_case_free(&slab);
}

#endif
