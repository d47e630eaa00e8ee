"""What people trip over at first: files without a grid, words in the wrong place, names to complete."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as xml

import nibabel
import numpy as np
import pytest
import tifffile
from conftest import PROGRAM, ROOT, assert_one_line, good, lobule, save

SPACING, ORIGIN = "0.5,0.6,2", "10,-20,30.5"


@pytest.fixture
def stack(tmp_path):
    """A stack and its labels without spacing."""
    rng = np.random.default_rng(4)
    voxels = rng.integers(0, 200, (6, 30, 40)).astype(np.uint8)
    labels = np.zeros(voxels.shape, np.uint8)
    labels[1:4, 3:20, 5:30], labels[4:, 22:, 30:] = 1, 2
    tifffile.imwrite(tmp_path / "stack.tif", voxels, photometric="minisblack")
    tifffile.imwrite(tmp_path / "labels.tif", labels, photometric="minisblack")
    return tmp_path


def test_convert_states_a_grid(stack):
    good("convert", "stack.tif", "out.nii", "--spacing", SPACING, f"--origin={ORIGIN}", cwd=stack)
    image = nibabel.load(stack / "out.nii")
    assert np.allclose(image.header.get_zooms(), (0.5, 0.6, 2))
    assert np.allclose(image.affine[:3, 3], (10, -20, 30.5))
    good("convert", "out.nii", "again.nii", "--spacing", "1,2,3", cwd=stack)
    again = nibabel.load(stack / "again.nii")
    assert np.allclose(again.header.get_zooms(), (1, 2, 3)) and np.allclose(again.affine[:3, 3], (10, -20, 30.5))
    assert np.array_equal(np.asarray(again.dataobj), np.asarray(image.dataobj))
    assert_one_line(lobule("convert", "stack.tif", "o.nii", "--spacing", "1,0,1", cwd=stack), 64, "--spacing")
    for field in ("qform_code", "sform_code", "pixdim"):
        again.header[field] = 0
    (stack / "bare.nii").write_bytes(again.header.binaryblock + bytes(4) + np.asarray(again.dataobj).tobytes("F"))
    assert "no usable voxel size" in good("convert", "bare.nii", "o.nii", cwd=stack).stderr
    assert good("convert", "bare.nii", "spaced.nii", "--spacing", "1,2,3", cwd=stack).stderr == ""
    like = good("convert", "bare.nii", "like.nii", "--labels", "--like", "bare.nii", "--spacing", "1,1,1", cwd=stack)
    assert like.stderr.count("no usable voxel size") == 1  # of the scan, which --spacing is not about


def test_stats_states_a_grid(stack):
    """For the labels too, where they lie as the image's file says; labels that know better match it."""
    good("convert", "labels.tif", "true.nii", "--spacing", SPACING, f"--origin={ORIGIN}", cwd=stack)
    tables = [
        good("stats", "stack.tif", labels, "--spacing", SPACING, f"--origin={ORIGIN}", "--table", "-", cwd=stack).stdout
        for labels in ("labels.tif", "true.nii")
    ]
    rows = [[line.split("\t") for line in table.splitlines()] for table in tables]
    assert rows[0][0] == rows[1][0]
    for one, other in zip(rows[0][1:], rows[1][1:]):
        assert np.allclose([float(cell) for cell in one], [float(cell) for cell in other], rtol=1e-6)
    found = dict(zip(rows[0][0], rows[0][1]))
    volume = found.get("volume_mm3") or str(float(found["volume_um3"]) / 1e9)
    assert float(volume) == pytest.approx(3 * 17 * 25 * 0.6, rel=1e-6)
    assert_one_line(lobule("stats", "stack.tif", "true.nii", cwd=stack), 65, "true.nii")


def test_cells_states_a_grid(tmp_path):
    good("phantom", "cells", "--size", "40,40,16", "--spacing", "1,1,2", "--cells", "9", "-o", "c.nii", cwd=tmp_path)
    voxels = np.asarray(nibabel.load(tmp_path / "c.nii").dataobj)
    tifffile.imwrite(tmp_path / "c.tif", np.ascontiguousarray(voxels.T), photometric="minisblack")
    save(voxels, tmp_path / "known.nii", affine=np.diag([1, 1, 2, 1.0]))
    good("cells", "known.nii", "-o", "wanted.nii", "--size", "9mm", cwd=tmp_path)
    stated = ("cells", "c.tif", "-o", "found.nii", "--size", "9mm", "--spacing", "1,1,2")
    good(*stated, cwd=tmp_path)
    wanted, found = (nibabel.load(tmp_path / f"{name}.nii") for name in ("wanted", "found"))
    assert np.array_equal(np.asarray(found.dataobj), np.asarray(wanted.dataobj))
    (tmp_path / "r.recipe").write_text(good(*stated, "--print-recipe", cwd=tmp_path).stdout)
    good("run", "r.recipe", "--force", cwd=tmp_path)
    assert np.array_equal(np.asarray(nibabel.load(tmp_path / "found.nii").dataobj), np.asarray(wanted.dataobj))


@pytest.mark.parametrize(
    "words", [("info", "-"), ("convert", "-", "out.nii"), ("convert", "in.nii", "-"), ("threshold", "-", "-o", "out.nii")]
)
def test_a_pipe_is_told_what_to_use(tmp_path, words):
    save(np.ones((3, 3, 3), np.uint8), tmp_path / "in.nii")
    done = lobule(*words, cwd=tmp_path)
    assert done.returncode in (64, 66)
    assert_one_line(done, done.returncode, "pipe is not supported", "name a file", "@name")


@pytest.mark.parametrize(("words", "part"), [(("run", "st"), "strokes"), (("bids", "a", "b", "participant", "--recipe", "st"), "strokes")])
def test_recipes_complete(tmp_path, words, part):
    program = good("--completion", "bash").stdout
    script = program + 'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _lobule; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", PROGRAM, *words], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "LOBULE_RECIPES": str(ROOT / "recipes")},
    )  # fmt: skip
    assert part in done.stdout.split() and done.stderr == ""


def test_a_bids_app_has_a_group_level(tmp_path):
    """What runs Apps calls it after the participants, and takes anything but 0 for a failure."""
    good("phantom", "abdomen", "--size", "20,20,8", "-o", "scan.nii.gz", cwd=tmp_path)
    place = tmp_path / "raw/sub-01/anat"
    place.mkdir(parents=True)
    (tmp_path / "scan.nii.gz").rename(place / "sub-01_T1w.nii.gz")
    line = ("--", "threshold", "{image}", "-o", "{out}", "--otsu", "2")
    done = lobule("bids", "raw", "made", "participant", *line, cwd=tmp_path)
    assert done.returncode == 0 and "raw: has no dataset_description.json" in done.stderr
    assert re.search(r"lobule batch: 1 scan:", done.stderr), done.stderr
    for more in ((), line):
        done = lobule("bids", "raw", "made", "group", *more, cwd=tmp_path)
        assert done.returncode == 0 and "nothing to do at this level" in done.stderr
    (tmp_path / "raw/dataset_description.json").write_text(json.dumps({"Name": "x", "BIDSVersion": "1.9.0"}))
    done = lobule("bids", "raw", "made2", "participant", *line, cwd=tmp_path)
    assert "dataset_description" not in done.stderr


@pytest.mark.parametrize("command", ["growcut", "segment", "stats", "crop", "components"])
def test_modules_have_labels_as_3d_slicer_s_own(command):
    module = xml.fromstring(good(command, "--xml").stdout)
    fields = [field for group in module.iter("parameters") for field in group if field.find("name") is not None]
    labels = [field.find("label").text for field in fields]
    assert labels[0] == "Input volume"
    assert all(re.fullmatch(r"[A-Z][a-z0-9 ]*", label) for label in labels), labels
    tips = [field.find("description").text for field in fields]
    assert all(len(tip) < 200 and "\n" not in tip and "(default" not in tip for tip in tips), max(tips, key=len)


def test_the_help_of_previous_tells_of_one_voxel():
    words = " ".join(good("segment", "--help").stdout.split())
    assert "a correction of one voxel is enough: within --reach of it this run's labels take the place" in words

