"""GrowCut that follows a brush."""

from __future__ import annotations

import ctypes
import math
from ctypes import byref, pointer
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi
from ._asked import slice_axis
from ._errors import InputError
from ._grow import Neighbours, Norm, Rule, _growcut_options, begin, label_type
from ._library import check, library
from ._public import Closing, Options, Range, Slices, public, shown
from ._volumes import DTYPES, NOTHING, Held, held, volume

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack


class Grower(Closing):
    """GrowCut that follows a brush: paint and erase in `seeds`, then `grow`.

    After each growth `labels` are those of growcut from the seeds that are there, the same bytes. On
    the CPU a growth goes on from where the last one was, and costs what the change moves; a flood,
    and every growth on a GPU, is a fresh one.

    image        (z, y, x) or (y, x), any kind but arrays on a GPU; with channel_axis several channels
    labels       the largest label that will be painted
    strength     also keep the strength (float32) with which each voxel was taken
    rule, norm, neighbours, slices, penalty, range, mask, min_strength, max_cost
                 as for growcut

    seeds        array of the image's shape to paint in: labels from 1, 0 is unknown. All 0 at first
    labels       array of the same type: what has grown. Written by grow, to be read only
    strength     likewise, or None
    changed      slices of the array's axes around what the last growth may have changed
    report       a dict with numbers about the last growth

        with lobule.Grower(scan, labels=2) as grower:
            grower.seeds[20, 30:50, 40] = 1
            grower.seeds[20, 30:50, 90] = 2
            first = grower.grow().copy()
            grower.seeds[20, 45:50, 40] = 0
            second = grower.grow()
    """

    @public
    def __init__(
        self,
        image: Any,
        labels: int = 255,
        *,
        strength: bool = False,
        rule: Rule = "strength",
        norm: Norm = "l2",
        neighbours: Neighbours | None = None,
        slices: Slices | None = None,
        penalty: float = 0.0,
        range: Range | None = None,
        mask: Any = None,
        min_strength: float = 0.0,
        max_cost: float = math.inf,
        **options: Unpack[Options],
    ) -> None:
        super().__init__()
        self._grower = ctypes.c_void_p()
        self._call, of = begin(image, options)
        self._of, self.report = of, self._call.report
        axis = slice_axis(slices, of)
        chosen = _growcut_options(rule, norm, neighbours, axis, penalty, range, min_strength, max_cost, 0)
        type_of = label_type(labels)
        dtype = DTYPES[type_of]
        self._seeds: Held = held(np.zeros(of.voxels.shape[1:], dtype))
        self._labels: Held = held(np.zeros_like(self._seeds.array))
        self._strength: Held = held(np.zeros(self._seeds.array.shape, np.float32)) if strength else NOTHING
        self._mask = of.mask(mask)
        self._image, self._drawn = of.described(), volume(of)
        self._drawn.data, self._drawn.channels = self._seeds.address, 1
        self._drawn.type = type_of
        self._in = _abi.lob_growcut_input(
            pointer(self._image), pointer(self._drawn), labels, self._mask.address, None, of.place
        )
        self._out = _abi.lob_growcut_output(self._labels.address, self._strength.address, None)
        self.seeds: np.ndarray = of.as_came(self._seeds.array)
        self.labels = self._shown(self._labels)
        self.strength = self._shown(self._strength) if strength else None
        self.changed: tuple[slice, ...] = ()
        error = self._call.error
        check(library.lob_grower_open(byref(self._grower), byref(self._call.functions), byref(self._out),
                                      byref(self._in), byref(chosen), byref(error)), error)  # fmt: skip

    def _shown(self, held: Held) -> np.ndarray:
        array: np.ndarray = self._of.as_came(held.array).view()
        array.flags.writeable = False
        return array

    def grow(self, where: Sequence[slice] | None = None) -> np.ndarray:
        """Grow from the seeds that are there now.

        where  slices of the array's axes outside of which no seed has changed since the last
               growth; None: anywhere

        Returns labels, the same array each time. Raises InputError where no seed lies on data.
        """
        self._check_process()
        if not self._grower:
            raise InputError("this Grower is closed")
        box, changed, stats = _abi.lob_box(), _abi.lob_box(), _abi.lob_growcut_stats()
        if where is not None:
            self._set_box(box, where)
        self._call.run(library.lob_grower_grow, self._grower, byref(changed), byref(stats), byref(self._drawn),
                       None if where is None else byref(box))  # fmt: skip
        self._call.tell(stats, "data_voxels", "not_finite", "seeds", "seeds_outside", "reached", "largest_cost",
                        "level_step", "working_bytes")  # fmt: skip
        of = self._of
        along = [slice(first, first + size) for first, size in zip(changed.first, changed.size)][: of.ndim]
        self.changed = tuple(along if of.xyz else along[::-1])
        return self.labels

    def _set_box(self, box: _abi.lob_box, where: Sequence[slice]) -> None:
        sides = self.seeds.shape
        if not isinstance(where, (tuple, list)) or not all(isinstance(part, slice) for part in where):
            raise InputError(f"where is {shown(where)}; it is a tuple of slices, as (slice(12, 13),)")
        if len(where) > len(sides):
            raise InputError(f"where has {len(where)} slices; the image has {len(sides)} axes")
        given = [*where, *[slice(None)] * (len(sides) - len(where))]
        spans = [part.indices(side) for part, side in zip(given, sides)]
        if any(step != 1 for _, _, step in spans):
            raise InputError("where: slices have steps of 1")
        for axis, (first, end, _) in enumerate(spans if self._of.xyz else spans[::-1]):
            box.first[axis], box.size[axis] = first, max(0, end - first)
        if self._of.ndim == 2:
            box.size[2] = 1

    def close(self) -> None:
        """Give back the memory; the arrays stay."""
        library.lob_grower_close(self._grower)
        self._grower = ctypes.c_void_p()

    def __del__(self) -> None:
        if getattr(self, "_grower", None):
            self.close()
