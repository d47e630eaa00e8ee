"""The effect: paint strokes in two segments or more, look at the preview, correct by more strokes, apply."""

import qt
import slicer
import vtk.util.numpy_support as vtk_numpy
from SegmentEditorEffects import AbstractScriptedSegmentEditorAutoCompleteEffect
from SegmentEditorLobuleLib.grow import METHODS, SEGMENT, grow

DEVICES = {"auto": "GPU if there is one", "cpu": "CPU", "cuda": "GPU"}
NO_PACKAGE = (
    "The Python package of Lobule is not in this 3D Slicer. Build its wheel (./run wheel) and install it from the "
    "Python console: slicer.util.pip_install('/path/to/lobule-....whl')"
)


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

    def clone(self):
        import qSlicerSegmentationsEditorEffectsPythonQt as effects

        cloned = effects.qSlicerSegmentEditorScriptedEffect(None)
        cloned.setPythonSource(__file__.replace("\\", "/"))
        return cloned

    def icon(self):
        return qt.QIcon()

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
        try:
            labels = grow(
                array_of(image),
                array_of(mergedImage),
                image.GetSpacing()[::-1],
                self.scriptedEffect.parameter("Method"),
                array_of(mask) if mask else None,
                self.scriptedEffect.parameter("Device"),
            )
        except ImportError:
            slicer.util.errorDisplay(NO_PACKAGE)
            return
        except (ValueError, RuntimeError, MemoryError, OSError) as problem:  # every lobule.Error is one of these
            slicer.util.errorDisplay(f"Lobule: {problem}")
            return
        array_of(outputLabelmap)[:] = labels
        outputLabelmap.Modified()
