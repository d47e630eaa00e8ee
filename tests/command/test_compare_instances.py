"""lobule compare --instances against scikit-image and the definitions, and what it refuses."""

import json
import os
from fractions import Fraction

import numpy as np
import pytest
from conftest import SHARED, assert_one_line, good, load, lobule, rows_of, save
from scipy import ndimage
from scipy.optimize import linear_sum_assignment
from skimage.metrics import adapted_rand_error, variation_of_information

CASES = int(os.environ.get("LOBULE_INSTANCE_CASES", "6" if os.environ.get("LOBULE_SANITIZED") else "20"))
THRESHOLDS = [Fraction(k, 100) for k in range(50, 100, 5)]


def cells(shape, count, seed):
    """Cells around random points, with background between them; numbers with gaps."""
    random = np.random.default_rng(seed)
    points = np.stack([random.integers(0, side, count) for side in shape], -1)
    away = ((np.stack(np.indices(shape), -1)[..., None, :] - points) ** 2).sum(-1)
    labels = 3 * (away.argmin(-1).astype(np.int32) + 1)
    labels[away.min(-1) > np.percentile(away.min(-1), random.integers(40, 100))] = 0
    return labels


def disturbed(truth, seed):
    """Another segmentation: moved, some cells split, merged, lost or found."""
    random = np.random.default_rng(seed)
    labels = np.roll(truth, random.integers(-1, 2, truth.ndim), range(truth.ndim))
    numbers = np.unique(labels)[1:]
    mapped = np.arange(labels.max() + 1)
    mapped[numbers] = random.permutation(numbers) * 7 + 1
    for number in numbers:
        draw = random.random()
        if draw < 0.15:
            mapped[number] = mapped[random.choice(numbers)]
        elif draw < 0.25:
            mapped[number] = 0
    labels = mapped[labels]
    for number in np.unique(labels)[1:]:
        if random.random() < 0.3:
            at = np.argwhere(labels == number)
            half = at[at[:, 0] > np.median(at[:, 0])]
            labels[tuple(half.T)] = 40000 + number
    found = (labels == 0) & (truth == 0) & (random.random(truth.shape) < 0.02)
    return np.where(found, 90001, labels).astype(np.int32)


def expected(truth, labels):
    """All scores by their definitions, with matches as the assignment that has most of them."""
    truths, labelled = np.unique(truth[truth > 0]), np.unique(labels[labels > 0])
    pairs, counts = np.unique(np.stack([truth.ravel(), labels.ravel()]), axis=1, return_counts=True)
    common = {(int(t), int(l)): int(n) for (t, l), n in zip(pairs.T, counts)}
    size_t = {int(t): int((truth == t).sum()) for t in truths}
    size_l = {int(l): int((labels == l).sum()) for l in labelled}
    iou = {(t, l): Fraction(n, size_t[t] + size_l[l] - n) for (t, l), n in common.items() if t and l}
    table = np.array([[float(iou.get((int(t), int(l)), 0)) for l in labelled] for t in truths])
    table = table.reshape(len(truths), len(labelled))
    thresholds = []
    for threshold in THRESHOLDS:
        over = np.array([[iou.get((int(t), int(l)), 0) >= threshold for l in labelled] for t in truths])
        over = over.reshape(table.shape)
        rows, columns = linear_sum_assignment(-(over + table * 1e-6))
        taken = [(r, c) for r, c in zip(rows, columns) if over[r, c]]
        m, s = len(taken), sum(table[r, c] for r, c in taken)
        e, f = len(labelled) - m, len(truths) - m
        thresholds.append({"matched": m, "extra": e, "missed": f, "precision": div(m, m + e), "recall": div(m, m + f),
                           "f1": div(2 * m, 2 * m + e + f), "average_precision": div(m, m + e + f),
                           "matched_iou": div(s, m), "panoptic_quality": div(s, m + e / 2 + f / 2)})  # fmt: skip
    inside = {t: [l for l in size_l if 2 * common.get((t, l), 0) > size_l[l]] for t in size_t}
    holds = {l: [t for t in size_t if 2 * common.get((t, l), 0) > size_t[t]] for l in size_l}
    splits = [{"truth": t, "labels": sorted(of)} for t, of in sorted(inside.items()) if len(of) > 1]
    merges = [{"label": l, "truths": sorted(of)} for l, of in sorted(holds.items()) if len(of) > 1]
    return thresholds, splits, merges, common


def div(part, whole):
    return part / whole if whole else None


def close(got, want):
    return got == want if want is None or got is None else got == pytest.approx(want, rel=1e-9, abs=1e-12)


def dense(labels):
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def check_scikit(found, truth, labels):
    """scikit-image wants small numbers; 0 stays 0 as long as it occurs."""
    small = np.where(truth > 0, dense(np.where(truth > 0, truth, 0)), 0) if (truth == 0).any() else dense(truth) + 1
    other = dense(labels)
    with np.errstate(all="ignore"):
        error, recall, precision = adapted_rand_error(small, other)  # its names are exchanged
    if np.isfinite(error):
        assert found["adapted_rand_error"] == pytest.approx(error, rel=1e-9, abs=1e-12)
        assert found["rand_precision"] == pytest.approx(precision, rel=1e-9)
        assert found["rand_recall"] == pytest.approx(recall, rel=1e-9)
    split, merge = variation_of_information(small, other)
    assert found["voi_split"] == pytest.approx(split, rel=1e-9, abs=1e-9)
    assert found["voi_merge"] == pytest.approx(merge, rel=1e-9, abs=1e-9)
    assert found["variation_of_information"] == pytest.approx(split + merge, rel=1e-9, abs=1e-9)
    if small.any():
        split, merge = variation_of_information(small, other, ignore_labels=(0,))
        assert found["voi_split_inside"] == pytest.approx(split, rel=1e-9, abs=1e-9)
        assert found["voi_merge_inside"] == pytest.approx(merge, rel=1e-9, abs=1e-9)


def check(folder, truth, labels, *options):
    save(truth, folder / "truth.nii")
    save(labels, folder / "labels.nii")
    done = good("compare", "--instances", "truth.nii", "labels.nii", "--json", "--table", "pairs.tsv", "--force",
                *options, cwd=folder)  # fmt: skip
    found = json.loads(done.stdout)
    thresholds, splits, merges, common = expected(truth, labels)
    for threshold, got, want in zip(THRESHOLDS, found["thresholds"], thresholds):
        assert got["iou"] == float(threshold)
        for name, value in want.items():
            assert close(got[name], value), (threshold, name, got[name], value)
    assert found["splits"] == splits and found["split_truths"] == len(splits)
    assert found["merges"] == merges and found["merging_instances"] == len(merges)
    check_scikit(found, truth, labels)
    check_pairs(folder / "pairs.tsv", common, found)
    return found


def check_pairs(path, common, found):
    rows = rows_of(path)
    both = {(int(row["truth"]), int(row["label"])): int(row["common_voxels"]) for row in rows
            if "n/a" not in (row["truth"], row["label"])}  # fmt: skip
    assert both == {pair: n for pair, n in common.items() if all(pair)}
    assert sum(row["match"] == "1" for row in rows) == found["thresholds"][0]["matched"]
    lone = {row["truth"] for row in rows if row["label"] == "n/a"}
    assert lone == {str(t) for t, _ in common if t and not any(t == a and b for a, b in common)}
    lone = {row["label"] for row in rows if row["truth"] == "n/a"}
    assert lone == {str(l) for _, l in common if l and not any(l == b and a for a, b in common)}


@pytest.mark.parametrize("seed", range(CASES))
def test_agrees_with_definitions(tmp_path, seed):
    shape = [(17, 13, 11), (23, 19, 1), (1, 19, 23), (31, 7, 5)][seed % 4]
    truth = cells(shape, 5 + seed % 17, seed)
    check(tmp_path, truth, disturbed(truth, seed + 1000), "--threads", 1 + seed % 3)


def line(*values):
    return np.array(values, np.int32)[:, None, None]


SMALL = [
    ("the same under other numbers", line(1, 1, 2, 2, 0), line(9, 9, 4, 4, 0)),
    ("a truth of two halves at exactly .5", line(5, 5, 5, 5, 0), line(2, 2, 1, 1, 0)),
    ("a label of two truths at exactly .5", line(2, 2, 1, 1, 0), line(5, 5, 5, 5, 0)),
    ("an IoU just below .5", line(1, 1, 1, 1, 1), line(1, 1, 0, 0, 0)),
    ("nothing found", line(1, 1, 2, 0), line(0, 0, 0, 0)),
    ("nothing to find", line(0, 0, 0, 0), line(1, 1, 2, 0)),
    ("nothing at all", line(0, 0, 0), line(0, 0, 0)),
    ("no background", line(1, 1, 2), line(3, 4, 4)),
    ("one voxel", line(7), line(2147483647)),
]


@pytest.mark.parametrize("what, truth, labels", SMALL, ids=[row[0] for row in SMALL])
def test_by_hand(tmp_path, what, truth, labels):
    check(tmp_path, truth, labels)


def test_printed_tables(tmp_path):
    truth, labels = line(1, 1, 1, 1, 2, 2, 3, 3, 0), line(4, 4, 4, 0, 6, 6, 6, 6, 7)
    save(truth, tmp_path / "truth.nii")
    save(labels, tmp_path / "labels.nii")
    text = good("compare", "--instances", "truth.nii", "labels.nii", cwd=tmp_path).stdout
    measures, thresholds, merges = (part.splitlines() for part in text.split("\n\n"))
    assert measures[:4] == ["measure\tvalue", "truths\t3", "instances\t3", "split_truths\t0"]
    assert thresholds[1].split("\t")[:5] == ["0.50", "2", "1", "1", "0.666667"]
    assert thresholds[-1].startswith("mean\t")
    assert merges == ["label\ttruths", "6\t2,3"]


def test_same_bytes_at_any_threads(tmp_path):
    truth = cells((23, 19, 11), 40, 3)
    save(truth, tmp_path / "truth.nii")
    save(disturbed(truth, 5), tmp_path / "labels.nii")
    texts = {good("compare", "--instances", "truth.nii", "labels.nii", "--table", "-", "--threads", threads,
                  cwd=tmp_path).stdout for threads in (1, 2, 3, 8)}  # fmt: skip
    assert len(texts) == 1


@pytest.mark.parametrize("stage", [8, 16])
def test_real_cells(tmp_path, stage):
    """Nuclei that are marked by hand against what an opening leaves of them, numbered anew."""
    path = SHARED / "data" / "qcanet-mouse-embryo" / f"{stage}_cell_stage_gt_nuclei_mask.nii.gz"
    if not path.is_file():
        pytest.skip(f"no file {path}: set LOBULE_SHARED")
    mask = load(path) > 0
    truth, labels = (ndimage.label(what)[0].astype(np.int32) for what in (mask, ndimage.binary_opening(mask)))
    found = check(tmp_path, truth, labels)
    assert found["truths"] > stage // 2


BAD = [
    (["--instances", "--strict"], 64, "--strict does not go with --instances"),
    (["--instances", "--values"], 64, "--instances is about labels"),
    (["--instances", "--supervoxels"], 64, "--instances does not go with --supervoxels"),
    (["--instances", "--labels", "3"], 64, "--labels does not go with --instances"),
    (["--instances", "--no-surfaces"], 64, "--no-surfaces does not go with --instances"),
    (["--instances", "--image", "a.nii"], 64, "--image does not go with --instances"),
    (["--supervoxels", "--table", "a.tsv"], 64, "--table does not go with --supervoxels"),
    (["--instances", "--table", "a.txt"], 64, "a.txt: a table is written as"),
    (["--instances", "--table", "no/a.tsv"], 73, "no/a.tsv"),
]


@pytest.mark.parametrize("options, code, words", BAD)
def test_bad_usage(tmp_path, options, code, words):
    save(cells((7, 6, 5), 9, 1), tmp_path / "a.nii")
    assert_one_line(lobule("compare", "a.nii", "a.nii", *options, cwd=tmp_path), code, words)


def test_memory_limit(tmp_path):
    """A label for every voxel: the table of pairs needs more than the voxels."""
    save(np.arange(6000, dtype=np.int32).reshape(10, 20, 30), tmp_path / "a.nii")
    good("compare", "--instances", "a.nii", "a.nii", "--max-memory", "1MiB", cwd=tmp_path)
    done = lobule("compare", "--instances", "a.nii", "a.nii", "--max-memory", "60KiB", cwd=tmp_path)
    assert_one_line(done, 75, "a.nii", "memory")


def test_bad_data(tmp_path):
    sound = cells((7, 6, 5), 9, 1)
    save(sound, tmp_path / "sound.nii")
    save(sound + np.float32(0.5), tmp_path / "half.nii")
    save(sound[:6], tmp_path / "other.nii")
    for name in ("half.nii", "other.nii"):
        assert_one_line(lobule("compare", "--instances", "sound.nii", name, cwd=tmp_path), 65, name)
        assert_one_line(lobule("compare", "--instances", name, "sound.nii", cwd=tmp_path), 65, name)
