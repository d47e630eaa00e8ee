"""Images to images: filters, thresholds, maxima, other grids."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from ctypes import byref, c_double, pointer
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

import numpy as np

from . import _abi
from ._asked import choice, sized, slice_axis, spacing_of
from ._errors import InputError
from ._grow import Neighbours, begin, neighbours_of, pair
from ._library import library
from ._public import Options, Range, Size, Slices, chained, public, steps_of
from ._volumes import DTYPES, TYPES, Source, dims, rows, source, view, volume

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Unpack

T = TypeVar("T")

# ---- filters ----

Edge = _abi.lob_edge_word
PerAxis = Union[Size, Sequence[Size]]


class FilterSettings(Options, total=False):
    edge: Edge | tuple[Edge, float]
    mask: Any
    slices: Slices | None
    exact: bool


class FilterSteps(Options, total=False):
    median: PerAxis
    gaussian: PerAxis
    box: PerAxis
    denoise: float | Literal[True, "auto"] | None
    gradient: PerAxis
    log: PerAxis
    window: tuple[Size, Size]
    scale: tuple[float, float]
    gray: Literal[True]
    desaturate: float
    cast: DTypeLike


STEPS = steps_of(FilterSteps)
SIGMAS, RADII = ("gaussian", "gradient", "log"), ("median", "box")  # what these hold for each axis
KINDS = {"log": "laplacian", "window": "clamp"}  # in the library's words, where these are others


def _along(whole: bool, value: Any, of: Any, across: int) -> list[float]:
    """Sigma or radius, whole voxels, along x, y, z; 0 leaves an axis out."""
    usual = "vox" if whole else "mm"
    each = list(value) if np.ndim(value) == 1 else [value] * of.ndim
    if len(each) != of.ndim:
        raise InputError(f"{value!r} is not one length, nor one for each of {of.ndim} axes")
    if not of.xyz:
        each.reverse()
    extents = dims(of)
    out = []
    for a, (side, mm) in enumerate(zip((extents.nx, extents.ny, extents.nz), spacing_of(of))):
        if a == across or side == 1 or a >= len(each):
            out.append(0.0)
            continue
        number, unit = sized(each[a], usual)
        if whole and unit == "vox" and number != math.floor(number):
            raise InputError(f"a radius of {number:g} is no whole number of voxels")
        voxels = number / (1.0 if unit == "vox" else mm)
        out.append(math.floor(voxels + 1e-3) if whole else voxels)  # headers round spacings
    return out


def _window(step: _abi.lob_filter_step, value: Any) -> None:
    low, high = value
    percent = [isinstance(v, str) and v.endswith("%") for v in (low, high)]
    if percent[0] != percent[1]:
        raise InputError(f"window={value!r} mixes a value with a percentile")
    step.percent = percent[0]
    step.low, step.high = (float(v.rstrip("%")) if isinstance(v, str) else float(v) for v in (low, high))


def _step(name: str, value: Any, of: Any, across: int) -> _abi.lob_filter_step:
    step = _abi.lob_filter_step(choice("step", KINDS.get(name, name), _abi.lob_filter_kind_word))
    if name in (*SIGMAS, *RADII):
        step.along[:] = _along(name in RADII, value, of, across)
    elif name == "denoise":
        step.along[:] = _along(False, ["1vox"] * of.ndim, of, across)
        step.noise = 0.0 if value in (True, None, "auto") else float(value)
    elif name == "window":
        _window(step, value)
    elif name == "scale":
        step.factor, step.offset = value
    elif name == "desaturate":
        step.amount = value
    elif name == "cast":
        step.type = TYPES.get(np.dtype(value), -1)
    return step


@public
def filter(
    image: T,
    steps: Iterable[tuple[str, Any]] = (),
    *,
    edge: Edge | tuple[Edge, float] = "renormalise",
    mask: Any = None,
    slices: Slices | None = None,
    exact: bool = False,
    **named: Unpack[FilterSteps],
) -> T:
    """Run a chain of filters on an image, in the order in which they are named.

    image     (z, y, x) or (y, x), any kind; with channel_axis several channels
    steps     (name, value) pairs, which go before named ones: for a step that comes twice
    median, box
              radius: voxels, or as "2mm"; one, or one for each axis of the array
    gaussian, gradient, log
              sigma: mm, or as "2vox"; likewise. Gradient magnitude and Laplacian are per mm
    denoise   True, or the noise's standard deviation in image units; edges are kept
    window    (low, high), or percentiles as ("1%", "99%"): values beyond become the ends
    scale     (a, b): a times the value plus b
    gray      True: luminance of three channels; desaturate: 0 to 1 of it
    cast      a dtype: rounded and clamped to its range
    edge      what is beyond the borders: "renormalise" (nothing), "nearest", "reflect", "mirror",
              "wrap" as scipy.ndimage has them, or ("constant", value)
    mask      the image's shape; where it is 0 voxels count in nothing and stay
    slices    each slice alone: an axis of the array, or "axial", ..., "z"
    exact     large Gaussians by their own weights, which takes longer

    Returns an image of the same kind: median and window keep the type, cast sets it, the others
    give float32.
    """
    options = {name: value for name, value in named.items() if name not in STEPS}
    word, value = (edge, 0.0) if isinstance(edge, str) else edge
    chosen = _abi.lob_filter_options(choice("edge", word, Edge), value, exact)
    call, of = begin(image, options, gpu=True)
    across = slice_axis(slices, of)
    chain = chained(steps, named, FilterSteps, "filter", "median=1 or gaussian=2")
    row = (_abi.lob_filter_step * len(chain))(*(_step(name, value, of, across) for name, value in chain))
    covered = of.mask(mask)
    seen = of.described()
    given = _abi.lob_filter_input(pointer(seen), covered.address, row, len(row), of.place)
    out = _abi.lob_filter_output()
    call.run(call.functions.filter, byref(out), byref(given), byref(chosen))
    call.tell(out, "not_data", "working_bytes")
    # One of a single channel has no axis for it, but one that it came with.
    plain = out.channels == 1 and (of.channel_axis is None or of.voxels.shape[0] > 1)
    return of.give(of.take(out.data, out.device, DTYPES[out.type], 0 if plain else out.channels), False)


@public
def gaussian(image: T, sigma: PerAxis, **settings: Unpack[FilterSettings]) -> T:
    """filter(image, gaussian=sigma): a Gaussian mean.

    image     (z, y, x) or (y, x), any kind; with channel_axis several channels
    sigma     mm, or as "2vox"; one, or one for each axis of the array
    edge, mask, slices, exact
              as for filter
    """
    return filter(image, [("gaussian", sigma)], **settings)


@public
def median(image: T, radius: PerAxis = 1, **settings: Unpack[FilterSettings]) -> T:
    """filter(image, median=radius): the median of a box.

    image     (z, y, x) or (y, x), any kind; with channel_axis several channels
    radius    voxels, or as "2mm"; one, or one for each axis of the array
    edge, mask, slices
              as for filter
    """
    return filter(image, [("median", radius)], **settings)


@public
def box(image: T, radius: PerAxis = 1, **settings: Unpack[FilterSettings]) -> T:
    """filter(image, box=radius): the mean of a box.

    image     (z, y, x) or (y, x), any kind; with channel_axis several channels
    radius    voxels, or as "2mm"; one, or one for each axis of the array
    edge, mask, slices
              as for filter
    """
    return filter(image, [("box", radius)], **settings)


@public
def denoise(image: T, noise: float | Literal["auto"] = "auto", **settings: Unpack[FilterSettings]) -> T:
    """filter(image, denoise=noise): smooth noise, keep edges.

    image     (z, y, x) or (y, x), any kind; with channel_axis several channels
    noise     its standard deviation in image units; "auto": estimated
    edge, mask, slices
              as for filter
    """
    return filter(image, [("denoise", noise)], **settings)


# ---- thresholds ----


@public
def threshold(
    image: T,
    *,
    otsu: int | None = None,
    above: float | None = None,
    range: Range | None = None,
    percentile: float | None = None,
    mask: Any = None,
    **options: Unpack[Options],
) -> T:
    """Label voxels by one or several thresholds; without one of them Otsu's with two classes.

    image       (z, y, x) or (y, x), any kind, one channel
    otsu        so many classes, 0 to otsu - 1, by Otsu's method
    above       1 is what is above this value
    range       1 is what is in (low, high), both included; None leaves an end open
    percentile  1 is what is above this percentile of the data
    mask        the image's shape; where it is 0 nothing counts, and 0 comes out

    Returns uint8 labels of the image's kind; report gets "thresholds" (a list, image units) and
    "separability" (Otsu).
    """
    chosen: _abi.lob_threshold_options = library.lob_threshold_defaults()
    ways = (otsu, above, range, percentile)
    if sum(way is not None for way in ways) > 1:
        raise InputError("otsu, above, range and percentile exclude each other")
    if otsu is not None:
        chosen.classes = otsu
    elif above is not None:
        chosen.kind, chosen.above = _abi.LOB_THRESHOLD_ABOVE, above
    elif range is not None:
        chosen.kind = _abi.LOB_THRESHOLD_RANGE
        chosen.low, chosen.high = pair(range)
    elif percentile is not None:
        chosen.kind, chosen.percent = _abi.LOB_THRESHOLD_PERCENTILE, percentile
    call, of = begin(image, options, gpu=True)
    covered = of.mask(mask)
    seen = of.described()
    given = _abi.lob_threshold_input(pointer(seen), covered.address, of.place)
    labels = of.room(np.uint8)
    stats = _abi.lob_threshold_stats()
    call.run(call.functions.threshold, labels.address, byref(stats), byref(given), byref(chosen))
    call.tell(stats, "separability", "working_bytes")
    call.report["thresholds"] = list(stats.threshold)[: stats.thresholds]
    return of.give(labels.array, True)


# ---- maxima ----


@public
def maxima(
    image: T,
    *,
    above: float = -math.inf,
    height: float = 0.0,
    apart: Size = 0.0,
    neighbours: Neighbours | None = None,
    slices: Slices | None = None,
    mask: Any = None,
    **options: Unpack[Options],
) -> T:
    """Number the local maxima of an image: each plateau without a higher neighbour is one.

    image   (z, y, x) or (y, x), any kind, one channel
    above   only maxima of a higher value
    height  only those that rise so far above the way to a higher one (h-maxima), image units
    apart   only the highest within this distance, mm, or as "5vox"
    neighbours, slices, mask
            as for components

    Returns labels of the image's kind, 1, 2, ... in raster order; report gets "maxima" and "values"
    (an array: the value of each).
    """
    call, of = begin(image, options)
    chosen: _abi.lob_maxima_options = library.lob_maxima_defaults()
    chosen.above, chosen.height = above, height
    chosen.slice_axis = slice_axis(slices, of)
    chosen.neighbours = neighbours_of(neighbours, chosen.slice_axis)
    chosen.apart, unit = sized(apart, "mm")
    if unit == "mm":
        chosen.spacing[:] = spacing_of(of)
    covered = of.mask(mask)
    seen = volume(of)
    given = _abi.lob_maxima_input(pointer(seen), covered.address)
    out = _abi.lob_maxima_output()
    call.run(call.functions.maxima, byref(out), byref(given), byref(chosen))
    call.report["maxima"] = out.count
    call.report["values"] = rows(ctypes.cast(out.maxima, ctypes.c_void_p).value, _abi.lob_maximum, out.count)["value"]
    labels = view(out.labels, of.voxels.shape[1:], np.int32).astype(DTYPES[library.lob_label_type(out.count)])
    library.lob_maxima_output_free(byref(out))
    return of.give(labels, True)


# ---- other grids ----

Method = _abi.lob_resample_method_word


def _respaced(of: Source, spacing: Any) -> tuple[_abi.lob_dims, _abi.lob_geometry]:
    """Voxels of another size over the same field of view, the outer corner of the first one kept."""
    extents, geometry = dims(of), _abi.lob_geometry.from_buffer_copy(of.geometry)
    if not all(0 <= length < math.inf for length in of.for_each_axis(spacing, "onto")):
        raise InputError(f"onto is {spacing}; a voxel's sizes are above 0, or 0 to keep an axis")
    library.lob_resample_respace(byref(geometry), byref(extents), (c_double * 3)(*of.in_order(spacing)))
    return extents, geometry


@public
def resample(
    image: T,
    onto: Any,
    *,
    labels: bool = False,
    method: Method | None = None,
    fill: float = 0.0,
    **options: Unpack[Options],
) -> T:
    """Bring a volume onto another grid.

    image   (z, y, x) or (y, x), any kind; with channel_axis several channels
    onto    voxel sizes in mm, one or one for each axis of the array (0 keeps an axis), over the
            same field of view; or an image with a place in the world (nibabel, SimpleITK), whose
            grid is taken
    labels  the voxels are labels, which are not mixed
    method  "nearest", "linear", "majority", "strokes"; None: linear, with labels majority
    fill    value outside of the image

    Returns an image of the kind of `image`, or of `onto` where that is one.
    """
    call, of = begin(image, options)
    if np.isscalar(onto) or isinstance(onto, (list, tuple)):
        target, (extents, geometry) = None, _respaced(of, onto)
    else:
        target = source(onto)
        extents, geometry = dims(target), target.geometry
        if not (target.world and of.world):
            raise InputError("onto: both images must say where they lie, as those of nibabel and SimpleITK do")
    chosen: _abi.lob_resample_options = library.lob_resample_defaults()
    chosen.method = choice("method", method or ("majority" if labels else "linear"), Method)
    chosen.fill = (float(fill) - of.inter) / (of.slope or 1.0)
    voxels = of.voxels
    if chosen.method >= _abi.LOB_RESAMPLE_MAJORITY:
        voxels = voxels.astype(DTYPES[library.lob_label_type(int(voxels.max()))], copy=False)
    seen = volume(of)
    seen.data, seen.type = voxels.ctypes.data, TYPES[voxels.dtype]
    given = _abi.lob_resample_input(pointer(seen), extents, geometry)
    made = np.empty((voxels.shape[0], extents.nz, extents.ny, extents.nx), voxels.dtype)
    call.run(call.functions.resample, made.ctypes.data, byref(given), byref(chosen))
    if (of.slope, of.inter) != (1.0, 0.0) and not labels:
        made = made * of.slope + of.inter
    plain = made[0] if of.channel_axis is None and made.shape[0] == 1 else made
    return target.give(plain, labels) if target else of.give(plain, labels, geometry)
