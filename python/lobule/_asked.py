"""What callers ask in words, numbers and sizes, as the library has it: choices, lengths, slices."""

from __future__ import annotations

import ctypes
from ctypes import byref
from typing import Any, get_args

from . import _abi
from ._errors import InputError
from ._library import library
from ._public import did_you_mean
from ._volumes import Source, dims


def put(chosen: Any, **given: Any) -> None:
    """Fill in what is given of a structure; None leaves its default."""
    for name, value in given.items():
        if value is not None:
            setattr(chosen, name, value)


def slice_axis(slices: int | str | None, of: Source) -> int:
    """-1, or the library's axis across which slices lie."""
    planes, axes = get_args(_abi.lob_anatomical_plane_word), ("x", "y", "z")
    if slices is None:
        return -1
    if isinstance(slices, int):
        return of.axis(slices)
    if slices in planes:
        return int(library.lob_anatomical_axis(byref(of.geometry), planes.index(slices)))
    if slices not in axes:
        words = ", ".join(planes + axes)
        nearest = did_you_mean(str(slices), planes + axes)
        raise InputError(f"slices is {slices!r}; it is the number of an axis of the array, or one of {words}{nearest}")
    return axes.index(slices)


def spacing_of(of: Source) -> list[float]:
    return list(of.geometry.spacing_mm)


def sized(value: Any, unit: str) -> tuple[float, str]:
    """A number with its unit: 8 is 8 of the usual unit, "8mm" and "12vox" name it."""
    if isinstance(value, str):
        text = value.strip()
        for name, scale, of in (
            ("mm3", 1.0, "mm"), ("um3", 1e-9, "mm"), ("ml", 1e3, "mm"), ("mm", 1.0, "mm"), ("um", 1e-3, "mm"), ("vox", 1.0, "vox"),
        ):  # fmt: skip
            if text.endswith(name):
                return _number(text[: -len(name)], value) * scale, of
        return _number(text, value), unit
    return float(value), unit


def _number(text: str, value: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{value!r} is no size; a size is a number, or as '8mm', '12vox', '50mm3'") from None


def in_mm(length: Any, of: Source) -> float:
    """A length in mm; one of voxels is in the image's least spacing."""
    size, unit = sized(length, "mm")
    least = library.lob_least_spacing(dims(of), (ctypes.c_double * 3)(*spacing_of(of)))
    return float(size * least) if unit == "vox" else size


def voxels_of(value: Any, of: Source) -> float:
    """A size of a set of voxels, in voxels: a number is one of voxels, "50mm3" a volume."""
    size, unit = sized(value, "vox")
    return size if unit == "vox" else size / library.lob_voxel_mm3(byref(of.geometry))


def choice(name: str, value: str, words: Any) -> int:
    """The index of a word, which is that of the library's enumeration; words: a Literal."""
    known = get_args(words)
    if value not in known:
        raise InputError(f"{name} is {value!r}; it is one of {', '.join(known)}{did_you_mean(str(value), known)}")
    return known.index(value)
