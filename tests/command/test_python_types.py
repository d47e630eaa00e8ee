"""Types, names, help and errors of the Python package: what an editor, mypy and a person see."""

import inspect
import json
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import nibabel
import numpy as np
import pytest
from conftest import PROGRAM, ROOT, good

if os.environ.get("LOBULE_SANITIZED"):
    pytest.skip("Python does not load a library with sanitizers", allow_module_level=True)
if not os.environ.get("LOBULE_WHEEL"):
    library = os.environ.get("LOBULE_LIBRARY") or str(Path(PROGRAM).parents[1] / "liblobule.so")
    os.environ.update(LOBULE_LIBRARY=library, LOBULE_PROGRAM=PROGRAM)
    sys.path.insert(0, str(ROOT / "python"))
import lobule  # noqa: E402  found by the lines above

FUNCTIONS = sorted(name for name in lobule.__all__ if inspect.isfunction(getattr(lobule, name)))
SCAN, TRUTH, SEEDS = lobule.phantom("abdomen", shape=(16, 40, 40), spacing=8)

# A user's script: every function, and what its results are.
USER = '''
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import lobule

Volume = NDArray[np.int16]


def work(scan: Volume, strokes: NDArray[np.uint8], full: bool) -> None:
    found: dict[str, Any] = {}
    assert_type(lobule.segment(scan, strokes, suggest=3, margin="5vox", median="off", report=found), Volume)
    assert_type(lobule.segment(scan, strokes, full=True).uncertain, Volume)
    assert_type(lobule.segment(scan, strokes, full=full), Volume | lobule.Segmented[Volume])
    assert_type(lobule.growcut(scan, strokes, rule="distance", norm="l1", neighbours=6, slices="axial"), Volume)
    assert_type(lobule.growcut(scan, strokes, full=True, max_mm=20).strength, Volume)
    assert_type(lobule.cells(scan, size="8um", walls=True), Volume)
    assert_type(lobule.cells(scan, table=True).table["label"], NDArray[Any])
    assert_type(lobule.components(scan, above=3.5, order="size", min_size="50mm3", dtype="int32"), Volume)
    assert_type(lobule.supervoxels(scan, count=30, method="lsc", ratio=0.1), Volume)
    assert_type(lobule.slic(scan, size=8), Volume)
    field = lobule.register(scan, scan, start="headers")
    assert_type(field, lobule.Field)
    lobule.warp(scan, field, scan, labels=True, inverse=True)
    lobule.fuse(scan, [(scan, strokes)], method="majority", votes=True)
    lobule.carry(scan, [(scan, strokes)], use=1, full=True)
    assert_type(lobule.slico(scan, size="8vox", threads=2), Volume)
    assert_type(lobule.lsc(scan, count=9, slices=0), Volume)
    assert_type(lobule.filter(scan, median=(1, 0, 1), window=("1%", "99%"), cast="uint8", edge="mirror"), Volume)
    assert_type(lobule.filter(scan, [("median", 1), ("median", 2)], mask=strokes), Volume)
    assert_type(lobule.gaussian(scan, "2vox", edge=("constant", 0.0)), Volume)
    assert_type(lobule.median(scan, 2), Volume)
    assert_type(lobule.box(scan, "7mm", slices="z"), Volume)
    assert_type(lobule.denoise(scan, 12.5), Volume)
    assert_type(lobule.threshold(scan, range=(1, None)), Volume)
    assert_type(lobule.maxima(scan, apart="5vox", progress=True), Volume)
    assert_type(lobule.resample(scan, (4, 5, 0), method="nearest"), Volume)
    assert_type(lobule.labels(strokes, keep=[2, 3], largest=1, smooth="1vox", fill_holes=True), NDArray[np.uint8])
    assert_type(lobule.distance(strokes, kind="signed", max=30), NDArray[np.uint8])
    assert_type(lobule.nearest(strokes, max=30), NDArray[np.uint8])
    assert_type(lobule.stats(scan, strokes)["mean"], NDArray[Any])
    assert_type(lobule.stats(strokes)["voxels"], NDArray[Any])
    assert_type(lobule.contacts(scan, strokes, slices=0)["faces"], NDArray[Any])
    assert_type(lobule.contacts(labels=strokes)["faces"], NDArray[Any])
    assert_type(lobule.means(scan, strokes), NDArray[np.float64])
    assert_type(lobule.compare(strokes, strokes, surfaces=False)["dice"], NDArray[Any])
    assert_type(lobule.compare_supervoxels(strokes, strokes, scan, tolerance="2vox"), dict[str, float])
    assert_type(lobule.preview(scan, strokes, plane="axial", size=300), NDArray[np.uint8])
    assert_type(lobule.seeds(scan, points=[[1, 2, 3]], radius=3, conflict="neither"), Volume)
    assert_type(lobule.appearance(scan, strokes, bins=32), Volume)
    assert_type(lobule.refine(strokes, scan, strokes, absent="none"), Volume)
    assert_type(lobule.crop(scan, around=strokes, margin="2vox"), Volume)
    assert_type(lobule.merge(strokes, scan, height=3), NDArray[np.uint8])
    image, truth, seeds = lobule.phantom("cells", shape=(8, 16, 16), cells=3, max_memory="1GiB")
    assert_type(image, NDArray[Any])
    lobule.phantom("abdomen", shape=(8, 16, 16), spacing=20, noise=2, random_seed=3, strokes=True, dtype="uint8")
    with lobule.Segmenter(scan, labels=2, suggest=3, spacing=2) as segmenter:
        segmenter.draw((slice(2, 3), slice(4, 9), 5), 1)
        segmenter.erase((2, 4, 5))
        assert_type(segmenter.wait(timeout=1.0), bool)
        assert_type(segmenter.latest()[1], str)
    with lobule.Grower(scan, labels=2, rule="distance", mask=strokes) as grower:
        grower.seeds[2, 4, 5] = 1
        print(grower.grow()[2].max(), grower.changed, segmenter.labels)
    assert_type(lobule.run("strokes", image=scan, seeds=strokes), dict[str, Any])
    assert_type(lobule.command("--version"), str)
    assert_type(lobule.program(), str)
    try:
        lobule.median(scan)
    except lobule.InputError as problem:
        print(problem)
'''

# What mypy says of a line: what a typing error costs before anything runs.
WRONG = [
    ("lobule.segment(scan, scan, sugest=3)", "sugest"),
    ("lobule.segment(scan, scan, suggest='3')", "suggest|call-overload"),
    ("lobule.segment(scan, scan, median='yes')", "call-overload"),
    ("lobule.cells(scan, sise=3)", "call-overload"),
    ("lobule.growcut(scan, scan, rule='strenght')", "call-overload"),
    ("lobule.growcut(scan, scan, neighbours=7)", "call-overload"),
    ("lobule.components(scan, order='biggest')", "arg-type"),
    ("lobule.slic(scan, sise=3)", "sise"),
    ("lobule.filter(scan, gausian=3)", "gausian"),
    ("lobule.gaussian(scan, 1, edge='miror')", "arg-type"),
    ("lobule.labels(scan, larges=3)", "larges"),
    ("lobule.threshold(scan, axes='yxz')", "arg-type"),
    ("lobule.distance(scan, kind='inside')", "arg-type"),
    ("lobule.preview(scan, plane='axiall')", "arg-type"),
    ("lobule.segment(scan, scan, full=True).label", "attr-defined"),
    ("lobule.Segmenter(scan, sugest=3)", "sugest"),
    ("lobule.Grower(scan, rule='strenght')", "arg-type"),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy has learnt of numpy."""
    pytest.importorskip("mypy")
    return tmp_path_factory.mktemp("mypy")


def mypy(tmp_path, cache, text):
    (tmp_path / "user.py").write_text(text)
    places = {} if os.environ.get("LOBULE_WHEEL") else {"MYPYPATH": str(ROOT / "python")}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", cache, "user.py"],
        cwd=tmp_path, env={**os.environ, **places}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_a_user_s_script_of_every_call(tmp_path, cache):
    assert {name for name in FUNCTIONS if f"lobule.{name}(" not in USER} == set()
    code, said = mypy(tmp_path, cache, USER)
    assert code == 0, said


def test_what_is_wrong_is_caught(tmp_path, cache):
    head = "import numpy as np\nimport lobule\nscan = np.zeros((4, 5, 6), np.int16)\n"
    code, said = mypy(tmp_path, cache, head + "\n".join(line for line, _ in WRONG) + "\n")
    assert code == 1
    for row, (line, part) in enumerate(WRONG, 4):
        assert re.search(rf"^user.py:{row}: error: .*({part})", said, re.M), (line, said)


@pytest.mark.parametrize("system", ["linux", "win32", "darwin"])
def test_the_package_itself(cache, system):
    """On each system: what Python lacks there is an error too."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--platform", system, "--cache-dir", cache,
         "python/lobule", "python/lobule_command"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


# ---- names and words ----

ARGUMENTS = {  # of what is called by hand below
    "components": (SCAN,), "growcut": (SCAN, SEEDS), "segment": (SCAN, SEEDS), "cells": (SCAN,), "slic": (SCAN,),
    "filter": (SCAN,), "gaussian": (SCAN, 1), "labels": (TRUTH,), "stats": (TRUTH,), "preview": (SCAN,), "crop": (SCAN,),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("segment", {"sugest": 3}, r"segment\(\) takes no argument 'sugest'; did you mean 'suggest'\?"),
        ("cells", {"wals": True}, r"'wals'; did you mean 'walls'\?"),
        ("slic", {"cuont": 3}, r"slic\(\) takes no argument|supervoxels\(\) takes no argument 'cuont'; did you mean 'count'\?"),
        ("filter", {"gausian": 3}, r"'gausian'; did you mean 'gaussian'\?"),
        ("gaussian", {"edgee": "wrap"}, r"gaussian\(\) takes no argument 'edgee'; did you mean 'edge'\?"),
        ("labels", {"fill_hole": True}, r"did you mean 'fill_holes'\?"),
        ("stats", {"spacin": 3}, r"did you mean 'spacing'\?"),
        ("preview", {"montages": 3}, r"did you mean 'montage'\?"),
        ("growcut", {"zzz": 3}, r"'zzz'; help\(\) of it lists them"),
    ],
)
def test_a_misspelt_argument_is_named_with_the_nearest(name, given, text):
    with pytest.raises(TypeError, match=text):
        getattr(lobule, name)(*ARGUMENTS[name], **given)


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("growcut", {"rule": "strenght"}, r"rule is 'strenght'; .*did you mean 'strength'\?"),
        ("growcut", {"slices": "axail"}, r"slices is 'axail'; .*did you mean 'axial'\?"),
        ("components", {"order": "sizes"}, r"order is 'sizes'; it is one of raster, size; did you mean 'size'\?"),
        ("gaussian", {"edge": "miror"}, r"edge is 'miror'; .*did you mean 'mirror'\?"),
        ("components", {"threads": 100000}, "threads is 100000; it is a number from 1 to 1024"),
        ("preview", {"plane": "coronel"}, r"plane is 'coronel'; .*did you mean 'coronal'\?"),
        ("crop", {"first": (1, 2, 3)}, "size"),
        ("crop", {"around": SCAN * 0}, "^around: marks no voxel"),
        ("preview", {"threads": 0}, "threads is 0"),
        ("components", {"min_size": "3 apples"}, "^min_size: '3 apples' is no size"),
        ("segment", {"background": 77}, "^strokes: no seed has the background's label 77"),
        ("growcut", {"mask": SCAN * 0}, "^seeds: all .* lie outside the mask"),
        ("growcut", {"seed_strength": SEEDS[1:]}, "^seed_strength: its shape is"),
    ],
)
def test_errors_name_the_argument(name, given, text):
    with pytest.raises(lobule.InputError, match=text) as failed:
        getattr(lobule, name)(*ARGUMENTS[name], **given)
    said = str(failed.value)
    assert "--" not in said and "/tmp" not in said and "\n" not in said and not said.startswith("lobule")


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("segment", {"suggest": 2.5}, "suggest is 2.5; it is a whole number"),
        ("segment", {"share": "x"}, "share is 'x'; it is a number"),
        ("components", {"largest": "3"}, "largest is '3'; it is a whole number"),
        ("cells", {"around": [1]}, r"around is \[1\]; it is a number"),
    ],
)
def test_what_is_no_number_is_named(name, given, text):
    with pytest.raises(TypeError, match=text):
        getattr(lobule, name)(*ARGUMENTS[name], **given)
    (argument,) = given
    whole = {"suggest": np.int64(1), "share": np.float32(0.3), "largest": np.uint8(1), "around": np.float64(1.5)}
    getattr(lobule, name)(*ARGUMENTS[name], **{argument: whole[argument]}, **({"size": 30} if name == "cells" else {}))


def test_errors_of_a_recipe_name_the_argument(tmp_path):
    (tmp_path / "r.recipe").write_text("growcut {image} {seeds} -o {out}.nii.gz\n")
    with pytest.raises(lobule.InputError, match="seeds") as failed:
        lobule.run(tmp_path / "r.recipe", image=SCAN, seeds=SEEDS * 0)
    assert "lobule-" not in str(failed.value)


def test_words_and_options_are_the_command_s():
    """Arguments and their words follow the option tables; what is left out is named here."""
    common = {"series", "spacing", "origin", "print_recipe", "plan", "scan", "tile", "label_table", "write_label_table", "label_names", "columns", "device", "threads", "max_memory", "force", "skip_existing", "quiet", "verbose", "report", "provenance",
              "help", "version", "output", "frame", "channel", "bids", "xml", "boutiques"}  # fmt: skip
    other = {  # the command's name for it, or what it has for files alone
        "segment": {"strength": "full", "uncertain": "full", "sheet": "", "seeds": "strokes"},
        "growcut": {"strength": "full", "tie": "full"},
        "components": {"type": "dtype", "label_of": "keep_values", "table": "", "name": "", "image": ""},
        "cells": {"name": ""},
        "preview": {}, "seeds": {}, "appearance": {}, "refine": {}, "crop": {}, "merge": {},
    }  # fmt: skip
    checked = 0
    for name, renamed in other.items():
        table = json.loads(good(name, "--boutiques").stdout)
        parameters = inspect.signature(getattr(lobule, name)).parameters
        hints = typing.get_type_hints(getattr(lobule, name).__wrapped__, vars(sys.modules[getattr(lobule, name).__module__]) | {
            "Unpack": typing.Optional, "NDArray": list, "np": np, "LabelType": object, "Table": dict})  # fmt: skip
        for row in table["inputs"]:
            option = row["id"].removeprefix("input_").replace("-", "_")
            if option in common or option in renamed:
                continue
            assert option in parameters, (name, option)
            if "value-choices" in row:
                words = [word for each in flat(hints[option]) for word in [each]]
                assert set(row["value-choices"]) <= set(words), (name, option, words)
                checked += 1
    assert checked > 6


def flat(hint):
    """All words of the Literals in a type."""
    if typing.get_origin(hint) is typing.Literal:
        return list(typing.get_args(hint))
    return [word for part in typing.get_args(hint) for word in flat(part)]


def test_named_results_tell_their_types():
    volumes = dict.fromkeys(("labels", "strength", "tie"), typing.Any)
    assert typing.get_type_hints(lobule.GrowCut) == volumes
    volumes["uncertain"] = volumes.pop("tie")
    assert typing.get_type_hints(lobule.Segmented) == volumes
    assert typing.get_type_hints(lobule.Cells) == {"labels": typing.Any, "table": dict[str, typing.Any]}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_shows_a_table(name):
    """A row for each argument, and those that every function takes."""
    function = getattr(lobule, name)
    about = inspect.getdoc(function)
    for argument, of in inspect.signature(function).parameters.items():
        if of.kind is of.VAR_KEYWORD:
            continue
        assert re.search(rf"^(\w+, )*{argument}\b( \(\w+\))?(,|  | \(|$)", about, re.M), argument
    if "device" in about:
        assert re.search(r"^max_memory +bytes", about, re.M)


# ---- the wrong order ----


def test_seeds_and_scan_in_the_wrong_order_are_refused():
    scan = np.random.default_rng(0).integers(1, 900, (16, 40, 40)).astype(np.int16)
    with pytest.raises(lobule.InputError, match="^seeds: has .* swapped.*trust_seeds=True"):
        lobule.growcut(SEEDS, scan)
    assert lobule.growcut(SEEDS, scan, trust_seeds=True).max() > 100
    with pytest.raises(lobule.InputError, match="nothing is left to grow"):
        lobule.growcut(scan, np.ones(scan.shape, np.uint8))
    with pytest.raises(lobule.InputError, match="^strokes: has strokes of .*are image and strokes swapped"):
        lobule.segment(SEEDS, scan)


def test_stats_has_one_order():
    """That of the command: the image comes first."""
    scan = np.random.default_rng(0).integers(1, 900, TRUTH.shape).astype(np.int16)
    for measure in (lobule.stats, lobule.contacts, lobule.means):
        with pytest.raises(lobule.InputError, match="^labels: has .* swapped"):
            measure(TRUTH, scan)
    with pytest.raises(lobule.InputError, match="the image comes first"):
        lobule.stats(TRUTH, scan * 0.37)
    assert list(lobule.stats(TRUTH)["voxels"]) == list(lobule.stats(labels=TRUTH)["voxels"])
    assert list(lobule.stats(scan, TRUTH)["mean"]) == list(lobule.stats(image=scan, labels=TRUTH)["mean"])
    with pytest.raises(TypeError, match="labels are missing"):
        lobule.stats()
    tiny = lobule.slic(scan, size="2vox")  # small regions of noise are labels all the same
    assert len(lobule.stats(scan, tiny)["mean"]) == tiny.max()


def test_two_scans_are_no_labels():
    scan = np.random.default_rng(0).integers(0, 3000, (40, 120, 120)).astype(np.int16)
    with pytest.raises(lobule.InputError, match="^a: has .* as in a scan.*surfaces=False"):
        lobule.compare(scan, scan)
    assert lobule.compare(scan, scan, surfaces=False)["dice"].min() == 1


# ---- the command's steps ----


def files(tmp_path):
    affine = np.diag([8.0, 8.0, 8.0, 1.0])
    for name, voxels in (("scan", SCAN), ("truth", TRUTH), ("seeds", SEEDS)):
        nibabel.Nifti1Image(voxels.T, affine).to_filename(tmp_path / f"{name}.nii")
    return {name: nibabel.load(tmp_path / f"{name}.nii") for name in ("scan", "truth", "seeds")}


STEPS = [
    ("appearance scan.nii seeds.nii --bins 40", lambda f: lobule.appearance(f["scan"], f["seeds"], bins=40)),
    ("appearance scan.nii seeds.nii --local 0.85 --local-axis y --local-step 30 --partial-volume 0.3 --values --far-least 4",
     lambda f: lobule.appearance(f["scan"], f["seeds"], local=0.85, local_axis="y", local_step=30, partial_volume=0.3, values=True,
                                 far_least=4)),
    (
        "refine truth.nii scan.nii seeds.nii --smooth 1.5mm --edge 0.3",
        lambda f: lobule.refine(f["truth"], f["scan"], f["seeds"], smooth="1.5mm", edge=0.3),
    ),
    ("crop scan.nii --around seeds.nii --margin 2vox", lambda f: lobule.crop(f["scan"], around=f["seeds"], margin="2vox")),
    ("crop truth.nii --first 3,4,5 --size 7,8,9", lambda f: lobule.crop(f["truth"], first=(3, 4, 5), size=(7, 8, 9))),
    ("seeds scan.nii --labels truth.nii --erode 1vox --shell 40mm",
     lambda f: lobule.seeds(f["scan"], labels=f["truth"], erode="1vox", shell=40)),
    ("seeds scan.nii --seeds seeds.nii --seeds truth.nii --conflict neither",
     lambda f: lobule.seeds(f["scan"], seeds=[f["seeds"], f["truth"]], conflict="neither")),
    ("seeds scan.nii --labels seeds.nii --complete truth.nii --complete-axis z --background 2",
     lambda f: lobule.seeds(f["scan"], labels=f["seeds"], complete=f["truth"], complete_axis="z", background=2)),
    ("seeds scan.nii --labels seeds.nii --corrections z", lambda f: lobule.seeds(f["scan"], labels=f["seeds"], corrections="z")),
    ("merge truth.nii scan.nii --height 30", lambda f: lobule.merge(f["truth"], f["scan"], height=30)),
]  # fmt: skip


@pytest.mark.parametrize(("line", "call"), STEPS, ids=[line.split()[0] for line, _ in STEPS])
def test_steps_are_the_command_s(tmp_path, line, call):
    images = files(tmp_path)
    good(*line.split(), "-o", "out.nii", "--quiet", cwd=tmp_path)
    wanted, found = nibabel.load(tmp_path / "out.nii"), call(images)
    assert isinstance(found, nibabel.Nifti1Image)
    assert np.asarray(found.dataobj).tobytes("F") == np.asarray(wanted.dataobj).tobytes("F")
    assert np.allclose(found.affine, wanted.affine, atol=1e-4)


def test_steps_take_arrays():
    part = lobule.crop(SCAN, first=(3, 4, 5), size=(7, 8, 9))
    assert np.array_equal(part, SCAN[3:10, 4:12, 5:14])
    assert np.array_equal(lobule.crop(SCAN[8], first=(4, 5), size=(8, 9)), SCAN[8, 4:12, 5:14])
    assert np.array_equal(lobule.crop(SCAN.T, first=(5, 4, 3), size=(9, 8, 7), axes="xyz"), part.T)
    drawn = lobule.seeds(SCAN, points=[(1, 2, 3, 7), (4, 5, 6, 9)])
    assert drawn[1, 2, 3] == 7 and drawn[4, 5, 6] == 9 and (drawn > 0).sum() == 2
    shares = lobule.appearance(SCAN, SEEDS)
    assert shares.shape == (*SCAN.shape, SEEDS.max() - 1) and shares.dtype == np.float32
    assert lobule.refine(TRUTH, SCAN, SEEDS, shares=shares).shape == SCAN.shape
    told = {}
    lobule.crop(SCAN, around=SEEDS, report=told)
    assert len(told["first"]) == 3


def test_a_preview_is_a_picture(tmp_path):
    picture = lobule.preview(SCAN, TRUTH, size=200, spacing=8)
    assert picture.dtype == np.uint8 and picture.shape[2] == 3 and max(picture.shape) <= 200
    assert (picture.max(axis=2) != picture.min(axis=2)).any()  # labels have colours
    again = lobule.preview(SCAN, TRUTH, size=200, spacing=8, output=tmp_path / "p.png", html=tmp_path / "p.html")
    assert np.array_equal(picture, again) and (tmp_path / "p.png").is_file() and (tmp_path / "p.html").is_file()
    with pytest.raises(lobule.OutputExists):
        lobule.preview(SCAN, output=tmp_path / "p.png")


def test_a_step_tells_of_progress_and_stops():
    shares = []
    lobule.appearance(np.tile(SCAN, (2, 4, 4)), np.tile(SEEDS, (2, 4, 4)), progress=shares.append)
    assert shares == sorted(shares) and all(0 <= share <= 1 for share in shares)


# ---- images of other packages ----


def test_xarray_comes_out_as_it_came():
    xarray = pytest.importorskip("xarray")
    coords = {"z": np.arange(16) * 4.0 + 100, "y": np.arange(40) * 3.0, "x": np.arange(40) * 2.0}
    image = xarray.DataArray(SCAN, dims=("z", "y", "x"), coords=coords, name="scan", attrs={"units": "HU"})
    seeds = image.copy(data=SEEDS)
    found = lobule.growcut(image, seeds)
    assert isinstance(found, xarray.DataArray) and found.dims == image.dims and found.name == "scan"
    assert all(np.array_equal(found[name], image[name]) for name in coords)
    plain = lobule.growcut(SCAN, SEEDS, spacing=(4, 3, 2))
    assert np.array_equal(found.values, plain)
    other = lobule.growcut(image.transpose("x", "y", "z"), seeds.transpose("x", "y", "z"))
    assert other.dims == ("x", "y", "z") and np.array_equal(other.values, plain.T)
    soft = lobule.gaussian(image, 3)
    assert np.array_equal(soft.values, lobule.gaussian(SCAN, 3, spacing=(4, 3, 2)))
    microns = image.assign_coords({name: (name, at, {"units": "um"}) for name, at in coords.items()})
    assert np.array_equal(lobule.gaussian(microns, "3um").values, soft.values)
    part = lobule.crop(image, first=(2, 3, 4), size=(5, 6, 7))
    assert np.allclose(part["z"], coords["z"][2:7]) and np.allclose(part["x"], coords["x"][4:11])
    coarse = lobule.resample(image, (8, 6, 4))
    assert np.allclose(coarse["z"], 102 + 8 * np.arange(8)) and coarse.shape == (8, 20, 20)
    colour = xarray.DataArray(np.stack([SCAN] * 3), dims=("c", "z", "y", "x"))
    assert lobule.gaussian(colour, 2).dims == ("c", "z", "y", "x")
    assert lobule.slic(colour, count=20).dims == ("z", "y", "x")
    with pytest.raises(lobule.InputError, match="several frames"):
        lobule.median(colour.rename(c="t"))
    with pytest.raises(lobule.InputError, match="transpose"):
        lobule.median(image.transpose("y", "z", "x"))
    with pytest.raises(lobule.InputError, match="evenly"):
        lobule.median(image.assign_coords(z=np.arange(16) ** 2))


def test_zarr_and_dask_arrays_come_in():
    dask, zarr = pytest.importorskip("dask.array"), pytest.importorskip("zarr")
    wanted = lobule.growcut(SCAN, SEEDS)
    chunked = dask.from_array(SCAN, chunks=(8, 20, 20))
    assert np.array_equal(lobule.growcut(chunked, dask.from_array(SEEDS)), wanted)
    stored = zarr.array(SCAN, chunks=(8, 20, 20))
    assert np.array_equal(lobule.growcut(stored, SEEDS), wanted)
    assert np.array_equal(lobule.crop(stored, around=SEEDS), lobule.crop(SCAN, around=SEEDS))
