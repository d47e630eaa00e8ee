#!/usr/bin/env python3
"""HDF5 read and written by Lobule and by h5py: MB/s of voxels, alternating runs, medians of ratios.

A volume like a CT (the abdomen phantom, 12 bits with noise) and its labels, in gzip chunks of 64^3. Reading is
the time from the open file to voxels in memory: Lobule's stages read and inflate, its reader's process included,
against h5py's File and [()]. Writing is from voxels in memory to a closed file at gzip level 1 with shuffle:
Lobule's stages compress and write, which flush to the disk, against h5py's create_dataset, then fsync. Processor
seconds are those of both together, and of Lobule of the whole command, checksums and starting included: they say
more where other programs run. Voxels that Lobule writes must be h5py's, else it ends with 1.

usage: hdf5_rates.py [--size X,Y,Z] [--threads N] [--repeat N]
"""
import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import h5py
import nibabel
import numpy as np
from harness import Failed, Run, heading, median, table

SIZE = "320,320,200"
NOISE_PERCENT = 100 * 20 / 4096
PACKED = {"chunks": (64, 64, 64), "compression": "gzip", "shuffle": True}


def theirs_read(path):
    start = time.perf_counter()
    with h5py.File(path) as file:
        voxels = file["raw"][()]
    return voxels, time.perf_counter() - start


def theirs_write(path, voxels):
    start = time.perf_counter()
    with h5py.File(path, "w") as file:
        file.create_dataset("raw", data=voxels, compression_opts=1, **PACKED)
    with open(path, "rb") as file:
        os.fsync(file.fileno())
    return time.perf_counter() - start


def measure(folder, name, voxels, arguments):
    """A row: rates of reading and writing, and ratios to h5py's."""
    source, ours, theirs = (Path(folder, file) for file in ("source.h5", "ours.h5", "theirs.h5"))
    with h5py.File(source, "w") as file:
        file.create_dataset("raw", data=voxels, compression_opts=4, **PACKED)
    reads, writes, read_ratios, write_ratios, processor, theirs_processor = [], [], [], [], [], []
    for _ in range(arguments.repeat):
        run = Run("convert", source, ours, "--force", "--threads", arguments.threads)
        processor.append(run.processor)
        start = time.process_time()
        again, seconds = theirs_read(source)
        reads.append(run.stage("read") + run.stage("inflate"))
        read_ratios.append(seconds / reads[-1])
        writes.append(run.stage("compress") + run.stage("write"))
        write_ratios.append(theirs_write(theirs, again) / writes[-1])
        theirs_processor.append(time.process_time() - start)
        with h5py.File(ours) as file:
            if not np.array_equal(file["/ITKImage/0/VoxelData"][()], voxels):
                sys.exit(f"{name}: voxels differ from h5py's")
    mb = voxels.nbytes / 1e6
    read, write = median(read_ratios), median(write_ratios)
    return [name, f"{mb:.0f} MB, ratio {source.stat().st_size / voxels.nbytes:.3f}",
            f"{mb / median(reads):.0f}", f"{mb / median(reads) / read:.0f}", f"{read:.1f}",
            f"{mb / median(writes):.0f}", f"{mb / median(writes) / write:.0f}", f"{write:.1f}",
            f"{median(processor):.2f}", f"{median(theirs_processor):.2f}"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default=SIZE)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    heading()
    with tempfile.TemporaryDirectory() as folder:
        image, labels = Path(folder, "image.nii"), Path(folder, "labels.nii")
        Run("phantom", "abdomen", "--size", arguments.size, "--noise", NOISE_PERCENT, "-o", image, "--truth", labels)
        rows = [
            measure(folder, name, np.ascontiguousarray(np.asarray(nibabel.load(path).dataobj).transpose()), arguments)
            for name, path in (("like a CT", image), ("labels", labels))
        ]
    table(["volume", "voxels", "read MB/s", "h5py", "ratio", "written MB/s", "h5py", "ratio", "processor s", "h5py"], rows)


if __name__ == "__main__":
    try:
        main()
    except Failed as failure:
        sys.exit(f"hdf5_rates: {failure}")
