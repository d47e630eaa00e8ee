"""Cutting images into regions: GrowCut, connected components, supervoxels."""

from __future__ import annotations

import math
from ctypes import byref, c_double, pointer
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, overload

import numpy as np

from . import _abi, _device
from ._asked import choice, put, sized, slice_axis, spacing_of, voxels_of
from ._errors import InputError
from ._library import Call, check, library
from ._public import Options, Range, Size, Slices, public, with_fixed
from ._volumes import DTYPES, LABEL_TYPES, NOTHING, Held, Labels, Source, dims, held, source

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

    LabelType = DTypeLike

T = TypeVar("T")


def begin(image: Any, options: Any, gpu: bool = False) -> tuple[Call, Any]:
    """The call, and the image as a volume, from what every function takes; gpu: arrays there too."""
    about = {name: options.pop(name) for name in ("spacing", "axes", "channel_axis") if name in options}
    if not _device.is_on_gpu(image):
        return Call(**options), source(image, **about)
    if not gpu:
        raise NotImplementedError("this function takes arrays in ordinary memory; copy this one from the GPU first")
    return _device.begin(image, about, options)


def neighbours_of(neighbours: int | None, axis: int) -> int:
    return neighbours if neighbours is not None else 8 if axis >= 0 else 26


def pair(limits: Any) -> tuple[float, float]:
    """Both ends of a range; None leaves one open."""
    if limits is None:
        return -math.inf, math.inf
    low, high = limits
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def label_type(largest: int) -> int:
    """The least type that holds the labels of what follows a brush."""
    if not 1 <= largest < 2**31:
        raise InputError(f"labels is {largest}; it is the largest label, from 1 to {2**31 - 1}")
    return int(library.lob_label_type(largest))


# ---- GrowCut ----


if TYPE_CHECKING:

    class GrowCut(NamedTuple, Generic[T]):
        labels: T
        strength: T
        tie: T

else:
    GrowCut = NamedTuple("GrowCut", [("labels", Any), ("strength", Any), ("tie", Any)])
    GrowCut.__doc__ = "What growcut(..., full=True) gives: three volumes of the image's kind."


Rule = _abi.lob_growcut_kind_word
Norm = _abi.lob_norm_word
Neighbours = Literal[4, 6, 8, 18, 26]


class GrowCutOptions(Options, total=False):
    rule: Rule
    norm: Norm
    neighbours: Neighbours | None
    slices: Slices | None
    penalty: float
    range: Range | None
    mask: Any
    seed_strength: Any
    min_strength: float
    max_cost: float
    max_mm: Size | None
    rounds: int
    trust_seeds: bool


def _reach(seeds: Any, of: Source, mask: Held, max_mm: Any, axis: int, threads: int) -> Held:
    """The mask without voxels that are farther than this from every seed."""
    if not isinstance(seeds, Labels):
        raise NotImplementedError("max_mm is not taken with arrays on a GPU")
    limit, unit = sized(max_mm, "mm")
    spacing = [1.0] * 3 if unit == "vox" else spacing_of(of)
    if axis >= 0:
        spacing[axis] = math.inf
    shape = of.voxels.shape[1:]
    squared = np.empty(shape, np.float32)
    drawn = np.ascontiguousarray(seeds.dense != 0).view(np.uint8)
    along = (c_double * 3)(*spacing)
    status = library.lob_distance_squared(squared.ctypes.data, drawn.ctypes.data, dims(of), along, threads)
    check(status, _abi.lob_error())
    near = squared <= limit * limit * (1 + 1e-6)  # beyond it by rounding alone is within it
    return held(np.ascontiguousarray(near if mask.array is None else near & (mask.array != 0)).view(np.uint8))


@overload
def growcut(image: T, seeds: Any, *, full: Literal[False] = False, **options: Unpack[GrowCutOptions]) -> T: ...
@overload
def growcut(image: T, seeds: Any, *, full: Literal[True], **options: Unpack[GrowCutOptions]) -> GrowCut[T]: ...
@overload
def growcut(image: T, seeds: Any, *, full: bool, **options: Unpack[GrowCutOptions]) -> T | GrowCut[T]: ...
@public
def growcut(
    image: T,
    seeds: Any,
    *,
    rule: Rule = "strength",
    norm: Norm = "l2",
    neighbours: Neighbours | None = None,
    slices: Slices | None = None,
    penalty: float = 0.0,
    range: Range | None = None,
    mask: Any = None,
    seed_strength: Any = None,
    min_strength: float = 0.0,
    max_cost: float = math.inf,
    max_mm: Size | None = None,
    rounds: int = 0,
    trust_seeds: bool = False,
    full: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Grow labelled seeds over an image until every voxel has the label of its nearest seed.

    image          (z, y, x) or (y, x), any kind; with channel_axis several channels
    seeds          the image's shape, whole numbers: labels from 1, 0 is unknown
    rule           "strength": the automaton of GrowCut, exact; "distance": sums of differences;
                   "flood": the largest value on the path, a watershed; "value", "square": sums of
                   values, or of squares, entered
    norm           over channels: "l2", "l1", "linf", "alphamax"
    neighbours     6, 18 or 26; with slices 4 or 8. None: the most
    slices         grow in each slice alone: an axis of the array, or "axial", "coronal",
                   "sagittal", "x", "y", "z"
    penalty        rules distance, value, square: image units per mm of path
    range          (low, high): only these values are data; None leaves an end open
    mask           the image's shape; where it is 0 nothing grows
    seed_strength  the image's shape, in (0, 1] at seeds
    min_strength, max_cost, max_mm
                   what is weaker (0 to 1), costs more (image units), or lies farther from
                   every seed (mm, or as "5vox") stays 0
    rounds         rounds of the automaton; 0: to the fixed point
    trust_seeds    take seeds as they are, though they look like a scan or leave nothing to grow
    full           also give the strength (float32, 0 to 1) and where two labels tie (uint8)

    Returns labels of the image's kind and shape, uint8, int16 or int32, the first that holds the
    largest; with full a GrowCut(labels, strength, tie). Raises InputError without a seed on data.
    """
    call, of = begin(image, options, gpu=True)
    axis = slice_axis(slices, of)
    chosen = _growcut_options(rule, norm, neighbours, axis, penalty, range, min_strength, max_cost, rounds)
    drawn = of.labels(seeds, "seeds")
    if not trust_seeds and not call.on_gpu:
        check_seeds(drawn)
    covered = of.mask(mask)
    if max_mm is not None:
        covered = _reach(drawn, of, covered, max_mm, axis, call.context.threads)
    strengths = of.floats(seed_strength, "seed_strength")
    labels = of.room(DTYPES[drawn.volume.type])
    strength, tie = (of.room(np.float32), of.room(np.uint8)) if full else (NOTHING, NOTHING)
    seen = of.described()
    given_in = _abi.lob_growcut_input(
        pointer(seen), pointer(drawn.volume), drawn.numbers[1],
        covered.address, strengths.address, of.place,
    )  # fmt: skip
    out = _abi.lob_growcut_output(labels.address, strength.address, tie.address)
    stats = _abi.lob_growcut_stats()
    call.run(call.functions.growcut, byref(out), byref(stats), byref(given_in), byref(chosen), of="seeds")
    call.tell(stats, "data_voxels", "not_finite", "seeds", "seeds_outside", "reached", "rounds", "fixed_point",
              "largest_cost", "level_step", "working_bytes")  # fmt: skip
    found = of.give(drawn.restore(labels.array), True)
    return GrowCut(found, of.give(strength.array, False), of.give(tie.array, True)) if full else found


def check_seeds(drawn: Labels) -> None:
    """As the command refuses what cannot be meant: most often the scan was given in the place of the seeds."""
    error = _abi.lob_error()
    check(library.lob_seeds_check(byref(drawn.volume), byref(drawn.set), byref(error)), error, "seeds")


def _growcut_options(
    rule: Rule, norm: Norm, neighbours: int | None, axis: int, penalty: float, limits: Any, min_strength: float,
    max_cost: float, rounds: int,
) -> _abi.lob_growcut_options:  # fmt: skip
    chosen: _abi.lob_growcut_options = library.lob_growcut_defaults()
    chosen.rule = choice("rule", rule, Rule)
    chosen.norm = choice("norm", norm, Norm)
    chosen.neighbours, chosen.slice_axis = neighbours_of(neighbours, axis), axis
    chosen.penalty, chosen.min_strength, chosen.max_cost, chosen.rounds = penalty, min_strength, max_cost, rounds
    chosen.range[:] = pair(limits)
    return chosen


# ---- components ----


Order = _abi.lob_components_order_word


@public
def components(
    image: T,
    *,
    above: float | None = None,
    range: Range | None = None,
    equal: bool = False,
    tolerance: float | None = None,
    neighbours: Neighbours | None = None,
    slices: Slices | None = None,
    order: Order = "raster",
    min_size: Size = 0,
    max_size: Size = 0,
    largest: int = 0,
    fill_holes: bool = False,
    keep_values: bool = False,
    mask: Any = None,
    dtype: LabelType | None = None,
    **options: Unpack[Options],
) -> T:
    """Number the connected pieces of an image.

    image        (z, y, x) or (y, x), any kind; what is not 0 is foreground
    above        foreground is what is above this value
    range        foreground is what is in (low, high), both included; None leaves an end open
    equal        join only neighbours of equal value (labels, as cc3d does)
    tolerance    join only neighbours that differ by at most this, image units
    neighbours   6, 18 or 26; with slices 4 or 8. None: the most
    slices       each slice alone: an axis of the array, or "axial", ..., "z"
    order        "raster": 1, 2, ... as a raster scan meets them; "size": the largest first
    min_size, max_size
                 voxels, or as "50mm3"; smaller or larger ones are taken out
    largest      of the rest keep so many, the largest; 0: all
    fill_holes   give holes inside a component to it
    keep_values  with equal: write values instead of numbers
    mask         the image's shape; where it is 0 nothing is foreground
    dtype        uint8, int16 or int32; None: the first that holds the largest label

    Returns labels of the image's kind and shape. report gets "components", "found" (before some
    were taken out) and "foreground" (voxels).
    """
    join = _abi.LOB_JOIN_EQUAL if equal else _abi.LOB_JOIN_ANY if tolerance is None else _abi.LOB_JOIN_TOLERANCE
    chosen: _abi.lob_components_options = library.lob_components_defaults()
    chosen.join, chosen.tolerance = join, tolerance or 0.0
    chosen.order = choice("order", order, Order)
    chosen.largest, chosen.fill_holes, chosen.keep_values = largest, fill_holes, keep_values
    if dtype is not None:
        chosen.type = {DTYPES[t]: t for t in LABEL_TYPES}.get(np.dtype(dtype), -1)
    call, of = begin(image, options, gpu=True)
    seen = of.described()
    chosen.slice_axis = slice_axis(slices, of)
    chosen.neighbours = neighbours_of(neighbours, chosen.slice_axis)
    if above is not None and range is not None:
        raise InputError("above and range exclude each other")
    if above is not None:
        range = (library.lob_next_above(above, byref(seen)), None)
    chosen.ranged = range is not None
    if range is not None:
        chosen.range[:] = pair(range)
    # A size that differs from a bound by the rounding of a header's spacing is inside.
    chosen.min_voxels = math.ceil(voxels_of(min_size, of) * (1 - 1e-6))
    if max_size:
        chosen.max_voxels = math.floor(voxels_of(max_size, of) * (1 + 1e-6))
        if chosen.max_voxels < 1:
            raise InputError(f"max_size is {max_size}, less than a voxel, so nothing would be left")
    covered = of.mask(mask)
    given = _abi.lob_components_input(pointer(seen), covered.address, None, of.place)
    out = _abi.lob_components_output()
    call.run(call.functions.components, byref(out), byref(given), byref(chosen))
    call.tell(out, "found", "foreground", "not_finite", "working_bytes")
    call.report["components"] = out.count
    return of.give(of.take(out.labels, out.device, DTYPES[out.type]), True)


# ---- supervoxels ----


Method = _abi.lob_supervoxels_method_word
LAB_COMPACTNESS = 0.1  # as the command has it: CIELAB has a range of its own


@public
def supervoxels(
    image: T,
    *,
    size: Size | None = None,
    count: int = 0,
    method: Method = "slic",
    compactness: float | None = None,
    ratio: float | None = None,
    iterations: int = 10,
    until_still: bool = False,
    lab: bool | None = None,
    range: Range | None = None,
    smallest: float | None = None,
    slices: Slices | None = None,
    mask: Any = None,
    **options: Unpack[Options],
) -> T:
    """Cut an image into small connected pieces of like intensity and size.

    image        (z, y, x) or (y, x), any kind; with channel_axis several channels
    size         the side of a piece, mm or as "12vox"; give this or count
    count        how many pieces there shall be
    method       "slic", "slico" (adapts its compactness) or "lsc"
    compactness  slic: position against intensity, as a share of the intensity range
    ratio        lsc: weight of position against intensity
    iterations   at most so many
    until_still  end earlier when nothing moves
    lab          compare colours in CIELAB; None: three channels of uint8 are colours
    range        (low, high): only these values are data
    smallest     pieces under this share of the usual size join a neighbour, 0 to 1
    slices       each slice alone: an axis of the array, or "axial", ..., "z"
    mask         the image's shape; where it is 0 no piece is

    Returns labels 1..K without gaps in raster order, of the image's kind; report gets
    "supervoxels" (K), "iterations" and "size_mm".
    """
    chosen: _abi.lob_supervoxels_options = library.lob_supervoxels_defaults()
    chosen.method = choice("method", method, Method)
    chosen.iterations, chosen.until_still, chosen.count = iterations, until_still, count
    chosen.range[:] = pair(range)
    put(chosen, smallest=smallest)
    if (size is None) == (count == 0):
        raise InputError("give one of size, as 8 (mm) or '12vox', and count")
    call, of = begin(image, options, gpu=True)
    channels, dtype = of.voxels.shape[0], of.voxels.dtype
    colour = channels == 3 and dtype == np.uint8
    if lab and not colour:
        raise InputError(f"lab needs three channels of uint8; there are {channels} of {dtype}")
    chosen.lab = colour if lab is None else lab
    chosen.slice_axis = slice_axis(slices, of)
    if chosen.lab:
        chosen.compactness = LAB_COMPACTNESS
    put(chosen, compactness=compactness, ratio=ratio)
    if size is not None:
        side, unit = sized(size, "mm")
        sides = zip(spacing_of(of), of.voxels.shape[:0:-1])
        used = [mm for a, (mm, voxels) in enumerate(sides) if a != chosen.slice_axis and voxels > 1]
        # a side in voxels: that of a cube (in slices, a square) of as many voxels
        chosen.size_mm = side * math.prod(used) ** (1 / len(used)) if unit == "vox" and used else side
    covered = of.mask(mask)
    seen = of.described()
    given = _abi.lob_supervoxels_input(pointer(seen), covered.address, of.place)
    labels = of.room(np.int32)
    stats = _abi.lob_supervoxels_stats()
    call.run(call.functions.supervoxels, labels.address, byref(stats), byref(given), byref(chosen))
    call.tell(stats, "supervoxels", "size_mm", "data_voxels", "not_finite", "fragments", "iterations", "working_bytes")
    return of.give(of.narrow(labels.array, stats.supervoxels), True)


slic = with_fixed(supervoxels, "slic", method="slic")
slico = with_fixed(supervoxels, "slico", method="slico")
lsc = with_fixed(supervoxels, "lsc", method="lsc")
