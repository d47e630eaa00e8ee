#!/usr/bin/env python3
"""NIfTI read and written by Lobule, nibabel and SimpleITK, and inflated by plain libdeflate: MB/s of voxels.

A volume like a CT (the abdomen phantom, 12 bits with noise) and its labels, as .nii.gz and .nii; one run of each
program after the other, medians of the runs. Reading is from the open file to voxels in memory: Lobule's stages read
and inflate, beside which it computes the file's checksum for its report, against nibabel's asarray(dataobj), not
mapped, and SimpleITK's ReadImage. Writing is from voxels in memory to a closed file: Lobule's stages compress and
write, which flush to the disk, against save and WriteImage, then fsync. .nii.gz is written at level 6 by Lobule, 1 by
nibabel. libdeflate inflates on one thread from memory to memory that was used before. What Lobule writes must hold
nibabel's voxels, else it ends with 1. A program that is not installed is left out.

usage: nifti_rates.py [--size X,Y,Z] [--threads N] [--repeat N]
"""
import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import nibabel
import numpy as np
from harness import Failed, Run, deflate_alone, heading, median, table

try:
    import SimpleITK
except ImportError:
    SimpleITK = None

SIZE = "320,320,200"
NOISE_PERCENT = 100 * 20 / 4096


def timed(call, flushed=None):
    """Seconds of a call, and of flushing the file that it wrote; and its result."""
    start = time.perf_counter()
    result = call()
    if flushed:
        with open(flushed, "rb") as file:
            os.fsync(file.fileno())
    return time.perf_counter() - start, result


def by_nibabel(source, target):
    read, image = timed(lambda: np.asarray(nibabel.load(source, mmap=False).dataobj))
    out = nibabel.Nifti1Image(image, np.eye(4))
    return read, timed(lambda: nibabel.save(out, target), target)[0]


def by_simpleitk(source, target):
    read, image = timed(lambda: SimpleITK.ReadImage(str(source)))
    return read, timed(lambda: SimpleITK.WriteImage(image, str(target), True), target)[0]


def by_lobule(source, target, threads):
    run = Run("convert", source, target, "--force", "--threads", threads)
    return run.stage("read") + run.stage("inflate"), run.stage("compress") + run.stage("write")


def measure(folder, name, source, arguments):
    """A row: rates of reading and writing by each program."""
    voxels = np.asarray(nibabel.load(source).dataobj)
    suffix = ".nii.gz" if source.name.endswith(".gz") else ".nii"
    peers = {"nibabel": by_nibabel, "SimpleITK": by_simpleitk if SimpleITK else None}
    times = {key: [] for key in ("Lobule", *peers)}
    alone = []
    ours = Path(folder, "lobule" + suffix)
    for _ in range(arguments.repeat):
        times["Lobule"].append(by_lobule(source, ours, arguments.threads))
        if suffix == ".nii.gz":
            alone.append(deflate_alone(source, 1)[0])
        for peer, call in peers.items():
            if call:
                times[peer].append(call(source, Path(folder, peer + suffix)))
    if not np.array_equal(np.asarray(nibabel.load(ours).dataobj), voxels):
        sys.exit(f"{name}: voxels differ from nibabel's")
    mb = voxels.nbytes / 1e6
    rate = lambda key, i: f"{mb / median(each[i] for each in times[key]):.0f}" if times[key] else ""  # noqa: E731
    inflated = f"{mb / median(alone):.0f}" if alone else ""
    return [f"{name}, {suffix}", f"{mb:.0f} MB in {source.stat().st_size / 1e6:.1f}", *(rate(key, 0) for key in times),
            inflated, *(rate(key, 1) for key in times)]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default=SIZE)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    heading()
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for suffix in (".nii.gz", ".nii"):
            image, labels = Path(folder, "image" + suffix), Path(folder, "labels" + suffix)
            Run("phantom", "abdomen", "--size", arguments.size, "--noise", NOISE_PERCENT, "-o", image, "--truth", labels)
            rows += [measure(folder, "like a CT", image, arguments), measure(folder, "labels", labels, arguments)]
    print(f"{arguments.threads} threads of Lobule, medians of {arguments.repeat}, MB/s\n")
    table(["volume", "voxels", "read: Lobule", "nibabel", "SimpleITK", "libdeflate",
           "written: Lobule", "nibabel", "SimpleITK"], rows)  # fmt: skip


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"nifti_rates: {failure}")
