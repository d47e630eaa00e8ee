"""Time series: whole through NIfTI, NRRD and MetaImage, a frame of them, and each frame by itself."""

import gzip

import h5py
import nibabel
import nrrd
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import AFFINE, assert_one_line, good, lobule, save

SIDES = (5, 6, 7)
FRAMES = 4


def series(channels=1, dtype=np.int16):
    """Voxels as x, y, z, frame, channel; all different."""
    shape = (*SIDES, FRAMES, channels)
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def write(path, array, step=2.5, unit="sec"):
    image = nibabel.Nifti1Image(array if array.shape[4] > 1 else array[..., 0], AFFINE, dtype=array.dtype)
    image.header["pixdim"][4] = step
    image.header.set_xyzt_units("mm", unit)
    nibabel.save(image, path)


def read(path):
    image = nibabel.load(path)
    return np.asanyarray(image.dataobj), image


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("suffix", [".nii.gz", ".nrrd", ".mha", ".img", ".h5"])
def test_there_and_back(tmp_path, suffix, channels):
    array = series(channels)
    write(tmp_path / "in.nii", array, 2500, "msec")
    good("convert", "in.nii", "there" + suffix, cwd=tmp_path)
    good("convert", "there" + suffix, "back.nii", cwd=tmp_path)
    got, image = read(tmp_path / "back.nii")
    assert np.array_equal(got.reshape(array.shape), array) and np.allclose(image.affine, AFFINE, atol=1e-5)
    unit = {"sec": 1, "msec": 1000}[image.header.get_xyzt_units()[1]]
    assert image.header["pixdim"][4] == np.float32(2.5 * unit)
    for frame in (0, FRAMES - 1):
        good("convert", "there" + suffix, "one.nii", "--frame", frame, "--force", cwd=tmp_path)
        one = read(tmp_path / "one.nii")[0].reshape(*SIDES, channels)
        assert np.array_equal(one, array[..., frame, :])
    good("convert", "there" + suffix, "last.nii", "--channel", channels - 1, cwd=tmp_path)
    assert np.array_equal(read(tmp_path / "last.nii")[0], array[..., channels - 1])


@pytest.mark.parametrize("start", [".nrrd", ".mha"])
def test_the_time_between_frames_does_without_a_nifti_header(tmp_path, start):
    """What comes from another format has its time in HDF5's own fields."""
    array = series()
    write(tmp_path / "in.nii", array)
    good("convert", "in.nii", "a" + start, cwd=tmp_path)
    for source, target in (("a" + start, "b.h5"), ("b.h5", "c.nrrd"), ("b.h5", "d.h5"), ("d.h5", "e.nii")):
        good("convert", source, target, "--strip-extensions", cwd=tmp_path)
    for name in "bd":
        with h5py.File(tmp_path / (name + ".h5")) as file:
            assert file["ITKImage/0/Spacing"][3] == 2.5
    assert_itk_reads(tmp_path / "c.nrrd", array)
    assert read(tmp_path / "e.nii")[1].header["pixdim"][4] == 2.5


def assert_itk_reads(path, array):
    image = sitk.ReadImage(str(path))
    assert image.GetDimension() == 4 and np.allclose(image.GetSpacing(), (1.5, 1.5, 2.5, 2.5))
    assert np.allclose(image.GetOrigin()[:3], np.diag([-1, -1, 1]) @ AFFINE[:3, 3], atol=1e-4)
    got = sitk.GetArrayFromImage(image)
    want = np.moveaxis(array, 4, 0) if array.shape[4] > 1 else array[..., 0]
    assert np.array_equal(got, want.transpose(4, 3, 2, 1, 0) if array.shape[4] > 1 else want.T)


@pytest.mark.parametrize("suffix", [".nrrd", ".mha"])
def test_itk_reads_what_we_write(tmp_path, suffix):
    array = series()
    write(tmp_path / "in.nii", array)
    good("convert", "in.nii", "out" + suffix, cwd=tmp_path)
    assert_itk_reads(tmp_path / ("out" + suffix), array)
    if suffix == ".nrrd":
        voxels, header = nrrd.read(str(tmp_path / "out.nrrd"))
        assert np.array_equal(voxels, array[..., 0]) and header["kinds"][3] == "time"
        assert header["space"] == "left-posterior-superior-time"


@pytest.mark.parametrize("suffix", [".nrrd", ".mha", ".nii.gz"])
def test_we_read_what_itk_writes(tmp_path, suffix):
    array = series()
    write(tmp_path / "in.nii", array)
    sitk.WriteImage(sitk.ReadImage(str(tmp_path / "in.nii")), str(tmp_path / ("itk" + suffix)))
    good("convert", "itk" + suffix, "out.nii", cwd=tmp_path)
    got, image = read(tmp_path / "out.nii")
    assert np.array_equal(got, array[..., 0]) and np.allclose(image.affine, AFFINE, atol=1e-4)
    assert image.header["pixdim"][4] == 2.5


@pytest.mark.parametrize("axis", [0, 3])
def test_a_sequence_of_slicer(tmp_path, axis):
    """3D Slicer lists the values of its index beside an axis of kind list, which is then one of frames."""
    array = series()[..., 0]
    order = [3, 0, 1, 2] if axis == 0 else [0, 1, 2, 3]
    sizes, kinds = [*SIDES, FRAMES], ["domain"] * 3 + ["list"]
    directions = ["(-1.5,0,0)", "(0,-1.5,0)", "(0,0,2.5)", "none"]
    pick = lambda values: " ".join(str(values[i]) for i in order)
    head = "NRRD0005\ntype: short\ndimension: 4\nspace: left-posterior-superior\n"
    head += f"sizes: {pick(sizes)}\nspace directions: {pick(directions)}\nkinds: {pick(kinds)}\n"
    head += "endian: little\nencoding: gzip\nspace origin: (20,30,40)\n"
    head += f"axis {axis} index type:=numeric\naxis {axis} index values:=0 1 2 3\n\n"
    voxels = gzip.compress(array.transpose(order).tobytes(order="F"))
    (tmp_path / "in.seq.nrrd").write_bytes(head.encode() + voxels)
    good("convert", "in.seq.nrrd", "out.nii", cwd=tmp_path)
    got, image = read(tmp_path / "out.nii")
    assert np.array_equal(got, array) and np.allclose(image.affine, AFFINE)


def test_compare_takes_a_frame(tmp_path):
    """--frame is of each volume that has several."""
    array = series()
    write(tmp_path / "in.nii", array)
    good("convert", "in.nii", "in.nrrd", cwd=tmp_path)
    for frame in (0, 3):
        save(array[..., frame, 0], tmp_path / "one.nii")
        for a, b in (("in.nii", "one.nii"), ("one.nii", "in.nrrd"), ("in.nii", "in.nrrd")):
            done = good("compare", "--values", a, b, "--frame", frame, "--strict", cwd=tmp_path)
            assert done.stdout.endswith("\nequal\n")
    assert good("compare", "--values", "in.nii", "one.nii", "--frame", 1, cwd=tmp_path).stdout.endswith("\ndifferent\n")
    assert_one_line(lobule("compare", "--values", "in.nii", "one.nii", cwd=tmp_path), 65, "choose one with --frame N")
    assert_one_line(lobule("compare", "one.nii", "one.nii", "--frame", 2, cwd=tmp_path), 65, "have one frame")
    assert_one_line(lobule("compare", "in.nii", "one.nii", "--frame", 4, cwd=tmp_path), 65, "no frame 4")


def test_what_holds_one_frame(tmp_path):
    write(tmp_path / "in.nii", series()[:, :, :1])
    assert_one_line(lobule("convert", "in.nii", "out.png", cwd=tmp_path), 65, "holds one frame", "--frame")
    assert_one_line(lobule("convert", "--labels", "in.nii", "out.nii", cwd=tmp_path), 65, "--frame")
    assert_one_line(lobule("convert", "in.nii", "out.nii", "--frame", FRAMES, cwd=tmp_path), 65, "frame 4")


def test_a_type_for_every_frame(tmp_path):
    array = series() / 3
    write(tmp_path / "in.nii", array)
    done = good("convert", "in.nii", "out.nrrd", "--type", "float32", cwd=tmp_path)
    assert f"rounded to the digits of float32: {np.count_nonzero(array.astype(np.float32) != array)}" in done.stderr
    good("convert", "out.nrrd", "back.nii", cwd=tmp_path)
    assert np.array_equal(read(tmp_path / "back.nii")[0], array[..., 0].astype(np.float32))
    save(array[..., 0, 0].astype(np.float32), tmp_path / "scaled.nii", scale=(0.1, 3))
    assert "rounded" in good("convert", "scaled.nii", "plain.nii", "--type", "float32", cwd=tmp_path).stderr


def test_a_series_that_does_not_say_how_it_lies(tmp_path):
    array = series(2)
    write(tmp_path / "in.nii", array)
    raw = bytearray((tmp_path / "in.nii").read_bytes())
    raw[252:256] = bytes(4)  # qform_code and sform_code
    (tmp_path / "in.nii").write_bytes(raw)
    good("convert", "in.nii", "out.nrrd", cwd=tmp_path)
    about = good("info", "out.nrrd", cwd=tmp_path).stdout
    assert "unknown" in about
    good("convert", "out.nrrd", "back.nii", cwd=tmp_path)
    got, image = read(tmp_path / "back.nii")
    assert np.array_equal(got, array.reshape(got.shape)) and image.header["pixdim"][4] == 2.5
