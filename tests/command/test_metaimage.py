"""MetaImage files, as ITK writes them and as it reads ours."""

import hashlib
import json
import subprocess

import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import AFFINE, PROGRAM, assert_one_line, good, lobule, refused, save, scan_array

TURN = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1.0]])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"])
def test_written_for_itk_and_read_back(tmp_path, dtype):
    array = scan_array().astype(dtype)
    affine = AFFINE.copy()
    affine[:3, :3] = TURN @ AFFINE[:3, :3]
    save(array, tmp_path / "in.nii", affine=affine)
    good("convert", "in.nii", "out.mha", cwd=tmp_path)
    read, want = sitk.ReadImage(str(tmp_path / "out.mha")), sitk.ReadImage(str(tmp_path / "in.nii"))
    assert np.array_equal(sitk.GetArrayFromImage(read), array.T)
    for of in ("GetOrigin", "GetSpacing", "GetDirection"):
        assert np.allclose(getattr(read, of)(), getattr(want, of)(), atol=1e-4), of
    good("convert", "out.mha", "back.nii", cwd=tmp_path)
    back = nibabel.load(tmp_path / "back.nii")
    assert np.array_equal(np.asanyarray(back.dataobj), array) and np.allclose(back.affine, affine, atol=1e-4)


@pytest.mark.parametrize("name", ["itk.mha", "itk.mhd"])
@pytest.mark.parametrize("compressed", [True, False])
def test_read_what_itk_writes(tmp_path, name, compressed):
    save(scan_array(), tmp_path / "in.nii")
    sitk.WriteImage(sitk.ReadImage(str(tmp_path / "in.nii")), str(tmp_path / name), compressed)
    good("convert", name, "out.nii", cwd=tmp_path)
    out = nibabel.load(tmp_path / "out.nii")
    assert np.array_equal(np.asanyarray(out.dataobj), scan_array()) and np.allclose(out.affine, AFFINE, atol=1e-4)


def test_channels(tmp_path):
    colours = np.random.default_rng(1).integers(0, 255, (7, 6, 5, 3), np.uint8)
    sitk.WriteImage(sitk.GetImageFromArray(colours, isVector=True), str(tmp_path / "in.mha"))
    good("convert", "in.mha", "out.mha", cwd=tmp_path)
    assert np.array_equal(sitk.GetArrayFromImage(sitk.ReadImage(str(tmp_path / "out.mha"))), colours)


HEAD = b"ObjectType = Image\nNDims = 3\nBinaryDataByteOrderMSB = False\nDimSize = 4 3 2\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n"
GOOD = HEAD + bytes(24)
BAD = {
    "cut short": (GOOD[:-1], "cut short"),
    "no voxels named": (GOOD[:60], "ElementDataFile"),
    "five dimensions": (GOOD.replace(b"NDims = 3", b"NDims = 5"), "NDims"),
    "two sides of three": (GOOD.replace(b"4 3 2", b"4 3"), "DimSize"),
    "huge sides": (GOOD.replace(b"4 3 2", b"1000000000 1000000000 1000000000"), ""),
    "a side of 0": (GOOD.replace(b"4 3 2", b"4 0 2"), "DimSize"),
    "an unknown type": (GOOD.replace(b"MET_UCHAR", b"MET_STRING"), "ElementType"),
    "numbers as text": (GOOD.replace(b"DimSize", b"BinaryData = False\nDimSize"), "BinaryData"),
    "compressed nonsense": (GOOD.replace(b"DimSize", b"CompressedData = True\nDimSize"), "damaged"),
    "flat directions": (GOOD.replace(b"DimSize", b"TransformMatrix = 1 0 0 1 0 0 0 0 1\nDimSize"), "span no space"),
    "spacings that float32 cannot hold": (GOOD.replace(b"DimSize", b"ElementSpacing = 1e300 1 1\nDimSize"), "span no space"),
    "a place that float32 cannot hold": (GOOD.replace(b"DimSize", b"Offset = 0 1e39 1\nDimSize"), "span no space"),
    "a line that is none": (GOOD.replace(b"DimSize", b"just a line\nDimSize"), "'just a line'"),
    "a header with voxels and a size": (GOOD.replace(b"DimSize", b"HeaderSize = 10\nDimSize"), "HeaderSize"),
    "another folder": (GOOD.replace(b"LOCAL", b"/etc/passwd"), "in its own folder"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files(tmp_path, what):
    raw, says = BAD[what]
    (tmp_path / "bad.mha").write_bytes(raw)
    refused(tmp_path, ["convert", "bad.mha", "out.nii"], 65, "bad.mha", says)


ODD = {
    "blanks around a key": b"  ElementSpacing   = 2 3 4\n",
    "tabs around a key": b"\tElementSpacing\t= 2 3 4\n",
    "an empty line": b"\n \t\nElementSpacing = 2 3 4\n",
    "a size alone": b"ElementSize = 2 3 4\n",
    "a size before the spacing": b"ElementSize = 5 5 5\nElementSpacing = 2 3 4\n",
    "a size behind the spacing": b"ElementSpacing = 2 3 4\nElementSize = 5 5 5\n",
    "a spacing twice": b"ElementSpacing = 5 5 5\nElementSpacing = 2 3 4\n",
    "a negative spacing": b"ElementSpacing = -2 3 4\nOffset = 5 6 7\n",
    **{f"{a} and {b}": f"{a} = 1 2 3\n{b} = 4 5 6\n".encode()
       for a in ("Position", "Offset", "Origin") for b in ("Position", "Offset", "Origin")},
    **{f"{a}, then {b}": f"{a} = {m}\n{b} = {n}\n".encode()
       for a, m in (("Rotation", "0 1 0 1 0 0 0 0 1"), ("Orientation", "1 0 0 0 0 1 0 1 0"))
       for b, n in (("TransformMatrix", "0 0 1 0 1 0 1 0 0"), ("Orientation", "0 1 0 0 0 1 1 0 0"), ("Rotation", "0 0 1 1 0 0 0 1 0"))},
}  # fmt: skip


@pytest.mark.parametrize("what", ODD)
def test_odd_headers_as_itk_reads_them(tmp_path, what):
    (tmp_path / "in.mha").write_bytes(GOOD.replace(b"DimSize", ODD[what] + b"DimSize"))
    good("convert", "in.mha", "out.nii", cwd=tmp_path)
    ours, itk = (sitk.ReadImage(str(tmp_path / name)) for name in ("out.nii", "in.mha"))
    for of in ("GetSpacing", "GetOrigin", "GetDirection"):
        assert np.allclose(getattr(ours, of)(), getattr(itk, of)()), of
    assert np.array_equal(sitk.GetArrayFromImage(ours), sitk.GetArrayFromImage(itk))


NAMES = ["my scan.raw", "50%.raw", "scan%d.raw 1 3 1", "list.raw", "two  spaces .raw"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("suffix", [".mhd", ".nhdr"])
def test_names_of_voxel_files(tmp_path, suffix, name):
    """What exists under exactly that name is read; what is a pattern is said to be one."""
    head = GOOD[: GOOD.index(b"LOCAL")].decode() + name
    if suffix == ".nhdr":
        head = f"NRRD0004\ntype: uint8\ndimension: 3\nsizes: 4 3 2\nencoding: raw\ndata file: {name}"
    (tmp_path / ("scan" + suffix)).write_text(head + "\n")
    missing = lobule("convert", "scan" + suffix, "out.nii", cwd=tmp_path)
    if "%" in name:
        assert_one_line(missing, 65, "scan" + suffix, "several files")
    else:
        assert_one_line(missing, 66, "scan" + suffix, name)
    (tmp_path / name).write_bytes(bytes(range(24)))
    good("convert", "scan" + suffix, "out.nii", "--report", "r.json", cwd=tmp_path)
    assert np.array_equal(np.asanyarray(nibabel.load(tmp_path / "out.nii").dataobj).ravel("F"), np.arange(24))
    assert json.loads((tmp_path / "r.json").read_text())["inputs"][0]["second_file"]["path"].endswith(name)


@pytest.mark.parametrize("header, voxels", [("scan.mhd", "scan.raw"), ("scan.nhdr", "scan.raw.gz")])
def test_voxels_apart_from_their_header_are_an_input_too(tmp_path, header, voxels):
    save(scan_array(), tmp_path / "in.nii")
    sitk.WriteImage(sitk.ReadImage(str(tmp_path / "in.nii")), str(tmp_path / header), header.endswith(".nhdr"))
    good("convert", header, "out.nii", "--report", "r.json", cwd=tmp_path)
    second = json.loads((tmp_path / "r.json").read_text())["inputs"][0]["second_file"]
    assert second["sha256"] == hashlib.sha256((tmp_path / voxels).read_bytes()).hexdigest()
    before = (tmp_path / voxels).read_bytes()
    (tmp_path / "other.nii").symlink_to(voxels)
    run = lobule("convert", header, "other.nii", "--force", cwd=tmp_path)
    assert_one_line(run, 64, "a name of its own")
    assert (tmp_path / voxels).read_bytes() == before


def test_header_and_voxels_apart(tmp_path):
    """Both files appear, or none; ITK reads the pair as the whole."""
    voxels = np.arange(4 * 5 * 6, dtype=np.int16).reshape(4, 5, 6)
    image = sitk.GetImageFromArray(voxels)
    image.SetSpacing((0.5, 0.75, 2))
    image.SetOrigin((1, -2, 3))
    sitk.WriteImage(image, str(tmp_path / "in.nii"))
    good("convert", "in.nii", "a größe.mhd", cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a größe.mhd", "a größe.zraw", "in.nii"]
    got = sitk.ReadImage(str(tmp_path / "a größe.mhd"))
    assert np.array_equal(sitk.GetArrayFromImage(got), voxels)
    assert got.GetSpacing() == pytest.approx((0.5, 0.75, 2)) and got.GetOrigin() == pytest.approx((1, -2, 3))
    good("compare", "--values", "--strict", "in.nii", "a größe.mhd", cwd=tmp_path)

    (tmp_path / "b.zraw").write_bytes(b"mine")
    assert_one_line(lobule("convert", "in.nii", "b.mhd", cwd=tmp_path), 72, "b.zraw: exists")
    assert (tmp_path / "b.zraw").read_bytes() == b"mine" and not (tmp_path / "b.mhd").exists()
    good("convert", "in.nii", "b.mhd", "--force", cwd=tmp_path)
    good("compare", "--values", "--strict", "in.nii", "b.mhd", cwd=tmp_path)


def test_header_and_voxels_are_of_one_writer(tmp_path):
    """Eight write one pair at the same time: what is left is one writer's."""
    for i in range(8):
        save(np.full((9, 8, 7), i + 1, np.int16), tmp_path / f"{i}.nii", affine=np.diag([i + 1, 1, 1, 1]))
    for _ in range(4):
        writers = [subprocess.Popen([PROGRAM, "convert", f"{i}.nii", "same.mhd", "--force", "--quiet"], cwd=tmp_path)
                   for i in range(8)]  # fmt: skip
        assert {writer.wait(timeout=120) for writer in writers} == {0}
        left = sitk.ReadImage(str(tmp_path / "same.mhd"))
        assert np.unique(sitk.GetArrayFromImage(left)).tolist() == [left.GetSpacing()[0]]
