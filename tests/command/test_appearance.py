"""lobule appearance and lobule refine against numpy and scipy, on phantoms with strokes in a few slices."""

import json
from itertools import product

import numpy as np
import pytest
from conftest import good, load, refused, save
from scipy import ndimage

ONE = 1024  # scores of one nat
OPTIONS = {"bins": 64, "bin-sigma": 2.0, "whole": 0.5, "far": 4.0, "far-quantile": 0.75}
SHAPE_OPTIONS = {"shape": 2.0, "shape-border": 0.0, "shape-widen": 0.3, "shape-slope": 0.5}


# ---- the definitions, in numpy ----


def bin_kernel(sigma):
    radius = int(4 * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return weights / weights.sum()


def mixed(most, least):
    """Shares of bins of voxels that hold two tissues, more of the first: from its bin halfway to the other's."""
    out = np.zeros(len(most))
    for (a, own), (c, other) in product(enumerate(most), enumerate(least)):
        half = abs(c - a) // 2
        first = a if c > a else a - half
        out[first : first + half + 1] += own * other / (half + 1)
    return out


def scores(channels, seeds, wanted, o):
    """Sums over the channels, in 1/ONE nats, of the logarithms of own / against."""
    background = (seeds > 0) & ~np.isin(seeds, list(wanted))
    out = {label: np.zeros(seeds.shape, np.int32) for label in wanted}
    n, kernel = o["bins"] + 2, bin_kernel(o["bin-sigma"])

    def share(bins):
        count = np.bincount(bins.ravel(), minlength=n).astype(float)
        h = np.convolve(np.pad(count, len(kernel) // 2, mode="edge"), kernel, mode="valid")
        return (h + 0.5 / n) / (h.sum() + 0.5)

    for channel, weight in channels:
        drawn = channel[seeds > 0]
        width = (drawn.max() - drawn.min()) / o["bins"] or np.float32(1)
        bins = np.clip(np.floor((channel - drawn.min()) / width).astype(int) + 1, 0, n - 1)
        whole = share(bins)
        for label in wanted:
            own, around = share(bins[seeds == label]), share(bins[background])
            part = o.get("partial-volume", 0)
            if part:
                own, around = ((1 - part) * x + part * mixed(x, y) for x, y in ((own, around), (around, own)))
            against = (1 - o["whole"]) * around + o["whole"] * whole
            table = np.rint(ONE * weight * np.log(own / against)).astype(np.int32)
            out[label] += table[bins]
    return out


def far_cost(seeds, label, spacing, o):
    away = ndimage.distance_transform_edt(seeds != label, sampling=spacing)
    drawn = np.sort(away[(seeds > 0) & (seeds != label)])
    reach = drawn[min(len(drawn) - 1, int(o["far-quantile"] * len(drawn)))]
    reach = max(reach, o.get("far-least", 0))
    return np.rint(ONE * o["far"] * np.clip(away / reach - 1, 0, 1)).astype(np.int32)


def signed(mask, spacing):
    if mask.all() or not mask.any():
        return np.full(mask.shape, 1e4 if mask.all() else -1e4)
    edt = ndimage.distance_transform_edt
    return edt(mask, sampling=spacing) - edt(~mask, sampling=spacing)


def others(axis):
    return tuple(a for a in range(3) if a != axis)


def drawn_axis(seeds):
    """The axis across which the fewest slices hold strokes, of equals the last; None in 2D."""
    if min(seeds.shape) == 1:
        return None
    held = [seeds.any(others(axis)).sum() for axis in range(3)]
    return max(range(3), key=lambda axis: (-held[axis], axis))


def shape_gain(outline, seeds, label, spacing, o):
    axis = drawn_axis(seeds)
    if axis is None:
        return 0
    own, rest = (seeds == label).sum(others(axis)), ((seeds > 0) & (seeds != label)).sum(others(axis))
    both = (own + rest) * (own > 0) * (rest > 0)
    at = np.flatnonzero(4 * both >= max(1, both.max()))
    if len(at) == 0:
        return 0
    inside = np.moveaxis(outline == label, axis, 0)
    plane = [mm for a, mm in enumerate(spacing) if a != axis]
    mm = [np.clip(signed(inside[z], plane), -1e4, 1e4) for z in at]
    border = o["shape-border"] or min(s for s, n in zip(spacing, seeds.shape, strict=True) if n > 1)
    out = np.empty(inside.shape, np.int32)
    for z in range(len(inside)):
        j = np.searchsorted(at, z, side="right") - 1
        if z <= at[0] or z >= at[-1]:
            end = 0 if z <= at[0] else len(at) - 1
            away = abs(z - at[end]) * spacing[axis]
            gain = mm[end] - o["shape-slope"] * away
            widen = o["shape-widen"] / (3 if len(at) > 1 else 1)
        else:
            t = (z - at[j]) / (at[j + 1] - at[j])
            away = min(z - at[j], at[j + 1] - z) * spacing[axis]
            gain = (1 - t) * mm[j] + t * mm[j + 1]
            widen = o["shape-widen"]
        least = -max(o["shape"], o["far"])
        out[z] = np.rint(ONE * np.clip(gain / (border + widen * away), least, o["shape"]))
    return np.moveaxis(out, 0, axis)


def shares(of):
    e = [np.exp(np.clip(s, -16 * ONE, 16 * ONE) / ONE) for s in of]
    return [x / (1 + sum(e)) for x in e]


# ---- cases ----


def phantom(shape, labels, seed=3, channels=1):
    """Nested balls of values of their own with noise, and strokes on every fourth slice."""
    random = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, n) if n > 1 else [0.0] for n in shape], indexing="ij"))
    truth = np.digitize(np.sqrt((grid**2).sum(0)), np.linspace(0.35, 0.9, labels - 1))
    values = np.arange(1, labels + 1)[::-1] * 100.0
    image = np.stack([values[truth] * (1 + 0.3 * c) + random.normal(0, 40, shape) for c in range(channels)], -1)
    drawn = random.random(shape) < 0.2
    if shape[2] > 1:
        drawn[:, :, np.arange(shape[2]) % 4 != 2] = False
    seeds = np.where(drawn, truth * 3 + 2, 0)  # labels 2, 5, 8, ...
    assert len(np.unique(seeds)) == labels + 1
    return image.round().astype(np.int16), seeds.astype(np.uint8), truth * 3 + 2


CASES = {
    "one organ": {"shape": (17, 15, 13), "labels": 2, "spacing": (1, 1, 2.5)},
    "three organs": {"shape": (19, 16, 11), "labels": 4, "spacing": (0.8, 1.2, 3)},
    "a picture": {"shape": (40, 31, 1), "labels": 3, "spacing": (1, 1, 1)},
    "a slice with strokes": {"shape": (21, 19, 5), "labels": 2, "spacing": (1, 1, 1)},
    "colours": {"shape": (18, 14, 11), "labels": 3, "spacing": (1, 1, 1), "channels": 3},
}


def write_case(folder, shape, labels, spacing, channels=1):
    image, seeds, truth = phantom(shape, labels, channels=channels)
    affine = np.diag([*spacing, 1.0])
    file = image[..., 0] if channels == 1 else image[:, :, :, None, :]
    save(file, folder / "image.nii", affine=affine)
    save(seeds, folder / "seeds.nii", affine=affine)
    view = ndimage.uniform_filter(image.astype(np.float32), (3, 3, 1, 1))
    save(view[..., 0] if channels == 1 else view[:, :, :, None, :], folder / "view.nii", affine=affine)
    save(truth.astype(np.uint8), folder / "truth.nii", affine=affine)
    return image, seeds, view, truth


def planes(name, channels):
    got = load(name)
    return got.reshape(*got.shape[:3], -1)[..., :channels]


def channels_of(*volumes):
    return [(v[..., c].astype(np.float32), 1 / v.shape[-1]) for v in volumes for c in range(v.shape[-1])]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("outlined", [False, True], ids=["by distance", "by outline"])
def test_shares_are_what_numpy_gives(tmp_path, name, outlined):
    image, seeds, view, truth = write_case(tmp_path, **CASES[name])
    spacing, labels = CASES[name]["spacing"], [int(v) for v in np.unique(seeds) if v]
    background, o = labels[-1], {**OPTIONS, **SHAPE_OPTIONS}
    wanted = labels[:-1]
    of = scores(channels_of(image, view), seeds, wanted, o)
    if outlined:
        of = [of[v] + shape_gain(truth, seeds, v, spacing, o) for v in wanted]
    else:
        of = [of[v] - far_cost(seeds, v, spacing, o) for v in wanted]
    base = ["appearance", "image.nii", "seeds.nii", "--view", "view.nii", "--quiet", "--device", "cpu"]
    base += ["--outline", "truth.nii"] if outlined else []
    good(*base, "-o", "shares.nii", "--report", "report.json", "--threads", "2", cwd=tmp_path)
    good(*base, "-o", "again.nii", "--threads", "1", cwd=tmp_path)
    assert (tmp_path / "shares.nii").read_bytes() == (tmp_path / "again.nii").read_bytes()
    got = planes(tmp_path / "shares.nii", len(wanted))
    for k, want in enumerate(shares(of)):
        assert np.abs(got[..., k] - want).max() < 6e-4  # two scores, each a unit off
        assert (np.abs(got[..., k] - want) < 1e-6).mean() > 0.99
    results = json.loads((tmp_path / "report.json").read_text())["results"]
    assert results["background"] == background and results["background_found"] is True
    assert results["labels"] == wanted


def test_options_are_what_numpy_gives(tmp_path):
    image, seeds, _, truth = write_case(tmp_path, **CASES["one organ"])
    given = {"bins": 20, "bin-sigma": 0.7, "whole": 0.2, "far": 6, "far-quantile": 0.3, "partial-volume": 0.4}
    given |= {"shape": 1, "shape-border": 2.5, "shape-widen": 0.4, "shape-slope": 0.1}
    typed = [part for name, value in given.items() for part in (f"--{name}", value)]
    of = scores(channels_of(image), seeds, [5], given)[5]
    base = ["appearance", "image.nii", "seeds.nii", "--background", "2", *typed, "--device", "cpu"]
    good(*base, "-o", "far.nii", cwd=tmp_path)
    good(*base, "-o", "reach.nii", "--far-least", 30, cwd=tmp_path)
    good(*base, "-o", "shape.nii", "--outline", "truth.nii", cwd=tmp_path)
    spacing = CASES["one organ"]["spacing"]
    far = shares([of - far_cost(seeds, 5, spacing, given)])[0]
    shape = shares([of + shape_gain(truth, seeds, 5, spacing, given)])[0]
    reach = shares([of - far_cost(seeds, 5, spacing, given | {"far-least": 30})])[0]
    assert np.abs(planes(tmp_path / "far.nii", 1)[..., 0] - far).max() < 6e-4
    assert np.abs(planes(tmp_path / "reach.nii", 1)[..., 0] - reach).max() < 6e-4
    assert np.abs(reach - far).max() > 0.1  # the least reach is beyond the quantile's
    assert np.abs(planes(tmp_path / "shape.nii", 1)[..., 0] - shape).max() < 6e-4


# ---- refine ----


def gauss(values, sigma, spacing):
    return ndimage.gaussian_filter(
        values.astype(np.float32), [sigma / s if n > 1 else 0 for s, n in zip(spacing, values.shape, strict=True)], mode="nearest", truncate=4
    )


def tidy(labels, seeds, wanted, background):
    labels = np.where(seeds > 0, seeds, labels)
    for label in wanted:
        pieces, n = ndimage.label(labels == label, np.ones((3, 3, 3)))
        held = np.isin(np.arange(n + 1), np.unique(pieces[seeds == label]))
        labels = np.where((labels == label) & ~held[pieces], background, labels)
    for label in wanted:
        rest, n = ndimage.label(labels != label)
        outside = np.zeros(n + 1, bool)
        outside[np.unique(rest[seeds == background])] = True
        for axis in range(3):
            if labels.shape[axis] > 1:
                outside[np.unique(np.take(rest, [0, -1], axis))] = True
        labels = np.where((rest > 0) & ~outside[rest] & (labels == background), label, labels)
    return labels


def smooth(labels, order, sigma, spacing):
    if len(order) == 2:
        return gauss(labels == order[0], sigma, spacing) > 0.5
    return np.stack([gauss(labels == v, sigma, spacing) for v in order]).argmax(0)


def votes(labels, image, label, share, sigma, spacing):
    is_label = (labels == label).astype(np.float32)
    inside = gauss(is_label, sigma, spacing)
    to_label = to_rest = apart = 0
    for c in range(image.shape[-1]):
        x = image[..., c].astype(np.float32)
        of_label = gauss(x * is_label, sigma, spacing)
        u = of_label / np.maximum(inside, 1e-6)
        v = (gauss(x, sigma, spacing) - of_label) / np.maximum(1 - inside, 1e-6)
        to_label, to_rest, apart = to_label + np.abs(x - u), to_rest + np.abs(x - v), apart + np.abs(u - v)
    vote = (np.clip((to_rest - to_label) / np.maximum(apart, 1e-6), -1, 1) + 1) / 2
    vote = np.where((inside > 0.02) & (inside < 0.98), vote, is_label)
    vote = share * vote + (1 - share) * is_label
    return vote, np.where((inside > 0.1) & (inside < 0.9), vote, is_label).sum()


def above_least(votes, total):
    """Smoothed votes, 0 where they are too few: a label has as many voxels as its votes sum to."""
    steps = [0.5 - k / 128 for k in range(17)]
    return np.where(votes > next((t for t in steps[:-1] if (votes > t).sum() >= total), steps[-1]), votes, 0)


def changes(image, labels, label, axis, k):
    """What the image changes by at each border voxel of a label in a slice: (voxels, channels)."""
    of, values = np.take(labels, k, axis) == label, np.take(image, k, axis)
    sides = np.pad(of, 1, constant_values=True)
    border = of & ~(sides[:-2, 1:-1] & sides[2:, 1:-1] & sides[1:-1, :-2] & sides[1:-1, 2:])
    near = [(slice(max(0, x - 1), x + 2), slice(max(0, y - 1), y + 2)) for x, y in np.argwhere(border)]
    return np.array([values[at][of[at]].mean(0) - values[at][~of[at]].mean(0) for at in near])


def fade(labels, image, seeds, label, background, axis):
    held = np.flatnonzero((seeds == label).any(tuple(a for a in range(3) if a != axis)))
    rows = [changes(image, labels, label, axis, k) for k in range(labels.shape[axis])]
    drawn = [rows[k] for k in held if len(rows[k])]
    if not drawn:
        return labels
    mean = np.concatenate(drawn).mean(0)
    seen = lambda x: x @ mean > 0.2 * mean @ mean  # noqa: E731
    least, labels = 0.5 * seen(np.concatenate(drawn)).mean(), labels.copy()
    slices = np.moveaxis(labels, axis, 0)
    for ks in (range(held[0] - 1, -1, -1), range(held[-1] + 1, len(slices))):
        faded = [i for i, k in enumerate(ks) if len(rows[k]) and seen(rows[k]).mean() < least]
        for k in ks[faded[0] + 1 :] if faded else ():
            slices[k][slices[k] == label] = background
    return labels


@pytest.mark.parametrize("axis", range(3), ids=["x", "y", "z"])
@pytest.mark.parametrize("channels", [1, 3])
def test_labels_end_where_numpy_says_that_they_fade(tmp_path, axis, channels):
    """Two bodies side by side, whose borders are seen on some slices alone."""
    random, shape, cleared = np.random.default_rng([axis, channels]), (16, 18, 15), 0
    along, across = np.indices(shape)[axis], np.indices(shape)[(axis + 1) % 3]
    for number in range(4):
        near = ndimage.gaussian_filter(random.normal(size=shape), 2.5)
        truth = np.where(near > np.quantile(near, 0.6), np.where(across < 8, 1, 2), 3)
        drawn = np.isin(along, random.integers(5, 9, 3))
        seeds = np.where(drawn & (random.random(shape) < 0.3), truth, 0)
        contrast = np.where(np.abs(along - 6) < random.integers(3, 6), 1, 0.1)
        image = np.stack([contrast * (truth * 70 - 100 + 90 * c) for c in range(channels)], -1)
        image = (image + random.normal(0, 20, image.shape)).astype(np.float32)
        file = image[..., 0] if channels == 1 else image[:, :, :, None, :]
        for name, data in (("image", file), ("grown", truth.astype(np.uint8)), ("seeds", seeds.astype(np.uint8))):
            save(data, tmp_path / f"{name}.nii", affine=np.eye(4))
        good("refine", "grown.nii", "image.nii", "seeds.nii", "--background", 3, "--smooth", "0mm", "--edge", 0.001,
             "--edge-smooth", "0mm", "--fade", "xyz"[axis], "-o", "out.nii", "--force", cwd=tmp_path)  # fmt: skip
        whole = last = tidy(truth, seeds, [1, 2], 3)
        for v in (1, 2):
            last = fade(last, image.astype(float), seeds, v, 3, axis)
        assert np.array_equal(load(tmp_path / "out.nii"), tidy(last, seeds, [1, 2], 3))
        cleared += np.count_nonzero(last != whole)
    assert cleared > 100


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_refined_labels_are_what_scipy_gives(tmp_path, name, keep):
    image, seeds, _, truth = write_case(tmp_path, **CASES[name])
    spacing, order = CASES[name]["spacing"], [int(v) for v in np.unique(seeds) if v]
    wanted, background = order[:-1], order[-1]
    random = np.random.default_rng(5)
    labels = np.where(random.random(seeds.shape) < 0.12, random.choice([0, *order], seeds.shape), truth)
    save(labels.astype(np.uint8), tmp_path / "grown.nii", affine=np.diag([*spacing, 1.0]))
    base = ["refine", "grown.nii", "image.nii", "seeds.nii", "--quiet", "--device", "cpu", "--background", background]
    steps = ["--smooth", "0.9mm", "--edge", "0.6", "--edge-sigma", "1.1mm", "--edge-smooth", "0.8mm"]
    steps += ["--keep-volume"] if keep else []
    good(*base, *steps, "-o", "out.nii", "--threads", "2", cwd=tmp_path)
    good(*base, *steps, "-o", "again.nii", "--threads", "1", cwd=tmp_path)
    assert (tmp_path / "out.nii").read_bytes() == (tmp_path / "again.nii").read_bytes()

    labels = np.where(labels == 0, background, labels)
    first = smooth(labels, order, 0.9, spacing)
    first = np.where(first, order[0], order[1]) if len(order) == 2 else np.array(order)[first]
    first = tidy(first, seeds, wanted, background)
    count = []
    for v in wanted:
        own, total = votes(first, image, v, 0.6, 1.1, spacing)
        smoothed = gauss(own, 0.8, spacing)
        count.append(above_least(smoothed, total if keep else 0))
    count = np.stack(count)
    last = np.where(count.max(0) > 0, np.array(wanted)[count.argmax(0)], background)
    last = tidy(last, seeds, wanted, background)
    got = load(tmp_path / "out.nii").reshape(seeds.shape)
    assert (got != last).mean() < 2e-3  # means that are rounded otherwise decide a few ties
    assert np.array_equal(got[seeds > 0], seeds[seeds > 0])
    wrong = [(x != truth).mean() for x in (labels, got)]
    assert wrong[1] < wrong[0] / 2

    good(*base, "--smooth", "0mm", "--edge", "0", "-o", "tidy.nii", "--report", "report.json", cwd=tmp_path)
    want = tidy(labels, seeds, wanted, background)
    assert np.array_equal(load(tmp_path / "tidy.nii").reshape(seeds.shape), want)
    results = json.loads((tmp_path / "report.json").read_text())["results"]
    assert results["changed_voxels"] == (want != labels).sum()


def test_lengths_in_voxels_are_least_spacings(tmp_path):
    write_case(tmp_path, **CASES["three organs"])
    base = ["refine", "truth.nii", "image.nii", "seeds.nii", "--device", "cpu"]
    good(*base, "-o", "chosen.nii", cwd=tmp_path)
    good(*base, "--smooth", "1vox", "--edge-sigma", "1vox", "--edge-smooth", "0.7vox", "-o", "vox.nii", cwd=tmp_path)
    good(*base, "--smooth", "0.8mm", "--edge-sigma", "0.8mm", "--edge-smooth", "0.56mm", "-o", "mm.nii", cwd=tmp_path)
    assert (tmp_path / "chosen.nii").read_bytes() == (tmp_path / "vox.nii").read_bytes()
    assert (tmp_path / "chosen.nii").read_bytes() == (tmp_path / "mm.nii").read_bytes()


# ---- recipes, and what is refused ----

RECIPE = """appearance {image} {seeds} -o @shares
filter @shares --gaussian 1mm --edge nearest -o @smooth
growcut @smooth {seeds} --rule distance --norm linf -o @grown
refine @grown {image} {seeds} -o @outline
appearance {image} {seeds} --outline @outline -o {out}
"""


def test_a_recipe_gives_the_bytes_of_its_lines(tmp_path):
    write_case(tmp_path, **CASES["three organs"])
    (tmp_path / "organ.recipe").write_text(RECIPE)
    good("run", "organ.recipe", "image=image.nii", "seeds=seeds.nii", "out=out.nii", "--device", "cpu", cwd=tmp_path)
    names = {"{image}": "image.nii", "{seeds}": "seeds.nii", "{out}": "lines.nii"}
    for line in RECIPE.splitlines():
        words = [names.get(w, w[1:] + ".nii" if w.startswith("@") else w) for w in line.split()]
        good(*words, "--device", "cpu", cwd=tmp_path)
    assert (tmp_path / "out.nii").read_bytes() == (tmp_path / "lines.nii").read_bytes()


LEARN = ["appearance", "image.nii", "seeds.nii", "-o", "out.nii"]
CLEAN = ["refine", "truth.nii", "image.nii", "seeds.nii", "-o", "out.nii"]
REFUSED = [
    ("a background without seeds", [*LEARN, "--background", "3"], 65, "label 3"),
    ("a background that is no label", [*LEARN, "--background", "0"], 64, "background"),
    ("one label", ["appearance", "image.nii", "one.nii", "-o", "out.nii"], 65, "the only label is 4"),
    ("no seeds", ["appearance", "image.nii", "none.nii", "-o", "out.nii"], 65, "no seeds"),
    ("values that are all missing", ["appearance", "nan.nii", "seeds.nii", "-o", "out.nii"], 65, "nan.nii: holds no finite value"),
    ("seeds of another grid", ["appearance", "image.nii", "small.nii", "-o", "out.nii"], 65, "small.nii"),
    ("a view of another grid", [*LEARN, "--view", "small.nii"], 65, "small.nii"),
    ("an outline of other labels", [*LEARN, "--outline", "one.nii"], 65, "label 4 has no seed in seeds.nii"),
    ("bins", [*LEARN, "--bins", "1"], 64, "bins"),
    ("a share", [*LEARN, "--whole", "1.5"], 64, "whole"),
    ("no memory", [*LEARN, "--max-memory", "20KiB"], 75, "--max-memory"),
    ("labels without seeds", ["refine", "one.nii", "image.nii", "seeds.nii", "-o", "out.nii"], 65, "label 4 has no seed"),
    ("one label to refine", ["refine", "one.nii", "image.nii", "one.nii", "-o", "out.nii"], 65, "the only label"),
    ("an edge", [*CLEAN, "--edge", "2"], 64, "edge"),
    ("means of no length", [*CLEAN, "--edge-sigma", "0mm"], 64, "edge-sigma"),
    ("growths of labels without seeds", [*CLEAN, "--first", "truth.nii", "--plain", "one.nii"], 65, "one.nii: label 4 has no seed"),
    ("too many labels to outvote", ["refine", "many.nii", "image.nii", "many.nii", "-o", "out.nii", "--first", "many.nii",
                                    "--plain", "many.nii"], 65, "many.nii: has 300 labels, at most 255 can be outvoted"),
    ("one growth alone against another", [*CLEAN, "--plain", "truth.nii"], 64, "--first and --plain go together"),
    ("half a voxel of a grid", [*CLEAN, "--first", "truth.nii", "--plain", "truth.nii", "--plain-step", "1,1.5,1"], 64,
     "--plain-step is in whole voxels"),
    ("too far a Gaussian", [*CLEAN, "--smooth", "9999mm"], 64, "refine"),
    ("an output that is an input", [*CLEAN[:-1], "image.nii", "--force"], 64, "image.nii"),
    ("labels that are missing", ["refine", "no.nii", *CLEAN[2:]], 66, "no.nii"),
]


@pytest.mark.parametrize("what, arguments, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(tmp_path, what, arguments, code, part):
    write_case(tmp_path, **CASES["one organ"])
    seeds = load(tmp_path / "seeds.nii")
    affine = np.diag([*CASES["one organ"]["spacing"], 1.0])
    save((4 * (seeds > 0)).astype(np.uint8), tmp_path / "one.nii", affine=affine)
    save(np.zeros_like(seeds), tmp_path / "none.nii", affine=affine)
    save(np.arange(seeds.size, dtype=np.int16).reshape(seeds.shape) % 301, tmp_path / "many.nii", affine=affine)
    save(np.where(seeds > 0, np.nan, 1).astype(np.float32), tmp_path / "nan.nii", affine=affine)
    save(seeds[:5, :5, :5], tmp_path / "small.nii", affine=np.diag([7, 7, 7, 1.0]))
    refused(tmp_path, [*arguments, "--device", "cpu"], code, part)
