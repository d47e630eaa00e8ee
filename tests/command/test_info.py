"""info on what it cannot show as one volume: several data sets, and files that are cut short."""

import json

import h5py
import numpy as np
import pytest
from conftest import assert_one_line, good, lobule, save, scan_array

SETS = {"raw": np.zeros((3, 4, 5), np.uint8), "deep/labels": np.zeros((2, 3, 4, 5), np.int32), "odd": np.zeros(9)}


def several(folder):
    with h5py.File(folder / "cells.h5", "w") as file:
        for name, array in SETS.items():
            file[name] = array
    return "cells.h5"


def test_lists_data_sets(tmp_path):
    several(tmp_path)
    done = good("info", "cells.h5", cwd=tmp_path)
    lines = [line.removeprefix("data_sets").strip() for line in done.stdout.splitlines()]
    assert lines[2:] == ["/deep/labels  int32  2 x 3 x 4 x 5", "/raw  uint8  3 x 4 x 5"]
    assert done.stderr == ""
    about = json.loads(good("info", "cells.h5", "--json", cwd=tmp_path).stdout)
    assert about["data_sets"] == [
        {"path": "/deep/labels", "type": "int32", "shape": "2 x 3 x 4 x 5"},
        {"path": "/raw", "type": "uint8", "shape": "3 x 4 x 5"},
    ]
    assert json.loads(good("info", "cells.h5:/raw", "--json", cwd=tmp_path).stdout)["dims"] == [5, 4, 3]


def test_others_say_who_lists_them(tmp_path):
    several(tmp_path)
    done = lobule("convert", "cells.h5", "out.nii", cwd=tmp_path)
    assert_one_line(done, 65, "cells.h5: holds 2 data sets", "as in cells.h5:/deep/labels", "`lobule info FILE`")


def test_lists_many_data_sets(tmp_path):
    """More than are listed are counted."""
    with h5py.File(tmp_path / "many.h5", "w") as file:
        for i in range(300):
            file[f"set{i:03}"] = SETS["raw"]
    about = json.loads(good("info", "many.h5", "--json", cwd=tmp_path).stdout)
    assert len(about["data_sets"]) == 256
    assert about["more_data_sets"] == 44


def test_minc2_without_dimensions(tmp_path):
    """Its voxels are not taken for a plain data set, because their scale and place lie beside them."""
    with h5py.File(tmp_path / "scan.mnc", "w") as file:
        file["minc-2.0/image/0/image"] = SETS["raw"]
    assert_one_line(lobule("info", "scan.mnc", cwd=tmp_path), 65, "scan.mnc: the dimensions of the MINC volume")


CUT = [
    ("plain", "scan.nii", lambda raw: raw[:-100], "scan.nii: cut short: its header asks for"),
    ("the header alone", "scan.nii", lambda raw: raw[:352], "scan.nii: cut short: its header asks for"),
    ("gzip", "scan.nii.gz", lambda raw: raw[: len(raw) // 2], "scan.nii.gz: damaged: its gzip data are cut short"),
    ("gzip without its last byte", "scan.nii.gz", lambda raw: raw[:-1], "its gzip data are cut short"),
]


@pytest.mark.parametrize("what, name, change, part", CUT, ids=[row[0] for row in CUT])
def test_a_file_that_is_cut_short(tmp_path, what, name, change, part):
    save(scan_array(), tmp_path / name)
    assert json.loads(good("info", name, "--json", cwd=tmp_path).stdout)["warnings"] == []
    (tmp_path / name).write_bytes(change((tmp_path / name).read_bytes()))
    done = good("info", name, cwd=tmp_path)
    assert part in done.stdout
    (line,) = json.loads(good("info", name, "--json", cwd=tmp_path).stdout)["warnings"]
    assert part in line


def test_a_header_without_its_image(tmp_path):
    save(scan_array(), tmp_path / "scan.hdr")
    (tmp_path / "scan.img").unlink()
    assert "its other half, scan.img" in good("info", "scan.hdr", cwd=tmp_path).stdout
