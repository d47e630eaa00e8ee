"""Shape columns of region tables against scikit-image, SciPy, ITK and the definitions."""

import json
import os

import nibabel
import numpy as np
import pytest
import SimpleITK
from conftest import SHARED, assert_one_line, good, load, lobule, save
from scipy import ndimage
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist
from skimage.measure import euler_number, regionprops

CASES = int(os.environ.get("LOBULE_SHAPE_CASES", "3" if os.environ.get("LOBULE_SANITIZED") else "12"))


def regions(seed):
    """Labels of many forms on a grid of any spacing, in space or in a picture; numbers with gaps."""
    random = np.random.default_rng(seed)
    shape = [(17, 13, 11), (23, 19, 1), (1, 19, 23), (31, 7, 5), (9, 1, 14), (1, 1, 12)][seed % 6]
    kind = random.integers(4)
    noise = random.random(shape)
    if kind == 0:  # scattered voxels: holes, tunnels, contacts at corners
        labels = random.integers(0, 4, shape)
    elif kind == 1:  # blobs
        labels = ndimage.label(ndimage.gaussian_filter(noise, 1) > ndimage.gaussian_filter(noise, 1).mean())[0]
    elif kind == 2:  # boxes and single voxels
        labels = np.zeros(shape, int)
        for i in range(8):
            at = [sorted(random.integers(0, side + 1, 2)) for side in shape]
            labels[tuple(slice(a, b) for a, b in at)] = i + 1
        labels[tuple(random.integers(0, side) for side in shape)] = 20
    else:  # cells around points
        points = random.random((12, 3)) * shape
        places = np.stack(np.indices(shape), -1)[..., None, :]
        labels = ((places - points) ** 2).sum(-1).argmin(-1) * (noise > 0.05)
    return (labels * 3).astype(np.int32)


def affine_of(seed):
    random = np.random.default_rng(seed + 500)
    spacing = [(1, 1, 1), (0.7, 0.7, 3), (0.5, 1.25, 2)][seed % 3]
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0] if seed % 2 else np.eye(3)
    affine = np.eye(4)
    affine[:3, :3] = turn * spacing
    affine[:3, 3] = random.normal(size=3) * 50
    return affine


def table(folder, labels, affine, columns="all", image=None, *options):
    save(labels, folder / "labels.nii", affine=affine)
    save(np.zeros(labels.shape, np.uint8) if image is None else image, folder / "image.nii", affine=affine)
    done = good("stats", "image.nii", "labels.nii", "--table", "t.json", "--force", "--columns", columns, *options,
                cwd=folder)  # fmt: skip
    assert not done.stderr
    return {row["label"]: row for row in json.loads((folder / "t.json").read_text())}


def face_middles(mask, affine):
    """Where lines along the axes enter the voxels, in mm, of a picture without its flat axis."""
    at = np.argwhere(mask)
    points = []
    for axis in range(3):
        if mask.shape[axis] == 1:
            continue
        for sign in (-0.5, 0.5):
            points.append(at + sign * np.eye(3)[axis])
    return np.concatenate(points) @ affine[:3, :3].T


def corners(mask):
    at = np.argwhere(mask)
    return np.concatenate([at + np.array(c) - 0.5 for c in np.ndindex(2, 2, 2)])


def approx(value):
    return pytest.approx(value, rel=1e-5, abs=1e-6)


def check_row(row, mask, affine, spacing):
    flat = [axis for axis in range(3) if mask.shape[axis] == 1]
    cell = np.prod([spacing[a] for a in range(3) if a not in flat[:1]]) if len(flat) < 2 else None
    n = mask.sum()
    at = np.argwhere(mask)
    assert row["extent"] == approx(n / np.prod(np.ptp(at, axis=0) + 1))
    # moments
    covariance = np.cov(at @ affine[:3, :3].T, rowvar=False, bias=True) if n > 1 else np.zeros((3, 3))
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    axes = 2 if flat else 3
    lengths = (4 if flat else np.sqrt(20)) * np.sqrt(values[:axes])
    for i in range(axes):
        assert row[f"axis_{i + 1}_mm"] == pytest.approx(lengths[i], rel=1e-4, abs=1e-4 * max(lengths[0], 1))
        others = np.delete(values, i)
        if np.abs(others - values[i]).min() > 1e-3 * max(values[0], 1e-9):
            direction = np.array([row[f"axis_{i + 1}_{c}"] for c in "xyz"])
            assert abs(direction @ vectors[:, i]) == approx(1)
            assert np.linalg.norm(direction) == approx(1)
    if lengths[1] > 1e-3 * spacing.min():
        assert row["elongation"] == pytest.approx(lengths[0] / lengths[1], rel=1e-3)
    if len(flat) >= 2:
        return
    # borders
    assert row["euler_number"] == euler_number(np.squeeze(mask, flat[0]) if flat else mask, axes)
    # hulls: voxels as boxes
    hull = ConvexHull(corners(mask))
    assert row["solidity"] == approx(n / hull.volume)
    assert row["hull_area_mm2" if flat else "hull_volume_mm3"] == approx(hull.volume * cell)
    assert row["feret_diameter_mm"] == approx(pdist(face_middles(mask, affine)).max())


@pytest.mark.parametrize("seed", range(CASES))
def test_definitions(tmp_path, seed):
    labels, affine = regions(seed), affine_of(seed)
    image = np.random.default_rng(seed).normal(size=labels.shape).astype(np.float32)
    image[np.random.default_rng(seed + 1).random(labels.shape) < 0.02] = np.nan
    image.flat[0] = 3.0
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    save(labels, tmp_path / "labels.nii", affine=affine)
    save(image, tmp_path / "image.nii", affine=affine)
    good("stats", "image.nii", "labels.nii", "--table", "t.json", "--columns", "all", "--threads", 1 + seed % 3,
         cwd=tmp_path)  # fmt: skip
    rows = {row["label"]: row for row in json.loads((tmp_path / "t.json").read_text())}
    assert sorted(rows) == sorted(set(np.unique(labels)) - {0})
    for label, row in rows.items():
        mask = labels == label
        check_row(row, mask, affine, spacing)
        values = image[mask & np.isfinite(image)].astype(float)
        for name, percent in (("p5", 5), ("p25", 25), ("median", 50), ("p75", 75), ("p95", 95)):
            if values.size:
                assert row[name] == pytest.approx(np.percentile(values, percent), rel=1e-9, abs=1e-12)
            else:
                assert row[name] is None
        counts = mask.sum(axis=(0, 1))
        if 1 not in labels.shape:
            area = spacing[0] * spacing[1]
            assert row["slices"] == (counts > 0).sum()
            assert row["slice_area_max_mm2"] == approx(counts.max() * area)
            assert row["slice_area_max_at"] == counts.argmax()
            assert row["slice_area_mean_mm2"] == approx(counts[counts > 0].mean() * area)
        grown = ndimage.binary_dilation(mask)
        assert row["neighbours"] == len(set(np.unique(labels[grown])) - {0, label})


@pytest.mark.parametrize("seed", range(CASES))
def test_scikit_image(tmp_path, seed):
    """What scikit-image has under the same definition, at its own spacing."""
    labels = regions(seed)
    spacing = np.array([(1, 1, 1), (0.7, 0.7, 3), (0.5, 1.25, 2)][seed % 3])
    rows = table(tmp_path, labels, np.diag([*spacing, 1]), "all")
    flat = [axis for axis in range(3) if labels.shape[axis] == 1]
    if len(flat) > 1:
        return
    kept = [a for a in range(3) if a not in flat]
    for region in regionprops(np.squeeze(labels), spacing=spacing[kept]):
        row = rows[region.label]
        assert row["extent"] == approx(region.extent)
        assert row["euler_number"] == region.euler_number
        assert row["equivalent_diameter_mm"] == approx(region.equivalent_diameter_area)
        assert row["axis_1_mm"] == pytest.approx(region.axis_major_length, rel=1e-4, abs=1e-3)
        if flat and spacing[kept[0]] == spacing[kept[1]]:
            assert row["perimeter_mm"] == pytest.approx(region.perimeter_crofton, rel=1e-4)


@pytest.mark.parametrize("seed", [s for s in range(3 * CASES) if s % 6 in (0, 3) and s % 3 == 0])
def test_surface_of_itk(tmp_path, seed):
    """ITK's label shapes take the same lines; its shares of the sphere are those of even spacing."""
    labels = regions(seed)
    rows = table(tmp_path, labels, np.eye(4), "surface,sphericity,elongation,flatness")
    itk = SimpleITK.LabelShapeStatisticsImageFilter()
    itk.Execute(SimpleITK.GetImageFromArray(labels.T))
    for label, row in rows.items():
        assert row["surface_mm2"] == pytest.approx(itk.GetPerimeter(int(label)), rel=1e-6)
        assert row["sphericity"] == pytest.approx(itk.GetRoundness(int(label)), rel=1e-6)


@pytest.mark.parametrize("spacing", [(1, 1, 1), (0.5, 0.5, 2), (1, 2, 0.7)])
def test_a_ball_is_a_ball(tmp_path, spacing):
    """At any spacing its surface is within 2 %, its axes are within 2 %, and it is convex."""
    radius = 12.0
    shape = [int(2 * radius / s) + 5 for s in spacing]
    middle = [(n - 1) / 2 * s for n, s in zip(shape, spacing)]
    places = np.stack(np.indices(shape), -1) * spacing
    ball = (((places - middle) ** 2).sum(-1) <= radius**2).astype(np.uint8)
    row = table(tmp_path, ball, np.diag([*spacing, 1]), "shape")[1]
    assert row["surface_mm2"] == pytest.approx(4 * np.pi * radius**2, rel=0.02)
    assert row["sphericity"] == pytest.approx(1, rel=0.02)
    assert row["equivalent_diameter_mm"] == pytest.approx(2 * radius, rel=0.01)
    assert [row[f"axis_{i}_mm"] for i in (1, 2, 3)] == pytest.approx([2 * radius] * 3, rel=0.02)
    assert row["elongation"] == pytest.approx(1, rel=0.02) and row["solidity"] > 0.84 and row["euler_number"] == 1


def test_a_cylinder_lies_along_its_axis(tmp_path):
    """Directions are of the world, whichever way the voxels run."""
    x, y, z = np.indices((40, 15, 15))
    rod = ((y - 7) ** 2 + (z - 7) ** 2 <= 16).astype(np.uint8)
    affine = np.array([[0, 0, 2.0, 5], [-1.0, 0, 0, 3], [0, 1, 0, 0], [0, 0, 0, 1]])
    row = table(tmp_path, rod, affine, "axes,directions")[1]
    assert list(row) == ["label", "axis_1_mm", "axis_2_mm", "axis_3_mm"] + [f"axis_{i}_{c}" for i in (1, 2, 3) for c in "xyz"]
    assert [row[f"axis_1_{c}"] for c in "xyz"] == pytest.approx([0, 1, 0], abs=1e-9)
    assert [row[f"axis_2_{c}"] for c in "xyz"] == pytest.approx([1, 0, 0], abs=1e-9)


def test_real_labels(tmp_path):
    path = SHARED / "data" / "totalsegmentator" / "example_seg.nii.gz"
    if not path.is_file():
        pytest.skip(f"no file {path}: set LOBULE_SHARED")
    labels = load(path).astype(np.int32)
    affine = nibabel.load(path).affine
    rows = table(tmp_path, labels, affine, "shape")
    small = [r for r in regionprops(labels) if 50 < r.area < 4000][: 2 if os.environ.get("LOBULE_SANITIZED") else 10]
    for region in small:
        box = tuple(slice(max(s.start - 1, 0), s.stop + 1) for s in region.slice)
        check_row(rows[region.label], labels[box] == region.label, affine, np.linalg.norm(affine[:3, :3], axis=0))


# ---- choosing columns ---------------------------------------------------------------------------


def header(folder, *options):
    return good("stats", "image.nii", "labels.nii", *options, cwd=folder).stdout.splitlines()[0].split("\t")


def test_choosing(tmp_path):
    table(tmp_path, regions(0), affine_of(0))
    default = header(tmp_path)
    assert header(tmp_path, "--columns", "basic") == default and len(default) == 20
    assert header(tmp_path, "--columns", "volume,sphericity,volume") == ["label", "volume_mm3", "sphericity"]
    assert header(tmp_path, "--columns", "sphericity,bbox_x_min") == ["label", "sphericity", "bbox_x_min"]
    everything = header(tmp_path, "--columns", "all")
    assert everything[:20] == default and len(everything) == len(set(everything))
    whole = good("stats", "image.nii", "labels.nii", cwd=tmp_path).stdout
    assert good("stats", "image.nii", "labels.nii", "--columns", "basic", cwd=tmp_path).stdout == whole


def test_micrometres(tmp_path):
    """Names and numbers go together."""
    labels = regions(3)
    mm = table(tmp_path, labels, np.diag([1, 2, 3, 1]), "shape")
    um = table(tmp_path, labels, np.diag([1e-3, 2e-3, 3e-3, 1]), "shape")
    for label, row in mm.items():
        for (name, value), (other, tiny) in zip(row.items(), um[label].items()):
            assert other == name.replace("_mm", "_um")
            assert tiny == (None if value is None else pytest.approx(value, rel=1e-5, abs=1e-6))


def test_every_table(tmp_path):
    """components and supervoxels have the columns too, and stats gives the same of their labels."""
    random = np.random.default_rng(1)
    image = ndimage.gaussian_filter(random.random((20, 18, 16)), 1.5)
    save((image * 1000).astype(np.int16), tmp_path / "image.nii", affine=np.diag([1, 1, 2, 1]))
    for name, options in (("components", ["--above", 500, "--image", "image.nii"]), ("supervoxels", ["--size", "6vox"])):
        good(name, "image.nii", "-o", "labels.nii", "--table", "own.tsv", "--columns", "all", "--force", *options, cwd=tmp_path)
        text = good("stats", "image.nii", "labels.nii", "--columns", "all", cwd=tmp_path).stdout
        assert (tmp_path / "own.tsv").read_text() == text


def test_same_bytes_at_any_threads(tmp_path):
    table(tmp_path, regions(0), affine_of(0))
    texts = {good("stats", "image.nii", "labels.nii", "--columns", "all", "--threads", threads, cwd=tmp_path).stdout
             for threads in (1, 2, 3, 8)}  # fmt: skip
    assert len(texts) == 1


def test_no_labels(tmp_path):
    save(np.zeros((4, 5, 6), np.uint8), tmp_path / "a.nii")
    assert len(good("stats", "a.nii", "a.nii", "--columns", "all", cwd=tmp_path).stdout.splitlines()) == 1


BAD = [
    (["stats", "a.nii", "a.nii", "--columns", "volume,roundness"], 64, "there is no 'roundness'; there are basic, shape, all, voxels"),
    (["stats", "a.nii", "a.nii", "--columns", ""], 64, "must not be empty"),
    (["stats", "a.nii", "a.nii", "--columns", "all,"], 64, "there is no ''"),
    (["components", "a.nii", "-o", "b.nii", "--columns", "all"], 64, "add --table"),
    (["supervoxels", "a.nii", "-o", "b.nii", "--size", "4vox", "--columns", "all"], 64, "add --table"),
    (["components", "a.nii", "-o", "b.nii", "--equal", "--label-of", "input", "--table", "t.tsv", "--columns", "surface"], 65,
     "t.tsv: these columns need the labels in memory"),
    (["stats", "a.nii", "a.nii", "--columns", "hull", "--max-memory", "1KiB"], 75, "memory"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, code, words", BAD)
def test_refused(tmp_path, arguments, code, words):
    save(regions(0), tmp_path / "a.nii")
    assert_one_line(lobule(*arguments, cwd=tmp_path), code, words)
    assert not (tmp_path / "b.nii").exists() and not (tmp_path / "t.tsv").exists()
