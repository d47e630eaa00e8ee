"""Arrays and images of other packages as volumes of the library, and results as what came in.

A volume of the library has x fastest. A numpy array (z, y, x) in C order and one (x, y, z) in
Fortran order, as nibabel gives it, are that already and are not copied.
"""

from __future__ import annotations

import atexit  # noqa: F401  weakref.finalize imports it when first called: a fork then would keep its lock
import ctypes
import math
import os
import sys
import weakref
from ctypes import byref
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from . import _abi
from ._errors import InputError
from ._library import check, free, library, malloc
from ._public import shown

TYPES = {
    np.dtype(name): getattr(_abi, "LOB_" + short)
    for name, short in (
        ("uint8", "U8"), ("int8", "I8"), ("uint16", "U16"), ("int16", "I16"), ("uint32", "U32"),
        ("int32", "I32"), ("uint64", "U64"), ("int64", "I64"), ("float32", "F32"), ("float64", "F64"),
    )
}  # fmt: skip
DTYPES = {number: dtype for dtype, number in TYPES.items()}
LABEL_TYPES = (_abi.LOB_U8, _abi.LOB_I16, _abi.LOB_I32)


def voxel_array(array: np.ndarray) -> np.ndarray:
    """The array in a type that the library reads: native bytes, no bool, no float16, no long double."""
    dtype = array.dtype
    if dtype == np.bool_:
        return array.view(np.uint8)
    if dtype == np.float16:
        return array.astype(np.float32)
    if dtype == np.longdouble:
        return array.astype(np.float64)
    native = array.astype(dtype.newbyteorder("="), copy=False)
    if native.dtype not in TYPES:
        raise InputError(f"voxels of type {dtype} are not taken; whole and real numbers are")
    return native


def whole(image: Any) -> np.ndarray:
    """The array, unless it hides elements: every function would have to say what those count as."""
    if np.ma.is_masked(image):
        raise InputError(
            "a masked array would lose its mask: give .filled(value), or .data and mask=~numpy.ma.getmaskarray(array)"
        )
    try:
        return np.asarray(image)
    except ValueError as problem:  # of rows that are not as long as each other
        raise InputError(f"no image, but {shown(image)}: {problem}") from None


def view(address: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array over memory that someone else keeps."""
    block = (ctypes.c_char * (math.prod(shape) * np.dtype(dtype).itemsize)).from_address(address)
    return np.ndarray(shape, dtype, buffer=block)


def memory(address: int | None, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array over memory that the library malloc'ed, freed with the last view of it."""
    if not address:
        return np.empty(shape, dtype)
    array = view(address, shape, dtype)
    weakref.finalize(array.base, free, address)
    return array


def rows(address: int | None, kind: Any, count: int) -> np.ndarray:
    """A copy of so many structures as an array with their fields."""
    if not address or not count:
        return np.zeros(0, np.dtype(kind))
    return view(address, (count,), np.dtype(kind)).copy()


class Held(NamedTuple):
    """An array of a call and where it lies; it is kept while its address is used."""

    array: Any
    address: int | None


NOTHING = Held(None, None)


def held(array: np.ndarray) -> Held:
    return Held(array, array.ctypes.data)


# ---- kinds of images ----


class Source:
    """What an image is besides its voxels: a plain array, and the base of the other kinds."""

    world = False  # does it say where it lies?
    place = _abi.lob_place()  # of its voxels, and of what goes with them: ordinary memory

    def __init__(self, image: Any, spacing: Any, axes: str, channel_axis: int | None):
        if axes not in ("zyx", "xyz"):
            raise InputError(f"axes is {axes!r}; it is 'zyx' or 'xyz'")
        self.image, self.xyz = image, axes == "xyz"
        self.slope, self.inter = 1.0, 0.0
        if isinstance(image, (str, os.PathLike)):
            raise InputError(f"{str(image)!r} is a name, not an image: load it first, as nibabel.load does")
        array = whole(image)
        self.channel_axis = channel_axis
        if channel_axis is not None:
            if not -array.ndim <= channel_axis < array.ndim:
                raise InputError(f"channel_axis is {channel_axis}; the array has {array.ndim} axes, counted from 0")
            array = np.moveaxis(array, channel_axis, 0)
        self.set_array(array, channel_axis is not None)
        self.set_spacing(spacing)

    def names(self) -> dict[int, str]:
        """Names of labels that the image carries; an array has none."""
        return {}

    def set_spacing(self, spacing: Any) -> None:
        lengths = [1.0, 1.0, 1.0]
        if spacing is not None:
            given = self.for_each_axis(spacing, "spacing")
            lengths[: self.ndim] = given if self.xyz else given[::-1]
            if not all(math.isfinite(length) and length > 0 for length in lengths):
                raise InputError(f"spacing is {spacing}; it is above 0 along each axis")
        self.geometry = library.lob_geometry_of_spacing((ctypes.c_double * 3)(*lengths))

    def set_array(self, array: np.ndarray, channels: bool) -> None:
        """Keep the voxels as (channel, z, y, x)."""
        spatial = array.shape[1:] if channels else array.shape
        self.ndim = len(spatial)
        if self.ndim == 0:
            raise InputError(f"no image, but {shown(self.image)}")
        if self.ndim not in (2, 3):
            what = "choose a frame, or name the axis of channels with channel_axis" if self.ndim > 3 else "it has 2 or 3"
            raise InputError(f"an array of {self.ndim} ax{'es' if self.ndim > 1 else 'is'} is no volume; {what}")
        if array.size == 0:
            raise InputError(f"an array of shape {spatial} has no voxels")
        if not channels:
            array = array[np.newaxis]
        if self.xyz:
            array = array.transpose(0, *range(array.ndim - 1, 0, -1))
        if self.ndim == 2:
            array = array[:, np.newaxis]
        self.voxels = np.ascontiguousarray(voxel_array(array))

    def axis(self, axis: int) -> int:
        """The library's axis, 0 for x, of an axis of the image's array."""
        if not -self.ndim <= axis < self.ndim:
            raise InputError(f"axis {axis} of an image of {self.ndim} axes")
        axis %= self.ndim
        return axis if self.xyz else self.ndim - 1 - axis

    def for_each_axis(self, values: Any, what: str) -> np.ndarray:
        """One number, or one for each axis of the array."""
        try:
            return np.broadcast_to(np.asarray(values, float), self.ndim)
        except (TypeError, ValueError):
            raise InputError(f"{what} is {values!r}; it is one number, or one for each of {self.ndim} axes") from None

    def in_order(self, values: Any) -> list[float]:
        """One number, or one for each axis of the array, as three along x, y, z."""
        given = self.for_each_axis(values, "a length")
        ordered = list(given if self.xyz else given[::-1])
        return [float(v) for v in ordered] + [0.0] * (3 - self.ndim)

    def as_came(self, voxels: np.ndarray) -> np.ndarray:
        """(z, y, x) or (channel, z, y, x) in the order of the axes that came in."""
        channels = voxels.ndim == 4
        if self.ndim == 2:
            voxels = voxels[:, 0] if channels else voxels[0]
        if self.xyz:
            voxels = voxels.transpose(*([0] if channels else []), *range(voxels.ndim - 1, int(channels) - 1, -1))
        return np.moveaxis(voxels, 0, -1 if self.channel_axis is None else self.channel_axis) if channels else voxels

    def give(self, voxels: np.ndarray, labels: bool, geometry: _abi.lob_geometry | None = None) -> Any:
        """A result of the same kind, on the same grid or on another one."""
        del labels, geometry
        came = self.as_came(voxels)
        if type(self.image).__module__.split(".")[0] == "torch":
            return sys.modules["torch"].from_numpy(np.array(came))
        return came


    # ---- what calls are given, and what they give back ----

    def described(self) -> _abi.lob_volume:
        return volume(self)

    def mask(self, mask: Any) -> Held:
        """A mask as bytes."""
        if mask is None:
            return NOTHING
        taken = companion(mask, self, "mask").voxels
        return held(np.ascontiguousarray((taken != 0).any(axis=0)).view(np.uint8))

    def beside(self, other: Any, name: str) -> tuple[_abi.lob_volume, Any]:
        """Another image on this one's grid, and what keeps it."""
        taken = companion(other, self, name)
        return volume(taken), taken

    def floats(self, other: Any, name: str) -> Held:
        if other is None:
            return NOTHING
        return held(np.ascontiguousarray(companion(other, self, name).voxels[0], np.float32))

    def labels(self, other: Any, name: str) -> Any:
        """Labels on the image's grid, or the image itself as labels."""
        return Labels(self if other is self else companion(other, self, name), name)

    def any_labels(self, name: str) -> Any:
        """The image as labels where the call takes all types of them."""
        return self.labels(self, name)

    def room(self, dtype: Any, channels: int = 0) -> Held:
        """A result: (z, y, x), or with channels (channel, z, y, x)."""
        return held(np.empty(((channels,) if channels else ()) + self.voxels.shape[1:], dtype))

    def take(self, address: int, device: Any, dtype: Any, channels: int = 0) -> Any:
        """A result that the call has allocated, as room has them."""
        del device
        return memory(address, ((channels,) if channels else ()) + self.voxels.shape[1:], dtype)

    def narrow(self, labels: Any, largest: int) -> Any:
        """Labels in the least type that holds the largest."""
        return labels.astype(DTYPES[library.lob_label_type(largest)], copy=False)

    def limit(self, distance: Any, limit: float) -> None:
        """Put a limit in place of infinite distances."""
        distance[distance == math.inf], distance[distance == -math.inf] = limit, -limit


def affine_of(geometry: _abi.lob_geometry | _abi.lob_field) -> np.ndarray:
    affine = np.eye(4)
    affine[:3] = np.ctypeslib.as_array(geometry.affine)
    return affine


class World(Source):
    """An image with an affine of its own."""

    world = True

    def set_affine(self, affine: np.ndarray) -> None:
        self.geometry = _abi.lob_geometry()
        rows = np.ascontiguousarray(affine[:3], np.float64)
        if not library.lob_geometry_of_affine(byref(self.geometry), rows.ctypes.data):
            raise InputError(f"the image's affine does not span space: {affine.tolist()}")


CARET = 30  # the code of NIfTI's extension that holds labels, as Connectome Workbench and TotalSegmentator write it


class Nibabel(World):
    def __init__(self, image: Any):
        self.image, self.xyz, self.channel_axis = image, True, None
        proxy = image.dataobj
        raw = all(hasattr(proxy, name) for name in ("get_unscaled", "slope", "inter"))
        array = whole(proxy.get_unscaled() if raw else proxy)
        self.slope, self.inter = (float(proxy.slope), float(proxy.inter)) if raw else (1.0, 0.0)
        while array.ndim > 3 and array.shape[-1] == 1:
            array = array[..., 0]
        channels = array.ndim == 5 and array.shape[3] == 1  # as NIfTI has vectors
        if array.ndim > 3 and not channels:
            raise InputError(f"an image of shape {array.shape} has several frames; choose one, as image.slicer[..., 0]")
        self.set_array(np.moveaxis(array[:, :, :, 0], -1, 0) if channels else array, channels)
        self.set_affine(np.asarray(image.affine if image.affine is not None else np.eye(4)))

    def names(self) -> dict[int, str]:
        found = {}
        for extension in getattr(self.image.header, "extensions", ()):
            if extension.get_code() == CARET:
                try:
                    content = extension.content if hasattr(extension, "content") else extension.get_content()
                    caret = ElementTree.fromstring(content.rstrip(b"\0"))
                    found.update({int(label.attrib["Key"]): label.text or "" for label in caret.iter("Label")})
                except (ElementTree.ParseError, AttributeError, LookupError, ValueError):
                    continue  # another program's
        return found

    def nifti(self) -> Any:
        """As NIfTI with the voxels and the scale that are stored: nibabel would make up another
        scale when it saves values, and saves other kinds of images under names of their own only."""
        import nibabel

        header = self.image.header.copy()
        kind = nibabel.Nifti2Image if isinstance(header, nibabel.Nifti2Header) else nibabel.Nifti1Image
        if not isinstance(header, nibabel.Nifti1Header):
            header = kind.header_class()
            header.set_xyzt_units("mm")
        header.set_data_dtype(self.voxels.dtype)
        out = kind(self.as_came(self.voxels[0]), self.image.affine, header)
        out.header.set_slope_inter(self.slope, self.inter)
        return out

    def give(self, voxels: np.ndarray, labels: bool, geometry: _abi.lob_geometry | None = None) -> Any:
        header = self.image.header.copy()
        header.set_data_dtype(voxels.dtype)
        if labels and hasattr(header, "set_intent"):  # the fields that the command gives a label volume
            header.set_intent("label", name="labels", allow_unknown=True)
            header["cal_min"], header["cal_max"], header["descrip"] = 0, voxels.max(), f"lobule {_abi.VERSION}"
        affine = self.image.affine if geometry is None else affine_of(geometry)
        came = self.as_came(voxels)
        return type(self.image)(came if came.ndim < 4 else came[:, :, :, np.newaxis], affine, header)


LPS = np.array([-1.0, -1.0, 1.0])


def place(image: Any, affine: np.ndarray) -> None:
    """Put an image of SimpleITK where an affine says."""
    n = image.GetDimension()
    affine = affine[:3] * LPS[:, np.newaxis]
    spacing = np.linalg.norm(affine[:, :3], axis=0)
    image.SetSpacing(spacing[:n].tolist())
    image.SetOrigin(affine[:n, 3].tolist())
    image.SetDirection((affine[:, :3] / spacing)[:n, :n].ravel().tolist())


# Bytes that are no UTF-8, which SimpleITK has as surrogates, are taken for Latin-1, as the command takes them.
LATIN_1 = {0xDC00 + byte: byte for byte in range(128, 256)}


class SimpleItk(World):
    def __init__(self, image: Any):
        import SimpleITK as sitk

        self.image, self.xyz, self.channel_axis = image, False, None
        self.slope, self.inter = 1.0, 0.0
        n = image.GetDimension()
        array = sitk.GetArrayViewFromImage(image)
        channels = image.GetNumberOfComponentsPerPixel() > 1
        if n > 3:
            raise InputError(f"an image of {n} dimensions has several frames; choose one")
        self.set_array(np.moveaxis(array, -1, 0) if channels else array, channels)
        affine = np.eye(4)
        direction = np.reshape(image.GetDirection(), (n, n))
        affine[:n, :n] = direction * np.asarray(image.GetSpacing())
        affine[:n, 3] = image.GetOrigin()
        affine[:3] *= LPS[:, np.newaxis]
        self.set_affine(affine)

    def names(self) -> dict[int, str]:
        """Those of 3D Slicer's segments, which SimpleITK keeps as it reads a .seg.nrrd."""
        found, keys = {}, set(self.image.GetMetaDataKeys())
        for key in sorted(keys):
            part = key.removesuffix("_LabelValue")
            value = self.image.GetMetaData(key) if part != key and f"{part}_Name" in keys else ""
            if value.isdecimal():
                found[int(value)] = self.image.GetMetaData(f"{part}_Name").translate(LATIN_1)
        return found

    def give(self, voxels: np.ndarray, labels: bool, geometry: _abi.lob_geometry | None = None) -> Any:
        import SimpleITK as sitk

        came = np.ascontiguousarray(self.as_came(voxels))
        out = sitk.GetImageFromArray(came, isVector=voxels.ndim == 4)
        if geometry is None:
            out.CopyInformation(self.image)
            return out
        place(out, affine_of(geometry))
        return out


MM = {"m": 1e3, "cm": 10.0, "mm": 1.0, "um": 1e-3, "\u00b5m": 1e-3, "\u03bcm": 1e-3, "micrometer": 1e-3, "nm": 1e-6}


class Xarray(Source):
    """A DataArray: its dimensions x, y, z say in which order its axes are, their coordinates how far
    voxels are apart; another dimension is one of channels."""

    def __init__(self, image: Any, spacing: Any, axes: str, channel_axis: int | None):
        names = [str(name).lower() for name in image.dims]
        space = "".join(name for name in names if name in ("x", "y", "z"))
        if space in ("xy", "xyz", "yx", "zyx"):
            others = [name for name in names if name not in ("x", "y", "z")]
            if len(others) > 1 or (others and others[0] in ("t", "time")):
                raise InputError(f"an image of dimensions {', '.join(names)} has several frames; choose one, as image.isel(t=0)")
            if others:
                channel_axis = names.index(others[0])
            axes = "xyz" if space.startswith("x") else "zyx"
        elif space:
            raise InputError(f"dimensions in the order {', '.join(names)}; give image.transpose('z', 'y', 'x')")
        steps = [self.step(image, name) for name, known in zip(image.dims, names) if known in space]
        super().__init__(image, steps if spacing is None and all(steps) else spacing, axes, channel_axis)

    @staticmethod
    def step(image: Any, name: Any) -> float | None:
        """How far voxels are apart along a dimension, in mm; None: its coordinates do not say it."""
        if name not in image.coords or image.sizes[name] < 2:
            return None
        at = np.asarray(image.coords[name].values)
        if at.dtype.kind not in "iuf":
            return None
        steps = np.diff(at.astype(float))
        if steps[0] == 0 or not np.allclose(steps, steps[0], rtol=1e-3, atol=0):
            raise InputError(f"the coordinates of dimension {name} are not evenly apart; resample the image, or give spacing")
        return abs(float(steps[0])) * MM.get(str(image.coords[name].attrs.get("units", "mm")), 1.0)

    def give(self, voxels: np.ndarray, labels: bool, geometry: _abi.lob_geometry | None = None) -> Any:
        came, image = self.as_came(voxels), self.image
        if voxels.ndim == 3 and self.channel_axis is not None:
            image = image.isel({image.dims[self.channel_axis]: 0}, drop=True)
        if came.shape == image.shape and geometry is None:
            return image.copy(data=came)
        kind, dims = type(image), list(image.dims)
        if came.ndim > len(dims):
            dims.append("channel")
        coords = {}
        if geometry is not None:
            for axis, name in enumerate(image.dims):
                along = "xyz".find(str(name).lower())
                at = image.coords[name].values if name in image.coords else None
                if along >= 0 and at is not None and len(at) > 1:
                    ratio = geometry.spacing_mm[along] / self.geometry.spacing_mm[along]
                    shift = geometry.affine[along][3] - self.geometry.affine[along][3]
                    begin = at[0] + (at[1] - at[0]) * shift / self.geometry.spacing_mm[along]
                    coords[name] = begin + (at[1] - at[0]) * ratio * np.arange(came.shape[axis])
        return kind(came, dims=dims, coords=coords, name=image.name, attrs=image.attrs)


def source(image: Any, spacing: Any = None, axes: str = "zyx", channel_axis: int | None = None) -> Source:
    """Take an image of any kind; what is no image becomes an array."""
    if isinstance(image, Source):
        return image
    if type(image).__module__.split(".")[0] == "xarray":
        return Xarray(image, spacing, axes, channel_axis)
    nibabel = hasattr(image, "dataobj") and hasattr(image, "affine")
    if nibabel or type(image).__module__.split(".")[0] == "SimpleITK":
        if spacing is not None or channel_axis is not None:
            raise InputError("spacing and channel_axis are for arrays; this image has its own")
        return Nibabel(image) if nibabel else SimpleItk(image)
    return Source(image, spacing, axes, channel_axis)


def turned(taken: Source, of: Source) -> Source:
    """A volume whose axes lie as an image's do, where they are only exchanged or flipped; else as it is."""
    turn, a, b = _abi.lob_turn(), volume(taken), volume(of)
    if not (taken.world and of.world) or not library.lob_turn_onto(byref(turn), byref(a), byref(b)):
        return taken
    axes, backwards = list(turn.axis), list(turn.backwards)
    if axes == [0, 1, 2] and not any(backwards):
        return taken
    out = World.__new__(World)
    out.__dict__.update(taken.__dict__)
    voxels = taken.voxels.transpose(0, *(3 - axis for axis in reversed(axes)))
    out.voxels = np.ascontiguousarray(np.flip(voxels, tuple(3 - axis for axis in (0, 1, 2) if backwards[axis])))
    out.geometry = library.lob_turned_geometry(byref(taken.geometry), dims(taken), byref(turn))
    return out


def companion(other: Any, of: Source, name: str) -> Source:
    """Another volume on the grid of an image, turned as that lies; an array has the image's order of axes."""
    try:
        taken = turned(source(other, axes="xyz" if of.xyz else "zyx"), of)
    except InputError as problem:
        raise InputError(f"{name}: {problem}") from None
    if taken.voxels.shape[1:] != of.voxels.shape[1:]:
        raise InputError(
            f"{name}: its shape is {taken.voxels.shape[1:]} and the image's {of.voxels.shape[1:]}, in the order z, y, x"
        )
    if not taken.world:
        taken.geometry = of.geometry
    elif of.world:
        error = _abi.lob_error()
        a, b = volume(of), volume(taken)
        check(library.lob_same_grid(byref(a), b"image", byref(b), name.encode(), byref(error)), error)
    return taken


# ---- the library's structures ----


def dims(of: Source) -> _abi.lob_dims:
    return _abi.lob_dims(*of.voxels.shape[:0:-1])


def volume(of: Source, voxels: np.ndarray | None = None) -> _abi.lob_volume:
    """A lob_volume over the voxels, which must outlive it: nothing in it is to be freed."""
    array = of.voxels if voxels is None else voxels
    out: _abi.lob_volume = library.lob_volume_empty()
    out.data = array.ctypes.data
    out.type = TYPES[array.dtype]
    out.dims = dims(of)
    out.channels = array.shape[0] if array.ndim == 4 else 1
    if voxels is None:
        out.slope, out.inter = of.slope, of.inter
    out.geometry = of.geometry
    return out


class Labels:
    """Labels 0..count in memory of the library's, for the labels of an image; see lob_labels_dense."""

    def __init__(self, of: Source, name: str):
        array = of.voxels
        if array.shape[0] != 1:
            raise InputError(f"{name}: labels have one channel, not {array.shape[0]}")
        self.source = of
        self.volume = volume(of)
        self.volume.data = malloc(array.nbytes)
        self.set = _abi.lob_label_set()
        weakref.finalize(self, _drop, self.volume, self.set)
        if not self.volume.data:
            raise MemoryError(f"no memory for {name}")
        ctypes.memmove(self.volume.data, array.ctypes.data, array.nbytes)
        error = _abi.lob_error()
        check(library.lob_labels_dense(byref(self.volume), byref(self.set), name.encode(), byref(error)), error)

    def own(self) -> _abi.lob_volume:
        """The volume, whose labels from now on are as they were, in the least type that holds them; none is dense."""
        if library.lob_labels_restore(byref(self.volume), byref(self.set)) != _abi.LOB_OK:
            raise MemoryError("no memory for labels as they were")
        return self.volume

    @property
    def dense(self) -> np.ndarray:
        """The labels 0..count, valid as long as this object."""
        return view(self.volume.data, self.source.voxels.shape[1:], DTYPES[self.volume.type])

    @property
    def values(self) -> np.ndarray:
        """The labels that occur, ascending, without 0."""
        if self.set.count == 0:
            return np.zeros(0, np.int32)
        return view(self.set.values, (self.set.count,), np.int32).copy()

    @property
    def numbers(self) -> tuple[Any, int, int | None]:
        """What a call is given of dense labels: their volume, count, and the values' address."""
        return self.volume, self.set.count, self.set.values

    def number(self, label: int) -> int:
        """The dense number of a label."""
        at = np.flatnonzero(self.values == label)
        if at.size == 0:
            raise InputError(f"no voxel has label {label}")
        return int(at[0]) + 1

    def restore(self, dense: np.ndarray) -> Any:
        """The labels that dense ones stand for, in the least label type that holds them."""
        values = np.concatenate([[0], self.values])
        return values.astype(DTYPES[library.lob_label_type(int(values[-1]))])[dense]


def _drop(held: _abi.lob_volume, labels: _abi.lob_label_set) -> None:
    library.lob_volume_free(byref(held))
    library.lob_label_set_free(byref(labels))


def address(array: np.ndarray | None) -> int | None:
    return None if array is None else array.ctypes.data


def taken(made: _abi.lob_volume) -> np.ndarray:
    """A volume's voxels as an array, which has them from now on: (z, y, x) or (channel, z, y, x)."""
    shape = (made.dims.nz, made.dims.ny, made.dims.nx)
    array = memory(made.data, shape if made.channels == 1 else (made.channels, *shape), DTYPES[made.type])
    made.data = None
    return array
