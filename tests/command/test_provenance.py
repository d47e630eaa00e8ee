"""--provenance: a NIfTI output says itself how it was made."""

import hashlib
import re

import nibabel
import numpy as np
import pytest
from conftest import assert_one_line, good, lobule, save, scan_array


def comments(path):
    """The texts of a file's comment extensions."""
    raw = lambda e: e.content if hasattr(e, "content") else e.get_content()
    return [raw(e).rstrip(b"\0").decode() for e in nibabel.load(path).header.extensions if e.get_code() == 6]


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_version_command_and_inputs(folder):
    good("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "a b.nii", "--provenance", cwd=folder)
    (text,) = comments(folder / "a b.nii")
    first, command, *inputs = text.splitlines()
    assert re.fullmatch(r"lobule \d+\.\d+\.\d+\S*", first)
    assert command == "lobule growcut image.nii.gz seeds.nii.gz -o 'a b.nii' --provenance"
    assert inputs == [f"input {n} sha256 {sha256(folder / n)}" for n in ("image.nii.gz", "seeds.nii.gz")]
    good("growcut", "image.nii.gz", "seeds.nii.gz", "-o", "plain.nii", cwd=folder)
    assert comments(folder / "plain.nii") == []
    plain, told = nibabel.load(folder / "plain.nii"), nibabel.load(folder / "a b.nii")
    assert np.array_equal(np.asanyarray(plain.dataobj), np.asanyarray(told.dataobj))
    assert {k for k in plain.header if str(plain.header[k]) != str(told.header[k])} <= {"vox_offset"}
    good("convert", "a b.nii", "copy.nii", cwd=folder)
    assert (folder / "a b.nii").read_bytes() == (folder / "copy.nii").read_bytes()


def test_the_same_twice_and_at_any_thread_count(folder):
    seen = set()
    for threads in ("1", "3"):
        (folder / "out.nii.gz").unlink(missing_ok=True)
        good("filter", "image.nii.gz", "-o", "out.nii.gz", "--median", "1", "--provenance", cwd=folder, env={"OMP_NUM_THREADS": threads})
        seen.add((folder / "out.nii.gz").read_bytes())
    assert len(seen) == 1


def test_what_was_made_before_stays(folder):
    """The youngest comes first; a pair names both halves."""
    good("filter", "image.nii.gz", "-o", "a.hdr", "--median", "1", "--provenance", cwd=folder)
    good("threshold", "a.hdr", "-o", "b.nii", "--above", "400", "--provenance", cwd=folder)
    second, first = comments(folder / "b.nii")
    assert "lobule filter" in first and "lobule threshold" in second
    assert [line.split()[1] for line in second.splitlines() if line.startswith("input")] == ["a.hdr", "a.img"]
    good("convert", "b.nii", "bare.nii", "--strip-extensions", "--provenance", cwd=folder)
    assert comments(folder / "bare.nii") == []


def test_by_planes_and_from_a_recipe(folder):
    big = np.kron(scan_array(), np.ones((3, 3, 3), np.int16))
    save(big, folder / "big.nii.gz")
    good("components", "big.nii.gz", "-o", "planes.nii", "--above", "400", "--provenance", "--max-memory", "900KiB", cwd=folder)
    assert f"input big.nii.gz sha256 {sha256(folder / 'big.nii.gz')}" in comments(folder / "planes.nii")[0]
    (folder / "a.recipe").write_text("filter {image} -o @smooth --median 1\nthreshold @smooth -o {out} --above 400\n")
    good("run", "a.recipe", "image=image.nii.gz", "out=out.nii.gz", "--provenance", cwd=folder)
    (text,) = comments(folder / "out.nii.gz")
    assert text.splitlines()[1:3] == ["lobule run a.recipe image=image.nii.gz out=out.nii.gz --provenance", "lobule threshold @smooth -o out.nii.gz --above 400"]
    assert f"input image.nii.gz sha256 {sha256(folder / 'image.nii.gz')}" in text


@pytest.mark.parametrize("suffix", [".nrrd", ".mha"])
def test_other_formats_go_without(folder, suffix):
    good("convert", "image.nii", "out" + suffix, "--provenance", cwd=folder)
    good("convert", "out" + suffix, "back.nii", cwd=folder)
    assert comments(folder / "back.nii") == []


def test_bad_use(folder):
    assert_one_line(lobule("convert", "image.nii", "out.nii", "--provenance=yes", cwd=folder), 64, "takes no value")
