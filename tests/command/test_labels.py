"""lobule labels against scipy.ndimage, scikit-image and numpy: label by label, chain by chain."""

import json

import numpy as np
import pytest
from conftest import AFFINE, assert_one_line, cases, good, load, lobule, refused, save
from in_process import PLAIN, SPACINGS as ANY_SPACINGS, in_process, package, random_shape
from scipy import ndimage
from skimage.segmentation import expand_labels
from test_nrrd import segmentation

CASES = len(cases(40))
SHAPES = [(7, 11, 5), (1, 13, 3), (17, 1, 1), (2, 3, 31), (23, 19, 11), (1, 1, 1), (31, 29, 2), (40, 17, 13)]
SPACINGS = [(1, 1, 1), (1, 1, 1), (0.75, 0.75, 2.5), (2, 1, 0.5)]


def affine_of(spacing):
    return np.diag([*spacing, 1.0])


def make(seed):
    """Blobs of a few labels with holes and specks, and their spacing."""
    random = np.random.default_rng(seed)
    shape, spacing = SHAPES[seed % len(SHAPES)], SPACINGS[seed % len(SPACINGS)]
    smooth = ndimage.gaussian_filter(random.normal(size=shape), 1.2)
    numbers = np.array([0, 0, 3, 9, 200 if seed % 2 else 40000, 7])
    labels = numbers[np.digitize(smooth, np.quantile(smooth, [0.2, 0.4, 0.55, 0.7, 0.85]))]
    labels[random.random(shape) < 0.04] = 0
    return labels.astype(np.int32), spacing


def run(folder, labels, *steps, spacing=(1, 1, 1), more=()):
    """Labels and report of one run; the CPU's, at two numbers of threads, are the same bytes."""
    save(labels, folder / "in.nii", affine=affine_of(spacing))
    base = ["labels", "in.nii", "--force", "--quiet", "--device", "cpu", *map(str, steps), *more]
    good(*base, "-o", "out.nii", "--report", "report.json", "--threads", "2", cwd=folder)
    good(*base, "-o", "again.nii", "--threads", "1", cwd=folder)
    assert (folder / "out.nii").read_bytes() == (folder / "again.nii").read_bytes()
    return load(folder / "out.nii"), json.loads((folder / "report.json").read_text())["results"]


def pieces(mask):
    return ndimage.label(np.ascontiguousarray(mask.T), np.ones((3, 3, 3)))[0].T


def sizes_of(found):
    return np.bincount(found.ravel())[1:]


# ---- tables ----


def test_keep_drop_merge_and_map(tmp_path):
    labels = np.arange(60, dtype=np.uint8).reshape(5, 4, 3) % 13
    (tmp_path / "table.tsv").write_text("from\tto\n2\t70000\n3\t0\n\n# nothing\n11\t2\n")
    (tmp_path / "table.csv").write_text("2,70000\r\n3,0\r\n11,2\r\n")
    (tmp_path / "semicolons.csv").write_text("2;70000\r\n3;0\r\n11;2\r\n")
    (tmp_path / "excel.csv").write_text('\ufeff"2","70000","a, \"\"b\"\""\r\n3, 0\r\n"11",2\r\n', encoding="utf-8")
    keep, _ = run(tmp_path, labels, "--keep", "2,5-7")
    assert np.array_equal(keep, np.where(np.isin(labels, [2, 5, 6, 7]), labels, 0))
    drop, _ = run(tmp_path, labels, "--drop", "5-7,2,6")
    assert np.array_equal(drop, np.where(np.isin(labels, [2, 5, 6, 7]), 0, labels))
    merged, report = run(tmp_path, labels, "--merge", "1,4-6=4")
    assert np.array_equal(merged, np.where(np.isin(labels, [1, 4, 5, 6]), 4, labels))
    assert [1, 4] in report["steps"][0]["became"] and [12, 12] in report["steps"][0]["became"]
    want = labels.astype(np.int64)
    want[labels == 2], want[labels == 3], want[labels == 11] = 70000, 0, 2
    for table in ("table.tsv", "table.csv", "semicolons.csv", "excel.csv"):
        got, _ = run(tmp_path, labels, "--map", table)
        assert np.array_equal(got, want)


def test_steps_go_in_the_order_given(tmp_path):
    labels = np.zeros((9, 1, 1), np.uint8)
    labels[:, 0, 0] = [5, 0, 5, 5, 0, 9, 9, 9, 0]
    first, _ = run(tmp_path, labels, "--merge", "5=9", "--largest", 1)
    second, _ = run(tmp_path, labels, "--largest", 1, "--merge", "5=9")
    assert first[:, 0, 0].tolist() == [0, 0, 0, 0, 0, 9, 9, 9, 0]
    assert second[:, 0, 0].tolist() == [0, 0, 9, 9, 0, 9, 9, 9, 0]


def test_report_follows_labels_through_the_chain(tmp_path):
    labels, spacing = make(12)
    _, report = run(tmp_path, labels, "--split", "--min-size", "4vox", "--sequential", spacing=spacing)
    split, small, sequential = report["steps"]
    assert [to for _, to in split["became"]] == list(range(1, split["pieces"] + 1))
    assert {origin for origin, _ in split["became"]} == set(np.unique(labels)) - {0}
    assert small["pieces"] == split["pieces"] and small["labels"] == small["pieces_kept"]
    assert [to for _, to in sequential["became"]] == list(range(1, sequential["labels"] + 1))


# ---- pieces ----


@pytest.mark.parametrize("seed", range(0, CASES, 2))
def test_pieces_against_scipy(seed, tmp_path):
    labels, spacing = make(seed)
    count, least = 1 + seed % 3, 2 + seed % 9
    largest, small = np.zeros_like(labels), np.zeros_like(labels)
    for label in np.unique(labels[labels > 0]):
        found = pieces(labels == label)
        sizes = sizes_of(found)
        order = sorted(range(len(sizes)), key=lambda k: (-sizes[k], k))
        largest[np.isin(found, [k + 1 for k in order[:count]])] = label
        small[np.isin(found, [k + 1 for k in range(len(sizes)) if sizes[k] >= least])] = label
    got, _ = run(tmp_path, labels, "--largest", count, spacing=spacing)
    assert np.array_equal(got, largest)
    got, _ = run(tmp_path, labels, "--min-size", f"{least}vox", spacing=spacing)
    assert np.array_equal(got, small)
    mm3 = (least - 0.5) * float(np.prod(spacing))
    got, _ = run(tmp_path, labels, "--min-size", f"{mm3}mm3", spacing=spacing)
    assert np.array_equal(got, small)


@pytest.mark.parametrize("seed", range(1, CASES, 4))
def test_holes_against_scipy(seed, tmp_path):
    """Of one label it is binary_fill_holes; of several, what is filled is what all of them enclose."""
    labels, spacing = make(seed)
    if min(labels.shape) == 1:
        labels = np.ascontiguousarray(np.broadcast_to(labels[:1, :1, :1], (3, 3, 3)))
    one = np.where(labels > 0, 4, 0).astype(np.uint8)
    got, _ = run(tmp_path, one, "--fill-holes", spacing=spacing)
    assert np.array_equal(got > 0, ndimage.binary_fill_holes(one))
    got, _ = run(tmp_path, labels, "--fill-holes", spacing=spacing)
    assert np.array_equal(got > 0, ndimage.binary_fill_holes(labels))
    assert np.array_equal(got[labels > 0], labels[labels > 0])


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_slices_are_images_of_their_own(axis, tmp_path):
    labels, _ = make(4)
    a = "xyz".index(axis)
    steps = ["--largest", 1, "--fill-holes", "--smooth", "1.2vox", "--dilate", "1.5", "--boundary"]
    whole = run(tmp_path, labels, "--boundary", "--dilate", 1, "--median", 1, more=["--slices", axis])[0]
    for k in range(labels.shape[a]):
        one = np.take(labels, [k], axis=a)
        alone = run(tmp_path, np.ascontiguousarray(one), "--boundary", "--dilate", 1, "--median", 1, more=["--slices", axis])[0]
        assert np.array_equal(np.take(whole, [k], axis=a), alone), (axis, k, steps)


# ---- neighbourhoods ----


def gaussian_weights(sigma):
    """The whole weights that the help describes."""
    radius = int(3 * sigma + 0.5)
    tail = np.exp(-0.5 * np.arange(1, radius + 1) ** 2 / sigma**2) if radius else np.zeros(0)
    sums = np.floor(1024 * np.cumsum(tail) / (1 + 2 * tail.sum()) + 0.5)
    half = np.diff(sums, prepend=0)
    return np.concatenate([half[::-1], [1024 - 2 * half.sum()], half])


def weights_of(labels, kernels):
    """Values, ascending, and the weight of each at every voxel: exact, since all numbers are whole."""
    values = np.unique(np.append(labels, 0))
    sums = np.stack([(labels == v).astype(float) for v in values])
    for axis, kernel in enumerate(kernels):
        sums = ndimage.correlate1d(sums, kernel, axis=axis + 1, mode="constant")
    return values, sums


def smooth(labels, sigma):
    values, sums = weights_of(labels, [gaussian_weights(s) for s in sigma])
    result = values[sums.argmax(axis=0)]
    reach = [2 * int(2 * s + 0.5) + 1 for s in sigma]
    lost = (labels > 0) & (result != labels)
    for value in values[values > 0]:
        here = labels == value
        thin = here & lost & ~ndimage.maximum_filter(here & ~lost, reach, mode="constant")
        back = here & lost & ndimage.maximum_filter(thin, reach, mode="constant")
        result = np.where(back, value, result)
    return result


def majority(labels, radius):
    """The label that most voxels around have; ties go to the voxel's own label, then to the smallest."""
    values, sums = weights_of(labels, [np.ones(2 * r + 1) for r in radius])
    own = np.take_along_axis(sums, np.searchsorted(values, labels)[None], axis=0)[0]
    return np.where(own == sums.max(axis=0), labels, values[sums.argmax(axis=0)])


@pytest.mark.parametrize("seed", range(CASES))
def test_smoothing_against_numpy(seed, tmp_path):
    labels, spacing = make(seed)
    mm = [0.5, 1.0, 1.5, 2.0][seed // 3 % 4]
    got, _ = run(tmp_path, labels, "--smooth", f"{mm}mm", spacing=spacing)
    assert np.array_equal(got, smooth(labels, [mm / s for s in spacing]))


@pytest.mark.parametrize("seed", range(0, CASES, 4))
def test_smoothing_is_the_majority_of_real_gaussians(seed, tmp_path):
    """The label chosen has the largest weight of scipy's Gaussian, but for what rounding moves."""
    labels, _ = make(seed)
    got, _ = run(tmp_path, labels, "--smooth", "1.5vox")
    values = np.unique(np.append(labels, 0))
    options = {"sigma": 1.5, "truncate": 3, "mode": "constant"}
    sums = np.stack([ndimage.gaussian_filter((labels == v).astype(float), **options) for v in values])
    chosen = np.take_along_axis(sums, np.searchsorted(values, got)[None], axis=0)[0]
    assert np.all((chosen > sums.max(axis=0) - 0.006) | (got == labels))


@pytest.mark.parametrize("seed", range(0, CASES, 2))
def test_median_against_numpy(seed, tmp_path):
    labels, spacing = make(seed)
    mm = [1, 1.5, 2.5][seed // 2 % 3]
    want = majority(labels, [int(mm / s + 1e-6) for s in spacing])
    got, _ = run(tmp_path, labels, "--median", f"{mm}mm", spacing=spacing)
    assert np.array_equal(got, want)


def test_a_vessel_stays_and_a_speck_of_noise_does_with_it(tmp_path):
    labels = np.zeros((25, 25, 25), np.uint8)
    labels[12, 12, :] = 1
    labels[3:9, 3:9, 3:9] = 2
    for sigma in (0.8, 1, 2, 4):
        got, _ = run(tmp_path, labels, "--smooth", sigma)
        assert np.array_equal(got == 1, labels == 1)
        assert (got == 2).sum() > 0
    assert not (run(tmp_path, labels, "--median", 1)[0] == 1).any()


@pytest.mark.parametrize("seed", range(0, CASES, 2))
def test_growing_against_skimage(seed, tmp_path):
    labels, spacing = make(seed)
    labels[np.random.default_rng(seed).random(labels.shape) < 0.8] = 0
    mm = [1, 1.5, 2.5][seed // 2 % 3]
    want = expand_labels(labels, distance=mm, spacing=spacing)
    got, _ = run(tmp_path, labels, "--expand", mm, spacing=spacing)
    assert np.array_equal(got > 0, want > 0)
    apart = {v: ndimage.distance_transform_edt(labels != v, sampling=spacing) for v in np.unique(labels) if v}
    for v in apart:  # the nearest label, of equally near ones the smallest
        assert np.all(apart[v][got == v] <= np.min([apart[u][got == v] for u in apart], axis=0) + 1e-9)
    alone = (got != want) & (got > 0)
    for v in apart:
        assert np.all(got[alone & (want == v)] < v)


@pytest.mark.parametrize("seed", range(0, CASES, 4))
def test_shrinking_against_scipy(seed, tmp_path):
    labels, spacing = make(seed)
    mm = [1, 1.5, 2.5][seed // 4 % 3]
    want = np.zeros_like(labels)
    for v in np.unique(labels[labels > 0]):
        inside = labels == v
        deep = ndimage.distance_transform_edt(inside, sampling=spacing) > mm + 1e-6 if not inside.all() else inside
        want[inside & deep] = v
    got, _ = run(tmp_path, labels, "--erode", mm, spacing=spacing)
    assert np.array_equal(got, want)


# ---- many small cases, in this process ----


def random_case(seed):
    """Blobs of up to five labels or of one, often sparse, with prime sides; spacing, and a mask or None."""
    random = np.random.default_rng(seed)
    shape = random_shape(random, most=2500)
    smooth = ndimage.gaussian_filter(random.normal(size=shape), random.choice([0, 0.6, 1.2]))
    numbers = np.array([0, 0, 3, 9, 200 if seed % 2 else 40000, 7] if random.random() < 0.6 else [0, 0, 0, 0, 5, 5])
    labels = numbers[np.digitize(smooth, np.quantile(smooth, [0.2, 0.4, 0.55, 0.7, 0.85]))]
    labels[random.random(shape) < random.choice([0, 0.04, 0.9])] = 0
    mask = random.random(shape) < 0.6 if random.random() < 0.3 else None
    return random, labels.astype(np.int32), ANY_SPACINGS[random.integers(len(ANY_SPACINGS))], mask


def ball(radius, spacing):
    """The offsets of voxels whose centres lie within the radius, for scipy."""
    reach = [int(radius / s * (1 + 1e-6)) for s in spacing]
    away = np.meshgrid(*(np.arange(-r, r + 1) * s for r, s in zip(reach, spacing)), indexing="ij")
    return sum(a * a for a in away) <= (radius * (1 + 1e-6)) ** 2


def eroded(labels, radius, spacing):
    """Each label by scipy; beyond the border labels go on."""
    out = np.zeros_like(labels)
    for v in np.unique(labels[labels > 0]):
        out[ndimage.binary_erosion(labels == v, ball(radius, spacing), border_value=1)] = v
    return out


def dilated(labels, radius, spacing):
    """All labels at once, by scipy: what the union reaches goes to the nearest, of equal ones the smallest."""
    if not labels.any():
        return labels
    values = np.unique(labels[labels > 0])
    apart = np.stack([ndimage.distance_transform_edt(labels != v, sampling=spacing) for v in values])
    nearest = values[(apart <= apart.min(axis=0) * (1 + 1e-9)).argmax(axis=0)]
    grown = ndimage.binary_dilation(labels > 0, ball(radius, spacing))
    return np.where(labels > 0, labels, np.where(grown, nearest, 0))


def closed(labels, radius, spacing):
    """Voxels with a label keep it, which scipy's closing of one label alone gives by itself."""
    found = eroded(dilated(labels, radius, spacing), radius, spacing)
    if len(np.unique(labels[labels > 0])) < 2:
        return found
    return np.where(labels > 0, labels, found)


MORPHOLOGY = {
    "erode": eroded,
    "dilate": dilated,
    "open": lambda labels, *ball: dilated(eroded(labels, *ball), *ball),
    "close": closed,
}


def over_cases(record_property, first, step_of):
    """Labels after the step, and with a mask what the step leaves outside, for many cases."""
    for seed in cases(300):
        random, labels, spacing, mask = random_case(first + seed)
        step, want = step_of(random, labels, spacing)
        covered = None if mask is None else mask.astype(np.uint8)
        got = package.labels(labels, spacing=spacing, mask=covered, **step, **PLAIN)
        want = want if mask is None else np.where(mask, want, labels)
        assert np.array_equal(got, want), f"seed {seed}: {labels.shape}, {spacing}, {step}"
    record_property("cases", len(cases(300)))


@in_process
@pytest.mark.parametrize("kind", MORPHOLOGY)
def test_many_with_scipy_s_ball(record_property, kind):
    def step(random, labels, spacing):
        radius = float(random.choice([0.5, 1, 1.4, 2, 2.5, 3.7, 5]))
        return {kind: radius}, MORPHOLOGY[kind](labels, radius, spacing)

    over_cases(record_property, 1000, step)


@in_process
def test_many_majorities(record_property):
    def step(random, labels, spacing):
        if random.random() < 0.5:
            radius = int(random.integers(1, 4))
            return {"median": radius}, majority(labels, [radius] * 3)
        mm = float(random.choice([1, 1.4, 2.5, 4]))
        return {"median": f"{mm}mm"}, majority(labels, [int(mm / s + 1e-6) for s in spacing])

    over_cases(record_property, 2000, step)


@in_process
def test_many_smoothed(record_property):
    def step(random, labels, spacing):
        mm = float(random.choice([0.4, 0.7, 1, 1.6, 2.3]))
        return {"smooth": mm}, smooth(labels, [mm / s for s in spacing])

    over_cases(record_property, 3000, step)


# ---- properties ----


def test_what_has_been_done_need_not_be_done_again(tmp_path):
    labels, spacing = make(36)
    for step in (["--largest", 1], ["--fill-holes"], ["--sequential"], ["--min-size", 5], ["--open", "1vox"], ["--keep", "3,9"]):
        once, _ = run(tmp_path, labels, *step, spacing=spacing)
        twice, _ = run(tmp_path, once.astype(np.int32), *step, spacing=spacing)
        assert np.array_equal(once, twice), step


def test_other_numbers_give_the_same_shapes(tmp_path):
    labels, spacing = make(28)
    steps = ["--largest", 2, "--smooth", "1mm", "--median", 1, "--fill-holes", "--close", "1.5", "--boundary"]
    values = np.unique(labels)
    other = np.searchsorted(values, labels).astype(np.uint8) * 11  # in the same order, so ties fall alike
    a, _ = run(tmp_path, labels, *steps, spacing=spacing)
    b, _ = run(tmp_path, other, *steps, spacing=spacing)
    assert np.array_equal(np.searchsorted(values, a) * 11, b)


def test_outside_the_mask_labels_stay(tmp_path):
    labels, spacing = make(20)
    mask = np.random.default_rng(3).random(labels.shape) < 0.5
    save(mask.astype(np.uint8), tmp_path / "mask.nii", affine=affine_of(spacing))
    steps = ["--drop", "3", "--smooth", "1mm", "--sequential"]
    free, _ = run(tmp_path, labels, *steps, spacing=spacing)
    got, _ = run(tmp_path, labels, *steps, spacing=spacing, more=["--mask", "mask.nii"])
    assert np.array_equal(got, np.where(mask, free, labels))


def test_no_label_left_is_said(tmp_path):
    save(np.ones((3, 3, 3), np.uint8), tmp_path / "in.nii")
    done = good("labels", "in.nii", "-o", "out.nii", "--drop", "1", cwd=tmp_path)
    assert "no label is left" in done.stderr
    assert not load(tmp_path / "out.nii").any()


def test_names_follow_their_labels(tmp_path):
    layer = np.zeros((9, 3, 2), np.uint8)
    layer[0], layer[2], layer[4], layer[6], layer[8] = 2, 5, 9, 2, 7
    segments = [(name, "1 0 0", value, 0, "") for name, value in [("liver", 2), ("spleen", 5), ("left", 9), ("right", 7)]]
    (tmp_path / "in.seg.nrrd").write_bytes(segmentation([layer], segments))
    rows = [
        (["--sequential"], {"1": "liver", "2": "spleen", "3": "right", "4": "left"}),
        (["--merge", "7,9=7", "--drop", "5"], {"2": "liver", "7": "right"}),
        (["--merge", "7,9=30"], {"2": "liver", "5": "spleen", "30": "right"}),
        (["--split"], {"1": "liver", "2": "spleen", "3": "left", "4": "liver", "5": "right"}),
    ]
    for steps, want in rows:
        good("labels", "in.seg.nrrd", "-o", "out.seg.nrrd", "--force", *steps, cwd=tmp_path)
        head = (tmp_path / "out.seg.nrrd").read_bytes().split(b"\n\n")[0].decode().replace("\r", "")
        fields = dict(line.split(":=", 1) for line in head.splitlines() if ":=" in line)
        count = sum(key.endswith("_LabelValue") for key in fields)
        got = {fields[f"Segment{i}_LabelValue"]: fields[f"Segment{i}_Name"] for i in range(count)}
        assert got == want, steps


# ---- bad usage and bad tables ----

BAD = [
    ("no step", [], 64, ["no step"]),
    ("no list", ["--keep", "a"], 64, ["--keep", "no list"]),
    ("label 0 in a list", ["--drop", "0-3"], 64, ["--drop", "no list"]),
    ("a range that is backwards", ["--keep", "5-2"], 64, ["--keep", "no list"]),
    ("a merge without a label", ["--merge", "1,2"], 64, ["--merge", "2,4-6=9"]),
    ("a merge into 0", ["--merge", "1,2=0"], 64, ["--merge"]),
    ("a merge past int32", ["--merge", "1=3000000000"], 64, ["--merge"]),
    ("no pieces", ["--largest", "0"], 64, ["--largest", "at least 1"]),
    ("a size of nothing", ["--min-size", "0"], 64, ["--min-size"]),
    ("a size in mm", ["--min-size", "5mm"], 64, ["--min-size"]),
    ("a negative radius", ["--erode", "-1"], 64, ["--erode"]),
    ("half a voxel", ["--median", "1.5vox"], 64, ["--median", "whole number"]),
    ("a sigma that reaches too far", ["--smooth", "100vox"], 64, ["in.nii", "at most 250"]),
    ("neighbours of slices in 3D", ["--split", "--neighbours", "8"], 64, ["--neighbours"]),
    ("a table that is not there", ["--map", "none.tsv"], 66, ["none.tsv"]),
    ("a table without lines", ["--map", "empty.tsv"], 65, ["empty.tsv", "FROM,TO"]),
    ("a table of names", ["--map", "words.tsv"], 65, ["words.tsv", "line 2"]),
    ("a table with a fraction", ["--map", "real.csv"], 65, ["real.csv", "line 1"]),
    ("a table of one column", ["--map", "short.csv"], 65, ["short.csv", "line 1"]),
    ("a table that maps 0", ["--map", "zero.csv"], 65, ["zero.csv", "line 1"]),
    ("a label given twice", ["--map", "twice.csv"], 65, ["twice.csv", "label 4"]),
    ("bytes that are no table", ["--map", "bytes.csv"], 65, ["bytes.csv"]),
]


@pytest.mark.parametrize("what, options, code, parts", BAD, ids=[row[0] for row in BAD])
def test_bad_usage(what, options, code, parts, tmp_path):
    save(np.ones((3, 4, 5), np.uint8), tmp_path / "in.nii", affine=AFFINE)
    tables = {
        "empty.tsv": b"from\tto\n# only words\n",
        "words.tsv": b"from\tto\nliver\t4\n",
        "real.csv": b"1.5,2\n",
        "short.csv": b"3\n",
        "zero.csv": b"0,2\n",
        "twice.csv": b"4,2\n5,1\n4,3\n",
        "bytes.csv": b"1,2\n\x00\xff\xfe,\n",
    }
    for name, content in tables.items():
        (tmp_path / name).write_bytes(content)
    refused(tmp_path, ["labels", "in.nii", "-o", "out.nii.gz", *options], code, *parts)


def test_an_image_is_no_label_volume(tmp_path):
    save(np.full((3, 4, 5), 1.5, np.float32), tmp_path / "in.nii")
    done = lobule("labels", "in.nii", "-o", "out.nii", "--largest", "1", cwd=tmp_path)
    assert_one_line(done, 65, "in.nii", "label")


def test_too_little_memory(tmp_path):
    save(np.ones((60, 60, 60), np.uint8), tmp_path / "in.nii")
    done = lobule("labels", "in.nii", "-o", "out.nii", "--largest", "1", "--max-memory", "300KiB", cwd=tmp_path)
    assert_one_line(done, 75, "--max-memory")
    assert not (tmp_path / "out.nii").exists()


def test_boundaries_take_no_memory_of_their_own(tmp_path):
    save(np.ones((60, 60, 60), np.uint8), tmp_path / "in.nii")
    limits = ["--device", "cpu", "--max-memory", "1360KiB"]
    good("labels", "in.nii", "-o", "out.nii", "--boundary", *limits, cwd=tmp_path)
