"""lobule check: what it says of other programs is what they do; damage ends with 65."""

import gzip
import itertools
import json
from pathlib import Path

import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import AFFINE, SHARED, good, lobule, save, scan_array, seeds_array

sitk.ProcessObject.SetGlobalWarningDisplay(False)


def checked(path, *options, exit_code=0):
    run = lobule("check", path, "--json", *options)
    assert run.returncode == exit_code, run.stderr
    found = json.loads(run.stdout)
    lines = found["damage"] + found["not_read"] + found["warnings"]
    assert all(str(path).rsplit(".", 1)[0] in line for line in lines), found
    return found


def turned(angle, spacing, origin):
    c, s = np.cos(angle), np.sin(angle)
    affine = np.eye(4)
    affine[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.diag(spacing)
    affine[:3, 3] = origin
    return affine


QFORM = turned(0.3, [2, 3, 4], [10, 20, 30])
SFORMS = {
    "another turn": turned(-0.5, [2, 3, 4], [-7, -8, -9]),
    "other spacing": turned(-0.5, [2.5, 3.5, 4.5], [-7, -8, -9]),
    "another origin": turned(0.3, [2, 3, 4], [-7, -8, -9]),
    "the same": QFORM,
    "a shear": turned(-0.5, [2, 3, 4], [-7, -8, -9]) + np.array([[0, 1.5, 0, 0]] + 3 * [[0] * 4]),
    "a mirror": np.diag([-2.0, 3, 4, 1]),
}


def write(path, sform, qform_code, sform_code, units=2):
    header = nibabel.Nifti1Header()
    header.set_data_dtype(np.int16)
    header.set_data_shape((5, 6, 7))
    header["pixdim"][1:4] = [2, 3, 4]
    header.set_qform(QFORM, 1)
    header.set_sform(sform, 1)
    header["qform_code"], header["sform_code"], header["xyzt_units"] = qform_code, sform_code, units
    header["vox_offset"], header["magic"] = 352, b"n+1"
    path.write_bytes(header.binaryblock + bytes(4) + np.arange(210, dtype=np.int16).tobytes())


def assert_as_others_read(path):
    said = checked(path)["read_as"]
    try:
        image = sitk.ReadImage(str(path))
    except RuntimeError:
        assert "at right angles" in said["ITK"]["transform"] or "NIfTI-2" in said["ITK"]["transform"], said
    else:
        origin = np.array(image.GetOrigin()) * (-1, -1, 1)
        direction = np.diag([-1, -1, 1]) @ np.array(image.GetDirection()[:9]).reshape(3, 3)
        assert np.allclose(said["ITK"]["spacing"], image.GetSpacing()[:3], rtol=1e-5), said
        assert np.allclose(said["ITK"]["first_voxel"], origin[:3], atol=1e-3), said
        assert said["ITK"]["orientation"] == "".join(nibabel.aff2axcodes(np.vstack([np.c_[direction, [0] * 3], [0, 0, 0, 1]]))), said
    loaded = nibabel.load(path)
    assert np.allclose(said["nibabel"]["first_voxel"], loaded.affine[:3, 3], atol=1e-3), said
    assert said["nibabel"]["orientation"] == "".join(nibabel.aff2axcodes(loaded.affine)), said
    assert np.allclose(said["nibabel"]["spacing"], loaded.header.get_zooms()[:3], rtol=1e-5), said


@pytest.mark.parametrize("kind", SFORMS)
def test_transforms_are_what_itk_and_nibabel_take(tmp_path, kind):
    path = tmp_path / "in.nii"
    for qform_code, sform_code in itertools.product([0, 1, 2], [0, 1, 2, 4]):
        write(path, SFORMS[kind], qform_code, sform_code)
        assert_as_others_read(path)


FILES = [
    "nibabel/anatomical.nii",
    "nibabel/standard.nii.gz",
    "nibabel/example_nifti2.nii.gz",
    "nibabel/reoriented_anat_moved.nii",
    "nibabel/resampled_anat_moved.nii",
    "itk/KmeansTest_T1UCharRaw.nii.gz",
    "itk/KmeansTest_T1KmeansPrelimSegmentation.nii.gz",
]


@pytest.mark.parametrize("name", FILES)
def test_conformance_files_are_read_as_others_do(name):
    path = Path(SHARED or "nowhere") / "conformance" / name
    if not path.exists():
        pytest.skip(f"{path} is missing")
    assert_as_others_read(path)


def test_itk_reads_no_nifti_2(tmp_path):
    nibabel.Nifti2Image(np.zeros((3, 4, 5), np.int16), AFFINE).to_filename(tmp_path / "in.nii")
    assert_as_others_read(tmp_path / "in.nii")
    assert any("ITK refuses" in line for line in checked(tmp_path / "in.nii")["warnings"])


def test_forms_that_disagree_are_told(tmp_path):
    write(tmp_path / "in.nii", SFORMS["another turn"], 1, 2)
    found = checked(tmp_path / "in.nii")
    assert found["verdict"] == "sound" and any("ITK (qform) and nibabel (sform)" in line for line in found["warnings"])
    write(tmp_path / "in.nii", SFORMS["the same"], 1, 1)
    assert checked(tmp_path / "in.nii")["warnings"] == []
    write(tmp_path / "in.nii", SFORMS["the same"], 0, 0)
    assert any("neither qform nor sform" in line for line in checked(tmp_path / "in.nii")["warnings"])
    write(tmp_path / "in.nii", SFORMS["the same"], 1, 1, units=3)
    assert any("not in mm" in line for line in checked(tmp_path / "in.nii")["warnings"])


def damaged(tmp_path, kind):
    whole = gzip.compress((tmp_path / "whole.nii").read_bytes(), mtime=0)
    if kind == "cut":
        return whole[: len(whole) // 2]
    if kind == "no trailer":
        return whole[:-8]
    if kind == "checksum":
        return whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:]
    return whole[:-4] + bytes([whole[-4] ^ 1]) + whole[-3:]


@pytest.mark.parametrize("kind", ["cut", "no trailer", "checksum", "length"])
def test_damage_ends_with_65(tmp_path, kind):
    save(scan_array(), tmp_path / "whole.nii")
    (tmp_path / "in.nii.gz").write_bytes(damaged(tmp_path, kind))
    found = checked(tmp_path / "in.nii.gz", exit_code=65)
    assert found["verdict"] == "damaged" and len(found["damage"]) == 1 and "in.nii.gz" in found["damage"][0]
    text = lobule("check", tmp_path / "in.nii.gz")
    assert text.returncode == 65 and "damaged" in text.stdout and text.stderr.count("\n") == 1


def test_a_kind_that_is_not_read_is_not_damage(tmp_path):
    """Its voxels are looked through all the same: only what is whole is called sound."""
    nibabel.Nifti1Image(np.ones((9, 8, 7), np.complex64), AFFINE).to_filename(tmp_path / "whole.nii")
    whole = (tmp_path / "whole.nii").read_bytes()
    packed = gzip.compress(whole)
    wrong = [whole[:-1], packed[:-9], packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:], whole[:72] + b"\x20" + whole[73:]]
    for raw, verdict in [(whole, "not read"), (packed, "not read"), *((raw, "damaged") for raw in wrong)]:
        path = tmp_path / ("in.nii.gz" if raw[:2] == b"\x1f\x8b" else "in.nii")
        path.write_bytes(raw)
        found = checked(path, exit_code=65)
        assert found["verdict"] == verdict and len(found["damage"]) + len(found["not_read"]) == 1, found
        if verdict == "not read":
            assert "is sound, but complex64 voxels are not read" in found["not_read"][0]
            text = lobule("check", path)
            assert text.returncode == 65 and "damaged" not in text.stdout + text.stderr and text.stderr.count("\n") == 1
    nrrd = "NRRD0004\ntype: {}\ndimension: 3\nsizes: 2 2 2\nencoding: {}\n\n12345678"
    meta = "NDims = 3\nDimSize = 2 2 2\nElementType = {}\nElementDataFile = LOCAL\n12345678"
    for name, text, verdict in [
        ("in.nrrd", nrrd.format("uchar", "bzip2"), "not read"),
        ("in.nrrd", nrrd.format("block", "raw"), "not read"),
        ("in.nrrd", nrrd.format("uchar", "rwa"), "damaged"),
        ("in.nrrd", nrrd.format("uhcar", "raw"), "damaged"),
        ("in.mha", meta.format("MET_STRING"), "not read"),
        ("in.mha", meta.format("uchar"), "damaged"),
    ]:
        (tmp_path / name).write_text(text)
        assert checked(tmp_path / name, exit_code=65)["verdict"] == verdict, text
    (tmp_path / "in.dcm").write_bytes(bytes(128) + b"DICM" + bytes(100))
    assert "names no series" in checked(tmp_path / "in.dcm", exit_code=65)["damage"][0]


def test_bytes_after_the_voxels_are_told(tmp_path):
    save(scan_array(), tmp_path / "in.nii")
    with open(tmp_path / "in.nii", "ab") as file:
        file.write(b"more")
    found = checked(tmp_path / "in.nii")
    assert found["verdict"] == "sound" and len(found["warnings"]) == 1 and "4 bytes" in found["warnings"][0]


def test_voxels_are_counted(tmp_path):
    array = np.zeros((4, 5, 6), np.float32)
    array[0, 0, 0], array[1, 0, 0], array[2, 0, 0], array[3, 0, 0] = np.nan, np.inf, -3.5, 7
    save(array, tmp_path / "in.nii")
    found = checked(tmp_path / "in.nii")
    assert found["voxels"] == {"count": 120, "nan": 1, "infinite": 1, "min": -3.5, "max": 7}
    assert any("2 are NaN or infinite" in line for line in found["warnings"])
    save(np.full((4, 5, 6), np.nan, np.float32), tmp_path / "in.nii")
    assert "none is a finite number" in checked(tmp_path / "in.nii", exit_code=65)["damage"][0]
    save(np.stack([array] * 3, axis=-1), tmp_path / "in.nii")
    assert checked(tmp_path / "in.nii")["voxels"]["count"] == 360


LABELS = [
    (lambda a: a + np.float32(0.001) * (a > 0), "interpolated", 65),
    (lambda a: np.where(a > 0, -a, 0), "negative", 0),
    (lambda a: np.where(a == a.max(), 40000, a), "32767", 0),
    (lambda a: np.where(a == a.max(), 2.0**31, a), "int32", 0),
]


@pytest.mark.parametrize("change, says, exit_code", LABELS)
def test_labels_that_others_mistake(tmp_path, change, says, exit_code):
    save(change(seeds_array().astype(np.float64)), tmp_path / "in.nii")
    found = checked(tmp_path / "in.nii", "--labels", exit_code=exit_code)
    assert any(says in line for line in found["damage"] + found["warnings"]), found
    save(seeds_array(), tmp_path / "in.nii")
    assert checked(tmp_path / "in.nii", "--labels")["warnings"] == []


def test_labels_without_a_name(tmp_path):
    save(seeds_array(), tmp_path / "in.nii")
    for names, warnings in (("1,one\n2,two\n3,three\n", 0), ("2,two\n", 1)):
        (tmp_path / "names.csv").write_text("LabelValue,Name\n" + names)
        good("convert", "--labels", "in.nii", "named.nii", "--label-table", "names.csv", "--force", cwd=tmp_path)
        found = checked(tmp_path / "named.nii")
        assert found["verdict"] == "sound" and len(found["warnings"]) == warnings
        assert all("voxels whose label has no name, where others have one: 1" in line for line in found["warnings"])


def test_labels_in_disguise(tmp_path):
    save(seeds_array() + np.float32(0.004) * (seeds_array() > 0), tmp_path / "in.nii")
    found = checked(tmp_path / "in.nii")
    assert found["verdict"] == "sound" and any("next to whole numbers" in line for line in found["warnings"])


def test_other_formats(tmp_path):
    save(scan_array(), tmp_path / "in.nii")
    for name in ["out.nrrd", "out.mha", "out.h5"]:
        good("convert", "in.nii", name, cwd=tmp_path)
        found = checked(tmp_path / name)
        assert found["verdict"] == "sound" and "read_as" not in found and found["voxels"]["max"] == scan_array().max()
    (tmp_path / "out.nrrd").write_bytes((tmp_path / "out.nrrd").read_bytes()[:-20])
    assert checked(tmp_path / "out.nrrd", exit_code=65)["dims"] == list(scan_array().shape)
    assert lobule("check", tmp_path / "missing.nii").returncode == 66
