/*
 * HDF5: which data set of a file is the volume, and what the file that we write looks like.
 *
 * Reading. FILE.h5:/PATH names a data set or a group, FILE.h5 alone leaves the choice to us:
 *
 *   1. ITK's layout, /ITKImage/0 with VoxelData, Dimension, Origin, Spacing and Directions (row
 *      i of Directions is the direction of axis i, in LPS; it becomes RAS here). A component axis,
 *      last in VoxelData, becomes channels; a fourth dimension becomes frames.
 *   2. Otherwise the only numeric data set of three dimensions or more, or the only one of two.
 *
 * The axes of a plain data set come from its attribute `axistags` (ilastik's JSON), else from its
 * rank:
 *
 *   2  y x
 *   3  z y x
 *   4  z y x c when the last side is at most 4, else c z y x when the first is, else t z y x
 *   5  t z y x c when the last side is at most 4, else t c z y x
 *
 * and its spacing from the attribute `element_size_um` (z y x, micrometres), else from the tags'
 * `resolution` in the unit of the attribute `axis_units` (micrometres without one), else it is 1
 * mm.
 *
 * Integers and reals of every size and byte order are read (half precision as float32, more than
 * double precision as float64); enumerations such as h5py's bool count as their integers.
 *
 * Refused: soft and external links, data in external files, virtual data sets, filters other than
 * HDF5's own, sizes that what is stored cannot justify. The HDF5 library runs in a child process
 * (io/sandbox.h), because versions in use crash on damaged files; a crash is LOB_EDATA. This
 * process never calls HDF5 itself; a program that does, must not while another of its threads is in
 * here.
 *
 * Writing. ITK's layout, always three-dimensional, with `axistags` and `element_size_um` on
 * VoxelData, so that ITK, SimpleITK, ilastik, PlantSeg, Fiji and h5py open the file. A scaled
 * volume is stored as the values it stands for, float32 for small types and float64 for wide ones.
 * ITK's MetaData entries go from an HDF5 input to an HDF5 output unless strip_extensions asks for
 * their removal: numbers and strings, up to 1000 entries with names of up to 255 bytes, each with
 * up to 64 numbers or less than 64 KiB of text, less than 16 MiB in all. What is beyond that stays
 * behind, and lob_file_info has a warning with its number.
 */
#ifndef LOB_HDF5_H
#define LOB_HDF5_H

#include "io/format.h"

extern const lob_format lob_format_hdf5;

#endif
