/*
 * SHA-256 of files, by libcrypto (on Windows and macOS by their own library). Not through its EVP
 * functions, which do the same work: who links libcrypto statically, as the Python wheel does,
 * would get the whole of it with them.
 */
#define OPENSSL_API_COMPAT 0x10100000L /* version 3 would have EVP */
#include "io/sha256.h"

#include "io/folder.h"
#include "io/kinds.h"
#include "io/libraries.h"
#include "io/platform.h"

#ifdef _WIN32
#include "io/sha256_windows.h"
#elif defined(__APPLE__)
#include "io/sha256_macos.h"
#else
#include <openssl/opensslv.h>
#include <openssl/sha.h>
#endif
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 1 << 18, DIGEST = 32 };

struct lob_sha256 {
    int fd;       /* -1: a folder, whose files are opened one by one */
    char **paths; /* of it; NULL: a file */
    int64_t count;
    unsigned char digest[DIGEST];
    unsigned char block[BLOCK];
};

/* All of the file's bytes into the digest. */
static bool add_file(SHA256_CTX *digest, lob_sha256 *sum, const int *stop)
{
    for (;;) {
        if (stop && __atomic_load_n(stop, __ATOMIC_RELAXED)) return false;
        const int64_t n = lob_fd_read(sum->fd, sum->block, BLOCK);
        if (n <= 0) return n == 0;
        if (!SHA256_Update(digest, sum->block, (size_t)n)) return false;
    }
}

static bool add_folder(SHA256_CTX *digest, lob_sha256 *sum, const int *stop)
{
    bool whole = true;
    for (int64_t i = 0; i < sum->count && whole; i++) {
        sum->fd = lob_open_to_read(sum->paths[i], true);
        whole = sum->fd >= 0 && add_file(digest, sum, stop);
        if (sum->fd >= 0) lob_fd_close(sum->fd);
        sum->fd = -1;
    }
    return whole;
}

static bool compute(lob_sha256 *sum, const int *stop)
{
    SHA256_CTX digest;
    if (!SHA256_Init(&digest)) return false;
    const bool added = sum->paths ? add_folder(&digest, sum, stop) : add_file(&digest, sum, stop);
    return SHA256_Final(sum->digest, &digest) && added;
}

static void release(lob_sha256 *sum)
{
    if (sum->fd >= 0) lob_fd_close(sum->fd);
    lob_folder_paths_free(sum->paths, sum->count);
    free(sum);
}

lob_sha256 *lob_sha256_begin(const char *path)
{
    lob_about about;
    lob_sha256 *const sum = calloc(1, sizeof *sum);
    if (!sum) return NULL;
    sum->fd = lob_open_to_read(path, true);
    const bool known = sum->fd >= 0 && lob_about_open(&about, sum->fd);
    if (known && about.is_file) return sum;
    if (sum->fd >= 0) lob_fd_close(sum->fd);
    sum->fd = -1;
    if (known && about.is_folder && lob_kind_of_folder(path))
        sum->paths = lob_folder_paths(path, &sum->count);
    if (sum->paths) return sum;
    release(sum);
    return NULL;
}

static void put_digits(char text[LOB_SHA256_TEXT], const unsigned char *digest)
{
    for (int i = 0; i < DIGEST; i++) snprintf(text + 2 * (size_t)i, 3, "%02x", digest[i]);
}

bool lob_sha256_of(char text[LOB_SHA256_TEXT], const void *bytes, size_t n)
{
    unsigned char digest[DIGEST];
    SHA256_CTX sum; /* SHA256() would call EVP functions */
    text[0] = '\0';
    if (!SHA256_Init(&sum) || !SHA256_Update(&sum, bytes, n) || !SHA256_Final(digest, &sum))
        return false;
    put_digits(text, digest);
    return true;
}

bool lob_sha256_end(lob_sha256 *sum, char text[LOB_SHA256_TEXT], const int *stop)
{
    if (text) text[0] = '\0';
    if (!sum) return false;
    const bool done = text && compute(sum, stop);
    if (done) put_digits(text, sum->digest);
    release(sum);
    return done;
}

/* The headers' version: the function that knows the library's brings the rest of it along, too. */
const char *lob_sha256_version(void)
{
    return OPENSSL_VERSION_TEXT;
}
