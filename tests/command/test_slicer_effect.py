"""The effect of 3D Slicer's Segment Editor: a session of painting, under stand-ins for 3D Slicer, and its extension."""

import contextlib
import importlib
import json
import re
import sys
import time
import types

import numpy as np
import pytest
import slicer_stand_in as stand_in
from conftest import ROOT
from slicer_stand_in import PLACE, SPACING
from test_python import lobule

EXTENSION = ROOT / "packaging" / "SlicerLobule"
FOLDER = EXTENSION / "SegmentEditorLobule"
SCAN, TRUTH, ALL = lobule.phantom("abdomen", shape=(24, 40, 40), spacing=SPACING)
STROKES = np.where((ALL <= 3) & np.isin(np.arange(24), (6, 11, 15, 19))[:, None, None], ALL, 0).astype(np.int16)
ABOUT = {"spacing": SPACING, "device": "cpu"}


def packages(*names):
    return all(importlib.util.find_spec(name) for name in names)


@pytest.fixture(params=["stand-ins", "packages"])
def slicer(request, monkeypatch):
    """3D Slicer as far as the effect knows it; VTK and Qt are stood in for, too, or those of their packages."""
    if request.param == "packages" and not packages("vtkmodules", "qtpy"):
        pytest.skip("no vtk, no qtpy: LOBULE_SLICER=yes ./run test installs them")
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    vtk = stand_in.Vtk if request.param == "stand-ins" else stand_in.real_vtk()
    qt = stand_in.Qt if request.param == "stand-ins" else stand_in.real_qt()
    seen = types.SimpleNamespace(said=[], errors=[], slots={}, asked=[], installed=[], jumps=[], samples=[], added=[],
                                 answer=True, vtk=vtk, qt=qt, AutoComplete=stand_in.auto_complete(vtk, qt))  # fmt: skip

    @contextlib.contextmanager
    def try_with_error_display(text, show=True, waitCursor=False):
        try:
            yield
        except Exception as problem:  # noqa: BLE001  as 3D Slicer does
            seen.errors.append(f"{text} {problem}")

    def add_volume_from_array(array, ijkToRAS=None, name=None, nodeClassName=None):
        seen.added.append((array, ijkToRAS, name, nodeClassName))
        return name

    sample = types.SimpleNamespace(CreateDefaultDisplayNodes=lambda: None,
                                   SetReferenceImageGeometryParameterFromVolumeNode=lambda volume: None)  # fmt: skip
    scene = types.SimpleNamespace(AddNewNodeByClass=lambda kind, name: sample, RemoveNode=lambda node: None)
    logic = types.SimpleNamespace(ImportLabelmapToSegmentationNode=lambda labels, node: seen.samples.append(labels))
    util = types.SimpleNamespace(
        errorDisplay=seen.errors.append, pip_install=seen.installed.append, tryWithErrorDisplay=try_with_error_display,
        confirmOkCancelDisplay=lambda text: seen.asked.append(text) or seen.answer,
        showStatusMessage=lambda text, duration=0: seen.said.append(text), addVolumeFromArray=add_volume_from_array,
        setSliceViewerLayers=lambda background, fit: None,
    )  # fmt: skip
    slice_node = types.SimpleNamespace(CenteredJumpSlice=1, JumpAllSlices=lambda scene, *place: seen.jumps.append(place))
    converter = types.SimpleNamespace(GetSegmentationBinaryLabelmapRepresentationName=lambda: "Binary labelmap")
    data = types.SimpleNamespace(registerCustomSampleDataSource=lambda **source: seen.samples.append(source))
    modules = {
        "slicer": {"util": util, "app": types.SimpleNamespace(connect=seen.slots.__setitem__), "mrmlScene": scene,
                   "vtkMRMLSliceNode": slice_node, "vtkSegmentationConverter": converter,
                   "vtkOrientedImageData": vtk.OrientedImage,
                   "modules": types.SimpleNamespace(segmentations=types.SimpleNamespace(logic=lambda: logic))},
        "slicer.ScriptedLoadableModule": {"ScriptedLoadableModule": type("Module", (), {"__init__": lambda *_: None})},
        "SampleData": {"SampleDataLogic": data},
        "qt": {name: getattr(qt, name) for name in ("QTimer", "QLabel", "QPushButton", "QComboBox", "QIcon")},
        "vtk": {name: getattr(vtk, name) for name in ("vtkStringArray", "vtkMatrix4x4")},
        "vtk.util": {}, "vtk.util.numpy_support": {"vtk_to_numpy": vtk.vtk_to_numpy},
        "SegmentEditorEffects": {"AbstractScriptedSegmentEditorAutoCompleteEffect": seen.AutoComplete},
        "qSlicerSegmentationsEditorEffectsPythonQt": {"qSlicerSegmentEditorScriptedEffect": lambda _: stand_in.Scripted()},
    }  # fmt: skip
    for name, members in modules.items():
        module = types.ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["vtk"].util = sys.modules["vtk.util"]
    sys.modules["vtk.util"].numpy_support = sys.modules["vtk.util.numpy_support"]
    monkeypatch.syspath_prepend(str(FOLDER))
    yield seen
    for name in [name for name in sys.modules if name.startswith("SegmentEditorLobule")]:
        del sys.modules[name]


class Session:
    """A person at the Segment Editor, who paints into segments and looks at the preview."""

    def __init__(self, slicer):
        self.slicer, self.node = slicer, stand_in.Node()
        self.segmentation, self.names = self.node.segmentation, {1: "around", 2: "liver", 3: "spleen"}
        for label, name in self.names.items():
            self.segmentation.AddSegment(stand_in.Segment(name), f"Segment_{label}")
            self.segmentation.GetSegment(f"Segment_{label}").voxels = STROKES == label
        scripted = stand_in.Scripted(self.node, slicer.vtk.image(SCAN))
        self.effect = importlib.import_module("SegmentEditorLobuleLib.SegmentEditorEffect").SegmentEditorEffect(scripted)
        self.effect.setupOptionsFrame()
        self.effect.setMRMLDefaults()
        self.effect.updateGUIFromMRML()
        self.choose("Device", "cpu")

    def choose(self, name, value):
        box = self.effect.choices[name]
        if box.findData(value) < 0:
            box.addItem(value, value)
        box.setCurrentIndex(box.findData(value))

    def paint(self, label, where, voxels=True):
        segment = self.segmentation.GetSegment(f"Segment_{label}")
        segment.voxels = segment.voxels.copy()
        segment.voxels[where] = voxels
        self.segmentation.tell()

    def until(self, condition):
        for _ in range(4000):
            if condition():
                return
            self.slicer.qt.process_events()
            time.sleep(0.002)
        raise AssertionError(self.slicer.said)

    def settle(self):
        """Until all that was begun has ended; the preview's labels."""
        self.until(lambda: not self.effect.pollTimer.active and not self.effect.delayedAutoUpdateTimer.active)
        return self.effect.shown_labels()

    def fresh(self):
        """A fresh run's labels of the strokes that are there, the background as a segment, in the preview's box."""
        told, strokes = {}, self.effect.merged().astype(np.int32)
        labels = lobule.segment(SCAN, strokes, report=told, **ABOUT)
        return np.where(labels == 0, told["chosen"]["background"], labels)[self.effect.box]


@pytest.fixture
def session(slicer):
    made = Session(slicer)
    yield made
    made.effect.cleanup()


def test_it_registers_itself_and_its_sample(slicer):
    module = importlib.import_module("SegmentEditorLobule")
    parent = types.SimpleNamespace()
    module.SegmentEditorLobule(parent).register()
    assert parent.hidden
    assert "startupCompleted()" in slicer.slots
    sample = slicer.samples.pop()
    assert (sample["category"], sample["sampleName"]) == ("Lobule", "LobuleAbdomen")
    sample["customDownloader"](sample)
    (scan, place, name, _), (strokes, _, labels, kind) = slicer.added
    assert (name, labels, kind) == ("LobuleAbdomen", "LobuleAbdomen labels", "vtkMRMLLabelMapVolumeNode")
    assert slicer.samples == [labels]
    assert scan.shape == strokes.shape
    assert set(np.unique(strokes)) == set(range(9))
    drawn = strokes.any((1, 2)).sum()
    assert 2 <= drawn <= 7 and (strokes > 0).mean() < 0.01, "thin strokes on a few slices, as a person draws"
    assert np.array_equal(np.diag(place), [3, 3, 4, 1])


def test_it_names_itself(session):
    scripted = session.effect.scriptedEffect
    assert scripted.name == "Lobule"
    assert session.effect.clone().path.endswith("SegmentEditorLobuleLib/SegmentEditorEffect.py")
    assert session.effect.helpText()
    assert session.effect.icon() is not None
    assert scripted.parameters == {"Method": "segment", "Device": "cpu"}


def test_the_preview_follows_painting_erasing_and_undoing(session, slicer, monkeypatch):
    opened, real = [], lobule.Segmenter
    monkeypatch.setattr(lobule, "Segmenter", lambda *given, **named: opened.append(1) or real(*given, **named))
    session.effect.onPreview()
    assert np.array_equal(session.effect.shown_labels() > 0, STROKES[session.effect.box] > 0), "strokes, until an answer comes"
    assert np.array_equal(session.settle(), session.fresh())
    spot = (slice(9, 10), slice(18, 22), slice(18, 22))
    before = session.segmentation.GetSegment("Segment_2").voxels[spot]
    for voxels in (True, False, before):  # painted, erased, undone
        shown = session.effect.shown_labels()
        session.paint(2, spot, voxels)
        assert session.effect.delayedAutoUpdateTimer.active
        assert np.array_equal(session.effect.shown_labels(), shown), "nothing in between is shown"
        assert np.array_equal(session.settle(), session.fresh())
    assert len(opened) == 1, "the same segmenter all along"
    assert {segment.value: segment.name for segment in session.effect.previewNode.segmentation.segments.values()} == session.names
    assert slicer.errors == []


def test_the_box_of_the_preview_grows_with_strokes(session):
    session.paint(1, slice(None), False)
    session.paint(1, (slice(9, 16), slice(8, 9), slice(10, 30)))
    for label in (2, 3):
        session.paint(label, np.s_[:9], False)
        session.paint(label, np.s_[16:], False)
    session.effect.onPreview()
    assert np.array_equal(session.settle(), session.fresh())
    small = session.effect.box
    session.paint(1, np.s_[22:24, 30:40, 30:40])
    assert np.array_equal(session.settle(), session.fresh())
    assert session.effect.box != small
    session.paint(1, np.s_[22:24, 30:40, 30:40], False)
    session.paint(1, np.s_[0, 30:32, 30:32])  # at once, as an undo may: the box begins anew, without the end
    assert np.array_equal(session.settle(), session.fresh())
    assert session.effect.box[0].stop < 24


def test_the_preview_shows_all_that_segment_looks_at(session):
    session.effect.onPreview()
    told = {}
    lobule.segment(SCAN, STROKES.astype(np.int32), report=told, **ABOUT)
    box = told["chosen"]["box"]
    for part, first, size in zip(session.effect.box[::-1], box["first"], box["size"]):
        assert part.start <= first
        assert part.stop >= first + size


def test_segments_leave_and_join(session):
    session.effect.onPreview()
    session.settle()
    first = session.effect.live.job
    session.segmentation.RemoveSegment("Segment_2")
    labels = session.settle()
    assert session.effect.live.job is not first, "the background has another number, in previews too"
    assert set(np.unique(labels)) <= {1, 2}
    assert np.array_equal(labels, session.fresh())
    names = [segment.name for segment in session.effect.previewNode.segmentation.segments.values()]
    assert names == ["around", "spleen"]
    session.segmentation.AddSegment(stand_in.Segment("liver"), "Segment_4")
    session.segmentation.GetSegment("Segment_4").voxels = STROKES == 2
    session.segmentation.tell()
    assert np.array_equal(session.settle(), session.fresh())
    session.node.hidden.add("Segment_1")
    session.paint(1, np.s_[11, :4, :4])
    assert np.array_equal(session.settle(), session.fresh())
    assert len(session.effect.previewNode.segmentation.segments) == 3, "one that is hidden meanwhile stays"
    for label in (3, 4):
        session.segmentation.RemoveSegment(f"Segment_{label}")
    session.until(lambda: session.effect.getPreviewNode() is None)
    assert session.effect.live.job is None, "its memory is given back"


def test_what_is_uncertain_is_named_and_shown(session, slicer):
    session.effect.onPreview()
    session.settle()
    told = session.effect.doubtLabel.text
    assert re.fullmatch(r"Uncertain: ([\d.e+]+ ml of (around|liver|spleen)(, |\.))+", told), told
    report = {}
    found = lobule.segment(SCAN, STROKES.astype(np.int32), suggest=5, full=True, report=report, **ABOUT)
    uncertain = found.uncertain[session.effect.box] != 0
    sizes = {name: (uncertain & (session.fresh() == label)).sum() * np.prod(SPACING) / 1000 for label, name in session.names.items()}
    assert all(f"{size:.2g} ml of {name}" in told for name, size in sizes.items() if size)
    assert slicer.said[-1] == told
    for each in (*report["suggested"], report["suggested"][0]):  # and round again
        session.effect.jumpButton.click()
        *place, mode = slicer.jumps[-1]
        voxel = np.linalg.inv(PLACE) @ [*(np.array(place) - 1000), 1]
        assert mode == 1
        assert round(voxel[each["axis"]]) == each["slice"]
    session.paint(2, np.s_[9, 20:22, 20:22])
    session.until(lambda: session.effect.pollTimer.active)
    assert not session.effect.jumpButton.enabled, "that was of other strokes"


def test_apply_waits_for_the_final_labels(session, slicer):
    session.effect.onPreview()
    wanted = session.fresh()
    session.effect.onApply()
    assert np.array_equal(session.effect.applied, wanted)
    assert session.effect.live.job is None
    session.effect.onPreview()
    assert session.effect.getPreviewNode() is not None
    session.effect.onCancel()
    assert session.effect.getPreviewNode() is None
    assert not session.effect.pollTimer.active
    assert slicer.errors == []


def test_surfaces_follow_the_final_labels(session):
    session.effect.onPreview()
    session.settle()
    session.effect.setPreviewShow3D(True)
    session.paint(2, np.s_[9, 20:22, 20:22])
    session.settle()
    assert session.effect.getPreviewShow3D()


def test_plain_growth(session, monkeypatch):
    opened, real = [], lobule.Grower
    monkeypatch.setattr(lobule, "Grower", lambda *given, **named: opened.append(1) or real(*given, **named))
    session.choose("Method", "growcut")
    session.effect.onPreview()
    for step in range(3):
        session.paint(3, np.s_[12, 10 + step : 14, 20:30], step != 1)
        labels, box = session.settle(), session.effect.box
        assert np.array_equal(labels, lobule.growcut(SCAN[box], session.effect.merged()[box], **ABOUT))
    assert len(opened) == 1
    session.choose("Method", "segment")
    assert np.array_equal(session.settle(), session.fresh()), "chosen anew, grown anew"


@pytest.mark.parametrize("method", ["segment", "growcut"])
def test_nothing_grows_beyond_the_mask(session, method):
    session.choose("Method", method)
    session.effect.mask = ((np.arange(40) < 30) * np.ones(SCAN.shape)).astype(np.uint8)
    session.effect.onPreview()
    labels, box = session.settle(), session.effect.box
    assert (labels[session.effect.mask[box] > 0] > 0).all()
    assert (labels[(session.effect.mask[box] == 0) & (STROKES[box] == 0)] == 0).all()


def test_another_scan_is_another_run(session, monkeypatch):
    session.effect.onPreview()
    session.settle()
    monkeypatch.setattr(sys.modules[__name__], "SCAN", (SCAN[::-1] + 3).copy())
    session.effect.scriptedEffect.source = session.slicer.vtk.image(SCAN)
    session.effect.onPreview()
    assert np.array_equal(session.settle(), session.fresh())


def test_what_goes_wrong_is_said(session, slicer):
    for label in (1, 3):
        session.paint(label, slice(None), False)
    session.effect.onPreview()
    box = session.effect.box
    assert np.array_equal(session.settle(), np.where(STROKES == 2, 2, 0)[box]), "the strokes stay"
    assert session.effect.doubtLabel.text.startswith("Lobule: ")
    assert slicer.said[-1].startswith("Lobule: ")
    session.effect.onApply()
    assert len(slicer.errors) == 1
    assert not hasattr(session.effect, "applied")
    for label in (1, 3):
        session.paint(label, STROKES == label)
    assert np.array_equal(session.settle(), session.fresh()), "and goes on"


@pytest.mark.parametrize("method", ["segment", "growcut"])
def test_a_device_that_is_not_there_is_said(session, slicer, method):
    session.choose("Method", method)
    session.effect.onPreview()
    session.choose("Device", "cuda:99")
    session.settle()
    assert session.effect.doubtLabel.text.startswith("Lobule: ")
    session.paint(2, np.s_[9, 20:22, 20:22])
    session.settle()
    assert session.effect.doubtLabel.text.startswith("Lobule: "), "and again"
    session.choose("Device", "cpu")
    labels = session.settle()
    assert not session.effect.doubtLabel.text.startswith("Lobule: ")
    assert method == "growcut" or np.array_equal(labels, session.fresh())
    assert slicer.errors == []


@pytest.mark.parametrize("answer", [False, True])
def test_the_package_is_installed_after_asking(session, slicer, monkeypatch, answer):
    monkeypatch.setitem(sys.modules, "lobule", None)
    slicer.answer = answer
    session.effect.onPreview()
    assert session.effect.getPreviewNode() is None
    assert len(slicer.asked) == 1
    major, minor, _ = map(int, lobule.__version__.split("."))
    assert slicer.installed == ([f"lobule>={major}.{minor},<{major}.{minor + 1}"] if answer else [])
    assert len(slicer.errors) == answer, "pip has done nothing here"


# ---- the extension ----

# Rules of the Extensions Index for a submission: its scripts/check_description_files.py, the schema of version 1.0.2 that
# an entry names, and the list for new extensions. Not tried here: that the repository and its pictures can be fetched.
ENTRY = json.loads((EXTENSION / "Lobule.json").read_text())
TOP = (EXTENSION / "CMakeLists.txt").read_text()
TOLD = dict(re.findall(r'set\s*\(EXTENSION_(\w+)\s*"([^"]+)"[ ]*\)', TOP))


def test_the_entry_keeps_to_the_schema():
    may_be = {"$schema": str, "category": str, "scm_url": str, "scm_revision": str, "scm_type": str, "tier": int,
              "build_dependencies": list, "build_subdirectory": str, "enabled": bool, "dicom_support_rule": str}  # fmt: skip
    assert {"$schema", "category", "scm_url"} <= set(ENTRY) <= set(may_be)
    assert all(isinstance(value, may_be[name]) for name, value in ENTRY.items())
    assert re.fullmatch(r"https://\S+/slicer-extension-catalog-entry-schema-v1\.0\.2\.json#?", ENTRY["$schema"])
    assert 1 <= ENTRY["tier"] <= 5
    assert ENTRY["category"] == "Segmentation", "one of those that the Index has"
    assert re.fullmatch(r"(https|git)://\S+/SlicerLobule\.git", ENTRY["scm_url"]), "Slicer and the extension's name"
    assert ENTRY["scm_revision"] == "main", "a branch, so that updates need no new submission"


def test_the_top_level_names_the_extension_and_its_pictures():
    assert re.findall(r"project\s*\(\s*([^\s)]+)", TOP, re.I)[0] == "Lobule", "the name of the entry's file"
    assert set(TOLD) == {"HOMEPAGE", "CONTRIBUTORS", "DESCRIPTION", "ICONURL", "SCREENSHOTURLS", "DEPENDS"}
    assert TOLD["DEPENDS"] == "NA"
    assert TOLD["HOMEPAGE"] == ENTRY["scm_url"].removesuffix(".git")
    assert 1 <= TOLD["DESCRIPTION"].count(".") <= 2, "one or two sentences"
    for url in (TOLD["ICONURL"], *TOLD["SCREENSHOTURLS"].split()):
        assert url.startswith("https://")
        picture = (EXTENSION / url.rpartition(f"/{ENTRY['scm_revision']}/")[2]).read_bytes()
        assert picture.startswith(b"\x89PNG"), url
    assert (EXTENSION / "Lobule.png").read_bytes()[16:24] == (128).to_bytes(4, "big") * 2, "the icon: 128 x 128 pixels"
    for line in ("find_package(Slicer REQUIRED)", "include(${Slicer_USE_FILE})", "include(${Slicer_EXTENSION_GENERATE_CONFIG})",
                 "include(${Slicer_EXTENSION_CPACK})"):  # fmt: skip
        assert line in TOP
    folders = re.findall(r"add_subdirectory\((\w+)\)", TOP)
    assert folders == sorted(path.parent.name for path in EXTENSION.glob("*/CMakeLists.txt"))


def test_the_licence_is_at_the_root():
    own = (EXTENSION / "LICENSE.txt").read_text()
    assert own.startswith("BSD 3-Clause License")
    assert (ROOT / "LICENSE").read_text().startswith(own), "the rest is about fonts, which the extension has none of"


def test_the_module_lists_its_files():
    text = (FOLDER / "CMakeLists.txt").read_text()
    here = {str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*") if file.suffix in (".py", ".png")}
    listed = {word for word in re.findall(r"[\w/]+\.(?:py|png)", text)}
    assert listed == here


def test_the_page_has_what_readers_look_for():
    page = (EXTENSION / "README.md").read_text()
    assert page.startswith("# Lobule")
    parts = dict(re.findall(r"^## (.+)\n\n((?:(?!^## ).*\n?)+)", page, re.M))
    assert list(parts) == ["Modules", "Install", "Tutorial", "Cite", "Licence"]
    modules = re.findall(r"^- \*\*(\w+)\*\* (\w[^.]+\.)$", parts["Modules"], re.M)
    assert [name for name, _ in modules] == re.findall(r"add_subdirectory\((\w+)\)", TOP), "a sentence for each module"
    assert re.search(r"^1\. .*Sample Data", parts["Tutorial"], re.M)
    assert "LICENSE.txt" in parts["Licence"]
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert pictures
    assert all((EXTENSION / picture).is_file() for picture in pictures)
