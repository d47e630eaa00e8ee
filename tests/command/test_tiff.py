"""TIFF, ImageJ's and OME's: what tifffile writes is read, what is written tifffile reads."""

import itertools
import json
import os
import re

import nibabel
import numpy as np
import pytest
import tifffile
from conftest import assert_one_line, contents, good, load, lobule, refused, save
from PIL import Image

TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.float32, np.float64]
FEWER = 3 if os.environ.get("LOBULE_SANITIZED") else 1  # every so many of a list


def stack(shape, dtype=np.uint16, seed=0):
    """Numbers in the order z y x that tifffile has."""
    random = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return random.normal(0, 100, shape).astype(dtype)
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max, shape, dtype, endpoint=True)


def read(folder, name, *options):
    """Voxels as z y x (and channels in front), and spacing in mm, by way of NIfTI-1."""
    done = good("convert", name, "read.nii", "--force", *options, cwd=folder)
    image = nibabel.load(folder / "read.nii")
    voxels = np.asanyarray(image.dataobj)
    unit = {"mm": 1, "micron": 1e-3}[image.header.get_xyzt_units()[0]]
    if voxels.dtype.names:  # RGB24
        voxels = np.stack([voxels[name] for name in "RGB"], -1)
    elif voxels.ndim == 5:
        voxels = voxels[:, :, :, 0, :]
    return voxels.T, [float(z) * unit for z in image.header.get_zooms()[:3]], done.stderr


# ---- what tifffile writes -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*TYPES, np.uint64, np.int64][::FEWER], ids=lambda t: t.__name__)
def test_types(tmp_path, dtype):
    voxels = stack((3, 7, 11), dtype)
    tifffile.imwrite(tmp_path / "a.tif", voxels, byteorder=">", photometric="minisblack")
    got, spacing, notes = read(tmp_path, "a.tif")
    assert got.dtype == dtype and np.array_equal(got, voxels)
    assert spacing == [1, 1, 1] and "does not say how large its voxels are; 1 mm is taken" in notes
    _, spacing, notes = read(tmp_path, "a.tif", "--spacing", "2,3,4")
    assert spacing == [2, 3, 4] and notes == ""


STORAGE = [
    {},
    {"compression": "deflate"},
    {"rowsperstrip": 3},
    {"rowsperstrip": 3, "compression": "deflate"},
    {"tile": (16, 16)},
    {"bigtiff": True},
    {"bigtiff": True, "compression": "deflate", "tile": (16, 32)},
]
SHAPES = [((37, 41), np.float32), ((5, 37, 41), np.uint16), ((4, 37, 41, 3), np.uint8)]


@pytest.mark.parametrize("options", STORAGE[::FEWER], ids=[" ".join(map(str, row.items())) for row in STORAGE[::FEWER]])
@pytest.mark.parametrize("shape, dtype", SHAPES, ids=["page", "stack", "colours"])
def test_storage(tmp_path, options, shape, dtype):
    voxels = stack(shape, dtype)
    colours = len(shape) == 4
    tifffile.imwrite(tmp_path / "a.tif", voxels, photometric="rgb" if colours else "minisblack", **options)
    got, _, _ = read(tmp_path, "a.tif", "--threads", 2)
    assert np.array_equal(got, np.moveaxis(voxels, -1, 0) if colours else np.atleast_3d(voxels.T).T)


@pytest.mark.parametrize("predictor", [False, True])
@pytest.mark.parametrize("compression", ["tiff_lzw", "packbits", "tiff_adobe_deflate"])
def test_storage_of_pillow(tmp_path, compression, predictor):
    """What tifffile cannot compress by itself."""
    voxels = stack((3, 37, 41), np.uint8)
    pages = [Image.fromarray(page) for page in voxels]
    more = {"tiffinfo": {317: 2}} if predictor and compression != "packbits" else {}
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:], compression=compression, **more)
    assert np.array_equal(read(tmp_path, "a.tif")[0], voxels)


def test_pages_compressed_in_different_ways(tmp_path):
    voxels = np.zeros((6, 90, 80), np.uint16)
    voxels[:, 20:30, 20:40] = np.arange(1, 7)[:, None, None]
    with tifffile.TiffWriter(tmp_path / "a.tif") as out:
        for page, method in zip(voxels, [None, *["deflate"] * 5]):
            out.write(page, photometric="minisblack", metadata=None, compression=method)
    assert (tmp_path / "a.tif").stat().st_size < voxels.nbytes
    assert np.array_equal(read(tmp_path, "a.tif")[0], voxels)


UPRIGHT = {1: np.s_[:, :], 2: np.s_[:, ::-1], 3: np.s_[::-1, ::-1], 4: np.s_[::-1, :]}


@pytest.mark.parametrize("colours", [1, 3])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(tmp_path, orientation, colours):
    """Where the first pixel of a page lies: top left 1, top right 2, bottom right 3, bottom left 4."""
    voxels = stack((3, 7, 9, colours))
    with tifffile.TiffWriter(tmp_path / "a.tif") as out:
        for page in voxels:
            out.write(page if colours > 1 else page[..., 0], photometric="rgb" if colours > 1 else "minisblack", metadata=None,
                      extratags=[(274, 3, 1, orientation, True)])  # fmt: skip
    if orientation > 4:
        assert_one_line(lobule("convert", "a.tif", "no.nii", cwd=tmp_path), 65, "a.tif", "Orientation", "turn it upright")
        return
    got = read(tmp_path, "a.tif")[0].reshape(colours, 3, 7, 9)
    want = np.moveaxis(voxels, -1, 0)
    assert np.array_equal(got, want[(slice(None), slice(None), *UPRIGHT[orientation])])


@pytest.mark.parametrize("planar", ["contig", "separate"])
def test_samples(tmp_path, planar):
    """Numbers of a pixel are channels, whether they lie together or apart."""
    voxels = stack((3, 9, 8, 5) if planar == "contig" else (3, 5, 9, 8))
    tifffile.imwrite(tmp_path / "a.tif", voxels, photometric="minisblack", planarconfig=planar, rowsperstrip=4)
    got, _, _ = read(tmp_path, "a.tif")
    assert np.array_equal(got, np.moveaxis(voxels, -1, 0) if planar == "contig" else np.moveaxis(voxels, 1, 0))


@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif"])
def test_alpha_is_left_out(tmp_path, name):
    voxels = stack((5, 9, 8, 4), np.uint8)
    tifffile.imwrite(tmp_path / name, voxels, photometric="rgb", extrasamples=["unassalpha"], metadata={"axes": "ZYXS"})
    got, _, notes = read(tmp_path, name)
    assert np.array_equal(got, np.moveaxis(voxels[..., :3], -1, 0)) and "alpha channel is left out" in notes


def test_palette_is_labels(tmp_path):
    """Colours of a table are for the eye; the numbers are labels."""
    labels = stack((9, 8), np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", labels, photometric="palette", colormap=np.zeros((3, 256), np.uint16))
    assert np.array_equal(read(tmp_path, "a.tif")[0][0], labels)


def test_thumbnails_are_no_slices(tmp_path):
    voxels = stack((4, 30, 20))
    with tifffile.TiffWriter(tmp_path / "a.tif") as out:
        for page in voxels:
            out.write(page, photometric="minisblack", metadata=None)
            out.write(page[::4, ::4], subfiletype=1, photometric="minisblack", metadata=None)
    assert np.array_equal(read(tmp_path, "a.tif")[0], voxels)


UNITS = [("um", 1e-3), ("\\u00B5m", 1e-3), ("micron", 1e-3), ("nm", 1e-6), ("mm", 1), ("cm", 10), ("inch", 25.4),
         ("micrometres", 1e-3), ("angstrom", 1e-7), ("pixel", 1)]  # fmt: skip


@pytest.mark.parametrize("unit, mm", UNITS, ids=[row[0] for row in UNITS])
def test_imagej_spacing(tmp_path, unit, mm):
    voxels = stack((4, 7, 9))
    tifffile.imwrite(tmp_path / "a.tif", voxels, imagej=True, resolution=(1 / 0.1625, 1 / 0.33),
                     metadata={"spacing": 0.5, "unit": unit, "axes": "ZYX"})  # fmt: skip
    got, spacing, notes = read(tmp_path, "a.tif")
    assert np.array_equal(got, voxels)
    assert spacing == pytest.approx([0.1625 * mm, 0.33 * mm, 0.5 * mm], rel=1e-6)
    assert ("its numbers are taken for mm" in notes) == (unit == "pixel")


def test_a_unit_that_is_not_known_is_told_of(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", stack((4, 7, 9)), imagej=True, resolution=(2, 2), metadata={"spacing": 0.5, "unit": "furlong"})
    _, spacing, notes = read(tmp_path, "a.tif")
    assert spacing == pytest.approx([0.5, 0.5, 0.5]) and "'furlong' is not known as a unit of length; its numbers are taken for mm" in notes


@pytest.mark.parametrize("compression", [None, "deflate"])
def test_imagej_hyperstack(tmp_path, compression):
    """Frames, slices and channels, at the places that ImageJ gives them."""
    voxels = stack((3, 4, 2, 7, 9))
    tifffile.imwrite(tmp_path / "a.tif", voxels, imagej=True, compression=compression,
                     metadata={"axes": "TZCYX", "unit": "um", "spacing": 2})  # fmt: skip
    for frame in range(3):
        got, _, _ = read(tmp_path, "a.tif", "--frame", frame)
        assert np.array_equal(got, voxels[frame].transpose(1, 0, 2, 3))
    assert np.array_equal(read(tmp_path, "a.tif", "--frame", 2, "--channel", 1)[0], voxels[2, :, 1])
    assert_one_line(lobule("convert", "a.tif", "b.nii", cwd=tmp_path), 65, "a.tif: has 3 frames", "--frame")
    assert_one_line(lobule("convert", "a.tif", "b.nii", "--frame", 3, cwd=tmp_path), 65, "a.tif: has no frame 3")


@pytest.mark.parametrize("byteorder", "<>")
def test_planes_behind_one_page(tmp_path, byteorder):
    """ImageJ describes stacks beyond 4 GiB by their first page alone."""
    voxels = stack((6, 7, 9))
    text = "ImageJ=1.53t\nimages=6\nslices=6\nunit=micron\nspacing=3.0\n"
    tifffile.imwrite(tmp_path / "a.tif", voxels[0], description=text, metadata=None, byteorder=byteorder,
                     photometric="minisblack", resolution=(2, 2))  # fmt: skip
    with (tmp_path / "a.tif").open("rb") as file:
        where = tifffile.TiffFile(file).pages[0].dataoffsets[0]
    raw = (tmp_path / "a.tif").read_bytes()
    head = raw[:where] + raw[where + voxels[0].nbytes :]
    assert len(head) == where, "the voxels are at the end"
    (tmp_path / "a.tif").write_bytes(head + voxels.astype(byteorder + "u2").tobytes())
    got, spacing, _ = read(tmp_path, "a.tif")
    assert np.array_equal(got, voxels) and spacing == pytest.approx([5e-4, 5e-4, 3e-3])
    (tmp_path / "b.tif").write_bytes(head + voxels.tobytes()[:-2])
    assert_one_line(lobule("info", "b.tif", cwd=tmp_path), 65, "b.tif")


def test_imagej_calibration(tmp_path):
    """A straight line from numbers to values, as ImageJ keeps signed numbers."""
    voxels = stack((5, 6))
    text = "ImageJ=1.53t\ncf=0\nc0=-32768.0\nc1=1.0\nvunit=gray value\n"
    tifffile.imwrite(tmp_path / "a.tif", voxels, description=text, metadata=None)
    assert np.array_equal(np.asanyarray(nibabel_of(tmp_path, "a.tif").dataobj)[..., 0].T, voxels.astype(float) - 32768)


def nibabel_of(folder, name):
    good("convert", name, "values.nii", "--type", "float32", "--force", cwd=folder)
    return nibabel.load(folder / "values.nii")


ORDERS = ["".join(order) for order in itertools.permutations("TZC")]


@pytest.mark.parametrize("axes", ORDERS[::FEWER])
def test_ome_orders(tmp_path, axes):
    """Whatever order its pages have, OME's text says which is which."""
    sides = {"T": 2, "Z": 3, "C": 4}
    voxels = stack((*(sides[a] for a in axes), 7, 9))
    tifffile.imwrite(tmp_path / "a.ome.tif", voxels, metadata={"axes": axes + "YX"}, photometric="minisblack")
    got, _, _ = read(tmp_path, "a.ome.tif", "--frame", 1)
    assert np.array_equal(got, voxels.transpose(*(axes.index(a) for a in "TCZ"), 3, 4)[1])


@pytest.mark.parametrize("unit, mm", [*UNITS[:-1], (None, 1e-3)], ids=[str(row[0]) for row in [*UNITS[:-1], (None, 0)]])
def test_ome_spacing(tmp_path, unit, mm):
    unit = {"um": "µm", "\\u00B5m": "µm", "micron": "µm", "inch": "in"}.get(unit, unit)
    units = {f"PhysicalSize{a}Unit": unit for a in "XYZ"} if unit else {}
    tifffile.imwrite(tmp_path / "a.ome.tif", stack((3, 7, 9)), photometric="minisblack", metadata={"axes": "ZYX",
                     "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.25, "PhysicalSizeZ": 1.5, **units})  # fmt: skip
    assert read(tmp_path, "a.ome.tif")[1] == pytest.approx([0.5 * mm, 0.25 * mm, 1.5 * mm], rel=1e-6)


def test_ome_unit_as_a_reference(tmp_path):
    """Python's ElementTree writes what is not ASCII so; a comment's Pixels are none."""
    text = ('<?xml version="1.0"?><OME><!-- <Pixels SizeZ="9"/> --><Image Name="a > b"><Pixels SizeX="9" SizeY="7" SizeZ="3" SizeC="1" '
            'SizeT="1" DimensionOrder="XYZCT" PhysicalSizeX="500" PhysicalSizeXUnit="&#181;m"></Pixels></Image></OME>')  # fmt: skip
    voxels = stack((3, 7, 9))
    tifffile.imwrite(tmp_path / "a.tif", voxels, description=text, metadata=None, photometric="minisblack")
    got, spacing, notes = read(tmp_path, "a.tif")
    assert np.array_equal(got, voxels) and spacing[0] == pytest.approx(0.5, rel=1e-6)
    assert "unit" not in notes


def test_ome_colours(tmp_path):
    voxels = stack((4, 7, 9, 3), np.uint8)
    tifffile.imwrite(tmp_path / "a.ome.tif", voxels, photometric="rgb", metadata={"axes": "ZYXS"})
    assert np.array_equal(read(tmp_path, "a.ome.tif")[0], np.moveaxis(voxels, -1, 0))


def test_ome_pages_in_no_order(tmp_path):
    """A TiffData for every plane, as Bio-Formats writes it."""
    voxels = stack((5, 7, 9))
    order = np.random.default_rng(3).permutation(5)
    data = "".join(f'<TiffData FirstZ="{z}" IFD="{i}"><UUID FileName="a.ome.tif">u</UUID></TiffData>' for i, z in enumerate(order))
    text = ('<?xml version="1.0"?><!-- a comment --><ome:OME xmlns:ome="x"><ome:Image><ome:Pixels SizeX="9" SizeY="7" SizeZ="5" '
            f'SizeC="1" SizeT="1" DimensionOrder=\'XYZCT\' Type="uint16">{data}</ome:Pixels></ome:Image></ome:OME>')  # fmt: skip
    with tifffile.TiffWriter(tmp_path / "a.tif") as out:
        for i, z in enumerate(order):
            out.write(voxels[z], description=text if i == 0 else None, metadata=None, photometric="minisblack")
    assert np.array_equal(read(tmp_path, "a.tif")[0], voxels)


@pytest.mark.parametrize("named", [True, False], ids=["each page named", "in their order"])
def test_ome_pages_are_numbered_with_thumbnails(tmp_path, named):
    """IFD counts every page of the file, thumbnails among them."""
    voxels = stack((4, 30, 20))
    data = "".join(f'<TiffData FirstZ="{z}" IFD="{2 * z + 1}"/>' for z in range(4)) if named else '<TiffData PlaneCount="4"/>'
    text = ('<OME><Image><Pixels SizeX="20" SizeY="30" SizeZ="4" SizeC="1" SizeT="1" DimensionOrder="XYCZT" Type="uint16">'
            f"{data}</Pixels></Image></OME>")  # fmt: skip
    with tifffile.TiffWriter(tmp_path / "a.tif") as out:
        for page in voxels:
            out.write(page[::4, ::4], subfiletype=1, photometric="minisblack", metadata=None, description=text)
            out.write(page, photometric="minisblack", metadata=None, description=text)
    assert np.array_equal(read(tmp_path, "a.tif")[0], voxels)


@pytest.mark.parametrize("pages", [6, 3])
def test_ome_pages_left_out_are_told(tmp_path, pages):
    """SizeC is lost, so the text tells of half of the pages."""
    text = ('<OME><Image><Pixels SizeX="9" SizeY="7" SizeZ="3" SizeT="1" DimensionOrder="XYZCT" Type="uint16">'
            "<TiffData/></Pixels></Image></OME>")  # fmt: skip
    voxels = stack((pages, 7, 9))
    tifffile.imwrite(tmp_path / "a.tif", voxels, description=text, metadata=None, photometric="minisblack")
    got, _, notes = read(tmp_path, "a.tif")
    assert np.array_equal(got, voxels[:3])
    assert ("a.tif: its first image has 3 planes; its other 3 pages are left out" in notes) == (pages == 6)


@pytest.mark.parametrize("unit, mm", [("INCH", 25.4), ("CENTIMETER", 10)])
def test_plain_resolution(tmp_path, unit, mm):
    tifffile.imwrite(tmp_path / "a.tif", stack((3, 7, 9)), resolution=(100, 200), resolutionunit=unit, metadata=None,
                     photometric="minisblack")  # fmt: skip
    _, spacing, notes = read(tmp_path, "a.tif")
    assert spacing == pytest.approx([mm / 100, mm / 200, mm / 100])
    assert "does not say how far apart its pages are" in notes
    told = good("stats", "a.tif", "a.tif", cwd=tmp_path).stderr  # a file that is read twice
    assert told.count("does not say how far apart its pages are") == 1


# ---- what is written ----------------------------------------------------------------------------


def written(folder, voxels, name, *options, spacing=(0.3, 0.4, 2.5)):
    save(voxels, folder / "in.nii", affine=np.diag([*spacing, 1]))
    good("convert", "in.nii", name, "--force", *options, cwd=folder)
    return tifffile.TiffFile(folder / name)


@pytest.mark.parametrize("dtype", TYPES[::FEWER], ids=lambda t: t.__name__)
@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif"])
def test_written(tmp_path, dtype, name):
    voxels = stack((9, 7, 5), dtype)
    with written(tmp_path, voxels, name) as file:
        assert file.is_ome == (name == "a.ome.tif") and file.is_imagej == (name != "a.ome.tif")
        assert file.series[0].axes == "ZYX" and file.series[0].dtype == dtype
        assert np.array_equal(file.asarray(), voxels.T)
        if file.is_imagej:
            x, y = (file.pages[0].tags[tag].value for tag in ("XResolution", "YResolution"))
            assert file.imagej_metadata["unit"] == "mm" and file.imagej_metadata["spacing"] == 2.5
            assert (x[1] / x[0], y[1] / y[0]) == pytest.approx((0.3, 0.4), rel=1e-6)
        else:
            pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            assert [pixels[f"PhysicalSize{a}"] for a in "XYZ"] == pytest.approx([0.3, 0.4, 2.5], rel=1e-6)
            assert {pixels[f"PhysicalSize{a}Unit"] for a in "XYZ"} == {"mm"}
    got, spacing, notes = read(tmp_path, name)
    assert np.array_equal(got.T, voxels) and spacing == pytest.approx([0.3, 0.4, 2.5], rel=1e-6) and not notes


@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif"])
def test_written_in_micrometres(tmp_path, name):
    with written(tmp_path, stack((9, 7, 5)), name, spacing=(1.625e-4, 2e-4, 5e-4)) as file:
        if file.is_imagej:
            assert file.imagej_metadata["unit"] == "micron" and file.imagej_metadata["spacing"] == pytest.approx(0.5)
        else:
            pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            assert pixels["PhysicalSizeX"] == pytest.approx(0.1625) and "PhysicalSizeXUnit" not in pixels
    assert read(tmp_path, name)[1] == pytest.approx([1.625e-4, 2e-4, 5e-4], rel=1e-6)


@pytest.mark.parametrize("name", ["a.tif", "a.ome.tif"])
def test_written_channels(tmp_path, name):
    voxels = stack((9, 7, 5, 1, 3), np.uint16)
    with written(tmp_path, voxels, name) as file:
        assert file.series[0].axes == "ZCYX"
        assert np.array_equal(file.asarray(), voxels[:, :, :, 0].transpose(2, 3, 1, 0))
    assert np.array_equal(read(tmp_path, name)[0].T, voxels[:, :, :, 0])


def test_written_labels(tmp_path):
    """Labels have no sign, so that programs show them as they are."""
    for top, dtype in ((200, np.uint8), (3000, np.uint16), (70000, np.uint32)):
        labels = np.random.default_rng(1).integers(0, top, (9, 7, 5)).astype(np.int32)
        labels[0, 0, 0] = top
        with written(tmp_path, labels, "labels.tif", "--labels") as file:
            assert file.asarray().dtype == dtype and np.array_equal(file.asarray(), labels.T)
        assert np.array_equal(load_labels(tmp_path, "labels.tif"), labels)


def load_labels(folder, name):
    good("convert", "--labels", name, "back.nii", "--force", cwd=folder)
    return load(folder / "back.nii")


def test_written_pages_of_many_strips(tmp_path):
    """Threads do not matter, and neither does how pages are cut."""
    voxels = stack((1003, 501, 4), np.uint16)
    voxels[:, 100:300] = 7
    files = set()
    for threads in (1, 2, 5):
        with written(tmp_path, voxels, "a.tif", "--threads", threads) as file:
            assert len(file.pages[0].dataoffsets) > 3 and np.array_equal(file.asarray(), voxels.T)
        files.add((tmp_path / "a.tif").read_bytes())
    assert len(files) == 1
    assert np.array_equal(read(tmp_path, "a.tif", "--threads", 3)[0].T, voxels)


def test_written_large(tmp_path):
    """Offsets of 64 bits where the name asks for them."""
    voxels = stack((9, 7, 5))
    with written(tmp_path, voxels, "a.btf") as file:
        assert file.is_bigtiff and file.is_imagej and np.array_equal(file.asarray(), voxels.T)
    assert np.array_equal(read(tmp_path, "a.btf")[0].T, voxels)


def test_many_pages(tmp_path):
    """Time grows with the number of pages, not with its square."""
    voxels = stack((3, 2, 6000), np.uint8)
    with written(tmp_path, voxels, "a.tif") as file:
        assert len(file.pages) == 6000
    assert np.array_equal(read(tmp_path, "a.tif")[0].T, voxels)


def test_commands_on_a_stack(tmp_path):
    """From a stack to labels that open beside it."""
    voxels = np.zeros((6, 20, 24), np.uint16)
    voxels[1:3, 2:8, 3:9] = voxels[3:5, 12:18, 14:20] = 1000
    tifffile.imwrite(tmp_path / "cells.tif", voxels, imagej=True, resolution=(2, 2),
                     metadata={"spacing": 1.5, "unit": "um", "axes": "ZYX"})  # fmt: skip
    good("components", "cells.tif", "-o", "labels.tif", "--table", "cells.tsv", cwd=tmp_path)
    with tifffile.TiffFile(tmp_path / "labels.tif") as file:
        assert file.imagej_metadata["unit"] == "micron" and file.imagej_metadata["spacing"] == 1.5
        assert set(np.unique(file.asarray())) == {0, 1, 2}
    names = (tmp_path / "cells.tsv").read_text().splitlines()[0].split("\t")
    assert "volume_um3" in names
    good("stats", "cells.tif", "labels.tif", cwd=tmp_path)
    about = json.loads(good("info", "labels.tif", "--json", cwd=tmp_path).stdout)
    assert "ImageJ TIFF" in json.dumps(about)


# ---- what is refused ----------------------------------------------------------------------------


def make(folder, name="bad.tif", **options):
    tifffile.imwrite(folder / name, stack((4, 30, 20)), photometric="minisblack", **options)
    return bytearray((folder / name).read_bytes())


def directories(raw):
    """Where each directory of a little-endian classic TIFF begins, and where the next one's place stands."""
    at, found = int.from_bytes(raw[4:8], "little"), []
    while at:
        entries = int.from_bytes(raw[at : at + 2], "little")
        found.append((at, at + 2 + 12 * entries))
        at = int.from_bytes(raw[found[-1][1] :][:4], "little")
    return found


def entry(raw, tag, page=0):
    """Where the entry of a tag begins."""
    at, end = directories(raw)[page]
    return next(i for i in range(at + 2, end, 12) if int.from_bytes(raw[i : i + 2], "little") == tag)


def put(raw, at, value, size=4):
    raw[at : at + size] = value.to_bytes(size, "little")
    return raw


def chained(raw, page, to):
    return put(raw, directories(raw)[page][1], to)


HOSTILE = [
    ("four bytes", lambda raw: raw[:4]),
    ("a header alone", lambda raw: raw[:8]),
    ("cut in half", lambda raw: raw[: len(raw) // 2]),
    ("the last byte missing", lambda raw: raw[:-1]),
    ("a chain to nowhere", lambda raw: put(raw, 4, 1 << 31)),
    ("a chain to itself", lambda raw: chained(raw, 0, directories(raw)[0][0])),
    ("a chain in a circle", lambda raw: chained(raw, 3, directories(raw)[1][0])),
    ("a chain beyond the file", lambda raw: chained(raw, 2, len(raw) + 100)),
    ("a directory of 65535 entries", lambda raw: put(raw, directories(raw)[0][0], 65535, 2)),
    ("a directory of none", lambda raw: put(raw, directories(raw)[0][0], 0, 2)),
    ("4 billion rows", lambda raw: put(raw, entry(raw, 257) + 2, (1 << 32) | 4 | (0xFFFFFFF0 << 48), 10)),
    ("a width of 0", lambda raw: put(raw, entry(raw, 256) + 8, 0)),
    ("2 billion strips", lambda raw: put(raw, entry(raw, 273) + 4, 1 << 31)),
    ("strips beyond the file", lambda raw: put(raw, entry(raw, 273) + 8, 1 << 31)),
    ("a strip of 4 GB", lambda raw: put(raw, entry(raw, 279) + 8, 0xFFFFFFFF)),
    ("a strip of no bytes", lambda raw: put(raw, entry(raw, 279) + 8, 0)),
    ("60000 samples", lambda raw: put(raw, entry(raw, 277) + 8, 60000)),
    ("12 bits", lambda raw: put(raw, entry(raw, 258) + 8, 12)),
    ("a compression of no name", lambda raw: put(raw, entry(raw, 259) + 8, 4711)),
    ("JPEG", lambda raw: put(raw, entry(raw, 259) + 8, 7)),
    ("YCbCr", lambda raw: put(raw, entry(raw, 262) + 8, 6)),
    ("complex numbers", lambda raw: put(raw, entry(raw, 339) + 8, 5) if b"\x53\x01\x03\0" in raw else raw[:9]),
    ("a page of another size", lambda raw: put(raw, entry(raw, 257, 2) + 8, 29)),
]


HARMLESS = ("the last byte missing", "a strip of 4 GB", "a strip of no bytes")


@pytest.mark.parametrize("what, change", HOSTILE, ids=[row[0] for row in HOSTILE])
@pytest.mark.parametrize("compression", [None, "deflate"], ids=["plain", "deflate"])
def test_hostile(tmp_path, compression, what, change):
    raw = make(tmp_path, compression=compression, metadata=None)
    (tmp_path / "bad.tif").write_bytes(change(raw))
    before = contents(tmp_path)
    done = lobule("convert", "bad.tif", "out.nii", cwd=tmp_path, timeout=20)
    if done.returncode == 0:  # the damage is none: libtiff knows how long a plain strip is
        assert what in HARMLESS and np.array_equal(load(tmp_path / "out.nii").T, stack((4, 30, 20)))
        return
    assert_one_line(done, 65, "bad.tif: ")
    assert contents(tmp_path) == before


def bomb(folder):
    """A page of 60000 x 60000 pixels in one strip that inflates to a few bytes."""
    raw = make(folder, compression="deflate", metadata=None, rowsperstrip=30)
    for page in range(4):
        for tag in (256, 257, 278):
            at = entry(raw, tag, page)
            put(raw, at + 2, 4, 2)
            put(raw, at + 8, 60000)
    return raw


def many_directories(folder):
    """Directories that overlap: a chain of many, in few bytes."""
    raw = bytearray(b"II*\0\x08\0\0\0" + b"\0" * 60000)
    for at in range(8, 50000, 2):
        put(raw, at, at + 2 if at % 4 else 1)
    return raw


OME = '<OME><Image><Pixels SizeX="20" SizeY="30" SizeZ="{z}" SizeC="{c}" SizeT="1" DimensionOrder="{order}">{data}</Pixels></Image></OME>'


def described(text):
    def change(folder):
        with tifffile.TiffWriter(folder / "bad.tif") as out:
            for page in stack((4, 30, 20)):
                out.write(page, description=text, metadata=None, photometric="minisblack")
        return bytearray((folder / "bad.tif").read_bytes())

    return change


def ome(z=4, c=1, order="XYZCT", data=""):
    return described(OME.format(z=z, c=c, order=order, data=data))


TALES = [
    ("a bomb", bomb, "more than a file of"),
    ("directories that overlap", many_directories, "bad.tif"),
    ("ImageJ with too many slices", described("ImageJ=1.5\nimages=4\nslices=5\n"), "ImageJ's lines tell of"),
    ("ImageJ with a billion frames", described("ImageJ=1.5\nimages=4\nframes=1e9\n"), "ImageJ's lines tell of"),
    ("ImageJ with slices below 0", described("ImageJ=1.5\nslices=-4\nframes=-1\n"), "ImageJ's lines tell of"),
    ("OME with too many slices", ome(z=5), "OME text tells of 5 planes"),
    ("OME with sizes that overflow", ome(z=4000000000, c=9000000000), "bad.tif"),
    ("OME with a size of 0", ome(z=0), "sizes that are no sizes"),
    ("OME without an order", ome(order="XYZZT"), "order of dimensions"),
    ("OME with a plane beyond", ome(data='<TiffData IFD="0" FirstZ="4"/>'), "beyond its sizes"),
    ("OME with a page below 0", ome(data='<TiffData IFD="-1"/>'), "beyond its sizes"),
    ("OME with a page that is not there", ome(data='<TiffData IFD="3" PlaneCount="4"/>'), "no page for plane"),
    ("OME that places planes twice", ome(data='<TiffData IFD="0" PlaneCount="4"/>' * 3), "places planes twice"),
    ("OME of several files", ome(data="".join(f'<TiffData IFD="{i}" FirstZ="{i}"><UUID FileName="{i}.tif"/></TiffData>'
                                             for i in range(4))), "in several files"),
    ("OME without pixels", described('<OME><BinaryOnly MetadataFile="x.companion.ome"/></OME>'), "describes no pixels"),
    ("OME that ends in a tag", described('<OME><Image><Pixels SizeZ="4'), "bad.tif"),
]  # fmt: skip


@pytest.mark.parametrize("what, change, words", TALES, ids=[row[0] for row in TALES])
def test_tales(tmp_path, what, change, words):
    raw = change(tmp_path)
    (tmp_path / "bad.tif").write_bytes(raw)
    refused(tmp_path, ["convert", "bad.tif", "out.nii"], 65, "bad.tif: ", words, timeout=20)


def test_memory_limit(tmp_path):
    make(tmp_path, "big.tif", compression="deflate")
    assert_one_line(lobule("convert", "big.tif", "o.nii", "--max-memory", "4KiB", cwd=tmp_path), 75, "big.tif: needs")


def test_what_does_not_fit(tmp_path):
    save(stack((4, 5, 6), np.int16), tmp_path / "scaled.nii", scale=(2.0, 1.0))
    assert_one_line(lobule("convert", "scaled.nii", "a.tif", cwd=tmp_path), 65, "a.tif: TIFF has no scale")
    save(stack((4, 5, 6), np.int64), tmp_path / "wide.nii")
    assert_one_line(lobule("convert", "wide.nii", "a.ome.tif", cwd=tmp_path), 65, "a.ome.tif: OME knows no numbers of 64 bits")
    good("convert", "wide.nii", "a.tif", cwd=tmp_path)
    assert not re.search("a.ome", " ".join(contents(tmp_path)))
