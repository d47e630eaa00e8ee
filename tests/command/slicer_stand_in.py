"""Stand-ins for what the effect calls in 3D Slicer, which is not a package: a segmentation that is painted, and the
base class that merges it and shows a preview. A class has methods of the real one alone (its header is named), so a
call that 3D Slicer does not have fails. VTK and Qt are stood in for as well, or come from their packages."""

import importlib
import types
from pathlib import Path

import numpy as np

SPACING = (8.0, 6.0, 6.0)  # z, y, x
PLACE = np.array([[-6.0, 0, 0, 100], [0, -6.0, 0, 50], [0, 0, 8.0, -30], [0, 0, 0, 1]])  # voxels to RAS


# ---- VTK ----


class Array:  # vtkDataArray
    clock = 0

    def __init__(self, voxels):
        self.voxels, self.time = voxels, self.tick()

    @classmethod
    def tick(cls):
        cls.clock += 1
        return cls.clock

    def GetMTime(self):
        return self.time


class PointData:
    def __init__(self, scalars):
        self.scalars = scalars

    def GetScalars(self):
        return self.scalars


class OrientedImage:  # vtkOrientedImageData.h, vtkImageData.h
    def __init__(self):
        self.first, self.scalars = (0, 0, 0), None

    def GetPointData(self):
        return PointData(self.scalars)

    def GetDimensions(self):
        return self.scalars.voxels.shape[::-1]

    def GetExtent(self):
        ends = zip(self.first, self.GetDimensions())
        return tuple(at for first, side in ends for at in (first, first + side - 1))

    def GetSpacing(self):
        return SPACING[::-1]

    def GetImageToWorldMatrix(self, matrix):
        matrix.DeepCopy(PLACE.reshape(-1))

    def DeepCopy(self, other):
        self.first, self.scalars = other.first, Array(other.scalars.voxels.copy())

    def Modified(self):
        pass


class StringArray:  # vtkStringArray
    def __init__(self):
        self.texts = []

    def InsertNextValue(self, text):
        self.texts.append(text)

    def GetValue(self, index):
        return self.texts[index]

    def GetNumberOfValues(self):
        return len(self.texts)


class Matrix:  # vtkMatrix4x4
    def DeepCopy(self, elements):
        self.elements = np.array(elements).reshape(4, 4)

    def MultiplyPoint(self, point):
        return tuple(self.elements @ point)


class Vtk:
    """VTK as stood in for."""

    vtkStringArray, vtkMatrix4x4 = StringArray, Matrix
    OrientedImage = OrientedImage

    @staticmethod
    def vtk_to_numpy(array):
        return array.voxels.reshape(-1)

    @staticmethod
    def image(voxels, first=(0, 0, 0)):
        """An image with these voxels, (z, y, x), from this x, y, z on."""
        made = OrientedImage()
        made.first, made.scalars = tuple(first), Array(voxels)
        return made


def real_vtk():
    """VTK from its package; 3D Slicer's image adds directions."""
    vtk, numpy_support = importlib.import_module("vtkmodules.all"), importlib.import_module("vtkmodules.util.numpy_support")

    class OrientedImage(vtk.vtkImageData):
        def GetImageToWorldMatrix(self, matrix):
            matrix.DeepCopy(PLACE.reshape(-1))

    def image(voxels, first=(0, 0, 0)):
        made = OrientedImage()
        made.SetExtent([at for low, side in zip(first, voxels.shape[::-1]) for at in (low, low + side - 1)])
        made.SetSpacing(SPACING[::-1])
        made.GetPointData().SetScalars(numpy_support.numpy_to_vtk(voxels.reshape(-1), deep=True))
        return made

    return types.SimpleNamespace(
        vtkStringArray=vtk.vtkStringArray, vtkMatrix4x4=vtk.vtkMatrix4x4, OrientedImage=OrientedImage, image=image,
        vtk_to_numpy=numpy_support.vtk_to_numpy,
    )  # fmt: skip


# ---- Qt, as PythonQt gives it: properties are attributes, signals are named ----


class Widget:
    """Slots of signals, by name; attributes are those of the class alone."""

    signals: tuple[str, ...] = ()

    def __init__(self):
        self.slots = {}

    def __setattr__(self, name, value):
        if name != "slots" and not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no property {name}")
        object.__setattr__(self, name, value)

    def connect(self, signal, slot):
        assert signal in self.signals, signal
        self.slots[signal] = slot

    def disconnect(self, signal, slot):
        assert self.slots.pop(signal) == slot

    def blockSignals(self, block):
        return False


class QTimer(Widget):
    interval, singleShot, active = 0, False, False
    signals, made = ("timeout()",), []

    def __init__(self):
        super().__init__()
        self.made.append(self)

    def setSingleShot(self, once):
        self.singleShot = once

    def start(self):
        self.active = True

    def stop(self):
        self.active = False


class QLabel(Widget):
    text, wordWrap = "", False


class QPushButton(Widget):
    enabled, text = True, ""
    signals = ("clicked()",)

    def __init__(self, text):
        super().__init__()
        self.text = text

    def click(self):
        if self.enabled:
            self.slots["clicked()"]()


class QCheckBox(Widget):
    checked = True
    signals = ("stateChanged(int)",)

    def isChecked(self):
        return self.checked


class QComboBox(Widget):
    currentIndex, items = 0, ()
    signals = ("currentIndexChanged(int)",)

    def addItem(self, text, data):
        self.items = (*self.items, data)

    def findData(self, data):
        return self.items.index(data) if data in self.items else -1

    def setCurrentIndex(self, index):
        changed, self.currentIndex = index != self.currentIndex, index
        if changed and self.slots:
            self.slots["currentIndexChanged(int)"](index)

    def itemData(self, index):
        return self.items[index]


class Qt:
    """Qt as stood in for."""

    QTimer, QLabel, QPushButton, QCheckBox, QComboBox, QIcon = QTimer, QLabel, QPushButton, QCheckBox, QComboBox, Path

    @staticmethod
    def process_events():
        for timer in QTimer.made:
            if timer.active:
                timer.active = not timer.singleShot
                timer.slots["timeout()"]()


def real_qt():
    """Qt from its package, spoken to as PythonQt would: by properties and signatures of its meta-objects."""
    widgets, core, gui = (importlib.import_module(f"qtpy.{name}") for name in ("QtWidgets", "QtCore", "QtGui"))
    application = widgets.QApplication.instance() or widgets.QApplication([])

    def spoken(kind):
        class Spoken:
            def __init__(self, *words):
                object.__setattr__(self, "real", kind(*words))
                self.real.setProperty("application", application)  # that one stays

            def __getattr__(self, name):
                if self.real.metaObject().indexOfProperty(name) >= 0:
                    return self.real.property(name)
                return getattr(self.real, name)

            def __setattr__(self, name, value):
                assert self.real.metaObject().indexOfProperty(name) >= 0, f"{kind.__name__} has no property {name}"
                assert self.real.setProperty(name, value), (name, value)

            def connect(self, signal, slot):
                assert self.real.metaObject().indexOfSignal(signal) >= 0, signal
                getattr(self.real, signal.split("(")[0]).connect(lambda *_: slot())

            def disconnect(self, signal, slot):
                getattr(self.real, signal.split("(")[0]).disconnect()

        return Spoken

    kinds = {name: spoken(getattr(widgets, name)) for name in ("QLabel", "QPushButton", "QCheckBox", "QComboBox")}
    return types.SimpleNamespace(
        QTimer=spoken(core.QTimer), QIcon=gui.QIcon, process_events=application.processEvents, **kinds
    )


# ---- segmentations ----


class Segment:  # vtkSegment.h
    def __init__(self, name):
        self.name, self.voxels, self.representations, self.value = name, None, {}, 0

    def GetName(self):
        return self.name

    def AddRepresentation(self, name, image):
        self.representations[name] = image
        return True

    def SetLabelValue(self, value):
        self.value = value


class Segmentation:  # vtkSegmentation.h
    def __init__(self):
        self.segments, self.observers = {}, {}

    def GetSegment(self, name):
        return self.segments.get(name)

    def GetNumberOfSegments(self):
        return len(self.segments)

    def GetNthSegmentID(self, index):
        return list(self.segments)[index]

    def AddSegment(self, segment, name):
        self.segments[name] = segment
        self.tell()

    def RemoveSegment(self, name):
        del self.segments[name]
        self.tell()

    def RemoveAllSegments(self):
        self.segments.clear()

    def AddObserver(self, event, slot):
        self.observers[len(self.observers)] = slot
        return len(self.observers) - 1

    def RemoveObserver(self, tag):
        self.observers.pop(tag)

    def tell(self):
        for slot in list(self.observers.values()):
            slot(self, "SourceRepresentationModified")


class Node:  # vtkMRMLSegmentationNode.h, vtkMRMLSegmentationDisplayNode.h, vtkMRMLTransformableNode.h
    def __init__(self):
        self.segmentation, self.hidden, self.surface = Segmentation(), set(), False

    def GetSegmentation(self):
        return self.segmentation

    def GetDisplayNode(self):
        return self

    def GetSegmentVisibility(self, name):
        return name not in self.hidden

    def RemoveClosedSurfaceRepresentation(self):
        self.surface = False

    def TransformPointToWorld(self, point, out):
        out[:] = [at + 1000 for at in point]  # it is under a transform


class Scripted:  # qSlicerSegmentEditorScriptedEffect.h, qSlicerSegmentEditorAbstractEffect.h
    def __init__(self, node=None, source=None):
        self.parameters, self.widgets, self.node, self.source, self.path = {}, [], node, source, None

    def setParameterDefault(self, name, value):
        self.parameters.setdefault(name, value)

    def setParameter(self, name, value):
        self.parameters[name] = value

    def parameter(self, name):
        return self.parameters[name]

    def addLabeledOptionsWidget(self, label, widget):
        self.widgets.append((label, widget))

    def addOptionsWidget(self, widget):
        self.widgets.append(("", widget))

    def parameterSetNode(self):
        return self

    def GetSegmentationNode(self):  # of vtkMRMLSegmentEditorNode.h
        return self.node

    def sourceVolumeImageData(self):
        return self.source

    def setPythonSource(self, path):
        self.path = path

    def self(self):
        return self

    def register(self):
        self.registered = True


def auto_complete(vtk, qt):
    """The base class of effects with a preview (AbstractScriptedSegmentEditorAutoCompleteEffect.py): what it calls of
    an effect, when, and with what."""

    class AutoComplete:
        def __init__(self, scriptedEffect):
            self.scriptedEffect = scriptedEffect
            self.minimumNumberOfSegments = 1
            self.delayedAutoUpdateTimer = qt.QTimer()
            self.delayedAutoUpdateTimer.setSingleShot(True)
            self.delayedAutoUpdateTimer.interval = 1000
            self.delayedAutoUpdateTimer.connect("timeout()", self.onPreview)
            self.extentGrowthRatio, self.previewComputationInProgress = 0.1, False
            self.selectedSegmentIds = self.previewNode = self.box = self.clippedMaskImageData = self.mask = None
            self.observed = None

        def setupOptionsFrame(self):
            self.autoUpdateCheckBox = qt.QCheckBox()
            self.autoUpdateCheckBox.checked = True

        def setMRMLDefaults(self):
            pass

        def updateGUIFromMRML(self):
            segmentation = self.scriptedEffect.node.segmentation
            if self.observed is not None:
                segmentation.RemoveObserver(self.observed)
            self.observed = segmentation.AddObserver("", self.onSegmentationModified) if self.previewNode else None

        def updateMRMLFromGUI(self):
            pass

        def getPreviewNode(self):
            return self.previewNode

        def getPreviewShow3D(self):
            return self.previewNode.surface

        def setPreviewShow3D(self, show):
            self.previewNode.surface = show

        def onPreview(self):
            self.previewComputationInProgress = True
            self.preview()
            self.previewComputationInProgress = False

        def merged(self):
            strokes = np.zeros(vtk.vtk_to_numpy(self.scriptedEffect.source.GetPointData().GetScalars()).shape, np.int16)
            strokes = strokes.reshape(self.scriptedEffect.source.GetDimensions()[::-1])
            for index in reversed(range(self.selectedSegmentIds.GetNumberOfValues())):  # the upper one wins
                segment = self.scriptedEffect.node.segmentation.GetSegment(self.selectedSegmentIds.GetValue(index))
                if segment.voxels is not None:
                    strokes[segment.voxels] = index + 1
            return strokes

        def preview(self):
            segmentation, ids = self.scriptedEffect.node.segmentation, self.selectedSegmentIds
            if ids is None:
                ids = vtk.vtkStringArray()
                for name in segmentation.segments:
                    if self.scriptedEffect.node.GetSegmentVisibility(name):
                        ids.InsertNextValue(name)
            if ids.GetNumberOfValues() < self.minimumNumberOfSegments:
                raise RuntimeError("Minimum 2 visible segments are required.")
            self.selectedSegmentIds = ids
            strokes = self.merged()
            places = np.argwhere(strokes)
            low, high = places.min(0), places.max(0)
            if self.box is None or any(low < [part.start for part in self.box]) or any(high >= [part.stop for part in self.box]):
                self.reset()
                self.selectedSegmentIds = ids
                margin = np.maximum(3, (self.extentGrowthRatio * (high - low)).astype(int))
                ends = zip(np.maximum(low - margin, 0), np.minimum(high + margin + 1, strokes.shape))
                self.box = tuple(slice(int(first), int(end)) for first, end in ends)
                self.previewNode = Node()
                self.clippedMasterImageData = self.clip(self.voxels_of(self.scriptedEffect.source))
                self.clippedMaskImageData = None if self.mask is None else self.clip(self.mask)
            out = vtk.OrientedImage()
            self.computePreviewLabelmap(self.clip(strokes), out)
            made = self.previewNode.GetSegmentation()
            if made.GetNumberOfSegments() != ids.GetNumberOfValues():
                made.RemoveAllSegments()
            for index in range(self.selectedSegmentIds.GetNumberOfValues()):
                name = self.selectedSegmentIds.GetValue(index)
                if not made.GetSegment(name):
                    made.AddSegment(Segment(segmentation.GetSegment(name).name), name)
                made.GetSegment(name).AddRepresentation("Binary labelmap", out)
                made.GetSegment(name).SetLabelValue(index + 1)
            self.updateGUIFromMRML()

        def voxels_of(self, image):
            return vtk.vtk_to_numpy(image.GetPointData().GetScalars()).reshape(image.GetDimensions()[::-1])

        def clip(self, voxels):
            return vtk.image(np.ascontiguousarray(voxels[self.box]), [part.start for part in self.box[::-1]])

        def reset(self):
            self.delayedAutoUpdateTimer.stop()
            self.previewNode = self.selectedSegmentIds = self.box = None
            self.updateGUIFromMRML()

        def onCancel(self):
            self.reset()

        def onApply(self):
            self.applied = self.shown_labels()
            self.reset()

        def cleanup(self):
            self.delayedAutoUpdateTimer.disconnect("timeout()", self.onPreview)

        def shown_labels(self):
            """What the preview shows: one image for all segments."""
            images = {id(each.representations["Binary labelmap"]): each.representations["Binary labelmap"]
                      for each in self.previewNode.segmentation.segments.values()}  # fmt: skip
            assert len(images) == 1
            return self.voxels_of(*images.values()).copy()

    return AutoComplete
