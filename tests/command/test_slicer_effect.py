"""The effect of 3D Slicer's Segment Editor: what it computes, and its calls under stand-ins for Slicer and VTK."""

import importlib
import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT
from test_python import lobule

EXTENSION = ROOT / "packaging" / "SlicerLobule"
FOLDER = EXTENSION / "SegmentEditorLobule"
SPACING = (8.0, 6.0, 6.0)
SCAN, TRUTH, STROKES = lobule.phantom("abdomen", shape=(24, 40, 40), spacing=SPACING)
STROKES = STROKES.astype(np.int16)
GROWER = lobule.Grower


class Image:
    """What the effect asks of a vtkOrientedImageData."""

    def __init__(self, array):
        self.array, self.changed = array, False

    def GetPointData(self):
        return self

    def GetScalars(self):
        return self.array.reshape(-1)

    def GetDimensions(self):
        return self.array.shape[::-1]

    def GetSpacing(self):
        return SPACING[::-1]

    def DeepCopy(self, other):
        self.array = other.array.copy()

    def Modified(self):
        self.changed = True


class Scripted:
    """What the effect asks of a qSlicerSegmentEditorScriptedEffect."""

    def __init__(self):
        self.parameters, self.widgets, self.source = {}, [], None

    def setParameterDefault(self, name, value):
        self.parameters.setdefault(name, value)

    def setParameter(self, name, value):
        self.parameters[name] = value

    def parameter(self, name):
        return self.parameters[name]

    def addLabeledOptionsWidget(self, label, widget):
        self.widgets.append((label, widget))

    def setPythonSource(self, path):
        self.source = path

    def self(self):
        return self

    def register(self):
        self.registered = True


class Box:
    def __init__(self):
        self.items, self.currentIndex, self.slot = [], 0, None

    def addItem(self, text, data):
        self.items.append((text, data))

    def connect(self, signal, slot):
        self.slot = slot

    def blockSignals(self, block):
        return False

    def findData(self, data):
        return [item[1] for item in self.items].index(data)

    def setCurrentIndex(self, index):
        self.currentIndex = index

    def itemData(self, index):
        return self.items[index][1]


class AutoComplete:
    """The base class of effects with a preview."""

    def __init__(self, scriptedEffect):
        self.scriptedEffect = scriptedEffect
        self.delayedAutoUpdateTimer = types.SimpleNamespace(interval=1000)

    def setupOptionsFrame(self):
        pass

    setMRMLDefaults = updateGUIFromMRML = updateMRMLFromGUI = reset = setupOptionsFrame


@pytest.fixture
def slicer(monkeypatch):
    """3D Slicer, as far as the effect knows it."""
    said, asked, installed = [], [], []
    slots = {}
    util = types.SimpleNamespace(errorDisplay=said.append, pip_install=installed.append)
    util.confirmOkCancelDisplay = lambda text: asked.append(text) or util.answer
    stand_ins = {
        "slicer": {"util": util,
                   "app": types.SimpleNamespace(connect=slots.__setitem__)},
        "slicer.ScriptedLoadableModule": {"ScriptedLoadableModule": type("Module", (), {"__init__": lambda *_: None})},
        "qt": {"QComboBox": Box, "QIcon": Path},
        "vtk": {}, "vtk.util": {}, "vtk.util.numpy_support": {"vtk_to_numpy": lambda scalars: scalars},
        "SegmentEditorEffects": {"AbstractScriptedSegmentEditorAutoCompleteEffect": AutoComplete},
        "qSlicerSegmentationsEditorEffectsPythonQt": {"qSlicerSegmentEditorScriptedEffect": lambda _: Scripted()},
    }  # fmt: skip
    for name, members in stand_ins.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["vtk"].util, sys.modules["vtk.util"].numpy_support = (
        sys.modules["vtk.util"], sys.modules["vtk.util.numpy_support"])  # fmt: skip
    monkeypatch.syspath_prepend(str(FOLDER))
    yield types.SimpleNamespace(said=said, slots=slots, asked=asked, installed=installed, util=util)
    for name in [name for name in sys.modules if name.startswith("SegmentEditorLobule")]:
        del sys.modules[name]


@pytest.fixture
def effect(slicer):
    made = importlib.import_module("SegmentEditorLobuleLib.SegmentEditorEffect").SegmentEditorEffect(Scripted())
    made.setupOptionsFrame()
    made.setMRMLDefaults()
    made.updateGUIFromMRML()
    made.clippedSourceImageData, made.clippedMaskImageData = Image(SCAN), None
    return made


def choose(effect, name, value):
    box = effect.choices[name]
    box.setCurrentIndex(box.findData(value))
    box.slot(box.currentIndex)


def preview(effect, strokes=STROKES):
    merged, out = Image(strokes), Image(np.zeros(1))
    effect.computePreviewLabelmap(merged, out)
    assert np.array_equal(merged.array, strokes)
    return out


def test_it_registers(slicer):
    module = importlib.import_module("SegmentEditorLobule")
    parent = types.SimpleNamespace()
    module.SegmentEditorLobule(parent)
    assert parent.hidden
    slicer.slots["startupCompleted()"]()


def test_it_names_itself(effect):
    assert effect.scriptedEffect.name == "Lobule"
    assert effect.clone().source.endswith("SegmentEditorLobuleLib/SegmentEditorEffect.py")
    assert effect.helpText()
    assert effect.icon().is_file()
    assert effect.scriptedEffect.parameters == {"Method": "segment", "Device": "auto"}


def test_paint_grow_see_correct(effect, slicer):
    choose(effect, "Device", "cpu")
    first = preview(effect)
    told = {}
    wanted = lobule.segment(SCAN, STROKES.astype(np.int32), spacing=SPACING, device="cpu", report=told)
    assert first.changed
    assert first.array.dtype == np.int16
    assert np.array_equal(first.array, np.where(wanted == 0, told["chosen"]["background"], wanted))
    more = STROKES.copy()
    more[10:14, 18:22, 18:22] = 2
    assert (preview(effect, more).array[10:14, 18:22, 18:22] == 2).all()
    choose(effect, "Method", "growcut")
    assert np.array_equal(preview(effect).array, lobule.growcut(SCAN, STROKES, spacing=SPACING))
    assert slicer.said == []


@pytest.mark.parametrize("method", ["segment", "growcut"])
def test_nothing_grows_beyond_the_mask(effect, method):
    choose(effect, "Method", method)
    mask = (np.arange(40) < 30) * np.ones(SCAN.shape, np.uint8)
    effect.clippedMaskImageData = Image(mask.astype(np.uint8))
    labels = preview(effect).array
    assert (labels[mask > 0] > 0).all()
    assert (labels[(mask == 0) & (STROKES == 0)] == 0).all()


def test_what_goes_wrong_is_said(effect, slicer, monkeypatch):
    one = np.where(STROKES == 1, 1, 0).astype(np.int16)
    assert np.array_equal(preview(effect, one).array, one), "the strokes stay"
    assert len(slicer.said) == 1
    assert slicer.said[0].startswith("Lobule: ")


@pytest.mark.parametrize("answer", [False, True])
def test_the_package_is_installed_after_asking(effect, slicer, monkeypatch, answer):
    monkeypatch.setitem(sys.modules, "lobule", None)
    slicer.util.answer = answer
    assert np.array_equal(preview(effect).array, STROKES), "the strokes stay"
    assert len(slicer.asked) == 1
    assert slicer.installed == (["lobule>=0.1,<0.2"] if answer else [])
    assert len(slicer.said) == answer, "pip has done nothing here"


def test_growth_goes_on_until_something_else_changes(effect, monkeypatch):
    opened = []
    monkeypatch.setattr(lobule, "Grower", lambda *given, **named: opened.append(1) or GROWER(*given, **named))
    choose(effect, "Method", "growcut")
    choose(effect, "Device", "cpu")
    assert effect.delayedAutoUpdateTimer.interval < 1000
    strokes = STROKES.copy()
    for step in range(4):  # painted, and erased
        strokes[12, 10 + step : 14, 20:30] = 0 if step % 2 else 3
        assert np.array_equal(preview(effect, strokes).array, lobule.growcut(SCAN, strokes, spacing=SPACING))
    assert len(opened) == 1
    effect.clippedSourceImageData = Image(SCAN + 1)
    preview(effect, strokes)
    effect.reset()
    preview(effect, strokes)
    assert len(opened) == 3


# ---- the extension ----


def test_the_extension_has_what_the_index_asks_for():
    """The Extensions Index's list for a submission, as far as files can show it."""
    text = (EXTENSION / "CMakeLists.txt").read_text()
    assert re.search(r"^project\(Lobule\)$", text, re.MULTILINE), "the extension's name is the project's"
    told = dict(re.findall(r'set\(EXTENSION_(\w+) "([^"]+)"\)', text))
    assert set(told) == {"HOMEPAGE", "CONTRIBUTORS", "DESCRIPTION", "ICONURL", "SCREENSHOTURLS", "DEPENDS"}
    assert told["DEPENDS"] == "NA"
    assert 30 < len(told["DESCRIPTION"]) < 300
    for line in ("find_package(Slicer REQUIRED)", "include(${Slicer_USE_FILE})", "add_subdirectory(SegmentEditorLobule)",
                 "include(${Slicer_EXTENSION_GENERATE_CONFIG})", "include(${Slicer_EXTENSION_CPACK})"):  # fmt: skip
        assert line in text
    for url in (told["ICONURL"], *told["SCREENSHOTURLS"].split()):
        assert (EXTENSION / url.rpartition("/main/")[2]).is_file(), url
    own = (EXTENSION / "LICENSE.txt").read_text()
    assert own.startswith("BSD 3-Clause License")
    assert (ROOT / "LICENSE").read_text().startswith(own), "the rest is about fonts, which the extension has none of"
    icon = (EXTENSION / "Lobule.png").read_bytes()
    assert icon[16:24] == (128).to_bytes(4, "big") * 2, "128 x 128 pixels"
    entry = json.loads((EXTENSION / "Lobule.json").read_text())
    assert set(entry) == {"$schema", "category", "scm_url", "scm_revision", "tier"}
    assert entry["scm_url"].removesuffix(".git") == told["HOMEPAGE"]
    assert entry["category"] == "Segmentation"


def test_the_module_lists_its_files():
    text = (FOLDER / "CMakeLists.txt").read_text()
    here = {str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*") if file.suffix in (".py", ".png")}
    listed = {word for word in re.findall(r"[\w/]+\.(?:py|png)", text)}
    assert listed == here


def test_the_page_has_what_readers_look_for():
    page = (EXTENSION / "README.md").read_text()
    for heading in ("## Modules", "## Install", "## Tutorial", "## Cite", "## Licence"):
        assert heading in page
    for picture in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page):
        assert (EXTENSION / picture).is_file()
    assert "SegmentEditorLobule" in page
