"""The effect: paint strokes in two segments or more, look at the preview, correct by more strokes, apply."""

from pathlib import Path

import qt
import slicer
import vtk.util.numpy_support as vtk_numpy
from SegmentEditorEffects import AbstractScriptedSegmentEditorAutoCompleteEffect
from SegmentEditorLobuleLib.grow import METHODS, SEGMENT, Live

DEVICES = {"auto": "GPU if there is one", "cpu": "CPU", "cuda": "GPU"}
PACKAGE = "lobule>=0.1,<0.2"
ASK = "The effect needs the Python package lobule, which is not in this 3D Slicer. Install it by pip?"
NO_PACKAGE = (
    "The Python package lobule is not in this 3D Slicer. In the Python console, install a wheel that fits: "
    "slicer.util.pip_install('/path/to/lobule-....whl')"
)
WAIT_MS = 200  # from the last stroke to a preview; 3D Slicer's own effects wait a second


def has_package():
    """Is the package there, or may it be installed now?"""
    try:
        import lobule  # noqa: F401
    except ImportError:
        if not slicer.util.confirmOkCancelDisplay(ASK):
            return False
        try:
            slicer.util.pip_install(PACKAGE)
            import lobule  # noqa: F401
        except Exception:  # noqa: BLE001  pip's failures are of many kinds
            slicer.util.errorDisplay(NO_PACKAGE)
            return False
    return True


def array_of(image):
    """The voxels of a vtkOrientedImageData as (z, y, x), without a copy."""
    return vtk_numpy.vtk_to_numpy(image.GetPointData().GetScalars()).reshape(image.GetDimensions()[::-1])


class SegmentEditorEffect(AbstractScriptedSegmentEditorAutoCompleteEffect):
    def __init__(self, scriptedEffect):
        AbstractScriptedSegmentEditorAutoCompleteEffect.__init__(self, scriptedEffect)
        scriptedEffect.name = "Lobule"
        scriptedEffect.title = "Lobule"
        self.minimumNumberOfSegments = 2
        self.clippedSourceImageDataRequired = True
        self.clippedMasterImageDataRequired = True  # its name before 3D Slicer 5.2
        self.clippedMaskImageDataRequired = True
        self.delayedAutoUpdateTimer.interval = WAIT_MS
        self.live = Live()

    def reset(self):
        AbstractScriptedSegmentEditorAutoCompleteEffect.reset(self)
        self.live.forget()

    def clone(self):
        import qSlicerSegmentationsEditorEffectsPythonQt as effects

        cloned = effects.qSlicerSegmentEditorScriptedEffect(None)
        cloned.setPythonSource(__file__.replace("\\", "/"))
        return cloned

    def icon(self):
        return qt.QIcon(str(Path(__file__).parents[1] / "Resources" / "Icons" / "SegmentEditorLobule.png"))

    def helpText(self):
        return (
            "Masks from brush strokes. Paint a few lines in each structure and in what is around them, each in a "
            "segment of its own; then Initialize. The preview follows every further stroke; Apply keeps it."
        )

    def setupOptionsFrame(self):
        AbstractScriptedSegmentEditorAutoCompleteEffect.setupOptionsFrame(self)
        self.choices = {}
        for name, label, words in (("Method", "Method:", METHODS), ("Device", "Compute on:", DEVICES)):
            box = qt.QComboBox()
            for word, text in words.items():
                box.addItem(text, word)
            self.choices[name] = box
            self.scriptedEffect.addLabeledOptionsWidget(label, box)
            box.connect("currentIndexChanged(int)", self.updateMRMLFromGUI)

    def setMRMLDefaults(self):
        AbstractScriptedSegmentEditorAutoCompleteEffect.setMRMLDefaults(self)
        self.scriptedEffect.setParameterDefault("Method", SEGMENT)
        self.scriptedEffect.setParameterDefault("Device", "auto")

    def updateGUIFromMRML(self):
        AbstractScriptedSegmentEditorAutoCompleteEffect.updateGUIFromMRML(self)
        for name, box in self.choices.items():
            was_blocked = box.blockSignals(True)
            box.setCurrentIndex(box.findData(self.scriptedEffect.parameter(name)))
            box.blockSignals(was_blocked)

    def updateMRMLFromGUI(self, *_):
        AbstractScriptedSegmentEditorAutoCompleteEffect.updateMRMLFromGUI(self)
        for name, box in self.choices.items():
            self.scriptedEffect.setParameter(name, box.itemData(box.currentIndex))

    def computePreviewLabelmap(self, mergedImage, outputLabelmap):
        outputLabelmap.DeepCopy(mergedImage)
        image = getattr(self, "clippedSourceImageData", None) or self.clippedMasterImageData
        mask = self.clippedMaskImageData
        if not has_package():
            return
        try:
            labels = self.live.grow(
                array_of(image),
                array_of(mergedImage),
                image.GetSpacing()[::-1],
                self.scriptedEffect.parameter("Method"),
                array_of(mask) if mask else None,
                self.scriptedEffect.parameter("Device"),
            )
        except (ValueError, RuntimeError, MemoryError, OSError) as problem:  # every lobule.Error is one of these
            slicer.util.errorDisplay(f"Lobule: {problem}")
            return
        array_of(outputLabelmap)[:] = labels
        outputLabelmap.Modified()
