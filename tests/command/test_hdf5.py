"""HDF5 through the program: what other programs wrote is read, what we write they read."""

import json
import os
import shutil
import subprocess

import h5py
import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import PROGRAM, SHARED, assert_one_line, good, load, lobule, save
from scipy import ndimage

OVULE = SHARED / "data" / "plantseg-cells" / "sample_ovule.h5"
OVULE_UM = (0.235, 0.15, 0.15)  # z, y, x

needs_ovule = pytest.mark.skipif(not OVULE.exists(), reason=f"no {OVULE}")


def ovule(name):
    with h5py.File(OVULE) as file:
        return file[name][()]


def read_itk(path):
    return sitk.ReadImage(str(path), imageIO="HDF5ImageIO")


@needs_ovule
@pytest.mark.parametrize("name", ["raw", "label"])
def test_plantseg_to_hdf5(tmp_path, name):
    """A microscope's volume keeps its voxels and its spacing for h5py, ITK, PlantSeg and ilastik."""
    out = tmp_path / "out.h5"
    good("convert", f"{OVULE}:/{name}", out)
    wanted = ovule(name)
    with h5py.File(out) as file:
        data = file["/ITKImage/0/VoxelData"]
        assert data.dtype == wanted.dtype
        assert np.array_equal(data[()], wanted)
        assert np.allclose(data.attrs["element_size_um"], OVULE_UM, rtol=1e-12)
        assert '"key": "z"' in data.attrs["axistags"]
    image = read_itk(out)
    assert np.array_equal(sitk.GetArrayFromImage(image), wanted)
    assert np.allclose(image.GetSpacing(), [um / 1000 for um in reversed(OVULE_UM)], rtol=1e-12)


@needs_ovule
def test_plantseg_to_nifti(tmp_path):
    out = tmp_path / "out.nii.gz"
    good("convert", f"{OVULE}:/raw", out)
    assert np.array_equal(load(out), ovule("raw").transpose())
    zooms = nibabel.load(out).header.get_zooms()
    assert np.allclose(zooms, [um / 1000 for um in reversed(OVULE_UM)], rtol=1e-6)


@needs_ovule
def test_written_data_set_reads_like_the_first(tmp_path):
    """By its ITK group, by its data set, and by the file alone."""
    good("convert", f"{OVULE}:/raw", tmp_path / "one.h5")
    for number, inside in enumerate(["", ":/ITKImage/0", ":/ITKImage/0/VoxelData"]):
        out = tmp_path / f"again{number}.h5"
        good("convert", f"{tmp_path / 'one.h5'}{inside}", out)
        assert out.read_bytes() == (tmp_path / "one.h5").read_bytes()


@needs_ovule
def test_growcut_on_plantseg(tmp_path):
    """Cells eroded to their cores grow over a volume in HDF5; labels come out in HDF5 and NIfTI."""
    truth = ovule("label")
    kept = ndimage.minimum_filter(truth, 3) == ndimage.maximum_filter(truth, 3)
    seeds = np.where(kept, truth, 0)
    assert len(np.unique(seeds)) > 40
    with h5py.File(tmp_path / "seeds.h5", "w") as file:
        data = file.create_dataset("seeds", data=seeds, compression="gzip")
        data.attrs["element_size_um"] = OVULE_UM
    out, nifti = tmp_path / "cells.h5", tmp_path / "cells.nii.gz"
    for path in (out, nifti):
        good("growcut", f"{OVULE}:/raw", tmp_path / "seeds.h5", "-o", path)
    labels = sitk.GetArrayFromImage(read_itk(out))
    spacing_mm = [um / 1000 for um in reversed(OVULE_UM)]
    with h5py.File(out) as file:
        data = file["/ITKImage/0/VoxelData"]
        assert np.array_equal(data[()], labels)
        assert np.allclose(data.attrs["element_size_um"], OVULE_UM, rtol=1e-12)
    assert np.array_equal(load(nifti).transpose(), labels)
    assert np.allclose(read_itk(out).GetSpacing(), spacing_mm, rtol=1e-12)
    assert np.allclose(sitk.ReadImage(str(nifti)).GetSpacing(), spacing_mm, rtol=1e-6)
    assert np.allclose(nibabel.load(nifti).header.get_zooms(), spacing_mm, rtol=1e-6)
    assert labels.shape == truth.shape
    assert labels.dtype == np.int16  # the largest is 651
    assert np.array_equal(labels[seeds > 0], seeds[seeds > 0])
    assert set(np.unique(labels)) <= set(np.unique(seeds))
    assert (labels == truth).mean() > 0.9


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "float32", "float64"])
def test_nifti_lies_at_the_same_place_for_itk(tmp_path, dtype):
    """The world position of every voxel is what ITK makes of the NIfTI file itself."""
    array = np.arange(5 * 7 * 11).reshape(5, 7, 11).astype(dtype)
    turn = np.array([[0, -1, 0], [0.6, 0, -0.8], [0.8, 0, 0.6]])
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([0.5, 0.75, 2])
    affine[:3, 3] = [10, -20, 30]
    source = save(array, tmp_path / "in.nii.gz", affine)
    good("convert", source, tmp_path / "out.h5")
    ours, theirs = read_itk(tmp_path / "out.h5"), sitk.ReadImage(str(source))
    assert np.array_equal(sitk.GetArrayFromImage(ours), sitk.GetArrayFromImage(theirs))
    for place in [(0, 0, 0), (4, 0, 0), (0, 6, 0), (0, 0, 10), (4, 6, 10)]:
        assert np.allclose(
            ours.TransformIndexToPhysicalPoint(place),
            theirs.TransformIndexToPhysicalPoint(place),
            atol=1e-4,
        )


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("vector", [False, True])
def test_itk_files_are_read(tmp_path, vector, compress):
    """Voxels, place and components of what SimpleITK writes; its metadata stay with the volume."""
    shape = (3, 5, 7, 2) if vector else (3, 5, 7)
    array = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
    image = sitk.GetImageFromArray(array, isVector=vector)
    image.SetSpacing((0.5, 0.75, 2))
    image.SetOrigin((10, -20, 30))
    image.SetDirection((0, -1, 0, 1, 0, 0, 0, 0, 1))
    image.SetMetaData("0008|0060", "MR")
    source = str(tmp_path / "itk.h5")
    sitk.WriteImage(image, source, useCompression=compress, imageIO="HDF5ImageIO")
    good("convert", source, tmp_path / "out.h5")
    back = read_itk(tmp_path / "out.h5")
    assert np.array_equal(sitk.GetArrayFromImage(back), array)
    assert back.GetNumberOfComponentsPerPixel() == (2 if vector else 1)
    assert np.allclose(back.GetSpacing(), image.GetSpacing())
    assert np.allclose(back.GetOrigin(), image.GetOrigin())
    assert np.allclose(back.GetDirection(), image.GetDirection())
    assert back.GetMetaData("0008|0060") == "MR"


def test_same_bytes_each_time(tmp_path):
    array = np.random.default_rng(1).integers(0, 1000, (70, 66, 67)).astype("int16")
    source = save(array, tmp_path / "in.nii.gz")
    written = set()
    for threads in [1, 2, 5]:
        out = tmp_path / f"t{threads}.h5"
        good("convert", source, out, "--threads", threads)
        written.add(out.read_bytes())
    assert len(written) == 1


def with_metadata(tmp_path, fill, name="meta.h5"):
    """An HDF5 file in ITK's layout whose MetaData group fill has filled."""
    source = save(np.zeros((3, 4, 5), "uint8"), tmp_path / "plain.nii")
    good("convert", source, tmp_path / name, "--force")
    with h5py.File(tmp_path / name, "r+") as file:
        del file["lobule"]  # the NIfTI header, which would be carried instead
        fill(file["ITKImage/0/MetaData"])
    return tmp_path / name


def test_metadata_does_not_steer_the_terminal(tmp_path):
    def fill(value):
        def fill(group):
            group.create_dataset(b"\x1b[2Jkey", data=[value], dtype=h5py.string_dtype())
            group.create_dataset(b"caf\xe9", data=[value], dtype=h5py.string_dtype())

        return fill

    path, other = with_metadata(tmp_path, fill("a\x1b[31m")), with_metadata(tmp_path, fill("b"), "other.h5")
    text = good("info", path).stdout
    assert "?[2Jkey" in text and "a?[31m" in text and "caf?" in text and "\x1b" not in text
    done = subprocess.run([PROGRAM, "info", "--json", str(path)], capture_output=True, check=True)
    assert json.loads(done.stdout.decode("utf-8"))["header"]["caf\udce9"] == "a\x1b[31m"
    done = lobule("compare", "-v", "--values", path, other, "--json")
    assert done.returncode == 0 and "?[2Jkey" in done.stderr and "\x1b" not in done.stderr
    assert "caf\udce9" in json.loads(done.stdout)["header_fields"]


TOO_LARGE = [
    ("a text", 1, lambda group: group.create_dataset("long", data=["x" * 70000], dtype=h5py.string_dtype())),
    ("a list", 1, lambda group: group.create_dataset("list", data=np.arange(65.0))),
    ("a name", 1, lambda group: group.create_dataset("n" * 300, data=[1])),
    ("a group", 1, lambda group: group.create_group("inner")),
    (
        "more than 16 MiB in all",
        46,
        lambda group: [
            group.create_dataset(f"k{i:03}", data=["x" * 60000], dtype=h5py.string_dtype()) for i in range(324)
        ],
    ),
    ("more than 1000", 7, lambda group: [group.create_dataset(f"k{i:04}", data=[1]) for i in range(1007)]),
]


@pytest.mark.parametrize("what, dropped, fill", TOO_LARGE, ids=[row[0] for row in TOO_LARGE])
def test_metadata_that_is_too_large_is_told(tmp_path, what, dropped, fill):
    path = with_metadata(tmp_path, fill)
    done = good("convert", path, tmp_path / "out.nii")
    assert f"{dropped} of its metadata entries" in done.stderr


def test_several_data_sets_are_listed(tmp_path):
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["raw"] = np.zeros((3, 4, 5), "uint8")
        file["deep/label"] = np.zeros((3, 4, 5), "uint16")
    done = lobule("convert", tmp_path / "two.h5", tmp_path / "out.nii.gz")
    assert_one_line(done, 65, "two.h5", "/deep/label (3 x 4 x 5)", "/raw (3 x 4 x 5)")
    assert not (tmp_path / "out.nii.gz").exists()


def test_other_files_stay_shut(tmp_path):
    """An external link, a virtual data set and external storage could give away any file."""
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["raw"] = np.full((3, 4, 5), 7, "uint8")
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["raw"] = h5py.ExternalLink(str(tmp_path / "secret.h5"), "/raw")
    layout = h5py.VirtualLayout((3, 4, 5), "uint8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "raw", (3, 4, 5))
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file.create_virtual_dataset("raw", layout)
    with h5py.File(tmp_path / "external.h5", "w") as file:
        file.create_dataset("raw", (60,), "uint8", external=[(str(tmp_path / "secret.h5"), 0, 60)])
        file.create_dataset(
            "flat", (6, 10), "uint8", external=[(str(tmp_path / "secret.h5"), 0, 60)]
        )
    for name in ["link.h5:/raw", "virtual.h5:/raw", "virtual.h5", "external.h5"]:
        done = lobule("convert", tmp_path / name, tmp_path / "out.nii.gz")
        assert_one_line(done, 65, name)
        assert not (tmp_path / "out.nii.gz").exists()


def test_a_note_names_file_and_data_set(tmp_path):
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["raw"] = np.zeros((8, 8, 8), "uint8")
    done = good("convert", tmp_path / "plain.h5", tmp_path / "out.nii.gz")
    assert f"note: {tmp_path}/plain.h5:/raw: has no element_size_um" in done.stderr
    done = good("convert", tmp_path / "plain.h5", tmp_path / "spaced.nii.gz", "--spacing", "1,1,2")
    assert done.stderr == ""
    assert_one_line(lobule("info", tmp_path / "plain.h5:/rwa"), 65, "nothing named rwa; `lobule info FILE` lists")


def test_other_compressions_tell_what_to_do(tmp_path):
    with h5py.File(tmp_path / "lzf.h5", "w") as file:
        file.create_dataset("raw", data=np.zeros((8, 8, 8)), compression="lzf")
    done = lobule("convert", tmp_path / "lzf.h5", tmp_path / "out.nii.gz")
    assert_one_line(done, 65, "lzf.h5", "(lzf)", "compression='gzip' in h5py")


@pytest.mark.parametrize(
    "script, says",
    [
        pytest.param("exit 64", "is of another version than Lobule", id="of_another_version"),
        pytest.param("printf 12345678", "is of another version than Lobule", id="of_another_build"),
        pytest.param("exit 127", "does not run here", id="lacks_a_library"),
        pytest.param("kill -ABRT $$", "does not run here", id="crashes_at_once"),
    ],
)
def test_helper_that_is_not_ours(tmp_path, script, says):
    """A file is not called damaged because the program that reads it is."""
    save(np.ones((3, 4, 5), np.uint8), tmp_path / "a.nii.gz")
    good("convert", tmp_path / "a.nii.gz", tmp_path / "a.h5")
    program, helper = tmp_path / "lobule", tmp_path / "lobule-hdf5"
    shutil.copy(PROGRAM, program)
    helper.write_text(f"#!/bin/sh\n{script}\n")
    helper.chmod(0o755)
    for words in (["info", "a.h5"], ["convert", "a.nii.gz", "b.h5"]):
        run = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
        assert_one_line(run, 70, says)
    assert not (tmp_path / "b.h5").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
def test_helper_of_somebody_else(tmp_path):
    """It is not run: whoever can write to a folder near ours could have put it there."""
    save(np.ones((3, 4, 5), np.uint8), tmp_path / "a.nii.gz")
    program, helper = tmp_path / "lobule", tmp_path / "lobule-hdf5"
    shutil.copy(PROGRAM, program)
    helper.write_text(f"#!/bin/sh\ntouch {tmp_path}/was_run\n")
    helper.chmod(0o755)
    os.chown(helper, 12345, -1)
    subprocess.run([program, "convert", tmp_path / "a.nii.gz", tmp_path / "b.h5"], check=False)
    assert not (tmp_path / "was_run").exists()
    os.chown(program, 12345, -1)  # now they belong together, in a folder of root's
    subprocess.run([program, "convert", tmp_path / "a.nii.gz", tmp_path / "b.h5"], check=False)
    assert (tmp_path / "was_run").exists()


def test_few_files_may_be_open(tmp_path):
    """Sixteen are enough, of which the shell has some."""
    save(np.arange(720, dtype=np.int16).reshape(8, 9, 10), tmp_path / "in.nii")
    for line in ("convert in.nii out.h5", "convert out.h5 back.nii"):
        done = subprocess.run(["bash", "-c", f'ulimit -n 16; exec "$0" {line}', PROGRAM], cwd=tmp_path, capture_output=True,
                              text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
    good("compare", "--values", "--strict", "in.nii", "back.nii", cwd=tmp_path)
