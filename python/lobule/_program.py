"""The command `lobule` and its recipes on images in memory, in a process of its own.

Recipes are made of the command's steps, which read and write files. So images go through
uncompressed files in a temporary folder, and results are the command's to the byte.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from ctypes import byref
from pathlib import Path
from typing import Any

import numpy as np

from . import _abi
from ._errors import BY_EXIT_CODE, Different, InternalError
from ._library import HERE, check, library
from ._volumes import DTYPES, Nibabel, Source, companion, memory, source, volume


def program() -> str:
    """The path of the command: $LOBULE_PROGRAM, the package's own, or what the shell finds."""
    given = os.environ.get("LOBULE_PROGRAM")
    own = HERE / "bin" / "lobule"
    found = given or (str(own) if own.is_file() else shutil.which("lobule"))
    if not found:
        raise FileNotFoundError("the command lobule is not found: install it, or set LOBULE_PROGRAM to it")
    return found


def command(*words: Any) -> str:
    """Run the command with these words, as `command("info", "scan.nii.gz")`; returns what it prints.

    Raises by exit code, with its line: InputError, NoInputError, DeviceError, ... Different, with
    what was printed, is that of 1: `compare --strict` has found a difference.
    """
    process = subprocess.Popen(
        [program(), *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", errors="replace",
    )  # fmt: skip
    try:
        printed, said = process.communicate()
    except BaseException:
        process.terminate()
        process.wait()
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
    )  # fmt: skip


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
    shape = (found.dims.nz, found.dims.ny, found.dims.nx)
    full = shape if found.channels == 1 else (found.channels, *shape)
    voxels = memory(found.data, full, DTYPES[found.type])
    found.data = None
    return voxels, found


def _load(path: Path, like: Source) -> Any:
    """A volume that was written, as an image of the kind of another, on the grid of the file."""
    voxels, found = read(path)
    geometry = _abi.lob_geometry.from_buffer_copy(found.geometry)
    library.lob_volume_free(byref(found))
    same = voxels.shape[-3:] == like.voxels.shape[1:]
    return like.give(voxels, voxels.dtype.kind in "iu", None if same else geometry)


def _words(options: dict[str, Any], folder: Path, like: Source | None) -> list[str]:
    """Options as the command takes them: min_size=5 is --min-size 5, True is a flag."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if _is_image(value):
            path = folder / f"{name}.nii"
            _save(companion(value, like, name) if like is not None else source(value), path)
            words.append(str(path))
        elif value is not True:
            many = isinstance(value, (list, tuple))
            words.append(",".join(map(str, value)) if many else str(value))
    return words


def _read_report(path: Path, report: dict[str, Any] | None) -> None:
    if report is not None and path.is_file():
        report.update(json.loads(path.read_text(encoding="utf-8")).get("results", {}))


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


def run(recipe: str | os.PathLike[str], *, report: dict[str, Any] | None = None, **values: Any) -> dict[str, Any]:
    """Run a recipe, one that comes with Lobule or a file: `lobule run`.

    recipe  its name ("strokes") or path
    values  what its {names} stand for: images of any kind, numbers, texts. `out` may be left out:
            what the recipe writes as {out}... then comes back. Give out=None to a recipe without it

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
        for key, value in given.items():
            if value is None:
                continue
            if _is_image(value):
                taken = companion(value, like, key) if like is not None else source(value)
                like = like or taken
                value = folder / f"{key}.nii"
                _save(taken, value)
            words.append(f"{key}={value}")
        told = folder / "report.json"
        with contextlib.suppress(Different):  # of lines that compare; all lines ran
            command("run", recipe, *words, "--quiet", "--report", told)
        _read_report(told, report)
        return {path.name[len("out") :]: _result(path, like) for path in sorted(results.iterdir())}
