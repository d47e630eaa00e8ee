"""The bad-input table: each row a sentence, an exit code, one line on stderr, and no trace left."""

import gzip
import os
import struct

import h5py
import nibabel
import numpy as np
import pytest
from conftest import AFFINE, SHAPE, assert_one_line, contents, good, load, lobule, refused, save, scan_array, seeds_array

# ---- files that are no sound volumes ------------------------------------------------------------

# offset in a NIfTI-1 header and struct code of what stands there
FIELDS = {
    "sizeof_hdr": (0, "i"),
    "ndim": (40, "h"),
    "nx": (42, "h"),
    "ny": (44, "h"),
    "nz": (46, "h"),
    "nt": (48, "h"),
    "datatype": (70, "h"),
    "bitpix": (72, "h"),
    "dx": (80, "f"),
    "vox_offset": (108, "f"),
    "scl_slope": (112, "f"),
    "scl_inter": (116, "f"),
    "sform_code": (254, "h"),
    "qform_code": (252, "h"),
    "srow_x0": (280, "f"),
    "srow_x3": (292, "f"),
    "magic": (344, "4s"),
}


def patched(**values):
    """A maker of image.nii with header fields replaced."""

    def make(folder):
        raw = bytearray((folder / "image.nii").read_bytes())
        for name, value in values.items():
            offset, code = FIELDS[name]
            struct.pack_into("<" + code, raw, offset, value)
        (folder / "bad.nii").write_bytes(raw)
        return "bad.nii"

    return make


def with_bytes(name, change):
    """A maker of a file whose bytes are change(bytes of image.nii[.gz])."""

    def make(folder):
        source = "image.nii.gz" if name.endswith(".gz") else "image.nii"
        (folder / name).write_bytes(change((folder / source).read_bytes()))
        return name

    return make


def flip(raw, at):
    return raw[:at] + bytes([raw[at] ^ 0x55]) + raw[at + 1 :]


def saved(array, name="bad.nii", **more):
    def make(folder):
        save(array, folder / name, **more)
        return name

    return make


def header_only_claim(folder):
    """A kilobyte that claims 32767^3 voxels of 8 bytes."""
    raw = bytearray((folder / "image.nii").read_bytes()[:1024])
    for name, value in {"nx": 32767, "ny": 32767, "nz": 32767, "datatype": 64, "bitpix": 64}.items():
        offset, code = FIELDS[name]
        struct.pack_into("<" + code, raw, offset, value)
    with gzip.open(folder / "bad.nii.gz", "wb") as out:
        out.write(raw)
    return "bad.nii.gz"


def nifti2_overflow(folder):
    """Sides whose product does not fit in 64 bits."""
    volume = nibabel.Nifti2Image(np.zeros((4, 4, 4), np.uint8), AFFINE)
    nibabel.save(volume, folder / "bad.nii")
    raw = bytearray((folder / "bad.nii").read_bytes())
    struct.pack_into("<8q", raw, 16, 3, 1 << 31, 1 << 31, 1 << 31, 1, 1, 1, 1)
    (folder / "bad.nii").write_bytes(raw)
    return "bad.nii"


def nifti2_negative_offset(folder):
    volume = nibabel.Nifti2Image(np.zeros((4, 4, 4), np.uint8), AFFINE)
    nibabel.save(volume, folder / "bad.nii")
    raw = bytearray((folder / "bad.nii").read_bytes())
    struct.pack_into("<q", raw, 168, -(1 << 40))
    (folder / "bad.nii").write_bytes(raw)
    return "bad.nii"


def lonely_header(folder):
    nibabel.save(nibabel.Nifti1Pair(scan_array(), AFFINE), folder / "bad.hdr")
    os.remove(folder / "bad.img")
    return "bad.hdr"


def a_folder(folder):
    (folder / "bad.nii").mkdir()
    return "bad.nii"


def a_pipe(folder):
    os.mkfifo(folder / "bad.nii")
    return "bad.nii"


def dangling(folder):
    os.symlink("nowhere.nii", folder / "bad.nii")
    return "bad.nii"


def h5_file(fill, inside=""):
    def make(folder):
        with h5py.File(folder / "bad.h5", "w") as file:
            fill(file)
        return "bad.h5" + inside

    return make


def tiff_file(change):
    """Two pages of one pixel each, the last directory's link at the end."""

    def directory(at):
        entries = [(256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 8), (278, 1), (279, 1)]
        body = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries)
        return struct.pack("<H", len(entries)) + body + struct.pack("<I", at)

    def make(folder):
        one = directory(0)
        raw = b"II*\0" + struct.pack("<I", 10) + b"\7\0" + directory(10 + len(one)) + one
        (folder / "bad.tif").write_bytes(change(raw))
        return "bad.tif"

    return make


def h5_truncated(folder):
    with h5py.File(folder / "whole.h5", "w") as file:
        file["raw"] = scan_array()
    raw = (folder / "whole.h5").read_bytes()
    (folder / "bad.h5").write_bytes(raw[: len(raw) // 2])
    return "bad.h5"


BROKEN = [
    ("an empty file", with_bytes("bad.nii", lambda raw: b""), 65, ""),
    ("a single byte", with_bytes("bad.nii", lambda raw: b"\x5c"), 65, ""),
    ("text", with_bytes("bad.nii", lambda raw: b"patient,age\n1,2\n" * 40), 65, ""),
    ("half a header", with_bytes("bad.nii", lambda raw: raw[:200]), 65, ""),
    ("a header and no voxels", with_bytes("bad.nii", lambda raw: raw[:352]), 65, ""),
    ("voxels cut off", with_bytes("bad.nii", lambda raw: raw[:-100]), 65, ""),
    ("one voxel byte missing", with_bytes("bad.nii", lambda raw: raw[:-1]), 65, ""),
    ("gzip cut off", with_bytes("bad.nii.gz", lambda raw: raw[: len(raw) // 2]), 65, ""),
    ("gzip without its last byte", with_bytes("bad.nii.gz", lambda raw: raw[:-1]), 65, ""),
    ("gzip header alone", with_bytes("bad.nii.gz", lambda raw: raw[:10]), 65, ""),
    ("a wrong CRC", with_bytes("bad.nii.gz", lambda raw: flip(raw, -8 % len(raw))), 65, ""),
    ("a wrong gzip length", with_bytes("bad.nii.gz", lambda raw: flip(raw, len(raw) - 4)), 65, ""),
    ("a flipped byte in the deflated data", with_bytes("bad.nii.gz", lambda raw: flip(raw, len(raw) // 2)), 65, ""),
    ("gzip inside gzip", with_bytes("bad.nii.gz", lambda raw: gzip.compress(raw)), 65, ""),
    ("dim[0] of 200", patched(ndim=200), 65, "dim"),
    ("dim[0] of 0", patched(ndim=0), 65, "dim"),
    ("dim[0] of -3", patched(ndim=-3), 65, "dim"),
    ("a side of 0", patched(nx=0), 65, ""),
    ("a negative side", patched(ny=-19), 65, ""),
    ("more voxels claimed than the file holds", patched(nz=12), 65, ""),
    ("a terabyte claimed by a kilobyte", header_only_claim, 65, "compressed"),
    ("sides whose product overflows", nifti2_overflow, 65, ""),
    ("an offset below 0 in NIfTI-2", nifti2_negative_offset, 65, ""),
    ("an offset that is NaN", patched(vox_offset=float("nan")), 65, "offset"),
    ("an infinite offset", patched(vox_offset=float("inf")), 65, "offset"),
    ("a negative offset", patched(vox_offset=-352.0), 65, "offset"),
    ("an offset beyond the file", patched(vox_offset=1e9), 65, ""),
    ("an unknown voxel type", patched(datatype=3), 65, "datatype"),
    ("complex voxels", patched(datatype=32, bitpix=64, nz=2), 65, "complex"),
    ("no magic", patched(magic=b"abcd"), 65, ""),
    ("a header whose image file is missing", lonely_header, 66, "bad.img"),
    ("a folder", a_folder, 66, "folder"),
    ("a pipe", a_pipe, 66, ""),
    ("a link to nowhere", dangling, 66, ""),
    ("no such file", lambda folder: "bad.nii", 66, ""),
    ("several frames", saved(np.zeros((*SHAPE, 3), np.int16)), 65, "--frame"),
    ("half a TIFF", tiff_file(lambda raw: raw[: len(raw) // 2]), 65, ""),
    ("TIFF whose chain of pages is a circle", tiff_file(lambda raw: raw[:-4] + raw[4:8]), 65, ""),
    ("half an HDF5 file", h5_truncated, 65, ""),
    ("HDF5 without a data set", h5_file(lambda file: file.create_group("empty")), 65, ""),
    ("no such data set", h5_file(lambda file: file.create_dataset("raw", data=scan_array()), ":/nope"), 65, "nope"),
    ("strings in HDF5", h5_file(lambda file: file.create_dataset("raw", data=np.array([b"a", b"b"]))), 65, ""),
]

CUT = ["supervoxels", "image.nii.gz", "-o", "out.nii.gz", "--size", "8vox"]
PLACES = {
    "converted": lambda bad: ["convert", bad, "out.nii.gz"],
    "as image": lambda bad: ["growcut", bad, "seeds.nii.gz", "-o", "out.nii.gz"],
    "as seeds": lambda bad: ["growcut", "image.nii.gz", bad, "-o", "out.nii.gz"],
    "as strokes": lambda bad: ["appearance", "image.nii.gz", bad, "-o", "out.nii.gz"],
    "as view of strokes": lambda bad: ["appearance", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--view", bad],
    "as labels to refine": lambda bad: ["refine", bad, "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz"],
    "its distances": lambda bad: ["distance", bad, "-o", "out.nii.gz"],
    "its maxima": lambda bad: ["maxima", bad, "-o", "out.nii.gz"],
    "registered": lambda bad: ["register", bad, "image.nii.gz", "-o", "out.nii.gz"],
    "as moving scan": lambda bad: ["register", "image.nii.gz", bad, "-o", "out.nii.gz"],
    "warped": lambda bad: ["warp", bad, "image.nii.gz", "--like", "image.nii.gz", "-o", "out.nii.gz"],
    "as field": lambda bad: ["warp", "image.nii.gz", bad, "--like", "image.nii.gz", "-o", "out.nii.gz"],
    "its cells": lambda bad: ["cells", bad, "-o", "out.nii.gz", "--size", "8vox"],
    "as basins": lambda bad: ["merge", bad, "image.nii.gz", "-o", "out.nii.gz", "--height", "1"],
    "as what was flooded": lambda bad: ["merge", "seeds.nii.gz", bad, "-o", "out.nii.gz", "--height", "1"],
    "as scan of a fusion": lambda bad: ["fuse", bad, "--atlas", "image.nii.gz,seeds.nii.gz", "-o", "out.nii.gz"],
    "as an atlas": lambda bad: ["fuse", "image.nii.gz", "--atlas", f"{bad},seeds.nii.gz", "-o", "out.nii.gz"],
    "as labels of an atlas": lambda bad: ["fuse", "image.nii.gz", "--atlas", f"image.nii.gz,{bad}", "-o", "out.nii.gz"],
    "its pieces": lambda bad: ["components", bad, "-o", "out.nii.gz"],
    "its pieces by planes": lambda bad: ["components", bad, "-o", "out.nii.gz", "--max-memory", "45KiB"],
    "cut": lambda bad: ["supervoxels", bad, "-o", "out.nii.gz", "--size", "8vox"],
    "as labels to clean": lambda bad: ["labels", bad, "-o", "out.nii.gz", "--largest", "1"],
    "as mask of labels": lambda bad: ["labels", "seeds.nii.gz", "-o", "out.nii.gz", "--split", "--mask", bad],
    "as mask of a cut": lambda bad: [*CUT, "--mask", bad],
    "as truth": lambda bad: ["compare", "--supervoxels", bad, "seeds.nii.gz"],
    "as supervoxels": lambda bad: ["compare", "--supervoxels", "seeds.nii.gz", bad],
    "filtered": lambda bad: ["filter", bad, "-o", "out.nii.gz", "--box", "1"],
    "as mask of a filter": lambda bad: ["filter", "image.nii.gz", "-o", "out.nii.gz", "--box", "1", "--mask", bad],
    "cut by a threshold": lambda bad: ["threshold", bad, "-o", "out.nii.gz"],
    "as mask of a threshold": lambda bad: ["threshold", "image.nii.gz", "-o", "out.nii.gz", "--mask", bad],
    "as their image": lambda bad: ["compare", "--supervoxels", "seeds.nii.gz", "seeds.nii.gz", "--image", bad],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what, make, code, part", BROKEN, ids=[row[0] for row in BROKEN])
def test_broken_file(folder, what, make, code, part, place):
    if what == "several frames" and place in ("filtered", "converted"):
        pytest.skip("every frame of a series is filtered, and converted")
    bad = make(folder)
    before = contents(folder)
    done = lobule(*PLACES[place](bad), cwd=folder, timeout=60)
    name = bad.split(":/")[0].rsplit(".", 1)[0]
    assert_one_line(done, code, name, part)
    assert contents(folder) == before


# Nonsense in a header that has an agreed meaning: the file is read as if the field were empty.
TOLERATED = [
    ("an offset inside the header", patched(vox_offset=100.0)),
    ("a scale that is NaN", patched(scl_slope=float("nan"), scl_inter=2.0)),
    ("an infinite scale", patched(scl_slope=float("inf"))),
]


@pytest.mark.parametrize("what, make", TOLERATED, ids=[row[0] for row in TOLERATED])
def test_tolerated_file(folder, what, make):
    """Values and labels are those of the file without the nonsense."""
    bad = make(folder)
    good("convert", bad, "values.nii", "--type", "float32", cwd=folder)
    assert np.array_equal(load(folder / "values.nii"), scan_array())
    for image, seeds in ((bad, "seeds.nii.gz"), ("image.nii.gz", bad)):
        good("growcut", image, seeds, "-o", "bad_labels.nii.gz", "--force", "--trust-seeds", cwd=folder)
        sound = [name.replace(bad, "image.nii") for name in (image, seeds)]
        good("growcut", *sound, "-o", "labels.nii.gz", "--force", "--trust-seeds", cwd=folder)
        assert np.array_equal(load(folder / "bad_labels.nii.gz"), load(folder / "labels.nii.gz"))


NOWHERE = [
    ("an sform that is NaN", patched(srow_x0=float("nan"))),
    ("an sform that is flat", patched(srow_x0=0.0, qform_code=0)),
]


@pytest.mark.parametrize("what, make", NOWHERE, ids=[row[0] for row in NOWHERE])
def test_image_that_lies_nowhere(folder, what, make):
    """Its voxels can be used, with a note; but nothing else is known to lie on them."""
    bad = make(folder)
    done = good("convert", bad, "out.nii", cwd=folder)
    assert "bad.nii: its sform is no usable matrix; the voxel sizes alone are used" in done.stderr
    assert np.array_equal(load(folder / "out.nii"), scan_array())
    before = contents(folder)
    for place in ("as image", "as seeds"):
        done = lobule(*PLACES[place](bad), "--force", cwd=folder)
        assert_one_line(done, 65, "bad.nii", "not on the same grid", "53.85 mm apart")
    assert contents(folder) == before


# ---- what growcut refuses -----------------------------------------------------------------------


def shifted(mm):
    affine = AFFINE.copy()
    affine[0, 3] += mm
    return affine


def seeds_with(**voxels):
    seeds = np.zeros(SHAPE, np.float32)
    seeds[10, 9, 5], seeds[1, 1, 1] = voxels["inside"], voxels["outside"]
    return seeds


GROW = ["growcut", "image.nii.gz", "bad.nii", "-o", "out.nii.gz"]
REFUSED = [
    ("seeds of another size", saved(seeds_array()[:, :, :10], affine=shifted(1)), GROW, 65, "bad.nii"),
    ("seeds of another spacing", saved(seeds_array(), affine=AFFINE @ np.diag([1, 1, 1.2, 1])), GROW, 65, "spacing"),
    ("seeds that lie elsewhere", saved(seeds_array(), affine=shifted(2)), GROW, 65, "bad.nii"),
    ("seeds that are flipped", saved(seeds_array(), affine=AFFINE @ np.diag([-1, 1, 1, 1])), GROW, 65, "orient"),
    ("no seeds", saved(np.zeros(SHAPE, np.uint8)), GROW, 65, "0 means unknown"),
    ("one label and no limit", saved(seeds_array(3, 3)), GROW, 65, "everything would become 3"),
    ("seeds that are no whole numbers", saved(seeds_with(inside=1.5, outside=2)), GROW, 65, "bad.nii"),
    ("negative seeds", saved(seeds_with(inside=-1, outside=2)), GROW, 65, "bad.nii"),
    ("seeds that are NaN", saved(seeds_with(inside=np.nan, outside=2)), GROW, 65, "bad.nii"),
    ("seeds beyond 32 bits", saved(seeds_with(inside=3e9, outside=2)), GROW, 65, "bad.nii"),
    (
        "a mask of another size",
        saved(np.ones((3, 3, 3), np.uint8), affine=shifted(1)),
        ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--mask", "bad.nii"],
        65,
        "bad.nii",
    ),
    (
        "an empty mask",
        saved(np.zeros(SHAPE, np.uint8)),
        ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--mask", "bad.nii"],
        65,
        "mask is empty",
    ),
    (
        "a mask that covers no seed",
        saved((scan_array() > 10000).astype(np.uint8) + (np.arange(SHAPE[0]) == 20).astype(np.uint8)[:, None, None]),
        ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--mask", "bad.nii"],
        65,
        "",
    ),
    (
        "a range that holds no voxel",
        saved(scan_array()),
        ["growcut", "bad.nii", "seeds.nii.gz", "-o", "out.nii.gz", "--range", "5000,6000"],
        65,
        "bad.nii",
    ),
    (
        "an image of nothing but NaN",
        saved(np.full(SHAPE, np.nan, np.float32)),
        ["growcut", "bad.nii", "seeds.nii.gz", "-o", "out.nii.gz"],
        65,
        "bad.nii",
    ),
    (
        "a seed of strength 0",
        saved(np.zeros(SHAPE, np.float32)),
        ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--seed-strength", "bad.nii"],
        65,
        "above 0 and at most 1",
    ),
    (
        "a seed stronger than 1",
        saved(np.full(SHAPE, 1.5, np.float32)),
        ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--seed-strength", "bad.nii"],
        65,
        "strength 1.5",
    ),
    (
        "a frame that is not there",
        saved(np.zeros((*SHAPE, 3), np.int16)),
        ["growcut", "bad.nii", "seeds.nii.gz", "-o", "out.nii.gz", "--frame", "3"],
        65,
        "has no frame 3",
    ),
    (
        "values that an integer type cannot hold",
        saved(np.linspace(0, 1, np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)),
        ["convert", "bad.nii", "out.nii", "--type", "uint8"],
        65,
        "--lossy",
    ),
    (
        "values out of an integer type's range",
        saved(scan_array() * 40),
        ["convert", "bad.nii", "out.nii", "--type", "uint8"],
        65,
        "uint8 cannot hold",
    ),
    (
        "whole numbers that float32 would change",
        saved(np.full(SHAPE, (1 << 24) + 1, np.int32)),
        ["convert", "bad.nii", "out.nii", "--type", "float32"],
        65,
        "16777217",
    ),
    ("labels that are no labels", saved(scan_array() - 500), ["convert", "bad.nii", "out.nii", "--labels"], 65, "bad.nii"),
]


NO_FRAME = [
    ("seeds", ["growcut", "image.nii.gz", "bad.nii", "-o", "out.nii.gz"]),
    ("a mask", ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--mask", "bad.nii"]),
    ("labels to draw", ["preview", "image.nii.gz", "bad.nii", "-o", "out.png"]),
    ("a mask to cut in", [*CUT, "--mask", "bad.nii"]),
]

FRAME_NEEDED = [
    ("labels to compare", ["compare", "seeds.nii.gz", "bad.nii"]),
    ("the first of two to compare", ["compare", "bad.nii", "seeds.nii.gz", "--values"]),
    ("supervoxels", ["compare", "--supervoxels", "seeds.nii.gz", "bad.nii"]),
    ("instances", ["compare", "--instances", "seeds.nii.gz", "bad.nii"]),
    ("the image of supervoxels", ["compare", "--supervoxels", "seeds.nii.gz", "seeds.nii.gz", "--image", "bad.nii"]),
]


@pytest.mark.parametrize("what, arguments", NO_FRAME, ids=[row[0] for row in NO_FRAME])
def test_several_frames_where_none_can_be_chosen(folder, what, arguments):
    save(np.zeros((*SHAPE, 3), np.uint8), folder / "bad.nii")
    refused(folder, arguments, 65, "bad.nii: has 3 frames", "`lobule convert --frame N`")


@pytest.mark.parametrize("what, arguments", FRAME_NEEDED, ids=[row[0] for row in FRAME_NEEDED])
def test_several_frames_of_which_one_is_to_be_chosen(folder, what, arguments):
    save(np.zeros((*SHAPE, 3), np.uint8), folder / "bad.nii")
    assert_one_line(lobule(*arguments, cwd=folder), 65, "bad.nii: has 3 frames", "choose one with --frame N")


@pytest.mark.parametrize("what, make, arguments, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(folder, what, make, arguments, code, part):
    make(folder)
    refused(folder, arguments, code, part)


# ---- what supervoxels and their measures refuse -------------------------------------------------

OTHER = np.ones((3, 3, 3), np.uint8)
ONES = np.ones(SHAPE, np.uint8)
CUT_BAD = ["supervoxels", "bad.nii", "-o", "out.nii.gz", "--size", "8vox"]
MEASURE = ["compare", "--supervoxels", "seeds.nii", "seeds.nii"]


def channels(count):
    return np.zeros((*SHAPE, 1, count), np.uint8)


REFUSED_SUPERVOXELS = [
    ("an image of nothing but NaN", np.full(SHAPE, np.nan, np.float32), CUT_BAD, "bad.nii: no voxel is data"),
    ("a range that holds no voxel", scan_array(), [*CUT_BAD, "--range", "5000,6000"], "bad.nii: no voxel is data"),
    ("too many channels", channels(17), CUT_BAD, "bad.nii"),
    ("no colours for CIELAB", scan_array(), [*CUT_BAD, "--lab", "on"], "bad.nii: --lab on needs three channels"),
    ("a frame that is not there", np.zeros((*SHAPE, 3), np.int16), [*CUT_BAD, "--frame", "3"], "bad.nii: has no frame 3"),
    ("a mask of another size", OTHER, [*CUT, "--mask", "bad.nii"], "bad.nii"),
    ("an empty mask", ONES * 0, [*CUT, "--mask", "bad.nii"], "bad.nii: the mask is empty"),
    ("a mask of two channels", channels(2), [*CUT, "--mask", "bad.nii"], "`lobule convert --channel N`, N from 0 to 1"),
    ("a truth of another size", OTHER, ["compare", "--supervoxels", "bad.nii", "seeds.nii"], "bad.nii"),
    ("a truth that is not whole", ONES * np.float32(0.5), ["compare", "--supervoxels", "bad.nii", "seeds.nii"], "bad.nii"),
    ("labels of another size", OTHER, ["compare", "--supervoxels", "seeds.nii", "bad.nii"], "bad.nii"),
    ("negative labels", scan_array() - 500, ["compare", "--supervoxels", "seeds.nii", "bad.nii"], "bad.nii"),
    ("labels of two channels", channels(2), ["compare", "--supervoxels", "seeds.nii", "bad.nii"], "bad.nii"),
    ("instances of another size", OTHER, ["compare", "--instances", "seeds.nii", "bad.nii"], "bad.nii"),
    ("true instances that are not whole", ONES * np.float32(0.5), ["compare", "--instances", "bad.nii", "seeds.nii"], "bad.nii"),
    ("instances of two channels", channels(2), ["compare", "--instances", "seeds.nii", "bad.nii"], "bad.nii"),
    ("no supervoxel", ONES * 0, ["compare", "--supervoxels", "seeds.nii", "bad.nii"], "bad.nii: there is no supervoxel"),
    ("an image of another size", OTHER, [*MEASURE, "--image", "bad.nii"], "bad.nii"),
    ("an image of too many channels", channels(70), [*MEASURE, "--image", "bad.nii"], "bad.nii: has 70 channels; at most 64"),
]


@pytest.mark.parametrize("what, bad, arguments, part", REFUSED_SUPERVOXELS, ids=[row[0] for row in REFUSED_SUPERVOXELS])
def test_supervoxels_refuse(folder, what, bad, arguments, part):
    save(bad, folder / "bad.nii", affine=shifted(1) if bad is OTHER else None)
    refused(folder, arguments, 65, part)
