"""lobule preview beyond planes and montages: contours, projections, a legend with names."""

import json

import nibabel
import numpy as np
import pytest
from conftest import assert_one_line, good, load, lobule, save
from skimage.io import imread

SHAPE = (30, 24, 20)


def draw(folder, image, *arguments, name="p.png"):
    """Draw; returns the pixels and what the report says."""
    report = folder / "r.json"
    good("preview", image, *arguments, "-o", folder / name, "--report", report, "--force")
    return imread(folder / name).astype(int), json.loads(report.read_text())["results"]


def labelled(folder, labels, names=None, name="labels.nii.gz"):
    """A file of labels whose names are in it."""
    path = save(labels, folder / name)
    if names:
        table = folder / "names.tsv"
        table.write_text("index\tname\tcolor\n" + "".join(f"{i}\t{n}\t{c}\n" for i, (n, c) in names.items()))
        good("convert", path, folder / "named.nii.gz", "--labels", "--label-table", table, "--force")
        path = folder / "named.nii.gz"
    return path


@pytest.mark.parametrize("width", [0, 1, 5])
def test_contours_are_as_wide_as_asked(tmp_path, width):
    image = save(np.zeros(SHAPE, np.int16), tmp_path / "v.nii")
    cube = np.zeros(SHAPE, np.uint8)
    cube[8:22, 6:18] = 3
    labels = save(cube, tmp_path / "l.nii")
    pixels, report = draw(tmp_path, image, labels, "--plane", "axial", "--alpha", 0, "--contour", width, "--hide", "none")
    box = report["views"][0]
    row = pixels[box["y"] + int(1.5 * 9.5 * report["pixels_per_mm"])]  # through the cube, above the letters
    coloured = np.flatnonzero(np.ptp(row, axis=1) > 30)
    if width == 0:
        assert coloured.size == 0
        return
    ends = np.flatnonzero(np.diff(coloured) > 1)
    assert len(ends) == 1 and len(coloured) == 2 * width
    apart = coloured[-1] - coloured[0] + 1
    assert abs(apart - 14 * 1.5 * report["pixels_per_mm"]) <= 2


def affine_of(code):
    signs = [1 if letter in "RAS" else -1 for letter in code]
    return np.diag([2.0 * signs[0], 2.0 * signs[1], 3.0 * signs[2], 1])


@pytest.mark.parametrize("convention, near", [("radiological", "IAL"), ("neurological", "SPR")])
@pytest.mark.parametrize("code", ["RAS", "LPI"])
def test_projections(tmp_path, code, convention, near):
    """The picture of a projection is that of a slice which holds the maxima and the labels seen first."""
    rng = np.random.default_rng(3)
    scan = rng.integers(0, 1000, SHAPE).astype(np.int16)
    labels = (rng.random(SHAPE) < 0.05).astype(np.uint8) * rng.integers(1, 4, SHAPE).astype(np.uint8)
    affine = affine_of(code)
    image, regions = save(scan, tmp_path / "v.nii", affine), save(labels, tmp_path / "l.nii", affine)
    options = ["--window", "300,1000", "--hide", "2", "--convention", convention, "--size", 500]
    seen = np.where(labels == 2, 0, labels)
    for plane, axis in (("axial", 2), ("coronal", 1), ("sagittal", 0)):
        flat = np.broadcast_to(scan.max(axis, keepdims=True), SHAPE).copy()
        at_end = code[axis] == near[2 - axis]
        ahead = np.flip(seen, axis) if at_end else seen
        first = np.take_along_axis(ahead, (ahead > 0).argmax(axis, keepdims=True), axis)
        other = save(np.broadcast_to(first, SHAPE).copy(), tmp_path / "fl.nii", affine)
        plain, where = draw(tmp_path, save(flat, tmp_path / "fv.nii", affine), other, "--plane", plane, *options)
        shown, report = draw(tmp_path, image, regions, "--plane", plane, "--mip", *options)
        ends = report["views"][0]["slices"]
        assert sorted(ends) == [0, SHAPE[axis] - 1] and (ends[0] > ends[1]) == at_end
        assert report["pixels_per_mm"] == where["pixels_per_mm"]
        size = [round(n * s * report["pixels_per_mm"]) for n, s in zip(np.delete(SHAPE, axis), np.delete([2, 2, 3], axis), strict=True)]
        a, b = (x[report["views"][0]["y"] + 20 :][: size[1] - 20] for x in (shown, plain))
        assert (a == b).all() and np.ptp(a, axis=2).max() > 40


def test_a_montage_of_projections_shows_every_slice_once(tmp_path):
    scan = np.zeros(SHAPE, np.int16)
    labels = np.zeros(SHAPE, np.uint8)
    labels[4:26, 4:20, 3:17] = 1
    image, regions = save(scan, tmp_path / "v.nii"), save(labels, tmp_path / "l.nii")
    _, report = draw(tmp_path, image, regions, "--montage", 4, "--mip", "--hide", "none")
    ranges = [sorted(map(int, x["slices"])) for x in report["views"]]
    assert [i for low, high in ranges for i in range(low, high + 1)] == list(range(3, 17))
    _, report = draw(tmp_path, image, "--mip")
    assert [sorted(x["slices"]) for x in report["views"]] == [[0, 19], [0, 23], [0, 29]]


def test_the_legend_has_names_and_colours_of_the_file(tmp_path):
    labels = np.zeros(SHAPE, np.uint8)
    labels[4:26, 4:12, 3:17] = 5
    labels[4:26, 12:20, 3:17] = 7
    image = save(np.zeros(SHAPE, np.int16), tmp_path / "v.nii")
    pictures = []
    for name in ("liver", "l", "Ünïcode " + "x" * 300):
        regions = labelled(tmp_path, labels, {5: (name, "#10c0f0"), 7: ("spleen", "#f01080")})
        pictures.append(draw(tmp_path, image, regions))
    for pixels, report in pictures:
        assert max(pixels.shape) <= 1200
        for colour in ((0x10, 0xC0, 0xF0), (0xF0, 0x10, 0x80)):
            assert (pixels == colour).all(2).sum() >= 49
        axial, sagittal = report["views"][0], report["views"][2]
        legend = np.zeros(pixels.shape[:2], bool)
        legend[: sagittal["y"] - 4, sagittal["x"] :] = True
        changed = (pixels != pictures[1][0]).any(2)
        assert not changed[~legend].any() and axial["x"] < sagittal["x"]
        assert changed.any() == (pixels is not pictures[1][0])


def test_a_sheet_of_segment_names_what_it_shows(tmp_path):
    """Names and colours of the strokes' file come in lines below the slices, which stay as they are."""
    good("phantom", "abdomen", "-o", "scan.nii", "--seeds", "seeds.nii", "--size", "48,36,30", "--spacing", "8,8,10", cwd=tmp_path)
    scan = nibabel.load(tmp_path / "scan.nii")
    drawn = np.array(load(tmp_path / "seeds.nii"))  # the phantom's names go
    save(drawn, tmp_path / "seeds.nii", affine=scan.affine)
    names = "".join(f"{i}\tstructure {i}\t#10c0{0xE0 + i:x}\n" for i in range(1, 9))
    (tmp_path / "names.tsv").write_text("index\tname\tcolor\n" + names)
    good("convert", "seeds.nii", "named.nii", "--labels", "--label-table", "names.tsv", cwd=tmp_path)
    sheets = []
    for seeds in ("seeds", "named"):
        good("segment", "scan.nii", f"{seeds}.nii", "-o", f"{seeds}.out.nii", "--sheet", f"{seeds}.png", cwd=tmp_path)
        sheets.append(imread(tmp_path / f"{seeds}.png").astype(int))
    plain, named = sheets
    assert named.shape[1] == plain.shape[1] and named.shape[0] > plain.shape[0]
    below = named[plain.shape[0] :]
    for i in range(1, 9):
        assert (below == (0x10, 0xC0, 0xE0 + i)).all(2).sum() == 49
        assert not (plain == (0x10, 0xC0, 0xE0 + i)).all(2).any()


def test_preview_refuses_widths(tmp_path):
    image = save(np.zeros((5, 6, 7), np.int16), tmp_path / "v.nii")
    for bad in ("-1", "13", "1.5", "x"):
        assert_one_line(lobule("preview", image, "-o", tmp_path / "p.png", "--contour", bad), 64, "--contour")
    assert not (tmp_path / "p.png").exists()


@pytest.mark.parametrize("how", [["--mip"], []])
def test_what_is_not_finite_is_black(tmp_path, how):
    values = np.random.default_rng(5).random(SHAPE).astype(np.float32)
    pictures = []
    for odd in (np.inf, -np.inf, np.nan):
        values[10:20, 8:16, 5:15:2] = odd
        image = save(values, tmp_path / "v.nii")
        pictures.append(draw(tmp_path, image, "--window", "0,1", "--at", "15,12,11", *how)[0])
    assert np.array_equal(pictures[0], pictures[2]) and np.array_equal(pictures[1], pictures[2])
