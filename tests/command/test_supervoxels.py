"""lobule supervoxels: every label one piece, what each option does, outputs against numpy and scipy."""

import csv
import hashlib
import json
import os
import re

import h5py
import nibabel
import numpy as np
import pytest
from conftest import AFFINE, SHARED, assert_one_line, cases, good, load, lobule, save
from scipy import ndimage
from skimage import io as pictures
from skimage.segmentation import find_boundaries
from supervoxel_oracle import assert_partition, contacts, means

SHAPE = (31, 23, 13)
SPACING = np.array([1.5, 1.5, 2.5])
AXES = {"x": 0, "y": 1, "z": 2}
GRID = np.diag([1.0, 1.5, 0.75, 1.0])


def blobs(shape=SHAPE, seed=1, channels=1, dtype=np.int16):
    """Smooth hills with noise."""
    random = np.random.default_rng(seed)
    wide = random.normal(size=(*shape, channels))
    hills = np.stack([ndimage.gaussian_filter(wide[..., c], 2.5) for c in range(channels)], -1)
    hills = (hills - hills.min()) / max(np.ptp(hills), 1e-9)
    image = (hills * 200 + random.integers(0, 30, hills.shape)).astype(dtype)
    return image[..., 0] if channels == 1 else image


def stored(image):
    """Channels go where NIfTI has them: along the fifth axis."""
    return image if image.ndim == 3 else np.ascontiguousarray(image[:, :, :, None, :])


def cut(folder, image, *options, out="labels.nii", affine=AFFINE):
    """Labels and report of one run; image is an array or a path."""
    path = save(stored(image), folder / "image.nii", affine=affine) if isinstance(image, np.ndarray) else image
    good("supervoxels", path, "-o", out, "--report", "report.json", "--force", "--quiet", *options, cwd=folder)
    return load(folder / out), json.loads((folder / "report.json").read_text())


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [{k: None if v == "n/a" else float(v) for k, v in row.items()} for row in rows]


# ---- what every output is ----


SHAPES = [(7, 11, 5), (1, 13, 9), (17, 1, 1), (2, 3, 31), (19, 17, 1), (13, 8, 6), (1, 1, 1), (23, 5, 7)]


def random_cases():
    for seed in cases(300):
        random = np.random.default_rng(seed)
        shape = SHAPES[seed % 8]
        channels = (1, 1, 3, 2)[seed // 8 % 4]
        dtype = (np.uint8, np.int16, np.float32, np.uint16)[seed // 3 % 4]
        if seed % 5 == 0:
            image = random.integers(0, 200, (*shape, channels)).astype(dtype)
            image = image[..., 0] if channels == 1 else image
        else:
            image = blobs(shape, seed, channels, dtype)
        data = np.ones(shape, bool)
        options = ["--method", ("slic", "slico", "lsc")[seed % 3], "--iterations", 1 + seed % 6]
        options += ["--count", 1 + seed % 40] if seed % 2 else ["--size", f"{1 + seed % 7}vox"]
        if dtype == np.float32:
            holes = random.random(shape) < 0.1
            image[holes] = (np.nan, np.inf, -np.inf)[seed % 3]
            data &= ~holes
        mask = None
        if seed % 4 == 1:
            mask = (ndimage.gaussian_filter(random.normal(size=shape), 1) > -0.2).astype(np.uint8)
            data &= mask != 0
        if seed % 7 == 3:
            options += ["--range", "40,180"]
            with np.errstate(invalid="ignore"):
                inside = (image >= 40) & (image <= 180)
            data &= inside if inside.ndim == 3 else inside.all(-1)
        axis = None
        if seed % 6 == 2:
            axis = seed // 6 % 3
            options += ["--slices", "xyz"[axis]]
        yield pytest.param(image, mask, data, axis, options, id=str(seed))


@pytest.mark.parametrize("image, mask, data, axis, options", list(random_cases()))
def test_random_volumes(tmp_path, image, mask, data, axis, options):
    if mask is not None:
        save(mask, tmp_path / "mask.nii", affine=GRID)
        options = [*options, "--mask", "mask.nii"]
    if not data.any():
        save(stored(image), tmp_path / "image.nii")
        done = lobule("supervoxels", "image.nii", "-o", "labels.nii", *options, cwd=tmp_path)
        assert_one_line(done, 65, "mask.nii" if mask is not None and not mask.any() else "image.nii")
        return
    labels, report = cut(tmp_path, image, *options, affine=GRID)
    count = assert_partition(labels, data, axis)
    assert report["results"]["supervoxels"] == count
    assert report["results"]["data_voxels"] == data.sum()


def scans():
    data = SHARED / "data"
    if not data.is_dir():
        return [pytest.param(None, None, marks=pytest.mark.skip(f"no folder {data}: set LOBULE_SHARED"))]
    other = ("label", "seg", "mask", "centre", "centerline", "instances")
    names = [path for path in sorted(data.rglob("*.nii.gz")) if not any(word in path.name.lower() for word in other)]
    names += [f"{path}:/raw" for path in sorted(data.rglob("*.h5"))] + sorted(data.rglob("*_img.png"))
    return [pytest.param(name, "10vox", id=str(name).removeprefix(f"{data}/")) for name in names]


@pytest.mark.parametrize("scan, size", scans())
def test_real_scans(tmp_path, scan, size):
    """Large ones are cropped, so that this takes seconds."""
    most = 80 if "LOBULE_SANITIZED" in os.environ else 192
    if str(scan).endswith(".nii.gz"):
        image = nibabel.load(scan)
        scan = tmp_path / "scan.nii.gz"
        nibabel.save(image.slicer[:most, :most, :most], scan)
    elif str(scan).endswith(":/raw"):
        with h5py.File(scan.removesuffix(":/raw")) as file:
            sides = ",".join(str(min(n, most)) for n in file["raw"].shape[::-1])
        good("crop", scan, "--first", "0,0,0", "--size", sides, "-o", "scan.h5", cwd=tmp_path)
        scan = tmp_path / "scan.h5"
    for method in ("slic", "slico", "lsc"):
        labels, report = cut(tmp_path, scan, "--size", size, "--method", method, "--iterations", 5)
        assert report["results"]["not_finite_voxels"] == 0
        assert assert_partition(labels, np.ones(labels.shape, bool)) > 4


@pytest.mark.parametrize("method", ["slic", "slico", "lsc"])
def test_same_bytes_at_any_threads(tmp_path, method):
    save(blobs((61, 47, 29)), tmp_path / "image.nii.gz")
    outputs = ["--mean", "mean.nii.gz", "--boundaries", "edges.nii.gz", "--table", "t.tsv", "--graph", "g.tsv"]
    sums = set()
    for threads in (1, 2, 3):
        cut(tmp_path, "image.nii.gz", "--size", "6vox", "--method", method, "--threads", threads, *outputs,
            out="labels.nii.gz")  # fmt: skip
        files = ["labels.nii.gz", *outputs[1::2]]
        sums.add(tuple(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in files))
    assert len(sums) == 1


@pytest.mark.parametrize("count, dtype", [(200, np.uint8), (300, np.int16), (40000, np.int32)])
def test_the_smallest_type_that_holds_the_labels(tmp_path, count, dtype):
    shape = (120, 120, 60) if count > 1000 else (40, 30, 20)
    labels, report = cut(tmp_path, np.zeros(shape, np.uint8), "--count", count, "--iterations", 1, affine=np.eye(4))
    assert labels.dtype == dtype
    assert labels.max() == report["results"]["supervoxels"] == pytest.approx(count, rel=0.1)


def test_the_header_is_the_image_s(tmp_path):
    save(blobs(), tmp_path / "image.nii.gz")
    image = nibabel.load(tmp_path / "image.nii.gz")
    image.header["aux_file"] = b"kept"
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"also kept"))
    image.set_qform(AFFINE, 1)
    nibabel.save(image, tmp_path / "image.nii.gz")
    cut(tmp_path, "image.nii.gz", "--size", "6vox", "--mean", "mean.nii.gz", "--boundaries", "edges.nii.gz",
        out="labels.nii.gz")  # fmt: skip
    before = nibabel.load(tmp_path / "image.nii.gz").header
    for name, intent in (("labels", 1002), ("edges", 1002), ("mean", 0)):
        after = nibabel.load(tmp_path / f"{name}.nii.gz").header
        for field in ("qform_code", "sform_code", "srow_x", "srow_y", "srow_z", "pixdim", "xyzt_units", "aux_file"):
            assert np.array_equal(before[field], after[field]), (name, field)
        assert after.extensions[0].get_content() == before.extensions[0].get_content()
        assert after["intent_code"] == intent


# ---- options ----


def extents_mm(labels, spacing):
    boxes = ndimage.find_objects(labels)
    return np.array([[(s.stop - s.start) * mm for s, mm in zip(box, spacing)] for box in boxes])


@pytest.mark.parametrize("method", ["slic", "slico", "lsc"])
def test_cubes_in_mm_on_thick_slices(tmp_path, method):
    """Voxels of 5 x 1 x 1 mm, 10 mm a side: two voxels along x, ten along y and z."""
    spacing = (5.0, 1.0, 1.0)
    random = np.random.default_rng(4)
    hills = ndimage.gaussian_filter(random.normal(size=(24, 100, 90)), 6 / np.array(spacing))
    image = (hills / hills.std() * 100 + random.normal(0, 10, hills.shape)).astype(np.int16)
    labels, report = cut(tmp_path, image, "--size", "10mm", "--method", method, affine=np.diag([*spacing, 1]))
    assert [report["results"][f"cells_{a}"] for a in "xyz"] == [12, 10, 9]
    extent = np.median(extents_mm(labels, spacing), axis=0)
    assert np.all((extent >= 8) & (extent <= 21)), extent
    assert extent.max() / extent.min() < 1.6, extent


def test_cubes_in_mm_where_nothing_is_seen(tmp_path):
    spacing = (5.0, 1.0, 1.0)
    labels, _ = cut(tmp_path, np.full((24, 100, 90), 7, np.uint8), "--size", "10mm", affine=np.diag([*spacing, 1]))
    assert np.all(extents_mm(labels, spacing) == 10)


def test_size_in_voxels_and_count_agree(tmp_path):
    image = blobs()
    by_voxels, report = cut(tmp_path, image, "--size", "6vox")
    side = 6 * np.prod(SPACING) ** (1 / 3)
    assert report["results"]["size_mm"] == pytest.approx(side)
    by_mm, _ = cut(tmp_path, image, "--size", f"{side:.15g}mm")
    assert np.array_equal(by_voxels, by_mm)
    by_count, report = cut(tmp_path, image, "--count", 40)
    assert report["results"]["supervoxels"] == pytest.approx(40, rel=0.5)


@pytest.mark.parametrize("options", [["--mask", "ball.nii"], ["--range", "1,inf"], ["--mask", "ball.nii", "--slices", "z"]])
def test_count_is_of_what_is_cut(tmp_path, options):
    """Half a ball, a quarter of the volume."""
    x, y, z = np.indices((48, 48, 48)) - 23.5
    ball = (x**2 + y**2 + z**2 < 24**2) & (x > 0)
    save(ball.astype(np.uint8), tmp_path / "ball.nii", affine=np.eye(4))
    labels, report = cut(tmp_path, ball.astype(np.uint8), "--count", 400, *options, affine=np.eye(4))
    count = assert_partition(labels, ball, 2 if "--slices" in options else None)
    slices = len(np.unique(np.nonzero(ball)[2])) if "--slices" in options else 1
    assert 300 < count / slices < 600  # more rather than less: cells on the border are cut


def test_range_has_decimal_ends(tmp_path):
    """As float32s, which voxels hold."""
    image = (np.indices(SHAPE).sum(0) // 5 % 10 / 10).astype(np.float32)
    labels, _ = cut(tmp_path, image, "--count", 40, "--range", "0.1,0.3")
    assert_partition(labels, (image >= np.float32(0.1)) & (image <= np.float32(0.3)))


def test_size_in_voxels_of_a_slice_is_about_the_slice(tmp_path):
    _, report = cut(tmp_path, blobs(), "--size", "6vox", "--slices", "z")
    assert report["results"]["size_mm"] == pytest.approx(9)
    assert [report["results"][f"cells_{a}"] for a in "xyz"] == [5, 4, 13]


@pytest.mark.parametrize("word, axis", [("axial", 2), ("sagittal", 0), ("coronal", 1), ("x", 0), ("y", 1)])
def test_slices_are_images_of_their_own(tmp_path, word, axis):
    labels, report = cut(tmp_path, blobs(), "--size", "6vox", "--slices", word)
    assert report["results"]["slice_axis"] == axis
    assert_partition(labels, np.ones(SHAPE, bool), axis)
    per_slice = [set(np.unique(labels.take(i, axis))) for i in range(SHAPE[axis])]
    assert sum(map(len, per_slice)) == labels.max()  # no label in two slices


def test_supervoxels_follow_the_image(tmp_path):
    """Two halves, noise: no supervoxel lies in both."""
    image = np.where(np.arange(30)[:, None, None] < 13, 100, 300) * np.ones((30, 20, 20), np.int16)
    image = (image + np.random.default_rng(1).integers(-20, 21, image.shape)).astype(np.int16)
    for method in ("slic", "slico", "lsc"):
        labels, _ = cut(tmp_path, image, "--size", "6vox", "--method", method, affine=np.eye(4))
        left, right = labels[:13], labels[13:]
        assert not set(left.ravel()) & set(right.ravel()), method


def test_compactness_and_ratio_make_rounder_pieces(tmp_path):
    save(blobs(), tmp_path / "truth.nii")

    def roundness(*options):
        cut(tmp_path, blobs(), "--size", "6vox", *options)
        done = good("compare", "--supervoxels", "labels.nii", "labels.nii", "--json", cwd=tmp_path)
        return json.loads(done.stdout)["compactness"]

    assert roundness("--compactness", 0.01) < roundness() < roundness("--compactness", 2)
    lsc = ("--method", "lsc")
    assert roundness(*lsc, "--ratio", 0.01) < roundness(*lsc) < roundness(*lsc, "--ratio", 1)


def test_defaults_are_those_of_help(tmp_path):
    said = ("--compactness", 0.05, "--iterations", 10, "--smallest", 0.25)
    same, report = cut(tmp_path, blobs(), "--size", "6vox", *said)
    assert np.array_equal(cut(tmp_path, blobs(), "--size", "6vox")[0], same)
    assert report["results"]["compactness"] == 0.05
    same, report = cut(tmp_path, blobs(), "--size", "6vox", "--method", "lsc", "--ratio", 0.075)
    assert np.array_equal(cut(tmp_path, blobs(), "--size", "6vox", "--method", "lsc")[0], same)
    assert report["results"]["ratio"] == 0.075


ODD_SIZES = [
    ("larger than the volume", ("--size", "500mm"), "with --size 500mm all of the volume starts as one supervoxel"),
    ("larger than a slice", ("--size", "90vox", "--slices", "z"), "with --size 90vox all of a slice starts as one"),
    ("under a voxel", ("--size", "5um"), "with --size 0.005mm a supervoxel is smaller than a voxel"),
    ("more than the voxels", ("--count", "9270"), "--count 9270 is more than the voxels of the volume (9269)"),
    ("more than the voxels of a slice", ("--count", "714", "--slices", "z"), "is more than the voxels of a slice (713)"),
    ("each voxel", ("--size", "1vox"), None),
    ("one in all", ("--count", "1"), None),
    ("one a slice", ("--count", "1", "--slices", "z"), None),
    ("as many as voxels", ("--count", "9269"), None),
]


@pytest.mark.parametrize("what, options, note", ODD_SIZES, ids=[row[0] for row in ODD_SIZES])
def test_odd_sizes(tmp_path, what, options, note):
    _, report = cut(tmp_path, blobs(), *options, "--iterations", 1)
    assert len(report["notes"]) == bool(note), report["notes"]
    if note:
        assert "image.nii: " in report["notes"][0] and note in report["notes"][0]


def test_until_still(tmp_path):
    flat = np.zeros((20, 20, 20), np.uint8)
    labels, report = cut(tmp_path, flat, "--size", "5vox", "--iterations", 50, "--until-still", affine=np.eye(4))
    assert report["results"]["iterations"] < 10
    assert np.array_equal(labels, cut(tmp_path, flat, "--size", "5vox", "--iterations", 50, affine=np.eye(4))[0])


def test_smallest(tmp_path):
    noise = np.random.default_rng(1).integers(0, 255, (24, 24, 12)).astype(np.uint8)
    all_pieces, report = cut(tmp_path, noise, "--size", "6vox", "--smallest", 0, affine=np.eye(4))
    assert report["results"]["pieces"] == report["results"]["supervoxels"] == all_pieces.max()
    joined, report = cut(tmp_path, noise, "--size", "6vox", "--smallest", 0.5, affine=np.eye(4))
    assert report["results"]["supervoxels"] < all_pieces.max() == report["results"]["pieces"]
    assert np.bincount(joined.ravel())[1:].min() >= 0.5 * 216 - 1


CROWDED = [
    ("one voxel of an integer image", np.int16, 32767, (), "or a smaller --compactness"),
    ("one voxel of a wide integer image", np.int32, 2**31 - 1, (), "give --range LO,HI"),
    ("one voxel of a real image", np.float32, 1e9, (), "give --range LO,HI"),
    ("one voxel far below", np.float32, -1e9, (), "give --range LO,HI"),
    ("a smaller compactness, too few levels", np.float32, 1e9, ("--compactness", 1e-4), "give --range LO,HI"),
    ("lsc weighs by the range too", np.int16, 32767, ("--method", "lsc"), "or a smaller --ratio"),
    ("slico and too few levels", np.float32, 1e9, ("--method", "slico"), "give --range LO,HI"),
    ("slico weighs by its own contrasts", np.int16, 32767, ("--method", "slico"), None),
    ("a compactness that fits", np.int16, 32767, ("--compactness", 5e-4), None),
    ("a range without the voxel", np.int16, 32767, ("--range", "0,1000"), None),
    ("a mask without the voxel", np.float32, 1e9, ("--mask", "mask.nii"), None),
    ("nothing far away", np.int16, 250, (), None),
    ("place is to decide", np.int16, 250, ("--compactness", 10), None),
]


@pytest.mark.parametrize("what, dtype, outlier, options, advice", CROWDED, ids=[row[0] for row in CROWDED])
@pytest.mark.parametrize("channels", [1, 2])
def test_values_that_crowd_in_a_part_of_the_range(tmp_path, what, dtype, outlier, options, advice, channels):
    image = blobs(channels=channels, dtype=dtype)
    image[4, 5, 6] = outlier if channels == 1 else (1, outlier)
    mask = np.ones(SHAPE, np.uint8)
    mask[4, 5, 6] = 0
    save(mask, tmp_path / "mask.nii")
    save(stored(image), tmp_path / "image.nii", scale=(2, 5))
    done = good("supervoxels", "image.nii", "-o", "labels.nii", "--size", "6vox", *options, "--report", "r.json",
                cwd=tmp_path)  # fmt: skip
    notes = json.loads((tmp_path / "r.json").read_text())["notes"]
    assert ("99 % of the voxels" in done.stderr) == bool(advice) == bool(notes), done.stderr
    if not advice:
        return
    assert notes[0].endswith(advice), notes
    low, high = map(float, re.search(r"lie in (\S+) to (\S+),", notes[0]).groups())
    values = image[..., -1] if channels == 2 else image
    inside = (values * 2.0 + 5 >= low) & (values * 2.0 + 5 <= high)
    assert inside.mean() == pytest.approx(0.99, abs=1e-3)


def test_values_of_one_kind_are_not_crowded(tmp_path):
    """Where 99 % have one value there is nothing in them to tell apart."""
    image = np.zeros(SHAPE, np.uint8)
    image[3:5, 4:6, 6] = 255
    save(image, tmp_path / "image.nii")
    assert good("supervoxels", "image.nii", "-o", "labels.nii", "--size", "6vox", cwd=tmp_path).stderr == ""


def test_frame(tmp_path):
    frames = np.stack([blobs(seed=1), blobs(seed=2)], -1)
    save(frames, tmp_path / "frames.nii")
    second, _ = cut(tmp_path, "frames.nii", "--size", "6vox", "--frame", 1)
    assert np.array_equal(second, cut(tmp_path, blobs(seed=2), "--size", "6vox")[0])


# ---- colour ----


@pytest.fixture
def photo(tmp_path):
    """A colour picture as PNG, and its pixels as (x, y, 1, channel)."""
    random = np.random.default_rng(5)
    tiles = random.integers(0, 256, (6, 8, 3)).astype(np.int16)
    pixels = np.kron(tiles, np.ones((12, 12, 1), np.int16)) + random.integers(-9, 10, (72, 96, 3))
    pixels = pixels.clip(0, 255).astype(np.uint8)
    pictures.imsave(tmp_path / "photo.png", pixels, check_contrast=False)
    return pixels.transpose(1, 0, 2)[:, :, None, :]


@pytest.mark.parametrize("method", ["slic", "slico", "lsc"])
def test_png_in_colour(tmp_path, photo, method):
    labels, report = cut(tmp_path, "photo.png", "--method", method, "--count", 80, "--mean", "mean.nii")
    assert labels.shape == photo.shape[:3]
    assert_partition(labels, np.ones(labels.shape, bool))
    assert report["results"]["lab"] is True
    assert report["results"]["supervoxels"] == pytest.approx(80, rel=0.5)
    # nearly no supervoxel lies in two tiles of the picture
    tile = np.kron(np.arange(48).reshape(8, 6), np.ones((12, 12), int))
    table = np.zeros((labels.max() + 1, 48), int)
    np.add.at(table, (labels[..., 0], tile), 1)
    assert table.max(1).sum() > 0.97 * labels.size
    painted = np.squeeze(load(tmp_path / "mean.nii"))
    assert np.allclose(painted, means(photo, labels)[labels[..., 0] - 1], atol=1e-3)


def test_lab(tmp_path, photo):
    automatic, report = cut(tmp_path, "photo.png", "--count", 80)
    assert report["results"]["compactness"] == 0.1
    assert np.array_equal(automatic, cut(tmp_path, "photo.png", "--count", 80, "--lab", "on")[0])
    plain, report = cut(tmp_path, "photo.png", "--count", 80, "--lab", "off")
    assert report["results"]["lab"] is False and not np.array_equal(automatic, plain)
    wide, report = cut(tmp_path, photo.astype(np.int16), "--count", 80, affine=np.eye(4))
    assert report["results"]["lab"] is False  # three channels, but not of uint8
    assert np.array_equal(plain, wide)


# ---- other outputs ----


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_mean(tmp_path, channels, dtype):
    image = blobs(channels=channels, dtype=dtype)
    if dtype == np.float32:
        image = image / np.float32(7) - 3
        image[3, 4, 5] = np.nan
    labels, _ = cut(tmp_path, image, "--size", "6vox", "--mean", "mean.nii")
    painted = np.squeeze(load(tmp_path / "mean.nii"))
    assert painted.dtype == np.float32
    want = np.squeeze(np.vstack([np.zeros(channels), means(np.nan_to_num(image), labels)])[labels])
    there = labels != 0
    assert np.allclose(painted[there], want[there], rtol=1e-5, atol=1e-3)


def test_mean_as_a_picture(tmp_path, photo):
    labels, _ = cut(tmp_path, "photo.png", "--count", 80, "--mean", "mean.png")
    painted = pictures.imread(tmp_path / "mean.png").transpose(1, 0, 2)
    assert painted.dtype == np.uint8
    assert np.abs(painted - means(photo, labels)[labels[..., 0] - 1]).max() <= 0.5 + 1e-9


def test_outlines_end_at_the_mask(tmp_path):
    """Voxels beside what has no label are outlined too: the inner outline of scikit-image."""
    mask = np.zeros(SHAPE, np.uint8)
    mask[3:25, 4:, :9] = 1
    save(mask, tmp_path / "mask.nii")
    labels, _ = cut(tmp_path, blobs(), "--size", "6vox", "--boundaries", "edges.nii", "--mask", "mask.nii")
    assert np.array_equal(load(tmp_path / "edges.nii") != 0, find_boundaries(labels, connectivity=1, mode="inner"))


def test_boundaries(tmp_path):
    labels, _ = cut(tmp_path, blobs(), "--size", "6vox", "--boundaries", "edges.nii")
    edges = load(tmp_path / "edges.nii")
    assert edges.dtype == np.uint8 and set(np.unique(edges)) == {0, 1}
    assert np.array_equal(edges != 0, find_boundaries(labels, connectivity=1, mode="thick"))


def test_boundaries_as_a_picture(tmp_path):
    """White on black: viewers show 1 of 255 as black."""
    labels, _ = cut(tmp_path, blobs()[:, :, :1], "--size", "6vox", "--boundaries", "edges.png")
    edges = pictures.imread(tmp_path / "edges.png").T
    assert set(np.unique(edges)) == {0, 255}
    assert np.array_equal(edges != 0, find_boundaries(labels[..., 0], connectivity=1, mode="thick"))


@pytest.mark.parametrize("word", [None, "x", "y", "z"])
def test_graph(tmp_path, word):
    image = blobs()
    image[:, :, 6] = 0
    options = ("--slices", word) if word else ()
    labels, _ = cut(tmp_path, image, "--size", "5vox", "--graph", "graph.tsv", "--range", "1,1000", *options)
    want = contacts(labels, SPACING, AXES.get(word))
    rows = rows_of(tmp_path / "graph.tsv")
    found = {(int(row["label_a"]), int(row["label_b"])): row for row in rows}
    assert list(found) == sorted(want) and len(rows) == len(found)
    middle = means(image, labels)[:, 0]
    for (a, b), (faces, mm2) in want.items():
        row = found[a, b]
        assert row["faces"] == faces and row["area_mm2"] == pytest.approx(mm2)
        assert row["mean_difference"] == pytest.approx(abs(middle[a - 1] - middle[b - 1]), rel=1e-6, abs=1e-6)


def test_graph_of_several_channels(tmp_path):
    image = blobs(channels=3)
    labels, _ = cut(tmp_path, image, "--size", "6vox", "--graph", "graph.json")
    middle = means(image, labels)
    rows = json.loads((tmp_path / "graph.json").read_text())
    assert len(rows) == len(contacts(labels, SPACING))
    for row in rows:
        apart = np.linalg.norm(middle[row["label_a"] - 1] - middle[row["label_b"] - 1])
        assert row["mean_difference"] == pytest.approx(apart, rel=1e-6)


def test_graph_of_one_supervoxel_is_empty(tmp_path):
    cut(tmp_path, blobs(), "--count", 1, "--graph", "graph.tsv")
    assert rows_of(tmp_path / "graph.tsv") == []
    cut(tmp_path, blobs(), "--count", 1, "--graph", "graph.json")
    assert json.loads((tmp_path / "graph.json").read_text()) == []


def test_table(tmp_path):
    image = blobs()
    labels, _ = cut(tmp_path, image, "--size", "6vox", "--table", "table.tsv")
    rows = rows_of(tmp_path / "table.tsv")
    index = np.arange(1, labels.max() + 1)
    assert [row["label"] for row in rows] == list(index)
    want = {
        "voxels": np.bincount(labels.ravel())[1:],
        "volume_mm3": np.bincount(labels.ravel())[1:] * np.prod(SPACING),
        "min": ndimage.minimum(image, labels, index),
        "mean": ndimage.mean(image, labels, index),
        "max": ndimage.maximum(image, labels, index),
        "sd": ndimage.standard_deviation(image, labels, index),
    }
    centres = np.array(ndimage.center_of_mass(np.ones(SHAPE), labels, index))
    want |= {f"centroid_{a}": centres[:, k] for a, k in AXES.items()}
    for name, values in want.items():
        assert np.allclose([row[name] for row in rows], values, rtol=6e-7, atol=1e-9), name


def test_table_is_that_of_stats(tmp_path):
    cut(tmp_path, blobs(), "--size", "6vox", "--table", "table.tsv")
    good("stats", "image.nii", "labels.nii", "--table", "stats.tsv", cwd=tmp_path)
    assert (tmp_path / "table.tsv").read_bytes() == (tmp_path / "stats.tsv").read_bytes()


def test_table_without_intensities(tmp_path):
    cut(tmp_path, blobs(channels=2), "--size", "6vox", "--table", "table.json")
    rows = json.loads((tmp_path / "table.json").read_text())
    assert rows[0]["voxels"] > 0 and rows[0]["mean"] is None


def test_tables_to_standard_output(tmp_path):
    save(blobs(), tmp_path / "image.nii")
    done = good("supervoxels", "image.nii", "-o", "labels.nii", "--size", "9vox", "--graph", "-", cwd=tmp_path)
    assert done.stdout.startswith("label_a\tlabel_b\tfaces\tarea_mm2\tmean_difference\n")


# ---- what is refused ----


def test_nothing_is_printed_where_memory_is_short(tmp_path):
    save(blobs((64, 64, 64), channels=6, dtype=np.uint8)[:, :, :, None], tmp_path / "image.nii")
    options = ["--size", "16", "--table", "-", "--mean", "mean.nii"]
    options += ["--device", "cpu", "--threads", "1", "--max-memory", "8000KiB"]
    assert_one_line(done := lobule("supervoxels", "image.nii", "-o", "labels.nii", *options, cwd=tmp_path), 75, "mean.nii")
    assert done.stdout == "" and os.listdir(tmp_path) == ["image.nii"]


BAD = [
    ([], 64, "--size"),
    (["--size", "8mm", "--count", "5"], 64, "--count"),
    (["--size", "0"], 64, "size"),
    (["--size", "8cm"], 64, "size"),
    (["--count", "0"], 64, "count"),
    (["--size", "8", "--method", "watershed"], 64, "method"),
    (["--size", "8", "--iterations", "0"], 64, "iterations"),
    (["--size", "8", "--compactness", "0"], 64, "compactness"),
    (["--size", "8", "--compactness", "1", "--method", "lsc"], 64, "--compactness belongs to --method slic"),
    (["--size", "8", "--compactness", "1", "--method", "slico"], 64, "--compactness belongs to --method slic"),
    (["--size", "8", "--ratio", "1"], 64, "--ratio belongs to --method lsc"),
    (["--size", "8", "--ratio", "-1", "--method", "lsc"], 64, "ratio"),
    (["--size", "8", "--smallest", "2"], 64, "smallest"),
    (["--size", "8", "--slices", "diagonal"], 64, "slices"),
    (["--size", "8", "--range", "5,1"], 64, "range"),
    (["--size", "8", "--lab", "on"], 65, "image.nii: --lab on needs three channels"),
    (["--size", "8", "--table", "table.txt"], 64, "table.txt"),
    (["--size", "8", "--graph", "graph.xlsx"], 64, "graph.xlsx"),
    (["--size", "8", "--graph", "-", "--table", "-"], 64, "-"),
    (["--size", "8", "--range", "5000,6000"], 65, "image.nii"),
    (["--size", "8", "--mask", "empty.nii"], 65, "empty.nii"),
    (["--size", "8", "--mask", "other.nii"], 65, "other.nii"),
    (["--size", "8", "--mask", "missing.nii"], 66, "missing.nii"),
    (["--size", "8", "--frame", "3"], 65, "frame"),
    (["--size", "8", "--mean", "labels.nii"], 64, "labels.nii"),
    (["--size", "8", "--mean", "image.nii"], 64, "image.nii"),
    (["--size", "8", "--boundaries", "edges.xyz"], 64, "edges.xyz"),
    (["--size", "8", "--graph", "missing/graph.tsv"], 73, "missing/graph.tsv"),
    (["--size", "8", "--max-memory", "20KiB"], 75, "memory"),
]


@pytest.mark.parametrize("options, code, words", BAD, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_bad_usage(tmp_path, options, code, words):
    save(blobs(), tmp_path / "image.nii")
    save(np.zeros(SHAPE, np.uint8), tmp_path / "empty.nii")
    save(np.ones((4, 4, 4), np.uint8), tmp_path / "other.nii", affine=np.diag([9.0, 9, 9, 1]))
    before = set(os.listdir(tmp_path))
    assert_one_line(lobule("supervoxels", "image.nii", "-o", "labels.nii", *options, cwd=tmp_path), code, words)
    assert set(os.listdir(tmp_path)) == before


def test_an_output_that_exists_is_kept(tmp_path):
    for name in ("labels.nii", "mean.nii", "edges.nii", "table.tsv", "graph.tsv"):
        cut(tmp_path, blobs(), "--size", "9vox")
        (tmp_path / "labels.nii").unlink()
        (tmp_path / name).write_bytes(b"mine")
        outputs = ("--mean", "mean.nii", "--boundaries", "edges.nii", "--table", "table.tsv", "--graph", "graph.tsv")
        done = lobule("supervoxels", "image.nii", "-o", "labels.nii", "--size", "9vox", *outputs, cwd=tmp_path)
        assert_one_line(done, 72, name)
        assert (tmp_path / name).read_bytes() == b"mine"
        (tmp_path / name).unlink()


def test_no_data_at_all(tmp_path):
    save(np.full(SHAPE, np.nan, np.float32), tmp_path / "image.nii")
    done = lobule("supervoxels", "image.nii", "-o", "labels.nii", "--size", "9vox", cwd=tmp_path)
    assert_one_line(done, 65, "image.nii")
