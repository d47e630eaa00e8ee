"""Make a Zarr array of a folder of TIFFs, a plane each, in the order of the numbers in their names.

usage: python tiffs_to_zarr.py FOLDER OUT.zarr    (pip install tifffile zarr)

It holds 32 planes at a time, and writes OUT.zarr.part, which becomes OUT.zarr when it is complete. The array says nothing
of the voxels' size: `lobule convert --spacing` does.
"""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import tifffile
import zarr

PLANES, SIDE = 32, 256  # of a chunk


def by_numbers(path):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.name)]


def read(path):
    try:
        return tifffile.imread(path)
    except Exception as error:  # noqa: BLE001 - damage shows in many
        sys.exit(f"{path}: cannot be read: {' '.join(str(error).split())}")


def fill(part, files):
    first = read(files[0])
    if first.ndim != 2:
        sys.exit(f"{files[0]}: is no plane of one channel, but has the shape {first.shape}")
    chunks = (PLANES, min(SIDE, first.shape[0]), min(SIDE, first.shape[1]))
    array = zarr.open_array(str(part), mode="w-", shape=(len(files), *first.shape), chunks=chunks, dtype=first.dtype)
    for z in range(0, len(files), PLANES):
        planes = [read(path) for path in files[z : z + PLANES]]
        for path, plane in zip(files[z:], planes):
            if (plane.shape, plane.dtype) != (first.shape, first.dtype):
                sys.exit(f"{path}: has other sides, or another type, than {files[0]}")
        array[z : z + PLANES] = np.stack(planes)


def main(folder, out):
    files = sorted((path for path in Path(folder).iterdir() if path.suffix.lower() in (".tif", ".tiff")), key=by_numbers)
    if not files:
        sys.exit(f"{folder}: there are no .tif files")
    out = Path(out)
    if out.exists():
        sys.exit(f"{out}: is there already")
    part = out.with_name(out.name + ".part")
    if part.exists():  # of a run that was killed
        shutil.rmtree(part)
    try:
        fill(part, files)
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
