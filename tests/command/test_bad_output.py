"""Outputs that cannot be, found out before any work where that is possible, and no trace left."""

import gzip
import json
import os
import resource
import shutil

import nibabel
import numpy as np
import pytest
from conftest import AFFINE, SHAPE, assert_one_line, contents, good, lobule, refused, save, scan_array

CUT = ["supervoxels", "image.nii.gz", "-o", "out.nii.gz", "--size", "8vox"]


def occupy(folder):
    (folder / "out.nii.gz").write_bytes(b"old")


def occupy_folder(folder):
    (folder / "out.nii.gz").mkdir()


def occupy_link(folder):
    os.symlink("nowhere", folder / "out.nii.gz")


def occupy_img(folder):
    (folder / "out.img").write_bytes(b"old")


def nothing(folder):
    pass


OUTPUTS = [
    ("the output exists", occupy, "out.nii.gz", [], 72, "--force"),
    ("the output is a folder", occupy_folder, "out.nii.gz", ["--force"], 73, "folder"),
    ("the output is a link to nowhere", occupy_link, "out.nii.gz", [], 72, "out.nii.gz"),
    ("the folder is missing", nothing, "no/such/out.nii.gz", [], 73, "folder"),
    ("a file stands for the folder", nothing, "image.nii/out.nii.gz", [], 73, "image.nii"),
    ("a device is no output", nothing, "/dev/full", ["--force"], 64, "/dev/full"),
    ("the other half of a pair exists", occupy_img, "out.hdr", [], 72, "out.img"),
    ("no format has this suffix", nothing, "out.jpeg", [], 64, "out.jpeg"),
    ("no suffix at all", nothing, "out", [], 64, "out"),
    ("the output is the input", nothing, "image.nii.gz", ["--force"], 64, "image.nii.gz"),
    ("the output is the input by another way", nothing, "./image.nii.gz", ["--force"], 64, "IMAGE"),
    ("the output is the seeds", nothing, "seeds.nii.gz", ["--force"], 64, "SEEDS"),
    ("two outputs of one name", nothing, "out.nii.gz", ["--strength", "./out.nii.gz"], 64, "strength"),
    ("two halves of one pair", nothing, "out.hdr", ["--strength", "out.img"], 64, "strength"),
    ("the report is the output", nothing, "out.nii.gz", ["--report", "out.nii.gz"], 64, "report"),
    ("the report to standard output", nothing, "out.nii.gz", ["--report", "-"], 64, "a report goes to a file"),
    ("the report's folder is missing", nothing, "out.nii.gz", ["--report", "no/r.json"], 73, "no"),
    ("the second output exists", nothing, "out.nii.gz", ["--tie", "image.nii"], 72, "image.nii"),
]


@pytest.mark.parametrize("what, prepare, output, more, code, part", OUTPUTS, ids=[row[0] for row in OUTPUTS])
def test_output_that_cannot_be(folder, what, prepare, output, more, code, part):
    prepare(folder)
    refused(folder, ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", output, *more], code, part)


@pytest.mark.parametrize("what", ["--mean", "--boundaries", "--table", "--graph"])
def test_output_beside_supervoxels_that_cannot_be(folder, what):
    """Nothing is cut before all outputs are known to be possible."""
    suffix = ".nii.gz" if what in ("--mean", "--boundaries") else ".tsv"
    for name in ("old", "link", "folder"):
        occupied = folder / (name + suffix)
        if name == "old":
            occupied.write_bytes(b"old")
        elif name == "link":
            os.symlink("nowhere", occupied)
        else:
            occupied.mkdir()
        code = 73 if name == "folder" else 72
        assert_one_line(lobule(*CUT, what, occupied.name, cwd=folder), code, occupied.name)
    before = contents(folder)
    for name, code in (("no/such/out" + suffix, 73), ("out.xyz", 64), ("image.nii.gz", 64), ("out.nii.gz", 64)):
        assert_one_line(lobule(*CUT, what, name, "--force", cwd=folder), code, name)
    assert contents(folder) == before


FLAT = ["supervoxels", "flat.nii", "-o", "out.nii", "--size", "4vox", "--mean", "out.png"]
SLICES = "out.png: a PNG holds one slice, this volume has 11"
COUNT = ["components", "image.nii.gz", "-o", "out.png", "--table", "-"]
NO_PICTURE = [
    ("supervoxels of a volume", None, [*CUT[:3], "out.png", *CUT[4:]], SLICES),
    ("means of a volume", None, [*CUT, "--mean", "out.png"], SLICES),
    ("outlines of a volume", None, [*CUT, "--boundaries", "out.png"], SLICES),
    ("means of two channels", np.zeros((*SHAPE[:2], 1, 1, 2), np.uint8), FLAT, "1 or 3 channels, this volume has 2"),
    ("means of real values", scan_array()[:, :, :1].astype(np.float32), FLAT, "whole numbers from 0 to 65535"),
    ("means of scaled values", np.ones((*SHAPE[:2], 1), np.uint8), FLAT, "holds no scale, and this volume's values are 2 times"),
    ("pieces of a volume", None, COUNT, SLICES),
    ("pieces of a volume by planes", None, [*COUNT, "--max-memory", "45KiB"], SLICES),
    ("classes of a volume", None, ["threshold", "image.nii.gz", "-o", "out.png"], SLICES),
    ("grown labels of a volume", None, ["growcut", "image.nii", "seeds.nii", "-o", "out.png"], SLICES),
    ("refined labels", None, ["refine", "seeds.nii", "image.nii", "seeds.nii", "-o", "out.png"], SLICES),
    ("shares", None, ["appearance", "image.nii", "seeds.nii", "-o", "out.png"], SLICES),
    ("strength", None, ["growcut", "image.nii", "seeds.nii", "-o", "out.nii", "--strength", "out.png"], SLICES),
    ("ties", None, ["growcut", "image.nii", "seeds.nii", "-o", "out.nii", "--tie", "out.png"], SLICES),
    ("a phantom's truth", None, ["phantom", "cells", "-o", "out.nii", "--size", "9,9,11", "--truth", "out.png"], SLICES),
]


@pytest.mark.parametrize("what, flat, arguments, part", NO_PICTURE, ids=[row[0] for row in NO_PICTURE])
def test_what_no_picture_can_hold_is_not_computed(folder, what, flat, arguments, part):
    if flat is not None:
        save(flat, folder / "flat.nii", scale=(2, 3) if "scaled" in what else None)
    before = contents(folder)
    done = lobule(*arguments, "--report", "report.json", cwd=folder)
    assert_one_line(done, 65, "out.png: a PNG holds", part)
    report = json.loads((folder / "report.json").read_text())
    assert "compute" not in report["seconds"] and done.stdout == ""
    (folder / "report.json").unlink()
    assert contents(folder) == before


def test_the_output_is_a_link_to_the_input(folder):
    os.symlink("image.nii.gz", folder / "out.nii.gz")
    refused(folder, ["convert", "image.nii.gz", "out.nii.gz", "--force"], 64, "out.nii.gz")


def test_the_output_is_the_input_s_other_half(folder):
    nibabel.save(nibabel.Nifti1Pair(scan_array(), AFFINE), folder / "pair.hdr")
    refused(folder, ["convert", "pair.img", "pair.hdr", "--force"], 64, "pair.hdr")


def put_pair(folder, header, image):
    """A .hdr/.img pair under these names."""
    nibabel.save(nibabel.Nifti1Pair(scan_array(), AFFINE), folder / "made.hdr")
    for made, name in (("made.hdr", header), ("made.img", image)):
        if name.endswith(".gz"):
            (folder / name).write_bytes(gzip.compress((folder / made).read_bytes()))
            (folder / made).unlink()
        else:
            (folder / made).rename(folder / name)


OWN_INPUT = [
    ("the other half, in capitals", ("X.HDR", "X.IMG"), "X.IMG", "X.HDR"),
    ("the other half is read compressed", ("x.hdr", "x.img.gz"), "x.hdr", "x.img.gz"),
    ("an HDF5 file by a data set without a slash", None, "a.h5:ITKImage/0/VoxelData", "a.h5"),
    ("an HDF5 file by a data set", None, "a.h5:/ITKImage/0/VoxelData", "a.h5"),
    ("another way to write a folder", None, "image.nii", "./image.nii"),
]


@pytest.mark.parametrize("what, names, given, output", OWN_INPUT, ids=[row[0] for row in OWN_INPUT])
def test_force_does_not_replace_an_input(folder, what, names, given, output):
    if names:
        put_pair(folder, *names)
    good("convert", "image.nii", "a.h5", cwd=folder)
    refused(folder, ["convert", given, output, "--force"], 64, output)


def test_a_pair_may_lie_beside_its_input(folder):
    put_pair(folder, "x.hdr", "x.img")
    good("convert", "x.hdr", "x.hdr.gz", cwd=folder)
    good("convert", "x.hdr", "x.img.gz", "--force", cwd=folder)
    assert {"x.hdr", "x.img", "x.hdr.gz", "x.img.gz"} < set(contents(folder))


def test_a_failed_command_removes_both_halves(folder):
    before = contents(folder)
    phantom = ["phantom", "abdomen", "--size", "11,11,11", "--truth", "T.IMG", "-o", "out.nii"]
    done = lobule(*phantom, cwd=folder, preexec_fn=small_files_only)
    assert_one_line(done, 74, "out.nii")
    assert contents(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(folder):
    (folder / "locked").mkdir(mode=0o555)
    done = lobule("convert", "image.nii.gz", "locked/out.nii", cwd=folder)
    assert_one_line(done, 73, "locked")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(folder):
    os.chmod(folder / "image.nii.gz", 0)
    assert_one_line(lobule("info", "image.nii.gz", cwd=folder), 66, "image.nii.gz")


# ---- a disk that fills up -----------------------------------------------------------------------


def small_files_only():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


FULL = [
    ("NIfTI", "out.nii", []),
    ("gzip", "out.nii.gz", []),
    ("a pair, whose voxels are written first", "out.img", []),
    ("HDF5", "out.h5", []),
    ("TIFF", "out.tif", []),
    ("OME-TIFF", "out.ome.tif", []),
    ("an old file stays", "old.nii", ["--force"]),
]


@pytest.mark.parametrize("what, output, more", FULL, ids=[row[0] for row in FULL])
def test_full_disk(folder, what, output, more):
    (folder / "old.nii").write_bytes(b"old")
    refused(folder, ["convert", "image.nii.gz", output, *more], 74, output, preexec_fn=small_files_only)


def test_full_disk_for_the_second_output_removes_the_first(folder):
    """The labels compress to almost nothing, the strength does not and is written first; the report
    is the last and too large."""
    before = contents(folder)
    arguments = ["growcut", "image.nii.gz", "seeds.nii.gz", "-o", "out.nii.gz"]
    done = lobule(*arguments, "--report", "r.json", cwd=folder, preexec_fn=small_files_only)
    assert_one_line(done, 74, "r.json")
    done = lobule(*arguments, "--tie", "tie.nii.gz", "--strength", "s.nii", cwd=folder, preexec_fn=small_files_only)
    assert_one_line(done, 74, "s.nii")
    assert contents(folder) == before


# ---- what a failed command leaves ---------------------------------------------------------------


@pytest.mark.parametrize("force", [False, True])
def test_a_failed_command_s_report_lists_what_is_there(folder, force):
    """More labels than a PNG can tell apart come to light when the table has been written."""
    board = np.indices((370, 370, 1)).sum(0) % 2
    save(board.astype(np.uint8), folder / "board.nii")
    if force:
        (folder / "table.tsv").write_text("old")
    arguments = ["components", "board.nii", "-o", "out.png", "--neighbours", "6", "--table", "table.tsv"]
    done = lobule(*arguments, "--report", "report.json", *(["--force"] if force else []), cwd=folder)
    assert_one_line(done, 65, "out.png: a PNG holds whole numbers from 0 to 65535, this volume is int32 beyond that")
    outputs = json.loads((folder / "report.json").read_text())["outputs"]
    assert [output["path"] for output in outputs] == (["table.tsv"] if force else [])
    assert (folder / "table.tsv").exists() == force and not (folder / "out.png").exists()


def test_odd_names_are_no_trouble(folder):
    name = "a b;$(x)'\".nii.gz"
    shutil.copy(folder / "image.nii.gz", folder / name)
    assert lobule("convert", name, "-o.nii", cwd=folder).returncode == 64
    assert lobule("convert", name, "--", "-o.nii", cwd=folder).returncode == 0
    assert (folder / "-o.nii").exists()


def test_a_name_cannot_steer_the_terminal(folder):
    done = lobule("info", "no\x1b[2J\nsuch.nii", cwd=folder)
    assert_one_line(done, 66, "no?[2J?such.nii")


def test_suffixes_that_are_named_are_written(folder):
    """Each of the list that the message has, and no other: .nhdr is read alone."""
    (line,) = lobule("convert", "image.nii", "out.xyz", cwd=folder).stderr.splitlines()
    known = line.split("known are ")[1].split()
    assert ".nii.gz" in known and ".nrrd" in known and ".nhdr" not in known
    slab = ["crop", "image.nii", "--first", "0,0,0", "--size", "9,9,1", "-o"]
    for i, suffix in enumerate(known):
        good(*(slab if suffix == ".png" else ["convert", "image.nii"]), f"out{i}{suffix}", cwd=folder)
