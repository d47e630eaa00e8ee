"""One scan onto another: registration, and volumes through its fields."""

from __future__ import annotations

import ctypes
import weakref
from ctypes import byref, pointer
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _device
from ._asked import choice, put
from ._errors import InputError
from ._grow import begin
from ._library import Call, check, library
from ._public import Options, public
from ._volumes import DTYPES, LPS, TYPES, affine_of, held, place, source, taken

if TYPE_CHECKING:
    from typing_extensions import Unpack

Start = _abi.lob_register_start_word


class Field:
    """Where each point of a fixed scan lies in a moving one.

    array   (3, z, y, x), float32: displacements in mm along left, posterior, superior, as in files
    affine  4 x 4: from voxels x, y, z of the array to the world, RAS
    matrix  4 x 4: the affine part alone, from the fixed scan's world to the moving one's, RAS
    """

    def __init__(self, array: np.ndarray, affine: np.ndarray, matrix: np.ndarray | None = None):
        self.array = np.ascontiguousarray(array, np.float32)
        self.affine = np.asarray(affine, np.float64)
        self.matrix = np.eye(4) if matrix is None else matrix
        if self.array.ndim != 4 or self.array.shape[0] != 3:
            raise InputError(f"a field has the shape (3, z, y, x), not {self.array.shape}")

    def nibabel(self) -> Any:
        """As an image of nibabel, whose file `lobule warp`, ITK and ANTs take."""
        import nibabel

        out = nibabel.Nifti1Image(self.array.transpose(3, 2, 1, 0)[:, :, :, np.newaxis], self.affine)
        out.header.set_intent("vector")
        out.header.set_xyzt_units("mm")
        return out

    def itk(self) -> Any:
        """As an image of SimpleITK, for sitk.DisplacementFieldTransform."""
        import SimpleITK as sitk

        out = sitk.GetImageFromArray(np.moveaxis(self.array, 0, -1).astype(np.float64), isVector=True)
        place(out, self.affine)
        return out


def _field_of(field: Any) -> Field:
    """A field, or an image of nibabel or SimpleITK that holds one."""
    if isinstance(field, Field):
        return field
    if hasattr(field, "dataobj") and hasattr(field, "affine"):
        array = np.asarray(field.dataobj)
        if array.ndim != 5 or array.shape[3:] != (1, 3):
            raise InputError(f"a field of nibabel has the shape (x, y, z, 1, 3), not {array.shape}")
        return Field(array[:, :, :, 0].transpose(3, 2, 1, 0), field.affine)
    taken = source(field)
    if taken.voxels.shape[0] != 3 or not taken.world:
        raise InputError("a field is a lobule.Field, or an image of nibabel or SimpleITK with three channels")
    return Field(taken.voxels, affine_of(taken.geometry))


class _Taken:
    """A field in the library's words, freed with this object."""

    def __init__(self, field: Any):
        self.field = _abi.lob_field()
        weakref.finalize(self, library.lob_field_free, byref(self.field))
        if field is None:
            return
        taken, error = _field_of(field), _abi.lob_error()
        seen = library.lob_volume_empty()
        seen.data, seen.type, seen.channels = taken.array.ctypes.data, _abi.LOB_F32, 3
        seen.dims = _abi.lob_dims(*taken.array.shape[:0:-1])
        rows = np.ascontiguousarray(taken.affine[:3])
        if not library.lob_geometry_of_affine(byref(seen.geometry), rows.ctypes.data):
            raise InputError(f"the field's affine does not span space: {taken.affine.tolist()}")
        check(library.lob_field_of_volume(byref(self.field), byref(seen), byref(error)), error)


@public
def register(
    fixed: Any,
    moving: Any,
    *,
    affine_only: bool = False,
    grid: float | None = None,
    smooth: float | None = None,
    mask: Any = None,
    start: Start = "best",
    moving_spacing: Any = None,
    **options: Unpack[Options],
) -> Field:
    """Find where each point of a fixed scan lies in a moving one.

    fixed, moving   (z, y, x) or (y, x), any kind, one channel; both in ordinary memory or on a GPU
    affine_only     find an affine, and no displacements beside
    grid            work on voxels of this size in mm; None: 3, finer for small scans
    smooth          how stiff the field is; None: as the command
    mask            on the fixed scan's grid; 0 does not count
    start           "headers" (where these place the scans), "centres" (these on each other), or
                    "best" of both
    moving_spacing  of an array `moving`: its voxel sizes; None: as `spacing`

    Returns a Field; report gets the shares of bits that differ, of the fixed scan that overlaps the
    moving one, and of folds, the points that the affine rests on, whether it is "doubtful", the share
    of each scan that is its "field_of_view", and the longest displacement.
    """
    spacing, axes = options.get("spacing"), options.get("axes", "zyx")
    call, of = begin(fixed, options, gpu=True)
    other = _other(moving, call, spacing if moving_spacing is None else moving_spacing, axes, "moving")
    chosen: _abi.lob_register_options = library.lob_register_defaults()
    put(chosen, affine_only=affine_only, spacing_mm=grid, smooth=smooth)
    chosen.start = choice("start", start, Start)
    covered = of.mask(mask)
    seen, moved = of.described(), other.described()
    given = _abi.lob_register_input(pointer(seen), pointer(moved), covered.address)
    stats, out = _abi.lob_register_stats(), _abi.lob_field()
    call.run(library.lob_register, byref(out), byref(stats), byref(given), byref(chosen))
    call.tell(stats, "cost_before", "cost_affine", "cost_after", "overlap", "matches", "points", "doubtful", "folded", "most_mm",
              "working_bytes")  # fmt: skip
    call.report["field_of_view"] = list(stats.view)
    call.report["start"] = "centres" if stats.centres else "headers"
    shape = (3, out.dims.nz, out.dims.ny, out.dims.nx)
    voxels, matrix = affine_of(out.geometry), affine_of(out)
    try:
        mm = _device.found(ctypes.cast(out.mm, ctypes.c_void_p).value, shape, np.float32, call)
        return Field(mm * np.float32(LPS)[:, np.newaxis, np.newaxis, np.newaxis], voxels, matrix)
    finally:
        library.lob_field_free(byref(out))


def _other(image: Any, call: Call, spacing: Any, axes: str, name: str) -> Any:
    """A second image, on a grid of its own, where the first one is."""
    if call.on_gpu != _device.is_on_gpu(image):
        raise InputError(f"{name}: is not where the first image is; copy one of them, so that both are on the GPU or neither")
    if call.on_gpu:
        return _device.GpuImage(image, call, spacing, axes)
    placed = hasattr(image, "dataobj") or type(image).__module__.split(".")[0] == "SimpleITK"
    return source(image) if placed else source(image, spacing, axes)


@public
def warp(
    image: Any,
    field: Any,
    like: Any,
    *,
    labels: bool = False,
    nearest: bool = False,
    inverse: bool = False,
    then: Any = None,
    like_spacing: Any = None,
    **options: Unpack[Options],
) -> Any:
    """Bring a volume through a field of displacements.

    image         (z, y, x) or (y, x), any kind; with channel_axis several channels. On a GPU, like is there too
    field         what `register` gives, or an image of nibabel or SimpleITK that holds displacements in mm along LPS
    like          an image whose grid is taken
    labels        the voxels are labels, which are not mixed
    nearest       take the nearest voxel in place of a mean
    inverse       go the other way: from the moving scan's volumes to the fixed one's
    then          a second field, which leads on from where `field` leads
    like_spacing  voxel sizes of like, where that is an array; None: as spacing

    Returns an image of the kind of `like`.
    """
    if labels and nearest:
        raise InputError("labels are never mixed: leave nearest out")
    spacing, axes = options.get("spacing"), options.get("axes", "zyx")
    call, of = begin(image, options, gpu=True)
    target = _other(like, call, spacing if like_spacing is None else like_spacing, axes, "like")
    seen, onto = of.described(), target.described()
    if labels and not call.on_gpu:
        narrow = of.voxels.astype(DTYPES[library.lob_label_type(int(of.voxels.max()))], copy=False)
        seen.data, seen.type = held(narrow).address, TYPES[narrow.dtype]
    by = _Taken(field)
    if then is not None:
        more, made = _Taken(then), _Taken(None)
        call.run(library.lob_field_compose, byref(made.field), byref(by.field), byref(more.field))
        by = made
    if inverse:
        made = _Taken(None)
        call.run(library.lob_field_invert, byref(made.field), byref(by.field), byref(onto))
        by = made
    method = _abi.LOB_WARP_LABELS if labels else _abi.LOB_WARP_NEAREST if nearest else _abi.LOB_WARP_LINEAR
    out = _abi.lob_volume()
    call.run(library.lob_warp, byref(out), byref(seen), byref(by.field), byref(onto), method)
    if call.on_gpu:
        address, out.data = out.data, None
        dtype, channels = DTYPES[out.type], 0 if of.channel_axis is None else out.channels
        library.lob_volume_free(byref(out))
        return target.take(address, call.context.device, dtype, channels)
    voxels = taken(out)
    library.lob_volume_free(byref(out))
    if (of.slope, of.inter) != (1.0, 0.0) and not labels:
        voxels = voxels * of.slope + of.inter
    return target.give(voxels if of.channel_axis is None or voxels.ndim == 4 else voxels[np.newaxis], labels)
