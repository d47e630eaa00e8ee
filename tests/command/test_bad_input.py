"""The bad-input table: each row a sentence, an exit code, one line on stderr, and no trace left."""

import gzip
import os
import resource
import shutil
import struct

import h5py
import nibabel
import numpy as np
import pytest
from conftest import AFFINE, SHAPE, assert_one_line, contents, good, load, lobule, save, scan_array, seeds_array

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
    ("complex voxels", patched(datatype=32, bitpix=64, nz=5), 65, "complex"),
    ("no magic", patched(magic=b"abcd"), 65, ""),
    ("a header whose image file is missing", lonely_header, 66, "bad.img"),
    ("a folder", a_folder, 66, "folder"),
    ("a pipe", a_pipe, 66, ""),
    ("a link to nowhere", dangling, 66, ""),
    ("no such file", lambda folder: "bad.nii", 66, ""),
    ("several frames", saved(np.zeros((*SHAPE, 3), np.int16)), 65, "--frame"),
    ("half an HDF5 file", h5_truncated, 65, ""),
    ("HDF5 without a data set", h5_file(lambda file: file.create_group("empty")), 65, ""),
    ("no such data set", h5_file(lambda file: file.create_dataset("raw", data=scan_array()), ":/nope"), 65, "nope"),
    ("strings in HDF5", h5_file(lambda file: file.create_dataset("raw", data=np.array([b"a", b"b"]))), 65, ""),
]

PLACES = {
    "converted": lambda bad: ["convert", bad, "out.nii.gz"],
    "as image": lambda bad: ["growcut", bad, "seeds.nii.gz", "-o", "out.nii.gz"],
    "as seeds": lambda bad: ["growcut", "image.nii.gz", bad, "-o", "out.nii.gz"],
    "its pieces": lambda bad: ["components", bad, "-o", "out.nii.gz"],
    "its pieces by planes": lambda bad: ["components", bad, "-o", "out.nii.gz", "--max-memory", "45KiB"],
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("what, make, code, part", BROKEN, ids=[row[0] for row in BROKEN])
def test_broken_file(folder, what, make, code, part, place):
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
        good("growcut", image, seeds, "-o", "bad_labels.nii.gz", "--force", cwd=folder)
        sound = [name.replace(bad, "image.nii") for name in (image, seeds)]
        good("growcut", *sound, "-o", "labels.nii.gz", "--force", cwd=folder)
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
    ("seeds of another size", saved(seeds_array()[:, :, :10]), GROW, 65, "bad.nii"),
    ("seeds of another spacing", saved(seeds_array(), affine=AFFINE @ np.diag([1, 1, 1.2, 1])), GROW, 65, "spacing"),
    ("seeds that lie elsewhere", saved(seeds_array(), affine=shifted(3)), GROW, 65, "bad.nii"),
    ("seeds that are flipped", saved(seeds_array(), affine=AFFINE @ np.diag([-1, 1, 1, 1])), GROW, 65, "orient"),
    ("no seeds", saved(np.zeros(SHAPE, np.uint8)), GROW, 65, "0 means unknown"),
    ("one label and no limit", saved(seeds_array(3, 3)), GROW, 65, "everything would become 3"),
    ("seeds that are no whole numbers", saved(seeds_with(inside=1.5, outside=2)), GROW, 65, "bad.nii"),
    ("negative seeds", saved(seeds_with(inside=-1, outside=2)), GROW, 65, "bad.nii"),
    ("seeds that are NaN", saved(seeds_with(inside=np.nan, outside=2)), GROW, 65, "bad.nii"),
    ("seeds beyond 32 bits", saved(seeds_with(inside=3e9, outside=2)), GROW, 65, "bad.nii"),
    (
        "a mask of another size",
        saved(np.ones((3, 3, 3), np.uint8)),
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
    ("labels to compare", ["compare", "seeds.nii.gz", "bad.nii"]),
    ("the first of two to compare", ["compare", "bad.nii", "seeds.nii.gz", "--values"]),
]


@pytest.mark.parametrize("what, arguments", NO_FRAME, ids=[row[0] for row in NO_FRAME])
def test_several_frames_where_none_can_be_chosen(folder, what, arguments):
    save(np.zeros((*SHAPE, 3), np.uint8), folder / "bad.nii")
    before = contents(folder)
    done = lobule(*arguments, cwd=folder)
    assert_one_line(done, 65, "bad.nii: has 3 frames", "`lobule convert --frame N`")
    assert contents(folder) == before


@pytest.mark.parametrize("what, make, arguments, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(folder, what, make, arguments, code, part):
    make(folder)
    before = contents(folder)
    done = lobule(*arguments, cwd=folder)
    assert_one_line(done, code, part)
    assert contents(folder) == before


# ---- outputs that cannot be ---------------------------------------------------------------------


def occupy(folder):
    (folder / "out.nii.gz").write_bytes(b"old")


def occupy_folder(folder):
    (folder / "out.nii.gz").mkdir()


def occupy_link(folder):
    os.symlink("nowhere", folder / "out.nii.gz")


def occupy_img(folder):
    (folder / "out.img").write_bytes(b"old")


def nothing(folder):
    pass


OUTPUTS = [
    ("the output exists", occupy, "out.nii.gz", [], 73, "--force"),
    ("the output is a folder", occupy_folder, "out.nii.gz", ["--force"], 73, "folder"),
    ("the output is a link to nowhere", occupy_link, "out.nii.gz", [], 73, "out.nii.gz"),
    ("the folder is missing", nothing, "no/such/out.nii.gz", [], 73, "folder"),
    ("a file stands for the folder", nothing, "image.nii/out.nii.gz", [], 73, "image.nii"),
    ("a device is no output", nothing, "/dev/full", ["--force"], 64, "/dev/full"),
    ("the other half of a pair exists", occupy_img, "out.hdr", [], 73, "out.img"),
    ("no format has this suffix", nothing, "out.tiff", [], 64, "out.tiff"),
    ("no suffix at all", nothing, "out", [], 64, "out"),
    ("the output is the input", nothing, "image.nii.gz", ["--force"], 64, "image.nii.gz"),
    ("the output is the input by another way", nothing, "./image.nii.gz", ["--force"], 64, "IMAGE"),
    ("the output is the seeds", nothing, "seeds.nii.gz", ["--force"], 64, "SEEDS"),
    ("two outputs of one name", nothing, "out.nii.gz", ["--strength", "./out.nii.gz"], 64, "strength"),
    ("two halves of one pair", nothing, "out.hdr", ["--strength", "out.img"], 64, "strength"),
    ("the report is the output", nothing, "out.nii.gz", ["--report", "out.nii.gz"], 64, "report"),
    ("the report's folder is missing", nothing, "out.nii.gz", ["--report", "no/r.json"], 73, "no"),
    ("the second output exists", nothing, "out.nii.gz", ["--tie", "image.nii"], 73, "image.nii"),
]


@pytest.mark.parametrize("what, prepare, output, more, code, part", OUTPUTS, ids=[row[0] for row in OUTPUTS])
def test_output_that_cannot_be(folder, what, prepare, output, more, code, part):
    prepare(folder)
    before = contents(folder)
    done = lobule("growcut", "image.nii.gz", "seeds.nii.gz", "-o", output, *more, cwd=folder)
    assert_one_line(done, code, part)
    assert contents(folder) == before


def test_the_output_is_a_link_to_the_input(folder):
    os.symlink("image.nii.gz", folder / "out.nii.gz")
    before = contents(folder)
    done = lobule("convert", "image.nii.gz", "out.nii.gz", "--force", cwd=folder)
    assert_one_line(done, 64, "out.nii.gz")
    assert contents(folder) == before


def test_the_output_is_the_input_s_other_half(folder):
    nibabel.save(nibabel.Nifti1Pair(scan_array(), AFFINE), folder / "pair.hdr")
    before = contents(folder)
    assert_one_line(lobule("convert", "pair.img", "pair.hdr", "--force", cwd=folder), 64, "pair.hdr")
    assert contents(folder) == before


def put_pair(folder, header, image):
    """A .hdr/.img pair under these names."""
    nibabel.save(nibabel.Nifti1Pair(scan_array(), AFFINE), folder / "made.hdr")
    for made, name in (("made.hdr", header), ("made.img", image)):
        if name.endswith(".gz"):
            (folder / name).write_bytes(gzip.compress((folder / made).read_bytes()))
            (folder / made).unlink()
        else:
            (folder / made).rename(folder / name)


OWN_INPUT = [
    ("the other half, in capitals", ("X.HDR", "X.IMG"), "X.IMG", "X.HDR"),
    ("the other half is read compressed", ("x.hdr", "x.img.gz"), "x.hdr", "x.img.gz"),
    ("an HDF5 file by a data set without a slash", None, "a.h5:ITKImage/0/VoxelData", "a.h5"),
    ("an HDF5 file by a data set", None, "a.h5:/ITKImage/0/VoxelData", "a.h5"),
    ("another way to write a folder", None, "image.nii", "./image.nii"),
]


@pytest.mark.parametrize("what, names, given, output", OWN_INPUT, ids=[row[0] for row in OWN_INPUT])
def test_force_does_not_replace_an_input(folder, what, names, given, output):
    if names:
        put_pair(folder, *names)
    good("convert", "image.nii", "a.h5", cwd=folder)
    before = contents(folder)
    assert_one_line(lobule("convert", given, output, "--force", cwd=folder), 64, output)
    assert contents(folder) == before


def test_a_pair_may_lie_beside_its_input(folder):
    put_pair(folder, "x.hdr", "x.img")
    good("convert", "x.hdr", "x.hdr.gz", cwd=folder)
    good("convert", "x.hdr", "x.img.gz", "--force", cwd=folder)
    assert {"x.hdr", "x.img", "x.hdr.gz", "x.img.gz"} < set(contents(folder))


def test_a_failed_command_removes_both_halves(folder):
    before = contents(folder)
    phantom = ["phantom", "abdomen", "--size", "11,11,11", "--truth", "T.IMG", "-o", "out.nii"]
    done = lobule(*phantom, cwd=folder, preexec_fn=small_files_only)
    assert_one_line(done, 74, "out.nii")
    assert contents(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(folder):
    (folder / "locked").mkdir(mode=0o555)
    done = lobule("convert", "image.nii.gz", "locked/out.nii", cwd=folder)
    assert_one_line(done, 73, "locked")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(folder):
    os.chmod(folder / "image.nii.gz", 0)
    assert_one_line(lobule("info", "image.nii.gz", cwd=folder), 66, "image.nii.gz")


# ---- a disk that fills up -----------------------------------------------------------------------


def small_files_only():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


FULL = [
    ("NIfTI", "out.nii", []),
    ("gzip", "out.nii.gz", []),
    ("a pair, whose voxels are written first", "out.img", []),
    ("HDF5", "out.h5", []),
    ("an old file stays", "old.nii", ["--force"]),
]


@pytest.mark.parametrize("what, output, more", FULL, ids=[row[0] for row in FULL])
def test_full_disk(folder, what, output, more):
    (folder / "old.nii").write_bytes(b"old")
    before = contents(folder)
    done = lobule("convert", "image.nii.gz", output, *more, cwd=folder, preexec_fn=small_files_only)
    assert_one_line(done, 74, output)
    assert contents(folder) == before


def test_full_disk_for_the_second_output_removes_the_first(folder):
    """The labels compress to almost nothing, the strength does not and is written first; the report
    is the last and too large."""
    before = contents(folder)
    arguments = ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz"]
    done = lobule(*arguments, "--report", "r.json", cwd=folder, preexec_fn=small_files_only)
    assert_one_line(done, 74, "r.json")
    done = lobule(*arguments, "--tie", "tie.nii.gz", "--strength", "s.nii", cwd=folder, preexec_fn=small_files_only)
    assert_one_line(done, 74, "s.nii")
    assert contents(folder) == before


def test_odd_names_are_no_trouble(folder):
    name = "a b;$(x)'\".nii.gz"
    shutil.copy(folder / "image.nii.gz", folder / name)
    assert lobule("convert", name, "-o.nii", cwd=folder).returncode == 64
    assert lobule("convert", name, "--", "-o.nii", cwd=folder).returncode == 0
    assert (folder / "-o.nii").exists()


def test_a_name_cannot_steer_the_terminal(folder):
    done = lobule("info", "no\x1b[2J\nsuch.nii", cwd=folder)
    assert_one_line(done, 66, "no?[2J?such.nii")
