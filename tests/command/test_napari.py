"""The plugin for napari: its manifest, its widgets on what is like a layer, and in a viewer."""

import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import nibabel
import numpy as np
import pytest
from conftest import ROOT, good, save
from test_python import LIBRARY, PROGRAM, lobule

from lobule import _napari  # noqa: E402  found by test_python

SPACING = (9, 8, 8)


class Layer(SimpleNamespace):
    """What the plugin asks of a layer: voxels, a place, and of labels what they are called."""

    def __init__(self, data, name="scan", scale=SPACING, **more):
        super().__init__(data=data, name=name, scale=np.array(scale, float), **more)

    def data_to_world(self, position):
        return tuple(np.asarray(position) * self.scale[-len(position) :] + 7)


class Labels(Layer):
    """napari's name for a layer of labels."""


SCAN, TRUTH, SEEDS = lobule.phantom("abdomen", shape=(24, 40, 40), spacing=SPACING)


def made(name, *layers, **options):
    """What the widget's function gives, without a viewer and its threads."""
    return getattr(_napari, name).__wrapped__(*layers, **options)


def test_the_manifest_names_what_is_there():
    text = (ROOT / "python" / "lobule" / "napari.yaml").read_text()
    names = re.findall(r'id: (\S+), .*python_name: "(.+?):(.+?)"', text)
    assert len(names) == 8
    for _, module, function in names:
        assert callable(getattr(importlib.import_module(module), function))
    used = re.findall(r"command: ([\w.]+)", text)
    assert sorted(used) == sorted(command for command, _, _ in names), "each is a widget, reader or sample"
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'\[project\.entry-points\."napari\.manifest"\]\nlobule = "lobule:napari\.yaml"', project)


def test_the_sample_has_strokes_as_a_person_draws_them():
    (scan, about, kind), (strokes, named, labels) = _napari.abdomen()
    assert (kind, labels) == ("image", "labels") and about["scale"] == named["scale"]
    assert scan.shape == strokes.shape and set(np.unique(strokes)) == set(range(9))
    assert 2 <= strokes.any((1, 2)).sum() <= 7 and (strokes > 0).mean() < 0.01


class Events:
    """What napari's layers tell of themselves by."""

    def __init__(self):
        self.slots = []

    def connect(self, slot):
        self.slots.append(slot)

    def disconnect(self, slot):
        self.slots.remove(slot)

    def __call__(self):
        for slot in list(self.slots):
            slot(None)


def fresh(method, strokes):
    if not strokes.any():
        return np.zeros_like(strokes)
    return getattr(lobule, method)(SCAN, strokes, spacing=SPACING, device="cpu")


@pytest.mark.parametrize("method", ["segment", "growcut"])
def test_live_labels_follow_the_brush(monkeypatch, method):
    later = []
    monkeypatch.setattr(_napari, "soon", later.append)

    def settle():
        while later:
            later.pop(0)()
            time.sleep(0.002)

    paint, drawn = Events(), Events()
    seeds = Labels(SEEDS.astype(np.int32), "seeds", events=SimpleNamespace(paint=paint, set_data=drawn))
    layers = type("Layers", (list,), {"selection": SimpleNamespace(active=None)})()
    refreshed = []

    def add_labels(data, **about):
        layers.append(Labels(data, about["name"], about["scale"], refresh=lambda: refreshed.append(1)))
        return layers[-1]

    viewer = SimpleNamespace(layers=layers, add_labels=add_labels, status="")
    _napari.live(viewer, Layer(SCAN), seeds, method, device="cpu")
    (shown,) = layers
    assert viewer.layers.selection.active is seeds
    assert shown.name == "scan live"
    settle()
    assert np.array_equal(shown.data, fresh(method, SEEDS))
    for where, label, event in (((12, slice(5, 9), 20), 3, paint), ((12, slice(5, 9), 20), 0, drawn), (0, 0, paint)):
        seeds.data[where] = label
        event()
        settle()
        assert np.array_equal(shown.data, fresh(method, seeds.data))
    count = len(refreshed)
    drawn()
    settle()
    assert len(refreshed) == count, "another slice is shown, and nothing was painted"
    seeds.data[:] = 0
    paint()
    settle()
    assert not shown.data.any()
    assert (viewer.status != "") == (method == "segment"), "which needs two labels, and says so"
    seeds.data[:] = SEEDS
    for label in (3, 300):  # the next before the first is there
        seeds.data[12, 30:33, 20] = label
        paint()
        later.pop()()
    assert "labels are 0..255 here" in viewer.status
    seeds.data[12, 30:33, 20] = 3
    paint()
    settle()
    assert np.array_equal(shown.data, fresh(method, seeds.data))
    layers.clear()
    paint()
    settle()
    assert not paint.slots
    assert not drawn.slots


def test_widgets_give_what_the_package_gives():
    scan, seeds, truth = Layer(SCAN), Labels(SEEDS, "seeds"), Labels(TRUTH, "truth")
    spacing = {"spacing": SPACING}
    for found, wanted in (
        (made("growcut", scan, seeds), lobule.growcut(SCAN, SEEDS, **spacing)),
        (
            made("growcut", scan, seeds, rule="distance", penalty=2, farthest=30, mask=truth),
            lobule.growcut(SCAN, SEEDS, rule="distance", penalty=2, max_mm=30, mask=TRUTH, **spacing),
        ),
        (made("supervoxels", scan, size=30), lobule.slic(SCAN, size=30, **spacing)),
        (made("supervoxels", scan, pieces=70, method="lsc"), lobule.lsc(SCAN, count=70, **spacing)),
        (
            made("components", scan, above=900, smallest=5, fill_holes=True),
            lobule.components(SCAN, above=900, min_size=5, fill_holes=True, order="size"),
        ),
        (made("components", truth, largest=4), lobule.components(TRUTH, equal=True, largest=4, order="size")),
        (made("cells", scan, size=30), lobule.cells(SCAN, size=30, **spacing)),
        (
            made("segment", scan, seeds, device="cpu"),
            lobule.segment(SCAN, SEEDS, device="cpu", **spacing),
        ),
    ):
        (labels, about, kind), = found
        assert kind == "labels"
        assert labels.dtype == wanted.dtype
        assert np.array_equal(labels, wanted)
        assert np.array_equal(about["scale"], SPACING)
        assert np.array_equal(about["features"]["index"], np.unique(wanted[wanted > 0]))


def test_more_layers_where_asked():
    scan, seeds = Layer(SCAN), Labels(SEEDS, "seeds")
    labels, strength = made("growcut", scan, seeds, strength=True)
    assert strength[1]["name"] == "scan strength"
    assert strength[2] == "image"
    assert strength[0].dtype == np.float32
    first = made("segment", scan, seeds, uncertain=True, suggest=2)
    assert [layer[1]["name"] for layer in first] == ["scan segmented", "scan uncertain"]
    assert first[0][1]["metadata"]["lobule"], "the report"
    kept = made("segment", scan, seeds, correct=Labels(first[0][0]))[0][0]
    assert np.array_equal(kept, first[0][0]), "no stroke says otherwise"
    assert len(labels[0].shape) == 3


def test_live_strokes_of_another_grid_are_refused():
    seeds = Labels(SEEDS[:-1], "strokes")
    layers = []
    viewer = SimpleNamespace(layers=layers, add_labels=lambda *_, **__: layers.append("live"))
    with pytest.raises(lobule.InputError, match=r"^strokes: its shape is \(\d+, \d+, \d+\) and that of scan"):
        _napari.live(viewer, Layer(SCAN, "scan"), seeds, "segment", device="cpu")
    assert layers == []


def test_names_and_colours_follow_the_strokes():
    features = {"index": [2, 1], "name": ["liver", "rest"]}
    seeds = Labels(SEEDS, "seeds", features=features, colormap="theirs")
    about = made("growcut", Layer(SCAN), seeds)[0][1]
    wanted = {1: "rest", 2: "liver"}
    assert about["features"]["name"] == [wanted.get(label, "") for label in about["features"]["index"]]
    assert about["colormap"] == "theirs"


def test_lengths_are_in_the_layer_s_units():
    class Micrometre:
        def __rmul__(self, number):
            return SimpleNamespace(to=lambda unit: SimpleNamespace(magnitude=number / 1000 if unit == "mm" else None))

    image = lobule.phantom("cells", shape=(12, 50, 50), cells=10)[0]
    layer = Layer(image, scale=(0.5, 0.5, 0.5), units=(Micrometre(),) * 3)
    (labels, about, _), = made("cells", layer, size=6)
    assert np.array_equal(labels, lobule.cells(image, size="6um", spacing=0.0005))
    assert np.allclose(about["features"]["volume"], about["features"]["voxels"] * 0.5**3)
    assert about["units"] is layer.units


def test_planes_colours_and_pyramids():
    photo = np.random.default_rng(3).integers(0, 255, (30, 40, 3), dtype=np.uint8)
    (labels, about, _), = made("supervoxels", Layer(photo, scale=(1, 1), rgb=True), pieces=20)
    assert np.array_equal(labels, lobule.slic(photo, count=20, channel_axis=-1))
    assert "mean" not in about["features"]
    pyramid = Layer([SCAN, SCAN[::2]], multiscale=True)
    assert np.array_equal(made("components", pyramid, above=900)[0][0], made("components", Layer(SCAN), above=900)[0][0])
    with pytest.raises(lobule.InputError, match="4 axes"):
        made("components", Layer(np.zeros((2, 3, 4, 5)), scale=(1, 1, 1, 1)))
    with pytest.raises(lobule.InputError, match="choose a layer"):
        made("growcut", Layer(SCAN), None)


@pytest.fixture
def files(tmp_path):
    """An oblique scan, strokes, and labels with names and colours."""
    affine = np.array([[0, 3, 0, -60], [-2.4, 0, 3.2, 10], [1.8, 0, 4.2 / 1.75, 5], [0, 0, 0, 1.0]])
    save(SCAN.T, tmp_path / "scan.nii.gz", affine, scale=(0.5, -3))
    for name, array in (("strokes", SEEDS), ("truth", TRUTH)):
        save(array.T, tmp_path / f"{name}.nii", affine)
    (tmp_path / "names.csv").write_text("LabelValue,Name,Color_R,Color_G,Color_B,Color_A\n2,the liver,255,0,51,255\n")
    good("labels", tmp_path / "truth.nii", "-o", tmp_path / "truth.seg.nrrd", "--keep", "2", "--label-table",
         tmp_path / "names.csv", "--quiet")  # fmt: skip
    return tmp_path


def test_files_become_layers(files):
    scan = nibabel.load(files / "scan.nii.gz")
    (voxels, about, kind), = _napari.reader(str(files / "scan.nii.gz"))(str(files / "scan.nii.gz"))
    assert (kind, about["name"]) == ("image", "scan")
    assert np.allclose(voxels, scan.get_fdata().T)
    whole = about["affine"] @ np.diag([*about["scale"], 1])
    assert np.allclose(whole[:3, :3], scan.affine[2::-1, 2::-1], atol=1e-5)
    assert np.allclose(whole[:3, 3], scan.affine[2::-1, 3], atol=1e-5)
    (voxels, about, kind), = _napari._layers_of(str(files / "truth.seg.nrrd"))
    assert (kind, about["name"]) == ("labels", "truth")
    assert np.array_equal(voxels == 2, TRUTH == 2)
    assert about["features"] == {"index": [2], "name": ["the liver"]}
    assert about["colormap"][2] == (1, 0, 0.2, 1)
    assert _napari._layers_of(str(files / "strokes.nii"))[0][2] == "labels", "by its name"
    assert _napari.reader(["one.nii", "two.nii"]) is None
    with pytest.raises(lobule.NoInputError):
        _napari._layers_of("none.nii")


@pytest.mark.skipif(not importlib.util.find_spec("napari"), reason="no napari: LOBULE_NAPARI=yes ./run test installs it")
def test_in_a_viewer(files):
    """OpenGL is needed, which a machine without a screen has under Xvfb."""
    if not os.environ.get("DISPLAY") and not shutil.which("xvfb-run"):
        pytest.skip("no screen and no xvfb-run")
    screen = [] if os.environ.get("DISPLAY") else ["xvfb-run", "-a"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "LOBULE_LIBRARY": LIBRARY, "LOBULE_PROGRAM": PROGRAM}
    done = subprocess.run(
        [*screen, sys.executable, ROOT / "tests" / "command" / "napari_viewer.py", files],
        capture_output=True, text=True, check=False, env=environment, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    affine = nibabel.load(files / "scan.nii.gz").affine
    assert said["kinds"] == ["Image", "Labels"]
    assert np.allclose(said["corner"][::-1], affine[:3, 3], atol=1e-4)
    assert np.allclose(said["end"][::-1], (affine @ [39, 39, 23, 1])[:3], atol=1e-3)
    assert said["names"] == ["the liver"]
    assert np.allclose(said["colour"], [1, 0, 0.2, 1])
    assert all({"index", "voxels", "volume", "mean"} <= set(columns) for columns in said["columns"].values())
