"""lobule merge: basins that no wall parts become one."""

import json

import numpy as np
import pytest
from conftest import AFFINE, assert_one_line, good, load, lobule, refused, save


@pytest.fixture
def basins(tmp_path):
    """Four basins in a row, with bottoms at 10, 30, 20, 0 and walls at 35, 60 and 200 between them."""
    image = np.array([10, 35, 30, 60, 20, 200, 0], np.int16).reshape(7, 1, 1)
    labels = np.array([40, 40, 7, 7, 300, 300, 9], np.int16).reshape(7, 1, 1)
    save(np.repeat(image, 3, 1), tmp_path / "image.nii.gz")
    save(np.repeat(labels, 3, 1), tmp_path / "labels.nii.gz")
    return tmp_path


def merged(folder, *options):
    good("merge", "labels.nii.gz", "image.nii.gz", "-o", "out.nii.gz", "--force", "--report", "report.json", *options,
         cwd=folder)  # fmt: skip
    return load(folder / "out.nii.gz")[:, 0, 0].tolist()


@pytest.mark.parametrize("options, want", [
    (["--height", 5], [40, 40, 7, 7, 300, 300, 9]),
    (["--height", 5.1], [7, 7, 7, 7, 300, 300, 9]),
    (["--height", 41], [7, 7, 7, 7, 7, 7, 9]),
    (["--height", 191], [7, 7, 7, 7, 7, 7, 7]),
    (["--share", 0.1, "--level", 60], [40, 40, 7, 7, 300, 300, 9]),
    (["--share", 0.2, "--level", 60], [7, 7, 7, 7, 300, 300, 9]),
    (["--share", 0.2, "--level", 230], [7, 7, 7, 7, 7, 7, 9]),
])  # fmt: skip
def test_which_become_one(basins, options, want):
    """Labels keep their numbers; of joined ones the smallest stays."""
    assert merged(basins, *options) == want
    results = json.loads((basins / "report.json").read_text())["results"]
    assert (results["labels_in"], results["labels"], results["contacts"]) == (4, len(set(want)), 3)


def test_image_is_turned_to_the_labels(basins):
    good("convert", "image.nii.gz", "same.nii.gz", cwd=basins)
    save(load(basins / "image.nii.gz")[::-1].copy(), basins / "image.nii.gz",
         AFFINE @ np.array([[-1, 0, 0, 6], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]]))  # fmt: skip
    assert merged(basins, "--height", 41) == [7, 7, 7, 7, 7, 7, 9]


@pytest.mark.parametrize("options, part", [
    ([], "--height"),
    (["--share", "0.5"], "--level"),
    (["--height", "1", "--level", "3"], "--share"),
    (["--height", "-1"], "height"),
    (["--share", "1.5", "--level", "3"], "share"),
])  # fmt: skip
def test_usage(basins, options, part):
    refused(basins, ["merge", "labels.nii.gz", "image.nii.gz", "-o", "o.nii.gz", *options], 64, part)


def test_other_grid(basins):
    save(np.zeros((5, 3, 1), np.int16), basins / "small.nii.gz")
    done = lobule("merge", "labels.nii.gz", "small.nii.gz", "-o", "o.nii.gz", "--height", "1", cwd=basins)
    assert_one_line(done, 65, "small.nii.gz")


def test_same_bytes_at_any_thread_count(tmp_path):
    random = np.random.default_rng(2)
    save(random.integers(0, 50, (31, 23, 17)).astype(np.int16), tmp_path / "image.nii.gz")
    save(random.integers(0, 60, (31, 23, 17)).astype(np.uint8), tmp_path / "labels.nii.gz")
    found = []
    for threads in (1, 2, 5):
        merged(tmp_path, "--height", 9, "--threads", threads)
        found.append(load(tmp_path / "out.nii.gz"))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
