/* HDF5 files that lead out of themselves, lie, are cut short or crash the HDF5 library. */
#define H5_USE_110_API
#include <hdf5.h>

#include "io/io.h"

#include "tests/unit/cmocka_test.h"
#include "tests/unit/io_scratch.h"

#include <dirent.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static hid_t put_set(hid_t file, const char *name, hid_t type, int rank, const hsize_t *extent,
                     hid_t plist)
{
    const hid_t space = H5Screate_simple(rank, extent, NULL);
    const hid_t set = H5Dcreate(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(set >= 0);
    H5Sclose(space);
    return set;
}

static const hsize_t small[3] = {4, 6, 9};

/* A file with a volume that others try to reach, or text that nobody should. */
static void put_secret(const char *path)
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t set = put_set(file, "raw", H5T_NATIVE_UINT8, 3, small, H5P_DEFAULT);
    const unsigned char bytes[4 * 6 * 9] = "a secret";
    H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes);
    H5Dclose(set);
    H5Fclose(file);
}

static void soft_link(hid_t file)
{
    H5Dclose(put_set(file, "real", H5T_NATIVE_UINT8, 3, small, H5P_DEFAULT));
    H5Lcreate_soft("/real", file, "raw", H5P_DEFAULT, H5P_DEFAULT);
}

static void external_link(hid_t file)
{
    H5Lcreate_external(scratch("secret.h5"), "/raw", file, "raw", H5P_DEFAULT, H5P_DEFAULT);
}

static void linked_group(hid_t file)
{
    H5Lcreate_external(scratch("secret.h5"), "/", file, "ITKImage", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(scratch("secret.h5"), "/raw", file, "raw", H5P_DEFAULT, H5P_DEFAULT);
}

static void external_storage(hid_t file)
{
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(plist, scratch("secret.h5"), 0, 4 * 6 * 9);
    H5Dclose(put_set(file, "raw", H5T_NATIVE_UINT8, 3, small, plist));
    H5Pclose(plist);
}

static void virtual_set(hid_t file)
{
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, small, NULL);
    H5Pset_virtual(plist, space, scratch("secret.h5"), "/raw", space);
    H5Dclose(put_set(file, "raw", H5T_NATIVE_UINT8, 3, small, plist));
    H5Sclose(space);
    H5Pclose(plist);
}

static hid_t chunked(hsize_t a, hsize_t b, hsize_t c)
{
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[3] = {a, b, c};
    H5Pset_chunk(plist, 3, chunk);
    return plist;
}

/* A data set of doubles that nobody has written. */
static void put_bomb(hid_t file, const hsize_t extent[3])
{
    const hid_t plist = chunked(16, 16, 16);
    H5Dclose(put_set(file, "raw", H5T_NATIVE_DOUBLE, 3, extent, plist));
    H5Pclose(plist);
}

static void shape_bomb(hid_t file) /* 8 TB of zeros in some 2 kB */
{
    put_bomb(file, (const hsize_t[]){10000, 10000, 10000});
}

static void overflow_bomb(hid_t file)
{
    put_bomb(file, (const hsize_t[]){2000000000, 2000000000, 2000000000});
}

static void long_side(hid_t file)
{
    const hid_t plist = chunked(1, 1, 16);
    H5Dclose(put_set(file, "raw", H5T_NATIVE_UINT8, 3, (const hsize_t[]){1, 1, (hsize_t)1 << 40},
                     plist));
    H5Pclose(plist);
}

static size_t no_filter(unsigned flags, size_t n, const unsigned values[], size_t bytes,
                        size_t *size, void **buffer)
{
    return bytes;
}

static void unknown_filter(hid_t file)
{
    const H5Z_class2_t class = {.version = H5Z_CLASS_T_VERS,
                                .id = 300,
                                .encoder_present = 1,
                                .decoder_present = 1,
                                .name = "homemade",
                                .filter = no_filter};
    assert_true(H5Zregister(&class) >= 0);
    const hid_t plist = chunked(4, 6, 9);
    H5Pset_filter(plist, 300, 0, 0, NULL);
    H5Dclose(put_set(file, "raw", H5T_NATIVE_UINT8, 3, small, plist));
    H5Pclose(plist);
}

static void compound(hid_t file)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(type, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(type, "i", 4, H5T_NATIVE_FLOAT);
    H5Dclose(put_set(file, "raw", type, 3, small, H5P_DEFAULT));
    H5Tclose(type);
}

static void text(hid_t file)
{
    H5Dclose(put_set(file, "raw", H5T_C_S1, 3, small, H5P_DEFAULT));
}

static void empty(hid_t file)
{
    H5Dclose(put_set(file, "raw", H5T_NATIVE_UINT8, 3, (const hsize_t[]){4, 0, 9}, H5P_DEFAULT));
}

static void too_many_axes(hid_t file)
{
    H5Dclose(put_set(file, "raw", H5T_NATIVE_UINT8, 6, (const hsize_t[]){1, 2, 3, 4, 5, 6},
                     H5P_DEFAULT));
}

static void a_group(hid_t file)
{
    H5Gclose(H5Gcreate(file, "raw", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static void a_type(hid_t file)
{
    const hid_t type = H5Tcopy(H5T_NATIVE_INT);
    H5Tcommit(file, "raw", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(type);
}

/* How the file is made, and what the message must hold when /raw is asked for and when nothing is.
 */
static const struct {
    const char *what;
    void (*make)(hid_t file);
    const char *asked, *automatic; /* automatic NULL: it reads */
} refused[] = {
    {"soft link",                soft_link,        "soft link",                      NULL                          },
    {"external link",            external_link,    "link to another file",           "holds no data set"           },
    {"external link to a group", linked_group,     "link to another file",           "holds no data set"           },
    {"external storage",         external_storage, "keeps its data in another file",
     "keeps its data in another file"                                                                              },
    {"virtual data set",         virtual_set,      "virtual data set",               "virtual data set"            },
    {"shape bomb",               shape_bomb,       "declares 8000000000000 bytes",   "declares 8000000000000 bytes"},
    {"overflowing bomb",         overflow_bomb,    "declares",                       "declares"                    },
    {"a side beyond 31 bits",    long_side,        "2^31 - 1",                       "2^31 - 1"                    },
    {"unknown filter",           unknown_filter,   "filter 300 (homemade)",          "filter 300 (homemade)"       },
    {"compound",                 compound,         "compound",                       "holds no data set"           },
    {"text",                     text,             "no numbers",                     "holds no data set"           },
    {"empty",                    empty,            "is empty",                       "is empty"                    },
    {"six axes",                 too_many_axes,    "6 dimensions",                   "holds no data set"           },
    {"a group",                  a_group,          "holds no data set",              "holds no data set"           },
    {"a named type",             a_type,           "neither",                        "holds no data set"           },
};

TEST(what_leads_astray_is_refused)
{
    put_secret(scratch("secret.h5"));
    for (size_t i = 0; i < COUNT(refused); i++) {
        const hid_t file = H5Fcreate(scratch("r.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        refused[i].make(file);
        H5Fclose(file);
        for (int named = 0; named < 2; named++) {
            char path[600];
            lob_volume v = lob_volume_empty();
            lob_error error = {.text = ""};
            const char *says = named ? refused[i].asked : refused[i].automatic;
            snprintf(path, sizeof path, "%s%s", scratch("r.h5"), named ? ":/raw" : "");
            const lob_status st = lob_read(&v, path, NULL, NULL, &error);
            if (st != (says ? LOB_EDATA : LOB_OK) || (says && !strstr(error.text, says)) ||
                (says && strcmp(error.file, path) != 0) || (says && v.data))
                fail_msg("%s: %s: %s", refused[i].what, lob_status_text(st), error.text);
            lob_volume_free(&v);
        }
    }
}

/* A user's own block may stand before the signature. */
TEST(a_user_block_is_skipped)
{
    const hid_t plist = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(plist, 2048);
    const hid_t file = H5Fcreate(scratch("block.h5"), H5F_ACC_TRUNC, plist, H5P_DEFAULT);
    H5Dclose(put_set(file, "raw", H5T_NATIVE_UINT8, 3, small, H5P_DEFAULT));
    H5Fclose(file);
    H5Pclose(plist);
    lob_volume v = read_volume(scratch("block.h5"), NULL, NULL);
    lob_volume_free(&v);
}

/* Read whatever it is; it must end soon, cleanly, and leave no process behind. */
static lob_status survive(const char *path)
{
    lob_volume v = lob_volume_empty();
    lob_error error = {.text = ""};
    lob_read_options options = lob_read_defaults();
    options.max_memory = 1 << 30;
    options.frame = 0;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    const lob_status st = lob_read(&v, path, &options, NULL, &error);
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (after.tv_sec - before.tv_sec > 60) fail_msg("%s: took too long", path);
    if (st != LOB_OK && st != LOB_EDATA && st != LOB_ENOMEM)
        fail_msg("%s: %s: %s", path, lob_status_text(st), error.text);
    if (st != LOB_OK && (v.data || strcmp(error.file, path) != 0))
        fail_msg("%s: left data, or no name in: %s", path, error.text);
    if (waitpid(-1, NULL, WNOHANG) != -1) fail_msg("%s: left a process", path);
    lob_volume_free(&v);
    return st;
}

TEST(published_crashers_end_in_one_line)
{
    char folder[512];
    const char *shared = getenv("LOBULE_SHARED");
    snprintf(folder, sizeof folder, "%s/conformance/hdf5-cve", shared ? shared : "../shared");
    DIR *dir = opendir(folder);
    if (!dir) {
        print_message("skipped: no folder %s\n", folder);
        skip();
    }
    int files = 0, read = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[1024];
        if (strncmp(entry->d_name, "cve-", 4) != 0 && strncmp(entry->d_name, "gh", 2) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        read += survive(path) == LOB_OK;
        files++;
    }
    closedir(dir);
    print_message("%d files, %d of them readable\n", files, read);
    assert_true(files > 0);
}

/* A small file of ours, cut at every length and changed at every byte of its structure. */
TEST(damage_is_survived)
{
    lob_volume v = noise_volume(LOB_I16, (lob_dims){5, 7, 11}, 1);
    write_volume(&v, scratch("whole.h5"), NULL);
    lob_volume_free(&v);
    size_t size;
    unsigned char *bytes = slurp(scratch("whole.h5"), &size);
    int cut_ok = 0;
    for (size_t n = 0; n < size; n += 61) {
        spill(scratch("cut.h5"), bytes, n);
        cut_ok += survive(scratch("cut.h5")) == LOB_OK;
    }
    assert_int_equal(cut_ok, 0);
    uint32_t seed = 1;
    for (int i = 0; i < 400; i++) {
        unsigned char kept[4];
        size_t at[4];
        for (int k = 0; k < 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            at[k] = (size_t)(seed >> 8) % size;
            kept[k] = bytes[at[k]];
            bytes[at[k]] = (unsigned char)(seed >> 3);
        }
        spill(scratch("hurt.h5"), bytes, size);
        survive(scratch("hurt.h5"));
        for (int k = 3; k >= 0; k--) bytes[at[k]] = kept[k];
    }
    free(bytes);
}
