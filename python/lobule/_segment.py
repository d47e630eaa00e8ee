"""From brush strokes to a mask, in one call of the library."""

from __future__ import annotations

import ctypes
from ctypes import byref, pointer
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, get_args, overload

from . import _abi
from ._asked import choice, put, sized
from ._device import GpuImage
from ._errors import InputError
from ._grow import begin
from ._library import library
from ._public import Options, Size, public
from ._volumes import DTYPES, Source

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


if TYPE_CHECKING:

    class Segmented(NamedTuple, Generic[T]):
        labels: T
        strength: T
        uncertain: T

else:
    Segmented = NamedTuple("Segmented", [("labels", Any), ("strength", Any), ("uncertain", Any)])
    Segmented.__doc__ = "What segment(..., full=True) gives: three volumes of the scan's kind."


Switch = Literal["off", "on"]


class SegmentChoices(Options, total=False):
    background: int | None
    margin: Size | None
    share: float | None
    ends: float | None
    median: bool | Switch
    whole: float | None
    far: float | None
    shape: float | None
    blur: float | None
    smooth: float | None
    edge: float | None
    passes: int | None
    coarse: int | None


class SegmentOptions(SegmentChoices, total=False):
    suggest: int
    previous: Any
    reach: Size | None
    slices_full: bool


@overload
def segment(image: T, strokes: Any, *, full: Literal[False] = False, **options: Unpack[SegmentOptions]) -> T: ...
@overload
def segment(image: T, strokes: Any, *, full: Literal[True], **options: Unpack[SegmentOptions]) -> Segmented[T]: ...
@overload
def segment(image: T, strokes: Any, *, full: bool, **options: Unpack[SegmentOptions]) -> T | Segmented[T]: ...
@public
def segment(
    image: T,
    strokes: Any,
    *,
    background: int | None = None,
    margin: Size | None = None,
    share: float | None = None,
    ends: float | None = None,
    median: bool | Switch = True,
    whole: float | None = None,
    far: float | None = None,
    shape: float | None = None,
    blur: float | None = None,
    smooth: float | None = None,
    edge: float | None = None,
    passes: int | None = None,
    coarse: int | None = None,
    suggest: int = 0,
    previous: Any = None,
    reach: Size | None = None,
    full: bool = False,
    slices_full: bool = False,
    **options: Unpack[Options],
) -> Any:
    """Make a clean mask from brush strokes.

    image       (z, y, x), any kind
    strokes     the image's shape: lines on a few slices, a label from 1 each and one more for the
                background around; 0 is unknown
    background  the label that stands for all else; None: the one whose strokes
                surround the others
    margin      of this box: at least so many mm, or as "5vox"; None: 10
    share       at least this share of the box's side; None: 0.3
    ends        beyond the first and the last slice with strokes, where few slices have some, at least
                this share; None: 0.375
    median      learn grey values from a median of 3 voxels too, unless what is drawn is narrow: half of
                its strokes less than 5 voxels from other strokes
    whole       share of the whole box in what speaks against a label; None: 0.5
    far         nats that a label loses far from its strokes; with strokes on one slice, or on two less than 10 mm
                and a quarter of the strokes' longest side apart, at most 2; None: 4
    shape       nats that outlines between slices with strokes give at most, shared by all structures; None: 2
    blur        Gaussian of shares, in least spacings; None: 1
    smooth      Gaussian of the majority, likewise; None: 1
    edge        the image's share at borders, 0 to 1; None: 1
    passes      growths; None: 2, but 1 where no slice has strokes of two labels, only one slice has
                strokes (or two as near to each other as for far) or slices across several axes have, and in 2D
    coarse      the first of two growths is on a coarser grid where the box has more voxels; None: 2^19
    suggest     put so many slices on which another stroke would help most into the report
    previous    labels that an earlier run came to: only what is near to strokes that say otherwise
                is changed
    reach       how near: mm, or as "5vox"; None: 20
    slices_full
                slices that have labels are labelled fully: what has none there is background, which
                needs no label then
    full        also give the strength (float32) with which each voxel was taken, and where another
                label could have grown almost as cheaply (uint8)

    Returns labels of the image's kind, the background as 0; with full a Segmented(labels, strength,
    uncertain). report gets "chosen", what was chosen for the case, and "labels", their number;
    "suggested"; "uncertain_voxels"; "correcting_stroke_voxels" and "changed_voxels".
    """
    if reach is not None and previous is None:
        raise InputError("reach says how far corrections of previous go, which is not given")
    call, of = begin(image, options, gpu=True)
    if previous is not None and isinstance(of, GpuImage):
        raise NotImplementedError("previous is not taken with arrays on a GPU")
    chosen = choices(
        margin, median, background=background, share=share, ends=ends, whole=whole, far=far, shape=shape, blur=blur,
        smooth=smooth, edge=edge, passes=passes, coarse=coarse,
    )  # fmt: skip
    seen, (drawn, _kept) = of.described(), _whole_numbers(of, strokes, "strokes")
    number, filled = ctypes.c_int32(chosen.background), _abi.lob_volume()
    out: _abi.lob_segment_output = library.lob_segment_output_empty()
    try:
        if previous is not None and background is None:
            before, _before = _whole_numbers(of, previous, "previous")
            call.run(library.lob_segment_background, byref(number), byref(before), byref(drawn), share=(0.0, 0.0), of="strokes")
        if slices_full:
            call.run(library.lob_segment_full, byref(filled), byref(number), byref(drawn), share=(0.0, 0.0), of="strokes")
            drawn, chosen.slips = filled, False
        chosen.background = number.value
        plan = _abi.lob_segment_plan()
        call.run(library.lob_segment_choose, byref(plan), byref(seen), byref(drawn), byref(chosen), share=(0.0, 0.01), of="strokes")
        if suggest > 0 and plan.flat:
            raise InputError("suggest needs a stack of slices, and the box around the strokes is one")
        asked = _abi.lob_segment_input(pointer(seen), pointer(drawn), full, full, suggest)
        backend = byref(call.functions)
        call.run(library.lob_segment, byref(out), byref(asked), byref(plan), backend, share=(0.01, 1.0), of="strokes")
        tell(call.report, of, plan, out, suggest)
        if previous is not None:
            _correct(call, of, out, plan, drawn, previous, reach)
        labels = take(of, out.labels)
        if not full:
            return of.give(labels, True)
        uncertain = take(of, out.uncertain)
        call.report["uncertain_voxels"] = int(uncertain.sum())
        return Segmented(of.give(labels, True), of.give(take(of, out.strength), False), of.give(uncertain, True))
    finally:
        library.lob_segment_output_free(byref(out))
        library.lob_volume_free(byref(filled))


def choices(margin: Any = None, median: Any = True, **given: Any) -> _abi.lob_segment_options:
    """What segment's options hold fixed."""
    chosen: _abi.lob_segment_options = library.lob_segment_defaults()
    put(chosen, **given)
    if margin is not None:
        chosen.margin, unit = sized(margin, "mm")
        chosen.margin_voxels = unit == "vox"
    chosen.median = choice("median", median, Switch) if isinstance(median, str) else bool(median)
    return chosen


def _whole_numbers(of: Source, other: Any, name: str) -> tuple[_abi.lob_volume, Any]:
    """Labels of any type on the image's grid, and what keeps them."""
    out, kept = of.beside(other, name)
    if out.channels != 1:
        raise InputError(f"{name}: labels have one channel, not {out.channels}")
    return out, kept


def take(of: Source, made: _abi.lob_volume) -> Any:
    """A volume's voxels as an array, which has them from now on."""
    address, made.data = made.data, None
    return of.take(address, made.owner, DTYPES[made.type])


def _correct(
    call: Any, of: Source, out: _abi.lob_segment_output, plan: _abi.lob_segment_plan, drawn: _abi.lob_volume,
    previous: Any, reach: Any,
) -> None:  # fmt: skip
    before, _kept = _whole_numbers(of, previous, "previous")
    length, unit = sized(20 if reach is None else reach, "mm")
    done, progress = _abi.lob_segment_corrected(), call.progress
    call.progress = None  # it has come to its end
    call.run(library.lob_segment_correct, byref(out.labels), byref(done), byref(before), byref(drawn), plan.background,
             length, unit == "vox")  # fmt: skip
    call.progress = progress
    call.report.update(correcting_stroke_voxels=done.said, changed_voxels=done.changed)


def tell(
    report: dict[str, Any], of: Source, plan: _abi.lob_segment_plan, out: _abi.lob_segment_output, suggest: int
) -> None:
    report["chosen"] = {
        "background": plan.background, "background_given": plan.options.background != 0, "passes": plan.passes,
        "slips_left_out": plan.slips,
        "median_axes": "".join(name for name, along in zip("xyz", plan.median) if along),
        "least_spacing_mm": plan.least_mm, "first_growth_spacing_mm": list(plan.coarse_mm),
        "box": {"first": list(plan.box.first), "size": list(plan.box.size)},
    }  # fmt: skip
    report["labels"] = plan.count - 1
    if suggest:
        report["suggested"] = suggested(of, plan, out)


def suggested(of: Source, plan: _abi.lob_segment_plan, out: _abi.lob_segment_output) -> list[dict[str, Any]]:
    """The slices on which another stroke would help most."""
    world = next((n for n in range(3) if library.lob_anatomical_axis(byref(of.geometry), n) == plan.axis), _abi.LOB_AXIAL)
    plane, sides = get_args(_abi.lob_anatomical_plane_word)[world], of.voxels.shape[:0:-1]
    slices: list[dict[str, Any]] = []
    for found in out.slices[: out.slice_count]:
        at, mm = (ctypes.c_double * 3)(*((side - 1) / 2 for side in sides)), (ctypes.c_double * 3)()
        at[plan.axis] = found.slice
        library.lob_voxel_to_world(mm, byref(of.geometry), at)
        slices.append({
            "plane": plane, "axis": plan.axis, "slice": found.slice, "mm": mm[world],
            "uncertain_voxels": found.uncertain,
        })  # fmt: skip
    return slices
