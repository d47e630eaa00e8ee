"""Nothing is lost between NIfTI and HDF5, whatever the chunks of an HDF5 file are packed by."""

import json
import os
import subprocess
import sys

import h5py
import nibabel
import numpy as np
import pytest
import SimpleITK as sitk
from conftest import SHARED, good, lobule

RNG = np.random.default_rng(11)
CONFORMANCE = SHARED / "conformance"
SANITIZED = "LOBULE_SANITIZED" in os.environ  # fewer cases: the optimised build compares all


def read_itk(path):
    return sitk.ReadImage(str(path), imageIO="HDF5ImageIO")


def there_and_back(source, tmp_path, *options):
    good("convert", source, tmp_path / "there.h5", *options)
    back = tmp_path / f"back{''.join(source.suffixes[-2:])}"
    good("convert", tmp_path / "there.h5", back, *options)
    return back


def rich_header(version, code, units, ndim):
    """A header in which every field that can say something does."""
    header = (nibabel.Nifti1Header if version == 1 else nibabel.Nifti2Header)()
    header.set_data_dtype("int16")
    turn = np.eye(4)
    turn[:3, :3] = np.array([[0, -1, 0], [0.6, 0, -0.8], [0.8, 0, 0.6]]) @ np.diag([0.7, 0.9, 2.1])
    turn[:3, 3] = [10.1, -20.2, 30.3]
    header.set_data_shape((5, 7, 4, 3)[:ndim])
    header.set_qform(turn, code)
    header.set_sform(turn, (code + 2) % 5)
    if ndim == 4:
        header["pixdim"][4] = 2.45
    header.set_xyzt_units(*units)
    header["descrip"] = b"a scanner of ours; TE=30, TR=2450 ms, and a text of all seventy-nine characters ok"[:79]
    header["aux_file"], header["intent_name"] = b"side.car", b"a name"
    header["toffset"], header["slice_duration"], header["slice_code"] = 1.5, 0.0625, 3
    header["slice_start"], header["slice_end"], header["dim_info"] = 0, 3, 0b111001
    header["cal_max"], header["cal_min"] = 900, 10
    return header


FIELDS_OF_FILES = {"vox_offset", "magic"}


def differing(path_a, path_b):
    """The names of header fields in which two NIfTI files differ, byte by byte."""
    raw = [nibabel.load(path).header for path in (path_a, path_b)]
    a, b = (header.copy().structarr for header in raw)
    return {name for name in a.dtype.names if a[name].tobytes() != b[name].tobytes()} - FIELDS_OF_FILES


@pytest.mark.parametrize("code", [4] if SANITIZED else range(5))
@pytest.mark.parametrize(
    "version, units, ndim", [(1, ("mm", "sec"), 3), (1, ("micron", "msec"), 4), (2, ("meter", "usec"), 4)]
)
def test_every_header_field_survives(tmp_path, version, code, units, ndim):
    """qform and sform with codes of their own, descrip, TR, units, slice timing, extensions."""
    header = rich_header(version, code, units, ndim)
    data = RNG.integers(-900, 900, header.get_data_shape()).astype("i2")
    kind = nibabel.Nifti1Image if version == 1 else nibabel.Nifti2Image
    image = kind(data, None, header)
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"kept to the byte"))
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("afni", b"<AFNI/>"))
    source = tmp_path / "in.nii"
    nibabel.save(image, source)
    back = there_and_back(source, tmp_path)
    # nibabel writes a NaN scale; the fields of one that was read are what counts
    assert differing(source, back) == set()
    kept = nibabel.load(back)
    assert np.array_equal(np.asarray(kept.dataobj), data)
    assert [(e.get_code(), e.get_content()) for e in kept.header.extensions] == [
        (e.get_code(), e.get_content()) for e in nibabel.load(source).header.extensions
    ]
    if ndim == 4:
        seconds = 2.45 * (1e-3 if units[1] == "msec" else 1e-6)
        assert np.isclose(read_itk(tmp_path / "there.h5").GetSpacing()[3], seconds, rtol=1e-6)


def test_a_vector_does_not_come_back_as_colour(tmp_path):
    """dim[5] = 3 of uint8 stays that; RGB24 stays RGB24."""
    vector = nibabel.Nifti1Image(RNG.integers(0, 255, (4, 5, 6, 1, 3)).astype("u1"), np.diag([2.0, 2, 3, 1]))
    vector.header.set_intent("vector")
    nibabel.save(vector, tmp_path / "vector.nii.gz")
    back = nibabel.load(there_and_back(tmp_path / "vector.nii.gz", tmp_path))
    assert back.header["datatype"] == 2 and back.shape == (4, 5, 6, 1, 3)
    assert np.array_equal(np.asarray(back.dataobj), np.asarray(vector.dataobj))
    assert read_itk(tmp_path / "there.h5").GetNumberOfComponentsPerPixel() == 3

    colour = np.zeros((4, 5, 6), [("R", "u1"), ("G", "u1"), ("B", "u1")])
    for name in "RGB":
        colour[name] = RNG.integers(0, 255, colour.shape)
    nibabel.save(nibabel.Nifti1Image(colour, np.eye(4)), tmp_path / "rgb.nii")
    good("convert", tmp_path / "rgb.nii", tmp_path / "there.h5", "--force")
    good("convert", tmp_path / "there.h5", tmp_path / "rgb_back.nii")
    back = nibabel.load(tmp_path / "rgb_back.nii")
    assert back.header["datatype"] == 128 and np.array_equal(np.asarray(back.dataobj), colour)


@pytest.mark.parametrize("dtype, slope, inter, stored", [
    ("float32", 0.1, 3.7, "f8"), ("int16", 0.1, 3.7, "f8"), ("int16", 0.5, -1024, "f4"), ("uint8", 2, 1, "f4"),
    ("int32", 0.1, 3.7, "f8"), ("float32", 1, 0, "f4"),
])  # fmt: skip
def test_scaled_values_are_not_rounded(tmp_path, dtype, slope, inter, stored):
    data = (RNG.normal(size=(5, 6, 7)) * 100).astype(dtype)
    image = nibabel.Nifti1Image(data, np.eye(4))
    image.header.set_slope_inter(slope, inter)
    nibabel.save(image, tmp_path / "in.nii")
    with open(tmp_path / "in.nii", "r+b") as file:  # nibabel scales as it saves; the header states it, too
        file.seek(112)
        file.write(np.array([slope, inter], "<f4").tobytes())
    scaled = nibabel.load(tmp_path / "in.nii")
    raw = np.asarray(scaled.dataobj.get_unscaled())
    good("convert", tmp_path / "in.nii", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        voxels = file["/ITKImage/0/VoxelData"][()]
    assert voxels.dtype == stored
    assert np.array_equal(voxels.transpose(), raw.astype("f8") * float(np.float32(slope)) + float(np.float32(inter)))


def test_four_dimensions_stay_whole(tmp_path):
    """Channels and frames together, for h5py, for ITK, and back; one frame by its number."""
    data = RNG.integers(0, 999, (6, 5, 4, 3, 2)).astype("u2")  # x y z t c
    nibabel.save(nibabel.Nifti1Image(data, np.diag([2.0, 2, 3, 1])), tmp_path / "in.nii.gz")
    back = there_and_back(tmp_path / "in.nii.gz", tmp_path)
    assert np.array_equal(np.asarray(nibabel.load(back).dataobj), data)
    with h5py.File(tmp_path / "there.h5") as file:
        voxels = file["/ITKImage/0/VoxelData"]
        assert np.array_equal(voxels[()], data.transpose(3, 2, 1, 0, 4))
        assert [axis["key"] for axis in json.loads(voxels.attrs["axistags"])["axes"]] == list("tzyxc")
    image = read_itk(tmp_path / "there.h5")
    assert image.GetDimension() == 4 and image.GetSize() == (6, 5, 4, 3)
    assert np.array_equal(sitk.GetArrayFromImage(image), data.transpose(3, 2, 1, 0, 4))
    good("convert", tmp_path / "there.h5", tmp_path / "one.nii", "--frame", 1)
    assert np.array_equal(np.asarray(nibabel.load(tmp_path / "one.nii").dataobj).squeeze(), data[..., 1, :].squeeze())


@pytest.mark.parametrize("chunks", [(2, 3, 4, 5), (7, 1, 6, 9), (3, 6, 6, 9), None], ids=str)
def test_frames_that_share_chunks(tmp_path, chunks):
    data = RNG.integers(0, 999, (7, 5, 6, 9)).astype("u2")
    with h5py.File(tmp_path / "bold.h5", "w") as file:
        chunks = chunks and tuple(min(side) for side in zip(chunks, data.shape, strict=True))
        file.create_dataset("bold", data=data, chunks=chunks, compression="gzip" if chunks else None)
    good("convert", tmp_path / "bold.h5", tmp_path / "out.nii", "--threads", 2)
    assert np.array_equal(np.asarray(nibabel.load(tmp_path / "out.nii").dataobj).transpose(), data)


@pytest.mark.skipif(not CONFORMANCE.exists(), reason=f"no {CONFORMANCE}")
def test_labels_and_series_come_back_to_the_byte(tmp_path):
    """By way of HDF5 a file is what it is without that way: all header fields, labels' and those of frames."""
    scan, series = CONFORMANCE / "nibabel" / "anatomical.nii", CONFORMANCE / "nibabel" / "example4d.nii.gz"
    for command in (("threshold", scan, "--above", 500), ("convert", series)):
        for name in ("direct.nii", "by_way.h5"):
            good(*command, *(("-o",) if command[0] == "threshold" else ()), tmp_path / name, "--force")
        good("convert", tmp_path / "by_way.h5", tmp_path / "back.nii", "--force")
        assert (tmp_path / "back.nii").read_bytes() == (tmp_path / "direct.nii").read_bytes()


# ---- places ----

NIFTI = [p for folder in ("nibabel", "nifti-test-data", "itk", "nifti-rs")
         for p in sorted((CONFORMANCE / folder).glob("*.nii*"))][:: 4 if SANITIZED else 1]  # fmt: skip


@pytest.mark.skipif(not NIFTI, reason=f"no {CONFORMANCE}")
@pytest.mark.parametrize("path", NIFTI, ids=lambda path: path.name)
def test_corners_and_voxels_of_real_files(tmp_path, path):
    """SimpleITK and h5py see in our HDF5 what nibabel sees in the NIfTI file, to 1e-4 mm."""
    out = tmp_path / "out.h5"
    if lobule("convert", path, out).returncode != 0:
        pytest.skip("not a file that is read")
    source = nibabel.load(path)
    if source.header["sform_code"] == 0 and source.header["qform_code"] == 0:
        wanted = np.diag([*np.abs(source.header["pixdim"][1:4]), 1])  # nibabel's guess is a centre
    else:
        wanted = source.affine
    unit_mm = {"meter": 1000, "micron": 1e-3}.get(source.header.get_xyzt_units()[0], 1)
    image = read_itk(out)
    nx, ny, nz = image.GetSize()[:3]
    more = (0,) * (image.GetDimension() - 3)
    for corner in np.ndindex(2, 2, 2):
        index = [int(c * (n - 1)) for c, n in zip(corner, (nx, ny, nz), strict=True)]
        x, y, z = image.TransformIndexToPhysicalPoint((*index, *more))[:3]
        assert np.allclose([-x, -y, z], (wanted @ [*index, 1])[:3] * unit_mm, atol=1e-4)
    raw = np.asarray(source.dataobj)
    if raw.dtype.fields:
        raw = np.stack([raw[name] for name in raw.dtype.names], axis=-1)
    with h5py.File(out) as file:
        voxels = file["/ITKImage/0/VoxelData"][()]
    assert np.array_equal(sitk.GetArrayFromImage(image), voxels, equal_nan=voxels.dtype.kind == "f")
    if raw.size == voxels.size and not (raw.dtype.fields or raw.ndim > 4 or voxels.ndim > 4):
        shape = voxels.shape[::-1] if image.GetNumberOfComponentsPerPixel() == 1 else (nx, ny, nz, -1)
        theirs = raw.reshape(shape, order="F")
        mine = voxels.transpose() if image.GetNumberOfComponentsPerPixel() == 1 else np.moveaxis(voxels, -1, 0).transpose(3, 2, 1, 0)
        assert np.allclose(mine, theirs, rtol=1e-6, atol=0, equal_nan=True)


# ---- a plain data set's second name ----


def test_a_plain_data_set_keeps_its_name_and_attributes(tmp_path):
    data = RNG.integers(0, 200, (6, 7, 8)).astype("u1")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        raw = file.create_dataset("volumes/raw", data=data)
        raw.attrs.update(element_size_um=(2.0, 1.0, 0.5), stain="DAPI", gain=np.float32(1.5), drange=(0, 255))
        raw.attrs["exposure_ms"] = np.arange(3, dtype="i8")
    good("convert", tmp_path / "in.h5", tmp_path / "out.h5")
    good("threshold", tmp_path / "in.h5", "-o", tmp_path / "labels.h5", "--above", 100)
    for path, name, has_range in (("out.h5", "volumes/raw", True), ("labels.h5", "volumes/label", False)):
        with h5py.File(tmp_path / path) as file:
            second, first = file[name], file["/ITKImage/0/VoxelData"]
            assert h5py.h5o.get_info(second.id).addr == h5py.h5o.get_info(first.id).addr
            attrs = second.attrs
            assert np.allclose(attrs["element_size_um"], (2, 1, 0.5)) and attrs["stain"] == "DAPI"
            assert attrs["gain"] == 1.5 and attrs["gain"].dtype == "f4"
            assert list(attrs["exposure_ms"]) == [0, 1, 2] and attrs["exposure_ms"].dtype == "i8"
            assert ("drange" in attrs) == has_range
            assert np.array_equal(second[()], data if has_range else data > 100)
    good("convert", tmp_path / "out.h5", tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "out.h5").read_bytes()
    good("convert", tmp_path / "out.h5", tmp_path / "bare.h5", "--strip-extensions")
    with h5py.File(tmp_path / "bare.h5") as file:
        assert "stain" not in file["volumes/raw"].attrs


@pytest.mark.parametrize("name", ["ITKImage", "ITKVersion", "lobule"])
def test_a_second_name_does_not_take_our_own(tmp_path, name):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file[name] = np.ones((6, 7, 8), "u1")
    good("convert", tmp_path / "in.h5", tmp_path / "out.h5")
    assert read_itk(tmp_path / "out.h5").GetSize() == (8, 7, 6)


def test_gzip_level(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["raw"] = RNG.integers(0, 30, (40, 50, 60)).astype("u2")
    for options, level in (((), 1), (("--level", 6), 6)):
        good("convert", tmp_path / "in.h5", tmp_path / "out.h5", "--force", *options)
        with h5py.File(tmp_path / "out.h5") as file:
            voxels = file["/ITKImage/0/VoxelData"]
            assert (voxels.compression, voxels.compression_opts, voxels.shuffle) == ("gzip", level, True)


# ---- chunks ----


PACKED = [("<i2", filters) for filters in ("", "s", "g", "f", "sg", "sgf", "gf", "sf")]
PACKED += [(dtype, "sgf") for dtype in (">i2", "u1", ">f4", "<f8", ">u8", "<i4")]


@pytest.mark.parametrize("dtype, filters", PACKED)
def test_chunks_are_h5pys(tmp_path, dtype, filters):
    """Every filter and byte order that we unpack ourselves, with chunks over the edge and never written ones."""
    data = RNG.integers(0, 200, (9, 10, 11)).astype(dtype)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        more = {"compression": "gzip"} if "g" in filters else {}
        raw = file.create_dataset("raw", data.shape, dtype, chunks=(4, 4, 5), shuffle="s" in filters,
                                  fletcher32="f" in filters, fillvalue=7, **more)  # fmt: skip
        raw[:8, :, :] = data[:8]
    with h5py.File(tmp_path / "in.h5") as file:
        wanted = file["raw"][()]
    good("convert", tmp_path / "in.h5", tmp_path / "out.h5", "--force")
    with h5py.File(tmp_path / "out.h5") as file:
        assert np.array_equal(file["/ITKImage/0/VoxelData"][()], wanted)


def test_filter_masks(tmp_path):
    """A chunk that went without filters says so."""
    data = RNG.integers(0, 200, (8, 9, 10)).astype("<u2")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        masked = file.create_dataset("masked", data.shape, "<u2", chunks=(4, 3, 5), compression="gzip", shuffle=True)
        masked[...] = data
        masked.id.write_direct_chunk((4, 3, 5), data[4:8, 3:6, 5:10].tobytes(), filter_mask=0b11)
    good("convert", tmp_path / "in.h5", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        assert np.array_equal(file["/ITKImage/0/VoxelData"][()], data)


def test_a_wrong_checksum_is_damage(tmp_path):
    data = RNG.integers(0, 2**16, (8, 8, 8)).astype("<u2")
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_dataset("raw", data=data, chunks=(8, 8, 8), fletcher32=True)
    whole = bytearray((tmp_path / "in.h5").read_bytes())
    at = whole.index(data.tobytes()[:64])
    whole[at + 100] ^= 1
    (tmp_path / "in.h5").write_bytes(whole)
    done = lobule("convert", tmp_path / "in.h5", tmp_path / "out.nii")
    assert done.returncode == 65 and "damaged" in done.stderr


# ---- published crashers ----

# h5py may crash on these files, so it runs in a process of its own.
THEIRS = """
import sys, h5py, numpy
with h5py.File(sys.argv[1]) as file:
    numpy.save(sys.argv[2], file[sys.argv[3]][()])
"""


@pytest.mark.skipif(not CONFORMANCE.exists(), reason=f"no {CONFORMANCE}")
def test_what_is_read_of_published_crashers_is_right(tmp_path):
    """Exit 65, or 0 with h5py's own values, within 10 s."""
    read = compared = 0
    files = [p for p in sorted((CONFORMANCE / "hdf5-cve").glob("*")) if p.suffix in ("", ".h5")]
    for path in files[:: 8 if SANITIZED else 1]:
        out, limit = tmp_path / "out.h5", 60 if SANITIZED else 10
        done = lobule("convert", path, out, "--frame", 0, "--force", timeout=limit)
        assert done.returncode in (0, 65), f"{path.name}: {done.returncode}: {done.stderr}"
        if done.returncode:
            continue
        read += 1
        info = lobule("info", path, timeout=limit).stdout
        name = next(line.split(None, 1)[1] for line in info.splitlines() if line.strip().startswith("dataset"))
        theirs = subprocess.run(
            [sys.executable, "-c", THEIRS, path, tmp_path / "theirs.npy", name], capture_output=True, timeout=60
        )
        if theirs.returncode == 0:
            compared += 1
            wanted = np.load(tmp_path / "theirs.npy")
            with h5py.File(out) as file:
                mine = file["/ITKImage/0/VoxelData"][()].squeeze()
            first = wanted.squeeze()
            first = first if first.size == mine.size else first[0]
            assert np.array_equal(mine, first.reshape(mine.shape), equal_nan=True), path.name
    print(f"{len(files)} files, {read} read, {compared} compared")
