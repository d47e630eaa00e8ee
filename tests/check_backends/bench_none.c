/* The benchmark of a build without CUDA: there is nothing to time. */
#include "tests/check_backends/bench_growcut.h"

int bench_growcut(const lob_context *context, const bench_options *options)
{
    (void)context, (void)options;
    return 0;
}
