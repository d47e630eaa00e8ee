#!/usr/bin/env python3
"""SLIC by Lobule, scikit-image and SimpleITK on a phantom: alternating runs, median ratios of times.

Lobule's time is its stage "compute", the others' that of their one call on data in memory; each gets
the same voxels, side, iterations and compactness. scikit-image works on one thread, SimpleITK on as
many as Lobule. User seconds are those of all threads, on a busy machine the fairer measure; Lobule's
are its whole process's, with reading and writing.

usage: bench_supervoxels.py [--size X,Y,Z] [--side S] [--iterations N] [--threads N] [--repeat N]
"""
import math
import resource
import tempfile
from pathlib import Path

import numpy as np
import SimpleITK as sitk

from harness import Run, heading, load, median, options, table
from supervoxel_peers import Lobule, Sitk, Skimage


def used():
    """User seconds of this process and of the children it waited for."""
    return sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def main():
    arguments = options(__doc__, size="256,256,256", side=8, iterations=10, threads=2, repeat=3)
    voxels = math.prod(int(side) for side in arguments.size.split(","))
    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(arguments.threads)
    weight, peers = 0.05, (Skimage(), Sitk())

    heading()
    with tempfile.TemporaryDirectory() as folder:
        image, out = Path(folder, "image.nii"), Path(folder, "labels.nii")
        Run("phantom", "abdomen", "--size", arguments.size, "-o", image)
        array = load(image)[0].T.copy()
        parameters = (round(voxels / arguments.side**3), (arguments.side,) * 3)
        prepared = [peer.prepare(array) for peer in peers]
        chosen = ("--size", f"{arguments.side}vox", "--iterations", arguments.iterations, "--threads",
                  arguments.threads)

        def ours(method):
            labels, run = method.run(image, out, *chosen)
            return labels, run.stage("compute")

        def theirs(peer, data, parameter):
            return peer.run(data, parameter, weight, False, arguments.iterations, None)

        programs = [(method.name, ours, (method,)) for method in map(Lobule, ("slic", "slico", "lsc"))]
        programs += [(peer.name, theirs, (peer, data, parameter))
                     for peer, data, parameter in zip(peers, prepared, parameters)]
        seconds, user, count = {}, {}, {}
        for _ in range(arguments.repeat):
            for name, cut, given in programs:
                before = used()
                labels, taken = cut(*given)
                user.setdefault(name, []).append(used() - before)
                seconds.setdefault(name, []).append(taken)
                count[name] = len(np.unique(labels))

    print(f"{arguments.size} voxels, side {arguments.side}, {arguments.iterations} iterations, "
          f"{arguments.threads} threads, medians of {arguments.repeat} alternating runs\n")

    def times(of):
        return {name: f"{median(a / b for a, b in zip(taken, of['Lobule SLIC'])):.2f}"
                for name, taken in of.items()}

    wall, work = times(seconds), times(user)
    rows = [[name, count[name], f"{median(taken):.2f}", f"{voxels / median(taken) / 1e6:.1f}", wall[name],
             f"{median(user[name]):.2f}", work[name]] for name, taken in seconds.items()]
    table(["program", "supervoxels", "seconds", "Mvoxel/s", "times Lobule SLIC", "user seconds",
           "times Lobule SLIC"], rows)


if __name__ == "__main__":
    main()
