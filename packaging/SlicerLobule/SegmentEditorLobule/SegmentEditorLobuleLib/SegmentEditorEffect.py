"""The effect: paint strokes in two segments or more, look at the preview, correct by more strokes, apply.

The base class merges the segments into one label map and shows one label map as the preview. Between the two, a
thread computes: a timer takes what has come, puts it into the preview, and says what is uncertain.
"""

from pathlib import Path

import qt
import slicer
import vtk
import vtk.util.numpy_support as vtk_numpy
from SegmentEditorEffects import AbstractScriptedSegmentEditorAutoCompleteEffect
from SegmentEditorLobuleLib.grow import METHODS, SEGMENT, Live
from SegmentEditorLobuleLib.package import has_package

DEVICES = {"auto": "GPU if there is one", "cpu": "CPU", "cuda": "GPU"}
PROBLEMS = (ValueError, RuntimeError, MemoryError, OSError)  # every lobule.Error is one of these
STROKE_MS = 50  # from the last change of a segment until its strokes are told; several come for one stroke
POLL_MS, GIVE_S = 5, 0.015  # 3D Slicer's event loop may hold Python's lock: the thread runs while a poll waits
MARGIN = 0.5  # of the strokes' extent, on each side, that the preview shows; segment itself looks farther


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
        self.extentGrowthRatio = MARGIN
        self.delayedAutoUpdateTimer.interval = STROKE_MS
        self.pollTimer = qt.QTimer()
        self.pollTimer.interval = POLL_MS
        self.pollTimer.connect("timeout()", self.onPoll)
        self.live = Live()
        self.shown = None  # the preview's label map
        self.places, self.visited = [], 0

    # ---- what the editor asks ----

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
            "segment of its own; then Initialize. The preview follows every further stroke, erased and undone ones "
            "too; Apply keeps it."
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
            box.connect("currentIndexChanged(int)", self.onChoice)
        self.doubtLabel = qt.QLabel()
        self.doubtLabel.wordWrap = True
        self.scriptedEffect.addOptionsWidget(self.doubtLabel)
        self.jumpButton = qt.QPushButton("Show where a stroke would help most")
        self.jumpButton.enabled = False
        self.jumpButton.connect("clicked()", self.onJump)
        self.scriptedEffect.addOptionsWidget(self.jumpButton)

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

    def onChoice(self, *_):
        self.updateMRMLFromGUI()
        if self.getPreviewNode():
            self.delayedAutoUpdateTimer.start()

    # ---- strokes ----

    def onSegmentationModified(self, caller, event):
        """Painted, erased, undone, added or removed: the strokes themselves tell whether something has changed."""
        if self.autoUpdateCheckBox.isChecked() and not self.previewComputationInProgress:
            self.delayedAutoUpdateTimer.start()

    def preview(self):
        if has_package() and self.followSegments():
            AbstractScriptedSegmentEditorAutoCompleteEffect.preview(self)

    def followSegments(self):
        """Segments that were removed leave the preview, new ones join; False: too few are left, and it ends."""
        if self.selectedSegmentIds is None:
            return True  # the base takes those that are visible
        node = self.segmentationNode()
        segmentation, known, there = node.GetSegmentation(), self.segmentIds(), vtk.vtkStringArray()
        for index in range(segmentation.GetNumberOfSegments()):
            name = segmentation.GetNthSegmentID(index)
            if name in known or node.GetDisplayNode().GetSegmentVisibility(name):
                there.InsertNextValue(name)
        self.selectedSegmentIds = there
        if self.segmentIds() == known:
            return True
        if there.GetNumberOfValues() < self.minimumNumberOfSegments:
            self.onCancel()
            slicer.util.showStatusMessage("Lobule: fewer than two segments are left.", 3000)
            return False
        self.live.forget()  # labels have other numbers now
        if self.getPreviewNode():
            self.getPreviewNode().GetSegmentation().RemoveAllSegments()  # the base makes them anew
        return True

    def segmentationNode(self):
        return self.scriptedEffect.parameterSetNode().GetSegmentationNode()

    def segmentIds(self):
        return [self.selectedSegmentIds.GetValue(index) for index in range(self.selectedSegmentIds.GetNumberOfValues())]

    def computePreviewLabelmap(self, mergedImage, outputLabelmap):
        """Tell the strokes, and show what is there until an answer comes."""
        outputLabelmap.DeepCopy(mergedImage)
        self.shown = outputLabelmap
        method, mask = self.scriptedEffect.parameter("Method"), self.clippedMaskImageData
        image = getattr(self, "clippedSourceImageData", None) or self.clippedMasterImageData
        if method == SEGMENT:  # which chooses its own box of the image
            image = self.scriptedEffect.sourceVolumeImageData()
        first, corner = image.GetExtent()[::2], mergedImage.GetExtent()[::2]
        try:
            self.live.follow(
                array_of(image),
                array_of(mergedImage),
                [corner[axis] - first[axis] for axis in (2, 1, 0)],
                image.GetSpacing()[::-1],
                method,
                array_of(mask) if mask else None,
                self.scriptedEffect.parameter("Device"),
                image.GetPointData().GetScalars().GetMTime(),
            )
        except PROBLEMS as problem:
            self.fail(problem)
            return
        labels = self.live.labels()
        if labels is not None:
            array_of(outputLabelmap)[:] = labels
            outputLabelmap.Modified()
        self.say("")
        self.pollTimer.start()

    # ---- answers ----

    def onPoll(self):
        try:
            final = self.live.wait(GIVE_S)
            self.show(final)
            doubt = self.live.doubt(GIVE_S) if final else None
        except PROBLEMS as problem:
            self.fail(problem)
            return
        if doubt is not None:
            self.pollTimer.stop()
            self.tell(*doubt)

    def show(self, final):
        """Put labels that have come into the preview."""
        labels, node = self.live.news(), self.getPreviewNode()
        if labels is None or node is None or self.shown is None:
            return
        shown = slicer.vtkOrientedImageData()
        shown.DeepCopy(self.shown)
        array_of(shown)[:] = labels
        shown.Modified()
        self.shown = shown
        surfaces = final and self.getPreviewShow3D()  # they take long
        if surfaces:
            node.RemoveClosedSurfaceRepresentation()
        name = slicer.vtkSegmentationConverter.GetSegmentationBinaryLabelmapRepresentationName()
        for each in self.segmentIds():
            node.GetSegmentation().GetSegment(each).AddRepresentation(name, shown)
        if surfaces:
            self.setPreviewShow3D(True)

    def tell(self, voxels, places):
        """Say how much of each segment is uncertain, and offer the places where another stroke would help."""
        ids, segmentation = self.segmentIds(), self.segmentationNode().GetSegmentation()
        sides = self.scriptedEffect.sourceVolumeImageData().GetSpacing()
        millilitres = sides[0] * sides[1] * sides[2] / 1000
        parts = [
            f"{count * millilitres:.2g} ml of {segmentation.GetSegment(ids[label - 1]).GetName()}"
            for label, count in sorted(voxels.items(), key=lambda each: -each[1])
        ]
        self.say("Uncertain: " + ", ".join(parts) + "." if parts else "")
        self.places, self.visited = places, 0
        self.jumpButton.enabled = bool(places)

    def fail(self, problem):
        self.pollTimer.stop()
        self.say(f"Lobule: {problem}")

    def say(self, text):
        self.places = []
        self.jumpButton.enabled = False
        self.doubtLabel.text = text
        if text:
            slicer.util.showStatusMessage(text, 5000)  # the user may be in the effect Paint

    def onJump(self):
        """Show the next place in all slice views."""
        place = self.places[self.visited % len(self.places)]
        self.visited += 1
        image, matrix = self.scriptedEffect.sourceVolumeImageData(), vtk.vtkMatrix4x4()
        image.GetImageToWorldMatrix(matrix)
        voxel = [first + at for first, at in zip(image.GetExtent()[::2], reversed(place))]
        world = [0.0, 0.0, 0.0]
        self.segmentationNode().TransformPointToWorld(matrix.MultiplyPoint([*voxel, 1.0])[:3], world)
        slicer.vtkMRMLSliceNode.JumpAllSlices(slicer.mrmlScene, *world, slicer.vtkMRMLSliceNode.CenteredJumpSlice)

    # ---- the end ----

    def reset(self):
        """Start the preview anew. What is computed stays: the base calls this when the box of the preview grows."""
        AbstractScriptedSegmentEditorAutoCompleteEffect.reset(self)
        self.pollTimer.stop()
        self.shown = None
        self.say("")

    def onCancel(self):
        AbstractScriptedSegmentEditorAutoCompleteEffect.onCancel(self)
        self.live.forget()

    def onApply(self):
        with slicer.util.tryWithErrorDisplay("Lobule failed:", waitCursor=True):
            self.live.wait()
            self.show(False)
            AbstractScriptedSegmentEditorAutoCompleteEffect.onApply(self)
            self.live.forget()

    def cleanup(self):
        AbstractScriptedSegmentEditorAutoCompleteEffect.cleanup(self)
        self.pollTimer.stop()
        self.pollTimer.disconnect("timeout()", self.onPoll)
        self.live.forget()
