"""Volumes and areas where the affine is sheared, as registration leaves it: |det|, not the product of spacings."""

import json

import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import good, load, save

AFFINE = np.array([[1, 0, 0, -3], [0, 1, 1.5, 4], [0, 0, 2, 5], [0, 0, 0, 1.0]])  # spacing 1, 1, 2.5
MM3 = 2.0


@pytest.fixture
def folder(tmp_path):
    image = np.zeros((6, 5, 4), np.uint8)
    image[1:3, 1:3, :] = 1  # 16 voxels
    image[4, 3:, 1] = 1
    save(image, tmp_path / "image.nii", affine=AFFINE)
    return tmp_path


def rows(folder, name="table.json"):
    return json.loads((folder / name).read_text())


def test_tables(folder):
    good("components", "image.nii", "-o", "labels.nii", "--table", "table.json", cwd=folder)
    assert [row["volume_mm3"] for row in rows(folder)] == [16 * MM3, 2 * MM3]
    good("stats", "image.nii", "labels.nii", "--table", "stats.json", cwd=folder)
    assert rows(folder, "stats.json")[0]["volume_mm3"] == 16 * MM3


@pytest.mark.parametrize("option,size,left", [("--min-size", 4.1, 16), ("--min-size", 32, 16), ("--max-size", 4, 2)])
def test_sizes_of_components(folder, option, size, left):
    good("components", "image.nii", "-o", "labels.nii", option, f"{size}mm3", cwd=folder)
    assert np.count_nonzero(load(folder / "labels.nii")) == left


def test_compare(folder):
    good("compare", "image.nii", "image.nii", "--report", "report.json", cwd=folder)
    assert rows(folder, "report.json")["results"]["labels"][0]["volume_a_mm3"] == 18 * MM3


def test_growcut(folder):
    seeds = np.zeros((6, 5, 4), np.uint8)
    seeds[1, 1, 1], seeds[5, 0, 0] = 2, 1
    save(seeds, folder / "seeds.nii", affine=AFFINE)
    good("growcut", "image.nii", "seeds.nii", "-o", "labels.nii", "--report", "report.json", cwd=folder)
    for row in rows(folder, "report.json")["results"]["labels"]:
        assert row["mm3"] == row["voxels"] * MM3 > 0


def test_areas_of_contacts(folder):
    """Faces across x are 1 by 2 mm, though the columns beside them are 1 and 2.5 long."""
    options = ("--count", "4", "--graph", "graph.json")
    good("supervoxels", "image.nii", "-o", "cells.nii", *options, cwd=folder)
    labels = load(folder / "cells.nii")
    graph = rows(folder, "graph.json")
    assert graph
    for row in graph:
        faces = []
        for axis in range(3):
            low, high = np.moveaxis(labels, axis, 0)[:-1], np.moveaxis(labels, axis, 0)[1:]
            a, b = row["label_a"], row["label_b"]
            faces.append(np.count_nonzero((low == a) & (high == b) | (low == b) & (high == a)))
        assert row["faces"] == sum(faces)
        assert row["area_mm2"] == pytest.approx(np.dot(faces, [2, 2.5, 1]), rel=1e-12)


def corner_apart(path):
    """How far ITK and nibabel place the outer corner of the last voxel apart; None: ITK refuses the file."""
    image = nibabel.load(path)
    corner = np.array(image.shape) - 0.5
    try:
        itk = sitk.ReadImage(str(path)).TransformContinuousIndexToPhysicalPoint(corner.tolist())
    except RuntimeError:
        return None
    return np.linalg.norm(np.array(itk) * (-1, -1, 1) - (image.affine @ [*corner, 1])[:3])


@pytest.mark.parametrize("qform", [0, 1])
@pytest.mark.parametrize("shear", [0, 1e-5, 0.02, 1.5])
def test_a_note_where_itk_reads_other_axes(tmp_path, shear, qform):
    affine = np.array([[1, 0, 0, -3], [0, 1, shear, 4], [0, 0, 2, 5], [0, 0, 0, 1.0]])
    image = nibabel.Nifti1Image(np.ones((6, 5, 40), np.uint8), affine)
    image.set_qform(affine, qform)
    image.set_sform(affine, 1)
    image.to_filename(tmp_path / "in.nii")
    good("convert", "in.nii", "out.nii", "--report", "report.json", cwd=tmp_path)
    notes = [note for note in rows(tmp_path, "report.json")["notes"] if note.startswith("out.nii: ")]
    apart = corner_apart(tmp_path / "out.nii")
    if shear < 0.01:
        assert notes == [] and apart < 0.01
    elif apart is None:
        assert len(notes) == 1 and "refuses it" in notes[0]
    else:
        assert len(notes) == 1 and float(notes[0].split(" mm off")[0].split()[-1]) >= 0.9 * apart > 0.1
    assert (tmp_path / "in.nii").read_bytes()[352:] == (tmp_path / "out.nii").read_bytes()[352:]
    good("convert", "in.nii", "out.nrrd", "--report", "report.json", cwd=tmp_path)
    assert not any("right angles" in note for note in rows(tmp_path, "report.json")["notes"])
