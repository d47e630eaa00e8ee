"""Every NIfTI file of the conformance folder and every real scan, against nibabel and nifti_tool:
voxels as they are stored, and the header field by field against the list in io/nifti/nifti.h."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import nibabel
import numpy as np
import pytest
from conftest import ROOT, SHARED, good, lobule

LABEL = 1002  # NIFTI_INTENT_LABEL


def listed(name):
    """The fields that a list of io/nifti/nifti.h names."""
    text = (ROOT / "io/nifti/nifti.h").read_text()
    body = text.split(f"#define {name}(X)")[1].split("\n\n")[0]
    return set(re.findall(r"X\((\w+),", body))


LABEL_FIELDS = listed("LOB_NIFTI_LABEL_FIELDS")
DATA_FIELDS = listed("LOB_NIFTI_DATA_FIELDS")


def nifti_files(folder):
    """Files that name themselves NIfTI; of a pair the header."""
    found = sorted(p for p in (SHARED / folder).rglob("*") if p.is_file()) if SHARED.is_dir() else []
    return [p for p in found if re.search(r"\.(nii|hdr)(\.gz)?$", p.name)]


def name_of(path):
    return str(path.relative_to(SHARED))


def inflated(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def raw_header(path):
    """The header's fields as they are stored: nibabel's loader alters some of them."""
    data = inflated(path)
    is_2 = 540 in (int.from_bytes(data[:4], "little"), int.from_bytes(data[:4], "big"))
    return (nibabel.Nifti2Header if is_2 else nibabel.Nifti1Header)(
        data[: 540 if is_2 else 348], check=False
    )


def extension_bytes(path, header):
    """What lies between header and voxels, the extender included."""
    start, end = len(header.binaryblock), int(header["vox_offset"])
    return inflated(path)[start : max(end, start + 4)]


def same(a, b):
    """Equal, where not-a-number equals itself."""
    return np.array_equal(a, b) or (a.dtype.kind == "f" and np.array_equal(a, b, equal_nan=True))


def changed_fields(before, after):
    assert before.structarr.dtype.names == after.structarr.dtype.names
    return {
        {"eol_check": "magic"}.get(name, name)
        for name in before.structarr.dtype.names
        if not same(before.structarr[name], after.structarr[name])
    }


def load_image(path):
    """nibabel's image of a file; of a pair also where one half is compressed and one is not."""
    stem = re.sub(r"\.hdr(\.gz)?$", "", str(path))
    images = [p for p in (Path(stem + ".img"), Path(stem + ".img.gz")) if p.exists()]
    if stem == str(path) or not images:
        return nibabel.load(path)
    kind = nibabel.Nifti2Pair if len(raw_header(path).binaryblock) == 540 else nibabel.Nifti1Pair
    holder = nibabel.FileHolder
    return kind.from_file_map({"header": holder(str(path)), "image": holder(str(images[0]))})


def stored(path):
    """Voxels without scaling; colours as a last axis."""
    image = load_image(path)
    voxels = np.asanyarray(image.dataobj.get_unscaled())
    if voxels.dtype.names:
        voxels = np.stack([voxels[c] for c in voxels.dtype.names], axis=-1)
    return voxels


def frame_of(voxels, rank, frame):
    """One time frame; rank counts the axes without colours."""
    return np.take(voxels, frame, axis=3) if rank >= 4 else voxels


def readable(path):
    """The image, when nibabel reads it and it is of a kind that Lobule means to read."""
    try:
        image = load_image(path)
        np.asanyarray(image.dataobj)
    except Exception:  # nibabel raises many kinds for damaged files
        return None
    if type(image) not in (nibabel.Nifti1Image, nibabel.Nifti2Image, nibabel.Nifti1Pair, nibabel.Nifti2Pair):
        return None
    return None if image.get_data_dtype().kind == "c" else image


needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no folder {SHARED} with conformance files (LOBULE_SHARED)"
)
FILES = nifti_files("conformance") + nifti_files("data")


@needs_shared
def test_there_are_files():
    assert len(FILES) > 30
    assert sum(readable(p) is not None for p in FILES) > 25


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_convert_keeps_voxels_and_header(path, tmp_path):
    image = readable(path)
    out = tmp_path / "out.nii"
    if image is None:
        done = lobule("convert", path, out)
        assert done.returncode in (65, 66) and done.stderr.count("\n") == 1, done.stderr
        assert str(path) in done.stderr and not out.exists()
        return
    frames = image.shape[3] if len(image.shape) > 3 else 1
    before = raw_header(path)
    whole = stored(path)
    if frames > 1:
        good("convert", path, out)
        assert changed_fields(before, raw_header(out)) <= {"vox_offset", "magic"}
        assert same(stored(out).squeeze(), whole.squeeze())
    for frame in sorted({0, frames // 2, frames - 1}):
        good("convert", path, out, "--frame", frame, "--force")
        after = raw_header(out)
        got, want = stored(out), frame_of(whole, len(image.shape), frame)
        assert got.dtype == want.dtype.newbyteorder("=")
        assert np.array_equal(got.reshape(-1), want.reshape(-1)) or same(got.squeeze(), want.squeeze())
        assert np.array_equal(got.squeeze(), want.squeeze(), equal_nan=got.dtype.kind == "f")
        changed = changed_fields(before, after)
        assert changed <= ({"vox_offset", "magic"} if frames == 1 else {"vox_offset", "magic", "dim"})
        assert changed <= DATA_FIELDS
        assert np.array_equal(nibabel.load(out).affine, image.affine, equal_nan=True)
        if before.endianness == after.endianness and "1" in before["magic"].item().decode()[1:3]:
            kept = extension_bytes(path, before)
            assert extension_bytes(out, after)[: len(kept)] == kept


@pytest.mark.parametrize("suffix", [".nii.gz", ".hdr", ".img", ".hdr.gz", ".img.gz"])
@needs_shared
def test_convert_through_every_container(suffix, tmp_path):
    for path in (p for p in FILES if p.parent.name in ("nibabel", "nifti-rs")):
        image = readable(path)
        if image is None or image.shape[3:4] > (1,):
            continue
        there, back, direct = (tmp_path / n for n in ("there" + suffix, "back.nii", "direct.nii"))
        good("convert", path, there, "--force")
        good("convert", there, back, "--force")
        good("convert", path, direct, "--force")
        assert back.read_bytes() == direct.read_bytes(), path
        assert np.array_equal(stored(there), stored(direct), equal_nan=stored(there).dtype.kind == "f")


def nifti_tool_differences(a, b):
    """The fields that nifti_tool sees differ; None where there is no nifti_tool."""
    if not shutil.which("nifti_tool"):
        return None
    version = 2 if len(raw_header(a).binaryblock) == 540 else 1
    done = subprocess.run(
        ["nifti_tool", f"-diff_hdr{version}", "-infiles", str(a), str(b)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return set(re.findall(r"^  (\w+) +\d+ +\d+ ", done.stdout, re.M))


def grow(path, image, folder):
    """Labels of a scan from two seeds far apart; the largest label is 300."""
    shape = (image.shape + (1, 1))[:3]
    frames = image.shape[3] if len(image.shape) > 3 else 1
    voxels = np.asanyarray(image.dataobj.get_unscaled())
    if voxels.dtype.names is None:  # seeds on voxels that are not finite would be left out
        voxels = frame_of(voxels, len(image.shape), frames - 1).reshape(shape + (-1,))
        finite = np.argwhere(np.isfinite(voxels.astype(float)).all(axis=3))
    else:
        finite = np.argwhere(np.ones(shape))
    seeds = np.zeros(shape, np.int16)
    seeds[tuple(finite[0])] = 7
    seeds[tuple(finite[-1])] = 300
    affine = image.affine
    if image.header["sform_code"] == 0 and image.header["qform_code"] == 0:
        # nibabel makes a place up, in the format's method 1 the first voxel is the origin
        affine = np.diag([*np.abs(image.header["pixdim"][1:4]), 1])
    nibabel.save(nibabel.Nifti1Image(seeds, affine), folder / "seeds.nii")
    labels = folder / "labels.nii.gz"
    good("growcut", path, folder / "seeds.nii", "-o", labels, "--frame", frames - 1)
    return labels, shape


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_labels_change_listed_fields_only(path, tmp_path):
    image = readable(path)
    if image is None:
        pytest.skip("refused, as the other test checks")
    if np.prod(image.shape[:3]) > 2e6:
        pytest.skip("a large scan says no more about headers")
    units = image.header.get_xyzt_units()[0]
    if units not in ("mm", "unknown"):
        pytest.skip(f"seeds in millimetres do not fit a scan in {units}")
    if min(image.shape[:2]) < 2:
        pytest.skip("no two corners")
    labels, shape = grow(path, image, tmp_path)
    before, after = raw_header(path), raw_header(labels)
    changed = changed_fields(before, after)
    assert changed <= LABEL_FIELDS
    assert after.endianness == "<"
    assert after["scl_slope"] == 1 and after["scl_inter"] == 0
    assert after["intent_code"] == LABEL and after["intent_name"].item() == b"labels"
    assert after["cal_min"] == 0 and after["descrip"].item().startswith(b"lobule ")
    written = nibabel.load(labels)
    voxels = np.asanyarray(written.dataobj)
    assert voxels.shape[:3] == shape[: voxels.ndim] and voxels.dtype == np.int16
    assert after["cal_max"] == voxels.max()
    assert np.array_equal(written.affine, image.affine)
    # names of other labels, which TotalSegmentator's labels carry, are not those of the new ones
    table = lambda e: b"<LabelTable" in (e.content if hasattr(e, "content") else e.get_content())
    kept = [e for e in image.header.extensions if not table(e)]
    assert [e.get_code() for e in written.header.extensions] == [e.get_code() for e in kept]
    if before.endianness == "<":
        seen = nifti_tool_differences(path, labels)
        if seen is not None:
            # nifti_tool does not show fields that differ in padding after the text only
            assert seen <= changed and changed - seen <= {"intent_name", "descrip", "magic"}
        if b"+" in before["magic"].item() and len(kept) == len(image.header.extensions):
            stays = extension_bytes(path, before)
            assert extension_bytes(labels, after)[: len(stays)] == stays


@needs_shared
def test_info_lists_the_header():
    for path in FILES:
        if readable(path) is None:
            continue
        text = good("info", path).stdout
        header = raw_header(path)
        for name in ("qform_code", "sform_code", "datatype", "xyzt_units"):
            assert re.search(rf"^  {name} +{int(header[name])}$", text, re.M), (path, name)
        codes = re.findall(r"ext\d+_code +(\d+)$", text, re.M)
        extensions = load_image(path).header.extensions
        assert [int(c) for c in codes] == [e.get_code() for e in extensions], path
