"""GrowCut that follows a brush, from Python: the labels of a fresh growth after every change."""

import numpy as np
import pytest
import SimpleITK as sitk
from test_python import lobule

SCAN, TRUTH, STROKES = lobule.phantom("abdomen", shape=(20, 40, 48), spacing=(6, 5, 5))
SPACING = (6, 5, 5)
WAYS = [
    {},
    {"rule": "distance", "penalty": 2, "neighbours": 6},
    {"slices": "coronal"},
    {"mask": TRUTH > 0, "range": (0, None)},
    {"rule": "flood"},
]


def history(grower, rng, steps=12):
    """Paint, erase and undo; what has changed, or None."""
    earlier = [grower.seeds.copy()]
    for _ in range(steps):
        if rng.random() < 0.2:
            grower.seeds[:] = earlier[rng.integers(len(earlier))]
            yield None
            continue
        first = [rng.integers(side - 6) for side in SCAN.shape]
        where = tuple(slice(at, at + rng.integers(1, 7)) for at in first)
        grower.seeds[where] = rng.choice([0, 0, 1, 3, 5])
        earlier.append(grower.seeds.copy())
        yield where


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_every_change_gives_the_labels_of_a_fresh_growth(way, dtype):
    largest = 255 if dtype == "uint8" else 300
    about = {"spacing": SPACING, "device": "cpu", "threads": 1}
    with lobule.Grower(SCAN, largest, strength=True, **way, **about) as grower:
        grower.seeds[:] = STROKES
        assert grower.labels.dtype == np.dtype(dtype)
        grower.grow()
        for where in history(grower, np.random.default_rng(3)):
            before = grower.labels.copy()
            labels = grower.grow(where)
            fresh = lobule.growcut(SCAN, grower.seeds.copy(), full=True, **way, **about)
            assert np.array_equal(labels, fresh.labels)
            assert np.array_equal(grower.strength, fresh.strength)
            before[grower.changed] = labels[grower.changed]
            assert np.array_equal(before, labels)


def test_a_small_change_writes_a_small_part():
    noise = np.random.default_rng(0).integers(0, 1000, (40, 80, 80)).astype(np.int16)
    with lobule.Grower(noise, 2, device="cpu") as grower:
        grower.seeds[::4, ::4, ::4] = 1
        grower.grow()
        assert grower.changed == (slice(0, 40), slice(0, 80), slice(0, 80))
        grower.seeds[20, 40, 40:44] = 2
        assert grower.grow()[20, 40, 41] == 2
        assert np.prod([part.stop - part.start for part in grower.changed]) < noise.size / 2


def test_axes_are_those_of_the_image():
    image = sitk.GetImageFromArray(SCAN)
    image.SetSpacing(SPACING[::-1])
    turned = SCAN.transpose(2, 1, 0)
    with lobule.Grower(image, 9) as one, lobule.Grower(turned, 9, axes="xyz", spacing=SPACING[::-1]) as other:
        for grower, seeds in ((one, STROKES), (other, STROKES.transpose(2, 1, 0))):
            grower.seeds[:] = seeds
            grower.grow()
        assert np.array_equal(one.labels, other.labels.transpose(2, 1, 0))
        other.seeds[10:12] = 4
        other.grow((slice(10, 12),))
        assert (other.labels[10:12] == 4).all()


def test_flat_images():
    with lobule.Grower(SCAN[8], 9) as grower:
        grower.seeds[4:8, 5] = 1
        grower.seeds[20:30, 40] = 2
        grower.grow((slice(0, 40),))
        assert np.array_equal(grower.labels, lobule.growcut(SCAN[8], grower.seeds.copy()))


def test_what_is_wrong_is_said():
    with pytest.raises(lobule.InputError, match="labels is 0"):
        lobule.Grower(SCAN, 0)
    with pytest.raises(lobule.InputError, match="7 neighbours"):
        lobule.Grower(SCAN, neighbours=7)
    with lobule.Grower(SCAN, 3) as grower:
        with pytest.raises(lobule.InputError, match="seed"):
            grower.grow()
        grower.seeds[3, 3, 3] = 4
        with pytest.raises(lobule.InputError, match=r"seed 4: labels are 0\.\.3"):
            grower.grow()
        grower.seeds[3, 3, 3] = 2
        assert (grower.grow() == 2).all()
        with pytest.raises(lobule.InputError, match="steps of 1"):
            grower.grow((slice(0, 9, 2),))
        for where in ("abc", (3,), slice(3), 4):
            with pytest.raises(lobule.InputError, match="it is a tuple of slices"):
                grower.grow(where)
        with pytest.raises(ValueError, match="read-only"):
            grower.labels[0] = 1
    with pytest.raises(lobule.InputError, match="closed"):
        grower.grow()


def test_a_growth_that_is_stopped_goes_on_later():
    noise = np.random.default_rng(0).integers(0, 1000, (40, 80, 80)).astype(np.int16)
    stop = [False]

    def listen(_done):
        if stop[0]:
            raise KeyboardInterrupt

    with lobule.Grower(noise, 2, device="cpu", progress=listen) as grower:
        grower.seeds[0, 0, 0] = 1
        grower.grow()
        grower.seeds[39, 79, 79], stop[0] = 2, True
        with pytest.raises(KeyboardInterrupt):
            grower.grow()
        grower.seeds[39, 0, 79], stop[0] = 2, False
        assert np.array_equal(grower.grow(), lobule.growcut(noise, grower.seeds.copy(), device="cpu"))
