/* A file driver of HDF5's for files that are in memory (reading) or behind a descriptor (writing).
 */
#include "io/hdf5/hdf5_parts.h"
#include "io/platform.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The input is in memory anyway, so nothing is opened twice, no lock is asked for, and what is
 * parsed is what the checksum was made of. The output may have no name yet (io/file.h).
 */
typedef struct {
    H5FD_t base; /* first, as HDF5 wants it */
    lob_hdf5_storage storage;
    haddr_t end_allocated, end;
} driver_file;

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t plist, haddr_t limit)
{
    (void)name;
    (void)flags;
    (void)limit;
    const lob_hdf5_storage *storage = H5Pget_driver_info(plist);
    driver_file *file = storage ? calloc(1, sizeof *file) : NULL;
    if (!file) return NULL;
    file->storage = *storage;
    file->end = storage->bytes ? storage->size : 0;
    return &file->base;
}

static herr_t driver_close(H5FD_t *base)
{
    free(base);
    return 0;
}

static herr_t driver_query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)base)->end_allocated;
}

static herr_t driver_set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((driver_file *)base)->end_allocated = address;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)base)->end;
}

/* Bytes beyond the end of the file are 0, as in HDF5's own drivers. */
static herr_t driver_read(H5FD_t *base, H5FD_mem_t type, hid_t plist, haddr_t address, size_t n,
                          void *out)
{
    (void)type;
    (void)plist;
    driver_file *file = (driver_file *)base;
    const lob_hdf5_storage *from = &file->storage;
    if (address == HADDR_UNDEF || n > (size_t)-1 - address) return -1;
    unsigned char *to = out;
    const size_t there = address < file->end ? (size_t)(file->end - address) : 0;
    size_t left = n < there ? n : there;
    memset(to + left, 0, n - left);
    if (from->bytes) {
        memcpy(to, from->bytes + (left ? address : 0), left);
        return 0;
    }
    while (left > 0) {
        const int64_t r = lob_fd_read_at(from->fd, to, left, (int64_t)address);
        if (r <= 0) return -1;
        to += r;
        address += (haddr_t)r;
        left -= (size_t)r;
    }
    return 0;
}

static herr_t fail_write(const driver_file *file)
{
    if (file->storage.cause && !*file->storage.cause) *file->storage.cause = errno;
    return -1;
}

static herr_t driver_write(H5FD_t *base, H5FD_mem_t type, hid_t plist, haddr_t address, size_t n,
                           const void *bytes)
{
    (void)type;
    (void)plist;
    driver_file *file = (driver_file *)base;
    const unsigned char *from = bytes;
    if (file->storage.bytes || address == HADDR_UNDEF) return -1;
    while (n > 0) {
        const int64_t w = lob_fd_write_at(file->storage.fd, from, n, (int64_t)address);
        if (w <= 0) return fail_write(file);
        from += w;
        address += (haddr_t)w;
        n -= (size_t)w;
    }
    if (address > file->end) file->end = address;
    return 0;
}

static herr_t driver_truncate(H5FD_t *base, hid_t plist, hbool_t closing)
{
    (void)plist;
    (void)closing;
    driver_file *file = (driver_file *)base;
    if (file->storage.bytes || file->end == file->end_allocated) return 0;
    if (lob_fd_cut(file->storage.fd, (int64_t)file->end_allocated) != 0) return fail_write(file);
    file->end = file->end_allocated;
    return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value =
        (H5FD_class_value_t)511, /* the last of the numbers kept free for uses within a program */
#endif
    .name = "lobule",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(lob_hdf5_storage),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t lob_hdf5_access(const lob_hdf5_storage *storage)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* a library that prints nothing */
    H5PLset_loading_state(0);              /* and loads no code for a file's sake */
    const hid_t plist = H5Pcreate(H5P_FILE_ACCESS), id = H5FDregister(&driver);
    if (plist >= 0 && id >= 0 && H5Pset_driver(plist, id, storage) >= 0) return plist;
    return -1;
}
