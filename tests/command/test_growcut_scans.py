"""GrowCut on an abdominal CT: slices as they would be alone, one result at any threads and tiles."""

import hashlib

import nibabel
import numpy as np
import pytest

from conftest import good, load


def test_liver(abdomen, tmp_path):
    scan, seeds, reference = abdomen
    good("growcut", scan, seeds, "-o", tmp_path / "labels.nii.gz")
    found = load(tmp_path / "labels.nii.gz") == 5
    liver = load(reference) == 5
    dice = 2 * np.count_nonzero(found & liver) / (found.sum() + liver.sum())
    assert dice >= 0.95


@pytest.mark.parametrize("rule", ["strength", "distance"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_as_alone(abdomen, tmp_path, rule, axis):
    """Every seventh slice, cut out and grown in 2D, is the slice of the slice-wise result."""
    scan, seeds, _ = abdomen
    good("growcut", scan, seeds, "-o", tmp_path / "whole.nii.gz", "--slices", "xyz"[axis], "--rule", rule,
         "--strength", tmp_path / "strength.nii.gz")
    whole, strength = load(tmp_path / "whole.nii.gz"), load(tmp_path / "strength.nii.gz")
    compared = 0
    for index in range(0, whole.shape[axis], 7):
        cut = tuple(slice(index, index + 1) if a == axis else slice(None) for a in range(3))
        if not load(seeds)[cut].any():
            assert not whole[cut].any()
            continue
        for name, source in (("image.nii.gz", scan), ("seeds.nii.gz", seeds)):
            nibabel.save(nibabel.load(source).slicer[cut], tmp_path / name)
        good("growcut", tmp_path / "image.nii.gz", tmp_path / "seeds.nii.gz", "-o",
             tmp_path / "alone.nii.gz", "--slices", "xyz"[axis], "--rule", rule, "--force",
             "--strength", tmp_path / "alone_strength.nii.gz")
        assert load(tmp_path / "alone.nii.gz").tobytes() == whole[cut].tobytes()
        assert load(tmp_path / "alone_strength.nii.gz").tobytes() == strength[cut].tobytes()
        compared += 1
    assert compared >= 10


def test_one_result(abdomen, tmp_path):
    """1, 2 and 3 threads and three tile sizes: the same file, to the byte."""
    scan, seeds, _ = abdomen
    sums = set()
    for threads in (1, 2, 3):
        for tile in (8, 32, 64):
            good("growcut", scan, seeds, "-o", tmp_path / "labels.nii.gz", "--force", "--threads", threads,
                 "--tile", tile)
            sums.add(hashlib.sha256((tmp_path / "labels.nii.gz").read_bytes()).hexdigest())
    assert len(sums) == 1
