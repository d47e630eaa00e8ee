"""Steps of the command that the library has in parts: previews, seeds, appearance, refine, crop, merge.

Each is the command on images in memory (Step of _program.py), so results are its own to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

import numpy as np

from ._asked import choice
from ._errors import InputError
from ._images import filter as filtered
from ._program import Step, is_nested, read_picture
from ._public import Axis, Options, Plane, Size, public
from ._volumes import source, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Unpack

T = TypeVar("T")
File = Union[str, "os.PathLike[str]"]


def _many(given: Any) -> list[Any]:
    """One, several or none, as a list."""
    if given is None:
        return []
    if is_nested(given):
        return [whole(given)]
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _each(points: Any) -> list[Any]:
    """Files and tables of points, of which a list of rows is one."""
    several = isinstance(points, (list, tuple)) and any(isinstance(p, (str, os.PathLike)) or np.ndim(p) == 2 for p in points)
    return list(points) if several else [] if points is None else [points]


# ---- pictures ----

Convention = Literal["radiological", "neurological"]


@public
def preview(
    image: Any,
    labels: Any = None,
    *,
    output: File | None = None,
    html: File | None = None,
    plane: Plane | None = None,
    montage: int | None = None,
    mip: bool = False,
    at: Sequence[float] | None = None,
    window: Sequence[float] | str | None = None,
    alpha: float | None = None,
    contour: int | None = None,
    hide: Sequence[int] | str | None = None,
    convention: Convention | None = None,
    size: int | None = None,
    force: bool = False,
    **options: Unpack[Options],
) -> NDArray[np.uint8]:
    """Draw an image with labels over it.

    image       (z, y, x), any kind
    labels      the image's shape; may be left out
    output      file to write the picture to as well, in .png
    html        page to write, in .html, with a viewer of all slices
    plane       "axial", "coronal" or "sagittal" alone; None: all three, in a montage axial
    montage     so many slices of one plane, spread over the extent of the labels
    mip         maximum-intensity projection
    at          voxel where the planes meet, in the order of the image's axes; None: the labels' middle
    window      (low, high): values shown black and white; None: the percentiles 2 and 98, of a CT in
                 HU those of the body
    alpha       how much labels cover the image, 0 to 1
    contour     width of contours in pixels, 0 for none; None: by the picture's size
    hide        labels not to draw, or "none"; None: of several, one that fills over half of the volume
    convention  "radiological" shows the patient's right at the left
    size        neither side of the picture is longer than so many pixels
    force       replace files that exist

    Returns the picture, (rows, columns, 3) of uint8, as matplotlib.pyplot.imshow takes it.
    """
    given = dict(locals())
    if plane is not None:
        choice("plane", plane, Plane)
    del given["output"]
    step = Step("preview", given, "image", "labels")
    if at is not None:
        given["at"] = step.of.in_order(at)
    if html is not None:
        given["html"] = Path(html)
    with step:
        picture = step.out(".png") if output is None else Path(output)
        step.run(picture)
        return read_picture(picture)


# ---- seeds ----

Conflict = Literal["later", "earlier", "neither"]


def _in_255ths(step: Step, shares: Any) -> Any:
    """Shares of appearance as commands take them."""
    if shares is None:
        return None
    axes: Literal["xyz", "zyx"] = "xyz" if step.of.xyz else "zyx"
    at = -1 if step.of.channel_axis is None else step.of.channel_axis
    given = source(shares, axes=axes, channel_axis=at)
    if given.voxels.dtype.kind != "f":
        return given
    made = filtered(given, scale=(255, 0), cast="uint8", device="cpu")
    return source(made, axes=axes, channel_axis=given.channel_axis)


@public
def seeds(
    image: T,
    *,
    points: Any = None,
    label: int | None = None,
    radius: Size | None = None,
    labels: Any = None,
    erode: Size | None = None,
    seeds: Any = None,
    conflict: Conflict | None = None,
    shell: Size | None = None,
    shell_label: int | None = None,
    complete: Any = None,
    complete_axis: Axis | None = None,
    corrections: Axis | None = None,
    shares: Any = None,
    background: int | None = None,
    **options: Unpack[Options],
) -> T:
    """Make seeds of points, of labels and of other seeds.

    image        (z, y, x) or (y, x), any kind: the seeds lie on its grid
    points       a file, .mrk.json or .fcsv of 3D Slicer or a table; or an array with a row for each
                 point: its voxel, from 0, in the order of the image's axes, and perhaps its label. Or a
                 list of these
    label        label of points that have none; None: 1
    radius       points become balls: mm, or as "2vox"; None: the voxel that holds the point
    labels       labels, such as a segmentation of another time or reader; or a list of these
    erode        take so much off these labels on all sides: mm, or as "2vox"
    seeds        seeds to be joined as they are; or a list of these
    conflict     which label counts where sources disagree: "later", "earlier" or "neither" of labels,
                 points, seeds, in this order; None: later
    shell        what is farther than this from all seeds becomes background: mm, or as "40vox"
    shell_label  its label; None: the largest and 1
    complete     an earlier result: slices whose labels seeds cover (0.75) are completed with background
    complete_axis  across which these slices lie
    corrections  leave out corrections that look like another label: across this axis, what slices with
                 seeds of one label alone hold
    shares       what appearance gave: leave out seeds that look like another label by it
    background   with shares: the label that has none; with complete: the one that is filled in

    Returns labels of the image's kind.
    """
    given = dict(locals())
    with Step("seeds", given, "image") as step:
        given["points"] = [p if isinstance(p, (str, os.PathLike)) else step.points(p) for p in _each(points)]
        given.update(labels=_many(labels), seeds=_many(seeds), shares=_in_255ths(step, shares))
        return step.volume()


# ---- appearance, refine ----


@public
def appearance(
    image: T,
    seeds: Any,
    *,
    view: Any = None,
    background: int | None = None,
    outline: Any = None,
    bins: int | None = None,
    bin_sigma: float | None = None,
    whole: float | None = None,
    partial_volume: float | None = None,
    values: bool | None = None,
    far: float | None = None,
    far_quantile: float | None = None,
    far_least: float | None = None,
    shape: float | None = None,
    shape_border: float | None = None,
    shape_widen: float | None = None,
    shape_slope: float | None = None,
    local: float | None = None,
    local_axis: Axis | None = None,
    local_step: float | None = None,
    **options: Unpack[Options],
) -> T:
    """How likely each voxel is each label, learnt from the values under strokes.

    image         (z, y, x) or (y, x), any kind, one channel
    seeds         the image's shape: strokes, labels from 1, 0 is unknown
    view          another look at the image, such as a smoothed one, whose values count too
    background    the label that stands for all else; None: the one whose strokes surround the others
    outline       an earlier result, whose shape in slices with strokes counts instead of the distance
                  to strokes
    bins          between the least and the greatest value under strokes
    bin_sigma     how far values speak for others, in bins
    whole         share of the whole volume, beside the background's strokes, in what speaks against a label, 0 to 1
    partial_volume
                  share of voxels that hold two tissues, whose values lie between those under strokes, in
                  what is learnt, 0 to 1
    values        after the shares also the image's values, from 0 at the least under strokes to 1 at the
                  greatest
    far           nats that a label loses far from its strokes, or with outline far outside
    far_quantile  share of other strokes that lies within the reach, 0 to 1
    far_least     the least reach, mm
    shape         with outline: nats that a label gains at most well inside, and loses outside
    shape_border  distance to the outline that is worth a nat, mm
    shape_widen   what is added to that for each mm to the nearest slice with strokes; beyond the ends of several a third
    shape_slope   by how much an outline shrinks for each mm beyond the last slices with strokes
    local         share of the scores that is learnt from strokes nearby, 0 to 1
    local_axis    nearby are strokes in the same slice across this axis ("x", "y", "z") and the next ones
    local_step    from point to point at which they are learnt, mm

    Returns float32 shares, 0 to 1, of the image's kind, with one channel more at the end (at
    channel_axis, where that is given) for each label but the background, and with values for each channel
    of the image.
    """
    with Step("appearance", dict(locals()), "image", "seeds") as step:
        return step.volume(channels=True)


Absent = Literal["x", "y", "z", "none"]


@public
def refine(
    labels: Any,
    image: T,
    seeds: Any,
    *,
    background: int | None = None,
    smooth: Size | None = None,
    edge: float | None = None,
    edge_sigma: Size | None = None,
    edge_smooth: Size | None = None,
    keep_volume: bool = False,
    fade: Absent | None = None,
    first: Any = None,
    plain: Any = None,
    plain_step: Sequence[int] | None = None,
    shares: Any = None,
    settle: float | None = None,
    settle_sigma: Size | None = None,
    others: Any = None,
    absent: Absent | None = None,
    walls: bool = False,
    **options: Unpack[Options],
) -> T:
    """Smooth labels that grew from seeds, with the image's word on where their borders are.

    labels        the image's shape: what growcut gave
    image         (z, y, x) or (y, x), any kind, one channel
    seeds         the image's shape: strokes, labels from 1, 0 is unknown
    background    the label that stands for all else; None: the one whose strokes surround the others
    smooth        Gaussian majority of this sigma: mm, or as "1vox"; None: 1vox; 0: none
    edge          how much the image decides where borders are, beside the labels, 0 to 1
    edge_sigma    Gaussian of the image's means on both sides of a border; None: 1vox
    edge_smooth   Gaussian of what the image decides; None: 0.7vox; 0: none
    keep_volume   each label gets as many voxels as what the image and the labels decide sums to, so that this Gaussian
                  takes nothing off what is small in voxels
    fade          with edge: beyond its first and last slice with strokes across this axis ("x", "y", "z") a label
                  ends with the first on which less of its border is seen in the image than half of what is on these;
                  "none": it goes on
    first         labels of an earlier growth: where they agree on a label with those of plain by a Dice of 0.75, and
                  these have 0.85 of it or agree with it more than labels do, background that both give it becomes its own
    plain         with first: labels that grew over the image alone. They confirm a label of which they have 0.94, if 0.96
                  of theirs is the label's in first or beside it. Where they confirm most labels, background that first
                  gives a label becomes its own, and what they give one on which both agree by a Dice of 0.75
    plain_step    with first: voxels along x, y, z to one of the grid on which these grew. Where it was coarser and most
                  labels are confirmed, these grow anew at the end, within 2 voxels of all borders, in place of edge
    shares        what appearance gave: labels settle by it in place of the majority
    settle        with shares: what the fourth root of a share weighs against the labels around
    settle_sigma  with shares: Gaussian of the labels around; None: 2vox
    others        with shares: labels that grew in another way, which count as much at first
    absent        with shares: slices across this axis ("x", "y", "z") with strokes of the background and
                  of others have no label but those drawn on them; "none": there are none
    walls         a label around another one, painted along its middle, is about twice as wide as its strokes
                  are far from that: what is farther becomes background; what is in the convex hull of
                  the other one in a slice, and not drawn, becomes the other's

    Returns labels of the image's kind, the background as 0.
    """
    given = dict(locals())
    with Step("refine", given, "labels", "image", "seeds", of="image") as step:
        given["shares"] = _in_255ths(step, shares)
        return step.volume()


# ---- parts, basins ----


@public
def crop(
    image: T,
    *,
    around: Any = None,
    margin: Size | None = None,
    share: float | None = None,
    ends: float | None = None,
    first: Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    **options: Unpack[Options],
) -> T:
    """Cut a box out of an image; it keeps its place in the world.

    image   (z, y, x) or (y, x), any kind: a scan, a mask or labels
    around  the image's shape: the box of what is not 0 in it
    margin  widen the box by so much on every side: mm, or as "5vox"
    share   widen each side by this share of the box's own; with margin, the larger counts
    ends    of strokes on a few slices: at least this share beyond the first slice and the last
    first   the box's first voxel, from 0, in the order of the image's axes, in place of around
    size    with first: the box's sides in voxels, likewise

    Returns an image of the same kind. report gets "first" and "size", along x, y, z.
    """
    given = dict(locals())
    with Step("crop", given, "image") as step:
        if first is not None:
            given["first"] = [int(v) for v in step.of.in_order(first)]
        if size is not None:
            given["size"] = [max(1, int(v)) for v in step.of.in_order(size)]
        return step.volume(channels=step.of.channel_axis is not None)


@public
def merge(
    labels: T,
    image: Any,
    *,
    height: float | None = None,
    share: float | None = None,
    level: float | None = None,
    **options: Unpack[Options],
) -> T:
    """Join basins of a flood whose walls are low.

    labels  (z, y, x) or (y, x), any kind: basins, 0 is none
    image   the labels' shape: what was flooded, low inside of basins, high between them
    height  walls are at least so high over the higher of two bottoms, in image units
    share   and at least this share of what lies between that bottom and level, 0 to 1
    level   value of a full wall, for share

    Returns labels of the same kind.
    """
    if share is not None and level is None:
        raise InputError("share is one of the way up to level, which is not given")
    with Step("merge", dict(locals()), "labels", "image") as step:
        return step.volume()
