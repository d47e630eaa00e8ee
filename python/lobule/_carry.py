"""Labels of a few scans for others: votes of moved atlases, and the whole job."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Iterator, Sequence
from ctypes import byref, pointer
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from . import _abi, _device
from ._asked import choice, in_mm, put, spacing_of
from ._errors import InputError
from ._grow import begin
from ._library import Call, check, library
from ._public import Options, Size, public, shown
from ._volumes import DTYPES, Labels, Source, source, taken, view, volume

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Method = Literal["patches", "majority"]
READ: Any = dict(_abi.lob_carry_input._fields_)["read"]  # type: ignore[arg-type]


class Voted(NamedTuple):
    """What fuse(..., votes=True) gives: labels and, a channel for each label, shares of the votes."""

    labels: Any
    votes: Any


class Carried(NamedTuple):
    """What carry(..., full=True) gives: three volumes of the scan's kind."""

    labels: Any
    votes: Any
    doubt: Any


def _pairs(atlases: Any) -> Iterator[tuple[Any, Any]]:
    """Images and labels of atlases, whatever holds them."""
    for i, one in enumerate(atlases):
        try:
            image, labels = one
        except (TypeError, ValueError):
            raise TypeError(f"atlas {i} is {shown(one)}; it is a pair, (image, labels)") from None
        yield image, labels


@public
def fuse(
    image: T,
    atlases: Sequence[tuple[Any, Any]],
    *,
    method: Method = "patches",
    patch: int | None = None,
    search: int | None = None,
    floor: float | None = None,
    votes: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Make one label volume of the labels of several atlases that were moved onto an image.

    image    (z, y, x), any kind
    atlases  pairs of an image and its labels on this grid, moved there by any program; images may be
             NaN where they do not reach. All are in ordinary memory or on a GPU
    method   "patches": patches that look alike vote; "majority": each atlas has one vote
    patch    voxels that a patch reaches to each side, 0 to 2; None: 1
    search   voxels to each side of which an atlas's patches are looked at, 0 to 3; None: 1
    floor    squared difference of a patch's voxels, in 255ths of the range of values, that tells
             nothing; None: 16
    votes    also give each label's share of the votes (float32), a channel for each, ascending; on a
             GPU channels are the first axis

    Returns labels of the image's kind; with votes a Voted(labels, votes). report gets "fused", a dict
    for each label, and "unseen_voxels", which no atlas reaches.
    """
    call, of = begin(image, options, gpu=True)
    chosen: _abi.lob_fuse_options = library.lob_fuse_defaults()
    put(chosen, patch=patch, search=search, floor=floor)
    chosen.majority = choice("method", method, Method) == 1
    given = list(_pairs(atlases))
    pairs, kept, seen, names = (_abi.lob_fuse_atlas * len(given))(), [], of.described(), _Names()
    for i, (scan, painted) in enumerate(given):
        moved, own = of.beside(scan, f"atlas {i}"), of.labels(painted, f"the labels of atlas {i}")
        names.join(getattr(own, "source", None), f"the labels of atlas {i}")
        pairs[i] = _abi.lob_fuse_atlas(pointer(moved[0]), pointer(own.own()))
        kept.append((moved, own))
    asked = _abi.lob_fuse_input(pointer(seen), pairs, len(given))
    out: _abi.lob_fuse_output = library.lob_fuse_output_empty()
    try:
        call.run(library.lob_fuse, byref(out), byref(asked), byref(chosen))
        count, n = out.set.count, math.prod(of.voxels.shape[1:])
        found = _device.found(out.labels.data, of.voxels.shape[1:], DTYPES[out.labels.type], call)
        shares = _device.found(ctypes.cast(out.shares, ctypes.c_void_p).value, (count, n), np.uint16, call)
        call.report["unseen_voxels"] = out.unseen
        call.report["labels"] = count
        values, voxels = view(out.set.values, (count,), np.int32), view(out.set.voxels, (count,), np.int64)
        call.report["fused"] = [
            {"label": int(value), "voxels": int(held),
             "share": float(share[found.ravel() == value].sum(dtype=np.float64) / _abi.LOB_FUSE_ONE / max(held, 1))}
            for value, held, share in zip(values, voxels, shares)
        ]  # fmt: skip
        labels = of.give(np.array(found), True)
        if not votes:
            return labels
        share = shares.astype(np.float32).reshape(count, *of.voxels.shape[1:]) / np.float32(_abi.LOB_FUSE_ONE)
        return Voted(labels, of.give(share, False))
    finally:
        library.lob_fuse_output_free(byref(out))


class _Names:
    """What labels are called that are to be voted on together."""

    def __init__(self) -> None:
        self.known = _abi.lob_label_names()
        weakref.finalize(self, library.lob_label_names_free, byref(self.known))

    def join(self, labels: Any, what: str) -> None:
        """Refuse names that are other labels' in those before."""
        own, error = _abi.lob_label_names(), _abi.lob_error()
        for label, name in (labels.names() if isinstance(labels, Source) else {}).items():
            library.lob_label_names_put(byref(own), label, name.encode(), None, None)
        status = library.lob_label_names_join(byref(self.known), byref(own), byref(error))
        library.lob_label_names_free(byref(own))
        check(status, error, what)


FATES = ("used", "others are nearer", "the scan itself", "no labels", "cannot be registered")


@public
def carry(
    image: T,
    atlases: Sequence[tuple[Any, Any]],
    *,
    strokes: Any = None,
    background: int | None = None,
    reach: Size | None = None,
    use: int | None = None,
    grid: float | None = None,
    smooth: float | None = None,
    sure: float | None = None,
    sure_background: float | None = None,
    sure_inside: float | None = None,
    against: float | None = None,
    claimed: float | None = None,
    edge: float | None = None,
    full: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Label a scan by a few scans whose labels are finished.

    image       (z, y, x), any kind
    atlases     pairs of a scan and its labels, each on a grid of its own; the image itself is left out
    strokes     on the image, win over atlases: labels of these, or new ones, and one for the background
    background   which of the strokes' labels means background; None: the one that no atlas has
    reach       how far strokes take back what atlases are sure of: mm, or as "5vox"; None: 20
    use         atlases to use, the nearest; None: 5
    grid        register and vote on voxels of so many mm; None: 3, finer for small scans
    smooth      how stiff registrations are
    sure, sure_background
                shares of the votes that make a voxel sure of its label, or of background
    sure_inside  how many mm inside of what is sure the growth begins
    against, claimed
                what is sure is open again where the image's grey values give its label less than this,
                or give a label more than this where the votes are sure of background
    edge        share of the image in where borders lie
    full        also give shares of the votes (float32, a channel for each label, ascending; on a GPU
                these are the first axis) and the doubt in what each voxel became (float32)

    Returns labels of the image's kind; with full a Carried(labels, votes, doubt). report gets
    "carried", a dict for each label with its doubt, "atlases", what became of each, and
    "field_of_view", the box of the image (x, y, z) that is not filled with one value and so counts.
    """
    call, there = begin(image, options, gpu=True)
    of = _here(there)
    chosen: _abi.lob_carry_options = library.lob_carry_defaults()
    put(
        chosen, use=use, grid_mm=grid, smooth=smooth, sure=sure, sure_background=sure_background, sure_mm=sure_inside,
        against=against, claimed=claimed, edge=edge, background=background,
        reach_mm=None if reach is None else in_mm(reach, of),
    )  # fmt: skip
    if background is not None and strokes is None:
        raise InputError("background is a label of strokes, which are not given")
    kept: list[tuple[Any, _abi.lob_volume, Labels]] = []
    seen, drawn_at, names = of.described(), None, _Names()
    if strokes is not None:
        lines, drawn = of.beside(_fetched(strokes, "strokes", call), "strokes")
        drawn_at = pointer(lines)
        names.join(drawn, "strokes")
    for i, (scan, painted) in enumerate(_pairs(atlases)):
        kept.append(_atlas(of, call, i, scan, painted))
        if scan is not image:  # it is left out
            names.join(kept[i][2].source, f"the labels of atlas {i}")

    def read(_user: Any, i: int, scan: Any, painted: Any, _error: Any) -> int:
        ctypes.memmove(scan, byref(kept[i][1]), ctypes.sizeof(_abi.lob_volume))
        own = kept[i][2]
        made = library.lob_volume_like(painted, byref(kept[i][1]), own.volume.type, 1)
        if made == _abi.LOB_OK:
            ctypes.memmove(painted.contents.data, own.volume.data, own.dense.nbytes)
        return int(made)

    asked = _abi.lob_carry_input()
    asked.scan, asked.count, asked.read = pointer(seen), len(kept), READ(read)
    asked.shares = asked.doubt = full
    if drawn_at is not None:
        asked.strokes = drawn_at
    out: _abi.lob_carry_output = library.lob_carry_output_empty()
    try:
        call.run(library.lob_carry, byref(out), byref(asked), byref(chosen))
        _report(call.report, out, len(kept))
        labels = there.give(taken(out.labels), True)
        if not full:
            return labels
        shares = taken(out.shares).reshape(out.label_count, *of.voxels.shape[1:])
        return Carried(labels, there.give(shares, False), there.give(taken(out.doubt), False))
    finally:
        library.lob_carry_output_free(byref(out))


def _fetched(image: Any, name: str, call: Call) -> Any:
    """An image, which is brought to ordinary memory where it is on a GPU."""
    return _device.fetch(_device.Array(image, name, call), call) if _device.is_on_gpu(image) else image


def _here(there: Any) -> Source:
    """An image in ordinary memory, from which the whole job takes it to the GPU in parts."""
    if not isinstance(there, _device.GpuImage):
        return there
    of = source(there.fetch(), axes="xyz" if there.xyz else "zyx", channel_axis=there.channel_axis)
    of.geometry = there.geometry
    return of


def _atlas(of: Source, call: Call, i: int, scan: Any, painted: Any) -> tuple[Any, _abi.lob_volume, Labels]:
    """A scan, its volume, and its own labels; an array's voxels are as large as the image's."""
    image = source(_fetched(scan, f"atlas {i}", call), axes="xyz" if of.xyz else "zyx")
    painted = _fetched(painted, f"the labels of atlas {i}", call)
    if not image.world:
        image.geometry = library.lob_geometry_of_spacing((ctypes.c_double * 3)(*spacing_of(of)))
    own, seen = image.labels(painted, f"the labels of atlas {i}"), volume(image)
    own.own()
    seen.borrowed = True
    return image, seen, own


def _report(report: dict[str, Any], out: _abi.lob_carry_output, count: int) -> None:
    box = out.field_of_view
    report["field_of_view"] = {"first": list(box.first), "size": list(box.size)}
    report["grid_mm"], report["labels"] = out.grid_mm, out.label_count
    report["reopened_background_voxels"] = out.reopened_background
    report["carried"] = [
        {"label": row.label, "voxels": row.voxels, "share": row.share, "doubt": 1 - row.agreement,
         "atlases": row.atlases, "sure_voxels": row.seeds, "reopened_voxels": row.reopened}
        for row in out.label[: out.label_count]
    ]  # fmt: skip
    report["atlases"] = [{"became": FATES[row.fate], "cost": row.cost, "doubtful": row.doubtful} for row in out.atlas[:count]]
