/* SHA-256 by Windows' own library, under the names that libcrypto has for it. */
#ifndef LOB_SHA256_WINDOWS_H
#define LOB_SHA256_WINDOWS_H

#include <windows.h>

#include <bcrypt.h>
#include <stddef.h>

#ifndef BCRYPT_SHA256_ALG_HANDLE /* Windows 10 has it, MinGW-w64 10 does not */
#define BCRYPT_SHA256_ALG_HANDLE ((BCRYPT_ALG_HANDLE)0x41)
#endif

typedef BCRYPT_HASH_HANDLE SHA256_CTX;

static inline int SHA256_Init(SHA256_CTX *sum)
{
    return BCryptCreateHash(BCRYPT_SHA256_ALG_HANDLE, sum, NULL, 0, NULL, 0, 0) >= 0;
}

static inline int SHA256_Update(SHA256_CTX *sum, const void *bytes, size_t n)
{
    for (const unsigned char *from = bytes; n > 0;) { /* a call takes 32 bits of length */
        const ULONG some = n < (size_t)1 << 30 ? (ULONG)n : 1u << 30;
        if (BCryptHashData(*sum, (PUCHAR)from, some, 0) < 0) return 0;
        from += some;
        n -= some;
    }
    return 1;
}

/* Frees what Init has made, as libcrypto's needs not. */
static inline int SHA256_Final(unsigned char digest[32], SHA256_CTX *sum)
{
    const int done = BCryptFinishHash(*sum, digest, 32, 0) >= 0;
    BCryptDestroyHash(*sum);
    return done;
}

#define OPENSSL_VERSION_TEXT "Windows CNG"

#endif
