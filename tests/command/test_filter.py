"""lobule filter against numpy and scipy.ndimage, and what it refuses."""

import json

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, assert_one_line, cases, good, load, lobule, save
from in_process import PLAIN, SPACINGS, in_process, package, random_shape
from scipy import ndimage

CASES = len(cases(40))
SHAPES = [(7, 11, 5), (1, 13, 3), (17, 1, 1), (2, 3, 31), (23, 19, 11), (13, 1, 17), (1, 1, 1), (29, 31, 2)]
TYPES = [np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64, np.float32, np.float64]
EDGES = ["nearest", "reflect", "mirror", "wrap", "constant"]


def run(folder, array, *options, affine=None, scale=None, mask=None):
    """The filtered array and the report's results."""
    save(np.asfortranarray(array), folder / "in.nii", affine=np.eye(4) if affine is None else affine, scale=scale)
    more = []
    if mask is not None:
        save(mask.astype(np.uint8), folder / "mask.nii", affine=np.eye(4) if affine is None else affine)
        more = ["--mask", "mask.nii"]
    good("filter", "in.nii", "-o", "out.nii", "--report", "r.json", "--force", *options, *more, cwd=folder)
    return load(folder / "out.nii"), json.loads((folder / "r.json").read_text())["results"]


def close(got, want, scale, what=""):
    """Within the rounding of float32 sums; scale is the size of what was added up."""
    error = np.abs(got.astype(np.float64) - want).max(initial=0)
    assert error <= 4e-6 * max(scale, 1), f"{what}: off by {error}, of {scale}"


def random_array(random, shape, kind):
    if np.issubdtype(kind, np.floating):
        return (random.normal(size=shape) * 300).astype(kind)
    info = np.iinfo(kind)
    low, high = max(info.min, -3000), min(info.max, 3000)
    return random.integers(low, high, shape, endpoint=True).astype(kind)


def laplace(array, sigma, spacing, **mode):
    """ndimage.gaussian_laplace per mm^2, but of a constant 0 where a sigma is below 1 too."""
    total = np.zeros(array.shape)
    for axis, (s, mm) in enumerate(zip(sigma, spacing)):
        order = [2 * (a == axis) for a in range(array.ndim)]
        part = ndimage.gaussian_filter(array, sigma, order=order, **mode)
        if s < 1:
            of_one = ndimage.gaussian_filter1d(np.ones(9), s, order=2, mode="nearest")[4]
            part -= of_one * ndimage.gaussian_filter(array, sigma, **mode)
        total += part / mm**2
    return total


def one_step(random, edge):
    """Options of a step and the same with scipy, for an array of doubles."""
    mode = {"mode": edge, "cval": 7.0}
    sigma = [round(float(s), 3) for s in random.uniform(0.3, 3, 3)]
    radius = [int(r) for r in random.integers(0, 4, 3)]
    size = [2 * r + 1 for r in radius]
    typed = ",".join(map(str, sigma)) + "vox"
    rows = [
        (["--gaussian", typed], lambda a: ndimage.gaussian_filter(a, sigma, **mode)),
        (["--box", ",".join(map(str, radius))], lambda a: ndimage.uniform_filter(a, size, **mode)),
        (["--median", ",".join(map(str, radius))], lambda a: ndimage.median_filter(a, size, **mode)),
    ]
    if edge != "constant":  # scipy reads the constant as a derivative, too
        rows += [
            (["--gradient", typed], lambda a: ndimage.gaussian_gradient_magnitude(a, sigma, **mode)),
            (["--log", typed], lambda a: laplace(a, sigma, (1, 1, 1), **mode)),
        ]
    return rows[int(random.integers(len(rows)))]


@pytest.mark.parametrize("seed", range(CASES))
def test_steps_equal_scipy(tmp_path, seed):
    random = np.random.default_rng(seed)
    shape, kind = SHAPES[seed % len(SHAPES)], TYPES[seed // len(SHAPES) % len(TYPES)]
    edge = EDGES[int(random.integers(len(EDGES)))]
    array = random_array(random, shape, kind)
    want, options = array.astype(np.float64), ["--edge", edge + ("=7" if edge == "constant" else "")]
    # Axes of one voxel are left out: a 2D image is 2D, whatever lies beyond its edges.
    long_axes = tuple(n for n in shape if n > 1)
    if len(long_axes) < 3:
        step, scipy = ["--gaussian", "1.5vox"], lambda a: ndimage.gaussian_filter(a, 1.5, mode=edge, cval=7.0)
        if random.integers(2):
            step, scipy = ["--median", "1"], lambda a: ndimage.median_filter(a, 3, mode=edge, cval=7.0)
        if long_axes:
            want = scipy(want.reshape(long_axes)).reshape(shape)
    else:
        step, scipy = one_step(random, edge)
        want = scipy(want)
    got, _ = run(tmp_path, array, *step, *options)
    assert got.dtype == (kind if step[0] == "--median" else np.float32)
    if step[0] == "--median":
        assert np.array_equal(got, want.astype(kind)), f"{seed}: {step} {options}"
    else:
        close(got, want, np.abs(array.astype(np.float64)).max(), f"{seed}: {step} {options}")


@pytest.mark.parametrize("seed", range(CASES // 4))
def test_masks_and_holes_are_normalised_convolution(tmp_path, seed):
    random = np.random.default_rng(1000 + seed)
    array = random_array(random, SHAPES[4], np.float32)
    array[random.random(array.shape) < 0.1] = np.nan
    mask = random.random(array.shape) < 0.8
    data = mask & np.isfinite(array)
    clean = np.where(data, array, 0).astype(np.float64)
    sigma = float(random.uniform(0.6, 2))
    got, results = run(tmp_path, array, "--gaussian", f"{sigma}vox", mask=mask)
    with np.errstate(invalid="ignore", divide="ignore"):
        want = ndimage.gaussian_filter(clean, sigma, mode="constant") / ndimage.gaussian_filter(
            data.astype(np.float64), sigma, mode="constant"
        )
    close(got[mask], want[mask], 1000)
    assert np.array_equal(got[~mask], array[~mask], equal_nan=True)
    assert results["not_data_voxels"] == np.count_nonzero(~data)
    got, _ = run(tmp_path, array, "--box", "1", mask=mask)
    with np.errstate(invalid="ignore", divide="ignore"):
        want = ndimage.uniform_filter(clean, 3, mode="constant") / ndimage.uniform_filter(
            data.astype(np.float64), 3, mode="constant"
        )
    close(got[mask], want[mask], 1000)


# ---- many small cases, in this process ----

PADS = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap", "constant": "constant"}
BEYOND = 7.0  # the value of a constant edge


class Case:
    """A random image with an edge rule, in some cases with a mask and values that are not finite."""

    def __init__(self, seed):
        self.random = random = np.random.default_rng(seed)
        self.kind = TYPES[seed % len(TYPES)]
        self.image = random_array(random, random_shape(random), self.kind)
        self.edge = [*EDGES, "renormalise"][random.integers(6)]
        self.spacing = SPACINGS[random.integers(len(SPACINGS))]
        self.mask = random.random(self.image.shape) < random.choice([0.2, 0.7]) if random.random() < 0.4 else None
        if self.image.dtype.kind == "f" and random.random() < 0.6:
            holes = random.random(self.image.shape) < random.choice([0.05, 0.5])
            self.image[holes] = random.choice([np.nan, np.inf, -np.inf], np.count_nonzero(holes))
        self.inside = np.ones(self.image.shape, bool) if self.mask is None else self.mask
        self.data = self.inside & np.isfinite(self.image)
        self.whole = self.data.all() and self.edge != "renormalise"
        # an image with axes of one voxel has fewer axes
        self.long = tuple(a for a, side in enumerate(self.image.shape) if side > 1)
        self.flat = tuple(self.image.shape[a] for a in self.long)
        finite = self.image[np.isfinite(self.image)]  # what is masked stays, so it counts too
        self.scale = max(BEYOND, np.abs(finite.astype(np.float64)).max(initial=1))
        self.what = f"{seed}: {self.image.shape} {self.image.dtype} {self.edge}"

    def run(self, **step):
        edge = ("constant", BEYOND) if self.edge == "constant" else self.edge
        mask = None if self.mask is None else self.mask.astype(np.uint8)
        return package.filter(self.image, edge=edge, mask=mask, spacing=self.spacing, **PLAIN, **step)

    def clean(self):
        return np.where(self.data, self.image, 0).astype(np.float64).reshape(self.flat)

    def finish(self, want, known):
        """What is not masked and known, in the image's shape; elsewhere the voxel as it came."""
        want, known = np.reshape(want, self.image.shape), np.reshape(known, self.image.shape)
        return np.where(self.inside & known, want, self.image.astype(want.dtype))

    def mean(self, scipy):
        """Of scipy(array, constant): the mean of data by normalised convolution."""
        if not self.long:
            return self.image.astype(np.float64)
        total = scipy(self.clean(), 0 if self.edge == "renormalise" else BEYOND)
        if self.whole:
            return total.reshape(self.image.shape)
        share = scipy(self.data.astype(np.float64).reshape(self.flat), float(self.edge == "constant"))
        share[share < 1e-13] = 0  # running sums leave a rest
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.finish(total / share, share > 0)

    def median(self, radius):
        """Middle of the sorted data around each voxel, the lower one of two."""
        pad = [(r, r) for r in radius]
        beyond = {"constant_values": np.array(BEYOND).astype(self.kind)} if self.edge == "constant" else {}
        if self.edge == "renormalise":
            values, data = np.pad(self.image.reshape(self.flat), pad), np.pad(self.data.reshape(self.flat), pad)
        else:
            values = np.pad(self.image.reshape(self.flat), pad, PADS[self.edge], **beyond)
            ones = {"constant_values": True} if beyond else {}
            data = np.pad(self.data.reshape(self.flat), pad, PADS[self.edge], **ones)
        sides = tuple(2 * r + 1 for r in radius)
        around = [np.lib.stride_tricks.sliding_window_view(x, sides).reshape(*self.flat, -1) for x in (values, data)]
        count = around[1].sum(axis=-1)
        last = np.inf if self.image.dtype.kind == "f" else np.iinfo(self.kind).max
        ordered = np.sort(np.where(around[1], around[0], np.array(last).astype(self.kind)), axis=-1)
        middle = np.take_along_axis(ordered, np.maximum((count + 1) // 2 - 1, 0)[..., None], axis=-1)[..., 0]
        return self.finish(middle, count > 0)

    def compare(self, got, want):
        """The largest difference, as a share of the largest value."""
        assert got.dtype == np.float32
        rest = ~np.isfinite(want)
        assert np.array_equal(got[rest], want[rest].astype(np.float32), equal_nan=True), self.what
        off = np.abs(got[~rest].astype(np.float64) - want[~rest]).max(initial=0) / self.scale
        assert off <= ROUNDING, f"{self.what}: off by {off} of {self.scale}"
        return off


# A share of the largest value: twelve roundings to float32, since an axis of a Gaussian adds up as many as 97
# products and a mask doubles the sums.
ROUNDING = 12 * 2.0**-24


def over_cases(record_property, first, difference, most=300):
    """Call difference(Case) for many cases; how many, and the largest one, go to the test's record."""
    largest = max(difference(Case(first + seed)) for seed in cases(most))
    record_property("cases", len(cases(most)))
    record_property("largest difference of the largest value", largest)


@in_process
def test_gaussians_equal_scipy(record_property):
    def difference(c):
        voxels = c.random.uniform(0.3, 4, 3) * (3 if c.random.random() < 0.1 else 1)
        sigma = [float(v) for v in voxels[list(c.long)]]
        got = c.run(gaussian=[float(v * s) for v, s in zip(voxels, c.spacing)], exact=True)
        mode = "constant" if c.edge == "renormalise" else c.edge
        return c.compare(got, c.mean(lambda a, v: ndimage.gaussian_filter(a, sigma, mode=mode, cval=v)))

    over_cases(record_property, 0, difference)


@in_process
def test_boxes_equal_scipy(record_property):
    def difference(c):
        radius = [int(r) for r in c.random.integers(0, c.random.choice([3, 12]), 3)]
        size = [2 * radius[a] + 1 for a in c.long]
        mode = "constant" if c.edge == "renormalise" else c.edge
        got = c.run(box=radius)
        return c.compare(got, c.mean(lambda a, v: ndimage.uniform_filter(a, size, mode=mode, cval=v)))

    over_cases(record_property, 10000, difference)


@in_process
def test_medians_equal_scipy_or_sorting(record_property):
    def difference(c):
        radius = [int(r) for r in c.random.integers(0, 3, 3)]
        got, around = c.run(median=radius), [radius[a] for a in c.long]
        if not c.long:
            want = c.image
        elif c.whole:
            want = ndimage.median_filter(c.image.reshape(c.flat), [2 * r + 1 for r in around], mode=c.edge, cval=BEYOND)
        else:
            want = c.median(around)
        want = want.reshape(c.image.shape)
        assert got.dtype == c.kind and np.array_equal(got, want, equal_nan=c.image.dtype.kind == "f"), c.what
        return 0

    over_cases(record_property, 20000, difference)


@in_process
def test_derivatives_equal_scipy(record_property):
    def difference(c):
        c.mask, c.edge = None, EDGES[c.random.integers(4)]
        c.image = random_array(c.random, c.image.shape, c.kind)
        voxels = c.random.uniform(0.5, 3, 3)
        millimetres = [float(v * s) for v, s in zip(voxels, c.spacing)]
        image = c.image.astype(np.float64).reshape(c.flat)
        sigma, spacing = [voxels[a] for a in c.long], [c.spacing[a] for a in c.long]

        slopes = [ndimage.gaussian_filter(image, sigma, order=np.eye(len(sigma), dtype=int)[a], mode=c.edge) / s
                  for a, s in enumerate(spacing)]  # fmt: skip
        steepness = np.sqrt(sum((p * p for p in slopes), np.zeros(c.flat)))
        bend = laplace(image, sigma, spacing, mode=c.edge)
        c.scale = np.abs(image).max() * max((1 / (s * v) for s, v in zip(spacing, sigma)), default=1)
        off = c.compare(c.run(gradient=millimetres), steepness.reshape(c.image.shape))
        c.scale = np.abs(image).max() * max(((s * v) ** -2 for s, v in zip(spacing, sigma)), default=1)
        return max(off, c.compare(c.run(log=millimetres), bend.reshape(c.image.shape)))

    over_cases(record_property, 30000, difference)


def test_renormalised_edges_are_the_default(tmp_path):
    array = random_array(np.random.default_rng(5), (9, 8, 7), np.int16)
    got, _ = run(tmp_path, array, "--gaussian", "2vox")
    ones = ndimage.gaussian_filter(np.ones(array.shape), 2, mode="constant")
    close(got, ndimage.gaussian_filter(array.astype(float), 2, mode="constant") / ones, 3000)


def test_large_sigma_is_near_the_exact_one(tmp_path):
    array = random_array(np.random.default_rng(6), (80, 75, 40), np.float32)
    array[40:] += 2000
    fast, _ = run(tmp_path, array, "--gaussian", "9vox", "--edge", "nearest")
    exact, _ = run(tmp_path, array, "--gaussian", "9vox", "--edge", "nearest", "--exact")
    want = ndimage.gaussian_filter(array.astype(float), 9, mode="nearest")
    close(exact, want, 4000)
    assert np.abs(fast - want).max() < 2e-4 * np.ptp(array)


def test_lengths_in_mm_follow_the_spacing(tmp_path):
    array = random_array(np.random.default_rng(7), (13, 12, 9), np.float32)
    affine = np.diag([0.5, 1.0, 3.0, 1.0])
    got, results = run(tmp_path, array, "--gaussian", "1.5mm", "--edge", "reflect", affine=affine)
    close(got, ndimage.gaussian_filter(array.astype(float), [3, 1.5, 0.5], mode="reflect"), 1000)
    assert results["steps"] == [{"step": "gaussian", "sigma_voxels": [3, 1.5, 0.5]}]
    got, results = run(tmp_path, array, "--median", "1mm", "--edge", "reflect", affine=affine)
    assert results["steps"][0]["radius_voxels"] == [2, 1, 0], "the axis of thick slices is left out"
    assert np.array_equal(got, ndimage.median_filter(array, [5, 3, 1], mode="reflect"))
    got, _ = run(tmp_path, array, "--gradient", "1.5mm", "--edge", "reflect", affine=affine)
    parts = [
        ndimage.gaussian_filter(array.astype(float), [3, 1.5, 0.5], order=np.eye(3, dtype=int)[a], mode="reflect") / s
        for a, s in enumerate((0.5, 1, 3))
    ]
    close(got, np.sqrt(sum(p * p for p in parts)), 2000)


def test_a_chain_runs_in_the_order_given(tmp_path):
    array = random_array(np.random.default_rng(8), (14, 11, 6), np.int16)
    smooth = ndimage.gaussian_filter(array.astype(float), 1, mode="nearest")
    first, _ = run(tmp_path, array, "--window", "-500,500", "--gaussian", "1vox", "--edge", "nearest")
    close(first, ndimage.gaussian_filter(np.clip(array, -500, 500).astype(float), 1, mode="nearest"), 3000)
    last, _ = run(tmp_path, array, "--gaussian", "1vox", "--window", "-500,500", "--edge", "nearest")
    close(last, np.clip(smooth, -500, 500), 3000)
    twice, results = run(tmp_path, array, "--median", "1", "--scale", "2,10", "--median=1,0,0", "--cast", "int32")
    assert [s["step"] for s in results["steps"]] == ["median", "scale", "median", "cast"]
    assert twice.dtype == np.int32
    assert results["type"] == "int32"


def test_percentiles_are_numpys(tmp_path):
    array = random_array(np.random.default_rng(9), (21, 17, 5), np.float32)
    array[3, 3, 3] = np.inf
    data = array[np.isfinite(array)].astype(np.float64)
    got, results = run(tmp_path, array, "--window", "1%,99%")
    limits = np.percentile(data, [1, 99])
    assert np.allclose(results["steps"][0]["window"], limits, rtol=1e-12)
    assert got[3, 3, 3] == np.inf
    close(got[np.isfinite(array)], np.clip(data, *limits), 1000)


def test_scaled_images_are_filtered_as_values(tmp_path):
    array = random_array(np.random.default_rng(10), (9, 9, 9), np.int16)
    values = array * 0.5 - 1024.0
    got, _ = run(tmp_path, array, "--median", "1", "--edge", "reflect", scale=(0.5, -1024))
    assert got.dtype == np.float32
    assert np.array_equal(got, ndimage.median_filter(values, 3, mode="reflect").astype(np.float32))
    got, _ = run(tmp_path, array, "--cast", "int32", scale=(0.5, -1024))
    assert np.array_equal(got, np.rint(values).astype(np.int32))


def test_slices_are_images_of_their_own(tmp_path):
    array = random_array(np.random.default_rng(11), (12, 10, 7), np.float32)
    got, _ = run(tmp_path, array, "--gaussian", "2vox", "--slices", "z", "--edge", "reflect")
    close(got, ndimage.gaussian_filter(array.astype(float), [2, 2, 0], mode="reflect"), 1000)
    got, _ = run(tmp_path, array, "--median", "1", "--slices", "x", "--edge", "reflect")
    assert np.array_equal(got, ndimage.median_filter(array, [1, 3, 3], mode="reflect"))


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_every_frame_is_filtered_by_itself(tmp_path, suffix):
    series = random_array(np.random.default_rng(12), (9, 8, 5, 4), np.int16)
    image = nibabel.Nifti1Image(series, AFFINE, dtype=np.int16)
    image.header.set_zooms((1.5, 1.5, 2.5, 0.8))
    image.header.set_xyzt_units("mm", "sec")
    nibabel.save(image, tmp_path / f"in{suffix}")
    good("filter", f"in{suffix}", "-o", f"out{suffix}", "--median", "1", "--report", "r.json", cwd=tmp_path)
    out = nibabel.load(tmp_path / f"out{suffix}")
    assert out.shape == series.shape
    assert out.header.get_zooms()[3] == pytest.approx(0.8)
    for f in range(4):
        good("filter", f"in{suffix}", "-o", "one.nii", "--median", "1", "--frame", f, "--force", cwd=tmp_path)
        assert np.array_equal(load(tmp_path / "one.nii"), np.asanyarray(out.dataobj)[..., f])
    report = json.loads((tmp_path / "r.json").read_text())
    assert len(report["results"]["frames"]) == 4
    assert report["inputs"][0]["frame"] == "all"


def test_several_channels_and_frames(tmp_path):
    both = random_array(np.random.default_rng(13), (6, 5, 4, 3, 2), np.float32)  # x, y, z, time, channel
    nibabel.save(nibabel.Nifti1Image(both, AFFINE), tmp_path / "in.nii")
    good("filter", "in.nii", "-o", "out.nii", "--box", "1", "--edge", "reflect", cwd=tmp_path)
    out = load(tmp_path / "out.nii")
    assert out.shape == both.shape
    close(out, ndimage.uniform_filter(both.astype(float), [3, 3, 3, 1, 1], mode="reflect"), 1000)
    good("filter", "in.nii", "-o", "one.nii", "--box", "1", "--edge", "reflect", "--channel", "1", cwd=tmp_path)
    assert np.array_equal(load(tmp_path / "one.nii"), out[..., 1])
    none = lobule("filter", "in.nii", "-o", "no.nii", "--box", "1", "--channel", "2", cwd=tmp_path)
    assert_one_line(none, 65, "channel 2")
    assert_one_line(lobule("filter", "in.nii", "-o", "no.png", "--box", "1", cwd=tmp_path), 65, "3 frames")


def test_colours(tmp_path):
    rgb = np.zeros((9, 7, 3), dtype=[("R", "u1"), ("G", "u1"), ("B", "u1")])
    random = np.random.default_rng(14)
    for name in "RGB":
        rgb[name] = random.integers(0, 256, rgb.shape)
    nibabel.save(nibabel.Nifti1Image(rgb, np.eye(4)), tmp_path / "in.nii")
    luminance = 0.299 * rgb["R"] + 0.587 * rgb["G"] + 0.114 * rgb["B"]
    good("filter", "in.nii", "-o", "gray.nii", "--gray", cwd=tmp_path)
    close(load(tmp_path / "gray.nii"), luminance, 255)
    good("filter", "in.nii", "-o", "soft.nii", "--desaturate", "0.25", "--cast", "uint8", cwd=tmp_path)
    soft = load(tmp_path / "soft.nii")
    for name in "RGB":
        exact = 0.75 * rgb[name] + 0.25 * luminance
        assert np.abs(soft[name] - exact).max() <= 0.5001


def test_the_header_is_kept(tmp_path):
    array = random_array(np.random.default_rng(15), (9, 8, 5), np.int16)
    run(tmp_path, array, "--gaussian", "1mm", affine=AFFINE)
    before, after = nibabel.load(tmp_path / "in.nii").header, nibabel.load(tmp_path / "out.nii").header
    for field in ("pixdim", "qform_code", "sform_code", "srow_x", "srow_y", "srow_z", "xyzt_units", "descrip"):
        assert np.array_equal(before[field], after[field]), field
    assert after.get_data_dtype() == np.float32


def test_less_memory_gives_the_same(tmp_path):
    array = random_array(np.random.default_rng(16), (64, 64, 200), np.float32)
    options = ["--median", "1", "--gaussian", "1vox", "--median", "1"]
    whole, results = run(tmp_path, array, *options)
    assert results["working_bytes"] <= 12 * array.size
    less, results = run(tmp_path, array, *options, "--max-memory", "8200000", "--threads", "2")
    assert np.array_equal(whole, less)
    assert results["working_bytes"] < 1700000


BAD = [
    ([], 64, "no step is given"),
    (["--median", "x"], 64, "--median"),
    (["--median", "1.5"], 64, "whole number"),
    (["--median", "1,2"], 64, "one for each axis"),
    (["--median", "1,2,3,4"], 64, "one for each axis"),
    (["--gaussian", "-1"], 64, "at least 0"),
    (["--gaussian", "1foo"], 64, "unknown unit"),
    (["--gaussian", "5000vox"], 64, "0 to 1000"),
    (["--window", "3,1"], 64, "wrong way round"),
    (["--window", "1%,99"], 64, "mixes"),
    (["--window", "1%,101%"], 64, "at most 100"),
    (["--scale", "1"], 64, "two numbers"),
    (["--scale", "1,inf"], 64, "two numbers"),
    (["--desaturate", "2"], 64, "at most 1"),
    (["--cast", "int12"], 64, "no voxel type"),
    (["--denoise", "0"], 64, "above 0"),
    (["--box", "1", "--edge", "zero"], 64, "--edge"),
    (["--box", "1", "--edge", "constant=x"], 64, "not a number"),
    (["--gray"], 65, "three channels"),
    (["--box", "1", "--mask", "none.nii"], 66, "none.nii"),
]


@pytest.mark.parametrize("options, code, part", BAD, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_refused(folder, options, code, part):
    assert_one_line(lobule("filter", "image.nii", "-o", "out.nii", *options, cwd=folder), code, part)
    assert not (folder / "out.nii").exists()
