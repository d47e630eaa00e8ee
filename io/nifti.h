/* What Lobule's NIfTI outputs keep of their input's header, and what they change. */
#ifndef LOB_NIFTI_H
#define LOB_NIFTI_H

/*
 * The header fields in which a label volume may differ from the scan it belongs to: field, what it
 * holds then. Every other field, and the extensions with their codes, are copied bit for bit. The
 * output has the NIfTI version of its input and is little-endian on little-endian machines,
 * whatever the input's byte order; lob_write_options.strip_extensions, which is `lobule convert
 * --strip-extensions`, leaves the extensions out.
 *
 * Two cases make more changes. A side above 32767 does not fit in NIfTI-1: such a volume is written
 * as NIfTI-2, each field widened. A volume on another grid than the header's (other sides, or
 * another place in the world) gets its qform, sform, pixdim and units from its own geometry.
 *
 * The writer works from this list and the tests read it: one name in parentheses, then the reason.
 */
#define LOB_NIFTI_LABEL_FIELDS(X)                                \
    X(dim, "nx, ny, nz: one frame and one channel remain")       \
    X(datatype, "the labels' own: uint8, int16 or int32")        \
    X(bitpix, "follows datatype")                                \
    X(vox_offset, "after the extensions; 0 in a .hdr/.img pair") \
    X(scl_slope, "1: stored numbers are the labels")             \
    X(scl_inter, "0")                                            \
    X(cal_max, "the largest label, for viewers' colour range")   \
    X(cal_min, "0")                                              \
    X(intent_p1, "0: labels have no parameters")                 \
    X(intent_p2, "0")                                            \
    X(intent_p3, "0")                                            \
    X(intent_code, "1002, NIFTI_INTENT_LABEL")                   \
    X(intent_name, "\"labels\"")                                 \
    X(descrip, "\"lobule\" and its version")                     \
    X(magic, "single file or .hdr/.img pair, as the output's name says")

/*
 * The same for a volume that is no label volume, such as a converted or filtered scan. Fields stay
 * as they are where the volume has not changed in that respect: a converted scan differs from its
 * input in vox_offset and magic at most.
 */
#define LOB_NIFTI_DATA_FIELDS(X)                                                             \
    X(dim, "nx, ny, nz; 1, channels where there are several")                                \
    X(datatype, "the voxels' own")                                                           \
    X(bitpix, "follows datatype")                                                            \
    X(vox_offset, "after the extensions; 0 in a .hdr/.img pair")                             \
    X(scl_slope, "the volume's")                                                             \
    X(scl_inter, "the volume's")                                                             \
    X(cal_max, "0 where the voxels' type or scaling changed: the old window is meaningless") \
    X(cal_min, "0 likewise")                                                                 \
    X(intent_p1, "0 where the number of channels changed")                                   \
    X(intent_p2, "0 likewise")                                                               \
    X(intent_p3, "0 likewise")                                                               \
    X(intent_code, "1007 (vector) or 0 where the number of channels changed")                \
    X(intent_name, "empty likewise")                                                         \
    X(magic, "single file or .hdr/.img pair, as the output's name says")

#endif
