"""HDF5 files of every layout that lead out of themselves or are damaged: one line, and nothing is given away."""

import os
import random
import re
import resource

import h5py
import numpy as np
import pytest
from conftest import assert_one_line, lobule
from test_hdf5_layouts import RNG, TURN, bdv, imaris, minc, mrd, nexus

SECRET = 77
ORDER = ("zspace", "yspace", "xspace")


def make(folder):
    """A file of each layout, by name."""
    minc(folder / "minc.h5", RNG.integers(0, 99, (5, 7, 11)).astype("u2"), ORDER, np.zeros(5), np.arange(5.0) + 1,
         (0, 99), ("zspace",), TURN)  # fmt: skip
    imaris(folder / "imaris.h5")
    bdv(folder / "bdv.h5")
    nexus(folder / "nexus.h5")
    with h5py.File(folder / "mrd.h5", "w") as file:
        data = RNG.normal(size=(4, 1, 1, 7, 11)).astype("f4")
        mrd(file, "dataset/image_0", data, (5, 5, 2), [(0, 0, 3 * i) for i in range(4)])
    with h5py.File(folder / "plain.h5", "w") as file:
        data = RNG.integers(0, 99, (5, 7, 11)).astype("u2")
        raw = file.create_dataset("raw", data=data, chunks=(4, 4, 5), compression="gzip", shuffle=True, fletcher32=True)
        raw.attrs.update(element_size_um=(1.0, 2.0, 3.0), stain="DAPI")
    assert lobule("convert", folder / "plain.h5", folder / "itk.h5").returncode == 0


# Each layout's voxels and what tells of them, and the exit code where its bytes are elsewhere: in external storage,
# behind an external link. What is optional is done without, and a layout without its voxels is none.
PARTS = [
    ("minc.h5", "minc-2.0/image/0/image", 65, 65),
    ("minc.h5", "minc-2.0/image/0/image-min", 65, 0),
    ("imaris.h5", "DataSet/ResolutionLevel 0/TimePoint 0/Channel 0/Data", 65, 65),
    ("imaris.h5", "DataSet/ResolutionLevel 0/TimePoint 1/Channel 2/Data", 65, 65),
    ("bdv.h5", "t00001/s00/0/cells", 65, 0),
    ("bdv.h5", "s00/resolutions", 0, 0),
    ("mrd.h5", "dataset/image_0/data", 65, 65),
    ("mrd.h5", "dataset/image_0/header", 65, 0),
    ("nexus.h5", "entry/scan/counts", 65, 0),
    ("nexus.h5", "entry/scan/x", 0, 0),
    ("itk.h5", "ITKImage/0/VoxelData", 65, 0),
    ("itk.h5", "ITKImage/0/Origin", 65, 65),
    ("itk.h5", "ITKImage/0/MetaData/secret", 0, 0),
    ("itk.h5", "lobule/nifti_header", 0, 0),
]


def lead_astray(path, part, how, folder):
    """Put the bytes of a part into another file."""
    with h5py.File(path, "r+") as file:
        old = file.get(part)
        shape, dtype = (old.shape, old.dtype) if old else ((400,), np.dtype("u1"))
        attrs = dict(old.attrs) if old else {}
        if old:
            del file[part]
        if how == "external link":
            file[part] = h5py.ExternalLink(str(folder / "other.h5"), "/all")
            return
        size = int(np.prod(shape)) * dtype.itemsize
        new = file.create_dataset(part, shape, dtype, external=[(str(folder / "secret"), 0, size)])
        new.attrs.update(attrs)


@pytest.mark.parametrize("how", ["external storage", "external link"])
def test_no_part_is_read_from_another_file(tmp_path, how):
    make(tmp_path)
    (tmp_path / "secret").write_bytes(bytes([SECRET]) * 100000)
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["all"] = np.full(100000, SECRET, "u1")
    for name, part, *codes in PARTS:
        path, out = tmp_path / "astray.h5", tmp_path / "out.h5"
        path.write_bytes((tmp_path / name).read_bytes())
        lead_astray(path, part, how, tmp_path)
        done = lobule("convert", path, out, "--force")
        assert done.returncode == codes[how == "external link"], f"{part}: {done.returncode}: {done.stderr}"
        assert chr(SECRET) * 8 not in lobule("info", path).stdout
        if done.returncode == 0:
            with h5py.File(out) as file:
                assert not (file["/ITKImage/0/VoxelData"][()].view("u1") == SECRET).all()
                assert "secret" not in file["/ITKImage/0/MetaData"]


@pytest.mark.parametrize("name", ["minc.h5", "imaris.h5", "bdv.h5", "mrd.h5", "nexus.h5", "plain.h5", "itk.h5"])
def test_damage_to_any_layout(tmp_path, name):
    """Bytes changed anywhere: exit code 0 or 65, or 75 where sizes are absurd, and one line."""
    make(tmp_path)
    whole = (tmp_path / name).read_bytes()
    random_numbers = random.Random(name)
    sanitized = "LOBULE_SANITIZED" in os.environ
    for _ in range(int(os.environ.get("LOBULE_HDF5_CASES", 3 if sanitized else 15))):
        hurt = bytearray(whole)
        for _ in range(random_numbers.choice([1, 2, 4, 16])):
            hurt[random_numbers.randrange(len(hurt))] ^= 1 << random_numbers.randrange(8)
        (tmp_path / "hurt.h5").write_bytes(hurt)
        done = lobule("convert", tmp_path / "hurt.h5", tmp_path / "out.h5", "--frame", 0, "--force", "--quiet")
        assert done.returncode in (0, 65, 75), done.stderr
        if done.returncode and not sanitized:  # it reports the HDF5 library's own faults
            assert_one_line(done, done.returncode, "hurt.h5")


@pytest.mark.skipif(h5py.version.hdf5_version_tuple < (2, 0, 0), reason="this h5py writes no newer format")
def test_a_newer_format_may_be_the_reason(tmp_path):
    """HDF5 2's newest form of chunks is unknown to HDF5 1: the line says so, and what writes it."""
    with h5py.File(tmp_path / "new.h5", "w", libver="latest") as file:
        file.create_dataset("raw", data=np.arange(720, dtype="u2").reshape(8, 9, 10), chunks=(4, 3, 5), compression="gzip")
    for inside in ("", ":/raw"):
        done = lobule("convert", f"{tmp_path / 'new.h5'}{inside}", tmp_path / "out.nii", "--force")
        if done.returncode:  # HDF5 2 reads it
            assert_one_line(done, 65, "raw", "newer format", "libver='latest'")


def test_a_circle_in_a_small_file_is_left_early(tmp_path):
    """A text's length of which HDF5 1.10 makes no step at all: it reads the same heap for ever."""
    path = tmp_path / "scan.nxs"
    nexus(path)
    whole = bytearray(path.read_bytes())
    for heap in re.finditer(b"GCOL", bytes(whole)):
        length = heap.start() + 16 + 8  # behind the heap's head: of its first object number, count, length
        whole[length : length + 8] = (2**64 - 16).to_bytes(8, "little")
    path.write_bytes(whole)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = lobule("info", path)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 65), done.stderr  # newer releases of HDF5 notice it
    assert used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime < 4
