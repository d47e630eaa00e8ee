/* Which of two compilations is taken: as the compiler's runtime says, where there is one. */
#include "kernels/simd_clones.h"
#include "tests/unit/cmocka_test.h"

TEST(the_processor_is_known)
{
#ifdef LOB_AVX2
    assert_int_equal(lob_has_avx2(),
                     __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    assert_int_equal(lob_has_bits(), lob_has_avx2() && __builtin_cpu_supports("avx512f") &&
                                         __builtin_cpu_supports("avx512vpopcntdq"));
#else
    skip();
#endif
}
