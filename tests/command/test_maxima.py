"""lobule maxima: plateaus, heights and distances against scikit-image and a naive search."""

import json

import numpy as np
import pytest
from conftest import AFFINE, assert_one_line, cases, good, load, lobule, rows_of, save
from in_process import PLAIN, in_process, package, random_shape
from scipy import ndimage
from skimage.feature import peak_local_max
from skimage.morphology import h_maxima, local_maxima

CASES = len(cases(40))
SIDES = [1, 2, 3, 5, 7, 11, 13, 17]
SPACING = np.array([1.5, 1.5, 2.5])


def found(folder, image, *options, affine=AFFINE):
    """Labels, rows of the table and the report of one run."""
    save(image, folder / "image.nii.gz", affine)
    good("maxima", folder / "image.nii.gz", "-o", folder / "labels.nii.gz", "--table", folder / "t.tsv",
         "--force", "--report", folder / "report.json", *options)  # fmt: skip
    rows = [{k: float(v) for k, v in row.items()} for row in rows_of(folder / "t.tsv")]
    return load(folder / "labels.nii.gz"), rows, json.loads((folder / "report.json").read_text())


def numbered(mask, structure=np.ones((3, 3, 3))):
    """Connected parts in the order of their first voxels, x fastest."""
    labels, _ = ndimage.label(mask.transpose(2, 1, 0), structure)
    return labels.transpose(2, 1, 0)


def random_image(random, shape=None):
    shape = shape or tuple(int(side) for side in random.choice(SIDES, 3))
    image = ndimage.gaussian_filter(random.normal(size=shape), random.choice([0, 0.7, 1.5]))
    levels = random.choice([4, 12, 200])
    image = np.rint((image - image.min()) / max(np.ptp(image), 1e-9) * levels)
    if np.ptp(image) == 0:
        image.flat[0] += 1
    return image.astype(random.choice([np.uint8, np.int16, np.float32, np.float64]))


def expected(image, height):
    """scikit-image's maxima, with what is lowest around the image: its border takes none away."""
    # it finds none along an axis of one voxel unless that is taken away
    flat = np.atleast_1d(np.squeeze(image.astype(np.float64)))
    if height:
        wanted = h_maxima(np.pad(flat, 1, constant_values=image.min()), height) > 0
    else:
        wanted = local_maxima(np.pad(flat, 1, constant_values=image.min() - 1.0))
    return np.asarray(wanted, bool)[tuple([slice(1, -1)] * flat.ndim)].reshape(image.shape)


@pytest.mark.parametrize("seed", range(CASES))
def test_agrees_with_scikit_image(tmp_path, seed):
    random = np.random.default_rng(seed)
    image = random_image(random)
    height = int(random.choice([0, 1, 2, 3, 7]))
    if height > np.ptp(image):  # there scikit-image gives nothing, and the highest is one here
        height = 0
    options = ["--height", height, "--threads", random.integers(1, 4)]
    wanted = expected(image, height)
    labels, rows, report = found(tmp_path, image, *options)
    np.testing.assert_array_equal(labels, numbered(wanted), err_msg=f"seed {seed}, {image.shape}, height {height}")
    assert report["results"]["maxima"] == len(rows) == labels.max()
    for row in rows:
        at = int(row["x"]), int(row["y"]), int(row["z"])
        assert labels[at] == row["label"] and image[at] == row["value"]
        assert (labels == row["label"]).sum() == row["voxels"]
        world = AFFINE @ [*at, 1]
        np.testing.assert_allclose([row["x_mm"], row["y_mm"], row["z_mm"]], world[:3], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("seed", range(CASES // 4))
def test_distance_takes_the_highest_first(tmp_path, seed):
    """Against comparing every pair, strongest first, as peak_local_max does."""
    random = np.random.default_rng(500 + seed)
    image = random_image(random)
    apart = float(random.choice([1.5, 3, 4.7, 9]))
    _, everything, _ = found(tmp_path, image)
    taken = []
    for row in sorted(everything, key=lambda r: (-r["value"], r["label"])):
        at = np.array([row["x"], row["y"], row["z"]])
        if all(np.linalg.norm((at - other) * SPACING) >= apart - 1e-6 for other in taken):
            taken.append(at)
    _, rows, report = found(tmp_path, image, "--distance", f"{apart}mm")
    assert {(r["x"], r["y"], r["z"]) for r in rows} == {tuple(at) for at in taken}
    assert report["results"]["found"] == len(everything)


def with_holes(random, image):
    """An image of doubles, partly with NaN or a mask (else None), and where it is data."""
    mask = random.random(image.shape) < 0.8 if random.random() < 0.3 else None
    if random.random() < 0.3:
        image[random.random(image.shape) < 0.1] = random.choice([np.nan, np.inf, -np.inf])
    data = np.isfinite(image) & (True if mask is None else mask)
    if not data.any():
        image.flat[0], data.flat[0] = 1, True
        if mask is not None:
            mask.flat[0] = True
    return image, None if mask is None else mask.astype(np.uint8), data


@in_process
def test_many_h_maxima(record_property):
    """What is no data lies so low for scikit-image that no way leads over it."""
    for seed in cases(300):
        random = np.random.default_rng(2000 + seed)
        image, mask, data = with_holes(random, random_image(random, random_shape(random)).astype(np.float64))
        height = int(random.choice([0, 1, 2, 3, 7]))
        if height > np.ptp(image[data]):
            height = 0
        wanted = expected(np.where(data, image, image[data].min() - height - 1), height) & data
        labels = package.maxima(image, height=height, mask=mask, **PLAIN)
        np.testing.assert_array_equal(labels, numbered(wanted), err_msg=f"seed {seed}, {image.shape}, height {height}")
    record_property("cases", len(cases(300)))


@in_process
def test_many_are_peak_local_max_s(record_property):
    """All values differ, since of a plateau scikit-image takes each voxel for a peak of its own."""
    for seed in cases(300):
        random = np.random.default_rng(3000 + seed)
        shape = random_shape(random, least=2)
        order = np.argsort(ndimage.gaussian_filter(random.normal(size=shape), random.choice([0, 0.7])), axis=None)
        image = np.empty(shape)
        image.flat[order] = np.arange(image.size)
        image, mask, data = with_holes(random, image)
        apart, above = float(random.choice([0, 1.5, 3, 4.7, 9])), float(random.choice([-1, image.size // 2]))
        low = np.squeeze(np.where(data, image, -2))
        peaks = peak_local_max(low.transpose(), min_distance=apart, footprint=np.ones([3] * low.ndim), p_norm=2,
                               exclude_border=False, threshold_abs=above)  # fmt: skip
        wanted = np.zeros(low.shape, bool)
        wanted[tuple(peaks.T[::-1])] = True
        labels = package.maxima(image, apart=f"{apart}vox", above=above, mask=mask, **PLAIN)
        np.testing.assert_array_equal(labels, numbered(wanted.reshape(shape)), err_msg=f"seed {seed}, {shape}, {apart}")
    record_property("cases", len(cases(300)))


def test_plateau_that_goes_on_uphill_is_none(tmp_path):
    image = np.zeros((9, 5, 1), np.int16)
    image[1:4, 2, 0] = 5  # a plateau on its own
    image[6:8, 2, 0] = 5  # one with a step up
    image[8, 2, 0] = 6
    labels, rows, _ = found(tmp_path, image)
    assert [(r["x"], r["value"], r["voxels"]) for r in rows] == [(1, 5, 3), (8, 6, 1)]
    assert (labels[1:4, 2, 0] == 1).all() and labels[6, 2, 0] == 0


def test_above_and_mask_and_nan(tmp_path):
    image = np.zeros((12, 1, 1), np.float32)
    image[[1, 4, 7, 10], 0, 0] = 3, 9, np.nan, 5
    image[8, 0, 0] = 4
    mask = np.ones((12, 1, 1), np.uint8)
    mask[4] = 0
    save(mask, tmp_path / "mask.nii.gz")
    _, rows, _ = found(tmp_path, image, "--above", 0)
    assert [r["x"] for r in rows] == [1, 4, 8, 10]
    _, rows, _ = found(tmp_path, image, "--above", 3, "--mask", tmp_path / "mask.nii.gz")
    assert [r["x"] for r in rows] == [8, 10]


def test_slices_and_neighbours(tmp_path):
    image = np.zeros((5, 5, 2), np.uint8)
    image[1, 1, 0], image[2, 2, 0], image[2, 2, 1] = 5, 6, 7
    _, rows, _ = found(tmp_path, image, "--above", 0)
    assert [r["value"] for r in rows] == [7]
    _, rows, _ = found(tmp_path, image, "--above", 0, "--slices", "z")
    assert [r["value"] for r in rows] == [6, 7]
    _, rows, _ = found(tmp_path, image, "--above", 0, "--neighbours", 6)
    assert [r["value"] for r in rows] == [5, 7]


def test_height_counts_the_way_down(tmp_path):
    """Two summits with a pass between: the lower one is as high as the way down to the pass."""
    image = np.array([0, 10, 7, 9, 0, 9, 3, 9, 1], np.float64).reshape(9, 1, 1)
    for height, peaks in [(2, [1, 3, 5, 7]), (2.5, [1, 5, 7]), (6, [1, 5, 7]), (8, [1, 5, 7]), (9.5, [1])]:
        _, rows, _ = found(tmp_path, image, "--height", height)
        assert [r["x"] for r in rows] == peaks, height


REFUSED = [
    ("no output", [], 64, "--table"),
    ("a height below 0", ["-o", "o.nii.gz", "--height", "-1"], 64, "--height"),
    ("a name without a table", ["-o", "o.nii.gz", "--name", "n"], 64, "--table"),
    ("4 neighbours in 3D", ["-o", "o.nii.gz", "--neighbours", "4"], 64, "neighbours"),
    ("a table of no kind", ["-o", "o.nii.gz", "--table", "t.txt"], 64, "t.txt"),
    ("a mask of another grid", ["-o", "o.nii.gz", "--mask", "small.nii.gz"], 65, "small.nii.gz"),
    ("too little memory", ["-o", "o.nii.gz", "--max-memory", "300KiB"], 75, "memory"),
]


@pytest.mark.parametrize("what,options,code,words", REFUSED, ids=[row[0] for row in REFUSED])
def test_refusals(tmp_path, what, options, code, words):
    save(np.random.default_rng(1).random((40, 40, 40)).astype(np.float32), tmp_path / "image.nii.gz")
    save(np.ones((3, 3, 3), np.uint8), tmp_path / "small.nii.gz", affine=np.diag([9.0, 9, 9, 1]))
    done = lobule("maxima", "image.nii.gz", *options, cwd=tmp_path)
    assert_one_line(done, code, words)
    assert not (tmp_path / "o.nii.gz").exists()
