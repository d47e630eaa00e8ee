"""lobule compare against scipy and SimpleITK, lobule preview's pictures, lobule phantom's volumes."""

import json
import struct

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, ROOT, assert_one_line, good, load, lobule, on_a_terminal, save
from scipy import ndimage
from skimage.io import imread

SPACING = (1.5, 1.5, 2.5)


# ---- compare ----


def blobs(seed, shape=(23, 19, 17), labels=4):
    """Smooth blobs with labels that have gaps between their numbers."""
    rng = np.random.default_rng(seed)
    field = np.stack([ndimage.gaussian_filter(rng.random(shape), 2) for _ in range(labels)])
    field -= field.mean(axis=(1, 2, 3), keepdims=True)
    names = np.array([0, 2, 3, 7, 40, 41])[: labels + 1]
    best = field.argmax(0) + 1
    return names[np.where(field.max(0) > 0.005, best, 0)].astype(np.uint8)


def pair():
    a = blobs(1)
    b = np.roll(a, (1, 0, -1), (0, 1, 2))
    b[3:6, 3:6, 3:6] = 3
    return a, b


def surface(mask):
    padded = np.pad(mask, 1)
    return mask & ~ndimage.binary_erosion(padded)[1:-1, 1:-1, 1:-1]


def pooled_distances(a, b, spacing):
    one, other = surface(a), surface(b)
    to_other = ndimage.distance_transform_edt(~other, sampling=spacing)
    to_one = ndimage.distance_transform_edt(~one, sampling=spacing)
    return np.concatenate([to_other[one], to_one[other]])


def compare_json(a, b, *options, code=1):
    """The result, and that --strict ends with this code while the command without ends with 0."""
    done = lobule("compare", a, b, "--json", "--quiet", "--strict", *options)
    assert done.returncode == code, done.stderr
    assert done.stderr == "" and json.loads(done.stdout)["equal"] == (code == 0)
    assert good("compare", a, b, "--json", *options).stdout == done.stdout
    return json.loads(done.stdout)


def test_compare_agrees_with_scipy(tmp_path):
    a, b = pair()
    result = compare_json(save(a, tmp_path / "a.nii.gz"), save(b, tmp_path / "b.nii.gz"))
    assert [row["label"] for row in result["labels"]] == sorted((set(a.flat) | set(b.flat)) - {0})
    for row in result["labels"]:
        one, other = a == row["label"], b == row["label"]
        common = int((one & other).sum())
        assert row["common_voxels"] == common
        assert row["dice"] == pytest.approx(2 * common / (one.sum() + other.sum()))
        assert row["jaccard"] == pytest.approx(common / (one | other).sum())
        assert row["volume_a_mm3"] == pytest.approx(one.sum() * np.prod(SPACING))
        distances = pooled_distances(one, other, SPACING)
        assert row["hd95_mm"] == pytest.approx(np.percentile(distances, 95), rel=1e-6)
        assert row["mean_surface_mm"] == pytest.approx(distances.mean(), rel=1e-6)
    dice = [row["dice"] for row in result["labels"]]
    assert result["mean"]["dice"] == pytest.approx(np.mean(dice))
    assert result["equal"] is False


def test_compare_agrees_with_simpleitk(tmp_path):
    sitk = pytest.importorskip("SimpleITK")
    a, b = pair()
    result = compare_json(save(a, tmp_path / "a.nii"), save(b, tmp_path / "b.nii"), "--no-surfaces")
    overlap = sitk.LabelOverlapMeasuresImageFilter()
    overlap.Execute(sitk.GetImageFromArray(a), sitk.GetImageFromArray(b))
    for row in result["labels"]:
        assert row["dice"] == pytest.approx(overlap.GetDiceCoefficient(row["label"]))
        assert row["jaccard"] == pytest.approx(overlap.GetJaccardCoefficient(row["label"]))
        assert row["hd95_mm"] is None and row["mean_surface_mm"] is None


def test_mean_distance_agrees_with_simpleitk(tmp_path):
    sitk = pytest.importorskip("SimpleITK")
    a, b = pair()
    result = compare_json(save(a, tmp_path / "a.nii"), save(b, tmp_path / "b.nii"), "--labels", "7")
    one, other = (sitk.GetImageFromArray((v == 7).astype(np.uint8)) for v in (a, b))
    distances = []
    for this, that in ((one, other), (other, one)):
        for image in (this, that):
            image.SetSpacing(SPACING[::-1])
        # ITK's contour filter takes the border of the grid for inside, so the mask gets a margin.
        this, that = (sitk.ConstantPad(image, (1,) * 3, (1,) * 3) for image in (this, that))
        edge = sitk.LabelContour(that, fullyConnected=False)
        away = sitk.SignedMaurerDistanceMap(edge, squaredDistance=False, useImageSpacing=True)
        edge = sitk.GetArrayFromImage(sitk.LabelContour(this, fullyConnected=False)) > 0
        distances.append(np.abs(sitk.GetArrayFromImage(away))[edge])
    distances = np.concatenate(distances)
    assert [row["label"] for row in result["labels"]] == [7]
    assert result["labels"][0]["mean_surface_mm"] == pytest.approx(distances.mean(), rel=1e-5)
    assert result["labels"][0]["hd95_mm"] == pytest.approx(np.percentile(distances, 95), rel=1e-5)


def test_compare_names_labels(tmp_path):
    good("phantom", "abdomen", "--size", "40,30,20", "--truth", "a.nii", "-o", "scan.nii", cwd=tmp_path)
    labels = load(tmp_path / "a.nii")
    b = np.where(labels == 4, 0, labels).astype(np.uint8)
    b[labels == 2] = 9  # B alone has this one, without a name
    save(b, tmp_path / "b.nii", affine=nibabel.load(tmp_path / "a.nii").affine)
    done = good("compare", "a.nii", "b.nii", "--table", "t.tsv", cwd=tmp_path)
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert rows["label"].split()[:4] == ["label", "name", "voxels", "A"]
    assert "  liver  " in rows["2"] and "  spleen  " in rows["4"] and rows["9"].split()[1] == "0"
    ml = (labels == 2).sum() * 0.001 * np.prod(nibabel.load(tmp_path / "a.nii").header.get_zooms()[:3])
    assert f"{ml:.4g}" in rows["2"].split()
    table = [line.split("\t") for line in (tmp_path / "t.tsv").read_text().splitlines()]
    assert table[0][:3] == ["label", "name", "voxels_a"]
    assert {row[0]: row[1] for row in table[1:]}["2"] == "liver" and table[-1][:2] == ["9", "n/a"]
    result = json.loads(good("compare", "a.nii", "b.nii", "--json", cwd=tmp_path).stdout)
    assert [row.get("name") for row in result["labels"]][1:4:2] == ["liver", "spleen"]
    assert "name" not in result["labels"][-1]
    # what they are called does not matter, and is told where it differs
    assert done.stderr == ""
    (tmp_path / "names.tsv").write_text("index\tname\n2\tSpleen\n4\tLiver\n5\tRight Kidney\n")
    good("convert", "--labels", "a.nii", "c.nii", "--label-table", "names.tsv", cwd=tmp_path)
    told = good("compare", "--strict", "a.nii", "c.nii", "--labels", "2", cwd=tmp_path).stderr
    assert "by number, and 1 has another name in c.nii: 2 is 'liver', and 'Spleen' there" in told
    told = good("compare", "--strict", "a.nii", "c.nii", cwd=tmp_path).stderr
    assert "by number, and 2 have another name in c.nii: 2 is 'liver', and 'Spleen' there" in told


@pytest.mark.parametrize(
    ("kind", "columns", "head", "row"),
    [
        ((), 200, "label  name  Dice  HD95 mm  mean mm  ml A  ml B  B-A %  Jaccard  voxels A  voxels B", "1 liver 0.8000"),
        ((), 40, "label  name  Dice  HD95 mm  mean mm", "2 0.0000 n/a n/a"),
        (("--instances",), 60, "measure  value", "variation_of_information_inside"),
        (("--supervoxels",), 60, "measure  value", "under_segmentation_error_neubert"),
    ],
)
def test_compare_on_a_terminal(tmp_path, kind, columns, head, row):
    """What matters most comes first, and no line is wider than the terminal."""
    a = np.zeros((10, 9, 8), np.uint8)
    b = a.copy()
    a[1:7, 1:7, 1:7], b[3:7, 1:7, 1:7], b[9, 8, 7] = 1, 1, 2
    save(a, tmp_path / "plain.nii")
    save(b, tmp_path / "b.nii")
    (tmp_path / "names.csv").write_text("LabelValue,Name\n1,liver\n")
    good("convert", "--labels", "plain.nii", "a.nii", "--label-table", "names.csv", cwd=tmp_path)
    shown = on_a_terminal(tmp_path, ["compare", "a.nii", "b.nii", "--quiet", *kind], columns=columns).decode()
    lines = shown.splitlines()
    assert "\t" not in shown and all(len(line) <= max(columns, 70) for line in lines), lines
    assert lines[0].split() == head.split()
    assert any(line.split()[: len(row.split())] == row.split() for line in lines), lines


def test_compare_is_the_same_with_any_threads(tmp_path):
    a, b = pair()
    a, b = save(a, tmp_path / "a.nii"), save(b, tmp_path / "b.nii")
    tables = {lobule("compare", a, b, "--threads", n).stdout for n in (1, 2, 3, 7)}
    assert len(tables) == 1
    assert tables.pop().splitlines()[-1] == "different"


def test_compare_equal_and_restricted(tmp_path):
    a, b = pair()
    only_three = np.where(a == 3, 3, 0).astype(np.int32)
    mixed = np.where(a == 3, 3, b * (b != 3)).astype(np.float32)
    a = save(a, tmp_path / "a.nii")
    done = good("compare", a, a)
    assert done.stdout.splitlines()[-1] == "equal"
    assert done.stderr == ""
    # The same labels in another type are the same labels.
    same = compare_json(a, save(only_three, tmp_path / "3.nii"), "--labels", "3", code=0)
    assert same["equal"] is True and len(same["labels"]) == 1
    compare_json(a, save(mixed, tmp_path / "m.nii"), "--labels", "3", code=0)
    compare_json(a, tmp_path / "m.nii", "--labels", "2-7", code=1)


def test_compare_asked_for_a_label_that_neither_has(tmp_path):
    a, b = pair()
    a, b = save(a, tmp_path / "a.nii"), save(b, tmp_path / "b.nii")
    one = lobule("compare", a, a, "--labels", "9")
    assert_one_line(one, 65, "--labels", "a.nii", "has label 9")
    assert "equal" not in one.stdout
    assert one.stdout.splitlines()[1].split() == ["9", *"0000", *"-----"]
    two = lobule("compare", a, b, "--labels", "41,9,3,50-60", "--json")
    assert_one_line(two, 65, "has label 41, 9, 50-60")
    rows = json.loads(two.stdout)["labels"]
    assert [row["label"] for row in rows] == [3, 9, 41]
    assert rows[0]["dice"] > 0 and rows[1]["dice"] is None and rows[1]["voxels_a"] == 0


def test_compare_one_sided_label(tmp_path):
    a, _ = pair()
    empty = save(np.zeros_like(a), tmp_path / "b.nii")
    result = compare_json(save(a, tmp_path / "a.nii"), empty)
    for row in result["labels"]:
        assert row["dice"] == 0 and row["hd95_mm"] is None and row["voxels_b"] == 0
    assert "-" in lobule("compare", tmp_path / "a.nii", empty).stdout
    assert compare_json(empty, empty, code=0)["labels"] == []


def test_compare_values(tmp_path):
    a = np.random.default_rng(4).normal(size=(9, 8, 7)).astype(np.float32)
    b = a.copy()
    b[3, 2, 1] += 2
    b[0, 0, 0] = a[0, 0, 0] = np.nan
    b[1, 0, 0] = np.inf
    a, b = save(a, tmp_path / "a.nii"), save(b, tmp_path / "b.nii")
    result = compare_json(a, b, "--values")
    assert result["different"] == 2 and result["finite_in_one_only"] == 1
    assert result["largest_difference"] == pytest.approx(2, rel=1e-6)
    assert result["mean_difference"] == pytest.approx(2 / (9 * 8 * 7 - 2), rel=1e-6)
    assert "(3, 2, 1)" in lobule("compare", a, b, "--values").stdout
    compare_json(a, a, "--values", code=0)


def test_compare_values_tells_large_integers_apart(tmp_path):
    a = np.full((3, 3, 3), 2**60, np.int64)
    b = a.copy()
    b[1, 1, 1] += 1
    compare_json(save(a, tmp_path / "a.nii"), save(b, tmp_path / "b.nii"), "--values")


def test_compare_says_that_grids_differ_a_little(tmp_path):
    a, _ = pair()
    near = AFFINE.copy()
    near[0, 3] += 0.01
    a, b = save(a, tmp_path / "a.nii"), save(a, tmp_path / "b.nii", affine=near)
    done = good("compare", a, b)
    assert "0.01 mm apart" in done.stderr
    assert "qoffset_x" in compare_json(a, b, code=0)["header_fields"]
    near[0, 3] += 1e-4 - 0.01
    rounding = good("compare", a, save(load(a), tmp_path / "c.nii", affine=near))
    assert rounding.stderr == ""


def test_compare_refuses(tmp_path):
    a, _ = pair()
    good_labels = save(a, tmp_path / "a.nii")
    halves = save(a.astype(np.float32) + 0.5, tmp_path / "half.nii")
    smaller = save(a[:-1], tmp_path / "smaller.nii")
    shifted = AFFINE.copy()
    shifted[2, 3] += 5
    moved = save(a, tmp_path / "moved.nii", affine=shifted)
    assert_one_line(lobule("compare", good_labels, smaller), 65, "smaller.nii", "23 x 19 x 17")
    assert_one_line(lobule("compare", good_labels, moved), 65, "moved.nii", "5 mm")
    assert_one_line(lobule("compare", good_labels, halves), 65, "half.nii")
    assert_one_line(lobule("compare", good_labels, tmp_path / "none.nii"), 66, "none.nii")
    assert_one_line(lobule("compare", good_labels), 64, "B is missing")
    for bad in ("x", "0", "3-2", "1,,2", "1,", "-1", "1-", "99999999999999999999"):
        assert_one_line(lobule("compare", good_labels, good_labels, f"--labels={bad}"), 64, "--labels")
    values = ("compare", good_labels, good_labels, "--values")
    assert_one_line(lobule(*values, "--no-surfaces"), 64, "--values")


# ---- phantom ----


def phantom(folder, kind, *options, name="scan"):
    files = {part: folder / f"{name}_{part}.nii.gz" for part in ("image", "truth", "seeds")}
    good("phantom", kind, "-o", files["image"], "--truth", files["truth"], "--seeds", files["seeds"],
         *options)  # fmt: skip
    return files


ABDOMEN = ("--size", "48,40,32", "--spacing", "7.5,6.5,7")


def test_phantom_abdomen(tmp_path):
    files = phantom(tmp_path, "abdomen", *ABDOMEN, "--report", tmp_path / "report.json")
    image, truth, seeds = (load(files[part]) for part in ("image", "truth", "seeds"))
    assert image.dtype == np.int16 and 0 <= image.min() and 1500 < image.max() <= 4095
    assert truth.dtype == np.uint8 and set(truth.flat) == set(range(1, 9))
    assert set(seeds.flat) == set(range(9))
    assert (seeds == truth)[seeds > 0].all()
    header = nibabel.load(files["image"])
    assert header.shape == (48, 40, 32)
    assert nibabel.aff2axcodes(header.affine) == ("R", "A", "S")
    np.testing.assert_allclose(header.header.get_zooms(), (7.5, 6.5, 7))
    middle = header.affine @ [23.5, 19.5, 15.5, 1]
    np.testing.assert_allclose(middle[:3], 0, atol=1e-4)
    labels = json.loads((tmp_path / "report.json").read_text())["results"]["labels"]
    assert [row["name"] for row in labels][:2] == ["background", "liver"]
    assert [row["voxels"] for row in labels] == np.bincount(truth.ravel())[1:].tolist()
    # The liver lies on the patient's right, the spleen on the left.
    assert np.argwhere(truth == 2)[:, 0].mean() > 24 > np.argwhere(truth == 4)[:, 0].mean()


def test_phantom_repeats_itself(tmp_path):
    first = phantom(tmp_path, "abdomen", *ABDOMEN, "--threads", 1, name="first")
    again = phantom(tmp_path, "abdomen", *ABDOMEN, "--threads", 3, name="again")
    other = phantom(tmp_path, "abdomen", *ABDOMEN, "--random-seed", 2, name="other")
    for part in first:
        assert first[part].read_bytes() == again[part].read_bytes()
        assert (load(first[part]) != load(other[part])).any()


def test_phantom_noise_and_bias(tmp_path):
    clean = phantom(tmp_path, "abdomen", *ABDOMEN, "--noise", 0, "--bias", 0, name="clean")
    noisy = phantom(tmp_path, "abdomen", *ABDOMEN, "--noise", 3, "--bias", 0, name="noisy")
    apart = load(noisy["image"]).astype(float) - load(clean["image"])
    bright = load(clean["image"]) > 1000  # where Rician noise is nearly normal
    assert apart[bright].std() == pytest.approx(0.03 * 4095, rel=0.1)
    assert (load(clean["truth"]) == load(noisy["truth"])).all()


@pytest.mark.parametrize("options", [(), ("--nuclei",), ("--type", "uint16")])
def test_phantom_cells(tmp_path, options):
    files = phantom(tmp_path, "cells", "--size", "56,48,24", "--cells", 10, *options)
    image, truth, seeds = (load(files[part]) for part in ("image", "truth", "seeds"))
    assert image.dtype == (np.uint16 if "uint16" in options else np.uint8)
    assert set(truth.flat) == set(range(1, 12))
    assert (seeds == truth)[seeds > 0].all() and set(seeds.flat) == set(range(12))
    for cell in range(2, 12):
        # One piece each, but for specks cut off by its bent border.
        pieces, _ = ndimage.label(truth == cell)
        assert np.bincount(pieces.ravel())[1:].max() > 0.97 * (truth == cell).sum()


def test_phantom_in_two_dimensions(tmp_path):
    good("phantom", "cells", "-o", tmp_path / "c.png", "--size", "200,150,1", "--cells", 30)
    head = (tmp_path / "c.png").read_bytes()[:24]
    assert struct.unpack(">II", head[16:]) == (200, 150)


def test_phantom_refuses(tmp_path):
    out = tmp_path / "x.nii"
    assert_one_line(lobule("phantom", "leg", "-o", out), 64, "leg")
    assert_one_line(lobule("phantom", "abdomen"), 64, "output")
    assert_one_line(lobule("phantom", "abdomen", "-o", out, "--size", "3,4.5,6"), 64, "4.5")
    assert_one_line(lobule("phantom", "abdomen", "-o", out, "--cells", 3), 64, "cells")
    crowded = ("--size", "16,16,16", "--cells", 500)
    assert_one_line(lobule("phantom", "cells", "-o", out, *crowded), 64, "500 cells")
    huge = ("--size", "1000000,1000000,1000000")
    assert_one_line(lobule("phantom", "abdomen", "-o", out, *huge), 64, "memory")
    large = ("--size", "100000,100000,100000")
    assert_one_line(lobule("phantom", "abdomen", "-o", out, *large), 75, "100000 x 100000 x 100000", "1.8 PiB")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind, least", [("abdomen", 0.95), ("cells", 0.7)])
def test_demonstration(tmp_path, kind, least):
    """GrowCut on the volumes of data/: the liver, and each cell at least roughly, is found."""
    data = ROOT / "data"
    labels = tmp_path / "labels.nii.gz"
    good("growcut", data / f"{kind}.nii.gz", data / f"{kind}_seeds.nii.gz", "-o", labels)
    result = compare_json(data / f"{kind}_truth.nii.gz", labels)
    assert result["labels"][1]["dice"] >= least  # 2: the liver, or the first cell
    assert result["mean"]["dice"] >= 0.8


def test_data_can_be_made_again(tmp_path):
    """The files of data/ are what lobule phantom draws today."""
    files = phantom(tmp_path, "abdomen", "--size", "90,64,53", "--spacing", "4,4,4", "--type", "uint8")
    for part, name in (("image", ""), ("truth", "_truth"), ("seeds", "_seeds")):
        assert (load(files[part]) == load(ROOT / "data" / f"abdomen{name}.nii.gz")).all()


# ---- preview ----


def preview(folder, image, *arguments):
    """Draw; returns the pixels and what the report says."""
    png, report = folder / "p.png", folder / "p.json"
    good("preview", image, *arguments, "-o", png, "--report", report, "--force")
    return imread(png), json.loads(report.read_text())["results"]


@pytest.mark.parametrize("name", ["p.jpg", "p", ".png", "png"])
def test_preview_wants_a_png_name(tmp_path, name):
    image = save(np.zeros((4, 4, 4), np.uint8), tmp_path / "image.nii")
    assert_one_line(lobule("preview", image, "-o", tmp_path / name), 64, name, ".png")
    assert list(tmp_path.iterdir()) == [image]


def test_preview_of_nothing_but_nan(tmp_path):
    image = save(np.full((9, 8, 7), np.nan, np.float32), tmp_path / "image.nii")
    done = good("preview", image, "-o", tmp_path / "p.png")
    assert "image.nii: every voxel is NaN or infinite" in done.stderr


def test_preview_planes(tmp_path):
    files = phantom(tmp_path, "abdomen", *ABDOMEN)
    pixels, report = preview(tmp_path, files["image"], files["truth"])
    assert list(pixels.shape[1::-1]) == report["pixels"]
    assert max(report["pixels"]) <= 1200
    views = {view["plane"]: view for view in report["views"]}
    assert list(views) == ["axial", "coronal", "sagittal"]
    assert (views["axial"]["left"], views["axial"]["top"]) == ("R", "A")
    assert (views["coronal"]["left"], views["coronal"]["top"]) == ("R", "S")
    assert (views["sagittal"]["left"], views["sagittal"]["top"]) == ("A", "S")
    assert (np.ptp(pixels.astype(int), axis=2) > 40).mean() > 0.05  # labels are coloured
    plain, _ = preview(tmp_path, files["image"], "--plane", "axial", "--at", "24,20,16")
    grey = np.ptp(plain.astype(int), axis=2) == 0
    assert grey.mean() > 0.8  # all but letters and paper


def corner(tmp_path, voxels, affine, *options):
    """Where the bright corner of a volume is drawn in an axial view: (right half?, lower half?)."""
    path = save(voxels, tmp_path / "corner.nii", affine=affine)
    pixels, report = preview(tmp_path, path, "--plane", "axial", "--window", "0,100", *options)
    scale = report["pixels_per_mm"]
    x, y = report["views"][0]["x"], report["views"][0]["y"]
    width, height = (int(n * scale) for n in (30 * 2, 20 * 4))
    view = pixels[y : y + height, x : x + width].astype(int)
    # The lower third of each quarter of the view is free of letters near its outer quarter.
    quarter = {}
    for right in (0, 1):
        for low in (0, 1):
            rows = slice(height // 8 + low * 5 * height // 8, 2 * height // 8 + low * 5 * height // 8)
            columns = slice(width // 8 + right * 5 * width // 8, width // 4 + right * 5 * width // 8)
            quarter[right, low] = np.median(view[rows, columns])
    return max(quarter, key=quarter.get)


@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (1, -1), (-1, -1)])
def test_preview_turns_to_the_patient(tmp_path, signs):
    """A bright block at the patient's right front is drawn upper left, whatever the storage."""
    voxels = np.zeros((30, 20, 6), np.int16)
    affine = np.diag([2.0 * signs[0], 4.0 * signs[1], 3, 1])
    x = slice(15, 30) if signs[0] > 0 else slice(0, 15)
    y = slice(10, 20) if signs[1] > 0 else slice(0, 10)
    voxels[x, y] = 100
    assert corner(tmp_path, voxels, affine) == (0, 0)
    assert corner(tmp_path, voxels, affine, "--convention", "neurological") == (1, 0)


def test_preview_keeps_mm_square(tmp_path):
    path = save(np.zeros((30, 20, 6), np.int16), tmp_path / "v.nii", affine=np.diag([1, 3, 2, 1.0]))
    pixels, report = preview(tmp_path, path, "--plane", "axial", "--size", 600)
    strip = 40
    assert report["pixels_per_mm"] * 60 <= 600
    assert abs(pixels.shape[0] - 2 * pixels.shape[1]) <= strip


def test_preview_montage(tmp_path):
    files = phantom(tmp_path, "abdomen", *ABDOMEN)
    _, report = preview(
        tmp_path, files["image"], files["truth"], "--montage", 6, "--plane", "coronal", "--hide", "1"
    )
    slices = [view["slice"] for view in report["views"]]
    rows = np.argwhere(load(files["truth"]) > 1)[:, 1]
    assert len(slices) == 6 and slices == sorted(set(slices))
    assert rows.min() <= slices[0] and slices[-1] <= rows.max()
    _, report = preview(tmp_path, files["image"], "--montage", 400)
    assert len(report["views"]) == 32  # no more than there are


def test_preview_meets_where_it_is_told(tmp_path):
    files = phantom(tmp_path, "abdomen", *ABDOMEN)
    _, report = preview(tmp_path, files["image"], "--at", "10,20,30")
    assert report["planes_meet_at"] == [10, 20, 30]
    assert [view["slice"] for view in report["views"]] == [30, 20, 10]
    truth = load(files["truth"])
    _, report = preview(tmp_path, files["image"], files["truth"], "--hide", "1,2,3,5,6,7,8")
    middle = np.argwhere(truth == 4).mean(0)
    np.testing.assert_allclose(report["planes_meet_at"], middle, atol=0.51)
    _, again = preview(tmp_path, files["image"], files["truth"], "--hide", "1-3,5-8")
    assert again == report


def test_preview_times_add_up(tmp_path):
    """Drawing is one stage and writing another: no second is counted twice."""
    files = phantom(tmp_path, "abdomen", *ABDOMEN)
    report = tmp_path / "r.json"
    good("preview", files["image"], "-o", tmp_path / "p.png", "--report", report, "--size", 4000)
    seconds = json.loads(report.read_text())["seconds"]
    total = seconds.pop("total")
    assert seconds["compress"] > 0 and seconds["write"] > 0 and seconds["other"] >= 0
    assert sum(seconds.values()) == pytest.approx(total)


@pytest.mark.parametrize("shape", [(1, 1, 1), (40, 1, 1), (1, 30, 20), (17, 1, 20), (2, 2, 2)])
@pytest.mark.parametrize("size", [64, 700])
def test_preview_of_thin_volumes(tmp_path, shape, size):
    voxels = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    voxels.flat[0] = np.nan
    pixels, _ = preview(tmp_path, save(voxels, tmp_path / "v.nii"), "--size", size)
    assert max(pixels.shape) <= size


def test_preview_is_the_same_again(tmp_path):
    files = phantom(tmp_path, "cells", "--size", "40,40,10", "--cells", 5)
    for name, threads in (("a.png", 1), ("b.png", 3)):
        good("preview", files["image"], files["truth"], "-o", tmp_path / name, "--threads", threads)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_preview_refuses(tmp_path):
    image = save(np.zeros((5, 6, 7), np.int16), tmp_path / "v.nii")
    other = save(np.ones((5, 6, 8), np.uint8), tmp_path / "other.nii", affine=np.eye(4))
    out = tmp_path / "p.png"
    assert_one_line(lobule("preview", image), 64, "output")
    assert_one_line(lobule("preview", image, other, "-o", out), 65, "other.nii")
    assert_one_line(lobule("preview", image, "-o", out, "--at", "9,1,1"), 64, "--at")
    assert_one_line(lobule("preview", image, "-o", out, "--window", "5,5"), 64, "--window")
    for bad in ("a", "3-2", "1,,2", "1,", "0"):
        assert_one_line(lobule("preview", image, "-o", out, "--hide", bad), 64, "--hide")
    assert_one_line(lobule("preview", image, "-o", tmp_path / "no" / "p.png"), 73, "no")
    assert not out.exists()
    out.write_text("kept")
    assert_one_line(lobule("preview", image, "-o", out), 72, "p.png")
    assert out.read_text() == "kept"


def test_strokes_farther_apart(tmp_path):
    """The same scan, with strokes on fewer slices."""
    for gap in (16, 40):
        good("phantom", "abdomen", "-o", f"{gap}.nii", "--seeds", f"s{gap}.nii", "--size", "60,44,54", "--spacing", "6,6,4",
             "--stroke-gap", gap, cwd=tmp_path)
    assert (tmp_path / "16.nii").read_bytes() == (tmp_path / "40.nii").read_bytes()
    few, many = (np.flatnonzero(load(tmp_path / f"s{gap}.nii").any((0, 1))) for gap in (40, 16))
    assert 4 <= len(few) <= 7 and 2 * len(few) < len(many)
    assert_one_line(lobule("phantom", "cells", "-o", "c.nii", "--stroke-gap", "20", cwd=tmp_path), 64, "--stroke-gap")


def test_strokes_as_a_person_draws_them(tmp_path):
    """A line in each organ on a drawn slice, arcs around, all in their own region and few."""
    good("phantom", "abdomen", "-o", "a.nii", "--truth", "t.nii", "--strokes", "s.nii", "--size", "128,92,80",
         "--spacing", "3,3,4", cwd=tmp_path)  # fmt: skip
    truth, strokes = (load(tmp_path / f"{name}.nii") for name in "ts")
    assert ((strokes == 0) | (strokes == truth)).all() and np.unique(strokes).tolist() == list(range(9))
    drawn = np.flatnonzero(strokes.any((0, 1)))
    assert 4 <= len(drawn) <= 6 and np.diff(drawn).min() >= 9  # 40 mm of a body that is as high as the field
    share = (strokes[:, :, drawn] > 0).mean()
    assert 0.01 < share < 0.06
    for z in drawn:
        for label in range(2, 9):
            line = strokes[:, :, z] == label
            assert ndimage.label(line, np.ones((3, 3)))[1] <= 1 and line.sum() <= 128
    liver = [(strokes[:, :, z] == 2).sum() for z in drawn]
    assert max(liver) > 25
    for kind, options, named in (("cells", ("--strokes", "x.nii"), "--strokes"),
                                 ("abdomen", ("--strokes", "x.nii", "--seeds", "y.nii"), "--seeds")):  # fmt: skip
        assert_one_line(lobule("phantom", kind, "-o", "c.nii", *options, cwd=tmp_path), 64, named)


def test_two_scans_taken_for_labels_end_soon(tmp_path):
    """Surfaces of three thousand labels all over the volume would take hours."""
    rng = np.random.default_rng(2)
    for name in ("a", "b"):
        save(rng.integers(0, 3000, (200, 200, 60)).astype(np.int16), tmp_path / f"{name}.nii")
    done = lobule("compare", "a.nii", "b.nii", cwd=tmp_path, timeout=60)
    assert_one_line(done, 65, "a.nii: has 2999 labels", "as in a scan", "--values", "--no-surfaces")
    good("compare", "a.nii", "b.nii", "--values", cwd=tmp_path)
    assert "different" in good("compare", "a.nii", "b.nii", "--no-surfaces", cwd=tmp_path).stdout
