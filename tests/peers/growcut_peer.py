#!/usr/bin/env python3
"""GrowCut by Lobule and by ITK's FastGrowCut: the same scan and seeds, alternately, medians.

Both get the additive rule with 26 neighbours and no penalty for distance. Compute alone is Lobule's
stage "compute" and ITK's Update() on data in memory; whole is from files to a file. ITK works on one
thread and does not grow from seeds in the outermost layer of voxels.

usage: growcut_peer.py [--size X,Y,Z] [--threads N] [--repeat N]
"""
import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from harness import Run, dice, heading, load, median, table  # noqa: E402


def itk_growcut(image_path, seeds_path, out_path):
    """Seconds of Update() alone, and from files to file."""
    import itk

    start = time.perf_counter()
    image = itk.imread(str(image_path), itk.SS)
    seeds = itk.imread(str(seeds_path), itk.UC)
    growcut = itk.FastGrowCut[type(image), type(seeds)].New()
    growcut.SetInput(image)
    growcut.SetSeedImage(seeds)
    growcut.SetDistancePenalty(0.0)
    begin = time.perf_counter()
    growcut.Update()
    compute = time.perf_counter() - begin
    itk.imwrite(growcut.GetOutput(), str(out_path), True)
    return compute, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="256,256,160")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    try:
        import itk

        itk.FastGrowCut
    except (ImportError, AttributeError) as reason:
        sys.exit(f"the packages of tests/peers/requirements.txt are needed (./run peers): {reason}")

    heading()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        image, seeds, truth, mine, other = (
            Path(folder, f"{name}.nii.gz") for name in ("image", "seeds", "truth", "mine", "other"))
        Run("phantom", "abdomen", "--size", arguments.size, "-o", image, "--seeds", seeds,
            "--truth", truth)
        for _ in range(arguments.repeat):
            run = Run("growcut", image, seeds, "-o", mine, "--rule", "distance", "--neighbours", 26,
                      "--threads", arguments.threads, "--device", "cpu", "--force")
            ours.append((run.stage("compute"), run.seconds))
            theirs.append(itk_growcut(image, seeds, other))
        mine, other, truth = (load(path)[0] for path in (mine, other, truth))

    print(f"GrowCut, additive rule, {arguments.size} voxels, 26 neighbours, "
          f"median of {arguments.repeat}, Lobule on {arguments.threads} threads\n")
    rows = []
    for what, i in (("compute", 0), ("whole, files to file", 1)):
        a, b = median(t[i] for t in ours), median(t[i] for t in theirs)
        rows.append([what, f"{a:.3f}", f"{b:.3f}", f"{b / a:.1f}"])
    table(["seconds", "Lobule", "ITK", "ITK / Lobule"], rows)

    inner = (slice(1, -1),) * 3
    equal = mine == other
    print(f"equal labels: {equal.mean():.6f} of all voxels, "
          f"{equal[inner].mean():.6f} without the outermost layer\n")
    labels = [int(label) for label in sorted(set(truth[truth > 0].tolist()))]
    table(["label", "Dice, Lobule and ITK", "Dice, Lobule and truth", "Dice, ITK and truth"],
          [[label, f"{dice(mine == label, other == label):.5f}",
            f"{dice(mine == label, truth == label):.4f}",
            f"{dice(other == label, truth == label):.4f}"] for label in labels])


if __name__ == "__main__":
    main()
