/* Which of two compilations a processor takes. */
#include "kernels/simd_clones.h"

#ifdef LOB_AVX2
#include <cpuid.h>

bool lob_with_avx2, lob_with_bits, lob_with_wide;

/* Has the processor AVX2 and FMA, or counts of bits in AVX-512 beside, and does the system keep
 * their registers? By CPUID (Intel's Software Developer's Manual, volume 2), as not every system's
 * linker has the compiler's answer. */
__attribute__((constructor)) static void ask_processor(void)
{
    enum { WORDS = 1 << 1 | 1 << 2, MORE = 7 << 5 }; /* of XMM and YMM, and of ZMM, in XCR0 */
    unsigned a, b, c, d, kept, above;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA)) return;
    __asm__("xgetbv" : "=a"(kept), "=d"(above) : "c"(0));
    if ((kept & WORDS) != WORDS || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    lob_with_avx2 = b & bit_AVX2;
    const bool more = lob_with_avx2 && (kept & MORE) == MORE && b & bit_AVX512F;
    lob_with_bits = more && c & bit_AVX512VPOPCNTDQ;
    lob_with_wide = more && b & bit_AVX512BW && b & bit_AVX512DQ && b & bit_AVX512VL;
}
#endif
