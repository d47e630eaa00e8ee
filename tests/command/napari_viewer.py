"""Run every widget of the plugin in a viewer of napari's: napari_viewer.py FOLDER, which holds
scan.nii.gz and truth.seg.nrrd. Prints what came as JSON. test_napari.py calls it."""

import json
import sys
import time
from pathlib import Path

import lobule
import napari
import numpy as np
from npe2 import PluginManager, PluginManifest
from qtpy.QtWidgets import QApplication

folder = Path(sys.argv[1])
manifest = PluginManifest.from_file(Path(lobule.__file__).parent / "napari.yaml")
manifest.validate_imports()
PluginManager.instance().register(manifest)
viewer = napari.Viewer()
names = {each.command: each.display_name for each in manifest.contributions.widgets}


def run(command, **values):
    """Fill in a widget, press its button, and wait for the layers that it makes or changes."""
    panel = viewer.window.add_plugin_dock_widget("lobule", names[command])[1]
    for name, value in values.items():
        getattr(panel, name).value = value
    before = {layer.name: layer.data for layer in viewer.layers}
    panel()
    end = time.monotonic() + 60
    while all(before.get(layer.name) is layer.data for layer in viewer.layers):
        if time.monotonic() > end:
            sys.exit(f"{command}: nothing came")
        QApplication.instance().processEvents()
        time.sleep(0.01)
    return viewer.layers[-1]


viewer.open_sample("lobule", "abdomen")
scan, strokes = viewer.layers
grown = run("lobule.growcut", image=scan, seeds=strokes)
assert np.array_equal(grown.data, lobule.growcut(scan.data, strokes.data, spacing=(5, 3, 3)))
assert np.array_equal(grown.scale, scan.scale)
assert str(grown.colormap) == str(strokes.colormap)
count = len(viewer.layers)

# more strokes, the same layer
strokes.data[20:22, 40:44, 40:44] = 3
again = run("lobule.growcut", image=scan, seeds=strokes)
assert len(viewer.layers) == count
assert again is grown
assert (again.data[20:22, 40:44, 40:44] == 3).all()

# labels that follow the brush: painted, undone, erased
for method in ("growcut", "segment"):
    following = run("lobule.live", image=scan, seeds=strokes, method=method)
    for change in (lambda: strokes.paint((10, 30, 30), 3), strokes.undo, lambda: strokes.paint((20, 42, 42), 0)):
        change()
        wanted = getattr(lobule, method)(scan.data, strokes.data, spacing=(5, 3, 3))
        end = time.monotonic() + 60
        while not np.array_equal(following.data, wanted) and time.monotonic() < end:
            QApplication.instance().processEvents()
        assert np.array_equal(following.data, wanted), method
    grown.visible = False
    viewer.reset_view()
    viewer.dims.set_current_step(0, 20)
    QApplication.instance().processEvents()
    picture = viewer.screenshot(str(folder / f"live_{method}.png"), flash=False)[..., :3].astype(int)
    coloured = np.mean(np.ptp(picture, axis=-1) > 40)
    assert coloured > 0.05, f"{method}: {coloured:.3f} of the picture has colours"
    strokes.undo()
    viewer.layers.remove(following)
strokes.paint((10, 30, 30), 3)
strokes.undo()

segmented = run("lobule.segment", image=scan, strokes=strokes)
corrected = run("lobule.segment", image=scan, strokes=strokes, correct=segmented)
pieces = run("lobule.components", layer=scan, above=900, largest=3)
assert sorted(np.unique(pieces.data)) == [0, 1, 2, 3]
parts = run("lobule.supervoxels", image=scan, size=15)
cells = run("lobule.cells", image=scan, size=20)

read = [viewer.open(str(folder / name), plugin="lobule")[0] for name in ("scan.nii.gz", "truth.seg.nrrd")]
drawn = viewer.open(str(folder / "strokes.nii"), plugin="lobule")[0]
turned = run("lobule.growcut", image=read[0], seeds=drawn)
assert np.allclose(turned.affine.affine_matrix, read[0].affine.affine_matrix)
print(json.dumps({
    "kinds": [type(layer).__name__ for layer in read],
    "corner": read[0].data_to_world((0, 0, 0)),
    "end": read[0].data_to_world([n - 1 for n in read[0].data.shape]),
    "names": list(read[1].features["name"]),
    "colour": [float(part) for part in read[1].get_color(2)],
    "columns": {layer.name: list(layer.features) for layer in (grown, pieces, parts, cells)},
}))  # fmt: skip
