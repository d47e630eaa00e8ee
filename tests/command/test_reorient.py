"""Inputs whose axes lie other than the scan's: turned where that needs no interpolation, else refused."""

import itertools
import json
import re

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, SHAPE, assert_one_line, good, load, lobule, refused, save, scan_array, seeds_array
from nibabel.orientations import apply_orientation, inv_ornt_aff

OBLIQUE = AFFINE @ np.array([[0.8, -0.6, 0, 3], [0.6, 0.8, 0, 4], [0, 0, 1, 5], [0, 0, 0, 1.0]])
WAYS = [
    np.array(list(zip(axes, flips)), float)
    for axes in itertools.permutations(range(3))
    for flips in itertools.product((1, -1), repeat=3)
]


def turned(path, out, way):
    """Save a volume with its axes laid another way, as nibabel does it."""
    image = nibabel.load(path)
    array = apply_orientation(np.asanyarray(image.dataobj), way)
    save(np.ascontiguousarray(array), out, affine=image.affine @ inv_ornt_aff(way, image.shape))
    return out


@pytest.fixture
def oblique(tmp_path):
    """A scan that lies obliquely, with seeds, labels and a mask on its grid."""
    save(scan_array(), tmp_path / "image.nii", affine=OBLIQUE)
    save(seeds_array(), tmp_path / "seeds.nii", affine=OBLIQUE)
    mask = np.ones(SHAPE, np.uint8)
    mask[:, :, 8:] = 0
    mask[:4, :, :] = 0
    mask[1, 1, 1] = 1
    save(mask, tmp_path / "mask.nii", affine=OBLIQUE)
    good("growcut", "image.nii", "seeds.nii", "-o", "labels.nii", cwd=tmp_path)
    return tmp_path


def test_all_turns_of_seeds(oblique):
    """Seeds laid in any of 48 ways give the same label file as the scan's own seeds."""
    want = (oblique / "labels.nii").read_bytes()
    for way in WAYS:
        turned(oblique / "seeds.nii", oblique / "turned.nii", way)
        done = good("growcut", "image.nii", "turned.nii", "-o", "out.nii", "--force", cwd=oblique)
        assert done.stderr == ""
        assert (oblique / "out.nii").read_bytes() == want, way


def test_canonical_seeds(oblique):
    """nibabel's closest canonical orientation of a file is as good as the file."""
    way = WAYS[-1]
    turned(oblique / "image.nii", oblique / "lying.nii", way)
    turned(oblique / "seeds.nii", oblique / "seeds_lying.nii", way)
    canonical = nibabel.as_closest_canonical(nibabel.load(oblique / "seeds_lying.nii"))
    nibabel.save(canonical, oblique / "canonical.nii")
    outputs = []
    for seeds in ("seeds_lying.nii", "canonical.nii"):
        good("growcut", "lying.nii", seeds, "-o", "out.nii", "--force", cwd=oblique)
        outputs.append((oblique / "out.nii").read_bytes())
    assert outputs[0] == outputs[1]


COMMANDS = [
    ("a mask", "mask.nii", ["growcut", "image.nii", "seeds.nii", "--mask", "IN", "-o", "out.nii"]),
    ("a strength", "strength.nii", ["growcut", "image.nii", "seeds.nii", "--seed-strength", "IN", "-o", "out.nii"]),
    ("a mask to join in", "mask.nii", ["components", "image.nii", "--above", "205", "--mask", "IN", "-o", "out.nii"]),
    ("intensities", "image.nii", ["components", "labels.nii", "--table", "-", "--image", "IN", "-o", "out.nii"]),
    ("a mask of supervoxels", "mask.nii", ["supervoxels", "image.nii", "--size", "6", "--mask", "IN", "-o", "out.nii"]),
    ("labels of stats", "labels.nii", ["stats", "image.nii", "IN"]),
    ("labels of a preview", "labels.nii", ["preview", "image.nii", "IN", "-o", "out.png"]),
    ("a volume to compare", "labels.nii", ["compare", "mask.nii", "IN"]),
    ("values to compare", "seeds.nii", ["compare", "image.nii", "IN", "--values"]),
    ("an image to compare", "image.nii", ["compare", "labels.nii", "mask.nii", "--supervoxels", "--image", "IN"]),
]


@pytest.mark.parametrize("what,name,arguments", COMMANDS, ids=[row[0] for row in COMMANDS])
def test_every_input(oblique, what, name, arguments):
    """Turned in any way, a second input gives the same files and the same tables."""
    save(np.full(SHAPE, 0.5, np.float32), oblique / "strength.nii", affine=OBLIQUE)
    results = []
    for way in (WAYS[0], WAYS[7], WAYS[13], WAYS[-2]):
        turned(oblique / name, oblique / "turned.nii", way)
        words = [word.replace("IN", "turned.nii") if word == "IN" else word for word in arguments]
        done = lobule(*words, "--force", cwd=oblique)
        assert done.returncode <= (words[0] == "compare") and done.stderr == ""
        out = [path.read_bytes() for path in sorted(oblique.glob("out.*"))]
        # float32 headers round the affine of each way differently
        table = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.4g}", done.stdout)
        results.append((table, out))
    assert results[1:] == results[:1] * 3, what


def test_report(oblique):
    """The report names the input and both orientations, and --verbose has a line."""
    turned(oblique / "seeds.nii", oblique / "turned.nii", np.array([[1, 1], [0, -1], [2, 1]], float))
    done = good("growcut", "image.nii", "turned.nii", "-o", "out.nii", "--report", "r.json", "-v", cwd=oblique)
    inputs = json.loads((oblique / "r.json").read_text())["inputs"]
    assert "reoriented_to" not in inputs[0]
    assert inputs[1]["role"] == "SEEDS" and inputs[1]["reoriented_to"] == inputs[0]["orientation"] == "RAS"
    assert inputs[1]["orientation"] != "RAS"
    line = f"turned.nii: reoriented from {inputs[1]['orientation']} to RAS, as image.nii lies"
    assert line in done.stderr


def shifted(first):
    """The affine of a grid that begins at this voxel of the oblique one."""
    affine = OBLIQUE.copy()
    affine[:3, 3] += OBLIQUE[:3, :3] @ first
    return affine


PARTS = [
    ("inside", (slice(1, 12), slice(0, 19), slice(1, 7)), (0, 0, 0)),
    ("beyond two sides", (slice(0, 12), slice(0, 19), slice(0, 11)), (2, 0, 3)),
]  # fmt: skip


@pytest.mark.parametrize("what,box,more", PARTS, ids=[row[0] for row in PARTS])
@pytest.mark.parametrize("arguments", [["growcut", "image.nii", "IN"], ["preview", "image.nii", "IN"],
                                       ["crop", "image.nii", "--around", "IN"]], ids=lambda a: a[0])  # fmt: skip
def test_labels_of_a_part(oblique, arguments, what, box, more):
    """Labels that cover a part of the grid, or reach beyond it, are used where they lie; the report says so."""
    seeds = seeds_array()
    first = [part.start - before for part, before in zip(box, more)]
    save(np.pad(seeds[box], [(before, 0) for before in more]), oblique / "part.nii", affine=shifted(first))
    out = "out.png" if arguments[0] == "preview" else "out.nii"
    made = []
    for name in ("seeds.nii", "part.nii"):
        words = [name if word == "IN" else word for word in arguments]
        good(*words, "-o", out, "--report", "r.json", "--force", cwd=oblique)
        made.append((oblique / out).read_bytes())
    assert made[0] == made[1]
    inputs = json.loads((oblique / "r.json").read_text())["inputs"]
    assert [read["placed_at"] for read in inputs if read["path"] == "part.nii"] == [first]


@pytest.mark.parametrize("label", [0, 1])
def test_labels_outside_are_told_of(oblique, label):
    part = np.pad(seeds_array(), [(2, 0), (0, 0), (0, 0)])
    part[0, 3, 3] = label
    save(part, oblique / "part.nii", affine=shifted((-2, 0, 0)))
    done = good("growcut", "image.nii", "part.nii", "-o", "out.nii", cwd=oblique)
    assert ("part.nii: what lies outside of image.nii is left out" in done.stderr) == (label > 0)
    for words in (["stats", "image.nii", "part.nii", "--origin", "1,2,3"],
                  ["fuse", "image.nii", "--atlas", "image.nii,part.nii", "-o", "o.nii"]):  # fmt: skip
        done = lobule(*words, cwd=oblique)
        if label > 0:
            assert_one_line(done, 65, "part.nii: has labels outside of image.nii", "lobule convert --labels --like")
        else:
            assert (done.returncode, done.stderr) == (0, "")
    good("convert", "part.nii", "--labels", "--like", "image.nii", "on.nii", cwd=oblique)
    good("stats", "image.nii", "on.nii", cwd=oblique)


def test_labels_of_a_part_are_not_filled_up_where_they_are_compared(oblique):
    save(load(oblique / "labels.nii")[1:], oblique / "part.nii", affine=shifted((1, 0, 0)))
    assert_one_line(lobule("compare", "labels.nii", "part.nii", cwd=oblique), 65, "part.nii", "not on the same grid")


def test_labels_beside_the_image(oblique):
    """A grid in step with the image's, but with no voxel in common."""
    save(seeds_array(), oblique / "beside.nii", affine=shifted((40, 0, 0)))
    assert_one_line(lobule("growcut", "image.nii", "beside.nii", "-o", "out.nii", cwd=oblique), 65, "not on the same grid")


SHIFT = np.eye(4) + 0.4 * np.outer([1, 0, 0, 0], [0, 0, 0, 1])


@pytest.mark.parametrize("change", [np.diag([1.1, 1, 1, 1]), SHIFT], ids=["larger voxels", "half a voxel beside"])
def test_refused(oblique, change):
    """What would have to be interpolated is refused, with the command that does it."""
    save(seeds_array()[::-1].copy(), oblique / "bad.nii", affine=OBLIQUE @ np.diag([-1, 1, 1, 1.0]) @ change)
    refused(oblique, ["growcut", "image.nii", "bad.nii", "-o", "out.nii"],
            65, "image.nii and bad.nii", "not on the same grid", "lobule resample LABELS --like SCAN")  # fmt: skip


def test_memory(oblique):
    """By planes a mask is not turned: the line says what to raise."""
    rng = np.random.default_rng(5)
    save(rng.integers(0, 2, (96, 96, 96)).astype(np.uint8), oblique / "large.nii", affine=OBLIQUE)
    mask = np.ones((96, 96, 96), np.uint8)
    save(mask, oblique / "flat.nii", affine=OBLIQUE)
    turned(oblique / "flat.nii", oblique / "turned.nii", WAYS[7])
    command = ["components", "large.nii", "-o", "out.nii", "--max-memory", "6MB", "--mask"]
    good(*command, "flat.nii", cwd=oblique)
    (oblique / "out.nii").unlink()
    done = lobule(*command, "turned.nii", cwd=oblique)
    assert_one_line(done, 75, "turned.nii", "large.nii", "axes", "raise --max-memory")
    assert not (oblique / "out.nii").exists()


def test_compare_keeps_header_fields(oblique):
    """compare still tells that the two headers differ."""
    turned(oblique / "labels.nii", oblique / "turned.nii", WAYS[7])
    done = good("compare", "labels.nii", "turned.nii", "--json", cwd=oblique)
    result = json.loads(done.stdout)
    assert result["equal"] and any("srow" in name for name in result["header_fields"]), result["header_fields"]
    assert load(oblique / "turned.nii").shape == SHAPE
