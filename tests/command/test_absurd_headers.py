"""Spacings that no scan has: pictures stay as large as asked for, and no option is blamed."""

import nibabel
import numpy as np
import pytest
from conftest import assert_one_line, good, lobule, refused, save
from PIL import Image

SHAPE = (20, 24, 16)


def scan(path, spacing_mm, shape=SHAPE):
    """A NIfTI-2 file, whose affine is in doubles."""
    array = np.random.default_rng(0).integers(0, 99, shape).astype(np.uint8)
    image = nibabel.Nifti2Image(array, None)
    image.set_sform(np.diag([*np.broadcast_to(spacing_mm, 3), 1]), 1)
    nibabel.save(image, path)
    return path


SPACINGS = [1e-12, 1, 1e10, 1e17, 1e20, 1e300, (1e17, 1, 1), (1, 1, 1e17), (1e-9, 1e9, 1), (1, 1e6, 1e12)]


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("options", [[], ["--size", 64], ["--plane", "coronal"], ["--montage", 9], ["--size", 97]])
def test_preview_is_as_large_as_asked(tmp_path, spacing, options):
    scan(tmp_path / "scan.nii", spacing)
    good("preview", "scan.nii", "-o", "p.png", *options, cwd=tmp_path, timeout=20)
    size = options[1] if "--size" in options else 1200
    with Image.open(tmp_path / "p.png") as picture:
        assert max(picture.size) <= size
        assert max(picture.size) > 0.9 * size or not np.isscalar(spacing)


def test_preview_of_what_cannot_be_drawn(tmp_path):
    """A side in mm beyond all numbers is bad data."""
    scan(tmp_path / "scan.nii", 1e307, (200, 200, 2))
    refused(tmp_path, ["preview", "scan.nii", "-o", "p.png"],
            65, "scan.nii: voxels of 1e+307 x 1e+307 x 1e+307 mm are too large to draw")  # fmt: skip


def test_preview_of_too_many_slices(tmp_path):
    scan(tmp_path / "scan.nii", 1, (20, 24, 400))
    done = lobule("preview", "scan.nii", "-o", "p.png", "--montage", 400, "--size", 64, cwd=tmp_path)
    assert_one_line(done, 64, "--size 64: 400 slices do not fit")
    good("preview", "scan.nii", "-o", "p.png", "--montage", 400, "--size", 400, cwd=tmp_path)


def tinted(tmp_path, labels):
    """How many pixels of the planes at the left are coloured by labels; what stands in space is at the right."""
    save(np.full(labels.shape, 100, np.int16), tmp_path / "scan.nii", affine=np.eye(4))
    save(labels, tmp_path / "labels.nii", affine=np.eye(4))
    good("preview", "scan.nii", "labels.nii", "-o", "p.png", "--window", "0,200", "--force", cwd=tmp_path)
    with Image.open(tmp_path / "p.png") as picture:
        left = np.asarray(picture.convert("RGB"))[:, : picture.size[0] // 2]
    red, green, blue = left.astype(int).transpose(2, 0, 1)
    return np.count_nonzero(np.abs(red - green) + np.abs(green - blue) > 20)


def test_the_only_label_is_drawn(tmp_path):
    """A mask of more than half the volume is drawn; of several labels, one that large is not."""
    labels = np.zeros((30, 30, 30), np.uint8)
    labels[1:-1, 1:-1, 1:-1] = 1
    assert tinted(tmp_path, labels) > 200000
    labels[0, 0, 0] = 2
    assert tinted(tmp_path, labels) < 50000


@pytest.mark.parametrize("size", [["--size", "3vox"], ["--size", "3mm"], ["--count", "30"]])
@pytest.mark.parametrize("spacing", [1e10, 1e20, (1, 1e20, 1), 1e300, 1e-20, (1.5, 2, 1e-99), (1e8, 1e-11, 1e-11)])
def test_supervoxels_of_absurd_voxels(tmp_path, spacing, size):
    """Voxels of 1e20 mm are bad data, not bad usage, whatever is asked for."""
    scan(tmp_path / "scan.nii", spacing)
    refused(tmp_path, ["supervoxels", "scan.nii", "-o", "out.nii", *size],
            65, "scan.nii: voxels of", "to be meant; correct the spacing in its header")  # fmt: skip


def test_supervoxels_of_large_voxels(tmp_path):
    """Across a single slice nothing is measured, and kilometres are no error."""
    for spacing, shape in ((1e6, SHAPE), ((1, 1, 1e20), (20, 24, 1))):
        scan(tmp_path / "scan.nii", spacing, shape)
        good("supervoxels", "scan.nii", "-o", "out.nii", "--size", "3vox", "--force", cwd=tmp_path)
