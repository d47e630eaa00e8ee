/* A folder for a test program's files, and volumes whose voxels tell where they are. */
#include "tests/unit/io_scratch.h"
#include "io/folder.h"
#include "tests/unit/cmocka_test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[256];

int scratch_begin(void **state)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/lobule-io-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

int scratch_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir) closedir(dir);
    return n;
}

int scratch_clear(void **state)
{
    return lob_remove_tree(folder) == 0 ? mkdir(folder, 0700) : -1;
}

int scratch_end(void **state)
{
    return lob_remove_tree(folder);
}

const char *scratch(const char *name)
{
    static char paths[4][512];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

unsigned char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s: cannot be opened", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, f), *size);
    fclose(f);
    return bytes;
}

void spill(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f) fail_msg("%s: cannot be created", path);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

void spill_gz(const char *path, const void *bytes, size_t size)
{
    gzFile f = gzopen(path, "wb1");
    if (!f) fail_msg("%s: cannot be created", path);
    assert_int_equal(gzwrite(f, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(f), Z_OK);
}

lob_volume read_volume(const char *path, const lob_read_options *options, lob_file_info *info)
{
    lob_volume v;
    lob_error error = {.text = ""};
    if (lob_read(&v, path, options, info, &error) != LOB_OK) fail_msg("%s", error.text);
    return v;
}

void write_volume(const lob_volume *v, const char *path, const lob_write_options *options)
{
    lob_error error = {.text = ""};
    if (lob_write(v, path, options, &error) != LOB_OK) fail_msg("%s", error.text);
}

lob_hint assert_refused(const char *path, const lob_read_options *options, lob_status status,
                        const char *says)
{
    lob_volume v;
    lob_error error = {.text = ""};
    const lob_status st = lob_read(&v, path, options, NULL, &error);
    char line[LOB_ERROR_LINE];
    lob_error_line(line, sizeof line, &error);
    if (st != status || !strstr(line, says) || v.data || v.header.bytes)
        fail_msg("%s: %s: %s, not \"%s\"", path, lob_status_text(st), line, says);
    return error.hint;
}

lob_volume noise_volume(lob_type type, lob_dims dims, int channels)
{
    const double affine[3][4] = {
        {-0.8, 0.1, 0.2,  90.5   },
        {0.15, 0.9, -0.3, -126.25},
        {-0.1, 0.4, 2.5,  -72    }
    };
    lob_volume like = lob_volume_empty(), out;
    like.dims = dims;
    assert_true(lob_geometry_of_affine(&like.geometry, affine));
    assert_ok(lob_volume_like(&out, &like, type, channels));
    const size_t n = (size_t)(lob_voxels(&out) * channels) * lob_type_of(type)->bytes;
    uint64_t seed = 88172645463325252u + n;
    for (size_t i = 0; i < n; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        ((unsigned char *)out.data)[i] = (unsigned char)(seed >> 32);
    }
    return out;
}

void assert_same_volume(const char *what, const lob_volume *a, const lob_volume *b)
{
    if (a->type != b->type || a->channels != b->channels)
        fail_msg("%s: %s x %d became %s x %d", what, lob_type_of(a->type)->name, a->channels,
                 lob_type_of(b->type)->name, b->channels);
    if (a->dims.nx != b->dims.nx || a->dims.ny != b->dims.ny || a->dims.nz != b->dims.nz)
        fail_msg("%s: %lld x %lld x %lld became %lld x %lld x %lld", what, (long long)a->dims.nx,
                 (long long)a->dims.ny, (long long)a->dims.nz, (long long)b->dims.nx,
                 (long long)b->dims.ny, (long long)b->dims.nz);
    if (a->slope != b->slope || a->inter != b->inter) fail_msg("%s: other scaling", what);
    const size_t n = (size_t)(lob_voxels(a) * a->channels) * lob_type_of(a->type)->bytes;
    if (memcmp(a->data, b->data, n) != 0) fail_msg("%s: voxels differ", what);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 4; c++)
            if (!(fabs(a->geometry.affine[r][c] - b->geometry.affine[r][c]) <= 1e-13 * 200))
                fail_msg("%s: affine[%d][%d] %.17g became %.17g", what, r, c,
                         a->geometry.affine[r][c], b->geometry.affine[r][c]);
}
