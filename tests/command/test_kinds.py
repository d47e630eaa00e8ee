"""Files of kinds that are not read are named for what they are, with what turns them into one that is."""

import gzip
import struct

import numpy as np
import pytest
from conftest import SHARED, assert_one_line, lobule, refused, save, scan_array

NOTHING = b"\0" * 400
MGH = struct.pack(">7i", 1, 4, 4, 4, 1, 3, 0) + NOTHING

KINDS = [
    ("the voxels of one", "scan.raw", NOTHING, "raw voxels", ".mhd"),
    ("NRRD compressed as a whole", "scan.nrrd.gz", gzip.compress(b"NRRD0004\ntype: short\n"), "NRRD compressed", "unpack"),
    ("FreeSurfer", "brain.mgh", MGH, "MGH", "mri_convert"),
    ("FreeSurfer, compressed", "brain.mgz", gzip.compress(MGH), "MGH", "mri_convert"),
    ("NIfTI as text", "scan.nia", b"<nifti_image\n", "text form of NIfTI", ".nii.gz"),
    ("Zeiss", "stack.czi", b"ZISRAWFILE" + NOTHING, "Zeiss CZI", "Bio-Formats"),
    ("JPEG", "photo.jpg", b"\xff\xd8\xff\xe0" + NOTHING, "a picture", "PNG"),
    ("zip", "scans.zip", b"PK\x03\x04" + NOTHING, "an archive", "unpack"),
    ("tar", "scans.tar.gz", gzip.compress(b"a" * 257 + b"ustar" + NOTHING), "an archive", "unpack"),
    ("xz", "scan.nii.xz", b"\xfd7zXZ\0" + NOTHING, "than gzip", "unpack"),
    ("MATLAB", "scan.mat", b"MATLAB 5.0 MAT-file" + NOTHING, "MATLAB", "niftiwrite"),
    ("NumPy", "scan.npy", b"\x93NUMPY\x01\0" + NOTHING, "NumPy", "nibabel"),
    ("MINC 1", "scan.mnc", b"CDF\x01" + NOTHING, "MINC 1", "mnc2nii"),
    ("AFNI", "scan+orig.BRIK.gz", gzip.compress(NOTHING), "AFNI", "3dAFNItoNIFTI"),
    ("MRtrix", "scan.mif", b"mrtrix image\n", "MRtrix", "mrconvert"),
    ("what a server said", "scan.nii.gz", b"<!DOCTYPE html><html>404", "a web page", "download"),
    ("Git LFS", "scan.nii.gz", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull"),
]


@pytest.mark.parametrize("what, name, raw, kind, advice", KINDS, ids=[row[0] for row in KINDS])
@pytest.mark.parametrize("command", [["info"], ["components", "-o", "out.nii.gz"]], ids=["info", "components"])
def test_named_for_what_it_is(tmp_path, command, what, name, raw, kind, advice):
    (tmp_path / name).write_bytes(raw)
    refused(tmp_path, [*command, name], 65, f"{name}: is ", kind, "which is not read; ", advice)


# What is DICOM is converted, by programs outside: test_dicom.py. This is none of it.
NO_SERIES = [
    ("nothing behind the mark", "IM0001", b"\0" * 128 + b"DICM" + NOTHING),
    ("under another name", "scan.nii", b"\0" * 128 + b"DICM" + NOTHING),
    ("without the mark", "scan.img", b"\x08\0\x05\0CS" + NOTHING),
    ("by its name alone", "scan.dcm", b"scan"),
]


@pytest.mark.parametrize("what, name, raw", NO_SERIES, ids=[row[0] for row in NO_SERIES])
def test_dicom_without_a_series(tmp_path, what, name, raw):
    (tmp_path / name).write_bytes(raw)
    refused(tmp_path, ["components", name, "-o", "out.nii.gz"], 65, f"{name}: is DICOM that names no series")


def test_folders(tmp_path):
    for folder, name, raw in (("dicom", "IM1", NO_SERIES[0][2]), ("plain", "a.nii", b"")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(raw)
    assert_one_line(lobule("info", "dicom", cwd=tmp_path), 65, "dicom/IM1: is empty, cut off or no DICOM")
    assert_one_line(lobule("info", "plain", cwd=tmp_path), 66, "plain: is a folder; name a file in it")


def test_voxels_of_a_pair_may_look_like_anything(tmp_path):
    """The header beside them says what they are."""
    voxels = np.zeros((8, 8, 8), np.uint8)
    voxels[:4, 0, 0] = np.frombuffer(b"II*\0", np.uint8)
    save(voxels, tmp_path / "scan.hdr")
    assert (tmp_path / "scan.img").read_bytes()[:4] == b"II*\0"
    assert lobule("info", "scan.img", cwd=tmp_path).returncode == 0


@pytest.mark.skipif(not SHARED.is_dir(), reason="no real files")
@pytest.mark.parametrize("name, kind", [("test.mgz", "MGH"), ("tiny.mnc", "MINC 1")])
def test_real_files(name, kind):
    assert_one_line(lobule("info", SHARED / "conformance" / "nibabel" / name), 65, kind)


PIPES = [
    ("an image", ["info", "-"], 66),
    ("the second input", ["stats", "image.nii", "-"], 66),
    ("a volume to write", ["convert", "image.nii", "-"], 64),
    ("a picture to write", ["preview", "image.nii", "-o", "-"], 64),
]


@pytest.mark.parametrize("what, command, code", PIPES, ids=[row[0] for row in PIPES])
def test_pipes(folder, what, command, code):
    refused(folder, command, code, ": -: ", "pipe is not supported; name a file")


def test_what_is_wrong_with_gzip(tmp_path):
    """Not in zlib's words."""
    save(scan_array(), tmp_path / "good.nii.gz")
    raw = (tmp_path / "good.nii.gz").read_bytes()
    half = len(raw) // 2
    for meaning, bad in (
        ("do not match their checksum", raw[:-8] + bytes(4) + raw[-4:]),
        ("do not match their length", raw[:-4] + bytes(4)),
        ("are cut short", raw[:half]),
        ("are garbled", raw[:half] + b"\xa5" * 64 + raw[half + 64 :]),
    ):
        (tmp_path / "bad.nii.gz").write_bytes(bad)
        done = lobule("convert", "bad.nii.gz", "out.nii", cwd=tmp_path)
        assert "incorrect" not in done.stderr
        part = "its gzip data" if meaning == "are garbled" else f"its gzip data {meaning} after"
        assert_one_line(done, 65, "bad.nii.gz: damaged: ", part, "copy it again from its source")
