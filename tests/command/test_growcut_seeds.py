"""What stands in the place of the seeds: seeds of any kind are taken, a scan is not."""

import json

import h5py
import nibabel
import numpy as np
import pytest
from conftest import AFFINE, assert_one_line, contents, good, load, lobule, refused, save
from scipy import ndimage

TRUST = "--trust-seeds"


def smooth_scan(kind):
    """A positive scan of 40 x 36 x 20 voxels, with more or less noise."""
    rng = np.random.default_rng(3)
    z, y, x = np.indices((20, 36, 40)).astype(np.float32)
    image = 900 + 500 * np.sin(x / 7) * np.cos(y / 9) + 20 * z
    image += rng.normal(0, {"smooth": 2, "noisy": 40, "dark": 40}[kind], image.shape)
    if kind == "dark":  # a body in air of 0
        image[(x - 20) ** 2 + (y - 18) ** 2 > 170] = 0
    return np.ascontiguousarray(np.clip(image, 0, None).astype(np.int16).T)


@pytest.mark.parametrize("kind", ["smooth", "noisy", "dark"])
def test_swapped(tmp_path, kind):
    """Seeds first and scan second is refused, and nothing is left behind."""
    scan = smooth_scan(kind)
    seeds = np.zeros(scan.shape, np.uint8)
    seeds[20, 18, 10], seeds[1, 1, 1] = 1, 2
    save(scan, tmp_path / "scan.nii.gz")
    save(seeds, tmp_path / "seeds.nii.gz")
    refused(tmp_path, ["growcut", "seeds.nii.gz", "scan.nii.gz", "-o", "out.nii.gz"],
            65, "scan.nii.gz: has", "labels", "as in a scan", "swapped?", TRUST)  # fmt: skip
    good("growcut", "seeds.nii.gz", "scan.nii.gz", "-o", "out.nii.gz", TRUST, cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "out.nii.gz")[scan > 0], scan[scan > 0])


@pytest.mark.parametrize("left,code", [(0, 65), (1, 65), (2, 0)])
def test_nothing_to_grow(tmp_path, left, code):
    """Of 20000 voxels one unknown one is too few to be meant, two are not."""
    seeds = np.ones((20, 40, 25), np.uint8)
    seeds[10:] = 2
    seeds.reshape(-1)[:left] = 0
    save(seeds, tmp_path / "seeds.nii")
    save(np.arange(20000, dtype=np.int16).reshape(seeds.shape), tmp_path / "scan.nii")
    done = lobule("growcut", "scan.nii", "seeds.nii", "-o", "out.nii", cwd=tmp_path)
    if code == 0:
        assert done.returncode == 0, done.stderr
        return
    assert_one_line(done, 65, f"seeds.nii: covers {20000 - left} of 20000 voxels", "swapped?", TRUST)
    good("growcut", "scan.nii", "seeds.nii", "-o", "out.nii", TRUST, cwd=tmp_path)


@pytest.mark.parametrize("second", ["image.nii", "./image.nii", "link.nii"])
def test_one_file_twice(folder, second):
    """The scan is not its own seeds, under whatever name."""
    (folder / "link.nii").symlink_to("image.nii")
    done = lobule("growcut", "image.nii", second, "-o", "out.nii", cwd=folder)
    assert_one_line(done, 64, f"{second}: named for IMAGE and for SEEDS")


def test_one_hdf5_file(tmp_path):
    """Two data sets of one file are two volumes, one twice is not."""
    seeds = np.zeros((9, 10, 11), np.uint8)
    seeds[1, 1, 1], seeds[7, 8, 9] = 1, 2
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["raw"] = np.arange(990, dtype=np.int16).reshape(9, 10, 11)
        file["seeds"] = seeds
    good("growcut", "a.h5:/raw", "a.h5:/seeds", "-o", "out.nii", cwd=tmp_path)
    done = lobule("growcut", "a.h5:/raw", "a.h5:/raw", "-o", "other.nii", cwd=tmp_path)
    assert_one_line(done, 64, "a.h5:/raw: named for IMAGE and for SEEDS")


def cells(side, distance):
    """Blocks of `side` voxels, each with a label of its own, `distance` apart."""
    z, y, x = np.indices((48, 48, 48)) // distance
    inside = np.all(np.indices((48, 48, 48)) % distance < side, axis=0)
    return np.where(inside, 1 + x + 48 * (y + 48 * z), 0).astype(np.int32)


@pytest.mark.parametrize("side,distance", [(1, 2), (1, 4), (2, 4), (3, 4), (5, 6)])
def test_hundreds_of_cells(tmp_path, side, distance):
    """Points, and blocks up to a voxel from each other, are seeds."""
    save(cells(side, distance), tmp_path / "seeds.nii")
    save(scan_like((48, 48, 48)), tmp_path / "scan.nii")
    good("growcut", "scan.nii", "seeds.nii", "-o", "out.nii", cwd=tmp_path)


def scan_like(shape):
    return np.random.default_rng(1).integers(0, 1000, shape).astype(np.int16)


def test_slices(tmp_path):
    """A label for each of 120 slices, and lines of labels along every axis, are seeds."""
    for axis in range(3):
        seeds = np.zeros((120, 120, 120), np.int32)
        seeds[20:100, 20:100, 20:100] = 1
        seeds *= np.expand_dims(np.arange(120), tuple({0, 1, 2} - {axis}))
        save(seeds, tmp_path / "seeds.nii")
        save(scan_like(seeds.shape), tmp_path / "scan.nii")
        good("growcut", "scan.nii", "seeds.nii", "-o", "out.nii", "--rounds", "1", "--force", cwd=tmp_path)


def test_seeds_are_reported(folder):
    """The report has the seeds of each label, and --verbose a line."""
    done = good("growcut", "image.nii", "seeds.nii", "-o", "out.nii", "-v", "--report", "r.json", cwd=folder)
    assert "seed voxels by label: 1: 1, 2: 1" in done.stderr
    labels = json.loads((folder / "r.json").read_text())["results"]["labels"]
    assert [(row["label"], row["seeds"]) for row in labels] == [(1, 1), (2, 1)]
    save(cells(1, 4), folder / "many.nii", affine=AFFINE)
    save(scan_like((48, 48, 48)), folder / "scan.nii", affine=AFFINE)
    done = good("growcut", "scan.nii", "many.nii", "-o", "many_out.nii", "-v", cwd=folder)
    line = next(line for line in done.stderr.splitlines() if "by label" in line)
    assert line.endswith("and 1698 labels more") and len(line) < 1000


def volumes_of(shared):
    """(name, array) of the real scans and label volumes of three dimensions and whole numbers."""
    for path in sorted((shared / "data").glob("*/*.nii.gz")):
        array = np.asanyarray(nibabel.load(path).dataobj)
        if array.ndim == 3 and array.size < 2e7 and (array.dtype.kind in "iu" or np.all(array == np.round(array))):
            yield path.name, array.astype(np.int32)
    for path in sorted((shared / "data").glob("plantseg-cells/*.h5")):
        with h5py.File(path) as file:
            for name in set(file) & {"raw", "label"}:
                if file[name].ndim == 3 and file[name].dtype.kind in "iu":
                    yield f"{path.name}_{name}", file[name][()].astype(np.int32)


def test_real_volumes(shared, tmp_path):
    """Every real scan is refused as seeds; every label volume, eroded, with its background is taken."""
    scans = labels = 0
    for name, array in volumes_of(shared):
        scan = np.unique(array).size > 150
        if scan:
            seeds = array - array.min() * (array.min() < 0)
        else:
            same = ndimage.grey_erosion(array, size=3) == ndimage.grey_dilation(array, size=3)
            seeds = np.where(same, np.where(array == 0, array.max() + 1, array), 0)
        save(seeds.astype(np.int32), tmp_path / "seeds.nii", affine=np.eye(4))
        save(np.zeros(array.shape, np.uint8), tmp_path / "image.nii", affine=np.eye(4))
        options = ["--rounds", "1", "--device", "cpu", "--force"]
        done = lobule("growcut", "image.nii", "seeds.nii", "-o", "out.nii", *options, cwd=tmp_path)
        assert (done.returncode == 65) == scan, f"{name}: {done.stderr}"
        assert ("swapped" in done.stderr) == scan, f"{name}: {done.stderr}"
        scans, labels = scans + scan, labels + (not scan)
    assert scans >= 10 and labels >= 15


@pytest.mark.parametrize(
    "bad,named", [(("scan", "seeds"), "scan"), (("seeds", "mask"), "seeds"), (("mask",), "mask")]
)
def test_first_bad_input_is_named(tmp_path, bad, named):
    """Seeds and mask are read beside the scan, but errors come in the order in which they are asked for."""
    save(smooth_scan("smooth"), tmp_path / "scan.nii.gz")
    seeds = np.zeros((40, 36, 20), np.uint8)
    seeds[20, 18, 10], seeds[1, 1, 1] = 1, 2
    for name in ("seeds", "mask"):
        save(seeds, tmp_path / f"{name}.nii.gz")
    for name in bad:
        path = tmp_path / f"{name}.nii.gz"
        path.write_bytes(path.read_bytes()[:-9])
    before = contents(tmp_path)
    for threads in (1, 4):
        done = lobule("growcut", "scan.nii.gz", "seeds.nii.gz", "--mask", "mask.nii.gz", "-o", "out.nii.gz",
                      "--threads", threads, cwd=tmp_path)  # fmt: skip
        assert_one_line(done, 65, f"{named}.nii.gz: damaged")
        assert contents(tmp_path) == before
