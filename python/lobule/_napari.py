"""The plugin for napari (napari.yaml): each function here is a widget, made from its type hints.

A widget computes in a thread of its own, so the viewer goes on. Layers keep their scale and place;
lengths are in the units of the layer. A second run from the same layer replaces what the first made,
so strokes are drawn, looked at, and corrected by more strokes.

Nothing here imports napari before a widget is used: layers are what has `data` and `data_to_world`.
Type hints are not put off to strings, as elsewhere: magicgui could not look up Device.
"""

import functools
import inspect
import re
from collections.abc import Callable
from ctypes import byref, string_at
from typing import TYPE_CHECKING, Any, Literal, Optional

import numpy as np

from ._errors import InputError
from ._grow import Method, Rule
from ._grow import components as number_components
from ._grow import growcut as grow_seeds
from ._grow import supervoxels as cut_supervoxels
from ._grower import Grower
from ._library import library
from ._measure import phantom, stats
from ._cells import cells as find_cells
from ._program import read as read_file
from ._segment import segment as segment_strokes
from ._segmenter import Segmenter
from ._volumes import affine_of

if TYPE_CHECKING:
    import napari

Made = "napari.qt.threading.FunctionWorker[napari.types.LayerDataTuple]"
Device = Literal["auto", "cpu", "cuda"]


def widget(compute: Callable[..., Any]) -> Callable[..., Any]:
    """The function in a thread of napari's, which tells of its errors and shows that it is at work."""

    @functools.wraps(compute)
    def start(*words: Any, **named: Any) -> Any:
        from napari.qt.threading import create_worker
        from qtpy.QtCore import QTimer

        shown = {"desc": f"lobule {compute.__name__}", "total": 0}
        worker = create_worker(compute, *words, _start_thread=False, _progress=shown, **named)
        QTimer.singleShot(0, worker.start)  # when napari waits for its result, and not before
        return worker

    about = inspect.signature(compute).replace(return_annotation=Made)
    start.__signature__ = about  # type: ignore[attr-defined]
    start.__annotations__ = {**compute.__annotations__, "return": Made}
    return start


# ---- layers ----


def _millimetres(layer: Any) -> float:
    """How many mm a unit of the layer's world is; 1 where it has no unit of length."""
    try:
        return float((1 * layer.units[-1]).to("mm").magnitude)
    except Exception:  # noqa: BLE001  a pixel, no units, or no package that knows units
        return 1.0


class Seen:
    """What a layer says: its voxels, how large they are, and what a result on its grid has to keep."""

    def __init__(self, layer: Any):
        if layer is None:
            raise InputError("choose a layer")
        self.layer = layer
        self.report: dict[str, Any] = {}
        data = layer.data[0] if getattr(layer, "multiscale", False) else layer.data
        self.voxels = np.asarray(data)
        self.channels = bool(getattr(layer, "rgb", False))
        ndim = self.voxels.ndim - self.channels
        corner = np.asarray(layer.data_to_world(np.zeros(ndim)))
        ends = [np.asarray(layer.data_to_world(step)) - corner for step in np.eye(ndim)]
        self.millimetres = _millimetres(layer)
        self.spacing = [float(np.linalg.norm(end)) * self.millimetres for end in ends]

    @property
    def options(self) -> dict[str, Any]:
        return {"spacing": self.spacing, **({"channel_axis": -1} if self.channels else {})}

    def place(self) -> dict[str, Any]:
        """The layer's transforms and units, for a layer on the same grid."""
        names = ("scale", "translate", "rotate", "shear", "affine", "units")
        return {name: getattr(self.layer, name) for name in names if hasattr(self.layer, name)}

    def length(self, length: float) -> Optional[str]:
        """A length in the layer's units as the library takes it; 0 is none."""
        return f"{length * self.millimetres:.9g}mm" if length > 0 else None

    def labelled(self, labels: np.ndarray, what: str, like: Any = None) -> tuple[Any, ...]:
        """A layer of labels. `like`, another one, lends its colours and names."""
        about = {"name": f"{self.layer.name} {what}", "metadata": {"lobule": self.report}, **self.place()}
        about["features"] = self.features(labels, like)
        if hasattr(like, "colormap"):
            about["colormap"] = like.colormap
        return labels, about, "labels"

    def features(self, labels: np.ndarray, like: Any) -> dict[str, Any]:
        """What napari shows of the label under the mouse: its size, its mean value, its name."""
        gray = None if self.channels else self.voxels
        table = stats(gray, labels, spacing=self.spacing)
        unit = self.millimetres**labels.ndim if labels.ndim == 3 else 1.0
        found: dict[str, Any] = {"index": table["label"], "voxels": table["voxels"]}
        if labels.ndim == 3:
            found["volume"] = table["volume_mm3"] / unit
        if gray is not None:
            found["mean"] = table["mean"]
        known = getattr(like, "features", None)
        if known is not None and {"index", "name"} <= set(known):
            names = dict(zip(known["index"], known["name"]))
            found["name"] = [names.get(label, "") for label in table["label"]]
        return found

    def pictured(self, voxels: np.ndarray, what: str) -> tuple[Any, ...]:
        return voxels, {"name": f"{self.layer.name} {what}", "visible": False, **self.place()}, "image"


# ---- widgets ----


def _voxels(layer: Any) -> Optional[np.ndarray]:
    return None if layer is None else Seen(layer).voxels


def _given(**named: Any) -> dict[str, Any]:
    """What was given: a widget has 0 or nothing where the library has its own default."""
    return {name: value for name, value in named.items() if isinstance(value, np.ndarray) or value}


@widget
def segment(
    image: "napari.layers.Image",
    strokes: "napari.layers.Labels",
    background: int = 0,
    correct: Optional["napari.layers.Labels"] = None,
    uncertain: bool = False,
    suggest: int = 0,
    device: Device = "auto",
) -> Any:
    """Clean masks from brush strokes: lines on a few slices, a label for each structure and one more
    for what is around them.

    Args:
        image: The scan.
        strokes: Strokes on its grid, of 2 labels or more.
        background: The label that stands for all else; 0: found from the strokes.
        correct: An earlier result: only what is near to strokes that say otherwise is changed.
        uncertain: Also show where another label could have grown almost as cheaply.
        suggest: Name so many slices on which another stroke would help most, in the layer's metadata.
        device: Where to compute.
    """
    seen = Seen(image)
    given = _given(background=background, suggest=suggest, previous=_voxels(correct))
    found: Any = segment_strokes(
        seen.voxels, Seen(strokes).voxels, full=uncertain, report=seen.report, device=device, **given, **seen.options
    )
    labels = found.labels if uncertain else found
    layers = [seen.labelled(labels, "segmented", strokes)]
    return [*layers, seen.pictured(found.uncertain, "uncertain")] if uncertain else layers


@widget
def growcut(
    image: "napari.layers.Image",
    seeds: "napari.layers.Labels",
    rule: Rule = "strength",
    penalty: float = 0.0,
    farthest: float = 0.0,
    mask: Optional["napari.layers.Labels"] = None,
    strength: bool = False,
    device: Device = "auto",
) -> Any:
    """Grow labelled seeds over an image until every voxel has the label of its nearest seed.

    Args:
        image: The image.
        seeds: Seeds on its grid.
        rule: What a path costs; flood is the watershed from the seeds.
        penalty: Image units that a unit of length costs, with rules distance, value and square.
        farthest: Voxels farther than this from every seed stay 0; 0: no limit.
        mask: Where it is 0 nothing grows.
        strength: Also show the strength with which each voxel was taken.
        device: Where to compute.
    """
    seen = Seen(image)
    given = _given(
        penalty=penalty / seen.millimetres, max_mm=farthest * seen.millimetres, mask=_voxels(mask), full=strength
    )
    found = grow_seeds(
        seen.voxels, Seen(seeds).voxels, rule=rule, report=seen.report, device=device, **given, **seen.options
    )
    labels = found.labels if strength else found
    layers = [seen.labelled(labels, "grown", seeds)]
    return [*layers, seen.pictured(found.strength, "strength")] if strength else layers


# ---- labels that follow the brush ----


def soon(call: Callable[[], None]) -> None:
    """Call when what napari is doing is done."""
    from qtpy.QtCore import QTimer

    QTimer.singleShot(30, call)


class Grown:
    """What grows at once from what is painted: a Grower's labels."""

    def __init__(self, seen: Seen, largest: int, rule: Any, device: str):
        self.grower = Grower(seen.voxels, largest, rule=rule, device=device, **seen.options)
        self.strokes, self.close = self.grower.seeds, self.grower.close

    def tell(self, painted: np.ndarray) -> None:
        self.strokes[:] = painted

    def latest(self) -> tuple[Any, bool]:
        """Labels, and are they the last?"""
        return self.grower.grow() if self.strokes.any() else np.zeros_like(self.strokes), True


class Segmented:
    """What a thread segments from what is painted: a Segmenter's previews and final labels."""

    def __init__(self, seen: Seen, largest: int, device: str):
        self.segmenter = Segmenter(seen.voxels, largest, device=device, **seen.options)
        self.strokes, self.close = self.segmenter.strokes, self.segmenter.close

    def tell(self, painted: np.ndarray) -> None:
        self.segmenter.draw(slice(None), painted)

    def latest(self) -> tuple[Any, bool]:
        final = self.segmenter.wait(0)
        return self.segmenter.latest()[0], final


class Follower:
    """A layer of what comes of another layer's labels, kept up with them as they are painted."""

    def __init__(self, viewer: Any, image: Any, seeds: Any, method: str, rule: Any, device: str):
        self.viewer, self.seeds, self.seen = viewer, seeds, Seen(image)
        self.largest = 255 if np.max(seeds.data) <= 255 else 32767
        self.made: Any = (
            Segmented(self.seen, self.largest, device)
            if method == "segment"
            else Grown(self.seen, self.largest, rule, device)
        )
        shape, wanted = np.shape(seeds.data), self.made.strokes.shape
        if shape != wanted:
            self.made.close()
            raise InputError(f"{seeds.name}: its shape is {shape} and that of {self.seen.layer.name} {wanted}")
        self.shown: Any = None
        self.waiting = self.looking = False
        colours = {"colormap": seeds.colormap} if hasattr(seeds, "colormap") else {}
        about = {"name": f"{self.seen.layer.name} live", "opacity": 0.4, **colours, **self.seen.place()}
        # slots do not keep what they belong to: the layer does
        self.layer = viewer.add_labels(np.zeros_like(self.made.strokes), metadata={"lobule": self}, **about)
        viewer.layers.selection.active = seeds
        # painting, erasing and filling tell of themselves before they are done; undoing only of being drawn again
        self.sources: Any = (seeds.events.paint, seeds.events.set_data)
        for source in self.sources:
            source.connect(self.notice)
        self.follow()

    def notice(self, _event: Any = None) -> None:
        if not self.waiting:
            self.waiting = True
            soon(self.follow)

    def follow(self) -> None:
        """Tell what is painted now, if it is something else."""
        self.waiting = False
        if self.layer not in self.viewer.layers:
            self.stop()
            return
        painted = np.asarray(self.seeds.data)
        if np.max(painted) > self.largest:
            self.viewer.status = f"lobule: labels are 0..{self.largest} here; start anew for larger ones"
        elif not np.array_equal(painted, self.made.strokes):
            self.made.tell(painted)
            if not self.looking:
                self.look()

    def look(self) -> None:
        """Show what has come, until it is the last answer to these strokes."""
        self.looking = False
        if self.layer not in self.viewer.layers:
            self.stop()
            return
        try:
            labels, final = self.made.latest()
        except InputError as problem:  # strokes of one label, for one
            labels, final = np.zeros_like(self.made.strokes), True
            self.viewer.status = f"lobule: {problem}"
        if labels is not None and (final or labels is not self.shown):
            self.shown = labels
            self.layer.data[...] = labels
            self.layer.refresh()
        if not final:
            self.looking = True
            soon(self.look)

    def stop(self) -> None:
        for source in self.sources:
            source.disconnect(self.notice)
        self.sources = ()
        self.made.close()


def live(
    viewer: "napari.viewer.Viewer",
    image: "napari.layers.Image",
    seeds: "napari.layers.Labels",
    method: Literal["segment", "growcut"] = "segment",
    rule: Literal["strength", "distance"] = "strength",
    device: Device = "auto",
) -> None:
    """Masks that follow the brush, in a layer of their own, until that layer is removed.

    Args:
        image: The image.
        seeds: Labels on its grid, to be painted, erased and undone.
        method: segment makes clean masks: after each stroke a preview, then the masks of *Segment from
            strokes*. growcut only grows.
        rule: What a path costs, of method growcut.
        device: Where to compute.
    """
    Follower(viewer, image, seeds, method, rule, device)


@widget
def cells(image: "napari.layers.Image", size: float = 0.0, walls: bool = False, device: Device = "auto") -> Any:
    """A label for every cell or nucleus, without seeds.

    Args:
        image: The image.
        size: Diameter of a usual cell; 0: estimated.
        walls: Cells are dark between bright walls, as membranes are stained.
        device: Where to compute.
    """
    seen = Seen(image)
    given = _given(size=seen.length(size), walls=walls)
    found, table = find_cells(seen.voxels, table=True, report=seen.report, device=device, **given, **seen.options)
    labels, about, kind = seen.labelled(found, "cells")
    lengths = {name[:-3]: table[name] / seen.millimetres for name in table if name.endswith("diameter_mm")}
    about["features"].update(lengths, **{name: table[name] for name in ("elongation", "sphericity") if name in table})
    return [(labels, about, kind)]


@widget
def supervoxels(
    image: "napari.layers.Image",
    size: float = 0.0,
    pieces: int = 1000,
    method: Method = "slic",
    compactness: float = 0.0,
    mask: Optional["napari.layers.Labels"] = None,
    device: Device = "auto",
) -> Any:
    """Cut an image into small connected pieces of like intensity and size.

    Args:
        image: The image.
        size: Side of a piece; 0: pieces decides.
        pieces: How many pieces there shall be, where no size is given.
        method: slico adapts its compactness.
        compactness: Method slic: position against intensity; 0: the usual.
        mask: Where it is 0 no piece is.
        device: Where to compute.
    """
    seen = Seen(image)
    length = seen.length(size)
    given = _given(size=length, count=0 if length else pieces, compactness=compactness, mask=_voxels(mask))
    found = cut_supervoxels(seen.voxels, method=method, report=seen.report, device=device, **given, **seen.options)
    return [seen.labelled(found, "supervoxels")]


@widget
def components(
    layer: "napari.layers.Layer",
    above: float = 0.0,
    smallest: int = 0,
    largest: int = 0,
    fill_holes: bool = False,
    device: Device = "auto",
) -> Any:
    """Number the connected pieces of an image, or of each label, the largest first.

    Args:
        layer: An image, or labels.
        above: Of an image: what is above this value is foreground.
        smallest: Smaller pieces are taken out, in voxels.
        largest: Keep so many, the largest; 0: all.
        fill_holes: Give holes inside a piece to it.
        device: Where to compute.
    """
    seen = Seen(layer)
    foreground = {"equal": True} if type(layer).__name__ == "Labels" else {"above": above}
    found = number_components(
        seen.voxels, order="size", min_size=smallest, largest=largest, fill_holes=fill_holes, report=seen.report,
        device=device, **foreground, **seen.options,
    )  # fmt: skip
    return [seen.labelled(found, "components")]


# ---- files, and something to try ----

LABEL_FILE = re.compile(r"(^|[^a-z])(d?seg|labels?|mask|seeds|strokes|truth)([^a-z]|$)", re.I)


def reader(path: Any) -> Optional[Callable[[Any], list[tuple[Any, ...]]]]:
    """napari's question who reads a file: one volume at a time is read here."""
    return _layers_of if isinstance(path, str) else None


def _layers_of(path: str) -> list[tuple[Any, ...]]:
    """A file as layers: voxels in world coordinates (mm, RAS+, axes z, y, x), labels with their names
    and colours."""
    voxels, found = read_file(path)
    try:
        about = _where(found.geometry)
        names = [found.names.rows[i] for i in range(found.names.count)]
        known = {row.label: (string_at(row.name).decode(), row.colour) for row in names}
        if (found.slope, found.inter) != (1.0, 0.0):
            voxels = voxels * found.slope + found.inter
    finally:
        library.lob_volume_free(byref(found))
    stem = re.split(r"[\\/]", path)[-1]
    about["name"] = re.sub(r"(\.seg)?\.\w+(\.gz)?$", "", stem)
    if voxels.dtype.kind == "f" or voxels.ndim == 4 or not (known or LABEL_FILE.search(stem)):
        return [(voxels, {**about, **({"channel_axis": 0} if voxels.ndim == 4 else {})}, "image")]
    if known:
        about["features"] = {"index": list(known), "name": [name for name, _ in known.values()]}
        about["colormap"] = {0: (0, 0, 0, 0), None: (1, 1, 1, 1)}
        about["colormap"].update({n: _rgba(colour) for n, (_, colour) in known.items()})
    return [(voxels, about, "labels")]


def _rgba(colour: Any) -> tuple[float, ...]:
    return tuple(getattr(colour, part) / 255 for part in ("red", "green", "blue", "alpha"))


def _where(geometry: Any) -> dict[str, Any]:
    """The grid's spacing as a scale and the rest as an affine, in napari's order of axes."""
    affine, spacing = affine_of(geometry), np.array(geometry.spacing_mm)
    affine[:3, :3] /= spacing
    turned = np.eye(4)
    turned[:3, :3], turned[:3, 3] = affine[2::-1, 2::-1], affine[2::-1, 3]
    return {"scale": spacing[::-1].copy(), "affine": turned, "units": ("mm",) * 3}


def abdomen() -> list[tuple[Any, ...]]:
    """A small abdomen with strokes, to try the widgets on."""
    spacing = (5.0, 3.0, 3.0)
    image, _, strokes = phantom("abdomen", shape=(48, 100, 120), spacing=spacing, strokes=True)
    scale = {"scale": spacing, "units": ("mm",) * 3}
    return [(image, {"name": "abdomen", **scale}, "image"), (strokes, {"name": "strokes", **scale}, "labels")]
