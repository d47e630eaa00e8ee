"""The Python package on the library that was built, for tests of many small cases: no process for each."""

import os
import sys
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT

package = None
if "LOBULE_SANITIZED" not in os.environ:
    os.environ.setdefault("LOBULE_LIBRARY", str(Path(PROGRAM).parents[1] / "liblobule.so"))
    if not os.environ.get("LOBULE_WHEEL"):  # else it is installed
        sys.path.insert(0, str(ROOT / "python"))
    import lobule as package
in_process = pytest.mark.skipif(package is None, reason="Python does not load a library with sanitizers")

# Arrays are as nibabel has them; one thread, since others would have to be made anew for each call.
PLAIN = {"axes": "xyz", "device": "cpu", "threads": 1}
PRIMES = [1, 2, 3, 5, 7, 11, 13, 17, 19, 23]
SPACINGS = [(1, 1, 1), (0.5, 0.5, 2.5), (0.7, 0.7, 5), (1.5, 1.5, 2.5), (0.31, 2, 1.1), (1, 2, 3)]


def random_shape(random, least=1, most=4000):
    """Prime sides, some of one voxel."""
    while True:
        shape = tuple(int(side) for side in random.choice(PRIMES, 3))
        if least <= shape[0] * shape[1] * shape[2] <= most:
            return shape
