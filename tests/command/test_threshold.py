"""lobule threshold against scikit-image and numpy: the same thresholds and labels."""

import json
import warnings

import numpy as np
import pytest
from conftest import assert_one_line, cases, good, load, lobule, save
from in_process import PLAIN, in_process, package, random_shape
from scipy import ndimage
from skimage.filters import apply_hysteresis_threshold, threshold_multiotsu, threshold_otsu

SHAPES = [(7, 11, 5), (1, 13, 3), (17, 23, 2), (31, 3, 2), (23, 19, 11), (37, 1, 29)]
CASES = len(cases(40))


def run(folder, image, *options):
    """Labels and results of one run."""
    path = save(image, folder / "image.nii").name
    good("threshold", path, "-o", "labels.nii", "--report", "report.json", "--force", "--quiet", *options, cwd=folder)
    return load(folder / "labels.nii"), json.loads((folder / "report.json").read_text())["results"]


def random_image(seed, shape=None):
    """Two populations, as integers of few or many values or as real numbers."""
    random = np.random.default_rng(seed)
    shape = shape or SHAPES[seed % len(SHAPES)]
    n = int(np.prod(shape))
    values = np.where(random.random(n) < 0.4, random.normal(0, 1, n), random.normal(5, 1.5, n)).reshape(shape)
    kind = seed % 4
    if kind == 0:
        return (values * 10 + 40).clip(0, 255).astype(np.uint8)
    if kind == 1:
        return (values * 100).astype(np.int16)
    return values.astype(np.float32 if kind == 2 else np.float64)


def variance_between(image, thresholds):
    """Of the classes above each threshold, of values in the bins that the thresholds were chosen from."""
    values = image.astype(np.float64)
    if image.dtype.kind == "f":
        edges = np.histogram_bin_edges(image, 256)
        bins = np.clip(np.searchsorted(edges, image.ravel(), "right") - 1, 0, 255).reshape(image.shape)
        values = ((edges[1:] + edges[:-1]) / 2)[bins].astype(np.float64)
    classes = np.searchsorted(np.asarray(thresholds, np.float64) * (1 + 1e-7 * np.sign(thresholds)), values, "left")
    found, sizes = np.unique(classes, return_counts=True)
    return sum(n * (values[classes == k].mean() - values.mean()) ** 2 for k, n in zip(found, sizes))


def check_otsu(image, data, classes, found, labels):
    """The same thresholds as scikit-image's, or better ones, since it adds up in float32; were they better?"""
    values, better = image[data], False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = [threshold_otsu(values)] if classes == 2 else threshold_multiotsu(values, classes)
    if not np.allclose(np.float64(want), found, rtol=2e-7, atol=0):
        mine, theirs = variance_between(values, found), variance_between(values, want)
        assert mine >= theirs * (1 - 1e-12), (classes, found, want)
        better = True
    classes_of = np.digitize(image, np.array(found).astype(image.dtype), right=True)
    assert np.array_equal(labels, np.where(data, classes_of, 0))
    return better


@pytest.mark.parametrize("seed", range(CASES))
def test_otsu_is_scikit_image_s(tmp_path, seed):
    image = random_image(seed)
    for classes in (2, 3) if seed % 4 == 1 else (2, 3, 4):
        labels, results = run(tmp_path, image, "--otsu", classes)
        check_otsu(image, np.ones(image.shape, bool), classes, results["thresholds"], labels)
        assert results["labelled_voxels"] == np.count_nonzero(labels)
        assert 0 < results["separability"] <= 1


def holed_image(seed):
    """An image with prime sides, its mask or None, and where it is data: in the mask and finite."""
    random = np.random.default_rng(seed)
    image = random_image(seed, random_shape(random, least=150))
    mask = random.random(image.shape) < 0.7 if random.random() < 0.5 else None
    if image.dtype.kind == "f" and random.random() < 0.5:
        image[random.random(image.shape) < 0.1] = random.choice([np.nan, np.inf, -np.inf])
    return image, mask, np.isfinite(image) & (True if mask is None else mask)


def threshold(image, mask, **way):
    report = {}
    covered = None if mask is None else mask.astype(np.uint8)
    return package.threshold(image, mask=covered, report=report, **way, **PLAIN), report["thresholds"]


@in_process
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_otsu_of_what_is_data(record_property, classes):
    most = {2: 300, 3: 100, 4: 15}[classes]  # scikit-image takes its time for several thresholds
    better = 0
    for seed in cases(most):  # four classes of the kind with most values would take a second each
        kind = (0, 2, 3)[seed % 3] if classes == 4 else seed % 4
        image, mask, data = holed_image(1000 * classes + 4 * seed + kind)
        labels, found = threshold(image, mask, otsu=classes)
        better += check_otsu(image, data, classes, found, labels)
    record_property("cases", len(cases(most)))
    record_property("other thresholds, of at least the same variance", better)


@in_process
def test_percentiles_of_what_is_data(record_property):
    largest = 0
    for seed in cases(300):
        image, mask, data = holed_image(9000 + seed)
        percent = float(np.random.default_rng(seed).uniform(0, 100))
        labels, (found,) = threshold(image, mask, percentile=percent)
        want = np.percentile(image[data].astype(np.float64), percent)
        largest = max(largest, abs(found - want) / max(abs(want), 1e-300))
        assert found == pytest.approx(want, rel=1e-14)
        with np.errstate(invalid="ignore"):
            assert np.array_equal(labels, data & (image > np.array(want).astype(image.dtype if image.dtype.kind == "f" else float)))
    record_property("cases", len(cases(300)))
    record_property("largest difference of a percentile", largest)


@pytest.mark.parametrize("seed", cases(20))
def test_hysteresis_is_scikit_image_s(tmp_path, seed):
    image = random_image(seed)
    low, high = (float(limit) for limit in np.percentile(image, [60, 90]))
    labels, results = run(tmp_path, image, "--hysteresis", f"{low!r},{high!r}", "--neighbours", 6)
    compared = np.array([low, high]).astype(image.dtype) if image.dtype == np.float32 else (low, high)
    want = apply_hysteresis_threshold(image, *compared)
    assert np.array_equal(labels, want)
    assert results["pieces_kept"] <= results["pieces"] and results["thresholds"] == pytest.approx([low, high])


@pytest.mark.parametrize("seed", cases(20))
def test_percentile_is_numpy_s(tmp_path, seed):
    image = random_image(seed)
    percent = float(np.random.default_rng(seed).uniform(0, 100))
    labels, results = run(tmp_path, image, "--percentile", percent)
    want = np.percentile(image.astype(np.float64), percent)
    assert results["thresholds"] == [pytest.approx(want, rel=1e-14)]
    compared = np.float32(want) if image.dtype == np.float32 else want
    assert np.array_equal(labels, image > compared)


def test_above_and_range(tmp_path):
    image = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    assert np.array_equal(run(tmp_path, image, "--above", 17)[0], image > 17)
    assert np.array_equal(run(tmp_path, image, "--range", "17,40")[0], (image >= 17) & (image <= 40))
    assert np.array_equal(run(tmp_path, image, "--range", "-inf,40")[0], image <= 40)


def test_mask_and_what_is_not_finite(tmp_path):
    """Neither counts in the choice, and both stay 0."""
    image = random_image(2).astype(np.float32)
    mask = np.random.default_rng(0).random(image.shape) < 0.7
    hole = image.copy()
    hole[~mask] = 1e6
    save(mask.astype(np.uint8), tmp_path / "mask.nii")
    labels, results = run(tmp_path, hole, "--mask", "mask.nii")
    assert results["thresholds"][0] == pytest.approx(float(threshold_otsu(image[mask])), rel=2e-7)
    assert np.array_equal(labels, (image > np.float32(results["thresholds"][0])) & mask)
    hole[~mask] = np.nan
    assert np.array_equal(run(tmp_path, hole)[0], labels)
    hole[~mask] = np.inf
    assert np.array_equal(run(tmp_path, hole)[0], labels)


def mean_around(image, data, radii):
    """Of the voxels that are data and lie in the volume."""
    sides = [2 * r + 1 for r in radii]
    share = ndimage.uniform_filter(data.astype(np.float64), sides, mode="constant")
    with np.errstate(invalid="ignore"):
        return ndimage.uniform_filter(np.where(data, image, 0).astype(np.float64), sides, mode="constant") / share


@pytest.mark.parametrize("slices, radii", [(None, (2, 2, 2)), ("z", (2, 2, 0)), ("x", (0, 2, 2))])
def test_local_mean(tmp_path, slices, radii):
    """Voxels that are not within rounding of the mean are labelled as scipy's box filter says."""
    image = random_image(4).astype(np.float32)[:, :, :17]
    mask = np.random.default_rng(1).random(image.shape) < 0.8
    save(mask.astype(np.uint8), tmp_path / "mask.nii")
    options = ["--local", "2vox", "--offset", 1.5, "--mask", "mask.nii", *(["--slices", slices] if slices else [])]
    labels, _ = run(tmp_path, image, *options)
    apart = image - (mean_around(image, mask, radii) - 1.5)
    sure = ~mask | (np.abs(apart) > 1e-3)
    assert sure.mean() > 0.9 and 0 < labels.sum() < mask.sum()
    assert np.array_equal(labels[sure], ((apart > 0) & mask)[sure])


def test_a_scaled_image_is_cut_by_its_values(tmp_path):
    stored = random_image(1)
    save(stored, tmp_path / "scaled.nii", scale=(-0.5, 3))
    good("threshold", "scaled.nii", "-o", "labels.nii", "--report", "r.json", "--quiet", cwd=tmp_path)
    found = json.loads((tmp_path / "r.json").read_text())["results"]["thresholds"][0]
    values = -0.5 * stored.astype(np.float64) + 3
    labels = load(tmp_path / "labels.nii")
    assert np.array_equal(labels, values > found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.unique(values[labels == 0]).max() == found
        assert variance_between(-stored, [(found - 3) / 0.5]) >= variance_between(-stored, [threshold_otsu(-stored)])


def test_one_channel_of_several(tmp_path):
    image = np.random.default_rng(4).integers(0, 200, (9, 8, 7, 1, 3)).astype(np.uint8)
    save(image, tmp_path / "image.nii")
    good("threshold", "image.nii", "-o", "labels.nii", "--channel", 1, "--above", 99, cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "labels.nii"), image[..., 0, 1] > 99)
    refused = lobule("threshold", "image.nii", "-o", "other.nii", cwd=tmp_path)
    assert_one_line(refused, 65, "image.nii", "3 channels", "--channel N")


REFUSED = [
    ("two ways", ["--above", "3", "--otsu", "3"], 64, "--otsu and --above exclude each other"),
    ("a range and a percentile", ["--range", "3,4", "--percentile", "3"], 64, "exclude each other"),
    ("one class", ["--otsu", "1"], 64, "--otsu"),
    ("seventeen classes", ["--otsu", "17"], 64, "--otsu"),
    ("a percentile above 100", ["--percentile", "101"], 64, "--percentile"),
    ("limits turned around", ["--hysteresis", "5,2"], 64, "--hysteresis"),
    ("neighbours without pieces", ["--above", "3", "--neighbours", "6"], 64, "--neighbours is for --hysteresis"),
    ("3D neighbours in slices", ["--hysteresis", "2,5", "--slices", "z", "--neighbours", "6"], 64, "--neighbours"),
    ("an offset without a radius", ["--above", "3", "--offset", "2"], 64, "--offset is for --local"),
    ("a radius below a voxel", ["--local", "0.1vox"], 64, "less than a voxel"),
    ("more classes than values", ["--otsu", "4"], 65, "3 different values, too few for 4 classes"),
]


@pytest.mark.parametrize("what, options, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(tmp_path, what, options, code, part):
    save((np.arange(60) % 3).astype(np.uint8).reshape(3, 4, 5), tmp_path / "image.nii")
    assert_one_line(lobule("threshold", "image.nii", "-o", "labels.nii", *options, cwd=tmp_path), code, part)
    assert not (tmp_path / "labels.nii").exists()


def test_chosen_thresholds_are_told(tmp_path):
    save(random_image(1), tmp_path / "image.nii")
    done = good("threshold", "image.nii", "-o", "labels.nii", "--otsu", 3, "--report", "r.json", cwd=tmp_path)
    first, second = json.loads((tmp_path / "r.json").read_text())["results"]["thresholds"]
    assert f"image.nii: thresholds {first:g}, {second:g}" in done.stderr
