"""lobule doctor: what it finds, and that it notices a wrong result."""

import json
import re
import struct
import subprocess
from pathlib import Path

from conftest import PROGRAM, ROOT, assert_one_line, good, lobule

CASES = re.findall(r'\{"(\w+)", +\w+, +\w+, +UINT64_C\(0x([0-9a-f]{16})\)\}', (ROOT / "tools/commands/doctor_cases.c").read_text())


def test_every_slot_of_a_backend_has_a_case():
    """A slot is a pointer to a function in lob_backend; a case calls it through the patient's backend. The slabs of ranks,
    which GrowCut has a slot of its own for, are none of doctor's: each rank tests what one alone computes."""
    slots = re.findall(r"lob_status \(\*(\w+)\)", (ROOT / "kernels/backends.h").read_text())
    called = set(re.findall(r"p->backend->(\w+)\(", (ROOT / "tools/commands/doctor_cases.c").read_text()))
    assert len(slots) >= 14 and called == set(slots) - {"growcut_slabs", "supervoxels_slabs"}


def test_every_algorithm_is_right_here():
    about = json.loads(good("doctor", "--json", "--device", "cpu").stdout)
    assert about["backends"]["cpu"]["self_test"] == {name: "ok" for name, _ in CASES}
    assert about["backends"]["cpu"]["passed"] == len(CASES) >= 18
    assert about["version"] == good("--version").stdout.split()[1]
    assert about["threads"] >= 1
    assert about["memory_mib"] >= about["memory_free_mib"] > 0
    assert {"HDF5", "c-blosc", "zstd", "expat", "zlib", "libdeflate", "libpng", "libtiff", "cJSON", "libcrypto"} == set(about["libraries"])
    assert (Path(about["recipes"]) / "strokes.recipe").is_file()


def test_results_do_not_depend_on_threads_and_text_says_the_same():
    lines = good("doctor", "--threads", "3", "--device", "cpu").stdout.splitlines()
    assert sum(line.split() == [name, "ok"] for line in lines for name, _ in CASES) == len(CASES)
    assert ["threads", "3"] in [line.split() for line in lines]


def test_a_wrong_result_is_noticed(tmp_path):
    """A copy of the program whose expectation of one case is another."""
    name, digits = CASES[3]
    program = Path(PROGRAM).read_bytes()
    known = struct.pack("<Q", int(digits, 16))
    assert program.count(known) == 1
    copy = tmp_path / "lobule"
    copy.write_bytes(program.replace(known, struct.pack("<Q", 12345)))
    copy.chmod(0o755)
    done = subprocess.run([copy, "doctor", "--device", "cpu"], capture_output=True, encoding="utf-8", check=False)
    assert_one_line(done, 70, "1 of", name)
    assert f"wrong: {digits} instead of {12345:016x}" in done.stdout


def test_a_gpu_that_is_not_there():
    done = lobule("doctor", "--device", "cuda:99")
    assert_one_line(done, 69, "lobule doctor: ")
    assert "cuda" in done.stderr or "NVIDIA" in done.stderr
