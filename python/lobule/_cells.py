"""Cells and nuclei: a label for each, without seeds."""

from __future__ import annotations

import ctypes
import math
from ctypes import byref
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, overload

import numpy as np

from . import _abi
from ._asked import in_mm
from ._errors import InputError
from ._grow import begin
from ._library import Call, library
from ._measure import contacts, measured
from ._public import Options, Size, public
from ._volumes import DTYPES, Labels, Source, rows

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._public import Array, Table

T = TypeVar("T")


if TYPE_CHECKING:

    class Cells(NamedTuple, Generic[T]):
        labels: T
        table: Table

else:
    Cells = NamedTuple("Cells", [("labels", Any), ("table", dict[str, Any])])
    Cells.__doc__ = "What cells(..., table=True) gives: a volume of the image's kind, and a dict of arrays."


class CellsOptions(Options, total=False):
    size: Size | None
    walls: bool
    smooth: float | None
    around: float | None
    bright: float | None
    apart: float | None
    seeds: float | None
    wall: float | None
    least: float | None
    channel: int | None


@overload
def cells(image: T, *, table: Literal[False] = False, **options: Unpack[CellsOptions]) -> T: ...
@overload
def cells(image: T, *, table: Literal[True], **options: Unpack[CellsOptions]) -> Cells[T]: ...
@overload
def cells(image: T, *, table: bool, **options: Unpack[CellsOptions]) -> T | Cells[T]: ...
@public
def cells(
    image: T,
    *,
    size: Size | None = None,
    walls: bool = False,
    smooth: float | None = None,
    around: float | None = None,
    bright: float | None = None,
    apart: float | None = None,
    seeds: float | None = None,
    wall: float | None = None,
    least: float | None = None,
    channel: int | None = None,
    table: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Give every cell or nucleus a label, without seeds.

    image    (z, y, x) or (y, x), any kind
    size     diameter of a usual cell or nucleus: mm, or as "8um" or "20vox"; None: estimated
    walls    cells are dark between bright walls, as membranes are stained; else they are bright
             bodies, as nuclei are
    smooth   standard deviation of the image's Gaussian, in sizes; None: 0.08, with walls 0.07
    around   bodies: how far the surroundings reach that a voxel is compared with, in sizes; None: 1.5
    bright   bodies: how much brighter than these a voxel is, as a share of Otsu's threshold of that
             difference; None: 0.5
    apart    bodies: distance of two middles, at least, in sizes; None: 0.5
    seeds    walls: depth of a cell's middle below any pass to a deeper one, as a share of the
             contrast of walls; None: 0.03
    wall     pieces are joined where the wall between them is less than this share of a full one, or
             the pass less than this share of the shallower one's valley; None: 0.25, with walls 0.12
    least    smaller cells are taken out, as a share of a ball (in one slice a disc) of this size;
             None: 0.08, with walls 0.01
    channel  of an image with channels, from 0
    table    also give a table of the cells: that of stats, with equivalent_diameter_mm, elongation,
             sphericity (in one slice circularity) and how many cells touch each. Where voxels are
             smaller than 20 um, lengths and volumes are in um: volume_um3, centroid_x_um, ...

    Returns labels 1..K of the image's kind; with table a Cells(labels, table). report gets "chosen",
    what was measured and chosen, and "labels", their number.
    """
    call, of = begin(image, options, gpu=True)
    if table and call.on_gpu:
        raise NotImplementedError("a table is made of arrays in ordinary memory; copy this one from the GPU first")
    seen = of.described()
    if channel is not None:
        if not 0 <= channel < seen.channels:
            raise InputError(f"channel is {channel}; the image has {seen.channels}, counted from 0")
        seen.channels = 1
        seen.data += channel * math.prod(of.voxels.shape[1:]) * of.voxels.dtype.itemsize
    chosen: _abi.lob_cells_options = library.lob_cells_defaults(walls)
    given = {"smooth": smooth, "around": around, "bright": bright, "apart": apart, "seeds": seeds, "wall": wall}
    for name, value in {**given, "least": least}.items():
        if value is None:
            continue
        if getattr(chosen, name) == 0:
            raise InputError(f"{name} " + ("does not go with walls" if walls else "belongs to walls"))
        setattr(chosen, name, value)
    if size is not None:
        chosen.size_mm = in_mm(size, of)
    plan, stats, made = _abi.lob_cells_plan(), _abi.lob_cells_stats(), _abi.lob_volume()
    backend = byref(call.functions)
    call.run(library.lob_cells_choose, byref(plan), byref(seen), byref(chosen), backend, share=(0.0, 0.4))
    call.run(library.lob_cells, byref(made), byref(stats), byref(seen), byref(plan), backend, share=(0.4, 1.0))
    _report(call.report, plan, stats)
    labels = of.take(made.data, call.context.device, DTYPES[made.type])
    made.data = None
    library.lob_volume_free(byref(made))
    call.progress = None  # it has come to its end
    found = of.give(labels, True)
    return Cells(found, _table(call, of, labels, of.voxels[channel or 0])) if table else found


def _report(report: dict[str, Any], plan: _abi.lob_cells_plan, stats: _abi.lob_cells_stats) -> None:
    chosen = {
        "cells_are": "between walls" if plan.walls else "bodies",
        "size_mm": plan.size_mm, "size_estimated": plan.estimated,
        "threshold" if plan.walls else "threshold_over_surroundings": plan.threshold,
    }  # fmt: skip
    if plan.walls:
        chosen["wall_contrast"] = plan.contrast
    elif np.isfinite(plan.brightest):
        chosen["brightest"] = plan.brightest
    report.update(chosen=chosen, labels=stats.cells, seeds=stats.seeds, working_bytes=stats.working_bytes)


def _shapes(call: Call, came: Labels, of: Source, regions: Any) -> Table:
    """Columns of what is counted beyond stats."""
    count = came.set.count
    moments, border = (_abi.lob_region_moments * count)(), (_abi.lob_region_border * count)()
    given = _abi.lob_regions_input(came.volume.data, came.volume.type, count, came.volume.dims)
    if count:
        call.run(library.lob_regions_moments, moments, regions, byref(given))
        call.run(library.lob_regions_border, border, byref(given))
    frame = library.lob_shape_frame_of(byref(of.geometry), came.volume.dims)
    shapes = (_abi.lob_region_shape * count)()
    for i in range(count):
        shapes[i] = library.lob_region_shape_of(byref(frame), byref(regions[i]), byref(moments[i]), byref(border[i]))
    shape = rows(ctypes.addressof(shapes), _abi.lob_region_shape, count)
    return {
        "equivalent_diameter_mm": shape["equivalent_diameter_mm"].copy(), "elongation": shape["elongation"].copy(),
        "sphericity" if frame.flat < 0 else "circularity": shape["sphericity"].copy(),
    }  # fmt: skip


IN_UM = {"volume_mm3": ("volume_um3", 1e9), "volume_ml": ("volume_mm3", 1e3)}


def _in_um(name: str, column: Array) -> tuple[str, Array]:
    to, factor = IN_UM.get(name, (f"{name[:-3]}_um", 1e3) if name.endswith("_mm") else (name, 1))
    return to, column * factor if factor != 1 else column


def _table(call: Call, of: Source, labels: Array, values: Array) -> Table:
    one, scan = Source.__new__(Source), Source.__new__(Source)
    one.__dict__.update(of.__dict__, voxels=labels[np.newaxis], slope=1.0, inter=0.0)
    scan.__dict__.update(of.__dict__, voxels=values[np.newaxis])
    came = Labels(one, "labels")
    table, regions = measured(call, came, one, scan)
    table.update(_shapes(call, came, of, regions))
    touch = contacts(one, device="cpu")
    ends = np.concatenate([touch["a"], touch["b"]])
    table["neighbours"] = np.bincount(ends, minlength=came.set.count + 1)[1:]
    if library.lob_shows_micrometres(byref(of.geometry)):
        table = dict(_in_um(name, column) for name, column in table.items())
    return table
