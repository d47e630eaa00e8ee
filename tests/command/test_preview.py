"""lobule preview beyond planes and montages: contours, projections, a legend with names."""

import json
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
from conftest import ROOT, assert_one_line, good, load, lobule, save
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


def torso():
    """Air around, a body of fat and soft tissue, in it lungs, and a tenth of all is bone: a CT, and where lungs are."""
    random = np.random.default_rng(4)
    scan = np.full((40, 40, 40), -1000)
    scan[8:32, 8:32] = -100
    scan[10:30, 10:30] = 50
    lungs = np.zeros(scan.shape, bool)
    lungs[12:28, 12:28, :12] = True
    scan[lungs] = -850
    scan[18:22, 26:30] = 600
    return scan + random.normal(0, 15, scan.shape), lungs


def test_a_ct_is_shown_by_its_body(tmp_path):
    scan, lungs = torso()
    image = save(scan.astype(np.int16), tmp_path / "ct.nii.gz")
    organ = save((scan > 0).astype(np.uint8), tmp_path / "organ.nii.gz")
    for labels in ([], [organ]):
        low, high = draw(tmp_path, image, *labels)[1]["window"]
        assert -200 <= low < -60 and 50 < high < 700
    # What is labelled is to be seen, dark or not
    low, high = draw(tmp_path, image, save(lungs.astype(np.uint8), tmp_path / "lungs.nii.gz"))[1]["window"]
    assert low < -850 < 50 < high
    # The same greys are no CT without its units
    image = save((scan + 1024).astype(np.int16), tmp_path / "mr.nii.gz")
    assert np.allclose(draw(tmp_path, image)[1]["window"], np.percentile(load(image), [2, 98]), atol=2)


@pytest.mark.parametrize("name", [
    "totalsegmentator/example_ct", "totalsegmentator/example_ct_sm", "totalsegmentator/example_ct_dicom", "totalsegmentator/example_mr_sm",
    "chaos-mr/image_1", "chaos-mr/image_22", "sct-spinal-cord/t2", "pyradiomics-brain-tumour/brain1_image",
])  # fmt: skip
def test_windows_of_real_scans(tmp_path, name, shared):
    image = shared / "data" / f"{name}.nii.gz"
    low, high = draw(tmp_path, image)[1]["window"]
    if "_ct" in name:
        assert -160 <= low <= -80 and 150 <= high <= 500  # fat is dark, soft tissue grey, bone white
    else:
        values = load(image).ravel()
        assert abs((values < low).mean() - 0.02) < 0.03 and abs((values <= high).mean() - 0.98) < 0.005


@pytest.mark.parametrize("width", [0, 1, 5])
def test_contours_are_as_wide_as_asked(tmp_path, width):
    image = save(np.zeros(SHAPE, np.int16), tmp_path / "v.nii")
    cube = np.zeros(SHAPE, np.uint8)
    cube[8:22, 6:18] = 3
    labels = save(cube, tmp_path / "l.nii")
    pixels, report = draw(tmp_path, image, labels, "--plane", "axial", "--alpha", 0, "--contour", width, "--hide", "none")
    box = report["views"][0]
    row = pixels[box["y"] + int(1.5 * 9.5 * report["pixels_per_mm"])]  # through the cube, above the letters
    inked = np.ptp(row, axis=1)
    inked[inked == 6] = 0  # paper
    if width == 0:
        assert inked.max() == 0
        return
    covered = inked / 158  # that of the third colour; a pixel that the line covers by half counts half
    left, right = np.flatnonzero(covered)[[0, -1]]
    middle = (left + right) // 2
    for side in (covered[:middle], covered[middle:]):
        assert abs(side.sum() - width) < 0.1
    ends = [left + 1 - covered[left], right + covered[right]]
    assert abs(ends[1] - ends[0] - 14 * 1.5 * report["pixels_per_mm"]) <= 0.3


def affine_of(code):
    signs = [1 if letter in "RAS" else -1 for letter in code]
    return np.diag([2.0 * signs[0], 2.0 * signs[1], 3.0 * signs[2], 1])


@pytest.mark.parametrize("convention, near", [("radiological", "IAL"), ("neurological", "SPR")])
@pytest.mark.parametrize("code", ["RAS", "LPI"])
def test_projections(tmp_path, code, convention, near):
    """The picture of a projection is that of a slice which holds the maxima and the labels seen first."""
    rng = np.random.default_rng(3)
    scan = rng.integers(0, 1000, SHAPE).astype(np.int16)
    labels = (rng.random(SHAPE) < 0.5).astype(np.uint8) * rng.integers(1, 4, SHAPE).astype(np.uint8)
    affine = affine_of(code)
    image, regions = save(scan, tmp_path / "v.nii", affine), save(labels, tmp_path / "l.nii", affine)
    options = ["--window", "300,1000", "--hide", "2", "--convention", convention, "--size", 640]
    seen = np.where(labels == 2, 0, labels)
    for plane, axis in (("axial", 2), ("coronal", 1), ("sagittal", 0)):
        flat = np.broadcast_to(scan.max(axis, keepdims=True), SHAPE).copy()
        at_end = code[axis] == near[2 - axis]
        ahead = np.flip(seen, axis) if at_end else seen
        first = np.take_along_axis(ahead, (ahead > 0).argmax(axis, keepdims=True), axis)
        other = save(np.broadcast_to(np.where(first == 0, 2, first), SHAPE).copy(),  # 2 is not drawn
                      tmp_path / "fl.nii", affine)
        plain, where = draw(tmp_path, save(flat, tmp_path / "fv.nii", affine), other, "--plane", plane, *options)
        shown, report = draw(tmp_path, image, regions, "--plane", plane, "--mip", *options)
        ends = report["views"][0]["slices"]
        assert sorted(ends) == [0, SHAPE[axis] - 1] and (ends[0] > ends[1]) == at_end
        assert report["pixels_per_mm"] == where["pixels_per_mm"]
        size = [round(n * s * report["pixels_per_mm"]) for n, s in zip(np.delete(SHAPE, axis), np.delete([2, 2, 3], axis), strict=True)]
        box = report["views"][0]
        a, b = (x[box["y"] + 20 :, box["x"] :][: size[1] - 20, : size[0]] for x in (shown, plain))
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
        bottom = max(v["y"] for v in report["views"]) + round(SHAPE[2] * 2.5 * report["pixels_per_mm"])
        if pixels.shape != pictures[1][0].shape:  # a long name may take a line more
            assert pixels is pictures[2][0]
            continue
        changed = (pixels != pictures[1][0]).any(2)
        assert not changed[:bottom].any()
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
    assert named.shape[1] == plain.shape[1]
    for i in range(1, 9):
        swatches = (named == (0x10, 0xC0, 0xE0 + i)).all(2)
        assert swatches[-80:].sum() >= 144 and swatches[: -80].any()
        assert not (plain == (0x10, 0xC0, 0xE0 + i)).all(2).any()


def test_a_sheet_shows_every_slice_with_strokes(tmp_path):
    """As many columns of three as there are such slices, in several lines where they are many."""
    good("phantom", "abdomen", "-o", "scan.nii", "--seeds", "seeds.nii", "--size", "48,36,30", "--spacing", "8,8,10", cwd=tmp_path)
    scan = nibabel.load(tmp_path / "scan.nii")
    all_seeds = np.array(load(tmp_path / "seeds.nii"))
    drawn = [z for z in range(30) if all_seeds[:, :, z].any()]
    for most in (2, len(drawn)):
        some = all_seeds.copy()
        some[:, :, drawn[most - 1] + 1 :] = 0
        save(some, tmp_path / "some.nii", affine=scan.affine)
        good("segment", "scan.nii", "some.nii", "-o", "o.nii", "--sheet", "s.png", "--force", cwd=tmp_path)
        paper = (imread(tmp_path / "s.png") == (18, 20, 24)).all(2)
        columns, rows = ((np.diff(line.astype(int)) == -1).sum() for line in (paper[30], paper[:, 12]))
        rows -= 1  # the first name
        assert rows % 3 == 0 and 0 <= columns * rows // 3 - most < columns


# ---- outlines, colours, bodies ----


def cut_out(pixels, report, view, size):
    """The pixels of a view whose slice is `size` mm."""
    box = report["views"][view]
    wide, tall = (int(x * report["pixels_per_mm"] + 0.5) for x in size)
    return pixels[box["y"] : box["y"] + tall, box["x"] : box["x"] + wide]


def test_the_middle_of_each_voxel_shows_its_label(tmp_path):
    """Whatever lies around it: outlines are smooth, and nothing thin is lost."""
    rng = np.random.default_rng(4)
    labels = (rng.random((23, 19, 1)) < 0.6) * rng.integers(1, 5, (23, 19, 1))
    image = save(np.zeros(labels.shape, np.int16), tmp_path / "v.nii", np.diag([1, 1, 1, 1.0]))
    colours = {1: "#ff0000", 2: "#00ff00", 3: "#0000ff", 4: "#ff00ff"}
    table = tmp_path / "names.tsv"
    table.write_text("index\tname\tcolor\n" + "".join(f"{i}\tn{i}\t{c}\n" for i, c in colours.items()))
    save(labels.astype(np.uint8), tmp_path / "l.nii", np.diag([1, 1, 1, 1.0]))
    good("convert", "l.nii", "named.nii", "--labels", "--label-table", table, cwd=tmp_path)
    pixels, report = draw(tmp_path, image, tmp_path / "named.nii", "--alpha", 1, "--contour", 0, "--hide", "none", "--size", 900)
    view = cut_out(pixels, report, 0, (23, 19))
    wanted = {0: (0, 0, 0)} | {i: tuple(int(c[k : k + 2], 16) for k in (1, 3, 5)) for i, c in colours.items()}
    seen = 0
    for x in range(23):
        for y in range(19):
            at = view[int((18 - y + 0.5) / 19 * view.shape[0]), int((22 - x + 0.5) / 23 * view.shape[1])]
            if y < 17 and 3 < y and 4 < x < 18:  # away from letters and the bar
                assert tuple(at) == wanted[labels[x, y, 0]]
                seen += 1
    assert seen > 150


def test_outlines_are_smooth(tmp_path):
    """A disc of voxels is drawn round: its border strays by far less than the steps of its voxels."""
    n, radius = 41, 13.0
    x, y = np.mgrid[:n, :n] - n // 2
    disc = (np.hypot(x, y) < radius).astype(np.uint8)[..., None]
    image = save(np.zeros(disc.shape, np.int16), tmp_path / "v.nii", np.eye(4))
    labels = save(disc, tmp_path / "l.nii", np.eye(4))
    pixels, report = draw(tmp_path, image, labels, "--alpha", 1, "--contour", 0, "--hide", "none", "--size", 800)
    view = np.ptp(cut_out(pixels, report, 0, (n, n)), axis=2).astype(float)
    view /= view.max()
    scale = view.shape[0] / n
    assert abs(view[60:-60, 60:-60].sum() / scale**2 - disc.sum()) < 0.01 * disc.sum()
    assert ((view > 0.05) & (view < 0.95)).sum() > 200  # pixels that are covered in part
    middle = view.shape[0] / 2
    v, u = np.argwhere((view > 0.3) & (view < 0.7)).T
    away = np.hypot(u + 0.5 - middle, v + 0.5 - middle) / scale
    away = away[np.abs(away - radius) < 2]
    steps = [np.hypot(i, j) for i, j in np.argwhere(disc[..., 0] != np.roll(disc[..., 0], 1, 0)) - [n // 2 + 0.5, n // 2]]
    assert away.size > 100 and away.std() < 0.8 * np.std(steps)


EYES = [np.eye(3), [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
        [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]]  # fmt: skip


def least_difference(a, b):
    """Of two colours in Oklab, to eyes with all cones, without red and without green ones."""
    one = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]])
    two = np.array([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])
    found = []
    for eye in EYES:
        light = [np.clip(np.array(eye) @ (np.array(c) / 255) ** 2.2, 0, 1) for c in (a, b)]
        p, q = (two @ np.cbrt(one @ v) for v in light)
        found.append(np.linalg.norm(p - q))
    return min(found)


def test_neighbours_have_different_colours(tmp_path):
    """Forty labels that all touch others: no two that touch look alike, to colour-blind eyes either."""
    rng = np.random.default_rng(6)
    points = rng.random((40, 2)) * 60
    x, y = np.mgrid[:60, :60]
    cells = np.argmin((x[..., None] - points[:, 0]) ** 2 + (y[..., None] - points[:, 1]) ** 2, axis=-1) + 1
    image = save(np.zeros((60, 60, 1), np.int16), tmp_path / "v.nii", np.eye(4))
    labels = save(cells[..., None].astype(np.uint8), tmp_path / "l.nii", np.eye(4))
    pixels, report = draw(tmp_path, image, labels, "--alpha", 1, "--contour", 0, "--hide", "none")
    view = cut_out(pixels, report, 0, (60, 60))
    colour = {}
    for label in range(1, 41):
        at = np.argwhere(cells == label)
        places = [(int((59 - b + 0.5) / 60 * view.shape[0]), int((59 - a + 0.5) / 60 * view.shape[1])) for a, b in at]
        seen, count = np.unique([view[p] for p in places], axis=0, return_counts=True)
        colour[label] = seen[count.argmax()]
    pairs = {tuple(sorted(p)) for a, b in ((cells[1:], cells[:-1]), (cells[:, 1:], cells[:, :-1]))
             for p in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True) if p[0] != p[1]}  # fmt: skip
    assert len(pairs) > 80
    assert min(least_difference(colour[a], colour[b]) for a, b in pairs) > 0.06


@pytest.mark.parametrize("convention", ["radiological", "neurological"])
@pytest.mark.parametrize("code", ["RAS", "LPI", "LAS"])
def test_the_body_is_seen_from_the_front(tmp_path, code, convention):
    """The patient's right is at the left (from behind at the right), the head on top, and what lies in front hides."""
    shape = (40, 40, 40)
    labels = np.zeros(shape, np.uint8)  # as RAS: right, left, on top, in front of a label, behind it
    labels[2:8, 18:24, 26:31] = 1
    labels[32:38, 18:24, 26:31] = 2
    labels[17:23, 18:24, 33:39] = 3
    labels[4:36, 32:36, 2:24] = 4
    labels[4:36, 6:10, 2:24] = 5
    # RAS: index 0 grows to the right, so that low x is the patient's left
    turned = labels[:: 1 if code[0] == "R" else -1, :: 1 if code[1] == "A" else -1, :: 1 if code[2] == "S" else -1]
    affine = affine_of(code)
    image, regions = save(np.zeros(shape, np.int16), tmp_path / "v.nii", affine), tmp_path / "named.nii"
    names = {i: (f"n{i}", c) for i, c in enumerate(("#ff0000", "#00ff00", "#0000ff", "#ff00ff", "#ffff00"), 1)}
    save(np.ascontiguousarray(turned), tmp_path / "labels.nii", affine)
    table = tmp_path / "names.tsv"
    table.write_text("index\tname\tcolor\n" + "".join(f"{i}\t{n}\t{c}\n" for i, (n, c) in names.items()))
    good("convert", "labels.nii", regions, "--labels", "--label-table", table, "--force", cwd=tmp_path)
    pixels, report = draw(tmp_path, image, regions, "--hide", "none", "--convention", convention)
    axial, sagittal = report["views"][0], report["views"][2]
    body = pixels[axial["y"] : sagittal["y"] - 8, sagittal["x"] :]
    places = {}
    for label, (_, colour) in names.items():
        on = [i for i, k in enumerate((1, 3, 5)) if colour[k : k + 2] == "ff"]
        off = [i for i in range(3) if i not in on]
        lit = (body[..., on].min(-1) > 60) & (body[..., off].max(-1, initial=0) < 0.7 * body[..., on].min(-1))
        places[label] = np.argwhere(lit).mean(0) if lit.any() else None, lit.sum()
    sizes = {k: v[1] for k, v in places.items()}
    (y1, x1), (y2, x2), (y3, _) = (places[i][0] for i in (1, 2, 3))
    assert (x1 > x2) == (convention == "radiological")  # low x is the left, at the right seen from the front
    assert y3 < min(y1, y2)
    near, far = (4, 5) if convention == "radiological" else (5, 4)
    assert sizes[near] > 1.5 * sizes[far] and sizes[near] > 200
    hidden, _ = draw(tmp_path, image, regions, "--hide", str(near), "--convention", convention)
    assert not (hidden == pixels).all()


# ---- letters ----


def test_letters_are_those_of_the_font():
    """glyphs.bin is what make_glyphs.py makes of Debian's font."""
    maker = ROOT / "tools/picture/make_glyphs.py"
    font = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")
    if not font.exists():
        pytest.skip("no DejaVu Sans; on Debian: apt-get install fonts-dejavu-core")
    made = subprocess.run([sys.executable, maker, font], capture_output=True, check=True).stdout
    assert made == (ROOT / "tools/picture/glyphs.bin").read_bytes()


def test_names_in_any_script_are_written(tmp_path):
    """Each letter of Latin, Greek and Cyrillic has a shape of its own; what has none becomes one mark."""
    cube = np.zeros(SHAPE, np.uint8)
    cube[8:22, 6:18, 5:15] = 3
    image = save(np.zeros(SHAPE, np.int16), tmp_path / "v.nii")
    seen = {}
    for name in ("nnn", "nñn", "nλn", "nжn", "nßn", "n\u4e2dn", "n\u6587n"):
        seen[name] = draw(tmp_path, image, labelled(tmp_path, cube, {3: (name, "#10c0f0")}))[0]
    marks = [seen.pop("n\u4e2dn"), seen.pop("n\u6587n")]
    assert np.array_equal(*marks)
    pictures = [*seen.values(), marks[0]]
    for i, a in enumerate(pictures):
        assert not any(a.shape == b.shape and np.array_equal(a, b) for b in pictures[:i])


def test_preview_refuses_widths(tmp_path):
    image = save(np.zeros((5, 6, 7), np.int16), tmp_path / "v.nii")
    for bad in ("-1", "13", "1.5", "x"):
        assert_one_line(lobule("preview", image, "-o", tmp_path / "p.png", "--contour", bad), 64, "--contour")
    assert not (tmp_path / "p.png").exists()


def test_preview_notices_a_scan_in_the_place_of_labels(tmp_path):
    scan = np.random.default_rng(2).integers(1, 900, SHAPE)
    image = save(scan.astype(np.int16), tmp_path / "scan.nii.gz")
    labels = save((np.indices(SHAPE)[0] > 10).astype(np.uint8), tmp_path / "labels.nii.gz")
    out = tmp_path / "p.png"
    assert_one_line(lobule("preview", labels, image, "-o", out), 65, "as in a scan", "swapped? The image comes first")
    assert not out.exists()
    good("preview", image, labels, "-o", out)


@pytest.mark.parametrize("how", [["--mip"], []])
def test_what_is_not_finite_is_black(tmp_path, how):
    values = np.random.default_rng(5).random(SHAPE).astype(np.float32)
    pictures = []
    for odd in (np.inf, -np.inf, np.nan):
        values[10:20, 8:16, 5:15:2] = odd
        image = save(values, tmp_path / "v.nii")
        pictures.append(draw(tmp_path, image, "--window", "0,1", "--at", "15,12,11", *how)[0])
    assert np.array_equal(pictures[0], pictures[2]) and np.array_equal(pictures[1], pictures[2])
