#!/usr/bin/env python3
"""Time two builds of check_backends by turns and print the ratio of their medians row by row.

usage: alternate.py OLD NEW ROUNDS [ARGUMENT...]     ARGUMENTs go to both, --bench among them

A row of a benchmark begins with its name; the first number of the form 1.25 is its time. Ends
with 1 when a hash of labels differs or a program fails.
"""
import re
import statistics
import subprocess
import sys
from collections import defaultdict


def rows_of(text):
    """(name of the row, time, hash of its labels or None) for each row of a benchmark."""
    section = ""
    for line in text.splitlines():
        words = line.split()
        at = next((i for i, word in enumerate(words) if re.fullmatch(r"\d+\.\d+", word)), 0)
        if at == 0:
            section = line.strip()[:24] or section
            continue
        last = words[-1]
        digest = last if len(last) == 16 and set(last) <= set("0123456789abcdef") else None
        yield f"{section} | {' '.join(words[:at])}", float(words[at]), digest


def main():
    programs, rounds, arguments = sys.argv[1:3], int(sys.argv[3]), sys.argv[4:]
    times = defaultdict(lambda: ([], []))
    hashes = defaultdict(set)
    failed = False
    for _ in range(rounds):
        for which, program in enumerate(programs):
            done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
            failed = failed or done.returncode != 0
            for name, ms, digest in rows_of(done.stdout):
                times[name][which].append(ms)
                hashes[name].add(digest)
    for name, (old, new) in times.items():
        if not old or not new:
            continue
        before, after = statistics.median(old), statistics.median(new)
        same = len(hashes[name]) == 1
        failed = failed or not same
        ratio = after / before if before else float("nan")
        print(f"{name:60} {before:9.3f} {after:9.3f} {ratio:6.3f}{'' if same else '  LABELS DIFFER'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
