#!/usr/bin/env python3
"""Connected components by Lobule and by cc3d: the same volumes, alternately, medians.

Lobule's time is its stage "compute", cc3d's that of its one call on an array in memory; both number
1..N and the arrays must be equal. cc3d works on one thread.

usage: components_peer.py [--side N] [--threads N] [--repeat N]
"""
import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from harness import Run, heading, load, median, save, table  # noqa: E402


def smooth_noise(side, sigma, seed):
    """Noise smoothed until its features are about sigma voxels large; mean 0."""
    import numpy as np
    from scipy import ndimage

    noise = np.random.default_rng(seed).standard_normal((side,) * 3, dtype=np.float32)
    return ndimage.gaussian_filter(noise, sigma, mode="wrap")


def volumes(side):
    """Name, voxels, options of Lobule, arguments of cc3d."""
    import numpy as np

    field = smooth_noise(side, 4, 1)
    blobs = (field > 0).astype(np.uint8)
    classes = np.zeros(field.shape, np.uint8)
    for seed in (3, 4, 5):
        other = smooth_noise(side, 6, seed)
        ranks = np.quantile(other[::4, ::4, ::4], (0.2, 0.4, 0.6, 0.8))
        classes = classes * 5 + np.digitize(other, ranks).astype(np.uint8)
    noise = (np.random.default_rng(2).random((side,) * 3) < 0.3116).astype(np.uint8)
    any_value, equal = {"binary_image": True}, {}
    yield "blobs, 26 neighbours", blobs, ("--neighbours", 26), {**any_value, "connectivity": 26}
    yield "blobs, 6 neighbours", blobs, ("--neighbours", 6), {**any_value, "connectivity": 6}
    yield "noise .3116, 26", noise, ("--neighbours", 26), {**any_value, "connectivity": 26}
    yield "125 classes, equal, 26", classes, ("--equal",), {**equal, "connectivity": 26}
    yield ("125 classes, equal, 6", classes, ("--equal", "--neighbours", 6),
           {**equal, "connectivity": 6})


def cc3d_label(array, arguments):
    """Labels and seconds."""
    import cc3d

    begin = time.perf_counter()
    labels = cc3d.connected_components(array, **arguments)
    return labels, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    import nibabel
    import numpy as np

    heading()
    print(f"components, {arguments.side}^3 uint8, median of {arguments.repeat} alternating runs, "
          f"Lobule on {arguments.threads} threads\n")
    grid = nibabel.Nifti1Image(np.zeros((1, 1, 1), np.uint8), np.eye(4))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        image, labels = Path(folder, "image.nii"), Path(folder, "labels.nii")
        for name, voxels, options, peer in volumes(arguments.side):
            voxels = np.asfortranarray(voxels)
            save(image, voxels, grid)
            ours, theirs = [], []
            for _ in range(arguments.repeat):
                run = Run("components", image, "-o", labels, *options, "--device", "cpu",
                          "--threads", arguments.threads, "--force")
                ours.append(run.stage("compute"))
                found, seconds = cc3d_label(voxels, peer)
                theirs.append(seconds)
            same = np.array_equal(load(labels)[0], found)
            work = run.report["results"].get("working_bytes", 0) / voxels.size
            ratio = median(t / o for o, t in zip(ours, theirs))
            rows.append([name, int(found.max()), f"{median(ours):.3f}", f"{median(theirs):.3f}",
                         f"{ratio:.1f}", f"{work:.2f}", "equal" if same else "DIFFERENT"])
    table(["volume", "components", "Lobule s", "cc3d s", "cc3d / Lobule", "bytes a voxel", "labels"],
          rows)
    if any(row[-1] != "equal" for row in rows):
        sys.exit("labels differ")


if __name__ == "__main__":
    main()
