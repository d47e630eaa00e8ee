"""Adds the effect "Lobule" to the Segment Editor of 3D Slicer, and an abdomen with strokes to its Sample Data."""

from pathlib import Path

import slicer
from slicer.ScriptedLoadableModule import ScriptedLoadableModule

ICON = Path(__file__).parent / "Resources" / "Icons" / "SegmentEditorLobule.png"


class SegmentEditorLobule(ScriptedLoadableModule):
    def __init__(self, parent):
        ScriptedLoadableModule.__init__(self, parent)
        parent.title = "SegmentEditorLobule"
        parent.categories = ["Segmentation"]
        parent.dependencies = ["Segmentations"]
        parent.contributors = ["The authors of Lobule"]
        parent.hidden = True
        parent.helpText = "Masks from brush strokes by Lobule, as an effect of the Segment Editor."
        slicer.app.connect("startupCompleted()", self.register)

    def register(self):
        import qSlicerSegmentationsEditorEffectsPythonQt as effects
        import SampleData

        effect = effects.qSlicerSegmentEditorScriptedEffect(None)
        source = Path(__file__).parent / "SegmentEditorLobuleLib" / "SegmentEditorEffect.py"
        effect.setPythonSource(source.as_posix())
        effect.self().register()
        SampleData.SampleDataLogic.registerCustomSampleDataSource(
            category="Lobule", sampleName="LobuleAbdomen", customDownloader=make_abdomen, thumbnailFileName=str(ICON)
        )


def make_abdomen(*_):
    """A phantom of an abdomen, and strokes in it as a segmentation; made here, so nothing is downloaded."""
    import numpy as np
    from SegmentEditorLobuleLib.package import has_package

    if not has_package():
        return
    import lobule

    scan, _truth, strokes = lobule.phantom("abdomen", shape=(60, 128, 128), spacing=(4, 3, 3), strokes=True)
    place = np.diag([3.0, 3.0, 4.0, 1.0])
    volume = slicer.util.addVolumeFromArray(scan, place, "LobuleAbdomen")
    labels = slicer.util.addVolumeFromArray(strokes, place, "LobuleAbdomen labels", "vtkMRMLLabelMapVolumeNode")
    drawn = slicer.mrmlScene.AddNewNodeByClass("vtkMRMLSegmentationNode", "LobuleAbdomen strokes")
    drawn.CreateDefaultDisplayNodes()
    drawn.SetReferenceImageGeometryParameterFromVolumeNode(volume)
    slicer.modules.segmentations.logic().ImportLabelmapToSegmentationNode(labels, drawn)
    slicer.mrmlScene.RemoveNode(labels)
    slicer.util.setSliceViewerLayers(background=volume, fit=True)
