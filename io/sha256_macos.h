/* SHA-256 by macOS' own library, under the names that libcrypto has for it. */
#ifndef LOB_SHA256_MACOS_H
#define LOB_SHA256_MACOS_H

#include <CommonCrypto/CommonDigest.h>
#include <stddef.h>

typedef CC_SHA256_CTX SHA256_CTX;

static inline int SHA256_Init(SHA256_CTX *sum)
{
    return CC_SHA256_Init(sum);
}

static inline int SHA256_Update(SHA256_CTX *sum, const void *bytes, size_t n)
{
    for (const unsigned char *from = bytes; n > 0;) { /* a call takes 32 bits of length */
        const CC_LONG some = n < (size_t)1 << 30 ? (CC_LONG)n : 1u << 30;
        if (!CC_SHA256_Update(sum, from, some)) return 0;
        from += some;
        n -= some;
    }
    return 1;
}

static inline int SHA256_Final(unsigned char digest[32], SHA256_CTX *sum)
{
    return CC_SHA256_Final(digest, sum);
}

#define OPENSSL_VERSION_TEXT "macOS CommonCrypto"

#endif
