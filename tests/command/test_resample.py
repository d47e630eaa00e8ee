"""lobule crop and lobule resample: voxels stay where they are in the world."""

import json

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, good, load, refused, save
from scipy import ndimage


def world(image, voxel):
    return image.affine @ [*voxel, 1]


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(1)
    image = random.normal(100, 30, (19, 17, 11)).astype(np.float32)
    save(image, tmp_path / "image.nii.gz")
    marks = np.zeros(image.shape, np.uint8)
    marks[5:9, 4, 3:8] = 2
    save(marks, tmp_path / "marks.nii.gz")
    return tmp_path


# ---- crop ----


@pytest.mark.parametrize(
    "options, first, last",
    [
        ([], (5, 4, 3), (8, 4, 7)),
        (["--margin", "2vox"], (3, 2, 1), (10, 6, 9)),
        (["--margin", "4.5mm"], (2, 1, 1), (11, 7, 9)),  # voxels of 1.5, 1.5, 2.5 mm: 3, 3, 2
        (["--share", "0.3"], (3, 3, 1), (10, 5, 9)),  # of sides 4, 1, 5: 2, 1, 2
        (["--margin", "1vox", "--share", "0.3"], (3, 3, 1), (10, 5, 9)),
        (["--ends", "2"], (5, 2, 3), (8, 6, 7)),  # across y, where one slice is marked
        (["--share", "0.3", "--ends", "2"], (3, 2, 1), (10, 6, 9)),
        (["--share", "0.3", "--ends", "0.1"], (3, 3, 1), (10, 5, 9)),
        (["--margin", "1000mm"], (0, 0, 0), (18, 16, 10)),
    ],
)
def test_crop_around(folder, options, first, last):
    good("crop", "image.nii.gz", "--around", "marks.nii.gz", "-o", "box.nii.gz", *options, cwd=folder)
    whole, box = nibabel.load(folder / "image.nii.gz"), nibabel.load(folder / "box.nii.gz")
    part = tuple(slice(a, b + 1) for a, b in zip(first, last))
    assert np.array_equal(np.asarray(box.dataobj), np.asarray(whole.dataobj)[part])
    assert np.allclose(world(box, (0, 0, 0)), world(whole, first), atol=1e-4)
    assert np.allclose(world(box, (1, 1, 1)), world(whole, np.add(first, 1)), atol=1e-4)


def test_crop_by_numbers_keeps_channels_scale_and_report(folder):
    image = np.arange(7 * 6 * 5 * 3, dtype=np.int16).reshape(7, 6, 5, 1, 3)
    file = nibabel.Nifti1Image(image, AFFINE)
    file.header["descrip"] = b"kept"
    file.header.set_slope_inter(0.5, 3)
    nibabel.save(file, folder / "three.nii")
    good("crop", "three.nii", "--first", "1,2,0", "--size", "3,4,5", "-o", "part.nii", "--report", "r.json", cwd=folder)
    part = nibabel.load(folder / "part.nii")
    whole = nibabel.load(folder / "three.nii")
    assert np.array_equal(np.asarray(part.dataobj), np.asarray(whole.dataobj)[1:4, 2:6])
    assert part.header["descrip"].tobytes().startswith(b"kept")
    assert json.loads((folder / "r.json").read_text())["results"] == {"first": [1, 2, 0], "size": [3, 4, 5]}


# ---- resample ----


def test_crop_and_back_is_exact(folder):
    good("crop", "image.nii.gz", "--around", "marks.nii.gz", "--margin", "1vox", "-o", "box.nii.gz", cwd=folder)
    for method in ("nearest", "linear"):
        good("resample", "box.nii.gz", "--like", "image.nii.gz", "--method", method, "-o", "back.nii.gz", "--force", cwd=folder)
        expected = np.zeros((19, 17, 11), np.float32)
        part = (slice(4, 10), slice(3, 6), slice(2, 9))
        expected[part] = load(folder / "image.nii.gz")[part]
        assert np.array_equal(load(folder / "back.nii.gz"), expected)


@pytest.mark.parametrize("letters", ["RAS", "LPS", "PIR", "SLA"])
def test_orientation_is_exact(folder, letters):
    good("resample", "image.nii.gz", "--orientation", letters, "-o", "turned.nii.gz", cwd=folder)
    turned = nibabel.load(folder / "turned.nii.gz")
    assert "".join(nibabel.aff2axcodes(turned.affine)) == letters
    back = nibabel.as_closest_canonical(turned)
    whole = nibabel.as_closest_canonical(nibabel.load(folder / "image.nii.gz"))
    assert np.array_equal(np.asarray(back.dataobj), np.asarray(whole.dataobj))
    assert np.allclose(back.affine, whole.affine, atol=1e-4)


def turned_affine(seed):
    random = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(np.eye(3) + 0.2 * random.normal(size=(3, 3)))
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag(random.uniform(0.6, 1.4, 3))
    affine[:3, 3] = AFFINE[:3, 3] + random.uniform(0, 5, 3)
    return affine


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method, order", [("nearest", 0), ("linear", 1)])
def test_like_an_oblique_grid_equals_scipy(folder, seed, method, order):
    """Towards smaller voxels linear is trilinear interpolation."""
    image = np.random.default_rng(seed).normal(100, 30, (19, 17, 11)).astype(np.float32)
    save(image, folder / "in.nii")
    affine = turned_affine(seed)
    nibabel.save(nibabel.Nifti1Image(np.zeros((23, 13, 9), np.uint8), affine), folder / "grid.nii")
    good("resample", "in.nii", "--like", "grid.nii", "--method", method, "--fill", "-7", "-o", "out.nii", cwd=folder)
    from_affine = nibabel.load(folder / "in.nii").affine
    to_old = np.linalg.inv(from_affine) @ nibabel.load(folder / "grid.nii").affine
    i = np.indices((23, 13, 9)).reshape(3, -1)
    at = (to_old[:3, :3] @ i) + to_old[:3, 3:]
    sides = np.array(image.shape)[:, None]
    inside = ((at > -0.5) & (at < sides - 0.5)).all(0)
    at = np.clip(at, 0, sides - 1)
    expected = np.where(inside, ndimage.map_coordinates(image.astype(float), at, order=order), -7)
    half = np.abs(at - np.floor(at) - 0.5).min(0) < 1e-4  # half-way between two voxels
    close = np.abs(expected - load(folder / "out.nii").ravel()) < 0.2 if order else expected == load(folder / "out.nii").ravel()
    assert (close | (half if order == 0 else False)).all()


def test_coarser_voxels_average(folder):
    """Half as many voxels along each axis: a tent of two old voxels on each side."""
    image = np.random.default_rng(2).normal(100, 30, (16, 12, 8)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(image, np.eye(4)), folder / "in.nii")
    good("resample", "in.nii", "--spacing", "2,2,2", "-o", "out.nii", cwd=folder)
    weights = np.array([0.25, 0.75, 0.75, 0.25])
    middle = image.astype(float)
    for axis in range(3):
        n = image.shape[axis]
        rows = []
        for k in range(n // 2):
            taps = [(2 * k - 1 + t, w) for t, w in enumerate(weights) if 0 <= 2 * k - 1 + t < n]
            rows.append(sum(w * middle.take(t, axis) for t, w in taps) / sum(w for _, w in taps))
        middle = np.stack(rows, axis)
    out = nibabel.load(folder / "out.nii")
    assert np.allclose(np.asarray(out.dataobj), middle, rtol=1e-6)
    assert np.allclose(out.affine[:3, 3], 0.5) and np.allclose(out.header.get_zooms(), 2)


def test_labels_take_what_covers_most(folder):
    labels = np.zeros((12, 6, 6), np.int16)
    labels[3:7] = 300  # of the coarse voxels of 3, 3..5 and one third of 6..8
    labels[9:] = 7
    nibabel.save(nibabel.Nifti1Image(labels, np.eye(4)), folder / "in.nii")
    good("resample", "in.nii", "--spacing", "3,3,3", "--labels", "-o", "out.nii", cwd=folder)
    assert load(folder / "out.nii")[:, 0, 0].tolist() == [0, 300, 0, 7]


@pytest.mark.parametrize(
    "arguments, code, says",
    [
        (["crop", "image.nii.gz", "-o", "out.nii"], 64, "which box?"),
        (["crop", "image.nii.gz", "-o", "out.nii", "--first", "0,0,0"], 64, "--first and --size go together"),
        (["crop", "image.nii.gz", "-o", "out.nii", "--first", "0,0,9", "--size", "2,2,5"], 65, "from 9 to 13 along z"),
        (["crop", "image.nii.gz", "-o", "out.nii", "--first", "0,0,.5", "--size", "2,2,5"], 64, "whole numbers"),
        (["crop", "image.nii.gz", "-o", "out.nii", "--around", "none.nii"], 65, "marks no voxel"),
        (["crop", "image.nii.gz", "-o", "out.nii", "--share", "1", "--first", "0,0,0", "--size", "1,1,1"], 64, "not given"),
        (["resample", "image.nii.gz", "-o", "out.nii"], 64, "onto which grid?"),
        (["resample", "image.nii.gz", "-o", "out.nii", "--orientation", "RAX"], 64, "three letters"),
        (["resample", "image.nii.gz", "-o", "out.nii", "--orientation", "RLS"], 64, "three letters"),
        (["resample", "image.nii.gz", "-o", "out.nii", "--spacing", "1,1,1", "--method", "majority"], 64, "--labels"),
        (["resample", "image.nii.gz", "-o", "out.nii", "--spacing", "1,1,1", "--labels"], 65, "not a whole number"),
        (["resample", "image.nii.gz", "-o", "out.nii", "--like", "missing.nii"], 66, "missing.nii"),
    ],
)
def test_refusals(folder, arguments, code, says):
    save(np.zeros((19, 17, 11), np.uint8), folder / "none.nii")
    refused(folder, arguments, code, says)


@pytest.mark.parametrize("away, said", [(18.9, False), (19, True), (-21.1, True)])
def test_grids_that_share_nothing(folder, away, said):
    """Labels that lie beside a scan vanish, and that is said; a sliver in common is enough."""
    save(np.ones((19, 17, 11), np.uint8), folder / "ones.nii", affine=np.eye(4))
    moved = np.eye(4)
    moved[0, 3] = away
    save(np.ones((21, 17, 11), np.uint8), folder / "beside.nii", affine=moved)
    done = good("resample", "ones.nii", "-o", "out.nii", "--like", "beside.nii", "--labels", cwd=folder)
    assert ("lies outside of beside.nii" in done.stderr) == said


def test_strokes_survive_a_coarser_grid(tmp_path):
    """A new voxel takes the label that most of the voxels inside it carry, where any does."""
    seeds = np.zeros((12, 10, 6), np.uint8)
    seeds[3, 2:9, 2] = 4
    seeds[4:9, 5, 3] = 9
    save(seeds, tmp_path / "s.nii.gz")
    good("resample", "s.nii.gz", "-o", "o.nii.gz", "--spacing", "3,3,5", "--labels", "--method", "strokes", cwd=tmp_path)
    blocks = seeds.reshape(6, 2, 5, 2, 3, 2).transpose(0, 2, 4, 1, 3, 5).reshape(6, 5, 3, 8)
    count = np.stack([(blocks == label).sum(3) for label in (4, 9)])
    want = np.where(count.max(0) == 0, 0, np.where(count[0] >= count[1], 4, 9))
    assert np.array_equal(load(tmp_path / "o.nii.gz"), want)
    good("resample", "s.nii.gz", "-o", "m.nii.gz", "--spacing", "3,3,5", "--labels", cwd=tmp_path)
    assert load(tmp_path / "m.nii.gz").sum() == 0  # which a majority would lose
