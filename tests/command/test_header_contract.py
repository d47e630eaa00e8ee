"""docs/headers.md, field by field: on headers made for the purpose, and on every conformance file.

Headers come in both versions and byte orders, as files and pairs, with extensions good and odd, transforms that disagree,
codes above the format's, metres and micrometres, and texts that fill their fields."""

import itertools
import os
import re
import struct

import nibabel
import numpy as np
import pytest
from conftest import ROOT, SHARED, good, lobule
from test_headers import FILES, changed_fields, inflated, listed, load_image, name_of, raw_header, same

PAGE = (ROOT / "docs/headers.md").read_text(encoding="utf-8")
KINDS = {name: listed(f"LOB_NIFTI_{name}_FIELDS") for name in ("LABEL", "DATA", "GRID")}
SIDES = (5, 4, 3)
MM = {0: 1, 1: 1000, 2: 1, 3: 0.001}


# ---- the page ----


def texts(name):
    """The fields of a list of io/nifti/nifti.h with what it says of each."""
    body = (ROOT / "io/nifti/nifti.h").read_text().split(f"LOB_NIFTI_{name}_FIELDS(X)")[1].split("\n\n")[0]
    rows = re.findall(r'X\((\w+),\s*"((?:[^"\\]|\\.)*)"\)', body.replace("\\\n", "\n"))
    return {field: text.replace('\\"', '"') for field, text in rows}


def test_the_page_says_what_the_writer_does():
    every = (ROOT / "io/nifti/nifti_header.h").read_text().split("#define LOB_NIFTI_FIELD_LIST(X)")[1].split("\n\n")[0]
    fields = [m[0] for m in re.findall(r"X\((\w+), (\w+), \d+, (\w+), ", every)]
    rows = {m[0]: m[1:] for m in re.findall(r"^\| `(\w+)` \| ([^|]*) \| [^|]* \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", PAGE, re.M)}
    assert list(rows) == fields and len(fields) > 40
    labels, data, grid = (texts(name) for name in ("LABEL", "DATA", "GRID"))
    assert [len(labels), len(data), len(grid)] == [15, 14, 17]
    for field, (_, in_labels, in_data, elsewhere) in rows.items():
        assert in_labels == labels.get(field, "kept") and in_data == data.get(field, "kept")
        assert elsewhere.strip() == grid.get(field, ""), field


def test_files_that_the_page_links_to_exist():
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE) if "://" not in link]
    assert not [link for link in links if not (ROOT / "docs" / link).exists()]


# ---- headers made for the purpose ----


def header_of(version, endian, q_code, s_code, units):
    kind = nibabel.Nifti2Header if version == 2 else nibabel.Nifti1Header
    h = kind(endianness=endian)
    h.set_data_dtype(np.dtype(np.int16).newbyteorder(endian))
    h.set_data_shape(SIDES)
    for field in h.structarr.dtype.names:
        if h.structarr.dtype[field].kind == "S" and field not in ("magic",):
            h[field] = b"x" * h.structarr.dtype[field].itemsize  # no 0 at its end
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
    qform, sform = np.eye(4), np.eye(4)
    qform[:3, :3], qform[:3, 3] = turn @ np.diag([1.5, 2, 2.5]), [-20.125, 30.25, 40.5]
    sform[:3, :3], sform[:3, 3] = turn.T @ np.diag([1.5, 2, 2.5]), [7, -8.5, 9.75]
    h.set_qform(qform, 1)
    h.set_sform(sform, 1)
    h["qform_code"], h["sform_code"], h["xyzt_units"] = q_code, s_code, units
    h["pixdim"][4:] = [0.72, 5, 6, 7]
    h["slice_start"], h["slice_end"], h["slice_code"], h["slice_duration"] = 1, 2, 3, 0.25
    h["dim_info"], h["toffset"], h["cal_max"], h["cal_min"] = 57, 1.5, 900, -100
    h["intent_code"], h["intent_p1"] = 3, 11
    if version == 1:
        h["glmax"], h["glmin"], h["extents"], h["session_error"] = 99, -99, 16384, 7
    return h, {"q": qform, "s": sform}


def extension(code, content, endian, size=None):
    size = size or 8 + len(content)
    return struct.pack(endian + "ii", size, code) + content


EXTENSIONS = {
    "none": lambda e: b"",
    "two": lambda e: extension(6, b"a comment".ljust(24, b"\0"), e) + extension(44, b"{}".ljust(40, b"\0"), e),
    "with zeros after it": lambda e: extension(2, bytes(range(24)), e) + bytes(32),
    "of an odd size": lambda e: (extension(6, b"twelve bytes", e) + extension(4, b"<x/>", e)).ljust(48, b"\0"),
    "longer than the file says": lambda e: extension(6, b"short".ljust(24, b"\0"), e, 4096),
    "of an unknown code": lambda e: extension(-77, b"?" * 24, e),
}


def write(folder, version, endian, pair, what, q_code=1, s_code=1, units=2):
    h, forms = header_of(version, endian, q_code, s_code, units)
    body = EXTENSIONS[what](endian)
    stored = bytes([len(body) > 0, 0, 0, 0]) + body
    h["vox_offset"] = 0 if pair else len(h.binaryblock) + len(stored)
    magic = (b"ni" if pair else b"n+") + (b"2" if version == 2 else b"1")
    h["magic"] = magic
    voxels = (np.arange(60) % 7).astype(np.dtype(np.int16).newbyteorder(endian)).tobytes()
    path = folder / ("in.hdr" if pair else "in.nii")
    path.write_bytes(h.binaryblock + stored + (b"" if pair else voxels))
    if pair:
        (folder / "in.img").write_bytes(voxels)
    return path, h, forms


def swapped(extensions, endian):
    """The extensions as a file of this machine's byte order has them: size and code words turned, the rest as it was."""
    out, at = bytearray(extensions), 4
    while endian == ">" and at + 8 <= len(out):
        size, code = struct.unpack(">ii", out[at : at + 8])
        if (size, code) == (0, 0) or size < 8 or size > len(out) - at:
            break
        out[at : at + 8] = struct.pack("<ii", size, code)
        at += size
    return bytes(out)


def check_output(path, before, stored, kind, endian, expected=None):
    """Fields beyond the list are kept bit for bit, whatever the byte order; those of the list are as they must be."""
    after = raw_header(path)
    as_here = before.as_byteswapped("<")
    assert after.endianness == "<"
    changed = changed_fields(as_here, after)
    assert changed <= kind, changed - kind
    for field, value in (expected or {}).items():
        assert np.all(after.structarr[field] == value), (field, after.structarr[field])
    start, kept = len(after.binaryblock), swapped(stored, endian)
    assert inflated(path)[start : start + len(kept)] == kept
    return after


# All of the cases with LOBULE_HEADER_CASES=all; each value of each with some of the others without, fewer under sanitizers.
EVERY = os.environ.get("LOBULE_HEADER_CASES") == "all"
LIGHT = bool(os.environ.get("LOBULE_SANITIZED"))

CASES = list(itertools.product([1, 2], "<>", [False, True], EXTENSIONS))


@pytest.mark.parametrize("version, endian, pair, what", CASES[:: 1 if EVERY else 7 if LIGHT else 5])
def test_every_field(tmp_path, version, endian, pair, what):
    path, before, _ = write(tmp_path, version, endian, pair, what)
    stored = inflated(path)[len(before.binaryblock) : None if pair else int(before["vox_offset"])]

    good("convert", path, tmp_path / "copy.nii")
    check_output(tmp_path / "copy.nii", before, stored, {"vox_offset", "magic"}, endian)
    good("convert", path, tmp_path / "copy.img.gz")
    check_output(tmp_path / "copy.hdr.gz", before, stored, {"vox_offset", "magic"}, endian, {"vox_offset": 0})
    if endian == "<" and not pair:
        body = len(stored) - 4
        same_file = (tmp_path / "copy.nii").read_bytes() == path.read_bytes()
        assert same_file == (body % 16 == 0)

    good("threshold", path, "-o", tmp_path / "labels.nii", "--above", "3")
    as_labels = {"datatype": 2, "bitpix": 8, "scl_slope": 1, "scl_inter": 0, "cal_max": 1, "cal_min": 0, "intent_code": 1002}
    as_labels |= {"intent_p1": 0, "intent_name": b"labels", "magic": b"n+2" if version == 2 else b"n+1"}
    after = check_output(tmp_path / "labels.nii", before, stored, KINDS["LABEL"], endian, as_labels)
    assert after["descrip"].item().startswith(b"lobule ")

    good("filter", path, "-o", tmp_path / "data.nii", "--gaussian", "1vox")
    as_data = {"datatype": 16, "bitpix": 32, "scl_slope": 1, "scl_inter": 0, "cal_max": 0, "intent_p1": 11}
    check_output(tmp_path / "data.nii", before, stored, KINDS["DATA"], endian, as_data)

    good("crop", path, "-o", tmp_path / "box.nii", "--first", "1,1,0", "--size", "3,3,2")
    check_output(tmp_path / "box.nii", before, stored, KINDS["DATA"] | KINDS["GRID"], endian, {"cal_max": 900, "intent_code": 3})
    good("resample", path, "-o", tmp_path / "fine.nii", "--spacing", "1,1,1")
    on_grid = {"sform_code": 1, "qform_code": 1, "xyzt_units": 2, "slice_code": 0, "slice_end": 0}
    after = check_output(tmp_path / "fine.nii", before, stored, KINDS["DATA"] | KINDS["GRID"], endian, on_grid)
    assert np.allclose(after["pixdim"][1:4], 1)


FORMS = list(itertools.product([0, 1, 2, 5, 9, -3], [0, 1, 4, 5, 77], [0, 1, 2, 3, 10, 19]))


@pytest.mark.parametrize("q_code, s_code, units", FORMS[:: 1 if EVERY else 37 if LIGHT else 11] + [(5, 5, 1), (9, 0, 3), (0, 77, 17)])
def test_transforms_codes_and_units(tmp_path, q_code, s_code, units):
    """All come out as they went in; in the world, in mm, the corners lie where the transform that counts puts them."""
    path, before, forms = write(tmp_path, 1, "<", False, "none", q_code, s_code, units)
    stored = inflated(path)[348:352]
    good("convert", path, tmp_path / "copy.nii")
    check_output(tmp_path / "copy.nii", before, stored, {"vox_offset", "magic"}, "<", {"qform_code": q_code, "sform_code": s_code})
    good("threshold", path, "-o", tmp_path / "labels.nii", "--above", "3")
    kept = {"qform_code": q_code, "sform_code": s_code, "xyzt_units": units}
    check_output(tmp_path / "labels.nii", before, stored, KINDS["LABEL"], "<", kept)

    affine = forms["s"] if s_code > 0 else forms["q"] if q_code > 0 else np.diag([1.5, 2, 2.5, 1])
    corners = np.array([[*(np.array(c) * (np.array(SIDES) - 1)), 1] for c in np.ndindex(2, 2, 2)])
    want = (affine[:3] @ corners.T).T * MM[units & 7]
    good("convert", path, tmp_path / "there.nrrd")
    good("convert", tmp_path / "there.nrrd", tmp_path / "back.nii")
    back = nibabel.load(tmp_path / "back.nii")
    assert np.abs((back.affine[:3] @ corners.T).T - want).max() < 1e-4 * max(1, MM[units & 7])


def test_a_nifti_1_header_becomes_nifti_2_where_it_must(tmp_path):
    wide = np.zeros((33000, 2, 1), np.uint8)
    image = nibabel.Nifti2Image(wide, np.diag([2, 3, 4, 1]))
    image.header.set_xyzt_units("mm")
    nibabel.save(image, tmp_path / "wide.nii")
    good("convert", tmp_path / "wide.nii", tmp_path / "wide.nrrd")
    good("convert", tmp_path / "wide.nrrd", tmp_path / "again.nii")
    again = nibabel.load(tmp_path / "again.nii")
    assert isinstance(again, nibabel.Nifti2Image) and again.shape == wide.shape and np.allclose(again.affine, image.affine)


# ---- the conformance files ----

ANALYZE, MISSING, COMPLEX, SIZE = "is ANALYZE 7.5", "its other half", "voxels are not read", "does not begin with 348 or 540"
REFUSED = {
    "nibabel/analyze.hdr": (65, ANALYZE),
    "nibabel/nifti1.hdr": (66, MISSING),
    "nibabel/nifti2.hdr": (66, MISSING),
    "nibabel/row_major.dconn.nii": (65, "is CIFTI"),
    "nifti-rs/avg152T1_LR_nifti.hdr.gz": (66, MISSING),
    "nifti-rs/complex_complex32.nii": (65, COMPLEX),
    "nifti-rs/complex_complex64.nii": (65, COMPLEX),
    "nifti-rs/fuzz_crash-1.nii": (65, SIZE),
    "nifti-rs/fuzz_crash-ed7d.nii": (65, SIZE),
    "nifti-test-data/rand.hdr": (65, SIZE),
    "nifti-test-data/rand_nifti.hdr": (65, SIZE),
}
CONFORMANCE = [p for p in FILES if "conformance" in p.parts]


@pytest.mark.parametrize("path", CONFORMANCE, ids=name_of)
def test_each_conformance_file_is_read_or_refused_for_its_reason(path, tmp_path):
    """Voxels equal nibabel's; corners in the world are within 1e-4 mm; all frames, through NRRD and back too."""
    name = str(path.relative_to(SHARED / "conformance"))
    done = lobule("convert", path, tmp_path / "out.nii")
    if name in REFUSED:
        code, why = REFUSED[name]
        assert done.returncode == code and why in done.stderr and not (tmp_path / "out.nii").exists()
        return
    assert done.returncode == 0, done.stderr
    theirs, ours = load_image(path), nibabel.load(tmp_path / "out.nii")
    a, b = (np.asanyarray(i.dataobj) for i in (theirs, ours))
    assert a.dtype.names == b.dtype.names and same(a.squeeze(), b.squeeze())
    assert np.array_equal(theirs.affine, ours.affine)
    if a.dtype.names or theirs.header["scl_slope"] not in (0, 1) or np.isnan(theirs.header["scl_slope"]):
        return
    good("convert", path, tmp_path / "there.nrrd")
    good("convert", tmp_path / "there.nrrd", tmp_path / "back.nii")
    back = nibabel.load(tmp_path / "back.nii")
    assert same(np.asanyarray(back.dataobj).squeeze(), a.squeeze())
    if ours.header["qform_code"] > 0 or ours.header["sform_code"] > 0:
        sides = np.array((*theirs.shape, 1, 1)[:3]) - 1
        corners = np.array([[*(np.array(c) * sides), 1] for c in np.ndindex(2, 2, 2)]).T
        mm = MM[int(theirs.header["xyzt_units"]) & 7]
        assert np.abs(back.affine @ corners - np.diag([mm, mm, mm, 1]) @ theirs.affine @ corners).max() < 1e-4


def test_the_table_names_files_that_are_there(shared):
    assert all((shared / "conformance" / name).exists() for name in REFUSED)
