"""lobule growcut --rule flood, value and square: against other watersheds where levels differ, and what they refuse."""

import json

import numpy as np
import pytest
import SimpleITK
from conftest import assert_one_line, cases, good, load, lobule, save
from scipy import ndimage
from skimage.segmentation import watershed

SIDES = [1, 2, 3, 5, 8, 13, 17]


def flooded(folder, image, seeds, *options):
    save(image, folder / "image.nii.gz")
    save(seeds, folder / "seeds.nii.gz")
    good("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--rule", "flood", "--trust-seeds", "--force",
         "--report", "report.json", *options, cwd=folder)  # fmt: skip
    return load(folder / "out.nii.gz")


def all_different(random, shape):
    """Every voxel has a level of its own: no plateau, and no two ways over walls of one height."""
    return random.permutation(np.prod(shape)).astype(np.uint16).reshape(shape)


def random_seeds(random, shape):
    seeds = np.zeros(shape, np.uint8)
    count = min(int(random.integers(2, 9)), seeds.size)
    seeds.flat[random.choice(seeds.size, count, replace=False)] = np.arange(1, count + 1)
    return seeds


@pytest.mark.parametrize("number", cases(12))
def test_scikit_image_where_levels_differ(tmp_path, number):
    """Seeds anywhere, on slopes and on walls, in masks."""
    random = np.random.default_rng(number)
    shape = tuple(int(side) for side in random.choice(SIDES, 3))
    image, seeds = all_different(random, shape), random_seeds(random, shape)
    connectivity, neighbours = ((1, 6), (2, 18), (3, 26))[number % 3]
    mask = (random.random(shape) < 0.85) | (seeds > 0) if number % 2 else np.ones(shape, bool)
    save(mask.astype(np.uint8), tmp_path / "mask.nii.gz")
    labels = flooded(tmp_path, image, seeds, "--neighbours", neighbours, "--mask", "mask.nii.gz")
    assert np.array_equal(labels, watershed(image, seeds, connectivity, mask=mask))


@pytest.mark.parametrize("number", cases(8))
def test_itk_where_levels_differ(tmp_path, number):
    """ITK's markers have no level of their own, so each lies in a minimum."""
    random = np.random.default_rng(100 + number)
    shape = tuple(int(side) for side in random.choice(SIDES[2:], 3))
    image = all_different(random, shape)
    full = number % 2 == 1
    around = np.ones((3, 3, 3)) if full else ndimage.generate_binary_structure(3, 1)
    minima = np.flatnonzero(ndimage.minimum_filter(image, footprint=around) == image)
    seeds = np.zeros(shape, np.uint8)
    chosen = random.permutation(minima)[:200]
    seeds.flat[chosen] = np.arange(1, chosen.size + 1)
    labels = flooded(tmp_path, image, seeds, "--neighbours", 26 if full else 6)
    other = SimpleITK.MorphologicalWatershedFromMarkers(
        SimpleITK.GetImageFromArray(image), SimpleITK.GetImageFromArray(seeds), markWatershedLine=False,
        fullyConnected=full)  # fmt: skip
    assert np.array_equal(labels, SimpleITK.GetArrayFromImage(other))


def test_on_plateaus_a_turned_image_gives_turned_labels(tmp_path):
    """Not so in scikit-image, where the order of neighbours decides."""
    random = np.random.default_rng(5)
    image = np.rint(ndimage.gaussian_filter(random.normal(size=(17, 13, 11)), 1) * 12 + 40).astype(np.uint8)
    seeds = random_seeds(random, image.shape)
    labels = flooded(tmp_path, image, seeds)
    for turn in (lambda a: a[::-1], lambda a: a.transpose(2, 0, 1), lambda a: a[:, ::-1, ::-1]):
        turned = flooded(tmp_path, np.ascontiguousarray(turn(image)), np.ascontiguousarray(turn(seeds)))
        assert np.array_equal(turned, turn(labels))


def test_strength_and_tie(tmp_path):
    """The cost is the highest level on the way; a tie is where two labels come at once."""
    image = np.array([0, 0, 50, 0, 100, 0, 0, 0], np.uint8).reshape(8, 1, 1)
    seeds = np.array([1, 0, 0, 0, 0, 0, 0, 2], np.uint8).reshape(8, 1, 1)
    labels = flooded(tmp_path, image, seeds, "--strength", "s.nii.gz", "--tie", "t.nii.gz")
    assert labels.ravel().tolist() == [1, 1, 1, 1, 2, 2, 2, 2]
    assert np.allclose(load(tmp_path / "s.nii.gz").ravel(), np.exp([0, 0, -0.5, -0.5, -1, 0, 0, 0]), rtol=1e-6)
    assert not load(tmp_path / "t.nii.gz").any()
    image[:] = 7
    flooded(tmp_path, image[:7], seeds[[0, 1, 2, 3, 4, 5, 7]], "--strength", "s.nii.gz", "--tie", "t.nii.gz")
    assert load(tmp_path / "t.nii.gz").ravel().tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_limits(tmp_path):
    image = np.array([20, 30, 40, 50, 60, 20, 20], np.uint8).reshape(7, 1, 1)
    seeds = np.array([1, 0, 0, 0, 0, 0, 2], np.uint8).reshape(7, 1, 1)
    for options, want in (
        (["--max-cost", 25], [1, 1, 1, 0, 0, 2, 2]),  # above the least of the data
        (["--range", "0,45"], [1, 1, 1, 0, 0, 2, 2]),
        (["--max-mm", 1.6], [1, 1, 0, 0, 0, 2, 2]),
        ([], [1, 1, 1, 1, 2, 2, 2]),
    ):
        assert flooded(tmp_path, image, seeds, *options).ravel().tolist() == want, options


@pytest.mark.parametrize("shape", [(50, 41, 30), (23, 19, 67), (300, 171, 1), (20, 1, 900)])
@pytest.mark.parametrize("levels", [4, 300])
def test_same_bytes_whatever_the_threads(tmp_path, shape, levels):
    """Threads share the planes: labels, strengths and ties cross from one to the other, over plateaus too."""
    random = np.random.default_rng(9)
    image = np.rint(ndimage.gaussian_filter(random.normal(size=shape), 2) * levels).astype(np.int16)
    seeds = np.zeros(shape, np.uint8)
    seeds.flat[random.choice(seeds.size, 200, replace=False)] = np.arange(1, 201)
    save(((random.random(shape) < 0.95) | (seeds > 0)).astype(np.uint8), tmp_path / "mask.nii.gz")
    outputs = "--strength", "s.nii.gz", "--tie", "t.nii.gz", "--mask", "mask.nii.gz"
    for neighbours in (6, 26):
        seen = []
        for threads in (1, 2, 3, 8):
            labels = flooded(tmp_path, image, seeds, *outputs, "--neighbours", neighbours, "--threads", threads)
            seen.append([labels, load(tmp_path / "s.nii.gz"), load(tmp_path / "t.nii.gz")])
        assert seen[0][2].any() and all(np.array_equal(a, b) for other in seen[1:] for a, b in zip(seen[0], other))


def test_slices(tmp_path):
    random = np.random.default_rng(11)
    shape = (13, 11, 5)
    image = all_different(random, shape)
    seeds = np.zeros(shape, np.uint8)
    for z in range(shape[2]):
        seeds[2, 3, z], seeds[9, 8, z] = 1, 2
    labels = flooded(tmp_path, image, seeds, "--slices", "z")
    for z in range(shape[2]):
        assert np.array_equal(labels[..., z], watershed(image[..., z], seeds[..., z], 2))


def test_value_and_square_by_dijkstra(tmp_path):
    """Along a row, a voxel's price is the sum of the levels, or of their squares, on the way."""
    random = np.random.default_rng(3)
    row = random.integers(0, 200, 40)
    row[7] = 0  # levels count from the least
    seeds = np.zeros(40, np.uint8)
    seeds[0], seeds[-1] = 1, 2
    save(row.astype(np.uint8).reshape(-1, 1, 1), tmp_path / "image.nii.gz")
    save(seeds.reshape(-1, 1, 1), tmp_path / "seeds.nii.gz")
    for rule, price in (("value", row), ("square", row.astype(np.int64) ** 2)):
        good("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz", "--rule", rule, "--force", cwd=tmp_path)
        left, right = np.cumsum(price) - price[0], np.cumsum(price[::-1])[::-1] - price[-1]
        want = np.where(left <= right, 1, 2)
        want[0], want[-1] = 1, 2
        assert np.array_equal(load(tmp_path / "out.nii.gz").ravel(), want), rule


@pytest.mark.parametrize("options, part", [
    (["--rounds", "5"], "--rounds"),
    (["--seed-strength", "image.nii.gz"], "--seed-strength"),
    (["--penalty", "1"], "--penalty"),
])  # fmt: skip
def test_what_a_flood_does_not_take(folder, options, part):
    done = lobule("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "o.nii.gz", "--rule", "flood", *options, cwd=folder)
    assert_one_line(done, 64, part)


@pytest.mark.parametrize("rule", ["flood", "value", "square"])
def test_one_channel_alone(folder, rule):
    save(np.stack([load(folder / "image.nii.gz")] * 2, -1)[:, :, :, None], folder / "two.nii.gz")
    done = lobule("growcut", "two.nii.gz", "seeds.nii.gz", "-o", "o.nii.gz", "--rule", rule, cwd=folder)
    assert_one_line(done, 65, "2 channels")


def test_report_has_the_key_bits(tmp_path):
    """A plateau longer than the bits that 32-bit keys have for steps takes 64 bits, to the same rule."""
    image = np.zeros((20000, 1, 1), np.uint16)
    image[-1] = 65535
    seeds = np.zeros((20000, 1, 1), np.uint8)
    seeds[0], seeds[-1] = 3, 2
    labels = flooded(tmp_path, image, seeds)
    assert (labels[:-1] == 3).all() and labels[-1, 0, 0] == 2
    assert json.loads((tmp_path / "report.json").read_text())["results"]["key_bits"] == 64
