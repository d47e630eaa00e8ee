/* How the lines of each axis are summed, for both backends. */
#include "kernels/filters/box/box_voxel.h"

int64_t lob_box_reach(const lob_filter_step *step, const lob_filter_options *options, int axis)
{
    const int64_t radius = (int64_t)step->along[axis];
    (void)options;
    return radius <= LOB_BOX_DIRECT ? radius : radius + lob_box_block(radius) - 1;
}

void lob_box_passes(lob_box_pass passes[3], const lob_filter_image *in, const lob_filter_call *call,
                    lob_box_what what)
{
    const lob_filter_map identity = {1.0f, 0.0f, -INFINITY, INFINITY, true};
    const bool constant = call->options->edge == LOB_EDGE_CONSTANT;
    int last = -1;
    float outside = !constant                 ? 0.0f
                    : what == LOB_BOX_WEIGHTS ? 1.0f
                                              : (float)call->options->edge_value;
    for (int a = 0; a < 3; a++) {
        const int64_t radius = (int64_t)call->step->along[a], places = 2 * radius + 1;
        lob_box_pass *const p = &passes[a];
        *p = (lob_box_pass){.n = lob_side(in->dims, a)};
        p->radius = radius;
        p->origin = call->origin[a];
        p->block = lob_box_block(radius);
        while (INT64_C(1) << p->shift < p->block) p->shift++;
        p->anew = radius <= LOB_BOX_DIRECT;
        p->edge = call->options->edge;
        p->clips = what == LOB_BOX_MEANS && p->edge == LOB_EDGE_RENORMALISE;
        p->factor = 1.0 / (double)(what == LOB_BOX_MEANS ? places : p->block);
        p->outside = outside;
        p->after = identity;
        if (radius == 0) continue;
        const double all = (double)outside * (double)places;
        outside = (float)(all * p->factor);
        last = a;
    }
    if (what == LOB_BOX_MEANS && last >= 0) passes[last].after = call->after;
}
