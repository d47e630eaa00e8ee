"""Clean masks that follow a brush."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from ctypes import byref, pointer
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _abi
from ._device import GpuImage
from ._errors import InputError
from ._grow import begin, label_type
from ._library import Call, check, library
from ._public import Closing, Options, public, shown
from ._segment import SegmentChoices, choices, suggested, take, tell
from ._volumes import DTYPES, Held, held

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Unpack


class _Changed(Exception):
    """Strokes have changed while an answer to others was on its way."""


class Doubt(NamedTuple):
    """What a Segmenter's doubt gives: a volume of the scan's kind, and slices."""

    uncertain: Any
    suggested: list[dict[str, Any]]


def _box(array: np.ndarray, part: np.ndarray) -> _abi.lob_box:
    """The box of an array (z, y, x) that a view of it, in any order of axes, lies in."""
    box = _abi.lob_box()
    if not part.size:
        return box
    first = (part.ctypes.data - array.ctypes.data) // array.itemsize
    at = [int(one) for one in np.unravel_index(first, array.shape)]
    size = [1, 1, 1]
    for sides, step in zip(part.shape, part.strides):
        if sides > 1:
            axis = next(a for a in range(3) if array.shape[a] > 1 and abs(step) >= array.strides[a])
            reach = (sides - 1) * step // array.strides[axis]
            at[axis] += min(reach, 0)
            size[axis] = 1 + abs(reach)
    for axis in range(3):
        box.first[2 - axis], box.size[2 - axis] = at[axis], size[axis]
    return box


def _is_plain(where: Any) -> bool:
    """Is an index without arrays, which could change later?"""
    each = where if isinstance(where, tuple) else (where,)
    return all(isinstance(one, (int, np.integer, slice, type(...))) and not isinstance(one, bool) for one in each)


def _whole_numbers(label: Any) -> np.ndarray:
    with contextlib.suppress(ValueError):  # rows that are not as long as each other
        given = np.asarray(label)
        if given.dtype.kind in "biu" or (given.dtype.kind == "f" and (given == np.floor(given)).all()):
            return given
    raise InputError(f"label is {shown(label)}; it is a whole number, or an array of them")


class Segmenter(Closing):
    """Clean masks that follow a brush: draw and erase; the answers come from a thread of its own.

    After every change there is a preview, where segment grows twice, and then the final answer: the
    labels of segment from the strokes that are there, the same bytes. The preview is the first growth,
    on a CPU in large boxes from a part of the voxels alone, with strokes, but for slips, as they were
    drawn: it may differ between CPU and GPU. A further change cancels what is on its way. What does not
    depend on strokes is kept. Any thread may call.

    image        (z, y, x) or (y, x), any kind; with channel_axis several channels. It stays as it is
                 until close. Answers about an array on a GPU are such arrays
    labels       the largest label that will be drawn, the background's included
    suggest      after a final answer, where nothing is drawn meanwhile, also look for what is uncertain
                 and name so many slices on which another stroke would help most: doubt tells them.
                 0: not looked for
    **options    background, margin, share, ends, median, whole, far, shape, blur, smooth, edge, passes,
                 coarse, as for segment

    strokes      numpy array of the image's shape, to be read only
    report       a dict with what was chosen for the last final answer

        with lobule.Segmenter(scan, labels=2) as segmenter:
            segmenter.draw((20, slice(30, 50), 40), 1)
            segmenter.draw((20, slice(30, 50), 90), 2)
            first = segmenter.labels
            segmenter.erase((20, slice(45, 50), 40))
            second = segmenter.labels
    """

    @public
    def __init__(self, image: Any, labels: int = 255, *, suggest: int = 0, **options: Unpack[SegmentChoices]) -> None:
        super().__init__()
        self._worker: threading.Thread | None = None
        given = {name: value for name, value in options.items() if name in Options.__annotations__}
        call, of = begin(image, given, gpu=True)
        if call.on_gpu:
            call.wait()  # until the image is there: the thread computes in another stream
        self.report = call.report
        self._of, self._image, self._told = of, of.described(), call.progress
        kept = ("device", "threads", "max_memory")
        self._call: dict[str, Any] = {name: value for name, value in given.items() if name in kept}
        self._options = choices(**{name: value for name, value in options.items() if name not in given})
        self._suggest = suggest
        type_of = label_type(labels)
        self._largest, shape_of = labels, of.voxels.shape[1:]
        self._painted: Held = held(np.zeros(shape_of, DTYPES[type_of]))
        self._seen: Held = held(np.zeros(shape_of, DTYPES[type_of]))  # what the thread computes with
        self._drawn = of.described()
        self._drawn.data, self._drawn.channels, self._drawn.type = self._seen.address, 1, type_of
        self._drawn.place = _abi.lob_place()
        self._shown: np.ndarray = of.as_came(self._painted.array)
        self._taken: np.ndarray = of.as_came(self._seen.array)
        self._drawn_at: list[Any] = []  # where they differ
        self._moved = _abi.lob_box()  # in _seen, and what the library has not been told of
        self.strokes = self._shown.view()
        self.strokes.flags.writeable = False
        self._state = threading.Condition()
        self._changes, self._open = 0, True
        self._answer: tuple[Any, str] = (None, "none")
        self._doubt: Doubt | None = None
        self._ended = {"labels": 0, "doubt": 0}  # the change up to which each has been looked for
        self._problem: dict[str, BaseException | None] = {"labels": None, "doubt": None}
        self._worker = threading.Thread(target=self._work, name="lobule segmenter", daemon=True)
        self._worker.start()
        atexit.register(self.close)  # the thread may not outlive what it computes with

    # ---- strokes ----

    def draw(self, where: Any, label: Any) -> None:
        """Draw a label, or an array of labels, at an index of strokes: slices, a mask, numbers."""
        given = _whole_numbers(label)
        least, most = np.min(given, initial=0), np.max(given, initial=0)
        with self._here():
            if not self._open:
                raise InputError("this Segmenter is closed")
            if least < 0 or most > self._largest:
                raise InputError(f"label {least if least < 0 else most}: labels are 0..{self._largest}")
            try:
                self._shown[where] = given
            except (IndexError, ValueError) as problem:
                raise InputError(f"where is {shown(where)}: {problem}") from None
            self._drawn_at.append(where if _is_plain(where) else ...)
            self._changes += 1
            self._answer = (self._answer[0], "none" if self._answer[0] is None else "old")
            self._state.notify_all()

    def erase(self, where: Any) -> None:
        """Leave nothing drawn at an index of strokes."""
        self.draw(where, 0)

    def _here(self) -> threading.Condition:
        """The lock, in the process that has the thread."""
        self._check_process()
        return self._state

    # ---- answers ----

    @property
    def labels(self) -> Any:
        """The final answer to the strokes that are there, waited for: an array of its own, 0 for the
        background. Raises what segment would."""
        with self._here():  # so that nothing changes between the two
            self.wait()
            return self.latest()[0]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the final answer; False: it took longer than so many seconds. Raises what segment would."""
        return self._wait("labels", timeout)

    def doubt(self, timeout: float | None = None) -> Doubt | None:
        """What is uncertain in the final answer, waited for: Doubt(uncertain, suggested), voxels (uint8) where
        another label could have grown almost as cheaply, and a list of slices on which another stroke would
        help most, as segment has them in its report. None: it took longer than so many seconds. Raises what
        segment would."""
        if not self._suggest:
            raise InputError("doubt is told where suggest is given")
        with self._here():
            return self._doubt if self._wait("doubt", timeout) else None

    def _wait(self, what: str, timeout: float | None) -> bool:
        with self._here():
            if self._changes == 0 or not self._open:
                raise InputError("this Segmenter is closed" if not self._open else "nothing has been drawn")
            done = self._state.wait_for(lambda: self._ended[what] == self._changes or not self._open, timeout)
            if self._ended[what] != self._changes and not self._open:
                raise InputError("this Segmenter is closed")
            problem = self._problem[what]
            if done and problem is not None:
                raise problem
            return done

    def latest(self) -> tuple[Any, str]:
        """The answer that is there, without waiting, and what it is: "none"; "preview" or "final", of
        the strokes that are there; "old", of earlier ones."""
        with self._here():
            return self._answer

    # ---- the thread ----

    def _owed(self) -> str:
        """What is to be computed now, if anything: labels of the strokes that are there, then doubt."""
        if self._ended["labels"] != self._changes:
            return "labels"
        return "doubt" if self._suggest and self._ended["doubt"] != self._changes else ""

    def _work(self) -> None:
        segmenter = ctypes.c_void_p()
        try:
            while True:
                with self._state:
                    self._state.wait_for(lambda: self._owed() or not self._open)
                    if not self._open:
                        return
                    number, what = self._changes, self._owed()
                    if what == "labels":
                        for where in self._drawn_at:
                            self._take(where)
                        self._drawn_at.clear()
                self._answer_to(segmenter, number, what)
        finally:
            library.lob_segmenter_close(segmenter)

    def _take(self, where: Any) -> None:
        """Take what is drawn at an index into the volume that the library looks at."""
        each = where if isinstance(where, tuple) else (where,)
        here = each if any(one is ... for one in each) else (*each, ...)  # so that it is a view
        part = self._taken[here]
        part[...] = self._shown[here]
        library.lob_box_join(byref(self._moved), byref(_box(self._seen.array, part)))

    def _answer_to(self, segmenter: ctypes.c_void_p, number: int, what: str) -> None:
        problem: BaseException | None = None

        def progress(done: float) -> None:
            if self._changes != number or not self._open:
                raise _Changed
            if callable(self._told) and what == "labels":
                self._told(done)

        compute = self._compute_labels if what == "labels" else self._compute_doubt
        try:
            call = Call(**self._call, progress=progress)
            if isinstance(self._of, GpuImage):
                call.on_gpu = True
                self._of.call, self._of.kept = call, []  # the last answer has left
            compute(segmenter, call, number)
        except _Changed:
            return
        except BaseException as raised:  # noqa: BLE001  it is raised where the answer is asked for
            problem = raised
        with self._state:
            if self._changes == number:
                for each in (what,) if problem is None else (what, "doubt"):
                    self._ended[each], self._problem[each] = number, problem
                self._state.notify_all()

    def _compute_labels(self, segmenter: ctypes.c_void_p, call: Any, number: int) -> None:
        if not segmenter:
            check(library.lob_segmenter_open(byref(segmenter), byref(call.functions), byref(self._image),
                                             byref(self._options), byref(call.error)), call.error)  # fmt: skip
        preview = _abi.lob_volume()
        call.run(library.lob_segmenter_preview, segmenter, byref(preview), byref(self._drawn), byref(self._moved),
                 share=(0.0, 0.4), of="strokes")  # fmt: skip
        self._moved = _abi.lob_box()
        try:
            if preview.data:
                self._publish(preview, "preview", number)
        finally:
            library.lob_volume_free(byref(preview))
        with self._finished(segmenter, call, 0, (0.4, 1.0)) as (out, plan):
            tell(self.report, self._of, plan, out, 0)
            self._publish(out.labels, "final", number)

    def _compute_doubt(self, segmenter: ctypes.c_void_p, call: Any, number: int) -> None:
        with self._finished(segmenter, call, self._suggest, (0.0, 1.0)) as (out, plan):
            slices = suggested(self._of, plan, out)
            doubt = Doubt(self._of.give(take(self._of, out.uncertain), True), slices)
        with self._state:
            if self._changes == number:
                self._doubt = doubt

    @contextlib.contextmanager
    def _finished(self, segmenter: ctypes.c_void_p, call: Any, suggest: int, share: tuple[float, float]) -> Iterator[Any]:
        """The library's last answer, and its plan."""
        out, plan = library.lob_segment_output_empty(), _abi.lob_segment_plan()
        asked = _abi.lob_segment_input(pointer(self._image), pointer(self._drawn), False, False, suggest)
        call.run(library.lob_segmenter_finish, segmenter, byref(out), byref(plan), None, byref(asked), byref(self._moved),
                 share=share, of="strokes")  # fmt: skip
        self._moved = _abi.lob_box()
        try:
            yield out, plan
        finally:
            library.lob_segment_output_free(byref(out))

    def _publish(self, made: _abi.lob_volume, state: str, number: int) -> None:
        labels = self._of.give(take(self._of, made), True)
        with self._state:
            if self._changes == number:
                self._answer = (labels, state)
                self._state.notify_all()

    # ---- the end ----

    def close(self) -> None:
        """Cancel what is on its way, and give back the memory."""
        worker, self._worker = self._worker, None
        if worker is None or os.getpid() != self._process:  # a forked child has no such thread
            return
        with self._state:
            self._open = False
            self._state.notify_all()
        if worker is not threading.current_thread():  # as where progress closes
            worker.join()
        atexit.unregister(self.close)
