"""The shared library: finding it, its functions, backends, and calls that can be stopped."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from ctypes import byref
from pathlib import Path
from typing import Any, ClassVar

from . import _abi
from ._errors import BY_STATUS, Cancelled, DeviceError, Error, InputError, InternalError
from ._public import _is_number, shown

HERE = Path(__file__).resolve().parent


def _places() -> Iterator[str]:
    given = os.environ.get("LOBULE_LIBRARY")
    if given:
        yield given
        return
    version = ".".join(_abi.VERSION.split(".")[:2])
    others = {"darwin": f"liblobule.{version}.dylib", "win32": "liblobule.dll"}
    name = others.get(sys.platform, f"liblobule.so.{version}")
    for folder in ("lib", "lib64", "bin"):
        if (HERE / folder / name).is_file():
            yield str(HERE / folder / name)
    yield name


def _load() -> ctypes.CDLL:
    tried = []
    for place in _places():
        try:
            found = ctypes.CDLL(place)
        except OSError as problem:
            tried.append(str(problem))
            continue
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            function = getattr(found, name, None)
            if function is None:
                raise ImportError(f"{place}: has no {name}; this package is of {_abi.VERSION}")
            function.restype, function.argtypes = result, arguments
        version = found.lob_version().decode()
        if version != _abi.VERSION:
            raise ImportError(f"{place}: is Lobule {version}; this package is of {_abi.VERSION}")
        return found
    raise ImportError("the library of Lobule is not found: " + "; ".join(tried))


library = _load()
MOST_THREADS: int = _abi.LOB_THREADS_MOST
MOST_BYTES = 2**62
# The C library whose memory goes to and fro: on Windows, where there are several, the library hands out its own.
libc = library if sys.platform == "win32" else ctypes.CDLL(None)
malloc, free = libc.malloc, libc.free
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
free.argtypes, free.restype = [ctypes.c_void_p], None


# The library's hints in words of this package, as the command line has them in its own.
ADVICE = {
    _abi.LOB_HINT_USE_CPU: "use device='cpu'",
    _abi.LOB_HINT_BUILD_GPU: "use device='cpu'",
    _abi.LOB_HINT_LESS_MEMORY: "give max_memory, or use device='cpu'",
    _abi.LOB_HINT_MORE_MEMORY: "max_memory overrides this",
    _abi.LOB_HINT_RAISE_MEMORY: "raise max_memory",
    _abi.LOB_HINT_GIVE_SIZE: "give size",
    _abi.LOB_HINT_NO_SURFACES: "surfaces=False leaves them out",
    _abi.LOB_HINT_TRUST_SEEDS: "trust_seeds=True takes them as they are",
    _abi.LOB_HINT_RELABEL: "give structures the same labels in all",
    _abi.LOB_HINT_COARSER: "resample the image, or give size",
    _abi.LOB_HINT_RESAMPLE: "lobule.resample(labels, image, labels=True) does that, for thin lines with method='strokes'",
}


def fail(status: int, error: _abi.lob_error) -> Error:
    """The exception of a status; its text is the library's line, with what to try."""
    line = ctypes.create_string_buffer(_abi.LOB_ERROR_LINE)
    library.lob_error_line(line, len(line), byref(error))
    text, advice = line.value.decode(errors="replace"), ADVICE.get(error.hint)
    return BY_STATUS.get(status, InternalError)(f"{text}; {advice}" if advice else text)


def check(status: int, error: _abi.lob_error, of: str = "") -> None:
    """Raise what went wrong; of: the argument that it is about, where the error names none."""
    if status != _abi.LOB_OK:
        if of:
            library.lob_error_in(byref(error), of.encode())
        raise fail(status, error)


# ---- backends ----


@functools.lru_cache(None)
def driver() -> ctypes.CDLL | None:
    """CUDA's driver; None: this machine has none."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


@contextlib.contextmanager
def caller_s_gpu() -> Iterator[None]:
    """Leave the thread with the GPU that it came with. A call on another GPU makes that one the
    thread's current one, and the next array of CuPy or PyTorch would come to lie there."""
    cuda, before, after = driver(), ctypes.c_void_p(), ctypes.c_void_p()
    known = cuda is not None and cuda.cuCtxGetCurrent(byref(before)) == 0
    try:
        yield
    finally:
        if cuda is not None and cuda.cuCtxGetCurrent(byref(after)) == 0:
            if known and before.value != after.value:
                cuda.cuCtxSetCurrent(before)


class Backend:
    """A backend with its context; it belongs to the thread that opened it."""

    def __init__(self, choice: str):
        error = _abi.lob_error()
        functions = ctypes.POINTER(_abi.lob_backend)()
        self.context = _abi.lob_context()
        with caller_s_gpu():
            status = library.lob_backend_open(byref(functions), byref(self.context), choice.encode(), byref(error))
        check(status, error)
        self.functions = functions.contents
        self.name = self.functions.name.decode()

    def __del__(self) -> None:
        if getattr(self, "functions", None) is not None:
            library.lob_backend_close(byref(self.context))


_opened = threading.local()


class _Process:
    """What a forked child has to know: OpenMP's threads and the GPU of its parent are not there, and
    waiting for them would never end."""

    forked = False  # is this process a child?
    computed = False  # has it, or its parent, computed with several threads?
    gpu = False  # likewise, opened a GPU?
    left: ClassVar[list[Any]] = []  # backends of the parent, which a child must not close

    @classmethod
    def begin_child(cls) -> None:
        global _opened
        cls.forked = True
        cls.left.append(_opened.__dict__.get("backends"))
        _opened = threading.local()

    @classmethod
    def threads(cls, asked: int | None, all_of_them: int) -> int:
        """A child computes with one thread, or, where its parent has not computed, with those asked for."""
        if cls.forked and (cls.computed or asked is None):
            return 1
        had = cls.possible(asked or all_of_them)
        cls.computed = cls.computed or had > 1
        return had

    @classmethod
    def possible(cls, asked: int) -> int:
        """So many threads, or as many as the system makes for this one; counted once."""
        held: dict[int, int] = _opened.__dict__.setdefault("threads", {})
        if asked not in held:
            held[asked] = library.lob_threads(asked)
        return held[asked]

    @classmethod
    def device(cls, choice: str) -> str:
        if not cls.forked or not cls.gpu or choice == "cpu":
            return choice
        if choice == "auto":
            return "cpu"
        raise DeviceError(
            f"device {choice!r}: a process that was forked cannot use the GPU of its parent; start workers by 'spawn'"
        )


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_Process.begin_child)


def backend(choice: str = "auto") -> Backend:
    """The backend of this choice, opened once a thread: waking a GPU takes some tenths of a second."""
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", str(choice)):
        raise InputError(f"device is {choice!r}; it is one of auto, cpu, cuda, cuda:N")
    choice = _Process.device(choice)
    choice = "best" if choice == "auto" else choice
    held: dict[str, Backend] = _opened.__dict__.setdefault("backends", {})
    if choice not in held:
        held[choice] = Backend(choice)
        _Process.gpu = _Process.gpu or bool(held[choice].context.device)
    return held[choice]


# ---- a call ----

PROGRESS: Any = {field[0]: field[1] for field in _abi.lob_context._fields_}["progress"]


def _bar() -> Any:
    """A bar of tqdm's, or None where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}<{remaining}")


class _Watch:
    """Progress and Ctrl-C of one call. An exception must not leave a callback that C entered, so it
    is kept, the call cancelled, and raised when C has returned."""

    def __init__(self, progress: Callable[[float], Any] | bool | None, share: tuple[float, float]):
        self.share = share
        self.tell = progress if callable(progress) else None
        self.bar = _bar() if progress is True else None
        self.interrupted = False
        self.raised: BaseException | None = None
        self.callback = PROGRESS(self.told)

    def told(self, _user: Any, done: float) -> int:
        """Tell the caller of progress; not 0: stop."""
        done = self.share[0] + (self.share[1] - self.share[0]) * done
        try:
            if self.bar is not None:
                self.bar.update(round(100 * done, 1) - self.bar.n)
            if self.tell is not None and self.raised is None:
                self.tell(done)
        except BaseException as raised:  # noqa: BLE001  whatever it is, C goes first
            self.raised = raised
        return int(self.interrupted or self.raised is not None)

    def _interrupt(self, _number: int, _frame: Any) -> None:
        self.interrupted = True

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Only the main thread hears signals; a handler that raises would raise inside of the callback."""
        old = None
        if threading.current_thread() is threading.main_thread():
            old = signal.getsignal(signal.SIGINT)
        if not callable(old):
            yield
            return
        signal.signal(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, old)
        if self.interrupted:
            old(signal.SIGINT, None)

    def end(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _bytes(size: int | str) -> int:
    """A number of bytes, or as the command takes it: "4GiB", "500M"; at most as many as that takes."""
    if not isinstance(size, str) and _is_number(size) and size >= 0 and size % 1 == 0:  # 4e9 too
        return min(int(size), MOST_BYTES)
    found = isinstance(size, str) and re.fullmatch(r"(\d+\.?\d*)(B|[KMGT](iB)?|[kMGT]B)?", size.strip())
    if not found:
        raise InputError(f"max_memory is {size!r}; it is a number of bytes, or as '4GiB'")
    unit = found[2] or "B"
    return min(int(float(found[1]) * (1000 if unit[1:] == "B" else 1024) ** "BKMGT".index(unit[0].upper())), MOST_BYTES)


def check_threads(threads: int) -> None:
    if not 1 <= threads <= MOST_THREADS:
        raise InputError(f"threads is {threads}; it is a number from 1 to {MOST_THREADS}")


def check_progress(progress: Any) -> None:
    if not callable(progress) and not any(progress is word for word in (None, False, True)):
        raise TypeError(f"progress is {shown(progress)}; it is True, for a bar, or a function of the share that is done")


class Call:
    """Backend, context and error of one call; `run` calls a function and raises what went wrong."""

    def __init__(
        self,
        device: str = "auto",
        threads: int | None = None,
        max_memory: int | str = 0,
        progress: Callable[[float], Any] | bool | None = None,
        report: dict[str, Any] | None = None,
        **unknown: Any,
    ):
        for name in unknown:
            raise TypeError(f"{name!r} does not go with this image; help(lobule) says what goes with which")
        if threads is not None:
            check_threads(threads)
        self.backend = backend(device)
        self.functions = self.backend.functions
        self.error = _abi.lob_error()
        self.report = report if report is not None else {}
        own = self.backend.context
        self.context = _abi.lob_context(_Process.threads(threads, own.threads), _bytes(max_memory), own.device)
        check_progress(progress)
        self.progress = progress
        self.on_gpu = False  # are there arrays that the GPU may still use when a function returns?

    def run(
        self, function: Callable[..., int], *arguments: Any, share: tuple[float, float] = (0.0, 1.0), of: str = ""
    ) -> None:
        """Call a function that takes these arguments, the context and the error; it is this share of
        the whole progress, and what it finds wrong in data is about this argument."""
        watch = _Watch(self.progress, share)
        self.context.progress = watch.callback
        status = _abi.LOB_EINTERNAL
        try:
            with watch.listening(), caller_s_gpu() if self.context.device else contextlib.nullcontext():
                status = function(*arguments, byref(self.context), byref(self.error))
        finally:
            watch.end()
            self.context.progress = PROGRESS()
            if self.on_gpu:
                self.wait()
        if watch.raised is not None:
            raise watch.raised
        if status == _abi.LOB_ECANCEL:
            raise Cancelled("stopped before the end")
        check(status, self.error, of if status == _abi.LOB_EDATA else "")

    def wait(self) -> None:
        """Wait until the GPU has done what it was given."""
        error = _abi.lob_error()
        with caller_s_gpu():
            status = library.lob_device_wait(self.context.device, byref(error))
        check(status, error)

    def tell(self, numbers: Any, *names: str) -> None:
        """Put these fields of a structure into the caller's report."""
        for name in names:
            self.report[name] = getattr(numbers, name)
