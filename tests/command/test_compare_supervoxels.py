"""lobule compare --supervoxels against the definitions, and what it refuses."""

import json

import numpy as np
import pytest
from conftest import AFFINE, SHARED, assert_one_line, good, load, lobule, save
from scipy import ndimage
from supervoxel_oracle import measures

SPACING = np.array([1.5, 1.5, 2.5])


def regions(shape, count, seed, holes=False):
    """Labels: the cells around random points, with some noise; 0 where there are holes."""
    random = np.random.default_rng(seed)
    points = np.stack([random.integers(0, side, count) for side in shape], -1)
    away = ((np.stack(np.indices(shape), -1)[..., None, :] - points) ** 2).sum(-1)
    labels = away.argmin(-1).astype(np.int32) + 1
    noise = random.random(shape) < 0.05
    labels[noise] = random.integers(1, count + 1, noise.sum())
    if holes:
        labels[random.random(shape) < 0.1] = 0
    return labels


def check(folder, truth, labels, image, *options, affine=AFFINE, **definition):
    save(truth, folder / "truth.nii", affine=affine)
    save(labels, folder / "labels.nii", affine=affine)
    stored = image if image.ndim == 3 else image[:, :, :, None, :]
    save(np.ascontiguousarray(stored), folder / "image.nii", affine=affine)
    done = good("compare", "--supervoxels", "truth.nii", "labels.nii", "--image", "image.nii",
                "--report", "report.json", "--force", *options, cwd=folder)  # fmt: skip
    found = json.loads((folder / "report.json").read_text())["results"]
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == ["measure", "value"]
    printed = dict(lines[1:])
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    want = measures(labels, truth, image, spacing, **definition)
    assert list(printed) == list(want)
    for name, value in want.items():
        if value is None:
            assert found[name] is None and printed[name] == "n/a"
        else:
            assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
            assert float(printed[name]) == pytest.approx(value, abs=1e-6), name


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_numpy(tmp_path, seed):
    shape = [(17, 13, 11), (23, 19, 1), (1, 19, 23), (31, 7, 5)][seed % 4]
    random = np.random.default_rng(seed)
    labels, truth = regions(shape, 40, seed, holes=seed % 2), regions(shape, 5, seed + 100)
    truth[truth == 3] = 0 if seed % 3 else 2000000000
    channels = (1, 3)[seed // 4 % 2]
    image = (labels * 7 % 200)[..., None] + random.integers(0, 50, (*shape, channels))
    image = image.astype(np.uint8 if seed % 2 else np.int16)
    options, definition = [
        ((), {"tolerance": 1, "in_voxels": True}),
        (("--tolerance", "2vox"), {"tolerance": 2, "in_voxels": True}),
        (("--tolerance", "1.5mm"), {"tolerance": 1.5, "in_voxels": False}),
        (("--tolerance", "0", "--threads", "3"), {"tolerance": 0, "in_voxels": False}),
        (("--slices", "z"), {"tolerance": 1, "in_voxels": True, "slice_axis": 2}),
    ][seed % 5]
    if "slice_axis" in definition and 1 in shape:
        options, definition = (), {"tolerance": 1, "in_voxels": True}
    check(tmp_path, truth, labels, image[..., 0] if channels == 1 else image, *options, **definition)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices(tmp_path, axis):
    labels, truth = regions((9, 11, 7), 30, 3), regions((9, 11, 7), 4, 5)
    image = np.random.default_rng(1).integers(0, 1000, labels.shape).astype(np.int16)
    check(tmp_path, truth, labels, image, "--slices", "xyz"[axis], "--tolerance", "2mm", tolerance=2,
          in_voxels=False, slice_axis=axis)  # fmt: skip


def test_anisotropic(tmp_path):
    labels, truth = regions((21, 15, 9), 60, 8), regions((21, 15, 9), 6, 9)
    image = np.random.default_rng(2).integers(-900, 900, labels.shape).astype(np.int16)
    check(tmp_path, truth, labels, image, "--tolerance", "3.2mm", affine=np.diag([5.0, 1.0, 0.75, 1.0]),
          tolerance=3.2, in_voxels=False)  # fmt: skip


def test_real_values_with_nan(tmp_path):
    labels, truth = regions((9, 8, 7), 12, 4), regions((9, 8, 7), 3, 6)
    image = np.random.default_rng(3).normal(size=labels.shape).astype(np.float32) + labels
    image[2, 3, 4], image[5, 5, 5] = np.nan, np.inf
    save(truth, tmp_path / "truth.nii")
    save(labels, tmp_path / "labels.nii")
    save(image, tmp_path / "image.nii")
    done = good("compare", "--supervoxels", "truth.nii", "labels.nii", "--image", "image.nii", "--json", cwd=tmp_path)
    want = measures(labels, truth, image, SPACING, 1, True)
    found = json.loads(done.stdout)
    assert found["explained_variation"] == pytest.approx(want["explained_variation"], abs=1e-5)
    assert found["boundary_recall"] == pytest.approx(want["boundary_recall"], rel=1e-9)


def test_a_truth_is_its_own_best_cut(tmp_path):
    truth = regions((13, 12, 5), 20, 1)
    save(truth, tmp_path / "truth.nii.gz")
    done = good("compare", "--supervoxels", "truth.nii.gz", "truth.nii.gz", cwd=tmp_path)
    rows = dict(line.split("\t") for line in done.stdout.splitlines())
    for name, value in (("boundary_recall", 1), ("achievable_segmentation_accuracy", 1),
                        ("under_segmentation_error", 0), ("under_segmentation_error_neubert", 0)):  # fmt: skip
        assert float(rows[name]) == value
    assert rows["explained_variation"] == "n/a"  # no image


def test_real_scan(tmp_path):
    data = SHARED / "data" / "totalsegmentator"
    if not data.is_dir():
        pytest.skip(f"no folder {data}: set LOBULE_SHARED")
    image, truth = load(data / "example_ct_sm.nii.gz"), load(data / "example_seg.nii.gz")
    labels = np.zeros(image.shape, np.int32)
    blocks = np.stack(np.indices(image.shape)) // 7
    labels[:] = 1 + np.ravel_multi_index(tuple(blocks), tuple(blocks.max(axis=(1, 2, 3)) + 1))
    labels[ndimage.binary_dilation(truth == 0, iterations=9) & (labels % 11 == 0)] = 0
    check(tmp_path, truth.astype(np.int32), labels, image, "--tolerance", "4mm", affine=np.diag([3.0, 3, 3, 1]),
          tolerance=4, in_voxels=False)  # fmt: skip


def test_same_bytes_at_any_threads(tmp_path):
    save(regions((23, 19, 11), 60, 1), tmp_path / "labels.nii")
    save(regions((23, 19, 11), 6, 2), tmp_path / "truth.nii")
    texts = {good("compare", "--supervoxels", "truth.nii", "labels.nii", "--json", "--image", "labels.nii", "--threads",
                  threads, cwd=tmp_path).stdout for threads in (1, 2, 3, 8)}  # fmt: skip
    assert len(texts) == 1


BAD = [
    (["--supervoxels", "--strict"], 64, "--strict does not go with --supervoxels"),
    (["--supervoxels", "--values"], 64, "--supervoxels is about labels"),
    (["--supervoxels", "--labels", "3"], 64, "--labels does not go with --supervoxels"),
    (["--supervoxels", "--no-surfaces"], 64, "--no-surfaces does not go with --supervoxels"),
    (["--image", "a.nii"], 64, "--image belongs to --supervoxels"),
    (["--tolerance", "2mm"], 64, "--tolerance belongs to --supervoxels"),
    (["--slices", "axial"], 64, "--slices belongs to --supervoxels"),
    (["--supervoxels", "--tolerance", "-1vox"], 64, "tolerance"),
    (["--supervoxels", "--tolerance", "2cm"], 64, "tolerance"),
    (["--supervoxels", "--slices", "diagonal"], 64, "slices"),
    (["--supervoxels", "--image", "missing.nii"], 66, "missing.nii"),
    (["--supervoxels", "--image", "other.nii"], 65, "other.nii"),
    (["--supervoxels", "--max-memory", "3KiB"], 75, "memory"),
]


@pytest.mark.parametrize("options, code, words", BAD)
def test_bad_usage(tmp_path, options, code, words):
    save(regions((7, 6, 5), 9, 1).astype(np.uint8), tmp_path / "a.nii")
    save(regions((6, 6, 5), 9, 1).astype(np.uint8), tmp_path / "other.nii")
    assert_one_line(lobule("compare", "a.nii", "a.nii", *options, cwd=tmp_path), code, words)


def test_bad_data(tmp_path):
    good_labels = regions((7, 6, 5), 9, 1)
    save(good_labels, tmp_path / "good.nii")
    save(np.zeros_like(good_labels), tmp_path / "empty.nii")
    save(good_labels + np.float32(0.5), tmp_path / "half.nii")
    for truth, labels, name in (
        ("good.nii", "empty.nii", "empty.nii: there is no supervoxel"),
        ("half.nii", "good.nii", "half.nii"),
        ("good.nii", "half.nii", "half.nii"),
    ):
        assert_one_line(lobule("compare", "--supervoxels", truth, labels, cwd=tmp_path), 65, name)
