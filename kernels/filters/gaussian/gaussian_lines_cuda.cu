/* Any pass of a Gaussian step on the GPU, a thread for each voxel that is written; for axes of
 * large radius, coarse ones along x, and those that no faster kernel does. */
#include "kernels/device/grid.cuh"
#include "kernels/filters/gaussian/gaussian_cuda.cuh"

namespace lob::filters
{

enum { LINE_THREADS = 256 };

struct lines_params {
    gaussian_job job;
    lob_gaussian_pass pass;
    int64_t step, voxels; /* step: voxels from one to the next along the axis; voxels written */
};

template <bool FLOATS, bool SUMS>
static __global__ void __launch_bounds__(LINE_THREADS) lines_kernel(lines_params l)
{
    const lob_line_op &op = l.pass.op;
    for (int64_t v = grid_first(); v < l.voxels; v += grid_step()) {
        /* Lines of the same place before and after: only their length differs. */
        const int64_t below = v % l.step, rest = v / l.step, i = rest % op.n_out;
        const int64_t line = rest / op.n_out * op.n_in * l.step + below;
        const float *const row = l.job.tables + op.weights + i % op.up * op.pitch;
        const int64_t start = i / op.up * op.down + op.first;
        float sum = 0.0f;
        for (int64_t t = 0; t < op.taps; t++) {
            const int64_t at = lob_edge_position(start + t, op.n_in, l.pass.edge);
            const float value = at < 0
                                    ? l.pass.outside
                                    : gaussian_summand_at<FLOATS>(l.job.source, line + at * l.step);
            sum = fmaf(row[t], value, sum);
        }
        if (op.scale >= 0) sum = sum * l.job.tables[op.scale + i];
        gaussian_write<SUMS>(l.job.out, l.job.finish, v, sum + 0.0f);
    }
}

lob_status gaussian_lines(lob_device *device, const gaussian_job *job,
                          const lob_gaussian_pass *pass, lob_error *error)
{
    lines_params l = {*job, *pass, 1, lob_dims_voxels(pass->out)};
    if (pass->axis > 0) l.step *= pass->in.nx;
    if (pass->axis > 1) l.step *= pass->in.ny;
    const auto kernel = gaussian_kernel(job, [](auto floats, auto sums) {
        return lines_kernel<decltype(floats)::value, decltype(sums)::value>;
    });
    return lob_launch_over(device, kernel, "lines_kernel", l.voxels, LINE_THREADS, l, error);
}

} /* namespace lob::filters */
