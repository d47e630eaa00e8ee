"""lobule fuse: votes of patches against a naive search in numpy, and what is refused."""

import json

import numpy as np
import pytest
from conftest import AFFINE, assert_one_line, cases, good, load, lobule, save
from in_process import in_process, package
from scipy import ndimage

ONE = 65535
STEPS, LAST = 16, 255


def levels(image):
    finite = image[np.isfinite(image)].astype(float)
    low, high = np.percentile(finite, [1, 99])
    unit = 254 / (high - low) if high > low else 0.0
    at = (image.astype(float) - low) * unit
    with np.errstate(invalid="ignore"):
        whole = np.where(at < 254, np.floor(np.where(np.isfinite(at), at, 0) + 1.5), 255)
        return np.where(np.isfinite(at) & (at >= 0), whole, 1).astype(np.int64)


def weights():
    table, weight = np.zeros(LAST + 1, np.int64), 65535.0
    for i in range(LAST):
        table[i] = int(weight + 0.5)
        weight *= 0.93941306281347578611971082462230505
    return table


def patches(level, patch, at):
    """The patch around each voxel, shifted by `at`, edges repeated: (voxels, patch)."""
    reach = patch + max(abs(a) for a in at)
    wide = np.pad(level, reach, mode="edge")
    sides = range(-patch, patch + 1)
    cut = [
        wide[tuple(slice(reach + s + a, reach + s + a + n) for s, a, n in zip((x, y, z), at, level.shape))]
        for x in sides for y in sides for z in sides
    ]  # fmt: skip
    return np.stack(cut, -1)


def shifted(labels, at, outside):
    reach = max(abs(a) for a in at)
    wide = np.pad(labels, reach, constant_values=outside)
    return wide[tuple(slice(reach + a, reach + a + n) for a, n in zip(at, labels.shape))]


def expected(scan, atlases, patch, search, floor, majority=False):
    """Labels and shares, in LOB_FUSE_ONE-ths, as fuse.h says it."""
    values = sorted({int(v) for _, labels in atlases for v in np.unique(labels)} - {0})
    own = patches(levels(scan), patch, (0, 0, 0)) if not majority else None
    voxels = (2 * patch + 1) ** 3
    offsets = range(0, 1) if majority else range(-search, search + 1)
    seen = []  # atlas, distance, label at each voxel
    for a, (image, labels) in enumerate(atlases):
        there = labels.astype(np.int64)
        if not majority:
            there = np.where(np.isfinite(image), there, -1)
        for z in offsets:
            for y in offsets:
                for x in offsets:
                    distance = np.zeros(scan.shape, np.int64)
                    if not majority:
                        other = patches(levels(image), patch, (x, y, z))
                        apart = own.sum(-1) - other.sum(-1)
                        distance = voxels * ((own - other) ** 2).sum(-1) - apart**2
                    seen.append((a, distance, shifted(there, (x, y, z), -1)))
    nothing = 2**32 - 1
    least = np.min([np.where(label >= 0, d, nothing) for _, d, label in seen], 0)
    unit = np.float32(STEPS) / np.maximum(least.astype(np.float32) + np.float32(floor * voxels * voxels), np.float32(1))
    table = weights()
    votes = np.zeros((len(values) + 1, len(atlases), *scan.shape), np.int64)
    for a, d, label in seen:
        at = np.zeros(scan.shape, np.float32) if majority else d.astype(np.float32) * unit
        w = np.where(label >= 0, table[np.minimum(at, LAST).astype(int)], 0)
        for k, value in enumerate([0, *values]):
            votes[k, a] += np.where(label == value, w, 0)
    shares = np.zeros((len(values), *scan.shape), np.int64)
    for k, value in enumerate(values):
        have = [a for a, (_, labels) in enumerate(atlases) if (labels == value).any()]
        of = votes[:, have].sum((0, 1))
        shares[k] = np.where(of > 0, votes[k + 1].sum(0) * ONE // np.maximum(of, 1), 0)
    total = shares.sum(0)
    shares = np.where(total > ONE, shares * ONE // np.maximum(total, 1), shares)
    total = np.minimum(total, ONE)
    winner = np.argmax(np.concatenate([(ONE - total)[None], shares]), 0)
    return np.array([0, *values])[winner], shares


def random_case(random):
    shape = tuple(int(side) for side in random.choice([1, 2, 3, 5, 7, 11], 3))
    scan = ndimage.gaussian_filter(random.normal(size=shape), 0.7) * 400
    if np.ptp(scan) == 0:
        scan.flat[0] += 5
    atlases = []
    for a in range(int(random.integers(1, 4))):
        image = (scan + random.normal(size=shape) * 60 + 100 * a).astype(np.float32)
        labels = random.choice([0, 0, 3, 7, 300], shape).astype(np.int16)
        labels.flat[0] = 7
        if random.random() < 0.5:
            image[random.random(shape) < 0.2] = np.nan
            image.flat[-1] = 1
        if random.random() < 0.3:
            labels[labels == 3] = 0
        atlases.append((image, labels))
    return scan.astype(np.int16), atlases


def written(folder, scan, atlases):
    save(scan, folder / "scan.nii.gz", AFFINE)
    words = []
    for a, (image, labels) in enumerate(atlases):
        save(image, folder / f"a{a}.nii.gz", AFFINE)
        save(labels, folder / f"l{a}.nii.gz", AFFINE)
        words += ["--atlas", f"{folder}/a{a}.nii.gz,{folder}/l{a}.nii.gz"]
    return [folder / "scan.nii.gz", *words]


@pytest.mark.parametrize("seed", cases(24))
def test_agrees_with_numpy(tmp_path, seed):
    random = np.random.default_rng(seed)
    scan, atlases = random_case(random)
    patch, search, floor = int(random.integers(0, 3)), int(random.integers(0, 3)), float(random.choice([0, 16, 300]))
    majority = random.random() < 0.25
    labels, shares = expected(scan, atlases, patch, search, floor, majority)
    good("fuse", *written(tmp_path, scan, atlases), "-o", tmp_path / "out.nii.gz", "--votes", tmp_path / "votes.nii.gz",
         "--patch", patch, "--search", search, "--floor", floor, "--report", tmp_path / "report.json",
         "--method", "majority" if majority else "patches", "--threads", 1 + seed % 3)  # fmt: skip
    assert np.array_equal(load(tmp_path / "out.nii.gz"), labels), (seed, scan.shape)
    found = np.moveaxis(load(tmp_path / "votes.nii.gz").reshape(*scan.shape, -1), -1, 0)
    assert np.array_equal(np.rint(found * ONE), shares), (seed, scan.shape)
    results = json.loads((tmp_path / "report.json").read_text())["results"]
    assert {row["label"]: row["voxels"] for row in results["fused"]} == {
        value: int((labels == value).sum()) for value in np.unique(np.concatenate([a[1].ravel() for a in atlases])) if value
    }  # fmt: skip


def test_what_is_not_finite_has_the_lowest_level(tmp_path):
    random = np.random.default_rng(5)
    scan = random.integers(0, 900, (9, 7, 5)).astype(np.float32)
    labels = (scan > 450).astype(np.int16) * 3
    atlases = [(scan + random.normal(size=scan.shape).astype(np.float32) * 90, labels)]
    for image in (scan, atlases[0][0]):
        for value in (np.inf, -np.inf, np.nan):
            image[random.random(scan.shape) < 0.05] = value
    _, shares = expected(scan, atlases, 1, 1, 16)
    good("fuse", *written(tmp_path, scan, atlases), "-o", tmp_path / "out.nii.gz", "--votes", tmp_path / "votes.nii.gz")
    assert np.array_equal(np.rint(load(tmp_path / "votes.nii.gz").squeeze() * ONE), shares[0])


@pytest.fixture
def pair(tmp_path):
    scan, _ = random_case(np.random.default_rng(1))
    scan = np.resize(scan, (6, 5, 4)) + np.arange(120).reshape(6, 5, 4).astype(np.int16)
    labels = (scan > 60).astype(np.uint8)
    return tmp_path, scan, labels


def test_a_structure_that_is_not_painted_is_not_voted_against(pair):
    folder, scan, labels = pair
    atlases = [(scan.astype(np.float32), labels * 2), (scan.astype(np.float32), labels), (scan.astype(np.float32), labels)]
    good("fuse", *written(folder, scan, atlases), "-o", folder / "out.nii.gz", "--method", "majority")
    assert set(np.unique(load(folder / "out.nii.gz"))) == {0, 1}  # both have all the votes that count: the smaller wins


REFUSED = [
    ("no atlas", lambda f: [], 64, "--atlas IMAGE,LABELS is missing"),
    ("no comma", lambda f: ["--atlas", f / "a0.nii.gz"], 64, "one comma"),
    ("two commas", lambda f: ["--atlas", "a,b,c"], 64, "one comma"),
    ("nothing behind it", lambda f: ["--atlas", "a.nii.gz,"], 64, "one comma"),
    ("no such file", lambda f: ["--atlas", f"{f}/a0.nii.gz,{f}/none.nii.gz"], 66, "none.nii.gz"),
    ("another grid", lambda f: ["--atlas", f"{f}/a0.nii.gz,{f}/other.nii.gz"], 65, "other.nii.gz"),
    ("an output that is an atlas", lambda f: ["--atlas", f"{f}/out.nii.gz,{f}/l0.nii.gz"], 64, "belongs to an atlas"),
    ("labels that are no whole numbers", lambda f: ["--atlas", f"{f}/a0.nii.gz,{f}/half.nii.gz"], 65, "half.nii.gz"),
    ("no labels", lambda f: ["--atlas", f"{f}/a0.nii.gz,{f}/empty.nii.gz"], 65, "no atlas has a label"),
    ("an atlas without a finite value", lambda f: ["--atlas", f"{f}/nan.nii.gz,{f}/l0.nii.gz"], 65, "finite"),
    ("too wide a patch", lambda f: ["--patch", "3", "--atlas", f"{f}/a0.nii.gz,{f}/l0.nii.gz"], 64, "--patch"),
]


@pytest.mark.parametrize("what, words, code, part", REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(pair, what, words, code, part):
    folder, scan, labels = pair
    written(folder, scan, [(scan, labels)])
    save(np.pad(labels, 2), folder / "other.nii.gz", AFFINE + np.eye(4))
    save(labels + np.float32(0.5), folder / "half.nii.gz", AFFINE)
    save(labels * 0, folder / "empty.nii.gz", AFFINE)
    save(np.full(scan.shape, np.nan, np.float32), folder / "nan.nii.gz", AFFINE)
    done = lobule("fuse", folder / "scan.nii.gz", "-o", folder / "out.nii.gz", *words(folder))
    assert_one_line(done, code, part)
    assert not (folder / "out.nii.gz").exists()


@in_process
def test_python_gives_the_same(pair):
    folder, scan, labels = pair
    atlases = [(scan, labels), ((scan + 3).astype(np.float32), np.roll(labels, 1, 0) * 5)]
    good("fuse", *written(folder, scan, atlases), "-o", folder / "out.nii.gz", "--votes", folder / "votes.nii.gz")
    found = package.fuse(scan, atlases, axes="xyz", votes=True)
    assert np.array_equal(found.labels, load(folder / "out.nii.gz"))
    assert np.array_equal(found.votes, load(folder / "votes.nii.gz").reshape(*scan.shape, -1))
