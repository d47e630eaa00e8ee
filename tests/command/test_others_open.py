"""What Lobule writes, opened by others: SimpleITK, nibabel, pynrrd and nifti_tool see the same voxels, and the eight corners
at the same place in the world, within 1e-4 mm."""

import re
import shutil
import subprocess

import nibabel
import nrrd
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import good

SIDES = (7, 6, 5)
LPS = np.diag([-1, -1, 1, 1])


def oblique(mirrored):
    """Turned about all axes, far from the origin; left- or right-handed."""
    a, b, c = 0.3, -0.4, 1.1
    x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    y = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    z = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3] = x @ y @ z @ np.diag([0.7 * (-1 if mirrored else 1), 1.3, 3.1])
    affine[:3, 3] = [-123.25, 87.5, 412.125]
    return affine


def corners():
    return [(np.array(c) * (np.array(SIDES) - 1)).tolist() for c in np.ndindex(2, 2, 2)]


def made(path, dtype, mirrored):
    """A volume of this type, from which Lobule makes its own header: it comes from NRRD."""
    array = (np.arange(np.prod(SIDES)).reshape(SIDES) * 3 % 120).astype(dtype)
    affine = oblique(mirrored)
    directions = (LPS @ affine)[:3, :3].T
    header = {"space": "left-posterior-superior", "space directions": directions, "space origin": (LPS @ affine)[:3, 3]}
    nrrd.write(str(path), array, {**header, "kinds": ["domain"] * 3})
    return array, affine


def seen_by_itk(path):
    image = sitk.ReadImage(str(path))
    places = [np.diag([-1, -1, 1]) @ image.TransformIndexToPhysicalPoint(c) for c in corners()]
    return sitk.GetArrayFromImage(image).T, places


def seen_by_nibabel(path):
    image = nibabel.load(path)
    return np.asanyarray(image.dataobj), [(image.affine @ [*c, 1])[:3] for c in corners()]


def seen_by_pynrrd(path):
    voxels, header = nrrd.read(str(path))
    affine = np.column_stack([header["space directions"].T, header["space origin"]])
    return voxels, [np.diag([-1, -1, 1]) @ affine @ [*c, 1] for c in corners()]


READERS = {
    ".nii": [seen_by_itk, seen_by_nibabel],
    ".nii.gz": [seen_by_itk, seen_by_nibabel],
    ".img": [seen_by_itk, seen_by_nibabel],
    ".hdr.gz": [seen_by_nibabel],
    ".nrrd": [seen_by_itk, seen_by_pynrrd],
    ".mha": [seen_by_itk],
}


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
def test_same_voxels_and_corners(tmp_path, dtype, suffix, mirrored):
    array, affine = made(tmp_path / "in.nrrd", dtype, mirrored)
    good("convert", "in.nrrd", "out" + suffix, cwd=tmp_path)
    for reader in READERS[suffix]:
        voxels, places = reader(tmp_path / ("out" + suffix))
        assert voxels.dtype == dtype and np.array_equal(voxels, array), reader
        assert np.abs(np.array(places) - [(affine @ [*c, 1])[:3] for c in corners()]).max() < 1e-4, reader


@pytest.mark.skipif(not shutil.which("nifti_tool"), reason="no nifti_tool")
@pytest.mark.parametrize("suffix", [".nii", ".nii.gz", ".img"])
def test_nifti_tool_finds_nothing_wrong(tmp_path, suffix):
    array, affine = made(tmp_path / "in.nrrd", "int16", False)
    good("convert", "in.nrrd", "out" + suffix, "--provenance", cwd=tmp_path)
    tool = lambda *a: subprocess.run(["nifti_tool", *a], cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "GOOD" in tool("-check_hdr", "-check_nim", "-infiles", "out" + suffix)
    shown = tool("-disp_nim", "-infiles", "out" + suffix, "-field", "sto_xyz")
    numbers = [float(n) for n in re.findall(r"-?\d+\.\d+(?:e[-+]?\d+)?", shown)][:16]
    assert np.allclose(np.array(numbers).reshape(4, 4), affine, atol=1e-4), shown
    for at in corners():
        shown = tool("-quiet", "-disp_ci", *map(str, at), "0", "0", "0", "0", "-infiles", "out" + suffix)
        assert float(shown.split()[-1]) == array[tuple(at)], shown
