"""Exceptions: one class for each kind of failure, each also one of Python's own kinds."""

from __future__ import annotations

from . import _abi


class Error(Exception):
    """Something that the library refused or could not do; its text is one line for a person."""


class InputError(Error, ValueError):
    """An argument or its content is not what the call can work with."""


class NoInputError(Error, FileNotFoundError):
    """A file that is not there, or cannot be read."""


class DeviceError(Error, RuntimeError):
    """The GPU asked for is not available, busy, or failed."""


class OutOfMemory(Error, MemoryError):
    """More memory was needed than there is, or than max_memory allows."""


class TryAgain(OutOfMemory, DeviceError):
    """The command ended with 75, which says that another time it may be done: not enough memory, or
    a GPU or a folder in which somebody else is at work. Its line says which."""


class Different(Error):
    """A comparison that was to end with 1 where it finds a difference, as `compare --strict`, found
    one; nothing failed. `printed` is what the command printed."""

    def __init__(self, text: str, printed: str = ""):
        super().__init__(text)
        self.printed = printed


class OutputExists(Error, FileExistsError):
    """An output exists and is kept."""


class FileError(Error, OSError):
    """A file could not be made, read or written."""


class Cancelled(Error):
    """The call was stopped before its end."""


class InternalError(Error, RuntimeError):
    """A fault of Lobule's own."""


# status, exit code of the command that ends with it, exception
KINDS = [
    (_abi.LOB_EARG, 64, InputError),
    (_abi.LOB_EDATA, 65, InputError),
    (_abi.LOB_ENOINPUT, 66, NoInputError),
    (_abi.LOB_EDEVICE, 69, DeviceError),
    (_abi.LOB_EINTERNAL, 70, InternalError),
    (_abi.LOB_EEXIST, 72, OutputExists),
    (_abi.LOB_ECREATE, 73, FileError),
    (_abi.LOB_EIO, 74, FileError),
    (_abi.LOB_ENOMEM, 75, OutOfMemory),
    (_abi.LOB_EBUSY, 75, DeviceError),
    (_abi.LOB_ECANCEL, 130, Cancelled),
]
BY_STATUS = {status: kind for status, _, kind in KINDS}
BY_EXIT_CODE = {**{code: kind for _, code, kind in KINDS}, 75: TryAgain}
