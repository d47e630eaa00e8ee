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
from ._volumes import DTYPES, LABEL_TYPES, NOTHING, TYPES, Held, Source, dims, view

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
        self.call, self.place = call, _abi.lob_place(_abi.LOB_PLACE_CUDA, self.gpu)
        self.kept: list[Array] = []
        self.slope, self.inter = 1.0, 0.0
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
        out.data, out.place = self.array.address, self.place
        out.type, out.dims, out.channels = TYPES[self.voxels.dtype], dims(self), self.voxels.shape[0]
        out.geometry = self.geometry
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


    def other(self, array: Any, name: str) -> Array:
        """Another array of the image's shape and order."""
        taken = Array(array, name, self.call)
        spatial = self.array.shape[1:] if self.channel_axis == 0 else self.array.shape
        if taken.shape != spatial or not (taken.fortran if self.xyz else taken.c):
            raise InputError(f"{name}: is not of the image's shape {spatial} and order in memory")
        return taken

    def beside(self, other: Any, name: str) -> tuple[_abi.lob_volume, Any]:
        taken, out = self.other(other, name), self.described()
        out.data, out.type, out.channels = taken.address, TYPES[taken.dtype], 1
        return out, taken

    def _typed(self, array: Any, name: str, dtype: Any, words: str) -> Held:
        if array is None:
            return NOTHING
        taken = self.other(array, name)
        if taken.dtype != dtype:
            raise InputError(f"{name}: is of type {taken.dtype}; on a GPU it is {words}")
        return Held(taken, taken.address)

    def fetch(self) -> np.ndarray:
        """The voxels in ordinary memory."""
        return fetch(self.array, self.call)

    def send(self, voxels: np.ndarray, channels: int = 0) -> Any:
        """A result that was found in ordinary memory: (z, y, x), or with channels (channel, z, y, x)."""
        held, made = np.ascontiguousarray(voxels), self.room(voxels.dtype, channels)
        with caller_s_gpu():
            sent = library.lob_device_upload(
                self.call.context.device, made.address, held.ctypes.data, held.nbytes, byref(self.call.error)
            )
        check(sent, self.call.error)
        self.call.wait()
        return made.array

    def mask(self, mask: Any) -> Held:
        return self._typed(mask, "mask", np.uint8, "uint8 or bool")

    def floats(self, other: Any, name: str) -> Held:
        return self._typed(other, name, np.float32, "float32")

    def labels(self, other: Any, name: str) -> GpuLabels:
        return GpuLabels(self, other, name, LABEL_TYPES)

    def any_labels(self, name: str) -> GpuLabels:
        return GpuLabels(self, self, name, tuple(t for t, d in DTYPES.items() if d.kind in "iu" and d.itemsize <= 4))

    def room(self, dtype: Any, channels: int = 0) -> Held:
        """Its package may still use the memory: taking it waits for that."""
        made = self.empty(np.dtype(dtype), channels)
        taken = Array(made, "result", self.call)
        self.kept.append(taken)
        return Held(made, taken.address)

    def take(self, address: int, device: Any, dtype: Any, channels: int = 0) -> Any:
        made = self.room(dtype, channels)
        size = math.prod(self.voxels.shape[1:]) * (channels or 1) * np.dtype(dtype).itemsize
        with caller_s_gpu():
            copied = library.lob_device_copy(device, made.address, address, size, byref(self.call.error))
            self.call.wait()
            library.lob_array_free(device, address)
        check(copied, self.call.error)
        return made.array

    def narrow(self, labels: Any, largest: int) -> Any:
        del largest
        return labels

    def limit(self, distance: Any, limit: float) -> None:
        if not hasattr(distance, "max"):
            raise NotImplementedError("max is not taken with arrays of a package without arithmetic")
        super().limit(distance, limit)

    def give(self, voxels: Any, labels: bool, geometry: _abi.lob_geometry | None = None) -> Any:
        """What was found in ordinary memory goes to the GPU."""
        if not isinstance(voxels, np.ndarray):
            return voxels
        return self.send(voxels, 0 if labels or voxels.ndim == 3 else voxels.shape[0])


def fetch(array: Array, call: Call) -> np.ndarray:
    """An array of a GPU in ordinary memory."""
    if not (array.c or array.fortran):
        raise InputError(f"{array.name}: has gaps in memory; make a copy without")
    out = np.empty(array.shape, array.dtype, order="C" if array.c else "F")
    download(out, array.address, call)
    return out


def found(address: int | None, shape: tuple[int, ...], dtype: Any, call: Call) -> np.ndarray:
    """What the library keeps where a call's arrays are: a view of it, or of a GPU a copy."""
    if not call.on_gpu:
        return view(address or 0, shape, dtype)
    out = np.empty(shape, dtype)
    download(out, address, call)
    return out


def download(to: np.ndarray, address: int | None, call: Call) -> None:
    """Copy what lies at an address of the call's GPU into an array without gaps."""
    with caller_s_gpu():
        got = library.lob_device_download(call.context.device, to.ctypes.data, address, to.nbytes, byref(call.error))
    check(got, call.error)


def begin(image: Any, about: dict[str, Any], options: dict[str, Any]) -> tuple[Call, GpuImage]:
    """The call on the GPU that has the image, and the image."""
    if options.get("device", "auto") == "auto":
        options["device"] = f"cuda:{gpu_of(image) or 0}"
    call = Call(**options)
    if not call.context.device:
        raise InputError("the array is in a GPU's memory; device must be that GPU")
    call.on_gpu = True
    return call, GpuImage(image, call, **about)


class GpuLabels:
    """Labels 0..count on a GPU; they stand for themselves."""

    def __init__(self, of: GpuImage, given: Any, name: str, types: tuple[int, ...]):
        self.array = of.image if given is of else given
        self.taken = of.array if given is of else of.other(given, name)
        self.call = of.call
        kind = TYPES[self.taken.dtype]
        if kind not in types or (given is of and of.channel_axis is not None):
            words = ", ".join(DTYPES[t].name for t in types)
            raise InputError(f"{name}: are of type {self.taken.dtype}; on a GPU they are one channel of {words}")
        least = self._ask(lambda a: int(a.min())) if self.taken.dtype.kind == "i" else 0
        if least < 0:
            raise InputError(f"{name}: {least} is no label; labels are whole numbers from 0")
        self.count = self._ask(lambda a: int(a.max()))
        self.volume = of.described()
        self.volume.data, self.volume.type, self.volume.channels = self.taken.address, kind, 1

    def _ask(self, ask: Callable[[Any], Any]) -> Any:
        """Ask the array for a number; one of a package without arithmetic, as Numba's, is looked at here."""
        if hasattr(self.array, "max"):
            return ask(self.array)
        return ask(fetch(self.taken, self.call))

    @property
    def numbers(self) -> tuple[Any, int, int | None]:
        self.values = np.arange(1, self.count + 1, dtype=np.int32)
        return self.volume, self.count, self.values.ctypes.data

    def own(self) -> _abi.lob_volume:
        return self.volume

    def number(self, label: int) -> int:
        if label < 1 or not self._ask(lambda a: bool((a == label).any())):
            raise InputError(f"no voxel has label {label}")
        return label

    def restore(self, labels: Any) -> Any:
        return labels
