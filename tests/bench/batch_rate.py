#!/usr/bin/env python3
"""Scans an hour of lobule batch beside a shell loop over single commands and xargs -P.

usage: batch_rate.py [--scans N] [--size X,Y,Z] [--rounds R] [--steps growcut,components,segment]
                     [--ways loop,batch] [--few M] [--device cuda]

Makes N phantom scans (no two are the same; --distinct D of them, the others are links), takes each
through the steps in these ways, by turns, and prints the median rates and their ratios; ways other
than the batch take the first M scans alone:

    loop      a shell loop: one command after another, with all threads each
    xargs     xargs -P CORES over scans, the commands as they are typed
    xargs 1   the same with --threads 1
    batch     lobule batch with the steps as a recipe

All outputs must be the same bytes. Set LOBULE_BIN; other programs on the machine spoil the ratios.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = os.environ.get("LOBULE_BIN", "lobule")
CORES = len(os.sched_getaffinity(0))

STEPS = {
    "growcut": "growcut {image} {seeds} -o {folder}/{scan}_grown.nii.gz",
    "components": "components {folder}/{scan}_grown.nii.gz -o {folder}/{scan}_pieces.nii.gz --equal",
    "filter": "filter {image} -o {folder}/{scan}_smooth.nii.gz --median 1",
    "threshold": "threshold {image} -o {folder}/{scan}_otsu.nii.gz --otsu 3",
    "segment": "segment {image} {seeds} -o {folder}/{scan}_mask.nii.gz",
}


def make_scans(folder, count, distinct, size):
    names = []
    for i in range(count):
        image, seeds = folder / f"i{i:03}.nii.gz", folder / f"s{i:03}.nii.gz"
        if i < distinct:
            command = [PROGRAM, "phantom", "abdomen", "-o", image, "--seeds", seeds, "--size", size]
            subprocess.run([*command, "--random-seed", str(i + 1), "--quiet"], check=True)
        else:
            os.link(folder / f"i{i % distinct:03}.nii.gz", image)
            os.link(folder / f"s{i % distinct:03}.nii.gz", seeds)
        names.append(f"{i:03}")
    return names


DEVICE = "auto"
LIMIT = []


def script(steps, scan, raw, out, more):
    values = {"image": raw / f"i{scan}.nii.gz", "seeds": raw / f"s{scan}.nii.gz", "folder": out, "scan": scan}
    return " && ".join(f"{PROGRAM} {STEPS[step].format(**values)} --device {DEVICE} {more}" for step in steps)


def by_loop(steps, scans, raw, out):
    text = "\n".join(script(steps, scan, raw, out, "--quiet") for scan in scans)
    subprocess.run(["sh", "-e", "-c", text], check=True)


def by_xargs(steps, scans, raw, out, more="--quiet"):
    lines = "\0".join(script(steps, scan, raw, out, more) for scan in scans)
    subprocess.run(["xargs", "-0", "-P", str(CORES), "-I", "{}", "sh", "-c", "{}"], input=lines.encode(), check=True)


def by_batch(steps, scans, raw, out):
    recipe, manifest = out / "steps.recipe", out / "scans.tsv"
    recipe.write_text("".join(STEPS[step] + "\n" for step in steps), encoding="utf-8")
    rows = "".join(f"{s}\t{raw}/i{s}.nii.gz\t{raw}/s{s}.nii.gz\n" for s in scans)
    manifest.write_text("scan\timage\tseeds\n" + rows, encoding="utf-8")
    subprocess.run([PROGRAM, "batch", recipe, manifest, f"folder={out}", "--quiet", "--device", DEVICE, *LIMIT],
                   check=True)  # fmt: skip


WAYS = {
    "loop": by_loop,
    "xargs": by_xargs,
    "xargs 1": lambda *a: by_xargs(*a, "--quiet --threads 1"),
    "batch": by_batch,
}


def digest(folder, scans):
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.glob("*.nii.gz"))
            if p.name.split("_")[0] in scans}  # fmt: skip
    return hashlib.sha256(json.dumps(sums).encode()).hexdigest(), len(sums)


def busy_cores(summary):
    """The share of the time for which the cores were at work, or waited for a GPU that computed for them."""
    return sum(s for name, s in summary["stage_s"].items() if name != "wait") / summary["wall_s"] / CORES


def main():
    global DEVICE, LIMIT
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scans", type=int, default=8)
    parser.add_argument("--distinct", type=int, default=8)
    parser.add_argument("--size", default="256,256,100")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", default="growcut,components,segment")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--few", type=int, help="scans of the other ways; left out: all")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--max-memory", help="of the batch")
    parser.add_argument("--folder", help="where to work; left out: a temporary one")
    set_ = parser.parse_args()
    steps = set_.steps.split(",")
    folder = Path(tempfile.mkdtemp(dir=set_.folder))
    DEVICE, LIMIT = set_.device, ["--max-memory", set_.max_memory] if set_.max_memory else []
    ways = [way for way in WAYS if way in set_.ways.split(",")]
    seconds, sums, summary = {way: [] for way in ways}, set(), None
    try:
        raw = folder / "raw"
        raw.mkdir()
        scans = make_scans(raw, set_.scans, min(set_.distinct, set_.scans), set_.size)
        few = scans[: set_.few or None]
        for _ in range(set_.rounds):
            for way in ways:
                out = folder / "out"
                out.mkdir()
                some = scans if way == "batch" else few
                start = time.monotonic()
                WAYS[way](steps, some, raw, out)
                seconds[way].append((time.monotonic() - start) / len(some))
                sums.add(digest(out, few))
                if way == "batch":
                    summary = json.loads((out / "scans.batch/summary.json").read_text())
                shutil.rmtree(out)
    finally:
        shutil.rmtree(folder)
    print(f"{set_.scans} scans of {set_.size}, {set_.steps}, {CORES} cores, load {os.getloadavg()[0]:.1f}")
    for way, all_s in seconds.items():
        each_s = statistics.median(all_s)
        ratio = f"   batch is {each_s / statistics.median(seconds['batch']):5.2f} times it" if "batch" in seconds else ""
        print(f"{way:8} {each_s:8.3f} s a scan {3600 / each_s:9.0f} scans/h{ratio}")
    if summary:
        print(f"last batch: cores at work {busy_cores(summary):.2f} of the time, {summary['jobs']} scans side by side")
        print("  seconds by stage: " + ", ".join(f"{name} {s:.2f}" for name, s in summary["stage_s"].items()))
        print(f"  peak memory {summary['peak_memory_bytes'] / 2**20:.0f} MiB")
    print(f"outputs {'equal' if len(sums) == 1 else 'DIFFER'}")
    return len(sums) != 1


if __name__ == "__main__":
    sys.exit(main())
