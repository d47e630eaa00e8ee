#!/usr/bin/env python3
"""SLIC by Lobule, scikit-image and SimpleITK on a phantom: alternating runs, median ratio of times.

Lobule's time is its stage "compute", the others' that of their one call on data in memory; each gets
the same voxels, side, iterations and compactness. scikit-image works on one thread, SimpleITK on as
many as Lobule.

usage: bench_supervoxels.py [--size X,Y,Z] [--side S] [--iterations N] [--threads N] [--repeat N]
"""
import argparse
import math
import tempfile
from pathlib import Path

import SimpleITK as sitk

from harness import Run, heading, load, median, table
from supervoxel_peers import Lobule, Sitk, Skimage


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="256,256,256")
    parser.add_argument("--side", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    voxels = math.prod(int(side) for side in arguments.size.split(","))
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(arguments.threads)
    compactness = 0.05

    heading()
    with tempfile.TemporaryDirectory() as folder:
        image, labels = Path(folder, "image.nii"), Path(folder, "labels.nii")
        Run("phantom", "abdomen", "--size", arguments.size, "-o", image)
        array = load(image)[0].T.copy()
        options = ("--iterations", arguments.iterations, "--threads", arguments.threads)
        ours = [Lobule(method) for method in ("slic", "slico", "lsc")]
        peers = [(Skimage(), voxels / arguments.side**3), (Sitk(), (arguments.side,) * 3)]
        prepared = [peer.prepare(array) for peer, _ in peers]
        seconds, count = {}, {}
        for _ in range(arguments.repeat):
            for method in ours:
                found, taken = method.run(image, labels, arguments.side, *options)
                seconds.setdefault(f"Lobule {method.name}", []).append(taken)
                count[f"Lobule {method.name}"] = int(found.max())
            for (peer, parameter), data in zip(peers, prepared):
                found, taken = peer.run(data, parameter, compactness, False, arguments.iterations, None)
                seconds.setdefault(peer.name, []).append(taken)
                count[peer.name] = int(found.max())

    print(f"{arguments.size} voxels, side {arguments.side}, {arguments.iterations} iterations, "
          f"{arguments.threads} threads, median of {arguments.repeat} alternating runs\n")
    base = seconds["Lobule SLIC"]
    rows = [[name, count[name], f"{median(taken):.2f}", f"{voxels / median(taken) / 1e6:.1f}",
             f"{median(t / b for t, b in zip(taken, base)):.2f}"] for name, taken in seconds.items()]
    table(["program", "supervoxels", "seconds", "Mvoxel/s", "times Lobule SLIC"], rows)


if __name__ == "__main__":
    main()
