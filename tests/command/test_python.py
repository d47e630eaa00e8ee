"""The Python package: the same bytes as the command, kinds of images, errors, progress, Ctrl-C."""

import collections
import decimal
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest.mock
from pathlib import Path

import nibabel
import numpy as np
import pandas
import pytest
import SimpleITK as sitk
import xarray
from conftest import PROGRAM, ROOT, good, load, save

if os.environ.get("LOBULE_SANITIZED"):
    pytest.skip("Python does not load a library with sanitizers", allow_module_level=True)
LIBRARY = os.environ.get("LOBULE_LIBRARY") or str(Path(PROGRAM).parents[1] / "liblobule.so")
WHEEL = bool(os.environ.get("LOBULE_WHEEL"))  # the package is installed, with library and program
if not WHEEL:
    os.environ.update(LOBULE_LIBRARY=LIBRARY, LOBULE_PROGRAM=PROGRAM)
    sys.path.insert(0, str(ROOT / "python"))
import lobule  # noqa: E402  found by the lines above

CPU = ("--device", "cpu", "--quiet")


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A small scan with strokes and truth, as files."""
    folder = tmp_path_factory.mktemp("python")
    good("phantom", "abdomen", "--size", "48,40,24", "--spacing", "3,3,4", "-o", folder / "scan.nii.gz",
         "--truth", folder / "truth.nii.gz", "--seeds", folder / "seeds.nii.gz", "--quiet")  # fmt: skip
    return folder


def images(case):
    return [nibabel.load(case / f"{name}.nii.gz") for name in ("scan", "seeds", "truth")]


# command line, and the same in Python; {scan}, {seeds}, {truth} are the files
SAME = [
    ("growcut {scan} {seeds}", lambda s, d, t: lobule.growcut(s, d)),
    (
        "growcut {scan} {seeds} --rule distance --penalty 2 --neighbours 6 --max-mm 20 --range 50,inf",
        lambda s, d, t: lobule.growcut(
            s, d, rule="distance", penalty=2, neighbours=6, max_mm=20, range=(50, None)
        ),
    ),
    ("growcut {scan} {seeds} --slices axial", lambda s, d, t: lobule.growcut(s, d, slices=2)),
    ("growcut {scan} {seeds} --mask {truth}", lambda s, d, t: lobule.growcut(s, d, mask=t)),
    (
        "components {scan} --above 900 --min-size 200mm3 --order size --neighbours 18",
        lambda s, d, t: lobule.components(s, above=900, min_size="200mm3", order="size", neighbours=18),
    ),
    (
        "components {truth} --equal --largest 3 --fill-holes",
        lambda s, d, t: lobule.components(t, equal=True, largest=3, fill_holes=True),
    ),
    (
        "components {scan} --tolerance 30 --slices z --type int32",
        lambda s, d, t: lobule.components(s, tolerance=30, slices="z", dtype="int32"),
    ),
    ("supervoxels {scan} --size 12mm", lambda s, d, t: lobule.slic(s, size=12)),
    ("supervoxels {scan} --method slico --size 4vox", lambda s, d, t: lobule.slico(s, size="4vox")),
    (
        "supervoxels {scan} --method lsc --count 90 --ratio 0.1 --mask {truth}",
        lambda s, d, t: lobule.lsc(s, count=90, ratio=0.1, mask=t),
    ),
    ("filter {scan} --gaussian 4mm", lambda s, d, t: lobule.gaussian(s, 4)),
    (
        "filter {scan} --median 1,0,1 --window 1%,99% --denoise auto --cast uint8",
        lambda s, d, t: lobule.filter(s, median=(1, 0, 1), window=("1%", "99%"), denoise=True, cast="uint8"),
    ),
    (
        "filter {scan} --box 7mm --scale 2,-5 --log 2vox --edge mirror --slices z",
        lambda s, d, t: lobule.filter(s, box="7mm", scale=(2, -5), log="2vox", edge="mirror", slices=2),
    ),
    ("threshold {scan} --otsu 3", lambda s, d, t: lobule.threshold(s, otsu=3)),
    ("threshold {scan} --percentile 90", lambda s, d, t: lobule.threshold(s, percentile=90)),
    ("distance {truth} --label 2 --signed", lambda s, d, t: lobule.distance(t, label=2, kind="signed")),
    ("distance {seeds} --max 30", lambda s, d, t: lobule.distance(d, max=30)),
    (
        "labels {truth} --keep 2-4,8 --largest 1 --smooth 4mm --merge 3,4=9",
        lambda s, d, t: lobule.labels(t, keep=[2, 3, 4, 8], largest=1, smooth=4, merge={(3, 4): 9}),
    ),
    (
        "labels {truth} --min-size 2ml --erode 4mm --dilate 2vox --split",
        lambda s, d, t: lobule.labels(t, min_size="2ml", erode=4, dilate="2vox", split=True),
    ),
    ("maxima {scan} --height 400 --distance 15mm", lambda s, d, t: lobule.maxima(s, height=400, apart=15)),
    ("resample {scan} --spacing 4,5,0", lambda s, d, t: lobule.resample(s, (4, 5, 0))),
    ("resample {truth} --spacing 5,5,5 --labels", lambda s, d, t: lobule.resample(t, 5, labels=True)),
    ("cells {scan} --size 30mm", lambda s, d, t: lobule.cells(s, size=30)),
    (
        "cells {scan} --size 12vox --walls --seeds 0.1 --wall 0.2 --least 0.001",
        lambda s, d, t: lobule.cells(s, size="12vox", walls=True, seeds=0.1, wall=0.2, least=0.001, max_memory="1GB"),
    ),
    (
        "segment {scan} {seeds} --passes 1 --threads 1",
        lambda s, d, t: lobule.segment(s, d, passes=1, threads=1, device="cpu"),
    ),
]


@pytest.mark.parametrize(("line", "call"), SAME, ids=[line for line, _ in SAME])
def test_the_same_bytes_as_the_command(case, tmp_path, line, call):
    words = [word.format(**{name: case / f"{name}.nii.gz" for name in ("scan", "seeds", "truth")}) for word in line.split()]
    good(*words, "-o", tmp_path / "out.nii", *CPU)
    wanted = nibabel.load(tmp_path / "out.nii")
    came = images(case)
    found = call(*came)
    assert isinstance(found, nibabel.Nifti1Image)
    assert found.get_data_dtype() == wanted.get_data_dtype()
    assert np.asarray(found.dataobj).tobytes("F") == np.asarray(wanted.dataobj).tobytes("F")
    assert np.allclose(found.affine, wanted.affine, atol=1e-4)


def test_walls_are_the_command_s(tmp_path):
    """A ring around a disc, twice as wide as its strokes say on one side."""
    z, y, x = np.indices((6, 64, 64))
    r = np.hypot(y - 32, x - 32)
    labels = np.select([r < 10, r < np.where(x > 32, 26, 15)], [1, 2], 3).astype(np.uint8)
    seeds = np.select([r < 4, (r > 12) & (r < 13), r > 29], [1, 2, 3], 0).astype(np.uint8) * (z % 2 == 0)
    arrays = {"labels": labels, "image": (labels * np.int16(100)), "seeds": seeds.astype(np.uint8)}
    for name, array in arrays.items():
        nibabel.save(nibabel.Nifti1Image(array.T, np.eye(4)), tmp_path / f"{name}.nii")
    good("refine", "labels.nii", "image.nii", "seeds.nii", "--walls", "-o", "out.nii", cwd=tmp_path)
    found = lobule.refine(**arrays, walls=True)
    assert np.array_equal(found.T, np.asarray(nibabel.load(tmp_path / "out.nii").dataobj))
    assert np.count_nonzero(found == 2) < 0.8 * np.count_nonzero(lobule.refine(**arrays) == 2)


def test_tables_are_the_command_s(case):
    scan, seeds, truth = images(case)
    files = case / "scan.nii.gz", case / "truth.nii.gz"
    lines = [line.split("\t") for line in good("stats", *files, "--device", "cpu").stdout.splitlines()]
    table = lobule.stats(scan, truth)
    assert list(table) == lines[0] and lines[0].pop(1) == "name"
    assert list(table.pop("name")) == [line.pop(1) for line in lines[1:]]
    for row, line in enumerate(lines[1:]):
        assert [f"{table[name][row]:.7g}" for name in table] == [f"{float(cell):.7g}" for cell in line]
    rows = json.loads(good("compare", files[1], case / "seeds.nii.gz", "--json").stdout)
    table = lobule.compare(truth, seeds)
    rows = rows if isinstance(rows, list) else rows["labels"]
    for name in ("label", "dice", "jaccard", "hd95_mm"):
        assert np.allclose([row[name] for row in rows], table[name], rtol=1e-14, atol=0)


def test_names_come_into_tables(case, tmp_path):
    """Those of an image that has some; a name that the second volume alone has, too."""
    _, _, truth = images(case)
    table = lobule.stats(truth)
    assert list(table["name"][:3]) == ["background", "liver", "liver tumour"]
    plain = nibabel.Nifti1Image(np.asarray(truth.dataobj), truth.affine)
    assert "name" not in lobule.stats(plain)
    assert list(lobule.compare(plain, truth, surfaces=False)["name"]) == list(table["name"])
    with_another = nibabel.Nifti1Header()
    for content in (b"<CaretExtension", b'<?xml version="1.0" encoding="none"?><a/>'):
        with_another.extensions.append(nibabel.nifti1.Nifti1Extension(30, content))
        assert "name" not in lobule.stats(nibabel.Nifti1Image(np.asarray(truth.dataobj), truth.affine, with_another))
    good("convert", "--labels", case / "truth.nii.gz", tmp_path / "truth.seg.nrrd")
    again = lobule.stats(sitk.ReadImage(str(tmp_path / "truth.seg.nrrd")))
    assert list(again["name"]) == list(table["name"])
    content = (tmp_path / "truth.seg.nrrd").read_bytes()
    (tmp_path / "latin1.seg.nrrd").write_bytes(content.replace(b"_Name:=liver\n", b"_Name:=Nie\xe8re\n"))
    latin_1 = sitk.ReadImage(str(tmp_path / "latin1.seg.nrrd"))
    assert lobule.stats(latin_1)["name"][1] == "Nie\xe8re"
    scan = sitk.ReadImage(str(case / "scan.nii.gz"))
    fused = lobule.fuse(scan, [(scan, latin_1)] * 2, method="majority")
    assert np.array_equal(sitk.GetArrayFromImage(fused), sitk.GetArrayFromImage(latin_1))


def test_names_that_are_other_labels_are_not_voted_on(case, tmp_path):
    scan, _, truth = images(case)
    (tmp_path / "names.tsv").write_text("index\tname\n2\tspleen\n4\tliver\n")
    good("convert", "--labels", case / "truth.nii.gz", "other.nii.gz", "--label-table", "names.tsv", cwd=tmp_path)
    other = nibabel.load(tmp_path / "other.nii.gz")
    line = "calls label 2 'spleen', which is label 4 in those before it"
    for call in (lobule.fuse, lobule.carry):
        with pytest.raises(lobule.InputError, match=f"^the labels of atlas 1: {line}"):
            call(scan, [(images(case)[0], truth), (images(case)[0], other)])
    with pytest.raises(lobule.InputError, match="^the labels of atlas 0: calls label 2 'liver', which is label 4"):
        lobule.carry(scan, [(images(case)[0], truth)], strokes=other)


@pytest.mark.parametrize("shape", [(20, 60, 64), (60, 64)])
def test_cells_with_their_table(tmp_path, shape):
    """In micrometres and in millimetres, of a volume and of one slice."""
    image = lobule.phantom("cells", shape=(1,) * (3 - len(shape)) + shape, cells=20)[0].reshape(shape)
    for spacing, size in ((0.0005, "8um"), (0.5, "8mm")):
        report = {}
        path = tmp_path / f"{size}.nii"
        affine = np.diag(([spacing] * len(shape) + [1, 1])[:4])
        nibabel.Nifti1Image(image.T.reshape((*shape[::-1], 1)[:3]), affine).to_filename(path)
        found = lobule.cells(image, size=size, walls=True, table=True, spacing=spacing, report=report, threads=1)
        good("cells", path, "--size", size, "--walls", "-o", tmp_path / "out.nii", "--table", tmp_path / "t.tsv",
             "--report", tmp_path / "r.json", "--force", *CPU)  # fmt: skip
        assert np.array_equal(found.labels, np.asarray(nibabel.load(tmp_path / "out.nii").dataobj).T.reshape(shape))
        lines = [line.split("\t") for line in (tmp_path / "t.tsv").read_text().splitlines()]
        assert list(found.table) == lines[0] and len(lines) - 1 == report["labels"] > 3
        for row, line in enumerate(lines[1:]):
            ours = [float(column[row]) for column in found.table.values()]
            theirs = [float(cell.replace("n/a", "nan")) for cell in line]
            assert np.allclose(ours, theirs, rtol=1e-6, atol=1e-6, equal_nan=True)
        wanted = json.loads((tmp_path / "r.json").read_text())["results"]
        assert report["labels"] == wanted["labels"] and report["chosen"].keys() == wanted["chosen"].keys()
        assert report["chosen"]["threshold"] == pytest.approx(wanted["chosen"]["threshold"], rel=1e-6)


def test_cells_refuse_what_does_not_go_together():
    image = np.zeros((9, 9, 9), np.uint8)
    for options, part in (
        ({"seeds": 0.1}, "belongs to walls"),
        ({"walls": True, "around": 2}, "does not go with walls"),
        ({"channel": 1}, "counted from 0"),
        ({"size": "9vox", "wall": 2}, "outside its range"),
        ({"max_memory": "4 apples"}, "as '4GiB'"),
    ):
        with pytest.raises(lobule.InputError, match=part):
            lobule.cells(image, **options)


def test_a_recipe_gives_back_what_it_writes(case, tmp_path):
    scan, seeds, _ = images(case)
    good("run", "strokes", f"image={case}/scan.nii.gz", f"seeds={case}/seeds.nii.gz", f"out={tmp_path}/out", *CPU)
    found = lobule.run("strokes", image=scan, seeds=seeds)
    assert sorted(found) == [".nii.gz", ".png", ".tsv"]
    wanted = nibabel.load(tmp_path / "out.nii.gz")
    assert np.array_equal(found[".nii.gz"].dataobj, wanted.dataobj)
    assert found[".tsv"]["label"].size == np.unique(wanted.dataobj).size - 1


def test_a_difference_is_no_fault(case, tmp_path):
    words = "compare", case / "truth.nii.gz", case / "seeds.nii.gz"
    with pytest.raises(lobule.Different, match="different") as differs:
        lobule.command(*words, "--strict")
    assert differs.value.printed == lobule.command(*words)
    assert differs.value.printed.endswith("different\n")
    recipe, told = tmp_path / "both.recipe", {}
    recipe.write_text("compare {a} {b} --strict\nlabels {a} -o {out}.nii --keep 2\n")
    _, seeds, truth = images(case)
    found = lobule.run(recipe, a=truth, b=seeds, report=told)
    assert np.array_equal(found[".nii"].dataobj, 2 * (np.asarray(truth.dataobj) == 2))
    assert [line["outcome"]["exit_code"] for line in told["lines"]] == [1, 0]


@pytest.mark.skipif(sys.platform == "win32", reason="the flag is refused elsewhere alone")
def test_no_window_is_opened(monkeypatch):
    """Windows opens one for each program that a caller without a console starts, as 3D Slicer and napari are."""
    monkeypatch.setattr(subprocess, "CREATE_NO_WINDOW", 0x08000000, raising=False)
    with pytest.raises(ValueError, match="creationflags"):
        lobule.command("--version")


# ---- kinds of images ----


def test_every_order_in_memory_gives_the_same(case):
    scan, seeds, _ = images(case)
    xyz, drawn = np.asarray(scan.dataobj), np.asarray(seeds.dataobj)
    wanted = np.asarray(lobule.growcut(scan, seeds).dataobj)
    options = {"spacing": (3, 3, 4), "axes": "xyz"}
    assert np.array_equal(lobule.growcut(xyz, drawn, **options), wanted)
    assert np.array_equal(lobule.growcut(np.ascontiguousarray(xyz), drawn, **options), wanted)
    assert np.array_equal(lobule.growcut(xyz.T, drawn.T, spacing=(4, 3, 3)), wanted.T)
    assert np.array_equal(lobule.growcut(xyz.T.astype(">i2"), drawn.T, spacing=(4, 3, 3)), wanted.T)
    spread = np.zeros((*xyz.T.shape[:2], 2 * xyz.shape[0]), xyz.dtype)[:, :, ::2]
    spread[...] = xyz.T
    assert np.array_equal(lobule.growcut(spread, drawn.T, spacing=(4, 3, 3)), wanted.T)
    assert np.array_equal(xyz, np.asarray(scan.dataobj)), "an input was written to"


def test_arrays_that_lie_right_are_not_copied():
    from lobule._volumes import source

    array = np.zeros((4, 5, 6), np.int16)
    assert np.shares_memory(source(array).voxels, array)
    assert np.shares_memory(source(array.T, axes="xyz").voxels, array)
    assert np.shares_memory(source(array > 0).voxels, array) is False


def test_simpleitk_in_and_out(case):
    scan, seeds = (sitk.ReadImage(str(case / f"{name}.nii.gz")) for name in ("scan", "seeds"))
    found = lobule.growcut(scan, seeds)
    wanted = np.asarray(lobule.growcut(*images(case)[:2]).dataobj).T
    assert isinstance(found, sitk.Image)
    assert np.array_equal(sitk.GetArrayFromImage(found), wanted)
    for about in ("GetSpacing", "GetOrigin", "GetDirection"):
        assert getattr(found, about)() == getattr(scan, about)()
    small = lobule.resample(scan, (8, 8, 8))
    nifti = lobule.resample(images(case)[0], 8)
    assert np.array_equal(sitk.GetArrayFromImage(small), np.asarray(nifti.dataobj).T)
    corner = np.array(small.TransformIndexToPhysicalPoint((0, 0, 0))) * (-1, -1, 1)
    assert np.allclose(corner, nifti.affine[:3, 3], atol=1e-3)
    colour = sitk.GetImageFromArray(np.zeros((4, 5, 6, 3), np.uint8), isVector=True)
    assert lobule.gaussian(colour, 1).GetNumberOfComponentsPerPixel() == 3
    assert lobule.filter(colour, gray=True).GetNumberOfComponentsPerPixel() == 1


def test_scaled_voxels_are_seen_through_their_scale(tmp_path):
    stored = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    image = nibabel.Nifti1Image(stored, np.eye(4))
    image.header.set_slope_inter(0.5, -3)
    nibabel.save(image, tmp_path / "scaled.nii")
    loaded = nibabel.load(tmp_path / "scaled.nii")
    loaded_values = loaded.get_fdata()
    assert np.array_equal(lobule.threshold(loaded, above=10).dataobj, loaded_values > 10)
    assert np.allclose(lobule.gaussian(loaded, 1).dataobj, lobule.gaussian(loaded_values, 1, axes="xyz"), atol=1e-4)


SAVED = [
    (nibabel.Nifti1Image, ".nii.gz"), (nibabel.Nifti1Pair, ".img"), (nibabel.Nifti2Image, ".nii"),
    (nibabel.MGHImage, ".mgz"), (nibabel.AnalyzeImage, ".img"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "ending"), SAVED, ids=[kind.__name__ for kind, _ in SAVED])
def test_files_for_the_command_hold_what_is_stored(tmp_path, kind, ending):
    from lobule._program import _save
    from lobule._volumes import source

    stored = np.random.default_rng(2).integers(-900, 900, (5, 6, 7), dtype=np.int16)
    affine = np.array([[-2.0, 0, 0, 9], [0, 3, 0, -4], [0, 0, 4, 6], [0, 0, 0, 1]])
    made = kind(stored, affine)
    scaled = isinstance(made, nibabel.Nifti1Pair)
    if scaled:
        made.header.set_slope_inter(0.25, -3)
        made.header["descrip"] = b"kept"
    made.to_filename(tmp_path / f"scan{ending}")
    image = nibabel.load(tmp_path / f"scan{ending}")
    _save(source(image), tmp_path / "for.nii")
    found = nibabel.load(tmp_path / "for.nii")
    assert found.get_data_dtype() == np.int16
    assert np.array_equal(found.dataobj.get_unscaled(), stored)
    assert (found.dataobj.slope, found.dataobj.inter) == ((0.25, -3) if scaled else (1, 0))
    assert np.allclose(found.affine, image.affine)
    assert not scaled or found.header["descrip"] == b"kept"
    assert isinstance(found, nibabel.Nifti2Image) == (kind is nibabel.Nifti2Image)


def test_segment_takes_what_is_no_nifti(case):
    scan, seeds, _ = images(case)
    wanted = lobule.segment(scan, seeds, passes=1)
    others = [nibabel.MGHImage(np.asarray(x.dataobj).astype(np.int16), x.affine) for x in (scan, seeds)]
    found = lobule.segment(*others, passes=1)
    assert isinstance(found, nibabel.MGHImage)
    assert np.array_equal(found.dataobj, wanted.dataobj)


def test_segment_tells_what_the_command_does(case, tmp_path):
    """Options, slices, uncertain voxels and corrections; without a process or a file."""
    scan, seeds, _ = images(case)
    words = [case / "scan.nii.gz", case / "seeds.nii.gz", "--margin", "3vox", "--median", "off", "--coarse", 2000]
    own = {"margin": "3vox", "median": "off", "coarse": 2000, "device": "cpu"}
    good("segment", *words, "-o", tmp_path / "m.nii.gz", "--suggest", 3, "--uncertain", tmp_path / "u.nii.gz",
         "--strength", tmp_path / "s.nii.gz", "--report", tmp_path / "r.json")  # fmt: skip
    told, wanted = {}, json.loads((tmp_path / "r.json").read_text())["results"]
    with unittest.mock.patch("subprocess.Popen"), unittest.mock.patch("tempfile.mkdtemp"):
        found = lobule.segment(scan, seeds, suggest=3, full=True, report=told, **own)
    for name, got in zip("msu", found):
        np.testing.assert_array_equal(np.asanyarray(got.dataobj), load(tmp_path / f"{name}.nii.gz"))
    assert {key: told[key] for key in ("labels", "uncertain_voxels")} == {
        key: wanted[key] for key in ("labels", "uncertain_voxels")}  # fmt: skip
    assert told["chosen"] == wanted["chosen"] and told["suggested"] == wanted["suggested"]
    before = np.zeros(scan.shape, np.uint8)
    save(before, tmp_path / "before.nii.gz", affine=scan.affine)
    good("segment", *words, "-o", tmp_path / "c.nii.gz", "--previous", tmp_path / "before.nii.gz", "--reach", "9mm")
    fixed = lobule.segment(scan, seeds, previous=before, reach="9mm", report=told, **own)
    np.testing.assert_array_equal(np.asanyarray(fixed.dataobj), load(tmp_path / "c.nii.gz"))
    assert told["changed_voxels"] == np.count_nonzero(np.asanyarray(fixed.dataobj))


def test_planes_and_channels():
    rng = np.random.default_rng(3)
    photo = rng.integers(0, 255, (30, 40, 3), dtype=np.uint8)
    pieces = lobule.slic(photo, count=20, channel_axis=-1)
    assert pieces.shape == (30, 40)
    soft = lobule.gaussian(photo, 1.5, channel_axis=-1)
    assert soft.shape == photo.shape
    assert soft.dtype == np.float32
    assert np.array_equal(soft[..., 1], lobule.gaussian(photo[..., 1], 1.5))
    assert lobule.filter(photo, gray=True, channel_axis=-1).shape == (30, 40)
    assert lobule.filter(photo[..., :1], median=1, channel_axis=-1).shape == (30, 40, 1)
    assert lobule.components(photo[..., 0] > 200).shape == (30, 40)
    assert np.array_equal(lobule.components(photo[..., 0] > 200, slices=0, neighbours=4) > 0, photo[..., 0] > 200)


# ---- errors, progress, stopping ----

VOLUME = np.zeros((4, 5, 6), np.int16)
STROKED, _, DRAWN = lobule.phantom("abdomen", shape=(16, 40, 40), spacing=8)


@pytest.mark.parametrize(
    ("kind", "base", "call", "text"),
    [
        (lobule.InputError, ValueError, lambda: lobule.growcut(VOLUME, VOLUME), "seed"),
        (lobule.InputError, ValueError, lambda: lobule.growcut(VOLUME, VOLUME[1:]), r"seeds: its shape is \(3, 5, 6\)"),
        (lobule.InputError, ValueError, lambda: lobule.components(VOLUME, neighbours=7), "neighbours"),
        (lobule.InputError, ValueError, lambda: lobule.components(VOLUME.astype(complex)), "complex128"),
        (lobule.InputError, ValueError, lambda: lobule.gaussian(np.zeros((2, 3, 4, 5)), 1), "4 axes"),
        (lobule.InputError, ValueError, lambda: lobule.gaussian(VOLUME, "2 miles"), "2 miles"),
        (lobule.InputError, ValueError, lambda: lobule.threshold(VOLUME, spacing=-1), "spacing"),
        (lobule.InputError, ValueError, lambda: lobule.threshold(VOLUME, spacing=(1, 1)), "each of 3 axes"),
        (lobule.InputError, ValueError, lambda: lobule.threshold("scan.nii.gz"), "'scan.nii.gz' is a name"),
        (lobule.InputError, ValueError, lambda: lobule.filter(VOLUME), "no step"),
        (lobule.InputError, ValueError, lambda: lobule.filter("scan.nii.gz"), "'scan.nii.gz' is a name"),
        (lobule.InputError, ValueError, lambda: lobule.labels("scan.nii.gz", [("x", 1)]), "'scan.nii.gz' is a name"),
        (lobule.InputError, ValueError, lambda: lobule.filter(VOLUME, edge="round"), "edge"),
        (lobule.InputError, ValueError, lambda: lobule.filter(VOLUME, slices="w"), "slices"),
        (lobule.InputError, ValueError, lambda: lobule.slic(VOLUME, threads=0, size=2), "threads"),
        (lobule.InputError, ValueError, lambda: lobule.labels(VOLUME - 1, largest=1), "labels"),
        (lobule.InputError, ValueError, lambda: lobule.segment(VOLUME, VOLUME), "label"),
        (lobule.InputError, ValueError, lambda: lobule.median(VOLUME, device="gpu"), "device is 'gpu'; it is one of auto, cpu, cuda, cuda:N"),
        (lobule.InputError, ValueError, lambda: lobule.median(VOLUME, device=None), "device is None; it is one of auto"),
        (lobule.InputError, ValueError, lambda: lobule.median(VOLUME, device="cuda:\u0663"), "device is 'cuda:\u0663'; it is one of auto"),
        (lobule.DeviceError, RuntimeError, lambda: lobule.median(VOLUME, device="cuda:77"), "cuda:77|CUDA|NVIDIA"),
        (lobule.DeviceError, RuntimeError, lambda: lobule.labels(VOLUME, device="cuda:77"), "cuda:77|CUDA|NVIDIA"),
        (lobule.OutOfMemory, MemoryError, lambda: lobule.slic(np.zeros((64, 64, 64)), size=4, max_memory=10), "memory"),
        (lobule.OutOfMemory, MemoryError, lambda: lobule.segment(STROKED, DRAWN, max_memory="100KiB"), "KiB"),
        (lobule.InputError, ValueError, lambda: lobule.median(VOLUME, max_memory="1k"), "max_memory is '1k'"),
        (lobule.NoInputError, FileNotFoundError, lambda: lobule.command("info", "no.nii"), "no.nii"),
        (lobule.InputError, ValueError, lambda: lobule.segment(None, VOLUME), "no image, but None"),
        (lobule.InputError, ValueError, lambda: lobule.resample(VOLUME, -3), "onto is -3"),
        (TypeError, TypeError, lambda: lobule.components(VOLUME, neighbours="six"), "neighbours is 'six'; it is a whole number"),
        (TypeError, TypeError, lambda: lobule.threshold(VOLUME, range=(5,)), r"range is \(5,\); it is a pair"),
        (TypeError, TypeError, lambda: lobule.filter(VOLUME, window=3), "window is 3; it is a pair"),
        (TypeError, TypeError, lambda: lobule.labels(VOLUME, drop=[2.5]), r"drop is \[2.5\]; it is a whole number or several"),
        (TypeError, TypeError, lambda: lobule.labels(VOLUME, keep=iter([2.5])), r"keep is \[2.5\]; it is a whole number or several"),
        (TypeError, TypeError, lambda: lobule.threshold(VOLUME, range=iter([1])), r"range is \[1\]; it is a pair"),
        (TypeError, TypeError, lambda: lobule.labels(VOLUME, keep=[2**32 + 1]), r"keep is \[4294967297\]; it is a whole number or several"),
        (TypeError, TypeError, lambda: lobule.labels(VOLUME, [("keep", [1.9])]), r"keep is \[1.9\]; it is a whole number or several"),
        (TypeError, TypeError, lambda: lobule.filter(VOLUME, [("window", 3)]), "window is 3; it is a pair"),
        (TypeError, TypeError, lambda: lobule.threshold(VOLUME, range=np.array(5.0)), r"range is array\(5.\); it is a pair"),
        (TypeError, TypeError, lambda: lobule.labels(VOLUME, merge={(2, 3): "x"}), "merge is .*; it is a dict of whole numbers"),
        (TypeError, TypeError, lambda: lobule.carry(VOLUME, [VOLUME]), "atlas 0 is of type ndarray; it is a pair"),
        (TypeError, TypeError, lambda: lobule.fuse(VOLUME, 3), "atlases is 3; it is a list of pairs"),
        (TypeError, TypeError, lambda: lobule.phantom("abdomen", 5), "shape is 5; it is three whole numbers"),
        (TypeError, TypeError, lambda: lobule.median(VOLUME, 1, report=3), "report is 3; it is a dict"),
        (TypeError, TypeError, lambda: lobule.median(VOLUME, 1, device=0), "device is 0; it is a text"),
        (TypeError, TypeError, lambda: lobule.Segmenter(STROKED, DRAWN), "labels is of type ndarray; it is a whole number"),
        (TypeError, TypeError, lambda: lobule.filter(VOLUME, sharpen=1), "sharpen"),
        (TypeError, TypeError, lambda: lobule.growcut(VOLUME, VOLUME, rul=1), r"growcut\(\) takes no argument 'rul'; did you mean 'rule'\?"),
    ],
)  # fmt: skip
def test_errors_by_kind(kind, base, call, text):
    with pytest.raises(kind, match=text) as failed:
        call()
    assert issubclass(kind, base)
    assert "\n" not in str(failed.value)


class Scalar:
    """A number as arrays on a GPU give it, which is no numbers.Number."""

    ndim, shape = 0, ()

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    __index__ = __int__

    def __eq__(self, other):
        return self.value == other

    def __hash__(self):
        return hash(self.value)


class Items:
    """What can be gone through by places alone."""

    def __init__(self, *each):
        self.each = each

    def __getitem__(self, i):
        return self.each[i]


@pytest.mark.parametrize("number", [Scalar, np.array, xarray.DataArray, decimal.Decimal, np.float64], ids=lambda kind: kind.__name__)
def test_numbers_may_be_of_any_kind(number):
    truth = lobule.phantom("abdomen", shape=(16, 40, 40), spacing=8)[1]
    for run, plain in (
        (lambda a, b: lobule.components(STROKED, range=(a, b)), (80, 120)),
        (lambda a, b: lobule.threshold(STROKED, range=Items(a, b)), (80, 120)),
        (lambda a, b: lobule.filter(STROKED, [("window", (a, b))], scale=(a, b)), (80, 120)),
        (lambda a, b: lobule.threshold(STROKED, above=a), (80, 120)),
        (lambda a, b: lobule.resample(STROKED, 3, fill=a), (80, 120)),
        (lambda a, b: lobule.labels(truth, keep=[a, b]), (1, 2)),
        (lambda a, b: lobule.labels(truth, drop=iter([a, b])), (1, 2)),
        (lambda a, b: lobule.labels(truth, keep=Items(a, b), map={1: b}), (1, 2)),
    ):
        np.testing.assert_array_equal(run(*map(number, plain)), run(*plain))


def test_labels_and_counts_may_come_from_arrays():
    truth = lobule.phantom("abdomen", shape=(16, 40, 40), spacing=8)[1]
    wanted = lobule.labels(truth, keep=[1, 2])
    for keep in (np.array([1.0, 2.0]), xarray.DataArray([1, 2]), pandas.Series([1.0, 2.0]), {1, 2}):
        np.testing.assert_array_equal(lobule.labels(truth, keep=keep), wanted)
    for one in (np.array(1), np.array([True]), 1.0):
        np.testing.assert_array_equal(lobule.labels(truth, keep=one), lobule.labels(truth, keep=1))
    for pairs in ({1.0: 2.0}, pandas.Series({1: 2}), collections.UserDict({1: 2})):
        np.testing.assert_array_equal(lobule.labels(truth, map=pairs), lobule.labels(truth, map={1: 2}))
    np.testing.assert_array_equal(lobule.labels(truth, merge={(2.0, 3.0): 1}), lobule.labels(truth, merge={(2, 3): 1}))
    for six in (np.array(6), Scalar(6)):
        np.testing.assert_array_equal(lobule.components(truth, neighbours=six), lobule.components(truth, neighbours=6))


def test_pairs_and_reports_may_be_held_by_anything():
    truth = lobule.phantom("abdomen", shape=iter((16, 40, 40)), spacing=8)[1].astype(STROKED.dtype)
    pairs, told = [(STROKED, truth)], collections.UserDict()
    wanted = lobule.fuse(STROKED, pairs, report=told)
    assert told["fused"]
    for held in (np.stack([STROKED, truth])[np.newaxis], [np.stack([STROKED, truth])], Items(*pairs), [Items(STROKED, truth)]):
        np.testing.assert_array_equal(lobule.carry(STROKED + 1, held), lobule.carry(STROKED + 1, pairs))
    for held in (np.stack([STROKED, truth])[np.newaxis], [np.stack([STROKED, truth])], Items(*pairs), iter(pairs)):
        np.testing.assert_array_equal(lobule.fuse(STROKED, held), wanted)
    ends = np.percentile(STROKED, [1, 99])
    wanted = lobule.preview(STROKED, window=tuple(ends.tolist()))
    for window in (ends, list(ends), ",".join(map(str, ends)), tuple(map(str, ends)), map(float, ends)):
        np.testing.assert_array_equal(lobule.preview(STROKED, window=window), wanted)


def test_a_masked_array_is_refused_where_its_mask_would_be_lost():
    """Wherever it is given; one that hides nothing is an array as any other."""
    hides, hidden = np.ma.masked_equal(DRAWN, 1), np.ma.masked_equal(STROKED, STROKED.max())
    image = nibabel.Nifti1Image(hidden.T, np.eye(4))
    for call in (
        lambda: lobule.threshold(hidden),
        lambda: lobule.threshold(image),
        lambda: lobule.growcut(STROKED, hides),
        lambda: lobule.threshold(STROKED, mask=hides),
        lambda: lobule.stats(STROKED, hides),
    ):
        with pytest.raises(lobule.InputError, match="would lose its mask"):
            call()
    open_one = np.ma.masked_array(STROKED, mask=False)
    np.testing.assert_array_equal(lobule.threshold(open_one), lobule.threshold(STROKED))


def test_images_that_are_only_turned_are_used():
    """As the command takes them: axes exchanged or flipped, in nibabel's way and in SimpleITK's."""
    affine = np.diag([8.0, 7.0, 6.0, 1.0])
    scan, drawn = (nibabel.Nifti1Image(v.T, affine) for v in (STROKED.astype(np.int16), DRAWN))
    turned = drawn.as_reoriented(nibabel.orientations.axcodes2ornt("PSL"))
    assert turned.shape != drawn.shape
    for grow in (lobule.growcut, lobule.segment):
        wanted, found = grow(scan, drawn), grow(scan, turned)
        np.testing.assert_array_equal(np.asanyarray(found.dataobj), np.asanyarray(wanted.dataobj))
        np.testing.assert_array_equal(found.affine, affine)
    scan, drawn = sitk.GetImageFromArray(STROKED), sitk.GetImageFromArray(DRAWN)
    wanted = lobule.stats(scan, drawn)
    found = lobule.stats(sitk.DICOMOrient(scan, "SPR"), drawn)
    np.testing.assert_array_equal(found["mean"], wanted["mean"])


def test_progress_rises_to_its_end():
    told = []
    image = lobule.phantom("cells", shape=(24, 80, 80), cells=20, device="cpu")[0]
    lobule.median(image, 2, progress=told.append, device="cpu")
    assert told
    assert told == sorted(told)
    assert told[-1] <= 1


def test_a_progress_that_raises_stops_the_call():
    def stop(done):
        raise LookupError("enough")

    image = np.zeros((40, 80, 80), np.float32)
    with pytest.raises(LookupError, match="enough"):
        lobule.median(image, 2, progress=stop, device="cpu")
    assert lobule.median(image, 1).max() == 0, "the next call works"


def seeds_in(image):
    drawn = np.zeros(image.shape, np.uint8)
    drawn[1, 1, 1], drawn[2, 3, 4] = 1, 2
    return drawn


REFUSED = [
    # what, call, what its line says
    ("an axis of channels that is none", lambda a: lobule.gaussian(a, 1, channel_axis=7), "channel_axis is 7; the array has 3 axes"),
    ("rows of several lengths", lambda _: lobule.components([[1, 2], [3]]), r"no image, but \[\[1, 2\], \[3\]\]"),
    ("a row", lambda a: lobule.components(a[0, 0]), "an array of 1 axis is no volume; it has 2 or 3"),
    ("several frames", lambda a: lobule.components(a[..., None]), "an array of 4 axes is no volume; choose a frame"),
    ("seeds that are none", lambda a: lobule.growcut(a, None), "seeds: no image, but None"),
    ("a mask's name", lambda a: lobule.components(a, mask="mask.nii"), "mask: 'mask.nii' is a name"),
    ("memory below nothing", lambda a: lobule.components(a, max_memory=-1), "max_memory is -1; it is a number of bytes"),
    ("half a byte", lambda a: lobule.components(a, max_memory=1.5), "max_memory is 1.5; it is a number of bytes"),
    ("a choice below its range", lambda a: lobule.segment(a, seeds_in(a), background=-1), "background is -1; it is from 0"),
    ("a choice beyond its range", lambda a: lobule.segment(a, seeds_in(a), whole=1.5), "whole is 1.5; it is from 0 to 1"),
    ("a choice that is no number", lambda a: lobule.segment(a, seeds_in(a), far=np.nan), "far is -?nan; it is from 0 to 16"),
    ("the greatest background", lambda a: lobule.segment(a, seeds_in(a), background=-2), "it is from 0 to 2147483647$"),
    ("labels too thin", lambda a: lobule.seeds(a, labels=seeds_in(a), erode="2vox"), "^labels: no voxel of it becomes a seed; a smaller erode"),
    ("seeds without seeds", lambda a: lobule.seeds(a, seeds=a), "^seeds: no voxel of it becomes a seed$"),
    ("lists in a list in lists", lambda a: lobule.crop(a, around=[a.tolist()]), "^around: an array of 4 axes is no volume"),
    ("a list of memory", lambda a: lobule.components(a, max_memory=[1]), r"max_memory is \[1\]; it is a number of bytes"),
]


@pytest.mark.parametrize(("call", "line"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_arguments_are_refused_by_their_names(call, line):
    with pytest.raises(lobule.InputError, match=line):
        call(np.zeros((4, 5, 6), np.uint8))


def test_arrays_may_be_lists_of_lists():
    whole = lobule.seeds(STROKED, labels=DRAWN, seeds=DRAWN)
    assert np.array_equal(lobule.seeds(STROKED, labels=DRAWN.tolist(), seeds=DRAWN.tolist()), whole)
    assert np.array_equal(lobule.crop(STROKED, around=DRAWN.tolist()), lobule.crop(STROKED, around=DRAWN))


def test_too_little_memory_is_told_of_any_work():
    for call in (lambda: lobule.segment(STROKED, DRAWN, max_memory="100KiB"), lambda: lobule.components(STROKED, max_memory=9)):
        with pytest.raises(lobule.OutOfMemory, match=r"^\w+: working memory of [\d.]+ \w+ is more than the [\d.]+ \w+ allowed"):
            call()


def test_progress_is_a_function_or_a_switch():
    for progress in (3, 0, np.array([0, 1])):
        for call in (lobule.components, lambda image, **given: lobule.crop(image, around=image, **given)):
            with pytest.raises(TypeError, match="progress is .*; it is True"):
                call(STROKED, progress=progress)


@pytest.mark.parametrize("bytes_", [4e9, 1e30, 2**62, 2**63, 2**64, 2**64 + 1, 2**70, "99999999999G", "16777216T"])
def test_more_memory_than_c_counts_is_no_small_limit(bytes_):
    assert np.array_equal(lobule.components(STROKED, max_memory=bytes_), lobule.components(STROKED))
    assert np.array_equal(lobule.crop(STROKED, around=DRAWN, max_memory=bytes_), lobule.crop(STROKED, around=DRAWN))


def test_long_doubles_are_taken():
    wide = STROKED.astype(np.longdouble) / 3
    assert np.array_equal(lobule.gaussian(wide, 1), lobule.gaussian(wide.astype(np.float64), 1))


def test_nibabel_labels_have_the_header_of_the_command_s(tmp_path):
    """Not the window and the description of the scan."""
    scan, drawn = (nibabel.Nifti1Image(array.T, np.diag([2.0, 2, 3, 1])) for array in (STROKED, DRAWN))
    scan.header["cal_max"], scan.header["cal_min"], scan.header["descrip"] = 400, -100, b"a scan"
    scan.header.set_intent("z score", (), name="z")
    for image, name in ((scan, "scan.nii"), (drawn, "drawn.nii"), (lobule.growcut(scan, drawn), "ours.nii")):
        nibabel.save(image, tmp_path / name)
    lobule.command("growcut", tmp_path / "scan.nii", tmp_path / "drawn.nii", "-o", tmp_path / "theirs.nii")
    ours, theirs = (nibabel.load(tmp_path / name).header for name in ("ours.nii", "theirs.nii"))
    assert {field for field in theirs if ours[field].tobytes() != theirs[field].tobytes()} <= {"magic"}
    assert theirs["cal_max"] == DRAWN.max()


def test_a_bar_where_tqdm_is(capsys):
    pytest.importorskip("tqdm")
    lobule.median(np.zeros((40, 60, 60), np.float32), 2, progress=True, device="cpu")
    assert "%" in capsys.readouterr().err


def test_progress_is_told_within_the_first_sweep_of_a_growth():
    """Which may be most of it; so Ctrl-C does not wait for its end."""
    image, _, drawn = lobule.phantom("abdomen", shape=(120, 128, 144))
    told = []
    lobule.growcut(image, drawn, device="cpu", threads=1, progress=told.append)
    assert max(np.diff([0, *told])) < 0.3


def test_other_threads_run_on():
    image = np.random.default_rng(5).random((50, 120, 120))
    counted = 0
    working = threading.Thread(target=lobule.median, args=(image, 2), kwargs={"threads": 1, "device": "cpu"})
    working.start()
    while working.is_alive():
        counted += 1
        time.sleep(0.001)
    assert counted > 5


FORKS = """
import multiprocessing, sys, numpy, lobule
scan = numpy.random.default_rng(0).integers(0, 200, (24, 40, 40)).astype(numpy.int16)
seeds = numpy.zeros(scan.shape, numpy.uint8)
seeds[2, 2, 2], seeds[20, 30, 30] = 1, 2
def work(threads):
    grown = lobule.growcut(scan, seeds, threads=threads)
    return grown.tobytes(), lobule.components(scan > 150, threads=threads).tobytes()
if __name__ == "__main__":
    here = work(4)
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        assert all(there == here for there in pool.map(work, [None, 1, 4, None]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_child_processes_compute(tmp_path, method):
    (tmp_path / "forks.py").write_text(FORKS)
    places = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "forks.py", method], cwd=tmp_path, env={**os.environ, **places}, timeout=60, check=True
    )


# 200 times: beside threads that compute, and in processes forked while these do.
HDF5 = """
import ctypes, os, sys, threading, numpy, lobule
from lobule import _program
scan = numpy.random.default_rng(0).integers(0, 200, (9, 20, 30)).astype(numpy.int16)
stop = threading.Event()
def compute():
    while not stop.is_set():
        lobule.median(scan, 1, threads=2, device="cpu")
def read(times):
    for _ in range(times):
        voxels, found = _program.read("scan.h5")
        _program.library.lob_volume_free(ctypes.byref(found))
        assert (voxels == scan).all()
right = []
def reader():
    read(25)
    right.append(1)
def fork(times):
    child = os.fork()
    if child == 0:
        try:
            read(times)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
threads = [threading.Thread(target=compute), *(threading.Thread(target=reader) for _ in range(4))]
for one in threads:
    one.start()
for _ in range(20):
    fork(5)
for one in threads[1:]:
    one.join()
stop.set()
assert len(right) == 4
"""


def test_hdf5_beside_threads_and_after_a_fork(tmp_path):
    h5py = pytest.importorskip("h5py")
    scan = np.random.default_rng(0).integers(0, 200, (9, 20, 30)).astype(np.int16)
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file.create_dataset("raw", data=scan, chunks=(4, 8, 8), compression="gzip")
    places = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", HDF5], cwd=tmp_path, env={**os.environ, **places}, timeout=120, check=True)


# PyTorch has threads of its own, by OpenMP too; the loader's processes come after both have computed.
LOADER = """
import concurrent.futures, numpy, torch, lobule
scan = numpy.random.default_rng(0).integers(0, 200, (4, 12, 30, 30)).astype(numpy.int16)
class Pieces(torch.utils.data.Dataset):
    def __len__(self):
        return len(scan)
    def __getitem__(self, i):
        smooth = torch.nn.functional.avg_pool3d(torch.from_numpy(scan[i]).float()[None], 3, 1, 1)[0]
        assert lobule.components(smooth, above=100).shape == scan[i].shape
        return torch.from_numpy(lobule.components(scan[i], above=150).astype(numpy.int32))
if __name__ == "__main__":
    here = [lobule.components(one, above=150) for one in scan]
    torch.mm(torch.ones(400, 400), torch.ones(400, 400))
    for method in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(Pieces(), batch_size=None, num_workers=2, multiprocessing_context=method)
        assert all((there.numpy() == one).all() for there, one in zip(loader, here))
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = list(threads.map(Pieces().__getitem__, list(range(len(scan))) * 4))
    assert all((there.numpy() == one).all() for there, one in zip(found, here * 4))
"""


def test_loaders_of_pytorch_compute(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "loader.py").write_text(LOADER)
    places = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "loader.py"], cwd=tmp_path, env={**os.environ, **places}, timeout=120, check=True)


def test_many_threads_of_python_compute_at_once():
    """Each with threads of its own: the same bytes."""
    image = np.random.default_rng(3).integers(0, 99, (20, 40, 40)).astype(np.int16)
    wanted, found = lobule.median(image, 1).tobytes(), []
    work = [threading.Thread(target=lambda n=n: found.append(lobule.median(image, 1, threads=n).tobytes())) for n in (1, 2, 3, 4)]
    for one in work:
        one.start()
    for one in work:
        one.join()
    assert found == [wanted] * 4


def test_more_threads_than_can_be_made():
    """The environment's are bounded as `threads` is, and fewer are taken where no more can be made."""
    code = """
import resource, numpy, lobule
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
image = numpy.random.default_rng(3).integers(0, 99, (20, 40, 40)).astype(numpy.int16)
print(lobule.median(image, 1, device="cpu", threads=1).tobytes() == lobule.median(image, 1, device="cpu").tobytes())
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "1000000", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "True\n", done.stderr


def test_a_child_is_refused_its_parent_s_gpu(case, monkeypatch):
    process = lobule._library._Process
    monkeypatch.setattr(process, "forked", True)
    monkeypatch.setattr(process, "gpu", True)
    with pytest.raises(lobule.DeviceError, match="'cuda': a process that was forked .* 'spawn'"):
        lobule.components(np.ones((3, 3, 3), np.uint8), device="cuda")
    assert lobule.components(np.ones((3, 3, 3), np.uint8)).max() == 1


def test_ctrl_c_stops_a_call():
    code = """
import signal, time, numpy, lobule
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs come without one
image = numpy.random.default_rng(1).random((200, 200, 200))
print("go", flush=True)
start = time.time()
try:
    lobule.median(image, 8, device="cpu", threads=1)
except KeyboardInterrupt:
    print("stopped", lobule.median(image[:4], 1).shape)
"""
    environment = dict(os.environ)
    if not WHEEL:
        environment["PYTHONPATH"] = str(ROOT / "python")
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert child.stdout.readline() == "go\n"
    time.sleep(0.5)
    start = time.monotonic()
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert said == "stopped (4, 200, 200)\n"
    assert time.monotonic() - start < 20


# ---- the page of examples ----

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_page_s_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) > 5
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), known)


def test_the_readme_s_example_runs(case, monkeypatch):
    monkeypatch.chdir(case)
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From Python, C and C++")[1].split("    #include")[0]
    lines = re.findall(r"^ {4}(.+)$", section, re.M)
    assert len(lines) == 2
    exec("\n".join(lines), known := {})
    assert known["labels"].shape == (48, 40, 24)


def test_the_table_of_calls(tmp_path):
    """Each row of "Beside other packages": ours takes no more lines, runs, and says the same."""
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (\S+) \|$", PAGE, re.M)
    assert len(rows) > 8
    known = {}
    exec(re.search(r"```setup\n(.*?)```", PAGE, re.S).group(1), known)
    for theirs, ours, alike in rows:
        assert ours.count(";") <= theirs.count(";")
        found = []
        for line in (theirs, ours):
            scope = dict(known)
            exec(line, scope)
            found.append(scope["out"])
        if alike == "same":
            assert np.array_equal(*found), ours
        elif alike == "close":
            assert np.allclose(*found, rtol=1e-4, atol=1e-4), ours


# ---- arrays on a GPU: host memory that says it is one, and the CPU in the GPU's place ----


class Fake:
    """An array that lies on "a GPU", as a package with DLPack and the array API has them."""

    def __init__(self, array, versioned=True, number=3):
        self.array, self.versioned, self.streams, self.number = array, versioned, [], number
        self.device = f"cuda:{number}"

    def __dlpack_device__(self):
        return (2, self.number)

    def __dlpack__(self, *, stream=None, **more):
        self.streams.append(stream)
        if not self.versioned and "max_version" in more:
            raise TypeError("of before DLPack 1.0")
        return self.array.__dlpack__(**more)

    def __array_namespace__(self):
        return FakeSpace

    def max(self):
        return self.array.max()

    def min(self):
        return self.array.min()

    def __eq__(self, other):
        return self.array == other

    def __setitem__(self, where, value):
        self.array[where] = value


class FakeSpace:
    """The package of Fake."""

    uint8, int16, int32, float32 = np.uint8, np.int16, np.int32, np.float32
    made = []

    @classmethod
    def empty(cls, shape, dtype, device):
        assert device == "cuda:3"
        cls.made.append(Fake(np.empty(shape, dtype)))
        return cls.made[-1]


class Interface:
    """An array with __cuda_array_interface__ alone, and a stream to wait for."""

    def __init__(self, array, **more):
        about = array.__array_interface__
        self.array = array
        self.__cuda_array_interface__ = {**about, "version": 3, "stream": 7, **more}

    def __array_namespace__(self):
        return FakeSpace

    device = "cuda:3"


@pytest.fixture
def gpu(monkeypatch):
    """Calls on the GPU 3 that the CPU answers."""
    import ctypes

    from lobule import _device, _library

    waited, ended = [], []
    cpu = _library.backend("cpu")

    abi = _library._abi

    def in_memory(thing):
        """Every place of a structure, which is the GPU's, becomes ordinary memory."""
        for name, kind in thing._fields_:
            field = getattr(thing, name)
            if kind is abi.lob_place:
                assert (field.kind, field.number) in ((abi.LOB_PLACE_MEMORY, 0), (abi.LOB_PLACE_CUDA, 3))
                field.kind = field.number = 0
            elif isinstance(field, ctypes._Pointer) and field and kind._type_ is abi.lob_volume:
                in_memory(field.contents)

    class Functions:
        def __getattr__(self, name):
            inner = getattr(cpu.functions, name)

            def call(*arguments):
                for given in (a._obj for a in arguments if type(getattr(a, "_obj", None)).__name__.endswith("_input")):
                    in_memory(given)
                return inner(*arguments)

            return call

    class Opened:
        functions = Functions()
        context = abi.lob_context(2, 0, 0x1234)

    opened = []
    monkeypatch.setattr(_library, "backend", lambda choice: opened.append(choice) or Opened)
    library = _device.library

    def copy(device, to, address, size, error):
        ctypes.memmove(to, address, size)
        return 0

    for name, function in (
        ("lob_device_stream", lambda device: 0x77),
        ("lob_device_number", lambda device: 3),
        ("lob_device_wait", lambda device, error: ended.append(device) or 0),
        ("lob_device_wait_stream", lambda device, stream, error: waited.append(stream) or 0),
        ("lob_device_copy", copy),
    ):
        monkeypatch.setattr(library, name, function)
    FakeSpace.made.clear()
    return {"waited": waited, "opened": opened, "ended": ended, "functions": Opened.functions}


@pytest.mark.parametrize("home", ["", "https://lobule.example/page"])
def test_pip_shows_author_and_home_page(tmp_path, home):
    text = (ROOT / "CMakeLists.txt").read_text()
    assert text.count("HOMEPAGE_URL") == 1
    for name in ("pyproject.toml", "LICENSE", "docs/python.md", "volumes/version.h", "packaging/home.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "CMakeLists.txt").write_text(re.sub(r'HOMEPAGE_URL ".*?"', f'HOMEPAGE_URL "{home}"', text))
    tell = "from scikit_build_core.build import *; print(prepare_metadata_for_build_wheel('.'))"
    folder = subprocess.run([sys.executable, "-c", tell], cwd=tmp_path, check=True, capture_output=True, text=True).stdout.split()[-1]
    about = (tmp_path / folder / "METADATA").read_text()
    assert "\nAuthor: The Lobule authors\n" in about
    assert re.findall(r"^(?:Project-URL|Home-page): *(.*)", about, re.M) == [f"Homepage, {home}"] * bool(home)


def test_strokes_of_a_phantom_are_the_commands(tmp_path):
    out = tmp_path / "strokes.nii.gz"
    good("phantom", "abdomen", "--size", "44,40,36", "--spacing", "8,8,6", "-o", tmp_path / "scan.nii.gz", "--strokes", out)
    strokes = lobule.phantom("abdomen", shape=(36, 40, 44), spacing=(6, 8, 8), strokes=True)[2]
    assert np.array_equal(strokes.T, load(out))
    with pytest.raises(lobule.InputError, match="abdomen"):
        lobule.phantom("cells", shape=(8, 16, 16), strokes=True)


@pytest.mark.parametrize("versioned", [True, False])
def test_arrays_on_a_gpu_stay_there(gpu, versioned):
    image, truth, seeds = lobule.phantom("abdomen", shape=(12, 20, 24), spacing=9)
    calls = (
        lambda take: lobule.growcut(take(image), take(seeds), spacing=9, mask=take(truth)),
        lambda take: lobule.components(take(image), above=900, min_size="2000mm3", spacing=9, dtype="int32"),
        lambda take: lobule.slic(take(image), size=30, spacing=9),
        lambda take: lobule.filter(take(image), gaussian=12, spacing=(9, 9, 8)),
        lambda take: lobule.threshold(take(image), otsu=3),
        lambda take: lobule.distance(take(truth), kind="signed", spacing=(9, 9, 8)),
        lambda take: lobule.distance(take(truth), label=2, squared=True, max=20),
        lambda take: lobule.nearest(take(truth), slices="z"),
        lambda take: lobule.growcut(take(image), take(seeds), seed_strength=take(seeds * np.float32(0.1)), spacing=9),
        lambda take: lobule.labels(take(truth), drop=1, largest=1, smooth=12, spacing=9),
    )
    for call in calls:
        taken = []
        found = call(lambda array: taken.append(Fake(array, versioned)) or taken[-1])
        assert found is FakeSpace.made[-1], "the result is of the image's package"
        assert np.array_equal(found.array, call(lambda array: array))
        for array in [*taken, found]:
            assert array.streams[-1] == 0x77, "each array's owner waits for our stream"
        assert gpu["ended"].pop() == 0x1234, "the GPU has finished"
    assert set(gpu["opened"]) == {"cuda:3", "auto"}


def test_arrays_on_a_gpu_by_their_interface(gpu):
    image = lobule.phantom("abdomen", shape=(12, 20, 24), spacing=9)[0]
    found = lobule.threshold(Interface(image), otsu=2)
    assert np.array_equal(found.array, lobule.threshold(image, otsu=2))
    assert gpu["waited"] == [7], "our stream waits for its owner's"
    lobule.threshold(Interface(image, stream=None), otsu=2)
    assert gpu["waited"] == [7, 1], "and for the default one where it names none"
    swapped = Interface(image, typestr=image.dtype.newbyteorder().str)
    with pytest.raises(lobule.InputError, match="another byte order"):
        lobule.threshold(swapped)
    with pytest.raises(lobule.InputError, match="order"):
        lobule.threshold(Interface(image.transpose(1, 0, 2)))
    with pytest.raises(lobule.InputError, match="shape"):
        lobule.threshold(Interface(image), mask=Interface(image[1:].astype(np.uint8)))


def test_seeds_of_a_package_without_a_maximum(gpu, monkeypatch):
    """As Numba's arrays: nothing but the interface."""
    import ctypes

    from lobule import _device

    def download(device, to, address, size, error):
        ctypes.memmove(to, address, size)
        return 0

    monkeypatch.setattr(_device.library, "lob_device_download", download)
    image, _, seeds = lobule.phantom("abdomen", shape=(12, 20, 24), spacing=9)
    found = lobule.growcut(Interface(image), Interface(seeds), spacing=9)
    assert np.array_equal(found.array, lobule.growcut(image, seeds, spacing=9))


def test_arrays_that_are_none(gpu):
    for call, text in (
        (lambda: lobule.threshold(Fake(np.zeros((0, 4, 4), np.uint8))), "no voxels"),
        (lambda: lobule.growcut(Fake(VOLUME), Fake(VOLUME)), "seeds"),
        (lambda: lobule.growcut(Fake(VOLUME), Fake(VOLUME - 1)), "seeds: -1 is no label"),
        (lambda: lobule.distance(Fake(VOLUME - 1)), "labels: -1 is no label"),
        (lambda: lobule.distance(Fake(VOLUME.astype(np.float32))), "float32"),
        (lambda: lobule.nearest(Fake(VOLUME.astype(np.uint16))), "uint16"),
        (lambda: lobule.distance(Fake(VOLUME), label=4), "label 4"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_the_caller_s_gpu_stays_current(gpu, monkeypatch):
    """CUDA's driver, as a thread has it that comes with one GPU and computes on another."""
    import ctypes

    from lobule import _library

    class Driver:
        current = 0xA

        def cuCtxGetCurrent(self, out):  # noqa: N802  the driver's name
            out._obj.value = self.current
            return 0

        def cuCtxSetCurrent(self, context):  # noqa: N802
            self.current = context.value
            return 0

    cuda = Driver()
    inner = gpu["functions"].threshold

    def moving(*arguments):
        cuda.current = 0xB
        return inner(*arguments)

    monkeypatch.setattr(_library, "driver", lambda: cuda)
    monkeypatch.setattr(gpu["functions"], "threshold", moving, raising=False)
    lobule.threshold(Fake(VOLUME), above=3)
    assert cuda.current == 0xA
    cuda.current = None
    lobule.threshold(Fake(VOLUME), above=3)
    assert ctypes.c_void_p(cuda.current).value is None


def test_arrays_on_several_gpus(gpu, monkeypatch):
    from lobule import _device

    image, truth, seeds = lobule.phantom("abdomen", shape=(12, 20, 24), spacing=9)
    for call, name in (
        (lambda: lobule.growcut(Fake(image), Fake(seeds, number=1)), "seeds"),
        (lambda: lobule.threshold(Fake(image), mask=Fake(truth, number=0)), "mask"),
        (lambda: lobule.threshold(Fake(image, number=0), device="cuda:3"), "image"),
    ):
        with pytest.raises(lobule.InputError, match=rf"{name}: is in the memory of GPU \d, and the call is on GPU 3"):
            call()
    where = {image.ctypes.data: 3, truth.ctypes.data: 2}
    monkeypatch.setattr(_device, "_driver_s_gpu", where.get)
    gpu["opened"].clear()
    lobule.threshold(Interface(image), above=3)
    assert gpu["opened"] == ["cuda:3"], "the GPU that has the image"
    with pytest.raises(lobule.InputError, match="mask: is in the memory of GPU 2"):
        lobule.threshold(Interface(image), mask=Interface(truth))


def test_a_dlpack_capsule_gives_its_memory_back(gpu):
    image = np.zeros((4, 5, 6), np.int16)
    image[1:3] = 7
    before = sys.getrefcount(image)
    lobule.threshold(Fake(image), above=3)
    assert sys.getrefcount(image) == before


# ---- what the package says of the library ----


def test_the_description_has_what_the_library_exports():
    from lobule import _abi

    exports = Path(LIBRARY).resolve().parent / "lobule.map"
    if not exports.is_file():
        pytest.skip("the library does not lie in a build")
    left_out = {"lob_error_add", "lob_backends"}  # variadic, as all that fails; a variable
    names = {n for n in re.findall(r"lob_\w+", exports.read_text()) if not n.startswith("lob_fail")}
    assert names - left_out == set(_abi.FUNCTIONS)


def test_structures_have_the_compiler_s_sizes(tmp_path):
    import ctypes

    from lobule import _abi

    kinds = [kind for kind in vars(_abi).values() if isinstance(kind, type) and issubclass(kind, ctypes.Structure)]
    kinds.remove(ctypes.Structure)
    lines = ["#include <stddef.h>", "#include <lobule/lobule.h>"]
    for kind in kinds:
        last = kind._fields_[-1][0]
        lines.append(f"_Static_assert(sizeof({kind.__name__}) == {ctypes.sizeof(kind)}, \"size\");")
        lines.append(f"_Static_assert(offsetof({kind.__name__}, {last}) == {getattr(kind, last).offset}, \"{last}\");")
    source = tmp_path / "sizes.c"
    source.write_text("\n".join(lines))
    include = Path(LIBRARY).resolve().parent / "include"
    if not include.is_dir():
        pytest.skip("the library does not lie in a build")
    subprocess.run(["cc", "-fsyntax-only", f"-I{include}", str(source)], check=True)
    assert len(kinds) > 50


# ---- one scan onto another ----


def test_fields_are_the_command_s(case, tmp_path):
    """The same field and the same warped labels; a field goes through nibabel and SimpleITK unchanged."""
    scan, _, truth = images(case)
    moving = lobule.resample(scan, (4, 3, 5))
    moving.to_filename(tmp_path / "moving.nii")
    report = {}
    field = lobule.register(scan, moving, grid=12, smooth=1, report=report)
    good("register", case / "scan.nii.gz", tmp_path / "moving.nii", "--grid", "12", "--smooth", "1",
         "-o", tmp_path / "field.nii", "--report", tmp_path / "r.json", *CPU)  # fmt: skip
    wanted = nibabel.load(tmp_path / "field.nii")
    stored = np.asarray(wanted.dataobj)
    assert field.array.transpose(3, 2, 1, 0).tobytes() == stored[:, :, :, 0].tobytes()
    assert np.allclose(field.affine, wanted.affine, atol=1e-4)
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert np.allclose(field.matrix[:3], results["affine"]) and report["folded"] == results["folded"]
    good("warp", case / "truth.nii.gz", tmp_path / "field.nii", "--inverse", "--labels", "--like", tmp_path / "moving.nii",
         "-o", tmp_path / "out.nii", *CPU)  # fmt: skip
    out = np.asarray(nibabel.load(tmp_path / "out.nii").dataobj)
    for given in (field, field.nibabel(), field.itk(), wanted):
        found = lobule.warp(truth, given, moving, labels=True, inverse=True)
        assert np.array_equal(np.asarray(found.dataobj), out)
    itk = sitk.DisplacementFieldTransform(field.itk())
    point = itk.TransformPoint((-10.0, 5.0, 3.0))
    assert np.linalg.norm(np.subtract(point, (-10, 5, 3))) < 12


def test_fields_of_arrays_and_what_is_no_field(case):
    scan = np.asarray(images(case)[0].dataobj).T
    field = lobule.register(scan, scan[:, 2:, 3:], spacing=(4, 3, 3), grid=9, affine_only=True)
    assert np.allclose(np.median(field.array, (1, 2, 3)), (9, 6, 0), atol=1)  # along LPS
    back = lobule.warp(scan[:, 2:, 3:], field, scan, spacing=(4, 3, 3))
    assert back.shape == scan.shape and np.corrcoef(back[3:-3, 5:-5, 5:-5].ravel(), scan[3:-3, 5:-5, 5:-5].ravel())[0, 1] > 0.9
    for call, part in (
        (lambda: lobule.register(scan, scan, start="corner"), "start"),
        (lambda: lobule.register(scan, np.zeros_like(scan)), "one value alone"),
        (lambda: lobule.register(scan, scan, smooth=0), "smoothness"),
        (lambda: lobule.warp(scan, scan, scan), "a field is"),
        (lambda: lobule.warp(scan, field, scan, labels=True, nearest=True), "nearest"),
        (lambda: lobule.Field(np.zeros((2, 3, 3, 3)), np.eye(4)), "shape"),
    ):
        with pytest.raises(lobule.InputError, match=part):
            call()
