#!/usr/bin/env python3
"""GrowCut on a phantom the size of an abdominal CT: seconds by stage and peak memory, on two threads.

usage: bench_cpu.py [--size X,Y,Z] [--threads N] [--repeat N]
"""
import math
import tempfile
from pathlib import Path

from harness import Run, heading, median, options, table

RULES = ("strength", "distance")


def main():
    arguments = options(__doc__, size="512,512,300", threads=2, repeat=3)
    voxels = math.prod(int(side) for side in arguments.size.split(","))

    heading()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        image, seeds = Path(folder, "image.nii.gz"), Path(folder, "seeds.nii.gz")
        Run("phantom", "abdomen", "--size", arguments.size, "-o", image, "--seeds", seeds)
        in_out = (image.stat().st_size, seeds.stat().st_size)
        for rule in RULES:
            runs = [
                Run("growcut", image, seeds, "-o", Path(folder, "labels.nii.gz"), "--rule", rule,
                    "--neighbours", 26, "--threads", arguments.threads, "--device", "cpu", "--force")
                for _ in range(arguments.repeat)
            ]
            stages = {name: median(run.stage(name) for run in runs)
                      for name in ("read", "inflate", "compute", "compress", "write")}
            working = median(run.report["results"]["working_bytes"] for run in runs)
            rows.append([
                f"growcut --rule {rule}", arguments.size,
                *(f"{seconds:.2f}" for seconds in stages.values()),
                f"{median(run.seconds for run in runs):.2f}",
                f"{voxels / stages['compute'] / 1e6:.1f}",
                f"{median(run.peak_mib for run in runs):.0f}",
                f"{working / voxels:.1f}",
            ])
    print(f"GrowCut, 26 neighbours, {arguments.threads} threads, median of {arguments.repeat}; "
          f"gzip inputs of {in_out[0] / 2**20:.0f} and {in_out[1] / 2**20:.1f} MiB\n")
    table(["what", "voxels", "read s", "inflate s", "compute s", "compress s", "write s", "whole s",
           "Mvoxel/s", "peak MiB", "working bytes/voxel"], rows)


if __name__ == "__main__":
    main()
