#!/usr/bin/env python3
"""Five finished masks for a cohort: Dice of `lobule carry` beside majority, single atlases and strokes on every scan.

CHAOS MRs of LOBULE_SHARED: masks 3 15 22 34 39, targets 1 5 31 38, or others that lie there; a target is no mask of its
own. Labels: 1 liver, 2 right kidney, 3 left kidney, 4 spleen. Of every organ also its doubt, and how doubt and Dice rank.

usage: cohort.py [--masks 3,15,22,34,39] [--targets 1,5,31,38] [--parts carry,single,strokes]

carry: the command, and what wins in its --votes alone. single: each atlas moved by `register` and `warp`, and
their majority by `fuse`. strokes: `segment` from strokes on four slices of each organ.
"""
import csv
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import Failed, Run, dice, heading, load, options, save, shared, table
from scipy.stats import spearmanr

ORGANS = {1: "liver", 2: "right kidney", 3: "left kidney", 4: "spleen"}
SLICES = 4


def scores(found, truth):
    return [dice(found == organ, truth == organ) for organ in ORGANS]


def carry(folder, scans, masks, target, truth, results, doubts):
    """The command, and what its votes alone say; its run."""
    rows = [f"{scans}/image_{m}.nii.gz\t{scans}/label_{m}.nii.gz" for m in masks]
    (folder / "atlases.tsv").write_text("\n".join(["image\tlabels", *rows, ""]))
    run = Run("carry", scans / f"image_{target}.nii.gz", "--atlases", folder / "atlases.tsv", "-o", folder / "out.nii.gz",
              "--votes", folder / "votes.nii.gz", "--table", folder / "table.tsv", "--threads", 1, "--force")  # fmt: skip
    final = scores(load(folder / "out.nii.gz")[0], truth)
    votes = load(folder / "votes.nii.gz")[0].reshape(*truth.shape, -1)
    shares = np.concatenate([1 - votes.sum(-1, keepdims=True), votes], -1)
    results.append((target, "votes", scores(np.argmax(shares, -1), truth)))
    results.append((target, "carry", final))
    with open(folder / "table.tsv", newline="") as rows:
        doubts += [(float(r["doubt"]), float(r["share"]), d, target, ORGANS[int(r["label"])])
                   for r, d in zip(csv.DictReader(rows, delimiter="\t"), final)]  # fmt: skip
    return run


def single(folder, scans, masks, target, truth, results):
    scan, moved, each = scans / f"image_{target}.nii.gz", [], []
    for mask in masks:
        image, labels = folder / f"moved{mask}.nii.gz", folder / f"labels{mask}.nii.gz"
        Run("register", scan, scans / f"image_{mask}.nii.gz", "-o", folder / "field.nii", "--moved", image, "--force")
        Run("warp", scans / f"label_{mask}.nii.gz", folder / "field.nii", "--like", scan, "--labels", "-o", labels, "--force")
        moved += ["--atlas", f"{image},{labels}"]
        each.append(scores(load(labels)[0], truth))
    Run("fuse", scan, *moved, "--method", "majority", "-o", folder / "majority.nii.gz", "--force")
    results.append((target, "single atlases, mean", np.mean(each, 0)))
    results.append((target, "majority", scores(load(folder / "majority.nii.gz")[0], truth)))


def strokes(folder, scans, target, truth, results):
    """Strokes of all organs together, as `segment` takes them: one more label for the background."""
    spec = importlib.util.spec_from_file_location("strokes", shared() / "tools/strokes.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    image = load(scans / f"image_{target}.nii.gz")[1]
    spacing = np.abs(image.header.get_zooms()[:3]).astype(float)
    drawn = np.zeros(truth.shape, np.uint8)
    for organ in ORGANS:
        lines = tool.make(truth, organ, spacing, 0, SLICES, 2)
        drawn[(lines == 2) & (truth == 0) & (drawn == 0)] = len(ORGANS) + 1
        drawn[lines == 1] = organ
    save(folder / "strokes.nii.gz", drawn, image)
    Run("segment", scans / f"image_{target}.nii.gz", folder / "strokes.nii.gz", "-o", folder / "drawn.nii.gz", "--background",
        len(ORGANS) + 1, "--force")  # fmt: skip
    results.append((target, f"strokes on {SLICES} slices", scores(load(folder / "drawn.nii.gz")[0], truth)))


def main():
    chosen = options(__doc__, masks="3,15,22,34,39", targets="1,5,31,38", parts="carry,single,strokes")
    scans = shared() / "data/chaos-mr" if shared() else None
    if not scans or not scans.is_dir():
        sys.exit("cohort: LOBULE_SHARED has no data/chaos-mr")
    results, doubts, parts = [], [], chosen.parts.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for target in chosen.targets.split(","):
            masks = [mask for mask in chosen.masks.split(",") if mask != target]
            truth = np.rint(load(scans / f"label_{target}.nii.gz")[0]).astype(np.uint8)
            try:
                if "carry" in parts:
                    run = carry(folder, scans, masks, target, truth, results, doubts)
                    print(f"target {target}: {run.processor:.1f} s of one thread, {run.peak_mib:.0f} MiB", flush=True)
                if "single" in parts:
                    single(folder, scans, masks, target, truth, results)
                if "strokes" in parts:
                    strokes(folder, scans, target, truth, results)
            except Failed as failed:
                sys.exit(f"cohort: {failed}")
    heading()
    for method in dict.fromkeys(method for _, method, _ in results):
        rows = [[target, *(f"{d:.3f}" for d in row), f"{np.mean(row):.3f}"] for target, of, row in results if of == method]
        mean = np.mean([row for _, of, row in results if of == method], 0)
        rows.append(["mean", *(f"{d:.3f}" for d in mean), f"{mean.mean():.3f}"])
        print(method)
        table(["target", *ORGANS.values(), "mean"], rows)
    if len(doubts) > 2:
        doubt, share, found = ([d[k] for d in doubts] for k in range(3))
        ranks = -spearmanr(doubt, found)[0], spearmanr(share, found)[0]
        print("rank correlation with Dice over {} organs: 1 - doubt {:.2f}, vote share {:.2f}; by falling doubt:".format(len(doubts), *ranks))
        table(["doubt", "share", "Dice", "target", "organ"], [(*(f"{v:.3f}" for v in d[:3]), *d[3:]) for d in sorted(doubts, reverse=True)])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
