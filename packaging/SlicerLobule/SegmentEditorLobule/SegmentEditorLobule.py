"""Adds the effect "Lobule" to the Segment Editor of 3D Slicer when Slicer has started."""

from pathlib import Path

import slicer
from slicer.ScriptedLoadableModule import ScriptedLoadableModule


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

        effect = effects.qSlicerSegmentEditorScriptedEffect(None)
        source = Path(__file__).parent / "SegmentEditorLobuleLib" / "SegmentEditorEffect.py"
        effect.setPythonSource(source.as_posix())
        effect.self().register()
