"""Micrometres where a file is of a microscope, and no letters where it does not say how it lies."""

import json

import h5py
import nibabel
import numpy as np
import pytest
import SimpleITK
import tifffile
from conftest import good, refused, save, scan_array, seeds_array
from skimage.io import imread
from test_components_options import read_tsv


def microscope(folder, kind, um=(0.4, 0.2, 0.2)):
    """A scan and two labels of it, with voxels of these sides along z, y and x."""
    names = {"image": scan_array(), "labels": seeds_array()}
    for name, array in names.items():
        if kind == "h5":
            with h5py.File(folder / f"{name}.h5", "w") as file:
                file["raw"] = array.T
                file["raw"].attrs["element_size_um"] = um
        else:
            mm = np.array(um[::-1]) * (1 if kind == "um" else 1e-3)
            volume = nibabel.Nifti1Image(array, np.diag([*mm, 1]), dtype=array.dtype)
            volume.header.set_xyzt_units("micron" if kind == "um" else "mm")
            nibabel.save(volume, folder / f"{name}.nii")
    return [f"{name}.{'h5' if kind == 'h5' else 'nii'}" for name in names]


KINDS = ["h5", "um", "mm"]


def info(folder, name):
    return json.loads(good("info", name, "--json", cwd=folder).stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_micrometres(tmp_path, kind):
    image, labels = microscope(tmp_path, kind)
    about = info(tmp_path, image)
    assert about["spacing_um"] == pytest.approx([0.2, 0.2, 0.4])
    assert about["spacing_mm"] == pytest.approx([2e-4, 2e-4, 4e-4])
    box = np.array(about["bounding_box_um"])
    assert box[1] - box[0] == pytest.approx([23 * 0.2, 19 * 0.2, 11 * 0.4])
    good("stats", image, labels, "--table", "table.tsv", cwd=tmp_path)
    for row in read_tsv(tmp_path / "table.tsv"):
        assert not {"volume_ml", "centroid_x_mm"} & set(row)
        assert row["volume_um3"] == pytest.approx(row["voxels"] * 0.016, rel=1e-6)
        assert row["volume_mm3"] == pytest.approx(row["voxels"] * 0.016e-9, rel=1e-6)
        assert row["centroid_z_um"] == pytest.approx(row["centroid_z"] * 0.4, rel=1e-6)
    good("supervoxels", image, "-o", "cells.nii", "--size", "1um", "--graph", "graph.tsv", cwd=tmp_path)
    rows = read_tsv(tmp_path / "graph.tsv")
    assert rows and all(0.03 < row["area_um2"] / row["faces"] < 0.09 for row in rows)


@pytest.mark.parametrize("um, shown", [((100, 30, 19.9), True), ((100, 30, 20.1), False)])
def test_what_is_far_below_a_millimetre(tmp_path, um, shown):
    """The smallest side of a voxel decides, where the header speaks of millimetres."""
    image, labels = microscope(tmp_path, "mm", um)
    assert ("spacing_um" in info(tmp_path, image)) == shown
    good("stats", image, labels, "--table", "table.tsv", cwd=tmp_path)
    assert ("volume_um3" in read_tsv(tmp_path / "table.tsv")[0]) == shown
    assert ("volume_ml" in read_tsv(tmp_path / "table.tsv")[0]) != shown


def test_scans_are_in_millimetres(folder):
    about = info(folder, "image.nii")
    assert "spacing_um" not in about and about["orientation"] == "RAS"


def nowhere(folder):
    """A scan with neither sform nor qform."""
    volume = nibabel.Nifti1Image(scan_array(), None)
    volume.header.set_zooms((1.5, 1.5, 2.5))
    nibabel.save(volume, folder / "nowhere.nii")
    header = nibabel.load(folder / "nowhere.nii").header
    assert header["sform_code"] == header["qform_code"] == 0
    return "nowhere.nii"


def gold(path):
    """Pixels in the colour of the letters."""
    return np.count_nonzero(np.all(imread(path) == [255, 214, 102], axis=-1))


def test_no_letters_without_orientation(folder):
    name = nowhere(folder)
    about = good("info", name, cwd=folder).stdout
    assert "orientation       unknown" in about
    for image in (name, "image.nii"):
        good("preview", image, "-o", f"{image}.png", "--report", "report.json", "--force", cwd=folder)
    assert json.loads((folder / "report.json").read_text())["inputs"][0]["orientation"] == "RAS"
    assert gold(folder / "image.nii.png") > 0
    assert gold(folder / f"{name}.png") == 0


def test_hdf5_without_orientation(tmp_path):
    image, _ = microscope(tmp_path, "h5")
    assert info(tmp_path, image)["orientation"] == "unknown"
    good("preview", image, "-o", "p.png", cwd=tmp_path)
    assert gold(tmp_path / "p.png") == 0
    save(scan_array(), tmp_path / "scan.nii")
    good("convert", "scan.nii", "itk.h5", cwd=tmp_path)
    assert info(tmp_path, "itk.h5")["orientation"] == "RAS"


def test_strokes_that_do_not_say_where_they_lie_are_read_by_their_box(tmp_path):
    stack, labels = np.ones((40, 40, 40), np.uint16), np.zeros((40, 40, 40), np.uint8)
    labels[20:22, 20:22, 20:22] = 1
    files = (("stack", stack, (2, 2, 3)), ("known", labels, (2, 2, 3)), ("labels", labels, (1, 1, 1)))
    for name, array, sizes in files:
        made = nibabel.Nifti1Image(array, None)
        made.header.set_zooms(sizes)
        nibabel.save(made, tmp_path / f"{name}.nii")
    for name in ("known", "labels"):
        good("crop", "stack.nii", "-o", f"of_{name}.nii", "--around", f"{name}.nii", "--margin", "1vox", "--max-memory",
             "40000B", cwd=tmp_path)
    assert (tmp_path / "of_known.nii").read_bytes() == (tmp_path / "of_labels.nii").read_bytes()


NOTHING_SAID = ["tif", "itk.tif", "h5", "nii"]


@pytest.mark.parametrize("kind", NOTHING_SAID)
def test_labels_that_do_not_say_where_they_lie(tmp_path, kind):
    """As programs that find cells write them: they lie as the stack does, by voxels, and a note says so."""
    stack, labels = scan_array().T, seeds_array().T
    stack = np.clip(stack, 0, 65535).astype(np.uint16)
    about = {"axes": "ZYX", "PhysicalSizeX": 0.2, "PhysicalSizeY": 0.2, "PhysicalSizeZ": 0.4}
    tifffile.imwrite(tmp_path / "stack.ome.tif", stack, metadata=about)
    tifffile.imwrite(tmp_path / "known.ome.tif", labels, metadata=about)
    for name, array in (("labels", labels), ("part", labels[1:])):
        if kind == "tif":
            tifffile.imwrite(tmp_path / f"{name}.tif", array)
        elif kind == "itk.tif":  # it has 1 mm, but for rounding
            SimpleITK.WriteImage(SimpleITK.GetImageFromArray(array), tmp_path / f"{name}.itk.tif")
        elif kind == "h5":
            with h5py.File(tmp_path / f"{name}.h5", "w") as file:
                file["label"] = array
        else:
            nibabel.save(nibabel.Nifti1Image(array.T, None), tmp_path / f"{name}.nii")
    for words, out in (
        (["growcut", "stack.ome.tif", "LABELS"], ["-o", "out.ome.tif"]),
        (["stats", "stack.ome.tif", "LABELS"], ["--table", "out.tsv"]),
        (["stats", "stack.ome.tif", "LABELS", "--max-memory", "12KiB"], ["--table", "out.tsv"]),
    ):
        made = []
        for name in ("known.ome.tif", f"labels.{kind}"):
            done = good(*(name if word == "LABELS" else word for word in words), *out, "--force", cwd=tmp_path)
            made.append((tmp_path / out[1]).read_bytes())
        assert made[0] == made[1]
        assert f"labels.{kind}: says nothing of where it lies; it is taken to lie as stack.ome.tif does" in done.stderr
    words = ("segment", "stack.ome.tif", f"labels.{kind}", "-o", "printed.ome.tif")
    printed = good(*words, "--print-recipe", cwd=tmp_path)
    (tmp_path / "printed.recipe").write_text(printed.stdout, encoding="utf-8")
    good("run", "printed.recipe", cwd=tmp_path)
    good("segment", "stack.ome.tif", "known.ome.tif", "-o", "segmented.ome.tif", cwd=tmp_path)
    assert (tmp_path / "printed.ome.tif").read_bytes() == (tmp_path / "segmented.ome.tif").read_bytes()
    good("compare", "known.ome.tif", f"labels.{kind}", "--strict", cwd=tmp_path)
    good("compare", f"labels.{kind}", "known.ome.tif", "--strict", cwd=tmp_path)
    for words in (["merge", f"labels.{kind}", "stack.ome.tif", "--height", "9"],
                  ["components", f"labels.{kind}", "--image", "stack.ome.tif", "--table", "t.tsv"]):
        refused(tmp_path, [*words, "-o", "out.nii"], 65, f"labels.{kind}: says nothing of where it lies",
                "`lobule convert --like`")
    good("convert", f"labels.{kind}", "like.ome.tif", "--labels", "--like", "stack.ome.tif", cwd=tmp_path)
    good("merge", "like.ome.tif", "stack.ome.tif", "--height", "9", "-o", "merged.nii", cwd=tmp_path)
    refused(tmp_path, ["stats", "stack.ome.tif", f"part.{kind}"], 65, "not on the same grid")
    save(stack.T.astype(np.int16), tmp_path / "patient.nii", np.diag([0.5, 0.5, 0.5, 1]))
    refused(tmp_path, ["stats", "patient.nii", f"labels.{kind}"], 65, "not on the same grid")
