"""The command `lobule` and its recipes on images in memory, in a process of its own.

Recipes are made of the command's steps, which read and write files. So images go through
uncompressed files in a temporary folder, and results are the command's to the byte.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from ctypes import byref
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi
from ._errors import BY_EXIT_CODE, Different, Error, InputError, InternalError
from ._device import is_on_gpu
from ._library import HERE, _bytes, _Process, _Watch, check, check_progress, check_threads, library
from ._volumes import Nibabel, Source, companion, source, taken, volume

if TYPE_CHECKING:
    from numpy.typing import NDArray


def program() -> str:
    """The path of the command: $LOBULE_PROGRAM, the package's own, or what the shell finds."""
    given = os.environ.get("LOBULE_PROGRAM")
    own = HERE / "bin" / ("lobule.exe" if sys.platform == "win32" else "lobule")
    found = given or (str(own) if own.is_file() else shutil.which("lobule"))
    if not found:
        raise FileNotFoundError("the command lobule is not found: install it, or set LOBULE_PROGRAM to it")
    return found


def _start(words: Sequence[Any], **how: Any) -> subprocess.Popen[str]:
    no_window = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # Windows opens one for a caller without a console
    return subprocess.Popen(
        [program(), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8",
        errors="replace", creationflags=no_window, **how,
    )  # fmt: skip


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait()


def command(*words: Any) -> str:
    """Run the command, as `command("info", "scan.nii.gz")`.

    words  the command's name, its operands and options; numbers and paths are taken as text

    Returns what it prints.

    Raises by exit code, with its line: InputError, NoInputError, DeviceError, ... Different, with
    what was printed, is that of 1: `compare --strict` has found a difference.
    """
    process = _start(words, stderr=subprocess.PIPE)
    try:
        printed, said = process.communicate()
    except BaseException:
        _stop(process)
        raise
    if process.returncode != 0:
        lines = said.strip().splitlines()
        if process.returncode == 1:
            raise Different(lines[-1] if lines else "what was compared is different", printed)
        text = lines[-1] if lines else f"lobule ended with {process.returncode}"
        raise BY_EXIT_CODE.get(process.returncode, InternalError)(text)
    return printed


# ---- images as files ----


def _is_image(value: Any) -> bool:
    return isinstance(value, Source) or hasattr(value, "dataobj") or hasattr(value, "GetSpacing") or (
        hasattr(value, "ndim") and value.ndim >= 2
    ) or is_nested(value)  # fmt: skip


def is_nested(value: Any) -> bool:
    """Is it an array that is written as lists of lists?"""
    return isinstance(value, (list, tuple)) and len(value) > 0 and isinstance(value[0], (list, tuple))


def _save(of: Source, path: Path) -> None:
    if isinstance(of, Nibabel):
        of.nifti().to_filename(path)
        return
    written = volume(of)
    error = _abi.lob_error()
    check(library.lob_write(byref(written), str(path).encode(), None, byref(error)), error)


def read(path: str | os.PathLike[str]) -> tuple[np.ndarray, _abi.lob_volume]:
    """A file's voxels as they are stored, (z, y, x) or (channel, z, y, x), and what else it says; the
    caller frees the volume, which has lost its voxels to the array."""
    found, error = _abi.lob_volume(), _abi.lob_error()
    check(library.lob_read(byref(found), os.fsencode(path), None, None, byref(error)), error)
    return taken(found), found


def _load(path: Path, like: Source, channels: bool = False) -> Any:
    """A volume that was written, as an image of the kind of another, on the grid of the file;
    channels: with an axis for these, though there may be one."""
    voxels, found = read(path)
    if channels and voxels.ndim == 3:
        voxels = voxels[np.newaxis]
    geometry = _abi.lob_geometry.from_buffer_copy(found.geometry)
    library.lob_volume_free(byref(found))
    same = voxels.shape[-3:] == like.voxels.shape[1:]
    return like.give(voxels, voxels.dtype.kind in "iu", None if same else geometry)


def _read_report(path: Path, report: dict[str, Any] | None) -> None:
    if report is not None and path.is_file():
        report.update(json.loads(path.read_text(encoding="utf-8")).get("results", {}))


def read_picture(path: Path) -> NDArray[np.uint8]:
    """A picture's (rows, columns, 3)."""
    voxels, about = read(path)
    library.lob_volume_free(byref(about))
    rows = voxels.reshape(-1, *voxels.shape[-2:])
    return np.ascontiguousarray(np.moveaxis(np.broadcast_to(rows, (3, *rows.shape[1:])), 0, -1))


def _column(cells: Sequence[str]) -> np.ndarray:
    try:
        return np.array([float("nan") if cell in ("n/a", "") else float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)


def _result(path: Path, like: Source | None) -> Any:
    """A file that a recipe wrote: a volume, a table, or its bytes."""
    name = path.name
    if name.endswith((".nii", ".nii.gz", ".nrrd", ".h5")) and like is not None:
        return _load(path, like)
    if name.endswith((".tsv", ".csv")):
        with path.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.reader(lines, delimiter="\t" if name.endswith(".tsv") else ","))
        columns = zip(*rows[1:]) if len(rows) > 1 else [[] for _ in rows[0]]
        return {head: _column(cells) for head, cells in zip(rows[0], columns)}
    if name.endswith(".json"):
        return json.loads(path.read_text(encoding="utf-8"))
    return path.read_bytes()


@contextlib.contextmanager
def _named(files: Mapping[str, str]) -> Iterator[None]:
    """Errors name the caller's arguments in place of temporary files."""
    try:
        yield
    except Error as problem:
        text = str(problem)
        for path, name in files.items():
            text = text.replace(path, name)
        if text == str(problem):
            raise
        raise type(problem)(text) from None


def run(recipe: str | os.PathLike[str], *, report: dict[str, Any] | None = None, **values: Any) -> dict[str, Any]:
    """Run a recipe, one that comes with Lobule or a file: `lobule run`.

    recipe  its name ("strokes") or path
    values  what its {names} stand for: images of any kind, numbers, texts. `out` may be left out:
            what the recipe writes as {out}... then comes back. Give out=None to a recipe without it
    report  a dict that gets the command's report: its lines, their results, times

    Returns a dict by what follows {out}: {".nii.gz": labels, ".tsv": a dict of arrays, ".png":
    bytes}; volumes are of the kind of the first image that was given. With `out`, a path, files
    are written there and the dict is empty. A line that compares and finds a difference is no
    failure; the lines in `report` say which.
    """
    with tempfile.TemporaryDirectory(prefix="lobule-") as name:
        folder, words, like = Path(name), [], None
        results = folder / "results"
        results.mkdir()
        given = {"out": results / "out", **values}
        files: dict[str, str] = {(results / "out").as_posix(): "out"}
        for key, value in given.items():
            if value is None:
                continue
            if _is_image(value):
                image = companion(value, like, key) if like is not None else source(value)
                like = like or image
                value = folder / f"{key}.nii"
                _save(image, value)
                files[value.as_posix()] = key
            words.append(f"{key}={value}")
        told = folder / "report.json"
        with contextlib.suppress(Different), _named(files):  # of lines that compare; all lines ran
            command("run", recipe, *words, "--quiet", "--report", told)
        _read_report(told, report)
        return {path.name[len("out") :]: _result(path, like) for path in sorted(results.iterdir())}


# ---- one command on images in memory ----


class Step:
    """A command on images in memory: its temporary files, its words, and its errors in words of the
    caller. It is used once, as the context in which the files are there."""

    def __init__(self, name: str, given: dict[str, Any], *operands: str, of: str = ""):
        """`given` are the caller's arguments, which become settings: options of these names. Operands are
        named in their order; the image on whose grid all are is the one named, or the first."""
        self.name, self.settings, options = name, given, given.pop("options")
        self.operands = {operand: given.pop(operand) for operand in operands}
        main = self.operands[of or operands[0]]
        about = {key: options[key] for key in ("spacing", "axes", "channel_axis") if key in options}
        if is_on_gpu(main):
            raise NotImplementedError("this function takes arrays in ordinary memory; copy this one from the GPU first")
        self.of: Source = source(main, **about)
        self.main = main
        self.options = {key: value for key, value in options.items() if key not in about}
        self.files: dict[str, str] = {}  # what was written: path, as the command names it, to the argument's name

    def __enter__(self) -> Step:
        self.keeper = tempfile.TemporaryDirectory(prefix="lobule-")
        self.folder = Path(self.keeper.name)
        return self

    def __exit__(self, *_raised: Any) -> None:
        self.keeper.cleanup()

    def out(self, ending: str) -> Path:
        return self.folder / f"result{ending}"

    def _file(self, name: str, value: Any) -> Path:
        """An argument's image as a file on the grid of the main one."""
        path = self.folder / f"{len(self.files)}_{name}.nii"
        _save(self.of if value is self.main else companion(value, self.of, name), path)
        self.files[path.as_posix()] = name
        return path

    def points(self, rows: Any) -> Path:
        """Voxels in the order of the image's axes, and perhaps a label, as a table."""
        table = np.asarray(rows)
        if table.ndim != 2 or table.shape[1] not in (self.of.ndim, self.of.ndim + 1):
            raise InputError(f"points: an array of shape {table.shape}; a row has {self.of.ndim} numbers, and perhaps a label")
        path = self.folder / f"{len(self.files)}_points.tsv"
        labelled = table.shape[1] > self.of.ndim
        with path.open("w", encoding="ascii") as file:
            print("i", "j", "k", *(["label"] if labelled else []), sep="\t", file=file)
            for row in table.tolist():
                print(*self.of.in_order(row[: self.of.ndim]), *([int(row[-1])] if labelled else []), sep="\t", file=file)
        self.files[path.as_posix()] = "points"
        return path

    def _words(self) -> list[str]:
        """Options as the command takes them: min_size=5 is --min-size=5, True is a flag, and of a list
        of images or files each is given."""
        words = []
        for name, value in self.settings.items():
            option = "--" + name.replace("_", "-")
            several = isinstance(value, list) and not is_nested(value)
            several = several and all(_is_image(each) or isinstance(each, (str, os.PathLike)) for each in value)
            for each in value if several else [value]:
                if each is None or each is False:
                    continue
                if each is True:
                    words.append(option)
                elif _is_image(each):
                    words.append(f"{option}={self._file(name, each)}")
                else:
                    many = np.iterable(each) and not isinstance(each, str)
                    words.append(f"{option}={','.join(map(str, each)) if many else each}")
        return words

    def _common(self) -> list[str]:
        threads, memory = self.options.get("threads"), _bytes(self.options.get("max_memory", 0))
        if threads is not None:
            check_threads(threads)
        check_progress(self.options.get("progress"))
        device = _Process.device(self.options.get("device", "auto"))
        words = ["--quiet", f"--device={device}", f"--report={self.folder / 'report.json'}"]
        return words + ([f"--threads={threads}"] if threads else []) + ([f"--max-memory={memory}"] if memory else [])

    def _told(self, text: str) -> str:
        """The command's line with the caller's names in place of files and options."""
        for path, name in self.files.items():
            text = text.replace(path, name)
        text = text.replace(f"{self.folder.as_posix()}/", "")
        for name, argument in (("IMAGE", "image"), ("LABELS", "labels"), ("SEEDS", "seeds")):
            text = re.sub(rf"\b{name}\b", argument, text)
        text = re.sub(r"^lobule( \w+)?: ", "", text)
        return re.sub(r"(?<![\w-])--([a-z][a-z-]*)", lambda found: found[1].replace("-", "_"), text)

    def run(self, out: Path) -> None:
        """Run it, and raise what went wrong."""
        words = [self.name]
        words += [str(self._file(name, value)) for name, value in self.operands.items() if value is not None]
        words += ["-o", str(out), *self._words(), *self._common()]
        watch = _Watch(self.options.get("progress"), (0.0, 1.0))
        said = self.folder / "said.txt"
        with said.open("w", encoding="utf-8") as stderr:
            process = _start(words, stderr=stderr, env={**os.environ, "LOBULE_PROGRESS": "tags"})
            try:
                for line in process.stdout or ():
                    found = re.fullmatch(r"<filter-progress>([\d.]+)</filter-progress>\s*", line)
                    if found and watch.told(None, float(found[1])):
                        break
                if watch.raised is None:
                    process.wait()
            except BaseException:
                _stop(process)
                raise
            finally:
                watch.end()
        if watch.raised is not None:
            _stop(process)
            raise watch.raised
        _read_report(self.folder / "report.json", self.options.get("report"))
        if process.returncode != 0:
            lines = said.read_text(encoding="utf-8").strip().splitlines()
            text = self._told(lines[-1]) if lines else f"lobule {self.name} ended with {process.returncode}"
            raise BY_EXIT_CODE.get(process.returncode, InternalError)(text)

    def volume(self, channels: bool = False) -> Any:
        """Run it for a volume, of the kind of the main image; channels: with an axis for these."""
        path = self.out(".nii")
        self.run(path)
        return _load(path, self.of, channels)
