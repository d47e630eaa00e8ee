/* Which header fields a NIfTI output takes from its input, and which it changes. */
#ifndef LOB_NIFTI_H
#define LOB_NIFTI_H

/*
 * The header fields in which a label volume may differ from its scan: name, value. All other
 * fields, and the extensions with their codes, are copied bit for bit. The output has the NIfTI
 * version of its input and the byte order of the machine. strip_extensions of lob_write_options
 * leaves the extensions out.
 *
 * Two extensions may come before those that are copied: comment of lob_write_options (code 6), and
 * the names and colours of labels as Connectome Workbench reads them (code 30), which take the
 * place of a table of other names.
 *
 * More fields change in two cases. A volume with a side above 32767, which NIfTI-1 cannot hold, is
 * written as NIfTI-2. A volume on another grid than the header's (other dims or another affine)
 * changes those of LOB_NIFTI_GRID_FIELDS besides. docs/headers.md has all of it as one table.
 *
 * The writer uses this list, and the tests read it: one name in parentheses, then the value.
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
 * The same for other volumes, such as a converted scan. A field changes only if the volume has
 * changed in that respect: a scan that is only converted differs in vox_offset and magic at most.
 */
#define LOB_NIFTI_DATA_FIELDS(X)                                                             \
    X(dim, "nx, ny, nz; frames; channels where there are several")                           \
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

/* What a volume on another grid than its header's changes besides: the place is the volume's own.
 */
#define LOB_NIFTI_GRID_FIELDS(X)                                       \
    X(pixdim, "the grid's spacing; the time step of a series; else 1") \
    X(xyzt_units, "mm, and seconds where a series has a time step")    \
    X(qform_code, "1")                                                 \
    X(sform_code, "1")                                                 \
    X(quatern_b, "of the grid's axes")                                 \
    X(quatern_c, "likewise")                                           \
    X(quatern_d, "likewise")                                           \
    X(qoffset_x, "the grid's first voxel")                             \
    X(qoffset_y, "likewise")                                           \
    X(qoffset_z, "likewise")                                           \
    X(srow_x, "the grid's affine")                                     \
    X(srow_y, "likewise")                                              \
    X(srow_z, "likewise")                                              \
    X(slice_code, "0: slices are others than those that were scanned") \
    X(slice_end, "0")                                                  \
    X(slice_start, "0")                                                \
    X(slice_duration, "0")

#endif
