"""What the public functions have in common: the options that all take, and how arguments are checked.

The words of an argument are those of the library's enumeration (_abi, made by the build), and the
names that a function takes are those of its own signature and of the TypedDict that types its
further ones. So nothing here has a list of its own.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, Optional, TypedDict, TypeVar, Union

import numpy as np

from . import _abi
from ._errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    Array = NDArray[Any]
    Table = dict[str, NDArray[Any]]

# What arguments may be, in names: a size with or without its unit, both ends of a range, slices.
Size = Union[float, str]
Range = tuple[Optional[float], Optional[float]]
Plane = _abi.lob_anatomical_plane_word
Axis = Literal["x", "y", "z"]
Slices = Union[int, Plane, Axis]


class CommandOptions(TypedDict, total=False):
    """What every function takes besides its own arguments."""

    device: str
    threads: int | None
    max_memory: int | str
    progress: Callable[[float], Any] | bool | None
    report: dict[str, Any] | None


class Options(CommandOptions, total=False):
    """What every function takes of images besides its own arguments."""

    spacing: Any
    axes: Literal["zyx", "xyz"]
    channel_axis: int | None


# The package's own help has the table of these, those of images last; python -OO leaves it out.
_ALL_TAKE = (sys.modules[__name__.rpartition(".")[0]].__doc__ or "").partition("What every function takes")
_TABLE = "".join(_ALL_TAKE[1:]).split("\n\nCtrl-C")[0]


Check = Callable[[Any], bool]


def _without_error(asked: Check) -> Check:
    def fits(value: Any) -> bool:
        try:
            return bool(asked(value))
        except (TypeError, ValueError, OverflowError, RuntimeError):  # PyTorch's is the last
            return False

    return fits


# As C and the functions take them, from arrays without axes too: float() would take texts, int() cut.
_is_whole = _without_error(lambda value: operator.index(value) is not None)
_is_number = _without_error(lambda value: math.fabs(value) is not None)
_is_label = _without_error(lambda value: int(value) == value and abs(int(value)) < 2**31)


def _all(value: Any, fit: Check, count: int | None = None) -> bool:
    """Several, or so many, that fit."""
    each = list(value) if np.iterable(value) else None
    return each is not None and count in (None, len(each)) and all(map(fit, each))


def _are_labels(value: Any) -> bool:
    return _all(value, _is_label) or _is_label(value)


# What an argument of such types has to be; C would take it, or refuse it without its name.
TYPES: dict[str, tuple[Check, str]] = {
    hint: (fit, words)
    for hints, fit, words in (
        (("int", "int | None", "Neighbours | None"), _is_whole, "a whole number"),
        (("float", "float | None"), _is_number, "a number"),
        (("Labelled",), _are_labels, "a whole number or several"),
        (("tuple[int, int, int] | None",), lambda v: _all(v, _is_whole, 3), "three whole numbers"),
        (("Range | None", "tuple[float, float]"),
         lambda v: _all(v, lambda end: end is None or _is_number(end), 2), "a pair of numbers, (LO, HI)"),
        (("tuple[Size, Size]",), lambda v: _all(v, lambda end: isinstance(end, str) or _is_number(end), 2), "a pair, (LO, HI)"),
        (("Mapping[int, int]", "Mapping[tuple[int, ...], int] | Mapping[int, int]"),
         lambda v: hasattr(v, "items") and all(_is_label(to) and _are_labels(of) for of, to in v.items()),
         "a dict of whole numbers, as {2: 1}"),
        (("Sequence[tuple[Any, Any]]",), np.iterable, "a list of pairs, (image, labels)"),
        (("dict[str, Any] | None",), lambda v: hasattr(v, "update") and hasattr(v, "__setitem__"), "a dict"),
        (("str",), lambda v: isinstance(v, str), "a text"),
    )
    for hint in hints
}  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """The end of a message about a word that is none of these."""
    near = difflib.get_close_matches(word, list(words), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def steps_of(typed: Any) -> list[str]:
    """The steps that a TypedDict names beside Options."""
    return [name for name in typed.__annotations__ if name not in Options.__annotations__]


def chained(
    steps: Iterable[tuple[str, Any]], named: Any, typed: Any, what: str, example: str
) -> list[tuple[str, Any]]:
    """The steps of a call in their order."""
    known, hints = steps_of(typed), _hints(typed)
    chain = [*steps, *((name, value) for name, value in named.items() if name in known)]
    for name, _ in chain:
        if name not in known:
            raise TypeError(f"{name!r} is no {what}; there are {', '.join(known)}{did_you_mean(name, known)}")
    chain = [(name, _looked_at(name, value, hints[name])) for name, value in chain]
    if not chain:
        raise InputError(f"no step is given; say what to do, as {example}")
    return chain


def shown(value: Any) -> str:
    """A value in a message of one line."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"of type {type(value).__name__}"


def _hints(typed: Any) -> dict[str, str]:
    """The names of a TypedDict and their types, as they are written."""
    return {name: getattr(hint, "__forward_arg__", "") for name, hint in typed.__annotations__.items()}


def _looked_at(name: str, value: Any, hint: str) -> Any:
    """An argument that is what its type says; what can be gone through once only as a list."""
    if value is None or hint not in TYPES:
        return value
    kept = list(value) if isinstance(value, Iterator) else value
    if not TYPES[hint][0](kept):
        raise TypeError(f"{name} is {shown(kept)}; it is {TYPES[hint][1]}")
    return kept


def _further(function: Callable[..., Any], parameters: Iterable[inspect.Parameter]) -> dict[str, str]:
    """What **options takes, which is typed as Unpack[a TypedDict]: names and their types."""
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            of = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
            return _hints(function.__globals__[of[1]]) if of else {}
    return {}


def public(function: F) -> F:
    """A function whose unknown arguments are told with the nearest name, and whose help has the
    table of what all functions take."""
    parameters = inspect.signature(function).parameters
    further = _further(function, parameters.values())
    called = function.__qualname__.split(".")[0]
    known = [*(name for name, of in parameters.items() if of.kind is not of.VAR_KEYWORD), *further]

    typed = {**further, **{name: of.annotation for name, of in parameters.items()}}
    order = [name for name, of in parameters.items() if of.kind in (of.POSITIONAL_ONLY, of.POSITIONAL_OR_KEYWORD)]

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                nearest = did_you_mean(name, known) or "; help() of it lists them"
                raise TypeError(f"{called}() takes no argument {name!r}{nearest}")
        named = {name: _looked_at(name, value, typed.get(name, "")) for name, value in named.items()}
        first = [_looked_at(name, value, typed.get(name, "")) for name, value in zip(order, arguments)]
        try:
            return function(*first, *arguments[len(first) :], **named)
        except InputError as problem:
            for name, value in named.items():
                if isinstance(value, str) and str(problem).startswith(repr(value)):  # of a size, for one
                    raise InputError(f"{name}: {problem}") from None
            raise

    about = inspect.getdoc(function) or ""
    if "device" in known:
        about += "\n\n" + (_TABLE if "axes" in known else _TABLE.partition("\nspacing")[0]) + "\n"
    checked.__doc__ = about
    return checked  # type: ignore[return-value]


class Closing:
    """What is closed at the end of its `with`, in the process that made it."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def _check_process(self) -> None:
        """A forked child has neither the threads of its parent nor what these were about to let go of."""
        if os.getpid() != self._process:
            name = type(self).__name__
            raise InputError(f"this {name} is that of the process that was forked; open a {name} in this one")

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


def with_fixed(function: F, name: str, **fixed: Any) -> F:
    """A public function under another name, with some of its arguments settled."""
    about = inspect.signature(function)
    kept = [of for of in about.parameters.values() if of.name not in fixed]
    settled = ", ".join(f"{argument}={value!r}" for argument, value in fixed.items())

    def named(*arguments: Any, **given: Any) -> Any:
        for argument in fixed:
            if argument in given:
                raise TypeError(f"{name}() takes no argument {argument!r}; it is {function.__name__} with {settled}")
        return function(*arguments, **given, **fixed)

    functools.update_wrapper(named, function)
    named.__name__ = named.__qualname__ = name
    named.__doc__ = f"{function.__name__} with {settled}: {function.__doc__}"
    named.__signature__ = about.replace(parameters=kept)  # type: ignore[attr-defined]
    return named  # type: ignore[return-value]
