"""Labels: chains of steps, distances, tables of regions and contacts, agreement."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref, pointer
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, overload

import numpy as np

from . import _abi
from ._asked import choice, put, sized, slice_axis, spacing_of, voxels_of
from ._errors import InputError
from ._grow import Neighbours, begin, neighbours_of
from ._library import Call, check, free, library
from ._public import CommandOptions, Options, Size, Slices, chained, public, steps_of
from ._volumes import DTYPES, TYPES, Labels, Source, address, companion, rows, taken, volume

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Unpack

    from ._public import Array, Table

T = TypeVar("T")

# ---- steps ----

Labelled = Union[int, Sequence[int]]


class LabelSteps(Options, total=False):
    keep: Labelled
    drop: Labelled
    map: Mapping[int, int]
    merge: Mapping[tuple[int, ...], int] | Mapping[int, int]
    largest: int
    min_size: Size
    fill_holes: Literal[True]
    erode: Size
    dilate: Size
    expand: Size
    open: Size
    close: Size
    smooth: Size
    median: Size
    boundary: Literal[True]
    slips: Literal[True]
    sequential: Literal[True]
    split: Literal[True]


STEPS = steps_of(LabelSteps)
SWITCHES = ("fill_holes", "boundary", "slips", "sequential", "split")  # steps that take nothing
KINDS = {"expand": "dilate", **dict.fromkeys(("keep", "drop", "map", "merge"), "recode")}  # in the library's words


def _pairs(name: str, value: Any) -> dict[int, int]:
    """What each label becomes; LOB_LABELS_SAME: it stays."""
    if name in ("keep", "drop"):
        given = value if np.iterable(value) else [value]
        return {int(label): _abi.LOB_LABELS_SAME if name == "keep" else 0 for label in given}
    if name == "map":
        return {int(a): int(b) for a, b in value.items()}
    return {int(a): int(to) for group, to in value.items() for a in np.atleast_1d(group)}


def _recode(step: _abi.lob_labels_step, name: str, value: Any) -> Any:
    rules = [_abi.lob_labels_rule(a, a, b) for a, b in sorted(_pairs(name, value).items())]
    row = (_abi.lob_labels_rule * len(rules))(*rules)
    step.rules, step.rule_count = row, len(rules)
    step.rest = 0 if name == "keep" else _abi.LOB_LABELS_SAME
    return row


def _step(name: str, value: Any, of: Any, kept: list[Any]) -> _abi.lob_labels_step:
    step = _abi.lob_labels_step(choice("step", KINDS.get(name, name), _abi.lob_labels_kind_word))
    if step.kind == _abi.LOB_LABELS_RECODE:
        kept.append(_recode(step, name, value))
    elif name == "largest":
        step.count = value
    elif name == "min_size":
        step.count = max(1, math.ceil(voxels_of(value, of) * (1 - 1e-6)))
    elif name not in SWITCHES:
        step.length, unit = sized(value, "vox" if name == "median" else "mm")
        step.voxels = unit == "vox"
    return step


@public
def labels(
    volume: T,
    steps: Iterable[tuple[str, Any]] = (),
    *,
    neighbours: Neighbours | None = None,
    slices: Slices | None = None,
    mask: Any = None,
    **named: Unpack[LabelSteps],
) -> T:
    """Run a chain of steps on a label volume, in the order in which they are named.

    volume    (z, y, x) or (y, x), any kind: whole numbers, 0 is no label
    steps     (name, value) pairs, which go before named ones: for a step that comes twice
    keep, drop
              a label or several: keep only these; let these become 0
    map       {from: to}; merge: {(2, 4): 9}
    largest   keep so many pieces of each label, the largest
    min_size  voxels, or as "50mm3": smaller pieces become 0
    fill_holes, boundary, slips, sequential, split
              True: give holes to what surrounds them; keep voxels that touch another label; give slips
              of the pen to their surroundings; number labels 1, 2, ...; number their pieces
    erode, dilate (expand), open, close
              radius of a ball: mm, or as "2vox"
    smooth    sigma: mm, or as "2vox"; labels keep their borders together
    median    radius: voxels, or as "2mm"
    neighbours, slices
              of pieces, as for components
    mask      the volume's shape; where it is 0 voxels keep the label they came with

    Returns labels of the same kind.
    """
    call, of = begin(volume, {name: value for name, value in named.items() if name not in STEPS}, gpu=True)
    chain = chained(steps, named, LabelSteps, "step of labels", "largest=1 or smooth=1")
    kept: list[Any] = []  # what the steps point to
    row = (_abi.lob_labels_step * len(chain))(*(_step(name, value, of, kept) for name, value in chain))
    came = of.labels(of, "labels")
    covered = of.mask(mask)
    across = slice_axis(slices, of)
    chosen = _abi.lob_labels_options(neighbours_of(neighbours, across), across)
    seen, count, values = came.numbers
    given = _abi.lob_labels_input(
        seen.data, seen.type, count, values, seen.dims, (ctypes.c_double * 3)(*spacing_of(of)), covered.address, row,
        len(row), of.place,
    )  # fmt: skip
    out = _abi.lob_labels_output()
    call.run(call.functions.labels, byref(out), byref(given), byref(chosen))
    call.report["labels"] = out.count
    found = of.take(out.labels, out.device, DTYPES[out.type])
    out.labels = None
    library.lob_labels_output_free(byref(out))
    return of.give(found, True)


# ---- distances ----


# The library's to_set and to_other: of sets and others, as the command has them.
DistanceKind = Literal["set", "signed", "other"]


def _distances(labels: Any, kind: DistanceKind, label: int | None, max: Any, squared: bool, slices: Any, feature: bool,
               options: Any) -> Any:  # fmt: skip
    chosen: _abi.lob_distance_options = library.lob_distance_defaults()
    chosen.kind = choice("kind", kind, DistanceKind)
    chosen.squared = squared
    if max is not None:
        chosen.max, unit = sized(max, "mm")
        if unit == "vox":
            raise InputError("max is a distance in the unit of spacing, without a unit or in mm")
    call, of = begin(labels, options, gpu=True)
    came = of.labels(of, "labels") if feature else of.any_labels("labels")
    spacing = spacing_of(of)
    across = slice_axis(slices, of)
    if across >= 0:
        spacing[across] = math.inf
    only = came.number(label) if label is not None else 0
    seen = came.volume
    given = _abi.lob_distance_input(
        seen.data, seen.type, seen.dims, (ctypes.c_double * 3)(*spacing), only, of.place
    )
    found = of.room(DTYPES[seen.type] if feature else np.float32)
    out = _abi.lob_distance_output(*((None, found.address) if feature else (found.address, None)))
    call.run(call.functions.distance, byref(out), byref(given), byref(chosen))
    if feature:
        return of.give(came.restore(found.array), True)
    if max is not None:  # what lies farther has this distance
        of.limit(found.array, float(np.float32(chosen.max**2 if squared else chosen.max)))
    return of.give(found.array, False)


@public
def distance(
    labels: T,
    *,
    kind: DistanceKind = "set",
    label: int | None = None,
    max: Size | None = None,
    squared: bool = False,
    slices: Slices | None = None,
    **options: Unpack[Options],
) -> T:
    """The exact Euclidean distance of every voxel to labelled ones, in mm (the unit of spacing).

    labels   (z, y, x) or (y, x), any kind: what is not 0 is labelled
    kind     "set": to the nearest labelled voxel; "signed": inside negative, to the nearest
             voxel without a label; "other": to the nearest voxel of another label or 0
    label    this one alone counts
    max      do not look farther; voxels beyond have this distance
    squared  give squares
    slices   inside each slice alone: an axis of the array, or "axial", ..., "z"

    Returns float32 of the same kind; infinite where nothing is to be measured to.
    """
    return _distances(labels, kind, label, max, squared, slices, False, options)


@public
def nearest(labels: T, *, max: Size | None = None, slices: Slices | None = None, **options: Unpack[Options]) -> T:
    """The label of the nearest labelled voxel, of equally near ones the smallest.

    labels   (z, y, x) or (y, x), any kind: what is not 0 is labelled
    max      do not look farther, mm; voxels beyond have label 0
    slices   inside each slice alone: an axis of the array, or "axial", ..., "z"

    Returns labels of the same kind.
    """
    return _distances(labels, "set", None, max, False, slices, True, options)


# ---- tables ----


def _image_and_labels(image: Any, labels: Any) -> tuple[Any, Any]:
    """Of one argument that is left out it is the image: f(labels) and f(image, labels)."""
    if labels is None:
        image, labels = None, image
    if labels is None:
        raise TypeError("labels are missing: give (labels), or (image, labels)")
    return image, labels


def _regions_of(of: Any, seen: Source | None) -> Labels:
    """The labels, unless they are what the command refuses: the image in their place."""
    error = _abi.lob_error()
    try:
        came = Labels(of, "labels")
    except InputError as problem:
        if seen is None:
            raise
        raise InputError(f"{problem}; the image comes first, then the labels") from None
    if seen is not None:
        scan = volume(seen)
        check(library.lob_labels_check(byref(came.volume), byref(came.set), byref(scan), byref(error)), error, "labels")
    return came


@overload
def stats(labels: Any, /, **options: Unpack[Options]) -> Table: ...
@overload
def stats(image: Any, labels: Any, **options: Unpack[Options]) -> Table: ...
@overload
def stats(*, labels: Any, **options: Unpack[Options]) -> Table: ...
@public
def stats(image: Any = None, labels: Any = None, **options: Unpack[Options]) -> Table:
    """Measure the regions of labels, with the values of an image: stats(labels), stats(image, labels).

    image   the labels' shape, one channel; may be left out
    labels  (z, y, x) or (y, x), any kind: whole numbers, 0 left out

    Returns a table, a dict of arrays with one entry for each label (pandas.DataFrame takes it):
    label, name where the image of labels has names, as a NIfTI of TotalSegmentator's, voxels,
    volume_mm3, volume_ml, bbox_x_min to bbox_z_max (voxels, both ends inside), centroid_x, _y, _z
    (voxels), centroid_x_mm, ... (world, RAS+); with an image min, mean, max, sd.
    x is the array's last axis, with axes="xyz" its first.
    """
    image, labels = _image_and_labels(image, labels)
    call, of = begin(labels, options)
    seen = companion(image, of, "image") if image is not None else None
    return _named(measured(call, _regions_of(of, seen), of, seen)[0], of)


def _named(table: Table, *labelled: Source) -> Table:
    """With a column of names behind the labels, the first volume's before the second's."""
    names: dict[int, str] = {}
    for source in reversed(labelled):
        names.update(source.names())
    if not names:
        return table
    column = np.array([names.get(int(label), "") for label in table["label"]], str)
    return {"label": table["label"], "name": column, **table}


def measured(call: Call, came: Labels, of: Source, seen: Source | None) -> tuple[Table, Any]:
    """The table of stats, and the regions that it was made of."""
    count = came.set.count
    scan = volume(seen) if seen is not None else None
    regions, values = (_abi.lob_region * count)(), (_abi.lob_region_values * count)()
    fine = _abi.lob_fine_levels(True, 0, 0.0, 1.0)
    given = _abi.lob_regions_input(came.volume.data, came.volume.type, count, came.volume.dims)
    if scan is not None:
        given.image = pointer(scan)
    if count:
        call.run(call.functions.regions, regions, values if scan else None, byref(fine), byref(given))
    measures = (_abi.lob_region_measures * count)()
    library.lob_region_measure_all(
        measures, regions, values if scan else None, count, byref(of.geometry), byref(fine),
        seen.slope if seen else 1.0, seen.inter if seen else 0.0,
    )  # fmt: skip
    table = _region_table(
        came.values, rows(ctypes.addressof(regions), _abi.lob_region, count),
        rows(ctypes.addressof(measures), _abi.lob_region_measures, count), scan is not None,
    )  # fmt: skip
    return table, regions


def _region_table(values: Array, region: Array, measure: Array, image: bool) -> Table:
    table = {
        "label": values,
        "voxels": region["voxels"].copy(),
        "volume_mm3": measure["mm3"].copy(),
        "volume_ml": measure["mm3"] / 1000,
    }
    for end, field in (("min", "low"), ("max", "high")):
        table.update({f"bbox_{name}_{end}": region[field][:, a].copy() for a, name in enumerate("xyz")})
    table.update({f"centroid_{name}": measure["centroid"][:, a].copy() for a, name in enumerate("xyz")})
    table.update({f"centroid_{name}_mm": measure["centroid_mm"][:, a].copy() for a, name in enumerate("xyz")})
    if image:
        names = (("min", "lowest"), ("mean", "mean"), ("max", "highest"), ("sd", "deviation"))
        table.update({name: measure[field].copy() for name, field in names})
    return table


def _made_rows(call: Call, function: Any, row: Any, count: Any, *arguments: Any) -> Any:
    """What a function makes: its first two arguments give back the rows and their number."""
    found = ctypes.c_void_p()
    call.run(function, ctypes.cast(byref(found), function.argtypes[0]), byref(count), *arguments)
    made = rows(found.value, row, count.value)
    free(found)
    return made


def _grid(came: Labels) -> _abi.lob_label_grid:
    return _abi.lob_label_grid(came.volume.data, came.volume.type, came.set.count, came.volume.dims)


def _means(call: Call, came: Labels, of: Source, image: Any) -> Array:
    seen = companion(image, of, "image")
    scan = volume(seen)
    means = np.empty((came.set.count, scan.channels))
    grid = _grid(came)
    call.run(library.lob_label_means, means.ctypes.data, byref(grid), byref(scan))
    return means


@public
def means(image: Any, labels: Any, **options: Unpack[Options]) -> NDArray[np.float64]:
    """The mean value of each label.

    image   the labels' shape; with channel_axis of an image of nibabel's or SimpleITK's, several channels
    labels  (z, y, x) or (y, x), any kind: whole numbers, 0 left out

    Returns (labels, channels), image units, in the order of the labels.
    """
    call, of = begin(labels, options)
    return _means(call, _regions_of(of, companion(image, of, "image")), of, image)


@overload
def contacts(labels: Any, /, *, slices: Slices | None = None, **options: Unpack[Options]) -> Table: ...
@overload
def contacts(image: Any, labels: Any, *, slices: Slices | None = None, **options: Unpack[Options]) -> Table: ...
@overload
def contacts(*, labels: Any, slices: Slices | None = None, **options: Unpack[Options]) -> Table: ...
@public
def contacts(
    image: Any = None, labels: Any = None, *, slices: Slices | None = None, **options: Unpack[Options]
) -> Table:
    """Which labels share voxel faces, the region adjacency graph: contacts(labels), contacts(image, labels).

    image   the labels' shape: gives the difference of the means; may be left out
    labels  (z, y, x) or (y, x), any kind: whole numbers, 0 left out
    slices  leave out faces across this axis

    Returns a table: a, b (labels, a < b), faces, mm2, and with an image difference (of the labels'
    means, image units).
    """
    image, labels = _image_and_labels(image, labels)
    call, of = begin(labels, options)
    came = _regions_of(of, companion(image, of, "image") if image is not None else None)
    mean = _means(call, came, of, image) if image is not None else None
    grid, channels = _grid(came), mean.shape[1] if mean is not None else 0
    row = _made_rows(
        call, library.lob_contacts, _abi.lob_contact, ctypes.c_int64(), byref(grid), byref(of.geometry), address(mean),
        channels, slice_axis(slices, of),
    )  # fmt: skip
    table = {
        "a": came.values[row["a"] - 1], "b": came.values[row["b"] - 1],
        "faces": row["faces"].sum(axis=1), "mm2": row["mm2"].copy(),
    }  # fmt: skip
    return {**table, "difference": row["difference"].copy()} if mean is not None else table


# ---- agreement ----


@public
def compare(a: Any, b: Any, *, surfaces: bool = True, **options: Unpack[Options]) -> Table:
    """How far two label volumes agree, label by label.

    a, b      one shape, (z, y, x) or (y, x), any kind: whole numbers
    surfaces  also hd95_mm and mean_surface_mm, which take most of the time

    Returns a table: label, name where a or b has names, voxels_a, voxels_b, common, dice, jaccard,
    hd95_mm, mean_surface_mm, volume_a_mm3, volume_b_mm3. report gets "equal".
    """
    call, of = begin(a, options)
    other = companion(b, of, "b")
    first, second, equal = volume(of), volume(other), ctypes.c_int()
    row = _made_rows(
        call, library.lob_compare_labels, _abi.lob_overlap, ctypes.c_int32(), byref(equal), byref(first), b"a",
        byref(second), b"b", int(surfaces),
    )  # fmt: skip
    call.report["equal"] = bool(equal.value)
    return _named({name: row[name].copy() for name in row.dtype.fields or ()}, of, other)


@public
def compare_supervoxels(
    labels: Any,
    truth: Any,
    image: Any = None,
    *,
    tolerance: Size = "1vox",
    slices: Slices | None = None,
    **options: Unpack[Options],
) -> dict[str, float]:
    """How well small regions agree with a true segmentation.

    labels, truth  one shape, any kind
    image          the same shape, for explained_variation
    slices         boundaries inside each slice alone: an axis of the array, or "axial", ..., "z"
    tolerance      of boundary recall: mm, or as "1vox"

    Returns voxels, supervoxels, regions, boundary_recall, under_segmentation,
    under_segmentation_np, achievable_accuracy, explained_variation, compactness, contour_density.
    """
    call, of = begin(labels, options)
    ours, true = Labels(of, "labels"), Labels(companion(truth, of, "truth"), "truth")
    given = _abi.lob_partition_input(
        pointer(ours.volume), ours.set.count, pointer(true.volume), true.set.count
    )
    if image is not None:
        seen = companion(image, of, "image")
        given.image = pointer(volume(seen))
    length, unit = sized(tolerance, "mm")
    chosen = _abi.lob_partition_options(length, unit == "vox", slice_axis(slices, of))
    out = _abi.lob_partition()
    call.run(library.lob_partition_measure, byref(out), byref(given), byref(chosen))
    return {field[0]: getattr(out, field[0]) for field in out._fields_}


Phantom = _abi.lob_phantom_kind_word


@public
def phantom(
    kind: Phantom = "abdomen",
    shape: tuple[int, int, int] | None = None,
    *,
    spacing: Any = None,
    noise: float | None = None,
    cells: int | None = None,
    random_seed: int | None = None,
    strokes: bool = False,
    dtype: DTypeLike | None = None,
    **options: Unpack[CommandOptions],
) -> tuple[Array, Array, Array]:
    """A synthetic scan: (image, truth, seeds), arrays (z, y, x).

    kind         "abdomen" (MRI-like; labels 1 to 8) or "cells" (1 is background)
    shape        (z, y, x) voxels
    spacing      their sizes in mm, in that order
    noise        standard deviation in percent of the image's range
    cells        how many
    random_seed  another noise and other cells
    strokes      seeds of an abdomen are strokes as a person draws them on a few slices, else rows
    dtype        uint8, int16 or uint16
    """
    call = Call(**options)
    made: _abi.lob_phantom_options = library.lob_phantom_defaults(choice("kind", kind, Phantom))
    if shape is not None:
        made.dims = _abi.lob_dims(*[*shape][::-1])
    if spacing is not None:
        made.spacing_mm[:] = np.broadcast_to(np.asarray(spacing, float), 3)[::-1].tolist()
    put(made, noise=noise, cells=cells, random_seed=random_seed, drawn=strokes)
    if dtype is not None:
        made.type = TYPES.get(np.dtype(dtype), -1)
    volumes = [_abi.lob_volume(), _abi.lob_volume(), _abi.lob_volume()]
    call.run(library.lob_phantom, *map(byref, volumes), byref(made))
    image, truth, seeds = map(taken, volumes)
    for emptied in volumes:
        library.lob_volume_free(byref(emptied))
    return image, truth, seeds


__all__ = ["compare", "compare_supervoxels", "contacts", "distance", "labels", "means", "nearest", "phantom", "stats"]
