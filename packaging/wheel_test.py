"""The wheel in an environment with numpy alone: each part gives what the command gives."""

import os
import sys
import tempfile
from importlib import metadata

import numpy as np

import lobule

case = tempfile.mkdtemp()


def path(name):
    return os.path.join(case, name + ".nii")


lobule.command("phantom", "abdomen", "--size", "40,32,20", "--spacing", "1,1,1", "-o", path("scan"), "--seeds",
               path("seeds"), "--truth", path("truth"), "--noise", "2")  # fmt: skip


def voxels(name, count):
    """A NIfTI's voxels, (z, y, x), of what the command writes here."""
    with open(path(name), "rb") as file:
        data = file.read()
    kind = {2: "u1", 4: "<i2", 8: "<i4", 16: "<f4"}[int.from_bytes(data[70:72], "little")]
    offset = int(np.frombuffer(data, "<f4", 1, 108)[0])
    return np.frombuffer(data, kind, count, offset).reshape(20, 32, 40)


scan, seeds = voxels("scan", 25600), voxels("seeds", 25600)
calls = {
    "growcut": ((path("scan"), path("seeds")), lambda: lobule.growcut(scan, seeds)),
    "components": ((path("scan"), "--above", "900"), lambda: lobule.components(scan, above=900)),
    "supervoxels": ((path("scan"), "--size", "6"), lambda: lobule.slic(scan, size=6)),
    "filter": ((path("scan"), "--gaussian", "1.5"), lambda: lobule.gaussian(scan, 1.5)),
    "segment": ((path("scan"), path("seeds")), lambda: lobule.segment(scan, seeds)),
}
for name, (words, call) in calls.items():
    lobule.command(name, *words, "-o", path("out"), "--force", "--quiet")
    found, wanted = call(), voxels("out", 25600)
    assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes(), name
# HDF5 is read and written by a program that the wheel brings, OME-Zarr with libraries in it.
for name, suffix in (("HDF5", ".h5"), ("OME-Zarr", ".ome.zarr")):
    lobule.command("convert", path("scan"), path("scan") + suffix, "--quiet")
    lobule.command("convert", path("scan") + suffix, path("out"), "--force", "--quiet")
    assert voxels("out", 25600).tobytes() == scan.tobytes(), name
try:
    about = metadata.metadata("lobule")
    assert about["Author"] == "The Lobule authors" and about["Summary"] and about["Keywords"], "what pip show tells"
except metadata.PackageNotFoundError:
    pass  # Debian's package was not installed by pip
print(f"lobule {lobule.__version__}, Python {sys.version.split()[0]}, numpy {np.__version__}: {', '.join(calls)}, HDF5, OME-Zarr: same bytes")
