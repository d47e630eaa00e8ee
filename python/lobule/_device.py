"""Arrays that are in a GPU's memory already: CuPy, PyTorch, Numba and others, without a copy.

An array is taken through DLPack, which waits for its owner's work in our stream, or through
__cuda_array_interface__. Results are made by the package that the image came from. When a call
returns, the GPU has finished.
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from ctypes import POINTER, byref
from typing import Any, NamedTuple

import numpy as np

from . import _abi
from ._errors import InputError
from ._library import Call, caller_s_gpu, check, driver, library
from ._volumes import DTYPES, TYPES, Source, dims, slice_axis, spacing_of

CUDA, MANAGED = 2, 13  # DLPack's kDLCUDA and kDLCUDAManaged
NAMED = {dtype.name: dtype for dtype in TYPES}
NAMED["bool"] = NAMED["uint1"] = NAMED["uint8"]


def is_on_gpu(array: Any) -> bool:
    """Is this an array in a GPU's memory?"""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in (CUDA, MANAGED)
    return hasattr(array, "__cuda_array_interface__")


DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


def _driver_s_gpu(address: int) -> int | None:
    """The GPU in whose memory an address lies, as CUDA's driver knows it; None: it does not."""
    number, cuda = ctypes.c_int(-1), driver()
    if cuda is None:
        return None
    failed = cuda.cuPointerGetAttribute(byref(number), ctypes.c_int(DEVICE_ORDINAL), ctypes.c_uint64(address))
    return None if failed or number.value < 0 else number.value


def gpu_of(array: Any) -> int | None:
    """The number of the GPU in whose memory an array is; None: unknown, or memory that all share."""
    if hasattr(array, "__dlpack_device__"):
        kind, number = array.__dlpack_device__()
        return int(number) if int(kind) == CUDA else None
    return _driver_s_gpu(array.__cuda_array_interface__["data"][0])


# ---- DLPack ----


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", ctypes.c_int), ("device_id", ctypes.c_int), ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", POINTER(ctypes.c_int64)), ("strides", POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]  # fmt: skip


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p

KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "uint"}  # DLPack's codes; 6 is bool


class Array:
    """Address, shape and type of an array on a GPU, valid as long as this object."""

    def __init__(self, array: Any, name: str, call: Call):
        self.name, device = name, call.context.device
        if not is_on_gpu(array):
            raise InputError(f"{name}: is in ordinary memory and the image on a GPU; copy it there")
        own, computing = gpu_of(array), library.lob_device_number(device)
        if own not in (None, computing):
            raise InputError(f"{name}: is in the memory of GPU {own}, and the call is on GPU {computing}; copy it there")
        if hasattr(array, "__dlpack__"):
            self._by_dlpack(array, library.lob_device_stream(device) or 1)
        else:
            self._by_interface(array, device)

    def _by_dlpack(self, array: Any, stream: int) -> None:
        try:
            self.owner = array.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:  # of before DLPack 1.0
            self.owner = array.__dlpack__(stream=stream)
        # The capsule keeps its name: its own destructor gives the memory back.
        if _is_valid(self.owner, b"dltensor_versioned"):
            held = _Versioned.from_address(_pointer(self.owner, b"dltensor_versioned")).tensor
        else:
            held = _Tensor.from_address(_pointer(self.owner, b"dltensor"))
        kind = f"{KINDS.get(held.code, 'complex')}{held.bits}"
        self._type(kind if held.lanes == 1 else f"{kind} x {held.lanes}")
        self.shape = tuple(held.shape[i] for i in range(held.ndim))
        strides = [held.strides[i] for i in range(held.ndim)] if held.strides else None
        self._order(strides, 1)
        self.address = (held.data or 0) + held.byte_offset

    def _by_interface(self, array: Any, device: Any) -> None:
        about = array.__cuda_array_interface__
        self.owner = array
        self.shape = tuple(about["shape"])
        given = np.dtype(about["typestr"])
        self._type(given.name if given.isnative else f"{given.name} in another byte order")
        strides = about.get("strides")
        self._order(list(strides) if strides else None, self.dtype.itemsize)
        self.address = about["data"][0]
        # Who names no stream may still have work in the default one: Numba, or before version 3 anyone.
        stream = about.get("stream") or 1
        error = _abi.lob_error()
        with caller_s_gpu():
            status = library.lob_device_wait_stream(device, stream, byref(error))
        check(status, error)

    def _type(self, name: str) -> None:
        dtype = NAMED.get(name)
        if dtype is None:
            raise InputError(f"{self.name}: voxels of type {name} are not taken on a GPU")
        self.dtype = dtype

    def _order(self, strides: list[int] | None, unit: int) -> None:
        """Which order of axes has no gaps: C, Fortran, or neither."""
        sides = [(n, s) for n, s in zip(self.shape, strides or [])]
        self.c, self.fortran = True, len([n for n in self.shape if n > 1]) < 2
        if strides is not None:
            self.c, self.fortran = _packed(sides[::-1], unit), _packed(sides, unit)


def _packed(sides: list[tuple[int, int]], step: int) -> bool:
    for n, stride in sides:
        if n > 1 and stride != step:
            return False
        step *= n
    return True


# ---- calls ----


class Voxels(NamedTuple):
    """What is known of an image's voxels here: (channel, z, y, x)."""

    shape: tuple[int, ...]
    dtype: np.dtype


class GpuImage(Source):
    """An array on a GPU as an image: its voxels' shape and type, and their address."""

    def __init__(self, image: Any, call: Call, spacing: Any = None, axes: str = "zyx", channel_axis: int | None = None):
        self.array = Array(image, "image", call)
        self.gpu = library.lob_device_number(call.context.device)
        self.image, self.xyz, self.channel_axis = image, axes == "xyz", channel_axis
        shape, channels = self.array.shape, channel_axis is not None
        if 0 in shape:
            raise InputError(f"an array of shape {shape} has no voxels")
        if axes not in ("zyx", "xyz"):
            raise InputError(f"axes is {axes!r}; it is 'zyx' or 'xyz'")
        if channel_axis not in (None, 0):
            raise InputError("on a GPU channels are the first axis: channel_axis=0")
        if not (self.array.fortran and not channels if self.xyz else self.array.c):
            raise InputError(
                "an array on a GPU is taken as it lies in memory: (z, y, x) in C order, or with axes='xyz' in "
                "Fortran order; make a copy in that order"
            )
        seen = shape[1:] if channels else shape
        self.ndim = len(seen)
        if self.ndim not in (2, 3):
            raise InputError(f"an array of {self.ndim} axes is no volume")
        whole = (shape[0] if channels else 1, *((1,) * (3 - self.ndim)), *(seen[::-1] if self.xyz else seen))
        self.voxels: Any = Voxels(whole, self.array.dtype)
        self.set_spacing(spacing)

    def described(self) -> _abi.lob_volume:
        out: _abi.lob_volume = library.lob_volume_empty()
        out.type, out.dims, out.channels = TYPES[self.voxels.dtype], dims(self), self.voxels.shape[0]
        out.slope, out.inter, out.geometry = 1.0, 0.0, self.geometry
        return out

    def empty(self, dtype: np.dtype, channels: int = 0) -> Any:
        """An array for a result, of the image's own package, in the image's order of axes."""
        spatial = self.array.shape[1:] if self.channel_axis == 0 else self.array.shape
        shape = ((channels,) if channels else ()) + spatial
        package = type(self.image).__module__.split(".")[0]
        if self.xyz and package != "cupy":
            raise InputError("axes='xyz' on a GPU is for CuPy; give (z, y, x)")
        if package == "torch":
            torch = sys.modules["torch"]
            return torch.empty(shape, dtype=getattr(torch, dtype.name), device=self.image.device)
        if package == "numba":
            from numba import cuda

            with cuda.gpus[self.gpu]:
                return cuda.device_array(shape, dtype)
        if package == "cupy":
            cupy = sys.modules["cupy"]
            with cupy.cuda.Device(self.gpu):
                return cupy.empty(shape, dtype, order="F" if self.xyz else "C")
        space = self.image.__array_namespace__()
        return space.empty(shape, dtype=getattr(space, dtype.name), device=self.image.device)


def _begin(image: Any, options: dict[str, Any]) -> tuple[Call, GpuImage]:
    about = {name: options.pop(name) for name in ("spacing", "axes", "channel_axis") if name in options}
    if options.get("device", "auto") == "auto":
        options["device"] = f"cuda:{gpu_of(image) or 0}"
    call = Call(**options)
    if not call.context.device:
        raise InputError("the array is in a GPU's memory; device must be that GPU")
    return call, GpuImage(image, call, **about)


def _other(array: Any, of: GpuImage, name: str, call: Call) -> Array:
    taken = Array(array, name, call)
    spatial = of.array.shape[1:] if of.channel_axis == 0 else of.array.shape
    if taken.shape != spatial or not (taken.fortran if of.xyz else taken.c):
        raise InputError(f"{name}: is not of the image's shape {spatial} and order in memory")
    return taken


def _look(array: Any, taken: Array, call: Call, ask: Callable[[Any], Any]) -> Any:
    """Ask an array for a number; one of a package without arithmetic, as Numba's, is looked at here."""
    if hasattr(array, "max"):
        return ask(array)
    here = np.empty(taken.shape, taken.dtype)
    with caller_s_gpu():
        copied = library.lob_device_download(
            call.context.device, here.ctypes.data, taken.address, here.nbytes, byref(call.error)
        )
    check(copied, call.error)
    return ask(here)


def _largest_label(array: Any, taken: Array, call: Call, name: str) -> int:
    """The largest label, where all are at least 0."""
    if taken.dtype.kind == "i":
        least = _look(array, taken, call, lambda a: int(a.min()))
        if least < 0:
            raise InputError(f"{name}: {least} is no label; labels are whole numbers from 0")
    return _look(array, taken, call, lambda a: int(a.max()))


def _mask(mask: Any, of: GpuImage, call: Call) -> Array | None:
    if mask is None:
        return None
    taken = _other(mask, of, "mask", call)
    if taken.dtype != np.uint8:
        raise InputError(f"mask: is of type {taken.dtype}; on a GPU it is uint8 or bool")
    return taken


ALIGNED = 256  # bytes: where filters want arrays to begin


def _aligned(array: Any, taken: Array, call: Call) -> Array:
    """The array, or a copy on the GPU where it is a view that begins at another address."""
    if taken.address % ALIGNED == 0:
        return taken
    if hasattr(array, "clone"):
        return Array(array.clone(), taken.name, call)
    if hasattr(array, "copy"):
        return Array(array.copy(order="K"), taken.name, call)
    raise InputError(f"{taken.name}: begins at an address that is no multiple of {ALIGNED}; make a copy")


def _run(call: Call, function: Callable[..., int], *arguments: Any) -> None:
    """Call a function of arrays on the GPU. Whatever comes of it, the GPU is done with them then."""
    try:
        call.run(function, *arguments)
    finally:
        with caller_s_gpu():
            status = library.lob_device_wait(call.context.device, byref(call.error))
    check(status, call.error)


def _at(array: Array | None) -> int | None:
    return None if array is None else array.address


def _room(of: GpuImage, dtype: Any, call: Call, channels: int = 0) -> tuple[Any, Array]:
    """A result and where it lies. Its package may still use the memory: taking it waits for that."""
    made = of.empty(np.dtype(dtype), channels)
    return made, Array(made, "result", call)


def growcut(
    image: Any, seeds: Any, chosen: _abi.lob_growcut_options, mask: Any, full: bool, options: Any, slices: Any,
    not_taken: dict[str, Any],
) -> Any:  # fmt: skip
    from ._grow import GrowCut

    for name, value in not_taken.items():
        if value is not None:
            raise NotImplementedError(f"{name} is not taken with arrays on a GPU")
    call, of = _begin(image, options)
    axis = slice_axis(slices, of)
    if axis >= 0:
        chosen.slice_axis, chosen.neighbours = axis, min(chosen.neighbours, 8)
    drawn = _other(seeds, of, "seeds", call)
    covered = _mask(mask, of, call)
    if TYPES[drawn.dtype] not in (_abi.LOB_U8, _abi.LOB_I16, _abi.LOB_I32):
        raise InputError(f"seeds: are of type {drawn.dtype}; on a GPU they are uint8, int16 or int32")
    labels, at = _room(of, drawn.dtype, call)
    strength, strength_at = _room(of, np.float32, call) if full else (None, None)
    tie, tie_at = _room(of, np.uint8, call) if full else (None, None)
    seen, marks = of.described(), of.described()
    marks.type, marks.channels = TYPES[drawn.dtype], 1
    given = _abi.lob_growcut_input(POINTER(_abi.lob_volume)(seen), POINTER(_abi.lob_volume)(marks), _largest_label(seeds, drawn, call, "seeds"))
    arrays = _abi.lob_growcut_arrays(
        of.array.address, drawn.address, _at(covered), at.address, _at(strength_at), _at(tie_at)
    )
    stats = _abi.lob_growcut_stats()
    _run(call, library.lob_growcut_cuda_arrays, byref(arrays), byref(stats), byref(given), byref(chosen))
    call.tell(stats, "data_voxels", "not_finite", "seeds", "seeds_outside", "reached", "largest_cost", "level_step")
    return GrowCut(labels, strength, tie) if full else labels


def components(
    image: Any, chosen: _abi.lob_components_options, above: Any, limits: Any, neighbours: Any, slices: Any,
    min_size: Any, max_size: Any, mask: Any, options: Any,
) -> Any:  # fmt: skip
    from ._grow import components_of

    call, of = _begin(image, options)
    seen = of.described()
    components_of(chosen, of, seen, above, limits, neighbours, slices, min_size, max_size)
    if chosen.type == _abi.LOB_TYPES or chosen.keep_values:
        chosen.type = _abi.LOB_I32
    covered = _mask(mask, of, call)
    labels, at = _room(of, DTYPES[chosen.type], call)
    given = _abi.lob_components_input(POINTER(_abi.lob_volume)(seen))
    arrays = _abi.lob_components_arrays(of.array.address, _at(covered), None, at.address)
    out = _abi.lob_components_output()
    _run(call, library.lob_components_cuda_arrays, byref(arrays), byref(out), byref(given), byref(chosen))
    call.tell(out, "found", "foreground", "not_finite", "working_bytes")
    call.report["components"] = out.count
    return labels


def supervoxels(
    image: Any, chosen: _abi.lob_supervoxels_options, size: Any, lab: Any, compactness: Any, ratio: Any, slices: Any,
    mask: Any, options: Any,
) -> Any:  # fmt: skip
    from ._grow import supervoxels_of

    call, of = _begin(image, options)
    supervoxels_of(chosen, of, of.voxels.shape[0], of.voxels.dtype, size, lab, compactness, ratio, slices)
    covered = _mask(mask, of, call)
    labels, at = _room(of, np.int32, call)
    seen = of.described()
    given = _abi.lob_supervoxels_input(POINTER(_abi.lob_volume)(seen))
    arrays = _abi.lob_supervoxels_arrays(of.array.address, _at(covered), at.address)
    stats = _abi.lob_supervoxels_stats()
    _run(call, library.lob_supervoxels_cuda_arrays, byref(arrays), byref(stats), byref(given), byref(chosen), None)
    call.tell(stats, "supervoxels", "size_mm", "data_voxels", "not_finite", "fragments", "iterations")
    return labels


def filter(image: Any, steps: Any, chain: Any, chosen: Any, mask: Any, slices: Any, options: Any) -> Any:
    from ._images import filter_steps, loses_channels

    call, of = _begin(image, options)
    row = filter_steps(steps, chain, of, slice_axis(slices, of))
    of.array = _aligned(image, of.array, call)
    covered = _mask(mask, of, call)
    if covered is not None:
        covered = _aligned(mask, covered, call)
    seen = of.described()
    given = _abi.lob_filter_input(POINTER(_abi.lob_volume)(seen), None, row, len(row))
    kind, channels = ctypes.c_int(), ctypes.c_int()
    check(
        library.lob_filter_result(
            ctypes.addressof(kind), ctypes.addressof(channels), byref(given), byref(chosen), byref(call.error)
        ),
        call.error,
    )
    plain = loses_channels(of, channels.value)
    made, at = _room(of, DTYPES[kind.value], call, 0 if plain else channels.value)
    arrays = _abi.lob_filter_arrays(of.array.address, _at(covered), at.address)
    out = _abi.lob_filter_output()
    _run(call, library.lob_filter_cuda_arrays, byref(arrays), byref(out), byref(given), byref(chosen))
    call.tell(out, "not_data", "working_bytes")
    return made


def threshold(image: Any, chosen: _abi.lob_threshold_options, mask: Any, options: Any) -> Any:
    from ._images import tell_threshold

    call, of = _begin(image, options)
    covered = _mask(mask, of, call)
    labels, at = _room(of, np.uint8, call)
    seen = of.described()
    given = _abi.lob_threshold_input(POINTER(_abi.lob_volume)(seen))
    arrays = _abi.lob_threshold_arrays(at.address, of.array.address, _at(covered))
    stats = _abi.lob_threshold_stats()
    _run(call, library.lob_threshold_cuda_arrays, byref(arrays), byref(stats), byref(given), byref(chosen))
    tell_threshold(call, stats)
    return labels


def distances(
    labels: Any, chosen: _abi.lob_distance_options, label: int | None, slices: Any, feature: bool, options: Any
) -> Any:  # fmt: skip
    call, of = _begin(labels, options)
    taken = of.array
    if of.channel_axis is not None or taken.dtype.kind not in "iu" or taken.dtype.itemsize > 4:
        raise InputError(f"labels: are of type {taken.dtype}; on a GPU they are whole numbers of 8, 16 or 32 bits")
    if feature and TYPES[taken.dtype] not in (_abi.LOB_U8, _abi.LOB_I16, _abi.LOB_I32):
        raise InputError(f"labels: are of type {taken.dtype}; on a GPU nearest takes uint8, int16 and int32")
    _largest_label(labels, taken, call, "labels")
    if label is not None and (label < 1 or not _look(labels, taken, call, lambda a: bool((a == label).any()))):
        raise InputError(f"no voxel has label {label}")
    bounded = not feature and math.isfinite(chosen.max)
    if bounded and not hasattr(labels, "max"):
        raise NotImplementedError("max is not taken with arrays of a package without arithmetic")
    spacing = spacing_of(of)
    across = slice_axis(slices, of)
    if across >= 0:
        spacing[across] = math.inf
    given = _abi.lob_distance_input(
        None, TYPES[taken.dtype], dims(of), (ctypes.c_double * 3)(*spacing), label or 0
    )
    made, at = _room(of, taken.dtype if feature else np.float32, call)
    out = _abi.lob_distance_output(*((None, at.address) if feature else (at.address, None)))
    _run(call, library.lob_distance_cuda_arrays, byref(out), taken.address, byref(given), byref(chosen))
    if bounded:  # what lies farther has this distance
        limit = float(np.float32(chosen.max**2 if chosen.squared else chosen.max))
        made[made == math.inf], made[made == -math.inf] = limit, -limit
    return made
