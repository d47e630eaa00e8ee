/* The table of kinds that are not read: how each is recognised, what it is called, what helps. */
#include "io/kinds.h"

#include "io/dicom/dicom_series.h"
#include "io/format.h"
#include "io/gzip.h"
#include "io/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICER "open it in 3D Slicer or ITK-SNAP and save it as .nii.gz"
#define FIJI   "open it in Fiji (Bio-Formats) and save it as HDF5 (.h5) or NIfTI"

enum { HEAD = 512 }; /* bytes of a file that are looked at */

/* name; what it is; what helps */
#define KIND_LIST(X)                                                                              \
    X(DICOM, "a DICOM file", "")                                                                  \
    X(DICOM_FOLDER, "a folder of DICOM files", "")                                                \
    X(NRRD, "NRRD compressed as a whole", "unpack it")                                            \
    X(MGH, "FreeSurfer's MGH", "convert it with `mri_convert FILE.mgz FILE.nii.gz`")              \
    X(NIA, "the text form of NIfTI", SLICER)                                                      \
    X(AFNI, "an AFNI data set", "convert it with `3dAFNItoNIFTI`")                                \
    X(MINC, "MINC 1", "convert it with `mnc2nii`")                                                \
    X(MIF, "MRtrix's format", "convert it with `mrconvert FILE.mif FILE.nii.gz`")                 \
    X(PAR, "Philips PAR/REC", "convert its folder with `dcm2niix -z y FOLDER`")                   \
    X(VTK, "VTK", "open it in 3D Slicer and save it as .nii.gz")                                  \
    X(CZI, "Zeiss CZI", FIJI)                                                                     \
    X(ND2, "Nikon ND2", FIJI)                                                                     \
    X(LIF, "Leica LIF", FIJI)                                                                     \
    X(OLE, "an OLE file, such as Olympus OIB", FIJI)                                              \
    X(ZARR, "a folder of Zarr",                                                                   \
      "this build of Lobule has no OME-Zarr; copy the array into an .h5 file with zarr and h5py") \
    X(PICTURE, "a picture of another kind than PNG", "save it as PNG")                            \
    X(ARCHIVE, "an archive", "unpack it and name a file of it")                                   \
    X(PACKED, "compressed in another way than gzip", "unpack it")                                 \
    X(MATLAB, "a MATLAB file", "save its array with niftiwrite")                                  \
    X(NUMPY, "a NumPy array, without voxel size", "save it as .nii.gz with nibabel")              \
    X(RAW, "raw voxels without a header",                                                         \
      "open the header that goes with it (.mhd, .nhdr) in 3D Slicer and save it as .nii.gz")      \
    X(WEB, "a web page, perhaps what a server said in place of the file", "download it again")    \
    X(LFS, "a pointer of Git LFS in place of the file", "fetch that with `git lfs pull`")

typedef enum {
#define KIND_ENUM(name, is, advice) name,
    KIND_LIST(KIND_ENUM)
#undef KIND_ENUM
} kind_id;

static const lob_kind kinds[] = {
#define KIND_ROW(name, is, advice) {is, advice},
    KIND_LIST(KIND_ROW)
#undef KIND_ROW
};

/* A sign of a kind: bytes at a place, or the end of the name; the first one that fits counts. */
typedef struct {
    kind_id kind;
    size_t at, size;
    const char *bytes, *suffix;
} sign;

#define BYTES(kind, at, bytes)                   \
    {                                            \
        kind, at, sizeof(bytes) - 1, bytes, NULL \
    }
#define NAME(kind, suffix)     \
    {                          \
        kind, 0, 0, "", suffix \
    }

static const sign signs[] = {
    BYTES(DICOM, 128, "DICM"),
    BYTES(DICOM, 0, "\010\0\0\0\004\0\0\0"), /* these have no preamble */
    BYTES(DICOM, 0, "\010\0\005\0CS"),
    BYTES(DICOM, 0, "\010\0\005\0\012\0"),
    BYTES(DICOM, 0, "\010\0\010\0CS"),
    BYTES(NRRD, 0, "NRRD0"),
    BYTES(MGH, 0, "\0\0\0\001\0"),
    BYTES(NIA, 0, "<nifti_image"),
    BYTES(MINC, 0, "CDF\001"),
    BYTES(MINC, 0, "CDF\002"),
    BYTES(MIF, 0, "mrtrix image"),
    BYTES(PAR, 0, "# === DATA DESCRIPTION"),
    BYTES(VTK, 0, "# vtk DataFile"),
    BYTES(CZI, 0, "ZISRAWFILE"),
    BYTES(ND2, 0, "\332\316\276\012"),
    BYTES(OLE, 0, "\320\317\021\340"),
    BYTES(PICTURE, 0, "\377\330\377"),   /* JPEG */
    BYTES(PICTURE, 0, "\0\0\0\014jP  "), /* JPEG 2000 */
    BYTES(PICTURE, 0, "GIF8"),
    BYTES(ARCHIVE, 0, "PK\003\004"), /* zip */
    BYTES(ARCHIVE, 0, "7z\274\257\047\034"),
    BYTES(ARCHIVE, 0, "Rar!"),
    BYTES(ARCHIVE, 257, "ustar"),
    BYTES(PACKED, 0, "BZh"),
    BYTES(PACKED, 0, "\3757zXZ"),
    BYTES(PACKED, 0, "\050\265\057\375"), /* zstd */
    BYTES(MATLAB, 0, "MATLAB 5.0"),
    BYTES(NUMPY, 0, "\223NUMPY"),
    BYTES(WEB, 0, "<!DOCTYPE html"),
    BYTES(WEB, 0, "<!doctype html"),
    BYTES(WEB, 0, "<html"),
    BYTES(LFS, 0, "version https://git-lfs"),
    NAME(DICOM, ".dcm"),
    NAME(DICOM, ".ima"),
    NAME(AFNI, ".head"),
    NAME(AFNI, ".brik"),
    NAME(AFNI, ".brik.gz"),
    NAME(VTK, ".vti"),
    NAME(LIF, ".lif"),
    NAME(RAW, ".raw"),
    NAME(RAW, ".zraw"),
};

static const lob_kind *kind_of(const char *path, const unsigned char *head, size_t n)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const sign *s = &signs[i];
        if (n >= s->at + s->size && memcmp(head + s->at, s->bytes, s->size) == 0 &&
            (!s->suffix || lob_has_suffix(path, s->suffix)))
            return &kinds[s->kind];
    }
    return NULL;
}

const lob_kind *lob_kind_of_file(const char *path, const lob_input *file)
{
    unsigned char inflated[HEAD];
    if (file->size == 0) return NULL;
    if (!lob_is_gzip(file->bytes, file->size)) return kind_of(path, file->bytes, file->size);
    return kind_of(path, inflated, lob_gunzip_head(inflated, HEAD, file->bytes, file->size));
}

bool lob_kind_is_dicom(const lob_kind *kind)
{
    return kind == &kinds[DICOM] || kind == &kinds[DICOM_FOLDER];
}

char *lob_zarr_metadata_file(const char *folder)
{
    static const char *const names[] = {"zarr.json", ".zarray", ".zgroup", ".zattrs"};
    char *file = NULL;
    for (size_t i = 0; !file && i < sizeof names / sizeof names[0]; i++) {
        if (asprintf(&file, "%s/%s", folder, names[i]) < 0) return NULL;
        if (lob_is_file(file)) break;
        free(file);
        file = NULL;
    }
    return file;
}

bool lob_folder_is_zarr(const char *folder)
{
    char *const file = lob_zarr_metadata_file(folder);
    free(file);
    return file;
}

const lob_kind *lob_kind_of_folder(const char *path)
{
    return lob_folder_is_zarr(path)    ? &kinds[ZARR]
           : lob_dicom_is_folder(path) ? &kinds[DICOM_FOLDER]
                                       : NULL;
}
