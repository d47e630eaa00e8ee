"""lobule distance: distances, signs and nearest labels against scipy, voxel by voxel; what is refused."""

import json

import numpy as np
import pytest
from conftest import AFFINE, assert_one_line, cases, good, load, lobule, save
from in_process import PLAIN, SPACINGS, in_process, package
from scipy import ndimage

CASES = len(cases(40))
SIDES = [1, 2, 3, 5, 7, 11, 13, 17, 29]


def measured(folder, labels, *options, affine=AFFINE):
    """Distances, nearest labels (None without --feature) and the report of one run."""
    save(labels, folder / "labels.nii.gz", affine)
    good("distance", folder / "labels.nii.gz", "-o", folder / "mm.nii.gz", "--force", "--report",
         folder / "report.json", *options)  # fmt: skip
    feature = folder / "nearest.nii.gz"
    report = json.loads((folder / "report.json").read_text())
    return load(folder / "mm.nii.gz"), load(feature) if feature.exists() else None, report


def away(targets, spacing):
    """scipy's distances to the voxels that are True; infinite where there is none."""
    if not targets.any():
        return np.full(targets.shape, np.inf)
    return ndimage.distance_transform_edt(~targets, sampling=spacing)


def random_labels(random):
    shape = tuple(int(side) for side in random.choice(SIDES, 3))
    chance = random.choice([0.02, 0.1, 0.5, 0.9])
    labels = (random.random(shape) < chance) * random.integers(1, random.choice([2, 4, 300]), shape)
    if random.random() < 0.4:
        labels = np.kron(labels, np.ones((3, 2, 1), int))[: shape[0], : shape[1], : shape[2]]
    labels.flat[random.integers(labels.size)] = 2
    return labels.astype(random.choice([np.uint8, np.int16, np.int32]) if labels.max() < 256 else np.int32)


@pytest.mark.parametrize("seed", range(CASES))
def test_agrees_with_scipy(tmp_path, seed):
    random = np.random.default_rng(seed)
    labels = random_labels(random)
    spacing = SPACINGS[random.integers(len(SPACINGS))]
    affine = np.diag([*spacing, 1.0])
    options, said = [], "to the set"
    if random.random() < 0.3:
        options, spacing, said = ["--voxels"], (1, 1, 1), "in voxels"
    wanted = away(labels != 0, spacing)
    kind = random.integers(3)
    if kind == 1 and (labels == 0).any():
        options += ["--signed"]
        wanted = np.where(labels != 0, -away(labels == 0, spacing), wanted)
    elif kind == 2 and len(np.unique(labels)) > 1:
        options += ["--to", "other"]
        for label in np.unique(labels):
            wanted = np.where(labels == label, away(labels != label, spacing), wanted)
    threads = str(random.integers(1, 5))
    got, _, _ = measured(tmp_path, labels, "--threads", threads, *options, affine=affine)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=3e-7, err_msg=f"seed {seed}, {labels.shape}, {spacing}, {said}")


@pytest.mark.parametrize("seed", range(CASES // 2))
def test_nearest_label_is_the_smallest_of_the_nearest(tmp_path, seed):
    random = np.random.default_rng(1000 + seed)
    labels = random_labels(random) % 5
    labels.flat[0] = 3
    spacing = [(1, 1, 1), (1, 2, 3), (0.5, 0.5, 2)][random.integers(3)]  # exact in binary: ties are ties
    got, nearest, _ = measured(tmp_path, labels, "--feature", tmp_path / "nearest.nii.gz",
                               affine=np.diag([*spacing, 1.0]))  # fmt: skip
    per_label = np.stack([away(labels == label, spacing) for label in range(1, 5)])
    squared = np.rint(per_label**2 * 4)
    wanted = 1 + np.argmin(np.where(np.isfinite(squared), squared, np.inf), axis=0)
    np.testing.assert_array_equal(nearest, wanted)
    np.testing.assert_allclose(got, per_label.min(axis=0), rtol=3e-7)


@in_process
def test_many_agree_with_scipy(record_property):
    largest = 0
    for seed in cases(300):
        random = np.random.default_rng(2000 + seed)
        labels, spacing = random_labels(random), SPACINGS[random.integers(len(SPACINGS))]
        kind, axis = ("set", "signed", "other")[seed % 3], random.integers(3)
        sliced = random.random() < 0.2
        if kind == "signed":
            labels.flat[0] = 0
            wanted = np.where(labels != 0, -away(labels == 0, spacing), away(labels != 0, spacing))
        else:
            wanted = away(labels != 0, spacing)
        if kind == "other":
            for label in np.unique(labels):
                wanted = np.where(labels == label, away(labels != label, spacing), wanted)
        if kind == "set" and sliced:
            slices, plane = np.moveaxis(labels, axis, 0), np.delete(spacing, axis)
            wanted = np.moveaxis(np.stack([away(one != 0, plane) for one in slices]), 0, axis)
        options = {"slices": int(axis)} if kind == "set" and sliced else {}
        got = package.distance(labels, kind=kind, spacing=spacing, **PLAIN, **options)
        assert got.dtype == np.float32
        rest = np.isinf(wanted) | (wanted == 0)
        np.testing.assert_array_equal(got[rest], wanted[rest], err_msg=f"seed {seed}, {labels.shape}, {spacing}, {kind}")
        off = np.abs(got[~rest] / wanted[~rest] - 1).max(initial=0)
        assert off <= 2e-7, f"seed {seed}, {labels.shape}, {spacing}, {kind}: off by {off}"
        largest = max(largest, off)
    record_property("cases", len(cases(300)))
    record_property("largest difference, relative", largest)


@in_process
def test_many_nearest_labels(record_property):
    for seed in cases(300):
        random = np.random.default_rng(4000 + seed)
        labels = random_labels(random) % 5
        labels.flat[0] = 3
        spacing = [(1, 1, 1), (1, 2, 3), (0.5, 0.5, 2)][random.integers(3)]  # exact in binary: ties are ties
        squared = np.rint(4 * np.stack([away(labels == label, spacing) for label in range(1, 5)]) ** 2)
        got = package.nearest(labels, spacing=spacing, **PLAIN)
        np.testing.assert_array_equal(got, 1 + squared.argmin(axis=0), err_msg=f"seed {seed}, {labels.shape}, {spacing}")
    record_property("cases", len(cases(300)))


def test_values_beside_a_voxel(tmp_path):
    """0 at the labelled voxel, its spacing beside it; signed, both sides of a face are one spacing away."""
    labels = np.zeros((5, 4, 3), np.uint8)
    labels[2, 1, 1] = 1
    got, _, report = measured(tmp_path, labels)
    assert got[2, 1, 1] == 0 and got[3, 1, 1] == 1.5 and got[2, 1, 2] == 2.5
    assert got[4, 1, 1] == 3 and got[3, 2, 1] == np.float32(np.sqrt(4.5))
    assert report["results"] == {"unit": "mm", "farthest": got.max(), "voxels_without": 0}
    got, _, _ = measured(tmp_path, labels, "--signed")
    assert got[2, 1, 1] == -1.5 and got[1, 1, 1] == 1.5 and (got != 0).all()


def test_limit(tmp_path):
    """Beyond --max distances are the limit and there is no nearest label; its own border counts."""
    labels = np.zeros((13, 1, 1), np.int16)
    labels[0], labels[12] = 300, 2
    affine = np.diag([0.7, 0.7, 0.7, 1.0])
    got, nearest, _ = measured(tmp_path, labels, "--max", "2.1mm", "--feature", tmp_path / "nearest.nii.gz",
                               affine=affine)  # fmt: skip
    np.testing.assert_allclose(got[:, 0, 0], np.minimum(np.minimum(np.arange(13), 12 - np.arange(13)) * 0.7, 2.1),
                               rtol=1e-6)  # fmt: skip
    assert nearest[:, 0, 0].tolist() == [300] * 4 + [0] * 5 + [2] * 4
    got, _, _ = measured(tmp_path, labels, "--max", "3vox", "--voxels")
    assert got[:, 0, 0].tolist() == [0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 2, 1, 0]


def test_one_label_alone(tmp_path):
    random = np.random.default_rng(3)
    labels = random.integers(0, 4, (9, 8, 7)).astype(np.uint8) * (random.random((9, 8, 7)) < 0.1)
    labels[4, 4, 4] = 3
    got, nearest, _ = measured(tmp_path, labels, "--label", 3, "--feature", tmp_path / "nearest.nii.gz")
    np.testing.assert_allclose(got, away(labels == 3, (1.5, 1.5, 2.5)), rtol=3e-7)
    assert (nearest == 3).all()


def test_slices_see_only_themselves(tmp_path):
    labels = np.zeros((6, 5, 4), np.uint8)
    labels[1, 1, 0] = labels[4, 4, 2] = 1
    got, _, report = measured(tmp_path, labels, "--slices", "z")
    for z in (0, 2):
        np.testing.assert_allclose(got[..., z], away(labels[..., z] != 0, (1.5, 1.5)), rtol=3e-7)
    assert np.isinf(got[..., 1]).all() and report["results"]["voxels_without"] == 60
    assert len(report["notes"]) == 1


def test_same_bytes_with_any_number_of_threads(tmp_path):
    labels = (np.random.default_rng(5).random((61, 53, 47)) < 0.001).astype(np.uint8)
    runs = []
    for threads in (1, 2, 3, 7):
        measured(tmp_path, labels, "--threads", threads)
        runs.append((tmp_path / "mm.nii.gz").read_bytes())
    assert len(set(runs)) == 1


REFUSED = [
    ("nothing labelled", np.zeros((3, 3, 3), np.uint8), [], 65, "no voxel is labelled"),
    ("no such label", np.ones((3, 3, 3), np.uint8), ["--label", "7"], 65, "no voxel has label 7"),
    ("real values", np.full((3, 3, 3), 0.5, np.float32), [], 65, "labels.nii.gz"),
    ("other and signed", np.ones((3, 3, 3), np.uint8), ["--to", "other", "--signed"], 64, "--signed"),
    ("other and feature", np.ones((3, 3, 3), np.uint8), ["--to", "other", "--feature", "f.nii"], 64, "--feature"),
    ("mm beside voxels", np.ones((3, 3, 3), np.uint8), ["--max", "5mm", "--voxels"], 64, "--max"),
    ("voxels beside mm", np.ones((3, 3, 3), np.uint8), ["--max", "5vox"], 64, "--voxels"),
    ("a limit below 0", np.ones((3, 3, 3), np.uint8), ["--max", "-1"], 64, "--max"),
    ("too little memory", np.ones((40, 40, 40), np.uint8), ["--max-memory", "200KiB"], 75, "memory"),
]


@pytest.mark.parametrize("what,labels,options,code,words", REFUSED, ids=[row[0] for row in REFUSED])
def test_refusals(tmp_path, what, labels, options, code, words):
    save(labels, tmp_path / "labels.nii.gz")
    done = lobule("distance", "labels.nii.gz", "-o", "mm.nii.gz", *options, cwd=tmp_path)
    assert_one_line(done, code, words)
    assert not (tmp_path / "mm.nii.gz").exists()
