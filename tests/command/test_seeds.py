"""Seeds from points, labels and seeds: where they come to lie, and what is refused."""

import json

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, SHAPE, good, load, refused, save, scan_array
from scipy import ndimage

SPACING = np.linalg.norm(AFFINE[:3, :3], axis=0)
TURN = np.array([[0.8, -0.6, 0, 3], [0.6, 0.8, 0, 4], [0, 0, 1, 5], [0, 0, 0, 1.0]])
OBLIQUE = TURN @ AFFINE @ np.array([[1, 0.2, 0, 0], [0, 1, 0.3, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def world(affine, *voxel):
    return affine[:3, :3] @ voxel + affine[:3, 3]


def centres(affine):
    return np.einsum("ab,bxyz->xyza", affine[:3, :3], np.indices(SHAPE)) + affine[:3, 3]


def markups(points, system="LPS", **more):
    """A .mrk.json as 3D Slicer 5 writes it; points are RAS, named, and defined or not."""
    sign = np.array([-1, -1, 1]) if system == "LPS" else 1
    return json.dumps({
        "@schema": "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/Schema/"
                   "markups-schema-v1.0.3.json#",
        "markups": [{
            "type": "Fiducial", "coordinateSystem": system, "coordinateUnits": "mm", "locked": False,
            "controlPoints": [
                {"id": str(i + 1), "label": name, "position": (sign * np.asarray(at, float)).tolist(), "selected": True, "positionStatus": status}
                for i, (at, name, status) in enumerate(points)
            ], **more,
        }],
    })  # fmt: skip


def fcsv(points, system):
    sign = 1 if system in ("RAS", "0") else np.array([-1, -1, 1])
    lines = ["# Markups fiducial file version = 4.11", f"# CoordinateSystem = {system}",
             "# columns = id,x,y,z,ow,ox,oy,oz,vis,sel,lock,label,desc,associatedNodeID"]  # fmt: skip
    for i, (at, name) in enumerate(points):
        x, y, z = sign * at
        lines.append(f"vtkMRMLMarkupsFiducialNode_{i},{x},{y},{z},0,0,0,1,1,1,0,{name},,vtkMRMLScalarVolumeNode1")
    return "\n".join(lines) + "\n"


def seeds_of(folder, *arguments, image="image.nii", out="out.nii"):
    good("seeds", image, *arguments, "-o", out, "--report", "r.json", "--force", cwd=folder)
    return load(folder / out)


def results(folder):
    return json.loads((folder / "r.json").read_text())["results"]


PLACES = [((4, 5, 6), "F-1", 1), ((10, 11, 3), "3", 3)]


@pytest.mark.parametrize("affine", [AFFINE, OBLIQUE], ids=["straight", "oblique and sheared"])
@pytest.mark.parametrize("kind", ["LPS json", "RAS json", "fcsv LPS", "fcsv RAS", "fcsv 0", "fcsv 1", "tsv mm", "csv mm", "tsv voxels"])
def test_points(tmp_path, kind, affine):
    """A point of every kind of file lands in its voxel, with its label."""
    save(scan_array(), tmp_path / "image.nii", affine=affine)
    rows = [(world(affine, *at), name, label) for at, name, label in PLACES]
    if kind.endswith("json"):
        points = [*((at, name, "defined") for at, name, _ in rows), (rows[0][0] + 4, "5", "undefined")]
        name, text = "p.mrk.json", markups(points, kind[:3])
    elif kind.startswith("fcsv"):
        name, text = "p.fcsv", fcsv([row[:2] for row in rows], kind.split()[1])
    elif kind.endswith("mm"):
        gap = "," if kind == "csv mm" else "\t"
        lines = [["label", "note", "x", "y", "z"]] + [[label, "a b", *map(repr, map(float, at))] for at, _, label in rows]
        name, text = "p." + kind[:3], "\ufeff" + "\r\n".join(gap.join(map(str, line)) for line in lines)
    else:
        lines = [["I", "J", "K", "Label"]] + [[*at, label] for at, _, label in PLACES]
        name, text = "p.tsv", "\n".join("\t".join(map(str, line)) for line in lines) + "\n\n"
    (tmp_path / name).write_text(text, encoding="utf-8")
    want = np.zeros(SHAPE, np.uint8)
    for at, _, label in PLACES:
        want[at] = label
    got = seeds_of(tmp_path, "--points", name)
    assert got.dtype == np.uint8 and np.array_equal(got, want)
    assert np.allclose(nibabel.load(tmp_path / "out.nii").affine, affine, atol=1e-5)
    assert results(tmp_path) == {"points": 2, "points_outside": 0, "seeds": 2, "conflicts": 0}
    entry = json.loads((tmp_path / "r.json").read_text())["inputs"][1]
    assert entry["role"] == "points" and entry["path"] == name and len(entry["sha256"]) == 64


@pytest.mark.parametrize(("name", "label"), [("7", 7), (" 7", 7), ("7.0", 7), ("7 ", 7), ("F-7", 1), ("7b", 1), ("", 1), ("-", 1)])
def test_names_that_are_numbers_are_labels_in_every_kind_of_file(tmp_path, name, label):
    save(scan_array(), tmp_path / "image.nii")
    at = world(AFFINE, *PLACES[0][0])
    (tmp_path / "p.mrk.json").write_text(markups([(at, name, "defined")]))
    assert seeds_of(tmp_path, "--points", "p.mrk.json").max() == label
    (tmp_path / "p.fcsv").write_text(fcsv([(at, name)], "LPS"))
    assert seeds_of(tmp_path, "--points", "p.fcsv").max() == label


@pytest.mark.parametrize("affine", [AFFINE, OBLIQUE], ids=["straight", "oblique and sheared"])
def test_balls(tmp_path, affine):
    """On voxels that are no cubes a ball is one in the world; a table's radius counts before --radius."""
    save(scan_array(), tmp_path / "image.nii", affine=affine)
    rows = [((10.3, 8.6, 5.2), 1, None), ((2.0, 17.0, 1.0), 2, 3.1), ((19.4, 3.4, 9.4), 7, 0)]
    lines = ["i\tj\tk\tlabel"] + ["\t".join(map(str, (*at, label))) for at, label, radius in rows if radius is None]
    (tmp_path / "plain.tsv").write_text("\n".join(lines))
    lines = ["x\ty\tz\tlabel\tradius"]
    lines += ["\t".join(map(repr, [*map(float, world(affine, *at)), label, radius])) for at, label, radius in rows if radius is not None]
    (tmp_path / "sized.tsv").write_text("\n".join(lines))
    want = np.zeros(SHAPE, np.uint8)
    for at, label, radius in rows:
        away = np.linalg.norm(centres(affine) - world(affine, *at), axis=-1)
        want[away <= (6.5 if radius is None else radius)] = label
        want[tuple(np.floor(np.array(at) + 0.5).astype(int))] = label
    got = seeds_of(tmp_path, "--points", "plain.tsv", "--points", "sized.tsv", "--radius", "6.5mm")
    assert np.array_equal(got, want) and (want > 0).sum() > 150
    in_voxels = np.sum((np.moveaxis(np.indices(SHAPE), 0, -1) - np.array(rows[0][0])) ** 2, axis=-1) <= 9
    assert np.array_equal(seeds_of(tmp_path, "--points", "plain.tsv", "--radius", "3vox"), in_voxels)


def test_fields_left_out(tmp_path):
    """Where a row has no label or radius, the options count."""
    save(scan_array(), tmp_path / "image.nii")
    (tmp_path / "p.tsv").write_text("i\tj\tk\tlabel\tradius\n5\t5\t5\t\t0\n9\t9\t5\t3\t n/a\n15\t5\t5\n")
    (tmp_path / "q.tsv").write_text("i\tj\tk\tlabel\tradius\n5\t5\t5\t4\t0\n9\t9\t5\t3\t2\n15\t5\t5\t4\t2\n")
    got = seeds_of(tmp_path, "--points", "p.tsv", "--label", "4", "--radius", "2mm")
    assert np.array_equal(got, seeds_of(tmp_path, "--points", "q.tsv", "--force")) and (got == 4).sum() > 2


@pytest.fixture
def labelled(tmp_path):
    """An image, two labels that touch, and one that is thin."""
    save(scan_array(), tmp_path / "image.nii")
    labels = np.zeros(SHAPE, np.uint16)
    labels[3:20, 3:10, 1:10] = 300
    labels[3:20, 10:16, 1:10] = 2
    labels[4, 18, 1:10] = 9
    save(labels, tmp_path / "labels.nii")
    return tmp_path, labels


def ball(radius, spacing):
    sides = [int(radius / side) for side in spacing]
    offsets = np.stack(np.meshgrid(*(np.arange(-n, n + 1) for n in sides), indexing="ij"), -1)
    return ((offsets * spacing) ** 2).sum(-1) <= radius * radius * (1 + 1e-6)


@pytest.mark.parametrize("text, radius, spacing", [("3mm", 3, SPACING), ("1.5", 1.5, SPACING), ("2vox", 2, np.ones(3))])
def test_erode_as_scipy_does(labelled, text, radius, spacing):
    """Each label loses what is nearer than this to anything else; one that vanishes is told of."""
    folder, labels = labelled
    want = np.zeros_like(labels)
    for label in (300, 2, 9):
        want[ndimage.binary_erosion(labels == label, ball(radius, spacing), border_value=1)] = label
    done = good("seeds", "image.nii", "--labels", "labels.nii", "--erode", text, "-o", "out.nii", cwd=folder)
    assert np.array_equal(load(folder / "out.nii"), want) and set(np.unique(want)) == {0, 2, 300}
    assert "labels: 9" in done.stderr and "--erode" in done.stderr


@pytest.mark.parametrize("text, limit, spacing", [("6mm", 6, SPACING), ("4vox", 4, np.ones(3))])
def test_shell_as_scipy_measures(labelled, text, limit, spacing):
    folder, labels = labelled
    away = ndimage.distance_transform_edt(labels == 0, sampling=spacing)
    got = seeds_of(folder, "--seeds", "labels.nii", "--shell", text)
    want = np.where(away > limit * (1 + 1e-7), 301, labels)
    assert np.array_equal(got, want) and (want == 301).any()
    assert results(folder)["shell_label"] == 301 and results(folder)["shell_voxels"] == (want == 301).sum()
    got = seeds_of(folder, "--seeds", "labels.nii", "--shell", text, "--shell-label", "1")
    assert np.array_equal(got, np.where(want == 301, 1, labels))


def test_shell_beyond_everything(labelled):
    folder, labels = labelled
    done = good("seeds", "image.nii", "--seeds", "labels.nii", "--shell", "500mm", "-o", "out.nii", cwd=folder)
    assert np.array_equal(load(folder / "out.nii"), labels) and "--shell" in done.stderr


RULES = [("later", (1, 3, 3, 3)), ("earlier", (1, 1, 2, 3)), ("neither", (1, 0, 0, 3))]


@pytest.mark.parametrize("rule, want", RULES, ids=[row[0] for row in RULES])
def test_conflicts(tmp_path, rule, want):
    """Three files, which overlap in two voxels: of two of them, and of all three with two labels."""
    save(scan_array(), tmp_path / "image.nii")
    line = np.zeros((3, *SHAPE), np.uint8)
    line[0, 0:2, 2, 2] = 1
    line[1, 2, 2, 2] = 2
    line[2, 1:4, 2, 2] = 3
    for i in range(3):
        save(line[i], tmp_path / f"{i}.nii")
    words = [word for i in range(3) for word in ("--seeds", f"{i}.nii")]
    got = seeds_of(tmp_path, *words, "--conflict", rule)
    assert tuple(got[0:4, 2, 2]) == want and (got > 0).sum() == sum(label > 0 for label in want)
    assert results(tmp_path)["conflicts"] == 2
    assert np.array_equal(seeds_of(tmp_path, "--seeds", "0.nii", "--seeds", "0.nii", "--conflict", rule), line[0])
    assert results(tmp_path)["conflicts"] == 0
    inputs = json.loads((tmp_path / "r.json").read_text())
    assert [entry["role"] for entry in inputs["inputs"]] == ["IMAGE", "seeds", "seeds"]
    assert inputs["options"]["seeds"] == ["0.nii", "0.nii"]


def test_sources_in_their_order(labelled):
    """--points come after --labels and before --seeds, wherever they are typed; a part of the grid will do."""
    folder, labels = labelled
    (folder / "p.tsv").write_text("i\tj\tk\n5\t5\t5\n6\t5\t5\n")
    corner = np.full((7, 6, 6), 8, np.uint8)
    corner[:6] = 0
    save(corner, folder / "part.nii")
    want = labels.copy()
    want[5:7, 5, 5] = 4
    want[6, :6, :6] = 8
    got = seeds_of(folder, "--seeds", "part.nii", "--points", "p.tsv", "--label", "4", "--labels", "labels.nii")
    assert np.array_equal(got, want)


def test_every_thread_count_and_recipe(labelled):
    """The same bytes; in a recipe volumes in memory are seeds too."""
    folder, _ = labelled
    line = "seeds image.nii --seeds {a} --seeds {b} --shell 5mm -o {out}"
    made = []
    for threads in ("1", "3"):
        words = line.format(a="labels.nii", b="labels.nii", out="out.nii").split()
        good(*words, "--threads", threads, "--force", cwd=folder)
        made.append((folder / "out.nii").read_bytes())
    (folder / "r.recipe").write_text("convert labels.nii @a\n" + line.format(a="@a", b="@a", out="@s") + "\nconvert @s out.nii\n")
    good("run", "./r.recipe", "--force", cwd=folder)
    assert np.array_equal(load(folder / "out.nii"), nibabel.Nifti1Image.from_bytes(made[0]).dataobj) and made[0] == made[1]


def test_table_of_maxima(tmp_path):
    """The table that maxima writes, which has voxels as x and mm as x_mm, leads to the same voxels."""
    save(scan_array(), tmp_path / "image.nii", affine=OBLIQUE)
    good("maxima", "image.nii", "-o", "peaks.nii", "--table", "peaks.csv", "--height", "12", cwd=tmp_path)
    got, want = seeds_of(tmp_path, "--points", "peaks.csv"), load(tmp_path / "peaks.nii")
    assert got.any() and np.array_equal(got[got > 0], want[got > 0]) and got.max() == want.max()


def test_points_outside(tmp_path):
    save(scan_array(), tmp_path / "image.nii")
    (tmp_path / "some.tsv").write_text("i\tj\tk\n-0.6\t0\t0\n-0.5\t0\t0\n22.4\t18.4\t10.4\n22.5\t0\t0\n1e308\t0\t0\n")
    done = good("seeds", "image.nii", "--points", "some.tsv", "-o", "out.nii", "--report", "r.json", cwd=tmp_path)
    assert "3 of 5" in done.stderr and results(tmp_path)["points_outside"] == 3
    assert sorted(map(tuple, np.argwhere(load(tmp_path / "out.nii")))) == [(0, 0, 0), (22, 18, 10)]
    (tmp_path / "all.tsv").write_text("x\ty\tz\n1e9\t0\t0\n1e308\t1e308\t1e308\n")
    refused(tmp_path, ["seeds", "image.nii", "--points", "all.tsv", "-o", "new.nii"], 65, "all.tsv", "outside of image.nii")


GOOD = "x\ty\tz\n0\t0\t45\n"
BAD = [
    ("no source", "p.tsv", GOOD, [], 64, "--points, --labels or --seeds"),
    ("no such file", "q.tsv", GOOD, ["--points", "p.tsv"], 66, "p.tsv"),
    ("an unknown suffix", "p.txt", GOOD, ["--points", "p.txt"], 64, ".mrk.json"),
    ("an empty table", "p.tsv", "", ["--points", "p.tsv"], 65, "empty"),
    ("a table of names alone", "p.tsv", "x\ty\tz\n", ["--points", "p.tsv"], 65, "no point"),
    ("other columns", "p.tsv", "a\tb\n1\t2\n", ["--points", "p.tsv"], 65, "columns x, y, z"),
    ("a place that is no number", "p.tsv", "x\ty\tz\n1\t2\tthree\n", ["--points", "p.tsv"], 65, "line 2"),
    ("a table cut short", "p.csv", "x,y,z\n1,2,3\n1,2\n", ["--points", "p.csv"], 65, "line 3"),
    ("a label of 0", "p.tsv", "x\ty\tz\tlabel\n0\t0\t45\t0\n", ["--points", "p.tsv"], 65, "label"),
    ("a radius below 0", "p.tsv", "x\ty\tz\tradius\n0\t0\t45\t-1\n", ["--points", "p.tsv"], 65, "radius"),
    ("a place given twice", "p.tsv", "x\ty\tz\ti\tj\tk\n", ["--points", "p.tsv"], 65, "one of both"),
    ("no JSON", "p.mrk.json", "{", ["--points", "p.mrk.json"], 65, "not JSON"),
    ("JSON of another kind", "p.json", "[1, 2]", ["--points", "p.json"], 65, "no markups"),
    ("a position of two numbers", "p.json", '{"markups": [{"controlPoints": [{"position": [1, 2]}]}]}', ["--points", "p.json"], 65, "position"),
    ("another coordinate system", "p.json", '{"markups": [{"coordinateSystem": "IJK"}]}', ["--points", "p.json"], 65, "LPS"),
    ("a coordinate system that is no text", "p.json", '{"markups": [{"coordinateSystem": 7}]}', ["--points", "p.json"], 65, "LPS"),
    ("a name of 0", "p.json", markups([((0.0, 0.0, 45.0), "0", "defined")]), ["--points", "p.json"], 65, "named 0, which is no label"),
    ("a name below 0", "p.json", markups([((0.0, 0.0, 45.0), "-3", "defined")]), ["--points", "p.json"], 65, "named -3"),
    ("a name of a part", "p.json", markups([((0.0, 0.0, 45.0), "7.5", "defined")]), ["--points", "p.json"], 65, "named 7.5"),
    ("a name beyond all labels", "p.json", markups([((0.0, 0.0, 45.0), "99999999999", "defined")]), ["--points", "p.json"], 65, "2147483647"),
    ("another unit", "p.json", '{"markups": [{"coordinateUnits": "um"}]}', ["--points", "p.json"], 65, "mm"),
    ("an fcsv of another system", "p.fcsv", "# CoordinateSystem = IJK\n", ["--points", "p.fcsv"], 65, "line 1"),
    ("an fcsv without places", "p.fcsv", "a,b\n", ["--points", "p.fcsv"], 65, "line 1"),
    ("erode without labels", "p.tsv", GOOD, ["--points", "p.tsv", "--erode", "2mm"], 64, "--labels"),
    ("a radius without points", "p.tsv", GOOD, ["--seeds", "image.nii", "--radius", "2mm"], 64, "--points"),
    ("a label without a shell", "p.tsv", GOOD, ["--points", "p.tsv", "--shell-label", "2"], 64, "--shell"),
    ("a length below 0", "p.tsv", GOOD, ["--points", "p.tsv", "--shell=-1mm"], 64, "--shell"),
    ("seeds that are no labels", "p.tsv", GOOD, ["--seeds", "half.nii"], 65, "half.nii"),
    ("seeds that are eroded away", "p.tsv", GOOD, ["--labels", "dots.nii", "--erode", "9mm"], 65, "smaller --erode"),
    ("seeds that are empty", "p.tsv", GOOD, ["--seeds", "empty.nii"], 65, "no voxel"),
    ("seeds on another grid", "p.tsv", GOOD, ["--seeds", "other.nii"], 65, "other.nii"),
    ("the output is one of the seeds", "p.tsv", GOOD, ["--seeds", "empty.nii", "--seeds", "out.nii", "--force"], 64, "seeds"),
    ("the output is the table", "out.nii", GOOD, ["--points", "out.nii", "--force"], 64, "points"),
    ("too little memory", "p.tsv", GOOD, ["--points", "p.tsv", "--max-memory", "1KiB"], 75, "image.nii"),
]  # fmt: skip


@pytest.mark.parametrize("what, name, text, arguments, code, part", BAD, ids=[row[0] for row in BAD])
def test_refused(tmp_path, what, name, text, arguments, code, part):
    """One line, the right code, nothing written."""
    save(scan_array(), tmp_path / "image.nii")
    save(np.full(SHAPE, 0.5, np.float32), tmp_path / "half.nii")
    save(np.zeros(SHAPE, np.uint8), tmp_path / "empty.nii")
    save(np.ones(SHAPE, np.uint8), tmp_path / "other.nii", affine=AFFINE @ np.diag([1.1, 1, 1, 1]))
    dots = np.zeros(SHAPE, np.uint8)
    dots[5, 5, 5] = 1
    save(dots, tmp_path / "dots.nii")
    (tmp_path / name).write_text(text)
    refused(tmp_path, ["seeds", "image.nii", *arguments, "-o", "out.nii"], code, part)


# ---- seeds that look like another label ----


def looks(folder):
    """Two strokes of label 4 and two of 9, the background, of which some voxels look like the other."""
    seeds, shares = np.zeros(SHAPE, np.uint8), np.zeros(SHAPE, np.uint8)
    seeds[2:8, 3, 4], seeds[2:8, 9, 4] = 4, 9  # most of both looks like itself,
    shares[2:8, 3, 4] = 230
    shares[3, 3, 4], shares[4, 3, 4], shares[6, 9, 4] = 20, 30, 240  # but two: 30 is not 8 times less than 225
    seeds[2:8, 3, 10], seeds[2:8, 9, 10] = 4, 9  # and these do not at all
    shares[2:8, 9, 10] = 250
    save(scan_array(), folder / "image.nii")
    save(seeds, folder / "seeds.nii")
    save(shares, folder / "shares.nii")
    return seeds


def test_seeds_that_look_like_another_label(tmp_path):
    want = looks(tmp_path)
    got = seeds_of(tmp_path, "--seeds", "seeds.nii", "--shares", "shares.nii", "--background", "9")
    want[3, 3, 4] = want[6, 9, 4] = 0
    assert np.array_equal(got, want) and results(tmp_path)["left_out"] == 2


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--shares", "shares.nii"], 64, "go together"),
        (["--background", "9"], 64, "go together"),
        (["--shares", "shares.nii", "--background", "5"], 65, "no seed has the label 5"),
        (["--shares", "none.nii", "--background", "5"], 66, "none.nii"),
        (["--shares", "image.nii", "--background", "9"], 65, "image.nii: shares are uint8"),
    ],
)
def test_refuses_shares(tmp_path, arguments, code, part):
    looks(tmp_path)
    refused(tmp_path, ["seeds", "image.nii", "--seeds", "seeds.nii", "-o", "out.nii", *arguments], code, part)


# ---- corrections ----


def test_corrections_that_look_like_another_label(tmp_path):
    """Slices with one label alone lose what is not clearly their label's; slices with both lose nothing."""
    image, seeds = np.full(SHAPE, 100, np.int16), np.zeros(SHAPE, np.uint8)
    image[:, 8:, :] = 300
    image[::2] += 20
    seeds[2:8, 3, 4], seeds[2:8, 9, 4] = 4, 9
    seeds[2, 9, 4] = 4  # looks like 9, but both are on the slice
    seeds[2:8, 3, 6], seeds[2:8, 9, 6] = 4, 4  # the second looks like 9,
    seeds[2:8, 3, 8], seeds[2:8, 9, 8] = 9, 9  # and here the first like 4
    save(image, tmp_path / "image.nii")
    save(seeds, tmp_path / "seeds.nii")
    got = seeds_of(tmp_path, "--seeds", "seeds.nii", "--corrections", "z")
    want = seeds.copy()
    want[2:8, 9, 6] = want[2:8, 3, 8] = 0
    assert np.array_equal(got, want) and results(tmp_path)["left_out"] == 12


# ---- slices that are painted out ----


def painted(folder):
    """Three slices with an area of label 4, of which labels of before have as much, twice as much, and as much where it
    is too narrow for a square; 9 is the background."""
    seeds, before = np.zeros(SHAPE, np.uint8), np.zeros(SHAPE, np.uint8)
    for z in (2, 4, 6):
        seeds[2:8, 2:8, z], seeds[1, 1, z], before[2:8, 2:9, z], before[0, :, z] = 4, 9, 4, 9
    before[2:8, 2:14, 4] = 4
    seeds[2:8, 2:8, 6] = 0
    seeds[2:8, 2:6, 6] = before[2:8, 2:6, 6] = 4
    before[2:8, 6:, 6] = 0
    save(scan_array(), folder / "image.nii")
    save(seeds, folder / "seeds.nii")
    save(before, folder / "before.nii")
    return seeds


def test_slices_that_are_painted_out(tmp_path):
    want = painted(tmp_path)
    got = seeds_of(tmp_path, "--seeds", "seeds.nii", "--complete", "before.nii", "--complete-axis", "z", "--background", "9")
    filled = want[:, :, 2] == 0
    want[filled, 2] = 9
    assert np.array_equal(got, want) and results(tmp_path)["completed"] == filled.sum()


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--complete", "before.nii", "--background", "9"], 64, "--complete-axis go together"),
        (["--complete", "before.nii", "--complete-axis", "z"], 64, "go together"),
        (["--complete", "before.nii", "--complete-axis", "z", "--background", "5"], 65, "no seed has the label 5"),
    ],
)
def test_refuses_to_complete(tmp_path, arguments, code, part):
    painted(tmp_path)
    refused(tmp_path, ["seeds", "image.nii", "--seeds", "seeds.nii", "-o", "out.nii", *arguments], code, part)
