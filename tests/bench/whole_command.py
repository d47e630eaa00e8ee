#!/usr/bin/env python3
"""GrowCut from file to file on a volume like a CT: seconds of every stage on each device.

The labels' files must be the same bytes on all devices, else it ends with 1. Stages are medians; they
and "other" add up to the command's own wall time; "process" is the wall time as seen from outside,
with starting and ending the program. "libdeflate alone" inflates the image's file from memory to memory on one
thread.

usage: whole_command.py [--size X,Y,Z] [--threads N] [--repeat N] [--devices NAME,NAME] [-- GROWCUT OPTION...]
"""
import argparse
import hashlib
import os
import sys
import tempfile
from pathlib import Path

from harness import Failed, Run, deflate_alone, heading, median, table

# 466 slices with noise of a standard deviation of 20 in 12 bits are 147 MB as .nii.gz.
SIZE = "512,512,466"
NOISE_PERCENT = 100 * 20 / 4096


def grow(folder, device, arguments):
    """Runs of growcut on a device, and the hashes of what they wrote."""
    labels = Path(folder, "labels.nii.gz")
    runs, hashes = [], []
    for _ in range(arguments.repeat):
        runs.append(Run("growcut", Path(folder, "image.nii.gz"), Path(folder, "seeds.nii.gz"), "-o", labels,
                        "--device", device, "--threads", arguments.threads, "--force", *arguments.options))
        hashes.append(hashlib.sha256(labels.read_bytes()).hexdigest())
    return runs, hashes


def stages(columns):
    """Names of the stages that any device has, in the order in which they come."""
    longest = max((runs[0].report["seconds"] for runs in columns), key=len)
    return [name for name in longest if name != "total"]


def where(run):
    device = run.report["device"]
    return device.get("name") or f"{device['threads']} threads"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default=SIZE)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--devices", default="cuda,cpu")
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    devices = arguments.devices.split(",")

    heading()
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder, "image.nii.gz")
        Run("phantom", "abdomen", "--size", arguments.size, "--noise", NOISE_PERCENT, "-o", image,
            "--seeds", Path(folder, "seeds.nii.gz"), "--threads", arguments.threads)
        print(f"growcut {' '.join(arguments.options) or 'with its defaults'}: {arguments.size} voxels, "
              f"{image.stat().st_size / 1e6:.0f} MB of .nii.gz, median of {arguments.repeat}\n")
        alone, _ = deflate_alone(image, arguments.repeat)
        results = [grow(folder, device, arguments) for device in devices]
    columns = [runs for runs, _ in results]
    rows = [[name, *(f"{median(run.stage(name) for run in runs):.3f}" for runs in columns)]
            for name in stages(columns)]
    rows.append(["total", *(f"{median(run.stage('total') for run in runs):.3f}" for runs in columns)])
    rows.append(["libdeflate alone"] + [f"{alone:.3f}"] * len(columns))
    rows.append(["times that", *(f"{median(run.stage('total') for run in runs) / alone:.2f}" for runs in columns)])
    rows.append(["process", *(f"{median(run.seconds for run in runs):.3f}" for runs in columns)])
    table(["seconds", *(f"{device}: {where(runs[0])}" for device, runs in zip(devices, columns))], rows)

    hashes = {digest for _, each in results for digest in each}
    for device, (_, each) in zip(devices, results):
        print(f"labels by {device}: sha256 {' '.join(sorted(set(each)))}")
    print("the same bytes" if len(hashes) == 1 else "DIFFERENT BYTES")
    return len(hashes) != 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"whole_command: {error}")
